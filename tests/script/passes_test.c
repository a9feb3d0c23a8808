// SPDX-License-Identifier: Apache-2.0
// Passes over graphs of scripts: texts of graphs before and after, in the files beside this one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "script/calls.h"
#include "script/compile.h"
#include "script/freeze.h"
#include "script/interp.h"
#include "script/passes.h"

static ig_ctx *c;
static ig_sunit *unit;

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  unit = ig_sunit_create(c);
  return unit ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  ig_sunit_release(unit);
  ig_ctx_free(c);
  return 0;
}

typedef bool pass(ig_sgraph *g);

// The graph after a pass as text; an error is its text.
static void apply(const char *before, pass *run, ig_str *out) {
  ig_sgraph *g = ig_sgraph_parse(&unit->types, NULL, before);
  if (!g) fail_msg("%s\n%s", ig_ctx_error(c), before);
  if (run(g)) {
    ig_sgraph_print(out, g, true);
  } else {
    ig_str_add(out, "%s\n", ig_ctx_error(c));
    ig_ctx_clear(c);
  }
  ig_sgraph_free(g);
}

// A file has cases: a line `=== name`, a graph, a line `---`, the graph after the pass.
static void compare_file(const char *path, pass *run) {
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  static char text[1 << 17];
  size_t n = fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  (void)fclose(f);
  const bool show = getenv("SHOW") != NULL;
  size_t cases = 0;
  for (char *at = strstr(text, "=== "); at; cases++) {
    char *name = at + 4;
    char *before = strchr(name, '\n');
    assert_non_null(before);
    *before++ = '\0';
    char *next = strstr(before, "\n=== ");
    if (next) *next++ = '\0';
    char *after = strstr(before, "\n---");
    assert_non_null(after);
    *after = '\0';
    after += strspn(after + 4, "\n") + 4;
    ig_str found = ig_str_make(c->alloc);
    apply(before, run, &found);
    size_t length = strlen(after);
    while (length && after[length - 1] == '\n') after[--length] = '\0';
    while (found.n && found.at[found.n - 1] == '\n') found.at[--found.n] = '\0';
    if (show) printf("=== %s\n%s\n---\n%s\n\n", name, before, found.at);
    if (!show && strcmp(found.at, after) != 0) {
      fail_msg("%s: found\n%s\nexpected\n%s", name, found.at, after);
    }
    ig_str_free(&found);
    at = next;
  }
  assert_true(cases > 0);
}

static void variables_become_values(void **state) {
  (void)state;
  compare_file(TEST_DATA "/script/to_ssa.txt", ig_sgraph_to_ssa);
}

static bool clean(ig_sgraph *g) {
  unit->next_warning = 0;
  return ig_sgraph_clean(unit, g);
}

static void graphs_are_cleaned(void **state) {
  (void)state;
  compare_file(TEST_DATA "/script/clean.txt", clean);
}

static bool remove_dead(ig_sgraph *g) {
  return ig_sgraph_remove_dead(unit, g);
}

static void dead_code_goes(void **state) {
  (void)state;
  compare_file(TEST_DATA "/script/dead.txt", remove_dead);
}

static bool fold(ig_sgraph *g) {
  return ig_sgraph_fold_constants(unit, g);
}

static void constants_are_folded(void **state) {
  (void)state;
  compare_file(TEST_DATA "/script/fold.txt", fold);
}

static bool freeze_passes(ig_sgraph *g) {
  bool unrolled = false;
  return ig_sgraph_fold_all(unit, g) && ig_sgraph_unroll_loops(g, &unrolled) &&
         ig_sgraph_optimize_frozen(unit, g, true);
}

static void frozen_graphs_are_folded(void **state) {
  (void)state;
  compare_file(TEST_DATA "/script/frozen.txt", freeze_passes);
}

// ---- functions and modules

static ig_sfunction *add_function(ig_sclass *owner, const char *name, const char *graph) {
  char qualified[128];
  (void)snprintf(qualified, sizeof qualified, "%s.%s", owner ? owner->type->name : "__torch__",
                 name);
  ig_sfunction *f = ig_sunit_add_function(unit, owner, name, qualified);
  assert_non_null(f);
  f->graph = ig_sgraph_parse(&unit->types, NULL, graph);
  if (!f->graph) {
    fail_msg("%s", ig_ctx_error(c));
    return NULL;
  }
  f->result = f->graph->body->out[0]->type;
  f->n_params = f->graph->body->n_in;
  f->params = ig_arena_array(&unit->arena, f->n_params, sizeof *f->params);
  assert_non_null(f->params);
  for (size_t i = 0; i < f->n_params; i++) {
    const ig_svalue *v = f->graph->body->in[i];
    f->params[i] = (ig_sparam){.name = v->name, .type = v->type};
  }
  return f;
}

static void prints(const ig_sgraph *g, const char *want) {
  ig_str s = ig_str_make(c->alloc);
  ig_sgraph_print(&s, g, false);
  assert_string_equal(s.at, want);
  ig_str_free(&s);
}

// The body of the callee is inlined in its simplified form; calls inside of it as well.
static void calls_are_inlined(void **state) {
  (void)state;
  ig_sclass *k = ig_sunit_add_class(unit, "__torch__.M", true);
  assert_non_null(k);
  add_function(k, "inner",
               "graph(%self : __torch__.M, %x : Tensor):\n"
               "  %none : NoneType = prim::Constant()\n"
               "  %known : bool = aten::__is__(%x, %none)\n"
               "  %y : Tensor = prim::If(%known)\n"
               "    block0():\n"
               "      -> (%x)\n"
               "    block1():\n"
               "      %z : Tensor = aten::relu(%x)\n"
               "      -> (%z)\n"
               "  return (%y)\n");
  add_function(k, "outer",
               "graph(%self : __torch__.M, %x : Tensor):\n"
               "  %a : Tensor = prim::CallMethod[name=\"inner\"](%self, %x)\n"
               "  %b : Tensor = prim::CallMethod[name=\"inner\"](%self, %a)\n"
               "  return (%b)\n");
  ig_sgraph *g = ig_sgraph_parse(&unit->types, NULL,
                                 "graph(%self : __torch__.M, %x : Tensor):\n"
                                 "  %r : Tensor = prim::CallMethod[name=\"outer\"](%self, %x)\n"
                                 "  return (%r)\n");
  assert_non_null(g);
  assert_true(ig_sgraph_inline(c, unit, g));
  prints(g,
         "graph(%self : __torch__.M,\n"
         "      %x : Tensor):\n"
         "  %a : Tensor = aten::relu(%x)\n"
         "  %r : Tensor = aten::relu(%a)\n"
         "  return (%r)\n");
  ig_sgraph_free(g);
}

static void recursive_calls_end(void **state) {
  (void)state;
  ig_sclass *k = ig_sunit_add_class(unit, "__torch__.M", true);
  ig_sfunction *f = add_function(k, "again",
                                 "graph(%self : __torch__.M, %x : Tensor):\n"
                                 "  %a : Tensor = prim::CallMethod[name=\"again\"](%self, %x)\n"
                                 "  return (%a)\n");
  ig_sgraph *g = ig_sgraph_copy(f->graph);
  assert_non_null(g);
  assert_false(ig_sgraph_inline(c, unit, g));
  assert_string_equal(ig_ctx_error(c), "calls nested more than 200 deep");
  ig_ctx_clear(c);
  ig_sgraph_free(g);
}

static ig_sobj_instance *make_object(ig_sclass *k, const ig_value *at, size_t n) {
  ig_sobj_instance *o = ig_sobj_instance_make(c, k);
  assert_non_null(o);
  for (size_t i = 0; i < n; i++) assert_true(ig_sobj_instance_set(c, o, i, at[i]));
  return o;
}

// Attributes that nothing writes are constants; the others stay, in a class of their own.
static void modules_are_frozen(void **state) {
  (void)state;
  const ig_stype *integer = ig_stype_plain(&unit->types, IG_STYPE_INT);
  ig_sclass *inner = ig_sunit_add_class(unit, "__torch__.Inner", true);
  assert_true(ig_sclass_add_attribute(inner, "k", integer, IG_SROLE_PLAIN) == 0);
  ig_sclass *outer = ig_sunit_add_class(unit, "__torch__.M", true);
  assert_true(ig_sclass_add_attribute(outer, "n", integer, IG_SROLE_PLAIN) == 0);
  assert_true(ig_sclass_add_attribute(outer, "gone", integer, IG_SROLE_PLAIN) == 1);
  assert_true(ig_sclass_add_attribute(outer, "sub", inner->type, IG_SROLE_PLAIN) == 2);
  add_function(inner, "forward",
               "graph(%self : __torch__.Inner, %x : int):\n"
               "  %k : int = prim::GetAttr[name=\"k\"](%self)\n"
               "  %y : int = aten::mul(%x, %k)\n"
               "  return (%y)\n");
  add_function(outer, "forward",
               "graph(%self : __torch__.M, %x : int):\n"
               "  %n : int = prim::GetAttr[name=\"n\"](%self)\n"
               "  %gone : int = prim::GetAttr[name=\"gone\"](%self)\n"
               "  %m : int = aten::add(%n, %gone)\n"
               "   = prim::SetAttr[name=\"n\"](%self, %m)\n"
               "  %sub : __torch__.Inner = prim::GetAttr[name=\"sub\"](%self)\n"
               "  %y : int = prim::CallMethod[name=\"forward\"](%sub, %m)\n"
               "  return (%y)\n");
  ig_value three = ig_of_i64(3);
  ig_sobj_instance *sub = make_object(inner, &three, 1);
  const ig_value values[] = {ig_of_i64(10), ig_of_i64(2), ig_of_sobj(sub)};
  ig_sobj_instance *module = make_object(outer, values, 3);
  ig_sobj_instance *frozen = ig_script_freeze(c, module, &(ig_sfreeze){0});
  if (!frozen) {
    fail_msg("%s", ig_ctx_error(c));
    return;
  }
  assert_string_equal(frozen->cls->type->name, "__torch__.___torch_mangle_0.M");
  assert_int_equal(frozen->cls->attributes.n, 1);
  ig_sfunction *f = ig_sclass_method(frozen->cls, "forward");
  assert_non_null(f);
  prints(f->graph,
         "graph(%self : __torch__.___torch_mangle_0.M,\n"
         "      %x : int):\n"
         "  %self.sub.k : int = prim::Constant[value=3]()\n"
         "  %self.gone : int = prim::Constant[value=2]()\n"
         "  %n : int = prim::GetAttr[name=\"n\"](%self)\n"
         "  %m : int = aten::add(%n, %self.gone)\n"
         "   = prim::SetAttr[name=\"n\"](%self, %m)\n"
         "  %y.1 : int = aten::mul(%m, %self.sub.k)\n"
         "  return (%y.1)\n");
  ig_value args[] = {ig_of_sobj(frozen), ig_of_i64(1)};
  ig_value result = ig_none();
  assert_int_equal(ig_sfunction_run(c, f, args, &result), IG_OK);
  assert_int_equal(result.i.value, 36);
  assert_int_equal(module->at[0].i.value, 10);  // the old one keeps its own

  const char *unknown = "nothing";
  assert_null(ig_script_freeze(c, module, &(ig_sfreeze){&unknown, 1}));
  assert_string_equal(ig_ctx_error(c), "Unknown name: nothing");
  ig_ctx_clear(c);
  ig_svalue_release(ig_of_sobj(frozen));
  ig_svalue_release(ig_of_sobj(module));
  ig_svalue_release(ig_of_sobj(sub));
}

// ---- out of memory

static const char with_everything[] =
    "graph(%x : Tensor, %n : int, %c : bool):\n"
    "   = prim::Store[name=\"y\"](%x)\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %f : Tensor = prim::Closure()\n"
    "    block0():\n"
    "      %fy : Tensor = aten::relu(%x)\n"
    "       = prim::ReturnStmt(%fy)\n"
    "      -> ()\n"
    "  %future : Future[Tensor] = prim::forkClosure(%f)\n"
    "   = prim::Loop(%n)\n"
    "    block0(%i : int):\n"
    "       = prim::If(%c)\n"
    "        block0():\n"
    "           = prim::BreakStmt()\n"
    "          -> ()\n"
    "        block1():\n"
    "          %two : int = prim::Constant[value=2]()\n"
    "          %three : int = prim::Constant[value=3]()\n"
    "          %more : bool = aten::gt(%three, %two)\n"
    "           = prim::If(%more)\n"
    "            block0():\n"
    "              %l : Tensor = prim::Load[name=\"y\"]()\n"
    "              %m : Tensor = aten::absolute(%l)\n"
    "              %t : (Tensor, int) = prim::TupleConstruct(%m, %two)\n"
    "              %a : Tensor, %b : int = prim::TupleUnpack(%t)\n"
    "               = prim::Store[name=\"y\"](%a)\n"
    "              -> ()\n"
    "            block1():\n"
    "              -> ()\n"
    "          -> ()\n"
    "      -> ()\n"
    "    block1():\n"
    "      -> (%true)\n"
    "  %z : Tensor = prim::Load[name=\"y\"]()\n"
    "  %w : Tensor = aten::wait(%future)\n"
    "  %s : Tensor = aten::matmul(%z, %w)\n"
    "   = prim::ReturnStmt(%s)\n"
    "  return ()\n";

// x is read, y and z are measured, w is measured by what nothing uses; y and w vary.
static const char measuring[] =
    "graph(%x : Tensor, %y : Tensor, %z : Tensor, %w : Tensor):\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %y1 : Tensor = aten::add(%y, %one, %one)\n"
    "  %a : int = aten::size(%y1, %one)\n"
    "  %b : int = aten::size(%z, %one)\n"
    "  %dead : int = aten::size(%w, %one)\n"
    "  %n : int = aten::mul(%a, %b)\n"
    "  %l : int[] = prim::ListConstruct(%n)\n"
    "  %r : Tensor = aten::view(%x, %l)\n"
    "  return (%r)\n";

static void measured_inputs_are_found(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_parse(&unit->types, NULL, measuring);
  assert_non_null(g);
  const bool varying[] = {false, true, false, true};
  bool asked[] = {true, false, true, true};
  assert_true(ig_sgraph_size_reads(unit, g, varying, asked));
  assert_false(asked[0]);
  assert_true(asked[1]);   // by the size of what is computed from it
  assert_false(asked[2]);  // its sizes are known
  assert_false(asked[3]);
  ig_sgraph_free(g);
}

static ig_status session(ig_ctx *ctx) {
  ig_sunit *u = ig_sunit_create(ctx);
  ig_sgraph *g = u ? ig_sgraph_parse(&u->types, NULL, with_everything) : NULL;
  bool unrolled = false;
  bool ok = g && ig_sgraph_to_ssa(g) && ig_sgraph_clean(u, g) && ig_sgraph_simplify(u, g) &&
            ig_sgraph_fold_all(u, g) && ig_sgraph_unroll_loops(g, &unrolled) &&
            ig_sgraph_optimize_frozen(u, g, true);
  const bool varying[] = {true, false, false};
  bool asked[3];
  ok = ok && ig_sgraph_size_reads(u, g, varying, asked);
  assert_true(ok || ig_ctx_status(ctx) == IG_NOMEM);
  if (g) ig_sgraph_free(g);
  if (u) ig_sunit_release(u);
  return ig_ctx_status(ctx);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variables_become_values, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs_are_cleaned, setup, teardown),
      cmocka_unit_test_setup_teardown(dead_code_goes, setup, teardown),
      cmocka_unit_test_setup_teardown(constants_are_folded, setup, teardown),
      cmocka_unit_test_setup_teardown(frozen_graphs_are_folded, setup, teardown),
      cmocka_unit_test_setup_teardown(calls_are_inlined, setup, teardown),
      cmocka_unit_test_setup_teardown(recursive_calls_end, setup, teardown),
      cmocka_unit_test_setup_teardown(modules_are_frozen, setup, teardown),
      cmocka_unit_test_setup_teardown(measured_inputs_are_found, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
