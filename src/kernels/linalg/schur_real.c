// SPDX-License-Identifier: Apache-2.0
// The Schur form of a real matrix: Householder reflections, then QR steps with two shifts at once,
// which keep all numbers real.
#include <float.h>
#include <math.h>

#include "kernels/linalg/general.h"

#define A(i, j) a[(i) + (j)*n]
#define Q(i, j) q[(i) + (j)*n]

enum { PATIENCE = 60 };  // steps per eigenvalue

typedef struct schur {
  int64_t n;
  double *a;
  double *q;     // NULL: not wanted
  double floor;  // what counts as nothing where the neighbours are zero
} schur;

// v of m elements becomes a reflection I - tau v v^T, v[0] = 1, that takes v to (beta, 0, ...).
static double reflection(int64_t m, double *v, double *beta) {
  double rest = 0;
  for (int64_t i = 1; i < m; i++) rest = hypot(rest, v[i]);
  *beta = v[0];
  if (rest == 0) return 0;
  double norm = hypot(v[0], rest);
  *beta = v[0] > 0 ? -norm : norm;
  double first = v[0] - *beta;
  for (int64_t i = 1; i < m; i++) v[i] /= first;
  v[0] = 1;
  return -first / *beta;
}

// ---- Hessenberg form

// Rows from..from+m of columns first..last-1.
static void reflect_rows(const schur *s, const double *v, double tau, int64_t from, int64_t m,
                         int64_t first, int64_t last) {
  for (int64_t j = first; j < last; j++) {
    double *x = s->a + from + j * s->n;
    double sum = 0;
    for (int64_t i = 0; i < m; i++) sum += v[i] * x[i];
    sum *= tau;
    for (int64_t i = 0; i < m; i++) x[i] -= sum * v[i];
  }
}

// Columns from..from+m of the first `rows` rows of x; sum is working memory.
static void reflect_columns(int64_t n, double *x, const double *v, double tau, int64_t from,
                            int64_t m, int64_t rows, double *sum) {
  for (int64_t i = 0; i < rows; i++) sum[i] = 0;
  for (int64_t k = 0; k < m; k++) {
    const double *column = x + (from + k) * n;
    for (int64_t i = 0; i < rows; i++) sum[i] += column[i] * v[k];
  }
  for (int64_t k = 0; k < m; k++) {
    double *column = x + (from + k) * n;
    double factor = tau * v[k];
    for (int64_t i = 0; i < rows; i++) column[i] -= factor * sum[i];
  }
}

static void to_hessenberg(const schur *s, double *work) {
  int64_t n = s->n;
  double *a = s->a;
  double *v = work;
  for (int64_t k = 0; k + 2 < n; k++) {
    int64_t m = n - k - 1;
    double beta = 0;
    for (int64_t i = 0; i < m; i++) v[i] = A(k + 1 + i, k);
    double tau = reflection(m, v, &beta);
    A(k + 1, k) = beta;
    for (int64_t i = k + 2; i < n; i++) A(i, k) = 0;
    if (tau == 0) continue;
    reflect_rows(s, v, tau, k + 1, m, k + 1, n);
    reflect_columns(n, a, v, tau, k + 1, m, n, work + n);
    if (s->q) reflect_columns(n, s->q, v, tau, k + 1, m, n, work + n);
  }
}

// ---- steps

static void rotate(double *x, double *y, int64_t count, int64_t step, double c, double t) {
  for (int64_t i = 0; i < count; i++) {
    double p = x[i * step];
    double r = y[i * step];
    x[i * step] = c * p + t * r;
    y[i * step] = c * r - t * p;
  }
}

// The block of rows k, k + 1: triangular if its eigenvalues are real.
static void split(const schur *s, int64_t k) {
  int64_t n = s->n;
  double *a = s->a;
  double half = (A(k, k) - A(k + 1, k + 1)) / 2;
  double bc = A(k, k + 1) * A(k + 1, k);
  double square = half * half + bc;
  if (A(k + 1, k) == 0 || square < 0) return;
  double root = sqrt(square);
  // The eigenvector of the eigenvalue that is further away from A(k + 1, k + 1).
  double x = half + (half < 0 ? -root : root);
  double norm = hypot(x, A(k + 1, k));
  double c = norm == 0 ? 1 : x / norm;
  double t = norm == 0 ? 0 : A(k + 1, k) / norm;
  rotate(&A(k, k), &A(k + 1, k), n - k, n, c, t);
  rotate(&A(0, k), &A(0, k + 1), k + 2, 1, c, t);
  if (s->q) rotate(s->q + k * n, s->q + (k + 1) * n, n, 1, c, t);
  A(k + 1, k) = 0;
}

// The first row of the block that ends in row `last`.
static int64_t block_start(const schur *s, int64_t last) {
  int64_t n = s->n;
  double *a = s->a;
  int64_t k = last;
  for (; k > 0; k--) {
    double around = fabs(A(k - 1, k - 1)) + fabs(A(k, k));
    if (around == 0) around = s->floor;
    if (fabs(A(k, k - 1)) <= DBL_EPSILON * around) {
      A(k, k - 1) = 0;
      break;
    }
  }
  return k;
}

// One step with two shifts on rows first..last, at least three of them.
static void step(const schur *s, int64_t first, int64_t last, int64_t count, double *work) {
  int64_t n = s->n;
  double *a = s->a;
  double trace = A(last - 1, last - 1) + A(last, last);
  double det = A(last - 1, last - 1) * A(last, last) - A(last - 1, last) * A(last, last - 1);
  double square = trace * trace / 4 - det;
  if (square >= 0) {  // two real shifts: the one that is closer to the last element, twice
    double root = sqrt(square);
    double shift = trace / 2 + (A(last, last) < trace / 2 ? -root : root);
    trace = 2 * shift;
    det = shift * shift;
  }
  if (count % 10 == 9) {  // it goes round in circles
    double size = fabs(A(last, last - 1)) + fabs(A(last - 1, last - 2));
    trace = 1.5 * size;
    det = size * size;
  }
  int64_t f = first;
  double v[3] = {A(f, f) * A(f, f) + A(f, f + 1) * A(f + 1, f) - trace * A(f, f) + det,
                 A(f + 1, f) * (A(f, f) + A(f + 1, f + 1) - trace), A(f + 1, f) * A(f + 2, f + 1)};
  for (int64_t k = first; k < last; k++) {
    int64_t m = last - k < 2 ? 2 : 3;
    double beta = 0;
    double tau = reflection(m, v, &beta);
    if (k > first) {
      A(k, k - 1) = beta;
      for (int64_t i = 1; i < m; i++) A(k + i, k - 1) = 0;
    }
    if (tau != 0) {
      int64_t end = s->q ? n : last + 1;
      int64_t rows = (k + 3 < last ? k + 3 : last) + 1;
      reflect_rows(s, v, tau, k, m, k, end);
      reflect_columns(n, a, v, tau, k, m, rows, work);
      if (s->q) reflect_columns(n, s->q, v, tau, k, m, n, work);
    }
    for (int64_t i = 0; i < 3 && k + 1 + i <= last; i++) v[i] = A(k + 1 + i, k);
  }
}

int64_t ig_schur_f64(int64_t n, double *a, double *q, double *work) {
  schur s = {.n = n, .a = a, .q = q};
  for (int64_t i = 0; i < n * n; i++) s.floor = fmax(s.floor, fabs(a[i]));
  for (int64_t i = 0; q && i < n * n; i++) q[i] = i % (n + 1) == 0;
  to_hessenberg(&s, work);
  int64_t count = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = block_start(&s, last);
    if (first + 1 >= last) {
      if (first + 1 == last) split(&s, first);
      last = first - 1;
      count = 0;
    } else if (count == PATIENCE) {
      return last + 1;
    } else {
      step(&s, first, last, count++, work);
    }
  }
  return 0;
}

double _Complex ig_schur_pair(double a, double b, double c, double d) {
  double half = (a - d) / 2;
  double square = half * half + b * c;
  return __builtin_complex((a + d) / 2, sqrt(square < 0 ? -square : 0));
}
