// SPDX-License-Identifier: Apache-2.0
// Strings in and out of ONNX models: by ig_onnx_run and by sessions, with sizes held against the
// declared type and results with their dimensions.
#include "base/file.h"
#include "codec/proto.h"
#include "ingot/diff.h"
#include "ingot/model.h"
#include "ingot/onnx.h"
#include "ingot/texts.h"
#include "tensor/tensor.h"

#include "fixture.h"  // names a variable that inline functions would hide

// Fields of onnx.proto.
enum { STRING = 8, INT64 = 7 };

static void put_port(ig_proto_writer *w, uint32_t field, const char *name, int elem,
                     const char *const *dims, size_t n) {
  size_t info = ig_proto_open(w, field);
  ig_proto_put_text(w, 1, name);
  size_t type = ig_proto_open(w, 2);
  size_t tensor = ig_proto_open(w, 1);
  ig_proto_put_int(w, 1, elem);
  size_t shape = ig_proto_open(w, 2);
  for (size_t i = 0; i < n; i++) {
    size_t dim = ig_proto_open(w, 1);
    bool number = dims[i][0] >= '0' && dims[i][0] <= '9';
    if (number) ig_proto_put_int(w, 1, dims[i][0] - '0');
    if (!number) ig_proto_put_text(w, 2, dims[i]);
    ig_proto_close(w, dim);
  }
  ig_proto_close(w, shape);
  ig_proto_close(w, tensor);
  ig_proto_close(w, type);
  ig_proto_close(w, info);
}

// y = Gather(s, i), rows of s: string[n, 2] by i: int64[k].
static ig_sink write_model(void) {
  ig_proto_writer w = ig_proto_writer_make(c->alloc);
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_proto_put_int(&w, 1, 8);
  size_t graph = ig_proto_open(&w, 7);
  size_t node = ig_proto_open(&w, 1);
  ig_proto_put_text(&w, 1, "s");
  ig_proto_put_text(&w, 1, "i");
  ig_proto_put_text(&w, 2, "y");
  ig_proto_put_text(&w, 4, "Gather");
  ig_proto_close(&w, node);
  ig_proto_put_text(&w, 2, "g");
  put_port(&w, 11, "s", STRING, (const char *[]){"n", "2"}, 2);
  put_port(&w, 11, "i", INT64, (const char *[]){"k"}, 1);
  put_port(&w, 12, "y", STRING, (const char *[]){"k", "2"}, 2);
  ig_proto_close(&w, graph);
  size_t opset = ig_proto_open(&w, 8);
  ig_proto_put_int(&w, 2, 18);
  ig_proto_close(&w, opset);
  assert_int_equal(ig_proto_write(c, &w, &sink), IG_OK);
  ig_proto_writer_free(&w);
  return sink;
}

static ig_tensor *rows(int64_t a, int64_t b, int64_t d) {
  ig_tensor *t = ig_tensor_empty(c, IG_I64, (int64_t[]){3}, 1);
  memcpy(ig_tensor_data(t), (int64_t[]){a, b, d}, 24);
  return t;
}

static ig_value first[] = {{.kind = IG_KIND_STR, .str = "a"},
                           {.kind = IG_KIND_STR, .str = "\xc3\xa9"}};
static ig_value second[] = {{.kind = IG_KIND_STR, .str = ""}, {.kind = IG_KIND_STR, .str = "d e"}};

static void is_rows_1_0_1(const ig_value *v) {
  ig_value want[] = {ig_of_list(second, 2), ig_of_list(first, 2), ig_of_list(second, 2)};
  ig_value all = ig_of_list(want, 3);
  assert_true(ig_texts_equal(v, &all));
}

static void models_take_and_give_texts(void **state) {
  (void)state;
  ig_sink file = write_model();
  ig_onnx_model *m = NULL;
  assert_int_equal(ig_onnx_parse(c, "m", file.at, file.n, NULL, NULL, &m), IG_OK);
  ig_scope scope = ig_scope_open(c);
  ig_value both[] = {ig_of_list(first, 2), ig_of_list(second, 2)};
  ig_value matrix = ig_of_list(both, 2);
  ig_value flat = ig_of_list(first, 2);
  ig_value out = ig_none();
  ig_weight in[] = {{"s", NULL, &matrix}, {"i", rows(1, 0, 1), NULL}};
  assert_int_equal(ig_onnx_run(c, m, in, 2, &out), IG_OK);
  is_rows_1_0_1(&out);

  in[0].texts = &flat;
  assert_int_equal(ig_onnx_run(c, m, in, 2, &out), IG_MISMATCH);
  test_error_has(c, "input 's': found 1 dimensions, expected 2");
  ig_value wide[] = {ig_of_list(first, 1), ig_of_list(second, 1)};
  ig_value narrow = ig_of_list(wide, 2);
  in[0].texts = &narrow;
  assert_int_equal(ig_onnx_run(c, m, in, 2, &out), IG_MISMATCH);
  test_error_has(c, "input 's': dimension 1: found 1, expected 2");
  wide[1] = ig_of_list(second, 2);
  assert_int_equal(ig_onnx_run(c, m, in, 2, &out), IG_BAD_TYPE);
  test_error_has(c, "input 's': expected a text or lists of texts of equal lengths");
  ig_weight numbers[] = {{"s", rows(1, 2, 3), NULL}, {"i", rows(1, 0, 1), NULL}};
  assert_int_equal(ig_onnx_run(c, m, numbers, 2, &out), IG_BAD_TYPE);
  test_error_has(c, "input 's': found int64, expected string");
  ig_weight texts[] = {{"s", NULL, &matrix}, {"i", NULL, &flat}};
  assert_int_equal(ig_onnx_run(c, m, texts, 2, &out), IG_BAD_TYPE);
  test_error_has(c, "input 'i': found string, expected int64");
  ig_weight nothing[] = {{"s", NULL, NULL}, {"i", rows(1, 0, 1), NULL}};
  assert_int_equal(ig_onnx_run(c, m, nothing, 2, &out), IG_INVALID);
  test_error_has(c, "input 's' has neither a tensor nor texts");
  ig_scope_close(c, scope);
  ig_onnx_free(m);
  ig_sink_drop(&file);
}

static ig_session *open_session(const ig_sink *file, ig_model **m) {
  ig_session *s = NULL;
  assert_int_equal(ig_model_open_bytes(c, "m", file->at, file->n, NULL, m), IG_OK);
  assert_int_equal(ig_session_create(c, *m, &s), IG_OK);
  return s;
}

static void sessions_take_and_give_texts(void **state) {
  (void)state;
  ig_sink file = write_model();
  ig_model *m = NULL;
  ig_session *s = open_session(&file, &m);
  const ig_model_port *const *ports = NULL;
  assert_int_equal(ig_model_inputs(m, &ports), 2);
  assert_true(ports[0]->texts && ports[0]->kind == IG_KIND_STR && ports[0]->ndim == 2);
  assert_true(ig_port_is_array(ports[0]) && !ports[1]->texts);
  assert_int_equal(ports[0]->dims[1]->value, 2);

  ig_scope scope = ig_scope_open(c);
  ig_value both[] = {ig_of_list(first, 2), ig_of_list(second, 2)};
  ig_value matrix = ig_of_list(both, 2);
  ig_tensor *index = rows(1, 0, 1);
  assert_int_equal(ig_session_run(s), IG_INVALID);
  test_error_has(c, "input 's' was not given");
  assert_int_equal(ig_session_set(s, "s", index), IG_BAD_TYPE);
  test_error_has(c, "input 's' is an array of texts");
  assert_int_equal(ig_session_set_value(s, "s", &both[0]), IG_MISMATCH);
  test_error_has(c, "input 's': found 1 dimensions, expected 2");
  assert_int_equal(ig_session_set_value(s, "s", &first[0]), IG_MISMATCH);
  ig_ctx_clear(c);
  ig_value number = ig_of_i64(1);
  assert_int_equal(ig_session_set_value(s, "s", &number), IG_BAD_TYPE);
  ig_ctx_clear(c);

  char text[] = "a";  // is copied
  ig_value own[] = {ig_of_str(text), first[1]};
  both[0] = ig_of_list(own, 2);
  assert_int_equal(ig_session_set_value(s, "s", &matrix), IG_OK);
  text[0] = 'X';
  assert_int_equal(ig_session_set(s, "i", index), IG_OK);
  assert_int_equal(ig_session_run(s), IG_OK);
  is_rows_1_0_1(ig_session_output_at(s, 0));
  assert_null(ig_session_output(s, NULL));  // no tensor

  ig_model *again = NULL;
  ig_session *t = open_session(&file, &again);
  assert_int_equal(ig_session_copy_inputs(s, t), IG_OK);
  ig_session_free(s);
  ig_model_free(m);
  assert_int_equal(ig_session_run(t), IG_OK);
  ig_scope_close(c, scope);
  is_rows_1_0_1(ig_session_output_at(t, 0));
  ig_session_free(t);
  ig_model_free(again);
  ig_sink_drop(&file);
}

// Lists of nothing end at the first 0; the declared sizes tell the rest.
static void empty_arrays_fit_every_rank(void **state) {
  (void)state;
  ig_sink file = write_model();
  ig_model *m = NULL;
  ig_session *s = open_session(&file, &m);
  ig_scope scope = ig_scope_open(c);
  ig_value none = ig_of_list(NULL, 0);
  ig_tensor *nobody = ig_tensor_empty(c, IG_I64, (int64_t[]){0}, 1);
  assert_int_equal(ig_session_set_value(s, "s", &none), IG_OK);
  assert_int_equal(ig_session_set(s, "i", nobody), IG_OK);
  if (ig_session_run(s) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  const ig_value *out = ig_session_output_at(s, 0);
  assert_true(out->kind == IG_KIND_LIST && out->list.n == 0);
  ig_scope_close(c, scope);
  ig_session_free(s);
  ig_model_free(m);
  ig_sink_drop(&file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(models_take_and_give_texts),
      TEST(sessions_take_and_give_texts),
      TEST(empty_arrays_fit_every_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
