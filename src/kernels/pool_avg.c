// SPDX-License-Identifier: Apache-2.0
// Average pooling, fixed and adaptive windows, and its gradient.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/pool_window.h"

enum { RUN = 64, GRAIN = 8192 };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_pool p;
  bool adaptive;
  const void *x;
  void *y;
} job;

// Sums of integers wrap, and so does the one quotient that has no number.
static inline int64_t add_wrapped(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t divide_wrapped(int64_t a, int64_t b) {
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

#define CAT2(a, b) a##_##b
#define CAT(a, b) CAT2(a, b)
#define NAME(x) CAT(TAG, x)

#define GRAD 1
#define ADD(a, b) ((a) + (b))
#define DIVIDE(a, n) ((a) / (n))
#define SHARE(v, n) ((v) * (1 / (n)))
#define LOAD(t) (t)
#define STORE(v) (v)
#define CLONES IG_CLONES_NARROW
#define TAG f32
#define T float
#define A float
#include "kernels/pool_avg.inc"
#undef TAG
#undef T
#undef A

#define TAG f64
#define T double
#define A double
#include "kernels/pool_avg.inc"
#undef TAG
#undef T
#undef A
#undef LOAD
#undef STORE
#undef CLONES

#define CLONES
#define T uint16_t
#define A float
#define TAG f16
#define LOAD(t) ig_f16_get(t)
#define STORE(v) ig_f16_put(v)
#include "kernels/pool_avg.inc"
#undef TAG
#undef LOAD
#undef STORE

#define TAG bf16
#define LOAD(t) ig_bf16_get(t)
#define STORE(v) ig_bf16_put(v)
#include "kernels/pool_avg.inc"
#undef TAG
#undef LOAD
#undef STORE
#undef T
#undef A
#undef SHARE
#undef ADD
#undef DIVIDE

#define ADD(a, b) add_wrapped(a, b)
#define DIVIDE(a, n) divide_wrapped(a, n)
#define SHARE(v, n) divide_wrapped(v, n)
#define A int64_t
#define LOAD(t) ((int64_t)(t))
#define STORE(v) ((T)(v))
#define TAG i64
#define T int64_t
#include "kernels/pool_avg.inc"
#undef TAG
#undef T
#undef GRAD

#define GRAD 0

#define TAG u8
#define T uint8_t
#include "kernels/pool_avg.inc"
#undef TAG
#undef T

#define TAG i8
#define T int8_t
#include "kernels/pool_avg.inc"
#undef TAG
#undef T

#define TAG i16
#define T int16_t
#include "kernels/pool_avg.inc"
#undef TAG
#undef T

#define TAG i32
#define T int32_t
#include "kernels/pool_avg.inc"
#undef TAG
#undef T

typedef void kernel(const job *j, int64_t begin, int64_t end);

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

static double window_size(const ig_pool *p, bool adaptive) {
  double n = 1;
  for (int i = 0; i < 3; i++) {
    int64_t even = p->in[i] / (p->out[i] > 0 ? p->out[i] : 1) + 1;
    n *= (double)(adaptive ? even : p->kernel[i]);
  }
  return n;
}

static void average(const ig_pool *p, bool adaptive, const void *x, void *y) {
  static kernel *const table[IG_ELEM_COUNT] = {
      [IG_ELEM_F32] = f32_avg,   [IG_ELEM_F64] = f64_avg, [IG_ELEM_F16] = f16_avg,
      [IG_ELEM_BF16] = bf16_avg, [IG_ELEM_U8] = u8_avg,   [IG_ELEM_I8] = i8_avg,
      [IG_ELEM_I16] = i16_avg,   [IG_ELEM_I32] = i32_avg, [IG_ELEM_I64] = i64_avg,
  };
  job j = {.fn = table[p->elem], .p = *p, .adaptive = adaptive, .x = x, .y = y};
  if (!j.fn || p->out[2] <= 0) return;
  int64_t rows = ig_pool_rows(p, window_size(p, adaptive), GRAIN);
  ig_parallel_for(p->planes * p->out[0] * p->out[1], rows, run, &j);
}

static void average_grad(const ig_pool *p, bool adaptive, const void *dy, void *dx) {
  static kernel *const table[IG_ELEM_COUNT] = {
      [IG_ELEM_F32] = f32_avg_grad,   [IG_ELEM_F64] = f64_avg_grad, [IG_ELEM_F16] = f16_avg_grad,
      [IG_ELEM_BF16] = bf16_avg_grad, [IG_ELEM_I64] = i64_avg_grad,
  };
  job j = {.fn = table[p->elem], .p = *p, .adaptive = adaptive, .x = dy, .y = dx};
  if (!j.fn) return;
  int64_t each = p->in[0] * p->in[1] * p->in[2] * p->inner;
  ig_parallel_for(p->planes, GRAIN / (each > 0 ? each : 1) + 1, run, &j);
}

void ig_pool_avg(const ig_pool *p, const void *x, void *y) {
  average(p, false, x, y);
}
void ig_pool_avg_backward(const ig_pool *p, const void *dy, void *dx) {
  average_grad(p, false, dy, dx);
}
void ig_pool_adaptive_avg(const ig_pool *p, const void *x, void *y) {
  average(p, true, x, y);
}
void ig_pool_adaptive_avg_backward(const ig_pool *p, const void *dy, void *dx) {
  average_grad(p, true, dy, dx);
}
