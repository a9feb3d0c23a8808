// SPDX-License-Identifier: Apache-2.0
// Fourier transforms against the sum that they stand for.
#include "kernels/fft.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double element(int64_t i) {
  return (double)((i * 2654435761u) % 1009) / 504.5 - 1;
}

// The largest difference over the lines of [outer, n, inner], relative to sqrt(n).
static double difference(const double *x, const double *found, int64_t outer, int64_t n,
                         int64_t inner, bool forward, double scale) {
  double worst = 0;
  for (int64_t line = 0; line < outer * inner; line++) {
    int64_t base = line / inner * n * inner + line % inner;
    for (int64_t k = 0; k < n; k++) {
      double re = 0;
      double im = 0;
      for (int64_t j = 0; j < n; j++) {
        double angle =
            (forward ? -2 : 2) * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
        const double *v = x + 2 * (base + j * inner);
        re += v[0] * cos(angle) - v[1] * sin(angle);
        im += v[0] * sin(angle) + v[1] * cos(angle);
      }
      const double *f = found + 2 * (base + k * inner);
      worst = fmax(worst, hypot(f[0] - scale * re, f[1] - scale * im));
    }
  }
  return worst / (scale * sqrt((double)n));
}

static void check(int64_t outer, int64_t n, int64_t inner, bool forward) {
  size_t all = (size_t)(2 * outer * n * inner);
  double *x = calloc(all, sizeof *x);
  double *wide = malloc(all * sizeof *wide);
  float *narrow = malloc(all * sizeof *narrow);
  assert_true(x && wide && narrow);
  for (size_t i = 0; i < all; i++) x[i] = narrow[i] = (float)element((int64_t)i);
  for (size_t i = 0; i < all; i++) wide[i] = x[i];
  assert_true(ig_fft_c128(wide, outer, n, inner, forward, 0.5));
  assert_true(difference(x, wide, outer, n, inner, forward, 0.5) < 1e-12);
  assert_true(ig_fft_c64(narrow, outer, n, inner, forward, 2));
  for (size_t i = 0; i < all; i++) wide[i] = narrow[i];
  assert_true(difference(x, wide, outer, n, inner, forward, 2) < 5e-6);
  free(x);
  free(wide);
  free(narrow);
}

// Real lines against the same lines as complex ones, and back again.
static void check_real(int64_t lines, int64_t n) {
  const int64_t half = n / 2 + 1;
  double *x = calloc((size_t)(lines * n), sizeof *x);
  double *z = calloc((size_t)(2 * lines * n), sizeof *z);
  double *y = calloc((size_t)(2 * lines * half), sizeof *y);
  float *xs = calloc((size_t)(lines * n), sizeof *xs);
  float *ys = calloc((size_t)(2 * lines * half), sizeof *ys);
  assert_true(x && y && z && xs && ys);
  for (int64_t i = 0; i < lines * n; i++) x[i] = z[2 * i] = xs[i] = (float)element(i);
  assert_true(ig_fft_c128(z, lines, n, 1, true, 0.5));
  assert_true(ig_fft_f64(x, y, lines, n, true, 0.5));
  assert_true(ig_fft_f32(xs, ys, lines, n, true, 0.5));
  for (int64_t i = 0; y && ys && i < lines; i++) {
    for (int64_t k = 0; k < 2 * half; k++) {
      double want = z[2 * i * n + k];
      assert_true(fabs(y[2 * i * half + k] - want) < 1e-13 * (double)n);
      assert_true(fabs((double)ys[2 * i * half + k] - want) < 1e-6 * (double)n);
    }
    y[2 * i * half + 1] = ys[2 * (i + 1) * half - 1] = 3;  // parts that have to be 0 do not count
  }
  assert_true(ig_fft_f64(x, y, lines, n, false, 2 / (double)n));
  assert_true(ig_fft_f32(xs, ys, lines, n, false, 2 / (double)n));
  for (int64_t i = 0; i < lines * n; i++) {
    assert_true(fabs(x[i] - (double)(float)element(i)) < 1e-12);
    assert_true(fabs((double)xs[i] - element(i)) < 1e-5);
  }
  free(x);
  free(y);
  free(z);
  free(xs);
  free(ys);
}

static void real_lines_are_half_the_work(void **state) {
  (void)state;
  static const int64_t lengths[] = {2, 4, 6, 8, 10, 30, 64, 134, 256, 1000, 2018};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    check_real(1, lengths[i]);
    check_real(3, lengths[i]);
    check_real(17, lengths[i]);
  }
}

static void transforms_are_the_sums(void **state) {
  (void)state;
  for (int64_t n = 1; n <= 70; n++) check(2, n, 1, n % 2);
  check(3, 12, 5, true);
  check(1, 61, 3, false);   // the largest prime of the passes
  check(2, 67, 2, true);    // Bluestein
  check(1, 256, 1, false);  // fours only
  check(1, 1009, 1, true);
  check(1, 1080, 1, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transforms_are_the_sums),
                                     cmocka_unit_test(real_lines_are_half_the_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
