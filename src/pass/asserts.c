// SPDX-License-Identifier: Apache-2.0
// Assertions about numbers that stand in the data, in the graph that reads them, placed where the
// last number that they mention is known. Behind the placeholders: what concerns sizes of inputs
// only. Behind a call that makes an unbacked symbol: that it is a size, its range, and everything
// that was found out or asked of it and of earlier ones, each once.
#include <string.h>

#include "pass/pass.h"
#include "sym/env.h"

typedef struct placer {
  const struct placer *outer;  // of the graph around this one, done; NULL: none
  ig_ctx *c;
  ig_graph *g;
  const ig_env *env;
  ig_node *before;    // new nodes go here
  const ig_node *at;  // whose metadata they carry; NULL: none
  ig_table computed;  // expression -> node
  ig_table sizes;     // symbol -> node that has it as a size; number: dimension
  ig_table bound;     // unbacked symbols so far
  ig_table said;      // assertions so far, by expression
} placer;

static bool no_memory(ig_ctx *c) {
  return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
}

static bool put(placer *p, ig_table *t, const void *key, void *value, int64_t number) {
  ig_table_slot *slot = ig_table_put(t, key);
  if (!slot) return no_memory(p->c);
  if (slot->value || slot->number) return true;  // the first stays
  slot->value = value;
  slot->number = number;
  return true;
}

// ---- nodes ----

static ig_node *insert(placer *p, ig_node *proto, const char *name) {
  for (size_t i = 0; p->at && i < IG_META_KEY_COUNT; i++) proto->meta[i] = p->at->meta[i];
  ig_node *n = ig_graph_insert(p->c, p->g, p->before, proto, name);
  if (n && p->at) {
    n->file = p->at->file;
    n->line = p->at->line;
  }
  return n;
}

static ig_node *insert_size(placer *p, const ig_expr *symbol, ig_node *of, int64_t dim) {
  ig_value args[] = {ig_of_node(of), ig_of_i64(dim)};
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_SIZE,
                   .target = "aten.sym_size.int",
                   .args = args,
                   .npos = 2};
  ig_value_of_expr(symbol, &proto.val);
  return insert(p, &proto, "sym_size_int");
}

static ig_node *insert_call(placer *p, ig_expr_kind kind, const ig_value *args, size_t n,
                            const ig_expr *value) {
  const char *target = ig_sym_target(kind);
  if (!target) {
    (void)ig_fail(p->c, IG_UNSUPPORTED, "a graph has no word for an assertion's function");
    return NULL;
  }
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_SYM,
                   .arith = kind,
                   .target = target,
                   .args = args,
                   .npos = n};
  ig_value_of_expr(value, &proto.val);
  return insert(p, &proto, ig_sym_base(target));
}

static bool compute(placer *p, const ig_expr *e, ig_value *out);

static ig_node *compute_chain(placer *p, const ig_expr *e) {
  ig_value pair[2];
  const ig_expr *so_far = e->args[0];
  ig_node *n = NULL;
  if (!compute(p, e->args[0], &pair[0])) return NULL;
  for (size_t i = 1; i < e->n; i++) {
    if (!compute(p, e->args[i], &pair[1])) return NULL;
    so_far = i + 1 < e->n ? ig_expr_make2(p->c, e->kind, so_far, e->args[i]) : e;
    n = so_far ? insert_call(p, e->kind, pair, 2, so_far) : NULL;
    if (!n) return NULL;
    pair[0] = ig_of_node(n);
  }
  return n;
}

// 0 <= u0 is asked as u0 >= 0.
static ig_node *compute_function(placer *p, const ig_expr *e) {
  enum { MOST = 4 };
  ig_value args[MOST];
  if (e->n == 0 || e->n > MOST) {
    (void)ig_fail(p->c, IG_UNSUPPORTED, "an assertion has too many operands");
    return NULL;
  }
  for (size_t i = 0; i < e->n; i++) {
    if (!compute(p, e->args[i], &args[i])) return NULL;
  }
  bool less = e->kind == IG_EXPR_LE || e->kind == IG_EXPR_LT;
  if (less && args[0].kind != IG_KIND_NODE) {
    ig_value turned[] = {args[1], args[0]};
    return insert_call(p, e->kind == IG_EXPR_LE ? IG_EXPR_GE : IG_EXPR_GT, turned, 2, e);
  }
  return insert_call(p, e->kind, args, e->n, e);
}

static ig_node *compute_symbol(placer *p, const ig_expr *e) {
  const ig_table_slot *size = ig_table_find(&p->sizes, e);
  if (size) return insert_size(p, e, size->value, size->number);
  (void)ig_fail(p->c, IG_UNSUPPORTED, "an assertion needs %s, which nothing here has as a size",
                e->name);
  return NULL;
}

static bool is_chain(const ig_expr *e) {
  bool kind = e->kind == IG_EXPR_ADD || e->kind == IG_EXPR_MUL || e->kind == IG_EXPR_MIN ||
              e->kind == IG_EXPR_MAX || e->kind == IG_EXPR_AND || e->kind == IG_EXPR_OR;
  return kind && e->n > 1;
}

static bool compute(placer *p, const ig_expr *e, ig_value *out) {
  if (p->c->status != IG_OK) return false;
  ig_value_of_expr(e, out);
  if (e->kind == IG_EXPR_CONST || e->kind == IG_EXPR_FLOAT || e->kind == IG_EXPR_BOOL) return true;
  const ig_table_slot *known = ig_table_find(&p->computed, e);
  ig_node *n = known ? known->value : NULL;
  if (!n) {
    n = e->kind == IG_EXPR_SYMBOL ? compute_symbol(p, e)
        : is_chain(e)             ? compute_chain(p, e)
                                  : compute_function(p, e);
    if (!n || !put(p, &p->computed, e, n, 0)) return false;
  }
  *out = ig_of_node(n);
  return true;
}

// ---- what is said of a symbol ----

static bool insert_op(placer *p, const char *op_name, const char *name, const ig_value *args,
                      size_t npos, size_t nkw) {
  static const char *const keys[] = {"min", "max"};
  const ig_op *op = ig_op_find(p->c, op_name);
  if (!op) return ig_fail(p->c, IG_UNSUPPORTED, "%s does not exist", op_name) == IG_OK;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = true,
                   .args = args,
                   .npos = npos,
                   .nkw = nkw,
                   .keys = keys};
  return insert(p, &proto, name) != NULL;
}

static int64_t clip(ig_wide w, int64_t open) {
  return w == IG_WIDE_MIN || w == IG_WIDE_MAX ? open : (int64_t)w;
}

static bool say_range(placer *p, const ig_expr *u, ig_node *n) {
  const ig_symbol *s = ig_env_symbol(p->c, u);
  if (!s || u->sort != IG_SORT_INT) return p->c->status == IG_OK;
  ig_value self = ig_of_node(n);
  if (s->size_like && !insert_op(p, "aten::sym_constrain_range_for_size",
                                 "sym_constrain_range_for_size_default", &self, 1, 0)) {
    return false;
  }
  ig_vrange r = ig_symbol_range(p->c, u);
  if (r.lo <= (ig_wide)INT64_MIN && r.hi >= (ig_wide)INT64_MAX - 1) return true;
  ig_value args[] = {self, ig_of_i64(clip(r.lo, INT64_MIN)), ig_of_i64(clip(r.hi, INT64_MAX - 1))};
  return insert_op(p, "aten::sym_constrain_range", "sym_constrain_range_default", args, 1, 2);
}

static bool is_bound_outside(const placer *p, const ig_expr *e) {
  for (p = p->outer; p; p = p->outer) {
    if (ig_table_find(&p->bound, e)) return true;
  }
  return false;
}

static bool is_ready(placer *p, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *all = ig_expr_symbols(p->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    bool given = all[i]->backed || is_bound_outside(p, all[i]);
    bool here = given ? ig_table_find(&p->sizes, all[i]) || ig_table_find(&p->computed, all[i])
                      : ig_table_find(&p->bound, all[i]) != NULL;
    if (!here) return false;
  }
  return true;
}

static bool is_said(const placer *p, const ig_expr *e) {
  for (; p; p = p->outer) {
    if (ig_table_find(&p->said, e)) return true;
  }
  return false;
}

static bool say(placer *p, const ig_assert *a) {
  ig_value held;
  if (a->expr->kind == IG_EXPR_BOOL || !compute(p, a->expr, &held)) {
    return p->c->status == IG_OK;
  }
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "Runtime assertion failed for expression ");
  ig_str_expr(&s, a->expr);
  ig_str_add(&s, " on node '%s'", held.kind == IG_KIND_NODE ? held.node->name : "");
  ig_value args[] = {held, ig_of_str(s.at)};
  bool ok = s.failed ? no_memory(p->c)
                     : insert_op(p, "aten::_assert_scalar", "_assert_scalar_default", args, 2, 0);
  ig_str_free(&s);
  return ok;
}

// Assertions that mention nothing that is not known yet; `unbacked`: those about data.
static bool say_ready(placer *p, bool unbacked) {
  for (size_t i = 0; i < p->env->asserts.n; i++) {
    const ig_assert *a = &p->env->asserts.at[i];
    if ((a->symbol != NULL) != unbacked || is_said(p, a->expr)) continue;
    if (!is_ready(p, a->expr)) continue;
    if (!put(p, &p->said, a->expr, p, 1) || !say(p, a)) return false;
  }
  return true;
}

// ---- the walk ----

static bool know_sizes(placer *p, ig_node *n) {
  const ig_tensor *t = n->val.tensor;
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    if (e && e->kind == IG_EXPR_SYMBOL && !put(p, &p->sizes, e, n, d)) return false;
  }
  return true;
}

static bool bind(placer *p, const ig_expr *u, ig_node *n) {
  if (!put(p, &p->bound, u, n, 1)) return false;
  if (n->val.kind != IG_KIND_TENSOR && !put(p, &p->computed, u, n, 0)) return false;
  ig_value value;
  return compute(p, u, &value) && say_range(p, u, value.node) && say_ready(p, true);
}

static bool is_new(const placer *p, const ig_expr *e) {
  return e && e->kind == IG_EXPR_SYMBOL && !e->backed && !ig_table_find(&p->bound, e) &&
         !is_bound_outside(p, e);
}

static bool visit(placer *p, ig_node *n) {
  if (n->val.kind == IG_KIND_TENSOR && !know_sizes(p, n)) return false;
  if (n->kind != IG_NODE_CALL || n->callee == IG_CALLEE_SYM || n->callee == IG_CALLEE_SIZE) {
    return true;
  }
  p->before = n->next;
  p->at = n;
  if (is_new(p, n->binds)) return bind(p, n->binds, n);
  if (n->val.kind == IG_KIND_INT && is_new(p, n->val.i.expr)) return bind(p, n->val.i.expr, n);
  if (n->val.kind != IG_KIND_TENSOR) return true;
  for (int d = 0; d < n->val.tensor->ndim; d++) {
    const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
    if (is_new(p, e) && !bind(p, e, n)) return false;
  }
  return true;
}

static bool place(placer *p) {
  ig_node *n = p->g->first;
  for (; n && ig_node_is_placeholder(n); n = n->next) {
    bool number = n->val.kind == IG_KIND_INT && n->val.i.expr;
    if (number && !put(p, &p->computed, n->val.i.expr, n, 0)) return false;
    if (!visit(p, n)) return false;
  }
  p->before = n;
  p->at = NULL;
  if (!p->outer && !say_ready(p, false)) return false;
  for (; n; n = n->next) {
    if (n->kind != IG_NODE_OUTPUT && !visit(p, n)) return false;
  }
  return true;
}

// What a sub-graph reads from the data is asserted there.
static bool place_all(ig_ctx *c, ig_graph *g, const placer *outer) {
  placer p = {.outer = outer, .c = c, .g = g, .env = g->sym->env};
  p.computed = p.sizes = p.bound = p.said = ig_table_make(c->alloc);
  bool ok = place(&p);
  for (size_t i = 0; i < g->subs.n && ok; i++) ok = place_all(c, g->subs.at[i].graph, &p);
  ig_table_free(&p.computed);
  ig_table_free(&p.sizes);
  ig_table_free(&p.bound);
  ig_table_free(&p.said);
  return ok;
}

static ig_status insert_asserts(ig_ctx *c, ig_graph *g) {
  struct ig_sym *sym = c->sym;
  void (*locate)(ig_ctx *, void *) = c->locate;
  c->sym = g->sym;
  c->locate = NULL;
  (void)place_all(c, g, NULL);
  c->sym = sym;
  c->locate = locate;
  return c->status;
}

ig_status ig_program_insert_asserts(ig_ctx *c, ig_program *p, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  const ig_env *env = p->graph->sym->env;
  if (!env || env->asserts.n == 0) {
    *out = ig_program_retain(p);
    return IG_OK;
  }
  ig_graph *g = ig_graph_copy(c, p->graph);
  if (!g) return c->status;
  if (insert_asserts(c, g) == IG_OK) {
    *out = ig_pass_program(c, p, g, NULL, NULL);
    if (*out) (*out)->training = p->training;
  } else {
    ig_graph_free(g);
  }
  return c->status;
}
