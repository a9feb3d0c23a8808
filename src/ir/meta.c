// SPDX-License-Identifier: Apache-2.0
// Metadata of nodes. A large program has a hundred times as many nodes as modules, so a graph
// interns texts, frames and module stacks; nodes point to them.
#include <string.h>

#include "base/hash.h"
#include "ir/graph.h"

#define NO_MODULE "_empty_nn_module_stack_from_metadata_hook"

const ig_module_level ig_no_module = {NO_MODULE, NO_MODULE, NO_MODULE};

bool ig_modules_are_none(const ig_module_level *levels, size_t n) {
  return n == 1 && strcmp(levels[0].key, NO_MODULE) == 0;
}

static uint64_t hash_text(uint64_t h, const char *text) {
  return ig_hash_bytes(h, text,
                       strlen(text) + 1);  // with the terminator, so that "a", "b" is not "ab", ""
}

// Files choose the texts, but do not know the address.
static uint64_t hash_levels(const ig_module_level *at, size_t n) {
  uint64_t h = IG_HASH_BASIS ^ (uintptr_t)&ig_no_module;
  for (size_t i = 0; i < n; i++) {
    h = hash_text(hash_text(hash_text(h, at[i].key), at[i].path), at[i].type);
  }
  return h;
}

static bool are_same(const ig_module_stack *s, const ig_module_level *at, size_t n) {
  bool same = s->n == n;
  for (size_t i = 0; same && i < n; i++) {
    const ig_module_level *a = &s->at[i];
    same = strcmp(a->path, at[i].path) == 0 && strcmp(a->key, at[i].key) == 0 &&
           strcmp(a->type, at[i].type) == 0;
  }
  return same;
}

static ig_module_stack *copy_levels(ig_ctx *c, ig_graph *g, const ig_module_level *at, size_t n) {
  ig_module_stack *s =
      ig_arena_push(&g->arena, ig_mem_add(sizeof *s, ig_mem_mul(n, sizeof *s->at)));
  if (!s) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  s->n = n;
  for (size_t i = 0; i < n; i++) {
    s->at[i] =
        (ig_module_level){ig_graph_keep_text(c, g, at[i].key), ig_graph_keep_text(c, g, at[i].path),
                          ig_graph_keep_text(c, g, at[i].type)};
    if (!s->at[i].key || !s->at[i].path || !s->at[i].type) return NULL;
  }
  return s;
}

static const ig_module_stack *keep_stack(ig_ctx *c, ig_graph *g, uint64_t hash,
                                         const ig_module_level *at, size_t n) {
  // NULL is no key.
  const void *key = (const void *)((uintptr_t)hash | 1);  // NOLINT(performance-no-int-to-ptr)
  const ig_table_slot *known = ig_table_find(&g->modules, key);
  for (const ig_module_stack *s = known ? known->value : NULL; s; s = s->next) {
    if (s->at == at || are_same(s, at, n)) return s;
  }
  ig_module_stack *s = copy_levels(c, g, at, n);
  ig_table_slot *slot = s ? ig_table_put(&g->modules, key) : NULL;
  if (s && !slot) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (!slot) return NULL;
  s->hash = hash;
  s->next = slot->value;
  slot->value = s;
  return s;
}

const ig_module_stack *ig_graph_keep_levels(ig_ctx *c, ig_graph *g, const ig_module_level *levels,
                                            size_t n) {
  return keep_stack(c, g, hash_levels(levels, n), levels, n);
}

const ig_module_stack *ig_graph_keep_modules(ig_ctx *c, ig_graph *g, const ig_module_stack *from) {
  return keep_stack(c, g, from->hash, from->at, from->n);
}

// ---- frames ----

static uint64_t hash_known(uint64_t h, const char *text) {
  return text ? hash_text(h, text) : h * 3;
}

static uint64_t hash_frames(const ig_frames *f) {
  uint64_t h = hash_known(IG_HASH_BASIS ^ (uintptr_t)&ig_no_module, f->text);
  for (size_t i = 0; i < f->n; i++) {
    const ig_frame *at = &f->at[i];
    h = hash_text(ig_hash_bytes(h, &at->line, sizeof at->line), at->file);
    h = hash_known(hash_known(h, at->function), at->code);
  }
  return h;
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frames(const ig_frames *a, const ig_frames *b) {
  bool same = a->n == b->n && same_text(a->text, b->text);
  for (size_t i = a->n; same && i-- > 0;) {  // stacks differ in the innermost frames
    const ig_frame *x = &a->at[i];
    const ig_frame *y = &b->at[i];
    same = x->line == y->line && same_text(x->file, y->file) &&
           same_text(x->function, y->function) && same_text(x->code, y->code);
  }
  return same;
}

static bool keep_known(ig_ctx *c, ig_graph *g, const char *text, const char **to) {
  *to = text ? ig_graph_keep_text(c, g, text) : NULL;
  return !text || *to;
}

static ig_call_stack *copy_frames(ig_ctx *c, ig_graph *g, const ig_frames *from) {
  ig_call_stack *s = ig_arena_push(&g->arena, sizeof *s);
  ig_frame *at = s ? ig_arena_array(&g->arena, from->n, sizeof *at) : NULL;
  if (!at) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  s->frames = (ig_frames){.at = at, .n = from->n};
  bool ok = keep_known(c, g, from->text, &s->frames.text);
  for (size_t i = 0; ok && i < from->n; i++) {
    at[i].line = from->at[i].line;
    ok = keep_known(c, g, from->at[i].file, &at[i].file) &&
         keep_known(c, g, from->at[i].function, &at[i].function) &&
         keep_known(c, g, from->at[i].code, &at[i].code);
  }
  return ok ? s : NULL;
}

static const ig_call_stack *keep_frames(ig_ctx *c, ig_graph *g, uint64_t hash,
                                        const ig_frames *from) {
  const void *key = (const void *)((uintptr_t)hash | 1);  // NOLINT(performance-no-int-to-ptr)
  const ig_table_slot *known = ig_table_find(&g->stacks, key);
  for (const ig_call_stack *s = known ? known->value : NULL; s; s = s->next) {
    if (s->frames.at == from->at || same_frames(&s->frames, from)) return s;
  }
  ig_call_stack *s = copy_frames(c, g, from);
  ig_table_slot *slot = s ? ig_table_put(&g->stacks, key) : NULL;
  if (s && !slot) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (!slot) return NULL;
  s->hash = hash;
  s->next = slot->value;
  slot->value = s;
  return s;
}

const ig_call_stack *ig_graph_keep_frames(ig_ctx *c, ig_graph *g, const ig_frames *from) {
  return keep_frames(c, g, hash_frames(from), from);
}

const ig_call_stack *ig_graph_read_frames(ig_ctx *c, ig_graph *g, const char *text) {
  ig_arena arena = ig_arena_make(c->alloc);
  ig_frames read;
  const ig_call_stack *kept = NULL;
  if (ig_frames_parse(&arena, text, &read)) {
    kept = ig_graph_keep_frames(c, g, &read);
  } else {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  ig_arena_free(&arena);
  return kept;
}

size_t ig_node_frames(const ig_node *n, const ig_frame **frames) {
  *frames = n->meta.stack ? n->meta.stack->frames.at : NULL;
  return n->meta.stack ? n->meta.stack->frames.n : 0;
}

ig_frame ig_node_location(const ig_node *n) {
  const ig_frame *at = NULL;
  size_t count = ig_node_frames(n, &at);
  return count ? at[count - 1] : (ig_frame){.file = n->file, .line = n->line};
}

// ---- all of it ----

bool ig_graph_keep_meta(ig_ctx *c, ig_graph *g, const ig_metadata *from, ig_metadata *to) {
  ig_metadata kept = {.modules = NULL};
  for (size_t i = 0; i < IG_META_KEY_COUNT; i++) {
    if (from->text[i]) kept.text[i] = ig_graph_keep_text(c, g, from->text[i]);
    if (from->text[i] && !kept.text[i]) return false;
  }
  if (from->stack) kept.stack = keep_frames(c, g, from->stack->hash, &from->stack->frames);
  if (from->stack && !kept.stack) return false;
  if (from->modules) kept.modules = ig_graph_keep_modules(c, g, from->modules);
  if (from->modules && !kept.modules) return false;
  *to = kept;
  return true;
}

static bool add_modules(ig_map *seen, const ig_module_stack *stack, const char **paths, size_t *n) {
  for (size_t i = 0; i < stack->n; i++) {
    const char *path = stack->at[i].path;
    ig_map_value *v = path[0] ? ig_map_put(seen, path) : NULL;
    if (path[0] && !v) return false;
    if (v && !v->num) paths[(*n)++] = path;
    if (v) v->num = 1;
  }
  return true;
}

// A graph has few stacks, whose levels are an upper bound for the number of paths.
static size_t count_levels(const ig_graph *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->modules.cap; i++) {
    const ig_table_slot *slot = &g->modules.slots[i];
    for (const ig_module_stack *s = slot->key ? slot->value : NULL; s; s = s->next) n += s->n;
  }
  return n;
}

const char *const *ig_graph_modules(ig_ctx *c, const ig_graph *g, size_t *n) {
  const char **paths = ig_scope_array(c, count_levels(g), sizeof *paths);
  ig_map seen = ig_map_make(c->alloc);
  const ig_module_stack *last = NULL;
  bool ok = paths != NULL;
  *n = 0;
  for (const ig_node *k = g->first; k && ok; k = k->next) {
    const ig_module_stack *stack = k->meta.modules;
    if (!stack || stack == last || ig_modules_are_none(stack->at, stack->n)) continue;
    ok = add_modules(&seen, stack, paths, n);
    last = stack;
  }
  ig_map_free(&seen);
  if (!ok && c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
  return ok ? paths : NULL;
}

void ig_modules_print(ig_str *s, const ig_module_stack *stack) {
  for (size_t i = 0; i < stack->n; i++) {
    const ig_module_level *l = &stack->at[i];
    ig_str_add(s, "%s%s,%s,%s", i ? ";" : "", l->key, l->path, l->type);
  }
}

const char *ig_node_meta(const ig_node *n, ig_meta_key key) {
  return n->meta.text[key];
}

size_t ig_node_modules(const ig_node *n, const ig_module_level **levels) {
  *levels = n->meta.modules ? n->meta.modules->at : NULL;
  return n->meta.modules ? n->meta.modules->n : 0;
}
