// SPDX-License-Identifier: Apache-2.0
// How an expression becomes calls: sizes are read off tensors, sums and products are folded from
// the left in the order in which SymPy stores their operands, 0 <= u0 is asked as u0 >= 0, and what
// must differ is compared and negated.
#include "pass/placer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/order.h"
#include "sym/solve.h"

bool ig_placer_put(ig_placer *p, ig_table *t, const void *key, void *value, int64_t number) {
  ig_table_slot *slot = ig_table_put(t, key);
  if (!slot) return ig_no_memory(p->c);
  if (slot->value || slot->number) return true;  // the first stays
  slot->value = value;
  slot->number = number;
  return true;
}

// ---- nodes ----

bool ig_placer_describe(const ig_placer *p, ig_node *n, const char *cls, const char *name) {
  char text[128];
  (void)snprintf(text, sizeof text, "%s_0;%s.%s", name, cls, name);
  n->meta.text[IG_META_TORCH_FN] = ig_graph_keep_text(p->c, p->g, text);
  n->meta.text[IG_META_SOURCE_FN] = NULL;
  return n->meta.text[IG_META_TORCH_FN] != NULL;
}

// The function that a call comes from is the one that it calls.
static bool describe(const ig_placer *p, ig_node *n) {
  if (n->callee == IG_CALLEE_SIZE) return ig_placer_describe(p, n, "OpOverload", "sym_size.int");
  if (n->callee == IG_CALLEE_OP) {
    return ig_placer_describe(p, n, "OpOverload", strchr(n->op->target, '.') + 1);
  }
  bool torch = n->arith == IG_EXPR_NOT || n->arith == IG_EXPR_MIN || n->arith == IG_EXPR_MAX;
  return ig_placer_describe(p, n, torch ? "function" : "builtin_function_or_method",
                            ig_sym_base(n->target));
}

ig_node *ig_placer_insert(ig_placer *p, ig_node *proto, const char *name) {
  if (p->at) proto->meta = p->at->meta;
  ig_node *n = ig_graph_insert(p->c, p->g, p->before, proto, name);
  if (n && p->at) {
    n->file = p->at->file;
    n->line = p->at->line;
  }
  if (n && p->forms->describes_checks && !describe(p, n)) return NULL;
  return n;
}

ig_node *ig_placer_insert_size(ig_placer *p, const ig_expr *symbol, ig_node *of, int64_t dim) {
  ig_value args[] = {ig_of_node(of), ig_of_i64(dim)};
  ig_value val;
  ig_value_of_expr(symbol, &val);
  ig_node proto = ig_size_call(args, &val);
  return ig_placer_insert(p, &proto, "sym_size_int");
}

ig_node *ig_placer_insert_call(ig_placer *p, ig_expr_kind kind, const ig_value *args, size_t n,
                               const ig_expr *value) {
  const char *target = ig_sym_target(kind);
  if (!target) {
    (void)ig_fail(p->c, IG_UNSUPPORTED, "no call in a graph computes a function of this assertion");
    return NULL;
  }
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_SYM,
                   .arith = kind,
                   .target = target,
                   .args = args,
                   .npos = n};
  ig_value_of_expr(value, &proto.val);
  return ig_placer_insert(p, &proto, ig_sym_base(target));
}

static int by_stored_order(const void *a, const void *b) {
  return ig_expr_cmp_stored(*(const ig_expr *const *)a, *(const ig_expr *const *)b);
}

// The operands in the order of the calls, in the innermost scope; NULL after an error.
static const ig_expr *const *operands(ig_placer *p, const ig_expr *e) {
  if (e->kind != IG_EXPR_ADD && e->kind != IG_EXPR_MUL) return e->args;
  const ig_expr **sorted = ig_scope_array(p->c, e->n, sizeof *sorted);
  if (!sorted) return NULL;
  memcpy(sorted, e->args, e->n * sizeof *sorted);
  qsort(sorted, e->n, sizeof *sorted, by_stored_order);
  return sorted;
}

static ig_node *fold(ig_placer *p, const ig_expr *e, const ig_expr *const *args) {
  ig_value pair[2];
  const ig_expr *so_far = args[0];
  ig_node *n = NULL;
  if (!ig_placer_compute(p, args[0], &pair[0])) return NULL;
  for (size_t i = 1; i < e->n; i++) {
    if (!ig_placer_compute(p, args[i], &pair[1])) return NULL;
    so_far = i + 1 < e->n ? ig_expr_make2(p->c, e->kind, so_far, args[i]) : e;
    n = so_far ? ig_placer_insert_call(p, e->kind, pair, 2, so_far) : NULL;
    if (!n) return NULL;
    // The first node of an expression is the one that is shared, also if it is a part of another.
    if (p->forms->shares_arithmetic && !ig_placer_put(p, &p->computed, so_far, n, 0)) return NULL;
    pair[0] = ig_of_node(n);
  }
  return n;
}

static ig_node *compute_chain(ig_placer *p, const ig_expr *e) {
  ig_scope s = ig_scope_open(p->c);
  const ig_expr *const *args = operands(p, e);
  ig_node *n = args ? fold(p, e, args) : NULL;
  ig_scope_close(p->c, s);
  return n;
}

// Ne(a, b) is the negation of a == b.
static ig_node *compute_unequal(ig_placer *p, const ig_expr *e) {
  const ig_expr *equal = ig_expr_make2(p->c, IG_EXPR_EQ, e->args[0], e->args[1]);
  ig_value held;
  if (!equal || !ig_placer_compute(p, equal, &held)) return NULL;
  return ig_placer_insert_call(p, IG_EXPR_NOT, &held, 1, e);
}

static ig_node *compute_function(ig_placer *p, const ig_expr *e) {
  enum { MOST = 4 };
  ig_value args[MOST];
  if (e->n == 0 || e->n > MOST) {
    (void)ig_fail(p->c, IG_UNSUPPORTED, "an assertion has too many operands");
    return NULL;
  }
  for (size_t i = 0; i < e->n; i++) {
    if (!ig_placer_compute(p, e->args[i], &args[i])) return NULL;
  }
  bool less = e->kind == IG_EXPR_LE || e->kind == IG_EXPR_LT;
  if (less && args[0].kind != IG_KIND_NODE) {
    ig_value swapped[] = {args[1], args[0]};
    return ig_placer_insert_call(p, e->kind == IG_EXPR_LE ? IG_EXPR_GE : IG_EXPR_GT, swapped, 2, e);
  }
  return ig_placer_insert_call(p, e->kind, args, e->n, e);
}

// h from 2*h + 1: the size without 1, divided by 2.
static ig_node *compute_root(ig_placer *p, const ig_expr *root, ig_node *of, int64_t dim) {
  const ig_expr *size = ig_sizes(of->val.tensor)[dim].expr;
  const ig_expr *symbol = NULL;
  int64_t k = 0;
  int64_t k0 = 0;
  if (!ig_expr_affine(size, &symbol, &k, &k0)) return NULL;
  ig_node *n = ig_placer_insert_size(p, size, of, dim);
  if (n && k0 != 0) {
    const ig_expr *multiple = ig_expr_make2(p->c, IG_EXPR_MUL, ig_expr_of_i64(p->c, k), root);
    ig_value args[] = {ig_of_node(n), ig_of_i64(k0)};
    n = multiple ? ig_placer_insert_call(p, IG_EXPR_SUB, args, 2, multiple) : NULL;
  }
  if (!n || k == 1) return n;
  ig_value args[] = {ig_of_node(n), ig_of_i64(k)};
  return ig_placer_insert_call(p, IG_EXPR_FLOORDIV, args, 2, root);
}

static ig_node *compute_symbol(ig_placer *p, const ig_expr *e) {
  const ig_table_slot *size = ig_table_find(&p->sizes, e);
  if (size) return ig_placer_insert_size(p, e, size->value, size->number);
  const ig_table_slot *derived = ig_table_find(&p->derived, e);
  if (derived) return compute_root(p, e, derived->value, derived->number);
  (void)ig_fail(p->c, IG_UNSUPPORTED, "an assertion needs %s, which nothing here has as a size",
                e->name);
  return NULL;
}

static bool is_chain(const ig_expr *e) {
  bool kind = e->kind == IG_EXPR_ADD || e->kind == IG_EXPR_MUL || e->kind == IG_EXPR_MIN ||
              e->kind == IG_EXPR_MAX || e->kind == IG_EXPR_AND || e->kind == IG_EXPR_OR;
  return kind && e->n > 1;
}

static ig_node *compute_new(ig_placer *p, const ig_expr *e) {
  if (e->kind == IG_EXPR_SYMBOL) return compute_symbol(p, e);
  if (e->kind == IG_EXPR_NE) return compute_unequal(p, e);
  return is_chain(e) ? compute_chain(p, e) : compute_function(p, e);
}

bool ig_placer_compute(ig_placer *p, const ig_expr *e, ig_value *out) {
  if (p->c->status != IG_OK) return false;
  ig_value_of_expr(e, out);
  if (e->kind == IG_EXPR_CONST || e->kind == IG_EXPR_FLOAT || e->kind == IG_EXPR_BOOL) return true;
  const ig_table_slot *known = ig_table_find(&p->computed, e);
  ig_node *n = known ? known->value : compute_new(p, e);
  if (!n) return false;
  bool shared = e->kind == IG_EXPR_SYMBOL || p->forms->shares_arithmetic;
  if (shared && !ig_placer_put(p, &p->computed, e, n, 0)) return false;
  *out = ig_of_node(n);
  return true;
}

// ---- calls of operators ----

bool ig_placer_insert_op(ig_placer *p, unsigned id, const char *name, const ig_value *args,
                         size_t npos, size_t nkw) {
  static const char *const keys[] = {"min", "max"};
  const ig_op *op = ig_op_at(p->c, id);
  if (!op) return false;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = true,
                   .args = args,
                   .npos = npos,
                   .nkw = nkw,
                   .keys = keys};
  return ig_placer_insert(p, &proto, p->first_trace ? op->schema.name : name) != NULL;
}

static int64_t clip(ig_wide w, int64_t open) {
  return w == IG_WIDE_MIN || w == IG_WIDE_MAX ? open : (int64_t)w;
}

void ig_placer_range(const ig_placer *p, const ig_symbol *s, int64_t *lo, int64_t *hi) {
  ig_vrange r = ig_symbol_range(p->c, s->expr);
  *lo = clip(r.lo, INT64_MIN);
  *hi = clip(r.hi, s->size_like ? INT64_MAX - 1 : INT64_MAX);
}

bool ig_placer_is_stated(const ig_node *n, unsigned id) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (u->user->kind == IG_NODE_CALL && u->user->op && u->user->op->number == id) return true;
  }
  return false;
}
