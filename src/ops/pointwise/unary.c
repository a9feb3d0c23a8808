// SPDX-License-Identifier: Apache-2.0
// Functions of one operand. Integers become the default float dtype where the result is not an
// integer.
#include "kernels/vmath.h"
#include "ops/lower.h"
#include "ops/tile.h"
#include "tensor/copy.h"

TILE1(exp_f32, float, float, ig_exp_f32(x[i]))
TILE1(exp_f64, double, double, ig_exp_f64(x[i]))
TILE1(exp_c128, ig_cd, ig_cd, cexp(x[i]))
TILE1(log_f32, float, float, ig_log_f32(x[i]))
TILE1(log_f64, double, double, ig_log_f64(x[i]))
TILE1(log_c128, ig_cd, ig_cd, clog(x[i]))
TILE1(sqrt_f32, float, float, sqrtf(x[i]))
TILE1(sqrt_f64, double, double, sqrt(x[i]))
TILE1(sqrt_c128, ig_cd, ig_cd, csqrt(x[i]))
TILE1(rsqrt_f32, float, float, 1.0F / sqrtf(x[i]))
TILE1(rsqrt_f64, double, double, 1.0 / sqrt(x[i]))
TILE1(rsqrt_c128, ig_cd, ig_cd, 1.0 / csqrt(x[i]))
TILE1(reciprocal_f32, float, float, 1.0F / x[i])
TILE1(reciprocal_f64, double, double, 1.0 / x[i])
TILE1(reciprocal_c128, ig_cd, ig_cd, 1.0 / x[i])
TILE1(sin_f64, double, double, sin(x[i]))
TILE1(sin_c128, ig_cd, ig_cd, csin(x[i]))
TILE1(cos_f64, double, double, cos(x[i]))
TILE1(cos_c128, ig_cd, ig_cd, ccos(x[i]))
IG_CLONES static void sin_f32(const ig_tile_args *t) {
  ig_sin_block_f32((int64_t)t->n, t->in[0], t->out);
}
IG_CLONES static void cos_f32(const ig_tile_args *t) {
  ig_cos_block_f32((int64_t)t->n, t->in[0], t->out);
}
TILE1(neg_f32, float, float, -x[i])
TILE1(neg_f64, double, double, -x[i])
TILE1(neg_i64, uint64_t, uint64_t, 0 - x[i])
TILE1(neg_c64, ig_cf, ig_cf, -x[i])
TILE1(neg_c128, ig_cd, ig_cd, -x[i])
TILE1(abs_f32, float, float, fabsf(x[i]))
TILE1(abs_f64, double, double, fabs(x[i]))
TILE1(abs_i64, int64_t, int64_t, x[i] < 0 ? (int64_t)(0 - (uint64_t)x[i]) : x[i])
TILE1(sgn_f32, float, float, (x[i] > 0) - (x[i] < 0))
TILE1(sgn_f64, double, double, (x[i] > 0) - (x[i] < 0))
TILE1(sgn_i64, int64_t, int64_t, (x[i] > 0) - (x[i] < 0))
TRUE_TILE1(sgn_bool, x)
TILE1(sgn_c128, ig_cd, ig_cd, x[i] == 0 ? 0 : x[i] / cabs(x[i]))
TILE1(round_f32, float, float, nearbyintf(x[i]))
TILE1(round_f64, double, double, nearbyint(x[i]))
TILE1(same_i64, int64_t, int64_t, x[i])
TILE1(not_i64, int64_t, int64_t, ~x[i])
TRUE_TILE1(not_bool, !x)
TILE1(isnan_f32, float, bool, x[i] != x[i])
TILE1(isnan_f64, double, bool, x[i] != x[i])
TILE1(isnan_c128, ig_cd, bool, creal(x[i]) != creal(x[i]) || cimag(x[i]) != cimag(x[i]))
TILE1(false_i64, int64_t, bool, x[i] != x[i])
TILE1(false_bool, uint8_t, bool, x[i] != x[i])
TILE1(isfinite_f32, float, bool, fabsf(x[i]) <= 3.40282347e38F)
TILE1(isfinite_f64, double, bool, fabs(x[i]) <= 1.7976931348623157e308)
TILE1(isfinite_c128, ig_cd, bool, isfinite(creal(x[i])) && isfinite(cimag(x[i])))
TILE1(true_i64, int64_t, bool, x[i] == x[i])
TILE1(true_bool, uint8_t, bool, x[i] == x[i])

// abs of complex is real: the only tile whose result has another type than its operands.
static void abs_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (out->dtype == IG_BOOL) {
    ig_fail_text(c, IG_UNSUPPORTED, "\"abs_cpu\" not implemented for 'Bool'");
  }
  out->dtype = ig_to_real(out->dtype);
}

static void neg_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (args[0].tensor->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME,
                 "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                 "to invert a mask, use the `~` or `logical_not()` operator instead.");
  }
  ig_shape_pointwise(c, op, args, out);
}

static void not_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_dtype d = args[0].tensor->dtype;
  if (d != IG_BOOL && !ig_dtype_is_integral(d)) {
    ig_fail_text(c, IG_BAD_TYPE,
                 "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
  }
  ig_shape_pointwise(c, op, args, out);
}

static void exp_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_conj_of(c, v->out));
}
static void log_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_div_tensor(c, v->grad, ig_conj_of(c, v->args[0].tensor));
}
static void sqrt_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *twice = ig_mul_f64(c, ig_conj_of(c, v->out), 2);
  IG_GRAD(v, 0) = ig_div_tensor(c, v->grad, twice);
}
static void rsqrt_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *cube = ig_pow_tensor_scalar(c, v->out, ig_of_i64(3));
  ig_tensor *g = ig_mul_scalar(c, v->grad, ig_of_f64(-0.5));
  IG_GRAD(v, 0) = ig_mul_tensor(c, g, ig_conj_of(c, cube));
}
static void reciprocal_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *square = ig_mul_tensor(c, v->out, v->out);
  ig_tensor *g = ig_neg(c, v->grad);
  IG_GRAD(v, 0) = ig_mul_tensor(c, g, ig_conj_of(c, square));
}
static void sin_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *slope = ig_cos(c, v->args[0].tensor);
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_conj_of(c, slope));
}
static void cos_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *slope = ig_sin(c, v->args[0].tensor);
  slope = ig_neg(c, slope);
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, ig_conj_of(c, slope));
}
static void neg_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_neg(c, v->grad);
}
static void abs_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *sign = ig_sgn(c, v->args[0].tensor);
  IG_GRAD(v, 0) = ig_mul_tensor(c, v->grad, sign);
}
// sgn(z) = z / |z| only changes orthogonally to z: (g - s Re(conj(s) g)) / |z|. For real operands
// that is 0.
static void sgn_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *self = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  if (!ig_dtype_is_complex(self->dtype)) {
    IG_GRAD(v, 0) = ig_zeros_of(c, v->grad);
    return;
  }
  ig_tensor *s = ig_sgn(c, self);
  ig_tensor *along = ig_mul_tensor(c, v->grad, ig_conj_of(c, s));
  along = ig_mul_tensor(c, s, ig_cast(c, along, ig_to_real(self->dtype)));
  ig_tensor *size = ig_abs(c, self);
  ig_tensor *across = ig_div_tensor(c, ig_sub_tensor(c, v->grad, along), size);
  ig_tensor *zero = ig_eq_scalar(c, size, ig_of_i64(0));
  IG_GRAD(v, 0) = ig_masked_fill_scalar(c, across, zero, ig_of_i64(0));
}
static void flat_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_zeros_of(c, v->grad);
}

// abs of complex numbers: decomposed, so that tiles keep one type.
static void abs_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *self = args[0].tensor;
  if (!ig_dtype_is_complex(self->dtype)) {
    ig_pointwise_run(c, op, args, outs[0].tensor);
    return;
  }
  ig_tensor *out = outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(self);
  ig_cd *z = ig_scope_array(c, n, sizeof *z);
  double *r = ig_scope_array(c, n, sizeof *r);
  if (!z || !r) return;
  ig_tensor_read(self, IG_C128, z);
  for (size_t i = 0; i < n; i++) r[i] = cabs(z[i]);
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < self->ndim; d++) sizes[d] = ig_sizes(self)[d].value;
  ig_foreign memory = {.data = r, .bytes = ig_mem_mul(n, sizeof *r)};
  ig_tensor *dense = ig_tensor_wrap(c, IG_F64, sizes, self->ndim, &memory);
  if (dense) ig_tensor_copy(out, dense);
}

// round to `decimals` places, halves to even after scaling.
static ig_tensor *round_decimals(ig_ctx *c, const ig_value *args) {
  int64_t decimals = ig_value_i64(c, &args[1]);
  if (decimals == 0) return ig_round(c, args[0].tensor);
  double scale = pow(10, fabs((double)decimals));
  ig_tensor *x =
      decimals < 0 ? ig_div_f64(c, args[0].tensor, scale) : ig_mul_f64(c, args[0].tensor, scale);
  x = ig_round(c, x);
  return decimals < 0 ? ig_mul_f64(c, x, scale) : ig_div_f64(c, x, scale);
}

#define FLOATING(name)                                                             \
  .shape = ig_shape_pointwise,                                                     \
  .tile = {[IG_F32] = name##_f32, [IG_F64] = name##_f64, [IG_C128] = name##_c128}, \
  .promote = IG_PROMOTE_FLOAT

IG_OP(exp) = {
    .schema = "aten::exp(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(exp),
    .vjp = exp_vjp,
    .keep = "result",
    .samples = "f32[3,5] | f32[] | f32[0] | i64[3] | f32[4,2].T | f32[8]:special | bool[2]",
};
IG_OP(log) = {
    .schema = "aten::log(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(log),
    .vjp = log_vjp,
    .keep = "self",
    .samples = "f32[3,5]:+ | f32[]:+ | i64[3]:+ | f32[8]:special",
};
IG_OP(sqrt) = {
    .schema = "aten::sqrt(Tensor self) -> Tensor",
    FLOATING(sqrt),
    .vjp = sqrt_vjp,
    .keep = "result",
    .samples = "f32[3,5]:+ | f32[]:+ | i64[3]:+ | f32[8]:special",
};
IG_OP(rsqrt) = {
    .schema = "aten::rsqrt(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(rsqrt),
    .vjp = rsqrt_vjp,
    .keep = "result",
    .samples = "f32[3,5]:+ | f32[]:+ | i64[3]:+ | f32[8]:special",
};
IG_OP(reciprocal) = {
    .schema = "aten::reciprocal(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    FLOATING(reciprocal),
    .vjp = reciprocal_vjp,
    .keep = "result",
    .samples = "f32[3,5]:+ | f32[]:+ | i64[3]:+ | f32[8]:special",
};
IG_OP(sin) = {
    .schema = "aten::sin(Tensor self) -> Tensor",
    FLOATING(sin),
    .vjp = sin_vjp,
    .keep = "self",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(cos) = {
    .schema = "aten::cos(Tensor self) -> Tensor",
    FLOATING(cos),
    .vjp = cos_vjp,
    .keep = "self",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(neg) = {
    .schema = "aten::neg(Tensor self) -> Tensor",
    .shape = neg_shape,
    .tile = {[IG_F32] = neg_f32,
             [IG_F64] = neg_f64,
             [IG_I64] = neg_i64,
             [IG_C64] = neg_c64,
             [IG_C128] = neg_c128},
    .vjp = neg_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(abs) = {
    .schema = "aten::abs(Tensor self) -> Tensor",
    .shape = abs_shape,
    .tile = {[IG_F32] = abs_f32, [IG_F64] = abs_f64, [IG_I64] = abs_i64},
    .kernel = abs_kernel,
    .vjp = abs_vjp,
    .keep = "self",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(sgn) = {
    .schema = "aten::sgn(Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = sgn_f32,
             [IG_F64] = sgn_f64,
             [IG_I64] = sgn_i64,
             [IG_BOOL] = sgn_bool,
             [IG_C128] = sgn_c128},
    .vjp = sgn_vjp,
    .keep = "self",
    .decompose = ig_lower_sgn,
    .samples = "f32[3,5] | f32[] | i64[3] | bool[2]",
};
IG_OP(round) = {
    .schema = "aten::round(Tensor self) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = round_f32, [IG_F64] = round_f64, [IG_I64] = same_i64},
    .vjp = flat_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[] | i64[3] | f32[8]:special",
};
IG_OP(round_decimals) = {
    .schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
    .decompose = round_decimals,
    .samples = "f32[3,5], decimals=1 | f32[3], decimals=0 | f32[3], decimals=-1",
};
IG_OP(bitwise_not) = {
    .schema = "aten::bitwise_not(Tensor self) -> Tensor",
    .shape = not_shape,
    .tile = {[IG_I64] = not_i64, [IG_BOOL] = not_bool},
    .samples = "i64[3] | bool[3] | u8[2]",
};
IG_OP(logical_not) = {
    .schema = "aten::logical_not(Tensor self) -> Tensor",
    .shape = ig_shape_compare,
    .tile = {[IG_BOOL] = not_bool},
    .promote = IG_PROMOTE_BOOL,
    .samples = "f32[3] | i64[3] | bool[3]",
    .not_differentiable = true,
};
IG_OP(isnan) = {
    .schema = "aten::isnan(Tensor self) -> Tensor",
    .shape = ig_shape_compare,
    .tile = {[IG_F32] = isnan_f32,
             [IG_F64] = isnan_f64,
             [IG_C128] = isnan_c128,
             [IG_I64] = false_i64,
             [IG_BOOL] = false_bool},
    .samples = "f32[8]:special | i64[3] | bool[3]",
    .not_differentiable = true,
};
IG_OP(isfinite) = {
    .schema = "aten::isfinite(Tensor self) -> Tensor",
    .shape = ig_shape_compare,
    .tile = {[IG_F32] = isfinite_f32,
             [IG_F64] = isfinite_f64,
             [IG_C128] = isfinite_c128,
             [IG_I64] = true_i64,
             [IG_BOOL] = true_bool},
    .decompose = ig_lower_isfinite,
    .samples = "f32[8]:special | i64[3] | bool[3]",
    .not_differentiable = true,
};
