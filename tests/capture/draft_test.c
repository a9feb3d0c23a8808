// SPDX-License-Identifier: Apache-2.0
// Drafts from C: decisions about data, dims that the program does not keep, operators without a
// rule for fake tensors; and what the error of a plain export tells about the same programs.
#include <stdio.h>

#include "heap.h"
#include "ingot/aten.h"
#include "ingot/export.h"
#include "ingot/library.h"
#include "ingot/report.h"
#include "sym/env.h"

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

static ig_tensor *numbers(ig_ctx *with, const int64_t *at, int64_t n) {
  int64_t size[] = {n};
  ig_tensor *t = ig_tensor_empty(with, IG_I64, size, 1);
  for (int64_t i = 0; t && i < n; i++) ((int64_t *)ig_tensor_data(t))[i] = at[i];
  return t;
}

// Doubles x where its sum is more than 5, otherwise negates it.
static void branch(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)user;
  ig_value n[1];
  ig_tensor *sum = ig_sum(IG_AT(ctx), inputs[0]);
  ig_item(ctx, sum, n);
  bool more = ig_int_is(IG_AT(ctx), n[0].i, IG_GT, ig_const(5));
  outputs[0] = more ? ig_add_tensor(ctx, inputs[0], inputs[0]) : ig_neg(ctx, inputs[0]);
}

static ig_status export_of(ig_ctx *with, bool draft, ig_program **out) {
  ig_tensor *x = numbers(with, (int64_t[]){4, 3, 2}, 3);
  ig_export_input in = {.name = "x", .example = x};
  ig_export_args args = {.size = sizeof args,
                         .fn = branch,
                         .inputs = &in,
                         .ninputs = 1,
                         .noutputs = 1,
                         .draft = draft};
  return x ? ig_export(with, &args, out) : ig_ctx_status(with);
}

static void data_dependent(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = NULL;
  const ig_issue *issue = NULL;
  assert_int_equal(export_of(c, false, &p), IG_DATA_DEPENDENT);
  assert_int_equal(ig_report_issues(ig_ctx_report(c), &issue), 1);
  assert_int_equal(issue->kind, IG_ISSUE_DATA_DEPENDENT);
  assert_string_equal(issue->predicate, "u0 > 5");
  assert_null(issue->answer);
  assert_non_null(strstr(issue->fix, "torch._check(u0 > 5)\ntorch._check(u0 <= 5)"));
  assert_non_null(strstr(issue->file, "draft_test.c"));
  assert_true(issue->line > 0);
  ig_ctx_clear(c);
  assert_null(ig_ctx_report(c));

  assert_int_equal(export_of(c, true, &p), IG_OK);
  assert_int_equal(ig_report_issues(ig_program_report(p), &issue), 1);
  assert_string_equal(issue->answer, "True");
  assert_string_equal(issue->fix, "torch._check(u0 > 5)\n");
  assert_int_equal(issue->times, 1);
  char *text = ig_report_text(c, ig_program_report(p));
  assert_non_null(strstr(text, "1. Data dependent error."));
  ig_text_free(c, text);
  text = ig_report_json(c, ig_program_report(p));
  assert_non_null(strstr(text, "\"predicate\": \"u0 > 5\", \"answer\": \"True\""));
  ig_text_free(c, text);
  text = ig_program_code(c, p);
  assert_non_null(strstr(text, "aten.add.Tensor(x, x)"));
  ig_text_free(c, text);
  ig_program_free(p);
  ig_scope_close(c, s);
}

// Rows in pairs of five.
static void fold(ig_ctx *ctx, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  (void)user;
  ig_int shape[] = {ig_const(4), ig_const(3)};
  outputs[0] = ig_reshape(IG_AT(ctx), inputs[0], ig_of_ints(shape, 2));
}

static void constraint(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_dim rows = {.kind = IG_DIM_NAMED, .name = "rows", .hi = INT64_MAX};
  ig_export_input in = {.name = "x", .example = numbers(c, (int64_t[12]){0}, 12), .dims = &rows};
  ig_export_args args = {
      .size = sizeof args, .fn = fold, .inputs = &in, .ninputs = 1, .noutputs = 1};
  ig_program *p = NULL;
  const ig_issue *issue = NULL;
  assert_int_equal(ig_export(c, &args, &p), IG_USER_ERROR);
  assert_true(ig_report_issues(ig_ctx_report(c), &issue) >= 1);
  assert_int_equal(issue->kind, IG_ISSUE_CONSTRAINT);
  assert_string_equal(issue->fix, "in dynamic_shapes: rows = 12\n");
  ig_ctx_clear(c);
  args.draft = true;
  assert_int_equal(ig_export(c, &args, &p), IG_OK);
  assert_true(ig_report_issues(ig_program_report(p), &issue) >= 1);
  ig_program_free(p);
  ig_scope_close(c, s);
}

// A size that the declared range does not have: no guard tells of it.
static void example_out_of_range(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_dim rows = {.kind = IG_DIM_NAMED, .name = "rows", .lo = 20, .hi = 30};
  ig_export_input in = {.name = "x", .example = numbers(c, (int64_t[12]){0}, 12), .dims = &rows};
  ig_export_args args = {
      .size = sizeof args, .fn = fold, .inputs = &in, .ninputs = 1, .noutputs = 1, .draft = true};
  ig_program *p = NULL;
  const ig_issue *issue = NULL;
  assert_int_equal(ig_export(c, &args, &p), IG_OK);
  assert_true(ig_report_issues(ig_program_report(p), &issue) >= 1);
  assert_non_null(strstr(issue->reason, "not in range"));
  assert_non_null(strstr(issue->fix, "IG_DIM_AUTO"));
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void refused_call(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_issue *issue = NULL;
  ig_graph *g = NULL;
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *x = ig_capture_input_like(c, "x", numbers(c, (int64_t[3]){0}, 3));
  ig_tensor *y = ig_capture_input_like(c, "y", numbers(c, (int64_t[4]){0}, 4));
  (void)ig_add_tensor(IG_AT(c), x, y);
  assert_int_not_equal(ig_capture_end(c, NULL, 0, &g), IG_OK);
  assert_int_equal(ig_report_issues(ig_ctx_report(c), &issue), 1);
  assert_int_equal(issue->kind, IG_ISSUE_CALL);
  assert_string_equal(issue->op, "aten.add.Tensor");
  assert_string_equal(issue->operands, "self: i64[3], other: i64[4]");
  FILE *self = fopen(__FILE__, "rb");  // the source is there unless the test runs elsewhere
  if (self) assert_string_equal(issue->source, "(void)ig_add_tensor(IG_AT(c), x, y);");
  if (self) (void)fclose(self);
  ig_ctx_clear(c);
  ig_scope_close(c, s);
}

static ig_status session(ig_ctx *with) {
  ig_scope s = ig_scope_open(with);
  ig_program *p = NULL;
  ig_status st = export_of(with, true, &p);
  char *text = p ? ig_report_json(with, ig_program_report(p)) : NULL;
  ig_text_free(with, text);
  ig_program_free(p);
  ig_scope_close(with, s);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *warm = test_heap_ctx(&heap);
  assert_int_equal(session(warm), IG_OK);
  ig_ctx_free(warm);
  assert_int_equal(heap.live, 0);
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(data_dependent, setup, teardown),
      cmocka_unit_test_setup_teardown(constraint, setup, teardown),
      cmocka_unit_test_setup_teardown(example_out_of_range, setup, teardown),
      cmocka_unit_test_setup_teardown(refused_call, setup, teardown),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
