// SPDX-License-Identifier: Apache-2.0
#include "kernels/qgemm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/qgemm_kernels.h"
#include "kernels/scratch.h"

enum {
  ROWS = IG_QGEMM_ROWS,
  COLS = IG_QGEMM_COLS,
  QUADS = 256,         // steps of k at a time, by four: a panel of weights stays in the L1 cache
  GROUP = 4,           // panels whose sums are in work together
  BLOCK_ROWS = 8 * 6,  // rows of one task
  BLOCK_BYTES = 1 << 18,
  BOUND = 32767,  // of a sum of two products in 16 bits
};

// Panels of COLS columns; a panel holds, for every four steps, COLS groups of four elements.
// Columns and steps beyond n and k are zero.
struct ig_qweight {
  int64_t n;
  int64_t k;
  int64_t quads;
  int64_t panels;
  int8_t *at;
  int32_t *sums;   // of each column, less k times its zero point
  int32_t *zero;   // of each column
  int32_t *reach;  // of each panel: the largest |w0| + |w1| of two neighbours
  bool centred;    // all zero points are 0
};

void ig_qweight_free(ig_qweight *w) {
  if (!w) return;
  free(w->at);
  free(w->sums);
  free(w->zero);
  free(w->reach);
  free(w);
}

static void pack_column(ig_qweight *q, int64_t column, const int8_t *row, int32_t zero) {
  int8_t *to = q->at + (column / COLS) * q->quads * (4 * COLS) + 4 * (column % COLS);
  int32_t *reach = &q->reach[column / COLS];
  int64_t sum = 0;
  for (int64_t p = 0; p < q->k; p++) {
    to[(p / 4) * (4 * COLS) + p % 4] = row[p];
    sum += row[p];
    int32_t pair = abs(row[p]) + (p % 2 == 0 && p + 1 < q->k ? abs(row[p + 1]) : 0);
    if (pair > *reach) *reach = pair;
  }
  q->zero[column] = zero;
  q->centred = q->centred && zero == 0;
  q->sums[column] = (int32_t)(uint32_t)(sum - q->k * zero);
}

ig_qweight *ig_qweight_create(int64_t n, int64_t k, const int8_t *w, const int32_t *zero) {
  int64_t quads = (k + 3) / 4;
  int64_t panels = (n + COLS - 1) / COLS;
  size_t bytes = ig_mem_mul(ig_mem_mul((size_t)quads, (size_t)(4 * COLS)), (size_t)panels);
  size_t columns = ig_mem_mul((size_t)panels, (size_t)COLS);
  ig_qweight *q = ig_kernel_array(1, sizeof *q);
  if (!q) return NULL;
  *q = (ig_qweight){.n = n, .k = k, .quads = quads, .panels = panels, .centred = true};
  q->at = ig_kernel_array(ig_mem_add(bytes, 1), sizeof *q->at);
  q->sums = ig_kernel_array(ig_mem_add(columns, 1), sizeof *q->sums);
  q->zero = ig_kernel_array(ig_mem_add(columns, 1), sizeof *q->zero);
  q->reach = ig_kernel_array((size_t)panels + 1, sizeof *q->reach);
  if (!q->at || !q->sums || !q->zero || !q->reach) {
    ig_qweight_free(q);
    return NULL;
  }
  memset(q->at, 0, bytes);
  memset(q->sums, 0, columns * sizeof *q->sums);
  memset(q->zero, 0, columns * sizeof *q->zero);
  memset(q->reach, 0, (size_t)panels * sizeof *q->reach);
  for (int64_t j = 0; j < n; j++) pack_column(q, j, w + j * k, zero[j]);
  return q;
}

void ig_qgemm_tile_base(int rows, int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b,
                        int32_t *sums, int64_t ld) {
  for (int r = 0; r < rows; r++) {
    uint32_t acc[COLS];
    for (int j = 0; j < COLS; j++) acc[j] = (uint32_t)sums[r * ld + j];
    for (int64_t p = 0; p < quads; p++) {
      const uint8_t *x = a + r * lda + 4 * p;
      const int8_t *four = b + p * (4 * COLS);
      for (int j = 0; j < COLS; j++) {
        const int8_t *y = four + 4 * j;
        acc[j] += (uint32_t)(x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]);
      }
    }
    for (int j = 0; j < COLS; j++) sums[r * ld + j] = (int32_t)acc[j];
  }
}

typedef struct job {
  const ig_qproduct *p;
  ig_qgemm_tile_fn *exact;
  ig_qgemm_tile_fn *bounded;  // NULL: exact is as fast
  int64_t rows;               // of a task
  int64_t panels;             // of a task
  int64_t across;             // tasks side by side
  atomic_bool failed;
} job;

static void choose_tiles(job *j) {
  j->exact = ig_qgemm_tile_base;
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2) {
    j->exact = ig_qgemm_tile_avx2;
    j->bounded = ig_qgemm_tile_bounded_avx2;
  }
  if (ig_cpu_level() >= IG_CPU_AVX512 && ig_cpu_has_dot8()) {
    j->exact = ig_qgemm_tile_vnni_avx512;
    j->bounded = NULL;
  }
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) {
    j->exact = ig_cpu_has_dot8() ? ig_qgemm_tile_neon_dot : ig_qgemm_tile_neon;
  }
#endif
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

IG_CLONES_NARROW static int32_t largest(const uint8_t *a, int64_t lda, int64_t rows, int64_t k) {
  uint8_t most = 0;
  for (int64_t r = 0; r < rows; r++) {
    const uint8_t *row = a + r * lda;
    for (int64_t i = 0; i < k; i++) most = row[i] > most ? row[i] : most;
  }
  return most;
}

IG_CLONES_NARROW static void sum_rows(const uint8_t *a, int64_t lda, int64_t rows, int64_t k,
                                      int32_t *sums) {
  for (int64_t r = 0; r < rows; r++) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < k; i++) sum += a[r * lda + i];
    sums[r] = (int32_t)sum;
  }
}

// The part of the sums that comes from zero points: (x - zero)(w - z) = x w - zero (w - z) - z x,
// summed, where a column keeps the sum of w - z.
static void begin(const job *j, int64_t rows, int64_t col, int64_t cols, const int32_t *of_rows,
                  int32_t *sums) {
  const ig_qweight *w = j->p->w;
  uint32_t zero = (uint32_t)j->p->zero;
  for (int64_t r = 0; r < rows; r++) {
    uint32_t *to = (uint32_t *)sums + r * cols;
    for (int64_t i = 0; i < cols; i++) to[i] = 0U - zero * (uint32_t)w->sums[col + i];
    for (int64_t i = 0; !w->centred && i < cols; i++) {
      to[i] -= (uint32_t)w->zero[col + i] * (uint32_t)of_rows[r];
    }
  }
}

// sums[rows][panels * COLS]
static void multiply(const job *j, int64_t rows, int64_t panel, int64_t panels, const uint8_t *a,
                     int64_t lda, int32_t most, int32_t *sums) {
  const ig_qweight *w = j->p->w;
  int64_t ld = panels * COLS;
  for (int64_t from = 0; from < w->quads; from += QUADS) {
    int64_t quads = least(QUADS, w->quads - from);
    for (int64_t q = 0; q < panels; q++) {
      const int8_t *b = w->at + ((panel + q) * w->quads + from) * (4 * COLS);
      bool bounded = j->bounded && most * w->reach[panel + q] <= BOUND;
      ig_qgemm_tile_fn *tile = bounded ? j->bounded : j->exact;
      for (int64_t r = 0; r < rows; r += ROWS) {
        tile((int)least(ROWS, rows - r), quads, a + r * lda + 4 * from, lda, b,
             sums + r * ld + q * COLS, ld);
      }
    }
  }
}

static void run_task(void *arg, int64_t task) {
  job *j = arg;
  const ig_qproduct *p = j->p;
  int64_t lda = 4 * p->w->quads;
  int64_t first = task / j->across * j->rows;
  int64_t panel = task % j->across * j->panels;
  int64_t rows = least(j->rows, p->m - first);
  int64_t last = least(panel + j->panels, p->w->panels);
  size_t elements = ig_mem_mul((size_t)j->rows, (size_t)(lda + 4));
  uint8_t *room = ig_scratch_array(IG_SCRATCH_GEMM_A, elements, sizeof *room);
  int32_t *sums = ig_scratch_array(IG_SCRATCH_GEMM_C, BLOCK_ROWS * GROUP * COLS, sizeof *sums);
  if (!room || !sums) {
    atomic_store(&j->failed, true);
    return;
  }
  const uint8_t *a = p->fill(p->user, first, rows, room, &lda);
  int32_t most = j->bounded ? largest(a, lda, rows, p->w->k) : 0;
  int32_t of_rows[BLOCK_ROWS];
  if (!p->w->centred) sum_rows(a, lda, rows, p->w->k, of_rows);
  for (; panel < last; panel += GROUP) {
    int64_t panels = least(GROUP, last - panel);
    int64_t col = panel * COLS;
    int64_t ld = panels * COLS;
    begin(j, rows, col, ld, of_rows, sums);
    multiply(j, rows, panel, panels, a, lda, most, sums);
    p->done(p->user, first, rows, col, least(ld, p->w->n - col), sums, ld);
  }
}

bool ig_qgemm(const ig_qproduct *p) {
  if (p->m <= 0 || p->w->n <= 0) return true;
  job j = {.p = p, .rows = BLOCK_ROWS, .panels = p->w->panels};
  choose_tiles(&j);
  int64_t fits = BLOCK_BYTES / (4 * p->w->quads + 1) / ROWS * ROWS;
  if (j.rows > fits) j.rows = fits < ROWS ? ROWS : fits;
  if (j.rows > p->m) j.rows = p->m;
  int64_t down = (p->m + j.rows - 1) / j.rows;
  // Few rows: columns are divided, too, which fills every row once per part.
  int64_t threads = ig_threads_get();
  double work = (double)p->m * (double)p->w->n * (double)p->w->k;
  if (down < threads && work > 1e6) {
    int64_t parts = least((threads + down - 1) / down, p->w->panels);
    j.panels = (p->w->panels + parts - 1) / parts;
  }
  j.across = (p->w->panels + j.panels - 1) / j.panels;
  int64_t tasks = down * j.across;
  if (work < 2e5) {
    for (int64_t t = 0; t < tasks; t++) run_task(&j, t);
  } else {
    ig_parallel_tasks(tasks, run_task, &j);
  }
  return !atomic_load(&j.failed);
}
