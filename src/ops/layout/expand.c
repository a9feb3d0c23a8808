// SPDX-License-Identifier: Apache-2.0
// Views that add, drop or repeat dimensions, and views by given strides.
#include "ops/layout/expand.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/layout/inverse.h"
#include "ops/quant.h"

static bool known(ig_int i, int64_t value) {
  return !i.expr && i.value == value;  // concrete: asks nothing, only looks at constants
}

static bool same(ig_int a, ig_int b) {
  return a.expr ? a.expr == b.expr : known(b, a.value);  // concrete: constants only
}

static void wrong_expand(ig_ctx *c, const ig_tensor *self, const ig_value *size, int d,
                         ig_int have) {
  if (ig_is_fake(self) && !have.expr) {
    ig_fail_text(c, IG_RUNTIME, "expand: attempting to expand a dimension of length %s!",
                 ig_int_text(c, have));
    return;
  }
  ig_fail_text(c, IG_RUNTIME,
               "The expanded size of the tensor (%s) must match the existing size (%s) at "
               "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
               ig_int_text(c, size->ints.at[d]), ig_int_text(c, have), d,
               ig_sizes_text(c, size->ints.at, size->ints.n),
               ig_sizes_text(c, ig_sizes(self), (size_t)self->ndim));
}

// Dimension d of the result, which repeats or keeps dimension d - lead of self. A size of 1 that
// is known takes any other without a question.
static void expand_dim(ig_ctx *c, const ig_tensor *self, const ig_value *size, int d,
                       ig_meta *out) {
  int lead = out->ndim - self->ndim;
  ig_int want = size->ints.at[d];
  if (d < lead) {
    if (known(want, -1)) {
      ig_fail_text(c, IG_RUNTIME,
                   "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                   "dimension %d",
                   d);
    }
    bool one = known(want, 1);
    bool inner = one && d + 1 < out->ndim;
    out->size[d] = want;
    out->stride[d] =
        inner ? ig_int_mul(c, out->size[d + 1], out->stride[d + 1]) : ig_const(one ? 1 : 0);
    return;
  }
  ig_int have = ig_sizes(self)[d - lead];
  out->size[d] = have;
  out->stride[d] = ig_strides(self)[d - lead];
  if (known(want, -1) || same(want, have)) return;
  if (!known(have, 1)) {
    if (ig_int_eq(c, want, have)) return;
    if (!ig_int_eq_i64(c, have, 1)) {
      wrong_expand(c, self, size, d, have);
      return;
    }
  } else if (want.expr && !want.expr->backed && ig_int_eq_i64(c, want, 1)) {
    return;
  }
  out->size[d] = want;
  out->stride[d] = ig_const(0);
}

void ig_meta_expand(ig_ctx *c, ig_tensor *self, const ig_value *size, ig_meta *out) {
  ig_meta_view(self, out);
  if (size->ints.n < (size_t)self->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%zu) must be "
                 "greater or equal to the number of dimensions in the tensor (%d)",
                 ig_dtype_title(self->dtype), ig_sizes_text(c, ig_sizes(self), (size_t)self->ndim),
                 ig_sizes_text(c, size->ints.at, size->ints.n), size->ints.n, self->ndim);
    return;
  }
  out->ndim = 0;
  for (size_t i = 0; i < size->ints.n; i++) ig_meta_push_dim(c, out, ig_const(0));
  for (int d = out->ndim - 1; d >= 0 && c->status == IG_OK; d--) {
    expand_dim(c, self, size, d, out);
    if (c->status == IG_OK && !ig_use_as_size(c, out->size[d]) && c->status == IG_OK) {
      wrong_expand(c, self, size, d, ig_const(1));
    }
  }
}

static void expand_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_meta_expand(c, args[0].tensor, &args[1], out);
}

static ig_tensor *expand_as_decompose(ig_ctx *c, const ig_value *args) {
  return ig_expand(c, args[0].tensor, ig_sizes_of(args[1].tensor));
}

static void drop_ones(ig_ctx *c, const ig_tensor *self, const bool *wanted, ig_meta *out) {
  int n = 0;
  for (int d = 0; d < self->ndim; d++) {
    if (wanted[d] && ig_int_eq_i64(c, ig_sizes(self)[d], 1)) continue;
    out->size[n] = ig_sizes(self)[d];
    out->stride[n] = ig_strides(self)[d];
    n++;
  }
  out->ndim = n;
}

static void squeeze_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  ig_tensor *self = args[0].tensor;
  bool wanted[IG_MAX_DIM] = {false};
  ig_meta_view(self, out);
  if (op->schema.nargs == 1) {
    for (int d = 0; d < self->ndim; d++) wanted[d] = true;
  } else {
    ig_dims_of(c, &args[1], self->ndim, false, wanted);
  }
  if (c->status == IG_OK) drop_ones(c, self, wanted, out);
}

static ig_tensor *squeeze_decompose(ig_ctx *c, const ig_value *args) {
  ig_int dims[IG_MAX_DIM];
  int n = args[0].tensor->ndim;
  for (int d = 0; d < n; d++) dims[d] = ig_const(d);
  return ig_squeeze_dims(c, args[0].tensor, ig_of_ints(dims, (size_t)n));
}

static ig_tensor *squeeze_dim_decompose(ig_ctx *c, const ig_value *args) {
  return ig_squeeze_dims(c, args[0].tensor, ig_of_ints(&args[1].i, 1));
}

// Puts dropped dimensions back: exactly those that the forward call dropped.
static void squeeze_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  bool wanted[IG_MAX_DIM] = {false};
  if (v->op->schema.nargs == 1) {
    for (int d = 0; d < self->ndim; d++) wanted[d] = true;
  } else {
    ig_dims_of(c, &v->args[1], self->ndim, false, wanted);
  }
  for (int d = 0; d < self->ndim; d++) {
    wanted[d] = wanted[d] && ig_int_eq_i64(c, ig_sizes(self)[d], 1);
  }
  IG_GRAD(v, 0) = ig_unreduce(c, v->grad, wanted, self->ndim);
}

static void unsqueeze_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  int at = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim + 1);
  ig_meta_push_dim(c, out, ig_const(1));
  if (c->status != IG_OK) return;
  for (int d = self->ndim; d > at; d--) {
    out->size[d] = ig_sizes(self)[d - 1];
    out->stride[d] = ig_strides(self)[d - 1];
  }
  out->size[at] = ig_const(1);
  out->stride[at] =
      at == self->ndim ? ig_const(1) : ig_int_mul(c, ig_sizes(self)[at], ig_strides(self)[at]);
}

static void unsqueeze_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_squeeze_dim(c, v->grad, v->args[1].i);
}

static void expand_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_sum_to(c, v->grad, &v->args[0]);
}

// Windows of `size` along one dimension, `step` apart, become a last dimension.
static void unfold_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  int64_t size = ig_value_i64(c, &args[2]);
  int64_t step = ig_value_i64(c, &args[3]);
  ig_meta_view(self, out);
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  if (c->status != IG_OK) return;
  ig_int have = self->ndim ? out->size[dim] : ig_const(1);
  if (size < 0) {
    ig_fail_text(c, IG_RUNTIME, "size is %lld but must be >= 0", (long long)size);
  } else if (ig_int_is(c, have, IG_LT, ig_const(size))) {
    ig_fail_text(c, IG_RUNTIME, "maximum size for tensor at dimension %d is %s but size is %lld",
                 dim, ig_int_text(c, have), (long long)size);
  } else if (step <= 0) {
    ig_fail_text(c, IG_RUNTIME, "step is %lld but must be > 0", (long long)step);
  }
  ig_meta_push_dim(c, out, ig_const(size));
  if (c->status != IG_OK) return;
  int last = out->ndim - 1;
  if (self->ndim == 0) {
    out->stride[0] = ig_const(1);
    return;
  }
  out->stride[last] = out->stride[dim];
  ig_int steps = ig_int_floordiv(c, ig_int_sub(c, have, ig_const(size)), ig_const(step));
  out->size[dim] = ig_int_add(c, steps, ig_const(1));
  out->stride[dim] = ig_int_mul(c, out->stride[dim], ig_const(step));
}

static void unfold_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_unfold_backward(c, v->grad, ig_sizes_of(v->args[0].tensor), v->args[1].i,
                                     v->args[2].i, v->args[3].i);
}

// Every element of the gradient goes back to the place its window took it from.
static ig_tensor *unfold_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *grad = args[0].tensor;
  ig_value sizes = args[1];
  int ndim = (int)sizes.ints.n;
  ig_value dtype = ig_of_dtype(grad->dtype);
  ig_value device = ig_of_device(grad->device);
  ig_value zero = ig_of_i64(0);
  ig_tensor *full = ig_full_with(c, sizes, zero, dtype, ig_none(), device, ig_none());
  if (ndim == 0) return ig_add_tensor(c, full, ig_squeeze(c, grad));
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), ndim);
  if (c->status != IG_OK) return NULL;
  ig_tensor *places = ig_arange_with(c, ig_of_int(sizes.ints.at[dim]), ig_of_dtype(IG_I64),
                                     ig_none(), device, ig_none());
  places = ig_unfold(c, places, ig_const(0), args[3].i, args[4].i);
  places = ig_flatten_using_ints(c, places);
  // The window comes behind its dimension, then both are one.
  ig_int order[IG_MAX_DIM];
  ig_int size[IG_MAX_DIM];
  ig_value indices[IG_MAX_DIM];
  if (!grad || grad->ndim != ndim + 1) return NULL;
  for (int d = 0; d <= ndim; d++) order[d] = ig_const(d <= dim ? d : d == dim + 1 ? ndim : d - 1);
  grad = ig_permute(c, grad, ig_of_ints(order, (size_t)ndim + 1));
  for (int d = 0; d < ndim; d++) {
    size[d] = d == dim && places ? ig_sizes(places)[0] : sizes.ints.at[d];
    indices[d] = d == dim ? ig_of_tensor(places) : ig_none();
  }
  grad = ig_reshape(c, grad, ig_of_ints(size, (size_t)ndim));
  return ig_index_put_with(c, full, ig_of_list(indices, (size_t)dim + 1), grad, true);
}

static void unfold_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_unfold(c, v->grad, v->args[2].i, v->args[3].i, v->args[4].i);
}

// One past the last element that sizes and strides reach from offset; 0 when there is none.
static ig_int reach(ig_ctx *c, const ig_int *size, const ig_int *stride, int n, ig_int offset) {
  ig_int last = offset;
  for (int d = 0; d < n; d++) {
    if (ig_int_eq_i64(c, size[d], 0)) return ig_const(0);
    ig_int steps = ig_int_sub(c, size[d], ig_const(1));
    last = ig_int_add(c, last, ig_int_mul(c, steps, stride[d]));
  }
  return ig_int_add(c, last, ig_const(1));
}

static void check_bounds(ig_ctx *c, const ig_tensor *self, const ig_value *args, ig_meta *out) {
  ig_int end = reach(c, out->size, out->stride, out->ndim, out->offset);
  if (c->status != IG_OK || ig_is_fake(self)) return;
  ig_int item = ig_const((int64_t)ig_dtype_size(self->dtype));
  ig_int bytes = ig_int_mul(c, end, item);
  ig_int have = ig_const((int64_t)self->storage->bytes);
  if (!ig_int_is(c, have, IG_LT, bytes)) return;
  ig_fail_text(c, IG_RUNTIME,
               "setStorage: sizes %s, strides %s, storage offset %s, and itemsize %zu requiring a "
               "storage size of %s are out of bounds for storage of size %zu",
               ig_sizes_text(c, args[1].ints.at, args[1].ints.n),
               ig_sizes_text(c, args[2].ints.at, args[2].ints.n), ig_int_text(c, out->offset),
               ig_dtype_size(self->dtype), ig_int_text(c, bytes), self->storage->bytes);
}

static void as_strided_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  ig_tensor *self = args[0].tensor;
  ig_meta_view(self, out);
  if (args[1].ints.n != args[2].ints.n) {
    ig_fail_text(c, IG_RUNTIME, "mismatch in length of strides and shape");
    return;
  }
  if (args[3].kind == IG_KIND_INT) out->offset = args[3].i;
  if (ig_int_is(c, out->offset, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "Tensor: invalid storage offset %s", ig_int_text(c, out->offset));
    return;
  }
  ig_meta_sizes(c, &args[1], out);
  for (int d = 0; d < out->ndim && c->status == IG_OK; d++) {
    out->stride[d] = args[2].ints.at[d];
    if (!ig_int_is(c, out->stride[d], IG_LT, ig_const(0))) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "as_strided: Negative strides are not supported at the moment, got strides: %s",
                 ig_sizes_text(c, args[2].ints.at, args[2].ints.n));
  }
  if (c->status == IG_OK) check_bounds(c, self, args, out);
}

// The larger of two sizes; equal expressions raise no question.
static ig_int larger(ig_ctx *c, ig_int a, ig_int b) {
  return !same(a, b) && ig_int_is(c, a, IG_LT, b) ? b : a;
}

// Gradients meet in a flat stand-in for the storage: the result's are added where its strides
// point, self's are read where self lies. Elements that self shows several times share theirs.
static void as_strided_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *self = v->args[0].tensor;
  if (!IG_WANTED(v, 0) || !v->grad) return;
  ig_int offset = v->args[3].kind == IG_KIND_INT ? v->args[3].i : self->offset;
  const ig_int *size = v->args[1].ints.at;
  const ig_int *stride = v->args[2].ints.at;
  ig_int end = reach(c, size, stride, (int)v->args[1].ints.n, offset);
  ig_int own = reach(c, ig_sizes(self), ig_strides(self), self->ndim, self->offset);
  ig_int n = larger(c, end, own);
  ig_value length = ig_of_ints(&n, 1);
  ig_value device = ig_of_device(self->device);
  ig_tensor *flat =
      ig_zeros_with(c, length, ig_of_dtype(v->grad->dtype), ig_none(), device, ig_none());
  ig_tensor *places =
      ig_arange_with(c, ig_of_int(n), ig_of_dtype(IG_I64), ig_none(), device, ig_none());
  ig_value from = ig_of_int(self->offset);
  ig_tensor *read = ig_as_strided_with(c, places, v->args[1], v->args[2], ig_of_int(offset));
  ig_value index = ig_of_tensor(read);
  flat = ig_index_put_with(c, flat, ig_of_list(&index, 1), v->grad, true);
  ig_value sizes = ig_sizes_of(self);
  ig_value strides = ig_of_ints(ig_strides(self), (size_t)self->ndim);
  if (ig_tensor_has_internal_overlap(self)) {
    ig_tensor *ones = ig_ones_like(c, flat);
    ig_tensor *shown = ig_as_strided_with(c, places, sizes, strides, from);
    ig_tensor *count = ig_zeros_like(c, flat);
    ig_tensor *each = ig_as_strided_with(c, ones, sizes, strides, from);
    index = ig_of_tensor(shown);
    count = ig_index_put_with(c, count, ig_of_list(&index, 1), each, true);
    flat = ig_div_tensor(c, flat, count);
  }
  IG_GRAD(v, 0) = ig_as_strided_with(c, flat, sizes, strides, from);
}

IG_OP(expand) = {
    .schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    .invert = ig_invert_expand,
    .shape = expand_shape,
    .view = true,
    .vjp = expand_vjp,
    .keep = "",
    .samples = "f32[3,1], [3,4] | f32[3], [2,-1] | f32[], [2,2] | f32[1,3], [0,3] | f32[2], [1,2]",
};

IG_OP(expand_as) = {
    .schema = "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .decompose = expand_as_decompose,
    .samples = "f32[3,1], f32[3,4] | f32[], f32[2,2]",
};

IG_OP(squeeze) = {
    .schema = "aten::squeeze(Tensor(a) self) -> Tensor(a)",
    .channels = ig_channels_squeeze,
    .invert = ig_invert_squeeze,
    .shape = squeeze_shape,
    .view = true,
    .decompose = squeeze_decompose,
    .vjp = squeeze_vjp,
    .keep = "",
    .samples = "f32[1,3,1,2] | f32[2,3] | f32[] | f32[1,1]",
};

IG_OP(squeeze_dim) = {
    .schema = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    .channels = ig_channels_squeeze,
    .invert = ig_invert_squeeze,
    .shape = squeeze_shape,
    .view = true,
    .decompose = squeeze_dim_decompose,
    .vjp = squeeze_vjp,
    .keep = "",
    .samples = "f32[1,3,1,2], 0 | f32[1,3,1,2], -2 | f32[2,3], 1 | f32[], 0",
};

IG_OP(squeeze_dims) = {
    .schema = "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    .channels = ig_channels_squeeze,
    .invert = ig_invert_squeeze,
    .shape = squeeze_shape,
    .view = true,
    .vjp = squeeze_vjp,
    .keep = "",
    .samples = "f32[1,3,1,2], [0,2] | f32[1,3,1,2], [-2,1] | f32[2,1], []",
};

IG_OP(unsqueeze) = {
    .schema = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    .channels = ig_channels_unsqueeze,
    .invert = ig_invert_unsqueeze,
    .shape = unsqueeze_shape,
    .view = true,
    .vjp = unsqueeze_vjp,
    .keep = "",
    .samples = "f32[2,3], 0 | f32[2,3], -1 | f32[], 0 | f32[4,2].T, 1 | f32[0], 1",
};

IG_OP(unfold) = {
    .schema = "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    .invert = ig_invert_unfold,
    .shape = unfold_shape,
    .view = true,
    .vjp = unfold_vjp,
    .keep = "",
    .samples = "f32[7], 0, 3, 2 | f32[2,5,3], 1, 2, 1 | f32[2,5], -1, 5, 1 | f32[], 0, 1, 1",
};

IG_OP(unfold_backward) = {
    .schema =
        "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) "
        "-> Tensor",
    .decompose = unfold_backward_decompose,
    .vjp = unfold_backward_vjp,
    .keep = "",
    .samples = "f32[3,3], [7], 0, 3, 2 | f32[2,4,3,2], [2,5,3], 1, 2, 1",
    .waive =
        "size 3=1: input_sizes tells them; 0-d: input_sizes tells them; size 2=1: input_sizes "
        "tells them; size 4=1: input_sizes tells them",
};

IG_OP(as_strided) = {
    .schema =
        "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
        "storage_offset=None) -> Tensor(a)",
    .invert = ig_invert_as_strided,
    .shape = as_strided_shape,
    .view = true,
    .vjp = as_strided_vjp,
    .keep = "",
    .samples =
        "f32[12], [3,4], [4,1] | f32[3,4], [2,2], [1,2], 1 | f32[4,3], [3,2], [3,3] | f32[6], [], "
        "[] | f32[6], [0,2], [1,1]",
};
