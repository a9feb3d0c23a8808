// SPDX-License-Identifier: Apache-2.0
// Tensors in .npz files: every dtype that NumPy has, any strides, pages of the file where they fit,
// clear words for the rest.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "codec/bits.h"
#include "codec/npy.h"
#include "heap.h"
#include "ingot/file.h"
#include "ingot/texts.h"
#include "tensor/tensor.h"

static char folder[64];

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  char path[128];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  strcpy(folder, "/tmp/ingot-npz-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(f->path, sizeof f->path, "%s/a.npz", folder);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  (void)unlink(f->path);
  assert_int_equal(rmdir(folder), 0);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

// Element i is i in its dtype.
static ig_tensor *count(ig_ctx *c, ig_dtype dtype, int64_t rows, int64_t cols) {
  int64_t sizes[] = {rows, cols};
  ig_tensor *t = ig_tensor_empty(c, dtype, sizes, 2);
  if (t) memset(ig_tensor_data(t), 0, (size_t)ig_tensor_numel(t) * ig_dtype_size(dtype));
  uint8_t *p = t ? ig_tensor_data(t) : NULL;
  for (int64_t i = 0; p && i < ig_tensor_numel(t); i++) {
    if (dtype == IG_F32) ((float *)p)[i] = (float)i;
    if (dtype != IG_F32)
      p[(size_t)i * ig_dtype_size(dtype)] = (uint8_t)(dtype == IG_BOOL ? i % 2 : i);
  }
  return t;
}

static void every_dtype_of_numpy_comes_back(void **state) {
  fixture *f = *state;
  static const ig_dtype dtypes[] = {IG_BOOL, IG_U8,  IG_I8,  IG_I16, IG_I32, IG_I64, IG_U16,
                                    IG_U32,  IG_U64, IG_F16, IG_F32, IG_F64, IG_C64, IG_C128};
  enum { N = sizeof dtypes / sizeof *dtypes };
  ig_weight list[N];
  for (size_t i = 0; i < N; i++)
    list[i] = (ig_weight){.name = ig_dtype_text(dtypes[i]), .tensor = count(f->c, dtypes[i], 2, 3)};
  assert_int_equal(ig_tensors_save(f->c, f->path, list, N), IG_OK);
  const ig_weight *back = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(f->c, f->path, &back, &n), IG_OK);
  assert_int_equal(n, N);
  for (size_t i = 0; i < N; i++) {
    assert_string_equal(back[i].name, list[i].name);
    assert_int_equal(ig_tensor_dtype(back[i].tensor), dtypes[i]);
    assert_memory_equal(ig_tensor_data(back[i].tensor), ig_tensor_data(list[i].tensor),
                        6 * ig_dtype_size(dtypes[i]));
    // A piece of the file, if that has the machine's byte order.
    bool in_place = !IG_BIG_ENDIAN || ig_dtype_size(dtypes[i]) == 1;
    assert_int_equal(back[i].tensor->storage->free_fn != NULL, in_place);
  }
}

static void strided_scalar_and_empty_tensors_are_saved(void **state) {
  fixture *f = *state;
  ig_tensor *t = count(f->c, IG_F32, 2, 3);
  int64_t turned_sizes[] = {3, 2};
  int64_t turned_strides[] = {1, 3};
  ig_foreign memory = {.data = ig_tensor_data(t), .bytes = 24, .strides = turned_strides};
  ig_tensor *turned = ig_tensor_wrap(f->c, IG_F32, turned_sizes, 2, &memory);
  int64_t none[] = {0, 4};
  ig_weight list[] = {{"turned", turned, NULL},
                      {"scalar", ig_tensor_empty(f->c, IG_I64, NULL, 0), NULL},
                      {"empty", ig_tensor_empty(f->c, IG_F64, none, 2), NULL}};
  *(int64_t *)ig_tensor_data(list[1].tensor) = -7;
  assert_int_equal(ig_tensors_save(f->c, f->path, list, 3), IG_OK);
  const ig_weight *back = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(f->c, f->path, &back, &n), IG_OK);
  for (int64_t i = 0; i < 6; i++) {
    assert_true(ig_tensor_get(back[0].tensor, i) == ig_tensor_get(turned, i));
  }
  assert_int_equal(ig_tensor_ndim(back[1].tensor), 0);
  assert_true(ig_tensor_get(back[1].tensor, 0) == -7);
  assert_int_equal(ig_tensor_size(back[2].tensor, 1).value, 4);
}

static void fortran_order_and_big_endian_are_straightened(void **state) {
  fixture *f = *state;
  static const uint8_t columns[] = {1, 4, 2, 5, 3, 6};
  static const uint8_t head[] =
      "\x93NUMPY\x01\x00\x38\x00{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}\n\0\1\1\0";
  ig_npy a = {
      .kind = 'u', .width = 1, .fortran = true, .ndim = 2, .shape = {2, 3}, .data = {columns, 6}};
  ig_sink sink;
  ig_zip_writer w;
  assert_int_equal(ig_sink_file(f->c, f->path, &sink), IG_OK);
  ig_zip_writer_init(&w, f->c, &sink, IG_ZIP_ALIGN);
  assert_int_equal(ig_npz_add(&w, "fortran", &a), IG_OK);
  assert_int_equal(ig_zip_add(&w, "big.npy", &(ig_bytes){head, sizeof head - 1}, 1), IG_OK);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  assert_int_equal(ig_sink_close(f->c, &sink), IG_OK);
  ig_zip_writer_free(&w);
  ig_sink_drop(&sink);
  const ig_weight *back = NULL;
  size_t n = 0;
  if (ig_tensors_load(f->c, f->path, &back, &n) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  for (int64_t i = 0; i < 6; i++) assert_true(ig_tensor_get(back[0].tensor, i) == (double)i + 1);
  assert_true(ig_tensor_get(back[1].tensor, 0) == 1);
  assert_true(ig_tensor_get(back[1].tensor, 1) == 256);
}

static void what_numpy_lacks_is_refused(void **state) {
  fixture *f = *state;
  ig_weight bf16 = {"y", count(f->c, IG_BF16, 1, 1), NULL};
  assert_int_equal(ig_tensors_save(f->c, f->path, &bf16, 1), IG_UNSUPPORTED);
  test_error_has(f->c, "array 'y': NumPy has no bfloat16");
  assert_int_not_equal(access(f->path, F_OK), 0);
  ig_meta m;
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  ig_weight fake = {"z", ig_tensor_make(f->c, &m, true), NULL};
  assert_int_equal(ig_tensors_save(f->c, f->path, &fake, 1), IG_INVALID);
  test_error_has(f->c, "array 'z' has no data");
}

static void texts_come_back(void **state) {
  fixture *f = *state;
  ig_value row[] = {ig_of_str("a"), ig_of_str(""), ig_of_str("\xc3\xa9t\xc3\xa9")};
  ig_value rows[] = {ig_of_list(row, 3), ig_of_list(row, 3)};
  ig_value matrix = ig_of_list(rows, 2);
  ig_value one = ig_of_str("one");
  ig_value none[] = {ig_of_list(NULL, 0), ig_of_list(NULL, 0)};
  ig_value empty = ig_of_list(none, 2);
  ig_weight list[] = {{"matrix", NULL, &matrix},
                      {"number", count(f->c, IG_F32, 1, 1), NULL},
                      {"one", NULL, &one},
                      {"empty", NULL, &empty}};
  assert_int_equal(ig_tensors_save(f->c, f->path, list, 4), IG_OK);
  const ig_weight *back = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(f->c, f->path, &back, &n), IG_OK);
  assert_int_equal(n, 4);
  int64_t sizes[IG_MAX_DIM];
  int ndim = 0;
  assert_true(ig_texts_measure(back[0].texts, sizes, &ndim));
  assert_true(ndim == 2 && sizes[0] == 2 && sizes[1] == 3);
  assert_true(!back[0].tensor && ig_texts_equal(back[0].texts, &matrix));
  assert_true(back[1].tensor && !back[1].texts);
  assert_true(ig_texts_equal(back[2].texts, &one));
  assert_true(ig_texts_equal(back[3].texts, &empty));
}

static void what_is_no_array_of_texts_is_refused(void **state) {
  fixture *f = *state;
  ig_value two[] = {ig_of_str("a"), ig_of_str("b")};
  ig_value ragged[] = {ig_of_list(two, 2), ig_of_list(two, 1)};
  ig_value mixed[] = {ig_of_str("a"), ig_of_i64(1)};
  ig_value deep[] = {ig_of_str("a"), ig_of_list(two, 2)};
  ig_value bad[] = {ig_of_list(ragged, 2), ig_of_list(mixed, 2), ig_of_list(deep, 2), ig_of_i64(3)};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ig_weight w = {"t", NULL, &bad[i]};
    assert_int_equal(ig_tensors_save(f->c, f->path, &w, 1), IG_INVALID);
    test_error_has(f->c, "array 't': expected a text or lists of texts of equal lengths");
  }
  ig_weight texts = {"t", NULL, &two[0]};
  static const char *const others[] = {"t.safetensors", "t.pt"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(ig_tensors_save(f->c, others[i], &texts, 1), IG_UNSUPPORTED);
    test_error_has(f->c, "array 't' holds texts");
  }
}

// Sizes of 0 and 1 must not turn a small file into much memory.
static void lists_are_bounded_by_texts(void **state) {
  fixture *f = *state;
  ig_npy many = {.kind = 'S', .width = 1, .ndim = 3, .shape = {1000000000, 1000, 0}};
  ig_sink sink;
  ig_zip_writer w;
  assert_int_equal(ig_sink_file(f->c, f->path, &sink), IG_OK);
  ig_zip_writer_init(&w, f->c, &sink, IG_ZIP_ALIGN);
  assert_int_equal(ig_npz_add(&w, "many", &many), IG_OK);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  assert_int_equal(ig_sink_close(f->c, &sink), IG_OK);
  ig_zip_writer_free(&w);
  ig_sink_drop(&sink);
  const ig_weight *back = NULL;
  size_t n = 0;
  assert_int_equal(ig_tensors_load(f->c, f->path, &back, &n), IG_UNSUPPORTED);
  test_error_has(f->c, "many: an array of few texts with too many sizes of 0 or 1");
}

static ig_status session(ig_ctx *c) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/a.npz", folder);
  ig_value items[] = {ig_of_str("a"), ig_of_str("bc")};
  ig_value texts = ig_of_list(items, 2);
  ig_weight list[] = {{"x", count(c, IG_F32, 2, 3), NULL},
                      {"y", count(c, IG_I64, 3, 1), NULL},
                      {"t", NULL, &texts}};
  const ig_weight *back = NULL;
  size_t n = 0;
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_tensors_save(c, path, list, 3);
  if (st == IG_OK) st = ig_tensors_load(c, path, &back, &n);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_dtype_of_numpy_comes_back),
      TEST(strided_scalar_and_empty_tensors_are_saved),
      TEST(fortran_order_and_big_endian_are_straightened),
      TEST(what_numpy_lacks_is_refused),
      TEST(texts_come_back),
      TEST(what_is_no_array_of_texts_is_refused),
      TEST(lists_are_bounded_by_texts),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
