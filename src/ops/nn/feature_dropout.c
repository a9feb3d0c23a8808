// SPDX-License-Identifier: Apache-2.0
// Dropout of whole features, and alpha dropout.
#include <math.h>
#include "op/formula.h"

static ig_tensor *drop(ig_ctx *c, const ig_value *args, bool feature, bool alpha) {
  ig_tensor *x = args[0].tensor;
  double p = ig_value_f64(&args[1]);
  if (!(p >= 0 && p <= 1)) {
    ig_fail_text(c, IG_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    return NULL;
  }
  if (p == 0 || !args[2].b || ig_int_eq_i64(c, ig_numel_of(c, x), 0)) return x;
  if (p == 1) return ig_mul_tensor(c, x, ig_zeros_like(c, x));
  ig_tensor *noise = NULL;
  if (feature) {
    ig_int sizes[IG_MAX_DIM];
    if (x->ndim < 2) {
      ig_fail_text(c, IG_RUNTIME, "Feature dropout requires at least 2 dimensions in the input");
      return NULL;
    }
    for (int d = 0; d < x->ndim; d++) sizes[d] = d < 2 ? ig_sizes(x)[d] : ig_const(1);
    noise = ig_new_empty(c, x, ig_of_ints(sizes, (size_t)x->ndim));
  } else {
    noise = ig_empty_like(c, x);
  }
  noise = ig_bernoulli_p(c, noise, 1 - p);
  if (!alpha) {
    noise = ig_div_scalar(c, noise, ig_of_f64(1 - p));
    return ig_mul_tensor(c, x, noise);
  }
  double slope = 1.7580993408473766;
  double a = 1 / sqrt((slope * slope * p + 1) * (1 - p));
  ig_tensor *shift = ig_mul_scalar(c, ig_add_scalar(c, noise, ig_of_i64(-1)), ig_of_f64(slope * a));
  shift = ig_add_scalar(c, shift, ig_of_f64(slope * a * p));
  noise = ig_mul_scalar(c, noise, ig_of_f64(a));
  return ig_add_tensor(c, ig_mul_tensor(c, x, noise), shift);
}
static ig_tensor *alpha_dropout_decompose(ig_ctx *c, const ig_value *args) {
  return drop(c, args, false, true);
}
static ig_tensor *feature_dropout_decompose(ig_ctx *c, const ig_value *args) {
  return drop(c, args, true, false);
}
static ig_tensor *feature_alpha_dropout_decompose(ig_ctx *c, const ig_value *args) {
  return drop(c, args, true, true);
}
IG_OP(alpha_dropout) = {
    .schema = "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    .may_alias = true,
    .decompose = alpha_dropout_decompose,
    .random = true,
    .samples = "f32[2,3], 0.5, True | f32[2,3], 0.5, False",
};
IG_OP(feature_dropout) = {
    .schema = "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
    .may_alias = true,
    .decompose = feature_dropout_decompose,
    .random = true,
    .samples = "f32[2,3,2], 0.5, True | f32[2,3], 0.5, False",
};
IG_OP(feature_alpha_dropout) = {
    .schema = "aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    .may_alias = true,
    .decompose = feature_alpha_dropout_decompose,
    .random = true,
    .samples = "f32[2,3,2], 0.5, True | f32[2,3], 0.5, False",
};
