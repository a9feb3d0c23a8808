// SPDX-License-Identifier: Apache-2.0
// The common fixture: a context over a counting heap, with no error and no leaked block at the end.
#ifndef TESTS_FIXTURE_H_
#define TESTS_FIXTURE_H_

#include <stdbool.h>

#include "heap.h"

static ig_ctx *c;
static test_heap heap;

static int setup(void **state) {
  heap = (test_heap){0};
  *state = &heap;
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  bool clean = ig_ctx_status(c) == IG_OK;
  if (!clean) print_error("left over: %s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  if (heap.live != 0) print_error("%ld blocks are left\n", heap.live);
  return clean && heap.live == 0 ? 0 : -1;
}

#endif
