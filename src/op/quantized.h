// SPDX-License-Identifier: Apache-2.0
// Calls with quantized operands. No kernel sees the integers of a quantized tensor unless the
// record of its operator says what it does with them (ig_quant in op/op.h): ig_call comes here
// first.
#ifndef OP_QUANTIZED_H_
#define OP_QUANTIZED_H_

#include "op/op.h"
#include "tensor/quantizer.h"

void ig_call_quantized(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// The rest of a call, after the rule: what ig_call does with plain operands.
void ig_dispatch(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Fails with IG_UNSUPPORTED in PyTorch's words: "Could not run 'aten::neg.out' with arguments from
// the 'QuantizedCPU' backend. ..."
void ig_refuse_backend(ig_ctx *c, const char *name, const char *backend);
// Is t quantized? Otherwise the same error for the CPU.
bool ig_check_quantized(ig_ctx *c, const ig_op *op, const ig_tensor *t);

// x as a quantized tensor with the parameters of q, which has one scale.
ig_tensor *ig_quantize_as(ig_ctx *c, ig_tensor *x, ig_dtype dtype, const ig_quantizer *q);
ig_tensor *ig_quantize_with(ig_ctx *c, ig_tensor *x, ig_dtype dtype, double scale, int64_t zero);
// A scale or zero point that a call gives. A quantizer has numbers, so that one which depends on
// data is a question about it (IG_DATA_DEPENDENT, or the example's in a draft).
double ig_scale_of(ig_ctx *c, const ig_value *v);
// t itself if it is not quantized.
ig_tensor *ig_dequantized(ig_ctx *c, ig_tensor *t);

#endif
