// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers over lists of parameters, in-place; the functional forms work on copies.
#include <string.h>

#include "kernels/optim.h"
#include "op/formula.h"
#include "op/refuse.h"
#include "ops/reduce/reduce.h"
#include "tensor/copy.h"
#include "tensor/number.h"

enum { MAX_LISTS = 2 + IG_OPTIM_STATES };

// Which arguments the lists are. The parameters come first, then the gradients.
typedef struct lists {
  const ig_value *at[MAX_LISTS];  // NULL: not used
  const ig_value *steps;          // numbers of steps, one tensor per parameter; NULL: none
  size_t n;                       // parameters
} lists;

static const ig_value *named(const ig_op *op, const ig_value *args, const char *name) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (strcmp(op->schema.args[i].name, name) == 0) return &args[i];
  }
  return NULL;
}

static bool flag(const ig_op *op, const ig_value *args, const char *name) {
  const ig_value *v = named(op, args, name);
  return v && v->b;
}

static double element(const ig_tensor *t) {
  ig_value n = ig_element_load(ig_tensor_data(t), t->dtype);
  return ig_value_f64(&n);
}

static double number(const ig_op *op, const ig_value *args, const char *name) {
  const ig_value *v = named(op, args, name);
  if (!v || v->kind == IG_KIND_NONE) return 0;
  return v->kind == IG_KIND_TENSOR ? element(v->tensor) : ig_value_f64(v);
}

static lists adam_lists(const ig_op *op, const ig_value *args) {
  lists l = {.at = {&args[0], &args[1], &args[2], &args[3]}, .steps = &args[5]};
  if (flag(op, args, "amsgrad")) l.at[4] = &args[4];
  return l;
}
static lists sgd_lists(const ig_op *op, const ig_value *args) {
  lists l = {.at = {&args[0], &args[1]}};
  if (number(op, args, "momentum") != 0) l.at[2] = &args[2];
  return l;
}
static lists adagrad_lists(const ig_op *op, const ig_value *args) {
  (void)op;
  return (lists){.at = {&args[0], &args[1], &args[2]}, .steps = &args[3]};
}

static size_t length(const ig_value *v) {
  return v->kind == IG_KIND_LIST ? v->list.n : 0;
}

static bool same_sizes(ig_ctx *c, const ig_tensor *a, const ig_tensor *b) {
  bool same = a->ndim == b->ndim;
  for (int d = 0; same && d < a->ndim; d++) same = ig_int_eq(c, ig_sizes(a)[d], ig_sizes(b)[d]);
  return same;
}

static bool check_item(ig_ctx *c, const ig_op *op, const lists *l, size_t k) {
  const ig_tensor *p = l->at[0]->list.at[k].tensor;
  if (p->dtype != IG_F32 && p->dtype != IG_F64 && p->dtype != IG_F16 && p->dtype != IG_BF16) {
    ig_fail_text(c, IG_RUNTIME, "%s: parameter %zu is %s, expected float, double, half or bfloat16",
                 op->schema.name, k, ig_dtype_title(p->dtype));
    return false;
  }
  for (size_t i = 0; i < MAX_LISTS; i++) {
    if (!l->at[i]) continue;
    const ig_tensor *t = l->at[i]->list.at[k].tensor;
    if (t->dtype == l->at[0]->list.at[0].tensor->dtype && same_sizes(c, t, p)) continue;
    if (c->status != IG_OK) return false;
    ig_fail_text(c, IG_RUNTIME,
                 "%s: tensor %zu of %s: params, grads and states must have the same dtype, and the "
                 "sizes of their parameter",
                 op->schema.name, k, op->schema.args[i].name);
    return false;
  }
  const ig_tensor *step = l->steps ? l->steps->list.at[k].tensor : NULL;
  if (step && ig_tensor_numel(step) != 1) {
    ig_fail_text(c, IG_RUNTIME, "%s: state_steps[%zu]: expected a tensor of one element",
                 op->schema.name, k);
    return false;
  }
  return true;
}

static bool is_single(const ig_value *v) {
  return !v || v->kind != IG_KIND_TENSOR || ig_tensor_numel(v->tensor) == 1;
}

static bool check_lists(ig_ctx *c, const ig_op *op, const ig_value *args, lists *l) {
  static const char *const singles[] = {"lr", "grad_scale", "found_inf"};
  l->n = length(l->at[0]);
  for (size_t i = 0; i <= MAX_LISTS; i++) {
    const ig_value *v = i < MAX_LISTS ? l->at[i] : l->steps;
    if (v && length(v) != l->n) {
      ig_fail_text(c, IG_RUNTIME, "%s: lists of %zu and %zu tensors, expected equal lengths",
                   op->schema.name, l->n, length(v));
      return false;
    }
  }
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
    if (is_single(named(op, args, singles[i]))) continue;
    ig_fail_text(c, IG_RUNTIME, "%s: %s: expected a tensor of one element", op->schema.name,
                 singles[i]);
    return false;
  }
  for (size_t k = 0; k < l->n; k++) {
    if (!check_item(c, op, l, k)) return false;
  }
  return true;
}

static bool same_strides(const ig_tensor *a, const ig_tensor *b) {
  for (int d = 0; d < a->ndim; d++) {
    if (ig_sizes(a)[d].value != 1 &&                         // concrete: real tensors
        ig_strides(a)[d].value != ig_strides(b)[d].value) {  // concrete: the same
      return false;
    }
  }
  return true;
}

// Can the kernel take the memory of these tensors as it is?
static bool is_direct(const lists *l, size_t k) {
  const ig_tensor *p = l->at[0]->list.at[k].tensor;
  if (!ig_tensor_is_dense_permuted(p)) return false;
  for (size_t i = 1; i < MAX_LISTS; i++) {
    if (!l->at[i]) continue;
    const ig_tensor *t = l->at[i]->list.at[k].tensor;
    if (!same_strides(p, t)) return false;
    for (size_t j = 0; j < i; j++) {
      bool shared = l->at[j] && l->at[j]->list.at[k].tensor->storage == t->storage;
      if (shared && ig_tensor_overlap(l->at[j]->list.at[k].tensor, t) != IG_OVERLAP_NONE)
        return false;
    }
  }
  return true;
}

static ig_tensor *dense_copy(ig_ctx *c, const ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, t);
  return copy;
}

// work[k * MAX_LISTS + i]: the copy of tensor k of list i; NULL: the kernel takes the tensor
// itself.
static bool fill_item(ig_ctx *c, const lists *l, size_t k, ig_tensor **work, ig_optim_item *it) {
  bool direct = is_direct(l, k);
  void **to[MAX_LISTS] = {&it->param, &it->grad, &it->state[0], &it->state[1], &it->state[2]};
  *it = (ig_optim_item){.n = ig_tensor_numel(l->at[0]->list.at[k].tensor)};
  for (size_t i = 0; i < MAX_LISTS; i++) {
    if (!l->at[i]) continue;
    ig_tensor *t = l->at[i]->list.at[k].tensor;
    work[i] = direct ? NULL : dense_copy(c, t);
    if (!direct && !work[i]) return false;
    *to[i] = ig_tensor_data(direct ? t : work[i]);
  }
  if (l->steps) {
    it->step = element(l->steps->list.at[k].tensor);
  }
  return true;
}

// The gradients are only written if they were unscaled.
static void put_back(const lists *l, size_t k, ig_tensor **work, bool unscaled) {
  for (size_t i = 0; i < MAX_LISTS; i++) {
    if (work[i] && (i != 1 || unscaled)) ig_tensor_copy(l->at[i]->list.at[k].tensor, work[i]);
  }
}

static void step(ig_ctx *c, const ig_op *op, const ig_value *args, lists *l, ig_optim *o) {
  if (number(op, args, "found_inf") == 1 || l->n == 0) return;
  const ig_value *scale = named(op, args, "grad_scale");
  o->elem = ig_elem_of(l->at[0]->list.at[0].tensor->dtype);
  o->unscale = scale->kind == IG_KIND_TENSOR ? 1 / number(op, args, "grad_scale") : 1;
  o->lr = number(op, args, "lr");
  o->weight_decay = number(op, args, "weight_decay");
  o->maximize = flag(op, args, "maximize");
  ig_scope s = ig_scope_open(c);
  ig_optim_item *items = ig_scope_array(c, l->n, sizeof *items);
  ig_tensor **work = ig_scope_array(c, ig_mem_mul(l->n, MAX_LISTS), sizeof *work);
  if (items && work) {
    memset(work, 0, l->n * MAX_LISTS * sizeof(ig_tensor *));  // admitted: allocated above
    bool ok = true;
    for (size_t k = 0; ok && k < l->n; k++)
      ok = fill_item(c, l, k, work + k * MAX_LISTS, &items[k]);
    if (ok) ig_optim_run(o, items, l->n);
    for (size_t k = 0; ok && k < l->n; k++) put_back(l, k, work + k * MAX_LISTS, o->unscale != 1);
  }
  ig_scope_close(c, s);
}

// ---- Adam and AdamW ----

static void adam_check(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = adam_lists(op, args);
  (void)outs;
  (void)check_lists(c, op, args, &l);
}

static void adam_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = adam_lists(op, args);
  l.n = length(l.at[0]);
  (void)outs;
  ig_optim o = {.kind = IG_OPTIM_ADAM,
                .beta1 = number(op, args, "beta1"),
                .beta2 = number(op, args, "beta2"),
                .eps = number(op, args, "eps"),
                .amsgrad = flag(op, args, "amsgrad"),
                .decoupled = op->def->variant != 0};
  step(c, op, args, &l, &o);
}

// ---- SGD ----

static void sgd_check(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = sgd_lists(op, args);
  (void)outs;
  (void)check_lists(c, op, args, &l);
}

static void sgd_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = sgd_lists(op, args);
  l.n = length(l.at[0]);
  (void)outs;
  ig_optim o = {.kind = IG_OPTIM_SGD,
                .momentum = number(op, args, "momentum"),
                .dampening = number(op, args, "dampening"),
                .nesterov = flag(op, args, "nesterov"),
                .first_step = flag(op, args, "is_first_step")};
  step(c, op, args, &l, &o);
}

// ---- Adagrad ----

static void adagrad_check(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = adagrad_lists(op, args);
  (void)outs;
  (void)check_lists(c, op, args, &l);
}

static void adagrad_kernel(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  lists l = adagrad_lists(op, args);
  l.n = length(l.at[0]);
  (void)outs;
  ig_optim o = {.kind = IG_OPTIM_ADAGRAD,
                .eps = number(op, args, "eps"),
                .lr_decay = number(op, args, "lr_decay")};
  step(c, op, args, &l, &o);
}

// ---- functional forms ----

// The first n arguments are lists that the in-place form writes: it gets copies, which are
// returned.
static void on_copies(ig_ctx *c, unsigned id, const ig_value *args, size_t n, ig_value *outs) {
  const ig_op *op = ig_op_at(c, id);
  ig_value given[IG_MAX_ARGS];
  for (size_t i = 0; op && i < op->schema.nargs; i++) {
    given[i] = args[i];
    if (i >= n) continue;
    size_t count = length(&args[i]);
    ig_value *copies = ig_scope_array(c, count, sizeof *copies);
    if (!copies) return;
    for (size_t k = 0; k < count; k++)
      copies[k] = ig_of_tensor(ig_clone(c, args[i].list.at[k].tensor));
    if (c->status != IG_OK) return;
    given[i] = ig_of_list(copies, count);
  }
  ig_value none;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  if (op) ig_call(c, op, given, &none);
  ig_mode_pop(c, &mode);
  for (size_t i = 0; i < n && c->status == IG_OK; i++) outs[i] = given[i];
}

#define ON_COPIES(name, id, n)                                        \
  static void name(ig_ctx *c, const ig_value *args, ig_value *outs) { \
    on_copies(c, id, args, n, outs);                                  \
  }
ON_COPIES(adam_copies, IG_ID__FUSED_ADAM_, 5)
ON_COPIES(adam_copies_lr, IG_ID__FUSED_ADAM__TENSOR_LR, 5)
ON_COPIES(adamw_copies, IG_ID__FUSED_ADAMW_, 5)
ON_COPIES(adamw_copies_lr, IG_ID__FUSED_ADAMW__TENSOR_LR, 5)
ON_COPIES(sgd_copies, IG_ID__FUSED_SGD_, 3)
ON_COPIES(sgd_copies_lr, IG_ID__FUSED_SGD__TENSOR_LR, 3)
ON_COPIES(adagrad_copies, IG_ID__FUSED_ADAGRAD_, 4)

IG_OP(_fused_adam_) = {
    .schema =
        "aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
        "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float "
        "lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool "
        "maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    .fake = adam_check,
    .kernel = adam_kernel,
    .functional = "aten::_fused_adam",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adam) = {
    .schema =
        "aten::_fused_adam(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] "
        "exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, "
        "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
        "grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, "
        "Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)",
    .decompose_outs = adam_copies,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adam__tensor_lr) = {
    .schema =
        "aten::_fused_adam_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
        "exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, "
        "*, Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
        "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    .fake = adam_check,
    .kernel = adam_kernel,
    .functional = "aten::_fused_adam.tensor_lr",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adam_tensor_lr) = {
    .schema =
        "aten::_fused_adam.tensor_lr(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] "
        "exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, "
        "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
        "grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, "
        "Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)",
    .decompose_outs = adam_copies_lr,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adamw_) = {
    .schema =
        "aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
        "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float "
        "lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool "
        "maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    .fake = adam_check,
    .kernel = adam_kernel,
    .functional = "aten::_fused_adamw",
    .variant = 1,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adamw) = {
    .schema =
        "aten::_fused_adamw(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] "
        "exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, "
        "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
        "grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, "
        "Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)",
    .decompose_outs = adamw_copies,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adamw__tensor_lr) = {
    .schema =
        "aten::_fused_adamw_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
        "exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, "
        "*, Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
        "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    .fake = adam_check,
    .kernel = adam_kernel,
    .functional = "aten::_fused_adamw.tensor_lr",
    .variant = 1,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_adamw_tensor_lr) = {
    .schema =
        "aten::_fused_adamw.tensor_lr(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] "
        "exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, "
        "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
        "grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, "
        "Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)",
    .decompose_outs = adamw_copies_lr,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (), "
        "(f32[]:ones, f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0., "
        "eps=0.00000001, amsgrad=False, maximize=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "(f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=f32[]:+, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=0.00000001, "
        "amsgrad=True, maximize=True",
    .waive = "special: in the rest of a vector PyTorch drops NaN from the greatest square",
    .not_differentiable = true,
};

IG_OP(_fused_sgd_) = {
    .schema =
        "aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
        "momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, "
        "bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? "
        "found_inf=None) -> ()",
    .fake = sgd_check,
    .kernel = sgd_kernel,
    .functional = "aten::_fused_sgd",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0., "
        "momentum=0.9, lr=0.01, dampening=0., nesterov=True, maximize=False, is_first_step=False "
        "| (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0.1, "
        "momentum=0.9, lr=0.01, dampening=0.5, nesterov=False, maximize=True, is_first_step=False",
    .not_differentiable = true,
};

IG_OP(_fused_sgd) = {
    .schema =
        "aten::_fused_sgd(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *, float "
        "weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, "
        "bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] "
        "self_out, Tensor[] grads_out, Tensor[] momentum_buffer_list_out)",
    .decompose_outs = sgd_copies,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0., "
        "momentum=0.9, lr=0.01, dampening=0., nesterov=True, maximize=False, is_first_step=False "
        "| (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0.1, "
        "momentum=0.9, lr=0.01, dampening=0.5, nesterov=False, maximize=True, is_first_step=False",
    .not_differentiable = true,
};

IG_OP(_fused_sgd__tensor_lr) = {
    .schema =
        "aten::_fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
        "momentum_buffer_list, *, float weight_decay, float momentum, Tensor lr, float dampening, "
        "bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? "
        "found_inf=None) -> ()",
    .fake = sgd_check,
    .kernel = sgd_kernel,
    .functional = "aten::_fused_sgd.tensor_lr",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0., "
        "momentum=0.9, lr=f32[]:+, dampening=0., nesterov=True, maximize=False, "
        "is_first_step=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "weight_decay=0.1, momentum=0.9, lr=f32[]:+, dampening=0.5, nesterov=False, "
        "maximize=True, is_first_step=False",
    .not_differentiable = true,
};

IG_OP(_fused_sgd_tensor_lr) = {
    .schema =
        "aten::_fused_sgd.tensor_lr(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, "
        "*, float weight_decay, float momentum, Tensor lr, float dampening, bool nesterov, bool "
        "maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> "
        "(Tensor[] self_out, Tensor[] grads_out, Tensor[] momentum_buffer_list_out)",
    .decompose_outs = sgd_copies_lr,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), weight_decay=0., "
        "momentum=0.9, lr=f32[]:+, dampening=0., nesterov=True, maximize=False, "
        "is_first_step=False | (f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3], f32[2,2]), "
        "weight_decay=0.1, momentum=0.9, lr=f32[]:+, dampening=0.5, nesterov=False, "
        "maximize=True, is_first_step=False",
    .not_differentiable = true,
};

IG_OP(_fused_adagrad_) = {
    .schema =
        "aten::_fused_adagrad_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, "
        "Tensor(d!)[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, "
        "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    .fake = adagrad_check,
    .kernel = adagrad_kernel,
    .functional = "aten::_fused_adagrad",
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, lr_decay=0., weight_decay=0., eps=0.0000000001, maximize=False | "
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, lr_decay=0.1, weight_decay=0.1, eps=0.0000000001, maximize=True",
    .not_differentiable = true,
};

IG_OP(_fused_adagrad) = {
    .schema =
        "aten::_fused_adagrad(Tensor[] self, Tensor[] grads, Tensor[] state_sums, Tensor[] "
        "state_steps, *, float lr, float lr_decay, float weight_decay, float eps, bool maximize, "
        "Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] "
        "grads_out, Tensor[] state_sums_out, Tensor[] state_steps_out)",
    .decompose_outs = adagrad_copies,
    .samples =
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, lr_decay=0., weight_decay=0., eps=0.0000000001, maximize=False | "
        "(f32[3], f32[2,2]), (f32[3], f32[2,2]), (f32[3]:+, f32[2,2]:+), (f32[]:ones, "
        "f32[]:ones), lr=0.01, lr_decay=0.1, weight_decay=0.1, eps=0.0000000001, maximize=True",
    .not_differentiable = true,
};
