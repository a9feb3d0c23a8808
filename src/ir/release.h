// SPDX-License-Identifier: Apache-2.0
// Whose forms a graph is written in: PyTorch's releases name, place and print the same thing
// differently. One row per family; what a row says is asked of the graph, never of a version.
#ifndef IR_RELEASE_H_
#define IR_RELEASE_H_

#include <stdbool.h>

typedef enum ig_release {
  IG_RELEASE_2_4,  // what the reference documents show: exports for inference
  IG_RELEASE_2_5,  // the first that exports for training
  IG_RELEASE_COUNT,
} ig_release;

typedef struct ig_forms {
  const char *name;       // in files; NULL: what a file means that names none
  bool clears_unread;     // code: a value that nobody reads is cleared on the line that makes it
  bool reads_unused;      // a module reads its weights also where no call uses them
  bool tuples_of_graded;  // cond, lowered: operands that want gradients come as a tuple
  bool branches_as_call;  // nodes of a branch come from where the call comes from (strict)
  bool sizes_first;       // sizes of inputs are read right behind the inputs, after lowering too
} ig_forms;

const ig_forms *ig_release_forms(ig_release r);
ig_release ig_release_find(const char *name);  // by the name in files; an unknown one: 2.4

#endif  // IR_RELEASE_H_
