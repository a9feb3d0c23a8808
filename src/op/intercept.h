// SPDX-License-Identifier: Apache-2.0
// Calls that a mode or an operand answers (tensor/intercept.h). They see what kernels would see:
// below autograd, after the operators that PyTorch takes apart implicitly were. While an answer is
// computed, the modes outside of it are active; it calls operators again, on other tensors or on
// the same ones.
#ifndef OP_INTERCEPT_H_
#define OP_INTERCEPT_H_

#include "op/op.h"
#include "tensor/intercept.h"

// False: nothing intercepts the call.
bool ig_intercept_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

#endif
