// SPDX-License-Identifier: Apache-2.0
// Shared by the engines of all types: sizes found by measurement, and packing of B in advance.
#ifndef KERNELS_GEMM_ENGINE_H_
#define KERNELS_GEMM_ENGINE_H_

#include <stddef.h>
#include <stdint.h>

enum {
  IG_GEMM_FEW = 8,          // so few rows (or columns) that B is not worth packing
  IG_GEMM_KC_LONG = 1024,   // rows of B per block where C is stored transposed, which costs more
  IG_GEMM_KC_STREAM = 768,  // the same where A stays in the L2 cache
  IG_GEMM_TURN = 8,         // groups of rows that are transposed at a time: whole cache lines of C
  IG_GEMM_TASK = 1 << 20,   // multiplications that are worth waking a thread for
  IG_GEMM_SHARED_MAX = 64 << 20,  // elements of an operand that are packed as a whole
};

// How a product is computed.
typedef enum ig_gemm_way { IG_GEMM_TILES, IG_GEMM_DOTS, IG_GEMM_AXPYS } ig_gemm_way;

// B in blocks of kc rows; a block in panels of nr columns, padded with zeros; a panel row by row.
struct ig_gemm_packed {
  const void *kern;  // the table whose nr it was packed for
  int64_t n, k, kc;
  int nr;            // columns of a panel
  int64_t panels_n;  // n rounded up to nr
  size_t bytes;      // of all, this struct included
  void *panels;
};

#endif
