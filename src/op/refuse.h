// SPDX-License-Identifier: Apache-2.0
// PyTorch's error messages for invalid operands, shared by the operator families.
#ifndef OP_REFUSE_H_
#define OP_REFUSE_H_

#include "op/op.h"

const char *ig_dtype_title(ig_dtype d);  // "Float", "Long", "ComplexDouble" as in error texts

// Fails with IG_UNSUPPORTED: "kernel" not implemented for 'Long'.
const char *ig_value_class(const ig_value *v);  // its Python type: "int", "NoneType"
void ig_refuse_dtype(ig_ctx *c, const char *kernel, ig_dtype d);
// A fake call whose result sizes depend on the data: an error.
void ig_refuse_sizes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Checks for a dtype that real-valued kernels support: half, bfloat16, float, double. Others are an
// error.
bool ig_check_float(ig_ctx *c, const char *kernel, ig_dtype d);

// "[2, 3, s0]"; lives as long as the innermost scope, never NULL.
const char *ig_sizes_text(ig_ctx *c, const ig_int *at, size_t n);

// Can the number be stored in the dtype? Otherwise false and IG_RUNTIME: "value cannot be converted
// to type uint8_t without overflow". Negative numbers wrap into unsigned dtypes.
bool ig_check_number(ig_ctx *c, const ig_value *number, ig_dtype to);

#endif
