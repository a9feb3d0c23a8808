// SPDX-License-Identifier: Apache-2.0
// Functions whose backward the host gives.
#include "fixture.h"

typedef struct host {
  int calls;
  int freed;
  bool came[4];
} host;

static void host_free(void *user) {
  ((host *)user)->freed++;
}

// y = x * x with x saved.
static void square_backward(ig_ctx *ctx, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                            void *user) {
  ((host *)user)->calls++;
  ig_tensor *x = ig_grad_fn_saved(ctx, f, 0);
  ig_tensor *twice = ig_add_tensor(ctx, x, x);
  d[0] = ig_mul_tensor(ctx, grads[0], twice);
}

static ig_tensor *square(ig_tensor *x, host *h) {
  bool on = ig_grad_set_enabled(c, false);
  ig_tensor *y = ig_mul_tensor(c, x, x);
  (void)ig_grad_set_enabled(c, on);
  ig_custom f = {.name = "SquareBackward",
                 .backward = square_backward,
                 .free_fn = host_free,
                 .user = h,
                 .inputs = &x,
                 .ninputs = 1,
                 .outputs = &y,
                 .noutputs = 1,
                 .saved = &x,
                 .nsaved = 1,
                 .materialize = true};
  (void)ig_grad_custom(c, &f);
  return y;
}

static void once_and_twice(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = LEAF(2, 3);
  ig_tensor *y = square(ig_mul_tensor(c, x, x), &h);  // x^4
  char text[64];
  assert_string_equal(ig_grad_fn_name(ig_tensor_grad_fn(c, y, NULL), text, sizeof text),
                      "SquareBackward");
  assert_true(ig_grad_fn_wants(ig_tensor_grad_fn(c, y, NULL), 0));
  assert_ptr_equal(ig_grad_fn_user(ig_tensor_grad_fn(c, y, NULL)), &h);
  ig_tensor *g = grad_of(ig_sum(c, y), x, true);
  CHECK(g, 32, 108);
  CHECK(grad_of(ig_sum(c, g), x, false), 48, 108);
  assert_int_equal(h.freed, 0);
  ig_scope_close(c, s);
  assert_int_equal(h.freed, 1);
}

static void no_gradient_wanted(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_tensor *y = square(VEC(2), &h);
  assert_false(ig_tensor_requires_grad(y));
  assert_int_equal(h.freed, 1);
  is_ok();
}

static void saved_is_checked(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_tensor *x = LEAF(2, 3);
  ig_tensor *m = ig_mul_tensor(c, x, VEC(1, 1));
  ig_tensor *y = ig_sum(c, square(m, &h));
  assert_int_equal(backward_again(y), IG_OK);
  (void)ig_add__tensor(c, m, VEC(1, 1));
  assert_int_not_equal(backward(y), IG_OK);
  fails("has been modified by an inplace operation: [torch.DoubleTensor [2]]");
  y = ig_sum(c, square(x, &h));
  assert_int_equal(backward(y), IG_OK);
  assert_int_not_equal(backward(y), IG_OK);
  fails("Trying to backward through the graph a second time");
}

static void split_backward(ig_ctx *ctx, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                           void *user) {
  host *h = user;
  (void)ctx;
  (void)f;
  h->calls++;
  for (int i = 0; i < 3; i++) h->came[i] = grads[i] != NULL;
  d[0] = grads[0];  // d[1] stays None
}

// Two inputs, three outputs of which one is not differentiable.
static void split(host *h, ig_tensor *a, ig_tensor *b, bool materialize, ig_tensor **outs) {
  bool on = ig_grad_set_enabled(c, false);
  outs[0] = ig_mul_tensor(c, a, VEC(1, 1));
  outs[1] = ig_mul_tensor(c, b, VEC(1, 1));
  outs[2] = ig_mul_tensor(c, a, VEC(2, 2));
  (void)ig_grad_set_enabled(c, on);
  ig_tensor *in[] = {a, b};
  ig_custom f = {.name = "SplitBackward",
                 .backward = split_backward,
                 .free_fn = host_free,
                 .user = h,
                 .inputs = in,
                 .ninputs = 2,
                 .outputs = outs,
                 .noutputs = 3,
                 .nondiff = &outs[2],
                 .nnondiff = 1,
                 .materialize = materialize};
  (void)ig_grad_custom(c, &f);
}

static void several(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_tensor *a = LEAF(1, 2);
  ig_tensor *b = LEAF(3, 4);
  ig_tensor *outs[3];
  split(&h, a, b, false, outs);
  assert_true(ig_tensor_requires_grad(outs[0]));
  assert_true(ig_tensor_requires_grad(outs[1]));
  assert_false(ig_tensor_requires_grad(outs[2]));
  assert_int_equal(backward(ig_sum(c, outs[0])), IG_OK);
  CHECK(ig_tensor_grad(a), 1, 1);
  assert_null(ig_tensor_grad(b));
  assert_true(h.came[0] && !h.came[1] && !h.came[2]);
  split(&h, a, b, true, outs);
  assert_int_equal(backward(ig_sum(c, outs[1])), IG_OK);
  assert_true(h.came[0] && h.came[1] && h.came[2]);
  CHECK(ig_tensor_grad(a), 1, 1);
}

static void double_backward(ig_ctx *ctx, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                            void *user) {
  (void)f;
  (void)user;
  d[0] = ig_add_tensor(ctx, grads[0], grads[0]);
}

static ig_tensor *double_in_place(ig_tensor *x, bool dirty) {
  bool on = ig_grad_set_enabled(c, false);
  if (dirty && !ig_tensor_is_leaf(c, x)) {
    (void)ig_mul__tensor(c, x, ig_reshape(c, VEC(2), ig_of_ints(NULL, 0)));
  }
  (void)ig_grad_set_enabled(c, on);
  ig_tensor *y = x;
  ig_custom f = {.name = "DoubleBackward",
                 .backward = double_backward,
                 .inputs = &x,
                 .ninputs = 1,
                 .outputs = &y,
                 .noutputs = 1,
                 .dirty = &x,
                 .ndirty = dirty ? 1 : 0,
                 .materialize = true};
  (void)ig_grad_custom(c, &f);
  return y;
}

static void written_inputs(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *m = ig_mul_tensor(c, x, VEC(1, 1));
  ig_tensor *y = double_in_place(m, true);
  assert_ptr_equal(y, m);
  assert_int_equal(backward(ig_sum(c, m)), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 2);
  (void)double_in_place(x, true);
  fails("a leaf Variable that requires grad has been used in an in-place operation.");
  ig_tensor *b = ig_mul_tensor(c, x, VEC(1, 1));
  (void)double_in_place(ig_select_int(c, b, ig_const(0), ig_const(1)), true);  // a view
  ig_tensor_set_grad(c, x, NULL);
  assert_int_equal(backward(ig_sum(c, b)), IG_OK);
  CHECK(ig_tensor_grad(x), 1, 2);
}

static void input_returned_as_it_was(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *y = double_in_place(x, false);
  assert_ptr_not_equal(y, x);
  assert_true(ig_tensor_is_view(y));
  assert_int_equal(backward_again(ig_sum(c, y)), IG_OK);
  CHECK(ig_tensor_grad(x), 2, 2);
  (void)ig_mul__tensor(c, y, VEC(2, 2));
  fails(
      "Output 0 of Double is a view and is being modified inplace. This view was created inside a "
      "custom Function (or because an input was returned as-is)");
}

static void wrong_backward(ig_ctx *ctx, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                           void *user) {
  (void)f;
  (void)grads;
  (void)user;
  int64_t n = 3;
  d[0] = ig_tensor_empty(ctx, IG_F64, &n, 1);
}

static void wrong_gradient(void **state) {
  (void)state;
  ig_tensor *x = LEAF(1, 2);
  ig_tensor *y = VEC(1, 2);
  ig_custom f = {.name = "WrongBackward",
                 .backward = wrong_backward,
                 .inputs = &x,
                 .ninputs = 1,
                 .outputs = &y,
                 .noutputs = 1,
                 .materialize = true};
  (void)ig_grad_custom(c, &f);
  assert_int_not_equal(backward(ig_sum(c, y)), IG_OK);
  fails(
      "Function WrongBackward returned an invalid gradient at index 0 - got [3] but expected shape "
      "compatible with [2]");
}

// A result that is saved: no cycle.
static void saved_result(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = LEAF(2);
  ig_tensor *y = VEC(2);
  ig_custom f = {.name = "SelfBackward",
                 .backward = square_backward,
                 .free_fn = host_free,
                 .user = &h,
                 .inputs = &x,
                 .ninputs = 1,
                 .outputs = &y,
                 .noutputs = 1,
                 .saved = &y,
                 .nsaved = 1,
                 .materialize = true};
  (void)ig_grad_custom(c, &f);
  ig_tensor *g = grad_of(y, x, true);  // claims 2 y
  CHECK(g, 4);
  CHECK(grad_of(g, x, false), 8);
  ig_scope_close(c, s);
  assert_int_equal(h.freed, 1);
}

// a = x * x and b = a * x: results of which one is computed from the other.
static void two_backward(ig_ctx *ctx, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                         void *user) {
  ((host *)user)->calls++;
  ig_tensor *x = ig_grad_fn_saved(ctx, f, 0);
  ig_tensor *of_a = ig_mul_tensor(ctx, grads[0], ig_add_tensor(ctx, x, x));
  ig_tensor *square_of = ig_mul_tensor(ctx, x, x);
  ig_tensor *twice = ig_add_tensor(ctx, square_of, square_of);
  ig_tensor *of_b = ig_mul_tensor(ctx, grads[1], ig_add_tensor(ctx, twice, square_of));
  d[0] = ig_add_tensor(ctx, of_a, of_b);
}

static void two_again(ig_ctx *ctx, ig_tensor **outs, void *user) {
  ig_tensor *x = user;
  outs[0] = ig_mul_tensor(ctx, x, x);
  outs[1] = ig_mul_tensor(ctx, outs[0], x);
}

static ig_tensor *times_ten(ig_ctx *ctx, ig_tensor *grad, void *user) {
  (void)user;
  return ig_mul_tensor(ctx, grad, VEC(10));
}

// What was computed from the results before counts, too.
static void divided(void **state) {
  (void)state;
  static host h;  // freed with the context
  h = (host){0};
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = LEAF(2);
  ig_tensor *made[2] = {NULL, NULL};
  bool on = ig_grad_set_enabled(c, false);
  two_again(c, made, x);
  (void)ig_grad_set_enabled(c, on);
  ig_custom f = {.name = "TwoBackward",
                 .backward = two_backward,
                 .free_fn = host_free,
                 .user = &h,
                 .inputs = &x,
                 .ninputs = 1,
                 .outputs = made,
                 .noutputs = 2,
                 .saved = &x,
                 .nsaved = 1,
                 .materialize = true,
                 .divisible = true};
  ig_grad_fn *fn = ig_grad_custom(c, &f);
  ig_tensor *loss = ig_add_tensor(c, made[0], made[1]);
  CHECK(grad_of(loss, x, true), 16);  // 2 x + 3 x^2
  assert_int_equal(h.calls, 1);
  assert_true(ig_grad_fn_is_divisible(fn));
  ig_grad_fn_divide(c, fn, two_again, x);
  assert_false(ig_grad_fn_is_divisible(fn));
  CHECK(grad_of(loss, made[0], true), 3);  // 1 + x
  ig_grad_hook hook = {.fn = times_ten};
  assert_true(ig_tensor_add_hook(c, made[0], &hook) != 0);
  CHECK(grad_of(loss, x, false), 124);  // 10 (1 + x) 2 x + x^2
  assert_int_equal(h.calls, 1);
  ig_scope_close(c, s);
  assert_int_equal(h.freed, 1);
  is_ok();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(once_and_twice), TEST(no_gradient_wanted), TEST(saved_is_checked),
      TEST(several),        TEST(written_inputs),     TEST(input_returned_as_it_was),
      TEST(wrong_gradient), TEST(saved_result),       TEST(divided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
