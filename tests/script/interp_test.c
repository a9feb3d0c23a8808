// SPDX-License-Identifier: Apache-2.0
// Running graphs: control flow, built-ins, what is released when, and errors.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/budget.h"
#include "heap.h"
#include "ingot/limits.h"
#include "script/builtin.h"
#include "script/failure.h"
#include "script/interp.h"

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

// Runs a graph with one result; the text of the result in `got`, or that of the error.
static void run(const char *text, const ig_value *args, size_t n, char *got, size_t size) {
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, text);
  if (!g) fail_msg("%s", ig_ctx_error(c));
  ig_value out = ig_none();
  if (ig_sgraph_run(c, u, g, args, n, &out) == IG_OK) {
    ig_str s = ig_str_make(c->alloc);
    assert_true(ig_svalue_print(c, &s, out));
    (void)snprintf(got, size, "%s", s.at ? s.at : "");
    ig_str_free(&s);
  } else {
    (void)snprintf(got, size, "%s", ig_ctx_error(c));
    ig_ctx_clear(c);
  }
  ig_svalue_release(out);
  ig_sgraph_free(g);
}

static void expect(const char *text, const ig_value *args, size_t n, const char *want) {
  char got[2048];
  run(text, args, n, got, sizeof got);
  assert_string_equal(got, want);
}

static ig_value str_of(const char *text) {
  return ig_of_sobj(ig_sobj_str_make(c, text, strlen(text)));
}

static ig_value ints_of(const int64_t *at, size_t n) {
  ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_LIST, NULL, NULL, n);
  for (size_t i = 0; i < n; i++) s->at[i] = ig_of_i64(at[i]);
  return ig_of_sobj(s);
}

// ---- numbers

static void arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int64_t a;
    int64_t b;
    const char *want;
  } cases[] = {
      {"int = aten::floordiv", -7, 2, "-4"},
      {"int = aten::remainder", -7, 2, "1"},
      {"int = aten::remainder", 7, -2, "-1"},
      {"float = aten::div", 1, 4, "0.25"},
      {"float = aten::pow", 2, 10, "1024."},
      {"int = aten::floordiv", INT64_MIN, -1, "-9223372036854775808"},
      {"int = aten::mul", INT64_MAX, 2, "-2"},
      {"int = aten::__lshift__", 1, 70, "0"},
      {"int = aten::__rshift__", -8, 1, "-4"},
      {"int = prim::min", 3, -3, "-3"},
      {"bool = aten::lt", 3, 4, "True"},
      {"float = aten::div", 1, 0, "inf"},
      {"float = aten::pow", 0, 2, "0."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    (void)snprintf(text, sizeof text,
                   "graph(%%a : int, %%b : int):\n  %%r : %s(%%a, %%b)\n  return (%%r)\n",
                   cases[i].op);
    const ig_value args[2] = {ig_of_i64(cases[i].a), ig_of_i64(cases[i].b)};
    expect(text, args, 2, cases[i].want);
  }
}

static const char header[] =
    "The following operation failed in the TorchScript interpreter.\n"
    "Traceback of TorchScript (most recent call last):\n";

static void division_by_zero_is_an_error(void **state) {
  (void)state;
  const ig_value args[2] = {ig_of_i64(1), ig_of_i64(0)};
  char want[512];
  (void)snprintf(want, sizeof want, "%sRuntimeError: division by 0\n", header);
  expect("graph(%a : int, %b : int):\n  %r : int = aten::floordiv(%a, %b)\n  return (%r)\n", args,
         2, want);
  (void)snprintf(want, sizeof want, "%sRuntimeError: integer modulo by zero\n", header);
  expect("graph(%a : int, %b : int):\n  %r : int = aten::remainder(%a, %b)\n  return (%r)\n", args,
         2, want);
}

// ---- control flow

static void loop_swaps_what_it_carries(void **state) {
  (void)state;
  const ig_value args[1] = {ig_of_i64(10)};
  expect(
      "graph(%n : int):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %a : int, %b : int = prim::Loop(%n, %t, %0, %1)\n"
      "    block0(%i : int, %x : int, %y : int):\n"
      "      %s : int = aten::add(%x, %y)\n"
      "      -> (%t, %y, %s)\n"
      "  return (%a)\n",
      args, 1, "55");
}

static void counter_survives_its_last_use(void **state) {
  (void)state;
  const ig_value args[1] = {ig_of_i64(4)};
  expect(
      "graph(%n : int):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %l : int[] = prim::ListConstruct()\n"
      "  %a : int = prim::Loop(%n, %t, %0)\n"
      "    block0(%i : int, %x : int):\n"
      "      %m : int[] = aten::append(%l, %i)\n"
      "      -> (%t, %i)\n"
      "  %r : (int, int[]) = prim::TupleConstruct(%a, %l)\n"
      "  return (%r)\n",
      args, 1, "(3, [0, 1, 2, 3])");
}

static void branches(void **state) {
  (void)state;
  static const char text[] =
      "graph(%a : int):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %c : bool = aten::lt(%a, %0)\n"
      "  %r : str, %s : int = prim::If(%c)\n"
      "    block0():\n"
      "      %m : int = aten::neg(%a)\n"
      "      %t : str = aten::str(%m)\n"
      "      -> (%t, %m)\n"
      "    block1():\n"
      "      %u : str = aten::str(%a)\n"
      "      -> (%u, %a)\n"
      "  %p : (str, int) = prim::TupleConstruct(%r, %s)\n"
      "  return (%p)\n";
  const ig_value below = ig_of_i64(-5);
  const ig_value above = ig_of_i64(6);
  expect(text, &below, 1, "(5, 5)");
  expect(text, &above, 1, "(6, 6)");
}

// A list that grows in a loop keeps what it has; temporaries of the loop do not pile up.
static void loops_release_their_values(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL,
                                 "graph(%x : Tensor, %n : int):\n"
                                 "  %1 : int = prim::Constant[value=1]()\n"
                                 "  %t : bool = prim::Constant[value=1]()\n"
                                 "  %r : Tensor = prim::Loop(%n, %t, %x)\n"
                                 "    block0(%i : int, %y : Tensor):\n"
                                 "      %z : Tensor = aten::add(%y, %1, %1)\n"
                                 "      -> (%t, %z)\n"
                                 "  return (%r)\n");
  assert_non_null(g);
  const int64_t size = 1 << 16;
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = ig_tensor_empty(c, IG_F32, &size, 1);
  memset(ig_tensor_data(x), 0, (size_t)size * sizeof(float));
  ig_limits limits = ig_limits_default();
  limits.max_memory = ig_budget_live(c->alloc) + 8 * (uint64_t)size * sizeof(float);
  ig_ctx_set_limits(c, &limits);
  const ig_value args[2] = {ig_of_tensor(x), ig_of_i64(200)};
  ig_value out = ig_none();
  assert_int_equal(ig_sgraph_run(c, u, g, args, 2, &out), IG_OK);
  assert_true(ig_tensor_get(out.tensor, 5) == 200);
  ig_svalue_release(out);
  ig_ctx_set_limits(c, NULL);
  ig_scope_close(c, s);
  ig_sgraph_free(g);
}

static void endless_loops_end_at_the_limit(void **state) {
  (void)state;
  ig_limits limits = ig_limits_default();
  limits.max_work = 10000;
  ig_ctx_set_limits(c, &limits);
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL,
                                 "graph(%n : int):\n"
                                 "  %t : bool = prim::Constant[value=1]()\n"
                                 "   = prim::Loop(%n, %t)\n"
                                 "    block0(%i : int):\n"
                                 "      -> (%t)\n"
                                 "  return (%n)\n");
  const ig_value arg = ig_of_i64(INT64_MAX);
  ig_value out = ig_none();
  assert_int_equal(ig_sgraph_run(c, u, g, &arg, 1, &out), IG_LIMIT);
  ig_ctx_clear(c);
  ig_ctx_set_limits(c, NULL);
  ig_sgraph_free(g);
}

static void circles_are_freed_with_their_unit(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *own = test_heap_ctx(&heap);
  ig_sunit *unit = ig_sunit_create(own);
  ig_sclass *k = ig_sunit_add_class(unit, "__torch__.N", false);
  assert_non_null(k);
  size_t me = ig_sclass_add_attribute(k, "me", k->type, IG_SROLE_PLAIN);
  ig_sobj_instance *o = ig_sobj_instance_make(own, k);
  assert_non_null(o);
  assert_true(ig_sobj_instance_set(own, o, me, ig_of_sobj(o)));
  assert_true(ig_sclass_add_constant(k, "first", k->type, ig_of_sobj(o)));
  ig_sunit_close(ig_sunit_retain(unit));  // somebody still sees the object
  assert_ptr_equal(ig_sobj_instance_get(o, me).object, o);
  ig_svalue_release(ig_of_sobj(o));
  heap.fail_at = heap.calls + 1;  // also where memory is exhausted
  ig_sunit_close(unit);
  ig_ctx_free(own);
  assert_int_equal(heap.live, 0);
}

// Traces make tensors of sizes and read them; the number may be needed longer than its own uses
// say.
static void sizes_are_read_back(void **state) {
  (void)state;
  const ig_value args[2] = {ig_of_i64(5), ig_of_bool(true)};
  expect(
      "graph(%a : int, %c : bool):\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %n : int = aten::add(%a, %one)\n"
      "  %t : Tensor = prim::NumToTensor(%n)\n"
      "  %x : int = aten::mul(%a, %one)\n"
      "  %i : int = aten::Int(%t)\n"
      "  %r : int = prim::If(%c)\n"
      "    block0():\n"
      "      %j : int = aten::Int(%t)\n"
      "      %k : int = aten::add(%i, %j)\n"
      "      -> (%k)\n"
      "    block1():\n"
      "      -> (%x)\n"
      "  return (%r)\n",
      args, 2, "12");
  expect(
      "graph(%a : int, %c : bool):\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %t : Tensor = prim::NumToTensor(%a)\n"
      "  %u : Tensor = aten::add_(%t, %one, %one)\n"
      "  %i : int = aten::Int(%t)\n"
      "  return (%i)\n",
      args, 2, "6");
}

// ---- strings, lists, dicts

static void methods_of_strings(void **state) {
  (void)state;
  static const struct {
    const char *call;
    const char *self;
    const char *want;
  } cases[] = {
      {"str = aten::upper(%s)", "aZ1", "AZ1"},
      {"str = aten::title(%s)", "hello wORLD x", "Hello World X"},
      {"str = aten::swapcase(%s)", "aB", "Ab"},
      {"str[] = aten::list(%s)", "ab", "[a, b]"},
      {"int = aten::len(%s)", "abc", "3"},
      {"bool = aten::isidentifier(%s)", "a_1", "True"},
      {"bool = aten::isdigit(%s)", "", "False"},
      {"str[] = aten::splitlines(%s, %f)", "a\r\nb", "[a, , b]"},
      {"str[] = aten::splitlines(%s, %t)", "a\nb", "[a, \n, b]"},
      {"str[] = aten::split(%s, %none, %m)", " a  b ", "[a, b]"},
      {"str, %y : str, %z : str = aten::partition(%s, %s)", "b", ""},
      {"int = aten::Int(%s)", "12", "12"},
      {"float = aten::Float(%s)", "1.5", "1.5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "graph(%%s : str):\n"
                   "  %%none : NoneType = prim::Constant()\n"
                   "  %%m : int = prim::Constant[value=-1]()\n"
                   "  %%f : bool = prim::Constant[value=0]()\n"
                   "  %%t : bool = prim::Constant[value=1]()\n"
                   "  %%r : %s\n  return (%%r)\n",
                   cases[i].call);
    const ig_value arg = str_of(cases[i].self);
    expect(text, &arg, 1, cases[i].want);
    ig_svalue_release(arg);
  }
}

static void methods_of_lists(void **state) {
  (void)state;
  static const struct {
    const char *body;
    const char *want;
  } cases[] = {
      {"%r : int[] = aten::sorted(%l)", "[1, 2, 3]"},
      {"%r : int = aten::sum(%l)", "6"},
      {"%r : int = prim::max(%l)", "3"},
      {"%r : int = aten::index(%l, %two)", "2"},
      {"%r : bool = aten::__contains__(%l, %two)", "True"},
      {"%r : int[] = aten::slice(%l, %none, %none, %back)", "[2, 1, 3]"},
      {"%r : int[] = aten::mul(%l, %two)", "[3, 1, 2, 3, 1, 2]"},
      {"%r : int = aten::pop(%l, %back)", "2"},
      {"%r : int[] = aten::add_(%l, %l)", "[3, 1, 2, 3, 1, 2]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "graph(%%l : int[]):\n"
                   "  %%none : NoneType = prim::Constant()\n"
                   "  %%two : int = prim::Constant[value=2]()\n"
                   "  %%back : int = prim::Constant[value=-1]()\n"
                   "  %s\n  return (%%r)\n",
                   cases[i].body);
    const ig_value arg = ints_of((const int64_t[]){3, 1, 2}, 3);
    expect(text, &arg, 1, cases[i].want);
    ig_svalue_release(arg);
  }
}

static void dicts_keep_the_order_of_insertion(void **state) {
  (void)state;
  ig_sobj_dict *d = ig_sobj_dict_make(c, NULL);
  for (int64_t i = 0; i < 1000; i++) {
    assert_true(ig_sobj_dict_put(c, d, ig_of_i64(i * 7 % 1000), ig_of_i64(i)));
  }
  for (int64_t i = 0; i < 1000; i += 2) {
    ig_sentry *e = ig_sobj_dict_find(d, ig_of_i64(i));
    assert_non_null(e);
    ig_sobj_dict_remove(d, e);
  }
  assert_int_equal(d->live, 500);
  assert_null(ig_sobj_dict_find(d, ig_of_i64(4)));
  assert_true(ig_sobj_dict_put(c, d, ig_of_i64(4), ig_of_i64(-1)));
  size_t at = 0;
  ig_value last = ig_none();
  int64_t before = -1;
  for (const ig_sentry *e; (e = ig_sobj_dict_next(d, &at)); last = e->key) {
    if (e->value.i.value >= 0) assert_true(e->value.i.value > before);
    before = e->value.i.value;
  }
  assert_int_equal(last.i.value, 4);
  ig_sobj_dict_clear(d);
  assert_int_equal(d->live, 0);
  assert_null(ig_sobj_dict_find(d, ig_of_i64(4)));
  ig_svalue_release(ig_of_sobj(d));
}

// Freeing a long chain does not use the C stack.
static void long_chains_are_freed(void **state) {
  (void)state;
  ig_value chain = ig_none();
  for (int i = 0; i < 300000; i++) {
    ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_LIST, NULL, &chain, 1);
    ig_svalue_release(chain);
    chain = ig_of_sobj(s);
  }
  ig_svalue_release(chain);
}

static void text_of_values(void **state) {
  (void)state;
  static const struct {
    double f;
    const char *want;
  } cases[] = {{1, "1."},
               {0.1, "0.10000000000000001"},
               {-0.0, "-0."},
               {1e20, "1e+20"},
               {1e10, "10000000000."}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const ig_value arg = ig_of_f64(cases[i].f);
    expect("graph(%a : float):\n  %r : str = aten::str(%a)\n  return (%r)\n", &arg, 1,
           cases[i].want);
  }
}

// ---- errors

static void raised_exceptions_are_data(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL,
                                 "graph(%m : str):\n"
                                 "  %k : str = prim::Constant[value=\"builtins.ValueError\"]()\n"
                                 "   = prim::RaiseException(%m, %k)\n"
                                 "  return (%m)\n");
  const ig_value arg = str_of("bad");
  ig_value out = ig_none();
  assert_int_equal(ig_sgraph_run(c, u, g, &arg, 1, &out), IG_RUNTIME);
  const ig_sfailure *f = ig_ctx_sfailure(c);
  assert_non_null(f);
  assert_true(f->raised);
  assert_string_equal(f->cls, "builtins.ValueError");
  assert_string_equal(f->message, "bad");
  char want[256];
  (void)snprintf(want, sizeof want, "%sbuiltins.ValueError: bad\n", header);
  assert_string_equal(ig_ctx_error(c), want);
  ig_ctx_clear(c);
  assert_null(ig_ctx_sfailure(c));
  ig_svalue_release(arg);
  ig_sgraph_free(g);
}

// A graph may claim types that its values do not have.
static void lying_graphs_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "graph(%a : int):\n  %s : str = prim::unchecked_cast(%a)\n"
      "  %r : str = aten::upper(%s)\n  return (%r)\n",
      "graph(%a : int):\n  %s : int[] = prim::Uninitialized()\n"
      "  %r : int = aten::len(%s)\n  return (%r)\n",
      "graph(%a : int):\n  %l : str[] = prim::ListConstruct(%a)\n"
      "  %s : str = prim::Constant[value=\",\"]()\n"
      "  %r : str = aten::join(%s, %l)\n  return (%r)\n",
      "graph(%a : int):\n  %t : (int, int) = prim::unchecked_cast(%a)\n"
      "  %x : int, %y : int = prim::TupleUnpack(%t)\n  return (%x)\n",
      "graph(%a : int):\n  %l : int[] = prim::ListConstruct(%a)\n"
      "   = prim::GetAttr[name=\"x\"](%l)\n  return (%a)\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, texts[i]);
    if (!g) fail_msg("%s", ig_ctx_error(c));
    const ig_value arg = ig_of_i64(1);
    ig_value out = ig_none();
    assert_int_not_equal(ig_sgraph_run(c, u, g, &arg, 1, &out), IG_OK);
    ig_svalue_release(out);
    ig_ctx_clear(c);
    ig_sgraph_free(g);
  }
}

// ---- functions and objects

// A function of the unit with a graph; of a class if there is one.
static ig_sfunction *define(ig_sclass *owner, const char *name, const char *graph) {
  char qualified[64];
  (void)snprintf(qualified, sizeof qualified, "__torch__.%s%s", owner ? "K." : "", name);
  ig_sfunction *f = ig_sunit_add_function(u, owner, name, qualified);
  assert_non_null(f);
  f->graph = ig_sgraph_parse(&u->types, NULL, graph);
  if (!f->graph) {
    fail_msg("%s", ig_ctx_error(c));
    return NULL;
  }
  f->n_params = f->graph->body->n_in;
  f->params = ig_arena_array(&u->arena, f->n_params, sizeof *f->params);
  for (size_t i = 0; i < f->n_params; i++) {
    f->params[i] = (ig_sparam){.name = "p", .type = f->graph->body->in[i]->type};
  }
  f->result = f->graph->body->out[0]->type;
  return f;
}

static ig_sclass *class_with_number(void) {
  const ig_stype *found = ig_sunit_type(u, "__torch__.K");
  if (found) return ig_sclass_of(found);
  ig_sclass *k = ig_sunit_add_class(u, "__torch__.K", false);
  const ig_stype *number = ig_stype_plain(&u->types, IG_STYPE_INT);
  assert_int_equal(ig_sclass_add_attribute(k, "n", number, IG_SROLE_PLAIN), 0);
  define(k, "__lt__",
         "graph(%self : __torch__.K, %other : __torch__.K):\n"
         "  %a : int = prim::GetAttr[name=\"n\"](%self)\n"
         "  %b : int = prim::GetAttr[name=\"n\"](%other)\n"
         "  %r : bool = aten::lt(%a, %b)\n"
         "  return (%r)\n");
  define(k, "__enter__",
         "graph(%self : __torch__.K):\n"
         "  %one : int = prim::Constant[value=1]()\n"
         "   = prim::SetAttr[name=\"n\"](%self, %one)\n"
         "  return (%one)\n");
  define(k, "__exit__",
         "graph(%self : __torch__.K, %t : Any, %v : Any, %b : Any):\n"
         "  %two : int = prim::Constant[value=2]()\n"
         "   = prim::SetAttr[name=\"n\"](%self, %two)\n"
         "  return (%two)\n");
  return k;
}

static ig_value object_of(ig_sclass *k, int64_t n) {
  ig_sobj_instance *o = ig_sobj_instance_make(c, k);
  assert_true(ig_sobj_instance_set(c, o, 0, ig_of_i64(n)));
  return ig_of_sobj(o);
}

static void objects_are_sorted_by_their_class(void **state) {
  (void)state;
  ig_sclass *k = class_with_number();
  ig_sfunction *f = define(NULL, "order",
                           "graph(%l : __torch__.K[]):\n"
                           "  %no : bool = prim::Constant[value=0]()\n"
                           "   = aten::sort(%l, %no)\n"
                           "  return (%l)\n");
  ig_sobj_seq *list = ig_sobj_seq_make(c, IG_SOBJ_LIST, NULL, NULL, 3);
  for (int64_t i = 0; i < 3; i++) list->at[i] = object_of(k, (3 * i + 2) % 5);
  const ig_value arg = ig_of_sobj(list);
  ig_value out = ig_none();
  assert_int_equal(ig_sfunction_run(c, f, &arg, &out), IG_OK);
  for (size_t i = 1; i < 3; i++) {
    const ig_sobj_instance *a = list->at[i - 1].object;
    const ig_sobj_instance *b = list->at[i].object;
    assert_true(a->at[0].i.value < b->at[0].i.value);
  }
  ig_svalue_release(out);
  ig_svalue_release(arg);
}

// __exit__ runs when the body raises, and the error is the body's.
static void with_is_left_by_an_error(void **state) {
  (void)state;
  ig_sclass *k = class_with_number();
  ig_sfunction *f = define(NULL, "guarded",
                           "graph(%o : __torch__.K, %zero : int):\n"
                           "  %x : int = prim::Enter(%o)\n"
                           "  %y : int = aten::floordiv(%x, %zero)\n"
                           "  %z : int = prim::Exit(%o)\n"
                           "  return (%y)\n");
  const ig_value args[2] = {object_of(k, 0), ig_of_i64(0)};
  ig_value out = ig_none();
  assert_int_equal(ig_sfunction_run(c, f, args, &out), IG_RUNTIME);
  assert_non_null(strstr(ig_ctx_error(c), "RuntimeError: division by 0"));
  ig_ctx_clear(c);
  const ig_sobj_instance *o = args[0].object;
  assert_int_equal(o->at[0].i.value, 2);
  ig_svalue_release(args[0]);
}

static void recursion_ends_at_the_limit(void **state) {
  (void)state;
  ig_sclass *k = class_with_number();
  define(k, "again",
         "graph(%self : __torch__.K):\n"
         "  %r : int = prim::CallMethod[name=\"again\"](%self)\n"
         "  return (%r)\n");
  const ig_value arg = object_of(k, 0);
  ig_value out = ig_none();
  assert_int_equal(ig_sfunction_run(c, ig_sclass_method(k, "again"), &arg, &out), IG_LIMIT);
  ig_ctx_clear(c);
  ig_svalue_release(arg);
}

static void errors_of_forks_wait(void **state) {
  (void)state;
  const ig_value args[2] = {ig_of_i64(6), ig_of_i64(0)};
  static const char text[] =
      "graph(%%a : int, %%b : int):\n"
      "  %%f : Future[int] = prim::fork_0(%%a, %%b)\n"
      "%s"
      "  return (%%a)\n"
      "with prim::fork_0 = graph(%%x : int, %%y : int):\n"
      "  %%r : int = aten::floordiv(%%x, %%y)\n"
      "  return (%%r)\n";
  char graph[512];
  (void)snprintf(graph, sizeof graph, text, "");
  expect(graph, args, 2, "6");
  (void)snprintf(graph, sizeof graph, text, "  %w : int = aten::wait(%f)\n");
  char want[256];
  (void)snprintf(want, sizeof want, "%sRuntimeError: division by 0\n", header);
  expect(graph, args, 2, want);
}

// dropout_ writes what dropout computes; without training it leaves the tensor as it is.
static void dropout_writes_its_operand(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL,
                                 "graph(%x : Tensor, %p : float, %t : bool):\n"
                                 "  %r : Tensor = aten::dropout_(%x, %p, %t)\n"
                                 "  return (%r)\n");
  const int64_t size = 64;
  ig_scope s = ig_scope_open(c);
  ig_tensor *x = ig_tensor_empty(c, IG_F32, &size, 1);
  float *at = ig_tensor_data(x);
  for (int i = 0; i < 64; i++) at[i] = 1;
  for (int train = 0; train < 2; train++) {
    const ig_value args[3] = {ig_of_tensor(x), ig_of_f64(0.5), ig_of_bool(train != 0)};
    ig_value out = ig_none();
    assert_int_equal(ig_sgraph_run(c, u, g, args, 3, &out), IG_OK);
    assert_ptr_equal(out.tensor, x);
    ig_svalue_release(out);
    int zeros = 0;
    for (int i = 0; i < 64; i++) zeros += at[i] == 0;
    assert_true(train ? zeros > 0 && zeros < 64 : zeros == 0);
  }
  ig_scope_close(c, s);
  ig_sgraph_free(g);
}

// ---- the table

static void schemas_of_built_ins_parse(void **state) {
  (void)state;
  ig_sbuiltins all = ig_sbuiltins_all();
  assert_true(all.n > 600);
  for (size_t i = 0; i < all.n; i++) {
    const ig_sschema *s = ig_sschema_parse(&u->types, all.at[i].schema);
    if (!s) {
      fail_msg("%s: %s", all.at[i].schema, ig_ctx_error(c));
      return;
    }
    ig_sbuiltins rows = ig_sbuiltins_named(s->name);
    assert_true(rows.at <= &all.at[i] && &all.at[i] < rows.at + rows.n);
  }
  assert_int_equal(ig_sbuiltins_named("aten::nothing").n, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic),
      cmocka_unit_test(division_by_zero_is_an_error),
      cmocka_unit_test(loop_swaps_what_it_carries),
      cmocka_unit_test(counter_survives_its_last_use),
      cmocka_unit_test(branches),
      cmocka_unit_test(sizes_are_read_back),
      cmocka_unit_test(loops_release_their_values),
      cmocka_unit_test(endless_loops_end_at_the_limit),
      cmocka_unit_test(circles_are_freed_with_their_unit),
      cmocka_unit_test(methods_of_strings),
      cmocka_unit_test(methods_of_lists),
      cmocka_unit_test(dicts_keep_the_order_of_insertion),
      cmocka_unit_test(long_chains_are_freed),
      cmocka_unit_test(text_of_values),
      cmocka_unit_test(raised_exceptions_are_data),
      cmocka_unit_test(lying_graphs_are_refused),
      cmocka_unit_test(objects_are_sorted_by_their_class),
      cmocka_unit_test(with_is_left_by_an_error),
      cmocka_unit_test(recursion_ends_at_the_limit),
      cmocka_unit_test(errors_of_forks_wait),
      cmocka_unit_test(dropout_writes_its_operand),
      cmocka_unit_test(schemas_of_built_ins_parse),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
