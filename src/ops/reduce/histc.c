// SPDX-License-Identifier: Apache-2.0
// Histogram with bins of equal width.
#include <math.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

static void histc_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  int64_t bins = ig_value_i64(c, &args[1]);
  if (!ig_check_float(c, "histogram_cpu", args[0].tensor->dtype)) return;
  if (bins <= 0) {
    ig_fail_text(c, IG_RUNTIME, "torch.histc(): bins must be > 0, but got %lld", (long long)bins);
    return;
  }
  ig_meta_push_dim(c, out, ig_const(bins));
  out->dtype = args[0].tensor->dtype;
}
static void histc_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  int64_t bins = ig_value_i64(c, &args[1]);
  double low = ig_value_f64(&args[2]);
  double high = ig_value_f64(&args[3]);
  int64_t n = ig_tensor_numel(args[0].tensor);
  ig_scope s = ig_scope_open(c);
  const double *x = ig_dense_read(c, args[0].tensor, IG_F64);
  double *count = ig_dense_room(c, (size_t)bins, IG_F64);
  if (low == high && x && n) {
    low = high = x[0];
    for (int64_t i = 0; i < n; i++) {
      low = x[i] < low || isnan(x[i]) ? x[i] : low;
      high = x[i] > high || isnan(x[i]) ? x[i] : high;
    }
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!isfinite(low) || !isfinite(high) || low > high) {
    ig_fail_text(c, IG_RUNTIME,
                 low > high ? "torch.histc(): max must be larger than min"
                            : "torch.histc(): range of [%g, %g] is not finite",
                 low, high);
  }
  for (int64_t i = 0; x && count && c->status == IG_OK && i < n; i++) {
    if (!(x[i] >= low && x[i] <= high)) continue;
    int64_t k = (int64_t)((x[i] - low) * (double)bins / (high - low));
    count[k >= bins ? bins - 1 : k]++;
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, count);
  ig_scope_close(c, s);
}
IG_OP(histc) = {
    .schema = "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    .shape = histc_shape,
    .kernel = histc_kernel,
    .samples = "f32[10], 4, -2, 2",
    .not_differentiable = true,  // PyTorch has none
};
