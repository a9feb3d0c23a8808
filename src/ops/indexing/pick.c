// SPDX-License-Identifier: Apache-2.0
// Reading and writing chosen elements: take, put, index_add and its kin, masked_scatter,
// scatter_reduce, one_hot, repeat_interleave, searching in sorted rows, counting.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"
#include "tensor/copy.h"

// ---- take, put, index_add, index_fill ----

static ig_tensor *flat(ig_ctx *c, ig_tensor *x) {
  ig_int all = ig_const(-1);
  return ig_reshape(c, x, ig_of_ints(&all, 1));
}
static bool is_index(ig_ctx *c, const ig_tensor *i, const char *name) {
  if (i->dtype == IG_I64) return true;
  ig_fail_text(c, IG_RUNTIME, "%s(): Expected a long tensor for index, but got %s", name,
               ig_dtype_title(i->dtype));
  return false;
}
static ig_tensor *take_decompose(ig_ctx *c, const ig_value *args) {
  if (!is_index(c, args[1].tensor, "take")) return NULL;
  if (ig_int_eq_i64(c, ig_numel_of(c, args[0].tensor), 0) &&
      !ig_int_eq_i64(c, ig_numel_of(c, args[1].tensor), 0)) {
    ig_fail_text(c, IG_BAD_INDEX, "take(): tried to take from an empty tensor");
    return NULL;
  }
  ig_value index[] = {args[1]};
  return ig_index_tensor(c, flat(c, args[0].tensor), ig_of_list(index, 1));
}
static ig_tensor *put_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  if (!is_index(c, args[1].tensor, "put_")) return NULL;
  if (x->dtype != args[2].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
                 "and source.dtype = %s",
                 ig_dtype_title(x->dtype), ig_dtype_title(args[2].tensor->dtype));
    return NULL;
  }
  ig_value index[] = {ig_of_tensor(flat(c, args[1].tensor))};
  ig_tensor *values = flat(c, args[2].tensor);
  ig_tensor *out = ig_index_put_with(c, flat(c, x), ig_of_list(index, 1), values, args[3].b);
  return ig_view(c, out, ig_sizes_of(x));
}
// None for the dimensions in front of dim, then the index.
static ig_value index_at(ig_ctx *c, int dim, ig_tensor *index) {
  ig_value *list = ig_scope_array(c, (size_t)(dim + 1), sizeof *list);
  if (!list) return ig_none();
  for (int d = 0; d < dim; d++) list[d] = ig_none();
  list[dim] = ig_of_tensor(index);
  return ig_of_list(list, (size_t)(dim + 1));
}
static ig_tensor *index_put_along(ig_ctx *c, ig_tensor *x, int dim, ig_tensor *index,
                                  ig_tensor *values, bool add) {
  ig_value list = index_at(c, dim, index);
  return c->status == IG_OK ? ig_index_put_with(c, x, list, values, add) : NULL;
}
// self, dim, index, source, *, alpha
static ig_tensor *index_add_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  ig_tensor *source = args[3].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (index->ndim > 1) {
    ig_fail_text(c, IG_BAD_INDEX, "index_add_(): Index should have dimension 1 or 0 (got %d)",
                 index->ndim);
    return NULL;
  }
  if (index->dtype != IG_I64 && index->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "index_add_(): Expected dtype int32/int64 for index but got: %s",
                 ig_dtype_title(index->dtype));
    return NULL;
  }
  if (x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "index_add_(): self (%s) and source (%s) must have the same scalar type",
                 ig_dtype_title(x->dtype), ig_dtype_title(source->dtype));
    return NULL;
  }
  if (!ig_value_is(&args[4], 1)) {
    source = ig_cast(c, ig_mul_value(c, source, &args[4]), x->dtype);
  }
  if (x->ndim == 0) {
    ig_tensor *wide = ig_unsqueeze(c, x, ig_const(0));
    wide = index_put_along(c, wide, 0, index, source, true);
    return ig_squeeze_dim(c, wide, ig_const(0));
  }
  return index_put_along(c, x, dim, index, source, true);
}
// self, dim, index, source
static bool copy_fits(ig_ctx *c, const ig_tensor *x, int dim, const ig_tensor *index,
                      const ig_tensor *source) {
  const char *name = "index_copy_(): ";
  ig_int n = ig_numel_of(c, index);
  if (index->ndim > 1) {
    ig_fail_text(c, IG_BAD_INDEX, "%sIndex should have dimension 1 or 0 (got %d)", name,
                 index->ndim);
  } else if (source->ndim == 0 && !ig_int_eq_i64(c, n, 1)) {
    ig_fail_text(c, IG_BAD_INDEX, "%sWhen source is scalar, index should have one element (got %s)",
                 name, ig_int_text(c, n));
  } else if (source->ndim && x->ndim && source->ndim != x->ndim) {
    ig_fail_text(c, IG_BAD_INDEX,
                 "%sWhen source and destination are not scalars, their dimensionality must match. "
                 "Source dimensionality (%d), destination dimensionality (%d)",
                 name, source->ndim, x->ndim);
  } else if (is_index(c, index, "index_copy_") && x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "%sself and source expected to have the same dtype, but got (self) %s and "
                 "(source) %s",
                 name, ig_dtype_title(x->dtype), ig_dtype_title(source->dtype));
  }
  if (c->status != IG_OK || source->ndim == 0) return c->status == IG_OK;
  for (int d = 0; d < x->ndim; d++) {
    if (d == dim || ig_int_eq(c, ig_sizes(x)[d], ig_sizes(source)[d])) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "%sSource/destination tensor must have same slice shapes, but self is %s and "
                 "source %s",
                 name, ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim),
                 ig_sizes_text(c, ig_sizes(source), (size_t)source->ndim));
    return false;
  }
  if (ig_int_eq(c, n, ig_sizes(source)[dim])) return true;
  ig_fail_text(c, IG_BAD_INDEX, "%sNumber of indices (%s) should be equal to source.size(dim) (%s)",
               name, ig_int_text(c, n), ig_int_text(c, ig_sizes(source)[dim]));
  return false;
}
static ig_tensor *index_copy_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  ig_tensor *source = args[3].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK || !copy_fits(c, x, dim, index, source)) return NULL;
  ig_tensor *wide = x->ndim ? x : ig_unsqueeze(c, x, ig_const(0));
  if (index->ndim == 0) index = ig_unsqueeze(c, index, ig_const(0));
  wide = index_put_along(c, wide, dim, index, source, false);
  return x->ndim ? wide : ig_squeeze_dim(c, wide, ig_const(0));
}
static ig_tensor *index_fill(ig_ctx *c, const ig_value *args, ig_tensor *value) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *index = args[2].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK || !value) return NULL;
  if (!is_index(c, index, "index_fill_")) return NULL;
  if (value->ndim != 0) {
    ig_fail_text(c, IG_RUNTIME,
                 "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                 "dimension(s).",
                 value->ndim);
    return NULL;
  }
  ig_tensor *wide = x->ndim ? x : ig_unsqueeze(c, x, ig_const(0));
  ig_int sizes[IG_MAX_DIM];
  memcpy(sizes, ig_sizes(wide), (size_t)wide->ndim * sizeof *sizes);
  sizes[dim] = ig_numel_of(c, index);
  value = ig_expand(c, ig_cast(c, value, x->dtype), ig_of_ints(sizes, (size_t)wide->ndim));
  ig_tensor *out = index_put_along(c, wide, dim, index, value, false);
  return x->ndim ? out : ig_squeeze_dim(c, out, ig_const(0));
}
static ig_tensor *index_fill_int_tensor(ig_ctx *c, const ig_value *args) {
  return index_fill(c, args, args[3].tensor);
}
static ig_tensor *index_fill_int_scalar(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *value = ig_scalar_tensor_with(c, args[3], ig_of_dtype(x->dtype),
                                           (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                                           ig_of_device(x->device), ig_none());
  return index_fill(c, args, value);
}
static ig_tensor *take_along_dim_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *i = args[1].tensor;
  if (i->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.take_along_dim(): dtype of indices should be Long but got %s",
                 ig_dtype_title(i->dtype));
    return NULL;
  }
  if (args[2].kind == IG_KIND_NONE) {
    ig_tensor *from = flat(c, x);
    return ig_gather(c, from, ig_const(0), flat(c, i));
  }
  if (x->ndim != i->ndim) {
    ig_fail_text(c, IG_RUNTIME,
                 "torch.take_along_dim(): input and indices should have the same number of "
                 "dimensions, but got %d dimensions for input, and %d dimensions for indices",
                 x->ndim, i->ndim);
    return NULL;
  }
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[2]), x->ndim);
  if (c->status != IG_OK) return NULL;
  ig_int to_x[IG_MAX_DIM];
  ig_int to_i[IG_MAX_DIM];
  for (int d = 0; d < x->ndim; d++) {
    ig_int a = ig_sizes(x)[d];
    ig_int b = ig_sizes(i)[d];
    ig_int wide = ig_int_eq_i64(c, a, 1) ? b : a;
    to_x[d] = d == dim ? a : wide;
    to_i[d] = d == dim ? b : wide;
  }
  ig_tensor *at = ig_broadcast_to(c, i, ig_of_ints(to_i, (size_t)x->ndim));
  x = ig_broadcast_to(c, x, ig_of_ints(to_x, (size_t)x->ndim));
  return ig_gather(c, x, ig_const(dim), at);
}

// ---- masked_scatter ----

static void masked_scatter_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  if (args[0].tensor->dtype != args[2].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                 ig_dtype_title(args[0].tensor->dtype), ig_dtype_title(args[2].tensor->dtype));
    return;
  }
  if (args[1].tensor->dtype != IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME,
                 "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                 ig_dtype_title(args[1].tensor->dtype));
    return;
  }
  ig_broadcast(c, args, 2, out);
  out->dtype = args[0].tensor->dtype;
}
static void masked_scatter_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  ig_tensor *out = outs[0].tensor;
  size_t n = (size_t)ig_tensor_numel(out);
  size_t size = ig_dtype_size(out->dtype);
  size_t have = (size_t)ig_tensor_numel(args[2].tensor);
  ig_scope s = ig_scope_open(c);
  ig_value sizes = ig_sizes_of(out);
  ig_tensor *x = ig_expand(c, ig_tensor_twin(c, args[0].tensor), sizes);
  ig_tensor *m = ig_expand(c, ig_tensor_twin(c, args[1].tensor), sizes);
  char *to = x ? ig_dense_read(c, x, out->dtype) : NULL;
  const bool *mask = m ? ig_dense_read(c, m, IG_BOOL) : NULL;
  const char *from = ig_dense_read(c, args[2].tensor, out->dtype);
  size_t k = 0;
  for (size_t i = 0; to && mask && from && i < n; i++) {
    if (!mask[i]) continue;
    if (k == have) {
      ig_fail_text(c, IG_RUNTIME, "Number of elements of source < number of ones in mask");
      break;
    }
    memcpy(to + i * size, from + k++ * size, size);
  }
  ig_dense_write(c, out, out->dtype, to);
  ig_scope_close(c, s);
}
static void masked_scatter_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *mask = v->args[1].tensor;
  if (IG_WANTED(v, 0)) {
    ig_tensor *g = ig_masked_fill_scalar(c, v->grad, mask, ig_of_i64(0));
    IG_GRAD(v, 0) = ig_sum_to(c, g, &v->args[0]);
  }
  if (IG_WANTED(v, 2)) {
    IG_GRAD(v, 2) = ig_masked_scatter_backward(c, v->grad, mask, ig_sizes_of(v->args[2].tensor));
  }
}
static ig_tensor *masked_scatter_backward_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *g = args[0].tensor;
  ig_int total = ig_product(c, args[2].ints.at, args[2].ints.n);
  ig_tensor *mask = ig_expand(c, args[1].tensor, ig_sizes_of(g));
  ig_tensor *picked = ig_masked_select(c, g, mask);
  if (!picked) return NULL;
  ig_int rest = ig_int_sub(c, total, ig_numel_of(c, picked));
  if (!ig_int_eq_i64(c, rest, 0)) {
    ig_tensor *zeros = ig_new_zeros(c, g, ig_of_ints(&rest, 1));
    ig_value pair[] = {ig_of_tensor(picked), ig_of_tensor(zeros)};
    picked = ig_cat(c, ig_of_list(pair, 2));
  }
  return ig_view(c, picked, args[2]);
}

// ---- scatter_reduce, index_reduce ----

enum { BY_SUM, BY_PROD, BY_MEAN, BY_MAX, BY_MIN, BY_NOTHING };
static int reduce_of(ig_ctx *c, const ig_value *v) {
  static const char *const names[] = {"sum", "prod", "mean", "amax", "amin"};
  for (int i = 0; i < 5; i++) {
    if (strcmp(v->str, names[i]) == 0) return i;
  }
  ig_fail_text(c, IG_RUNTIME,
               "reduce argument must be either sum, prod, mean, amax or amin, got %s.", v->str);
  return BY_NOTHING;
}
typedef struct scatter {
  double *x;
  int64_t *w;
  ig_c128 *z;
  int64_t *count;
  bool *fresh;  // not yet written
  ig_dtype work;
  int how;
} scatter;
static void put_real(scatter *s, int64_t at, double v) {
  double *x = &s->x[at];
  bool first = s->fresh[at];
  switch (s->how) {
    case BY_PROD:
      *x = first ? v : *x * v;
      break;
    case BY_MAX:
      *x = first || isnan(v) || v > *x ? v : *x;
      break;
    case BY_MIN:
      *x = first || isnan(v) || v < *x ? v : *x;
      break;
    default:
      *x = first ? v : *x + v;
  }
}
static void put_whole(scatter *s, int64_t at, int64_t v) {
  int64_t *x = &s->w[at];
  bool first = s->fresh[at];
  switch (s->how) {
    case BY_PROD:
      *x = first ? v : (int64_t)((uint64_t)*x * (uint64_t)v);
      break;
    case BY_MAX:
      *x = first || v > *x ? v : *x;
      break;
    case BY_MIN:
      *x = first || v < *x ? v : *x;
      break;
    default:
      *x = first ? v : (int64_t)((uint64_t)*x + (uint64_t)v);
  }
}
static void put_complex(scatter *s, int64_t at, ig_c128 v) {
  ig_c128 *x = &s->z[at];
  ig_c128 o = *x;
  if (s->fresh[at]) {
    *x = v;
  } else if (s->how == BY_PROD) {
    *x = (ig_c128){o.re * v.re - o.im * v.im, o.re * v.im + o.im * v.re};
  } else {
    *x = (ig_c128){o.re + v.re, o.im + v.im};
  }
}
static ig_dtype work_of(ig_dtype d) {
  return ig_dtype_is_float(d) ? IG_F64 : ig_dtype_is_complex(d) ? IG_C128 : IG_I64;
}
static bool scatter_open(ig_ctx *c, scatter *s, const ig_tensor *x, int how, bool include) {
  size_t n = (size_t)ig_tensor_numel(x);
  *s = (scatter){.work = work_of(x->dtype), .how = how};
  void *elements = ig_dense_read(c, x, s->work);
  s->x = s->work == IG_F64 ? elements : NULL;
  s->w = s->work == IG_I64 ? elements : NULL;
  s->z = s->work == IG_C128 ? elements : NULL;
  s->count = ig_dense_room(c, n, IG_I64);
  s->fresh = ig_dense_room(c, n, IG_BOOL);
  if (c->status != IG_OK) return false;
  for (size_t i = 0; i < n; i++) {
    s->fresh[i] = !include;
    s->count[i] = include;
  }
  return true;
}
static void scatter_put(scatter *s, int64_t at, const void *from, int64_t k) {
  if (s->x) put_real(s, at, ((const double *)from)[k]);
  if (s->w) put_whole(s, at, ((const int64_t *)from)[k]);
  if (s->z) put_complex(s, at, ((const ig_c128 *)from)[k]);
  s->count[at]++;
  s->fresh[at] = false;
}
static void scatter_close(ig_ctx *c, scatter *s, ig_tensor *out) {
  size_t n = (size_t)ig_tensor_numel(out);
  for (size_t i = 0; s->how == BY_MEAN && i < n; i++) {
    int64_t count = s->count[i] > 1 ? s->count[i] : 1;
    if (s->x) {
      s->x[i] /= (double)count;
    } else if (s->z) {
      s->z[i] = (ig_c128){s->z[i].re / (double)count, s->z[i].im / (double)count};
    } else {
      int64_t q = s->w[i] / count;
      s->w[i] = q - (s->w[i] % count != 0 && s->w[i] < 0);
    }
  }
  void *elements = s->x ? (void *)s->x : s->w ? (void *)s->w : (void *)s->z;
  ig_dense_write(c, out, s->work, elements);
}
// self, dim, index, src, reduce, *, include_self
static void scatter_reduce_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *i = args[2].tensor;
  (void)ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  (void)reduce_of(c, &args[4]);
  if (c->status != IG_OK) return;
  if (i->dtype != IG_I64 && i->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "scatter(): Expected dtype int32/int64 for index");
    return;
  }
  if (x->dtype != args[3].tensor->dtype) {
    ig_fail_text(c, IG_RUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
    return;
  }
  if (ig_dtype_is_complex(x->dtype) && args[4].str[0] == 'a') {
    ig_refuse_dtype(c, "scatter_reduce", x->dtype);
    return;
  }
  int n = x->ndim ? x->ndim : 1;
  bool ranks =
      (i->ndim ? i->ndim : 1) == n && (args[3].tensor->ndim ? args[3].tensor->ndim : 1) == n;
  if (!ranks && !ig_int_eq_i64(c, ig_numel_of(c, i), 0)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Index tensor must have the same number of dimensions as self tensor");
    return;
  }
  int dim = ig_wrap_dim(c, args[1].i.value, x->ndim);  // concrete: a dimension
  for (int d = 0; ranks && d < x->ndim && d < i->ndim; d++) {
    bool over = d != dim && ig_int_is(c, ig_sizes(x)[d], IG_LT, ig_sizes(i)[d]);
    if (!over) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Expected index %s to be no larger than self %s apart from dimension %d",
                 ig_sizes_text(c, ig_sizes(i), (size_t)i->ndim),
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim), dim);
    return;
  }
  ig_shape_like(c, op, args, out);
}
static void scatter_reduce_kernel(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_value *outs) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *index = args[2].tensor;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  ig_scope scope = ig_scope_open(c);
  scatter s;
  bool ok = scatter_open(c, &s, x, reduce_of(c, &args[4]), args[5].b);
  const int64_t *at = ig_dense_read(c, index, IG_I64);
  // src may be larger than the index: read the corner.
  ig_tensor *corner = ig_tensor_twin(c, args[3].tensor);
  for (int d = 0; d < index->ndim && corner && corner->ndim == index->ndim; d++) {
    corner = ig_narrow(c, corner, ig_const(d), ig_const(0), ig_sizes(index)[d]);
  }
  int64_t n = ig_tensor_numel(index);
  if (c->status == IG_OK && corner && ig_tensor_numel(corner) < n) {
    const ig_tensor *src = args[3].tensor;
    ig_fail_text(c, IG_RUNTIME, "Expected index %s to be no larger than src %s",
                 ig_sizes_text(c, ig_sizes(index), (size_t)index->ndim),
                 ig_sizes_text(c, ig_sizes(src), (size_t)src->ndim));
  }
  ok = ok && c->status == IG_OK;
  const void *from = ok && corner ? ig_dense_read(c, corner, s.work) : NULL;
  int64_t limit = x->ndim ? ig_sizes(x)[dim].value : 1;  // concrete: real sizes
  bool fits = index->ndim == x->ndim || n <= 1;
  for (int64_t k = 0; at && from && fits && k < n; k++) {
    int64_t rest = k;
    int64_t to = 0;
    int64_t step = 1;
    if (at[k] < 0 || at[k] >= limit) {
      ig_fail_text(c, IG_BAD_INDEX, "index %lld is out of bounds for dimension %d with size %lld",
                   (long long)at[k], dim, (long long)limit);
      break;
    }
    for (int d = x->ndim - 1; d >= 0; d--) {
      int64_t len = index->ndim ? ig_sizes(index)[d].value : 1;  // concrete: real sizes
      to += (d == dim ? at[k] : rest % len) * step;
      rest /= len;
      step *= ig_sizes(x)[d].value;  // concrete: real sizes
    }
    scatter_put(&s, to, from, k);
  }
  if (ok && c->status == IG_OK) scatter_close(c, &s, outs[0].tensor);
  ig_scope_close(c, scope);
}
static ig_tensor *with_zero(ig_ctx *c, ig_tensor *x, const ig_value *dim, ig_tensor *index) {
  return ig_scatter_value(c, x, dim->i, index, ig_of_i64(0));
}
static void scatter_prod_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *index = a[2].tensor;
  ig_tensor *g = ig_mul_tensor(c, v->grad, v->out);
  if (IG_WANTED(v, 0)) {
    ig_tensor *d = ig_div_tensor(c, g, a[0].tensor);
    IG_GRAD(v, 0) = a[5].b ? d : with_zero(c, d, &a[1], index);
  }
  if (IG_WANTED(v, 3)) {
    IG_GRAD(v, 3) = ig_div_tensor(c, ig_gather(c, g, a[1].i, index), a[3].tensor);
  }
}
static void scatter_extreme_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *index = a[2].tensor;
  ig_tensor *won = ig_cast(c, ig_eq_tensor(c, a[0].tensor, v->out), v->grad->dtype);
  if (!a[5].b) won = with_zero(c, won, &a[1], index);
  ig_tensor *hit = ig_eq_tensor(c, a[3].tensor, ig_gather(c, v->out, a[1].i, index));
  hit = ig_cast(c, hit, v->grad->dtype);
  ig_tensor *count = ig_scatter_add(c, won, a[1].i, index, hit);
  ig_tensor *share = ig_div_tensor(c, v->grad, count);
  IG_GRAD(v, 0) = ig_mul_tensor(c, won, share);
  IG_GRAD(v, 3) = ig_mul_tensor(c, hit, ig_gather(c, share, a[1].i, index));
}
static void scatter_reduce_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_tensor *index = a[2].tensor;
  int how = reduce_of(c, &a[4]);
  if (how == BY_PROD) {
    scatter_prod_vjp(c, v);
  } else if (how == BY_MAX || how == BY_MIN) {
    scatter_extreme_vjp(c, v);
  } else {
    ig_tensor *g = v->grad;
    if (how == BY_MEAN) {
      ig_tensor *count = a[5].b ? ig_ones_like(c, g) : ig_zeros_like(c, g);
      count = ig_scatter_add(c, count, a[1].i, index, ig_ones_like(c, a[3].tensor));
      count = ig_clamp_min(c, count, ig_of_i64(1));
      g = ig_div_tensor(c, g, count);
    }
    IG_GRAD(v, 0) = a[5].b ? g : with_zero(c, g, &a[1], index);
    IG_GRAD(v, 3) = ig_gather(c, g, a[1].i, index);
  }
}

// self, dim, index, source, reduce, *, include_self: rows of self; by way of scatter_reduce
static ig_tensor *index_reduce_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *source = args[3].tensor;
  if (!is_index(c, args[2].tensor, "index_reduce")) return NULL;
  int dim = ig_wrap_dim(c, ig_value_i64(c, &args[1]), x->ndim);
  if (c->status != IG_OK) return NULL;
  if (x->dtype != source->dtype) {
    ig_fail_text(c, IG_RUNTIME, "index_reduce_(): self and source must have the same scalar type");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM];
  for (int d = 0; d < source->ndim; d++) sizes[d] = d == dim ? ig_const(-1) : ig_const(1);
  ig_tensor *index = args[2].tensor;
  if (source->ndim) {
    index = ig_view(c, index, ig_of_ints(sizes, (size_t)source->ndim));
    index = ig_expand(c, index, ig_sizes_of(source));
  }
  return ig_scatter_reduce_two_with(c, x, ig_const(dim), index, source, args[4], args[5].b);
}

// ---- one_hot, repeat_interleave, isin ----

static ig_tensor *one_hot_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  int64_t classes = ig_value_i64(c, &args[1]);
  if (x->dtype != IG_I64) {
    ig_fail_text(c, IG_RUNTIME, "one_hot is only applicable to index tensor of type LongTensor.");
    return NULL;
  }
  if (classes < -1 || classes == 0) {
    ig_fail_text(c, IG_RUNTIME,
                 classes == 0 && ig_int_eq_i64(c, ig_numel_of(c, x), 0)
                     ? "Class values must be smaller than num_classes."
                     : "num_classes should be positive");
    return NULL;
  }
  if (classes == -1) {
    ig_value most[IG_MAX_RETURNS];
    ig_item(c, ig_max(c, x), most);
    classes = ig_value_i64(c, &most[0]) + 1;
  }
  ig_value layout = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  ig_tensor *at = ig_arange_with(c, ig_of_i64(classes), ig_of_dtype(IG_I64), layout,
                                 ig_of_device(x->device), ig_none());
  ig_tensor *hot = ig_eq_tensor(c, ig_unsqueeze(c, x, ig_const(-1)), at);
  return ig_to_dtype(c, hot, ig_of_dtype(IG_I64));
}

// repeats -> indices
static void repeat_fake(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_meta m;
  (void)op;
  if (args[0].tensor->ndim != 1) {
    ig_fail_text(c, IG_RUNTIME, "repeat_interleave only accept 1D vector as repeat");
    return;
  }
  if (args[0].tensor->dtype != IG_I64 && args[0].tensor->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME, "repeats has to be Long or Int tensor");
    return;
  }
  ig_meta_init(&m, args[0].tensor->dtype, args[0].tensor->device);
  ig_int n = args[1].kind == IG_KIND_INT ? args[1].i : ig_sym_unbacked(c);
  if (args[1].kind != IG_KIND_INT) ig_sym_constrain(c, n, 0, INT64_MAX, true);
  ig_meta_push_dim(c, &m, n);
  ig_meta_contiguous(c, &m);
  outs[0] = ig_of_tensor(ig_tensor_make(c, &m, true));
}
static void repeat_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  const ig_tensor *r = args[0].tensor;
  if (r->ndim != 1 || (r->dtype != IG_I64 && r->dtype != IG_I32)) {
    repeat_fake(c, op, args, outs);
    return;
  }
  int64_t n = ig_tensor_numel(r);
  int64_t *reps = ig_dense_read(c, r, IG_I64);
  int64_t total = 0;
  for (int64_t i = 0; reps && i < n; i++) {
    if (reps[i] < 0) {
      ig_fail_text(c, IG_RUNTIME, "repeats can not be negative");
      return;
    }
    if (!ig_checked_add(total, reps[i], &total)) {
      ig_fail_text(c, IG_OVERFLOW, "repeats: their sum is too large");
      return;
    }
  }
  if (args[1].kind == IG_KIND_INT && args[1].i.value != total) {  // concrete: a real count
    ig_fail_text(c, IG_RUNTIME, "allocated size does not match required size");
    return;
  }
  ig_meta m;
  ig_meta_init(&m, r->dtype, r->device);
  ig_meta_push_dim(c, &m, ig_const(total));
  ig_meta_contiguous(c, &m);
  ig_tensor *out = ig_tensor_make(c, &m, false);
  int64_t *at = ig_dense_room(c, (size_t)total, IG_I64);
  int64_t k = 0;
  for (int64_t i = 0; reps && at && i < n; i++) {
    for (int64_t j = 0; j < reps[i]; j++) at[k++] = i;
  }
  if (!out) return;
  ig_dense_write(c, out, IG_I64, at);
  outs[0] = ig_of_tensor(out);
}
static ig_tensor *repeat_self_tensor(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *reps = args[1].tensor;
  ig_int dim = args[2].kind == IG_KIND_NONE ? ig_const(0) : args[2].i;
  if (args[2].kind == IG_KIND_NONE) x = ig_flatten_using_ints(c, x);
  if (!x) return NULL;
  int at = ig_wrap_dim(c, dim.value, x->ndim);  // concrete: a dimension
  if (c->status != IG_OK) return NULL;
  ig_int size = x->ndim ? ig_sizes(x)[at] : ig_const(1);
  if (reps->ndim == 0 || (reps->ndim == 1 && ig_int_eq_i64(c, ig_sizes(reps)[0], 1))) {
    reps = ig_expand(c, ig_reshape(c, reps, ig_of_ints((ig_int[]){ig_const(1)}, 1)),
                     ig_of_ints(&size, 1));
  } else if (reps->ndim != 1 || !ig_int_eq(c, ig_sizes(reps)[0], size)) {
    ig_fail_text(c, IG_RUNTIME,
                 "repeats must have the same size as input along dim, but got repeats.size(0) = %s "
                 "and input.size(%d) = %s",
                 reps->ndim ? ig_int_text(c, ig_sizes(reps)[0]) : "1", at, ig_int_text(c, size));
    return NULL;
  }
  ig_tensor *index = ig_repeat_interleave_tensor_with(c, reps, args[3]);
  return ig_index_select(c, x, dim, index);
}
static ig_tensor *repeat_self_int(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int reps = args[1].i;
  ig_int dim = args[2].kind == IG_KIND_NONE ? ig_const(0) : args[2].i;
  if (args[2].kind == IG_KIND_NONE) x = ig_flatten_using_ints(c, x);
  if (!x) return NULL;
  int at = ig_wrap_dim(c, dim.value, x->ndim);  // concrete: a dimension
  if (c->status != IG_OK) return NULL;
  if (ig_int_is(c, reps, IG_LT, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "Repeats must be non-negative");
    return NULL;
  }
  ig_int sizes[IG_MAX_DIM + 1];
  for (int d = 0; d < x->ndim; d++) sizes[d + (d > at)] = ig_sizes(x)[d];
  sizes[at + 1] = reps;
  if (x->ndim == 0) sizes[0] = ig_const(1);
  ig_tensor *wide = ig_unsqueeze(c, x, ig_const(at + 1 <= x->ndim ? at + 1 : 0));
  wide = ig_expand(c, wide, ig_of_ints(sizes, (size_t)x->ndim + 1));
  wide = ig_clone_with(c, wide, ig_of_memory_format(IG_CONTIGUOUS));
  return ig_flatten_using_ints_with(c, wide, ig_const(at), ig_const(at + 1));
}
// elements, test_elements, *, assume_unique, invert
static ig_tensor *isin_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *y = args[1].tensor;
  ig_int sizes[IG_MAX_DIM];
  if (ig_dtype_is_complex(x->dtype) || x->dtype == IG_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "Unsupported input type encountered for isin(): %s",
                 ig_dtype_title(x->dtype));
    return NULL;
  }
  if (x->ndim + y->ndim > IG_MAX_DIM) {
    ig_fail_text(c, IG_RUNTIME, "isin: found %d and %d dimensions, expected at most %d together",
                 x->ndim, y->ndim, IG_MAX_DIM);
    return NULL;
  }
  memcpy(sizes, ig_sizes(x), (size_t)x->ndim * sizeof *sizes);
  for (int d = 0; d < y->ndim; d++) sizes[x->ndim + d] = ig_const(1);
  ig_int dims[IG_MAX_DIM];
  for (int d = 0; d < y->ndim; d++) dims[d] = ig_const(-y->ndim + d);
  ig_tensor *wide = ig_view(c, x, ig_of_ints(sizes, (size_t)(x->ndim + y->ndim)));
  ig_tensor *hit = ig_eq_tensor(c, wide, y);
  if (y->ndim) hit = ig_any_dims_with(c, hit, ig_of_ints(dims, (size_t)y->ndim), false);

  return args[3].b ? ig_logical_not(c, hit) : hit;
}
static ig_tensor *isin_scalar(ig_ctx *c, const ig_value *args) {
  return args[3].b ? ig_ne_scalar(c, args[0].tensor, args[1])
                   : ig_eq_scalar(c, args[0].tensor, args[1]);
}
static ig_tensor *scalar_isin(ig_ctx *c, const ig_value *args) {
  ig_dtype dtype = args[0].kind == IG_KIND_INT ? IG_I64 : ig_ctx_default_dtype(c);
  ig_tensor *x = ig_scalar_tensor_with(c, args[0], ig_of_dtype(dtype), ig_none(),
                                       ig_of_device(args[1].tensor->device), ig_none());
  ig_value given[] = {ig_of_tensor(x), args[1], args[2], args[3]};
  return x ? isin_decompose(c, given) : NULL;
}
static ig_tensor *argwhere_decompose(ig_ctx *c, const ig_value *args) {
  return ig_nonzero(c, args[0].tensor);
}

IG_OP(take) = {
    .schema = "aten::take(Tensor self, Tensor index) -> Tensor",
    .decompose = take_decompose,
    .samples = "f32[2,3], i64[3]:<6 | f32[4], i64[2,2]:<4",
};
IG_OP(put) = {
    .schema =
        "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> "
        "Tensor",
    .decompose = put_decompose,
    .samples = "f32[2,3], i64[3]:perm, f32[3] | f32[4], i64[2]:<4, f32[2], True",
};
IG_OP(index_add) = {
    .schema =
        "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar "
        "alpha=1) -> Tensor",
    .decompose = index_add_decompose,
    .samples = "f32[4,2], 0, i64[3]:<4, f32[3,2] | f32[2,4], 1, i64[2]:<4, f32[2,2], alpha=2",
    .waive =
        "size 4=0: PyTorch compares the shapes of self and source; size 4=1: PyTorch compares the "
        "shapes of self and source",
};
IG_OP(index_copy) = {
    .schema = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    .autocast = IG_AUTOCAST_WIDEST,
    .decompose = index_copy_decompose,
    .samples =
        "f32[4,2], 0, i64{3,0,1}, f32[3,2] | f32[2,4], -1, i64{2,1}, f32[2,2] | f32[], 0, i64{0}, "
        "f32[1] | f32[3,2], 0, i64{1}, f32[1,2]",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(index_fill_int_scalar) = {
    .schema =
        "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) "
        "-> Tensor",
    .decompose = index_fill_int_scalar,
    .samples = "f32[4,2], 0, i64[2]:<4, 2.5 | f32[2,4], 1, i64[2]:<4, 1",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(index_fill_int_tensor) = {
    .schema =
        "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) "
        "-> Tensor",
    .decompose = index_fill_int_tensor,
    .samples = "f32[4,2], 0, i64[2]:<4, f32[]",
    .waive = "size 4=0: RuntimeError in PyTorch, IndexError here",
};
IG_OP(take_along_dim) = {
    .schema = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    .decompose = take_along_dim_decompose,
    .samples = "f32[2,3], i64[2,1]:<3, 1 | f32[2,3], i64[2]:<6",
    .waive = "size 3=1: refused here, PyTorch computes it",
};
IG_OP(masked_scatter) = {
    .schema = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .shape = masked_scatter_shape,
    .kernel = masked_scatter_kernel,
    .vjp = masked_scatter_vjp,
    .keep = "mask",
    .samples = "f32[3,5], bool[3,5], f32[15] | f32[4], bool[4], f32[2,3]",
};
IG_OP(masked_scatter_backward) = {
    .schema =
        "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] "
        "sizes) -> Tensor",
    .decompose = masked_scatter_backward_decompose,
    .samples = "f32[3,5], bool[3,5], [15]",
    .waive =
        "fake: lengths stand in the data; symbolic: lengths stand in the data; 0-d: refused here, "
        "PyTorch computes it",
};
IG_OP(scatter_reduce_two) = {
    .schema =
        "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str "
        "reduce, *, bool include_self=True) -> Tensor",
    .shape = scatter_reduce_shape,
    .kernel = scatter_reduce_kernel,
    .vjp = scatter_reduce_vjp,
    .samples =
        "f32[3], 0, i64[4]:<3, f32[4], 'sum' | f32[3,2]:+, 0, i64[2,2]:<3, f32[2,2]:+, "
        "'prod' | f32[3], 0, i64[4]:<3, f32[4], 'mean' | f32[3], 0, i64[4]:<3, f32[4], "
        "'amax', include_self=False | f32[3,2], 1, i64[3,2]:<2, f32[3,2], 'amin'",
    .waive =
        "complex gradient: products are differentiated as PyTorch does; size 3=0: RuntimeError in "
        "PyTorch, IndexError here; size 3=1: RuntimeError in PyTorch, IndexError here",
};
IG_OP(index_reduce) = {
    .schema =
        "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str "
        "reduce, *, bool include_self=True) -> Tensor",
    .decompose = index_reduce_decompose,
    .samples =
        "f32[4,2]:+, 0, i64[3]:<4, f32[3,2]:+, 'prod' | f32[4,2], 0, i64[3]:<4, "
        "f32[3,2], 'amax' | f32[4,2], 0, i64[3]:<4, f32[3,2], 'mean', "
        "include_self=False",
    .waive = "complex gradient: products are differentiated as PyTorch does",
};
IG_OP(one_hot) = {
    .schema = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
    .decompose = one_hot_decompose,
    .samples = "i64[3]:<4, 4 | i64[2,3]:<5, 5",
};
IG_OP(repeat_interleave_tensor) = {
    .schema =
        "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) "
        "-> Tensor",
    .fake = repeat_fake,
    .kernel = repeat_kernel,
    .samples = "i64[3]:<4 | i32[2]:<3",
    .not_differentiable = true,
};
IG_OP(repeat_interleave_self_tensor) = {
    .schema =
        "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? "
        "dim=None, *, SymInt? output_size=None) -> Tensor",
    .decompose = repeat_self_tensor,
    .samples = "f32[2,2], i64[2]:<4, 0 | f32[4], i64[4]:<3",
    .waive = "fake: lengths stand in the data; symbolic: lengths stand in the data",
};
IG_OP(repeat_interleave_self_int) = {
    .schema =
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, "
        "*, SymInt? output_size=None) -> Tensor",
    .decompose = repeat_self_int,
    .samples = "f32[3], 2 | f32[2,3], 2, 1",
};
IG_OP(isin_tensor_tensor) = {
    .schema =
        "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = isin_decompose,
    .samples = "i64[4], i64[3] | f32[2,2], f32[2], invert=True",
};
IG_OP(isin_tensor_scalar) = {
    .schema =
        "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = isin_scalar,
    .samples = "i64[4], 2 | f32[2,2], 0.5, invert=True",
};
IG_OP(isin_scalar_tensor) = {
    .schema =
        "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
        "assume_unique=False, bool invert=False) -> Tensor",
    .decompose = scalar_isin,
    .samples = "2, i64[3] | 0.5, f32[2], invert=True",
};
IG_OP(argwhere) = {
    .schema = "aten::argwhere(Tensor self) -> Tensor",
    .decompose = argwhere_decompose,
    .samples = "bool[3,4] | f32[3]",
    .waive = "fake: lengths stand in the data; symbolic: lengths stand in the data",
};
