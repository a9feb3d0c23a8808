// SPDX-License-Identifier: Apache-2.0
// Windows of signal processing, indices of triangles, searching in sorted rows, counting, distances
// between rows, and other operators that stand alone.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/random.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

// ---- windows: window_length, [periodic, alpha, beta], then the options ----

enum { BARTLETT, BLACKMAN, HANN, HAMMING, KAISER };
static size_t options_at(const ig_op *op) {
  size_t i = 0;
  while (i < op->schema.nargs && strcmp(op->schema.args[i].name, "dtype") != 0) i++;
  return i;
}
static void window_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int64_t n = ig_value_i64(c, &args[0]);
  ig_meta_options(c, args, options_at(op), ig_ctx_default_dtype(c), out);
  if (c->status != IG_OK) return;
  if (!ig_dtype_is_float(out->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "%s expects floating point dtypes, got: Tensor of dtype %s",
                 op->schema.name, ig_dtype_text(out->dtype));
    return;
  }
  if (n < 0) {
    ig_fail_text(c, IG_RUNTIME, "%s requires non-negative window_length, got window_length=%lld",
                 op->schema.name, (long long)n);
    return;
  }
  ig_meta_push_dim(c, out, ig_const(n));
}
static double bessel0(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 500 && term > sum * 1e-17; k++) {
    term *= x * x / (4.0 * k * k);
    sum += term;
  }
  return sum;
}
static double window_value(int how, double t, double a, double b) {
  const double turn = 2 * 3.14159265358979323846 * t;
  switch (how) {
    case BARTLETT:
      return 1 - fabs(2 * t - 1);
    case BLACKMAN:
      return 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
    case HANN:
      return 0.5 - 0.5 * cos(turn);
    case HAMMING:
      return a - b * cos(turn);
    default: {
      double r = 2 * t - 1;
      return bessel0(a * sqrt(fmax(0, 1 - r * r))) / bessel0(a);
    }
  }
}
static void window_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  size_t more = options_at(op);
  int64_t n = ig_value_i64(c, &args[0]);
  bool periodic = more > 1 ? args[1].b : true;
  int how = op->def->variant;
  double a = more > 2 ? ig_value_f64(&args[2]) : how == KAISER ? 12 : 0.54;
  double b = more > 3 ? ig_value_f64(&args[3]) : 0.46;
  ig_scope s = ig_scope_open(c);
  double *w = ig_dense_room(c, (size_t)n, IG_F64);
  double span = (double)(periodic ? n : n - 1);
  for (int64_t i = 0; w && i < n; i++) {
    w[i] = n == 1 ? 1 : window_value(how, (double)i / span, a, b);
  }
  ig_dense_write(c, outs[0].tensor, IG_F64, w);
  ig_scope_close(c, s);
}

// ---- indices of a triangle: row, col, offset, options ----

static int64_t triangle(int64_t rows, int64_t cols, int64_t offset, bool upper, int64_t *at) {
  int64_t n = 0;
  // Beyond the corners nothing changes any more.
  offset = offset > cols ? cols : offset < -rows ? -rows : offset;
  // Rows without elements are not walked; all of them fit, since the elements were counted.
  int64_t first = upper || offset >= 0 ? 0 : -offset;
  int64_t last = upper && offset < cols && cols - offset < rows ? cols - offset : rows;
  for (int64_t i = first; i < last; i++) {
    int64_t edge = i + offset + (upper ? 0 : 1);
    edge = edge < 0 ? 0 : edge > cols ? cols : edge;
    int64_t from = upper ? edge : 0;
    int64_t to = upper ? cols : edge;
    for (int64_t j = from; at && j < to; j++) {
      at[2 * (n + j - from)] = i;
      at[2 * (n + j - from) + 1] = j;
    }
    n += to - from;
  }
  return n;
}
// How many there are, without walking; saturates.
static double count_of(double rows, double cols, double offset, bool upper) {
  if (upper) return rows * cols - count_of(rows, cols, offset - 1, false);
  double first = offset > 0 ? fmin(cols, 1 + offset) : rows + offset > 0;
  double last = fmax(0, fmin(cols, rows + offset));
  double all = fmax(0, fmin(rows, rows + offset));
  double slope = last - first + 1;
  double size = (first + last) * slope / 2;
  return all > slope ? size + (all - slope) * cols : size;
}
static void triangle_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int64_t rows = ig_value_i64(c, &args[0]);
  int64_t cols = ig_value_i64(c, &args[1]);
  if (rows < 0 || cols < 0) {
    ig_fail_text(c, IG_RUNTIME, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
                 (long long)(rows < 0 ? rows : cols));
    return;
  }
  ig_meta_options(c, args, 3, IG_I64, out);
  ig_meta_push_dim(c, out, ig_const(2));
  double n =
      count_of((double)rows, (double)cols, (double)ig_value_i64(c, &args[2]), op->def->variant);
  if (n > 1e12) {
    ig_fail_text(c, IG_RUNTIME, "a triangle of %lld by %lld has too many elements", (long long)rows,
                 (long long)cols);
    return;
  }
  ig_meta_push_dim(c, out, ig_const(rows && cols && n > 0 ? (int64_t)n : 0));
}
static void triangle_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int64_t n = ig_sizes(outs[0].tensor)[1].value;  // concrete: real sizes
  ig_scope s = ig_scope_open(c);
  int64_t *pairs = ig_dense_room(c, (size_t)(2 * n), IG_I64);
  int64_t *out = ig_dense_room(c, (size_t)(2 * n), IG_I64);
  if (pairs && out && n) {
    (void)triangle(ig_value_i64(c, &args[0]), ig_value_i64(c, &args[1]), ig_value_i64(c, &args[2]),
                   op->def->variant, pairs);
    for (int64_t i = 0; i < n; i++) {
      out[i] = pairs[2 * i];
      out[n + i] = pairs[2 * i + 1];
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_I64, out);
  ig_scope_close(c, s);
}

// ---- searchsorted, bucketize ----

// boundaries, values, out_int32, right
typedef struct search {
  const ig_tensor *rows;
  const ig_tensor *values;
  bool narrow;
  bool right;
  const ig_tensor *sorter;
} search;
static void search_shape(ig_ctx *c, const search *q, ig_meta *out) {
  const ig_tensor *r = q->rows;
  const ig_tensor *v = q->values;
  bool ok = r->ndim > 0;
  bool lead = r->ndim != 1;
  if (ok && lead) ok = v->ndim == r->ndim;
  for (int d = 0; ok && lead && d < r->ndim - 1; d++)
    ok = ig_int_eq(c, ig_sizes(r)[d], ig_sizes(v)[d]);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                 "dimensions of boundaries tensor and input value tensor must match, but we got "
                 "boundaries tensor %s and input value tensor %s",
                 ig_sizes_text(c, ig_sizes(r), (size_t)r->ndim),
                 ig_sizes_text(c, ig_sizes(v), (size_t)v->ndim));
    return;
  }
  if (ig_dtype_is_complex(r->dtype) || ig_dtype_is_complex(v->dtype) || r->dtype == IG_BOOL) {
    ig_refuse_dtype(c, "searchsorted_out_cpu", r->dtype);
    return;
  }
  for (int d = 0; d < v->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(v)[d]);
  out->dtype = q->narrow ? IG_I32 : IG_I64;
  out->device = r->device;
}
static bool goes_before(double edge, double v, bool right) {
  // NaN is the largest.
  if (isnan(v)) return right ? true : !isnan(edge);
  if (isnan(edge)) return false;
  return right ? edge <= v : edge < v;
}
static void search_run(ig_ctx *c, const search *q, ig_tensor *out) {
  ig_scope s = ig_scope_open(c);
  const double *rows = ig_dense_read(c, q->rows, IG_F64);
  const double *v = ig_dense_read(c, q->values, IG_F64);
  const int64_t *order = q->sorter ? ig_dense_read(c, q->sorter, IG_I64) : NULL;
  int64_t n = ig_sizes(q->rows)[q->rows->ndim - 1].value;  // concrete: real sizes
  int64_t count = ig_tensor_numel(q->values);
  int64_t per = q->values->ndim ? ig_sizes(q->values)[q->values->ndim - 1].value : 1;
  int64_t *at = ig_dense_room(c, (size_t)count, IG_I64);
  for (int64_t k = 0; rows && v && at && k < count; k++) {
    int64_t base = q->rows->ndim == 1 ? 0 : k / per * n;
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
      int64_t mid = low + (high - low) / 2;
      int64_t place = order ? order[base + mid] : mid;
      if (place < 0 || place >= n) place = mid;
      if (goes_before(rows[base + place], v[k], q->right)) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    at[k] = low;
  }
  ig_dense_write(c, out, IG_I64, at);
  ig_scope_close(c, s);
}
// sorted_sequence, self, *, out_int32, right, side, sorter
static bool from_right(ig_ctx *c, const ig_value *args) {
  if (args[4].kind != IG_KIND_STR) return args[3].b;
  bool right = strcmp(args[4].str, "right") == 0;
  if (!right && strcmp(args[4].str, "left") != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                 args[4].str);
  } else if (!right && args[3].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                 "while right was True");
  }
  return right;
}
static search sorted_query(ig_ctx *c, const ig_value *args) {
  return (search){args[0].tensor, args[1].tensor, args[2].b, from_right(c, args),
                  ig_value_tensor(&args[5])};
}
static void searchsorted_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  search q = sorted_query(c, args);
  bool ok = !q.sorter || q.sorter->ndim == q.rows->ndim;
  for (int d = 0; ok && q.sorter && d < q.rows->ndim; d++) {
    ok = ig_int_eq(c, ig_sizes(q.sorter)[d], ig_sizes(q.rows)[d]);
  }
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.searchsorted(): boundary and sorter must have the same size");
    return;
  }
  if (c->status == IG_OK) search_shape(c, &q, out);
}
static void searchsorted_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  search q = sorted_query(c, args);
  search_run(c, &q, outs[0].tensor);
}
static ig_tensor *number_tensor(ig_ctx *c, const ig_value *v, const ig_tensor *like) {
  ig_dtype d = v->kind == IG_KIND_FLOAT ? ig_ctx_default_dtype(c) : IG_I64;
  return ig_scalar_tensor_with(c, *v, ig_of_dtype(d), ig_none(), ig_of_device(like->device),
                               ig_none());
}
static ig_tensor *searchsorted_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *rows = args[0].tensor;
  if (rows->dtype == IG_BOOL) rows = ig_cast(c, rows, IG_I64);
  ig_tensor *value = number_tensor(c, &args[1], args[0].tensor);
  ig_value all[] = {ig_of_tensor(rows), ig_of_tensor(value), args[2], args[3], args[4], args[5]};
  return c->status == IG_OK ? ig_call_id(c, IG_ID_SEARCHSORTED_TENSOR, all, 6) : NULL;
}
// self, boundaries, *, out_int32, right
static void bucketize_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  search q = {args[1].tensor, args[0].tensor, args[2].b, args[3].b, NULL};
  if (q.rows->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "boundaries tensor must be 1 dimension, but got dim(%d)",
                 q.rows->ndim);
    return;
  }
  search_shape(c, &q, out);
}
static void bucketize_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  search q = {args[1].tensor, args[0].tensor, args[2].b, args[3].b, NULL};
  search_run(c, &q, outs[0].tensor);
}
static ig_tensor *bucketize_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *rows = args[1].tensor;
  if (rows->dtype == IG_BOOL) rows = ig_cast(c, rows, IG_I64);
  ig_tensor *value = number_tensor(c, &args[0], args[1].tensor);
  ig_value all[] = {ig_of_tensor(value), ig_of_tensor(rows), args[2], args[3]};
  return c->status == IG_OK ? ig_call_id(c, IG_ID_BUCKETIZE_TENSOR, all, 4) : NULL;
}

// ---- histc: self, bins, min, max ----

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

// ---- distances ----

// Euclidean distances by one product: the square of a - b is that of a, that of b and -2 a b. Less
// exact for points that are close, as in PyTorch, which does so beyond 25 points unless told.
static bool distance_by_product(const ig_ctx *c, const ig_value *args) {
  enum { FEW = 25 };
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  int64_t mode = args[3].kind == IG_KIND_INT ? args[3].i.value : 0;  // concrete: a choice
  if (ig_value_f64(&args[2]) != 2 || mode == 2 || !ig_unwatched(c, args, 2)) return false;
  int64_t rows = ig_sizes(a)[a->ndim - 2].value;     // concrete: real sizes
  int64_t columns = ig_sizes(b)[b->ndim - 2].value;  // concrete: real sizes
  return mode == 1 || rows > FEW || columns > FEW;
}
static ig_tensor *with_squares(ig_ctx *c, ig_tensor *x, double factor, bool first) {
  ig_int last = ig_const(-1);
  ig_tensor *squares = ig_mul_tensor(c, x, x);
  squares = ig_sum_dim_intlist_with(c, squares, ig_of_ints(&last, 1), true, ig_none());
  ig_value parts[3] = {ig_of_tensor(ig_mul_f64(c, x, factor))};
  ig_tensor *ones = ig_ones_like(c, squares);
  parts[first ? 1 : 2] = ig_of_tensor(squares);
  parts[first ? 2 : 1] = ig_of_tensor(ones);
  return c->status == IG_OK ? ig_cat_with(c, ig_of_list(parts, 3), last) : NULL;
}
static ig_tensor *euclidean(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_tensor *left = with_squares(c, a, -2, true);
  ig_tensor *right = with_squares(c, b, 1, false);
  right = ig_transpose_int(c, right, ig_const(-2), ig_const(-1));
  ig_tensor *squares = ig_clamp_min(c, ig_matmul(c, left, right), ig_of_i64(0));
  return ig_sqrt(c, squares);
}

static ig_tensor *cdist_forward(ig_ctx *c, const ig_value *args) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  ig_int last = ig_const(-1);
  if (a->ndim < 2 || b->ndim < 2 ||
      !ig_int_eq(c, ig_sizes(a)[a->ndim - 1], ig_sizes(b)[b->ndim - 1])) {
    ig_fail_text(c, IG_RUNTIME, "X1 and X2 must have the same number of columns. X1: %s X2: %s",
                 ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim),
                 ig_sizes_text(c, ig_sizes(b), (size_t)b->ndim));
    return NULL;
  }
  if (!ig_check_float(c, "cdist", a->dtype) || ig_value_f64(&args[2]) < 0) {
    if (c->status == IG_OK)
      ig_fail_text(c, IG_RUNTIME, "cdist only supports non-negative p values");
    return NULL;
  }
  if (distance_by_product(c, args)) return euclidean(c, a, b);
  ig_tensor *d = ig_unsqueeze(c, a, ig_const(-2));
  d = ig_sub_tensor(c, d, ig_unsqueeze(c, b, ig_const(-3)));
  return ig_linalg_vector_norm_with(c, d, args[2], ig_of_ints(&last, 1), false, ig_none());
}
static ig_tensor *cdist_decompose(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID__CDIST_FORWARD, args, 4);
}
static ig_tensor *pdist_forward(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "pdist only supports 2D tensors, got: %dD", x->ndim);
    return NULL;
  }
  if (!ig_check_float(c, "pdist", x->dtype) || ig_value_f64(&args[1]) < 0) {
    if (c->status == IG_OK)
      ig_fail_text(c, IG_RUNTIME, "pdist only supports non-negative p values");
    return NULL;
  }
  ig_int n = ig_const(ig_int_specialize(c, ig_sizes(x)[0]));
  ig_tensor *pairs = ig_triu_indices_with(c, n, n, ig_const(1), ig_of_dtype(IG_I64), ig_none(),
                                          ig_of_device(x->device), ig_none());
  ig_tensor *i = ig_select_int(c, pairs, ig_const(0), ig_const(0));
  ig_tensor *j = ig_select_int(c, pairs, ig_const(0), ig_const(1));
  ig_tensor *a = ig_index_select(c, x, ig_const(0), i);
  ig_tensor *d = ig_sub_tensor(c, a, ig_index_select(c, x, ig_const(0), j));
  ig_int last = ig_const(-1);
  return ig_linalg_vector_norm_with(c, d, args[1], ig_of_ints(&last, 1), false, ig_none());
}
static ig_tensor *pdist_decompose(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID__PDIST_FORWARD, args, 2);
}

// ---- others ----

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
// x, N, increasing
static ig_tensor *vander(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "x must be a one-dimensional tensor.");
    return NULL;
  }
  int64_t n = args[1].kind == IG_KIND_NONE ? ig_int_specialize(c, ig_sizes(x)[0])
                                           : ig_value_i64(c, &args[1]);
  if (n < 0) {
    ig_fail_text(c, IG_RUNTIME, "N must be non-negative.");
    return NULL;
  }
  ig_dtype d = ig_dtype_is_float(x->dtype) || ig_dtype_is_complex(x->dtype) ? x->dtype : IG_I64;
  ig_int sizes[] = {ig_sizes(x)[0], ig_const(n)};
  if (n == 0) {
    return ig_empty_memory_format_with(c, ig_of_ints(sizes, 2), ig_of_dtype(d), ig_none(),
                                       ig_of_device(x->device), ig_none(), ig_none());
  }
  ig_tensor *ones = ig_ones_with(c, ig_of_ints((ig_int[]){ig_sizes(x)[0], ig_const(1)}, 2),
                                 ig_of_dtype(d), ig_none(), ig_of_device(x->device), ig_none());
  ig_tensor *out = ones;
  if (n > 1) {
    ig_int rest[] = {ig_sizes(x)[0], ig_const(n - 1)};
    ig_tensor *column = ig_unsqueeze(c, ig_cast(c, x, d), ig_const(1));
    ig_tensor *powers = ig_cumprod(c, ig_expand(c, column, ig_of_ints(rest, 2)), ig_const(1));
    ig_value pair[] = {ig_of_tensor(ones), ig_of_tensor(powers)};
    out = c->status == IG_OK ? ig_cat_with(c, ig_of_list(pair, 2), ig_const(1)) : NULL;
  }
  ig_int dim = ig_const(1);
  return args[2].b ? out : ig_flip(c, out, ig_of_ints(&dim, 1));
}
// self (time, batch, in), weight (width, in, out), bias, pad
static ig_tensor *conv_tbc(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *w = args[1].tensor;
  if (x->ndim != 3 || w->ndim != 3 || args[2].tensor->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "Input must have 3 dims: time, batch, in_channel");
    return NULL;
  }
  ig_int to_bct[] = {ig_const(1), ig_const(2), ig_const(0)};
  ig_int to_oik[] = {ig_const(2), ig_const(1), ig_const(0)};
  ig_int back[] = {ig_const(2), ig_const(0), ig_const(1)};
  ig_int one = ig_const(1);
  ig_int pad = args[3].i;
  x = ig_permute(c, x, ig_of_ints(to_bct, 3));
  w = ig_permute(c, w, ig_of_ints(to_oik, 3));
  ig_tensor *y = ig_conv1d_with(c, x, w, args[2].tensor, ig_of_ints(&one, 1), ig_of_ints(&pad, 1),
                                ig_of_ints(&one, 1), ig_const(1));
  return ig_permute(c, y, ig_of_ints(back, 3));
}
// self, src, size, stride, storage_offset
static void as_strided_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args,
                                     ig_meta *out) {
  const ig_tensor *src = args[1].tensor;
  bool same = (size_t)src->ndim == args[2].ints.n && args[3].ints.n == args[2].ints.n;
  ig_int last = args[4].kind == IG_KIND_INT ? args[4].i : args[0].tensor->offset;
  for (int d = 0; d < src->ndim && same; d++) {
    same = ig_int_eq(c, ig_sizes(src)[d], args[2].ints.at[d]);
    ig_int reach = ig_int_sub(c, args[2].ints.at[d], ig_const(1));
    last = ig_int_add(c, last, ig_int_mul(c, reach, args[3].ints.at[d]));
    if (ig_int_is(c, args[3].ints.at[d], IG_LT, ig_const(0))) same = false;
  }
  if (!same || !ig_int_is(c, last, IG_LT, ig_numel_of(c, args[0].tensor))) {
    ig_fail_text(
        c, IG_RUNTIME,
        "expected src to have a size equal to the slice of self. src size = %s, slice size "
        "= %s",
        ig_sizes_text(c, ig_sizes(src), (size_t)src->ndim),
        ig_sizes_text(c, args[2].ints.at, args[2].ints.n));
    return;
  }
  (void)op;
  for (int d = 0; d < args[0].tensor->ndim; d++)
    ig_meta_push_dim(c, out, ig_sizes(args[0].tensor)[d]);
}
static void as_strided_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                      ig_value *outs) {
  (void)op;
  ig_scope s = ig_scope_open(c);
  ig_tensor_copy(outs[0].tensor, args[0].tensor);
  ig_tensor *view =
      ig_as_strided_with(c, ig_tensor_twin(c, outs[0].tensor), args[2], args[3], args[4]);
  if (view) ig_tensor_copy(view, args[1].tensor);
  ig_scope_close(c, s);
}
static void as_strided_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *g = ig_contiguous(c, v->grad);
  if (IG_WANTED(v, 0)) {
    ig_tensor *zeros = ig_zeros_of(c, a[1].tensor);
    IG_GRAD(v, 0) = ig_as_strided_scatter_with(c, g, zeros, a[2], a[3], a[4]);
  }
  IG_GRAD(v, 1) = ig_contiguous(c, ig_as_strided_with(c, g, a[2], a[3], a[4]));
}
// self, indices, output_size: back to the places that a pooling took from
static ig_tensor *unpool(ig_ctx *c, const ig_value *args, int n) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *at = args[1].tensor;
  if ((x->ndim != n + 1 && x->ndim != n + 2) || at->ndim != x->ndim || at->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME, "max_unpool%dd: expected int64 indices of the shape of the input",
                 n);
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  ig_int plane = ig_const(1);
  for (int d = 0; d < n; d++) plane = ig_int_mul(c, plane, args[2].ints.at[d]);
  for (int d = 0; d < x->ndim - n; d++) sizes[d] = ig_sizes(x)[d];
  sizes[x->ndim - n] = plane;
  ig_int start = ig_const(-n);
  ig_int end = ig_const(-1);
  ig_tensor *zeros = ig_new_zeros(c, x, ig_of_ints(sizes, (size_t)(x->ndim - n + 1)));
  ig_tensor *flat = ig_flatten_using_ints_with(c, x, start, end);
  ig_tensor *out =
      ig_scatter_src(c, zeros, end, ig_flatten_using_ints_with(c, at, start, end), flat);
  for (int d = 0; d < n; d++) sizes[x->ndim - n + d] = args[2].ints.at[d];
  return ig_view(c, out, ig_of_ints(sizes, (size_t)x->ndim));
}
static ig_tensor *max_unpool2d(ig_ctx *c, const ig_value *args) {
  return unpool(c, args, 2);
}
static ig_tensor *max_unpool3d(ig_ctx *c, const ig_value *args) {
  return unpool(c, args, 3);
}
// start, end, steps, base, dtype ...: powers of a row of steps, in double precision
static ig_tensor *logspace(ig_ctx *c, const ig_value *args) {
  ig_dtype d = args[4].kind == IG_KIND_DTYPE ? args[4].dtype : ig_ctx_default_dtype(c);
  ig_value row[] = {args[0], args[1], args[2], ig_of_dtype(IG_F64), args[5], args[6], args[7]};
  ig_tensor *t = ig_call_id(c, IG_ID_LINSPACE, row, 7);
  double base = ig_value_f64(&args[3]);
  ig_value number = base == floor(base) ? ig_of_i64((int64_t)base) : args[3];
  t = ig_pow_scalar(c, number, t);
  return ig_cast(c, t, d);
}
static ig_tensor *reshape_alias(ig_ctx *c, const ig_value *args) {
  return ig_view(c, args[0].tensor, args[1]);
}

#define WINDOW(how) .shape = window_shape, .kernel = window_kernel, .variant = (how)

IG_OP(bartlett_window) = {
    .schema =
        "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(BARTLETT),
    .samples = "5 | 1",
    .not_differentiable = true,  // no operands
};
IG_OP(bartlett_window_periodic) = {
    .schema =
        "aten::bartlett_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(BARTLETT),
    .samples = "4, False, dtype=f64",
    .not_differentiable = true,  // no operands
};
IG_OP(blackman_window) = {
    .schema =
        "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(BLACKMAN),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(blackman_window_periodic) = {
    .schema =
        "aten::blackman_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(BLACKMAN),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hann_window) = {
    .schema =
        "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HANN),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(hann_window_periodic) = {
    .schema =
        "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
        "-> Tensor",
    WINDOW(HANN),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window) = {
    .schema =
        "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic) = {
    .schema =
        "aten::hamming_window.periodic(int window_length, bool periodic, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic_alpha) = {
    .schema =
        "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float "
        "alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, False, 0.5",
    .not_differentiable = true,  // no operands
};
IG_OP(hamming_window_periodic_alpha_beta) = {
    .schema =
        "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, "
        "float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(HAMMING),
    .samples = "5, True, 0.5, 0.4",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window) = {
    .schema =
        "aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    WINDOW(KAISER),
    .samples = "5",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window_periodic) = {
    .schema =
        "aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
        "-> Tensor",
    WINDOW(KAISER),
    .samples = "5, False",
    .not_differentiable = true,  // no operands
};
IG_OP(kaiser_window_beta) = {
    .schema =
        "aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    WINDOW(KAISER),
    .samples = "5, False, 8.",
    .not_differentiable = true,  // no operands
};
IG_OP(tril_indices) = {
    .schema =
        "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .variant = 0,
    .samples = "3, 4 | 3, 3, -1",
    .not_differentiable = true,  // no operands
};
IG_OP(triu_indices) = {
    .schema =
        "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .variant = 1,
    .samples = "3, 4 | 3, 3, 1",
    .not_differentiable = true,  // no operands
};
IG_OP(searchsorted_tensor) = {
    .schema =
        "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool "
        "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
        "Tensor",
    .shape = searchsorted_shape,
    .kernel = searchsorted_kernel,
    .samples = "f32[5]:sort, f32[2,3] | f32[5]:sort, f32[3], right=True, out_int32=True",
    .not_differentiable = true,
};
IG_OP(searchsorted_scalar) = {
    .schema =
        "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool "
        "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
        "Tensor",
    .decompose = searchsorted_scalar,
    .samples = "f32[5]:sort, 0.3",
};
IG_OP(bucketize_tensor) = {
    .schema =
        "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
        "out_int32=False, bool right=False) -> Tensor",
    .shape = bucketize_shape,
    .kernel = bucketize_kernel,
    .samples = "f32[2,3], f32[5]:sort | f32[4], f32[3]:sort, right=True",
    .not_differentiable = true,
};
IG_OP(bucketize_scalar) = {
    .schema =
        "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
        "out_int32=False, bool right=False) -> Tensor",
    .decompose = bucketize_scalar,
    .samples = "0.3, f32[5]:sort",
};
IG_OP(histc) = {
    .schema = "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    .shape = histc_shape,
    .kernel = histc_kernel,
    .samples = "f32[10], 4, -2, 2",
    .not_differentiable = true,  // PyTorch has none
};
IG_OP(_cdist_forward) = {
    .schema =
        "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> "
        "Tensor",
    .decompose = cdist_forward,
    .samples = "f32[3,2], f32[4,2], 2., None | f32[1,3,2], f32[1,4,2], 1., 2",
};
IG_OP(cdist) = {
    .schema =
        "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cdist_decompose,
    .samples = "f32[3,2], f32[4,2] | f32[1,3,2], f32[1,4,2], 1. | f32[26,2], f32[3,2]",
};
IG_OP(_pdist_forward) = {
    .schema = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
    .decompose = pdist_forward,
    .samples = "f32[4,2], 2. | f32[3,2], 1.",
};
IG_OP(pdist) = {
    .schema = "aten::pdist(Tensor self, float p=2.) -> Tensor",
    .decompose = pdist_decompose,
    .samples = "f32[4,2] | f32[3,2], 1.",
};
IG_OP(sum_to_size) = {
    .schema = "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    .decompose = sum_to_size,
    .samples = "f32[2,3], [1,3] | f32[2,3], [3]",
};
IG_OP(vander) = {
    .schema = "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    .decompose = vander,
    .samples = "f32[3] | f32[3], 2, True",
    .waive = "size 3=0: nothing has no history; size 3=1: nothing has no history",
};
IG_OP(conv_tbc) = {
    .schema = "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    .autocast = IG_AUTOCAST_LOWER,
    .decompose = conv_tbc,
    .samples = "f32[4,1,2], f32[3,2,3], f32[3], 1",
    .waive =
        "strides: computed as conv1d; size 3=0: refused here, PyTorch computes it; size 4=0: "
        "refused here, PyTorch computes it",
};
IG_OP(as_strided_scatter) = {
    .schema =
        "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] "
        "stride, SymInt? storage_offset=None) -> Tensor",
    .shape = as_strided_scatter_shape,
    .kernel = as_strided_scatter_kernel,
    .vjp = as_strided_scatter_vjp,
    .keep = "",
    .samples = "f32[3,3], f32[2,2], [2,2], [1,2]",
};
IG_OP(max_unpool2d) = {
    .schema =
        "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = max_unpool2d,
    .samples = "f32[1,1,2,2], i64[1,1,2,2]:perm, [4,4]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(max_unpool3d) = {
    .schema =
        "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] "
        "stride, int[3] padding) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = max_unpool3d,
    .samples = "f32[1,1,1,2,2], i64[1,1,1,2,2]:perm, [2,4,4], [2,2,2], [0,0,0]",
    .waive = "size 2=0: PyTorch refuses it",
};
IG_OP(logspace) = {
    .schema =
        "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor",
    .decompose = logspace,
    .samples = "0, 2, 3 | 0., 1., 4, 2.",
};
IG_OP(_reshape_alias) = {
    .schema =
        "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> "
        "Tensor(a)",
    .decompose = reshape_alias,
    .samples = "f32[3,4], [4,3], [3,1]",
    .waive =
        "size 3=1: the argument tells them; size 4=1: the argument tells them; 0-d: the argument "
        "tells them",
};
