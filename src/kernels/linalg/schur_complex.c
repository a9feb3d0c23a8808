// SPDX-License-Identifier: Apache-2.0
// The Schur form of a complex matrix, which is triangular: Householder reflections, then QR steps
// with one shift.
#include <complex.h>
#include <float.h>
#include <math.h>

#include "kernels/linalg/general.h"

typedef double _Complex cd;
#define A(i, j) a[(i) + (j)*n]
#define MUL ig_schur_mul
#define CONJ ig_schur_conj

enum { PATIENCE = 60 };  // steps per eigenvalue

static double size_of(cd x) {
  return fabs(creal(x)) + fabs(cimag(x));
}

// ---- Hessenberg form

// v of m elements becomes a reflection I - tau v v^H, v[0] = 1; its adjoint takes v to
// (beta, 0, ...), beta real.
static cd reflection(int64_t m, cd *v, double *beta) {
  double rest = 0;
  for (int64_t i = 1; i < m; i++) rest = hypot(rest, hypot(creal(v[i]), cimag(v[i])));
  *beta = creal(v[0]);
  if (rest == 0 && cimag(v[0]) == 0) return 0;
  double norm = hypot(hypot(creal(v[0]), cimag(v[0])), rest);
  *beta = creal(v[0]) > 0 ? -norm : norm;
  cd first = v[0] - *beta;
  for (int64_t i = 1; i < m; i++) v[i] /= first;
  v[0] = 1;
  return -first / *beta;
}

static void reflect_rows(int64_t n, cd *a, const cd *v, cd tau, int64_t from, int64_t m) {
  for (int64_t j = from; j < n; j++) {
    cd *x = &A(from, j);
    cd sum = 0;
    for (int64_t i = 0; i < m; i++) sum += MUL(CONJ(v[i]), x[i]);
    sum = MUL(CONJ(tau), sum);
    for (int64_t i = 0; i < m; i++) x[i] -= MUL(v[i], sum);
  }
}

static void reflect_columns(int64_t n, cd *a, const cd *v, cd tau, int64_t from, int64_t m) {
  for (int64_t i = 0; i < n; i++) {
    cd sum = 0;
    for (int64_t k = 0; k < m; k++) sum += MUL(A(i, from + k), v[k]);
    sum = MUL(sum, tau);
    for (int64_t k = 0; k < m; k++) A(i, from + k) -= MUL(sum, CONJ(v[k]));
  }
}

static void to_hessenberg(int64_t n, cd *a, cd *q, cd *v) {
  for (int64_t k = 0; k + 2 < n; k++) {
    int64_t m = n - k - 1;
    double beta = 0;
    for (int64_t i = 0; i < m; i++) v[i] = A(k + 1 + i, k);
    cd tau = reflection(m, v, &beta);
    if (tau == 0) continue;
    A(k + 1, k) = beta;
    for (int64_t i = k + 2; i < n; i++) A(i, k) = 0;
    reflect_rows(n, a, v, tau, k + 1, m);
    reflect_columns(n, a, v, tau, k + 1, m);
    if (q) reflect_columns(n, q, v, tau, k + 1, m);
  }
}

// ---- steps

static int64_t block_start(int64_t n, cd *a, int64_t last, double floor) {
  int64_t k = last;
  for (; k > 0; k--) {
    double around = size_of(A(k - 1, k - 1)) + size_of(A(k, k));
    if (around == 0) around = floor;
    if (size_of(A(k, k - 1)) <= DBL_EPSILON * around) {
      A(k, k - 1) = 0;
      break;
    }
  }
  return k;
}

// The eigenvalue of the last block of two that is closer to its last element.
static cd shift_of(int64_t n, cd *a, int64_t last, int64_t count) {
  if (count % 10 == 9) return A(last, last) + size_of(A(last, last - 1));  // it goes in circles
  cd d = A(last, last);
  cd half = (A(last - 1, last - 1) - d) / 2;
  cd bc = MUL(A(last - 1, last), A(last, last - 1));
  cd root = csqrt(MUL(half, half) + bc);
  if (creal(MUL(CONJ(half), root)) < 0) root = -root;
  cd sum = half + root;
  return size_of(sum) == 0 ? d : d - bc / sum;
}

// Rows or columns x, y: (x, y) becomes (c x + t y, c y - conj(t) x).
static void rotate(cd *x, cd *y, int64_t count, int64_t step, double c, cd t) {
  for (int64_t i = 0; i < count; i++) {
    cd p = x[i * step];
    cd r = y[i * step];
    x[i * step] = c * p + MUL(t, r);
    y[i * step] = c * r - MUL(CONJ(t), p);
  }
}

static void step(int64_t n, cd *a, cd *q, int64_t first, int64_t last, int64_t count) {
  cd x = A(first, first) - shift_of(n, a, last, count);
  cd y = A(first + 1, first);
  for (int64_t k = first; k < last; k++) {
    double px = hypot(creal(x), cimag(x));
    double norm = hypot(px, hypot(creal(y), cimag(y)));
    double c = norm == 0 ? 1 : px / norm;
    // The phase of x stays.
    cd t = norm == 0 ? 0 : (px == 0 ? CONJ(y) / norm : MUL(x / px, CONJ(y)) / norm);
    int64_t from = k > first ? k - 1 : k;
    int64_t columns = (q ? n : last + 1) - from;
    int64_t rows = (k + 2 < last ? k + 2 : last) + 1;
    rotate(&A(k, from), &A(k + 1, from), columns, n, c, t);
    rotate(&A(0, k), &A(0, k + 1), rows, 1, c, CONJ(t));
    if (q) rotate(q + k * n, q + (k + 1) * n, n, 1, c, CONJ(t));
    if (k > first) A(k + 1, k - 1) = 0;
    if (k + 1 == last) break;
    x = A(k + 1, k);
    y = A(k + 2, k);
  }
}

int64_t ig_schur_c128(int64_t n, cd *a, cd *q, double *work) {
  double floor = 0;
  for (int64_t i = 0; i < n * n; i++) floor = fmax(floor, size_of(a[i]));
  for (int64_t i = 0; q && i < n * n; i++) q[i] = i % (n + 1) == 0;
  to_hessenberg(n, a, q, (cd *)(void *)work);
  int64_t count = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = block_start(n, a, last, floor);
    if (first == last) {
      last--;
      count = 0;
    } else if (count == PATIENCE) {
      return last + 1;
    } else {
      step(n, a, q, first, last, count++);
    }
  }
  return 0;
}
