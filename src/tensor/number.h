// SPDX-License-Identifier: Apache-2.0
// Elements as numbers: 16- and 8-bit floats, and exact numbers of any dtype.
#ifndef TENSOR_NUMBER_H_
#define TENSOR_NUMBER_H_

#include <string.h>

#include "ingot/tensor.h"

static inline float ig_bf16_to_f32(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

// Round to nearest even; NaN stays NaN.
static inline uint16_t ig_f32_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return f != f ? (uint16_t)0x7fc0 : (uint16_t)rounded;
}

static inline float ig_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
  uint32_t exponent = magnitude & 0x0f800000;
  float f;
  if (exponent == 0x0f800000) {  // inf, nan
    magnitude += (uint32_t)(255 - 31) << 23;
  } else if (exponent == 0) {  // zero, subnormal: the subtraction normalizes it
    float magic = 6.103515625e-05F;
    uint32_t bits = magnitude + 0x38800000;
    memcpy(&f, &bits, sizeof f);
    f -= magic;
    memcpy(&magnitude, &f, sizeof f);
  } else {
    magnitude += (uint32_t)(127 - 15) << 23;
  }
  magnitude |= sign;
  memcpy(&f, &magnitude, sizeof f);
  return f;
}

static inline uint16_t ig_f32_to_f16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more round to inf
  if (bits < 0x38800000) {                                   // subnormal or zero
    float magic = 0.5F;
    float tiny;
    memcpy(&tiny, &bits, sizeof tiny);
    tiny += magic;
    memcpy(&bits, &tiny, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3f000000));
  }
  bits += 0xc8000fff + (bits >> 13 & 1);
  return (uint16_t)(sign | bits >> 13);
}

float ig_f8e4m3fn_to_f32(uint8_t x);
float ig_f8e5m2_to_f32(uint8_t x);
uint8_t ig_f32_to_f8e4m3fn(float f);  // saturates to NaN as PyTorch does
uint8_t ig_f32_to_f8e5m2(float f);

// Conversion like PyTorch's static casts: floats truncate to integers, everything compares with
// zero for bool, complex drops the imaginary part.
void ig_convert(void *dst, ig_dtype to, const void *src, ig_dtype from, size_t n);

// One element from or to a value (INT, FLOAT, BOOL, COMPLEX).
void ig_element_store(void *at, ig_dtype dtype, const ig_value *number);
ig_value ig_element_load(const void *at, ig_dtype dtype);
void ig_fill(void *dst, ig_dtype dtype, size_t n, const ig_value *number);

#endif
