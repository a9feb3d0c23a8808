// SPDX-License-Identifier: Apache-2.0
// Indices drawn with given weights.
#include <math.h>
#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

static void multinomial_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  int64_t n = ig_value_i64(c, &args[1]);
  const char *why = NULL;
  if (x->ndim < 1 || x->ndim > 2) why = "prob_dist must be 1 or 2 dim";
  if (!why && !ig_dtype_is_float(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "multinomial only supports floating-point dtypes for input, got: %s",
                 ig_dtype_title(x->dtype));
    return;
  }
  if (!why && n <= 0) why = "cannot sample n_sample <= 0 samples";
  if (!why && !args[2].b && ig_int_is(c, ig_sizes(x)[x->ndim - 1], IG_LT, ig_const(n))) {
    why = "cannot sample n_sample > prob_dist.size(-1) samples without replacement";
  }
  if (why) {
    ig_fail_text(c, IG_RUNTIME, "%s", why);
    return;
  }
  out->dtype = IG_I64;
  if (x->ndim == 2) ig_meta_push_dim(c, out, ig_sizes(x)[0]);
  ig_meta_push_dim(c, out, ig_const(n));
}

// One draw by the cumulative sum of the weights.
static int64_t draw(ig_generator *g, const double *p, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += p[i];
  double x = ig_random_f64(g) * total;
  int64_t last = 0;
  for (int64_t i = 0; i < n; i++) {
    if (p[i] <= 0) continue;
    last = i;
    x -= p[i];
    if (x < 0) break;
  }
  return last;
}

// Without replacement, and for one sample: the largest of the weights divided by exponential draws.
static void draw_largest(ig_ctx *c, const ig_value *args, ig_tensor *to) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *noise = ig_exponential_with(c, ig_empty_like(c, x), 1, args[3]);
  ig_tensor *score = ig_div_tensor(c, x, noise);
  ig_tensor *found = NULL;
  if (ig_value_i64(c, &args[1]) == 1) {
    found = ig_argmax_with(c, score, ig_of_i64(-1), true);
  } else {
    ig_value outs[2] = {0};
    ig_topk(c, score, ig_const(ig_value_i64(c, &args[1])), outs);
    found = outs[1].tensor;
  }
  if (found) (void)ig_copy_(c, to, found);
}

static void multinomial_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  int64_t n = ig_sizes(x)[x->ndim - 1].value;
  int64_t samples = ig_value_i64(c, &args[1]);
  int64_t rows = n ? ig_tensor_numel(x) / n : 0;
  ig_scope s = ig_scope_open(c);
  double *p = ig_dense_read(c, x, IG_F64);
  ig_generator *g = args[3].kind == IG_KIND_GENERATOR ? args[3].generator : ig_generator_default(c);
  int64_t *to = ig_tensor_data(outs[0].tensor);
  bool again = args[2].b && samples > 1;
  for (int64_t r = 0; p && g && r < rows && c->status == IG_OK; r++) {
    double *row = p + r * n;
    int64_t positive = 0;
    for (int64_t i = 0; i < n; i++) {
      bool bad = !isfinite(row[i]) || row[i] < 0;
      if (bad) {
        ig_fail_text(c, IG_RUNTIME,
                     "probability tensor contains either `inf`, `nan` or element < 0");
        break;
      }
      positive += row[i] > 0;
    }
    if (c->status == IG_OK && (positive == 0 || (!args[2].b && positive < samples))) {
      ig_fail_text(c, IG_RUNTIME, "invalid multinomial distribution (%s)",
                   positive == 0 ? "sum of probabilities <= 0" : "too few positive probabilities");
    }
    for (int64_t k = 0; again && k < samples && c->status == IG_OK; k++) {
      to[r * samples + k] = draw(g, row, n);
    }
  }
  if (!again && c->status == IG_OK) draw_largest(c, args, outs[0].tensor);
  ig_scope_close(c, s);
}
IG_OP(multinomial) = {
    .schema =
        "aten::multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? "
        "generator=None) -> Tensor",
    .shape = multinomial_shape,
    .kernel = multinomial_kernel,
    .random = true,
    .samples = "f32[4]:+, 2 | f32[2,4]:+, 5, True",
    .not_differentiable = true,
};
