// SPDX-License-Identifier: Apache-2.0
// Modes are pushed and popped: a scope puts back what it changed and nothing else, captures and
// drafts leave nothing behind, and a scope that ends out of order is noticed.
#include "mode/mode.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap.h"
#include "ingot/autocast.h"
#include "ingot/grad.h"
#include "ingot/ingot.h"
#include "op/nested.h"

static ig_ctx *c;
static test_heap heap;

static int setup(void **state) {
  (void)state;
  heap = (test_heap){0};
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  ig_ctx_free(c);
  return heap.live == 0 ? 0 : -1;
}

static void test_scope_puts_back(void **state) {
  (void)state;
  ig_mode_scope outer =
      ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE | IG_MODE_NO_GRAD, {.fake = true}});
  assert_true(c->mode->fake);
  ig_mode_scope inner = ig_mode_push_grad(c, false);
  assert_true(c->mode->no_grad && c->mode->fake);
  ig_mode_pop(c, &inner);
  assert_false(c->mode->no_grad);
  assert_true(c->mode->fake);
  ig_mode_pop(c, &outer);
  assert_false(c->mode->fake);
  assert_int_equal(c->mode->depth, 0);
}

// What a user switches for good survives the scopes that have nothing to do with it.
static void test_switch_inside(void **state) {
  (void)state;
  ig_mode_scope s = ig_mode_push(c, &(ig_mode_change){IG_MODE_FAKE, {.fake = true}});
  assert_true(ig_grad_set_enabled(c, false));
  ig_mode_pop(c, &s);
  assert_false(ig_grad_is_enabled(c));
  s = ig_mode_push_grad(c, true);
  (void)ig_grad_set_enabled(c, false);
  (void)ig_grad_set_enabled(c, true);
  ig_mode_pop(c, &s);
  assert_false(ig_grad_is_enabled(c));
  (void)ig_grad_set_enabled(c, true);
}

// No field is forgotten by push, set or pop.
static void test_every_field(void **state) {
  (void)state;
  static int something;
  const ig_modes before = *c->mode;
  ig_mode_change all = {.set = (1u << IG_MODE_COUNT) - 1};
  all.to = (ig_modes){.capture = (void *)&something,
                      .rewrite = (void *)&something,
                      .intercept = (void *)&something,
                      .sym = (void *)&something,
                      .ambient = (void *)&something,
                      .renewal = (void *)&something,
                      .given = (void *)&something,
                      .draft = (void *)&something,
                      .watch = (void *)&something,
                      .group = (void *)&something,
                      .generator = (void *)&something,
                      .draws = (void *)&something,
                      .clock = 4,
                      .need = (void *)&something,
                      .device = {IG_DEVICE_META, 3},
                      .autocast = {{{true, 5}, {true, 6}}},
                      .autocasts = true,
                      .fake = true,
                      .no_grad = true,
                      .unseen = true,
                      .inference = true};
  ig_mode_scope s = ig_mode_push(c, &all);
#define X(name, type, field)                                                  \
  assert_memory_equal(&c->mode->field, &all.to.field, sizeof c->mode->field); \
  assert_memory_not_equal(&c->mode->field, &before.field, sizeof before.field);
  IG_MODE_LIST(X)
#undef X
  ig_mode_pop(c, &s);
#define X(name, type, field) \
  assert_memory_equal(&c->mode->field, &before.field, sizeof before.field);
  IG_MODE_LIST(X)
#undef X
}

static void pop_out_of_order(void) {
  ig_mode_scope outer = ig_mode_push_grad(c, false);
  ig_mode_scope inner = ig_mode_push_grad(c, true);
  ig_mode_pop(c, &outer);
  ig_mode_pop(c, &inner);
}

static void leave_pushed(void) {
  ig_mode_scope s = ig_mode_push_grad(c, false);
  (void)s;
  ig_ctx_free(c);
}

static bool aborts(void (*fn)(void)) {
  int status = 0;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)signal(SIGABRT, SIG_DFL);
    (void)!freopen("/dev/null", "w", stderr);
    fn();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_order(void **state) {
  (void)state;
  ig_mode_scope outer = ig_mode_push_grad(c, false);
  ig_mode_scope inner = ig_mode_push_grad(c, true);
  assert_false(ig_mode_is_innermost(c, &outer));
  assert_true(ig_mode_is_innermost(c, &inner));
  ig_mode_pop(c, &inner);
  assert_true(ig_mode_is_innermost(c, &outer));
  ig_mode_pop(c, &outer);
#ifdef NDEBUG
  (void)aborts;
  (void)pop_out_of_order;
  (void)leave_pushed;
#else
  assert_true(aborts(pop_out_of_order));
  assert_true(aborts(leave_pushed));
#endif
}

static void test_captures(void **state) {
  (void)state;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  assert_int_equal(c->mode->depth, 1);
  assert_true(ig_nested_push(c));
  assert_int_equal(c->mode->depth, 2);
  ig_capture_abort(c);  // both
  assert_null(c->mode->capture);
  assert_null(c->mode->sym);
  assert_int_equal(c->mode->depth, 0);
}

// A call that fails inside of a capture leaves the modes as they were.
static void test_failed_call(void **state) {
  (void)state;
  int64_t two[] = {2};
  int64_t three[] = {3};
  ig_scope s = ig_scope_open(c);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *a = ig_capture_input_like(c, "a", ig_tensor_empty(c, IG_F32, two, 1));
  ig_tensor *b = ig_capture_input_like(c, "b", ig_tensor_empty(c, IG_F32, three, 1));
  const ig_op *op = ig_op_find(c, "aten::add.Tensor");
  ig_value args[] = {ig_of_tensor(a), ig_of_tensor(b), ig_of_i64(1)};
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, args, out);
  assert_int_not_equal(ig_ctx_status(c), IG_OK);
  assert_int_equal(c->mode->depth, 1);
  assert_false(c->mode->fake || c->mode->no_grad);
  ig_capture_abort(c);
  assert_int_equal(c->mode->depth, 0);
  ig_scope_close(c, s);
}

static void test_default_dtype(void **state) {
  (void)state;
  atomic_int shared = IG_F16;
  assert_int_equal(ig_ctx_default_dtype(c), IG_F32);
  ig_ctx_set_default_dtype(c, IG_F64);
  assert_int_equal(ig_ctx_default_dtype(c), IG_F64);
  ig_mode_share_dtype(c, &shared);
  assert_int_equal(ig_ctx_default_dtype(c), IG_F16);
  atomic_store(&shared, IG_BF16);
  assert_int_equal(ig_ctx_default_dtype(c), IG_BF16);
  ig_ctx_set_default_dtype(c, IG_F32);
  assert_int_equal(ig_ctx_default_dtype(c), IG_F32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_scope_puts_back, setup, teardown),
      cmocka_unit_test_setup_teardown(test_switch_inside, setup, teardown),
      cmocka_unit_test_setup_teardown(test_every_field, setup, teardown),
      cmocka_unit_test_setup_teardown(test_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_captures, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failed_call, setup, teardown),
      cmocka_unit_test_setup_teardown(test_default_dtype, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
