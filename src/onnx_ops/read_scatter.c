// SPDX-License-Identifier: Apache-2.0
// Operators that scatter elements: Scatter*, TensorScatter; and Unique.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_read/reader.h"

static ig_tensor *wrap(ig_rd *r, ig_tensor *index, ig_int size) {
  index = ig_cast(r->c, index, IG_I64);
  if (!index) return NULL;
  ig_value n = ig_of_int(size);
  ig_tensor *below = ig_lt_scalar(r->c, index, ig_of_i64(0));
  ig_tensor *moved = ig_add_value(r->c, index, &n);
  return below && moved ? ig_where_self(r->c, below, moved, index) : NULL;
}

// ATen's name of the reduction; NULL: none; "": unknown.
static const char *reduction(ig_rd *r) {
  static const char *const names[][2] = {
      {"none", NULL}, {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};
  const char *text = ig_rd_attr_text(r, "reduction", "none");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(text, names[i][0]) == 0) return names[i][1];
  }
  ig_rd_fail(r, IG_INVALID, "attribute 'reduction': found '%s'", text);
  return "";
}

static void read_scatter_elements(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  ig_tensor *updates = ig_rd_in(r, 2);
  const char *reduce = reduction(r);
  if (!t || !index || !updates || !ig_rd_ok(r)) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
  if (!ig_rd_ok(r)) return;
  index = wrap(r, index, ig_sizes(t)[axis]);
  if (!index) return;
  ig_tensor *out = reduce ? ig_scatter_reduce_two_with(r->c, t, ig_const(axis), index, updates,
                                                       ig_of_str(reduce), true)
                          : ig_scatter_src(r->c, t, ig_const(axis), index, updates);
  ig_rd_out_like(r, 0, out, 0);
}

// Rows of a matrix whose rows are the parts that one index points at.
typedef struct rows {
  ig_tensor *data;     // [rows, part]
  ig_tensor *at;       // [n]
  ig_tensor *updates;  // [n, part]
} rows;

static bool to_rows(ig_rd *r, ig_tensor *t, ig_tensor *index, ig_tensor *updates, rows *out) {
  int64_t n = ig_rd_plain(r, ig_rd_size(r, index, -1));
  if (!ig_rd_ok(r) || n < 1 || n > t->ndim) {
    ig_rd_fail(r, IG_INVALID, "indices have %lld columns for %d dimensions", (long long)n, t->ndim);
    return false;
  }
  ig_int count = ig_product(r->c, ig_sizes(index), (size_t)index->ndim - 1);
  ig_int part = ig_product(r->c, ig_sizes(t) + n, (size_t)(t->ndim - n));
  ig_int lead = ig_product(r->c, ig_sizes(t), (size_t)n);
  ig_tensor *flat = NULL;
  for (int64_t i = 0; i < n; i++) {
    ig_tensor *one = wrap(r, ig_rd_select(r, index, index->ndim - 1, i), ig_sizes(t)[i]);
    if (one && !ig_tensor_is_fake(one)) {
      const int64_t *at = ig_rd_bytes(r, one, IG_I64);
      int64_t size = ig_sizes(t)[i].value;  // concrete: a real index meets a real tensor
      for (int64_t k = 0; at && k < ig_tensor_numel(one); k++) {
        if (at[k] >= 0 && (ig_sizes(t)[i].expr || at[k] < size)) continue;
        ig_rd_fail(r, IG_BAD_INDEX, "index %lld at dimension %lld of size %lld", (long long)at[k],
                   (long long)i, (long long)size);
        return false;
      }
    }
    flat = flat ? ig_rd_add(r, ig_mul_int(r->c, flat, ig_sizes(t)[i]), one) : one;
  }
  out->data = ig_rd_reshape(r, t, (ig_int[]){lead, part}, 2);
  out->at = ig_rd_reshape(r, flat, &count, 1);
  out->updates = ig_rd_reshape(r, updates, (ig_int[]){count, part}, 2);
  return ig_rd_ok(r);
}

static void read_scatter_nd(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *index = ig_rd_in(r, 1);
  ig_tensor *updates = ig_rd_in(r, 2);
  const char *reduce = reduction(r);
  if (!t || !index || !updates || !ig_rd_ok(r)) return;
  if (index->ndim == 0) {
    ig_rd_fail(r, IG_INVALID, "indices need at least 1 dimension");
    return;
  }
  rows x;
  if (!to_rows(r, t, index, updates, &x)) return;
  ig_tensor *out = NULL;
  ig_tensor *at = ig_rd_unsqueeze(r, x.at, 1);
  at = at && x.updates ? ig_expand(r->c, at, ig_sizes_of(x.updates)) : NULL;
  if (!at) return;
  out = reduce ? ig_scatter_reduce_two_with(r->c, x.data, ig_const(0), at, x.updates,
                                            ig_of_str(reduce), true)
               : ig_scatter_src(r->c, x.data, ig_const(0), at, x.updates);
  ig_rd_out_like(r, 0, ig_rd_reshape(r, out, ig_sizes(t), (size_t)t->ndim), 0);
}

static void read_tensor_scatter(ig_rd *r) {
  ig_tensor *past = ig_rd_in(r, 0);
  ig_tensor *update = ig_rd_in(r, 1);
  ig_tensor *write = ig_rd_opt(r, 2);
  if (!past || !update || !ig_rd_ok(r)) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", -2), past->ndim);
  bool circular = strcmp(ig_rd_attr_text(r, "mode", "linear"), "circular") == 0;
  if (!ig_rd_ok(r) || axis == 0 || update->ndim != past->ndim) {
    ig_rd_fail(r, IG_INVALID, "the axis must not be the batch, and ranks must agree");
    return;
  }
  ig_tensor *at = ig_arange_with(r->c, ig_of_int(ig_sizes(update)[axis]), ig_of_dtype(IG_I64),
                                 ig_none(), ig_none(), ig_none());
  at = ig_rd_along(r, at, axis, past->ndim);
  if (write) at = ig_rd_add(r, at, ig_rd_along(r, write, 0, past->ndim));
  if (circular && at) at = ig_remainder_scalar(r->c, at, ig_of_int(ig_sizes(past)[axis]));
  at = at ? ig_expand(r->c, at, ig_sizes_of(update)) : NULL;
  ig_rd_out_like(r, 0, at ? ig_scatter_src(r->c, past, ig_const(axis), at, update) : NULL, 0);
}

// ---- Unique: its result depends on the data

typedef struct unique {
  const double *at;  // [outer, count, inner]
  int64_t outer;
  int64_t count;
  int64_t inner;
} unique;

static int compare_slices(const unique *u, int64_t a, int64_t b) {
  for (int64_t o = 0; o < u->outer; o++) {
    for (int64_t i = 0; i < u->inner; i++) {
      double x = u->at[(o * u->count + a) * u->inner + i];
      double y = u->at[(o * u->count + b) * u->inner + i];
      if (x != y && !(isnan(x) && isnan(y))) return isnan(x) ? 1 : isnan(y) ? -1 : x < y ? -1 : 1;
    }
  }
  return 0;
}

// Sorts indices of slices, stable: merges runs.
static void sort_slices(const unique *u, int64_t *at, int64_t *room, int64_t n) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t from = 0; from < n; from += 2 * width) {
      int64_t mid = from + width < n ? from + width : n;
      int64_t to = from + 2 * width < n ? from + 2 * width : n;
      int64_t a = from;
      int64_t b = mid;
      for (int64_t k = from; k < to; k++) {
        bool left = a < mid && (b >= to || compare_slices(u, at[a], at[b]) <= 0);
        room[k] = left ? at[a++] : at[b++];
      }
    }
    memcpy(at, room, (size_t)n * sizeof *at);
  }
}

typedef struct unique_found {
  int64_t *first;    // per group: the first slice of it
  int64_t *inverse;  // per slice: its group
  int64_t *counts;
  int64_t n;
} unique_found;

static bool find_groups(ig_rd *r, const unique *u, bool sorted, unique_found *out) {
  size_t bytes = ig_mem_mul((size_t)(u->count + 1), sizeof(int64_t));
  int64_t *order = ig_scope_push(r->c, bytes);
  int64_t *room = ig_scope_push(r->c, bytes);
  int64_t *rank = ig_scope_push(r->c, bytes);
  out->first = ig_scope_push(r->c, bytes);
  out->inverse = ig_scope_push(r->c, bytes);
  out->counts = ig_scope_push(r->c, bytes);
  if (!order || !room || !rank || !out->first || !out->inverse || !out->counts) return false;
  for (int64_t i = 0; i < u->count; i++) order[i] = i;
  sort_slices(u, order, room, u->count);
  int64_t n = 0;
  for (int64_t i = 0; i < u->count; i++) {
    bool fresh = i == 0 || compare_slices(u, order[i - 1], order[i]) != 0;
    if (fresh) {
      out->first[n] = order[i];
      out->counts[n++] = 0;
    }
    out->inverse[order[i]] = n - 1;
    out->counts[n - 1]++;
  }
  out->n = n;
  if (sorted) return true;
  // By first appearance instead.
  int64_t seen = 0;
  for (int64_t i = 0; i < n; i++) rank[i] = -1;
  for (int64_t i = 0; i < u->count; i++) {
    if (rank[out->inverse[i]] < 0) rank[out->inverse[i]] = seen++;
  }
  memcpy(room, out->counts, bytes);
  memcpy(order, out->first, bytes);
  for (int64_t i = 0; i < n; i++) {
    out->counts[rank[i]] = room[i];
    out->first[rank[i]] = order[i];
  }
  for (int64_t i = 0; i < u->count; i++) out->inverse[i] = rank[out->inverse[i]];
  return true;
}

// Under a capture, by ATen calls. Where a group begins is the least index that is in it.
static void unique_formula(ig_rd *r, ig_tensor *t, int axis, bool sorted) {
  ig_ctx *c = r->c;
  ig_value found[IG_MAX_RETURNS] = {{0}};
  ig_tensor *x = ig_rd_ordered(r, t);
  if (!x) return;
  if (x->ndim == 1) ig__unique2_with(c, x, true, true, true, found);
  if (x->ndim > 1) ig_unique_dim_with(c, x, ig_const(axis), true, true, true, found);
  ig_tensor *y = ig_value_tensor(&found[0]);
  ig_tensor *inverse = ig_value_tensor(&found[1]);
  ig_tensor *counts = ig_value_tensor(&found[2]);
  if (!y || !inverse || !counts) return;
  ig_int n = ig_sizes(t)[axis];
  ig_tensor *first = ig_new_full(c, inverse, ig_sizes_of(counts), ig_of_int(n));
  ig_tensor *places = ig_arange(c, ig_of_int(n));
  first = ig_scatter_reduce_two(c, first, ig_const(0), inverse, places, ig_of_str("amin"));
  if (!sorted) {
    ig_tensor *order = ig_argsort(c, first);
    y = ig_index_select(c, y, ig_const(axis), order);
    counts = ig_index_select(c, counts, ig_const(0), order);
    first = ig_index_select(c, first, ig_const(0), order);
    inverse = ig_index_select(c, ig_argsort(c, order), ig_const(0), inverse);
  }
  ig_rd_out_like(r, 0, ig_rd_unordered(r, y, t->dtype), 0);
  ig_rd_out(r, 1, first);
  ig_rd_out(r, 2, inverse);
  ig_rd_out(r, 3, counts);
}

static void read_unique(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  const ig_om_attr *a = ig_rd_attr(r, "axis");
  if (!t) return;
  int axis = 0;
  if (a) {
    axis = ig_rd_axis(r, a->i, t->ndim);
  } else {
    ig_int all = ig_numel_of(r->c, t);
    t = ig_rd_reshape(r, t, &all, 1);
  }
  if (t && ig_rd_ok(r) && ig_tensor_is_fake(t)) {
    unique_formula(r, t, axis, ig_rd_attr_int(r, "sorted", 1));
    return;
  }
  const double *data = t && ig_rd_ok(r) ? ig_rd_bytes(r, t, IG_F64) : NULL;
  if (!data) return;
  unique u = {data, 1, ig_sizes(t)[axis].value, 1};  // concrete: t has bytes
  for (int d = 0; d < axis; d++) u.outer *= ig_sizes(t)[d].value;
  for (int d = axis + 1; d < t->ndim; d++) u.inner *= ig_sizes(t)[d].value;
  unique_found f;
  if (!find_groups(r, &u, ig_rd_attr_int(r, "sorted", 1), &f)) return;
  ig_tensor *first = ig_rd_constant(r, IG_I64, f.first, f.n);
  ig_rd_out_like(r, 0, first ? ig_index_select(r->c, t, ig_const(axis), first) : NULL, 0);
  ig_rd_out(r, 1, first);
  ig_rd_out(r, 2, ig_rd_constant(r, IG_I64, f.inverse, u.count));
  ig_rd_out(r, 3, ig_rd_constant(r, IG_I64, f.counts, f.n));
}

const ig_rd_row ig_rd_rows_scatter[] = {
    {"Scatter", 9, read_scatter_elements}, {"ScatterElements", 11, read_scatter_elements},
    {"ScatterND", 11, read_scatter_nd},    {"TensorScatter", 24, read_tensor_scatter},
    {"Unique", 11, read_unique},           {NULL, 0, NULL},
};
