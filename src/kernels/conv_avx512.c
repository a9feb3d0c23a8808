// SPDX-License-Identifier: Apache-2.0
// Convolution kernels for AVX-512: tiles of 8 output channels by 48 pixels (24 accumulators).
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv_kernels.h"
#include "kernels/gemm_simd.h"

#define V __m512
#define MASK __mmask16
#define WIDE __mmask16
#define LANES 16
#define ROWS 8
#define VECS 3
#define MASKED_LOADS 1

INLINE MASK mask_of(uint32_t bits) {
  return (__mmask16)bits;
}
INLINE WIDE expand(MASK m) {
  return m;
}
INLINE V zero(void) {
  return _mm512_setzero_ps();
}
INLINE V broadcast(float f) {
  return _mm512_set1_ps(f);
}
INLINE V load(const float *p) {
  return _mm512_loadu_ps(p);
}
INLINE V load_mask(MASK m, const float *p) {
  return _mm512_maskz_loadu_ps(m, p);
}
INLINE V load_wide(WIDE m, const float *p) {
  return _mm512_maskz_loadu_ps(m, p);
}
INLINE void store(float *p, V v) {
  _mm512_storeu_ps(p, v);
}
INLINE void store_mask(float *p, MASK m, V v) {
  _mm512_mask_storeu_ps(p, m, v);
}
INLINE V add(V a, V b) {
  return _mm512_add_ps(a, b);
}
INLINE V mla(V a, V b, V c) {
  return _mm512_fmadd_ps(a, b, c);
}
INLINE float sum(V v) {
  return _mm512_reduce_add_ps(v);
}

INLINE void prefetch(const float *p) {
  _mm_prefetch((const char *)p, _MM_HINT_T1);
}
INLINE V evens(V a, V b) {
  const __m512i index =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, index, b);
}

// Pixels with gaps between them: two loads and a permutation where they reach, else a gather.
INLINE void collect(const ig_conv_pick *q, int64_t k, const float *s, const int64_t *off,
                    float *d) {
  __m512i index = _mm512_loadu_si512(q->index);
  MASK use = (__mmask16)((1U << q->count) - 1U);
  if (q->span > 2 * LANES) {
    for (int64_t p = 0; p < k; p++)
      _mm512_storeu_ps(d + p * LANES * VECS,
                       _mm512_mask_i32gather_ps(zero(), use, index, s + off[p], 4));
    return;
  }
  int high = q->span - LANES;
  MASK m0 = (__mmask16)(high >= 0 ? 0xffffU : (1U << q->span) - 1U);
  MASK m1 = (__mmask16)(high > 0 ? (1U << high) - 1U : 0U);
  for (int64_t p = 0; p < k; p++) {
    V lo = _mm512_maskz_loadu_ps(m0, s + off[p]);
    V hi = _mm512_maskz_loadu_ps(m1, s + off[p] + LANES);
    _mm512_storeu_ps(d + p * LANES * VECS, _mm512_maskz_permutex2var_ps(use, lo, index, hi));
  }
}

#include "kernels/conv_simd.inc"

const ig_conv_kernels ig_conv_kernels_avx512 = {
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
    .depth_same = depth_same,
    .fill = fill,
};
