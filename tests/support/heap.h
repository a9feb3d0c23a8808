// SPDX-License-Identifier: Apache-2.0
// A counting heap that can fail, a context over it, and the loop that fails every allocation once.
#ifndef TESTS_HEAP_H_
#define TESTS_HEAP_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingot/ctx.h"

// Counts live blocks and fails the n-th allocation and all after it.
typedef struct test_heap {
  long live;
  long calls;
  long fail_at;
  size_t limit;  // larger requests fail; 0: none
} test_heap;

// A block's size stands before it: what it is freed with must be what it was made with.
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
  if (++h->calls >= h->fail_at && h->fail_at) return NULL;
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

// Runs `session` until it passes, each time with one allocation more that succeeds: it must fail
// with IG_NOMEM and say so, and leave nothing behind.
static inline void test_every_allocation_fails(ig_status (*session)(ig_ctx *c)) {
  for (long n = 1;; n++) {
    test_heap heap = {.fail_at = n};
    ig_ctx *c = test_heap_ctx(&heap);
    ig_status st = c ? session(c) : IG_NOMEM;
    if (c && st != IG_OK) assert_non_null(strstr(ig_ctx_error(c), "out of memory"));
    ig_ctx_free(c);
    assert_int_equal(heap.live, 0);
    if (st == IG_OK) break;
    assert_int_equal(st, IG_NOMEM);
    assert_true(n < 100000);
  }
}

// The last error of c contains `text`; the error is forgotten.
static inline void test_error_has(ig_ctx *c, const char *text) {
  if (!strstr(ig_ctx_error(c), text))
    fail_msg("error is '%s', expected '%s'", ig_ctx_error(c), text);
  ig_ctx_clear(c);
}

#endif
