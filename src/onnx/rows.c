// SPDX-License-Identifier: Apache-2.0
// All families of rows, and what is said by other ATen calls before rows are looked for.
#include "onnx/lower.h"

const ig_onnx_row *const ig_onnx_families[] = {
    ig_onnx_pointwise, ig_onnx_unary, ig_onnx_activation, ig_onnx_bitwise, ig_onnx_fill,
    ig_onnx_random,    ig_onnx_sort,  ig_onnx_index,      ig_onnx_scatter, ig_onnx_pieces,
    ig_onnx_linear,    ig_onnx_conv,  ig_onnx_pool,       ig_onnx_resize,  ig_onnx_norm,
    ig_onnx_attention, ig_onnx_rnn,   ig_onnx_shape,      ig_onnx_reduce,  NULL,
};

const ig_onnx_lowering ig_onnx_lowerings[] = {
    {"aten._softmax_backward_data.default", ig_onnx_lower_softmax_backward},
    {"aten._log_softmax_backward_data.default", ig_onnx_lower_log_softmax_backward},
    {"aten.sigmoid_backward.default", ig_onnx_lower_sigmoid_backward},
    {"aten.tanh_backward.default", ig_onnx_lower_tanh_backward},
    {"aten.threshold_backward.default", ig_onnx_lower_threshold_backward},
    {"aten.hardtanh_backward.default", ig_onnx_lower_hardtanh_backward},
    {"aten.gelu_backward.default", ig_onnx_lower_gelu_backward},
    {"aten.max_pool2d_with_indices_backward.default", ig_onnx_lower_max_pool_backward},
    {"aten.convolution_backward.default", ig_onnx_lower_conv_backward},
    {"aten.batch_norm.default", ig_onnx_lower_batch_norm},
    {"aten._native_batch_norm_legit_functional.default", ig_onnx_lower_batch_norm_functional},
    {"aten._native_batch_norm_legit.no_stats", ig_onnx_lower_batch_norm_no_stats},
    {"aten.nll_loss_forward.default", ig_onnx_lower_nll_loss},
    {"aten.nll_loss2d_forward.default", ig_onnx_lower_nll_loss},
    {"aten.native_dropout.default", ig_onnx_lower_dropout},
    {"aten.masked_scatter.default", ig_onnx_lower_masked_scatter},
    {NULL, NULL},
};
