// SPDX-License-Identifier: Apache-2.0
// AVX-512 VNNI: four products and their sum by one instruction, without saturation. Sixteen columns
// are one register.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_simd.h"
#include "kernels/qgemm_kernels.h"

#define VNNI __attribute__((target("avx512vnni")))

#define TILE(rows)                                                                            \
  VNNI static void tile_##rows(int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b, \
                               int32_t *sums, int64_t ld) {                                   \
    __m512i acc[rows];                                                                        \
    UNROLL(6)                                                                                 \
    for (int r = 0; r < (rows); r++) acc[r] = _mm512_loadu_si512(sums + r * ld);              \
    for (int64_t p = 0; p < quads; p++) {                                                     \
      __m512i w = _mm512_loadu_si512(b + 64 * p);                                             \
      UNROLL(6)                                                                               \
      for (int r = 0; r < (rows); r++) {                                                      \
        int32_t four = 0;                                                                     \
        memcpy(&four, a + r * lda + 4 * p, sizeof four);                                      \
        acc[r] = _mm512_dpbusd_epi32(acc[r], _mm512_set1_epi32(four), w);                     \
      }                                                                                       \
    }                                                                                         \
    UNROLL(6)                                                                                 \
    for (int r = 0; r < (rows); r++) _mm512_storeu_si512(sums + r * ld, acc[r]);              \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

void ig_qgemm_tile_vnni_avx512(int rows, int64_t quads, const uint8_t *a, int64_t lda,
                               const int8_t *b, int32_t *sums, int64_t ld) {
  static void (*const tiles[])(int64_t, const uint8_t *, int64_t, const int8_t *, int32_t *,
                               int64_t) = {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};
  tiles[rows - 1](quads, a, lda, b, sums, ld);
}
#endif
