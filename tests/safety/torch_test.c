// SPDX-License-Identifier: Apache-2.0
// Hostile and foreign files in place of those of torch.save and torch.jit.save: containers that lie
// about their storages, kinds of files that other functions read, other byte orders.
#include <stdio.h>
#include <zlib.h>

#include "arrays/torch_file.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "codec/zip_layout.h"
#include "heap.h"
#include "tensor/tensor.h"
#include "ts/archive.h"

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

// ---- archives

typedef struct member {
  const char *name;
  const char *data;
  size_t n;
} member;
#define MEMBER(name, bytes) \
  { name, bytes, sizeof(bytes) - 1 }

static void build(fixture *f, const member *m, size_t n) {
  ig_zip_writer w;
  ig_sink_drop(&f->out);
  ig_zip_writer_init(&w, f->c, &f->out, IG_ZIP_ALIGN);
  for (size_t i = 0; i < n; i++) {
    ig_bytes part = {(const uint8_t *)m[i].data, m[i].n};
    assert_int_equal(ig_zip_add(&w, m[i].name, &part, 1), IG_OK);
  }
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  ig_zip_writer_free(&w);
}
#define BUILD(f, ...)                                \
  do {                                               \
    const member list_[] = {__VA_ARGS__};            \
    build((f), list_, sizeof list_ / sizeof *list_); \
  } while (0)

static ig_bytes built(const fixture *f) {
  return (ig_bytes){f->out.at, f->out.n};
}

static void refuse(fixture *f, ig_bytes in, ig_status want, const char *why) {
  ig_object *o = NULL;
  ig_status st = ig_torch_parse(f->c, "x.pt", in, NULL, NULL, &o);
  if (st != want) fail_msg("%s: status %d, %s", why, (int)st, ig_ctx_error(f->c));
  assert_null(o);
  test_error_has(f->c, why);
}

static ig_object *accept(fixture *f, ig_bytes in) {
  ig_object *o = NULL;
  if (ig_torch_parse(f->c, "x.pt", in, NULL, NULL, &o) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  return o;
}

// A tensor of `class` with six elements, sizes (6,), over storage 0.
#define TENSOR(class, numel)                                              \
  "\x80\x02"                                                              \
  "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n" class \
      "\nX\x01\0\0\0"                                                     \
      "0X\x03\0\0\0cpu" numel                                             \
      "tQK\0K\x06\x85K\x01\x85\x89"                                       \
      "ccollections\nOrderedDict\n)"                                      \
      "RtR."
#define FLOATS "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40"

static void storages_must_hold_what_they_claim(void **state) {
  fixture *f = *state;
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x06")), MEMBER("a/data/0", FLOATS));
  ig_object *o = accept(f, built(f));
  assert_true(ig_tensor_get(ig_object_tensor(o), 5) == 6);
  ig_object_free(o);
  BUILD(f, MEMBER("a/data.pkl", TENSOR("DoubleStorage", "K\x06")), MEMBER("a/data/0", FLOATS));
  refuse(f, built(f), IG_SYNTAX, "storage '0' has 24 bytes, expected 6 elements of float64");
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x07")), MEMBER("a/data/0", FLOATS));
  refuse(f, built(f), IG_SYNTAX, "storage '0' has 24 bytes, expected 7 elements of float32");
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")),
        MEMBER("a/data/0", FLOATS));
  refuse(f, built(f), IG_SYNTAX, "storage '0' has 24 bytes");
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x06")), MEMBER("a/data/1", FLOATS));
  refuse(f, built(f), IG_SYNTAX, "storage 'data/0' is missing");
}

// A key is looked up among the members, never on a disk.
static void keys_cannot_leave_the_folder(void **state) {
  fixture *f = *state;
  static const char pickle[] =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x0d\0"
      "\0\0../../etc/pwdX\x03\0\0\0cpuK\x06tQK\0K\x06\x85K\x01\x85\x89"
      "ccollections\nOrderedDict\n)"
      "RtR.";
  const member list[] = {{"a/data.pkl", pickle, sizeof pickle - 1}};
  build(f, list, 1);
  refuse(f, built(f), IG_SYNTAX, "storage 'data/../../etc/pwd' is missing");
}

static void damaged_storages_are_noticed(void **state) {
  fixture *f = *state;
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x06")), MEMBER("a/data/0", FLOATS));
  for (size_t i = 0; i + 4 < f->out.n; i++) {
    if (memcmp(f->out.at + i, "\0\0\xc0\x40", 4) == 0) f->out.at[i] = 1;
  }
  refuse(f, built(f), IG_SYNTAX, "is damaged: checksum");
}

static void bookkeeping_is_checked(void **state) {
  fixture *f = *state;
#define WITH(...)                                                                             \
  BUILD(f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x06")), MEMBER("a/data/0", FLOATS), \
        __VA_ARGS__)
  WITH(MEMBER("a/version", "11\n"));
  refuse(f, built(f), IG_UNSUPPORTED, "file format version '11', 1 to 10 are known");
  WITH(MEMBER("a/version", "0\n"));
  refuse(f, built(f), IG_UNSUPPORTED, "file format version '0'");
  WITH(MEMBER("a/.data/version", "99999999999999999999\n"));
  refuse(f, built(f), IG_UNSUPPORTED, "file format version '99999999999999999999'");
  WITH(MEMBER("a/version", "3x\n"));
  refuse(f, built(f), IG_UNSUPPORTED, "file format version '3x'");
  WITH(MEMBER("a/version", "33333333333333333333333333333333333333333333333333333333333333333333"));
  refuse(f, built(f), IG_SYNTAX, "'version' has 68 bytes, expected a short text");
  WITH(MEMBER("a/byteorder", "middle"));
  refuse(f, built(f), IG_SYNTAX, "byte order 'middle', expected 'little' or 'big'");
  WITH(MEMBER("b/other", "x"));
  refuse(f, built(f), IG_SYNTAX, "'b/other' lies outside the archive's folder 'a'");
  WITH(MEMBER("a/DATA.pkl", "x"));
  refuse(f, built(f), IG_SYNTAX, "differ only in case");
  WITH(MEMBER("a/version", "10\n"), MEMBER("a/byteorder", "little"));
  ig_object_free(accept(f, built(f)));
}

static void big_endian_storages_are_swapped(void **state) {
  fixture *f = *state;
  BUILD(
      f, MEMBER("a/data.pkl", TENSOR("FloatStorage", "K\x06")),
      MEMBER("a/data/0", "\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0\x40\xa0\0\0\x40\xc0\0\0"),
      MEMBER("a/byteorder", "big"));
  ig_object *o = accept(f, built(f));
  for (int i = 0; i < 6; i++) assert_true(ig_tensor_get(ig_object_tensor(o), i) == i + 1);
  ig_object_free(o);
}

// C knows no bool but 0 and 1.
static void bools_of_a_file_are_bools(void **state) {
  fixture *f = *state;
  BUILD(f, MEMBER("a/data.pkl", TENSOR("BoolStorage", "K\x06")),
        MEMBER("a/data/0", "\0\x01\x02\x80\xff\0"));
  ig_object *o = accept(f, built(f));
  const uint8_t *p = ig_tensor_data(ig_object_tensor(o));
  assert_memory_equal(p, "\0\1\1\1\1\0", 6);
  ig_object_free(o);
}

static void code_in_the_pickle_is_refused(void **state) {
  fixture *f = *state;
  BUILD(f, MEMBER("a/data.pkl",
                  "\x80\x02"
                  "cos\nsystem\nX\x02\0\0\0id\x85R."));
  refuse(f, built(f), IG_UNSUPPORTED, "a/data.pkl: pickle, offset 2: global 'os.system'");
}

// ---- other files

static void other_kinds_of_files_are_named(void **state) {
  fixture *f = *state;
  static const uint8_t tar[300] = {[0] = 'x', [257] = 'u', 's', 't', 'a', 'r'};
  refuse(f, (ig_bytes){(const uint8_t *)"PYTORCH1....", 12}, IG_UNSUPPORTED, "PYTORCH1");
  refuse(f, (ig_bytes){tar, sizeof tar}, IG_UNSUPPORTED, "a tar archive of PyTorch 0.1");
  refuse(f, (ig_bytes){(const uint8_t *)"\x02\0\0\0\0\0\0\0{}", 10}, IG_UNSUPPORTED,
         "a safetensors file, not one of torch.save");
  refuse(f, (ig_bytes){(const uint8_t *)"\x80\x02N.", 4}, IG_UNSUPPORTED,
         "a pickle that torch.save did not write");
  refuse(f, (ig_bytes){(const uint8_t *)"hello", 5}, IG_SYNTAX, "neither a zip archive nor");
  refuse(f, (ig_bytes){(const uint8_t *)"", 0}, IG_SYNTAX, "neither a zip archive nor");
  refuse(f, (ig_bytes){(const uint8_t *)"PK\3\4", 4}, IG_SYNTAX, "not a zip archive");
  BUILD(f, MEMBER("a/data.pkl", "N."), MEMBER("a/constants.pkl", ")."));
  refuse(f, built(f), IG_UNSUPPORTED, "a TorchScript archive, not a file of torch.save");
  BUILD(f, MEMBER("a/archive_format", "pt2"));
  refuse(f, built(f), IG_UNSUPPORTED, "an exported program (.pt2)");
  BUILD(f, MEMBER("version", "8.0"), MEMBER("serialized_exported_program.json", "{}"));
  refuse(f, built(f), IG_UNSUPPORTED, "an exported program (.pt2)");
  BUILD(f, MEMBER("x.npy", "?"));
  refuse(f, built(f), IG_UNSUPPORTED, "NumPy arrays (.npz)");
  BUILD(f, MEMBER("a/x.txt", "?"));
  refuse(f, built(f), IG_SYNTAX, "it has no 'data.pkl'");
}

// ---- legacy

#define MAGIC                 \
  "\x80\x02\x8a\x0al\xfc\x9c" \
  "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."
#define SYSTEM(little) "\x80\x02}X\x0d\0\0\0little_endian" little "s."
#define KEYS             \
  "\x80\x02]X\x01\0\0\0" \
  "0a."
#define COUNT(n) n "\0\0\0\0\0\0\0"

static void refuse_legacy(fixture *f, const char *text, size_t n, ig_status want, const char *why) {
  refuse(f, (ig_bytes){(const uint8_t *)text, n}, want, why);
}
#define LEGACY(f, bytes, want, why) refuse_legacy(f, bytes, sizeof(bytes) - 1, want, why)
#define PLAIN TENSOR("FloatStorage", "K\x06")

static void legacy_files_have_the_same_bounds(void **state) {
  fixture *f = *state;
  static const char good[] = MAGIC SYSTEM("\x88") PLAIN KEYS COUNT("\x06") FLOATS;
  ig_object *o = accept(f, (ig_bytes){(const uint8_t *)good, sizeof good - 1});
  assert_true(ig_tensor_get(ig_object_tensor(o), 5) == 6);
  ig_object_free(o);
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN KEYS COUNT("\x07") FLOATS, IG_SYNTAX,
         "storage 0 of 7 elements, 24 bytes are left");
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN KEYS "\xff\xff\xff\xff\xff\xff\xff\xff" FLOATS, IG_SYNTAX,
         "storage 0 of 18446744073709551615 elements");
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN KEYS COUNT("\x05") FLOATS, IG_SYNTAX,
         "storage '0' has 20 bytes, expected 6 elements");
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN KEYS "\x06\0\0", IG_SYNTAX, "before storage 0");
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN "\x80\x02]." FLOATS, IG_SYNTAX, "storage '0' is missing");
  LEGACY(f,
         MAGIC SYSTEM("\x88") PLAIN
         "\x80\x02]X\x01\0\0\0"
         "9a." FLOATS,
         IG_SYNTAX, "a storage that no tensor uses");
  LEGACY(f,
         MAGIC SYSTEM("\x88") PLAIN
         "\x80\x02](X\x01\0\0\0"
         "0X\x01\0\0\0"
         "0e." COUNT("\x01") "\0\0\0\0" COUNT("\x01") "\0\0\0\0",
         IG_SYNTAX, "storage '0' occurs twice");
  LEGACY(f, MAGIC SYSTEM("\x88") PLAIN "N." FLOATS, IG_SYNTAX,
         "the list of storages is not a list");
  LEGACY(f, MAGIC "N." PLAIN KEYS, IG_SYNTAX, "system information is not a dictionary");
  LEGACY(f,
         "\x80\x02\x8a\x0al\xfc\x9c"
         "F\xf9 j\xa8P\x19.K\x01.",
         IG_UNSUPPORTED, "a legacy file of a version other than 1001");
  LEGACY(f, MAGIC SYSTEM("\x88") "cos\nsystem\n.", IG_UNSUPPORTED, "global 'os.system'");
  // The offset counts from the beginning of the file, not of the pickle.
  LEGACY(f, MAGIC "cos\nsystem\n.", IG_UNSUPPORTED, "offset 21: global 'os.system'");
}

static void legacy_files_of_other_machines_are_swapped(void **state) {
  fixture *f = *state;
  static const char big[] = MAGIC SYSTEM("\x89") PLAIN KEYS
      "\0\0\0\0\0\0\0\x06"
      "\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0\x40\xa0\0\0\x40\xc0\0\0";
  ig_object *o = accept(f, (ig_bytes){(const uint8_t *)big, sizeof big - 1});
  for (int i = 0; i < 6; i++) assert_true(ig_tensor_get(ig_object_tensor(o), i) == i + 1);
  ig_object_free(o);
}

// ---- TorchScript

static void refuse_ts(fixture *f, ig_status want, const char *why) {
  ig_ts *ts = NULL;
  ig_status st = ig_ts_parse(f->c, "x.ts.pt", built(f), NULL, NULL, &ts);
  if (st != want) fail_msg("%s: status %d, %s", why, (int)st, ig_ctx_error(f->c));
  assert_null(ts);
  test_error_has(f->c, why);
}

#define MODULE \
  "\x80\x02"   \
  "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x89X\x01\0\0\0wNub."

static void torchscript_archives_have_the_same_bounds(void **state) {
  fixture *f = *state;
  BUILD(f, MEMBER("a/data.pkl", MODULE));
  refuse_ts(f, IG_SYNTAX, "it has no 'data.pkl' and 'constants.pkl'");
  BUILD(f, MEMBER("a/model.json", "{}"), MEMBER("a/tensors/0", ""));
  refuse_ts(f, IG_UNSUPPORTED, "PyTorch 1.3 or older (model.json)");
  BUILD(f, MEMBER("a/data.pkl", MODULE), MEMBER("a/constants.pkl", "]."));
  refuse_ts(f, IG_SYNTAX, "constants are a list, expected a tuple");
  BUILD(f, MEMBER("a/data.pkl", "N."), MEMBER("a/constants.pkl", ")."));
  refuse_ts(f, IG_SYNTAX, "holds None, expected a module");
  BUILD(f, MEMBER("a/data.pkl", "cos\nsystem\n)R."), MEMBER("a/constants.pkl", ")."));
  refuse_ts(f, IG_UNSUPPORTED, "global 'os.system'");
  BUILD(f, MEMBER("a/data.pkl", MODULE), MEMBER("a/constants.pkl", ")."),
        MEMBER("a/version", "12\n"));
  refuse_ts(f, IG_UNSUPPORTED, "file format version '12'");
  BUILD(f, MEMBER("a/data.pkl", MODULE), MEMBER("a/constants.pkl", ")."),
        MEMBER("a/code/__torch__.py", "\xff\xfe"));
  refuse_ts(f, IG_SYNTAX, "source '__torch__.py' is not UTF-8");
  BUILD(f, MEMBER("a/data.pkl", MODULE), MEMBER("a/constants.pkl", ")."),
        MEMBER("a/bytecode.pkl", "N."));
  refuse_ts(f, IG_SYNTAX, "bytecode that does not begin with its version");
  BUILD(f, MEMBER("a/data.pkl", MODULE), MEMBER("a/constants.pkl", ")."),
        MEMBER("a/code/__torch__.py", "class M(Module):\n  __parameters__ = [\"w\", ]\n"));
  ig_ts *ts = NULL;
  assert_int_equal(ig_ts_parse(f->c, "x", built(f), NULL, NULL, &ts), IG_OK);
  const ig_ts_module *modules = NULL;
  const ig_ts_source *sources = NULL;
  assert_int_equal(ig_ts_modules(ts, &modules), 1);
  assert_string_equal(modules[0].class_name, "__torch__.M");
  assert_int_equal(ig_ts_sources(ts, &sources), 1);
  ig_ts_free(ts);
}

// Modules that hold the one before them twice: 2^60 paths in sixty objects.
static void paths_to_modules_are_counted(void **state) {
  fixture *f = *state;
  static const char head[] = "0c__torch__\nM\n)\x81}(X\x08\0\0\0training\x89X\x01\0\0\0";
  ig_sink pickle = ig_sink_memory(f->c->alloc);
  ig_sink_put(&pickle, "N", 1);
  for (int i = 0; i < 60; i++) {
    const char put[] = {'q', (char)i};
    const char get[] = {'h', (char)i};
    ig_sink_put(&pickle, put, sizeof put);
    ig_sink_put(&pickle, head, sizeof head - 1);
    ig_sink_put(&pickle, "a", 1);
    ig_sink_put(&pickle, get, sizeof get);
    ig_sink_put(&pickle, "X\x01\0\0\0b", 6);
    ig_sink_put(&pickle, get, sizeof get);
    ig_sink_put(&pickle, "ub", 2);
  }
  ig_sink_put(&pickle, ".", 1);
  const member list[] = {{"a/data.pkl", (const char *)pickle.at, pickle.n},
                         MEMBER("a/constants.pkl", ").")};
  build(f, list, 2);
  ig_sink_drop(&pickle);
  ig_ts *ts = NULL;
  ig_limits limits = {.size = sizeof limits, .max_nodes = 10000};
  assert_int_equal(ig_ts_parse(f->c, "x", built(f), NULL, &limits, &ts), IG_SYNTAX);
  test_error_has(f->c, "too many modules");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(storages_must_hold_what_they_claim),
      TEST(keys_cannot_leave_the_folder),
      TEST(damaged_storages_are_noticed),
      TEST(bookkeeping_is_checked),
      TEST(big_endian_storages_are_swapped),
      TEST(bools_of_a_file_are_bools),
      TEST(code_in_the_pickle_is_refused),
      TEST(other_kinds_of_files_are_named),
      TEST(legacy_files_have_the_same_bounds),
      TEST(legacy_files_of_other_machines_are_swapped),
      TEST(torchscript_archives_have_the_same_bounds),
      TEST(paths_to_modules_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
