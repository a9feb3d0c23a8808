// SPDX-License-Identifier: Apache-2.0
// Singular values of real bidiagonal matrices by implicit QR steps (Demmel and Kahan): small ones
// are as accurate, relative to their size, as large ones.
#ifndef KERNELS_LINALG_BIDIAGONAL_H_
#define KERNELS_LINALG_BIDIAGONAL_H_

#include "kernels/linalg/turns.h"

// d: n elements of the diagonal, which become singular values, unsorted, some of them negated;
// e: n - 1 elements above it, which become 0. The rotations are recorded in left and right, either
// of which may be NULL. Returns 0, or how many elements of e did not converge.
int64_t ig_bidiagonal_values_f32(int64_t n, float *d, float *e, ig_turns_f32 *left,
                                 ig_turns_f32 *right);
int64_t ig_bidiagonal_values_f64(int64_t n, double *d, double *e, ig_turns_f64 *left,
                                 ig_turns_f64 *right);

#endif
