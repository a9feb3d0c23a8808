// SPDX-License-Identifier: Apache-2.0
// ONNX of operators that repeat, pad, mirror and cut out: flip, repeat, pad, tril, diagonal,
// windows over a dimension.
#include <string.h>

#include "onnx/indices.h"

static const char *self_of(ig_onnx *x, const ig_onnx_call *call) {
  return ig_onnx_operand(x, &call->args[0], IG_DTYPE_COUNT);
}

// self, dims
static void flip(ig_onnx *x, const ig_onnx_call *call) {
  int64_t dims[IG_MAX_DIM] = {0};
  size_t n = ig_onnx_int_list(x, &call->args[1], dims, IG_MAX_DIM, 0);
  if (n == 0 || call->val->ndim == 0) {
    ig_onnx_same(x, self_of(x, call), call->out);
    return;
  }
  int64_t starts[IG_MAX_DIM];
  int64_t ends[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) {
    starts[i] = -1;
    ends[i] = INT64_MIN;
  }
  const char *from = ig_onnx_vector(x, starts, n);
  const char *to = ig_onnx_vector(x, ends, n);
  const char *axes = ig_onnx_vector(x, dims, n);
  ig_onnx_node node = {
      .op_type = "Slice", .in = {self_of(x, call), from, to, axes, from}, .out = call->out};
  (void)ig_onnx_emit(x, &node);
}

// The known integers of a list argument; 0: not all are known.
static size_t known_ints(const ig_value *v, int64_t *out) {
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : v->kind == IG_KIND_LIST ? v->list.n : 0;
  for (size_t i = 0; i < n && n <= IG_MAX_DIM; i++) {
    bool plain = v->kind == IG_KIND_INTS || v->list.at[i].kind == IG_KIND_INT;
    ig_int one = !plain ? ig_const(0) : v->kind == IG_KIND_INTS ? v->ints.at[i] : v->list.at[i].i;
    if (!plain || one.expr) return 0;
    out[i] = one.value;
  }
  return n <= IG_MAX_DIM ? n : 0;
}

// self, shifts, dims: a dimension each, of a size that is known to hold the shift
static bool roll_can(int opset, const ig_value *args, size_t n) {
  (void)opset;
  const ig_tensor *t = n == 3 ? ig_onnx_tensor_of(&args[0]) : NULL;
  int64_t shifts[IG_MAX_DIM];
  int64_t dims[IG_MAX_DIM];
  size_t count = t ? known_ints(&args[1], shifts) : 0;
  bool fits = count > 0 && known_ints(&args[2], dims) == count;
  for (size_t i = 0; fits && i < count; i++) {
    int64_t d = dims[i] + (dims[i] < 0 ? t->ndim : 0);
    fits = d >= 0 && d < t->ndim && !ig_sizes(t)[d].expr && shifts[i] != 0;
    fits = fits && shifts[i] > -ig_sizes(t)[d].value && shifts[i] < ig_sizes(t)[d].value;
  }
  return fits;
}
static void roll(ig_onnx *x, const ig_onnx_call *call) {
  int64_t shifts[IG_MAX_DIM] = {0};
  int64_t dims[IG_MAX_DIM] = {0};
  size_t n = ig_onnx_int_list(x, &call->args[1], shifts, IG_MAX_DIM, 0);
  (void)ig_onnx_int_list(x, &call->args[2], dims, IG_MAX_DIM, 0);
  const char *in = self_of(x, call);
  int64_t zero = 0;
  int64_t end = INT64_MAX;
  for (size_t i = 0; i < n; i++) {
    int64_t axis = dims[i] < 0 ? dims[i] + call->val->ndim : dims[i];
    int64_t at = -shifts[i];
    const char *parts[2];
    const char *from = ig_onnx_vector(x, &at, 1);
    parts[0] = ig_onnx_slice(x, in, from, ig_onnx_vector(x, &end, 1), axis, 1, NULL);
    from = ig_onnx_vector(x, &zero, 1);
    parts[1] = ig_onnx_slice(x, in, from, ig_onnx_vector(x, &at, 1), axis, 1, NULL);
    in = ig_onnx_concat(x, parts, 2, axis, i + 1 == n ? call->out : NULL);
  }
}

// self, repeats: may have more dimensions than self
static void repeat(ig_onnx *x, const ig_onnx_call *call) {
  ig_int counts[IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, &call->args[1], counts, IG_MAX_DIM, 0);
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *in = self_of(x, call);
  for (size_t i = (size_t)ndim; i < n; i++) in = ig_onnx_unsqueeze(x, in, 0, NULL);
  if (n == 0) {
    ig_onnx_same(x, in, call->out);
    return;
  }
  ig_int all[IG_MAX_DIM];
  size_t lead = n < (size_t)ndim ? (size_t)ndim - n : 0;  // tile: fewer counts than dimensions
  for (size_t i = 0; i < lead; i++) all[i] = ig_const(1);
  for (size_t i = 0; i < n; i++) all[lead + i] = counts[i];
  (void)ig_onnx_emit2(x, "Tile", in, ig_onnx_shape_of(x, all, lead + n), call->out);
}

// ---- padding

// Pairs from the last dimension on: begins of all dimensions, then ends.
static const char *pads_of(ig_onnx *x, const ig_value *v, int ndim) {
  ig_int given[IG_MAX_DIM];
  ig_int all[2 * IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, v, given, IG_MAX_DIM, 0) / 2;
  for (int i = 0; i < 2 * ndim; i++) all[i] = ig_const(0);
  for (size_t i = 0; i < n && (int)i < ndim; i++) {
    all[ndim - 1 - (int)i] = given[2 * i];
    all[2 * ndim - 1 - (int)i] = given[2 * i + 1];
  }
  return ig_onnx_shape_of(x, all, (size_t)(2 * ndim));
}

static void pad_by(ig_onnx *x, const ig_onnx_call *call, const char *mode, const ig_value *value) {
  int ndim = call->val->ndim;
  if (ndim > IG_MAX_DIM / 2) return;
  ig_dtype d = call->val->dtype == IG_BF16 ? IG_F32 : call->val->dtype;
  if (d == IG_I16 || d == IG_U16) d = IG_I32;
  const char *pads = pads_of(x, &call->args[1], ndim);
  const char *fill = value ? ig_onnx_operand(x, value, d) : "";
  // PyTorch's exporter turns the pads around by nodes, and always gives the value of the border.
  size_t given = fill[0] || strcmp(mode, "constant") != 0;
  if (x->least >= 11) ig_onnx_count_values(x, given ? 21 : 22);
  if (x->least < 11 && !ig_dtype_is_float(d)) ig_onnx_count_values(x, 2);  // casts around it
  ig_onnx_node node = {.op_type = "Pad",
                       .in = {ig_onnx_operand(x, &call->args[0], d), pads, fill[0] ? fill : NULL},
                       .attrs = {ig_onnx_string("mode", mode)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// self, pad, value
static void constant_pad(ig_onnx *x, const ig_onnx_call *call) {
  pad_by(x, call, "constant", &call->args[2]);
}

static const char *pad_mode(const ig_value *v) {
  static const char *const modes[][2] = {{"constant", "constant"},
                                         {"reflect", "reflect"},
                                         {"replicate", "edge"},
                                         {"circular", "wrap"}};
  for (size_t i = 0; v->kind == IG_KIND_STR && i < 4; i++) {
    if (strcmp(v->str, modes[i][0]) == 0) return modes[i][1];
  }
  return NULL;
}

// self, pad, mode, value
static bool pad_can(int opset, const ig_value *args, size_t n) {
  const char *mode = n == 4 ? pad_mode(&args[2]) : NULL;
  return mode && (opset >= 19 || strcmp(mode, "wrap") != 0);
}
static void pad(ig_onnx *x, const ig_onnx_call *call) {
  const char *mode = pad_mode(&call->args[2]);
  bool fill = mode && strcmp(mode, "constant") == 0 && !ig_onnx_is_none(&call->args[3]);
  pad_by(x, call, mode ? mode : "constant", fill ? &call->args[3] : NULL);
}

// ---- triangles and diagonals

// self, diagonal
static void triangle(ig_onnx *x, const ig_onnx_call *call, bool upper) {
  ig_dtype own = call->val->dtype;
  ig_dtype d = own == IG_BOOL ? own : ig_onnx_compute_type(x, "Trilu", own);
  const char *k = ig_onnx_operand(x, &call->args[1], IG_I64);
  ig_onnx_node node = {.op_type = "Trilu",
                       .in = {ig_onnx_operand(x, &call->args[0], d), k},
                       .attrs = {ig_onnx_int("upper", upper)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}
static void lower_triangle(ig_onnx *x, const ig_onnx_call *call) {
  triangle(x, call, false);
}
static void upper_triangle(ig_onnx *x, const ig_onnx_call *call) {
  triangle(x, call, true);
}
static bool since_14(int opset, const ig_value *args, size_t n) {
  (void)args;
  (void)n;
  return opset >= 14;
}

// Places of a diagonal in a plane whose rows are laid out one after the other: first, then every
// (columns + 1)th, `count` of them.
static const char *diagonal_places(ig_onnx *x, ig_int columns, int64_t offset, ig_int count) {
  ig_int down = offset < 0 ? ig_int_sub(x->c, ig_const(0), ig_const(offset)) : ig_const(0);
  ig_int first = offset >= 0 ? ig_const(offset) : ig_int_mul(x->c, down, columns);
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *n = ig_onnx_scalar_size(x, count);
  const char *at = ig_onnx_emit3(x, "Range", zero, n, one, NULL);
  const char *step = ig_onnx_size(x, ig_int_add(x->c, columns, ig_const(1)));
  at = ig_onnx_emit2(x, "Mul", at, step, NULL);
  return ig_onnx_emit2(x, "Add", at, ig_onnx_size(x, first), NULL);
}

typedef struct plane {
  int64_t perm[IG_MAX_DIM];  // both dimensions last
  int64_t back[IG_MAX_DIM];
  int64_t flat[IG_MAX_DIM];  // Reshape that makes one of them; 0: as it was
  int n;
  int64_t b;
} plane;

static plane plane_of(ig_onnx *x, int n, const ig_value *dim1, const ig_value *dim2) {
  plane p = {.n = n, .b = ig_onnx_dim(x, dim2, n)};
  int64_t a = ig_onnx_dim(x, dim1, n);
  int k = 0;
  for (int d = 0; d < n; d++) {
    if (d != a && d != p.b) p.perm[k++] = d;
  }
  p.perm[k++] = a;
  p.perm[k] = p.b;
  for (int d = 0; d < n; d++) p.back[p.perm[d]] = d;
  p.flat[n - 2] = -1;
  return p;
}

// self, offset, dim1, dim2
static void diagonal(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  if (!self || self->ndim < 2) return;
  plane p = plane_of(x, self->ndim, &call->args[2], &call->args[3]);
  int64_t offset = ig_onnx_int_of(x, &call->args[1]);
  ig_int count = ig_sizes(call->val)[call->val->ndim - 1];
  const char *in = ig_onnx_permuted(x, self_of(x, call), p.perm, p.n);
  in = ig_onnx_emit2(x, "Reshape", in, ig_onnx_vector(x, p.flat, (size_t)p.n - 1), NULL);
  const char *at = diagonal_places(x, ig_sizes(self)[p.b], offset, count);
  (void)ig_onnx_gather(x, in, at, p.n - 2, call->out);
}

// self, src, offset, dim1, dim2
static void diagonal_scatter(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  const ig_tensor *src = ig_onnx_tensor_of(&call->args[1]);
  if (!self || !src || self->ndim < 2) return;
  plane p = plane_of(x, self->ndim, &call->args[3], &call->args[4]);
  int64_t offset = ig_onnx_int_of(x, &call->args[2]);
  const char *in = ig_onnx_permuted(x, self_of(x, call), p.perm, p.n);
  const char *sizes = ig_onnx_emit1(x, "Shape", in, NULL);
  in = ig_onnx_emit2(x, "Reshape", in, ig_onnx_vector(x, p.flat, (size_t)p.n - 1), NULL);
  const char *at = diagonal_places(x, ig_sizes(self)[p.b], offset, ig_sizes(src)[src->ndim - 1]);
  const char *values = ig_onnx_operand(x, &call->args[1], call->val->dtype);
  at = ig_onnx_emit2(x, "Expand", at, ig_onnx_emit1(x, "Shape", values, NULL), NULL);
  ig_onnx_node node = {.op_type = "ScatterElements",
                       .in = {in, at, values},
                       .attrs = {ig_onnx_int("axis", p.n - 2)}};
  in = ig_onnx_emit2(x, "Reshape", ig_onnx_emit(x, &node), sizes, NULL);
  ig_onnx_same(x, ig_onnx_permuted(x, in, p.back, p.n), call->out);
}

// ---- windows

// A constant of int64 in the sizes given; the caller fills it if it is new.
static int64_t *index_table(ig_onnx *x, const int64_t *dims, int ndim, const char **name) {
  return ig_onnx_constant(x, ig_onnx_fresh(x, "table"), IG_I64, dims, ndim, name);
}

// self, dimension, size, step: windows in a new last dimension
static void unfold(ig_onnx *x, const ig_onnx_call *call) {
  int n = ig_onnx_ndim(&call->args[0]);
  int64_t size = ig_onnx_int_of(x, &call->args[2]);
  int64_t step = ig_onnx_int_of(x, &call->args[3]);
  if (n == 0) {
    (void)ig_onnx_unsqueeze(x, self_of(x, call), 0, call->out);
    return;
  }
  int64_t axis = ig_onnx_dim(x, &call->args[1], n);
  const char *count = ig_onnx_scalar_size(x, ig_onnx_size_at(x, call->val, axis));
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *one = ig_onnx_integer(x, IG_I64, 1);
  const char *at = ig_onnx_emit3(x, "Range", zero, count, one, NULL);
  at = ig_onnx_emit2(x, "Mul", at, ig_onnx_integer(x, IG_I64, step), NULL);
  at = ig_onnx_unsqueeze(x, at, 1, NULL);
  const char *inner = ig_onnx_integer(x, IG_I64, size);
  inner = ig_onnx_emit3(x, "Range", zero, inner, one, NULL);
  at = ig_onnx_emit2(x, "Add", at, inner, NULL);
  const char *out = ig_onnx_gather(x, self_of(x, call), at, axis, NULL);
  int64_t perm[IG_MAX_DIM];
  for (int d = 0; d <= n; d++) perm[d] = d <= axis ? d : d + 1;
  perm[n] = axis + 1;
  (void)ig_onnx_transpose(x, out, perm, (size_t)n + 1, call->out);
}

static bool is_same(ig_int a, ig_int b) {
  return a.expr || b.expr ? a.expr == b.expr : a.value == b.value;
}

static bool is_dense(ig_onnx *x, const ig_tensor *t) {
  ig_int expected = ig_const(1);
  for (int d = t->ndim - 1; d >= 0; d--) {
    ig_int size = ig_sizes(t)[d];
    bool one = !size.expr && size.value == 1;
    if (!one && !is_same(ig_strides(t)[d], expected)) return false;
    expected = ig_int_mul(x->c, expected, size);
  }
  return true;
}

// self, size, stride, storage_offset: of a contiguous tensor, a lookup
static void as_strided(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  int64_t sizes[IG_MAX_DIM];
  int64_t strides[IG_MAX_DIM];
  size_t n = ig_onnx_int_list(x, &call->args[1], sizes, IG_MAX_DIM, 0);
  size_t m = ig_onnx_int_list(x, &call->args[2], strides, IG_MAX_DIM, 0);
  bool own = ig_onnx_is_none(&call->args[3]);
  int64_t offset = own ? 0 : ig_onnx_int_of(x, &call->args[3]);
  if (!self || n != m || !is_dense(x, self)) {
    ig_onnx_refuse(x, call->node, "strides over memory that is not in order");
    return;
  }
  const char *name = NULL;
  int64_t *at = index_table(x, sizes, (int)n, &name);
  int64_t total = 1;
  for (size_t d = 0; d < n; d++) total *= sizes[d];
  for (int64_t i = 0; at && i < total; i++) {
    at[i] = offset;
    int64_t left = i;
    for (size_t d = n; d-- > 0;) {
      at[i] += left % sizes[d] * strides[d];
      left /= sizes[d];
    }
  }
  const char *flat =
      ig_onnx_emit2(x, "Reshape", self_of(x, call), ig_onnx_vector(x, (int64_t[]){-1}, 1), NULL);
  (void)ig_onnx_gather(x, flat, name, 0, call->out);
}

const ig_onnx_row ig_onnx_pieces[] = {
    {"aten.flip.default", flip, NULL, NULL},
    {"aten.roll.default", roll, NULL, roll_can},
    {"aten.repeat.default", repeat, NULL, NULL},
    {"aten.tile.default", repeat, NULL, NULL},
    {"aten.constant_pad_nd.default", constant_pad, NULL, NULL},
    {"aten.pad.default", pad, NULL, pad_can},
    {"aten.tril.default", lower_triangle, NULL, since_14},
    {"aten.triu.default", upper_triangle, NULL, since_14},
    {"aten.diagonal.default", diagonal, NULL, NULL},
    {"aten.diagonal_copy.default", diagonal, NULL, NULL},
    {"aten.diagonal_scatter.default", diagonal_scatter, NULL, NULL},
    {"aten.unfold.default", unfold, NULL, NULL},
    {"aten.as_strided.default", as_strided, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
