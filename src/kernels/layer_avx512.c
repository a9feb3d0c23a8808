// SPDX-License-Identifier: Apache-2.0
// Layers for AVX-512: blocks of 16 channels, tiles of 12 pixels by 32 outputs or 8 by 48 (24
// accumulators).
#include <immintrin.h>

#include "kernels/gemm_simd.h"
#include "kernels/layer_kernels.h"

#define LANES 16
#define TILE_12 12
#define TILE_3 8
// Rows by the number of vectors.
// clang-format off
#define EACH_TILE(X) \
  X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(12, 1) \
  X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(9, 2) X(10, 2) X(11, 2) X(12, 2) \
  X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3)
// clang-format on
typedef __m512 V;
#define MINMAX
#define splat(f) _mm512_set1_ps(f)
#define largest(a, b) _mm512_max_ps(a, b)
#define smallest(a, b) _mm512_min_ps(a, b)

INLINE void mla(__m512 *sum, __m512 a, __m512 b) {
  __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}
INLINE void prefetch(const char *p) {
  _mm_prefetch(p, _MM_HINT_T1);
}

#define WIDE 4
INLINE __m512 halves(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
#define pairs(a, b) (VI) _mm512_madd_epi16((__m512i)(a), (__m512i)(b))
// The integer in bits [4 i, 4 i + 4) of each word.
#define nibbles(w, i)                                                         \
  _mm512_permutexvar_ps(_mm512_srli_epi32((__m512i)(w), (unsigned)(4 * (i))), \
                        _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1))

#include "kernels/layer_simd.inc"

const ig_layer_kernels ig_layer_kernels_avx512 = LAYER_KERNELS;
