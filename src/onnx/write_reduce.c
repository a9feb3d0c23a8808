// SPDX-License-Identifier: Apache-2.0
// ONNX of reductions: from opset 18 on the axes are an operand.
#include "onnx/writer.h"

static void reduce(ig_onnx *x, const ig_onnx_call *call, const ig_value *dims, bool keep) {
  int64_t axes[IG_MAX_DIM] = {0};
  size_t n = dims ? ig_onnx_int_list(x, dims, axes, IG_MAX_DIM, 0) : 0;
  const char *self = ig_onnx_operand(x, &call->args[0], call->val->dtype);
  // No axes: all of them, in ONNX as in PyTorch.
  const char *list = n ? ig_onnx_vector(x, axes, n) : NULL;
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = call->row->op_type,
                                        .in = {self, list},
                                        .attrs = {ig_onnx_int("keepdims", keep)},
                                        .out = call->out});
}

static void reduce_all(ig_onnx *x, const ig_onnx_call *call) {
  reduce(x, call, NULL, false);
}

// self, dim, keepdim
static void reduce_dims(ig_onnx *x, const ig_onnx_call *call) {
  reduce(x, call, &call->args[1], ig_onnx_bool_of(x, &call->args[2]));
}

static void arg_reduce(ig_onnx *x, const ig_onnx_call *call) {
  if (ig_onnx_is_none(&call->args[1])) {
    ig_onnx_refuse(x, call->node, "over all dimensions it cannot be written as ONNX yet");
    return;
  }
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = call->row->op_type,
                         .in = {ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT)},
                         .attrs = {ig_onnx_int("axis", ig_onnx_int_of(x, &call->args[1])),
                                   ig_onnx_int("keepdims", ig_onnx_bool_of(x, &call->args[2]))},
                         .out = call->out});
}

const ig_onnx_row ig_onnx_reduce[] = {
    {"aten.mean.default", reduce_all, "ReduceMean", NULL},
    {"aten.mean.dim", reduce_dims, "ReduceMean", NULL},
    {"aten.sum.default", reduce_all, "ReduceSum", NULL},
    {"aten.sum.dim_IntList", reduce_dims, "ReduceSum", NULL},
    {"aten.amax.default", reduce_dims, "ReduceMax", NULL},
    {"aten.amin.default", reduce_dims, "ReduceMin", NULL},
    {"aten.max.default", reduce_all, "ReduceMax", NULL},
    {"aten.min.default", reduce_all, "ReduceMin", NULL},
    {"aten.argmax.default", arg_reduce, "ArgMax", NULL},
    {"aten.argmin.default", arg_reduce, "ArgMin", NULL},
    {NULL, NULL, NULL, NULL},
};
