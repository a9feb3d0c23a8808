// SPDX-License-Identifier: Apache-2.0
#include "pass/calls.h"

#include <stdio.h>
#include <string.h>

#include "pass/pass.h"

// The tree as it was, with the signatures that are (still) usable.
typedef struct tree {
  ig_ctx *c;
  const ig_module_entry *at;
  size_t n;
  ig_map by_path;                   // -> place among the entries + 1
  const ig_call_signature **calls;  // by entry; NULL: none
  const ig_tree_functions *host;
} tree;

// A graph that is rebuilt.
typedef struct caller {
  tree *t;
  size_t entry;
  ig_graph *g;
  ig_map known;    // name in the flat program -> node
  ig_table moved;  // call of a module in the old graph -> node
  size_t specs;
  size_t unknown;  // entry whose signature names an unknown value, + 1
} caller;

// ---- the tree ----

// The entry of a module that is called in `from`; SIZE_MAX after an error.
static size_t child_of(const tree *t, size_t from, const ig_node *call) {
  char path[560];
  const char *above = t->at[from].module;
  (void)snprintf(path, sizeof path, "%s%s%s", above, *above ? "." : "", call->target);
  const ig_map_value *v = ig_map_find(&t->by_path, path);
  if (!v) (void)ig_fail(t->c, IG_ASSERTION, "the tree has no module '%s'", path);
  return v ? v->num - 1 : SIZE_MAX;
}

static bool is_item_of_module(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM && n->npos == 2 &&
         n->args[0].kind == IG_KIND_NODE && n->args[0].node->kind == IG_NODE_MODULE &&
         n->args[1].kind == IG_KIND_INT;
}

static const char *flat_name(const tree *t, size_t entry, const ig_node *n);

// What a module returns: its only result, or the items of a list.
static const ig_value *results_of(const tree *t, size_t entry, size_t *n) {
  const ig_node *out = t->at[entry].graph->last;
  const ig_value *v = &out->args[0];
  bool list = out->npos == 1 && v->kind == IG_KIND_LIST;
  *n = list ? v->list.n : out->npos;
  return list ? v->list.at : out->args;
}

// The name, in the flat program, of result i of a module; NULL after an error.
static const char *result_name(const tree *t, size_t entry, size_t i) {
  size_t n = 0;
  const ig_value *at = results_of(t, entry, &n);
  if (i < n && at[i].kind == IG_KIND_NODE) return flat_name(t, entry, at[i].node);
  (void)ig_fail(t->c, IG_ASSERTION, "module '%s' has no result %zu", t->at[entry].path, i);
  return NULL;
}

// The name of a module's node in the flat program.
static const char *flat_name(const tree *t, size_t entry, const ig_node *n) {
  bool item = is_item_of_module(n);
  const ig_node *call = item ? n->args[0].node : n;
  if (call->kind != IG_NODE_MODULE) return n->name;
  size_t child = child_of(t, entry, call);
  if (child == SIZE_MAX) return NULL;
  return result_name(t, child, item ? (size_t)n->args[1].i.value : 0);
}

static bool has_leaf(const ig_call_leaf *at, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (at[i].name && strcmp(at[i].name, name) == 0) return true;
  }
  return false;
}

// Does the module pass on only what its signature names?
static bool is_complete(const tree *t, size_t entry, const ig_call_signature *s) {
  size_t n = 0;
  (void)results_of(t, entry, &n);
  for (size_t i = 0; i < n; i++) {
    const char *name = result_name(t, entry, i);
    if (!name) return false;
    if (!has_leaf(s->inputs, s->ninputs, name) && !has_leaf(s->outputs, s->noutputs, name)) {
      return false;
    }
  }
  return true;
}

// ---- nodes ----

static ig_node *push(caller *k, const ig_node *proto, const char *name) {
  return ig_graph_push(k->t->c, k->g, proto, name);
}

static bool know(caller *k, const char *name, ig_node *n) {
  ig_map_value *v = name && n ? ig_map_put(&k->known, name) : NULL;
  if (name && n && !v) (void)ig_no_memory(k->t->c);
  if (v) v->ptr = n;
  return v != NULL;
}

static ig_node *find(const caller *k, const char *name) {
  const ig_map_value *v = name ? ig_map_find(&k->known, name) : NULL;
  if (name && !v) {
    (void)ig_fail(k->t->c, IG_ASSERTION, "module '%s' reads '%s', which it is not given",
                  k->t->at[k->entry].path, name);
  }
  return v ? v->ptr : NULL;
}

static ig_node *push_spec(caller *k, void *spec) {
  char name[32];
  (void)snprintf(name, sizeof name, "_spec_%zu", k->specs++);
  ig_node proto = {
      .kind = IG_NODE_ATTR, .target = ig_graph_keep_text(k->t->c, k->g, name), .object = spec};
  if (!proto.target || !ig_graph_keep_object(k->t->c, k->g, spec)) return NULL;
  return push(k, &proto, name);
}

static ig_node *push_call(caller *k, void *fn, const char *path, const ig_value *args) {
  const char *dot = strrchr(path, '.');
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOST,
                   .host_fn = fn,
                   .target = ig_graph_keep_text(k->t->c, k->g, path),
                   .args = args,
                   .npos = 2};
  if (!proto.target || !ig_graph_keep_object(k->t->c, k->g, fn)) return NULL;
  return push(k, &proto, dot ? dot + 1 : path);
}

static ig_node *push_item(caller *k, ig_node *of, ig_value index, const char *name) {
  if (!of) return NULL;
  ig_value args[] = {ig_of_node(of), index};
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_GETITEM,
                   .target = "_operator.getitem",
                   .args = args,
                   .npos = 2};
  return push(k, &proto, name ? name : "getitem");
}

static ig_node *push_placeholder(caller *k, const char *name) {
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER, .role = IG_INPUT_USER};
  return push(k, &proto, name);
}

// The leaves as values here; lists live in the innermost scope. False: one is not known, or an
// error.
static bool take_leaves(caller *k, size_t entry, const ig_call_leaf *at, size_t n, ig_value *out) {
  for (size_t i = 0; i < n; i++) {
    const ig_map_value *v = at[i].name ? ig_map_find(&k->known, at[i].name) : NULL;
    if (at[i].name && !v) {
      k->unknown = entry + 1;
      return false;
    }
    out[i] = v ? ig_of_node(v->ptr) : at[i].value;
  }
  return true;
}

// ---- calls by signature ----

typedef struct arguments {
  ig_value *at;  // by position, then by name
  const char **keys;
  size_t npos;
  size_t nkw;
} arguments;

// The arguments as a tree of the leaves, and its branches.
static bool build_arguments(caller *k, size_t child, const ig_call_signature *s, arguments *a) {
  ig_ctx *c = k->t->c;
  ig_value *leaves = ig_scope_array(c, s->ninputs, sizeof *leaves);
  if (!leaves || !take_leaves(k, child, s->inputs, s->ninputs, leaves)) return false;
  ig_node *spec = push_spec(k, s->in_spec);
  if (!spec) return false;
  ig_value both[] = {ig_of_list(leaves, s->ninputs), ig_of_node(spec)};
  ig_node *whole = push_call(k, k->t->host->unflatten, k->t->host->unflatten_name, both);
  ig_node *args = push_item(k, whole, ig_of_i64(0), NULL);
  ig_node *kwargs = push_item(k, whole, ig_of_i64(1), NULL);
  for (size_t i = 0; i < s->npos + s->nkeys; i++) {
    bool place = i < s->npos;
    ig_node *item = place ? push_item(k, args, ig_of_i64((int64_t)i), NULL)
                          : push_item(k, kwargs, ig_of_str(s->keys[i - s->npos]), NULL);
    if (!item) return false;
    a->at[i] = ig_of_node(item);
    if (!place) a->keys[a->nkw++] = s->keys[i - s->npos];
  }
  a->npos = s->npos;
  return true;
}

// Other values that the module uses are keyword arguments.
static bool add_others(caller *k, size_t child, const ig_call_signature *s, arguments *a) {
  const ig_node *n = k->t->at[child].graph->first;
  for (; n && ig_node_is_placeholder(n); n = n->next) {
    if (has_leaf(s->inputs, s->ninputs, n->name)) continue;
    ig_node *value = find(k, n->name);
    if (!value) return false;
    a->keys[a->nkw] = n->name;
    a->at[a->npos + a->nkw++] = ig_of_node(value);
  }
  return true;
}

static bool take_results(caller *k, ig_node *result, const ig_call_signature *s) {
  ig_node *spec = result ? push_spec(k, s->out_spec) : NULL;
  if (!spec) return false;
  ig_value both[] = {ig_of_node(result), ig_of_node(spec)};
  ig_node *flat = push_call(k, k->t->host->flatten, k->t->host->flatten_name, both);
  for (size_t i = 0; flat && i < s->noutputs; i++) {
    ig_node *item = push_item(k, flat, ig_of_i64((int64_t)i), NULL);
    if (!item || (s->outputs[i].name && !know(k, s->outputs[i].name, item))) return false;
  }
  return flat != NULL;
}

static bool call_module(caller *k, const ig_node *n, size_t child) {
  ig_ctx *c = k->t->c;
  const ig_call_signature *s = k->t->calls[child];
  size_t most = s->npos + s->nkeys + ig_graph_input_count(k->t->at[child].graph);
  arguments a = {.at = ig_scope_array(c, most, sizeof *a.at),
                 .keys = ig_scope_array(c, most, sizeof *a.keys)};
  if (!a.at || !a.keys || !build_arguments(k, child, s, &a) || !add_others(k, child, s, &a)) {
    return false;
  }
  for (size_t i = 0; i < a.nkw; i++) {
    a.keys[i] = ig_graph_keep_text(c, k->g, a.keys[i]);
    if (!a.keys[i]) return false;
  }
  ig_node proto = {.kind = IG_NODE_MODULE,
                   .target = ig_graph_keep_text(c, k->g, n->target),
                   .args = a.at,
                   .npos = a.npos,
                   .nkw = a.nkw,
                   .keys = a.keys};
  return proto.target && take_results(k, push(k, &proto, n->name), s);
}

// ---- the other nodes ----

static ig_node *moved(void *user, const ig_node *n) {
  const caller *k = user;
  const ig_table_slot *slot = n->kind == IG_NODE_MODULE ? ig_table_find(&k->moved, n) : NULL;
  return slot ? slot->value : find(k, flat_name(k->t, k->entry, n));
}

static ig_node *copy_plain(caller *k, const ig_node *n) {
  ig_node_copier copier = {k->t->c, k->g, moved, k, false};
  return ig_copy_node(&copier, n, NULL, n->name, NULL, NULL);
}

// A node of the old graph, or its replacement.
static bool copy(caller *k, const ig_node *n) {
  bool item = is_item_of_module(n);
  const ig_node *call = item ? n->args[0].node : n;
  size_t child = SIZE_MAX;
  if (call->kind == IG_NODE_MODULE) {
    child = child_of(k->t, k->entry, call);
    if (child == SIZE_MAX) return false;
  }
  bool signature = child != SIZE_MAX && k->t->calls[child];
  if (signature && item) return true;  // the call has made it
  if (signature) return call_module(k, n, child);
  ig_node *made = item ? push_item(k, moved(k, call), n->args[1], NULL) : copy_plain(k, n);
  if (made && n->kind == IG_NODE_MODULE) {
    ig_table_slot *slot = ig_table_put(&k->moved, n);
    if (!slot) return ig_no_memory(k->t->c);
    slot->value = made;
  }
  return made && know(k, flat_name(k->t, k->entry, n), made);
}

// ---- graphs ----

// The module's own arguments, weights, and the leaves of the arguments. *body: the first node that
// was not copied.
static bool enter(caller *k, const ig_call_signature *s, const ig_node **body) {
  ig_ctx *c = k->t->c;
  size_t n = s->npos + 2 * s->nkeys;
  ig_value *given = ig_scope_array(c, n, sizeof *given);  // by position; key, value, key, value
  if (!given) return false;
  for (size_t i = 0; i < s->npos; i++) {
    char name[48];
    (void)snprintf(name, sizeof name, "_positional_arg_%zu", i);
    given[i] = ig_of_node(push_placeholder(k, name));
  }
  for (size_t i = 0; i < s->nkeys; i++) {
    given[s->npos + 2 * i] = ig_of_str(s->keys[i]);
    given[s->npos + 2 * i + 1] = ig_of_node(push_placeholder(k, s->keys[i]));
  }
  const ig_node *at = k->t->at[k->entry].graph->first;
  for (; at && ig_node_is_placeholder(at); at = at->next) {
    if (!has_leaf(s->inputs, s->ninputs, at->name) && !copy(k, at)) return false;
  }
  for (; at && at->kind == IG_NODE_ATTR; at = at->next) {
    if (!copy(k, at)) return false;
  }
  *body = at;
  ig_node *spec = c->status == IG_OK ? push_spec(k, s->in_spec) : NULL;
  if (!spec) return false;
  ig_value named = ig_of_list(given + s->npos, 2 * s->nkeys);
  named.seq = IG_SEQ_DICT;
  ig_value pair[] = {ig_of_tuple(given, s->npos), named};
  ig_value both[] = {ig_of_tuple(pair, 2), ig_of_node(spec)};
  ig_node *flat = push_call(k, k->t->host->flatten, k->t->host->flatten_name, both);
  for (size_t i = 0; flat && i < s->ninputs; i++) {
    const char *name = s->inputs[i].name;
    if (!name || has_leaf(s->inputs, i, name)) continue;  // a value may be given twice
    if (!know(k, name, push_item(k, flat, ig_of_i64((int64_t)i), name))) return false;
  }
  return flat != NULL;
}

static bool leave(caller *k, const ig_call_signature *s) {
  ig_ctx *c = k->t->c;
  ig_value *leaves = ig_scope_array(c, s->noutputs, sizeof *leaves);
  if (!leaves || !take_leaves(k, k->entry, s->outputs, s->noutputs, leaves)) return false;
  ig_node *spec = push_spec(k, s->out_spec);
  if (!spec) return false;
  ig_value both[] = {ig_of_tuple(leaves, s->noutputs), ig_of_node(spec)};
  ig_node *whole = push_call(k, k->t->host->unflatten, k->t->host->unflatten_name, both);
  if (!whole) return false;
  ig_value result = ig_of_node(whole);
  ig_node proto = {
      .kind = IG_NODE_OUTPUT, .target = "output", .bare = true, .args = &result, .npos = 1};
  return push(k, &proto, "output") != NULL;
}

static bool build(caller *k) {
  const ig_call_signature *s = k->t->calls[k->entry];
  const ig_node *n = k->t->at[k->entry].graph->first;
  if (s && !enter(k, s, &n)) return false;
  for (; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    if (!copy(k, n)) return false;
  }
  if (s) return leave(k, s);
  return n && copy_plain(k, n);
}

// Rebuilds the graph of an entry; NULL: *unknown is an entry whose signature cannot be kept (+ 1),
// or an error.
static ig_graph *rebuild(tree *t, size_t entry, size_t *unknown) {
  ig_graph *old = t->at[entry].graph;
  caller k = {.t = t, .entry = entry, .g = ig_graph_create(t->c, old->sym)};
  if (!k.g) return NULL;
  k.g->host = old->host;
  k.known = ig_map_make(t->c->alloc);
  k.moved = ig_table_make(t->c->alloc);
  ig_scope s = ig_scope_open(t->c);
  bool ok = build(&k) && ig_graph_verify(t->c, k.g) == IG_OK;
  ig_scope_close(t->c, s);
  ig_map_free(&k.known);
  ig_table_free(&k.moved);
  *unknown = k.unknown;
  if (ok) return k.g;
  ig_graph_free(k.g);
  return NULL;
}

// Does the entry have a signature, or call a module that has one?
static bool is_concerned(const tree *t, size_t entry) {
  if (t->calls[entry]) return true;
  for (const ig_node *n = t->at[entry].graph->first; n; n = n->next) {
    if (n->kind != IG_NODE_MODULE) continue;
    size_t child = child_of(t, entry, n);
    if (child != SIZE_MAX && t->calls[child]) return true;
  }
  return false;
}

// All graphs that signatures concern; false: one signature less, or an error.
static bool rebuild_all(tree *t, ig_graph **made) {
  for (size_t i = 0; i < t->n; i++) {
    size_t unknown = 0;
    made[i] = is_concerned(t, i) ? rebuild(t, i, &unknown) : NULL;
    if (unknown) t->calls[unknown - 1] = NULL;
    if (unknown || t->c->status != IG_OK) return false;
  }
  return true;
}

static bool is_called_otherwise(const tree *t, const char *path) {
  for (size_t i = 0; i < t->n; i++) {
    if (strcmp(t->at[i].module, path) == 0 && strcmp(t->at[i].path, path) != 0) return true;
  }
  return false;
}

static bool find_usable(tree *t, const ig_call_signature *calls, size_t n) {
  for (size_t i = 0; i < t->n; i++) {
    ig_map_value *v = ig_map_put(&t->by_path, t->at[i].path);
    if (!v) return ig_no_memory(t->c);
    v->num = i + 1;
    t->calls[i] = NULL;
  }
  for (size_t i = 0; i < n; i++) {
    const ig_map_value *v = ig_map_find(&t->by_path, calls[i].path);
    if (!v || is_called_otherwise(t, calls[i].path)) continue;
    if (is_complete(t, v->num - 1, &calls[i])) t->calls[v->num - 1] = &calls[i];
    if (t->c->status != IG_OK) return false;
  }
  return true;
}

static bool apply(tree *t, ig_module_tree *to) {
  ig_graph **made = ig_scope_array(t->c, t->n, sizeof *made);
  bool done = false;
  while (made && !done && t->c->status == IG_OK) {
    for (size_t i = 0; i < t->n; i++) made[i] = NULL;
    done = rebuild_all(t, made);
    for (size_t i = 0; i < t->n && !done; i++) ig_graph_free(made[i]);
  }
  for (size_t i = 0; i < t->n && done; i++) {
    if (made[i]) ig_module_tree_replace(to, i, made[i]);
  }
  return done;
}

ig_status ig_module_tree_apply(ig_ctx *c, ig_module_tree *to, const ig_call_signature *calls,
                               size_t n, const ig_tree_functions *host) {
  tree t = {.c = c, .host = host, .by_path = ig_map_make(c->alloc)};
  t.n = ig_module_tree_entries(to, &t.at);
  ig_scope s = ig_scope_open(c);
  t.calls = ig_scope_array(c, t.n, sizeof *t.calls);
  if (t.calls && find_usable(&t, calls, n)) (void)apply(&t, to);
  ig_scope_close(c, s);
  ig_map_free(&t.by_path);
  return c->status;
}
