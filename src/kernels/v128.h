// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 bytes by the compiler's vector extensions: what the templates of kernels
// (gemm_simd.inc, conv_simd.inc, layer_simd.inc) ask for, written once for every processor that has
// such registers. Files that include this are compiled with contraction where the processor has
// FMA: a * b + c is then one instruction.
#ifndef KERNELS_V128_H_
#define KERNELS_V128_H_

#include <stdint.h>
#include <string.h>

#include "kernels/gemm_simd.h"

typedef float ig_f32x4 __attribute__((vector_size(16)));
typedef double ig_f64x2 __attribute__((vector_size(16)));

INLINE ig_f32x4 ig_f32x4_load(const float *p) {
  ig_f32x4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE void ig_f32x4_store(float *p, ig_f32x4 v) {
  memcpy(p, &v, sizeof v);
}
INLINE ig_f32x4 ig_f32x4_splat(float f) {
  return (ig_f32x4){f, f, f, f};
}
// The first n lanes, 0 < n <= 4; the others are 0.
INLINE ig_f32x4 ig_f32x4_load_first(int n, const float *p) {
  if (n == 4) return ig_f32x4_load(p);
  ig_f32x4 v = {p[0], 0.0F, 0.0F, 0.0F};
  if (n > 1) v[1] = p[1];
  if (n > 2) v[2] = p[2];
  return v;
}
INLINE void ig_f32x4_store_first(float *p, int n, ig_f32x4 v) {
  if (n == 4) {
    ig_f32x4_store(p, v);
    return;
  }
  p[0] = v[0];
  if (n > 1) p[1] = v[1];
  if (n > 2) p[2] = v[2];
}
INLINE float ig_f32x4_sum(ig_f32x4 v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}

INLINE ig_f64x2 ig_f64x2_load(const double *p) {
  ig_f64x2 v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE void ig_f64x2_store(double *p, ig_f64x2 v) {
  memcpy(p, &v, sizeof v);
}
INLINE ig_f64x2 ig_f64x2_splat(double f) {
  return (ig_f64x2){f, f};
}
INLINE ig_f64x2 ig_f64x2_load_first(int n, const double *p) {
  return n == 2 ? ig_f64x2_load(p) : (ig_f64x2){p[0], 0.0};
}
INLINE void ig_f64x2_store_first(double *p, int n, ig_f64x2 v) {
  p[0] = v[0];
  if (n > 1) p[1] = v[1];
}

// dst[p*ds + j] = src[j*ss + p] for p, j < 4; row j of src is `rows` - 1 where it has no more.
INLINE void ig_f32x4_transpose(const float *src, int64_t ss, int rows, float *dst, int64_t ds) {
  ig_f32x4 r[4];
  UNROLL(4)
  for (int i = 0; i < 4; i++) r[i] = ig_f32x4_load(src + (i < rows ? i : rows - 1) * ss);
  ig_f32x4 ab_low = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  ig_f32x4 ab_high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  ig_f32x4 cd_low = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  ig_f32x4 cd_high = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  ig_f32x4_store(dst, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  ig_f32x4_store(dst + ds, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  ig_f32x4_store(dst + 2 * ds, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  ig_f32x4_store(dst + 3 * ds, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

// The same for p, j < 2.
INLINE void ig_f64x2_transpose(const double *src, int64_t ss, int rows, double *dst, int64_t ds) {
  ig_f64x2 a = ig_f64x2_load(src);
  ig_f64x2 b = ig_f64x2_load(src + (rows > 1 ? 1 : 0) * ss);
  ig_f64x2_store(dst, __builtin_shufflevector(a, b, 0, 2));
  ig_f64x2_store(dst + ds, __builtin_shufflevector(a, b, 1, 3));
}

#endif
