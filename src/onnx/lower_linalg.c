// SPDX-License-Identifier: Apache-2.0
// Matrix decompositions: ONNX only has determinants, so the steps of the algorithms are unrolled,
// for matrices of a known and moderate size. Leading dimensions are batches and may be dynamic. The
// algorithms follow LAPACK: partial pivoting, and the signs of Householder reflections.
#include <string.h>

#include "onnx/lower.h"
#include "op/formula.h"

enum { MAX_SIZE = 64 };

// Rows and columns, if they are known and not too many.
static bool is_small(const ig_tensor *a, int64_t *rows, int64_t *columns) {
  if (a->ndim < 2) return false;
  ig_int m = ig_sizes(a)[a->ndim - 2];
  ig_int n = ig_sizes(a)[a->ndim - 1];
  if (m.expr || n.expr || m.value > MAX_SIZE || n.value > MAX_SIZE) return false;
  *rows = m.value;
  *columns = n.value;
  return m.value > 0 && n.value > 0;
}

static ig_tensor *part(ig_ctx *c, ig_tensor *t, int dim, int64_t from, int64_t to) {
  return ig_slice_tensor_with(c, t, ig_const(dim), ig_of_i64(from), ig_of_i64(to), ig_const(1));
}

// [n, 1]: 0 1 2 ..
static ig_tensor *row_numbers(ig_ctx *c, int64_t n) {
  return ig_unsqueeze(c, ig_arange(c, ig_of_i64(n)), ig_const(1));
}

// Unit matrices, one per matrix of a, which are [.., n, n] or [.., n, anything].
static ig_tensor *units(ig_ctx *c, ig_tensor *a, int64_t n) {
  ig_tensor *row = row_numbers(c, n);
  ig_tensor *one = ig_eq_tensor(c, row, ig_arange(c, ig_of_i64(n)));
  ig_int sizes[IG_MAX_DIM];
  memcpy(sizes, ig_sizes(a), (size_t)a->ndim * sizeof *sizes);
  sizes[a->ndim - 1] = ig_const(n);
  sizes[a->ndim - 2] = ig_const(n);
  return ig_expand(c, ig_cast(c, one, a->dtype), ig_of_ints(sizes, (size_t)a->ndim));
}

// No matrix failed: a zero for each.
static ig_tensor *no_errors(ig_ctx *c, ig_tensor *a) {
  ig_tensor *t = ig_select_int(c, a, ig_const(-1), ig_const(0));
  t = ig_select_int(c, t, ig_const(-1), ig_const(0));
  return ig_cast(c, ig_zeros_like(c, t), IG_I32);
}

// Gauss-Jordan elimination: [A | 1] becomes [1 | inverse].
bool ig_onnx_lower_inverse(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *a = args[0].tensor;
  int64_t n = 0;
  int64_t columns = 0;
  if (!is_small(a, &n, &columns) || n != columns) return false;
  ig_value both[] = {ig_of_tensor(a), ig_of_tensor(units(c, a, n))};
  ig_tensor *m = ig_cat_with(c, ig_of_list(both, 2), ig_const(-1));
  ig_tensor *row = row_numbers(c, n);
  for (int64_t k = 0; k < n && m; k++) {
    ig_tensor *column = part(c, part(c, m, -1, k, k + 1), -2, k, n);
    ig_tensor *at = ig_argmax_with(c, ig_abs(c, column), ig_of_i64(-2), true);
    at = ig_add_scalar(c, at, ig_of_i64(k));  // [.., 1, 1]
    ig_tensor *mine = part(c, m, -2, k, k + 1);
    if (!mine) m = NULL;  // out of memory: the context says so
    if (!m) break;
    ig_int wide[IG_MAX_DIM];
    memcpy(wide, ig_sizes(mine), (size_t)mine->ndim * sizeof *wide);
    at = ig_expand(c, at, ig_of_ints(wide, (size_t)mine->ndim));
    ig_tensor *best = ig_gather(c, m, ig_const(-2), at);
    ig_tensor *there = ig_eq_tensor(c, row, at);
    m = ig_where_self(c, there, mine, m);
    best = ig_div_tensor(c, best, part(c, best, -1, k, k + 1));
    ig_tensor *times = part(c, m, -1, k, k + 1);
    ig_tensor *rest = ig_sub_tensor(c, m, ig_mul_tensor(c, times, best));
    m = ig_where_self(c, ig_eq_scalar(c, row, ig_of_i64(k)), best, rest);
  }
  outs[0] = ig_of_tensor(m ? part(c, m, -1, n, 2 * n) : NULL);
  outs[1] = ig_of_tensor(no_errors(c, a));
  return true;
}

// self, upper, check_errors: column by column, with updates of the remaining matrix.
bool ig_onnx_lower_cholesky(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *a = args[0].tensor;
  int64_t n = 0;
  int64_t m = 0;
  if (!is_small(a, &n, &m) || n != m) return false;
  ig_value columns[MAX_SIZE];
  ig_tensor *left = a;
  for (int64_t k = 0; k < n; k++) {
    ig_tensor *column = part(c, left, -1, k, k + 1);
    ig_tensor *root = ig_sqrt(c, part(c, column, -2, k, k + 1));
    column = ig_div_tensor(c, column, root);
    columns[k] = ig_of_tensor(column);
    ig_tensor *across = ig_transpose_int(c, column, ig_const(-2), ig_const(-1));
    left = ig_sub_tensor(c, left, ig_mul_tensor(c, column, across));
  }
  ig_tensor *l = ig_tril(c, ig_cat_with(c, ig_of_list(columns, (size_t)n), ig_const(-1)));
  if (args[1].b) l = ig_transpose_int(c, l, ig_const(-2), ig_const(-1));
  outs[0] = ig_of_tensor(l);
  outs[1] = ig_of_tensor(no_errors(c, a));
  return true;
}

// self, upper
bool ig_onnx_lower_old_cholesky(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  ig_value both[2];
  if (!ig_onnx_lower_cholesky(c, opset, args, both)) return false;
  outs[0] = both[0];
  return true;
}

// One reflection: column k of r below the diagonal becomes zero. The last row reflects nothing.
static void reflect(ig_ctx *c, ig_tensor *row, int64_t k, ig_tensor **q, ig_tensor **r) {
  ig_tensor *x = part(c, *r, -1, k, k + 1);
  x = ig_masked_fill_scalar(c, x, ig_lt_scalar(c, row, ig_of_i64(k)), ig_of_i64(0));
  if (!x) return;  // out of memory: the context says so
  ig_tensor *head = part(c, x, -2, k, k + 1);
  ig_int dim = ig_const(-2);
  ig_tensor *square =
      ig_sum_dim_intlist_with(c, ig_mul_tensor(c, x, x), ig_of_ints(&dim, 1), true, ig_none());
  ig_tensor *below = ig_sub_tensor(c, square, ig_mul_tensor(c, head, head));
  ig_tensor *norm = ig_sqrt(c, square);
  ig_tensor *negative = ig_lt_scalar(c, head, ig_of_i64(0));
  ig_tensor *beta = ig_where_self(c, negative, norm, ig_neg(c, norm));
  ig_tensor *diagonal = ig_cast(c, ig_eq_scalar(c, row, ig_of_i64(k)), x->dtype);
  ig_tensor *v = ig_sub_tensor(c, x, ig_mul_tensor(c, diagonal, beta));
  ig_tensor *length =
      ig_sum_dim_intlist_with(c, ig_mul_tensor(c, v, v), ig_of_ints(&dim, 1), true, ig_none());
  ig_tensor *tau = ig_mul_scalar(c, ig_reciprocal(c, length), ig_of_i64(2));
  ig_tensor *nothing = ig_le_scalar(c, below, ig_of_i64(0));
  tau = ig_masked_fill_scalar(c, tau, nothing, ig_of_i64(0));
  ig_tensor *across = ig_transpose_int(c, v, ig_const(-2), ig_const(-1));
  ig_tensor *scaled = ig_mul_tensor(c, v, tau);
  ig_tensor *turned = ig_matmul(c, scaled, ig_matmul(c, across, *r));
  *r = ig_sub_tensor(c, *r, turned);
  if (!*q) return;
  scaled = ig_mul_tensor(c, across, tau);
  turned = ig_matmul(c, ig_matmul(c, *q, v), scaled);
  *q = ig_sub_tensor(c, *q, turned);
}

// A, mode
bool ig_onnx_lower_qr(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *r = args[0].tensor;
  int64_t m = 0;
  int64_t n = 0;
  bool complete = strcmp(args[1].str, "complete") == 0;
  if (!is_small(r, &m, &n) || strcmp(args[1].str, "r") == 0) return false;
  ig_tensor *q = units(c, r, m);
  ig_tensor *row = row_numbers(c, m);
  for (int64_t k = 0; k < m - 1 && k < n; k++) reflect(c, row, k, &q, &r);
  r = ig_triu(c, r);
  if (!complete && n < m) {
    q = part(c, q, -1, 0, n);
    r = part(c, r, -2, 0, n);
  }
  outs[0] = ig_of_tensor(q);
  outs[1] = ig_of_tensor(r);
  return true;
}

// self, B, upper, left, unitriangular: row by row.
bool ig_onnx_lower_solve_triangular(ig_ctx *c, int opset, const ig_value *args, ig_value *outs) {
  (void)opset;
  ig_tensor *a = args[0].tensor;
  ig_tensor *b = args[1].tensor;
  bool upper = args[2].b;
  bool left = args[3].b;
  int64_t n = 0;
  int64_t m = 0;
  if (!is_small(a, &n, &m) || n != m || a->ndim != b->ndim) return false;
  if (!left) {
    a = ig_transpose_int(c, a, ig_const(-2), ig_const(-1));
    b = ig_transpose_int(c, b, ig_const(-2), ig_const(-1));
    upper = !upper;
  }
  ig_tensor *row = row_numbers(c, n);
  ig_tensor *x = ig_zeros_like(c, b);
  for (int64_t i = 0; i < n && x; i++) {
    int64_t k = upper ? n - 1 - i : i;
    ig_tensor *mine = part(c, a, -2, k, k + 1);
    ig_tensor *known = ig_matmul(c, mine, x);
    ig_tensor *value = ig_sub_tensor(c, part(c, b, -2, k, k + 1), known);
    if (!args[4].b) value = ig_div_tensor(c, value, part(c, mine, -1, k, k + 1));
    x = ig_where_self(c, ig_eq_scalar(c, row, ig_of_i64(k)), value, x);
  }
  if (!left) x = ig_transpose_int(c, x, ig_const(-2), ig_const(-1));
  outs[0] = ig_of_tensor(x);
  return true;
}
