// SPDX-License-Identifier: Apache-2.0
// Layers for any processor: blocks of 4 channels, which compilers map to the usual vectors of 16
// bytes.
#include "kernels/gemm_simd.h"
#include "kernels/layer_kernels.h"

#define LANES 4
#define TILE_12 6
#define TILE_3 4
// Rows by the number of vectors.
// clang-format off
#define EACH_TILE(X) \
  X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) \
  X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) \
  X(1, 3) X(2, 3) X(3, 3) X(4, 3)
// clang-format on

typedef float V __attribute__((vector_size(16)));
INLINE V splat(float f) {
  return (V){f, f, f, f};
}
INLINE void mla(V *sum, V a, V b) {
  *sum = *sum + a * b;
}
INLINE void prefetch(const char *p) {
  __builtin_prefetch(p, 0, 2);
}

#define WIDE 2
#define PLAIN

#include "kernels/layer_simd.inc"

const ig_layer_kernels ig_layer_kernels_portable = LAYER_KERNELS;
