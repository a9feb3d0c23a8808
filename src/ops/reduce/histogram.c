// SPDX-License-Identifier: Apache-2.0
// Counting: bincount and histograms.
#include <math.h>
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// PyTorch's message for data-dependent result sizes without a symbol.
static bool check_bincount(ig_ctx *c, const ig_value *args) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = ig_value_tensor(&args[1]);
  const char *why = NULL;
  if (!ig_dtype_is_integral(x->dtype) || x->dtype == IG_BOOL) {
    ig_refuse_dtype(c, "bincount_cpu", x->dtype);
    return false;
  }
  if (x->ndim != 1) why = "bincount only supports 1-d non-negative integral inputs.";
  if (ig_value_i64(c, &args[2]) < 0) why = "minlength should be >= 0";
  if (w && (w->ndim != 1 || ig_tensor_numel(w) != ig_tensor_numel(x))) {
    why = "weights should be 1-d and have the same length as input";
  }
  if (why) ig_fail_text(c, IG_RUNTIME, "%s", why);
  return !why;
}

static void bincount_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  if (!check_bincount(c, args)) return;
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = ig_value_tensor(&args[1]);
  int64_t n = ig_tensor_numel(x);
  int64_t *at = ig_scope_array(c, (size_t)n, sizeof *at);
  const double *weight = w ? ig_dense_read(c, w, IG_F64) : NULL;
  int64_t bins = ig_value_i64(c, &args[2]);
  if (!at || c->status != IG_OK) return;
  ig_tensor_read(x, IG_I64, at);
  for (int64_t i = 0; i < n; i++) {
    if (at[i] < 0 || at[i] > INT32_MAX) {
      ig_fail_text(c, IG_RUNTIME, "bincount only supports 1-d non-negative integral inputs.");
      return;
    }
    if (at[i] >= bins) bins = at[i] + 1;
  }
  if (n == 0) w = NULL;  // no weights
  bool narrow = w && w->dtype == IG_F32;
  ig_tensor *out = ig_tensor_empty(c, !w ? IG_I64 : narrow ? IG_F32 : IG_F64, &bins, 1);
  if (!out) return;
  void *to = ig_tensor_data(out);
  if (bins) memset(to, 0, (size_t)bins * ig_dtype_size(out->dtype));
  for (int64_t i = 0; i < n; i++) {
    if (!weight) {
      ((int64_t *)to)[at[i]]++;
    } else if (narrow) {
      ((float *)to)[at[i]] += (float)weight[i];
    } else {
      ((double *)to)[at[i]] += weight[i];
    }
  }
  outs[0] = ig_of_tensor(out);
}

static void histogram_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = ig_value_tensor(&args[op->def->variant ? 2 : 3]);
  bool half = op->def->variant && (x->dtype == IG_F16 || x->dtype == IG_BF16);
  if (x->dtype != IG_F32 && x->dtype != IG_F64 && !half) {
    ig_refuse_dtype(c, "histogramdd", x->dtype);
    return;
  }
  if (w && w->dtype != x->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.histogramdd(): if weight tensor is provided, input tensor and weight "
                 "tensor should have the same dtype, but got input %s and weight %s",
                 ig_dtype_text(x->dtype), ig_dtype_text(w->dtype));
    return;
  }
  ig_int bins = args[1].i;  // a count, or edges
  if (op->def->variant) {
    const ig_tensor *edges = args[1].tensor;
    if (edges->ndim != 1 || edges->dtype != x->dtype) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.histogramdd(): bins tensor should be 1-D and of the input's dtype");
      return;
    }
    bins = ig_int_sub(c, ig_sizes(edges)[0], ig_const(1));
  }
  if (!ig_int_is(c, ig_const(0), IG_LT, bins)) {
    ig_fail_text(c, IG_RUNTIME, "torch.histogramdd(): bins must be > 0, but got %s for dimension 0",
                 ig_int_text(c, bins));
    return;
  }
  out[0].dtype = out[1].dtype = x->dtype;
  ig_meta_push_dim(c, &out[0], bins);
  ig_meta_push_dim(c, &out[1], ig_int_add(c, bins, ig_const(1)));
}

// The ends of the bins: as given, or of the data; if they are equal, half a unit on either side.
static bool ends_of(ig_ctx *c, const ig_value *range, const double *x, int64_t n, double *low,
                    double *high) {
  *low = *high = 0;
  if (range->kind == IG_KIND_LIST && range->list.n == 2) {
    *low = ig_value_f64(&range->list.at[0]);
    *high = ig_value_f64(&range->list.at[1]);
  } else if (n == 0) {
    *high = 1;
  } else {
    for (int64_t i = 0; i < n; i++) {
      *low = i == 0 || x[i] < *low ? x[i] : *low;
      *high = i == 0 || x[i] > *high ? x[i] : *high;
    }
  }
  if (!isfinite(*low) || !isfinite(*high) || *low > *high) {
    ig_fail_text(c, IG_RUNTIME, "torch.histogramdd(): range [%g, %g] is not finite or not rising",
                 *low, *high);
    return false;
  }
  if (*low == *high) {
    *low -= 0.5;
    *high += 0.5;
  }
  return true;
}

static void count_into(const double *x, int64_t n, const double *w, const double *edges,
                       int64_t bins, double *hist) {
  for (int64_t i = 0; i < n; i++) {
    if (!(x[i] >= edges[0] && x[i] <= edges[bins])) continue;
    int64_t low = 0;
    int64_t high = bins;
    while (high - low > 1) {
      int64_t mid = (low + high) / 2;
      *(x[i] < edges[mid] ? &high : &low) = mid;
    }
    hist[low] += w ? w[i] : 1;
  }
}

static void histogram_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  bool given = op->def->variant;
  const ig_tensor *t = args[0].tensor;
  int64_t n = ig_tensor_numel(t);
  int64_t bins = ig_tensor_numel(outs[0].tensor);
  const ig_tensor *weight = ig_value_tensor(&args[given ? 2 : 3]);
  bool density = args[given ? 3 : 4].b;
  if (weight && ig_tensor_numel(weight) != n) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.histogramdd(): if weight tensor is provided, it should have the same shape "
                 "as the input tensor excluding its innermost dimension");
    return;
  }
  ig_scope s = ig_scope_open(c);
  const double *x = ig_dense_read(c, t, IG_F64);
  const double *w = weight ? ig_dense_read(c, weight, IG_F64) : NULL;
  double *edges = ig_scope_array(c, ig_mem_mul(2, (size_t)bins + 1), sizeof *edges);
  double low = 0;
  double high = 0;
  if (x && edges && given) ig_tensor_read(args[1].tensor, IG_F64, edges);
  if (x && edges && (given || ends_of(c, &args[2], x, n, &low, &high)) && c->status == IG_OK) {
    double step = (high - low) / (double)bins;
    for (int64_t i = 0; i <= bins && !given; i++) {
      double e = i < (bins + 1) / 2 ? low + step * (double)i : high - step * (double)(bins - i);
      edges[i] = t->dtype == IG_F32 ? (double)(float)e : e;
    }
    double *hist = edges + bins + 1;
    for (int64_t i = 0; i < bins; i++) hist[i] = 0;
    count_into(x, n, w, edges, bins, hist);
    double total = 0;
    for (int64_t i = 0; i < bins; i++) total += hist[i];
    for (int64_t i = 0; i < bins && density; i++) hist[i] /= total * (edges[i + 1] - edges[i]);
    ig_convert(ig_tensor_data(outs[0].tensor), t->dtype, hist, IG_F64, (size_t)bins);
    ig_convert(ig_tensor_data(outs[1].tensor), t->dtype, edges, IG_F64, (size_t)bins + 1);
  }
  ig_scope_close(c, s);
}

IG_OP(bincount) = {
    .schema = "aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    .kernel = bincount_kernel,
    .fake = ig_refuse_sizes,
    .samples = "i64[5] | i64[5], f32[5] | i32[4], None, 12 | i64[0] | u8[3], f64[3]",
};
IG_OP(histogram_bin_ct) = {
    .schema =
        "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
        "weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    .shape = histogram_shape,
    .kernel = histogram_kernel,
    .samples = "f32[10], 4 | f32[2,5], 3, weight=f32[2,5]:+, density=True",
};
IG_OP(histogram_bins_tensor) = {
    .schema =
        "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
        "density=False) -> (Tensor hist, Tensor bin_edges)",
    .shape = histogram_shape,
    .kernel = histogram_kernel,
    .variant = 1,
    .samples = "f32[10], f32[5]:sort",
};
