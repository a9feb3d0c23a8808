// SPDX-License-Identifier: Apache-2.0
// PyTorch's decompositions of reductions: all through any, aminmax into its two results.
#include "op/formula.h"
#include "ops/lower.h"

// all(x) is not any(not x); bytes stay bytes.
static ig_tensor *turned(ig_ctx *c, const ig_tensor *x, ig_tensor *some) {
  ig_tensor *out = ig_logical_not(c, some);
  return x->dtype == IG_U8 ? ig_cast(c, out, IG_U8) : out;
}

ig_tensor *ig_lower_all(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *some = ig_any_dims(c, ig_logical_not(c, x));
  return turned(c, x, some);
}

ig_tensor *ig_lower_all_dim(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *some = ig_any_dim_with(c, ig_logical_not(c, x), args[1].i, args[2].b);
  return turned(c, x, some);
}

ig_tensor *ig_lower_all_dims(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *some = ig_any_dims_with(c, ig_logical_not(c, x), args[1], args[2].b);
  return turned(c, x, some);
}

// self, dim, keepdim
void ig_lower_aminmax(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  bool one = args[1].kind == IG_KIND_INT;
  ig_value dims = ig_of_ints(one ? &args[1].i : NULL, one ? 1 : 0);
  outs[0] = ig_of_tensor(ig_amin_with(c, x, dims, args[2].b));
  outs[1] = ig_of_tensor(ig_amax_with(c, x, dims, args[2].b));
}
