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
#include "script/compile.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variables_become_values, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs_are_cleaned, setup, teardown),
      cmocka_unit_test_setup_teardown(dead_code_goes, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
