// SPDX-License-Identifier: Apache-2.0
// PyTorch's releases name, order and print the same thing differently: the release whose
// conventions a graph follows. One row per family; code tests fields of the graph's row, never a
// version.
#ifndef IR_RELEASE_H_
#define IR_RELEASE_H_

#include <stdbool.h>

typedef enum ig_release {
  IG_RELEASE_2_4,  // exports for inference, as in the reference documents
  IG_RELEASE_2_5,  // the first release with export_for_training
  IG_RELEASE_COUNT,
} ig_release;

typedef struct ig_forms {
  const char *name;       // name in files; NULL: the default of files without one
  bool clears_unread;     // code: an unused value is cleared on the line that computes it
  bool reads_unused;      // a module reads its weights even if no call uses them
  bool tuples_of_graded;  // cond, lowered: operands that require gradients are a tuple
  bool branches_as_call;  // nodes of a branch have the origin of the call (strict)
  bool sizes_first;       // sizes of inputs are read right after the inputs, also after lowering
} ig_forms;

const ig_forms *ig_release_forms(ig_release r);
ig_release ig_release_find(const char *name);  // by the name in files; an unknown one: 2.4

#endif  // IR_RELEASE_H_
