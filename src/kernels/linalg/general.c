// SPDX-License-Identifier: Apache-2.0
// From a matrix to its Schur form, and from that to eigenvectors.
#include "kernels/linalg/general.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

typedef double _Complex cd;
#define MUL ig_schur_mul
#define CONJ ig_schur_conj

size_t ig_general_work(int64_t n, bool vectors) {
  size_t line = ig_mem_mul((size_t)n, 5);  // scales, working memory of the forms
  size_t square = ig_mem_mul((size_t)n, (size_t)n);
  size_t all = line;
  if (vectors) all = ig_mem_add(line, ig_mem_mul(square, 3));  // q, and t as complex numbers
  return all;
}

// ---- scaling: by powers of two, which round nothing

// Makes the largest element about 1, against overflow; the exponent is taken back in the end.
static int normalize(int64_t count, double *a) {
  double peak = 0;
  int exponent = 0;
  for (int64_t i = 0; i < count; i++) peak = fmax(peak, fabs(a[i]));
  if (peak == 0) return 0;
  (void)frexp(peak, &exponent);
  for (int64_t i = 0; i < count; i++) a[i] = ldexp(a[i], -exponent);
  return exponent;
}

// Sums of the magnitudes of row and column k besides the diagonal; parts: doubles per element.
static void sums_of(int64_t n, const double *a, int parts, int64_t k, double *row, double *col) {
  *row = *col = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == k) continue;
    for (int p = 0; p < parts; p++) {
      *row += fabs(a[(k + i * n) * parts + p]);
      *col += fabs(a[(i + k * n) * parts + p]);
    }
  }
}

// Row k divided and column k multiplied by scale[k], until they are about the same size.
static void balance(int64_t n, double *a, int parts, double *scale) {
  for (int64_t k = 0; k < n; k++) scale[k] = 1;
  bool changed = true;
  for (int round = 0; changed && round < 100; round++) {
    changed = false;
    for (int64_t k = 0; k < n; k++) {
      double row = 0;
      double col = 0;
      sums_of(n, a, parts, k, &row, &col);
      if (row == 0 || col == 0) continue;
      int up = (int)lround(log2(row / col) / 2);
      double f = ldexp(1, up);
      if (up == 0 || col * f + row / f > 0.95 * (row + col)) continue;
      changed = true;
      scale[k] *= f;
      for (int64_t i = 0; i < n; i++) {
        for (int p = 0; p < parts; p++) a[(k + i * n) * parts + p] /= f;
        for (int p = 0; p < parts; p++) a[(i + k * n) * parts + p] *= f;
      }
    }
  }
}

// ---- eigenvectors of a triangular matrix

#define T(i, j) t[(i) + (j)*n]

// (T - T(k, k)) x = 0 with x[k] = 1; the k elements before it.
static void solve_column(int64_t n, const cd *t, int64_t k, double least, cd *x) {
  x[k] = 1;
  for (int64_t i = 0; i < k; i++) x[i] = -T(i, k);
  for (int64_t j = k - 1; j >= 0; j--) {
    cd d = T(j, j) - T(k, k);
    if (hypot(creal(d), cimag(d)) < least) d = least;
    x[j] /= d;
    double size = hypot(creal(x[j]), cimag(x[j]));
    if (size > 1e100) {
      for (int64_t i = 0; i <= k; i++) x[i] /= size;
    }
    for (int64_t i = 0; i < j; i++) x[i] -= MUL(x[j], T(i, j));
  }
}

static double norm_of(int64_t n, const cd *v) {
  double norm = 0;
  for (int64_t i = 0; i < n; i++) norm = hypot(norm, hypot(creal(v[i]), cimag(v[i])));
  return norm;
}

// real: the eigenvalue and the matrix are real, and so the real part is an eigenvector, too.
static void normalize_vector(int64_t n, const double *scale, bool real, cd *v) {
  double peak = 0;
  cd turn = 1;
  for (int64_t i = 0; i < n; i++) {
    v[i] *= scale[i];
    double size = hypot(creal(v[i]), cimag(v[i]));
    if (size > peak) turn = CONJ(v[i]) / size;
    if (size > peak) peak = size;
  }
  if (peak == 0) return;
  for (int64_t i = 0; i < n; i++) {
    v[i] = MUL(v[i] / peak, turn);
    if (real) v[i] = creal(v[i]);
  }
  double norm = norm_of(n, v);
  for (int64_t i = 0; i < n; i++) v[i] /= norm;
}

// q becomes the eigenvectors of q t q^H; x: n elements. pairs: the matrix is real, and columns
// whose eigenvalue has a negative imaginary part are the conjugates of those before.
static void make_vectors(int64_t n, const cd *t, const double *scale, bool pairs, cd *q, cd *x) {
  double least = DBL_MIN;
  for (int64_t i = 0; i < n * n; i++) least = fmax(least, DBL_EPSILON * cabs(t[i]));
  for (int64_t k = n - 1; k >= 0; k--) {
    cd *v = q + k * n;
    if (pairs && cimag(T(k, k)) < 0) continue;  // with the column before
    bool first = pairs && cimag(T(k, k)) > 0;
    solve_column(n, t, k, least, x);
    for (int64_t i = 0; i < n; i++) v[i] = MUL(v[i], x[k]);
    for (int64_t j = 0; j < k; j++) {
      for (int64_t i = 0; i < n; i++) v[i] += MUL(q[i + j * n], x[j]);
    }
    normalize_vector(n, scale, pairs && !first, v);
    for (int64_t i = 0; first && i < n; i++) v[n + i] = CONJ(v[i]);
  }
}

// ---- real matrices

#define A(i, j) a[(i) + (j)*n]

static bool is_pair(int64_t n, const double *a, int64_t k) {
  return k + 1 < n && A(k + 1, k) != 0;
}

static void rotate(cd *x, cd *y, int64_t count, int64_t step, cd c, cd s) {
  for (int64_t i = 0; i < count; i++) {
    cd p = x[i * step];
    cd r = y[i * step];
    x[i * step] = MUL(c, p) + MUL(s, r);
    y[i * step] = MUL(CONJ(c), r) - MUL(CONJ(s), p);
  }
}

// The block of rows k, k + 1 of t, whose eigenvalue is `value`, becomes triangular.
static void triangulate(int64_t n, cd *t, cd *q, int64_t k, cd value) {
  cd x = value - T(k + 1, k + 1);
  cd y = T(k + 1, k);
  double norm = hypot(cabs(x), cabs(y));
  x /= norm;
  y /= norm;
  rotate(&T(0, k), &T(0, k + 1), n, 1, x, y);
  rotate(q + k * n, q + (k + 1) * n, n, 1, x, y);
  rotate(&T(k, 0), &T(k + 1, 0), n, n, CONJ(x), CONJ(y));
  T(k, k) = value;
  T(k + 1, k + 1) = CONJ(value);
  T(k + 1, k) = 0;
}

int64_t ig_general_run_f64(int64_t n, double *a, cd *values, cd *vectors, double *work) {
  double *scale = work;
  double *q = vectors ? work + 5 * n : NULL;
  cd *t = vectors ? (cd *)(void *)(work + 5 * n + n * n) : NULL;
  int exponent = normalize(n * n, a);
  balance(n, a, 1, scale);
  int64_t left = ig_schur_f64(n, a, q, work + n);
  if (left) return left;
  for (int64_t k = 0; k < n; k++) {
    values[k] = A(k, k);
    if (!is_pair(n, a, k)) continue;
    values[k] = ig_schur_pair(A(k, k), A(k, k + 1), A(k + 1, k), A(k + 1, k + 1));
    values[k + 1] = CONJ(values[k]);
    k++;
  }
  if (vectors) {
    for (int64_t i = 0; i < n * n; i++) {
      t[i] = a[i];
      vectors[i] = q[i];
    }
    for (int64_t k = 0; k < n; k++) {
      if (is_pair(n, a, k)) triangulate(n, t, vectors, k, values[k]);
    }
    make_vectors(n, t, scale, true, vectors, (cd *)(void *)(work + n));
  }
  for (int64_t k = 0; k < n; k++) {
    values[k] =
        __builtin_complex(ldexp(creal(values[k]), exponent), ldexp(cimag(values[k]), exponent));
  }
  return 0;
}

int64_t ig_general_run_c128(int64_t n, cd *a, cd *values, cd *vectors, double *work) {
  double *scale = work;
  int exponent = normalize(2 * n * n, (double *)a);
  balance(n, (double *)a, 2, scale);
  int64_t left = ig_schur_c128(n, a, vectors, work + n);
  if (left) return left;
  for (int64_t k = 0; k < n; k++) {
    values[k] = __builtin_complex(ldexp(creal(A(k, k)), exponent), ldexp(cimag(A(k, k)), exponent));
  }
  if (vectors) make_vectors(n, a, scale, false, vectors, (cd *)(void *)(work + n));
  return 0;
}
