// SPDX-License-Identifier: Apache-2.0
// ONNX of functions of several operands, element by element: arithmetic, comparisons, logic. ONNX
// broadcasts as PyTorch does but has no type promotion: operands are first converted to the dtype
// of the result, or of the comparison.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"
#include "op/shape.h"

static bool is_integral(ig_dtype d) {
  return d == IG_BOOL || ig_dtype_is_integral(d);
}

static void binary(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  ig_onnx_node node = {.op_type = call->row->op_type, .in = {a, b}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// The product of truth values is And.
static void multiply(ig_onnx *x, const ig_onnx_call *call) {
  if (call->val->dtype != IG_BOOL) {
    binary(x, call);
    return;
  }
  const char *a = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  const char *b = ig_onnx_operand(x, &call->args[1], IG_BOOL);
  (void)ig_onnx_emit2(x, "And", a, b, call->out);
}

static bool is_one(const ig_value *v) {
  return (v->kind == IG_KIND_INT && !v->i.expr && v->i.value == 1) ||
         (v->kind == IG_KIND_FLOAT && !v->f_expr && v->f == 1);
}

static bool plain_number(const ig_value *v, double *out) {
  if (ig_onnx_is_symbolic(v)) return false;
  bool whole = v->kind == IG_KIND_INT;
  *out = whole ? (double)v->i.value : v->f;
  return whole || v->kind == IG_KIND_FLOAT;
}

// alpha * other; the product of two numbers is a number.
static const char *times_alpha(ig_onnx *x, const ig_onnx_call *call, ig_dtype d) {
  double number = 0;
  double alpha = 0;
  const ig_value *v = call->args;
  if (is_one(&v[2])) return ig_onnx_operand(x, &v[1], d);
  if (!is_integral(d) && plain_number(&v[1], &number) && plain_number(&v[2], &alpha)) {
    ig_onnx_count_values(x, 2);
    return ig_onnx_number(x, d, number * alpha);
  }
  const char *other = ig_onnx_operand(x, &v[1], d);
  return ig_onnx_emit2(x, "Mul", other, ig_onnx_operand(x, &v[2], d), NULL);
}

// add and sub: self + alpha * other
static void scaled(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = times_alpha(x, call, d);
  ig_onnx_node node = {.op_type = call->row->op_type, .in = {a, b}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// other - alpha * self
static void rsub(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Sub", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  if (!is_one(&call->args[2])) {
    a = ig_onnx_emit2(x, "Mul", a, ig_onnx_operand(x, &call->args[2], d), NULL);
  }
  ig_onnx_node node = {.op_type = "Sub", .in = {b, a}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// ---- division

static const char *modulo(ig_onnx *x, const char *a, const char *b, bool fmod, const char *out) {
  ig_onnx_node node = {.op_type = "Mod", .in = {a, b}, .out = out};
  if (fmod) node.attrs[0] = ig_onnx_int("fmod", 1);
  return ig_onnx_emit(x, &node);
}

static const char *toward_zero(ig_onnx *x, const char *name) {
  const char *size = ig_onnx_emit1(x, "Abs", name, NULL);
  size = ig_onnx_emit1(x, "Floor", size, NULL);
  return ig_onnx_emit2(x, "Mul", ig_onnx_emit1(x, "Sign", name, NULL), size, NULL);
}

// ONNX divides integers towards zero; its Mod has the sign of the divisor.
static void divide(ig_onnx *x, const ig_onnx_call *call, bool floor) {
  ig_dtype d = ig_onnx_compute_type(x, "Div", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  if (is_integral(d) && floor) a = ig_onnx_emit2(x, "Sub", a, modulo(x, a, b, false, NULL), NULL);
  const char *out = ig_onnx_emit2(x, "Div", a, b, NULL);
  if (!is_integral(d)) out = floor ? ig_onnx_emit1(x, "Floor", out, NULL) : toward_zero(x, out);
  (void)ig_onnx_finish(x, call, out, d);
}

// self, other, rounding_mode
static void div_mode(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *mode = &call->args[2];
  if (mode->kind != IG_KIND_STR) {
    const char *a = ig_onnx_operand(x, &call->args[0], call->val->dtype);
    const char *b = ig_onnx_operand(x, &call->args[1], call->val->dtype);
    (void)ig_onnx_emit2(x, "Div", a, b, call->out);
    return;
  }
  divide(x, call, strcmp(mode->str, "floor") == 0);
}

static void floor_divide(ig_onnx *x, const ig_onnx_call *call) {
  divide(x, call, true);
}

static void fmod_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Mod", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  (void)ig_onnx_finish(x, call, modulo(x, a, b, true, NULL), d);
}

// The remainder has the sign of the divisor.
static void remainder_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Mod", call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  if (is_integral(d)) {
    (void)ig_onnx_finish(x, call, modulo(x, a, b, false, NULL), d);
    return;
  }
  const char *zero = ig_onnx_number(x, d, 0);
  const char *rest = modulo(x, a, b, true, NULL);
  const char *below = ig_onnx_emit2(x, "Less", rest, zero, NULL);
  const char *other = ig_onnx_emit2(x, "Xor", below, ig_onnx_emit2(x, "Less", b, zero, NULL), NULL);
  const char *some = ig_onnx_emit1(x, "Not", ig_onnx_emit2(x, "Equal", rest, zero, NULL), NULL);
  const char *wrong = ig_onnx_emit2(x, "And", other, some, NULL);
  const char *fixed = ig_onnx_emit2(x, "Add", rest, b, NULL);
  (void)ig_onnx_finish(x, call, ig_onnx_emit3(x, "Where", wrong, fixed, rest, NULL), d);
}

// ---- other functions of two numbers

// fmax, fmin: a NaN operand is ignored.
static void fmax_fmin(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  const char *out = ig_onnx_emit2(x, call->row->op_type, a, b, NULL);
  if (!is_integral(d)) {
    const char *lost = ig_onnx_emit1(x, "IsNaN", b, NULL);
    out = ig_onnx_emit3(x, "Where", lost, a, out, NULL);
    lost = ig_onnx_emit1(x, "IsNaN", a, NULL);
    out = ig_onnx_emit3(x, "Where", lost, b, out, NULL);
  }
  (void)ig_onnx_finish(x, call, out, d);
}

// The angle of (x, y): atan(y / x), rotated by pi left of the y axis.
static void atan2_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Atan", call->val->dtype);
  const char *over = ig_onnx_operand(x, &call->args[0], d);
  const char *under = ig_onnx_operand(x, &call->args[1], d);
  const char *zero = ig_onnx_number(x, d, 0);
  const char *slope = ig_onnx_emit1(x, "Atan", ig_onnx_emit2(x, "Div", over, under, NULL), NULL);
  const char *below = ig_onnx_emit2(x, "Less", over, zero, NULL);
  const char *half = ig_onnx_emit3(x, "Where", below, ig_onnx_number(x, d, -acos(-1)),
                                   ig_onnx_number(x, d, acos(-1)), NULL);
  const char *turned = ig_onnx_emit2(x, "Add", slope, half, NULL);
  const char *left = ig_onnx_emit2(x, "Less", under, zero, NULL);
  const char *out = ig_onnx_emit3(x, "Where", left, turned, slope, NULL);
  const char *flat = ig_onnx_emit2(x, "Equal", over, zero, NULL);
  const char *thin = ig_onnx_emit2(x, "Equal", under, zero, NULL);
  const char *origin = ig_onnx_emit2(x, "And", flat, thin, NULL);
  (void)ig_onnx_finish(x, call, ig_onnx_emit3(x, "Where", origin, zero, out, NULL), d);
}

static void copysign_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *size = ig_onnx_emit1(x, "Abs", ig_onnx_operand(x, &call->args[0], d), NULL);
  const char *other = ig_onnx_operand(x, &call->args[1], d);
  const char *below = ig_onnx_emit2(x, "Less", other, ig_onnx_number(x, d, 0), NULL);
  const char *negative = ig_onnx_emit1(x, "Neg", size, NULL);
  (void)ig_onnx_emit3(x, "Where", below, negative, size, call->out);
}

static void hypot_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  a = ig_onnx_emit2(x, "Mul", a, a, NULL);
  b = ig_onnx_emit2(x, "Mul", b, b, NULL);
  (void)ig_onnx_emit1(x, "Sqrt", ig_onnx_emit2(x, "Add", a, b, NULL), call->out);
}

// self, end, weight: the form that is exact at the end that is nearer
static void lerp(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *from = ig_onnx_operand(x, &call->args[0], d);
  const char *to = ig_onnx_operand(x, &call->args[1], d);
  const char *off = ig_onnx_emit2(x, "Sub", to, from, NULL);
  const ig_value *w = &call->args[2];
  bool tensor = ig_onnx_tensor_of(w) != NULL;
  double weight = tensor ? 0 : ig_onnx_float_of(x, w);
  if (!tensor && fabs(weight) < 0.5) {
    off = ig_onnx_emit2(x, "Mul", off, ig_onnx_number(x, d, weight), NULL);
    (void)ig_onnx_emit2(x, "Add", from, off, call->out);
  } else if (!tensor) {
    off = ig_onnx_emit2(x, "Mul", off, ig_onnx_number(x, d, 1 - weight), NULL);
    (void)ig_onnx_emit2(x, "Sub", to, off, call->out);
  } else {
    const char *part = ig_onnx_operand(x, w, d);
    const char *rest = ig_onnx_emit2(x, "Sub", ig_onnx_number(x, d, 1), part, NULL);
    const char *near = ig_onnx_emit2(x, "Less", part, ig_onnx_number(x, d, 0.5), NULL);
    const char *a = ig_onnx_emit2(x, "Mul", part, off, NULL);
    a = ig_onnx_emit2(x, "Add", from, a, NULL);
    const char *b = ig_onnx_emit2(x, "Mul", off, rest, NULL);
    b = ig_onnx_emit2(x, "Sub", to, b, NULL);
    (void)ig_onnx_emit3(x, "Where", near, a, b, call->out);
  }
}
static bool lerp_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  const ig_tensor *t = n == 3 ? ig_onnx_tensor_of(&args[0]) : NULL;
  return t && (t->dtype == IG_F32 || t->dtype == IG_F64) && !ig_onnx_is_symbolic(&args[2]);
}

// ---- comparisons and logic

// A number that is a node is replaced by its value; a tensor is used directly.
static ig_value promotable(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) return ig_of_tensor((ig_tensor *)t);
  return v->kind == IG_KIND_NODE ? v->node->val : *v;
}

// The dtype that two operands are compared in.
static ig_dtype common(ig_onnx *x, const ig_onnx_call *call) {
  ig_value both[2] = {promotable(&call->args[0]), promotable(&call->args[1])};
  return ig_promote(x->c, both, 2);
}

static const char *compared(ig_onnx *x, const ig_onnx_call *call, const char *op, const char *out) {
  ig_dtype d = ig_onnx_compute_type(x, op, common(x, call));
  const char *a = ig_onnx_operand(x, &call->args[0], d);
  const char *b = ig_onnx_operand(x, &call->args[1], d);
  return ig_onnx_emit2(x, op, a, b, out);
}

static void compare(ig_onnx *x, const ig_onnx_call *call) {
  (void)compared(x, call, call->row->op_type, call->out);
}

// le and ge exist from opset 12 on; of whole numbers they are what gt and lt are not.
static void compare_or_equal(ig_onnx *x, const ig_onnx_call *call, const char *opposite) {
  if (x->least < 9 || x->least >= 12 || !is_integral(common(x, call))) {
    compare(x, call);
  } else {
    (void)ig_onnx_emit1(x, "Not", compared(x, call, opposite, NULL), call->out);
  }
}
static void less_or_equal(ig_onnx *x, const ig_onnx_call *call) {
  compare_or_equal(x, call, "Greater");
}
static void greater_or_equal(ig_onnx *x, const ig_onnx_call *call) {
  compare_or_equal(x, call, "Less");
}

static void not_equal(ig_onnx *x, const ig_onnx_call *call) {
  (void)ig_onnx_emit1(x, "Not", compared(x, call, "Equal", NULL), call->out);
}

static void logical(ig_onnx *x, const ig_onnx_call *call) {
  const char *a = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  const char *b = ig_onnx_operand(x, &call->args[1], IG_BOOL);
  (void)ig_onnx_emit2(x, call->row->op_type, a, b, call->out);
}

static void where(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Where", call->val->dtype);
  const char *condition = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  const char *a = ig_onnx_operand(x, &call->args[1], d);
  const char *b = ig_onnx_operand(x, &call->args[2], d);
  ig_onnx_node node = {.op_type = "Where", .in = {condition, a, b}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// self, mask, value
static void masked_fill(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Where", call->val->dtype);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *mask = ig_onnx_operand(x, &call->args[1], IG_BOOL);
  const char *value = ig_onnx_operand(x, &call->args[2], d);
  ig_onnx_node node = {.op_type = "Where", .in = {mask, value, self}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

const ig_onnx_row ig_onnx_pointwise[] = {
    {"aten.add.Tensor", scaled, "Add", NULL},
    {"aten.add.Scalar", scaled, "Add", NULL},
    {"aten.sub.Tensor", scaled, "Sub", NULL},
    {"aten.sub.Scalar", scaled, "Sub", NULL},
    {"aten.rsub.Scalar", rsub, NULL, NULL},
    {"aten.rsub.Tensor", rsub, NULL, NULL},
    {"aten.mul.Tensor", multiply, "Mul", NULL},
    {"aten.mul.Scalar", multiply, "Mul", NULL},
    {"aten.div.Tensor", binary, "Div", NULL},
    {"aten.div.Scalar", binary, "Div", NULL},
    {"aten.div.Tensor_mode", div_mode, NULL, NULL},
    {"aten.div.Scalar_mode", div_mode, NULL, NULL},
    {"aten.floor_divide.default", floor_divide, NULL, NULL},
    {"aten.floor_divide.Scalar", floor_divide, NULL, NULL},
    {"aten.fmod.Tensor", fmod_, NULL, NULL},
    {"aten.fmod.Scalar", fmod_, NULL, NULL},
    {"aten.remainder.Tensor", remainder_, NULL, NULL},
    {"aten.remainder.Scalar", remainder_, NULL, NULL},
    {"aten.remainder.Scalar_Tensor", remainder_, NULL, NULL},
    {"aten.pow.Tensor_Scalar", binary, "Pow", NULL},
    {"aten.pow.Tensor_Tensor", binary, "Pow", NULL},
    {"aten.pow.Scalar", binary, "Pow", NULL},
    {"aten.maximum.default", binary, "Max", NULL},
    {"aten.minimum.default", binary, "Min", NULL},
    {"aten.fmax.default", fmax_fmin, "Max", NULL},
    {"aten.fmin.default", fmax_fmin, "Min", NULL},
    {"aten.atan2.default", atan2_, NULL, NULL},
    {"aten.copysign.Tensor", copysign_, NULL, NULL},
    {"aten.copysign.Scalar", copysign_, NULL, NULL},
    {"aten.lerp.Scalar", lerp, NULL, lerp_can},
    {"aten.lerp.Tensor", lerp, NULL, lerp_can},
    {"aten.hypot.default", hypot_, NULL, NULL},
    {"aten.eq.Tensor", compare, "Equal", NULL},
    {"aten.eq.Scalar", compare, "Equal", NULL},
    {"aten.lt.Tensor", compare, "Less", NULL},
    {"aten.lt.Scalar", compare, "Less", NULL},
    {"aten.le.Tensor", less_or_equal, "LessOrEqual", NULL},
    {"aten.le.Scalar", less_or_equal, "LessOrEqual", NULL},
    {"aten.gt.Tensor", compare, "Greater", NULL},
    {"aten.gt.Scalar", compare, "Greater", NULL},
    {"aten.ge.Tensor", greater_or_equal, "GreaterOrEqual", NULL},
    {"aten.ge.Scalar", greater_or_equal, "GreaterOrEqual", NULL},
    {"aten.ne.Tensor", not_equal, NULL, NULL},
    {"aten.ne.Scalar", not_equal, NULL, NULL},
    {"aten.logical_and.default", logical, "And", NULL},
    {"aten.logical_or.default", logical, "Or", NULL},
    {"aten.logical_xor.default", logical, "Xor", NULL},
    {"aten.where.self", where, NULL, NULL},
    {"aten.masked_fill.Scalar", masked_fill, NULL, NULL},
    {"aten.masked_fill.Tensor", masked_fill, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
