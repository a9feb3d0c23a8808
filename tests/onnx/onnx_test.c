// SPDX-License-Identifier: Apache-2.0
// ONNX writer: the model of a small CNN read back by our own wire reader, refusals with the user's
// line, the same bytes every time. Whether others accept it is asked by tests/python/test_files.py.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "codec/proto.h"
#include "heap.h"
#include "ingot/file.h"
#include "onnx/writer.h"
#include "sample.h"

static char folder[64];

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
  char path[128];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  strcpy(folder, "/tmp/ingot-onnx-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(f->path, sizeof f->path, "%s/saved.onnx", folder);
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

static const char *golden(const char *name) {
  static char path[512];
  (void)snprintf(path, sizeof path, "%s/pt2/data/%s.pt2", TEST_DATA, name);
  return path;
}

static ig_status convert(ig_ctx *c, const char *from, const char *to) {
  ig_program *p = NULL;
  ig_status st = ig_program_load(c, golden(from), &p);
  if (st == IG_OK) st = ig_program_save_onnx(c, p, to);
  ig_program_free(p);
  return st;
}

// ---- reading back

enum { GRAPH = 7, NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12 };

// Appends one text field of a message, and a space.
static void add_text(ig_proto message, uint32_t field, ig_str *out, ig_arena *arena) {
  ig_proto_field f;
  while (ig_proto_next(&message, &f)) {
    if (f.number == field) ig_str_add(out, "%s ", ig_proto_text(&message, &f, arena));
  }
}

// The texts `field` of all messages `kind` of the graph, in order.
static void list(fixture *f, uint32_t kind, uint32_t field, const char *want) {
  ig_file *file = NULL;
  assert_int_equal(ig_file_map(f->c, f->path, &file), IG_OK);
  ig_str out = ig_str_make(f->c->alloc);
  ig_arena arena = ig_arena_make(f->c->alloc);
  ig_proto model = ig_proto_make(f->c, "model", file->bytes);
  ig_proto_field m;
  while (ig_proto_next(&model, &m)) {
    if (m.number != GRAPH) continue;
    ig_proto graph = ig_proto_message(&model, &m);
    ig_proto_field g;
    while (ig_proto_next(&graph, &g)) {
      if (g.number == kind) add_text(ig_proto_message(&graph, &g), field, &out, &arena);
    }
  }
  assert_int_equal(ig_ctx_status(f->c), IG_OK);
  assert_string_equal(out.at ? out.at : "", want);
  ig_arena_free(&arena);
  ig_str_free(&out);
  ig_file_release(file);
}

static void an_mlp_is_two_products(void **state) {
  fixture *f = *state;
  assert_int_equal(convert(f->c, "mlp", f->path), IG_OK);
  list(f, NODE, 4, "Gemm Relu Gemm ");
  list(f, NODE, 1, "x fc1.weight fc1.bias linear relu fc2.weight fc2.bias ");
  list(f, NODE, 2, "linear relu linear_1 ");
  list(f, INITIALIZER, 8, "fc1.weight fc1.bias fc2.weight fc2.bias ");
  list(f, INPUT, 1, "x ");
  list(f, OUTPUT, 1, "linear_1 ");
}

static void a_cnn_has_all_its_parts(void **state) {
  fixture *f = *state;
  assert_int_equal(convert(f->c, "cnn", f->path), IG_OK);
  list(f, NODE, 4,
       "Conv BatchNormalization Relu MaxPool AveragePool Flatten Identity Gemm Mul Add Concat "
       "Softmax Split Sub "
       "Div Erf Add Mul Mul ReduceMean Transpose ");
  list(f, OUTPUT, 1, "gelu mean transpose ");
}

static void the_same_program_gives_the_same_bytes(void **state) {
  fixture *f = *state;
  ig_file *first = NULL;
  ig_file *second = NULL;
  assert_int_equal(convert(f->c, "cnn", f->path), IG_OK);
  assert_int_equal(ig_file_map(f->c, f->path, &first), IG_OK);
  assert_int_equal(convert(f->c, "cnn", f->path), IG_OK);
  assert_int_equal(ig_file_map(f->c, f->path, &second), IG_OK);
  assert_int_equal(first->bytes.n, second->bytes.n);
  assert_memory_equal(first->bytes.at, second->bytes.at, first->bytes.n);
  ig_file_release(first);
  ig_file_release(second);
}

static void every_row_names_an_operator(void **state) {
  fixture *f = *state;
  size_t missing = 0;
  for (const ig_onnx_row *const *family = ig_onnx_families; *family; family++) {
    for (const ig_onnx_row *row = *family; row->target; row++) {
      if (ig_op_find(f->c, row->target)) continue;
      print_error("no operator %s\n", row->target);
      missing++;
    }
  }
  assert_int_equal(missing, 0);
}

// How many of an operator's samples are computed ahead when all their operands are known.
static size_t folded_samples(ig_ctx *c, const ig_op *op, size_t *calls) {
  static sample s;
  size_t folded = 0;
  for (const char *at = op->def->samples; at && *at;) {
    ig_scope scope = ig_scope_open(c);
    ig_value outs[IG_MAX_RETURNS];
    assert_true(sample_parse(c, op, &at, (sample_how){.floats = IG_F32}, &s));
    ig_call(c, op, s.args, outs);
    assert_int_equal(ig_ctx_status(c), IG_OK);
    if (outs[0].kind == IG_KIND_TENSOR) {
      ig_onnx x = {.c = c, .arena = ig_arena_make(c->alloc), .folded = ig_table_make(c->alloc)};
      ig_node n = {.kind = IG_NODE_CALL, .op = op, .target = op->target, .val = outs[0]};
      folded += ig_onnx_fold(&x, &n, s.args);
      ++*calls;
      ig_onnx_fold_free(&x);
      ig_arena_free(&x.arena);
    }
    ig_scope_close(c, scope);
  }
  return folded;
}

static void a_random_draw_is_no_constant(void **state) {
  fixture *f = *state;
  size_t drawn = 0;
  size_t plain = 0;
  for (size_t i = 0; i < ig_op_count(f->c); i++) {
    const ig_op *op = ig_op_at(f->c, i);
    if (op->base || !(op->def->random || op->facts & IG_FACT_SEEDED)) continue;
    if (folded_samples(f->c, op, &drawn)) fail_msg("%s is folded", op->target);
  }
  assert_true(drawn > 60);
  const ig_op *add = ig_op_find(f->c, "aten::add.Tensor");
  assert_int_not_equal(folded_samples(f->c, add, &plain), 0);
}

static ig_status convert_as(ig_ctx *c, const char *from, const ig_onnx_options *options,
                            const char *to) {
  ig_program *p = NULL;
  ig_status st = ig_program_load(c, golden(from), &p);
  if (st == IG_OK) st = ig_program_save_onnx_as(c, p, options, to);
  ig_program_free(p);
  return st;
}

static void opsets_are_bounded(void **state) {
  fixture *f = *state;
  ig_onnx_options old = {.size = sizeof old, .opset = 12};
  assert_int_equal(convert_as(f->c, "mlp", &old, f->path), IG_INVALID);
  test_error_has(f->c, "opset 12 is not known, 13 to 28 are");
  for (int opset = IG_ONNX_OPSET_OLDEST; opset <= IG_ONNX_OPSET_NEWEST; opset++) {
    ig_onnx_options o = {.size = sizeof o, .opset = opset};
    assert_int_equal(convert_as(f->c, "cnn", &o, f->path), IG_OK);
  }
}

static void a_program_that_writes_is_made_functional(void **state) {
  fixture *f = *state;
  assert_int_equal(convert(f->c, "mixed", f->path), IG_OK);
}

// With functions, weights beside the model and every name given.
static ig_status full_session(ig_ctx *c) {
  static const char *const names[] = {"first"};
  char path[128];
  char data[160];
  (void)snprintf(path, sizeof path, "%s/saved.onnx", folder);
  (void)snprintf(data, sizeof data, "%s.data", path);
  ig_onnx_options o = {.size = sizeof o,
                       .opset = 17,
                       .external = IG_ONNX_EXTERNAL_ALWAYS,
                       .functions = true,
                       .input_names = names,
                       .ninput_names = 1};
  ig_status st = convert_as(c, "mlp", &o, path);
  (void)unlink(data);
  return st;
}

static void weights_beside_the_model_are_aligned(void **state) {
  fixture *f = *state;
  char data[160];
  (void)snprintf(data, sizeof data, "%s.data", f->path);
  ig_onnx_options o = {.size = sizeof o, .external = IG_ONNX_EXTERNAL_ALWAYS};
  assert_int_equal(convert_as(f->c, "cnn", &o, f->path), IG_OK);
  ig_file *file = NULL;
  if (access(data, F_OK) == 0) {  // only weights of 1 KiB and more go there
    assert_int_equal(ig_file_map(f->c, data, &file), IG_OK);
    assert_true(file->bytes.n > 0);
    ig_file_release(file);
    assert_int_equal(unlink(data), 0);
  }
}

static void every_allocation_of_functions_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(full_session);
}

static ig_status session(ig_ctx *c) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/saved.onnx", folder);
  return convert(c, "cnn", path);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_mlp_is_two_products),
      TEST(a_cnn_has_all_its_parts),
      TEST(the_same_program_gives_the_same_bytes),
      TEST(every_row_names_an_operator),
      TEST(a_random_draw_is_no_constant),
      TEST(opsets_are_bounded),
      TEST(a_program_that_writes_is_made_functional),
      TEST(weights_beside_the_model_are_aligned),
      TEST(every_allocation_of_functions_may_fail),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
