// SPDX-License-Identifier: Apache-2.0
// Weighted sums in one pass: lerp, addcmul, addcdiv.
#define TILE_CLONES IG_CLONES_NARROW  // memory-bound loops
#include "op/refuse.h"
#include "ops/tile.h"

// Interpolates between x and y, from the nearer end. Both choices are selections, not branches.
#define LERP(name, type, size)                            \
  static inline type name##_one(type x, type y, type w) { \
    bool far = size(w) >= (type)0.5;                      \
    type base = far ? y : x;                              \
    type step = far ? w - 1 : w;                          \
    return base + step * (y - x);                         \
  }                                                       \
  TILE3(name, type, type, name##_one(x[i], y[i], z[i]))
LERP(lerp_f32, float, fabsf)
LERP(lerp_f64, double, fabs)
static inline ig_cd lerp_c128_one(ig_cd x, ig_cd y, ig_cd w) {
  return cabs(w) >= 0.5 ? y + (w - 1) * (y - x) : x + w * (y - x);
}
TILE3(lerp_c128, ig_cd, ig_cd, lerp_c128_one(x[i], y[i], z[i]))

#define LERP_BY(name, type, read)                                       \
  TILE_CLONES static void name##_by(const ig_tile_args *t) {            \
    const type *x = t->in[0];                                           \
    const type *y = t->in[1];                                           \
    const type w = (type)read(&t->args[2]);                             \
    type *o = t->out;                                                   \
    for (size_t i = 0; i < t->n; i++) o[i] = name##_one(x[i], y[i], w); \
  }
LERP_BY(lerp_f32, float, ig_value_f64)
LERP_BY(lerp_f64, double, ig_value_f64)
LERP_BY(lerp_c128, ig_cd, ig_number_cd)

// x + value * y * z, x + value * y / z
#define WEIGHED(name, type, read, op)                                     \
  TILE_CLONES static void name(const ig_tile_args *t) {                   \
    const type *x = t->in[0];                                             \
    const type *y = t->in[1];                                             \
    const type *z = t->in[2];                                             \
    const type value = (type)read(&t->args[3]);                           \
    type *o = t->out;                                                     \
    for (size_t i = 0; i < t->n; i++) o[i] = x[i] + value * y[i] op z[i]; \
  }
WEIGHED(addcmul_f32, float, ig_value_f64, *)
WEIGHED(addcmul_f64, double, ig_value_f64, *)
WEIGHED(addcmul_i64, uint64_t, ig_number_i64, *)
WEIGHED(addcmul_c128, ig_cd, ig_number_cd, *)
WEIGHED(addcdiv_f32, float, ig_value_f64, /)
WEIGHED(addcdiv_f64, double, ig_value_f64, /)
WEIGHED(addcdiv_c128, ig_cd, ig_number_cd, /)

static ig_tensor *lerp(ig_ctx *c, ig_tensor *x, ig_tensor *y, ig_tensor *w) {
  ig_tensor *far = ig_ge_scalar(c, ig_abs(c, w), ig_of_f64(0.5));
  ig_value one = ig_of_i64(1);
  ig_tensor *weight = ig_where_self(c, far, ig_sub_value(c, w, &one), w);
  ig_tensor *base = ig_where_self(c, far, y, x);
  ig_tensor *span = ig_sub_tensor(c, y, x);
  ig_tensor *step = ig_mul_tensor(c, weight, span);
  return ig_add_tensor(c, step, base);
}
static bool lerp_dtypes(ig_ctx *c, const ig_tensor *x, const ig_value *other, const char *what) {
  if (other->kind != IG_KIND_TENSOR || other->tensor->dtype == x->dtype) return true;
  ig_fail_text(c, IG_RUNTIME, "expected dtype %s for `%s` but got dtype %s",
               ig_dtype_text(x->dtype), what, ig_dtype_text(other->tensor->dtype));
  return false;
}
static bool lerp_kind(ig_ctx *c, ig_dtype d) {
  if (ig_dtype_is_float(d) || ig_dtype_is_complex(d)) return true;
  ig_refuse_dtype(c, "lerp_kernel", d);
  return false;
}
static bool lerp_fits(ig_ctx *c, const ig_value *args) {
  const ig_tensor *x = args[0].tensor;
  return lerp_dtypes(c, x, &args[1], "end") && lerp_dtypes(c, x, &args[2], "weight") &&
         lerp_kind(c, x->dtype);
}
static void lerp_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (lerp_fits(c, args)) ig_shape_pointwise(c, op, args, out);
}
static ig_tensor *lerp_tensor(ig_ctx *c, const ig_value *args) {
  if (!lerp_fits(c, args)) return NULL;
  return lerp(c, args[0].tensor, args[1].tensor, args[2].tensor);
}
static ig_tensor *lerp_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!lerp_fits(c, args)) return NULL;
  ig_tensor *w = ig_new_full_with(c, x, ig_of_ints(NULL, 0), args[2], ig_none(), ig_none(),
                                  ig_none(), ig_none());
  return lerp(c, x, args[1].tensor, w);
}

static void lerp_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_value w = v->args[2];
  if (w.kind == IG_KIND_TENSOR) w.tensor = ig_conj_of(c, w.tensor);
  if (w.kind == IG_KIND_COMPLEX) w.z.im = -w.z.im;
  if (IG_WANTED(v, 0)) {
    ig_tensor *part = ig_mul_value(c, v->grad, &w);
    IG_GRAD(v, 0) = ig_sum_to(c, ig_sub_tensor(c, v->grad, part), &v->args[0]);
  }
  if (IG_WANTED(v, 1)) {
    IG_GRAD(v, 1) = ig_sum_to(c, ig_mul_value(c, v->grad, &w), &v->args[1]);
  }
  if (w.kind == IG_KIND_TENSOR && IG_WANTED(v, 2)) {
    ig_tensor *span = ig_sub_tensor(c, v->args[1].tensor, v->args[0].tensor);
    ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, span));
    IG_GRAD(v, 2) = ig_sum_to(c, g, &v->args[2]);
  }
}

// The gradient times the conjugate of t, summed to what argument i has.
static void weigh_grad(ig_ctx *c, const ig_vjp *v, int i, ig_tensor *t) {
  ig_tensor *g = ig_mul_tensor(c, v->grad, ig_conj_of(c, t));
  IG_GRAD(v, i) = ig_sum_to(c, g, &v->args[i]);
}
static void addcmul_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
  if (IG_WANTED(v, 1)) weigh_grad(c, v, 1, ig_mul_value(c, v->args[2].tensor, &v->args[3]));
  if (IG_WANTED(v, 2)) weigh_grad(c, v, 2, ig_mul_value(c, v->args[1].tensor, &v->args[3]));
}
static void addcdiv_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *by = v->args[2].tensor;
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
  if (IG_WANTED(v, 1)) {
    weigh_grad(c, v, 1, ig_mul_value(c, ig_reciprocal(c, by), &v->args[3]));
  }
  if (IG_WANTED(v, 2)) {
    ig_tensor *t = ig_mul_value(c, v->args[1].tensor, &v->args[3]);
    t = ig_div_tensor(c, t, ig_mul_tensor(c, by, by));
    weigh_grad(c, v, 2, ig_neg(c, t));
  }
}

static ig_tensor *addcmul_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *t = ig_mul_value(c, args[1].tensor, &args[3]);
  t = ig_mul_tensor(c, t, args[2].tensor);
  return ig_add_tensor(c, args[0].tensor, t);
}
static bool addcdiv_fits(ig_ctx *c, const ig_value *args) {
  ig_dtype a = args[1].tensor->dtype;
  ig_dtype b = args[2].tensor->dtype;
  bool whole = !ig_dtype_is_float(a) && !ig_dtype_is_complex(a) && !ig_dtype_is_float(b) &&
               !ig_dtype_is_complex(b);
  if (whole) {
    ig_fail_text(
        c, IG_RUNTIME,
        "Integer division with addcdiv is no longer supported, and in a future release "
        "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
        "behavior can be implemented as (input + value * torch.trunc(tensor1 / "
        "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
        "tensor2) for float inputs. The future addcdiv behavior is just the latter "
        "implementation: (input + value * tensor1 / tensor2), for all dtypes.");
  }
  return !whole;
}
static void addcdiv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (addcdiv_fits(c, args)) ig_shape_pointwise(c, op, args, out);
}
static ig_tensor *addcdiv_decompose(ig_ctx *c, const ig_value *args) {
  if (!addcdiv_fits(c, args)) return NULL;
  ig_tensor *t = ig_mul_value(c, args[1].tensor, &args[3]);
  t = ig_div_tensor(c, t, args[2].tensor);
  return ig_add_tensor(c, args[0].tensor, t);
}

IG_OP(lerp_tensor) = {
    .schema = "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    .shape = lerp_shape,
    .tile = {[IG_F32] = lerp_f32, [IG_F64] = lerp_f64, [IG_C128] = lerp_c128},
    .decompose = lerp_tensor,
    .vjp = lerp_vjp,
    .keep = "self, end, weight",
    .samples = "f32[3,5], f32[3,5], f32[3,5]:u | f32[3], f32[3], f32[]:u",
};
IG_OP(lerp_scalar) = {
    .schema = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    .shape = lerp_shape,
    .tile = {[IG_F32] = lerp_f32_by, [IG_F64] = lerp_f64_by, [IG_C128] = lerp_c128_by},
    .decompose = lerp_scalar,
    .vjp = lerp_vjp,
    .keep = "",
    .samples = "f32[3,5], f32[3,5], 0.3 | f32[3], f32[3], 0.75",
};
IG_OP(addcmul) = {
    .schema =
        "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
        "-> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = addcmul_f32,
             [IG_F64] = addcmul_f64,
             [IG_I64] = addcmul_i64,
             [IG_C128] = addcmul_c128},
    .decompose = addcmul_decompose,
    .vjp = addcmul_vjp,
    .keep = "tensor1, tensor2",
    .samples = "f32[3,5], f32[3,5], f32[5] | f32[3], f32[3], f32[3], value=2",
};
IG_OP(addcdiv) = {
    .schema =
        "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
        "-> Tensor",
    .shape = addcdiv_shape,
    .tile = {[IG_F32] = addcdiv_f32, [IG_F64] = addcdiv_f64, [IG_C128] = addcdiv_c128},
    .decompose = addcdiv_decompose,
    .vjp = addcdiv_vjp,
    .keep = "tensor1, tensor2",
    .samples = "f32[3,5], f32[3,5], f32[5]:+ | f32[3], f32[3], f32[3]:+, value=2",
};
