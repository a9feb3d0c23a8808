// SPDX-License-Identifier: Apache-2.0
// Square matrices as rows of complex doubles: checks of operands, and Gaussian elimination with
// partial pivoting.
#ifndef OPS_SYSTEM_H_
#define OPS_SYSTEM_H_

#include "ops/dense.h"
#include "ops/tile.h"

// Errors with PyTorch's messages, which begin with `name`.
bool ig_check_square(ig_ctx *c, const ig_tensor *a, const char *name);
bool ig_check_numeric(ig_ctx *c, const ig_tensor *a, const char *name);
// Pushes all sizes of a except the last `drop`.
void ig_batch_sizes(ig_ctx *c, const ig_tensor *a, int drop, ig_meta *out);
int64_t ig_matrix_order(const ig_tensor *a);  // columns
int64_t ig_matrix_count(const ig_tensor *a);
ig_tensor *ig_hermitian(ig_ctx *c, ig_tensor *x);
// The matrices of t (turned: transposed), row-major, as many as `out` has.
ig_cd *ig_read_batch(ig_ctx *c, ig_tensor *t, const ig_tensor *out, bool turned);

// Rows of one m x n matrix.
typedef struct ig_system {
  int64_t m;
  int64_t n;
  ig_cd *a;
  int64_t *swaps;  // min(m, n): the row that was exchanged with row k
  double sign;
  bool singular;
} ig_system;

// LU factorization in place: L below the diagonal, U on and above it.
void ig_eliminate(ig_system *s);
// The first 0 on the diagonal, counted from 1; 0: there is none.
int32_t ig_first_zero(const ig_system *s);
// x (n x m, row-major) becomes the solution of a y = x for the triangle of a; turned: of a^T.
void ig_solve_triangle(const ig_cd *a, int64_t n, bool turned, ig_cd *x, int64_t m, bool upper,
                       bool unit);
// The same for the system P L U, or its transpose U^T L^T P^T.
void ig_solve(const ig_system *s, bool turned, ig_cd *x, int64_t m);

#endif
