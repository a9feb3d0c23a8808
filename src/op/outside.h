// SPDX-License-Identifier: Apache-2.0
// A pause of the context's modes: calls compute on real tensors, and nothing is recorded.
#ifndef OP_OUTSIDE_H_
#define OP_OUTSIDE_H_

#include "op/call.h"

typedef struct ig_outside {
  ig_mode_scope mode;
  const char *op_target;
  const ig_op *op;
  const void *op_args;
} ig_outside;

// generator: for random operators; NULL: the one that is current.
ig_outside ig_outside_enter(ig_ctx *c, struct ig_generator *generator);
// False: a call failed; its error is dropped unless it is final.
bool ig_outside_leave(ig_ctx *c, const ig_outside *o);

#endif
