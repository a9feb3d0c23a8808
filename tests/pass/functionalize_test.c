// SPDX-License-Identifier: Apache-2.0
// Functionalization and unlifting from C: printed programs, memory, lack of memory.
#include "ingot/aten.h"
#include "ingot/pass.h"

#include "fixture.h"  // last: it has a global c

static void prints(char *text, const char *want) {
  if (ig_ctx_status(c) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  assert_string_equal(text, want);
  ig_text_free(c, text);
}

static ig_tensor *zeros(int64_t rows, int64_t cols) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, 2);
  for (int64_t i = 0; t && i < rows * cols; i++) ((float *)ig_tensor_data(t))[i] = 0;
  return t;
}

static void call_inplace(const char *name, ig_tensor *self, ig_value other) {
  const ig_op *op = ig_op_find(c, name);
  ig_value outs[IG_MAX_RETURNS];
  if (!op) return;
  ig_call(c, op, (ig_value[]){ig_of_tensor(self), other, ig_of_i64(1)}, outs);
}

// A row of a buffer and a column of the input are written.
static ig_program *capture(void) {
  ig_program *p = NULL;
  ig_tensor *cache = zeros(3, 2);
  if (!cache || ig_capture_begin(c) != IG_OK) return NULL;
  ig_tensor *b = ig_capture_buffer(c, "cache", cache);
  ig_tensor *x = ig_capture_input_like(c, "x", cache);
  ig_tensor *row = b ? ig_select_int(c, b, ig_const(0), ig_const(1)) : NULL;
  if (row) call_inplace("aten::add_.Tensor", row, ig_of_i64(1));
  ig_tensor *column = x ? ig_select_int(c, x, ig_const(1), ig_const(0)) : NULL;
  if (column) call_inplace("aten::mul_.Tensor", column, ig_of_i64(2));
  ig_value out = ig_of_tensor(b && x ? ig_add_tensor(c, b, x) : NULL);
  ig_status st = ig_capture_end_program(c, &out, 1, &p);
  return st == IG_OK ? p : NULL;
}

static void writes_become_outputs(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_program *q = NULL;
  assert_non_null(p);
  assert_int_equal(ig_program_functionalize(c, p, &q), IG_OK);
  prints(ig_program_code(c, q),
         "\n\n\ndef forward(self, b_cache, x):\n"
         "    select = torch.ops.aten.select.int(b_cache, 0, 1)\n"
         "    add = torch.ops.aten.add.Tensor(select, 1);  select = None\n"
         "    select_scatter = torch.ops.aten.select_scatter.default(b_cache, add, 0, 1);  "
         "b_cache = add = None\n"
         "    select_2 = torch.ops.aten.select.int(x, 1, 0)\n"
         "    mul = torch.ops.aten.mul.Tensor(select_2, 2);  select_2 = None\n"
         "    select_scatter_1 = torch.ops.aten.select_scatter.default(x, mul, 1, 0);  x = mul = "
         "None\n"
         "    add_1 = torch.ops.aten.add.Tensor(select_scatter, select_scatter_1)\n"
         "    return (select_scatter, select_scatter_1, add_1)\n    ");
  const ig_output_spec *outs = NULL;
  assert_int_equal(ig_program_outputs(q, &outs), 3);
  assert_int_equal(outs[0].kind, IG_OUTPUT_BUFFER_MUTATION);
  assert_string_equal(outs[0].target, "cache");
  assert_int_equal(outs[1].kind, IG_OUTPUT_INPUT_MUTATION);
  assert_string_equal(outs[1].target, "x");
  ig_program_free(p);
  ig_program_free(q);
  ig_scope_close(c, s);
}

static void unlifted_graphs_read_and_write_attributes(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_program *q = NULL;
  ig_graph *g = NULL;
  assert_non_null(p);
  assert_int_equal(ig_program_functionalize(c, p, &q), IG_OK);
  assert_int_equal(ig_program_unlift(c, q, &g), IG_OK);
  ig_program_free(p);
  ig_program_free(q);
  assert_int_equal(ig_graph_input_count(g), 1);
  assert_int_equal(ig_graph_output_count(g), 1);
  assert_int_equal(ig_graph_dce(g), 0);
  const ig_node *copy = ig_graph_find(g, "copy__default_1");
  assert_non_null(copy);
  assert_non_null(ig_graph_find(g, "cache"));
  ig_tensor *x = zeros(3, 2);
  ig_value in = ig_of_tensor(x);
  ig_value out = ig_none();
  for (int i = 1; i <= 3; i++) {
    if (ig_graph_run(c, g, &in, 1, &out) != IG_OK) fail_msg("%s", ig_ctx_error(c));
    assert_true(ig_tensor_get(out.tensor, 2) == i);  // row 1 of the buffer counts
  }
  ig_graph_free(g);
  ig_scope_close(c, s);
}

static ig_status session(ig_ctx *ctx) {
  c = ctx;
  ig_program *q = NULL;
  ig_graph *g = NULL;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_program_functionalize(c, p, &q);
  if (st == IG_OK) st = ig_program_unlift(c, q, &g);
  ig_program_free(p);
  ig_program_free(q);
  ig_graph_free(g);
  ig_scope_close(c, s);
  return st;
}

static void lack_of_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(writes_become_outputs, setup, teardown),
      cmocka_unit_test_setup_teardown(unlifted_graphs_read_and_write_attributes, setup, teardown),
      cmocka_unit_test(lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
