// SPDX-License-Identifier: Apache-2.0
// Modes, leaves, detaching, inference tensors.
#include "fixture.h"

static void no_grad(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  assert_true(ig_grad_set_enabled(c, false));
  ig_tensor *y = ig_mul_tensor(c, x, x);
  assert_false(ig_tensor_requires_grad(y));
  assert_true(ig_tensor_is_leaf(c, y));
  assert_false(ig_grad_set_enabled(c, true));
  assert_true(ig_tensor_requires_grad(ig_mul_tensor(c, x, x)));
}

static void requires_grad_rules(void **state) {
  (void)state;
  int64_t n = 2;
  ig_tensor *i = ig_tensor_empty(c, IG_I64, &n, 1);
  ig_tensor_set_requires_grad(c, i, true);
  fails("only Tensors of floating point and complex dtype can require gradients");
  ig_tensor_set_requires_grad(c, i, false);
  is_ok();
  ig_tensor *y = ig_exp(c, LEAF(1));
  ig_tensor_set_requires_grad(c, y, true);
  is_ok();
  ig_tensor_set_requires_grad(c, y, false);
  fails("you can only change requires_grad flags of leaf variables.");
  assert_true(ig_tensor_requires_grad(y));
}

static void integer_results_have_none(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  assert_false(ig_tensor_requires_grad(ig_gt_scalar(c, x, ig_of_i64(1))));
}

static void detach(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *y = ig_exp(c, x);
  ig_tensor *d = ig_tensor_detach(c, y);
  is_ok();
  assert_false(ig_tensor_requires_grad(d));
  assert_false(ig_tensor_is_view(d));
  assert_ptr_equal(ig_tensor_data(d), ig_tensor_data(y));
  ig_tensor_detach_inplace(c, y);
  assert_false(ig_tensor_requires_grad(y));
  assert_true(ig_tensor_is_leaf(c, y));
  ig_tensor *v = ig_view(c, ig_exp(c, x), ig_of_ints((ig_int[]){ig_const(2)}, 1));
  ig_tensor_detach_inplace(c, v);
  fails("Can't detach views in-place. Use detach() instead.");
}

// Writing through .data is not noticed; writing through detach() is.
static void data_is_untracked(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_exp(c, x);
  ig_tensor *y = ig_sum(c, h);
  (void)ig_mul__tensor(c, ig_tensor_get_data(c, h), VEC(2, 2));
  is_ok();
  assert_int_equal(backward(y), IG_OK);
  h = ig_exp(c, x);
  y = ig_sum(c, h);
  (void)ig_mul__tensor(c, ig_tensor_detach(c, h), VEC(2, 2));
  assert_int_not_equal(backward(y), IG_OK);
  fails(
      "has been modified by an inplace operation: [torch.DoubleTensor [2]], which is output 0 of "
      "Exp, is at version 1; expected version 0 instead.");
}

static void set_data(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  int64_t sizes[] = {1, 3};
  ig_tensor *v = ig_tensor_empty(c, IG_F32, sizes, 2);
  ig_tensor_set_data(c, x, v);
  is_ok();
  assert_int_equal(ig_tensor_ndim(x), 2);
  assert_int_equal(ig_tensor_dtype(x), IG_F32);
  assert_ptr_equal(ig_tensor_data(x), ig_tensor_data(v));
  assert_true(ig_tensor_requires_grad(x));
  ig_tensor_set_data(c, x, ig_tensor_empty(c, IG_I64, sizes, 2));
  fails("data set to a tensor that requires gradients must be floating point or complex dtype");
}

static void inference_mode(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  assert_false(ig_inference_set_enabled(c, true));
  ig_tensor *y = ig_mul_tensor(c, x, x);
  ig_tensor *i = VEC(1, 2);
  ig_tensor *v = ig_view(c, x, ig_of_ints((ig_int[]){ig_const(2)}, 1));
  assert_true(ig_inference_set_enabled(c, false));
  is_ok();
  assert_true(ig_tensor_is_inference(y));
  assert_false(ig_tensor_requires_grad(y));
  assert_false(ig_tensor_is_inference(v));  // a view of a normal tensor
  assert_true(ig_tensor_is_inference(ig_view(c, i, ig_of_ints((ig_int[]){ig_const(2)}, 1))));
  (void)ig_add__tensor(c, i, VEC(1, 1));
  fails("Inplace update to inference tensor outside InferenceMode is not allowed.");
  (void)ig_mul_tensor(c, i, x);
  fails("Inference tensors cannot be saved for backward.");
  assert_true(ig_tensor_requires_grad(ig_add_tensor(c, i, x)));
  is_ok();
  ig_tensor_set_requires_grad(c, i, true);
  fails("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
}

static void own_grad(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor_set_grad(c, x, VEC(1, 2, 3));
  fails("attempting to assign a gradient of size '[3]' to a tensor of size '[2]'.");
  ig_tensor_set_grad(c, x, x);
  fails("can't assign Variable as its own grad");
  int64_t n = 2;
  ig_tensor_set_grad(c, x, ig_tensor_empty(c, IG_F32, &n, 1));
  fails("attempting to assign a gradient with dtype 'float32'");
}

static void retain_grad(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_tensor_retain_grad(c, h);
  assert_true(ig_tensor_retains_grad(h));
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, h, h))), IG_OK);
  CHECK(ig_tensor_grad(h), 2, 8);
  ig_tensor_retain_grad(c, x);
  assert_false(ig_tensor_retains_grad(x));  // leaves keep theirs anyway
  ig_tensor_retain_grad(c, VEC(1));
  fails("can't retain_grad on Tensor that has requires_grad=False");
}

// A result that keeps its gradient dies before the history does.
static void retainer_dies(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_scope s = ig_scope_open(c);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_tensor_retain_grad(c, h);
  ig_tensor *y = ig_scope_return(c, s, ig_sum(c, h));
  assert_int_equal(backward(y), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 4);
}

static void functions(void **state) {
  (void)state;
  char text[64];
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, x);
  ig_tensor *y = ig_sum(c, h);
  ig_grad_fn *f = ig_tensor_grad_fn(c, y, NULL);
  assert_non_null(f);
  assert_string_equal(ig_grad_fn_name(f, text, sizeof text), "SumBackward0");
  ig_grad_fn *next = NULL;
  uint32_t index = 7;
  ig_tensor *t = NULL;
  assert_true(ig_grad_fn_next(f, 0, &next, &index, &t));
  assert_ptr_equal(next, ig_tensor_grad_fn(c, h, NULL));
  assert_int_equal(index, 0);
  assert_false(ig_grad_fn_next(f, 1, &next, &index, &t));
  assert_true(ig_grad_fn_next(ig_tensor_grad_fn(c, h, NULL), 1, &next, &index, &t));
  assert_null(next);
  assert_ptr_equal(t, x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(no_grad),
      TEST(requires_grad_rules),
      TEST(integer_results_have_none),
      TEST(detach),
      TEST(data_is_untracked),
      TEST(set_data),
      TEST(inference_mode),
      TEST(own_grad),
      TEST(retain_grad),
      TEST(retainer_dies),
      TEST(functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
