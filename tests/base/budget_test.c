// SPDX-License-Identifier: Apache-2.0
// Budgets: live bytes are counted and bounded, work and time run out, any thread can cancel.
#define _POSIX_C_SOURCE 200809L
#include "base/budget.h"

#include <pthread.h>
#include <time.h>

#include "base/arena.h"
#include "base/blocks.h"
#include "base/limits.h"
#include "heap.h"
#include "ingot/aten.h"
#include "ingot/tensor.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  *state = f;
  return f->c ? 0 : 1;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static void live_bytes_are_counted(void **state) {
  fixture *f = *state;
  uint64_t before = ig_ctx_memory(f->c);
  ig_scope s = ig_scope_open(f->c);
  int64_t size = 1 << 20;
  assert_non_null(ig_tensor_empty(f->c, IG_F32, &size, 1));
  assert_true(ig_ctx_memory(f->c) >= before + 4 * (uint64_t)size);
  ig_arena a = ig_arena_make(f->c->alloc);
  assert_non_null(ig_arena_push(&a, 100000));
  assert_true(ig_ctx_memory(f->c) >= before + 4 * (uint64_t)size + 100000);
  ig_arena_free(&a);
  ig_scope_close(f->c, s);
  // The pool of references has grown and stays.
  assert_true(ig_ctx_memory(f->c) < before + 4096);
}

static void memory_is_bounded(void **state) {
  fixture *f = *state;
  ig_ctx_set_limits(f->c, &(ig_limits){.size = sizeof(ig_limits), .max_memory = 1 << 20});
  int64_t size = 1 << 20;
  assert_null(ig_tensor_empty(f->c, IG_F32, &size, 1));
  assert_int_equal(ig_ctx_status(f->c), IG_NOMEM);
  assert_non_null(strstr(ig_ctx_error(f->c), "exceed the limit of 1048576"));
  test_error_has(f->c, "max_memory");
  // What was refused was not taken, and what fits is given.
  ig_scope s = ig_scope_open(f->c);
  size = 1 << 16;
  assert_non_null(ig_tensor_empty(f->c, IG_F32, &size, 1));
  ig_scope_close(f->c, s);
}

// The large blocks of the C library's allocator are kept for the next one; kept ones are not live.
static void kept_blocks_are_not_live(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  ig_ctx_set_limits(c, &(ig_limits){.size = sizeof(ig_limits), .max_memory = 3 << 20});
  for (int i = 0; i < 10; i++) {
    ig_scope s = ig_scope_open(c);
    int64_t size = 2 << 20;
    assert_non_null(ig_tensor_empty(c, IG_U8, &size, 1));
    assert_null(ig_tensor_empty(c, IG_U8, &size, 1));
    test_error_has(c, "max_memory");
    ig_scope_close(c, s);
  }
  ig_ctx_free(c);
}

static void a_tensor_outlives_its_context(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_scope s = ig_scope_open(c);
  int64_t size = 3;
  ig_tensor *t = ig_tensor_retain(ig_tensor_empty(c, IG_F32, &size, 1));
  ig_scope_close(c, s);
  ig_ctx_free(c);
  assert_true(heap.live > 0);
  ig_tensor_release(t);
  assert_int_equal(heap.live, 0);
}

static ig_tensor *one(ig_ctx *c) {
  int64_t size = 1;
  return ig_tensor_empty(c, IG_F32, &size, 1);
}

static void work_runs_out(void **state) {
  fixture *f = *state;
  ig_scope s = ig_scope_open(f->c);
  ig_tensor *x = one(f->c);
  for (uint64_t most = 1; most < 70; most += 13) {
    ig_ctx_set_limits(f->c, &(ig_limits){.size = sizeof(ig_limits), .max_work = most});
    for (uint64_t i = 0; i < most; i++) assert_non_null(ig_relu(f->c, x));
    assert_null(ig_relu(f->c, x));
    assert_int_equal(ig_ctx_status(f->c), IG_LIMIT);
    test_error_has(f->c, "max_work");
    assert_null(ig_relu(f->c, x));  // still
    ig_ctx_clear(f->c);
  }
  ig_ctx_set_limits(f->c, NULL);
  for (int i = 0; i < 1000; i++) assert_non_null(ig_relu(f->c, x));
  ig_scope_close(f->c, s);
}

// What an inner account spends is missing in the outer one.
static void accounts_nest(void **state) {
  fixture *f = *state;
  ig_ctx *c = f->c;
  ig_ctx_set_limits(c, &(ig_limits){.size = sizeof(ig_limits), .max_work = 10});
  ig_limits inner = {.size = sizeof inner, .max_work = 4};
  ig_account outer = ig_account_open(c, &inner);
  for (int i = 0; i < 4; i++) assert_true(ig_step(c));
  assert_false(ig_step(c));
  ig_ctx_clear(c);
  ig_account_close(c, &outer);
  for (int i = 0; i < 6; i++) assert_true(ig_step(c));
  inner.max_work = 100;  // more than is left
  outer = ig_account_open(c, &inner);
  assert_false(ig_step(c));
  test_error_has(c, "limit of 10 units");
  ig_account_close(c, &outer);
  ig_ctx_set_limits(c, NULL);
  assert_true(ig_spend(c, UINT64_MAX));
}

static void time_runs_out(void **state) {
  fixture *f = *state;
  ig_scope s = ig_scope_open(f->c);
  ig_tensor *x = one(f->c);
  ig_ctx_set_limits(f->c, &(ig_limits){.size = sizeof(ig_limits), .max_millis = 1});
  struct timespec pause = {0, 30000000};
  (void)nanosleep(&pause, NULL);
  assert_null(ig_relu(f->c, x));
  assert_int_equal(ig_ctx_status(f->c), IG_LIMIT);
  test_error_has(f->c, "limit of 1 ms");
  ig_scope_close(f->c, s);
}

static void *cancel(void *c) {
  ig_cancel(c);
  return NULL;
}

static void any_thread_cancels(void **state) {
  fixture *f = *state;
  ig_scope s = ig_scope_open(f->c);
  ig_tensor *x = one(f->c);
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, cancel, f->c), 0);
  while (ig_ctx_status(f->c) == IG_OK) {
    ig_scope round = ig_scope_open(f->c);
    (void)ig_relu(f->c, x);
    ig_scope_close(f->c, round);
  }
  pthread_join(other, NULL);
  assert_int_equal(ig_ctx_status(f->c), IG_CANCELLED);
  ig_ctx_clear(f->c);
  assert_non_null(ig_relu(f->c, x));  // it was for one thing
  ig_scope_close(f->c, s);
}

// Readers look, too.
static void readers_stop(void **state) {
  fixture *f = *state;
  ig_limits any = ig_limits_of(f->c, NULL);
  ig_deadline d = ig_deadline_start(&any);
  assert_int_equal(ig_deadline_check(f->c, &d, "x"), IG_OK);
  ig_cancel(f->c);
  assert_int_equal(ig_deadline_check(f->c, &d, "x"), IG_CANCELLED);
  ig_ctx_clear(f->c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(live_bytes_are_counted, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_is_bounded, setup, teardown),
      cmocka_unit_test(kept_blocks_are_not_live),
      cmocka_unit_test(a_tensor_outlives_its_context),
      cmocka_unit_test_setup_teardown(work_runs_out, setup, teardown),
      cmocka_unit_test_setup_teardown(accounts_nest, setup, teardown),
      cmocka_unit_test_setup_teardown(time_runs_out, setup, teardown),
      cmocka_unit_test_setup_teardown(any_thread_cancels, setup, teardown),
      cmocka_unit_test_setup_teardown(readers_stop, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
