// SPDX-License-Identifier: Apache-2.0
// Operators of older programs that are other calls today: conversions with the type in their name,
// lift, and the positions along an axis.
#include "op/formula.h"
#include "op/shape.h"

static ig_tensor *lift_decompose(ig_ctx *c, const ig_value *args) {
  return ig_clone(c, args[0].tensor);
}

static ig_tensor *dim_arange_decompose(ig_ctx *c, const ig_value *args) {
  const ig_tensor *like = args[0].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), like->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int size = like->ndim ? ig_sizes(like)[dim] : ig_const(1);
  return ig_arange_with(c, ig_of_int(size), ig_of_dtype(IG_I64), ig_none(),
                        ig_of_device(like->device), ig_none());
}

// A cast to the type that a tensor has is the tensor itself, as in x.to(dtype).
#define CAST(name, type)                                                       \
  static ig_tensor *cast_##name##_decompose(ig_ctx *c, const ig_value *args) { \
    return ig_to_dtype(c, args[0].tensor, ig_of_dtype(type));                  \
  }
CAST(byte, IG_U8)
CAST(char, IG_I8)
CAST(double, IG_F64)
CAST(float, IG_F32)
CAST(half, IG_F16)
CAST(int, IG_I32)
CAST(long, IG_I64)
CAST(short, IG_I16)

IG_OP(_cast_byte) = {
    .schema = "aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_byte_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_char) = {
    .schema = "aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_char_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_double) = {
    .schema = "aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_double_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_float) = {
    .schema = "aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_float_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_half) = {
    .schema = "aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_half_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_int) = {
    .schema = "aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_int_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
    .waive = "special: infinities and NaN have no integer",
};
IG_OP(_cast_long) = {
    .schema = "aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_long_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(_cast_short) = {
    .schema = "aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor",
    .decompose = cast_short_decompose,
    .samples = "f32[3,4] | i64[2], False | f32[]",
};
IG_OP(lift) = {
    .schema = "aten::lift(Tensor self) -> Tensor",
    .decompose = lift_decompose,
    .samples = "f32[3,5] | f32[]",
};
IG_OP(_dim_arange) = {
    .schema = "aten::_dim_arange(Tensor like, int dim) -> Tensor",
    .decompose = dim_arange_decompose,
    .samples = "f32[3,4], 1 | f32[3,4], -2",
    .not_differentiable = true,  // positions, not values
};
