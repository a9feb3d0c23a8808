// SPDX-License-Identifier: Apache-2.0
// Graphs of scripts as Python source: printed graphs of PyTorch 2.5.1 give the code that it shows
// for them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap.h"
#include "script/code_print.h"

static ig_ctx *c;
static ig_sunit *unit;
static const char *records = TEST_DATA "/script/codes.txt";

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

enum { MAX_NAMES = 64 };

// The function of a printed graph; names are separated by blanks, the function's own first.
static ig_sfunction *function_of(ig_sunit *u, ig_sclass *owner, char *words, const char *text) {
  char *at[MAX_NAMES];
  size_t n = 0;
  for (char *word = strtok(words, " \n"); word && n < MAX_NAMES; word = strtok(NULL, " \n")) {
    at[n++] = word;
  }
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, text);
  bool named = g && n > 0 && n > g->body->n_in;
  ig_sfunction *f = named ? ig_sunit_add_function(u, owner, at[0], at[0]) : NULL;
  if (!f) {
    ig_sgraph_free(g);
    return NULL;
  }
  f->graph = g;
  f->params = ig_arena_array(&u->arena, n, sizeof *f->params);
  for (size_t i = 0; f->params && i + 1 < n && i < g->body->n_in; i++) {
    f->params[i] = (ig_sparam){.name = ig_arena_strn(&u->arena, at[i + 1], strlen(at[i + 1])),
                               .type = g->body->in[i]->type};
    if (!f->params[i].name) return NULL;
    f->n_params++;
  }
  f->result = g->body->n_out ? g->body->out[0]->type : ig_stype_plain(&u->types, IG_STYPE_NONE);
  return f->params && f->result ? f : NULL;
}

// What follows the line that ends the parameters.
static const char *body_of(const char *code) {
  const char *arrow = strstr(code, ") -> ");
  const char *end = arrow ? strstr(arrow, ":\n") : NULL;
  return end ? end + 2 : code;
}

static bool print(ig_ctx *with, ig_sfunction *f, ig_str *out) {
  ig_sprint_refs refs = ig_sprint_refs_make(with);
  ig_sprint_text text = ig_sprint_text_make(with);
  ig_sprint_options options = {0};
  bool ok = ig_sprint_function(with, f, &options, &refs, &text);
  if (ok) ig_str_add(out, "%s", text.text.at);
  ig_sprint_text_free(&text);
  ig_sprint_refs_free(&refs);
  return ok && !out->failed;
}

static char names[4096];
static char graph[1 << 20];
static char code[1 << 20];

static void recorded_code_is_printed(void **state) {
  (void)state;
  FILE *f = fopen(records, "r");
  assert_non_null(f);
  char *into = names;
  static char line[1 << 16];
  int count = 0;
  int wrong = 0;
  names[0] = graph[0] = code[0] = '\0';
  while (fgets(line, sizeof line, f)) {
    if (strcmp(line, "----\n") == 0) {
      into = into == names ? graph : code;
      continue;
    }
    if (strcmp(line, "====\n") != 0) {
      size_t n = strlen(into);
      (void)snprintf(into + n, (into == names ? sizeof names : sizeof graph) - n, "%s", line);
      continue;
    }
    ig_sfunction *made = function_of(unit, NULL, names, graph);
    ig_str found = ig_str_make(c->alloc);
    if (!made || !print(c, made, &found)) {
      print_error("%s\n%s", ig_ctx_error(c), graph);
      ig_ctx_clear(c);
      wrong++;
    } else if (strcmp(body_of(found.at), body_of(code)) != 0) {
      print_error("found:\n%s\nexpected:\n%s\n%s\n", found.at, code, graph);
      wrong++;
    }
    ig_str_free(&found);
    count++;
    into = names;
    names[0] = graph[0] = code[0] = '\0';
  }
  (void)fclose(f);
  if (wrong) print_error("%d of %d differ\n", wrong, count);
  assert_int_equal(wrong, 0);
  assert_true(count > 20);
}

// ---- classes

static char forward[] = "forward self x";
static const char forward_graph[] =
    "graph(%self : __torch__.m.M,\n      %x.1 : Tensor):\n  %w : Tensor = "
    "prim::GetAttr[name=\"weight\"](%self)\n  %3 : Tensor = aten::mul(%x.1, %w) # m.py:3:4\n  "
    "return (%3)\n";

static ig_sclass *module_of(ig_sunit *u) {
  ig_sclass *k = ig_sunit_add_class(u, "__torch__.m.M", true);
  const ig_stype *tensor = ig_stype_plain(&u->types, IG_STYPE_TENSOR);
  const ig_stype *whole = ig_stype_plain(&u->types, IG_STYPE_INT);
  char words[sizeof forward];
  memcpy(words, forward, sizeof words);
  bool ok = k && tensor && whole &&
            ig_sclass_add_attribute(k, "weight", tensor, IG_SROLE_PARAMETER) != SIZE_MAX &&
            ig_sclass_add_attribute(k, "0", tensor, IG_SROLE_BUFFER) != SIZE_MAX &&
            ig_sclass_add_constant(k, "n", whole, ig_of_i64(3)) &&
            function_of(u, k, words, forward_graph);
  return ok ? k : NULL;
}

static bool print_class(ig_ctx *with, ig_sunit *u, const ig_stype *type, ig_str *out,
                        size_t *n_marks) {
  ig_sprint_refs refs = ig_sprint_refs_make(with);
  ig_sprint_text text = ig_sprint_text_make(with);
  bool ok = ig_sprint_declaration(with, u, (ig_sprint_need){.type = type}, &refs, &text);
  if (ok) ig_str_add(out, "%s", text.text.at);
  *n_marks = text.marks.n;
  ig_sprint_text_free(&text);
  ig_sprint_refs_free(&refs);
  return ok && !out->failed;
}

static void classes_are_printed(void **state) {
  (void)state;
  ig_sclass *k = module_of(unit);
  assert_non_null(k);
  ig_str s = ig_str_make(c->alloc);
  size_t marks = 0;
  assert_true(print_class(c, unit, k->type, &s, &marks));
  assert_string_equal(s.at,
                      "class M(Module):\n"
                      "  __parameters__ = [\"weight\", ]\n"
                      "  __buffers__ = [\"0\", ]\n"
                      "  weight : Tensor\n"
                      "  __annotations__[\"0\"] = Tensor\n"
                      "  n : Final[int] = 3\n"
                      "  def forward(self: __torch__.m.M,\n"
                      "    x: Tensor) -> Tensor:\n"
                      "    w = self.weight\n"
                      "    return torch.mul(x, w)\n");
  assert_true(marks > 1);  // the product has a place of its own
  ig_str_free(&s);
}

static void enums_are_printed(void **state) {
  (void)state;
  ig_senum *e =
      ig_sunit_add_enum(unit, "__torch__.m.Color", ig_stype_plain(&unit->types, IG_STYPE_INT));
  assert_non_null(e);
  assert_true(ig_senum_add(e, "RED", ig_of_i64(1)));
  assert_true(ig_senum_add(e, "BLUE", ig_of_i64(2)));
  ig_str s = ig_str_make(c->alloc);
  size_t marks = 0;
  assert_true(print_class(c, unit, e->type, &s, &marks));
  assert_string_equal(s.at, "class Color(Enum):\n  RED = 1\n  BLUE = 2\n");
  ig_str_free(&s);
}

static void named_tuples_are_printed(void **state) {
  (void)state;
  const ig_stype_field fields[] = {{"a", ig_stype_plain(&unit->types, IG_STYPE_TENSOR), NULL}};
  ig_str s = ig_str_make(c->alloc);
  size_t marks = 0;
  assert_true(print_class(c, unit, ig_stype_named_tuple(&unit->types, "__torch__.m.P", fields, 1),
                          &s, &marks));
  assert_string_equal(s.at, "class P(NamedTuple):\n  a : Tensor\n");
  ig_str_free(&s);
}

// Calls of the host print, but no archive can hold them.
static void calls_of_the_host_are_refused(void **state) {
  (void)state;
  char words[] = "f x";
  ig_sfunction *f = function_of(
      unit, NULL, words, "graph(%x : Tensor):\n  %1 : Tensor = ^pyfn[]()(%x)\n  return (%1)\n");
  assert_non_null(f);
  ig_str s = ig_str_make(c->alloc);
  assert_true(print(c, f, &s));
  assert_string_equal(body_of(s.at), "  return ^pyfn()(x)\n");
  ig_str_free(&s);
  ig_sprint_refs refs = ig_sprint_refs_make(c);
  ig_sprint_text text = ig_sprint_text_make(c);
  assert_false(ig_sprint_function(c, f, &(ig_sprint_options){.importable = true}, &refs, &text));
  test_error_has(c, "Could not export Python function call 'pyfn'");
  ig_sprint_text_free(&text);
  ig_sprint_refs_free(&refs);
}

static ig_status session(ig_ctx *with) {
  ig_sunit *u = ig_sunit_create(with);
  if (!u) return ig_ctx_status(with);
  ig_sclass *k = module_of(u);
  ig_str s = ig_str_make(with->alloc);
  size_t marks = 0;
  if (k) (void)print_class(with, u, k->type, &s, &marks);
  if (s.failed) (void)ig_fail(with, IG_NOMEM, "out of memory");
  ig_str_free(&s);
  ig_sunit_release(u);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(int argc, char **argv) {
  if (argc > 1) records = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_code_is_printed),
      cmocka_unit_test(classes_are_printed),
      cmocka_unit_test(enums_are_printed),
      cmocka_unit_test(named_tuples_are_printed),
      cmocka_unit_test(calls_of_the_host_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
