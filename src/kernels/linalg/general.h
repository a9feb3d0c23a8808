// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of square matrices of any kind, column-major, in double precision:
// balancing, reduction to Hessenberg form, shifted QR steps to the Schur form.
#ifndef KERNELS_LINALG_GENERAL_H_
#define KERNELS_LINALG_GENERAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Elements of work, which are doubles; IG_SIZE_NONE: too many.
size_t ig_general_work(int64_t n, bool vectors);

// a, finite, is lost. vectors [n, n], or NULL if they are not wanted: columns of norm 1 whose
// largest element is positive. Eigenvalues of a real matrix that are no real numbers are pairs, one
// after the other, the one with the positive imaginary part first. Returns 0, or how many
// eigenvalues were not found: the results are then meaningless.
int64_t ig_general_run_f64(int64_t n, double *a, double _Complex *values, double _Complex *vectors,
                           double *work);
int64_t ig_general_run_c128(int64_t n, double _Complex *a, double _Complex *values,
                            double _Complex *vectors, double *work);

// ---- the two Schur forms (schur_real.c, schur_complex.c): a = q t q^H, a becomes t. q is NULL if
// it is not wanted: then only the diagonal and the blocks on it are computed. Returns as above.

// t has blocks of two on its diagonal, one for each pair of complex eigenvalues.
int64_t ig_schur_f64(int64_t n, double *a, double *q, double *work);  // work: 2 n
int64_t ig_schur_c128(int64_t n, double _Complex *a, double _Complex *q, double *work);

// A block [a b; c d] that has complex eigenvalues: one of them, with a positive imaginary part.
double _Complex ig_schur_pair(double a, double b, double c, double d);

// Products without the care for infinities that C asks for.
static inline double _Complex ig_schur_mul(double _Complex x, double _Complex y) {
  double a = __real__ x;
  double b = __imag__ x;
  double c = __real__ y;
  double d = __imag__ y;
  return __builtin_complex(a * c - b * d, a * d + b * c);
}

static inline double _Complex ig_schur_conj(double _Complex x) {
  return __builtin_complex(__real__ x, -__imag__ x);
}

#endif
