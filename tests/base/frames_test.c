// SPDX-License-Identifier: Apache-2.0
// The frames in texts of others, and that nothing of such a text is lost.
#include <stdio.h>

#include "heap.h"

#include "base/frames.h"

static void is_read(const char *text, const ig_frame *want, size_t n, bool verbatim) {
  test_heap heap = {0};
  ig_alloc alloc = {test_heap_fn, &heap};
  ig_arena a = ig_arena_make(alloc);
  ig_frames read;
  assert_true(ig_frames_parse(&a, text, &read));
  assert_int_equal(read.n, n);
  for (size_t i = 0; i < n; i++) {
    const ig_frame *at = &read.at[i];
    assert_string_equal(at->file, want[i].file);
    assert_int_equal(at->line, want[i].line);
    assert_int_equal(at->function != NULL, want[i].function != NULL);
    if (at->function) assert_string_equal(at->function, want[i].function);
    assert_int_equal(at->code != NULL, want[i].code != NULL);
    if (at->code) assert_string_equal(at->code, want[i].code);
  }
  assert_int_equal(read.text != NULL, verbatim);
  ig_str s = ig_str_make(alloc);
  ig_frames_print(&s, &read);
  assert_string_equal(s.at ? s.at : "", text);
  ig_str_free(&s);
  ig_arena_free(&a);
  assert_int_equal(heap.live, 0);
}

static void frames_of_python_are_read(void **state) {
  (void)state;
  is_read(
      "  File \"/a b/m.py\", line 7, in forward\n    return self.f(x)\n"
      "  File \"n.py\", line 123, in <lambda>\n    y = x, in z\n",
      (ig_frame[]){{"/a b/m.py", 7, "forward", "return self.f(x)"},
                   {"n.py", 123, "<lambda>", "y = x, in z"}},
      2, false);
  is_read("  File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\n",
          (ig_frame[]){{"a.py", 1, "f", NULL}, {"b.py", 2, "g", NULL}}, 2, false);
  is_read("  File \"a.py\", line 1\n    code\n", (ig_frame[]){{"a.py", 1, NULL, "code"}}, 1, false);
  is_read("", NULL, 0, false);
}

// Newer Pythons underline the expression, others indent differently.
static void other_lines_are_kept(void **state) {
  (void)state;
  is_read("  File \"m.py\", line 3, in f\n    a + b\n    ~~^~~\n  File \"n.py\", line 4, in g\n",
          (ig_frame[]){{"m.py", 3, "f", "a + b"}, {"n.py", 4, "g", NULL}}, 2, true);
  is_read("File \"m.py\", line 3, in f\n  a + b", (ig_frame[]){{"m.py", 3, "f", "a + b"}}, 1, true);
}

static void other_texts_have_no_frames(void **state) {
  (void)state;
  is_read("changed", NULL, 0, true);
  is_read("  File \"m.py", NULL, 0, true);
  is_read("  File \"m.py\", line x, in f\n", NULL, 0, true);
  is_read("  File \"m.py\", line 99999999999, in f\n", NULL, 0, true);
  is_read("  File \"m.py\", line 3; in f\n", NULL, 0, true);
  is_read("\n\n", NULL, 0, true);
}

static void memory_may_run_out(void **state) {
  (void)state;
  char text[8000] = "";
  for (size_t n = 0; n < sizeof text - 100; n = strlen(text)) {
    (void)snprintf(text + n, sizeof text - n, "  File \"m.py\", line 3, in f\n    a\n");
  }
  bool done = false;
  for (long at = 1; !done; at++) {
    test_heap heap = {.fail_at = at};
    ig_arena a = ig_arena_make((ig_alloc){test_heap_fn, &heap});
    ig_frames read;
    done = ig_frames_parse(&a, text, &read);
    if (!done) assert_int_equal(read.n, 0);
    ig_arena_free(&a);
    assert_int_equal(heap.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_of_python_are_read),
      cmocka_unit_test(other_lines_are_kept),
      cmocka_unit_test(other_texts_have_no_frames),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
