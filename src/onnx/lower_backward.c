// SPDX-License-Identifier: Apache-2.0
// Derivatives as ATen calls that have rows.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "onnx/lower.h"
#include "onnx/window.h"
#include "op/formula.h"

static ig_tensor *sum_keep(ig_ctx *c, ig_tensor *t, ig_int dim) {
  return ig_sum_dim_intlist_with(c, t, ig_of_ints(&dim, 1), true, ig_none());
}

// grad, output, dim, dtype: y (g - sum(g y))
bool ig_onnx_lower_softmax_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *scaled = ig_mul_tensor(c, args[0].tensor, args[1].tensor);
  ig_tensor *sum = sum_keep(c, scaled, args[2].i);
  ig_tensor *part = ig_mul_tensor(c, args[1].tensor, sum);
  outs[0] = ig_of_tensor(ig_sub_tensor(c, scaled, part));
  return true;
}

// g - exp(y) sum(g)
bool ig_onnx_lower_log_softmax_backward(ig_ctx *c, int opset, const ig_value *args,
                                        ig_value *outs) {
  (void)opset;
  ig_tensor *sum = sum_keep(c, args[0].tensor, args[2].i);
  ig_tensor *exp = ig_exp(c, args[1].tensor);
  ig_tensor *part = ig_mul_tensor(c, exp, sum);
  outs[0] = ig_of_tensor(ig_sub_tensor(c, args[0].tensor, part));
  return true;
}

// g y (1 - y)
bool ig_onnx_lower_sigmoid_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *y = args[1].tensor;
  ig_tensor *square = ig_mul_tensor(c, y, y);
  ig_tensor *slope = ig_sub_tensor(c, y, square);
  outs[0] = ig_of_tensor(ig_mul_tensor(c, args[0].tensor, slope));
  return true;
}

// g (1 - y y) = g - g y y
bool ig_onnx_lower_tanh_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *y = args[1].tensor;
  ig_tensor *square = ig_mul_tensor(c, y, y);
  ig_tensor *lost = ig_mul_tensor(c, args[0].tensor, square);
  outs[0] = ig_of_tensor(ig_sub_tensor(c, args[0].tensor, lost));
  return true;
}

// grad, self, threshold
bool ig_onnx_lower_threshold_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *flat = ig_le_scalar(c, args[1].tensor, args[2]);
  outs[0] = ig_of_tensor(ig_masked_fill_scalar(c, args[0].tensor, flat, ig_of_i64(0)));
  return true;
}

// grad, self, min, max
bool ig_onnx_lower_hardtanh_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *low = ig_le_scalar(c, args[1].tensor, args[2]);
  ig_tensor *high = ig_ge_scalar(c, args[1].tensor, args[3]);
  ig_tensor *flat = ig_logical_or(c, low, high);
  outs[0] = ig_of_tensor(ig_masked_fill_scalar(c, args[0].tensor, flat, ig_of_i64(0)));
  return true;
}

// The derivative of x cdf(x), or of its approximation by tanh.
static ig_tensor *gelu_slope(ig_ctx *c, ig_tensor *x) {
  ig_tensor *erf = ig_erf(c, ig_mul_scalar(c, x, ig_of_f64(sqrt(0.5))));
  ig_tensor *cdf = ig_mul_scalar(c, ig_add_scalar(c, erf, ig_of_i64(1)), ig_of_f64(0.5));
  ig_tensor *square = ig_mul_tensor(c, x, x);
  ig_tensor *bell = ig_exp(c, ig_mul_scalar(c, square, ig_of_f64(-0.5)));
  ig_tensor *pdf = ig_mul_scalar(c, bell, ig_of_f64(1 / sqrt(2 * acos(-1))));
  ig_tensor *rest = ig_mul_tensor(c, x, pdf);
  return ig_add_tensor(c, cdf, rest);
}

static ig_tensor *gelu_tanh_slope(ig_ctx *c, ig_tensor *x) {
  double k = sqrt(2 / acos(-1));
  ig_tensor *square = ig_mul_tensor(c, x, x);
  ig_tensor *cube = ig_mul_tensor(c, square, x);
  ig_tensor *inner = ig_add_tensor(c, x, ig_mul_scalar(c, cube, ig_of_f64(0.044715)));
  ig_tensor *t = ig_tanh(c, ig_mul_scalar(c, inner, ig_of_f64(k)));
  ig_tensor *left = ig_mul_scalar(c, ig_add_scalar(c, t, ig_of_i64(1)), ig_of_f64(0.5));
  ig_tensor *bend = ig_mul_scalar(c, square, ig_of_f64(3 * 0.044715));
  ig_tensor *speed = ig_mul_scalar(c, ig_add_scalar(c, bend, ig_of_i64(1)), ig_of_f64(0.5 * k));
  ig_tensor *tt = ig_mul_tensor(c, t, t);
  ig_tensor *slope = ig_add_scalar(c, ig_neg(c, tt), ig_of_i64(1));
  ig_tensor *right = ig_mul_tensor(c, x, slope);
  right = ig_mul_tensor(c, right, speed);
  return ig_add_tensor(c, left, right);
}

// grad, self, *, approximate
bool ig_onnx_lower_gelu_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  bool tanh_form = args[2].kind == IG_KIND_STR && strcmp(args[2].str, "tanh") == 0;
  ig_tensor *slope = tanh_form ? gelu_tanh_slope(c, args[1].tensor) : gelu_slope(c, args[1].tensor);
  outs[0] = ig_of_tensor(ig_mul_tensor(c, args[0].tensor, slope));
  return true;
}

// grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices: back to where they were
bool ig_onnx_lower_max_pool_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *self = args[1].tensor;
  if (self->ndim < 3) return false;
  ig_tensor *zero =
      ig_flatten_using_ints_with(c, ig_zeros_like(c, self), ig_const(-2), ig_const(-1));
  ig_tensor *at = ig_flatten_using_ints_with(c, args[7].tensor, ig_const(-2), ig_const(-1));
  ig_tensor *grad = ig_flatten_using_ints_with(c, args[0].tensor, ig_const(-2), ig_const(-1));
  ig_tensor *out = ig_scatter_add(c, zero, ig_const(-1), at, grad);
  outs[0] = ig_of_tensor(ig_view(c, out, ig_of_ints(ig_sizes(self), (size_t)self->ndim)));
  return true;
}

// ---- convolution

typedef struct conv {
  ig_tensor *grad;
  ig_tensor *input;
  ig_tensor *weight;
  ig_int stride[3];
  ig_int padding[3];
  ig_int dilation[3];
  size_t n;  // spatial dimensions
} conv;

static bool read_ints(const ig_value *v, ig_int *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (v->kind != IG_KIND_INTS || v->ints.n == 0) return false;
    out[i] = v->ints.at[v->ints.n == 1 ? 0 : i];
    if (!out[i].expr && !ig_onnx_window_can(&out[i].value, 1)) return false;
  }
  return true;
}

// What the input has behind the last window; false: a size is too large.
static bool conv_extra(const conv *v, ig_int *extra) {
  for (size_t i = 0; i < v->n; i++) {
    int64_t out = ig_sizes(v->grad)[i + 2].value;
    int64_t reach = 0;
    int64_t end = 0;
    int64_t made = 0;
    int64_t rest = 0;
    if (!ig_onnx_window_reach(ig_sizes(v->weight)[i + 2].value, v->dilation[i].value, &reach) ||
        !ig_onnx_windows_reach(out, v->stride[i].value, reach, &end) ||
        !ig_checked_add(end, -2 * v->padding[i].value, &made) ||
        !ig_checked_add(ig_sizes(v->input)[i + 2].value, -made, &rest)) {
      return false;
    }
    extra[i] = ig_const(rest);
  }
  return true;
}

static ig_tensor *conv_input(ig_ctx *c, const conv *v, const ig_int *extra, ig_int groups) {
  return ig_convolution(c, v->grad, v->weight, NULL, ig_of_ints(v->stride, v->n),
                        ig_of_ints(v->padding, v->n), ig_of_ints(v->dilation, v->n), true,
                        ig_of_ints(extra, v->n), groups);
}

// Batch and channels are swapped: the input slides over the gradient.
static ig_tensor *conv_weight(ig_ctx *c, const conv *v) {
  static const ig_int zero[3] = {{.value = 0}, {.value = 0}, {.value = 0}};
  ig_tensor *in = ig_transpose_int(c, v->input, ig_const(0), ig_const(1));
  ig_tensor *grad = ig_transpose_int(c, v->grad, ig_const(0), ig_const(1));
  ig_tensor *out =
      ig_convolution(c, in, grad, NULL, ig_of_ints(v->dilation, v->n), ig_of_ints(v->padding, v->n),
                     ig_of_ints(v->stride, v->n), false, ig_of_ints(zero, v->n), ig_const(1));
  out = ig_transpose_int(c, out, ig_const(0), ig_const(1));
  for (size_t i = 0; i < v->n; i++) {
    ig_value end = ig_of_int(ig_sizes(v->weight)[i + 2]);
    out = ig_slice_tensor_with(c, out, ig_const((int64_t)i + 2), ig_of_i64(0), end, ig_const(1));
  }
  return out;
}

static bool wants(const ig_value *mask, size_t i) {
  return mask->kind == IG_KIND_LIST && i < mask->list.n && mask->list.at[i].b;
}

static bool is_known(const ig_tensor *t) {
  return !ig_tensor_is_symbolic(t);
}

// grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
// output_mask
bool ig_onnx_lower_conv_backward(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  conv v = {.grad = args[0].tensor, .input = args[1].tensor, .weight = args[2].tensor};
  v.n = (size_t)v.weight->ndim - 2;
  bool plain = args[7].kind == IG_KIND_BOOL && !args[7].b && v.n >= 1 && v.n <= 3;
  if (!plain || !is_known(v.grad) || !is_known(v.input) || !is_known(v.weight)) return false;
  if (!read_ints(&args[4], v.stride, v.n) || !read_ints(&args[5], v.padding, v.n)) return false;
  if (!read_ints(&args[6], v.dilation, v.n)) return false;
  if (wants(&args[10], 1) && args[9].i.value != 1) return false;
  ig_int extra[3];
  if (!conv_extra(&v, extra)) return false;
  for (size_t i = 0; i < 3; i++) outs[i] = ig_none();
  if (wants(&args[10], 0)) outs[0] = ig_of_tensor(conv_input(c, &v, extra, args[9].i));
  if (wants(&args[10], 1)) outs[1] = ig_of_tensor(conv_weight(c, &v));
  ig_int dims[4] = {ig_const(0), ig_const(2), ig_const(3), ig_const(4)};
  if (wants(&args[10], 2)) {
    outs[2] = ig_of_tensor(ig_sum_dim_intlist(c, v.grad, ig_of_ints(dims, v.n + 1)));
  }
  return true;
}

// [out, in]: row o is the weight of each element of a window
static ig_tensor *shares(ig_ctx *c, int64_t out, int64_t in, ig_dtype dtype) {
  int64_t sizes[] = {out, in};
  ig_tensor *t = ig_tensor_empty(c, IG_F64, sizes, 2);
  double *at = t ? ig_tensor_data(t) : NULL;
  for (int64_t o = 0; at && o < out; o++) {
    int64_t from = o * in / out;
    int64_t to = ((o + 1) * in + out - 1) / out;
    for (int64_t i = 0; i < in; i++) {
      at[o * in + i] = i >= from && i < to ? 1 / (double)(to - from) : 0;
    }
  }
  return t ? ig_cast(c, t, dtype) : NULL;
}

// grad, self: distributes each mean over its window, rows and columns separately
bool ig_onnx_lower_adaptive_avg_backward(ig_ctx *c, int opset, const ig_value *args,
                                         ig_value *outs) {
  (void)opset;
  enum { MAX_SIZE = 4096 };
  ig_tensor *g = args[0].tensor;
  const ig_tensor *x = args[1].tensor;
  ig_tensor *table[2];
  if (g->ndim < 2 || g->ndim != x->ndim) return false;
  for (int i = 0; i < 2; i++) {
    ig_int out = ig_sizes(g)[g->ndim - 2 + i];
    ig_int in = ig_sizes(x)[x->ndim - 2 + i];
    bool known = !out.expr && !in.expr && out.value >= 1 && in.value >= 1;
    if (!known || out.value > MAX_SIZE || in.value > MAX_SIZE) return false;
    table[i] = shares(c, out.value, in.value, g->dtype);
  }
  ig_tensor *rows = ig_matmul(c, ig_t(c, table[0]), g);
  outs[0] = ig_of_tensor(ig_matmul(c, rows, table[1]));
  return true;
}

// grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale
bool ig_onnx_lower_attention_backward(ig_ctx *c, int opset, const ig_value *a, ig_value *outs) {
  (void)opset;
  ig_tensor *g = a[0].tensor;
  ig_tensor *q = a[1].tensor;
  ig_tensor *k = a[2].tensor;
  ig_tensor *v = a[3].tensor;
  ig_tensor *mask = ig_value_tensor(&a[8]);
  ig_int size = ig_sizes(q)[3];
  if (q->ndim != 4 || a[6].f != 0 || size.expr || size.value < 1) return false;
  ig_int last = ig_const(-1);
  ig_int before = ig_const(-2);
  ig_value scale = ig_of_f64(a[9].kind == IG_KIND_FLOAT ? a[9].f : 1 / sqrt((double)size.value));
  ig_tensor *s = ig_matmul(c, q, ig_transpose_int(c, k, before, last));
  s = ig_mul_scalar(c, s, scale);
  if (mask) s = ig_add_tensor(c, s, mask);
  if (a[7].b) {
    ig_tensor *row = ig_unsqueeze(c, ig_arange(c, ig_of_int(ig_sizes(q)[2])), last);
    ig_tensor *later = ig_gt_tensor(c, ig_arange(c, ig_of_int(ig_sizes(k)[2])), row);
    s = ig_masked_fill_scalar(c, s, later, ig_of_f64(-INFINITY));
  }
  ig_tensor *lse = ig_cast(c, ig_unsqueeze(c, a[5].tensor, last), q->dtype);
  ig_tensor *p = ig_exp(c, ig_sub_tensor(c, s, lse));
  ig_tensor *dp = ig_matmul(c, g, ig_transpose_int(c, v, before, last));
  ig_tensor *sum = sum_keep(c, ig_mul_tensor(c, g, a[4].tensor), last);
  ig_tensor *ds = ig_mul_scalar(c, ig_mul_tensor(c, p, ig_sub_tensor(c, dp, sum)), scale);
  outs[0] = ig_of_tensor(ig_matmul(c, ds, k));
  outs[1] = ig_of_tensor(ig_matmul(c, ig_transpose_int(c, ds, before, last), q));
  outs[2] = ig_of_tensor(ig_matmul(c, ig_transpose_int(c, p, before, last), g));
  return true;
}
