// SPDX-License-Identifier: Apache-2.0
// Programs in C are traced: what is recorded, what stays a value, what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "ingot/aten.h"
#include "script/interp.h"
#include "script/trace.h"
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

static ig_tensor *filled(int64_t rows, int64_t columns, float value) {
  ig_tensor *t = ig_tensor_empty(c, IG_F32, (int64_t[]){rows, columns}, 2);
  float *at = t ? t->storage->data : NULL;
  for (int64_t i = 0; at && i < rows * columns; i++) at[i] = value;
  return t;
}

static void prints(const ig_sgraph *g, const char *expected) {
  ig_str s = ig_str_make(c->alloc);
  ig_sgraph_print(&s, g, true);
  assert_string_equal(s.at, expected);
  ig_str_free(&s);
}

static bool place(void *user, ig_source *out) {
  *out = (ig_source){.text = user, .n = strlen(user), .file = "m.c", .first_line = 7};
  return true;
}

// relu(x + y * 2), and something that nobody uses.
static ig_tensor *program(ig_tensor *x, ig_tensor *y) {
  (void)ig_neg(c, x);
  ig_tensor *twice = ig_mul_scalar(c, y, ig_of_i64(2));
  return ig_relu(c, ig_add_tensor(c, x, twice));
}

static ig_sgraph *traced(ig_tensor *x, ig_tensor *y, const ig_strace_host *host) {
  ig_strace *t = ig_strace_create(c, u, host, true);
  if (!t) return NULL;
  ig_value in[] = {ig_of_tensor(x), ig_of_tensor(y)};
  bool ok =
      ig_strace_begin(t) && ig_strace_input(t, "x", &in[0]) && ig_strace_input(t, "y", &in[1]);
  if (ok) {
    ig_value out = ig_of_tensor(program(in[0].tensor, in[1].tensor));
    ok = c->status == IG_OK && ig_strace_output(t, &out);
  }
  ig_strace_end(t);
  ig_sgraph *g = ok ? ig_strace_finish(t) : NULL;
  ig_strace_free(t);
  return g;
}

static void test_graph_of_a_program(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_strace_host host = {.place = place, .user = (void *)"m.c(7): program\nm.c(90): main\n"};
  ig_sgraph *g = traced(filled(1, 2, 1), filled(1, 2, 3), &host);
  if (!g) fail_msg("%s", ig_ctx_error(c));
  prints(
      g,
      "graph(%x : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu),\n"
      "      %y : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu)):\n"
      "  %3 : int = prim::Constant[value=2]() # m.c:7:0\n"
      "  %4 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::mul(%y, %3) # "
      "m.c:7:0\n"
      "  %5 : int = prim::Constant[value=1]() # m.c:7:0\n"
      "  %6 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::add(%x, %4, %5) # "
      "m.c:7:0\n"
      "  %7 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::relu(%6) # m.c:7:0\n"
      "  return (%7)\n");
  assert_null(ig_strace_of(c));
  ig_value args[] = {ig_of_tensor(filled(2, 3, -5)), ig_of_tensor(filled(2, 3, 4))};
  ig_value out;
  assert_int_equal(ig_sgraph_run(c, u, g, args, 2, &out), IG_OK);
  assert_float_equal(((float *)out.tensor->storage->data)[5], 3, 0);
  ig_svalue_release(out);
  ig_sgraph_free(g);
  ig_scope_close(c, s);
}

// A function of the host: the negative of its tensor.
static bool negative(ig_ctx *of, ig_sfunction *f, const ig_value *args, ig_value *result) {
  (void)f;
  ig_tensor *t = ig_neg(of, args[0].tensor);
  *result = t ? ig_of_tensor(ig_tensor_retain(t)) : ig_none();
  return t != NULL;
}

static void test_a_call_of_the_host(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  const ig_stype *tensor = ig_stype_plain(&u->types, IG_STYPE_TENSOR);
  static ig_sparam params[1];  // the unit looks at them when it is freed
  params[0] = (ig_sparam){.name = "x", .type = tensor};
  ig_sfunction *f = ig_sunit_add_unnamed(u, "negative");
  f->params = params;
  f->n_params = 1;
  f->result = tensor;
  f->scalars = "1, 2";
  f->host_run = negative;
  ig_strace *t = ig_strace_create(c, u, NULL, true);
  ig_value x = ig_of_tensor(filled(1, 2, 3));
  assert_true(ig_strace_begin(t) && ig_strace_input(t, "x", &x));
  ig_snode *failed = ig_strace_open_host(t, f, &x.tensor, 1);
  (void)ig_relu(c, x.tensor);
  ig_strace_drop_host(t, failed);
  ig_snode *call = ig_strace_open_host(t, f, &x.tensor, 1);
  ig_tensor *inner = ig_neg(c, x.tensor);
  ig_tensor *seen = filled(1, 2, -3);
  assert_true(ig_strace_close_host(t, call, &(ig_strace_results){&inner, &seen, 1, false}));
  ig_value out = ig_of_tensor(ig_relu(c, seen));
  assert_true(ig_strace_output(t, &out));
  ig_strace_end(t);
  ig_sgraph *g = ig_strace_finish(t);
  prints(g,
         "graph(%x : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu)):\n"
         "  %3 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = "
         "^negative[Subgraph=<Graph>](1, 2)(%x)\n"
         "  %4 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::relu(%3)\n"
         "  return (%4)\n");
  prints(ig_snode_attr(g->body->first, "Subgraph")->graph,
         "graph(%x : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu)):\n"
         "  %1 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::neg(%x)\n"
         "  return (%1)\n");
  ig_value given = ig_of_tensor(filled(1, 2, -4));
  assert_int_equal(ig_sgraph_run(c, u, g, &given, 1, &out), IG_OK);
  assert_float_equal(((float *)out.tensor->storage->data)[1], 4, 0);
  ig_svalue_release(out);
  ig_sgraph_free(g);
  ig_strace_free(t);
  ig_scope_close(c, s);
}

static void test_sizes(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_strace *t = ig_strace_create(c, u, NULL, true);
  ig_value x = ig_of_tensor(filled(2, 3, 1));
  assert_true(ig_strace_begin(t) && ig_strace_input(t, "x", &x));
  ig_tensor *rows = ig_strace_size(t, x.tensor, 0);
  ig_int sizes[2] = {ig_const(-1), ig_const(0)};
  assert_true(ig_strace_int(t, rows, false, &sizes[1]));
  assert_int_equal(sizes[1].value, 2);
  ig_value out = ig_of_tensor(ig_view(c, x.tensor, ig_of_ints(sizes, 2)));
  assert_true(ig_strace_output(t, &out));
  ig_strace_end(t);
  ig_sgraph *g = ig_strace_finish(t);
  prints(g,
         "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):\n"
         "  %1 : int = prim::Constant[value=0]()\n"
         "  %2 : int = aten::size(%x, %1)\n"
         "  %3 : Long(device=cpu) = prim::NumToTensor(%2)\n"
         "  %4 : int = aten::Int(%3)\n"
         "  %5 : int = prim::Constant[value=-1]()\n"
         "  %6 : int[] = prim::ListConstruct(%5, %4)\n"
         "  %7 : Float(3, 2, strides=[2, 1], requires_grad=0, device=cpu) = aten::view(%x, %6)\n"
         "  return (%7)\n");
  ig_sgraph_free(g);
  ig_strace_free(t);
  ig_scope_close(c, s);
}

static void test_refusals(void **state) {
  (void)state;
  ig_scope s = ig_scope_open(c);
  ig_strace *t = ig_strace_create(c, u, NULL, true);
  ig_strace *other = ig_strace_create(c, u, NULL, true);
  assert_true(ig_strace_begin(t));
  assert_false(ig_strace_begin(other));
  assert_string_equal(ig_ctx_error(c), "Tracing can't be nested");
  ig_ctx_clear(c);
  ig_value number = ig_of_i64(3);
  assert_false(ig_strace_output(t, &number));
  assert_non_null(strstr(ig_ctx_error(c), "Only tensors, lists, tuples of tensors"));
  ig_ctx_clear(c);
  ig_value stranger = ig_of_tensor(filled(1, 1, 1));
  assert_false(ig_strace_output(t, &stranger));
  assert_non_null(strstr(ig_ctx_error(c), "did not have observable data dependence"));
  ig_ctx_clear(c);
  assert_false(ig_strace_enter(t, "__module.fc"));
  assert_string_equal(ig_ctx_error(c), "the traced module has no module at __module.fc");
  ig_ctx_clear(c);
  ig_strace_end(t);
  ig_sgraph_free(ig_strace_finish(t));
  assert_null(ig_strace_finish(t));
  assert_false(ig_strace_begin(t));
  assert_string_equal(ig_ctx_error(c), "the trace is finished: its graph was taken");
  ig_ctx_clear(c);
  ig_strace_free(other);
  ig_strace_free(t);
  ig_scope_close(c, s);
}

// ---- memory

static ig_status session(ig_ctx *with) {
  ig_ctx *outer = c;
  ig_sunit *outer_unit = u;
  c = with;
  ig_scope s = ig_scope_open(c);
  u = ig_sunit_create(c);
  ig_sgraph *g = u ? traced(filled(1, 2, 1), filled(1, 2, 3), NULL) : NULL;
  ig_value args[] = {ig_of_tensor(filled(2, 3, -5)), ig_of_tensor(filled(2, 3, 4))};
  ig_value out = ig_none();
  if (g && args[0].tensor && args[1].tensor) (void)!ig_sgraph_run(c, u, g, args, 2, &out);
  ig_svalue_release(out);
  ig_sgraph_free(g);
  ig_sunit_release(u);
  ig_scope_close(c, s);
  c = outer;
  u = outer_unit;
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_graph_of_a_program, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_call_of_the_host, setup, teardown),
      cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
