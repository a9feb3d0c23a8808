// SPDX-License-Identifier: Apache-2.0
// Element types as the kernels see them, and the geometry [outer, n, inner] of "one dimension of a
// dense tensor". Kernels take raw pointers: x[o][i][j] is at (o * n + i) * inner + j. A complex
// tensor is summed as a real tensor with inner doubled.
//
// Half types are converted in blocks; the loops are branch-free so that the compiler vectorizes
// them.
#ifndef KERNELS_REDUCE_ELEM_H_
#define KERNELS_REDUCE_ELEM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// X(name, storage type, compute type)
#define IG_ELEM_FLOATS(X) \
  X(F32, float, float)    \
  X(F64, double, double)  \
  X(F16, uint16_t, float) \
  X(BF16, uint16_t, float)
#define IG_ELEM_INTS(X)      \
  X(U8, uint8_t, int64_t)    \
  X(I8, int8_t, int64_t)     \
  X(U16, uint16_t, int64_t)  \
  X(I16, int16_t, int64_t)   \
  X(U32, uint32_t, int64_t)  \
  X(I32, int32_t, int64_t)   \
  X(U64, uint64_t, uint64_t) \
  X(I64, int64_t, int64_t)   \
  X(BOOL, uint8_t, int64_t)

typedef enum ig_elem {
#define X(name, type, wide) IG_ELEM_##name,
  IG_ELEM_FLOATS(X) IG_ELEM_INTS(X)
#undef X
      IG_ELEM_COUNT
} ig_elem;

// One dimension of a dense tensor: outer * n * inner elements, reduced or normalized over n.
typedef struct ig_axis {
  int64_t outer;
  int64_t n;
  int64_t inner;
} ig_axis;

size_t ig_elem_size(ig_elem e);
static inline bool ig_elem_is_half(ig_elem e) {
  return e == IG_ELEM_F16 || e == IG_ELEM_BF16;
}

// n elements of a half type to and from f32 (round to nearest even; NaN stays NaN).
void ig_elem_widen(ig_elem e, const void *src, float *dst, int64_t n);
void ig_elem_narrow(ig_elem e, const float *src, void *dst, int64_t n);

#if defined(__x86_64__)
void ig_f16_widen_avx2(const uint16_t *src, float *dst, int64_t n);
void ig_f16_narrow_avx2(const float *src, uint16_t *dst, int64_t n);
#elif defined(__aarch64__)
void ig_f16_widen_neon(const uint16_t *src, float *dst, int64_t n);
void ig_f16_narrow_neon(const float *src, uint16_t *dst, int64_t n);
#endif

static inline float ig_elem_from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline uint32_t ig_elem_to_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static inline float ig_bf16_get(uint16_t h) {
  return ig_elem_from_bits((uint32_t)h << 16);
}
static inline uint16_t ig_bf16_put(float f) {
  uint32_t u = ig_elem_to_bits(f);
  uint32_t round = u + 0x7fffU + (u >> 16 & 1U);
  return (uint16_t)((u & 0x7fffffffU) > 0x7f800000U ? u >> 16 | 0x40U : round >> 16);
}
static inline float ig_f16_get(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000U) << 16;
  uint32_t mag = (uint32_t)(h & 0x7fffU) << 13;
  // Exponent + 112; subnormals as a difference of normal floats, inf and NaN with the full
  // exponent.
  uint32_t tiny = ig_elem_to_bits(ig_elem_from_bits(mag + 0x38800000U) - 0x1p-14f);
  uint32_t u = mag < 0x00800000U ? tiny : mag + 0x38000000U;
  u = mag >= 0x0f800000U ? mag | 0x7f800000U : u;
  return ig_elem_from_bits(u | sign);
}
static inline uint16_t ig_f16_put(float f) {
  uint32_t u = ig_elem_to_bits(f);
  uint32_t sign = u >> 16 & 0x8000U;
  uint32_t mag = u & 0x7fffffffU;
  uint32_t normal = mag + 0xc8000fffU + (mag >> 13 & 1U);  // exponent - 112, round to even
  // Below 2^-14 the sum aligns the mantissa to 2^-24 and the adder rounds.
  uint32_t tiny = ig_elem_to_bits(ig_elem_from_bits(mag) + 0.5f) - 0x3f000000U;
  uint32_t h = mag < 0x38800000U ? tiny : normal >> 13;
  h = mag >= 0x477ff000U ? 0x7c00U : h;
  h = mag > 0x7f800000U ? (0x7e00U | (mag >> 13 & 0x3ffU)) : h;
  return (uint16_t)(h | sign);
}

#endif
