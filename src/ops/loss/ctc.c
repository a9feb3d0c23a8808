// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification: the likelihood of a sequence of labels under a sequence of
// label distributions, summed over all alignments with repeated labels and blanks. All in double
// precision. Lengths come as lists or as tensors.
#include <math.h>
#include <string.h>

#include "op/formula.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "ops/dense.h"

typedef struct lengths {
  int64_t n;
  const int64_t *at;
} lengths;

static lengths read_lengths(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    return (lengths){ig_tensor_numel(v->tensor), ig_dense_read(c, v->tensor, IG_I64)};
  }
  int64_t *at = ig_dense_room(c, v->ints.n, IG_I64);
  for (size_t i = 0; at && i < v->ints.n; i++) at[i] = ig_int_specialize(c, v->ints.at[i]);
  return (lengths){(int64_t)v->ints.n, at};
}

// log_probs [T, N, C], targets [N, S] or all in a row
static bool check_ctc(ig_ctx *c, const ig_tensor *x, const ig_value *a) {
  const ig_tensor *targets = a[0].tensor;
  if (x->ndim != 3) {
    ig_fail_text(c, IG_RUNTIME, "ctc_loss: log_probs must have 3 dimensions, found %d", x->ndim);
  } else if (x->dtype != IG_F32 && x->dtype != IG_F64) {
    ig_refuse_dtype(c, "ctc_loss_cpu", x->dtype);
  } else if (targets->dtype != IG_I64 && targets->dtype != IG_I32) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected tensor for argument #2 'targets' to have one of the following scalar "
                 "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                 "ctc_loss)",
                 ig_dtype_title(targets->dtype));
  } else if (targets->ndim != 1 && targets->ndim != 2) {
    ig_fail_text(c, IG_RUNTIME, "ctc_loss: targets must have 1 or 2 dimensions, found %d",
                 targets->ndim);
  }
  for (int i = 1; i < 3 && c->status == IG_OK; i++) {
    ig_int n =
        a[i].kind == IG_KIND_TENSOR ? ig_numel_of(c, a[i].tensor) : ig_const((int64_t)a[i].ints.n);
    if (ig_int_eq(c, n, ig_sizes(x)[1])) continue;
    ig_fail_text(c, IG_RUNTIME, "%s must be of size batch_size",
                 i == 1 ? "input_lengths" : "target_lengths");
  }
  return c->status == IG_OK;
}
// The longest row of labels: of the list, or what the targets have room for.
static ig_int most_labels(ig_ctx *c, const ig_value *a) {
  const ig_tensor *targets = a[0].tensor;
  if (a[2].kind == IG_KIND_TENSOR) return ig_sizes(targets)[targets->ndim - 1];
  int64_t most = 0;
  for (size_t i = 0; i < a[2].ints.n; i++) {
    int64_t n = ig_int_specialize(c, a[2].ints.at[i]);
    most = n > most ? n : most;
  }
  return ig_const(most);
}
static void ctc_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[0].tensor;
  if (!check_ctc(c, x, args + 1)) return;
  ig_int states = ig_int_mul(c, ig_const(2), most_labels(c, args + 1));
  ig_meta_push_dim(c, &out[0], ig_sizes(x)[1]);
  ig_meta_push_dim(c, &out[1], ig_sizes(x)[1]);
  ig_meta_push_dim(c, &out[1], ig_sizes(x)[0]);
  ig_meta_push_dim(c, &out[1], ig_int_add(c, states, ig_const(1)));
}

// One call: what both directions read.
typedef struct problem {
  int64_t steps;
  int64_t batch;
  int64_t classes;
  int64_t states;  // of the longest row of labels: blank, label, blank ..
  int64_t blank;
  const double *x;  // [T, N, C]
  lengths inputs;
  lengths labels;
  const int64_t *target;
  int64_t *begin;  // of the labels of each element of the batch
} problem;

static bool read_problem(ig_ctx *c, const ig_tensor *x, const ig_value *a, int64_t blank,
                         problem *p) {
  const ig_tensor *targets = a[0].tensor;
  p->steps = ig_sizes(x)[0].value;
  p->batch = ig_sizes(x)[1].value;
  p->classes = ig_sizes(x)[2].value;
  int64_t most = most_labels(c, a).value;
  p->states = 2 * (most < INT64_MAX / 4 ? most : INT64_MAX / 4) + 1;  // more is refused below
  p->blank = blank;
  p->x = ig_dense_read(c, x, IG_F64);
  p->target = ig_dense_read(c, targets, IG_I64);
  p->inputs = read_lengths(c, &a[1]);
  p->labels = read_lengths(c, &a[2]);
  p->begin = ig_dense_room(c, (size_t)p->batch, IG_I64);
  if (c->status != IG_OK || !p->labels.at || !p->inputs.at || !p->begin) return false;
  if (blank < 0 || blank >= p->classes) {
    ig_fail_text(c, IG_RUNTIME, "blank must be in label range");
    return false;
  }
  bool rows = targets->ndim == 2;
  int64_t room = ig_tensor_numel(targets);
  int64_t width = rows ? ig_sizes(targets)[1].value : 0;
  int64_t at = 0;
  for (int64_t b = 0; b < p->batch && c->status == IG_OK; b++) {
    int64_t n = p->labels.at[b];
    p->begin[b] = rows ? b * width : at;
    bool fits = n >= 0 && n <= room - p->begin[b] && (!rows || n <= width) && n <= p->states / 2;
    if (fits) at += n;
    if (!fits) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected targets to have %lld labels for element %lld of the batch, but they "
                   "have room for fewer (while checking arguments for ctc_loss)",
                   (long long)n, (long long)b);
    } else if (p->inputs.at[b] < 0 || p->inputs.at[b] > p->steps) {
      ig_fail_text(c, IG_RUNTIME,
                   "Expected input_lengths to have value at most %lld, but got value %lld (while "
                   "checking arguments for ctc_loss)",
                   (long long)p->steps, (long long)p->inputs.at[b]);
    }
    for (int64_t i = 0; i < n && c->status == IG_OK; i++) {
      int64_t label = p->target[p->begin[b] + i];
      if (label >= 0 && label < p->classes) continue;
      ig_fail_text(c, IG_RUNTIME, "ctc_loss: label %lld is none of the %lld classes",
                   (long long)label, (long long)p->classes);
    }
  }
  return c->status == IG_OK;
}
static int64_t label_of(const problem *p, int64_t b, int64_t state) {
  return state % 2 ? p->target[p->begin[b] + state / 2] : p->blank;
}
static double log_prob(const problem *p, int64_t t, int64_t b, int64_t label) {
  return p->x[(t * p->batch + b) * p->classes + label];
}
static double add_logs(double a, double b) {
  double most = a > b ? a : b;
  if (most == -(double)INFINITY) return most;
  return most + log(exp(a - most) + exp(b - most));
}
// Where a state may be reached from: itself, its neighbour, and the one beyond unless both have
// the same label. `step` is -1 forwards, 1 backwards.
static double reach(const problem *p, int64_t b, const double *row, int64_t s, int64_t count,
                    int64_t step) {
  double sum = row[s];
  int64_t next = s + step;
  int64_t beyond = s + 2 * step;
  if (next >= 0 && next < count) sum = add_logs(sum, row[next]);
  if (beyond < 0 || beyond >= count) return sum;
  return label_of(p, b, s) == label_of(p, b, beyond) ? sum : add_logs(sum, row[beyond]);
}
// alpha [T, states]: log likelihood of all ways from the start to a state at a time, or of those
// from it to the end.
static void run_states(const problem *p, int64_t b, double *alpha, bool back) {
  int64_t count = 2 * p->labels.at[b] + 1;
  int64_t steps = p->inputs.at[b];
  for (int64_t i = 0; i < p->steps * p->states; i++) alpha[i] = -(double)INFINITY;
  for (int64_t i = 0; i < steps; i++) {
    int64_t t = back ? steps - 1 - i : i;
    const double *before = alpha + (back ? t + 1 : t - 1) * p->states;
    for (int64_t s = 0; s < count; s++) {
      bool end = back ? s >= count - 2 : s < 2;
      double from =
          i == 0 ? (end ? 0 : -(double)INFINITY) : reach(p, b, before, s, count, back ? 1 : -1);
      alpha[t * p->states + s] = from + log_prob(p, t, b, label_of(p, b, s));
    }
  }
}

// log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
static void ctc_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  problem p;
  if (read_problem(c, args[0].tensor, args + 1, ig_value_i64(c, &args[4]), &p)) {
    double *alpha = ig_dense_room(c, (size_t)(p.batch * p.steps * p.states), IG_F64);
    double *loss = ig_dense_room(c, (size_t)p.batch, IG_F64);
    for (int64_t b = 0; alpha && loss && b < p.batch; b++) {
      double *at = alpha + b * p.steps * p.states;
      int64_t last = 2 * p.labels.at[b];
      run_states(&p, b, at, false);
      if (p.inputs.at[b] == 0) {
        loss[b] = last ? (double)INFINITY : 0;
        continue;
      }
      const double *end = at + (p.inputs.at[b] - 1) * p.states;
      loss[b] = -(last ? add_logs(end[last], end[last - 1]) : end[0]);
    }
    ig_dense_write(c, outs[0].tensor, IG_F64, loss);
    ig_dense_write(c, outs[1].tensor, IG_F64, alpha);
  }
  ig_scope_close(c, scope);
}

static void ctc_backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  (void)op;
  const ig_tensor *x = args[1].tensor;
  if (!check_ctc(c, x, args + 2)) return;
  out->dtype = x->dtype;
  for (int d = 0; d < 3; d++) ig_meta_push_dim(c, out, ig_sizes(x)[d]);
}
// grad, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank, zero_infinity:
// of probabilities that sum up to 1, exp(x) - sum of the ways through a label over its likelihood.
static void ctc_backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  (void)op;
  ig_scope scope = ig_scope_open(c);
  problem p;
  if (read_problem(c, args[1].tensor, args + 2, ig_value_i64(c, &args[7]), &p)) {
    size_t states = (size_t)(p.steps * p.states);
    double *alpha = ig_dense_room(c, states, IG_F64);
    double *beta = ig_dense_room(c, states, IG_F64);
    double *through = ig_dense_room(c, (size_t)p.classes, IG_F64);
    double *g = ig_dense_room(c, (size_t)(p.steps * p.batch * p.classes), IG_F64);
    const double *grad = ig_dense_read(c, args[0].tensor, IG_F64);
    const double *loss = ig_dense_read(c, args[5].tensor, IG_F64);
    bool fits =
        ig_tensor_numel(args[0].tensor) == p.batch && ig_tensor_numel(args[5].tensor) == p.batch;
    if (!fits && c->status == IG_OK) {
      ig_fail_text(c, IG_RUNTIME,
                   "ctc_loss_backward: expected one gradient and one loss per "
                   "element of the batch");
    }
    for (int64_t b = 0; c->status == IG_OK && b < p.batch; b++) {
      if (args[8].b && isinf(loss[b]) && loss[b] > 0) continue;
      run_states(&p, b, alpha, false);
      run_states(&p, b, beta, true);
      for (int64_t t = 0; t < p.inputs.at[b]; t++) {
        for (int64_t k = 0; k < p.classes; k++) through[k] = -(double)INFINITY;
        for (int64_t s = 0; s < 2 * p.labels.at[b] + 1; s++) {
          double *to = &through[label_of(&p, b, s)];
          *to = add_logs(*to, alpha[t * p.states + s] + beta[t * p.states + s]);
        }
        for (int64_t k = 0; k < p.classes; k++) {
          double x = log_prob(&p, t, b, k);
          g[(t * p.batch + b) * p.classes + k] = (exp(x) - exp(through[k] + loss[b] - x)) * grad[b];
        }
      }
    }
    ig_dense_write(c, outs[0].tensor, IG_F64, g);
  }
  ig_scope_close(c, scope);
}

static void ctc_vjp(ig_ctx *c, const ig_vjp *v) {
  const ig_value *a = v->args;
  if (!v->grads[0]) return;
  if (a[2].kind == IG_KIND_TENSOR) {
    IG_GRAD(v, 0) = ig__ctc_loss_backward_tensor_with(c, v->grads[0], a[0].tensor, a[1].tensor,
                                                      a[2].tensor, a[3].tensor, v->outs[0].tensor,
                                                      v->outs[1].tensor, a[4].i, a[5].b);
  } else {
    IG_GRAD(v, 0) =
        ig__ctc_loss_backward_with(c, v->grads[0], a[0].tensor, a[1].tensor, a[2], a[3],
                                   v->outs[0].tensor, v->outs[1].tensor, a[4].i, a[5].b);
  }
}

enum { NO_REDUCTION, MEAN, SUM };

// The rest after the loss per element: zero_infinity, reduction over `target_lengths`.
static ig_tensor *reduce_loss(ig_ctx *c, ig_tensor *loss, ig_tensor *counts, const ig_value *a,
                              bool batched) {
  if (a[6].b) {
    ig_tensor *infinite = ig_eq_scalar(c, loss, ig_of_f64((double)INFINITY));
    ig_tensor *none = ig_zeros_with(c, ig_of_ints(NULL, 0), ig_of_dtype(loss->dtype), ig_none(),
                                    ig_of_device(loss->device), ig_none());
    loss = ig_where_self(c, infinite, none, loss);
  }
  int64_t reduction = ig_value_i64(c, &a[5]);
  if (reduction == MEAN) {
    counts = ig_clamp_min(c, counts, ig_of_i64(1));
    return ig_mean(c, ig_div_tensor(c, loss, counts));
  }
  if (reduction == SUM) return ig_sum(c, loss);
  return batched ? loss : ig_squeeze_dim(c, loss, ig_const(0));
}
static ig_tensor *ctc_loss(ig_ctx *c, const ig_value *a, bool tensors) {
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_tensor *x = a[0].tensor;
  ig_tensor *targets = a[1].tensor;
  bool batched = x->ndim == 3;
  if (!batched) x = ig_unsqueeze(c, x, ig_const(1));
  if (!batched) targets = ig_unsqueeze(c, targets, ig_const(0));
  targets = ig_cast(c, targets, IG_I64);
  ig_tensor *counts = NULL;
  if (tensors) {
    ig_tensor *inputs = ig_reshape(c, a[2].tensor, ig_of_ints((ig_int[]){ig_const(-1)}, 1));
    counts = ig_reshape(c, a[3].tensor, ig_of_ints((ig_int[]){ig_const(-1)}, 1));
    ig__ctc_loss_tensor_with(c, x, targets, inputs, counts, a[4].i, a[6].b, outs);
  } else {
    ig__ctc_loss_with(c, x, targets, a[2], a[3], a[4].i, a[6].b, outs);
    if (c->status != IG_OK) return NULL;
    ig_value *numbers = ig_scope_array(c, a[3].ints.n + 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < a[3].ints.n; i++) {
      ig_tensor *one =
          ig_full_with(c, ig_of_ints((ig_int[]){ig_const(1)}, 1), ig_of_int(a[3].ints.at[i]),
                       ig_of_dtype(x->dtype), ig_none(), ig_of_device(x->device), ig_none());
      numbers[i] = ig_of_tensor(one);
    }
    bool any = numbers && c->status == IG_OK && a[3].ints.n;
    counts = any ? ig_cat(c, ig_of_list(numbers, a[3].ints.n)) : outs[0].tensor;
  }
  return c->status == IG_OK ? reduce_loss(c, outs[0].tensor, counts, a, batched) : NULL;
}
static ig_tensor *ctc_loss_lists(ig_ctx *c, const ig_value *a) {
  return ctc_loss(c, a, false);
}
static ig_tensor *ctc_loss_tensors(ig_ctx *c, const ig_value *a) {
  for (int i = 2; i < 4; i++) {
    ig_dtype d = a[i].tensor->dtype;
    if (!ig_dtype_is_float(d) && !ig_dtype_is_complex(d) && d != IG_BOOL) continue;
    ig_fail_text(c, IG_RUNTIME, "%s must be integral", i == 2 ? "input_lengths" : "target_lengths");
    return NULL;
  }
  return ctc_loss(c, a, true);
}

IG_OP(_ctc_loss) = {
    .schema =
        "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
        "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    .shape = ctc_shape,
    .kernel = ctc_kernel,
    .vjp = ctc_vjp,
    .diff_results = 1,
    .samples = "f32[5,2,4], i64{1,2,3,3}, [5,5], [2,2] | f64[5,2,4], i64[2,2]:<3, [5,5], [2,2], 3",
    .waive =
        "gradient: it is that of probabilities that sum up to 1; special: infinities cancel "
        "otherwise; strides: PyTorch's gradient lies by batches; size 4=1: refused here, PyTorch "
        "computes it",
};
IG_OP(_ctc_loss_tensor) = {
    .schema =
        "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
        "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    .shape = ctc_shape,
    .kernel = ctc_kernel,
    .vjp = ctc_vjp,
    .diff_results = 1,
    .samples = "f32[5,2,4], i64[2,2]:<3, i64{5,5}, i64{2,2}, 3",
    .waive =
        "gradient: it is that of probabilities that sum up to 1; special: infinities cancel "
        "otherwise; strides: PyTorch's gradient lies by batches",
};
IG_OP(_ctc_loss_backward) = {
    .schema =
        "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] "
        "input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int "
        "blank, bool zero_infinity=False) -> Tensor",
    .shape = ctc_backward_shape,
    .kernel = ctc_backward_kernel,
    .samples = "f32[2], f32[5,2,4], i64[2,2]:<3, [5,4], [2,2], f32[2], f32[2,5,5], 3",
    .waive =
        "values: the likelihoods of a sample belong to no call; strides: PyTorch's gradient lies "
        "by batches; size 2=0: refused here, PyTorch computes it; size 2=1: refused here, PyTorch "
        "computes it",
};
IG_OP(_ctc_loss_backward_tensor) = {
    .schema =
        "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor "
        "input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int "
        "blank, bool zero_infinity=False) -> Tensor",
    .shape = ctc_backward_shape,
    .kernel = ctc_backward_kernel,
    .samples = "f32[2], f32[5,2,4], i64[2,2]:<3, i64{5,4}, i64{2,2}, f32[2], f32[2,5,5], 3",
    .waive =
        "values: the likelihoods of a sample belong to no call; strides: PyTorch's gradient lies "
        "by batches; size 2=0: refused here, PyTorch computes it; size 2=1: refused here, PyTorch "
        "computes it; size 4=1: refused here, PyTorch computes it",
};
IG_OP(ctc_loss_intlist) = {
    .schema =
        "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
        "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ctc_loss_lists,
    .samples =
        "f32[5,2,4], i64[2,2]:<3, [5,4], [2,1], 3 | f64[5,2,4], i64{1,2,3}, [5,4], [2,1], 0, 2 | "
        "f32[5,4], i64{1,2}, [5], [2], 0, 0 | f32[3,2,4], i64{1,1,2,2}, [2,3], [2,2], 0, 0, True",
    .waive =
        "gradient: it is that of probabilities that sum up to 1; size 4=1: refused here, PyTorch "
        "computes it",
};
IG_OP(ctc_loss_tensor) = {
    .schema =
        "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
        "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    .autocast = IG_AUTOCAST_F32,
    .decompose = ctc_loss_tensors,
    .samples =
        "f32[5,2,4], i64[2,2]:<3, i64{5,4}, i64{2,1}, 3 | f64[5,2,4], i64{1,2,3}, i64{5,4}, "
        "i64{2,1}, 0, 2",
    .waive =
        "gradient: it is that of probabilities that sum up to 1; size 4=1: refused here, PyTorch "
        "computes it",
};
