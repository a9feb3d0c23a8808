// SPDX-License-Identifier: Apache-2.0
// Aliases: operators that are equivalent to another operator, argument by argument.
#include "op/formula.h"
#include "op/shape.h"

#define SAME(name, id, n)                                   \
  static ig_tensor *name(ig_ctx *c, const ig_value *args) { \
    return ig_call_id(c, id, args, n);                      \
  }
SAME(to_abs, IG_ID_ABS, 1)
SAME(to_neg, IG_ID_NEG, 1)
SAME(to_trunc, IG_ID_TRUNC, 1)
SAME(to_acos, IG_ID_ACOS, 1)
SAME(to_acosh, IG_ID_ACOSH, 1)
SAME(to_asin, IG_ID_ASIN, 1)
SAME(to_asinh, IG_ID_ASINH, 1)
SAME(to_atan, IG_ID_ATAN, 1)
SAME(to_atanh, IG_ID_ATANH, 1)
SAME(to_atan2, IG_ID_ATAN2, 2)
SAME(to_mul, IG_ID_MUL_TENSOR, 2)
SAME(to_div, IG_ID_DIV_TENSOR, 2)
static ig_tensor *to_div_mode(ig_ctx *c, const ig_value *args) {
  bool exact = args[2].kind == IG_KIND_NONE;
  return ig_call_id(c, exact ? IG_ID_DIV_TENSOR : IG_ID_DIV_TENSOR_MODE, args, exact ? 2 : 3);
}
SAME(to_sub, IG_ID_SUB_TENSOR, 3)
SAME(to_gt, IG_ID_GT_TENSOR, 2)
SAME(to_gt_scalar, IG_ID_GT_SCALAR, 2)
SAME(to_ge, IG_ID_GE_TENSOR, 2)
SAME(to_ge_scalar, IG_ID_GE_SCALAR, 2)
SAME(to_lt, IG_ID_LT_TENSOR, 2)
SAME(to_lt_scalar, IG_ID_LT_SCALAR, 2)
SAME(to_le, IG_ID_LE_TENSOR, 2)
SAME(to_le_scalar, IG_ID_LE_SCALAR, 2)
SAME(to_ne, IG_ID_NE_TENSOR, 2)
SAME(to_ne_scalar, IG_ID_NE_SCALAR, 2)
SAME(to_clamp, IG_ID_CLAMP, 3)
SAME(to_clamp_tensor, IG_ID_CLAMP_TENSOR, 3)
SAME(to_transpose, IG_ID_TRANSPOSE_INT, 3)
SAME(to_movedim_int, IG_ID_MOVEDIM_INT, 3)
SAME(to_movedim_list, IG_ID_MOVEDIM_INTLIST, 3)
SAME(to_digamma, IG_ID_DIGAMMA, 1)
SAME(to_lgamma, IG_ID_LGAMMA, 1)
SAME(to_erf, IG_ID_ERF, 1)
SAME(to_erfc, IG_ID_ERFC, 1)
SAME(to_erfinv, IG_ID_ERFINV, 1)
SAME(to_exp2, IG_ID_EXP2, 1)
SAME(to_expm1, IG_ID_EXPM1, 1)
SAME(to_log1p, IG_ID_LOG1P, 1)
SAME(to_sigmoid, IG_ID_SIGMOID, 1)
SAME(to_logit, IG_ID_LOGIT, 2)
SAME(to_i0, IG_ID_I0, 1)
SAME(to_sinc, IG_ID_SINC, 1)
SAME(to_round, IG_ID_ROUND_DECIMALS, 2)
SAME(to_polygamma, IG_ID_POLYGAMMA, 2)
SAME(to_gammainc, IG_ID_IGAMMA, 2)
SAME(to_gammaincc, IG_ID_IGAMMAC, 2)
SAME(to_xlogy, IG_ID_XLOGY_TENSOR, 2)
SAME(to_xlogy_other, IG_ID_XLOGY_SCALAR_OTHER, 2)
SAME(to_xlogy_self, IG_ID_XLOGY_SCALAR_SELF, 2)
SAME(to_softmax, IG_ID_SOFTMAX_INT, 3)
SAME(to_log_softmax, IG_ID_LOG_SOFTMAX_INT, 3)
SAME(to_logsumexp, IG_ID_LOGSUMEXP, 3)
SAME(to_mvlgamma, IG_ID_MVLGAMMA, 2)
SAME(to_matmul, IG_ID_MATMUL, 2)
SAME(to_diagonal, IG_ID_DIAGONAL, 4)

static ig_tensor *square_decompose(ig_ctx *c, const ig_value *args) {
  return ig_pow_tensor_scalar(c, args[0].tensor, ig_of_i64(2));
}
static ig_tensor *broadcast_to_decompose(ig_ctx *c, const ig_value *args) {
  return ig_expand(c, args[0].tensor, args[1]);
}

#define ONE "f32[3,5] | f32[]"
#define UNIT "f32[3,5]:s | f32[]:s"
#define TWO "f32[3,5], f32[5] | f32[], f32[2,3]"
#define NUMBER "f32[3,5], 2 | i64[3], 2"

IG_OP(absolute) = {
    .schema = "aten::absolute(Tensor self) -> Tensor",
    .decompose = to_abs,
    .samples = ONE,
};
IG_OP(negative) = {
    .schema = "aten::negative(Tensor self) -> Tensor",
    .decompose = to_neg,
    .samples = ONE,
};
IG_OP(square) = {
    .schema = "aten::square(Tensor self) -> Tensor",
    .decompose = square_decompose,
    .samples = ONE,
};
IG_OP(fix) = {
    .schema = "aten::fix(Tensor self) -> Tensor",
    .decompose = to_trunc,
    .samples = ONE,
};
IG_OP(arccos) = {
    .schema = "aten::arccos(Tensor self) -> Tensor",
    .decompose = to_acos,
    .samples = UNIT,
};
IG_OP(arccosh) = {
    .schema = "aten::arccosh(Tensor self) -> Tensor",
    .decompose = to_acosh,
    .samples = "f32[3,5]:+ | f32[]:+",
    .waive = "gradient: below 1 there is no value; second: below 1 there is no value",
};
IG_OP(arcsin) = {
    .schema = "aten::arcsin(Tensor self) -> Tensor",
    .decompose = to_asin,
    .samples = UNIT,
};
IG_OP(arcsinh) = {
    .schema = "aten::arcsinh(Tensor self) -> Tensor",
    .decompose = to_asinh,
    .samples = ONE,
};
IG_OP(arctan) = {
    .schema = "aten::arctan(Tensor self) -> Tensor",
    .decompose = to_atan,
    .samples = ONE,
};
IG_OP(arctanh) = {
    .schema = "aten::arctanh(Tensor self) -> Tensor",
    .decompose = to_atanh,
    .samples = UNIT,
};
IG_OP(arctan2) = {
    .schema = "aten::arctan2(Tensor self, Tensor other) -> Tensor",
    .decompose = to_atan2,
    .samples = TWO,
};
IG_OP(multiply_tensor) = {
    .schema = "aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_mul,
    .numbers = true,
    .operands = 2,
    .samples = TWO,
};
IG_OP(multiply_scalar) = {
    .schema = "aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_mul,
    .samples = NUMBER,
};
IG_OP(divide_tensor) = {
    .schema = "aten::divide.Tensor(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div,
    .numbers = true,
    .operands = 2,
    .samples = "f32[3,5], f32[5]:+ | f32[], f32[2,3]:+",
};
IG_OP(divide_scalar) = {
    .schema = "aten::divide.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div,
    .samples = NUMBER,
};
IG_OP(divide_tensor_mode) = {
    .schema =
        "aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> "
        "Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div_mode,
    .numbers = true,
    .operands = 2,
    .samples =
        "f32[3,5], f32[5]:+, rounding_mode='floor' | f32[3], f32[3]:+, "
        "rounding_mode=None",
};
IG_OP(divide_scalar_mode) = {
    .schema =
        "aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> "
        "Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div_mode,
    .samples = "f32[3,5], 2, rounding_mode='trunc' | f32[3], 2, rounding_mode=None",
};
IG_OP(true_divide_tensor) = {
    .schema = "aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div,
    .numbers = true,
    .operands = 2,
    .samples = "f32[3,5], f32[5]:+ | f32[], f32[2,3]:+",
};
IG_OP(true_divide_scalar) = {
    .schema = "aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_div,
    .samples = NUMBER,
};
IG_OP(subtract_tensor) = {
    .schema = "aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_sub,
    .numbers = true,
    .operands = 2,
    .samples = "f32[3,5], f32[5] | f32[3], f32[3], alpha=2",
};
IG_OP(subtract_scalar) = {
    .schema = "aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .numbers_to_tensor = true,
    .decompose = to_sub,
    .samples = "f32[3,5], 2 | i64[3], 2, 3",
};
IG_OP(greater_tensor) = {
    .schema = "aten::greater.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = to_gt,
    .samples = TWO,
};
IG_OP(greater_scalar) = {
    .schema = "aten::greater.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_gt_scalar,
    .samples = NUMBER,
};
IG_OP(greater_equal_tensor) = {
    .schema = "aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = to_ge,
    .samples = TWO,
};
IG_OP(greater_equal_scalar) = {
    .schema = "aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_ge_scalar,
    .samples = NUMBER,
};
IG_OP(less_tensor) = {
    .schema = "aten::less.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = to_lt,
    .samples = TWO,
};
IG_OP(less_scalar) = {
    .schema = "aten::less.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_lt_scalar,
    .samples = NUMBER,
};
IG_OP(less_equal_tensor) = {
    .schema = "aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = to_le,
    .samples = TWO,
};
IG_OP(less_equal_scalar) = {
    .schema = "aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_le_scalar,
    .samples = NUMBER,
};
IG_OP(not_equal_tensor) = {
    .schema = "aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    .decompose = to_ne,
    .samples = TWO,
};
IG_OP(not_equal_scalar) = {
    .schema = "aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_ne_scalar,
    .samples = NUMBER,
};
IG_OP(clip) = {
    .schema = "aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    .decompose = to_clamp,
    .samples = "f32[3,5], -0.5, 0.5 | f32[3], None, 0.5",
};
IG_OP(clip_tensor) = {
    .schema = "aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    .decompose = to_clamp_tensor,
    .samples = "f32[3,5], f32[5], None | f32[3], None, f32[3]",
};
IG_OP(swapaxes) = {
    .schema = "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    .decompose = to_transpose,
    .samples = "f32[3,5], 0, 1 | f32[2,3,4], 0, -1",
};
IG_OP(swapdims) = {
    .schema = "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    .decompose = to_transpose,
    .samples = "f32[3,5], 0, 1 | f32[2,3,4], 0, -1",
};
IG_OP(moveaxis_int) = {
    .schema = "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    .decompose = to_movedim_int,
    .samples = "f32[2,3,4], 0, 2 | f32[3,5], -1, 0",
};
IG_OP(moveaxis_intlist) = {
    .schema =
        "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> "
        "Tensor(a)",
    .decompose = to_movedim_list,
    .samples = "f32[2,3,4], [0,1], [2,0] | f32[3,5], [1], [0]",
};
IG_OP(broadcast_to) = {
    .schema = "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    .decompose = broadcast_to_decompose,
    .samples = "f32[3], [2,3] | f32[1,3], [2,-1]",
};
IG_OP(special_digamma) = {
    .schema = "aten::special_digamma(Tensor self) -> Tensor",
    .decompose = to_digamma,
    .samples = "f32[3,5]:+ | f32[]:+",
};
IG_OP(special_psi) = {
    .schema = "aten::special_psi(Tensor self) -> Tensor",
    .decompose = to_digamma,
    .samples = "f32[3,5]:+ | f32[]:+",
};
IG_OP(special_gammaln) = {
    .schema = "aten::special_gammaln(Tensor self) -> Tensor",
    .decompose = to_lgamma,
    .samples = "f32[3,5]:+ | f32[]:+",
};
IG_OP(special_erf) = {
    .schema = "aten::special_erf(Tensor self) -> Tensor",
    .decompose = to_erf,
    .samples = ONE,
};
IG_OP(special_erfc) = {
    .schema = "aten::special_erfc(Tensor self) -> Tensor",
    .decompose = to_erfc,
    .samples = ONE,
};
IG_OP(special_erfinv) = {
    .schema = "aten::special_erfinv(Tensor self) -> Tensor",
    .decompose = to_erfinv,
    .samples = UNIT,
};
IG_OP(special_exp2) = {
    .schema = "aten::special_exp2(Tensor self) -> Tensor",
    .decompose = to_exp2,
    .samples = ONE,
};
IG_OP(special_expm1) = {
    .schema = "aten::special_expm1(Tensor self) -> Tensor",
    .decompose = to_expm1,
    .samples = ONE,
};
IG_OP(special_log1p) = {
    .schema = "aten::special_log1p(Tensor self) -> Tensor",
    .decompose = to_log1p,
    .samples = "f32[3,5]:+ | f32[]:+",
};
IG_OP(special_expit) = {
    .schema = "aten::special_expit(Tensor self) -> Tensor",
    .decompose = to_sigmoid,
    .samples = ONE,
};
IG_OP(special_logit) = {
    .schema = "aten::special_logit(Tensor self, float? eps=None) -> Tensor",
    .decompose = to_logit,
    .samples = "f32[3,5]:u | f32[3]:u, 0.3",
};
IG_OP(special_i0) = {
    .schema = "aten::special_i0(Tensor self) -> Tensor",
    .decompose = to_i0,
    .samples = ONE,
};
IG_OP(special_sinc) = {
    .schema = "aten::special_sinc(Tensor self) -> Tensor",
    .decompose = to_sinc,
    .samples = ONE,
};
IG_OP(special_round) = {
    .schema = "aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
    .decompose = to_round,
    .samples = "f32[3,5] | f32[3], decimals=1",
};
IG_OP(special_polygamma) = {
    .schema = "aten::special_polygamma(int n, Tensor self) -> Tensor",
    .decompose = to_polygamma,
    .samples = "1, f32[3,5]:+ | 2, f32[3]:+",
};
IG_OP(special_gammainc) = {
    .schema = "aten::special_gammainc(Tensor self, Tensor other) -> Tensor",
    .decompose = to_gammainc,
    .samples = "f32[3,5]:+, f32[5]:+ | f32[]:+, f32[3]:+",
    .waive = "gradient: PyTorch has none for self",
};
IG_OP(special_gammaincc) = {
    .schema = "aten::special_gammaincc(Tensor self, Tensor other) -> Tensor",
    .decompose = to_gammaincc,
    .samples = "f32[3,5]:+, f32[5]:+ | f32[]:+, f32[3]:+",
    .waive = "gradient: PyTorch has none for self",
};
IG_OP(special_xlogy) = {
    .schema = "aten::special_xlogy(Tensor self, Tensor other) -> Tensor",
    .decompose = to_xlogy,
    .samples = "f32[3,5], f32[5]:+ | f32[], f32[2,3]:+",
};
IG_OP(special_xlogy_other_scalar) = {
    .schema = "aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
    .decompose = to_xlogy_other,
    .samples = "f32[3,5], 2 | f32[3], 0.5",
};
IG_OP(special_xlogy_self_scalar) = {
    .schema = "aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
    .decompose = to_xlogy_self,
    .samples = "2, f32[3,5]:+ | 0.5, f32[3]:+",
};
IG_OP(special_softmax) = {
    .schema = "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .decompose = to_softmax,
    .samples = "f32[3,5], 1 | f32[4], 0, f64",
};
IG_OP(special_log_softmax) = {
    .schema =
        "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .decompose = to_log_softmax,
    .samples = "f32[3,5], 1 | f32[4], 0, dtype=f64",
};
IG_OP(special_logsumexp) = {
    .schema = "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    .decompose = to_logsumexp,
    .samples = "f32[3,5], [1] | f32[3,5], [0], True",
};
IG_OP(special_multigammaln) = {
    .schema = "aten::special_multigammaln(Tensor self, int p) -> Tensor",
    .decompose = to_mvlgamma,
    .samples = "f32[3]:+, 1 | f64[3]:+, 1",
};
IG_OP(linalg_matmul) = {
    .schema = "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
    .decompose = to_matmul,
    .samples = "f32[3,4], f32[4,2] | f32[2,3,4], f32[4]",
};
IG_OP(linalg_diagonal) = {
    .schema =
        "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> "
        "Tensor(a)",
    .decompose = to_diagonal,
    .samples = "f32[3,4] | f32[2,3,3], offset=1",
};
