// SPDX-License-Identifier: Apache-2.0
// Two passes over the elements, which are read in blocks, whatever their dtype and strides: one for
// the sums, one for the bins, whose borders the first one gives.
#include "ingot/stats.h"

#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "op/formula.h"
#include "tensor/copy.h"

enum { BLOCK = 1024 };

typedef struct reader {
  ig_ctx *c;
  ig_stats *s;
  ig_dtype dtype;
  double squares;  // sum of squared distances from the mean
  bool second;     // pass
} reader;

static int64_t finite_of(const ig_stats *s) {
  return s->count - s->nans - s->infinities;
}

// Means and squares of a block join those of the elements before it.
static void add_block(reader *r, const double *x, int64_t n) {
  ig_stats *s = r->s;
  double sum = 0;
  int64_t before = finite_of(s);
  int64_t finite = 0;
  for (int64_t i = 0; i < n; i++) {
    s->zeros += x[i] == 0;
    s->nans += isnan(x[i]) != 0;
    s->infinities += isinf(x[i]) != 0;  // its sign may be that of x
    if (!isfinite(x[i])) continue;
    if (before + finite == 0 || x[i] < s->min) s->min = x[i];
    if (before + finite == 0 || x[i] > s->max) s->max = x[i];
    sum += x[i];
    finite++;
  }
  s->count += n;
  if (finite == 0) return;
  double mean = sum / (double)finite;
  double squares = 0;
  for (int64_t i = 0; i < n; i++) squares += isfinite(x[i]) ? (x[i] - mean) * (x[i] - mean) : 0;
  double all = (double)(before + finite);
  double apart = mean - s->mean;
  r->squares += squares + apart * apart * (double)before * (double)finite / all;
  s->mean += apart * (double)finite / all;
}

static void add_bins(const reader *r, const double *x, int64_t n) {
  ig_stats *s = r->s;
  double width = s->max / IG_STATS_BINS - s->min / IG_STATS_BINS;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) continue;
    double at = width > 0 ? (x[i] - s->min) / width : 0;
    s->bins[at < IG_STATS_BINS - 1 ? (int)at : IG_STATS_BINS - 1]++;
  }
}

static void mix(ig_stats *s, uint64_t v) {
  s->hash = (s->hash ^ v) * 0x9E3779B97F4A7C15U;
  s->hash ^= s->hash >> 29;
}

static void mix_all(ig_stats *s, const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, &x[i], sizeof bits);
    mix(s, bits);
  }
}

static void read_block(reader *r, const char *at, int64_t stride, int64_t n) {
  double x[2 * BLOCK];
  int64_t one = 1;
  bool pairs = ig_dtype_is_complex(r->dtype);
  ig_strided from = {(void *)at, r->dtype, &stride};
  ig_strided to = {x, pairs ? IG_C128 : IG_F64, &one};
  ig_strided_copy(1, &n, to, from);
  if (!r->second) mix_all(r->s, x, pairs ? 2 * n : n);
  for (int64_t i = 0; pairs && i < n; i++) x[i] = hypot(x[2 * i], x[2 * i + 1]);
  if (r->second) add_bins(r, x, n);
  if (!r->second) add_block(r, x, n);
}

static void read_row(void *user, char *const *at, const int64_t *stride, int64_t n) {
  reader *r = user;
  int64_t size = (int64_t)ig_dtype_size(r->dtype);
  for (int64_t i = 0; i < n && ig_step(r->c); i += BLOCK) {
    read_block(r, at[0] + i * stride[0], stride[0] / size, n - i < BLOCK ? n - i : BLOCK);
  }
}

// The elements of an expanded tensor, each once; *times: how often they are there.
static ig_tensor *without_repetitions(ig_ctx *c, ig_tensor *t, int64_t *times) {
  for (int d = 0; t && d < t->ndim; d++) {
    int64_t size = ig_sizes(t)[d].value;
    if (size < 2 || ig_strides(t)[d].value != 0) continue;
    *times *= size;  // admitted: the number of elements of a tensor
    t = ig_narrow(c, t, ig_const(d), ig_const(0), ig_const(1));
  }
  return t;
}

static void repeat(ig_stats *s, int64_t times) {
  int64_t *counts[] = {&s->count, &s->zeros, &s->nans, &s->infinities};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *counts[i] *= times;
  for (int i = 0; i < IG_STATS_BINS; i++) s->bins[i] *= times;
}

ig_status ig_tensor_stats(ig_ctx *c, ig_tensor *t, ig_stats *out) {
  *out = (ig_stats){.hash = 0};
  if (c->status != IG_OK) return c->status;
  if (ig_is_fake(t))
    return ig_fail(c, IG_INVALID, "statistics: the tensor has no elements in memory");
  ig_scope scope = ig_scope_open(c);
  if (t->quantizer) t = ig_dequantize_self(c, t);
  reader r = {.c = c, .s = out};
  int64_t times = 1;
  if (t) {
    r.dtype = t->dtype;
    mix(out, (uint64_t)t->dtype);
    for (int d = 0; d < t->ndim; d++) mix(out, (uint64_t)ig_sizes(t)[d].value);
    t = without_repetitions(c, t, &times);
  }
  if (t) {
    ig_walk w;
    ig_tensor *operands[] = {t};
    ig_walk_make(&w, t, operands, 1);
    ig_walk_run(&w, INT64_MAX, read_row, &r);
    int64_t finite = finite_of(out);
    out->deviation = finite ? sqrt(r.squares / (double)finite) : 0;
    r.second = true;
    ig_walk_run(&w, INT64_MAX, read_row, &r);
    repeat(out, times);
  }
  ig_scope_close(c, scope);
  return c->status;
}
