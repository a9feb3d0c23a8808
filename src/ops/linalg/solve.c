// SPDX-License-Identifier: Apache-2.0
// LU factors and systems of linear equations, in complex double precision whatever the dtype.
#include "op/refuse.h"
#include "ops/linalg/system.h"

bool ig_check_square(ig_ctx *c, const ig_tensor *a, const char *name) {
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
bool ig_check_numeric(ig_ctx *c, const ig_tensor *a, const char *name) {
  ig_dtype d = a->dtype;
  if (d == IG_F32 || d == IG_F64 || ig_dtype_is_complex(d)) return true;
  bool low = d == IG_F16 || d == IG_BF16;
  ig_fail_text(c, IG_RUNTIME,
               low ? "%s: Low precision dtypes not supported. Got %s"
                   : "%s: Expected a floating point or complex tensor as input. Got %s",
               name, ig_dtype_title(d));
  return false;
}
void ig_batch_sizes(ig_ctx *c, const ig_tensor *a, int drop, ig_meta *out) {
  for (int d = 0; d < a->ndim - drop; d++) ig_meta_push_dim(c, out, ig_sizes(a)[d]);
}

ig_tensor *ig_hermitian(ig_ctx *c, ig_tensor *x) {
  return ig_conj_of(c, ig_transpose_int(c, x, ig_const(-2), ig_const(-1)));
}
ig_cd *ig_read_batch(ig_ctx *c, ig_tensor *t, const ig_tensor *out, bool turned) {
  ig_int sizes[IG_MAX_DIM];
  int n = out->ndim;
  for (int d = 0; d < n - 2; d++) sizes[d] = ig_sizes(out)[d];
  sizes[n - 2] = ig_sizes(t)[t->ndim - 2];
  sizes[n - 1] = ig_sizes(t)[t->ndim - 1];
  ig_tensor *wide = ig_expand(c, ig_tensor_alias(c, t), ig_of_ints(sizes, (size_t)n));
  if (turned) wide = ig_transpose_int(c, wide, ig_const(-2), ig_const(-1));
  return wide ? ig_dense_read(c, wide, IG_C128) : NULL;
}
void ig_eliminate(ig_system *s) {
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
int32_t ig_first_zero(const ig_system *s) {
  for (int64_t i = 0; s->singular && i < s->m && i < s->n; i++) {
    if (s->a[i * s->n + i] == 0) return (int32_t)(i + 1);
  }
  return 0;
}
// x (n x m, row-major) becomes the solution of a y = x for the triangle of a; turned: of a^T.
void ig_solve_triangle(const ig_cd *a, int64_t n, bool turned, ig_cd *x, int64_t m, bool upper,
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
static void swap_rows(const ig_system *s, ig_cd *x, int64_t m, int64_t k) {
  for (int64_t j = 0; j < m && s->swaps[k] != k; j++) {
    ig_cd t = x[k * m + j];
    x[k * m + j] = x[s->swaps[k] * m + j];
    x[s->swaps[k] * m + j] = t;
  }
}
// The same for the system P L U, or its transpose U^T L^T P^T.
void ig_solve(const ig_system *s, bool turned, ig_cd *x, int64_t m) {
  int64_t n = s->n;
  for (int64_t k = 0; k < n && !turned; k++) swap_rows(s, x, m, k);
  ig_solve_triangle(s->a, n, turned, x, m, false, !turned);
  ig_solve_triangle(s->a, n, turned, x, m, true, turned);
  for (int64_t k = n - 1; k >= 0 && turned; k--) swap_rows(s, x, m, k);
}
int64_t ig_matrix_order(const ig_tensor *a) {
  return ig_sizes(a)[a->ndim - 1].value;  // concrete: real sizes
}
int64_t ig_matrix_count(const ig_tensor *a) {
  int64_t n = 1;
  for (int d = 0; d < a->ndim - 2; d++) n *= ig_sizes(a)[d].value;  // concrete: real sizes
  return n;
}

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
  int64_t m = ig_sizes(lu)[lu->ndim - 2].value;  // concrete: real sizes
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
// Factors the count matrices at f; 1-based exchanges into pivots.
static void factor_all(ig_system s, int64_t count, int32_t *pivots, int32_t *info) {
  int64_t k = s.m < s.n ? s.m : s.n;
  for (int64_t b = 0; b < count; b++) {
    ig_eliminate(&s);
    info[b] = ig_first_zero(&s);
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
  int64_t count = ig_matrix_count(a);
  ig_scope scope = ig_scope_open(c);
  ig_cd *f = ig_dense_read(c, a, IG_C128);
  int32_t *pivots = ig_dense_room(c, (size_t)ig_tensor_numel(outs[1].tensor), IG_I32);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)m, IG_I64);
  if (c->status == IG_OK) {
    factor_all((ig_system){m, ig_matrix_order(a), f, swaps, 1, false}, count, pivots, info);
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
// As in PyTorch: a real row-major matrix is factored as its transpose.
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
  int64_t many = x ? ig_matrix_count(x) : 0;
  int64_t count = ig_matrix_count(a);
  ig_cd *f = x ? ig_read_batch(c, a, a, turned) : NULL;
  ig_cd *wide = many == count || !x ? f : ig_read_batch(c, a, x, turned);
  ig_cd *right = x ? ig_read_batch(c, b, x, !left) : NULL;
  int32_t *pivots = ig_dense_room(c, (size_t)(count * n), IG_I32);
  int32_t *info = ig_dense_room(c, (size_t)count, IG_I32);
  int32_t *spare = ig_dense_room(c, (size_t)n, IG_I32);
  int64_t *swaps = ig_dense_room(c, (size_t)n, IG_I64);
  int64_t m = many && n && x ? ig_tensor_numel(x) / (many * n) : 0;
  for (int64_t k = 0; c->status == IG_OK && f && wide && right && k < many; k++) {
    int32_t zero = 0;
    bool own = wide == f;
    ig_system s = {n, n, wide + k * n * n, swaps, 1, false};
    factor_all(s, 1, own ? pivots + k * n : spare, own ? info + k : &zero);
    ig_solve(&s, turned == left, right + k * n * m, m);
  }
  if (c->status == IG_OK && wide != f) {
    factor_all((ig_system){n, n, f, swaps, 1, false}, count, pivots, info);
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
