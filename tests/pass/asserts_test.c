// SPDX-License-Identifier: Apache-2.0
// Assertions about numbers in the data: where they stand, how they are worded, once each; symbols
// that a second trace renames; what fails at run time.
#include "base/ctx.h"
#include "ingot/aten.h"
#include "ingot/pass.h"
#include "sym/env.h"

#include "fixture.h"  // last: it has a global c

static ig_int item(ig_tensor *t) {
  const ig_op *op = ig_op_find(c, "aten::item");
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  if (op && t) ig_call(c, op, (ig_value[]){ig_of_tensor(t)}, outs);
  return outs[0].kind == IG_KIND_INT ? outs[0].i : ig_const(0);
}

static void check(ig_expr_kind kind, ig_int a, ig_int b) {
  ig_value held;
  ig_sym_apply(c, kind, (ig_value[]){ig_of_int(a), ig_of_int(b)}, 2, &held);
  ig_sym_check(c, &held, NULL);
}

static ig_tensor *scalar(int64_t value) {
  ig_tensor *t = ig_tensor_empty(c, IG_I64, NULL, 0);
  if (t) *(int64_t *)ig_tensor_data(t) = value;
  return t;
}

// x in 3..5, asked twice; y == x + 1
static ig_program *capture(void) {
  ig_program *p = NULL;
  ig_tensor *example = scalar(4);
  if (!example || ig_capture_begin(c) != IG_OK) return NULL;
  ig_tensor *x = ig_capture_input_like(c, "x", example);
  ig_tensor *y = ig_capture_input_like(c, "y", example);
  ig_int a = item(x);
  check(IG_EXPR_GE, a, ig_const(0));
  ig_sym_constrain(c, a, 0, INT64_MAX, true);
  check(IG_EXPR_GT, a, ig_const(2));
  check(IG_EXPR_LT, a, ig_const(6));
  check(IG_EXPR_GT, a, ig_const(2));
  ig_int b = item(y);
  check(IG_EXPR_GE, b, a);
  ig_int sizes[] = {a};
  ig_value out = ig_of_tensor(ig_zeros(c, ig_of_ints(sizes, 1)));
  ig_value outs[] = {out, ig_of_int(b)};
  return ig_capture_end_program(c, outs, 2, &p) == IG_OK ? p : NULL;
}

static void assertions_follow_what_they_are_about(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_program *q = NULL;
  ig_program *r = NULL;
  if (!p) fail_msg("%s", ig_ctx_error(c));
  if (ig_program_functionalize(c, p, &q) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  if (ig_program_insert_asserts(c, q, &r) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  char *text = ig_program_code(c, r);
  const char *want =
      "\n\n\ndef forward(self, x, y):\n"
      "    item = torch.ops.aten.item.default(x);  x = None\n"
      "    sym_constrain_range_for_size_default = "
      "torch.ops.aten.sym_constrain_range_for_size.default(item)\n"
      "    sym_constrain_range_default = torch.ops.aten.sym_constrain_range.default(item, min = 3, "
      "max = 5)\n"
      "    ge = item >= 0\n"
      "    _assert_scalar_default = torch.ops.aten._assert_scalar.default(ge, \"Runtime assertion "
      "failed for expression 0 <= u2 on node 'ge'\");  ge = None\n"
      "    gt = item > 2\n"
      "    _assert_scalar_default_1 = torch.ops.aten._assert_scalar.default(gt, \"Runtime "
      "assertion "
      "failed for expression 2 < u2 on node 'gt'\");  gt = None\n"
      "    lt = item < 6\n"
      "    _assert_scalar_default_2 = torch.ops.aten._assert_scalar.default(lt, \"Runtime "
      "assertion "
      "failed for expression u2 < 6 on node 'lt'\");  lt = None\n"
      "    item_1 = torch.ops.aten.item.default(y);  y = None\n"
      "    sym_constrain_range_default_1 = torch.ops.aten.sym_constrain_range.default(item_1, min "
      "= "
      "3, max = 9223372036854775807)\n"
      "    le = item <= item_1\n"
      "    _assert_scalar_default_3 = torch.ops.aten._assert_scalar.default(le, \"Runtime "
      "assertion "
      "failed for expression u2 <= u3 on node 'le'\");  le = None\n"
      "    zeros = torch.ops.aten.zeros.default([item]);  item = None\n"
      "    return (zeros, item_1)\n    ";
  assert_string_equal(text, want);
  ig_text_free(c, text);
  static const struct {
    int64_t x, y;
    const char *error;
  } calls[] = {{4, 4, NULL},
               {2, 9, "Invalid value range for 2 between [3, 5]."},
               {5, 4, "Runtime assertion failed for expression u2 <= u3 on node 'le'"}};
  for (size_t i = 0; i < 3; i++) {
    ig_value in[] = {ig_of_tensor(scalar(calls[i].x)), ig_of_tensor(scalar(calls[i].y))};
    ig_value out[2];
    ig_status st = ig_program_run(c, r, in, 2, out);
    assert_int_equal(st == IG_OK, calls[i].error == NULL);
    if (calls[i].error) test_error_has(c, calls[i].error);
  }
  ig_program_free(p);
  ig_program_free(q);
  ig_program_free(r);
  ig_scope_close(c, s);
}

static ig_status session(ig_ctx *ctx) {
  c = ctx;
  ig_program *q = NULL;
  ig_program *r = NULL;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_program_functionalize(c, p, &q);
  if (st == IG_OK) st = ig_program_insert_asserts(c, q, &r);
  ig_program_free(p);
  ig_program_free(q);
  ig_program_free(r);
  ig_scope_close(c, s);
  return st;
}

static void lack_of_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(assertions_follow_what_they_are_about, setup, teardown),
      cmocka_unit_test(lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
