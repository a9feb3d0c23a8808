// SPDX-License-Identifier: Apache-2.0
// QR factorization.
#include <string.h>

#include "base/budget.h"
#include "kernels/linalg/qr.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/dense.h"

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
  } else if (a->dtype != IG_F32 && a->dtype != IG_F64 && !ig_dtype_is_complex(a->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
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
    ig_meta_by_columns(c, &out[i]);
  }
}

// One column-major matrix: a holds the m x n matrix and is overwritten. R is rows x n, Q m x w.
typedef struct qr_job {
  int64_t m;
  int64_t n;
  int64_t w;
  int64_t rows;
  void *a;
  void *tau;
  void *work;
} qr_job;
typedef void qr_fn(const qr_job *j, void *q, void *r);

#define QR(name, type)                                                          \
  static void qr_##name(const qr_job *j, void *q, void *r) {                    \
    int64_t k = j->m < j->n ? j->m : j->n;                                      \
    const type *a = j->a;                                                       \
    type *to = r;                                                               \
    ig_qr_factor_##name(j->m, j->n, j->a, j->m, j->tau, j->work);               \
    for (int64_t c = 0; c < j->n; c++) {                                        \
      for (int64_t i = 0; i < j->rows; i++) {                                   \
        to[c * j->rows + i] = i <= c && i < j->m ? a[c * j->m + i] : (type){0}; \
      }                                                                         \
    }                                                                           \
    ig_reflections_##name all = {j->m, k, j->a, j->m, j->tau};                  \
    if (q) ig_qr_expand_##name(&all, j->w, q, j->m, j->work);                   \
  }
QR(f32, float)
QR(f64, double)
QR(c64, ig_c64)
QR(c128, ig_c128)

static qr_fn *qr_of(ig_dtype d) {
  return d == IG_F32 ? qr_f32 : d == IG_F64 ? qr_f64 : d == IG_C64 ? qr_c64 : qr_c128;
}

static void qr_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  ig_tensor *r = outs[1].tensor;
  qr_mode mode = mode_of(c, args[1].str);
  int64_t m = ig_sizes(a)[a->ndim - 2].value;
  int64_t n = ig_sizes(a)[a->ndim - 1].value;
  int64_t k = m < n ? m : n;
  int64_t w = mode == COMPLETE ? m : k;
  if (n == 0 && mode == COMPLETE) {  // nothing to reflect
    ig_dense_eye(outs[0].tensor);
    return;
  }
  if (m == 0 || n == 0) return;
  int64_t count = ig_tensor_numel(a) / (m * n);
  size_t size = ig_dtype_size(a->dtype);
  ig_scope s = ig_scope_open(c);
  char *from = ig_dense_columns(c, a);
  qr_job j = {.m = m, .n = n, .w = w, .rows = ig_sizes(r)[r->ndim - 2].value};
  j.tau = ig_scope_array(c, (size_t)k, size);
  j.work = ig_scope_array(c, ig_qr_work(m, n > w ? n : w), size);
  char *q = mode == R_ONLY ? NULL : ig_tensor_data(outs[0].tensor);
  for (int64_t i = 0; i < count && c->status == IG_OK && ig_step(c); i++) {
    j.a = from + (size_t)(i * m * n) * size;
    void *qi = q ? q + (size_t)(i * m * w) * size : NULL;
    qr_of(a->dtype)(&j, qi, (char *)ig_tensor_data(r) + (size_t)(i * j.rows * n) * size);
  }
  ig_scope_close(c, s);
}

static ig_tensor *turned(ig_ctx *c, ig_tensor *t) {
  return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
}

static ig_tensor *adjoint(ig_ctx *c, ig_tensor *t) {
  return turned(c, ig_conj_of(c, t));
}

static ig_tensor *sum_of(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  return a && b ? ig_add_tensor(c, a, b) : a ? a : b;
}

// x R^H = b: x_j = (b_j - sum_{k>j} x_k conj(R_jk)) / conj(R_jj), from the last column.
static ig_tensor *solve_right(ig_ctx *c, ig_tensor *b, ig_tensor *r, int64_t n) {
  ig_value *columns = ig_scope_array(c, (size_t)n, sizeof *columns);
  r = ig_conj_of(c, r);
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

// For m >= n: dA = (dQ + Q S) R^-H, S the Hermitian matrix that has the lower triangle of
// M = R dR^H - dQ^H Q, its diagonal real.
static ig_tensor *tall(ig_ctx *c, ig_tensor *q, ig_tensor *r, ig_tensor *gq, ig_tensor *gr) {
  ig_tensor *m = gr ? ig_matmul(c, r, adjoint(c, gr)) : NULL;
  if (gq) m = sum_of(c, m, ig_neg(c, ig_matmul(c, adjoint(c, gq), q)));
  ig_tensor *low = ig_tril(c, m);
  low = ig_add_tensor(c, low, ig_tril_with(c, m, ig_const(-1)));
  ig_tensor *s = ig_mul_f64(c, ig_add_tensor(c, low, adjoint(c, low)), 0.5);
  ig_tensor *b = sum_of(c, ig_matmul(c, q, s), gq);
  return b ? solve_right(c, b, r, ig_int_specialize(c, ig_sizes(r)[r->ndim - 1])) : NULL;
}

static ig_tensor *columns_of(ig_ctx *c, ig_tensor *t, ig_int begin, ig_int end) {
  if (!t) return NULL;
  return ig_slice_tensor_with(c, t, ig_const(-1), ig_of_int(begin), ig_of_int(end), ig_const(1));
}

// For m < n: A = [A1 A2], R = [R1 R2]. A1 = Q R1 is square, and R2 = Q^H A2.
static ig_tensor *wide(ig_ctx *c, const ig_vjp *v, ig_int m, ig_int n) {
  ig_tensor *q = v->outs[0].tensor;
  ig_tensor *r1 = columns_of(c, v->outs[1].tensor, ig_const(0), m);
  ig_tensor *gr1 = columns_of(c, v->grads[1], ig_const(0), m);
  ig_tensor *gr2 = columns_of(c, v->grads[1], m, n);
  ig_tensor *gq = v->grads[0];
  ig_tensor *a2 = columns_of(c, v->args[0].tensor, m, n);
  if (gr2) gq = sum_of(c, gq, ig_matmul(c, a2, adjoint(c, gr2)));
  ig_tensor *d1 = tall(c, q, r1, gq, gr1);
  ig_tensor *d2 = gr2 ? ig_matmul(c, q, gr2) : ig_zeros_of(c, a2);
  ig_value both[] = {ig_of_tensor(d1), ig_of_tensor(d2)};
  return d1 && d2 ? ig_cat_with(c, ig_of_list(both, 2), ig_const(-1)) : NULL;
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
  if (ig_int_eq_i64(c, n, 0) || ig_int_eq_i64(c, m, 0)) {
    IG_GRAD(v, 0) = ig_zeros_of(c, a);
    return;
  }
  bool is_tall = ig_int_is(c, n, IG_LE, m);
  if (mode == COMPLETE && is_tall && !ig_int_eq(c, m, n)) {
    ig_fail_text(c, IG_RUNTIME,
                 "The QR decomposition is not differentiable when mode='complete' and nrows > "
                 "ncols");
    return;
  }
  ig_tensor *q = v->outs[0].tensor;
  IG_GRAD(v, 0) =
      is_tall ? tall(c, q, v->outs[1].tensor, v->grads[0], v->grads[1]) : wide(c, v, m, n);
}

IG_OP(linalg_qr) = {
    .schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
    .autocast = IG_AUTOCAST_F32,
    .shape = qr_shape,
    .kernel = qr_kernel,
    .vjp = qr_vjp,
    .samples =
        "f32[4,3] | f32[2,3,3] | f32[3,3], 'complete' | f32[2,3] | f32[2,2,4], 'complete' | "
        "f32[3,0] | f32[0,2,2] | f32[4,2].T",
    .waive = "special: which elements become NaN depends on LAPACK",
};
