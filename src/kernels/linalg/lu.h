// SPDX-License-Identifier: Apache-2.0
// LU and Cholesky factorization in blocks, and systems of equations with their factors. Matrices
// are column-major, or have strides of rows (rs) and columns (cs) where these are given. Nothing
// here allocates; NaN and infinity propagate.
#ifndef KERNELS_LINALG_LU_H_
#define KERNELS_LINALG_LU_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

// Elements of work for a matrix of n columns, or n right-hand sides; IG_SIZE_NONE: too many.
size_t ig_lu_work(int64_t n);

#define IG_LU_DECLARE(name, type)                                                                 \
  /* P L U by partial pivoting: L below the diagonal, U on and above it. swaps: min(m, n) */      \
  /* rows, counted from 1, that were exchanged with rows 1, 2, ... Returns 0, or the place */     \
  /* of the first 0 on the diagonal, counted from 1. */                                           \
  int64_t ig_lu_factor_##name(int64_t m, int64_t n, type *a, int64_t lda, int32_t *swaps,         \
                              type *work);                                                        \
  /* x (n x m) becomes the solution of P L U y = x; turned: of the transposed system. */          \
  void ig_lu_solve_##name(int64_t n, const type *a, const int32_t *swaps, bool turned, int64_t m, \
                          type *x, type *work);                                                   \
  /* x (n x m) becomes the solution of T y = x for a triangle T of a. */                          \
  typedef struct ig_triangle_##name {                                                             \
    int64_t n;                                                                                    \
    const type *a;                                                                                \
    int64_t rs;                                                                                   \
    int64_t cs;                                                                                   \
    bool upper;                                                                                   \
    bool unit; /* the diagonal is 1, whatever is stored there */                                  \
  } ig_triangle_##name;                                                                           \
  void ig_triangle_solve_##name(const ig_triangle_##name *t, int64_t m, type *x, int64_t ldx,     \
                                type *work);                                                      \
  /* The lower triangle of a Hermitian matrix becomes L with L L^H = a. Returns 0, or the */      \
  /* order of the first leading minor that is not positive. The rest of a is not defined. */      \
  int64_t ig_cholesky_factor_##name(int64_t n, type *a, int64_t lda, type *work)

IG_LU_DECLARE(f32, float);
IG_LU_DECLARE(f64, double);
IG_LU_DECLARE(c64, float _Complex);
IG_LU_DECLARE(c128, double _Complex);

#endif
