// SPDX-License-Identifier: Apache-2.0
#include "kernels/linalg/ldl.h"

#include <complex.h>
#include <tgmath.h>

#include "kernels/linalg/vector.h"

bool ig_ldl_pivots_fit(int64_t n, const int64_t *pivots) {
  for (int64_t i = 0; i < n; i++) {
    int64_t p = pivots[i];
    if (p == 0 || p > n || p < -n) return false;
    if (p > 0) continue;
    if (i + 1 == n || pivots[i + 1] != p) return false;
    i++;
  }
  return true;
}

#define BODY "kernels/linalg/ldl.inc"
#include "kernels/linalg/each.inc"
