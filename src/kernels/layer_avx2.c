// SPDX-License-Identifier: Apache-2.0
// Layers for AVX2 and FMA: blocks of 8 channels, tiles of 6 pixels by 16 outputs or 4 by 24 (12
// accumulators, 3 weights, 1 broadcast: the 16 registers).
#include <immintrin.h>

#include "kernels/gemm_simd.h"
#include "kernels/layer_kernels.h"

#define LANES 8
#define TILE_12 6
#define TILE_3 4
// Rows by the number of vectors.
// clang-format off
#define EACH_TILE(X) \
  X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) \
  X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) \
  X(1, 3) X(2, 3) X(3, 3) X(4, 3)
// clang-format on
typedef __m256 V;
#define MINMAX
#define splat(f) _mm256_set1_ps(f)
#define largest(a, b) _mm256_max_ps(a, b)
#define smallest(a, b) _mm256_min_ps(a, b)

// In assembly because gcc moves accumulators between registers otherwise, and then spills some.
INLINE void mla(__m256 *sum, __m256 a, __m256 b) {
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}
INLINE void prefetch(const char *p) {
  _mm_prefetch(p, _MM_HINT_T1);
}

#define WIDE 2
INLINE __m256 halves(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
#define pairs(a, b) (VI) _mm256_madd_epi16((__m256i)(a), (__m256i)(b))

#include "kernels/layer_simd.inc"

const ig_layer_kernels ig_layer_kernels_avx2 = LAYER_KERNELS;
