// SPDX-License-Identifier: Apache-2.0
#include "kernels/qrow.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/qrow_kernels.h"

// The kernels with vectors of this machine.
#if defined(__x86_64__)
#define VECTOR_LEVEL IG_CPU_AVX2
#define VECTOR(name) name##_avx2
#elif defined(__aarch64__)
#define VECTOR_LEVEL IG_CPU_NEON
#define VECTOR(name) name##_neon
#endif

// Bounds are integers, so clamping comes before rounding; NaN becomes the upper one.
#define QUANTIZE(name, type, low, high)                                                          \
  IG_CLONES_NARROW void ig_quantize_##name(const float *x, int64_t n, float scale, int32_t zero, \
                                           type *q) {                                            \
    float inverse = 1.0F / scale;                                                                \
    float least = (float)((low)-zero);                                                           \
    float most = (float)((high)-zero);                                                           \
    for (int64_t i = 0; i < n; i++) {                                                            \
      float f = x[i] * inverse;                                                                  \
      f = f < most ? f : most;                                                                   \
      f = f > least ? f : least;                                                                 \
      q[i] = (type)((int32_t)nearbyintf(f) + zero);                                              \
    }                                                                                            \
  }
QUANTIZE(u8, uint8_t, 0, 255)
QUANTIZE(i8, int8_t, -128, 127)

void ig_quantize_i32(const float *x, int64_t n, float scale, int32_t zero, int32_t *q) {
  float inverse = 1.0F / scale;
  for (int64_t i = 0; i < n; i++) {
    double v = (double)((float)zero + nearbyintf(x[i] * inverse));
    q[i] = v >= 2147483647.0 ? INT32_MAX : v > -2147483648.0 ? (int32_t)v : INT32_MIN;
  }
}

#define DEQUANTIZE(name, type)                                                                    \
  IG_CLONES_NARROW void ig_dequantize_##name(const type *q, int64_t n, float scale, int32_t zero, \
                                             float *x) {                                          \
    for (int64_t i = 0; i < n; i++) {                                                             \
      x[i] = scale * (float)(int32_t)((uint32_t)q[i] - (uint32_t)zero);                           \
    }                                                                                             \
  }
DEQUANTIZE(u8, uint8_t)
DEQUANTIZE(i8, int8_t)
DEQUANTIZE(i32, int32_t)

// n elements of one row.
static void requantize(const ig_requantize *r, const int32_t *sums, int64_t col, int64_t n,
                       uint8_t *out) {
  float low = (float)(r->low - r->zero);
  float high = (float)(r->high - r->zero);
  for (int64_t i = 0; i < n; i++) {
    float f = (float)sums[i];
    if (r->bias) f += r->bias[col + i];
    f = nearbyintf(f * r->multiplier[col + i]);
    f = f > low ? f : low;
    f = f < high ? f : high;
    out[i] = (uint8_t)((int32_t)f + r->zero);
  }
}

void ig_requantize_rows(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                        int64_t col, int64_t n, uint8_t *out, int64_t to) {
#if defined(VECTOR)
  if (ig_cpu_level() >= VECTOR_LEVEL) {
    int64_t even = n / 16 * 16;
    VECTOR(ig_requantize_rows)(r, sums, ld, rows, col, even, out, to);
    for (int64_t i = 0; even < n && i < rows; i++) {
      requantize(r, sums + i * ld + even, col + even, n - even, out + i * to + even);
    }
    return;
  }
#endif
  for (int64_t i = 0; i < rows; i++) requantize(r, sums + i * ld, col, n, out + i * to);
}

IG_CLONES_NARROW void ig_rescale_row(const float *multiplier, const float *bias, float low,
                                     const int32_t *sums, int64_t n, float *out) {
  for (int64_t i = 0; i < n; i++) {
    float f = (float)sums[i] * multiplier[i] + (bias ? bias[i] : 0.0F);
    out[i] = f > low ? f : low;
  }
}

IG_CLONES_NARROW void ig_flip_sign(const uint8_t *x, int64_t n, uint8_t *out) {
  for (int64_t i = 0; i < n; i++) out[i] = x[i] ^ 0x80;
}

// ---- element by element

#define BINARY(name, type, is_signed, product, op)                                           \
  void name(const ig_qbinary *s, const type *x, const type *y, int64_t n, type *out) {       \
    int64_t i = by_vectors(s, is_signed, product, (const uint8_t *)x, (const uint8_t *)y, n, \
                           (uint8_t *)out);                                                  \
    for (; i < n; i++) {                                                                     \
      float a = ((float)x[i] - s->zero[0]) * s->scale[0];                                    \
      float b = ((float)y[i] - s->zero[1]) * s->scale[1];                                    \
      float f = nearbyintf((a op b)*s->inverse) + s->to;                                     \
      f = f > s->low ? f : s->low;                                                           \
      f = f < s->high ? f : s->high;                                                         \
      out[i] = (type)(int32_t)f;                                                             \
    }                                                                                        \
  }
// How many elements were computed.
static int64_t by_vectors(const ig_qbinary *s, bool is_signed, bool product, const uint8_t *x,
                          const uint8_t *y, int64_t n, uint8_t *out) {
#if defined(VECTOR)
  if (ig_cpu_level() >= VECTOR_LEVEL) {
    VECTOR(ig_qbinary)(s, is_signed, product, x, y, n / 16 * 16, out);
    return n / 16 * 16;
  }
#else
  (void)s, (void)is_signed, (void)product, (void)x, (void)y, (void)n, (void)out;
#endif
  return 0;
}
BINARY(ig_qadd_u8, uint8_t, false, false, +)
BINARY(ig_qadd_i8, int8_t, true, false, +)
BINARY(ig_qmul_u8, uint8_t, false, true, *)
BINARY(ig_qmul_i8, int8_t, true, true, *)

#define MAX(name, type)                                                       \
  IG_CLONES_NARROW void name(const type *x, int64_t n, type low, type *out) { \
    for (int64_t i = 0; i < n; i++) out[i] = x[i] > low ? x[i] : low;         \
  }
MAX(ig_qmax_u8, uint8_t)
MAX(ig_qmax_i8, int8_t)

// ---- convolutions of each channel with itself

enum { LANES = IG_QDEPTH_LANES };

int64_t ig_qdepth_size(int64_t channels, int64_t taps) {
  size_t blocks = (size_t)((channels + LANES - 1) / LANES);
  size_t n = ig_mem_mul(ig_mem_mul(blocks, (size_t)((taps + 1) / 2)), (size_t)(2 * LANES));
  return n > INT64_MAX / 4 ? -1 : (int64_t)n;
}

// [block of channels][two taps][channel][tap]
void ig_qdepth_pack(int64_t channels, int64_t taps, const int16_t *w, int16_t *to) {
  int64_t pairs = (taps + 1) / 2;
  memset(to, 0, (size_t)ig_qdepth_size(channels, taps) * sizeof *to);
  for (int64_t t = 0; t < taps; t++) {
    for (int64_t c = 0; c < channels; c++) {
      int16_t *block = to + ((c / LANES) * pairs + t / 2) * (2 * LANES);
      block[2 * (c % LANES) + t % 2] = w[t * channels + c];
    }
  }
}

// Channels [from, from + n) of one block.
static void depth_block(int64_t from, int64_t n, int64_t taps, const uint8_t *const *x,
                        const int16_t *w, const int32_t *first, int32_t *sums) {
  int64_t pairs = (taps + 1) / 2;
  const int16_t *block = w + from / LANES * pairs * (2 * LANES);
  int32_t acc[LANES];
  for (int64_t i = 0; i < n; i++) acc[i] = first[from + i];
  for (int64_t t = 0; t < taps; t++) {
    const int16_t *by = block + t / 2 * (2 * LANES) + t % 2;
    for (int64_t i = 0; i < n; i++) acc[i] += x[t][from + i] * by[2 * i];
  }
  for (int64_t i = 0; i < n; i++) sums[from + i] = acc[i];
}

void ig_qdepth(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
               const int32_t *first, int32_t *sums) {
  int64_t c = 0;
#if defined(VECTOR)
  if (ig_cpu_level() >= VECTOR_LEVEL) {
    c = channels / LANES * LANES;
    VECTOR(ig_qdepth)(c, taps, x, w, first, sums);
  }
#endif
  for (; c < channels; c += LANES) {
    depth_block(c, channels - c < LANES ? channels - c : LANES, taps, x, w, first, sums);
  }
}
