// SPDX-License-Identifier: Apache-2.0
// scatter with a reduction of the elements that meet in one place.
#include <math.h>
#include <string.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

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
  ig_tensor *corner = ig_tensor_alias(c, args[3].tensor);
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
