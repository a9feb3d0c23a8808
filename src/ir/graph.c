// SPDX-License-Identifier: Apache-2.0
// Making and changing graphs. Operands are flattened once when a node is put in, so users, clean-up
// and dead code are short loops.
#include "ir/graph.h"

#include <string.h>

ig_graph *ig_graph_create(ig_ctx *c, ig_sym *sym) {
  ig_graph *g = c->status == IG_OK ? ig_mem_new(c->alloc, sizeof *g) : NULL;
  if (!g) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  g->alloc = c->alloc;
  g->arena = ig_arena_make(c->alloc);
  g->sym = sym;
  g->names = g->counts = g->texts = ig_map_make(c->alloc);
  g->tensors = g->ints = g->sizes = ig_table_make(c->alloc);
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

static void drop(ig_node *n) {
  drop_val(n, &n->val);
  ig_tensor_release(n->constant);
}

static void forget_val(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR && v->tensor->autograd) ig_autograd_free(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) forget_val(&v->list.at[i]);
}

void ig_graph_forget_history(ig_graph *g) {
  for (ig_node *n = g->first; n; n = n->next) forget_val(&n->val);
}

void ig_graph_free(ig_graph *g) {
  if (!g) return;
  for (ig_node *n = g->first; n; n = n->next) drop(n);
  for (size_t i = 0; i < g->state.n; i++) ig_tensor_release(g->state.at[i].tensor);
  ig_vec_free(g->alloc, &g->state);
  ig_ref_release(&g->sym->ref);
  ig_map_free(&g->names);
  ig_map_free(&g->counts);
  ig_map_free(&g->texts);
  ig_table_free(&g->tensors);
  ig_table_free(&g->ints);
  ig_table_free(&g->sizes);
  ig_arena_free(&g->arena);
  ig_mem_free(g->alloc, g, sizeof *g);
}

// Lists of integers become lists of values: a graph has one kind of list.
static bool copy_value(ig_graph *g, ig_value *v) {
  if (v->kind == IG_KIND_STR) {
    v->str = ig_arena_strn(&g->arena, v->str, strlen(v->str));
    return v->str != NULL;
  }
  if (v->kind != IG_KIND_LIST && v->kind != IG_KIND_INTS) return true;
  bool ints = v->kind == IG_KIND_INTS;
  size_t n = ints ? v->ints.n : v->list.n;
  ig_value *items = ig_arena_push(&g->arena, n * sizeof *items + 1);
  if (!items) return false;
  for (size_t i = 0; i < n; i++) {
    items[i] = ints ? ig_of_int(v->ints.at[i]) : v->list.at[i];
    if (!copy_value(g, &items[i])) return false;
  }
  *v = ig_of_list(items, n);
  return true;
}

static void retain_val(ig_node *n, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    (void)ig_tensor_retain(v->tensor);
    if (n->val.kind == IG_KIND_TENSOR) v->tensor->node = n;  // of a list each getitem has its own
  } else if (v->kind == IG_KIND_LIST) {
    for (size_t i = 0; i < v->list.n; i++) retain_val(n, &v->list.at[i]);
  }
}

static size_t count_operands(const ig_value *v, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    count += v[i].kind == IG_KIND_NODE;
    if (v[i].kind == IG_KIND_LIST) count += count_operands(v[i].list.at, v[i].list.n);
  }
  return count;
}

// `mark` is on every operand that is in the list already.
static void collect_operands(ig_node *node, const ig_value *v, size_t n, size_t mark) {
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind == IG_KIND_LIST) collect_operands(node, v[i].list.at, v[i].list.n, mark);
    if (v[i].kind != IG_KIND_NODE || v[i].node->mark == mark) continue;
    v[i].node->mark = mark;
    node->inputs[node->ninputs++] = v[i].node;
  }
}

static bool list_operands(ig_graph *g, ig_node *node) {
  size_t nargs = node->npos + node->nkw;
  size_t count = count_operands(node->args, nargs);
  node->inputs = ig_arena_push(&g->arena, count * sizeof *node->inputs + 1);
  node->ninputs = 0;
  if (!node->inputs) return false;
  collect_operands(node, node->args, nargs, ++g->marks);
  return true;
}

static bool fill(ig_ctx *c, ig_graph *g, ig_node *node, const char *base) {
  size_t nargs = node->npos + node->nkw;
  ig_value args = ig_of_list(node->args, nargs);
  if (!copy_value(g, &args) || !copy_value(g, &node->val)) return false;
  node->args = args.list.at;
  if (node->nkw) {
    const char **keys = ig_arena_push(&g->arena, node->nkw * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < node->nkw; i++) keys[i] = node->keys[i];
    node->keys = keys;
  }
  node->name = ig_graph_name(c, g, base);
  if (!node->name || !list_operands(g, node)) return false;
  if (!node->target) node->target = node->name;
  ig_map_find(&g->names, node->name)->ptr = node;
  return true;
}

static void link_before(ig_graph *g, ig_node *n, ig_node *before) {
  n->next = before;
  n->prev = before ? before->prev : g->last;
  *(n->prev ? &n->prev->next : &g->first) = n;
  *(before ? &before->prev : &g->last) = n;
}

static void unlink_node(ig_graph *g, ig_node *n) {
  *(n->prev ? &n->prev->next : &g->first) = n->next;
  *(n->next ? &n->next->prev : &g->last) = n->prev;
}

ig_node *ig_graph_insert(ig_ctx *c, ig_graph *g, ig_node *before, const ig_node *proto,
                         const char *base) {
  if (c->status != IG_OK) return NULL;
  ig_node *n = ig_arena_push(&g->arena, sizeof *n);
  if (n) *n = *proto;
  if (!n || !fill(c, g, n, base)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  ig_locate(c);
  n->graph = g;
  n->file = c->file;
  n->line = c->line;
  for (size_t i = 0; i < IG_META_KEY_COUNT; i++) {
    if (!n->meta[i] && !ig_node_is_placeholder(n)) n->meta[i] = g->meta[i];
  }
  retain_val(n, &n->val);
  (void)ig_tensor_retain(n->constant);
  link_before(g, n, before);
  for (size_t i = 0; i < n->ninputs; i++) n->inputs[i]->users++;
  n->index = g->next_index++;
  g->n++;
  return n;
}

void ig_graph_erase(ig_graph *g, ig_node *n) {
  unlink_node(g, n);
  for (size_t i = 0; i < n->ninputs; i++) n->inputs[i]->users--;
  ig_map_value *v = ig_map_find(&g->names, n->name);
  if (v && v->ptr == n) v->ptr = NULL;
  drop(n);
  g->n--;
}

void ig_graph_move(ig_graph *g, ig_node *n, ig_node *before) {
  if (n == before) return;
  unlink_node(g, n);
  link_before(g, n, before);
}

static void substitute(ig_value *v, size_t n, const ig_node *from, ig_node *to) {
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind == IG_KIND_NODE && v[i].node == from) v[i].node = to;
    if (v[i].kind == IG_KIND_LIST) substitute((ig_value *)v[i].list.at, v[i].list.n, from, to);
  }
}

bool ig_graph_replace(ig_ctx *c, ig_graph *g, ig_node *from, ig_node *to) {
  for (ig_node *n = g->first; n; n = n->next) {
    bool reads = false;
    for (size_t i = 0; i < n->ninputs; i++) reads = reads || n->inputs[i] == from;
    if (!reads || n == to) continue;
    for (size_t i = 0; i < n->ninputs; i++) n->inputs[i]->users--;
    substitute((ig_value *)n->args, n->npos + n->nkw, from, to);
    if (!list_operands(g, n)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    for (size_t i = 0; i < n->ninputs; i++) n->inputs[i]->users++;
  }
  return true;
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
  size_t n = 0;
  for (const ig_node *p = g->first; p; p = p->next) n += ig_node_is_placeholder(p);
  return n;
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
const char *ig_node_meta(const ig_node *n, ig_meta_key key) {
  return n->meta[key];
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
