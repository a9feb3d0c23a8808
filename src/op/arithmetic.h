// SPDX-License-Identifier: Apache-2.0
// What the host computes with symbolic numbers, where a release records it as it is done
// (ir/release.h).
#ifndef OP_ARITHMETIC_H_
#define OP_ARITHMETIC_H_

#include "op/record.h"

void ig_record_arithmetic(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n,
                          const ig_value *result);
void ig_record_is_size(ig_ctx *c, ig_int i);  // the same for what the host declares a size

// The stride of a dim, or with dim < 0 the number of elements, as the host reads it off a tensor: a
// call of an operator where the release reads it by one; otherwise the number as it is.
ig_int ig_record_layout(ig_ctx *c, const ig_tensor *t, int dim, ig_int n);

#endif  // OP_ARITHMETIC_H_
