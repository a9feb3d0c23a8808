// SPDX-License-Identifier: Apache-2.0
// ONNX of orders and running sums. TopK of all elements sorts; equal ones keep their order.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

typedef struct order {
  const char *values;
  const char *indices;
  ig_dtype dtype;
} order;

static ig_dtype top_type(const ig_onnx *x, const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  ig_dtype d = ig_onnx_compute_type(x, "TopK", t ? t->dtype : IG_F32);
  return d == IG_F16 && x->opset < 14 ? IG_F32 : d;
}

static order top(ig_onnx *x, const char *in, ig_dtype d, const char *k, int64_t axis,
                 bool largest) {
  const char *outs[] = {ig_onnx_fresh(x, "TopK"), ig_onnx_fresh(x, "TopK")};
  (void)ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "TopK",
                         .in = {in, k},
                         .attrs = {ig_onnx_int("axis", axis), ig_onnx_int("largest", largest),
                                   ig_onnx_int("sorted", 1)},
                         .outs = outs,
                         .nouts = 2});
  return (order){outs[0], outs[1], d};
}

static void give(ig_onnx *x, const ig_onnx_call *call, const order *o) {
  if (call->outs[0]) (void)ig_onnx_finish(x, call, o->values, o->dtype);
  if (call->outs[1]) ig_onnx_same(x, o->indices, call->outs[1]);
}

static ig_int size_at(const ig_value *v, int64_t axis) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  return t && axis < t->ndim ? ig_sizes(t)[axis] : ig_const(1);
}

static void sort_by(ig_onnx *x, const ig_onnx_call *call, const ig_value *dim,
                    const ig_value *descending) {
  const ig_value *self = &call->args[0];
  if (ig_onnx_ndim(self) == 0) {
    if (call->outs[0]) {
      const char *in = ig_onnx_operand(x, self, IG_DTYPE_COUNT);
      ig_onnx_same(x, in, call->outs[0]);
    }
    if (call->outs[1]) {
      ig_onnx_same(x, ig_onnx_number(x, IG_I64, 0), call->outs[1]);
    }
    return;
  }
  ig_dtype d = top_type(x, self);
  int64_t axis = ig_onnx_dim(x, dim, ig_onnx_ndim(self));
  const char *k = ig_onnx_size(x, size_at(self, axis));
  const char *in = ig_onnx_operand(x, self, d);
  order o = top(x, in, d, k, axis, ig_onnx_bool_of(x, descending));
  give(x, call, &o);
}

static void sort(ig_onnx *x, const ig_onnx_call *call) {
  sort_by(x, call, &call->args[1], &call->args[2]);
}
static void sort_stable(ig_onnx *x, const ig_onnx_call *call) {
  sort_by(x, call, &call->args[2], &call->args[3]);
}

// self, k, dim, largest, sorted
static void topk(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  ig_dtype d = top_type(x, &a[0]);
  int64_t axis = ig_onnx_dim(x, &a[2], ig_onnx_ndim(&a[0]));
  const char *k = ig_onnx_size(x, ig_onnx_symint_of(x, &a[1]));
  const char *in = ig_onnx_operand(x, &a[0], d);
  order o = top(x, in, d, k, axis, ig_onnx_bool_of(x, &a[3]));
  give(x, call, &o);
}

// The element of rank k (from 0) along an axis, and where it was
static void rank(ig_onnx *x, const ig_onnx_call *call, ig_int k, int64_t axis, bool keep) {
  ig_dtype d = top_type(x, &call->args[0]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *all = ig_onnx_size(x, ig_int_add(x->c, k, ig_const(1)));
  order o = top(x, in, d, all, axis, false);
  const char *last = ig_onnx_integer(x, IG_I64, -1);
  if (keep) last = ig_onnx_vector(x, (int64_t[]){-1}, 1);
  o.values = ig_onnx_gather(x, o.values, last, axis, NULL);
  o.indices = ig_onnx_gather(x, o.indices, last, axis, NULL);
  give(x, call, &o);
}

static bool has_dims(int opset, const ig_value *args, size_t n) {
  (void)opset;
  (void)n;
  return ig_onnx_ndim(&args[0]) > 0;
}

// self, k, dim, keepdim
static void kthvalue(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  int64_t axis = ig_onnx_dim(x, &a[2], ig_onnx_ndim(&a[0]));
  ig_int k = ig_int_sub(x->c, ig_onnx_symint_of(x, &a[1]), ig_const(1));
  rank(x, call, k, axis, ig_onnx_bool_of(x, &a[3]));
}

// self, dim, keepdim: the lower of the two in the middle
static void median_dim(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  int64_t axis = ig_onnx_dim(x, &a[1], ig_onnx_ndim(&a[0]));
  ig_int n = ig_int_sub(x->c, size_at(&a[0], axis), ig_const(1));
  rank(x, call, ig_int_floordiv(x->c, n, ig_const(2)), axis, ig_onnx_bool_of(x, &a[2]));
}

// ---- unique

// Results that were not requested are empty.
static void give_unique(ig_onnx *x, const ig_onnx_call *call, size_t i, const char *name) {
  if (call->outs[i]) ig_onnx_same(x, name, call->outs[i]);
}

// Rows along an axis (of no dimension: all elements), sorted; where they went, how many there are.
static void unique(ig_onnx *x, const ig_onnx_call *call, const ig_value *dim, bool inverse,
                   bool counts) {
  const ig_tensor *t = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype d = t ? t->dtype : IG_F32;
  bool known = d == IG_F32 || d == IG_F64 || d == IG_I64;
  d = known ? d : ig_dtype_is_float(d) ? IG_F32 : IG_I64;
  const char *outs[] = {ig_onnx_fresh(x, "Unique"), "", ig_onnx_fresh(x, "Unique"),
                        ig_onnx_fresh(x, "Unique")};
  int64_t axis = dim && t && t->ndim ? ig_onnx_dim(x, dim, t->ndim) : -1;
  ig_onnx_node node = {.op_type = "Unique",
                       .in = {ig_onnx_operand(x, &call->args[0], d)},
                       .attrs = {ig_onnx_int("sorted", 1)},
                       .outs = outs,
                       .nouts = 4};
  if (axis >= 0) node.attrs[1] = ig_onnx_int("axis", axis);
  (void)ig_onnx_emit(x, &node);
  if (call->outs[0]) (void)ig_onnx_finish(x, call, outs[0], d);
  const char *none = inverse && counts ? "" : ig_onnx_vector(x, NULL, 0);
  if (inverse && !dim && t && t->ndim != 1 && call->outs[1]) {
    const char *sizes = ig_onnx_shape_of(x, ig_sizes(t), (size_t)t->ndim);
    outs[2] = ig_onnx_emit2(x, "Reshape", outs[2], sizes, NULL);
  }
  give_unique(x, call, 1, inverse ? outs[2] : none);
  give_unique(x, call, 2, counts ? outs[3] : none);
}

// self, sorted, return_inverse, return_counts
static void unique_all(ig_onnx *x, const ig_onnx_call *call) {
  bool inverse = ig_onnx_bool_of(x, &call->args[2]);
  unique(x, call, NULL, inverse, ig_onnx_bool_of(x, &call->args[3]));
}

// self, dim, sorted, return_inverse, return_counts: they are returned anyway
static void unique_dim(ig_onnx *x, const ig_onnx_call *call) {
  unique(x, call, &call->args[1], true, true);
}

// ---- running sums

static const char *axis_scalar(ig_onnx *x, int64_t axis) {
  return ig_onnx_integer(x, IG_I64, axis);
}

// self, dim, *, dtype
static void cumsum(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "CumSum", call->val->dtype);
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  if (ndim == 0) {
    (void)ig_onnx_finish(x, call, in, d);
    return;
  }
  int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
  ig_onnx_node node = {.op_type = "CumSum", .in = {in, axis_scalar(x, axis)}};
  (void)ig_onnx_emit_as(x, call, &node, d);
}

// The axis last and repeated, so that row i has the elements up to i, and `neutral` behind them.
static const char *triangle(ig_onnx *x, const char *in, int ndim, int64_t axis, ig_int n,
                            const char *neutral) {
  int64_t perm[IG_MAX_DIM];
  for (int i = 0; i < ndim; i++) perm[i] = i < axis ? i : i + 1;
  if (ndim) perm[ndim - 1] = axis;
  in = ig_onnx_transpose(x, in, perm, (size_t)ndim, NULL);
  in = ig_onnx_unsqueeze(x, in, ndim - 1, NULL);  // [..., 1, n]
  const char *limit =
      n.expr ? ig_onnx_scalar_of(x, n.expr, IG_I64) : ig_onnx_integer(x, IG_I64, n.value);
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *column = ig_onnx_emit3(x, "Range", zero, limit, ig_onnx_integer(x, IG_I64, 1), NULL);
  const char *row = ig_onnx_unsqueeze(x, column, 1, NULL);
  const char *seen = ig_onnx_emit2(x, "LessOrEqual", column, row, NULL);
  return ig_onnx_emit3(x, "Where", seen, in, neutral, NULL);
}

// The results have the axis last: put it back.
static const char *put_back(ig_onnx *x, const char *in, int ndim, int64_t axis, const char *out) {
  int64_t perm[IG_MAX_DIM];
  for (int i = 0; i < ndim; i++) perm[i] = i < axis ? i : i == axis ? ndim - 1 : i - 1;
  return ig_onnx_transpose(x, in, perm, (size_t)ndim, out);
}

// self, dim, *, dtype
static void cumprod(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "ReduceProd", call->val->dtype);
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  if (ndim == 0) {
    (void)ig_onnx_finish(x, call, in, d);
    return;
  }
  int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
  const char *one = ig_onnx_number(x, d, 1);
  in = triangle(x, in, ndim, axis, size_at(&call->args[0], axis), one);
  in = ig_onnx_reduce_node(x, "ReduceProd", in, (int64_t[]){-1}, 1, false, NULL);
  (void)ig_onnx_finish(x, call, put_back(x, in, ndim, axis, NULL), d);
}

static double lowest(ig_dtype d, bool most) {
  double edge = ig_dtype_is_float(d) ? (double)INFINITY : d == IG_I32 ? 2147483647.0 : 9.2e18;
  return most ? -edge : edge;
}

// self, dim: values and where they were last
static void running_extreme(ig_onnx *x, const ig_onnx_call *call, bool most) {
  ig_dtype d = ig_onnx_compute_type(x, "ReduceMax", call->val->dtype);
  int ndim = ig_onnx_ndim(&call->args[0]);
  int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *edge = ig_onnx_number(x, d, lowest(d, most));
  in = triangle(x, in, ndim, axis, size_at(&call->args[0], axis), edge);
  if (call->outs[0]) {
    const char *op = most ? "ReduceMax" : "ReduceMin";
    const char *v = ig_onnx_reduce_node(x, op, in, (int64_t[]){-1}, 1, false, NULL);
    (void)ig_onnx_finish(x, call, put_back(x, v, ndim, axis, NULL), d);
  }
  if (!call->outs[1]) return;
  const char *at =
      ig_onnx_emit(x, &(ig_onnx_node){.op_type = most ? "ArgMax" : "ArgMin",
                                      .in = {in},
                                      .attrs = {ig_onnx_int("axis", -1), ig_onnx_int("keepdims", 0),
                                                ig_onnx_int("select_last_index", 1)}});
  (void)put_back(x, at, ndim, axis, call->outs[1]);
}
static void cummax(ig_onnx *x, const ig_onnx_call *call) {
  running_extreme(x, call, true);
}
static void cummin(ig_onnx *x, const ig_onnx_call *call) {
  running_extreme(x, call, false);
}

// log of running sums of exponentials
static void logcumsumexp(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  int ndim = ig_onnx_ndim(&call->args[0]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
  const char *edge = ig_onnx_number(x, d, -(double)INFINITY);
  in = triangle(x, in, ndim, axis, size_at(&call->args[0], axis), edge);
  in = ig_onnx_reduce_node(x, "ReduceLogSumExp", in, (int64_t[]){-1}, 1, false, NULL);
  (void)put_back(x, in, ndim, axis, call->out);
}

// ---- search in sorted sequences

// How many boundaries lie before each value: boundaries [..., n], values [..., m]
static void places(ig_onnx *x, const ig_onnx_call *call, const ig_value *bounds,
                   const ig_value *values, bool right) {
  const ig_tensor *t = ig_onnx_tensor_of(values);
  const ig_tensor *b = ig_onnx_tensor_of(bounds);
  ig_dtype d = ig_onnx_compute_type(x, "Less", b ? b->dtype : IG_F32);
  if (t && ig_dtype_is_float(t->dtype) && !ig_dtype_is_float(d)) d = IG_F32;
  const char *at = ig_onnx_unsqueeze(x, ig_onnx_operand(x, values, d), -1, NULL);
  const char *edges = ig_onnx_operand(x, bounds, d);
  if (b && b->ndim > 1) edges = ig_onnx_unsqueeze(x, edges, -2, NULL);
  const char *before = ig_onnx_emit2(x, right ? "LessOrEqual" : "Less", edges, at, NULL);
  before = ig_onnx_cast(x, before, IG_I64, NULL);
  before = ig_onnx_reduce_node(x, "ReduceSum", before, (int64_t[]){-1}, 1, false, NULL);
  (void)ig_onnx_finish(x, call, before, IG_I64);
}

// self, boundaries, *, out_int32, right
static void bucketize(ig_onnx *x, const ig_onnx_call *call) {
  places(x, call, &call->args[1], &call->args[0], ig_onnx_bool_of(x, &call->args[3]));
}

// sorted_sequence, self, *, out_int32, right, side, sorter
static void searchsorted(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *a = call->args;
  bool right = ig_onnx_bool_of(x, &a[3]);
  if (a[4].kind == IG_KIND_STR) right = strcmp(a[4].str, "right") == 0;
  if (!ig_onnx_is_none(&a[5])) {
    ig_onnx_refuse(x, call->node, "searchsorted with a sorter cannot be written as ONNX");
  }
  places(x, call, &a[0], &a[1], right);
}

// repeats, *, output_size: each index as often as it says
static void repeat_interleave(ig_onnx *x, const ig_onnx_call *call) {
  const char *zero = ig_onnx_integer(x, IG_I64, 0);
  const char *repeats = ig_onnx_operand(x, &call->args[0], IG_I64);
  const char *ends = ig_onnx_emit2(x, "CumSum", repeats, zero, NULL);
  const char *last = ig_onnx_gather(x, ends, ig_onnx_integer(x, IG_I64, -1), 0, NULL);
  const char *at = ig_onnx_emit3(x, "Range", zero, last, ig_onnx_integer(x, IG_I64, 1), NULL);
  at = ig_onnx_unsqueeze(x, at, 1, NULL);
  const char *before = ig_onnx_emit2(x, "LessOrEqual", ends, at, NULL);
  before = ig_onnx_cast(x, before, IG_I64, NULL);
  before = ig_onnx_reduce_node(x, "ReduceSum", before, (int64_t[]){-1}, 1, false, NULL);
  (void)ig_onnx_finish(x, call, before, IG_I64);
}

const ig_onnx_row ig_onnx_sort[] = {
    {"aten.sort.default", sort, NULL, NULL},
    {"aten.sort.stable", sort_stable, NULL, NULL},
    {"aten.topk.default", topk, NULL, has_dims},
    {"aten._unique2.default", unique_all, NULL, NULL},
    {"aten.unique_dim.default", unique_dim, NULL, has_dims},
    {"aten.kthvalue.default", kthvalue, NULL, has_dims},
    {"aten.median.dim", median_dim, NULL, has_dims},
    {"aten.cumsum.default", cumsum, NULL, NULL},
    {"aten.cumprod.default", cumprod, NULL, NULL},
    {"aten.cummax.default", cummax, NULL, has_dims},
    {"aten.cummin.default", cummin, NULL, has_dims},
    {"aten.logcumsumexp.default", logcumsumexp, NULL, has_dims},
    {"aten.repeat_interleave.Tensor", repeat_interleave, NULL, NULL},
    {"aten.bucketize.Tensor", bucketize, NULL, NULL},
    {"aten.searchsorted.Tensor", searchsorted, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
