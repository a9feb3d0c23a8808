// SPDX-License-Identifier: Apache-2.0
// Softmax family: one template per float type, cut into rows or column blocks for the pool.
#include "kernels/softmax.h"

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/vmath.h"

#define ROW_CLONES IG_CLONES  // also of half types, whose columns are compiled once

enum { LANES = 32, WIDTH = 32, GRAIN = 8192 };
enum { PLAIN, SAFE, LOGS };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  const void *x;  // input of the forward, result for the backward
  const void *dy;
  void *y;
  ig_axis a;
  int mode;
} job;

#define TAG f32
#define CLONES IG_CLONES
#define T float
#define A float
#define LOAD(t) (t)
#define STORE(v) (v)
#define EXP ig_exp_neg_f32
#define LOG ig_log_f32
#define KEEP true
#include "kernels/softmax_rows.inc"

#define TAG f64
#define CLONES IG_CLONES
#define T double
#define A double
#define LOAD(t) (t)
#define STORE(v) (v)
#define EXP ig_exp_f64
#define LOG ig_log_f64
#define KEEP true
#include "kernels/softmax_rows.inc"

#define TAG f16
#define CLONES
#define T uint16_t
#define A float
#define LOAD(t) ig_f16_get(t)
#define STORE(v) ig_f16_put(v)
#define EXP ig_exp_neg_f32
#define LOG ig_log_f32
#define KEEP false
#include "kernels/softmax_rows.inc"

#define TAG bf16
#define CLONES
#define T uint16_t
#define A float
#define LOAD(t) ig_bf16_get(t)
#define STORE(v) ig_bf16_put(v)
#define EXP ig_exp_neg_f32
#define LOG ig_log_f32
#define KEEP false
#include "kernels/softmax_rows.inc"

typedef void kernel(const job *j, int64_t begin, int64_t end);

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

static void start(job *j, int64_t tasks, int64_t each) {
  if (j->a.outer <= 0 || j->a.inner <= 0) return;
  ig_parallel_for(tasks, GRAIN / (each > 0 ? each : 1) + 1, run, j);
}

static void launch(job *j, kernel *const table[2]) {
  bool cols = j->a.inner > 1;
  j->fn = table[cols];
  if (cols)
    start(j, j->a.outer * ((j->a.inner + WIDTH - 1) / WIDTH), j->a.n * WIDTH);
  else
    start(j, j->a.outer, j->a.n);
}

static void forward(ig_elem e, int mode, const void *x, void *y, ig_axis a) {
  static kernel *const table[4][2] = {
      [IG_ELEM_F32] = {f32_forward_rows, f32_forward_cols},
      [IG_ELEM_F64] = {f64_forward_rows, f64_forward_cols},
      [IG_ELEM_F16] = {f16_forward_rows, f16_forward_cols},
      [IG_ELEM_BF16] = {bf16_forward_rows, bf16_forward_cols},
  };
  job j = {.x = x, .y = y, .a = a, .mode = mode};
  launch(&j, table[e]);
}

static void backward(ig_elem e, int mode, const void *dy, const void *y, void *dx, ig_axis a) {
  static kernel *const table[4][2] = {
      [IG_ELEM_F32] = {f32_backward_rows, f32_backward_cols},
      [IG_ELEM_F64] = {f64_backward_rows, f64_backward_cols},
      [IG_ELEM_F16] = {f16_backward_rows, f16_backward_cols},
      [IG_ELEM_BF16] = {bf16_backward_rows, bf16_backward_cols},
  };
  job j = {.x = y, .dy = dy, .y = dx, .a = a, .mode = mode};
  launch(&j, table[e]);
}

void ig_softmax(ig_elem e, const void *x, void *y, ig_axis a) {
  forward(e, PLAIN, x, y, a);
}
void ig_softmax_safe(ig_elem e, const void *x, void *y, ig_axis a) {
  forward(e, SAFE, x, y, a);
}
void ig_softmax_log(ig_elem e, const void *x, void *y, ig_axis a) {
  forward(e, LOGS, x, y, a);
}

void ig_softmax_backward(ig_elem e, const void *dy, const void *y, void *dx, ig_axis a) {
  backward(e, PLAIN, dy, y, dx, a);
}
void ig_softmax_log_backward(ig_elem e, const void *dy, const void *y, void *dx, ig_axis a) {
  backward(e, LOGS, dy, y, dx, a);
}

void ig_softmax_logsumexp(ig_elem e, const void *x, void *y, ig_axis a) {
  static kernel *const table[4] = {
      [IG_ELEM_F32] = f32_logsumexp,
      [IG_ELEM_F64] = f64_logsumexp,
      [IG_ELEM_F16] = f16_logsumexp,
      [IG_ELEM_BF16] = bf16_logsumexp,
  };
  job j = {.fn = table[e], .x = x, .y = y, .a = a};
  start(&j, a.outer * a.inner, a.n);
}
