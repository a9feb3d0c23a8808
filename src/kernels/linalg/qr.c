// SPDX-License-Identifier: Apache-2.0
// QR by Householder reflections in blocks: a panel of columns one by one, the rest of the matrix by
// products.
#include "kernels/linalg/qr.h"

#include <complex.h>
#include <string.h>
#include <tgmath.h>

#include "kernels/gemm.h"
#include "kernels/linalg/vector.h"

enum {
  BLOCK = 32,
  SMALL = 1024,  // elements for which products are not worth their preparation
};

size_t ig_qr_work(int64_t m, int64_t n) {
  size_t sides = ig_mem_mul(2, ig_mem_add((size_t)m, (size_t)n));
  return ig_mem_mul(BLOCK, ig_mem_add(sides, 2 * BLOCK));
}

#define BODY "kernels/linalg/qr.inc"
#include "kernels/linalg/each.inc"
