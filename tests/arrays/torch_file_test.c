// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: real ones of several releases and of the container before them are read,
// what is written has the bytes that PyTorch writes, aliased tensors stay aliased, and every kind
// of value comes back.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "arrays/torch_file.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "heap.h"
#include "tensor/tensor.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static ig_object *load(ig_ctx *c, const char *name) {
  char path[512];
  ig_object *o = NULL;
  (void)snprintf(path, sizeof path, TEST_DATA "/arrays/data/%s", name);
  if (ig_torch_load(c, path, NULL, &o) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return o;
}

// ---- real files

static void check_dtypes(const ig_object *o) {
  static const struct {
    const char *name;
    ig_dtype dtype;
  } expected[] = {{"w_half", IG_F16}, {"w_brain", IG_BF16}, {"w_double", IG_F64},
                  {"b_byte", IG_U8},  {"b_short", IG_I16},  {"b_mask", IG_BOOL}};
  assert_int_equal(ig_object_kind_of(o), IG_OBJECT_ORDERED);
  assert_int_equal(ig_object_count(o), 6);
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(ig_object_text(ig_object_key(o, i), NULL), expected[i].name);
    const ig_tensor *t = ig_object_tensor(ig_object_find(o, expected[i].name));
    assert_non_null(t);
    assert_int_equal(t->dtype, expected[i].dtype);
    assert_int_equal(ig_tensor_numel(t), 4);
  }
  const ig_object *metadata = ig_object_find(ig_object_state(o), "_metadata");
  assert_int_equal(ig_object_kind_of(metadata), IG_OBJECT_ORDERED);
  assert_int_equal(ig_object_int(ig_object_find(ig_object_find(metadata, ""), "version")), 1);
}

static void real_files_of_every_container_agree(void **state) {
  fixture *f = *state;
  static const char *const names[] = {"dtypes.2.1.pt", "dtypes.2.13.pt", "dtypes.legacy.pt"};
  ig_object *first = load(f->c, names[0]);
  for (size_t i = 0; i < 3; i++) {
    ig_object *o = load(f->c, names[i]);
    check_dtypes(o);
    for (size_t k = 0; k < 6; k++) {
      const ig_tensor *a = ig_object_tensor(ig_object_at(first, k));
      const ig_tensor *b = ig_object_tensor(ig_object_at(o, k));
      assert_memory_equal(ig_tensor_data(a), ig_tensor_data(b), 4 * ig_dtype_size(a->dtype));
    }
    ig_object_free(o);
  }
  ig_object_free(first);
}

static void weights_are_pages_of_the_file(void **state) {
  fixture *f = *state;
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, TEST_DATA "/arrays/data/dtypes.2.13.pt", &file), IG_OK);
  ig_object *o = NULL;
  assert_int_equal(ig_torch_parse(f->c, "x", file->bytes, file, NULL, &o), IG_OK);
  const uint8_t *from = file->bytes.at;
  const uint8_t *to = from + file->bytes.n;
  for (size_t i = 0; i < 6; i++) {
    uint8_t *at = ig_tensor_data(ig_object_tensor(ig_object_at(o, i)));
    assert_int_equal(at >= from && at < to, !IG_BIG_ENDIAN);
    at[0] ^= 1;  // private: the file stays as it is
  }
  ig_file_release(file);
  ig_object_free(o);
  o = load(f->c, "dtypes.2.13.pt");
  check_dtypes(o);
  ig_object_free(o);
}

// Without an owner nothing refers to the bytes afterwards.
static void without_an_owner_tensors_are_copies(void **state) {
  fixture *f = *state;
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, TEST_DATA "/arrays/data/dtypes.legacy.pt", &file), IG_OK);
  ig_object *o = NULL;
  assert_int_equal(ig_torch_parse(f->c, "x", file->bytes, NULL, NULL, &o), IG_OK);
  ig_file_release(file);
  check_dtypes(o);
  ig_object_free(o);
}

// ---- writing

static ig_bytes member(ig_ctx *c, ig_zip *z, ig_bytes bytes, const char *name) {
  ig_bytes out = {0};
  if (ig_zip_open(c, "z", bytes, NULL, z) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  const ig_zip_entry *e = ig_zip_find(z, name);
  assert_non_null(e);
  assert_int_equal(ig_zip_read(c, e, &z->arena, &out), IG_OK);
  return out;
}

static void the_pickle_is_that_of_pytorch(void **state) {
  fixture *f = *state;
  ig_object *o = load(f->c, "dtypes.2.13.pt");
  ig_sink sink = ig_sink_memory(f->c->alloc);
  assert_int_equal(ig_torch_print_as(f->c, o, "dtypes.state", &sink), IG_OK);
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, TEST_DATA "/arrays/data/dtypes.2.13.pt", &file), IG_OK);
  ig_zip ours;
  ig_zip theirs;
  ig_bytes a = member(f->c, &ours, (ig_bytes){sink.at, sink.n}, "dtypes.state/data.pkl");
  ig_bytes b = member(f->c, &theirs, file->bytes, "dtypes.state/data.pkl");
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.at, b.at, a.n);
  assert_int_equal(ours.n, theirs.n);
  for (size_t i = 0; i < ours.n; i++) {
    assert_string_equal(ours.entries[i].name, theirs.entries[i].name);
  }
  ig_zip_close(&ours);
  ig_zip_close(&theirs);
  ig_file_release(file);
  ig_sink_drop(&sink);
  ig_object_free(o);
}

static ig_object *again(ig_ctx *c, const ig_object *o) {
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_object *back = NULL;
  if (ig_torch_print(c, o, &sink) != IG_OK ||
      ig_torch_parse(c, "again", (ig_bytes){sink.at, sink.n}, NULL, NULL, &back) != IG_OK) {
    fail_msg("%s", ig_ctx_error(c));
  }
  ig_sink_drop(&sink);
  return back;
}

// One of every kind, in a list.
static ig_object *zoo(ig_ctx *c) {
  static const uint8_t huge[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ig_object *o = ig_object_new(c, IG_OBJECT_LIST);
  ig_object *size = ig_object_new(c, IG_OBJECT_SIZE);
  ig_object *set = ig_object_new(c, IG_OBJECT_SET);
  ig_object *dict = ig_object_new(c, IG_OBJECT_DICT);
  ig_object *tuple = ig_object_new(c, IG_OBJECT_TUPLE);
  ig_object *counter = ig_object_new(c, IG_OBJECT_COUNTER);
  ig_object *items[] = {
      ig_object_none(c),
      ig_object_of_bool(c, true),
      ig_object_of_int(c, INT64_MIN),
      ig_object_of_int(c, 300),
      ig_object_of_text(c, IG_OBJECT_BIG, huge, sizeof huge),
      ig_object_of_float(c, -0.1),
      ig_object_of_complex(c, (ig_c128){1, -2}),
      ig_object_of_text(c, IG_OBJECT_STR, "a\0\xc3\xbc", 4),
      ig_object_of_text(c, IG_OBJECT_BYTES, "\xff\0z", 3),
      ig_object_of_dtype(c, IG_BF16),
      ig_object_of_device(c, (ig_device){IG_DEVICE_CUDA, 1}),
      ig_object_of_layout(c, IG_STRIDED),
      size,
      set,
      dict,
      tuple,
      counter,
      ig_object_of_text(c, IG_OBJECT_BYTEARRAY, "\0\x80", 2),
  };
  (void)!ig_object_put_str(c, counter, "a", ig_object_of_int(c, 2));
  (void)!ig_object_push(c, size, ig_object_of_int(c, 3));
  for (int64_t i = 0; i < 20; i++) (void)!ig_object_push(c, set, ig_object_of_int(c, i * i));
  (void)!ig_object_put(c, dict, ig_object_of_int(c, 1), ig_object_of_str(c, "one"));
  (void)!ig_object_put(c, dict, ig_object_none(c), ig_object_new(c, IG_OBJECT_LIST));
  for (size_t i = 0; i < 4; i++) (void)!ig_object_push(c, tuple, ig_object_of_float(c, 0.5));
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    (void)!ig_object_push(c, o, items[i]);
  }
  return o;
}

static void every_kind_of_value_comes_back(void **state) {
  fixture *f = *state;
  ig_object *o = zoo(f->c);
  ig_object *back = again(f->c, o);
  assert_int_equal(ig_object_count(back), ig_object_count(o));
  for (size_t i = 0; i < ig_object_count(o); i++) {
    const ig_object *a = ig_object_at(o, i);
    const ig_object *b = ig_object_at(back, i);
    size_t n = 0;
    size_t m = 0;
    assert_int_equal(ig_object_kind_of(a), ig_object_kind_of(b));
    assert_true(ig_object_int(a) == ig_object_int(b) && ig_object_float(a) == ig_object_float(b));
    assert_true(ig_object_complex(a).im == ig_object_complex(b).im);
    assert_memory_equal(ig_object_text(a, &n), ig_object_text(b, &m), n + 1);
    assert_int_equal(n, m);
    assert_int_equal(ig_object_dtype(a), ig_object_dtype(b));
    assert_int_equal(ig_object_device(a).index, ig_object_device(b).index);
    assert_int_equal(ig_object_count(a), ig_object_count(b));
  }
  assert_string_equal(ig_object_text(ig_object_at(ig_object_at(back, 14), 0), NULL), "one");
  ig_object_free(o);
  ig_object_free(back);
}

static void views_of_one_storage_stay_views(void **state) {
  fixture *f = *state;
  ig_scope s = ig_scope_open(f->c);
  int64_t sizes[] = {6};
  ig_tensor *base = ig_tensor_empty(f->c, IG_F32, sizes, 1);
  for (int i = 0; i < 6; i++) ((float *)ig_tensor_data(base))[i] = (float)i;
  ig_meta m;
  ig_meta_view(base, &m);
  m.ndim = 2;
  m.size[0] = ig_const(2);
  m.size[1] = ig_const(2);
  m.stride[0] = ig_const(1);
  m.stride[1] = ig_const(2);
  m.offset = ig_const(1);
  ig_tensor *view = ig_tensor_make(f->c, &m, false);
  ig_object *o = ig_object_new(f->c, IG_OBJECT_DICT);
  assert_int_equal(ig_object_put_str(f->c, o, "a", ig_object_of_tensor(f->c, base, true)), IG_OK);
  assert_int_equal(ig_object_put_str(f->c, o, "b", ig_object_of_tensor(f->c, view, false)), IG_OK);
  ig_object *back = again(f->c, o);
  ig_object_free(o);
  ig_scope_close(f->c, s);
  const ig_tensor *a = ig_object_tensor(ig_object_find(back, "a"));
  const ig_tensor *b = ig_object_tensor(ig_object_find(back, "b"));
  assert_true(ig_object_is_parameter(ig_object_find(back, "a")));
  assert_ptr_equal(a->storage, b->storage);
  assert_int_equal(ig_strides(b)[1].value, 2);
  assert_true(ig_tensor_get(b, 0) == 1 && ig_tensor_get(b, 1) == 3 && ig_tensor_get(b, 2) == 2);
  ig_object_free(back);
}

static void keys_occur_once_and_are_plain(void **state) {
  fixture *f = *state;
  ig_object *o = ig_object_new(f->c, IG_OBJECT_DICT);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(ig_object_put(f->c, o, ig_object_of_int(f->c, i), ig_object_none(f->c)),
                     IG_OK);
  }
  assert_int_equal(ig_object_put(f->c, o, ig_object_of_float(f->c, 77), ig_object_none(f->c)),
                   IG_SYNTAX);
  test_error_has(f->c, "a key occurs twice");
  assert_int_equal(
      ig_object_put(f->c, o, ig_object_new(f->c, IG_OBJECT_LIST), ig_object_none(f->c)),
      IG_INVALID);
  test_error_has(f->c, "a list cannot be a key");
  assert_int_equal(ig_object_count(o), 1000);
  ig_object_free(o);
}

// A chain of a million lists: built and freed without recursion.
static void deep_trees_are_freed_and_not_written(void **state) {
  fixture *f = *state;
  ig_object *o = ig_object_new(f->c, IG_OBJECT_LIST);
  for (int i = 0; i < 1000000; i++) {
    ig_object *outer = ig_object_new(f->c, IG_OBJECT_LIST);
    assert_int_equal(ig_object_push(f->c, outer, o), IG_OK);
    o = outer;
  }
  ig_sink sink = ig_sink_memory(f->c->alloc);
  assert_int_equal(ig_torch_print(f->c, o, &sink), IG_INVALID);
  test_error_has(f->c, "nested deeper than 1024");
  ig_sink_drop(&sink);
  ig_object_free(o);
}

// ---- no memory

static ig_status session(ig_ctx *c) {
  ig_object *o = zoo(c);
  ig_object *back = NULL;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_torch_print(c, o, &sink);
  if (st == IG_OK) st = ig_torch_parse(c, "x", (ig_bytes){sink.at, sink.n}, NULL, NULL, &back);
  ig_sink_drop(&sink);
  ig_object_free(o);
  ig_object_free(back);
  if (st == IG_OK) {
    st = ig_torch_load(c, TEST_DATA "/arrays/data/dtypes.legacy.pt", NULL, &back);
    ig_object_free(back);
  }
  return st;
}

static void running_out_of_memory_is_survived(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(real_files_of_every_container_agree), TEST(weights_are_pages_of_the_file),
      TEST(without_an_owner_tensors_are_copies), TEST(the_pickle_is_that_of_pytorch),
      TEST(every_kind_of_value_comes_back),      TEST(views_of_one_storage_stay_views),
      TEST(keys_occur_once_and_are_plain),       TEST(deep_trees_are_freed_and_not_written),
      TEST(running_out_of_memory_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
