// SPDX-License-Identifier: Apache-2.0
// The innermost product of ig_qgemm: IG_QGEMM_ROWS rows by IG_QGEMM_COLS columns.
#ifndef KERNELS_QGEMM_KERNELS_H_
#define KERNELS_QGEMM_KERNELS_H_

#include <stdint.h>

enum { IG_QGEMM_ROWS = 6, IG_QGEMM_COLS = 16 };

// sums[rows][16] += a[rows][4 * quads] * b, where b holds for every four steps 16 columns of four
// elements. rows <= IG_QGEMM_ROWS.
typedef void ig_qgemm_tile_fn(int rows, int64_t quads, const uint8_t *a, int64_t lda,
                              const int8_t *b, int32_t *sums, int64_t ld);
ig_qgemm_tile_fn ig_qgemm_tile_base;
#if defined(__x86_64__)
ig_qgemm_tile_fn ig_qgemm_tile_avx2;          // exact for all operands
ig_qgemm_tile_fn ig_qgemm_tile_bounded_avx2;  // exact if no sum of two products leaves 16 bits
ig_qgemm_tile_fn ig_qgemm_tile_vnni_avx512;
#elif defined(__aarch64__)
ig_qgemm_tile_fn ig_qgemm_tile_neon;
ig_qgemm_tile_fn ig_qgemm_tile_neon_dot;  // needs ig_cpu_has_dot8
#endif

#endif
