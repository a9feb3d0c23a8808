// SPDX-License-Identifier: Apache-2.0
// Views of files of every kind in every form; files without a graph; memory that runs out.
#include "ingot/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ingot/onnx.h"

#include "fixture.h"

static char *view_of(const char *file, ig_view_form form, int depth) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", TEST_DATA, file);
  ig_model *m = NULL;
  if (ig_model_open(c, path, NULL, &m) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  ig_view_options o = {.size = sizeof o, .form = form, .depth = depth};
  char *text = ig_model_view(c, m, &o);
  if (!text) fail_msg("%s: %s", file, ig_ctx_error(c));
  ig_model_free(m);
  return text;
}

static void every_kind_in_every_form(void **state) {
  (void)state;
  static const char *const files[] = {"model/data/counter.pt2",   "model/data/counter.dynamo.onnx",
                                      "model/data/counter.ts.pt", "pt2/data/attention.pt2",
                                      "pt2/data/autocast.pt2",    "pt2/data/calls.pt2"};
  static const char *const starts[] = {"<!DOCTYPE html>", "<svg ", "digraph model {"};
  static const char *const ends[] = {"</html>\n", "</svg>\n", "}\n"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    for (int form = 0; form < 3; form++) {
      for (int depth = 0; depth < 2; depth++) {
        char *text = view_of(files[i], (ig_view_form)form, depth);
        size_t n = strlen(text);
        size_t tail = strlen(ends[form]);
        assert_int_equal(strncmp(text, starts[form], strlen(starts[form])), 0);
        assert_string_equal(text + n - tail, ends[form]);
        ig_text_free(c, text);
      }
    }
  }
}

static void files_without_a_graph(void **state) {
  (void)state;
  ig_model *m = NULL;
  assert_int_equal(ig_model_open(c, TEST_DATA "/model/data/counter.io.npz", NULL, &m), IG_OK);
  assert_null(ig_model_view(c, m, NULL));
  assert_int_equal(ig_ctx_status(c) & 0xff, IG_UNSUPPORTED & 0xff);
  assert_non_null(strstr(ig_ctx_error(c), "no graph"));
  ig_ctx_clear(c);
  ig_model_free(m);
}

static ig_status view_all(ig_ctx *ctx, const char *path) {
  ig_model *m = NULL;
  ig_status st = ig_model_open(ctx, path, NULL, &m);
  for (int form = 0; form < 3 && st == IG_OK; form++) {
    char *text = ig_model_view(
        ctx, m, &(ig_view_options){.size = sizeof(ig_view_options), .form = (ig_view_form)form});
    ig_text_free(ctx, text);
    st = ig_ctx_status(ctx);
  }
  const ig_onnx_model *onnx = st == IG_OK ? ig_model_onnx(m) : NULL;
  if (onnx) {
    ig_text_free(ctx, ig_onnx_text(ctx, onnx));
    st = ig_ctx_status(ctx);
  }
  ig_model_free(m);
  return st;
}

static ig_status view_program(ig_ctx *ctx) {
  return view_all(ctx, TEST_DATA "/model/data/counter.pt2");
}
static ig_status view_onnx(ig_ctx *ctx) {
  return view_all(ctx, TEST_DATA "/model/data/counter.dynamo.onnx");
}

static void memory_runs_out(void **state) {
  (void)state;
  test_every_allocation_fails(view_program);
  test_every_allocation_fails(view_onnx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_kind_in_every_form, setup, teardown),
      cmocka_unit_test_setup_teardown(files_without_a_graph, setup, teardown),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
