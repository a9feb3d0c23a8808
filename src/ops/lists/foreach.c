// SPDX-License-Identifier: Apache-2.0
// Operators that do the same to every tensor of a list.
#include "op/op.h"

IG_OP(_foreach_abs) = {
    .schema = "aten::_foreach_abs(Tensor[] self) -> Tensor[]",
    .each = "aten::abs",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_acos) = {
    .schema = "aten::_foreach_acos(Tensor[] self) -> Tensor[]",
    .each = "aten::acos",
    .samples = "(f32[3]:s, f32[2,2]:s)",
};

IG_OP(_foreach_add_list) = {
    .schema =
        "aten::_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
    .each = "aten::add.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3]), alpha=2",
};

IG_OP(_foreach_add_scalar) = {
    .schema = "aten::_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::add.Scalar",
    .samples = "(f32[3], f32[2,2]), 2 | (f32[0], f32[]), 0.5",
};

IG_OP(_foreach_add_scalarlist) = {
    .schema = "aten::_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::add.Scalar",
    .samples = "(f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_add_tensor) = {
    .schema =
        "aten::_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]",
    .each = "aten::add.Tensor",
    .samples = "(f32[3], f32[2,2]), f32[]",
};

IG_OP(_foreach_addcdiv_scalar) = {
    .schema =
        "aten::_foreach_addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
        "value=1) -> Tensor[]",
    .each = "aten::addcdiv",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3]), "
        "(f32[2,1]), 0.5",
};

IG_OP(_foreach_addcdiv_scalarlist) = {
    .schema =
        "aten::_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, "
        "Scalar[] scalars) -> Tensor[]",
    .each = "aten::addcdiv",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_addcdiv_tensor) = {
    .schema =
        "aten::_foreach_addcdiv.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor "
        "scalars) -> Tensor[]",
    .each = "aten::addcdiv",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), f32[2]",
    .waive =
        "fake: the numbers are read; symbolic: the same; gradient of scalars: PyTorch takes them "
        "as "
        "plain numbers; second: the same",
};

IG_OP(_foreach_addcmul_scalar) = {
    .schema =
        "aten::_foreach_addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar "
        "value=1) -> Tensor[]",
    .each = "aten::addcmul",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3]), "
        "(f32[2,1]), 0.5",
};

IG_OP(_foreach_addcmul_scalarlist) = {
    .schema =
        "aten::_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, "
        "Scalar[] scalars) -> Tensor[]",
    .each = "aten::addcmul",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_addcmul_tensor) = {
    .schema =
        "aten::_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor "
        "scalars) -> Tensor[]",
    .each = "aten::addcmul",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), f32[2]",
    .waive =
        "fake: the numbers are read; symbolic: the same; gradient of scalars: PyTorch takes them "
        "as "
        "plain numbers; second: the same",
};

IG_OP(_foreach_asin) = {
    .schema = "aten::_foreach_asin(Tensor[] self) -> Tensor[]",
    .each = "aten::asin",
    .samples = "(f32[3]:s, f32[2,2]:s)",
};

IG_OP(_foreach_atan) = {
    .schema = "aten::_foreach_atan(Tensor[] self) -> Tensor[]",
    .each = "aten::atan",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_ceil) = {
    .schema = "aten::_foreach_ceil(Tensor[] self) -> Tensor[]",
    .each = "aten::ceil",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_clamp_max_list) = {
    .schema = "aten::_foreach_clamp_max.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::clamp_max.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2])",
};

IG_OP(_foreach_clamp_max_scalar) = {
    .schema = "aten::_foreach_clamp_max.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::clamp_max",
    .samples = "(f32[3], f32[2,2]), 0.25",
};

IG_OP(_foreach_clamp_max_scalarlist) = {
    .schema = "aten::_foreach_clamp_max.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::clamp_max",
    .samples = "(f32[3], f32[2,2]), (0.25, -0.5)",
};

IG_OP(_foreach_clamp_min_list) = {
    .schema = "aten::_foreach_clamp_min.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::clamp_min.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2])",
};

IG_OP(_foreach_clamp_min_scalar) = {
    .schema = "aten::_foreach_clamp_min.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::clamp_min",
    .samples = "(f32[3], f32[2,2]), 0.25",
};

IG_OP(_foreach_clamp_min_scalarlist) = {
    .schema = "aten::_foreach_clamp_min.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::clamp_min",
    .samples = "(f32[3], f32[2,2]), (0.25, -0.5)",
};

IG_OP(_foreach_copy) = {
    .schema =
        "aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] "
        "self_out",
    .each = "aten::copy",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,1])",
    .waive = "gradient: PyTorch has none of copy",
};

IG_OP(_foreach_cos) = {
    .schema = "aten::_foreach_cos(Tensor[] self) -> Tensor[]",
    .each = "aten::cos",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_cosh) = {
    .schema = "aten::_foreach_cosh(Tensor[] self) -> Tensor[]",
    .each = "aten::cosh",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_div_list) = {
    .schema = "aten::_foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::div.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3])",
};

IG_OP(_foreach_div_scalar) = {
    .schema = "aten::_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::div.Scalar",
    .samples = "(f32[3], f32[2,2]), 2 | (f32[0], f32[]), 0.5",
};

IG_OP(_foreach_div_scalarlist) = {
    .schema = "aten::_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::div.Scalar",
    .samples = "(f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_div_tensor) = {
    .schema = "aten::_foreach_div.Tensor(Tensor[] self, Tensor other) -> Tensor[]",
    .each = "aten::div.Tensor",
    .samples = "(f32[3], f32[2,2]), f32[]",
};

IG_OP(_foreach_erf) = {
    .schema = "aten::_foreach_erf(Tensor[] self) -> Tensor[]",
    .each = "aten::erf",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_erfc) = {
    .schema = "aten::_foreach_erfc(Tensor[] self) -> Tensor[]",
    .each = "aten::erfc",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_exp) = {
    .schema = "aten::_foreach_exp(Tensor[] self) -> Tensor[]",
    .each = "aten::exp",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_expm1) = {
    .schema = "aten::_foreach_expm1(Tensor[] self) -> Tensor[]",
    .each = "aten::expm1",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_floor) = {
    .schema = "aten::_foreach_floor(Tensor[] self) -> Tensor[]",
    .each = "aten::floor",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_frac) = {
    .schema = "aten::_foreach_frac(Tensor[] self) -> Tensor[]",
    .each = "aten::frac",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_lerp_list) = {
    .schema =
        "aten::_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]",
    .each = "aten::lerp.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:u, f32[2,2]:u)",
};

IG_OP(_foreach_lerp_scalar) = {
    .schema =
        "aten::_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]",
    .each = "aten::lerp.Scalar",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]), 0.75",
};

IG_OP(_foreach_lgamma) = {
    .schema = "aten::_foreach_lgamma(Tensor[] self) -> Tensor[]",
    .each = "aten::lgamma",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_log) = {
    .schema = "aten::_foreach_log(Tensor[] self) -> Tensor[]",
    .each = "aten::log",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_log10) = {
    .schema = "aten::_foreach_log10(Tensor[] self) -> Tensor[]",
    .each = "aten::log10",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_log1p) = {
    .schema = "aten::_foreach_log1p(Tensor[] self) -> Tensor[]",
    .each = "aten::log1p",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_log2) = {
    .schema = "aten::_foreach_log2(Tensor[] self) -> Tensor[]",
    .each = "aten::log2",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_max) = {
    .schema = "aten::_foreach_max(Tensor[] self) -> Tensor[]",
    .each = "aten::max",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_maximum_list) = {
    .schema = "aten::_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::clamp_min.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2])",
};

IG_OP(_foreach_maximum_scalar) = {
    .schema = "aten::_foreach_maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::clamp_min",
    .samples = "(f32[3], f32[2,2]), 0.25",
};

IG_OP(_foreach_maximum_scalarlist) = {
    .schema = "aten::_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::clamp_min",
    .samples = "(f32[3], f32[2,2]), (0.25, -0.5)",
};

IG_OP(_foreach_minimum_list) = {
    .schema = "aten::_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::clamp_max.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2])",
};

IG_OP(_foreach_minimum_scalar) = {
    .schema = "aten::_foreach_minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::clamp_max",
    .samples = "(f32[3], f32[2,2]), 0.25",
};

IG_OP(_foreach_minimum_scalarlist) = {
    .schema = "aten::_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::clamp_max",
    .samples = "(f32[3], f32[2,2]), (0.25, -0.5)",
};

IG_OP(_foreach_mul_list) = {
    .schema = "aten::_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]",
    .each = "aten::mul.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3])",
};

IG_OP(_foreach_mul_scalar) = {
    .schema = "aten::_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::mul.Scalar",
    .samples = "(f32[3], f32[2,2]), 2 | (f32[0], f32[]), 0.5",
};

IG_OP(_foreach_mul_scalarlist) = {
    .schema = "aten::_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::mul.Scalar",
    .samples = "(f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_mul_tensor) = {
    .schema = "aten::_foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]",
    .each = "aten::mul.Tensor",
    .samples = "(f32[3], f32[2,2]), f32[]",
};

IG_OP(_foreach_neg) = {
    .schema = "aten::_foreach_neg(Tensor[] self) -> Tensor[]",
    .each = "aten::neg",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_norm_scalar) = {
    .schema =
        "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> "
        "Tensor[]",
    .each = "aten::linalg_vector_norm",
    .samples = "(f32[3], f32[2,2]) | (f32[3], f32[2,2]), 1 | (f32[3], f32[2,2]), 3, f64",
};

IG_OP(_foreach_pow_list) = {
    .schema = "aten::_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]",
    .each = "aten::pow.Tensor_Tensor",
    .samples = "(f32[3]:+, f32[2,2]:+), (f32[3], f32[2,2])",
};

IG_OP(_foreach_pow_scalar) = {
    .schema = "aten::_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]",
    .each = "aten::pow.Tensor_Scalar",
    .samples = "(f32[3]:+, f32[2,2]:+), 2",
};

IG_OP(_foreach_pow_scalarandtensor) = {
    .schema = "aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
    .each = "aten::pow.Scalar",
    .samples = "2, (f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_pow_scalarlist) = {
    .schema = "aten::_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]",
    .each = "aten::pow.Tensor_Scalar",
    .samples = "(f32[3]:+, f32[2,2]:+), (2, 0.5)",
};

IG_OP(_foreach_reciprocal) = {
    .schema = "aten::_foreach_reciprocal(Tensor[] self) -> Tensor[]",
    .each = "aten::reciprocal",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_round) = {
    .schema = "aten::_foreach_round(Tensor[] self) -> Tensor[]",
    .each = "aten::round",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_sigmoid) = {
    .schema = "aten::_foreach_sigmoid(Tensor[] self) -> Tensor[]",
    .each = "aten::sigmoid",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_sign) = {
    .schema = "aten::_foreach_sign(Tensor[] self) -> Tensor[]",
    .each = "aten::sign",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_sin) = {
    .schema = "aten::_foreach_sin(Tensor[] self) -> Tensor[]",
    .each = "aten::sin",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_sinh) = {
    .schema = "aten::_foreach_sinh(Tensor[] self) -> Tensor[]",
    .each = "aten::sinh",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_sqrt) = {
    .schema = "aten::_foreach_sqrt(Tensor[] self) -> Tensor[]",
    .each = "aten::sqrt",
    .samples = "(f32[3]:+, f32[2,2]:+)",
};

IG_OP(_foreach_sub_list) = {
    .schema =
        "aten::_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
    .each = "aten::sub.Tensor",
    .samples = "(f32[3], f32[2,2]), (f32[3], f32[2,2]) | (f32[2,3]), (f32[3]), alpha=2",
};

IG_OP(_foreach_sub_scalar) = {
    .schema = "aten::_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
    .each = "aten::sub.Scalar",
    .samples = "(f32[3], f32[2,2]), 2 | (f32[0], f32[]), 0.5",
};

IG_OP(_foreach_sub_scalarlist) = {
    .schema = "aten::_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
    .each = "aten::sub.Scalar",
    .samples = "(f32[3], f32[2,2]), (2, 0.5)",
};

IG_OP(_foreach_tan) = {
    .schema = "aten::_foreach_tan(Tensor[] self) -> Tensor[]",
    .each = "aten::tan",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_tanh) = {
    .schema = "aten::_foreach_tanh(Tensor[] self) -> Tensor[]",
    .each = "aten::tanh",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_trunc) = {
    .schema = "aten::_foreach_trunc(Tensor[] self) -> Tensor[]",
    .each = "aten::trunc",
    .samples = "(f32[3], f32[2,2])",
};

IG_OP(_foreach_zero) = {
    .schema = "aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out",
    .each = "aten::zero",
    .samples = "(f32[3], f32[2,2])",
};
