// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax, logsumexp and the gradients against formulas in double.
#include "kernels/softmax.h"

#include "kernels/elems.h"
#include "kernels/scratch.h"

static const ig_axis shapes[] = {
    {1, 1, 1}, {3, 5, 1},   {4, 32, 1},  {2, 77, 1}, {9, 129, 1},
    {2, 5, 3}, {3, 40, 33}, {1, 7, 100}, {0, 3, 1},  {2, 0, 1},
};

static int64_t at(ig_axis a, int64_t r, int64_t i) {
  return (r / a.inner * a.n + i) * a.inner + r % a.inner;
}

// log(sum(exp(x))) of one row.
static double log_sum(ig_elem e, const void *x, ig_axis a, int64_t r) {
  double m = -(double)INFINITY;
  double s = 0.0;
  for (int64_t i = 0; i < a.n; i++) m = fmax(m, get(e, x, at(a, r, i)));
  for (int64_t i = 0; i < a.n; i++) s += exp(get(e, x, at(a, r, i)) - m);
  return a.n ? m + log(s) : m;
}

static void check(ig_elem e, ig_axis a) {
  int64_t n = a.outer * a.n * a.inner;
  int64_t rows = a.outer * a.inner;
  void *x = tensor(e, n, true);
  for (int64_t i = 0; i < n; i++) set(e, x, i, get(e, x, i) * 16.0);
  void *y = tensor(e, n, false);
  void *l = tensor(e, n, false);
  void *s = tensor(e, rows, false);
  ig_softmax(e, x, y, a);
  ig_softmax_log(e, x, l, a);
  ig_softmax_logsumexp(e, x, s, a);
  for (int64_t r = 0; r < rows; r++) {
    double total = log_sum(e, x, a, r);
    close_to("logsumexp", e, s, r, total);
    for (int64_t i = 0; i < a.n; i++) {
      double v = get(e, x, at(a, r, i));
      close_to("softmax", e, y, at(a, r, i), exp(v - total));
      close_to("log_softmax", e, l, at(a, r, i), v - total);
    }
  }
  void *dy = tensor(e, n, true);
  void *dx = tensor(e, n, false);
  void *dl = tensor(e, n, false);
  ig_softmax_backward(e, dy, y, dx, a);
  ig_softmax_log_backward(e, dy, l, dl, a);
  for (int64_t r = 0; r < rows; r++) {
    double dot = 0.0;
    double sum = 0.0;
    for (int64_t i = 0; i < a.n; i++) {
      dot += get(e, y, at(a, r, i)) * get(e, dy, at(a, r, i));
      sum += get(e, dy, at(a, r, i));
    }
    for (int64_t i = 0; i < a.n; i++) {
      int64_t q = at(a, r, i);
      close_to("dx", e, dx, q, get(e, y, q) * (get(e, dy, q) - dot));
      close_to("dl", e, dl, q, get(e, dy, q) - exp(get(e, l, q)) * sum);
    }
  }
  ig_softmax(e, x, x, a);  // in place
  for (int64_t i = 0; i < n; i++) assert_true(get(e, x, i) == get(e, y, i));
  free(x);
  free(y);
  free(l);
  free(s);
  free(dy);
  free(dx);
  free(dl);
}

static void all(void) {
  for (int e = IG_ELEM_F32; e <= IG_ELEM_BF16; e++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check((ig_elem)e, shapes[i]);
}

static void test_all(void **state) {
  (void)state;
  both_threads(all);
}

// Half types want buffers.
static void test_without_memory(void **state) {
  ig_scratch_limit(0);
  test_all(state);
  ig_scratch_limit(SIZE_MAX);
}

static void test_infinite(void **state) {
  (void)state;
  const float inf = INFINITY;
  for (int64_t inner = 1; inner <= 2; inner++) {
    float x[8];
    float y[8];
    ig_axis a = {1, 4, inner};
    for (int i = 0; i < 8; i++) x[i] = -inf;
    ig_softmax(IG_ELEM_F32, x, y, a);
    assert_true(isnan(y[0]) && isnan(y[3]));
    ig_softmax_safe(IG_ELEM_F32, x, y, a);
    for (int64_t i = 0; i < 4 * inner; i++) assert_true(y[i] == 0.0f);
    x[0] = 3.0f;  // masked all but one
    ig_softmax_safe(IG_ELEM_F32, x, y, a);
    assert_true(y[0] == 1.0f && y[inner] == 0.0f);
    ig_softmax_log(IG_ELEM_F32, x, y, a);
    assert_true(y[0] == 0.0f && y[inner] == -inf);
    x[0] = inf;
    ig_softmax(IG_ELEM_F32, x, y, a);
    assert_true(isnan(y[0]));
    x[0] = NAN;
    ig_softmax_safe(IG_ELEM_F32, x, y, a);
    assert_true(isnan(y[0]));
  }
  float x[2] = {-inf, -inf};
  float s;
  ig_softmax_logsumexp(IG_ELEM_F32, x, &s, (ig_axis){1, 2, 1});
  assert_true(s == -inf);
  x[1] = inf;
  ig_softmax_logsumexp(IG_ELEM_F32, x, &s, (ig_axis){1, 2, 1});
  assert_true(s == inf);
  x[0] = NAN;
  ig_softmax_logsumexp(IG_ELEM_F32, x, &s, (ig_axis){1, 2, 1});
  assert_true(isnan(s));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
                                     cmocka_unit_test(test_without_memory),
                                     cmocka_unit_test(test_infinite)};
  return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
