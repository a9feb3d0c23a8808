// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "kernels/transpose.h"

static void square_4(char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  __m256 r[8];
  __m256 t[8];
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps((const float *)(from + i * from_stride));
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    __m256 low = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    __m256 high = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    _mm256_storeu_ps((float *)(to + i * to_stride), low);
    _mm256_storeu_ps((float *)(to + (i + 4) * to_stride), high);
  }
}

void ig_transpose_4_avx2(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; j += 8) {
    for (int64_t i = 0; i < n; i += 8) {
      square_4(to + j * to_stride + i * 4, to_stride, from + i * from_stride + j * 4, from_stride);
    }
  }
}

static void square_8(char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  __m256d a = _mm256_loadu_pd((const double *)from);
  __m256d b = _mm256_loadu_pd((const double *)(from + from_stride));
  __m256d c = _mm256_loadu_pd((const double *)(from + 2 * from_stride));
  __m256d d = _mm256_loadu_pd((const double *)(from + 3 * from_stride));
  __m256d ab_even = _mm256_unpacklo_pd(a, b);
  __m256d ab_odd = _mm256_unpackhi_pd(a, b);
  __m256d cd_even = _mm256_unpacklo_pd(c, d);
  __m256d cd_odd = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd((double *)to, _mm256_permute2f128_pd(ab_even, cd_even, 0x20));
  _mm256_storeu_pd((double *)(to + to_stride), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20));
  _mm256_storeu_pd((double *)(to + 2 * to_stride), _mm256_permute2f128_pd(ab_even, cd_even, 0x31));
  _mm256_storeu_pd((double *)(to + 3 * to_stride), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31));
}

void ig_transpose_8_avx2(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                         int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; j += 4) {
    for (int64_t i = 0; i < n; i += 4) {
      square_8(to + j * to_stride + i * 8, to_stride, from + i * from_stride + j * 8, from_stride);
    }
  }
}
