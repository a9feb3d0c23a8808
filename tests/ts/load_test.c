// SPDX-License-Identifier: Apache-2.0
// Modules of archives: they are loaded, run, written and loaded again; what is wrong with an
// archive is an error, and every allocation may fail.
#include "ts/load.h"

#include <math.h>
#include <stdio.h>

#include "heap.h"
#include "script/interp.h"
#include "tensor/tensor.h"
#include "ts/write.h"

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

static const char counter[] = TEST_DATA "/arrays/data/counter.ts.pt";

static ig_sobj_instance *load(ig_ctx *c, const char *path) {
  ig_ts *ts = NULL;
  ig_sobj_instance *m = ig_ts_open(c, path, NULL, &ts) == IG_OK ? ig_ts_load(c, ts) : NULL;
  ig_ts_free(ts);
  return m;
}

static ig_tensor *attribute(const ig_sobj_instance *m, const char *name) {
  ig_value v = ig_sobj_instance_get(m, ig_sclass_attribute(m->cls, name));
  return v.kind == IG_KIND_TENSOR ? v.tensor : NULL;
}

// x of ones; the module adds 1 to its count and returns x * count + total.
static ig_status run(ig_ctx *c, ig_sobj_instance *m, double *first) {
  ig_scope scope = ig_scope_open(c);
  ig_tensor *x = ig_tensor_empty(c, IG_F32, (int64_t[]){3, 4}, 2);
  float *data = x ? ig_tensor_data(x) : NULL;
  for (int i = 0; data && i < 12; i++) data[i] = 1;
  ig_sfunction *f = ig_sclass_method(m->cls, "forward");
  ig_value args[] = {ig_of_sobj(m), ig_of_tensor(x)};
  ig_value result = ig_none();
  ig_status st = x && f ? ig_sfunction_run(c, f, args, &result) : ig_ctx_status(c);
  if (st == IG_OK) *first = ig_tensor_get(result.tensor, 0);
  ig_svalue_release(result);
  ig_scope_close(c, scope);
  return st;
}

static void a_module_runs_and_keeps_its_state(void **state) {
  fixture *f = *state;
  ig_sobj_instance *m = load(f->c, counter);
  if (!m) {
    fail_msg("%s", ig_ctx_error(f->c));
    return;
  }
  double count = ig_tensor_get(attribute(m, "count"), 0);
  double first = 0;
  double second = 0;
  if (run(f->c, m, &first) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  assert_int_equal(run(f->c, m, &second), IG_OK);
  assert_true(ig_tensor_get(attribute(m, "count"), 0) == count + 2);
  assert_true(fabs(second - first - 4) <
              1e-5);  // the count grows by 1, the sum over three rows by 3
  ig_svalue_release(ig_of_sobj(m));
  // Another load sees the file, not what the first one changed.
  m = load(f->c, counter);
  assert_non_null(m);
  assert_true(ig_tensor_get(attribute(m, "count"), 0) == count);
  ig_svalue_release(ig_of_sobj(m));
}

static void a_written_module_is_the_same(void **state) {
  fixture *f = *state;
  static const char path[] = "ts_load_test.pt";
  ig_sobj_instance *m = load(f->c, counter);
  assert_non_null(m);
  const ig_ts_extra extra = {"note.txt", "hello", 5};
  if (ig_ts_save(f->c, m, path, &extra, 1) != IG_OK) fail_msg("%s", ig_ctx_error(f->c));
  double want = 0;
  assert_int_equal(run(f->c, m, &want), IG_OK);
  ig_svalue_release(ig_of_sobj(m));
  ig_ts *ts = NULL;
  ig_ts *original = NULL;
  assert_int_equal(ig_ts_open(f->c, path, NULL, &ts), IG_OK);
  assert_int_equal(ig_ts_open(f->c, counter, NULL, &original), IG_OK);
  const ig_ts_source *sources = NULL;
  const ig_ts_source *originals = NULL;
  assert_int_equal(ig_ts_sources(ts, &sources), 1);
  assert_int_equal(ig_ts_sources(original, &originals), 1);
  assert_string_equal(sources[0].text, originals[0].text);
  const ig_ts_member *members = NULL;
  assert_true(ig_ts_members(ts, &members) > 5);
  assert_string_equal(members[0].name, "extra/note.txt");
  ig_ts_free(original);
  m = ig_ts_load(f->c, ts);
  ig_ts_free(ts);
  assert_non_null(m);
  double found = 0;
  assert_int_equal(run(f->c, m, &found), IG_OK);
  assert_true(found == want);
  ig_svalue_release(ig_of_sobj(m));
  (void)remove(path);
}

static ig_status session(ig_ctx *c) {
  ig_sobj_instance *m = load(c, counter);
  if (!m) return ig_ctx_status(c);
  double first = 0;
  ig_status st = run(c, m, &first);
  ig_sink sink = ig_sink_memory(c->alloc);
  if (st == IG_OK) st = ig_ts_print(c, m, "archive", NULL, 0, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  ig_svalue_release(ig_of_sobj(m));
  return st;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_module_runs_and_keeps_its_state, setup, teardown),
      cmocka_unit_test_setup_teardown(a_written_module_is_the_same, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
