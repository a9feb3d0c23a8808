// SPDX-License-Identifier: Apache-2.0
// Operands as kernels want them: dense, in an order of dimensions, in a dtype. Preparing decides
// whether the tensor's own memory serves; else a copy of it has a place in the workspace.
#ifndef OPS_OPERAND_H_
#define OPS_OPERAND_H_

#include "op/op.h"

typedef struct ig_operand {
  bool copied;
  ig_dtype dtype;
  size_t at;      // of the copy in the workspace
  uint64_t last;  // bits of the dimensions that lie innermost, in their order; the others before
  uint64_t once;  // bits of the dimensions of which only the first element is copied
} ig_operand;

enum { IG_ROW_MAJOR = 0, IG_CHANNELS_INNERMOST = 2 };  // values of `last`: none; dimension 1

// In place if the elements have that dtype and lie in that order.
ig_operand ig_operand_plan(ig_need *n, const ig_tensor *t, ig_dtype dtype, uint64_t last);
// A copy in any case; of the dimensions in `once` only the first elements.
ig_operand ig_operand_copy(ig_need *n, const ig_tensor *t, ig_dtype dtype, uint64_t last,
                           uint64_t once);
// A row-major operand that may be absent.
ig_operand ig_operand_maybe(ig_need *n, const ig_value *v, ig_dtype dtype);

// The elements; a copy is made now. Never NULL for a tensor. NULL: t is.
const void *ig_operand_read(const ig_exec *x, const ig_operand *o, const ig_tensor *t);
// For operands that are written as well: puts a copy's elements back.
void ig_operand_write(const ig_exec *x, const ig_operand *o, ig_tensor *t);

#endif
