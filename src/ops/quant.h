// SPDX-License-Identifier: Apache-2.0
// What operators of all families do with quantized operands, where it is more than a rule of
// ig_quant.
#ifndef OPS_QUANT_H_
#define OPS_QUANT_H_

#include "op/quantized.h"

// Formulas for .on_quantized and .inplace_quantized.
ig_decompose_outs_fn ig_quant_cat;
ig_decompose_outs_fn ig_quant_stack;
ig_decompose_outs_fn ig_quant_equal;
ig_decompose_outs_fn ig_quant_to_copy;
ig_decompose_outs_fn ig_quant_copy_into;
ig_decompose_outs_fn ig_quant_relu;
ig_decompose_outs_fn ig_quant_max_pool2d;

// The scale and the zero point that PyTorch chooses for numbers from low to high: zero is exact.
// reduce: only half of the integers are used.
void ig_quant_choose(double low, double high, int64_t least, int64_t most, bool reduce,
                     double *scale, int64_t *zero);
// The smallest and the largest number of a float32 tensor; 0 if it is empty.
void ig_quant_extremes(ig_ctx *c, ig_tensor *x, float *low, float *high);

// Quantizers of views, for .channels.
ig_channels_fn ig_channels_same;
ig_channels_fn ig_channels_select;
ig_channels_fn ig_channels_slice;
ig_channels_fn ig_channels_squeeze;
ig_channels_fn ig_channels_unsqueeze;

#endif
