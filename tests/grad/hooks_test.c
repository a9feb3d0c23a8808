// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

typedef struct counter {
  int calls;
  int freed;
  double last;
} counter;

static void count_free(void *user) {
  ((counter *)user)->freed++;
}

static ig_tensor *count(ig_ctx *ctx, ig_tensor *grad, void *user) {
  counter *n = user;
  (void)ctx;
  n->calls++;
  n->last = ig_tensor_get(grad, 0);
  return NULL;
}

static ig_tensor *twice(ig_ctx *ctx, ig_tensor *grad, void *user) {
  counter *n = user;
  n->calls++;
  return ig_add_tensor(ctx, grad, grad);
}

static ig_grad_hook hook(ig_grad_hook_fn *fn, counter *n) {
  return (ig_grad_hook){fn, count_free, n};
}

// Once per run, with the whole gradient, before it is accumulated.
static void on_leaves(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_tensor *x = LEAF(1, 2);
  ig_grad_hook h = hook(twice, &n);
  assert_true(ig_tensor_add_hook(c, x, &h) != 0);
  ig_tensor *y = ig_sum(c, ig_add_tensor(c, ig_mul_tensor(c, x, x), x));
  assert_int_equal(backward(y), IG_OK);
  assert_int_equal(n.calls, 1);
  CHECK(ig_tensor_grad(x), 6, 10);
  CHECK(grad_of(ig_sum(c, x), x, false), 2, 2);  // also on the way to an answer
}

static void on_results(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_grad_hook hk = hook(twice, &n);
  (void)ig_tensor_add_hook(c, h, &hk);
  assert_int_equal(backward(ig_sum(c, h)), IG_OK);
  assert_int_equal(n.calls, 1);
  CHECK(ig_tensor_grad(x), 4, 8);
}

// A hook belongs to the value, not to what is written over it.
static void stays_with_the_old_value(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, VEC(1, 1));
  ig_grad_hook hk = hook(count, &n);
  uint64_t number = ig_tensor_add_hook(c, h, &hk);
  (void)ig_mul__tensor(c, h, VEC(3, 3));
  ig_tensor *y = ig_sum(c, h);
  assert_int_equal(backward_again(y), IG_OK);
  assert_int_equal(n.calls, 1);
  assert_true(n.last == 3);
  ig_tensor_remove_hook(c, h, number);
  assert_int_equal(n.freed, 1);
  assert_int_equal(backward(y), IG_OK);
  assert_int_equal(n.calls, 1);
}

static void removed_and_freed(void **state) {
  (void)state;
  static counter a;  // hooks are freed with the context
  a = (counter){0};
  static counter b;  // hooks are freed with the context
  b = (counter){0};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = LEAF(1);
  ig_grad_hook ha = hook(count, &a);
  ig_grad_hook hb = hook(count, &b);
  uint64_t number = ig_tensor_add_hook(c, x, &ha);
  (void)ig_tensor_add_hook(c, x, &hb);
  ig_tensor_remove_hook(c, x, number);
  ig_tensor_remove_hook(c, x, number);
  assert_int_equal(a.freed, 1);
  assert_int_equal(backward(ig_mul_tensor(c, x, x)), IG_OK);
  assert_int_equal(a.calls, 0);
  assert_int_equal(b.calls, 1);
  ig_scope_close(c, s);
  assert_int_equal(b.freed, 1);
}

static ig_tensor *wrong_size(ig_ctx *ctx, ig_tensor *grad, void *user) {
  (void)user;
  return ig_sum(ctx, grad);
}

static void refusals(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_grad_hook h = hook(count, &n);
  assert_true(ig_tensor_add_hook(c, VEC(1), &h) == 0);
  fails("cannot register a hook on a tensor that doesn't require gradient");
  assert_int_equal(n.freed, 1);
  ig_tensor *x = LEAF(1, 2);
  (void)ig_tensor_add_post_hook(c, ig_exp(c, x), &h);
  fails("post accumulate grad hooks cannot be registered on non-leaf tensors");
  ig_grad_hook bad = {wrong_size, NULL, NULL};
  (void)ig_tensor_add_hook(c, x, &bad);
  assert_int_not_equal(backward(ig_sum(c, x)), IG_OK);
  fails("hook has changed the size of value");
}

static ig_tensor *step(ig_ctx *ctx, ig_tensor *t, void *user) {
  counter *n = user;
  n->calls++;
  n->last = ig_tensor_get(ig_tensor_grad(t), 0);
  ig_tensor_set_grad(ctx, t, NULL);
  return NULL;
}

static void after_accumulation(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_tensor *x = LEAF(4);
  ig_grad_hook h = hook(step, &n);
  (void)ig_tensor_add_post_hook(c, x, &h);
  assert_int_equal(backward(ig_mul_tensor(c, x, x)), IG_OK);
  assert_int_equal(n.calls, 1);
  assert_true(n.last == 8);
  assert_null(ig_tensor_grad(x));
}

static void halve(ig_ctx *ctx, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
                  size_t nresults, void *user) {
  counter *k = user;
  (void)of_results;
  (void)nresults;
  k->calls++;
  for (size_t i = 0; i < n; i++) {
    int64_t one = 1;
    ig_tensor *half = ig_tensor_empty(ctx, IG_F64, &one, 1);
    *(double *)ig_tensor_data(half) = 0.5;
    if (grads[i]) grads[i] = ig_mul_tensor(ctx, grads[i], half);
  }
}

static void on_functions(void **state) {
  (void)state;
  static counter n;  // hooks are freed with the context
  n = (counter){0};
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_grad_fn *f = ig_tensor_grad_fn(c, h, NULL);
  ig_grad_fn_hook pre = {true, halve, count_free, &n};
  ig_grad_fn_hook post = {false, halve, count_free, &n};
  uint64_t number = ig_grad_fn_add_hook(c, f, &pre);
  (void)ig_grad_fn_add_hook(c, f, &post);
  ig_tensor *y = ig_sum(c, h);
  assert_int_equal(backward_again(y), IG_OK);
  assert_int_equal(n.calls, 2);
  CHECK(ig_tensor_grad(x), 0.5, 1);
  ig_grad_fn_remove_hook(c, f, number);
  assert_int_equal(backward(y), IG_OK);
  CHECK(ig_tensor_grad(x), 1.5, 3);
}

typedef struct inner {
  ig_tensor *y;
  ig_tensor *x;
  int calls;
} inner;

static ig_tensor *run_again(ig_ctx *ctx, ig_tensor *grad, void *user) {
  inner *in = user;
  (void)grad;
  if (in->calls++) return NULL;
  ig_tensor *g = NULL;
  ig_backward_args a = {.size = sizeof a,
                        .outputs = &in->y,
                        .noutputs = 1,
                        .inputs = &in->x,
                        .ninputs = 1,
                        .retain_graph = true};
  (void)!ig_backward(ctx, &a, &g);
  return NULL;
}

// A sweep inside a sweep over the same history.
static void reentrant(void **state) {
  (void)state;
  ig_tensor *x = LEAF(3);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_tensor *y = ig_mul_tensor(c, h, h);
  inner in = {y, x, 0};
  ig_grad_hook hk = {run_again, NULL, &in};
  (void)ig_tensor_add_hook(c, h, &hk);
  assert_int_equal(backward_again(y), IG_OK);
  assert_int_equal(in.calls, 2);
  CHECK(ig_tensor_grad(x), 4 * 27);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(on_leaves),         TEST(on_results), TEST(stays_with_the_old_value),
      TEST(removed_and_freed), TEST(refusals),   TEST(after_accumulation),
      TEST(on_functions),      TEST(reentrant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
