// SPDX-License-Identifier: Apache-2.0
// Least squares: matrices of full rank by QR (driver gels), others by singular values, which also
// give the solution of least norm.
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

typedef enum lstsq_driver { GELS, GELSY, GELSD, GELSS, DRIVERS } lstsq_driver;

static lstsq_driver driver_of(ig_ctx *c, const ig_value *v) {
  static const char *const name[] = {"gels", "gelsy", "gelsd", "gelss"};
  if (v->kind != IG_KIND_STR) return GELSY;
  for (int i = 0; i < DRIVERS; i++) {
    if (strcmp(v->str, name[i]) == 0) return (lstsq_driver)i;
  }
  ig_fail_text(c, IG_RUNTIME,
               "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, "
               "gelss)");
  return GELSY;
}

// B is a vector for each matrix.
static bool is_vector(const ig_tensor *a, const ig_tensor *b) {
  return b->ndim == a->ndim - 1;
}
static void check(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "torch.linalg.lstsq: input must have at least 2 dimensions.");
  } else if (b->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "torch.linalg.lstsq: other must have at least 1 dimension.");
  } else if (a->dtype != b->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.lstsq: Expected input and other to have the same dtype, but got "
                 "input's dtype %s and other's dtype %s",
                 ig_dtype_title(a->dtype), ig_dtype_title(b->dtype));
  } else if (a->ndim < b->ndim || a->ndim - b->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
                 "(input.dim() - other.dim()) <= 1");
  } else if (a->dtype != IG_F32 && a->dtype != IG_F64 && !ig_dtype_is_complex(a->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "This function doesn't handle types other than float and double");
  } else if (!ig_int_eq(c, ig_sizes(a)[a->ndim - 2],
                        ig_sizes(b)[b->ndim - (is_vector(a, b) ? 1 : 2)])) {
    ig_fail_text(c, IG_RUNTIME, "torch.linalg.lstsq: input.size(-2) should match other.size(-%d)",
                 is_vector(a, b) ? 1 : 2);
  }
}

// The matrices of t for every batch dimension of `batch`.
static ig_tensor *expanded(ig_ctx *c, ig_tensor *t, const ig_meta *batch) {
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < batch->ndim; d++) sizes[d] = batch->size[d];
  for (int d = 0; d < 2; d++) sizes[batch->ndim + d] = ig_sizes(t)[t->ndim - 2 + d];
  return ig_expand(c, t, ig_of_ints(sizes, (size_t)batch->ndim + 2));
}

static ig_tensor *empty_of(ig_ctx *c, const ig_tensor *like, ig_dtype dtype) {
  ig_int none = ig_const(0);
  return ig_zeros_with(c, ig_of_ints(&none, 1), ig_of_dtype(dtype), ig_none(),
                       ig_of_device(like->device), ig_none());
}

// A = Q R, or A^H = Q R if there are more unknowns than equations.
static ig_tensor *solve_full(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  bool tall = ig_matrix_rows(a) >= ig_matrix_order(a);
  ig_linalg_qr_with(c, tall ? a : ig_hermitian(c, a), ig_of_str("reduced"), outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *q = outs[0].tensor;
  ig_tensor *r = outs[1].tensor;
  if (tall) {
    b = ig_matmul(c, ig_hermitian(c, q), b);
    return ig_linalg_solve_triangular_with(c, r, b, true, true, false);
  }
  r = ig_hermitian(c, r);
  return ig_matmul(c, q, ig_linalg_solve_triangular_with(c, r, b, false, true, false));
}

// Singular values up to `rcond` times the largest count as 0.
static ig_tensor *solve_any(ig_ctx *c, ig_tensor *a, ig_tensor *b, double rcond, ig_value *outs) {
  ig_value parts[IG_MAX_RETURNS] = {{0}};
  ig_int last = ig_const(-1);
  ig_linalg_svd_with(c, a, false, ig_none(), parts);
  if (c->status != IG_OK) return NULL;
  ig_tensor *s = parts[1].tensor;
  ig_tensor *bound = ig_narrow(c, s, last, ig_const(0), ig_const(1));
  ig_tensor *large = ig_gt_tensor(c, s, ig_mul_f64(c, bound, rcond));
  ig_tensor *inverse = ig_where_scalarother(c, large, ig_reciprocal(c, s), ig_of_f64(0));
  outs[2] = ig_of_tensor(ig_sum_dim_intlist(c, large, ig_of_ints(&last, 1)));
  outs[3] = ig_of_tensor(s);
  ig_tensor *x = ig_matmul(c, ig_hermitian(c, parts[0].tensor), b);
  x = ig_mul_tensor(c, x, ig_unsqueeze(c, inverse, last));
  return ig_matmul(c, ig_hermitian(c, parts[2].tensor), x);
}

// The sum of squares of what is left of each right-hand side.
static ig_tensor *residuals_of(ig_ctx *c, ig_tensor *a, ig_tensor *x, ig_tensor *b) {
  ig_int rows = ig_const(-2);
  ig_tensor *rest = ig_sub_tensor(c, ig_matmul(c, a, x), b);
  rest = ig_abs(c, rest);
  return ig_sum_dim_intlist(c, ig_mul_tensor(c, rest, rest), ig_of_ints(&rows, 1));
}
static bool has_rank(ig_ctx *c, const ig_tensor *rank, int64_t n) {
  const int64_t *r = rank ? ig_dense_read(c, rank, IG_I64) : NULL;
  for (int64_t i = 0; r && i < ig_tensor_numel(rank); i++) {
    if (r[i] != n) return false;
  }
  return r != NULL;
}

// The solution as the first rows of the right-hand sides, by columns, where LAPACK leaves it.
static ig_tensor *placed(ig_ctx *c, ig_tensor *x, int64_t rows) {
  if (!x) return NULL;
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_sizes(x)[d];
  ig_int unknowns = sizes[x->ndim - 2];
  sizes[x->ndim - 2] = sizes[x->ndim - 1];
  sizes[x->ndim - 1] = ig_const(rows);
  ig_tensor *all = ig_new_empty(c, x, ig_of_ints(sizes, (size_t)x->ndim));
  all = ig_transpose_int(c, all, ig_const(-2), ig_const(-1));
  all = ig_narrow(c, all, ig_const(-2), ig_const(0), unknowns);
  if (all) ig_tensor_copy(all, x);
  return all;
}

// self, b, rcond, driver -> solution, residuals, rank, singular_values
static void lstsq_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *a = ig_tensor_alias(c, args[0].tensor);
  ig_tensor *b = ig_tensor_alias(c, args[1].tensor);
  check(c, args[0].tensor, args[1].tensor);
  lstsq_driver driver = driver_of(c, &args[3]);
  if (c->status != IG_OK) return;
  bool vector = is_vector(a, b);
  if (vector) b = ig_unsqueeze(c, b, ig_const(-1));
  ig_meta batch;
  ig_meta_init(&batch, a->dtype, a->device);
  ig_broadcast_sizes(c, &batch, ig_sizes(a), a->ndim - 2);
  if (b) ig_broadcast_sizes(c, &batch, ig_sizes(b), b->ndim - 2);
  if (c->status != IG_OK) return;
  a = expanded(c, a, &batch);
  b = expanded(c, b, &batch);
  if (!a || !b) return;
  int64_t m = ig_matrix_rows(a);
  int64_t n = ig_matrix_order(a);
  double eps = ig_to_real(a->dtype) == IG_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  double rcond = eps * (double)(m > n ? m : n);
  if (ig_value_is_number(&args[2])) rcond = ig_value_f64(&args[2]);
  bool some = ig_tensor_numel(a) > 0 && ig_tensor_numel(b) > 0;
  ig_tensor *x = NULL;
  if (some) x = driver == GELS ? solve_full(c, a, b) : solve_any(c, a, b, rcond, outs);
  if (!some) {
    ig_tensor *at = ig_transpose_int(c, a, ig_const(-2), ig_const(-1));
    x = ig_matmul(c, at, b);  // zeros of the right sizes
    ig_int sizes[IG_MAX_DIM];
    for (int d = 0; d < batch.ndim; d++) sizes[d] = batch.size[d];
    ig_value size = ig_of_ints(sizes, (size_t)batch.ndim);
    outs[2] = ig_of_tensor(
        ig_zeros_with(c, size, ig_of_dtype(IG_I64), ig_none(), ig_of_device(a->device), ig_none()));
  }
  if (c->status != IG_OK) return;
  bool left = some && m > n && driver != GELSY;
  left = left && (driver == GELS || has_rank(c, outs[2].tensor, n));
  ig_dtype real = ig_to_real(a->dtype);
  outs[1] = ig_of_tensor(left ? residuals_of(c, a, x, b) : empty_of(c, a, real));
  if (driver == GELS) outs[2] = ig_of_tensor(empty_of(c, a, IG_I64));
  if (driver < GELSD || !some) outs[3] = ig_of_tensor(empty_of(c, a, real));
  x = placed(c, x, m > n ? m : n);
  outs[0] = ig_of_tensor(vector ? ig_squeeze_dim(c, x, ig_const(-1)) : x);
}

// The solution is P b with the pseudo-inverse P: gb = P^H g, and gP = g b^H gives gA.
static void lstsq_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *a = v->args[0].tensor;
  ig_tensor *b = v->args[1].tensor;
  ig_tensor *g = v->grads[0];
  if (!g) return;
  bool vector = is_vector(a, b);
  if (vector) g = ig_unsqueeze(c, g, ig_const(-1));
  if (vector) b = ig_unsqueeze(c, b, ig_const(-1));
  ig_tensor *p = ig_linalg_pinv_atol_rtol_float_with(c, a, ig_none(), ig_none(), false);
  if (IG_WANTED(v, 0)) {
    ig_tensor *gp = ig_matmul(c, g, ig_hermitian(c, b));
    gp = ig_sum_to(c, ig_pinv_gradient(c, a, p, gp), &v->args[0]);
    IG_GRAD(v, 0) = gp;
  }
  if (!IG_WANTED(v, 1)) return;
  ig_tensor *gb = ig_matmul(c, ig_hermitian(c, p), g);
  if (vector) gb = ig_squeeze_dim(c, gb, ig_const(-1));
  IG_GRAD(v, 1) = ig_sum_to(c, gb, &v->args[1]);
}

IG_OP(linalg_lstsq) = {
    .schema =
        "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
        "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    .autocast = IG_AUTOCAST_F32,
    .fake = ig_refuse_sizes,
    .kernel = lstsq_kernel,
    .vjp = lstsq_vjp,
    .diff_results = 1,
    .keep = "self, b",
    .samples =
        "f32[4,2], f32[4,3] | f32[2,3,3]:spd, f32[2,3] | f32[2,4], f32[2,1] | f32[4,2], f32[4,3], "
        "driver='gels' | f32[4,2], f32[4,3], driver='gelsd' | f32[2,4], f32[2,3], driver='gels' | "
        "f32[4,2], f32[4,3], 0.5, driver='gelss'",
    .waive = "special: which elements become NaN depends on LAPACK",
};
