// SPDX-License-Identifier: Apache-2.0
// Hooks. A hook on a result is attached to the entry that is its history, because a later in-place
// write gives the tensor another one; the tensor has it too, so that it can be removed by number.
#include "grad/grad.h"

static void silence(ig_hook *h) {
  if (h->removed) return;
  h->removed = true;
  if (h->free_fn) h->free_fn(h->user);
}

static void hook_destroy(ig_ref *ref) {
  ig_hook *h = (ig_hook *)ref;
  silence(h);
  ig_mem_free(h->alloc, h, sizeof *h);
}

static ig_hook *hook_create(ig_ctx *c, ig_hook_kind kind, void (*free_fn)(void *user), void *user) {
  ig_hook *h = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *h) : NULL;
  if (!h) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    if (free_fn) free_fn(user);
    return NULL;
  }
  h->ref = (ig_ref){1, hook_destroy};
  h->alloc = c->alloc;
  h->number = ig_mode_tick(c, 0);
  h->kind = kind;
  h->free_fn = free_fn;
  h->user = user;
  return h;
}

static bool push(ig_ctx *c, ig_alloc alloc, ig_hooks *hooks, ig_hook *h) {
  if (!ig_vec_push(alloc, hooks, h)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  ig_ref_retain(&h->ref);
  return true;
}

static uint64_t add(ig_ctx *c, ig_tensor *t, ig_hook_kind kind, const ig_grad_hook *hook) {
  ig_hook *h = hook_create(c, kind, hook->free_fn, hook->user);
  struct ig_autograd *a = h ? ig_tape_state(c, t) : NULL;
  uint64_t number = 0;
  if (a) {
    h->fn = hook->fn;
    h->index = a->index;
    bool ok = push(c, t->alloc, &a->hooks, h);
    if (ok && a->entry) ok = push(c, a->entry->alloc, &a->entry->hooks, h);
    if (ok) number = h->number;
  }
  ig_hook_release(h);
  return number;
}

uint64_t ig_tensor_add_hook(ig_ctx *c, ig_tensor *t, const ig_grad_hook *hook) {
  if (c->status == IG_OK && !ig_tape_requires_grad(t)) {
    ig_fail_text(c, IG_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient");
  }
  ig_tape_refresh(c, t);
  if (!ig_tape_undivide(c, t)) return 0;
  return add(c, t, IG_HOOK_TENSOR, hook);
}

uint64_t ig_tensor_add_post_hook(ig_ctx *c, ig_tensor *t, const ig_grad_hook *hook) {
  if (c->status == IG_OK && !ig_tape_requires_grad(t)) {
    ig_fail_text(c, IG_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient");
  } else if (c->status == IG_OK && !ig_tensor_is_leaf(c, t)) {
    ig_fail_text(c, IG_RUNTIME,
                 "post accumulate grad hooks cannot be registered on non-leaf tensors");
  }
  return add(c, t, IG_HOOK_ACCUMULATED, hook);
}

static void remove_from(ig_hooks *hooks, uint64_t number) {
  for (size_t i = 0; i < hooks->n; i++) {
    ig_hook *h = hooks->at[i];
    if (h->number != number) continue;
    for (size_t k = i + 1; k < hooks->n; k++) hooks->at[k - 1] = hooks->at[k];
    hooks->n--;
    silence(h);
    ig_hook_release(h);
    return;
  }
}

void ig_tensor_remove_hook(ig_ctx *c, ig_tensor *t, uint64_t number) {
  (void)c;
  if (t->autograd) remove_from(&t->autograd->hooks, number);
}

uint64_t ig_grad_fn_add_hook(ig_ctx *c, ig_grad_fn *f, const ig_grad_fn_hook *hook) {
  ig_hook_kind kind = hook->pre ? IG_HOOK_PRE : IG_HOOK_POST;
  ig_hook *h = hook_create(c, kind, hook->free_fn, hook->user);
  if (!h) return 0;
  h->many = hook->fn;
  uint64_t number = push(c, f->alloc, &f->hooks, h) ? h->number : 0;
  ig_hook_release(h);
  return number;
}

void ig_grad_fn_remove_hook(ig_ctx *c, ig_grad_fn *f, uint64_t number) {
  (void)c;
  remove_from(&f->hooks, number);
}

static bool check_answer(ig_ctx *c, const ig_tensor *g, const ig_tensor *answer) {
  bool same = g->ndim == answer->ndim;
  for (int d = 0; same && d < g->ndim; d++) {
    same = ig_int_eq(c, ig_sizes(g)[d], ig_sizes(answer)[d]);
  }
  if (c->status != IG_OK) return false;
  if (!same) {
    ig_fail_text(c, IG_RUNTIME, "hook has changed the size of value");
  } else if (g->dtype != answer->dtype) {
    ig_fail_text(c, IG_RUNTIME, "hook has changed the type of value (was torch.%s got torch.%s)",
                 ig_dtype_text(g->dtype), ig_dtype_text(answer->dtype));
  }
  return c->status == IG_OK;
}

ig_tensor *ig_hooks_call(ig_ctx *c, const ig_hooks *hooks, ig_hook_kind kind, uint32_t index,
                         ig_tensor *g) {
  for (size_t i = 0; i < hooks->n && c->status == IG_OK; i++) {
    ig_hook *h = hooks->at[i];
    if (h->kind != kind || h->index != index || h->removed) continue;
    ig_ref_retain(&h->ref);  // it may remove itself
    ig_tensor *answer = h->fn(c, g, h->user);
    ig_hook_release(h);
    if (kind == IG_HOOK_ACCUMULATED || !answer || c->status != IG_OK) continue;
    if (!check_answer(c, g, answer)) return NULL;
    g = answer;
  }
  return c->status == IG_OK ? g : NULL;
}
