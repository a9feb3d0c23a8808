// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_simd.h"
#include "kernels/qgemm_kernels.h"

INLINE __m256i four_of(const uint8_t *a) {
  int32_t four = 0;
  memcpy(&four, a, sizeof four);
  return _mm256_set1_epi32(four);
}
INLINE __m256i load(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}
INLINE void store(void *p, __m256i v) {
  _mm256_storeu_si256((__m256i *)p, v);
}

// Eight columns of four steps each: b is given as it is, or as its even and odd elements of 16
// bits.
INLINE __m256i dot_bounded(__m256i acc, __m256i x, __m256i b) {
  __m256i pairs = _mm256_maddubs_epi16(x, b);
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE void tile_bounded(int rows, int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b,
                         int32_t *sums, int64_t ld) {
  __m256i acc[IG_QGEMM_ROWS][2];
  UNROLL(6)
  for (int r = 0; r < rows; r++) {
    acc[r][0] = load(sums + r * ld);
    acc[r][1] = load(sums + r * ld + 8);
  }
  for (int64_t p = 0; p < quads; p++) {
    __m256i b0 = load(b);
    __m256i b1 = load(b + 32);
    b += 64;
    UNROLL(6)
    for (int r = 0; r < rows; r++) {
      __m256i x = four_of(a + r * lda + 4 * p);
      acc[r][0] = dot_bounded(acc[r][0], x, b0);
      acc[r][1] = dot_bounded(acc[r][1], x, b1);
    }
  }
  UNROLL(6)
  for (int r = 0; r < rows; r++) {
    store(sums + r * ld, acc[r][0]);
    store(sums + r * ld + 8, acc[r][1]);
  }
}

INLINE void tile_exact(int rows, int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b,
                       int32_t *sums, int64_t ld) {
  __m256i acc[IG_QGEMM_ROWS][2];
  const __m256i low = _mm256_set1_epi16(0xff);
  UNROLL(6)
  for (int r = 0; r < rows; r++) {
    acc[r][0] = load(sums + r * ld);
    acc[r][1] = load(sums + r * ld + 8);
  }
  for (int64_t p = 0; p < quads; p++) {
    // One half of the columns after the other: all registers are in use.
    UNROLL(2)
    for (int h = 0; h < 2; h++) {
      __m256i both = load(b + 32 * h);
      __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(both, 8), 8);
      __m256i odd = _mm256_srai_epi16(both, 8);
      UNROLL(6)
      for (int r = 0; r < rows; r++) {
        __m256i x = four_of(a + r * lda + 4 * p);
        __m256i sum = _mm256_madd_epi16(_mm256_and_si256(x, low), even);
        __m256i more = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), odd);
        acc[r][h] = _mm256_add_epi32(acc[r][h], _mm256_add_epi32(sum, more));
      }
    }
    b += 64;
  }
  UNROLL(6)
  for (int r = 0; r < rows; r++) {
    store(sums + r * ld, acc[r][0]);
    store(sums + r * ld + 8, acc[r][1]);
  }
}

#define BY_ROWS(name, tile)                                                          \
  void name(int rows, int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b, \
            int32_t *sums, int64_t ld) {                                             \
    switch (rows) {                                                                  \
      case 6:                                                                        \
        tile(6, quads, a, lda, b, sums, ld);                                         \
        break;                                                                       \
      case 5:                                                                        \
        tile(5, quads, a, lda, b, sums, ld);                                         \
        break;                                                                       \
      case 4:                                                                        \
        tile(4, quads, a, lda, b, sums, ld);                                         \
        break;                                                                       \
      case 3:                                                                        \
        tile(3, quads, a, lda, b, sums, ld);                                         \
        break;                                                                       \
      case 2:                                                                        \
        tile(2, quads, a, lda, b, sums, ld);                                         \
        break;                                                                       \
      default:                                                                       \
        tile(1, quads, a, lda, b, sums, ld);                                         \
    }                                                                                \
  }
BY_ROWS(ig_qgemm_tile_bounded_avx2, tile_bounded)
BY_ROWS(ig_qgemm_tile_avx2, tile_exact)
#endif
