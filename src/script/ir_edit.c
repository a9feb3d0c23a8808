// SPDX-License-Identifier: Apache-2.0
#include "script/ir_edit.h"

#include <string.h>

#include "script/compile.h"
#include "script/form.h"

static void *no_memory(ig_sgraph *g) {
  (void)ig_fail(g->c, IG_NOMEM, "out of memory");
  return NULL;
}

// ---- placing nodes

ig_snode *ig_snode_create(ig_sgraph *g, const char *kind, ig_svalue *const *in, size_t n) {
  ig_snode *node = ig_arena_push(&g->arena, sizeof *node);
  const char *text = ig_arena_strn(&g->arena, kind, strlen(kind));
  if (!node || !text) return no_memory(g);
  *node = (ig_snode){.owner = g->body, .detached = true};
  ig_snode_set_kind(node, text);
  for (size_t i = 0; i < n; i++) {
    if (!ig_snode_add_input(node, in[i])) return NULL;
  }
  return node;
}

static void unlink_node(ig_snode *n) {
  ig_sblock *b = n->owner;
  if (n->prev) n->prev->next = n->next;
  if (!n->prev) b->first = n->next;
  if (n->next) n->next->prev = n->prev;
  if (!n->next) b->last = n->prev;
  n->prev = n->next = NULL;
}

void ig_snode_insert(ig_snode *n, ig_sblock *b, ig_snode *before) {
  if (n == before) return;
  if (!n->detached) unlink_node(n);
  n->detached = false;
  n->owner = b;
  n->next = before;
  n->prev = before ? before->prev : b->last;
  if (n->prev) n->prev->next = n;
  if (!n->prev) b->first = n;
  if (n->next) n->next->prev = n;
  if (!n->next) b->last = n;
}

// A name is free again when its value is gone.
static void forget(ig_sgraph *g, ig_svalue *v) {
  ig_map_value *slot = v->name ? ig_map_find(&g->owners, v->name) : NULL;
  if (slot && slot->ptr == v) slot->ptr = NULL;
}
static void forget_all(ig_sgraph *g, ig_svalue *const *at, size_t n) {
  for (size_t i = 0; i < n; i++) forget(g, at[i]);
}
static void forget_node(ig_sgraph *g, const ig_snode *n) {
  forget_all(g, n->out, n->n_out);
  for (size_t i = 0; i < n->n_blocks; i++) {
    forget_all(g, n->blocks[i]->in, n->blocks[i]->n_in);
    for (const ig_snode *k = n->blocks[i]->first; k; k = k->next) forget_node(g, k);
  }
}

void ig_snode_remove(ig_snode *n) {
  if (n->detached) return;
  forget_node(n->owner->graph, n);
  unlink_node(n);
  n->detached = true;
  n->removed = true;
  n->owner = n->owner->graph->body;
}

bool ig_snode_is_live(const ig_snode *n) {
  while (n && !n->detached && !n->removed) {
    if (!n->owner->node) return true;
    n = n->owner->node;
  }
  return false;
}

bool ig_snode_is_before(const ig_snode *a, const ig_snode *b) {
  for (; b; b = b->owner->node) {
    if (b->owner != a->owner) continue;
    for (const ig_snode *n = b; n; n = n->prev) {
      if (n == a) return true;
    }
    return false;
  }
  return false;
}

// ---- inputs and outputs

// Arrays of a graph have room for the next power of two: appending relies on it.
static ig_svalue **array_for(ig_sgraph *g, size_t n) {
  size_t room = 1;
  while (room < n) room *= 2;
  ig_svalue **at = ig_arena_array(&g->arena, room, sizeof(ig_svalue *));
  return at ? at : no_memory(g);
}

// A new array: other code may be reading the old one.
static bool insert_value(ig_sgraph *g, ig_svalue ***at, size_t *n, size_t where, ig_svalue *v) {
  ig_svalue **bigger = v ? array_for(g, ig_mem_add(*n, 1)) : NULL;
  if (!bigger) return false;
  for (size_t i = 0; i < where; i++) bigger[i] = (*at)[i];
  bigger[where] = v;
  for (size_t i = where; i < *n; i++) bigger[i + 1] = (*at)[i];
  *at = bigger;
  ++*n;
  return true;
}

static void remove_value(ig_sgraph *g, ig_svalue ***at, size_t *n, size_t where) {
  ig_svalue **fresh = array_for(g, *n);
  if (!fresh) return;
  for (size_t i = 0; i < where; i++) fresh[i] = (*at)[i];
  for (size_t i = where; i + 1 < *n; i++) fresh[i] = (*at)[i + 1];
  *at = fresh;
  --*n;
}

static ig_sgraph *graph_of(const ig_snode *n) {
  return n->owner->graph;
}

bool ig_snode_add_input(ig_snode *n, ig_svalue *v) {
  bool room = (n->n_in & (n->n_in - 1)) != 0;
  if (v && room) {
    n->in[n->n_in++] = v;
    return true;
  }
  return insert_value(graph_of(n), &n->in, &n->n_in, n->n_in, v);
}
bool ig_snode_insert_input(ig_snode *n, size_t at, ig_svalue *v) {
  return insert_value(graph_of(n), &n->in, &n->n_in, at, v);
}

void ig_snode_remove_input(ig_snode *n, size_t at) {
  remove_value(graph_of(n), &n->in, &n->n_in, at);
}
void ig_snode_remove_output(ig_snode *n, size_t at) {
  forget(graph_of(n), n->out[at]);
  remove_value(graph_of(n), &n->out, &n->n_out, at);
}
void ig_snode_remove_attr(ig_snode *n, const char *name) {
  for (size_t i = 0; i < n->n_attrs; i++) {
    if (strcmp(n->attrs[i].name, name) != 0) continue;
    for (size_t k = i; k + 1 < n->n_attrs; k++) n->attrs[k] = n->attrs[k + 1];
    n->n_attrs--;
    return;
  }
}
ig_svalue *ig_sblock_insert_input(ig_sblock *b, size_t at, const ig_stype *type) {
  ig_svalue *v = ig_sblock_add_input(b, type);
  if (!v) return NULL;
  for (size_t i = b->n_in - 1; i > at; i--) b->in[i] = b->in[i - 1];
  return b->in[at] = v;
}
void ig_sblock_remove_input(ig_sblock *b, size_t at) {
  forget(b->graph, b->in[at]);
  remove_value(b->graph, &b->in, &b->n_in, at);
}
void ig_sblock_remove_output(ig_sblock *b, size_t at) {
  remove_value(b->graph, &b->out, &b->n_out, at);
}

ig_snode *ig_snode_of_params(ig_sblock *b) {
  if (!b->params) b->params = ig_snode_create(b->graph, "prim::Param", NULL, 0);
  if (!b->params) return NULL;
  b->params->owner = b;
  b->params->out = b->in;
  b->params->n_out = b->n_in;
  return b->params;
}

ig_snode *ig_snode_of_returns(ig_sblock *b) {
  if (!b->returns) b->returns = ig_snode_create(b->graph, "prim::Return", NULL, 0);
  if (!b->returns) return NULL;
  b->returns->owner = b;
  b->returns->in = b->out;
  b->returns->n_in = b->n_out;
  return b->returns;
}

// ---- uses

// Calls back for every place that holds the value; false: stop.
typedef bool use_fn(ig_svalue **place, ig_suse use, void *user);

static bool each_use(ig_sblock *b, const ig_svalue *v, use_fn *fn, void *user) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_in; i++) {
      if (n->in[i] == v && !fn(&n->in[i], (ig_suse){.node = n, .block = b, .at = i}, user)) {
        return false;
      }
    }
    for (size_t i = 0; i < n->n_blocks; i++) {
      if (!each_use(n->blocks[i], v, fn, user)) return false;
    }
  }
  for (size_t i = 0; i < b->n_out; i++) {
    if (b->out[i] == v && !fn(&b->out[i], (ig_suse){.block = b, .at = i}, user)) return false;
  }
  return true;
}

typedef struct collection {
  ig_suse *at;
  size_t n;
} collection;
static bool count_use(ig_svalue **place, ig_suse use, void *user) {
  collection *all = user;
  (void)place;
  if (all->at) all->at[all->n] = use;
  all->n++;
  return true;
}

ig_suse *ig_svalue_uses(ig_sblock *in, const ig_svalue *v, size_t *n) {
  collection all = {0};
  (void)each_use(in, v, count_use, &all);
  all.at = ig_arena_array(&in->graph->arena, ig_mem_add(all.n, 1), sizeof *all.at);
  all.n = 0;
  if (!all.at) return no_memory(in->graph);
  (void)each_use(in, v, count_use, &all);
  *n = all.n;
  return all.at;
}

static bool stop_at_use(ig_svalue **place, ig_suse use, void *user) {
  (void)place;
  (void)use;
  (void)user;
  return false;
}
bool ig_svalue_is_used(const ig_sblock *in, const ig_svalue *v) {
  return !each_use((ig_sblock *)in, v, stop_at_use, NULL);
}

static bool replace_use(ig_svalue **place, ig_suse use, void *user) {
  (void)use;
  *place = user;
  return true;
}
void ig_svalue_replace(ig_sblock *in, const ig_svalue *v, ig_svalue *by) {
  if (v != by) (void)each_use(in, v, replace_use, by);
}

ig_sblock *ig_svalue_home(const ig_svalue *v) {
  return v->block ? v->block : v->node->owner;
}

// ---- copies

ig_svalue_map ig_svalue_map_make(ig_sgraph *g) {
  return (ig_svalue_map){.g = g};
}

static size_t slot_of(const ig_svalue_map *m, const ig_svalue *v) {
  size_t i = ((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15U >> 20;
  for (i &= m->cap - 1; m->from[i] && m->from[i] != v; i = (i + 1) & (m->cap - 1)) continue;
  return i;
}

static bool grow_map(ig_svalue_map *m) {
  ig_svalue_map bigger = {.g = m->g, .cap = m->cap ? m->cap * 2 : 16, .n = m->n};
  bigger.from = ig_arena_array(&m->g->arena, bigger.cap, sizeof *bigger.from);
  bigger.to = ig_arena_array(&m->g->arena, bigger.cap, sizeof *bigger.to);
  if (!bigger.from || !bigger.to) return no_memory(m->g) != NULL;
  for (size_t i = 0; i < m->cap; i++) {
    if (!m->from[i]) continue;
    size_t k = slot_of(&bigger, m->from[i]);
    bigger.from[k] = m->from[i];
    bigger.to[k] = m->to[i];
  }
  *m = bigger;
  return true;
}

bool ig_svalue_map_put(ig_svalue_map *m, const ig_svalue *from, ig_svalue *to) {
  if (!to || (2 * m->n >= m->cap && !grow_map(m))) return false;
  size_t i = slot_of(m, from);
  if (!m->from[i]) m->n++;
  m->from[i] = from;
  m->to[i] = to;
  return true;
}

ig_svalue *ig_svalue_map_get(const ig_svalue_map *m, const ig_svalue *from) {
  if (!m->cap) return NULL;
  size_t i = slot_of(m, from);
  return m->from[i] ? m->to[i] : NULL;
}

static ig_svalue *mapped(const ig_svalue_map *m, const ig_svalue *v) {
  ig_svalue *to = ig_svalue_map_get(m, v);
  return to ? to : (ig_svalue *)v;
}

static bool copy_metadata(ig_svalue_map *m, const ig_svalue *from, ig_svalue *to, bool names) {
  if (!ig_svalue_map_put(m, from, to)) return false;
  return !names || !from->name || ig_svalue_set_name(m->g, to, from->name);
}

// A value in the arena of the graph; tensors are retained by it.
static bool copy_value(ig_sgraph *g, const ig_value *from, ig_value *to) {
  *to = *from;
  if (from->kind == IG_KIND_TENSOR) return (to->tensor = ig_sgraph_keep(g, from->tensor)) != NULL;
  if (from->kind == IG_KIND_STR) {
    to->str = ig_arena_strn(&g->arena, from->str, strlen(from->str));
    return to->str || no_memory(g);
  }
  if (from->kind == IG_KIND_INTS) {
    ig_int *ints = ig_arena_array(&g->arena, ig_mem_add(from->ints.n, 1), sizeof *ints);
    if (!ints) return no_memory(g) != NULL;
    for (size_t i = 0; i < from->ints.n; i++) ints[i] = from->ints.at[i];
    to->ints.at = ints;
  }
  if (from->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(&g->arena, ig_mem_add(from->list.n, 1), sizeof *items);
  if (!items) return no_memory(g) != NULL;
  for (size_t i = 0; i < from->list.n; i++) {
    if (!copy_value(g, &from->list.at[i], &items[i])) return false;
  }
  to->list.at = items;
  return true;
}

static bool copy_text(ig_sgraph *g, const char *from, const char **to) {
  *to = from ? ig_arena_strn(&g->arena, from, strlen(from)) : NULL;
  return !from || *to || no_memory(g);
}

bool ig_sblock_copy(ig_svalue_map *m, const ig_sblock *from, ig_sblock *to, bool names) {
  for (size_t i = 0; i < from->n_in; i++) {
    ig_svalue *v = ig_sblock_add_input(to, from->in[i]->type);
    if (!v || !copy_metadata(m, from->in[i], v, names)) return false;
  }
  if (!ig_sblock_copy_nodes(m, from, to, NULL, names)) return false;
  for (size_t i = 0; i < from->n_out; i++) {
    if (!ig_sblock_add_output(to, mapped(m, from->out[i]))) return false;
  }
  return true;
}

static bool copy_attr(ig_sgraph *g, const ig_sattr *from, ig_snode *to) {
  if (from->kind == IG_SATTR_GRAPH) {
    ig_sgraph *inner = ig_snode_add_graph(to, from->name);
    if (!inner) return false;
    ig_svalue_map m = ig_svalue_map_make(inner);
    return ig_sblock_copy(&m, from->graph->body, inner->body, true);
  }
  ig_sattr *a = ig_snode_add_attr(to, from->name, from->kind);
  if (!a) return false;
  const char *name = a->name;
  *a = *from;
  a->name = name;
  if (from->kind == IG_SATTR_TYPES) {
    const ig_stype **types = ig_arena_array(&g->arena, ig_mem_add(from->n_types, 1), sizeof *types);
    if (!types) return no_memory(g) != NULL;
    for (size_t i = 0; i < from->n_types; i++) types[i] = from->types[i];
    a->types = types;
  }
  return copy_text(g, from->text, &a->text) && copy_value(g, &from->value, &a->value);
}

bool ig_snode_copy_attrs(ig_snode *to, const ig_snode *from) {
  ig_sgraph *g = graph_of(to);
  to->range = from->range;
  to->host = from->host;
  bool ok = copy_text(g, from->place, &to->place) && copy_text(g, from->scope, &to->scope);
  for (size_t i = 0; ok && i < from->n_attrs; i++) ok = copy_attr(g, &from->attrs[i], to);
  return ok;
}

ig_snode *ig_snode_copy(ig_svalue_map *m, const ig_snode *n, ig_sblock *b, ig_snode *before,
                        bool names) {
  ig_sgraph *g = m->g;
  ig_snode *to = ig_snode_create(g, n->kind, NULL, 0);
  if (!to) return NULL;
  bool ok = ig_snode_copy_attrs(to, n);
  for (size_t i = 0; ok && i < n->n_in; i++) ok = ig_snode_add_input(to, mapped(m, n->in[i]));
  if (!ok) return NULL;
  for (size_t i = 0; ok && i < n->n_out; i++) {
    ig_svalue *v = ig_snode_add_output(to, n->out[i]->type);
    ok = v && copy_metadata(m, n->out[i], v, names);
  }
  ig_snode_insert(to, b, before);
  for (size_t i = 0; ok && i < n->n_blocks; i++) {
    ig_sblock *inner = ig_snode_add_block(to);
    ok = inner && ig_sblock_copy(m, n->blocks[i], inner, names);
  }
  return ok ? to : NULL;
}

bool ig_sblock_copy_nodes(ig_svalue_map *m, const ig_sblock *from, ig_sblock *to, ig_snode *before,
                          bool names) {
  for (const ig_snode *n = from->first; n; n = n->next) {
    if (!ig_snode_copy(m, n, to, before, names)) return false;
  }
  return true;
}

ig_sgraph *ig_sgraph_copy(const ig_sgraph *g) {
  ig_sgraph *to = ig_sgraph_create(g->types);
  if (!to) return NULL;
  ig_svalue_map m = ig_svalue_map_make(to);
  if (ig_sblock_copy(&m, g->body, to->body, true)) return to;
  ig_sgraph_free(to);
  return NULL;
}
