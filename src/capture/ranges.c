// SPDX-License-Identifier: Apache-2.0
// range_constraints of a program: unbacked symbols in order of creation, then the sizes of the
// inputs by expression with the declared bounds, then roots that are not sizes themselves.
#include <stdio.h>
#include <string.h>

#include "capture/dims.h"
#include "op/op.h"

static bool put(ig_ctx *c, ig_dims *d, const ig_expr *e, int64_t lo, int64_t hi, bool overwrite) {
  if (d->finite && hi == INT64_MAX) hi = INT64_MAX - 1;
  for (size_t i = 0; i < d->ranges.n; i++) {
    if (d->ranges.at[i].expr != e) continue;
    if (overwrite) {
      d->ranges.at[i].lo = lo;
      d->ranges.at[i].hi = hi;
    }
    return true;
  }
  ig_str s = ig_str_make(c->alloc);
  ig_str_expr(&s, e);
  ig_range_entry entry = {e, s.failed ? NULL : ig_dims_text(c, s.at), lo, hi};
  bool ok = entry.text && ig_vec_push(c->mode->sym->env->alloc, &d->ranges, entry);
  if (!ok) (void)ig_fail(c, IG_NOMEM, "out of memory");
  ig_str_free(&s);
  return ok;
}

static int64_t low(ig_vrange r) {
  return r.lo <= INT64_MIN ? INT64_MIN : (int64_t)r.lo;
}
static int64_t high(ig_vrange r) {
  return r.hi >= INT64_MAX ? INT64_MAX : (int64_t)r.hi;
}

static bool put_symbols(ig_ctx *c, ig_dims *d, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(c, e, &n);
  for (size_t i = 0; i < n; i++) {
    ig_vrange r = ig_symbol_range(c, free[i]);
    if (free[i]->backed && !put(c, d, free[i], low(r), high(r), false)) return false;
  }
  return true;
}

bool ig_dims_list_ranges(ig_ctx *c, ig_dims *d) {
  d->ranges.n = 0;
  for (size_t i = 0; i < d->uses.n; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    ig_int now = ig_int_find(c, u->size);
    if (!u->is_size || !now.expr) continue;
    ig_vrange r = ig_symbol_range(c, u->size.expr);
    int64_t lo = low(r);
    int64_t hi = high(r);
    if (ig_dim_is_strict(&u->dim)) ig_dim_bounds(&u->dim, &lo, &hi);
    if (!put(c, d, now.expr, lo, hi, true)) return false;
  }
  for (size_t i = 0; i < d->uses.n; i++) {
    ig_int now = ig_int_find(c, d->uses.at[i].size);
    if (d->uses.at[i].is_size && now.expr && !put_symbols(c, d, now.expr)) return false;
  }
  return c->status == IG_OK;
}

// ---- symbols of further traces ----

typedef struct bound_list {
  ig_ctx *c;
  ig_table seen;
  const ig_expr **all;    // bound by calls of the program, in their order
  const ig_expr **again;  // those of them that are created again
  size_t n;
  size_t nagain;
} bound_list;

// PyTorch memoizes what ATen reads from an input, but not what is read from the result of a call,
// and not the results of custom operators.
static bool is_read_again(const ig_node *n) {
  if (n->callee != IG_CALLEE_OP || strcmp(n->op->schema.ns, "aten") != 0) return true;
  for (size_t i = 0; i < n->ninputs; i++) {
    if (!ig_node_is_placeholder(n->inputs[i])) return true;
  }
  return false;
}

static void add_bound(bound_list *l, const ig_node *n, const ig_expr *e) {
  if (!e || e->kind != IG_EXPR_SYMBOL || e->backed || e->sort != IG_SORT_INT) return;
  if (ig_table_find(&l->seen, e)) return;
  ig_table_slot *slot = ig_table_put(&l->seen, e);
  if (!slot) {
    (void)ig_fail(l->c, IG_NOMEM, "out of memory");
    return;
  }
  slot->number = 1;
  l->all[l->n++] = e;
  if (is_read_again(n)) l->again[l->nagain++] = e;
}

static void list_bound(bound_list *l, const ig_graph *g) {
  for (const ig_node *n = g->first; n && l->c->status == IG_OK; n = n->next) {
    if (n->kind != IG_NODE_CALL) continue;
    add_bound(l, n, n->binds);
    if (n->val.kind == IG_KIND_INT) add_bound(l, n, n->val.i.expr);
    for (int d = 0; n->val.kind == IG_KIND_TENSOR && d < n->val.tensor->ndim; d++) {
      add_bound(l, n, ig_sizes(n->val.tensor)[d].expr);
    }
  }
  for (size_t i = 0; i < g->subs.n; i++) list_bound(l, g->subs.at[i].graph);
}

// PyTorch's strict capture creates the symbols of the program again when it traces the front end's
// graph, some of them once more, and, unless for training, when it lowers it. Symbols of unused
// numbers are not created again.
bool ig_program_repeat_symbols(ig_ctx *c, const ig_program *p) {
  ig_sym *sym = p->graph->sym;
  if (c->status != IG_OK || !sym || !sym->counts[0]) return c->status == IG_OK;
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  ig_scope s = ig_scope_open(c);
  size_t cap = sym->counts[0];
  const ig_expr **room = ig_scope_array(c, ig_mem_mul(3, cap), sizeof *room);
  bound_list l = {.c = c, .seen = ig_table_make(c->alloc), .all = room};
  if (room) {
    l.again = room + cap;
    list_bound(&l, p->graph);
  }
  ig_table_free(&l.seen);
  if (l.nagain && c->status == IG_OK) (void)ig_sym_renew(c, l.again, room + 2 * cap, l.nagain);
  for (int k = 0; l.n && k < (p->training ? 1 : 2) && c->status == IG_OK; k++) {
    (void)ig_sym_renew(c, l.all, room + 2 * cap, l.n);
  }
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  return c->status == IG_OK;
}

static size_t list(ig_ctx *c, const ig_sym *sym, const ig_range_entry **out) {
  const ig_dims *d = sym->env ? sym->env->dims : NULL;
  size_t cap = sym->counts[0] + (d ? d->ranges.n : 0);
  ig_range_entry *all = ig_scope_array(c, cap, sizeof *all);
  size_t n = 0;
  *out = all;
  if (!all) return 0;
  for (uint32_t i = 0; i < sym->counts[0]; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "u%u", i);
    const ig_expr *e = ig_expr_find(c, name);
    if (!e) continue;
    ig_vrange r = ig_symbol_range(c, e);
    all[n++] = (ig_range_entry){e, e->name, low(r), high(r)};
  }
  for (size_t i = 0; d && i < d->ranges.n; i++) all[n++] = d->ranges.at[i];
  return n;
}

size_t ig_program_ranges(ig_ctx *c, const ig_program *p, const ig_range_entry **out) {
  *out = NULL;
  ig_sym *sym = p->graph->sym;
  if (c->status != IG_OK || !sym) return 0;
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  size_t n = list(c, sym, out);
  ig_mode_pop(c, &mode);
  return n;
}

const char *ig_program_dim_name(const ig_program *p, const ig_expr *size) {
  const ig_env *env = p->graph->sym ? p->graph->sym->env : NULL;
  const ig_dims *d = env ? env->dims : NULL;
  for (size_t i = 0; d && i < d->uses.n; i++) {
    const ig_dim_use *u = &d->uses.at[i];
    if (u->dim.kind == IG_DIM_NAMED && u->now.expr == size) return u->dim.name;
  }
  for (size_t i = 0; d && i < d->phantoms.n; i++) {
    if (d->phantoms.at[i].now.expr == size) return d->phantoms.at[i].name;
  }
  return NULL;
}

ig_status ig_program_add_range(ig_ctx *c, ig_program *p, const ig_range_entry *entry) {
  if (c->status != IG_OK) return c->status;
  const ig_expr *e = entry->expr;
  if (e->kind == IG_EXPR_SYMBOL && e->name[0] == 'u' && !e->backed) return IG_OK;
  ig_mode_scope mode = ig_mode_push_sym(c, p->graph->sym);
  ig_dims *d = ig_dims_get(c);
  if (d) (void)put(c, d, e, entry->lo, entry->hi, true);
  ig_mode_pop(c, &mode);
  return c->status;
}
