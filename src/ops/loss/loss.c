// SPDX-License-Identifier: Apache-2.0
// Negative log likelihood and cross entropy.
#include <math.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

// Scores are [n, classes, inner]; [classes] alone has n 1 and no batch dimension.
typedef struct geometry {
  int64_t n;
  int64_t classes;
  int64_t inner;
} geometry;

static geometry geometry_of(const ig_tensor *x) {
  geometry g = {1, 1, 1};
  for (int d = 0; d < x->ndim; d++) {
    int64_t size = ig_sizes(x)[d].value;
    int channel = x->ndim == 1 ? 0 : 1;
    *(d < channel ? &g.n : d == channel ? &g.classes : &g.inner) *= size;
  }
  return g;
}

static void check_sizes(ig_ctx *c, const ig_op *op, const ig_tensor *x, const ig_tensor *t,
                        const ig_tensor *w) {
  bool two = op->def->variant == 2;
  if (two ? x->ndim != 4 || t->ndim != 3 : x->ndim < 1 || x->ndim > 2 || t->ndim > 1) {
    ig_fail_text(c, IG_RUNTIME,
                 two ? "only batches of spatial targets supported (3D tensors) but "
                       "got targets of dimension: %d"
                     : "0D or 1D target tensor expected, multi-target not supported "
                       "(got %dD)",
                 t->ndim);
    return;
  }
  bool ok = !(x->ndim == 2 && t->ndim == 0);
  if (ok && (x->ndim > 1 || t->ndim == 1)) ok = ig_int_eq(c, ig_sizes(x)[0], ig_sizes(t)[0]);
  for (int d = 2; d < x->ndim && ok; d++) ok = ig_int_eq(c, ig_sizes(x)[d], ig_sizes(t)[d - 1]);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME, "size mismatch (got input: %dD with batch %s, target: %dD)",
                 x->ndim, ig_int_text(c, ig_sizes(x)[0]), t->ndim);
    return;
  }
  ig_int classes = ig_sizes(x)[x->ndim == 1 ? 0 : 1];
  if (x->ndim == 1 && ig_int_eq(c, classes, ig_const(0))) {
    ig_fail_text(c, IG_RUNTIME, "%s", "Expected input to have at least one class");
    return;
  }
  if (w && (w->ndim != 1 || !ig_int_eq(c, ig_sizes(w)[0], classes))) {
    ig_fail_text(c, IG_RUNTIME,
                 "weight tensor should be defined either for all %s classes or no classes but got "
                 "weight tensor of %d dimensions",
                 ig_int_text(c, classes), w->ndim);
  }
}

// self, target, weight, reduction, ignore_index -> output, total_weight
static void nll_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *t = args[1].tensor;
  check_sizes(c, op, x, t, ig_value_tensor(&args[2]));
  if (c->status != IG_OK) return;
  if (!ig_check_float(c, "nll_loss_out_frame", x->dtype)) return;
  bool each = ig_value_i64(c, &args[3]) == REDUCE_NONE;
  for (int d = 0; d < t->ndim && each && x->ndim > 1; d++) {
    ig_meta_push_dim(c, &out[0], ig_sizes(t)[d]);
  }
  out[0].dtype = out[1].dtype = x->dtype;
}

static bool bad_class(ig_ctx *c, int64_t t, int64_t classes) {
  if (t >= 0 && t < classes) return false;
  ig_fail_text(c, IG_BAD_INDEX, "Target %lld is out of bounds.", (long long)t);
  return true;
}

typedef struct operands {
  geometry g;
  const double *x;
  const int64_t *t;
  const double *w;
  int64_t ignore;
} operands;

static const void *dense(ig_ctx *c, const ig_value *v, ig_dtype dtype) {
  bool none[IG_MAX_DIM] = {false};
  ig_axis a;
  return v->kind == IG_KIND_TENSOR ? ig_reduce_operand(c, v->tensor, none, dtype, &a) : NULL;
}

static void nll_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  (void)op;
  ig_scope s = ig_scope_open(c);
  operands o = {geometry_of(args[0].tensor), dense(c, &args[0], IG_F64), dense(c, &args[1], IG_I64),
                dense(c, &args[2], IG_F64), ig_value_i64(c, &args[4])};
  int64_t reduction = ig_value_i64(c, &args[3]);
  double total = 0;
  double weights = 0;
  size_t size = ig_dtype_size(out->dtype);
  char *to = ig_tensor_data(out);
  int64_t count = c->status == IG_OK && o.x && o.t ? o.g.n * o.g.inner : 0;
  for (int64_t k = 0; k < count; k++) {
    int64_t t = o.t[k];
    double loss = 0;
    if (t != o.ignore) {
      if (bad_class(c, t, o.g.classes)) break;
      double w = o.w ? o.w[t] : 1;
      loss = -w * o.x[(k / o.g.inner * o.g.classes + t) * o.g.inner + k % o.g.inner];
      weights += w;
    }
    total += loss;
    if (reduction == REDUCE_NONE) ig_convert(to + (size_t)k * size, out->dtype, &loss, IG_F64, 1);
  }
  if (c->status == IG_OK) {
    double mean = total / weights;  // NaN when nothing counted, as PyTorch
    if (reduction != REDUCE_NONE) {
      ig_convert(to, out->dtype, reduction == REDUCE_MEAN ? &mean : &total, IG_F64, 1);
    }
    double kept = reduction == REDUCE_NONE ? 0 : weights;
    ig_convert(ig_tensor_data(outs[1].tensor), out->dtype, &kept, IG_F64, 1);
  }
  ig_scope_close(c, s);
}

// The gradient has the shape of the loss.
static void check_grad(ig_ctx *c, const ig_value *args) {
  const ig_tensor *dy = args[0].tensor;
  const ig_tensor *t = args[2].tensor;
  const ig_tensor *total = args[6].tensor;
  bool each = ig_value_i64(c, &args[4]) == REDUCE_NONE && args[1].tensor->ndim > 1;
  bool ok = each ? dy->ndim == t->ndim : ig_int_eq(c, ig_numel_of(c, dy), ig_const(1));
  for (int d = 0; d < t->ndim && each && ok; d++)
    ok = ig_int_eq(c, ig_sizes(dy)[d], ig_sizes(t)[d]);
  if (!ok) {
    ig_fail_text(c, IG_RUNTIME, "Expected a grad_output tensor %s, but got: %s",
                 each ? "of the shape of the target" : "with a single element",
                 ig_sizes_text(c, ig_sizes(dy), (size_t)dy->ndim));
  } else if (!ig_int_eq(c, ig_numel_of(c, total), ig_const(1))) {
    ig_fail_text(c, IG_RUNTIME, "expected total_weight to be a single element tensor, got: %s",
                 ig_sizes_text(c, ig_sizes(total), (size_t)total->ndim));
  }
}

// grad_output, self, target, weight, reduction, ignore_index, total_weight
static void nll_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[1].tensor;
  check_sizes(c, op, x, args[2].tensor, ig_value_tensor(&args[3]));
  if (c->status == IG_OK) check_grad(c, args);
  if (c->status != IG_OK) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
  out->dtype = x->dtype;
}

static void nll_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *out = outs[0].tensor;
  (void)op;
  ig_scope s = ig_scope_open(c);
  geometry g = geometry_of(args[1].tensor);
  const double *dy = dense(c, &args[0], IG_F64);
  const int64_t *target = dense(c, &args[2], IG_I64);
  const double *w = dense(c, &args[3], IG_F64);
  const double *total = dense(c, &args[6], IG_F64);
  int64_t reduction = ig_value_i64(c, &args[4]);
  int64_t ignore = ig_value_i64(c, &args[5]);
  size_t size = ig_dtype_size(out->dtype);
  char *to = ig_tensor_data(out);
  ig_value zero = ig_of_i64(0);
  if (c->status == IG_OK) ig_fill(to, out->dtype, (size_t)ig_tensor_numel(out), &zero);
  for (int64_t k = 0; c->status == IG_OK && k < g.n * g.inner; k++) {
    int64_t t = target[k];
    if (t == ignore || bad_class(c, t, g.classes)) continue;
    double slope = -(w ? w[t] : 1) * dy[reduction == REDUCE_NONE ? k : 0];
    if (reduction == REDUCE_MEAN) slope /= *total;
    int64_t at = (k / g.inner * g.classes + t) * g.inner + k % g.inner;
    ig_convert(to + (size_t)at * size, out->dtype, &slope, IG_F64, 1);
  }
  ig_scope_close(c, s);
}

static void nll_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  unsigned id = v->op->def->variant == 2 ? IG_ID_NLL_LOSS2D_BACKWARD : IG_ID_NLL_LOSS_BACKWARD;
  ig_value args[] = {ig_of_tensor(v->grads[0]), a[0], a[1], a[2], a[3], a[4], v->outs[1]};
  IG_GRAD(v, 0) = ig_call_id(c, id, args, 7);
}

static void nll_backward_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  unsigned id = v->op->def->variant == 2 ? IG_ID_NLL_LOSS2D_FORWARD : IG_ID_NLL_LOSS_FORWARD;
  if (IG_WANTED(v, 0)) {
    ig_value args[] = {ig_of_tensor(v->grad), a[2], a[3], a[4], a[5]};
    IG_GRAD(v, 0) = ig_call_id(c, id, args, 5);
  }
  IG_GRAD(v, 1) = ig_zeros_of(c, a[1].tensor);
}

static ig_tensor *nll_loss(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID_NLL_LOSS_FORWARD, args, 5);
}
static ig_tensor *nll_loss2d(ig_ctx *c, const ig_value *args) {
  return ig_call_id(c, IG_ID_NLL_LOSS2D_FORWARD, args, 5);
}

// Any rank: more than one inner dimension is folded into a plane.
static ig_tensor *nll_loss_nd(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[0].tensor;
  ig_tensor *t = args[1].tensor;
  if (x->ndim < 1) {
    ig_fail_text(c, IG_INVALID, "Expected 1 or more dimensions (got 0)");
    return NULL;
  }
  if (x->ndim > 1 && (t->ndim == 0 || !ig_int_eq(c, ig_sizes(x)[0], ig_sizes(t)[0]))) {
    ig_fail_text(c, IG_INVALID, "Expected input batch_size (%s) to match target batch_size (%s).",
                 ig_int_text(c, ig_sizes(x)[0]), t->ndim ? ig_int_text(c, ig_sizes(t)[0]) : "0");
    return NULL;
  }
  if (x->ndim <= 2) return nll_loss(c, args);
  if (x->ndim == 4) return nll_loss2d(c, args);
  ig_int n = ig_sizes(x)[0];
  bool some = !ig_int_eq_i64(c, ig_numel_of(c, x), 0);  // -1 cannot be inferred for an empty tensor
  ig_int inner = some ? ig_const(-1) : ig_product(c, ig_sizes(x) + 2, (size_t)x->ndim - 2);
  ig_int x_sizes[] = {n, ig_sizes(x)[1], ig_const(1), inner};
  ig_int t_sizes[] = {n, ig_const(1), inner};
  ig_value flat[5] = {args[0], args[1], args[2], args[3], args[4]};
  flat[0] = ig_of_tensor(ig_reshape(c, x, ig_of_ints(x_sizes, 4)));
  flat[1] = ig_of_tensor(ig_reshape(c, t, ig_of_ints(t_sizes, 3)));
  if (c->status != IG_OK) return NULL;
  ig_tensor *out = nll_loss2d(c, flat);
  bool each = ig_value_i64(c, &args[3]) == REDUCE_NONE;
  return each ? ig_view(c, out, ig_sizes_of(t)) : out;
}

static ig_tensor *reduced(ig_ctx *c, ig_tensor *loss, int64_t reduction) {
  return reduction == REDUCE_NONE ? loss : ig_sum(c, loss);
}

// Weights of the classes, shaped to broadcast with the scores.
static ig_tensor *beside(ig_ctx *c, ig_tensor *w, const ig_tensor *x) {
  ig_int sizes[IG_MAX_DIM];
  int channel = x->ndim == 1 ? 0 : 1;
  for (int d = 0; d < x->ndim; d++) sizes[d] = d == channel ? ig_sizes(w)[0] : ig_const(1);
  return ig_view(c, w, ig_of_ints(sizes, (size_t)x->ndim));
}

// Targets are probabilities of the classes.
static ig_tensor *with_probabilities(ig_ctx *c, const ig_value *args, ig_tensor *logp) {
  const ig_tensor *x = args[0].tensor;
  ig_tensor *target = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[2]);
  int64_t reduction = ig_value_i64(c, &args[3]);
  int channel = x->ndim == 1 ? 0 : 1;
  ig_int classes = ig_sizes(x)[channel];
  double smoothing = args[5].f;
  if (smoothing > 0) {
    target = ig_mul_scalar(c, target, ig_of_f64(1 - smoothing));
    ig_value share = ig_of_f64(smoothing / (double)ig_int_specialize(c, classes));
    target = ig_add_scalar(c, target, share);
  }
  ig_tensor *p = ig_mul_tensor(c, logp, target);
  if (w) p = ig_mul_tensor(c, p, beside(c, w, x));
  if (reduction == REDUCE_NONE) {
    ig_int dim = ig_const(channel);
    return ig_neg(c, ig_sum_dim_intlist(c, p, ig_of_ints(&dim, 1)));
  }
  ig_tensor *loss = ig_neg(c, ig_sum(c, p));
  if (reduction == REDUCE_SUM) return loss;
  if (ig_int_eq_i64(c, classes, 0)) return ig_div_f64(c, loss, 0);
  return ig_div_scalar(c, loss, ig_of_int(ig_int_floordiv(c, ig_numel_of(c, x), classes)));
}

// (1 - s) * nll + s / classes * (sum over classes of -logp), over what is not ignored.
static ig_tensor *with_smoothing(ig_ctx *c, const ig_value *args, ig_tensor *logp) {
  const ig_tensor *x = args[0].tensor;
  ig_tensor *target = args[1].tensor;
  ig_tensor *w = ig_value_tensor(&args[2]);
  int64_t reduction = ig_value_i64(c, &args[3]);
  int channel = x->ndim == 1 ? 0 : 1;
  ig_int dim = ig_const(channel);
  double smoothing = args[5].f;
  ig_value nll_args[] = {ig_of_tensor(logp), args[1], args[2], args[3], args[4]};
  ig_tensor *nll = ig_call_id(c, IG_ID_NLL_LOSS_ND, nll_args, 5);
  ig_tensor *p = w ? ig_mul_tensor(c, logp, beside(c, w, x)) : logp;
  ig_tensor *smooth = ig_neg(c, ig_sum_dim_intlist(c, p, ig_of_ints(&dim, 1)));
  ig_tensor *ignored = ig_eq_scalar(c, target, args[4]);
  smooth = ig_masked_fill_scalar(c, smooth, ignored, ig_of_f64(0));
  ig_tensor *total = reduction == REDUCE_MEAN ? NULL : reduced(c, smooth, reduction);
  if (reduction == REDUCE_MEAN) {
    ig_tensor *count = NULL;
    if (w) {
      ig_tensor *safe = ig_masked_fill_scalar(c, target, ignored, ig_of_i64(0));
      ig_int flat = ig_const(-1);
      ig_tensor *list = ig_reshape(c, safe, ig_of_ints(&flat, 1));
      ig_tensor *each =
          ig_reshape(c, ig_index_select(c, w, ig_const(0), list), ig_sizes_of(target));
      count = ig_sum(c, ig_masked_fill_scalar(c, each, ignored, ig_of_i64(0)));
    } else {
      count = ig_sum(c, ig_bitwise_not(c, ignored));
    }
    total = ig_div_tensor(c, ig_sum(c, smooth), count);
  }
  double share = smoothing / (double)ig_int_specialize(c, ig_sizes(x)[channel]);
  ig_tensor *b = ig_mul_scalar(c, total, ig_of_f64(share));
  ig_tensor *a = ig_mul_scalar(c, nll, ig_of_f64(1 - smoothing));
  return ig_add_tensor(c, a, b);
}

// self, target, weight, reduction, ignore_index, label_smoothing
static ig_tensor *cross_entropy(ig_ctx *c, const ig_value *args) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *target = args[1].tensor;
  if (args[5].f < 0 || args[5].f > 1) {
    ig_fail_text(c, IG_RUNTIME, "label_smoothing must be between 0.0 and 1.0. Got: %g", args[5].f);
    return NULL;
  }
  if (x->ndim < 1) {
    ig_fail_text(c, IG_RUNTIME, "cross_entropy: expected input of at least 1 dimension, got 0");
    return NULL;
  }
  ig_int dim = ig_const(x->ndim == 1 ? 0 : 1);
  bool same = x->ndim == target->ndim;
  for (int d = 0; d < x->ndim && same; d++) {
    same = ig_int_eq(c, ig_sizes(x)[d], ig_sizes(target)[d]);
  }
  if (same && !ig_dtype_is_float(target->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected floating point type for target with class probabilities, got %s",
                 ig_dtype_title(target->dtype));
    return NULL;
  }
  const ig_tensor *w = ig_value_tensor(&args[2]);
  ig_int classes = ig_sizes(x)[x->ndim == 1 ? 0 : 1];
  if (w && (w->ndim != 1 || !ig_int_eq(c, ig_sizes(w)[0], classes))) {
    ig_fail_text(c, IG_RUNTIME,
                 "cross_entropy: weight tensor should be defined either for all %s classes or no "
                 "classes but got weight tensor of shape: %s",
                 ig_int_text(c, classes), ig_sizes_text(c, ig_sizes(w), (size_t)w->ndim));
    return NULL;
  }
  ig_tensor *logp = ig_log_softmax_int(c, args[0].tensor, dim);
  if (!logp) return NULL;
  if (same) return with_probabilities(c, args, logp);
  if (args[5].f > 0) return with_smoothing(c, args, logp);
  ig_value nll[] = {ig_of_tensor(logp), args[1], args[2], args[3], args[4]};
  return ig_call_id(c, IG_ID_NLL_LOSS_ND, nll, 5);
}

#define NLL                                                                        \
  "f32[3,5], i64[3]:<5, None, 1, -100 | f32[3,5], i64[3]:<5, f32[5]:+, 0, -100 | " \
  "f32[3,5], i64[3]:<5, f32[5]:+, 2, 1 | f32[5], i64[]:<5, None, 1, -100"
#define NLL2D \
  "f32[2,3,2,2], i64[2,2,2]:<3, None, 1, -100 | f32[2,3,2,2], i64[2,2,2]:<3, f32[3]:+, 0, 1"

IG_OP(nll_loss_forward) = {
    .schema =
        "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
        "SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
    .shape = nll_shape,
    .kernel = nll_kernel,
    .variant = 1,
    .vjp = nll_vjp,
    .diff_results = 1,
    .keep = "self, target, weight, result1",
    .decompose_outs = ig_lower_nll_loss_forward,
    .samples = NLL,
    .waive = "gradient of weight: a constant in PyTorch",
};
IG_OP(nll_loss_backward) = {
    .schema =
        "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
        "weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    .shape = nll_backward_shape,
    .kernel = nll_backward_kernel,
    .variant = 1,
    .vjp = nll_backward_vjp,
    .keep = "self, target, weight, total_weight",
    .lower = ig_lower_nll_loss_backward,
    .samples =
        "f32[], f32[3,5], i64[3]:<5, None, 2, -100, f32[]:+ | f32[], f32[1,5], i64[1]:<5, None, "
        "1, -100, f32[]:ones | f32[3], f32[3,5], i64[3]:<5, f32[5]:+, 0, 1, f32[]:+",
    .waive =
        "lowering: it multiplies zeros by what may be NaN; gradient of weight: a constant in "
        "PyTorch; gradient of total_weight: likewise",
};
IG_OP(nll_loss2d_forward) = {
    .schema =
        "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
        "SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
    .shape = nll_shape,
    .kernel = nll_kernel,
    .variant = 2,
    .vjp = nll_vjp,
    .diff_results = 1,
    .keep = "self, target, weight, result1",
    .decompose_outs = ig_lower_nll_loss_forward,
    .samples = NLL2D,
    .waive = "gradient of weight: a constant in PyTorch",
};
IG_OP(nll_loss2d_backward) = {
    .schema =
        "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
        "weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    .shape = nll_backward_shape,
    .kernel = nll_backward_kernel,
    .variant = 2,
    .vjp = nll_backward_vjp,
    .keep = "self, target, weight, total_weight",
    .lower = ig_lower_nll_loss_backward,
    .samples =
        "f32[], f32[2,3,2,2], i64[2,2,2]:<3, None, 2, -100, f32[]:+ | f32[], f32[1,3,1,1], "
        "i64[1,1,1]:<3, None, 1, -100, f32[]:ones | f32[2,2,2], f32[2,3,2,2], i64[2,2,2]:<3, "
        "f32[3]:+, 0, 1, f32[]:+",
    .waive =
        "lowering: it multiplies zeros by what may be NaN; gradient of weight: a constant in "
        "PyTorch; gradient of total_weight: likewise",
};
IG_OP(nll_loss) = {
    .schema =
        "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
        "SymInt ignore_index=-100) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = nll_loss,
    .samples = "f32[3,5], i64[3]:<5 | f32[3,5], i64[3]:<5, None, 2",
};
IG_OP(nll_loss2d) = {
    .schema =
        "aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
        "SymInt ignore_index=-100) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = nll_loss2d,
    .samples = "f32[2,3,2,2], i64[2,2,2]:<3",
};
IG_OP(nll_loss_nd) = {
    .schema =
        "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int "
        "reduction=1, SymInt ignore_index=-100) -> Tensor",
    .decompose = nll_loss_nd,
    .samples =
        "f32[3,5], i64[3]:<5 | f32[2,3,2,2], i64[2,2,2]:<3 | f32[2,3,4], i64[2,4]:<3, None, 0",
};
IG_OP(cross_entropy_loss) = {
    .schema =
        "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
        "reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = cross_entropy,
    .samples =
        "f32[3,5], i64[3]:<5 | f32[3,5], f32[3,5]:u | f32[3,5], i64[3]:<5, f32[5]:+, 1, "
        "-100, 0.1 | f32[5], i64[]:<5 | f32[2,3,4], i64[2,4]:<3, None, 0 | f32[3,5], "
        "f32[3,5]:u, None, 0, -100, 0.2",
    .waive = "gradient of weight: a constant in PyTorch",
};
