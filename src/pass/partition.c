// SPDX-License-Identifier: Apache-2.0
// A joint graph becomes a forward and a backward graph. What the backward graph reads of the
// forward graph is saved: tensors, and the symbolic numbers that describe sizes.
#include "pass/partition.h"

#include <string.h>

#include "base/options.h"
#include "op/record.h"

typedef struct divider {
  ig_joint j;
  ig_node_list tensors;
  ig_node_list numbers;
} divider;

static bool list_make(ig_ctx *c, const ig_graph *g, ig_node_list *l) {
  *l = (ig_node_list){ig_pass_zeros(c, g->next_index + 1, sizeof *l->at), 0};
  return l->at != NULL;
}

static bool contains(const ig_node_list *l, const ig_node *n) {
  for (size_t i = 0; i < l->n; i++) {
    if (l->at[i] == n) return true;
  }
  return false;
}

static void add(ig_node_list *l, ig_node *n) {
  if (!contains(l, n)) l->at[l->n++] = n;
}

static void drop(ig_node_list *l, const char *name) {
  size_t k = 0;
  for (size_t i = 0; i < l->n; i++) {
    if (strcmp(l->at[i]->name, name) != 0) l->at[k++] = l->at[i];
  }
  l->n = k;
}

// ---- what the forward graph is ----

static void need(const ig_joint *j, const ig_value *v) {
  if (v->kind == IG_KIND_NODE) j->forward[v->node->index] = true;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) need(j, &v->list.at[i]);
}

// Effects without a tangent, such as draws of random numbers, happen in the forward graph, once.
static void mark_effects(const ig_joint *j) {
  for (size_t i = 0; i < j->ntangents; i++) j->late[j->tangents[i]->index] = true;
  for (const ig_node *n = j->g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    for (size_t i = 0; i < n->ninputs; i++) {
      if (j->late[n->inputs[i]->index]) j->late[n->index] = true;
    }
    if (n->effect && !j->late[n->index]) j->forward[n->index] = true;
  }
}

static void mark_forward(const ig_joint *j) {
  mark_effects(j);
  for (size_t i = 0; i < j->nouts; i++) need(j, &j->outs[i]);
  for (size_t i = 0; i < j->nprimals; i++) j->forward[j->primals[i]->index] = true;
  for (const ig_node *n = j->g->last; n; n = n->prev) {
    if (n->kind == IG_NODE_OUTPUT || !j->forward[n->index]) continue;
    for (size_t i = 0; i < n->ninputs; i++) j->forward[n->inputs[i]->index] = true;
  }
}

static bool open_joint(ig_ctx *c, const ig_graph *g, const ig_partition_args *args, ig_joint *j) {
  size_t n = ig_graph_input_count(g);
  size_t outs = ig_graph_output_count(g);
  if (args->nforward > outs || args->ntangents > n) {
    return ig_fail(c, IG_INVALID,
                   "partition: the graph has %zu outputs and %zu inputs, expected at least %zu "
                   "forward outputs and %zu tangents",
                   outs, n, args->nforward, args->ntangents) == IG_OK;
  }
  *j = (ig_joint){.c = c, .g = g, .nouts = args->nforward, .ngrads = outs - args->nforward};
  j->outs = g->last->args;
  j->grads = g->last->args + j->nouts;
  j->primals = ig_pass_zeros(c, n + 1, sizeof *j->primals);
  j->forward = ig_pass_zeros(c, g->next_index, sizeof *j->forward);
  j->late = ig_pass_zeros(c, g->next_index, sizeof *j->late);
  if (!j->primals || !j->forward || !j->late) return false;
  for (ig_node *p = g->first; p; p = p->next) {
    if (ig_node_is_placeholder(p)) j->primals[j->nprimals++] = p;
  }
  j->nprimals -= args->ntangents;
  j->tangents = j->primals + j->nprimals;
  j->ntangents = args->ntangents;
  mark_forward(j);
  return true;
}

// ---- the default method ----

static bool is_read_backward(const ig_joint *j, const ig_node *n) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (u->user->kind != IG_NODE_OUTPUT && !j->forward[u->user->index]) return true;
  }
  return false;
}

// A gradient may be a value of the forward graph itself.
static bool is_gradient(const ig_joint *j, const ig_node *n) {
  for (size_t i = 0; i < j->ngrads; i++) {
    if (j->grads[i].kind == IG_KIND_NODE && j->grads[i].node == n) return true;
  }
  return false;
}

// Of a tensor only its sizes may be read: then those are saved.
static bool reads_only_numbers(const ig_joint *j, const ig_node *n) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    bool backward = u->user->kind != IG_NODE_OUTPUT && !j->forward[u->user->index];
    if (backward && !ig_node_is_number(u->user)) return false;
  }
  return true;
}

static void save(divider *d, ig_node *n) {
  const ig_joint *j = &d->j;
  if (n->val.kind == IG_KIND_LIST) {
    for (const ig_use *u = n->first_use; u; u = u->next) {
      bool item = u->user->kind == IG_NODE_CALL && u->user->callee == IG_CALLEE_GETITEM;
      if (item && !j->forward[u->user->index]) add(&d->tensors, u->user);
    }
  } else if (ig_node_is_number(n)) {
    add(&d->numbers, n);
  } else if (n->val.kind == IG_KIND_TENSOR && !is_gradient(j, n) && reads_only_numbers(j, n)) {
    for (const ig_use *u = n->first_use; u; u = u->next) {
      if (u->user->kind != IG_NODE_OUTPUT && !j->forward[u->user->index]) {
        add(&d->numbers, u->user);
      }
    }
  } else {
    add(&d->tensors, n);
  }
}

static void save_reads(divider *d) {
  for (ig_node *n = d->j.g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    bool forward = d->j.forward[n->index] && n->kind != IG_NODE_ATTR;
    if (forward && (is_read_backward(&d->j, n) || is_gradient(&d->j, n))) save(d, n);
  }
}

static bool save_least(divider *d) {
  ig_node_list all;
  if (!list_make(d->j.c, d->j.g, &all) || !ig_joint_min_cut(&d->j, &all)) return false;
  for (size_t i = 0; i < all.n; i++) {
    add(ig_node_is_number(all.at[i]) ? &d->numbers : &d->tensors, all.at[i]);
  }
  return true;
}

// ---- the graphs ----

static ig_graph *backward_of(const divider *d) {
  const ig_joint *j = &d->j;
  size_t n = 0;
  ig_node **inputs =
      ig_pass_zeros(j->c, d->numbers.n + d->tensors.n + j->ntangents + 1, sizeof *inputs);
  if (!inputs) return NULL;
  for (size_t i = 0; i < d->numbers.n; i++) inputs[n++] = d->numbers.at[i];
  for (size_t i = 0; i < d->tensors.n; i++) inputs[n++] = d->tensors.at[i];
  for (size_t i = 0; i < j->ntangents; i++) inputs[n++] = j->tangents[i];
  return ig_pass_extract(j->c, j->g, inputs, n, j->grads, j->ngrads, j->late);
}

static ig_graph *forward_of(const divider *d) {
  const ig_joint *j = &d->j;
  size_t n = j->nouts;
  ig_value *outs = ig_pass_zeros(j->c, n + d->tensors.n + d->numbers.n + 1, sizeof *outs);
  if (!outs) return NULL;
  for (size_t i = 0; i < n; i++) outs[i] = j->outs[i];
  for (size_t i = 0; i < d->tensors.n; i++) outs[n++] = ig_of_node(d->tensors.at[i]);
  for (size_t i = 0; i < d->numbers.n; i++) outs[n++] = ig_of_node(d->numbers.at[i]);
  return ig_pass_extract(j->c, j->g, j->primals, j->nprimals, outs, n, j->forward);
}

// What the backward graph does not read in the end is not saved.
static bool drop_unread(divider *d) {
  ig_graph *g = backward_of(d);
  for (const ig_node *n = g ? g->first : NULL; n && ig_node_is_placeholder(n); n = n->next) {
    if (n->users) continue;
    drop(&d->tensors, n->name);
    drop(&d->numbers, n->name);
  }
  ig_graph_free(g);
  return g != NULL;
}

// ---- symbols ----

// The input, or else a value of the forward graph, that is the symbol itself.
static ig_node *binding_of(const ig_joint *j, const ig_expr *symbol) {
  for (ig_node *n = j->g->first; n; n = n->next) {
    bool has = ig_node_is_placeholder(n) || j->forward[n->index];
    if (has && ig_node_is_number(n) && ig_value_expr(&n->val) == symbol) return n;
  }
  return NULL;
}

enum { MAX_SYMBOLS = 64 };  // of one value; others stay unbound

typedef struct symbols {
  const ig_expr *at[MAX_SYMBOLS];
  size_t n;
} symbols;

static void find_symbols(const ig_expr *e, symbols *found) {
  if (!e) return;
  for (size_t i = 0; e->kind != IG_EXPR_SYMBOL && i < e->n; i++) find_symbols(e->args[i], found);
  if (e->kind != IG_EXPR_SYMBOL || found->n == MAX_SYMBOLS) return;
  for (size_t i = 0; i < found->n; i++) {
    if (found->at[i] == e) return;
  }
  found->at[found->n++] = e;
}

static void sort_symbols(ig_ctx *c, symbols *found) {
  for (size_t i = 1; i < found->n; i++) {
    const ig_expr *e = found->at[i];
    size_t k = i;
    const char *name = ig_int_text(c, (ig_int){.expr = e});
    for (; k && strcmp(ig_int_text(c, (ig_int){.expr = found->at[k - 1]}), name) > 0; k--) {
      found->at[k] = found->at[k - 1];
    }
    found->at[k] = e;
  }
}

static void bind_value(const divider *d, const ig_node *n, ig_node_list *bound) {
  const ig_value *v = &n->val;
  const ig_tensor *t = v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
  symbols found = {.n = 0};
  find_symbols(ig_value_expr(v), &found);
  for (int i = 0; t && i < 2 * t->ndim; i++) find_symbols(t->dims[i].expr, &found);
  if (t) find_symbols(t->offset.expr, &found);
  sort_symbols(d->j.c, &found);
  for (size_t i = 0; i < found.n; i++) {
    ig_node *binding = binding_of(&d->j, found.at[i]);
    if (binding) add(bound, binding);
  }
}

// Every symbol in the sizes of what the backward graph takes is one of its inputs; symbols come
// before numbers that are computed from them.
static bool bind_all(divider *d) {
  ig_node_list bound;
  ig_node_list derived;
  if (!list_make(d->j.c, d->j.g, &bound) || !list_make(d->j.c, d->j.g, &derived)) return false;
  for (size_t i = 0; i < d->numbers.n; i++) {
    const ig_expr *e = ig_value_expr(&d->numbers.at[i]->val);
    add(e && e->kind == IG_EXPR_SYMBOL ? &bound : &derived, d->numbers.at[i]);
  }
  for (size_t i = 0; i < derived.n; i++) bind_value(d, derived.at[i], &bound);
  for (size_t i = 0; i < d->tensors.n; i++) bind_value(d, d->tensors.at[i], &bound);
  for (size_t i = 0; i < d->j.ntangents; i++) bind_value(d, d->j.tangents[i], &bound);
  for (size_t i = 0; i < derived.n; i++) add(&bound, derived.at[i]);
  d->numbers = bound;
  return d->j.c->status == IG_OK;
}

// ---- order ----

typedef struct sorter {
  const ig_graph *g;
  ig_node **stack;
  bool *placed;  // per node
  ig_node *at;   // the last one placed
} sorter;

static void place(ig_graph *g, sorter *s, ig_node *n) {
  if (s->at && s->at != n && s->at->next != n) {
    // The nodes are linked in order of execution only: uses do not change.
    n->prev->next = n->next;
    if (n->next) n->next->prev = n->prev;
    if (g->last == n) g->last = n->prev;
    n->prev = s->at;
    n->next = s->at->next;
    if (n->next) n->next->prev = n;
    s->at->next = n;
    if (g->last == s->at) g->last = n;
  }
  s->at = n;
  s->placed[n->index] = true;
}

// What n needs, in the old order, then n.
static void place_needed(ig_graph *g, sorter *s, ig_node **order, size_t count, ig_node *n,
                         bool *wanted) {
  size_t depth = 0;
  s->stack[depth++] = n;
  wanted[n->index] = true;
  while (depth) {
    const ig_node *k = s->stack[--depth];
    for (size_t i = 0; i < k->ninputs; i++) {
      ig_node *in = k->inputs[i];
      if (s->placed[in->index] || wanted[in->index]) continue;
      wanted[in->index] = true;
      s->stack[depth++] = in;
    }
  }
  for (size_t i = 0; i < count && order[i] != n; i++) {
    if (!wanted[order[i]->index]) continue;
    wanted[order[i]->index] = false;
    place(g, s, order[i]);
  }
  wanted[n->index] = false;
  place(g, s, n);
}

static bool is_tangent(const ig_node *n, size_t ninputs, size_t ntangents) {
  size_t at = 0;
  for (const ig_node *p = n->prev; p; p = p->prev) at++;
  return at + ntangents >= ninputs;
}

// As in the backward pass of autograd: what the saved values are computed into comes where it is
// first needed, not in front of everything else.
static bool order_backward(ig_ctx *c, ig_graph *g, size_t ntangents) {
  size_t ninputs = ig_graph_input_count(g);
  size_t n = 0;
  sorter s = {.g = g};
  s.stack = ig_pass_zeros(c, g->next_index, sizeof *s.stack);
  s.placed = ig_pass_zeros(c, g->next_index, sizeof *s.placed);
  bool *wanted = ig_pass_zeros(c, g->next_index, sizeof *wanted);
  ig_node **order = ig_pass_zeros(c, g->next_index, sizeof *order);
  if (!s.stack || !s.placed || !wanted || !order) return false;
  size_t first = SIZE_MAX;
  for (ig_node *k = g->first; k && k->kind != IG_NODE_OUTPUT; k = k->next) {
    if (ig_node_is_placeholder(k)) {
      s.placed[k->index] = true;
      s.at = k;
      continue;
    }
    for (size_t i = 0; i < k->ninputs && first == SIZE_MAX; i++) {
      const ig_node *in = k->inputs[i];
      if (ig_node_is_placeholder(in) && is_tangent(in, ninputs, ntangents)) first = n;
    }
    order[n++] = k;
  }
  if (first == SIZE_MAX) return true;
  for (size_t i = first; i < n; i++) {
    if (!s.placed[order[i]->index]) place_needed(g, &s, order, n, order[i], wanted);
  }
  return true;
}

// ---- both ----

static bool divide(divider *d, ig_partition_method method, ig_partitions *out) {
  const ig_joint *j = &d->j;
  if (!list_make(j->c, j->g, &d->tensors) || !list_make(j->c, j->g, &d->numbers)) return false;
  if (method == IG_PARTITION_MIN_CUT) {
    if (!save_least(d)) return false;
  } else {
    save_reads(d);
  }
  if (!drop_unread(d) || !bind_all(d)) return false;
  out->backward = backward_of(d);
  out->forward = forward_of(d);
  out->nsaved = d->tensors.n;
  out->nnumbers = d->numbers.n;
  return out->forward && out->backward;
}

ig_status ig_partition(ig_ctx *c, const ig_graph *joint, const ig_partition_args *given,
                       ig_partitions *out) {
  ig_partition_args all;
  IG_OPTIONS_TAKE(&all, given, ntangents);
  const ig_partition_args *args = &all;
  *out = (ig_partitions){0};
  if (c->status != IG_OK) return c->status;
  ig_scope s = ig_scope_open(c);
  divider d;
  bool least = args->method == IG_PARTITION_MIN_CUT;
  ig_graph *g = ig_graph_copy(c, joint);
  bool ok = g != NULL;
  if (ok && least) {
    (void)ig_graph_dce(g);
    ok = ig_graph_cse(c, g);
  }
  ok = ok && open_joint(c, g, args, &d.j) && divide(&d, args->method, out);
  ok = ok && (!least || order_backward(c, out->backward, args->ntangents));
  ig_graph_free(g);
  ig_scope_close(c, s);
  if (!ok) ig_partitions_free(out);
  return c->status;
}

void ig_partitions_free(ig_partitions *p) {
  ig_graph_free(p->forward);
  ig_graph_free(p->backward);
  *p = (ig_partitions){0};
}
