// SPDX-License-Identifier: Apache-2.0
// Operators that are expressed by others before rows are looked up: formulas over ATen calls.
#ifndef ONNX_LOWER_H_
#define ONNX_LOWER_H_

#include "ingot/aten.h"
#include "onnx/writer.h"

typedef bool ig_onnx_lower_fn(ig_ctx *c, int opset, const ig_value *args, ig_value *outs);

ig_onnx_lower_fn ig_onnx_lower_softmax_backward;
ig_onnx_lower_fn ig_onnx_lower_log_softmax_backward;
ig_onnx_lower_fn ig_onnx_lower_sigmoid_backward;
ig_onnx_lower_fn ig_onnx_lower_tanh_backward;
ig_onnx_lower_fn ig_onnx_lower_threshold_backward;
ig_onnx_lower_fn ig_onnx_lower_hardtanh_backward;
ig_onnx_lower_fn ig_onnx_lower_gelu_backward;
ig_onnx_lower_fn ig_onnx_lower_max_pool_backward;
ig_onnx_lower_fn ig_onnx_lower_conv_backward;
ig_onnx_lower_fn ig_onnx_lower_batch_norm;
ig_onnx_lower_fn ig_onnx_lower_batch_norm_functional;
ig_onnx_lower_fn ig_onnx_lower_batch_norm_no_stats;
ig_onnx_lower_fn ig_onnx_lower_nll_loss;
ig_onnx_lower_fn ig_onnx_lower_dropout;
ig_onnx_lower_fn ig_onnx_lower_masked_scatter;
ig_onnx_lower_fn ig_onnx_lower_inverse;
ig_onnx_lower_fn ig_onnx_lower_cholesky;
ig_onnx_lower_fn ig_onnx_lower_old_cholesky;
ig_onnx_lower_fn ig_onnx_lower_qr;
ig_onnx_lower_fn ig_onnx_lower_solve_triangular;
ig_onnx_lower_fn ig_onnx_lower_lgamma;
ig_onnx_lower_fn ig_onnx_lower_digamma;
ig_onnx_lower_fn ig_onnx_lower_erfinv;
ig_onnx_lower_fn ig_onnx_lower_histc;
ig_onnx_lower_fn ig_onnx_lower_embedding_renorm;
ig_onnx_lower_fn ig_onnx_lower_fake_quantize;
ig_onnx_lower_fn ig_onnx_lower_fake_quantize_channel;
ig_onnx_lower_fn ig_onnx_lower_fake_quantize_given;
ig_onnx_lower_fn ig_onnx_lower_adaptive_max;
ig_onnx_lower_fn ig_onnx_lower_avg_ceil;
ig_onnx_lower_fn ig_onnx_lower_avg_ceil3d;
ig_onnx_lower_fn ig_onnx_lower_stft_center;
ig_onnx_lower_fn ig_onnx_lower_scatter_add;
ig_onnx_lower_fn ig_onnx_lower_col2im;
ig_onnx_lower_fn ig_onnx_lower_i0;
ig_onnx_lower_fn ig_onnx_lower_polygamma;
ig_onnx_lower_fn ig_onnx_lower_mode;
ig_onnx_lower_fn ig_onnx_lower_gcd;
ig_onnx_lower_fn ig_onnx_lower_lcm;
ig_onnx_lower_fn ig_onnx_lower_embedding_bag;
ig_onnx_lower_fn ig_onnx_lower_embedding_bag_forward;
ig_onnx_lower_fn ig_onnx_lower_adaptive_avg_backward;
ig_onnx_lower_fn ig_onnx_lower_attention_backward;

// Does a call take complex numbers, or make them of what it takes?
bool ig_onnx_is_complex_call(const ig_value *args, size_t n);
// Calls that treat both parts of complex numbers alike (lower_alike.c).
bool ig_onnx_is_alike(const ig_op *op);
bool ig_onnx_lower_alike(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
ig_value ig_onnx_wrapped_dim(ig_ctx *c, ig_value dim, int ndim);  // counted from the front
ig_value ig_onnx_all_dims(ig_ctx *c, int ndim);
// Calls on complex numbers, which the operator's own rule has accepted, as calls on pairs of real
// ones; false: no rule takes these arguments.
bool ig_onnx_has_complex_rule(const ig_op *op, const ig_value *args);
bool ig_onnx_lower_complex(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
bool ig_onnx_is_fft(const ig_op *op);
bool ig_onnx_lower_fft(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

static inline ig_value ig_onnx_one_dim(const ig_int *d) {
  return ig_of_ints(d, 1);
}

#endif
