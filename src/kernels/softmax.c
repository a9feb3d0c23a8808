// SPDX-License-Identifier: Apache-2.0
// Softmax family: one template per float type, divided into rows or column blocks for the pool.
// Half types are converted a few slices at a time, computed in float and rounded once.
#include "kernels/softmax.h"

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/scratch.h"
#include "kernels/vmath.h"

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
#define A float
#define EXP ig_exp_neg_f32
#define LOG ig_log_f32
#include "kernels/softmax_rows.inc"

#define TAG f64
#define A double
#define EXP ig_exp_f64
#define LOG ig_log_f64
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

// ---- half types ----

typedef struct halves {
  ig_elem e;
  job j;          // the float kernel's, over half types
  int64_t group;  // outer slices at a time
  bool sums;      // one result per column: logsumexp
} halves;

static float half_at(const halves *h, const void *p, int64_t i) {
  uint16_t bits = ((const uint16_t *)p)[i];
  return h->e == IG_ELEM_F16 ? ig_f16_get(bits) : ig_bf16_get(bits);
}
static void put_half(const halves *h, int64_t i, float v) {
  ((uint16_t *)h->j.y)[i] = h->e == IG_ELEM_F16 ? ig_f16_put(v) : ig_bf16_put(v);
}

// One column without memory for buffers.
static void plain_column(const halves *h, int64_t t) {
  const job *j = &h->j;
  const int64_t step = j->a.inner;
  const int64_t begin = t / step * j->a.n * step + t % step;
  const int64_t end = begin + j->a.n * step;
  const bool logs = j->mode == LOGS;
  float s = 0;
  float m = -INFINITY;
  if (j->dy) {
    for (int64_t i = begin; i < end; i += step)
      s += half_at(h, j->dy, i) * (logs ? 1 : half_at(h, j->x, i));
    for (int64_t i = begin; i < end; i += step) {
      float y = half_at(h, j->x, i);
      float d = half_at(h, j->dy, i);
      put_half(h, i, logs ? d - expf(y) * s : y * (d - s));
    }
    return;
  }
  for (int64_t i = begin; i < end; i += step) {
    float v = half_at(h, j->x, i);
    m = v > m || v != v ? v : m;
  }
  if (h->sums && isinf(m)) {
    put_half(h, t, m);
    return;
  }
  if (j->mode == SAFE && m == -INFINITY) m = 0;
  for (int64_t i = begin; i < end; i += step) s += expf(half_at(h, j->x, i) - m);
  float scale = j->mode == SAFE && s == 0 ? 0 : 1 / s;
  if (h->sums) put_half(h, t, m + logf(s));
  for (int64_t i = begin; i < end && !h->sums; i += step) {
    float v = half_at(h, j->x, i) - m;
    put_half(h, i, logs ? v - logf(s) : expf(v) * scale);
  }
}

static int64_t tasks_of(const halves *h, int64_t outer) {
  int64_t inner = h->j.a.inner;
  if (h->sums) return outer * inner;
  return inner > 1 ? outer * ((inner + WIDTH - 1) / WIDTH) : outer;
}

// Elements of one of three buffers.
static int64_t room_of(ig_axis a, int64_t group) {
  const int64_t slice = a.n * a.inner;
  return group * (slice > a.inner ? slice : a.inner);
}

static void run_halves(void *arg, int64_t begin, int64_t end) {
  const halves *h = arg;
  const int64_t slice = h->j.a.n * h->j.a.inner;
  const int64_t result = h->sums ? h->j.a.inner : slice;
  const int64_t room = room_of(h->j.a, h->group);
  float *x = ig_scratch_array(IG_SCRATCH_SOFTMAX, ig_mem_mul((size_t)room, 3), sizeof *x);
  for (int64_t g = begin; g < end; g++) {
    int64_t first = g * h->group;
    int64_t count = h->j.a.outer - first < h->group ? h->j.a.outer - first : h->group;
    if (!x) {
      int64_t last = (first + count) * h->j.a.inner;
      for (int64_t t = first * h->j.a.inner; t < last; t++) plain_column(h, t);
      continue;
    }
    job j = h->j;
    float *y = x + room;
    float *dy = y + room;
    ig_elem_widen(h->e, (const uint16_t *)h->j.x + first * slice, x, count * slice);
    if (j.dy) ig_elem_widen(h->e, (const uint16_t *)h->j.dy + first * slice, dy, count * slice);
    j.x = x, j.y = y, j.dy = dy;
    j.fn(&j, 0, tasks_of(h, count));
    ig_elem_narrow(h->e, y, (uint16_t *)h->j.y + first * result, count * result);
  }
}

static int64_t group_of(ig_axis a) {
  enum { BUFFER = 4096 };  // elements, where slices are smaller
  int64_t slice = a.n * a.inner;
  return slice < BUFFER ? BUFFER / (slice + 1) + 1 : 1;
}

void ig_softmax_need(ig_elem e, ig_axis a, ig_need *need) {
  if (!ig_elem_is_half(e) || a.outer <= 0 || a.inner <= 0) return;
  size_t room = (size_t)room_of(a, group_of(a));
  ig_need_each(need, IG_SCRATCH_SOFTMAX, ig_mem_mul(ig_mem_mul(room, 3), sizeof(float)));
}

static void launch_halves(ig_elem e, const job *j, bool sums) {
  int64_t slice = j->a.n * j->a.inner;
  halves h = {.e = e, .j = *j, .sums = sums, .group = group_of(j->a)};
  if (j->a.outer <= 0 || j->a.inner <= 0) return;
  int64_t groups = (j->a.outer + h.group - 1) / h.group;
  ig_parallel_for(groups, GRAIN / (h.group * slice + 1) + 1, run_halves, &h);
}

// ---- entry points ----

static void launch(ig_elem e, job *j, kernel *const table[2][2]) {
  bool cols = j->a.inner > 1;
  j->fn = table[e == IG_ELEM_F64][cols];
  if (ig_elem_is_half(e))
    launch_halves(e, j, false);
  else if (cols)
    start(j, j->a.outer * ((j->a.inner + WIDTH - 1) / WIDTH), j->a.n * WIDTH);
  else
    start(j, j->a.outer, j->a.n);
}

static void forward(ig_elem e, int mode, const void *x, void *y, ig_axis a) {
  static kernel *const table[2][2] = {{f32_forward_rows, f32_forward_cols},
                                      {f64_forward_rows, f64_forward_cols}};
  job j = {.x = x, .y = y, .a = a, .mode = mode};
  launch(e, &j, table);
}

static void backward(ig_elem e, int mode, const void *dy, const void *y, void *dx, ig_axis a) {
  static kernel *const table[2][2] = {{f32_backward_rows, f32_backward_cols},
                                      {f64_backward_rows, f64_backward_cols}};
  job j = {.x = y, .dy = dy, .y = dx, .a = a, .mode = mode};
  launch(e, &j, table);
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
  job j = {.fn = e == IG_ELEM_F64 ? f64_logsumexp : f32_logsumexp, .x = x, .y = y, .a = a};
  if (ig_elem_is_half(e))
    launch_halves(e, &j, true);
  else
    start(&j, a.outer * a.inner, a.n);
}
