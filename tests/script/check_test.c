// SPDX-License-Identifier: Apache-2.0
// What of Python's syntax scripts refuse: texts, kinds and marked places.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ctx.h"
#include "heap.h"
#include "script/check.h"

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

static ig_srefusal check(const char *text) {
  ig_source source = {.text = text, .n = strlen(text), .file = "f.py", .first_line = 1};
  const ig_tree *block = ig_tree_parse(c, &arena, &source);
  assert_string_equal(ig_ctx_error(c), "");
  assert_int_equal(block->at[0]->kind, IG_TREE_DEF);
  ig_srefusal what = IG_SREFUSAL_NONE;
  ig_status st = ig_script_check(c, block->at[0], &what);
  assert_int_equal(st == IG_OK, what == IG_SREFUSAL_NONE);
  return what;
}

static void refused(const char *text, ig_srefusal want, const char *error) {
  assert_int_equal(check(text), want);
  assert_string_equal(ig_ctx_error(c), error);
  ig_ctx_clear(c);
}

static void accepted(const char *text) {
  assert_int_equal(check(text), IG_SREFUSAL_NONE);
}

static void kinds_that_scripts_have_not(void **state) {
  (void)state;
  refused("def fn(x):\n    f = lambda y: y + 1\n    return f(x)\n", IG_SREFUSAL_STATEMENT,
          "Lambda aren't supported:\n  File \"f.py\", line 2\ndef fn(x):\n    f = lambda y: y + 1\n"
          "        ~ <--- HERE\n    return f(x)\n");
  refused("def fn(x):\n    try:\n        y = x\n    except ValueError:\n        y = x\n",
          IG_SREFUSAL_STATEMENT,
          "try blocks aren't supported:\n  File \"f.py\", line 2\ndef fn(x):\n    try:\n"
          "    ~~~ <--- HERE\n        y = x\n    except ValueError:\n        y = x\n");
  refused("def fn(x):\n    from math import sqrt\n", IG_SREFUSAL_STATEMENT,
          "import statements aren't supported:\n  File \"f.py\", line 2\ndef fn(x):\n"
          "    from math import sqrt\n    ~~~~ <--- HERE\n");
  refused("def fn(x):\n    yield from x\n", IG_SREFUSAL_STATEMENT,
          "YieldFrom aren't supported:\n  File \"f.py\", line 2\ndef fn(x):\n    yield from x\n"
          "    ~ <--- HERE\n");
  refused("def fn(x):\n    y: int\n", IG_SREFUSAL_STATEMENT,
          "AnnAssign without assigned value aren't supported:\n  File \"f.py\", line 2\n"
          "def fn(x):\n    y: int\n    ~ <--- HERE\n");
}

static void forms_that_scripts_have_not(void **state) {
  (void)state;
  refused("def fn(a: int):\n    a //= 2\n", IG_SREFUSAL_FEATURE,
          "unsupported kind of augmented assignment: FloorDiv:\n  File \"f.py\", line 2\n"
          "def fn(a: int):\n    a //= 2\n       ~~ <--- HERE\n");
  refused("def fn(x, **kw):\n    return x\n", IG_SREFUSAL_FEATURE,
          "Compiled functions can't take variable number of arguments or use keyword-only "
          "arguments with defaults:\n  File \"f.py\", line 1\ndef fn(x, **kw):\n"
          "           ~~~ <--- HERE\n    return x\n");
  refused("def fn(x, *, a: float = 2.0):\n    return x\n", IG_SREFUSAL_FEATURE,
          "Compiled functions can't take variable number of arguments or use keyword-only "
          "arguments with defaults:\n  File \"f.py\", line 1\ndef fn(x, *, a: float = 2.0):\n"
          "                        ~~~ <--- HERE\n    return x\n");
  refused("def fn(xs):\n    return [x for x in xs if x > 1]\n", IG_SREFUSAL_FEATURE,
          "Comprehension ifs are not supported yet:\n  File \"f.py\", line 2\ndef fn(xs):\n"
          "    return [x for x in xs if x > 1]\n");
  refused("def fn(f):\n    return f'{f:.2f}'\n", IG_SREFUSAL_FEATURE,
          "Don't support formatting in JoinedStr:\n  File \"f.py\", line 2\ndef fn(f):\n"
          "    return f'{f:.2f}'\n           ~ <--- HERE\n");
  refused("def fn(d):\n    return g(**d)\n", IG_SREFUSAL_FEATURE,
          "keyword-arg expansion is not supported:\n  File \"f.py\", line 2\ndef fn(d):\n"
          "    return g(**d)\n               ~ <--- HERE\n");
  refused("def fn(n):\n    for i in n:\n        pass\n    else:\n        n = 3\n",
          IG_SREFUSAL_FEATURE,
          "else branches of for loops aren't supported:\n  File \"f.py\", line 2\ndef fn(n):\n"
          "    for i in n:\n    ~~~ <--- HERE\n        pass\n    else:\n        n = 3\n");
  refused("def fn(n):\n    return b'x'\n", IG_SREFUSAL_FRONTEND,
          "Unknown Constant expression type:\n  File \"f.py\", line 2\ndef fn(n):\n"
          "    return b'x'\n           ~~~~ <--- HERE\n");
}

static void annotations_are_no_code(void **state) {
  (void)state;
  accepted("def fn(x, *, a: int):\n    return [i + a for i in x], f'{a}', -a, {'k': a}\n");
  accepted("def fn(x: 'List[lambda: 1]'):\n    y: List[int] = []\n    x += 1\n    return y\n");
}

static ig_status session(ig_ctx *with) {
  static const char text[] = "def fn(x):\n    return lambda: x\n";
  ig_source source = {.text = text, .n = strlen(text), .file = "f.py", .first_line = 1};
  ig_arena own = ig_arena_make(with->alloc);
  const ig_tree *block = ig_tree_parse(with, &own, &source);
  ig_srefusal what = IG_SREFUSAL_NONE;
  if (block && ig_script_check(with, block->at[0], &what) == IG_UNSUPPORTED) ig_ctx_clear(with);
  ig_arena_free(&own);
  return ig_ctx_status(with);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(kinds_that_scripts_have_not, setup, teardown),
      cmocka_unit_test_setup_teardown(forms_that_scripts_have_not, setup, teardown),
      cmocka_unit_test_setup_teardown(annotations_are_no_code, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
