// SPDX-License-Identifier: Apache-2.0
// Freezing: a module whose attributes are constants of its graphs.
#ifndef SCRIPT_FREEZE_H_
#define SCRIPT_FREEZE_H_

#include "script/unit.h"

typedef struct ig_sfreeze {
  const char *const *preserved;  // attributes and methods that stay beside forward
  size_t n_preserved;
} ig_sfreeze;

// A new module of a class of its own, which has forward and the preserved methods only. Calls are
// inlined; attributes that nothing writes to are constants; those that are written and the
// preserved ones are shared with the old module. NULL after an error; a name that the module does
// not have is IG_INVALID.
ig_sobj_instance *ig_script_freeze(ig_ctx *c, ig_sobj_instance *module, const ig_sfreeze *how);

// For inference: dropout goes; numerics: normalization and arithmetic with constants are folded
// into the weights of the convolutions and linear layers before them.
bool ig_sgraph_optimize_frozen(ig_sunit *u, ig_sgraph *g, bool numerics);

// How many dimensions the results of convolutions with constant weights have is a constant. That is
// not true of an input without a batch; PyTorch assumes one.
bool ig_sgraph_fold_ranks(ig_sunit *u, ig_sgraph *g);

#endif
