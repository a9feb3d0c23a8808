// SPDX-License-Identifier: Apache-2.0
// Views by given strides that functional programs contain: as_strided_scatter, _reshape_alias.
#include "op/formula.h"
#include "op/refuse.h"
#include "tensor/copy.h"

// self, src, size, stride, storage_offset
static void as_strided_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args,
                                     ig_meta *out) {
  const ig_tensor *src = args[1].tensor;
  bool same = (size_t)src->ndim == args[2].ints.n && args[3].ints.n == args[2].ints.n;
  ig_int last = ig_int_sub(c, args[4].kind == IG_KIND_INT ? args[4].i : args[0].tensor->offset,
                           args[0].tensor->offset);
  for (int d = 0; d < src->ndim && same; d++) {
    same = ig_int_eq(c, ig_sizes(src)[d], args[2].ints.at[d]);
    ig_int reach = ig_int_sub(c, args[2].ints.at[d], ig_const(1));
    last = ig_int_add(c, last, ig_int_mul(c, reach, args[3].ints.at[d]));
    if (ig_int_is(c, args[3].ints.at[d], IG_LT, ig_const(0))) same = false;
  }
  if (!same || !ig_int_is(c, last, IG_LT, ig_numel_of(c, args[0].tensor))) {
    ig_fail_text(
        c, IG_RUNTIME,
        "expected src to have a size equal to the slice of self. src size = %s, slice size "
        "= %s",
        ig_sizes_text(c, ig_sizes(src), (size_t)src->ndim),
        ig_sizes_text(c, args[2].ints.at, args[2].ints.n));
    return;
  }
  (void)op;
  // The strides of the result are those of self: the given ones mean the same elements in both.
  const ig_tensor *self = args[0].tensor;
  for (int d = 0; d < self->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(self)[d]);
  if (!ig_tensor_is_dense_permuted(self)) return;
  for (int d = 0; d < self->ndim; d++) out->stride[d] = ig_strides(self)[d];
  out->strided = true;
}

// The offset counts from the start of self's memory, the result has its own.
static ig_value offset_in_result(ig_ctx *c, const ig_value *args) {
  if (args[4].kind != IG_KIND_INT) return ig_of_i64(0);
  return ig_of_int(ig_int_sub(c, args[4].i, args[0].tensor->offset));
}
static void as_strided_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                      ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor_copy(outs[0].tensor, args[0].tensor);
  ig_tensor *alias = ig_tensor_alias(c, outs[0].tensor);
  ig_value offset = offset_in_result(c, args);
  ig_tensor *view = ig_as_strided_with(c, alias, args[2], args[3], offset);
  if (view) ig_tensor_copy(view, args[1].tensor);
  ig_scope_close(c, s);
}
// The gradient with the strides of self.
static ig_tensor *laid_out_like(ig_ctx *c, ig_tensor *grad, const ig_tensor *self) {
  if (ig_tensor_is_contiguous(c, self) || !ig_tensor_is_dense_permuted(self))
    return ig_contiguous(c, grad);
  ig_value size = ig_of_ints(ig_sizes(self), (size_t)self->ndim);
  ig_value stride = ig_of_ints(ig_strides(self), (size_t)self->ndim);
  ig_tensor *memory = ig_new_empty_strided(c, grad, size, stride);
  return ig_copy(c, memory, grad);
}
static void as_strided_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *g = laid_out_like(c, v->grad, a[0].tensor);
  if (IG_WANTED(v, 0)) {
    ig_tensor *zeros = ig_zeros_of(c, a[1].tensor);
    IG_GRAD(v, 0) = ig_as_strided_scatter_with(c, g, zeros, a[2], a[3], a[4]);
  }
  IG_GRAD(v, 1) = ig_contiguous(c, ig_as_strided_with(c, g, a[2], a[3], a[4]));
}
static ig_tensor *reshape_alias(ig_ctx *c, const ig_value *args) {
  return ig_view(c, args[0].tensor, args[1]);
}
IG_OP(as_strided_scatter) = {
    .schema =
        "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] "
        "stride, SymInt? storage_offset=None) -> Tensor",
    .shape = as_strided_scatter_shape,
    .kernel = as_strided_scatter_kernel,
    .vjp = as_strided_scatter_vjp,
    .keep = "",
    .samples = "f32[3,3], f32[2,2], [2,2], [1,2]",
};
IG_OP(_reshape_alias) = {
    .schema =
        "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> "
        "Tensor(a)",
    .decompose = reshape_alias,
    .samples = "f32[3,4], [4,3], [3,1]",
    .waive =
        "size 3=1: the argument tells them; size 4=1: the argument tells them; 0-d: the argument "
        "tells them",
};
