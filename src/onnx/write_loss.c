// SPDX-License-Identifier: Apache-2.0
// ONNX of losses that are one operator there, from opset 12 on.
#include "onnx/writer.h"

enum { TARGET = 1, WEIGHT = 2, REDUCTION = 3, IGNORED = 4, SMOOTHING = 5 };

static bool is_index(const ig_tensor *t) {
  return t->dtype == IG_I64 || t->dtype == IG_I32;
}

// self [N, C, ...], target [N, ...] of classes, weight [C], reduction, ignore_index
static bool classes_can(int opset, const ig_value *args, size_t n) {
  const ig_tensor *self = n > IGNORED ? ig_onnx_tensor_of(&args[0]) : NULL;
  const ig_tensor *target = self ? ig_onnx_tensor_of(&args[TARGET]) : NULL;
  if (!target || opset < 12 || self->ndim < 2 || target->ndim != self->ndim - 1) return false;
  const ig_tensor *weight = ig_onnx_tensor_of(&args[WEIGHT]);
  bool weighs = weight ? weight->dtype == self->dtype : ig_onnx_is_none(&args[WEIGHT]);
  return weighs && is_index(target) && (self->dtype == IG_F32 || self->dtype == IG_F64) &&
         !ig_onnx_is_symbolic(&args[REDUCTION]) && !ig_onnx_is_symbolic(&args[IGNORED]);
}

// label_smoothing besides
static bool entropy_can(int opset, const ig_value *args, size_t n) {
  bool sharp = n > SMOOTHING && args[SMOOTHING].kind == IG_KIND_FLOAT && !args[SMOOTHING].f_expr &&
               args[SMOOTHING].f == 0;
  return sharp && classes_can(opset, args, n);
}

static void of_classes(ig_onnx *x, const ig_onnx_call *call) {
  static const char *const names[] = {"none", "mean", "sum"};
  const ig_value *a = call->args;
  ig_dtype d = call->val->dtype;
  int64_t reduction = ig_onnx_int_of(x, &a[REDUCTION]);
  if (reduction < 0 || reduction > 2) {
    ig_onnx_refuse(x, call->node, "%lld is no reduction", (long long)reduction);
    return;
  }
  const char *self = ig_onnx_operand(x, &a[0], d);
  const char *target = ig_onnx_operand(x, &a[TARGET], IG_DTYPE_COUNT);
  const char *weight = ig_onnx_is_none(&a[WEIGHT]) ? NULL : ig_onnx_operand(x, &a[WEIGHT], d);
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = call->row->op_type,
                         .in = {self, target, weight},
                         .attrs = {ig_onnx_string("reduction", names[reduction]),
                                   ig_onnx_int("ignore_index", ig_onnx_int_of(x, &a[IGNORED]))},
                         .out = call->out});
}

// self, target, reduction
static void mse(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "Sub", call->val->dtype);
  int64_t reduction = ig_onnx_int_of(x, &call->args[2]);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *off = ig_onnx_emit2(x, "Sub", self, ig_onnx_operand(x, &call->args[1], d), NULL);
  const char *out = ig_onnx_emit2(x, "Mul", off, off, NULL);
  if (reduction == 1) out = ig_onnx_reduce_node(x, "ReduceMean", out, NULL, 0, false, NULL);
  if (reduction == 2) out = ig_onnx_reduce_node(x, "ReduceSum", out, NULL, 0, false, NULL);
  (void)ig_onnx_finish(x, call, out, d);
}

static bool mse_can(int opset, const ig_value *args, size_t n) {
  const ig_tensor *self = n == 3 ? ig_onnx_tensor_of(&args[0]) : NULL;
  (void)opset;
  return self && ig_dtype_is_float(self->dtype) && args[2].kind == IG_KIND_INT && !args[2].i.expr &&
         args[2].i.value >= 0 && args[2].i.value <= 2;
}

const ig_onnx_row ig_onnx_loss[] = {
    {"aten.mse_loss.default", mse, NULL, mse_can},
    {"aten.cross_entropy_loss.default", of_classes, "SoftmaxCrossEntropyLoss", entropy_can},
    {"aten.nll_loss.default", of_classes, "NegativeLogLikelihoodLoss", classes_can},
    {"aten.nll_loss2d.default", of_classes, "NegativeLogLikelihoodLoss", classes_can},
    {"aten.nll_loss_nd.default", of_classes, "NegativeLogLikelihoodLoss", classes_can},
    {NULL, NULL, NULL, NULL},
};
