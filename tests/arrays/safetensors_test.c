// SPDX-License-Identifier: Apache-2.0
// safetensors: every dtype both ways, pages of the file, metadata, the order of the format's own
// library, and one door for all formats of named tensors.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "arrays/arrays.h"
#include "heap.h"
#include "tensor/tensor.h"

static char folder[64];

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
} fixture;

static const char *path_of(const char *name) {
  static char path[128];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  strcpy(folder, "/tmp/ingot-safetensors-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  static const char *const names[] = {"x.safetensors", "x.npz", "x.pt"};
  for (size_t i = 0; i < 3; i++) (void)unlink(path_of(names[i]));
  assert_int_equal(rmdir(folder), 0);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static ig_tensor *filled(ig_ctx *c, ig_dtype dtype, int64_t n) {
  ig_tensor *t = ig_tensor_empty(c, dtype, &n, 1);
  uint8_t *p = t ? ig_tensor_data(t) : NULL;
  for (size_t i = 0; p && i < (size_t)n * ig_dtype_size(dtype); i++) p[i] = (uint8_t)(i % 2);
  return t;
}

static void every_dtype_of_the_format_comes_back(void **state) {
  fixture *f = *state;
  ig_weight list[IG_DTYPE_COUNT];
  size_t n = 0;
  for (int d = 0; d < IG_DTYPE_COUNT; d++) {
    if (d == IG_C128 || ig_dtype_is_quantized((ig_dtype)d)) continue;
    list[n++] =
        (ig_weight){.name = ig_dtype_text((ig_dtype)d), .tensor = filled(f->c, (ig_dtype)d, 3 + d)};
  }
  ig_tensor_list out = {.at = list, .n = n};
  ig_tensor_list back;
  const char *path = path_of("x.safetensors");
  assert_int_equal(ig_tensors_write(f->c, path, &out), IG_OK);
  assert_int_equal(ig_tensors_open(f->c, path, NULL, &back), IG_OK);
  assert_int_equal(back.n, n);
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *t = back.at[i].tensor;
    assert_string_equal(back.at[i].name, ig_dtype_text(t->dtype));
    assert_int_equal(ig_tensor_numel(t), 3 + (int)t->dtype);
    const ig_tensor *was = NULL;
    for (size_t k = 0; k < n; k++) {
      if (list[k].tensor->dtype == t->dtype) was = list[k].tensor;
    }
    assert_memory_equal(ig_tensor_data(t), ig_tensor_data(was),
                        (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype));
  }
  ig_weight bad = {"z", filled(f->c, IG_C128, 1), NULL};
  ig_tensor_list odd = {.at = &bad, .n = 1};
  assert_int_equal(ig_tensors_write(f->c, path, &odd), IG_UNSUPPORTED);
  test_error_has(f->c, "tensor 'z': safetensors has no complex128");
}

static void the_bytes_are_those_of_the_library(void **state) {
  fixture *f = *state;
  ig_weight list[] = {{"b", filled(f->c, IG_F32, 2), NULL},
                      {"c", filled(f->c, IG_U8, 3), NULL},
                      {"a", filled(f->c, IG_F32, 1), NULL}};
  ig_text_pair metadata[] = {{"format", "pt"}};
  ig_tensor_list out = {list, 3, metadata, 1};
  ig_sink sink = ig_sink_memory(f->c->alloc);
  assert_int_equal(ig_safetensors_print(f->c, &out, &sink), IG_OK);
  static const char want[] =
      "\xd0\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
      "\"c\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[12,15]}}";
  assert_memory_equal(sink.at + 8, want + 8, sizeof want - 9);
  assert_int_equal(sink.at[0] % 8, 0);
  assert_int_equal(sink.n, 8 + (size_t)sink.at[0] + 15);
  ig_arrays_in in = {.name = "x", .bytes = {sink.at, sink.n}};
  ig_tensor_list back;
  assert_int_equal(ig_safetensors_parse(f->c, &in, &back), IG_OK);
  assert_int_equal(back.n_metadata, 1);
  assert_string_equal(back.metadata[0].key, "format");
  assert_string_equal(back.metadata[0].value, "pt");
  ig_sink_drop(&sink);
}

static void one_door_reads_every_format(void **state) {
  fixture *f = *state;
  static const char *const names[] = {"x.safetensors", "x.npz", "x.pt"};
  ig_weight list[] = {{"a", filled(f->c, IG_F32, 5), NULL}, {"b", filled(f->c, IG_I64, 2), NULL}};
  for (size_t i = 0; i < 3; i++) {
    const ig_weight *back = NULL;
    size_t n = 0;
    assert_int_equal(ig_tensors_save(f->c, path_of(names[i]), list, 2), IG_OK);
    if (ig_tensors_load(f->c, path_of(names[i]), &back, &n) != IG_OK) {
      fail_msg("%s", ig_ctx_error(f->c));
    }
    assert_int_equal(n, 2);
    size_t a = strcmp(back[0].name, "a") == 0 ? 0 : 1;
    assert_string_equal(back[a].name, "a");
    assert_memory_equal(ig_tensor_data(back[a].tensor), ig_tensor_data(list[0].tensor), 20);
  }
}

static ig_status session(ig_ctx *c) {
  ig_scope s = ig_scope_open(c);
  ig_weight list[] = {{"a", filled(c, IG_F32, 5), NULL}, {"b", filled(c, IG_BOOL, 2), NULL}};
  ig_text_pair metadata[] = {{"k", "v"}};
  ig_tensor_list out = {list, 2, metadata, 1};
  ig_tensor_list back;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_ctx_status(c);
  if (st == IG_OK) st = ig_safetensors_print(c, &out, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_arrays_in in = {.name = "x", .bytes = {sink.at, sink.n}};
  if (st == IG_OK) st = ig_tensors_parse(c, &in, &back);
  ig_sink_drop(&sink);
  ig_scope_close(c, s);
  return st;
}

static void running_out_of_memory_is_survived(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_dtype_of_the_format_comes_back),
      TEST(the_bytes_are_those_of_the_library),
      TEST(one_door_reads_every_format),
      TEST(running_out_of_memory_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
