// SPDX-License-Identifier: Apache-2.0
// Blocks of DEPTH columns of the matrix, in each panels of rows (kernels/gemm_kernels.h).
#include "ops/nn/rnn_matrix.h"

#include "base/mem.h"
#include "base/threads.h"
#include "kernels/gemm_kernels.h"

enum {
  DEPTH = 512,
  ROWS = 48,        // of x in a piece of a tall product: whole tiles of all instruction sets
  PIECE = 1 << 15,  // weights of a piece of a flat one, about a microsecond
  TASK = 1 << 20,   // products that are worth waking a thread for
  WAIT = 16,        // products of a weight that only a row uses: it waits for memory
};

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Of a block of `depth` columns.
static size_t block_floats(int64_t n, int64_t depth) {
  int64_t width = ig_gemm_panels_width_f32(n);
  size_t rows = (size_t)((n + width - 1) / width * width);
  size_t floats = ig_mem_mul(rows, (size_t)depth);
  return ig_mem_add(ig_mem_add(floats, IG_GEMM_SLACK), 15) / 16 * 16;
}

size_t ig_rnn_matrix_floats(int64_t n, int64_t k) {
  size_t whole = ig_mem_mul((size_t)(k / DEPTH), block_floats(n, DEPTH));
  return k % DEPTH ? ig_mem_add(whole, block_floats(n, k % DEPTH)) : whole;
}

void ig_rnn_matrix_pack(int64_t n, int64_t k, const float *w, int64_t row_stride,
                        int64_t column_stride, float *to) {
  for (int64_t q = 0; q < k; q += DEPTH) {
    int64_t depth = least(k - q, DEPTH);
    ig_gemm_panels_pack_f32(n, depth, w + q * column_stride, column_stride, row_stride, to);
    to += block_floats(n, depth);
  }
}

typedef struct job {
  int64_t m;
  int64_t n;
  int64_t k;
  const float *x;
  const float *matrix;
  float *y;
  int64_t width;  // of a panel
  int64_t each;   // columns of y in a piece: whole panels
  bool backwards;
} job;

// Rows [i, i + m) and columns [j, j + n) of y; j begins a panel.
static void run_part(const job *p, int64_t i, int64_t m, int64_t j, int64_t n) {
  const float *block = p->matrix;
  for (int64_t q = 0; q < p->k; q += DEPTH) {
    int64_t depth = least(p->k - q, DEPTH);
    ig_gemm_panels_run_f32(m, n, depth, 1, p->x + i * p->k + q, p->k, 1, block + j * depth, depth,
                           (int)p->width, 1, p->y + i * p->n + j, p->n);
    block += block_floats(p->n, depth);
  }
}

static void run_rows(void *arg, int64_t begin, int64_t end) {
  const job *p = arg;
  int64_t i = begin * ROWS;
  run_part(p, i, least(end * ROWS, p->m) - i, 0, p->n);
}

static void run_columns(void *arg, int64_t begin, int64_t end) {
  const job *p = arg;
  for (int64_t t = begin; t < end; t++) {
    int64_t j = (p->backwards ? begin + end - 1 - t : t) * p->each;
    run_part(p, 0, p->m, j, least(p->n - j, p->each));
  }
}

void ig_rnn_matrix_add(int64_t m, int64_t n, int64_t k, const float *x, const float *matrix,
                       bool backwards, float *y) {
  job p = {.m = m, .n = n, .k = k, .x = x, .matrix = matrix, .backwards = backwards};
  p.y = y;
  p.width = ig_gemm_panels_width_f32(n);
  if (m >= 2 * ROWS) {
    double each = (double)ROWS * (double)n * (double)k;
    ig_parallel_for((m + ROWS - 1) / ROWS, (int64_t)(TASK / each) + 1, run_rows, &p);
    return;
  }
  int64_t panels = PIECE / (p.width * k);
  p.each = (panels > 1 ? panels : 1) * p.width;
  double each = (double)p.each * (double)k * (double)(m + WAIT);
  ig_parallel_for((n + p.each - 1) / p.each, (int64_t)(TASK / each) + 1, run_columns, &p);
}
