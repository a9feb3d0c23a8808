// SPDX-License-Identifier: Apache-2.0
// Convolution kernels for AVX2 and FMA: tiles of 4 output channels by 24 pixels (12 accumulators).
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv_kernels.h"
#include "kernels/gemm_simd.h"

#define V __m256
#define MASK uint32_t  // one bit per lane
#define WIDE __m256i
#define LANES 8
#define ROWS 4
#define VECS 3
#define MASKED_LOADS 0

INLINE MASK mask_of(uint32_t bits) {
  return bits;
}
INLINE WIDE expand(MASK m) {
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)m), lane), lane);
}
INLINE V zero(void) {
  return _mm256_setzero_ps();
}
INLINE V broadcast(float f) {
  return _mm256_set1_ps(f);
}
INLINE V load(const float *p) {
  return _mm256_loadu_ps(p);
}
INLINE V load_mask(MASK m, const float *p) {
  return _mm256_maskload_ps(p, expand(m));
}
INLINE V load_wide(WIDE m, const float *p) {
  return _mm256_maskload_ps(p, m);
}
INLINE void store(float *p, V v) {
  _mm256_storeu_ps(p, v);
}
// Masks are runs of lanes. A masked store is microcode on some processors, as slow as dozens of
// others: a whole vector is stored directly, a run in parts.
INLINE void store_mask(float *p, MASK m, V v) {
  if (m == 0xff) {
    store(p, v);
    return;
  }
  float lanes[LANES];
  store(lanes, v);
  int n = __builtin_popcount(m);
  int i = m ? __builtin_ctz(m) : 0;
  if (n & 4) {
    _mm_storeu_ps(p + i, _mm_loadu_ps(lanes + i));
    i += 4;
  }
  if (n & 2) {
    _mm_storel_pi((__m64 *)(p + i), _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(lanes + i)));
    i += 2;
  }
  if (n & 1) p[i] = lanes[i];
}
INLINE V add(V a, V b) {
  return _mm256_add_ps(a, b);
}
INLINE V mla(V a, V b, V c) {
  return _mm256_fmadd_ps(a, b, c);
}
INLINE float sum(V v) {
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}

INLINE void prefetch(const float *p) {
  _mm_prefetch((const char *)p, _MM_HINT_T1);
}
INLINE V evens(V a, V b) {
  __m256 v = _mm256_shuffle_ps(a, b, 0x88);  // a0 a2 b0 b2, a4 a6 b4 b6
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}

INLINE void collect(const ig_conv_pick *q, int64_t k, const float *s, const int64_t *off,
                    float *d) {
  for (int64_t p = 0; p < k; p++) {
    const float *from = s + off[p];
    float *to = d + p * LANES * VECS;
    for (int l = 0; l < LANES; l++) to[l] = from[q->index[l]];
  }
}

#include "kernels/conv_simd.inc"

const ig_conv_kernels ig_conv_kernels_avx2 = {
    .rows = ROWS,
    .lanes = LANES,
    .vectors = VECS,
    .packed = packed,
    .take = take,
    .direct = direct,
    .dots = dots,
    .pack = pack,
    .pack_same = pack_same,
    .depth = depth,
    .fill = fill,
};
