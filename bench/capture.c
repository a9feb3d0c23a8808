// SPDX-License-Identifier: Apache-2.0
// What one recorded call costs, by the length of the graph: plain calls, in-place calls, and
// in-place views, which change the metadata of what was recorded before them. All of them must be
// flat.
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "ingot/aten.h"
#include "ingot/graph.h"

enum { SHORTEST = 1000, LONGEST = 100000 };

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static ig_tensor *plain(ig_ctx *c, ig_tensor *x, int i) {
  (void)i;
  return ig_relu(c, x);
}

static ig_tensor *in_place(ig_ctx *c, ig_tensor *x, int i) {
  (void)i;
  return ig_relu_(c, x);
}

// (1, 4) -> (4) -> (1, 4)
static ig_tensor *view_in_place(ig_ctx *c, ig_tensor *x, int i) {
  return i % 2 ? ig_unsqueeze_(c, x, ig_const(0)) : ig_squeeze_(c, x);
}

// Nanoseconds of each of n recorded calls; below 0 after an error.
static double capture(ig_ctx *c, ig_tensor *(*step)(ig_ctx *c, ig_tensor *x, int i), int n) {
  ig_scope s = ig_scope_open(c);
  ig_graph *g = NULL;
  ig_int sizes[] = {ig_const(1), ig_const(4)};
  double start = now();
  if (ig_capture_begin(c) != IG_OK) return -1;
  ig_tensor *x = ig_clone(c, ig_capture_input(c, "x", IG_F32, sizes, 2));
  for (int i = 0; i < n && x; i++) x = step(c, x, i);
  ig_value out = ig_of_tensor(x);
  ig_status st = ig_capture_end(c, &out, 1, &g);
  double each = (now() - start) / n;
  ig_graph_free(g);
  ig_scope_close(c, s);
  return st == IG_OK ? each : -1;
}

int main(void) {
  static const struct {
    const char *name;
    ig_tensor *(*step)(ig_ctx *c, ig_tensor *x, int i);
  } rows[] = {
      {"plain calls", plain}, {"in-place calls", in_place}, {"in-place views", view_in_place}};
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  bool ok = true;
  for (size_t r = 0; r < sizeof rows / sizeof *rows && ok; r++) {
    for (int n = SHORTEST; n <= LONGEST && ok; n *= 10) {
      double each = capture(c, rows[r].step, n);
      printf("capture, %s, %6d nodes: %.0f ns per node\n", rows[r].name, n, each);
      ok = each >= 0;
    }
  }
  if (!ok) printf("%s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
