// SPDX-License-Identifier: Apache-2.0
// What the host computes with symbolic numbers, where a release records it as it is done
// (ir/release.h).
#ifndef OP_ARITHMETIC_H_
#define OP_ARITHMETIC_H_

#include "op/record.h"

void ig_record_arithmetic(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n,
                          const ig_value *result);
void ig_record_is_size(ig_ctx *c, ig_int i);  // the same for what the host declares a size

#endif  // OP_ARITHMETIC_H_
