// SPDX-License-Identifier: Apache-2.0
// cond: under a capture both functions become sub-graphs with the same operands: those that both
// use, then those that only the first uses, then those that only the second uses, each sorted. The
// state of the program comes first; then the operands in their order, or, given keys, everything by
// its key.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "op/formula.h"
#include "op/hop.h"
#include "sym/env.h"

// An operand of the recorded node with its sort key.
typedef struct entry {
  ig_value value;
  int group;  // 0: read by both, 1: by yes, 2: by no
  int rank;   // 0: state of the program, 1: other captured values, 2: operands
  size_t at;  // rank 2: position
  char key[128];
} entry;

static int compare(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  if (x->group != y->group) return x->group - y->group;
  if (x->rank != y->rank) return x->rank - y->rank;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return strcmp(x->key, y->key);
}

static const ig_node *node_of(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR ? v->tensor->node : NULL;
}

static bool is_state(const ig_node *n) {
  return n && (n->kind == IG_NODE_ATTR || (ig_node_is_placeholder(n) && n->role != IG_INPUT_USER));
}

// The program's name of the value: placeholders and constants get their names after the capture,
// but are declared before.
static const char *name_of(const ig_graph *g, const ig_node *n) {
  if (!n) return "";
  if (ig_node_is_placeholder(n)) return n->path ? n->path : n->name;
  for (size_t i = 0; n->kind == IG_NODE_ATTR && n->constant && i < g->state.n; i++) {
    if (g->state.at[i].tensor == n->constant) return g->state.at[i].name;
  }
  return n->name;
}

static void set_key(const ig_graph *g, entry *e, const ig_cond_args *a) {
  const ig_node *n = node_of(&e->value);
  size_t at = 0;
  while (at < a->noperands && !ig_nested_same(&a->operands[at], &e->value)) at++;
  const char *name = name_of(g, n);
  e->rank = 1;
  if (is_state(n)) {
    e->rank = 0;
    (void)snprintf(e->key, sizeof e->key, "%s", name);
    for (char *p = e->key; *p; p++) {
      if (!isalnum((unsigned char)*p)) *p = '_';
    }
  } else if (at < a->noperands) {
    e->rank = a->keys ? 1 : 2;
    e->at = a->keys ? 0 : at + 1;
    (void)snprintf(e->key, sizeof e->key, "%s", a->keys ? a->keys[at] : "");
  } else if (n && ig_node_is_placeholder(n)) {
    (void)snprintf(e->key, sizeof e->key, "l_%s_", name);
  } else {
    size_t k = 0;
    while (k < a->nothers && !ig_nested_same(&a->others[k], &e->value)) k++;
    (void)snprintf(e->key, sizeof e->key, "%s", k < a->nothers ? a->other_keys[k] : name);
  }
}

static size_t find(const ig_graph *g, const ig_value *v) {
  size_t i = 0;
  while (i < g->operands.n && !ig_nested_same(&g->operands.at[i], v)) i++;
  return i;
}

static const ig_value *merge(ig_ctx *c, const ig_cond_args *a, const ig_graph *yes,
                             const ig_graph *no, size_t *n) {
  entry *all = ig_scope_array(c, ig_mem_add(yes->operands.n + 1, no->operands.n), sizeof *all);
  ig_value *out = ig_scope_array(c, ig_mem_add(yes->operands.n + 1, no->operands.n), sizeof *out);
  if (!all || !out) return NULL;
  *n = 0;
  for (size_t i = 0; i < yes->operands.n; i++) {
    const ig_value *v = &yes->operands.at[i];
    all[*n] = (entry){.value = *v, .group = find(no, v) < no->operands.n ? 0 : 1};
    set_key(c->mode->capture, &all[(*n)++], a);
  }
  for (size_t i = 0; i < no->operands.n; i++) {
    const ig_value *v = &no->operands.at[i];
    if (find(yes, v) < yes->operands.n) continue;
    all[*n] = (entry){.value = *v, .group = 2};
    set_key(c->mode->capture, &all[(*n)++], a);
  }
  qsort(all, *n, sizeof *all, compare);
  for (size_t i = 0; i < *n; i++) out[i] = all[i].value;
  return out;
}

static const char broken[] =
    "Cond doesn't work unless it is captured completely with torch.compile. Scroll up to find out "
    "what causes the graph break.";

// Both functions must return results that one value can describe.
static bool check(ig_ctx *c, const ig_value *a, size_t na, const ig_value *b, size_t nb) {
  if (na != nb) {
    ig_fail_text(c, IG_BRANCH,
                 "%s\n\nExpected true_fn and false_fn to return the same number of results, but "
                 "got %zu and %zu.",
                 broken, na, nb);
    return false;
  }
  for (size_t i = 0; i < na; i++) {
    if (ig_hop_alike(&a[i], &b[i]) || ig_hop_joins(c, &a[i], &b[i])) continue;
    ig_fail_text(c, IG_BRANCH,
                 "%s\n\nExpected result %zu of true_fn and false_fn to have same metadata but "
                 "got: %s and %s. Make both branches return tensors of the same shape and dtype.",
                 broken, i, ig_hop_describe(c, &a[i]), ig_hop_describe(c, &b[i]));
    return false;
  }
  return true;
}

static bool wants_gradient(const ig_value *v) {
  return v->kind == IG_KIND_TENSOR && v->tensor->requires_grad;
}

static const ig_value *record(ig_ctx *c, const ig_cond_args *a, ig_graph *yes, ig_graph *no,
                              bool keep_order, size_t *nouts) {
  size_t n = a->noperands;
  const ig_value *operands = a->operands;
  if (!keep_order) {
    operands = merge(c, a, yes, no, &n);
    if (!operands || !ig_nested_arrange(c, yes, operands, n) ||
        !ig_nested_arrange(c, no, operands, n)) {
      return NULL;
    }
  }
  size_t other = 0;
  const ig_value *first = ig_branch_outputs(c, yes, nouts);
  const ig_value *second = ig_branch_outputs(c, no, &other);
  ig_value *results = ig_scope_array(c, *nouts + 1, sizeof *results);
  if (!results || !check(c, first, *nouts, second, other)) return NULL;
  for (size_t i = 0; i < *nouts; i++) {
    const ig_meta *like = NULL;
    (void)ig_hop_widen(c, &first[i], &second[i], &like);
    results[i] =
        like ? ig_of_tensor(ig_tensor_make(c, like, true)) : ig_branch_result(c, &first[i]);
  }
  ig_node *t = ig_record_sub(c, "true_graph", yes);
  ig_node *f = t ? ig_record_sub(c, "false_graph", no) : NULL;
  if (!f) return NULL;
  ig_value list = ig_of_list(operands, n);
  if (c->mode->rewrite && ig_release_forms(c->mode->capture->release)->tuples_of_graded) {
    for (size_t i = 0; i < n; i++) {
      if (wants_gradient(&operands[i])) list.seq = IG_SEQ_TUPLE;
    }
  }
  ig_value args[] = {*a->pred, ig_of_node(t), ig_of_node(f), list};
  return ig_hop_record(c, &ig_hop_cond, args, 4, NULL, 0, results, *nouts) ? results : NULL;
}

static const ig_value *capture(ig_ctx *c, const ig_cond_args *a, size_t *nouts) {
  bool keep_order = a->yes->graph && a->no->graph;
  ig_branch_inputs in = {
      .who = "cond", .operands = a->operands, .n = a->noperands, .lazy = !keep_order};
  // The predicate is a node before the sub-graphs are.
  ig_value pred;
  if (!ig_record_value(c, a->pred, &pred)) return NULL;
  ig_graph *yes = ig_branch_capture(c, a->yes, &in);
  ig_graph *no = yes ? ig_branch_capture(c, a->no, &in) : NULL;
  const ig_value *out = no ? record(c, a, yes, no, keep_order, nouts) : NULL;
  ig_graph_free(yes);
  ig_graph_free(no);
  return out;
}

// Which function runs now.
static bool decide(ig_ctx *c, const ig_value *pred) {
  if (pred->kind == IG_KIND_TENSOR) {
    ig_value out[IG_MAX_RETURNS];
    const ig_op *item = ig_op_at(c, IG_ID_ITEM);
    ig_call(c, item, pred, out);
    return out[0].kind != IG_KIND_NONE && ig_value_f64(&out[0]) != 0;
  }
  return ig_bool_guard(c, pred);
}

const ig_value *ig_cond(ig_ctx *c, const ig_cond_args *given, size_t *nouts) {
  *nouts = 0;
  if (c->status != IG_OK) return NULL;
  ig_cond_args all;
  IG_OPTIONS_TAKE(&all, given, nothers);
  const ig_cond_args *args = &all;
  const ig_value *pred = args->pred;
  bool tensor = pred->kind == IG_KIND_TENSOR;
  if (!tensor && pred->kind != IG_KIND_BOOL) {
    ig_fail_text(c, IG_RUNTIME, "Expected pred to be bool or single-element tensor, but got %s.",
                 ig_hop_describe(c, pred));
    return NULL;
  }
  if (c->mode->capture) return capture(c, args, nouts);
  bool fake = tensor && ig_is_fake(pred->tensor);
  bool yes = fake || decide(c, pred);  // fakes: both give the same shapes
  return ig_branch_call(c, yes ? args->yes : args->no, args->operands, args->noperands, nouts);
}

static void call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 4 || args[1].kind != IG_KIND_GRAPH || args[2].kind != IG_KIND_GRAPH ||
      args[3].kind != IG_KIND_LIST) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a predicate, two sub-graphs and operands", n->name);
    return;
  }
  ig_branch yes = ig_branch_of(&args[1]);
  ig_branch no = ig_branch_of(&args[2]);
  ig_cond_args a = {.size = sizeof a,
                    .pred = &args[0],
                    .yes = &yes,
                    .no = &no,
                    .operands = args[3].list.at,
                    .noperands = args[3].list.n};
  size_t nouts = 0;
  const ig_value *outs = ig_cond(c, &a, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_cond = {
    .name = "cond",
    .base = "conditional",
    .bases = {[IG_RELEASE_2_5] = "cond", [IG_RELEASE_2_5_FX] = "cond"},
    .classes = {[IG_RELEASE_2_5] = "CondOp", [IG_RELEASE_2_5_FX] = "CondOp"},
    .path = "torch.ops.higher_order.cond",
    .slots = {IG_SLOT_VALUE, IG_SLOT_GRAPH, IG_SLOT_GRAPH, IG_SLOT_LIST},
    .call = call,
};
