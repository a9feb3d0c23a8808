// SPDX-License-Identifier: Apache-2.0
// Batch normalization in ATen's many forms over one kernel. In training the running statistics are
// updated by the forms whose schema says so, and by native_batch_norm, whose schema does not.
#include "kernels/norm.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/lower.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"

// The positions of the arguments of a form; -1: none.
typedef struct form {
  int weight;
  int bias;
  int mean;
  int var;
  int training;
  int momentum;
  int eps;
} form;

static const form with_stats = {1, 2, 3, 4, 5, 6, 7};
static const form no_stats = {1, 2, -1, -1, 3, 4, 5};
static const form no_training = {1, 2, 3, 4, -1, 5, 6};

enum { STATS, FUNCTIONAL, NO_STATS, NO_TRAINING };

static const form *form_of(const ig_op *op) {
  return op->def->variant == NO_STATS      ? &no_stats
         : op->def->variant == NO_TRAINING ? &no_training
                                           : &with_stats;
}

static ig_tensor *tensor_at(const ig_value *args, int i) {
  return i < 0 ? NULL : ig_value_tensor(&args[i]);
}

static bool trains(const ig_op *op, const ig_value *args) {
  const form *f = form_of(op);
  return op->def->variant == NO_STATS || (f->training >= 0 && args[f->training].b);
}

static ig_dtype param_dtype(const ig_op *op, const ig_value *args) {
  const form *f = form_of(op);
  const int order[] = {f->weight, f->mean, f->bias};
  for (int i = 0; i < 3; i++) {
    const ig_tensor *t = tensor_at(args, order[i]);
    if (t) return t->dtype;
  }
  return args[0].tensor->dtype;
}

static void check_vector(ig_ctx *c, const ig_tensor *t, ig_int channels, const char *name) {
  if (!t || c->status != IG_OK) return;
  if (t->ndim == 1 && ig_int_eq(c, ig_sizes(t)[0], channels)) return;
  if (c->status != IG_OK) return;
  ig_fail_text(c, IG_RUNTIME, "%s should contain %s elements not %s", name,
               ig_int_text(c, channels), t->ndim ? ig_int_text(c, ig_sizes(t)[0]) : "1");
}

static void bn_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[0].tensor;
  const form *f = form_of(op);
  if (x->ndim < 2) {
    ig_fail_text(c, IG_RUNTIME, "batch_norm: expected at least 2D input, but got a %dD tensor",
                 x->ndim);
    return;
  }
  ig_int channels = ig_sizes(x)[1];
  for (int d = 0; d < x->ndim && trains(op, args); d++) {
    if (!ig_int_eq_i64(c, ig_sizes(x)[d], 0)) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "input tensor must have at least one element, but got input_sizes = %s",
                 ig_sizes_text(c, ig_sizes(x), (size_t)x->ndim));
    return;
  }
  check_vector(c, tensor_at(args, f->weight), channels, "weight");
  check_vector(c, tensor_at(args, f->bias), channels, "bias");
  check_vector(c, tensor_at(args, f->mean), channels, "running_mean");
  check_vector(c, tensor_at(args, f->var), channels, "running_var");
  if (c->status != IG_OK) return;
  if (!trains(op, args) && (!tensor_at(args, f->mean) || !tensor_at(args, f->var))) {
    ig_fail_text(c, IG_RUNTIME,
                 "Expected running_mean and running_var to be defined when not training");
    return;
  }
  if (!ig_check_float(c, "batch_norm", x->dtype)) return;
  if (!ig_check_float(c, "batch_norm", param_dtype(op, args))) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(x)[d]);
  ig_memory_format format = ig_tensor_suggest_format(c, x);
  if (format != IG_CONTIGUOUS) {
    ig_meta_format(c, &out[0], format);
    out[0].strided = true;
  }
  ig_int saved = trains(op, args) ? channels : ig_const(0);
  for (int i = 1; i < 3; i++) {
    out[i].dtype = param_dtype(op, args);
    ig_meta_push_dim(c, &out[i], saved);
  }
  for (int i = 3; i < (int)op->schema.nrets; i++) {
    out[i].dtype = args[f->mean].tensor->dtype;
    ig_meta_push_dim(c, &out[i], channels);
  }
}

static const void *dense(ig_ctx *c, const ig_tensor *t, ig_dtype dtype) {
  bool none[IG_MAX_DIM] = {false};
  ig_axis a;
  return t ? ig_reduce_operand(c, t, none, dtype, &a) : NULL;
}

// Elements in the memory format `format`; a copy only if they have another one.
static const void *laid_out(ig_ctx *c, const ig_tensor *t, ig_memory_format format) {
  if (ig_tensor_has_format(c, t, format)) return ig_tensor_data(t);
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_meta_format(c, &m, format);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy ? ig_tensor_data(copy) : NULL;
}

static ig_norm_batch geometry(ig_ctx *c, const ig_tensor *x, ig_dtype param) {
  ig_norm_batch s = {.elem = ig_elem_of(x->dtype),
                     .param = ig_elem_of(param),
                     .channels_last = ig_tensor_suggest_format(c, x) != IG_CONTIGUOUS,
                     .n = ig_sizes(x)[0].value,
                     .c = ig_sizes(x)[1].value,
                     .spatial = 1};
  for (int d = 2; d < x->ndim; d++) s.spatial *= ig_sizes(x)[d].value;
  return s;
}

typedef struct bn_state {
  ig_norm_batch shape;
  ig_operand x;
  ig_operand gamma;
  ig_operand beta;
  ig_operand mean;  // running statistics are updated where they lie, strided ones through a copy
  ig_operand var;
} bn_state;

// The functional form has new statistics instead of written ones.
static ig_tensor *statistic(const ig_op *op, const ig_value *args, const ig_value *outs, int i) {
  const form *f = form_of(op);
  if (op->def->variant == FUNCTIONAL) return outs[3 + i].tensor;
  return tensor_at(args, i ? f->var : f->mean);
}

static ig_operand plan_maybe(ig_need *n, const ig_tensor *t, ig_dtype dtype) {
  return t ? ig_operand_plan(n, t, dtype, IG_ROW_MAJOR) : (ig_operand){.dtype = dtype};
}

static void bn_prepare(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs,
                       ig_prep *p) {
  IG_STATE(bn_state, s, p);
  const ig_tensor *x = args[0].tensor;
  const form *f = form_of(op);
  ig_dtype param = param_dtype(op, args);
  s->shape = geometry(c, x, param);
  s->x = ig_operand_plan(&p->need, x, x->dtype,
                         s->shape.channels_last ? IG_CHANNELS_INNERMOST : IG_ROW_MAJOR);
  s->gamma = plan_maybe(&p->need, tensor_at(args, f->weight), param);
  s->beta = plan_maybe(&p->need, tensor_at(args, f->bias), param);
  s->mean = plan_maybe(&p->need, statistic(op, args, outs, 0), param);
  s->var = plan_maybe(&p->need, statistic(op, args, outs, 1), param);
}

static void train(const ig_exec *x, const ig_norm_batch *shape, const void *data) {
  const bn_state *s = x->state;
  const form *f = form_of(x->op);
  ig_tensor *mean = statistic(x->op, x->args, x->outs, 0);
  ig_tensor *var = statistic(x->op, x->args, x->outs, 1);
  void *m = (void *)ig_operand_read(x, &s->mean, mean);
  void *v = (void *)ig_operand_read(x, &s->var, var);
  ig_norm_batch_train(shape, data, x->args[f->momentum].f, x->args[f->eps].f, m, v,
                      ig_tensor_data(x->outs[0].tensor), ig_tensor_data(x->outs[1].tensor),
                      ig_tensor_data(x->outs[2].tensor));
  ig_operand_write(x, &s->mean, mean);
  ig_operand_write(x, &s->var, var);
  if (mean) ig_tensor_bump(mean);
  if (var) ig_tensor_bump(var);
}

static void bn_run(const ig_exec *x) {
  const bn_state *s = x->state;
  const form *f = form_of(x->op);
  ig_norm_batch shape = s->shape;
  const void *data = ig_operand_read(x, &s->x, x->args[0].tensor);
  shape.gamma = ig_operand_read(x, &s->gamma, tensor_at(x->args, f->weight));
  shape.beta = ig_operand_read(x, &s->beta, tensor_at(x->args, f->bias));
  if (x->op->def->variant == FUNCTIONAL) {
    ig_tensor_copy(x->outs[3].tensor, tensor_at(x->args, f->mean));
    ig_tensor_copy(x->outs[4].tensor, tensor_at(x->args, f->var));
  }
  if (trains(x->op, x->args)) {
    train(x, &shape, data);
    return;
  }
  const void *m = ig_operand_read(x, &s->mean, statistic(x->op, x->args, x->outs, 0));
  const void *v = ig_operand_read(x, &s->var, statistic(x->op, x->args, x->outs, 1));
  ig_norm_batch_infer(&shape, data, m, v, x->args[f->eps].f, ig_tensor_data(x->outs[0].tensor));
}

static bool check_backward(ig_ctx *c, const ig_op *op, const ig_value *args) {
  const ig_tensor *x = args[1].tensor;
  const ig_tensor *g = args[0].tensor;
  bool same = x->ndim >= 2 && x->ndim == g->ndim && args[9].list.n == 3;
  for (int d = 0; d < x->ndim && same; d++) same = ig_int_eq(c, ig_sizes(x)[d], ig_sizes(g)[d]);
  if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "batch_norm_backward: expected grad_out and input of the same shape with at least "
                 "2 dimensions and a mask of 3");
  }
  ig_dtype p = args[2].kind == IG_KIND_TENSOR ? args[2].tensor->dtype : x->dtype;
  if (c->status == IG_OK && ig_check_float(c, "batch_norm_backward", x->dtype) &&
      ig_check_float(c, "batch_norm_backward", p) && g->dtype != x->dtype) {
    ig_refuse_dtype(c, "batch_norm_backward", g->dtype);
  }
  size_t stats = args[7].b ? 5 : 3;  // read with training: what was saved; else the running ones
  for (size_t i = 2; i < 7 && c->status == IG_OK; i++) {
    const ig_tensor *t = ig_value_tensor(&args[i]);
    bool read = i == stats || i == stats + 1;
    if (!t && read) {
      ig_fail_text(c, IG_RUNTIME, "batch_norm_backward: %s must be given when train is %s",
                   op->schema.args[i].name, args[7].b ? "true" : "false");
    }
    if (t && (read || i == 2)) check_vector(c, t, ig_sizes(x)[1], op->schema.args[i].name);
  }
  return c->status == IG_OK;
}

// grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
// output_mask
static void backward_shape(ig_ctx *c, const ig_op *op, const ig_value *args, ig_meta *out) {
  const ig_tensor *x = args[1].tensor;
  const ig_value *mask = args[9].list.at;
  if (!check_backward(c, op, args)) return;
  for (int d = 0; d < x->ndim; d++) ig_meta_push_dim(c, &out[0], ig_sizes(x)[d]);
  out[0].dtype = x->dtype;
  ig_memory_format format = ig_tensor_suggest_format(c, x);
  if (format != IG_CONTIGUOUS) {
    ig_meta_format(c, &out[0], format);
    out[0].strided = true;
  }
  for (int i = 1; i < 3; i++) {
    out[i].dtype = args[2].kind == IG_KIND_TENSOR ? args[2].tensor->dtype : x->dtype;
    ig_meta_push_dim(c, &out[i], ig_sizes(x)[1]);
  }
  for (int i = 0; i < 3; i++) out[i].absent = !mask[i].b;
}

static void *data_of(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR ? ig_tensor_data(v->tensor) : NULL;
}

static void backward_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_tensor *x = args[1].tensor;
  (void)op;
  bool train = args[7].b;
  ig_dtype p = args[2].kind == IG_KIND_TENSOR ? args[2].tensor->dtype : x->dtype;
  ig_norm_batch s = geometry(c, x, p);
  ig_scope scope = ig_scope_open(c);
  ig_memory_format format = ig_tensor_suggest_format(c, x);
  const void *data = laid_out(c, x, format);
  const void *dy = laid_out(c, args[0].tensor, format);
  s.gamma = dense(c, ig_value_tensor(&args[2]), p);
  const void *mean = dense(c, ig_value_tensor(&args[train ? 5 : 3]), p);
  const void *rstd = NULL;
  if (train) {
    rstd = dense(c, ig_value_tensor(&args[6]), p);
  } else {  // 1 / sqrt(running_var + eps)
    ig_tensor *var = ig_value_tensor(&args[4]);
    ig_tensor *inverse = ig_rsqrt(c, ig_add_f64(c, ig_tensor_alias(c, var), args[8].f));
    rstd = dense(c, inverse, p);
  }
  if (c->status == IG_OK) {
    ig_norm_batch_grads g = {data_of(&outs[0]), data_of(&outs[1]), data_of(&outs[2])};
    ig_norm_batch_backward(&s, train, dy, data, mean, rstd, g);
  }
  ig_scope_close(c, scope);
}

// The gradient as plain arithmetic, and its gradient ----------------------------------------------

// (x - mean) * rstd and what belongs to it, shaped to stand beside x.
typedef struct normalized {
  ig_tensor *hat;
  ig_tensor *rstd;
  ig_tensor *gamma;  // NULL: none
  bool train;
  int ndim;
  ig_int dims[IG_MAX_DIM];  // all but the channels
} normalized;

static ig_tensor *beside(ig_ctx *c, ig_tensor *t, int ndim) {
  ig_int sizes[IG_MAX_DIM];
  if (!t) return NULL;
  for (int d = 0; d < ndim; d++) sizes[d] = d == 1 ? ig_sizes(t)[0] : ig_const(1);
  return ig_reshape(c, t, ig_of_ints(sizes, (size_t)ndim));
}

static normalized normalize(ig_ctx *c, const ig_value *args) {
  ig_tensor *x = args[1].tensor;
  normalized n = {.train = args[7].b, .ndim = x->ndim};
  for (int d = 0, k = 0; d < x->ndim; d++) {
    if (d != 1) n.dims[k++] = ig_const(d);
  }
  ig_tensor *rstd = ig_value_tensor(&args[6]);
  if (!n.train) rstd = ig_rsqrt(c, ig_add_f64(c, ig_value_tensor(&args[4]), args[8].f));
  ig_tensor *mean = beside(c, ig_value_tensor(&args[n.train ? 5 : 3]), x->ndim);
  n.rstd = beside(c, rstd, x->ndim);
  n.gamma = beside(c, ig_value_tensor(&args[2]), x->ndim);
  n.hat = ig_mul_tensor(c, ig_sub_tensor(c, x, mean), n.rstd);
  return n;
}

static ig_tensor *mean_over(ig_ctx *c, const normalized *n, ig_tensor *t) {
  return ig_mean_dim_with(c, t, ig_of_ints(n->dims, (size_t)n->ndim - 1), true, ig_none());
}

static ig_tensor *sum_over(ig_ctx *c, const normalized *n, ig_tensor *t) {
  return ig_sum_dim_intlist_with(c, t, ig_of_ints(n->dims, (size_t)n->ndim - 1), false, ig_none());
}

// The derivative of hat, a symmetric map: rstd (u - mean(u) - hat mean(u hat)). Without training
// the statistics are constants.
static ig_tensor *project(ig_ctx *c, const normalized *n, ig_tensor *u) {
  if (!n->train) return ig_mul_tensor(c, u, n->rstd);
  ig_tensor *a = mean_over(c, n, u);
  ig_tensor *b = mean_over(c, n, ig_mul_tensor(c, u, n->hat));
  ig_tensor *d = ig_sub_tensor(c, u, a);
  b = ig_mul_tensor(c, n->hat, b);
  return ig_mul_tensor(c, ig_sub_tensor(c, d, b), n->rstd);
}

static ig_tensor *scaled(ig_ctx *c, const normalized *n, ig_tensor *t) {
  return n->gamma ? ig_mul_tensor(c, t, n->gamma) : t;
}

static ig_tensor *sum_of(ig_ctx *c, ig_tensor *a, ig_tensor *b) {
  return a && b ? ig_add_tensor(c, a, b) : a ? a : b;
}

static void backward_formula(ig_ctx *c, const ig_value *args, ig_value *outs) {
  const ig_value *mask = args[9].list.at;
  ig_tensor *g = args[0].tensor;
  ig_dtype dtype = args[1].tensor->dtype;
  ig_dtype p = args[2].kind == IG_KIND_TENSOR ? args[2].tensor->dtype : dtype;
  normalized n = normalize(c, args);
  if (mask[0].b) {
    ig_tensor *d = scaled(c, &n, project(c, &n, g));
    outs[0] = ig_of_tensor(ig_cast(c, d, dtype));
  }
  if (mask[1].b) {
    ig_tensor *d = sum_over(c, &n, ig_mul_tensor(c, g, n.hat));
    outs[1] = ig_of_tensor(ig_cast(c, d, p));
  }
  if (mask[2].b) outs[2] = ig_of_tensor(ig_cast(c, sum_over(c, &n, g), p));
}

// How dx = gamma project(g) and dgamma = sum(g hat) vary with x, which training statistics follow.
static ig_tensor *second_of_input(ig_ctx *c, const normalized *n, ig_tensor *g, ig_tensor *u,
                                  ig_tensor *wg) {
  ig_tensor *by_gamma = wg ? project(c, n, ig_mul_tensor(c, g, wg)) : NULL;
  if (!u || !n->train) return by_gamma;
  ig_tensor *gw = scaled(c, n, g);
  ig_tensor *a = mean_over(c, n, ig_mul_tensor(c, gw, n->hat));
  ig_tensor *b = mean_over(c, n, ig_mul_tensor(c, u, n->hat));
  a = ig_mul_tensor(c, u, a);
  b = ig_mul_tensor(c, gw, b);
  ig_tensor *q = ig_mul_tensor(c, ig_add_tensor(c, a, b), n->rstd);
  ig_tensor *by_hat = project(c, n, q);
  // rstd varies by -rstd^2 hat / count
  ig_tensor *pu = project(c, n, u);
  ig_tensor *m = mean_over(c, n, ig_mul_tensor(c, pu, gw));
  ig_tensor *slope = ig_mul_tensor(c, n->hat, n->rstd);
  ig_tensor *by_rstd = ig_mul_tensor(c, slope, m);
  ig_tensor *total = ig_neg(c, ig_add_tensor(c, by_hat, by_rstd));
  return sum_of(c, total, by_gamma);
}

static void backward_vjp(ig_ctx *c, const ig_vjp *v) {
  ig_tensor *g = v->args[0].tensor;
  ig_tensor *u = v->grads[0];  // gradients of dx, dgamma, dbeta
  normalized n = normalize(c, v->args);
  ig_tensor *wg = beside(c, v->grads[1], n.ndim);
  ig_tensor *bg = beside(c, v->grads[2], n.ndim);
  ig_tensor *pu = u ? project(c, &n, u) : NULL;
  if (IG_WANTED(v, 0)) {
    ig_tensor *d = pu ? scaled(c, &n, pu) : NULL;
    d = sum_of(c, d, wg ? ig_mul_tensor(c, n.hat, wg) : NULL);
    d = sum_of(c, d, bg ? ig_expand(c, bg, ig_sizes_of(g)) : NULL);
    IG_GRAD(v, 0) = ig_cast(c, d, g->dtype);
  }
  if (IG_WANTED(v, 1)) {
    ig_tensor *d = second_of_input(c, &n, g, u, wg);
    IG_GRAD(v, 1) = d ? ig_cast(c, d, v->args[1].tensor->dtype) : NULL;
  }
  if (pu && n.gamma && IG_WANTED(v, 2)) {
    ig_tensor *d = sum_over(c, &n, ig_mul_tensor(c, pu, g));
    IG_GRAD(v, 2) = ig_cast(c, d, v->args[2].tensor->dtype);
  }
}

static void bn_vjp(ig_ctx *c, const ig_vjp *v) {
  const form *f = form_of(v->op);
  if (!v->grads[0]) return;
  bool weight = tensor_at(v->args, f->weight) && IG_WANTED(v, f->weight);
  bool bias = tensor_at(v->args, f->bias) && IG_WANTED(v, f->bias);
  ig_value mask[] = {ig_of_bool(IG_WANTED(v, 0)), ig_of_bool(weight), ig_of_bool(bias)};
  bool train = trains(v->op, v->args);
  // Training does not read the running statistics, which the forward may have written since. A
  // graph names them all the same, as PyTorch's do.
  bool named = !train || c->mode->capture;
  ig_tensor *mean = named ? tensor_at(v->args, f->mean) : NULL;
  ig_tensor *var = named ? tensor_at(v->args, f->var) : NULL;
  ig_value d[IG_MAX_RETURNS];
  ig_native_batch_norm_backward(c, v->grads[0], v->args[0].tensor, tensor_at(v->args, f->weight),
                                mean, var, v->outs[1].tensor, v->outs[2].tensor, train,
                                v->args[f->eps].f, ig_of_list(mask, 3), d);
  if (c->status != IG_OK) return;
  IG_GRAD(v, 0) = ig_value_tensor(&d[0]);
  if (weight) IG_GRAD(v, f->weight) = ig_value_tensor(&d[1]);
  if (bias) IG_GRAD(v, f->bias) = ig_value_tensor(&d[2]);
}

// As PyTorch has it: the first weight and bias keep a history.
static ig_tensor *without_elements(ig_ctx *c, const ig_value *args) {
  ig_tensor *out = ig_clone(c, args[0].tensor);
  for (int i = 1; i < 3; i++) {
    ig_tensor *t = ig_value_tensor(&args[i]);
    ig_tensor *one = t ? ig_select_int(c, t, ig_const(0), ig_const(0)) : NULL;
    if (t) out = i == 1 ? ig_mul_tensor(c, out, one) : ig_add_tensor(c, out, one);
  }
  return out;
}

// The public form: training with running statistics writes them.
static ig_tensor *batch_norm(ig_ctx *c, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  ig_tensor *w = ig_value_tensor(&args[1]);
  ig_tensor *b = ig_value_tensor(&args[2]);
  ig_tensor *mean = ig_value_tensor(&args[3]);
  ig_tensor *var = ig_value_tensor(&args[4]);
  bool training = args[5].b;
  if (ig_int_eq_i64(c, ig_numel_of(c, args[0].tensor), 0)) return without_elements(c, args);
  if (training) {
    const ig_tensor *x = args[0].tensor;
    ig_int per_channel = ig_const(1);
    for (int d = 0; d < x->ndim; d++) {
      if (d != 1) per_channel = ig_int_mul(c, per_channel, ig_sizes(x)[d]);
    }
    if (x->ndim >= 2 && !per_channel.expr && per_channel.value == 1) {
      ig_fail_text(c, IG_INVALID,
                   "Expected more than 1 value per channel when training, got input size with one "
                   "value per channel");
      return NULL;
    }
  } else if (!mean || !var) {
    ig_fail_text(c, IG_RUNTIME, "running_mean and running_var must be given when not training");
    return NULL;
  }
  if (!training) {
    ig__native_batch_norm_legit_no_training(c, args[0].tensor, w, b, mean, var, args[6].f,
                                            args[7].f, outs);
  } else if (mean) {
    ig__native_batch_norm_legit(c, args[0].tensor, w, b, mean, var, true, args[6].f, args[7].f,
                                outs);
  } else if (c->mode->capture) {
    ig__native_batch_norm_legit_no_stats(c, args[0].tensor, w, b, true, args[6].f, args[7].f, outs);
  } else {  // what a program shows is another form of the same
    ig_native_batch_norm(c, args[0].tensor, w, b, NULL, NULL, true, args[6].f, args[7].f, outs);
  }
  return ig_value_tensor(&outs[0]);
}

// What batch_norm calls: also the statistics, room for a library's own, and which library it was.
static void impl_index(ig_ctx *c, const ig_value *args, ig_value *outs) {
  ig_int zero = ig_const(0);
  ig_value strided = {.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED};
  outs[3] = ig_of_tensor(ig_empty_memory_format_with(c, ig_of_ints(&zero, 1), ig_of_dtype(IG_U8),
                                                     strided, ig_of_device(args[0].tensor->device),
                                                     ig_none(), ig_none()));
  ig_native_batch_norm(c, args[0].tensor, ig_value_tensor(&args[1]), ig_value_tensor(&args[2]),
                       ig_value_tensor(&args[3]), ig_value_tensor(&args[4]), args[5].b, args[6].f,
                       args[7].f, outs);
  outs[4] = ig_of_i64(0);
}

#define KEEP "input, weight, running_mean, running_var, result1, result2"

IG_OP(batch_norm) = {
    .schema =
        "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
        "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) "
        "-> Tensor",
    .writes_too = 1 << 3 | 1 << 4,
    .may_alias = true,
    .decompose = batch_norm,
    .samples =
        "f32[3,4], f32[4], f32[4], f32[4], f32[4]:+, False, 0.1, 1e-5, True | f32[2,3,4], "
        "None, None, None, None, True, 0.1, 1e-5, True",
    .waive = "gradient of running_mean: a constant in PyTorch; gradient of running_var: likewise",
};
IG_OP(_batch_norm_impl_index) = {
    .schema =
        "aten::_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
        "running_mean, Tensor? running_var, bool training, float momentum, float eps, bool "
        "cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)",
    .writes_too = 1 << 3 | 1 << 4,
    .may_alias = true,
    .decompose_outs = impl_index,
    .samples = "f32[2,3,4], f32[3], f32[3], f32[3], f32[3]:+, False, 0.1, 1e-5, True",
    .waive =
        "gradient of running_mean: a constant in PyTorch; gradient of running_var: likewise; "
        "refusal: other classes; size 2=0: other results than PyTorch; size 4=0: other results "
        "than PyTorch",
};
IG_OP(native_batch_norm) = {
    .schema =
        "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
        "running_mean, Tensor? running_var, bool training, float momentum, float eps) -> "
        "(Tensor, Tensor, Tensor)",
    .writes_too = 1 << 3 | 1 << 4,
    .may_alias = true,
    .shape = bn_shape,
    .prepare = bn_prepare,
    .run = bn_run,
    .vjp = bn_vjp,
    .diff_results = 1,
    .keep = KEEP,
    .samples =
        "f32[3,4], f32[4], f32[4], f32[4], f32[4]:+, False, 0.1, 1e-5 | f32[2,3,4], f32[3], "
        "f32[3], None, None, True, 0.1, 1e-5",
    .waive = "gradient of running_mean: a constant in PyTorch; gradient of running_var: likewise",
};
IG_OP(_native_batch_norm_legit) = {
    .schema =
        "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
        "Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, "
        "float eps) -> (Tensor, Tensor, Tensor)",
    .functional = "aten::_native_batch_norm_legit_functional",
    .shape = bn_shape,
    .prepare = bn_prepare,
    .run = bn_run,
    .vjp = bn_vjp,
    .diff_results = 1,
    .keep = KEEP,
    .samples = "f32[2,3,4], f32[3], f32[3], f32[3], f32[3]:+, True, 0.1, 1e-5",
};
IG_OP(_native_batch_norm_legit_functional) = {
    .schema =
        "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? "
        "bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float "
        "eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
    .shape = bn_shape,
    .prepare = bn_prepare,
    .run = bn_run,
    .variant = FUNCTIONAL,
    .vjp = bn_vjp,
    .diff_results = 1,
    .keep = KEEP,
    .samples = "f32[2,3,4], f32[3], f32[3], f32[3], f32[3]:+, True, 0.1, 1e-5",
};
IG_OP(_native_batch_norm_legit_no_stats) = {
    .schema =
        "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "
        "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    .shape = bn_shape,
    .prepare = bn_prepare,
    .run = bn_run,
    .variant = NO_STATS,
    .vjp = bn_vjp,
    .diff_results = 1,
    .keep = "input, weight, result1, result2",
    .samples =
        "f32[2,3,4], f32[3], f32[3], True, 0.1, 1e-5 | f32[4,3], None, None, True, 0.1, 1e-5",
};
IG_OP(_native_batch_norm_legit_no_training) = {
    .schema =
        "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
        "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
        "(Tensor, Tensor, Tensor)",
    .shape = bn_shape,
    .prepare = bn_prepare,
    .run = bn_run,
    .variant = NO_TRAINING,
    .vjp = bn_vjp,
    .diff_results = 1,
    .keep = KEEP,
    .samples = "f32[2,3,4], f32[3], f32[3], f32[3], f32[3]:+, 0.1, 1e-5",
    .waive = "gradient of running_mean: a constant in PyTorch; gradient of running_var: likewise",
};
IG_OP(native_batch_norm_backward) = {
    .schema =
        "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, "
        "Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, "
        "bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    .shape = backward_shape,
    .kernel = backward_kernel,
    .decompose_outs = backward_formula,
    .vjp = backward_vjp,
    .lower_outs = ig_lower_batch_norm_backward,
    .samples =
        "f32[2,3,4], f32[2,3,4], f32[3], f32[3], f32[3]:+, f32[3], f32[3]:+, True, 1e-5, "
        "(True, True, True) | f32[2,3,4], f32[2,3,4], f32[3], f32[3], f32[3]:+, None, None, "
        "False, 1e-5, (True, True, True)",
    .waive =
        "gradient: the saved statistics stand for functions of the input, so differences that hold "
        "them fixed do not apply; special: without training 0 times the distance from the mean is "
        "added",
};
