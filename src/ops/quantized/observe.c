// SPDX-License-Identifier: Apache-2.0
// Observing a moving average of extremes and rounding with it in one step, for training with fake
// quantization.
#include <math.h>

#include "op/formula.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "ops/quant.h"

// self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
// quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant
enum { SELF, OBSERVE, FAKE, MIN, MAX, SCALE, ZERO, AVERAGE, LOW, HIGH, AXIS, PER_ROW, SYMMETRIC };

static bool is_on(ig_ctx *c, const ig_value *v) {
  const int64_t *on = ig_dense_read(c, v->tensor, IG_I64);
  return on && ig_tensor_numel(v->tensor) > 0 && on[0] != 0;
}

static void write(ig_ctx *c, const ig_value *to, ig_tensor *from) {
  if (!from || c->status != IG_OK) return;
  ig_tensor *t = to->tensor;
  if (t->ndim != from->ndim || ig_tensor_numel(t) != ig_tensor_numel(from)) {
    (void)ig_resize_(c, t, ig_sizes_of(from));
  }
  (void)ig_copy_(c, t, from);
}

// The extremes of each channel, or of all elements.
static void extremes(ig_ctx *c, const ig_value *a, ig_tensor **low, ig_tensor **high) {
  ig_tensor *x = ig_detach(c, a[SELF].tensor);
  if (!a[PER_ROW].b) {
    *low = ig_amin(c, x);
    *high = ig_amax(c, x);
    return;
  }
  int axis = ig_wrap_dim(c, ig_value_i64(c, &a[AXIS]), a[SELF].tensor->ndim);
  ig_tensor *rows = ig_transpose_int(c, x, ig_const(0), ig_const(axis));
  rows = ig_flatten_using_ints_with(c, rows, ig_const(1), ig_const(-1));
  ig_int one = ig_const(1);
  *low = ig_amin_with(c, rows, ig_of_ints(&one, 1), false);
  *high = ig_amax_with(c, rows, ig_of_ints(&one, 1), false);
}

static void choose(ig_ctx *c, const ig_value *a) {
  int64_t n = ig_tensor_numel(a[MIN].tensor);
  const double *low = ig_dense_read(c, a[MIN].tensor, IG_F64);
  const double *high = ig_dense_read(c, a[MAX].tensor, IG_F64);
  ig_tensor *scale = ig_tensor_empty(c, IG_F32, &n, 1);
  ig_tensor *zero = ig_tensor_empty(c, IG_I32, &n, 1);
  if (!low || !high || !scale || !zero) return;
  int64_t least = ig_value_i64(c, &a[LOW]);
  int64_t most = ig_value_i64(c, &a[HIGH]);
  for (int64_t i = 0; i < n; i++) {
    double from = low[i] < 0 ? low[i] : 0;
    double to = high[i] > 0 ? high[i] : 0;
    double step = 0;
    int64_t at = 0;
    if (a[SYMMETRIC].b && from < 0 && to > 0) {
      int64_t middle = (most - least) / 2;
      double half = (double)middle;
      double below = -from / (half + 1);
      step = below > to / half ? below : to / half;
      step = step * (2 * half + 1) / (double)(most - least);
      at = (int64_t)nearbyint((double)(least + most) / 2);
    } else {
      ig_quant_choose(from, to, least, most, false, &step, &at);
    }
    ((float *)ig_tensor_data(scale))[i] = (float)step;
    ((int32_t *)ig_tensor_data(zero))[i] = (int32_t)at;
  }
  write(c, &a[SCALE], scale);
  write(c, &a[ZERO], zero);
}

static void observe(ig_ctx *c, const ig_value *a) {
  ig_tensor *low = NULL;
  ig_tensor *high = NULL;
  extremes(c, a, &low, &high);
  if (c->status != IG_OK) return;
  double share = ig_value_f64(&a[AVERAGE]);
  const double *before = ig_dense_read(c, a[MIN].tensor, IG_F64);
  int64_t n = ig_tensor_numel(a[MIN].tensor);
  bool fresh = n == 0 || (before && isinf(before[0]));
  if (!fresh && n == ig_tensor_numel(low)) {
    ig_tensor *was = ig_detach(c, a[MIN].tensor);
    low = ig_add_tensor(c, was, ig_mul_f64(c, ig_sub_tensor(c, low, was), share));
    was = ig_detach(c, a[MAX].tensor);
    high = ig_add_tensor(c, was, ig_mul_f64(c, ig_sub_tensor(c, high, was), share));
  }
  write(c, &a[MIN], low);
  write(c, &a[MAX], high);
  if (c->status == IG_OK) choose(c, a);
}

static ig_tensor *fused(ig_ctx *c, const ig_value *a) {
  if (is_on(c, &a[OBSERVE])) observe(c, a);
  if (c->status != IG_OK || !is_on(c, &a[FAKE])) return ig_alias(c, a[SELF].tensor);
  if (a[PER_ROW].b) {
    return ig_fake_quantize_per_channel_affine(c, a[SELF].tensor, a[SCALE].tensor, a[ZERO].tensor,
                                               a[AXIS].i, a[LOW].i, a[HIGH].i);
  }
  return ig_fake_quantize_per_tensor_affine_tensor_qparams(c, a[SELF].tensor, a[SCALE].tensor,
                                                           a[ZERO].tensor, a[LOW].i, a[HIGH].i);
}

IG_OP(fused_moving_avg_obs_fake_quant) = {
    .schema =
        "aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor "
        "fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, "
        "Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, "
        "bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
    .decompose = fused,
    .quantized = IG_QUANT_OWN,
};
