// SPDX-License-Identifier: Apache-2.0
// Lifetime of tape entries, of autograd state of tensors, and of hooks.
#include <stdio.h>
#include <string.h>

#include "ir/graph.h"
#include "op/tape.h"

ig_edge ig_edge_copy(ig_edge e) {
  if (e.entry) ig_ref_retain(&e.entry->ref);
  (void)ig_tensor_retain(e.leaf);
  return e;
}

void ig_edge_drop(ig_edge *e) {
  if (e->entry) ig_ref_release(&e->entry->ref);
  ig_tensor_release(e->leaf);
  *e = (ig_edge){0};
}

ig_edge ig_edge_of(ig_ctx *c, ig_tensor *t) {
  if (!ig_tape_requires_grad(t)) return (ig_edge){0};
  ig_tape_refresh(c, t);
  const struct ig_autograd *a = t->autograd;
  ig_edge e = {0};
  if (a && a->entry) {
    e = (ig_edge){a->entry, NULL, a->index};
  } else if (t->requires_grad) {
    e.leaf = t;
  }
  return ig_edge_copy(e);
}

void ig_hook_release(ig_hook *h) {
  if (h) ig_ref_release(&h->ref);
}

void ig_hooks_free(ig_alloc alloc, ig_hooks *hooks) {
  for (size_t i = 0; i < hooks->n; i++) ig_hook_release(hooks->at[i]);
  ig_vec_free(alloc, hooks);
  *hooks = (ig_hooks){0};
}

static void push_dead(ig_tape_entry **dead, ig_tape_entry *e) {
  if (e && atomic_fetch_sub_explicit(&e->ref.count, 1, memory_order_acq_rel) == 1) {
    e->next = *dead;
    *dead = e;
  }
}

static void drop_edges(ig_tape_entry **dead, ig_edge *edges, size_t n) {
  for (size_t i = 0; i < n; i++) {
    push_dead(dead, edges[i].entry);
    ig_tensor_release(edges[i].leaf);
  }
}

static void drop_saved(ig_saved *saved, size_t n) {
  for (size_t i = 0; i < n; i++) ig_tensor_release(saved[i].tensor);
}

static void drop_custom(ig_tape_entry **dead, ig_tape_entry *e) {
  if (e->free_fn) e->free_fn(e->user);
  drop_saved(e->saved, e->nsaved);
  if (e->saved_edges) drop_edges(dead, e->saved_edges, e->nsaved);
}

// A chain of a million calls must not need a million stack frames: an entry without other owners is
// destroyed in this loop.
static void entry_destroy(ig_ref *ref) {
  ig_tape_entry *dead = (ig_tape_entry *)ref;
  while (dead) {
    ig_tape_entry *e = dead;
    dead = e->next;
    drop_edges(&dead, e->edges, e->nslots);
    drop_saved(e->kept, e->nslots);
    if (e->results) drop_saved(e->results, e->nresults);
    if (e->outs_size) ig_mem_free(e->alloc, e->outs, e->outs_size);
    if (e->kind == IG_ENTRY_CUSTOM) drop_custom(&dead, e);
    push_dead(&dead, e->inner);
    push_dead(&dead, e->group);
    ig_tensor_release(e->view);
    if (e->view_step) ig_ref_release(&e->view_step->ref);
    ig_hooks_free(e->alloc, &e->hooks);
    ig_vec_free(e->alloc, &e->retainers);
    ig_mem_free(e->alloc, e, e->size);
  }
}

static size_t aligned(size_t n) {
  return (n + 15) / 16 * 16;
}

ig_tape_entry *ig_entry_create(ig_ctx *c, ig_entry_kind kind, size_t nslots, size_t extra,
                               void **room) {
  size_t head = aligned(sizeof(ig_tape_entry));
  size_t edges = aligned(ig_mem_mul(nslots, sizeof(ig_edge)));
  size_t kept = aligned(ig_mem_mul(nslots, sizeof(ig_saved)));
  size_t size = head + edges + kept + extra;
  ig_tape_entry *e = c->status == IG_OK ? ig_mem_new(c->alloc, size) : NULL;
  if (!e) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  e->ref = (ig_ref){1, entry_destroy};
  e->alloc = c->alloc;
  e->size = size;
  e->kind = kind;
  e->nslots = nslots;
  e->edges = (ig_edge *)((char *)e + head);
  e->kept = (ig_saved *)((char *)e + head + edges);
  if (room) *room = (char *)e + head + edges + kept;
  return e;
}

// Not just the next tick: an operand may come from another context with its own clock.
void ig_entry_stamp(ig_ctx *c, ig_tape_entry *e) {
  uint64_t last = 0;
  for (size_t i = 0; i < e->nslots; i++) {
    const ig_tape_entry *before = e->edges[i].entry;
    if (before && before->time > last) last = before->time;
  }
  e->time = ig_mode_tick(c, last);
}

static bool check_inference(ig_ctx *c, const ig_tensor *t) {
  if (!t->inference) return true;
  ig_fail_text(c, IG_RUNTIME,
               "Inference tensors cannot be saved for backward. Please do not use Tensors created "
               "in inference mode in computation tracked by autograd. To work around this, you can "
               "make a clone to get a normal tensor and use it in autograd, or use "
               "`torch.no_grad()` instead of `torch.inference_mode()`.");
  return false;
}

bool ig_entry_keep_result(ig_ctx *c, ig_saved *s, ig_tensor *t, bool bytes) {
  ig_tensor *kept = bytes ? ig_tensor_alias(c, t) : ig_tensor_shell(c, t);
  *s = (ig_saved){ig_tensor_retain(kept), ig_tensor_version(t), bytes, false};
  return kept != NULL;
}

// A leaf is saved itself: its edge retains it anyway, and it has no history that could lead back
// here.
bool ig_entry_keep(ig_ctx *c, ig_saved *s, ig_tensor *t, bool bytes) {
  bool leaf = t->requires_grad && !(t->autograd && t->autograd->entry);
  if (bytes && !check_inference(c, t)) return false;
  if (!leaf) return ig_entry_keep_result(c, s, t, bytes);
  *s = (ig_saved){ig_tensor_retain(t), ig_tensor_version(t), bytes, false};
  return true;
}

static void free_saved(ig_ctx *c, ig_saved *s) {
  if (!s->bytes || !s->tensor || ig_is_fake(s->tensor)) return;
  ig_tensor *shell = ig_tensor_retain(ig_tensor_shell(c, s->tensor));
  if (!shell) return;
  ig_tensor_release(s->tensor);
  s->tensor = shell;
}

static void replace(ig_value *v, const ig_saved **s) {
  if (v->kind == IG_KIND_TENSOR) v->tensor = (*s)->tensor;
  ++*s;
}

// The values that rules see point at the same tensors.
static void refill(ig_value *values, size_t n, const ig_saved *s, const size_t *at) {
  for (size_t i = 0; i < n; i++) {
    const ig_saved *from = at ? s + at[i] : s;
    if (values[i].kind == IG_KIND_LIST) {
      ig_value *items = (ig_value *)values[i].list.at;
      for (size_t k = 0; k < values[i].list.n; k++) {
        if (items[k].kind == IG_KIND_TENSOR || items[k].kind == IG_KIND_NONE) {
          replace(&items[k], &from);
        }
      }
    } else {
      replace(&values[i], &from);
    }
    if (!at) s = from;
  }
}

void ig_entry_free_bytes(ig_ctx *c, ig_tape_entry *e) {
  if (e->freed) return;
  e->freed = true;
  for (size_t i = 0; i < e->nslots; i++) free_saved(c, &e->kept[i]);
  for (size_t i = 0; i < e->nresults; i++) free_saved(c, &e->results[i]);
  for (size_t i = 0; i < e->nsaved; i++) {
    if (e->saved[i].tensor) free_saved(c, &e->saved[i]);
  }
  if (e->args) refill(e->args, e->nargs, e->kept, e->at);
  if (e->outs) refill(e->outs, e->nouts, e->results, NULL);
  if (e->inner) ig_entry_free_bytes(c, e->inner);
}

static void forget_retainer(ig_tape_entry *e, const ig_tensor *t) {
  for (size_t i = 0; i < e->retainers.n; i++) {
    if (e->retainers.at[i].tensor == t) e->retainers.at[i--] = e->retainers.at[--e->retainers.n];
  }
}

static void state_free(ig_tensor *t) {
  struct ig_autograd *a = t->autograd;
  t->autograd = NULL;
  if (a->entry) {
    forget_retainer(a->entry, t);
    ig_ref_release(&a->entry->ref);
  }
  ig_tensor_release(a->grad);
  ig_tensor_release(a->base);
  if (a->step) ig_ref_release(&a->step->ref);
  ig_hooks_free(t->alloc, &a->hooks);
  ig_mem_free(t->alloc, a, sizeof *a);
}

struct ig_autograd *ig_tape_state(ig_ctx *c, ig_tensor *t) {
  if (t->autograd) return t->autograd;
  if (!ig_autograd_free) ig_autograd_free = state_free;
  for (ig_graph *g = c->mode->capture; g; g = g->outer) g->has_history = true;
  if (t->node) t->node->graph->has_history = true;
  t->autograd = ig_mem_new(t->alloc, sizeof *t->autograd);
  if (!t->autograd) (void)ig_fail(c, IG_NOMEM, "out of memory");
  return t->autograd;
}

bool ig_tape_undivide(ig_ctx *c, ig_tensor *t) {
  const struct ig_autograd *a = t->autograd;
  const ig_tape_entry *e = a ? a->entry : NULL;
  if (!e || !e->divided || a->index >= e->nslots || !e->edges[a->index].entry) return true;
  ig_edge to = e->edges[a->index];
  return ig_tape_set_history(c, t, to.entry, to.index);
}

bool ig_tape_set_history(ig_ctx *c, ig_tensor *t, ig_tape_entry *e, uint32_t index) {
  struct ig_autograd *a = ig_tape_state(c, t);
  if (!a) return false;
  if (a->retain_grad && e && !ig_vec_push(e->alloc, &e->retainers, ((ig_retainer){index, t}))) {
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  if (e) ig_ref_retain(&e->ref);
  ig_tape_entry *old = a->entry;
  if (old) forget_retainer(old, t);
  a->entry = e;
  a->index = index;
  a->epoch++;
  t->requires_grad = e != NULL;
  if (old) ig_ref_release(&old->ref);
  return true;
}
