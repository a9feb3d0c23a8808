// SPDX-License-Identifier: Apache-2.0
// Indices of the triangles of a matrix.
#include <math.h>

#include "op/formula.h"
#include "op/shape.h"
#include "ops/dense.h"

static int64_t triangle(int64_t rows, int64_t cols, int64_t offset, bool upper, int64_t *at) {
  int64_t n = 0;
  // Beyond the corners nothing changes any more.
  offset = offset > cols ? cols : offset < -rows ? -rows : offset;
  // Rows without elements are skipped; all others fit, since the elements were counted.
  int64_t first = upper || offset >= 0 ? 0 : -offset;
  int64_t last = upper && offset < cols && cols - offset < rows ? cols - offset : rows;
  for (int64_t i = first; i < last; i++) {
    int64_t edge = i + offset + (upper ? 0 : 1);
    edge = edge < 0 ? 0 : edge > cols ? cols : edge;
    int64_t from = upper ? edge : 0;
    int64_t to = upper ? cols : edge;
    for (int64_t j = from; at && j < to; j++) {
      at[2 * (n + j - from)] = i;
      at[2 * (n + j - from) + 1] = j;
    }
    n += to - from;
  }
  return n;
}
// Their number, in closed form; saturates.
static double count_of(double rows, double cols, double offset, bool upper) {
  if (upper) return rows * cols - count_of(rows, cols, offset - 1, false);
  double first = offset > 0 ? fmin(cols, 1 + offset) : rows + offset > 0;
  double last = fmax(0, fmin(cols, rows + offset));
  double all = fmax(0, fmin(rows, rows + offset));
  double slope = last - first + 1;
  double size = (first + last) * slope / 2;
  return all > slope ? size + (all - slope) * cols : size;
}
static void triangle_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  int64_t rows = ig_value_i64(c, &args[0]);
  int64_t cols = ig_value_i64(c, &args[1]);
  if (rows < 0 || cols < 0) {
    ig_fail_text(c, IG_RUNTIME, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
                 (long long)(rows < 0 ? rows : cols));
    return;
  }
  ig_meta_options(c, args, 3, IG_I64, out);
  ig_meta_push_dim(c, out, ig_const(2));
  double n =
      count_of((double)rows, (double)cols, (double)ig_value_i64(c, &args[2]), op->def->variant);
  if (n > 1e12) {
    ig_fail_text(c, IG_RUNTIME, "a triangle of %lld by %lld has too many elements", (long long)rows,
                 (long long)cols);
    return;
  }
  ig_meta_push_dim(c, out, ig_const(rows && cols && n > 0 ? (int64_t)n : 0));
}
static void triangle_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  int64_t n = ig_sizes(outs[0].tensor)[1].value;  // concrete: real sizes
  ig_scope s = ig_scope_open(c);
  int64_t *pairs = ig_dense_room(c, (size_t)(2 * n), IG_I64);
  int64_t *out = ig_dense_room(c, (size_t)(2 * n), IG_I64);
  if (pairs && out && n) {
    (void)triangle(ig_value_i64(c, &args[0]), ig_value_i64(c, &args[1]), ig_value_i64(c, &args[2]),
                   op->def->variant, pairs);
    for (int64_t i = 0; i < n; i++) {
      out[i] = pairs[2 * i];
      out[n + i] = pairs[2 * i + 1];
    }
  }
  ig_dense_write(c, outs[0].tensor, IG_I64, out);
  ig_scope_close(c, s);
}
IG_OP(tril_indices) = {
    .schema =
        "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .variant = 0,
    .samples = "3, 4 | 3, 3, -1",
    .not_differentiable = true,  // no operands
};
IG_OP(triu_indices) = {
    .schema =
        "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .shape = triangle_shape,
    .kernel = triangle_kernel,
    .variant = 1,
    .samples = "3, 4 | 3, 3, 1",
    .not_differentiable = true,  // no operands
};
