// SPDX-License-Identifier: Apache-2.0
// JSON: what is read, what is refused and with which message, and that the writer's bytes are those
// of Python's json.dumps (the expected texts were made with it).
#include <math.h>
#include <stdio.h>

#include "base/ctx.h"
#include "codec/json.h"
#include "heap.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  ig_arena arena;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  f->arena = ig_arena_make(f->c->alloc);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_arena_free(&f->arena);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static ig_bytes text(const char *s) {
  return (ig_bytes){(const uint8_t *)s, strlen(s)};
}

static const ig_json *parse(fixture *f, const char *s) {
  const ig_json *v = NULL;
  ig_status st = ig_json_parse(f->c, "doc", text(s), &f->arena, NULL, &v);
  if (st != IG_OK) fail_msg("%s: %s", s, ig_ctx_error(f->c));
  return v;
}

static void refuse(fixture *f, const char *s, const char *why) {
  const ig_json *v = NULL;
  if (ig_json_parse(f->c, "doc", text(s), &f->arena, NULL, &v) == IG_OK)
    fail_msg("accepted: %s", s);
  assert_int_equal(ig_ctx_status(f->c), IG_SYNTAX);
  test_error_has(f->c, why);
}

static void values_of_every_kind_are_read(void **state) {
  fixture *f = *state;
  const ig_json *v = parse(f,
                           " {\"n\":null,\"t\":true,\"f\" : false, \"i\":-9223372036854775808,"
                           "\"b\":9223372036854775808,\"x\":-1.5e-3,\"s\":\"\",\"a\":[1,[],{}],"
                           "\"nan\":NaN,\"inf\":-Infinity}\n");
  assert_int_equal(v->kind, IG_JSON_OBJECT);
  assert_int_equal(v->n, 10);
  assert_int_equal(ig_json_find(v, "n")->kind, IG_JSON_NULL);
  assert_true(ig_json_find(v, "t")->b);
  assert_false(ig_json_find(v, "f")->b);
  assert_int_equal(ig_json_find(v, "i")->i, INT64_MIN);
  assert_int_equal(ig_json_find(v, "b")->kind, IG_JSON_BIG);
  assert_string_equal(ig_json_find(v, "b")->text, "9223372036854775808");
  assert_true(ig_json_find(v, "x")->f == -1.5e-3);
  assert_int_equal(ig_json_find(v, "s")->n, 0);
  const ig_json *a = ig_json_find(v, "a");
  assert_int_equal(a->n, 3);
  assert_int_equal(a->items[0].i, 1);
  assert_int_equal(a->items[2].kind, IG_JSON_OBJECT);
  assert_true(isnan(ig_json_find(v, "nan")->f));
  assert_true(ig_json_find(v, "inf")->f == -HUGE_VAL);
  assert_null(ig_json_find(v, "none"));
  assert_null(ig_json_find(a, "n"));
  assert_int_equal(parse(f, "-0")->i, 0);
  assert_true(isinf(parse(f, "1e999")->f));
  assert_int_equal(v->at, 1);
}

static void strings_are_decoded(void **state) {
  fixture *f = *state;
  const ig_json *v =
      parse(f, "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\"");
  assert_string_equal(v->text, "a\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
  v = parse(f, "\"x\\u0000y\"");
  assert_int_equal(v->n, 3);
  assert_memory_equal(v->text, "x\0y", 3);
}

static void malformed_texts_are_refused(void **state) {
  fixture *f = *state;
  static const char *const cases[][2] = {
      {"", "line 1 column 1: expected a value"},
      {"[1,\n 2,]", "line 2 column 4: expected a value"},
      {"[1 2]", "expected ',' or ']'"},
      {"[1}", "expected ',' or ']'"},
      {"{\"a\":1]", "expected ',' or '}'"},
      {"{\"a\":1,}", "expected a key"},
      {"{a:1}", "expected a key"},
      {"{\"a\" 1}", "expected ':'"},
      {"[", "expected a value"},
      {"{\"a\":", "expected a value"},
      {"]", "expected a value"},
      {"1 2", "text after the end"},
      {"01", "leading zero"},
      {"-", "expected a value"},
      {"+1", "expected a value"},
      {"1.", "after the decimal point"},
      {".5", "expected a value"},
      {"1e", "exponent"},
      {"1e+", "exponent"},
      {"tru", "expected a value"},
      {"nulll", "text after the end"},
      {"nan", "expected a value"},
      {"\"abc", "line 1 column 1: unterminated string"},
      {"\"a\nb\"", "control character"},
      {"\"\\x\"", "unknown escape"},
      {"\"\\", "unknown escape"},
      {"\"\\u12g4\"", "four hexadecimal"},
      {"\"\\u12", "four hexadecimal"},
      {"\"\\ud800\"", "surrogate"},
      {"\"\\ud800\\u0041\"", "surrogate"},
      {"\"\\udc00\"", "surrogate"},
      {"\"\xc3\"", "UTF-8"},
      {"\"\xc0\x80\"", "UTF-8"},
      {"\"\xed\xa0\x80\"", "UTF-8"},
      {"\"\xf4\x90\x80\x80\"", "UTF-8"},
      {"\xef\xbb\xbf{}", "expected a value"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "key occurs twice: a"},
      {"{\"\\u0061\":1,\"a\":3}", "key occurs twice: a"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuse(f, cases[i][0], cases[i][1]);
}

static void limits_hold(void **state) {
  fixture *f = *state;
  char deep[600];
  memset(deep, '[', 256);
  memset(deep + 256, ']', 256);
  deep[512] = 0;
  (void)parse(f, deep);
  memset(deep, '[', 257);
  memset(deep + 257, ']', 257);
  deep[514] = 0;
  refuse(f, deep, "nested too deeply");
  const ig_json *v = NULL;
  ig_limits small = {.size = sizeof small, .max_text = 10, .max_depth = 4, .max_nodes = 3};
  assert_int_equal(ig_json_parse(f->c, "doc", text("[1,2]"), &f->arena, &small, &v), IG_OK);
  assert_int_equal(ig_json_parse(f->c, "doc", text("[1,2,3]"), &f->arena, &small, &v), IG_SYNTAX);
  test_error_has(f->c, "too many values");
  assert_int_equal(ig_json_parse(f->c, "doc", text("[1,2,     ]"), &f->arena, &small, &v),
                   IG_SYNTAX);
  test_error_has(f->c, "11 bytes of JSON, the limit is 10");
}

static void large_objects_find_all_keys_and_notice_twins(void **state) {
  fixture *f = *state;
  ig_str s = ig_str_make(f->c->alloc);
  ig_str_add(&s, "{");
  for (int i = 0; i < 1000; i++) ig_str_add(&s, "\"k%d\":%d,", i * 7919 % 1000, i);
  size_t n = s.n;
  ig_str_add(&s, "\"last\":-1}");
  const ig_json *v = parse(f, s.at);
  for (int i = 0; i < 1000; i++) {
    char key[16];
    (void)snprintf(key, sizeof key, "k%d", i * 7919 % 1000);
    assert_int_equal(ig_json_find(v, key)->i, i);
  }
  assert_null(ig_json_find(v, "k1000"));
  assert_null(ig_json_find(v, ""));
  s.n = n;
  ig_str_add(&s, "\"k500\":-1}");
  refuse(f, s.at, "key occurs twice: k500");
  ig_str_free(&s);
}

static void the_writer_makes_what_python_makes(void **state) {
  fixture *f = *state;
  ig_str s = ig_str_make(f->c->alloc);
  ig_json_writer w = {.out = &s};
  ig_json_open(&w, '{');
  ig_json_key(&w, "a\x7f");
  ig_json_open(&w, '[');
  ig_json_int(&w, -3);
  ig_json_float(&w, 1);
  ig_json_float(&w, 1e-5);
  ig_json_float(&w, 1e22);
  ig_json_float(&w, 0.1);
  ig_json_float(&w, NAN);
  ig_json_float(&w, -HUGE_VAL);
  ig_json_close(&w, ']');
  ig_json_key(&w, "b");
  ig_json_open(&w, '{');
  ig_json_close(&w, '}');
  ig_json_key(&w, "c");
  ig_json_str(&w, "\"\\\b\f\n\r\t\x01/\xc3\xa9\xf0\x9f\x98\x80");
  ig_json_key(&w, "d");
  ig_json_open(&w, '[');
  ig_json_null(&w);
  ig_json_bool(&w, true);
  ig_json_bool(&w, false);
  ig_json_str(&w, "\xff");
  ig_json_close(&w, ']');
  ig_json_close(&w, '}');
  assert_string_equal(
      s.at,
      "{\"a\\u007f\": [-3, 1.0, 1e-05, 1e+22, 0.1, NaN, -Infinity], \"b\": {}, \"c\": "
      "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/\\u00e9\\ud83d\\ude00\", \"d\": [null, true, "
      "false, \"\\ufffd\"]}");
  const ig_json *v = parse(f, s.at);
  ig_str again = ig_str_make(f->c->alloc);
  ig_json_value(&(ig_json_writer){.out = &again}, v);
  assert_string_equal(again.at, s.at);
  ig_str_free(&again);
  ig_json_value(&(ig_json_writer){.out = &again, .compact = true, .unicode = true},
                parse(f, "[\"\\u007f\\u00e9\", {\"k\": 123456789012345678901234567890}]"));
  assert_string_equal(again.at, "[\"\x7f\xc3\xa9\",{\"k\":123456789012345678901234567890}]");
  ig_str_free(&again);
  ig_str_free(&s);
}

static ig_status session(ig_ctx *c) {
  static const char doc[] =
      "{\"a\":[1,2,[3,\"\\u0041\\n\",1.5]],\"b\":{\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,"
      "\"7\":7,\"8\":8,\"9\":9,\"0\":123456789012345678901}}";
  ig_arena arena = ig_arena_make(c->alloc);
  const ig_json *v = NULL;
  ig_status st = ig_json_parse(c, "doc", text(doc), &arena, NULL, &v);
  if (st == IG_OK) {
    ig_str s = ig_str_make(c->alloc);
    ig_json_value(&(ig_json_writer){.out = &s}, v);
    if (s.failed) st = ig_fail(c, IG_NOMEM, "out of memory");
    ig_str_free(&s);
  }
  ig_arena_free(&arena);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(values_of_every_kind_are_read),
      TEST(strings_are_decoded),
      TEST(malformed_texts_are_refused),
      TEST(limits_hold),
      TEST(large_objects_find_all_keys_and_notice_twins),
      TEST(the_writer_makes_what_python_makes),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
