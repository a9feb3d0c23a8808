// SPDX-License-Identifier: Apache-2.0
// Test matrices for factorizations, and residuals as LAPACK's own tests measure them: relative to
// the size of the matrix, its dimensions and the precision. All in double complex, column-major;
// factors of any type are read into it.
#ifndef TESTS_KERNELS_MATRICES_H_
#define TESTS_KERNELS_MATRICES_H_

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

typedef enum matrix_kind {
  RANDOM,
  GRADED_COLUMNS,
  GRADED_ROWS,
  RANK_ONE,
  HILBERT,
  JORDAN,
  ZERO,
  IDENTITY,
  HUGE_NUMBERS,
  TINY_NUMBERS,
  MATRIX_KINDS,
} matrix_kind;

static inline double unit(void) {
  static uint64_t state = 88172645463325252U;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 4503599627370496.0 - 1;
}

static inline number *matrix_new(int64_t m, int64_t n) {
  number *a = calloc((size_t)(m * n + 1), sizeof *a);
  if (!a) abort();
  return a;
}

// m x n elements; `most` is a power of ten that the type still holds with room for sums.
static inline number *matrix_make(matrix_kind kind, int64_t m, int64_t n, bool is_complex,
                                  int most) {
  number *a = matrix_new(m, n);
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; i < m; i++) {
      double re = unit();
      double im = unit();
      number x = is_complex ? re + im * I : re;
      double column = n > 1 ? pow(10, -6 + 12.0 * (double)j / (double)(n - 1)) : 1;
      double row = m > 1 ? pow(10, 6 - 12.0 * (double)i / (double)(m - 1)) : 1;
      number value[] = {
          [RANDOM] = x,
          [GRADED_COLUMNS] = x * column,
          [GRADED_ROWS] = x * row,
          [RANK_ONE] = (double)(i + 1) * (double)(j - 3) / 64,
          [HILBERT] = 1 / (double)(i + j + 1),
          [JORDAN] = i == j || i + 1 == j,
          [ZERO] = 0,
          [IDENTITY] = i == j,
          [HUGE_NUMBERS] = x * pow(10, most),
          [TINY_NUMBERS] = x * pow(10, -most),
      };
      a[j * m + i] = value[kind];
    }
  }
  return a;
}

static inline double norm_1(int64_t m, int64_t n, const number *a) {
  double most = 0;
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++) sum += cabs(a[j * m + i]);
    if (!(sum <= most)) most = sum;
  }
  return most;
}

// a (m x k) b (k x n), either of them as its adjoint
static inline number *product_of(int64_t m, int64_t n, int64_t k, const number *a, bool a_adjoint,
                                 const number *b, bool b_adjoint) {
  number *c = matrix_new(m, n);
  for (int64_t j = 0; j < n; j++) {
    for (int64_t l = 0; l < k; l++) {
      number f = b_adjoint ? conj(b[l * n + j]) : b[j * k + l];
      double re = creal(f);
      double im = cimag(f);
      for (int64_t i = 0; i < m; i++) {
        number x = a_adjoint ? conj(a[i * k + l]) : a[l * m + i];
        c[j * m + i] += (creal(x) * re - cimag(x) * im) + (creal(x) * im + cimag(x) * re) * I;
      }
    }
  }
  return c;
}

// ||a - b|| / (||a|| max(m, n) eps); frees b.
static inline double residual(int64_t m, int64_t n, const number *a, number *b, double eps) {
  double size = norm_1(m, n, a);
  for (int64_t i = 0; i < m * n; i++) b[i] -= a[i];
  double error = norm_1(m, n, b);
  free(b);
  if (size == 0) return error / eps;
  return error / size / (double)(m > n ? m : n) / eps;
}

// ||1 - q^H q|| / (m eps) for the n columns of q
static inline double orthogonality(int64_t m, int64_t n, const number *q, double eps) {
  number *one = matrix_make(IDENTITY, n, n, false, 0);
  number *p = product_of(n, n, m, q, true, q, false);
  for (int64_t i = 0; i < n * n; i++) p[i] -= one[i];
  double error = norm_1(n, n, p);
  free(one);
  free(p);
  return error / (double)m / eps;
}

#endif
