// SPDX-License-Identifier: Apache-2.0
// LU factors and systems of linear equations.
#include "base/budget.h"
#include "kernels/linalg/lu.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

// ---- given LU factors ----

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
    ig_batch_sizes(c, lu, 2, &out[i]);
    ig_meta_push_dim(c, &out[i], pairs[i][0]);
    ig_meta_push_dim(c, &out[i], pairs[i][1]);
    out[i].dtype = lu->dtype;
  }
}
static void lu_unpack_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *lu = args[0].tensor;
  int64_t n = ig_matrix_order(lu);
  int64_t m = ig_matrix_rows(lu);
  int64_t k = m < n ? m : n;
  int64_t count = ig_matrix_count(lu);
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
  if (!ig_check_square(c, lu, "linalg.lu_solve") || !ig_check_numeric(c, lu, "linalg.lu_solve"))
    return NULL;
  bool left = args[3].b;
  bool turn = args[4].b;
  ig_lu_unpack_with(c, ig_detach(c, lu), args[1].tensor, true, true, outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *p = outs[0].tensor;
  ig_tensor *b = args[2].tensor;
  ig_tensor *pt = ig_transpose_int(c, p, ig_const(-2), ig_const(-1));
  ig_tensor *h = turn ? ig_hermitian(c, lu) : NULL;
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
  if (!ig_check_numeric(c, a, "torch.lu_factor")) return;
  if (!args[1].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
    return;
  }
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  ig_batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  ig_batch_sizes(c, a, 2, &out[1]);
  ig_meta_push_dim(c, &out[1], ig_int_is(c, m, IG_LE, n) ? m : n);
  ig_batch_sizes(c, a, 2, &out[2]);
  out[1].dtype = out[2].dtype = IG_I32;
}
// Matrices by columns that are factored in place, one after the other.
typedef struct factors {
  int64_t m;
  int64_t n;
  int64_t count;
  ig_dtype dtype;
  char *a;
  int32_t *pivots;
  int32_t *info;
  void *work;
} factors;

static void *at(const factors *f, int64_t i) {
  return f->a + (size_t)(i * f->m * f->n) * ig_dtype_size(f->dtype);
}
static void factor_all(ig_ctx *c, const factors *f) {
  int64_t k = f->m < f->n ? f->m : f->n;
  for (int64_t i = 0; c->status == IG_OK && i < f->count && ig_step(c); i++) {
    int64_t zero = ig_matrix_fns_of(f->dtype)->lu(f->m, f->n, at(f, i), f->pivots + i * k, f->work);
    f->info[i] = (int32_t)zero;
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
  ig_scope scope = ig_scope_open(c);
  factors f = {ig_matrix_rows(a), ig_matrix_order(a), ig_matrix_count(a), a->dtype, 0, 0, 0, 0};
  ig_tensor *lu = outs[0].tensor;
  ig_tensor_copy(lu, a);  // lies by columns
  f.a = ig_tensor_data(lu);
  f.pivots = ig_tensor_data(outs[1].tensor);
  f.info = ig_tensor_data(outs[2].tensor);
  f.work = ig_scope_array(c, ig_lu_work(f.n), ig_dtype_size(a->dtype));
  if (f.work) factor_all(c, &f);
  int32_t bad = args[2].b && c->status == IG_OK ? bad_of(f.info, f.count) : 0;
  if (bad) {
    ig_fail_text(
        c, IG_RUNTIME,
        "torch.linalg.lu_factor: U[%d,%d] is zero and using it on lu_solve would result in "
        "a division by zero. If you still want to perform the factorization, consider "
        "calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        (int)bad, (int)bad);
  }
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
  ig_tensor *lh = ig_hermitian(c, parts[1].tensor);
  ig_tensor *uh = ig_hermitian(c, parts[2].tensor);
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
  bool check = !c->mode->capture && !c->mode->fake;
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
  if (!ig_check_numeric(c, a, "linalg.solve") || !ig_check_square(c, a, "linalg.solve"))
    return false;
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
  ig_batch_sizes(c, a, 0, &out[1]);
  ig_meta_by_columns(c, &out[1]);
  ig_batch_sizes(c, a, 1, &out[2]);
  ig_batch_sizes(c, a, 2, &out[3]);
  out[2].dtype = out[3].dtype = IG_I32;
}
// Solves with each matrix of x, whose batch dimensions those of a may have to be expanded to.
static void solve_all(ig_ctx *c, const factors *f, const ig_tensor *a, ig_tensor *x, bool turned) {
  if (c->status != IG_OK || !x || ig_tensor_numel(x) == 0) return;
  int64_t many = ig_matrix_count(x);
  int64_t m = ig_tensor_numel(x) / (many * f->n);
  size_t bytes = (size_t)(f->n * m) * ig_dtype_size(f->dtype);
  char *right = ig_tensor_data(x);
  for (int64_t k = 0; k < many && ig_step(c); k++) {
    int64_t which = 0;  // the matrix of a that belongs to matrix k
    int64_t step = 1;
    int64_t rest = k;
    for (int d = a->ndim - 3, e = x->ndim - 3; d >= 0; d--, e--) {
      int64_t own = ig_sizes(a)[d].value;  // concrete: real sizes
      int64_t all = ig_sizes(x)[e].value;  // concrete: real sizes
      which += own == 1 ? 0 : rest % all * step;
      step *= own;
      rest /= all;
    }
    ig_matrix_fns_of(f->dtype)->lu_solve(f->n, at(f, which), f->pivots + which * f->n, turned, m,
                                         right + (size_t)k * bytes, f->work);
  }
}
// As in PyTorch: a real row-major matrix is factored as its transpose. X A = B is A^T X^T = B^T.
static void solve_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *a = args[0].tensor;
  bool vector = is_vector(c, a, args[1].tensor);
  bool left = args[2].b;
  bool turned = ig_tensor_is_contiguous(c, a) && !ig_dtype_is_complex(a->dtype);
  int64_t n = ig_matrix_order(a);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *b = ig_tensor_alias(c, args[1].tensor);
  ig_tensor *x = ig_tensor_alias(c, outs[0].tensor);
  if (vector) {
    b = ig_unsqueeze(c, b, ig_const(-1));
    x = ig_unsqueeze(c, x, ig_const(-1));
  }
  ig_tensor *lu = outs[1].tensor;
  ig_tensor *from = ig_tensor_alias(c, a);
  if (turned) from = ig_transpose_int(c, from, ig_const(-2), ig_const(-1));
  ig_tensor *right = x ? ig_read_batch(c, b, x, !left) : NULL;
  factors f = {n, n, ig_matrix_count(a), a->dtype, ig_tensor_data(lu), 0, 0, 0};
  f.pivots = ig_tensor_data(outs[2].tensor);
  f.info = ig_tensor_data(outs[3].tensor);
  int64_t many = right ? ig_matrix_count(right) : 0;
  int64_t m = many && n ? ig_tensor_numel(right) / (many * n) : 0;
  f.work = ig_scope_array(c, ig_lu_work(m > n ? m : n), ig_dtype_size(a->dtype));
  if (c->status == IG_OK) {
    ig_tensor_copy(lu, from);
    factor_all(c, &f);
  }
  solve_all(c, &f, a, right, turned == left);
  if (args[3].b && c->status == IG_OK && bad_of(f.info, f.count)) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.solve: The solver failed because the input matrix is singular.");
  }
  if (!left) right = ig_transpose_int(c, right, ig_const(-2), ig_const(-1));
  if (right && c->status == IG_OK) ig_tensor_copy(x, right);
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
  ig_tensor *gb = ig_linalg_solve_with(c, ig_hermitian(c, a), g, left);
  if (IG_WANTED(v, 0)) {
    ig_tensor *xh = ig_hermitian(c, x);
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
  bool check = !c->mode->capture && !c->mode->fake;
  ig__linalg_solve_ex_with(c, args[0].tensor, args[1].tensor, args[2].b, check, all);
  return ig_value_tensor(&all[0]);
}
#define SQUARE "f32[3,3]:spd | f32[2,3,3]:spd"

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
    .waive = "size 3=0: refused here, PyTorch computes it",
};
IG_OP(linalg_lu_solve) = {
    .schema =
        "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
        "bool adjoint=False) -> Tensor",
    .decompose = lu_solve_decompose,
    .samples = "f32[3,3]:spd, i32{2,3,3}, f32[3,2]",
};
IG_OP(lu_solve) = {
    .schema = "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = lu_solve_alias,
    .samples = "f32[3,2], f32[3,3]:spd, i32{2,3,3}",
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
};
IG_OP(linalg_lu_factor) = {
    .schema = "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    .decompose_outs = lu_factor_decompose,
    .samples = SQUARE,
};
IG_OP(linalg_lu) = {
    .schema = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    .decompose_outs = lu_decompose,
    .samples = SQUARE,
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
};
IG_OP(linalg_solve_ex) = {
    .schema =
        "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
        "(Tensor result, Tensor info)",
    .decompose_outs = solve_ex_decompose,
    .samples = SYSTEMS,
};
IG_OP(linalg_solve) = {
    .schema = "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = solve_decompose,
    .samples = SYSTEMS " | f32[3,3]:spd, f32[2,3], left=False",
};
