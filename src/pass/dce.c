// SPDX-License-Identifier: Apache-2.0
// Dead code: from the back, so that one sweep is enough.
#include "ir/graph.h"

static bool removable(const ig_node *n) {
  bool fixed = n->kind == IG_NODE_PLACEHOLDER || n->kind == IG_NODE_OUTPUT;
  return !fixed && !n->effect && n->users == 0;
}

size_t ig_graph_dce(ig_graph *g) {
  size_t before = g->n;
  for (ig_node *n = g->last, *prev = NULL; n; n = prev) {
    prev = n->prev;
    if (removable(n)) ig_graph_erase(g, n);
  }
  return before - g->n;
}
