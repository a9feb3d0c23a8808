// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/lu.h"

#include <complex.h>
#include <tgmath.h>

#include "kernels/gemm.h"
#include "kernels/linalg/vector.h"

enum { PANEL = 32 };  // columns that are factored before the rest of the matrix follows

size_t ig_lu_work(int64_t n) {
  return ig_mem_mul(ig_mem_add((size_t)n, (size_t)2 * PANEL), PANEL);
}

#define BODY "kernels/linalg/lu.inc"
#include "kernels/linalg/each.inc"
