// SPDX-License-Identifier: Apache-2.0
// Codes of errors: kept with the error, cleared with it, found by any spelling; every code has an
// explanation, whose text needs memory and says so if there is none.
#include "base/explain.h"

#include <string.h>

#include "heap.h"

static void codes_belong_to_the_error(void **state) {
  (void)state;
  test_heap heap = {0};
  ig_ctx *c = test_heap_ctx(&heap);
  assert_null(ig_ctx_explanation(c));
  assert_int_equal(ig_fail(c, IG_SYNTAX | IG_E_ZIP, "a text"), IG_SYNTAX);
  assert_int_equal(ig_ctx_status(c), IG_SYNTAX);
  assert_string_equal(ig_ctx_error(c), "a text");
  assert_string_equal(ig_ctx_explanation(c)->code, "IG0103");
  (void)ig_fail(c, IG_SYNTAX | IG_E_JSON, "a later error");
  assert_string_equal(ig_ctx_explanation(c)->code, "IG0103");
  ig_cause why = ig_ctx_cause(c);
  ig_ctx_clear(c);
  assert_null(ig_ctx_explanation(c));
  ig_fail_text(c, why, "the same error in other words");
  assert_string_equal(ig_ctx_explanation(c)->code, "IG0103");
  ig_ctx_clear(c);
  (void)ig_fail(c, IG_INVALID, "an error without a code");
  assert_null(ig_ctx_explanation(c));
  ig_ctx_free(c);
}

static void some_statuses_explain_themselves(void **state) {
  (void)state;
  assert_string_equal(ig_cause_explanation(IG_IO)->code, "IG0505");
  assert_string_equal(ig_cause_explanation(IG_IO | IG_E_ZIP)->code, "IG0103");
  assert_null(ig_cause_explanation(IG_OK));
  assert_null(ig_cause_explanation(IG_CANCELLED));
  assert_int_equal(ig_cause_or(IG_SYNTAX, IG_E_ZIP), IG_SYNTAX | IG_E_ZIP);
  assert_int_equal(ig_cause_or(IG_SYNTAX | IG_E_JSON, IG_E_ZIP), IG_SYNTAX | IG_E_JSON);
}

static void every_code_is_explained(void **state) {
  (void)state;
  const ig_explanation *const *list = NULL;
  size_t n = ig_explanations(&list);
  assert_int_equal(n, IG_CAUSE_COUNT);
  for (size_t i = 0; i < n; i++) {
    const ig_explanation *e = list[i];
    assert_true(e->title && e->cause && e->example && e->message && e->remedy);
    assert_ptr_equal(ig_explain(e->code), e);
    assert_ptr_equal(ig_cause_explanation(ig_explanation_cause(e)), e);
    assert_true(i == 0 || strcmp(list[i - 1]->code, e->code) < 0);
  }
  assert_ptr_equal(ig_explain("ig103"), ig_explain("IG0103"));
  static const char *const wrong[] = {"", "I", "IG", "IG0000", "IG0103 ", "0x67", "IG00000103"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_null(ig_explain(wrong[i]));
}

static ig_status print_all(ig_ctx *c) {
  const ig_explanation *const *list = NULL;
  size_t n = ig_explanations(&list);
  for (size_t i = 0; i < n && i < 3; i++) {
    ig_scope s = ig_scope_open(c);
    const char *text = ig_explanation_text(c, list[i], 1);
    if (text) assert_non_null(strstr(text, list[i]->title));
    ig_scope_close(c, s);
  }
  return ig_ctx_status(c);
}

static void printing_needs_memory(void **state) {
  (void)state;
  test_every_allocation_fails(print_all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_belong_to_the_error),
      cmocka_unit_test(some_statuses_explain_themselves),
      cmocka_unit_test(every_code_is_explained),
      cmocka_unit_test(printing_needs_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
