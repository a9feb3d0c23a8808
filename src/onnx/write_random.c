// SPDX-License-Identifier: Apache-2.0
// ONNX of random numbers: different numbers than PyTorch's, from the same distributions.
#include "onnx/writer.h"

// Whether the first operand is a tensor of floats in the sizes of the result.
static bool takes_sizes(const ig_onnx_call *call) {
  const ig_tensor *t = ig_onnx_tensor_of(&call->args[0]);
  return ig_onnx_same_sizes(t, call->val) && ig_dtype_is_float(t->dtype);
}

// Uniform in [low, high) or normal with mean and scale, in the sizes of the result.
static const char *draw_like(ig_onnx *x, const ig_onnx_call *call, bool normal, double a, double b,
                             ig_dtype d, const char *out) {
  // Numbers without deviation: onnxruntime asserts a positive one.
  if (normal && b == 0) {
    const char *mean = ig_onnx_number(x, d, a);
    if (call->val->ndim == 0) return ig_onnx_emit1(x, "Identity", mean, out);
    return ig_onnx_emit2(x, "Expand", mean, ig_onnx_sizes_name(x, call->val), out);
  }
  ig_value none = ig_of_i64(0);
  const char *like = NULL;
  if (call->val->ndim == 0) {
    like = ig_onnx_number(x, d, 0);
  } else if (takes_sizes(call)) {
    like = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  } else {
    like = ig_onnx_constant_of_shape(x, ig_onnx_sizes_name(x, call->val), d, &none, NULL);
  }
  return ig_onnx_emit(x,
                      &(ig_onnx_node){.op_type = normal ? "RandomNormalLike" : "RandomUniformLike",
                                      .in = {like},
                                      .attrs = {ig_onnx_int("dtype", ig_onnx_elem_type(d)),
                                                ig_onnx_float(normal ? "mean" : "low", a),
                                                ig_onnx_float(normal ? "scale" : "high", b)},
                                      .out = out});
}

// The same; with the TorchScript conventions sizes that are known are part of the node.
static const char *draw(ig_onnx *x, const ig_onnx_call *call, bool normal, double a, double b,
                        ig_dtype d, const char *out) {
  int ndim = call->val->ndim;
  bool known = x->options->torchscript && (d == IG_F32 || d == IG_F64) && ndim &&
               !ig_tensor_is_symbolic(call->val) && !takes_sizes(call);
  if (!known || (normal && b == 0)) return draw_like(x, call, normal, a, b, d, out);
  int64_t sizes[IG_MAX_DIM];
  for (int i = 0; i < ndim; i++) sizes[i] = ig_sizes(call->val)[i].value;
  ig_onnx_node node = {.op_type = normal ? "RandomNormal" : "RandomUniform",
                       .attrs = {ig_onnx_int("dtype", ig_onnx_elem_type(d)),
                                 ig_onnx_float(normal ? "mean" : "low", a),
                                 ig_onnx_float(normal ? "scale" : "high", b),
                                 ig_onnx_ints("shape", sizes, (size_t)ndim)},
                       .out = out};
  return ig_onnx_emit(x, &node);
}

static ig_dtype draw_type(const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  return d == IG_F32 || d == IG_F64 || d == IG_F16 ? d : IG_F32;
}

static void drawn(ig_onnx *x, const ig_onnx_call *call, bool normal, double a, double b) {
  ig_dtype d = draw_type(call);
  bool same = d == call->val->dtype;
  const char *out = draw(x, call, normal, a, b, d, same ? call->out : NULL);
  if (!same) (void)ig_onnx_finish(x, call, out, d);
}

static void rand_(ig_onnx *x, const ig_onnx_call *call) {
  drawn(x, call, false, 0, 1);
}
static void randn(ig_onnx *x, const ig_onnx_call *call) {
  drawn(x, call, true, 0, 1);
}
// self, from, to
static void uniform(ig_onnx *x, const ig_onnx_call *call) {
  drawn(x, call, false, ig_onnx_float_of(x, &call->args[1]), ig_onnx_float_of(x, &call->args[2]));
}
// self, mean, std
static void normal_like(ig_onnx *x, const ig_onnx_call *call) {
  drawn(x, call, true, ig_onnx_float_of(x, &call->args[1]), ig_onnx_float_of(x, &call->args[2]));
}
// mean, std, size
static void normal_floats(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = draw_type(call);
  double mean = ig_onnx_float_of(x, &call->args[0]);
  double std = ig_onnx_float_of(x, &call->args[1]);
  (void)ig_onnx_finish(x, call, draw_like(x, call, true, mean, std, d, NULL), d);
}
// mean and std, one of them a tensor
static void normal_tensors(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = draw_type(call);
  const char *noise = draw_like(x, call, true, 0, 1, d, NULL);
  const char *std = ig_onnx_operand(x, &call->args[1], d);
  const char *mean = ig_onnx_operand(x, &call->args[0], d);
  const char *out = ig_onnx_emit2(x, "Mul", noise, std, NULL);
  (void)ig_onnx_finish(x, call, ig_onnx_emit2(x, "Add", out, mean, NULL), d);
}

static void integers(ig_onnx *x, const ig_onnx_call *call, double low, double high) {
  const char *out = draw(x, call, false, low, high, IG_F32, NULL);
  (void)ig_onnx_finish(x, call, ig_onnx_emit1(x, "Floor", out, NULL), IG_F32);
}
// high, size; low, high, size; with self in front of the _like forms
static void randint(ig_onnx *x, const ig_onnx_call *call) {
  integers(x, call, 0, ig_onnx_float_of(x, &call->args[0]));
}
static void randint_low(ig_onnx *x, const ig_onnx_call *call) {
  integers(x, call, ig_onnx_float_of(x, &call->args[0]), ig_onnx_float_of(x, &call->args[1]));
}
static void randint_like(ig_onnx *x, const ig_onnx_call *call) {
  integers(x, call, 0, ig_onnx_float_of(x, &call->args[1]));
}
static void randint_like_low(ig_onnx *x, const ig_onnx_call *call) {
  integers(x, call, ig_onnx_float_of(x, &call->args[1]), ig_onnx_float_of(x, &call->args[2]));
}

// self, from, to
static void random_from(ig_onnx *x, const ig_onnx_call *call) {
  bool open = ig_onnx_is_none(&call->args[2]);
  double high = open ? 16777216 : ig_onnx_float_of(x, &call->args[2]);
  integers(x, call, ig_onnx_float_of(x, &call->args[1]), high);
}
// self, to
static void random_to(ig_onnx *x, const ig_onnx_call *call) {
  integers(x, call, 0, ig_onnx_float_of(x, &call->args[1]));
}
// self: as large as the type holds whole numbers
static void random_any(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  integers(x, call, 0,
           d == IG_BOOL            ? 2
           : ig_dtype_size(d) == 1 ? 128
           : d == IG_F16           ? 2048
                                   : 16777216);
}

// The order of as many random numbers
static void randperm(ig_onnx *x, const ig_onnx_call *call) {
  const char *noise = draw(x, call, false, 0, 1, IG_F32, NULL);
  const char *k = ig_onnx_sizes_name(x, call->val);
  const char *outs[] = {ig_onnx_fresh(x, "TopK"), ig_onnx_fresh(x, "TopK")};
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "TopK", .in = {noise, k}, .outs = outs, .nouts = 2});
  (void)ig_onnx_finish(x, call, outs[1], IG_I64);
}

// 1 where a random number is below p
static void coin(ig_onnx *x, const ig_onnx_call *call, const ig_value *p) {
  const char *noise = draw(x, call, false, 0, 1, IG_F32, NULL);
  const char *chance = ig_onnx_operand(x, p, IG_F32);
  (void)ig_onnx_finish(x, call, ig_onnx_emit2(x, "Less", noise, chance, NULL), IG_BOOL);
}
static void bernoulli(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *p = ig_onnx_tensor_of(&call->args[0]);
  if (x->options->torchscript && x->least >= 15 && p && p->dtype == call->val->dtype &&
      (p->dtype == IG_F32 || p->dtype == IG_F64)) {
    (void)ig_onnx_emit1(x, "Bernoulli", ig_onnx_operand(x, &call->args[0], p->dtype), call->out);
    return;
  }
  coin(x, call, &call->args[0]);
}
static void bernoulli_p(ig_onnx *x, const ig_onnx_call *call) {
  coin(x, call, &call->args[1]);
}

// self, num_samples, replacement: ONNX draws with replacement only, by rows and from logarithms
static void multinomial(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *samples = &call->args[1];
  bool one = samples->kind == IG_KIND_INT && !samples->i.expr && samples->i.value == 1;
  if (!one && !(call->args[2].kind == IG_KIND_BOOL && call->args[2].b)) {
    ig_onnx_refuse(x, call->node, "ONNX draws with replacement only");
    return;
  }
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const char *chances = ig_onnx_operand(x, &call->args[0], IG_F32);
  bool row = self && self->ndim == 1;
  if (row) chances = ig_onnx_unsqueeze(x, chances, 0, NULL);
  ig_onnx_node node = {.op_type = "Multinomial",
                       .in = {ig_onnx_emit1(x, "Log", chances, NULL)},
                       .attrs = {ig_onnx_int("dtype", ig_onnx_elem_type(IG_I64)),
                                 ig_onnx_int("sample_size", ig_onnx_int_of(x, &call->args[1]))},
                       .out = row ? NULL : call->out};
  const char *drawn = ig_onnx_emit(x, &node);
  if (row) (void)ig_onnx_squeeze(x, drawn, 0, call->out);
}

const ig_onnx_row ig_onnx_random[] = {
    {"aten.multinomial.default", multinomial, NULL, NULL},
    {"aten.rand.default", rand_, NULL, NULL},
    {"aten.rand.generator", rand_, NULL, NULL},
    {"aten.rand_like.default", rand_, NULL, NULL},
    {"aten.randn.default", randn, NULL, NULL},
    {"aten.randn.generator", randn, NULL, NULL},
    {"aten.randn_like.default", randn, NULL, NULL},
    {"aten.uniform.default", uniform, NULL, NULL},
    {"aten.normal_functional.default", normal_like, NULL, NULL},
    {"aten.normal.float_float", normal_floats, NULL, NULL},
    {"aten.normal.Tensor_Tensor", normal_tensors, NULL, NULL},
    {"aten.normal.Tensor_float", normal_tensors, NULL, NULL},
    {"aten.normal.float_Tensor", normal_tensors, NULL, NULL},
    {"aten.randint.default", randint, NULL, NULL},
    {"aten.randint.generator", randint, NULL, NULL},
    {"aten.randint.low", randint_low, NULL, NULL},
    {"aten.randint.low_generator", randint_low, NULL, NULL},
    {"aten.randint_like.default", randint_like, NULL, NULL},
    {"aten.randint_like.low_dtype", randint_like_low, NULL, NULL},
    {"aten.random.from", random_from, NULL, NULL},
    {"aten.random.to", random_to, NULL, NULL},
    {"aten.random.default", random_any, NULL, NULL},
    {"aten.randperm.default", randperm, NULL, NULL},
    {"aten.randperm.generator", randperm, NULL, NULL},
    {"aten.bernoulli.default", bernoulli, NULL, NULL},
    {"aten.bernoulli.p", bernoulli_p, NULL, NULL},
    {"aten.bernoulli.Tensor", bernoulli_p, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
