// SPDX-License-Identifier: Apache-2.0
// A recording: its life, the modes of its calls, and when it is computed.
#include "capture/defer.h"

#include <string.h>

#include "capture/defer_parts.h"

// ---- life

ig_defer *ig_defer_create(ig_ctx *c, const ig_defer_host *host) {
  ig_defer *d = ig_mem_new(c->alloc, sizeof *d);
  if (!d) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *d = (ig_defer){.c = c, .alloc = c->alloc, .host = *host};
  ig_tensor_settle = ig_defer_ready;
  d->arena = ig_arena_make(c->alloc);
  d->numbers = ig_table_make(c->alloc);
  d->became = ig_table_make(c->alloc);
  d->tracked = ig_table_make(c->alloc);
  d->recorder = (ig_rewrite){.fn = ig_defer_record, .user = d, .eager = true};
  return d;
}

// Writes to memory that existed before become possible again.
static void uncover(ig_defer *d) {
  ig_defer_ungrade(d);
  for (size_t i = 0; i < d->writes.n; i++) {
    ig_storage *s = d->writes.at[i].storage;
    s->fake = s->behind = false;
    s->defer = NULL;
    atomic_store(&s->version, d->writes.at[i].version);
    ig_ref_release(&s->ref);
  }
  d->writes.n = 0;
}

void ig_defer_clear(ig_defer *d) {
  uncover(d);
  for (size_t i = 0; i < d->values.n; i++) {
    ig_tensor *t = d->values.at[i].tensor;
    if (!d->values.at[i].input) {
      t->defer = NULL;
      if (t->storage->fake) t->storage->defer = NULL;
    }
    ig_tensor_release(t);
  }
  d->wrong = NULL;
  d->values.n = d->calls.n = d->words.n = d->slots.n = d->inputs.n = d->outputs.n = 0;
  ig_table_free(&d->numbers);
  d->numbers = ig_table_make(d->alloc);
  ig_arena_free(&d->arena);
  d->arena = ig_arena_make(d->alloc);
}

void ig_defer_free(ig_defer *d) {
  if (!d) return;
  ig_defer_leave(d);
  ig_defer_clear(d);
  ig_table_free(&d->numbers);
  ig_table_free(&d->became);
  ig_table_free(&d->tracked);
  for (size_t i = 0; i < d->exposed.n; i++) ig_ref_release(&d->exposed.at[i]->ref);
  ig_vec_free(d->alloc, &d->exposed);
  ig_vec_free(d->alloc, &d->exprs);
  ig_vec_free(d->alloc, &d->values);
  ig_vec_free(d->alloc, &d->calls);
  ig_vec_free(d->alloc, &d->writes);
  ig_vec_free(d->alloc, &d->graded);
  ig_vec_free(d->alloc, &d->words);
  ig_vec_free(d->alloc, &d->slots);
  ig_vec_free(d->alloc, &d->inputs);
  ig_vec_free(d->alloc, &d->outputs);
  ig_mem_free(d->alloc, d, sizeof *d);
}

void ig_defer_enter(ig_defer *d) {
  ig_mode_change change = {IG_MODE_REWRITE, {.rewrite = &d->recorder}};
  d->mode = ig_mode_push(d->c, &change);
  d->entered = true;
}

void ig_defer_leave(ig_defer *d) {
  if (d->entered) ig_mode_pop(d->c, &d->mode);
  d->entered = false;
}

ig_defer *ig_defer_of(const ig_ctx *c) {
  const ig_rewrite *r = c->mode->rewrite;
  bool records = r && r->fn == ig_defer_record && !c->mode->capture;
  return records ? r->user : NULL;
}

// ---- modes

ig_defer_modes ig_defer_modes_of(const ig_ctx *c) {
  ig_defer_modes m;
  memset(&m, 0, sizeof m);  // compared as bytes
  m.device = c->mode->device;
  m.inference = c->mode->inference;
  m.dtype = (int)ig_ctx_default_dtype((ig_ctx *)c);
  return m;
}

// The modes under which the calls were made, without the recorder. Whatever needs the results may
// have switched to others, such as a shape rule that reads elements.
static ig_mode_scope push_modes(ig_ctx *c, const ig_defer *d) {
  enum {
    OFF = IG_MODE_REWRITE | IG_MODE_CAPTURE | IG_MODE_SYM | IG_MODE_FAKE | IG_MODE_GIVEN |
          IG_MODE_DRAFT | IG_MODE_GROUP | IG_MODE_NEED
  };
  ig_mode_change m = {OFF | IG_MODE_AUTOCAST | IG_MODE_AUTOCASTS | IG_MODE_DEVICE |
                          IG_MODE_INFERENCE | IG_MODE_NO_GRAD,
                      {.rewrite = NULL,
                       .autocasts = false,  // calls have their own
                       .device = d->modes.device,
                       .inference = d->modes.inference,
                       .no_grad = d->no_grad}};
  return ig_mode_push(c, &m);
}

void ig_defer_wait(const ig_ctx *c, const ig_defer *d) {
  while (d->busy && d->flusher != c) d->host.wait(d->host.user);
}

bool ig_defer_flush(ig_ctx *c, ig_defer *d, ig_defer_why why, const ig_op *op) {
  ig_defer_wait(c, d);
  bool refusing = d->whole && why != IG_DEFER_END;
  if (d->busy || (d->calls.n == 0 && !refusing)) return true;
  if (c->status != IG_OK) return false;
  d->busy = true;
  d->flusher = c;
  d->need = c->mode->need ? *c->mode->need : (ig_defer_need){0};
  uncover(d);
  ig_mode_scope mode = push_modes(c, d);
  bool ok = d->host.flush(c, d, why, op, d->host.user);
  ig_mode_pop(c, &mode);
  ig_defer_clear(d);
  d->busy = false;
  return ok;
}

bool ig_defer_ready(ig_ctx *c, const ig_tensor *t) {
  ig_defer *d = t->defer ? t->defer : t->storage->defer;
  return !d || ig_defer_flush(c, d, IG_DEFER_VALUE, NULL);
}

void ig_defer_expose(ig_defer *d, const ig_tensor *t) {
  if (!ig_vec_push(d->alloc, &d->exposed, t->storage)) {
    (void)ig_fail(d->c, IG_NOMEM, "out of memory");
  } else {
    ig_ref_retain(&t->storage->ref);
  }
}
