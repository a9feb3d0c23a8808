// SPDX-License-Identifier: Apache-2.0
// Elementary functions beyond those of unary.c: trigonometric, hyperbolic, exponentials,
// logarithms, rounding, and predicates for special values.
#include "kernels/vmath.h"
#include "ops/tile.h"

static const double ln2 = 0.69314718055994530942;
static const double ln10 = 2.30258509299404568402;
static const double two_over_root_pi = 1.12837916709551257390;
static const double half_root_pi = 0.88622692545275801365;

#define LIBM(name)                               \
  TILE1(name##_f32, float, float, name##f(x[i])) \
  TILE1(name##_f64, double, double, name(x[i]))
// Our own implementation for floats, libm for doubles.
#define FASTC(name)                                      \
  TILE1(name##_f32, float, float, ig_##name##_f32(x[i])) \
  TILE1(name##_f64, double, double, name(x[i]))          \
  TILE1(name##_c128, ig_cd, ig_cd, c##name(x[i]))
TILE2(atan2_f32, float, float, ig_atan2_f32(x[i], y[i]))
TILE2(atan2_f64, double, double, atan2(x[i], y[i]))
#define LIBMC(name) LIBM(name) TILE1(name##_c128, ig_cd, ig_cd, c##name(x[i]))
TILE1(tan_f64, double, double, tan(x[i]))
TILE1(tan_c128, ig_cd, ig_cd, ctan(x[i]))
FASTC(sinh)
FASTC(cosh)
FASTC(asin)
FASTC(acos)
FASTC(atan)
LIBMC(asinh)
LIBMC(acosh)
LIBMC(atanh)
LIBM(log10)
LIBM(erfc)
LIBM(floor)
LIBM(ceil)
LIBM(trunc)
TILE1(log1p_f32, float, float, ig_log1p_f32(x[i]))
TILE1(log1p_f64, double, double, log1p(x[i]))
TILE1(expm1_f32, float, float, ig_expm1_f32(x[i]))
TILE1(expm1_f64, double, double, expm1(x[i]))
// log2(2^e m) = e + log(m) / ln 2 with m in [sqrt(1/2), sqrt(2)): whole for powers of two.
static inline float log2_one(float x) {
  int tiny = x < 0x1p-126f;
  uint32_t u = ig_bits_f32(tiny ? x * 0x1p23f : x) - 0x3f3504f3U;
  float e = (float)(((int32_t)u >> 23) - (tiny ? 23 : 0));
  float l = ig_log_f32(ig_float_of((u & 0x7fffffU) + 0x3f3504f3U));
  float y = e + (l * 0x1.715476p0f + l * 0x1.4ae0cp-26f);
  y = x == 0.0f ? -INFINITY : y;
  y = x < 0.0f ? NAN : y;
  return x < INFINITY ? y : x + x;  // inf, NaN
}
TILE1(log2_f32, float, float, log2_one(x[i]))
TILE1(log2_f64, double, double, log2(x[i]))

// 2^x = 2^n exp(r ln 2), n whole and |r| <= 1/2.
static inline float exp2_one(float x) {
  float c = x < -151.0f ? -151.0f : x;
  c = c > 129.0f ? 129.0f : c;
  float t = c + IG_ROUND_F32;
  int32_t n = (int32_t)(ig_bits_f32(t) - ig_bits_f32(IG_ROUND_F32));
  float r = (c - (t - IG_ROUND_F32)) * 0x1.62e43p-1f;
  float y = 1.0f + (r + r * r * ig_exp_tail_f32(r));
  int32_t half = n >> 1;  // in two steps: 2^n itself may be out of range
  return y * ig_exp2i_f32(half) * ig_exp2i_f32(n - half);
}
TILE1(exp2_f32, float, float, exp2_one(x[i]))
TILE1(exp2_f64, double, double, exp2(x[i]))

// Both parts are accurate to the last bit even if they are tiny.
IG_CLONES static void tan_f32(const ig_tile_args *t) {
  enum { BLOCK = 256 };
  const float *x = t->in[0];
  float *o = t->out;
  for (size_t at = 0; at < t->n; at += BLOCK) {
    size_t n = t->n - at < BLOCK ? t->n - at : BLOCK;
    float y[BLOCK];  // the result may overlap the operand
    int large = 0;
    for (size_t i = 0; i < n; i++) {
      large |= !(fabsf(x[at + i]) <= IG_TRIG_MAX);
      y[i] = ig_sin_f32(x[at + i]) / ig_cos_f32(x[at + i]);
    }
    for (size_t i = 0; large && i < n; i++)
      if (!(fabsf(x[at + i]) <= IG_TRIG_MAX)) y[i] = tanf(x[at + i]);
    memcpy(o + at, y, n * sizeof *y);
  }
}

// log(1 + z) and exp(z) - 1 without cancellation near 0.
static ig_cd clog1p_of(ig_cd z) {
  double re = creal(z);
  double im = cimag(z);
  double square = re * (2 + re) + im * im;
  ig_cd one = 1 + z;
  return ig_cd_of(fabs(square) < 0.5 ? 0.5 * log1p(square) : creal(clog(one)), cimag(clog(one)));
}
static ig_cd cexpm1_of(ig_cd z) {
  double re = creal(z);
  double im = cimag(z);
  double half = sin(im / 2);
  double a = expm1(re);
  return ig_cd_of(a * cos(im) - 2 * half * half, exp(re) * sin(im));
}
TILE1(log1p_c128, ig_cd, ig_cd, clog1p_of(x[i]))
TILE1(expm1_c128, ig_cd, ig_cd, cexpm1_of(x[i]))
TILE1(log2_c128, ig_cd, ig_cd, clog(x[i]) / ln2)
TILE1(log10_c128, ig_cd, ig_cd, clog(x[i]) / ln10)
TILE1(exp2_c128, ig_cd, ig_cd, cexp(x[i] * ln2))
TILE1(erf_f32, float, float, ig_erf_f32(x[i]))
TILE1(erf_f64, double, double, erf(x[i]))
TILE1(same_i64, int64_t, int64_t, x[i])
TILE1(sign_f32, float, float, (x[i] > 0) - (x[i] < 0))
TILE1(sign_f64, double, double, (x[i] > 0) - (x[i] < 0))
TILE1(sign_i64, int64_t, int64_t, (x[i] > 0) - (x[i] < 0))
TRUE_TILE1(sign_bool, x)
TILE1(isinf_f32, float, bool, fabsf(x[i]) > 3.40282347e38F)
TILE1(isinf_f64, double, bool, fabs(x[i]) > 1.7976931348623157e308)
TILE1(isinf_c128, ig_cd, bool, isinf(creal(x[i])) || isinf(cimag(x[i])))
TILE1(never_i64, int64_t, bool, x[i] != x[i])
TILE1(never_bool, uint8_t, bool, x[i] != x[i])
TILE1(signbit_f32, float, bool, signbit(x[i]) != 0)
TILE1(signbit_f64, double, bool, signbit(x[i]) != 0)
TILE1(signbit_i64, int64_t, bool, x[i] < 0)

// Giles' approximation, then two steps of Newton's method.
static double erfinv_of(double y) {
  if (!(fabs(y) < 1)) return fabs(y) == 1 ? copysign(HUGE_VAL, y) : NAN;
  double w = -log((1 - y) * (1 + y));
  double p;
  if (w < 5) {
    w -= 2.5;
    static const double near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                  -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                  -0.00417768164,  0.246640727,    1.50140941};
    p = near[0];
    for (int i = 1; i < 9; i++) p = near[i] + p * w;
  } else {
    w = sqrt(w) - 3;
    static const double far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                 -0.00367342844,  0.00573950773,  -0.0076224613,
                                 0.00943887047,   1.00167406,     2.83297682};
    p = far[0];
    for (int i = 1; i < 9; i++) p = far[i] + p * w;
  }
  double x = p * y;
  for (int i = 0; i < 2; i++) x -= (erf(x) - y) / (two_over_root_pi * exp(-x * x));
  return x;
}
TILE1(erfinv_f64, double, double, erfinv_of(x[i]))
TILE1(erfinv_f32, float, float, erfinv_of((double)x[i]))

static ig_tensor *times(ig_ctx *c, ig_tensor *g, ig_tensor *slope) {
  return ig_mul_tensor(c, g, ig_conj_of(c, slope));
}
// x^2 * scale + shift
static ig_tensor *bowl(ig_ctx *c, ig_tensor *x, double scale, double shift) {
  ig_tensor *square = ig_mul_tensor(c, x, x);
  if (scale != 1) square = ig_mul_f64(c, square, scale);
  return ig_add_f64(c, square, shift);
}

static void tan_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, bowl(c, v->out, 1, 1));
}
static void sinh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_cosh(c, v->args[0].tensor));
}
static void cosh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_sinh(c, v->args[0].tensor));
}
static void asin_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_rsqrt(c, bowl(c, v->args[0].tensor, -1, 1)));
}
static void acos_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_neg(c, ig_rsqrt(c, bowl(c, v->args[0].tensor, -1, 1))));
}
static void atan_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_reciprocal(c, bowl(c, v->args[0].tensor, 1, 1)));
}
static void asinh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_rsqrt(c, bowl(c, v->args[0].tensor, 1, 1)));
}
// sqrt(x - 1) sqrt(x + 1), which has the branch cut of acosh
static void acosh_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *a = ig_rsqrt(c, ig_add_f64(c, x, -1));
  ig_tensor *b = ig_rsqrt(c, ig_add_f64(c, x, 1));
  IG_GRAD(v, 0) = times(c, v->grad, ig_mul_tensor(c, a, b));
}
static void atanh_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_reciprocal(c, bowl(c, v->args[0].tensor, -1, 1)));
}
static void log1p_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_div_tensor(c, v->grad, ig_conj_of(c, ig_add_f64(c, v->args[0].tensor, 1)));
}
static void log2_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_div_tensor(c, v->grad, ig_conj_of(c, ig_mul_f64(c, v->args[0].tensor, ln2)));
}
static void log10_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_div_tensor(c, v->grad, ig_conj_of(c, ig_mul_f64(c, v->args[0].tensor, ln10)));
}
static void expm1_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_add_f64(c, v->out, 1));
}
static void exp2_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = times(c, v->grad, ig_mul_f64(c, v->out, ln2));
}
static ig_tensor *bell(ig_ctx *c, ig_tensor *x, double scale) {
  ig_tensor *e = ig_exp(c, ig_neg(c, ig_mul_tensor(c, x, x)));
  return ig_mul_f64(c, e, scale);
}
static void erf_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, bell(c, v->args[0].tensor, two_over_root_pi));
}
static void erfc_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, bell(c, v->args[0].tensor, -two_over_root_pi));
}
static void erfinv_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *e = ig_exp(c, ig_mul_tensor(c, v->out, v->out));
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_mul_f64(c, e, half_root_pi));
}
static void flat_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->grad);
}

// Integers have no infinity.
static ig_tensor *infinite(ig_ctx *c, const ig_value *args, double which) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "%s does not support complex inputs.",
                 which > 0 ? "isposinf" : "isneginf");
    return NULL;
  }
  if (ig_dtype_is_float(x->dtype)) return ig_eq_scalar(c, x, ig_of_f64(which));
  return ig_zeros_like_with(c, x, ig_of_dtype(IG_BOOL), ig_none(), ig_none(), ig_none(), ig_none());
}
static ig_tensor *isposinf_decompose(ig_ctx *c, const ig_value *args) {
  return infinite(c, args, HUGE_VAL);
}
static ig_tensor *isneginf_decompose(ig_ctx *c, const ig_value *args) {
  return infinite(c, args, -HUGE_VAL);
}

static ig_tensor *float_of(ig_ctx *c, ig_tensor *x) {
  bool whole = !ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype);
  return whole ? ig_cast(c, x, ig_ctx_default_dtype(c)) : x;
}

static ig_tensor *frac_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *whole = ig_floor(c, ig_abs(c, x));
  whole = ig_mul_tensor(c, whole, ig_sign(c, x));
  return ig_sub_tensor(c, x, whole);
}
static bool real_angle(ig_ctx *c, const ig_value *args, const char *name) {
  if (!ig_dtype_is_complex(args[0].tensor->dtype)) return true;
  ig_fail_text(c, IG_RUNTIME, "%s is not supported for complex tensors.", name);
  return false;
}
static ig_tensor *deg2rad_decompose(ig_ctx *c, const ig_value *args) {
  if (!real_angle(c, args, "deg2rad")) return NULL;
  return ig_mul_f64(c, float_of(c, args[0].tensor), 0.017453292519943295);
}
static ig_tensor *rad2deg_decompose(ig_ctx *c, const ig_value *args) {
  if (!real_angle(c, args, "rad2deg")) return NULL;
  return ig_mul_f64(c, float_of(c, args[0].tensor), 57.29577951308232);
}
static ig_tensor *sinc_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = ig_mul_f64(c, float_of(c, args[0].tensor), 3.14159265358979323846);
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  ig_tensor *ratio = ig_div_tensor(c, ig_sin(c, x), x);
  return ig_where_scalarself(c, zero, ig_of_i64(1), ratio);
}
static ig_tensor *logit_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = float_of(c, args[0].tensor);
  double eps = args[1].kind == IG_KIND_NONE ? -1 : ig_value_f64(&args[1]);
  x = ig_clamp_with(c, x, ig_of_f64(eps), ig_of_f64(1 - eps));
  ig_tensor *rest = ig_rsub_scalar(c, x, ig_of_i64(1));
  return ig_log(c, ig_div_tensor(c, x, rest));
}
static double largest(ig_dtype d) {
  return d == IG_F16    ? 65504.0
         : d == IG_BF16 ? 3.3895313892515355e+38
         : d == IG_F64  ? 1.7976931348623157e308
                        : 3.4028234663852886e+38;
}
static ig_value or_else(const ig_value *v, double otherwise) {
  return v->kind == IG_KIND_NONE ? ig_of_f64(otherwise) : *v;
}
static ig_tensor *nan_to_num_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) {
    ig_value parts[] = {ig_of_tensor(ig_view_as_real(c, x)), args[1], args[2], args[3]};
    return ig_view_as_complex(c, ig_call_id(c, IG_ID_NAN_TO_NUM, parts, 4));
  }
  if (!ig_dtype_is_float(x->dtype)) return ig_clone(c, x);
  double most = largest(x->dtype);
  ig_tensor *out = ig_where_scalarself(c, ig_isnan(c, x), or_else(&args[1], 0), x);
  ig_tensor *low = ig_eq_scalar(c, x, ig_of_f64(-HUGE_VAL));
  out = ig_where_scalarself(c, low, or_else(&args[3], -most), out);
  ig_tensor *high = ig_eq_scalar(c, x, ig_of_f64(HUGE_VAL));
  return ig_where_scalarself(c, high, or_else(&args[2], most), out);
}

#define FLOATING(name)                                                             \
  .shape = ig_shape_pointwise,                                                     \
  .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64, [IG_C128] = name##_c128}, \
  .promote = IG_PROMOTE_FLOAT, .vjp = name##_vjp
#define REAL(name)                                                                     \
  .shape = ig_shape_pointwise, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}, \
  .promote = IG_PROMOTE_FLOAT, .vjp = name##_vjp
#define ROUNDING(name)                                                                     \
  .shape = ig_shape_pointwise,                                                             \
  .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64, [IG_I64] = same_i64}, .keep = "", \
  .vjp = flat_vjp
#define ANY "f32[3,5] | f32[] | i64[3] | f32[4,2].T"
#define ROUNDED "f32[3,5] | f32[] | i64[3] | f32[4,2].T | f32[8]:special"
#define UNIT "f32[3,5]:s | f32[]:s | i64[3]:<1"
#define POSITIVE "f32[3,5]:+ | f32[]:+ | i64[3]"

IG_OP(tan) = {
    .schema = "aten::tan(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(tan),
    .keep = "result",
    .samples = ANY,
};
IG_OP(sinh) = {
    .schema = "aten::sinh(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(sinh),
    .keep = "self",
    .samples = ANY,
};
IG_OP(cosh) = {
    .schema = "aten::cosh(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(cosh),
    .keep = "self",
    .samples = ANY,
};
IG_OP(asin) = {
    .schema = "aten::asin(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(asin),
    .keep = "self",
    .samples = UNIT,
};
IG_OP(acos) = {
    .schema = "aten::acos(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(acos),
    .keep = "self",
    .samples = UNIT,
};
IG_OP(atan) = {
    .schema = "aten::atan(Tensor self) -> Tensor",
    FLOATING(atan),
    .keep = "self",
    .samples = ANY,
};
IG_OP(asinh) = {
    .schema = "aten::asinh(Tensor self) -> Tensor",
    FLOATING(asinh),
    .inplace_not_differentiable = true,
    .keep = "self",
    .samples = ANY,
};
IG_OP(acosh) = {
    .schema = "aten::acosh(Tensor self) -> Tensor",
    FLOATING(acosh),
    .inplace_not_differentiable = true,
    .keep = "self",
    .samples = POSITIVE,
    .waive = "gradient: below 1 there is no value; second: below 1 there is no value",
};
IG_OP(atanh) = {
    .schema = "aten::atanh(Tensor self) -> Tensor",
    FLOATING(atanh),
    .inplace_not_differentiable = true,
    .keep = "self",
    .samples = UNIT,
};
IG_OP(log1p) = {
    .schema = "aten::log1p(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(log1p),
    .keep = "self",
    .samples = POSITIVE,
};
IG_OP(log2) = {
    .schema = "aten::log2(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(log2),
    .keep = "self",
    .samples = POSITIVE,
};
IG_OP(log10) = {
    .schema = "aten::log10(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(log10),
    .keep = "self",
    .samples = POSITIVE,
};
IG_OP(expm1) = {
    .schema = "aten::expm1(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(expm1),
    .keep = "result",
    .samples = ANY,
};
IG_OP(exp2) = {
    .schema = "aten::exp2(Tensor self) -> Tensor",
    FLOATING(exp2),
    .keep = "result",
    .samples = ANY,
};
IG_OP(erf) = {
    .schema = "aten::erf(Tensor self) -> Tensor",
    REAL(erf),
    .keep = "self",
    .samples = ANY,
};
IG_OP(erfc) = {
    .schema = "aten::erfc(Tensor self) -> Tensor",
    REAL(erfc),
    .keep = "self",
    .samples = ANY,
};
IG_OP(erfinv) = {
    .schema = "aten::erfinv(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    REAL(erfinv),
    .keep = "result",
    .samples = UNIT,
};
IG_OP(floor) = {
    .schema = "aten::floor(Tensor self) -> Tensor",
    ROUNDING(floor),
    .samples = ROUNDED,
};
IG_OP(ceil) = {
    .schema = "aten::ceil(Tensor self) -> Tensor",
    ROUNDING(ceil),
    .samples = ROUNDED,
};
IG_OP(trunc) = {
    .schema = "aten::trunc(Tensor self) -> Tensor",
    ROUNDING(trunc),
    .samples = ROUNDED,
};
IG_OP(sign) = {
    .schema = "aten::sign(Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = sign_f32, [IG_F64] = sign_f64, [IG_I64] = sign_i64, [IG_BOOL] = sign_bool},
    .vjp = flat_vjp,
    .keep = "",
    .samples = ANY,
};
IG_OP(isinf) = {
    .schema = "aten::isinf(Tensor self) -> Tensor",
    .shape = ig_shape_compare,
    .tile = {[IG_F32] = isinf_f32,
             [IG_F64] = isinf_f64,
             [IG_C128] = isinf_c128,
             [IG_I64] = never_i64,
             [IG_BOOL] = never_bool},
    .samples = "f32[8]:special | i64[3] | bool[3]",
    .not_differentiable = true,
};
IG_OP(signbit) = {
    .schema = "aten::signbit(Tensor self) -> Tensor",
    .shape = ig_shape_compare,
    .tile = {[IG_F32] = signbit_f32,
             [IG_F64] = signbit_f64,
             [IG_I64] = signbit_i64,
             [IG_BOOL] = never_bool},
    .samples = "f32[3,5] | i64[3] | bool[3]",
    .not_differentiable = true,
};
IG_OP(isposinf) = {
    .schema = "aten::isposinf(Tensor self) -> Tensor",
    .decompose = isposinf_decompose,
    .samples = "f32[8]:special | i64[3]",
};
IG_OP(isneginf) = {
    .schema = "aten::isneginf(Tensor self) -> Tensor",
    .decompose = isneginf_decompose,
    .samples = "f32[8]:special | i64[3]",
};
IG_OP(frac) = {
    .schema = "aten::frac(Tensor self) -> Tensor",
    .decompose = frac_decompose,
    .samples = "f32[3,5] | f32[]",
};
IG_OP(deg2rad) = {
    .schema = "aten::deg2rad(Tensor self) -> Tensor",
    .decompose = deg2rad_decompose,
    .samples = "f32[3,5] | i64[3]",
};
IG_OP(rad2deg) = {
    .schema = "aten::rad2deg(Tensor self) -> Tensor",
    .decompose = rad2deg_decompose,
    .samples = "f32[3,5] | i64[3]",
};
IG_OP(sinc) = {
    .schema = "aten::sinc(Tensor self) -> Tensor",
    .decompose = sinc_decompose,
    .samples = "f32[3,5] | i64[3]",
};
IG_OP(logit) = {
    .schema = "aten::logit(Tensor self, float? eps=None) -> Tensor",
    .decompose = logit_decompose,
    .samples = "f32[3,5]:u | f32[3]:u, 0.3 | f32[]:u",
};
IG_OP(nan_to_num) = {
    .schema =
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
        "neginf=None) -> Tensor",
    .decompose = nan_to_num_decompose,
    .samples = "f32[8] | f32[8]:special | f32[8]:special, 1., 2., 3. | i64[3]",
};

// (y, x) -> g x / (x^2 + y^2), -g y / (x^2 + y^2)
static void atan2_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *y = v->args[0].tensor;
  ig_tensor *x = v->args[1].tensor;
  ig_tensor *a = ig_mul_tensor(c, y, y);
  ig_tensor *b = ig_mul_tensor(c, x, x);
  ig_tensor *r = ig_reciprocal(c, ig_add_tensor(c, a, b));
  r = ig_masked_fill_scalar(c, r, ig_isinf(c, r), ig_of_i64(0));
  ig_tensor *g = ig_mul_tensor(c, v->grad, r);
  IG_GRAD(v, 0) = ig_sum_to(c, ig_mul_tensor(c, g, x), &v->args[0]);
  if (IG_WANTED(v, 1)) {
    ig_tensor *turned = ig_mul_tensor(c, g, ig_neg(c, y));
    IG_GRAD(v, 1) = ig_sum_to(c, turned, &v->args[1]);
  }
}
IG_OP(atan2) = {
    .schema = "aten::atan2(Tensor self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = atan2_f32, [IG_F64] = atan2_f64},
    .promote = IG_PROMOTE_FLOAT,
    .vjp = atan2_vjp,
    .keep = "self, other",
    .samples = "f32[3,5], f32[5] | f32[], f32[2,3] | i64[3], f32[3]",
};
