// SPDX-License-Identifier: Apache-2.0
// Making graphs: nodes, what they own, queries about them. Changing them is in ir/edit.c.
#include "ir/graph.h"

#include <string.h>

static void destroy(ig_ref *ref);

ig_graph *ig_graph_create(ig_ctx *c, ig_sym *sym) {
  ig_graph *g = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *g) : NULL;
  if (!g) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  g->ref = (ig_ref){1, destroy};
  g->alloc = c->alloc;
  g->host = c->mode->host;
  g->arena = ig_arena_make(c->alloc);
  g->sym = sym;
  g->names = g->counts = g->texts = ig_map_make(c->alloc);
  g->modules = g->stacks = g->tensors = g->ints = g->sizes = g->recipes = ig_table_make(c->alloc);
  ig_ref_retain(&sym->ref);
  return g;
}

// A retained fake tensor may outlive the graph.
static void drop_val(const ig_node *n, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    if (v->tensor->node == n) v->tensor->node = NULL;
    ig_tensor_release(v->tensor);
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n; i++) drop_val(n, &v->list.at[i]);
  }
}

void ig_node_drop(ig_node *n) {
  drop_val(n, &n->val);
  n->val = ig_none();
  ig_node_set_attr(n, NULL, NULL, NULL);
}

static void forget_val(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR && v->tensor->autograd) ig_autograd_free(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) forget_val(&v->list.at[i]);
}

void ig_graph_forget_history(ig_graph *g) {
  if (!g->has_history) return;
  for (ig_node *n = g->first; n; n = n->next) forget_val(&n->val);
}

ig_graph *ig_graph_retain(ig_graph *g) {
  if (g) ig_ref_retain(&g->ref);
  return g;
}

void ig_graph_free(ig_graph *g) {
  if (g) ig_ref_release(&g->ref);
}

static void destroy(ig_ref *ref) {
  ig_graph *g = (ig_graph *)ref;
  for (ig_node *n = g->first; n; n = n->next) ig_node_drop(n);
  for (size_t i = 0; i < g->state.n; i++) ig_tensor_release(g->state.at[i].tensor);
  for (size_t i = 0; i < g->subs.n; i++) ig_graph_free(g->subs.at[i].graph);
  for (size_t i = 0; i < g->objects.n; i++) g->host->release(g->objects.at[i]);
  ig_vec_free(g->alloc, &g->state);
  ig_vec_free(g->alloc, &g->operands);
  ig_vec_free(g->alloc, &g->subs);
  ig_vec_free(g->alloc, &g->objects);
  ig_ref_release(&g->sym->ref);
  ig_map_free(&g->names);
  ig_map_free(&g->counts);
  ig_map_free(&g->texts);
  ig_table_free(&g->modules);
  ig_table_free(&g->stacks);
  ig_table_free(&g->tensors);
  ig_table_free(&g->ints);
  ig_table_free(&g->sizes);
  ig_table_free(&g->recipes);
  ig_arena_free(&g->arena);
  ig_mem_free(g->alloc, g, sizeof *g);
}

bool ig_graph_keep_object(ig_ctx *c, ig_graph *g, void *object) {
  if (!object) return true;
  if (!g->host) g->host = c->mode->host;
  if (!g->host) return ig_fail(c, IG_RUNTIME, "an object, but no host language") == IG_OK;
  if (!ig_vec_push(g->alloc, &g->objects, object)) {
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  g->host->retain(object);
  return true;
}

// Lists of integers become lists of values: a graph has one kind of list.
static bool copy_list(ig_ctx *c, ig_graph *g, ig_value *v) {
  bool ints = v->kind == IG_KIND_INTS;
  size_t n = ints ? v->ints.n : v->list.n;
  ig_value *items = ig_arena_array(&g->arena, n, sizeof *items);
  if (!items) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n; i++) {
    items[i] = ints ? ig_of_int(v->ints.at[i]) : v->list.at[i];
    if (!ig_graph_copy_value(c, g, &items[i])) return false;
  }
  ig_seq seq = ints ? IG_SEQ_LIST : v->seq;
  *v = ig_of_list(items, n);
  v->seq = seq;
  return true;
}

bool ig_graph_copy_value(ig_ctx *c, ig_graph *g, ig_value *v) {
  switch (v->kind) {
    case IG_KIND_STR:
      v->str = ig_arena_strn(&g->arena, v->str, strlen(v->str));
      return v->str || ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    case IG_KIND_LIST:
    case IG_KIND_INTS:
      return copy_list(c, g, v);
    case IG_KIND_OBJECT:
      return ig_graph_keep_object(c, g, v->object);
    default:
      return true;
  }
}

static void retain_val(ig_node *n, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    (void)ig_tensor_retain(v->tensor);
    // In a list each getitem has its own; a tensor of another graph is not changed.
    ig_node *at = v->tensor->node;
    if (n->val.kind == IG_KIND_TENSOR && (!at || at->graph == n->graph)) {
      bool same = at && at->val.kind == IG_KIND_TENSOR && at->val.tensor == v->tensor;
      n->same = same && at != n ? at : NULL;
      v->tensor->node = n;
    }
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n; i++) retain_val(n, &v->list.at[i]);
  }
}

bool ig_node_set_val(ig_ctx *c, ig_node *n, const ig_value *val) {
  ig_value copy = *val;
  if (!ig_graph_copy_value(c, n->graph, &copy)) return false;
  ig_value old = n->val;
  n->val = copy;
  retain_val(n, &n->val);
  drop_val(NULL, &old);
  return true;
}

bool ig_graph_replace_val(ig_ctx *c, const ig_graph *g, const ig_tensor *from, ig_tensor *to) {
  ig_node *oldest = NULL;
  for (ig_node *n = from->node, *before = NULL; n && n->graph == g; n = before) {
    before = n->same;
    if (n->val.kind != IG_KIND_TENSOR || n->val.tensor != from) break;
    n->same = oldest;
    oldest = n;
  }
  const ig_value val = ig_of_tensor(to);
  for (ig_node *n = oldest, *after = NULL; n; n = after) {
    after = n->same;
    n->same = NULL;
    if (!ig_node_set_val(c, n, &val)) return false;
  }
  return true;
}

void ig_node_set_attr(ig_node *n, ig_tensor *constant, ig_graph *sub, void *object) {
  (void)ig_tensor_retain(constant);
  (void)ig_graph_retain(sub);
  ig_tensor_release(n->constant);
  ig_graph_free(n->sub);
  n->constant = constant;
  n->sub = sub;
  n->object = object;
}

static bool fill(ig_ctx *c, ig_graph *g, ig_node *node, const char *base) {
  if (!ig_graph_copy_value(c, g, &node->val)) return false;
  if (!ig_graph_keep_object(c, g, node->host_fn) || !ig_graph_keep_object(c, g, node->object) ||
      !ig_graph_keep_object(c, g, node->type)) {
    return false;
  }
  if (!ig_graph_name_node(c, g, node, base)) return false;
  if (!node->target) node->target = node->name;
  return true;
}

void ig_graph_link(ig_graph *g, ig_node *n, ig_node *before) {
  n->next = before;
  n->prev = before ? before->prev : g->last;
  *(n->prev ? &n->prev->next : &g->first) = n;
  *(before ? &before->prev : &g->last) = n;
}

static void inherit_meta(ig_node *n, const ig_metadata *from) {
  for (size_t i = 0; i < IG_META_KEY_COUNT; i++) {
    if (!n->meta.text[i]) n->meta.text[i] = from->text[i];
  }
  if (!n->meta.stack) n->meta.stack = from->stack;
  if (!n->meta.modules) n->meta.modules = from->modules;
}

ig_node *ig_graph_insert(ig_ctx *c, ig_graph *g, ig_node *before, const ig_node *proto,
                         const char *base) {
  if (c->status != IG_OK) return NULL;
  ig_node *n = ig_arena_push(&g->arena, sizeof *n);
  if (!n) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  *n = *proto;
  n->graph = g;
  n->reads = n->first_use = n->last_use = NULL;
  n->inputs = NULL;
  n->same = NULL;
  n->ninputs = n->users = n->mark = 0;
  n->extra = n->host_meta = NULL;
  if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && !n->binds) {
    const ig_value *v = &n->val;
    const ig_expr *e = v->kind == IG_KIND_INT     ? v->i.expr
                       : v->kind == IG_KIND_FLOAT ? v->f_expr
                                                  : NULL;
    if (e && e->kind == IG_EXPR_SYMBOL && !e->backed) n->binds = e;
  }
  if (!fill(c, g, n, base)) return NULL;
  if (!ig_node_set_args(c, n, proto->args, proto->npos, proto->nkw, proto->keys)) return NULL;
  ig_locate(c);
  n->file = c->file;
  n->line = c->line;
  if (!ig_node_is_placeholder(n) && n->kind != IG_NODE_OUTPUT) inherit_meta(n, &g->meta);
  retain_val(n, &n->val);
  (void)ig_tensor_retain(n->constant);
  (void)ig_graph_retain(n->sub);
  ig_graph_link(g, n, before);
  n->index = g->next_index++;
  g->n++;
  g->placeholders += ig_node_is_placeholder(n);
  g->unread += !ig_node_is_placeholder(n);
  g->has_attr |= n->kind == IG_NODE_ATTR;
  g->has_hop |= n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_HOP;
  g->has_host |= n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_HOST;
  return n;
}

size_t ig_graph_node_count(const ig_graph *g) {
  return g->n;
}
const ig_node *ig_graph_first(const ig_graph *g) {
  return g->first;
}
const ig_node *ig_node_next(const ig_node *n) {
  return n->next;
}

const ig_node *ig_graph_find(const ig_graph *g, const char *name) {
  const ig_map_value *v = ig_map_find(&g->names, name);
  return v ? v->ptr : NULL;
}

size_t ig_graph_input_count(const ig_graph *g) {
  return g->placeholders;
}
size_t ig_graph_output_count(const ig_graph *g) {
  return g->last && g->last->kind == IG_NODE_OUTPUT ? g->last->npos : 0;
}

ig_node_kind ig_node_get_kind(const ig_node *n) {
  return n->kind;
}
const char *ig_node_name(const ig_node *n) {
  return n->name;
}
const char *ig_node_target(const ig_node *n) {
  return n->target;
}
const ig_op *ig_node_op(const ig_node *n) {
  return n->op;
}
const ig_value *ig_node_val(const ig_node *n) {
  return &n->val;
}
size_t ig_node_args(const ig_node *n, const ig_value **args) {
  *args = n->args;
  return n->npos;
}
size_t ig_node_kwargs(const ig_node *n, const ig_value **args, const char *const **keys) {
  *args = n->args + n->npos;
  *keys = n->keys;
  return n->nkw;
}
size_t ig_node_users(const ig_node *n) {
  return n->users;
}
size_t ig_graph_sub_count(const ig_graph *g) {
  return g->subs.n;
}
ig_graph *ig_graph_sub(const ig_graph *g, size_t i, const char **name) {
  if (name) *name = g->subs.at[i].name;
  return g->subs.at[i].graph;
}
