// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of real symmetric tridiagonal matrices by implicit QL and QR steps with Wilkinson's
// shift.
#ifndef KERNELS_LINALG_TRIDIAGONAL_H_
#define KERNELS_LINALG_TRIDIAGONAL_H_

#include "kernels/linalg/turns.h"

// d: n elements of the diagonal, which become eigenvalues, unsorted; e: n - 1 elements beside it,
// which become 0. The rotations are recorded in `vectors`, which may be NULL. Returns 0, or how
// many elements of e did not converge.
int64_t ig_tridiagonal_values_f32(int64_t n, float *d, float *e, ig_turns_f32 *vectors);
int64_t ig_tridiagonal_values_f64(int64_t n, double *d, double *e, ig_turns_f64 *vectors);

#endif
