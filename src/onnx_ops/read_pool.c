// SPDX-License-Identifier: Apache-2.0
// Pools: ATen's where they are equivalent, otherwise explicit padding and windows without padding.
#include <math.h>
#include <string.h>

#include "onnx_ops/window.h"

// Output sizes by ONNX's rule; a window that would start in the right pad does not count.
static void out_sizes(ig_rd *r, const ig_tensor *x, const ig_rd_window *w, int64_t *out) {
  bool ceil_mode = ig_rd_attr_int(r, "ceil_mode", 0);
  for (int i = 0; i < w->n; i++) {
    int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
    int64_t room = size + w->before[i] + w->after[i] - ig_rd_window_reach(w, i);
    int64_t s = w->stride[i];
    out[i] = room < 0 ? 0 : (ceil_mode ? room + s - 1 : room) / s + 1;
    if (ceil_mode && out[i] > 0 && (out[i] - 1) * s >= size + w->before[i]) out[i]--;
  }
}

// Pads so that windows without padding give exactly `out`.
static void exact_after(ig_rd *r, const ig_tensor *x, const ig_rd_window *w, const int64_t *out,
                        int64_t *after) {
  for (int i = 0; i < w->n; i++) {
    int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
    after[i] = (out[i] - 1) * w->stride[i] + ig_rd_window_reach(w, i) - size - w->before[i];
  }
}

// Integers are widened if there are pads, so that no element equals the padding value.
static ig_tensor *padded_low(ig_rd *r, ig_tensor *x, const int64_t *before, const int64_t *after,
                             int n) {
  bool whole = ig_dtype_is_integral(x->dtype);
  if (whole) x = ig_cast(r->c, x, IG_I32);
  return ig_rd_window_pad(r, x, before, after, n, whole ? INT32_MIN : -INFINITY);
}

static void max_pool(ig_rd *r, ig_tensor *x, const ig_rd_window *w, const int64_t *pad,
                     bool ceil_mode, ig_value *outs) {
  ig_value kernel = ig_rd_window_list(r, w->kernel, w->n);
  ig_value stride = ig_rd_window_list(r, w->stride, w->n);
  ig_value padding = ig_rd_window_list(r, pad, w->n);
  ig_value dilation = ig_rd_window_list(r, w->dilation, w->n);
  if (!x) return;
  if (w->n == 1) {
    ig_max_pool1d_with_indices_with(r->c, x, kernel, stride, padding, dilation, ceil_mode, outs);
  } else if (w->n == 2) {
    ig_max_pool2d_with_indices_with(r->c, x, kernel, stride, padding, dilation, ceil_mode, outs);
  } else if (w->n == 3) {
    ig_max_pool3d_with_indices_with(r->c, x, kernel, stride, padding, dilation, ceil_mode, outs);
  } else {
    ig_rd_fail(r, IG_UNSUPPORTED, "pools over %d dimensions", w->n);
  }
}

// ATen counts within one padded plane; ONNX within the whole tensor, maybe by columns.
static ig_tensor *flat_indices(ig_rd *r, ig_tensor *index, const ig_tensor *x, const int64_t *sizes,
                               const int64_t *before, int n) {
  bool columns = ig_rd_attr_int(r, "storage_order", 0);
  ig_tensor *out = NULL;
  int64_t weight = 1;
  int64_t plane = 1;
  for (int i = n - 1; i >= 0; i--) plane *= ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
  for (int k = 0; k < n && ig_rd_ok(r); k++) {
    int i = columns ? k : n - 1 - k;
    int64_t inner = 1;
    for (int j = i + 1; j < n; j++) inner *= sizes[j];
    ig_tensor *at = ig_div_scalar_mode(r->c, index, ig_of_i64(inner), ig_of_str("floor"));
    at = at ? ig_remainder_scalar(r->c, at, ig_of_i64(sizes[i])) : NULL;
    at = ig_rd_muln(r, ig_rd_addn(r, at, -(double)before[i]), (double)weight);
    out = out ? ig_rd_add(r, out, at) : at;
    weight *= ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
  }
  ig_int nc = ig_int_mul(r->c, ig_rd_size(r, x, 0), ig_rd_size(r, x, 1));
  ig_tensor *base =
      ig_arange_with(r->c, ig_of_int(nc), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
  ig_int shape[IG_MAX_DIM] = {ig_rd_size(r, x, 0), ig_rd_size(r, x, 1)};
  for (int i = 0; i < n; i++) shape[2 + i] = ig_const(1);
  base = ig_rd_reshape(r, ig_rd_muln(r, base, (double)plane), shape, (size_t)n + 2);
  return ig_rd_add(r, out, base);
}

static void read_max_pool(ig_rd *r) {
  static const int64_t zeros[IG_WINDOW_MAX];
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_window w;
  if (!x || !ig_rd_window_read(r, x, NULL, &w)) return;
  bool plain = w.symmetric;
  for (int i = 0; i < w.n; i++) plain &= w.before[i] * 2 <= w.kernel[i];
  int64_t before[IG_WINDOW_MAX] = {0};
  ig_value outs[2] = {ig_none(), ig_none()};
  ig_tensor *padded = x;
  if (plain) {
    max_pool(r, x, &w, w.before, ig_rd_attr_int(r, "ceil_mode", 0), outs);
  } else {
    int64_t out[IG_WINDOW_MAX];
    int64_t after[IG_WINDOW_MAX];
    out_sizes(r, x, &w, out);
    exact_after(r, x, &w, out, after);
    memcpy(before, w.before, sizeof before);
    padded = padded_low(r, x, before, after, w.n);
    max_pool(r, padded, &w, zeros, false, outs);
  }
  ig_rd_out(r, 0, ig_cast(r->c, ig_value_tensor(&outs[0]), x->dtype));
  if (!ig_rd_wants(r, 1) || !ig_rd_ok(r)) return;
  int64_t sizes[IG_WINDOW_MAX];
  for (int i = 0; i < w.n; i++) sizes[i] = ig_rd_plain(r, ig_rd_size(r, padded, 2 + i));
  ig_rd_out(r, 1, flat_indices(r, ig_value_tensor(&outs[1]), x, sizes, before, w.n));
}

// ---- sums of windows: a convolution of every channel with ones

static ig_tensor *sum_pool(ig_rd *r, ig_tensor *x, const ig_rd_window *w) {
  static const int64_t zeros[IG_WINDOW_MAX];
  ig_int sizes[IG_MAX_DIM] = {ig_const(1), ig_const(1)};
  ig_int flat[IG_MAX_DIM];
  if (!x || !ig_rd_ok(r)) return NULL;
  for (int i = 0; i < w->n; i++) sizes[2 + i] = ig_const(w->kernel[i]);
  ig_tensor *ones = ig_rd_full(r, sizes, (size_t)w->n + 2, 1, x->dtype);
  // Channels are merged into the batch, so that one kernel serves all.
  flat[0] = ig_int_mul(r->c, ig_rd_size(r, x, 0), ig_rd_size(r, x, 1));
  flat[1] = ig_const(1);
  for (int i = 0; i < w->n; i++) flat[2 + i] = ig_rd_size(r, x, 2 + i);
  ig_tensor *rows = ig_rd_reshape(r, x, flat, (size_t)w->n + 2);
  if (!rows || !ones) return NULL;
  ig_value stride = ig_rd_window_list(r, w->stride, w->n);
  ig_value none = ig_rd_window_list(r, zeros, w->n);
  ig_value dilation = ig_rd_window_list(r, w->dilation, w->n);
  ig_tensor *y =
      ig_convolution(r->c, rows, ones, NULL, stride, none, dilation, false, none, ig_const(1));
  if (!y) return NULL;
  flat[0] = ig_rd_size(r, x, 0);
  flat[1] = ig_rd_size(r, x, 1);
  for (int i = 0; i < w->n; i++) flat[2 + i] = ig_rd_size(r, y, 2 + i);
  return ig_rd_reshape(r, y, flat, (size_t)w->n + 2);
}

// How many elements each window covers, pads included or not, as [1, 1, ...].
static ig_tensor *counts(ig_rd *r, const ig_tensor *x, const ig_rd_window *w, const int64_t *after,
                         bool with_pads) {
  static const int64_t zeros[IG_WINDOW_MAX];
  ig_int sizes[IG_MAX_DIM] = {ig_const(1), ig_const(1)};
  int64_t rest[IG_WINDOW_MAX];
  for (int i = 0; i < w->n; i++) {
    int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
    sizes[2 + i] = ig_const(with_pads ? size + w->before[i] + w->after[i] : size);
    rest[i] = with_pads ? after[i] - w->after[i] : after[i];
  }
  ig_tensor *ones = ig_rd_full(r, sizes, (size_t)w->n + 2, 1, x->dtype);
  ones = ig_rd_window_pad(r, ones, with_pads ? zeros : w->before, rest, w->n, 0);
  return sum_pool(r, ones, w);
}

static ig_tensor *plain_average(ig_rd *r, ig_tensor *x, const ig_rd_window *w, bool include) {
  ig_value kernel = ig_rd_window_list(r, w->kernel, w->n);
  ig_value stride = ig_rd_window_list(r, w->stride, w->n);
  ig_value padding = ig_rd_window_list(r, w->before, w->n);
  bool ceil_mode = ig_rd_attr_int(r, "ceil_mode", 0);
  return w->n == 1
             ? ig_avg_pool1d_with(r->c, x, kernel, stride, padding, ceil_mode, include)
             : ig_avg_pool2d_with(r->c, x, kernel, stride, padding, ceil_mode, include, ig_none());
}

static void read_average_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_window w;
  if (!x || !ig_rd_window_read(r, x, NULL, &w)) return;
  bool include = ig_rd_attr_int(r, "count_include_pad", 0);
  bool plain = w.symmetric && w.dense && w.n <= 2;
  for (int i = 0; i < w.n; i++) plain &= w.before[i] * 2 <= w.kernel[i];
  if (plain) {
    ig_rd_out(r, 0, plain_average(r, x, &w, include));
    return;
  }
  int64_t out[IG_WINDOW_MAX];
  int64_t after[IG_WINDOW_MAX];
  out_sizes(r, x, &w, out);
  exact_after(r, x, &w, out, after);
  ig_tensor *sum = sum_pool(r, ig_rd_window_pad(r, x, w.before, after, w.n, 0), &w);
  ig_rd_out(r, 0, ig_rd_div(r, sum, counts(r, x, &w, after, include)));
}

// ---- norms of windows

static ig_tensor *power(ig_rd *r, ig_tensor *x, double p) {
  return x ? ig_pow_tensor_scalar(r->c, x, ig_of_f64(p)) : NULL;
}

static void read_lp_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_rd_window w;
  double p = (double)ig_rd_attr_int(r, "p", 2);
  if (!x || !ig_rd_window_read(r, x, NULL, &w)) return;
  int64_t out[IG_WINDOW_MAX];
  int64_t after[IG_WINDOW_MAX];
  out_sizes(r, x, &w, out);
  exact_after(r, x, &w, out, after);
  ig_tensor *t = power(r, ig_abs(r->c, x), p);
  t = sum_pool(r, ig_rd_window_pad(r, t, w.before, after, w.n, 0), &w);
  ig_rd_out(r, 0, power(r, t, 1 / p));
}

static size_t spatial(const ig_tensor *x, int64_t *dims) {
  size_t n = 0;
  for (int d = 2; d < x->ndim; d++) dims[n++] = d;
  return n;
}

static void read_global_lp_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  int64_t dims[IG_MAX_DIM];
  double p = (double)ig_rd_attr_int(r, "p", 2);
  if (!x) return;
  size_t n = spatial(x, dims);
  ig_tensor *t = power(r, ig_abs(r->c, x), p);
  ig_rd_out(r, 0, power(r, ig_rd_sum(r, t, dims, n, true), 1 / p));
}

static void read_global_average_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  int64_t dims[IG_MAX_DIM];
  size_t n = x ? spatial(x, dims) : 0;
  ig_rd_out(r, 0, n ? ig_rd_mean(r, x, dims, n, true) : x);
}

static void read_global_max_pool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  int64_t dims[IG_MAX_DIM];
  ig_int list[IG_MAX_DIM];
  size_t n = x ? spatial(x, dims) : 0;
  for (size_t i = 0; i < n; i++) list[i] = ig_const(dims[i]);
  ig_rd_out(r, 0, n ? ig_amax_with(r->c, x, ig_of_ints(list, n), true) : x);
}

// ---- unpooling

static void read_max_unpool(ig_rd *r) {
  ig_tensor *x = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  ig_rd_window w;
  if (!x || !index || !ig_rd_window_read(r, x, NULL, &w)) return;
  ig_int sizes[IG_MAX_DIM] = {ig_rd_size(r, x, 0), ig_rd_size(r, x, 1)};
  for (int i = 0; i < w.n; i++) {
    int64_t size = ig_rd_plain(r, ig_rd_size(r, x, 2 + i));
    sizes[2 + i] = ig_const((size - 1) * w.stride[i] + w.kernel[i] - w.before[i] - w.after[i]);
  }
  size_t ndim = (size_t)x->ndim;
  if (!ig_rd_budget(r, sizes, ndim, x->dtype)) return;
  ig_int total = ig_product(r->c, sizes, ndim);
  ig_int all = ig_numel_of(r->c, x);
  ig_tensor *flat = ig_rd_full(r, &total, 1, 0, x->dtype);
  ig_tensor *at = ig_rd_reshape(r, index, &all, 1);
  ig_tensor *values = ig_rd_reshape(r, x, &all, 1);
  if (!flat || !at || !values) return;
  ig_tensor *y = ig_scatter_src(r->c, flat, ig_const(0), at, values);
  y = ig_rd_reshape(r, y, sizes, ndim);
  if (ig_rd_has(r, 2) && y) {
    size_t n = 0;
    const int64_t *want = ig_rd_consts(r, 2, &n);
    static const int64_t zeros[IG_WINDOW_MAX];
    int64_t after[IG_WINDOW_MAX];
    if (!want || n != ndim) {
      ig_rd_fail(r, IG_INVALID, "output_shape has %zu elements, expected %zu", n, ndim);
      return;
    }
    for (int i = 0; i < w.n; i++)
      after[i] = want[2 + i] - sizes[2 + i].value;  // concrete: constants
    y = ig_rd_window_pad(r, y, zeros, after, w.n, 0);
  }
  ig_rd_out(r, 0, y);
}

const ig_rd_row ig_rd_rows_pool[] = {
    {"MaxPool", 1, read_max_pool},
    {"AveragePool", 1, read_average_pool},
    {"LpPool", 1, read_lp_pool},
    {"GlobalLpPool", 1, read_global_lp_pool},
    {"GlobalAveragePool", 1, read_global_average_pool},
    {"GlobalMaxPool", 1, read_global_max_pool},
    {"MaxUnpool", 9, read_max_unpool},
    {NULL, 0, NULL},
};
