// SPDX-License-Identifier: Apache-2.0
// ONNX of operators that make tensors from numbers. Small ones of known sizes have been folded
// before.
#include "onnx/model.h"
#include "onnx/writer.h"
#include "tensor/number.h"

const char *ig_onnx_result_sizes(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *self = &call->args[0];
  bool dynamic = ig_tensor_is_symbolic(call->val);
  if (!dynamic || !ig_onnx_same_sizes(ig_onnx_tensor_of(self), call->val))
    return ig_onnx_sizes_name(x, call->val);
  return ig_onnx_emit1(x, "Shape", ig_onnx_operand(x, self, IG_DTYPE_COUNT), NULL);
}

// What ConstantOfShape makes.
static bool is_fillable(const ig_onnx *x, ig_dtype d) {
  return d != IG_F8E4M3FN && d != IG_F8E5M2 && (d != IG_BF16 || x->opset >= 20);
}

const char *ig_onnx_constant_of_shape(ig_onnx *x, const char *sizes, ig_dtype d, const ig_value *v,
                                      const char *out) {
  static const int64_t one = 1;
  struct ig_onnx_tensor *t = ig_onnx_push(x, sizeof *t);
  void *data = ig_onnx_push(x, ig_dtype_size(d) + 1);
  if (!t || !data) return "";
  *t = (struct ig_onnx_tensor){.name = "", .dtype = d, .ndim = 1, .dims = &one};
  t->data = (ig_bytes){data, ig_dtype_size(d)};
  ig_fill(data, d, 1, v);
  ig_onnx_attr value = {.name = "value", .type = IG_ONNX_TENSOR, .tensor = t};
  return ig_onnx_emit(
      x,
      &(ig_onnx_node){.op_type = "ConstantOfShape", .in = {sizes}, .attrs = {value}, .out = out});
}

// One number in the sizes of the result.
static void fill_with(ig_onnx *x, const ig_onnx_call *call, const ig_value *v) {
  bool plain = v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
  if (plain && !ig_onnx_is_symbolic(v) && call->val->ndim && is_fillable(x, call->val->dtype)) {
    if (ig_onnx_fold_filled(x, call, v)) return;
    const char *sizes = ig_onnx_result_sizes(x, call);
    (void)ig_onnx_constant_of_shape(x, sizes, call->val->dtype, v, call->out);
    return;
  }
  const char *number = ig_onnx_operand(x, v, call->val->dtype);
  if (call->val->ndim == 0) {
    ig_onnx_same(x, number, call->out);
    return;
  }
  (void)ig_onnx_emit2(x, "Expand", number, ig_onnx_sizes_name(x, call->val), call->out);
}

static void full(ig_onnx *x, const ig_onnx_call *call) {
  fill_with(x, call, &call->args[1]);
}

// self, size, fill_value
static void new_full(ig_onnx *x, const ig_onnx_call *call) {
  fill_with(x, call, &call->args[2]);
}

static void scalar_tensor(ig_onnx *x, const ig_onnx_call *call) {
  fill_with(x, call, &call->args[0]);
}

// The contents are unspecified.
static void empty(ig_onnx *x, const ig_onnx_call *call) {
  ig_value zero = ig_of_i64(0);
  fill_with(x, call, &zero);
}

static void ones(ig_onnx *x, const ig_onnx_call *call) {
  ig_value one = ig_of_i64(1);
  fill_with(x, call, &one);
}

// Range takes operands of one type; small types are made from larger ones.
static void range(ig_onnx *x, const ig_onnx_call *call, const ig_value *from, const ig_value *to,
                  const ig_value *by) {
  ig_dtype d = call->val->dtype;
  if (d != IG_I32 && d != IG_I64 && d != IG_F32 && d != IG_F64) {
    d = ig_dtype_is_float(d) ? IG_F32 : IG_I64;
  }
  const char *start = ig_onnx_operand(x, from, d);
  const char *limit = ig_onnx_operand(x, to, d);
  const char *delta = ig_onnx_operand(x, by, d);
  ig_onnx_node node = {.op_type = "Range", .in = {start, limit, delta}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static void arange(ig_onnx *x, const ig_onnx_call *call) {
  ig_value zero = ig_of_i64(0);
  ig_value one = ig_of_i64(1);
  range(x, call, &zero, &call->args[0], &one);
}
static void arange_start(ig_onnx *x, const ig_onnx_call *call) {
  ig_value one = ig_of_i64(1);
  range(x, call, &call->args[0], &call->args[1], &one);
}
static void arange_step(ig_onnx *x, const ig_onnx_call *call) {
  range(x, call, &call->args[0], &call->args[1], &call->args[2]);
}

// The sizes of a tensor as a tensor.
static void shape_as_tensor(ig_onnx *x, const ig_onnx_call *call) {
  const char *in = ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
  (void)ig_onnx_emit1(x, "Shape", in, call->out);
}

// n, and m in the other form; small ones of known sizes were folded
static bool since_9(int opset, const ig_value *args, size_t n) {
  (void)args;
  (void)n;
  return opset >= 9;
}
static void eye(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  ig_dtype in = d == IG_F32 || d == IG_F64 || d == IG_I64 ? d : IG_F32;
  ig_value zero = ig_of_i64(0);
  const char *sizes = ig_onnx_sizes_name(x, call->val);
  const char *like = ig_onnx_constant_of_shape(x, sizes, in, &zero, NULL);
  ig_onnx_node node = {.op_type = "EyeLike", .in = {like}};
  (void)ig_onnx_emit_as(x, call, &node, in);
}

const ig_onnx_row ig_onnx_fill[] = {
    {"aten.eye.default", eye, NULL, since_9},
    {"aten.eye.m", eye, NULL, since_9},
    {"aten.full.default", full, NULL, NULL},
    {"aten.full_like.default", full, NULL, NULL},
    {"aten.new_full.default", new_full, NULL, NULL},
    {"aten.scalar_tensor.default", scalar_tensor, NULL, NULL},
    {"aten.zeros.default", empty, NULL, NULL},
    {"aten.zeros_like.default", empty, NULL, NULL},
    {"aten.new_zeros.default", empty, NULL, NULL},
    {"aten.ones.default", ones, NULL, NULL},
    {"aten.ones_like.default", ones, NULL, NULL},
    {"aten.new_ones.default", ones, NULL, NULL},
    {"aten.empty.memory_format", empty, NULL, NULL},
    {"aten.empty_like.default", empty, NULL, NULL},
    {"aten.new_empty.default", empty, NULL, NULL},
    {"aten.empty_permuted.default", empty, NULL, NULL},
    {"aten.empty_strided.default", empty, NULL, NULL},
    {"aten.new_empty_strided.default", empty, NULL, NULL},
    {"aten.arange.default", arange, NULL, NULL},
    {"aten.arange.start", arange_start, NULL, NULL},
    {"aten.arange.start_step", arange_step, NULL, NULL},
    {"aten._shape_as_tensor.default", shape_as_tensor, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
