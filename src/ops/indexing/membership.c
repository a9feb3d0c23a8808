// SPDX-License-Identifier: Apache-2.0
// Which elements are among others, and where elements are nonzero: isin, argwhere.
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "tensor/copy.h"

// elements, test_elements, *, assume_unique, invert
static ig_tensor *isin_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_int sizes[IG_MAX_DIM];
  if (ig_dtype_is_complex(x->dtype) || x->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "Unsupported input type encountered for isin(): %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  if (x->ndim + y->ndim > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "isin: found %d and %d dimensions, expected at most %d together",
                 x->ndim, y->ndim, IG_MAX_DIM);
    return NULL;
  }
  memcpy(sizes, ig_sizes(x), (size_t)x->ndim * sizeof *sizes);
  for (int d = 0; d < y->ndim; d++) sizes[x->ndim + d] = ig_const(1);
  ig_int dims[IG_MAX_DIM];
  for (int d = 0; d < y->ndim; d++) dims[d] = ig_const(-y->ndim + d);
  ig_tensor *wide = ig_view(c, x, ig_of_ints(sizes, (size_t)(x->ndim + y->ndim)));
  ig_tensor *hit = ig_eq_tensor(c, wide, y);
  if (y->ndim) hit = ig_any_dims_with(c, hit, ig_of_ints(dims, (size_t)y->ndim), false);

  return args[3].b ? ig_logical_not(c, hit) : hit;
}
static ig_tensor *isin_scalar(ig_ctx *c, const ig_value *args) {
  return args[3].b ? ig_ne_scalar(c, args[0].tensor, args[1])
                   : ig_eq_scalar(c, args[0].tensor, args[1]);
}
static ig_tensor *scalar_isin(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = args[0].kind == IG_KIND_INT ? IG_I64 : ig_ctx_default_dtype(c);
  ig_tensor *x = ig_scalar_tensor_with(c, args[0], ig_of_dtype(dtype), ig_none(),
                                       ig_of_device(args[1].tensor->device), ig_none());
  ig_value given[] = {ig_of_tensor(x), args[1], args[2], args[3]};
  return x ? isin_decompose(c, given) : NULL;
}
static ig_tensor *argwhere_decompose(ig_ctx *c, const ig_value *args) {
  return ig_nonzero(c, args[0].tensor);
}
IG_OP(isin_tensor_tensor) = {
    .schema =
        "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = isin_decompose,
    .samples = "i64[4], i64[3] | f32[2,2], f32[2], invert=True",
};
IG_OP(isin_tensor_scalar) = {
    .schema =
        "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = isin_scalar,
    .samples = "i64[4], 2 | f32[2,2], 0.5, invert=True",
};
IG_OP(isin_scalar_tensor) = {
    .schema =
        "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = scalar_isin,
    .samples = "2, i64[3] | 0.5, f32[2], invert=True",
};
IG_OP(argwhere) = {
    .schema = "aten::argwhere(Tensor self) -> Tensor",
    .decompose = argwhere_decompose,
    .samples = "bool[3,4] | f32[3]",
    .waive = "fake: lengths depend on the data; symbolic: lengths depend on the data",
};
