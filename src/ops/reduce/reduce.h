// SPDX-License-Identifier: Apache-2.0
// From a strided tensor and a set of dimensions to the [outer, n, inner] that kernels take.
#ifndef OPS_REDUCE_H_
#define OPS_REDUCE_H_

#include "kernels/reduce.h"
#include "op/op.h"
#include "ops/operand.h"

ig_elem ig_elem_of(ig_dtype d);  // IG_ELEM_COUNT: kernels have no such type

// Elements of self in `dtype`, dense, with the reduced dimensions in the middle: self's own memory
// if it has that layout, else a copy in the innermost scope. NULL after an error.
const void *ig_reduce_operand(ig_ctx *c, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                              ig_axis *axis);

// The same for prepared kernels, with a copy in the workspace.
ig_operand ig_reduce_plan(ig_need *n, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                          ig_axis *axis);

// A large expanded operand need not be laid out: of reduced dimensions that repeat one element
// (stride 0) one is enough, and then their size counts as 1. once: their bits; none where nothing
// is gained.
typedef struct ig_repeated {
  ig_operand x;
  ig_axis axis;
  uint64_t once;
  int64_t times;  // each element stands so often in self
} ig_repeated;
ig_repeated ig_reduce_plan_once(ig_need *n, const ig_tensor *self, const bool *reduced,
                                ig_dtype dtype);

#endif
