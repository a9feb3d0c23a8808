// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of operators that programs otherwise keep, call by call: they are used
// where a table asks for them (get_decompositions([aten.gelu])). Half precision is computed in f32.
#include <string.h>

#include "op/formula.h"
#include "ops/lower.h"

static ig_tensor *widen(ig_ctx *c, ig_tensor *x) {
  bool half = x && (x->dtype == IG_F16 || x->dtype == IG_BF16);
  return half ? ig_cast(c, x, IG_F32) : x;
}

static ig_tensor *plus_one(ig_ctx *c, ig_tensor *t) {
  ig_value one = ig_of_i64(1);
  return ig_add_value(c, t, &one);
}

static ig_tensor *gelu_erf(ig_ctx *c, ig_tensor *x) {
  ig_tensor *half = ig_mul_f64(c, x, 0.5);
  ig_tensor *erf = ig_erf(c, ig_mul_f64(c, x, 0.7071067811865476));
  return ig_mul_tensor(c, half, plus_one(c, erf));
}

static ig_tensor *gelu_tanh(ig_ctx *c, ig_tensor *x) {
  ig_tensor *cube = ig_mul_tensor(c, ig_mul_tensor(c, x, x), x);
  ig_tensor *inner = ig_add_tensor(c, x, ig_mul_f64(c, cube, 0.044715));
  inner = ig_mul_f64(c, inner, 0.7978845608028654);
  ig_tensor *half = ig_mul_f64(c, x, 0.5);
  ig_tensor *tanh = ig_tanh(c, inner);
  return ig_mul_tensor(c, half, plus_one(c, tanh));
}

// self, approximate
ig_tensor *ig_lower_gelu(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool tanh = strcmp(args[1].str, "tanh") == 0;
  ig_tensor *y = (tanh ? gelu_tanh : gelu_erf)(c, widen(c, x));
  return ig_cast(c, y, x->dtype);
}

// self, negative_slope
ig_tensor *ig_lower_leaky_relu(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = widen(c, args[0].tensor);
  ig_tensor *positive = ig_gt_scalar(c, x, ig_of_i64(0));
  ig_tensor *scaled = ig_mul_value(c, x, &args[1]);
  return ig_cast(c, ig_where_self(c, positive, x, scaled), args[0].tensor->dtype);
}

// self, min_val, max_val
ig_tensor *ig_lower_hardtanh(ig_ctx *c, const ig_value *args) {
  return ig_clamp_with(c, args[0].tensor, args[1], args[2]);
}

// self, mat1, mat2, beta, alpha
ig_tensor *ig_lower_addmm(ig_ctx *c, const ig_value *args) {
  ig_tensor *out = ig_mm(c, args[1].tensor, args[2].tensor);
  out = ig_mul_value(c, out, &args[4]);
  if (ig_value_is(&args[3], 0)) return out;
  ig_tensor *self = ig_mul_value(c, args[0].tensor, &args[3]);
  return ig_add_tensor(c, out, self);
}

// weight, indices, ...
ig_tensor *ig_lower_embedding(ig_ctx *c, const ig_value *args) {
  ig_tensor *at = args[1].tensor;
  if (at->ndim == 1) return ig_index_select(c, args[0].tensor, ig_const(0), at);
  return ig_index_tensor(c, args[0].tensor, ig_of_list(&args[1], 1));
}

// A size that is a symbol is taken to be larger than 0, as everywhere; no guard comes of asking.
static bool is_empty(ig_ctx *c, const ig_tensor *x) {
  bool empty = false;
  for (int d = 0; d < x->ndim && !empty; d++) {
    empty = !ig_sizes(x)[d].expr && ig_int_eq_i64(c, ig_sizes(x)[d], 0);
  }
  return empty;
}

// The input less its largest element along the dimension, so that no exponential overflows.
static ig_tensor *shifted(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = widen(c, ig_contiguous(c, args[0].tensor));
  if (!x || is_empty(c, x)) return x;
  ig_tensor *largest = ig_amax_with(c, x, ig_of_ints(&args[1].i, 1), true);
  return ig_sub_tensor(c, x, largest);
}

static ig_tensor *sum_along(ig_ctx *c, ig_tensor *x, const ig_value *dim) {
  return ig_sum_dim_intlist_with(c, x, ig_of_ints(&dim->i, 1), true, ig_none());
}

// half_to_float: the result has the type that is computed in.
static ig_tensor *narrow(ig_ctx *c, ig_tensor *y, const ig_value *args) {
  return args[2].b ? y : ig_cast(c, y, args[0].tensor->dtype);
}

// self, dim, half_to_float
ig_tensor *ig_lower_softmax(ig_ctx *c, const ig_value *args) {
  ig_tensor *e = ig_exp(c, shifted(c, args));
  ig_tensor *sum = sum_along(c, e, &args[1]);
  return narrow(c, ig_div_tensor(c, e, sum), args);
}

ig_tensor *ig_lower_log_softmax(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = shifted(c, args);
  ig_tensor *sum = sum_along(c, ig_exp(c, x), &args[1]);
  return narrow(c, ig_sub_tensor(c, x, ig_log(c, sum)), args);
}

// (x - mean) / std over some dimensions, with the mean and 1 / std.
static void normalize(ig_ctx *c, ig_tensor *x, ig_value dims, const ig_value *eps,
                      ig_tensor *out[3]) {
  ig_value found[2];
  ig_var_mean_correction_with(c, widen(c, x), dims, ig_of_i64(0), true, found);
  if (c->status != IG_OK) return;
  out[1] = found[1].tensor;
  out[2] = ig_rsqrt(c, ig_add_value(c, found[0].tensor, eps));
  ig_tensor *centered = ig_sub_tensor(c, x, out[1]);
  out[0] = ig_mul_tensor(c, centered, out[2]);
}

static ig_tensor *scale_and_shift(ig_ctx *c, ig_tensor *x, ig_tensor *weight, ig_tensor *bias) {
  if (weight) x = ig_mul_tensor(c, x, weight);
  return bias ? ig_add_tensor(c, x, bias) : x;
}

static void give(ig_ctx *c, ig_tensor *out[3], ig_dtype dtype, ig_value *outs) {
  for (int i = 0; i < 3; i++) outs[i] = ig_of_tensor(ig_cast(c, out[i], dtype));
}

// input, normalized_shape, weight, bias, eps
void ig_lower_layer_norm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_int dims[IG_MAX_DIM];
  size_t n = args[1].ints.n;
  for (size_t i = 0; i < n; i++) dims[i] = ig_const(x->ndim - (int64_t)n + (int64_t)i);
  ig_tensor *out[3] = {NULL, NULL, NULL};
  normalize(c, x, ig_of_ints(dims, n), &args[4], out);
  out[0] = scale_and_shift(c, out[0], ig_value_tensor(&args[2]), ig_value_tensor(&args[3]));
  give(c, out, x->dtype, outs);
}

// A value per channel, shaped to broadcast with an input of so many dimensions.
static ig_tensor *per_channel(ig_ctx *c, ig_tensor *t, int ndim) {
  for (int d = 0; d < ndim && t; d++) {
    if (d != 1) t = ig_unsqueeze(c, t, ig_const(d));
  }
  return t;
}

// input, weight, bias, N, C, HxW, group, eps
void ig_lower_group_norm(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  ig_int grouped[] = {args[3].i, args[6].i, ig_size_floordiv(c, args[4].i, args[6].i), args[5].i};
  ig_int within[] = {ig_const(2), ig_const(3)};
  ig_tensor *out[3] = {NULL, NULL, NULL};
  normalize(c, ig_view(c, x, ig_of_ints(grouped, 4)), ig_of_ints(within, 2), &args[7], out);
  out[0] = ig_view(c, out[0], ig_sizes_of(x));
  ig_tensor *bias = per_channel(c, ig_value_tensor(&args[2]), x->ndim);
  ig_tensor *weight = per_channel(c, ig_value_tensor(&args[1]), x->ndim);
  out[0] = scale_and_shift(c, out[0], weight, bias);
  give(c, out, x->dtype, outs);
  for (int i = 1; i < 3; i++) {
    outs[i] = ig_of_tensor(ig_squeeze_dims(c, outs[i].tensor, ig_of_ints(within, 2)));
  }
}
