// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/system.h"

#include "kernels/linalg/lu.h"
#include "kernels/linalg/qr.h"
#include "op/refuse.h"

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
int64_t ig_matrix_rows(const ig_tensor *a) {
  return ig_sizes(a)[a->ndim - 2].value;  // concrete: real sizes
}
int64_t ig_matrix_order(const ig_tensor *a) {
  return ig_sizes(a)[a->ndim - 1].value;  // concrete: real sizes
}
int64_t ig_matrix_count(const ig_tensor *a) {
  int64_t n = 1;
  for (int d = 0; d < a->ndim - 2; d++) n *= ig_sizes(a)[d].value;  // concrete: real sizes
  return n;
}

ig_tensor *ig_hermitian(ig_ctx *c, ig_tensor *x) {
  return ig_conj_of(c, ig_transpose_int(c, x, ig_const(-2), ig_const(-1)));
}
ig_tensor *ig_read_batch(ig_ctx *c, ig_tensor *t, const ig_tensor *out, bool turned) {
  ig_int sizes[IG_MAX_DIM];
  int n = out->ndim;
  for (int d = 0; d < n - 2; d++) sizes[d] = ig_sizes(out)[d];
  sizes[n - 2] = ig_sizes(t)[t->ndim - 2];
  sizes[n - 1] = ig_sizes(t)[t->ndim - 1];
  ig_tensor *wide = ig_expand(c, ig_tensor_alias(c, t), ig_of_ints(sizes, (size_t)n));
  if (turned) wide = ig_transpose_int(c, wide, ig_const(-2), ig_const(-1));
  return wide ? ig_dense_by_columns(c, wide) : NULL;
}

ig_cd ig_number_at(const void *data, ig_dtype dtype, int64_t i) {
  switch (dtype) {
    case IG_F32:
      return ((const float *)data)[i];
    case IG_F64:
      return ((const double *)data)[i];
    case IG_C64:
      return ((const ig_cf *)data)[i];
    default:
      return ((const ig_cd *)data)[i];
  }
}

#define FNS(name)                                                                                  \
  static int64_t lu_##name(int64_t m, int64_t n, void *a, int32_t *swaps, void *work) {            \
    return ig_lu_factor_##name(m, n, a, m, swaps, work);                                           \
  }                                                                                                \
  static void lu_solve_##name(int64_t n, const void *lu, const int32_t *swaps, bool turned,        \
                              int64_t m, void *x, void *work) {                                    \
    ig_lu_solve_##name(n, lu, swaps, turned, m, x, work);                                          \
  }                                                                                                \
  static void triangle_##name(int64_t n, const void *a, bool upper, bool unit, int64_t m, void *x, \
                              void *work) {                                                        \
    ig_triangle_##name t = {n, a, 1, n, upper, unit};                                              \
    ig_triangle_solve_##name(&t, m, x, n, work);                                                   \
  }                                                                                                \
  static int64_t cholesky_##name(int64_t n, void *a, void *work) {                                 \
    return ig_cholesky_factor_##name(n, a, n, work);                                               \
  }                                                                                                \
  static void qr_##name(int64_t m, int64_t n, void *a, void *tau, void *work) {                    \
    ig_qr_factor_##name(m, n, a, m, tau, work);                                                    \
  }                                                                                                \
  static void reflect_##name(const ig_reflected *r, int64_t n, void *c, void *work) {              \
    ig_reflections_##name q = {r->m, r->k, r->a, r->m, r->tau};                                    \
    ig_qr_apply_##name(&q, r->adjoint, n, c, r->m, work);                                          \
  }                                                                                                \
  static const ig_matrix_fns fns_##name = {lu_##name,       lu_solve_##name, triangle_##name,      \
                                           cholesky_##name, qr_##name,       reflect_##name};
FNS(f32)
FNS(f64)
FNS(c64)
FNS(c128)

const ig_matrix_fns *ig_matrix_fns_of(ig_dtype dtype) {
  return dtype == IG_F32   ? &fns_f32
         : dtype == IG_F64 ? &fns_f64
         : dtype == IG_C64 ? &fns_c64
                           : &fns_c128;
}
