// SPDX-License-Identifier: Apache-2.0
// NumPy arrays: heads byte for byte as NumPy writes them, every dtype, both orders, hostile heads,
// archives both ways.
#include <stdio.h>

#include "base/ctx.h"
#include "codec/bits.h"
#include "codec/npy.h"
#include "heap.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  ig_str text;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  f->text = ig_str_make(f->c->alloc);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_str_free(&f->text);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

// ---- writing

// `want` is what numpy.save puts before the data, without the filler.
static void head_is(fixture *f, const ig_npy *a, size_t size, const char *want) {
  ig_str_free(&f->text);
  assert_int_equal(ig_npy_head(f->c, a, &f->text), IG_OK);
  assert_int_equal(f->text.n, size);
  assert_memory_equal(f->text.at, "\x93NUMPY\x01\x00", 8);
  assert_int_equal((uint8_t)f->text.at[8] | (uint8_t)f->text.at[9] << 8, size - 10);
  assert_memory_equal(f->text.at + 10, want, strlen(want));
  for (size_t i = 10 + strlen(want); i < size - 1; i++) assert_int_equal(f->text.at[i], ' ');
  assert_int_equal(f->text.at[size - 1], '\n');
}

static void heads_are_those_of_numpy(void **state) {
  fixture *f = *state;
  ig_npy a = {.kind = 'f', .width = 4, .ndim = 2, .shape = {3, 4}};
  head_is(f, &a, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
  a.fortran = true;
  head_is(f, &a, 128, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }");
  ig_npy scalar = {.kind = 'b', .width = 1};
  head_is(f, &scalar, 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
  ig_npy row = {.kind = 'c', .width = 16, .ndim = 1, .shape = {0}};
  head_is(f, &row, 128, "{'descr': '<c16', 'fortran_order': False, 'shape': (0,), }");
}

static void what_npy_cannot_hold_is_refused(void **state) {
  fixture *f = *state;
  ig_npy odd = {.kind = 'f', .width = 1};
  assert_int_equal(ig_npy_head(f->c, &odd, &f->text), IG_UNSUPPORTED);
  test_error_has(f->c, "kind 'f' and 1 bytes");
  ig_npy deep = {.kind = 'f', .width = 4, .ndim = 65};
  assert_int_equal(ig_npy_head(f->c, &deep, &f->text), IG_UNSUPPORTED);
  test_error_has(f->c, "at most 64 dimensions, not 65");
}

// ---- reading

static uint8_t file[4096];

static ig_bytes npy(const char *head, const void *data, size_t n) {
  size_t head_n = strlen(head);
  static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  memcpy(file, magic, sizeof magic);
  file[8] = (uint8_t)head_n;
  file[9] = (uint8_t)(head_n >> 8);
  for (size_t i = 0; i < head_n; i++) file[10 + i] = (uint8_t)head[i];
  if (n) memcpy(file + 10 + head_n, data, n);
  return (ig_bytes){file, 10 + head_n + n};
}

static void every_dtype_comes_back(void **state) {
  fixture *f = *state;
  static const struct {
    char kind;
    uint8_t width;
  } types[] = {{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1}, {'u', 2},
               {'u', 4}, {'u', 8}, {'f', 2}, {'f', 4}, {'f', 8}, {'c', 8}, {'c', 16}};
  static const uint8_t data[96] = {1, 0, 1, 1};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    ig_npy a = {.kind = types[i].kind, .width = types[i].width, .ndim = 2, .shape = {2, 3}};
    a.data = (ig_bytes){data, (size_t)6 * a.width};
    ig_str_free(&f->text);
    assert_int_equal(ig_npy_head(f->c, &a, &f->text), IG_OK);
    memcpy(file, f->text.at, f->text.n);
    memcpy(file + f->text.n, data, a.data.n);
    ig_npy b;
    assert_int_equal(ig_npy_read(f->c, "x", (ig_bytes){file, f->text.n + a.data.n}, &b), IG_OK);
    assert_true(b.kind == a.kind && b.width == a.width && b.ndim == 2 && !b.fortran && !b.big);
    assert_int_equal(b.shape[1], 3);
    assert_int_equal(b.data.n, a.data.n);
    assert_memory_equal(b.data.at, data, b.data.n);
  }
}

static void orders_and_byte_orders_are_straightened(void **state) {
  fixture *f = *state;
  static const uint8_t columns[] = {1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0};
  ig_npy a;
  ig_bytes in = npy("{\"shape\": (2, 3,), 'descr': '<u2', 'fortran_order': True}", columns, 12);
  assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
  uint16_t out[6];
  ig_npy_copy(&a, (uint8_t *)out);
  for (uint16_t i = 0; i < 6; i++) assert_int_equal(out[i], i + 1);

  in = npy("{'descr':'>u2','fortran_order':False,'shape':(3L,)}\n", "\0\1\0\2\1\0", 6);
  assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
  ig_npy_copy(&a, (uint8_t *)out);
  assert_true(out[0] == 1 && out[1] == 2 && out[2] == 256);

  in = npy("{'descr': '>c8', 'fortran_order': False, 'shape': (), }", "\x3f\x80\0\0\xc0\0\0\0", 8);
  assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
  float z[2];
  ig_npy_copy(&a, (uint8_t *)z);
  assert_true(z[0] == 1 && z[1] == -2);
}

static void refuse(fixture *f, ig_bytes in, const char *why) {
  ig_npy a;
  ig_status st = ig_npy_read(f->c, "x", in, &a);
  assert_true(st == IG_SYNTAX || st == IG_UNSUPPORTED);
  test_error_has(f->c, why);
}

static void hostile_heads_are_refused(void **state) {
  fixture *f = *state;
#define HEAD(descr, order, shape) \
  "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"
  static const char *const cases[][2] = {
      {HEAD("'|O'", "False", "(1,)"), "Python objects"},
      {HEAD("'<V2'", "False", "(1,)"), "bfloat16"},
      {HEAD("'<f16'", "False", "(1,)"), "floats of this width"},
      {HEAD("'<U0'", "False", "(1,)"), "texts of this width"},
      {HEAD("'|S0'", "False", "(4611686018427387904,)"), "texts of this width"},
      {HEAD("'|U1'", "False", "(1,)"), "texts of this width"},
      {HEAD("'<U'", "False", "(1,)"), "texts of this width"},
      {HEAD("'<U536870912'", "False", "(1,)"), "texts of this width"},
      {HEAD("'|S2147483648'", "False", "(1,)"), "texts of this width"},
      {HEAD("'<U18446744073709551617'", "False", "(1,)"), "texts of this width"},
      {HEAD("'<U1x'", "False", "(1,)"), "texts of this width"},
      {HEAD("'<U536870911'", "False", "(1,)"), "needs 2147483644 bytes of data, found 4"},
      {HEAD("'|S2147483647'", "False", "(4294967298, 2)"), "overflows"},
      {HEAD("'<U2'", "False", "(1,)"), "needs 8 bytes of data, found 4"},
      {HEAD("'|S3'", "False", "(1,)"), "needs 3 bytes of data, found 4"},
      {HEAD("'<M8[ns]'", "False", "(1,)"), "dates"},
      {HEAD("'<x4'", "False", "(1,)"), "only bool, integer"},
      {HEAD("'f4'", "False", "(1,)"), "dtype 'f4'"},
      {HEAD("'<i3'", "False", "(1,)"), "dtype '<i3'"},
      {HEAD("'|i4'", "False", "(1,)"), "dtype '|i4'"},
      {HEAD("[('a', '<f4')]", "False", "(1,)"), "records"},
      {HEAD("'<f4'", "0", "(1,)"), "True or False"},
      {HEAD("'<f4'", "False", "(1)"), "not a tuple"},
      {HEAD("'<f4'", "False", "1"), "expected the shape"},
      {HEAD("'<f4'", "False", "(-1,)"), "expected a dimension"},
      {HEAD("'<f4'", "False", "(99999999999999999999,)"), "dimension out of range"},
      {HEAD("'<f4'", "False", "(4611686018427387904, 4)"), "overflows"},
      {HEAD("'<f4'", "False", "(2,)"), "needs 8 bytes of data, found 4"},
      {HEAD("'<f4'", "False", "(0,)"), "needs 0 bytes of data, found 4"},
      {"{'descr': '<f4', 'shape': (1,)}", "'fortran_order' is missing"},
      {"{'descr': '<f4', 'descr': '<f4'}", "repeated key"},
      {"{'descr': '<f4', 'evil': 1}", "unknown"},
      {"{'descr': '<f4' 'shape': (1,)}", "expected ',' or '}'"},
      {"{'descr': '<f4'", "expected ',' or '}'"},
      {"[]", "expected '{'"},
      {"", "expected '{'"},
      {HEAD("'<f4'", "False", "(1,)") "; import os", "text after the dict"},
      {"{'descr': '<f4", "expected the dtype"},
      {"{descr: 1}", "expected a key"},
      {"{'descr' '<f4'}", "expected ':'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    refuse(f, npy(cases[i][0], "\0\0\0\0", 4), cases[i][1]);
  }
  ig_str many = ig_str_make(f->c->alloc);
  ig_str_add(&many, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < 65; i++) ig_str_add(&many, "1, ");
  ig_str_add(&many, ")}");
  refuse(f, npy(many.at, "\0\0\0\0", 4), "more than 64 dimensions");
  ig_str_free(&many);
}

static void hostile_files_are_refused(void **state) {
  fixture *f = *state;
  ig_bytes in = npy(HEAD("'<f4'", "False", "(1,)"), "\0\0\0\0", 4);
  refuse(f, (ig_bytes){in.at, 9}, "wrong magic");
  refuse(f, (ig_bytes){in.at, 30}, "does not fit");
  file[0] = 'x';
  refuse(f, in, "wrong magic");
  file[0] = 0x93;
  file[6] = 4;
  refuse(f, in, "npy format 4.0");
  file[6] = 2;
  refuse(f, in, "does not fit");
  refuse(f, npy(HEAD("'|b1'", "False", "(2,)"), "\1\2", 2), "element 1 of a bool array is 2");
}

// ---- texts

static const char **read_texts(fixture *f, const char *head, const void *data, size_t bytes,
                               size_t *n) {
  ig_npy a;
  const char **texts = NULL;
  if (ig_npy_read(f->c, "x", npy(head, data, bytes), &a) != IG_OK ||
      ig_npy_texts(f->c, "x", &a, &texts, n) != IG_OK) {
    fail_msg("%s", ig_ctx_error(f->c));
  }
  return texts;
}

static void to_little(uint32_t *at, size_t bytes) {
  if (IG_BIG_ENDIAN) ig_order_swap((uint8_t *)at, bytes, sizeof *at);
}

static void texts_of_characters_are_read(void **state) {
  fixture *f = *state;
  uint32_t little[] = {'a', 'b', 0, 0xe9, 0, 0, 0x1f600, 0x10ffff, 'z', 0, 0, 0};
  to_little(little, sizeof little);
  static const char big[] = "\0\0\0a\0\0\x20\xac";
  size_t n = 0;
  const char **t = read_texts(f, HEAD("'<U3'", "False", "(2, 2)"), little, sizeof little, &n);
  assert_int_equal(n, 4);
  assert_string_equal(t[0], "ab");
  assert_string_equal(t[1], "\xc3\xa9");
  assert_string_equal(t[2], "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbfz");
  assert_string_equal(t[3], "");
  t = read_texts(f, HEAD("'<U3'", "True", "(2, 2)"), little, sizeof little, &n);
  assert_string_equal(t[1], "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbfz");
  assert_string_equal(t[2], "\xc3\xa9");
  t = read_texts(f, HEAD("'>U1'", "False", "(2,)"), big, 8, &n);
  assert_string_equal(t[0], "a");
  assert_string_equal(t[1], "\xe2\x82\xac");
  t = read_texts(f, HEAD("'>U2'", "False", "()"), big, 8, &n);
  assert_int_equal(n, 1);
  assert_string_equal(t[0], "a\xe2\x82\xac");
  (void)read_texts(f, HEAD("'<U7'", "False", "(0, 3)"), "", 0, &n);
  assert_int_equal(n, 0);
}

static void texts_of_bytes_are_read(void **state) {
  fixture *f = *state;
  size_t n = 0;
  const char **t = read_texts(f, HEAD("'|S3'", "False", "(3,)"), "abc\xc3\xa9\0\0\0\0", 9, &n);
  assert_int_equal(n, 3);
  assert_string_equal(t[0], "abc");
  assert_string_equal(t[1], "\xc3\xa9");
  assert_string_equal(t[2], "");
  t = read_texts(f, HEAD("'|S1'", "True", "(2, 2)"), "abcd", 4, &n);
  assert_string_equal(t[1], "c");
}

static void what_is_no_text_is_named(void **state) {
  fixture *f = *state;
  static const struct {
    uint32_t point;
    const char *why;
  } points[] = {{0x110000, "x: element 1 of an array of texts: a number that is no character"},
                {0xffffffff, "no character"},
                {0xd800, "half of a surrogate pair"},
                {0xdfff, "half of a surrogate pair"}};
  ig_npy a;
  const char **texts = NULL;
  size_t n = 0;
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    uint32_t data[] = {'a', points[i].point};
    to_little(data, sizeof data);
    ig_bytes in = npy(HEAD("'<U1'", "False", "(2,)"), data, sizeof data);
    assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
    assert_int_equal(ig_npy_texts(f->c, "x", &a, &texts, &n), IG_SYNTAX);
    test_error_has(f->c, points[i].why);
  }
  static const char *const bytes[] = {"\377bc", "a\303\303", "\355\240\200", "ab\303"};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
    ig_bytes in = npy(HEAD("'|S3'", "False", "(1,)"), bytes[i], 3);
    assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
    assert_int_equal(ig_npy_texts(f->c, "x", &a, &texts, &n), IG_SYNTAX);
    test_error_has(f->c, "its bytes are no UTF-8");
  }
  ig_bytes in = npy(HEAD("'|S3'", "False", "(1,)"), "a\0b", 3);
  assert_int_equal(ig_npy_read(f->c, "x", in, &a), IG_OK);
  assert_int_equal(ig_npy_texts(f->c, "x", &a, &texts, &n), IG_UNSUPPORTED);
  test_error_has(f->c, "a NUL inside of the text");
}

static void texts_are_written_as_numpy_has_them(void **state) {
  fixture *f = *state;
  static const char *const texts[] = {"", "\xc3\xa9t\xc3\xa9", "\xf0\x9f\x98\x80", "no"};
  ig_npy a = {.ndim = 2, .shape = {2, 2}};
  uint8_t *copy = NULL;
  assert_int_equal(ig_npy_set_texts(f->c, "x", texts, 4, &a, &copy), IG_OK);
  head_is(f, &a, 128, "{'descr': '<U3', 'fortran_order': False, 'shape': (2, 2), }");
  assert_int_equal(a.data.n, 48);
  const char **back = NULL;
  size_t n = 0;
  assert_int_equal(ig_npy_texts(f->c, "x", &a, &back, &n), IG_OK);
  for (size_t i = 0; i < 4; i++) assert_string_equal(back[i], texts[i]);
  ig_mem_free(f->c->alloc, copy, a.data.n);
  const char *const bad[] = {"ok", "\xff"};
  assert_int_equal(ig_npy_set_texts(f->c, "x", bad, 2, &a, &copy), IG_INVALID);
  test_error_has(f->c, "x: element 1 of an array of texts: its bytes are no UTF-8");
  ig_npy bytes = {.kind = 'S', .width = 5};
  head_is(f, &bytes, 128, "{'descr': '|S5', 'fortran_order': False, 'shape': (), }");
}

static ig_status text_session(ig_ctx *c) {
  static const uint32_t data[] = {'a', 'b', 0xe9, 0};
  ig_npy a = {.kind = 'U',
              .width = 8,
              .big = IG_BIG_ENDIAN,
              .ndim = 1,
              .shape = {2},
              .data = {(const uint8_t *)data, sizeof data}};
  const char **texts = NULL;
  size_t n = 0;
  uint8_t *copy = NULL;
  ig_npy back;
  IG_RETURN_IF_ERR(ig_npy_texts(c, "x", &a, &texts, &n));
  IG_RETURN_IF_ERR(ig_npy_set_texts(c, "x", texts, n, &back, &copy));
  ig_mem_free(c->alloc, copy, back.data.n);
  return IG_OK;
}

// ---- archives

static ig_status save_two(ig_ctx *c, ig_sink *out) {
  static const float x[] = {1, 2, 3, 4, 5, 6};
  static const int64_t n = 7;
  ig_npy a = {
      .kind = 'f', .width = 4, .ndim = 2, .shape = {2, 3}, .data = {(const uint8_t *)x, 24}};
  ig_npy b = {.kind = 'i', .width = 8, .data = {(const uint8_t *)&n, 8}};
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, out, IG_ZIP_ALIGN);
  ig_status st = ig_npz_add(&w, "x", &a);
  if (st == IG_OK) st = ig_npz_add(&w, "X", &b);
  if (st == IG_OK) st = ig_zip_finish(&w);
  ig_zip_writer_free(&w);
  return st;
}

static ig_status session(ig_ctx *c) {
  ig_sink s = ig_sink_memory(c->alloc);
  ig_status st = save_two(c, &s);
  ig_npz z;
  if (st == IG_OK) st = ig_npz_open(c, "t.npz", (ig_bytes){s.at, s.n}, NULL, &z);
  if (st == IG_OK) ig_npz_close(&z);
  ig_sink_drop(&s);
  return st;
}

static void archives_come_back(void **state) {
  fixture *f = *state;
  ig_sink s = ig_sink_memory(f->c->alloc);
  assert_int_equal(save_two(f->c, &s), IG_OK);
  ig_npz z;
  assert_int_equal(ig_npz_open(f->c, "t.npz", (ig_bytes){s.at, s.n}, NULL, &z), IG_OK);
  assert_int_equal(z.n, 2);
  assert_string_equal(z.names[0], "x");
  const ig_npy *x = ig_npz_find(&z, "x");
  assert_true(x->ndim == 2 && x->shape[0] == 2 && x->shape[1] == 3);
  assert_int_equal((x->data.at - s.at) % 64, 0);  // can be used where it lies
  assert_int_equal(ig_npz_find(&z, "X")->ndim, 0);
  assert_null(ig_npz_find(&z, "y"));
  ig_npz_close(&z);
  ig_sink_drop(&s);
}

static void a_member_that_is_no_array_is_named(void **state) {
  fixture *f = *state;
  ig_sink s = ig_sink_memory(f->c->alloc);
  ig_zip_writer w;
  ig_zip_writer_init(&w, f->c, &s, IG_ZIP_ALIGN);
  assert_int_equal(ig_zip_add_text(&w, "note.txt", "hello, not an array"), IG_OK);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  ig_zip_writer_free(&w);
  ig_npz z;
  assert_int_equal(ig_npz_open(f->c, "t.npz", (ig_bytes){s.at, s.n}, NULL, &z), IG_SYNTAX);
  test_error_has(f->c, "note.txt: not an npy array");
  ig_sink_drop(&s);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
  test_every_allocation_fails(text_session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(heads_are_those_of_numpy),
      TEST(what_npy_cannot_hold_is_refused),
      TEST(every_dtype_comes_back),
      TEST(orders_and_byte_orders_are_straightened),
      TEST(hostile_heads_are_refused),
      TEST(hostile_files_are_refused),
      TEST(texts_of_characters_are_read),
      TEST(texts_of_bytes_are_read),
      TEST(what_is_no_text_is_named),
      TEST(texts_are_written_as_numpy_has_them),
      TEST(archives_come_back),
      TEST(a_member_that_is_no_array_is_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
