// SPDX-License-Identifier: Apache-2.0
// Statistics, composed of other operators: norms, sums without NaN, logsumexp, covariance,
// quantiles, differences, trapezoids, gradients by differences.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

static ig_value order_of(const ig_value *p) {
  return p->kind == IG_KIND_NONE ? ig_of_f64(2) : *p;
}
static ig_tensor *norm_scalar(ig_ctx *c, const ig_value *args) {
  return ig_linalg_vector_norm_with(c, args[0].tensor, order_of(&args[1]), ig_none(), false,
                                    ig_none());
}
static ig_value dims_or_all(const ig_value *dim) {
  return dim->kind == IG_KIND_INTS && dim->ints.n == 0 ? ig_none() : *dim;
}
static ig_tensor *norm_dim(ig_ctx *c, const ig_value *args) {
  return ig_linalg_vector_norm_with(c, args[0].tensor, order_of(&args[1]), dims_or_all(&args[2]),
                                    args[3].b, ig_none());
}
static ig_tensor *norm_dtype(ig_ctx *c, const ig_value *args) {
  return ig_linalg_vector_norm_with(c, args[0].tensor, order_of(&args[1]), ig_none(), false,
                                    args[2]);
}
static ig_tensor *norm_dim_dtype(ig_ctx *c, const ig_value *args) {
  return ig_linalg_vector_norm_with(c, args[0].tensor, order_of(&args[1]), dims_or_all(&args[2]),
                                    args[3].b, args[4]);
}
static ig_tensor *frobenius_norm_dim(ig_ctx *c, const ig_value *args) {
  return ig_linalg_vector_norm_with(c, args[0].tensor, ig_of_f64(2), args[1], args[2].b, ig_none());
}

static ig_tensor *nansum_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "nansum does not support complex inputs");
    return NULL;
  }
  if (!ig_dtype_is_float(x->dtype)) {
    return ig_sum_dim_intlist_with(c, x, args[1], args[2].b, args[3]);
  }
  ig_tensor *safe = ig_where_scalarself(c, ig_isnan(c, x), ig_of_i64(0), x);
  return ig_sum_dim_intlist_with(c, safe, args[1], args[2].b, args[3]);
}
static ig_tensor *nanmean_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "nanmean(): expected input to have floating point or complex dtype but got %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  ig_tensor *bare = ig_detach(c, x);
  ig_tensor *count = ig_logical_not(c, ig_ne_tensor(c, bare, bare));
  count = ig_sum_dim_intlist_with(c, count, args[1], args[2].b, ig_none());
  ig_tensor *sum = ig_nansum_with(c, x, args[1], args[2].b, args[3]);
  return ig_div_tensor(c, sum, count);
}
static ig_tensor *logsumexp_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool keepdim = args[2].b;
  if (!ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype)) {
    x = ig_cast(c, x, ig_ctx_default_dtype(c));
  }
  if (ig_int_eq_i64(c, ig_numel_of(c, x), 0) || ig_dtype_is_complex(x->dtype)) {
    ig_tensor *sum = ig_sum_dim_intlist_with(c, ig_exp(c, x), args[1], keepdim, ig_none());
    return ig_log(c, sum);
  }
  ig_tensor *most = ig_amax_with(c, x, args[1], true);
  ig_tensor *wild = ig_eq_scalar(c, ig_abs(c, most), ig_of_f64(HUGE_VAL));
  most = ig_where_scalarself(c, wild, ig_of_f64(0), most);
  ig_tensor *base = keepdim || x->ndim == 0 ? most : ig_squeeze_dims(c, most, args[1]);
  ig_tensor *sum = ig_exp(c, ig_sub_tensor(c, x, most));
  sum = ig_sum_dim_intlist_with(c, sum, args[1], keepdim, ig_none());
  return ig_add_tensor(c, ig_log(c, sum), base);
}
static ig_tensor *count_nonzero(ig_ctx *c, const ig_value *args) {
  ig_tensor *mask = ig_ne_scalar(c, args[0].tensor, ig_of_i64(0));
  if (args[1].kind == IG_KIND_NONE) return ig_sum_dim_intlist(c, mask, ig_of_ints(NULL, 0));
  if (args[1].kind == IG_KIND_INTS) return ig_sum_dim_intlist(c, mask, args[1]);
  ig_int dim = args[1].i;
  return ig_sum_dim_intlist(c, mask, ig_of_ints(&dim, 1));
}

static void std_mean(ig_ctx *c, ig_tensor *x, ig_value dim, ig_value correction, bool keepdim,
                     ig_value *outs) {
  ig_var_mean_correction_with(c, x, dim, correction, keepdim, outs);
  outs[0] = ig_of_tensor(ig_sqrt(c, ig_value_tensor(&outs[0])));
}
static void std_mean_correction(ig_ctx *c, const ig_value *args, ig_value *outs) {
  std_mean(c, args[0].tensor, args[1],
           args[2].kind == IG_KIND_NONE ? ig_of_f64(1) : ig_of_f64(ig_value_f64(&args[2])),
           args[3].b, outs);
}
static void std_mean_default(ig_ctx *c, const ig_value *args, ig_value *outs) {
  std_mean(c, args[0].tensor, ig_none(), ig_of_f64(args[1].b), false, outs);
}
static void std_mean_dim(ig_ctx *c, const ig_value *args, ig_value *outs) {
  std_mean(c, args[0].tensor, args[1], ig_of_f64(args[2].b), args[3].b, outs);
}

// self, p, dim, maxnorm: rows along dim get at most that norm.
static ig_tensor *renorm_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int dims[IG_MAX_DIM];
  size_t n = 0;
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "renorm: input needs at least 2 dimensions, got %d dimensions",
                 x->ndim);
    return NULL;
  }
  if (!(ig_value_f64(&args[1]) > 0) || !(ig_value_f64(&args[3]) >= 0)) {
    ig_fail_text(c, IG_RUNTIME, "renorm: non-positive-norm not supported");
    return NULL;
  }
  int keep = ig_wrap_dim(c, ig_value_i64(c, &args[2]), x->ndim);
  for (int d = 0; d < x->ndim; d++) {
    if (d != keep) dims[n++] = ig_const(d);
  }
  ig_tensor *norm = ig_linalg_vector_norm_with(c, x, args[1], ig_of_ints(dims, n), true, ig_none());
  ig_tensor *over = ig_gt_scalar(c, norm, args[3]);
  ig_tensor *scale = ig_reciprocal(c, ig_add_f64(c, norm, 1e-7));
  scale = ig_mul_f64(c, scale, ig_value_f64(&args[3]));
  scale = ig_where_scalarother(c, over, scale, ig_of_f64(1));
  return ig_mul_tensor(c, x, scale);
}

// ---- differences ----

static ig_tensor *slice(ig_ctx *c, ig_tensor *x, ig_int dim, ig_value from, ig_value to) {
  return ig_slice_tensor_with(c, x, dim, from, to, ig_const(1));
}
static ig_tensor *prepend_append(ig_ctx *c, const ig_value *args) {
  ig_value list[3];
  size_t n = 0;
  if (args[3].kind == IG_KIND_TENSOR) list[n++] = args[3];
  list[n++] = args[0];
  if (args[4].kind == IG_KIND_TENSOR) list[n++] = args[4];
  return n == 1 ? args[0].tensor : ig_cat_with(c, ig_of_list(list, n), args[2].i);
}
// self, n, dim, prepend, append
static ig_tensor *diff_decompose(ig_ctx *c, const ig_value *args) {
  ig_int dim = args[2].i;
  int64_t n = ig_value_i64(c, &args[1]);
  if (args[0].tensor->ndim == 0) {
    ig_fail_text(c, IG_RUNTIME, "diff expects input to be at least one-dimensional");
    return NULL;
  }
  if (n < 0) {
    ig_fail_text(c, IG_RUNTIME, "order must be non-negative but got %lld", (long long)n);
    return NULL;
  }
  int at = ig_wrap_dim(c, ig_value_i64(c, &args[2]), args[0].tensor->ndim);
  if (c->status != IG_OK) return NULL;
  ig_tensor *x = prepend_append(c, args);
  if (n == 0) {
    ig_tensor *same = ig_zeros_like(c, x);
    return ig_add_tensor(c, same, x);
  }
  for (int64_t i = 0; i < n && x; i++) {
    ig_int size = ig_sizes(x)[at];
    if (ig_int_eq_i64(c, size, 0)) return x;
    ig_int less = ig_int_sub(c, size, ig_const(1));
    ig_tensor *low = ig_narrow(c, x, dim, ig_const(0), less);
    ig_tensor *high = ig_narrow(c, x, dim, ig_const(1), less);
    if (!high || !low) return NULL;
    x = x->dtype == IG_BOOL ? ig_logical_xor(c, high, low) : ig_sub_tensor(c, high, low);
  }
  return x;
}

// dx * (sum - (first + last) / 2)
static ig_tensor *trapezoid_step(ig_ctx *c, ig_tensor *y, double dx, ig_int dim) {
  ig_tensor *last = ig_select_int(c, y, dim, ig_const(-1));
  ig_tensor *first = ig_select_int(c, y, dim, ig_const(0));
  ig_tensor *ends = ig_mul_scalar(c, ig_add_tensor(c, first, last), ig_of_f64(0.5));
  ig_tensor *sum = ig_sum_dim_intlist(c, y, ig_of_ints(&dim, 1));
  sum = ig_sub_tensor(c, sum, ends);
  return ig_mul_scalar(c, sum, ig_of_f64(dx));
}
static bool empty_along(ig_ctx *c, const ig_tensor *y, const ig_value *dim) {
  int d = ig_wrap_dim(c, ig_value_i64(c, dim), y->ndim);
  return c->status != IG_OK || (y->ndim && ig_int_eq_i64(c, ig_sizes(y)[d], 0));
}
static ig_tensor *no_area(ig_ctx *c, ig_tensor *y, const ig_value *dim) {
  if (c->status != IG_OK) return NULL;
  ig_tensor *sum = ig_sum_dim_intlist(c, y, ig_of_ints(&dim->i, 1));
  return ig_zeros_of(c, sum);
}
static ig_tensor *trapezoid_dx(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[0].tensor;
  if (empty_along(c, y, &args[2])) return no_area(c, y, &args[2]);
  if (y->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME,
                 "trapezoid: received a bool input for `y`, but bool is not supported");
    return NULL;
  }
  return trapezoid_step(c, y, ig_value_f64(&args[1]), args[2].i);
}
static ig_tensor *pairs_of(ig_ctx *c, ig_tensor *y, ig_int dim) {
  ig_tensor *low = slice(c, y, dim, ig_of_i64(0), ig_of_i64(-1));
  ig_tensor *high = slice(c, y, dim, ig_of_i64(1), ig_none());
  return ig_add_tensor(c, low, high);
}
// Distances between the points, broadcast to y.
static ig_tensor *steps_of(ig_ctx *c, ig_tensor *x, ig_tensor *y, ig_int dim) {
  ig_int along = dim;
  if (x->ndim == 1 && y->ndim > 1) {
    ig_int sizes[IG_MAX_DIM];
    int at = ig_wrap_dim(c, dim.value, y->ndim);  // concrete: a dimension
    for (int d = 0; d < y->ndim; d++) sizes[d] = ig_const(1);
    sizes[at] = ig_sizes(x)[0];
    x = ig_view(c, x, ig_of_ints(sizes, (size_t)y->ndim));
  }
  ig_tensor *low = slice(c, x, along, ig_of_i64(0), ig_of_i64(-1));
  ig_tensor *high = slice(c, x, along, ig_of_i64(1), ig_none());
  return ig_sub_tensor(c, high, low);
}
static ig_tensor *trapezoid_x(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[0].tensor;
  ig_int dim = args[2].i;
  if (empty_along(c, y, &args[2])) return no_area(c, y, &args[2]);
  ig_tensor *dx = steps_of(c, args[1].tensor, y, dim);
  ig_tensor *area = ig_mul_tensor(c, dx, pairs_of(c, y, dim));
  area = ig_sum_dim_intlist(c, area, ig_of_ints(&dim, 1));
  return ig_div_scalar(c, area, ig_of_f64(2));
}
static ig_tensor *cumulative_trapezoid_dx(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[0].tensor;
  if (empty_along(c, y, &args[2])) return c->status == IG_OK ? ig_zeros_of(c, y) : NULL;
  ig_tensor *sum = pairs_of(c, y, args[2].i);
  sum = ig_mul_scalar(c, sum, ig_of_f64(ig_value_f64(&args[1]) / 2));
  return ig_cumsum(c, sum, args[2].i);
}
static ig_tensor *cumulative_trapezoid_x(ig_ctx *c, const ig_value *args) {
  ig_tensor *y = args[0].tensor;
  if (empty_along(c, y, &args[2])) return c->status == IG_OK ? ig_zeros_of(c, y) : NULL;
  ig_tensor *dx = steps_of(c, args[1].tensor, y, args[2].i);
  ig_tensor *area = ig_mul_tensor(c, dx, pairs_of(c, y, args[2].i));
  area = ig_cumsum(c, area, args[2].i);
  return ig_div_scalar(c, area, ig_of_f64(2));
}

// Central differences inside, one-sided ones at the ends.
static ig_tensor *gradient_step(ig_ctx *c, ig_tensor *x, int dim, double dx, int64_t edge) {
  ig_int at = ig_const(dim);
  ig_value none = ig_none();
  ig_value h = ig_of_f64(dx);
  ig_tensor *low = slice(c, x, at, ig_of_i64(0), ig_of_i64(-2));
  ig_tensor *high = slice(c, x, at, ig_of_i64(2), none);
  ig_tensor *center = ig_div_scalar(c, ig_sub_tensor(c, high, low), h);
  ig_tensor *first = NULL;
  ig_tensor *last = NULL;
  if (edge == 1) {
    ig_tensor *a = slice(c, x, at, ig_of_i64(0), ig_of_i64(1));
    ig_tensor *b = slice(c, x, at, ig_of_i64(1), ig_of_i64(2));
    first = ig_div_scalar(c, ig_sub_tensor(c, b, a), h);
    a = slice(c, x, at, ig_of_i64(-2), ig_of_i64(-1));
    b = slice(c, x, at, ig_of_i64(-1), none);
    last = ig_div_scalar(c, ig_sub_tensor(c, b, a), h);
  } else {
    ig_tensor *p[3];
    for (int k = 0; k < 3; k++) p[k] = slice(c, x, at, ig_of_i64(k), ig_of_i64(k + 1));
    ig_tensor *t = ig_mul_f64(c, p[1], 4);
    t = ig_sub_tensor(c, t, ig_mul_f64(c, p[0], 3));
    first = ig_div_scalar(c, ig_sub_tensor(c, t, p[2]), ig_of_f64(2 * dx));
    p[0] = slice(c, x, at, ig_of_i64(-1), none);
    p[1] = slice(c, x, at, ig_of_i64(-2), ig_of_i64(-1));
    p[2] = slice(c, x, at, ig_of_i64(-3), ig_of_i64(-2));
    t = ig_mul_f64(c, p[0], 3);
    t = ig_sub_tensor(c, t, ig_mul_f64(c, p[1], 4));
    last = ig_div_scalar(c, ig_add_tensor(c, t, p[2]), ig_of_f64(2 * dx));
  }
  center = ig_div_scalar(c, center, ig_of_i64(2));
  ig_value list[] = {ig_of_tensor(first), ig_of_tensor(center), ig_of_tensor(last)};
  return c->status == IG_OK ? ig_cat_with(c, ig_of_list(list, 3), at) : NULL;
}
static bool edge_fits(ig_ctx *c, const ig_tensor *x, int dim, int64_t edge) {
  if (edge != 1 && edge != 2) {
    ig_fail_text(c, IG_RUNTIME, "torch.gradient only supports edge_order=1 and edge_order=2.");
    return false;
  }
  if (x->ndim == 0) {
    ig_fail_text(c, IG_BAD_INDEX, "Dimension specified as %d but tensor has no dimensions", dim);
    return false;
  }
  if (!ig_int_is(c, ig_sizes(x)[dim], IG_LT, ig_const(edge + 1))) return true;
  ig_fail_text(c, IG_RUNTIME,
               "torch.gradient expected each dimension size to be at least edge_order+1");
  return false;
}
// spacing: none, one number, or one per dimension
static void gradient(ig_ctx *c, ig_tensor *x, const ig_value *spacing, const ig_value *dim,
                     int64_t edge, ig_value *outs) {
  int dims[IG_MAX_DIM];
  int n = 0;
  if (dim->kind == IG_KIND_INT) {
    dims[n++] = ig_wrap_dim(c, ig_value_i64(c, dim), x->ndim);
  } else if (dim->kind == IG_KIND_INTS && dim->ints.n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "torch.gradient: found %zu dims, expected at most %d", dim->ints.n,
                 IG_MAX_DIM);
  } else if (dim->kind == IG_KIND_INTS) {
    for (size_t i = 0; i < dim->ints.n; i++) {
      dims[n++] = ig_wrap_dim(c, ig_int_specialize(c, dim->ints.at[i]), x->ndim);
    }
  } else {
    for (; n < x->ndim; n++) dims[n] = n;
  }
  ig_value *list = ig_scope_array(c, (size_t)n, sizeof *list);
  if (!list || c->status != IG_OK) return;
  bool many = spacing->kind == IG_KIND_LIST;
  if (many && spacing->list.n != (size_t)n) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                 "equal to the number of dimensions");
    return;
  }
  for (int i = 0; i < n && c->status == IG_OK; i++) {
    const ig_value *h = many ? &spacing->list.at[i] : spacing;
    double dx = h->kind == IG_KIND_NONE ? 1 : ig_value_f64(h);
    if (!edge_fits(c, x, dims[i], edge)) return;
    list[i] = ig_of_tensor(gradient_step(c, x, dims[i], dx, edge));
  }
  if (c->status == IG_OK) outs[0] = ig_of_list(list, (size_t)n);
}
static void gradient_spaced(ig_ctx *c, const ig_value *args, ig_value *outs) {
  gradient(c, args[0].tensor, &args[1], &args[2], ig_value_i64(c, &args[3]), outs);
}
static void gradient_array(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value none = ig_none();
  gradient(c, args[0].tensor, &none, &args[1], ig_value_i64(c, &args[2]), outs);
}

// ---- covariance ----

// self, *, correction, fweights, aweights: rows are variables.
static ig_tensor *cov_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *fw = ig_value_tensor(&args[2]);
  ig_tensor *aw = ig_value_tensor(&args[3]);
  if (x->ndim > 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "cov(): expected input to have two or fewer dimensions but got an input with %d "
                 "dimensions",
                 x->ndim);
    return NULL;
  }
  if (x->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "cov(): bool dtype is not supported for input");
    return NULL;
  }
  ig_int one = ig_const(1);
  ig_value along = ig_of_ints(&one, 1);
  if (x->ndim < 2) {
    ig_int sizes[] = {ig_const(1), ig_const(-1)};
    x = ig_view(c, x, ig_of_ints(sizes, 2));
  }
  if (!x) return NULL;
  ig_int n = ig_sizes(x)[1];
  ig_tensor *w = fw ? fw : aw;
  if (fw && aw) w = ig_mul_tensor(c, fw, aw);
  ig_value correction = args[1];
  ig_tensor *total = w ? ig_sum(c, w) : NULL;
  ig_tensor *mean = NULL;
  if (w) {
    mean = ig_sum_dim_intlist(c, ig_mul_tensor(c, x, w), along);
    mean = ig_div_tensor(c, mean, total);
  } else {
    mean = ig_sum_dim_intlist(c, x, along);
    mean = ig_div_int(c, mean, n);
  }
  x = ig_sub_tensor(c, x, ig_unsqueeze(c, mean, ig_const(1)));
  ig_tensor *weighted = w ? ig_mul_tensor(c, x, w) : x;
  ig_tensor *turned = ig_conj_of(c, ig_t(c, weighted));
  ig_tensor *prod = ig_mm(c, x, turned);
  ig_tensor *out = NULL;
  if (w) {
    ig_tensor *norm = NULL;
    if (aw && !ig_value_is(&correction, 0)) {
      ig_tensor *part = ig_sum(c, ig_mul_tensor(c, w, aw));
      part = ig_mul_value(c, ig_div_tensor(c, part, total), &correction);
      norm = ig_sub_tensor(c, total, part);
    } else {
      norm = ig_sub_value(c, total, &correction);
    }
    out = ig_div_tensor(c, prod, ig_clamp_min(c, norm, ig_of_i64(0)));
  } else {
    double norm = (double)n.value - ig_value_f64(&correction);  // concrete: as PyTorch
    out = ig_div_f64(c, prod, norm > 0 ? norm : 0);
  }
  return ig_squeeze(c, out);
}
static ig_tensor *corrcoef_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (x->ndim > 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "corrcoef(): expected input to have two or fewer dimensions but got an input with "
                 "%d dimensions",
                 x->ndim);
    return NULL;
  }
  ig_tensor *cov = ig_cov(c, x);
  if (!cov) return NULL;
  if (cov->ndim == 0) return ig_div_tensor(c, cov, cov);
  ig_tensor *d = ig_diagonal(c, cov);
  if (d && ig_dtype_is_complex(d->dtype)) d = ig_real(c, d);
  ig_tensor *dev = ig_sqrt(c, d);
  cov =
      ig_div_tensor(c, cov, ig_view(c, dev, ig_of_ints((ig_int[]){ig_const(-1), ig_const(1)}, 2)));
  cov =
      ig_div_tensor(c, cov, ig_view(c, dev, ig_of_ints((ig_int[]){ig_const(1), ig_const(-1)}, 2)));
  ig_value low = ig_of_i64(-1);
  ig_value high = ig_of_i64(1);
  if (!cov || !ig_dtype_is_complex(cov->dtype)) return ig_clip_with(c, cov, low, high);
  ig_tensor *re = ig_clip_with(c, ig_real(c, cov), low, high);
  return ig_complex(c, re, ig_clip_with(c, ig_imag(c, cov), low, high));
}

// ---- quantiles ----

enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST };
static int interpolation_of(ig_ctx *c, const char *text) {
  static const char *const names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  for (int i = 0; i < 5; i++) {
    if (strcmp(text, names[i]) == 0) return i;
  }
  ig_fail_text(
      c, IG_RUNTIME,
      "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
      "but got %s",
      text);
  return 0;
}
// Positions between the sorted elements, with NaN last.
static ig_tensor *quantile_at(ig_ctx *c, ig_tensor *sorted, ig_tensor *rank, int how) {
  ig_int last = ig_const(-1);
  if (how == LOWER) rank = ig_floor(c, rank);
  if (how == HIGHER) rank = ig_ceil(c, rank);
  if (how == NEAREST) rank = ig_round(c, rank);
  if (!rank) return NULL;
  ig_tensor *below = ig_cast(c, rank, IG_I64);
  ig_tensor *values = ig_gather(c, sorted, last, below);
  if (how != LINEAR && how != MIDPOINT) return values;
  ig_tensor *weight = how == MIDPOINT ? ig_full_like(c, rank, ig_of_f64(0.5))
                                      : ig_sub_tensor(c, rank, ig_cast(c, below, rank->dtype));
  ig_tensor *above = ig_cast(c, ig_ceil(c, rank), IG_I64);
  ig_tensor *upper = ig_gather(c, sorted, last, above);
  return ig_lerp_tensor(c, values, upper, weight);
}
typedef struct quantile_args {
  ig_tensor *x;
  ig_tensor *q;
  const ig_value *dim;
  bool keepdim;
  bool ignore_nan;
  int how;
} quantile_args;
static bool quantile_check(ig_ctx *c, const quantile_args *a) {
  const ig_tensor *x = a->x;
  const ig_tensor *q = a->q;
  if (x->dtype != IG_F32 && x->dtype != IG_F64) {
    ig_fail_text(c, IG_RUNTIME, "quantile() input tensor must be either float or double dtype");
  } else if (q->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME, "quantile() q must be a scalar or 1D tensor");
  } else if (q->dtype != x->dtype) {
    ig_fail_text(c, IG_RUNTIME, "quantile() q tensor must be same dtype as the input tensor");
  } else if (ig_int_eq_i64(c, ig_numel_of(c, x), 0)) {
    ig_fail_text(c, IG_RUNTIME, "quantile() input tensor must be non-empty");
  }
  return c->status == IG_OK;
}
static ig_tensor *ranks(ig_ctx *c, const quantile_args *a, ig_tensor *sorted, ig_int n) {
  ig_int most = ig_int_sub(c, n, ig_const(1));
  ig_int last = ig_const(-1);
  ig_tensor *nan = ig_isnan(c, sorted);
  if (a->ignore_nan) {
    ig_tensor *count = ig_logical_not(c, nan);
    count = ig_sum_dim_intlist_with(c, count, ig_of_ints(&last, 1), true, ig_none());
    ig_value one = ig_of_i64(1);
    ig_tensor *rank = ig_mul_tensor(c, a->q, ig_sub_value(c, count, &one));
    return ig_clamp_min(c, rank, ig_of_i64(0));
  }
  ig_tensor *rank = ig_mul_int(c, a->q, most);
  ig_tensor *any = ig_any_dim_with(c, nan, last, true);
  ig_value top = ig_of_int(most);
  return ig_masked_fill_scalar(c, rank, any, top);
}
static ig_tensor *quantile(ig_ctx *c, const quantile_args *a) {
  if (c->status != IG_OK || !quantile_check(c, a)) return NULL;
  ig_tensor *x = a->x;
  bool all = a->dim->kind == IG_KIND_NONE;
  int dim = all ? 0 : ig_wrap_dim(c, ig_value_i64(c, a->dim), x->ndim);
  if (c->status != IG_OK) return NULL;
  ig_value outs[IG_MAX_RETURNS];
  ig_tensor *rows =
      all ? ig_flatten_using_ints(c, x)
      : dim == x->ndim - 1 || x->ndim == 0
          ? x
          : ig_transpose_int(c, ig_unsqueeze(c, x, ig_const(-1)), ig_const(dim), ig_const(-1));
  ig_sort_with(c, rows, ig_const(-1), false, outs);
  ig_tensor *sorted = ig_value_tensor(&outs[0]);
  if (!sorted) return NULL;
  bool moved = !all && dim != x->ndim - 1 && x->ndim > 0;
  if (moved) sorted = ig_squeeze_dim(c, sorted, ig_const(dim));
  if (!sorted) return NULL;
  ig_int n = sorted->ndim ? ig_sizes(sorted)[sorted->ndim - 1] : ig_const(1);
  if (sorted->ndim == 0) sorted = ig_unsqueeze(c, sorted, ig_const(-1));
  if (!sorted) return NULL;
  ig_tensor *rank = ranks(c, a, sorted, n);
  if (!rank) return NULL;
  // One rank per quantile and row, the quantiles last.
  ig_int sizes[IG_MAX_DIM];
  int rd = sorted->ndim;
  for (int d = 0; d < rd - 1; d++) sizes[d] = ig_sizes(sorted)[d];
  sizes[rd - 1] = a->q->ndim ? ig_sizes(a->q)[0] : ig_const(1);
  rank = ig_expand(c, rank, ig_of_ints(sizes, (size_t)rd));
  ig_tensor *out = quantile_at(c, sorted, rank, a->how);
  if (a->keepdim) {
    ig_tensor *wide = out;
    if (all) {
      for (int d = 0; d < x->ndim && wide; d++) wide = ig_unsqueeze(c, wide, ig_const(0));
    } else if (x->ndim) {
      wide = ig_unsqueeze(c, wide, ig_const(dim));
    }
    out = wide;
  }
  if (a->q->ndim == 0) return ig_squeeze_dim(c, out, ig_const(-1));
  return out && out->ndim > 1 ? ig_movedim_int(c, out, ig_const(-1), ig_const(0)) : out;
}
static ig_tensor *quantile_number(ig_ctx *c, const ig_value *args, bool ignore_nan) {
  ig_tensor *x = args[0].tensor;
  double q = ig_value_f64(&args[1]);
  if (!(q >= 0 && q <= 1)) {
    ig_fail_text(c, IG_RUNTIME, "quantile() q must be in the range [0, 1] but got %g", q);
    return NULL;
  }
  ig_tensor *t = ig_scalar_tensor_with(c, args[1], ig_of_dtype(x->dtype), ig_none(),
                                       ig_of_device(x->device), ig_none());
  quantile_args a = {x, t, &args[2], args[3].b, ignore_nan, interpolation_of(c, args[4].str)};
  return t ? quantile(c, &a) : NULL;
}
static ig_tensor *quantile_default(ig_ctx *c, const ig_value *args) {
  quantile_args a = {args[0].tensor, args[1].tensor, &args[2],
                     args[3].b,      false,          interpolation_of(c, args[4].str)};
  return quantile(c, &a);
}
static ig_tensor *nanquantile_default(ig_ctx *c, const ig_value *args) {
  quantile_args a = {args[0].tensor, args[1].tensor, &args[2],
                     args[3].b,      true,           interpolation_of(c, args[4].str)};
  return quantile(c, &a);
}
static ig_tensor *quantile_scalar(ig_ctx *c, const ig_value *args) {
  return quantile_number(c, args, false);
}
static ig_tensor *nanquantile_scalar(ig_ctx *c, const ig_value *args) {
  return quantile_number(c, args, true);
}

#define QUANTILES \
  "f32[3,5]:perm, f32[2]:u, 1 | f32[6]:perm, f32[]:u | f32[3,5]:perm, f32[2]:u, 0, True"
#define QUANTILE                                                                                \
  "f32[3,5]:perm, 0.3, 1 | f32[6]:perm, 0.5, interpolation='nearest' | f32[3,5]:perm, 0.3, 0, " \
  "True, interpolation='lower'"

IG_OP(norm_scalar) = {
    .schema = "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = norm_scalar,
    .samples = "f32[3,5] | f32[3], 1",
};
IG_OP(norm_scalaropt_dim) = {
    .schema =
        "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool "
        "keepdim=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = norm_dim,
    .samples = "f32[3,5], 2, [1] | f32[3,5], 1, [0], True",
};
IG_OP(norm_scalaropt_dtype) = {
    .schema =
        "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = norm_dtype,
    .samples = "f32[3,5], 2, dtype=f64",
};
IG_OP(norm_scalaropt_dim_dtype) = {
    .schema =
        "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool "
        "keepdim, *, ScalarType dtype) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = norm_dim_dtype,
    .samples = "f32[3,5], 2, [1], False, dtype=f64",
};
IG_OP(frobenius_norm_dim) = {
    .schema =
        "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> "
        "Tensor",
    .decompose = frobenius_norm_dim,
    .samples = "f32[3,5], [1] | f32[3,5], [0,1], True",
};
IG_OP(nansum) = {
    .schema =
        "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    .decompose = nansum_decompose,
    .samples = "f32[3,5] | f32[8]:special, [0], True | i64[3]",
};
IG_OP(nanmean) = {
    .schema =
        "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    .decompose = nanmean_decompose,
    .samples = "f32[3,5] | f32[3,5], [0], True",
};
IG_OP(logsumexp) = {
    .schema = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = logsumexp_decompose,
    .samples = "f32[3,5], [1] | f32[3,5], [0,1], True",
};
IG_OP(count_nonzero) = {
    .schema = "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
    .decompose = count_nonzero,
    .samples = "i64[3,5]:<2 | f32[3,5], 1",
};
IG_OP(count_nonzero_dim_intlist) = {
    .schema = "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    .decompose = count_nonzero,
    .samples = "i64[3,5]:<2, [0] | f32[3,5], [0,1]",
};
IG_OP(std_mean) = {
    .schema = "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    .decompose_outs = std_mean_default,
    .samples = "f32[3,5] | f32[3,5], False",
    .waive = "0-d: no slope where the variance is 0",
};
IG_OP(std_mean_dim) = {
    .schema =
        "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool "
        "keepdim=False) -> (Tensor, Tensor)",
    .order = -2,
    .decompose_outs = std_mean_dim,
    .samples = "f32[3,5], [1] | f32[3,5], [0], False, True",
    .waive =
        "special: the mean of infinity is infinity, where PyTorch updates it to NaN; size 3=1: no "
        "slope where the variance is 0; 0-d: no slope where the variance is 0",
};
IG_OP(std_mean_correction) = {
    .schema =
        "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
        "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    .order = -1,
    .decompose_outs = std_mean_correction,
    .samples = "f32[3,5] | f32[3,5], [1], correction=0, keepdim=True",
    .waive = "size 5=1: no slope where the variance is 0",
};
IG_OP(renorm) = {
    .schema = "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = renorm_decompose,
    .samples = "f32[2,3], 2, 0, 1. | f32[2,3,2], 1, 1, 0.5",
};
IG_OP(diff) = {
    .schema =
        "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? "
        "append=None) -> Tensor",
    .decompose = diff_decompose,
    .samples = "f32[4] | f32[4,2], 2, 0 | f32[4], 1, -1, f32[1]",
};
IG_OP(trapezoid_dx) = {
    .schema = "aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    .decompose = trapezoid_dx,
    .samples = "f32[4] | f32[3,4], dx=2, dim=0",
    .waive = "size 4=0: nothing has no history; size 3=0: nothing has no history",
};
IG_OP(trapezoid_x) = {
    .schema = "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    .decompose = trapezoid_x,
    .samples = "f32[4], f32[4]:sort | f32[3,4], f32[4]:sort",
    .waive = "size 4=0: nothing has no history",
};
IG_OP(trapz_dx) = {
    .schema = "aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
    .decompose = trapezoid_dx,
    .samples = "f32[4] | f32[3,4], dx=2., dim=0",
    .waive = "size 4=0: nothing has no history; size 3=0: nothing has no history",
};
IG_OP(trapz_x) = {
    .schema = "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    .decompose = trapezoid_x,
    .samples = "f32[4], f32[4]:sort",
    .waive = "size 4=0: nothing has no history",
};
IG_OP(cumulative_trapezoid_dx) = {
    .schema = "aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    .decompose = cumulative_trapezoid_dx,
    .samples = "f32[4] | f32[4,2], dx=0.5, dim=0",
    .waive = "size 4=0: nothing has no history",
};
IG_OP(cumulative_trapezoid_x) = {
    .schema = "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    .decompose = cumulative_trapezoid_x,
    .samples = "f32[4], f32[4]:sort",
    .waive = "size 4=0: nothing has no history",
};
IG_OP(gradient_scalarint) = {
    .schema =
        "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, "
        "int edge_order=1) -> Tensor[]",
    .decompose_outs = gradient_spaced,
    .samples = "f32[4] | f32[3,4], spacing=2., dim=1",
};
IG_OP(gradient_array) = {
    .schema = "aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
    .decompose_outs = gradient_array,
    .samples = "f32[3,4], dim=[0] | f32[3,4], dim=[0,1], edge_order=2",
};
IG_OP(gradient_scalararray) = {
    .schema =
        "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int "
        "edge_order=1) -> Tensor[]",
    .decompose_outs = gradient_spaced,
    .samples = "f32[3,4], spacing=2., dim=[0,1]",
};
IG_OP(gradient_scalarrayint) = {
    .schema =
        "aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, "
        "int edge_order=1) -> Tensor[]",
    .decompose_outs = gradient_spaced,
    .samples = "f32[3,4], spacing=(2., 0.5)",
};
IG_OP(gradient_scalarrayarray) = {
    .schema =
        "aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, "
        "int edge_order=1) -> Tensor[]",
    .decompose_outs = gradient_spaced,
    .samples = "f32[3,4], spacing=(2., 0.5), dim=[0,1]",
};
IG_OP(cov) = {
    .schema =
        "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? "
        "aweights=None) -> Tensor",
    .decompose = cov_decompose,
    .samples = "f32[3,5] | f32[4], correction=0",
};
IG_OP(corrcoef) = {
    .schema = "aten::corrcoef(Tensor self) -> Tensor",
    .decompose = corrcoef_decompose,
    .samples = "f32[3,5] | f32[4]",
};
IG_OP(quantile) = {
    .schema =
        "aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, "
        "str interpolation=\"linear\") -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = quantile_default,
    .samples = QUANTILES,
};
IG_OP(nanquantile) = {
    .schema =
        "aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, "
        "*, str interpolation=\"linear\") -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = nanquantile_default,
    .samples = QUANTILES,
};
IG_OP(quantile_scalar) = {
    .schema =
        "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool "
        "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = quantile_scalar,
    .samples = QUANTILE,
};
IG_OP(nanquantile_scalar) = {
    .schema =
        "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool "
        "keepdim=False, *, str interpolation=\"linear\") -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = nanquantile_scalar,
    .samples = QUANTILE,
};
