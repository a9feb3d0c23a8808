// SPDX-License-Identifier: Apache-2.0
// Functions of two operands beyond arithmetic: copysign, fmax, fmin, hypot, gcd,
// lcm, nextafter, xlogy, logaddexp, heaviside, ldexp, float_power.
#include "op/refuse.h"
#include "ops/tile.h"

#define LIBM2(name)                                    \
  TILE2(name##_f32, float, float, name##f(x[i], y[i])) \
  TILE2(name##_f64, double, double, name(x[i], y[i]))
LIBM2(copysign)
LIBM2(hypot)
LIBM2(nextafter)
TILE2(fmax_f32, float, float, fmaxf(x[i], y[i]))
TILE2(fmax_f64, double, double, fmax(x[i], y[i]))
TILE2(fmax_i64, int64_t, int64_t, x[i] > y[i] ? x[i] : y[i])
TRUE_TILE2(fmax_bool, x | y)
TILE2(fmin_f32, float, float, fminf(x[i], y[i]))
TILE2(fmin_f64, double, double, fmin(x[i], y[i]))
TILE2(fmin_i64, int64_t, int64_t, x[i] < y[i] ? x[i] : y[i])
TRUE_TILE2(fmin_bool, x &y)

static int64_t gcd_of(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return (int64_t)x;
}
static int64_t lcm_of(int64_t a, int64_t b) {
  int64_t g = gcd_of(a, b);
  if (g == 0) return 0;
  uint64_t m = (uint64_t)(a / g) * (uint64_t)b;
  return (int64_t)m < 0 ? (int64_t)(0 - m) : (int64_t)m;
}
TILE2(gcd_i64, int64_t, int64_t, gcd_of(x[i], y[i]))
TILE2(lcm_i64, int64_t, int64_t, lcm_of(x[i], y[i]))

static void down(ig_ctx *c, const ig_vjp *v, size_t i, ig_tensor *g) {
  IG_GRAD(v, i) = ig_sum_to(c, g, &v->args[i]);
}

static void copysign_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0)) {
    ig_tensor *x = v->args[0].tensor;
    ig_tensor *ratio = ig_div_tensor(c, v->out, x);
    ratio = ig_masked_fill_scalar(c, ratio, ig_eq_scalar(c, x, ig_of_i64(0)), ig_of_i64(0));
    down(c, v, 0, ig_mul_tensor(c, v->grad, ratio));
  }
  if (v->args[1].kind == IG_KIND_TENSOR) IG_GRAD(v, 1) = ig_zeros_of(c, v->args[1].tensor);
}
static void hypot_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *g = ig_div_tensor(c, v->grad, v->out);
  for (size_t i = 0; i < 2; i++) {
    if (IG_WANTED(v, i)) down(c, v, i, ig_mul_tensor(c, g, v->args[i].tensor));
  }
}
// The chosen operand gets the gradient; the first one when they are equal or the other is NaN.
static void fextreme_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *x = v->args[0].tensor;
  ig_tensor *y = v->args[1].tensor;
  ig_tensor *first = v->op->def->variant ? ig_ge_tensor(c, x, y) : ig_le_tensor(c, x, y);
  first = ig_logical_or(c, first, ig_isnan(c, y));
  ig_value zero = ig_of_i64(0);
  if (IG_WANTED(v, 0)) down(c, v, 0, ig_where_scalarother(c, first, v->grad, zero));
  if (IG_WANTED(v, 1)) down(c, v, 1, ig_where_scalarself(c, first, zero, v->grad));
}

static void integral_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (c->status == IG_OK && !ig_dtype_is_integral(out->dtype)) {
    ig_refuse_dtype(c, op->schema.name, out->dtype);
  }
}

// x log y, 0 where x is 0, NaN where y is
static ig_tensor *x_log(ig_ctx *c, const ig_value *args, bool plus) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  ig_tensor *log = plus ? ig_log1p(c, args[1].tensor) : ig_log(c, args[1].tensor);
  ig_tensor *prod = ig_mul_tensor(c, x, log);
  ig_tensor *out = ig_where_scalarself(c, zero, ig_of_i64(0), prod);
  ig_tensor *nan = ig_isnan(c, args[1].tensor);
  return ig_where_scalarself(c, nan, ig_of_f64(NAN), out);
}
static ig_tensor *xlogy_decompose(ig_ctx *c, const ig_value *args) {
  return x_log(c, args, false);
}
static ig_tensor *xlog1py_decompose(ig_ctx *c, const ig_value *args) {
  return x_log(c, args, true);
}
static ig_tensor *number_tensor(ig_ctx *c, const ig_value *v, const ig_tensor *like) {
  ig_dtype d = ig_promote(c, (ig_value[]){*v, ig_of_tensor((ig_tensor *)like)}, 2);
  return ig_scalar_tensor_with(c, *v, ig_of_dtype(d), ig_none(), ig_of_device(like->device),
                               ig_none());
}
static ig_tensor *xlogy_other(ig_ctx *c, const ig_value *args) {
  ig_value pair[] = {args[0], ig_of_tensor(number_tensor(c, &args[1], args[0].tensor))};
  return ig_xlogy_tensor(c, pair[0].tensor, pair[1].tensor);
}
static ig_tensor *xlogy_self(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = number_tensor(c, &args[0], args[1].tensor);
  return ig_xlogy_tensor(c, x, args[1].tensor);
}

static ig_tensor *xlog1py_other(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = number_tensor(c, &args[1], args[0].tensor);
  return ig_special_xlog1py(c, args[0].tensor, y);
}
static ig_tensor *xlog1py_self(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = number_tensor(c, &args[0], args[1].tensor);
  return ig_special_xlog1py(c, x, args[1].tensor);
}

static bool real_pair(ig_ctx *c, const ig_value *args, const char *name) {
  for (int i = 0; i < 2; i++) {
    ig_dtype d = args[i].tensor->dtype;
    if (ig_dtype_is_float(d) || ig_dtype_is_complex(d)) continue;
    ig_refuse_dtype(c, name, d);
    return false;
  }
  return true;
}
// max + log1p(exp(min - max)); infinities of the same sign stay
static ig_tensor *logadd(ig_ctx *c, const ig_value *args, bool two) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_tensor *ge = ig_ge_tensor(c, x, y);
  ig_tensor *high = ig_where_self(c, ge, x, y);
  ig_tensor *low = ig_where_self(c, ge, y, x);
  // The two messages of PyTorch.
  ig_tensor *wild = two ? ig_isinf(c, x) : ig_logical_not(c, ig_isfinite(c, x));
  ig_tensor *same = ig_logical_and(c, wild, ig_eq_tensor(c, x, y));
  ig_tensor *part = ig_sub_tensor(c, low, high);
  part = ig_log1p(c, two ? ig_exp2(c, part) : ig_exp(c, part));
  if (two) part = ig_mul_f64(c, part, 1.44269504088896340736);
  ig_tensor *sum = ig_add_tensor(c, high, part);
  return ig_where_self(c, same, x, sum);
}
static ig_tensor *logaddexp_decompose(ig_ctx *c, const ig_value *args) {
  if (ig_dtype_is_complex(args[0].tensor->dtype)) {
    ig_tensor *a = ig_exp(c, args[0].tensor);
    return ig_log(c, ig_add_tensor(c, a, ig_exp(c, args[1].tensor)));
  }
  return real_pair(c, args, "logaddexp_cpu") ? logadd(c, args, false) : NULL;
}
static ig_tensor *logaddexp2_decompose(ig_ctx *c, const ig_value *args) {
  return real_pair(c, args, "logaddexp2_cpu") ? logadd(c, args, true) : NULL;
}

static ig_tensor *heaviside_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->dtype != args[1].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "heaviside is not yet implemented for tensors with different dtypes.");
    return NULL;
  }
  if (ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "heaviside is not yet implemented for complex tensors.");
    return NULL;
  }
  ig_tensor *zero = ig_eq_scalar(c, x, ig_of_i64(0));
  ig_tensor *low = ig_lt_scalar(c, x, ig_of_i64(0));
  low = ig_logical_or(c, low, ig_isnan(c, x));
  ig_tensor *step = ig_where_scalar(c, low, ig_of_i64(0), ig_of_i64(1));
  ig_tensor *out = ig_where_self(c, zero, args[1].tensor, step);
  return ig_cast(c, out, x->dtype);
}

static ig_tensor *ldexp_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *power = ig_pow_scalar(c, ig_of_f64(2), args[1].tensor);
  return ig_mul_tensor(c, args[0].tensor, power);
}

// Powers in double precision.
static ig_dtype wide(const ig_value *a, const ig_value *b) {
  const ig_value *v[] = {a, b};
  for (int i = 0; i < 2; i++) {
    bool z = v[i]->kind == IG_KIND_TENSOR ? ig_dtype_is_complex(v[i]->tensor->dtype)
                                          : v[i]->kind == IG_KIND_COMPLEX;
    if (z) return IG_C128;
  }
  return IG_F64;
}
static ig_value wide_number(const ig_value *v) {
  return v->kind == IG_KIND_COMPLEX ? *v : ig_of_f64(ig_value_f64(v));
}
static ig_tensor *wide_tensor(ig_ctx *c, ig_tensor *x, ig_dtype d) {
  return x->dtype == d ? x : ig_to_dtype(c, x, ig_of_dtype(d));
}
static ig_tensor *float_power_tensor_tensor(ig_ctx *c, const ig_value *args) {
  ig_dtype d = wide(&args[0], &args[1]);
  ig_tensor *y = wide_tensor(c, args[1].tensor, d);
  ig_tensor *x = wide_tensor(c, args[0].tensor, d);
  return ig_pow_tensor_tensor(c, x, y);
}
static ig_tensor *float_power_tensor_scalar(ig_ctx *c, const ig_value *args) {
  ig_dtype d = wide(&args[0], &args[1]);
  ig_tensor *x = wide_tensor(c, args[0].tensor, d);
  return ig_pow_tensor_scalar(c, x, wide_number(&args[1]));
}
static ig_tensor *float_power_scalar(ig_ctx *c, const ig_value *args) {
  ig_dtype d = wide(&args[0], &args[1]);
  ig_tensor *y = wide_tensor(c, args[1].tensor, d);
  return ig_pow_scalar(c, wide_number(&args[0]), y);
}
// Distance of two tensors as vectors.
static ig_tensor *dist_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *d = ig_sub_tensor(c, args[0].tensor, args[1].tensor);
  return ig_linalg_vector_norm_with(c, d, args[2], ig_none(), false, ig_none());
}

#define BOTH(name) \
  .shape = ig_shape_pointwise, .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64}
#define EXTREME(name, number)        \
  .shape = ig_shape_pointwise,       \
  .tile = {[IG_F32] = name##_f32,    \
           [IG_F64] = name##_f64,    \
           [IG_I64] = name##_i64,    \
           [IG_BOOL] = name##_bool}, \
  .vjp = fextreme_vjp, .keep = "self, other", .variant = (number)
#define PAIRS "f32[3,5], f32[5] | f32[], f32[2,3] | f32[4,2].T, f32[2,4]"

IG_OP(copysign_tensor) = {
    .schema = "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    BOTH(copysign),
    .promote = IG_PROMOTE_FLOAT,
    .vjp = copysign_vjp,
    .samples = PAIRS,
};
IG_OP(copysign_scalar) = {
    .schema = "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    BOTH(copysign),
    .promote = IG_PROMOTE_FLOAT,
    .vjp = copysign_vjp,
    .operands = 2,
    .samples = "f32[3,5], -2 | i64[3], 1.5",
};
IG_OP(hypot) = {
    .schema = "aten::hypot(Tensor self, Tensor other) -> Tensor",
    BOTH(hypot),
    .vjp = hypot_vjp,
    .samples = PAIRS,
};
IG_OP(nextafter) = {
    .schema = "aten::nextafter(Tensor self, Tensor other) -> Tensor",
    BOTH(nextafter),
    .samples = PAIRS,
    .vjp = ig_vjp_refuse,
    .keep = "",
};
IG_OP(fmax) = {
    .schema = "aten::fmax(Tensor self, Tensor other) -> Tensor",
    EXTREME(fmax, 1),
    .samples = PAIRS,
};
IG_OP(fmin) = {
    .schema = "aten::fmin(Tensor self, Tensor other) -> Tensor",
    EXTREME(fmin, 0),
    .samples = PAIRS,
};
IG_OP(gcd) = {
    .schema = "aten::gcd(Tensor self, Tensor other) -> Tensor",
    .shape = integral_shape,
    .tile = {[IG_I64] = gcd_i64},
    .samples = "i64[3,5], i64[5] | u8[3], u8[3]",
};
IG_OP(lcm) = {
    .schema = "aten::lcm(Tensor self, Tensor other) -> Tensor",
    .shape = integral_shape,
    .tile = {[IG_I64] = lcm_i64},
    .samples = "i64[3,5], i64[5] | u8[3], u8[3]",
};
IG_OP(xlogy_tensor) = {
    .schema = "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = xlogy_decompose,
    .samples = "f32[3,5], f32[5]:+ | i64[3], i64[3] | f32[], f32[2,3]:+",
};
IG_OP(xlogy_scalar_other) = {
    .schema = "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    .decompose = xlogy_other,
    .samples = "f32[3,5], 2 | f32[3], 0.5",
};
IG_OP(xlogy_scalar_self) = {
    .schema = "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    .decompose = xlogy_self,
    .samples = "2, f32[3,5]:+ | 0.5, f32[3]:+",
};
IG_OP(special_xlog1py) = {
    .schema = "aten::special_xlog1py(Tensor self, Tensor other) -> Tensor",
    .decompose = xlog1py_decompose,
    .samples = "f32[3,5], f32[5]:+ | i64[3], i64[3] | f32[], f32[2,3]:+",
};
IG_OP(special_xlog1py_other_scalar) = {
    .schema = "aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = xlog1py_other,
    .samples = "f32[3,5], 2 | f32[3], 0.5",
};
IG_OP(special_xlog1py_self_scalar) = {
    .schema = "aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    .decompose = xlog1py_self,
    .samples = "2, f32[3,5]:+ | 0.5, f32[3]:+",
};
IG_OP(logaddexp) = {
    .schema = "aten::logaddexp(Tensor self, Tensor other) -> Tensor",
    .decompose = logaddexp_decompose,
    .samples = PAIRS,
};
IG_OP(logaddexp2) = {
    .schema = "aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
    .decompose = logaddexp2_decompose,
    .samples = PAIRS,
};
IG_OP(heaviside) = {
    .schema = "aten::heaviside(Tensor self, Tensor values) -> Tensor",
    .decompose = heaviside_decompose,
    .samples = "f32[3,5], f32[5] | f32[], f32[3] | i64[4], i64[4]",
};
IG_OP(ldexp_tensor) = {
    .schema = "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = ldexp_decompose,
    .samples = "f32[3,5], f32[5] | f32[3], f32[]",
};
IG_OP(float_power_tensor_tensor) = {
    .schema = "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    .decompose = float_power_tensor_tensor,
    .samples = "f32[3,5]:+, f32[5] | i64[3], f32[3]",
};
IG_OP(float_power_tensor_scalar) = {
    .schema = "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    .decompose = float_power_tensor_scalar,
    .samples = "f32[3,5]:+, 2 | i64[3], 0.5",
};
IG_OP(float_power_scalar) = {
    .schema = "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    .decompose = float_power_scalar,
    .samples = "2, f32[3,5] | 0.5, i64[3]",
};
IG_OP(dist) = {
    .schema = "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = dist_decompose,
    .samples = "f32[3,5], f32[3,5] | f32[3], f32[3], 1 | f32[3,5], f32[5], 3",
};
