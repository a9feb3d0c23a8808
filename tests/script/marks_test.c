// SPDX-License-Identifier: Apache-2.0
// How far messages mark statements and expressions of user code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/ctx.h"
#include "script/marks.h"

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

// What of its first statement is marked.
static void marked(const char *text, const char *want) {
  ig_source source = {.text = text, .n = strlen(text), .file = "f.py", .first_line = 1};
  ig_tree *block = ig_tree_parse(c, &arena, &source);
  assert_string_equal(ig_ctx_error(c), "");
  ig_tree_mark(block);
  ig_srange r = block->at[0]->range;
  assert_int_equal(r.end - r.start, strlen(want));
  assert_memory_equal(text + r.start, want, strlen(want));
}

static void brackets_and_quotes(void **state) {
  (void)state;
  marked("f(x)\n", "f(x");
  marked("f(g(x))\n", "f(g(x");
  marked("return [1, 2]\n", "return [1, 2");
  marked("return []\n", "return [");
  marked("y = \"abc\"\n", "y = \"abc");
  marked("y = x[\"a\"]\n", "y = x[\"a\"");
  marked("y = x[1]\n", "y = x[1]");
  marked("y = (1, 2.5)\n", "y = (1, 2.5");
  marked("return\n", "return");
  marked("y = 1 if a else \"x\"\n", "y = 1 if a else \"x");
}

static void attributes(void **state) {
  (void)state;
  marked("y = a.b.c\n", "y = a.b.c");
  // A name counts from behind the mark of its value.
  marked("f().forward\n", "f().forwa");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(brackets_and_quotes, setup, teardown),
      cmocka_unit_test_setup_teardown(attributes, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
