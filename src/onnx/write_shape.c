// SPDX-License-Identifier: Apache-2.0
// ONNX of operators that rearrange: views, transpositions, pieces, concatenation.
#include "onnx/writer.h"

static const char *self_of(ig_onnx *x, const ig_onnx_call *call) {
  return ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
}

static int self_ndim(const ig_onnx_call *call) {
  const ig_tensor *t = ig_onnx_tensor_of(&call->args[0]);
  return t ? t->ndim : 0;
}

// A dimension that may count from the end.
static int64_t dim_of(ig_onnx *x, const ig_value *v, int ndim) {
  int64_t d = ig_onnx_int_of(x, v);
  return d < 0 ? d + ndim : d;
}

// Everything whose elements stay in row-major order.
static void reshape(ig_onnx *x, const ig_onnx_call *call) {
  int64_t sizes[IG_MAX_DIM] = {0};
  size_t n = (size_t)ig_onnx_sizes(x, call->val, sizes);
  bool empty = false;
  for (size_t i = 0; i < n; i++) empty = empty || sizes[i] == 0;
  ig_onnx_node node = {.op_type = "Reshape",
                       .in = {self_of(x, call), ig_onnx_vector(x, sizes, n)},
                       .out = call->out};
  if (empty) node.attrs[0] = ig_onnx_int("allowzero", 1);  // 0 would mean: as in the input
  (void)ig_onnx_emit(x, &node);
}

static void transpose_by(ig_onnx *x, const ig_onnx_call *call, const int64_t *perm, int n) {
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Transpose",
                                        .in = {self_of(x, call)},
                                        .attrs = {ig_onnx_ints("perm", perm, (size_t)n)},
                                        .out = call->out});
}

static void swap_dims(ig_onnx *x, const ig_onnx_call *call, int64_t a, int64_t b) {
  int64_t perm[IG_MAX_DIM] = {0};
  int n = self_ndim(call);
  for (int i = 0; i < n; i++) perm[i] = i;
  if (a >= 0 && a < n && b >= 0 && b < n) {
    perm[a] = b;
    perm[b] = a;
  }
  transpose_by(x, call, perm, n);
}

static void transpose(ig_onnx *x, const ig_onnx_call *call) {
  int n = self_ndim(call);
  swap_dims(x, call, dim_of(x, &call->args[1], n), dim_of(x, &call->args[2], n));
}

static void t(ig_onnx *x, const ig_onnx_call *call) {
  swap_dims(x, call, 0, 1);
}

static void permute(ig_onnx *x, const ig_onnx_call *call) {
  int64_t perm[IG_MAX_DIM] = {0};
  int n = self_ndim(call);
  size_t count = ig_onnx_int_list(x, &call->args[1], perm, IG_MAX_DIM, 0);
  for (size_t i = 0; i < count; i++) perm[i] += perm[i] < 0 ? n : 0;
  transpose_by(x, call, perm, (int)count);
}

static void expand(ig_onnx *x, const ig_onnx_call *call) {
  int64_t sizes[IG_MAX_DIM] = {0};
  size_t n = (size_t)ig_onnx_sizes(x, call->val, sizes);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Expand",
                                        .in = {self_of(x, call), ig_onnx_vector(x, sizes, n)},
                                        .out = call->out});
}

// self, dim, start, end, step
static void slice(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  int64_t axis = dim_of(x, &a[1], self_ndim(call));
  int64_t start = ig_onnx_is_none(&a[2]) ? 0 : ig_onnx_int_of(x, &a[2]);
  int64_t end = ig_onnx_is_none(&a[3]) ? INT64_MAX : ig_onnx_int_of(x, &a[3]);
  int64_t step = ig_onnx_int_of(x, &a[4]);
  // One after the other: what is made first is named first.
  const char *starts = ig_onnx_vector(x, &start, 1);
  const char *ends = ig_onnx_vector(x, &end, 1);
  const char *axes = ig_onnx_vector(x, &axis, 1);
  const char *steps = ig_onnx_vector(x, &step, 1);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Slice",
                                        .in = {self_of(x, call), starts, ends, axes, steps},
                                        .out = call->out});
}

// One index of a dimension, which disappears.
static void select(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = dim_of(x, &call->args[1], self_ndim(call));
  double index = (double)ig_onnx_int_of(x, &call->args[2]);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Gather",
                                        .in = {self_of(x, call), ig_onnx_number(x, IG_I64, index)},
                                        .attrs = {ig_onnx_int("axis", axis)},
                                        .out = call->out});
}

static void index_select(ig_onnx *x, const ig_onnx_call *call) {
  int64_t axis = dim_of(x, &call->args[1], self_ndim(call));
  const char *index = ig_onnx_operand(x, &call->args[2], IG_DTYPE_COUNT);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Gather",
                                        .in = {self_of(x, call), index},
                                        .attrs = {ig_onnx_int("axis", axis)},
                                        .out = call->out});
}

// ---- lists

static bool is_legacy_empty(const ig_tensor *tensor) {
  return tensor && tensor->ndim == 1 && !ig_sizes(tensor)[0].expr && ig_sizes(tensor)[0].value == 0;
}

static void join(ig_onnx *x, const ig_onnx_call *call, bool stack) {
  const ig_value *list = &call->args[0];
  if (list->kind != IG_KIND_LIST) {
    ig_onnx_refuse(x, call->node, "the list of tensors is not written out in the graph");
    return;
  }
  int64_t axis = dim_of(x, &call->args[1], call->val->ndim);
  const char **names = ig_onnx_push(x, (list->list.n + 1) * sizeof *names);
  size_t n = 0;
  for (size_t i = 0; names && i < list->list.n; i++) {
    const ig_value *v = &list->list.at[i];
    // PyTorch leaves out empty vectors, whatever the dimensions of the others.
    if (!stack && call->val->ndim != 1 && is_legacy_empty(ig_onnx_tensor_of(v))) continue;
    names[n] = ig_onnx_operand(x, v, call->val->dtype);
    if (stack) {
      names[n] = ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Unsqueeze",
                                                 .in = {names[n], ig_onnx_vector(x, &axis, 1)}});
    }
    n++;
  }
  if (!names) return;
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Concat",
                                        .many = names,
                                        .nmany = n,
                                        .attrs = {ig_onnx_int("axis", axis)},
                                        .out = call->out});
}

static void cat(ig_onnx *x, const ig_onnx_call *call) {
  join(x, call, false);
}

static void stack(ig_onnx *x, const ig_onnx_call *call) {
  join(x, call, true);
}

// split, chunk, split_with_sizes: the sizes of the results tell everything.
static void split(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *results = &call->node->val;
  if (results->kind != IG_KIND_LIST || results->list.n == 0) return;
  int64_t axis = dim_of(x, &call->args[2], self_ndim(call));
  int64_t *sizes = ig_onnx_push(x, results->list.n * sizeof *sizes);
  for (size_t i = 0; sizes && i < results->list.n; i++) {
    int64_t dims[IG_MAX_DIM] = {0};
    const ig_tensor *piece = results->list.at[i].tensor;
    if (axis >= 0 && axis < ig_onnx_sizes(x, piece, dims)) sizes[i] = dims[axis];
  }
  if (!sizes) return;
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "Split",
                         .in = {self_of(x, call), ig_onnx_vector(x, sizes, results->list.n)},
                         .attrs = {ig_onnx_int("axis", axis)},
                         .outs = call->outs,
                         .nouts = call->nouts});
}

const ig_onnx_row ig_onnx_shape[] = {
    {"aten.view.default", reshape, NULL},
    {"aten._unsafe_view.default", reshape, NULL},
    {"aten.reshape.default", reshape, NULL},
    {"aten.flatten.using_ints", reshape, NULL},
    {"aten.unflatten.int", reshape, NULL},
    {"aten.squeeze.default", reshape, NULL},
    {"aten.squeeze.dim", reshape, NULL},
    {"aten.squeeze.dims", reshape, NULL},
    {"aten.unsqueeze.default", reshape, NULL},
    {"aten.transpose.int", transpose, NULL},
    {"aten.t.default", t, NULL},
    {"aten.permute.default", permute, NULL},
    {"aten.expand.default", expand, NULL},
    {"aten.slice.Tensor", slice, NULL},
    {"aten.select.int", select, NULL},
    {"aten.index_select.default", index_select, NULL},
    {"aten.cat.default", cat, NULL},
    {"aten.stack.default", stack, NULL},
    {"aten.split.Tensor", split, NULL},
    {"aten.split_with_sizes.default", split, NULL},
    {"aten.chunk.default", split, NULL},
    {NULL, NULL, NULL},
};
