// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

static void product_and_sum(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2, 3);
  ig_tensor *w = LEAF(4, 5, 6);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, x, w));
  assert_int_equal(backward(y), IG_OK);
  CHECK(ig_tensor_grad(x), 4, 5, 6);
  CHECK(ig_tensor_grad(w), 1, 2, 3);
  assert_null(ig_tensor_grad(y));
}

// The second run adds to .grad, in the same tensor.
static void accumulates(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, x, x))), IG_OK);
  const ig_tensor *g = ig_tensor_grad(x);
  CHECK(g, 2, 4);
  assert_int_equal(backward(ig_sum(c, x)), IG_OK);
  assert_ptr_equal(ig_tensor_grad(x), g);
  CHECK(g, 3, 5);
  ig_tensor_set_grad(c, x, NULL);
  assert_null(ig_tensor_grad(x));
}

// Several uses of one value meet: y = a*b + a, b = a*a.
static void shares_meet(void **state) {
  (void)state;
  ig_tensor *x = LEAF(2);
  ig_tensor *a = ig_mul_tensor(c, x, x);
  ig_tensor *b = ig_mul_tensor(c, a, a);
  ig_tensor *y = ig_add_tensor(c, ig_mul_tensor(c, a, b), a);
  assert_int_equal(backward(y), IG_OK);
  CHECK(ig_tensor_grad(x), 6 * 32 + 2 * 2);  // x^6 + x^2
}

static void broadcast_is_undone(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2, 3);
  ig_tensor *s = leaf(ig_tensor_empty(c, IG_F64, NULL, 0));
  *(double *)ig_tensor_data(s) = 2;
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, x, s))), IG_OK);
  CHECK(ig_tensor_grad(s), 6);
  assert_int_equal(ig_tensor_ndim(ig_tensor_grad(s)), 0);
}

// An operand of a narrower dtype gets a gradient of its own dtype.
static void dtype_is_the_operands(void **state) {
  (void)state;
  int64_t n = 2;
  ig_tensor *x = leaf(ig_tensor_empty(c, IG_F32, &n, 1));
  ((float *)ig_tensor_data(x))[0] = 1;
  ((float *)ig_tensor_data(x))[1] = 2;
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, x, VEC(3, 4)))), IG_OK);
  assert_int_equal(ig_tensor_dtype(ig_tensor_grad(x)), IG_F32);
  CHECK(ig_tensor_grad(x), 3, 4);
}

static void inputs_and_unused(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *z = LEAF(1);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, h, h));
  CHECK(grad_of(y, h, false), 2, 8);  // a result asked for
  CHECK(grad_of(y, x, false), 4, 32);
  assert_null(ig_tensor_grad(x));
  assert_null(grad_of(y, z, false));
  fails(
      "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
      "allow_unused=True if this is the desired behavior.");
  ig_tensor *in[] = {x, z};
  ig_tensor *g[2];
  ig_backward_args a = {.size = sizeof a,
                        .outputs = &y,
                        .noutputs = 1,
                        .inputs = in,
                        .ninputs = 2,
                        .retain_graph = true,
                        .allow_unused = true};
  assert_int_equal(ig_backward(c, &a, g), IG_OK);
  CHECK(g[0], 4, 32);
  assert_null(g[1]);
  a.materialize_grads = true;
  assert_int_equal(ig_backward(c, &a, g), IG_OK);
  CHECK(g[1], 0);
  assert_null(grad_of(y, VEC(1), false));
  fails("One of the differentiated Tensors does not require grad");
}

// backward(inputs=...): only those, also results.
static void accumulates_into_inputs(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *w = LEAF(3, 4);
  ig_tensor *h = ig_mul_tensor(c, x, w);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, h, h));
  ig_tensor *in[] = {h, w};
  ig_backward_args a = {.size = sizeof a,
                        .outputs = &y,
                        .noutputs = 1,
                        .inputs = in,
                        .ninputs = 2,
                        .accumulate = true};
  assert_int_equal(ig_backward(c, &a, NULL), IG_OK);
  CHECK(ig_tensor_grad(h), 6, 16);
  CHECK(ig_tensor_grad(w), 6, 32);
  assert_null(ig_tensor_grad(x));
}

static void refusals(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  assert_int_not_equal(backward(ig_mul_tensor(c, x, x)), IG_OK);
  fails("grad can be implicitly created only for scalar outputs");
  assert_int_not_equal(backward(VEC(1)), IG_OK);
  fails("element 0 of tensors does not require grad and does not have a grad_fn");
  ig_tensor *y = ig_mul_tensor(c, x, x);
  ig_tensor *seed = VEC(1, 2, 3);
  ig_backward_args a = {.size = sizeof a, .outputs = &y, .noutputs = 1, .seeds = &seed};
  assert_int_not_equal(ig_backward(c, &a, NULL), IG_OK);
  fails(
      "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape "
      "of torch.Size([2]).");
  seed = VEC(1, 10);
  assert_int_equal(ig_backward(c, &a, NULL), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 40);
}

static void several_outputs(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *outs[2];
  outs[0] = ig_sum(c, x);
  outs[1] = ig_mul_tensor(c, x, x);
  ig_tensor *seeds[] = {NULL, VEC(1, 1)};
  ig_backward_args a = {.size = sizeof a, .outputs = outs, .noutputs = 2, .seeds = seeds};
  assert_int_equal(ig_backward(c, &a, NULL), IG_OK);
  CHECK(ig_tensor_grad(x), 3, 5);
}

// A user's seed is never the gradient itself.
static void seed_is_not_stolen(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *seed = VEC(5, 6);
  ig_backward_args a = {.size = sizeof a, .outputs = &x, .noutputs = 1, .seeds = &seed};
  assert_int_equal(ig_backward(c, &a, NULL), IG_OK);
  CHECK(ig_tensor_grad(x), 5, 6);
  assert_ptr_not_equal(ig_tensor_grad(x), seed);
  ((double *)ig_tensor_data(seed))[0] = 100;
  CHECK(ig_tensor_grad(x), 5, 6);
}

static void second_run_needs_the_bytes(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, x, x));
  assert_int_equal(backward_again(y), IG_OK);
  assert_int_equal(backward(y), IG_OK);
  CHECK(ig_tensor_grad(x), 4, 8);
  assert_int_not_equal(backward(y), IG_OK);
  fails("Trying to backward through the graph a second time");
  ig_tensor *z = ig_sum(c, ig_add_tensor(c, x, x));  // needs no bytes
  assert_int_equal(backward(z), IG_OK);
  assert_int_equal(backward(z), IG_OK);
}

static void higher_derivatives(void **state) {
  (void)state;
  ig_tensor *x = LEAF(2, 3);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, ig_mul_tensor(c, x, x), x));
  ig_tensor *first = grad_of(y, x, true);
  CHECK(first, 12, 27);
  assert_true(ig_tensor_requires_grad(first));
  ig_tensor *second = grad_of(ig_sum(c, first), x, true);
  CHECK(second, 12, 18);
  CHECK(grad_of(ig_sum(c, second), x, false), 6, 6);
}

// Through a result that the rule reads.
static void second_derivative_through_result(void **state) {
  (void)state;
  ig_tensor *x = LEAF(0);
  ig_tensor *y = ig_exp(c, ig_mul_tensor(c, x, VEC(3)));
  ig_tensor *first = grad_of(y, x, true);
  CHECK(first, 3);
  CHECK(grad_of(first, x, true), 9);
}

// .grad with a history: not in place.
static void create_graph_accumulates(void **state) {
  (void)state;
  ig_tensor *x = LEAF(3);
  ig_tensor *y = ig_mul_tensor(c, x, x);
  ig_backward_args a = {
      .size = sizeof a, .outputs = &y, .noutputs = 1, .retain_graph = true, .create_graph = true};
  assert_int_equal(ig_backward(c, &a, NULL), IG_OK);
  assert_true(ig_tensor_requires_grad(ig_tensor_grad(x)));
  CHECK(grad_of(ig_tensor_grad(x), x, false), 2);
  ig_tensor_set_grad(c, x, NULL);  // a history in .grad that leads to x is a cycle
}

static void lists(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *w = LEAF(3);
  ig_value both[] = {ig_of_tensor(x), ig_of_tensor(w)};
  ig_tensor *y = ig_cat(c, ig_of_list(both, 2));
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, y, y))), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 4);
  CHECK(ig_tensor_grad(w), 6);
  ig_value parts;
  ig_split_tensor(c, y, ig_const(2), &parts);
  is_ok();
  assert_int_equal(parts.kind, IG_KIND_LIST);
  assert_int_equal(parts.list.n, 2);
  assert_int_equal(backward(ig_sum(c, parts.list.at[0].tensor)), IG_OK);  // the other part: zero
  CHECK(ig_tensor_grad(x), 3, 5);
  CHECK(ig_tensor_grad(w), 6);
}

static void composite_operators(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2, 3, 4);
  ig_tensor *m = ig_reshape(c, x, ig_of_ints((ig_int[]){ig_const(2), ig_const(2)}, 2));
  ig_tensor *y = ig_linear_with(c, m, m, NULL);  // m m^T
  assert_int_equal(backward(ig_sum(c, y)), IG_OK);
  CHECK(ig_tensor_grad(x), 8, 12, 8, 12);
}

// Freed in a loop, walked in a loop: no stack frame per call.
static void long_history(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1);
  ig_tensor *one = VEC(1);
  ig_tensor *y = ig_tensor_retain(ig_mul_tensor(c, x, one));
  for (int i = 0; i < 200000; i++) {
    ig_scope s = ig_scope_open(c);
    ig_tensor *next = ig_tensor_retain(ig_add_tensor(c, y, one));
    ig_scope_close(c, s);
    ig_tensor_release(y);
    y = next;
  }
  assert_int_equal(backward_again(y), IG_OK);
  CHECK(ig_tensor_grad(x), 1);
  ig_tensor_release(y);
}

static ig_status session(ig_ctx *with) {
  c = with;
  ig_tensor *x = VEC(1, 2);
  if (x) ig_tensor_set_requires_grad(c, x, true);
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, ig_exp(c, x), x));
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_backward_args a = {
      .size = sizeof a, .outputs = &y, .noutputs = 1, .retain_graph = true, .create_graph = true};
  if (ig_backward(c, &a, NULL) != IG_OK) return ig_ctx_status(c);
  ig_tensor *g = ig_tensor_retain(ig_tensor_grad(x));
  ig_tensor_set_grad(c, x, NULL);
  ig_status st = backward(ig_sum(c, g));
  ig_tensor_release(g);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *warm = test_heap_ctx(&heap);  // the library of operators is made once
  assert_int_equal(session(warm), IG_OK);
  ig_ctx_free(warm);
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(product_and_sum),
      TEST(accumulates),
      TEST(shares_meet),
      TEST(broadcast_is_undone),
      TEST(dtype_is_the_operands),
      TEST(inputs_and_unused),
      TEST(accumulates_into_inputs),
      TEST(refusals),
      TEST(several_outputs),
      TEST(seed_is_not_stolen),
      TEST(second_run_needs_the_bytes),
      TEST(higher_derivatives),
      TEST(second_derivative_through_result),
      TEST(create_graph_accumulates),
      TEST(lists),
      TEST(composite_operators),
      TEST(long_history),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
