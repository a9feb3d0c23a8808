// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of Hermitian (symmetric) matrices, column-major: reduction to
// tridiagonal form in blocks, QL and QR steps.
#ifndef KERNELS_LINALG_HERMITIAN_H_
#define KERNELS_LINALG_HERMITIAN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IG_HERMITIAN_DECLARE(name, type, real)                                                  \
  /* Elements of work; IG_SIZE_NONE: too many. */                                               \
  size_t ig_hermitian_work_##name(int64_t n, bool vectors);                                     \
  /* The lower triangle of a, finite, is read. s: eigenvalues in ascending order. vectors: a */ \
  /* becomes the eigenvectors, else its contents are lost. Returns 0, or how many elements */   \
  /* did not converge: the results are then meaningless. */                                     \
  int64_t ig_hermitian_run_##name(int64_t n, type *a, real *s, bool vectors, type *work)

IG_HERMITIAN_DECLARE(f32, float, float);
IG_HERMITIAN_DECLARE(f64, double, double);
IG_HERMITIAN_DECLARE(c64, float _Complex, float);
IG_HERMITIAN_DECLARE(c128, double _Complex, double);

#endif
