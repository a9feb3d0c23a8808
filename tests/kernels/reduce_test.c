// SPDX-License-Identifier: Apache-2.0
// Reductions against plain sums in double, for every type, shape class and thread count; the rules
// for NaN and empty dimensions; conversion of half types over all their values.
#include "kernels/reduce.h"

#include "kernels/elems.h"
#include "portion.h"

static const ig_axis shapes[] = {
    {1, 1, 1},      {3, 7, 1},     {2, 31, 1},  {5, 32, 1},   {2, 100, 1},   {1, 5000, 1},
    {7, 1025, 1},   {1, 9, 5},     {3, 33, 17}, {2, 70, 128}, {1, 100, 131}, {4, 1, 300},
    {1, 200000, 1}, {1, 3000, 66}, {0, 4, 3},   {3, 4, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int64_t at(ig_axis a, int64_t o, int64_t i, int64_t j) {
  return (o * a.n + i) * a.inner + j;
}

static double oracle(ig_reduce_op op, ig_elem e, const void *x, ig_axis a, int64_t o, int64_t j) {
  double s = op == IG_REDUCE_PROD || op == IG_REDUCE_ALL ? 1.0 : 0.0;
  if (op == IG_REDUCE_MAX) s = -1e300;
  if (op == IG_REDUCE_MIN) s = 1e300;
  for (int64_t i = 0; i < a.n; i++) {
    double v = get(e, x, at(a, o, i, j));
    switch (op) {
      case IG_REDUCE_SUM:
      case IG_REDUCE_MEAN:
        s += v;
        break;
      case IG_REDUCE_PROD:
        s *= v;
        break;
      case IG_REDUCE_MAX:
        s = v > s ? v : s;
        break;
      case IG_REDUCE_MIN:
        s = v < s ? v : s;
        break;
      case IG_REDUCE_ANY:
        s = v != 0.0 || s != 0.0;
        break;
      case IG_REDUCE_ALL:
        s = v != 0.0 && s != 0.0;
        break;
    }
  }
  return op == IG_REDUCE_MEAN ? s / (double)a.n : s;
}

// Values under which the results stay exact and both answers of the tests occur.
static double value_for(ig_reduce_op op, ig_elem e, int64_t n) {
  bool rare = pick(0, (int)(n < 1000 ? n : 1000)) == 0;
  switch (op) {
    case IG_REDUCE_PROD:
      if (e <= IG_ELEM_BF16) return pick(0, 5) ? 1.0 : -0.5;
      return pick(0, 5) ? 0.125 : -0.25;
    case IG_REDUCE_ANY:
      return rare ? 1.0 : 0.0;
    case IG_REDUCE_ALL:
      return rare ? 0.0 : 1.0;
    default:
      return (double)pick(-8, 8) / 8.0;
  }
}

static void check_op(ig_reduce_op op, ig_elem e, ig_axis a) {
  bool floats = e <= IG_ELEM_BF16;
  if (op == IG_REDUCE_MEAN && !floats) return;
  if (op == IG_REDUCE_PROD && a.n > 40) return;
  if (!test_due((double)(a.outer * a.n * a.inner))) return;
  ig_elem out = e;
  if (op == IG_REDUCE_ANY || op == IG_REDUCE_ALL) out = IG_ELEM_BOOL;
  if (!floats && (op == IG_REDUCE_SUM || op == IG_REDUCE_PROD)) out = IG_ELEM_I64;
  void *x = tensor(e, a.outer * a.n * a.inner, false);
  for (int64_t i = 0; i < a.outer * a.n * a.inner; i++) set(e, x, i, value_for(op, e, a.n));
  void *y = tensor(out, a.outer * a.inner, false);
  assert_true(ig_reduce(op, e, x, out, y, a));
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t j = 0; j < a.inner; j++)
      close_to("reduce", out, y, o * a.inner + j, oracle(op, e, x, a, o, j));
  free(x);
  free(y);
}

static void all_ops(void) {
  for (int e = 0; e < IG_ELEM_COUNT; e++)
    for (int op = IG_REDUCE_SUM; op <= IG_REDUCE_MEAN; op++)
      for (int s = 0; s < SHAPES; s++) check_op((ig_reduce_op)op, (ig_elem)e, shapes[s]);
}

static void check_arg(ig_elem e, ig_axis a) {
  if (!test_due((double)(a.outer * a.n * a.inner))) return;
  void *x = tensor(e, a.outer * a.n * a.inner, true);
  int64_t rows = a.outer * a.inner;
  int64_t *index = tensor(IG_ELEM_I64, rows, false);
  void *value = tensor(e, rows, false);
  for (int least = 0; least < 2; least++) {
    if (least)
      ig_reduce_argmin(e, x, value, index, a);
    else
      ig_reduce_argmax(e, x, value, index, a);
    for (int64_t r = 0; r < rows; r++) {
      int64_t best = 0;
      for (int64_t i = 1; i < a.n; i++) {
        double v = get(e, x, at(a, r / a.inner, i, r % a.inner));
        double b = get(e, x, at(a, r / a.inner, best, r % a.inner));
        if (least ? v < b : v > b) best = i;
      }
      assert_int_equal(index[r], best);
      assert_true(get(e, value, r) == get(e, x, at(a, r / a.inner, best, r % a.inner)));
    }
  }
  free(x);
  free(index);
  free(value);
}

static void all_args(void) {
  for (int e = 0; e < IG_ELEM_COUNT; e++)
    for (int s = 0; s < SHAPES; s++) check_arg((ig_elem)e, shapes[s]);
}

static void check_var(ig_elem e, ig_axis a) {
  if (!test_due((double)(a.outer * a.n * a.inner))) return;
  int64_t rows = a.outer * a.inner;
  void *x = tensor(e, a.outer * a.n * a.inner, true);
  void *mean = tensor(e, rows, false);
  void *var = tensor(e, rows, false);
  ig_reduce_var(e, x, mean, var, 1.0, a);
  for (int64_t r = 0; r < rows; r++) {
    double s = 0.0;
    double q = 0.0;
    for (int64_t i = 0; i < a.n; i++) s += get(e, x, at(a, r / a.inner, i, r % a.inner));
    s /= (double)a.n;
    for (int64_t i = 0; i < a.n; i++) {
      double d = get(e, x, at(a, r / a.inner, i, r % a.inner)) - s;
      q += d * d;
    }
    close_to("mean", e, mean, r, s);
    close_to("var", e, var, r, a.n > 1 ? q / (double)(a.n - 1) : (double)NAN);
  }
  free(x);
  free(mean);
  free(var);
}

static void check_norm(ig_elem e, ig_axis a, double p) {
  if (!test_due((double)(a.outer * a.n * a.inner))) return;
  int64_t rows = a.outer * a.inner;
  void *x = tensor(e, a.outer * a.n * a.inner, true);
  void *y = tensor(e, rows, false);
  ig_reduce_norm(e, x, y, p, a);
  for (int64_t r = 0; r < rows; r++) {
    double s = p == -(double)INFINITY ? 1e300 : 0.0;
    for (int64_t i = 0; i < a.n; i++) {
      double v = fabs(get(e, x, at(a, r / a.inner, i, r % a.inner)));
      if (p == 0.0)
        s += v != 0.0;
      else if (isinf(p))
        s = (p > 0.0) == (v > s) ? v : s;
      else
        s += pow(v, p);
    }
    double want = p == 0.0 || isinf(p) ? s : pow(s, 1.0 / p);
    close_to("norm", e, y, r, e == IG_ELEM_F16 && want > 65519.0 ? (double)INFINITY : want);
  }
  free(x);
  free(y);
}

static void all_norms(void) {
  static const double ps[] = {0.0, 1.0, 2.0, 3.0, 0.5, (double)INFINITY, -(double)INFINITY};
  for (int e = IG_ELEM_F32; e <= IG_ELEM_BF16; e++) {
    for (int s = 0; s < SHAPES; s++) {
      if (shapes[s].n <= 2000) check_var((ig_elem)e, shapes[s]);
      for (size_t p = 0; p < sizeof ps / sizeof *ps; p++) check_norm((ig_elem)e, shapes[s], ps[p]);
    }
  }
  check_var(IG_ELEM_F32, (ig_axis){1, 200000, 1});
}

static void test_ops(void **state) {
  (void)state;
  both_threads(all_ops);
}
static void test_args(void **state) {
  (void)state;
  both_threads(all_args);
}
static void test_norms(void **state) {
  (void)state;
  both_threads(all_norms);
}

static void test_types(void **state) {
  (void)state;
  float y[1];
  float x[1] = {2.0f};
  int32_t i[1] = {3};
  assert_false(ig_reduce(IG_REDUCE_MEAN, IG_ELEM_I32, i, IG_ELEM_I32, y, (ig_axis){1, 1, 1}));
  assert_false(ig_reduce(IG_REDUCE_SUM, IG_ELEM_F32, x, IG_ELEM_F64, y, (ig_axis){1, 1, 1}));
  assert_false(ig_reduce(IG_REDUCE_ANY, IG_ELEM_F32, x, IG_ELEM_F32, y, (ig_axis){1, 1, 1}));
}

static void test_nan(void **state) {
  (void)state;
  for (int64_t n = 3; n < 80; n += 38) {
    for (int64_t inner = 1; inner < 3; inner++) {
      float x[160] = {0};
      float y[2];
      int64_t index[2];
      ig_axis a = {1, n, inner};
      for (int64_t i = 0; i < n * inner; i++) x[i] = (float)(i % 5);
      x[2 * inner] = NAN;
      if (n > 40) x[40 * inner] = NAN;
      ig_reduce(IG_REDUCE_MAX, IG_ELEM_F32, x, IG_ELEM_F32, y, a);
      assert_true(isnan(y[0]));
      ig_reduce(IG_REDUCE_MIN, IG_ELEM_F32, x, IG_ELEM_F32, y, a);
      assert_true(isnan(y[0]));
      ig_reduce_argmax(IG_ELEM_F32, x, y, index, a);
      assert_true(isnan(y[0]) && index[0] == 2);
      ig_reduce_argmin(IG_ELEM_F32, x, NULL, index, a);
      assert_true(index[0] == 2);
      uint8_t any[2];
      ig_reduce(IG_REDUCE_ANY, IG_ELEM_F32, x, IG_ELEM_BOOL, any, a);
      assert_true(any[0] == 1);
    }
  }
}

static void test_empty(void **state) {
  (void)state;
  double y[3] = {9, 9, 9};
  ig_axis a = {1, 0, 3};
  ig_reduce(IG_REDUCE_SUM, IG_ELEM_F64, NULL, IG_ELEM_F64, y, a);
  assert_true(y[0] == 0.0 && y[2] == 0.0);
  ig_reduce(IG_REDUCE_PROD, IG_ELEM_F64, NULL, IG_ELEM_F64, y, a);
  assert_true(y[0] == 1.0);
  ig_reduce(IG_REDUCE_MEAN, IG_ELEM_F64, NULL, IG_ELEM_F64, y, (ig_axis){3, 0, 1});
  assert_true(isnan(y[0]) && isnan(y[2]));
}

// A million small numbers: naive f32 sums lose the fourth digit.
static void test_accuracy(void **state) {
  (void)state;
  enum { N = 1000003 };
  float *x = malloc(N * sizeof *x);
  assert_non_null(x);
  for (int i = 0; i < N; i++) x[i] = 0.1f;
  float y;
  ig_reduce(IG_REDUCE_SUM, IG_ELEM_F32, x, IG_ELEM_F32, &y, (ig_axis){1, N, 1});
  assert_true(fabs((double)y - (double)0.1f * N) < 0.2);
  ig_reduce(IG_REDUCE_SUM, IG_ELEM_F32, x, IG_ELEM_F32, &y, (ig_axis){1, N - 1, 1});
  assert_true(fabs((double)y - (double)0.1f * (N - 1)) < 0.2);
  const int64_t third = N / 3;
  float cols[3];
  ig_reduce(IG_REDUCE_SUM, IG_ELEM_F32, x, IG_ELEM_F32, cols, (ig_axis){1, third, 3});
  assert_true(fabs((double)cols[1] - (double)0.1f * (double)third) < 0.1);
  free(x);
}

// Every half number survives the way to f32 and back; rounding is to nearest even.
static void test_halves(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    uint16_t u = (uint16_t)h;
    float f = ig_f16_get(u);
    bool nan = (h & 0x7fffU) > 0x7c00U;
    assert_true(nan ? isnan(f) : ig_f16_put(f) == u);
    double want = ldexp((double)(h & 0x3ffU) + (h & 0x7c00U ? 1024.0 : 0.0),
                        (int)(h >> 10 & 31U ? h >> 10 & 31U : 1U) - 25);
    if (!nan && (h & 0x7c00U) != 0x7c00U) assert_true(fabs((double)f) == want);
    float b = ig_bf16_get(u);
    assert_true(isnan(b) ? isnan(ig_bf16_get(ig_bf16_put(b))) : ig_bf16_put(b) == u);
  }
  assert_int_equal(ig_f16_put(65519.0f), 0x7bff);
  assert_int_equal(ig_f16_put(65520.0f), 0x7c00);
  assert_int_equal(ig_f16_put(0x1p-25f), 0);
  assert_int_equal(ig_f16_put(0x1.8p-25f), 1);
  assert_int_equal(ig_f16_put(1.0f + 0x1p-11f), 0x3c00);
  assert_int_equal(ig_f16_put(1.0f + 0x3p-11f), 0x3c02);
  assert_int_equal(ig_bf16_put(1.0f + 0x1p-8f), 0x3f80);
  assert_int_equal(ig_bf16_put(1.0f + 0x3p-8f), 0x3f82);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ops),      cmocka_unit_test(test_args),   cmocka_unit_test(test_norms),
      cmocka_unit_test(test_types),    cmocka_unit_test(test_nan),    cmocka_unit_test(test_empty),
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_halves),
  };
  return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}
