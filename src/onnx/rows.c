// SPDX-License-Identifier: Apache-2.0
// All families of rows, and what is said by other ATen calls before rows are looked for.
#include "onnx/writer.h"

const ig_onnx_row *const ig_onnx_families[] = {
    ig_onnx_pointwise, ig_onnx_unary,  ig_onnx_activation, ig_onnx_bitwise,
    ig_onnx_fill,      ig_onnx_random, ig_onnx_sort,       ig_onnx_index,
    ig_onnx_scatter,   ig_onnx_pieces, ig_onnx_linear,     ig_onnx_conv,
    ig_onnx_pool,      ig_onnx_resize, ig_onnx_norm,       ig_onnx_shape,
    ig_onnx_reduce,    NULL,
};

const ig_onnx_lowering ig_onnx_lowerings[] = {
    {NULL, NULL},
};
