// SPDX-License-Identifier: Apache-2.0
// pow and clamp: operands that may be numbers determine the implementation.
#include "kernels/vmath.h"
#include "ops/tile.h"

static int64_t int_pow(int64_t base, int64_t exponent) {
  uint64_t result = 1;
  uint64_t square = (uint64_t)base;
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  for (; exponent; exponent >>= 1, square *= square) {
    if (exponent & 1) result *= square;
  }
  return (int64_t)result;
}

TILE2(pow_any_f32, float, float, powf(x[i], y[i]))
TILE2(pow_any_f64, double, double, pow(x[i], y[i]))
TILE1(square_f32, float, float, x[i] * x[i])
TILE1(square_f64, double, double, x[i] * x[i])
TILE1(cube_f32, float, float, x[i] * x[i] * x[i])
TILE1(cube_f64, double, double, x[i] * x[i] * x[i])
TILE1(root_f32, float, float, sqrtf(x[i]))
TILE1(root_f64, double, double, sqrt(x[i]))
TILE1(inverse_f32, float, float, 1 / x[i])
TILE1(inverse_f64, double, double, 1 / x[i])
TILE2(pow_i64, int64_t, int64_t, int_pow(x[i], y[i]))
TILE2(pow_c128, ig_cd, ig_cd, y[i] == 2 ? x[i] * x[i] : cpow(x[i], y[i]))

static void pow_f32(const ig_tile_args *t) {
  const ig_value *e = &t->args[1];
  (ig_value_is(e, 2)     ? square_f32
   : ig_value_is(e, 3)   ? cube_f32
   : ig_value_is(e, 0.5) ? root_f32
   : ig_value_is(e, -1)  ? inverse_f32
                         : pow_any_f32)(t);
}
static void pow_f64(const ig_tile_args *t) {
  const ig_value *e = &t->args[1];
  (ig_value_is(e, 2)     ? square_f64
   : ig_value_is(e, 3)   ? cube_f64
   : ig_value_is(e, 0.5) ? root_f64
   : ig_value_is(e, -1)  ? inverse_f64
                         : pow_any_f64)(t);
}

static void pow_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  bool whole = out->dtype == IG_BOOL || ig_dtype_is_integral(out->dtype);
  if (whole && args[1].kind == IG_KIND_INT && args[1].i.value < 0) {  // concrete: an exponent
    ig_fail_text(c, IG_RUNTIME, "Integers to negative integer powers are not allowed.");
  }
}

// d self: g * e * self^(e-1), 0 where e is 0.
static ig_tensor *pow_grad_self(ig_ctx *c, const ig_vjp *v) {
  const ig_value *e = &v->args[1];
  ig_tensor *self = v->args[0].tensor;
  if (e->kind != IG_KIND_TENSOR) {
    if (ig_value_is(e, 0)) return ig_zeros_of(c, self);
    bool whole = e->kind == IG_KIND_INT && e->i.expr;
    ig_value less = e->kind == IG_KIND_COMPLEX ? ig_of_complex(e->z.re - 1, e->z.im)
                    : whole                    ? ig_of_int(ig_int_sub(c, e->i, ig_const(1)))
                                               : ig_of_f64(ig_value_f64(e) - 1);
    ig_value factor = e->kind == IG_KIND_COMPLEX || whole ? *e : ig_of_f64(ig_value_f64(e));
    ig_tensor *p = ig_pow_tensor_scalar(c, self, less);
    p = ig_mul_scalar(c, p, factor);
    return ig_mul_tensor(c, v->grad, ig_conj_of(c, p));
  }
  ig_tensor *less = ig_add_f64(c, e->tensor, -1);
  ig_tensor *p = ig_pow_tensor_tensor(c, self, less);
  p = ig_mul_tensor(c, p, e->tensor);
  ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, p));
  ig_tensor *none = ig_eq_scalar(c, e->tensor, ig_of_i64(0));
  return ig_masked_fill_scalar(c, g, none, ig_of_i64(0));
}

// d exponent: g * result * log(self), 0 where self is 0 and the exponent is not negative.
static ig_tensor *pow_grad_exponent(ig_ctx *c, const ig_vjp *v) {
  const ig_value *base = &v->args[0];
  ig_tensor *exponent = v->args[1].tensor;
  if (base->kind != IG_KIND_TENSOR) {
    double b = ig_value_f64(base);
    ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, v->out));
    if (b != 0) return ig_mul_f64(c, g, log(b));
    ig_tensor *calm = ig_ge_scalar(c, exponent, ig_of_i64(0));
    g = ig_mul_f64(c, g, log(b));
    return ig_masked_fill_scalar(c, g, calm, ig_of_i64(0));
  }
  ig_tensor *slope = ig_mul_tensor(c, v->out, ig_log(c, base->tensor));
  ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, slope));
  ig_tensor *zero = ig_eq_scalar(c, base->tensor, ig_of_i64(0));
  if (!ig_dtype_is_complex(exponent->dtype)) {
    ig_tensor *calm = ig_ge_scalar(c, exponent, ig_of_i64(0));
    zero = ig_logical_and(c, zero, calm);
  }
  return ig_masked_fill_scalar(c, g, zero, ig_of_i64(0));
}

static void pow_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 1)) IG_GRAD(v, 1) = ig_sum_to(c, pow_grad_exponent(c, v), &v->args[1]);
  if (IG_WANTED(v, 0)) IG_GRAD(v, 0) = ig_sum_to(c, pow_grad_self(c, v), &v->args[0]);
}

#define CLAMP(name, type, broken)                          \
  IG_CLONES static void name(const ig_tile_args *t) {      \
    const type *x = t->in[0];                              \
    const type *lo = t->in[1];                             \
    const type *hi = t->in[2];                             \
    const bool low = t->args[1].kind != IG_KIND_NONE;      \
    const bool high = t->args[2].kind != IG_KIND_NONE;     \
    type *o = t->out;                                      \
    for (size_t i = 0; i < t->n; i++) {                    \
      type r = x[i];                                       \
      if (low && (r < lo[i] || broken(lo[i]))) r = lo[i];  \
      if (high && (r > hi[i] || broken(hi[i]))) r = hi[i]; \
      o[i] = x[i] != x[i] ? x[i] : r;                      \
    }                                                      \
  }
#define IS_NAN(v) ((v) != (v))
#define NEVER(v) ((void)(v), false)
CLAMP(clamp_f32, float, IS_NAN)
CLAMP(clamp_f64, double, IS_NAN)
CLAMP(clamp_i64, int64_t, NEVER)

// One-sided with bool tensors it is the maximum or the minimum.
static void clamp_bool(const ig_tile_args *t) {
  bool low = t->args[1].kind != IG_KIND_NONE;
  const uint8_t *x = t->in[0];  // any byte but 0 is true
  const uint8_t *y = t->in[low ? 1 : 2];
  bool *o = t->out;
  for (size_t i = 0; i < t->n; i++) o[i] = low ? x[i] || y[i] : x[i] && y[i];
}

static void clamp_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (args[1].kind == IG_KIND_NONE && args[2].kind == IG_KIND_NONE) {
    ig_fail_text(c, IG_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
  }
  ig_shape_pointwise(c, op, args, out);
  bool both = args[1].kind != IG_KIND_NONE && args[2].kind != IG_KIND_NONE;
  bool truth = out->dtype == IG_BOOL && (both || !op->def->tile[IG_BOOL]);
  if (truth || ig_dtype_is_complex(out->dtype)) {
    ig_fail_text(c, IG_UNSUPPORTED, "clamp is not supported for %s",
                 out->dtype == IG_BOOL ? "bool" : "complex types");
  }
}

// Comparison of a tensor with a bound of either kind.
static ig_tensor *within(ig_ctx *c, ig_tensor *x, const ig_value *bound, bool lower) {
  if (bound->kind == IG_KIND_TENSOR) {
    return lower ? ig_ge_tensor(c, x, bound->tensor) : ig_le_tensor(c, x, bound->tensor);
  }
  return lower ? ig_ge_scalar(c, x, *bound) : ig_le_scalar(c, x, *bound);
}

static void clamp_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *self = v->args[0].tensor;
  const ig_value *lo = &v->args[1];
  const ig_value *hi = &v->args[2];
  ig_tensor *above = lo->kind == IG_KIND_NONE ? NULL : within(c, self, lo, true);
  ig_tensor *below = hi->kind == IG_KIND_NONE ? NULL : within(c, self, hi, false);
  if (IG_WANTED(v, 0)) {
    ig_tensor *inside = above && below ? ig_logical_and(c, above, below) : above ? above : below;
    ig_tensor *outside = ig_logical_not(c, inside);
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, outside, ig_of_i64(0));
    IG_GRAD(v, 0) = ig_sum_to(c, g, &v->args[0]);
  }
  if (above &&
      IG_WANTED(
          v,
          1)) {  // the lower bound is the result where self is below it and it is the smaller bound
    ig_tensor *hidden = above;
    if (below) hidden = ig_logical_or(c, hidden, ig_ge_tensor(c, lo->tensor, hi->tensor));
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, hidden, ig_of_i64(0));
    IG_GRAD(v, 1) = ig_sum_to(c, g, lo);
  }
  if (below && IG_WANTED(v, 2)) {
    ig_tensor *hidden = below;
    if (above) hidden = ig_logical_and(c, hidden, ig_le_tensor(c, lo->tensor, hi->tensor));
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, hidden, ig_of_i64(0));
    IG_GRAD(v, 2) = ig_sum_to(c, g, hi);
  }
}

static ig_tensor *clamp_min_decompose(ig_ctx *c, const ig_value *args) {
  unsigned id = args[1].kind == IG_KIND_TENSOR ? IG_ID_CLAMP_TENSOR : IG_ID_CLAMP;
  return ig_call_id(c, id, (ig_value[]){args[0], args[1], ig_none()}, 3);
}
static ig_tensor *clamp_max_decompose(ig_ctx *c, const ig_value *args) {
  unsigned id = args[1].kind == IG_KIND_TENSOR ? IG_ID_CLAMP_TENSOR : IG_ID_CLAMP;
  return ig_call_id(c, id, (ig_value[]){args[0], ig_none(), args[1]}, 3);
}

#define POW_TILES \
  .tile = {[IG_F32] = pow_f32, [IG_F64] = pow_f64, [IG_I64] = pow_i64, [IG_C128] = pow_c128}
#define CLAMP_TILES .tile = {[IG_F32] = clamp_f32, [IG_F64] = clamp_f64, [IG_I64] = clamp_i64}

IG_OP(pow_tensor_tensor) = {
    .schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = pow_shape,
    POW_TILES,
    .vjp = pow_vjp,
    .samples = "f32[3,5]:+, f32[5] | i64[3], i64[3]:<4 | f32[3]:+, i64[3]:<4",
};
IG_OP(pow_tensor_scalar) = {
    .schema = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = pow_shape,
    POW_TILES,
    .operands = 2,
    .vjp = pow_vjp,
    .keep = "self",
    .samples =
        "f32[3,5], 2 | f32[3,5], 3 | f32[3]:+, 0.5 | f32[3]:+, -1 | f32[3]:+, 1.7 | "
        "i64[3], 2 | i64[3]:+, 0.5 | f32[3], 0",
};
IG_OP(pow_scalar) = {
    .schema = "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .shape = pow_shape,
    POW_TILES,
    .operands = 2,
    .vjp = pow_vjp,
    .keep = "exponent, result",
    .samples = "2, f32[3,5] | 2, i64[3]:<5 | 0.5, f32[3]",
};
IG_OP(clamp) = {
    .schema = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    .quantized = IG_QUANT_FLOAT,
    .shape = clamp_shape,
    CLAMP_TILES,
    .operands = 3,
    .vjp = clamp_vjp,
    .keep = "self",
    .samples =
        "f32[3,5], -0.5, 0.5 | f32[3,5], 0 | f32[3], None, 0.3 | i64[3], 0, 2 | "
        "f32[8]:special, -1, 1 | i64[3], 0.5",
};
IG_OP(clamp_tensor) = {
    .schema = "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    .shape = clamp_shape,
    .tile =
        {[IG_F32] = clamp_f32, [IG_F64] = clamp_f64, [IG_I64] = clamp_i64, [IG_BOOL] = clamp_bool},
    .vjp = clamp_vjp,
    .samples = "f32[3,5], f32[5]:s, f32[3,1]:+ | f32[3], None, f32[3] | f32[3], f32[]",
};
IG_OP(clamp_min) = {
    .schema = "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
    .decompose = clamp_min_decompose,
    .samples = "f32[3,5], 0 | i64[3], 1",
};
IG_OP(clamp_min_tensor) = {
    .schema = "aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    .decompose = clamp_min_decompose,
    .samples = "f32[3,5], f32[5]",
};
IG_OP(clamp_max) = {
    .schema = "aten::clamp_max(Tensor self, Scalar max) -> Tensor",
    .decompose = clamp_max_decompose,
    .samples = "f32[3,5], 0 | i64[3], 1",
};
IG_OP(clamp_max_tensor) = {
    .schema = "aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    .decompose = clamp_max_decompose,
    .samples = "f32[3,5], f32[5]",
};
