// SPDX-License-Identifier: Apache-2.0
// Square matrices: inverse, determinants, Cholesky and LU factors, triangular systems. Small and
// plain: batches of matrices in complex double precision, Gaussian elimination with row exchange.
#include "op/refuse.h"
#include "ops/dense.h"
#include "ops/tile.h"

static bool is_square(ig_ctx *c, const ig_tensor *a, const char *name) {
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "%s: The input tensor A must have at least 2 dimensions.", name);
    return false;
  }
  if (!ig_int_eq(c, ig_sizes(a)[a->ndim - 1], ig_sizes(a)[a->ndim - 2])) {
    ig_fail_text(
        c, IG_RUNTIME, "%s: A must be batches of square matrices, but they are %s by %s matrices",
        name, ig_int_text(c, ig_sizes(a)[a->ndim - 2]), ig_int_text(c, ig_sizes(a)[a->ndim - 1]));
    return false;
  }
  return true;
}
static bool is_numeric(ig_ctx *c, const ig_tensor *a, const char *name) {
  ig_dtype d = a->dtype;
  if (d == IG_F32 || d == IG_F64 || ig_dtype_is_complex(d)) return true;
  bool low = d == IG_F16 || d == IG_BF16;
  ig_fail_text(c, IG_RUNTIME,
               low ? "%s: Low precision dtypes not supported. Got %s"
                   : "%s: Expected a floating point or complex tensor as input. Got %s",
               name, ig_dtype_title(d));
  return false;
}
static void batch_sizes(ig_ctx *c, const ig_tensor *a, int drop, ig_meta *out) {
  for (int d = 0; d < a->ndim - drop; d++) ig_meta_push_dim(c, out, ig_sizes(a)[d]);
}

// Rows of one m x n matrix.
typedef struct system {
  int64_t m;
  int64_t n;
  ig_cd *a;
  int64_t *swaps;
  double sign;
  bool singular;
} system_t;

static void eliminate(system_t *s) {
  int64_t n = s->n;
  s->sign = 1;
  s->singular = false;
  for (int64_t k = 0; k < s->m && k < n; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; i < s->m; i++) {
      if (cabs(s->a[i * n + k]) > cabs(s->a[best * n + k])) best = i;
    }
    s->swaps[k] = best;
    if (best != k) {
      s->sign = -s->sign;
      for (int64_t j = 0; j < n; j++) {
        ig_cd t = s->a[k * n + j];
        s->a[k * n + j] = s->a[best * n + j];
        s->a[best * n + j] = t;
      }
    }
    if (s->a[k * n + k] == 0) {
      s->singular = true;
      continue;
    }
    for (int64_t i = k + 1; i < s->m; i++) {
      ig_cd f = s->a[i * n + k] / s->a[k * n + k];
      s->a[i * n + k] = f;
      for (int64_t j = k + 1; j < n; j++) s->a[i * n + j] -= f * s->a[k * n + j];
    }
  }
}
// The first 0 on the diagonal, counted from 1; 0: there is none.
static int32_t first_zero(const system_t *s) {
  for (int64_t i = 0; s->singular && i < s->m && i < s->n; i++) {
    if (s->a[i * s->n + i] == 0) return (int32_t)(i + 1);
  }
  return 0;
}
// x (n x m, by rows) becomes the solution of a x = x for the triangle of a; turned: of a^T.
static void solve_triangle(const ig_cd *a, int64_t n, bool turned, ig_cd *x, int64_t m, bool upper,
                           bool unit) {
  int64_t row = turned ? 1 : n;
  int64_t col = turned ? n : 1;
  for (int64_t step = 0; step < n; step++) {
    int64_t i = upper ? n - 1 - step : step;
    for (int64_t k = 0; k < m; k++) {
      ig_cd v = x[i * m + k];
      for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); j++) {
        v -= a[i * row + j * col] * x[j * m + k];
      }
      x[i * m + k] = unit ? v : v / a[i * row + i * col];
    }
  }
}
static void swap_rows(const system_t *s, ig_cd *x, int64_t m, int64_t k) {
  for (int64_t j = 0; j < m && s->swaps[k] != k; j++) {
    ig_cd t = x[k * m + j];
    x[k * m + j] = x[s->swaps[k] * m + j];
    x[s->swaps[k] * m + j] = t;
  }
}
// The system P L U x = x, or that of its transpose U^T L^T P^T.
static void solve(const system_t *s, bool turned, ig_cd *x, int64_t m) {
  int64_t n = s->n;
  for (int64_t k = 0; k < n && !turned; k++) swap_rows(s, x, m, k);
  solve_triangle(s->a, n, turned, x, m, false, !turned);
  solve_triangle(s->a, n, turned, x, m, true, turned);
  for (int64_t k = n - 1; k >= 0 && turned; k--) swap_rows(s, x, m, k);
}
static int64_t order_of(const ig_tensor *a) {
  return ig_sizes(a)[a->ndim - 1].value;  // concrete: real sizes
}
static int64_t count_of(const ig_tensor *a) {
  int64_t n = 1;
  for (int d = 0; d < a->ndim - 2; d++) n *= ig_sizes(a)[d].value;  // concrete: real sizes
  return n;
}

// ---- inverse ----

static void inv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!is_square(c, a, "linalg.inv") || !is_numeric(c, a, "linalg.inv")) return;
  batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  batch_sizes(c, a, 2, &out[1]);
  out[1].dtype = IG_I32;
}
static void singular(ig_ctx *c, const char *name, int64_t at) {
  ig_fail_text(
      c, IG_RUNTIME,
      "%s: The diagonal element %lld is zero, the inversion could not be completed because "
      "the input matrix is singular.",
      name, (long long)at);
}
static void inv_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  int64_t n = order_of(a);
  int64_t count = count_of(a);
  ig_scope scope = ig_scope_open(c);
  ig_cd *m = ig_dense_read(c, a, IG_C128);
  ig_cd *x = ig_dense_room(c, (size_t)(count * n * n), IG_C128);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)n, IG_I64);
  for (int64_t b = 0; m && x && info && swaps && b < count; b++) {
    system_t s = {n, n, m + b * n * n, swaps, 1, false};
    eliminate(&s);
    for (int64_t i = 0; i < n; i++) x[b * n * n + i * n + i] = 1;
    info[b] = first_zero(&s);
    if (info[b] && args[1].b) singular(c, "linalg.inv", info[b]);
    solve(&s, false, x + b * n * n, n);
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, x);
  ig_dense_write(c, outs[1].tensor, IG_I32, info);
  ig_scope_close(c, scope);
}
static ig_tensor *adjoint(ig_ctx *c, ig_tensor *x) {
  return ig_conj_of(c, ig_transpose_int(c, x, ig_const(-2), ig_const(-1)));
}
static void inv_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *h = adjoint(c, v->outs[0].tensor);
  ig_tensor *g = ig_matmul(c, h, ig_matmul(c, v->grads[0], h));
  IG_GRAD(v, 0) = ig_neg(c, g);
}
static ig_tensor *linalg_inv_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  bool check = !c->capture && !c->fake;
  ig_linalg_inv_ex_with(c, args[0].tensor, check, outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *inverse_decompose(ig_ctx *c, const ig_value *args) {
  return ig_linalg_inv(c, args[0].tensor);
}

// ---- determinants: result(s), LU, pivots ----

static void det_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *a = args[0].tensor;
  bool both = op->def->variant;
  const char *name = both ? "linalg.slogdet" : "linalg.det";
  if (!is_square(c, a, name) || !is_numeric(c, a, name)) return;
  for (int k = 0; k <= both; k++) batch_sizes(c, a, 2, &out[k]);
  if (both) out[1].dtype = ig_to_real(a->dtype);
  batch_sizes(c, a, 0, &out[1 + both]);
  ig_meta_by_columns(c, &out[1 + both]);
  batch_sizes(c, a, 1, &out[2 + both]);
  out[2 + both].dtype = IG_I32;
}
static void det_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *a = args[0].tensor;
  int64_t n = order_of(a);
  int64_t count = count_of(a);
  bool both = op->def->variant;
  ig_scope scope = ig_scope_open(c);
  ig_cd *m = ig_dense_read(c, a, IG_C128);
  ig_cd *det = ig_dense_room(c, (size_t)count, IG_C128);
  double *log_abs = ig_dense_room(c, (size_t)count, IG_F64);
  int32_t *pivots = ig_dense_room(c, (size_t)(count * n), IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)n, IG_I64);
  for (int64_t b = 0; c->status == IG_OK && b < count; b++) {
    system_t s = {n, n, m + b * n * n, swaps, 1, false};
    eliminate(&s);
    det[b] = s.sign;
    for (int64_t i = 0; i < n; i++) {
      ig_cd d = s.a[i * n + i];
      double size = cabs(d);
      log_abs[b] += log(size);
      det[b] *= both ? (size == 0 ? 0 : d / size) : d;
      pivots[b * n + i] = (int32_t)(swaps[i] + 1);
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, det);
  if (both) ig_dense_write(c, outs[1].tensor, IG_F64, log_abs);
  ig_dense_write(c, outs[1 + both].tensor, IG_C128, m);
  ig_dense_write(c, outs[2 + both].tensor, IG_I32, pivots);
  ig_scope_close(c, scope);
}
static ig_tensor *as_matrices(ig_ctx *c, ig_tensor *g) {
  g = ig_unsqueeze(c, g, ig_const(-1));
  return ig_unsqueeze(c, g, ig_const(-1));
}
static void det_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *h = adjoint(c, ig_linalg_inv(c, v->args[0].tensor));
  ig_tensor *g = ig_mul_tensor(c, v->grads[0], ig_conj_of(c, v->outs[0].tensor));
  IG_GRAD(v, 0) = ig_mul_tensor(c, as_matrices(c, g), h);
}
// The sign of a complex determinant turns: its gradient is the part across.
static void slogdet_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *a = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  ig_tensor *g = v->grads[1];
  if (v->grads[0] && ig_dtype_is_complex(a->dtype)) {
    ig_tensor *turn = ig_mul_tensor(c, ig_conj_of(c, v->grads[0]), v->outs[0].tensor);
    turn = ig_imag(c, turn);
    ig_value unit = ig_of_complex(0, -1);
    turn = ig_mul_value(c, turn, &unit);
    g = g ? ig_add_tensor(c, g, turn) : turn;
  }
  if (!g) {
    IG_GRAD(v, 0) = ig_zeros_of(c, a);
    return;
  }
  ig_tensor *h = adjoint(c, ig_linalg_inv(c, a));
  IG_GRAD(v, 0) = ig_mul_tensor(c, as_matrices(c, g), h);
}
static ig_tensor *det_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig__linalg_det(c, args[0].tensor, outs);
  return ig_value_tensor(&outs[0]);
}
static ig_tensor *det_alias(ig_ctx *c, const ig_value *args) {
  return ig_linalg_det(c, args[0].tensor);
}
static void slogdet_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value all[IG_MAX_RETURNS];
  ig__linalg_slogdet(c, args[0].tensor, all);
  outs[0] = all[0];
  outs[1] = c->status == IG_OK ? all[1] : ig_none();
}
static void slogdet_alias(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_linalg_slogdet(c, args[0].tensor, outs);
}
static ig_tensor *logdet_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_linalg_slogdet(c, args[0].tensor, outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *sign = outs[0].tensor;
  ig_tensor *size = outs[1].tensor;
  if (ig_dtype_is_complex(sign->dtype)) return ig_add_tensor(c, ig_log(c, sign), size);
  ig_tensor *low = ig_eq_scalar(c, sign, ig_of_f64(-1));
  return ig_where_scalarself(c, low, ig_of_f64(NAN), size);
}

// ---- Cholesky ----

static bool factor(ig_cd *a, int64_t n, int64_t *bad) {
  for (int64_t j = 0; j < n; j++) {
    double d = creal(a[j * n + j]);
    for (int64_t k = 0; k < j; k++) d -= creal(a[j * n + k] * conj(a[j * n + k]));
    if (!(d > 0)) {
      *bad = j + 1;
      return false;
    }
    a[j * n + j] = sqrt(d);
    for (int64_t i = j + 1; i < n; i++) {
      ig_cd v = a[i * n + j];
      for (int64_t k = 0; k < j; k++) v -= a[i * n + k] * conj(a[j * n + k]);
      a[i * n + j] = v / a[j * n + j];
    }
  }
  return true;
}
static void transpose(ig_cd *a, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) {
      ig_cd t = conj(a[i * n + j]);
      a[i * n + j] = conj(a[j * n + i]);
      a[j * n + i] = t;
    }
    a[i * n + i] = conj(a[i * n + i]);
  }
}
static void cholesky_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *a = args[0].tensor;
  const char *name = op->schema.nrets == 2 ? "linalg.cholesky" : "cholesky";
  if (!is_square(c, a, name) || !is_numeric(c, a, name)) return;
  batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  if (op->schema.nrets < 2) return;
  batch_sizes(c, a, 2, &out[1]);
  out[1].dtype = IG_I32;
}
static void cholesky_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *a = args[0].tensor;
  int64_t n = order_of(a);
  int64_t count = count_of(a);
  bool upper = args[1].b;
  bool two = op->schema.nrets == 2;
  bool check = !two || args[2].b;
  ig_scope scope = ig_scope_open(c);
  ig_cd *m = ig_dense_read(c, a, IG_C128);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  for (int64_t b = 0; m && info && b < count; b++) {
    ig_cd *l = m + b * n * n;
    int64_t bad = 0;
    if (upper) transpose(l, n);
    (void)factor(l, n, &bad);
    info[b] = (int32_t)bad;
    if (bad && check) {
      ig_fail_text(c, IG_RUNTIME,
                   "linalg.cholesky: The factorization could not be completed because the input is "
                   "not positive-definite (the leading minor of order %lld is not "
                   "positive-definite).",
                   (long long)bad);
    }
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = i + 1; j < n; j++) l[i * n + j] = 0;
    }
    if (upper) transpose(l, n);
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, m);
  if (two) ig_dense_write(c, outs[1].tensor, IG_I32, info);
  ig_scope_close(c, scope);
}
static ig_tensor *triangle(ig_ctx *c, ig_tensor *a, ig_tensor *b, bool upper, bool left) {
  return ig_linalg_solve_triangular_with(c, a, b, upper, left, false);
}
// gA = L^-H phi(L^H gL) L^-1, its Hermitian part
static void cholesky_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  bool upper = v->args[1].b;
  ig_tensor *l = v->outs[0].tensor;
  ig_tensor *g = v->grads[0];
  if (upper) {
    l = adjoint(c, l);
    g = adjoint(c, g);
  }
  ig_tensor *h = adjoint(c, l);
  ig_tensor *phi = ig_tril(c, ig_matmul(c, h, g));
  ig_tensor *skew = adjoint(c, ig_tril_with(c, phi, ig_const(-1)));
  phi = ig_add_tensor(c, phi, skew);
  phi = triangle(c, h, phi, true, true);
  phi = triangle(c, l, phi, false, false);
  IG_GRAD(v, 0) = ig_mul_f64(c, phi, 0.5);
}
static ig_tensor *linalg_cholesky_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  bool check = !c->capture && !c->fake;
  ig_linalg_cholesky_ex_with(c, args[0].tensor, args[1].b, check, outs);
  return ig_value_tensor(&outs[0]);
}
// B, factor, upper
static ig_tensor *cholesky_solve_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *l = args[1].tensor;
  if (!is_square(c, l, "cholesky_solve") || !is_numeric(c, l, "cholesky_solve")) return NULL;
  if (args[0].tensor->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "b should have at least 2 dimensions, but has %d dimensions instead",
                 args[0].tensor->ndim);
    return NULL;
  }
  bool upper = args[2].b;
  ig_tensor *lower = upper ? adjoint(c, l) : l;
  ig_tensor *x = triangle(c, lower, args[0].tensor, false, true);
  return triangle(c, adjoint(c, lower), x, true, true);
}
static ig_tensor *cholesky_inverse_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *l = args[0].tensor;
  if (!is_square(c, l, "cholesky_inverse") || !is_numeric(c, l, "cholesky_inverse")) return NULL;
  ig_tensor *eye = ig_eye_with(c, ig_sizes(l)[l->ndim - 1], ig_of_dtype(l->dtype), ig_none(),
                               ig_of_device(l->device), ig_none());
  eye = ig_expand(c, eye, ig_sizes_of(l));
  return ig_cholesky_solve_with(c, eye, l, args[1].b);
}

// ---- triangular systems ----

// A, B, *, upper, left, unitriangular
static void triangular_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  if (!is_square(c, a, "linalg.solve_triangular")) return;
  if (!is_numeric(c, a, "linalg.solve_triangular")) return;
  if (b->ndim < 2 || a->dtype != b->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 b->ndim < 2 ? "linalg.solve_triangular: B must have at least 2 dimensions"
                             : "linalg.solve_triangular: Expected A and B to have the same dtype");
    return;
  }
  ig_int inner = ig_sizes(b)[b->ndim - (args[3].b ? 2 : 1)];
  if (!ig_int_eq(c, ig_sizes(a)[a->ndim - 1], inner)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.solve_triangular: Incompatible shapes of A and B for the equation %s",
                 args[3].b ? "AX = B" : "XA = B");
    return;
  }
  ig_meta_init(out, a->dtype, a->device);
  ig_broadcast_sizes(c, out, ig_sizes(a), a->ndim - 2);
  ig_broadcast_sizes(c, out, ig_sizes(b), b->ndim - 2);
  ig_meta_push_dim(c, out, ig_sizes(b)[b->ndim - 2]);
  ig_meta_push_dim(c, out, ig_sizes(b)[b->ndim - 1]);
  if (c->status == IG_OK) ig_meta_by_columns(c, out);
}
static ig_cd *read_batch(ig_ctx *c, ig_tensor *t, const ig_tensor *out, bool turned) {
  ig_int sizes[IG_MAX_DIM];
  int n = out->ndim;
  for (int d = 0; d < n - 2; d++) sizes[d] = ig_sizes(out)[d];
  sizes[n - 2] = ig_sizes(t)[t->ndim - 2];
  sizes[n - 1] = ig_sizes(t)[t->ndim - 1];
  ig_tensor *wide = ig_expand(c, ig_tensor_twin(c, t), ig_of_ints(sizes, (size_t)n));
  if (turned) wide = ig_transpose_int(c, wide, ig_const(-2), ig_const(-1));
  return wide ? ig_dense_read(c, wide, IG_C128) : NULL;
}
// X A = B is A^T X^T = B^T with the other triangle.
static void triangular_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  bool left = args[3].b;
  bool upper = left ? args[2].b : !args[2].b;
  ig_scope scope = ig_scope_open(c);
  ig_cd *a = read_batch(c, args[0].tensor, out, !left);
  ig_cd *b = read_batch(c, args[1].tensor, out, !left);
  int64_t n = order_of(args[0].tensor);
  int64_t count = count_of(out);
  int64_t m = n && count ? ig_tensor_numel(out) / (n * count) : 0;
  for (int64_t k = 0; a && b && k < count; k++) {
    solve_triangle(a + k * n * n, n, false, b + k * n * m, m, upper, args[4].b);
  }
  ig_tensor *to =
      left ? out : ig_transpose_int(c, ig_tensor_twin(c, out), ig_const(-2), ig_const(-1));
  if (to) ig_dense_write(c, to, IG_C128, b);
  ig_scope_close(c, scope);
}
static ig_tensor *keep_triangle(ig_ctx *c, ig_tensor *g, bool upper, bool unit) {
  return upper ? ig_triu_with(c, g, ig_const(unit)) : ig_tril_with(c, g, ig_const(unit ? -1 : 0));
}
static void triangular_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  bool upper = a[2].b;
  bool left = a[3].b;
  ig_tensor *h = adjoint(c, a[0].tensor);
  ig_tensor *gb = ig_linalg_solve_triangular_with(c, h, v->grad, !upper, left, a[4].b);
  if (IG_WANTED(v, 0)) {
    ig_tensor *xh = adjoint(c, v->out);
    ig_tensor *g = left ? ig_matmul(c, gb, xh) : ig_matmul(c, xh, gb);
    g = keep_triangle(c, ig_neg(c, g), upper, a[4].b);
    IG_GRAD(v, 0) = ig_sum_to(c, g, &a[0]);
  }
  IG_GRAD(v, 1) = ig_sum_to(c, gb, &a[1]);
}
// b, A, upper, transpose, unitriangular -> solution, a copy of A
static void triangular_solve_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_tensor *a = args[1].tensor;
  ig_tensor *turned = args[3].b ? ig_transpose_int(c, a, ig_const(-2), ig_const(-1)) : a;
  bool upper = args[3].b ? !args[2].b : args[2].b;
  outs[0] = ig_of_tensor(
      ig_linalg_solve_triangular_with(c, turned, args[0].tensor, upper, true, args[4].b));
  outs[1] = ig_of_tensor(ig_clone(c, a));
}

// ---- LU factors as given ----

static void lu_unpack_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *lu = args[0].tensor;
  if (args[1].tensor->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
                 "dtype.");
    return;
  }
  if (lu->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.lu_unpack: The input tensor must have at least 2 dimensions.");
    return;
  }
  ig_int m = ig_sizes(lu)[lu->ndim - 2];
  ig_int n = ig_sizes(lu)[lu->ndim - 1];
  ig_int k = ig_int_is(c, m, IG_LT, n) ? m : n;
  const ig_tensor *p = args[1].tensor;
  bool fits = p->ndim == lu->ndim - 1 && ig_int_eq(c, ig_sizes(p)[p->ndim - 1], k);
  for (int d = 0; fits && d < p->ndim - 1; d++)
    fits = ig_int_eq(c, ig_sizes(p)[d], ig_sizes(lu)[d]);
  if (!fits) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.lu_unpack: LU_pivots has shape %s, which does not fit LU_data of shape %s",
                 ig_sizes_text(c, ig_sizes(p), (size_t)p->ndim),
                 ig_sizes_text(c, ig_sizes(lu), (size_t)lu->ndim));
    return;
  }
  ig_int pairs[3][2] = {{m, m}, {m, k}, {k, n}};
  for (int i = 0; i < 3; i++) {
    batch_sizes(c, lu, 2, &out[i]);
    ig_meta_push_dim(c, &out[i], pairs[i][0]);
    ig_meta_push_dim(c, &out[i], pairs[i][1]);
    out[i].dtype = lu->dtype;
  }
}
static void lu_unpack_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *lu = args[0].tensor;
  int64_t n = order_of(lu);
  int64_t m = ig_sizes(lu)[lu->ndim - 2].value;  // concrete: real sizes
  int64_t k = m < n ? m : n;
  int64_t count = count_of(lu);
  ig_scope scope = ig_scope_open(c);
  const ig_cd *a = ig_dense_read(c, lu, IG_C128);
  const int64_t *pivots = ig_dense_read(c, args[1].tensor, IG_I64);
  ig_cd *p = ig_dense_room(c, (size_t)(count * m * m), IG_C128);
  ig_cd *l = ig_dense_room(c, (size_t)(count * m * k), IG_C128);
  ig_cd *u = ig_dense_room(c, (size_t)(count * k * n), IG_C128);
  int64_t *order = ig_dense_room(c, (size_t)m, IG_I64);
  for (int64_t b = 0; c->status == IG_OK && b < count; b++) {
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t i = 0; i < k; i++) {
      int64_t j = pivots[b * k + i] - 1;
      if (j < 0 || j >= m) continue;
      int64_t t = order[i];
      order[i] = order[j];
      order[j] = t;
    }
    for (int64_t i = 0; i < m; i++) p[b * m * m + order[i] * m + i] = 1;
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        ig_cd v = a[b * m * n + i * n + j];
        if (j < k) l[b * m * k + i * k + j] = i > j ? v : i == j;
        if (i < k && j >= i) u[b * k * n + i * n + j] = v;
      }
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, p);
  ig_dense_write(c, outs[1].tensor, IG_C128, l);
  ig_dense_write(c, outs[2].tensor, IG_C128, u);
  ig_scope_close(c, scope);
}
static ig_tensor *padded(ig_ctx *c, ig_tensor *g, ig_int rows, ig_int cols) {
  ig_int dr = ig_int_sub(c, rows, ig_sizes(g)[g->ndim - 2]);
  ig_int dc = ig_int_sub(c, cols, ig_sizes(g)[g->ndim - 1]);
  if (ig_int_eq_i64(c, dr, 0) && ig_int_eq_i64(c, dc, 0)) return g;
  ig_int pad[] = {ig_const(0), dc, ig_const(0), dr};
  return ig_constant_pad_nd(c, g, ig_of_ints(pad, 4));
}
static void lu_unpack_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_tensor *lu = v->args[0].tensor;
  if (!IG_WANTED(v, 0)) return;
  ig_int m = ig_sizes(lu)[lu->ndim - 2];
  ig_int n = ig_sizes(lu)[lu->ndim - 1];
  ig_tensor *d = NULL;
  if (v->grads[1]) d = padded(c, ig_tril_with(c, v->grads[1], ig_const(-1)), m, n);
  if (v->grads[2]) {
    ig_tensor *u = padded(c, ig_triu(c, v->grads[2]), m, n);
    d = d ? ig_add_tensor(c, d, u) : u;
  }
  IG_GRAD(v, 0) = d ? d : ig_zeros_of(c, lu);
}
// LU, pivots, B, *, left, adjoint: rows exchanged by a matrix, then two triangles
static ig_tensor *lu_solve_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *lu = args[0].tensor;
  ig_value outs[IG_MAX_RETURNS];
  if (!is_square(c, lu, "linalg.lu_solve") || !is_numeric(c, lu, "linalg.lu_solve")) return NULL;
  bool left = args[3].b;
  bool turn = args[4].b;
  ig_lu_unpack_with(c, ig_detach(c, lu), args[1].tensor, true, true, outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *p = outs[0].tensor;
  ig_tensor *b = args[2].tensor;
  ig_tensor *pt = ig_transpose_int(c, p, ig_const(-2), ig_const(-1));
  ig_tensor *h = turn ? adjoint(c, lu) : NULL;
  if (left && !turn) {
    b = ig_linalg_solve_triangular_with(c, lu, ig_matmul(c, pt, b), false, true, true);
    return ig_linalg_solve_triangular_with(c, lu, b, true, true, false);
  }
  if (left) {
    b = ig_linalg_solve_triangular_with(c, h, b, false, true, false);
    b = ig_linalg_solve_triangular_with(c, h, b, true, true, true);
    return ig_matmul(c, p, b);
  }
  if (!turn) {
    b = ig_linalg_solve_triangular_with(c, lu, b, true, false, false);
    b = ig_linalg_solve_triangular_with(c, lu, b, false, false, true);
    return ig_matmul(c, b, pt);
  }
  b = ig_linalg_solve_triangular_with(c, h, ig_matmul(c, b, p), true, false, true);
  return ig_linalg_solve_triangular_with(c, h, b, false, false, false);
}
static ig_tensor *lu_solve_alias(ig_ctx *c, const ig_value *args) {
  return ig_linalg_lu_solve(c, args[1].tensor, args[2].tensor, args[0].tensor);
}

// ---- LU factors: A, *, pivot, check_errors -> LU, pivots, info ----

static void lu_factor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: %s instead",
                 ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim));
    return;
  }
  if (!is_numeric(c, a, "torch.lu_factor")) return;
  if (!args[1].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    return;
  }
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  batch_sizes(c, a, 2, &out[1]);
  ig_meta_push_dim(c, &out[1], ig_int_is(c, m, IG_LE, n) ? m : n);
  batch_sizes(c, a, 2, &out[2]);
  out[1].dtype = out[2].dtype = IG_I32;
}
// Factors the count matrices at f; 1-based exchanges into pivots.
static void factor_all(system_t s, int64_t count, int32_t *pivots, int32_t *info) {
  int64_t k = s.m < s.n ? s.m : s.n;
  for (int64_t b = 0; b < count; b++) {
    eliminate(&s);
    info[b] = first_zero(&s);
    for (int64_t i = 0; i < k; i++) pivots[b * k + i] = (int32_t)(s.swaps[i] + 1);
    s.a += s.m * s.n;
  }
}
// The first singular matrix, if one is.
static int32_t bad_of(const int32_t *info, int64_t count) {
  for (int64_t b = 0; info && b < count; b++) {
    if (info[b]) return info[b];
  }
  return 0;
}
static void lu_factor_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  int64_t m = ig_sizes(a)[a->ndim - 2].value;  // concrete: real sizes
  int64_t count = count_of(a);
  ig_scope scope = ig_scope_open(c);
  ig_cd *f = ig_dense_read(c, a, IG_C128);
  int32_t *pivots = ig_dense_room(c, (size_t)ig_tensor_numel(outs[1].tensor), IG_I32);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)m, IG_I64);
  if (c->status == IG_OK) {
    factor_all((system_t){m, order_of(a), f, swaps, 1, false}, count, pivots, info);
  }
  int32_t bad = args[2].b ? bad_of(info, count) : 0;
  if (bad) {
    ig_fail_text(
        c, IG_RUNTIME,
        "torch.linalg.lu_factor: U[%d,%d] is zero and using it on lu_solve would result in "
        "a division by zero. If you still want to perform the factorization, consider "
        "calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        (int)bad, (int)bad);
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, f);
  ig_dense_write(c, outs[1].tensor, IG_I32, pivots);
  ig_dense_write(c, outs[2].tensor, IG_I32, info);
  ig_scope_close(c, scope);
}
// gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H
static void lu_factor_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *lu = v->outs[0].tensor;
  if (!ig_int_eq(c, ig_sizes(lu)[lu->ndim - 1], ig_sizes(lu)[lu->ndim - 2])) {
    ig_fail_text(c, IG_UNSUPPORTED,
                 "linalg.lu_factor: the derivative for matrices that are not square is not "
                 "implemented");
    return;
  }
  ig_value parts[IG_MAX_RETURNS] = {{0}};
  ig_lu_unpack_with(c, lu, v->outs[1].tensor, true, true, parts);
  if (c->status != IG_OK) return;
  ig_tensor *lh = adjoint(c, parts[1].tensor);
  ig_tensor *uh = adjoint(c, parts[2].tensor);
  ig_tensor *low = ig_matmul(c, lh, ig_tril_with(c, v->grads[0], ig_const(-1)));
  ig_tensor *up = ig_matmul(c, ig_triu(c, v->grads[0]), uh);
  low = ig_tril_with(c, low, ig_const(-1));
  ig_tensor *g = ig_add_tensor(c, low, ig_triu(c, up));
  g = ig_linalg_solve_triangular_with(c, lh, g, true, true, true);
  g = ig_linalg_solve_triangular_with(c, uh, g, false, false, false);
  IG_GRAD(v, 0) = ig_matmul(c, parts[0].tensor, g);
}
static void lu_factor_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value all[IG_MAX_RETURNS] = {{0}};
  bool check = !c->capture && !c->fake;
  ig_linalg_lu_factor_ex_with(c, args[0].tensor, args[1].b, check, all);
  for (int i = 0; i < 2; i++) outs[i] = all[i];
}
static void lu_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value all[IG_MAX_RETURNS] = {{0}};
  ig_linalg_lu_factor_ex_with(c, args[0].tensor, args[1].b, false, all);
  if (c->status == IG_OK) ig_lu_unpack_with(c, all[0].tensor, all[1].tensor, true, true, outs);
}

// ---- systems: A, B, *, left, check_errors -> result, LU, pivots, info ----

// B is a vector, or as many as there are matrices.
static bool is_vector(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (b->ndim == 1) return true;
  if (b->ndim != a->ndim - 1) return false;
  for (int d = 0; d < b->ndim; d++) {
    if (!ig_int_eq(c, ig_sizes(a)[d], ig_sizes(b)[d])) return false;
  }
  return true;
}
static bool solve_fits(ig_ctx *c, const ig_tensor *a, const ig_tensor *b, bool left, bool vector) {
  if (!is_numeric(c, a, "linalg.solve") || !is_square(c, a, "linalg.solve")) return false;
  if (a->dtype != b->dtype) {
    ig_fail_text(
        c, IG_RUNTIME,
        "linalg.solve: Expected A and B to have the same dtype, but found A of type %s and "
        "B of type %s instead",
        ig_dtype_title(a->dtype), ig_dtype_title(b->dtype));
  } else if (b->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "linalg.solve: B must have at least 1 dimension");
  } else if (vector && !left) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                 "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  } else if (!ig_int_eq(c, ig_sizes(a)[a->ndim - 1],
                        ig_sizes(b)[b->ndim - 1 - (!vector && left)])) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.solve: Incompatible shapes of A and B for the equation %s (%s and %s)",
                 left ? "AX = B" : "XA = B", ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim),
                 ig_sizes_text(c, ig_sizes(b), (size_t)b->ndim));
  }
  return c->status == IG_OK;
}
static void solve_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *b = args[1].tensor;
  bool vector = a->ndim > 1 && is_vector(c, a, b);
  if (!solve_fits(c, a, b, args[2].b, vector)) return;
  ig_broadcast_sizes(c, &out[0], ig_sizes(a), a->ndim - 2);
  ig_broadcast_sizes(c, &out[0], ig_sizes(b), b->ndim - (vector ? 1 : 2));
  for (int d = b->ndim - (vector ? 1 : 2); d < b->ndim; d++) {
    ig_meta_push_dim(c, &out[0], ig_sizes(b)[d]);
  }
  if (c->status == IG_OK && args[2].b && out[0].ndim > 1) ig_meta_by_columns(c, &out[0]);
  batch_sizes(c, a, 0, &out[1]);
  ig_meta_by_columns(c, &out[1]);
  batch_sizes(c, a, 1, &out[2]);
  batch_sizes(c, a, 2, &out[3]);
  out[2].dtype = out[3].dtype = IG_I32;
}
// As PyTorch does: a real matrix that lies by rows is factored as its transpose.
static void solve_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *a = args[0].tensor;
  bool vector = is_vector(c, a, args[1].tensor);
  bool left = args[2].b;
  bool turned = ig_tensor_is_contiguous(c, a) && !ig_dtype_is_complex(a->dtype);
  int64_t n = order_of(a);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *b = ig_tensor_twin(c, args[1].tensor);
  ig_tensor *x = ig_tensor_twin(c, outs[0].tensor);
  if (vector) {
    b = ig_unsqueeze(c, b, ig_const(-1));
    x = ig_unsqueeze(c, x, ig_const(-1));
  }
  int64_t many = x ? count_of(x) : 0;
  int64_t count = count_of(a);
  ig_cd *f = x ? read_batch(c, a, a, turned) : NULL;
  ig_cd *wide = many == count || !x ? f : read_batch(c, a, x, turned);
  ig_cd *right = x ? read_batch(c, b, x, !left) : NULL;
  int32_t *pivots = ig_dense_room(c, (size_t)(count * n), IG_I32);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  int32_t *spare = ig_dense_room(c, (size_t)n, IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)n, IG_I64);
  int64_t m = many && n && x ? ig_tensor_numel(x) / (many * n) : 0;
  for (int64_t k = 0; c->status == IG_OK && f && wide && right && k < many; k++) {
    int32_t zero = 0;
    bool own = wide == f;
    system_t s = {n, n, wide + k * n * n, swaps, 1, false};
    factor_all(s, 1, own ? pivots + k * n : spare, own ? info + k : &zero);
    solve(&s, turned == left, right + k * n * m, m);
  }
  if (c->status == IG_OK && wide != f) {
    factor_all((system_t){n, n, f, swaps, 1, false}, count, pivots, info);
  }
  if (args[3].b && bad_of(info, count)) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.solve: The solver failed because the input matrix is singular.");
  }
  ig_tensor *to = left ? x : ig_transpose_int(c, x, ig_const(-2), ig_const(-1));
  if (to) ig_dense_write(c, to, IG_C128, right);
  ig_dense_write(c, outs[1].tensor, IG_C128, f);
  ig_dense_write(c, outs[2].tensor, IG_I32, pivots);
  ig_dense_write(c, outs[3].tensor, IG_I32, info);
  ig_scope_close(c, scope);
}
// gB = A^-H gX, gA = -gB X^H; and the mirror image of it.
static void solve_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0]) return;
  ig_tensor *a = v->args[0].tensor;
  bool left = v->args[2].b;
  bool vector = is_vector(c, a, v->args[1].tensor);
  ig_tensor *g = v->grads[0];
  ig_tensor *x = v->outs[0].tensor;
  if (vector) g = ig_unsqueeze(c, g, ig_const(-1));
  if (vector) x = ig_unsqueeze(c, x, ig_const(-1));
  ig_tensor *gb = ig_linalg_solve_with(c, adjoint(c, a), g, left);
  if (IG_WANTED(v, 0)) {
    ig_tensor *xh = adjoint(c, x);
    ig_tensor *ga = left ? ig_matmul(c, gb, xh) : ig_matmul(c, xh, gb);
    IG_GRAD(v, 0) = ig_sum_to(c, ig_neg(c, ga), &v->args[0]);
  }
  if (vector) gb = ig_squeeze_dim(c, gb, ig_const(-1));
  IG_GRAD(v, 1) = ig_sum_to(c, gb, &v->args[1]);
}
static void solve_ex_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value all[IG_MAX_RETURNS] = {{0}};
  ig__linalg_solve_ex_with(c, args[0].tensor, args[1].tensor, args[2].b, args[3].b, all);
  outs[0] = all[0];
  outs[1] = all[3];
}
static ig_tensor *solve_decompose(ig_ctx *c, const ig_value *args) {
  ig_value all[IG_MAX_RETURNS] = {{0}};
  bool check = !c->capture && !c->fake;
  ig__linalg_solve_ex_with(c, args[0].tensor, args[1].tensor, args[2].b, check, all);
  return ig_value_tensor(&all[0]);
}
static void qr_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_linalg_qr_with(c, args[0].tensor, ig_of_str(args[1].b ? "reduced" : "complete"), outs);
}

#define SQUARE "f32[3,3]:spd | f32[2,3,3]:spd"
#define LU_WAIVE \
  "special: which elements become NaN depends on LAPACK; sizes: other texts; refusal: other texts"

IG_OP(linalg_inv_ex) = {
    .schema =
        "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, "
        "Tensor info)",
    .shape = inv_shape,
    .kernel = inv_kernel,
    .vjp = inv_vjp,
    .diff_results = 1,
    .keep = "result0",
    .samples = SQUARE,
};
IG_OP(linalg_inv) = {
    .schema = "aten::linalg_inv(Tensor A) -> Tensor",
    .decompose = linalg_inv_decompose,
    .samples = SQUARE,
};
IG_OP(inverse) = {
    .schema = "aten::inverse(Tensor self) -> Tensor",
    .decompose = inverse_decompose,
    .samples = SQUARE,
};
IG_OP(_linalg_det) = {
    .schema = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    .shape = det_shape,
    .kernel = det_kernel,
    .vjp = det_vjp,
    .diff_results = 1,
    .keep = "A, result0",
    .samples = SQUARE,
};
IG_OP(linalg_det) = {
    .schema = "aten::linalg_det(Tensor A) -> Tensor",
    .decompose = det_decompose,
    .samples = SQUARE,
};
IG_OP(det) = {
    .schema = "aten::det(Tensor self) -> Tensor",
    .decompose = det_alias,
    .samples = SQUARE,
};
IG_OP(_linalg_slogdet) = {
    .schema =
        "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, "
        "Tensor pivots)",
    .shape = det_shape,
    .kernel = det_kernel,
    .vjp = slogdet_vjp,
    .diff_results = 3,
    .keep = "A, result0",
    .variant = 1,
    .samples = SQUARE,
};
IG_OP(linalg_slogdet) = {
    .schema = "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    .decompose_outs = slogdet_decompose,
    .samples = SQUARE,
};
IG_OP(slogdet) = {
    .schema = "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    .decompose_outs = slogdet_alias,
    .samples = SQUARE,
};
IG_OP(logdet) = {
    .schema = "aten::logdet(Tensor self) -> Tensor",
    .decompose = logdet_decompose,
    .samples = SQUARE,
};
IG_OP(linalg_cholesky_ex) = {
    .schema =
        "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool "
        "check_errors=False) -> (Tensor L, Tensor info)",
    .shape = cholesky_shape,
    .kernel = cholesky_kernel,
    .vjp = cholesky_vjp,
    .diff_results = 1,
    .keep = "result0",
    .samples = SQUARE,
    .waive =
        "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it; complex "
        "gradient: PyTorch symmetrizes it",
};
IG_OP(linalg_cholesky) = {
    .schema = "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    .decompose = linalg_cholesky_decompose,
    .samples = SQUARE,
    .waive =
        "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it; complex "
        "gradient: PyTorch symmetrizes it",
};
IG_OP(cholesky) = {
    .schema = "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
    .shape = cholesky_shape,
    .kernel = cholesky_kernel,
    .vjp = cholesky_vjp,
    .keep = "result",
    .samples = SQUARE,
    .waive =
        "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it; complex "
        "gradient: PyTorch symmetrizes it",
};
IG_OP(cholesky_solve) = {
    .schema = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    .decompose = cholesky_solve_decompose,
    .samples = "f32[3,2], f32[3,3]:spd",
};
IG_OP(cholesky_inverse) = {
    .schema = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    .decompose = cholesky_inverse_decompose,
    .samples = SQUARE,
    .waive = "values: PyTorch takes the diagonal for real",
};
IG_OP(linalg_solve_triangular) = {
    .schema =
        "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool "
        "left=True, bool unitriangular=False) -> Tensor",
    .shape = triangular_shape,
    .kernel = triangular_kernel,
    .vjp = triangular_vjp,
    .samples =
        "f32[3,3]:spd, f32[3,2], upper=True | f32[2,3,3]:spd, f32[2,2,3], upper=False, "
        "left=False",
};
IG_OP(triangular_solve) = {
    .schema =
        "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool "
        "transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor "
        "cloned_coefficient)",
    .decompose_outs = triangular_solve_decompose,
    .samples = "f32[3,2], f32[3,3]:spd | f32[3,2], f32[3,3]:spd, False, True, True",
    .waive = "strides: the copy of A lies by columns in PyTorch",
};
IG_OP(lu_unpack) = {
    .schema =
        "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
        "unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    .shape = lu_unpack_shape,
    .kernel = lu_unpack_kernel,
    .vjp = lu_unpack_vjp,
    .diff_results = 6,
    .keep = "",
    .samples = "f32[3,3], i32{2,3,3}",
    .waive = "sizes: other texts; refusal: other texts",
};
IG_OP(linalg_lu_solve) = {
    .schema =
        "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
        "bool adjoint=False) -> Tensor",
    .decompose = lu_solve_decompose,
    .samples = "f32[3,3]:spd, i32{2,3,3}, f32[3,2]",
    .waive = "sizes: other texts; refusal: other texts",
};
IG_OP(lu_solve) = {
    .schema = "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    .decompose = lu_solve_alias,
    .samples = "f32[3,2], f32[3,3]:spd, i32{2,3,3}",
    .waive = "sizes: other texts; refusal: other texts",
};
IG_OP(linalg_lu_factor_ex) = {
    .schema =
        "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
        "(Tensor LU, Tensor pivots, Tensor info)",
    .shape = lu_factor_shape,
    .kernel = lu_factor_kernel,
    .vjp = lu_factor_vjp,
    .diff_results = 1,
    .keep = "result0, result1",
    .samples = SQUARE,
    .waive = LU_WAIVE,
};
IG_OP(linalg_lu_factor) = {
    .schema = "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    .decompose_outs = lu_factor_decompose,
    .samples = SQUARE,
    .waive = LU_WAIVE,
};
IG_OP(linalg_lu) = {
    .schema = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    .decompose_outs = lu_decompose,
    .samples = SQUARE,
    .waive = LU_WAIVE "; strides: those of lu_unpack",
};
#define SYSTEMS                                                                                 \
  "f32[3,3]:spd, f32[3,2] | f32[2,3,3]:spd, f32[2,3] | f32[3,3]:spd, f32[3] | f32[2,3,3]:spd, " \
  "f32[3,2]"
IG_OP(_linalg_solve_ex) = {
    .schema =
        "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
        "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    .shape = solve_shape,
    .kernel = solve_kernel,
    .vjp = solve_vjp,
    .diff_results = 1,
    .keep = "A, result0",
    .samples = SYSTEMS " | f32[3,3]:spd, f32[2,3], left=False",
    .waive = LU_WAIVE,
};
IG_OP(linalg_solve_ex) = {
    .schema =
        "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
        "(Tensor result, Tensor info)",
    .decompose_outs = solve_ex_decompose,
    .samples = SYSTEMS,
    .waive = LU_WAIVE,
};
IG_OP(linalg_solve) = {
    .schema = "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    .decompose = solve_decompose,
    .samples = SYSTEMS " | f32[3,3]:spd, f32[2,3], left=False",
    .waive = LU_WAIVE,
};
IG_OP(qr) = {
    .schema = "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    .decompose_outs = qr_decompose,
    .samples = "f32[3,2] | f32[3,3], True",
    .waive = "special: which elements become NaN depends on LAPACK",
};
