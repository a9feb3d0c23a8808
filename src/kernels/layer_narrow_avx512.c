// SPDX-License-Identifier: Apache-2.0
// Products of words in linear layers by the instructions that some processors with AVX-512 have:
// VNNI for four products of 8-bit integers, BF16 for two of bf16.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/gemm_simd.h"
#include "kernels/layer_kernels.h"

enum { WIDE = 4, LANES = 16 };

#define VNNI __attribute__((target("avx512vnni")))
#define BF16 __attribute__((target("avx512bf16")))

#define EIGHT(sum, x, w) _mm512_dpbusd_epi32(sum, x, w)
#define SIXTEEN(sum, x, w) \
  _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sum), (__m512bh)(x), (__m512bh)(w)))

#define TILE(P, name, target, DOT)                                                 \
  target static void name##_##P(const ig_rows_dots *d) {                           \
    __m512i r[P][WIDE];                                                            \
    UNROLL(6)                                                                      \
    for (int p = 0; p < (P); p++) {                                                \
      UNROLL(4)                                                                    \
      for (int j = 0; j < WIDE; j++) r[p][j] = _mm512_setzero_si512();             \
    }                                                                              \
    const uint32_t *w = d->w;                                                      \
    for (int64_t u = 0; u < d->units; u++, w += WIDE * LANES) {                    \
      __m512i v[WIDE];                                                             \
      UNROLL(4)                                                                    \
      for (int j = 0; j < WIDE; j++) v[j] = _mm512_loadu_si512(w + j * LANES);     \
      UNROLL(6)                                                                    \
      for (int p = 0; p < (P); p++) {                                              \
        __m512i x = _mm512_set1_epi32((int)d->x[p * d->x_row + u]);                \
        UNROLL(4)                                                                  \
        for (int j = 0; j < WIDE; j++) r[p][j] = DOT(r[p][j], x, v[j]);            \
      }                                                                            \
    }                                                                              \
    UNROLL(6)                                                                      \
    for (int p = 0; p < (P); p++) {                                                \
      UNROLL(4)                                                                    \
      for (int j = 0; j < WIDE; j++)                                               \
        _mm512_storeu_si512((int32_t *)d->sums + (p * WIDE + j) * LANES, r[p][j]); \
    }                                                                              \
  }
#define TILES(name, target, DOT)                                                             \
  TILE(1, name, target, DOT)                                                                 \
  TILE(2, name, target, DOT)                                                                 \
  TILE(3, name, target, DOT)                                                                 \
  TILE(4, name, target, DOT)                                                                 \
  TILE(5, name, target, DOT)                                                                 \
  TILE(6, name, target, DOT)                                                                 \
  static void (*const name##_tiles[])(const ig_rows_dots *) = {name##_1, name##_2, name##_3, \
                                                               name##_4, name##_5, name##_6};

TILES(bytes, VNNI, EIGHT)
TILES(halves, BF16, SIXTEEN)

void ig_rows_dots8_vnni_avx512(const ig_rows_dots *d) {
  bytes_tiles[d->rows - 1](d);
}

void ig_rows_dots_bf16_avx512(const ig_rows_dots *d) {
  halves_tiles[d->rows - 1](d);
}
#endif
