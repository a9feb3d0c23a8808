// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/gemm_simd.h"
#include "kernels/qrow_kernels.h"

INLINE __m256i load(const void *p) {
  return _mm256_loadu_si256((const __m256i *)p);
}

// Sixteen integers that fit bytes.
INLINE void store_bytes(__m256i x, __m256i y, uint8_t *out) {
  const __m256i byte = _mm256_set1_epi32(0xff);
  __m256i half = _mm256_packus_epi32(_mm256_and_si256(x, byte), _mm256_and_si256(y, byte));
  half = _mm256_permute4x64_epi64(half, 0xd8);
  __m128i all = _mm_packus_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  _mm_storeu_si128((__m128i *)(void *)out, all);
}

typedef struct bounds {
  __m256 low;
  __m256 high;
  __m256i zero;
} bounds;

// Eight sums as integers within bounds, which come before rounding: they are integers.
INLINE __m256i eight(const ig_requantize *r, const int32_t *sums, int64_t col, const bounds *b) {
  __m256 f = _mm256_cvtepi32_ps(load(sums));
  if (r->bias) f = _mm256_add_ps(f, _mm256_loadu_ps(r->bias + col));
  f = _mm256_mul_ps(f, _mm256_loadu_ps(r->multiplier + col));
  f = _mm256_min_ps(_mm256_max_ps(f, b->low), b->high);
  return _mm256_add_epi32(_mm256_cvtps_epi32(f), b->zero);
}

void ig_requantize_rows_avx2(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                             int64_t col, int64_t n, uint8_t *out, int64_t to) {
  bounds b = {_mm256_set1_ps((float)(r->low - r->zero)), _mm256_set1_ps((float)(r->high - r->zero)),
              _mm256_set1_epi32(r->zero)};
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < n; j += 16) {
      const int32_t *from = sums + i * ld + j;
      __m256i x = eight(r, from, col + j, &b);
      store_bytes(x, eight(r, from + 8, col + j + 8, &b), out + i * to + j);
    }
  }
}

INLINE __m256 number(const uint8_t *x, bool is_signed, float zero, float scale) {
  __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)x);
  __m256i q = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  __m256 f = _mm256_sub_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(zero));
  return _mm256_mul_ps(f, _mm256_set1_ps(scale));
}

INLINE __m256i eight_of(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                        const uint8_t *y) {
  __m256 a = number(x, is_signed, s->zero[0], s->scale[0]);
  __m256 b = number(y, is_signed, s->zero[1], s->scale[1]);
  __m256 f = product ? _mm256_mul_ps(a, b) : _mm256_add_ps(a, b);
  f = _mm256_mul_ps(f, _mm256_set1_ps(s->inverse));
  f = _mm256_max_ps(f, _mm256_set1_ps(s->low - s->to));
  f = _mm256_min_ps(f, _mm256_set1_ps(s->high - s->to));
  return _mm256_add_epi32(_mm256_cvtps_epi32(f), _mm256_set1_epi32((int32_t)s->to));
}

INLINE void binary(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                   const uint8_t *y, int64_t n, uint8_t *out) {
  const ig_qbinary v = *s;
  for (int64_t i = 0; i < n; i += 16) {
    __m256i first = eight_of(&v, is_signed, product, x + i, y + i);
    __m256i second = eight_of(&v, is_signed, product, x + i + 8, y + i + 8);
    store_bytes(first, second, out + i);
  }
}

void ig_qbinary_avx2(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                     const uint8_t *y, int64_t n, uint8_t *out) {
  if (is_signed) {
    product ? binary(s, true, true, x, y, n, out) : binary(s, true, false, x, y, n, out);
  } else {
    product ? binary(s, false, true, x, y, n, out) : binary(s, false, false, x, y, n, out);
  }
}

INLINE __m256i widened(const uint8_t *x) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x));
}

// Sixteen channels: the elements of two taps side by side, multiplied and added in pairs. Unpacking
// works in halves of registers, so sums are in another order until the end.
void ig_qdepth_avx2(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
                    const int32_t *first, int32_t *sums) {
  int64_t pairs = (taps + 1) / 2;
  for (int64_t c = 0; c < channels; c += IG_QDEPTH_LANES) {
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    for (int64_t t = 0; t < pairs; t++, w += 2 * IG_QDEPTH_LANES) {
      __m256i a = widened(x[2 * t] + c);
      __m256i b = 2 * t + 1 < taps ? widened(x[2 * t + 1] + c) : _mm256_setzero_si256();
      // Weights of channels 0-7 and 8-15, brought into the order of the unpacked elements.
      __m256i w0 = load(w);
      __m256i w1 = load(w + 16);
      __m256i by_low = _mm256_permute2x128_si256(w0, w1, 0x20);
      __m256i by_high = _mm256_permute2x128_si256(w0, w1, 0x31);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), by_low));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), by_high));
    }
    __m256i s0 = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), load(first + c));
    __m256i s1 = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x31), load(first + c + 8));
    _mm256_storeu_si256((__m256i *)(void *)(sums + c), s0);
    _mm256_storeu_si256((__m256i *)(void *)(sums + c + 8), s1);
  }
}
#endif
