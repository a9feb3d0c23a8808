// SPDX-License-Identifier: Apache-2.0
// Higher-order operators from C: eager, captured, run from the graph, rewritten; what functions
// read of their surroundings becomes an operand; results that do not fit are refused.
#include "ingot/hop.h"

#include <string.h>

#include "base/ctx.h"
#include "heap.h"
#include "ingot/aten.h"
#include "ingot/library.h"
#include "ingot/program.h"

static ig_ctx *c;

static int setup(void **state) {
  static test_heap heap;
  heap = (test_heap){0};
  *state = &heap;
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

static ig_tensor *filled(int64_t n, float value) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, &n, 1);
  for (int64_t i = 0; t && i < n; i++) ((float *)ig_tensor_data(t))[i] = value;
  return t;
}

static ig_value one(ig_tensor *t) {
  return ig_of_tensor(t);
}

static float at(const ig_value *v, size_t i) {
  return ((const float *)ig_tensor_data(v->tensor))[i];
}

static const ig_value *give(ig_ctx *ctx, ig_tensor *t, size_t *n) {
  ig_value *out = ig_scope_push(ctx, sizeof *out);
  if (!out) return NULL;
  out[0] = ig_of_tensor(t);
  *n = 1;
  return out;
}

// x * 2 + a tensor of the surroundings
static const ig_value *scaled(ig_ctx *ctx, const ig_value *in, size_t n, size_t *nouts, void *u) {
  (void)n;
  ig_tensor *y = ig_mul_scalar(ctx, in[0].tensor, ig_of_f64(2));
  return give(ctx, u ? ig_add_tensor(ctx, y, u) : y, nouts);
}

static const ig_value *negated(ig_ctx *ctx, const ig_value *in, size_t n, size_t *nouts, void *u) {
  (void)n;
  (void)u;
  return give(ctx, ig_neg(ctx, in[0].tensor), nouts);
}

static const ig_value *halved(ig_ctx *ctx, const ig_value *in, size_t n, size_t *nouts, void *u) {
  (void)n;
  (void)u;
  ig_tensor *x = in[0].tensor;
  return give(ctx, ig_slice_tensor_with(ctx, x, ig_const(0), ig_none(), ig_of_i64(1), ig_const(1)),
              nouts);
}

static void has(char *text, const char *part) {
  assert_non_null(text);
  if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
  ig_text_free(c, text);
}

static void test_cond_eager(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_branch yes = {.fn = scaled};
  ig_branch no = {.fn = negated};
  ig_value x = one(filled(2, 3));
  for (int k = 0; k < 2; k++) {
    ig_value pred = ig_of_bool(k == 0);
    ig_cond_args a = {
        .size = sizeof a, .pred = &pred, .yes = &yes, .no = &no, .operands = &x, .noperands = 1};
    size_t n = 0;
    const ig_value *out = ig_cond(c, &a, &n);
    assert_non_null(out);
    assert_true(n == 1 && at(out, 0) == (k == 0 ? 6.0F : -3.0F));
  }
  ig_scope_close(c, s);
}

static ig_program *capture_cond(ig_tensor *outside, const ig_branch *yes, const ig_branch *no) {
  assert_int_equal(ig_capture_begin(c), IG_OK);
  if (outside) assert_non_null(ig_capture_buffer(c, "off.set", outside));
  ig_tensor *x = ig_capture_input_like(c, "x", filled(2, 0));
  ig_tensor *p = ig_gt_scalar(c, ig_sum(c, x), ig_of_f64(0));
  ig_value pred = one(p);
  ig_value operand = one(x);
  ig_cond_args a = {
      .size = sizeof a, .pred = &pred, .yes = yes, .no = no, .operands = &operand, .noperands = 1};
  size_t n = 0;
  const ig_value *out = ig_cond(c, &a, &n);
  ig_program *program = NULL;
  ig_status st = ig_capture_end_program(c, out, n, &program);
  assert_true((st == IG_OK) == (program != NULL));
  return program;
}

static void test_cond_captured(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_tensor *outside = filled(2, 10);
  ig_branch yes = {.fn = scaled, .user = outside};
  ig_branch no = {.fn = negated};
  ig_program *p = capture_cond(outside, &yes, &no);
  assert_non_null(p);
  // x is read by both, the buffer by one.
  has(ig_program_code(c, p),
      "conditional = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, [x, "
      "b_off_set]);");
  const ig_node *attr = ig_graph_find(ig_program_graph(p), "false_graph_0");
  assert_int_equal(ig_node_get_kind(attr), IG_NODE_ATTR);
  ig_program *again = NULL;
  assert_int_equal(
      ig_program_decompose(
          c, p, &(ig_decompose_args){.size = sizeof(ig_decompose_args), .level = IG_DECOMPOSE_CORE},
          &again),
      IG_OK);
  has(ig_program_code(c, again), "false_graph_0, [x, b_off_set]);");
  for (int k = 0; k < 2; k++) {
    ig_value in = one(filled(2, k == 0 ? 1.0F : -1.0F));
    ig_value out[1];
    assert_int_equal(ig_program_run(c, p, &in, 1, out), IG_OK);
    assert_true(at(out, 1) == (k == 0 ? 12.0F : 1.0F));
    assert_int_equal(ig_program_run(c, again, &in, 1, out), IG_OK);
    assert_true(at(out, 1) == (k == 0 ? 12.0F : 1.0F));
  }
  ig_program_free(again);
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void test_cond_refused(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_branch yes = {.fn = scaled};
  ig_branch no = {.fn = halved};
  assert_null(capture_cond(NULL, &yes, &no));
  assert_int_equal(ig_ctx_status(c), IG_BRANCH);
  assert_non_null(strstr(ig_ctx_error(c), "float32[2] and float32[1]"));
  ig_ctx_clear(c);
  ig_value pred = ig_of_f64(1);
  ig_cond_args a = {.size = sizeof a, .pred = &pred, .yes = &yes, .no = &no};
  size_t n = 0;
  assert_null(ig_cond(c, &a, &n));
  assert_int_equal(ig_ctx_status(c), IG_RUNTIME);
  ig_ctx_clear(c);
  ig_scope_close(c, s);
}

static void test_map(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_tensor *outside = filled(1, 10);
  ig_branch body = {.fn = scaled, .user = outside};
  ig_value xs = one(ig_view(c, filled(6, 2), ig_of_ints((ig_int[]){ig_const(3), ig_const(2)}, 2)));
  size_t n = 0;
  const ig_value *eager = ig_map_over(c, &body, &xs, 1, NULL, 0, &n);
  assert_true(eager && n == 1 && eager->tensor && at(eager, 5) == 14);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_value in = one(ig_capture_input_like(c, "xs", xs.tensor));
  const ig_value *out = ig_map_over(c, &body, &in, 1, NULL, 0, &n);
  ig_program *p = NULL;
  assert_int_equal(ig_capture_end_program(c, out, n, &p), IG_OK);
  has(ig_program_code(c, p),
      "torch.ops.higher_order.map_impl(body_graph_0, [xs], [c_lifted_tensor_0])");
  ig_value got[1];
  assert_int_equal(ig_program_run(c, p, &xs, 1, got), IG_OK);
  assert_true(at(got, 0) == 14);
  ig_program_free(p);
  ig_scope_close(c, s);
}

static const ig_value *below_ten(ig_ctx *ctx, const ig_value *in, size_t n, size_t *nouts,
                                 void *u) {
  (void)n;
  (void)u;
  return give(ctx, ig_lt_scalar(ctx, ig_sum(ctx, in[0].tensor), ig_of_f64(10)), nouts);
}

static void test_while_loop(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_branch cond = {.fn = below_ten};
  ig_branch body = {.fn = scaled};
  ig_value x = one(filled(1, 1));
  size_t n = 0;
  const ig_value *out = ig_while_loop(c, &cond, &body, &x, 1, NULL, 0, &n);
  assert_true(out && n == 1 && at(out, 0) == 16);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_value in = one(ig_capture_input_like(c, "x", x.tensor));
  out = ig_while_loop(c, &cond, &body, &in, 1, NULL, 0, &n);
  ig_program *p = NULL;
  assert_int_equal(ig_capture_end_program(c, out, n, &p), IG_OK);
  ig_value got[1];
  assert_int_equal(ig_program_run(c, p, &x, 1, got), IG_OK);
  assert_true(at(got, 0) == 16);
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void bump(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)op;
  (void)user;
  (void)ig_add__scalar(ctx, args[0].tensor, ig_of_f64(5));
  outs[0] = args[0];
}

static void same(ig_ctx *ctx, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  (void)ctx;
  (void)op;
  (void)user;
  outs[0] = args[0];
}

static void test_auto_functionalized(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_op *op = NULL;
  assert_int_equal(ig_library_define(c, "hoptest::bump(Tensor(a!) x, int k=1) -> Tensor", 0, &op),
                   IG_OK);
  assert_int_equal(ig_library_implement(c, op, IG_IMPL_KERNEL, &(ig_impl){bump, NULL, NULL}),
                   IG_OK);
  assert_int_equal(ig_library_implement(c, op, IG_IMPL_FAKE, &(ig_impl){same, NULL, NULL}), IG_OK);
  ig_tensor *x = filled(2, 1);
  ig_value args[] = {one(x), ig_of_i64(1)};
  size_t n = 0;
  const ig_value *out = ig_auto_functionalized(c, op, args, &n);
  assert_true(out && n == 2 && at(&out[0], 0) == 6 && at(&out[1], 0) == 6);
  assert_true(at(&args[0], 0) == 1);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  args[0] = one(ig_capture_input_like(c, "x", x));
  out = ig_auto_functionalized(c, op, args, &n);
  ig_program *p = NULL;
  assert_int_equal(ig_capture_end_program(c, out, 1, &p), IG_OK);
  has(ig_program_code(c, p),
      "torch._higher_order_ops.auto_functionalize.auto_functionalized(torch.ops.hoptest.bump."
      "default, "
      "x = x, k = 1);");
  // The first result is the operand itself: its new value is read.
  has(ig_program_code(c, p), "getitem_1 = auto_functionalized[1]");
  ig_value in = one(x);
  ig_value got[1];
  assert_int_equal(ig_program_run(c, p, &in, 1, got), IG_OK);
  assert_true(at(got, 0) == 6 && at(&in, 0) == 1);
  ig_program_free(p);
  ig_library_undefine(op);
  ig_scope_close(c, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_cond_eager, setup, teardown),
      cmocka_unit_test_setup_teardown(test_cond_captured, setup, teardown),
      cmocka_unit_test_setup_teardown(test_cond_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_map, setup, teardown),
      cmocka_unit_test_setup_teardown(test_while_loop, setup, teardown),
      cmocka_unit_test_setup_teardown(test_auto_functionalized, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
