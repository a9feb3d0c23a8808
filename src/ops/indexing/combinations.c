// SPDX-License-Identifier: Apache-2.0
// All combinations of the elements of a vector.
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"

static ig_tensor *combinations(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t r = ig_value_i64(c, &args[1]);
  if (x->ndim != 1 || r < 0 || r > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME,
                 x->ndim != 1 ? "Expect a 1D vector, but got shape %s"
                              : "Expect a non-negative number of at most 16, but got another: %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  ig_int nothing = ig_const(0);
  if (r == 0) return ig_new_empty(c, x, ig_of_ints(&nothing, 1));
  ig_value at = ig_of_tensor(ig_arange_with(c, ig_of_int(ig_sizes(x)[0]), ig_of_dtype(IG_I64),
                                            ig_none(), ig_of_device(x->device), ig_none()));
  ig_value fields[IG_MAX_DIM];
  ig_value grids = ig_none();
  for (int64_t i = 0; i < r; i++) fields[i] = at;
  ig_meshgrid_indexing(c, ig_of_list(fields, (size_t)r), ig_of_str("ij"), &grids);
  if (c->status != IG_OK) return NULL;
  ig_tensor *mask = ig_ones_like_with(c, grids.list.at[0].tensor, ig_of_dtype(IG_BOOL), ig_none(),
                                      ig_none(), ig_none(), ig_none());
  for (int64_t i = 0; i + 1 < r && mask; i++) {
    ig_tensor *a = grids.list.at[i].tensor;
    ig_tensor *b = grids.list.at[i + 1].tensor;
    ig_tensor *rising = args[2].b ? ig_le_tensor(c, a, b) : ig_lt_tensor(c, a, b);
    mask = ig_logical_and(c, mask, rising);
  }
  for (int64_t i = 0; i < r; i++) fields[i] = args[0];
  ig_meshgrid_indexing(c, ig_of_list(fields, (size_t)r), ig_of_str("ij"), &grids);
  for (int64_t i = 0; i < r && c->status == IG_OK; i++) {
    fields[i] = ig_of_tensor(ig_masked_select(c, grids.list.at[i].tensor, mask));
  }
  if (c->status != IG_OK) return NULL;
  return ig_stack_with(c, ig_of_list(fields, (size_t)r), ig_const(1));
}
IG_OP(combinations) = {
    .schema = "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    .decompose = combinations,
    .samples = "i64[4]:perm | i64[2], 3, True | f32[3], 1",
    .waive = "fake: lengths depend on the data; symbolic: lengths depend on the data",
};
