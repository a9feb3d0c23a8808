// SPDX-License-Identifier: Apache-2.0
// Checked arithmetic, and memory by counts: a product that no size_t holds is lack of memory, for
// every kind of memory.
#include "base/mem.h"

#include "base/arena.h"
#include "base/ctx.h"
#include "heap.h"
#include "kernels/scratch.h"

static void sums_and_products_are_checked(void **state) {
  (void)state;
  int64_t i = 0;
  size_t n = 0;
  assert_true(ig_checked_add(INT64_MAX - 1, 1, &i) && i == INT64_MAX);
  assert_false(ig_checked_add(INT64_MAX, 1, &i));
  assert_false(ig_checked_add(INT64_MIN, -1, &i));
  assert_true(ig_checked_mul((int64_t)1 << 31, (int64_t)1 << 31, &i) && i == (int64_t)1 << 62);
  assert_false(ig_checked_mul((int64_t)1 << 62, 2, &i));
  assert_true(ig_checked_add((size_t)SIZE_MAX - 1, (size_t)1, &n) && n == SIZE_MAX);
  assert_false(ig_checked_add((size_t)SIZE_MAX, (size_t)1, &n));
  assert_true(ig_checked_mul((size_t)1 << 62, (size_t)2, &n) && n == (size_t)1 << 63);
  assert_false(ig_checked_mul((size_t)1 << 62, (size_t)4, &n));
}

static void sizes_of_memory_never_wrap(void **state) {
  (void)state;
  assert_int_equal(ig_mem_mul(3, 5), 15);
  assert_int_equal(ig_mem_add(3, 5), 8);
  assert_true(ig_mem_mul((size_t)1 << 61, 8) == IG_SIZE_NONE);  // wraps to 0
  assert_true(ig_mem_mul((size_t)1 << 62, 3) == IG_SIZE_NONE);  // fits, but no object is so large
  assert_true(ig_mem_add(SIZE_MAX, 2) == IG_SIZE_NONE);
  assert_true(ig_mem_add(ig_mem_mul(SIZE_MAX, 8), 1) == IG_SIZE_NONE);
  assert_true(ig_mem_mul(ig_mem_mul(SIZE_MAX, 8) + 1, 1) == IG_SIZE_NONE);
  assert_int_equal(ig_mem_mul(0, SIZE_MAX), 0);
}

static void arrays_that_wrap_are_refused(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_arena arena = ig_arena_make(c->alloc);
  const size_t n = (size_t)1 << 61;
  assert_null(ig_mem_array(c->alloc, n, 8));
  assert_null(ig_mem_array(c->alloc, n + 1, 16));
  assert_null(ig_arena_array(&arena, n, 8));
  assert_null(ig_arena_array(&arena, n + 1, 8));
  assert_null(ig_scratch_array(IG_SCRATCH_NORM, n, 8));
  assert_null(ig_scratch_array(IG_SCRATCH_NORM, n + 1, 8));
  assert_null(ig_kernel_array(n + 1, 8));
  assert_null(ig_scope_array(c, n + 1, 8));
  test_error_has(c, "out of memory");
  assert_int_equal(ig_ctx_status(c), IG_OK);

  // Room for nothing is room.
  void *none = ig_mem_array(c->alloc, 0, 8);
  assert_non_null(none);
  ig_mem_array_free(c->alloc, none, 0, 8);
  assert_non_null(ig_arena_array(&arena, 0, 8));
  assert_non_null(ig_scope_array(c, 0, 8));
  ig_arena_free(&arena);
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

static void a_vector_that_cannot_grow_stays(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_alloc a = {test_heap_fn, &heap};
  int64_t *at = NULL;
  size_t cap = 0;
  assert_true(ig_mem_grow(a, (void **)&at, &cap, sizeof *at, 3));
  assert_false(ig_mem_grow(a, (void **)&at, &cap, sizeof *at, (size_t)1 << 61));
  assert_false(ig_mem_grow(a, (void **)&at, &cap, sizeof *at, SIZE_MAX));
  assert_int_equal(cap, 8);
  ig_mem_array_free(a, at, cap, sizeof *at);
  assert_int_equal(heap.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_products_are_checked),
      cmocka_unit_test(sizes_of_memory_never_wrap),
      cmocka_unit_test(arrays_that_wrap_are_refused),
      cmocka_unit_test(a_vector_that_cannot_grow_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
