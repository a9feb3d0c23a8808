// SPDX-License-Identifier: Apache-2.0
// Assertions about numbers that stand in the data, in the graph that reads them, placed where the
// last number that they mention is known. Behind the placeholders: what concerns sizes of inputs
// only. Behind a call that makes an unbacked symbol: that it is a size, its range, and everything
// that was found out or asked of it and of earlier ones, each once. If nothing at all was asked, a
// strict capture still checks the numbers whose ranges are known, and the sizes of tensors that are
// as long as the data says.
//
// A range is one call that states both ends; a training program asserts each end, as the release
// does that has such programs, and leaves out what was asked and says no more.
#include <string.h>

#include "ingot/aten.h"
#include "op/record.h"
#include "pass/placer.h"
#include "sym/solve.h"

// ---- what is said of a symbol ----

static bool say(ig_placer *p, const ig_expr *e) {
  ig_value held;
  if (e->kind == IG_EXPR_BOOL || !ig_placer_compute(p, e, &held)) return p->c->status == IG_OK;
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "Runtime assertion failed for expression ");
  ig_str_expr(&s, e);
  ig_str_add(&s, " on node '%s'", held.kind == IG_KIND_NODE ? held.node->name : "");
  ig_value args[] = {held, ig_of_str(s.at)};
  bool ok =
      s.failed ? ig_no_memory(p->c)
               : ig_placer_insert_op(p, IG_ID__ASSERT_SCALAR, "_assert_scalar_default", args, 2, 0);
  ig_str_free(&s);
  return ok;
}

static bool say_end(ig_placer *p, ig_expr_kind kind, const ig_expr *u, int64_t end) {
  const ig_expr *bound = ig_expr_make2(p->c, kind, u, ig_expr_of_i64(p->c, end));
  return bound && ig_placer_put(p, &p->said, bound, p, 1) && say(p, bound);
}

static bool say_ends(ig_placer *p, const ig_symbol *s, ig_vrange r) {
  bool low = r.lo > (ig_wide)INT64_MIN;
  bool high = r.hi < (ig_wide)INT64_MAX - 1;
  return (!low || say_end(p, IG_EXPR_GE, s->expr, (int64_t)r.lo)) &&
         (!high || say_end(p, IG_EXPR_LE, s->expr, (int64_t)r.hi));
}

static bool say_range(ig_placer *p, const ig_expr *u, ig_node *n) {
  const ig_symbol *s = ig_env_symbol(p->c, u);
  if (!s || u->sort != IG_SORT_INT) return p->c->status == IG_OK;
  ig_value self = ig_of_node(n);
  if (s->size_like && !ig_placer_is_stated(n, IG_ID_SYM_CONSTRAIN_RANGE_FOR_SIZE) &&
      !ig_placer_insert_op(p, IG_ID_SYM_CONSTRAIN_RANGE_FOR_SIZE,
                           "sym_constrain_range_for_size_default", &self, 1, 0)) {
    return false;
  }
  ig_vrange r = ig_symbol_range(p->c, u);
  // That a size is not negative is compared when the call above is traced.
  bool compared = s->size_like && p->first_trace;
  if (compared && !ig_graph_name(p->c, p->g, "ge")) return false;
  if (p->forms->asserts_ends) return say_ends(p, s, r);
  if (r.lo <= (ig_wide)INT64_MIN && r.hi >= (ig_wide)INT64_MAX - 1) return true;
  int64_t lo = 0;
  int64_t hi = 0;
  ig_placer_range(p, s, &lo, &hi);
  ig_value args[] = {self, ig_of_i64(lo), ig_of_i64(hi)};
  return ig_placer_insert_op(p, IG_ID_SYM_CONSTRAIN_RANGE, "sym_constrain_range_default", args, 1,
                             2);
}

// u0 <= 5 or 0 <= u0, where the ends of u0 are asserted.
static bool is_end(const ig_placer *p, const ig_expr *e) {
  if (!p->forms->asserts_ends || (e->kind != IG_EXPR_LE && e->kind != IG_EXPR_GE)) return false;
  const ig_expr *a = e->args[0];
  const ig_expr *b = e->args[1];
  const ig_expr *symbol = a->kind == IG_EXPR_SYMBOL ? a : b;
  return ig_expr_is_number(symbol == a ? b : a) && ig_table_find(&p->bound, symbol);
}

static bool is_bound_outside(const ig_placer *p, const ig_expr *e) {
  for (p = p->outer; p; p = p->outer) {
    if (ig_table_find(&p->bound, e)) return true;
  }
  return false;
}

static bool is_ready(ig_placer *p, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *all = ig_expr_symbols(p->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    bool given = all[i]->backed || is_bound_outside(p, all[i]);
    bool here = given ? ig_table_find(&p->sizes, all[i]) || ig_table_find(&p->computed, all[i]) ||
                            ig_table_find(&p->derived, all[i])
                      : ig_table_find(&p->bound, all[i]) != NULL;
    if (!here) return false;
  }
  return true;
}

static bool is_said(const ig_placer *p, const ig_expr *e) {
  for (; p; p = p->outer) {
    if (ig_table_find(&p->said, e)) return true;
  }
  return false;
}

// A declared dimension has a symbol of its own while the program is captured. If it is derived, no
// size has that symbol afterwards, but what it stands for.
static const ig_expr *declared(void *user, const ig_expr *e) {
  ig_placer *p = user;
  if (e->kind != IG_EXPR_SYMBOL || !e->backed || ig_table_find(&p->sizes, e)) return NULL;
  const ig_symbol *s = ig_env_symbol(p->c, e);
  return s ? s->replacement : NULL;
}

// Assertions that mention nothing that is not known yet; `unbacked`: those about data.
static bool say_ready(ig_placer *p, bool unbacked) {
  for (size_t i = 0; i < p->env->asserts.n; i++) {
    const ig_assert *a = &p->env->asserts.at[i];
    if ((a->symbol != NULL) != unbacked) continue;
    const ig_expr *e = ig_expr_replace(p->c, a->expr, declared, p);
    if (!e) return false;
    if (is_said(p, e) || is_end(p, e) || !is_ready(p, e)) continue;
    if (!ig_placer_put(p, &p->said, e, p, 1) || !say(p, e)) return false;
  }
  return true;
}

// ---- sizes of inputs ----

static bool note_symbols(ig_placer *p, const ig_expr *e, ig_table *needed) {
  size_t n = 0;
  const ig_expr *const *all = ig_expr_symbols(p->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    if (all[i]->backed && !ig_placer_put(p, needed, all[i], p, 1)) return false;
  }
  return p->c->status == IG_OK;
}

// Sizes that some assertion mentions are read right behind the inputs.
static bool read_sizes(ig_placer *p, const ig_table *needed) {
  for (ig_node *n = p->g->first; n != p->before; n = n->next) {
    for (int d = 0; n->val.kind == IG_KIND_TENSOR && d < n->val.tensor->ndim; d++) {
      const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
      bool wanted = e && e->kind == IG_EXPR_SYMBOL && ig_table_find(needed, e) &&
                    !ig_table_find(&p->computed, e);
      ig_node *size = wanted ? ig_placer_insert_size(p, e, n, d) : NULL;
      if (wanted && !(size && ig_placer_put(p, &p->computed, e, size, 0))) return false;
    }
  }
  return true;
}

static bool read_needed_sizes(ig_placer *p) {
  ig_table needed = ig_table_make(p->c->alloc);
  bool ok = true;
  for (size_t i = 0; i < p->env->asserts.n && ok; i++) {
    const ig_expr *e = ig_expr_replace(p->c, p->env->asserts.at[i].expr, declared, p);
    ok = e && note_symbols(p, e, &needed);
  }
  ok = ok && read_sizes(p, &needed);
  ig_table_free(&needed);
  return ok;
}

// ---- the walk ----

static bool know_sizes(ig_placer *p, ig_node *n) {
  const ig_tensor *t = n->val.tensor;
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    const ig_expr *root = NULL;
    int64_t k = 0;
    int64_t k0 = 0;
    if (!e) continue;
    if (e->kind == IG_EXPR_SYMBOL) {
      if (!ig_placer_put(p, &p->sizes, e, n, d)) return false;
    } else if (ig_expr_affine(e, &root, &k, &k0) && root && k != 0) {
      if (!ig_placer_put(p, &p->derived, root, n, d)) return false;
    }
  }
  return true;
}

static bool bind(ig_placer *p, const ig_expr *u, ig_node *n) {
  if (!ig_placer_put(p, &p->bound, u, n, 1)) return false;
  if (n->val.kind != IG_KIND_TENSOR && !ig_placer_put(p, &p->computed, u, n, 0)) return false;
  ig_value value;
  return ig_placer_compute(p, u, &value) && say_range(p, u, value.node) && say_ready(p, true);
}

static bool is_new(const ig_placer *p, const ig_expr *e) {
  return e && e->kind == IG_EXPR_SYMBOL && !e->backed && !ig_table_find(&p->bound, e) &&
         !is_bound_outside(p, e);
}

static bool check_inline(ig_placer *p, ig_node *n) {
  if (n->val.kind == IG_KIND_INT && is_new(p, n->val.i.expr)) {
    return ig_placer_put(p, &p->bound, n->val.i.expr, n, 1) &&
           ig_placer_check_number(p, n->val.i.expr, n);
  }
  for (int d = 0; n->val.kind == IG_KIND_TENSOR && d < n->val.tensor->ndim; d++) {
    const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
    if (!is_new(p, e)) continue;
    if (!ig_placer_put(p, &p->bound, e, n, 1) || !ig_placer_check_size(p, e, n, d)) return false;
  }
  return true;
}

// What was computed before is read from there.
static bool share(ig_placer *p, ig_node *n) {
  const ig_expr *e = p->forms->shares_arithmetic ? ig_value_expr(&n->val) : NULL;
  const ig_table_slot *known = e ? ig_table_find(&p->computed, e) : NULL;
  if (!known) return !e || ig_placer_put(p, &p->computed, e, n, 0);
  return known->value == n || ig_graph_replace(p->c, p->g, n, known->value);
}

static bool visit(ig_placer *p, ig_node *n) {
  if (n->val.kind == IG_KIND_TENSOR && !know_sizes(p, n)) return false;
  if (n->kind != IG_NODE_CALL) return true;
  if (n->callee == IG_CALLEE_SYM || n->callee == IG_CALLEE_SIZE) return share(p, n);
  p->before = n->next;
  p->at = n;
  if (p->inline_only) return check_inline(p, n);
  if (is_new(p, n->binds)) return bind(p, n->binds, n);
  if (n->val.kind == IG_KIND_INT && is_new(p, n->val.i.expr)) return bind(p, n->val.i.expr, n);
  if (n->val.kind != IG_KIND_TENSOR) return true;
  for (int d = 0; d < n->val.tensor->ndim; d++) {
    const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
    if (is_new(p, e) && !bind(p, e, n)) return false;
  }
  return true;
}

static bool place_placeholders(ig_placer *p) {
  ig_node *n = p->g->first;
  for (; n && ig_node_is_placeholder(n); n = n->next) {
    bool number = n->val.kind == IG_KIND_INT && n->val.i.expr;
    if (number && !ig_placer_put(p, &p->computed, n->val.i.expr, n, 0)) return false;
    if (!visit(p, n)) return false;
  }
  while (p->forms->sizes_first && n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_SIZE) {
    if (!share(p, n)) return false;
    n = n->next;
  }
  p->before = n;
  p->at = NULL;
  return p->outer || p->inline_only || read_needed_sizes(p);
}

// Assertions about sizes of inputs stand in front of all calls, or behind the first one.
static bool place(ig_placer *p) {
  if (!place_placeholders(p)) return false;
  ig_node *first = p->before;
  bool late = p->forms->asserts_behind_first && first && first->kind != IG_NODE_OUTPUT;
  if (late) p->before = first->next;
  if (!p->outer && !say_ready(p, false)) return false;
  for (ig_node *n = first; n; n = n->next) {
    if (n->kind != IG_NODE_OUTPUT && !visit(p, n)) return false;
  }
  return true;
}

// What a sub-graph reads from the data is asserted there.
static bool place_all(ig_ctx *c, ig_graph *g, const ig_forms *forms, bool first_trace,
                      const ig_placer *outer) {
  const ig_env *env = g->sym->env;
  ig_placer p = {
      .outer = outer, .c = c, .g = g, .env = env, .forms = forms, .first_trace = first_trace};
  p.inline_only = env->asserts.n == 0 && !forms->asserts_ends;
  p.computed = p.sizes = p.derived = p.bound = p.said = ig_table_make(c->alloc);
  bool ok = place(&p);
  for (size_t i = 0; i < g->subs.n && ok; i++)
    ok = place_all(c, g->subs.at[i].graph, forms, first_trace, &p);
  ig_table_free(&p.computed);
  ig_table_free(&p.sizes);
  ig_table_free(&p.derived);
  ig_table_free(&p.bound);
  ig_table_free(&p.said);
  return ok;
}

static ig_status insert_asserts(ig_ctx *c, ig_graph *g, const ig_forms *forms, bool first_trace) {
  void (*locate)(ig_ctx *, void *) = c->locate;
  ig_mode_scope mode = ig_mode_push_sym(c, g->sym);
  c->locate = NULL;
  (void)place_all(c, g, forms, first_trace, NULL);
  ig_mode_pop(c, &mode);
  c->locate = locate;
  return c->status;
}

// Programs that are lowered have the checks of the earlier release, also those that were for
// training before.
static const ig_forms *forms_of(const ig_program *p) {
  return ig_release_forms(p->training ? p->graph->release : IG_RELEASE_2_4);
}

static bool is_asserted(const ig_program *p) {
  const ig_env *env = p->graph->sym->env;
  bool any = env && p->graph->sym->counts[0] > 0;  // numbers that stand in the data
  bool inlined = any && (p->training ? forms_of(p)->asserts_ends : p->graph->strict);
  return env && (env->asserts.n > 0 || inlined);
}

ig_status ig_program_insert_asserts(ig_ctx *c, ig_program *p, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (!is_asserted(p)) {
    *out = ig_program_retain(p);
    return IG_OK;
  }
  ig_graph *g = ig_graph_copy(c, p->graph);
  ig_program *copy = g ? ig_pass_program(c, p, g, NULL, NULL) : NULL;
  if (copy) copy->training = p->training;
  if (copy && ig_program_place_asserts(c, copy) == IG_OK) {
    *out = copy;
  } else {
    ig_program_free(copy);
  }
  return c->status;
}

// ---- other forms of the same checks ----

// Whether the environment would place this assertion again.
static bool is_known(ig_ctx *c, const ig_env *env, const ig_expr *e) {
  const ig_expr *a = ig_expr_is_relation(e) ? e->args[0] : NULL;
  bool end = a && a->kind == IG_EXPR_SYMBOL && !a->backed && ig_expr_is_number(e->args[1]);
  if (end && (e->kind == IG_EXPR_GE || e->kind == IG_EXPR_LE)) return true;
  for (size_t i = 0; i < env->asserts.n; i++) {
    if (env->asserts.at[i].expr == e) return true;
  }
  return c->status != IG_OK;
}

static bool is_placed(ig_ctx *c, const ig_env *env, const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP || n->npos == 0) return false;
  const ig_node *of = n->args[0].kind == IG_KIND_NODE ? n->args[0].node : NULL;
  const ig_expr *e = of ? ig_value_expr(&of->val) : NULL;
  if (!e) return false;
  if (n->op->number == IG_ID_SYM_CONSTRAIN_RANGE_FOR_SIZE) return n->npos + n->nkw == 1;
  return n->op->number == IG_ID__ASSERT_SCALAR && is_known(c, env, e);
}

static void erase_placed(ig_ctx *c, ig_graph *g) {
  const ig_env *env = g->sym->env;
  for (ig_node *n = g->first, *next = NULL; n; n = next) {
    next = n->next;
    if (is_placed(c, env, n)) ig_graph_erase(g, n);
  }
  for (size_t i = 0; i < g->subs.n; i++) erase_placed(c, g->subs.at[i].graph);
}

// A strict program is traced twice, and the checks of the first trace have taken names.
static void take_names(ig_ctx *c, const ig_program *p) {
  if (!p->training || !p->graph->strict || !forms_of(p)->asserts_ends) return;
  if (insert_asserts(c, p->graph, forms_of(p), true) != IG_OK) return;
  erase_placed(c, p->graph);
  (void)ig_graph_dce(p->graph);
}

ig_status ig_program_place_asserts(ig_ctx *c, ig_program *p) {
  if (c->status != IG_OK || !is_asserted(p)) return c->status;
  take_names(c, p);
  if (c->status != IG_OK || insert_asserts(c, p->graph, forms_of(p), false) != IG_OK)
    return c->status;
  (void)ig_graph_dce(p->graph);
  ig_program_follow_outputs(p);
  return c->status;
}

ig_status ig_program_renew_asserts(ig_ctx *c, ig_program *p) {
  const ig_env *env = c->status == IG_OK ? p->graph->sym->env : NULL;
  if (!env || env->asserts.n == 0) return c->status;
  erase_placed(c, p->graph);
  (void)ig_graph_dce(p->graph);
  return ig_program_place_asserts(c, p);
}
