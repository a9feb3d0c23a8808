// SPDX-License-Identifier: Apache-2.0
// Rounding scaled numbers to quantized types.
#ifndef ONNX_OPS_QUANT_H_
#define ONNX_OPS_QUANT_H_

#include "onnx_read/reader.h"

// round(x) + zero, saturated, as elements of type elem; zero may be NULL and must broadcast.
ig_tensor *ig_rd_quantize(ig_rd *r, ig_tensor *x, ig_tensor *zero, int elem, bool saturate);

#endif
