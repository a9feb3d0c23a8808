// SPDX-License-Identifier: Apache-2.0
#include "pass/tree.h"

#include <stdio.h>
#include <string.h>

#include "pass/pass.h"

typedef struct removed {
  bool *at;  // by original position of the placeholder
  size_t n;
} removed;

struct ig_module_tree {
  ig_alloc alloc;
  ig_arena arena;
  ig_map by_path;  // -> position in entries
  IG_VEC(ig_module_entry) entries;
  IG_VEC(const char *) keys;  // per entry
  removed *removed;           // per entry
};

ig_module_tree *ig_module_tree_create(ig_ctx *c) {
  ig_module_tree *t = ig_mem_new(c->alloc, sizeof *t);
  if (!t) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  t->alloc = c->alloc;
  t->arena = ig_arena_make(c->alloc);
  t->by_path = ig_map_make(c->alloc);
  return t;
}

void ig_module_tree_free(ig_module_tree *t) {
  if (!t) return;
  for (size_t i = 0; i < t->entries.n; i++) ig_graph_free(t->entries.at[i].graph);
  ig_vec_free(t->alloc, &t->entries);
  ig_vec_free(t->alloc, &t->keys);
  ig_map_free(&t->by_path);
  ig_arena_free(&t->arena);
  ig_mem_free(t->alloc, t, sizeof *t);
}

size_t ig_module_tree_entries(const ig_module_tree *t, const ig_module_entry **entries) {
  *entries = t->entries.at;
  return t->entries.n;
}

void ig_module_tree_replace(ig_module_tree *t, size_t i, ig_graph *g) {
  ig_graph_free(t->entries.at[i].graph);
  t->entries.at[i].graph = g;
}

// ---- equal graphs ----

// Do both compute the same? Names do not matter. Also false if out of memory (see c).
static bool same_graph(ig_ctx *c, const ig_graph *a, const ig_graph *b) {
  if (a->n != b->n) return false;
  ig_table at = ig_table_make(c->alloc);
  bool same = true;
  const ig_node *n = b->first;
  for (const ig_node *m = a->first; m && same; m = m->next, n = n->next) {
    ig_table_slot *slot = ig_table_put(&at, m);
    if (!slot) (void)ig_no_memory(c);
    if (slot) slot->value = (void *)n;
    same = slot && ig_node_same(&at, m, n);
  }
  ig_table_free(&at);
  return same;
}

// ---- adding ----

static bool push(ig_ctx *c, ig_module_tree *t, const char *path, const char *module,
                 const char *key, ig_graph *g) {
  ig_module_entry e = {ig_arena_strn(&t->arena, path, strlen(path)),
                       ig_arena_strn(&t->arena, module, strlen(module)), g, NULL};
  const char *kept = key ? ig_arena_strn(&t->arena, key, strlen(key)) : NULL;
  ig_map_value *slot = e.path && e.module ? ig_map_put(&t->by_path, e.path) : NULL;
  if (!slot || (key && !kept) || !ig_vec_push(t->alloc, &t->keys, kept) ||
      !ig_vec_push(t->alloc, &t->entries, e)) {
    return ig_no_memory(c);
  }
  slot->num = t->entries.n - 1;
  (void)ig_graph_retain(g);
  return true;
}

bool ig_module_tree_add(ig_ctx *c, ig_module_tree *t, const char *path, const char *key,
                        ig_graph *g, const char **name) {
  char full[560];
  (void)snprintf(full, sizeof full, "%s", path);
  int again = 0;
  for (const ig_map_value *v = NULL; (v = ig_map_find(&t->by_path, full)) != NULL;) {
    if (same_graph(c, t->entries.at[v->num].graph, g)) break;
    if (c->status != IG_OK) return false;
    (void)snprintf(full, sizeof full, "%s@%d", path, ++again);
  }
  if (again) {
    size_t above = strlen(path) - strlen(*name);
    *name = ig_arena_strn(&t->arena, full + above, strlen(full + above));
    if (!*name) return ig_no_memory(c);
  }
  return ig_map_find(&t->by_path, full) || push(c, t, full, path, key, g);
}

// ---- sinking ----

// The name of the tensor below a module: "weight" of "fc.weight" in "fc"; NULL: not there.
static const char *name_below(const char *path, const char *name) {
  size_t n = strlen(path);
  if (n == 0) return name;
  return strncmp(name, path, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

static const char *find_below(const ig_weight *w, size_t n, const ig_tensor *value,
                              const char *path) {
  for (size_t i = 0; i < n; i++) {
    const char *name = w[i].tensor == value ? name_below(path, w[i].name) : NULL;
    if (name) return name;
  }
  return NULL;
}

// A weight under any of its names.
static const char *attribute_of(const ig_program *p, const ig_node *input, const char *path) {
  const char *own = name_below(path, input->path);
  if (own || !input->constant) return own;
  own = find_below(p->state, p->nstate, input->constant, path);
  return own ? own : find_below(p->constants, p->nconstants, input->constant, path);
}

// Arguments of calls follow the placeholders of what is called.
static bool drop_arguments(ig_ctx *c, const ig_module_tree *t, const char *module, ig_node *call) {
  char full[560];  // children do not depend on how the module is called
  (void)snprintf(full, sizeof full, "%s%s%s", module, *module ? "." : "", call->target);
  const ig_map_value *v = ig_map_find(&t->by_path, full);
  const removed *r = v ? &t->removed[v->num] : NULL;
  if (!r || !r->n) return true;
  ig_value *args = ig_scope_array(c, call->npos, sizeof *args);
  size_t n = 0;
  for (size_t i = 0; args && i < call->npos; i++) {
    if (i >= r->n || !r->at[i]) args[n++] = call->args[i];
  }
  return args && ig_node_set_args(c, call, args, n, 0, NULL);
}

static bool sink_one(ig_ctx *c, ig_graph *g, ig_node *input, const char *name, ig_node *before) {
  if (input->users) {
    ig_node proto = {.kind = IG_NODE_ATTR,
                     .target = ig_graph_keep_text(c, g, name),
                     .val = input->val,
                     .constant = input->constant,
                     .object = input->object};
    if (!proto.target) return false;
    if (proto.object && !ig_graph_keep_object(c, g, proto.object)) return false;
    ig_node *attr = ig_graph_insert(c, g, before, &proto, name);
    if (!attr || !ig_graph_replace(c, g, input, attr)) return false;
  }
  ig_graph_erase(g, input);
  return true;
}

static bool sink_inputs(ig_ctx *c, const ig_module_tree *t, const ig_program *p, size_t at) {
  ig_graph *g = t->entries.at[at].graph;
  const char *path = t->entries.at[at].module;
  size_t count = ig_graph_input_count(g);
  removed *r = &t->removed[at];
  r->at = ig_arena_array((ig_arena *)&t->arena, count, sizeof *r->at);
  r->n = count;
  if (!r->at) return ig_no_memory(c);
  // Each is inserted right after the last placeholder, so the first comes last.
  ig_node *body = g->first;
  while (body && ig_node_is_placeholder(body)) body = body->next;
  ig_node *input = g->first;
  for (size_t i = 0; i < count && input && body; i++) {
    ig_node *next = input->next;
    bool weight = input->role != IG_INPUT_USER;
    const char *name = weight ? attribute_of(p, input, path) : NULL;
    if (name) {
      ig_node *old = body->prev;
      r->at[i] = true;
      if (!sink_one(c, g, input, name, body)) return false;
      if (body->prev != old && body->prev->kind == IG_NODE_ATTR) body = body->prev;
    }
    input = next;
  }
  return true;
}

static bool sink(ig_ctx *c, const ig_module_tree *t, const ig_program *p, size_t at) {
  ig_graph *g = t->entries.at[at].graph;
  for (ig_node *n = g->first; n; n = n->next) {
    if (n->kind != IG_NODE_MODULE) continue;
    ig_scope s = ig_scope_open(c);
    bool ok = drop_arguments(c, t, t->entries.at[at].module, n);
    ig_scope_close(c, s);
    if (!ok) return false;
  }
  return sink_inputs(c, t, p, at) && ig_graph_verify(c, g) == IG_OK;
}

// Modules whose graphs differ are called in different ways, or nodes of a file claim the same key.
static bool find_same(ig_ctx *c, ig_module_tree *t) {
  ig_map first = ig_map_make(c->alloc);  // key -> position + 1
  bool ok = true;
  for (size_t i = 1; ok && i < t->entries.n; i++) {
    ig_module_entry *e = &t->entries.at[i];
    ig_map_value *slot = t->keys.at[i] ? ig_map_put(&first, t->keys.at[i]) : NULL;
    if (!slot) {
      ok = !t->keys.at[i] || ig_no_memory(c);
    } else if (!slot->num) {
      slot->num = i + 1;
    } else if (same_graph(c, t->entries.at[slot->num - 1].graph, e->graph)) {
      e->same_as = t->entries.at[slot->num - 1].path;
    } else {
      ok = c->status == IG_OK;
    }
  }
  ig_map_free(&first);
  return ok;
}

bool ig_module_tree_sink(ig_ctx *c, ig_module_tree *t, const ig_program *p) {
  t->removed = ig_arena_array(&t->arena, t->entries.n, sizeof *t->removed);
  if (!t->removed) return ig_no_memory(c);
  // Children are added when they are done, parents after them; the root is first.
  for (size_t i = 1; i < t->entries.n; i++) {
    if (!sink(c, t, p, i)) return false;
  }
  return (t->entries.n == 0 || sink(c, t, p, 0)) && find_same(c, t);
}
