// SPDX-License-Identifier: Apache-2.0
// The AVX-512 tables: tiles of 6 x 64 floats and 6 x 32 doubles: 24 sums, 4 vectors of B, 1 of A.
// Of the shapes that fill the registers this one has the fewest loads per multiplication.
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_kernels.h"
#include "kernels/gemm_simd.h"
#include "kernels/gemm_transpose.h"

#define MR 6
#define NV 4
#define DR 4
#define AXPY_DEPTH 8
#define KC 384
#define KC_STREAM 768
#define SHARE 4
#define PASS false

// out[j] = the sum of the j-th vector, by the same additions as _mm512_reduce_add_ps.
static inline void store_sums(__m128 a, __m128 b, __m128 c, __m128 d, float *out) {
  __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
  __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
  _mm_storeu_ps(out, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
}
static inline __m128 quarter_ps(__m512 v) {
  __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}

#define X float
#define NAME(x) x##_f32
#define V __m512
#define VL 16
#define ZERO() _mm512_setzero_ps()
#define SET1(x) _mm512_set1_ps(x)
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUM(v) _mm512_reduce_add_ps(v)
#define SUM4(v, out) \
  store_sums(quarter_ps((v)[0]), quarter_ps((v)[1]), quarter_ps((v)[2]), quarter_ps((v)[3]), out)
#define MASK __mmask16
#define MASK_OF(n) ((__mmask16)(0xffffu >> (16 - (n))))
#define MLOAD(m, p) _mm512_maskz_loadu_ps(m, p)
#define MSTORE(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define T 8
#define transpose_f32 ig_transpose_f32
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f32 ig_gemm_f32_avx512 = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X double
#define NAME(x) x##_f64
#define V __m512d
#define VL 8
#define ZERO() _mm512_setzero_pd()
#define SET1(x) _mm512_set1_pd(x)
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define ADD(a, b) _mm512_add_pd(a, b)
#define SUM(v) _mm512_reduce_add_pd(v)
#define MASK __mmask8
#define MASK_OF(n) ((__mmask8)(0xffu >> (8 - (n))))
#define MLOAD(m, p) _mm512_maskz_loadu_pd(m, p)
#define MSTORE(p, m, v) _mm512_mask_storeu_pd(p, m, v)
#define T 4
#define transpose_f64 ig_transpose_f64
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f64 ig_gemm_f64_avx512 = TABLE;
