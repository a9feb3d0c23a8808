// SPDX-License-Identifier: Apache-2.0
// Common subexpressions of a functional graph are computed once.
#include "ingot/aten.h"
#include "op/op.h"
#include "pass/pass.h"

typedef struct merger {
  ig_ctx *c;
  ig_graph *g;
  ig_table same;      // node -> itself: operands are already replaced
  ig_table storages;  // memory that the graph returns
  ig_node **buckets;  // hash -> newest node; nodes of a bucket are linked
  ig_node **next;     // per node
  size_t n;
} merger;

static bool returned(const merger *m, const ig_node *n) {
  return n->val.kind == IG_KIND_TENSOR && ig_table_find(&m->storages, n->val.tensor->storage);
}

// Results that are returned stay separate tensors; random numbers and uninitialized memory differ
// from call to call.
static bool may_merge(const merger *m, const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->effect || returned(m, n)) return false;
  if (n->callee != IG_CALLEE_OP) {
    return n->callee == IG_CALLEE_GETITEM || n->callee == IG_CALLEE_SIZE ||
           n->callee == IG_CALLEE_SYM;
  }
  return !ig_op_is_random(n->op) && n->op->number != IG_ID_EMPTY_MEMORY_FORMAT;
}

static size_t hash_of(const merger *m, const ig_node *n) {
  size_t h = (size_t)n->callee * 31 + n->npos * 7 + n->nkw;
  h = h * 31 + (n->op ? n->op->number : (size_t)n->arith);
  for (size_t i = 0; i < n->ninputs; i++) h = h * 31 + n->inputs[i]->index;
  return h % m->n;
}

static bool merge(merger *m, ig_node *n) {
  ig_table_slot *slot = ig_table_put(&m->same, n);
  if (!slot) return ig_fail(m->c, IG_NOMEM, "out of memory") == IG_OK;
  slot->value = n;
  if (!may_merge(m, n)) return true;
  size_t h = hash_of(m, n);
  for (ig_node *k = m->buckets[h]; k; k = m->next[k->index]) {
    if (!ig_node_same(&m->same, n, k)) continue;
    if (!ig_graph_replace(m->c, m->g, n, k)) return false;
    ig_graph_erase(m->g, n);
    return true;
  }
  m->next[n->index] = m->buckets[h];
  m->buckets[h] = n;
  return true;
}

static bool find_storages(merger *m) {
  const ig_node *out = m->g->last;
  for (size_t i = 0; i < out->ninputs; i++) {
    const ig_value *v = &out->inputs[i]->val;
    if (v->kind == IG_KIND_TENSOR && !ig_table_put(&m->storages, v->tensor->storage)) {
      return ig_fail(m->c, IG_NOMEM, "out of memory") == IG_OK;
    }
  }
  return true;
}

bool ig_graph_cse(ig_ctx *c, ig_graph *g) {
  if (c->status != IG_OK) return false;
  ig_scope s = ig_scope_open(c);
  merger m = {.c = c, .g = g, .n = g->next_index + 1};
  m.same = ig_table_make(c->alloc);
  m.storages = ig_table_make(c->alloc);
  m.buckets = ig_pass_zeros(c, m.n, sizeof *m.buckets);
  m.next = ig_pass_zeros(c, m.n, sizeof *m.next);
  bool ok = m.buckets && m.next && find_storages(&m);
  for (ig_node *n = g->first, *next = NULL; ok && n && n->kind != IG_NODE_OUTPUT; n = next) {
    next = n->next;
    ok = merge(&m, n);
  }
  ig_table_free(&m.same);
  ig_table_free(&m.storages);
  ig_scope_close(c, s);
  return ok;
}
