// SPDX-License-Identifier: Apache-2.0
#include "op/renewals.h"

#include <stdio.h>

static bool is_unbacked(const ig_expr *e) {
  return e && e->kind == IG_EXPR_SYMBOL && !e->backed;
}

// Calls fn for the symbols in a value, as often as they occur.
static void each_symbol(const ig_value *v, void (*fn)(const ig_expr *e, void *user), void *user) {
  if (v->kind == IG_KIND_TENSOR) {
    for (int d = 0; d < v->tensor->ndim; d++) {
      if (is_unbacked(ig_sizes(v->tensor)[d].expr)) fn(ig_sizes(v->tensor)[d].expr, user);
    }
  }
  if (v->kind == IG_KIND_INT && is_unbacked(v->i.expr)) fn(v->i.expr, user);
  if (v->kind == IG_KIND_FLOAT && is_unbacked(v->f_expr)) fn(v->f_expr, user);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    each_symbol(&v->list.at[i], fn, user);
  }
}

typedef struct census {
  ig_table seen;
  const ig_expr **at;  // NULL: only counting
  size_t n;
  bool failed;
} census;

static void count(const ig_expr *e, void *user) {
  census *k = user;
  ig_table_slot *slot = ig_table_put(&k->seen, e);
  if (!slot) k->failed = true;
  if (!slot || slot->number) return;
  slot->number = 1;
  if (k->at) k->at[k->n] = e;
  k->n++;
}

static void count_node(census *k, const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee == IG_CALLEE_SYM || n->callee == IG_CALLEE_SIZE) return;
  if (n->binds) count(n->binds, k);
  each_symbol(&n->val, count, k);
}

static void count_graph(census *k, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) count_node(k, n);
  for (size_t i = 0; i < g->subs.n; i++) count_graph(k, g->subs.at[i].graph);
}

static bool collect(census *k, const ig_graph *g, ig_renewals *r) {
  for (const ig_node *n = g->first; n; n = n->next) {
    size_t before = k->n;
    count_node(k, n);
    if (k->failed) return false;
    if (k->n == before) continue;
    ig_table_slot *slot = ig_table_put(&r->nodes, n);
    if (!slot) return false;
    slot->value = (void *)(r->fresh + before);
    slot->number = (int64_t)(k->n - before);
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (!collect(k, g->subs.at[i].graph, r)) return false;
  }
  return true;
}

static bool list_symbols(ig_ctx *c, const ig_graph *g, ig_renewals *r, size_t *n) {
  census k = {.seen = ig_table_make(c->alloc)};
  count_graph(&k, g);
  ig_table_free(&k.seen);
  *n = k.n;
  if (k.n == 0 && !k.failed) return true;
  r->bytes = ig_mem_mul(ig_mem_mul(2, k.n), sizeof *r->old) + 1;
  r->old = k.failed ? NULL : ig_mem_new(c->alloc, r->bytes);
  if (!r->old) return false;
  r->fresh = r->old + k.n;
  census again = {.seen = ig_table_make(c->alloc), .at = r->old};
  bool ok = collect(&again, g, r);
  ig_table_free(&again.seen);
  return ok;
}

// All symbols by number, including those that no node uses any more: the second trace creates them
// too.
static size_t list_all(ig_ctx *c, const ig_renewals *r, size_t n, const ig_expr **all) {
  size_t count = 0;
  uint32_t whole = c->mode->sym->counts[0];
  for (uint32_t i = 0; i < whole + c->mode->sym->floats; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, i < whole ? "u%u" : "zuf%u", i < whole ? i : i - whole);
    const ig_expr *e = ig_expr_find(c, name);
    if (e) all[count++] = e;
  }
  for (size_t i = 0; i < n; i++) {
    bool known = false;
    for (size_t k = 0; k < count; k++) known = known || all[k] == r->old[i];
    if (!known) all[count++] = r->old[i];
  }
  return count;
}

static bool renew_all(ig_ctx *c, ig_renewals *r, size_t n) {
  size_t cap = (size_t)c->mode->sym->counts[0] + c->mode->sym->floats + n;
  if (cap == 0) return true;
  const ig_expr **all = ig_mem_array(c->alloc, ig_mem_mul(2, cap), sizeof *all);
  if (!all) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  size_t count = list_all(c, r, n, all);
  bool ok = ig_sym_renew(c, all, all + cap, count);
  for (size_t i = 0; ok && i < n; i++) {
    for (size_t k = 0; k < count; k++) {
      if (all[k] == r->old[i]) r->fresh[i] = all[cap + k];
    }
  }
  ig_mem_array_free(c->alloc, (void *)all, ig_mem_mul(2, cap), sizeof *all);
  return ok;
}

bool ig_renewals_open(ig_ctx *c, const ig_graph *g, bool renew, ig_renewals *r) {
  *r = (ig_renewals){0};
  r->nodes = ig_table_make(c->alloc);
  r->scope = ig_mode_push(c, &(ig_mode_change){IG_MODE_RENEWAL, {.renewal = NULL}});
  size_t n = 0;
  if (g->sym->exprs.names.n == 0) return true;  // no symbols at all
  if (!list_symbols(c, g, r, &n)) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < n; i++) r->fresh[i] = r->old[i];
  if (renew && c->mode->sym && !renew_all(c, r, n)) return false;
  if (n == 0) return true;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_RENEWAL, {.renewal = &r->queue}});
  return true;
}

void ig_renewals_close(ig_ctx *c, ig_renewals *r) {
  ig_mode_pop(c, &r->scope);
  ig_table_free(&r->nodes);
  ig_mem_free(c->alloc, r->old, r->bytes);
}

void ig_renewals_enter(ig_ctx *c, const ig_node *n) {
  if (!c->mode->renewal) return;
  ig_renewals *r = (ig_renewals *)c->mode->renewal;  // the queue is its first member
  const ig_table_slot *slot = ig_table_find(&r->nodes, n);
  c->mode->renewal->at = slot ? slot->value : NULL;
  c->mode->renewal->n = slot ? (size_t)slot->number : 0;
  c->mode->renewal->next = 0;
}
