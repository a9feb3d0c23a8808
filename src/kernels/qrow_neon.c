// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "kernels/gemm_simd.h"
#include "kernels/qrow_kernels.h"

// Sixteen integers that fit bytes: their lowest ones.
INLINE void store_bytes(const int32x4_t v[4], uint8_t *out) {
  int16x8_t low = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1]));
  int16x8_t high = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));
  vst1q_u8(out, vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high))));
}

// Rounded within bounds. The bounds are integers, so they come first; of NaN the number is left.
INLINE int32x4_t bounded(float32x4_t f, float low, float high, int32_t zero) {
  f = vminnmq_f32(vmaxnmq_f32(f, vdupq_n_f32(low)), vdupq_n_f32(high));
  return vaddq_s32(vcvtnq_s32_f32(f), vdupq_n_s32(zero));
}

void ig_requantize_rows_neon(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                             int64_t col, int64_t n, uint8_t *out, int64_t to) {
  const float low = (float)(r->low - r->zero);
  const float high = (float)(r->high - r->zero);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < n; j += 16) {
      int32x4_t v[4];
      UNROLL(4)
      for (int q = 0; q < 4; q++) {
        int64_t at = col + j + 4 * q;
        float32x4_t f = vcvtq_f32_s32(vld1q_s32(sums + i * ld + j + 4 * q));
        if (r->bias) f = vaddq_f32(f, vld1q_f32(r->bias + at));
        v[q] = bounded(vmulq_f32(f, vld1q_f32(r->multiplier + at)), low, high, r->zero);
      }
      store_bytes(v, out + i * to + j);
    }
  }
}

// Sixteen bytes as integers.
INLINE void widened(const uint8_t *x, bool is_signed, int32x4_t v[4]) {
  uint8x16_t bytes = vld1q_u8(x);
  int16x8_t low;
  int16x8_t high;
  if (is_signed) {
    low = vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(bytes)));
    high = vmovl_high_s8(vreinterpretq_s8_u8(bytes));
  } else {
    low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
    high = vreinterpretq_s16_u16(vmovl_high_u8(bytes));
  }
  v[0] = vmovl_s16(vget_low_s16(low));
  v[1] = vmovl_high_s16(low);
  v[2] = vmovl_s16(vget_low_s16(high));
  v[3] = vmovl_high_s16(high);
}

// The product is rounded before anything is added to it, as in portable code.
INLINE float32x4_t number(int32x4_t q, float zero, float scale) {
  float32x4_t f = vsubq_f32(vcvtq_f32_s32(q), vdupq_n_f32(zero));
  f = vmulq_f32(f, vdupq_n_f32(scale));
  __asm__("" : "+w"(f));
  return f;
}

INLINE void binary(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                   const uint8_t *y, int64_t n, uint8_t *out) {
  for (int64_t i = 0; i < n; i += 16) {
    int32x4_t v[4];
    int32x4_t w[4];
    widened(x + i, is_signed, v);
    widened(y + i, is_signed, w);
    UNROLL(4)
    for (int q = 0; q < 4; q++) {
      float32x4_t a = number(v[q], s->zero[0], s->scale[0]);
      float32x4_t b = number(w[q], s->zero[1], s->scale[1]);
      float32x4_t f =
          vmulq_f32(product ? vmulq_f32(a, b) : vaddq_f32(a, b), vdupq_n_f32(s->inverse));
      v[q] = bounded(f, s->low - s->to, s->high - s->to, (int32_t)s->to);
    }
    store_bytes(v, out + i);
  }
}

void ig_qbinary_neon(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                     const uint8_t *y, int64_t n, uint8_t *out) {
  const ig_qbinary v = *s;
  if (is_signed) {
    product ? binary(&v, true, true, x, y, n, out) : binary(&v, true, false, x, y, n, out);
  } else {
    product ? binary(&v, false, true, x, y, n, out) : binary(&v, false, false, x, y, n, out);
  }
}

// acc += x w for sixteen channels
INLINE void add_tap(int32x4_t acc[4], const uint8_t *x, int16x8_t low, int16x8_t high) {
  uint8x16_t bytes = vld1q_u8(x);
  int16x8_t a = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
  int16x8_t b = vreinterpretq_s16_u16(vmovl_high_u8(bytes));
  acc[0] = vmlal_s16(acc[0], vget_low_s16(a), vget_low_s16(low));
  acc[1] = vmlal_high_s16(acc[1], a, low);
  acc[2] = vmlal_s16(acc[2], vget_low_s16(b), vget_low_s16(high));
  acc[3] = vmlal_high_s16(acc[3], b, high);
}

// Of each two taps the weights of a channel lie side by side; loading takes them apart.
void ig_qdepth_neon(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
                    const int32_t *first, int32_t *sums) {
  for (int64_t c = 0; c < channels; c += IG_QDEPTH_LANES) {
    int32x4_t acc[4];
    UNROLL(4)
    for (int q = 0; q < 4; q++) acc[q] = vld1q_s32(first + c + 4 * q);
    for (int64_t t = 0; t < taps; t += 2, w += 2 * IG_QDEPTH_LANES) {
      int16x8x2_t low = vld2q_s16(w);
      int16x8x2_t high = vld2q_s16(w + IG_QDEPTH_LANES);
      add_tap(acc, x[t] + c, low.val[0], high.val[0]);
      if (t + 1 < taps) add_tap(acc, x[t + 1] + c, low.val[1], high.val[1]);
    }
    UNROLL(4)
    for (int q = 0; q < 4; q++) vst1q_s32(sums + c + 4 * q, acc[q]);
  }
}
