// SPDX-License-Identifier: Apache-2.0
// Editing graphs of scripts and the passes that all front ends share.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "script/compile.h"
#include "script/ir_edit.h"
#include "script/ir_pass.h"
#include "script/tensor_text.h"
#include "tensor/tensor.h"

static ig_ctx *c;
static ig_sunit *u;

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  u = ig_sunit_create(c);
  return u ? 0 : -1;
}
static int teardown(void **state) {
  (void)state;
  ig_sunit_release(u);
  ig_ctx_free(c);
  return 0;
}

static ig_sgraph *parsed(const char *text) {
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, text);
  if (!g) fail_msg("%s", ig_ctx_error(c));
  return g;
}

static void prints(const ig_sgraph *g, const char *expected) {
  ig_str s = ig_str_make(c->alloc);
  ig_sgraph_print(&s, g, false);
  assert_string_equal(s.at, expected);
  ig_str_free(&s);
}

static const char *const small =
    "graph(%x : Tensor,\n      %y : Tensor):\n"
    "  %2 : int = prim::Constant[value=1]()\n"
    "  %a : Tensor = aten::add(%x, %y, %2)\n"
    "  %b : Tensor = aten::mul(%a, %y)\n"
    "  return (%a)\n";

static void test_remove_dead(void **state) {
  (void)state;
  ig_sgraph *g = parsed(small);
  assert_true(ig_sgraph_remove_dead(u, g));
  prints(g,
         "graph(%x : Tensor,\n      %y : Tensor):\n"
         "  %2 : int = prim::Constant[value=1]()\n"
         "  %a : Tensor = aten::add(%x, %y, %2)\n"
         "  return (%a)\n");
  ig_sgraph_free(g);
}

// A write stays, and so does what it writes.
static void test_effects_stay(void **state) {
  (void)state;
  const char *text =
      "graph(%x : Tensor):\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %2 : Tensor = aten::add_(%x, %x, %1)\n"
      "   = prim::Print(%1)\n"
      "  return (%x)\n";
  ig_sgraph *g = parsed(text);
  assert_true(ig_sgraph_remove_dead(u, g));
  prints(g, text);
  ig_sgraph_free(g);
}

// A value that a loop carries for nobody goes with its results and inputs.
static void test_dead_loop_values(void **state) {
  (void)state;
  ig_sgraph *g = parsed(
      "graph(%x : Tensor,\n      %n : int):\n"
      "  %2 : bool = prim::Constant[value=1]()\n"
      "  %3 : Tensor, %4 : Tensor = prim::Loop(%n, %2, %x, %x)\n"
      "    block0(%i : int, %a : Tensor, %b : Tensor):\n"
      "      %8 : Tensor = aten::relu(%a)\n"
      "      %9 : Tensor = aten::neg(%a)\n"
      "      -> (%2, %8, %9)\n"
      "  return (%3)\n");
  assert_true(ig_sgraph_remove_dead(u, g));
  assert_true(ig_sgraph_lint(g));
  prints(g,
         "graph(%x : Tensor,\n      %n : int):\n"
         "  %2 : bool = prim::Constant[value=1]()\n"
         "  %8 : Tensor = prim::Loop(%n, %2, %x)\n"
         "    block0(%i : int, %a : Tensor):\n"
         "      %6 : Tensor = aten::relu(%a)\n"
         "      -> (%2, %6)\n"
         "  return (%8)\n");
  ig_sgraph_free(g);
}

static void test_copy_numbers_anew(void **state) {
  (void)state;
  ig_sgraph *g = parsed(small);
  ig_snode *add = g->body->first->next;
  ig_snode *relu = ig_snode_create(g, "aten::relu", &add->out[0], 1);
  ig_svalue *out = ig_snode_add_output(relu, add->out[0]->type);
  ig_snode_insert(relu, g->body, add->next);
  ig_svalue_replace(g->body, add->out[0], out);
  relu->in[0] = add->out[0];
  assert_true(ig_sgraph_lint(g));
  ig_sgraph *copy = ig_sgraph_copy(g);
  ig_sgraph_free(g);
  prints(copy,
         "graph(%x : Tensor,\n      %y : Tensor):\n"
         "  %2 : int = prim::Constant[value=1]()\n"
         "  %a : Tensor = aten::add(%x, %y, %2)\n"
         "  %4 : Tensor = aten::relu(%a)\n"
         "  %b : Tensor = aten::mul(%4, %y)\n"
         "  return (%4)\n");
  ig_sgraph_free(copy);
}

static void test_remove_frees_names(void **state) {
  (void)state;
  ig_sgraph *g = parsed(small);
  ig_snode *mul = g->body->last;
  ig_snode_remove(mul);
  assert_false(ig_snode_is_live(mul));
  assert_true(ig_svalue_set_name(g, g->body->first->out[0], "b"));
  assert_string_equal(g->body->first->out[0]->name, "b");
  size_t n = 0;
  const ig_suse *uses = ig_svalue_uses(g->body, g->body->in[1], &n);
  assert_int_equal(n, 1);
  assert_ptr_equal(uses[0].node, g->body->last);
  assert_int_equal(uses[0].at, 1);
  ig_sgraph_free(g);
}

// Arrays that were edited still take more elements.
static void test_inputs_grow_after_edits(void **state) {
  (void)state;
  ig_sgraph *g = parsed(small);
  ig_snode *n = g->body->last;
  for (size_t i = 0; i < 9; i++) assert_true(ig_snode_insert_input(n, 1, g->body->in[i % 2]));
  ig_snode_remove_input(n, 0);
  assert_int_equal(n->n_in, 10);
  ig_svalue *v = ig_sblock_insert_input(g->body, 0, g->body->in[0]->type);
  assert_ptr_equal(g->body->in[0], v);
  for (size_t i = 0; i < 6; i++) assert_non_null(ig_sblock_add_input(g->body, v->type));
  ig_sblock_remove_input(g->body, 0);
  assert_int_equal(g->body->n_in, 8);
  ig_sgraph_free(g);
}

static void test_tuples(void **state) {
  (void)state;
  ig_sgraph *g = parsed(
      "graph(%x : Tensor,\n      %y : Tensor):\n"
      "  %2 : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)\n"
      "  %3 : Tensor, %4 : Tensor = prim::TupleUnpack(%2)\n"
      "  %5 : Tensor = aten::mul(%3, %4)\n"
      "  return (%5)\n");
  assert_true(ig_sgraph_lower_tuples(g));
  prints(g,
         "graph(%x : Tensor,\n      %y : Tensor):\n"
         "  %5 : Tensor = aten::mul(%x, %y)\n"
         "  return (%5)\n");
  ig_sgraph_free(g);
}

static void test_lint(void **state) {
  (void)state;
  ig_sgraph *g = parsed(small);
  ig_snode *add = g->body->first->next;
  ig_snode_insert(add, g->body, NULL);
  assert_false(ig_sgraph_lint(g));
  assert_string_equal(ig_ctx_error(c), "aten::mul: an input is not defined before it");
  ig_ctx_clear(c);
  ig_sgraph_free(g);
}

static ig_tensor *floats(const int64_t *sizes, int ndim, const float *v) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, sizes, ndim);
  assert_non_null(t);
  size_t n = 1;
  for (int d = 0; d < ndim; d++) n *= (size_t)sizes[d];
  memcpy(t->storage->data, v, n * sizeof *v);
  return t;
}

static void text_is(ig_tensor *t, const char *expected) {
  ig_str s = ig_str_make(c->alloc);
  ig_tensor_print(&s, t);
  assert_string_equal(s.at, expected);
  ig_str_free(&s);
}

// Recorded from the original's C++ stream.
static void test_tensor_text(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const float v[] = {1, 2, -3, 4.5F, 1e-3F, 100, 7, 8};
  int64_t two_four[] = {2, 4};
  int64_t two[] = {2};
  int64_t cube[] = {2, 2, 2};
  ig_tensor *t = floats(two_four, 2, v);
  text_is(t,
          " 1.0000e+00  2.0000e+00 -3.0000e+00  4.5000e+00\n"
          " 1.0000e-03  1.0000e+02  7.0000e+00  8.0000e+00\n[ CPUFloatType{2,4} ]");
  text_is(floats(two, 1, v), " 1\n 2\n[ CPUFloatType{2} ]");
  const float w[] = {0.5F, 2, -3, 4.5F, 1, 100, 7, 8};
  text_is(floats(cube, 3, w),
          "(1,.,.) = \n  0.5000  2.0000\n -3.0000  4.5000\n\n(2,.,.) = \n    1  100\n    7    8\n"
          "[ CPUFloatType{2,2,2} ]");
  ig_str one = ig_str_make(c->alloc);
  ig_tensor_print_constant(&one, floats(two, 1, w));
  assert_string_equal(one.at, " 0.5000  2.0000 [ CPUFloatType{2} ]");
  ig_str_free(&one);
  assert_string_equal(ig_stype_of_tensor(&u->types, t)->text,
                      "Float(2, 4, strides=[4, 1], requires_grad=0, device=cpu)");
  ig_scope_close(c, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_remove_dead, setup, teardown),
      cmocka_unit_test_setup_teardown(test_effects_stay, setup, teardown),
      cmocka_unit_test_setup_teardown(test_dead_loop_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_copy_numbers_anew, setup, teardown),
      cmocka_unit_test_setup_teardown(test_remove_frees_names, setup, teardown),
      cmocka_unit_test_setup_teardown(test_inputs_grow_after_edits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tuples, setup, teardown),
      cmocka_unit_test_setup_teardown(test_lint, setup, teardown),
      cmocka_unit_test_setup_teardown(test_tensor_text, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
