// SPDX-License-Identifier: Apache-2.0
// Operators that select elements: gathers, sorts, searches, cumulative operators.
#include <string.h>

#include "onnx_read/reader.h"

// Negative indices count from the end.
static ig_tensor *wrap(ig_rd *r, ig_tensor *index, ig_int size) {
  index = ig_cast(r->c, index, IG_I64);
  if (!index) return NULL;
  if (!ig_tensor_is_fake(index)) {
    const int64_t *at = ig_rd_bytes(r, index, IG_I64);
    bool negative = false;
    for (int64_t i = 0; at && i < ig_tensor_numel(index); i++) negative |= at[i] < 0;
    if (!negative) return index;
  }
  ig_value n = ig_of_int(size);
  ig_tensor *below = ig_lt_scalar(r->c, index, ig_of_i64(0));
  ig_tensor *moved = ig_add_value(r->c, index, &n);
  return below && moved ? ig_where_self(r->c, below, moved, index) : NULL;
}

static void read_gather(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  if (!t || !index) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
  if (!ig_rd_ok(r)) return;
  index = wrap(r, index, ig_sizes(t)[axis]);
  if (!index) return;
  if (index->ndim == 1) {
    ig_rd_out_like(r, 0, ig_index_select(r->c, t, ig_const(axis), index), 0);
    return;
  }
  // The dimensions of the index take the place of the axis.
  ig_int sizes[IG_MAX_DIM];
  size_t n = 0;
  if (t->ndim - 1 + index->ndim > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "a result of too many dimensions");
    return;
  }
  for (int d = 0; d < axis; d++) sizes[n++] = ig_sizes(t)[d];
  for (int d = 0; d < index->ndim; d++) sizes[n++] = ig_sizes(index)[d];
  for (int d = axis + 1; d < t->ndim; d++) sizes[n++] = ig_sizes(t)[d];
  ig_int flat = ig_numel_of(r->c, index);
  index = ig_rd_reshape(r, index, &flat, 1);
  t = index ? ig_index_select(r->c, t, ig_const(axis), index) : NULL;
  ig_rd_out_like(r, 0, ig_rd_reshape(r, t, sizes, n), 0);
}

static void read_gather_elements(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  if (!t || !index) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
  if (!ig_rd_ok(r)) return;
  index = wrap(r, index, ig_sizes(t)[axis]);
  ig_rd_out_like(r, 0, index ? ig_gather(r->c, t, ig_const(axis), index) : NULL, 0);
}

// One index tensor per indexed dimension out of the last dimension of `index`,
// wrapped.
static size_t columns(ig_rd *r, ig_tensor *t, ig_tensor *index, int first, ig_value *out) {
  int64_t n = ig_rd_plain(r, ig_rd_size(r, index, -1));
  if (!ig_rd_ok(r) || n < 1 || n > t->ndim - first) {
    ig_rd_fail(r, IG_INVALID, "indices have %lld columns for %d dimensions", (long long)n,
               t->ndim - first);
    return 0;
  }
  for (int64_t i = 0; i < n; i++) {
    ig_tensor *one = ig_rd_select(r, index, index->ndim - 1, i);
    one = wrap(r, one, ig_sizes(t)[first + i]);
    if (!one) return 0;
    out[first + i] = ig_of_tensor(one);
  }
  return (size_t)(first + n);
}

static void read_gather_nd(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  int64_t batch = ig_rd_attr_int(r, "batch_dims", 0);
  ig_value list[IG_MAX_DIM];
  if (!t || !index) return;
  if (batch < 0 || batch >= index->ndim || batch >= t->ndim) {
    ig_rd_fail(r, IG_INVALID, "attribute 'batch_dims' is %lld", (long long)batch);
    return;
  }
  for (int d = 0; d < batch; d++) {
    ig_tensor *at = ig_arange_with(r->c, ig_of_int(ig_sizes(t)[d]), ig_of_dtype(IG_I64), ig_none(),
                                   ig_none(), ig_none());
    list[d] = ig_of_tensor(ig_rd_along(r, at, d, index->ndim - 1));
  }
  size_t n = columns(r, t, index, (int)batch, list);
  if (n && ig_rd_ok(r)) ig_rd_out_like(r, 0, ig_index_tensor(r->c, t, ig_of_list(list, n)), 0);
}

// ---- searches

static void arg(ig_rd *r, bool max) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
  bool keep = ig_rd_attr_int(r, "keepdims", 1);
  bool last = ig_rd_attr_int(r, "select_last_index", 0);
  ig_int dim = ig_const(axis);
  if (!ig_rd_ok(r)) return;
  t = t->dtype == IG_BOOL ? ig_cast(r->c, t, IG_I64) : ig_rd_ordered(r, t);
  if (last) t = ig_flip(r->c, t, ig_of_ints(&dim, 1));
  ig_value at = ig_of_i64(axis);
  ig_tensor *out = !t    ? NULL
                   : max ? ig_argmax_with(r->c, t, at, keep)
                         : ig_argmin_with(r->c, t, at, keep);
  if (last && out) {
    ig_value from = ig_of_int(ig_int_sub(r->c, ig_sizes(t)[axis], ig_const(1)));
    out = ig_rsub_scalar(r->c, out, from);
  }
  ig_rd_out(r, 0, out);
}
static void read_argmax(ig_rd *r) {
  arg(r, true);
}
static void read_argmin(ig_rd *r) {
  arg(r, false);
}

static void read_topk(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  ig_int k = r->version < 10 ? ig_const(ig_rd_attr_int(r, "k", -1)) : ig_rd_one_int(r, 1);
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -1), t->ndim);
  bool largest = ig_rd_attr_int(r, "largest", 1);
  if (!ig_rd_ok(r)) return;
  ig_int size = ig_sizes(t)[axis];
  if (!k.expr && (k.value < 0 || (!size.expr && k.value > size.value))) {
    ig_rd_fail(r, IG_INVALID, "K is %lld, expected 0 to %lld", (long long)k.value,
               (long long)size.value);
    return;
  }
  int elem = ig_rd_elem(r, 0);
  ig_tensor *x = ig_rd_ordered(r, t);
  // Ties go to the lower index: a stable sort.
  ig_value outs[2] = {ig_none(), ig_none()};
  if (x) ig_sort_stable_with(r->c, x, ig_of_bool(true), ig_const(axis), largest, outs);
  for (size_t i = 0; i < 2 && ig_rd_ok(r); i++) {
    ig_tensor *part = ig_slice_tensor_with(r->c, ig_value_tensor(&outs[i]), ig_const(axis),
                                           ig_of_i64(0), ig_of_int(k), ig_const(1));
    if (i == 0) part = ig_rd_unordered(r, part, t->dtype);
    ig_rd_out_elem(r, i, part, i == 0 ? elem : IG_OM_INT64);
  }
}

static void read_nonzero(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (t && t->ndim == 0) t = ig_rd_unsqueeze(r, t, 0);
  t = t ? ig_nonzero(r->c, t) : NULL;
  static const int64_t swap[] = {1, 0};
  ig_rd_out(r, 0, ig_rd_permute(r, t, swap, 2));
}

static void read_compress(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *cond = ig_rd_in(r, 1);
  const ig_om_attr *a = ig_rd_attr(r, "axis");
  if (!t || !cond) return;
  int axis = 0;
  if (a) {
    axis = ig_rd_axis(r, a->i, t->ndim);
  } else {
    ig_int all = ig_numel_of(r->c, t);
    t = ig_rd_reshape(r, t, &all, 1);
  }
  ig_tensor *index = ig_rd_ok(r) ? ig_nonzero(r->c, cond) : NULL;
  index = ig_rd_squeeze(r, index, 1);
  ig_rd_out_like(r, 0, index && t ? ig_index_select(r->c, t, ig_const(axis), index) : NULL, 0);
}

static void read_one_hot(ig_rd *r) {
  ig_tensor *index = ig_rd_in(r, 0);
  ig_tensor *values = ig_rd_in(r, 2);
  ig_tensor *deep = ig_rd_in(r, 1);
  if (!index || !values || !deep) return;
  ig_int depth = ig_dtype_is_float(deep->dtype) ? ig_const((int64_t)ig_rd_one_float(r, 1))
                                                : ig_rd_one_int(r, 1);
  int ndim = index->ndim + 1;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -1), ndim);
  if (!ig_rd_ok(r) || (!depth.expr && depth.value < 1) || ndim > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "depth must be positive");
    return;
  }
  ig_int sizes[2] = {depth, ig_numel_of(r->c, index)};
  if (!ig_rd_budget(r, sizes, 2, values->dtype)) return;
  // Indices out of range give all zeros.
  index = ig_rd_unsqueeze(r, wrap(r, ig_cast(r->c, index, IG_I64), depth), axis);
  ig_tensor *at =
      ig_arange_with(r->c, ig_of_int(depth), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
  at = ig_rd_along(r, at, axis, ndim);
  ig_tensor *on = index && at ? ig_eq_tensor(r->c, index, at) : NULL;
  ig_tensor *yes = ig_rd_select(r, values, 0, 1);
  ig_tensor *no = ig_rd_select(r, values, 0, 0);
  ig_rd_out_like(r, 0, on && yes && no ? ig_where_self(r->c, on, yes, no) : NULL, 2);
}

// ---- cumulative

static void cumulate(ig_rd *r, bool product) {
  ig_tensor *t = ig_rd_in(r, 0);
  int64_t given = ig_rd_one_const(r, 1);
  if (!t || !ig_rd_ok(r)) return;
  int axis = ig_rd_axis(r, given, t->ndim);
  ig_dtype d = t->dtype;
  bool reverse = ig_rd_attr_int(r, "reverse", 0);
  ig_int dim = ig_const(axis);
  if (!ig_rd_ok(r)) return;
  if (reverse) t = ig_flip(r->c, t, ig_of_ints(&dim, 1));
  if (ig_rd_attr_int(r, "exclusive", 0) && t) {
    ig_int sizes[IG_MAX_DIM];
    for (int i = 0; i < t->ndim; i++) sizes[i] = i == axis ? ig_const(1) : ig_sizes(t)[i];
    ig_tensor *head = ig_rd_full(r, sizes, (size_t)t->ndim, product, d);
    ig_tensor *parts[2] = {head, t};
    ig_int size = ig_sizes(t)[axis];
    t = ig_rd_cat(r, parts, 2, axis);
    if (t) t = ig_narrow(r->c, t, ig_const(axis), ig_const(0), size);
  }
  ig_value dtype = ig_of_dtype(d);
  t = !t        ? NULL
      : product ? ig_cumprod_with(r->c, t, dim, dtype)
                : ig_cumsum_with(r->c, t, dim, dtype);
  if (reverse && t) t = ig_flip(r->c, t, ig_of_ints(&dim, 1));
  ig_rd_out(r, 0, t);
}
static void read_cumsum(ig_rd *r) {
  cumulate(r, false);
}
static void read_cumprod(ig_rd *r) {
  cumulate(r, true);
}

const ig_rd_row ig_rd_rows_index[] = {
    {"Gather", 1, read_gather},       {"GatherElements", 11, read_gather_elements},
    {"GatherND", 11, read_gather_nd}, {"ArgMax", 1, read_argmax},
    {"ArgMin", 1, read_argmin},       {"TopK", 1, read_topk},
    {"NonZero", 9, read_nonzero},     {"Compress", 9, read_compress},
    {"OneHot", 9, read_one_hot},      {"CumSum", 11, read_cumsum},
    {"CumProd", 26, read_cumprod},    {NULL, 0, NULL},
};
