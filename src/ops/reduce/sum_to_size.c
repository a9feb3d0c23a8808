// SPDX-License-Identifier: Apache-2.0
// Sum over the dimensions that broadcasting added.
#include "op/formula.h"
#include "op/refuse.h"
#include "tensor/copy.h"

static ig_tensor *sum_to_size(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  const ig_int *size = args[1].ints.at;
  int n = (int)args[1].ints.n;
  ig_int dims[IG_MAX_DIM];
  size_t k = 0;
  int lead = x->ndim - n;
  bool ok = lead >= 0;
  for (int d = 0; d < x->ndim && ok; d++) {
    bool one = d >= lead && ig_int_eq_i64(c, size[d - lead], 1);
    bool wide = !ig_int_eq_i64(c, ig_sizes(x)[d], 1);
    ok = d < lead || one || ig_int_eq(c, size[d - lead], ig_sizes(x)[d]);
    if (d < lead || (one && wide)) dims[k++] = ig_const(d);
  }
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME, "size {%s} is not expandable to size {%s}.",
                 ig_sizes_text(c, size, (size_t)n), ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  ig_tensor *out = k ? ig_sum_dim_intlist_with(c, x, ig_of_ints(dims, k), true, ig_none()) : x;
  return lead > 0 ? ig_view(c, out, args[1]) : out;
}
IG_OP(sum_to_size) = {
    .schema = "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    .decompose = sum_to_size,
    .samples = "f32[2,3], [1,3] | f32[2,3], [3]",
};
