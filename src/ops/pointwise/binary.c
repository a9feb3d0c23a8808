// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two operands: add, sub, rsub, mul, div, floor_divide, fmod, remainder, maximum,
// minimum. Integers are computed in 64 bits and truncated, which gives the same low bits.
#include <string.h>

#include "ops/lower.h"
#include "ops/tile.h"

#define ALPHA(name, type, read, expr)                 \
  IG_CLONES static void name(const ig_tile_args *t) { \
    const type *x = t->in[0];                         \
    const type *y = t->in[1];                         \
    const type a = (type)read(&t->args[2]);           \
    type *o = t->out;                                 \
    if (a == 1) {                                     \
      for (size_t i = 0; i < t->n; i++) {             \
        const type p = y[i];                          \
        o[i] = expr;                                  \
      }                                               \
    } else {                                          \
      for (size_t i = 0; i < t->n; i++) {             \
        const type p = a * y[i];                      \
        o[i] = expr;                                  \
      }                                               \
    }                                                 \
  }
// Wrapping arithmetic in the unsigned type, where overflow is defined.
#define WRAP(name, type, op)                                                  \
  IG_CLONES static void name(const ig_tile_args *t) {                         \
    const type *x = t->in[0];                                                 \
    const type *y = t->in[1];                                                 \
    const type a = (type)(uint64_t)ig_number_i64(&t->args[2]);                \
    type *o = t->out;                                                         \
    for (size_t i = 0; i < t->n; i++) o[i] = (type)(x[i] op(type)(a * y[i])); \
  }

// The same for types that C would widen to int, signed and unsigned ones alike.
#define SMALL(name, type, expr)                                        \
  IG_CLONES_NARROW static void name(const ig_tile_args *t) {           \
    const type *x = t->in[0];                                          \
    const type *y = t->in[1];                                          \
    const uint32_t a = (uint32_t)(uint64_t)ig_number_i64(&t->args[2]); \
    type *o = t->out;                                                  \
    const size_t n = t->n; /* which byte stores might alias */         \
    for (size_t i = 0; i < n; i++) o[i] = (type)(expr);                \
  }
SMALL(add_u8, uint8_t, x[i] + a * y[i])
SMALL(add_u16, uint16_t, x[i] + a * y[i])
SMALL(sub_u8, uint8_t, x[i] - a * y[i])
SMALL(sub_u16, uint16_t, x[i] - a * y[i])
#define PRODUCT(name, type)                                              \
  IG_CLONES_NARROW static void name(const ig_tile_args *t) {             \
    const type *x = t->in[0];                                            \
    const type *y = t->in[1];                                            \
    type *o = t->out;                                                    \
    const size_t n = t->n;                                               \
    for (size_t i = 0; i < n; i++) o[i] = (type)((uint32_t)x[i] * y[i]); \
  }
PRODUCT(mul_u8, uint8_t)
PRODUCT(mul_u16, uint16_t)
// Entries of a table for all of them.
#define SMALL_TILES(verb)                                                                 \
  [IG_U8] = verb##_u8, [IG_I8] = verb##_u8, [IG_I16] = verb##_u16, [IG_U16] = verb##_u16, \
  [IG_U32] = verb##_i32

ALPHA(add_f32, float, ig_number_f32, x[i] + p)
ALPHA(add_f64, double, ig_value_f64, x[i] + p)
ALPHA(add_c64, ig_cf, ig_number_cd, x[i] + p)
ALPHA(add_c128, ig_cd, ig_number_cd, x[i] + p)
WRAP(add_i64, uint64_t, +)
WRAP(add_i32, uint32_t, +)
TRUE_TILE2(add_bool, x || (y && ig_value_f64(&t->args[2]) != 0))
ALPHA(sub_f32, float, ig_number_f32, x[i] - p)
ALPHA(sub_f64, double, ig_value_f64, x[i] - p)
ALPHA(sub_c64, ig_cf, ig_number_cd, x[i] - p)
ALPHA(sub_c128, ig_cd, ig_number_cd, x[i] - p)
WRAP(sub_i64, uint64_t, -)
WRAP(sub_i32, uint32_t, -)
TILE2(mul_f32, float, float, x[i] * y[i])
TILE2(mul_f64, double, double, x[i] * y[i])
TILE2(mul_c64, ig_cf, ig_cf, x[i] * y[i])
TILE2(mul_c128, ig_cd, ig_cd, x[i] * y[i])
TILE2(mul_i64, uint64_t, uint64_t, x[i] * y[i])
TILE2(mul_i32, uint32_t, uint32_t, x[i] * y[i])
TRUE_TILE2(mul_bool, x &y)
TILE2(div_f32, float, float, x[i] / y[i])
TILE2(div_f64, double, double, x[i] / y[i])
TILE2(div_c64, ig_cf, ig_cf, x[i] / y[i])
TILE2(div_c128, ig_cd, ig_cd, x[i] / y[i])

#define NANMAX(x, y) ((x) != (x) || (x) > (y) ? (x) : (y))
#define NANMIN(x, y) ((x) != (x) || (x) < (y) ? (x) : (y))
#define ANYMAX(x, y) ((x) > (y) ? (x) : (y))
#define ANYMIN(x, y) ((x) < (y) ? (x) : (y))
TILE2(maximum_f32, float, float, NANMAX(x[i], y[i]))
TILE2(maximum_f64, double, double, NANMAX(x[i], y[i]))
TILE2(maximum_i64, int64_t, int64_t, ANYMAX(x[i], y[i]))
TILE2(maximum_i32, int32_t, int32_t, ANYMAX(x[i], y[i]))
TRUE_TILE2(maximum_bool, x | y)
TILE2(minimum_f32, float, float, NANMIN(x[i], y[i]))
TILE2(minimum_f64, double, double, NANMIN(x[i], y[i]))
TILE2(minimum_i64, int64_t, int64_t, ANYMIN(x[i], y[i]))
TILE2(minimum_i32, int32_t, int32_t, ANYMIN(x[i], y[i]))
TRUE_TILE2(minimum_bool, x &y)

// Floor of the quotient of floats as Python computes it.
#define FLOOR_FLOAT(name, type, mod_fn, floor_fn, copysign_fn) \
  static inline type name(type a, type b) {                    \
    if (b == 0) return a / b;                                  \
    type mod = mod_fn(a, b);                                   \
    type div = (a - mod) / b;                                  \
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;            \
    if (div == 0) return copysign_fn(0, a / b);                \
    type whole = floor_fn(div);                                \
    return div - whole > (type)0.5 ? whole + 1 : whole;        \
  }
FLOOR_FLOAT(floor_div_f32, float, fmodf, floorf, copysignf)
FLOOR_FLOAT(floor_div_f64, double, fmod, floor, copysign)

#define REMAINDER_FLOAT(name, type, mod_fn)                  \
  static inline type name(type a, type b) {                  \
    type mod = mod_fn(a, b);                                 \
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod; \
  }
REMAINDER_FLOAT(remainder_one_f64, double, fmod)

// Remainders of floats: quotients below 2^28 and their products with 24 bits are exact in double,
// and no quotient that is not whole rounds to a whole one. A block with others is computed element
// by element.
IG_CLONES_NARROW static void mod_block(const float *x, const float *y, size_t n, float *r) {
  int beyond = 0;
  for (size_t i = 0; i < n; i++) {
    double q = trunc((double)x[i] / (double)y[i]);
    beyond |= !(fabs(q) < 0x1p28 && fabsf(y[i]) < INFINITY);
    r[i] = copysignf((float)((double)x[i] - q * (double)y[i]), x[i]);
  }
  for (size_t i = 0; beyond && i < n; i++) r[i] = fmodf(x[i], y[i]);
}
static void mod_f32(const ig_tile_args *t, bool floor) {
  enum { BLOCK = 256 };
  const float *x = t->in[0];
  const float *y = t->in[1];
  float *o = t->out;
  for (size_t at = 0; at < t->n; at += BLOCK) {
    size_t n = t->n - at < BLOCK ? t->n - at : BLOCK;
    float r[BLOCK];  // the result may overlap an operand
    mod_block(x + at, y + at, n, r);
    for (size_t i = 0; floor && i < n; i++) {
      float b = y[at + i];
      float up = (b < 0) != (r[i] < 0) ? r[i] + b : r[i];
      r[i] = r[i] != 0 ? up : r[i];
    }
    memcpy(o + at, r, n * sizeof *r);
  }
}

typedef int64_t divide_fn(int64_t a, int64_t b);
static int64_t int_floor(int64_t a, int64_t b) {
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : ig_floor_div(a, b);
}
static int64_t int_trunc(int64_t a, int64_t b) {
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t int_fmod(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}
static int64_t int_remainder(int64_t a, int64_t b) {
  int64_t r = int_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static void divide_i64(const ig_tile_args *t, divide_fn *fn) {
  const int64_t *x = t->in[0];
  const int64_t *y = t->in[1];
  int64_t *o = t->out;
  for (size_t i = 0; i < t->n; i++) {
    if (y[i] == 0) {
      atomic_store_explicit(t->zero_divisor, true, memory_order_relaxed);
      o[i] = 0;
    } else {
      o[i] = fn(x[i], y[i]);
    }
  }
}

TILE2(floor_divide_f32, float, float, floor_div_f32(x[i], y[i]))
TILE2(floor_divide_f64, double, double, floor_div_f64(x[i], y[i]))
TILE2(trunc_divide_f32, float, float, truncf(x[i] / y[i]))
TILE2(trunc_divide_f64, double, double, trunc(x[i] / y[i]))
static void fmod_f32(const ig_tile_args *t) {
  mod_f32(t, false);
}
static void remainder_f32(const ig_tile_args *t) {
  mod_f32(t, true);
}
TILE2(fmod_f64, double, double, fmod(x[i], y[i]))
TILE2(remainder_f64, double, double, remainder_one_f64(x[i], y[i]))
static void floor_divide_i64(const ig_tile_args *t) {
  divide_i64(t, int_floor);
}
static void fmod_i64(const ig_tile_args *t) {
  divide_i64(t, int_fmod);
}
static void remainder_i64(const ig_tile_args *t) {
  divide_i64(t, int_remainder);
}

static bool floors(const ig_tile_args *t) {
  return strcmp(t->args[2].str, "floor") == 0;
}
static void div_mode_f32(const ig_tile_args *t) {
  if (t->args[2].kind != IG_KIND_STR) {
    div_f32(t);
  } else {
    (floors(t) ? floor_divide_f32 : trunc_divide_f32)(t);
  }
}
static void div_mode_f64(const ig_tile_args *t) {
  if (t->args[2].kind != IG_KIND_STR) {
    div_f64(t);
  } else {
    (floors(t) ? floor_divide_f64 : trunc_divide_f64)(t);
  }
}
static void div_mode_i64(const ig_tile_args *t) {
  divide_i64(t, floors(t) ? int_floor : int_trunc);
}

static bool is_bool(const ig_value *v) {
  return v->kind == IG_KIND_BOOL || (v->kind == IG_KIND_TENSOR && v->tensor->dtype == IG_BOOL);
}

static void check_alpha(ig_ctx *c, const ig_op *op, const ig_value *args, ig_dtype d) {
  (void)op;
  ig_kind kind = args[2].kind;
  bool real = kind == IG_KIND_FLOAT || kind == IG_KIND_COMPLEX;
  if (kind == IG_KIND_BOOL && d != IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "Boolean alpha only supported for Boolean results.");
  } else if (real && (d == IG_BOOL || ig_dtype_is_integral(d))) {
    ig_fail_text(c, IG_RUNTIME,
                 "For integral input tensors, argument alpha must not be a floating point number.");
  } else if (kind == IG_KIND_COMPLEX && !ig_dtype_is_complex(d)) {
    ig_fail_text(c, IG_RUNTIME,
                 "For non-complex input tensors, argument alpha must not be a complex number.");
  }
}

static void add_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  check_alpha(c, op, args, out->dtype);
}

static void sub_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  bool first = is_bool(&args[0]);
  bool second = is_bool(&args[1]);
  if (first && second) {
    ig_fail_text(c, IG_RUNTIME,
                 "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                 "`^` or `logical_xor()` operator instead.");
  } else if (first || second) {
    ig_fail_text(c, IG_RUNTIME,
                 "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                 "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
  }
  add_shape(c, op, args, out);
}

static void div_mode_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  if (args[2].kind == IG_KIND_STR && strcmp(args[2].str, "floor") != 0 &&
      strcmp(args[2].str, "trunc") != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                 args[2].str);
  }
  ig_shape_pointwise(c, op, args, out);
}

static ig_tensor *scaled(ig_ctx *c, ig_tensor *g, const ig_value *alpha) {
  if (ig_value_is(alpha, 1)) return g;
  if (alpha->kind == IG_KIND_COMPLEX) {
    ig_value conj = ig_of_complex(alpha->z.re, -alpha->z.im);
    return ig_mul_value(c, g, &conj);
  }
  return ig_mul_value(c, g, alpha);
}

// The conjugate of an operand, as a value: formulas multiply by it.
static ig_value conj_value(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return ig_of_tensor(ig_conj_of(c, v->tensor));
  return v->kind == IG_KIND_COMPLEX ? ig_of_complex(v->z.re, -v->z.im) : *v;
}

// Gradients are computed in the order of the arguments' names, as in PyTorch: other, then self.

static void add_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 1) = ig_sum_to(c, scaled(c, v->grad, &v->args[2]), &v->args[1]);
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
}

static void sub_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 1)) {
    ig_tensor *g = ig_neg(c, v->grad);
    IG_GRAD(v, 1) = ig_sum_to(c, scaled(c, g, &v->args[2]), &v->args[1]);
  }
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
}

static void mul_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *d[2] = {NULL, NULL};
  if (v->args[1].kind == IG_KIND_TENSOR && IG_WANTED(v, 1)) {
    ig_value self = conj_value(c, &v->args[0]);
    d[1] = ig_mul_value(c, v->grad, &self);
  }
  if (IG_WANTED(v, 0)) {
    ig_value other = conj_value(c, &v->args[1]);
    d[0] = ig_mul_value(c, v->grad, &other);
  }
  if (d[1]) IG_GRAD(v, 1) = ig_sum_to(c, d[1], &v->args[1]);
  if (d[0]) IG_GRAD(v, 0) = ig_sum_to(c, d[0], &v->args[0]);
}

static bool rounds(const ig_vjp *v) {
  return v->op->schema.nargs > 2 && v->args[2].kind == IG_KIND_STR;
}

static ig_tensor *div_grad_other(ig_ctx *c, const ig_vjp *v) {
  if (rounds(v)) return ig_zeros_of(c, v->grad);
  ig_tensor *g = ig_neg(c, v->grad);  // -g * (self / other / other)
  ig_value ratio_args[] = {v->args[0], v->args[1]};
  ig_tensor *q = ig_call_id(c, IG_ID_DIV_TENSOR, ratio_args, 2);
  q = ig_div_value(c, q, &v->args[1]);
  ig_value ratio = ig_of_tensor(ig_conj_of(c, q));
  return ig_mul_value(c, g, &ratio);
}

static void div_vjp(ig_ctx *c, const ig_vjp *v) {
  if (v->args[1].kind == IG_KIND_TENSOR && IG_WANTED(v, 1)) {
    IG_GRAD(v, 1) = ig_sum_to(c, div_grad_other(c, v), &v->args[1]);
  }
  if (IG_WANTED(v, 0)) {
    ig_value other = conj_value(c, &v->args[1]);
    ig_tensor *g = rounds(v) ? ig_zeros_of(c, v->grad) : ig_div_value(c, v->grad, &other);
    IG_GRAD(v, 0) = ig_sum_to(c, g, &v->args[0]);
  }
}

// d(a - b * trunc(a / b)): 1 and -trunc(a / b); floor for remainder.
static void mod_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
  if (v->args[1].kind == IG_KIND_TENSOR && IG_WANTED(v, 1)) {
    ig_tensor *q = ig_div_tensor_mode(c, v->args[0].tensor, v->args[1].tensor,
                                      ig_of_str(v->op->def->variant ? "floor" : "trunc"));
    ig_tensor *g = ig_mul_tensor(c, v->grad, q);
    IG_GRAD(v, 1) = ig_sum_to(c, ig_neg(c, g), &v->args[1]);
  }
}

// Equal operands share the gradient.
static void extremum_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *self = v->args[0].tensor;
  ig_tensor *other = v->args[1].tensor;
  ig_tensor *equal = ig_eq_tensor(c, self, other);
  ig_tensor *half = ig_div_f64(c, v->grad, 2);
  ig_tensor *shared = ig_where_self(c, equal, half, v->grad);
  ig_tensor *less =
      v->op->def->variant ? ig_gt_tensor(c, self, other) : ig_lt_tensor(c, self, other);
  ig_tensor *more =
      v->op->def->variant ? ig_lt_tensor(c, self, other) : ig_gt_tensor(c, self, other);
  IG_GRAD(v, 0) = ig_sum_to(c, ig_masked_fill_scalar(c, shared, less, ig_of_i64(0)), &v->args[0]);
  IG_GRAD(v, 1) = ig_sum_to(c, ig_masked_fill_scalar(c, shared, more, ig_of_i64(0)), &v->args[1]);
}

static ig_tensor *rsub_decompose(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID_SUB_TENSOR, (ig_value[]){args[1], args[0], args[2]}, 3);
}

#define ADD_TILES                                                                              \
  .tile = {[IG_F32] = add_f32, [IG_F64] = add_f64, [IG_C64] = add_c64,   [IG_C128] = add_c128, \
           [IG_I64] = add_i64, [IG_I32] = add_i32, [IG_BOOL] = add_bool, SMALL_TILES(add)}
#define SUB_TILES                                                                            \
  .tile = {[IG_F32] = sub_f32, [IG_F64] = sub_f64, [IG_C64] = sub_c64, [IG_C128] = sub_c128, \
           [IG_I64] = sub_i64, [IG_I32] = sub_i32, SMALL_TILES(sub)}
#define MUL_TILES                                                                              \
  .tile = {[IG_F32] = mul_f32, [IG_F64] = mul_f64, [IG_C64] = mul_c64,   [IG_C128] = mul_c128, \
           [IG_I64] = mul_i64, [IG_I32] = mul_i32, [IG_BOOL] = mul_bool, SMALL_TILES(mul)}
#define DIV_TILES \
  .tile = {[IG_F32] = div_f32, [IG_F64] = div_f64, [IG_C64] = div_c64, [IG_C128] = div_c128}

IG_OP(add_tensor) = {
    .schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .numbers = true,
    .shape = add_shape,
    ADD_TILES,
    .vjp = add_vjp,
    .keep = "",
    .samples =
        "f32[3,5], f32[3,5] | f32[3,5], f32[5], alpha=2 | f32[4,2].T, f32[2,1] | "
        "f32[0], f32[0] | f32[], f32[2] | i64[3], f32[1] | f32[2], 3 | bool[3], bool[3] | "
        "f32[2,3], i64[3], alpha=0.5 | f32[3]:special, f32[3] | i64[2], 2, alpha=3",
};

IG_OP(add_scalar) = {
    .schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .shape = add_shape,
    ADD_TILES,
    .operands = 2,
    .vjp = add_vjp,
    .keep = "",
    .samples = "f32[3,5], 2 | f32[3,5], 0.5, 2 | i64[2], 1 | f32[], 1",
};

IG_OP(sub_tensor) = {
    .schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .numbers = true,
    .shape = sub_shape,
    SUB_TILES,
    .vjp = sub_vjp,
    .keep = "",
    .samples = "f32[3,5], f32[3,5] | f32[3,1], f32[5], alpha=0.5 | i64[2], 1 | f32[2,3], f32[]",
};

IG_OP(sub_scalar) = {
    .schema = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .shape = sub_shape,
    SUB_TILES,
    .operands = 2,
    .vjp = sub_vjp,
    .keep = "",
    .samples = "f32[3,5], 2 | f32[3,5], 0.5, 2 | i64[2], 1",
};

IG_OP(rsub_tensor) = {
    .schema = "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .decompose = rsub_decompose,
    .samples = "f32[3,5], f32[3,5] | f32[3,1], f32[5], alpha=0.5",
};

IG_OP(rsub_scalar) = {
    .schema = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .decompose = rsub_decompose,
    .samples = "f32[3,5], 1 | f32[3,5], 0.5, 2 | i64[2], 1",
};

IG_OP(mul_tensor) = {
    .schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .numbers = true,
    .shape = ig_shape_pointwise,
    MUL_TILES,
    .vjp = mul_vjp,
    .keep = "self, other",
    .samples =
        "f32[3,5], f32[3,5] | f32[3,5], f32[3,1] | f32[2,3], f32[] | i64[3], 2.5 | "
        "bool[3], bool[3] | f32[2,3].T, f32[3,2] | c64[3], f32[3] | f32[4]:special, f32[4]",
};

IG_OP(mul_scalar) = {
    .schema = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .shape = ig_shape_pointwise,
    MUL_TILES,
    .operands = 2,
    .vjp = mul_vjp,
    .keep = "",
    .samples = "f32[3,5], 2 | i64[3], 2.5 | f32[2], True",
};

IG_OP(div_tensor) = {
    .schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .numbers = true,
    .shape = ig_shape_pointwise,
    DIV_TILES,
    .promote = IG_PROMOTE_FLOAT,
    .vjp = div_vjp,
    .keep = "self, other",
    .samples =
        "f32[3,5], f32[3,5] | i64[3], i64[3]:+ | f32[3,5], 2 | f32[2,1], f32[3] | "
        "i64[4], 4 | c64[3], c64[3]",
};

IG_OP(div_scalar) = {
    .schema = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .shape = ig_shape_pointwise,
    DIV_TILES,
    .operands = 2,
    .promote = IG_PROMOTE_FLOAT,
    .vjp = div_vjp,
    .keep = "",
    .samples = "f32[3,5], 2 | i64[3], 4 | f32[2], 0.5",
};

#define DIV_MODE_TILES \
  .tile = {[IG_F32] = div_mode_f32, [IG_F64] = div_mode_f64, [IG_I64] = div_mode_i64}

IG_OP(div_tensor_mode) = {
    .schema = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .numbers = true,
    .shape = div_mode_shape,
    DIV_MODE_TILES,
    .promote = IG_PROMOTE_DIV,
    .vjp = div_vjp,
    .keep = "self, other",
    .samples =
        "f32[3,5], f32[5], rounding_mode='floor' | f32[3,5], f32[5], rounding_mode='trunc' | "
        "f32[3], f32[3], rounding_mode=None | i64[3], i64[3]:+, rounding_mode='floor' | "
        "i64[3], 2, rounding_mode='trunc'",
};

IG_OP(div_scalar_mode) = {
    .schema = "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    .numbers_to_tensor = true,
    .looks_at_strides = true,
    .shape = div_mode_shape,
    DIV_MODE_TILES,
    .operands = 2,
    .promote = IG_PROMOTE_DIV,
    .vjp = div_vjp,
    .keep = "",
    .samples =
        "f32[3,5], 2, rounding_mode='floor' | i64[3], -2, rounding_mode='trunc' | "
        "i64[3], 2, rounding_mode=None",
};

#define FLOOR_TILES \
  .tile = {[IG_F32] = floor_divide_f32, [IG_F64] = floor_divide_f64, [IG_I64] = floor_divide_i64}

IG_OP(floor_divide) = {
    .schema = "aten::floor_divide(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .numbers = true,
    .shape = ig_shape_pointwise,
    FLOOR_TILES,
    .decompose = ig_lower_floor_divide,
    .samples = "f32[3,5], f32[5] | i64[3], i64[3]:+ | i64[3], -2 | f32[3], 0.3",
};

IG_OP(floor_divide_scalar) = {
    .schema = "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .shape = ig_shape_pointwise,
    FLOOR_TILES,
    .operands = 2,
    .samples = "f32[3,5], 2 | i64[3], -2",
};

#define FMOD_TILES .tile = {[IG_F32] = fmod_f32, [IG_F64] = fmod_f64, [IG_I64] = fmod_i64}
#define REMAINDER_TILES \
  .tile = {[IG_F32] = remainder_f32, [IG_F64] = remainder_f64, [IG_I64] = remainder_i64}

IG_OP(fmod_tensor) = {
    .schema = "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    FMOD_TILES,
    .vjp = mod_vjp,
    .keep = "self, other",
    .samples = "f32[3,5], f32[5]:+ | i64[3], i64[3]:+",
};

IG_OP(fmod_scalar) = {
    .schema = "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    .shape = ig_shape_pointwise,
    FMOD_TILES,
    .operands = 2,
    .vjp = mod_vjp,
    .keep = "",
    .samples = "f32[3,5], 0.3 | i64[3], 2",
};

IG_OP(remainder_tensor) = {
    .schema = "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    REMAINDER_TILES,
    .vjp = mod_vjp,
    .keep = "self, other",
    .variant = 1,
    .samples = "f32[3,5], f32[5]:+ | i64[3], i64[3]:+",
};

IG_OP(remainder_scalar) = {
    .schema = "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    .shape = ig_shape_pointwise,
    REMAINDER_TILES,
    .operands = 2,
    .vjp = mod_vjp,
    .keep = "",
    .variant = 1,
    .samples = "f32[3,5], 0.3 | i64[3], -2",
};

IG_OP(remainder_scalar_tensor) = {
    .schema = "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    REMAINDER_TILES,
    .operands = 2,
    .variant = 1,
    .samples = "7, i64[3]:+ | 2.5, f32[3]:+",
};

IG_OP(maximum) = {
    .schema = "aten::maximum(Tensor self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = maximum_f32,
             [IG_F64] = maximum_f64,
             [IG_I64] = maximum_i64,
             [IG_I32] = maximum_i32,
             [IG_BOOL] = maximum_bool},
    .vjp = extremum_vjp,
    .keep = "self, other",
    .samples = "f32[3,5], f32[5] | i64[3], i64[3] | f32[4]:special, f32[4] | bool[2], bool[2]",
};

IG_OP(minimum) = {
    .schema = "aten::minimum(Tensor self, Tensor other) -> Tensor",
    .shape = ig_shape_pointwise,
    .tile = {[IG_F32] = minimum_f32,
             [IG_F64] = minimum_f64,
             [IG_I64] = minimum_i64,
             [IG_I32] = minimum_i32,
             [IG_BOOL] = minimum_bool},
    .vjp = extremum_vjp,
    .keep = "self, other",
    .variant = 1,
    .samples = "f32[3,5], f32[5] | i64[3], i64[3] | f32[4]:special, f32[4] | bool[2], bool[2]",
};
