// SPDX-License-Identifier: Apache-2.0
// Layer normalization, forward and backward, and root-mean-square normalization.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/norm.h"
#include "kernels/norm_param.h"

#define ROW_CLONES IG_CLONES  // also of half types, whose other kernels are compiled once

enum { LANES = 32, BLOCK = 1024, COLS = 64, SLAB = 32, GRAIN = 8192 };

#define V64(v) V16(v), V16(v), V16(v), V16(v)
#define V16(v) v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v
#define BRACELESS(v) V64(v), V64(v), V64(v), V64(v)
const float ig_norm_ones_f32[IG_NORM_BLOCK] = {BRACELESS(1.0f)};
const float ig_norm_zeros_f32[IG_NORM_BLOCK] = {0};
const double ig_norm_ones_f64[IG_NORM_BLOCK] = {BRACELESS(1.0)};
const double ig_norm_zeros_f64[IG_NORM_BLOCK] = {0};

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_norm_layer s;
  bool rms;
  double eps;
  const void *x;
  const void *dy;
  const void *gamma;
  const void *beta;
  void *y;  // dx for the backward
  void *mean;
  void *rstd;
  const void *saved_mean;  // of the forward pass
  const void *saved_rstd;
  void *dgamma;
  void *dbeta;
} job;

#define IG_CAT2(a, b) a##_##b
#define IG_CAT(a, b) IG_CAT2(a, b)
#define BODY "kernels/norm_layer.inc"
#include "kernels/norm_type.inc"

typedef void kernel(const job *j, int64_t begin, int64_t end);

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

static void start(job *j, kernel *fn, int64_t tasks, int64_t each) {
  j->fn = fn;
  ig_parallel_for(tasks, GRAIN / (each > 0 ? each : 1) + 1, run, j);
}

static kernel *const forward[4] = {f32_forward, f64_forward, f16_forward, bf16_forward};

// NOLINTNEXTLINE(readability-function-size): the operands of the operator, one by one
void ig_norm_layer_forward(const ig_norm_layer *s, const void *x, const void *gamma,
                           const void *beta, double eps, void *y, void *mean, void *rstd) {
  job j = {.s = *s,
           .eps = eps,
           .x = x,
           .gamma = gamma,
           .beta = beta,
           .y = y,
           .mean = mean,
           .rstd = rstd};
  start(&j, forward[s->elem], s->rows, s->n);
}

void ig_norm_rms_forward(const ig_norm_layer *s, const void *x, const void *gamma, double eps,
                         void *y, void *rstd) {
  job j = {.s = *s, .rms = true, .eps = eps, .x = x, .gamma = gamma, .y = y, .rstd = rstd};
  start(&j, forward[s->elem], s->rows, s->n);
}

void ig_norm_layer_backward(const ig_norm_layer *s, const void *dy, const void *x, const void *mean,
                            const void *rstd, const void *gamma, ig_norm_layer_grads g) {
  static kernel *const input[4] = {f32_grad_input, f64_grad_input, f16_grad_input, bf16_grad_input};
  static kernel *const param[4] = {f32_grad_param, f64_grad_param, f16_grad_param, bf16_grad_param};
  job j = {.s = *s,
           .x = x,
           .dy = dy,
           .gamma = gamma,
           .y = g.dx,
           .saved_mean = mean,
           .saved_rstd = rstd,
           .dgamma = g.dgamma,
           .dbeta = g.dbeta};
  if (g.dx) start(&j, input[s->elem], s->rows, s->n);
  if (g.dgamma || g.dbeta) start(&j, param[s->elem], (s->n + COLS - 1) / COLS, s->rows * COLS);
}
