// SPDX-License-Identifier: Apache-2.0
// Singular values, and operators based on them: matrix norms, ranks, pseudo-inverses.
#include <stdio.h>

#include "base/budget.h"
#include "kernels/linalg/svd.h"
#include "kernels/linalg/vector.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"

static ig_tensor *turned(ig_ctx *c, ig_tensor *t) {
  return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
}
static ig_tensor *adjoint(ig_ctx *c, ig_tensor *t) {
  return ig_conj_of(c, turned(c, t));
}
static bool check_matrix(ig_ctx *c, const ig_tensor *a, const char *name) {
  ig_dtype d = a->dtype;
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "%s: The input tensor A must have at least 2 dimensions.", name);
  } else if (d != IG_F32 && d != IG_F64 && !ig_dtype_is_complex(d)) {
    bool low = d == IG_F16 || d == IG_BF16;
    ig_fail_text(c, IG_RUNTIME,
                 low ? "%s: Low precision dtypes not supported. Got %s"
                     : "%s: Expected a floating point or complex tensor as input. Got %s",
                 name, ig_dtype_title(d));
  }
  return c->status == IG_OK;
}

// ---- the operator: A, full_matrices, compute_uv, driver -> U, S, Vh ----

static void svd_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check_matrix(c, a, "linalg.svd")) return;
  if (args[3].kind == IG_KIND_STR) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
                 "with cuSOLVER backend.");
    return;
  }
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  ig_int k = ig_int_is(c, m, IG_LE, n) ? m : n;
  ig_int size[3][2] = {{m, args[1].b ? m : k}, {k, k}, {args[1].b ? n : k, n}};
  for (int i = 0; i < 3; i++) {
    if (i != 1 && !args[2].b) {
      ig_meta_push_dim(c, &out[i], ig_const(0));
      continue;
    }
    for (int d = 0; d < a->ndim - 2; d++) ig_meta_push_dim(c, &out[i], ig_sizes(a)[d]);
    for (int d = 0; d < 2 - (i == 1); d++) ig_meta_push_dim(c, &out[i], size[i][d]);
    if (i != 1) ig_meta_by_columns(c, &out[i]);
  }
  out[1].dtype = ig_to_real(a->dtype);
}

// Matrices by columns: one is factored at a time.
typedef struct svd_job {
  int64_t m;
  int64_t n;
  bool vectors;
  bool full;
  void *a;  // overwritten
  void *s;
  void *u;
  void *vh;
  void *work;
} svd_job;

// Elements of workspace, and the decomposition: 0, -1 if an element is NaN, or what did not
// converge. Infinities make all results NaN, as in PyTorch (all bits set are a NaN).
typedef size_t svd_room_fn(const svd_job *j);
typedef int64_t svd_fn(const svd_job *j, const size_t *bytes);

#define SVD(name, real)                                                             \
  static size_t room_##name(const svd_job *j) {                                     \
    ig_svd_##name job = {j->m, j->n, j->vectors, j->full, NULL, NULL, NULL, NULL};  \
    return ig_svd_work_##name(&job);                                                \
  }                                                                                 \
  static int64_t svd_##name(const svd_job *j, const size_t *bytes) {                \
    ig_svd_##name job = {j->m, j->n, j->vectors, j->full, j->a, j->s, j->u, j->vh}; \
    real peak = ig_vector_peak_##name(j->m * j->n, j->a);                           \
    if (isnan(peak)) return -1;                                                     \
    if (!isinf(peak)) return ig_svd_run_##name(&job, j->work);                      \
    memset(j->s, 0xFF, bytes[1]);                                                   \
    if (j->vectors) memset(j->u, 0xFF, bytes[0]);                                   \
    if (j->vectors) memset(j->vh, 0xFF, bytes[2]);                                  \
    return 0;                                                                       \
  }
SVD(f32, float)
SVD(f64, double)
SVD(c64, float)
SVD(c128, double)

static svd_fn *svd_of(ig_dtype d) {
  return d == IG_F32 ? svd_f32 : d == IG_F64 ? svd_f64 : d == IG_C64 ? svd_c64 : svd_c128;
}
static svd_room_fn *room_of(ig_dtype d) {
  return d == IG_F32 ? room_f32 : d == IG_F64 ? room_f64 : d == IG_C64 ? room_c64 : room_c128;
}
static void svd_failed(ig_ctx *c, const ig_tensor *a, int64_t at, int64_t info) {
  char place[48] = "";
  char why[160] = "contained non-finite values";
  if (a->ndim > 2) (void)snprintf(place, sizeof place, "(Batch element %lld): ", (long long)at);
  if (info > 0) {
    (void)snprintf(why, sizeof why,
                   "is ill-conditioned or has too many repeated singular values (error code: %lld)",
                   (long long)info);
  }
  ig_fail_text(c, IG_RUNTIME,
               "linalg.svd: %sThe algorithm failed to converge because the input matrix %s.", place,
               why);
}
static void svd_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  int64_t m = ig_sizes(a)[a->ndim - 2].value;
  int64_t n = ig_sizes(a)[a->ndim - 1].value;
  bool both = args[2].b;
  if (m == 0 || n == 0) {
    for (int i = 0; both && i < 3; i += 2) ig_dense_eye(outs[i].tensor);
    return;
  }
  if (ig_tensor_numel(a) == 0) return;
  int64_t count = ig_tensor_numel(a) / (m * n);
  size_t size = ig_dtype_size(a->dtype);
  size_t bytes[3];  // of one matrix of each result
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = outs[i].tensor;
    bytes[i] = (size_t)(ig_tensor_numel(t) / count) * ig_dtype_size(t->dtype);
  }
  ig_scope scope = ig_scope_open(c);
  svd_job j = {.m = m, .n = n, .vectors = both, .full = args[1].b};
  char *from = ig_dense_columns(c, a);
  j.work = ig_scope_array(c, room_of(a->dtype)(&j), size);
  for (int64_t i = 0; c->status == IG_OK && i < count && ig_step(c); i++) {
    j.a = from + (size_t)(i * m * n) * size;
    j.s = (char *)ig_tensor_data(outs[1].tensor) + (size_t)i * bytes[1];
    j.u = both ? (char *)ig_tensor_data(outs[0].tensor) + (size_t)i * bytes[0] : NULL;
    j.vh = both ? (char *)ig_tensor_data(outs[2].tensor) + (size_t)i * bytes[2] : NULL;
    int64_t info = svd_of(a->dtype)(&j, bytes);
    if (info) svd_failed(c, a, i, info);
  }
  ig_scope_close(c, scope);
}

static ig_tensor *row_of(ig_ctx *c, ig_tensor *s) {
  return ig_unsqueeze(c, s, ig_const(-2));
}
static ig_tensor *column_of(ig_ctx *c, ig_tensor *s) {
  return ig_unsqueeze(c, s, ig_const(-1));
}
static ig_tensor *sum_of(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  return a && b ? ig_add_tensor(c, a, b) : a ? a : b;
}
static ig_tensor *skew(ig_ctx *c, ig_tensor *a) {
  return ig_sub_tensor(c, a, adjoint(c, a));
}
static ig_tensor *first(ig_ctx *c, ig_tensor *t, int64_t dim, ig_int n) {
  return t ? ig_narrow(c, t, ig_const(dim), ig_const(0), n) : NULL;
}
static ig_tensor *on_diagonal(ig_ctx *c, ig_tensor *d) {
  return ig_diag_embed(c, d);
}

// With E_ij = s_j^2 - s_i^2 (1 on the diagonal):
// gA = U (skew(U^H gU) / E S + S skew(V^H gV) / E + gS) V^H, and what lies outside of U and V.
static void svd_vjp(ig_ctx *c, const ig_vjp *v) {
  if (!IG_WANTED(v, 0)) return;
  if (!v->args[2].b) {
    ig_fail_text(c, IG_RUNTIME,
                 "svd_backward: the derivative needs U and Vh: call it with compute_uv=True");
    return;
  }
  ig_tensor *s = v->outs[1].tensor;
  ig_int k = ig_sizes(s)[s->ndim - 1];
  bool full = v->args[1].b;
  ig_tensor *u = full ? first(c, v->outs[0].tensor, -1, k) : v->outs[0].tensor;
  ig_tensor *vh = full ? first(c, v->outs[2].tensor, -2, k) : v->outs[2].tensor;
  ig_tensor *gu = full ? first(c, v->grads[0], -1, k) : v->grads[0];
  ig_tensor *gs = v->grads[1];
  ig_tensor *gv = full ? first(c, v->grads[2], -2, k) : v->grads[2];
  if (!u || !vh) return;
  ig_int m = ig_sizes(u)[u->ndim - 2];
  ig_int n = ig_sizes(vh)[vh->ndim - 1];
  if (!gu && !gv) {
    if (!gs) return;
    bool tall = ig_int_is(c, n, IG_LE, m);
    ig_tensor *scaled =
        tall ? ig_mul_tensor(c, column_of(c, gs), vh) : ig_mul_tensor(c, u, row_of(c, gs));
    IG_GRAD(v, 0) = tall ? ig_matmul(c, u, scaled) : ig_matmul(c, scaled, vh);
    return;
  }
  ig_tensor *s2 = ig_mul_tensor(c, s, s);
  ig_tensor *e = row_of(c, s2);
  e = ig_sub_tensor(c, e, column_of(c, s2));
  ig_tensor *ones = on_diagonal(c, ig_ones_like(c, s));
  e = ig_add_tensor(c, e, ones);
  ig_tensor *uu = gu ? skew(c, ig_matmul(c, adjoint(c, u), gu)) : NULL;
  ig_tensor *vv = gv ? skew(c, ig_matmul(c, vh, adjoint(c, gv))) : NULL;
  ig_tensor *from_u = gu ? ig_div_tensor(c, uu, e) : NULL;
  if (gu) from_u = ig_mul_tensor(c, from_u, row_of(c, s));
  ig_tensor *from_v = gv ? ig_div_tensor(c, vv, e) : NULL;
  if (gv) from_v = ig_mul_tensor(c, from_v, column_of(c, s));
  ig_tensor *g = sum_of(c, from_u, from_v);
  if (gs) g = ig_add_tensor(c, g, on_diagonal(c, gs));
  if (gu && ig_dtype_is_complex(u->dtype)) {
    ig_tensor *d = ig_diagonal_with(c, uu, ig_const(0), ig_const(-2), ig_const(-1));
    d = ig_div_tensor(c, d, ig_mul_f64(c, s, 2));
    g = ig_add_tensor(c, g, on_diagonal(c, d));
  }
  g = ig_matmul(c, u, g);
  if (gu && !ig_int_eq(c, m, k)) {
    ig_tensor *outside = ig_div_tensor(c, gu, row_of(c, s));
    ig_tensor *inside = ig_matmul(c, adjoint(c, u), outside);
    outside = ig_sub_tensor(c, outside, ig_matmul(c, u, inside));
    g = ig_add_tensor(c, g, outside);
  }
  g = ig_matmul(c, g, vh);
  if (gv && !ig_int_eq(c, n, k)) {
    ig_tensor *outside = ig_div_tensor(c, gv, column_of(c, s));
    ig_tensor *inside = ig_matmul(c, outside, adjoint(c, vh));
    outside = ig_sub_tensor(c, outside, ig_matmul(c, inside, vh));
    g = ig_add_tensor(c, g, ig_matmul(c, u, outside));
  }
  IG_GRAD(v, 0) = g;
}

static void linalg_svd(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig__linalg_svd_with(c, a[0].tensor, a[1].b, true, a[2], outs);
}
static ig_tensor *singular_values(ig_ctx *c, ig_tensor *a, ig_value driver) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  bool both = a && ig_tensor_requires_grad(a);
  ig__linalg_svd_with(c, a, false, both, driver, outs);
  return c->status == IG_OK ? outs[1].tensor : NULL;
}
static ig_tensor *svdvals(ig_ctx *c, const ig_value *a) {
  return singular_values(c, a[0].tensor, a[1]);
}
// self, some, compute_uv -> U, S, V
static void svd(ig_ctx *c, const ig_value *a, ig_value *outs) {
  ig_tensor *x = a[0].tensor;
  ig_value all[IG_MAX_RETURNS] = {{0}};
  if (a[2].b) {
    ig_linalg_svd_with(c, x, !a[1].b, ig_none(), all);
    if (c->status != IG_OK) return;
    outs[0] = all[0];
    outs[1] = all[1];
    outs[2] = ig_of_tensor(adjoint(c, all[2].tensor));
    return;
  }
  outs[1] = ig_of_tensor(ig_linalg_svdvals(c, x));
  if (c->status != IG_OK || !outs[1].tensor) return;
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) sizes[d] = ig_sizes(x)[d];
  ig_int k = ig_sizes(outs[1].tensor)[x->ndim - 2];
  ig_value like[] = {ig_of_dtype(x->dtype), ig_none(), ig_of_device(x->device), ig_none()};
  ig_int m = sizes[x->ndim - 2];
  ig_int n = sizes[x->ndim - 1];
  sizes[x->ndim - 1] = a[1].b ? k : m;
  ig_value size = ig_of_ints(sizes, (size_t)x->ndim);
  outs[0] = ig_of_tensor(ig_zeros_with(c, size, like[0], like[1], like[2], like[3]));
  sizes[x->ndim - 2] = n;
  sizes[x->ndim - 1] = a[1].b ? k : n;
  outs[2] = ig_of_tensor(ig_zeros_with(c, size, like[0], like[1], like[2], like[3]));
}

// ---- matrix norms: self, ord, dim, keepdim, dtype ----

// Moves the two dimensions of `dim` to the end; `back` is the inverse permutation.
static ig_tensor *behind(ig_ctx *c, ig_tensor *x, const int *pair, ig_int *back) {
  int place[IG_MAX_DIM];
  ig_int order[IG_MAX_DIM];
  int n = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (d != pair[0] && d != pair[1]) place[n++] = d;
  }
  place[n++] = pair[0];
  place[n++] = pair[1];
  for (int i = 0; i < n; i++) {
    order[i] = ig_const(place[i]);
    back[place[i]] = ig_const(i);
  }
  return ig_permute(c, x, ig_of_ints(order, (size_t)n));
}
static bool pair_of(ig_ctx *c, const ig_tensor *x, const ig_value *dim, int *pair) {
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  } else if (!ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got %s",
                 ig_dtype_title(x->dtype));
  } else if (dim->ints.n != 2) {
    ig_fail_text(c, IG_RUNTIME, "linalg.matrix_norm: dim must be a 2-tuple. Got %s",
                 ig_sizes_text(c, dim->ints.at, dim->ints.n));
  }
  if (c->status != IG_OK) return false;
  for (int i = 0; i < 2; i++) {
    pair[i] = ig_wrap_dim(c, ig_int_specialize(c, dim->ints.at[i]), x->ndim);
  }
  if (c->status == IG_OK && pair[0] == pair[1]) {
    ig_fail_text(c, IG_RUNTIME, "linalg.matrix_norm: dims must be different. Got (%d, %d)", pair[0],
                 pair[1]);
  }
  return c->status == IG_OK;
}
typedef enum matrix_order { FROBENIUS, NUCLEAR, SPECTRAL, BY_SUMS } matrix_order;

static ig_tensor *extreme(ig_ctx *c, ig_tensor *x, int dim, bool keepdim, bool most) {
  ig_int at = ig_const(dim);
  ig_value dims = ig_of_ints(&at, 1);
  return most ? ig_amax_with(c, x, dims, keepdim) : ig_amin_with(c, x, dims, keepdim);
}
static ig_tensor *spectral(ig_ctx *c, const ig_value *a, const int *pair, bool sum, bool most) {
  ig_tensor *x = a[0].tensor;
  bool keepdim = a[3].b;
  ig_int back[IG_MAX_DIM];
  if (a[4].kind == IG_KIND_DTYPE) x = ig_cast(c, x, a[4].dtype);
  int ndim = a[0].tensor->ndim;
  x = x ? behind(c, x, pair, back) : NULL;
  ig_tensor *s = ig_linalg_svdvals(c, x);
  if (!s) return NULL;
  ig_int last = ig_const(-1);
  s = sum ? ig_sum_dim_intlist_with(c, s, ig_of_ints(&last, 1), keepdim, ig_none())
          : extreme(c, s, -1, keepdim, most);
  if (!keepdim) return s;
  s = ig_unsqueeze(c, s, ig_const(-1));
  return ig_permute(c, s, ig_of_ints(back, (size_t)ndim));
}
static ig_tensor *matrix_norm(ig_ctx *c, const ig_value *a, matrix_order order, double ord) {
  int pair[2];
  if (!pair_of(c, a[0].tensor, &a[2], pair)) return NULL;
  if (order == FROBENIUS) {
    return ig_linalg_vector_norm_with(c, a[0].tensor, ig_of_f64(2), a[2], a[3].b, a[4]);
  }
  if (order != BY_SUMS) return spectral(c, a, pair, order == NUCLEAR, ord > 0);
  bool infinite = isinf(ord);
  int over = pair[infinite ? 1 : 0];
  int rest = pair[infinite ? 0 : 1];
  ig_int summed = ig_const(over);
  if (!a[3].b && over < rest) rest--;
  ig_tensor *x = ig_linalg_vector_norm_with(c, a[0].tensor, ig_of_f64(1), ig_of_ints(&summed, 1),
                                            a[3].b, a[4]);
  return extreme(c, x, rest, a[3].b, ord > 0);
}
static ig_tensor *matrix_norm_scalar(ig_ctx *c, const ig_value *a) {
  double ord = ig_value_f64(&a[1]);
  double size = fabs(ord);
  if (size != 1 && size != 2 && !isinf(ord)) {
    ig_fail_text(c, IG_RUNTIME, "linalg.matrix_norm: Order %g not supported.", ord);
    return NULL;
  }
  return matrix_norm(c, a, size == 2 ? SPECTRAL : BY_SUMS, ord);
}
static ig_tensor *matrix_norm_text(ig_ctx *c, const ig_value *a) {
  bool nuclear = strcmp(a[1].str, "nuc") == 0;
  if (nuclear || strcmp(a[1].str, "fro") == 0) {
    return matrix_norm(c, a, nuclear ? NUCLEAR : FROBENIUS, 1);
  }
  ig_fail_text(c, IG_RUNTIME, "linalg.matrix_norm: Order %s not supported.", a[1].str);
  return NULL;
}
static ig_tensor *nuclear_dim(ig_ctx *c, const ig_value *a) {
  return ig_linalg_matrix_norm_str_ord_with(c, a[0].tensor, ig_of_str("nuc"), a[1], a[2].b,
                                            ig_none());
}
static ig_tensor *nuclear(ig_ctx *c, const ig_value *a) {
  ig_int dims[] = {ig_const(0), ig_const(1)};
  if (a[0].tensor->ndim != 2) {
    ig_fail_text(
        c, IG_RUNTIME,
        "Expected a tensor with 2 dimensions, but got a tensor with %d dimensions instead.",
        a[0].tensor->ndim);
    return NULL;
  }
  return ig_linalg_matrix_norm_str_ord_with(c, a[0].tensor, ig_of_str("nuc"), ig_of_ints(dims, 2),
                                            a[1].b, ig_none());
}
// self, ord, dim, keepdim, dtype: of a matrix if an order is given and there are two dimensions
static ig_tensor *linalg_norm(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  ig_int both[] = {ig_const(0), ig_const(1)};
  bool placed = a[2].kind == IG_KIND_INTS;
  bool ordered = a[1].kind != IG_KIND_NONE;
  if (ordered && !placed && x->ndim != 1 && x->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                 "%dD.",
                 x->ndim);
    return NULL;
  }
  if (ordered && (placed ? a[2].ints.n == 2 : x->ndim == 2)) {
    ig_value dims = placed ? a[2] : ig_of_ints(both, 2);
    return ig_linalg_matrix_norm_with(c, x, a[1], dims, a[3].b, a[4]);
  }
  return ig_linalg_vector_norm_with(c, x, ordered ? a[1] : ig_of_f64(2), a[2], a[3].b, a[4]);
}
static ig_tensor *linalg_norm_text(ig_ctx *c, const ig_value *a) {
  ig_int both[] = {ig_const(0), ig_const(1)};
  bool placed = a[2].kind == IG_KIND_INTS;
  if (!placed && a[0].tensor->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                 "%dD.",
                 a[0].tensor->ndim);
    return NULL;
  }
  return ig_linalg_matrix_norm_str_ord_with(c, a[0].tensor, a[1],
                                            placed ? a[2] : ig_of_ints(both, 2), a[3].b, a[4]);
}

// ---- pseudo-inverses and ranks ----

// The matrix that the lower triangle of a Hermitian one stands for.
static ig_tensor *hermitian_of(ig_ctx *c, ig_tensor *a) {
  ig_tensor *low = ig_tril_with(c, a, ig_const(-1));
  ig_tensor *up = adjoint(c, low);
  return ig_add_tensor(c, ig_tril(c, a), up);
}
static double default_tolerance(const ig_tensor *a) {
  double eps = ig_to_real(a->dtype) == IG_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  int64_t m = a->ndim < 2 ? 1 : ig_sizes(a)[a->ndim - 2].value;  // concrete: a tolerance
  int64_t n = a->ndim < 1 ? 1 : ig_sizes(a)[a->ndim - 1].value;  // concrete: a tolerance
  return eps * (double)(m > n ? m : n);
}
static ig_tensor *number_of(ig_ctx *c, const ig_tensor *like, double value) {
  return ig_full_with(c, ig_of_ints(NULL, 0), ig_of_f64(value), ig_of_dtype(IG_F64),
                      (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                      ig_of_device(like->device), ig_none());
}
// Tolerances as given, or 0 and what the dtype and the sizes give.
static void tolerances(ig_ctx *c, const ig_tensor *a, const ig_value *given, ig_tensor **out) {
  out[0] = ig_value_tensor(&given[0]);
  out[1] = ig_value_tensor(&given[1]);
  bool none = !out[0];
  if (!out[0])
    out[0] = number_of(c, a, ig_value_is_number(&given[0]) ? ig_value_f64(&given[0]) : 0);
  if (out[1]) return;
  bool plain = none && !(ig_value_is_number(&given[0]) && ig_value_f64(&given[0]) > 0);
  double rtol = ig_value_is_number(&given[1]) ? ig_value_f64(&given[1])
                : plain                       ? default_tolerance(a)
                                              : 0;
  out[1] = number_of(c, a, rtol);
}
static ig_tensor *threshold_of(ig_ctx *c, ig_tensor *s, ig_tensor *const *tol) {
  ig_tensor *greatest = ig_narrow(c, s, ig_const(-1), ig_const(0), ig_const(1));
  ig_tensor *rtol = ig_unsqueeze(c, tol[1], ig_const(-1));
  rtol = ig_mul_tensor(c, rtol, greatest);
  return ig_maximum(c, ig_unsqueeze(c, tol[0], ig_const(-1)), rtol);
}
static ig_tensor *pinv_decompose(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_tensor *tol[2];
  if (!check_matrix(c, x, "linalg.pinv")) return NULL;
  tolerances(c, x, a + 1, tol);
  if (a[3].b) x = hermitian_of(c, x);
  if (x && ig_int_eq_i64(c, ig_numel_of(c, x), 0)) {
    ig_tensor *t = turned(c, x);
    return t ? ig_zeros_of(c, t) : NULL;
  }
  ig_linalg_svd_with(c, x, false, ig_none(), outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *s = outs[1].tensor;
  ig_tensor *large = ig_gt_tensor(c, s, threshold_of(c, s, tol));
  ig_tensor *inverse = ig_reciprocal(c, s);
  inverse = ig_where_scalarother(c, large, inverse, ig_of_f64(0));
  inverse = ig_cast(c, inverse, a[0].tensor->dtype);
  ig_tensor *left = adjoint(c, outs[2].tensor);
  left = ig_mul_tensor(c, left, row_of(c, inverse));
  return ig_matmul(c, left, adjoint(c, outs[0].tensor));
}
static void pinv_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check_matrix(c, a, "linalg.pinv")) return;
  for (int d = 0; d < a->ndim - 2; d++) ig_meta_push_dim(c, out, ig_sizes(a)[d]);
  ig_meta_push_dim(c, out, ig_sizes(a)[a->ndim - 1]);
  ig_meta_push_dim(c, out, ig_sizes(a)[a->ndim - 2]);
}
static void pinv_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *found = pinv_decompose(c, args);
  if (found) (void)ig_copy_(c, ig_tensor_alias(c, outs[0].tensor), found);
  ig_scope_close(c, scope);
}
// gA = -(P K)^H + K P^H - A P K P^H + P^H P (gP^H - K A), K = gP^H P; and the mirror image of it.
ig_tensor *ig_pinv_gradient(ig_ctx *c, ig_tensor *a, ig_tensor *p, ig_tensor *grad) {
  ig_tensor *ph = adjoint(c, p);
  ig_tensor *gh = adjoint(c, grad);
  ig_tensor *k = NULL;
  ig_tensor *g = NULL;
  if (ig_int_is(c, ig_sizes(a)[a->ndim - 2], IG_LE, ig_sizes(a)[a->ndim - 1])) {
    k = ig_matmul(c, gh, p);
    ig_tensor *kph = ig_matmul(c, k, ph);
    g = ig_neg(c, adjoint(c, ig_matmul(c, p, k)));
    g = ig_add_tensor(c, g, kph);
    g = ig_sub_tensor(c, g, ig_matmul(c, ig_matmul(c, a, p), kph));
    ig_tensor *rest = ig_sub_tensor(c, gh, ig_matmul(c, k, a));
    rest = ig_matmul(c, ig_matmul(c, ph, p), rest);
    g = ig_add_tensor(c, g, rest);
  } else {
    k = ig_matmul(c, p, gh);
    ig_tensor *phk = ig_matmul(c, ph, k);
    g = ig_neg(c, adjoint(c, ig_matmul(c, k, p)));
    ig_tensor *rest = ig_sub_tensor(c, gh, ig_matmul(c, a, k));
    rest = ig_matmul(c, ig_matmul(c, rest, p), ph);
    g = ig_add_tensor(c, g, rest);
    g = ig_add_tensor(c, g, phk);
    rest = ig_matmul(c, ig_matmul(c, phk, p), a);
    g = ig_sub_tensor(c, g, rest);
  }
  return g;
}
static void pinv_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = ig_pinv_gradient(c, v->args[0].tensor, v->out, v->grad);
}
static ig_tensor *pinv_with(ig_ctx *c, ig_tensor *x, const ig_value *given, bool hermitian) {
  ig_tensor *tol[2];
  if (!check_matrix(c, x, "linalg.pinv")) return NULL;
  tolerances(c, x, given, tol);
  return ig_linalg_pinv_atol_rtol_tensor_with(c, x, tol[0], tol[1], hermitian);
}
static ig_tensor *pinv_floats(ig_ctx *c, const ig_value *a) {
  return pinv_with(c, a[0].tensor, a + 1, a[3].b);
}
static ig_tensor *pinv_rcond(ig_ctx *c, const ig_value *a) {
  ig_value given[] = {ig_of_f64(0), a[1]};
  return pinv_with(c, a[0].tensor, given, a[2].b);
}
static ig_tensor *pinverse(ig_ctx *c, const ig_value *a) {
  ig_value given[] = {ig_of_f64(0), a[1]};
  return pinv_with(c, a[0].tensor, given, false);
}

static ig_tensor *rank_with(ig_ctx *c, ig_tensor *x, const ig_value *given, bool hermitian) {
  ig_tensor *tol[2];
  ig_int last = ig_const(-1);
  if (!check_matrix(c, x, "linalg.matrix_rank")) return NULL;
  tolerances(c, x, given, tol);
  if (hermitian) x = hermitian_of(c, x);
  ig_tensor *s = ig_linalg_svdvals(c, x);
  if (!s) return NULL;
  if (ig_int_eq_i64(c, ig_sizes(s)[s->ndim - 1], 0)) {
    ig_tensor *none = ig_sum_dim_intlist(c, s, ig_of_ints(&last, 1));
    return ig_cast(c, none, IG_I64);
  }
  ig_tensor *large = ig_gt_tensor(c, s, threshold_of(c, s, tol));
  return ig_sum_dim_intlist(c, large, ig_of_ints(&last, 1));
}
static ig_tensor *rank_tolerances(ig_ctx *c, const ig_value *a) {
  return rank_with(c, a[0].tensor, a + 1, a[3].b);
}
static ig_tensor *rank_tolerance(ig_ctx *c, const ig_value *a) {
  ig_value given[] = {a[1], ig_of_f64(0)};
  return rank_with(c, a[0].tensor, given, a[2].b);
}

IG_OP(_linalg_svd) = {
    .schema =
        "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
        "driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    .shape = svd_shape,
    .kernel = svd_kernel,
    .vjp = svd_vjp,
    .keep = "result0, result1, result2",
    .samples = "f32[3,2] | f32[2,3,3] | f32[2,4], False | f32[4,2], True | f32[3,3], False, False",
    .waive =
        "gradient: not without U and V; values: U and V are told up to their signs; special: other "
        "texts",
};
IG_OP(linalg_svd) = {
    .schema =
        "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, "
        "Tensor S, Tensor Vh)",
    .autocast = IG_AUTOCAST_F32,
    .decompose_outs = linalg_svd,
    .samples = "f32[3,3] | f32[3,2], False | f32[2,2,4], False",
    .waive =
        "values: U and V are told up to their signs; complex gradient: U and V are told up to "
        "their phases; special: other texts",
};
IG_OP(linalg_svdvals) = {
    .schema = "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = svdvals,
    .samples = "f32[3,2] | f32[2,3,4] | f32[3,3]",
    .waive = "special: other texts",
};
IG_OP(svd) = {
    .schema =
        "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, "
        "Tensor V)",
    .autocast = IG_AUTOCAST_F32,
    .decompose_outs = svd,
    .samples = "f32[3,2] | f32[2,3,3] | f32[3,4], True, False",
    .waive =
        "values: U and V are told up to their signs; complex gradient: U and V are told up to "
        "their phases; special: other texts",
};
IG_OP(linalg_matrix_norm) = {
    .schema =
        "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .decompose = matrix_norm_scalar,
    .samples =
        "f32[3,2], 2 | f32[2,3,5], 1, [0,2], True | f32[3,4], -2, [1,0], True | f32[3,4], -1",
    .waive =
        "refusal: other texts; size 2=0: refused here, PyTorch computes it; size 3=0: refused "
        "here, PyTorch computes it; size 5=0: refused here, PyTorch computes it",
};
IG_OP(linalg_matrix_norm_str_ord) = {
    .schema =
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .decompose = matrix_norm_text,
    .samples = "f32[3,2] | f32[2,3,4], 'nuc', [0,2], True | f32[3,4], 'nuc'",
    .waive = "refusal: other texts",
};
IG_OP(nuclear_norm) = {
    .schema = "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    .decompose = nuclear,
    .samples = "f32[3,2] | f32[3,3], True",
    .waive = "refusal: other texts",
};
IG_OP(nuclear_norm_dim) = {
    .schema = "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    .decompose = nuclear_dim,
    .samples = "f32[3,2], [0,1] | f32[2,3,3], [0,2], True",
    .waive = "refusal: other texts",
};
IG_OP(linalg_norm) = {
    .schema =
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    .decompose = linalg_norm,
    .samples = "f32[3,2] | f32[3,2], 2 | f32[4], 3. | f32[2,3,4], 1, [1] | f32[2,3,4], 1, [0,1]",
    .waive =
        "refusal: other texts; size 2=0: refused here, PyTorch computes it; size 3=0: refused "
        "here, PyTorch computes it",
};
IG_OP(linalg_norm_ord_str) = {
    .schema =
        "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    .decompose = linalg_norm_text,
    .samples = "f32[3,2], 'fro' | f32[2,3,3], 'nuc', [0,2], True",
    .waive = "refusal: other texts",
};
IG_OP(linalg_pinv_atol_rtol_tensor) = {
    .schema =
        "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
        "bool hermitian=False) -> Tensor",
    .shape = pinv_shape,
    .kernel = pinv_kernel,
    .vjp = pinv_vjp,
    .keep = "self, result",
    .samples =
        "f32[3,2] | f32[2,2,3] | f32[3,3], atol=f32[]:u, rtol=f32[]:u | f32[3,3]:spd, "
        "hermitian=True",
    .waive =
        "gradient: of a part of the singular values; second: of a part of the singular values; "
        "special: other texts",
};
IG_OP(linalg_pinv_atol_rtol_float) = {
    .schema =
        "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
        "bool hermitian=False) -> Tensor",
    .decompose = pinv_floats,
    .samples = "f32[3,2] | f32[2,2,3], rtol=1e-6",
    .waive = "special: other texts",
};
IG_OP(linalg_pinv) = {
    .schema = "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    .decompose = pinv_rcond,
    .samples = "f32[3,2], 1e-6 | f32[2,2,3], 1e-6",
    .waive = "special: other texts",
};
IG_OP(linalg_pinv_rcond_tensor) = {
    .schema =
        "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    .decompose = pinv_rcond,
    .samples = "f32[3,2], f32[]:u | f32[2,2,3], f32[2]:u",
    .waive =
        "gradient: of a part of the singular values; second: of a part of the singular values; "
        "special: other texts",
};
IG_OP(pinverse) = {
    .schema = "aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = pinverse,
    .samples = "f32[3,2] | f32[2,2,3], 1e-6",
    .waive = "special: other texts",
};
IG_OP(linalg_matrix_rank_atol_rtol_float) = {
    .schema =
        "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? "
        "rtol=None, bool hermitian=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rank_tolerances,
    .samples = "f32[3,2] | f32[2,3,3], atol=0.5 | f32[3,3]:spd, hermitian=True",
    .not_differentiable = true,  // integers
    .waive = "special: other texts",
};
IG_OP(linalg_matrix_rank_atol_rtol_tensor) = {
    .schema =
        "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
        "rtol=None, bool hermitian=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rank_tolerances,
    .samples = "f32[3,2] | f32[2,3,3], atol=f32{0.5}",
    .not_differentiable = true,  // integers
    .waive = "special: other texts",
};
IG_OP(linalg_matrix_rank) = {
    .schema = "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rank_tolerance,
    .samples = "f32[3,2], 0.5 | f32[2,3,3], 1e-3",
    .not_differentiable = true,  // integers
    .waive = "special: other texts",
};
IG_OP(linalg_matrix_rank_tol_tensor) = {
    .schema =
        "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = rank_tolerance,
    .samples = "f32[3,2], f32{0.5} | f32[2,3,3], f32{0.001}",
    .not_differentiable = true,  // integers
    .waive = "special: other texts",
};
