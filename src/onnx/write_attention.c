// SPDX-License-Identifier: Apache-2.0
// ONNX of scaled dot product attention: one operator from opset 23 on, matrix products and a
// softmax below. The scale follows the head size, even if it is dynamic.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

typedef struct attention {
  const ig_value *mask;  // None: none
  const ig_value *scale;
  bool causal;
} attention;

static bool is_true(const ig_value *v) {
  return v->kind == IG_KIND_BOOL && v->b;
}

static bool drops(const ig_value *v) {
  return (v->kind == IG_KIND_FLOAT && v->f > 0) || (v->kind == IG_KIND_INT && v->i.value > 0);
}

// The root of the scale, for both factors of the product: large values stay in range.
static const char *root_scale(ig_onnx *x, const ig_onnx_call *call, const attention *a,
                              ig_dtype d) {
  const ig_tensor *q = ig_onnx_tensor_of(&call->args[0]);
  if (!ig_onnx_is_none(a->scale)) {
    return ig_onnx_number(x, d, sqrt(fabs(ig_onnx_float_of(x, a->scale))));
  }
  ig_int size = ig_sizes(q)[q->ndim - 1];
  if (!size.expr) return ig_onnx_number(x, d, sqrt(1 / sqrt((double)size.value)));
  const char *root = ig_onnx_emit1(x, "Sqrt", ig_onnx_scalar_of(x, size.expr, d), NULL);
  return ig_onnx_emit1(x, "Sqrt", ig_onnx_emit1(x, "Reciprocal", root, NULL), NULL);
}

// [L, S]: which keys a query sees
static const char *causal_mask(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *q = ig_onnx_tensor_of(&call->args[0]);
  const ig_tensor *k = ig_onnx_tensor_of(&call->args[1]);
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *rows = ig_onnx_scalar_size(x, ig_sizes(q)[q->ndim - 2]);
  const char *columns = ig_onnx_scalar_size(x, ig_sizes(k)[k->ndim - 2]);
  rows = ig_onnx_emit3(x, "Range", zero, rows, one, NULL);
  rows = ig_onnx_unsqueeze(x, rows, 1, NULL);
  columns = ig_onnx_emit3(x, "Range", zero, columns, one, NULL);
  return ig_onnx_emit2(x, "LessOrEqual", columns, rows, NULL);
}

static const char *masked(ig_onnx *x, const ig_onnx_call *call, const attention *a,
                          const char *scores, ig_dtype d) {
  const char *never = ig_onnx_number(x, d, -(double)INFINITY);
  if (a->causal) {
    scores = ig_onnx_emit3(x, "Where", causal_mask(x, call), scores, never, NULL);
  }
  const ig_tensor *mask = ig_onnx_tensor_of(a->mask);
  if (!mask) return scores;
  if (mask->dtype != IG_BOOL) {
    return ig_onnx_emit2(x, "Add", scores, ig_onnx_operand(x, a->mask, d), NULL);
  }
  const char *seen = ig_onnx_operand(x, a->mask, IG_BOOL);
  return ig_onnx_emit3(x, "Where", seen, scores, never, NULL);
}

static void compose(ig_onnx *x, const ig_onnx_call *call, const attention *a) {
  const ig_tensor *k = ig_onnx_tensor_of(&call->args[1]);
  ig_dtype d = call->val->dtype;
  const char *root = root_scale(x, call, a, d);
  int64_t perm[IG_MAX_DIM];
  for (int i = 0; i < k->ndim; i++) perm[i] = i;
  perm[k->ndim - 1] = k->ndim - 2;
  perm[k->ndim - 2] = k->ndim - 1;
  const char *queries = ig_onnx_operand(x, &call->args[0], d);
  const char *keys = ig_onnx_operand(x, &call->args[1], d);
  keys = ig_onnx_transpose(x, keys, perm, (size_t)k->ndim, NULL);
  queries = ig_onnx_emit2(x, "Mul", queries, root, NULL);
  keys = ig_onnx_emit2(x, "Mul", keys, root, NULL);
  const char *scores = ig_onnx_emit2(x, "MatMul", queries, keys, NULL);
  scores = masked(x, call, a, scores, d);
  ig_onnx_node soft = {.op_type = "Softmax", .in = {scores}, .attrs = {ig_onnx_int("axis", -1)}};
  const char *weights = ig_onnx_emit(x, &soft);
  const ig_tensor *mask = ig_onnx_tensor_of(a->mask);
  if (mask && mask->dtype == IG_BOOL) {  // a query that sees nothing gets nothing
    const char *lost = ig_onnx_emit1(x, "IsNaN", weights, NULL);
    weights = ig_onnx_emit3(x, "Where", lost, ig_onnx_number(x, d, 0), weights, NULL);
  }
  const char *values = ig_onnx_operand(x, &call->args[2], d);
  if (call->out) (void)ig_onnx_emit2(x, "MatMul", weights, values, call->out);
  if (call->nouts > 1 && call->outs[1]) {
    const char *sum =
        ig_onnx_reduce_node(x, "ReduceLogSumExp", scores, (int64_t[]){-1}, 1, false, NULL);
    (void)ig_onnx_cast(x, sum, call->node->val.list.at[1].tensor->dtype, call->outs[1]);
  }
}

static bool four_dims(const ig_value *args) {
  for (size_t i = 0; i < 3; i++) {
    if (ig_onnx_ndim(&args[i]) != 4) return false;
  }
  return true;
}

// query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa
static bool attention_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n == 8 && !drops(&args[4]) && !is_true(&args[7]) && ig_onnx_ndim(&args[0]) > 1;
}
static void dot_product(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *v = call->args;
  attention a = {&v[3], &v[6], is_true(&v[5])};
  if (x->opset < 23 || !four_dims(v)) {
    compose(x, call, &a);
    return;
  }
  ig_dtype d = call->val->dtype;
  const char *q = ig_onnx_operand(x, &v[0], d);
  const char *k = ig_onnx_operand(x, &v[1], d);
  const char *values = ig_onnx_operand(x, &v[2], d);
  const char *mask = ig_onnx_operand(x, &v[3], IG_DTYPE_COUNT);
  ig_onnx_node node = {.op_type = "Attention",
                       .in = {q, k, values, mask[0] ? mask : NULL},
                       .attrs = {ig_onnx_int("is_causal", a.causal)},
                       .out = call->out};
  if (!ig_onnx_is_none(&v[6])) node.attrs[1] = ig_onnx_float("scale", ig_onnx_float_of(x, &v[6]));
  (void)ig_onnx_emit(x, &node);
}

// query, key, value, dropout_p, is_causal, *, attn_mask, scale -> output, logsumexp
static bool flash_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  return n == 7 && !drops(&args[3]) && ig_onnx_ndim(&args[0]) > 1;
}
static void flash(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *v = call->args;
  attention a = {&v[5], &v[6], is_true(&v[4])};
  compose(x, call, &a);
}

const ig_onnx_row ig_onnx_attention[] = {
    {"aten.scaled_dot_product_attention.default", dot_product, NULL, attention_can},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", flash, NULL, flash_can},
    {NULL, NULL, NULL, NULL},
};
