// SPDX-License-Identifier: Apache-2.0
// Protobuf wire format: known bytes, round trips, packed and unpacked numbers, malformed messages.
#include "codec/proto.h"
#include "base/ctx.h"
#include "heap.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  ig_proto_writer w;
  ig_sink out;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  f->w = ig_proto_writer_make(f->c->alloc);
  f->out = ig_sink_memory(f->c->alloc);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_proto_writer_free(&f->w);
  ig_sink_drop(&f->out);
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static void the_bytes_are_those_of_the_specification(void **state) {
  fixture *f = *state;
  ig_proto_put_int(&f->w, 1, 150);
  ig_proto_put_text(&f->w, 2, "testing");
  size_t m = ig_proto_open(&f->w, 3);
  ig_proto_put_int(&f->w, 1, 150);
  ig_proto_close(&f->w, m);
  ig_proto_put_packed_ints(&f->w, 4, (const int64_t[]){3, 270, 86942}, 3);
  ig_proto_put_float(&f->w, 5, 1.0f);
  ig_proto_put_int(&f->w, 16, -1);
  static const uint8_t want[] =
      "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x22\x06\x03\x8e\x02\x9e\xa7\x05\x2d\0\0\x80"
      "\x3f"
      "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  assert_int_equal(ig_proto_write(f->c, &f->w, &f->out), IG_OK);
  assert_int_equal(f->out.n, sizeof want - 1);
  assert_int_equal(f->w.total, sizeof want - 1);
  assert_memory_equal(f->out.at, want, sizeof want - 1);
}

static void nested_messages_and_borrowed_bytes_come_back(void **state) {
  fixture *f = *state;
  static uint8_t blob[300] = {1, 2, 3};
  size_t a = ig_proto_open(&f->w, 7);
  ig_proto_put_text(&f->w, 1, "outer");
  size_t b = ig_proto_open(&f->w, 1);
  ig_proto_put_borrowed(&f->w, 9, (ig_bytes){blob, sizeof blob});
  size_t empty = ig_proto_open(&f->w, 2);
  ig_proto_close(&f->w, empty);
  ig_proto_close(&f->w, b);
  ig_proto_put_packed_floats(&f->w, 4, (const float[]){1.5f, -2}, 2);
  ig_proto_close(&f->w, a);
  assert_int_equal(ig_proto_write(f->c, &f->w, &f->out), IG_OK);

  ig_arena arena = ig_arena_make(f->c->alloc);
  ig_proto top = ig_proto_make(f->c, "m", (ig_bytes){f->out.at, f->out.n});
  ig_proto_field field;
  assert_true(ig_proto_next(&top, &field));
  assert_int_equal(field.number, 7);
  ig_proto outer = ig_proto_message(&top, &field);
  assert_true(ig_proto_next(&outer, &field));
  assert_string_equal(ig_proto_text(&outer, &field, &arena), "outer");
  assert_true(ig_proto_next(&outer, &field));
  ig_proto inner = ig_proto_message(&outer, &field);
  assert_true(ig_proto_next(&inner, &field));
  ig_bytes data = ig_proto_blob(&inner, &field);
  assert_int_equal(data.n, sizeof blob);
  assert_memory_equal(data.at, blob, sizeof blob);
  assert_true(ig_proto_next(&inner, &field));
  assert_int_equal(field.bytes.n, 0);
  assert_false(ig_proto_next(&inner, &field));
  assert_true(ig_proto_next(&outer, &field));
  ig_proto_floats floats = {0};
  assert_int_equal(ig_proto_add_floats(&outer, &field, &floats), IG_OK);
  assert_int_equal(floats.n, 2);
  assert_true(floats.at[1] == -2);
  assert_false(ig_proto_next(&outer, &field));
  assert_false(ig_proto_next(&top, &field));
  assert_int_equal(ig_ctx_status(f->c), IG_OK);
  ig_vec_free(f->c->alloc, &floats);
  ig_arena_free(&arena);
}

static void numbers_are_taken_packed_or_not(void **state) {
  fixture *f = *state;
  static const uint8_t in[] =
      "\x08\x05\x0a\x02\x06\x07\x11\0\0\0\0\0\0\xf0\x3f\x12\x08\0\0\0\0\0\0\0\x40\x1d\0\0\x80\x3f";
  ig_proto p = ig_proto_make(f->c, "m", (ig_bytes){in, sizeof in - 1});
  ig_proto_field field;
  ig_proto_ints ints = {0};
  ig_proto_doubles doubles = {0};
  ig_proto_floats floats = {0};
  while (ig_proto_next(&p, &field)) {
    if (field.number == 1) assert_int_equal(ig_proto_add_ints(&p, &field, &ints), IG_OK);
    if (field.number == 2) assert_int_equal(ig_proto_add_doubles(&p, &field, &doubles), IG_OK);
    if (field.number == 3) assert_int_equal(ig_proto_add_floats(&p, &field, &floats), IG_OK);
  }
  assert_int_equal(ig_ctx_status(f->c), IG_OK);
  assert_int_equal(ints.n, 3);
  assert_true(ints.at && ints.at[2] == 7);
  assert_int_equal(doubles.n, 2);
  assert_true(doubles.at && doubles.at[0] == 1 && doubles.at[1] == 2);
  assert_true(floats.n == 1 && floats.at && floats.at[0] == 1);
  ig_vec_free(f->c->alloc, &ints);
  ig_vec_free(f->c->alloc, &doubles);
  ig_vec_free(f->c->alloc, &floats);
}

static void read_all(ig_proto *p) {
  ig_proto_field field;
  while (ig_proto_next(p, &field)) {
    if (field.number == 1) {
      ig_proto sub = ig_proto_message(p, &field);
      read_all(&sub);
    }
    if (field.number == 2) (void)ig_proto_int(p, &field);
    if (field.number == 3) (void)ig_proto_double(p, &field);
    ig_arena arena = ig_arena_make(p->c->alloc);
    if (field.number == 4) (void)ig_proto_text(p, &field, &arena);
    ig_arena_free(&arena);
    if (field.number == 5) {
      ig_proto_floats v = {0};
      (void)ig_proto_add_floats(p, &field, &v);
      ig_vec_free(p->c->alloc, &v);
    }
    if (field.number == 6) {
      ig_proto_ints v = {0};
      (void)ig_proto_add_ints(p, &field, &v);
      ig_vec_free(p->c->alloc, &v);
    }
  }
}

static void malformed_messages_are_refused(void **state) {
  fixture *f = *state;
#define CASE(bytes, why) \
  { {(const uint8_t *)(bytes), sizeof(bytes) - 1}, why }
  static const struct {
    ig_bytes in;
    const char *why;
  } cases[] = {
      CASE("\x08", "byte 1: number cut off"),
      CASE("\x80", "byte 0: number cut off"),
      CASE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "more than 64 bits"),
      CASE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than 64 bits"),
      CASE("\x00\x01", "field number out of range"),
      CASE("\xf8\xff\xff\xff\xff\x01\x01", "field number out of range"),
      CASE("\x22\x05"
           "abc",
           "runs over the end"),
      CASE("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "runs over the end"),
      CASE("\x19\x01\x02", "runs over the end"),
      CASE("\x1d\x01\x02", "runs over the end"),
      CASE("\x0b\x0c", "groups"),
      CASE("\x0f", "unknown wire type"),
      CASE("\x12\x01\x01", "field 2 is written as a length, expected a varint"),
      CASE("\x18\x01", "field 3 is written as a varint, expected 8 bytes"),
      CASE("\x08\x01", "field 1 is written as a varint, expected a length"),
      CASE("\x22\x02\xc3\x28", "not UTF-8"),
      CASE("\x22\x01\x00", "zero byte"),
      CASE("\x2a\x03"
           "abc",
           "4 does not divide"),
      CASE("\x32\x02\x01\x80", "number cut off"),
      CASE("\x0a\x02\x12\x05", "byte 4: field runs over"),
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ig_proto p = ig_proto_make(f->c, "m", cases[i].in);
    read_all(&p);
    assert_int_equal(ig_ctx_status(f->c), IG_SYNTAX);
    test_error_has(f->c, cases[i].why);
  }
}

static void deep_messages_are_refused(void **state) {
  fixture *f = *state;
  size_t marks[IG_PROTO_MAX_DEPTH + 1];
  for (size_t n = IG_PROTO_MAX_DEPTH; n <= IG_PROTO_MAX_DEPTH + 1; n++) {
    ig_proto_writer_free(&f->w);
    ig_sink_drop(&f->out);
    for (size_t i = 0; i < n; i++) marks[i] = ig_proto_open(&f->w, 1);
    for (size_t i = n; i-- > 0;) ig_proto_close(&f->w, marks[i]);
    assert_int_equal(ig_proto_write(f->c, &f->w, &f->out), IG_OK);
    ig_proto p = ig_proto_make(f->c, "m", (ig_bytes){f->out.at, f->out.n});
    read_all(&p);
    assert_int_equal(ig_ctx_status(f->c), n <= IG_PROTO_MAX_DEPTH ? IG_OK : IG_SYNTAX);
    if (n > IG_PROTO_MAX_DEPTH) test_error_has(f->c, "nested too deeply");
  }
}

static void limits_hold_over_all_messages(void **state) {
  fixture *f = *state;
  size_t outer = ig_proto_open(&f->w, 1);
  size_t inner = ig_proto_open(&f->w, 1);
  ig_proto_put_text(&f->w, 1, "");
  ig_proto_close(&f->w, inner);
  ig_proto_close(&f->w, outer);
  assert_int_equal(ig_proto_write(f->c, &f->w, &f->out), IG_OK);
  ig_bytes in = {f->out.at, f->out.n};
  ig_limits limits = {.size = sizeof limits, .max_nodes = 2};
  ig_proto_budget budget;
  ig_proto p = ig_proto_make_within(f->c, "m", in, &limits, &budget);
  read_all(&p);
  test_error_has(f->c, "m: byte 4: more than the limit of 2 fields");
  limits = (ig_limits){.size = sizeof limits, .max_depth = 1};
  p = ig_proto_make_within(f->c, "m", in, &limits, &budget);
  read_all(&p);
  test_error_has(f->c, "nested too deeply");
  p = ig_proto_make_within(f->c, "m", in, NULL, &budget);
  read_all(&p);
  assert_int_equal(ig_ctx_status(f->c), IG_OK);
}

static ig_status session(ig_ctx *c) {
  ig_proto_writer w = ig_proto_writer_make(c->alloc);
  ig_sink s = ig_sink_memory(c->alloc);
  for (int i = 0; i < 20; i++) {
    size_t m = ig_proto_open(&w, 7);
    ig_proto_put_text(&w, 1, "text");
    ig_proto_put_borrowed(&w, 2, (ig_bytes){(const uint8_t *)"blob", 4});
    ig_proto_close(&w, m);
  }
  ig_status st = ig_proto_write(c, &w, &s);
  if (st == IG_OK) st = ig_sink_close(c, &s);
  if (st == IG_OK) {
    ig_proto p = ig_proto_make(c, "m", (ig_bytes){s.at, s.n});
    ig_arena arena = ig_arena_make(c->alloc);
    ig_proto_field field;
    while (ig_proto_next(&p, &field)) {
      ig_proto sub = ig_proto_message(&p, &field);
      while (ig_proto_next(&sub, &field)) (void)ig_proto_text(&sub, &field, &arena);
    }
    ig_arena_free(&arena);
    st = ig_ctx_status(c);
  }
  ig_sink_drop(&s);
  ig_proto_writer_free(&w);
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_bytes_are_those_of_the_specification),
      TEST(nested_messages_and_borrowed_bytes_come_back),
      TEST(numbers_are_taken_packed_or_not),
      TEST(malformed_messages_are_refused),
      TEST(deep_messages_are_refused),
      TEST(limits_hold_over_all_messages),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
