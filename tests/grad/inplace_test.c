// SPDX-License-Identifier: Apache-2.0
// Writing in place under autograd: leaves, results, views of both, versions.
#include "fixture.h"

static ig_tensor *item(ig_tensor *t, int64_t i) {
  return ig_select_int(c, t, ig_const(0), ig_const(i));
}

static void leaves_are_protected(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  (void)ig_add__tensor(c, x, VEC(1, 1));
  fails("a leaf Variable that requires grad is being used in an in-place operation.");
  (void)ig_add__tensor(c, item(x, 0), VEC(1));
  fails("a view of a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(x, 1, 2);
  (void)ig_grad_set_enabled(c, false);
  (void)ig_add__tensor(c, x, VEC(1, 1));
  (void)ig_grad_set_enabled(c, true);
  CHECK(x, 2, 3);
  assert_true(ig_tensor_requires_grad(x));
}

static void result_gets_new_history(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *w = LEAF(3, 4);
  ig_tensor *h = ig_add_tensor(c, x, VEC(1, 1));
  ig_tensor *same = ig_mul__tensor(c, h, w);  // the old elements are kept for w
  assert_ptr_equal(same, h);
  assert_int_equal(ig_tensor_version(h), 1);
  assert_int_equal(backward(ig_sum(c, h)), IG_OK);
  CHECK(ig_tensor_grad(x), 3, 4);
  CHECK(ig_tensor_grad(w), 2, 3);
}

// A tensor that wanted no gradient becomes a result.
static void constant_becomes_result(void **state) {
  (void)state;
  ig_tensor *w = LEAF(3, 4);
  ig_tensor *x = VEC(1, 2);
  (void)ig_mul__tensor(c, x, w);
  assert_true(ig_tensor_requires_grad(x));
  assert_false(ig_tensor_is_leaf(c, x));
  assert_int_equal(backward(ig_sum(c, x)), IG_OK);
  CHECK(ig_tensor_grad(w), 1, 2);
}

static void versions_are_checked_when_read(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_add_tensor(c, x, VEC(1, 1));
  ig_tensor *y = ig_mul_tensor(c, h, h);
  (void)ig_add__tensor(c, h, VEC(1, 1));
  assert_int_not_equal(backward(ig_sum(c, y)), IG_OK);
  fails(
      "one of the variables needed for gradient computation has been modified by an inplace "
      "operation: [torch.DoubleTensor [2]], which is output 0 of Add, is at version 1; expected "
      "version 0 instead. Hint: enable anomaly detection");
  h = ig_add_tensor(c, x, VEC(1, 1));
  y = ig_add_tensor(c, h, h);  // reads no elements
  (void)ig_add__tensor(c, h, VEC(1, 1));
  assert_int_equal(backward(ig_sum(c, y)), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 2);
}

// Only the gradient that reads the overwritten elements is refused: here it is not wanted.
static void unread_elements_may_change(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_add_tensor(c, x, VEC(1, 1));
  ig_tensor *y = ig_mul_tensor(c, h, VEC(5, 6));
  (void)ig_add__tensor(c, h, VEC(1, 1));
  assert_int_equal(backward(ig_sum(c, y)), IG_OK);
  CHECK(ig_tensor_grad(x), 5, 6);
}

// v = b[0]; v *= w: the history of b changes, and that of its other views.
static void view_changes_its_base(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2, 3);
  ig_tensor *w = LEAF(10);
  ig_tensor *b = ig_add_tensor(c, x, VEC(0, 0, 0));
  ig_tensor *v = item(b, 0);
  ig_tensor *other = item(b, 1);
  ig_tensor *scalar = ig_reshape(c, w, ig_of_ints(NULL, 0));
  (void)ig_mul__tensor(c, v, scalar);
  is_ok();
  CHECK(b, 10, 2, 3);
  char text[64];
  assert_string_equal(ig_grad_fn_name(ig_tensor_grad_fn(c, b, NULL), text, sizeof text),
                      "CopySlices");
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, b, VEC(1, 100, 1000)));
  assert_int_equal(backward_again(y), IG_OK);
  CHECK(ig_tensor_grad(x), 10, 100, 1000);
  CHECK(ig_tensor_grad(w), 1);
  ig_tensor_set_grad(c, x, NULL);
  ig_tensor_set_grad(c, w, NULL);
  assert_int_equal(backward_again(ig_mul_tensor(c, v, v)), IG_OK);  // the written view itself
  CHECK(ig_tensor_grad(x), 200, 0, 0);
  CHECK(ig_tensor_grad(w), 20);
  ig_tensor_set_grad(c, x, NULL);
  assert_int_equal(backward(ig_mul_tensor(c, other, other)), IG_OK);  // a view made before
  CHECK(ig_tensor_grad(x), 0, 4, 0);
}

static void view_of_constant(void **state) {
  (void)state;
  ig_tensor *w = LEAF(10);
  ig_tensor *b = VEC(1, 2, 3);
  ig_tensor *v = item(b, 1);
  ig_tensor *other = item(b, 1);
  (void)ig_mul__tensor(c, v, ig_reshape(c, w, ig_of_ints(NULL, 0)));
  is_ok();
  assert_true(ig_tensor_requires_grad(b));
  assert_true(ig_tensor_requires_grad(v));
  assert_true(ig_tensor_requires_grad(other));
  assert_false(ig_tensor_is_leaf(c, other));
  assert_int_equal(backward(ig_sum(c, b)), IG_OK);
  CHECK(ig_tensor_grad(w), 2);
}

// In place on the base: its views follow.
static void base_changes_its_views(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *b = ig_add_tensor(c, x, VEC(0, 0));
  ig_tensor *v = item(b, 1);
  (void)ig_mul__tensor(c, b, VEC(3, 4));
  assert_int_equal(backward(v), IG_OK);
  CHECK(ig_tensor_grad(x), 0, 4);
}

static void second_derivative_through_slices(void **state) {
  (void)state;
  ig_tensor *x = LEAF(2, 3);
  ig_tensor *b = ig_mul_tensor(c, x, x);
  ig_tensor *v = item(b, 0);
  (void)ig_mul__tensor(c, v, item(x, 1));  // b = [x0^2 x1, x1^2]
  ig_tensor *y = ig_sum(c, ig_mul_tensor(c, b, VEC(1, 1)));
  ig_tensor *g = grad_of(y, x, true);
  CHECK(g, 12, 4 + 6);
  CHECK(grad_of(ig_sum(c, g), x, false), 6 + 4, 4 + 2);
}

static void copies_into_views(void **state) {
  (void)state;
  ig_tensor *x = LEAF(5);
  ig_tensor *b = VEC(1, 2, 3);
  ig_tensor *v = ig_slice_tensor_with(c, b, ig_const(0), ig_of_i64(1), ig_of_i64(2), ig_const(1));
  (void)ig_copy_(c, v, x);
  is_ok();
  CHECK(b, 1, 5, 3);
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, b, b))), IG_OK);
  CHECK(ig_tensor_grad(x), 10);
}

static void forbidden_views(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *b = ig_exp(c, x);
  (void)ig_grad_set_enabled(c, false);
  ig_tensor *v = item(b, 0);
  (void)ig_grad_set_enabled(c, true);
  (void)ig_mul__tensor(c, v, ig_reshape(c, VEC(2), ig_of_ints(NULL, 0)));
  fails("A view was created in no_grad mode and is being modified inplace with grad mode enabled.");
  (void)ig_inference_set_enabled(c, true);
  v = item(b, 0);
  (void)ig_inference_set_enabled(c, false);
  (void)ig_mul__tensor(c, v, ig_reshape(c, VEC(2), ig_of_ints(NULL, 0)));
  fails("A view was created in inference mode and is being modified inplace in normal mode.");
  ig_value parts;
  ig_unbind_int(c, b, &parts);
  is_ok();
  (void)ig_mul__tensor(c, parts.list.at[1].tensor, ig_reshape(c, VEC(2), ig_of_ints(NULL, 0)));
  fails(
      "Output 1 of Unbind is a view and is being modified inplace. This view is the output of a "
      "function that returns multiple views.");
}

// t_() gives a result another shape.
static void view_in_place(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, VEC(1, 1));
  (void)ig_unsqueeze_(c, h, ig_const(0));
  is_ok();
  assert_int_equal(ig_tensor_ndim(h), 2);
  assert_int_equal(backward(ig_sum(c, ig_mul_tensor(c, h, h))), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 4);
}

static void out_has_no_gradient(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_value args[] = {ig_of_tensor(x), ig_of_tensor(x), ig_of_i64(1), ig_of_tensor(VEC(0, 0))};
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, ig_op_find(c, "aten::add.out"), args, out);
  fails(
      "add(): functions with out=... arguments don't support automatic differentiation, but one of "
      "the arguments requires grad.");
}

static void retained_gradient_moves(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *h = ig_mul_tensor(c, x, VEC(1, 1));
  ig_tensor_retain_grad(c, h);
  (void)ig_mul__tensor(c, h, VEC(3, 3));
  assert_int_equal(backward(ig_sum(c, h)), IG_OK);
  CHECK(ig_tensor_grad(h), 1, 1);  // of what h is now
  CHECK(ig_tensor_grad(x), 3, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(leaves_are_protected),
      TEST(result_gets_new_history),
      TEST(constant_becomes_result),
      TEST(versions_are_checked_when_read),
      TEST(unread_elements_may_change),
      TEST(view_changes_its_base),
      TEST(view_of_constant),
      TEST(base_changes_its_views),
      TEST(second_derivative_through_slices),
      TEST(copies_into_views),
      TEST(forbidden_views),
      TEST(view_in_place),
      TEST(out_has_no_gradient),
      TEST(retained_gradient_moves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
