// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of gradients, call by call: eager calls have kernels for all of them.
#include <string.h>

#include "op/formula.h"
#include "ops/lower.h"

static ig_tensor *sum_over(ig_ctx *c, ig_tensor *t, const ig_int *dims, size_t n, bool keep) {
  return ig_sum_dim_intlist_with(c, t, ig_of_ints(dims, n), keep, ig_none());
}

static ig_tensor *one_minus(ig_ctx *c, ig_tensor *t) {
  return ig_rsub_scalar(c, t, ig_of_i64(1));
}

static ig_tensor *plus_one(ig_ctx *c, ig_tensor *t) {
  ig_value one = ig_of_i64(1);
  return ig_add_value(c, t, &one);
}

// grad_output, output, dim, input_dtype
ig_tensor *ig_lower_softmax_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[1].tensor;
  ig_tensor *weighted = ig_mul_tensor(c, args[0].tensor, y);
  ig_tensor *sum = sum_over(c, weighted, &args[2].i, 1, true);
  ig_tensor *back = ig_mul_tensor(c, y, sum);
  return ig_cast(c, ig_sub_tensor(c, weighted, back), args[3].dtype);
}

ig_tensor *ig_lower_log_softmax_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *p = ig_exp(c, args[1].tensor);
  ig_tensor *sum = sum_over(c, g, &args[2].i, 1, true);
  ig_tensor *back = ig_mul_tensor(c, p, sum);
  return ig_cast(c, ig_sub_tensor(c, g, back), args[3].dtype);
}

// g conj(y (1 - y))
ig_tensor *ig_lower_sigmoid_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[1].tensor;
  ig_tensor *slope = ig_mul_tensor(c, y, one_minus(c, y));
  return ig_mul_tensor(c, args[0].tensor, ig_conj_of(c, slope));
}

// g conj(1 - y y)
ig_tensor *ig_lower_tanh_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[1].tensor;
  ig_tensor *slope = one_minus(c, ig_mul_tensor(c, y, y));
  return ig_mul_tensor(c, args[0].tensor, ig_conj_of(c, slope));
}

// g s (1 + x (1 - s))
ig_tensor *ig_lower_silu_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[1].tensor;
  ig_value one = ig_of_i64(1);
  ig_tensor *s = ig_reciprocal(c, plus_one(c, ig_exp(c, ig_neg(c, x))));
  s = ig_mul_value(c, s, &one);
  ig_tensor *scaled = ig_mul_tensor(c, args[0].tensor, s);
  ig_tensor *rest = ig_mul_tensor(c, x, one_minus(c, s));
  return ig_mul_tensor(c, scaled, plus_one(c, rest));
}

static ig_tensor *gelu_erf(ig_ctx *c, ig_tensor *g, ig_tensor *x) {
  ig_tensor *cdf = plus_one(c, ig_erf(c, ig_mul_f64(c, x, 0.7071067811865476)));
  cdf = ig_mul_f64(c, cdf, 0.5);
  ig_tensor *pdf = ig_exp(c, ig_mul_f64(c, ig_mul_tensor(c, x, x), -0.5));
  pdf = ig_mul_f64(c, pdf, 0.3989422804014327);
  ig_tensor *slope = ig_add_tensor(c, cdf, ig_mul_tensor(c, x, pdf));
  return ig_mul_tensor(c, g, slope);
}

static ig_tensor *gelu_tanh(ig_ctx *c, ig_tensor *g, ig_tensor *x) {
  const double beta = 0.7978845608028654;
  const double kappa = 0.044715;
  ig_tensor *square = ig_mul_tensor(c, x, x);
  ig_tensor *cube = ig_mul_tensor(c, square, x);
  ig_tensor *inner = ig_add_tensor(c, x, ig_mul_f64(c, cube, kappa));
  ig_tensor *th = ig_tanh(c, ig_mul_f64(c, inner, beta));
  ig_tensor *left = ig_mul_f64(c, x, 0.5);
  ig_tensor *left_slope = ig_mul_f64(c, plus_one(c, th), 0.5);
  ig_tensor *th_slope = one_minus(c, ig_mul_tensor(c, th, th));
  ig_tensor *inner_slope = plus_one(c, ig_mul_f64(c, square, 3 * kappa));
  inner_slope = ig_mul_f64(c, inner_slope, beta);
  ig_tensor *right = ig_mul_tensor(c, left, th_slope);
  right = ig_mul_tensor(c, right, inner_slope);
  return ig_mul_tensor(c, g, ig_add_tensor(c, left_slope, right));
}

// grad_output, self, approximate
ig_tensor *ig_lower_gelu_backward(ig_ctx *c, const ig_value *args) {
  bool tanh = strcmp(args[2].str, "tanh") == 0;
  return (tanh ? gelu_tanh : gelu_erf)(c, args[0].tensor, args[1].tensor);
}

// grad_output, self, min_val, max_val
ig_tensor *ig_lower_hardtanh_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *low = ig_le_scalar(c, args[1].tensor, args[2]);
  ig_tensor *high = ig_ge_scalar(c, args[1].tensor, args[3]);
  ig_tensor *flat = ig_bitwise_or_tensor(c, low, high);
  return ig_where_scalarself(c, flat, ig_of_f64(0), args[0].tensor);
}

// grad_output, self, threshold
ig_tensor *ig_lower_threshold_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *low = ig_le_scalar(c, args[1].tensor, args[2]);
  return ig_where_scalarself(c, low, ig_of_i64(0), args[0].tensor);
}

static ig_tensor *unsqueezed_to(ig_ctx *c, ig_tensor *t, int ndim) {
  while (t && t->ndim < ndim) t = ig_unsqueeze(c, t, ig_const(-1));
  return t;
}

// grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
ig_tensor *ig_lower_embedding_dense_backward(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *indices = ig_cast(c, args[1].tensor, IG_I64);
  ig_value at = ig_of_tensor(indices);
  if (!indices) return NULL;
  if (args[4].b) {
    ig_tensor *counts = ig_new_zeros(c, indices, ig_of_ints(&args[2].i, 1));
    ig_tensor *ones = ig_ones_like(c, indices);
    counts = ig_index_put_with(c, counts, ig_of_list(&at, 1), ones, true);
    ig_tensor *count = ig_index_tensor(c, counts, ig_of_list(&at, 1));
    g = ig_div_tensor(c, g, ig_unsqueeze(c, count, ig_const(-1)));
    if (!g) return NULL;
  }
  ig_tensor *padding = unsqueezed_to(c, ig_eq_scalar(c, indices, args[3]), g->ndim);
  ig_tensor *kept = ig_masked_fill_scalar(c, g, padding, ig_of_i64(0));
  ig_int sizes[IG_MAX_DIM] = {args[2].i};
  size_t n = 1;
  for (int d = indices->ndim; d < g->ndim; d++) sizes[n++] = ig_sizes(g)[d];
  ig_tensor *zeros = ig_new_zeros(c, g, ig_of_ints(sizes, n));
  return ig_index_put_with(c, zeros, ig_of_list(&at, 1), kept, true);
}

// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
void ig_lower_layer_norm_backward(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[1].tensor;
  ig_tensor *mean = args[3].tensor;
  ig_tensor *rstd = args[4].tensor;
  ig_tensor *w = ig_value_tensor(&args[5]);
  ig_tensor *b = ig_value_tensor(&args[6]);
  size_t n = args[2].ints.n;
  size_t lead = (size_t)x->ndim - n;
  ig_int dims[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) dims[d] = ig_const(d);
  ig_int count = ig_product(c, ig_sizes(x) + lead, n);
  ig_tensor *hat = ig_mul_tensor(c, ig_sub_tensor(c, x, mean), rstd);
  ig_tensor *gw = w ? ig_mul_tensor(c, g, w) : g;
  ig_tensor *all = ig_mul_int(c, gw, count);
  ig_tensor *sum = sum_over(c, gw, dims + lead, n, true);
  ig_tensor *along = sum_over(c, ig_mul_tensor(c, gw, hat), dims + lead, n, true);
  along = ig_mul_tensor(c, hat, along);
  ig_tensor *inner = ig_sub_tensor(c, ig_sub_tensor(c, all, sum), along);
  outs[0] = outs[1] = outs[2] = ig_none();
  if (args[7].list.at[0].b) {
    ig_tensor *scale = ig_div_int(c, rstd, count);
    outs[0] = ig_of_tensor(ig_mul_tensor(c, scale, inner));
  }
  if (args[7].list.at[1].b && w) {
    ig_tensor *d = ig_mul_tensor(c, g, hat);
    outs[1] = ig_of_tensor(lead ? sum_over(c, d, dims, lead, false) : d);
  }
  if (args[7].list.at[2].b && b) {
    outs[2] = ig_of_tensor(lead ? sum_over(c, g, dims, lead, false) : ig_clone(c, g));
  }
}

// A value per channel, shaped to broadcast with the input.
static ig_tensor *per_channel(ig_ctx *c, ig_tensor *t, const ig_tensor *x) {
  for (int d = 0; d < x->ndim; d++) {
    if (d != 1) t = ig_unsqueeze(c, t, ig_const(d));
  }
  return t;
}

// grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask
void ig_lower_batch_norm_backward(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *g = args[0].tensor;
  ig_tensor *x = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[2]);
  bool train = args[7].b;
  ig_tensor *mean = args[train ? 5 : 3].tensor;
  ig_tensor *invstd = NULL;
  if (train) {
    invstd = args[6].tensor;
  } else {
    invstd = ig_rsqrt(c, ig_add_scalar(c, args[4].tensor, args[8]));
  }
  ig_int dims[IG_MAX_DIM];
  ig_int count = ig_const(1);
  size_t n = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (d == 1) continue;
    dims[n++] = ig_const(d);
    count = ig_int_mul(c, count, ig_sizes(x)[d]);
  }
  double norm = 1.0 / (double)ig_int_specialize(c, count);
  mean = per_channel(c, mean, x);
  ig_tensor *sum = sum_over(c, g, dims, n, false);
  ig_tensor *dot = ig_sub_tensor(c, x, mean);
  dot = sum_over(c, ig_mul_tensor(c, g, dot), dims, n, false);
  ig_tensor *g_mean = per_channel(c, ig_mul_f64(c, sum, norm), x);
  ig_tensor *scale = ig_mul_f64(c, dot, norm);
  scale = ig_mul_tensor(c, scale, ig_mul_tensor(c, invstd, invstd));
  scale = per_channel(c, scale, x);
  ig_tensor *slope = w ? per_channel(c, ig_mul_tensor(c, invstd, w), x)
                       : ig_mul_f64(c, per_channel(c, invstd, x), 1);
  outs[0] = outs[1] = outs[2] = ig_none();
  ig_tensor *d = g;
  if (train) {
    ig_tensor *along = ig_mul_tensor(c, ig_sub_tensor(c, x, mean), scale);
    d = ig_sub_tensor(c, ig_sub_tensor(c, g, along), g_mean);
  }
  if (args[9].list.at[0].b) outs[0] = ig_of_tensor(ig_mul_tensor(c, d, slope));
  if (args[9].list.at[1].b) outs[1] = ig_of_tensor(ig_mul_tensor(c, dot, invstd));
  if (args[9].list.at[2].b) outs[2] = ig_of_tensor(sum);
}
