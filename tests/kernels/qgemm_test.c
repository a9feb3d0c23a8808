// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers: exact for all sizes and CPU levels, with full ranges of both
// operands.
#include "kernels/qgemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "kernels/qgemm_kernels.h"
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

// A tile against the portable one: every number of rows and steps, extremes of both operands, sums
// that there are already.
static void check_tile(ig_qgemm_tile_fn *tile) {
  enum { QUADS = 9, LDA = 4 * QUADS + 5, LD = IG_QGEMM_COLS + 3 };
  uint8_t a[IG_QGEMM_ROWS * LDA];
  int8_t b[4 * IG_QGEMM_COLS * QUADS];
  for (int i = 0; i < (int)sizeof a; i++) a[i] = (uint8_t)(i % 5 == 0 ? 255 : i * 91 % 256);
  for (int i = 0; i < (int)sizeof b; i++) b[i] = (int8_t)(i % 3 == 0 ? -128 : i * 57 % 256 - 128);
  for (int rows = 1; rows <= IG_QGEMM_ROWS; rows++) {
    for (int quads = 0; quads <= QUADS; quads++) {
      int32_t got[IG_QGEMM_ROWS * LD];
      int32_t want[IG_QGEMM_ROWS * LD];
      for (int i = 0; i < IG_QGEMM_ROWS * LD; i++) got[i] = want[i] = INT32_MAX - 1000 * i;
      tile(rows, quads, a, LDA, b, got, LD);
      ig_qgemm_tile_base(rows, quads, a, LDA, b, want, LD);
      assert_memory_equal(got, want, sizeof got);
    }
  }
}

static void tiles_agree(void **state) {
  (void)state;
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2) check_tile(ig_qgemm_tile_avx2);
  if (ig_cpu_has_dot8()) check_tile(ig_qgemm_tile_vnni_avx512);
#elif defined(__aarch64__)
  check_tile(ig_qgemm_tile_neon);
  if (ig_cpu_has_dot8()) check_tile(ig_qgemm_tile_neon_dot);
#else
  check_tile(ig_qgemm_tile_base);
#endif
}

// What comes before and after the products is the same to the bit with and without vectors. Scales
// are powers of two: a fused multiplication and addition rounds them alike.
enum { LENGTH = 77, TAPS = 9 };
typedef struct rows {
  uint8_t requantized[2][LENGTH];
  uint8_t binary[4][LENGTH];
  int32_t depth[2][LENGTH];
} rows;

static void fill_rows(rows *r) {
  memset(r, 0, sizeof *r);
  uint8_t x[TAPS][LENGTH];
  int32_t sums[LENGTH];
  float bias[LENGTH];
  float scale[LENGTH];
  int16_t w[TAPS * LENGTH];
  const uint8_t *taps[TAPS];
  for (int i = 0; i < LENGTH; i++) {
    sums[i] = (i * 7919 - 300000) * (i % 9);
    bias[i] = (float)(i % 5) * 0.5F;
    scale[i] = 1.0F / (float)(1 << (i % 12));
  }
  for (int t = 0; t < TAPS; t++) {
    taps[t] = x[t];
    for (int i = 0; i < LENGTH; i++) {
      x[t][i] = (uint8_t)(i * 37 + t * 101);
      w[t * LENGTH + i] = (int16_t)(i * 53 % 511 - 255 - t);
    }
  }
  for (int with = 0; with < 2; with++) {
    ig_requantize how = {
        .bias = with ? bias : NULL, .multiplier = scale, .zero = 3, .low = with, .high = 250};
    ig_requantize_rows(&how, sums, LENGTH, 1, 0, LENGTH, r->requantized[with], LENGTH);
  }
  ig_qbinary how = {{0.5F, 0.25F}, {7, 100}, 2, 9, 0, 255};
  ig_qadd_u8(&how, x[0], x[1], LENGTH, r->binary[0]);
  ig_qmul_u8(&how, x[0], x[1], LENGTH, r->binary[1]);
  how.low = -128;
  how.high = 127;
  ig_qadd_i8(&how, (int8_t *)x[2], (int8_t *)x[3], LENGTH, (int8_t *)r->binary[2]);
  ig_qmul_i8(&how, (int8_t *)x[2], (int8_t *)x[3], LENGTH, (int8_t *)r->binary[3]);
  for (int odd = 0; odd < 2; odd++) {
    int16_t *packed = malloc((size_t)ig_qdepth_size(LENGTH, TAPS - odd) * sizeof *packed);
    assert_non_null(packed);
    ig_qdepth_pack(LENGTH, TAPS - odd, w, packed);
    ig_qdepth(LENGTH, TAPS - odd, taps, packed, sums, r->depth[odd]);
    free(packed);
  }
}

static void rows_agree(void **state) {
  (void)state;
  ig_cpu best = ig_cpu_level();
  rows want;
  (void)ig_cpu_limit(IG_CPU_BASE);
  fill_rows(&want);
  for (int level = IG_CPU_BASE; level <= (int)best; level++) {
    rows got;
    (void)ig_cpu_limit((ig_cpu)level);
    fill_rows(&got);
    assert_memory_equal(&got, &want, sizeof got);
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
      cmocka_unit_test(tiles_agree),
      cmocka_unit_test(rows_agree),
      cmocka_unit_test(rounding_goes_to_even_and_saturates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
