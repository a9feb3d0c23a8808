// SPDX-License-Identifier: Apache-2.0
// Kept blocks: used again, never more than allowed, given back, other allocators not affected, from
// several threads.
#include "base/blocks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"

enum { MB = 1 << 20 };

// Under the address sanitizer nothing is kept.
static bool keeps(void) {
  ig_alloc a = ig_alloc_libc();
  void *p = ig_block_new(a, MB);
  ig_block_free(a, p, MB);
  return ig_blocks_kept() > 0;
}

static void test_used_again(void **state) {
  (void)state;
  ig_alloc a = ig_alloc_libc();
  if (!keeps()) skip();
  // A little less is as good, up to the next step.
  const size_t sizes[] = {IG_BLOCKS_LEAST + 9, 100000, MB, 3 * MB + 9, 16 * MB + 128};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    ig_memory_release();
    assert_int_equal(ig_blocks_kept(), 0);
    char *p = ig_block_new(a, sizes[i]);
    assert_non_null(p);
    memset(p, 1, sizes[i]);
    ig_block_free(a, p, sizes[i]);
    size_t kept = ig_blocks_kept();
    assert_true(kept >= sizes[i] && kept <= sizes[i] + sizes[i] / 8 + 64);
    char *q = ig_block_new(a, sizes[i] - 8);
    assert_ptr_equal(p, q);
    assert_int_equal(ig_blocks_kept(), 0);
    char *other = ig_block_new(a, sizes[i]);
    assert_ptr_not_equal(other, q);
    ig_block_free(a, other, sizes[i]);
    ig_block_free(a, q, sizes[i] - 8);
  }
  ig_memory_release();
  assert_int_equal(ig_blocks_kept(), 0);
}

static void test_limits(void **state) {
  (void)state;
  ig_alloc a = ig_alloc_libc();
  void *at[80];
  ig_memory_release();
  for (size_t size = IG_BLOCKS_LEAST - 1; size < 64 * (size_t)MB; size *= 8) {
    for (size_t i = 0; i < 80; i++) assert_non_null(at[i] = ig_block_new(a, size));
    for (size_t i = 0; i < 80; i++) ig_block_free(a, at[i], size);
    assert_true(ig_blocks_kept() <= IG_BLOCKS_KEPT);
    if (size < IG_BLOCKS_LEAST) assert_int_equal(ig_blocks_kept(), 0);
  }
  ig_block_free(a, NULL, MB);
  assert_null(ig_block_new(a, SIZE_MAX / 2));
  ig_memory_release();
}

static void test_foreign(void **state) {
  (void)state;
  ig_memory_release();
  test_heap heap = {.fail_at = 2};
  ig_alloc a = {test_heap_fn, &heap};
  void *p = ig_block_new(a, MB);
  assert_non_null(p);
  assert_int_equal(heap.live, 1);
  assert_null(ig_block_new(a, MB));
  ig_block_free(a, p, MB);
  assert_int_equal(heap.live, 0);
  assert_int_equal(ig_blocks_kept(), 0);
}

// Each thread writes its own mark into its blocks and finds it again.
static void *churn(void *arg) {
  ig_alloc a = ig_alloc_libc();
  const unsigned char mark = *(unsigned char *)arg;
  for (int round = 0; round < 2000; round++) {
    size_t size = IG_BLOCKS_LEAST + (size_t)(round % 5) * 10000;
    unsigned char *p = ig_block_new(a, size);
    if (!p) return arg;
    memset(p, mark, size);
    if (p[0] != mark || p[size / 2] != mark || p[size - 1] != mark) return arg;
    ig_block_free(a, p, size);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[4];
  unsigned char marks[4] = {1, 2, 3, 4};
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, churn, &marks[i]), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  ig_memory_release();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_used_again),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_foreign),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
