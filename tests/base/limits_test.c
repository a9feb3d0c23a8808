// SPDX-License-Identifier: Apache-2.0
// Limits: what a caller leaves out has its default, whichever version of the struct he knows; time
// runs out.
#define _POSIX_C_SOURCE 200809L
#include "base/limits.h"

#include <time.h>

#include "heap.h"

static void what_is_left_out_has_its_default(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_limits usual = ig_limits_default();
  ig_limits none = ig_limits_of(c, NULL);
  assert_memory_equal(&none, &usual, sizeof none);
  ig_limits some = {.size = sizeof some, .max_entries = 7};
  ig_limits all = ig_limits_of(c, &some);
  assert_int_equal(all.max_entries, 7);
  assert_int_equal(all.max_nodes, usual.max_nodes);
  // A caller compiled against an older header, whose struct ends after the first limit.
  struct {
    size_t size;
    uint64_t max_text;
    uint64_t behind;
  } old = {2 * sizeof(uint64_t), 5, 99};
  all = ig_limits_of(c, (const ig_limits *)(const void *)&old);
  assert_int_equal(all.max_text, 5);
  assert_int_equal(all.max_inflated, usual.max_inflated);
  ig_limits deep = {.size = sizeof deep, .max_depth = UINT64_MAX};
  assert_int_equal(ig_limits_of(c, &deep).max_depth, IG_LIMITS_DEPTH);
  // Those of the context stand in for what the caller leaves out.
  ig_ctx_set_limits(c, &(ig_limits){.size = sizeof(ig_limits), .max_nodes = 3, .max_entries = 4});
  assert_int_equal(ig_limits_of(c, NULL).max_nodes, 3);
  assert_int_equal(ig_limits_of(c, &some).max_nodes, 3);
  assert_int_equal(ig_limits_of(c, &some).max_entries, 7);
  ig_ctx_set_limits(c, NULL);
  none = ig_limits_of(c, NULL);
  assert_memory_equal(&none, &usual, sizeof none);
  ig_ctx_free(c);
}

static void time_runs_out(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_limits limits = {.size = sizeof limits, .max_millis = 1};
  ig_deadline soon = ig_deadline_start(&limits);
  ig_limits any = ig_limits_of(c, NULL);
  ig_deadline never = ig_deadline_start(&any);
  struct timespec pause = {0, 20000000};
  (void)nanosleep(&pause, NULL);
  assert_int_equal(ig_deadline_check(c, &never, "x"), IG_OK);
  assert_int_equal(ig_deadline_check(c, &soon, "x"), IG_LIMIT);
  test_error_has(c, "x: not read within the limit of 1 ms");
  ig_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_left_out_has_its_default),
      cmocka_unit_test(time_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
