// SPDX-License-Identifier: Apache-2.0
// What Python spells as an attribute or a sign: x.T, x.mT, x.H, x.mH, x.real, +x; and type_as and
// unflatten. All of them are other calls.
#include "op/formula.h"
#include "op/shape.h"

static ig_tensor *numpy_t_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  ig_int order[IG_MAX_DIM];
  for (int d = 0; d < self->ndim; d++) order[d] = ig_const(self->ndim - 1 - d);
  return ig_permute(c, self, ig_of_ints(order, (size_t)self->ndim));
}

static ig_tensor *swap_last(ig_ctx *c, ig_tensor *self) {
  return self->ndim == 0 ? self : ig_transpose_int(c, self, ig_const(-2), ig_const(-1));
}

static bool is_matrix(ig_ctx *c, const ig_tensor *self, const char *name) {
  if (self->ndim != 1) return true;
  ig_fail_text(c, IG_RUNTIME,
               "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
               name);
  return false;
}

static ig_tensor *mt_decompose(ig_ctx *c, const ig_value *args) {
  return is_matrix(c, args[0].tensor, "mT") ? swap_last(c, args[0].tensor) : NULL;
}

static ig_tensor *mh_decompose(ig_ctx *c, const ig_value *args) {
  if (!is_matrix(c, args[0].tensor, "mH")) return NULL;
  ig_tensor *swapped = swap_last(c, args[0].tensor);
  return ig_conj_of(c, swapped);
}

static ig_tensor *matrix_h_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  if (self->ndim != 2 && self->ndim != 0) {
    ig_fail_text(
        c, IG_RUNTIME, "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
        self->ndim, self->ndim > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    return NULL;
  }
  ig_tensor *swapped = swap_last(c, self);
  return ig_conj_of(c, swapped);
}

static ig_tensor *positive_decompose(ig_ctx *c, const ig_value *args) {
  if (args[0].tensor->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "The `+` operator, on a bool tensor is not supported.");
    return NULL;
  }
  return args[0].tensor;
}

static ig_tensor *type_as_decompose(ig_ctx *c, const ig_value *args) {
  const ig_tensor *like = args[1].tensor;
  if (args[0].tensor->dtype == like->dtype) return args[0].tensor;
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  return ig__to_copy_with(c, args[0].tensor, ig_of_dtype(like->dtype), layout,
                          ig_of_device(like->device), ig_none(), false, ig_none());
}

static ig_tensor *unflatten_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *self = args[0].tensor;
  const ig_value *sizes = &args[2];
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), self->ndim);
  ig_int size[2 * IG_MAX_DIM];
  size_t n = 0;
  if (c->status != IG_OK) return NULL;
  if (sizes->ints.n == 0) {
    ig_fail_text(c, IG_RUNTIME, "unflatten: sizes must be non-empty");
    return NULL;
  }
  if (self->ndim == 0 || sizes->ints.n + (size_t)self->ndim > IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "found %d dimensions and %zu sizes", self->ndim, sizes->ints.n);
    return NULL;
  }
  for (int d = 0; d < dim; d++) size[n++] = ig_sizes(self)[d];
  // -1 is what the others leave of the dimension, whatever the rest of the tensor is.
  ig_int rest = ig_sizes(self)[dim];
  ig_int others = ig_const(1);
  for (size_t i = 0; i < sizes->ints.n; i++) {
    ig_int s = sizes->ints.at[i];
    if (s.expr || s.value != -1) others = ig_int_mul(c, others, s);  // concrete: -1 is a word
  }
  bool splits = !ig_int_eq_i64(c, others, 0);
  for (size_t i = 0; i < sizes->ints.n; i++) {
    ig_int s = sizes->ints.at[i];
    bool open = !s.expr && s.value == -1;  // concrete: -1 is a word
    size[n++] = open && splits ? ig_int_floordiv(c, rest, others) : s;
  }
  for (int d = dim + 1; d < self->ndim; d++) size[n++] = ig_sizes(self)[d];
  return ig_view(c, self, ig_of_ints(size, n));
}

IG_OP(numpy_t) = {
    .schema = "aten::numpy_T(Tensor(a) self) -> Tensor(a)",
    .decompose = numpy_t_decompose,
    .samples = "f32[3,5] | f32[2,3,4] | f32[4] | f32[]",
};
IG_OP(mt) = {
    .schema = "aten::mT(Tensor(a) self) -> Tensor(a)",
    .decompose = mt_decompose,
    .samples = "f32[3,5] | f32[2,3,4] | f32[]",
};
IG_OP(mh) = {
    .schema = "aten::mH(Tensor(a) self) -> Tensor(a)",
    .decompose = mh_decompose,
    .samples = "f32[3,5] | f32[2,3,4]",
};
IG_OP(matrix_h) = {
    .schema = "aten::matrix_H(Tensor(a) self) -> Tensor(a)",
    .decompose = matrix_h_decompose,
    .samples = "f32[3,5] | f32[0,2]",
};
IG_OP(positive) = {
    .schema = "aten::positive(Tensor(a) self) -> Tensor(a)",
    .decompose = positive_decompose,
    .samples = "f32[3,5] | f32[]",
};
IG_OP(type_as) = {
    .schema = "aten::type_as(Tensor self, Tensor other) -> Tensor",
    .decompose = type_as_decompose,
    .samples = "f32[3], f64[2] | f32[3], f32[]",
};
IG_OP(unflatten_int) = {
    .schema = "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    .decompose = unflatten_decompose,
    .samples = "f32[2,6], 1, [2,3] | f32[6,2], 0, [-1,2] | f32[3,4,2], -2, [4,1]",
};
