// SPDX-License-Identifier: Apache-2.0
// QR factorization by Householder reflections H_i = 1 - tau_i v_i v_i^H. Their vectors are stored
// below the diagonal of a column-major matrix (v_i is 1 at i and 0 above), with LAPACK's choice of
// signs. Nothing here fails or allocates; NaN and infinity propagate.
#ifndef KERNELS_LINALG_QR_H_
#define KERNELS_LINALG_QR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

// Elements of work for m rows and n columns, of the matrix or of what is multiplied; IG_SIZE_NONE:
// too many.
size_t ig_qr_work(int64_t m, int64_t n);

#define IG_QR_DECLARE(name, type)                                                              \
  /* The k <= m reflections that are stored in a. */                                           \
  typedef struct ig_reflections_##name {                                                       \
    int64_t m;                                                                                 \
    int64_t k;                                                                                 \
    const type *a;                                                                             \
    int64_t lda;                                                                               \
    const type *tau;                                                                           \
  } ig_reflections_##name;                                                                     \
  /* (alpha, x), n elements, becomes (beta, v): H^H of it is beta, real, and zeros. Returns */ \
  /* tau. */                                                                                   \
  type ig_reflection_##name(int64_t n, type *alpha, type *x);                                  \
  /* a becomes R and the reflections below it; tau has min(m, n) elements. */                  \
  void ig_qr_factor_##name(int64_t m, int64_t n, type *a, int64_t lda, type *tau, type *work); \
  /* c (m x n) = Q c or Q^H c */                                                               \
  void ig_qr_apply_##name(const ig_reflections_##name *q, bool adjoint, int64_t n, type *c,    \
                          int64_t ldc, type *work);                                            \
  /* c = the first n columns of Q, k <= n <= m. */                                             \
  void ig_qr_expand_##name(const ig_reflections_##name *q, int64_t n, type *c, int64_t ldc,    \
                           type *work)

IG_QR_DECLARE(f32, float);
IG_QR_DECLARE(f64, double);
IG_QR_DECLARE(c64, float _Complex);
IG_QR_DECLARE(c128, double _Complex);

#endif
