// SPDX-License-Identifier: Apache-2.0
// Windows of pooling: the input positions under one output position, and the output positions of a
// row whose k-th window element lies inside the input.
#ifndef KERNELS_POOL_WINDOW_H_
#define KERNELS_POOL_WINDOW_H_

#include "kernels/pool.h"

// Positions lo, lo + step, ... < hi, all inside the input.
typedef struct ig_pool_range {
  int64_t lo;
  int64_t hi;
  int64_t step;
} ig_pool_range;

static inline int64_t ig_pool_ceil_div(int64_t a, int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

static inline ig_pool_range ig_pool_window(const ig_pool *p, bool adaptive, int dim, int64_t o) {
  int64_t in = p->in[dim];
  if (adaptive) {
    int64_t out = p->out[dim];
    return (ig_pool_range){o * in / out, ((o + 1) * in + out - 1) / out, 1};
  }
  int64_t step = p->dilation[dim];
  int64_t start = o * p->stride[dim] - p->padding[dim];
  int64_t hi = start + (p->kernel[dim] - 1) * step + 1;
  int64_t lo = start < 0 ? start + ig_pool_ceil_div(-start, step) * step : start;
  return (ig_pool_range){lo, hi < in ? hi : in, step};
}

static inline int64_t ig_pool_range_count(ig_pool_range r) {
  return ig_pool_ceil_div(r.hi - r.lo, r.step);
}

// Outputs o in [*lo, *hi) of the last dimension whose window element kw is inside: narrows the
// range.
static inline void ig_pool_span(const ig_pool *p, int64_t kw, int64_t *lo, int64_t *hi) {
  int64_t s = p->stride[2];
  int64_t off = kw * p->dilation[2] - p->padding[2];  // position is o * s + off
  int64_t first = ig_pool_ceil_div(-off, s);
  int64_t last = ig_pool_ceil_div(p->in[2] - off, s);
  if (first > *lo) *lo = first;
  if (last < *hi) *hi = last;
}

// Elements [*from, *to) of the last dimension's windows that meet the row under some of `count`
// outputs from w0 on: a window may be far larger than the input.
static inline void ig_pool_columns(const ig_pool *p, int64_t w0, int64_t count, int64_t *from,
                                   int64_t *to) {
  int64_t step = p->dilation[2];
  *from = ig_pool_ceil_div(p->padding[2] - (w0 + count - 1) * p->stride[2], step);
  *to = ig_pool_ceil_div(p->in[2] + p->padding[2] - w0 * p->stride[2], step);
  if (*to > p->kernel[2]) *to = p->kernel[2];
}

// Rows of outputs for one task of about `grain` elements, if every output looks at `window` of
// them. The estimate is a double: a window may be far larger than what any integer product holds.
static inline int64_t ig_pool_rows(const ig_pool *p, double window, int64_t grain) {
  double each = (double)p->out[2] * (double)p->inner * window;
  return each > 1 && each < (double)grain ? (int64_t)((double)grain / each) + 1
         : each > 1                       ? 1
                                          : grain + 1;
}

// What a sum under one output is divided by, one factor per dimension.
static inline int64_t ig_pool_extent(const ig_pool *p, bool adaptive, int dim, int64_t o) {
  if (adaptive || !p->count_include_pad)
    return ig_pool_range_count(ig_pool_window(p, adaptive, dim, o));
  int64_t start = o * p->stride[dim] - p->padding[dim];
  int64_t end = start + p->kernel[dim];
  int64_t limit = p->in[dim] + p->padding[dim];
  return (end < limit ? end : limit) - start;
}

#endif
