// SPDX-License-Identifier: Apache-2.0
// Two tensors element by element: largest absolute and relative error and the distance in units of
// the last place, against |got - want| <= atol + rtol * |want|. NaN equals NaN.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/feed.h"

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

static double ulp(const struct precision *p, double error, double want) {
  int exponent = 0;
  (void)frexp(want, &exponent);
  exponent = want == 0 || exponent - 1 < p->least ? p->least : exponent - 1;
  return error / ldexp(1, exponent - p->fraction);
}

static void add(cli_diff *d, const struct precision *p, double got, double want, int64_t i) {
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
static void add_whole(cli_diff *d, const ig_tensor *got, const ig_tensor *want) {
  const uint64_t *a = ig_tensor_data(got);
  const uint64_t *b = ig_tensor_data(want);
  bool is_signed = ig_tensor_dtype(got) == IG_I64;
  for (int64_t i = 0; i < d->n; i++) {
    if (a[i] == b[i]) continue;
    double x = is_signed ? (double)(int64_t)a[i] : (double)a[i];
    double y = is_signed ? (double)(int64_t)b[i] : (double)b[i];
    if (x == y) x = nextafter(x, INFINITY);  // they differ beyond what a double tells
    add(d, NULL, x, y, i);
  }
}

static void add_complex(cli_diff *d, const struct precision *p, const ig_tensor *got,
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

static bool same_form(const ig_tensor *got, const ig_tensor *want, cli_diff *d) {
  char a[128];
  char b[128];
  ig_value x = ig_of_tensor((ig_tensor *)got);
  ig_value y = ig_of_tensor((ig_tensor *)want);
  bool same =
      ig_tensor_dtype(got) == ig_tensor_dtype(want) && ig_tensor_ndim(got) == ig_tensor_ndim(want);
  for (int i = 0; same && i < ig_tensor_ndim(got); i++) {
    same = ig_tensor_size(got, i).value == ig_tensor_size(want, i).value;
  }
  if (same) return true;
  (void)snprintf(d->why, sizeof d->why, "found %.70s, expected %.70s",
                 cli_describe(&x, a, sizeof a), cli_describe(&y, b, sizeof b));
  return false;
}

void cli_compare(ig_ctx *c, ig_tensor *got, ig_tensor *want, const cli_tolerance *tol,
                 cli_diff *out) {
  *out = (cli_diff){.worst = -1};
  got = cli_dense(c, got);
  want = want ? cli_dense(c, cli_as_dtype(c, want, ig_tensor_dtype(got))) : NULL;
  if (!got || !want) {
    (void)snprintf(out->why, sizeof out->why, "%.100s", ig_ctx_error(c));
    return;
  }
  ig_dtype dtype = ig_tensor_dtype(got);
  const struct precision *p = precision_of(dtype);
  out->rtol = tol->rtol >= 0 ? tol->rtol : p ? p->rtol : 0;
  out->atol = tol->atol >= 0 ? tol->atol : p ? p->atol : 0;
  if (!same_form(got, want, out)) return;
  out->n = ig_tensor_numel(got);
  if (ig_dtype_is_complex(dtype)) {
    add_complex(out, p, got, want);
  } else if (dtype == IG_I64 || dtype == IG_U64) {
    add_whole(out, got, want);
  } else {
    for (int64_t i = 0; i < out->n; i++) {
      add(out, p, ig_tensor_get(got, i), ig_tensor_get(want, i), i);
    }
  }
  out->agrees = out->bad == 0;
}

void cli_print_diff(FILE *to, const char *name, const cli_diff *d) {
  cli_stage_end();
  (void)fprintf(to, "  ");
  cli_put(to, CLI_CYAN, "%-24s", name);
  if (d->why[0]) {
    (void)fprintf(to, " %s", d->why);
  } else {
    (void)fprintf(to, " max abs %-9.3g max rel %-9.3g max ulp %-9.3g", d->max_abs, d->max_rel,
                  d->max_ulp);
  }
  cli_put(to, d->agrees ? CLI_GREEN : CLI_RED, d->agrees ? " agrees" : " differs");
  if (!d->agrees && !d->why[0]) {
    (void)fprintf(to, " (%" PRId64 " of %" PRId64 " elements, worst at %" PRId64 ")", d->bad, d->n,
                  d->worst);
  }
  (void)fputc('\n', to);
}

void cli_json_diff(const char *name, const cli_diff *d) {
  cli_json_open('{');
  cli_json_key("name");
  cli_json_str(name);
  cli_json_key("agrees");
  cli_json_bool(d->agrees);
  cli_json_key("max_abs");
  cli_json_real(d->max_abs);
  cli_json_key("max_rel");
  cli_json_real(d->max_rel);
  cli_json_key("max_ulp");
  cli_json_real(d->max_ulp);
  cli_json_key("bad");
  cli_json_int(d->bad);
  cli_json_key("elements");
  cli_json_int(d->n);
  cli_json_key("rtol");
  cli_json_real(d->rtol);
  cli_json_key("atol");
  cli_json_real(d->atol);
  cli_json_key("why");
  cli_json_str(d->why[0] ? d->why : NULL);
  cli_json_close('}');
}
