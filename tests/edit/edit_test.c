// SPDX-License-Identifier: Apache-2.0
// Every operation on a small model while each allocation fails in turn. What the operations make is
// judged by the tests in Python.
#include "ingot/edit.h"

#include "fixture.h"
#include "ingot/tensor.h"

static const char path[] = TEST_DATA "/edit/data/small.onnx";

typedef ig_status operation(ig_ctx *ctx, ig_edit *e);
static operation *tried;

static ig_status simplify(ig_ctx *ctx, ig_edit *e) {
  const ig_simplify_options o = {.size = sizeof o};
  (void)ctx;
  return ig_edit_simplify(e, &o);
}

static ig_status fix_sizes(ig_ctx *ctx, ig_edit *e) {
  (void)ctx;
  return ig_edit_fix_sizes(e, &(ig_dim_value){"n", 3}, 1);
}

static ig_status free_sizes(ig_ctx *ctx, ig_edit *e) {
  (void)ctx;
  return ig_edit_free_sizes(e, &(ig_free_size){"x", 0, "batch"}, 1);
}

static ig_status rename_all(ig_ctx *ctx, ig_edit *e) {
  static const ig_rename names[] = {
      {IG_RENAME_ANY, "q", "r"}, {IG_RENAME_NODE, "/fc/*", "/head/*"}, {IG_RENAME_DIM, "n", "b"}};
  (void)ctx;
  return ig_edit_rename(e, names, 3);
}

static ig_status extract(ig_ctx *ctx, ig_edit *e) {
  static const char *const from[] = {"f", "cond"};
  static const char *const to[] = {"fc"};
  const ig_extract_options o = {.size = sizeof o, .from = from, .nfrom = 2, .to = to, .nto = 1};
  (void)ctx;
  return ig_edit_extract(e, &o);
}

static ig_status merge(ig_ctx *ctx, ig_edit *e) {
  static const ig_join joins[] = {{"e", "x"}};
  static const ig_rename names[] = {{IG_RENAME_ANY, "x", "z"}};
  const ig_simplify_options simple = {.size = sizeof simple};
  const ig_merge_options o = {.size = sizeof o, .joins = joins, .njoins = 1, .prefix = "b/"};
  ig_onnx_model *m = NULL;
  ig_status st = ig_edit_simplify(e, &simple);  // functions of one name are not merged
  if (st == IG_OK) st = ig_onnx_open(ctx, path, NULL, &m);
  if (st == IG_OK) st = ig_edit_merge(e, m, &o);
  ig_onnx_free(m);
  return st == IG_OK ? ig_edit_rename(e, names, 1) : st;
}

static ig_status narrow(ig_ctx *ctx, ig_edit *e) {
  static const char *const keep[] = {"/fc/Add"};
  const ig_dtype_options o = {
      .size = sizeof o, .dtype = IG_F16, .convert_io = true, .keep = keep, .nkeep = 1};
  (void)ctx;
  return ig_edit_dtype(e, &o);
}

// Weights of both kinds of layers, activations from one run.
static ig_status quantize(ig_ctx *ctx, ig_edit *e) {
  static float x[4] = {1, -2, 3, 0.5f};
  static bool cond[1] = {true};
  const ig_foreign from[] = {{.data = x, .bytes = sizeof x}, {.data = cond, .bytes = sizeof cond}};
  const ig_scope s = ig_scope_open(ctx);
  const ig_weight inputs[] = {
      {"x", ig_tensor_wrap(ctx, IG_F32, (const int64_t[]){1, 1, 2, 2}, 4, &from[0]), NULL},
      {"cond", ig_tensor_wrap(ctx, IG_BOOL, NULL, 0, &from[1]), NULL}};
  const ig_edit_run run = {2, inputs};
  const ig_quantize_options o = {
      .size = sizeof o, .how = IG_QUANTIZE_QDQ, .percentile = 99.9, .runs = &run, .nruns = 1};
  ig_status st = inputs[0].tensor && inputs[1].tensor ? ig_edit_quantize(e, &o) : IG_NOMEM;
  ig_scope_close(ctx, s);
  return st;
}

static ig_status edited(ig_ctx *ctx) {
  ig_edit *e = NULL;
  ig_status st = ig_edit_open(ctx, path, NULL, &e);
  if (st == IG_OK) st = tried(ctx, e);
  ig_edit_free(e);
  return st;
}

static void every_allocation_may_fail(void **state) {
  static operation *const operations[] = {simplify, fix_sizes, free_sizes, rename_all,
                                          extract,  merge,     narrow,     quantize};
  (void)state;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    tried = operations[i];
    test_every_allocation_fails(edited);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_allocation_may_fail, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
