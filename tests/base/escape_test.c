// SPDX-License-Identifier: Apache-2.0
// No control character passes, in any of its forms; everything else passes unchanged.
#include "heap.h"
#include "ingot/text.h"

#include "base/ctx.h"

static void is_shown_as(const char *text, bool lines, const char *want) {
  char out[256];
  size_t n = ig_text_escape(text, strlen(text), lines, out, sizeof out);
  assert_string_equal(out, want);
  assert_int_equal(n, strlen(want));
}

static void control_characters_do_not_pass(void **state) {
  (void)state;
  is_shown_as("plain", false, "plain");
  is_shown_as("\x1b[31mred\x07", false, "\\x1b[31mred\\x07");
  is_shown_as("a\nb\tc", false, "a\\nb\\tc");
  is_shown_as("a\nb\tc\r", true, "a\nb\tc\\x0d");
  is_shown_as("\x7f", false, "\\x7f");
  is_shown_as(
      "\xc2\x9b"
      "31m",
      false, "\\x9b31m");  // C1 in UTF-8
  is_shown_as(
      "\x9b"
      "31m",
      false, "\\x9b31m");  // and as a byte
  is_shown_as(
      "\xe2\x80\xae"
      "gpj",
      false, "\\u202egpj");  // right-to-left override
  is_shown_as("\xe2\x81\xa6", false, "\\u2066");
  is_shown_as("\xe2\x80\xa8", true, "\\u2028");
}

static void text_passes(void **state) {
  (void)state;
  is_shown_as(
      "Gr\xc3\xb6\xc3\x9f"
      "e \xe6\xa8\xa1\xf0\x9f\x94\xa5",
      false,
      "Gr\xc3\xb6\xc3\x9f"
      "e \xe6\xa8\xa1\xf0\x9f\x94\xa5");
  is_shown_as("\xc0\xaf", false, "\\xc0\\xaf");           // an overlong slash
  is_shown_as("\xe2\x82", false, "\\xe2\\x82");           // cut off
  is_shown_as("\xed\xa0\x80", false, "\\xed\\xa0\\x80");  // a surrogate
}

static void short_buffers_are_not_overrun(void **state) {
  (void)state;
  char out[4] = "xyz";
  assert_int_equal(ig_text_escape("\x1b\x1b", 2, false, out, sizeof out), 8);
  assert_string_equal(out, "\\x1");
  assert_int_equal(ig_text_escape("ab", 2, false, NULL, 0), 2);
}

// What is said beside the text begins at `aside`, which a host may cut off there.
static void asides_stand_behind_the_text(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  ig_fail_text(c, IG_SYNTAX, "wrong");
  ig_note(c, "in a file");
  assert_int_equal(c->aside, 0);
  ig_aside(c, "in %s", "aten.add");
  ig_note(c, "at the end");
  assert_string_equal(ig_ctx_error(c), "wrong\n  in a file\n  in aten.add\n  at the end");
  assert_int_equal(c->aside, strlen("wrong\n  in a file"));
  ig_ctx_clear(c);
  assert_int_equal(c->aside, 0);
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

static void messages_are_safe(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  (void)ig_fail(c, IG_SYNTAX, "name '%s'", "\x1b]0;owned\x07");
  assert_string_equal(ig_ctx_error(c), "name '\\x1b]0;owned\\x07'");
  ig_note(c, "in %s", "\xe2\x80\xae");
  assert_string_equal(ig_ctx_error(c), "name '\\x1b]0;owned\\x07'\n  in \\u202e");
  ig_ctx_clear(c);
  // Longer than the first buffer, and longer still when it is safe.
  char name[201];
  memset(name, 0x1b, 200);
  name[200] = 0;
  (void)ig_fail(c, IG_SYNTAX, "%s", name);
  assert_int_equal(strlen(ig_ctx_error(c)), 800);
  ig_ctx_clear(c);
  heap.fail_at = 1;  // no memory for the longer text
  char second[601];
  memset(second, 0x1b, 600);
  second[600] = 0;
  (void)ig_fail(c, IG_SYNTAX, "%s", second);
  assert_null(strchr(ig_ctx_error(c), 0x1b));
  ig_ctx_free(c);
  assert_int_equal(heap.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_characters_do_not_pass),
      cmocka_unit_test(text_passes),
      cmocka_unit_test(short_buffers_are_not_overrun),
      cmocka_unit_test(asides_stand_behind_the_text),
      cmocka_unit_test(messages_are_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
