// SPDX-License-Identifier: Apache-2.0
// Dead code elimination: backwards, so that one pass is enough. Data-dependent reads stay if
// something about them has to be asserted.
#include "ir/graph.h"
#include "sym/env.h"

static bool is_kept(const ig_env *env, const ig_expr *e) {
  return e && e->kind == IG_EXPR_SYMBOL && e->index < env->symbols.n &&
         env->symbols.at[e->index].kept;
}

static bool has_kept(const ig_env *env, const ig_value *v) {
  bool any = v->kind == IG_KIND_INT && is_kept(env, v->i.expr);
  for (int d = 0; v->kind == IG_KIND_TENSOR && d < v->tensor->ndim && !any; d++) {
    any = is_kept(env, ig_sizes(v->tensor)[d].expr);
  }
  return any;
}

static bool is_asserted(const ig_node *n) {
  const ig_env *env = n->graph->sym ? n->graph->sym->env : NULL;
  if (!env || n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP) return false;
  if (is_kept(env, n->binds)) return true;
  if (!has_kept(env, &n->val)) return false;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (has_kept(env, &n->inputs[i]->val)) return false;  // it comes from there
  }
  return true;
}

static bool removable(const ig_node *n) {
  bool fixed = n->kind == IG_NODE_PLACEHOLDER || n->kind == IG_NODE_OUTPUT;
  return !fixed && !n->effect && n->users == 0 && !is_asserted(n);
}

size_t ig_graph_dce(ig_graph *g) {
  size_t before = g->n;
  size_t kept = 0;  // unused, but not removable; when there are no others, this is the end
  for (ig_node *n = g->last, *prev = NULL; n && kept < g->unread; n = prev) {
    prev = n->prev;
    if (removable(n)) {
      ig_graph_erase(g, n);
    } else {
      kept += n->users == 0 && !ig_node_is_placeholder(n);
    }
  }
  return before - g->n;
}
