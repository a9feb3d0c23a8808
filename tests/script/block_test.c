// SPDX-License-Identifier: Apache-2.0
// Where the text of a function ends in its file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "script/block.h"

// How many lines of the text the definition has; *def: the line it begins with, without decorators.
static size_t lines_of(const char *text, size_t *def) {
  ig_block_scan s = {0};
  while (*text) {
    size_t n = strcspn(text, "\n");
    n += text[n] == '\n';
    if (!ig_block_next(&s, text, n)) break;
    text += n;
  }
  if (def) *def = s.def;
  return s.begun ? s.last : 0;
}

static void ends_with_its_body(void **state) {
  (void)state;
  assert_int_equal(lines_of("def f(x):\n    return x\n\n\ny = 1\n", NULL), 2);
  assert_int_equal(lines_of("def f(x): return x\ny = 1\n", NULL), 1);
  assert_int_equal(lines_of("def f(x):\n\n  if x:\n    y = 1\n\n  return x", NULL), 6);
  assert_int_equal(lines_of("    def f(x):\n        pass\n    def g(x):\n        pass\n", NULL), 2);
  assert_int_equal(lines_of("def f(x):\n\tif x:\n\t\tpass\n        return x\nz\n", NULL), 4);
}

static void decorators_stand_before_it(void **state) {
  (void)state;
  size_t def = 0;
  assert_int_equal(lines_of("@a\n@b(1,\n   2)\ndef f(x):\n  return x\n@a\n", &def), 5);
  assert_int_equal(def, 3);
  assert_int_equal(lines_of("async def f(x):\n  return x\nz\n", &def), 2);
  assert_int_equal(lines_of("f = lambda x: x\nz\n", NULL), 0);
}

static void brackets_strings_and_joined_lines_go_on(void **state) {
  (void)state;
  assert_int_equal(lines_of("def f(\nx,\ny):\n  return (x +\ny)\nz\n", NULL), 5);
  assert_int_equal(lines_of("def f(x):\n  '''one\ntwo\n'''\n  return x\nz\n", NULL), 5);
  assert_int_equal(lines_of("def f(x):\n  s = \"(\" + '\\'['\n  return s\nz\n", NULL), 3);
  assert_int_equal(lines_of("def f(x):\n  y = x + \\\n1\n  return y\nz\n", NULL), 4);
  assert_int_equal(lines_of("def f(x):\n  y = 1  # ([{'\n  return y\nz\n", NULL), 3);
}

// A comment belongs to the function if it stands under its body.
static void comments(void **state) {
  (void)state;
  assert_int_equal(lines_of("def f(x):\n  return x\n  # of f\n# of the file\nz\n", NULL), 3);
  assert_int_equal(lines_of("def f(x):\n# above\n  return x\n", NULL), 3);
}

// Unfinished texts end with the file.
static void unfinished(void **state) {
  (void)state;
  assert_int_equal(lines_of("def f(x", NULL), 1);
  assert_int_equal(lines_of("def f(x):\n  '''\n", NULL), 2);
  assert_int_equal(lines_of("", NULL), 0);
  assert_int_equal(lines_of("def f(x):\n  )]}\n  return x\nz\n", NULL), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_with_its_body),
      cmocka_unit_test(decorators_stand_before_it),
      cmocka_unit_test(brackets_strings_and_joined_lines_go_on),
      cmocka_unit_test(comments),
      cmocka_unit_test(unfinished),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
