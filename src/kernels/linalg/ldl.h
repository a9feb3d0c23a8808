// SPDX-License-Identifier: Apache-2.0
// P L D L^T P^T of symmetric matrices, L D L^H of Hermitian ones, that need not be definite, by the
// pivoting of Bunch and Kaufman: D has blocks of one or two rows. Column-major, lower triangles.
// Nothing here allocates; NaN and infinity propagate.
#ifndef KERNELS_LINALG_LDL_H_
#define KERNELS_LINALG_LDL_H_

#include <stdbool.h>
#include <stdint.h>

// Whether these are the pivots of a matrix of n columns: rows within it, blocks of two in pairs.
bool ig_ldl_pivots_fit(int64_t n, const int64_t *pivots);

#define IG_LDL_DECLARE(name, type)                                                               \
  /* The lower triangle of a becomes D, on and beside the diagonal, and L below it. pivots */    \
  /* (n): the row, counted from 1, that was exchanged with row i; of a block of two twice the */ \
  /* row that was exchanged with its second one, negative. Returns 0, or the place of the */     \
  /* first 0 on the diagonal of D, counted from 1. */                                            \
  int64_t ig_ldl_factor_##name(int64_t n, bool hermitian, type *a, int32_t *pivots);             \
  /* x (n x m) becomes the solution; the pivots fit. */                                          \
  void ig_ldl_solve_##name(int64_t n, bool hermitian, const type *a, const int64_t *pivots,      \
                           int64_t m, type *x)

IG_LDL_DECLARE(f32, float);
IG_LDL_DECLARE(f64, double);
IG_LDL_DECLARE(c64, float _Complex);
IG_LDL_DECLARE(c128, double _Complex);

#endif
