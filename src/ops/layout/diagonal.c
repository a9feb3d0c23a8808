// SPDX-License-Identifier: Apache-2.0
// Diagonals: reading them as views, writing to them, matrices made of them, the trace.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "ops/layout/inverse.h"
#include "sym/env.h"
#include "tensor/copy.h"

// How far an offset is from 0; the smallest integer has no opposite.
static int64_t distance(int64_t offset) {
  return offset == INT64_MIN ? INT64_MAX : offset < 0 ? -offset : offset;
}

// self, offset, dim1, dim2
static void diagonal_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *x = args[0].tensor;
  int64_t offset = ig_value_i64(c, &args[1]);
  int a = ig_wrap_dim(c, ig_value_i64(c, &args[2]), x->ndim);
  int b = ig_wrap_dim(c, ig_value_i64(c, &args[3]), x->ndim);
  if (c->status != IG_OK) return;
  if (a == b || x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld",
                 (long long)args[2].i.value, (long long)args[3].i.value);  // concrete: numbers
    return;
  }
  ig_meta_view(x, out);
  ig_int rows = ig_sizes(x)[a];
  ig_int cols = ig_sizes(x)[b];
  ig_int skip = ig_const(distance(offset));
  if (offset < 0) rows = ig_int_sub(c, rows, skip);
  if (offset > 0) cols = ig_int_sub(c, cols, skip);
  // Where scripts record their conditions, which of the two is smaller is a question for the run.
  bool open = ig_env_records_choices(c) && (rows.expr || cols.expr);
  ig_int least = open ? ig_int_min(c, rows, cols) : ig_int_is(c, rows, IG_LT, cols) ? rows : cols;
  bool none = ig_int_is(c, least, IG_LE, ig_const(0));
  if (!none && offset) {
    ig_int step = ig_strides(x)[offset < 0 ? a : b];
    out->offset = ig_int_add(c, out->offset, ig_int_mul(c, skip, step));
  }
  int k = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (d == a || d == b) continue;
    out->size[k] = ig_sizes(x)[d];
    out->stride[k++] = ig_strides(x)[d];
  }
  out->size[k] = none ? ig_const(0) : least;
  out->stride[k] = ig_int_add(c, ig_strides(x)[a], ig_strides(x)[b]);
  out->ndim = k + 1;
}
static void diagonal_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  IG_GRAD(v, 0) =
      ig_diagonal_backward(c, v->grad, ig_sizes_of(a[0].tensor), a[1].i, a[2].i, a[3].i);
}
static ig_tensor *diagonal_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *zeros = ig_new_zeros(c, args[0].tensor, args[1]);
  return ig_diagonal_scatter_with(c, zeros, args[0].tensor, args[2].i, args[3].i, args[4].i);
}
static void diagonal_copy_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta view;
  ig_meta_init(&view, args[0].tensor->dtype, args[0].tensor->device);
  diagonal_shape(c, op, args, &view);
  if (c->status != IG_OK) return;
  for (int d = 0; d < view.ndim; d++) ig_meta_push_dim(c, out, view.size[d]);
}
static void diagonal_copy_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor *view =
      ig_diagonal_with(c, ig_tensor_alias(c, args[0].tensor), args[1].i, args[2].i, args[3].i);
  if (view) ig_tensor_copy(outs[0].tensor, view);
  ig_scope_close(c, s);
}
// self, src, offset, dim1, dim2
static void diagonal_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_meta view;
  const ig_tensor *src = args[1].tensor;
  ig_value on[] = {args[0], args[2], args[3], args[4]};
  ig_meta_init(&view, args[0].tensor->dtype, args[0].tensor->device);
  diagonal_shape(c, op, on, &view);
  if (c->status != IG_OK) return;
  bool same = src->ndim == view.ndim;
  for (int d = 0; d < view.ndim && same; d++) same = ig_int_eq(c, view.size[d], ig_sizes(src)[d]);
  if (!same) {
    ig_fail_text(
        c, IG_RUNTIME,
        "expected src to have a size equal to the slice of self. src size = %s, slice size "
        "= %s",
        ig_sizes_text(c, ig_sizes(src), (size_t)src->ndim),
        ig_sizes_text(c, view.size, (size_t)view.ndim));
    return;
  }
  ig_shape_copy(c, op, args, out);
}
static void diagonal_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                    ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor_copy(outs[0].tensor, args[0].tensor);
  ig_tensor *view =
      ig_diagonal_with(c, ig_tensor_alias(c, outs[0].tensor), args[2].i, args[3].i, args[4].i);
  if (view) ig_tensor_copy(view, args[1].tensor);
  ig_scope_close(c, s);
}
static void diagonal_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (IG_WANTED(v, 0)) {
    ig_tensor *zeros = ig_zeros_of(c, a[1].tensor);
    IG_GRAD(v, 0) = ig_diagonal_scatter_with(c, v->grad, zeros, a[2].i, a[3].i, a[4].i);
  }
  IG_GRAD(v, 1) = ig_diagonal_with(c, v->grad, a[2].i, a[3].i, a[4].i);
}
static ig_tensor *trace_decompose(ig_ctx *c, const ig_value *args) {
  if (args[0].tensor->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "trace: expected a matrix, but got tensor with dim %d",
                 args[0].tensor->ndim);
    return NULL;
  }
  return ig_sum(c, ig_diagonal_copy(c, args[0].tensor));
}
static ig_tensor *steps_from(ig_ctx *c, int64_t from, ig_int to, const ig_tensor *like) {
  return ig_arange_start_step_with(c, ig_of_i64(from), ig_of_int(to), ig_of_i64(1),
                                   ig_of_dtype(IG_I64),
                                   (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                                   ig_of_device(like->device), ig_of_bool(false));
}
// self, offset, dim1, dim2: the last dimension becomes a diagonal of two.
static ig_tensor *diag_embed_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int n = x->ndim + 1;
  int64_t offset = ig_value_i64(c, &args[1]);
  int a = ig_wrap_dim(c, ig_value_i64(c, &args[2]), n);
  int b = ig_wrap_dim(c, ig_value_i64(c, &args[3]), n);
  if (c->status != IG_OK) return NULL;
  if (a == b || x->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld",
                 (long long)args[2].i.value, (long long)args[3].i.value);  // concrete: numbers
    return NULL;
  }
  // As from low to high: the mirror of a diagonal has the other offset.
  if (a > b) {
    int swap = a;
    a = b;
    b = swap;
    offset = offset < 0 ? distance(offset) : -offset;
  }
  ig_int last = ig_sizes(x)[x->ndim - 1];
  if (offset) {
    ig_int sizes[IG_MAX_DIM];
    memcpy(sizes, ig_sizes(x), (size_t)x->ndim * sizeof *sizes);
    sizes[x->ndim - 1] = ig_const(distance(offset));
    ig_tensor *zeros = ig_new_zeros(c, x, ig_of_ints(sizes, (size_t)x->ndim));
    ig_value pair[] = {ig_of_tensor(offset > 0 ? zeros : x), ig_of_tensor(offset > 0 ? x : zeros)};
    x = ig_cat_with(c, ig_of_list(pair, 2), ig_const(-1));
    last = ig_int_add(c, last, ig_const(distance(offset)));
  }
  // The new dimension stands at a; the last one goes to b.
  x = ig_unsqueeze(c, x, ig_const(a));
  x = ig_movedim_int(c, x, ig_const(-1), ig_const(b));
  if (!x) return NULL;
  ig_tensor *along = steps_from(c, 0, last, x);
  ig_tensor *across = ig_unsqueeze(
      c, steps_from(c, offset, ig_int_add(c, last, ig_const(offset)), x), ig_const(-1));
  ig_tensor *on = ig_eq_tensor(c, along, across);
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < n; d++) sizes[d] = d == a || d == b ? last : ig_const(1);
  on = ig_view(c, on, ig_of_ints(sizes, (size_t)n));
  return ig_where_scalarother(c, on, x, x->dtype == IG_BOOL ? ig_of_bool(false) : ig_of_i64(0));
}
static ig_tensor *diag_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim == 1) return ig_diag_embed_with(c, x, args[1].i, ig_const(-2), ig_const(-1));
  if (x->ndim == 2) return ig_diagonal_copy_with(c, x, args[1].i, ig_const(0), ig_const(1));
  ig_fail_text(c, IG_RUNTIME, "diag(): Supports 1D or 2D tensors. Got %dD", x->ndim);
  return NULL;
}
static ig_tensor *diagflat_decompose(ig_ctx *c, const ig_value *args) {
  ig_int flat = ig_const(-1);
  ig_tensor *x = ig_reshape(c, ig_contiguous(c, args[0].tensor), ig_of_ints(&flat, 1));
  return ig_diag_with(c, x, args[1].i);
}

IG_OP(diagonal) = {
    .schema =
        "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> "
        "Tensor(a)",
    .invert = ig_invert_diagonal,
    .view = true,
    .shape = diagonal_shape,
    .vjp = diagonal_vjp,
    .keep = "",
    .samples = "f32[3,4] | f32[3,4], 1 | f32[2,3,4], -1, 0, 2 | f32[3,3], 5",
};
IG_OP(diagonal_copy) = {
    .schema =
        "aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> "
        "Tensor",
    .view_copy = true,
    .shape = diagonal_copy_shape,
    .kernel = diagonal_copy_kernel,
    .vjp = diagonal_vjp,
    .keep = "",
    .samples = "f32[3,4] | f32[3,4], 1 | f32[2,3,4], -1, 0, 2",
};
IG_OP(diagonal_backward) = {
    .schema =
        "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, "
        "int dim1, int dim2) -> Tensor",
    .decompose = diagonal_backward_decompose,
    .samples = "f32[3], [3,4], 0, 0, 1",
    .waive = "size 3=1: the argument tells them; 0-d: the argument tells them",
};
IG_OP(diagonal_scatter) = {
    .schema =
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int "
        "dim2=1) -> Tensor",
    .shape = diagonal_scatter_shape,
    .kernel = diagonal_scatter_kernel,
    .vjp = diagonal_scatter_vjp,
    .keep = "",
    .samples = "f32[3,3], f32[3] | f32[3,4], f32[3], 1",
};
IG_OP(trace) = {
    .schema = "aten::trace(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = trace_decompose,
    .samples = "f32[3,4] | i64[2,3]",
};
// What stands on the diagonal, a view.
static void diag_embed_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_diagonal_with(c, v->grad, v->args[1].i, v->args[2].i, v->args[3].i);
}

IG_OP(diag_embed) = {
    .schema =
        "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> "
        "Tensor",
    .decompose = diag_embed_decompose,
    .vjp = diag_embed_vjp,
    .keep = "",
    .samples = "f32[2,3] | f32[2,3], 1, 0, 2 | f32[3], -1",
};
IG_OP(diag) = {
    .schema = "aten::diag(Tensor self, int diagonal=0) -> Tensor",
    .decompose = diag_decompose,
    .samples = "f32[3] | f32[3,3], 1",
};
IG_OP(diagflat) = {
    .schema = "aten::diagflat(Tensor self, int offset=0) -> Tensor",
    .decompose = diagflat_decompose,
    .samples = "f32[2,2] | f32[3], 1",
};
