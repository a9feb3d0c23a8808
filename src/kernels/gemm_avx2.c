// SPDX-License-Identifier: Apache-2.0
// The AVX2 and FMA tables: tiles of 6 x 16 floats and 6 x 8 doubles (12 sums, 2 rows of B, 1 of A).
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_kernels.h"
#include "kernels/gemm_simd.h"
#include "kernels/gemm_transpose.h"

#define MR 6
#define NV 2
#define DR 2
#define AXPY_DEPTH 4
#define KC 512
#define KC_STREAM 256
#define SHARE 6
#define PASS true

// A mask is the number of its lanes. A masked store is microcode on some processors, as slow as
// dozens of others: a whole vector is stored directly, a part of one in steps.
static inline __m256i mask32(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline __m256i mask64(int n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline void put_ps(float *p, int n, __m256 v) {
  if (n == 8) {
    _mm256_storeu_ps(p, v);
    return;
  }
  __m128 x = _mm256_castps256_ps128(v);
  if (n & 4) {
    _mm_storeu_ps(p, x);
    x = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi((__m64 *)p, x);
    x = _mm_movehl_ps(x, x);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, x);
}
static inline void put_pd(double *p, int n, __m256d v) {
  if (n == 4) {
    _mm256_storeu_pd(p, v);
    return;
  }
  __m128d x = _mm256_castpd256_pd128(v);
  if (n & 2) {
    _mm_storeu_pd(p, x);
    x = _mm256_extractf128_pd(v, 1);
    p += 2;
  }
  if (n & 1) _mm_store_sd(p, x);
}
static inline float sum_ps(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
// out[j] = sum_ps of the j-th vector, by the same additions.
static inline void store_sums(__m128 a, __m128 b, __m128 c, __m128 d, float *out) {
  __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  _mm_storeu_ps(out, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
}
static inline __m128 half_ps(__m256 v) {
  return _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
}
static inline double sum_pd(__m256d v) {
  __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

#define X float
#define NAME(x) x##_f32
#define V __m256
#define VL 8
#define ZERO() _mm256_setzero_ps()
#define SET1(x) _mm256_set1_ps(x)
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SUM(v) sum_ps(v)
#define SUM4(v, out) \
  store_sums(half_ps((v)[0]), half_ps((v)[1]), half_ps((v)[2]), half_ps((v)[3]), out)
#define MASK int
#define MASK_OF(n) (n)
#define MLOAD(m, p) _mm256_maskload_ps(p, mask32(m))
#define MSTORE(p, m, v) put_ps(p, m, v)
#define T 8
#define transpose_f32 ig_transpose_f32
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f32 ig_gemm_f32_avx2 = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X double
#define NAME(x) x##_f64
#define V __m256d
#define VL 4
#define ZERO() _mm256_setzero_pd()
#define SET1(x) _mm256_set1_pd(x)
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define ADD(a, b) _mm256_add_pd(a, b)
#define SUM(v) sum_pd(v)
#define MASK int
#define MASK_OF(n) (n)
#define MLOAD(m, p) _mm256_maskload_pd(p, mask64(m))
#define MSTORE(p, m, v) put_pd(p, m, v)
#define T 4
#define transpose_f64 ig_transpose_f64
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f64 ig_gemm_f64_avx2 = TABLE;
