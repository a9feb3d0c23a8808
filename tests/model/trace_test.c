// SPDX-License-Identifier: Apache-2.0
// Traces: what a run computes, by the interpreter and by its plan, and the first value in which two
// runs differ, whatever the values are called.
#include <math.h>
#include <stdio.h>

#include "ingot/trace.h"

#include "fixture.h"

static const char *data(const char *name) {
  static char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
  return path;
}

typedef struct run {
  ig_model *m;
  ig_session *s;
  ig_run_trace *t;
} run;

static bool open_run(ig_ctx *ctx, const char *file, run *r) {
  *r = (run){.m = NULL};
  return ig_model_open(ctx, data(file), NULL, &r->m) == IG_OK &&
         ig_session_create(ctx, r->m, &r->s) == IG_OK && ig_session_set_examples(r->s) == IG_OK;
}

static void close_run(run *r) {
  ig_run_trace_free(r->t);
  ig_session_free(r->s);
  ig_model_free(r->m);
}

static void plans_compute_what_the_interpreter_does(void **state) {
  (void)state;
  static const char *const files[] = {"pt2/data/mlp.pt2", "pt2/data/cnn.pt2", "pt2/data/mixed.pt2",
                                      "pt2/data/attention.pt2"};
  const size_t more[] = {0, 0, 0, 1};  // attention has a second result, which the program drops
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    run a = {.m = NULL};
    run b = {.m = NULL};
    ig_divergence d;
    ig_scope scope = ig_scope_open(c);
    assert_true(open_run(c, files[i], &a) && open_run(c, files[i], &b));
    assert_int_equal(ig_run_trace_take(c, a.m, a.s, false, &a.t), IG_OK);
    assert_int_equal(ig_session_copy_inputs(a.s, b.s), IG_OK);
    assert_int_equal(ig_run_trace_take(c, b.m, b.s, true, &b.t), IG_OK);
    assert_int_equal(ig_run_trace_compare(c, a.t, b.t, NULL, &d), IG_OK);
    assert_false(d.found);
    assert_true(d.agree > 0 && d.agree <= d.values);
    assert_int_equal(ig_run_trace_compare(c, b.t, a.t, NULL, &d), IG_OK);  // every step is a value
    assert_false(d.found);
    assert_int_equal(d.agree, d.values - more[i]);
    ig_scope_close(c, scope);
    close_run(&a);
    close_run(&b);
  }
}

// The values of a trace, one of which is changed together with all that follow.
static size_t repeat(run *a, run *b, int64_t change) {
  ig_run_trace_value v;
  size_t added = 0;
  size_t changed = SIZE_MAX;
  assert_int_equal(ig_run_trace_begin(c, b->m, a->s, &b->t), IG_OK);
  for (size_t i = 0; ig_run_trace_at(a->t, i, &v); i++) {
    if (!v.target[0]) continue;
    ig_scope scope = ig_scope_open(c);
    int64_t sizes[16];
    int n = ig_tensor_ndim(v.tensor);
    for (int k = 0; k < n; k++) sizes[k] = ig_tensor_size(v.tensor, k).value;
    ig_tensor *copy = ig_tensor_empty(c, IG_F32, sizes, n);
    for (int64_t k = 0; k < ig_tensor_numel(copy); k++) {
      double by = change >= 0 && (int64_t)added >= change ? 0.5 + 0.01 * (double)k : 0;
      ((float *)ig_tensor_data(copy))[k] = (float)(ig_tensor_get(v.tensor, k) + by);
    }
    if ((int64_t)added == change) changed = i;
    assert_int_equal(ig_run_trace_add(b->t, v.name, copy), IG_OK);
    added++;
    ig_scope_close(c, scope);
  }
  (void)ig_run_trace_at(a->t, ig_run_trace_count(a->t) - 1, &v);
  assert_int_equal(ig_run_trace_output(b->t, v.name), IG_OK);
  return changed;
}

static void finds_the_first_change(void **state) {
  (void)state;
  run a;
  assert_true(open_run(c, "pt2/data/mlp.pt2", &a));
  assert_int_equal(ig_run_trace_take(c, a.m, a.s, false, &a.t), IG_OK);
  for (int64_t change = -1; change < 3; change++) {
    run b;
    ig_divergence d;
    ig_run_trace_value v;
    ig_scope scope = ig_scope_open(c);
    assert_true(open_run(c, "pt2/data/mlp.pt2", &b));
    size_t at = repeat(&a, &b, change);
    assert_int_equal(ig_run_trace_compare(c, a.t, b.t, NULL, &d), IG_OK);
    assert_int_equal(d.found, change >= 0);
    assert_int_equal(d.values, 3);
    assert_int_equal(d.agree, change >= 0 ? change : 3);
    if (change >= 0) {
      assert_int_equal(d.first.a, at);
      assert_true(d.first.b >= 0 && d.in_outputs && !d.first.diff.agrees);
      assert_true(d.nreads > 0);
      for (size_t i = 0; i < d.nreads; i++) assert_true(d.reads[i].b >= 0);
      assert_true(ig_run_trace_at(a.t, at, &v) && v.at.file && v.at.line > 0);
    }
    // A tolerance that hides it.
    ig_tolerance wide[IG_DTYPE_COUNT];
    for (int i = 0; i < IG_DTYPE_COUNT; i++) wide[i] = (ig_tolerance){0, 10};
    assert_int_equal(ig_run_trace_compare(c, a.t, b.t, wide, &d), IG_OK);
    assert_false(d.found);
    ig_scope_close(c, scope);
    close_run(&b);
  }
  assert_int_equal(ig_run_trace_output(a.t, "nobody"), IG_NOT_FOUND);
  ig_ctx_clear(c);
  close_run(&a);
}

static void counts_units_in_the_last_place(void **state) {
  (void)state;
  ig_scope scope = ig_scope_open(c);
  const float want[] = {1, 1, 1, 1, 1, 1, NAN, INFINITY};
  const float e = 0x1p-23f;
  const float got[] = {1, 1 + e, 1 + 2 * e, 1 + 3 * e, 2, 1e30f, NAN, 1};
  int64_t bins[IG_ULP_BINS];
  ig_tensor *x = ig_tensor_empty(c, IG_F32, (int64_t[]){8}, 1);
  ig_tensor *y = ig_tensor_empty(c, IG_F32, (int64_t[]){8}, 1);
  memcpy(ig_tensor_data(x), got, sizeof got);
  memcpy(ig_tensor_data(y), want, sizeof want);
  ig_tensor_ulps(c, x, y, bins);
  assert_int_equal(bins[0], 2);  // equal, and NaN
  assert_int_equal(bins[1], 1);
  assert_int_equal(bins[2], 1);
  assert_int_equal(bins[3], 1);                // 3, up to 4
  assert_int_equal(bins[IG_ULP_BINS - 2], 2);  // 2^23 steps, and 1e30: above 2^22
  assert_int_equal(bins[IG_ULP_BINS - 1], 1);  // infinity
  int64_t sum = 0;
  for (int i = 0; i < IG_ULP_BINS; i++) sum += bins[i];
  assert_int_equal(sum, 8);
  ig_tensor_ulps(c, x, ig_tensor_empty(c, IG_F32, (int64_t[]){4, 2}, 2), bins);
  for (int i = 0; i < IG_ULP_BINS; i++) assert_int_equal(bins[i], 0);
  ig_scope_close(c, scope);
}

static ig_status compare_two(ig_ctx *ctx) {
  run a;
  run b = {.m = NULL};
  ig_divergence d;
  bool ok = open_run(ctx, "pt2/data/mlp.pt2", &a) && open_run(ctx, "pt2/data/mlp.pt2", &b) &&
            ig_run_trace_take(ctx, a.m, a.s, false, &a.t) == IG_OK &&
            ig_session_copy_inputs(a.s, b.s) == IG_OK &&
            ig_run_trace_take(ctx, b.m, b.s, true, &b.t) == IG_OK;
  if (ok) (void)!ig_run_trace_compare(ctx, a.t, b.t, NULL, &d);
  close_run(&a);
  close_run(&b);
  return ig_ctx_status(ctx);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_fails(compare_two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plans_compute_what_the_interpreter_does, setup, teardown),
      cmocka_unit_test_setup_teardown(finds_the_first_change, setup, teardown),
      cmocka_unit_test_setup_teardown(counts_units_in_the_last_place, setup, teardown),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
