// SPDX-License-Identifier: Apache-2.0
// Costs by module: sums, sizes that are given, files without a program, memory that runs out.
#include "ingot/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static void modules_contain_their_parts(void **state) {
  (void)state;
  ig_model *m = NULL;
  const ig_layer *list = NULL;
  size_t n = 0;
  assert_int_equal(ig_model_open(c, TEST_DATA "/pt2/data/mlp.pt2", NULL, &m), IG_OK);
  ig_scope s = ig_scope_open(c);
  assert_int_equal(ig_model_layers(c, m, NULL, 0, &list, &n), IG_OK);
  assert_int_equal(n, 3);
  assert_string_equal(list[0].path, "");
  assert_string_equal(list[1].path, "fc1");
  assert_int_equal(list[0].parameters, 58);
  assert_int_equal(list[1].parameters, 40);
  assert_int_equal(list[1].weight_bytes, 160);
  assert_int_equal(list[1].flops_value, 2 * 3 * 4 * 8);  // [3, 4] by [4, 8]
  assert_int_equal(list[2].flops_value, 2 * 3 * 8 * 2);
  assert_int_equal(list[0].flops_value, 288);
  assert_string_equal(list[0].flops, "288");
  assert_int_equal(list[0].activations_value, 4 * (3 * 8 + 3 * 8 + 3 * 2));
  ig_scope_close(c, s);
  ig_model_free(m);
}

static void sizes_are_expressions(void **state) {
  (void)state;
  ig_model *m = NULL;
  const ig_layer *list = NULL;
  const ig_model_port *const *ports = NULL;
  size_t n = 0;
  assert_int_equal(ig_model_open(c, TEST_DATA "/model/data/derived_dims.pt2", NULL, &m), IG_OK);
  assert_true(ig_model_inputs(m, &ports) > 0);
  ig_scope s = ig_scope_open(c);
  assert_int_equal(ig_model_layers(c, m, NULL, 0, &list, &n), IG_OK);
  assert_int_equal(list[0].activations_value, -1);
  assert_non_null(strstr(list[0].activations, ports[0]->dims[0]->name));
  ig_dim_value given = {ports[0]->dims[0]->name, 8};
  assert_int_equal(ig_model_layers(c, m, &given, 1, &list, &n), IG_OK);
  assert_true(list[0].activations_value > 0);
  ig_scope_close(c, s);
  ig_model_free(m);
}

static void files_without_a_program(void **state) {
  (void)state;
  ig_model *m = NULL;
  const ig_layer *list = NULL;
  size_t n = 0;
  assert_int_equal(ig_model_open(c, TEST_DATA "/model/data/counter.io.npz", NULL, &m), IG_OK);
  assert_int_not_equal(ig_model_layers(c, m, NULL, 0, &list, &n), IG_OK);
  assert_int_equal(n, 0);
  ig_ctx_clear(c);
  ig_model_free(m);
}

static ig_status session(ig_ctx *ctx) {
  ig_model *m = NULL;
  const ig_layer *list = NULL;
  size_t n = 0;
  ig_scope s = ig_scope_open(ctx);
  ig_status st = ig_model_open(ctx, TEST_DATA "/model/data/derived_dims.pt2", NULL, &m);
  if (st == IG_OK) st = ig_model_layers(ctx, m, NULL, 0, &list, &n);
  ig_scope_close(ctx, s);
  ig_model_free(m);
  return st;
}

static void memory_runs_out(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(modules_contain_their_parts, setup, teardown),
      cmocka_unit_test_setup_teardown(sizes_are_expressions, setup, teardown),
      cmocka_unit_test_setup_teardown(files_without_a_program, setup, teardown),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
