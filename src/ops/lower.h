// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of operators that have a kernel here. The formulas are separate because
// they follow PyTorch's Python implementations step by step.
#ifndef OPS_LOWER_H_
#define OPS_LOWER_H_

#include "op/op.h"

// Gradients (ops/lower_backward.c).
ig_decompose_fn ig_lower_softmax_backward;
ig_decompose_fn ig_lower_log_softmax_backward;
ig_decompose_fn ig_lower_gelu_backward;
ig_decompose_fn ig_lower_hardtanh_backward;
ig_decompose_fn ig_lower_threshold_backward;
ig_decompose_fn ig_lower_sigmoid_backward;
ig_decompose_fn ig_lower_tanh_backward;
ig_decompose_fn ig_lower_silu_backward;
ig_decompose_fn ig_lower_embedding_dense_backward;
ig_decompose_outs_fn ig_lower_layer_norm_backward;
ig_decompose_outs_fn ig_lower_batch_norm_backward;

// Operators that programs keep unless a table asks (ops/nn/lower_forward.c).
ig_decompose_fn ig_lower_gelu;
ig_decompose_fn ig_lower_leaky_relu;
ig_decompose_fn ig_lower_hardtanh;
ig_decompose_fn ig_lower_addmm;
ig_decompose_fn ig_lower_embedding;
ig_decompose_fn ig_lower_softmax;
ig_decompose_fn ig_lower_log_softmax;
ig_decompose_outs_fn ig_lower_layer_norm;
ig_decompose_outs_fn ig_lower_group_norm;

// Losses (ops/lower_loss.c).
ig_decompose_outs_fn ig_lower_nll_loss_forward;
ig_decompose_fn ig_lower_nll_loss_backward;

// Reductions and predicates (ops/lower_reduce.c).
ig_decompose_fn ig_lower_all;
ig_decompose_fn ig_lower_all_dim;
ig_decompose_fn ig_lower_all_dims;
ig_decompose_outs_fn ig_lower_aminmax;

// Pointwise operators (ops/lower_pointwise.c).
ig_decompose_fn ig_lower_and;
ig_decompose_fn ig_lower_or;
ig_decompose_fn ig_lower_isfinite;
ig_decompose_fn ig_lower_sgn;
ig_decompose_fn ig_lower_floor_divide;

// Matrix products (ops/lower_pointwise.c).
ig_decompose_fn ig_lower_mv;
ig_decompose_fn ig_lower_baddbmm;

// Recurrent networks on dense sequences (ops/lower_rnn.c).
ig_decompose_outs_fn ig_lower_lstm;
ig_decompose_outs_fn ig_lower_gru;
ig_decompose_outs_fn ig_lower_rnn_tanh;
ig_decompose_outs_fn ig_lower_rnn_relu;

// Windows (ops/lower_window.c).
ig_decompose_fn ig_lower_im2col;
ig_decompose_fn ig_lower_col2im;

#endif
