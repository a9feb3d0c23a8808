// SPDX-License-Identifier: Apache-2.0
// ONNX of pointwise operators. ONNX does not promote types: operands are converted to the dtype of
// the result, or of the comparison, first.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

static const char *emit1(ig_onnx *x, const char *op, const char *a, const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a}, .out = out});
}

static const char *emit2(ig_onnx *x, const char *op, const char *a, const char *b,
                         const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = op, .in = {a, b}, .out = out});
}

static const char *self_of(ig_onnx *x, const ig_onnx_call *call) {
  return ig_onnx_operand(x, &call->args[0], call->val->dtype);
}

static void unary(ig_onnx *x, const ig_onnx_call *call) {
  (void)emit1(x, call->row->op_type, self_of(x, call), call->out);
}

// The result is a truth value; the operand keeps its dtype.
static void test(ig_onnx *x, const ig_onnx_call *call) {
  (void)emit1(x, call->row->op_type, ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT), call->out);
}

static void logical_not(ig_onnx *x, const ig_onnx_call *call) {
  (void)emit1(x, "Not", ig_onnx_operand(x, &call->args[0], IG_BOOL), call->out);
}

static void rsqrt(ig_onnx *x, const ig_onnx_call *call) {
  const char *root = emit1(x, "Sqrt", self_of(x, call), NULL);
  (void)emit1(x, "Reciprocal", root, call->out);
}

// ---- two operands

static void binary(ig_onnx *x, const ig_onnx_call *call) {
  const char *b = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  (void)emit2(x, call->row->op_type, self_of(x, call), b, call->out);
}

// add and sub: self + alpha * other
static void scaled(ig_onnx *x, const ig_onnx_call *call) {
  const char *b = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  double alpha = ig_onnx_float_of(x, &call->args[2]);
  if (alpha != 1) b = emit2(x, "Mul", b, ig_onnx_number(x, call->val->dtype, alpha), NULL);
  (void)emit2(x, call->row->op_type, self_of(x, call), b, call->out);
}

static void rsub(ig_onnx *x, const ig_onnx_call *call) {
  const char *a = self_of(x, call);
  double alpha = ig_onnx_float_of(x, &call->args[2]);
  if (alpha != 1) a = emit2(x, "Mul", a, ig_onnx_number(x, call->val->dtype, alpha), NULL);
  (void)emit2(x, "Sub", ig_onnx_operand(x, &call->args[1], call->val->dtype), a, call->out);
}

// The dtype that two operands are compared in.
static ig_dtype common(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *a = ig_onnx_tensor_of(&call->args[0]);
  const ig_tensor *b = ig_onnx_tensor_of(&call->args[1]);
  if (a && b && a->dtype != b->dtype) {
    ig_onnx_refuse(x, call->node, "comparing %s with %s cannot be written as ONNX yet",
                   ig_dtype_text(a->dtype), ig_dtype_text(b->dtype));
  }
  const ig_tensor *t = a ? a : b;
  bool fraction = call->args[1].kind == IG_KIND_FLOAT && t && !ig_dtype_is_float(t->dtype);
  return fraction || !t ? IG_F32 : t->dtype;
}

static void compare(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype dtype = common(x, call);
  const char *a = ig_onnx_operand(x, &call->args[0], dtype);
  const char *b = ig_onnx_operand(x, &call->args[1], dtype);
  (void)emit2(x, call->row->op_type, a, b, call->out);
}

static void not_equal(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype dtype = common(x, call);
  const char *a = ig_onnx_operand(x, &call->args[0], dtype);
  const char *b = ig_onnx_operand(x, &call->args[1], dtype);
  (void)emit1(x, "Not", emit2(x, "Equal", a, b, NULL), call->out);
}

static void logical(ig_onnx *x, const ig_onnx_call *call) {
  const char *a = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  const char *b = ig_onnx_operand(x, &call->args[1], IG_BOOL);
  (void)emit2(x, call->row->op_type, a, b, call->out);
}

static void where(ig_onnx *x, const ig_onnx_call *call) {
  const char *condition = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  const char *a = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  const char *b = ig_onnx_operand(x, &call->args[2], call->val->dtype);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "Where", .in = {condition, a, b}, .out = call->out});
}

// ---- activations

// clamp, hardtanh: bounds may be None.
static void clip(ig_onnx *x, const ig_onnx_call *call) {
  const char *low = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  const char *high = ig_onnx_operand(x, &call->args[2], call->val->dtype);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Clip",
                                        .in = {self_of(x, call), low, high[0] ? high : NULL},
                                        .out = call->out});
}

static void silu(ig_onnx *x, const ig_onnx_call *call) {
  const char *self = self_of(x, call);
  (void)emit2(x, "Mul", self, emit1(x, "Sigmoid", self, NULL), call->out);
}

// Opset 18 has no Gelu: 0.5 x (1 + erf(x / sqrt 2)), or with tanh.
static void gelu(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = self_of(x, call);
  bool tanh_form = call->args[1].kind == IG_KIND_STR && strcmp(call->args[1].str, "tanh") == 0;
  const char *inner = NULL;
  if (tanh_form) {
    const char *cube = emit2(x, "Mul", emit2(x, "Mul", self, self, NULL), self, NULL);
    cube = emit2(x, "Mul", cube, ig_onnx_number(x, d, 0.044715), NULL);
    cube = emit2(x, "Add", self, cube, NULL);
    inner = emit2(x, "Mul", cube, ig_onnx_number(x, d, sqrt(2 / acos(-1))), NULL);
    inner = emit1(x, "Tanh", inner, NULL);
  } else {
    inner = emit2(x, "Mul", self, ig_onnx_number(x, d, sqrt(0.5)), NULL);
    inner = emit1(x, "Erf", inner, NULL);
  }
  inner = emit2(x, "Add", inner, ig_onnx_number(x, d, 1), NULL);
  const char *half = emit2(x, "Mul", self, ig_onnx_number(x, d, 0.5), NULL);
  (void)emit2(x, "Mul", half, inner, call->out);
}

// ---- copies and conversions

static void identity(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const char *name = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  if (self && self->dtype != call->val->dtype) {
    (void)ig_onnx_cast(x, name, call->val->dtype, call->out);
  } else {
    (void)emit1(x, "Identity", name, call->out);
  }
}

static void dropout(ig_onnx *x, const ig_onnx_call *call) {
  if (ig_onnx_bool_of(x, &call->args[2])) {
    ig_onnx_refuse(x, call->node,
                   "dropout in training mode cannot be written as ONNX: call eval() first");
  }
  identity(x, call);
}

const ig_onnx_row ig_onnx_pointwise[] = {
    {"aten.relu.default", unary, "Relu", NULL},
    {"aten.sigmoid.default", unary, "Sigmoid", NULL},
    {"aten.tanh.default", unary, "Tanh", NULL},
    {"aten.exp.default", unary, "Exp", NULL},
    {"aten.log.default", unary, "Log", NULL},
    {"aten.sqrt.default", unary, "Sqrt", NULL},
    {"aten.neg.default", unary, "Neg", NULL},
    {"aten.abs.default", unary, "Abs", NULL},
    {"aten.round.default", unary, "Round", NULL},
    {"aten.sin.default", unary, "Sin", NULL},
    {"aten.cos.default", unary, "Cos", NULL},
    {"aten.reciprocal.default", unary, "Reciprocal", NULL},
    {"aten.isnan.default", test, "IsNaN", NULL},
    {"aten.logical_not.default", logical_not, NULL, NULL},
    {"aten.rsqrt.default", rsqrt, NULL, NULL},
    {"aten.add.Tensor", scaled, "Add", NULL},
    {"aten.add.Scalar", scaled, "Add", NULL},
    {"aten.sub.Tensor", scaled, "Sub", NULL},
    {"aten.sub.Scalar", scaled, "Sub", NULL},
    {"aten.rsub.Scalar", rsub, NULL, NULL},
    {"aten.mul.Tensor", binary, "Mul", NULL},
    {"aten.mul.Scalar", binary, "Mul", NULL},
    {"aten.div.Tensor", binary, "Div", NULL},
    {"aten.div.Scalar", binary, "Div", NULL},
    {"aten.pow.Tensor_Scalar", binary, "Pow", NULL},
    {"aten.pow.Tensor_Tensor", binary, "Pow", NULL},
    {"aten.maximum.default", binary, "Max", NULL},
    {"aten.minimum.default", binary, "Min", NULL},
    {"aten.eq.Tensor", compare, "Equal", NULL},
    {"aten.eq.Scalar", compare, "Equal", NULL},
    {"aten.lt.Tensor", compare, "Less", NULL},
    {"aten.lt.Scalar", compare, "Less", NULL},
    {"aten.le.Tensor", compare, "LessOrEqual", NULL},
    {"aten.le.Scalar", compare, "LessOrEqual", NULL},
    {"aten.gt.Tensor", compare, "Greater", NULL},
    {"aten.gt.Scalar", compare, "Greater", NULL},
    {"aten.ge.Tensor", compare, "GreaterOrEqual", NULL},
    {"aten.ge.Scalar", compare, "GreaterOrEqual", NULL},
    {"aten.ne.Tensor", not_equal, NULL, NULL},
    {"aten.ne.Scalar", not_equal, NULL, NULL},
    {"aten.logical_and.default", logical, "And", NULL},
    {"aten.logical_or.default", logical, "Or", NULL},
    {"aten.logical_xor.default", logical, "Xor", NULL},
    {"aten.where.self", where, NULL, NULL},
    {"aten.clamp.default", clip, NULL, NULL},
    {"aten.hardtanh.default", clip, NULL, NULL},
    {"aten.silu.default", silu, NULL, NULL},
    {"aten.gelu.default", gelu, NULL, NULL},
    {"aten.clone.default", identity, NULL, NULL},
    {"aten.contiguous.default", identity, NULL, NULL},
    {"aten.detach.default", identity, NULL, NULL},
    {"aten.alias.default", identity, NULL, NULL},
    {"aten._to_copy.default", identity, NULL, NULL},
    {"aten.to.dtype", identity, NULL, NULL},
    {"aten.dropout.default", dropout, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
