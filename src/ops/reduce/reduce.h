// SPDX-License-Identifier: Apache-2.0
// From a strided tensor and a set of dimensions to the [outer, n, inner] that kernels take.
#ifndef OPS_REDUCE_H_
#define OPS_REDUCE_H_

#include "kernels/reduce.h"
#include "op/op.h"

ig_elem ig_elem_of(ig_dtype d);  // IG_ELEM_COUNT: kernels have no such type

// Elements of self in `dtype`, dense, with the reduced dimensions in the middle: self's own memory
// if it has that layout, else a copy in the innermost scope. NULL after an error.
const void *ig_reduce_operand(ig_ctx *c, const ig_tensor *self, const bool *reduced, ig_dtype dtype,
                              ig_axis *axis);

// A large expanded operand need not be materialized: reduced dimensions that repeat one element
// (stride 0) become size 1 in the result, which is self if nothing is gained. *times: how often
// each element occurs in self. NULL after an error.
ig_tensor *ig_reduce_once(ig_ctx *c, ig_tensor *self, const bool *reduced, int64_t *times);

#endif
