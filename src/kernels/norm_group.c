// SPDX-License-Identifier: Apache-2.0
// Group normalization, forward and backward.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/norm.h"
#include "kernels/norm_param.h"

enum { LANES = 32, BLOCK = 1024, GRAIN = 8192 };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_norm_group s;
  double eps;
  const void *x;
  const void *dy;
  const void *gamma;
  const void *beta;
  void *y;
  void *mean;
  void *rstd;
  const void *saved_mean;  // of the forward pass
  const void *saved_rstd;
  void *dgamma;
  void *dbeta;
} job;

static double param(const job *j, const void *p, int64_t c, double absent) {
  return p ? ig_norm_one(j->s.param, p, c) : absent;
}

#define IG_CAT2(a, b) a##_##b
#define IG_CAT(a, b) IG_CAT2(a, b)
#define BODY "kernels/norm_group.inc"
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

// NOLINTNEXTLINE(readability-function-size): the operands of the operator, one by one
void ig_norm_group_forward(const ig_norm_group *s, const void *x, const void *gamma,
                           const void *beta, double eps, void *y, void *mean, void *rstd) {
  static kernel *const table[4] = {f32_forward, f64_forward, f16_forward, bf16_forward};
  job j = {.s = *s,
           .eps = eps,
           .x = x,
           .gamma = gamma,
           .beta = beta,
           .y = y,
           .mean = mean,
           .rstd = rstd};
  start(&j, table[s->elem], s->n * s->groups, s->c / s->groups * s->spatial);
}

void ig_norm_group_backward(const ig_norm_group *s, const void *dy, const void *x, const void *mean,
                            const void *rstd, const void *gamma, ig_norm_batch_grads g) {
  static kernel *const input[4] = {f32_grad_input, f64_grad_input, f16_grad_input, bf16_grad_input};
  static kernel *const weight[4] = {f32_grad_param, f64_grad_param, f16_grad_param,
                                    bf16_grad_param};
  job j = {.s = *s,
           .x = x,
           .dy = dy,
           .gamma = gamma,
           .y = g.dx,
           .saved_mean = mean,
           .saved_rstd = rstd,
           .dgamma = g.dgamma,
           .dbeta = g.dbeta};
  if (g.dx) start(&j, input[s->elem], s->n * s->groups, s->c / s->groups * s->spatial);
  if (g.dgamma || g.dbeta) start(&j, weight[s->elem], s->c, s->n * s->spatial);
}
