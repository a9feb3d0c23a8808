// SPDX-License-Identifier: Apache-2.0
// ONNX of scattering: a new tensor with other values at some indices.
#include <math.h>
#include <string.h>

#include "onnx/indices.h"

static const char *part_of_shape(ig_onnx *x, const char *of, int from) {
  const char *shape = ig_onnx_emit1(x, "Shape", of, NULL);
  if (from == 0) return shape;
  const char *start = ig_onnx_vector(x, (int64_t[]){from}, 1);
  const char *end = ig_onnx_vector(x, (int64_t[]){INT64_MAX}, 1);
  return ig_onnx_slice(x, shape, start, end, 0, 1, NULL);
}

static bool needs_16(ig_onnx *x, const ig_onnx_call *call, int opset) {
  if (x->opset >= opset) return false;
  ig_onnx_refuse(x, call->node, "scattering with a reduction needs opset %d", opset);
  return true;
}

// ---- index_put

// One mask and one value is a choice.
static bool put_where(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *list = &call->args[1];
  if (list->kind != IG_KIND_LIST || list->list.n != 1) return false;
  const ig_tensor *mask = ig_onnx_tensor_of(&list->list.at[0]);
  const ig_tensor *value = ig_onnx_tensor_of(&call->args[2]);
  if (!mask || mask->dtype != IG_BOOL || !value || value->ndim != 0) return false;
  if (ig_onnx_bool_of(x, &call->args[3])) return false;
  ig_dtype d = ig_onnx_compute_type(x, "Where", call->val->dtype);
  const char *test = ig_onnx_operand(x, &list->list.at[0], IG_BOOL);
  for (int i = mask->ndim; i < call->val->ndim; i++) test = ig_onnx_unsqueeze(x, test, -1, NULL);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  ig_onnx_node node = {.op_type = "Where",
                       .in = {test, ig_onnx_operand(x, &call->args[2], d), self}};
  (void)ig_onnx_emit_as(x, call, &node, d);
  return true;
}

static bool same_size(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);
}

// Do the values have the sizes of one index tensor along dimension 0, and then those of the rest?
static bool fits(const ig_onnx_call *call, const ig_onnx_indices *in, const ig_tensor *values) {
  const ig_value *list = &call->args[1];
  const ig_tensor *index = list->kind == IG_KIND_LIST && list->list.n == 1 && in->n == 1
                               ? ig_onnx_tensor_of(&list->list.at[0])
                               : NULL;
  int rest = call->val->ndim - 1;
  if (!index || index->dtype == IG_BOOL || index->dtype == IG_U8 || !values ||
      values->ndim != index->ndim + rest)
    return false;
  for (int d = 0; d < values->ndim; d++) {
    int behind = d - index->ndim;
    ig_int want = behind < 0 ? ig_sizes(index)[d] : ig_sizes(call->val)[behind + 1];
    if (!same_size(ig_sizes(values)[d], want)) return false;
  }
  return true;
}

// The values in the order of the scattered tensor: dimensions of the indices, then the rest.
static const char *put_values(ig_onnx *x, const ig_onnx_call *call, const ig_onnx_indices *in,
                              const char *at, const char *data, ig_dtype d) {
  const ig_tensor *t = ig_onnx_tensor_of(&call->args[2]);
  const char *values = ig_onnx_operand(x, &call->args[2], d);
  int rest = call->val->ndim - (int)in->n;
  int first = in->dims[0];
  int total = in->ndim + rest;
  if (in->adjacent && first > 0 && t && t->ndim > rest - first) {
    // They come as the result of reading would: rest before, indices, rest behind.
    int64_t perm[IG_MAX_DIM];
    for (int i = t->ndim; i < total; i++) values = ig_onnx_unsqueeze(x, values, 0, NULL);
    int n = 0;
    for (int i = 0; i < in->ndim; i++) perm[n++] = first + i;
    for (int i = 0; i < first; i++) perm[n++] = i;
    for (int i = first + in->ndim; i < total; i++) perm[n++] = i;
    values = ig_onnx_permuted(x, values, perm, n);
  }
  if (fits(call, in, t)) {  // otherwise: their sizes, two parts of them, and the values expanded
    ig_onnx_count_values(x, rest > 0 ? 12 : 6);
    return values;
  }
  const char *shape = NULL;
  if (in->n == 1) {
    shape = ig_onnx_emit1(x, "Shape", in->names[0], NULL);
    ig_onnx_count_values(x, 4);
  } else {
    const char *start = ig_onnx_vector(x, (int64_t[]){0}, 1);
    const char *minus = ig_onnx_vector(x, (int64_t[]){-1}, 1);
    shape = ig_onnx_emit1(x, "Shape", at, NULL);
    shape = ig_onnx_slice(x, shape, start, minus, 0, 1, NULL);
  }
  if (rest > 0) {
    const char *both[] = {shape, part_of_shape(x, data, (int)in->n)};
    shape = ig_onnx_concat(x, both, 2, 0, NULL);
  }
  return ig_onnx_emit2(x, "Expand", values, shape, NULL);
}

static const char *product_of_sizes(ig_onnx *x, const char *shape, int64_t from, int64_t to) {
  const char *start = ig_onnx_vector(x, (int64_t[]){from}, 1);
  const char *end = ig_onnx_vector(x, (int64_t[]){to}, 1);
  const char *part = ig_onnx_slice(x, shape, start, end, 0, 1, NULL);
  return ig_onnx_reduce_node(x, "ReduceProd", part, (int64_t[]){0}, 1, true, NULL);
}

// The numbers of the rows that the indices name, counted through the indexed dimensions.
static const char *rows_of(ig_onnx *x, size_t n, const char *at, const char *shape) {
  const char *rows = NULL;
  for (size_t i = 0; i < n; i++) {
    const char *which = ig_onnx_integer(x, IG_I64, (int64_t)i);
    const char *size = ig_onnx_gather(x, shape, which, 0, NULL);
    const char *index = ig_onnx_gather(x, at, which, -1, NULL);
    index = ig_onnx_emit2(x, "Add", index, size, NULL);  // it may count from the end
    index = ig_onnx_emit2(x, "Mod", index, size, NULL);
    rows = rows ? ig_onnx_emit2(x, "Mul", rows, size, NULL) : NULL;
    rows = rows ? ig_onnx_emit2(x, "Add", rows, index, NULL) : index;
  }
  return ig_onnx_emit2(x, "Reshape", rows, ig_onnx_vector(x, (int64_t[]){-1}, 1), NULL);
}

// data + values at the indices, where the same index may occur several times: before opset 16 there
// is no scattering that adds, so the sums are a product with the matrix of which value belongs to
// which row.
static const char *add_at(ig_onnx *x, size_t n, const char *data, const char *at,
                          const char *values, ig_dtype d) {
  const char *shape = ig_onnx_emit1(x, "Shape", data, NULL);
  const char *count = product_of_sizes(x, shape, 0, (int64_t)n);
  const char *width = product_of_sizes(x, shape, (int64_t)n, INT64_MAX);
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *all = ig_onnx_emit3(x, "Range", zero, ig_onnx_squeeze(x, count, 0, NULL), one, NULL);
  const char *rows = rows_of(x, n, at, shape);
  const char *is = ig_onnx_emit2(x, "Equal", ig_onnx_unsqueeze(x, all, 1, NULL),
                                 ig_onnx_unsqueeze(x, rows, 0, NULL), NULL);
  const char *sizes[] = {ig_onnx_emit1(x, "Shape", rows, NULL), width};
  const char *flat =
      ig_onnx_emit2(x, "Reshape", values, ig_onnx_concat(x, sizes, 2, 0, NULL), NULL);
  const char *sums = ig_onnx_emit2(x, "MatMul", ig_onnx_cast(x, is, d, NULL), flat, NULL);
  return ig_onnx_emit2(x, "Add", data, ig_onnx_emit2(x, "Reshape", sums, shape, NULL), NULL);
}

// self, indices, values, accumulate
static void index_put(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_indices in;
  if (put_where(x, call)) return;
  if (!ig_onnx_read_indices(x, call, &in)) {
    ig_onnx_refuse(x, call->node, "writing without indices");
    return;
  }
  bool add = ig_onnx_bool_of(x, &call->args[3]);
  bool early = add && x->least < 16;
  ig_dtype d = add ? ig_onnx_compute_type(x, "Add", call->val->dtype) : call->val->dtype;
  int ndim = call->val->ndim;
  int64_t perm[IG_MAX_DIM];
  int64_t back[IG_MAX_DIM];
  ig_onnx_index_order(&in, ndim, perm);
  for (int i = 0; i < ndim; i++) back[perm[i]] = i;
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *data = ig_onnx_permuted(x, self, perm, ndim);
  const char *at = ig_onnx_stack_indices(x, &in);
  const char *values = put_values(x, call, &in, at, data, d);
  ig_onnx_node node = {.op_type = "ScatterND", .in = {data, at, values}};
  if (add) node.attrs[0] = ig_onnx_string("reduction", "add");
  const char *out = early ? add_at(x, in.n, data, at, values, d) : ig_onnx_emit(x, &node);
  out = ig_onnx_permuted(x, out, back, ndim);
  (void)ig_onnx_finish(x, call, out, d);
}

// ---- scatter

// The part of src that the index covers.
static const char *cut_source(ig_onnx *x, const ig_value *src, const ig_tensor *index,
                              const char *at, ig_dtype d) {
  const ig_tensor *t = ig_onnx_tensor_of(src);
  const char *name = ig_onnx_operand(x, src, d);
  bool same = t && index && t->ndim == index->ndim;
  for (int i = 0; same && i < t->ndim; i++) {
    ig_int a = ig_sizes(t)[i];
    ig_int b = ig_sizes(index)[i];
    same = a.expr == b.expr && (a.expr || a.value == b.value);
  }
  if (same || !t || t->ndim == 0) return name;
  int64_t zeros[IG_MAX_DIM] = {0};
  const char *starts = ig_onnx_vector(x, zeros, (size_t)t->ndim);
  const char *ends = ig_onnx_emit1(x, "Shape", at, NULL);
  return ig_onnx_emit3(x, "Slice", name, starts, ends, NULL);
}

typedef struct scatter {
  const char *reduction;  // NULL: the value replaces
  const ig_value *src;    // a tensor, or one number
  ig_dtype dtype;
} scatter;

static const char *scatter_node(ig_onnx *x, const ig_onnx_call *call, const char *self,
                                const char *at, const char *src, const char *reduction) {
  int ndim = call->val->ndim;
  ig_onnx_node node = {.op_type = "ScatterElements",
                       .in = {self, at, src},
                       .attrs = {ig_onnx_int("axis", ig_onnx_dim(x, &call->args[1], ndim))}};
  if (reduction) node.attrs[1] = ig_onnx_string("reduction", reduction);
  if (ndim > 0) return ig_onnx_emit(x, &node);
  for (int i = 0; i < 3; i++) {  // scalars go through vectors of one element
    node.in[i] =
        ig_onnx_emit2(x, "Reshape", node.in[i], ig_onnx_vector(x, (int64_t[]){1}, 1), NULL);
  }
  return ig_onnx_squeeze(x, ig_onnx_emit(x, &node), 0, NULL);
}

static const char *source_of(ig_onnx *x, const ig_onnx_call *call, const ig_value *src,
                             const char *at, ig_dtype d) {
  const ig_tensor *index = ig_onnx_tensor_of(&call->args[2]);
  if (ig_onnx_tensor_of(src) && ig_onnx_ndim(src) > 0) return cut_source(x, src, index, at, d);
  const char *number = ig_onnx_operand(x, src, d);
  return ig_onnx_emit2(x, "Expand", number, ig_onnx_emit1(x, "Shape", at, NULL), NULL);
}

static void scatter_by(ig_onnx *x, const ig_onnx_call *call, const char *reduction) {
  if (reduction && needs_16(x, call, reduction[0] == 'm' && reduction[1] != 'u' ? 18 : 16)) return;
  ig_dtype d = call->val->dtype;
  if (reduction) d = ig_onnx_compute_type(x, "Add", d);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *at = ig_onnx_index_operand(x, &call->args[2]);
  const char *src = source_of(x, call, &call->args[3], at, d);
  (void)ig_onnx_finish(x, call, scatter_node(x, call, self, at, src, reduction), d);
}

static void scatter_set(ig_onnx *x, const ig_onnx_call *call) {
  scatter_by(x, call, NULL);
}
static bool reduces(int opset, const ig_value *args, size_t n) {
  (void)args;
  (void)n;
  return opset >= 16;
}

static void scatter_add(ig_onnx *x, const ig_onnx_call *call) {
  scatter_by(x, call, "add");
}
// self, dim, index, src or value, *, reduce
static void scatter_reduce_old(ig_onnx *x, const ig_onnx_call *call) {
  bool add = call->args[4].kind == IG_KIND_STR && strcmp(call->args[4].str, "add") == 0;
  scatter_by(x, call, add ? "add" : "mul");
}

static double neutral_of(const char *reduce, ig_dtype d) {
  double edge = ig_dtype_is_float(d) ? (double)INFINITY : d == IG_I32 ? 2147483647.0 : 9.2e18;
  if (strcmp(reduce, "prod") == 0) return 1;
  if (strcmp(reduce, "amax") == 0) return -edge;
  return strcmp(reduce, "amin") == 0 ? edge : 0;
}

// The mean is the sum, divided by how many were added.
static const char *scatter_mean(ig_onnx *x, const ig_onnx_call *call, const char *sum,
                                const char *at, bool with_self, ig_dtype d) {
  const char *one = ig_onnx_number(x, d, 1);
  const char *self = ig_onnx_emit1(x, "Shape", sum, NULL);
  const char *start = ig_onnx_emit2(x, "Expand", ig_onnx_number(x, d, with_self), self, NULL);
  const char *each = ig_onnx_emit2(x, "Expand", one, ig_onnx_emit1(x, "Shape", at, NULL), NULL);
  const char *count = scatter_node(x, call, start, at, each, "add");
  count = ig_onnx_emit2(x, "Max", count, one, NULL);
  if (ig_dtype_is_float(d)) return ig_onnx_emit2(x, "Div", sum, count, NULL);
  const char *rest = ig_onnx_emit2(x, "Mod", sum, count, NULL);
  return ig_onnx_emit2(x, "Div", ig_onnx_emit2(x, "Sub", sum, rest, NULL), count, NULL);
}

// self, dim, index, src, reduce, *, include_self
static void scatter_reduce(ig_onnx *x, const ig_onnx_call *call) {
  const char *reduce = call->args[4].kind == IG_KIND_STR ? call->args[4].str : "sum";
  bool with_self = ig_onnx_bool_of(x, &call->args[5]);
  bool most = strcmp(reduce, "amax") == 0;
  bool least = strcmp(reduce, "amin") == 0;
  // The standard has the extremes from 18 on; runtimes take them from 16 on, as PyTorch writes
  // them.
  bool late = (most || least) && !x->options->torchscript;
  if (needs_16(x, call, late ? 18 : 16)) return;
  ig_dtype d = ig_onnx_compute_type(x, "Add", call->val->dtype);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  const char *at = ig_onnx_index_operand(x, &call->args[2]);
  const char *src = source_of(x, call, &call->args[3], at, d);
  if (!with_self) {
    const char *blank = ig_onnx_number(x, d, neutral_of(reduce, d));
    blank = ig_onnx_emit2(x, "Expand", blank, ig_onnx_emit1(x, "Shape", at, NULL), NULL);
    self = scatter_node(x, call, self, at, blank, NULL);
  }
  const char *how = strcmp(reduce, "prod") == 0 ? "mul" : most ? "max" : least ? "min" : "add";
  const char *out = scatter_node(x, call, self, at, src, how);
  if (strcmp(reduce, "mean") == 0) out = scatter_mean(x, call, out, at, with_self, d);
  (void)ig_onnx_finish(x, call, out, d);
}

// ---- pieces of one dimension

// self, src, dim, start, end, step: what is before, src, what is behind
static void slice_scatter(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  const ig_tensor *self = ig_onnx_tensor_of(&a[0]);
  const ig_tensor *src = ig_onnx_tensor_of(&a[1]);
  int64_t axis = ig_onnx_dim(x, &a[2], call->val->ndim);
  int64_t step = ig_onnx_int_of(x, &a[5]);
  if (!self || !src) return;
  ig_int size = ig_onnx_size_at(x, self, axis);
  ig_int start = ig_onnx_is_none(&a[3]) ? ig_const(0) : ig_onnx_symint_of(x, &a[3]);
  if (!start.expr && start.value < 0) start = ig_int_add(x->c, start, size);
  if (!start.expr && start.value < 0) start = ig_const(0);
  const char *data = ig_onnx_operand(x, &a[0], IG_DTYPE_COUNT);
  const char *piece = ig_onnx_operand(x, &a[1], call->val->dtype);
  ig_int span = ig_int_mul(x->c, ig_onnx_size_at(x, src, axis), ig_const(step));
  if (step != 1) {  // at start, start + step, ...
    const char *from = ig_onnx_size(x, start);
    const char *to = ig_onnx_size(x, ig_int_add(x->c, start, span));
    const char *by = ig_onnx_integer(x, IG_I64, step);
    from = ig_onnx_squeeze(x, from, 0, NULL);
    to = ig_onnx_squeeze(x, to, 0, NULL);
    const char *at = ig_onnx_emit3(x, "Range", from, to, by, NULL);
    int64_t perm[IG_MAX_DIM];
    for (int i = 0; i < self->ndim; i++) perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
    data = ig_onnx_permuted(x, data, perm, self->ndim);
    piece = ig_onnx_permuted(x, piece, perm, self->ndim);
    at = ig_onnx_unsqueeze(x, at, 1, NULL);
    const char *out = ig_onnx_emit3(x, "ScatterND", data, at, piece, NULL);
    for (int i = 0; i < self->ndim; i++) perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    ig_onnx_same(x, ig_onnx_permuted(x, out, perm, self->ndim), call->out);
    return;
  }
  const char *zero = ig_onnx_vector(x, (int64_t[]){0}, 1);
  const char *last = ig_onnx_vector(x, (int64_t[]){INT64_MAX}, 1);
  const char *before = ig_onnx_slice(x, data, zero, ig_onnx_size(x, start), axis, 1, NULL);
  const char *stop = ig_onnx_size(x, ig_int_add(x->c, start, span));
  const char *behind = ig_onnx_slice(x, data, stop, last, axis, 1, NULL);
  const char *parts[] = {before, piece, behind};
  (void)ig_onnx_concat(x, parts, 3, axis, call->out);
}

// self, src, dim, index
static void select_scatter(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  const ig_tensor *self = ig_onnx_tensor_of(&a[0]);
  int64_t axis = ig_onnx_dim(x, &a[2], call->val->ndim);
  ig_int at = ig_onnx_symint_of(x, &a[3]);
  if (!self) return;
  if (!at.expr && at.value < 0) at = ig_int_add(x->c, at, ig_onnx_size_at(x, self, axis));
  const char *data = ig_onnx_operand(x, &a[0], IG_DTYPE_COUNT);
  const char *piece = ig_onnx_operand(x, &a[1], call->val->dtype);
  const char *zero = ig_onnx_vector(x, (int64_t[]){0}, 1);
  const char *last = ig_onnx_vector(x, (int64_t[]){INT64_MAX}, 1);
  const char *before = ig_onnx_slice(x, data, zero, ig_onnx_size(x, at), axis, 1, NULL);
  const char *stop = ig_onnx_size(x, ig_int_add(x->c, at, ig_const(1)));
  const char *behind = ig_onnx_slice(x, data, stop, last, axis, 1, NULL);
  const char *parts[] = {before, ig_onnx_unsqueeze(x, piece, axis, NULL), behind};
  (void)ig_onnx_concat(x, parts, 3, axis, call->out);
}

const ig_onnx_row ig_onnx_scatter[] = {
    {"aten.index_put.default", index_put, NULL, NULL},
    {"aten._unsafe_index_put.default", index_put, NULL, NULL},
    {"aten.scatter.src", scatter_set, NULL, NULL},
    {"aten.scatter.value", scatter_set, NULL, NULL},
    {"aten.scatter.reduce", scatter_reduce_old, NULL, NULL},
    {"aten.scatter.value_reduce", scatter_reduce_old, NULL, NULL},
    {"aten.scatter_add.default", scatter_add, NULL, reduces},
    {"aten.scatter_reduce.two", scatter_reduce, NULL, NULL},
    {"aten.slice_scatter.default", slice_scatter, NULL, NULL},
    {"aten.select_scatter.default", select_scatter, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
