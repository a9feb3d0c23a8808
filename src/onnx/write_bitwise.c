// SPDX-License-Identifier: Apache-2.0
// ONNX of operations on bits. Truth values have operators of their own; integers have them from
// opset 18 on. Shifts are products with powers of two: those of the standard know no signs.
#include "onnx/writer.h"

static bool is_bool(const ig_onnx_call *call) {
  return call->val->dtype == IG_BOOL;
}

static void bitwise(ig_onnx *x, const ig_onnx_call *call) {
  static const struct {
    char key;
    const char *truth;
    const char *bits;
  } ops[] = {{'a', "And", "BitwiseAnd"}, {'o', "Or", "BitwiseOr"}, {'x', "Xor", "BitwiseXor"}};
  ig_dtype d = call->val->dtype;
  size_t i = 0;
  while (i < 2 && ops[i].key != call->row->op_type[0]) i++;
  if (!is_bool(call) && x->opset < 18) {
    ig_onnx_refuse(x, call->node, "operations on the bits of integers need opset 18");
  }
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  (void)ig_onnx_emit2(x, is_bool(call) ? ops[i].truth : ops[i].bits, a, b, call->out);
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

static void shift(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Mul", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  const char *factor = ig_onnx_emit2(x, "Pow", ig_onnx_integer(x, d, 2), b, NULL);
  ig_onnx_node node = {.op_type = "Mul", .in = {a, factor}};
  if (call->row->op_type[0] == 'r') {
    a = ig_onnx_emit2(x, "Sub", a, ig_onnx_emit2(x, "Mod", a, factor, NULL), NULL);
    node = (ig_onnx_node){.op_type = "Div", .in = {a, factor}};
  }
  (void)ig_onnx_emit_as(x, call, &node, d);
}

const ig_onnx_row ig_onnx_bitwise[] = {
    {"aten.bitwise_and.Tensor", bitwise, "and", NULL},
    {"aten.bitwise_and.Scalar", bitwise, "and", NULL},
    {"aten.bitwise_and.Scalar_Tensor", bitwise, "and", NULL},
    {"aten.__and__.Tensor", bitwise, "and", NULL},
    {"aten.__and__.Scalar", bitwise, "and", NULL},
    {"aten.bitwise_or.Tensor", bitwise, "or", NULL},
    {"aten.bitwise_or.Scalar", bitwise, "or", NULL},
    {"aten.bitwise_or.Scalar_Tensor", bitwise, "or", NULL},
    {"aten.__or__.Tensor", bitwise, "or", NULL},
    {"aten.__or__.Scalar", bitwise, "or", NULL},
    {"aten.bitwise_xor.Tensor", bitwise, "xor", NULL},
    {"aten.bitwise_xor.Scalar", bitwise, "xor", NULL},
    {"aten.__xor__.Tensor", bitwise, "xor", NULL},
    {"aten.__xor__.Scalar", bitwise, "xor", NULL},
    {"aten.bitwise_not.default", bitwise_not, NULL, NULL},
    {"aten.bitwise_left_shift.Tensor", shift, "left", NULL},
    {"aten.bitwise_left_shift.Tensor_Scalar", shift, "left", NULL},
    {"aten.bitwise_left_shift.Scalar_Tensor", shift, "left", NULL},
    {"aten.__lshift__.Tensor", shift, "left", NULL},
    {"aten.__lshift__.Scalar", shift, "left", NULL},
    {"aten.bitwise_right_shift.Tensor", shift, "right", NULL},
    {"aten.bitwise_right_shift.Tensor_Scalar", shift, "right", NULL},
    {"aten.bitwise_right_shift.Scalar_Tensor", shift, "right", NULL},
    {"aten.__rshift__.Tensor", shift, "right", NULL},
    {"aten.__rshift__.Scalar", shift, "right", NULL},
    {NULL, NULL, NULL, NULL},
};
