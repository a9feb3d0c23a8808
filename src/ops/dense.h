// SPDX-License-Identifier: Apache-2.0
// Operands of any strides and dtype as dense rows of one type, for kernels that are not dominated
// by reading.
#ifndef OPS_DENSE_H_
#define OPS_DENSE_H_

#include "op/op.h"

// Elements of t in row-major order, converted, with room for one more; in the innermost scope.
// NULL after an error.
void *ig_dense_read(ig_ctx *c, const ig_tensor *t, ig_dtype dtype);
// Elements in row-major order into t, whatever its strides and dtype.
void ig_dense_write(ig_ctx *c, ig_tensor *t, ig_dtype dtype, void *from);
// A column-major copy of the matrices of t, in its dtype; in the innermost scope.
void *ig_dense_columns(ig_ctx *c, const ig_tensor *t);
ig_tensor *ig_dense_by_columns(ig_ctx *c, const ig_tensor *t);  // The same as a tensor.
// Strides of column-major results.
void ig_meta_by_columns(ig_ctx *c, ig_meta *m);
// Makes dense matrices the identity; t is contiguous or column-major.
void ig_dense_eye(ig_tensor *t);
// Memory for n elements, zeroed.
void *ig_dense_room(ig_ctx *c, size_t n, ig_dtype dtype);

#endif
