// SPDX-License-Identifier: Apache-2.0
// Factorizations over LAPACK. Without it they say so.
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "tensor/copy.h"

#ifdef IG_HAVE_LAPACK
#include <lapacke.h>
#endif

typedef enum qr_mode { REDUCED, COMPLETE, R_ONLY } qr_mode;

static qr_mode mode_of(ig_ctx *c, const char *text) {
  if (strcmp(text, "reduced") == 0) return REDUCED;
  if (strcmp(text, "complete") == 0) return COMPLETE;
  if (strcmp(text, "r") == 0) return R_ONLY;
  ig_fail_text(
      c, IG_RUNTIME,
      "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or "
      "'complete'",
      text);
  return REDUCED;
}

static ig_int lesser(ig_ctx *c, ig_int a, ig_int b) {
  return ig_int_is(c, a, IG_LE, b) ? a : b;
}

// A [.., m, n] -> Q [.., m, k], R [.., k, n], k the lesser of m and n (complete: m)
static void qr_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *a = args[0].tensor;
  (void)op;
  qr_mode mode = mode_of(c, args[1].str);
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "linalg.qr: The input tensor A must have at least 2 dimensions.");
  } else if (a->dtype != IG_F32 && a->dtype != IG_F64) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "linalg.qr: Expected a floating point or complex tensor as input. Got %s",
                 ig_dtype_title(a->dtype));
  }
  if (c->status != IG_OK) return;
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  ig_int k = lesser(c, m, n);
  for (int i = 0; i < 2; i++) {
    if (i == 0 && mode == R_ONLY) {
      ig_meta_push_dim(c, &out[0], ig_const(0));
      continue;
    }
    for (int d = 0; d < a->ndim - 2; d++) ig_meta_push_dim(c, &out[i], ig_sizes(a)[d]);
    ig_meta_push_dim(c, &out[i], i == 0 ? m : mode == COMPLETE ? m : k);
    ig_meta_push_dim(c, &out[i], i == 0 ? (mode == COMPLETE ? m : k) : n);
  }
}

#ifdef IG_HAVE_LAPACK
// One matrix, row-major: `work` is m x w (w: columns of Q, at least n), tau has min(m, n).
#define QR(name, type, geqrf, orgqr)                                                             \
  static int name(const type *a, type *work, type *tau, type *q, type *r, int m, int n, int w,   \
                  int rows_r) {                                                                  \
    int k = m < n ? m : n;                                                                       \
    int wide = n > w ? n : w;                                                                    \
    for (int i = 0; i < m; i++)                                                                  \
      memcpy(work + (size_t)i * (size_t)wide, a + (size_t)i * (size_t)n, (size_t)n * sizeof *a); \
    int info = geqrf(LAPACK_ROW_MAJOR, m, n, work, wide, tau);                                   \
    for (int i = 0; i < rows_r; i++) {                                                           \
      for (int j = 0; j < n; j++) r[i * n + j] = j >= i ? work[i * wide + j] : 0;                \
    }                                                                                            \
    if (info || !q) return info;                                                                 \
    info = orgqr(LAPACK_ROW_MAJOR, m, w, k, work, wide, tau);                                    \
    for (int i = 0; i < m; i++)                                                                  \
      memcpy(q + (size_t)i * (size_t)w, work + (size_t)i * (size_t)wide, (size_t)w * sizeof *q); \
    return info;                                                                                 \
  }
QR(qr_f32, float, LAPACKE_sgeqrf, LAPACKE_sorgqr)
QR(qr_f64, double, LAPACKE_dgeqrf, LAPACKE_dorgqr)
#endif

static void qr_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
#ifdef IG_HAVE_LAPACK
  const ig_tensor *a = args[0].tensor;
  ig_tensor *r = outs[1].tensor;
  qr_mode mode = mode_of(c, args[1].str);
  int64_t m = ig_sizes(a)[a->ndim - 2].value;
  int64_t n = ig_sizes(a)[a->ndim - 1].value;
  int64_t k = m < n ? m : n;
  int64_t w = mode == COMPLETE ? m : k;
  int64_t count = m > 0 && n > 0 ? ig_tensor_numel(a) / (m * n) : 0;
  if (m > INT32_MAX / 2 || n > INT32_MAX / 2) {
    ig_fail_text(c, IG_RUNTIME, "linalg.qr: the matrix is too large for LAPACK");
    return;
  }
  size_t size = ig_dtype_size(a->dtype);
  ig_scope s = ig_scope_open(c);
  char *dense = ig_scope_push(c, (size_t)ig_tensor_numel(a) * size + 1);
  int64_t wide = n > w ? n : w;
  char *work = ig_scope_push(c, (size_t)(m * wide) * size + 1);
  char *tau = ig_scope_push(c, (size_t)k * size + 1);
  if (dense && work && tau) {
    ig_tensor_read(a, a->dtype, dense);
    char *q = mode == R_ONLY ? NULL : ig_tensor_data(outs[0].tensor);
    char *to = ig_tensor_data(r);
    int64_t rows = ig_sizes(r)[r->ndim - 2].value;
    for (int64_t i = 0; i < count && c->status == IG_OK; i++) {
      const void *from = dense + (size_t)(i * m * n) * size;
      void *qi = q ? q + (size_t)(i * m * w) * size : NULL;
      void *ri = to + (size_t)(i * rows * n) * size;
      int info =
          a->dtype == IG_F32
              ? qr_f32(from, (void *)work, (void *)tau, qi, ri, (int)m, (int)n, (int)w, (int)rows)
              : qr_f64(from, (void *)work, (void *)tau, qi, ri, (int)m, (int)n, (int)w, (int)rows);
      if (info) (void)ig_fail(c, IG_RUNTIME, "linalg.qr: LAPACK reports %d", info);
    }
  }
  ig_scope_close(c, s);
#else
  (void)args;
  (void)outs;
  ig_fail_text(c, IG_RUNTIME,
               "Calling torch.linalg.qr on a CPU tensor requires compiling with LAPACK. Please use "
               "a build with LAPACK support.");
#endif
}

static ig_tensor *turned(ig_ctx *c, ig_tensor *t) {
  return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
}

// For m >= n: dA = (dQ + Q copyltu(M)) R^-T with M = R dR^T - dQ^T Q, copyltu(M) the symmetric
// matrix of M's lower triangle. The inverse is applied by back substitution column by column.
static ig_tensor *solve_right(ig_ctx *c, ig_tensor *b, ig_tensor *r, int64_t n) {
  // x R^T = b: x_j = (b_j - sum_{k>j} x_k R_jk) / R_jj, from the last column.
  ig_value *columns = ig_scope_push(c, (size_t)n * sizeof *columns + 1);
  for (int64_t j = n - 1; columns && j >= 0 && c->status == IG_OK; j--) {
    ig_tensor *x = ig_select_int(c, b, ig_const(-1), ig_const(j));
    ig_tensor *row = ig_select_int(c, r, ig_const(-2), ig_const(j));
    for (int64_t k = n - 1; k > j; k--) {
      ig_tensor *f = ig_select_int(c, row, ig_const(-1), ig_const(k));
      f = ig_unsqueeze(c, f, ig_const(-1));
      ig_tensor *part = ig_mul_tensor(c, columns[k].tensor, f);
      x = ig_sub_tensor(c, x, part);
    }
    ig_tensor *pivot = ig_select_int(c, row, ig_const(-1), ig_const(j));
    pivot = ig_unsqueeze(c, pivot, ig_const(-1));
    columns[j] = ig_of_tensor(ig_div_tensor(c, x, pivot));
  }
  if (!columns || c->status != IG_OK) return NULL;
  return ig_stack_with(c, ig_of_list(columns, (size_t)n), ig_const(-1));
}

static void qr_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  qr_mode mode = mode_of(c, v->args[1].str);
  const ig_tensor *a = v->args[0].tensor;
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  if (mode == R_ONLY) {
    ig_fail_text(c, IG_RUNTIME,
                 "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                 "Please use linalg.qr(A, mode='reduced') if you are going to differentiate "
                 "through linalg.qr.");
    return;
  }
  if (!ig_int_is(c, n, IG_LE, m) || (mode == COMPLETE && !ig_int_eq(c, m, n))) {
    ig_fail_text(c, IG_RUNTIME,
                 "The QR decomposition is not differentiable when mode='%s' and nrows %s ncols",
                 v->args[1].str, mode == COMPLETE ? ">" : "<");
    return;
  }
  ig_tensor *q = v->outs[0].tensor;
  ig_tensor *r = v->outs[1].tensor;
  ig_tensor *gq = v->grads[0];
  ig_tensor *gr = v->grads[1];
  ig_tensor *mm = NULL;
  if (gr) mm = ig_matmul(c, r, turned(c, gr));
  if (gq) {
    ig_tensor *part = ig_matmul(c, turned(c, gq), q);
    mm = mm ? ig_sub_tensor(c, mm, part) : ig_neg(c, part);
  }
  ig_tensor *low = ig_tril(c, mm);
  ig_tensor *strict = ig_tril_with(c, mm, ig_const(-1));
  ig_tensor *symmetric = ig_add_tensor(c, low, turned(c, strict));
  ig_tensor *b = ig_matmul(c, q, symmetric);
  if (gq) b = ig_add_tensor(c, b, gq);
  IG_GRAD(v, 0) = solve_right(c, b, r, ig_int_specialize(c, n));
}

IG_OP(linalg_qr) = {
    .schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
    .shape = qr_shape,
    .kernel = qr_kernel,
    .vjp = qr_vjp,
    .keep = "result",
    .samples = "f32[4,3] | f32[2,3,3] | f32[3,3], 'complete'",
};
