// SPDX-License-Identifier: Apache-2.0
// Matrices as operands: checks, column-major copies, and the factorizations of kernels/linalg for
// every dtype behind one table.
#ifndef OPS_SYSTEM_H_
#define OPS_SYSTEM_H_

#include "ops/dense.h"
#include "ops/tile.h"

// Errors with PyTorch's messages, which begin with `name`.
bool ig_check_square(ig_ctx *c, const ig_tensor *a, const char *name);
bool ig_check_numeric(ig_ctx *c, const ig_tensor *a, const char *name);
// Pushes all sizes of a except the last `drop`.
void ig_batch_sizes(ig_ctx *c, const ig_tensor *a, int drop, ig_meta *out);
int64_t ig_matrix_rows(const ig_tensor *a);
int64_t ig_matrix_order(const ig_tensor *a);  // columns
int64_t ig_matrix_count(const ig_tensor *a);
ig_tensor *ig_hermitian(ig_ctx *c, ig_tensor *x);
// The matrices of t, as many as `out` has, by columns; turned: transposed. A copy that may be
// written.
ig_tensor *ig_read_batch(ig_ctx *c, ig_tensor *t, const ig_tensor *out, bool turned);
// The gradient of a matrix from that of its pseudo-inverse p.
ig_tensor *ig_pinv_gradient(ig_ctx *c, ig_tensor *a, ig_tensor *p, ig_tensor *grad);
// Element i of an array of this dtype.
ig_cd ig_number_at(const void *data, ig_dtype dtype, int64_t i);

// Products with the reflections of an m x k matrix.
typedef struct ig_reflected {
  int64_t m;
  int64_t k;
  const void *a;
  const void *tau;
  bool adjoint;
} ig_reflected;

// Dense column-major matrices; see kernels/linalg.
typedef struct ig_matrix_fns {
  int64_t (*lu)(int64_t m, int64_t n, void *a, int32_t *swaps, void *work);
  void (*lu_solve)(int64_t n, const void *lu, const int32_t *swaps, bool turned, int64_t m, void *x,
                   void *work);
  void (*triangle)(int64_t n, const void *a, bool upper, bool unit, int64_t m, void *x, void *work);
  int64_t (*cholesky)(int64_t n, void *a, void *work);
  void (*qr)(int64_t m, int64_t n, void *a, void *tau, void *work);
  void (*reflect)(const ig_reflected *q, int64_t n, void *c, void *work);
} ig_matrix_fns;
const ig_matrix_fns *ig_matrix_fns_of(ig_dtype dtype);

#endif
