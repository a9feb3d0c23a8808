// SPDX-License-Identifier: Apache-2.0
// Sizes that are read first, and outputs that go again.
#include "base/ctx.h"
#include "ingot/aten.h"
#include "ingot/pass.h"
#include "sym/env.h"

#include "fixture.h"  // last: it has a global c

// zeros(n) + y, m and exp(x), of x: [n] and y: [1, m]
static ig_program *capture(void) {
  ig_program *p = NULL;
  if (ig_capture_begin(c) != IG_OK) return NULL;
  ig_int n = ig_sym_backed(c, 4, 2, 64);
  ig_int m = ig_sym_backed(c, 5, 2, 64);
  ig_tensor *x = ig_capture_input(c, "x", IG_F32, &n, 1);
  ig_int pair[] = {ig_const(1), m};
  ig_tensor *y = ig_capture_input(c, "y", IG_F32, pair, 2);
  ig_tensor *e = ig_exp(c, x);
  ig_tensor *z = ig_zeros(c, ig_of_ints((ig_int[]){n, ig_const(1)}, 2));
  ig_tensor *sum = ig_add_tensor(c, z, y);
  ig_value outs[] = {ig_of_tensor(sum), ig_of_int(m), ig_of_tensor(e)};
  return ig_capture_end_program(c, outs, 3, &p) == IG_OK ? p : NULL;
}

static void sizes_stand_behind_the_inputs(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  if (!p || !ig_program_read_sizes_first(c, p)) fail_msg("%s", ig_ctx_error(c));
  char *text = ig_program_code(c, p);
  assert_string_equal(
      text,
      "\n\n\ndef forward(self, x, y):\n"
      "    sym_size_int_2 = torch.ops.aten.sym_size.int(x, 0)\n"
      "    sym_size_int_3 = torch.ops.aten.sym_size.int(y, 1)\n"
      "    exp = torch.ops.aten.exp.default(x);  x = None\n"
      "    zeros = torch.ops.aten.zeros.default([sym_size_int_2, 1]);  sym_size_int_2 = None\n"
      "    add = torch.ops.aten.add.Tensor(zeros, y);  zeros = y = None\n"
      "    return (add, sym_size_int_3, exp)\n    ");
  ig_text_free(c, text);
  const ig_output_spec *outs = NULL;
  assert_int_equal(ig_program_outputs(p, &outs), 3);
  assert_string_equal(outs[1].name, "sym_size_int_3");
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void outputs_go_with_what_they_read(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  if (!p || ig_program_drop_outputs(c, p, 2) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  char *text = ig_program_code(c, p);
  assert_string_equal(
      text,
      "\n\n\ndef forward(self, x, y):\n"
      "    sym_size_int = torch.ops.aten.sym_size.int(x, 0);  x = None\n"
      "    zeros = torch.ops.aten.zeros.default([sym_size_int, 1]);  sym_size_int = None\n"
      "    add = torch.ops.aten.add.Tensor(zeros, y);  zeros = y = None\n"
      "    return (add,)\n    ");
  ig_text_free(c, text);
  assert_int_equal(ig_program_drop_outputs(c, p, 2), IG_INVALID);
  test_error_has(c, "found 1 outputs, cannot remove 2");
  ig_program_free(p);
  ig_scope_close(c, s);
}

static ig_status session(ig_ctx *ctx) {
  c = ctx;
  ig_scope s = ig_scope_open(c);
  ig_program *p = capture();
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK && ig_program_read_sizes_first(c, p)) st = ig_program_drop_outputs(c, p, 1);
  if (st == IG_OK) st = ig_ctx_status(c);
  ig_program_free(p);
  ig_scope_close(c, s);
  return st;
}

static void lack_of_memory(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sizes_stand_behind_the_inputs, setup, teardown),
      cmocka_unit_test_setup_teardown(outputs_go_with_what_they_read, setup, teardown),
      cmocka_unit_test(lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
