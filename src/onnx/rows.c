// SPDX-License-Identifier: Apache-2.0
// All families of rows, and lowerings to other ATen calls that are tried before rows.
#include "onnx/lower.h"

const ig_onnx_row *const ig_onnx_families[] = {
    ig_onnx_pointwise, ig_onnx_unary,   ig_onnx_activation, ig_onnx_bitwise,
    ig_onnx_fill,      ig_onnx_random,  ig_onnx_sort,       ig_onnx_index,
    ig_onnx_scatter,   ig_onnx_pieces,  ig_onnx_linear,     ig_onnx_conv,
    ig_onnx_pool,      ig_onnx_resize,  ig_onnx_norm,       ig_onnx_attention,
    ig_onnx_quant,     ig_onnx_rnn,     ig_onnx_shape,      ig_onnx_reduce,
    ig_onnx_signal,    ig_onnx_complex, ig_onnx_loss,       NULL,
};

const ig_onnx_row *const ig_onnx_host_families[] = {ig_onnx_packed_rnn, NULL};

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
    {"aten.linalg_inv_ex.default", ig_onnx_lower_inverse},
    {"aten.linalg_cholesky_ex.default", ig_onnx_lower_cholesky},
    {"aten.cholesky.default", ig_onnx_lower_old_cholesky},
    {"aten.linalg_qr.default", ig_onnx_lower_qr},
    {"aten.linalg_solve_triangular.default", ig_onnx_lower_solve_triangular},
    {"aten.lgamma.default", ig_onnx_lower_lgamma},
    {"aten.digamma.default", ig_onnx_lower_digamma},
    {"aten.erfinv.default", ig_onnx_lower_erfinv},
    {"aten.histc.default", ig_onnx_lower_histc},
    {"aten.embedding_renorm.default", ig_onnx_lower_embedding_renorm},
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", ig_onnx_lower_fake_quantize},
    {"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
     ig_onnx_lower_fake_quantize_given},
    {"aten.fake_quantize_per_channel_affine_cachemask.default",
     ig_onnx_lower_fake_quantize_channel},
    {"aten.adaptive_max_pool2d.default", ig_onnx_lower_adaptive_max},
    {"aten.adaptive_max_pool3d.default", ig_onnx_lower_adaptive_max},
    {"aten.avg_pool2d.default", ig_onnx_lower_avg_ceil},
    {"aten.avg_pool3d.default", ig_onnx_lower_avg_ceil3d},
    {"aten.stft.center", ig_onnx_lower_stft_center},
    {"aten.scatter_add.default", ig_onnx_lower_scatter_add},
    {"aten.col2im.default", ig_onnx_lower_col2im},
    {"aten.i0.default", ig_onnx_lower_i0},
    {"aten.polygamma.default", ig_onnx_lower_polygamma},
    {"aten.mode.default", ig_onnx_lower_mode},
    {"aten.gcd.default", ig_onnx_lower_gcd},
    {"aten.lcm.default", ig_onnx_lower_lcm},
    {"aten._embedding_bag.default", ig_onnx_lower_embedding_bag},
    {"aten._embedding_bag_forward_only.default", ig_onnx_lower_embedding_bag_forward},
    {"aten._adaptive_avg_pool2d_backward.default", ig_onnx_lower_adaptive_avg_backward},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     ig_onnx_lower_attention_backward},
    {NULL, NULL},
};

// Those that PyTorch's exporter has functions for.
const char *const ig_onnx_lowered_whole[] = {
    "aten._native_batch_norm_legit_functional.default",
    "aten._native_batch_norm_legit.no_stats",
    NULL,
};
