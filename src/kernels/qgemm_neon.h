// SPDX-License-Identifier: Apache-2.0
// What the tiles for NEON share. It multiplies bytes of the same sign only. The unsigned operand x
// is therefore taken as the signed x - 128 (its highest bit flipped), and 128 times the sum of each
// column of weights is added: sum(x w) = sum((x - 128) w) + 128 sum(w), in 32 bits that wrap.
#ifndef KERNELS_QGEMM_NEON_H_
#define KERNELS_QGEMM_NEON_H_

#include <arm_neon.h>
#include <string.h>

#include "kernels/gemm_simd.h"
#include "kernels/qgemm_kernels.h"

// Four elements, once for each column of a vector of weights.
INLINE int8x16_t ig_qgemm_four(const uint8_t *a) {
  uint32_t four;
  memcpy(&four, a, sizeof four);
  return vreinterpretq_s8_u32(vdupq_n_u32(four ^ 0x80808080U));
}

// sums[0..3] += acc + 128 * columns
INLINE void ig_qgemm_add(int32x4_t acc, int32x4_t columns, int32_t *sums) {
  int32x4_t sum = vaddq_s32(acc, vshlq_n_s32(columns, 7));
  vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), sum));
}

// A function of `rows` rows chooses among tile_1 ... tile_6.
#define QGEMM_BY_ROWS(name)                                                                    \
  void name(int rows, int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b,           \
            int32_t *sums, int64_t ld) {                                                       \
    static void (*const tiles[])(int64_t, const uint8_t *, int64_t, const int8_t *, int32_t *, \
                                 int64_t) = {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};  \
    tiles[rows - 1](quads, a, lda, b, sums, ld);                                               \
  }

#endif
