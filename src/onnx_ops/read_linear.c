// SPDX-License-Identifier: Apache-2.0
// Products: MatMul, Gemm, Einsum, Det, and those of quantized integers.
#include <string.h>

#include "onnx_ops/quant.h"
#include "onnx_ops/window.h"

static bool is_wide(ig_dtype d) {
  return d == IG_U16 || d == IG_U32 || d == IG_U64;
}

static void read_matmul(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = ig_rd_in(r, 1);
  if (!a || !b) return;
  ig_dtype d = a->dtype;
  if (is_wide(d)) {
    a = ig_cast(r->c, a, IG_I64);
    b = ig_cast(r->c, b, IG_I64);
  }
  ig_tensor *y = a && b ? ig_rd_matmul(r, a, b) : NULL;
  ig_rd_out(r, 0, ig_cast(r->c, y, d));
}

static ig_tensor *turned(ig_rd *r, ig_tensor *t, bool turn) {
  static const int64_t swap[] = {1, 0};
  return turn ? ig_rd_permute(r, t, swap, 2) : t;
}

static void read_gemm(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = ig_rd_in(r, 1);
  ig_tensor *bias = ig_rd_opt(r, 2);
  if (!a || !b || !ig_rd_ok(r)) return;
  if (a->ndim != 2 || b->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "expected matrices, found %d and %d dimensions", a->ndim, b->ndim);
    return;
  }
  double alpha = ig_rd_attr_float(r, "alpha", 1);
  double beta = ig_rd_attr_float(r, "beta", 1);
  ig_dtype d = a->dtype;
  bool turn_b = ig_rd_attr_int(r, "transB", 0);
  a = turned(r, a, ig_rd_attr_int(r, "transA", 0));
  if (alpha == 1 && beta == 1 && turn_b && ig_dtype_is_float(d) && (!bias || bias->ndim == 1)) {
    bool fits = !bias || ig_int_eq(r->c, ig_rd_size(r, bias, 0), ig_rd_size(r, b, 0));
    if (fits && a) {
      ig_rd_out(r, 0, ig_linear_with(r->c, a, b, bias));
      return;
    }
  }
  b = turned(r, b, turn_b);
  if (!a || !b) return;
  if (bias && ig_dtype_is_float(d) && bias->ndim <= 2) {
    ig_rd_out(r, 0, ig_addmm_with(r->c, bias, a, b, ig_of_f64(beta), ig_of_f64(alpha)));
    return;
  }
  bool wide = is_wide(d);
  ig_tensor *x = wide ? ig_cast(r->c, a, IG_I64) : a;
  ig_tensor *y = ig_mm(r->c, x, wide ? ig_cast(r->c, b, IG_I64) : b);
  if (alpha != 1) y = ig_rd_muln(r, y, alpha);
  if (bias) y = ig_rd_add(r, y, beta != 1 ? ig_rd_muln(r, bias, beta) : bias);
  ig_rd_out(r, 0, ig_cast(r->c, y, d));
}

static void read_einsum(ig_rd *r) {
  const char *text = ig_rd_attr_text(r, "equation", "");
  char *plain = ig_scope_push(r->c, strlen(text) + 1);
  ig_value *list = ig_scope_array(r->c, r->nin, sizeof *list);
  if (!plain || !list) return;
  char *to = plain;
  for (; *text; text++) {
    if (*text != ' ') *to++ = *text;
  }
  *to = 0;
  for (size_t i = 0; i < r->nin; i++) list[i] = ig_of_tensor(ig_rd_in(r, i));
  if (ig_rd_ok(r)) ig_rd_out(r, 0, ig_einsum(r->c, ig_of_str(plain), ig_of_list(list, r->nin)));
}

static void read_det(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_rd_out(r, 0, t ? ig_linalg_det(r->c, t) : NULL);
}

// ---- quantized products: exact in integers, then scaled

// x - zero point as int32; a zero point per row or column stands beside its dimension.
static ig_tensor *centered(ig_rd *r, ig_tensor *x, ig_tensor *zero, int axis) {
  x = ig_cast(r->c, x, IG_I32);
  if (!zero || !x) return x;
  zero = ig_cast(r->c, zero, IG_I32);
  if (zero && zero->ndim == 1 && ig_int_eq_i64(r->c, ig_rd_size(r, zero, 0), 1)) {
    zero = ig_rd_reshape(r, zero, NULL, 0);
  } else if (zero && zero->ndim == 1) {
    zero = ig_rd_along(r, zero, axis, x->ndim);
  }
  return ig_rd_sub(r, x, zero);
}

static void read_matmul_integer(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *b = ig_rd_in(r, 1);
  if (!a || !b) return;
  a = centered(r, a, ig_rd_opt(r, 2), a->ndim > 1 ? a->ndim - 2 : 0);
  b = centered(r, b, ig_rd_opt(r, 3), b->ndim - 1);
  ig_rd_out(r, 0, a && b ? ig_rd_matmul(r, a, b) : NULL);
}

// Scales beside the dimension that they belong to.
static ig_tensor *beside(ig_rd *r, ig_tensor *scale, int axis, int ndim) {
  if (!scale || scale->ndim != 1) return scale;
  if (ig_int_eq_i64(r->c, ig_rd_size(r, scale, 0), 1)) return ig_rd_reshape(r, scale, NULL, 0);
  return ig_rd_along(r, scale, axis, ndim);
}

static ig_tensor *requantize(ig_rd *r, ig_tensor *sum, ig_tensor *scale, ig_tensor *to_scale,
                             ig_tensor *zero, int elem) {
  ig_tensor *f = ig_rd_mul(r, ig_cast(r->c, sum, IG_F32), ig_cast(r->c, scale, IG_F32));
  f = ig_rd_div(r, f, ig_cast(r->c, to_scale, IG_F32));
  return ig_rd_quantize(r, f, zero, elem, true);
}

static void read_qlinear_matmul(ig_rd *r) {
  ig_tensor *a = ig_rd_in(r, 0);
  ig_tensor *as = ig_rd_in(r, 1);
  ig_tensor *b = ig_rd_in(r, 3);
  ig_tensor *bs = ig_rd_in(r, 4);
  ig_tensor *ys = ig_rd_in(r, 6);
  ig_tensor *yz = ig_rd_in(r, 7);
  if (!a || !b || !as || !bs || !ys || !yz) return;
  int ra = a->ndim > 1 ? a->ndim - 2 : 0;
  int cb = b->ndim - 1;
  as = beside(r, as, ra, a->ndim);
  bs = beside(r, bs, cb, b->ndim);
  int elem = ig_rd_elem(r, 7);
  bool whole = ig_dtype_is_integral(a->dtype);
  a = whole ? centered(r, a, ig_rd_opt(r, 2), ra) : ig_cast(r->c, a, IG_F32);
  b = whole ? centered(r, b, ig_rd_opt(r, 5), cb) : ig_cast(r->c, b, IG_F32);
  ig_tensor *sum = a && b ? ig_rd_matmul(r, a, b) : NULL;
  ig_tensor *scale = ig_rd_mul(r, as, bs);
  ig_rd_out_elem(r, 0, requantize(r, sum, scale, ys, yz, elem), elem);
}

// Integers in a float64 convolution are exact far beyond what int32 sums can reach.
static ig_tensor *integer_conv(ig_rd *r, ig_tensor *x, ig_tensor *w) {
  static const int64_t zeros[IG_WINDOW_MAX];
  int64_t kernel[IG_WINDOW_MAX];
  int64_t group = ig_rd_attr_int(r, "group", 1);
  ig_rd_window win;
  if (!x || !w || w->ndim < 3 || w->ndim != x->ndim || w->ndim - 2 > IG_WINDOW_MAX || group < 1) {
    ig_rd_fail(r, IG_INVALID, "input and weight do not fit each other");
    return NULL;
  }
  for (int i = 0; i < w->ndim - 2; i++) kernel[i] = ig_rd_plain(r, ig_rd_size(r, w, 2 + i));
  if (!ig_rd_window_read(r, x, kernel, &win)) return NULL;
  x = ig_rd_window_pad(r, ig_cast(r->c, x, IG_F64), win.before, win.after, win.n, 0);
  w = ig_cast(r->c, w, IG_F64);
  if (!x || !w) return NULL;
  ig_value stride = ig_rd_window_list(r, win.stride, win.n);
  ig_value none = ig_rd_window_list(r, zeros, win.n);
  ig_value dilation = ig_rd_window_list(r, win.dilation, win.n);
  return ig_convolution(r->c, x, w, NULL, stride, none, dilation, false, none, ig_const(group));
}

static void read_conv_integer(ig_rd *r) {
  ig_tensor *x = centered(r, ig_rd_in(r, 0), ig_rd_opt(r, 2), 1);
  ig_tensor *w = centered(r, ig_rd_in(r, 1), ig_rd_opt(r, 3), 0);
  ig_rd_out(r, 0, ig_cast(r->c, integer_conv(r, x, w), IG_I32));
}

static void read_qlinear_conv(ig_rd *r) {
  ig_tensor *x = centered(r, ig_rd_in(r, 0), ig_rd_opt(r, 2), 1);
  ig_tensor *w = centered(r, ig_rd_in(r, 3), ig_rd_opt(r, 5), 0);
  ig_tensor *xs = ig_rd_in(r, 1);
  ig_tensor *ws = ig_rd_in(r, 4);
  ig_tensor *ys = ig_rd_in(r, 6);
  ig_tensor *yz = ig_rd_in(r, 7);
  ig_tensor *b = ig_rd_opt(r, 8);
  if (!x || !ig_rd_ok(r)) return;
  ig_tensor *sum = integer_conv(r, x, w);
  if (b) sum = ig_rd_add(r, sum, ig_cast(r->c, ig_rd_along(r, b, 1, x->ndim), IG_F64));
  ig_tensor *scale = ig_rd_mul(r, beside(r, xs, 1, x->ndim), beside(r, ws, 1, x->ndim));
  int elem = ig_rd_elem(r, 7);
  ig_rd_out_elem(r, 0, requantize(r, sum, scale, ys, yz, elem), elem);
}

const ig_rd_row ig_rd_rows_linear[] = {
    {"MatMul", 1, read_matmul},
    {"Gemm", 1, read_gemm},
    {"Einsum", 12, read_einsum},
    {"Det", 11, read_det},
    {"MatMulInteger", 10, read_matmul_integer},
    {"QLinearMatMul", 10, read_qlinear_matmul},
    {"ConvInteger", 10, read_conv_integer},
    {"QLinearConv", 10, read_qlinear_conv},
    {NULL, 0, NULL},
};
