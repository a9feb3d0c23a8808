// SPDX-License-Identifier: Apache-2.0
// Convolution kernels for NEON: tiles of 8 output channels by 12 pixels (24 accumulators).
#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv_kernels.h"
#include "kernels/v128.h"

#define V ig_f32x4
#define MASK uint32_t  // one bit per lane
#define WIDE uint32_t
#define LANES 4
#define ROWS 8
#define VECS 3
#define MASKED_LOADS 0

INLINE MASK mask_of(uint32_t bits) {
  return bits;
}
INLINE WIDE expand(MASK m) {
  return m;
}
INLINE V zero(void) {
  return ig_f32x4_splat(0.0F);
}
INLINE V broadcast(float f) {
  return ig_f32x4_splat(f);
}
INLINE V load(const float *p) {
  return ig_f32x4_load(p);
}
// Lanes outside of the mask may lie outside of memory: they are not read.
INLINE V load_mask(MASK m, const float *p) {
  if (m == 0xf) return load(p);
  V v = zero();
  UNROLL(4)
  for (int l = 0; l < LANES; l++) {
    if (m >> l & 1) v[l] = p[l];
  }
  return v;
}
INLINE V load_wide(WIDE m, const float *p) {
  return load_mask(m, p);
}
INLINE void store(float *p, V v) {
  ig_f32x4_store(p, v);
}
INLINE void store_mask(float *p, MASK m, V v) {
  if (m == 0xf) {
    store(p, v);
    return;
  }
  UNROLL(4)
  for (int l = 0; l < LANES; l++) {
    if (m >> l & 1) p[l] = v[l];
  }
}
INLINE V add(V a, V b) {
  return a + b;
}
INLINE V mla(V a, V b, V c) {
  return a * b + c;
}
INLINE float sum(V v) {
  return ig_f32x4_sum(v);
}
INLINE void prefetch(const float *p) {
  FETCH_L2(p);
}
INLINE V evens(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
}

INLINE void collect(const ig_conv_pick *q, int64_t k, const float *s, const int64_t *off,
                    float *d) {
  for (int64_t p = 0; p < k; p++) {
    const float *from = s + off[p];
    float *to = d + p * LANES * VECS;
    for (int l = 0; l < LANES; l++) to[l] = from[q->index[l]];
  }
}

#include "kernels/conv_simd.inc"

const ig_conv_kernels ig_conv_kernels_neon = {
    .rows = ROWS,
    .lanes = LANES,
    .vectors = VECS,
    .packed = packed,
    .take = take,
    .direct = direct,
    .dots = dots,
    .pack = pack,
    .pack_same = pack_same,
    .depth = depth,
    .fill = fill,
};
