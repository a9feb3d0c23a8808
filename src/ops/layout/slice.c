// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along one dimension: select, slice and narrow, what scatters such a part into a
// larger tensor, and their gradients.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/layout/inverse.h"
#include "ops/quant.h"
#include "sym/env.h"
#include "tensor/copy.h"

static bool known(ig_int i, int64_t value) {
  return !i.expr && i.value == value;  // concrete: asks nothing, only looks at constants
}

static bool negative(ig_ctx *c, ig_int i) {
  return ig_int_is(c, i, IG_LT, ig_const(0));
}

// m describes a view with its dimension `dim` cut down to one index.
static void select_in(ig_ctx *c, ig_meta *m, const ig_value *dim_arg, ig_int index) {
  if (m->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "select() cannot be applied to a 0-dim tensor.");
    return;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, dim_arg), m->ndim);
  if (c->status != IG_OK) return;
  ig_int size = m->size[dim];
  // PyTorch's questions, in its order. An index that a script computes from data is not asked for
  // where its conditions are recorded.
  bool open = ig_env_records_choices(c) && index.expr && !index.expr->backed;
  bool outside = !open && (ig_int_is(c, ig_int_sub(c, ig_const(0), index), IG_GT, size) ||
                           ig_int_is(c, index, IG_GE, size));
  ig_int at = !open && !outside && negative(c, index) ? ig_int_add(c, index, size) : index;
  if (c->status != IG_OK) return;
  if (outside) {
    ig_fail_text(c, IG_BAD_INDEX,
                 "select(): index %s out of range for tensor of size %s at dimension %d",
                 ig_int_text(c, index), ig_sizes_text(c, m->size, (size_t)m->ndim), dim);
    return;
  }
  m->offset = ig_int_add(c, m->offset, ig_int_mul(c, at, m->stride[dim]));
  m->ndim--;
  for (int d = dim; d < m->ndim; d++) {
    m->size[d] = m->size[d + 1];
    m->stride[d] = m->stride[d + 1];
  }
}

// A number that a script computes from data, where its conditions are recorded: what is not known
// of it becomes part of the expressions and is not asked.
static bool is_open(const ig_ctx *c, ig_int i) {
  return ig_env_records_choices(c) && i.expr && !i.expr->backed;
}

static bool is_certain(ig_ctx *c, ig_int a, ig_expr_kind relation, ig_int b) {
  const ig_value sides[] = {ig_of_int(a), ig_of_int(b)};
  ig_value holds = ig_none();
  ig_sym_apply(c, relation, sides, 2, &holds);
  if (c->status != IG_OK || holds.kind != IG_KIND_BOOL) return false;
  return holds.b_expr ? ig_env_static(c, holds.b_expr, IG_ASK_OBLIVIOUS) == IG_YES : holds.b;
}

// The bound i of a slice, of which it is not known whether it lies within the size. A negative one
// counts from the end.
static ig_int open_bound(ig_ctx *c, ig_int i, ig_int size) {
  if (is_certain(c, i, IG_EXPR_LT, ig_const(0))) {
    return ig_int_max(c, ig_int_add(c, i, size), ig_const(0));
  }
  return is_certain(c, i, IG_EXPR_LE, size) ? i : ig_int_min(c, i, size);
}

// A bound of a slice brought into [0, size]; None (or the largest integer) means `otherwise`.
static ig_int bound(ig_ctx *c, const ig_value *v, ig_int size, ig_int otherwise) {
  if (v->kind != IG_KIND_INT || known(v->i, INT64_MAX)) return otherwise;
  ig_int i = v->i;
  if (known(i, 0) || (i.expr && i.expr == size.expr)) return i;
  bool open = is_open(c, i) || is_open(c, size);
  if (open &&
      (is_certain(c, i, IG_EXPR_GE, ig_const(0)) || is_certain(c, i, IG_EXPR_LT, ig_const(0))))
    return open_bound(c, i, size);
  if (negative(c, i)) {
    i = ig_int_add(c, i, size);
    if (negative(c, i)) return ig_const(0);
    return i;
  }
  return ig_int_is(c, i, IG_GT, size) ? size : i;
}

// A length that stands in the data is a size from now on, once it is known not to be 0.
static void use_length(ig_ctx *c, ig_int length) {
  if (!length.expr || length.expr->backed || is_open(c, length) || ig_int_eq_i64(c, length, 0))
    return;
  const ig_expr *now = ig_env_find(c, length.expr);
  if (now && now->kind == IG_EXPR_SYMBOL) ig_sym_constrain(c, length, 0, INT64_MAX, true);
}

// dim, start, end, step are args[at .. at+3].
static void slice_in(ig_ctx *c, ig_meta *m, const ig_value *args) {
  if (m->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "slice() cannot be applied to a 0-dim tensor.");
    return;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[0]), m->ndim);
  if (c->status != IG_OK) return;
  ig_int step = args[3].i;
  if (!ig_int_is(c, ig_const(0), IG_LT, step)) {
    ig_fail_text(c, IG_RUNTIME, "slice step must be positive");
    return;
  }
  ig_int size = m->size[dim];
  ig_int start = bound(c, &args[1], size, ig_const(0));
  bool to_end = args[2].kind != IG_KIND_INT || known(args[2].i, INT64_MAX);
  ig_int end = bound(c, &args[2], size, size);
  bool open = is_open(c, start) || is_open(c, end);
  if (!to_end && !open && !known(start, 0) && ig_int_is(c, end, IG_LT, start)) end = start;
  ig_int length = ig_int_sub(c, end, start);
  if (open && !is_certain(c, start, IG_EXPR_LE, end)) length = ig_int_max(c, length, ig_const(0));
  if (!known(step, 1)) {
    length = ig_int_add(c, length, ig_int_sub(c, step, ig_const(1)));
    length = ig_int_floordiv(c, length, step);
  }
  m->offset = ig_int_add(c, m->offset, ig_int_mul(c, start, m->stride[dim]));
  m->size[dim] = length;
  m->stride[dim] = ig_int_mul(c, m->stride[dim], step);
  use_length(c, length);
}

static void select_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_view(args[0].tensor, out);
  select_in(c, out, &args[1], args[2].i);
}

static void slice_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_view(args[0].tensor, out);
  slice_in(c, out, &args[1]);
}

static ig_tensor *narrow_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_int start = args[2].i;
  ig_int length = args[3].i;
  if (self->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
    return NULL;
  }
  if (!ig_int_expect(c, length, IG_GE, ig_const(0))) {
    if (c->status != IG_OK) return NULL;
    ig_fail_text(c, IG_RUNTIME, "narrow(): length must be non-negative.");
    return NULL;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int size = ig_sizes(self)[dim];
  ig_int at = negative(c, start) ? ig_int_add(c, start, size) : start;
  if (negative(c, at) || ig_int_is(c, size, IG_LT, at)) {
    ig_fail_text(c, IG_BAD_INDEX,
                 "start out of range (expected to be in range of [-%s, %s], but got %s)",
                 ig_int_text(c, size), ig_int_text(c, size), ig_int_text(c, start));
    return NULL;
  }
  ig_int end = ig_size_add(c, at, length);
  if (!ig_int_expect(c, size, IG_GE, end)) {
    if (c->status != IG_OK) return NULL;
    ig_fail_text(c, IG_RUNTIME, "start (%s) + length (%s) exceeds dimension size (%s).",
                 ig_int_text(c, at), ig_int_text(c, length), ig_int_text(c, size));
    return NULL;
  }
  return ig_slice_tensor_with(c, self, args[1].i, ig_of_int(at), ig_of_int(end), ig_const(1));
}

static ig_tensor *narrow_tensor_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *start = args[2].tensor;
  if (start->ndim != 0 || !ig_dtype_is_integral(start->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "start must be an 0-dim integral Tensor.");
    return NULL;
  }
  ig_value at;
  ig_item(c, start, &at);
  if (c->status != IG_OK) return NULL;
  return ig_narrow(c, args[0].tensor, args[1].i, at.i, args[3].i);
}

// Does src broadcast to the part that m describes? Sizes that are not known are not asked.
static void check_part(ig_ctx *c, const ig_tensor *src, const ig_meta *m) {
  for (int d = 0; d < src->ndim && c->status == IG_OK; d++) {
    ig_int have = ig_sizes(src)[src->ndim - 1 - d];
    ig_int want = d < m->ndim ? m->size[m->ndim - 1 - d] : ig_const(1);
    bool same = have.expr || want.expr || have.value == want.value;  // concrete: only constants
    if (same || known(have, 1)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "The size of tensor a (%s) must match the size of tensor b (%s) at non-singleton "
                 "dimension %d",
                 ig_int_text(c, want), ig_int_text(c, have), m->ndim - 1 - d);
  }
}

// Sizes of what the forward call took out of a tensor of sizes args[1].
static bool part_sizes(ig_ctx *c, const ig_value *args, bool select, ig_meta *m) {
  ig_meta_sizes(c, &args[1], m);
  if (c->status != IG_OK) return false;
  ig_meta_contiguous(c, m);
  if (select) {
    select_in(c, m, &args[2], args[3].i);
  } else {
    slice_in(c, m, &args[2]);
  }
  return c->status == IG_OK;
}

// A fresh tensor of the given sizes in which the gradient fills one part and the rest is 0.
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta part = *out;
  ig_meta_sizes(c, &args[1], out);
  if (c->status == IG_OK && part_sizes(c, args, op->schema.nargs == 4, &part)) {
    check_part(c, args[0].tensor, &part);
  }
}

static ig_tensor *part_of(ig_ctx *c, const ig_meta *m) {
  return c->status == IG_OK ? ig_tensor_make(c, m, false) : NULL;
}

static void zero_bytes(ig_tensor *t) {
  size_t n = (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);
  if (n) memset(ig_tensor_data(t), 0, n);
}

static void copy_part(ig_ctx *c, const ig_meta *m, const ig_tensor *src) {
  ig_tensor *part = part_of(c, m);
  if (part) ig_tensor_copy(part, src);
}

static void select_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                   ig_value *outs) {
  (void)op;
  ig_meta m;
  zero_bytes(outs[0].tensor);
  ig_meta_view(outs[0].tensor, &m);
  select_in(c, &m, &args[2], args[3].i);
  copy_part(c, &m, args[0].tensor);
}

static void slice_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  ig_meta m;
  zero_bytes(outs[0].tensor);
  ig_meta_view(outs[0].tensor, &m);
  slice_in(c, &m, &args[2]);
  copy_part(c, &m, args[0].tensor);
}

static ig_tensor *zeros_for(ig_ctx *c, const ig_value *sizes, ig_tensor *like) {
  return ig_new_zeros(c, like, *sizes);
}

// self where the index along dim differs, src (one dimension less) where it is the wanted one.
static ig_tensor *place(ig_ctx *c, ig_tensor *self, ig_tensor *src, const ig_value *dim_arg,
                        ig_int index) {
  if (!self || !src) return NULL;
  int dim = ig_wrap_dim(c, ig_value_i64(c, dim_arg), self->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int size = ig_sizes(self)[dim];
  if (negative(c, index)) index = ig_int_add(c, index, size);
  ig_int shape[IG_MAX_DIM];
  for (int d = 0; d < self->ndim; d++) shape[d] = ig_const(d == dim ? -1 : 1);
  ig_tensor *at = ig_arange_with(c, ig_of_int(size), ig_none(), ig_none(),
                                 ig_of_device(self->device), ig_of_bool(false));
  at = ig_view(c, at, ig_of_ints(shape, (size_t)self->ndim));
  ig_tensor *mask = ig_eq_scalar(c, at, ig_of_int(index));
  src = ig_unsqueeze(c, src, ig_const(dim));
  src = ig_expand(c, src, ig_sizes_of(self));
  return ig_where_self(c, mask, src, self);
}

// The gradient with the sizes of the part: itself, save where it is broadcast.
static ig_tensor *as_part(ig_ctx *c, const ig_value *args, bool select) {
  ig_tensor *grad = args[0].tensor;
  ig_meta part;
  ig_meta_init(&part, grad->dtype, grad->device);
  if (!part_sizes(c, args, select, &part)) return NULL;
  bool same = grad->ndim == part.ndim;
  for (int d = 0; d < part.ndim && same; d++) {
    ig_int have = ig_sizes(grad)[d];
    same =
        have.expr || part.size[d].expr || known(have, part.size[d].value);  // concrete: constants
  }
  return same ? grad : ig_expand(c, grad, ig_of_ints(part.size, (size_t)part.ndim));
}

static ig_tensor *select_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *full = zeros_for(c, &args[1], args[0].tensor);
  ig_tensor *grad = as_part(c, args, true);
  return place(c, full, grad, &args[2], args[3].i);
}

static ig_tensor *slice_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *full = zeros_for(c, &args[1], args[0].tensor);
  ig_tensor *grad = as_part(c, args, false);
  return ig_slice_scatter_with(c, full, grad, args[2].i, args[3], args[4], args[5].i);
}

static ig_tensor *select_scatter_decompose(ig_ctx *c, const ig_value *args) {
  return place(c, args[0].tensor, args[1].tensor, &args[2], args[3].i);
}

static void check_src(ig_ctx *c, const ig_tensor *src, const ig_meta *part) {
  bool fits = src->ndim == part->ndim;
  for (int d = 0; d < part->ndim && fits; d++) {
    fits = ig_int_eq(c, ig_sizes(src)[d], part->size[d]);
  }
  if (fits || c->status != IG_OK) return;
  ig_fail_text(c, IG_RUNTIME,
               "expected src to have a size equal to the slice of self. src size = %s, slice size "
               "= %s",
               ig_sizes_text(c, ig_sizes(src), (size_t)src->ndim),
               ig_sizes_text(c, part->size, (size_t)part->ndim));
}

static void select_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta part;
  ig_meta_of(args[0].tensor, &part);
  select_in(c, &part, &args[2], args[3].i);
  if (c->status == IG_OK) check_src(c, args[1].tensor, &part);
  ig_shape_copy(c, op, args, out);
}

static void slice_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta part;
  ig_meta_of(args[0].tensor, &part);
  slice_in(c, &part, &args[2]);
  if (c->status == IG_OK) check_src(c, args[1].tensor, &part);
  ig_shape_copy(c, op, args, out);
}

static void select_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  ig_meta m;
  ig_tensor_copy(outs[0].tensor, args[0].tensor);
  ig_meta_view(outs[0].tensor, &m);
  select_in(c, &m, &args[2], args[3].i);
  copy_part(c, &m, args[1].tensor);
}

static void slice_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_meta m;
  ig_tensor_copy(outs[0].tensor, args[0].tensor);
  ig_meta_view(outs[0].tensor, &m);
  slice_in(c, &m, &args[2]);
  copy_part(c, &m, args[1].tensor);
}

static void select_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) =
      ig_select_backward(c, v->grad, ig_sizes_of(v->args[0].tensor), v->args[1].i, v->args[2].i);
}

static void slice_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_value size = ig_sizes_of(v->args[0].tensor);
  ig_int start = v->args[2].kind == IG_KIND_INT ? v->args[2].i : ig_const(0);
  ig_int end = v->args[3].kind == IG_KIND_INT ? v->args[3].i : ig_const(INT64_MAX);
  IG_GRAD(v, 0) = ig_slice_backward(c, v->grad, size, v->args[1].i, start, end, v->args[4].i);
}

static void select_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_select_int(c, v->grad, v->args[2].i, v->args[3].i);
}

static void slice_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) =
      ig_slice_tensor_with(c, v->grad, v->args[2].i, v->args[3], v->args[4], v->args[5].i);
}

static void select_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0)) {
    ig_tensor *zeros = ig_zeros_of(c, v->args[1].tensor);
    IG_GRAD(v, 0) = ig_select_scatter(c, v->grad, zeros, v->args[2].i, v->args[3].i);
  }
  IG_GRAD(v, 1) = ig_select_int(c, v->grad, v->args[2].i, v->args[3].i);
}

static void slice_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  if (IG_WANTED(v, 0)) {
    ig_tensor *zeros = ig_zeros_of(c, v->args[1].tensor);
    IG_GRAD(v, 0) = ig_slice_scatter_with(c, v->grad, zeros, v->args[2].i, v->args[3], v->args[4],
                                          v->args[5].i);
  }
  IG_GRAD(v, 1) =
      ig_slice_tensor_with(c, v->grad, v->args[2].i, v->args[3], v->args[4], v->args[5].i);
}

IG_OP(select_int) = {
    .schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    .channels = ig_channels_select,
    .invert = ig_invert_select,
    .shape = select_shape,
    .view = true,
    .vjp = select_vjp,
    .keep = "",
    .samples = "f32[3,4], 0, 1 | f32[3,4], -1, -2 | f32[5], 0, 4 | f32[4,2].T, 1, 3",
};

IG_OP(slice_tensor) = {
    .schema =
        "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
        "SymInt step=1) -> Tensor(a)",
    .channels = ig_channels_slice,
    .invert = ig_invert_slice,
    .shape = slice_shape,
    .view = true,
    .vjp = slice_vjp,
    .keep = "",
    .samples =
        "f32[5,4] | f32[5,4], 0, 1, 3 | f32[5,4], 1, -3, -1 | f32[5,4], 0, 0, 9, 2 | f32[5], 0, 4, "
        "2 | f32[4,2].T, 1, 1, 4, 2 | f32[0], 0, 0, 3",
};

IG_OP(narrow) = {
    .schema = "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    .decompose = narrow_decompose,
    .samples = "f32[5,4], 0, 1, 3 | f32[5,4], -1, -2, 2 | f32[5], 0, 5, 0",
};

IG_OP(narrow_tensor) = {
    .schema =
        "aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
    .decompose = narrow_tensor_decompose,
    .samples = "f32[5,4], 0, i64[]:<2, 3",
    .waive =
        "fake: the start is an element of a tensor; symbolic: the start is an element of a tensor",
};

IG_OP(select_backward) = {
    .schema =
        "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> "
        "Tensor",
    .shape = backward_shape,
    .kernel = select_backward_kernel,
    .decompose = select_backward_decompose,
    .vjp = select_backward_vjp,
    .keep = "",
    .samples = "f32[4], [3,4], 0, 1 | f32[3], [3,4], -1, -2 | f32[], [5], 0, 4",
};

IG_OP(slice_backward) = {
    .schema =
        "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, "
        "SymInt end, SymInt step) -> Tensor",
    .shape = backward_shape,
    .kernel = slice_backward_kernel,
    .decompose = slice_backward_decompose,
    .vjp = slice_backward_vjp,
    .keep = "",
    .samples =
        "f32[2,4], [5,4], 0, 1, 3, 1 | f32[5,2], [5,4], 1, -3, -1, 1 | f32[3], [5], 0, 0, 99, 2",
};

IG_OP(select_scatter) = {
    .schema = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    .shape = select_scatter_shape,
    .kernel = select_scatter_kernel,
    .decompose = select_scatter_decompose,
    .vjp = select_scatter_vjp,
    .keep = "",
    .samples = "f32[3,4], f32[4], 0, 1 | f32[4,3].T, f32[3], -1, -2",
};

IG_OP(slice_scatter) = {
    .schema =
        "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
        "end=None, SymInt step=1) -> Tensor",
    .shape = slice_scatter_shape,
    .kernel = slice_scatter_kernel,
    .vjp = slice_scatter_vjp,
    .keep = "",
    .samples =
        "f32[5,4], f32[2,4], 0, 1, 3 | f32[5,4], f32[5,2], 1, 0, 4, 2 | f32[4,5].T, f32[5,4]",
};
