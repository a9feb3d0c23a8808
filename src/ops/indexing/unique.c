// SPDX-License-Identifier: Apache-2.0
// Distinct elements and rows.
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"

// What PyTorch says where the sizes of a result stand in the data and no symbol stands for them.
// Runs of equal rows: x is [n, width] bytes; `order` tells where row i came from (NULL: i).
static int64_t runs(const char *x, int64_t n, size_t width, const int64_t *order, int64_t *inverse,
                    int64_t *counts) {
  int64_t k = -1;
  for (int64_t i = 0; i < n; i++) {
    bool same = i > 0 && memcmp(x + (size_t)i * width, x + (size_t)(i - 1) * width, width) == 0;
    if (!same) counts[++k] = 0;
    inverse[order ? order[i] : i] = k;
    counts[k]++;
  }
  return k + 1;
}
// The rows that are compared come first.
static ig_tensor *rows_of(ig_ctx *c, ig_tensor *x, bool whole, int dim) {
  ig_tensor *rows =
      whole ? ig_flatten_using_ints(c, x) : ig_movedim_int(c, x, ig_const(dim), ig_const(0));
  return ig_contiguous(c, rows);
}
// The first row of every run, where the rows went, how long the runs are: of rows all, as PyTorch.
static void unique_runs(ig_ctx *c, ig_tensor *x, ig_tensor *rows, const int64_t *order, bool whole,
                        int dim, bool want_inverse, bool want_counts, ig_value *outs) {
  if (!rows || c->status != IG_OK) return;
  want_inverse = want_inverse || !whole;
  want_counts = want_counts || !whole;
  const int64_t zero = 0;
  int64_t n = rows->ndim ? ig_sizes(rows)[0].value : 1;
  size_t width = n ? (size_t)(ig_tensor_numel(rows) / n) * ig_dtype_size(rows->dtype) : 0;
  ig_tensor *inverse = ig_tensor_empty(c, IG_I64, &n, 1);
  int64_t *counts = ig_scope_array(c, (size_t)n, sizeof *counts);
  if (!inverse || !counts) return;
  int64_t k = runs(ig_tensor_data(rows), n, width, order, ig_tensor_data(inverse), counts);
  ig_tensor *sizes = ig_tensor_empty(c, IG_I64, want_counts ? &k : &zero, 1);
  ig_tensor *index = ig_tensor_empty(c, IG_I64, &k, 1);
  if (!sizes || !index) return;
  for (int64_t i = 0, from = 0; i < k; from += counts[i++]) {
    ((int64_t *)ig_tensor_data(index))[i] = from;
    if (want_counts) ((int64_t *)ig_tensor_data(sizes))[i] = counts[i];
  }
  ig_tensor *kept = ig_index_select(c, rows, ig_const(0), index);
  if (!whole) kept = ig_movedim_int(c, kept, ig_const(0), ig_const(dim));
  ig_tensor *none = ig_tensor_empty(c, IG_I64, &zero, 1);
  if (whole && want_inverse) inverse = ig_view(c, inverse, ig_sizes_of(x));
  outs[0] = ig_of_tensor(kept);
  outs[1] = ig_of_tensor(want_inverse ? inverse : none);
  outs[2] = ig_of_tensor(sizes);
}
static void unique_consecutive_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                      ig_value *outs) {
  (void)op;
  ig_tensor *x = args[0].tensor;
  bool whole = args[3].kind == IG_KIND_NONE;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[3]), x->ndim);
  if (c->status != IG_OK) return;
  ig_tensor *rows = rows_of(c, x, whole, dim);
  unique_runs(c, x, rows, NULL, whole, dim, args[1].b, args[2].b, outs);
}

// The order of rows [n, width] by their elements, the first before the others: stable sorts from
// the last column on.
static ig_tensor *order_of(ig_ctx *c, ig_tensor *rows) {
  ig_int flat[] = {ig_sizes(rows)[0], ig_const(-1)};
  ig_tensor *table = ig_view(c, rows, ig_of_ints(flat, 2));
  ig_tensor *order = NULL;
  if (!table) return NULL;
  for (int64_t k = ig_sizes(table)[1].value - 1; k >= 0 && c->status == IG_OK; k--) {
    ig_value sorted[IG_MAX_RETURNS] = {{0}};
    ig_tensor *key = ig_select_int(c, table, ig_const(1), ig_const(k));
    if (order) key = ig_index_select(c, key, ig_const(0), order);
    ig_sort_stable_with(c, key, ig_of_bool(true), ig_const(0), false, sorted);
    ig_tensor *step = ig_value_tensor(&sorted[1]);
    order = order ? ig_index_select(c, order, ig_const(0), step) : step;
  }
  return ig_contiguous(c, order);
}
static void unique_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *x = args[0].tensor;
  bool whole = !op->def->variant;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  const ig_value *want = args + (whole ? 2 : 3);
  if (ig_dtype_is_complex(x->dtype)) ig_refuse_dtype(c, "unique", x->dtype);
  ig_tensor *rows = c->status == IG_OK ? rows_of(c, x, whole, dim) : NULL;
  if (!rows) return;
  if (ig_tensor_numel(x) == 0 && !whole) {
    ig_fail_text(c, IG_RUNTIME,
                 "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
                 "applied");
    return;
  }
  if (ig_tensor_numel(x) == 0 || rows->ndim == 0) {
    unique_runs(c, x, rows, NULL, whole, dim, want[0].b, want[1].b, outs);
    return;
  }
  ig_tensor *order = order_of(c, rows);
  // Bytes are compared: the two zeros become one.
  rows = order ? ig_add_value(c, ig_index_select(c, rows, ig_const(0), order),
                              &(ig_value){.kind = IG_KIND_INT})
               : NULL;
  rows = rows ? ig_cast(c, rows, x->dtype) : NULL;
  unique_runs(c, x, rows, order ? ig_tensor_data(order) : NULL, whole, dim, want[0].b, want[1].b,
              outs);
}
// How many there are stands in the data: a fresh symbol.
static void unique_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[0].tensor;
  bool whole = !op->def->variant;
  int dim = whole ? 0 : ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  const ig_value *want = args + (whole ? 2 : 3);
  ig_int most = whole ? ig_numel_of(c, x) : x->ndim ? ig_sizes(x)[dim] : ig_const(1);
  if (c->status != IG_OK) return;
  ig_int n = ig_sym_unbacked(c);
  ig_sym_constrain(c, n, 0, most.expr ? INT64_MAX : most.value, true);
  ig_meta m[3];
  for (int i = 0; i < 3; i++) ig_meta_init(&m[i], i ? IG_I64 : x->dtype, x->device);
  if (whole) ig_meta_push_dim(c, &m[0], n);
  for (int d = 0; d < x->ndim; d++) {
    if (!whole) ig_meta_push_dim(c, &m[0], d == dim ? n : ig_sizes(x)[d]);
    if (whole && want[0].b) ig_meta_push_dim(c, &m[1], ig_sizes(x)[d]);
  }
  if (whole && !want[0].b) ig_meta_push_dim(c, &m[1], ig_const(0));
  if (!whole) ig_meta_push_dim(c, &m[1], most);
  ig_meta_push_dim(c, &m[2], want[1].b || !whole ? n : ig_const(0));
  for (int i = 0; i < 3 && c->status == IG_OK; i++) {
    ig_meta_contiguous(c, &m[i]);
    outs[i] = ig_of_tensor(ig_tensor_make(c, &m[i], true));
  }
}
IG_OP(unique_consecutive) = {
    .schema =
        "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
        "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_consecutive_kernel,
    .fake = ig_refuse_sizes,
    .samples = "i64[8]:<2 | i64[2,4]:<2, True, True | i64[4,2]:<2, True, True, 0",
    .vjp = ig_vjp_refuse,
    .keep = "",
    .diff_results = 1,
};
IG_OP(_unique2) = {
    .schema =
        "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
        "return_counts=False) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_kernel,
    .fake = unique_fake,
    .samples = "i64[8]:<3 | f32[2,4], True, True, True | i64[3,3]:<4, True, True, False | f32[]",
    .vjp = ig_vjp_refuse,
    .keep = "",
    .diff_results = 1,
    .waive = "special: equal bytes are equal",
};
IG_OP(unique_dim) = {
    .schema =
        "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
        "return_counts=False) -> (Tensor, Tensor, Tensor)",
    .kernel = unique_kernel,
    .variant = 1,
    .fake = unique_fake,
    .samples = "i64[6,2]:<2, 0, True, True, True | i64[2,5]:<2, 1 | f32[3,2], -2, True, True",
    .vjp = ig_vjp_refuse,
    .keep = "",
    .diff_results = 1,
    .waive =
        "size 6=0: refused here, PyTorch computes it; size 5=0: refused here, PyTorch computes it",
};
