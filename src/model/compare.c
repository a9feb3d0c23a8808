// SPDX-License-Identifier: Apache-2.0
// Two tensors element by element: largest absolute and relative error and the distance in units of
// the last place, against |got - want| <= atol + rtol * |want|. NaN equals NaN.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/trace.h"
#include "tensor/copy.h"

// Precision by dtype: bits of the fraction, smallest normal exponent, tolerances.
static const struct precision {
  ig_dtype dtype;
  int fraction;
  int least;
  double rtol;
  double atol;
} precisions[] = {
    {IG_F64, 52, -1022, 1e-7, 1e-7},   {IG_F32, 23, -126, 1e-5, 1e-5},
    {IG_F16, 10, -14, 1e-3, 1e-5},     {IG_BF16, 7, -126, 1.6e-2, 1e-5},
    {IG_C64, 23, -126, 1e-5, 1e-5},    {IG_C128, 52, -1022, 1e-7, 1e-7},
    {IG_F8E4M3FN, 3, -6, 0.125, 1e-3}, {IG_F8E5M2, 2, -14, 0.25, 1e-3},
};

static const struct precision *precision_of(ig_dtype dtype) {
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
    if (precisions[i].dtype == dtype) return &precisions[i];
  }
  return NULL;
}

ig_tolerance ig_tolerance_of(ig_dtype dtype) {
  const struct precision *p = precision_of(dtype);
  return p ? (ig_tolerance){p->rtol, p->atol} : (ig_tolerance){0, 0};
}

static double ulp(const struct precision *p, double error, double want) {
  int exponent = 0;
  (void)frexp(want, &exponent);
  exponent = want == 0 || exponent - 1 < p->least ? p->least : exponent - 1;
  return error / ldexp(1, exponent - p->fraction);
}

static void add(ig_tensor_diff *d, const struct precision *p, double got, double want, int64_t i) {
  if (got == want || (isnan(got) && isnan(want))) return;
  double error = fabs(got - want);
  if (!(error < INFINITY)) error = INFINITY;  // NaN against a number, infinities of two signs
  double rel = want == 0 ? INFINITY : error / fabs(want);
  if (isnan(rel)) rel = INFINITY;
  bool ok = error < INFINITY && error <= d->atol + d->rtol * fabs(want);
  d->bad += !ok;
  if (error > d->max_abs) d->max_abs = error;
  if (error > d->max_rel * fabs(want) && want != 0) d->max_rel = rel;
  double steps = p ? ulp(p, error, want) : 0;
  if (steps > d->max_ulp) {
    d->max_ulp = steps;
    d->worst = i;
  }
  if (!p) d->worst = i;
}

// 64-bit integers do not fit a double.
static void add_whole(ig_tensor_diff *d, const ig_tensor *got, const ig_tensor *want) {
  const uint64_t *a = ig_tensor_data(got);
  const uint64_t *b = ig_tensor_data(want);
  bool is_signed = ig_tensor_dtype(got) == IG_I64;
  for (int64_t i = 0; i < d->n; i++) {
    if (a[i] == b[i]) continue;
    double x = is_signed ? (double)(int64_t)a[i] : (double)a[i];
    double y = is_signed ? (double)(int64_t)b[i] : (double)b[i];
    if (x == y) x = nextafter(x, INFINITY);  // the difference is below the precision of a double
    add(d, NULL, x, y, i);
  }
}

static void add_complex(ig_tensor_diff *d, const struct precision *p, const ig_tensor *got,
                        const ig_tensor *want) {
  bool wide = ig_tensor_dtype(got) == IG_C128;
  const float *fa = ig_tensor_data(got);
  const float *fb = ig_tensor_data(want);
  const double *da = ig_tensor_data(got);
  const double *db = ig_tensor_data(want);
  for (int64_t i = 0; i < 2 * d->n; i++) {
    add(d, p, wide ? da[i] : (double)fa[i], wide ? db[i] : (double)fb[i], i / 2);
  }
}

// "float32[3, 4]"
static const char *describe(const ig_tensor *t, char *text, size_t cap) {
  size_t n = (size_t)snprintf(text, cap, "%s[", ig_dtype_text(t->dtype));
  for (int d = 0; d < t->ndim && n < cap; d++) {
    const char *comma = d ? ", " : "";
    n += (size_t)snprintf(text + n, cap - n, "%s%" PRId64, comma, ig_tensor_size(t, d).value);
  }
  if (n < cap) (void)snprintf(text + n, cap - n, "]");
  return text;
}

static bool same_form(const ig_tensor *got, const ig_tensor *want, ig_tensor_diff *d) {
  char a[128];
  char b[128];
  bool same =
      ig_tensor_dtype(got) == ig_tensor_dtype(want) && ig_tensor_ndim(got) == ig_tensor_ndim(want);
  for (int i = 0; same && i < ig_tensor_ndim(got); i++) {
    same = ig_tensor_size(got, i).value == ig_tensor_size(want, i).value;
  }
  if (same) return true;
  (void)snprintf(d->why, sizeof d->why, "found %.70s, expected %.70s", describe(got, a, sizeof a),
                 describe(want, b, sizeof b));
  return false;
}

// Row-major memory; NULL after an error.
static ig_tensor *dense(ig_ctx *c, ig_tensor *t) {
  if (!t || ig_tensor_is_fake(t)) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_INVALID, "the tensor has no data");
    return NULL;
  }
  if (ig_tensor_is_dense(t)) return t;
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_tensor_size(t, d).value;
  ig_tensor *copy = ig_tensor_empty(c, t->dtype, sizes, t->ndim);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

static void compare(ig_tensor_diff *d, const struct precision *p, const ig_tensor *got,
                    const ig_tensor *want) {
  ig_dtype dtype = got->dtype;
  if (memcmp(ig_tensor_data(got), ig_tensor_data(want), (size_t)d->n * ig_dtype_size(dtype)) == 0) {
    return;
  }
  if (ig_dtype_is_complex(dtype)) {
    add_complex(d, p, got, want);
  } else if (dtype == IG_I64 || dtype == IG_U64) {
    add_whole(d, got, want);
  } else {
    for (int64_t i = 0; i < d->n; i++) add(d, p, ig_tensor_get(got, i), ig_tensor_get(want, i), i);
  }
}

// Floating point of two dtypes: the coarser one is converted to the finer one.
static void bring_together(ig_ctx *c, ig_tensor **got, ig_tensor **want) {
  if ((*got)->dtype == (*want)->dtype) return;
  if (!ig_dtype_is_float((*got)->dtype) || !ig_dtype_is_float((*want)->dtype)) return;
  bool first = ig_dtype_size((*got)->dtype) < ig_dtype_size((*want)->dtype);
  ig_tensor **from = first ? got : want;
  const ig_tensor *like = first ? *want : *got;
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < (*from)->ndim; d++) sizes[d] = ig_tensor_size(*from, d).value;
  ig_tensor *to = ig_tensor_empty(c, like->dtype, sizes, (*from)->ndim);
  if (to && ig_tensor_numel(to)) ig_tensor_copy(to, *from);
  *from = to;
}

// flat: only the number of elements must agree, and floating point may have two dtypes.
static void compare_as(ig_ctx *c, ig_tensor *got, ig_tensor *want, const ig_tolerance *tolerance,
                       bool flat, ig_tensor_diff *out) {
  *out = (ig_tensor_diff){.worst = -1};
  ig_scope scope = ig_scope_open(c);
  got = dense(c, got);
  want = dense(c, want);
  if (got && want && flat) bring_together(c, &got, &want);
  if (!got || !want) {
    (void)snprintf(out->why, sizeof out->why, "%.100s", ig_ctx_error(c));
    ig_scope_close(c, scope);
    return;
  }
  const struct precision *p = precision_of(got->dtype);
  out->rtol = tolerance->rtol >= 0 ? tolerance->rtol : p ? p->rtol : 0;
  out->atol = tolerance->atol >= 0 ? tolerance->atol : p ? p->atol : 0;
  bool alike = flat && got->dtype == want->dtype && ig_tensor_numel(got) == ig_tensor_numel(want);
  if (alike || same_form(got, want, out)) {
    out->n = ig_tensor_numel(got);
    if (out->n) compare(out, p, got, want);
    out->agrees = out->bad == 0;
  }
  ig_scope_close(c, scope);
}

void ig_tensor_compare_flat(ig_ctx *c, ig_tensor *got, ig_tensor *want,
                            const ig_tolerance *tolerance, ig_tensor_diff *out) {
  compare_as(c, got, want, tolerance, true, out);
}

void ig_tensor_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want, const ig_tolerance *tolerance,
                       ig_tensor_diff *out) {
  compare_as(c, got, want, tolerance, false, out);
}

// ---- histogram

static int ulp_bin(double steps) {
  if (steps == 0) return 0;
  if (!(steps < INFINITY)) return IG_ULP_BINS - 1;
  int bin = 1;
  while (bin < IG_ULP_BINS - 2 && steps > ldexp(1, bin - 1)) bin++;
  return bin;
}

void ig_tensor_ulps(ig_ctx *c, ig_tensor *got, ig_tensor *want, int64_t bins[IG_ULP_BINS]) {
  for (int i = 0; i < IG_ULP_BINS; i++) bins[i] = 0;
  ig_scope scope = ig_scope_open(c);
  ig_tensor_diff form;
  got = dense(c, got);
  want = dense(c, want);
  const struct precision *p = got ? precision_of(got->dtype) : NULL;
  bool alike = got && want && p && !ig_dtype_is_complex(got->dtype) && same_form(got, want, &form);
  for (int64_t i = 0; alike && i < ig_tensor_numel(got); i++) {
    double x = ig_tensor_get(got, i);
    double y = ig_tensor_get(want, i);
    bool equal = x == y || (isnan(x) && isnan(y));
    bins[ulp_bin(equal ? 0 : ulp(p, fabs(x - y), y))]++;
  }
  ig_scope_close(c, scope);
}
