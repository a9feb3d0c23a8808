// SPDX-License-Identifier: Apache-2.0
#include "script/ir.h"
#include "script/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *no_memory(ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return NULL;
}

// One more element; the room doubles whenever n is a power of two.
static void *append(ig_sgraph *g, void *at, size_t *n, size_t size) {
  if ((*n & (*n - 1)) == 0) {
    char *bigger = ig_arena_array(&g->arena, *n ? ig_mem_mul(*n, 2) : 1, size);
    if (!bigger) return no_memory(g);
    if (*n) memcpy(bigger, at, ig_mem_mul(*n, size));
    at = bigger;
  }
  (*n)++;
  return at;
}

static bool append_value(ig_sgraph *g, ig_svalue ***at, size_t *n, ig_svalue *v) {
  ig_svalue **bigger = v ? append(g, *at, n, sizeof(ig_svalue *)) : NULL;
  if (!bigger) return false;
  bigger[*n - 1] = v;
  *at = bigger;
  return true;
}

// ---- making

static ig_sblock *new_block(ig_sgraph *g, ig_snode *node) {
  ig_sblock *b = ig_arena_push(&g->arena, sizeof *b);
  if (!b) return no_memory(g);
  *b = (ig_sblock){.graph = g, .node = node};
  return b;
}

ig_sgraph *ig_sgraph_create(ig_stypes *types) {
  ig_ctx *c = types->c;
  ig_sgraph *g = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *g) : NULL;
  if (!g) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *g = (ig_sgraph){.c = c, .types = types};
  g->arena = ig_arena_make(c->alloc);
  g->owners = ig_map_make(c->alloc);
  g->suffixes = ig_map_make(c->alloc);
  g->body = new_block(g, NULL);
  if (g->body) return g;
  ig_sgraph_free(g);
  return NULL;
}

void ig_sgraph_free(ig_sgraph *g) {
  if (!g) return;
  for (size_t i = 0; i < g->n_inner; i++) ig_sgraph_free(g->inner[i]);
  for (size_t i = 0; i < g->n_tensors; i++) ig_tensor_release(g->tensors[i]);
  ig_map_free(&g->owners);
  ig_map_free(&g->suffixes);
  ig_arena_free(&g->arena);
  ig_mem_free(g->c->alloc, g, sizeof *g);
}

static ig_svalue *new_value(ig_sgraph *g, ig_snode *node, ig_sblock *block, const ig_stype *type) {
  ig_svalue *v = type ? ig_arena_push(&g->arena, sizeof *v) : NULL;
  if (!v) return no_memory(g);
  *v = (ig_svalue){.node = node, .block = block, .type = type, .number = g->next_number++};
  return v;
}

ig_svalue *ig_sblock_add_input(ig_sblock *b, const ig_stype *type) {
  ig_svalue *v = new_value(b->graph, b->node, b, type);
  return append_value(b->graph, &b->in, &b->n_in, v) ? v : NULL;
}

bool ig_sblock_add_output(ig_sblock *b, ig_svalue *v) {
  return append_value(b->graph, &b->out, &b->n_out, v);
}

ig_snode *ig_snode_push(ig_sblock *b, const char *kind, ig_svalue *const *in, size_t n) {
  ig_sgraph *g = b->graph;
  ig_snode *node = ig_arena_push(&g->arena, sizeof *node);
  const char *text = ig_arena_strn(&g->arena, kind, strlen(kind));
  if (!node || !text) return no_memory(g);
  *node = (ig_snode){.owner = b, .prev = b->last};
  ig_snode_set_kind(node, text);
  for (size_t i = 0; i < n; i++) {
    if (!append_value(g, &node->in, &node->n_in, in[i])) return NULL;
  }
  if (b->last) b->last->next = node;
  if (!b->last) b->first = node;
  b->last = node;
  return node;
}

ig_svalue *ig_snode_add_output(ig_snode *n, const ig_stype *type) {
  ig_sgraph *g = n->owner->graph;
  ig_svalue *v = new_value(g, n, NULL, type);
  return append_value(g, &n->out, &n->n_out, v) ? v : NULL;
}

ig_sblock *ig_snode_add_block(ig_snode *n) {
  ig_sgraph *g = n->owner->graph;
  ig_sblock *b = new_block(g, n);
  ig_sblock **at = b ? append(g, n->blocks, &n->n_blocks, sizeof(ig_sblock *)) : NULL;
  if (!at) return NULL;
  at[n->n_blocks - 1] = b;
  n->blocks = at;
  return b;
}

ig_sattr *ig_snode_add_attr(ig_snode *n, const char *name, ig_sattr_kind kind) {
  ig_sgraph *g = n->owner->graph;
  const char *text = ig_arena_strn(&g->arena, name, strlen(name));
  if (!text) return no_memory(g);
  ig_sattr *at = append(g, n->attrs, &n->n_attrs, sizeof *at);
  if (!at) return NULL;
  n->attrs = at;
  at[n->n_attrs - 1] = (ig_sattr){.name = text, .kind = kind};
  return &at[n->n_attrs - 1];
}

ig_sgraph *ig_snode_add_graph(ig_snode *n, const char *name) {
  ig_sgraph *g = n->owner->graph;
  ig_sgraph **at = append(g, g->inner, &g->n_inner, sizeof(ig_sgraph *));
  if (!at) return NULL;
  g->inner = at;
  at[g->n_inner - 1] = ig_sgraph_create(g->types);
  ig_sattr *a = at[g->n_inner - 1] ? ig_snode_add_attr(n, name, IG_SATTR_GRAPH) : NULL;
  if (!a) return NULL;
  a->graph = at[g->n_inner - 1];
  return a->graph;
}

ig_tensor *ig_sgraph_keep(ig_sgraph *g, ig_tensor *t) {
  ig_tensor **at = t ? append(g, g->tensors, &g->n_tensors, sizeof(ig_tensor *)) : NULL;
  if (!at) return NULL;
  g->tensors = at;
  return at[g->n_tensors - 1] = ig_tensor_retain(t);
}

const ig_sattr *ig_snode_attr(const ig_snode *n, const char *name) {
  for (size_t i = 0; i < n->n_attrs; i++) {
    if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  }
  return NULL;
}

// ---- names

static bool is_number(const char *text) {
  return text[0] && text[strspn(text, "0123456789")] == '\0';
}

// "x.3" is base "x" and suffix 3; "x" has suffix 0.
static size_t split(const char *name, size_t *suffix) {
  const char *dot = strrchr(name, '.');
  *suffix = 0;
  if (!dot || dot == name || !is_number(dot + 1) || strlen(dot + 1) > 18) return strlen(name);
  *suffix = (size_t)strtoull(dot + 1, NULL, 10);
  return (size_t)(dot - name);
}

static bool own(ig_sgraph *g, ig_svalue *v, const char *name) {
  const char *kept = NULL;
  ig_map_value *slot = ig_map_keep(&g->owners, &g->arena, name, &kept);
  if (!slot) return no_memory(g) != NULL;
  slot->ptr = v;
  v->name = ig_arena_strn(&g->arena, name, strlen(name));
  return v->name || no_memory(g);
}

// The old owner of a name gets the base and the next free number.
static bool rename_owner(ig_sgraph *g, ig_svalue *old, const char *name) {
  size_t suffix = 0;
  size_t n = split(name, &suffix);
  char *base = ig_arena_strn(&g->arena, name, n);
  char *fresh = ig_arena_push(&g->arena, ig_mem_add(n, 24));
  ig_map_value *next = base ? ig_map_put(&g->suffixes, base) : NULL;
  if (!fresh || !next) return no_memory(g) != NULL;
  if (suffix < 1) suffix = 1;
  if (next->num > suffix) suffix = next->num;
  for (;;) {
    (void)snprintf(fresh, n + 24, "%s.%zu", base, suffix++);
    ig_map_value *taken = ig_map_find(&g->owners, fresh);
    if (!taken || !taken->ptr) break;
  }
  next->num = suffix + 1;
  return own(g, old, fresh);
}

bool ig_svalue_set_name(ig_sgraph *g, ig_svalue *v, const char *name) {
  if (v->name) {
    ig_map_value *slot = ig_map_find(&g->owners, v->name);
    if (slot && slot->ptr == v) slot->ptr = NULL;
    v->name = NULL;
  }
  if (!name[0]) return true;
  if (!name[strspn(name, "0123456789")]) {  // numbers are the names of values that have none
    char *with = ig_arena_push(&g->arena, ig_mem_add(strlen(name), 2));
    if (!with) return no_memory(g) != NULL;
    with[0] = '_';
    memcpy(with + 1, name, strlen(name) + 1);
    name = with;
  }
  ig_map_value *slot = ig_map_find(&g->owners, name);
  ig_svalue *old = slot ? slot->ptr : NULL;
  if (old && old != v && !rename_owner(g, old, name)) return false;
  return own(g, v, name);
}
