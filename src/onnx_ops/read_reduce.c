// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and similar, norms along an axis.
#include <string.h>

#include "onnx_read/reader.h"

typedef struct axes {
  ig_int at[IG_MAX_DIM];
  int64_t plain[IG_MAX_DIM];
  size_t n;
  bool keep;
  bool nothing;  // no axes given and none meant: the input itself
} axes;

// Axes: an attribute first, an input since 13 (sum) or 18 (the others).
static bool take_axes(ig_rd *r, const ig_tensor *t, int since, axes *a) {
  size_t n = 0;
  const int64_t *given = NULL;
  if (r->version < since) {
    given = ig_rd_attr_ints(r, "axes", &n);
  } else if (ig_rd_has(r, 1)) {
    given = ig_rd_consts(r, 1, &n);
  }
  *a = (axes){.keep = ig_rd_attr_int(r, "keepdims", 1)};
  bool in[IG_MAX_DIM] = {false};
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) in[ig_rd_axis(r, given[i], t->ndim)] = true;
  if (n == 0) {
    a->nothing = r->version >= since && ig_rd_attr_int(r, "noop_with_empty_axes", 0);
    for (int d = 0; d < t->ndim && !a->nothing; d++) in[d] = true;
  }
  for (int d = 0; d < t->ndim; d++) {
    if (!in[d]) continue;
    a->plain[a->n] = d;
    a->at[a->n++] = ig_const(d);
  }
  return ig_rd_ok(r);
}

typedef ig_tensor *reduce_fn(ig_rd *r, ig_tensor *t, const axes *a);

static ig_value dims(const axes *a) {
  return ig_of_ints(a->at, a->n);
}

static bool is_wide(ig_dtype d) {
  return d == IG_U16 || d == IG_U32 || d == IG_U64;
}

static reduce_fn fn_max;
static reduce_fn fn_min;

// prepare: applied to elements first, even if nothing is reduced.
static void reduce(ig_rd *r, int since, reduce_fn *prepare, reduce_fn *fn, reduce_fn *finish) {
  ig_tensor *t = ig_rd_in(r, 0);
  axes a;
  if (!t || !take_axes(r, t, since, &a)) return;
  ig_dtype d = t->dtype;
  bool order = fn == fn_max || fn == fn_min;
  if (is_wide(d)) t = order ? ig_rd_ordered(r, t) : ig_cast(r->c, t, IG_I64);
  if (prepare) t = prepare(r, t, &a);
  // A number has no dimensions to reduce, but its reduction exists.
  if (!a.nothing && a.n && t) t = fn(r, t, &a);
  if (finish) t = finish(r, t, &a);
  if (order) t = ig_rd_unordered(r, t, d);
  ig_rd_out_like(r, 0, ig_cast(r->c, t, d), 0);
}

static ig_tensor *fn_sum(ig_rd *r, ig_tensor *t, const axes *a) {
  return ig_sum_dim_intlist_with(r->c, t, dims(a), a->keep, ig_of_dtype(t->dtype));
}
static ig_tensor *fn_mean(ig_rd *r, ig_tensor *t, const axes *a) {
  if (ig_dtype_is_float(t->dtype)) return ig_mean_dim_with(r->c, t, dims(a), a->keep, ig_none());
  ig_tensor *m = ig_mean_dim_with(r->c, t, dims(a), a->keep, ig_of_dtype(IG_F64));
  return ig_cast(r->c, m, t->dtype);
}
static bool is_empty(ig_rd *r, const ig_tensor *t, const axes *a) {
  for (size_t i = 0; i < a->n; i++) {
    if (ig_int_eq_i64(r->c, ig_sizes(t)[a->plain[i]], 0)) return true;
  }
  return false;
}

// The extreme of nothing: the other end of the type's range.
static ig_tensor *extreme_of_nothing(ig_rd *r, const ig_tensor *t, const axes *a, bool max) {
  static const struct {
    ig_dtype dtype;
    double low;
    double high;
  } ranges[] = {{IG_BOOL, 0, 1},
                {IG_U8, 0, 255},
                {IG_I8, -128, 127},
                {IG_I16, -32768, 32767},
                {IG_I32, -2147483648.0, 2147483647.0},
                {IG_I64, -9223372036854775808.0, 9223372036854774784.0}};
  double v = max ? -1.0 / 0.0 : 1.0 / 0.0;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (ranges[i].dtype == t->dtype) v = max ? ranges[i].low : ranges[i].high;
  }
  ig_int sizes[IG_MAX_DIM];
  size_t n = 0;
  for (int d = 0; d < t->ndim; d++) {
    bool gone = false;
    for (size_t i = 0; i < a->n; i++) gone |= a->plain[i] == d;
    if (!gone || a->keep) sizes[n++] = gone ? ig_const(1) : ig_sizes(t)[d];
  }
  return ig_rd_full(r, sizes, n, v, t->dtype);
}

static ig_tensor *extreme(ig_rd *r, ig_tensor *t, const axes *a, bool max) {
  if (is_empty(r, t, a)) return extreme_of_nothing(r, t, a, max);
  return max ? ig_amax_with(r->c, t, dims(a), a->keep) : ig_amin_with(r->c, t, dims(a), a->keep);
}
static ig_tensor *fn_max(ig_rd *r, ig_tensor *t, const axes *a) {
  return extreme(r, t, a, true);
}
static ig_tensor *fn_min(ig_rd *r, ig_tensor *t, const axes *a) {
  return extreme(r, t, a, false);
}
static ig_tensor *fn_prod(ig_rd *r, ig_tensor *t, const axes *a) {
  for (size_t i = a->n; i-- > 0 && t;) {
    t = ig_prod_dim_int_with(r->c, t, a->at[i], a->keep, ig_of_dtype(t->dtype));
  }
  return t;
}
static ig_tensor *fn_logsumexp(ig_rd *r, ig_tensor *t, const axes *a) {
  return ig_logsumexp_with(r->c, t, dims(a), a->keep);
}
static ig_tensor *do_abs(ig_rd *r, ig_tensor *t, const axes *a) {
  (void)a;
  return t ? ig_abs(r->c, t) : NULL;
}
static ig_tensor *do_square(ig_rd *r, ig_tensor *t, const axes *a) {
  (void)a;
  return t ? ig_mul_tensor(r->c, t, t) : NULL;
}
static ig_tensor *do_sqrt(ig_rd *r, ig_tensor *t, const axes *a) {
  (void)a;
  return t ? ig_sqrt(r->c, t) : NULL;
}
static ig_tensor *do_log(ig_rd *r, ig_tensor *t, const axes *a) {
  (void)a;
  return t ? ig_log(r->c, t) : NULL;
}

static void read_reduce_sum(ig_rd *r) {
  reduce(r, 13, NULL, fn_sum, NULL);
}
static void read_reduce_mean(ig_rd *r) {
  reduce(r, 18, NULL, fn_mean, NULL);
}
static void read_reduce_max(ig_rd *r) {
  reduce(r, 18, NULL, fn_max, NULL);
}
static void read_reduce_min(ig_rd *r) {
  reduce(r, 18, NULL, fn_min, NULL);
}
static void read_reduce_prod(ig_rd *r) {
  reduce(r, 18, NULL, fn_prod, NULL);
}
static void read_reduce_l1(ig_rd *r) {
  reduce(r, 18, do_abs, fn_sum, NULL);
}
static void read_reduce_l2(ig_rd *r) {
  reduce(r, 18, do_square, fn_sum, do_sqrt);
}
static void read_reduce_sum_square(ig_rd *r) {
  reduce(r, 18, do_square, fn_sum, NULL);
}
static void read_reduce_log_sum(ig_rd *r) {
  reduce(r, 18, NULL, fn_sum, do_log);
}
static void read_reduce_log_sum_exp(ig_rd *r) {
  reduce(r, 18, NULL, fn_logsumexp, NULL);
}

// ---- along one axis

typedef ig_tensor *axis_fn(ig_rd *r, ig_tensor *t, int axis);

// Before opset 13 the operator worked on a matrix: dimensions from `axis` on as
// one.
static void along(ig_rd *r, axis_fn *fn) {
  ig_tensor *t = ig_rd_in(r, 0);
  bool flat = r->version < 13;
  if (!t) return;
  if (t->ndim == 0) {
    ig_tensor *one = fn(r, ig_rd_unsqueeze(r, t, 0), 0);
    ig_rd_out(r, 0, ig_rd_squeeze(r, one, 0));
    return;
  }
  int64_t given = ig_rd_attr_int(r, "axis", flat ? 1 : -1);
  int axis = flat && given == t->ndim ? t->ndim : ig_rd_axis(r, given, t->ndim);
  if (!ig_rd_ok(r)) return;
  if (!flat || axis == t->ndim - 1) {
    ig_rd_out(r, 0, fn(r, t, axis));
    return;
  }
  ig_int sizes[2] = {ig_product(r->c, ig_sizes(t), (size_t)axis),
                     ig_product(r->c, ig_sizes(t) + axis, (size_t)(t->ndim - axis))};
  ig_tensor *matrix = fn(r, ig_rd_reshape(r, t, sizes, 2), 1);
  ig_rd_out(r, 0, ig_rd_reshape(r, matrix, ig_sizes(t), (size_t)t->ndim));
}

static ig_tensor *fn_softmax(ig_rd *r, ig_tensor *t, int axis) {
  return t ? ig_softmax_int(r->c, t, ig_const(axis)) : NULL;
}
static ig_tensor *fn_log_softmax(ig_rd *r, ig_tensor *t, int axis) {
  return t ? ig_log_softmax_int(r->c, t, ig_const(axis)) : NULL;
}
static ig_tensor *fn_hardmax(ig_rd *r, ig_tensor *t, int axis) {
  if (!t || (!ig_sizes(t)[axis].expr && ig_sizes(t)[axis].value == 0)) return t;  // concrete: 0
  ig_tensor *best = ig_argmax_with(r->c, t, ig_of_i64(axis), true);
  ig_tensor *at = ig_arange_with(r->c, ig_of_int(ig_sizes(t)[axis]), ig_of_dtype(IG_I64), ig_none(),
                                 ig_none(), ig_none());
  at = ig_rd_along(r, at, axis, t->ndim);
  ig_tensor *on = best && at ? ig_eq_tensor(r->c, best, at) : NULL;
  return ig_cast(r->c, on, t->dtype);
}
static void read_softmax(ig_rd *r) {
  along(r, fn_softmax);
}
static void read_log_softmax(ig_rd *r) {
  along(r, fn_log_softmax);
}
static void read_hardmax(ig_rd *r) {
  along(r, fn_hardmax);
}

// A norm of 0 leaves zeros.
static void read_lp_normalization(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  int64_t axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -1), t->ndim);
  int64_t p = ig_rd_attr_int(r, "p", 2);
  ig_tensor *x = p == 1 ? ig_abs(r->c, t) : ig_mul_tensor(r->c, t, t);
  ig_tensor *norm = ig_rd_sum(r, x, &axis, 1, true);
  if (p != 1 && norm) norm = ig_sqrt(r->c, norm);
  if (!norm) return;
  ig_tensor *zero = ig_eq_scalar(r->c, norm, ig_of_i64(0));
  norm = zero ? ig_masked_fill_scalar(r->c, norm, zero, ig_of_i64(1)) : NULL;
  ig_rd_out(r, 0, ig_rd_div(r, t, norm));
}

const ig_rd_row ig_rd_rows_reduce[] = {
    {"ReduceSum", 1, read_reduce_sum},
    {"ReduceMean", 1, read_reduce_mean},
    {"ReduceMax", 1, read_reduce_max},
    {"ReduceMin", 1, read_reduce_min},
    {"ReduceProd", 1, read_reduce_prod},
    {"ReduceL1", 1, read_reduce_l1},
    {"ReduceL2", 1, read_reduce_l2},
    {"ReduceSumSquare", 1, read_reduce_sum_square},
    {"ReduceLogSum", 1, read_reduce_log_sum},
    {"ReduceLogSumExp", 1, read_reduce_log_sum_exp},
    {"Softmax", 1, read_softmax},
    {"LogSoftmax", 1, read_log_softmax},
    {"Hardmax", 1, read_hardmax},
    {"LpNormalization", 1, read_lp_normalization},
    {NULL, 0, NULL},
};
