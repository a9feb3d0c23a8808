// SPDX-License-Identifier: Apache-2.0
// Zip: round trips, alignment, zip64, deflate, and one hostile archive for each thing the reader
// refuses. Archives of the hostile kind are put together from records whose every field can lie.
#include <stdio.h>
#include <zlib.h>

#include "base/crc.h"
#include "base/ctx.h"
#include "codec/bits.h"
#include "codec/zip.h"
#include "codec/zip_layout.h"
#include "heap.h"

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

static ig_bytes bytes_of(const ig_sink *s) {
  return (ig_bytes){s->at, s->n};
}

static ig_bytes text(const char *s) {
  return (ig_bytes){(const uint8_t *)s, strlen(s)};
}

// ---- writer and reader

static void write_three(ig_ctx *c, ig_sink *out) {
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, out, IG_ZIP_ALIGN);
  ig_bytes parts[] = {text("first "), text("and second part")};
  assert_int_equal(ig_zip_add(&w, "root/data/0", parts, 2), IG_OK);
  assert_int_equal(ig_zip_add(&w, "root/empty", NULL, 0), IG_OK);
  assert_int_equal(ig_zip_add_text(&w, "root/gr\xc3\xbc\xc3\x9f.json", "{}"), IG_OK);
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  ig_zip_writer_free(&w);
}

static void members_come_back_aligned_and_uncopied(void **state) {
  fixture *f = *state;
  write_three(f->c, &f->out);
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  assert_int_equal(z.n, 3);
  const ig_zip_entry *e = ig_zip_find(&z, "root/data/0");
  assert_non_null(e);
  ig_bytes b;
  assert_int_equal(ig_zip_read(f->c, e, &z.arena, &b), IG_OK);
  assert_int_equal(b.n, 21);
  assert_memory_equal(b.at, "first and second part", 21);
  assert_true(b.at >= f->out.at && b.at < f->out.at + f->out.n);
  for (size_t i = 0; i < z.n; i++) {
    assert_int_equal((z.entries[i].packed.at - f->out.at) % IG_ZIP_ALIGN, 0);
  }
  assert_non_null(ig_zip_find(&z, "root/gr\xc3\xbc\xc3\x9f.json"));
  assert_int_equal(ig_zip_find(&z, "root/empty")->size, 0);
  assert_null(ig_zip_find(&z, "root/none"));
  ig_zip_close(&z);
}

static void the_same_members_give_the_same_bytes(void **state) {
  fixture *f = *state;
  write_three(f->c, &f->out);
  ig_sink again = ig_sink_memory(f->c->alloc);
  write_three(f->c, &again);
  assert_int_equal(f->out.n, again.n);
  assert_memory_equal(f->out.at, again.at, again.n);
  ig_sink_drop(&again);
}

static void the_writer_refuses_bad_names(void **state) {
  fixture *f = *state;
  static const char *const names[][2] = {
      {"", "empty"},         {"/etc/passwd", "absolute"}, {"a/../b", "'..'"},    {"..", "'..'"},
      {"a\\b", "backslash"}, {"C:x", "drive letter"},     {"a\xff", "not UTF-8"}};
  ig_zip_writer w;
  ig_zip_writer_init(&w, f->c, &f->out, IG_ZIP_ALIGN);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(ig_zip_add_text(&w, names[i][0], "x"), IG_INVALID);
    test_error_has(f->c, names[i][1]);
  }
  assert_int_equal(ig_zip_add_text(&w, "a", "x"), IG_OK);
  assert_int_equal(ig_zip_add_text(&w, "a", "x"), IG_INVALID);
  test_error_has(f->c, "'a' is added twice");
  ig_zip_writer_free(&w);
}

static void many_members_need_zip64_and_have_a_limit(void **state) {
  fixture *f = *state;
  enum { MANY = 70000 };
  ig_zip_writer w;
  ig_zip_writer_init(&w, f->c, &f->out, 1);
  for (int i = 0; i < MANY; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "m%d", i);
    assert_int_equal(ig_zip_add_text(&w, name, name), IG_OK);
  }
  assert_int_equal(ig_zip_finish(&w), IG_OK);
  ig_zip_writer_free(&w);
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  assert_int_equal(z.n, MANY);
  assert_memory_equal(ig_zip_find(&z, "m69999")->packed.at, "m69999", 6);
  ig_zip_close(&z);
  ig_limits few = {.size = sizeof few, .max_entries = 1000, .max_inflated = 1000};
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), &few, &z), IG_SYNTAX);
  test_error_has(f->c, "70000 zip entries, the limit is 1000");
}

// ---- lies

// A member whose fields can be set one by one; fields left 0 are filled in truthfully.
typedef struct member {
  const char *name;
  const char *local_name;  // NULL: the same
  size_t name_n;           // 0: strlen
  ig_bytes data;
  unsigned method;
  unsigned local_method;
  unsigned flags;
  unsigned local_flags;
  bool wrong_crc;
  bool later;  // sizes 0 in the local header, flag 8
  bool zip64;  // sizes and offset through the extra field
  bool short_extra;
  int64_t size_delta;
  int64_t packed_delta;
  int64_t local_size_delta;
  int64_t offset_delta;
  uint64_t size;    // of a deflated member, unpacked
  uint32_t crc;     // of a deflated member
  unsigned mode;    // of Unix
  uint64_t offset;  // set by put_member
} member;

static void put16(ig_sink *s, unsigned v) {
  uint8_t b[2];
  ig_store16(b, (uint16_t)v);
  ig_sink_put(s, b, 2);
}
static void put32(ig_sink *s, uint64_t v) {
  uint8_t b[4];
  ig_store32(b, (uint32_t)v);
  ig_sink_put(s, b, 4);
}
static void put64(ig_sink *s, uint64_t v) {
  put32(s, v);
  put32(s, v >> 32);
}

static uint32_t crc_of(const member *m) {
  uint32_t crc = m->crc ? m->crc : ig_crc32(0, m->data.at, m->data.n);
  return m->wrong_crc ? crc ^ 1 : crc;
}
static uint64_t size_of(const member *m) {
  return (m->size ? m->size : m->data.n) + (uint64_t)m->size_delta;
}
static size_t name_size(const char *name, const member *m) {
  return m->name_n ? m->name_n : strlen(name);
}

static void put_member(ig_sink *s, member *m) {
  const char *name = m->local_name ? m->local_name : m->name;
  m->offset = s->total;
  put32(s, ZIP_LOCAL);
  put16(s, 20);
  put16(s, m->flags | m->local_flags | (m->later ? ZIP_FLAG_DESCRIPTOR : 0));
  put16(s, m->method + m->local_method);
  put32(s, 0);
  put32(s, m->later ? 0 : crc_of(m));
  put32(s, m->later ? 0 : m->data.n + (uint64_t)m->packed_delta);
  put32(s, m->later ? 0 : size_of(m) + (uint64_t)m->local_size_delta);
  put16(s, (unsigned)name_size(name, m));
  put16(s, 0);
  ig_sink_put(s, name, name_size(name, m));
  ig_sink_put(s, m->data.at, m->data.n);
}

static void put_directory(ig_sink *s, const member *m) {
  put32(s, ZIP_CENTRAL);
  put16(s, m->mode ? ZIP_UNIX << 8 | 20 : 20);
  put16(s, 20);
  put16(s, m->flags | (m->later ? ZIP_FLAG_DESCRIPTOR : 0));
  put16(s, m->method);
  put32(s, 0);
  put32(s, crc_of(m));
  put32(s, m->zip64 ? ZIP_MAX32 : m->data.n + (uint64_t)m->packed_delta);
  put32(s, m->zip64 ? ZIP_MAX32 : size_of(m));
  put16(s, (unsigned)name_size(m->name, m));
  put16(s, m->zip64 ? (m->short_extra ? 20 : 28) : 0);
  put16(s, 0);
  put32(s, 0);
  put32(s, (uint64_t)m->mode << 16);
  put32(s, m->zip64 ? ZIP_MAX32 : m->offset + (uint64_t)m->offset_delta);
  ig_sink_put(s, m->name, name_size(m->name, m));
  if (!m->zip64) return;
  put16(s, ZIP_EXTRA64);
  put16(s, m->short_extra ? 16 : 24);
  put64(s, size_of(m));
  put64(s, m->data.n + (uint64_t)m->packed_delta);
  if (!m->short_extra) put64(s, m->offset + (uint64_t)m->offset_delta);
}

static void put_end(ig_sink *s, size_t n, uint64_t dir) {
  uint64_t size = s->total - dir;
  put32(s, ZIP_END);
  put32(s, 0);
  put16(s, (unsigned)n);
  put16(s, (unsigned)n);
  put32(s, size);
  put32(s, dir);
  put16(s, 0);
}

static void build(ig_sink *s, member *m, size_t n) {
  ig_sink_drop(s);
  for (size_t i = 0; i < n; i++) put_member(s, &m[i]);
  uint64_t dir = s->total;
  for (size_t i = 0; i < n; i++) put_directory(s, &m[i]);
  put_end(s, n, dir);
}

static void refuse(fixture *f, const ig_limits *limits, const char *why) {
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), limits, &z), IG_SYNTAX);
  test_error_has(f->c, why);
}

static void refuse_members(fixture *f, member *m, size_t n, const char *why) {
  build(&f->out, m, n);
  refuse(f, NULL, why);
}

#define NAMED(...) (&(member){.data = text("hello"), .name = __VA_ARGS__}), 1
#define ONE(...) NAMED("a", __VA_ARGS__)

static void true_members_are_read(void **state) {
  fixture *f = *state;
  member m[] = {{.name = "a", .data = text("hello")},
                {.name = "b/", .data = text("")},
                {.name = "c", .data = text("later"), .later = true},
                {.name = "d", .data = text("large"), .zip64 = true}};
  build(&f->out, m, 4);
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  for (size_t i = 0; i < 4; i++) {
    ig_bytes b;
    assert_int_equal(ig_zip_read(f->c, ig_zip_find(&z, m[i].name), &z.arena, &b), IG_OK);
    assert_int_equal(b.n, m[i].data.n);
    assert_memory_equal(b.at, m[i].data.at, b.n);
  }
  ig_zip_close(&z);
}

static void names_that_leave_the_archive_are_refused(void **state) {
  fixture *f = *state;
  refuse_members(f, NAMED("/a"), "absolute");
  refuse_members(f, NAMED("../a"), "'..'");
  refuse_members(f, NAMED("a/.."), "'..'");
  refuse_members(f, NAMED("c:a"), "drive letter");
  refuse_members(f, NAMED("a\\b"), "backslash");
  refuse_members(f, NAMED("a\0b", .name_n = 3), "zero byte");
  refuse_members(f, NAMED(""), "empty");
  refuse_members(f, NAMED("\xc3("), "not UTF-8");
}

static void twins_are_refused(void **state) {
  fixture *f = *state;
  member same[] = {{.name = "a", .data = text("x")}, {.name = "a", .data = text("y")}};
  refuse_members(f, same, 2, "'a' occurs twice");
  member cased[] = {{.name = "a", .data = text("x")}, {.name = "A", .data = text("y")}};
  refuse_members(f, cased, 2, "differ only in case");
  ig_zip z;
  assert_int_equal(ig_zip_open_any_case(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  ig_zip_close(&z);
}

static void lying_members_are_refused(void **state) {
  fixture *f = *state;
  refuse_members(f, ONE(.local_name = "b"), "another name");
  refuse_members(f, ONE(.local_name = "ab"), "another name");
  refuse_members(f, ONE(.flags = ZIP_FLAG_ENCRYPTED), "encrypted");
  refuse_members(f, ONE(.flags = ZIP_FLAG_STRONG), "encrypted");
  refuse_members(f, ONE(.flags = ZIP_FLAG_PATCH), "patch");
  refuse_members(f, ONE(.local_flags = ZIP_FLAG_DESCRIPTOR), "disagree");
  refuse_members(f, ONE(.method = 12), "compression method 12");
  refuse_members(f, ONE(.local_method = 8), "disagree");
  refuse_members(f, ONE(.local_size_delta = 1), "disagree");
  refuse_members(f, ONE(.size_delta = 1, .later = true), "two sizes");
  refuse_members(f, ONE(.size_delta = 1000, .packed_delta = 1000), "runs over the end");
  refuse_members(f, ONE(.offset_delta = 1 << 20), "outside the file");
  refuse_members(f, ONE(.offset_delta = 1), "no local header");
  refuse_members(f, ONE(.zip64 = true, .offset_delta = -1), "outside the file");
  refuse_members(f, ONE(.zip64 = true, .offset_delta = INT64_MIN), "outside the file");
  refuse_members(f, ONE(.zip64 = true, .short_extra = true), "malformed extra");
  refuse_members(f, ONE(.method = 8, .size = 1 << 20), "more than deflate can");
  refuse_members(f, ONE(.mode = 0120777), "'a' is a symbolic link");
  refuse_members(f, ONE(.mode = 0020666), "'a' is not a regular file");
}

static void more_members_than_allowed_are_refused(void **state) {
  fixture *f = *state;
  member m[] = {{.name = "a", .data = text("x"), .mode = 0100644},
                {.name = "b/", .data = text(""), .mode = 0040755},
                {.name = "c", .data = text("z")}};
  build(&f->out, m, 3);
  ig_limits two = {.size = sizeof two, .max_entries = 2};
  refuse(f, &two, "3 zip entries, the limit is 2");
  two.max_entries = 3;
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), &two, &z), IG_OK);
  ig_zip_close(&z);
}

static void overlapping_members_are_refused(void **state) {
  fixture *f = *state;
  // The second member lies inside the data of the first.
  ig_sink inner = ig_sink_memory(f->c->alloc);
  member b = {.name = "b", .data = text("inner")};
  put_member(&inner, &b);
  member a = {.name = "a", .data = bytes_of(&inner)};
  put_member(&f->out, &a);
  uint64_t dir = f->out.total;
  b.offset = dir - a.data.n;
  put_directory(&f->out, &a);
  put_directory(&f->out, &b);
  put_end(&f->out, 2, dir);
  refuse(f, NULL, "'a' and 'b' overlap");
  ig_sink_drop(&inner);
}

static void broken_ends_are_refused(void **state) {
  fixture *f = *state;
  member m = {.name = "a", .data = text("hello")};
  refuse(f, NULL, "not a zip archive");
  build(&f->out, &m, 1);
  size_t n = f->out.n;
  f->out.n = n - 1;
  refuse(f, NULL, "not a zip archive");
  f->out.n = n;
  uint8_t *end = f->out.at + n - ZIP_END_SIZE;
  const struct {
    size_t at;
    uint16_t value;
    const char *why;
  } lies[] = {{4, 1, "several disks"}, {6, 1, "several disks"},      {8, 2, "several disks"},
              {12, 1, "does not end"}, {16, 0xFFFF, "does not end"}, {18, 1, "does not end"}};
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    uint16_t old = ig_load16(end + lies[i].at);
    ig_store16(end + lies[i].at, lies[i].value);
    refuse(f, NULL, lies[i].why);
    ig_store16(end + lies[i].at, old);
  }
  ig_store16(end + 8, 7);
  ig_store16(end + 10, 7);
  refuse(f, NULL, "7 zip entries cannot fit");
  ig_store16(end + 8, 0);
  ig_store16(end + 10, 0);
  refuse(f, NULL, "stray bytes");
}

static void broken_zip64_ends_are_refused(void **state) {
  fixture *f = *state;
  member m = {.name = "a", .data = text("hello")};
  put_member(&f->out, &m);
  uint64_t dir = f->out.total;
  put_directory(&f->out, &m);
  uint64_t end = f->out.total;
  put32(&f->out, ZIP_END64);
  put64(&f->out, 44);
  put32(&f->out, 0);
  put64(&f->out, 0);
  put64(&f->out, 1);
  put64(&f->out, 1);
  put64(&f->out, end - dir);
  put64(&f->out, dir);
  put32(&f->out, ZIP_LOCATOR64);
  put32(&f->out, 0);
  put64(&f->out, end);
  put32(&f->out, 1);
  put_end(&f->out, 1, dir);
  uint8_t *last = f->out.at + f->out.n - ZIP_END_SIZE;
  ig_store32(last + 12, (uint32_t)(end - dir));
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  ig_zip_close(&z);
  uint8_t *end64 = f->out.at + end;
  uint8_t *locator = end64 + ZIP_END64_SIZE;
  const struct {
    uint8_t *at;
    uint64_t value;
    const char *why;
  } lies[] = {{locator + 8, end + 1, "not where its locator says"},
              {locator + 8, UINT64_MAX, "not where its locator says"},
              {locator + 4, (end << 32) | 1, "several disks"},
              {end64 + 4, 45, "wrong length"},
              {end64 + 24, 2, "several disks"},
              {end64 + 40, 1, "disagree"},
              {end64 + 48, dir + 1, "disagree"}};
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    uint64_t old = ig_load64(lies[i].at);
    ig_store64(lies[i].at, lies[i].value);
    refuse(f, NULL, lies[i].why);
    ig_store64(lies[i].at, old);
  }
}

// ---- data

// NOLINTNEXTLINE(readability-non-const-parameter): zlib writes through it
static size_t deflated(const void *data, size_t n, uint8_t *out, size_t cap) {
  z_stream z = {
      .next_in = (Bytef *)data, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)cap};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t done = z.total_out;
  (void)deflateEnd(&z);
  return done;
}

static void read_only_member(fixture *f, member *m, ig_status want, const char *why) {
  build(&f->out, m, 1);
  ig_zip z;
  assert_int_equal(ig_zip_open(f->c, "t.zip", bytes_of(&f->out), NULL, &z), IG_OK);
  ig_bytes b;
  assert_int_equal(ig_zip_read(f->c, &z.entries[0], &z.arena, &b), want);
  if (want != IG_OK) test_error_has(f->c, why);
  if (want == IG_OK) assert_int_equal(b.n, m->size ? m->size : m->data.n);
  ig_zip_close(&z);
}

static void deflated_members_are_unpacked_and_checked(void **state) {
  fixture *f = *state;
  static uint8_t plain[5000];
  static uint8_t packed[6000];
  for (size_t i = 0; i < sizeof plain; i++) plain[i] = (uint8_t)(i * i >> 3);
  size_t n = deflated(plain, sizeof plain, packed, sizeof packed);
  member m = {.name = "a", .data = {packed, n}, .method = 8, .size = sizeof plain};
  m.crc = ig_crc32(0, plain, sizeof plain);
  read_only_member(f, &m, IG_OK, NULL);
  m.wrong_crc = true;
  read_only_member(f, &m, IG_SYNTAX, "checksum");
  m.wrong_crc = false;
  m.size = sizeof plain - 1;
  read_only_member(f, &m, IG_SYNTAX, "does not unpack to its 4999 bytes");
  m.size = sizeof plain + 1;
  read_only_member(f, &m, IG_SYNTAX, "does not unpack");
  m.size = sizeof plain;
  m.data.n = n - 1;
  read_only_member(f, &m, IG_SYNTAX, "does not unpack");
  m.data.n = n + 1;
  read_only_member(f, &m, IG_SYNTAX, "does not unpack");
}

static void deflated_members_have_a_budget(void **state) {
  fixture *f = *state;
  static const uint8_t zeros[3000];
  static uint8_t packed[300];
  size_t n = deflated(zeros, sizeof zeros, packed, sizeof packed);
  member m[2] = {{.name = "a", .data = {packed, n}, .method = 8, .size = sizeof zeros}};
  m[1] = m[0];
  m[1].name = "b";
  build(&f->out, m, 2);
  ig_limits limits = {.size = sizeof limits, .max_entries = 10, .max_inflated = 5999};
  refuse(f, &limits, "limit of 5999 bytes at 'b'");
}

static void damaged_stored_members_are_noticed(void **state) {
  fixture *f = *state;
  member m = {.name = "a", .data = text("hello"), .wrong_crc = true};
  read_only_member(f, &m, IG_SYNTAX, "checksum");
}

static ig_status session(ig_ctx *c) {
  static const uint8_t zeros[3000];
  static uint8_t packed[300];
  size_t n = deflated(zeros, sizeof zeros, packed, sizeof packed);
  ig_sink s = ig_sink_memory(c->alloc);
  ig_zip_writer w;
  ig_zip_writer_init(&w, c, &s, IG_ZIP_ALIGN);
  ig_status st = ig_zip_add_text(&w, "a", "hello");
  if (st == IG_OK) st = ig_zip_add_text(&w, "b", "world");
  if (st == IG_OK) st = ig_zip_finish(&w);
  ig_zip_writer_free(&w);
  ig_zip z;
  if (st == IG_OK) st = ig_zip_open(c, "t.zip", bytes_of(&s), NULL, &z);
  if (st == IG_OK) ig_zip_close(&z);
  member m = {.name = "a", .data = {packed, n}, .method = 8, .size = sizeof zeros};
  m.crc = ig_crc32(0, zeros, sizeof zeros);
  build(&s, &m, 1);
  if (st == IG_OK) st = ig_sink_close(c, &s);
  if (st == IG_OK) st = ig_zip_open(c, "t.zip", bytes_of(&s), NULL, &z);
  if (st == IG_OK) {
    ig_bytes b;
    st = ig_zip_read(c, &z.entries[0], &z.arena, &b);
    ig_zip_close(&z);
  }
  ig_sink_drop(&s);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(members_come_back_aligned_and_uncopied),
      TEST(the_same_members_give_the_same_bytes),
      TEST(the_writer_refuses_bad_names),
      TEST(many_members_need_zip64_and_have_a_limit),
      TEST(true_members_are_read),
      TEST(names_that_leave_the_archive_are_refused),
      TEST(twins_are_refused),
      TEST(lying_members_are_refused),
      TEST(more_members_than_allowed_are_refused),
      TEST(overlapping_members_are_refused),
      TEST(broken_ends_are_refused),
      TEST(broken_zip64_ends_are_refused),
      TEST(deflated_members_are_unpacked_and_checked),
      TEST(deflated_members_have_a_budget),
      TEST(damaged_stored_members_are_noticed),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
