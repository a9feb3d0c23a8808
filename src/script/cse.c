// SPDX-License-Identifier: Apache-2.0
// Common subexpressions: a node that computes again what one before it computed is replaced by
// that. Nodes that have effects, write, are random, or whose memory somebody writes to stay.
#include <string.h>

#include "script/alias.h"
#include "script/ir_pass.h"
#include "script/operator.h"
#include "script/passes.h"

typedef struct scope scope;
struct scope {
  scope *parent;
  ig_map at;  // key -> node
};

typedef struct finder {
  ig_sunit *u;
  ig_sgraph *g;
  ig_saliases *aliases;
  unsigned char *written;  // classes
  ig_arena arena;
  bool changed;
} finder;

static bool out_of_memory(const finder *f) {
  (void)ig_fail(f->g->c, IG_NOMEM, "out of memory");
  return false;
}

static bool is_written(const finder *f, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t class = ig_saliases_class(f->aliases, ig_sbuild_now(at[i]));
    if (class != IG_SALIAS_NONE && f->written[class]) return true;
  }
  return false;
}

static bool is_candidate(finder *f, ig_snode *n) {
  ig_sform form = ig_sform_of(n);
  bool fits = form == IG_SFORM_PLAIN || form == IG_SFORM_GET_ATTR || form == IG_SFORM_IS ||
              form == IG_SFORM_IS_NOT || form == IG_SFORM_UNCHECKED_CAST ||
              form == IG_SFORM_TO_NUMBER || form == IG_SFORM_TUPLE_INDEX ||
              form == IG_SFORM_NUMBER_TO_TENSOR || form == IG_SFORM_ISINSTANCE ||
              form == IG_SFORM_SIZE || form == IG_SFORM_SUBTRACTED_FROM;
  if (!fits || n->n_blocks || !n->n_out || ig_saliases_has_effects(f->aliases, n)) return false;
  for (size_t i = 0; i < n->n_attrs; i++) {
    if (n->attrs[i].kind != IG_SATTR_VALUE && n->attrs[i].kind != IG_SATTR_TYPES) return false;
  }
  if (is_written(f, n->in, n->n_in) || is_written(f, n->out, n->n_out)) return false;
  if (form == IG_SFORM_GET_ATTR || form == IG_SFORM_UNCHECKED_CAST) return true;
  const ig_soperator *o = ig_soperator_of_node(f->u, n);
  if (!o) return form == IG_SFORM_ISINSTANCE;
  if (o->op && ig_op_is_random(o->op)) return false;
  for (size_t i = 0; i < o->schema->n_params; i++) {
    if (o->schema->params[i].written) return false;
  }
  // New memory has an identity that a script can only see by writing to it.
  return !o->builtin || !o->builtin->effects;
}

// Kind, attributes, operands and types of results as a text. NULL after an error.
static const char *key_of(finder *f, const ig_snode *n) {
  ig_str s = ig_str_make(f->g->c->alloc);
  ig_str_add(&s, "%s", n->kind);
  for (size_t i = 0; i < n->n_attrs; i++) {
    const ig_sattr *a = &n->attrs[i];
    ig_str_add(&s, "[%s=", a->name);
    if (a->kind == IG_SATTR_VALUE) ig_sbuild_add_key(&s, &a->value);
    for (size_t k = 0; k < a->n_types; k++) ig_str_add(&s, "%p,", (const void *)a->types[k]);
  }
  for (size_t i = 0; i < n->n_in; i++) ig_str_add(&s, " %zu", ig_sbuild_now(n->in[i])->number);
  for (size_t i = 0; i < n->n_out; i++) ig_str_add(&s, " %p", (const void *)n->out[i]->type);
  const char *key = s.failed ? NULL : ig_arena_strn(&f->arena, s.at, s.n);
  ig_str_free(&s);
  if (!key) (void)out_of_memory(f);
  return key;
}

static bool find_in(finder *f, ig_sblock *b, scope *outside);

static bool find_node(finder *f, ig_snode *n, scope *here) {
  const char *key = key_of(f, n);
  if (!key) return false;
  for (const scope *s = here; s; s = s->parent) {
    const ig_map_value *known = ig_map_find(&s->at, key);
    const ig_snode *same = known ? known->ptr : NULL;
    if (!same) continue;
    for (size_t i = 0; i < n->n_out; i++) ig_sbuild_replace(n->out[i], same->out[i]);
    ig_snode_remove(n);
    f->changed = true;
    return true;
  }
  ig_map_value *slot = ig_map_put(&here->at, key);
  if (!slot) return out_of_memory(f);
  slot->ptr = n;
  return true;
}

static bool find_in(finder *f, ig_sblock *b, scope *outside) {
  scope here = {.parent = outside, .at = ig_map_make(f->g->c->alloc)};
  bool ok = true;
  for (ig_snode *n = b->first, *next; n && ok; n = next) {
    next = n->next;
    for (size_t i = 0; ok && i < n->n_blocks; i++) ok = find_in(f, n->blocks[i], &here);
    if (ok && is_candidate(f, n)) ok = find_node(f, n, &here);
    ok = ok && f->g->c->status == IG_OK;
  }
  ig_map_free(&here.at);
  return ok;
}

bool ig_sgraph_merge_equal(ig_sunit *u, ig_sgraph *g) {
  if (!ig_sbuild_check(g, true)) return false;
  ig_alloc alloc = g->c->alloc;
  finder f = {.u = u, .g = g, .aliases = ig_saliases_create(u, g, false)};
  if (!f.aliases) return false;
  size_t n = ig_saliases_count(f.aliases);
  f.written = ig_mem_array(alloc, n, 1);
  f.arena = ig_arena_make(alloc);
  bool ok = f.written || out_of_memory(&f);
  size_t n_writes = 0;
  const ig_swrite *writes = ig_saliases_writes(f.aliases, &n_writes);
  for (size_t i = 0; ok && i < n_writes; i++) f.written[writes[i].at] = 1;
  ok = ok && find_in(&f, g->body, NULL);
  ig_sbuild_settle(g);
  ig_mem_array_free(alloc, f.written, n, 1);
  ig_arena_free(&f.arena);
  ig_saliases_free(f.aliases);
  return ok;
}
