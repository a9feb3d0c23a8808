// SPDX-License-Identifier: Apache-2.0
// PyTorch's releases name, order, compose and print the same thing differently. All that Ingot
// knows of it is in the tables of ir/release.c: a row per family of releases, and a row per Python
// function that captures treat in their own way. Code tests fields of the row of a graph, never a
// version. What differs per operator is in its record (ig_hop) or in src/op/aten.tsv.
#ifndef IR_RELEASE_H_
#define IR_RELEASE_H_

#include <stdbool.h>

typedef enum ig_release {
  IG_RELEASE_2_4,     // exports for inference, as in the reference documents
  IG_RELEASE_2_5,     // the first release with export_for_training
  IG_RELEASE_2_5_FX,  // what make_fx of the same release records
  IG_RELEASE_COUNT,
} ig_release;

typedef struct ig_forms {
  const char *name;       // name in files; NULL: the default of files without one
  bool clears_unread;     // code: an unused value is cleared on the line that computes it
  bool reads_unused;      // a module reads its weights even if no call uses them
  bool tuples_of_graded;  // cond, lowered: operands that require gradients are a tuple
  bool branches_as_call;  // nodes of a branch have the origin of the call (strict)
  bool sizes_first;       // sizes of inputs are read right after the inputs, also after lowering
  bool reads_layout;      // strides and numbers of elements are read by operators of their own

  // Lowered programs: how often a detach is recorded, and how often a tensor is detached whose
  // numbers were reinterpreted as a dtype that has no gradients.
  int detaches;
  int detaches_of_reinterpreted;

  // Checks, and arithmetic with numbers from the data.
  // Arithmetic of the program is recorded where it is done, even if nothing uses it; otherwise
  // where it is first needed.
  bool records_arithmetic;
  bool replays_arithmetic;    // a rewritten graph has its arithmetic where the original had it
  bool asserts_ends;          // the ends of a range are two assertions, not a call that states both
  bool asserts_behind_first;  // what is asked of inputs is asserted behind the first call
  bool describes_checks;      // a check comes from itself, not from what it checks
  bool shares_arithmetic;     // what two assertions compute is computed once
} ig_forms;

const ig_forms *ig_release_forms(ig_release r);
ig_release ig_release_find(const char *name);  // by the name in files; an unknown one: 2.4

// A function that PyTorch writes in Python.
typedef struct ig_function_forms {
  const char *name;
  bool unreported;  // metadata does not name it, but the functions that it calls
  bool inlined;     // the same in strict captures only
} ig_function_forms;

// The row of a function; one without fields set if it is like all others.
const ig_function_forms *ig_release_function(const char *name);

#endif  // IR_RELEASE_H_
