// SPDX-License-Identifier: Apache-2.0
// Counting: bincount, histogram, unique elements and rows, combinations; drawing by weights:
// multinomial.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "tensor/copy.h"
#include "tensor/number.h"

// What PyTorch says where the sizes of a result stand in the data and no symbol stands for them.
static void no_sizes(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)args;
  (void)outs;
  ig_fail_text(c, IG_OUTPUT_SHAPE,
               "%s\nThe sizes of its result stand in the data, which a capture does not know.",
               op->target);
}

static double *read_f64(ig_ctx *c, const ig_tensor *t) {
  double *at = ig_scope_array(c, (size_t)ig_tensor_numel(t), sizeof *at);
  if (at) ig_tensor_read(t, IG_F64, at);
  return at;
}

static ig_tensor *vector(ig_ctx *c, ig_dtype dtype, int64_t n, ig_device device) {
  ig_meta m;
  ig_meta_init(&m, dtype, device);
  ig_meta_push_dim(c, &m, ig_const(n));
  ig_meta_contiguous(c, &m);
  return ig_tensor_make(c, &m, false);
}

// ---- bincount(self, weights, minlength) ----

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
  const double *weight = w ? read_f64(c, w) : NULL;
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
  if (n == 0) w = NULL;  // nothing is weighed
  bool narrow = w && w->dtype == IG_F32;
  ig_tensor *out = vector(c, !w ? IG_I64 : narrow ? IG_F32 : IG_F64, bins, x->device);
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

// ---- histogram(self, bins or edges, *, range, weight, density) ----

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

// The ends of the bins: as given, or of the data; where they meet, half a unit on either side.
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
  const double *x = read_f64(c, t);
  const double *w = weight ? read_f64(c, weight) : NULL;
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

// ---- unique_consecutive(self, return_inverse, return_counts, dim) ----

// Runs of equal rows: x is [n, width] bytes; `order` tells where row i came from (NULL: i).
static int64_t runs(const char *x, int64_t n, size_t width, const int64_t *order, int64_t *inverse,
                    int64_t *counts) {
  int64_t k = -1;
  for (int64_t i = 0; i < n; i++) {
    bool same = i > 0 && memcmp(x + (size_t)i * width, x + (size_t)(i - 1) * width, width) == 0;
    if (!same) counts[++k] = 0;
    inverse[order ? order[i] : i] = k;
    counts[k]++;
  }
  return k + 1;
}
// The rows that are compared come first.
static ig_tensor *rows_of(ig_ctx *c, ig_tensor *x, bool whole, int dim) {
  ig_tensor *rows =
      whole ? ig_flatten_using_ints(c, x) : ig_movedim_int(c, x, ig_const(dim), ig_const(0));
  return ig_contiguous(c, rows);
}
// The first row of every run, where the rows went, how long the runs are: of rows all, as PyTorch.
static void unique_runs(ig_ctx *c, ig_tensor *x, ig_tensor *rows, const int64_t *order, bool whole,
                        int dim, bool want_inverse, bool want_counts, ig_value *outs) {
  if (!rows || c->status != IG_OK) return;
  want_inverse = want_inverse || !whole;
  want_counts = want_counts || !whole;
  int64_t n = rows->ndim ? ig_sizes(rows)[0].value : 1;
  size_t width = n ? (size_t)(ig_tensor_numel(rows) / n) * ig_dtype_size(rows->dtype) : 0;
  ig_tensor *inverse = vector(c, IG_I64, n, x->device);
  int64_t *counts = ig_scope_array(c, (size_t)n, sizeof *counts);
  if (!inverse || !counts) return;
  int64_t k = runs(ig_tensor_data(rows), n, width, order, ig_tensor_data(inverse), counts);
  ig_tensor *sizes = vector(c, IG_I64, want_counts ? k : 0, x->device);
  ig_tensor *index = vector(c, IG_I64, k, x->device);
  if (!sizes || !index) return;
  for (int64_t i = 0, from = 0; i < k; from += counts[i++]) {
    ((int64_t *)ig_tensor_data(index))[i] = from;
    if (want_counts) ((int64_t *)ig_tensor_data(sizes))[i] = counts[i];
  }
  ig_tensor *kept = ig_index_select(c, rows, ig_const(0), index);
  if (!whole) kept = ig_movedim_int(c, kept, ig_const(0), ig_const(dim));
  ig_tensor *none = vector(c, IG_I64, 0, x->device);
  if (whole && want_inverse) inverse = ig_view(c, inverse, ig_sizes_of(x));
  outs[0] = ig_of_tensor(kept);
  outs[1] = ig_of_tensor(want_inverse ? inverse : none);
  outs[2] = ig_of_tensor(sizes);
}
static void unique_consecutive_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                      ig_value *outs) {
  (void)op;
  ig_tensor *x = args[0].tensor;
  bool whole = args[3].kind == IG_KIND_NONE;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[3]), x->ndim);
  if (c->status != IG_OK) return;
  ig_tensor *rows = rows_of(c, x, whole, dim);
  unique_runs(c, x, rows, NULL, whole, dim, args[1].b, args[2].b, outs);
}

// ---- _unique2(self, sorted, return_inverse, return_counts), unique_dim(self, dim, ...) ----

// The order of rows [n, width] by their elements, the first before the others: stable sorts from
// the last column on.
static ig_tensor *order_of(ig_ctx *c, ig_tensor *rows) {
  ig_int flat[] = {ig_sizes(rows)[0], ig_const(-1)};
  ig_tensor *table = ig_view(c, rows, ig_of_ints(flat, 2));
  ig_tensor *order = NULL;
  if (!table) return NULL;
  for (int64_t k = ig_sizes(table)[1].value - 1; k >= 0 && c->status == IG_OK; k--) {
    ig_value sorted[IG_MAX_RETURNS] = {{0}};
    ig_tensor *key = ig_select_int(c, table, ig_const(1), ig_const(k));
    if (order) key = ig_index_select(c, key, ig_const(0), order);
    ig_sort_stable_with(c, key, ig_of_bool(true), ig_const(0), false, sorted);
    ig_tensor *step = ig_value_tensor(&sorted[1]);
    order = order ? ig_index_select(c, order, ig_const(0), step) : step;
  }
  return ig_contiguous(c, order);
}
static void unique_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  bool whole = !op->def->variant;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  const ig_value *want = args + (whole ? 2 : 3);
  if (ig_dtype_is_complex(x->dtype)) ig_refuse_dtype(c, "unique", x->dtype);
  ig_tensor *rows = c->status == IG_OK ? rows_of(c, x, whole, dim) : NULL;
  if (!rows) return;
  if (ig_tensor_numel(x) == 0 && !whole) {
    ig_fail_text(c, IG_RUNTIME,
                 "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
                 "applied");
    return;
  }
  if (ig_tensor_numel(x) == 0 || rows->ndim == 0) {
    unique_runs(c, x, rows, NULL, whole, dim, want[0].b, want[1].b, outs);
    return;
  }
  ig_tensor *order = order_of(c, rows);
  // Bytes are compared: the two zeros become one.
  rows = order ? ig_add_value(c, ig_index_select(c, rows, ig_const(0), order),
                              &(ig_value){.kind = IG_KIND_INT})
               : NULL;
  rows = rows ? ig_cast(c, rows, x->dtype) : NULL;
  unique_runs(c, x, rows, order ? ig_tensor_data(order) : NULL, whole, dim, want[0].b, want[1].b,
              outs);
}
// How many there are stands in the data: a fresh symbol.
static void unique_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[0].tensor;
  bool whole = !op->def->variant;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  const ig_value *want = args + (whole ? 2 : 3);
  ig_int most = whole ? ig_numel_of(c, x) : x->ndim ? ig_sizes(x)[dim] : ig_const(1);
  if (c->status != IG_OK) return;
  ig_int n = ig_sym_unbacked(c);
  ig_sym_constrain(c, n, 0, most.expr ? INT64_MAX : most.value, true);
  ig_meta m[3];
  for (int i = 0; i < 3; i++) ig_meta_init(&m[i], i ? IG_I64 : x->dtype, x->device);
  if (whole) ig_meta_push_dim(c, &m[0], n);
  for (int d = 0; d < x->ndim; d++) {
    if (!whole) ig_meta_push_dim(c, &m[0], d == dim ? n : ig_sizes(x)[d]);
    if (whole && want[0].b) ig_meta_push_dim(c, &m[1], ig_sizes(x)[d]);
  }
  if (whole && !want[0].b) ig_meta_push_dim(c, &m[1], ig_const(0));
  if (!whole) ig_meta_push_dim(c, &m[1], most);
  ig_meta_push_dim(c, &m[2], want[1].b || !whole ? n : ig_const(0));
  for (int i = 0; i < 3 && c->status == IG_OK; i++) {
    ig_meta_contiguous(c, &m[i]);
    outs[i] = ig_of_tensor(ig_tensor_make(c, &m[i], true));
  }
}

// ---- combinations(self, r, with_replacement) ----

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

// ---- multinomial(self, num_samples, replacement, *, generator) ----

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

// One draw by the running sum of the weights; p is changed so that nobody is drawn twice.
static int64_t draw(ig_generator *g, double *p, int64_t n, bool again) {
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
  if (!again) p[last] = 0;
  return last;
}

static void multinomial_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  int64_t n = ig_sizes(x)[x->ndim - 1].value;
  int64_t samples = ig_value_i64(c, &args[1]);
  int64_t rows = n ? ig_tensor_numel(x) / n : 0;
  ig_scope s = ig_scope_open(c);
  double *p = read_f64(c, x);
  ig_generator *g = args[3].kind == IG_KIND_GENERATOR ? args[3].generator : ig_generator_default(c);
  int64_t *to = ig_tensor_data(outs[0].tensor);
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
    for (int64_t k = 0; k < samples && c->status == IG_OK; k++) {
      to[r * samples + k] = draw(g, row, n, args[2].b);
    }
  }
  ig_scope_close(c, s);
}

IG_OP(bincount) = {
    .schema = "aten::bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    .kernel = bincount_kernel,
    .fake = no_sizes,
    .samples = "i64[5] | i64[5], f32[5] | i32[4], None, 12 | i64[0] | u8[3], f64[3]",
    .not_differentiable = true,
};
IG_OP(histogram_bin_ct) = {
    .schema =
        "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? "
        "weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    .shape = histogram_shape,
    .kernel = histogram_kernel,
    .samples = "f32[10], 4 | f32[2,5], 3, weight=f32[2,5]:+, density=True",
    .not_differentiable = true,
};
IG_OP(histogram_bins_tensor) = {
    .schema =
        "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool "
        "density=False) -> (Tensor hist, Tensor bin_edges)",
    .shape = histogram_shape,
    .kernel = histogram_kernel,
    .variant = 1,
    .samples = "f32[10], f32[5]:sort",
    .not_differentiable = true,
};
IG_OP(unique_consecutive) = {
    .schema =
        "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
        "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_consecutive_kernel,
    .fake = no_sizes,
    .samples = "i64[8]:<2 | i64[2,4]:<2, True, True | i64[4,2]:<2, True, True, 0",
    .not_differentiable = true,
};
IG_OP(_unique2) = {
    .schema =
        "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
        "return_counts=False) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_kernel,
    .fake = unique_fake,
    .samples = "i64[8]:<3 | f32[2,4], True, True, True | i64[3,3]:<4, True, True, False | f32[]",
    .not_differentiable = true,
    .waive = "special: equal bytes are equal",
};
IG_OP(unique_dim) = {
    .schema =
        "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
        "return_counts=False) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_kernel,
    .variant = 1,
    .fake = unique_fake,
    .samples = "i64[6,2]:<2, 0, True, True, True | i64[2,5]:<2, 1 | f32[3,2], -2, True, True",
    .not_differentiable = true,
    .waive =
        "size 6=0: refused here, PyTorch computes it; size 5=0: refused here, PyTorch computes it",
};
IG_OP(combinations) = {
    .schema = "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    .decompose = combinations,
    .samples = "i64[4]:perm | i64[2], 3, True | f32[3], 1",
    .waive = "fake: lengths stand in the data; symbolic: lengths stand in the data",
};
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
