// SPDX-License-Identifier: Apache-2.0
// ONNX of functions of one operand, element by element, and of copies and conversions.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

static const double pi = 3.14159265358979323846;

static const char *self_as(ig_onnx *x, const ig_onnx_call *call, ig_dtype d) {
  return ig_onnx_operand(x, &call->args[0], d);
}

static bool is_integral(ig_dtype d) {
  return d == IG_BOOL || ig_dtype_is_integral(d);
}

static void identity(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const char *name = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  (void)ig_onnx_finish(x, call, name, self ? self->dtype : call->val->dtype);
}

static void unary(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  ig_onnx_node node = {.op_type = call->row->op_type, .in = {self_as(x, call, d)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// Relu of integers exists from opset 14 on, and runtimes lack it there, too.
static void relu(ig_onnx *x, const ig_onnx_call *call) {
  if (!is_integral(call->val->dtype)) {
    unary(x, call);
    return;
  }
  ig_dtype d = ig_onnx_compute_type(x, "Max", call->val->dtype);
  const char *zero = ig_onnx_number(x, d, 0);
  ig_onnx_node node = {.op_type = "Max", .in = {self_as(x, call, d), zero}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// ceil, floor, round: nothing to do for integers.
static void rounding(ig_onnx *x, const ig_onnx_call *call) {
  if (is_integral(call->val->dtype)) {
    identity(x, call);
  } else {
    unary(x, call);
  }
}

// sign(x) * floor(|x|)
static void trunc_(ig_onnx *x, const ig_onnx_call *call) {
  if (is_integral(call->val->dtype)) {
    identity(x, call);
    return;
  }
  ig_dtype d = ig_onnx_compute_type(x, "Floor", call->val->dtype);
  const char *self = self_as(x, call, d);
  const char *size = ig_onnx_emit1(x, "Abs", self, NULL);
  size = ig_onnx_emit1(x, "Floor", size, NULL);
  const char *sign = ig_onnx_emit1(x, "Sign", self, NULL);
  ig_onnx_node node = {.op_type = "Mul", .in = {sign, size}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void round_decimals(ig_onnx *x, const ig_onnx_call *call) {
  if (is_integral(call->val->dtype)) {
    identity(x, call);
    return;
  }
  ig_dtype d = ig_onnx_compute_type(x, "Round", call->val->dtype);
  int64_t digits = ig_onnx_int_of(x, &call->args[1]);
  const char *ten = ig_onnx_number(x, d, pow(10, fabs((double)digits)));
  const char *self = self_as(x, call, d);
  const char *scaled = ig_onnx_emit2(x, digits < 0 ? "Div" : "Mul", self, ten, NULL);
  scaled = ig_onnx_emit1(x, "Round", scaled, NULL);
  ig_onnx_node node = {.op_type = digits < 0 ? "Mul" : "Div", .in = {scaled, ten}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void logical_not(ig_onnx *x, const ig_onnx_call *call) {
  (void)ig_onnx_emit1(x, "Not", self_as(x, call, IG_BOOL), call->out);
}

static void rsqrt(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *root = ig_onnx_emit1(x, "Sqrt", self_as(x, call, d), NULL);
  if (x->options->torchscript) {
    (void)ig_onnx_emit2(x, "Div", ig_onnx_number(x, d, 1), root, call->out);
  } else {
    (void)ig_onnx_emit1(x, "Reciprocal", root, call->out);
  }
}

static void square(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Mul", call->val->dtype);
  const char *self = self_as(x, call, d);
  ig_onnx_node node = {.op_type = "Mul", .in = {self, self}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// log2, log10: Log, divided by that of the base
static void log_base(ig_onnx *x, const ig_onnx_call *call, double base) {
  ig_dtype d = call->val->dtype;
  const char *natural = ig_onnx_emit1(x, "Log", self_as(x, call, d), NULL);
  (void)ig_onnx_emit2(x, "Div", natural, ig_onnx_number(x, d, log(base)), call->out);
}
static void log2_(ig_onnx *x, const ig_onnx_call *call) {
  log_base(x, call, 2);
}
static void log10_(ig_onnx *x, const ig_onnx_call *call) {
  log_base(x, call, 10);
}

static void log1p_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = self_as(x, call, d);
  const char *more = ig_onnx_emit2(x, "Add", self, ig_onnx_number(x, d, 1), NULL);
  (void)ig_onnx_emit1(x, "Log", more, call->out);
}

static void expm1_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *power = ig_onnx_emit1(x, "Exp", self_as(x, call, d), NULL);
  (void)ig_onnx_emit2(x, "Sub", power, ig_onnx_number(x, d, 1), call->out);
}

static void exp2_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = self_as(x, call, d);
  (void)ig_onnx_emit2(x, "Pow", ig_onnx_number(x, d, 2), self, call->out);
}

static void erfc_(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *erf = ig_onnx_emit1(x, "Erf", self_as(x, call, d), NULL);
  (void)ig_onnx_emit2(x, "Sub", ig_onnx_number(x, d, 1), erf, call->out);
}

// ---- predicates

// Integers are always finite numbers.
static const char *all_false(ig_onnx *x, const ig_onnx_call *call, const char *out) {
  ig_value no = ig_of_i64(0);
  const char *self = self_as(x, call, IG_DTYPE_COUNT);
  const char *sizes = ig_onnx_emit1(x, "Shape", self, NULL);
  return ig_onnx_constant_of_shape(x, sizes, IG_BOOL, &no, out);
}

static const char *ask_nan(ig_onnx *x, const ig_onnx_call *call, const char *out) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (!self || is_integral(self->dtype)) return all_false(x, call, out);
  return ig_onnx_emit1(x, "IsNaN", self_as(x, call, ig_onnx_compute_type(x, "IsNaN", self->dtype)),
                       out);
}

static const char *ask_inf(ig_onnx *x, const ig_onnx_call *call, bool negative, bool positive,
                           const char *out) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (!self || is_integral(self->dtype)) return all_false(x, call, out);
  ig_dtype d = ig_onnx_compute_type(x, "IsInf", self->dtype);
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "IsInf",
                                         .in = {self_as(x, call, d)},
                                         .attrs = {ig_onnx_int("detect_negative", negative),
                                                   ig_onnx_int("detect_positive", positive)},
                                         .out = out});
}

static void isnan_(ig_onnx *x, const ig_onnx_call *call) {
  (void)ask_nan(x, call, call->out);
}
static void isinf_(ig_onnx *x, const ig_onnx_call *call) {
  (void)ask_inf(x, call, true, true, call->out);
}
static void isposinf(ig_onnx *x, const ig_onnx_call *call) {
  (void)ask_inf(x, call, false, true, call->out);
}
static void isneginf(ig_onnx *x, const ig_onnx_call *call) {
  (void)ask_inf(x, call, true, false, call->out);
}
static void isfinite_(ig_onnx *x, const ig_onnx_call *call) {
  const char *nan = ask_nan(x, call, NULL);
  const char *either = ig_onnx_emit2(x, "Or", nan, ask_inf(x, call, true, true, NULL), NULL);
  (void)ig_onnx_emit1(x, "Not", either, call->out);
}

static void signbit_(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype d = ig_onnx_compute_type(x, "Less", self ? self->dtype : IG_F32);
  const char *in = self_as(x, call, d);
  (void)ig_onnx_emit2(x, "Less", in, ig_onnx_number(x, d, 0), call->out);
}

// The angle of a real number: 0 or pi; NaN stays.
static void angle(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = self_as(x, call, d);
  const char *zero = ig_onnx_number(x, d, 0);
  const char *negative = ig_onnx_emit2(x, "Less", self, zero, NULL);
  const char *flat = ig_onnx_emit3(x, "Where", negative, ig_onnx_number(x, d, pi), zero, NULL);
  const char *nan = ig_onnx_emit1(x, "IsNaN", self, NULL);
  (void)ig_onnx_emit3(x, "Where", nan, self, flat, call->out);
}

// ---- copies

static void dropout(ig_onnx *x, const ig_onnx_call *call) {
  if (!ig_onnx_bool_of(x, &call->args[2])) {
    identity(x, call);
    return;
  }
  ig_dtype d = call->val->dtype;
  double p = ig_onnx_float_of(x, &call->args[1]);
  if (x->options->torchscript && x->least < 12) {  // as PyTorch writes it, though it drops nothing
    ig_onnx_node node = {.op_type = "Dropout",
                         .domain = ig_onnx_final_domain(x, "Dropout"),
                         .in = {self_as(x, call, d)},
                         .attrs = {ig_onnx_float("ratio", p)},
                         .out = call->out};
    (void)ig_onnx_emit(x, &node);
    return;
  }
  const char *ratio = ig_onnx_number(x, IG_F32, p);
  const char *yes = ig_onnx_integer(x, IG_BOOL, 1);
  (void)ig_onnx_emit3(x, "Dropout", self_as(x, call, d), ratio, yes, call->out);
}

// ONNX does not drop everything: p = 1 is written as a product. Before opset 12 Dropout does not
// drop at all; the conversion then writes the random numbers.
static bool drops_some(int opset, const ig_value *args, size_t n) {
  (void)opset;
  bool training = n >= 3 && args[2].kind == IG_KIND_BOOL && args[2].b;
  if (!training) return true;
  return args[1].kind == IG_KIND_FLOAT && args[1].f >= 0 && args[1].f < 1;
}

// self, other: in the dtype of the result
static void type_as(ig_onnx *x, const ig_onnx_call *call) {
  identity(x, call);
}

const ig_onnx_row ig_onnx_unary[] = {
    {"aten.relu.default", relu, "Relu", NULL},
    {"aten.sigmoid.default", unary, "Sigmoid", NULL},
    {"aten.tanh.default", unary, "Tanh", NULL},
    {"aten.exp.default", unary, "Exp", NULL},
    {"aten.log.default", unary, "Log", NULL},
    {"aten.sqrt.default", unary, "Sqrt", NULL},
    {"aten.neg.default", unary, "Neg", NULL},
    {"aten.abs.default", unary, "Abs", NULL},
    {"aten.sign.default", unary, "Sign", NULL},
    {"aten.sgn.default", unary, "Sign", NULL},
    {"aten.sin.default", unary, "Sin", NULL},
    {"aten.cos.default", unary, "Cos", NULL},
    {"aten.tan.default", unary, "Tan", NULL},
    {"aten.sinh.default", unary, "Sinh", NULL},
    {"aten.cosh.default", unary, "Cosh", NULL},
    {"aten.asin.default", unary, "Asin", NULL},
    {"aten.acos.default", unary, "Acos", NULL},
    {"aten.atan.default", unary, "Atan", NULL},
    {"aten.asinh.default", unary, "Asinh", NULL},
    {"aten.acosh.default", unary, "Acosh", NULL},
    {"aten.atanh.default", unary, "Atanh", NULL},
    {"aten.erf.default", unary, "Erf", NULL},
    {"aten.reciprocal.default", unary, "Reciprocal", NULL},
    {"aten.ceil.default", rounding, "Ceil", NULL},
    {"aten.floor.default", rounding, "Floor", NULL},
    {"aten.round.default", rounding, "Round", NULL},
    {"aten.round.decimals", round_decimals, NULL, NULL},
    {"aten.trunc.default", trunc_, NULL, NULL},
    {"aten.rsqrt.default", rsqrt, NULL, NULL},
    {"aten.square.default", square, NULL, NULL},
    {"aten.log2.default", log2_, NULL, NULL},
    {"aten.log10.default", log10_, NULL, NULL},
    {"aten.log1p.default", log1p_, NULL, NULL},
    {"aten.expm1.default", expm1_, NULL, NULL},
    {"aten.exp2.default", exp2_, NULL, NULL},
    {"aten.erfc.default", erfc_, NULL, NULL},
    {"aten.isnan.default", isnan_, NULL, NULL},
    {"aten.isinf.default", isinf_, NULL, NULL},
    {"aten.isposinf.default", isposinf, NULL, NULL},
    {"aten.isneginf.default", isneginf, NULL, NULL},
    {"aten.isfinite.default", isfinite_, NULL, NULL},
    {"aten.signbit.default", signbit_, NULL, NULL},
    {"aten.angle.default", angle, NULL, NULL},
    {"aten.logical_not.default", logical_not, NULL, NULL},
    {"aten.clone.default", identity, NULL, NULL},
    {"aten.contiguous.default", identity, NULL, NULL},
    {"aten.detach.default", identity, NULL, NULL},
    {"aten.alias.default", identity, NULL, NULL},
    {"aten.lift_fresh.default", identity, NULL, NULL},
    {"aten.lift_fresh_copy.default", identity, NULL, NULL},
    {"aten.positive.default", identity, NULL, NULL},
    {"aten.conj_physical.default", identity, NULL, NULL},
    {"aten._conj_physical.default", identity, NULL, NULL},
    {"aten.real.default", identity, NULL, NULL},
    {"aten.resolve_conj.default", identity, NULL, NULL},
    {"aten.resolve_neg.default", identity, NULL, NULL},
    {"aten._to_copy.default", identity, NULL, NULL},
    {"aten.to.dtype", identity, NULL, NULL},
    {"aten.to.dtype_layout", identity, NULL, NULL},
    {"aten.to.device", identity, NULL, NULL},
    {"aten.to.other", identity, NULL, NULL},
    {"aten.type_as.default", type_as, NULL, NULL},
    {"aten.dropout.default", dropout, NULL, drops_some},
    {NULL, NULL, NULL, NULL},
};
