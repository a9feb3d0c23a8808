// SPDX-License-Identifier: Apache-2.0
// PyTorch's words for dtypes that an operator does not take.
#ifndef OP_REFUSE_H_
#define OP_REFUSE_H_

#include "op/op.h"

const char *ig_dtype_title(ig_dtype d);  // "Float", "Long", "ComplexDouble" as in error texts

// Fails with IG_UNSUPPORTED: "kernel" not implemented for 'Long'.
void ig_refuse_dtype(ig_ctx *c, const char *kernel, ig_dtype d);

#endif
