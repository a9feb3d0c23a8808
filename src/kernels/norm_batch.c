// SPDX-License-Identifier: Apache-2.0
// Batch normalization over planes or channels-last: statistics, application, gradients.
// A plane of one element is the same memory as channels-last, and runs as that.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/norm.h"
#include "kernels/norm_param.h"

enum { LANES = 32, BLOCK = 1024, COLS = 64, SLAB = 32, GRAIN = 8192 };

typedef struct job {
  void (*fn)(const struct job *j, int64_t begin, int64_t end);
  ig_norm_batch s;
  const void *x;
  const void *dy;
  const void *mean;
  const void *spread;  // variance, or rstd if `inverted`
  bool inverted;
  bool train;
  double eps;
  double momentum;
  void *y;
  void *dx;
  void *dgamma;
  void *dbeta;
  // Outputs of the statistics; any may be NULL.
  void *out_mean;
  void *out_var;
  void *out_rstd;
  void *running_mean;
  void *running_var;
} job;

typedef struct coefs {
  double scale;
  double offset;
  double slope;
} coefs;

static void put_stats(const job *j, int64_t c, double mean, double var) {
  ig_elem e = j->s.param;
  double count = (double)(j->s.n * j->s.spatial);
  ig_norm_put(e, j->out_mean, c, mean);
  ig_norm_put(e, j->out_var, c, var);
  ig_norm_put(e, j->out_rstd, c, 1.0 / sqrt(var + j->eps));
  double keep = 1.0 - j->momentum;
  if (j->running_mean) {
    double old = ig_norm_one(e, j->running_mean, c);
    ig_norm_put(e, j->running_mean, c, keep * old + j->momentum * mean);
  }
  if (j->running_var) {
    double old = ig_norm_one(e, j->running_var, c);
    ig_norm_put(e, j->running_var, c, keep * old + j->momentum * var * count / (count - 1.0));
  }
}

static double rstd_of(const job *j, int64_t c) {
  double v = ig_norm_one(j->s.param, j->spread, c);
  return j->inverted ? v : 1.0 / sqrt(v + j->eps);
}

static void affine(const job *j, int64_t c, double *scale, double *shift) {
  double g = j->s.gamma ? ig_norm_one(j->s.param, j->s.gamma, c) : 1.0;
  double b = j->s.beta ? ig_norm_one(j->s.param, j->s.beta, c) : 0.0;
  *scale = g * rstd_of(j, c);
  *shift = b - ig_norm_one(j->s.param, j->mean, c) * *scale;
}

// dx = (dy - offset - (x - mean) * slope) * scale; also writes the parameters' gradients.
static coefs put_grads(const job *j, int64_t c, double sum, double dot) {
  double rstd = rstd_of(j, c);
  double count = (double)(j->s.n * j->s.spatial);
  double g = j->s.gamma ? ig_norm_one(j->s.param, j->s.gamma, c) : 1.0;
  ig_norm_put(j->s.param, j->dgamma, c, dot * rstd);
  ig_norm_put(j->s.param, j->dbeta, c, sum);
  coefs k = {g * rstd, 0.0, 0.0};
  if (j->train) {
    k.offset = sum / count;
    k.slope = dot * rstd * rstd / count;
  }
  return k;
}

#define IG_CAT2(a, b) a##_##b
#define IG_CAT(a, b) IG_CAT2(a, b)
#define BODY "kernels/norm_batch.inc"
#include "kernels/norm_type.inc"

typedef void kernel(const job *j, int64_t begin, int64_t end);
#define ROW(name) \
  { f32_##name, f64_##name, f16_##name, bf16_##name }

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j, begin, end);
}

static void start(job *j, kernel *fn, int64_t tasks, int64_t each) {
  j->fn = fn;
  ig_parallel_for(tasks, GRAIN / (each > 0 ? each : 1) + 1, run, j);
}

static bool is_last(const ig_norm_batch *s) {
  return s->channels_last || s->spatial == 1;
}

// One task per channel, or per block of channels.
static void start_channels(job *j, kernel *const table[2][4]) {
  bool last = is_last(&j->s);
  int64_t each = j->s.n * j->s.spatial * (last ? COLS : 1);
  start(j, table[last][j->s.elem], last ? (j->s.c + COLS - 1) / COLS : j->s.c, each);
}

static void stats(job *j) {
  static kernel *const table[2][4] = {ROW(stats_planes), ROW(stats_last)};
  start_channels(j, table);
}

static void apply(job *j) {
  static kernel *const table[2][4] = {ROW(apply_planes), ROW(apply_last)};
  bool last = is_last(&j->s);
  kernel *fn = table[last][j->s.elem];
  if (last)
    start(j, fn, j->s.n * j->s.spatial, j->s.c);
  else
    start(j, fn, j->s.n * j->s.c, j->s.spatial);
}

void ig_norm_batch_stats(const ig_norm_batch *s, const void *x, void *mean, void *var) {
  job j = {.s = *s, .x = x, .out_mean = mean, .out_var = var};
  stats(&j);
}

void ig_norm_batch_infer(const ig_norm_batch *s, const void *x, const void *mean, const void *var,
                         double eps, void *y) {
  job j = {.s = *s, .x = x, .mean = mean, .spread = var, .eps = eps, .y = y};
  apply(&j);
}

// NOLINTNEXTLINE(readability-function-size): the operands of the operator, one by one
void ig_norm_batch_train(const ig_norm_batch *s, const void *x, double momentum, double eps,
                         void *running_mean, void *running_var, void *y, void *save_mean,
                         void *save_rstd) {
  job j = {.s = *s,
           .x = x,
           .momentum = momentum,
           .eps = eps,
           .y = y,
           .out_mean = save_mean,
           .out_rstd = save_rstd,
           .running_mean = running_mean,
           .running_var = running_var,
           .inverted = true,
           .mean = save_mean,
           .spread = save_rstd};
  stats(&j);
  apply(&j);
}

void ig_norm_batch_backward(const ig_norm_batch *s, bool train, const void *dy, const void *x,
                            const void *mean, const void *rstd, ig_norm_batch_grads g) {
  static kernel *const table[2][4] = {ROW(backward_planes), ROW(backward_last)};
  job j = {.s = *s,
           .train = train,
           .dy = dy,
           .x = x,
           .mean = mean,
           .spread = rstd,
           .inverted = true,
           .dx = g.dx,
           .dgamma = g.dgamma,
           .dbeta = g.dbeta};
  start_channels(&j, table);
}
