// SPDX-License-Identifier: Apache-2.0
// Changing graphs. Operands are flattened once when arguments are set, and every node knows its
// users, oldest first, so that replacing, erasing and clean-up touch only the nodes concerned.
#include <string.h>

#include "ir/graph.h"

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

// Whether the graph counts it as unused when it has no users.
static bool is_counted(const ig_node *n) {
  return !n->erased && !ig_node_is_placeholder(n);
}

static void add_use(ig_node *of, ig_use *u) {
  u->next = NULL;
  u->prev = of->last_use;
  *(u->prev ? &u->prev->next : &of->first_use) = u;
  of->last_use = u;
  of->graph->unread -= of->users == 0 && is_counted(of);
  of->users++;
}

static void remove_use(ig_node *of, ig_use *u) {
  *(u->prev ? &u->prev->next : &of->first_use) = u->next;
  *(u->next ? &u->next->prev : &of->last_use) = u->prev;
  of->users--;
  of->graph->unread += of->users == 0 && is_counted(of);
}

static void drop_uses(ig_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) remove_use(n->inputs[i], &n->reads[i]);
  n->ninputs = 0;
}

// Collects the operands of n->args again. A node that was already an operand keeps its position
// among the users.
static bool list_operands(ig_ctx *c, ig_graph *g, ig_node *n) {
  size_t nargs = n->npos + n->nkw;
  size_t count = count_operands(n->args, nargs);
  ig_node **inputs = ig_arena_array(&g->arena, count, sizeof *inputs);
  ig_use *reads = ig_arena_array(&g->arena, count, sizeof *reads);
  if (!inputs || !reads) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  drop_uses(n);
  n->inputs = inputs;
  n->reads = reads;
  collect_operands(n, n->args, nargs, ++g->marks);
  for (size_t i = 0; i < n->ninputs; i++) {
    reads[i].user = n;
    add_use(inputs[i], &reads[i]);
  }
  return true;
}

bool ig_node_set_args(ig_ctx *c, ig_node *n, const ig_value *args, size_t npos, size_t nkw,
                      const char *const *keys) {
  ig_graph *g = n->graph;
  ig_value copy = ig_of_list(args, npos + nkw);
  const char **names = NULL;
  if (!ig_graph_copy_value(c, g, &copy)) return false;
  if (nkw) {
    names = ig_arena_array(&g->arena, nkw, sizeof *names);
    if (!names) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    for (size_t i = 0; i < nkw; i++) names[i] = keys[i];
  }
  n->args = copy.list.at;
  n->npos = npos;
  n->nkw = nkw;
  n->keys = names;
  return list_operands(c, g, n);
}

static void unlink_node(ig_graph *g, ig_node *n) {
  *(n->prev ? &n->prev->next : &g->first) = n->next;
  *(n->next ? &n->next->prev : &g->last) = n->prev;
}

void ig_graph_erase(ig_graph *g, ig_node *n) {
  unlink_node(g, n);
  drop_uses(n);
  g->unread -= n->users == 0 && is_counted(n);
  ig_map_value *v = ig_map_find(&g->names, n->name);
  if (v && v->ptr == n) v->ptr = NULL;
  ig_node_drop(n);
  n->erased = true;
  g->n--;
  g->placeholders -= ig_node_is_placeholder(n);
}

void ig_graph_move(ig_graph *g, ig_node *n, ig_node *before) {
  if (n == before) return;
  unlink_node(g, n);
  ig_graph_link(g, n, before);
}

static void substitute(ig_value *v, size_t n, const ig_node *from, ig_node *to) {
  for (size_t i = 0; i < n; i++) {
    if (v[i].kind == IG_KIND_NODE && v[i].node == from) v[i].node = to;
    if (v[i].kind == IG_KIND_LIST) substitute((ig_value *)v[i].list.at, v[i].list.n, from, to);
  }
}

// Walks in both directions at once: nodes that are compared are usually close to each other.
bool ig_node_precedes(const ig_node *a, const ig_node *b) {
  const ig_node *down = a->next;
  const ig_node *up = a->prev;
  if (a->graph != b->graph) return false;
  while (down || up) {
    if (down == b) return true;
    if (up == b) return false;
    down = down ? down->next : NULL;
    up = up ? up->prev : NULL;
  }
  return false;
}

bool ig_node_replace_input(ig_ctx *c, ig_node *n, ig_node *from, ig_node *to) {
  substitute((ig_value *)n->args, n->npos + n->nkw, from, to);
  return list_operands(c, n->graph, n);
}

bool ig_graph_replace(ig_ctx *c, ig_graph *g, ig_node *from, ig_node *to) {
  (void)g;
  for (ig_use *u = from->first_use, *next = NULL; u && from != to; u = next) {
    next = u->next;
    if (u->user != to && !ig_node_replace_input(c, u->user, from, to)) return false;
  }
  return true;
}
