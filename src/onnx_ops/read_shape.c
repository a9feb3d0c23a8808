// SPDX-License-Identifier: Apache-2.0
// Operators that rearrange elements: shapes, slices, joins, pads.
#include <string.h>

#include "onnx_read/reader.h"

static void read_identity(ig_rd *r) {
  ig_rd_out_val(r, 0, ig_rd_val(r, 0));
}

// ---- shapes

static void range_of(ig_rd *r, int ndim, int64_t *start, int64_t *end) {
  *start = ig_rd_attr_int(r, "start", 0);
  *end = ig_rd_attr_int(r, "end", ndim);
  if (*start < 0) *start += ndim;
  if (*end < 0) *end += ndim;
  *start = *start < 0 ? 0 : *start > ndim ? ndim : *start;
  *end = *end < 0 ? 0 : *end > ndim ? ndim : *end;
}

static void read_shape(ig_rd *r) {
  const ig_rd_value *v = ig_rd_val(r, 0);
  ig_int sizes[IG_MAX_DIM];
  int ndim = 0;
  if (!v) return;
  if (v->kind == IG_RD_STRINGS) {
    ndim = v->ndim;
    for (int d = 0; d < ndim; d++) sizes[d] = ig_const(v->dims[d]);
  } else {
    const ig_tensor *t = ig_rd_in(r, 0);
    if (!t) return;
    ndim = t->ndim;
    for (int d = 0; d < ndim; d++) sizes[d] = ig_sizes(t)[d];
  }
  int64_t start = 0;
  int64_t end = 0;
  range_of(r, ndim, &start, &end);
  size_t n = end > start ? (size_t)(end - start) : 0;
  ig_rd_out_val(r, 0, ig_rd_of_ints(r, sizes + start, n, 1, IG_OM_INT64));
}

static void read_size(ig_rd *r) {
  const ig_rd_value *v = ig_rd_val(r, 0);
  if (!v) return;
  ig_int n =
      v->kind == IG_RD_STRINGS ? ig_const((int64_t)v->nstrings) : ig_numel_of(r->c, ig_rd_in(r, 0));
  ig_rd_out_val(r, 0, ig_rd_of_ints(r, &n, 1, 0, IG_OM_INT64));
}

static void reshape_strings(ig_rd *r, const ig_rd_value *v, const ig_int *to, size_t n) {
  int64_t dims[IG_MAX_DIM];
  int64_t known = 1;
  for (size_t i = 0; i < n; i++) {
    dims[i] = to[i].value;  // concrete: strings have plain sizes
    if (dims[i] >= 0 && !ig_checked_mul(known, dims[i], &known)) known = -1;
  }
  for (size_t i = 0; i < n; i++) {
    if (dims[i] == -1 && known > 0) dims[i] = (int64_t)v->nstrings / known;
  }
  known = 1;
  for (size_t i = 0; i < n; i++) {
    if (dims[i] < 0 || !ig_checked_mul(known, dims[i], &known)) known = -1;
  }
  if (known != (int64_t)v->nstrings) {
    ig_rd_fail(r, IG_MISMATCH, "%zu strings do not have this shape", v->nstrings);
    return;
  }
  ig_rd_out_val(r, 0, ig_rd_of_strings(r, v->strings, v->nstrings, dims, (int)n));
}

static void reshape_to(ig_rd *r, const ig_int *shape, size_t n, bool allow_zero) {
  ig_rd_value *v = ig_rd_val(r, 0);
  if (!v || !ig_rd_ok(r)) return;
  if (n > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "a shape of %zu dimensions, at most %d are possible", n, IG_MAX_DIM);
    return;
  }
  bool strings = v->kind == IG_RD_STRINGS;
  ig_tensor *t = strings ? NULL : ig_rd_tensor(r, v);
  int ndim = strings ? v->ndim : t ? t->ndim : 0;
  ig_int sizes[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) {
    sizes[i] = shape[i];
    if (shape[i].expr || shape[i].value != 0 || allow_zero) continue;
    if ((int)i >= ndim) {
      ig_rd_fail(r, IG_INVALID, "shape[%zu] is 0, but the input has only %d dimensions", i, ndim);
      return;
    }
    sizes[i] = strings ? ig_const(v->dims[i]) : ig_sizes(t)[i];
  }
  if (strings) {
    reshape_strings(r, v, sizes, n);
  } else {
    ig_rd_out_like(r, 0, ig_rd_reshape(r, t, sizes, n), 0);
  }
}

static void read_reshape_1(ig_rd *r) {
  size_t n = 0;
  const int64_t *shape = ig_rd_attr_ints(r, "shape", &n);
  ig_int *sizes = ig_scope_array(r->c, n, sizeof *sizes);
  for (size_t i = 0; sizes && i < n; i++) sizes[i] = ig_const(shape[i]);
  if (sizes) reshape_to(r, sizes, n, false);
}

static void read_reshape(ig_rd *r) {
  size_t n = 0;
  const ig_int *shape = ig_rd_ints(r, 1, &n);
  if (shape) reshape_to(r, shape, n, ig_rd_attr_int(r, "allowzero", 0));
}

static void read_flatten(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  int64_t axis = ig_rd_attr_int(r, "axis", 1);
  if (axis < 0) axis += t->ndim;
  if (axis < 0 || axis > t->ndim) {
    ig_rd_fail(r, IG_INVALID, "axis %lld is out of range for %d dimensions", (long long)axis,
               t->ndim);
    return;
  }
  ig_int sizes[2] = {ig_product(r->c, ig_sizes(t), (size_t)axis),
                     ig_product(r->c, ig_sizes(t) + axis, (size_t)(t->ndim - axis))};
  ig_rd_out_like(r, 0, ig_rd_reshape(r, t, sizes, 2), 0);
}

static void read_transpose(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  const int64_t *perm = ig_rd_attr_ints(r, "perm", &n);
  int64_t reversed[IG_MAX_DIM];
  if (!t) return;
  if (!perm || (n == 0 && t->ndim)) {
    for (int d = 0; d < t->ndim; d++) reversed[d] = t->ndim - 1 - d;
    perm = reversed;
    n = (size_t)t->ndim;
  }
  if (n != (size_t)t->ndim) {
    ig_rd_fail(r, IG_INVALID, "attribute 'perm' has %zu elements for %d dimensions", n, t->ndim);
    return;
  }
  ig_rd_out_like(r, 0, ig_rd_permute(r, t, perm, n), 0);
}

// Axes are an attribute before opset 13, an input since. NULL: not given.
static const int64_t *axes_of(ig_rd *r, size_t input, int since, size_t *n) {
  *n = 0;
  if (r->version < since) return ig_rd_attr_ints(r, "axes", n);
  return ig_rd_has(r, input) ? ig_rd_consts(r, input, n) : NULL;
}

static void read_squeeze(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  const int64_t *axes = axes_of(r, 1, 13, &n);
  if (!t || !ig_rd_ok(r)) return;
  bool drop[IG_MAX_DIM] = {false};
  for (size_t i = 0; axes && i < n; i++) {
    int d = ig_rd_axis(r, axes[i], t->ndim);
    if (!ig_rd_ok(r)) return;
    if (!ig_int_eq_i64(r->c, ig_sizes(t)[d], 1)) {
      ig_rd_fail(r, IG_MISMATCH, "dimension %d is not 1 and cannot be dropped", d);
      return;
    }
    drop[d] = true;
  }
  ig_int sizes[IG_MAX_DIM];
  size_t kept = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (!axes) drop[d] = ig_int_eq_i64(r->c, ig_sizes(t)[d], 1);
    if (!drop[d]) sizes[kept++] = ig_sizes(t)[d];
  }
  ig_rd_out_like(r, 0, ig_rd_reshape(r, t, sizes, kept), 0);
}

static void read_unsqueeze(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  const int64_t *axes = axes_of(r, 1, 13, &n);
  if (!t || !axes) {
    ig_rd_fail(r, IG_INVALID, "axes are missing");
    return;
  }
  if (n > (size_t)(IG_MAX_DIM - t->ndim)) {
    ig_rd_fail(r, IG_INVALID, "a result of too many dimensions");
    return;
  }
  int ndim = t->ndim + (int)n;
  bool made[IG_MAX_DIM] = {false};
  for (size_t i = 0; i < n; i++) {
    int d = ig_rd_axis(r, axes[i], ndim);
    if (made[d]) ig_rd_fail(r, IG_INVALID, "axis %d is given twice", d);
    made[d] = true;
  }
  for (int d = 0; d < ndim && t && ig_rd_ok(r); d++) {
    if (made[d]) t = ig_rd_unsqueeze(r, t, d);
  }
  ig_rd_out_like(r, 0, t, 0);
}

static void read_expand(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  const ig_int *shape = ig_rd_ints(r, 1, &n);
  if (!t || !shape) return;
  size_t ndim = n > (size_t)t->ndim ? n : (size_t)t->ndim;
  ig_int sizes[IG_MAX_DIM];
  if (ndim > IG_MAX_DIM) {
    ig_rd_fail(r, IG_INVALID, "a result of too many dimensions");
    return;
  }
  for (size_t d = 0; d < ndim; d++) {
    bool has = d + (size_t)t->ndim >= ndim;
    ig_int mine = has ? ig_sizes(t)[d + (size_t)t->ndim - ndim] : ig_const(1);
    ig_int want = d + n >= ndim ? shape[d + n - ndim] : ig_const(1);
    sizes[d] = has && !want.expr && want.value == 1 ? mine : want;
  }
  if (!ig_rd_budget(r, sizes, ndim, t->dtype)) return;
  ig_rd_out_like(r, 0, ig_expand(r->c, t, ig_of_ints(sizes, ndim)), 0);
}

static void read_tile(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  const ig_int *repeats = ig_rd_ints(r, 1, &n);
  if (!t || !repeats) return;
  if (n != (size_t)t->ndim) {
    ig_rd_fail(r, IG_INVALID, "%zu repeats for %d dimensions", n, t->ndim);
    return;
  }
  ig_int sizes[IG_MAX_DIM];
  for (size_t i = 0; i < n; i++) sizes[i] = ig_int_mul(r->c, repeats[i], ig_sizes(t)[i]);
  if (!ig_rd_budget(r, sizes, n, t->dtype)) return;
  ig_rd_out_like(r, 0, ig_repeat(r->c, t, ig_of_ints(repeats, n)), 0);
}

// ---- joins and parts

static void read_concat(ig_rd *r) {
  if (r->nin == 0) {
    ig_rd_fail(r, IG_INVALID, "found no inputs, expected at least one");
    return;
  }
  ig_tensor **parts = ig_scope_array(r->c, r->nin, sizeof *parts);
  for (size_t i = 0; parts && i < r->nin; i++) parts[i] = ig_rd_in(r, i);
  if (!parts || !parts[0] || !ig_rd_ok(r)) return;
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 1), parts[0]->ndim);
  for (size_t i = 1; i < r->nin; i++) {
    if (parts[i]->ndim == parts[0]->ndim) continue;
    ig_rd_fail(r, IG_MISMATCH, "input %zu has %d dimensions, input 0 has %d", i, parts[i]->ndim,
               parts[0]->ndim);
    return;
  }
  if (ig_rd_ok(r)) ig_rd_out_like(r, 0, ig_rd_cat(r, parts, r->nin, axis), 0);
}

static void split_at(ig_rd *r, ig_tensor *t, int axis, const ig_int *sizes, size_t n) {
  ig_int start = ig_const(0);
  for (size_t i = 0; i < r->nout && ig_rd_ok(r); i++) {
    if (i >= n || (!sizes[i].expr && sizes[i].value < 0)) {
      ig_rd_fail(r, IG_INVALID, "the sizes of the parts do not fit %zu outputs", r->nout);
      return;
    }
    ig_int end = ig_int_add(r->c, start, sizes[i]);
    ig_rd_out_like(r, i,
                   ig_slice_tensor_with(r->c, t, ig_const(axis), ig_of_int(start), ig_of_int(end),
                                        ig_const(1)),
                   0);
    start = end;
  }
  if (!ig_int_eq(r->c, start, ig_sizes(t)[axis])) {
    ig_rd_fail(r, IG_MISMATCH, "the parts do not add up to the size of dimension %d", axis);
  }
}

// Equal parts, the last ones smaller or empty.
static bool equal_parts(ig_rd *r, ig_int length, ig_int *sizes) {
  int64_t parts = ig_rd_attr_int(r, "num_outputs", (int64_t)r->nout);
  if (parts < 1 || (size_t)parts != r->nout) {
    ig_rd_fail(r, IG_INVALID, "attribute 'num_outputs' is %lld for %zu outputs", (long long)parts,
               r->nout);
    return false;
  }
  int64_t size = ig_rd_plain(r, length);
  int64_t chunk = size / parts + (size % parts != 0);
  int64_t left = size;
  for (int64_t i = 0; i < parts; i++) {
    int64_t part = left < chunk ? left : chunk;
    sizes[i] = ig_const(part);
    left -= part;
  }
  return ig_rd_ok(r);
}

// The sizes that are given; NULL: none are.
static const ig_int *given_parts(ig_rd *r, ig_int *room, size_t *n) {
  *n = 0;
  if (r->version >= 13) return ig_rd_has(r, 1) ? ig_rd_ints(r, 1, n) : NULL;
  const int64_t *attr = ig_rd_attr_ints(r, "split", n);
  for (size_t i = 0; attr && i < *n && i < r->nout; i++) room[i] = ig_const(attr[i]);
  return attr ? room : NULL;
}

static void read_split(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t || !t->ndim) {
    ig_rd_fail(r, IG_INVALID, "a number cannot be split");
    return;
  }
  int axis = ig_rd_axis(r, ig_rd_attr_int(r, "axis", 0), t->ndim);
  ig_int *sizes = ig_scope_array(r->c, r->nout, sizeof *sizes);
  size_t n = 0;
  if (!sizes || !ig_rd_ok(r)) return;
  const ig_int *given = given_parts(r, sizes, &n);
  if (!ig_rd_ok(r)) return;
  if (!given) {
    if (!equal_parts(r, ig_sizes(t)[axis], sizes)) return;
    given = sizes;
    n = r->nout;
  }
  if (n != r->nout) {
    ig_rd_fail(r, IG_INVALID, "%zu sizes for %zu outputs", n, r->nout);
    return;
  }
  split_at(r, t, axis, given, n);
}

// Backwards: forwards through the reversed dimension. A start before the first element is the first
// element, an end there is before it.
static ig_tensor *slice_back(ig_rd *r, ig_tensor *t, int d, int64_t start, int64_t end,
                             int64_t step) {
  int64_t n = ig_rd_plain(r, ig_sizes(t)[d]);
  if (start < 0) start = start < -n ? 0 : start + n;
  if (end < 0) end = end < -n ? -1 : end + n;
  start = start >= n ? n - 1 : start;
  end = end >= n ? n - 1 : end;
  ig_int dim = ig_const(d);
  t = ig_flip(r->c, t, ig_of_ints(&dim, 1));
  // Sizes fit an int64 by far; only a step can be extreme.
  int64_t stride = step < -n ? n + 1 : -step;
  return ig_rd_slice(r, t, d, n - 1 - start, n - 1 - end, stride);
}

static ig_tensor *slice_one(ig_rd *r, ig_tensor *t, int d, ig_int start, ig_int end, ig_int step) {
  int64_t by = ig_rd_plain(r, step);
  if (by == 0) {
    ig_rd_fail(r, IG_INVALID, "a step is 0");
    return NULL;
  }
  if (by < 0) {
    int64_t from = ig_rd_plain(r, start);
    return slice_back(r, t, d, from, ig_rd_plain(r, end), by);
  }
  return ig_slice_tensor_with(r->c, t, ig_const(d), ig_of_int(start), ig_of_int(end), ig_const(by));
}

static const ig_int *attr_as_ints(ig_rd *r, const char *name, size_t *n) {
  const int64_t *at = ig_rd_attr_ints(r, name, n);
  ig_int *out = at ? ig_scope_array(r->c, *n, sizeof *out) : NULL;
  for (size_t i = 0; out && i < *n; i++) out[i] = ig_const(at[i]);
  return out;
}

static void read_slice(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  size_t nends = 0;
  size_t naxes = 0;
  size_t nsteps = 0;
  bool inputs = r->version >= 10;
  const ig_int *starts = inputs ? ig_rd_ints(r, 1, &n) : attr_as_ints(r, "starts", &n);
  const ig_int *ends = inputs ? ig_rd_ints(r, 2, &nends) : attr_as_ints(r, "ends", &nends);
  const ig_int *axes = NULL;
  const ig_int *steps = NULL;
  if (inputs && ig_rd_has(r, 3)) axes = ig_rd_ints(r, 3, &naxes);
  if (!inputs) axes = attr_as_ints(r, "axes", &naxes);
  if (inputs && ig_rd_has(r, 4)) steps = ig_rd_ints(r, 4, &nsteps);
  if (!t || !ig_rd_ok(r)) return;
  if (!starts || !ends || n != nends || (axes && naxes != n) || (steps && nsteps != n)) {
    ig_rd_fail(r, IG_INVALID, "starts, ends, axes and steps are of different lengths");
    return;
  }
  for (size_t i = 0; i < n && t && ig_rd_ok(r); i++) {
    int d = ig_rd_axis(r, axes ? ig_rd_plain(r, axes[i]) : (int64_t)i, t->ndim);
    if (ig_rd_ok(r)) t = slice_one(r, t, d, starts[i], ends[i], steps ? steps[i] : ig_const(1));
  }
  ig_rd_out_like(r, 0, t, 0);
}

// ---- blocks

static void read_depth_to_space(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  int64_t b = ig_rd_attr_int(r, "blocksize", 0);
  if (!t || t->ndim != 4 || b < 1 || b > 1 << 20) {
    ig_rd_fail(r, IG_INVALID, "expected 4 dimensions and a positive blocksize");
    return;
  }
  bool crd = strcmp(ig_rd_attr_text(r, "mode", "DCR"), "CRD") == 0;
  const ig_int *s = ig_sizes(t);
  ig_int c = ig_int_floordiv(r->c, s[1], ig_const(b * b));
  ig_int dcr[6] = {s[0], ig_const(b), ig_const(b), c, s[2], s[3]};
  ig_int crds[6] = {s[0], c, ig_const(b), ig_const(b), s[2], s[3]};
  static const int64_t dcr_perm[] = {0, 3, 4, 1, 5, 2};
  static const int64_t crd_perm[] = {0, 1, 4, 2, 5, 3};
  ig_int to[4] = {s[0], c, ig_int_mul(r->c, s[2], ig_const(b)),
                  ig_int_mul(r->c, s[3], ig_const(b))};
  t = ig_rd_reshape(r, t, crd ? crds : dcr, 6);
  t = ig_rd_permute(r, t, crd ? crd_perm : dcr_perm, 6);
  ig_rd_out_like(r, 0, ig_rd_reshape(r, t, to, 4), 0);
}

static void read_space_to_depth(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  int64_t b = ig_rd_attr_int(r, "blocksize", 0);
  if (!t || t->ndim != 4 || b < 1 || b > 1 << 20) {
    ig_rd_fail(r, IG_INVALID, "expected 4 dimensions and a positive blocksize");
    return;
  }
  const ig_int *s = ig_sizes(t);
  ig_int h = ig_int_floordiv(r->c, s[2], ig_const(b));
  ig_int w = ig_int_floordiv(r->c, s[3], ig_const(b));
  ig_int from[6] = {s[0], s[1], h, ig_const(b), w, ig_const(b)};
  ig_int to[4] = {s[0], ig_int_mul(r->c, s[1], ig_const(b * b)), h, w};
  static const int64_t dcr[] = {0, 3, 5, 1, 2, 4};
  static const int64_t crd[] = {0, 1, 3, 5, 2, 4};
  bool is_crd = strcmp(ig_rd_attr_text(r, "mode", "DCR"), "CRD") == 0;
  t = ig_rd_reshape(r, t, from, 6);
  t = ig_rd_permute(r, t, is_crd ? crd : dcr, 6);
  ig_rd_out_like(r, 0, ig_rd_reshape(r, t, to, 4), 0);
}

// ---- constants

static void read_constant(ig_rd *r) {
  const ig_om_attr *a = NULL;
  if ((a = ig_rd_attr(r, "value")) && a->type == IG_OM_ATTR_TENSOR) {
    ig_rd_out_val(r, 0, ig_rd_of_data(r, a->tensors[0]));
  } else if ((a = ig_rd_attr(r, "sparse_value")) && a->type == IG_OM_ATTR_SPARSE) {
    ig_rd_out_val(r, 0, ig_rd_of_sparse(r, a->sparses[0]));
  } else if ((a = ig_rd_attr(r, "value_int")) && a->type == IG_OM_ATTR_INT) {
    ig_int v = ig_const(a->i);
    ig_rd_out_val(r, 0, ig_rd_of_ints(r, &v, 1, 0, IG_OM_INT64));
  } else if ((a = ig_rd_attr(r, "value_ints")) && a->type == IG_OM_ATTR_INTS) {
    ig_rd_out(r, 0, ig_rd_constant(r, IG_I64, a->ints, (int64_t)a->n));
  } else if ((a = ig_rd_attr(r, "value_float")) && a->type == IG_OM_ATTR_FLOAT) {
    ig_rd_out(r, 0, ig_rd_scalar(r, (double)a->f, IG_F32));
  } else if ((a = ig_rd_attr(r, "value_floats")) && a->type == IG_OM_ATTR_FLOATS) {
    ig_rd_out(r, 0, ig_rd_constant(r, IG_F32, a->floats, (int64_t)a->n));
  } else if ((a = ig_rd_attr(r, "value_string")) && a->type == IG_OM_ATTR_STRING) {
    ig_rd_out_val(r, 0, ig_rd_of_strings(r, &a->s, 1, NULL, 0));
  } else if ((a = ig_rd_attr(r, "value_strings")) && a->type == IG_OM_ATTR_STRINGS) {
    int64_t n = (int64_t)a->n;
    ig_rd_out_val(r, 0, ig_rd_of_strings(r, a->strings, a->n, &n, 1));
  } else {
    ig_rd_fail(r, IG_INVALID, "has no value");
  }
}

static void read_constant_of_shape(ig_rd *r) {
  size_t n = 0;
  const ig_int *shape = ig_rd_ints(r, 0, &n);
  const ig_om_attr *a = ig_rd_attr(r, "value");
  if (!shape) return;
  int elem = IG_OM_FLOAT;
  ig_tensor *one = NULL;
  if (a && a->type == IG_OM_ATTR_TENSOR && a->tensors[0]->numel == 1) {
    elem = a->tensors[0]->elem;
    one = ig_rd_tensor(r, ig_rd_of_data(r, a->tensors[0]));
    if (!one) return;
  }
  ig_dtype dtype = ig_rd_carrier(elem);
  if (!ig_rd_budget(r, shape, n, dtype)) return;
  ig_value fill = one ? ig_element_load(ig_tensor_data(one), dtype) : ig_of_f64(0);
  ig_rd_out_elem(r, 0,
                 ig_full_with(r->c, ig_of_ints(shape, n), fill, ig_of_dtype(dtype), ig_none(),
                              ig_none(), ig_none()),
                 elem);
}

static void read_range(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t) return;
  ig_value v[3];
  bool whole = ig_dtype_is_integral(t->dtype);
  for (size_t i = 0; i < 3; i++) {
    v[i] = whole ? ig_of_int(ig_rd_one_int(r, i)) : ig_of_f64(ig_rd_one_float(r, i));
  }
  if (whole && ig_rd_ok(r)) v[2] = ig_of_i64(ig_rd_plain(r, v[2].i));
  if (!ig_rd_ok(r)) return;
  if (ig_value_is(&v[2], 0)) {
    ig_rd_fail(r, IG_INVALID, "delta is 0");
    return;
  }
  double count = (ig_value_f64(&v[1]) - ig_value_f64(&v[0])) / ig_value_f64(&v[2]);
  ig_int size = ig_const(count > 1e15 ? INT64_MAX / 16 : count > 0 ? (int64_t)count : 0);
  // A range that runs the wrong way is empty here, an error in ATen.
  bool symbolic = whole && (v[0].i.expr || v[1].i.expr);
  if (!symbolic && !ig_rd_budget(r, &size, 1, t->dtype)) return;
  if (count <= 0 && !symbolic) v[1] = v[0];
  ig_rd_out(r, 0,
            ig_arange_start_step_with(r->c, v[0], v[1], v[2], ig_of_dtype(t->dtype), ig_none(),
                                      ig_none(), ig_none()));
}

static ig_tensor *count_to(ig_rd *r, ig_int n) {
  return ig_arange_with(r->c, ig_of_int(n), ig_of_dtype(IG_I64), ig_none(), ig_none(), ig_none());
}

static void read_eye_like(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  if (!t || t->ndim != 2) {
    ig_rd_fail(r, IG_INVALID, "expected 2 dimensions");
    return;
  }
  int elem = (int)ig_rd_attr_int(r, "dtype", ig_rd_elem(r, 0));
  int64_t k = ig_rd_attr_int(r, "k", 0);
  ig_tensor *rows = ig_rd_unsqueeze(r, count_to(r, ig_rd_size(r, t, 0)), 1);
  ig_tensor *columns = count_to(r, ig_rd_size(r, t, 1));
  ig_tensor *offset = ig_rd_sub(r, columns, rows);
  ig_tensor *on = offset ? ig_eq_scalar(r->c, offset, ig_of_i64(k)) : NULL;
  ig_rd_out_elem(r, 0, ig_rd_cast(r, on, IG_OM_BOOL, elem, true), elem);
}

static void read_trilu(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  int64_t k = ig_rd_has(r, 1) ? ig_rd_one_const(r, 1) : 0;
  if (!t || !ig_rd_ok(r)) return;
  bool upper = ig_rd_attr_int(r, "upper", 1);
  ig_tensor *out = upper ? ig_triu_with(r->c, t, ig_const(k)) : ig_tril_with(r->c, t, ig_const(k));
  ig_rd_out_like(r, 0, out, 0);
}

// ---- along an axis

static void read_reverse_sequence(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  ig_tensor *lens = ig_rd_in(r, 1);
  int64_t time = ig_rd_attr_int(r, "time_axis", 0);
  int64_t batch = ig_rd_attr_int(r, "batch_axis", 1);
  if (!t || !lens || t->ndim < 2 || lens->ndim != 1 || (time != 0 && time != 1) ||
      batch != 1 - time) {
    ig_rd_fail(r, IG_INVALID, "expected 2 or more dimensions, of which 0 and 1 are time and batch");
    return;
  }
  ig_tensor *step = ig_rd_along(r, count_to(r, ig_sizes(t)[time]), (int)time, 2);
  lens = ig_rd_along(r, ig_cast(r->c, lens, IG_I64), (int)batch, 2);
  ig_tensor *turned = ig_rd_sub(r, ig_rd_addn(r, lens, -1), step);
  ig_tensor *inside = step && lens ? ig_lt_tensor(r->c, step, lens) : NULL;
  ig_tensor *index = inside && turned ? ig_where_self(r->c, inside, turned, step) : NULL;
  for (int d = 2; d < t->ndim && index; d++) index = ig_rd_unsqueeze(r, index, d);
  index = index ? ig_expand(r->c, index, ig_sizes_of(t)) : NULL;
  ig_rd_out_like(r, 0, index ? ig_gather(r->c, t, ig_const(time), index) : NULL, 0);
}

// ---- pads

static int64_t source_of(int64_t i, int64_t n, const char *mode) {
  if (n <= 1) return 0;
  if (mode[0] == 'e') return i < 0 ? 0 : i >= n ? n - 1 : i;  // edge
  if (mode[0] == 'w') return (i % n + n) % n;                 // wrap
  int64_t period = 2 * (n - 1);                               // reflect
  i = (i % period + period) % period;
  return i < n ? i : period - i;
}

// All padding modes except the constant one select elements.
static ig_tensor *pad_by_index(ig_rd *r, ig_tensor *t, int d, int64_t before, int64_t after,
                               const char *mode) {
  int64_t n = ig_rd_plain(r, ig_sizes(t)[d]);
  const int64_t most = (int64_t)1 << 40;
  int64_t size = 0;
  bool sane = before > -most && before < most && after > -most && after < most;
  if (!sane || !ig_checked_add(n, before, &size) || !ig_checked_add(size, after, &size) ||
      size < 0 || (n == 0 && size > 0)) {
    ig_rd_fail(r, IG_INVALID, "dimension %d cannot be padded by %lld and %lld", d,
               (long long)before, (long long)after);
    return NULL;
  }
  ig_tensor *index = ig_rd_real(r, IG_I64, &size, 1);
  int64_t *at = index ? ig_tensor_data(index) : NULL;
  for (int64_t i = 0; at && i < size; i++) at[i] = source_of(i - before, n, mode);
  return index ? ig_index_select(r->c, t, ig_const(d), index) : NULL;
}

static ig_tensor *pad_constant(ig_rd *r, ig_tensor *t, const int64_t *before, const int64_t *after,
                               ig_tensor *value) {
  ig_int pads[2 * IG_MAX_DIM];
  ig_int sizes[IG_MAX_DIM];
  size_t n = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    pads[n++] = ig_const(before[d]);
    pads[n++] = ig_const(after[d]);
    sizes[d] = ig_int_add(r->c, ig_sizes(t)[d], ig_const(before[d]));
    sizes[d] = ig_int_add(r->c, sizes[d], ig_const(after[d]));
  }
  if (!ig_rd_budget(r, sizes, (size_t)t->ndim, t->dtype)) return NULL;
  if (value && ig_tensor_is_fake(value)) {
    // A value known only at run time: zeros, and ones where the value belongs.
    ig_tensor *zero = ig_constant_pad_nd(r->c, t, ig_of_ints(pads, n));
    ig_tensor *inside = ig_rd_full(r, ig_sizes(t), (size_t)t->ndim, 1, IG_BOOL);
    inside = inside ? ig_constant_pad_nd(r->c, inside, ig_of_ints(pads, n)) : NULL;
    value = ig_rd_reshape(r, value, NULL, 0);
    return inside && zero && value ? ig_where_self(r->c, inside, zero, value) : NULL;
  }
  ig_value fill = ig_of_i64(0);
  if (value && ig_tensor_numel(value) == 1) {
    fill = ig_element_load(ig_tensor_data(value), value->dtype);
  }
  return ig_constant_pad_nd_with(r->c, t, ig_of_ints(pads, n), fill);
}

static void pad_all(ig_rd *r, const int64_t *before, const int64_t *after, ig_tensor *value) {
  ig_tensor *t = ig_rd_in(r, 0);
  const char *mode = ig_rd_attr_text(r, "mode", "constant");
  if (strcmp(mode, "constant") == 0) {
    t = t ? pad_constant(r, t, before, after, value) : NULL;
  } else if (strcmp(mode, "reflect") == 0 || strcmp(mode, "edge") == 0 ||
             strcmp(mode, "wrap") == 0) {
    int ndim = t ? t->ndim : 0;
    for (int d = 0; d < ndim && t; d++) {
      if (before[d] || after[d]) t = pad_by_index(r, t, d, before[d], after[d], mode);
    }
  } else {
    ig_rd_fail(r, IG_INVALID, "attribute 'mode': found '%s'", mode);
  }
  ig_rd_out_like(r, 0, t, 0);
}

static void read_pad(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  int64_t before[IG_MAX_DIM] = {0};
  int64_t after[IG_MAX_DIM] = {0};
  size_t n = 0;
  size_t naxes = 0;
  const int64_t *axes = NULL;
  bool inputs = r->version >= 11;
  const int64_t *pads = inputs ? ig_rd_consts(r, 1, &n)
                               : ig_rd_attr_ints(r, r->version < 2 ? "paddings" : "pads", &n);
  if (inputs && ig_rd_has(r, 3)) axes = ig_rd_consts(r, 3, &naxes);
  if (!t || !pads || !ig_rd_ok(r)) {
    ig_rd_fail(r, IG_INVALID, "pads are missing");
    return;
  }
  if (!axes) naxes = (size_t)t->ndim;
  if (n != 2 * naxes) {
    ig_rd_fail(r, IG_INVALID, "found %zu pads, expected %zu", n, 2 * naxes);
    return;
  }
  for (size_t i = 0; i < naxes; i++) {
    int d = ig_rd_axis(r, axes ? axes[i] : (int64_t)i, t->ndim);
    before[d] = pads[i];
    after[d] = pads[naxes + i];
  }
  ig_tensor *value =
      inputs ? ig_rd_opt(r, 2) : ig_rd_scalar(r, ig_rd_attr_float(r, "value", 0), IG_F64);
  if (ig_rd_ok(r)) pad_all(r, before, after, value);
}

static void read_center_crop_pad(ig_rd *r) {
  ig_tensor *t = ig_rd_in(r, 0);
  size_t n = 0;
  size_t naxes = 0;
  const int64_t *shape = ig_rd_consts(r, 1, &n);
  const int64_t *axes = ig_rd_attr_ints(r, "axes", &naxes);
  if (!t || !shape) return;
  if (axes ? naxes != n : n != (size_t)t->ndim) {
    ig_rd_fail(r, IG_INVALID, "%zu sizes do not fit the axes", n);
    return;
  }
  int64_t before[IG_MAX_DIM] = {0};
  int64_t after[IG_MAX_DIM] = {0};
  for (size_t i = 0; i < n && ig_rd_ok(r); i++) {
    int d = ig_rd_axis(r, axes ? axes[i] : (int64_t)i, t->ndim);
    if (shape[i] < 0) ig_rd_fail(r, IG_INVALID, "a size is negative");
    if (!ig_rd_ok(r)) return;
    int64_t size = ig_rd_plain(r, ig_sizes(t)[d]);
    int64_t more = shape[i] - size;
    before[d] = more < 0 ? -(-more / 2) : more / 2;
    after[d] = more - before[d];
  }
  if (ig_rd_ok(r)) ig_rd_out_like(r, 0, pad_constant(r, t, before, after, NULL), 0);
}

const ig_rd_row ig_rd_rows_shape[] = {
    {"Identity", 1, read_identity},
    {"Shape", 1, read_shape},
    {"Size", 1, read_size},
    {"Reshape", 1, read_reshape_1},
    {"Reshape", 5, read_reshape},
    {"Flatten", 1, read_flatten},
    {"Transpose", 1, read_transpose},
    {"Squeeze", 1, read_squeeze},
    {"Unsqueeze", 1, read_unsqueeze},
    {"Expand", 8, read_expand},
    {"Tile", 6, read_tile},
    {"Concat", 1, read_concat},
    {"Split", 2, read_split},
    {"Slice", 1, read_slice},
    {"DepthToSpace", 1, read_depth_to_space},
    {"SpaceToDepth", 1, read_space_to_depth},
    {"Constant", 1, read_constant},
    {"ConstantOfShape", 9, read_constant_of_shape},
    {"Range", 11, read_range},
    {"EyeLike", 9, read_eye_like},
    {"Trilu", 14, read_trilu},
    {"ReverseSequence", 10, read_reverse_sequence},
    {"Pad", 1, read_pad},
    {"CenterCropPad", 18, read_center_crop_pad},
    {NULL, 0, NULL},
};
