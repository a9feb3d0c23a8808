// SPDX-License-Identifier: Apache-2.0
// What a call refuses before any operator sees it: values of another kind than the schema names,
// and lists that are too short for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap.h"
#include "ingot/aten.h"

static ig_ctx *c;

static int setup(void **state) {
  (void)state;
  return ig_ctx_create(NULL, &c) == IG_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  ig_ctx_free(c);
  return 0;
}

static ig_tensor *ones(int64_t n, int64_t m) {
  ig_int sizes[] = {ig_const(n), ig_const(m)};
  return ig_ones(c, ig_of_ints(sizes, 2));
}

static void call(const char *name, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  const ig_op *op = ig_op_find(c, name);
  assert_non_null(op);
  ig_call(c, op, args, outs);
}

static void values_of_another_kind_are_refused(void **state) {
  (void)state;
  ig_tensor *x = ones(2, 3);
  ig_value text[] = {ig_of_tensor(x), ig_of_str("0"), ig_of_i64(1)};
  call("aten::transpose.int", text);
  test_error_has(c, "argument 'dim0': found str");
  ig_value complex_dim[] = {ig_of_tensor(x), ig_of_complex(1, 2), ig_of_i64(1)};
  call("aten::transpose.int", complex_dim);
  test_error_has(c, "argument 'dim0': found complex");
  ig_value boxed = ig_of_i64(6);
  ig_value list[] = {ig_of_tensor(x), ig_of_list(&boxed, 1)};
  call("aten::view", list);
  test_error_has(c, "argument 'size': found list");
  ig_value words[] = {ig_of_str("a"), ig_of_str("b")};
  ig_value scales[] = {ig_of_tensor(x), ig_none(), ig_of_bool(false), ig_of_list(words, 2)};
  call("aten::upsample_bilinear2d.vec", scales);
  test_error_has(c, "argument 'scale_factors': found list");
  ig_value mask[] = {ig_of_bool(true), ig_of_i64(2), ig_of_bool(true)};
  ig_value norm[] = {ig_of_tensor(x), ig_of_tensor(x),    ig_of_tensor(x), ig_of_tensor(x),
                     ig_none(),       ig_of_i64(2),       ig_of_i64(3),    ig_of_i64(1),
                     ig_of_i64(1),    ig_of_list(mask, 3)};
  call("aten::native_group_norm_backward", norm);
  test_error_has(c, "argument 'output_mask': found list");
}

// The first sequence decides nothing about the others.
static void sequences_have_a_dimension(void **state) {
  (void)state;
  ig_value sequences[] = {ig_of_tensor(ones(2, 3)), ig_of_tensor(ig_zeros(c, ig_of_ints(NULL, 0)))};
  ig_value args[] = {ig_of_list(sequences, 2), ig_of_bool(true), ig_of_f64(0), ig_of_str("right")};
  call("aten::pad_sequence", args);
  test_error_has(c, "expected sequences of at least one dimension");
}

// A host may give integers one by one in a list of anything.
static void boxed_integers_are_unboxed(void **state) {
  (void)state;
  ig_value items[] = {ig_of_i64(3), ig_of_i64(2)};
  ig_value values[] = {ig_of_tensor(ones(2, 3)), ig_of_list(items, 2)};
  ig_value out;
  ig_bound b = {.name = "view", .values = values, .npos = 2};
  ig_call_overload(c, ig_op_find(c, "aten::view"), &b, &out);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  assert_int_equal(ig_tensor_size(out.tensor, 0).value, 3);
}

static void lists_of_one_have_one(void **state) {
  (void)state;
  ig_tensor *x = ones(2, 3);
  ig_value none = ig_of_ints(NULL, 0);
  ig_int one = ig_const(1);
  ig_value args[] = {ig_of_tensor(x), none, ig_of_ints(&one, 1), none, ig_of_bool(false),
                     ig_of_bool(true)};
  call("aten::avg_pool1d", args);
  test_error_has(c, "expected kernel_size to be a single value or a list of 1 values");
  // Dimensions are as many as one likes.
  ig_int dims[] = {ig_const(0), ig_const(1)};
  ig_value sum[] = {ig_of_tensor(x), ig_of_ints(dims, 2), ig_of_bool(false), ig_none()};
  call("aten::sum.dim_IntList", sum);
  assert_int_equal(ig_ctx_status(c), IG_OK);
}

static void gradients_of_a_loss_have_its_shape(void **state) {
  (void)state;
  ig_int three = ig_const(3);
  ig_int none = ig_const(0);
  ig_tensor *x = ones(3, 5);
  ig_tensor *target =
      ig_zeros_with(c, ig_of_ints(&three, 1), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
  ig_tensor *empty = ig_zeros(c, ig_of_ints(&none, 1));
  ig_tensor *number = ig_zeros(c, ig_of_ints(NULL, 0));
  for (int reduction = 0; reduction < 3; reduction++) {
    ig_value args[] = {ig_of_tensor(empty),  ig_of_tensor(x), ig_of_tensor(target), ig_none(),
                       ig_of_i64(reduction), ig_of_i64(-100), ig_of_tensor(number)};
    call("aten::nll_loss_backward", args);
    test_error_has(c, "Expected a grad_output tensor");
  }
  ig_value args[] = {ig_of_tensor(number), ig_of_tensor(x), ig_of_tensor(target), ig_none(),
                     ig_of_i64(1),         ig_of_i64(-100), ig_of_tensor(empty)};
  call("aten::nll_loss_backward", args);
  test_error_has(c, "expected total_weight to be a single element tensor");
}

// A number of layers whose product with the parameters of a layer wraps around to the right one.
static void layers_that_wrap_around(void **state) {
  (void)state;
  ig_int three[] = {ig_const(1), ig_const(1), ig_const(1)};
  ig_tensor *x = ig_ones(c, ig_of_ints(three, 3));
  ig_tensor *w = ones(1, 1);
  ig_value weights[] = {ig_of_tensor(w), ig_of_tensor(w)};
  ig_value args[] = {ig_of_tensor(x),   ig_of_tensor(x),          ig_of_list(weights, 2),
                     ig_of_bool(false), ig_of_i64(INT64_MIN + 1), ig_of_f64(0),
                     ig_of_bool(false), ig_of_bool(false),        ig_of_bool(false)};
  call("aten::rnn_tanh.input", args);
  test_error_has(c, "do not fit -9223372036854775807 layers");
}

// As many systems as one likes: there is nothing to solve in any.
static void empty_systems_take_no_time(void **state) {
  (void)state;
  ig_int empty[] = {ig_const(1), ig_const(0), ig_const(0)};
  ig_int many[] = {ig_const((int64_t)1 << 40), ig_const(0), ig_const(3)};
  ig_int one[] = {ig_const(1), ig_const(0), ig_const(3)};
  ig_tensor *b = ig_expand(c, ig_zeros(c, ig_of_ints(one, 3)), ig_of_ints(many, 3));
  ig_value args[] = {ig_of_tensor(ig_zeros(c, ig_of_ints(empty, 3))), ig_of_tensor(b),
                     ig_of_bool(false), ig_of_bool(true), ig_of_bool(false)};
  call("aten::linalg_solve_triangular", args);
  assert_int_equal(ig_ctx_status(c), IG_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_another_kind_are_refused),
      cmocka_unit_test(sequences_have_a_dimension),
      cmocka_unit_test(boxed_integers_are_unboxed),
      cmocka_unit_test(lists_of_one_have_one),
      cmocka_unit_test(gradients_of_a_loss_have_its_shape),
      cmocka_unit_test(layers_that_wrap_around),
      cmocka_unit_test(empty_systems_take_no_time),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
