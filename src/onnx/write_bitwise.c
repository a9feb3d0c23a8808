// SPDX-License-Identifier: Apache-2.0
// ONNX of operations on bits. Bools have their own operators; integers have operators from opset 18
// on. Shifts are products with powers of two, because those of ONNX are unsigned; they serve only
// bytes that are shifted by a known number.
#include "onnx/writer.h"

static bool is_bool(const ig_onnx_call *call) {
  return call->val->dtype == IG_BOOL;
}

// The operators of truth values and of integers.
static void bitwise(ig_onnx *x, const ig_onnx_call *call, const char *truth, const char *bits) {
  ig_dtype d = call->val->dtype;
  if (!is_bool(call) && x->opset < 18) {
    ig_onnx_refuse(x, call->node, "operations on the bits of integers need opset 18");
  }
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  (void)ig_onnx_emit2(x, is_bool(call) ? truth : bits, a, b, call->out);
}
static void bit_and(ig_onnx *x, const ig_onnx_call *call) {
  bitwise(x, call, "And", "BitwiseAnd");
}
static void bit_or(ig_onnx *x, const ig_onnx_call *call) {
  bitwise(x, call, "Or", "BitwiseOr");
}
static void bit_xor(ig_onnx *x, const ig_onnx_call *call) {
  bitwise(x, call, "Xor", "BitwiseXor");
}

// Below opset 18: -1 - x, or 255 - x
static void bitwise_not(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  if (is_bool(call) || x->opset >= 18) {
    (void)ig_onnx_emit1(x, is_bool(call) ? "Not" : "BitwiseNot", self, call->out);
    return;
  }
  ig_dtype wide = ig_onnx_compute_type(x, "Sub", d);
  const char *in = ig_onnx_operand(x, &call->args[0], wide);
  ig_onnx_node node = {.op_type = "Sub", .in = {ig_onnx_integer(x, wide, -1), in}};
  (void)ig_onnx_emit_as(x, call, &node, wide);
}

// By fewer bits than a byte has: C, and so runtimes, leave open what a larger shift gives.
static bool is_small(const ig_onnx_call *call) {
  const ig_value *by = &call->args[1];
  return by->kind == IG_KIND_INT && !by->i.expr && by->i.value >= 0 && by->i.value < 8;
}

static void shift(ig_onnx *x, const ig_onnx_call *call, bool right) {
  ig_dtype own = call->val->dtype;
  if (own == IG_U8 && x->least >= 11 && is_small(call)) {
    const char *self = ig_onnx_operand(x, &call->args[0], own);
    (void)ig_onnx_emit(
        x, &(ig_onnx_node){.op_type = "BitShift",
                           .in = {self, ig_onnx_operand(x, &call->args[1], own)},
                           .attrs = {ig_onnx_string("direction", right ? "RIGHT" : "LEFT")},
                           .out = call->out});
    return;
  }
  ig_dtype d = ig_onnx_compute_type(x, "Mul", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  const char *factor = ig_onnx_emit2(x, "Pow", ig_onnx_integer(x, d, 2), b, NULL);
  ig_onnx_node node = {.op_type = "Mul", .in = {a, factor}};
  if (right) {
    a = ig_onnx_emit2(x, "Sub", a, ig_onnx_emit2(x, "Mod", a, factor, NULL), NULL);
    node = (ig_onnx_node){.op_type = "Div", .in = {a, factor}};
  }
  (void)ig_onnx_emit_as(x, call, &node, d);
}
static void shift_left(ig_onnx *x, const ig_onnx_call *call) {
  shift(x, call, false);
}
static void shift_right(ig_onnx *x, const ig_onnx_call *call) {
  shift(x, call, true);
}

const ig_onnx_row ig_onnx_bitwise[] = {
    {"aten.bitwise_and.Tensor", bit_and, NULL, NULL},
    {"aten.bitwise_and.Scalar", bit_and, NULL, NULL},
    {"aten.bitwise_and.Scalar_Tensor", bit_and, NULL, NULL},
    {"aten.__and__.Tensor", bit_and, NULL, NULL},
    {"aten.__and__.Scalar", bit_and, NULL, NULL},
    {"aten.bitwise_or.Tensor", bit_or, NULL, NULL},
    {"aten.bitwise_or.Scalar", bit_or, NULL, NULL},
    {"aten.bitwise_or.Scalar_Tensor", bit_or, NULL, NULL},
    {"aten.__or__.Tensor", bit_or, NULL, NULL},
    {"aten.__or__.Scalar", bit_or, NULL, NULL},
    {"aten.bitwise_xor.Tensor", bit_xor, NULL, NULL},
    {"aten.bitwise_xor.Scalar", bit_xor, NULL, NULL},
    {"aten.__xor__.Tensor", bit_xor, NULL, NULL},
    {"aten.__xor__.Scalar", bit_xor, NULL, NULL},
    {"aten.bitwise_not.default", bitwise_not, NULL, NULL},
    {"aten.bitwise_left_shift.Tensor", shift_left, NULL, NULL},
    {"aten.bitwise_left_shift.Tensor_Scalar", shift_left, NULL, NULL},
    {"aten.bitwise_left_shift.Scalar_Tensor", shift_left, NULL, NULL},
    {"aten.__lshift__.Tensor", shift_left, NULL, NULL},
    {"aten.__lshift__.Scalar", shift_left, NULL, NULL},
    {"aten.bitwise_right_shift.Tensor", shift_right, NULL, NULL},
    {"aten.bitwise_right_shift.Tensor_Scalar", shift_right, NULL, NULL},
    {"aten.bitwise_right_shift.Scalar_Tensor", shift_right, NULL, NULL},
    {"aten.__rshift__.Tensor", shift_right, NULL, NULL},
    {"aten.__rshift__.Scalar", shift_right, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
