// SPDX-License-Identifier: Apache-2.0
// Selects the reduction kernel and divides the work for the thread pool. A long reduction with few
// results is done in two stages through partial results; the division depends only on the sizes, so
// that results do not depend on the number of threads.
#include "kernels/reduce.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/reduce_kernel.h"
#include "kernels/scratch.h"

enum {
  GRAIN = 32768,                // elements per task
  PARTS = 64,                   // partial results of a two-stage reduction, which is for
  WIDE = 16 * IG_REDUCE_WIDTH,  // at most so many columns,
  LEAST = 4 * PARTS,            // so many rows
  LARGE = 4 * GRAIN,            // and so many elements or more
  CHUNK = 4096,                 // elements of a half type that are converted at once
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

typedef void task_fn(void *arg, int64_t begin, int64_t end);

// Divides rows, or blocks of columns, into tasks.
static void share(ig_axis a, task_fn *rows, task_fn *cols, void *arg) {
  int64_t n = a.n > 0 ? a.n : 1;
  if (a.inner == 1) {
    ig_parallel_for(a.outer, GRAIN / n + 1, rows, arg);
  } else {
    int64_t blocks = (a.inner + IG_REDUCE_WIDTH - 1) / IG_REDUCE_WIDTH;
    ig_parallel_for(a.outer * blocks, GRAIN / (n * IG_REDUCE_WIDTH) + 1, cols, arg);
  }
}

static const ig_reduce_kernel *find(ig_elem e, ig_reduce_kind k) {
  return e <= IG_ELEM_F64 ? ig_reduce_float_kernel(e, k) : ig_reduce_int_kernel(e, k);
}

static size_t out_size(ig_elem e, ig_reduce_kind k) {
  if (k == IG_KERNEL_ANY || k == IG_KERNEL_ALL) return 1;
  bool wide = (k == IG_KERNEL_SUM || k == IG_KERNEL_PROD) && e > IG_ELEM_BF16;
  return wide ? 8 : ig_elem_size(e);
}

// The kernel that combines results of kind k over elements e; each is `size` bytes.
static const ig_reduce_kernel *joiner(ig_elem e, ig_reduce_kind k, size_t size) {
  if (k == IG_KERNEL_NORM0 || k == IG_KERNEL_NORM1) k = IG_KERNEL_SUM;
  return find(size == ig_elem_size(e) ? e : size == 8 ? IG_ELEM_I64 : IG_ELEM_BOOL, k);
}

// Half types are converted in chunks that stay in the L1 cache.
typedef struct half_job {
  ig_elem e;
  const ig_reduce_kernel *first;  // of f32
  const ig_reduce_kernel *join;   // of its results
  size_t size;                    // of one of them
  const uint16_t *x;
  char *y;
  bool narrow;  // or results stay f32
  ig_axis a;
  double p;
  double part;  // p of results that are to be combined
} half_job;

static void half_store(const half_job *j, const void *from, int64_t at, int64_t n) {
  if (j->narrow && j->size == sizeof(float))
    ig_elem_narrow(j->e, from, j->y + at * 2, n);
  else
    memcpy(j->y + (size_t)at * j->size, from, (size_t)n * j->size);
}

// w <= IG_REDUCE_WIDTH columns from x on; results at the start of `parts`, which holds CHUNK.
static void half_columns(const half_job *j, const uint16_t *x, int64_t w, float *parts) {
  float wide[CHUNK];
  int64_t step = CHUNK / w;  // rows converted at once, and rows of `parts`
  int64_t held = 0;
  for (int64_t i = 0; i < j->a.n; i += step) {
    int64_t rows = j->a.n - i < step ? j->a.n - i : step;
    if (w == j->a.inner) {
      ig_elem_widen(j->e, x + i * w, wide, rows * w);
    } else {
      for (int64_t r = 0; r < rows; r++)
        ig_elem_widen(j->e, x + (i + r) * j->a.inner, wide + r * w, w);
    }
    if (held == step) {
      j->join->cols(parts, parts, (ig_axis){1, held, w}, 0, 1, j->part);
      held = 1;
    }
    char *to = (char *)parts + (size_t)(held++ * w) * j->size;
    j->first->cols(wide, to, (ig_axis){1, rows, w}, 0, 1, j->part);
  }
  j->join->cols(parts, parts, (ig_axis){1, held, w}, 0, 1, j->p);
}

static void half_cols(void *arg, int64_t begin, int64_t end) {
  const half_job *j = arg;
  float parts[CHUNK];
  int64_t blocks = (j->a.inner + IG_REDUCE_WIDTH - 1) / IG_REDUCE_WIDTH;
  for (int64_t t = begin; t < end; t++) {
    int64_t at = t % blocks * IG_REDUCE_WIDTH;
    int64_t w = j->a.inner - at < IG_REDUCE_WIDTH ? j->a.inner - at : IG_REDUCE_WIDTH;
    int64_t outer = t / blocks;
    half_columns(j, j->x + outer * j->a.n * j->a.inner + at, w, parts);
    half_store(j, parts, outer * j->a.inner + at, w);
  }
}

static void half_row(const half_job *j, const uint16_t *x, float *parts) {
  float wide[CHUNK];
  int64_t held = 0;
  for (int64_t i = 0; i < j->a.n; i += CHUNK) {
    int64_t n = j->a.n - i < CHUNK ? j->a.n - i : CHUNK;
    ig_elem_widen(j->e, x + i, wide, n);
    if (held == CHUNK) {
      j->join->rows(parts, parts, held, 0, 1, j->part);
      held = 1;
    }
    j->first->rows(wide, (char *)parts + (size_t)held++ * j->size, n, 0, 1, j->part);
  }
  j->join->rows(parts, parts, held, 0, 1, j->p);
}

static void half_rows(void *arg, int64_t begin, int64_t end) {
  const half_job *j = arg;
  float wide[CHUNK];
  int64_t n = j->a.n;
  int64_t step = n > 0 && n <= CHUNK ? CHUNK / n : 1;
  for (int64_t r = begin; r < end; r += step) {
    int64_t rows = end - r < step ? end - r : step;
    float results[CHUNK];
    if (n > CHUNK) {
      half_row(j, j->x + r * n, results);
    } else {
      ig_elem_widen(j->e, j->x + r * n, wide, rows * n);
      j->first->rows(wide, results, n, 0, rows, j->p);
    }
    half_store(j, results, r, rows);
  }
}

static void run(ig_elem e, ig_reduce_kind k, const void *x, ig_elem out, void *y, ig_axis a,
                double p) {
  if (ig_elem_is_half(e)) {
    size_t size = out_size(IG_ELEM_F32, k);
    half_job j = {
        e, find(IG_ELEM_F32, k),          joiner(IG_ELEM_F32, k, size), size, x, y, out == e, a,
        p, k == IG_KERNEL_NORMP ? p : 1.0};
    share(a, half_rows, half_cols, &j);
  } else {
    job j = {find(e, k), x, y, a, p};
    share(a, run_rows, run_cols, &j);
  }
}

static bool has_two_stages(ig_axis a) {
  return a.outer == 1 && a.inner <= WIDE && a.n >= LEAST && a.n * a.inner >= LARGE;
}

void ig_reduce_need(ig_elem e, ig_axis a, ig_need *need) {
  if (!has_two_stages(a) || e == IG_ELEM_COUNT) return;
  size_t line = ig_mem_mul((size_t)a.inner, sizeof(int64_t));  // the largest of results
  ig_need_caller(need, IG_SCRATCH_NORM, ig_mem_mul(PARTS + 2, line));
}

// Partial results of half types stay f32.
static bool two_stages(ig_elem e, ig_reduce_kind k, const void *x, void *y, ig_axis a, double p) {
  if (!has_two_stages(a)) return false;
  ig_elem wide = ig_elem_is_half(e) ? IG_ELEM_F32 : e;
  size_t size = out_size(wide, k);
  size_t line = (size_t)a.inner * size;
  char *parts = ig_scratch_array(IG_SCRATCH_NORM, PARTS + 2, line);
  if (!parts) return false;
  int64_t each = a.n / PARTS;
  int64_t rest = a.n - each * PARTS;
  double part = k == IG_KERNEL_NORMP ? p : 1.0;
  run(e, k, x, wide, parts, (ig_axis){PARTS, each, a.inner}, part);
  const char *tail = (const char *)x + (size_t)(each * PARTS * a.inner) * ig_elem_size(e);
  run(e, k, tail, wide, parts + PARTS * line, (ig_axis){1, rest, a.inner}, part);
  bool narrow = wide != e && size == sizeof(float);
  char *to = narrow ? parts + (PARTS + 1) * line : y;
  job j = {joiner(wide, k, size), parts, to, {1, PARTS + (rest > 0), a.inner}, p};
  share(j.a, run_rows, run_cols, &j);
  if (narrow) ig_elem_narrow(e, (const float *)(const void *)to, y, a.inner);
  return true;
}

static void reduce(ig_elem e, ig_reduce_kind k, const void *x, void *y, ig_axis a, double p) {
  if (a.outer <= 0 || a.inner <= 0) return;
  if (!two_stages(e, k, x, y, a, p)) run(e, k, x, e, y, a, p);
}

bool ig_reduce_has(ig_reduce_op op, ig_elem e, ig_elem out) {
  bool floats = e <= IG_ELEM_BF16;
  ig_elem want = e;
  if (op == IG_REDUCE_ANY || op == IG_REDUCE_ALL) want = IG_ELEM_BOOL;
  if (!floats && (op == IG_REDUCE_SUM || op == IG_REDUCE_PROD)) want = IG_ELEM_I64;
  return out == want && (op != IG_REDUCE_MEAN || floats);
}

bool ig_reduce(ig_reduce_op op, ig_elem e, const void *x, ig_elem out, void *y, ig_axis a) {
  static const ig_reduce_kind kinds[] = {
      [IG_REDUCE_SUM] = IG_KERNEL_SUM,  [IG_REDUCE_PROD] = IG_KERNEL_PROD,
      [IG_REDUCE_MAX] = IG_KERNEL_MAX,  [IG_REDUCE_MIN] = IG_KERNEL_MIN,
      [IG_REDUCE_ANY] = IG_KERNEL_ANY,  [IG_REDUCE_ALL] = IG_KERNEL_ALL,
      [IG_REDUCE_MEAN] = IG_KERNEL_SUM,
  };
  if (!ig_reduce_has(op, e, out)) return false;
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
  reduce(e, k, x, y, a, k == IG_KERNEL_NORMP ? p : 1.0);
}
