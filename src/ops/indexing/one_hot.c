// SPDX-License-Identifier: Apache-2.0
// Rows with a single 1.
#include "op/formula.h"
#include "op/shape.h"

static int64_t number(ig_ctx *c, ig_tensor *t) {
  ig_value out[IG_MAX_RETURNS];
  ig_item(c, t, out);
  return c->status == IG_OK ? ig_value_i64(c, &out[0]) : 0;
}

// How many classes there are; 0: refused. Only data can tell whether they fit, so a captured
// program finds out when it runs.
static int64_t classes_of(ig_ctx *c, ig_tensor *x, int64_t wanted) {
  if (ig_tensor_numel(x) == 0) {
    if (wanted > 0) return wanted;
    ig_fail_text(c, IG_RUNTIME, "Can not infer total number of classes from empty tensor.");
    return 0;
  }
  ig_value ends[IG_MAX_RETURNS];
  ig_aminmax(c, x, ends);
  if (c->status != IG_OK) return 0;
  int64_t least = number(c, ends[0].tensor);
  int64_t most = number(c, ends[1].tensor);
  if (c->status != IG_OK) return 0;
  if (least < 0) {
    ig_fail_text(c, IG_RUNTIME, "Class values must be non-negative.");
    return 0;
  }
  if (wanted == -1 && most < INT64_MAX) return most + 1;
  if (most < wanted) return wanted;
  ig_fail_text(c, IG_RUNTIME, "Class values must be smaller than num_classes.");
  return 0;
}

static ig_tensor *one_hot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t classes = ig_value_i64(c, &args[1]);
  if (x->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME, "one_hot is only applicable to index tensor of type LongTensor.");
    return NULL;
  }
  if (!ig_is_fake(x) && !c->mode->capture) {
    classes = classes_of(c, x, classes);
    if (classes == 0) return NULL;
  } else if (classes < -1 || classes == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 classes == 0 && ig_int_eq_i64(c, ig_numel_of(c, x), 0)
                     ? "Class values must be smaller than num_classes."
                     : "num_classes should be positive");
    return NULL;
  }
  if (classes == -1) classes = number(c, ig_max(c, x)) + 1;
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
