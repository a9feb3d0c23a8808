// SPDX-License-Identifier: Apache-2.0
// What one call costs from C: a 4-element add, eager and with a tape entry, and small calls of
// kernels that prepare before they run; best of many rounds.
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

typedef struct operands {
  ig_tensor *x;
  ig_tensor *w;
} operands;
typedef void call_fn(ig_ctx *c, const operands *o);

// Nanoseconds of one call, its scope included.
static double best(ig_ctx *c, call_fn *fn, const operands *o) {
  double least = 1e18;
  for (int round = 0; round < ROUNDS; round++) {
    double start = now();
    for (int i = 0; i < CALLS; i++) {
      ig_scope s = ig_scope_open(c);
      fn(c, o);
      ig_scope_close(c, s);
    }
    double each = (now() - start) / CALLS;
    if (each < least) least = each;
  }
  return least;
}

static void call_add(ig_ctx *c, const operands *o) {
  (void)ig_add_tensor(c, o->x, o->x);
}
static void call_mm(ig_ctx *c, const operands *o) {
  (void)ig_mm(c, o->x, o->x);
}
static void call_linear(ig_ctx *c, const operands *o) {
  (void)ig_linear(c, o->x, o->w);
}
static void call_softmax(ig_ctx *c, const operands *o) {
  (void)ig_softmax_int(c, o->x, ig_const(-1));
}
static void call_sum(ig_ctx *c, const operands *o) {
  (void)ig_sum(c, o->x);
}
static void call_conv(ig_ctx *c, const operands *o) {
  ig_int one[2] = {ig_const(1), ig_const(1)};
  ig_int zeros[2] = {ig_const(0), ig_const(0)};
  (void)ig_convolution(c, o->x, o->w, NULL, ig_of_ints(one, 2), ig_of_ints(one, 2),
                       ig_of_ints(one, 2), false, ig_of_ints(zeros, 2), ig_const(1));
}

// A tensor of ones.
static ig_tensor *ones(ig_ctx *c, const int64_t *sizes, int ndim) {
  ig_int dims[4];
  for (int d = 0; d < ndim; d++) dims[d] = ig_const(sizes[d]);
  return ig_ones(c, ig_of_ints(dims, (size_t)ndim));
}

static void small_calls(ig_ctx *c) {
  static const int64_t sizes[] = {4, 16, 64};
  for (int i = 0; i < 3; i++) {
    operands o = {ones(c, (int64_t[]){sizes[i], sizes[i]}, 2), NULL};
    o.w = o.x;
    printf("%2d x %-2d: mm %.0f, linear %.0f, softmax %.0f, sum %.0f ns\n", (int)sizes[i],
           (int)sizes[i], best(c, call_mm, &o), best(c, call_linear, &o), best(c, call_softmax, &o),
           best(c, call_sum, &o));
  }
  operands o = {ones(c, (int64_t[]){1, 4, 6, 6}, 4), ones(c, (int64_t[]){4, 4, 3, 3}, 4)};
  printf("convolution 3 x 3, 4 channels, 6 x 6: %.0f ns\n", best(c, call_conv, &o));
}

int main(void) {
  ig_ctx *c = NULL;
  if (ig_ctx_create(NULL, &c) != IG_OK) return 1;
  float data[4] = {1, 2, 3, 4};
  int64_t size = 4;
  ig_foreign memory = {data, sizeof data, NULL, NULL, NULL};
  ig_tensor *x = ig_tensor_wrap(c, IG_F32, &size, 1, &memory);
  operands o = {x, NULL};
  printf("add, 4 elements, from C: %.0f ns\n", best(c, call_add, &o));
  small_calls(c);
  ig_tensor_set_requires_grad(c, x, true);
  printf("add, 4 elements, from C, with a tape entry: %.0f ns\n", best(c, call_add, &o));
  bool ok = ig_ctx_status(c) == IG_OK;
  if (!ok) printf("%s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  return ok ? 0 : 1;
}
