// SPDX-License-Identifier: Apache-2.0
// Operators of linear algebra that are composed of others: products of vectors, Vandermonde
// matrices, condition numbers, inverses and systems of tensors that stand for matrices.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/refuse.h"
#include "ops/linalg/system.h"

// x, y, *, dim
static ig_tensor *vecdot(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  ig_tensor *y = a[1].tensor;
  if (!ig_dtype_is_float(x->dtype) && !ig_dtype_is_complex(x->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.vecdot: Expected a floating point or complex tensor as input. Got %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  if (x->dtype != y->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.vecdot: Expected x and y to have the same dtype, but found x of type %s "
                 "and y of type %s instead",
                 ig_dtype_title(x->dtype), ig_dtype_title(y->dtype));
    return NULL;
  }
  if (x->ndim == 1 && y->ndim == 1) return ig_vdot(c, x, y);
  ig_int dim = a[2].i;
  x = ig_conj_of(c, x);
  return ig_sum_dim_intlist(c, ig_mul_tensor(c, x, y), ig_of_ints(&dim, 1));
}

// x, *, N: powers 0 to N - 1 of the elements, in rows
static ig_tensor *vander(ig_ctx *c, const ig_value *a) {
  ig_tensor *x = a[0].tensor;
  ig_dtype d = x->dtype;
  if (d == IG_BOOL || d == IG_F16 || d == IG_BF16) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.vander supports floating point, complex, and integer tensors, but got %s",
                 ig_dtype_title(d));
    return NULL;
  }
  ig_int one = ig_const(1);
  if (x->ndim == 0) x = ig_unsqueeze(c, x, ig_const(-1));
  if (!x) return NULL;
  ig_int n = a[1].kind == IG_KIND_INT ? a[1].i : ig_sizes(x)[x->ndim - 1];
  if (ig_int_is(c, n, IG_LE, one)) {
    ig_fail_text(c, IG_RUNTIME, "N must be greater than 1.");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  size_t k = (size_t)x->ndim;
  if (k == IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "linalg.vander: more than %d dimensions", IG_MAX_DIM - 1);
    return NULL;
  }
  for (size_t i = 0; i < k; i++) sizes[i] = ig_sizes(x)[i];
  sizes[k] = ig_size_sub(c, n, one);
  ig_tensor *powers = ig_unsqueeze(c, x, ig_const(-1));
  powers = ig_expand(c, powers, ig_of_ints(sizes, k + 1));
  powers = ig_cumprod(c, powers, ig_const(-1));
  sizes[k] = one;
  ig_tensor *ones = ig_new_ones(c, powers, ig_of_ints(sizes, k + 1));
  ig_value both[] = {ig_of_tensor(ones), ig_of_tensor(powers)};
  return ones && powers ? ig_cat_with(c, ig_of_list(both, 2), ig_const(-1)) : NULL;
}

// ---- condition numbers ----

static ig_tensor *end_of(ig_ctx *c, ig_tensor *s, bool first) {
  ig_int n = ig_sizes(s)[s->ndim - 1];
  ig_int from = first ? ig_const(0) : ig_int_sub(c, n, ig_const(1));
  return ig_narrow(c, s, ig_const(-1), from, ig_const(1));
}
static ig_tensor *zeros_per_matrix(ig_ctx *c, const ig_tensor *a) {
  ig_value sizes = ig_of_ints(ig_sizes(a), (size_t)a->ndim - 2);
  return ig_zeros_with(c, sizes, ig_of_dtype(ig_to_real(a->dtype)), ig_none(),
                       ig_of_device(a->device), ig_none());
}
static bool has_matrices(ig_ctx *c, const ig_tensor *a) {
  if (a->ndim >= 2) return true;
  ig_fail_text(c, IG_RUNTIME, "linalg.cond: The input tensor must have at least 2 dimensions.");
  return false;
}
// The quotient of the largest and the smallest singular value, or its inverse.
static ig_tensor *cond_of_ends(ig_ctx *c, ig_tensor *a, bool inverse) {
  ig_tensor *s = ig_linalg_svdvals(c, a);
  if (!s) return NULL;
  ig_tensor *most = end_of(c, s, true);
  ig_tensor *least = end_of(c, s, false);
  ig_tensor *q = inverse ? ig_div_tensor(c, least, most) : ig_div_tensor(c, most, least);
  return ig_squeeze_dim(c, q, ig_const(-1));
}
// The norm of the matrix times the norm of its inverse, of which a singular one has infinities.
static ig_tensor *cond_of_norms(ig_ctx *c, ig_tensor *a, const char *name, const ig_value *order) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_int dims[] = {ig_const(-2), ig_const(-1)};
  ig_value both = ig_of_ints(dims, 2);
  if (!ig_check_square(c, a, name)) return NULL;
  ig_linalg_inv_ex_with(c, a, false, outs);
  if (c->status != IG_OK) return NULL;
  ig_tensor *info = ig_unsqueeze(c, outs[1].tensor, ig_const(-1));
  info = ig_unsqueeze(c, info, ig_const(-1));
  info = ig_gt_scalar(c, info, ig_of_i64(0));
  ig_tensor *inverse = ig_masked_fill_scalar(c, outs[0].tensor, info, ig_of_f64(INFINITY));
  bool text = order->kind == IG_KIND_STR;
  ig_tensor *norm[] = {a, inverse};
  for (int i = 0; i < 2; i++) {
    norm[i] = text ? ig_linalg_matrix_norm_str_ord_with(c, norm[i], *order, both, false, ig_none())
                   : ig_linalg_matrix_norm_with(c, norm[i], *order, both, false, ig_none());
  }
  ig_value inf = ig_of_f64(INFINITY);
  ig_tensor *product = ig_mul_tensor(c, norm[0], norm[1]);
  return ig_nan_to_num_with(c, product, inf, inf, ig_of_f64(-INFINITY));  // 0 times infinity
}
// self, p
static ig_tensor *cond(ig_ctx *c, const ig_value *v) {
  ig_tensor *a = v[0].tensor;
  if (!has_matrices(c, a)) return NULL;
  double p = v[1].kind == IG_KIND_NONE ? 2 : ig_value_f64(&v[1]);
  double size = fabs(p);
  if (size != 1 && size != 2 && !isinf(p)) {
    ig_fail_text(c, IG_RUNTIME, "linalg.cond got an invalid norm type: %g", p);
    return NULL;
  }
  if (ig_int_eq_i64(c, ig_numel_of(c, a), 0)) return zeros_per_matrix(c, a);
  if (size == 2) return cond_of_ends(c, a, p < 0);
  char name[48];
  (void)snprintf(name, sizeof name, "linalg.cond(ord=%g)", p);
  return cond_of_norms(c, a, name, &v[1]);
}
// The sum of the singular values times the sum of their reciprocals.
static ig_tensor *cond_nuclear(ig_ctx *c, ig_tensor *a) {
  ig_int last = ig_const(-1);
  ig_tensor *s = ig_linalg_svdvals(c, a);
  ig_tensor *sum = ig_sum_dim_intlist(c, s, ig_of_ints(&last, 1));
  ig_tensor *inverse = ig_reciprocal(c, s);
  return ig_mul_tensor(c, sum, ig_sum_dim_intlist(c, inverse, ig_of_ints(&last, 1)));
}
static ig_tensor *cond_text(ig_ctx *c, const ig_value *v) {
  ig_tensor *a = v[0].tensor;
  bool nuclear = strcmp(v[1].str, "nuc") == 0;
  if (!has_matrices(c, a)) return NULL;
  if (!nuclear && strcmp(v[1].str, "fro") != 0) {
    ig_fail_text(c, IG_RUNTIME, "linalg.cond got an invalid norm type: %s", v[1].str);
    return NULL;
  }
  if (ig_int_eq_i64(c, ig_numel_of(c, a), 0)) return zeros_per_matrix(c, a);
  return nuclear ? cond_nuclear(c, a) : cond_of_norms(c, a, "linalg.cond(ord=fro)", &v[1]);
}

// ---- tensors that stand for square matrices ----

static bool is_square(ig_ctx *c, ig_int rows, ig_int cols, const char *at) {
  if (ig_int_eq(c, rows, cols)) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Expected self to satisfy the requirement prod(self.shape[%s:]) == "
               "prod(self.shape[:%s]), but got %s != %s",
               at, at, ig_int_text(c, cols), ig_int_text(c, rows));
  return false;
}
// self, ind: the first `ind` dimensions are the rows
static ig_tensor *tensorinv(ig_ctx *c, const ig_value *v) {
  ig_tensor *a = v[0].tensor;
  int64_t ind = ig_int_specialize(c, v[1].i);
  if (c->status == IG_OK && ind <= 0) {
    ig_fail_text(c, IG_RUNTIME, "Expected a strictly positive integer for 'ind', but got %lld",
                 (long long)ind);
  }
  if (c->status == IG_OK && ind > a->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected 'ind' to be at most %d, the dimensions of self, but got %lld", a->ndim,
                 (long long)ind);
  }
  if (c->status != IG_OK) return NULL;
  size_t n = (size_t)a->ndim;
  size_t k = (size_t)ind;
  ig_int pair[] = {ig_product(c, ig_sizes(a), k), ig_product(c, ig_sizes(a) + k, n - k)};
  if (!is_square(c, pair[0], pair[1], "ind")) return NULL;
  ig_int back[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) back[i] = ig_sizes(a)[(i + k) % n];
  ig_tensor *m = ig_linalg_inv(c, ig_reshape(c, a, ig_of_ints(pair, 2)));
  return ig_reshape(c, m, ig_of_ints(back, n));
}
// The dimensions of `dims` moved behind the others, in their order.
static ig_tensor *moved_behind(ig_ctx *c, ig_tensor *a, const ig_value *dims) {
  ig_int to[IG_MAX_DIM];
  size_t n = dims->ints.n;
  if (n > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "linalg.tensorsolve: more dims than the tensor has");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) to[i] = ig_const((int64_t)i - (int64_t)n);
  return ig_movedim_intlist(c, a, *dims, ig_of_ints(to, n));
}
// self, other, dims
static ig_tensor *tensorsolve(ig_ctx *c, const ig_value *v) {
  ig_tensor *a = v[0].tensor;
  ig_tensor *b = v[1].tensor;
  if (v[2].kind == IG_KIND_INTS) a = moved_behind(c, a, &v[2]);
  if (a && b->ndim > a->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.tensorsolve: other has %d dimensions, more than self, which has %d",
                 b->ndim, a->ndim);
  }
  if (!a || c->status != IG_OK) return NULL;
  size_t n = (size_t)a->ndim;
  size_t k = (size_t)b->ndim;
  ig_int pair[] = {ig_product(c, ig_sizes(a), k), ig_product(c, ig_sizes(a) + k, n - k)};
  if (!is_square(c, pair[0], pair[1], "other.ndim")) return NULL;
  ig_int sizes[IG_MAX_DIM];
  for (size_t i = 0; i < n - k; i++) sizes[i] = ig_sizes(a)[k + i];
  a = ig_reshape(c, a, ig_of_ints(pair, 2));
  b = ig_reshape(c, b, ig_of_ints(pair, 1));
  return ig_reshape(c, ig_linalg_solve(c, a, b), ig_of_ints(sizes, n - k));
}

IG_OP(linalg_vecdot) = {
    .schema = "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    .decompose = vecdot,
    .samples = "f32[2,3], f32[2,3] | f32[3], f32[3] | f32[2,3], f32[3], dim=0 | c64[2,3], c64[2,3]",
};
IG_OP(linalg_vander) = {
    .schema = "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
    .decompose = vander,
    .samples = "f32[3] | f32[2,3], N=4 | i64[3], N=2",
};
#define MATRICES "f32[3,3]:spd | f32[2,3,3]:spd"
IG_OP(linalg_cond) = {
    .schema = "aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cond,
    .samples = MATRICES " | f32[2,3] | f32[3,3], -2 | f32[2,3,3], 1 | f32[3,3], -1",
    .waive = "size 2=0: zeros without a history, as in PyTorch; size 3=0: the same",
};
IG_OP(linalg_cond_p_str) = {
    .schema = "aten::linalg_cond.p_str(Tensor self, str p) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cond_text,
    .samples = "f32[3,3]:spd, 'fro' | f32[2,3,3]:spd, 'nuc' | f32[2,3,3], 'fro'",
    .waive = "size 2=0: zeros without a history, as in PyTorch; size 3=0: the same",
};
IG_OP(linalg_tensorinv) = {
    .schema = "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = tensorinv,
    .samples = "f32[2,3,6]:spd | f32[4,2,2], 1 | f32[2,2,4]",
};
IG_OP(linalg_tensorsolve) = {
    .schema = "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = tensorsolve,
    .samples = "f32[2,3,6], f32[2,3] | f32[4,2,2], f32[4] | f32[2,4,2], f32[4], dims=[0]",
};
