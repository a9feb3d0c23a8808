// SPDX-License-Identifier: Apache-2.0
// Square matrices: inverse, determinants, Cholesky factors, triangular systems.
#include "base/budget.h"
#include "kernels/linalg/lu.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

// ---- inverse ----

static void inv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!ig_check_square(c, a, "linalg.inv") || !ig_check_numeric(c, a, "linalg.inv")) return;
  ig_batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  ig_batch_sizes(c, a, 2, &out[1]);
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
  int64_t n = ig_matrix_order(a);
  int64_t count = n ? ig_matrix_count(a) : 0;
  size_t size = ig_dtype_size(a->dtype);
  const ig_matrix_fns *fns = ig_matrix_fns_of(a->dtype);
  ig_scope scope = ig_scope_open(c);
  // As in PyTorch: a real row-major matrix is factored as its transpose.
  bool turned = ig_tensor_is_contiguous(c, a) && !ig_dtype_is_complex(a->dtype);
  ig_tensor *from = ig_tensor_alias(c, args[0].tensor);
  if (turned) from = ig_transpose_int(c, from, ig_const(-2), ig_const(-1));
  char *m = from ? ig_dense_columns(c, from) : NULL;
  char *x = ig_tensor_data(outs[0].tensor);
  int32_t *info = ig_tensor_data(outs[1].tensor);
  int32_t *swaps = ig_scope_array(c, (size_t)n, sizeof *swaps);
  void *work = ig_scope_array(c, ig_lu_work(n), size);
  if (c->status == IG_OK && n) ig_dense_eye(outs[0].tensor);
  if (c->status == IG_OK && !n) memset(info, 0, (size_t)ig_matrix_count(a) * sizeof *info);
  for (int64_t b = 0; c->status == IG_OK && b < count && ig_step(c); b++) {
    size_t at = (size_t)(b * n * n) * size;
    info[b] = (int32_t)fns->lu(n, n, m + at, swaps, work);
    if (info[b] && args[1].b) singular(c, "linalg.inv", info[b]);
    fns->lu_solve(n, m + at, swaps, turned, n, x + at, work);
  }
  ig_scope_close(c, scope);
}
static void inv_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *h = ig_hermitian(c, v->outs[0].tensor);
  ig_tensor *g = ig_matmul(c, h, ig_matmul(c, v->grads[0], h));
  IG_GRAD(v, 0) = ig_neg(c, g);
}
static ig_tensor *linalg_inv_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  bool check = !c->mode->capture && !c->mode->fake;
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
  if (!ig_check_square(c, a, name) || !ig_check_numeric(c, a, name)) return;
  for (int k = 0; k <= both; k++) ig_batch_sizes(c, a, 2, &out[k]);
  if (both) out[1].dtype = ig_to_real(a->dtype);
  ig_batch_sizes(c, a, 0, &out[1 + both]);
  ig_meta_by_columns(c, &out[1 + both]);
  ig_batch_sizes(c, a, 1, &out[2 + both]);
  out[2 + both].dtype = IG_I32;
}
static void det_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *a = args[0].tensor;
  int64_t n = ig_matrix_order(a);
  int64_t count = ig_matrix_count(a);
  bool both = op->def->variant;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *lu = outs[1 + both].tensor;
  int32_t *pivots = ig_tensor_data(outs[2 + both].tensor);
  ig_cd *det = ig_dense_room(c, (size_t)count, IG_C128);
  double *log_abs = ig_dense_room(c, (size_t)count, IG_F64);
  void *work = ig_scope_array(c, ig_lu_work(n), ig_dtype_size(a->dtype));
  if (c->status == IG_OK) ig_tensor_copy(lu, a);  // lies by columns
  for (int64_t b = 0; c->status == IG_OK && b < count && ig_step(c); b++) {
    char *m = (char *)ig_tensor_data(lu) + (size_t)(b * n * n) * ig_dtype_size(a->dtype);
    if (n) (void)ig_matrix_fns_of(a->dtype)->lu(n, n, m, pivots + b * n, work);
    det[b] = 1;
    for (int64_t i = 0; i < n; i++) {
      ig_cd d = ig_number_at(m, a->dtype, i * n + i);
      double size = cabs(d);
      log_abs[b] += log(size);
      det[b] *= both ? (size == 0 ? 0 : d / size) : d;
      if (pivots[b * n + i] != i + 1) det[b] = -det[b];
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, det);
  if (both) ig_dense_write(c, outs[1].tensor, IG_F64, log_abs);
  ig_scope_close(c, scope);
}
// g inv(A)^H for each matrix, by a solution: it lies by columns, as PyTorch's.
static ig_tensor *over_hermitian(ig_ctx *c, ig_tensor *g, ig_tensor *a) {
  g = ig_unsqueeze(c, g, ig_const(-1));
  g = ig_expand(c, g, ig_of_ints(ig_sizes(a), (size_t)a->ndim - 1));
  ig_tensor *h = ig_hermitian(c, a);
  return ig_linalg_solve(c, h, ig_diag_embed(c, g));
}
static void det_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!v->grads[0] || !IG_WANTED(v, 0)) return;
  ig_tensor *g = ig_mul_tensor(c, v->grads[0], ig_conj_of(c, v->outs[0].tensor));
  IG_GRAD(v, 0) = over_hermitian(c, g, v->args[0].tensor);
}
// The sign of a complex determinant is a phase: its gradient is the component orthogonal to it.
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
  IG_GRAD(v, 0) = over_hermitian(c, g, a);
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

static void cholesky_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *a = args[0].tensor;
  const char *name = op->schema.nrets == 2 ? "linalg.cholesky" : "cholesky";
  if (!ig_check_square(c, a, name) || !ig_check_numeric(c, a, name)) return;
  ig_batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  if (op->schema.nrets < 2) return;
  ig_batch_sizes(c, a, 2, &out[1]);
  out[1].dtype = IG_I32;
}
static void clear_upper(char *l, int64_t n, size_t size) {
  for (int64_t j = 1; j < n; j++) memset(l + (size_t)(j * n) * size, 0, (size_t)j * size);
}
static void cholesky_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *a = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  int64_t n = ig_matrix_order(a);
  int64_t count = ig_matrix_count(a);
  bool upper = args[1].b;
  bool two = op->schema.nrets == 2;
  bool check = !two || args[2].b;
  size_t size = ig_dtype_size(a->dtype);
  ig_scope scope = ig_scope_open(c);
  // The upper triangle is the adjoint of a lower one.
  ig_tensor *l = upper ? ig_hermitian(c, ig_tensor_alias(c, a)) : a;
  l = l ? ig_dense_by_columns(c, l) : NULL;
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  void *work = ig_scope_array(c, ig_lu_work(n), size);
  for (int64_t b = 0; c->status == IG_OK && b < count && ig_step(c); b++) {
    char *m = (char *)ig_tensor_data(l) + (size_t)(b * n * n) * size;
    int64_t bad = ig_matrix_fns_of(a->dtype)->cholesky(n, m, work);
    info[b] = (int32_t)bad;
    clear_upper(m, n, size);
    if (bad && check) {
      ig_fail_text(c, IG_RUNTIME,
                   "linalg.cholesky: The factorization could not be completed because the input is "
                   "not positive-definite (the leading minor of order %lld is not "
                   "positive-definite).",
                   (long long)bad);
    }
  }
  if (upper && l) l = ig_hermitian(c, l);
  if (l && c->status == IG_OK) (void)ig_copy_(c, ig_tensor_alias(c, out), l);
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
    l = ig_hermitian(c, l);
    g = ig_hermitian(c, g);
  }
  ig_tensor *h = ig_hermitian(c, l);
  ig_tensor *phi = ig_tril(c, ig_matmul(c, h, g));
  ig_tensor *skew = ig_hermitian(c, ig_tril_with(c, phi, ig_const(-1)));
  phi = ig_add_tensor(c, phi, skew);
  phi = triangle(c, h, phi, true, true);
  phi = triangle(c, l, phi, false, false);
  IG_GRAD(v, 0) = ig_mul_f64(c, phi, 0.5);
}
static ig_tensor *linalg_cholesky_decompose(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  bool check = !c->mode->capture && !c->mode->fake;
  ig_linalg_cholesky_ex_with(c, args[0].tensor, args[1].b, check, outs);
  return ig_value_tensor(&outs[0]);
}
// B, factor, upper
static ig_tensor *cholesky_solve_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *l = args[1].tensor;
  if (!ig_check_square(c, l, "cholesky_solve") || !ig_check_numeric(c, l, "cholesky_solve"))
    return NULL;
  if (args[0].tensor->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "b should have at least 2 dimensions, but has %d dimensions instead",
                 args[0].tensor->ndim);
    return NULL;
  }
  bool upper = args[2].b;
  ig_tensor *lower = upper ? ig_hermitian(c, l) : l;
  ig_tensor *x = triangle(c, lower, args[0].tensor, false, true);
  return triangle(c, ig_hermitian(c, lower), x, true, true);
}
static ig_tensor *cholesky_inverse_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *l = args[0].tensor;
  if (!ig_check_square(c, l, "cholesky_inverse") || !ig_check_numeric(c, l, "cholesky_inverse"))
    return NULL;
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
  if (!ig_check_square(c, a, "linalg.solve_triangular")) return;
  if (!ig_check_numeric(c, a, "linalg.solve_triangular")) return;
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
// X A = B is A^T X^T = B^T with the other triangle.
static void triangular_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  bool left = args[3].b;
  bool upper = left ? args[2].b : !args[2].b;
  size_t size = ig_dtype_size(out->dtype);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *a = ig_read_batch(c, args[0].tensor, out, !left);
  ig_tensor *b = ig_read_batch(c, args[1].tensor, out, !left);
  int64_t n = ig_matrix_order(args[0].tensor);
  int64_t count = ig_matrix_count(out);
  int64_t m = n && count ? ig_tensor_numel(out) / (n * count) : 0;
  void *work = ig_scope_array(c, ig_lu_work(m), size);
  for (int64_t k = 0; c->status == IG_OK && m && k < count && ig_step(c); k++) {
    const char *t = (const char *)ig_tensor_data(a) + (size_t)(k * n * n) * size;
    char *x = (char *)ig_tensor_data(b) + (size_t)(k * n * m) * size;
    ig_matrix_fns_of(out->dtype)->triangle(n, t, upper, args[4].b, m, x, work);
  }
  if (!left) b = ig_transpose_int(c, b, ig_const(-2), ig_const(-1));
  if (b && c->status == IG_OK) ig_tensor_copy(out, b);
  ig_scope_close(c, scope);
}
static ig_tensor *keep_triangle(ig_ctx *c, ig_tensor *g, bool upper, bool unit) {
  return upper ? ig_triu_with(c, g, ig_const(unit)) : ig_tril_with(c, g, ig_const(unit ? -1 : 0));
}
static void triangular_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  bool upper = a[2].b;
  bool left = a[3].b;
  ig_tensor *h = ig_hermitian(c, a[0].tensor);
  ig_tensor *gb = ig_linalg_solve_triangular_with(c, h, v->grad, !upper, left, a[4].b);
  if (IG_WANTED(v, 0)) {
    ig_tensor *xh = ig_hermitian(c, v->out);
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

static void qr_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_linalg_qr_with(c, args[0].tensor, ig_of_str(args[1].b ? "reduced" : "complete"), outs);
}

#define SQUARE "f32[3,3]:spd | f32[2,3,3]:spd"

IG_OP(linalg_inv_ex) = {
    .schema =
        "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, "
        "Tensor info)",
    .autocast = IG_AUTOCAST_F32,
    .shape = inv_shape,
    .kernel = inv_kernel,
    .vjp = inv_vjp,
    .diff_results = 1,
    .keep = "result0",
    .samples = SQUARE,
};
IG_OP(linalg_inv) = {
    .schema = "aten::linalg_inv(Tensor A) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = linalg_inv_decompose,
    .samples = SQUARE,
};
IG_OP(inverse) = {
    .schema = "aten::inverse(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
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
    .autocast = IG_AUTOCAST_F32,
    .shape = cholesky_shape,
    .kernel = cholesky_kernel,
    .vjp = cholesky_vjp,
    .diff_results = 1,
    .keep = "result0",
    .samples = SQUARE,
    .waive = "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it",
};
IG_OP(linalg_cholesky) = {
    .schema = "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = linalg_cholesky_decompose,
    .samples = SQUARE,
    .waive = "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it",
};
IG_OP(cholesky) = {
    .schema = "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = cholesky_shape,
    .kernel = cholesky_kernel,
    .vjp = cholesky_vjp,
    .keep = "result",
    .samples = SQUARE,
    .waive = "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it",
};
IG_OP(cholesky_solve) = {
    .schema = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cholesky_solve_decompose,
    .samples = "f32[3,2], f32[3,3]:spd",
};
IG_OP(cholesky_inverse) = {
    .schema = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
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
    .autocast = IG_AUTOCAST_F32,
    .decompose_outs = triangular_solve_decompose,
    .samples = "f32[3,2], f32[3,3]:spd | f32[3,2], f32[3,3]:spd, False, True, True",
    .waive = "strides: the copy of A lies by columns in PyTorch",
};
IG_OP(qr) = {
    .schema = "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    .autocast = IG_AUTOCAST_F32,
    .decompose_outs = qr_decompose,
    .samples = "f32[3,2] | f32[3,3], True",
    .waive = "special: which elements become NaN depends on LAPACK",
};
