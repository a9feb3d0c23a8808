// SPDX-License-Identifier: Apache-2.0
// Graphs of scripts: printed graphs of PyTorch 2.5.1 are read and printed again, and names are
// given as it gives them.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "script/ir.h"

static ig_ctx *c;
static ig_stypes types;

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  types = ig_stypes_make(c);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ig_stypes_free(&types);
  ig_ctx_free(c);
  return 0;
}

// Numbers of values in order of appearance; they begin anew in every graph.
static void renumber(const char *text, ig_str *out) {
  size_t numbers[1024];
  size_t n = 0;
  for (const char *p = text; *p;) {
    if (strncmp(p, "graph(", 6) == 0) n = 0;
    if (*p != '%' || !isdigit((unsigned char)p[1])) {
      ig_str_add(out, "%c", *p++);
      continue;
    }
    char *end = NULL;
    size_t number = (size_t)strtoull(p + 1, &end, 10);
    size_t i = 0;
    while (i < n && numbers[i] != number) i++;
    if (i == n) {
      assert_true(n < 1024);
      numbers[n++] = number;
    }
    ig_str_add(out, "%%%zu", i);
    p = end;
  }
}

static void survives(const char *text) {
  ig_sgraph *g = ig_sgraph_parse(&types, NULL, text);
  if (!g) fail_msg("%s\n%s", ig_ctx_error(c), text);
  ig_str printed = ig_str_make(c->alloc);
  ig_str want = ig_str_make(c->alloc);
  ig_str found = ig_str_make(c->alloc);
  ig_sgraph_print(&printed, g, true);
  renumber(text, &want);
  renumber(printed.at, &found);
  assert_string_equal(found.at, want.at);
  ig_str_free(&printed);
  ig_str_free(&want);
  ig_str_free(&found);
  ig_sgraph_free(g);
}

static void recorded_graphs_survive(void **state) {
  (void)state;
  FILE *f = fopen(TEST_DATA "/script/graphs.txt", "r");
  assert_non_null(f);
  static char text[1 << 16];
  char line[4096];
  size_t n = 0;
  int graphs = 0;
  for (bool more = true; more;) {
    more = fgets(line, sizeof line, f) != NULL;
    if (!more || strcmp(line, "====\n") == 0) {
      survives(text);
      graphs++;
      n = 0;
      continue;
    }
    assert_true(n + strlen(line) < sizeof text);
    memcpy(text + n, line, strlen(line) + 1);
    n += strlen(line);
  }
  (void)fclose(f);
  assert_true(graphs > 20);
}

// Successive owners of one name: the newest has it plain, older ones count 1, 3, 5.
static void names_are_unique(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_create(&types);
  const ig_stype *tensor = ig_stype_plain(&types, IG_STYPE_TENSOR);
  ig_svalue *v[4];
  for (size_t i = 0; i < 4; i++) {
    v[i] = ig_sblock_add_input(g->body, tensor);
    assert_true(ig_svalue_set_name(g, v[i], "x"));
  }
  assert_string_equal(v[0]->name, "x.1");
  assert_string_equal(v[1]->name, "x.3");
  assert_string_equal(v[2]->name, "x.5");
  assert_string_equal(v[3]->name, "x");
  assert_true(ig_svalue_set_name(g, v[0], "0"));
  assert_string_equal(v[0]->name, "_0");
  assert_true(ig_svalue_set_name(g, v[3], ""));
  assert_null(v[3]->name);
  ig_sgraph_free(g);
}

static void graphs_are_built(void **state) {
  (void)state;
  ig_sgraph *g = ig_sgraph_create(&types);
  const ig_stype *tensor = ig_stype_plain(&types, IG_STYPE_TENSOR);
  ig_svalue *x = ig_sblock_add_input(g->body, tensor);
  assert_true(ig_svalue_set_name(g, x, "x"));
  ig_snode *one = ig_snode_push(g->body, "prim::Constant", NULL, 0);
  ig_snode_add_attr(one, "value", IG_SATTR_VALUE)->value = ig_of_f64(2);
  ig_svalue *two = ig_snode_add_output(one, ig_stype_plain(&types, IG_STYPE_FLOAT));
  ig_snode *choice = ig_snode_push(g->body, "prim::If", &two, 1);
  for (int i = 0; i < 2; i++) {
    assert_true(ig_sblock_add_output(ig_snode_add_block(choice), x));
  }
  ig_svalue *y = ig_snode_add_output(choice, tensor);
  assert_true(ig_sblock_add_output(g->body, y));
  ig_str s = ig_str_make(c->alloc);
  ig_sgraph_print(&s, g, true);
  assert_string_equal(s.at,
                      "graph(%x : Tensor):\n  %1 : float = prim::Constant[value=2.]()\n  %2 : "
                      "Tensor = prim::If(%1)\n    block0():\n      -> (%x)\n    block1():\n      "
                      "-> (%x)\n  return (%2)\n");
  ig_str_free(&s);
  ig_sgraph_free(g);
}

static void what_is_no_graph_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *error;
  } cases[] = {
      {"graph(%x : Tensor):\n  return (%y)\n", "expected a value that was defined"},
      {"graph(%x : Tensor, %x : int):\n  return ()\n", "expected a name that is not taken"},
      {"graph(%x : Foo):\n  return ()\n", "Unknown type name 'Foo'"},
      {"graph(%x : int):\n  %y : int = aten::neg(%x\n  return ()\n", "expected ,"},
      {"graph(%x : int):\n", "expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(ig_sgraph_parse(&types, NULL, cases[i].text));
    test_error_has(c, cases[i].error);
  }
}

static ig_status session(ig_ctx *with) {
  ig_stypes t = ig_stypes_make(with);
  ig_sgraph_free(ig_sgraph_parse(
      &t, NULL,
      "graph(%x.1 : Tensor,\n      %n : (int, str)[]):\n  %1 : str = "
      "prim::Constant[value=\"a\\n\"]()\n  %f : Future[Tensor] = prim::fork_0(%x.1), scope: a # "
      "f.py:1:2\n   = prim::If(%1)\n    block0():\n      -> ()\n  return (%f)\nwith prim::fork_0 = "
      "graph(%x : Tensor):\n  return (%x)\n"));
  ig_stypes_free(&t);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_graphs_survive),   cmocka_unit_test(names_are_unique),
      cmocka_unit_test(graphs_are_built),          cmocka_unit_test(what_is_no_graph_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
