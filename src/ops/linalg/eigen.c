// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of Hermitian matrices.
#include <stdio.h>

#include "base/budget.h"
#include "kernels/linalg/hermitian.h"
#include "kernels/linalg/vector.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

// ---- the operator: A, UPLO, compute_v -> eigenvalues, eigenvectors ----

static bool is_upper(const char *text) {
  return text[0] == 'U' || text[0] == 'u';
}
static void eigh_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  const char *triangle = args[1].str;
  if (!ig_check_square(c, a, "linalg.eigh")) return;
  if (strlen(triangle) != 1 || !strchr("LlUu", triangle[0])) {
    ig_fail_text(c, IG_RUNTIME, "Expected UPLO argument to be 'L' or 'U', but got %s", triangle);
    return;
  }
  ig_dtype d = a->dtype;
  if (d != IG_F32 && d != IG_F64 && !ig_dtype_is_complex(d)) {
    ig_refuse_dtype(c, "linalg_eigh_cpu", d);
    return;
  }
  ig_batch_sizes(c, a, 1, &out[0]);
  out[0].dtype = ig_to_real(d);
  if (!args[2].b) {
    ig_meta_push_dim(c, &out[1], ig_const(0));
    return;
  }
  ig_batch_sizes(c, a, 0, &out[1]);
  ig_meta_by_columns(c, &out[1]);
}

// One matrix by columns, whose lower triangle counts. It becomes the eigenvectors.
typedef struct eigen_job {
  int64_t n;
  bool vectors;
  void *a;
  void *s;
  void *work;
} eigen_job;

// Elements of workspace, and the decomposition: 0, or what did not converge; -1 if an element is
// not finite: all results are NaN then (all bits set are one).
typedef size_t eigen_room_fn(int64_t n, bool vectors);
typedef int64_t eigen_fn(const eigen_job *j);

#define EIGEN(name, type, real)                                                             \
  static int64_t eigen_##name(const eigen_job *j) {                                         \
    type *a = j->a;                                                                         \
    real peak = 0;                                                                          \
    for (int64_t i = 0; i < j->n && isfinite(peak); i++) {                                  \
      peak = ig_vector_peak_##name(j->n - i, a + i * j->n + i);                             \
    }                                                                                       \
    if (isfinite(peak)) return ig_hermitian_run_##name(j->n, a, j->s, j->vectors, j->work); \
    memset(j->s, 0xFF, (size_t)j->n * sizeof(real));                                        \
    memset(a, 0xFF, (size_t)(j->n * j->n) * sizeof *a);                                     \
    return -1;                                                                              \
  }
EIGEN(f32, float, float)
EIGEN(f64, double, double)
EIGEN(c64, ig_cf, float)
EIGEN(c128, ig_cd, double)

static eigen_fn *eigen_of(ig_dtype d) {
  return d == IG_F32 ? eigen_f32 : d == IG_F64 ? eigen_f64 : d == IG_C64 ? eigen_c64 : eigen_c128;
}
static eigen_room_fn *room_of(ig_dtype d) {
  return d == IG_F32   ? ig_hermitian_work_f32
         : d == IG_F64 ? ig_hermitian_work_f64
         : d == IG_C64 ? ig_hermitian_work_c64
                       : ig_hermitian_work_c128;
}
static void eigen_failed(ig_ctx *c, const ig_tensor *a, int64_t at, int64_t info) {
  char place[48] = "";
  if (a->ndim > 2) (void)snprintf(place, sizeof place, "(Batch element %lld): ", (long long)at);
  ig_fail_text(c, IG_RUNTIME,
               "linalg.eigh: %sThe algorithm failed to converge because the input matrix is "
               "ill-conditioned or has too many repeated eigenvalues (error code: %lld).",
               place, (long long)info);
}
static void eigh_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *a = args[0].tensor;
  int64_t n = ig_matrix_order(a);
  int64_t count = n ? ig_matrix_count(a) : 0;
  size_t size = ig_dtype_size(a->dtype);
  size_t real = ig_dtype_size(outs[0].tensor->dtype);
  ig_scope scope = ig_scope_open(c);
  eigen_job j = {.n = n, .vectors = args[2].b};
  // The upper triangle is the adjoint of a lower one.
  ig_tensor *from = is_upper(args[1].str) ? ig_hermitian(c, ig_tensor_alias(c, a)) : a;
  ig_tensor *to = j.vectors || !from ? outs[1].tensor : ig_dense_by_columns(c, from);
  j.work = ig_scope_array(c, room_of(a->dtype)(n, j.vectors), size);
  if (c->status == IG_OK && j.vectors) ig_tensor_copy(to, from);
  for (int64_t i = 0; c->status == IG_OK && i < count && ig_step(c); i++) {
    j.a = (char *)ig_tensor_data(to) + (size_t)(i * n * n) * size;
    j.s = (char *)ig_tensor_data(outs[0].tensor) + (size_t)(i * n) * real;
    int64_t info = eigen_of(a->dtype)(&j);
    if (info && !(info < 0 && j.vectors)) eigen_failed(c, a, i, info < 0 ? 1 : info);
  }
  ig_scope_close(c, scope);
}

// With E_ij = s_j - s_i off the diagonal: gA = V (V^H gV / E + gS) V^H
static void eigh_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  if (!v->args[2].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg_eigh: the derivative needs the eigenvectors: call it with compute_v=True");
    return;
  }
  ig_tensor *s = v->outs[0].tensor;
  ig_tensor *vectors = v->outs[1].tensor;
  ig_tensor *gs = v->grads[0];
  ig_tensor *gv = v->grads[1];
  ig_tensor *vh = ig_hermitian(c, vectors);
  if (!gs && !gv) return;
  if (!gv) {
    ig_tensor *scaled = ig_mul_tensor(c, vectors, ig_unsqueeze(c, gs, ig_const(-2)));
    IG_GRAD(v, 0) = ig_matmul(c, scaled, vh);
    return;
  }
  ig_tensor *e = ig_unsqueeze(c, s, ig_const(-2));
  e = ig_sub_tensor(c, e, ig_unsqueeze(c, s, ig_const(-1)));
  ig_tensor *ones = ig_diag_embed(c, ig_ones_like(c, s));
  e = ig_add_tensor(c, e, ones);
  ig_tensor *inner = ig_matmul(c, vh, gv);
  ig_tensor *diagonal = ig_diagonal_with(c, inner, ig_const(0), ig_const(-2), ig_const(-1));
  inner = ig_sub_tensor(c, inner, ig_diag_embed(c, diagonal));
  inner = ig_div_tensor(c, inner, e);
  if (gs) inner = ig_add_tensor(c, inner, ig_diag_embed(c, gs));
  IG_GRAD(v, 0) = ig_matmul(c, vectors, ig_matmul(c, inner, vh));
}

static void linalg_eigh(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig__linalg_eigh_with(c, a[0].tensor, a[1], true, outs);
}
static ig_tensor *eigvalsh(ig_ctx *c, const ig_value *a) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig__linalg_eigh_with(c, a[0].tensor, a[1], ig_tensor_requires_grad(a[0].tensor), outs);
  return c->status == IG_OK ? outs[0].tensor : NULL;
}

IG_OP(_linalg_eigh) = {
    .schema =
        "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, "
        "Tensor eigenvectors)",
    .shape = eigh_shape,
    .kernel = eigh_kernel,
    .vjp = eigh_vjp,
    .keep = "result0, result1",
    .samples = "f32[3,3]:spd | f32[2,4,4]:spd | f32[3,3]:spd, 'U' | f32[3,3]:spd, 'L', False",
    .waive =
        "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it; "
        "values: eigenvectors are told up to their signs",
};
IG_OP(linalg_eigh) = {
    .schema =
        "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor "
        "eigenvectors)",
    .autocast = IG_AUTOCAST_F32,
    .decompose_outs = linalg_eigh,
    .samples = "f32[3,3]:spd | f32[2,4,4]:spd, 'U'",
    .waive =
        "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it; "
        "values: eigenvectors are told up to their signs",
};
IG_OP(linalg_eigvalsh) = {
    .schema = "aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = eigvalsh,
    .samples = "f32[3,3]:spd | f32[2,4,4]:spd, 'U'",
    .waive = "gradient: PyTorch symmetrizes it; second: PyTorch symmetrizes it",
};
