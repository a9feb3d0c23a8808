// SPDX-License-Identifier: Apache-2.0
// Products of Householder reflections H_i = 1 - tau_i v_i v_i^H, whose vectors are stored below the
// diagonal of a matrix (v_i has a 1 at i), and the matrix exponential.
#include "base/budget.h"
#include "kernels/linalg/qr.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

static ig_tensor *turned(ig_ctx *c, ig_tensor *t) {
  return ig_transpose_int(c, t, ig_const(-2), ig_const(-1));
}
static ig_tensor *adjoint(ig_ctx *c, ig_tensor *t) {
  return ig_conj_of(c, turned(c, t));
}
static bool check_matrix(ig_ctx *c, const ig_tensor *a, const char *name) {
  ig_dtype d = a->dtype;
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "%s: input must have at least 2 dimensions.", name);
  } else if (d != IG_F32 && d != IG_F64 && !ig_dtype_is_complex(d)) {
    ig_refuse_dtype(c, name, d);
  }
  return c->status == IG_OK;
}
// ---- geqrf ----

static void geqrf_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check_matrix(c, a, "torch.geqrf")) return;
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  for (int d = 0; d < a->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(a)[d]);
  ig_meta_by_columns(c, &out[0]);
  for (int d = 0; d < a->ndim - 2; d++) ig_meta_push_dim(c, &out[1], ig_sizes(a)[d]);
  ig_meta_push_dim(c, &out[1], ig_int_is(c, m, IG_LE, n) ? m : n);
}
static void geqrf_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *t = args[0].tensor;
  int64_t m = ig_matrix_rows(t);
  int64_t n = ig_matrix_order(t);
  int64_t k = m < n ? m : n;
  int64_t count =
      k ? ig_matrix_count(t) : 0;  // of matrices without elements there may be any number
  size_t size = ig_dtype_size(t->dtype);
  ig_scope scope = ig_scope_open(c);
  void *work = ig_scope_array(c, ig_qr_work(m, n), size);
  if (work && count) ig_tensor_copy(outs[0].tensor, t);  // lies by columns
  for (int64_t b = 0; c->status == IG_OK && b < count && ig_step(c); b++) {
    char *a = (char *)ig_tensor_data(outs[0].tensor) + (size_t)(b * m * n) * size;
    char *tau = (char *)ig_tensor_data(outs[1].tensor) + (size_t)(b * k) * size;
    ig_matrix_fns_of(t->dtype)->qr(m, n, a, tau, work);
  }
  ig_scope_close(c, scope);
}

// ---- products with reflections: input, tau [, other, left, transpose] ----

static bool check_tau(ig_ctx *c, const ig_tensor *a, const ig_tensor *tau, const char *name) {
  if (!check_matrix(c, a, name)) return false;
  bool fits = tau->ndim == a->ndim - 1 && tau->dtype == a->dtype;
  for (int d = 0; fits && d < a->ndim - 2; d++) {
    fits = ig_int_eq(c, ig_sizes(a)[d], ig_sizes(tau)[d]);
  }
  fits = fits && !ig_int_is(c, ig_sizes(a)[a->ndim - 1], IG_LT, ig_sizes(tau)[tau->ndim - 1]);
  if (fits || c->status != IG_OK) return c->status == IG_OK;
  ig_fail_text(c, IG_RUNTIME,
               "%s: Expected tau to have the dtype and the batch dimensions of input, and no more "
               "elements than input has columns, but found %s of %s for input %s of %s",
               name, ig_sizes_text(c, ig_sizes(tau), (size_t)tau->ndim), ig_dtype_title(tau->dtype),
               ig_sizes_text(c, ig_sizes(a), (size_t)a->ndim), ig_dtype_title(a->dtype));
  return false;
}
static void product_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (!check_tau(c, a, args[1].tensor, "torch.linalg.householder_product")) return;
  if (ig_int_is(c, ig_sizes(a)[a->ndim - 2], IG_LT, ig_sizes(a)[a->ndim - 1])) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.householder_product: input.shape[-2] must be greater than or equal "
                 "to input.shape[-1]");
    return;
  }
  for (int d = 0; d < a->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(a)[d]);
  ig_meta_by_columns(c, out);
}
static void ormqr_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  const ig_tensor *x = args[2].tensor;
  bool left = args[3].b;
  if (!check_tau(c, a, args[1].tensor, "torch.ormqr")) return;
  const ig_tensor *tau = args[1].tensor;
  bool fits = x->ndim == a->ndim && x->dtype == a->dtype;
  int axis = left ? -2 : -1;
  if (fits && ig_int_is(c, ig_sizes(x)[x->ndim + axis], IG_LT, ig_sizes(tau)[tau->ndim - 1])) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.ormqr: other.shape[%d] must be greater than or equal to tau.shape[-1]",
                 axis);
    return;
  }
  for (int d = 0; fits && d < a->ndim - 2; d++) {
    fits = ig_int_eq(c, ig_sizes(a)[d], ig_sizes(x)[d]);
  }
  fits = fits && ig_int_eq(c, ig_sizes(x)[x->ndim + axis], ig_sizes(a)[a->ndim - 2]);
  if (!fits && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME, "torch.ormqr: other.shape[%d] must be equal to input.shape[-2]",
                 axis);
  }
  if (c->status != IG_OK) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  ig_meta_by_columns(c, out);
}
// Q x, Q^H x, x Q, x Q^H; those from the right through their adjoints, which are from the left.
static void product_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *t = args[0].tensor;
  ig_tensor *out = outs[0].tensor;
  bool given = op->schema.nargs > 2;
  bool left = !given || args[3].b;
  int64_t m = ig_matrix_rows(t);
  int64_t n = ig_matrix_order(t);
  int64_t count = ig_matrix_count(t);
  int64_t k = count ? ig_tensor_numel(args[1].tensor) / count : 0;
  int64_t p = left ? ig_matrix_order(out) : ig_matrix_rows(out);
  size_t size = ig_dtype_size(t->dtype);
  ig_scope scope = ig_scope_open(c);
  const char *a = ig_dense_columns(c, t);
  const char *tau = ig_dense_read(c, args[1].tensor, t->dtype);
  ig_tensor *x = ig_tensor_alias(c, given ? args[2].tensor : out);
  if (!given) ig_dense_eye(out);
  if (!left) x = ig_hermitian(c, x);
  x = x ? ig_dense_by_columns(c, x) : NULL;
  void *work = ig_scope_array(c, ig_qr_work(m, p), size);
  for (int64_t b = 0; c->status == IG_OK && m > 0 && p > 0 && b < count && ig_step(c); b++) {
    ig_reflected q = {.m = m, .k = k, .a = a + (size_t)(b * m * n) * size};
    q.tau = tau + (size_t)(b * k) * size;
    q.adjoint = given && args[4].b == left;
    char *to = (char *)ig_tensor_data(x) + (size_t)(b * m * p) * size;
    ig_matrix_fns_of(t->dtype)->reflect(&q, p, to, work);
  }
  if (!left) x = ig_hermitian(c, x);
  if (x && c->status == IG_OK) (void)ig_copy_(c, ig_tensor_alias(c, out), x);
  ig_scope_close(c, scope);
}

static ig_tensor *slice_of(ig_ctx *c, ig_tensor *t, int64_t dim, int64_t from, ig_value to) {
  return ig_slice_tensor_with(c, t, ig_const(dim), ig_of_i64(from), to, ig_const(1));
}
// Gradients of v_1 .. v_k, tau and x of H x, step by step: y = x - tau v (v^H x) gives
// g_tau = -sum conj(v^H x) (v^H g), g_v = -conj(tau) g x^H v - tau x g^H v, g_x = H^H g.
typedef struct sweep {
  int64_t k;
  bool back;  // Q^H: reverse order, tau conjugated
  ig_tensor *a;
  ig_tensor *tau;
  ig_tensor **vector;  // [.., m, 1]
  ig_tensor **factor;  // [.., 1, 1]
  ig_tensor **before;  // x before the step
  ig_value *g_vector;  // columns of the gradient of a
  ig_value *g_tau;
} sweep;

static void read_reflections(ig_ctx *c, sweep *s) {
  ig_int m = ig_sizes(s->a)[s->a->ndim - 2];
  ig_tensor *eye = ig_eye_m_with(c, m, ig_const(s->k), ig_of_dtype(s->a->dtype), ig_none(),
                                 ig_of_device(s->a->device), ig_none());
  for (int64_t i = 0; i < s->k && c->status == IG_OK; i++) {
    ig_tensor *v = slice_of(c, s->a, -1, i, ig_of_i64(i + 1));
    v = slice_of(c, v, -2, i + 1, ig_none());
    ig_int pad[] = {ig_const(0), ig_const(0), ig_const(i + 1), ig_const(0)};
    v = ig_constant_pad_nd(c, v, ig_of_ints(pad, 4));
    s->vector[i] = ig_add_tensor(c, v, slice_of(c, eye, -1, i, ig_of_i64(i + 1)));
    ig_tensor *f = slice_of(c, s->tau, -1, i, ig_of_i64(i + 1));
    f = ig_unsqueeze(c, f, ig_const(-1));
    s->factor[i] = s->back ? ig_conj_of(c, f) : f;
  }
}
static ig_tensor *apply(ig_ctx *c, ig_tensor *v, ig_tensor *factor, ig_tensor *x) {
  ig_tensor *part = ig_matmul(c, adjoint(c, v), x);
  part = ig_mul_tensor(c, part, factor);
  return ig_sub_tensor(c, x, ig_matmul(c, v, part));
}
static ig_tensor *sweep_back(ig_ctx *c, sweep *s, ig_tensor *x, ig_tensor *g) {
  read_reflections(c, s);
  for (int64_t step = 0; step < s->k && c->status == IG_OK; step++) {
    int64_t i = s->back ? step : s->k - 1 - step;
    s->before[i] = x;
    x = apply(c, s->vector[i], s->factor[i], x);
  }
  ig_int both[] = {ig_const(-2), ig_const(-1)};
  for (int64_t step = s->k - 1; step >= 0 && c->status == IG_OK; step--) {
    int64_t i = s->back ? step : s->k - 1 - step;
    ig_tensor *v = s->vector[i];
    ig_tensor *f = s->factor[i];
    ig_tensor *vx = ig_matmul(c, adjoint(c, v), s->before[i]);
    ig_tensor *vg = ig_matmul(c, adjoint(c, v), g);
    ig_tensor *dots = ig_mul_tensor(c, ig_conj_of(c, vx), vg);
    ig_tensor *gf = ig_sum_dim_intlist(c, dots, ig_of_ints(both, 2));
    gf = ig_neg(c, gf);
    s->g_tau[i] = ig_of_tensor(s->back ? ig_conj_of(c, gf) : gf);
    ig_tensor *one = ig_matmul(c, g, adjoint(c, vx));
    one = ig_mul_tensor(c, one, ig_conj_of(c, f));
    ig_tensor *two = ig_matmul(c, s->before[i], adjoint(c, vg));
    two = ig_mul_tensor(c, two, f);
    ig_tensor *gv = ig_neg(c, ig_add_tensor(c, one, two));
    gv = slice_of(c, gv, -2, i + 1, ig_none());
    ig_int pad[] = {ig_const(0), ig_const(0), ig_const(i + 1), ig_const(0)};
    s->g_vector[i] = ig_of_tensor(ig_constant_pad_nd(c, gv, ig_of_ints(pad, 4)));
    g = apply(c, v, ig_conj_of(c, f), g);
  }
  return g;
}
// Columns of a that are not reflections have no gradient.
static ig_tensor *gather_vectors(ig_ctx *c, const sweep *s) {
  if (c->status != IG_OK) return NULL;
  if (s->k == 0) return ig_zeros_of(c, s->a);
  ig_tensor *g = ig_cat_with(c, ig_of_list(s->g_vector, (size_t)s->k), ig_const(-1));
  if (!g) return NULL;
  ig_int more = ig_int_sub(c, ig_sizes(s->a)[s->a->ndim - 1], ig_const(s->k));
  ig_int pad[] = {ig_const(0), more};
  return ig_int_eq_i64(c, more, 0) ? g : ig_constant_pad_nd(c, g, ig_of_ints(pad, 2));
}
static ig_tensor *gather_tau(ig_ctx *c, const sweep *s) {
  if (c->status != IG_OK) return NULL;
  if (s->k == 0) return ig_zeros_of(c, s->tau);
  return ig_stack_with(c, ig_of_list(s->g_tau, (size_t)s->k), ig_const(-1));
}
static bool sweep_make(ig_ctx *c, const ig_vjp *v, bool back, sweep *s) {
  s->a = v->args[0].tensor;
  s->tau = v->args[1].tensor;
  s->back = back;
  s->k = ig_int_specialize(c, ig_sizes(s->tau)[s->tau->ndim - 1]);
  size_t k = (size_t)s->k + 1;
  s->vector = ig_scope_array(c, ig_mem_mul(3, k), sizeof *s->vector);
  s->g_vector = ig_scope_array(c, ig_mem_mul(2, k), sizeof *s->g_vector);
  if (!s->vector || !s->g_vector) return false;
  s->factor = s->vector + k;
  s->before = s->factor + k;
  s->g_tau = s->g_vector + k;
  return c->status == IG_OK;
}
static void product_vjp(ig_ctx *c, const ig_vjp *v) {
  sweep s;
  if (!sweep_make(c, v, false, &s)) return;
  ig_int m = ig_sizes(s.a)[s.a->ndim - 2];
  ig_int n = ig_sizes(s.a)[s.a->ndim - 1];
  ig_tensor *eye = ig_eye_m_with(c, m, n, ig_of_dtype(s.a->dtype), ig_none(),
                                 ig_of_device(s.a->device), ig_none());
  eye = ig_expand(c, eye, ig_sizes_of(s.a));
  (void)sweep_back(c, &s, eye, v->grad);
  IG_GRAD(v, 0) = gather_vectors(c, &s);
  IG_GRAD(v, 1) = gather_tau(c, &s);
}
static void ormqr_vjp(ig_ctx *c, const ig_vjp *v) {
  sweep s;
  bool left = v->args[3].b;
  if (!sweep_make(c, v, v->args[4].b == left, &s)) return;
  ig_tensor *x = left ? v->args[2].tensor : adjoint(c, v->args[2].tensor);
  ig_tensor *g = left ? v->grad : adjoint(c, v->grad);
  g = sweep_back(c, &s, x, g);
  IG_GRAD(v, 0) = gather_vectors(c, &s);
  IG_GRAD(v, 1) = gather_tau(c, &s);
  IG_GRAD(v, 2) = left ? g : adjoint(c, g);
}
static ig_tensor *orgqr(ig_ctx *c, const ig_value *a) {
  return ig_linalg_householder_product(c, a[0].tensor, a[1].tensor);
}

// ---- the exponential ----

static void exp_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *a = args[0].tensor;
  if (a->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_exp: The input tensor A must have at least 2 dimensions.");
  } else if (!ig_int_eq(c, ig_sizes(a)[a->ndim - 1], ig_sizes(a)[a->ndim - 2])) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_exp: A must be batches of square matrices, but they are %s by %s "
                 "matrices",
                 ig_int_text(c, ig_sizes(a)[a->ndim - 2]),
                 ig_int_text(c, ig_sizes(a)[a->ndim - 1]));
  } else if (!ig_dtype_is_float(a->dtype) && !ig_dtype_is_complex(a->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got %s",
                 ig_dtype_title(a->dtype));
  }
  if (c->status != IG_OK) return;
  for (int d = 0; d < a->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(a)[d]);
}
static void multiply(const ig_cd *x, const ig_cd *y, ig_cd *z, int64_t n) {
  memset(z, 0, (size_t)(n * n) * sizeof *z);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < n; k++) {
      ig_cd f = x[i * n + k];
      for (int64_t j = 0; j < n; j++) z[i * n + j] += f * y[k * n + j];
    }
  }
}
// exp(a) = exp(a / 2^s)^(2^s); Taylor's sum of a small matrix by Horner's rule.
static void exponential(const ig_cd *a, ig_cd *e, ig_cd *t, ig_cd *u, int64_t n) {
  double norm = 0;
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += cabs(a[i * n + j]);
    norm = sum > norm ? sum : norm;
  }
  int halvings = 0;
  for (; norm > 0.25 && halvings < 1100; norm /= 2) halvings++;
  double scale = ldexp(1, -halvings);
  for (int64_t i = 0; i < n * n; i++) t[i] = a[i] * scale;
  for (int64_t i = 0; i < n * n; i++) e[i] = i % (n + 1) == 0;
  for (int order = 14; order > 0; order--) {
    multiply(t, e, u, n);
    for (int64_t i = 0; i < n * n; i++) e[i] = u[i] / order + (i % (n + 1) == 0);
  }
  for (int i = 0; i < halvings; i++) {
    multiply(e, e, u, n);
    memcpy(e, u, (size_t)(n * n) * sizeof *e);
  }
}
static void exp_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  int64_t n = ig_matrix_order(args[0].tensor);
  int64_t count = n ? ig_matrix_count(args[0].tensor) : 0;
  const ig_cd *a = ig_dense_read(c, args[0].tensor, IG_C128);
  ig_cd *e = ig_dense_room(c, (size_t)(count * n * n), IG_C128);
  ig_cd *t = ig_dense_room(c, (size_t)(n * n), IG_C128);
  ig_cd *u = ig_dense_room(c, (size_t)(n * n), IG_C128);
  for (int64_t b = 0; c->status == IG_OK && b < count; b++) {
    exponential(a + b * n * n, e + b * n * n, t, u, n);
  }
  ig_dense_write(c, outs[0].tensor, IG_C128, e);
  ig_scope_close(c, scope);
}
// exp([[A^H, G], [0, A^H]]) has the derivative in its upper right corner.
static ig_tensor *exp_gradient(ig_ctx *c, ig_tensor *a, ig_tensor *g) {
  ig_tensor *h = adjoint(c, a);
  ig_tensor *none = ig_zeros_of(c, a);
  ig_value up[] = {ig_of_tensor(h), ig_of_tensor(g)};
  ig_value low[] = {ig_of_tensor(none), ig_of_tensor(h)};
  if (c->status != IG_OK) return NULL;
  ig_int n = ig_sizes(a)[a->ndim - 1];
  ig_value rows[2];
  rows[0] = ig_of_tensor(ig_cat_with(c, ig_of_list(up, 2), ig_const(-1)));
  rows[1] = ig_of_tensor(ig_cat_with(c, ig_of_list(low, 2), ig_const(-1)));
  if (c->status != IG_OK) return NULL;
  ig_tensor *block = ig_cat_with(c, ig_of_list(rows, 2), ig_const(-2));
  block = ig_linalg_matrix_exp(c, block);
  block = ig_narrow(c, block, ig_const(-2), ig_const(0), n);
  return ig_narrow(c, block, ig_const(-1), n, n);
}
static void exp_vjp(ig_ctx *c, const ig_vjp *v) {
  IG_GRAD(v, 0) = exp_gradient(c, v->args[0].tensor, v->grad);
}
static ig_tensor *matrix_exp(ig_ctx *c, const ig_value *a) {
  return ig_linalg_matrix_exp(c, a[0].tensor);
}
static ig_tensor *matrix_exp_backward(ig_ctx *c, const ig_value *a) {
  return exp_gradient(c, a[0].tensor, a[1].tensor);
}

IG_OP(geqrf) = {
    .schema = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    .autocast = IG_AUTOCAST_F32,
    .shape = geqrf_shape,
    .kernel = geqrf_kernel,
    .samples = "f32[3,2] | f32[2,3,3] | f32[2,4]",
    .vjp = ig_vjp_refuse,
    .keep = "",
    .waive = "special: which elements become NaN depends on LAPACK",
};
IG_OP(linalg_householder_product) = {
    .schema = "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = product_shape,
    .kernel = product_kernel,
    .vjp = product_vjp,
    .keep = "input, tau",
    .samples = "f32[3,2], f32[2] | f32[2,4,3], f32[2,3] | f32[4,3], f32[1]",
    .waive = "special: which elements become NaN depends on LAPACK",
};
IG_OP(orgqr) = {
    .schema = "aten::orgqr(Tensor self, Tensor input2) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = orgqr,
    .samples = "f32[3,2], f32[2] | f32[2,4,3], f32[2,3]",
    .waive = "special: which elements become NaN depends on LAPACK",
};
IG_OP(ormqr) = {
    .schema =
        "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
        "transpose=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .shape = ormqr_shape,
    .kernel = product_kernel,
    .vjp = ormqr_vjp,
    .keep = "self, input2, input3",
    .samples =
        "f32[3,2], f32[2], f32[3,4] | f32[2,3,2], f32[2,2], f32[2,4,3], False | f32[3,2], f32[2], "
        "f32[3,4], True, True | f32[3,2], f32[2], f32[4,3], False, True",
};
IG_OP(linalg_matrix_exp) = {
    .schema = "aten::linalg_matrix_exp(Tensor self) -> Tensor",
    .shape = exp_shape,
    .kernel = exp_kernel,
    .vjp = exp_vjp,
    .keep = "self",
    .samples = "f64[3,3] | c128[2,2,2] | f32[4,4]:spd | f32[2,3,3]",
};
IG_OP(matrix_exp) = {
    .schema = "aten::matrix_exp(Tensor self) -> Tensor",
    .decompose = matrix_exp,
    .samples = "f64[3,3] | c128[2,2,2] | f32[2,2]",
};
IG_OP(matrix_exp_backward) = {
    .schema = "aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor",
    .decompose = matrix_exp_backward,
    .samples = "f64[3,3], f64[3,3] | c128[2,2,2], c128[2,2,2] | f32[2,2], f32[2,2]",
};
