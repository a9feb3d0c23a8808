// SPDX-License-Identifier: Apache-2.0
// ONNX of reading by indices: along one dimension (Gather), element by element (GatherElements), by
// several index tensors at once (GatherND), and by masks (NonZero).
#include <string.h>

#include "onnx/indices.h"

static const char *self_of(ig_onnx *x, const ig_onnx_call *call) {
  return ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
}

const char *ig_onnx_index_operand(ig_onnx *x, const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  bool fits = t && (t->dtype == IG_I64 || t->dtype == IG_I32);
  return ig_onnx_operand(x, v, fits ? IG_DTYPE_COUNT : IG_I64);
}

// ---- lists of index tensors

// Where a mask is true: a vector of indices per dimension of it.
static void add_mask(ig_onnx *x, ig_onnx_indices *in, const ig_value *v, int dim) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  const char *places = ig_onnx_emit1(x, "NonZero", ig_onnx_operand(x, v, IG_BOOL), NULL);
  for (int k = 0; k < t->ndim && in->n < IG_MAX_DIM; k++) {
    const char *row = ig_onnx_gather(x, places, ig_onnx_integer(x, IG_I64, k), 0, NULL);
    in->names[in->n] = row;
    in->dims[in->n++] = dim + k;
  }
  in->ndim = in->ndim > 1 ? in->ndim : 1;
  in->masks++;
}

bool ig_onnx_read_indices(ig_onnx *x, const ig_onnx_call *call, ig_onnx_indices *in) {
  const ig_value *list = &call->args[1];
  *in = (ig_onnx_indices){.n = 0};
  if (list->kind != IG_KIND_LIST) return false;
  int dim = 0;
  bool same = true;
  const ig_tensor *first = NULL;
  for (size_t i = 0; i < list->list.n && in->n < IG_MAX_DIM; i++) {
    const ig_value *v = &list->list.at[i];
    const ig_tensor *t = ig_onnx_tensor_of(v);
    if (!t) {
      dim++;
      continue;
    }
    if (t->dtype == IG_BOOL || t->dtype == IG_U8) {
      add_mask(x, in, v, dim);
      dim += t->ndim;
      same = same && in->masks == 1 && !first;
      continue;
    }
    in->names[in->n] = ig_onnx_operand(x, v, IG_I64);
    in->dims[in->n++] = dim++;
    if (t->ndim > in->ndim) in->ndim = t->ndim;
    same = same && !in->masks;
    for (int d = 0; first && same && d < t->ndim; d++) {
      same = first->ndim == t->ndim && ig_sizes(first)[d].value == ig_sizes(t)[d].value &&
             ig_sizes(first)[d].expr == ig_sizes(t)[d].expr;
    }
    same = same && (!first || first->ndim == t->ndim);
    if (!first) first = t;
  }
  in->broadcast = !same;
  in->adjacent = true;
  for (size_t i = 1; i < in->n; i++) {
    in->adjacent = in->adjacent && in->dims[i] == in->dims[i - 1] + 1;
  }
  return in->n > 0;
}

// Index tensors of different sizes take their common size: that of their sum.
const char *ig_onnx_stack_indices(ig_onnx *x, const ig_onnx_indices *in) {
  const char *names[IG_MAX_DIM] = {NULL};
  const char *sizes = NULL;
  if (in->broadcast) {
    const char *sum = in->names[0];
    for (size_t i = 1; i < in->n; i++) sum = ig_onnx_emit2(x, "Add", sum, in->names[i], NULL);
    sizes = ig_onnx_emit1(x, "Shape", sum, NULL);
  }
  for (size_t i = 0; i < in->n; i++) {
    const char *name = in->names[i];
    if (sizes) name = ig_onnx_emit2(x, "Expand", name, sizes, NULL);
    names[i] = ig_onnx_unsqueeze(x, name, -1, NULL);
  }
  if (in->n > 1) return ig_onnx_concat(x, names, in->n, -1, NULL);
  ig_onnx_count_values(x, x->least < 13 ? 2 : 1);
  return names[0];
}

// Indexed dimensions first, then the others in order.
void ig_onnx_index_order(const ig_onnx_indices *in, int ndim, int64_t *perm) {
  size_t k = 0;
  for (; k < in->n; k++) perm[k] = in->dims[k];
  for (int d = 0; d < ndim; d++) {
    bool taken = false;
    for (size_t i = 0; i < in->n; i++) taken = taken || in->dims[i] == d;
    if (!taken) perm[k++] = d;
  }
}

static bool is_sorted(const int64_t *perm, int n) {
  for (int i = 0; i < n; i++) {
    if (perm[i] != i) return false;
  }
  return true;
}

const char *ig_onnx_permuted(ig_onnx *x, const char *in, const int64_t *perm, int n) {
  return is_sorted(perm, n) ? in : ig_onnx_transpose(x, in, perm, (size_t)n, NULL);
}

// The dimensions of the indices replace the first indexed dimension if the indexed dimensions are
// adjacent, and come first otherwise.
static const char *place_result(ig_onnx *x, const ig_onnx_indices *in, const char *out, int ndim) {
  int at = in->dims[0];
  if (!in->adjacent || at == 0) return out;
  int64_t perm[IG_MAX_DIM];
  int n = 0;
  for (int d = 0; d < at; d++) perm[n++] = in->ndim + d;
  for (int d = 0; d < in->ndim; d++) perm[n++] = d;
  for (int d = in->ndim + at; d < ndim; d++) perm[n++] = d;
  return ig_onnx_permuted(x, out, perm, n);
}

// One mask over the first dimensions and nothing else.
static bool is_first_mask(const ig_value *list) {
  const ig_tensor *t = NULL;
  for (size_t i = 0; list->kind == IG_KIND_LIST && i < list->list.n; i++) {
    const ig_tensor *one = ig_onnx_tensor_of(&list->list.at[i]);
    if (one && i) return false;
    if (one) t = one;
  }
  return t && (t->dtype == IG_BOOL || t->dtype == IG_U8) && t->ndim > 0;
}

static void take_places(ig_onnx *x, const char *self, const char *mask, const char *out) {
  static const int64_t perm[] = {1, 0};
  const char *places = ig_onnx_emit1(x, "NonZero", mask, NULL);
  places = ig_onnx_transpose(x, places, perm, 2, NULL);
  (void)ig_onnx_emit2(x, "GatherND", self, places, out);
}

// The only index, which is not a mask, and its dimension. NULL: there are others.
static const ig_value *lone_index(const ig_value *list, int *dim) {
  const ig_value *found = NULL;
  for (size_t i = 0; list->kind == IG_KIND_LIST && i < list->list.n; i++) {
    const ig_tensor *t = ig_onnx_tensor_of(&list->list.at[i]);
    if (t && (found || t->dtype == IG_BOOL || t->dtype == IG_U8)) return NULL;
    if (t) *dim = (int)i;
    if (t) found = &list->list.at[i];
  }
  return found;
}

static void index(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_indices in;
  int lone_dim = 0;
  const ig_value *lone = lone_index(&call->args[1], &lone_dim);
  if (lone) {
    const char *from = self_of(x, call);
    (void)ig_onnx_gather(x, from, ig_onnx_index_operand(x, lone), lone_dim, call->out);
    return;
  }
  if (is_first_mask(&call->args[1])) {
    const char *mask = ig_onnx_operand(x, &call->args[1].list.at[0], IG_DTYPE_COUNT);
    take_places(x, self_of(x, call), mask, call->out);
    return;
  }
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *self = self_of(x, call);
  if (!ig_onnx_read_indices(x, call, &in)) {
    ig_onnx_same(x, self, call->out);
    return;
  }
  if (in.n == 1) {
    (void)ig_onnx_gather(x, self, in.names[0], in.dims[0], call->out);
    return;
  }
  int64_t perm[IG_MAX_DIM];
  ig_onnx_index_order(&in, ndim, perm);
  self = ig_onnx_permuted(x, self, perm, ndim);
  const char *at = ig_onnx_stack_indices(x, &in);
  const char *out = ig_onnx_emit2(x, "GatherND", self, at, NULL);
  out = place_result(x, &in, out, call->val->ndim);
  ig_onnx_same(x, out, call->out);
}

// ---- one index tensor

// self, dim, index; an index without dimensions gives a dimension of one element
// A vector of the one element that an index without dimensions has.
static const char *as_vector(ig_onnx *x, const char *at) {
  static const int64_t rest = -1;
  if (!x->options->torchscript) return ig_onnx_unsqueeze(x, at, 0, NULL);
  return ig_onnx_emit2(x, "Reshape", at, ig_onnx_vector(x, &rest, 1), NULL);
}

static void index_select(ig_onnx *x, const ig_onnx_call *call) {
  const char *at = ig_onnx_index_operand(x, &call->args[2]);
  if (ig_onnx_ndim(&call->args[2]) == 0) at = as_vector(x, at);
  const char *self = self_of(x, call);
  int ndim = ig_onnx_ndim(&call->args[0]);
  if (ndim == 0) {
    self = ig_onnx_unsqueeze(x, self, 0, NULL);
    self = ig_onnx_gather(x, self, at, 0, NULL);
    (void)ig_onnx_squeeze(x, self, 0, call->out);
    return;
  }
  (void)ig_onnx_gather(x, self, at, ig_onnx_dim(x, &call->args[1], ndim), call->out);
}

// self, dim, index, *, sparse_grad
static void gather(ig_onnx *x, const ig_onnx_call *call) {
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *self = self_of(x, call);
  const char *at = ig_onnx_index_operand(x, &call->args[2]);
  if (ig_onnx_ndim(&call->args[2]) == 0 || ndim == 0) {
    (void)ig_onnx_emit2(x, "Expand", self, ig_onnx_emit1(x, "Shape", at, NULL), call->out);
    return;
  }
  ig_onnx_node node = {.op_type = "GatherElements",
                       .in = {self, at},
                       .attrs = {ig_onnx_int("axis", ig_onnx_dim(x, &call->args[1], ndim))},
                       .out = call->out};
  (void)ig_onnx_emit(x, &node);
}

// self, index: of all elements in order
static void take(ig_onnx *x, const ig_onnx_call *call) {
  const char *flat =
      ig_onnx_emit2(x, "Reshape", self_of(x, call), ig_onnx_vector(x, (int64_t[]){-1}, 1), NULL);
  (void)ig_onnx_gather(x, flat, ig_onnx_index_operand(x, &call->args[1]), 0, call->out);
}

static void embedding(ig_onnx *x, const ig_onnx_call *call) {
  const char *at = ig_onnx_index_operand(x, &call->args[1]);
  (void)ig_onnx_gather(x, self_of(x, call), at, 0, call->out);
}

// ---- masks

static const char *places_of(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *t = ig_onnx_tensor_of(&call->args[0]);
  bool known = t && (t->dtype == IG_BOOL || t->dtype == IG_F32 || t->dtype == IG_I64);
  const char *in = ig_onnx_operand(x, &call->args[0], known ? IG_DTYPE_COUNT : IG_BOOL);
  return ig_onnx_emit1(x, "NonZero", in, NULL);
}

static void nonzero(ig_onnx *x, const ig_onnx_call *call) {
  static const int64_t perm[] = {1, 0};
  (void)ig_onnx_transpose(x, places_of(x, call), perm, 2, call->out);
}

static bool has_dims(int opset, const ig_value *args, size_t n) {
  (void)opset;
  (void)n;
  return ig_onnx_ndim(&args[0]) > 0;
}

// self, mask: the elements where it is true; both are broadcast first
static void masked_select(ig_onnx *x, const ig_onnx_call *call) {
  const char *self = self_of(x, call);
  const char *mask = ig_onnx_operand(x, &call->args[1], IG_BOOL);
  if (!ig_onnx_same_sizes(ig_onnx_tensor_of(&call->args[0]), ig_onnx_tensor_of(&call->args[1]))) {
    const char *wide =
        ig_onnx_emit2(x, "Expand", mask, ig_onnx_emit1(x, "Shape", self, NULL), NULL);
    self = ig_onnx_emit2(x, "Expand", self, ig_onnx_emit1(x, "Shape", mask, NULL), NULL);
    mask = wide;
  }
  if (x->options->torchscript && ig_onnx_ndim(&call->args[0])) {
    take_places(x, self, mask, call->out);
    return;
  }
  mask = ig_onnx_emit2(x, "Reshape", mask, ig_onnx_vector(x, (int64_t[]){-1}, 1), NULL);
  ig_dtype d = ig_onnx_compute_type(x, "Compress", call->val->dtype);
  if (d != call->val->dtype) self = ig_onnx_cast(x, self, d, NULL);
  ig_onnx_node node = {.op_type = "Compress", .in = {self, mask}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

static bool one_hot_can(int opset, const ig_value *args, size_t n) {
  return opset >= 9 && n == 2 && args[1].kind == IG_KIND_INT && !args[1].i.expr &&
         args[1].i.value > 0;
}

// self, num_classes
static void one_hot(ig_onnx *x, const ig_onnx_call *call) {
  static const int64_t values[] = {0, 1};
  const char *in = ig_onnx_operand(x, &call->args[0], IG_I64);
  const char *depth = ig_onnx_integer(x, IG_I64, call->args[1].i.value);
  (void)ig_onnx_emit(x, &(ig_onnx_node){.op_type = "OneHot",
                                        .in = {in, depth, ig_onnx_vector(x, values, 2)},
                                        .attrs = {ig_onnx_int("axis", -1)},
                                        .out = call->out});
}

const ig_onnx_row ig_onnx_index[] = {
    {"aten.index.Tensor", index, NULL, NULL},
    {"aten._unsafe_index.Tensor", index, NULL, NULL},
    {"aten.index_select.default", index_select, NULL, NULL},
    {"aten.one_hot.default", one_hot, NULL, one_hot_can},
    {"aten.gather.default", gather, NULL, NULL},
    {"aten.take.default", take, NULL, NULL},
    {"aten.embedding.default", embedding, NULL, NULL},
    {"aten.nonzero.default", nonzero, NULL, has_dims},
    {"aten.masked_select.default", masked_select, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
