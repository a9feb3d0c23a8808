// SPDX-License-Identifier: Apache-2.0
// Picks the reduction kernel and cuts the work for the thread pool. A long reduction with few
// results goes in two stages through partial results; the cut depends on the sizes alone, so that
// results do not depend on the number of threads.
#include "kernels/reduce.h"

#include <math.h>

#include "base/threads.h"
#include "kernels/reduce_kernel.h"
#include "kernels/scratch.h"

enum {
  GRAIN = 32768,                // elements per task
  PARTS = 64,                   // partial results of a two-stage reduction, which is for
  WIDE = 16 * IG_REDUCE_WIDTH,  // at most so many columns,
  LEAST = 4 * PARTS,            // so many rows
  LARGE = 4 * GRAIN,            // and so many elements or more
};

typedef struct job {
  const ig_reduce_kernel *k;
  const char *x;
  char *y;
  ig_axis a;
  double p;
} job;

static void run_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->k->rows(j->x, j->y, j->a.n, begin, end, j->p);
}
static void run_cols(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->k->cols(j->x, j->y, j->a, begin, end, j->p);
}

static void run(const ig_reduce_kernel *k, const void *x, void *y, ig_axis a, double p) {
  job j = {k, x, y, a, p};
  int64_t n = a.n > 0 ? a.n : 1;
  if (a.inner == 1) {
    ig_parallel_for(a.outer, GRAIN / n + 1, run_rows, &j);
  } else {
    int64_t blocks = (a.inner + IG_REDUCE_WIDTH - 1) / IG_REDUCE_WIDTH;
    ig_parallel_for(a.outer * blocks, GRAIN / (n * IG_REDUCE_WIDTH) + 1, run_cols, &j);
  }
}

static const ig_reduce_kernel *find(ig_elem e, ig_reduce_kind k) {
  return e <= IG_ELEM_BF16 ? ig_reduce_float_kernel(e, k) : ig_reduce_int_kernel(e, k);
}

static size_t out_size(ig_elem e, ig_reduce_kind k) {
  if (k == IG_KERNEL_ANY || k == IG_KERNEL_ALL) return 1;
  bool wide = (k == IG_KERNEL_SUM || k == IG_KERNEL_PROD) && e > IG_ELEM_BF16;
  return wide ? 8 : ig_elem_size(e);
}

// Partial results are kept in the result's type, so half types stay in one stage.
static bool two_stages(ig_elem e, ig_reduce_kind k, const void *x, void *y, ig_axis a, double p) {
  if (ig_elem_is_half(e) || k > IG_KERNEL_ALL) return false;
  if (a.outer != 1 || a.inner > WIDE || a.n < LEAST) return false;
  if (a.n * a.inner < LARGE) return false;
  size_t size = out_size(e, k);
  char *parts = ig_scratch_get(IG_SCRATCH_NORM, (size_t)(PARTS + 1) * (size_t)a.inner * size);
  if (!parts) return false;
  int64_t each = a.n / PARTS;
  int64_t rest = a.n - each * PARTS;
  run(find(e, k), x, parts, (ig_axis){PARTS, each, a.inner}, 1.0);
  const char *tail = (const char *)x + (size_t)(each * PARTS * a.inner) * ig_elem_size(e);
  run(find(e, k), tail, parts + (size_t)PARTS * (size_t)a.inner * size, (ig_axis){1, rest, a.inner},
      1.0);
  ig_elem wide = size == ig_elem_size(e) ? e : size == 8 ? IG_ELEM_I64 : IG_ELEM_BOOL;
  run(find(wide, k), parts, y, (ig_axis){1, PARTS + (rest > 0), a.inner}, p);
  return true;
}

static void reduce(ig_elem e, ig_reduce_kind k, const void *x, void *y, ig_axis a, double p) {
  if (a.outer <= 0 || a.inner <= 0) return;
  if (!two_stages(e, k, x, y, a, p)) run(find(e, k), x, y, a, p);
}

bool ig_reduce(ig_reduce_op op, ig_elem e, const void *x, ig_elem out, void *y, ig_axis a) {
  static const ig_reduce_kind kinds[] = {
      [IG_REDUCE_SUM] = IG_KERNEL_SUM,  [IG_REDUCE_PROD] = IG_KERNEL_PROD,
      [IG_REDUCE_MAX] = IG_KERNEL_MAX,  [IG_REDUCE_MIN] = IG_KERNEL_MIN,
      [IG_REDUCE_ANY] = IG_KERNEL_ANY,  [IG_REDUCE_ALL] = IG_KERNEL_ALL,
      [IG_REDUCE_MEAN] = IG_KERNEL_SUM,
  };
  bool floats = e <= IG_ELEM_BF16;
  ig_elem want = e;
  if (op == IG_REDUCE_ANY || op == IG_REDUCE_ALL) want = IG_ELEM_BOOL;
  if (!floats && (op == IG_REDUCE_SUM || op == IG_REDUCE_PROD)) want = IG_ELEM_I64;
  if (out != want || (op == IG_REDUCE_MEAN && !floats)) return false;
  reduce(e, kinds[op], x, y, a, op == IG_REDUCE_MEAN ? (double)a.n : 1.0);
  return true;
}

void ig_reduce_norm(ig_elem e, const void *x, void *y, double p, ig_axis a) {
  ig_reduce_kind k = IG_KERNEL_NORMP;
  if (p == 0.0) k = IG_KERNEL_NORM0;
  if (p == 1.0) k = IG_KERNEL_NORM1;
  if (p == 2.0) k = IG_KERNEL_NORM2;
  if (p == (double)INFINITY) k = IG_KERNEL_MAXABS;
  if (p == -(double)INFINITY) k = IG_KERNEL_MINABS;
  reduce(e, k, x, y, a, p);
}
