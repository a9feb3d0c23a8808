// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers: exact for all sizes and CPU levels, with full ranges of both
// operands.
#include "kernels/qgemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "kernels/qrow.h"

typedef struct job {
  int64_t m;
  int64_t n;
  int64_t k;
  const uint8_t *x;
  int32_t zero;
  int32_t *sums;
} job;

static const uint8_t *fill(void *user, int64_t first, int64_t rows, uint8_t *out, int64_t *ld) {
  const job *j = user;
  if (j->k % 8 == 0) {  // in place
    *ld = j->k;
    return j->x + first * j->k;
  }
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t p = 0; p < *ld; p++)
      out[r * *ld + p] = p < j->k ? j->x[(first + r) * j->k + p] : 9;
  }
  return out;
}

static void done(void *user, int64_t first, int64_t rows, int64_t col, int64_t cols,
                 const int32_t *sums, int64_t ld) {
  const job *j = user;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < cols; i++) j->sums[(first + r) * j->n + col + i] = sums[r * ld + i];
  }
}

// most: the largest element of x
static void check(int64_t m, int64_t n, int64_t k, int most) {
  uint8_t *x = malloc((size_t)(m * k) + 1);
  int8_t *w = malloc((size_t)(n * k) + 1);
  int32_t *zero = malloc((size_t)n * sizeof *zero);
  int32_t *sums = calloc((size_t)(m * n), sizeof *sums);
  assert_true(x && w && zero && sums);
  // The extremes of both types, whose products PyTorch's kernels saturate.
  for (int64_t i = 0; i < m * k; i++) x[i] = (uint8_t)(i % 3 == 0 ? most : i * 37 % (most + 1));
  for (int64_t i = 0; i < n * k; i++) w[i] = (int8_t)(i % 2 == 0 ? -128 : i * 53 % 256 - 128);
  for (int64_t i = 0; i < n; i++) zero[i] = (int32_t)(i % 7) - 3;
  ig_qweight *packed = ig_qweight_create(n, k, w, zero);
  assert_non_null(packed);
  job j = {m, n, k, x, 11, sums};
  ig_qproduct p = {packed, m, 11, fill, done, &j};
  assert_true(ig_qgemm(&p));
  for (int64_t r = 0; r < m; r++) {
    for (int64_t c = 0; c < n; c++) {
      int32_t want = 0;
      for (int64_t i = 0; i < k; i++) want += (x[r * k + i] - 11) * (w[c * k + i] - zero[c]);
      assert_int_equal(sums[r * n + c], want);
    }
  }
  ig_qweight_free(packed);
  free(x);
  free(w);
  free(zero);
  free(sums);
}

static void products_are_exact(void **state) {
  (void)state;
  ig_cpu best = ig_cpu_level();
  for (int level = IG_CPU_BASE; level <= (int)best; level++) {
    (void)ig_cpu_limit((ig_cpu)level);
    check(1, 1, 1, 255);
    check(1, 1, 1, 127);
    check(5, 17, 3, 255);
    check(5, 17, 3, 127);
    check(6, 16, 512, 255);
    check(6, 16, 512, 127);
    check(49, 33, 1025, 255);
    check(49, 33, 1025, 127);
    check(100, 5, 2, 255);
    check(100, 5, 2, 127);
    check(3, 130, 700, 255);
    check(3, 130, 700, 127);
  }
  (void)ig_cpu_limit(best);
}

static void rounding_goes_to_even_and_saturates(void **state) {
  (void)state;
  const float x[] = {0.25F, 0.75F, -0.25F, 1e30F, -1e30F, NAN};
  uint8_t u[6];
  int8_t s[6];
  ig_quantize_u8(x, 6, 0.5F, 10, u);
  ig_quantize_i8(x, 6, 0.5F, 10, s);
  const int wanted_u[] = {10, 12, 10, 255, 0, 255};
  const int wanted_s[] = {10, 12, 10, 127, -128, 127};
  for (int i = 0; i < 6; i++) {
    assert_int_equal(u[i], wanted_u[i]);
    assert_int_equal(s[i], wanted_s[i]);
  }
  float back[6];
  ig_dequantize_u8(u, 6, 0.5F, 10, back);
  assert_true(back[0] == 0.0F && back[1] == 1.0F && back[3] == 122.5F);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_exact),
      cmocka_unit_test(rounding_goes_to_even_and_saturates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
