// SPDX-License-Identifier: Apache-2.0
// The gamma function's family, the Bessel functions i0, i1, the normal distribution's. Computed in
// double precision; series and continued fractions run until they do not change the sum.
#include <stdio.h>

#include "op/refuse.h"
#include "ops/dense.h"
#include "ops/pointwise/special.h"
#include "ops/tile.h"

static const double pi = 3.14159265358979323846;

double ig_digamma_of(double x) {
  if (x == 0) return copysign(HUGE_VAL, -x);
  if (x < 0) {
    if (x == floor(x)) return NAN;
    double whole;
    return ig_digamma_of(1 - x) - pi / tan(pi * modf(x, &whole));
  }
  double sum = 0;
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  if (x > 1e17) return sum + log(x);
  double y = 1 / (x * x);
  static const double terms[] = {8.33333333333333333333E-2, -2.10927960927960927961E-2,
                                 7.57575757575757575758E-3, -4.16666666666666666667E-3,
                                 3.96825396825396825397E-3, -8.33333333333333333333E-3,
                                 8.33333333333333333333E-2};
  double p = terms[0];
  for (int i = 1; i < 7; i++) p = p * y + terms[i];
  return sum + log(x) - 0.5 / x - y * p;
}

#define FAR_BELOW (-64.0)  // until there, terms are added one by one

// Hurwitz zeta: Euler and Maclaurin.
static double zeta_of(double s, double q) {
  static const double factors[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1.8924375803183791606e9,
                                   7.47242496e10,
                                   -2.950130727918164224e12,
                                   1.1646782814350067249e14,
                                   -4.5979787224074726105e15,
                                   1.8152105401943546773e17,
                                   -7.1661652561756670113e18};
  if (s == 1) return HUGE_VAL;
  if (s < 1) return NAN;
  if (q <= 0 && q == floor(q)) return HUGE_VAL;
  if (q <= 0 && s != floor(s)) return NAN;
  if (q < FAR_BELOW) {
    // The terms from q up to 0 are those of another series that goes up from 0, with the sign of
    // (-1)^s: all of them without the ones from 1 - q on.
    double first = q - floor(q);
    double below = zeta_of(s, 1 - first) - zeta_of(s, 1 - q);
    return zeta_of(s, first) + (fmod(s, 2) == 0 ? below : -below);
  }
  double sum = pow(q, -s);
  double a = q;
  double b = 0;
  for (int i = 0; i < 9 || a <= 9; i++) {
    a += 1;
    b = pow(a, -s);
    sum += b;
    if (fabs(b / sum) < 1e-17) return sum;
  }
  double w = a;
  sum += b * w / (s - 1) - 0.5 * b;
  double fac = 1;
  double k = 0;
  for (int i = 0; i < 12; i++) {
    fac *= s + k;
    b /= w;
    double t = fac * b / factors[i];
    sum += t;
    if (fabs(t / sum) < 1e-17) break;
    k += 1;
    fac *= s + k;
    b /= w;
    k += 1;
  }
  return sum;
}

static double polygamma_of(int64_t n, double x) {
  if (n == 0) return ig_digamma_of(x);
  if (n == 1 && isinf(x)) return x > 0 ? 0 : NAN;
  double order = (double)n + 1;
  return (n % 2 ? 1 : -1) * exp(lgamma(order)) * zeta_of(order, x);
}

// Lower and upper regularized incomplete gamma function.
static double igamma_of(double a, double x, bool upper) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0) return NAN;
  if (a == 0) return x > 0 ? !upper : NAN;
  if (x == 0) return upper;
  if (isinf(a)) return isinf(x) ? NAN : upper;
  if (isinf(x)) return !upper;
  double front = exp(a * log(x) - x - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int n = 1; n < 10000 && fabs(term) > fabs(sum) * 1e-17; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return upper ? 1 - front * sum : front * sum;
  }
  double b = x + 1 - a;
  double y = 1e300;
  double d = 1 / b;
  double h = d;
  for (int n = 1; n < 10000; n++) {
    double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (fabs(d) < 1e-300) d = 1e-300;
    y = b + an / y;
    if (fabs(y) < 1e-300) y = 1e-300;
    d = 1 / d;
    double step = d * y;
    h *= step;
    if (fabs(step - 1) < 1e-16) break;
  }
  return upper ? front * h : 1 - front * h;
}

// Sum of (x^2/4)^k / (k! (k+v)!) times (x/2)^v; beyond 30 the asymptotic series.
// Scaled: times exp(-|x|).
static double bessel_i(double x, int v, bool scaled) {
  double a = fabs(x);
  double sign = v == 1 && x < 0 ? -1 : 1;
  if (a > 30) {
    double term = 1;
    double sum = 1;
    double mu = 4.0 * v * v;
    for (int k = 1; k < 30; k++) {
      double odd = 2.0 * k - 1;
      term *= -(mu - odd * odd) / (k * 8 * a);
      sum += term;
      if (fabs(term) < 1e-17) break;
    }
    return sign * (scaled ? 1 : exp(a)) / sqrt(2 * pi * a) * sum;
  }
  double quarter = a * a / 4;
  double term = v == 1 ? a / 2 : 1;
  double sum = term;
  for (int k = 1; k < 200 && term > sum * 1e-17; k++) {
    term *= quarter / ((double)k * (k + v));
    sum += term;
  }
  return sign * (scaled ? exp(-a) : 1) * sum;
}

// exp(x^2) erfc(x). The square is taken in two parts; beyond 9 the asymptotic series.
static double erfcx_of(double x) {
  if (!(x > 9)) {
    double high = (double)(float)x;
    return exp(high * high) * exp((x - high) * (x + high)) * erfc(x);
  }
  double step = 0.5 / x / x;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 40 && fabs(term) > 1e-17; k++) {
    term *= -(2.0 * k - 1) * step;
    sum += term;
  }
  return sum / (x * sqrt(pi));
}

// The quantile p of the normal distribution: an initial guess, then Halley's method.
static double ndtri_of(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -HUGE_VAL : p == 1 ? HUGE_VAL : NAN;
  if (p > 0.5) return p == 1 ? HUGE_VAL : -ndtri_of(1 - p);
  double t = sqrt(-2 * log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int k = 0; k < 3; k++) {
    double density = exp(-x * x / 2) / sqrt(2 * pi);
    if (density == 0) break;
    double miss = (erfc(-x / sqrt(2)) / 2 - p) / density;
    x -= miss / (1 + x * miss / 2);
  }
  return x;
}

#define BOTH1(name, expr)                 \
  TILE1(name##_f64, double, double, expr) \
  TILE1(name##_f32, float, float, expr)
#define BOTH2(name, expr)                 \
  TILE2(name##_f64, double, double, expr) \
  TILE2(name##_f32, float, float, expr)
BOTH1(lgamma, lgamma((double)x[i]))
BOTH1(digamma, ig_digamma_of((double)x[i]))
BOTH1(i0, bessel_i((double)x[i], 0, false))
BOTH1(i1, bessel_i((double)x[i], 1, false))
BOTH1(i0e, bessel_i((double)x[i], 0, true))
BOTH1(i1e, bessel_i((double)x[i], 1, true))
BOTH1(erfcx, erfcx_of((double)x[i]))
BOTH1(ndtri, ndtri_of((double)x[i]))
BOTH2(zeta, zeta_of((double)x[i], (double)y[i]))
BOTH2(igamma, igamma_of((double)x[i], (double)y[i], false))
BOTH2(igammac, igamma_of((double)x[i], (double)y[i], true))

// polygamma(n, self): the number comes first.
static void polygamma_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (ig_value_i64(c, &args[0]) < 0) {
    ig_fail_text(c, IG_RUNTIME, "polygamma(n, x) does not support negative n.");
    return;
  }
  ig_shape_like(c, op, &args[1], out);
  out->dtype = ig_to_float(c, args[1].tensor->dtype);
  (void)ig_check_float(c, "polygamma", out->dtype);
}
static void polygamma_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  size_t n = (size_t)ig_tensor_numel(args[1].tensor);
  ig_scope s = ig_scope_open(c);
  double *x = ig_dense_read(c, args[1].tensor, IG_F64);
  for (size_t i = 0; x && i < n; i++)
    x[i] = polygamma_of(args[0].i.value, x[i]);  // concrete: order
  ig_dense_write(c, outs[0].tensor, IG_F64, x);
  ig_scope_close(c, s);
}

static void lgamma_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_digamma(c, v->args[0].tensor));
}
static void digamma_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_polygamma(c, ig_const(1), v->args[0].tensor));
}
static void polygamma_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_int next = ig_int_add(c, v->args[0].i, ig_const(1));
  IG_GRAD(v, 1) = ig_mul_tensor(c, v->grad, ig_polygamma(c, next, v->args[1].tensor));
}
static void i0_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_special_i1(c, v->args[0].tensor));
}
// i0(x) - i1(x) / x, at 0 its limit
static void i1_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *ratio = ig_div_tensor(c, v->out, x);
  ig_tensor *slope = ig_sub_tensor(c, ig_i0(c, x), ratio);
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  slope = ig_masked_fill_scalar(c, slope, zero, ig_of_f64(0.5));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}
static void i0e_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *part = ig_mul_tensor(c, ig_sgn(c, x), v->out);
  ig_tensor *slope = ig_sub_tensor(c, ig_special_i1e(c, x), part);
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}
// i0e(x) - i1e(x) (sgn(x) + 1 / x), at 0 its limit
static void i1e_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *part = ig_reciprocal(c, x);
  part = ig_add_tensor(c, ig_sgn(c, x), part);
  part = ig_mul_tensor(c, v->out, part);
  ig_tensor *slope = ig_sub_tensor(c, ig_special_i0e(c, x), part);
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  slope = ig_masked_fill_scalar(c, slope, zero, ig_of_f64(0.5));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}
static void erfcx_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *slope = ig_mul_f64(c, ig_mul_tensor(c, v->args[0].tensor, v->out), 2);
  slope = ig_add_f64(c, slope, -2 / sqrt(pi));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}
static void ndtri_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *half = ig_mul_f64(c, ig_mul_tensor(c, v->out, v->out), 0.5);
  ig_tensor *slope = ig_mul_f64(c, ig_exp(c, half), sqrt(2 * pi));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, slope);
}
// -s zeta(s + 1, q); PyTorch has none for s.
static void zeta_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_no_derivative(c, "zeta");
  ig_tensor *s = v->args[0].tensor;
  ig_tensor *slope = ig_special_zeta(c, ig_add_f64(c, s, 1), v->args[1].tensor);
  slope = ig_mul_tensor(c, ig_neg(c, s), slope);
  ig_tensor *g = ig_mul_tensor(c, v->grad, slope);
  IG_GRAD(v, 1) = ig_sum_to(c, g, &v->args[1]);
}
// exp(-x + (a - 1) log x - lgamma(a)); PyTorch has none for a.
static ig_tensor *igamma_slope(ig_ctx *c, const ig_vjp *v) {
  char input[64];
  (void)snprintf(input, sizeof input, "%s: input", v->op->schema.name);
  IG_GRAD(v, 0) = ig_no_derivative(c, input);
  if (!IG_WANTED(v, 1)) return NULL;
  ig_tensor *a = v->args[0].tensor;
  ig_tensor *x = v->args[1].tensor;
  ig_tensor *power = ig_add_f64(c, a, -1);
  power = ig_mul_tensor(c, power, ig_log(c, x));
  power = ig_sub_tensor(c, power, x);
  power = ig_sub_tensor(c, power, ig_lgamma(c, a));
  ig_tensor *g = ig_mul_tensor(c, v->grad, ig_exp(c, power));
  return ig_sum_to(c, g, &v->args[1]);
}
static void igamma_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *g = igamma_slope(c, v);
  IG_GRAD(v, 1) = g;
}
static void igammac_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *g = ig_neg(c, igamma_slope(c, v));
  IG_GRAD(v, 1) = g;
}

// log of the multivariate gamma function; p (p - 1) / 4 log pi is the constant part
static ig_tensor *mvlgamma_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t p = ig_value_i64(c, &args[1]);
  if (p < 1) {
    ig_fail_text(c, IG_RUNTIME, "p has to be greater than or equal to 1");
    return NULL;
  }
  x = ig_dtype_is_float(x->dtype) ? x : ig_cast(c, x, ig_ctx_default_dtype(c));
  if (!x) return NULL;
  ig_value dtype = ig_of_dtype(x->dtype);
  ig_tensor *steps =
      ig_arange_start_step_with(c, ig_of_i64(1 - p), ig_of_i64(1), ig_of_i64(1), dtype, ig_none(),
                                ig_of_device(x->device), ig_of_bool(false));
  steps = ig_mul_f64(c, steps, 0.5);
  ig_tensor *sum = ig_add_tensor(c, ig_unsqueeze(c, x, ig_const(-1)), steps);
  ig_int last = ig_const(-1);
  sum = ig_sum_dim_intlist(c, ig_lgamma(c, sum), ig_of_ints(&last, 1));
  return ig_add_f64(c, sum, (double)p * (double)(p - 1) / 4 * log(pi));
}

// -x log x for x > 0, 0 at 0, -infinity below
static ig_tensor *entr_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  x = ig_dtype_is_integral(x->dtype) || x->dtype == IG_BOOL ? ig_cast(c, x, ig_ctx_default_dtype(c))
                                                            : x;
  if (!x || !ig_check_float(c, "entr", x->dtype)) return NULL;
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  ig_tensor *rest = ig_where_scalar(c, zero, ig_of_f64(0), ig_of_f64(-HUGE_VAL));
  rest = ig_cast(c, rest, x->dtype);
  ig_tensor *part = ig_log(c, x);
  part = ig_mul_tensor(c, ig_neg(c, x), part);
  ig_tensor *above = ig_gt_scalar(c, x, ig_of_i64(0));
  rest = ig_where_self(c, above, part, rest);
  return ig_where_self(c, ig_isnan(c, x), x, rest);
}
static ig_tensor *ndtr_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = ig_mul_f64(c, args[0].tensor, 0.70710678118654752440);
  return ig_mul_f64(c, ig_add_f64(c, ig_erf(c, x), 1), 0.5);
}
// Below 1 the tail is scaled: log(erfcx(-t) / 2) - t^2, t = x / sqrt(2).
static ig_tensor *log_ndtr_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *t = ig_mul_f64(c, args[0].tensor, 0.70710678118654752440);
  ig_tensor *low = ig_mul_f64(c, ig_special_erfcx(c, ig_neg(c, t)), 0.5);
  low = ig_log(c, low);
  low = ig_sub_tensor(c, low, ig_mul_tensor(c, t, t));
  ig_tensor *high = ig_log1p(c, ig_mul_f64(c, ig_erfc(c, t), -0.5));
  return ig_where_self(c, ig_lt_scalar(c, args[0].tensor, ig_of_f64(1)), low, high);
}

#define REAL(name)                                                                     \
  .shape = ig_shape_pointwise, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}, \
  .vjp = name##_vjp
#define POSITIVE "f32[3,5]:+ | f32[]:+ | i64[3]"

IG_OP(lgamma) = {
    .schema = "aten::lgamma(Tensor self) -> Tensor",
    REAL(lgamma),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self",
    .samples = POSITIVE,
};
IG_OP(digamma) = {
    .schema = "aten::digamma(Tensor self) -> Tensor",
    REAL(digamma),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self",
    .samples = POSITIVE,
};
IG_OP(polygamma) = {
    .schema = "aten::polygamma(int n, Tensor self) -> Tensor",
    .shape = polygamma_shape,
    .kernel = polygamma_kernel,
    .vjp = polygamma_vjp,
    .keep = "self",
    .samples = "1, f32[3,5]:+ | 2, f32[3]:+ | 0, f32[3]:+",
};
IG_OP(i0) = {
    .schema = "aten::i0(Tensor self) -> Tensor",
    REAL(i0),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self",
    .samples = POSITIVE,
};
// The same values under another name, for which PyTorch has no derivative.
IG_OP(special_modified_bessel_i0) = {
    .schema = "aten::special_modified_bessel_i0(Tensor self) -> Tensor",
    .shape = ig_shape_special,
    .tile = {[IG_F32] = i0_f32, [IG_F64] = i0_f64},
    .promote = IG_PROMOTE_FLOAT,
    .not_differentiable = true,
    .samples = POSITIVE,
};
IG_OP(special_modified_bessel_i1) = {
    .schema = "aten::special_modified_bessel_i1(Tensor self) -> Tensor",
    .shape = ig_shape_special,
    .tile = {[IG_F32] = i1_f32, [IG_F64] = i1_f64},
    .promote = IG_PROMOTE_FLOAT,
    .not_differentiable = true,
    .samples = POSITIVE,
};
IG_OP(special_i1) = {
    .schema = "aten::special_i1(Tensor self) -> Tensor",
    REAL(i1),
    .promote = IG_PROMOTE_FLOAT,
    .samples = POSITIVE,
};
IG_OP(special_i0e) = {
    .schema = "aten::special_i0e(Tensor self) -> Tensor",
    REAL(i0e),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self, result",
    .samples = POSITIVE,
};
IG_OP(special_i1e) = {
    .schema = "aten::special_i1e(Tensor self) -> Tensor",
    REAL(i1e),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self, result",
    .samples = POSITIVE,
};
IG_OP(special_erfcx) = {
    .schema = "aten::special_erfcx(Tensor self) -> Tensor",
    REAL(erfcx),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self, result",
    .samples = POSITIVE,
};
IG_OP(special_ndtri) = {
    .schema = "aten::special_ndtri(Tensor self) -> Tensor",
    REAL(ndtri),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "result",
    .samples = "f32[3,5]:u | f32[]:u | f64[3]:u",
};
IG_OP(special_zeta) = {
    .schema = "aten::special_zeta(Tensor self, Tensor other) -> Tensor",
    REAL(zeta),
    .promote = IG_PROMOTE_FLOAT,
    .keep = "self, other",
    .samples = "f32[3,5]:+, f32[3,5]:+ | i64[3], f32[]:+",
    .waive = "gradient: PyTorch has none for self; second: PyTorch has none for self",
};
IG_OP(special_entr) = {
    .schema = "aten::special_entr(Tensor self) -> Tensor",
    .decompose = entr_decompose,
    .samples = POSITIVE,
};
IG_OP(special_ndtr) = {
    .schema = "aten::special_ndtr(Tensor self) -> Tensor",
    .decompose = ndtr_decompose,
    .samples = "f32[3,5] | f32[] | i64[3]",
};
IG_OP(special_log_ndtr) = {
    .schema = "aten::special_log_ndtr(Tensor self) -> Tensor",
    .decompose = log_ndtr_decompose,
    .samples = "f32[3,5] | f32[] | i64[3]",
};
IG_OP(igamma) = {
    .schema = "aten::igamma(Tensor self, Tensor other) -> Tensor",
    REAL(igamma),
    .keep = "self, other",
    .samples = "f32[3,5]:+, f32[3,5]:+ | f32[3]:+, f32[]:+",
    .waive = "gradient: PyTorch has none for self",
};
IG_OP(igammac) = {
    .schema = "aten::igammac(Tensor self, Tensor other) -> Tensor",
    REAL(igammac),
    .keep = "self, other",
    .samples = "f32[3,5]:+, f32[3,5]:+ | f32[3]:+, f32[]:+",
    .waive = "gradient: PyTorch has none for self",
};
IG_OP(mvlgamma) = {
    .schema = "aten::mvlgamma(Tensor self, int p) -> Tensor",
    .decompose = mvlgamma_decompose,
    .samples = "f32[3]:+, 1 | f64[3]:+, 1",
};
