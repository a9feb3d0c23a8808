// SPDX-License-Identifier: Apache-2.0
// L D L^T factors of symmetric and Hermitian matrices, and systems of equations with them.
#include "kernels/linalg/ldl.h"

#include "base/budget.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/linalg/system.h"
#include "tensor/copy.h"

typedef struct ldl_fns {
  int64_t (*factor)(int64_t n, bool hermitian, void *a, int32_t *pivots);
  void (*solve)(int64_t n, bool hermitian, const void *a, const int64_t *pivots, int64_t m,
                void *x);
} ldl_fns;

#define FNS(name)                                                                           \
  static int64_t factor_##name(int64_t n, bool hermitian, void *a, int32_t *pivots) {       \
    return ig_ldl_factor_##name(n, hermitian, a, pivots);                                   \
  }                                                                                         \
  static void solve_##name(int64_t n, bool hermitian, const void *a, const int64_t *pivots, \
                           int64_t m, void *x) {                                            \
    ig_ldl_solve_##name(n, hermitian, a, pivots, m, x);                                     \
  }                                                                                         \
  static const ldl_fns fns_##name = {factor_##name, solve_##name};
FNS(f32)
FNS(f64)
FNS(c64)
FNS(c128)

static const ldl_fns *fns_of(ig_dtype dtype) {
  return dtype == IG_F32   ? &fns_f32
         : dtype == IG_F64 ? &fns_f64
         : dtype == IG_C64 ? &fns_c64
                           : &fns_c128;
}

// ---- self, *, hermitian, check_errors -> LD, pivots, info ----

static void factor_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *a = args[0].tensor;
  const char *name = "torch.linalg.ldl_factor_ex";
  (void)op;
  if (!ig_check_square(c, a, name) || !ig_check_numeric(c, a, name)) return;
  ig_batch_sizes(c, a, 0, &out[0]);
  ig_meta_by_columns(c, &out[0]);
  ig_batch_sizes(c, a, 1, &out[1]);
  ig_batch_sizes(c, a, 2, &out[2]);
  out[1].dtype = out[2].dtype = IG_I32;
}
static void factor_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *a = args[0].tensor;
  int64_t n = ig_matrix_order(a);
  int64_t count = ig_matrix_count(a);
  size_t size = ig_dtype_size(a->dtype);
  int32_t *info = ig_tensor_data(outs[2].tensor);
  ig_scope scope = ig_scope_open(c);
  ig_tensor *lower = ig_tril(c, ig_tensor_alias(c, a));
  if (lower) ig_tensor_copy(outs[0].tensor, lower);  // lies by columns
  for (int64_t b = 0; c->status == IG_OK && b < count && ig_step(c); b++) {
    char *m = (char *)ig_tensor_data(outs[0].tensor) + (size_t)(b * n * n) * size;
    int32_t *pivots = (int32_t *)ig_tensor_data(outs[1].tensor) + b * n;
    info[b] = n ? (int32_t)fns_of(a->dtype)->factor(n, args[1].b, m, pivots) : 0;
    if (info[b] && args[2].b) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.linalg.ldl_factor_ex: D[%d,%d] is zero: the matrix is singular, and "
                   "ldl_solve would divide by zero",
                   (int)info[b], (int)info[b]);
    }
  }
  ig_scope_close(c, scope);
}
static void factor_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_value all[IG_MAX_RETURNS] = {{0}};
  bool check = !c->mode->capture && !c->mode->fake;
  ig_linalg_ldl_factor_ex_with(c, args[0].tensor, args[1].b, check, all);
  for (int i = 0; i < 2; i++) outs[i] = all[i];
}

// ---- LD, pivots, B, *, hermitian ----

static bool pivots_fit(ig_ctx *c, const ig_tensor *ld, const ig_tensor *p) {
  if (!ig_dtype_is_integral(p->dtype)) {
    ig_fail_text(c, IG_RUNTIME, "torch.linalg.ldl_solve: Expected pivots to be integers. Got %s",
                 ig_dtype_title(p->dtype));
    return false;
  }
  bool fits = p->ndim == ld->ndim - 1;
  for (int d = 0; fits && d < p->ndim; d++) fits = ig_int_eq(c, ig_sizes(p)[d], ig_sizes(ld)[d]);
  if (fits || c->status != IG_OK) return fits;
  ig_fail_text(c, IG_RUNTIME,
               "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, "
               "but got pivots with shape %s instead",
               ig_sizes_text(c, ig_sizes(p), (size_t)p->ndim));
  return false;
}
static void solve_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *ld = args[0].tensor;
  const ig_tensor *b = args[2].tensor;
  const char *name = "torch.linalg.ldl_solve";
  (void)op;
  if (!ig_check_square(c, ld, name) || !ig_check_numeric(c, ld, name)) return;
  if (b->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has %d "
                 "dimensions instead",
                 b->ndim);
    return;
  }
  if (!pivots_fit(c, ld, args[1].tensor)) return;
  ig_int rows = ig_sizes(b)[b->ndim - 2];
  ig_int cols = ig_sizes(b)[b->ndim - 1];
  ig_int n = ig_sizes(ld)[ld->ndim - 1];
  if (!ig_int_eq(c, n, rows)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is %s by %s "
                 "but each b matrix is %s by %s",
                 ig_int_text(c, n), ig_int_text(c, n), ig_int_text(c, rows), ig_int_text(c, cols));
    return;
  }
  if (ld->dtype != b->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected b and A to have the same dtype, but found b of type %s and A of type %s "
                 "instead.",
                 ig_dtype_title(b->dtype), ig_dtype_title(ld->dtype));
    return;
  }
  ig_broadcast_sizes(c, out, ig_sizes(ld), ld->ndim - 2);
  ig_broadcast_sizes(c, out, ig_sizes(b), b->ndim - 2);
  ig_meta_push_dim(c, out, rows);
  ig_meta_push_dim(c, out, cols);
  if (c->status == IG_OK) ig_meta_by_columns(c, out);
}
static void solve_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  int64_t n = ig_matrix_order(args[0].tensor);
  int64_t count = ig_matrix_count(out);
  int64_t m = ig_matrix_order(out);
  size_t size = ig_dtype_size(out->dtype);
  bool some = n && m && count;
  ig_scope scope = ig_scope_open(c);
  ig_tensor *ld = some ? ig_read_batch(c, args[0].tensor, out, false) : NULL;
  ig_tensor *b = some ? ig_read_batch(c, args[2].tensor, out, false) : NULL;
  // Pivots as matrices of one column each, which lie one after the other.
  ig_tensor *p = some ? ig_unsqueeze(c, ig_tensor_alias(c, args[1].tensor), ig_const(-1)) : NULL;
  if (p) p = ig_cast(c, p, IG_I64);
  if (p) p = ig_read_batch(c, p, out, false);
  for (int64_t k = 0; c->status == IG_OK && some && k < count && ig_step(c); k++) {
    const int64_t *pivots = (const int64_t *)ig_tensor_data(p) + k * n;
    if (!ig_ldl_pivots_fit(n, pivots)) {
      ig_fail_text(c, IG_RUNTIME,
                   "torch.linalg.ldl_solve: pivots are not those of ldl_factor: rows from 1 to "
                   "%lld, or the same negative one twice",
                   (long long)n);
      break;
    }
    const char *a = (const char *)ig_tensor_data(ld) + (size_t)(k * n * n) * size;
    char *x = (char *)ig_tensor_data(b) + (size_t)(k * n * m) * size;
    fns_of(out->dtype)->solve(n, args[3].b, a, pivots, m, x);
  }
  if (b && c->status == IG_OK) ig_tensor_copy(out, b);
  ig_scope_close(c, scope);
}

#define SYMMETRIC \
  "f32[3,3]:spd | f32[2,3,3]:spd | f64[4,4] | f64[4,4].T | c128[3,3] | c128[3,3], hermitian=True"

IG_OP(linalg_ldl_factor_ex) = {
    .schema =
        "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool "
        "check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    .shape = factor_shape,
    .kernel = factor_kernel,
    .samples = SYMMETRIC,
};
IG_OP(linalg_ldl_factor) = {
    .schema =
        "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor "
        "pivots)",
    .decompose_outs = factor_decompose,
    .samples = SYMMETRIC,
    .waive = "gradient: PyTorch has none",
};
IG_OP(linalg_ldl_solve) = {
    .schema =
        "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> "
        "Tensor",
    .shape = solve_shape,
    .kernel = solve_kernel,
    .samples =
        "f32[3,3]:spd, i32{1,2,3}, f32[3,2] | f32[3,3], i32{3,2,3}, f32[2,3,2] | "
        "f64[3,3], i64{-2,-2,3}, f64[3,2] | c128[3,3], i32{1,-3,-3}, c128[3,2] | "
        "c128[3,3], i32{1,-3,-3}, c128[3,2], hermitian=True",
};
