// SPDX-License-Identifier: Apache-2.0
// Functions whose forward the host has computed and whose backward it defines.
#include <string.h>

#include "grad/grad.h"
#include "op/formula.h"

static bool contains(ig_tensor *const *list, size_t n, const ig_tensor *t) {
  for (size_t i = 0; i < n; i++) {
    if (list[i] == t) return true;
  }
  return false;
}

static bool wants_history(const ig_ctx *c, const ig_custom *f) {
  if (c->mode->no_grad || c->mode->inference) return false;
  for (size_t i = 0; i < f->ninputs; i++) {
    if (f->inputs[i] && ig_tape_requires_grad(f->inputs[i])) return true;
  }
  return false;
}

static bool check_dirty(ig_ctx *c, const ig_custom *f, bool history) {
  for (size_t i = 0; i < f->ndirty; i++) {
    ig_tensor *t = f->dirty[i];
    if (!t) continue;
    if (!contains(f->outputs, f->noutputs, t)) {
      ig_fail_text(c, IG_RUNTIME,
                   "Some elements marked as dirty during the forward method were not returned as "
                   "output. The inputs that are modified inplace must all be outputs of the "
                   "Function.");
      return false;
    }
    if (!history) continue;
    if (t->requires_grad && ig_tensor_is_leaf(c, t)) {
      ig_fail_text(c, IG_RUNTIME,
                   "a leaf Variable that requires grad has been used in an in-place operation.");
      return false;
    }
    if (contains(f->inputs, f->ninputs, t) && !ig_tape_check_view_write(c, t)) return false;
  }
  return true;
}

// Another tensor over the same memory.
static ig_tensor *alias(ig_ctx *c, ig_tensor *t) {
  ig_tensor *other = ig_tensor_alias(c, t);
  if (other) other->untracked = t->untracked;
  return other;
}

// Times that are left free before a divisible entry: more than functions that could take its place.
static const uint64_t times_before = UINT64_C(1) << 32;

static ig_tape_entry *entry_of(ig_ctx *c, const ig_custom *f) {
  size_t name = (strlen(f->name) + 16) / 16 * 16;
  size_t extra = f->noutputs * (sizeof(ig_value) + sizeof(ig_saved)) +
                 f->nsaved * (sizeof(ig_saved) + sizeof(ig_edge)) + name;
  void *room = NULL;
  size_t slots = f->divisible && f->noutputs > f->ninputs ? f->noutputs : f->ninputs;
  ig_tape_entry *e = ig_entry_create(c, IG_ENTRY_CUSTOM, slots, extra, &room);
  if (!e) return NULL;
  e->nslots = f->ninputs;
  e->divisible = f->divisible;
  e->outs = room;
  e->results = (ig_saved *)(e->outs + f->noutputs);
  e->saved = e->results + f->noutputs;
  e->saved_edges = (ig_edge *)(e->saved + f->nsaved);
  e->name = (char *)(e->saved_edges + f->nsaved);
  memcpy(e->name, f->name, strlen(f->name));
  e->backward = f->backward;
  e->materialize = f->materialize;
  e->nouts = e->nresults = f->noutputs;
  e->nsaved = f->nsaved;
  for (size_t i = 0; i < f->ninputs; i++) {
    if (!f->inputs[i]) continue;
    e->edges[i] = ig_edge_of(c, f->inputs[i]);
    if (!ig_entry_keep(c, &e->kept[i], f->inputs[i], false)) break;
  }
  ig_entry_stamp(c, e);
  if (e->divisible) e->time = ig_mode_tick(c, e->time + times_before);
  if (c->status == IG_OK) return e;
  ig_ref_release(&e->ref);
  return NULL;
}

static bool is_differentiable(const ig_tensor *t) {
  return ig_dtype_is_float(t->dtype) || ig_dtype_is_complex(t->dtype);
}

static size_t position(ig_tensor *const *list, size_t n, const ig_tensor *t) {
  size_t i = 0;
  while (i < n && list[i] != t) i++;
  return i;
}

// Output i: modified input, unmodified input, view of something, or new tensor.
static bool adopt(ig_ctx *c, ig_tape_entry *e, const ig_custom *f, size_t i) {
  ig_tensor *t = f->outputs[i];
  bool dirty = contains(f->dirty, f->ndirty, t);
  bool input = contains(f->inputs, f->ninputs, t);
  bool plain = contains(f->nondiff, f->nnondiff, t) || !is_differentiable(t);
  if (plain) {
    if (input && !dirty) f->outputs[i] = t = alias(c, t);
    return t && ig_entry_keep_result(c, &e->results[i], t, false);
  }
  if (dirty && input) {
    e->self_slot = position(f->inputs, f->ninputs, t);
    return ig_tape_check_cycle(c, e, t) && ig_entry_keep_result(c, &e->results[i], t, false) &&
           ig_tape_rebase(c, t, e, (uint32_t)i);
  }
  bool view = input || (t->autograd && t->autograd->base);
  if (input) {
    ig_value self = ig_of_tensor(t);
    ig_tensor *other = alias(c, t);
    if (!other) return false;
    ig_tape_relate(c, NULL, &self, other, IG_CREATED_CUSTOM);
    f->outputs[i] = t = other;
  }
  if (view) t->autograd->creation = IG_CREATED_CUSTOM;
  return ig_entry_keep_result(c, &e->results[i], t, false) &&
         ig_tape_set_history(c, t, e, (uint32_t)i);
}

// Forward ran without recording, so a history of a result is its own.
static bool save(ig_ctx *c, ig_tape_entry *e, const ig_custom *f) {
  for (size_t i = 0; i < f->nsaved; i++) {
    ig_tensor *t = f->saved[i];
    if (!t) continue;
    bool own = t->autograd && t->autograd->entry == e;
    if (own) {
      e->saved_edges[i].index = t->autograd->index;
      if (!ig_entry_keep_result(c, &e->saved[i], t, true)) return false;
    } else {
      e->saved_edges[i] = ig_edge_of(c, t);
      if (!ig_entry_keep(c, &e->saved[i], t, true)) return false;
    }
    // Without an edge and with a tensor: a result of e itself, or nothing to differentiate.
    e->saved[i].result = own;
  }
  return c->status == IG_OK;
}

// Nothing is recorded: unmodified inputs are still returned as new tensors.
static void without_history(ig_ctx *c, const ig_custom *f) {
  for (size_t i = 0; i < f->noutputs; i++) {
    ig_tensor *t = f->outputs[i];
    bool dirty = t && contains(f->dirty, f->ndirty, t);
    if (!t || dirty || !contains(f->inputs, f->ninputs, t)) continue;
    ig_value self = ig_of_tensor(t);
    ig_tensor *other = alias(c, t);
    if (!other) return;
    ig_tape_relate(c, NULL, &self, other,
                   c->mode->no_grad ? IG_CREATED_NO_GRAD : IG_CREATED_CUSTOM);
    f->outputs[i] = other;
  }
}

ig_grad_fn *ig_grad_custom(ig_ctx *c, const ig_custom *f) {
  bool history = c->status == IG_OK && wants_history(c, f);
  ig_tape_entry *e = NULL;
  if (c->status == IG_OK && check_dirty(c, f, history)) {
    for (size_t i = 0; i < f->ndirty; i++) {
      if (f->dirty[i]) ig_tensor_bump(f->dirty[i]);
    }
    if (history) {
      e = entry_of(c, f);
    } else {
      without_history(c, f);
    }
  }
  bool ok = e != NULL;
  for (size_t i = 0; ok && i < f->noutputs; i++) {
    if (f->outputs[i]) ok = adopt(c, e, f, i);
    if (ok) e->outs[i] = ig_of_tensor(e->results[i].tensor);
  }
  ok = ok && save(c, e, f);
  if (!ok) {
    if (e) ig_ref_release(&e->ref);
    if (f->free_fn) f->free_fn(f->user);
    return NULL;
  }
  e->free_fn = f->free_fn;
  e->user = f->user;
  // The outputs own it; without a differentiable one it is freed when the scope closes.
  return ig_pool_add(c, &e->ref) ? e : NULL;
}

size_t ig_grad_fn_saved_count(const ig_grad_fn *f) {
  return f->nsaved;
}

ig_tensor *ig_grad_fn_saved(ig_ctx *c, ig_grad_fn *f, size_t i) {
  if (c->status != IG_OK || i >= f->nsaved) return NULL;
  if (f->freed) {
    ig_stale why = {&f->saved[i], {0}, true};
    ig_stale_fail(c, &why);
    return NULL;
  }
  ig_edge edge = f->saved_edges[i];
  if (f->saved[i].result) edge.entry = f;
  // The function may look at it, or differentiate by it, also where its own gradients have no
  // history.
  ig_mode_scope mode = ig_mode_push_grad(c, true);
  ig_tensor *t = ig_saved_unpack(c, &f->saved[i], &edge, false, NULL);
  ig_mode_pop(c, &mode);
  return t;
}

// A backward that is under way has counted on the edges that f has.
bool ig_grad_fn_is_divisible(const ig_grad_fn *f) {
  return f->divisible && !f->divided && !f->freed && !f->work;
}

// The slots are the results from now on.
static void pass_on(ig_ctx *c, ig_grad_fn *f, ig_tensor *const *outs) {
  for (size_t i = 0; i < f->nslots; i++) {
    ig_edge_drop(&f->edges[i]);
    ig_tensor_release(f->kept[i].tensor);
    f->kept[i] = (ig_saved){0};
  }
  f->nslots = f->nresults;
  f->divided = true;
  for (size_t i = 0; i < f->nslots; i++)
    f->edges[i] = outs[i] ? ig_edge_of(c, outs[i]) : (ig_edge){0};
}

void ig_grad_fn_divide(ig_ctx *c, ig_grad_fn *f, ig_grad_again_fn *again, void *user) {
  if (c->status != IG_OK || !ig_grad_fn_is_divisible(f)) return;
  ig_scope s = ig_scope_open(c);
  ig_tensor **outs = ig_scope_array(c, f->nresults + 1, sizeof *outs);
  // Whoever took a result of f has a later time than f: what f leads to must have an earlier one.
  enum { OFF = IG_MODE_NO_GRAD | IG_MODE_INFERENCE | IG_MODE_REWRITE | IG_MODE_AUTOCASTS };
  ig_mode_change change = {OFF | IG_MODE_CLOCK, {.clock = f->time - times_before}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  if (outs) again(c, outs, user);
  if (c->status == IG_OK && c->mode->clock >= f->time) {
    (void)ig_fail(c, IG_RUNTIME, "%s: more functions than there is time for", f->name);
  }
  ig_mode_pop(c, &mode);
  if (outs && c->status == IG_OK) pass_on(c, f, outs);
  ig_scope_close(c, s);
}

bool ig_grad_fn_wants(const ig_grad_fn *f, size_t i) {
  return i < f->nslots && (f->edges[i].entry || f->edges[i].leaf);
}
