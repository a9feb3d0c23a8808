// SPDX-License-Identifier: Apache-2.0
// Training forms, losses and others as ATen calls that have rows.
#include "onnx/lower.h"

// ---- batch norm

typedef struct batch {
  ig_tensor *x;
  ig_tensor *weight;  // NULL: none
  ig_tensor *bias;
  ig_tensor *mean;  // running, NULL: none
  ig_tensor *var;
  bool training;
  double momentum;
  double eps;
} batch;

// [C] as [1, C, 1, 1]
static ig_tensor *per_channel(ig_ctx *c, const batch *b, ig_tensor *t) {
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < b->x->ndim; d++) sizes[d] = d == 1 ? ig_sizes(b->x)[1] : ig_const(1);
  return ig_view(c, t, ig_of_ints(sizes, (size_t)b->x->ndim));
}

static ig_tensor *blend(ig_ctx *c, ig_tensor *old, ig_tensor *now, double momentum) {
  ig_tensor *part = ig_mul_scalar(c, now, ig_of_f64(momentum));
  ig_tensor *rest = ig_mul_scalar(c, old, ig_of_f64(1 - momentum));
  return ig_add_tensor(c, part, rest);
}

// outs: result, mean, 1 / deviation; then the new statistics, if any
static void normalize(ig_ctx *c, const batch *b, ig_value *outs, bool statistics) {
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 0; d < b->x->ndim; d++) {
    if (d != 1) dims[n++] = ig_const(d);
  }
  ig_tensor *mean = b->mean;
  ig_tensor *var = b->var;
  ig_value both[2];
  if (b->training || !mean) {
    ig_var_mean_correction_with(c, b->x, ig_of_ints(dims, n), ig_of_i64(0), false, both);
    var = both[0].tensor;
    mean = both[1].tensor;
  }
  ig_tensor *rstd = ig_rsqrt(c, ig_add_scalar(c, var, ig_of_f64(b->eps)));
  ig_tensor *out = ig_sub_tensor(c, b->x, per_channel(c, b, mean));
  out = ig_mul_tensor(c, out, per_channel(c, b, rstd));
  if (b->weight) out = ig_mul_tensor(c, out, per_channel(c, b, b->weight));
  if (b->bias) out = ig_add_tensor(c, out, per_channel(c, b, b->bias));
  outs[0] = ig_of_tensor(out);
  outs[1] = ig_of_tensor(mean);
  outs[2] = ig_of_tensor(rstd);
  if (!statistics) return;
  outs[3] = ig_of_tensor(b->mean);
  outs[4] = ig_of_tensor(b->var);
  if (!b->training) return;
  ig_var_mean_correction_with(c, b->x, ig_of_ints(dims, n), ig_of_i64(1), false, both);
  outs[3] = ig_of_tensor(blend(c, b->mean, mean, b->momentum));
  outs[4] = ig_of_tensor(blend(c, b->var, both[0].tensor, b->momentum));
}

static ig_tensor *optional(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
}

static bool lower_batch(ig_ctx *c, const batch *b, ig_value *outs, bool statistics) {
  if (b->x->ndim < 2) return false;
  normalize(c, b, outs, statistics);
  return true;
}

// input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
bool ig_onnx_lower_batch_norm(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  batch b = {args[0].tensor, optional(&args[1]), optional(&args[2]), NULL, NULL, true, 0,
             args[7].f};
  if (optional(&args[3]) || b.x->ndim < 2) return false;  // statistics are updated elsewhere
  ig_value all[3];
  normalize(c, &b, all, false);
  outs[0] = all[0];
  return true;
}

// input, weight, bias, running_mean, running_var, training, momentum, eps
bool ig_onnx_lower_batch_norm_functional(ig_ctx *c, int opset, const ig_value *args,
                                         ig_value *outs) {
  (void)opset;
  batch b = {args[0].tensor,     optional(&args[1]), optional(&args[2]), optional(&args[3]),
             optional(&args[4]), args[5].b,          args[6].f,          args[7].f};
  return lower_batch(c, &b, outs, true);
}

// input, weight, bias, training, momentum, eps
bool ig_onnx_lower_batch_norm_no_stats(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  batch b = {args[0].tensor, optional(&args[1]), optional(&args[2]), NULL, NULL, true, 0,
             args[5].f};
  return lower_batch(c, &b, outs, false);
}

// ---- losses

// self [N, C, ...], target [N, ...], weight, reduction, ignore_index; the weights that counted
bool ig_onnx_lower_nll_loss(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *self = args[0].tensor;
  int64_t reduction = args[3].i.value;
  ig_int dim = ig_const(self->ndim == 1 ? 0 : 1);
  ig_tensor *ignored = ig_eq_scalar(c, args[1].tensor, ig_of_int(args[4].i));
  ig_tensor *target = ig_masked_fill_scalar(c, args[1].tensor, ignored, ig_of_i64(0));
  ig_tensor *picked = ig_gather(c, self, dim, ig_unsqueeze(c, target, dim));
  ig_tensor *loss = ig_neg(c, ig_squeeze_dim(c, picked, dim));
  ig_tensor *weight = NULL;
  if (args[2].kind == IG_KIND_TENSOR) {
    ig_value at = ig_of_tensor(target);
    weight = ig_index_tensor(c, args[2].tensor, ig_of_list(&at, 1));
  } else {
    weight = ig_full_like(c, loss, ig_of_i64(1));
  }
  weight = ig_masked_fill_scalar(c, weight, ignored, ig_of_i64(0));
  loss = ig_masked_fill_scalar(c, ig_mul_tensor(c, loss, weight), ignored, ig_of_i64(0));
  ig_tensor *total = ig_sum(c, weight);
  outs[0] = ig_of_tensor(loss);
  outs[1] = ig_of_tensor(total);
  if (reduction == 0) {
    outs[1] = ig_of_tensor(ig_full_like(c, total, ig_of_i64(0)));
  } else {
    ig_tensor *sum = ig_sum(c, loss);
    outs[0] = ig_of_tensor(reduction == 1 ? ig_div_tensor(c, sum, total) : sum);
  }
  return true;
}

// ---- others

// input, p, train: kept where a random number is not below p
bool ig_onnx_lower_dropout(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  double p = args[1].f;
  bool train = args[2].kind != IG_KIND_BOOL || args[2].b;
  if (!train || p >= 1) return false;
  ig_tensor *kept = ig_ge_scalar(c, ig_rand_like(c, x), ig_of_f64(p));
  ig_tensor *out = ig_mul_scalar(c, ig_mul_tensor(c, x, kept), ig_of_f64(1 / (1 - p)));
  outs[0] = ig_of_tensor(out);
  outs[1] = ig_of_tensor(kept);
  return true;
}

// self, mask, source: the n-th true element gets the n-th of the source
bool ig_onnx_lower_masked_scatter(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *self = args[0].tensor;
  ig_value sizes = ig_of_ints(ig_sizes(self), (size_t)self->ndim);
  ig_int all = ig_const(-1);
  ig_tensor *mask = ig_expand(c, args[1].tensor, sizes);
  ig_tensor *flat = ig_reshape(c, mask, ig_of_ints(&all, 1));
  ig_tensor *count = ig_cumsum(c, ig_to_dtype(c, flat, ig_of_dtype(IG_I64)), ig_const(0));
  ig_tensor *at = ig_clamp_min(c, ig_sub_scalar(c, count, ig_of_i64(1)), ig_of_i64(0));
  ig_tensor *source = ig_reshape(c, args[2].tensor, ig_of_ints(&all, 1));
  ig_tensor *picked = ig_index_select(c, source, ig_const(0), at);
  picked = ig_view(c, picked, sizes);
  outs[0] = ig_of_tensor(ig_where_self(c, mask, picked, self));
  return true;
}
