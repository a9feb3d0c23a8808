// SPDX-License-Identifier: Apache-2.0
// ONNX of activations: operators of the standard where the opset has them, compositions below.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

static const char *self_as(ig_onnx *x, const ig_onnx_call *call, ig_dtype d) {
  return ig_onnx_operand(x, &call->args[0], d);
}

static bool is_one(const ig_value *v) {
  return (v->kind == IG_KIND_INT && !v->i.expr && v->i.value == 1) ||
         (v->kind == IG_KIND_FLOAT && !v->f_expr && v->f == 1);
}

// clamp, hardtanh: bounds may be None.
static void clip(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Clip", call->val->dtype);
  const char *low = ig_onnx_operand(x, &call->args[1], d);
  const char *high = ig_onnx_operand(x, &call->args[2], d);
  if (x->least < 12 && !ig_dtype_is_float(d)) ig_onnx_count_values(x, 2);   // casts around it
  if (x->least >= 11 && (!low[0] || !high[0])) ig_onnx_count_values(x, 1);  // None is a value
  ig_onnx_node node = {.op_type = "Clip", .in = {self_as(x, call, d), low, high[0] ? high : NULL}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// One bound: clamp_min, clamp_max with a number or a tensor
static void clamp_one(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Max", call->val->dtype);
  const char *bound = ig_onnx_operand(x, &call->args[1], d);
  ig_onnx_node node = {.op_type = call->row->op_type, .in = {self_as(x, call, d), bound}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// A number as bound: a Clip with the TorchScript conventions.
static void clamp_number(ig_onnx *x, const ig_onnx_call *call, bool low) {
  if (!x->options->torchscript) {
    clamp_one(x, call);
    return;
  }
  ig_dtype d = ig_onnx_compute_type(x, "Clip", call->val->dtype);
  const char *bound = ig_onnx_operand(x, &call->args[1], d);
  ig_onnx_node node = {.op_type = "Clip", .in = {self_as(x, call, d), low ? bound : ""}};
  if (!low) node.in[2] = bound;
  (void)ig_onnx_emit_as(x, call, &node, d);
}
static void clamp_min_number(ig_onnx *x, const ig_onnx_call *call) {
  clamp_number(x, call, true);
}
static void clamp_max_number(ig_onnx *x, const ig_onnx_call *call) {
  clamp_number(x, call, false);
}

static void clamp_tensor(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Max", call->val->dtype);
  const char *low = ig_onnx_operand(x, &call->args[1], d);
  const char *high = ig_onnx_operand(x, &call->args[2], d);
  const char *self = self_as(x, call, d);
  if (low[0]) self = ig_onnx_emit2(x, "Max", self, low, NULL);
  if (high[0]) self = ig_onnx_emit2(x, "Min", self, high, NULL);
  (void)ig_onnx_finish(x, call, self, d);
}

static void relu6(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Clip", call->val->dtype);
  const char *low = ig_onnx_number(x, d, 0);
  const char *high = ig_onnx_number(x, d, 6);
  ig_onnx_node node = {.op_type = "Clip", .in = {self_as(x, call, d), low, high}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void silu(ig_onnx *x, const ig_onnx_call *call) {
  const char *self = self_as(x, call, call->val->dtype);
  (void)ig_onnx_emit2(x, "Mul", self, ig_onnx_emit1(x, "Sigmoid", self, NULL), call->out);
}

static bool is_tanh(const ig_value *v) {
  return v->kind == IG_KIND_STR && strcmp(v->str, "tanh") == 0;
}

// Before opset 20: 0.5 x (1 + erf(x / sqrt 2)), or with tanh.
static void gelu(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  const char *self = self_as(x, call, d);
  bool tanh_form = is_tanh(&call->args[1]);
  if (x->opset >= 20) {
    ig_onnx_node node = {.op_type = "Gelu", .in = {self}, .out = call->out};
    if (tanh_form) node.attrs[0] = ig_onnx_string("approximate", "tanh");
    (void)ig_onnx_emit(x, &node);
    return;
  }
  const char *inner = NULL;
  if (tanh_form) {
    const char *cube = ig_onnx_emit2(x, "Mul", self, self, NULL);
    cube = ig_onnx_emit2(x, "Mul", cube, self, NULL);
    cube = ig_onnx_emit2(x, "Mul", cube, ig_onnx_number(x, d, 0.044715), NULL);
    cube = ig_onnx_emit2(x, "Add", self, cube, NULL);
    inner = ig_onnx_emit2(x, "Mul", cube, ig_onnx_number(x, d, sqrt(2 / acos(-1))), NULL);
    inner = ig_onnx_emit1(x, "Tanh", inner, NULL);
  } else {
    inner = ig_onnx_emit2(x, "Div", self, ig_onnx_number(x, d, sqrt(2)), NULL);
    inner = ig_onnx_emit1(x, "Erf", inner, NULL);
  }
  inner = ig_onnx_emit2(x, "Add", inner, ig_onnx_number(x, d, 1), NULL);
  inner = ig_onnx_emit2(x, "Mul", self, inner, NULL);
  (void)ig_onnx_emit2(x, "Mul", inner, ig_onnx_number(x, d, 0.5), call->out);
}

static void leaky_relu(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "LeakyRelu", call->val->dtype);
  ig_onnx_node node = {.op_type = "LeakyRelu",
                       .in = {self_as(x, call, d)},
                       .attrs = {ig_onnx_float("alpha", ig_onnx_float_of(x, &call->args[1]))}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// self, alpha, scale, input_scale; with a scale it is a Selu of other numbers
static bool elu_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n == 4 && !ig_onnx_is_symbolic(&args[1]) && !ig_onnx_is_symbolic(&args[2]) &&
         is_one(&args[3]);
}
static void elu(ig_onnx *x, const ig_onnx_call *call) {
  bool scaled = !is_one(&call->args[2]);
  const char *op = scaled ? "Selu" : "Elu";
  ig_dtype d = ig_onnx_compute_type(x, op, call->val->dtype);
  ig_onnx_node node = {.op_type = op,
                       .in = {self_as(x, call, d)},
                       .attrs = {ig_onnx_float("alpha", ig_onnx_float_of(x, &call->args[1]))}};
  if (scaled) node.attrs[1] = ig_onnx_float("gamma", ig_onnx_float_of(x, &call->args[2]));
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// self, alpha; before opset 12, and for other types than runtimes know: alpha * elu(self / alpha)
static bool celu_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  bool known = n == 2 && !ig_onnx_is_symbolic(&args[1]);
  return known && ((args[1].kind == IG_KIND_FLOAT && args[1].f > 0) ||
                   (args[1].kind == IG_KIND_INT && args[1].i.value > 0));
}
static void celu(ig_onnx *x, const ig_onnx_call *call) {
  double alpha = ig_onnx_float_of(x, &call->args[1]);
  bool whole = x->least >= 12 && call->val->dtype == IG_F32;
  const char *op = whole ? "Celu" : "Elu";
  ig_dtype d = whole ? IG_F32 : ig_onnx_compute_type(x, op, call->val->dtype);
  const char *in = self_as(x, call, d);
  if (!whole) in = ig_onnx_emit2(x, "Div", in, ig_onnx_number(x, d, alpha), NULL);
  ig_onnx_node node = {
      .op_type = op, .in = {in}, .attrs = {ig_onnx_float("alpha", whole ? alpha : 1)}};
  if (!whole) {
    in = ig_onnx_emit(x, &node);
    node = (ig_onnx_node){.op_type = "Mul", .in = {in, ig_onnx_number(x, d, alpha)}};
  }
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void plain(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  ig_onnx_node node = {.op_type = call->row->op_type, .in = {self_as(x, call, d)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static bool since_18(int opset, const ig_value *args, size_t n) {
  (void)args;
  (void)n;
  return opset >= 18;
}

static void hardsigmoid(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "HardSigmoid", call->val->dtype);
  ig_onnx_node node = {.op_type = "HardSigmoid",
                       .in = {self_as(x, call, d)},
                       .attrs = {ig_onnx_float("alpha", 1.0 / 6), ig_onnx_float("beta", 0.5)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// Before opset 14: self * hardsigmoid(self)
static void hardswish(ig_onnx *x, const ig_onnx_call *call) {
  bool whole = x->least >= 14;
  const char *op = whole ? "HardSwish" : "HardSigmoid";
  ig_dtype d = ig_onnx_compute_type(x, op, call->val->dtype);
  const char *self = self_as(x, call, d);
  ig_onnx_node node = {.op_type = op, .in = {self}};
  if (!whole) {
    node.attrs[0] = ig_onnx_float("alpha", 1.0 / 6);
    node.attrs[1] = ig_onnx_float("beta", 0.5);
    node = (ig_onnx_node){.op_type = "Mul", .in = {self, ig_onnx_emit(x, &node)}};
  }
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// self, dim: the first half times the sigmoid of the second
static bool glu_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  const ig_tensor *t = n == 2 ? ig_onnx_tensor_of(&args[0]) : NULL;
  bool known = t && args[1].kind == IG_KIND_INT && !args[1].i.expr;
  int64_t dim = known ? args[1].i.value + (args[1].i.value < 0 ? t->ndim : 0) : -1;
  return dim >= 0 && dim < t->ndim && !ig_sizes(t)[dim].expr;
}
static void glu(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Sigmoid", call->val->dtype);
  const char *self = self_as(x, call, d);
  int64_t axis = ig_onnx_dim(x, &call->args[1], call->val->ndim);
  int64_t half = ig_sizes(call->val)[axis].value;
  const char *halves[] = {ig_onnx_fresh(x, "Split"), ig_onnx_fresh(x, "Split")};
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Split",
                                        .in = {self, ig_onnx_vector(x, (int64_t[]){half, half}, 2)},
                                        .attrs = {ig_onnx_int("axis", axis)},
                                        .outs = halves,
                                        .nouts = 2});
  const char *gate = ig_onnx_emit1(x, "Sigmoid", halves[1], NULL);
  (void)ig_onnx_emit_as(x, call, &(ig_onnx_node){.op_type = "Mul", .in = {halves[0], gate}}, d);
}

// self, beta, threshold: softplus(beta * self) / beta
static void softplus(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Softplus", call->val->dtype);
  const char *in = self_as(x, call, d);
  if (is_one(&call->args[1])) {
    (void)ig_onnx_emit_as(x, call, &(ig_onnx_node){.op_type = "Softplus", .in = {in}}, d);
    return;
  }
  double beta = ig_onnx_float_of(x, &call->args[1]);
  in = ig_onnx_emit2(x, "Mul", in, ig_onnx_number(x, d, beta), NULL);
  in = ig_onnx_emit1(x, "Softplus", in, NULL);
  ig_onnx_node node = {.op_type = "Div", .in = {in, ig_onnx_number(x, d, beta)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// Above the threshold both are the same in every float.
static bool softplus_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  bool known = n == 3 && (args[1].kind == IG_KIND_INT || args[1].kind == IG_KIND_FLOAT) &&
               !ig_onnx_is_symbolic(&args[1]);
  double beta = !known ? 0 : args[1].kind == IG_KIND_INT ? (double)args[1].i.value : args[1].f;
  return beta > 0 && ((args[2].kind == IG_KIND_INT && args[2].i.value >= 20) ||
                      (args[2].kind == IG_KIND_FLOAT && args[2].f >= 20));
}

static bool prelu_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  const ig_tensor *in = n == 2 ? ig_onnx_tensor_of(&args[0]) : NULL;
  const ig_tensor *w = n == 2 ? ig_onnx_tensor_of(&args[1]) : NULL;
  bool fits = in && w && w->ndim <= 1 && in->ndim >= 1 && in->dtype == w->dtype;
  return fits && (in->dtype == IG_F32 || in->dtype == IG_F64) &&
         (in->ndim > 1 || w->ndim == 0 || (!ig_sizes(w)[0].expr && ig_sizes(w)[0].value == 1));
}

// self, weight: one slope, or one per channel, which is the second axis.
static void prelu(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = self_as(x, call, IG_DTYPE_COUNT);
  const char *slope = ig_onnx_operand(x, &call->args[1], IG_DTYPE_COUNT);
  int64_t axes[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 1; d < ig_onnx_ndim(&call->args[0]) - 1; d++) axes[n++] = d;
  bool spread = n && ig_onnx_ndim(&call->args[1]) == 1;
  if (spread) slope = ig_onnx_emit2(x, "Unsqueeze", slope, ig_onnx_vector(x, axes, n), NULL);
  (void)ig_onnx_emit2(x, "PRelu", in, slope, call->out);
}

const ig_onnx_row ig_onnx_activation[] = {
    {"aten.prelu.default", prelu, NULL, prelu_can},
    {"aten.clamp.default", clip, NULL, NULL},
    {"aten.clamp.Tensor", clamp_tensor, NULL, NULL},
    {"aten.clamp_min.default", clamp_min_number, "Max", NULL},
    {"aten.clamp_min.Tensor", clamp_one, "Max", NULL},
    {"aten.clamp_max.default", clamp_max_number, "Min", NULL},
    {"aten.clamp_max.Tensor", clamp_one, "Min", NULL},
    {"aten.hardtanh.default", clip, NULL, NULL},
    {"aten.relu6.default", relu6, NULL, NULL},
    {"aten.silu.default", silu, NULL, NULL},
    {"aten.gelu.default", gelu, NULL, NULL},
    {"aten.leaky_relu.default", leaky_relu, NULL, NULL},
    {"aten.elu.default", elu, NULL, elu_can},
    {"aten.selu.default", plain, "Selu", NULL},
    {"aten.mish.default", plain, "Mish", since_18},
    {"aten.hardswish.default", hardswish, NULL, NULL},
    {"aten.glu.default", glu, NULL, glu_can},
    {"aten.hardsigmoid.default", hardsigmoid, NULL, NULL},
    {"aten.softplus.default", softplus, NULL, softplus_can},
    {"aten.celu.default", celu, NULL, celu_can},
    {NULL, NULL, NULL, NULL},
};
