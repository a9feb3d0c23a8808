// SPDX-License-Identifier: Apache-2.0
// Operators defined from C: schema, kernel, rule for fake tensors, composite form, refusals,
// implementations that are released when no thread runs them any more.
#include "ingot/library.h"

#include <string.h>

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/program.h"

static ig_ctx *c;
static int released;

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
  released = 0;
  c = test_heap_ctx(&heap);
  return c ? 0 : -1;
}

static int teardown(void **state) {
  const test_heap *heap = *state;
  bool clean = ig_ctx_status(c) == IG_OK;
  if (!clean) print_error("left over: %s\n", ig_ctx_error(c));
  ig_ctx_free(c);
  if (heap->live != 0) print_error("%ld blocks are left\n", heap->live);
  return clean && heap->live == 0 ? 0 : -1;
}

static void count_release(void *user) {
  released += *(int *)user;
}

static ig_tensor *filled(int64_t n, float value) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, &n, 1);
  for (int64_t i = 0; t && i < n; i++) ((float *)ig_tensor_data(t))[i] = value + (float)i;
  return t;
}

static float at(const ig_value *v, size_t i) {
  return ((const float *)ig_tensor_data(v->tensor))[i];
}

static void triple(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)op;
  (void)user;
  outs[0] = ig_of_tensor(ig_mul_scalar(ctx, args[0].tensor, ig_of_f64(3)));
  outs[1] = ig_of_int(ig_tensor_size(args[0].tensor, 0));
}

static void shapes(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  ++*(int *)user;
  triple(ctx, op, args, outs, NULL);
}

static const ig_op *define(const char *schema) {
  const ig_op *op = NULL;
  assert_int_equal(ig_library_define(c, schema, 1U << IG_TAG_PT2_COMPLIANT, &op), IG_OK);
  return op;
}

static void implement(const ig_op *op, ig_impl_kind kind, ig_impl_fn *fn, void *user) {
  ig_impl impl = {fn, user, NULL};
  assert_int_equal(ig_library_implement(c, op, kind, &impl), IG_OK);
}

static void test_call(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_op *op = define("ctest::triple(Tensor x, int n=1) -> (Tensor, SymInt)");
  implement(op, IG_IMPL_KERNEL, triple, NULL);
  assert_ptr_equal(ig_op_find(c, "ctest::triple"), op);
  assert_ptr_equal(ig_op_find(c, "ctest.triple.default"), op);
  assert_true(ig_op_is_user(op));
  assert_int_equal(ig_op_tags(op), 1U << IG_TAG_PT2_COMPLIANT);
  ig_value outs[2];
  ig_call(c, op, (ig_value[]){ig_of_tensor(filled(2, 1)), ig_of_i64(1)}, outs);
  assert_int_equal(ig_ctx_status(c), IG_OK);
  assert_true(at(&outs[0], 1) == 6);
  assert_int_equal(outs[1].i.value, 2);
  // A kernel runs below autograd.
  ig_tensor *leaf = filled(2, 1);
  ig_tensor_set_requires_grad(c, leaf, true);
  ig_call(c, op, (ig_value[]){ig_of_tensor(leaf), ig_of_i64(1)}, outs);
  assert_false(ig_tensor_requires_grad(outs[0].tensor));
  ig_library_undefine(op);
  assert_null(ig_op_find(c, "ctest::triple"));
  ig_scope_close(c, s);
}

static void test_capture(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  int calls = 0;
  const ig_op *op = define("ctest::shaped(Tensor x, int n=1) -> (Tensor, SymInt)");
  implement(op, IG_IMPL_FAKE, shapes, &calls);
  implement(op, IG_IMPL_KERNEL, triple, NULL);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = ig_capture_input_like(c, "x", filled(2, 0));
  ig_value outs[2];
  ig_call(c, op, (ig_value[]){ig_of_tensor(x), ig_of_i64(7)}, outs);
  ig_program *p = NULL;
  assert_int_equal(ig_capture_end_program(c, outs, 1, &p), IG_OK);
  assert_int_equal(calls, 1);
  char *code = ig_program_code(c, p);
  assert_non_null(strstr(code, "shaped = torch.ops.ctest.shaped.default(x, 7);  x = None"));
  ig_text_free(c, code);
  ig_value in = ig_of_tensor(filled(2, 1));
  ig_value out;
  assert_int_equal(ig_program_run(c, p, &in, 1, &out), IG_OK);
  assert_true(at(&out, 0) == 3);
  assert_int_equal(calls, 1);
  ig_program_free(p);
  ig_library_undefine(op);
  ig_scope_close(c, s);
}

static void twice(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)op;
  (void)user;
  ig_tensor *x = args[0].tensor;
  outs[0] = ig_of_tensor(ig_add_tensor(ctx, x, x));
}

static void test_composite(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_op *op = define("ctest::twice(Tensor x) -> Tensor");
  implement(op, IG_IMPL_COMPOSITE, twice, NULL);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_value x = ig_of_tensor(ig_capture_input_like(c, "x", filled(2, 0)));
  ig_value out;
  ig_call(c, op, &x, &out);
  ig_program *p = NULL;
  assert_int_equal(ig_capture_end_program(c, &out, 1, &p), IG_OK);
  char *code = ig_program_code(c, p);
  assert_non_null(strstr(code, "torch.ops.ctest.twice.default(x)"));
  ig_text_free(c, code);
  ig_program *apart = NULL;
  ig_decompose_args level = {.size = sizeof level, .level = IG_DECOMPOSE_COMPOSITE};
  assert_int_equal(ig_program_decompose(c, p, &level, &apart), IG_OK);
  code = ig_program_code(c, apart);
  assert_non_null(strstr(code, "torch.ops.aten.add.Tensor(x, x)"));
  ig_text_free(c, code);
  ig_program_free(apart);
  ig_program_free(p);
  ig_library_undefine(op);
  ig_scope_close(c, s);
}

static void wrong(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)ctx;
  (void)op;
  (void)args;
  (void)user;
  outs[0] = ig_of_i64(1);
}

static void refuses(ig_status want, const char *text) {
  assert_int_equal(ig_ctx_status(c), want);
  if (!strstr(ig_ctx_error(c), text)) fail_msg("found: %s", ig_ctx_error(c));
  ig_ctx_clear(c);
}

static void test_refusals(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_op *op = define("ctest::first(Tensor x) -> Tensor");
  const ig_op *other = NULL;
  assert_int_equal(ig_library_define(c, "ctest::first(Tensor x) -> Tensor", 0, &other), IG_RUNTIME);
  refuses(IG_RUNTIME, "with the same name and overload name multiple times");
  assert_int_equal(ig_library_define(c, "aten::add.mine(Tensor x) -> Tensor", 0, &other),
                   IG_RUNTIME);
  refuses(IG_RUNTIME, "built-in operator");
  assert_int_equal(ig_library_define(c, "ctest::broken(Tensor x", 0, &other), IG_SYNTAX);
  refuses(IG_SYNTAX, "column");
  ig_impl impl = {wrong, &(int){1}, count_release};
  assert_int_equal(ig_library_implement(c, ig_op_find(c, "aten::mm"), IG_IMPL_KERNEL, &impl),
                   IG_INVALID);
  assert_int_equal(released, 1);
  refuses(IG_INVALID, "built-in operator");
  ig_value x = ig_of_tensor(filled(2, 1));
  ig_value out;
  ig_call(c, op, &x, &out);
  refuses(IG_UNSUPPORTED, "no kernel is registered");
  implement(op, IG_IMPL_KERNEL, wrong, NULL);
  ig_call(c, op, &x, &out);
  refuses(IG_BAD_TYPE, "expected a Tensor");
  assert_int_equal(ig_capture_begin(c), IG_OK);
  x = ig_of_tensor(ig_capture_input_like(c, "x", x.tensor));
  ig_call(c, op, &x, &out);
  ig_capture_abort(c);
  refuses(IG_UNSUPPORTED, "no fake impl registered for ctest::first");
  ig_library_undefine(op);
  ig_scope_close(c, s);
}

static void test_release(void **state) {
  (void)state;
  const ig_op *op = define("ctest::kept.one(Tensor x) -> Tensor");
  const ig_op *two = define("ctest::kept.two(Tensor x, Tensor y) -> Tensor");
  ig_impl first = {wrong, &(int){1}, count_release};
  ig_impl second = {wrong, &(int){10}, count_release};
  assert_int_equal(ig_library_implement(c, op, IG_IMPL_KERNEL, &first), IG_OK);
  assert_int_equal(ig_library_implement(c, op, IG_IMPL_KERNEL, &second), IG_OK);
  assert_int_equal(released, 1);
  assert_ptr_equal(ig_op_find(c, "ctest::kept.two"), two);
  ig_library_undefine(op);
  assert_int_equal(released, 11);
  assert_null(ig_op_find(c, "ctest::kept.one"));
  assert_ptr_equal(ig_op_find(c, "ctest::kept.two"), two);
  ig_library_undefine(two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_call, setup, teardown),
      cmocka_unit_test_setup_teardown(test_capture, setup, teardown),
      cmocka_unit_test_setup_teardown(test_composite, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
      cmocka_unit_test_setup_teardown(test_release, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
