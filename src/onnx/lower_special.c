// SPDX-License-Identifier: Apache-2.0
// Functions without an ONNX operator, by series; histograms, pools and others by existing
// operators.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "onnx/lower.h"
#include "onnx/window.h"
#include "op/formula.h"

#define PI 3.14159265358979323846

// c0 + x (c1 + x (c2 + ..))
static ig_tensor *polynomial(ig_ctx *c, ig_tensor *x, const double *at, size_t n) {
  ig_tensor *sum = ig_full_like(c, x, ig_of_f64(at[n - 1]));
  for (size_t i = n - 1; i-- > 0;)
    sum = ig_add_scalar(c, ig_mul_tensor(c, sum, x), ig_of_f64(at[i]));
  return sum;
}

// pi (x - floor(x)): what sine and tangent have of pi x, up to their sign
static ig_tensor *angle(ig_ctx *c, ig_tensor *x) {
  ig_tensor *rest = ig_sub_tensor(c, x, ig_floor(c, x));
  return ig_mul_scalar(c, rest, ig_of_f64(PI));
}

// What a function of an integer gives: a float of the default type.
static ig_dtype float_type(const ig_ctx *c, const ig_tensor *t) {
  return ig_dtype_is_float(t->dtype) ? t->dtype : ig_ctx_default_dtype(c);
}

// Lanczos, reflected for numbers below a half; computed in double.
bool ig_onnx_lower_lgamma(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  static const double terms[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                                 -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                                 9.9843695780195716e-6, 1.5056327351493116e-7};
  ig_tensor *x = ig_cast(c, args[0].tensor, IG_F64);
  ig_tensor *low = ig_lt_scalar(c, x, ig_of_f64(0.5));
  ig_tensor *z = ig_sub_scalar(c, x, ig_of_i64(1));
  z = ig_where_self(c, low, ig_neg(c, x), z);
  ig_tensor *sum = ig_full_like(c, z, ig_of_f64(0.99999999999980993));
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    ig_tensor *term = ig_reciprocal(c, ig_add_scalar(c, z, ig_of_i64((int64_t)i + 1)));
    sum = ig_add_tensor(c, sum, ig_mul_scalar(c, term, ig_of_f64(terms[i])));
  }
  ig_tensor *t = ig_add_scalar(c, z, ig_of_f64(7.5));
  ig_tensor *power = ig_log(c, t);
  power = ig_mul_tensor(c, ig_add_scalar(c, z, ig_of_f64(0.5)), power);
  ig_tensor *value = ig_sub_tensor(c, power, t);
  value = ig_add_tensor(c, value, ig_log(c, sum));
  value = ig_add_scalar(c, value, ig_of_f64(0.5 * log(2 * PI)));
  ig_tensor *sine = ig_abs(c, ig_sin(c, angle(c, x)));
  ig_tensor *mirrored = ig_rsub_scalar(c, ig_log(c, sine), ig_of_f64(log(PI)));
  value = ig_where_self(c, low, ig_sub_tensor(c, mirrored, value), value);
  ig_tensor *endless = ig_isinf(c, x);
  value = ig_masked_fill_scalar(c, value, endless, ig_of_f64(INFINITY));
  outs[0] = ig_of_tensor(ig_cast(c, value, float_type(c, args[0].tensor)));
  return true;
}

// Bernoulli's series after eight steps up, reflected for numbers below a half.
bool ig_onnx_lower_digamma(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  static const double series[] = {0, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132};
  ig_tensor *x = ig_cast(c, args[0].tensor, IG_F64);
  ig_tensor *low = ig_lt_scalar(c, x, ig_of_f64(0.5));
  ig_tensor *z = ig_where_self(c, low, ig_rsub_scalar(c, x, ig_of_i64(1)), x);
  ig_tensor *steps = ig_reciprocal(c, z);
  for (int i = 1; i < 8; i++) {
    ig_tensor *step = ig_reciprocal(c, ig_add_scalar(c, z, ig_of_i64(i)));
    steps = ig_add_tensor(c, steps, step);
  }
  ig_tensor *w = ig_add_scalar(c, z, ig_of_i64(8));
  ig_tensor *one = ig_reciprocal(c, w);
  ig_tensor *half = ig_mul_scalar(c, one, ig_of_f64(0.5));
  ig_tensor *value = ig_sub_tensor(c, ig_log(c, w), half);
  ig_tensor *square = ig_mul_tensor(c, one, one);
  value = ig_sub_tensor(c, value, polynomial(c, square, series, sizeof series / sizeof *series));
  value = ig_sub_tensor(c, value, steps);
  ig_tensor *turn = angle(c, x);
  ig_tensor *sine = ig_sin(c, turn);
  ig_tensor *mirror = ig_div_tensor(c, ig_cos(c, turn), sine);
  mirror = ig_mul_scalar(c, mirror, ig_of_f64(PI));
  value = ig_where_self(c, low, ig_sub_tensor(c, value, mirror), value);
  ig_tensor *whole = ig_eq_tensor(c, x, ig_floor(c, x));
  ig_tensor *pole = ig_logical_and(c, whole, ig_lt_scalar(c, x, ig_of_i64(0)));
  value = ig_masked_fill_scalar(c, value, pole, ig_of_f64(NAN));
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  value = ig_masked_fill_scalar(c, value, zero, ig_of_f64(-INFINITY));
  outs[0] = ig_of_tensor(ig_cast(c, value, float_type(c, args[0].tensor)));
  return true;
}

// Sums of (x x / 4)^k / k!^2, all of one sign, up to 20; beyond that exp(x) / sqrt(2 pi x) with its
// series in 1 / x.
bool ig_onnx_lower_i0(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  enum { NEAR = 50, FAR = 13 };
  double near[NEAR] = {1};
  double far[FAR] = {1};
  // Of x x / 400: optimizers take very small numbers for zeros.
  for (int k = 1; k < NEAR; k++) near[k] = near[k - 1] * 100 / ((double)k * k);
  for (int k = 1; k < FAR; k++) far[k] = far[k - 1] * (2 * k - 1) * (2 * k - 1) / (8.0 * k);
  ig_tensor *self = args[0].tensor;
  ig_dtype to = float_type(c, self);
  ig_tensor *x = ig_abs(c, ig_cast(c, self, IG_F64));
  ig_tensor *small = ig_clamp_max(c, x, ig_of_i64(20));
  ig_tensor *square = ig_mul_scalar(c, ig_mul_tensor(c, small, small), ig_of_f64(1.0 / 400));
  ig_tensor *low = polynomial(c, square, near, NEAR);
  ig_tensor *large = ig_clamp_min(c, x, ig_of_i64(20));
  ig_tensor *high = polynomial(c, ig_reciprocal(c, large), far, FAR);
  // of infinity NaN, as PyTorch has it
  ig_tensor *root = ig_rsqrt(c, ig_mul_scalar(c, large, ig_of_f64(2 * PI)));
  high = ig_mul_tensor(c, high, root);
  high = ig_mul_tensor(c, high, ig_exp(c, large));
  ig_tensor *is_low = ig_le_scalar(c, x, ig_of_i64(20));
  ig_tensor *value = ig_where_self(c, is_low, low, high);
  value = ig_masked_fill_scalar(c, value, ig_isnan(c, x), ig_of_f64(NAN));
  outs[0] = ig_of_tensor(ig_cast(c, value, to));
  return true;
}

enum { MAX_ORDER = 12 };

// The n-th derivative of cot(pi x) is pi^n times this polynomial of the cotangent.
static void cotangent_derivative(int64_t n, double *at) {
  for (int i = 0; i < MAX_ORDER + 3; i++) at[i] = i == 1;
  for (int64_t k = 0; k < n; k++) {
    double next[MAX_ORDER + 3] = {0};
    for (int i = 1; i < MAX_ORDER + 2; i++) {
      next[i - 1] -= i * at[i];  // -(1 + c c) times the derivative
      next[i + 1] -= i * at[i];
    }
    for (int i = 0; i < MAX_ORDER + 3; i++) at[i] = next[i];
  }
}

// sum over k of (x + k)^-(n + 1): ten steps, then Euler and Maclaurin; for x of a half and more.
static ig_tensor *tail_sum(ig_ctx *c, ig_tensor *x, int64_t n) {
  static const double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                     5.0 / 66, -691.0 / 2730, 7.0 / 6};
  ig_value power = ig_of_i64(-(n + 1));
  ig_tensor *sum = ig_pow_tensor_scalar(c, x, power);
  for (int k = 1; k < 10; k++) {
    ig_tensor *step = ig_pow_tensor_scalar(c, ig_add_scalar(c, x, ig_of_i64(k)), power);
    sum = ig_add_tensor(c, sum, step);
  }
  ig_tensor *w = ig_add_scalar(c, x, ig_of_i64(10));
  double series[8] = {0};
  double factor = (double)(n + 1) / 2;  // (n + 1) ... (n + 2j - 1) / (2j)!
  for (int j = 1; j <= 7; j++) {
    series[j] = bernoulli[j - 1] * factor;
    factor *= (double)(n + 2 * j) * (double)(n + 2 * j + 1) / ((2.0 * j + 1) * (2.0 * j + 2));
  }
  ig_tensor *one = ig_reciprocal(c, w);
  ig_tensor *rest = polynomial(c, ig_mul_tensor(c, one, one), series, 8);
  rest = ig_add_tensor(c, rest, ig_mul_scalar(c, one, ig_of_f64(0.5)));
  rest = ig_add_scalar(c, rest, ig_of_f64(1 / (double)n));
  return ig_add_tensor(c, sum, ig_mul_tensor(c, rest, ig_pow_tensor_scalar(c, w, ig_of_i64(-n))));
}

// n, self: (-1)^(n + 1) n! times that sum; reflected for numbers below a half.
bool ig_onnx_lower_polygamma(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  int64_t n = args[0].i.value;
  ig_tensor *self = args[1].tensor;
  if (args[0].i.expr || n < 0 || n > MAX_ORDER || !ig_dtype_is_float(self->dtype)) return false;
  if (n == 0) {
    outs[0] = ig_of_tensor(ig_digamma(c, self));
    return true;
  }
  double sign = n % 2 ? 1 : -1;
  double derivative[MAX_ORDER + 3];
  cotangent_derivative(n, derivative);
  ig_tensor *x = ig_cast(c, self, IG_F64);
  ig_tensor *low = ig_lt_scalar(c, x, ig_of_f64(0.5));
  ig_tensor *z = ig_where_self(c, low, ig_rsub_scalar(c, x, ig_of_i64(1)), x);
  ig_tensor *value = ig_mul_scalar(c, tail_sum(c, z, n), ig_of_f64(sign * tgamma((double)n + 1)));
  // (-1)^n f(1 - x) - f(x) = pi d^n cot(pi x)
  ig_tensor *turn = angle(c, x);
  ig_tensor *sine = ig_sin(c, turn);
  ig_tensor *cotangent = ig_div_tensor(c, ig_cos(c, turn), sine);
  ig_tensor *mirror = polynomial(c, cotangent, derivative, (size_t)n + 2);
  mirror = ig_mul_scalar(c, mirror, ig_of_f64(pow(PI, (double)n + 1)));
  ig_tensor *turned = ig_sub_tensor(c, ig_mul_scalar(c, value, ig_of_f64(-sign)), mirror);
  value = ig_where_self(c, low, turned, value);
  outs[0] = ig_of_tensor(ig_cast(c, value, self->dtype));
  return true;
}

// Two polynomials of the logarithm of 1 - x x; good to about 1e-6 of the value.
bool ig_onnx_lower_erfinv(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  static const double middle[] = {1.50140941,     0.246640727,    -0.00417768164,
                                  -0.00125372503, 0.00021858087,  -4.39150654e-06,
                                  -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
  static const double tails[] = {2.83297682,    1.00167406,     0.00943887047,
                                 -0.0076224613, 0.00573950773,  -0.00367342844,
                                 0.00134934322, 0.000100950558, -0.000200214257};
  ig_tensor *x = args[0].tensor;
  if (x->dtype != IG_F32 && x->dtype != IG_F16 && x->dtype != IG_BF16) return false;
  x = ig_cast(c, x, IG_F32);
  ig_tensor *above = ig_add_scalar(c, x, ig_of_i64(1));
  ig_tensor *both = ig_mul_tensor(c, ig_rsub_scalar(c, x, ig_of_i64(1)), above);
  ig_tensor *w = ig_neg(c, ig_log(c, both));
  ig_tensor *near = ig_lt_scalar(c, w, ig_of_i64(5));
  size_t n = sizeof middle / sizeof *middle;
  ig_tensor *a = polynomial(c, ig_sub_scalar(c, w, ig_of_f64(2.5)), middle, n);
  ig_tensor *b = polynomial(c, ig_sub_scalar(c, ig_sqrt(c, w), ig_of_f64(3)), tails, n);
  ig_tensor *value = ig_mul_tensor(c, ig_where_self(c, near, a, b), x);
  ig_tensor *edge = ig_eq_scalar(c, ig_abs(c, x), ig_of_i64(1));
  ig_tensor *endless = ig_mul_scalar(c, x, ig_of_f64(INFINITY));
  value = ig_where_self(c, edge, endless, value);
  outs[0] = ig_of_tensor(ig_cast(c, value, float_type(c, args[0].tensor)));
  return true;
}

// self, bins, min, max: which of the bins each element is in, counted.
bool ig_onnx_lower_histc(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  int64_t bins = args[1].i.value;
  double low = ig_value_f64(&args[2]);
  double high = ig_value_f64(&args[3]);
  if (args[1].i.expr || bins < 1 || low == high) return false;  // the data would tell the range
  ig_int all = ig_const(-1);
  ig_tensor *x = ig_reshape(c, args[0].tensor, ig_of_ints(&all, 1));
  ig_tensor *at = ig_div_scalar(c, ig_sub_scalar(c, x, ig_of_f64(low)), ig_of_f64(high - low));
  at = ig_floor(c, ig_mul_scalar(c, at, ig_of_i64(bins)));
  at = ig_clamp_max(c, at, ig_of_i64(bins - 1));
  ig_tensor *above = ig_ge_scalar(c, x, ig_of_f64(low));
  ig_tensor *inside = ig_logical_and(c, above, ig_le_scalar(c, x, ig_of_f64(high)));
  at = ig_masked_fill_scalar(c, at, ig_logical_not(c, inside), ig_of_i64(-1));
  if (!at) return true;  // out of memory: the context says so
  ig_tensor *numbers = ig_cast(c, ig_arange(c, ig_of_i64(bins)), at->dtype);
  ig_tensor *hit = ig_eq_tensor(c, ig_unsqueeze(c, at, ig_const(1)), numbers);
  ig_int dim = ig_const(0);
  ig_tensor *count = ig_sum_dim_intlist(c, ig_cast(c, hit, IG_I64), ig_of_ints(&dim, 1));
  outs[0] = ig_of_tensor(ig_cast(c, count, args[0].tensor->dtype));
  return true;
}

// self, indices, max_norm, norm_type: indexed rows whose norm is too large are scaled down.
bool ig_onnx_lower_embedding_renorm(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *self = args[0].tensor;
  ig_int one = ig_const(1);
  ig_int all = ig_const(-1);
  ig_tensor *norm =
      ig_linalg_vector_norm_with(c, self, args[3], ig_of_ints(&one, 1), true, ig_none());
  ig_tensor *scale = ig_reciprocal(c, ig_add_scalar(c, norm, ig_of_f64(1e-7)));
  scale = ig_mul_scalar(c, scale, args[2]);
  ig_tensor *rows = ig_reshape(c, args[1].tensor, ig_of_ints(&all, 1));
  ig_tensor *named = ig_zeros_like(c, ig_select_int(c, self, ig_const(1), ig_const(0)));
  named = ig_scatter_value(c, named, ig_const(0), ig_cast(c, rows, IG_I64), ig_of_i64(1));
  named = ig_unsqueeze(c, ig_gt_scalar(c, named, ig_of_i64(0)), ig_const(1));
  ig_tensor *shorter = ig_logical_and(c, named, ig_gt_scalar(c, norm, args[2]));
  outs[0] = ig_of_tensor(ig_where_self(c, shorter, ig_mul_tensor(c, self, scale), self));
  return true;
}

static bool equal(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);
}

// self, dim, index, src: before opset 16 there is no scatter with addition; every element of the
// result then compares its index with all indices.
bool ig_onnx_lower_scatter_add(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *self = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  ig_tensor *src = args[3].tensor;
  int64_t dim = args[1].i.value < 0 ? args[1].i.value + self->ndim : args[1].i.value;
  if (self->ndim < 1 || index->ndim != self->ndim || src->ndim != self->ndim) return false;
  for (int d = 0; d < self->ndim; d++) {
    bool same = equal(ig_sizes(index)[d], ig_sizes(src)[d]);
    if (!same || (d != dim && !equal(ig_sizes(index)[d], ig_sizes(self)[d]))) return false;
  }
  ig_int over = ig_const(dim);
  ig_tensor *places = ig_arange(c, ig_of_int(ig_sizes(self)[dim]));
  ig_tensor *meant = ig_eq_tensor(c, ig_unsqueeze(c, index, ig_const(-1)), places);
  ig_tensor *parts = ig_unsqueeze(c, src, ig_const(-1));
  parts = ig_mul_tensor(c, parts, ig_cast(c, meant, src->dtype));
  ig_tensor *sum =
      ig_sum_dim_intlist_with(c, parts, ig_of_ints(&over, 1), true, ig_of_dtype(self->dtype));
  sum = ig_transpose_int(c, sum, over, ig_const(-1));
  outs[0] = ig_of_tensor(ig_add_tensor(c, self, ig_squeeze_dim(c, sum, ig_const(-1))));
  return true;
}

// ---- quantized and back

// The nearest number that an integer type can represent, and whether it was in range.
static void quantized(ig_ctx *c, ig_tensor *steps, const ig_value *lo, const ig_value *hi,
                      ig_value *outs) {
  ig_tensor *above = ig_ge_scalar(c, steps, *lo);
  outs[0] = ig_of_tensor(ig_clamp_with(c, steps, *lo, *hi));
  outs[1] = ig_of_tensor(ig_logical_and(c, above, ig_le_scalar(c, steps, *hi)));
}

// self, scale, zero_point, quant_min, quant_max
bool ig_onnx_lower_fake_quantize(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  ig_tensor *steps = ig_round(c, ig_mul_scalar(c, x, ig_of_f64(1 / args[1].f)));
  steps = ig_add_scalar(c, steps, args[2]);
  quantized(c, steps, &args[3], &args[4], outs);
  ig_tensor *back = ig_sub_scalar(c, outs[0].tensor, args[2]);
  outs[0] = ig_of_tensor(ig_mul_scalar(c, back, args[1]));
  return true;
}

// self, scale, zero_point, fake_quant_enabled, quant_min, quant_max
bool ig_onnx_lower_fake_quantize_given(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  ig_tensor *scale = ig_view(c, args[1].tensor, ig_of_ints(NULL, 0));
  ig_tensor *zero = ig_cast(c, ig_view(c, args[2].tensor, ig_of_ints(NULL, 0)), x->dtype);
  ig_tensor *steps = ig_round(c, ig_mul_tensor(c, x, ig_reciprocal(c, scale)));
  steps = ig_add_tensor(c, steps, zero);
  quantized(c, steps, &args[4], &args[5], outs);
  ig_tensor *back = ig_sub_tensor(c, outs[0].tensor, zero);
  back = ig_mul_tensor(c, back, scale);
  ig_tensor *on = ig_cast(c, ig_view(c, args[3].tensor, ig_of_ints(NULL, 0)), IG_BOOL);
  outs[0] = ig_of_tensor(ig_where_self(c, on, back, x));
  return true;
}

// self, scale, zero_point, axis, quant_min, quant_max
bool ig_onnx_lower_fake_quantize_channel(ig_ctx *c, int opset, const ig_value *args,
                                         ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  ig_int sizes[IG_MAX_DIM];
  int64_t axis = args[3].i.value < 0 ? args[3].i.value + x->ndim : args[3].i.value;
  for (int d = 0; d < x->ndim; d++) sizes[d] = d == axis ? ig_sizes(x)[d] : ig_const(1);
  ig_value shape = ig_of_ints(sizes, (size_t)x->ndim);
  ig_tensor *scale = ig_view(c, args[1].tensor, shape);
  ig_tensor *zero = ig_cast(c, ig_view(c, args[2].tensor, shape), x->dtype);
  ig_tensor *steps = ig_round(c, ig_mul_tensor(c, x, ig_reciprocal(c, scale)));
  steps = ig_add_tensor(c, steps, zero);
  quantized(c, steps, &args[4], &args[5], outs);
  ig_tensor *back = ig_sub_tensor(c, outs[0].tensor, zero);
  outs[0] = ig_of_tensor(ig_mul_tensor(c, back, scale));
  return true;
}

// ---- pools

static bool spatial_sizes(const ig_tensor *x, size_t n, int64_t *sizes) {
  for (size_t i = 0; i < n; i++) {
    ig_int size = ig_sizes(x)[(size_t)x->ndim - n + i];
    if (size.expr) return false;
    sizes[i] = size.value;
  }
  return true;
}

// A list of n numbers, or of one for all; false: symbolic, or not given.
static bool const_list(const ig_value *v, size_t n, int64_t *out) {
  if (v->kind != IG_KIND_INTS || v->ints.n == 0) return false;
  for (size_t i = 0; i < n; i++) {
    ig_int item = v->ints.at[v->ints.n == 1 ? 0 : i];
    if (item.expr || (v->ints.n != 1 && v->ints.n != n)) return false;
    out[i] = item.value;
  }
  return true;
}

enum { SPATIAL = 3, MAX_WINDOWS = 64 };

// Windows of unequal size, dimension by dimension, each one a maximum with its indices.
bool ig_onnx_lower_adaptive_max(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *x = args[0].tensor;
  int64_t in[SPATIAL];
  int64_t out[SPATIAL];
  size_t n = args[1].kind == IG_KIND_INTS ? args[1].ints.n : 0;
  if (n == 0 || n > SPATIAL || (size_t)x->ndim < n || !const_list(&args[1], n, out)) return false;
  if (!spatial_sizes(x, n, in)) return false;
  int64_t plane = 1;
  ig_int sizes[SPATIAL];
  for (size_t i = 0; i < n; i++) {
    if (out[i] < 1 || out[i] > MAX_WINDOWS || in[i] < 1) return false;
    if (in[i] > IG_ONNX_WINDOW_MOST || !ig_checked_mul(plane, in[i], &plane)) return false;
    sizes[i] = ig_const(in[i]);
  }
  ig_tensor *place = ig_view(c, ig_arange(c, ig_of_i64(plane)), ig_of_ints(sizes, n));
  place = ig_expand_as(c, place, x);
  for (size_t i = n; i-- > 0;) {
    ig_int dim = ig_const(x->ndim - (int)n + (int)i);
    ig_value values[MAX_WINDOWS];
    ig_value places[MAX_WINDOWS];
    for (int64_t k = 0; k < out[i]; k++) {
      ig_value from = ig_of_i64(k * in[i] / out[i]);
      ig_value to = ig_of_i64(((k + 1) * in[i] + out[i] - 1) / out[i]);
      ig_value most[2];
      ig_max_dim_with(c, ig_slice_tensor_with(c, x, dim, from, to, ig_const(1)), dim, true, most);
      ig_tensor *window = ig_slice_tensor_with(c, place, dim, from, to, ig_const(1));
      values[k] = most[0];
      places[k] = ig_of_tensor(ig_gather(c, window, dim, most[1].tensor));
    }
    x = ig_cat_with(c, ig_of_list(values, (size_t)out[i]), dim);
    place = ig_cat_with(c, ig_of_list(places, (size_t)out[i]), dim);
    if (!x || !place) return true;
  }
  outs[0] = ig_of_tensor(x);
  outs[1] = ig_of_tensor(place);
  return true;
}

// One value per spatial dimension; `otherwise` where the list is empty.
static bool window_list(const ig_value *v, size_t n, const int64_t *otherwise, int64_t *out) {
  bool empty = v->kind == IG_KIND_NONE || (v->kind == IG_KIND_INTS && v->ints.n == 0);
  if (empty) memcpy(out, otherwise, n * sizeof *out);
  return empty || (const_list(v, n, out) && ig_onnx_window_can(out, n));
}

// How many windows PyTorch has along an axis: with those that the end cuts off, without those that
// begin behind the data.
static ig_int window_count(ig_ctx *c, ig_int in, int64_t kernel, int64_t stride, int64_t padding) {
  ig_int up = ig_const(stride);
  ig_int room = ig_int_add(c, in, ig_const(2 * padding - kernel + stride - 1));
  ig_int all = ig_int_add(c, ig_int_floordiv(c, room, up), ig_const(1));
  if (padding == 0 && stride <= kernel) return all;
  ig_int begin = ig_int_floordiv(c, ig_int_add(c, in, ig_const(padding + stride - 1)), up);
  return ig_int_min(c, all, begin);
}

typedef ig_tensor *pool_fn(ig_ctx *c, ig_tensor *self, ig_value kernel_size, ig_value stride,
                           ig_value padding, bool ceil_mode, bool count_include_pad,
                           ig_value divisor_override);

// self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: before opset
// 19 the windows that ceil_mode cuts off are averages over what they cover, divided by the share
// of it.
static bool avg_ceil(ig_ctx *c, const ig_value *args, size_t n, pool_fn *pool, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  static const int64_t none_at[SPATIAL] = {0};
  int64_t kernel[SPATIAL];
  int64_t stride[SPATIAL];
  int64_t padding[SPATIAL];
  bool known =
      args[1].kind == IG_KIND_INTS && args[1].ints.n == n && const_list(&args[1], n, kernel);
  if (!known || !ig_onnx_window_can(kernel, n) || x->ndim <= (int)n || !args[4].b) return false;
  if (!window_list(&args[2], n, kernel, stride) || !window_list(&args[3], n, none_at, padding)) {
    return false;
  }
  ig_int inner[2 * SPATIAL];  // the last dimension first, before and behind
  ig_int outer[2 * SPATIAL];
  ig_int plane[1 + SPATIAL] = {ig_const(1)};
  ig_int count[SPATIAL];
  ig_int step[SPATIAL];
  ig_int none[SPATIAL];
  for (size_t i = 0; i < n; i++) {
    size_t at = 2 * (n - 1 - i);
    ig_int in = ig_sizes(x)[(size_t)x->ndim - n + i];
    if (stride[i] <= 0) return false;
    inner[at] = inner[at + 1] = ig_const(padding[i]);
    outer[at] = ig_const(0);
    // As many as a window that is cut off may lack; it begins within the data.
    outer[at + 1] = ig_const((stride[i] < kernel[i] ? stride[i] : kernel[i]) - 1);
    plane[1 + i] = in;
    count[i] = window_count(c, in, kernel[i], stride[i], padding[i]);
    step[i] = ig_const(stride[i]);
    none[i] = ig_const(0);
  }
  ig_value strides = ig_of_ints(step, n);
  ig_value zeros = ig_of_ints(none, n);
  ig_tensor *share = ig_new_full(c, x, ig_of_ints(plane, n + 1), ig_of_i64(1));
  ig_value one = args[5].b ? ig_of_i64(1) : ig_of_i64(0);
  share = ig_constant_pad_nd_with(c, share, ig_of_ints(inner, 2 * n), one);
  share = ig_constant_pad_nd_with(c, share, ig_of_ints(outer, 2 * n), ig_of_i64(0));
  share = pool(c, share, args[1], strides, zeros, false, true, ig_none());
  ig_tensor *whole = ig_constant_pad_nd_with(c, x, ig_of_ints(inner, 2 * n), ig_of_i64(0));
  whole = ig_constant_pad_nd_with(c, whole, ig_of_ints(outer, 2 * n), ig_of_i64(0));
  whole = pool(c, whole, args[1], strides, zeros, false, true, args[6]);
  if (args[6].kind == IG_KIND_NONE) whole = ig_div_tensor(c, whole, share);
  for (size_t i = 0; i < n; i++) {
    ig_int dim = ig_const(x->ndim - (int64_t)n + (int64_t)i);
    if (padding[i] == 0 && stride[i] <= kernel[i]) continue;
    whole = ig_slice_tensor_with(c, whole, dim, ig_of_i64(0), ig_of_int(count[i]), ig_const(1));
  }
  outs[0] = ig_of_tensor(whole);
  return true;
}

bool ig_onnx_lower_avg_ceil(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  return avg_ceil(c, args, 2, ig_avg_pool2d_with, outs);
}

bool ig_onnx_lower_avg_ceil3d(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  return avg_ceil(c, args, 3, ig_avg_pool3d_with, outs);
}

// self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
// return_complex: half a frame more on both sides, then without center.
bool ig_onnx_lower_stft_center(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  bool complex = args[9].kind == IG_KIND_BOOL && args[9].b;
  if (opset < 17 || complex || x->ndim < 1 || x->ndim > 2 || args[1].i.expr) return false;
  if (args[5].b) {
    int n = x->ndim;
    ig_int half = ig_const(args[1].i.value / 2);
    ig_int pad[] = {half, half};
    for (int d = n; d < 3; d++) x = ig_unsqueeze(c, x, ig_const(0));
    x = ig_pad_with(c, x, ig_of_ints(pad, 2), args[6], ig_none());
    for (int d = n; d < 3; d++) x = ig_squeeze_dim(c, x, ig_const(0));
  }
  outs[0] = ig_of_tensor(ig_stft_with(c, x, args[1].i, args[2], args[3], ig_value_tensor(&args[4]),
                                      args[7].b, args[8], args[9]));
  return true;
}

// self, output_size, kernel_size, dilation, padding, stride: before opset 18 a transposed
// convolution, in which each element of a block is a channel with its own position.
bool ig_onnx_lower_col2im(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  enum { MAX_BLOCK = 1 << 12 };
  ig_tensor *x = args[0].tensor;
  int64_t given[5][2];  // image, block, dilation, padding, stride
  for (size_t i = 0; i < 5; i++) {
    if (!const_list(&args[i + 1], 2, given[i]) || !ig_onnx_window_can(given[i], 2)) return false;
  }
  int64_t places = given[1][0] * given[1][1];
  bool batch = x->ndim == 3;
  if (opset >= 18 || x->ndim < 2 || places < 1 || places > MAX_BLOCK) return false;
  if (!ig_dtype_is_float(x->dtype)) return false;
  ig_int sizes[4] = {ig_const(-1), ig_const(places)};
  ig_int lists[4][2];  // stride, padding, dilation, what the image has behind the last block
  for (int d = 0; d < 2; d++) {
    int64_t room = given[0][d] + 2 * given[3][d] - given[2][d] * (given[1][d] - 1) - 1;
    if (room < 0 || given[4][d] < 1) return false;
    sizes[d + 2] = ig_const(room / given[4][d] + 1);
    lists[0][d] = ig_const(given[4][d]);
    lists[1][d] = ig_const(given[3][d]);
    lists[2][d] = ig_const(given[2][d]);
    lists[3][d] = ig_const(room % given[4][d]);
  }
  ig_int block[4] = {ig_const(places), ig_const(1), ig_const(given[1][0]), ig_const(given[1][1])};
  ig_value type = ig_of_dtype(x->dtype);
  ig_value none = ig_none();
  ig_tensor *table = ig_eye_with(c, ig_const(places), type, none, none, none);
  table = ig_reshape(c, table, ig_of_ints(block, 4));
  ig_tensor *y = ig_reshape(c, x, ig_of_ints(sizes, 4));
  y = ig_convolution(c, y, table, NULL, ig_of_ints(lists[0], 2), ig_of_ints(lists[1], 2),
                     ig_of_ints(lists[2], 2), true, ig_of_ints(lists[3], 2), ig_const(1));
  ig_int image[4] = {ig_sizes(x)[0], ig_const(-1), ig_const(given[0][0]), ig_const(given[0][1])};
  if (!batch) image[0] = ig_const(-1);
  if (!batch) image[1] = image[2];
  if (!batch) image[2] = image[3];
  outs[0] = ig_of_tensor(ig_reshape(c, y, ig_of_ints(image, batch ? 4 : 3)));
  return true;
}
