// SPDX-License-Identifier: Apache-2.0
// Parsing ONNX models: what is kept, and what is refused with which message.
#define _GNU_SOURCE
#include "onnx/proto_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/proto.h"

typedef struct model {
  ig_proto_writer w;
  size_t graph;
} model;

static model begin(ig_ctx *c) {
  model m = {.w = ig_proto_writer_make(c->alloc)};
  ig_proto_put_int(&m.w, 1, 8);
  size_t opset = ig_proto_open(&m.w, 8);
  ig_proto_put_int(&m.w, 2, 18);
  ig_proto_close(&m.w, opset);
  m.graph = ig_proto_open(&m.w, 7);
  ig_proto_put_text(&m.w, 2, "main");
  return m;
}

static void named(model *m, uint32_t field, const char *name) {
  size_t at = ig_proto_open(&m->w, field);
  ig_proto_put_text(&m->w, 1, name);
  ig_proto_close(&m->w, at);
}

static void node(model *m, const char *op, const char *in, const char *out) {
  size_t at = ig_proto_open(&m->w, 1);
  ig_proto_put_text(&m->w, 1, in);
  ig_proto_put_text(&m->w, 2, out);
  ig_proto_put_text(&m->w, 4, op);
  ig_proto_close(&m->w, at);
}

// Closes the graph, parses; the text of the error, or "" (then the model is in *out).
static const char *finish(ig_ctx *c, model *m, const char *folder, ig_onnx_model **out) {
  ig_proto_close(&m->w, m->graph);
  ig_sink sink = ig_sink_memory(c->alloc);
  assert_int_equal(ig_proto_write(c, &m->w, &sink), IG_OK);
  ig_proto_writer_free(&m->w);
  *out = NULL;
  static uint8_t room[4096];
  assert_true(sink.n <= sizeof room);
  memcpy(room, sink.at, sink.n);
  ig_status st = ig_onnx_parse(c, "m.onnx", room, sink.n, folder, NULL, out);
  assert_int_equal(st, ig_ctx_status(c));
  ig_sink_drop(&sink);
  return ig_ctx_error(c);
}

static void expect_refusal(void (*build)(model *m), const char *words) {
  ig_ctx *c = NULL;
  ig_onnx_model *parsed = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  model m = begin(c);
  build(&m);
  const char *text = finish(c, &m, NULL, &parsed);
  if (!strstr(text, words)) fail_msg("found '%s', expected '%s'", text, words);
  assert_null(parsed);
  ig_ctx_free(c);
}

static void test_slots_and_drops(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  ig_onnx_model *p = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  model m = begin(c);
  named(&m, 11, "x");
  node(&m, "Relu", "x", "a");
  node(&m, "Neg", "a", "b");
  node(&m, "Abs", "b", "y");
  named(&m, 12, "y");
  assert_string_equal(finish(c, &m, NULL, &p), "");
  assert_int_equal(p->graph->nslots, 4);
  assert_int_equal(p->graph->nodes[1].in[0].slot, p->graph->nodes[0].out[0]);
  assert_int_equal(p->graph->nodes[1].ndrops, 1);  // a is read for the last time
  assert_int_equal(p->graph->nodes[1].drops[0], p->graph->nodes[0].out[0]);
  assert_int_equal(p->graph->nodes[2].ndrops, 1);  // b, but not y
  assert_int_equal(ig_onnx_inputs(p), 1);
  assert_int_equal(ig_om_opset_version(p->opsets, p->nopsets, ""), 18);
  ig_onnx_free(p);
  ig_ctx_free(c);
}

static void build_cycle(model *m) {
  node(m, "Relu", "b", "a");
  node(m, "Neg", "a", "b");
}
static void build_missing(model *m) {
  node(m, "Relu", "nowhere", "a");
}
static void build_twice(model *m) {
  named(m, 11, "x");
  node(m, "Relu", "x", "a");
  node(m, "Neg", "x", "a");
}
static void build_no_output(model *m) {
  named(m, 12, "y");
}
static void build_reference(model *m) {
  size_t at = ig_proto_open(&m->w, 1);
  ig_proto_put_text(&m->w, 2, "y");
  ig_proto_put_text(&m->w, 4, "Constant");
  size_t attr = ig_proto_open(&m->w, 5);
  ig_proto_put_text(&m->w, 1, "value");
  ig_proto_put_text(&m->w, 21, "outer");
  ig_proto_put_int(&m->w, 20, 4);
  ig_proto_close(&m->w, attr);
  ig_proto_close(&m->w, at);
}

static void tensor(model *m, const int64_t *dims, size_t n, int type, const void *raw,
                   size_t nraw) {
  size_t at = ig_proto_open(&m->w, 5);
  ig_proto_put_packed_ints(&m->w, 1, dims, n);
  ig_proto_put_int(&m->w, 2, type);
  ig_proto_put_text(&m->w, 8, "w");
  if (raw) ig_proto_put_blob(&m->w, 9, raw, nraw);
  ig_proto_close(&m->w, at);
}
static void build_short(model *m) {
  tensor(m, (int64_t[]){2, 2}, 2, 1, "0123", 4);
}
static void build_negative(model *m) {
  tensor(m, (int64_t[]){-1}, 1, 1, "", 0);
}
static void build_huge(model *m) {
  tensor(m, (int64_t[]){INT64_MAX, 4}, 2, 1, "", 0);
}
static void build_type(model *m) {
  tensor(m, (int64_t[]){1}, 1, 99, "0", 1);
}

static void external(model *m, const char *location, const char *key) {
  size_t at = ig_proto_open(&m->w, 5);
  ig_proto_put_packed_ints(&m->w, 1, (int64_t[]){1}, 1);
  ig_proto_put_int(&m->w, 2, 1);
  ig_proto_put_text(&m->w, 8, "w");
  size_t entry = ig_proto_open(&m->w, 13);
  ig_proto_put_text(&m->w, 1, key);
  ig_proto_put_text(&m->w, 2, location);
  ig_proto_close(&m->w, entry);
  ig_proto_put_int(&m->w, 14, 1);
  ig_proto_close(&m->w, at);
}
static void build_up(model *m) {
  external(m, "a/../../secret", "location");
}
static void build_absolute(model *m) {
  external(m, "/etc/passwd", "location");
}
static void build_key(model *m) {
  external(m, "x", "url");
}
static void build_no_folder(model *m) {
  external(m, "weights.bin", "location");
}

static void test_refusals(void **state) {
  (void)state;
  expect_refusal(build_cycle, "not in order or form a circle");
  expect_refusal(build_missing, "node 0 (Relu) reads 'nowhere', which nothing defines");
  expect_refusal(build_twice, "value 'a' is defined twice");
  expect_refusal(build_no_output, "nothing defines its output 'y'");
  expect_refusal(build_reference, "refers to 'outer' of a function, but stands in none");
  expect_refusal(build_short, "found 4 bytes, expected 16 for 4 elements of float32");
  expect_refusal(build_negative, "a dimension is negative");
  expect_refusal(build_huge, "its number of elements overflows");
  expect_refusal(build_type, "data_type 99 is not known");
  expect_refusal(build_up, "expected a path below the model's folder, found 'a/../../secret'");
  expect_refusal(build_absolute, "expected a path below the model's folder, found '/etc/passwd'");
  expect_refusal(build_key, "expected location, offset, length or checksum, found 'url'");
  expect_refusal(build_no_folder, "was not opened from a folder");
}

// Files beside the model: a plain one is mapped, links are refused.
static void test_external(void **state) {
  (void)state;
  char folder[] = "/tmp/ingot_onnx_XXXXXX";
  char path[128];
  char other[128];
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/w.bin", folder);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  float one = 1;
  assert_int_equal(fwrite("\0\0\x80\x3f", sizeof one, 1, f), 1);
  assert_int_equal(fclose(f), 0);
  static const struct {
    const char *location;
    const char *words;
  } cases[] = {{"w.bin", ""}, {"soft.bin", "symbolic link"}, {"none.bin", "No such file"}};
  (void)snprintf(other, sizeof other, "%s/soft.bin", folder);
  assert_int_equal(symlink("w.bin", other), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ig_ctx *c = NULL;
    ig_onnx_model *p = NULL;
    assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
    model m = begin(c);
    external(&m, cases[i].location, "location");
    const char *text = finish(c, &m, folder, &p);
    if (!strstr(text, cases[i].words)) fail_msg("found '%s'", text);
    assert_int_equal(p != NULL, i == 0);
    if (p) assert_memory_equal(p->graph->inits[0]->raw.at, &one, sizeof one);
    ig_onnx_free(p);
    ig_ctx_free(c);
  }
  (void)unlink(other);
  (void)snprintf(other, sizeof other, "%s/hard.bin", folder);
  assert_int_equal(link(path, other), 0);
  ig_ctx *c = NULL;
  ig_onnx_model *p = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  model m = begin(c);
  external(&m, "hard.bin", "location");
  assert_non_null(strstr(finish(c, &m, folder, &p), "more than one hard link"));
  ig_ctx_free(c);
  (void)unlink(other);
  (void)unlink(path);
  (void)rmdir(folder);
}

// An attribute that declares a list of integers and holds a graph besides has no graphs.
static void test_attribute_of_two_types(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  ig_onnx_model *p = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  model m = begin(c);
  size_t at = ig_proto_open(&m.w, 1);
  ig_proto_put_text(&m.w, 2, "y");
  ig_proto_put_text(&m.w, 4, "Constant");
  size_t attr = ig_proto_open(&m.w, 5);
  ig_proto_put_text(&m.w, 1, "value_ints");
  for (int i = 0; i < 3; i++) ig_proto_put_int(&m.w, 8, i);
  size_t graph = ig_proto_open(&m.w, 6);
  ig_proto_put_text(&m.w, 2, "body");
  ig_proto_close(&m.w, graph);
  ig_proto_put_int(&m.w, 20, 7);
  ig_proto_close(&m.w, attr);
  ig_proto_close(&m.w, at);
  named(&m, 12, "y");
  assert_string_equal(finish(c, &m, NULL, &p), "");
  const ig_om_attr *a = &p->graph->nodes[0].attrs[0];
  assert_int_equal(a->n, 3);
  assert_int_equal(a->ints[2], 2);
  assert_null(a->graphs);
  assert_true(a->mixed);
  ig_onnx_free(p);
  ig_ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slots_and_drops), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_attribute_of_two_types), cmocka_unit_test(test_external)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
