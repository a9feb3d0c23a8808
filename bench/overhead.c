// SPDX-License-Identifier: Apache-2.0
// What one call costs from C: a 4-element add, eager and with a tape entry, best of many runs.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "ingot/aten.h"

enum { CALLS = 20000, ROUNDS = 30 };

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Nanoseconds of one call, its scope included.
static double best_add(ig_ctx *c, ig_tensor *x) {
  double best = 1e18;
  for (int round = 0; round < ROUNDS; round++) {
    double start = now();
    for (int i = 0; i < CALLS; i++) {
      ig_scope s = ig_scope_open(c);
      (void)ig_add_tensor(c, x, x);
      ig_scope_close(c, s);
    }
    double each = (now() - start) / CALLS;
    if (each < best) best = each;
  }
  return best;
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  float data[4] = {1, 2, 3, 4};
  int64_t size = 4;
  ig_foreign memory = {data, sizeof data, NULL, NULL, NULL};
  ig_tensor *x = ig_tensor_wrap(c, IG_F32, &size, 1, &memory);
  printf("add, 4 elements, from C: %.0f ns\n", best_add(c, x));
  ig_tensor_set_requires_grad(c, x, true);
  printf("add, 4 elements, from C, with a tape entry: %.0f ns\n", best_add(c, x));
  bool ok = ig_ctx_status(c) == IG_OK;
  if (!ok) printf("%s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
