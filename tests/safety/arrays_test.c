// SPDX-License-Identifier: Apache-2.0
// Hostile files of named tensors: safetensors against every rule of the format, .npy and .npz with
// sizes that overflow, types that run code, members that grow without end.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "arrays/arrays.h"
#include "codec/bits.h"
#include "codec/npy.h"
#include "codec/zip.h"
#include "codec/zip_layout.h"
#include "heap.h"
#include "tensor/tensor.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  ig_sink out;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  f->out = ig_sink_memory(f->c->alloc);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_sink_drop(&f->out);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static void refuse(fixture *f, const ig_limits *limits, ig_status want, const char *why) {
  ig_arrays_in in = {.name = "x", .bytes = {f->out.at, f->out.n}, .limits = limits};
  ig_tensor_list list;
  ig_scope s = ig_scope_open(f->c);
  ig_status st = ig_tensors_parse(f->c, &in, &list);
  if (st != want) fail_msg("%s: status %d, %s", why, (int)st, ig_ctx_error(f->c));
  ig_scope_close(f->c, s);
  test_error_has(f->c, why);
}

static void accept(fixture *f, size_t n) {
  ig_arrays_in in = {.name = "x", .bytes = {f->out.at, f->out.n}};
  ig_tensor_list list;
  ig_scope s = ig_scope_open(f->c);
  if (ig_tensors_parse(f->c, &in, &list) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  assert_int_equal(list.n, n);
  ig_scope_close(f->c, s);
}

// ---- safetensors

static void header(fixture *f, uint64_t claimed, const char *text, size_t data) {
  uint8_t length[8];
  ig_sink_drop(&f->out);
  ig_store64(length, claimed ? claimed : strlen(text));
  ig_sink_put(&f->out, length, sizeof length);
  ig_sink_put(&f->out, text, strlen(text));
  ig_sink_zeros(&f->out, data);
}

static void refuse_header(fixture *f, const char *text, size_t data, const char *why) {
  header(f, 0, text, data);
  refuse(f, NULL, IG_SYNTAX, why);
}

#define ENTRY(name, dtype, shape, begin, end)                                                  \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end \
  "]"                                                                                          \
  "}"

static void safetensors_keep_every_rule(void **state) {
  fixture *f = *state;
  header(f, 0, "{" ENTRY("a", "F32", "[2]", "0", "8") "," ENTRY("b", "U8", "[]", "8", "9") "}  ",
         9);
  accept(f, 2);
  header(f, 0, "{" ENTRY("e", "F32", "[0,3]", "0", "0") "," ENTRY("b", "U8", "[1]", "0", "1") "}",
         1);
  accept(f, 2);
  // Lengths.
  header(f, 100000001, "{}", 0);
  refuse(f, NULL, IG_SYNTAX, "no file of tensors");
  header(f, 3, "{}", 0);
  refuse(f, NULL, IG_SYNTAX, "a header of 3 bytes in a file of 10");
  header(f, UINT64_MAX, "{}", 0);
  refuse(f, NULL, IG_SYNTAX, "no file of tensors");
  // The pieces cover the buffer.
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "0", "2") "}", 3,
                "2 bytes of tensors in a buffer of 3");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "1", "3") "}", 3,
                "begins at 1 of the data, with a hole");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "1", "3") "}",
                3, "tensor 'b' begins at 1 of the data, inside the one that ends at 2");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "0", "2") "}",
                2, "begins at 0 of the data, inside the one that ends at 2");
  refuse_header(f, "{" ENTRY("a", "U8", "[4]", "0", "4") "}", 3, "tensor 'a' ends at 4 of 3 bytes");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "2", "0") "}", 2,
                "data_offsets are not [begin, end]");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "-1", "1") "}", 2, "data_offsets are not");
  refuse_header(f, "{" ENTRY("a", "U8", "[2]", "0", "99999999999999999999") "}", 2, "data_offsets");
  // Shapes.
  refuse_header(f, "{" ENTRY("a", "F32", "[2]", "0", "4") "}", 4, "has 4 bytes, its shape needs 8");
  refuse_header(f, "{" ENTRY("a", "U8", "[-2]", "0", "2") "}", 2,
                "a size that is not a number >= 0");
  refuse_header(f, "{" ENTRY("a", "U8", "[2.0]", "0", "2") "}", 2,
                "a size that is not a number >= 0");
  refuse_header(f, "{" ENTRY("a", "U8", "[4294967296,4294967296]", "0", "0") "}", 0,
                "more elements than can be counted");
  refuse_header(f, "{" ENTRY("a", "F64", "[2305843009213693952]", "0", "0") "}", 0, "has 0 bytes");
  refuse_header(f, "{" ENTRY("a", "U8", "2", "0", "2") "}", 2, "no shape");
  refuse_header(f, "{" ENTRY("a", "X9", "[2]", "0", "2") "}", 2, "unknown dtype 'X9'");
  // Names.
  refuse_header(f, "{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("a", "U8", "[1]", "1", "2") "}",
                2, "twice");
  refuse_header(f, "{" ENTRY("a\\u0000b", "U8", "[1]", "0", "1") "}", 1,
                "a zero character in the name");
  refuse_header(f, "{\"a\":1}", 0, "expected an object");
  refuse_header(f, "{\"a\":{}}", 0, "expected dtype, shape and data_offsets");
  refuse_header(f, "{\"a\":{\"dtype\":1,\"shape\":[],\"data_offsets\":[0,1]}}", 1, "no dtype");
  refuse_header(f, "{\"__metadata__\":{\"a\":1}}", 0, "expected texts");
  refuse_header(f, "{\"__metadata__\":[]}", 0, "expected an object");
  refuse_header(f, "{\"a\":", 0, "x: line 1 column");
  header(f, 0, "{" ENTRY("a", "F8_E8M0", "[1]", "0", "1") "}", 1);
  refuse(f, NULL, IG_UNSUPPORTED, "element type F8_E8M0 is not supported");
  ig_limits one = {.size = sizeof one, .max_entries = 1};
  header(f, 0, "{" ENTRY("a", "U8", "[0]", "0", "0") "," ENTRY("b", "U8", "[0]", "0", "0") "}", 0);
  refuse(f, &one, IG_SYNTAX, "2 tensors, the limit is 1");
}

// A header of odd length: floats that lie at odd addresses are copied to even ones.
static void misaligned_tensors_are_copied(void **state) {
  fixture *f = *state;
  char path[] = "/tmp/ingot-misaligned-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  (void)close(fd);
  for (size_t pad = 0; pad < 8; pad++) {
    char text[128];
    (void)snprintf(text, sizeof text, "{%s}%*s", ENTRY("a", "F32", "[2]", "0", "8"), (int)pad, "");
    header(f, 0, text, 0);
    ig_sink_put(&f->out, "\0\0\x80\x3f\0\0\0\x40", 8);
    assert_int_equal(ig_file_write(f->c, path, f->out.at, f->out.n), IG_OK);
    const ig_weight *list = NULL;
    size_t n = 0;
    ig_scope s = ig_scope_open(f->c);
    assert_int_equal(ig_tensors_load(f->c, path, &list, &n), IG_OK);
    assert_int_equal((uintptr_t)ig_tensor_data(list[0].tensor) % sizeof(float), 0);
    assert_true(ig_tensor_get(list[0].tensor, 0) == 1 && ig_tensor_get(list[0].tensor, 1) == 2);
    ig_scope_close(f->c, s);
  }
  (void)unlink(path);
}

// ---- NumPy

static void npy(fixture *f, const char *dict, size_t data) {
  uint8_t head[10] = "\x93NUMPY\1\0";
  ig_sink_drop(&f->out);
  ig_store16(head + 8, (uint16_t)strlen(dict));
  ig_sink_put(&f->out, head, sizeof head);
  ig_sink_put(&f->out, dict, strlen(dict));
  ig_sink_zeros(&f->out, data);
}
#define DICT(descr, fortran, shape) \
  "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static void arrays_of_objects_and_records_are_refused(void **state) {
  fixture *f = *state;
  static const char *const dicts[] = {
      DICT("|O", "False", "(1,)"),
      DICT("<U0", "False", "(1,)"),
      DICT("|S0", "False", "(1,)"),
      DICT("<M8", "False", "(1,)"),
      DICT("|V8", "False", "(1,)"),
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n",
  };
  for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
    npy(f, dicts[i], 16);
    ig_arrays_in in = {.name = "x", .bytes = {f->out.at, f->out.n}};
    ig_tensor_list list;
    assert_int_not_equal(ig_tensors_parse(f->c, &in, &list), IG_OK);
    ig_ctx_clear(f->c);
  }
  // The header is data, not Python.
  npy(f, "{'descr': __import__('os').name, 'fortran_order': False, 'shape': (1,), }\n", 16);
  refuse(f, NULL, IG_SYNTAX, "x");
}

static void sizes_of_arrays_are_checked(void **state) {
  fixture *f = *state;
  npy(f, DICT("<f4", "False", "(2,)"), 8);
  accept(f, 1);
  npy(f, DICT(">f4", "True", "(2, 1)"), 8);
  accept(f, 1);
  static const char *const shapes[] = {
      DICT("<f4", "False", "(3,)"),
      DICT("<f4", "False", "(4611686018427387904, 4)"),
      DICT("<f4", "False", "(9223372036854775807,)"),
      DICT("<f4", "False", "(99999999999999999999,)"),
      DICT("<f4", "False", "(-2,)"),
      DICT("<f4", "False", "(2"),
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    npy(f, shapes[i], 8);
    refuse(f, NULL, IG_SYNTAX, "x");
  }
}

// ---- zip bombs

static void bomb(fixture *f, uint64_t size, size_t copies) {
  static uint8_t zeros[1 << 20];
  static uint8_t packed[1 << 12];
  z_stream z = {.next_in = zeros, .avail_in = sizeof zeros, .next_out = packed};
  z.avail_out = sizeof packed;
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t n = z.total_out;
  (void)deflateEnd(&z);
  ig_sink_drop(&f->out);
  uint8_t local[ZIP_LOCAL_SIZE] = {0};
  ig_store32(local, ZIP_LOCAL);
  ig_store16(local + 8, ZIP_DEFLATED);
  ig_store32(local + 18, (uint32_t)n);
  ig_store32(local + 22, (uint32_t)size);
  ig_store16(local + 26, 6);
  ig_sink dir = ig_sink_memory(f->c->alloc);
  for (size_t i = 0; i < copies; i++) {
    char name[7];
    (void)snprintf(name, sizeof name, "%c%c.npy", (char)('a' + i / 26), (char)('a' + i % 26));
    uint8_t central[ZIP_CENTRAL_SIZE] = {0};
    ig_store32(central, ZIP_CENTRAL);
    memcpy(central + 6, local + 4, 26);
    ig_store32(central + 42, (uint32_t)f->out.total);
    ig_sink_put(&dir, central, sizeof central);
    ig_sink_put(&dir, name, 6);
    ig_sink_put(&f->out, local, sizeof local);
    ig_sink_put(&f->out, name, 6);
    ig_sink_put(&f->out, packed, n);
  }
  uint8_t end[ZIP_END_SIZE] = {0};
  ig_store32(end, ZIP_END);
  ig_store16(end + 8, (uint16_t)copies);
  ig_store16(end + 10, (uint16_t)copies);
  ig_store32(end + 12, (uint32_t)dir.n);
  ig_store32(end + 16, (uint32_t)f->out.total);
  ig_sink_put(&f->out, dir.at, dir.n);
  ig_sink_put(&f->out, end, sizeof end);
  ig_sink_drop(&dir);
}

static void bombs_do_not_go_off(void **state) {
  fixture *f = *state;
  // More than deflate can do is a lie; nothing is unpacked.
  bomb(f, 1u << 30, 1);
  refuse(f, NULL, IG_SYNTAX, "more than deflate can");
  // Many members that are each possible.
  ig_limits small = {.size = sizeof small, .max_inflated = 10u << 20};
  bomb(f, 1u << 20, 20);
  refuse(f, &small, IG_SYNTAX, "deflated zip entries need more than the limit of 10485760 bytes");
  // What is claimed is all that is unpacked.
  bomb(f, 1000, 1);
  refuse(f, NULL, IG_SYNTAX, "does not unpack to its 1000 bytes");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(safetensors_keep_every_rule),
      TEST(misaligned_tensors_are_copied),
      TEST(arrays_of_objects_and_records_are_refused),
      TEST(sizes_of_arrays_are_checked),
      TEST(bombs_do_not_go_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
