// SPDX-License-Identifier: Apache-2.0
// Overhead of a call from C: nanoseconds of ig_add_tensor on 4 elements, plain, with a tape entry,
// and recorded; processor time, best of many rounds. JSON lines with --json.
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ingot/aten.h"
#include "ingot/graph.h"

enum { CALLS = 20000, ROUNDS = 30 };

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_calls(ig_ctx *c, ig_tensor *x) {
  double best = 1e30;
  for (int r = 0; r < ROUNDS; r++) {
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

static double time_records(ig_ctx *c) {
  double best = 1e30;
  const ig_int sizes[] = {ig_const(4)};
  for (int r = 0; r < ROUNDS; r++) {
    ig_graph *g = NULL;
    if (ig_capture_begin(c) != IG_OK) return 0;
    ig_tensor *x = ig_capture_input(c, "x", IG_F32, sizes, 1);
    double start = now();
    for (int i = 0; i < CALLS / 10; i++) x = ig_add_tensor(c, x, x);
    double each = (now() - start) / (CALLS / 10);
    ig_value out = ig_of_tensor(x);
    if (ig_capture_end(c, &out, 1, &g) != IG_OK) return 0;
    ig_graph_free(g);
    if (each < best) best = each;
  }
  return best;
}

int main(int argc, char **argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  const char *line = json ? "{\"name\": \"%s\", \"ns\": %.1f}\n" : "%-28s %8.1f ns\n";
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  ig_scope s = ig_scope_open(c);
  const int64_t n = 4;
  ig_tensor *x = ig_tensor_empty(c, IG_F32, &n, 1);
  if (x) memset(ig_tensor_data(x), 0, 16);
  (void)printf(line, "add of 4 elements", time_calls(c, x));
  ig_tensor_set_requires_grad(c, x, true);
  (void)printf(line, "the same with a tape entry", time_calls(c, x));
  (void)printf(line, "one recorded node", time_records(c));
  ig_status st = ig_ctx_status(c);
  if (st != IG_OK) (void)fprintf(stderr, "%s\n", ig_ctx_error(c));
  ig_scope_close(c, s);
  ig_ctx_free(c);
  return st == IG_OK ? 0 : 1;
}
