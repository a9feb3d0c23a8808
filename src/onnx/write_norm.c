// SPDX-License-Identifier: Apache-2.0
// ONNX of normalizations and softmax.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/writer.h"
#include "tensor/number.h"

// A vector operand, or where it is absent one of n equal numbers.
static const char *or_filled(ig_onnx *x, const ig_value *v, ig_dtype d, ig_int n, double fill) {
  if (!ig_onnx_is_none(v)) return ig_onnx_operand(x, v, d);
  if (!n.expr) return ig_onnx_filled(x, d, n.value, fill);
  return ig_onnx_emit2(x, "Expand", ig_onnx_number(x, d, fill), ig_onnx_size(x, n), NULL);
}

// As many ones as a layer has weights.
static const char *ones_of(ig_onnx *x, ig_dtype d, const ig_int *shape, size_t n) {
  enum { MOST = 4096 };  // as a constant
  int64_t dims[IG_MAX_DIM];
  int64_t count = 1;
  bool known = true;
  for (size_t i = 0; i < n; i++) {
    dims[i] = shape[i].value;
    known = known && !shape[i].expr && dims[i] > 0 && dims[i] <= MOST / count;
    count = known ? count * dims[i] : count;
  }
  const char *one = known ? NULL : ig_onnx_number(x, d, 1);
  if (!known) return ig_onnx_emit2(x, "Expand", one, ig_onnx_shape_of(x, shape, n), NULL);
  char key[256];
  int length = snprintf(key, sizeof key, "ones %s", ig_dtype_text(d));
  for (size_t i = 0; i < n && length > 0 && length < (int)sizeof key; i++)
    length += snprintf(key + length, sizeof key - (size_t)length, " %lld", (long long)dims[i]);
  const char *name = NULL;
  void *data = ig_onnx_constant(x, key, d, dims, (int)n, &name);
  ig_value ones = ig_of_f64(1);
  if (data) ig_fill(data, d, (size_t)count, &ones);
  return name;
}

// Results that are empty, or of which only the sizes are used.
static void empty_results(ig_onnx *x, const ig_onnx_call *call) {
  for (size_t i = 1; i < call->nouts; i++) {
    if (!call->outs[i]) continue;
    const ig_tensor *t = call->node->val.list.at[i].tensor;
    const char *zero = ig_onnx_number(x, t->dtype, 0);
    (void)ig_onnx_emit2(x, "Expand", zero, ig_onnx_sizes_name(x, t), call->outs[i]);
  }
}

static void normalize_batch(ig_onnx *x, const ig_onnx_call *call, double eps) {
  const ig_value *a = call->args;
  ig_dtype d = ig_onnx_compute_type(x, "BatchNormalization", call->val->dtype);
  ig_int channels = call->val->ndim > 1 ? ig_sizes(call->val)[1] : ig_const(0);
  const char *weight = or_filled(x, &a[1], d, channels, 1);
  const char *bias = or_filled(x, &a[2], d, channels, 0);
  const char *mean = ig_onnx_operand(x, &a[3], d);
  const char *var = ig_onnx_operand(x, &a[4], d);
  ig_onnx_node node = {.op_type = "BatchNormalization",
                       .in = {ig_onnx_operand(x, &a[0], d), weight, bias, mean, var},
                       .attrs = {ig_onnx_float("epsilon", eps)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static bool is_true(const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b;
}

// input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
static bool batch_norm_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n > 5 && !is_true(&args[5]) && !ig_onnx_is_none(&args[3]) && !ig_onnx_is_none(&args[4]);
}
static void batch_norm(ig_onnx *x, const ig_onnx_call *call) {
  normalize_batch(x, call, ig_onnx_float_of(x, &call->args[7]));
}

// input, weight, bias, running_mean, running_var, momentum, eps
static void batch_norm_core(ig_onnx *x, const ig_onnx_call *call) {
  empty_results(x, call);
  if (call->out) normalize_batch(x, call, ig_onnx_float_of(x, &call->args[6]));
}

// ---- layers

// Below opset 17: (x - mean) / sqrt(var + eps), in the dtype that keeps eps
static const char *composed_norm(ig_onnx *x, const char *in, const int64_t *axes, size_t n,
                                 double eps, ig_dtype d, const char **mean, const char **std) {
  *mean = ig_onnx_reduce_node(x, "ReduceMean", in, axes, n, true, NULL);
  const char *off = ig_onnx_emit2(x, "Sub", in, *mean, NULL);
  const char *square = ig_onnx_emit2(x, "Pow", off, ig_onnx_number(x, d, 2), NULL);
  const char *var = ig_onnx_reduce_node(x, "ReduceMean", square, axes, n, true, NULL);
  var = ig_onnx_emit2(x, "Add", var, ig_onnx_number(x, d, eps), NULL);
  *std = ig_onnx_emit1(x, "Sqrt", var, NULL);
  return ig_onnx_emit2(x, "Div", off, *std, NULL);
}

static const char *scaled(ig_onnx *x, const char *in, const ig_value *weight, const ig_value *bias,
                          ig_dtype d) {
  if (!ig_onnx_is_none(weight)) {
    in = ig_onnx_emit2(x, "Mul", in, ig_onnx_operand(x, weight, d), NULL);
  }
  if (!ig_onnx_is_none(bias)) {
    in = ig_onnx_emit2(x, "Add", in, ig_onnx_operand(x, bias, d), NULL);
  }
  return in;
}

#define SMALLEST_HALF 0x1p-24

static void layer_norm_composed(ig_onnx *x, const ig_onnx_call *call, size_t n) {
  const ig_value *a = call->args;
  ig_dtype own = call->val->dtype;
  ig_dtype d = own == IG_F16 || own == IG_BF16 ? IG_F32 : own;
  // With the TorchScript conventions an epsilon that is 0 in half precision stays a double.
  double eps = ig_onnx_float_of(x, &a[4]);
  if (x->options->torchscript && own == IG_F16 && eps < SMALLEST_HALF) d = IG_F64;
  int64_t axes[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) axes[i] = (int64_t)i - (int64_t)n;
  const char *mean = NULL;
  const char *std = NULL;
  const char *in = ig_onnx_operand(x, &a[0], d);
  const char *out = composed_norm(x, in, axes, n, eps, d, &mean, &std);
  if (call->out) (void)ig_onnx_finish(x, call, scaled(x, out, &a[2], &a[3], d), d);
  if (call->nouts > 1 && call->outs[1]) (void)ig_onnx_cast(x, mean, own, call->outs[1]);
  if (call->nouts > 2 && call->outs[2])
    (void)ig_onnx_cast(x, ig_onnx_emit1(x, "Reciprocal", std, NULL), own, call->outs[2]);
}

// input, normalized_shape, weight, bias, eps
static void layer_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = call->val->dtype;
  ig_int shape[IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, &a[1], shape, IG_MAX_DIM, 0);
  bool more = call->nouts > 1 && (call->outs[1] || (call->nouts > 2 && call->outs[2]));
  if (x->opset < 17 || more || n == 0) {
    layer_norm_composed(x, call, n);
    return;
  }
  const char *weight = NULL;
  if (n == 1) {
    weight = or_filled(x, &a[2], d, shape[0], 1);
  } else {
    weight = ig_onnx_operand(x, &a[2], d);
  }
  if (!weight[0]) weight = ones_of(x, d, shape, n);
  const char *bias = ig_onnx_operand(x, &a[3], d);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "LayerNormalization",
                         .in = {ig_onnx_operand(x, &a[0], d), weight, bias[0] ? bias : NULL},
                         .attrs = {ig_onnx_int("axis", -(int64_t)n),
                                   ig_onnx_float("epsilon", ig_onnx_float_of(x, &a[4]))},
                         .out = call->out});
}

// input, normalized_shape, weight, eps
static bool rms_norm_can(int opset, const ig_value *args, size_t n) {
  return opset >= 23 && n == 4 && !ig_onnx_is_none(&args[2]) && args[3].kind == IG_KIND_FLOAT;
}
static void rms_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = call->val->dtype;
  ig_int shape[IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, &a[1], shape, IG_MAX_DIM, 0);
  const char *in = ig_onnx_operand(x, &a[0], d);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "RMSNormalization",
                         .in = {in, ig_onnx_operand(x, &a[2], d)},
                         .attrs = {ig_onnx_int("axis", -(int64_t)n),
                                   ig_onnx_float("epsilon", ig_onnx_float_of(x, &a[3]))},
                         .out = call->out});
}

// ---- groups

// [N, C, ...] -> [N, groups, the rest]
static const char *grouped(ig_onnx *x, const char *in, const ig_tensor *self, int64_t groups) {
  ig_int sizes[3] = {ig_sizes(self)[0], ig_const(groups), ig_const(-1)};
  if (sizes[0].expr) sizes[0] = ig_const(0);  // as in the input
  return ig_onnx_emit2(x, "Reshape", in, ig_onnx_shape_of(x, sizes, 3), NULL);
}

// A parameter per channel as [C, 1, 1]
static const char *per_channel(ig_onnx *x, const ig_value *v, ig_dtype d, int behind) {
  int64_t sizes[IG_MAX_DIM] = {-1};
  for (int i = 1; i <= behind; i++) sizes[i] = 1;
  const char *name = ig_onnx_operand(x, v, d);
  if (behind <= 0) return name;
  return ig_onnx_emit2(x, "Reshape", name, ig_onnx_vector(x, sizes, (size_t)behind + 1), NULL);
}

typedef struct group {
  const ig_value *weight;
  const ig_value *bias;
  int64_t groups;
  double eps;
} group;

static void emit_group_norm(ig_onnx *x, const ig_onnx_call *call, const group *g) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype own = call->val->dtype;
  ig_dtype d = own == IG_F16 || own == IG_BF16 ? IG_F32 : own;
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *mean = NULL;
  const char *std = NULL;
  const char *out = grouped(x, in, self, g->groups);
  if (x->options->torchscript && call->nouts == 0 && d == IG_F32 && g->groups > 0) {
    // A group is an instance.
    const char *one = ig_onnx_filled(x, d, g->groups, 1);
    const char *zero = ig_onnx_filled(x, d, g->groups, 0);
    out = ig_onnx_emit(x, &(ig_onnx_node){.op_type = "InstanceNormalization",
                                          .in = {out, one, zero},
                                          .attrs = {ig_onnx_float("epsilon", g->eps)}});
  } else {
    out = composed_norm(x, out, (int64_t[]){-1}, 1, g->eps, d, &mean, &std);
  }
  out = ig_onnx_emit2(x, "Reshape", out, ig_onnx_emit1(x, "Shape", in, NULL), NULL);
  int behind = self->ndim - 2;
  if (!ig_onnx_is_none(g->weight)) {
    out = ig_onnx_emit2(x, "Mul", out, per_channel(x, g->weight, d, behind), NULL);
  }
  if (!ig_onnx_is_none(g->bias)) {
    out = ig_onnx_emit2(x, "Add", out, per_channel(x, g->bias, d, behind), NULL);
  }
  if (call->out) (void)ig_onnx_finish(x, call, out, d);
  for (size_t i = 1; i < call->nouts && i < 3; i++) {
    if (!call->outs[i]) continue;
    const char *saved = i == 1 ? mean : ig_onnx_emit1(x, "Reciprocal", std, NULL);
    const char *flat = ig_onnx_squeeze(x, saved, -1, NULL);
    (void)ig_onnx_cast(x, flat, call->node->val.list.at[i].tensor->dtype, call->outs[i]);
  }
}

// input, num_groups, weight, bias, eps, cudnn_enabled: one operator from opset 21 on
static void group_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  const ig_tensor *self = ig_onnx_tensor_of(&a[0]);
  ig_dtype d = call->val->dtype;
  group g = {&a[2], &a[3], ig_onnx_int_of(x, &a[1]), ig_onnx_float_of(x, &a[4])};
  if (x->opset < 21 || !self || self->ndim < 3 || ig_onnx_is_none(&a[2]) ||
      ig_onnx_is_none(&a[3])) {
    emit_group_norm(x, call, &g);
    return;
  }
  const char *in = ig_onnx_operand(x, &a[0], d);
  const char *weight = ig_onnx_operand(x, &a[2], d);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "GroupNormalization",
                                        .in = {in, weight, ig_onnx_operand(x, &a[3], d)},
                                        .attrs = {ig_onnx_int("num_groups", g.groups),
                                                  ig_onnx_float("epsilon", g.eps)},
                                        .out = call->out});
}

// input, weight, bias, N, C, HxW, group, eps
static void native_group_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  group g = {&a[1], &a[2], ig_onnx_int_of(x, &a[6]), ig_onnx_float_of(x, &a[7])};
  emit_group_norm(x, call, &g);
}

// input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
static bool instance_norm_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n == 9 && is_true(&args[5]) && ig_onnx_is_none(&args[3]) && ig_onnx_ndim(&args[0]) > 2;
}
static void instance_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = ig_onnx_compute_type(x, "InstanceNormalization", call->val->dtype);
  ig_int channels = ig_sizes(call->val)[1];
  const char *weight = or_filled(x, &a[1], d, channels, 1);
  const char *bias = or_filled(x, &a[2], d, channels, 0);
  ig_onnx_node node = {.op_type = "InstanceNormalization",
                       .in = {ig_onnx_operand(x, &a[0], d), weight, bias},
                       .attrs = {ig_onnx_float("epsilon", ig_onnx_float_of(x, &a[7]))}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// ---- softmax

// of_scalar: what makes of 0 the result for a scalar.
static void emit_softmax(ig_onnx *x, const ig_onnx_call *call, const char *op,
                         const char *of_scalar) {
  int ndim = call->val->ndim;
  const char *in = ig_onnx_operand(x, &call->args[0], call->val->dtype);
  if (ndim == 0) {  // a scalar is all there is: 1, or its log
    const char *zero = ig_onnx_emit2(x, "Sub", in, in, NULL);
    (void)ig_onnx_emit1(x, of_scalar, zero, call->out);
    return;
  }
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = op,
                         .in = {in},
                         .attrs = {ig_onnx_int("axis", ig_onnx_int_of(x, &call->args[1]))},
                         .out = call->out});
}
static void softmax(ig_onnx *x, const ig_onnx_call *call) {
  emit_softmax(x, call, "Softmax", "Exp");
}
static void log_softmax(ig_onnx *x, const ig_onnx_call *call) {
  emit_softmax(x, call, "LogSoftmax", "Identity");
}

const ig_onnx_row ig_onnx_norm[] = {
    {"aten.batch_norm.default", batch_norm, NULL, batch_norm_can},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_core, NULL, NULL},
    {"aten.layer_norm.default", layer_norm, NULL, NULL},
    {"aten.native_layer_norm.default", layer_norm, NULL, NULL},
    {"aten.rms_norm.default", rms_norm, NULL, rms_norm_can},
    {"aten.group_norm.default", group_norm, NULL, NULL},
    {"aten.native_group_norm.default", native_group_norm, NULL, NULL},
    {"aten.instance_norm.default", instance_norm, NULL, instance_norm_can},
    {"aten.softmax.int", softmax, NULL, NULL},
    {"aten._softmax.default", softmax, NULL, NULL},
    {"aten.log_softmax.int", log_softmax, NULL, NULL},
    {"aten._log_softmax.default", log_softmax, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
