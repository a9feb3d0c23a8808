// SPDX-License-Identifier: Apache-2.0
// Rows of 8-bit integers: between numbers and integers, from sums of products to results, and
// element by element.
#ifndef KERNELS_QROW_H_
#define KERNELS_QROW_H_

#include <stdbool.h>
#include <stdint.h>

// round(x / scale) + zero, saturated; ties go to the even integer.
void ig_quantize_u8(const float *x, int64_t n, float scale, int32_t zero, uint8_t *q);
void ig_quantize_i8(const float *x, int64_t n, float scale, int32_t zero, int8_t *q);
void ig_quantize_i32(const float *x, int64_t n, float scale, int32_t zero, int32_t *q);
// (q - zero) * scale
void ig_dequantize_u8(const uint8_t *q, int64_t n, float scale, int32_t zero, float *x);
void ig_dequantize_i8(const int8_t *q, int64_t n, float scale, int32_t zero, float *x);
void ig_dequantize_i32(const int32_t *q, int64_t n, float scale, int32_t zero, float *x);

// Sums to 8 bits: round((sum + bias) * multiplier) + zero within [low, high]. bias (in units of a
// sum) and multiplier have one element per column; bias may be NULL.
typedef struct ig_requantize {
  const float *bias;
  const float *multiplier;
  int32_t zero;
  int32_t low;
  int32_t high;
} ig_requantize;
// rows of n sums, `ld` apart, of columns from col on, to rows of results, `to` apart. Signed
// results are the same bytes.
void ig_requantize_rows(const ig_requantize *r, const int32_t *sums, int64_t ld, int64_t rows,
                        int64_t col, int64_t n, uint8_t *out, int64_t to);
// The same to numbers: sum * multiplier + bias, at least `low`.
void ig_rescale_row(const float *multiplier, const float *bias, float low, const int32_t *sums,
                    int64_t n, float *out);

// x ^ 0x80: signed integers as unsigned ones, whose zero point is 128 more, and back.
void ig_flip_sign(const uint8_t *x, int64_t n, uint8_t *out);

// Two operands, element by element: the sum or product of their numbers, quantized again.
typedef struct ig_qbinary {
  float scale[2];
  float zero[2];
  float inverse;  // 1 / scale of the result
  float to;       // zero point of the result
  float low;      // bounds of the result
  float high;
} ig_qbinary;
void ig_qadd_u8(const ig_qbinary *s, const uint8_t *x, const uint8_t *y, int64_t n, uint8_t *out);
void ig_qadd_i8(const ig_qbinary *s, const int8_t *x, const int8_t *y, int64_t n, int8_t *out);
void ig_qmul_u8(const ig_qbinary *s, const uint8_t *x, const uint8_t *y, int64_t n, uint8_t *out);
void ig_qmul_i8(const ig_qbinary *s, const int8_t *x, const int8_t *y, int64_t n, int8_t *out);

// max(x, low)
void ig_qmax_u8(const uint8_t *x, int64_t n, uint8_t low, uint8_t *out);
void ig_qmax_i8(const int8_t *x, int64_t n, int8_t low, int8_t *out);

// A convolution of every channel with itself, one pixel: sums[c] = first[c] + sum over taps of
// x[t][c] * w, where w holds for each two taps 16 channels of two elements, in the order of
// ig_qdepth_pack.
void ig_qdepth(int64_t channels, int64_t taps, const uint8_t *const *x, const int16_t *w,
               const int32_t *first, int32_t *sums);
// w[taps][channels] as ig_qdepth wants it: ig_qdepth_size elements.
int64_t ig_qdepth_size(int64_t channels, int64_t taps);  // -1: too many
void ig_qdepth_pack(int64_t channels, int64_t taps, const int16_t *w, int16_t *to);

#endif
