// SPDX-License-Identifier: Apache-2.0
// Views that keep the number of elements: reorderings of dimensions, view and its kin. The shape
// rule of a view is the whole operator.
#include <string.h>

#include "op/formula.h"
#include "op/known.h"
#include "op/record.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/layout/inverse.h"
#include "ops/quant.h"
#include "sym/env.h"

// A size that the caller leaves open.
static bool is_hole(ig_int size) {
  return !size.expr && size.value == -1;  // concrete: -1 is a mark, not a size
}

static void move_dim(ig_meta *m, const ig_tensor *from, int to_dim, int from_dim) {
  m->size[to_dim] = ig_sizes(from)[from_dim];
  m->stride[to_dim] = ig_strides(from)[from_dim];
}

static void alias_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)c;
  (void)op;
  ig_meta_view(args[0].tensor, out);
}

static void t_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  if (self->ndim > 2) {
    ig_fail_text(c, IG_RUNTIME, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                 self->ndim);
  } else if (self->ndim == 2) {
    move_dim(out, self, 0, 1);
    move_dim(out, self, 1, 0);
  }
}

static void transpose_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  int a = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  int b = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (self->ndim == 0 || c->status != IG_OK) return;
  move_dim(out, self, a, b);
  move_dim(out, self, b, a);
}

static bool refuse_order(ig_ctx *c, const ig_value *dims) {
  ig_fail_text(c, IG_INVALID, "Received an invalid permutation, %s!",
               ig_sizes_text(c, dims->ints.at, dims->ints.n));
  return false;
}

// order[d] is the dimension of self that becomes dimension d.
static bool permutation(ig_ctx *c, const ig_value *dims, const ig_tensor *self, int *order) {
  bool seen[IG_MAX_DIM] = {false};
  int ndim = self->ndim;
  bool fake = ig_is_fake(self);
  for (size_t d = 0; fake && d < dims->ints.n; d++) {
    (void)ig_wrap_dim(c, ig_int_specialize(c, dims->ints.at[d]), ndim);
    if (c->status != IG_OK) return false;
  }
  if (fake && dims->ints.n != (size_t)ndim) return refuse_order(c, dims);
  if (dims->ints.n != (size_t)ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                 "length of the desired ordering of dimensions i.e. input.dim() = %d is not equal "
                 "to len(dims) = %zu",
                 ndim, dims->ints.n);
    return false;
  }
  for (int d = 0; d < ndim; d++) {
    order[d] = ig_wrap_dim(c, ig_int_specialize(c, dims->ints.at[d]), ndim);
    if (c->status != IG_OK) return false;
    if (seen[order[d]] && fake) return refuse_order(c, dims);
    if (seen[order[d]]) {
      ig_fail_text(c, IG_RUNTIME, "permute(): duplicate dims are not allowed.");
      return false;
    }
    seen[order[d]] = true;
  }
  return true;
}

static void permute_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  int order[IG_MAX_DIM];
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  if (!permutation(c, &args[1], self, order)) return;
  for (int d = 0; d < self->ndim; d++) move_dim(out, self, d, order[d]);
}

static ig_tensor *t_decompose(ig_ctx *c, const ig_value *args) {
  if (args[0].tensor->ndim < 2) return ig_alias(c, args[0].tensor);
  return ig_permute(c, args[0].tensor, ig_of_ints((ig_int[]){ig_const(1), ig_const(0)}, 2));
}

static ig_tensor *transpose_decompose(ig_ctx *c, const ig_value *args) {
  ig_int order[IG_MAX_DIM];
  ig_tensor *self = args[0].tensor;
  int a = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  int b = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (self->ndim == 0 || a == b) return ig_alias(c, self);
  for (int d = 0; d < self->ndim; d++) order[d] = ig_const(d == a ? b : d == b ? a : d);
  return ig_permute(c, self, ig_of_ints(order, (size_t)self->ndim));
}

static bool check_size(ig_ctx *c, const ig_value *size, size_t i) {
  ig_int s = size->ints.at[i];
  if (!ig_int_is(c, s, IG_LT, ig_const(0))) return c->status == IG_OK;
  ig_fail_text(c, IG_RUNTIME, "invalid shape dimension %s at index %zu of shape %s",
               ig_int_text(c, s), i, ig_sizes_text(c, size->ints.at, size->ints.n));
  return false;
}

static bool refuse_shape(ig_ctx *c, const ig_value *size, ig_int numel) {
  if (c->status != IG_OK) return false;
  ig_fail_text(c, IG_RUNTIME, "shape '%s' is invalid for input of size %s",
               ig_sizes_text(c, size->ints.at, size->ints.n), ig_int_text(c, numel));
  return false;
}

// What is left of the elements for a -1.
static bool fill_hole(ig_ctx *c, const ig_value *size, ig_int numel, ig_int known, ig_int *hole) {
  if (ig_int_eq_i64(c, known, 0)) {
    ig_fail_text(c, IG_RUNTIME,
                 "cannot reshape tensor of 0 elements into shape %s because the unspecified "
                 "dimension size -1 can be any value and is ambiguous",
                 ig_sizes_text(c, size->ints.at, size->ints.n));
    return false;
  }
  ig_int rest = ig_int_mod(c, numel, known);
  if (!ig_int_expect(c, rest, IG_EQ, ig_const(0))) return refuse_shape(c, size, numel);
  *hole = known.expr || known.value != 1 ? ig_int_floordiv(c, numel, known) : numel;
  return c->status == IG_OK;
}

// Sizes of the result; a single -1 takes what is left of the elements.
static bool infer_sizes(ig_ctx *c, const ig_tensor *self, const ig_value *size, ig_meta *out) {
  int hole = -1;
  ig_int known = ig_const(1);
  out->ndim = 0;
  for (size_t i = 0; i < size->ints.n && c->status == IG_OK; i++) {
    ig_int s = size->ints.at[i];
    ig_meta_push_dim(c, out, s);
    if (is_hole(s) && hole >= 0) {
      ig_fail_text(c, IG_RUNTIME, "only one dimension can be inferred");
      return false;
    }
    if (is_hole(s)) {
      hole = (int)i;
    } else if (!check_size(c, size, i)) {
      return false;
    } else {
      known = ig_int_mul(c, known, s);
    }
  }
  ig_int numel = ig_numel_of(c, self);
  if (c->status != IG_OK) return false;
  if (hole >= 0) return fill_hole(c, size, numel, known, &out->size[hole]);
  return ig_int_expect(c, numel, IG_EQ, known) || refuse_shape(c, size, numel);
}

// The questions that PyTorch asks on the way from one shape to the other: does a dimension stay,
// how many are taken together, is one split. A dimension that stays is the number that it was, what
// is left of one that is split is a new one.
// Where scripts record their conditions, nothing needs to be asked.
static void ask_dims(ig_ctx *c, const ig_tensor *self, ig_meta *out) {
  ig_int have[2 * IG_MAX_DIM];
  int n = self->ndim;
  memcpy(have, ig_sizes(self), (size_t)n * sizeof *have);
  bool asks = !ig_env_records_choices(c);
  for (int at = 0; asks && at < out->ndim && at < n && c->status == IG_OK; at++) {
    ig_int length = out->size[at];
    if (ig_int_eq(c, length, have[at])) continue;
    while (at + 1 < n && ig_int_is(c, ig_int_mod(c, have[at], length), IG_NE, ig_const(0))) {
      have[at] = ig_int_mul(c, have[at], have[at + 1]);
      memmove(&have[at + 1], &have[at + 2], (size_t)(n - at - 2) * sizeof *have);
      n--;
    }
    if (n == 2 * IG_MAX_DIM || ig_int_eq(c, have[at], length)) continue;
    memmove(&have[at + 1], &have[at], (size_t)(n - at) * sizeof *have);
    have[at] = length;
    have[at + 1] = ig_int_floordiv(c, have[at + 1], length);
    n++;
  }
  for (int d = 0; d < out->ndim && d < n && c->status == IG_OK; d++) {
    if (out->size[d].expr == have[d].expr) out->size[d].origin = have[d].origin;
  }
}

// Strides for out->size over the memory of self; false when there are none. Runs of dimensions that
// lie in memory as one are cut anew.
static bool restride(ig_ctx *c, const ig_tensor *self, ig_meta *out) {
  bool empty = ig_int_eq_i64(c, ig_numel_of(c, self), 0);
  if (empty || ig_tensor_is_contiguous(c, self)) {
    bool plain = out->ndim < 2 || (self->ndim == 1 && out->ndim == 2) || self->ndim == 0;
    if (!empty && !plain && ig_tensor_is_symbolic(self)) ask_dims(c, self, out);
    ig_meta_contiguous(c, out);
    return c->status == IG_OK;
  }
  const ig_int *size = ig_sizes(self);
  const ig_int *stride = ig_strides(self);
  int v = out->ndim - 1;
  ig_int base = stride[self->ndim - 1];
  ig_int run = ig_const(1);   // elements of the current run of self
  ig_int made = ig_const(1);  // elements of the result's dimensions in it
  for (int d = self->ndim - 1; d >= 0; d--) {
    run = ig_int_mul(c, run, size[d]);
    if (d > 0 && (ig_int_eq_i64(c, size[d - 1], 1) ||
                  ig_int_eq(c, stride[d - 1], ig_int_mul(c, run, base)))) {
      continue;
    }
    while (v >= 0 && (ig_int_is(c, made, IG_LT, run) || ig_int_eq_i64(c, out->size[v], 1))) {
      out->stride[v] = ig_int_mul(c, made, base);
      made = ig_int_mul(c, made, out->size[v]);
      v--;
    }
    if (!ig_int_eq(c, made, run)) return false;
    if (d == 0) break;
    base = stride[d - 1];
    run = made = ig_const(1);
  }
  return v == -1;
}

static void view_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  if (!infer_sizes(c, self, &args[1], out) || restride(c, self, out)) return;
  ig_fail_text(c, IG_RUNTIME,
               "view size is not compatible with input tensor's size and stride (at least one "
               "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

// A capture computes the sizes before it copies.
static void record_sizes(ig_ctx *c, const ig_meta *m) {
  for (int d = 0; c->mode->capture && d < m->ndim; d++) {
    ig_value v = ig_of_int(m->size[d]);
    if (m->size[d].expr && m->size[d].expr->kind != IG_EXPR_SYMBOL) (void)ig_record_number(c, &v);
  }
}

// What was computed for a -1 is the number that was computed, not a new one.
static ig_tensor *take_sizes(ig_tensor *view, const ig_meta *m) {
  for (int d = 0; view && d < view->ndim && d < m->ndim; d++) {
    bool same = m->size[d].origin && view->dims[d].expr == m->size[d].expr;
    if (same) view->dims[d].origin = m->size[d].origin;
  }
  return view;
}

static ig_tensor *reshape_to(ig_ctx *c, ig_tensor *self, ig_value shape) {
  ig_meta m;
  ig_meta_init(&m, self->dtype, self->device);
  if (!infer_sizes(c, self, &shape, &m)) return NULL;
  if (restride(c, self, &m)) {
    // Eager PyTorch tells a reshape that found a view from a view.
    bool told = c->mode->capture || ig_is_fake(self) || ig_tensor_is_contiguous(c, self);
    if (told || !self->requires_grad) return take_sizes(ig_view(c, self, shape), &m);
    ig_value sizes = ig_of_ints(m.size, (size_t)m.ndim);
    return ig__reshape_alias(c, self, sizes, ig_of_ints(m.stride, (size_t)m.ndim));
  }
  record_sizes(c, &m);
  ig_tensor *dense = ig_clone_with(c, self, ig_of_memory_format(IG_CONTIGUOUS));
  return ig__unsafe_view(c, dense, ig_of_ints(m.size, (size_t)m.ndim));
}

static ig_tensor *reshape_decompose(ig_ctx *c, const ig_value *args) {
  return reshape_to(c, args[0].tensor, args[1]);
}

static ig_tensor *unsafe_view_decompose(ig_ctx *c, const ig_value *args) {
  return ig_view(c, args[0].tensor, args[1]);
}

static ig_tensor *view_as_decompose(ig_ctx *c, const ig_value *args) {
  return ig_view(c, args[0].tensor, ig_sizes_of(args[1].tensor));
}

// The new sizes are numbers in a tensor; they have to be known now.
static ig_tensor *reshape_from_tensor_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *shape = args[1].tensor;
  ig_int size[IG_MAX_DIM];
  if (shape->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME, "expected scalar type Long but found %s",
                 ig_dtype_title(shape->dtype));
    return NULL;
  }
  if (shape->ndim != 1 || ig_tensor_numel(shape) > IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "argument 'shape': found a %d-d tensor, expected a vector",
                  shape->ndim);
    return NULL;
  }
  size_t n = (size_t)ig_tensor_numel(shape);
  if (ig_is_fake(shape)) {
    const ig_int *known = ig_known_sizes(shape);
    if (known) return ig_reshape(c, args[0].tensor, ig_of_ints(known, n));
    (void)ig_fail(c, IG_DATA_DEPENDENT, "argument 'shape': its elements are not known");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) size[i] = ig_const((int64_t)ig_tensor_get(shape, (int64_t)i));
  return ig_reshape(c, args[0].tensor, ig_of_ints(size, n));
}

static ig_tensor *flatten_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  int first = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  int last = ig_wrap_dim(c, ig_value_i64(c, &args[2]), self->ndim);
  if (c->status != IG_OK) return NULL;
  if (first > last) {
    ig_fail_text(c, IG_RUNTIME, "flatten() has invalid args: start_dim cannot come after end_dim");
    return NULL;
  }
  ig_int size[IG_MAX_DIM];
  if (self->ndim == 0) {
    size[0] = ig_const(1);
    return ig_reshape(c, self, ig_of_ints(size, 1));
  }
  if (first == last) return self;
  size_t n = 0;
  for (int d = 0; d < first; d++) size[n++] = ig_sizes(self)[d];
  size[n++] = ig_product(c, ig_sizes(self) + first, (size_t)last - (size_t)first + 1);
  for (int d = last + 1; d < self->ndim; d++) size[n++] = ig_sizes(self)[d];
  return ig_reshape(c, self, ig_of_ints(size, n));
}

static ig_tensor *contiguous_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_memory_format format =
      args[1].kind == IG_KIND_MEMORY_FORMAT ? args[1].memory_format : IG_CONTIGUOUS;
  if (ig_tensor_has_format(c, self, format)) return self;
  if (format == IG_PRESERVE) {
    ig_fail_text(c, IG_RUNTIME, "preserve memory format is unsupported by the contiguous operator");
    return NULL;
  }
  return ig_clone_with(c, self, ig_of_memory_format(format));
}

static ig_tensor *itself_decompose(ig_ctx *c, const ig_value *args) {
  (void)c;
  return args[0].tensor;
}

static ig_tensor *clone_decompose(ig_ctx *c, const ig_value *args) {
  return ig_clone_with(c, args[0].tensor, ig_of_memory_format(IG_CONTIGUOUS));
}

static ig_tensor *detach_decompose(ig_ctx *c, const ig_value *args) {
  return ig_alias(c, args[0].tensor);
}

// Elements of another size: `factor` of the smaller ones make one of the larger.
static void view_larger(ig_ctx *c, const ig_tensor *self, ig_dtype to, int64_t factor,
                        ig_meta *out) {
  const char *from_title = ig_dtype_title(self->dtype);
  const char *to_title = ig_dtype_title(to);
  int last = self->ndim - 1;
  ig_int by = ig_const(factor);
  static const char form[] =
      "%s must be divisible by %lld to view %s as %s (different element sizes), but got %s";
  if (!ig_int_eq_i64(c, ig_int_mod(c, out->size[last], by), 0)) {
    ig_fail_text(c, IG_RUNTIME, form, "self.size(-1)", (long long)factor, from_title, to_title,
                 ig_int_text(c, out->size[last]));
    return;
  }
  if (!ig_int_eq_i64(c, ig_int_mod(c, out->offset, by), 0)) {
    ig_fail_text(c, IG_RUNTIME, form, "self.storage_offset()", (long long)factor, from_title,
                 to_title, ig_int_text(c, out->offset));
    return;
  }
  for (int d = 0; d < last; d++) {
    if (ig_int_eq_i64(c, ig_int_mod(c, out->stride[d], by), 0)) {
      out->stride[d] = ig_int_floordiv(c, out->stride[d], by);
      continue;
    }
    ig_fail_text(c, IG_RUNTIME,
                 "self.stride(%d) must be divisible by %lld to view %s as %s (different element "
                 "sizes), but got %s",
                 d, (long long)factor, from_title, to_title, ig_int_text(c, out->stride[d]));
    return;
  }
  out->size[last] = ig_int_floordiv(c, out->size[last], by);
  out->offset = ig_int_floordiv(c, out->offset, by);
}

static void view_smaller(ig_ctx *c, const ig_tensor *self, int64_t factor, ig_meta *out) {
  int last = self->ndim - 1;
  ig_int by = ig_const(factor);
  for (int d = 0; d < last; d++) out->stride[d] = ig_int_mul(c, out->stride[d], by);
  out->size[last] = ig_int_mul(c, out->size[last], by);
  out->offset = ig_int_mul(c, out->offset, by);
}

static void view_dtype_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_dtype to = args[1].dtype;
  int64_t old_size = (int64_t)ig_dtype_size(self->dtype);
  int64_t new_size = (int64_t)ig_dtype_size(to);
  ig_meta_view(self, out);
  out->dtype = to;
  if (old_size == new_size) return;
  const char *from_title = ig_dtype_title(self->dtype);
  if (self->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                 from_title, ig_dtype_title(to));
    return;
  }
  ig_int stride = ig_strides(self)[self->ndim - 1];
  if (!ig_int_eq_i64(c, stride, 1)) {
    ig_fail_text(c, IG_RUNTIME,
                 "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %s",
                 from_title, ig_dtype_title(to), ig_int_text(c, stride));
  } else if (old_size < new_size) {
    view_larger(c, self, to, new_size / old_size, out);
  } else {
    view_smaller(c, self, old_size / new_size, out);
  }
}

// A complex tensor as pairs of real numbers in a last dimension, and back.
static void view_as_real_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_int two = ig_const(2);
  ig_meta_view(self, out);
  if (!ig_dtype_is_complex(self->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "view_as_real is only supported for complex tensors");
    return;
  }
  out->dtype = ig_to_real(self->dtype);
  for (int d = 0; d < out->ndim; d++) out->stride[d] = ig_int_mul(c, out->stride[d], two);
  out->offset = ig_int_mul(c, out->offset, two);
  ig_meta_push_dim(c, out, two);
  if (c->status == IG_OK) out->stride[out->ndim - 1] = ig_const(1);
}

static void view_as_complex_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_dtype d = self->dtype;
  ig_int two = ig_const(2);
  ig_meta_view(self, out);
  if (d != IG_F32 && d != IG_F64) {
    ig_fail_text(c, IG_RUNTIME,
                 "view_as_complex is only supported for half, float and double tensors, but got a "
                 "tensor of scalar type: %s",
                 ig_dtype_title(d));
    return;
  }
  int last = self->ndim - 1;
  if (self->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "Input tensor must have one or more dimensions");
  } else if (!ig_int_eq_i64(c, out->size[last], 2)) {
    ig_fail_text(c, IG_RUNTIME, "Tensor must have a last dimension of size 2");
  } else if (!ig_int_eq_i64(c, out->stride[last], 1)) {
    ig_fail_text(c, IG_RUNTIME, "Tensor must have a last dimension with stride 1");
  } else if (!ig_int_eq_i64(c, ig_int_mod(c, out->offset, two), 0)) {
    ig_fail_text(c, IG_RUNTIME, "Tensor must have a storage_offset divisible by 2");
  }
  out->ndim--;
  for (int k = 0; k < last && c->status == IG_OK; k++) {
    if (!ig_int_eq_i64(c, ig_int_mod(c, out->stride[k], two), 0)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Tensor must have a stride divisible by 2 for all but last dimension");
    }
    out->stride[k] = ig_int_floordiv(c, out->stride[k], two);
  }
  out->offset = ig_int_floordiv(c, out->offset, two);
  out->dtype = d == IG_F32 ? IG_C64 : IG_C128;
}

static void view_as_real_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_view_as_complex(c, ig_contiguous(c, v->grad));
}

static void view_as_complex_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_view_as_real(c, v->grad);
}

static void alias_vjp(ig_ctx *c, const ig_vjp *v) {
  (void)c;
  IG_GRAD(v, 0) = v->grad;
}

static void t_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_t(c, v->grad);
}

static void transpose_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_transpose_int(c, v->grad, v->args[1].i, v->args[2].i);
}

static void permute_vjp(ig_ctx *c, const ig_vjp *v) {
  int order[IG_MAX_DIM];
  ig_int back[IG_MAX_DIM];
  int ndim = v->args[0].tensor->ndim;
  if (!permutation(c, &v->args[1], v->args[0].tensor, order)) return;
  for (int d = 0; d < ndim; d++) back[order[d]] = ig_const(d);
  IG_GRAD(v, 0) = ig_permute(c, v->grad, ig_of_ints(back, (size_t)ndim));
}

static void view_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_reshape(c, v->grad, ig_sizes_of(v->args[0].tensor));
}

IG_OP(alias) = {
    .schema = "aten::alias(Tensor(a) self) -> Tensor(a)",
    .channels = ig_channels_same,
    .invert = ig_invert_same,
    .shape = alias_shape,
    .view = true,
    .vjp = alias_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[4,2].T | f32[]",
};

IG_OP(detach) = {
    .schema = "aten::detach(Tensor(a) self) -> Tensor(a)",
    .channels = ig_channels_same,
    .detaches = true,
    .invert = ig_invert_same,
    .shape = alias_shape,
    .view = true,
    .decompose = detach_decompose,
    .samples = "f32[3,5] | f32[4,2].T | f32[]",
    .not_differentiable = true,  // it ends the history
};

IG_OP(lift_fresh) = {
    .schema = "aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
    .channels = ig_channels_same,
    .fresh = true,
    .invert = ig_invert_same,
    .shape = alias_shape,
    .view = true,
    .vjp = alias_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[]",
};

IG_OP(lift_fresh_copy) = {
    .schema = "aten::lift_fresh_copy(Tensor self) -> Tensor",
    .view_copy = true,
    .decompose = clone_decompose,
    .samples = "f32[3,5] | f32[4,2].T | f32[]",
};

IG_OP(resolve_conj) = {
    .schema = "aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
    .decompose = itself_decompose,
    .samples = "f32[3,5] | c64[2]",
};

IG_OP(resolve_neg) = {
    .schema = "aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
    .decompose = itself_decompose,
    .samples = "f32[3,5] | c64[2]",
};

IG_OP(t) = {
    .schema = "aten::t(Tensor(a) self) -> Tensor(a)",
    .invert = ig_invert_t,
    .shape = t_shape,
    .view = true,
    .decompose = t_decompose,
    .vjp = t_vjp,
    .keep = "",
    .samples = "f32[3,5] | f32[4] | f32[] | f32[4,2].T",
};

IG_OP(transpose_int) = {
    .schema = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    .invert = ig_invert_transpose,
    .shape = transpose_shape,
    .view = true,
    .decompose = transpose_decompose,
    .vjp = transpose_vjp,
    .keep = "",
    .samples = "f32[2,3,4], 0, -1 | f32[3], 0, 0 | f32[], 0, -1 | f32[2,0,4], 1, 2",
};

IG_OP(permute) = {
    .schema = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    .invert = ig_invert_permute,
    .shape = permute_shape,
    .view = true,
    .vjp = permute_vjp,
    .keep = "",
    .samples = "f32[2,3,4], [2,0,1] | f32[2,3,4], [-1,1,0] | f32[], [] | f32[4,2].T, [1,0]",
};

IG_OP(view) = {
    .schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    .channels = ig_channels_same,
    .invert = ig_invert_view,
    .shape = view_shape,
    .view = true,
    .vjp = view_vjp,
    .keep = "",
    .samples =
        "f32[2,6], [3,4] | f32[2,6], [4,-1] | f32[], [1] | f32[2,3,4], [-1,4] | f32[0,3], [3,0] | "
        "f32[2,4].s2, [2,2,2] | f32[1,4,2].T, [2,4]",
};

IG_OP(view_dtype) = {
    .schema = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    .invert = ig_invert_dtype,
    .shape = view_dtype_shape,
    .view = true,
    .samples = "f32[2,6], i32 | f32[2,6], f64 | f32[2,6], i16 | f32[], i32 | i64[3], f32",
    .not_differentiable = true,  // the bits of a number are no function of it that has a slope
};

IG_OP(_unsafe_view) = {
    .schema = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    .channels = ig_channels_same,
    .shape = view_shape,
    .view = true,
    .decompose = unsafe_view_decompose,
    .vjp = view_vjp,
    .keep = "",
    .samples = "f32[2,6], [3,4] | f32[2,6], [4,-1] | f32[], [1]",
};

IG_OP(view_as) = {
    .schema = "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .decompose = view_as_decompose,
    .samples = "f32[2,6], f32[3,4]",
};

IG_OP(reshape) = {
    .schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    .decompose = reshape_decompose,
    .samples = "f32[2,6], [3,4] | f32[4,2].T, [-1] | f32[], [1,1] | f32[0,4], [2,0]",
};

IG_OP(_reshape_from_tensor) = {
    .schema = "aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor",
    .decompose = reshape_from_tensor_decompose,
    .samples = "f32[0,3], i64[2]:perm | f32[0], i64[1]:perm",
    .waive =
        "fake: the sizes are elements of a tensor; symbolic: the sizes are elements of a tensor",
};

IG_OP(flatten_using_ints) = {
    .schema =
        "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    .decompose = flatten_decompose,
    .samples = "f32[2,3,4] | f32[2,3,4], 1 | f32[2,3,4], 0, 1 | f32[] | f32[4,2].T | f32[5], 0, 0",
};

IG_OP(contiguous) = {
    .schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    .decompose = contiguous_decompose,
    .samples = "f32[2,3] | f32[4,2].T | f32[2,3,4,5].cl | f32[2,4].s2",
};

IG_OP(view_as_real) = {
    .schema = "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
    .invert = ig_invert_as_real,
    .shape = view_as_real_shape,
    .view = true,
    .vjp = view_as_real_vjp,
    .keep = "",
    .samples = "c64[3] | c128[2,3].T | c64[]",
};

IG_OP(view_as_complex) = {
    .schema = "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
    .autocast = IG_AUTOCAST_F32,
    .invert = ig_invert_as_complex,
    .shape = view_as_complex_shape,
    .view = true,
    .vjp = view_as_complex_vjp,
    .keep = "",
    .samples = "f32[3,2] | f64[2] | f32[2,3,2]",
};
