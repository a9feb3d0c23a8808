// SPDX-License-Identifier: Apache-2.0
// Elements of a source go to the places that a mask selects.
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

static void masked_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  if (args[0].tensor->dtype != args[2].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                 ig_dtype_title(args[0].tensor->dtype), ig_dtype_title(args[2].tensor->dtype));
    return;
  }
  if (args[1].tensor->dtype != IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME,
                 "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                 ig_dtype_title(args[1].tensor->dtype));
    return;
  }
  ig_broadcast(c, args, 2, out);
  out->dtype = args[0].tensor->dtype;
}
static void masked_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(out);
  size_t size = ig_dtype_size(out->dtype);
  size_t have = (size_t)ig_tensor_numel(args[2].tensor);
  ig_scope s = ig_scope_open(c);
  ig_value sizes = ig_sizes_of(out);
  ig_tensor *x = ig_expand(c, ig_tensor_alias(c, args[0].tensor), sizes);
  ig_tensor *m = ig_expand(c, ig_tensor_alias(c, args[1].tensor), sizes);
  char *to = x ? ig_dense_read(c, x, out->dtype) : NULL;
  const uint8_t *mask = m ? ig_dense_read(c, m, IG_BOOL) : NULL;
  const char *from = ig_dense_read(c, args[2].tensor, out->dtype);
  size_t k = 0;
  for (size_t i = 0; to && mask && from && i < n; i++) {
    if (!mask[i]) continue;
    if (k == have) {
      ig_fail_text(c, IG_RUNTIME, "Number of elements of source < number of ones in mask");
      break;
    }
    memcpy(to + i * size, from + k++ * size, size);
  }
  ig_dense_write(c, out, out->dtype, to);
  ig_scope_close(c, s);
}
static void masked_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *mask = v->args[1].tensor;
  if (IG_WANTED(v, 0)) {
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, mask, ig_of_i64(0));
    IG_GRAD(v, 0) = ig_sum_to(c, g, &v->args[0]);
  }
  if (IG_WANTED(v, 2)) {
    IG_GRAD(v, 2) = ig_masked_scatter_backward(c, v->grad, mask, ig_sizes_of(v->args[2].tensor));
  }
}
static ig_tensor *masked_scatter_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_int total = ig_product(c, args[2].ints.at, args[2].ints.n);
  ig_tensor *mask = ig_expand(c, args[1].tensor, ig_sizes_of(g));
  ig_tensor *picked = ig_masked_select(c, g, mask);
  if (!picked) return NULL;
  ig_int rest = ig_int_sub(c, total, ig_numel_of(c, picked));
  if (!ig_int_eq_i64(c, rest, 0)) {
    ig_tensor *zeros = ig_new_zeros(c, g, ig_of_ints(&rest, 1));
    ig_value pair[] = {ig_of_tensor(picked), ig_of_tensor(zeros)};
    picked = ig_cat(c, ig_of_list(pair, 2));
  }
  return ig_view(c, picked, args[2]);
}
IG_OP(masked_scatter) = {
    .schema = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .shape = masked_scatter_shape,
    .kernel = masked_scatter_kernel,
    .vjp = masked_scatter_vjp,
    .keep = "mask",
    .samples = "f32[3,5], bool[3,5], f32[15] | f32[4], bool[4], f32[2,3]",
};
IG_OP(masked_scatter_backward) = {
    .schema =
        "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] "
        "sizes) -> Tensor",
    .decompose = masked_scatter_backward_decompose,
    .samples = "f32[3,5], bool[3,5], [15]",
    .waive =
        "fake: lengths depend on the data; symbolic: lengths depend on the data; 0-d: refused "
        "here, "
        "PyTorch computes it",
};
