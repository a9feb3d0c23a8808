// SPDX-License-Identifier: Apache-2.0
// ONNX of reductions. Their axes are attributes or operands, as the opset has it.
#include <math.h>
#include <string.h>

#include "onnx/writer.h"

typedef struct axes {
  int64_t at[IG_MAX_DIM];
  size_t n;   // 0: all
  bool none;  // a scalar: nothing to reduce
} axes;

static axes axes_of(ig_onnx *x, const ig_onnx_call *call, const ig_value *dims) {
  axes a = {.n = 0};
  int ndim = ig_onnx_ndim(&call->args[0]);
  if (dims) a.n = ig_onnx_int_list(x, dims, a.at, IG_MAX_DIM, 0);
  a.none = ndim == 0;
  if (a.none) a.n = 0;
  return a;
}

static const char *reduced(ig_onnx *x, const char *op, const char *in, const axes *a, bool keep,
                           const char *out) {
  if (a->none && out) ig_onnx_same(x, in, out);
  if (a->none) return out ? out : in;
  return ig_onnx_reduce_node(x, op, in, a->at, a->n, keep, out);
}

static void reduce(ig_onnx *x, const ig_onnx_call *call, const ig_value *dims, bool keep) {
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, call->val->dtype);
  axes a = axes_of(x, call, dims);
  const char *self = ig_onnx_operand(x, &call->args[0], d);
  bool same = d == call->val->dtype;
  const char *out = reduced(x, call->row->op_type, self, &a, keep, same ? call->out : NULL);
  if (!same) (void)ig_onnx_finish(x, call, out, d);
}

static void reduce_all(ig_onnx *x, const ig_onnx_call *call) {
  reduce(x, call, NULL, false);
}

// self, dim, keepdim
static void reduce_dims(ig_onnx *x, const ig_onnx_call *call) {
  reduce(x, call, &call->args[1], ig_onnx_bool_of(x, &call->args[2]));
}

// ---- any, all

// How many are true: nothing is smaller than no element, so that empty tensors need no care.
static const char *some(ig_onnx *x, const char *in, const axes *a, bool keep, const char *out) {
  const char *count = ig_onnx_cast(x, in, IG_I64, NULL);
  if (!a->none) count = ig_onnx_reduce_node(x, "ReduceSum", count, a->at, a->n, keep, NULL);
  return ig_onnx_emit2(x, "Greater", count, ig_onnx_number(x, IG_I64, 0), out);
}

// Whether some element is true, or every one.
static void any_of(ig_onnx *x, const ig_onnx_call *call, const ig_value *dims, bool every) {
  axes a = axes_of(x, call, dims);
  bool keep = dims && ig_onnx_bool_of(x, &call->args[2]);
  const char *in = ig_onnx_operand(x, &call->args[0], IG_BOOL);
  if (every) in = ig_onnx_emit1(x, "Not", in, NULL);
  const char *out = some(x, in, &a, keep, NULL);
  if (every) out = ig_onnx_emit1(x, "Not", out, NULL);
  (void)ig_onnx_finish(x, call, out, IG_BOOL);
}
static void any_all(ig_onnx *x, const ig_onnx_call *call) {
  any_of(x, call, NULL, false);
}
static void any_dims(ig_onnx *x, const ig_onnx_call *call) {
  any_of(x, call, &call->args[1], false);
}
static void all_all(ig_onnx *x, const ig_onnx_call *call) {
  any_of(x, call, NULL, true);
}
static void all_dims(ig_onnx *x, const ig_onnx_call *call) {
  any_of(x, call, &call->args[1], true);
}

// ---- where the extremes are

static const char *arg_node(ig_onnx *x, const char *op, const char *in, int64_t axis, bool keep,
                            const char *out) {
  return ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = op,
                         .in = {in},
                         .attrs = {ig_onnx_int("axis", axis), ig_onnx_int("keepdims", keep)},
                         .out = out});
}

// Sizes of nothing but ones
static const char *all_ones(ig_onnx *x, int ndim) {
  int64_t one[IG_MAX_DIM];
  for (int i = 0; i < ndim; i++) one[i] = 1;
  return ig_onnx_vector(x, one, (size_t)ndim);
}

// self, dim, keepdim; without a dimension of all elements
static void arg_reduce(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype d = ig_onnx_compute_type(x, call->row->op_type, self ? self->dtype : IG_F32);
  bool keep = ig_onnx_bool_of(x, &call->args[2]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  int ndim = ig_onnx_ndim(&call->args[0]);
  if (!ig_onnx_is_none(&call->args[1]) && ndim > 0) {
    int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
    (void)arg_node(x, call->row->op_type, in, axis, keep, call->out);
    return;
  }
  in = ig_onnx_emit2(x, "Reshape", in, ig_onnx_vector(x, (int64_t[]){-1}, 1), NULL);
  bool again = keep && ndim > 0;
  const char *out = arg_node(x, call->row->op_type, in, 0, false, again ? NULL : call->out);
  if (again) (void)ig_onnx_emit2(x, "Reshape", out, all_ones(x, ndim), call->out);
}

// max.dim, min.dim: values and indices
static void extreme_dim(ig_onnx *x, const ig_onnx_call *call, bool most) {
  ig_dtype d = ig_onnx_compute_type(x, "ReduceMax", call->val->dtype);
  int ndim = ig_onnx_ndim(&call->args[0]);
  int64_t axis = ig_onnx_dim(x, &call->args[1], ndim);
  bool keep = ig_onnx_bool_of(x, &call->args[2]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  axes a = {.at = {axis}, .n = 1, .none = ndim == 0};
  if (call->outs[0]) {
    const char *out = reduced(x, most ? "ReduceMax" : "ReduceMin", in, &a, keep, NULL);
    (void)ig_onnx_finish(x, call, out, d);
  }
  if (!call->outs[1]) return;
  if (ndim == 0) {
    ig_onnx_same(x, ig_onnx_number(x, IG_I64, 0), call->outs[1]);
  } else {
    (void)arg_node(x, most ? "ArgMax" : "ArgMin", in, axis, keep, call->outs[1]);
  }
}
static void max_dim(ig_onnx *x, const ig_onnx_call *call) {
  extreme_dim(x, call, true);
}
static void min_dim(ig_onnx *x, const ig_onnx_call *call) {
  extreme_dim(x, call, false);
}

// self, *, dim, keepdim: both extremes
static void aminmax(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = ig_onnx_compute_type(x, "ReduceMax", call->val->dtype);
  axes a = axes_of(x, call, &call->args[1]);
  bool keep = ig_onnx_bool_of(x, &call->args[2]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  for (size_t i = 0; i < 2; i++) {
    if (!call->outs[i]) continue;
    ig_onnx_call one = *call;
    one.out = call->outs[i];
    const char *out = reduced(x, i ? "ReduceMax" : "ReduceMin", in, &a, keep, NULL);
    (void)ig_onnx_finish(x, &one, out, d);
  }
}

// ---- moments

// How many elements are reduced to one
static ig_int reduced_count(ig_onnx *x, const ig_tensor *self, const axes *a) {
  ig_int n = ig_const(1);
  for (int d = 0; d < self->ndim; d++) {
    bool taken = a->n == 0;
    for (size_t i = 0; i < a->n; i++) taken = taken || (a->at[i] + self->ndim) % self->ndim == d;
    if (taken) n = ig_int_mul(x->c, n, ig_sizes(self)[d]);
  }
  return n;
}

// The mean of n squares, with n - correction for n.
static const char *corrected(ig_onnx *x, const char *mean, ig_int n, double correction,
                             ig_dtype d) {
  if (correction == 0) return mean;
  if (!n.expr) {
    double left = (double)n.value - correction;
    double ratio = (double)n.value / (left > 0 ? left : 0);
    return ig_onnx_emit2(x, "Mul", mean, ig_onnx_number(x, d, ratio), NULL);
  }
  const char *count = ig_onnx_scalar_of(x, n.expr, d);
  const char *left = ig_onnx_emit2(x, "Sub", count, ig_onnx_number(x, d, correction), NULL);
  if (correction > 1) left = ig_onnx_emit2(x, "Max", left, ig_onnx_number(x, d, 0), NULL);
  return ig_onnx_emit2(x, "Div", ig_onnx_emit2(x, "Mul", mean, count, NULL), left, NULL);
}

typedef struct moments {
  const char *mean;
  const char *var;
} moments;

// self, dim, *, correction, keepdim
static moments moments_of(ig_onnx *x, const ig_onnx_call *call) {
  const ig_tensor *self = ig_onnx_tensor_of(&call->args[0]);
  ig_dtype d = call->val->dtype;
  axes a = axes_of(x, call, &call->args[1]);
  double correction = ig_onnx_is_none(&call->args[2]) ? 1 : ig_onnx_float_of(x, &call->args[2]);
  bool keep = ig_onnx_bool_of(x, &call->args[3]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *center = reduced(x, "ReduceMean", in, &a, true, NULL);
  const char *off = ig_onnx_emit2(x, "Sub", in, center, NULL);
  off = ig_onnx_emit2(x, "Mul", off, off, NULL);
  const char *mean = reduced(x, "ReduceMean", off, &a, keep, NULL);
  moments m = {.var = corrected(x, mean, reduced_count(x, self, &a), correction, d)};
  bool wanted = call->nouts > 1 && call->outs[1];
  m.mean = keep || !wanted ? center : reduced(x, "ReduceMean", in, &a, false, NULL);
  return m;
}

static void variance(ig_onnx *x, const ig_onnx_call *call) {
  ig_onnx_same(x, moments_of(x, call).var, call->out);
}
static void deviation(ig_onnx *x, const ig_onnx_call *call) {
  (void)ig_onnx_emit1(x, "Sqrt", moments_of(x, call).var, call->out);
}

static void with_mean(ig_onnx *x, const ig_onnx_call *call, bool root) {
  moments m = moments_of(x, call);
  const char *out = m.var;
  if (root) out = ig_onnx_emit1(x, "Sqrt", out, NULL);
  if (call->outs[0]) ig_onnx_same(x, out, call->outs[0]);
  if (call->outs[1]) ig_onnx_same(x, m.mean, call->outs[1]);
}
static void variance_mean(ig_onnx *x, const ig_onnx_call *call) {
  with_mean(x, call, false);
}
static void deviation_mean(ig_onnx *x, const ig_onnx_call *call) {
  with_mean(x, call, true);
}

// ---- norms

// (sum |x|^p)^(1/p)
static const char *general_norm(ig_onnx *x, const char *in, double p, const axes *a, bool keep,
                                ig_dtype d) {
  const char *size = ig_onnx_emit1(x, "Abs", in, NULL);
  const char *power = ig_onnx_emit2(x, "Pow", size, ig_onnx_number(x, d, p), NULL);
  const char *sum = reduced(x, "ReduceSum", power, a, keep, NULL);
  return ig_onnx_emit2(x, "Pow", sum, ig_onnx_number(x, d, 1 / p), NULL);
}

static const char *count_norm(ig_onnx *x, const char *in, const axes *a, bool keep, ig_dtype d) {
  const char *some = ig_onnx_emit2(x, "Equal", in, ig_onnx_number(x, d, 0), NULL);
  some = ig_onnx_cast(x, ig_onnx_emit1(x, "Not", some, NULL), d, NULL);
  return reduced(x, "ReduceSum", some, a, keep, NULL);
}

// self, ord, dim, keepdim, *, dtype
static void vector_norm(ig_onnx *x, const ig_onnx_call *call) {
  ig_dtype d = call->val->dtype;
  double p = ig_onnx_float_of(x, &call->args[1]);
  axes a = axes_of(x, call, &call->args[2]);
  bool keep = ig_onnx_bool_of(x, &call->args[3]);
  const char *in = ig_onnx_operand(x, &call->args[0], d);
  const char *out = NULL;
  if (a.none) {
    out = p == 0 ? count_norm(x, in, &a, keep, d) : ig_onnx_emit1(x, "Abs", in, NULL);
  } else if (p == 1 || p == 2) {
    (void)reduced(x, p == 1 ? "ReduceL1" : "ReduceL2", in, &a, keep, call->out);
    return;
  } else if (isinf(p)) {
    const char *size = ig_onnx_emit1(x, "Abs", in, NULL);
    out = reduced(x, p > 0 ? "ReduceMax" : "ReduceMin", size, &a, keep, NULL);
  } else {
    out = p == 0 ? count_norm(x, in, &a, keep, d) : general_norm(x, in, p, &a, keep, d);
  }
  ig_onnx_same(x, out, call->out);
}

const ig_onnx_row ig_onnx_reduce[] = {
    {"aten.mean.default", reduce_all, "ReduceMean", NULL},
    {"aten.mean.dim", reduce_dims, "ReduceMean", NULL},
    {"aten.sum.default", reduce_all, "ReduceSum", NULL},
    {"aten.sum.dim_IntList", reduce_dims, "ReduceSum", NULL},
    {"aten.prod.default", reduce_all, "ReduceProd", NULL},
    {"aten.prod.dim_int", reduce_dims, "ReduceProd", NULL},
    {"aten.amax.default", reduce_dims, "ReduceMax", NULL},
    {"aten.amin.default", reduce_dims, "ReduceMin", NULL},
    {"aten.max.default", reduce_all, "ReduceMax", NULL},
    {"aten.min.default", reduce_all, "ReduceMin", NULL},
    {"aten.logsumexp.default", reduce_dims, "ReduceLogSumExp", NULL},
    {"aten.any.default", any_all, NULL, NULL},
    {"aten.any.dim", any_dims, NULL, NULL},
    {"aten.any.dims", any_dims, NULL, NULL},
    {"aten.all.default", all_all, NULL, NULL},
    {"aten.all.dim", all_dims, NULL, NULL},
    {"aten.all.dims", all_dims, NULL, NULL},
    {"aten.argmax.default", arg_reduce, "ArgMax", NULL},
    {"aten.argmin.default", arg_reduce, "ArgMin", NULL},
    {"aten.max.dim", max_dim, NULL, NULL},
    {"aten.min.dim", min_dim, NULL, NULL},
    {"aten.aminmax.default", aminmax, NULL, NULL},
    {"aten.var.correction", variance, NULL, NULL},
    {"aten.std.correction", deviation, NULL, NULL},
    {"aten.var_mean.correction", variance_mean, NULL, NULL},
    {"aten.std_mean.correction", deviation_mean, NULL, NULL},
    {"aten.linalg_vector_norm.default", vector_norm, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
