// SPDX-License-Identifier: Apache-2.0
// Texts of scripts as trees, places in them, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ctx.h"
#include "heap.h"
#include "script/tree.h"

static ig_ctx *c;
static ig_arena arena;

static int setup(void **state) {
  (void)state;
  if (ig_ctx_create(NULL, &c) != IG_OK) return -1;
  arena = ig_arena_make(c->alloc);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ig_arena_free(&arena);
  ig_ctx_free(c);
  return 0;
}

static ig_source source_of(const char *text) {
  return (ig_source){.text = text, .n = strlen(text), .file = "f.py", .first_line = 1};
}

static void expression(const char *text, const char *want) {
  ig_source source = source_of(text);
  const ig_tree *t = ig_tree_parse_expression(c, &arena, &source);
  assert_string_equal(ig_ctx_error(c), "");
  ig_str s = ig_str_make(c->alloc);
  ig_tree_print(&s, t);
  assert_string_equal(s.at, want);
  ig_str_free(&s);
}

static void statements(const char *text, const char *want) {
  ig_source source = source_of(text);
  const ig_tree *t = ig_tree_parse(c, &arena, &source);
  assert_string_equal(ig_ctx_error(c), "");
  ig_str s = ig_str_make(c->alloc);
  for (size_t i = 0; i < t->n; i++) ig_tree_print(&s, t->at[i]);
  assert_string_equal(s.at ? s.at : "", want);
  ig_str_free(&s);
}

static void refused(const char *text, ig_status status, const char *message) {
  ig_source source = source_of(text);
  assert_null(ig_tree_parse(c, &arena, &source));
  assert_int_equal(ig_ctx_status(c), status);
  test_error_has(c, message);
}

static void operators_bind_as_in_python(void **state) {
  (void)state;
  expression("1 + 2 * 3", "(BINARY + (INT 1) (BINARY * (INT 2) (INT 3)))");
  expression("1 - 2 - 3", "(BINARY - (BINARY - (INT 1) (INT 2)) (INT 3))");
  expression("-2 ** -2", "(UNARY - (BINARY ** (INT 2) (UNARY - (INT 2))))");
  expression("2 ** 3 ** 2", "(BINARY ** (INT 2) (BINARY ** (INT 3) (INT 2)))");
  expression("a or b and not c", "(OR (NAME a) (AND (NAME b) (UNARY not (NAME c))))");
  expression("not a == b", "(UNARY not (COMPARE == (NAME a) (NAME b)))");
  expression("a is not b", "(COMPARE is not (NAME a) (NAME b))");
  expression("a not in b", "(COMPARE not in (NAME a) (NAME b))");
  expression("a < b <= c", "(AND (COMPARE < (NAME a) (NAME b)) (COMPARE <= (NAME b) (NAME c)))");
  expression("a if b else c", "(TERNARY (NAME b) (NAME a) (NAME c))");
  expression("a @ b | c", "(BINARY | (BINARY @ (NAME a) (NAME b)) (NAME c))");
}

static void calls_and_subscripts(void **state) {
  (void)state;
  expression("f(a, *b, k=1, **d)",
             "(CALL (NAME f) (NAME a) (STARRED (NAME b)) (KEYWORD k (INT 1)) "
             "(MAPPING (NAME d)))");
  expression("x.y[1:, ..., None][::2]",
             "(SUBSCRIPT (SUBSCRIPT (ATTRIBUTE y (NAME x)) (TUPLE (SLICE (INT 1) - -) (ELLIPSIS) "
             "(NONE))) (SLICE - - (INT 2)))");
  expression("(getattr(self, \"0\")).forward(x, )",
             "(CALL (ATTRIBUTE forward (CALL (NAME getattr) (NAME self) (STRING '0'))) (NAME x))");
  expression("sum(i for i in x if i)",
             "(CALL (NAME sum) (GENERATOR_EXP (NAME i) (GENERATOR (NAME i) (NAME x) (NAME i))))");
  expression("ops.prim.None", "(ATTRIBUTE None (ATTRIBUTE prim (NAME ops)))");
}

static void literals(void **state) {
  (void)state;
  expression("[1, 0x1f, 1_000, 0b11, 2., 1e3, 2j]",
             "(LIST (INT 1) (INT 31) (INT 1000) (INT 3) (FLOAT 2.0) (FLOAT 1000.0) "
             "(IMAGINARY 2.0))");
  expression("(), (1,), {}, {1: 2}, {1}",
             "(TUPLE (TUPLE) (TUPLE (INT 1)) (DICT) (DICT (INT 1) (INT 2)) (SET (INT 1)))");
  expression("'a\\x41\\u00e9\\n' r'\\n' \"b\"", "(STRING 'aA\xc3\xa9\n\\nb')");
  expression("f'{a!r:>{w}}{{{b}}}'",
             "(FORMAT (FIELD r (NAME a) (FORMAT (STRING '>') (FIELD (NAME w) -))) (STRING '{') "
             "(FIELD (NAME b) -) (STRING '}'))");
  expression("9223372036854775807", "(INT 9223372036854775807)");
  expression("9223372036854775808", "(BIG_INT 9223372036854775808)");
}

static void statements_of_functions(void **state) {
  (void)state;
  statements("def f(x: int, *a, y=2, **k) -> List[int]:\n  # type: (int) -> int\n  return\n",
             "(DEF f (PARAMETERS (PARAMETER x (NAME int) -) (PARAMETER a - -) (PARAMETER y - (INT "
             "2)) (PARAMETER k - -)) (SUBSCRIPT (NAME List) (NAME int)) (BLOCK (TYPE_COMMENT # "
             "type: (int) -> int) (RETURN -)))");
  statements("a, *b = c = x; y: int = 3; z += 1\n",
             "(ASSIGN (NAME x) (TUPLE (NAME a) (STARRED (NAME b))) (NAME c))(ANNOTATED (NAME y) "
             "(NAME int) (INT 3))(AUGMENTED + (NAME z) (INT 1))");
  statements("if a:\n  b\nelif c:\n  d\nelse:\n  e\n",
             "(IF (NAME a) (BLOCK (EXPRESSION (NAME b))) (BLOCK (IF (NAME c) (BLOCK (EXPRESSION "
             "(NAME d))) (BLOCK (EXPRESSION (NAME e))))))");
  statements("for i, j in x:\n  break\nwhile True: continue\n",
             "(FOR (TUPLE (NAME i) (NAME j)) (NAME x) (BLOCK (BREAK)) -)(WHILE (TRUE) (BLOCK "
             "(CONTINUE)) -)");
  statements("with a as b, c: pass\nassert x, 'm'\nraise E('m') from y\ndel x[0]\n",
             "(WITH (BLOCK (PASS)) (ITEM (NAME a) (NAME b)) (ITEM (NAME c) -))(ASSERT (NAME x) "
             "(STRING 'm'))(RAISE (CALL (NAME E) (STRING 'm')) (NAME y))(DELETE (SUBSCRIPT (NAME "
             "x) (INT 0)))");
  statements("class C(Module):\n  __annotations__[\"0\"] = T\n",
             "(CLASS C (BLOCK (ASSIGN (NAME T) (SUBSCRIPT (NAME __annotations__) (STRING '0')))) "
             "(NAME Module))");
  statements("x = f(a,  # why\n      b)\ny = 1 + \\\n  2\n",
             "(ASSIGN (CALL (NAME f) (NAME a) (NAME b)) (NAME x))(ASSIGN (BINARY + (INT 1) (INT "
             "2)) (NAME y))");
}

// As PyTorch quotes them.
static void places_are_quoted(void **state) {
  (void)state;
  const char *text = "a\nb\nc\nd\n    for n, f in self.table[k]:\n        x = 1\n    y\nz\nlast\n";
  ig_source source = source_of(text);
  source.first_line = 21;
  size_t at = (size_t)(strstr(text, "self.table") - text);
  ig_srange r = {&source, at, at + strlen("self.table")};
  ig_str s = ig_str_make(c->alloc);
  ig_srange_quote(&s, r, "forward");
  assert_string_equal(s.at,
                      "  File \"f.py\", line 25, in forward\nb\nc\nd\n    for n, f in "
                      "self.table[k]:\n                ~~~~~~~~~~ <--- HERE\n        x = 1\n    "
                      "y\nz\n");
  ig_str_free(&s);
  assert_int_equal(ig_srange_line(r), 25);
  assert_int_equal(ig_srange_column(r), 16);
  // Every line of a longer range is marked, the last one says so.
  const char *two = "def fn(x):\n    return x\n";
  source = source_of(two);
  ig_srange both = {&source, 0, strlen(two) - 1};
  s = ig_str_make(c->alloc);
  ig_srange_quote(&s, both, NULL);
  assert_string_equal(s.at,
                      "  File \"f.py\", line 1\ndef fn(x):\n~~~~~~~~~~\n    return x\n    ~~~~~~~~ "
                      "<--- HERE\n");
  ig_str_free(&s);
}

static void what_is_no_python_is_refused(void **state) {
  (void)state;
  refused("x = (1\n", IG_SYNTAX, "expected ) but found newline here");
  refused("if x\n  y\n", IG_SYNTAX, "expected : but found newline here");
  refused("1 = x\n", IG_SYNTAX, "cannot assign to this expression");
  refused("x = 'a\n", IG_SYNTAX, "unterminated string literal");
  refused("x = '\\x4'\n", IG_SYNTAX, "truncated \\x escape");
  refused("if x:\n        y\n    z\n", IG_SYNTAX, "invalid indent level 4");
  refused("x = 1 $ 2\n", IG_SYNTAX, "unexpected character in input");
  refused("x = f'{a'\n", IG_SYNTAX, "f-string: expected '}'");
  char deep[2048];
  memset(deep, '(', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  refused(deep, IG_LIMIT, "nested more than 256 deep at line 1");
}

static ig_status session(ig_ctx *with) {
  ig_source source = source_of(
      "@d\nclass C(B, m=1):\n  def f(self, x: int = 3, *a, **k) -> T:\n    # type: (int) -> int\n"
      "    a, *b = c = [i for i in x if i]; d[1:, 2] += f'{x!r:>{w}}'\n"
      "    try:\n      import a.b as q\n    except E as e:\n      raise\n    finally:\n      del "
      "x\n"
      "    with a as b: return lambda u: {**u, 1: {2}}\n");
  ig_arena trees = ig_arena_make(with->alloc);
  (void)ig_tree_parse(with, &trees, &source);
  ig_arena_free(&trees);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_bind_as_in_python),
      cmocka_unit_test(calls_and_subscripts),
      cmocka_unit_test(literals),
      cmocka_unit_test(statements_of_functions),
      cmocka_unit_test(places_are_quoted),
      cmocka_unit_test(what_is_no_python_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
