// SPDX-License-Identifier: Apache-2.0
// Products of bytes for every AArch64 processor: of 16 bits, added in pairs to sums of 32.
#include "kernels/qgemm_neon.inc"

enum { GROUP = 4 };  // columns whose sums of all rows fit the registers, two lanes each

#define TILE(rows)                                                                       \
  static void tile_##rows(int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b, \
                          int32_t *sums, int64_t ld) {                                   \
    for (int j = 0; j < IG_QGEMM_COLS; j += GROUP) {                                     \
      int32x4_t acc[rows][2];                                                            \
      int32x4_t columns = vdupq_n_s32(0);                                                \
      UNROLL(6)                                                                          \
      for (int r = 0; r < (rows); r++) acc[r][0] = acc[r][1] = vdupq_n_s32(0);           \
      for (int64_t p = 0; p < quads; p++) {                                              \
        int8x16_t w = vld1q_s8(b + 4 * IG_QGEMM_COLS * p + 4 * j);                       \
        columns = vpadalq_s16(columns, vpaddlq_s8(w));                                   \
        UNROLL(6)                                                                        \
        for (int r = 0; r < (rows); r++) {                                               \
          int8x16_t x = ig_qgemm_four(a + r * lda + 4 * p);                              \
          acc[r][0] = vpadalq_s16(acc[r][0], vmull_s8(vget_low_s8(x), vget_low_s8(w)));  \
          acc[r][1] = vpadalq_s16(acc[r][1], vmull_high_s8(x, w));                       \
        }                                                                                \
      }                                                                                  \
      UNROLL(6)                                                                          \
      for (int r = 0; r < (rows); r++)                                                   \
        ig_qgemm_add(vpaddq_s32(acc[r][0], acc[r][1]), columns, sums + r * ld + j);      \
    }                                                                                    \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
QGEMM_BY_ROWS(ig_qgemm_tile_neon)
