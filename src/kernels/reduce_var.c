// SPDX-License-Identifier: Apache-2.0
// Mean and variance over one dimension.
#include <stddef.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/reduce.h"

enum { LANES = 32, BLOCK = 1024, WIDTH = 128, SLAB = 32, GRAIN = 16384 };

#define TAG f32
#define CLONES IG_CLONES
#define T float
#define A float
#define LOAD(t) (t)
#define STORE(v) (v)
#include "kernels/reduce_var.inc"

#define TAG f64
#define CLONES IG_CLONES
#define T double
#define A double
#define LOAD(t) (t)
#define STORE(v) (v)
#include "kernels/reduce_var.inc"

#define TAG f16
#define CLONES
#define T uint16_t
#define A float
#define LOAD(t) ig_f16_get(t)
#define STORE(v) ig_f16_put(v)
#include "kernels/reduce_var.inc"

#define TAG bf16
#define CLONES
#define T uint16_t
#define A float
#define LOAD(t) ig_bf16_get(t)
#define STORE(v) ig_bf16_put(v)
#include "kernels/reduce_var.inc"

typedef void var_fn(const void *x, ig_axis a, double correction, void *mean, void *var,
                    int64_t begin, int64_t end);

typedef struct job {
  var_fn *fn;
  const void *x;
  ig_axis a;
  double correction;
  void *mean;
  void *var;
} job;

static void run(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->fn(j->x, j->a, j->correction, j->mean, j->var, begin, end);
}

void ig_reduce_var(ig_elem e, const void *x, void *mean, void *var, double correction, ig_axis a) {
  static var_fn *const table[4][2] = {
      [IG_ELEM_F32] = {f32_var_rows, f32_var_cols},
      [IG_ELEM_F64] = {f64_var_rows, f64_var_cols},
      [IG_ELEM_F16] = {f16_var_rows, f16_var_cols},
      [IG_ELEM_BF16] = {bf16_var_rows, bf16_var_cols},
  };
  if (a.outer <= 0 || a.inner <= 0) return;
  job j = {table[e][a.inner > 1], x, a, correction, mean, var};
  int64_t n = a.n > 0 ? a.n : 1;
  if (a.inner == 1)
    ig_parallel_for(a.outer, GRAIN / n + 1, run, &j);
  else
    ig_parallel_for(a.outer * ((a.inner + WIDTH - 1) / WIDTH), GRAIN / (n * WIDTH) + 1, run, &j);
}
