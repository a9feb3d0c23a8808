// SPDX-License-Identifier: Apache-2.0
// ig_call: the dispatcher.
#include "op/call.h"

#include "base/budget.h"
#include "op/autocast.h"
#include "op/draft.h"
#include "op/each.h"
#include "op/formula.h"
#include "op/intercept.h"
#include "op/known.h"
#include "op/library.h"
#include "op/native.h"
#include "op/prepare.h"
#include "op/quantized.h"
#include "op/record.h"
#include "op/refuse.h"
#include "op/shape.h"
#include "op/suggest.h"
#include "op/tape.h"

static const char *kind_text(const ig_value *v) {
  return v->kind == IG_KIND_NONE ? "None" : ig_value_is_number(v) ? "a number" : "another type";
}

static bool check_tensor(ig_ctx *c, const ig_op *op, const ig_value *args, size_t i) {
  const ig_arg *a = &op->schema.args[i];
  if (a->optional && args[i].kind == IG_KIND_NONE) return true;
  if (ig_value_is_number(&args[i]) && ig_op_takes_number(op, i)) return true;
  (void)IG_FAIL_ARG(c, op, i, IG_BAD_TYPE, "found %s, expected a Tensor", kind_text(&args[i]));
  return false;
}

static bool check_tensors(ig_ctx *c, const ig_op *op, const ig_value *args, size_t i,
                          bool *quantized) {
  const ig_arg *a = &op->schema.args[i];
  const ig_value *v = &args[i];
  if (v->kind == IG_KIND_NONE && a->optional) return true;
  if (v->kind == IG_KIND_INTS && v->ints.n == 0) return true;  // [] without a type
  bool ok = v->kind == IG_KIND_LIST;
  for (size_t k = 0; ok && k < v->list.n; k++) {
    ig_kind kind = v->list.at[k].kind;
    ok = kind == IG_KIND_TENSOR || (kind == IG_KIND_NONE && a->item_optional);
    if (kind == IG_KIND_TENSOR && v->list.at[k].tensor->quantizer) *quantized = true;
  }
  if (!ok) (void)IG_FAIL_ARG(c, op, i, IG_BAD_TYPE, "%s", "expected a list of Tensors");
  return ok;
}

// int[2] and similar: one number for all elements, or as many as the schema says.
static bool check_length(ig_ctx *c, const ig_op *op, const ig_value *args, size_t i,
                         bool *repeated) {
  const ig_arg *a = &op->schema.args[i];
  const ig_value *v = &args[i];
  if (v->kind != IG_KIND_INTS && v->kind != IG_KIND_LIST) return true;
  size_t n = v->kind == IG_KIND_INTS ? v->ints.n : v->list.n;
  bool all = n == 1 && v->kind == IG_KIND_INTS;
  bool none = n == 0 && a->may_be_empty;
  if (all && a->fixed > 1) *repeated = true;
  if (n == (size_t)a->fixed || all || none) return true;
  if (a->any_length) return true;
  ig_fail_text(c, IG_RUNTIME,
               "%s: expected %s to be a single value or a list of %d values, but got %zu values",
               op->schema.name, a->name, a->fixed, n);
  return false;
}

// Kernels read the union member of a value that the schema names, so its kind must match.
static bool takes_item(const ig_arg *a, const ig_value *v) {
  bool number = v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
  switch (a->type) {
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return v->kind == IG_KIND_INT;
    case IG_TYPE_FLOAT:
      return v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_INT;
    case IG_TYPE_BOOL:
      return v->kind == IG_KIND_BOOL;
    case IG_TYPE_SCALAR:
    case IG_TYPE_COMPLEX:
      return number || v->kind == IG_KIND_COMPLEX;
    case IG_TYPE_STR:
      return v->kind == IG_KIND_STR;
    case IG_TYPE_DTYPE:
      return v->kind == IG_KIND_DTYPE;
    case IG_TYPE_LAYOUT:
      return v->kind == IG_KIND_LAYOUT;
    case IG_TYPE_DEVICE:
      return v->kind == IG_KIND_DEVICE;
    case IG_TYPE_MEMORY_FORMAT:
      return v->kind == IG_KIND_MEMORY_FORMAT;
    case IG_TYPE_GENERATOR:
      return v->kind == IG_KIND_GENERATOR;
    case IG_TYPE_OTHER:
      return !a->cls || (v->kind == IG_KIND_NATIVE && (int)v->native->cls == a->cls);
    default:
      return true;
  }
}

// Integers have a kind of list of their own, which [] without a type has as well.
static bool takes_list(const ig_arg *a, const ig_value *v) {
  bool of_ints = a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT;
  if (v->kind == IG_KIND_INTS) return of_ints || v->ints.n == 0;
  if (v->kind != IG_KIND_LIST || (of_ints && v->list.n > 0)) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < v->list.n; i++) ok = takes_item(a, &v->list.at[i]);
  return ok;
}

static bool takes(const ig_arg *a, const ig_value *v) {
  if (v->kind == IG_KIND_NONE) return a->optional || a->type == IG_TYPE_GENERATOR;
  return a->list ? takes_list(a, v) : takes_item(a, v);
}

// *repeated: some list of a fixed length has one number for all. *quantized: some operand is.
static bool check_args(ig_ctx *c, const ig_op *op, const ig_value *args, bool *repeated,
                       bool *quantized) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    if (a->type == IG_TYPE_TENSOR) {
      if (args[i].kind == IG_KIND_TENSOR && !a->list) {
        *quantized = *quantized || args[i].tensor->quantizer;
        continue;
      }
      if (!(a->list ? check_tensors(c, op, args, i, quantized) : check_tensor(c, op, args, i))) {
        return false;
      }
    } else if (!takes(a, &args[i])) {
      (void)IG_FAIL_ARG(c, op, i, IG_BAD_TYPE, "found %s, expected %s", ig_value_class(&args[i]),
                        op->schema.text);
      return false;
    } else if (a->fixed > 0 && !check_length(c, op, args, i, repeated)) {
      return false;
    }
  }
  return true;
}

// What the tensor operands determine about the results.
typedef struct census {
  bool fake;
  bool nominal;  // one of them is fake, and not just on meta: results may have any device
  bool grad;     // one of them requires a gradient
  bool any;
  bool answers;  // one of them answers calls itself
  ig_dtype dtype;
  ig_device device;
} census;

static void count_tensor(ig_ctx *c, census *s, const ig_tensor *t) {
  if (ig_is_fake(t)) {
    s->fake = true;
    s->nominal = s->nominal || t->device.type != IG_DEVICE_META || ig_tensor_sym(t);
  }
  s->grad = s->grad || ig_tape_requires_grad(t);
  s->answers = s->answers || t->intercept;
  if (!s->any) {
    s->dtype = t->dtype;
    s->device = t->device;
    s->any = true;
  } else if (t->device.type != s->device.type || t->device.index != s->device.index) {
    bool free_cpu = t->device.type == IG_DEVICE_CPU && t->ndim == 0;
    if (s->device.type == IG_DEVICE_CPU && !free_cpu && t->device.type != IG_DEVICE_CPU) {
      s->device = t->device;  // a 0-d cpu tensor came first, or an error that the kernel names
    }
  }
  (void)c;
}

static void count_operands(ig_ctx *c, const ig_op *op, const ig_value *args, census *s) {
  *s = (census){.dtype = ig_ctx_default_dtype(c), .device = ig_device_cpu()};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (args[i].kind == IG_KIND_TENSOR) {
      count_tensor(c, s, args[i].tensor);
    } else if (op->has_tensor_list && args[i].kind == IG_KIND_LIST) {
      for (size_t k = 0; k < args[i].list.n; k++) {
        if (args[i].list.at[k].kind == IG_KIND_TENSOR)
          count_tensor(c, s, args[i].list.at[k].tensor);
      }
    }
  }
}

static bool any_symbolic(const ig_meta *m) {
  for (int d = 0; d < m->ndim; d++) {
    if (m->size[d].expr) return true;
  }
  return false;
}

static ig_tensor *make_result(ig_ctx *c, ig_meta *m, const census *s) {
  bool fake = c->mode->fake || s->fake;
  if (m->absent) return NULL;
  if (ig_device_is_nominal(m->device) && !m->view_of && !c->mode->fake && !s->nominal) {
    ig_device_refuse(c, m->device);
    return NULL;
  }
  if (!m->view_of && !m->strided) ig_meta_contiguous(c, m);
  return ig_tensor_make(c, m, fake || any_symbolic(m));
}

ig_meta *ig_metas_push(ig_metas *m, ig_dtype dtype, ig_device device) {
  if (m->n == m->cap) {
    size_t cap = m->cap ? 2 * m->cap : 8;
    ig_meta **at = ig_scope_array(m->c, cap, sizeof *at);
    if (!at) return NULL;
    for (size_t i = 0; i < m->n; i++) at[i] = m->at[i];
    m->at = at;
    m->cap = cap;
  }
  ig_meta *meta = ig_scope_push(m->c, sizeof *meta);
  if (!meta) return NULL;
  ig_meta_init(meta, dtype, device);
  return m->at[m->n++] = meta;
}

// Tensor[]: the metas are scratch, the list of results belongs to the caller's scope.
static void allocate_list(ig_ctx *c, const ig_op *op, const ig_value *args, const census *s,
                          ig_value *outs) {
  ig_scope scratch = ig_scope_open(c);
  ig_metas metas = {.c = c};
  op->def->shapes(c, op, args, &metas);
  size_t n = metas.n;
  ig_tensor **made = c->status == IG_OK ? ig_scope_array(c, n + 1, sizeof *made) : NULL;
  for (size_t i = 0; made && i < n; i++) {
    made[i] = make_result(c, metas.at[i], s);
    if (!made[i]) made = NULL;
  }
  ig_value *list = made ? ig_mem_array(c->alloc, n, sizeof *list) : NULL;
  for (size_t i = 0; list && i < n; i++) list[i] = ig_of_tensor(ig_tensor_retain(made[i]));
  ig_scope_close(c, scratch);
  if (!list) {
    if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  ig_value *kept = ig_scope_array(c, n, sizeof *kept);
  for (size_t i = 0; i < n; i++) {
    if (kept) kept[i] = list[i];
    (void)ig_pool_add(c, &list[i].tensor->ref);
  }
  ig_mem_array_free(c->alloc, list, n, sizeof *list);
  if (kept && c->status == IG_OK) outs[0] = ig_of_list(kept, n);
}

// The results without their elements, by the shape rule.
static void allocate(ig_ctx *c, const ig_op *op, const ig_value *args, const census *s,
                     ig_value *outs) {
  if (op->def->shapes) {
    allocate_list(c, op, args, s, outs);
    return;
  }
  ig_meta m[IG_MAX_RETURNS];
  size_t n = op->schema.nrets;
  for (size_t i = 0; i < n; i++) ig_meta_init(&m[i], s->dtype, s->device);
  op->def->shape(c, op, args, m);
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    if (op->schema.rets[i].type != IG_TYPE_TENSOR) continue;
    // Field by field: copying a value right after assembling it causes a store-forwarding stall.
    outs[i].tensor = make_result(c, &m[i], s);
    if (outs[i].tensor) outs[i].kind = IG_KIND_TENSOR;
  }
}

static void retain_value(ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) (void)ig_tensor_retain(v->tensor);
  if (v->kind == IG_KIND_NATIVE) ig_ref_retain(&v->native->ref);
  if (v->kind != IG_KIND_LIST) return;
  for (size_t k = 0; k < v->list.n; k++) retain_value((ig_value *)&v->list.at[k]);
}

static void pool_value(ig_ctx *c, ig_value *v) {
  if (v->kind == IG_KIND_TENSOR && !ig_pool_add(c, &v->tensor->ref)) *v = ig_none();
  if (v->kind == IG_KIND_NATIVE && !ig_pool_add(c, &v->native->ref)) *v = ig_none();
  if (v->kind != IG_KIND_LIST) return;
  for (size_t k = 0; k < v->list.n; k++) pool_value(c, (ig_value *)&v->list.at[k]);
}

// Lists that an inner scope owns are copied before it closes.
static void move_list(ig_ctx *c, ig_value *v, ig_value *copy) {
  if (v->kind != IG_KIND_LIST) return;
  copy->list.n = v->list.n;
  copy->list.at = ig_mem_array(c->alloc, v->list.n, sizeof *v);
  if (!copy->list.at) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    *v = ig_none();
    return;
  }
  for (size_t k = 0; k < v->list.n; k++) ((ig_value *)copy->list.at)[k] = v->list.at[k];
}

void ig_return_values(ig_ctx *c, ig_scope s, ig_value *outs, size_t n) {
  ig_value copies[IG_MAX_RETURNS];
  for (size_t i = 0; i < n; i++) {
    copies[i] = outs[i];
    move_list(c, &outs[i], &copies[i]);
    retain_value(&outs[i]);
  }
  ig_scope_close(c, s);
  for (size_t i = 0; i < n; i++) {
    if (outs[i].kind == IG_KIND_LIST) {
      size_t count = copies[i].list.n;
      ig_value *kept = ig_scope_array(c, count, sizeof *kept);
      for (size_t k = 0; kept && k < count; k++) kept[k] = copies[i].list.at[k];
      if (!kept) {
        for (size_t k = 0; k < count; k++) pool_value(c, (ig_value *)&copies[i].list.at[k]);
      }
      ig_mem_array_free(c->alloc, (void *)copies[i].list.at, count, sizeof *kept);
      outs[i] = kept ? ig_of_list(kept, count) : ig_none();
    }
    pool_value(c, &outs[i]);
  }
}

static void decompose(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_mode_scope mode;
  ig_tape_entry *group = ig_tape_group_open(c, op, args, &mode);
  ig_scope s = ig_scope_open(c);
  ig_op_decompose(c, op, args, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
  ig_tape_group_close(c, group, &mode);
  if (c->status != IG_OK) ig_aside(c, "in %s", op->target);
}

// The tensors of an argument: it, or the elements of the list.
static size_t items_of(const ig_value *v, const ig_value **items) {
  bool list = v->kind == IG_KIND_LIST;
  *items = list ? v->list.at : v;
  return list ? v->list.n : 1;
}

static bool may_write(ig_ctx *c, const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_value *items;
    size_t n = op->schema.args[i].written ? items_of(&args[i], &items) : 0;
    for (size_t k = 0; k < n; k++) {
      if (items[k].kind != IG_KIND_TENSOR) continue;
      if (!ig_tape_may_write(c, op, items[k].tensor)) return false;
      if (!ig_check_writable(c, items[k].tensor)) return false;
    }
  }
  return true;
}

// A separate record that mutates lists: its kernel works on their elements.
static void run_written_lists(ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (!may_write(c, op, args)) return;
  if (ig_tape_wanted(c, op, args)) {
    ig_fail_text(c, IG_RUNTIME,
                 "%s has no derivative: call it where no gradient is recorded (torch.no_grad())",
                 op->schema.name);
    return;
  }
  census s;
  count_operands(c, op, args, &s);
  ig_value none;
  op->def->fake(c, op, args, &none);
  if (c->status != IG_OK) return;
  if (!c->mode->fake && !s.fake) ig_compute(c, op, args, &none);
  for (size_t i = 0; i < op->schema.nargs && c->status == IG_OK; i++) {
    const ig_value *items;
    size_t n = op->schema.args[i].written ? items_of(&args[i], &items) : 0;
    for (size_t k = 0; k < n; k++) {
      if (items[k].kind == IG_KIND_TENSOR) ig_tensor_bump(items[k].tensor);
    }
  }
}

// A separate record whose schema mutates self: the kernel works on self itself.
static void run_written(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tensor *self = args[0].tensor;
  if (!self || !ig_tape_may_write(c, op, self)) return;
  ig_tape_entry *e = ig_tape_open(c, op, args);
  if (c->status != IG_OK) return;
  outs[0] = args[0];
  bool fake = c->mode->fake || ig_is_fake(self);
  if (fake && op->def->fake) op->def->fake(c, op, args, outs);
  if (!fake) ig_compute(c, op, args, outs);
  if (c->status == IG_OK) ig_tensor_bump(self);
  ig_tape_close(c, e, op, args, outs);
}

// The kernel, or metadata alone.
static void compute(ig_ctx *c, const ig_op *op, const ig_value *args, const census *s,
                    ig_value *outs) {
  const ig_op_def *d = op->def;
  bool fake = c->mode->fake || s->fake || s->device.type == IG_DEVICE_META;
  if (d->fake) {
    (fake ? d->fake : d->kernel)(c, op, args, outs);
    return;
  }
  allocate(c, op, args, s, outs);
  bool real = c->status == IG_OK && !d->view &&
              !(outs[0].kind == IG_KIND_TENSOR && ig_is_fake(outs[0].tensor)) && !fake;
  if (real) ig_compute(c, op, args, outs);
}

static void run_plain(ig_ctx *c, const ig_op *op, const ig_value *args, const census *s,
                      ig_value *outs) {
  ig_tape_entry *e = s->grad ? ig_tape_open(c, op, args) : NULL;
  if (c->status != IG_OK) return;
  compute(c, op, args, s, outs);
  ig_tape_close(c, e, op, args, outs);
  if (op->def->view && c->status == IG_OK) ig_tape_view(c, op, args, outs);
}

// A gradient is needed, and only the decomposition has one.
static bool needs_decomposition(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (op->def->vjp || op->def->not_differentiable || !ig_op_has_decomposition(op)) return false;
  return ig_tape_wanted(c, op, args);
}

// The history is one entry, however the results are computed: of an operator without a derivative,
// where backward refuses, or of one that is composed here and has a rule all the same.
static bool is_taped_whole(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (op->form != IG_FORM_PLAIN) return false;
  bool rule = op->composite && op->def->vjp;
  return (rule || ig_tape_refuses(c, op)) && ig_tape_wanted(c, op, args);
}
static void run_whole(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_tape_entry *e = ig_tape_open(c, op, args);
  if (c->status != IG_OK) return;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  ig_run(c, op, args, outs);
  ig_mode_pop(c, &mode);
  ig_tape_close(c, e, op, args, outs);
}

void ig_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (op->user) {
    ig_library_run(c, op, args, outs);
  } else if (op->each) {
    ig_run_each(c, op, args, outs);
  } else if (op->base) {
    (op->form == IG_FORM_INPLACE ? ig_run_inplace : ig_run_out)(c, op, args, outs);
  } else if (is_taped_whole(c, op, args)) {
    run_whole(c, op, args, outs);
  } else if (op->composite || needs_decomposition(c, op, args)) {
    decompose(c, op, args, outs);
  } else if (op->form == IG_FORM_INPLACE) {
    if (op->schema.args[0].list) {
      run_written_lists(c, op, args);
    } else {
      run_written(c, op, args, outs);
    }
  } else {
    census s;
    count_operands(c, op, args, &s);
    run_plain(c, op, args, &s, outs);
  }
}

// The casts are not user calls, and are not cast themselves.
static const ig_value *cast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room) {
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_AUTOCASTS, {.autocasts = false}});
  args = ig_autocast_args(c, op, args, room);
  ig_mode_pop(c, &mode);
  return args;
}

void ig_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (c->mode->given && c->mode->given->op == op) {
    ig_draft_give(c, c->mode->given, outs);
    return;
  }
  const ig_graph *capture = c->mode->capture;
  enum { ALL = IG_MODE_CAPTURE | IG_MODE_FAKE | IG_MODE_NO_GRAD | IG_MODE_INTERCEPT };
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){ALL, {.fake = true, .no_grad = true}});
  ig_scope s = ig_scope_open(c);
  ig_value room[IG_MAX_ARGS];
  if (c->mode->autocasts && capture && capture->implied_casts) {
    args = cast_args(c, op, args, room);
  }
  if (args) ig_run(c, op, args, outs);
  ig_return_values(c, s, outs, op->schema.nrets);
  ig_mode_pop(c, &mode);
}

bool ig_check_call(ig_ctx *c, const ig_op *op, const ig_value *args) {
  ig_value outs[IG_MAX_RETURNS];
  for (size_t i = 0; i < IG_MAX_RETURNS; i++) outs[i] = ig_none();
  ig_scope s = ig_scope_open(c);
  ig_infer(c, op, args, outs);
  ig_scope_close(c, s);
  return c->status == IG_OK;
}

// The alias that nodes have from now on; NULL after an error.
static ig_tensor *keep_recorded(ig_ctx *c, ig_tensor *self) {
  // The node may be the only owner: that of a constant, whose fake nobody else has.
  if (!ig_pool_add(c, &ig_tensor_retain(self)->ref)) return NULL;
  ig_tensor *was = ig_tensor_alias(c, self);
  if (!was) return NULL;
  was->requires_grad = self->requires_grad;
  return ig_graph_replace_val(c, c->mode->capture, self, was) ? was : NULL;
}

bool ig_keep_recorded(ig_ctx *c, ig_tensor *self) {
  return keep_recorded(c, self) != NULL;
}

static bool is_derived_by_parts(const ig_op *op) {
  return !op->def->vjp && !op->base && ig_op_has_decomposition(op) && !op->def->not_differentiable;
}

static void record(ig_ctx *c, const ig_op *op, const ig_value *given, ig_value *outs) {
  ig_value room[IG_MAX_ARGS];
  if (!c->mode->unseen && ig_intercept_call(c, op, given, outs)) return;
  op = ig_record_op(c, op);
  const ig_value *args = ig_record_args(c, op, given, room);
  if (!args) return;
  if (c->mode->rewrite && c->mode->rewrite->fn(c, op, args, outs, c->mode->rewrite->user)) return;
  if (c->status != IG_OK) return;
  if (c->mode->capture->apart && is_derived_by_parts(op) && ig_tape_wanted(c, op, args)) {
    ig_op_decompose(c, op, args, outs);
    return;
  }
  bool written = op->base && op->form == IG_FORM_INPLACE && is_derived_by_parts(op->base);
  if (c->mode->capture->apart && written && ig_tape_wanted(c, op, args)) {
    if (!ig_tape_may_write(c, op, args[0].tensor)) return;
    ig_write_parts(c, op->base, args, args[0].tensor);
    outs[0] = args[0];
    return;
  }
  // The rule for gradients calls the operator again, without a gradient.
  if (op->user && ig_library_has(op, IG_IMPL_AUTOGRAD) && ig_tape_wanted(c, op, args) &&
      ig_library_call(c, op, IG_IMPL_AUTOGRAD, args, outs)) {
    return;
  }
  ig_tape_entry *e = ig_tape_open(c, op, args);
  ig_tensor *was = ig_op_reshapes(op) ? keep_recorded(c, args[0].tensor) : NULL;
  if (!ig_op_reshapes(op) || was) ig_infer(c, op, args, outs);
  if (c->mode->draft) ig_draft_follow(c, op, args, outs);
  ig_known_follow(c, op, given, args, outs);
  if (c->status == IG_OK && !ig_known_number(op, args, outs)) ig_record(c, op, args, outs);
  // A refused call has changed nothing: the nodes have the tensor again, which may have no other
  // owner.
  if (was && c->status != IG_OK)
    (void)ig_graph_replace_val(c, c->mode->capture, was, args[0].tensor);
  ig_tape_close(c, e, op, args, outs);
  ig_record_return(op, given, args, outs);
}

ig_sym *ig_sym_of_operands(const ig_op *op, const ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (args[i].kind == IG_KIND_TENSOR) {
      ig_sym *sym = ig_is_fake(args[i].tensor) ? ig_tensor_sym(args[i].tensor) : NULL;
      if (sym) return sym;
    } else if (op->has_tensor_list && args[i].kind == IG_KIND_LIST) {
      for (size_t k = 0; k < args[i].list.n; k++) {
        const ig_value *v = &args[i].list.at[k];
        ig_sym *sym = v->kind == IG_KIND_TENSOR ? ig_tensor_sym(v->tensor) : NULL;
        if (sym) return sym;
      }
    }
  }
  return NULL;
}

// The common case: an operator with its own kernel, on real tensors.
static bool run_simple(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  census s;
  if (op->user || op->base || op->composite || op->form == IG_FORM_INPLACE) return false;
  count_operands(c, op, args, &s);
  if (s.fake || s.answers || (s.grad && (!op->def->vjp || ig_tape_refuses(c, op)))) return false;
  if (s.grad || op->def->view)
    run_plain(c, op, args, &s, outs);
  else
    compute(c, op, args, &s, outs);
  return true;
}

// Operands that another thread has recorded, or this one before it stopped, are computed first.
static bool settle_operands(ig_ctx *c, const ig_op *op, const ig_value *args) {
  bool ok = true;
  for (size_t i = 0; ok && i < op->schema.nargs; i++) {
    const ig_value *v = &args[i];
    if (v->kind == IG_KIND_TENSOR && ig_tensor_waits(v->tensor))
      ok = ig_tensor_settle(c, v->tensor);
    for (size_t k = 0; ok && op->has_tensor_list && v->kind == IG_KIND_LIST && k < v->list.n; k++) {
      const ig_value *item = &v->list.at[k];
      if (item->kind == IG_KIND_TENSOR && ig_tensor_waits(item->tensor))
        ok = ig_tensor_settle(c, item->tensor);
    }
  }
  return ok;
}

static void run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_rewrite *r = c->mode->rewrite;
  if (r && r->eager && r->fn(c, op, args, outs, r->user)) return;
  if (!c->mode->fake && !settle_operands(c, op, args)) return;
  if (run_simple(c, op, args, outs)) return;
  if (!c->mode->unseen && ig_intercept_call(c, op, args, outs)) return;
  ig_sym *sym = c->mode->sym ? NULL : ig_sym_of_operands(op, args);
  if (!sym) {
    ig_run(c, op, args, outs);
    return;
  }
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  ig_run(c, op, args, outs);
  ig_mode_pop(c, &mode);
}

// An operator under capture rejected its operands: reports the user's location and the operands.
static void explain(ig_ctx *c) {
  if (!c->mode->capture || c->trouble || c->status == IG_HOST || c->status == IG_NOMEM) return;
  ig_str fix = ig_str_make(c->alloc);
  if (c->op && c->op_args) ig_op_suggest(c->op, c->op_args, &fix);
  ig_issue issue = {.kind = IG_ISSUE_CALL, .reason = c->message, .fix = fix.n ? fix.at : NULL};
  ig_mode_scope mode = ig_mode_push_draft(c, NULL);  // the issue belongs to the error
  ig_issue_tell(c, &issue);
  ig_mode_pop(c, &mode);
  ig_str_free(&fix);
}

// Operands have the dtypes that they are computed with.
static void dispatch_cast(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (c->mode->intercept) {
    (void)ig_intercept_call(c, op, args, outs);
  } else {
    (c->mode->capture ? record : run)(c, op, args, outs);
  }
}

// A call inside a region of autocast: the casts come first.
static void call_cast(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (c->mode->capture && c->mode->capture->implied_casts) {
    record(c, op, args, outs);
    return;
  }
  ig_value room[IG_MAX_ARGS];
  ig_scope s = ig_scope_open(c);
  const ig_value *given = cast_args(c, op, args, room);
  if (given) dispatch_cast(c, op, given, outs);
  ig_return_values(c, s, outs, given ? op->schema.nrets : 0);
}

void ig_dispatch(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (c->mode->autocasts) {
    call_cast(c, op, args, outs);
  } else {
    dispatch_cast(c, op, args, outs);
  }
}

// A single number is repeated as often as the schema says: rules and kernels read that many.
static void dispatch_repeated(ig_ctx *c, const ig_op *op, const ig_value *args, bool quantized,
                              ig_value *outs) {
  ig_value room[IG_MAX_ARGS] = {args[0]};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    int n = op->schema.args[i].fixed;
    room[i] = args[i];
    if (n < 2 || args[i].kind != IG_KIND_INTS || args[i].ints.n != 1) continue;
    ig_int *at = ig_scope_array(c, (size_t)n, sizeof *at);
    if (!at) return;
    for (int k = 0; k < n; k++) at[k] = args[i].ints.at[0];
    room[i].ints.at = at;
    room[i].ints.n = (size_t)n;
  }
  (quantized ? ig_call_quantized : ig_dispatch)(c, op, room, outs);
}

void ig_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  size_t n = op->schema.nrets;
  for (size_t i = 0; i < n || i == 0; i++) outs[i] = ig_none();
  if (c->status != IG_OK) return;
  const char *outer = c->op_target;
  const ig_op *outer_op = c->op;
  const void *outer_args = c->op_args;
  c->op_target = op->target;
  c->op = op;
  c->op_args = args;
  c->op_describe = ig_op_describe;
  bool repeated = false;
  bool quantized = false;
  if (ig_step(c) && check_args(c, op, args, &repeated, &quantized)) {
    // A program has no quantized tensors: it records integers, and what leads to and from them.
    quantized = quantized || (c->mode->capture && op->def->quantized == IG_QUANT_OWN);
    if (repeated) {
      dispatch_repeated(c, op, args, quantized, outs);
    } else {
      (quantized ? ig_call_quantized : ig_dispatch)(c, op, args, outs);
    }
    for (size_t i = 0; c->status != IG_OK && i < n; i++) outs[i] = ig_none();
  }
  if (c->status != IG_OK) explain(c);
  c->op_target = outer;
  c->op = outer_op;
  c->op_args = outer_args;
}

void ig_call_id_outs(ig_ctx *c, unsigned id, const ig_value *given, size_t n, ig_value *outs) {
  const ig_lib *lib = ig_lib_get(c);
  outs[0] = ig_none();
  if (!lib || c->status != IG_OK) return;
  const ig_op *op = &lib->ops[id];
  ig_value args[IG_MAX_ARGS];
  size_t next = 0;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    // Fewer values than arguments: they are the required ones, in order.
    bool take = n == op->schema.nargs || (next < n && !op->schema.args[i].has_default);
    args[i] = take ? given[next++] : op->schema.args[i].def;
  }
  ig_call(c, op, args, outs);
}

ig_tensor *ig_call_id(ig_ctx *c, unsigned id, const ig_value *given, size_t n) {
  ig_value outs[IG_MAX_RETURNS];
  ig_call_id_outs(c, id, given, n, outs);
  return outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL;
}
