// SPDX-License-Identifier: Apache-2.0
// What the tests of gradients share: a context over a counting heap, small tensors, comparisons.
#ifndef TESTS_GRAD_FIXTURE_H_
#define TESTS_GRAD_FIXTURE_H_

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/grad.h"

static ig_ctx *c;

static inline int setup(void **state) {
  static test_heap heap;
  (void)state;
  heap = (test_heap){0};
  c = test_heap_ctx(&heap);
  *state = &heap;
  return c ? 0 : -1;
}

static inline int teardown(void **state) {
  const test_heap *heap = *state;
  if (ig_ctx_status(c) != IG_OK) print_error("left over: %s\n", ig_ctx_error(c));
  bool clean = ig_ctx_status(c) == IG_OK;
  ig_ctx_free(c);
  if (heap->live != 0) print_error("%ld blocks are left\n", heap->live);
  return clean && heap->live == 0 ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline ig_tensor *vec(const double *values, int64_t n) {
  ig_tensor *t = ig_tensor_empty(c, IG_F64, &n, 1);
  for (int64_t i = 0; t && i < n; i++) ((double *)ig_tensor_data(t))[i] = values[i];
  return t;
}
#define VEC(...) \
  vec((double[]){__VA_ARGS__}, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

static inline ig_tensor *leaf(ig_tensor *t) {
  ig_tensor_set_requires_grad(c, t, true);
  return t;
}
#define LEAF(...) leaf(VEC(__VA_ARGS__))

static inline void is_ok(void) {
  if (ig_ctx_status(c) != IG_OK) fail_msg("%s", ig_ctx_error(c));
}

static inline void check_values(const ig_tensor *t, const double *values, int64_t n) {
  is_ok();
  assert_non_null(t);
  assert_int_equal(ig_tensor_numel(t), n);
  for (int64_t i = 0; i < n; i++) {
    double d = ig_tensor_get(t, i) - values[i];
    if (!(d < 1e-9 && d > -1e-9)) {
      fail_msg("element %d is %g, expected %g", (int)i, ig_tensor_get(t, i), values[i]);
    }
  }
}
#define CHECK(t, ...)                        \
  check_values((t), (double[]){__VA_ARGS__}, \
               (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

static inline ig_status backward(ig_tensor *out) {
  return ig_backward(
      c, &(ig_backward_args){.size = sizeof(ig_backward_args), .outputs = &out, .noutputs = 1},
      NULL);
}

static inline ig_status backward_again(ig_tensor *out) {
  ig_backward_args a = {.size = sizeof a, .outputs = &out, .noutputs = 1, .retain_graph = true};
  return ig_backward(c, &a, NULL);
}

// d out / d x, with or without a history of its own.
static inline ig_tensor *grad_of(ig_tensor *out, ig_tensor *x, bool create) {
  ig_tensor *g = NULL;
  ig_backward_args a = {.size = sizeof a,
                        .outputs = &out,
                        .noutputs = 1,
                        .inputs = &x,
                        .ninputs = 1,
                        .retain_graph = true,
                        .create_graph = create};
  (void)!ig_backward(c, &a, &g);
  return g;
}

static inline void fails(const char *text) {
  assert_int_not_equal(ig_ctx_status(c), IG_OK);
  test_error_has(c, text);
}

#endif
