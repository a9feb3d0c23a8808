// SPDX-License-Identifier: Apache-2.0
// ONNX of normalizations and softmax.
#include "onnx/writer.h"

// A vector operand, or where it is absent one of n equal numbers.
static const char *or_filled(ig_onnx *x, const ig_value *v, ig_dtype d, int64_t n, double fill) {
  return ig_onnx_is_none(v) ? ig_onnx_filled(x, d, n, fill) : ig_onnx_operand(x, v, d);
}

static void only_first_result(ig_onnx *x, const ig_onnx_call *call) {
  for (size_t i = 1; i < call->nouts; i++) {
    if (call->outs[i]) {
      ig_onnx_refuse(x, call->node, "result %zu is used, and has no counterpart in ONNX", i);
    }
  }
}

static void normalize_batch(ig_onnx *x, const ig_onnx_call *call, double eps) {
  const ig_value *a = call->args;
  ig_dtype d = call->val->dtype;
  int64_t sizes[IG_MAX_DIM] = {0};
  int ndim = ig_onnx_sizes(x, call->val, sizes);
  int64_t channels = ndim > 1 ? sizes[1] : 0;
  if (ig_onnx_is_none(&a[3]) || ig_onnx_is_none(&a[4])) {
    ig_onnx_refuse(x, call->node,
                   "batch_norm without running statistics cannot be written as ONNX");
    return;
  }
  const char *weight = or_filled(x, &a[1], d, channels, 1);
  const char *bias = or_filled(x, &a[2], d, channels, 0);
  const char *mean = ig_onnx_operand(x, &a[3], d);
  const char *var = ig_onnx_operand(x, &a[4], d);
  (void)ig_onnx_emit(x,
                     &(ig_onnx_node){.op_type = "BatchNormalization",
                                     .in = {ig_onnx_operand(x, &a[0], d), weight, bias, mean, var},
                                     .attrs = {ig_onnx_float("epsilon", eps)},
                                     .out = call->out});
}

// input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
static void batch_norm(ig_onnx *x, const ig_onnx_call *call) {
  if (ig_onnx_bool_of(x, &call->args[5])) {
    ig_onnx_refuse(x, call->node,
                   "batch_norm in training mode cannot be written as ONNX: call eval() first");
    return;
  }
  normalize_batch(x, call, ig_onnx_float_of(x, &call->args[7]));
}

// input, weight, bias, running_mean, running_var, momentum, eps
static void batch_norm_core(ig_onnx *x, const ig_onnx_call *call) {
  only_first_result(x, call);
  normalize_batch(x, call, ig_onnx_float_of(x, &call->args[6]));
}

// input, normalized_shape, weight, bias, eps
static void layer_norm(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = call->val->dtype;
  only_first_result(x, call);
  int64_t shape[IG_MAX_DIM] = {0};
  size_t n = ig_onnx_int_list(x, &a[1], shape, IG_MAX_DIM, 0);
  const char *weight = ig_onnx_operand(x, &a[2], d);
  if (!weight[0] && n == 1) weight = ig_onnx_filled(x, d, shape[0], 1);
  if (!weight[0]) {
    const char *one = ig_onnx_number(x, d, 1);
    const char *sizes = ig_onnx_vector(x, shape, n);
    weight = ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Expand", .in = {one, sizes}});
  }
  const char *bias = ig_onnx_operand(x, &a[3], d);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "LayerNormalization",
                         .in = {ig_onnx_operand(x, &a[0], d), weight, bias[0] ? bias : NULL},
                         .attrs = {ig_onnx_int("axis", -(int64_t)n),
                                   ig_onnx_float("epsilon", ig_onnx_float_of(x, &a[4]))},
                         .out = call->out});
}

static void softmax(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = ig_onnx_int_of(x, &call->args[1]);
  (void)ig_onnx_emit(x,
                     &(ig_onnx_node){.op_type = call->row->op_type,
                                     .in = {ig_onnx_operand(x, &call->args[0], call->val->dtype)},
                                     .attrs = {ig_onnx_int("axis", axis)},
                                     .out = call->out});
}

const ig_onnx_row ig_onnx_norm[] = {
    {"aten.batch_norm.default", batch_norm, NULL, NULL},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_core, NULL, NULL},
    {"aten.layer_norm.default", layer_norm, NULL, NULL},
    {"aten.native_layer_norm.default", layer_norm, NULL, NULL},
    {"aten.softmax.int", softmax, "Softmax", NULL},
    {"aten._softmax.default", softmax, "Softmax", NULL},
    {"aten.log_softmax.int", softmax, "LogSoftmax", NULL},
    {"aten._log_softmax.default", softmax, "LogSoftmax", NULL},
    {NULL, NULL, NULL, NULL},
};
