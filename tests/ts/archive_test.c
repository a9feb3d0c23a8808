// SPDX-License-Identifier: Apache-2.0
// Real TorchScript archives, for the interpreter and the lite one: members, sources, modules,
// weights with their roles, constants.
#include "ts/archive.h"

#include "heap.h"
#include "tensor/tensor.h"

typedef struct fixture {
  test_heap heap;
  ig_ctx *c;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = test_heap_ctx(&f->heap);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ig_ctx_free(f->c);
  assert_int_equal(f->heap.live, 0);
  free(f);
  return 0;
}

static ig_ts *open_file(fixture *f, const char *path) {
  ig_ts *ts = NULL;
  if (ig_ts_open(f->c, path, NULL, &ts) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  return ts;
}

static void an_archive_tells_what_is_in_it(void **state) {
  fixture *f = *state;
  ig_ts *ts = open_file(f, TEST_DATA "/arrays/data/counter.ts.pt");
  const ig_ts_member *members = NULL;
  const ig_ts_source *sources = NULL;
  const ig_ts_weight *weights = NULL;
  const ig_ts_module *modules = NULL;
  assert_true(ig_ts_version(ts) >= 3 && ig_ts_version(ts) <= 10);
  assert_int_equal(ig_ts_bytecode(ts), 0);
  assert_null(ig_ts_lite(ts));
  bool found = false;
  for (size_t i = ig_ts_members(ts, &members); i-- > 0;) {
    found = found || (strcmp(members[i].name, "data.pkl") == 0 && members[i].size > 0);
  }
  assert_true(found);
  assert_int_equal(ig_ts_sources(ts, &sources), 1);
  assert_string_equal(sources[0].name, "__torch__.py");
  assert_non_null(strstr(sources[0].text, "def forward"));
  assert_int_equal(ig_ts_modules(ts, &modules), 1);
  assert_string_equal(modules[0].name, "");
  assert_string_equal(modules[0].class_name, "__torch__.Counter");
  assert_false(modules[0].training);
  assert_int_equal(ig_ts_weights(ts, &weights), 2);
  assert_string_equal(weights[0].name, "count");
  assert_int_equal(weights[0].role, IG_TS_BUFFER);
  assert_int_equal(ig_tensor_dtype(weights[0].tensor), IG_I64);
  assert_int_equal(ig_object_count(ig_ts_constants(ts)), 1);
  assert_true(ig_tensor_get(ig_object_tensor(ig_object_at(ig_ts_constants(ts), 0)), 0) == 1);
  assert_int_equal(ig_object_kind_of(ig_ts_root(ts)), IG_OBJECT_INSTANCE);
  ig_ts_free(ts);
}

static void a_lite_archive_has_bytecode_too(void **state) {
  fixture *f = *state;
  ig_ts *ts = open_file(f, TEST_DATA "/arrays/data/mlp.ptl");
  const ig_ts_weight *weights = NULL;
  assert_int_equal(ig_ts_bytecode(ts), 8);
  assert_int_equal(ig_object_kind_of(ig_ts_lite(ts)), IG_OBJECT_TUPLE);
  assert_int_equal(ig_ts_weights(ts, &weights), 6);
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(weights[i].role, IG_TS_PARAMETER);
    assert_true(ig_tensor_requires_grad(weights[i].tensor));
  }
  assert_string_equal(weights[0].name, "up.weight");
  ig_ts_free(ts);
}

// The archive outlives the context that opened it.
static void an_archive_is_its_own(void **state) {
  (void)state;
  ig_ctx *c = NULL;
  ig_ts *ts = NULL;
  const ig_ts_weight *weights = NULL;
  assert_int_equal(ig_ctx_create(NULL, &c), IG_OK);
  assert_int_equal(ig_ts_open(c, TEST_DATA "/arrays/data/counter.ts.pt", NULL, &ts), IG_OK);
  ig_ctx_free(c);
  assert_int_equal(ig_ts_weights(ts, &weights), 2);
  assert_int_equal(ig_tensor_numel(weights[0].tensor), 1);
  ig_ts_free(ts);
}

static ig_status session(ig_ctx *c) {
  ig_ts *ts = NULL;
  ig_status st = ig_ts_open(c, TEST_DATA "/arrays/data/mlp.ptl", NULL, &ts);
  ig_ts_free(ts);
  return st;
}

static void running_out_of_memory_is_survived(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_archive_tells_what_is_in_it),
      TEST(a_lite_archive_has_bytecode_too),
      TEST(an_archive_is_its_own),
      TEST(running_out_of_memory_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
