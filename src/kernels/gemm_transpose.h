// SPDX-License-Identifier: Apache-2.0
// Squares transposed in AVX registers: 8 x 8 floats, 4 x 4 doubles. Only for files compiled with
// AVX.
#ifndef KERNELS_GEMM_TRANSPOSE_H_
#define KERNELS_GEMM_TRANSPOSE_H_

#if defined(__AVX__)
#include <immintrin.h>
#include <stdint.h>

// dst[p*ds + j] = src[j*ss + p] for p, j < 8; row j of src is `rows` - 1 where it has no more.
// Halves are joined while loading, which leaves only shuffles inside 128-bit lanes.
static inline void ig_transpose_f32(const float *src, int64_t ss, int rows, float *dst,
                                    int64_t ds) {
  __m256 r[8];
  __m256 t[8];
  for (int i = 0; i < 4; i++) {
    const float *lo = src + (i < rows ? i : rows - 1) * ss;
    const float *hi = src + (i + 4 < rows ? i + 4 : rows - 1) * ss;
    r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lo)), _mm_loadu_ps(hi), 1);
    r[i + 4] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(lo + 4)), _mm_loadu_ps(hi + 4), 1);
  }
  for (int i = 0; i < 8; i += 4) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    t[i + 2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
    t[i + 3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    _mm256_storeu_ps(dst + i * ds, _mm256_shuffle_ps(t[i], t[i + 2], 0x44));
    _mm256_storeu_ps(dst + (i + 1) * ds, _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
    _mm256_storeu_ps(dst + (i + 2) * ds, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44));
    _mm256_storeu_ps(dst + (i + 3) * ds, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee));
  }
}

// The same for p, j < 4.
static inline void ig_transpose_f64(const double *src, int64_t ss, int rows, double *dst,
                                    int64_t ds) {
  __m256d r[4];
  for (int i = 0; i < 2; i++) {
    const double *lo = src + (i < rows ? i : rows - 1) * ss;
    const double *hi = src + (i + 2 < rows ? i + 2 : rows - 1) * ss;
    r[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(lo)), _mm_loadu_pd(hi), 1);
    r[i + 2] =
        _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(lo + 2)), _mm_loadu_pd(hi + 2), 1);
  }
  for (int i = 0; i < 4; i += 2) {
    _mm256_storeu_pd(dst + i * ds, _mm256_unpacklo_pd(r[i], r[i + 1]));
    _mm256_storeu_pd(dst + (i + 1) * ds, _mm256_unpackhi_pd(r[i], r[i + 1]));
  }
}
#endif

#endif
