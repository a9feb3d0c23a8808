// SPDX-License-Identifier: Apache-2.0
// Sub-graphs by attribute name, and copies of whole graphs.
#include <stdio.h>
#include <string.h>

#include "ir/graph.h"

static ig_sub *find(const ig_graph *g, const char *name) {
  for (size_t i = 0; i < g->subs.n; i++) {
    if (strcmp(g->subs.at[i].name, name) == 0) return &g->subs.at[i];
  }
  return NULL;
}

ig_graph *ig_graph_find_sub(const ig_graph *g, const char *name) {
  const ig_sub *s = find(g, name);
  return s ? s->graph : NULL;
}

const char *ig_graph_set_sub(ig_ctx *c, ig_graph *g, const char *name, ig_graph *sub) {
  ig_sub *old = find(g, name);
  if (old) {
    (void)ig_graph_retain(sub);
    ig_graph_free(old->graph);
    old->graph = sub;
    return old->name;
  }
  ig_sub s = {ig_graph_keep_text(c, g, name), sub};
  if (!s.name) return NULL;
  if (!ig_vec_push(g->alloc, &g->subs, s)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  (void)ig_graph_retain(sub);
  return s.name;
}

const char *ig_graph_add_sub(ig_ctx *c, ig_graph *g, const char *prefix, ig_graph *sub) {
  char name[128];
  size_t i = 0;
  do {
    (void)snprintf(name, sizeof name, "%s_%zu", prefix, i++);
  } while (find(g, name));
  return ig_graph_set_sub(c, g, name, sub);
}

// ---- copies ----

typedef struct copier {
  ig_ctx *c;
  ig_graph *to;
  ig_node **map;  // by index in the old graph
} copier;

static bool map_value(copier *k, ig_value *v) {
  if (v->kind == IG_KIND_NODE) {
    v->node = k->map[v->node->index];
    return v->node ||
           ig_fail(k->c, IG_ASSERTION, "graph: a node reads one that comes later") == IG_OK;
  }
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(&k->to->arena, v->list.n, sizeof *items);
  if (!items) return ig_fail(k->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!map_value(k, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}

static bool keep(copier *k, const char **text) {
  if (*text) *text = ig_graph_keep_text(k->c, k->to, *text);
  return k->c->status == IG_OK;
}

static bool copy_node(copier *k, const ig_node *n) {
  ig_node proto = *n;
  ig_value args = ig_of_list(n->args, n->npos + n->nkw);
  const char *keys[IG_MAX_KEYS];
  if (n->nkw > IG_MAX_KEYS) {
    return ig_fail(k->c, IG_RUNTIME, "graph: node '%s' has %zu keyword arguments, at most %d fit",
                   n->name, n->nkw, IG_MAX_KEYS) == IG_OK;
  }
  for (size_t i = 0; i < n->nkw; i++) {
    keys[i] = n->keys[i];
    if (!keep(k, &keys[i])) return false;
  }
  if (!ig_graph_keep_meta(k->c, k->to, &n->meta, &proto.meta)) return false;
  if (!map_value(k, &args) || !keep(k, &proto.target) || !keep(k, &proto.path) ||
      !keep(k, &proto.type_code) || !keep(k, &proto.type_text)) {
    return false;
  }
  proto.args = args.list.at;
  proto.keys = keys;
  if (n->sub) {
    const ig_graph *own = ig_graph_find_sub(k->to, n->target);
    proto.sub = own ? (ig_graph *)own : n->sub;
  }
  ig_node *copy = ig_graph_push(k->c, k->to, &proto, n->name);
  if (!copy) return false;
  copy->file = n->file;
  copy->line = n->line;
  copy->meta = proto.meta;
  k->map[n->index] = copy;
  return true;
}

static bool copy_subs(ig_ctx *c, const ig_graph *g, ig_graph *to) {
  for (size_t i = 0; i < g->subs.n; i++) {
    ig_graph *sub = ig_graph_copy(c, g->subs.at[i].graph);
    const char *name = sub ? ig_graph_set_sub(c, to, g->subs.at[i].name, sub) : NULL;
    ig_graph_free(sub);
    if (!name) return false;
  }
  return true;
}

static bool copy_state(ig_ctx *c, const ig_graph *g, ig_graph *to) {
  for (size_t i = 0; i < g->state.n; i++) {
    ig_state s = g->state.at[i];
    s.name = ig_graph_keep_text(c, to, s.name);
    if (!s.name) return false;
    if (!ig_vec_push(to->alloc, &to->state, s)) {
      return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    }
    (void)ig_tensor_retain(s.tensor);
  }
  return true;
}

ig_graph *ig_graph_copy(ig_ctx *c, const ig_graph *g) {
  ig_graph *to = ig_graph_create(c, g->sym);
  size_t bytes = ig_mem_mul(g->next_index, sizeof(ig_node *)) + 1;
  copier k = {c, to, to ? ig_mem_new(c->alloc, bytes) : NULL};
  if (to && !k.map) (void)ig_fail(c, IG_NOMEM, "out of memory");
  if (k.map) {
    to->host = g->host;
    to->lifted = g->lifted;
    to->no_grad = g->no_grad;
    to->keeps_draws = g->keeps_draws;
    to->unnamed = g->unnamed;
    to->release = g->release;
    if (copy_subs(c, g, to) && copy_state(c, g, to)) {
      for (const ig_node *n = g->first; n && copy_node(&k, n);) n = n->next;
    }
    ig_mem_free(c->alloc, k.map, bytes);
  }
  if (c->status == IG_OK) return to;
  ig_graph_free(to);
  return NULL;
}
