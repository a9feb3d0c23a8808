// SPDX-License-Identifier: Apache-2.0
// Shifts of integers, and the names under which Python's <<, >> and ^ call them. Shifting by the
// width or more, or by a negative number, gives 0 (left) or the sign (right), as in PyTorch.
#include "ops/tile.h"

static inline int64_t left(int64_t x, int64_t by) {
  return by < 0 || by >= 64 ? 0 : (int64_t)((uint64_t)x << by);
}
static inline int64_t right(int64_t x, int64_t by) {
  return x >> (by < 0 || by >= 64 ? 63 : by);
}
TILE2(left_i64, int64_t, int64_t, left(x[i], y[i]))
TILE2(right_i64, int64_t, int64_t, right(x[i], y[i]))

static void shift_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_shape_pointwise(c, op, args, out);
  if (ig_dtype_is_integral(out->dtype)) return;
  ig_fail_text(c, IG_UNSUPPORTED, "\"%s_cpu\" not implemented for '%s'",
               op->def->variant ? "rshift" : "lshift", ig_dtype_text(out->dtype));
}

static ig_tensor *xor_decompose(ig_ctx *c, const ig_value *args) {
  return args[1].kind == IG_KIND_TENSOR ? ig_bitwise_xor_tensor(c, args[0].tensor, args[1].tensor)
                                        : ig_bitwise_xor_scalar(c, args[0].tensor, args[1]);
}

#define SHIFT(name, number)                                                                  \
  .shape = shift_shape, .tile = {[IG_I64] = name##_i64}, .operands = 2, .variant = (number), \
  .not_differentiable = true
#define PAIR "i64[3,5], i64[5] | u8[2], u8[2] | i32[3], i32[]"
#define NUMBER "i64[3], 2 | u8[2], 1 | i32[3,2].T, 3"

IG_OP(bitwise_left_shift_tensor) = {
    .schema = "aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    SHIFT(left, 0),
    .samples = PAIR,
};
IG_OP(bitwise_left_shift_tensor_scalar) = {
    .schema = "aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    SHIFT(left, 0),
    .samples = NUMBER,
};
IG_OP(bitwise_left_shift_scalar_tensor) = {
    .schema = "aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    SHIFT(left, 0),
    .samples = "3, i64[3]",
};
IG_OP(bitwise_right_shift_tensor) = {
    .schema = "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    SHIFT(right, 1),
    .samples = PAIR,
};
IG_OP(bitwise_right_shift_tensor_scalar) = {
    .schema = "aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    SHIFT(right, 1),
    .samples = NUMBER,
};
IG_OP(bitwise_right_shift_scalar_tensor) = {
    .schema = "aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    SHIFT(right, 1),
    .samples = "3, i64[3]",
};
IG_OP(__lshift___tensor) = {
    .schema = "aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor",
    SHIFT(left, 0),
    .samples = PAIR,
};
IG_OP(__lshift___scalar) = {
    .schema = "aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor",
    SHIFT(left, 0),
    .samples = NUMBER,
};
IG_OP(__rshift___tensor) = {
    .schema = "aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor",
    SHIFT(right, 1),
    .samples = PAIR,
};
IG_OP(__rshift___scalar) = {
    .schema = "aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor",
    SHIFT(right, 1),
    .samples = NUMBER,
};
IG_OP(__xor___tensor) = {
    .schema = "aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = xor_decompose,
    .samples = "i64[3,5], i64[5] | bool[3], bool[3]",
};
IG_OP(__xor___scalar) = {
    .schema = "aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = xor_decompose,
    .samples = "i64[3], 3 | bool[3], True",
};
