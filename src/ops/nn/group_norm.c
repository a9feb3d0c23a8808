// SPDX-License-Identifier: Apache-2.0
// Group, instance and root-mean-square normalization.
#include <float.h>
#include <math.h>
#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/lower.h"
#include "ops/operand.h"

// input, weight, bias, N, C, HxW, group, eps -> output, mean, rstd
static void group_norm_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  if (!ig_check_float(c, "GroupNormKernelImpl", x->dtype)) return;
  int64_t group = ig_value_i64(c, &args[6]);
  if (group <= 0 ||
      !ig_int_eq_i64(c, ig_int_mod(c, args[4].i, ig_const(group > 0 ? group : 1)), 0)) {
    ig_fail_text(
        c, IG_RUNTIME,
        "Expected number of channels in input to be divisible by num_groups, but got input "
        "of shape %s and num_groups=%lld",
        ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim), (long long)group);
    return;
  }
  ig_int total = ig_int_mul(c, ig_int_mul(c, args[3].i, args[4].i), args[5].i);
  if (!ig_int_eq(c, total, ig_numel_of(c, x))) {
    ig_fail_text(c, IG_RUNTIME, "native_group_norm: N * C * HxW does not fit input of shape %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  for (int k = 1; k < 3; k++) {
    if (args[k].kind != IG_KIND_TENSOR) continue;
    const ig_tensor *w = args[k].tensor;
    if (w->ndim == 1 && ig_int_eq(c, ig_sizes(w)[0], args[4].i)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Expected %s to be a vector of size equal to the number of channels in input, but "
                 "got %s of shape %s",
                 k == 1 ? "weight" : "bias", k == 1 ? "weight" : "bias",
                 ig_sizes_text(c, ig_sizes(w), (size_t)w->ndim));
    return;
  }
  ig_shape_like(c, op, args, &out[0]);
  for (int k = 1; k < 3; k++) {
    ig_meta_push_dim(c, &out[k], args[3].i);
    ig_meta_push_dim(c, &out[k], ig_const(group));
  }
}
typedef struct group_state {
  ig_operand x;  // these are computed in double, whatever the dtypes
  ig_operand weight;
  ig_operand bias;
  ig_operand mean;
  ig_operand rstd;
} group_state;

static void group_norm_prepare(ig_ctx *c, const ig_op *op, const ig_value *args,
                               const ig_value *outs, ig_prep *p) {
  (void)c;
  (void)op;
  IG_STATE(group_state, s, p);
  s->x = ig_operand_copy(&p->need, args[0].tensor, IG_F64, IG_ROW_MAJOR, 0);
  s->weight = ig_operand_maybe(&p->need, &args[1], IG_F64);
  s->bias = ig_operand_maybe(&p->need, &args[2], IG_F64);
  s->mean = ig_operand_copy(&p->need, outs[1].tensor, IG_F64, IG_ROW_MAJOR, 0);
  s->rstd = ig_operand_copy(&p->need, outs[2].tensor, IG_F64, IG_ROW_MAJOR, 0);
}

static void group_norm_run(const ig_exec *x) {
  const group_state *s = x->state;
  const ig_value *args = x->args;
  int64_t n = args[3].i.value;  // concrete: a kernel sees plain numbers
  int64_t channels = args[4].i.value;
  int64_t inner = args[5].i.value;
  int64_t group = args[6].i.value;
  double eps = ig_value_f64(&args[7]);
  int64_t per = channels / group;
  double *data = (double *)ig_operand_read(x, &s->x, args[0].tensor);
  const double *w = ig_operand_read(x, &s->weight, ig_value_tensor(&args[1]));
  const double *b = ig_operand_read(x, &s->bias, ig_value_tensor(&args[2]));
  double *mean = (double *)(void *)(x->memory + s->mean.at);
  double *rstd = (double *)(void *)(x->memory + s->rstd.at);
  for (int64_t k = 0; k < n * group; k++) {
    double *row = data + k * per * inner;
    double count = (double)(per * inner);
    double m = 0;
    double v = 0;
    for (int64_t i = 0; i < per * inner; i++) m += row[i];
    m /= count;
    for (int64_t i = 0; i < per * inner; i++) v += (row[i] - m) * (row[i] - m);
    mean[k] = m;
    rstd[k] = 1 / sqrt(v / count + eps);
    for (int64_t i = 0; i < per * inner; i++) {
      int64_t ch = k % group * per + i / inner;
      row[i] = (row[i] - m) * rstd[k] * (w ? w[ch] : 1) + (b ? b[ch] : 0);
    }
  }
  ig_operand_write(x, &s->mean, x->outs[1].tensor);
  ig_operand_write(x, &s->rstd, x->outs[2].tensor);
  ig_operand_write(x, &s->x, x->outs[0].tensor);  // computed in place
}
static ig_tensor *viewed(ig_ctx *c, ig_tensor *x, const ig_int *sizes, size_t n) {
  return ig_view(c, x, ig_of_ints(sizes, n));
}
// What mean and rstd send back: dmean/dx = 1 / n, drstd/dx = -rstd^3 (x - mean) / n.
static ig_tensor *statistics_grad(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[1] && !v->grads[2]) return NULL;
  ig_int groups = a[6].i;
  ig_int count = ig_int_mul(c, ig_int_floordiv(c, a[4].i, groups), a[5].i);
  ig_int rows[] = {a[3].i, groups, count};
  ig_tensor *g = v->grads[1] ? ig_unsqueeze(c, v->grads[1], ig_const(-1)) : NULL;
  if (v->grads[2]) {
    ig_tensor *rstd = ig_unsqueeze(c, v->outs[2].tensor, ig_const(-1));
    ig_tensor *cube = ig_mul_tensor(c, ig_mul_tensor(c, rstd, rstd), rstd);
    ig_tensor *x = viewed(c, ig_contiguous(c, a[0].tensor), rows, 3);
    x = ig_sub_tensor(c, x, ig_unsqueeze(c, v->outs[1].tensor, ig_const(-1)));
    x = ig_mul_tensor(c, x, cube);
    x = ig_mul_tensor(c, x, ig_unsqueeze(c, v->grads[2], ig_const(-1)));
    g = g ? ig_sub_tensor(c, g, x) : ig_neg(c, x);
  }
  g = ig_expand(c, ig_div_int(c, g, count), ig_of_ints(rows, 3));
  return ig_reshape(c, g, ig_sizes_of(a[0].tensor));
}
static void group_norm_backward_decompose(ig_ctx *c, const ig_value *args, ig_value *outs);
static void group_norm_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_tensor *more = IG_WANTED(v, 0) ? statistics_grad(c, v) : NULL;
  if (v->grads[0]) {
    ig_value mask[] = {ig_of_bool(IG_WANTED(v, 0)), ig_of_bool(IG_WANTED(v, 1)),
                       ig_of_bool(IG_WANTED(v, 2))};
    ig_value args[] = {
        ig_of_tensor(v->grads[0]), a[0], v->outs[1], v->outs[2], a[1], a[3], a[4], a[5], a[6],
        ig_of_list(mask, 3)};
    // The operator has no derivative, its parts do.
    if (c->mode->no_grad)
      ig_call_id_outs(c, IG_ID_NATIVE_GROUP_NORM_BACKWARD, args, 10, outs);
    else
      group_norm_backward_decompose(c, args, outs);
  }
  if (c->status != IG_OK) return;
  ig_tensor *g = ig_value_tensor(&outs[0]);
  IG_GRAD(v, 0) = g && more ? ig_add_tensor(c, g, more) : g ? g : more;
  for (size_t i = 1; i < 3; i++) IG_GRAD(v, i) = ig_value_tensor(&outs[i]);
}
static ig_tensor *summed(ig_ctx *c, ig_tensor *x, int dim) {
  ig_int d = ig_const(dim);
  return ig_sum_dim_intlist(c, x, ig_of_ints(&d, 1));
}
static ig_tensor *last_two(ig_ctx *c, ig_tensor *x) {
  x = ig_unsqueeze(c, x, ig_const(-1));
  return ig_unsqueeze(c, x, ig_const(-1));
}
static ig_tensor *input_grad(ig_ctx *c, const ig_value *args, ig_tensor *ds, ig_tensor *db) {
  ig_tensor *mean = args[2].tensor;
  ig_tensor *rstd = args[3].tensor;
  ig_tensor *w = ig_value_tensor(&args[4]);
  ig_int n = args[5].i;
  ig_int group = args[8].i;
  ig_int per = ig_int_floordiv(c, args[6].i, group);
  ig_int inner = args[7].i;
  ig_int rows[] = {n, group, per};
  ig_int one[] = {ig_const(1), group, per};
  double s = 1.0 / ((double)per.value * (double)inner.value);  // concrete: PyTorch divides here too
  ig_tensor *dsv = w ? ig_mul_tensor(c, ds, ig_unsqueeze(c, w, ig_const(0))) : ds;
  dsv = summed(c, viewed(c, dsv, rows, 3), 2);
  ig_tensor *dbv = w ? ig_mul_tensor(c, db, ig_unsqueeze(c, w, ig_const(0))) : db;
  dbv = summed(c, viewed(c, dbv, rows, 3), 2);
  ig_tensor *c1 = ig_unsqueeze(c, rstd, ig_const(-1));
  if (w) {
    c1 = ig_mul_tensor(c, c1, viewed(c, w, one, 3));
  } else {
    ig_tensor *ones = ig_new_ones(c, rstd, ig_of_ints(one, 3));
    c1 = ig_mul_tensor(c, c1, ones);
  }
  ig_tensor *c2 = ig_sub_tensor(c, ig_mul_tensor(c, dbv, mean), dsv);
  for (int k = 0; k < 3; k++) c2 = ig_mul_tensor(c, c2, rstd);
  c2 = ig_mul_f64(c, c2, s);
  ig_tensor *c3 = ig_mul_tensor(c, ig_neg(c, c2), mean);
  ig_tensor *rest = ig_mul_f64(c, ig_mul_tensor(c, dbv, rstd), s);
  c3 = ig_sub_tensor(c, c3, rest);
  c1 = ig_unsqueeze(c, c1, ig_const(-1));
  c2 = last_two(c, c2);
  c3 = last_two(c, c3);
  ig_int four[] = {n, group, per, inner};
  ig_tensor *g = ig_mul_tensor(c, viewed(c, args[0].tensor, four, 4), c1);
  ig_tensor *x = ig_mul_tensor(c, viewed(c, args[1].tensor, four, 4), c2);
  g = ig_add_tensor(c, ig_add_tensor(c, g, x), c3);
  return ig_view(c, g, ig_sizes_of(args[1].tensor));
}
// grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
static void group_norm_backward_decompose(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_int three[] = {args[5].i, args[6].i, args[7].i};
  ig_int group = args[8].i;
  ig_int rows[] = {args[5].i, group, ig_int_floordiv(c, args[6].i, group)};
  const ig_value *mask = args[9].list.at;
  ig_tensor *ds = ig_mul_tensor(c, args[0].tensor, args[1].tensor);
  ds = summed(c, viewed(c, ds, three, 3), 2);
  ig_tensor *db = summed(c, viewed(c, args[0].tensor, three, 3), 2);
  if (mask[0].b) outs[0] = ig_of_tensor(input_grad(c, args, ds, db));
  if (mask[1].b) {
    ig_tensor *a = viewed(c, ds, rows, 3);
    ig_tensor *b = viewed(c, db, rows, 3);
    b = ig_mul_tensor(c, b, ig_unsqueeze(c, args[2].tensor, ig_const(-1)));
    a = ig_sub_tensor(c, a, b);
    a = ig_mul_tensor(c, a, ig_unsqueeze(c, args[3].tensor, ig_const(-1)));
    outs[1] = ig_of_tensor(viewed(c, summed(c, a, 0), &args[6].i, 1));
  }
  if (mask[2].b) outs[2] = ig_of_tensor(summed(c, db, 0));
}
// input, num_groups, weight, bias, eps, cudnn_enabled
static ig_tensor *group_norm_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_value outs[IG_MAX_RETURNS];
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "Expected at least 2 dimensions for input tensor but received %d",
                 x->ndim);
    return NULL;
  }
  ig_int inner = ig_product(c, ig_sizes(x) + 2, (size_t)x->ndim - 2);
  ig_value all[] = {
      args[0],          args[2], args[3], ig_of_int(ig_sizes(x)[0]), ig_of_int(ig_sizes(x)[1]),
      ig_of_int(inner), args[1], args[4]};
  ig_call_id_outs(c, IG_ID_NATIVE_GROUP_NORM, all, 8, outs);
  return ig_value_tensor(&outs[0]);
}

// input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
static ig_tensor *repeated(ig_ctx *c, const ig_value *v, ig_int n) {
  return v->kind == IG_KIND_TENSOR ? ig_repeat(c, v->tensor, ig_of_ints(&n, 1)) : NULL;
}
static ig_tensor *instance_norm_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  bool stats = args[3].kind == IG_KIND_TENSOR;
  if (x->ndim < 2 || (!args[5].b && !stats)) {
    ig_fail_text(c, IG_RUNTIME,
                 x->ndim < 2 ? "instance_norm: expected at least 2 dimensions"
                             : "Expected running_mean and running_var to be defined when "
                               "use_input_stats is false");
    return NULL;
  }
  ig_int n = ig_sizes(x)[0];
  ig_int sizes[IG_MAX_DIM];
  sizes[0] = ig_const(1);
  sizes[1] = ig_size_mul(c, n, ig_sizes(x)[1]);
  for (int d = 2; d < x->ndim; d++) sizes[d] = ig_sizes(x)[d];
  ig_tensor *w = repeated(c, &args[1], n);
  ig_tensor *b = repeated(c, &args[2], n);
  ig_tensor *mean = repeated(c, &args[3], n);
  ig_tensor *var = repeated(c, &args[4], n);
  ig_tensor *flat = ig_view(c, ig_contiguous(c, x), ig_of_ints(sizes, (size_t)x->ndim));
  ig_tensor *out = ig_batch_norm(c, flat, w, b, mean, var, args[5].b, ig_value_f64(&args[6]),
                                 ig_value_f64(&args[7]), args[8].b);
  ig_int table[] = {n, ig_sizes(x)[1]};
  ig_int first = ig_const(0);
  for (int k = 0; k < 2 && stats && args[5].b; k++) {
    ig_tensor *now = ig_view(c, k ? var : mean, ig_of_ints(table, 2));
    now = ig_mean_dim(c, now, ig_of_ints(&first, 1));
    (void)ig_copy_(c, args[3 + k].tensor, now);
  }
  return ig_view(c, out, ig_sizes_of(x));
}
// input, normalized_shape, weight, eps
static ig_tensor *rms_norm_decompose(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_int dims[IG_MAX_DIM];
  int n = (int)args[1].ints.n;
  bool fits = n > 0 && n <= x->ndim;
  for (int d = 0; d < n && fits; d++) {
    fits = ig_int_eq(c, args[1].ints.at[d], ig_sizes(x)[x->ndim - n + d]);
    dims[d] = ig_const(x->ndim - n + d);
  }
  if (!fits) {
    ig_fail_text(c, IG_RUNTIME,
                 "Given normalized_shape=%s, expected input with shape [*, ...], but got input of "
                 "size%s",
                 ig_sizes_text(c, args[1].ints.at, args[1].ints.n),
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return NULL;
  }
  double eps = args[3].kind == IG_KIND_NONE
                   ? (ig_to_real(x->dtype) == IG_F64 ? DBL_EPSILON : (double)FLT_EPSILON)
                   : ig_value_f64(&args[3]);
  ig_tensor *wide = ig_cast(c, x, x->dtype == IG_F16 || x->dtype == IG_BF16 ? IG_F32 : x->dtype);
  ig_tensor *square = ig_pow_tensor_scalar(c, wide, ig_of_i64(2));
  ig_tensor *mean = ig_mean_dim_with(c, square, ig_of_ints(dims, (size_t)n), true, ig_none());
  ig_tensor *root = ig_rsqrt(c, ig_add_scalar(c, mean, ig_of_f64(eps)));
  ig_tensor *out = ig_cast(c, ig_mul_tensor(c, wide, root), x->dtype);
  return args[2].kind == IG_KIND_TENSOR ? ig_mul_tensor(c, out, args[2].tensor) : out;
}

IG_OP(native_group_norm) = {
    .schema =
        "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, "
        "SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    .shape = group_norm_shape,
    .prepare = group_norm_prepare,
    .run = group_norm_run,
    .vjp = group_norm_vjp,
    .keep = "input, weight, result1, result2",
    .lower_outs = ig_lower_group_norm,
    .samples =
        "f32[2,4,3], f32[4], f32[4], 2, 4, 3, 2, 0.00001 | f32[2,4,3], None, None, 2, "
        "4, 3, 4, 0.00001",
    .waive = "special: sums of infinities",
};
IG_OP(native_group_norm_backward) = {
    .schema =
        "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, "
        "Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, "
        "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    .decompose_outs = group_norm_backward_decompose,
    .samples =
        "f32[2,4,3], f32[2,4,3], f32[2,2], f32[2,2]:+, f32[4], 2, 4, 3, 2, "
        "(True,True,True)",
};
IG_OP(group_norm) = {
    .schema =
        "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
        "bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> "
        "Tensor",
    .autocast = IG_AUTOCAST_F32_DEVICE,
    .decompose = group_norm_decompose,
    .samples = "f32[2,4,3], 2 | f32[2,4,3], 2, f32[4], f32[4], 0.001",
    .waive = "size 3=0: no slope there",
};
IG_OP(instance_norm) = {
    .schema =
        "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
        "running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
        "float eps, bool cudnn_enabled) -> Tensor",
    .writes_too = 1 << 3 | 1 << 4,
    .decompose = instance_norm_decompose,
    .samples =
        "f32[2,3,4], None, None, None, None, True, 0.1, 0.00001, True | f32[2,3,2,2], "
        "f32[3], f32[3], None, None, True, 0.1, 0.001, True",
    .waive =
        "size 4=1: refused here, PyTorch computes it; size 2=1: refused here, PyTorch computes it",
};
IG_OP(rms_norm) = {
    .schema =
        "aten::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
        "float? eps=None) -> Tensor",
    .decompose = rms_norm_decompose,
    .samples = "f32[2,4], [4] | f32[2,3,4], [3,4], f32[3,4], 0.001",
};
