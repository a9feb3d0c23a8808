// SPDX-License-Identifier: Apache-2.0
// A context and its modes are one block of memory.
#include "mode/mode.h"

#include "base/budget.h"

typedef struct block {
  ig_ctx ctx;
  ig_modes mode;
  atomic_int dtype;
} block;

ig_status ig_ctx_create(const ig_alloc *alloc, ig_ctx **out) {
  ig_alloc a = alloc ? *alloc : ig_alloc_libc();
  *out = NULL;
  if (!ig_budget_create(a, ig_limits_default().max_memory, &a)) return IG_NOMEM;
  block *b = ig_mem_new(a, sizeof *b);
  if (!b) {
    ig_budget_leave(a);
    return IG_NOMEM;
  }
  *out = &b->ctx;
  ig_ctx_init(&b->ctx, a, &b->mode);
  b->mode.device = ig_device_cpu();
  b->mode.autocast.at[0].dtype = b->mode.autocast.at[1].dtype = -1;
  atomic_init(&b->dtype, IG_F32);
  b->mode.dtype = &b->dtype;
  return IG_OK;
}

void ig_ctx_free(ig_ctx *c) {
  if (!c) return;
  assert(c->mode->depth == 0 && "a mode is still pushed");
  ig_alloc a = c->alloc;
  ig_ctx_clean(c);
  if (c->mode->generator_free) c->mode->generator_free(c->mode->generator);
  ig_mem_free(a, c, sizeof(block));
  ig_budget_leave(a);
}

ig_dtype ig_ctx_default_dtype(const ig_ctx *c) {
  return (ig_dtype)atomic_load_explicit(c->mode->dtype, memory_order_relaxed);
}

void ig_ctx_set_default_dtype(ig_ctx *c, ig_dtype d) {
  block *b = (block *)c;
  atomic_store_explicit(&b->dtype, (int)d, memory_order_relaxed);
  b->mode.dtype = &b->dtype;
}

void ig_mode_share_dtype(ig_ctx *c, const atomic_int *shared) {
  ig_mode_of(c)->dtype = shared ? shared : &((block *)c)->dtype;
}

uint64_t ig_mode_tick(ig_ctx *c, uint64_t after) {
  ig_modes *m = ig_mode_of(c);
  m->clock = after > m->clock ? after + 1 : m->clock + 1;
  return m->clock;
}

void ig_mode_set_host(ig_ctx *c, const struct ig_host *host, void *thread) {
  ig_modes *m = ig_mode_of(c);
  m->host = host;
  m->thread = thread;
}

void ig_mode_set_generator(ig_ctx *c, struct ig_generator *g,
                           void (*destroy)(struct ig_generator *g)) {
  ig_modes *m = ig_mode_of(c);
  if (m->generator_free) m->generator_free(m->generator);
  m->generator = g;
  m->generator_free = destroy;
}
