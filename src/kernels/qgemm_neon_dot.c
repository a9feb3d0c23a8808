// SPDX-License-Identifier: Apache-2.0
// Products of bytes by the dot product of ARMv8.2: four products and their sum by one instruction.
#include "kernels/qgemm_neon.inc"

enum { GROUP = 4 };  // columns of a vector

// The columns in two halves, 8 at a time: 12 sums, 2 sums of weights, 2 vectors of weights.
#define TILE(rows)                                                                       \
  static void tile_##rows(int64_t quads, const uint8_t *a, int64_t lda, const int8_t *b, \
                          int32_t *sums, int64_t ld) {                                   \
    const int8x16_t ones = vdupq_n_s8(1);                                                \
    for (int j = 0; j < IG_QGEMM_COLS; j += 2 * GROUP) {                                 \
      int32x4_t acc[rows][2];                                                            \
      int32x4_t columns[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};                           \
      UNROLL(6)                                                                          \
      for (int r = 0; r < (rows); r++) acc[r][0] = acc[r][1] = vdupq_n_s32(0);           \
      for (int64_t p = 0; p < quads; p++) {                                              \
        int8x16_t w0 = vld1q_s8(b + 4 * IG_QGEMM_COLS * p + 4 * j);                      \
        int8x16_t w1 = vld1q_s8(b + 4 * IG_QGEMM_COLS * p + 4 * (j + GROUP));            \
        columns[0] = vdotq_s32(columns[0], w0, ones);                                    \
        columns[1] = vdotq_s32(columns[1], w1, ones);                                    \
        UNROLL(6)                                                                        \
        for (int r = 0; r < (rows); r++) {                                               \
          int8x16_t x = ig_qgemm_four(a + r * lda + 4 * p);                              \
          acc[r][0] = vdotq_s32(acc[r][0], x, w0);                                       \
          acc[r][1] = vdotq_s32(acc[r][1], x, w1);                                       \
        }                                                                                \
      }                                                                                  \
      UNROLL(6)                                                                          \
      for (int r = 0; r < (rows); r++) {                                                 \
        ig_qgemm_add(acc[r][0], columns[0], sums + r * ld + j);                          \
        ig_qgemm_add(acc[r][1], columns[1], sums + r * ld + j + GROUP);                  \
      }                                                                                  \
    }                                                                                    \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
QGEMM_BY_ROWS(ig_qgemm_tile_neon_dot)
