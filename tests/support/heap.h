// SPDX-License-Identifier: Apache-2.0
// A counting heap that can fail, a context over it, and the loops that fail every allocation: it
// and all after it, as when memory is exhausted, and it alone, as when one request is too large.
#ifndef TESTS_HEAP_H_
#define TESTS_HEAP_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingot/ctx.h"

// Counts live blocks and fails the n-th allocation, and all after it unless `alone`.
typedef struct test_heap {
  long live;
  long calls;
  long fail_at;
  bool alone;
  size_t limit;  // larger requests fail; 0: none
} test_heap;

// A block's size is stored before it: it must be freed with the size it was allocated with.
enum { TEST_HEAP_HEAD = 16 };

static inline void *test_heap_fn(void *user, void *ptr, size_t old_size, size_t new_size) {
  test_heap *h = user;
  char *block = ptr ? (char *)ptr - TEST_HEAP_HEAD : NULL;
  if (block && *(size_t *)(void *)block != old_size) {
    fail_msg("a block of %zu bytes was given back as %zu", *(size_t *)(void *)block, old_size);
  }
  if (new_size == 0) {
    h->live -= ptr != NULL;
    free(block);
    return NULL;
  }
  h->calls++;
  if (h->fail_at && (h->alone ? h->calls == h->fail_at : h->calls >= h->fail_at)) return NULL;
  if (h->limit && new_size > h->limit) return NULL;
  char *p = new_size < SIZE_MAX / 2 ? realloc(block, new_size + TEST_HEAP_HEAD) : NULL;
  if (!p) return NULL;
  h->live += !ptr;
  *(size_t *)(void *)p = new_size;
  return p + TEST_HEAP_HEAD;
}

static inline ig_ctx *test_heap_ctx(test_heap *h) {
  ig_alloc a = {test_heap_fn, h};
  ig_ctx *c = NULL;
  (void)!ig_ctx_create(&a, &c);
  return c;
}

// Under the address sanitizer only some of the later allocations fail.
#if defined(__SANITIZE_ADDRESS__)
#define TEST_HEAP_NEXT(n) ((n) < 32 ? (n) + 1 : (n) + 7)
#else
#define TEST_HEAP_NEXT(n) ((n) + 1)
#endif

// The error of a session that lacked memory. Some blocks are optional if they fail alone.
static inline void test_heap_judge(const test_heap *h, ig_ctx *c, ig_status st) {
  bool said = c && st != IG_OK && strstr(ig_ctx_error(c), "out of memory");
  if (c && st != IG_OK && (st != IG_NOMEM || !said)) {
    fail_msg("allocation %ld%s fails, and the error is '%s', expected 'out of memory'", h->fail_at,
             h->alone ? " alone" : "", ig_ctx_error(c));
  }
}

// Runs `session` again and again, each time with one more successful allocation: it must fail with
// IG_NOMEM and say so, and leave nothing behind. Then with each allocation failing alone.
static inline void test_every_allocation_fails(ig_status (*session)(ig_ctx *c)) {
  for (int alone = 0; alone < 2; alone++) {
    for (long n = 1;; n = TEST_HEAP_NEXT(n)) {
      test_heap heap = {.fail_at = n, .alone = alone == 1};
      ig_ctx *c = test_heap_ctx(&heap);
      ig_status st = c ? session(c) : IG_NOMEM;
      bool failed = heap.calls >= n;
      test_heap_judge(&heap, c, st);
      ig_ctx_free(c);
      if (heap.live) fail_msg("allocation %ld fails, and %ld blocks are left", n, heap.live);
      if (!failed) {
        assert_int_equal(st, IG_OK);
        break;
      }
      assert_true(n < 1000000);
    }
  }
}

// The last error of c contains `text`; clears the error.
static inline void test_error_has(ig_ctx *c, const char *text) {
  if (!strstr(ig_ctx_error(c), text))
    fail_msg("error is '%s', expected '%s'", ig_ctx_error(c), text);
  ig_ctx_clear(c);
}

#endif
