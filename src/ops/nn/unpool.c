// SPDX-License-Identifier: Apache-2.0
// Inverse of max pooling: values go back to where the maxima were.
#include "op/formula.h"
#include "tensor/copy.h"

// self, indices, output_size: scatters to the indices of the maxima
static ig_tensor *unpool(ig_ctx *c, const ig_value *args, int n) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *at = args[1].tensor;
  bool fits = (x->ndim == n + 1 || x->ndim == n + 2) && at->ndim == x->ndim && at->dtype == IG_I64;
  for (int d = 0; d < x->ndim && fits; d++) fits = ig_int_eq(c, ig_sizes(at)[d], ig_sizes(x)[d]);
  if (!fits) {
    ig_fail_text(c, IG_RUNTIME, "max_unpool%dd: expected int64 indices of the shape of the input",
                 n);
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  ig_int plane = ig_const(1);
  for (int d = 0; d < n; d++) plane = ig_int_mul(c, plane, args[2].ints.at[d]);
  for (int d = 0; d < x->ndim - n; d++) sizes[d] = ig_sizes(x)[d];
  sizes[x->ndim - n] = plane;
  ig_int start = ig_const(-n);
  ig_int end = ig_const(-1);
  ig_tensor *zeros = ig_new_zeros(c, x, ig_of_ints(sizes, (size_t)(x->ndim - n + 1)));
  ig_tensor *flat = ig_flatten_using_ints_with(c, x, start, end);
  ig_tensor *out =
      ig_scatter_src(c, zeros, end, ig_flatten_using_ints_with(c, at, start, end), flat);
  for (int d = 0; d < n; d++) sizes[x->ndim - n + d] = args[2].ints.at[d];
  return ig_view(c, out, ig_of_ints(sizes, (size_t)x->ndim));
}
static ig_tensor *max_unpool2d(ig_ctx *c, const ig_value *args) {
  return unpool(c, args, 2);
}
static ig_tensor *max_unpool3d(ig_ctx *c, const ig_value *args) {
  return unpool(c, args, 3);
}
IG_OP(max_unpool2d) = {
    .schema =
        "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = max_unpool2d,
    .samples = "f32[1,1,2,2], i64[1,1,2,2]:perm, [4,4]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(max_unpool3d) = {
    .schema =
        "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] "
        "stride, int[3] padding) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = max_unpool3d,
    .samples = "f32[1,1,1,2,2], i64[1,1,1,2,2]:perm, [2,4,4], [2,2,2], [0,0,0]",
    .waive = "size 2=0: PyTorch refuses it",
};
