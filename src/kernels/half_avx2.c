// SPDX-License-Identifier: Apache-2.0
// float16 to and from f32 by the instructions that AVX2 machines have for it.
#include <immintrin.h>

#include "kernels/reduce_elem.h"

void ig_f16_widen_avx2(const uint16_t *src, float *dst, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
  for (; i < n; i++) dst[i] = ig_f16_get(src[i]);
}

void ig_f16_narrow_avx2(const float *src, uint16_t *dst, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(dst + i), h);
  }
  for (; i < n; i++) dst[i] = ig_f16_put(src[i]);
}
