// SPDX-License-Identifier: Apache-2.0
// Statistics of tensors: all dtypes, strides, numbers that are not finite, no elements.
#include "ingot/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingot/aten.h"
#include "op/formula.h"
#include "tensor/tensor.h"

#include "fixture.h"

static ig_tensor *reals(const double *v, int64_t n) {
  const int64_t size = n;
  ig_tensor *t = ig_tensor_empty(c, IG_F64, &size, 1);
  assert_non_null(t);
  for (int64_t i = 0; i < n; i++) ((double *)ig_tensor_data(t))[i] = v[i];
  return t;
}

static ig_stats stats_of(ig_tensor *t) {
  ig_stats s;
  if (ig_tensor_stats(c, t, &s) != IG_OK) fail_msg("%s", ig_ctx_error(c));
  return s;
}

static int64_t in_bins(const ig_stats *s) {
  int64_t sum = 0;
  for (int i = 0; i < IG_STATS_BINS; i++) sum += s->bins[i];
  return sum;
}

static void numbers_are_right(void **state) {
  (void)state;
  ig_scope scope = ig_scope_open(c);
  ig_stats s = stats_of(reals((double[]){1, NAN, 0, -INFINITY, 3, INFINITY, 0, -4}, 8));
  assert_int_equal(s.count, 8);
  assert_int_equal(s.zeros, 2);
  assert_int_equal(s.nans, 1);
  assert_int_equal(s.infinities, 2);
  assert_true(s.min == -4 && s.max == 3 && s.mean == 0);
  assert_true(fabs(s.deviation - sqrt(26.0 / 5)) < 1e-15);
  assert_int_equal(in_bins(&s), 5);
  assert_int_equal(s.bins[0], 1);
  assert_int_equal(s.bins[IG_STATS_BINS - 1], 1);
  ig_scope_close(c, scope);
}

static void extremes_do_not_overflow(void **state) {
  (void)state;
  ig_scope scope = ig_scope_open(c);
  ig_stats s = stats_of(reals((double[]){-1.7e308, 1.7e308, 0}, 3));
  assert_true(s.min == -1.7e308 && s.max == 1.7e308);
  assert_int_equal(in_bins(&s), 3);
  s = stats_of(reals((double[]){NAN, INFINITY}, 2));
  assert_true(s.min == 0 && s.max == 0 && s.mean == 0 && s.deviation == 0);
  assert_int_equal(in_bins(&s), 0);
  s = stats_of(reals((double[]){0}, 0));
  assert_int_equal(s.count, 0);
  s = stats_of(reals((double[]){7, 7}, 2));
  assert_int_equal(s.bins[0], 2);
  ig_scope_close(c, scope);
}

// 5,000 elements are several blocks; a transposed view has the same numbers, and another hash.
static void views_and_dtypes(void **state) {
  (void)state;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *t = ig_arange(c, ig_of_i64(5000));
  ig_int sizes[] = {ig_const(50), ig_const(100)};
  ig_tensor *m = ig_view(c, t, ig_of_ints(sizes, 2));
  ig_tensor *turned = ig_transpose_int(c, m, ig_const(0), ig_const(1));
  ig_stats a = stats_of(m);
  ig_stats b = stats_of(turned);
  assert_true(a.min == 0 && a.max == 4999 && a.mean == 2499.5 && b.mean == 2499.5);
  assert_true(fabs(a.deviation - sqrt((5000.0 * 5000 - 1) / 12)) < 1e-9);
  assert_true(fabs(a.deviation - b.deviation) < 1e-9 && a.hash != b.hash);
  assert_true(stats_of(ig_clone(c, m)).hash == a.hash);
  assert_true(stats_of(t).hash != a.hash);
  // Repeated elements are counted and not read again.
  ig_int huge[] = {ig_const((int64_t)1 << 40), ig_const(2)};
  b = stats_of(ig_expand(c, reals((double[]){0, 3}, 2), ig_of_ints(huge, 2)));
  assert_true(b.count == (int64_t)1 << 41 && b.zeros == (int64_t)1 << 40 && b.mean == 1.5);
  assert_true(b.deviation == 1.5 && in_bins(&b) == b.count);
  int64_t two = 2;
  ig_tensor *z = ig_tensor_empty(c, IG_C64, &two, 1);
  float *at = ig_tensor_data(z);
  at[0] = 3, at[1] = 4, at[2] = 0, at[3] = -2;
  a = stats_of(z);
  assert_true(a.min == 2 && a.max == 5 && a.count == 2);
  ig_tensor *q = ig_quantize_per_tensor(c, ig_cast(c, reals((double[]){0, 0.5, 1}, 3), IG_F32), 0.5,
                                        ig_const(3), ig_of_dtype(IG_QU8));
  a = stats_of(q);
  assert_true(a.max == 1 && a.zeros == 1 && a.mean == 0.5);
  ig_scope_close(c, scope);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(numbers_are_right, setup, teardown),
      cmocka_unit_test_setup_teardown(extremes_do_not_overflow, setup, teardown),
      cmocka_unit_test_setup_teardown(views_and_dtypes, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
