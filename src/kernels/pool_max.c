// SPDX-License-Identifier: Apache-2.0
// Max pooling with indices, fixed and adaptive windows, and its gradient.
#include <math.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/pool_window.h"

enum { RUN = 64, GRAIN = 8192 };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_pool p;
  bool adaptive;
  const void *x;
  const int64_t *from;  // gradient: where maxima were
  void *y;
  int64_t *index;
} job;

#define CAT2(a, b) a##_##b
#define CAT(a, b) CAT2(a, b)
#define NAME(x) CAT(TAG, x)

#define FLOATS 1
#define IS_NAN(v) ((v) != (v))
#define LOAD(t) (t)
#define STORE(v) (v)
#define CLONES IG_CLONES_NARROW
#define TAG f32
#define T float
#define A float
#define LEAST (-INFINITY)
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef A
#undef LEAST

#define TAG f64
#define T double
#define A double
#define LEAST (-(double)INFINITY)
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef A
#undef LEAST
#undef LOAD
#undef STORE
#undef CLONES

#define CLONES
#define T uint16_t
#define A float
#define LEAST (-INFINITY)
#define TAG f16
#define LOAD(t) ig_f16_get(t)
#define STORE(v) ig_f16_put(v)
#include "kernels/pool_max.inc"
#undef TAG
#undef LOAD
#undef STORE

#define TAG bf16
#define LOAD(t) ig_bf16_get(t)
#define STORE(v) ig_bf16_put(v)
#include "kernels/pool_max.inc"
#undef TAG
#undef LOAD
#undef STORE
#undef T
#undef A
#undef LEAST
#undef FLOATS
#undef IS_NAN

#define FLOATS 0
#define IS_NAN(v) 0
#define LOAD(t) (t)
#define STORE(v) (v)
#define A T
#define TAG u8
#define T uint8_t
#define LEAST 0
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef LEAST

#define TAG i8
#define T int8_t
#define LEAST INT8_MIN
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef LEAST

#define TAG i16
#define T int16_t
#define LEAST INT16_MIN
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef LEAST

#define TAG i32
#define T int32_t
#define LEAST INT32_MIN
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef LEAST

#define TAG i64
#define T int64_t
#define LEAST INT64_MIN
#include "kernels/pool_max.inc"
#undef TAG
#undef T
#undef LEAST

typedef void kernel(const job *j, int64_t begin, int64_t end);

ig_pool ig_pool_make(ig_elem e, int64_t planes, int64_t inner) {
  ig_pool p = {.elem = e, .planes = planes, .inner = inner, .count_include_pad = true};
  for (int i = 0; i < 3; i++) {
    p.in[i] = p.out[i] = p.kernel[i] = p.stride[i] = p.dilation[i] = 1;
  }
  return p;
}

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

// Unsigned integers beyond 8 bits have no kernel: PyTorch does not support them.
// NOLINTNEXTLINE(readability-non-const-parameter): written through the job
static void max_pool(const ig_pool *p, bool adaptive, const void *x, void *y, int64_t *index) {
  static kernel *const table[IG_ELEM_COUNT] = {
      [IG_ELEM_F32] = f32_max,   [IG_ELEM_F64] = f64_max, [IG_ELEM_F16] = f16_max,
      [IG_ELEM_BF16] = bf16_max, [IG_ELEM_U8] = u8_max,   [IG_ELEM_I8] = i8_max,
      [IG_ELEM_I16] = i16_max,   [IG_ELEM_I32] = i32_max, [IG_ELEM_I64] = i64_max,
      [IG_ELEM_BOOL] = u8_max,
  };
  job j = {.fn = table[p->elem], .p = *p, .adaptive = adaptive, .x = x, .y = y, .index = index};
  if (!j.fn || p->out[2] <= 0) return;
  double window = (double)p->kernel[0] * (double)p->kernel[1] * (double)p->kernel[2];
  ig_parallel_for(p->planes * p->out[0] * p->out[1], ig_pool_rows(p, window, GRAIN), run, &j);
}

void ig_pool_max(const ig_pool *p, const void *x, void *y, int64_t *index) {
  max_pool(p, false, x, y, index);
}
void ig_pool_adaptive_max(const ig_pool *p, const void *x, void *y, int64_t *index) {
  max_pool(p, true, x, y, index);
}

void ig_pool_max_backward(const ig_pool *p, const void *dy, const int64_t *index, void *dx) {
  static kernel *const table[IG_ELEM_COUNT] = {
      [IG_ELEM_F32] = f32_max_grad,
      [IG_ELEM_F64] = f64_max_grad,
      [IG_ELEM_F16] = f16_max_grad,
      [IG_ELEM_BF16] = bf16_max_grad,
  };
  job j = {.fn = table[p->elem], .p = *p, .x = dy, .from = index, .y = dx};
  if (!j.fn) return;
  int64_t each = p->in[0] * p->in[1] * p->in[2] * p->inner;
  ig_parallel_for(p->planes, GRAIN / (each > 0 ? each : 1) + 1, run, &j);
}
