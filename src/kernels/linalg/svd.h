// SPDX-License-Identifier: Apache-2.0
// Singular value decomposition A = U S Vh of column-major matrices: QR first if there are many more
// rows than columns (or columns than rows), reduction to bidiagonal form in blocks, QR steps.
#ifndef KERNELS_LINALG_SVD_H_
#define KERNELS_LINALG_SVD_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IG_SVD_DECLARE(name, type, real)                                                   \
  typedef struct ig_svd_##name {                                                           \
    int64_t m;                                                                             \
    int64_t n;                                                                             \
    bool vectors; /* otherwise singular values alone */                                    \
    bool full;    /* U m x m and Vh n x n; otherwise m x k and k x n with k = min(m, n) */ \
    type *a;      /* m x n, finite; overwritten */                                         \
    real *s;      /* k singular values, largest first */                                   \
    type *u;                                                                               \
    type *vh;                                                                              \
  } ig_svd_##name;                                                                         \
  /* Elements of work; IG_SIZE_NONE: too many. */                                          \
  size_t ig_svd_work_##name(const ig_svd_##name *j);                                       \
  /* 0, or how many elements did not converge: the results are then meaningless. */        \
  int64_t ig_svd_run_##name(const ig_svd_##name *j, type *work)

IG_SVD_DECLARE(f32, float, float);
IG_SVD_DECLARE(f64, double, double);
IG_SVD_DECLARE(c64, float _Complex, float);
IG_SVD_DECLARE(c128, double _Complex, double);

#endif
