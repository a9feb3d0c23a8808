// SPDX-License-Identifier: Apache-2.0
// Queries about tensors and dtypes that are operators too: the answer is in the metadata, so they
// work for real and fake tensors alike and are not recorded in programs.
#include "op/formula.h"
#include "op/shape.h"

#define QUESTION(name, answer)                                                                  \
  static void name##_answer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) { \
    (void)c;                                                                                    \
    (void)op;                                                                                   \
    outs[0] = answer;                                                                           \
  }

static bool is_signed_dtype(ig_dtype d) {
  return d != IG_BOOL && d != IG_U8 && d != IG_U16 && d != IG_U32 && d != IG_U64;
}

QUESTION(is_complex, ig_of_bool(ig_dtype_is_complex(args[0].tensor->dtype)))
QUESTION(is_floating_point, ig_of_bool(ig_dtype_is_float(args[0].tensor->dtype)))
QUESTION(is_signed, ig_of_bool(is_signed_dtype(args[0].tensor->dtype)))
QUESTION(never, (args ? ig_of_bool(false) : ig_none()))
QUESTION(can_cast, ig_of_bool(ig_dtype_can_cast(args[0].dtype, args[1].dtype)))
QUESTION(promote_types, ig_of_dtype(ig_dtype_promote(args[0].dtype, args[1].dtype)))
QUESTION(result_type, ig_of_dtype(ig_promote(c, args, 2)))

IG_OP(is_complex) = {
    .schema = "aten::is_complex(Tensor self) -> bool",
    .kernel = is_complex_answer,
    .fake = is_complex_answer,
    .samples = "f32[2] | c64[2]",
    .not_differentiable = true,
};
IG_OP(is_floating_point) = {
    .schema = "aten::is_floating_point(Tensor self) -> bool",
    .kernel = is_floating_point_answer,
    .fake = is_floating_point_answer,
    .samples = "f32[2] | i64[2]",
    .not_differentiable = true,
};
IG_OP(is_signed) = {
    .schema = "aten::is_signed(Tensor self) -> bool",
    .kernel = is_signed_answer,
    .fake = is_signed_answer,
    .samples = "f32[2] | u8[2] | bool[2]",
    .not_differentiable = true,
};
IG_OP(is_conj) = {
    .schema = "aten::is_conj(Tensor self) -> bool",
    .kernel = never_answer,
    .fake = never_answer,
    .samples = "f32[2] | c64[2]",
    .not_differentiable = true,
};
IG_OP(is_neg) = {
    .schema = "aten::is_neg(Tensor self) -> bool",
    .kernel = never_answer,
    .fake = never_answer,
    .samples = "f32[2] | c64[2]",
    .not_differentiable = true,
};
IG_OP(is_inference) = {
    .schema = "aten::is_inference(Tensor self) -> bool",
    .kernel = never_answer,
    .fake = never_answer,
    .samples = "f32[2]",
    .not_differentiable = true,
};
// There is no NNPACK in Ingot.
IG_OP(_nnpack_available) = {
    .schema = "aten::_nnpack_available() -> bool",
    .kernel = never_answer,
    .fake = never_answer,
    .samples = "",
    .not_differentiable = true,
};
// Whether a padded batch can become a nested tensor. There are none in Ingot, so that encoders take
// the way that they take for masks with holes.
IG_OP(_nested_tensor_from_mask_left_aligned) = {
    .schema = "aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
    .kernel = never_answer,
    .fake = never_answer,
    .samples = "f32[2,3,4], bool[2,3]",
    .not_differentiable = true,
    .waive = "values: PyTorch has nested tensors",
};
IG_OP(can_cast) = {
    .schema = "aten::can_cast(ScalarType from_, ScalarType to) -> bool",
    .kernel = can_cast_answer,
    .fake = can_cast_answer,
    .samples = "f32, i64 | i64, f32",
    .not_differentiable = true,
};
IG_OP(promote_types) = {
    .schema = "aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
    .kernel = promote_types_answer,
    .fake = promote_types_answer,
    .samples = "i64, f16 | u8, i8",
    .not_differentiable = true,
    .waive = "values: PyTorch tells the number of the dtype",
};
IG_OP(result_type_tensor) = {
    .schema = "aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType",
    .kernel = result_type_answer,
    .fake = result_type_answer,
    .samples = "f32[2], i64[2] | f32[2], f64[]",
    .not_differentiable = true,
    .waive = "values: PyTorch tells the number of the dtype",
};
IG_OP(result_type_scalar) = {
    .schema = "aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType",
    .kernel = result_type_answer,
    .fake = result_type_answer,
    .samples = "i64[2], 1.5 | f32[2], 2",
    .not_differentiable = true,
    .waive = "values: PyTorch tells the number of the dtype",
};
IG_OP(result_type_scalar_tensor) = {
    .schema = "aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType",
    .kernel = result_type_answer,
    .fake = result_type_answer,
    .samples = "1.5, i64[2] | 2, f32[2]",
    .not_differentiable = true,
    .waive = "values: PyTorch tells the number of the dtype",
};
IG_OP(result_type_scalar_scalar) = {
    .schema = "aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType",
    .kernel = result_type_answer,
    .fake = result_type_answer,
    .samples = "1, 2 | 1, 2.5",
    .not_differentiable = true,
    .waive = "values: PyTorch tells the number of the dtype",
};
