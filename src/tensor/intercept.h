// SPDX-License-Identifier: Apache-2.0
// What answers calls instead of the engine: a mode (`c->mode->intercept`), or an operand that
// stands for something the engine does not know (`ig_tensor.intercept`). See op/intercept.h.
#ifndef TENSOR_INTERCEPT_H_
#define TENSOR_INTERCEPT_H_

#include "ingot/tensor.h"
#include "mode/mode.h"

struct ig_intercept {
  // Fills outs with tensors of the innermost scope, or fails the context.
  void (*fn)(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user);
  void *user;
  const ig_intercept *outer;  // modes: the one that sees what this one calls; NULL: none
  // Operands: `to` is a second tensor over the memory of `from` and stands for the same thing from
  // now on; false after an error.
  bool (*alias)(ig_ctx *c, const ig_tensor *from, ig_tensor *to);
  void (*release)(ig_tensor *t);  // operands: t owns its host, and is destroyed
};

#endif
