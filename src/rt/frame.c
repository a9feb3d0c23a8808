// SPDX-License-Identifier: Apache-2.0
// Frames: making one for new sizes, and switching between them. Tensors and arguments of steps
// exist once per binding; a switch writes the numbers of the frame into them.
#include "rt/frame.h"

#include <string.h>

#include "tensor/geometry.h"

// Frames that are kept; the one that was not used for the longest time makes room.
enum { KEPT = 16 };

// ---- the numbers of a frame

static void write_numbers(const ig_binding *b, const ig_rt_frame *f) {
  const ig_rt_symbols *s = b->symbols;
  for (size_t i = 0; s && i < s->slots.n; i++) {
    const ig_rt_slot *slot = &s->slots.at[i];
    if (slot->integer) {
      *slot->integer = f->numbers[slot->expr].i;
    } else {
      *slot->real = f->numbers[slot->expr].f;
    }
  }
  for (size_t i = 0; i < b->steps.n; i++) {
    if (b->steps.at[i].layer) ig_rt_size_layer(b->steps.at[i].layer);
  }
}

static void set_current(ig_binding *b, ig_rt_frame *f) {
  for (size_t i = 0; i < b->steps.n; i++) {
    ig_rt_step *s = &b->steps.at[i];
    s->prep = f->preps[i];
    if (s->layer) ig_rt_use_need(s->layer, f->needs[i]);
  }
  for (size_t i = 0; i < b->buffers.n; i++) {
    ig_rt_buffer *x = &b->buffers.at[i];
    x->bytes = f->spots[i].bytes;
    x->offset = f->spots[i].offset;
    x->takes = f->spots[i].takes;
    x->storage->bytes = x->bytes;
    x->storage->fake = false;
    if (x->place == IG_PLACE_FIXED) x->storage->data = ig_tensor_data(x->constant);
  }
  b->sets = f->sets;
  b->shown = f->shown;
  b->slab = f->slab;
  b->work = f->work;
  b->base = NULL;
  b->frame = f;
}

static bool is_meant(const ig_binding *b, const ig_rt_frame *f) {
  const ig_rt_symbols *s = b->symbols;
  return !s || memcmp(f->symbols, s->values, s->n * sizeof *s->values) == 0;  // admitted: an array
}

bool ig_rt_use_frame(ig_binding *b) {
  if (b->frame && is_meant(b, b->frame)) return true;
  for (ig_rt_frame **at = &b->frames; *at; at = &(*at)->next) {
    ig_rt_frame *f = *at;
    if (!is_meant(b, f)) continue;
    *at = f->next;
    f->next = b->frames;
    b->frames = f;
    write_numbers(b, f);
    set_current(b, f);
    return true;
  }
  return false;
}

// ---- making one

static bool is_inside(const ig_binding *b, const ig_tensor *t, ig_extent *extent) {
  const ig_rt_buffer *x = ig_rt_find(b, t);
  ig_meta m;
  ig_meta_of(t, &m);
  return ig_geometry_measure(&m, extent) && (!x || (size_t)extent->bytes <= x->bytes);
}

// Every tensor lies inside of its buffer, whatever the expressions, and views by strides, say.
// Tensors that do not vary are checked with the first frame.
static bool measure(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  ig_meta m;
  ig_extent extent;
  bool ok = true;
  for (size_t i = 0; i < b->buffers.n && ok; i++) {
    ig_rt_buffer *x = &b->buffers.at[i];
    ig_meta_of(x->whole, &m);
    ok = ig_geometry_measure(&m, &extent) && (uint64_t)extent.bytes <= SIZE_MAX / 4;
    if (ok) x->bytes = (size_t)extent.bytes;
  }
  for (size_t i = 0; b->symbols && i < b->symbols->tensors.n && ok; i++) {
    ok = is_inside(b, b->symbols->tensors.at[i], &extent);
    // Expressions of strides are products of sizes, which the strides of empty tensors are not.
    b->empty = ok && extent.count == 0;
    ok = ok && !b->empty;
  }
  for (size_t i = 0; !b->frames && i < b->held.n && ok; i++) {
    ok = is_inside(b, b->held.at[i], &extent);
  }
  return ok || ig_fail(c, IG_UNSUPPORTED, "the sizes cannot be planned") == IG_OK;
}

static bool prepare(ig_binding *b, ig_rt_frame *f) {
  ig_ctx *c = b->plan->c;
  b->work = 0;
  for (size_t i = 0; i < b->steps.n; i++) {
    ig_rt_step *s = &b->steps.at[i];
    if (s->layer) {
      f->needs[i] = ig_arena_push(&f->memory, sizeof *f->needs[i]);
      if (!f->needs[i]) return ig_no_memory(c);
      if (!ig_rt_prepare_layer(b, s->layer, f->needs[i])) return false;
    }
    if (!s->op || !ig_op_is_prepared(s->op)) continue;
    f->preps[i] = ig_arena_push(&f->memory, sizeof *f->preps[i]);
    if (!f->preps[i]) return ig_no_memory(c);
    if (!ig_rt_prepare_step(b, s, f->preps[i]) || !ig_rt_pack_step(b, s, f->preps[i])) return false;
  }
  return true;
}

static bool make_arrays(const ig_binding *b, ig_rt_frame *f) {
  size_t nexprs = b->symbols ? b->symbols->exprs.n : 0;
  size_t nsymbols = b->symbols ? b->symbols->n : 0;
  ig_arena *m = &f->memory;
  f->symbols = ig_arena_array(m, nsymbols + 1, sizeof *f->symbols);
  f->numbers = ig_arena_array(m, nexprs + 1, sizeof *f->numbers);
  f->preps = ig_arena_array(m, b->steps.n + 1, sizeof *f->preps);
  f->needs = ig_arena_array(m, b->steps.n + 1, sizeof *f->needs);
  f->spots = ig_arena_array(m, b->buffers.n + 1, sizeof *f->spots);
  f->sets = ig_arena_array(m, b->groups.n + 1, sizeof *f->sets);
  f->shown = ig_arena_array(m, b->plan->source.noutputs + 1, sizeof *f->shown);
  bool ok = f->symbols && f->numbers && f->preps && f->needs && f->spots && f->sets && f->shown;
  return ok || ig_no_memory(b->plan->c);
}

static bool fill(ig_binding *b, ig_rt_frame *f) {
  ig_ctx *c = b->plan->c;
  if (!make_arrays(b, f)) return false;
  for (size_t i = 0; b->symbols && i < b->symbols->n; i++) f->symbols[i] = b->symbols->values[i];
  if (b->symbols && !ig_rt_evaluate(b, f->numbers)) {
    return ig_fail(c, IG_UNSUPPORTED, "the sizes cannot be planned") == IG_OK;
  }
  write_numbers(b, f);
  if (!measure(b) || !prepare(b, f) || !ig_rt_place_buffers(b)) return false;
  for (size_t i = 0; i < b->buffers.n; i++) {
    const ig_rt_buffer *x = &b->buffers.at[i];
    f->spots[i] = (ig_rt_spot){x->bytes, x->offset, x->takes};
  }
  f->slab = b->slab;
  f->work = b->work;
  return true;
}

static void free_frame(const ig_binding *b, ig_rt_frame *f) {
  ig_ctx *c = b->plan->c;
  if (f->sets && f->shown) ig_rt_free_sets(b, f->sets, f->shown);
  ig_arena_free(&f->memory);
  ig_mem_free(c->alloc, f, sizeof *f);
}

static void drop_oldest(const ig_binding *b) {
  ig_rt_frame *const *at = &b->frames;
  size_t n = 0;
  for (const ig_rt_frame *f = b->frames; f; f = f->next) n++;
  if (n < KEPT) return;
  while ((*at)->next) at = &(*at)->next;
  free_frame(b, *at);
  *(ig_rt_frame **)at = NULL;
}

bool ig_rt_add_frame(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  b->frame = NULL;
  ig_rt_frame *f = ig_mem_new(c->alloc, sizeof *f);
  if (!f) return ig_no_memory(c);
  f->memory = ig_arena_make(c->alloc);
  if (!fill(b, f)) {
    free_frame(b, f);
    return false;
  }
  drop_oldest(b);
  f->next = b->frames;
  b->frames = f;
  set_current(b, f);
  return true;
}

void ig_rt_free_frames(ig_binding *b) {
  while (b->frames) {
    ig_rt_frame *next = b->frames->next;
    free_frame(b, b->frames);
    b->frames = next;
  }
}
