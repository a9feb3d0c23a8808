// SPDX-License-Identifier: Apache-2.0
// Rows with a single 1.
#include "op/formula.h"
#include "op/shape.h"

static ig_tensor *one_hot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t classes = ig_value_i64(c, &args[1]);
  if (x->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME, "one_hot is only applicable to index tensor of type LongTensor.");
    return NULL;
  }
  if (classes < -1 || classes == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 classes == 0 && ig_int_eq_i64(c, ig_numel_of(c, x), 0)
                     ? "Class values must be smaller than num_classes."
                     : "num_classes should be positive");
    return NULL;
  }
  if (classes == -1) {
    ig_value most[IG_MAX_RETURNS];
    ig_item(c, ig_max(c, x), most);
    classes = ig_value_i64(c, &most[0]) + 1;
  }
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_tensor *at = ig_arange_with(c, ig_of_i64(classes), ig_of_dtype(IG_I64), layout,
                                 ig_of_device(x->device), ig_none());
  ig_tensor *hot = ig_eq_tensor(c, ig_unsqueeze(c, x, ig_const(-1)), at);
  return ig_to_dtype(c, hot, ig_of_dtype(IG_I64));
}
IG_OP(one_hot) = {
    .schema = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
    .decompose = one_hot_decompose,
    .samples = "i64[3]:<4, 4 | i64[2,3]:<5, 5",
};
