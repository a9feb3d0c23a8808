// SPDX-License-Identifier: Apache-2.0
// What the verifier finds in a broken program.
#include "ingot/aten.h"
#include "ingot/pass.h"
#include "ir/program.h"

#include "fixture.h"  // last: it has a global c

// relu(x) + w, a buffer w that is written.
static ig_program *program(void) {
  ig_program *p = NULL;
  ig_program *q = NULL;
  int64_t sizes[] = {2, 3};
  ig_tensor *w = ig_tensor_empty(c, IG_F32, sizes, 2);
  assert_int_equal(ig_capture_begin(c), IG_OK);
  ig_tensor *b = ig_capture_buffer(c, "w", w);
  ig_tensor *x = ig_relu(c, ig_capture_input_like(c, "x", w));
  (void)ig_add__tensor(c, b, x);
  ig_value out =
      ig_of_tensor(ig_permute(c, x, ig_of_ints((ig_int[]){ig_const(1), ig_const(0)}, 2)));
  assert_int_equal(ig_capture_end_program(c, &out, 1, &p), IG_OK);
  assert_int_equal(ig_program_functionalize(c, p, &q), IG_OK);
  ig_program_free(p);
  assert_int_equal(ig_program_verify(c, q), IG_OK);
  return q;
}

static void refuses(const ig_program *p, const char *words) {
  assert_int_equal(ig_program_verify(c, p), IG_ASSERTION);
  if (!strstr(ig_ctx_error(c), words))
    fail_msg("found '%s', expected '%s'", ig_ctx_error(c), words);
  ig_ctx_clear(c);
}

static ig_node *node(const ig_program *p, const char *name) {
  ig_node *n = (ig_node *)ig_graph_find(p->graph, name);
  assert_non_null(n);
  return n;
}

static void values(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = program();
  ig_node *permute = node(p, "permute");
  ig_value kept = permute->val;
  int64_t sizes[] = {3, 2};
  permute->val = ig_of_tensor(ig_tensor_empty(c, IG_F64, sizes, 2));
  refuses(p, "found dtype float64, expected float32 by its operands");
  permute->val = node(p, "relu")->val;
  refuses(p, "found sizes [2, 3], expected [3, 2] by its operands");
  permute->val = ig_of_i64(1);
  refuses(p, "a value of another kind");
  permute->val = kept;
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void arguments(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = program();
  ig_node *add = node(p, "add");
  ig_value args[] = {add->args[0], ig_of_str("x"), ig_of_i64(2), ig_of_i64(3)};
  const ig_value *kept = add->args;
  add->args = args;
  refuses(p, "does not match the schema: other");
  add->args = kept;
  add->npos = 1;
  refuses(p, "lacks the argument other");
  add->npos = 2;
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void users(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = program();
  ig_node *relu = node(p, "relu");
  ig_use *last = relu->last_use;
  relu->last_use = relu->first_use;
  refuses(p, "last user");
  relu->last_use = last;
  ig_use *first = relu->first_use;
  ig_node *user = first->user;
  first->user = relu;
  refuses(p, "among the operands of its user");
  first->user = user;
  ig_program_free(p);
  ig_scope_close(c, s);
}

static void signatures(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_program *p = program();
  const char *kept = p->inputs[0].name;
  p->inputs[0].name = "y";
  refuses(p, "the signature's input 'y'");
  p->inputs[0].name = kept;
  kept = p->outputs[0].target;
  p->outputs[0].target = "v";
  refuses(p, "the signature's target 'v'");
  p->outputs[0].target = kept;
  kept = p->outputs[1].name;
  p->outputs[1].name = "relu";
  refuses(p, "the signature's output 'relu'");
  p->outputs[1].name = kept;
  p->noutputs--;
  refuses(p, "found 2 outputs, expected 1");
  p->noutputs++;
  assert_int_equal(ig_program_verify(c, p), IG_OK);
  ig_program_free(p);
  ig_scope_close(c, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values, setup, teardown),
      cmocka_unit_test_setup_teardown(arguments, setup, teardown),
      cmocka_unit_test_setup_teardown(users, setup, teardown),
      cmocka_unit_test_setup_teardown(signatures, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
