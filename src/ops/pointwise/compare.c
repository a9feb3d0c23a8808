// SPDX-License-Identifier: Apache-2.0
// Comparisons, logical and bitwise operators of two operands.
#include "ops/lower.h"
#define TILE_CLONES IG_CLONES_NARROW
#include "ops/tile.h"

#define COMPARE(name, op)                         \
  TILE2(name##_f32, float, bool, x[i] op y[i])    \
  TILE2(name##_f64, double, bool, x[i] op y[i])   \
  TILE2(name##_i64, int64_t, bool, x[i] op y[i])  \
  TILE2(name##_i32, int32_t, bool, x[i] op y[i])  \
  TILE2(name##_u8, uint8_t, bool, x[i] op y[i])   \
  TILE2(name##_u64, uint64_t, bool, x[i] op y[i]) \
  TRUE_TILE2(name##_bool, x op y)
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
TILE2(eq_c128, ig_cd, bool, x[i] == y[i])
TILE2(ne_c128, ig_cd, bool, x[i] != y[i])
// Byte stores might alias t itself: the length is read before.
#define BY_BITS(name, op)                                          \
  TILE2(name##_i64, int64_t, int64_t, x[i] op y[i])                \
  TILE2(name##_u32, uint32_t, uint32_t, x[i] op y[i])              \
  TILE2(name##_u16, uint16_t, uint16_t, x[i] op y[i])              \
  TILE_CLONES static void name##_u8(const ig_tile_args *t) {       \
    const uint8_t *x = t->in[0];                                   \
    const uint8_t *y = t->in[1];                                   \
    uint8_t *o = t->out;                                           \
    const size_t n = t->n;                                         \
    for (size_t i = 0; i < n; i++) o[i] = (uint8_t)(x[i] op y[i]); \
  }
BY_BITS(and, &)
BY_BITS(or, |)
BY_BITS(xor, ^)
TRUE_TILE2(and_bool, x &y)
TRUE_TILE2(or_bool, x | y)
TRUE_TILE2(xor_bool, x != y)

#define ORDERED(name)                                                                         \
  [IG_F32] = name##_f32, [IG_F64] = name##_f64, [IG_I64] = name##_i64, [IG_I32] = name##_i32, \
  [IG_U8] = name##_u8, [IG_U64] = name##_u64, [IG_BOOL] = name##_bool
#define COMPARISON(name) \
  .shape = ig_shape_compare, .tile = {ORDERED(name)}, .operands = 2, .not_differentiable = true
#define EQUALITY(name)                                                                        \
  .shape = ig_shape_compare, .tile = {ORDERED(name), [IG_C128] = name##_c128}, .operands = 2, \
  .not_differentiable = true
#define BITWISE(name)                                                              \
  .shape = bitwise_shape, .operands = 2,                                           \
  .tile = {[IG_I64] = name##_i64, [IG_BOOL] = name##_bool, [IG_U8] = name##_u8,    \
           [IG_I8] = name##_u8,   [IG_I16] = name##_u16,   [IG_U16] = name##_u16,  \
           [IG_I32] = name##_u32, [IG_U32] = name##_u32,   [IG_U64] = name##_i64}, \
  .not_differentiable = true
#define LOGICAL(name)                                                          \
  .shape = ig_shape_compare, .tile = {[IG_BOOL] = name##_bool}, .operands = 2, \
  .promote = IG_PROMOTE_BOOL, .not_differentiable = true

static void bitwise_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (out->dtype == IG_BOOL || ig_dtype_is_integral(out->dtype)) return;
  ig_fail_text(c, IG_UNSUPPORTED, "\"%s_cpu\" not implemented for '%s'", op->schema.name,
               ig_dtype_text(out->dtype));
}

#define PAIR                                                                                       \
  "f32[3,5], f32[5] | i64[3], f32[3] | f32[], f32[2] | f32[4]:special, f32[4] | bool[2], bool[2] " \
  "| i64[4], i64[4]"
#define WITH_NUMBER "f32[3,5], 0 | i64[3], 0.5 | f32[4,2].T, 0.1 | bool[3], True | i64[3], 2"

IG_OP(eq_tensor) = {
    .schema = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    EQUALITY(eq),
    .samples = PAIR,
};
IG_OP(eq_scalar) = {
    .schema = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    EQUALITY(eq),
    .samples = WITH_NUMBER,
};
IG_OP(ne_tensor) = {
    .schema = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    EQUALITY(ne),
    .samples = PAIR,
};
IG_OP(ne_scalar) = {
    .schema = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    EQUALITY(ne),
    .samples = WITH_NUMBER,
};
IG_OP(lt_tensor) = {
    .schema = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(lt),
    .samples = PAIR,
};
IG_OP(lt_scalar) = {
    .schema = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(lt),
    .samples = WITH_NUMBER,
};
IG_OP(le_tensor) = {
    .schema = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(le),
    .samples = PAIR,
};
IG_OP(le_scalar) = {
    .schema = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(le),
    .samples = WITH_NUMBER,
};
IG_OP(gt_tensor) = {
    .schema = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(gt),
    .samples = PAIR,
};
IG_OP(gt_scalar) = {
    .schema = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(gt),
    .samples = WITH_NUMBER,
};
IG_OP(ge_tensor) = {
    .schema = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(ge),
    .samples = PAIR,
};
IG_OP(ge_scalar) = {
    .schema = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
    .quantized = IG_QUANT_PLAIN,
    COMPARISON(ge),
    .samples = WITH_NUMBER,
};

#define BITS "i64[3,5], i64[5] | bool[3], bool[3] | i64[3], bool[3] | u8[2], u8[2]"
#define BITS_NUMBER "i64[3], 3 | bool[3], True | u8[2], 1"

IG_OP(bitwise_and_tensor) = {
    .schema = "aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    BITWISE(and),
    .samples = BITS,
};
IG_OP(bitwise_and_scalar) = {
    .schema = "aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
    BITWISE(and),
    .samples = BITS_NUMBER,
};
IG_OP(bitwise_and_scalar_tensor) = {
    .schema = "aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    BITWISE(and),
    .samples = "3, i64[3]",
};
IG_OP(bitwise_or_tensor) = {
    .schema = "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    BITWISE(or),
    .samples = BITS,
};
IG_OP(bitwise_or_scalar) = {
    .schema = "aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
    BITWISE(or),
    .samples = BITS_NUMBER,
};
IG_OP(bitwise_or_scalar_tensor) = {
    .schema = "aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    BITWISE(or),
    .samples = "3, i64[3]",
};
IG_OP(bitwise_xor_tensor) = {
    .schema = "aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
    BITWISE(xor),
    .samples = BITS,
};
IG_OP(bitwise_xor_scalar) = {
    .schema = "aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
    BITWISE(xor),
    .samples = BITS_NUMBER,
};
IG_OP(__and___tensor) = {
    .schema = "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor",
    BITWISE(and),
    .decompose = ig_lower_and,
    .samples = BITS,
};
IG_OP(__and___scalar) = {
    .schema = "aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor",
    BITWISE(and),
    .decompose = ig_lower_and,
    .samples = BITS_NUMBER,
};
IG_OP(__or___tensor) = {
    .schema = "aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor",
    BITWISE(or),
    .decompose = ig_lower_or,
    .samples = BITS,
};
IG_OP(__or___scalar) = {
    .schema = "aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor",
    BITWISE(or),
    .decompose = ig_lower_or,
    .samples = BITS_NUMBER,
};

#define TRUTH "f32[3,5], i64[5] | bool[3], bool[3] | i64[3], bool[3]"
IG_OP(logical_and) = {
    .schema = "aten::logical_and(Tensor self, Tensor other) -> Tensor",
    LOGICAL(and),
    .samples = TRUTH,
};
IG_OP(logical_or) = {
    .schema = "aten::logical_or(Tensor self, Tensor other) -> Tensor",
    LOGICAL(or),
    .samples = TRUTH,
};
IG_OP(logical_xor) = {
    .schema = "aten::logical_xor(Tensor self, Tensor other) -> Tensor",
    LOGICAL(xor),
    .samples = TRUTH,
};
