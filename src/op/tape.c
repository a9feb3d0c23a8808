// SPDX-License-Identifier: Apache-2.0
// Recording: what a call saves for its gradient. Opened before the call, because an in-place call
// overwrites what the rule may need, and closed after it.
#include "op/tape.h"

#include <string.h>

#include "tensor/copy.h"

static const ig_op *functional(const ig_op *op) {
  return op->base ? op->base : op;
}

bool ig_tape_refuses(const ig_ctx *c, const ig_op *op) {
  return (op->facts & IG_FACT_NO_DERIVATIVE) && !c->mode->rewrite;
}

static bool is_in_place(const ig_op *op) {
  return op->form == IG_FORM_INPLACE && !op->schema.args[0].list;
}

bool ig_tape_wanted(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (c->mode->no_grad || c->mode->inference) return false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (args[i].kind == IG_KIND_TENSOR) {
      if (ig_tape_requires_grad(args[i].tensor)) return !op->def->detaches;
    } else if (op->has_tensor_list && args[i].kind == IG_KIND_LIST) {
      for (size_t k = 0; k < args[i].list.n; k++) {
        const ig_value *v = &args[i].list.at[k];
        if (v->kind == IG_KIND_TENSOR && ig_tape_requires_grad(v->tensor)) return true;
      }
    }
  }
  return false;
}

// Bytes that a deep copy of v needs besides v itself.
static size_t deep_size(const ig_value *v) {
  if (v->kind == IG_KIND_INTS) return ig_mem_mul(v->ints.n, sizeof(ig_int));
  if (v->kind == IG_KIND_STR) return (strlen(v->str) + 16) / 16 * 16;
  if (v->kind != IG_KIND_LIST) return 0;
  size_t size = ig_mem_mul(v->list.n, sizeof(ig_value));
  for (size_t k = 0; k < v->list.n; k++) size += deep_size(&v->list.at[k]);
  return size;
}

static void deep_copy(ig_value *v, char **room) {
  char *at = *room;
  if (v->kind == IG_KIND_INTS) {
    size_t size = ig_mem_mul(v->ints.n, sizeof(ig_int));
    if (size) v->ints.at = memcpy(at, v->ints.at, size);
    *room += size;
  } else if (v->kind == IG_KIND_STR) {
    size_t size = strlen(v->str) + 1;
    v->str = memcpy(at, v->str, size);
    *room += (size + 15) / 16 * 16;
  } else if (v->kind == IG_KIND_LIST) {
    size_t size = ig_mem_mul(v->list.n, sizeof(ig_value));
    ig_value *items = (ig_value *)at;
    *room += size;
    if (size) v->list.at = memcpy(items, v->list.at, size);
    for (size_t k = 0; k < v->list.n; k++) deep_copy(&items[k], room);
  }
}

static size_t slots_of(const ig_arg *a, const ig_value *v) {
  bool list = a->type == IG_TYPE_TENSOR && v->kind == IG_KIND_LIST;
  return list && v->list.n ? v->list.n : 1;
}

// An in-place call overwrites this operand: a copy keeps the elements. A fake one has none, but the
// copy has its own version.
static bool keep_copy(ig_ctx *c, ig_saved *s, ig_tensor *t) {
  if (ig_is_fake(t)) {
    ig_tensor *shell = ig_tensor_retain(ig_tensor_shell(c, t));
    *s =
        (ig_saved){.tensor = shell, .version = shell ? ig_tensor_version(shell) : 0, .bytes = true};
    return shell != NULL;
  }
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  if (!ig_tensor_is_dense_permuted(t)) ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (!copy) return false;
  ig_tensor_copy(copy, t);
  copy->inference = false;
  *s = (ig_saved){.tensor = ig_tensor_retain(copy), .bytes = true};
  return true;
}

static bool keep_operand(ig_ctx *c, ig_tape_entry *e, size_t slot, ig_value *v, bool bytes,
                         const ig_tensor *written) {
  if (v->kind != IG_KIND_TENSOR) return true;
  ig_tensor *t = v->tensor;
  e->edges[slot] = ig_edge_of(c, t);
  bool overwritten = bytes && written && t->storage == written->storage;
  bool ok =
      overwritten ? keep_copy(c, &e->kept[slot], t) : ig_entry_keep(c, &e->kept[slot], t, bytes);
  v->tensor = e->kept[slot].tensor;
  return ok && c->status == IG_OK;
}

static bool keep_operands(ig_ctx *c, ig_tape_entry *e, const ig_tensor *written) {
  for (size_t i = 0; i < e->nargs; i++) {
    bool bytes = e->kind == IG_ENTRY_OP && (e->op->keep >> i & 1) != 0;
    ig_value *v = &e->args[i];
    if (e->op->schema.args[i].type != IG_TYPE_TENSOR) continue;
    if (v->kind != IG_KIND_LIST) {
      if (!keep_operand(c, e, e->at[i], v, bytes, written)) return false;
      continue;
    }
    for (size_t k = 0; k < v->list.n; k++) {
      ig_value *item = (ig_value *)&v->list.at[k];
      if (!keep_operand(c, e, e->at[i] + k, item, bytes, written)) return false;
    }
  }
  return true;
}

static ig_tape_entry *entry_of_call(ig_ctx *c, const ig_op *op, const ig_op *called,
                                    const ig_value *args) {
  size_t n = op->schema.nargs;
  size_t nrets = op->schema.nrets;
  size_t nslots = 0;
  size_t extra =
      n * (sizeof(ig_value) + sizeof(size_t)) + 16 + nrets * (sizeof(ig_value) + sizeof(ig_saved));
  for (size_t i = 0; i < n; i++) {
    nslots += slots_of(&op->schema.args[i], &args[i]);
    extra += deep_size(&args[i]);
  }
  void *room = NULL;
  ig_tape_entry *e = ig_entry_create(c, IG_ENTRY_OP, nslots, extra, &room);
  if (!e) return NULL;
  e->op = op;
  e->called = called;
  e->group = c->mode->group;
  if (e->group) ig_ref_retain(&e->group->ref);
  e->nargs = n;
  e->args = room;
  char *deep = (char *)(e->args + n);
  for (size_t i = 0; i < n; i++) {
    e->args[i] = args[i];
    deep_copy(&e->args[i], &deep);
  }
  e->outs = (ig_value *)deep;
  e->results = (ig_saved *)(e->outs + nrets);
  size_t *at = (size_t *)(e->results + nrets);
  e->at = at;
  for (size_t i = 0, slot = 0; i < n; i++) {
    at[i] = slot;
    slot += slots_of(&op->schema.args[i], &args[i]);
  }
  return e;
}

ig_tape_entry *ig_tape_open(ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (c->mode->no_grad || c->status != IG_OK || !ig_tape_wanted(c, op, args)) return NULL;
  const ig_op *f = functional(op);
  ig_tensor *written = is_in_place(op) ? args[0].tensor : NULL;
  // An in-place call without a rule gets an entry that refuses to run: the history that self has
  // would be wrong.
  bool refuses = ig_tape_refuses(c, op);
  if (!refuses && !f->def->vjp && (!written || op->composite)) return NULL;
  if (written && !ig_tape_check_view_write(c, written)) return NULL;
  ig_tape_entry *e = entry_of_call(c, f, op, args);
  if (!e) return NULL;
  if (refuses) e->kind = IG_ENTRY_MISSING;
  bool view = written && f->def->view;
  if (keep_operands(c, e, view ? NULL : written) &&
      (!written || ig_tape_check_cycle(c, e, written))) {
    ig_entry_stamp(c, e);
    return e;
  }
  ig_ref_release(&e->ref);
  return NULL;
}

static size_t count_tensors(const ig_value *v) {
  if (v->kind != IG_KIND_LIST) return v->kind == IG_KIND_TENSOR;
  size_t n = 0;
  for (size_t k = 0; k < v->list.n; k++) n += v->list.at[k].kind == IG_KIND_TENSOR;
  return n;
}

ig_tape_entry *ig_tape_group_open(ig_ctx *c, const ig_op *op, const ig_value *args,
                                  ig_mode_scope *mode) {
  if (c->mode->group || op->user || (op->facts & IG_FACT_IMPLICIT) ||
      !ig_tape_wanted(c, op, args)) {
    return NULL;
  }
  size_t nslots = 0;
  for (size_t i = 0; i < op->schema.nargs; i++) nslots += count_tensors(&args[i]);
  ig_tape_entry *group = ig_entry_create(c, IG_ENTRY_GROUP, nslots, 0, NULL);
  if (!group) return NULL;
  group->op = group->called = op;
  ig_edge *edge = group->edges;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    bool list = args[i].kind == IG_KIND_LIST;
    const ig_value *items = list ? args[i].list.at : &args[i];
    for (size_t k = 0, n = list ? args[i].list.n : 1; k < n; k++) {
      if (items[k].kind == IG_KIND_TENSOR) *edge++ = ig_edge_of(c, items[k].tensor);
    }
  }
  *mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_GROUP, {.group = group}});
  return group;
}

void ig_tape_group_close(ig_ctx *c, ig_tape_entry *group, const ig_mode_scope *mode) {
  if (!group) return;
  ig_mode_pop(c, mode);
  ig_ref_release(&group->ref);
}

static size_t count_results(const ig_value *outs, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += outs[i].kind == IG_KIND_LIST ? outs[i].list.n : 1;
  return count;
}

// Lists have more results than fit into the entry.
static bool make_room(ig_ctx *c, ig_tape_entry *e, const ig_value *outs, size_t n) {
  e->nouts = n;
  size_t count = count_results(outs, n);
  bool lists = false;
  for (size_t i = 0; i < n; i++) lists = lists || outs[i].kind == IG_KIND_LIST;
  if (lists) {
    size_t size = ig_mem_mul(n, sizeof(ig_value)) + count * (sizeof(ig_value) + sizeof(ig_saved));
    ig_value *block = ig_mem_new(c->alloc, size);
    if (!block) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    e->outs = block;
    e->outs_size = size;
    e->results = (ig_saved *)(block + n + count);
    ig_value *items = block + n;
    for (size_t i = 0; i < n; i++) {
      e->outs[i] = outs[i];
      if (outs[i].kind != IG_KIND_LIST) continue;
      for (size_t k = 0; k < outs[i].list.n; k++) items[k] = outs[i].list.at[k];
      e->outs[i].list.at = items;
      items += outs[i].list.n;
    }
  } else {
    memcpy(e->outs, outs, n * sizeof *outs);
  }
  e->nresults = count;
  return true;
}

static bool keep_result(ig_ctx *c, ig_tape_entry *e, size_t k, ig_value *v, bool bytes) {
  if (v->kind != IG_KIND_TENSOR) return true;
  bool ok = ig_entry_keep_result(c, &e->results[k], v->tensor, bytes);
  v->tensor = e->results[k].tensor;
  return ok;
}

static bool keep_results(ig_ctx *c, ig_tape_entry *e) {
  size_t k = 0;
  for (size_t i = 0; i < e->nouts; i++) {
    bool bytes = e->kind == IG_ENTRY_OP && (e->op->keep_outs >> i & 1) != 0;
    ig_value *v = &e->outs[i];
    if (v->kind != IG_KIND_LIST) {
      if (!keep_result(c, e, k++, v, bytes)) return false;
      continue;
    }
    for (size_t j = 0; j < v->list.n; j++) {
      if (!keep_result(c, e, k++, (ig_value *)&v->list.at[j], bytes)) return false;
    }
  }
  return true;
}

static bool is_differentiable(const ig_tensor *t) {
  return ig_dtype_is_float(t->dtype) || ig_dtype_is_complex(t->dtype);
}

static bool has_history(const ig_op *op, size_t result) {
  return op->def->diff_results == 0 || (op->def->diff_results >> result & 1) != 0;
}

static void attach(ig_ctx *c, ig_tape_entry *e, const ig_op *op, const ig_value *out,
                   uint32_t index) {
  ig_tensor *t = out->kind == IG_KIND_TENSOR ? out->tensor : NULL;
  if (!t || !is_differentiable(t)) return;
  if (is_in_place(op) && !functional(op)->def->view) {
    (void)ig_tape_rebase(c, t, e, index);
  } else {
    (void)ig_tape_set_history(c, t, e, index);
  }
}

// A view that the parts of a composed operator made: how it may be written.
static void note_creation_of(const ig_value *of, const ig_value *out) {
  const ig_tensor *self = of->kind == IG_KIND_TENSOR ? of->tensor : NULL;
  ig_tensor *t = out->kind == IG_KIND_TENSOR ? out->tensor : NULL;
  struct ig_autograd *a = t && t != self ? t->autograd : NULL;
  if (!a || !a->base) return;
  const struct ig_autograd *from = self ? self->autograd : NULL;
  bool nested = from && from->base == a->base;
  if (a->creation == IG_CREATED_MULTI_NO_GRAD) a->creation = IG_CREATED_MULTI;
  if (a->creation == IG_CREATED_NO_GRAD) a->creation = nested ? from->creation : IG_CREATED_PLAIN;
}

static void note_creation(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs) {
  if (!op->composite || c->mode->no_grad || op->schema.nargs == 0) return;
  for (size_t i = 0; i < op->schema.nrets; i++) {
    note_creation_of(&args[0], &outs[i]);
    for (size_t k = 0; outs[i].kind == IG_KIND_LIST && k < outs[i].list.n; k++) {
      note_creation_of(&args[0], &outs[i].list.at[k]);
    }
  }
}

void ig_tape_close(ig_ctx *c, ig_tape_entry *e, const ig_op *op, const ig_value *args,
                   const ig_value *outs) {
  if (!e && !c->mode->capture && !is_in_place(op)) return;
  size_t n = op->schema.nrets;
  bool ok = c->status == IG_OK;
  if (e && ok && make_room(c, e, outs, n) && keep_results(c, e)) {
    uint32_t index = 0;
    for (size_t i = 0; i < n; i++) {
      bool list = outs[i].kind == IG_KIND_LIST;
      size_t count = list ? outs[i].list.n : 1;
      const ig_value *items = list ? outs[i].list.at : &outs[i];
      for (size_t k = 0; k < count && has_history(e->op, i); k++)
        attach(c, e, op, &items[k], index + (uint32_t)k);
      index += (uint32_t)count;
    }
  }
  if (e) ig_ref_release(&e->ref);
  if (!ok) return;
  // Under a capture the results were created without recording gradients.
  if (c->mode->capture && !is_in_place(op)) {
    (op->def->view ? ig_tape_view : note_creation)(c, op, args, outs);
  }
  if (is_in_place(op) && op->def->detaches) ig_tensor_detach_inplace(c, args[0].tensor);
}

void ig_tape_view(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs) {
  if (op->schema.nargs == 0 || args[0].kind != IG_KIND_TENSOR) return;
  if (op->def->detaches) {
    if (outs[0].kind == IG_KIND_TENSOR) outs[0].tensor->inference = args[0].tensor->inference;
    return;
  }
  // A constant that enters a capture is not a view: it may be detached in-place.
  if (op->def->fresh) return;
  ig_creation how = c->mode->inference ? IG_CREATED_INFERENCE
                    : c->mode->no_grad ? IG_CREATED_NO_GRAD
                                       : IG_CREATED_PLAIN;
  for (size_t i = 0; i < op->schema.nrets; i++) {
    if (outs[i].kind == IG_KIND_TENSOR) ig_tape_relate(c, op, args, outs[i].tensor, how);
    if (outs[i].kind != IG_KIND_LIST) continue;
    ig_creation many = how == IG_CREATED_PLAIN     ? IG_CREATED_MULTI
                       : how == IG_CREATED_NO_GRAD ? IG_CREATED_MULTI_NO_GRAD
                                                   : how;
    for (size_t k = 0; k < outs[i].list.n; k++) {
      ig_tensor *t = outs[i].list.at[k].tensor;
      if (outs[i].list.at[k].kind == IG_KIND_TENSOR) ig_tape_relate(c, op, args, t, many);
    }
  }
}

bool ig_tape_may_write(ig_ctx *c, const ig_op *op, ig_tensor *self) {
  if (self->inference && !c->mode->inference) {
    ig_fail_text(c, IG_RUNTIME,
                 "Inplace update to inference tensor outside InferenceMode is not allowed.You can "
                 "make a clone to get a normal tensor before doing inplace update.See "
                 "https://github.com/pytorch/rfcs/pull/17 for more details.");
    return false;
  }
  if (c->mode->no_grad || c->mode->inference || op->def->detaches) return true;
  const struct ig_autograd *a = self->autograd;
  // The view may be what was declared to want a gradient, not its base: writing would make the base
  // depend on the leaf and, with the base, the leaf on itself.
  bool wanted = a && a->base && (self->requires_grad || a->base->requires_grad);
  bool leaf_base = wanted && !(a->base->autograd && a->base->autograd->entry);
  if (leaf_base && a->creation == IG_CREATED_PLAIN) {
    ig_fail_text(c, IG_RUNTIME,
                 "a view of a leaf Variable that requires grad is being used in an in-place "
                 "operation.");
    return false;
  }
  // A view, created under no_grad, of a tensor with history.
  if (a && a->base && a->base->requires_grad && !ig_tape_check_view_write(c, self)) return false;
  if (!self->requires_grad || (a && a->entry)) return true;
  ig_fail_text(c, IG_RUNTIME,
               "a leaf Variable that requires grad is being used in an in-place operation.");
  return false;
}
