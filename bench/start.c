// SPDX-License-Identifier: Apache-2.0
// Prints what the start of a model costs, in milliseconds of wall-clock and of processor time since
// the process began: opening, the first run, a later run. Inputs are zeros.
//
//     bench_start FILE [THREADS]
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingot/ingot.h"
#include "ingot/threads.h"

enum { SKIPPED = 77 };  // `meson benchmark` gives no file

static double ms(clockid_t clock) {
  struct timespec t;
  (void)clock_gettime(clock, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double wall;
static double cpu;

static void lap(const char *what) {
  double w = ms(CLOCK_MONOTONIC);
  double p = ms(CLOCK_PROCESS_CPUTIME_ID);
  printf("%-12s wall %8.2f  cpu %8.2f  cpu in all %8.2f\n", what, w - wall, p - cpu, p);
  wall = w;
  cpu = p;
}

static int fail(const ig_ctx *c) {
  (void)fprintf(stderr, "%s\n", ig_ctx_error(c));
  return 1;
}

static bool bind(ig_ctx *c, const ig_model *m, ig_session *s) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(m, &ports);
  for (size_t i = 0; i < n; i++) {
    int64_t sizes[IG_MAX_DIM];
    if (ports[i]->kind != IG_KIND_TENSOR) continue;
    if (ig_model_input_sizes(c, m, i, NULL, 0, sizes) != IG_OK) return false;
    ig_tensor *t = ig_tensor_empty(c, ports[i]->dtype, sizes, ports[i]->ndim);
    if (!t) return false;
    memset(ig_tensor_data(t), 0, (size_t)ig_tensor_numel(t) * ig_dtype_size(ports[i]->dtype));
    if (ig_session_set(s, ports[i]->name, t) != IG_OK) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  ig_ctx *c = NULL;
  ig_model *m = NULL;
  ig_session *s = NULL;
  if (argc < 2) return SKIPPED;
  wall = ms(CLOCK_MONOTONIC);
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  ig_threads_set(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1);
  lap("process");
  if (ig_model_open(c, argv[1], NULL, &m) != IG_OK) return fail(c);
  lap("open");
  if (ig_session_create(c, m, &s) != IG_OK || !bind(c, m, s)) return fail(c);
  if (ig_session_run(s) != IG_OK) return fail(c);
  lap("first run");
  for (int i = 0; i < 3; i++) {
    if (ig_session_run(s) != IG_OK) return fail(c);
    lap("later run");
  }
  ig_session_free(s);
  ig_model_free(m);
  ig_ctx_free(c);
  return 0;
}
