// SPDX-License-Identifier: Apache-2.0
// Layers for NEON: blocks of 4 channels, tiles of 12 pixels by 8 outputs or 8 by 12 (24
// accumulators).
#include "kernels/layer_kernels.h"
#include "kernels/v128.h"

#define LANES 4
#define TILE_12 12
#define TILE_3 8
// Rows by the number of vectors.
// clang-format off
#define EACH_TILE(X) \
  X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(12, 1) \
  X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(9, 2) X(10, 2) X(11, 2) X(12, 2) \
  X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3)
// clang-format on

typedef ig_f32x4 V;
INLINE V splat(float f) {
  return ig_f32x4_splat(f);
}
INLINE void mla(V *sum, V a, V b) {
  *sum = a * b + *sum;
}
INLINE void prefetch(const char *p) {
  FETCH_L2(p);
}

#define WIDE 4
#define PLAIN

#include "kernels/layer_simd.inc"

const ig_layer_kernels ig_layer_kernels_neon = LAYER_KERNELS;
