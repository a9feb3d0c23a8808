// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of square matrices of any kind. They are complex numbers, computed
// in double precision.
#include <math.h>
#include <stdio.h>

#include "base/budget.h"
#include "kernels/linalg/general.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

static bool check(ig_ctx *c, const ig_tensor *a) {
  ig_dtype d = a->dtype;
  if (!ig_check_square(c, a, "linalg.eig")) return false;
  if (!ig_dtype_is_float(d) && !ig_dtype_is_complex(d)) {
    ig_fail_text(c, IG_RUNTIME, "Unknown Complex ScalarType for %s", ig_dtype_title(d));
  } else if (ig_dtype_size(ig_to_real(d)) < sizeof(float)) {
    ig_refuse_dtype(c, "linalg_eig_out_cpu", d);
  }
  return c->status == IG_OK;
}

static ig_dtype complex_of(ig_dtype d) {
  return d == IG_F64 || d == IG_C128 ? IG_C128 : IG_C64;
}

// self -> eigenvalues, eigenvectors
static void eig_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check(c, a)) return;
  ig_batch_sizes(c, a, 1, &out[0]);
  ig_batch_sizes(c, a, 0, &out[1]);
  ig_meta_by_columns(c, &out[1]);
  out[0].dtype = out[1].dtype = complex_of(a->dtype);
}
static void eigvals_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check(c, a)) return;
  ig_batch_sizes(c, a, 1, out);
  out->dtype = complex_of(a->dtype);
}

static bool is_finite(int64_t n, const double *a) {
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(a[i])) return false;
  }
  return true;
}
static void fill_nan(int64_t n, ig_cd *values) {
  for (int64_t i = 0; i < n; i++) values[i] = NAN;
}

// Matrices in double precision, by columns, one after another.
typedef struct eig_job {
  int64_t n;
  int64_t count;
  bool pairs;  // elements are complex numbers
  char *a;
  ig_cd *values;
  ig_cd *vectors;  // NULL: not wanted
  double *work;
} eig_job;

static int64_t run(const eig_job *j, int64_t i) {
  int64_t n = j->n;
  int64_t parts = j->pairs ? 2 : 1;
  double *a = (double *)(void *)j->a + i * n * n * parts;
  ig_cd *vectors = j->vectors ? j->vectors + i * n * n : NULL;
  if (!is_finite(n * n * parts, a)) {
    fill_nan(n, j->values + i * n);
    return j->vectors ? -1 : 0;
  }
  return j->pairs ? ig_general_run_c128(n, (ig_cd *)(void *)a, j->values + i * n, vectors, j->work)
                  : ig_general_run_f64(n, a, j->values + i * n, vectors, j->work);
}

static void fail(ig_ctx *c, const ig_tensor *a, int64_t at, int64_t info) {
  char place[48] = "";
  if (info < 0) {
    ig_fail_text(c, IG_RUNTIME, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    return;
  }
  if (a->ndim > 2) (void)snprintf(place, sizeof place, "(Batch element %lld): ", (long long)at);
  ig_fail_text(c, IG_RUNTIME,
               "linalg.eig: %sThe algorithm failed to converge because the input matrix is "
               "ill-conditioned or has too many repeated eigenvalues (error code: %lld).",
               place, (long long)info);
}

// Results have the order of the computed numbers: matrices by columns.
static void store(ig_tensor *t, const ig_cd *from) {
  size_t n = (size_t)ig_tensor_numel(t);
  if (t->dtype == IG_C128) {
    if (n) memcpy(ig_tensor_data(t), from, n * sizeof *from);
    return;
  }
  ig_cf *to = ig_tensor_data(t);
  for (size_t i = 0; i < n; i++) to[i] = (ig_cf)from[i];
}

static void compute(ig_ctx *c, const ig_tensor *a, ig_tensor *values, ig_tensor *vectors) {
  int64_t n = ig_matrix_order(a);
  eig_job j = {.n = n, .count = n ? ig_matrix_count(a) : 0, .pairs = ig_dtype_is_complex(a->dtype)};
  ig_scope scope = ig_scope_open(c);
  // Row-major elements of the transposed matrices are the columns of the matrices.
  ig_tensor *turned =
      ig_transpose_int(c, ig_tensor_alias(c, (ig_tensor *)a), ig_const(-2), ig_const(-1));
  size_t all = (size_t)ig_tensor_numel(a);
  j.a = ig_scope_array(c, all, j.pairs ? sizeof(ig_cd) : sizeof(double));
  j.values = ig_scope_array(c, ig_mem_mul((size_t)j.count, (size_t)n), sizeof *j.values);
  j.vectors = vectors ? ig_scope_array(c, all, sizeof *j.vectors) : NULL;
  j.work = ig_scope_array(c, ig_general_work(n, vectors != NULL), sizeof *j.work);
  if (c->status == IG_OK) ig_tensor_read(turned, j.pairs ? IG_C128 : IG_F64, j.a);
  for (int64_t i = 0; c->status == IG_OK && i < j.count && ig_step(c); i++) {
    int64_t info = run(&j, i);
    if (info) fail(c, a, i, info);
  }
  if (c->status == IG_OK) store(values, j.values);
  if (c->status == IG_OK && vectors) store(vectors, j.vectors);
  ig_scope_close(c, scope);
}

static void eig_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  compute(c, args[0].tensor, outs[0].tensor, outs[1].tensor);
}
static void eigvals_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  compute(c, args[0].tensor, outs[0].tensor, NULL);
}

// A gradient that changes when an eigenvector is multiplied by a number of length 1 means nothing.
static bool ignores_phases(ig_ctx *c, const ig_tensor *diagonal) {
  if (!diagonal || ig_is_fake(diagonal)) return true;
  ig_scope scope = ig_scope_open(c);
  size_t n = (size_t)ig_tensor_numel(diagonal);
  ig_cd *at = ig_scope_array(c, n, sizeof *at);
  bool ok = true;
  if (at) ig_tensor_read(diagonal, IG_C128, at);
  for (size_t i = 0; at && i < n; i++) ok = ok && !(fabs(__imag__ at[i]) > 1e-2);
  ig_scope_close(c, scope);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg_eig_backward: The eigenvectors in the complex case are specified up to "
                 "multiplication by e^{i phi}. The specified loss function depends on this "
                 "quantity, so it is ill-defined.");
  }
  return ok;
}

// With E_ij = conj(l_j - l_i) off the diagonal:
// gA = V^-H (diag(gl) + (V^H gV - V^H V diag(Re(V^H gV))) / E) V^H
static void eig_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *gl = v->grads[0];
  ig_tensor *gv = v->grads[1];
  if (!IG_WANTED(v, 0) || (!gl && !gv)) return;
  ig_tensor *l = v->outs[0].tensor;
  ig_tensor *vectors = v->outs[1].tensor;
  ig_tensor *vh = ig_hermitian(c, vectors);
  ig_tensor *inner = NULL;
  if (gv) {
    ig_tensor *product = ig_matmul(c, vh, gv);
    ig_tensor *diagonal = ig_diagonal_with(c, product, ig_const(0), ig_const(-2), ig_const(-1));
    if (!ignores_phases(c, diagonal)) return;
    diagonal = ig_unsqueeze(c, ig_real(c, diagonal), ig_const(-2));
    inner = ig_matmul(c, vh, ig_mul_tensor(c, vectors, diagonal));
    inner = ig_sub_tensor(c, product, inner);
    ig_tensor *lc = ig_conj_of(c, l);
    ig_tensor *e = ig_unsqueeze(c, lc, ig_const(-2));
    e = ig_sub_tensor(c, e, ig_unsqueeze(c, lc, ig_const(-1)));
    ig_tensor *ones = ig_diag_embed(c, ig_ones_like(c, l));
    // The diagonal belongs to the lengths and phases of the vectors, which are not free.
    inner = ig_div_tensor(c, inner, ig_add_tensor(c, e, ones));
    diagonal = ig_diagonal_with(c, inner, ig_const(0), ig_const(-2), ig_const(-1));
    inner = ig_sub_tensor(c, inner, ig_diag_embed(c, diagonal));
    if (gl) inner = ig_add_tensor(c, inner, ig_diag_embed(c, gl));
    inner = ig_matmul(c, inner, vh);
  } else {
    inner = ig_mul_tensor(c, ig_unsqueeze(c, gl, ig_const(-1)), vh);
  }
  ig_tensor *g = ig_linalg_solve(c, vh, inner);
  IG_GRAD(v, 0) = ig_dtype_is_complex(v->args[0].tensor->dtype) ? g : ig_real(c, g);
}

static ig_tensor *eigvals(ig_ctx *c, const ig_value *a) {
  if (!ig_tensor_requires_grad(a[0].tensor)) return ig__linalg_eigvals(c, a[0].tensor);
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_linalg_eig(c, a[0].tensor, outs);
  return c->status == IG_OK ? outs[0].tensor : NULL;
}

IG_OP(linalg_eig) = {
    .schema = "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    .autocast = IG_AUTOCAST_F32,
    .shape = eig_shape,
    .kernel = eig_kernel,
    .vjp = eig_vjp,
    .keep = "result0, result1",
    .samples = "f32[3,3] | f32[2,4,4] | c64[3,3]",
    .waive = "gradient: eigenvectors are told up to their phases; values: the same",
};
IG_OP(_linalg_eigvals) = {
    .schema = "aten::_linalg_eigvals(Tensor self) -> Tensor",
    .shape = eigvals_shape,
    .kernel = eigvals_kernel,
    .samples = "f32[3,3] | f32[2,4,4] | c64[3,3]",
};
IG_OP(linalg_eigvals) = {
    .schema = "aten::linalg_eigvals(Tensor self) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = eigvals,
    .samples = "f32[3,3] | f32[2,4,4] | c64[3,3]",
};
