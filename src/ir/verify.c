// SPDX-License-Identifier: Apache-2.0
// Invariants of every graph between passes: nodes in topological order, one output at the end,
// unique names, correct counts, values that describe the results.
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "ir/graph.h"

typedef struct check {
  ig_ctx *c;
  const ig_graph *g;
  bool *seen;     // by node index
  size_t *users;  // by node index
} check;

static bool wrong(const check *k, const ig_node *n, const char *what) {
  (void)ig_fail(k->c, IG_ASSERTION | IG_E_PROGRAM, "graph: node '%s' %s", n->name ? n->name : "?",
                what);
  return false;
}

static bool check_operands(check *k, const ig_node *n, const ig_value *v, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (v[i].kind == IG_KIND_TENSOR) return wrong(k, n, "has a tensor for an operand");
    if (v[i].kind == IG_KIND_LIST && !check_operands(k, n, v[i].list.at, v[i].list.n)) return false;
    if (v[i].kind != IG_KIND_NODE) continue;
    const ig_node *from = v[i].node;
    if (!from || from->graph != k->g || from->index >= k->g->next_index) {
      return wrong(k, n, "reads a node of another graph");
    }
    if (!k->seen[from->index]) return wrong(k, n, "reads a node that comes later");
  }
  return true;
}

static bool check_kind(const check *k, const ig_node *n, bool *body) {
  if (n->kind == IG_NODE_PLACEHOLDER) {
    if (*body) return wrong(k, n, "is a placeholder after other nodes");
    if (n->npos > 1 || n->nkw) return wrong(k, n, "is a placeholder with arguments");
    return true;
  }
  *body = true;
  if (n->kind == IG_NODE_OUTPUT && n->next) return wrong(k, n, "is an output before the end");
  if (n->kind == IG_NODE_ATTR && !n->constant && !n->sub && !n->object) {
    return wrong(k, n, "is an attribute without value");
  }
  if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && !n->op) {
    return wrong(k, n, "calls no operator");
  }
  return true;
}

static bool check_node(check *k, const ig_node *n, bool *body) {
  const ig_map_value *v = n->name ? ig_map_find(&k->g->names, n->name) : NULL;
  bool later = k->g->unnamed && ig_node_is_placeholder(n);  // its name is set later
  if (!later && (!v || v->ptr != n)) return wrong(k, n, "has a name that is not its own");
  if (n->graph != k->g) return wrong(k, n, "belongs to another graph");
  if (n->index >= k->g->next_index || k->seen[n->index]) return wrong(k, n, "appears twice");
  if (!check_kind(k, n, body)) return false;
  if (!check_operands(k, n, n->args, n->npos + n->nkw)) return false;
  k->seen[n->index] = true;
  k->users[n->index] += n->users;  // its users come later, each decrements it
  for (size_t i = 0; i < n->ninputs; i++) k->users[n->inputs[i]->index]--;
  return true;
}

static bool check_all(check *k) {
  bool body = false;
  size_t count = 0;
  size_t placeholders = 0;
  size_t unread = 0;
  for (const ig_node *n = k->g->first; n; n = n->next, count++) {
    if (!check_node(k, n, &body)) return false;
    placeholders += ig_node_is_placeholder(n);
    unread += n->users == 0 && !ig_node_is_placeholder(n);
  }
  if (unread != k->g->unread) {
    return ig_fail(k->c, IG_ASSERTION | IG_E_PROGRAM, "graph: found %zu unused nodes, expected %zu",
                   unread, k->g->unread) == IG_OK;
  }
  if (count != k->g->n) {
    return ig_fail(k->c, IG_ASSERTION | IG_E_PROGRAM, "graph: found %zu nodes, expected %zu", count,
                   k->g->n) == IG_OK;
  }
  if (placeholders != k->g->placeholders) {
    return ig_fail(k->c, IG_ASSERTION | IG_E_PROGRAM, "graph: found %zu placeholders, expected %zu",
                   placeholders, k->g->placeholders) == IG_OK;
  }
  if (!k->g->last || k->g->last->kind != IG_NODE_OUTPUT) {
    return ig_fail(k->c, IG_ASSERTION | IG_E_PROGRAM, "graph: the last node is not an output") ==
           IG_OK;
  }
  size_t i = 0;
  while (i < k->g->next_index && !k->users[i]) i++;
  if (i == k->g->next_index) return true;
  const ig_node *n = k->g->first;
  while (n && n->index != i) n = n->next;
  return !n || wrong(k, n, "has a wrong count of users");
}

ig_status ig_graph_verify(ig_ctx *c, const ig_graph *g) {
  if (c->status != IG_OK) return c->status;
  size_t bytes = g->next_index * (sizeof(size_t) + sizeof(bool)) + 1;
  size_t *room = ig_mem_new(c->alloc, bytes);
  if (!room) return ig_fail(c, IG_NOMEM, "out of memory");
  check k = {c, g, (bool *)(room + g->next_index), room};
  (void)check_all(&k);
  ig_mem_free(c->alloc, room, bytes);
  return c->status;
}

// ---- what fx calls lint ----

static const ig_node *undefined_operand(const check *k, const ig_value *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ig_node *bad = NULL;
    if (v[i].kind == IG_KIND_LIST) bad = undefined_operand(k, v[i].list.at, v[i].list.n);
    if (v[i].kind == IG_KIND_NODE && !k->seen[v[i].node->index]) bad = v[i].node;
    if (bad) return bad;
  }
  return NULL;
}

static bool lint_node(check *k, const ig_node *n) {
  ig_ctx *c = k->c;
  if (n->graph != k->g) {
    ig_fail_text(c, IG_RUNTIME | IG_E_PROGRAM, "Node '%s' does not belong to this Graph!", n->name);
    return false;
  }
  const ig_map_value *v = ig_map_find(&k->g->names, n->name);
  if (!v || v->ptr != n) {
    ig_fail_text(c, IG_RUNTIME | IG_E_PROGRAM, "Node redefined name %s!", n->name);
    return false;
  }
  const ig_node *bad = undefined_operand(k, n->args, n->npos + n->nkw);
  if (bad) {
    ig_fail_text(
        c, IG_RUNTIME | IG_E_PROGRAM,
        "Argument '%s' of Node '%s' %s! Please check that Nodes in the graph are "
        "topologically ordered",
        bad->name, n->name,
        bad->erased ? "was removed from the graph" : "was used before it has been defined");
    return false;
  }
  k->seen[n->index] = true;
  return true;
}

ig_status ig_graph_lint(ig_ctx *c, const ig_graph *g) {
  if (c->status != IG_OK) return c->status;
  size_t bytes = ig_mem_mul(g->next_index, sizeof(bool)) + 1;
  check k = {c, g, ig_mem_new(c->alloc, bytes), NULL};
  if (!k.seen) return ig_fail(c, IG_NOMEM, "out of memory");
  for (const ig_node *n = g->first; n && lint_node(&k, n); n = n->next) {
    if (n->sub && ig_graph_lint(c, n->sub) != IG_OK) break;
  }
  ig_mem_free(c->alloc, k.seen, bytes);
  return c->status;
}
