// SPDX-License-Identifier: Apache-2.0
// Runtime assertions about data-dependent numbers, inserted where the last number that they use is
// known. After the placeholders: conditions on sizes of inputs only. After a call that creates an
// unbacked symbol: that it is a size, its range, and all conditions on it and on earlier ones, each
// once. Without any conditions, a strict capture still checks the numbers whose ranges are known,
// and data-dependent sizes of tensors.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "pass/pass.h"
#include "sym/env.h"
#include "sym/solve.h"

typedef struct placer {
  const struct placer *outer;  // of the graph around this one, done; NULL: none
  ig_ctx *c;
  ig_graph *g;
  const ig_env *env;
  ig_node *before;    // new nodes go here
  const ig_node *at;  // the source of their metadata; NULL: none
  ig_table computed;  // expression -> node
  ig_table sizes;     // symbol -> node that has it as a size; number: dimension
  ig_table derived;   // symbol -> node that has k*symbol + k0 as a size; number: dimension
  ig_table bound;     // unbacked symbols so far
  ig_table said;      // assertions so far, by expression
  bool inline_only;   // no conditions: only the ranges of data-dependent numbers are checked
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
  if (p->at) proto->meta = p->at->meta;
  ig_node *n = ig_graph_insert(p->c, p->g, p->before, proto, name);
  if (n && p->at) {
    n->file = p->at->file;
    n->line = p->at->line;
  }
  return n;
}

static ig_node *insert_size(placer *p, const ig_expr *symbol, ig_node *of, int64_t dim) {
  ig_value args[] = {ig_of_node(of), ig_of_i64(dim)};
  ig_value val;
  ig_value_of_expr(symbol, &val);
  ig_node proto = ig_size_call(args, &val);
  return insert(p, &proto, "sym_size_int");
}

static ig_node *insert_call(placer *p, ig_expr_kind kind, const ig_value *args, size_t n,
                            const ig_expr *value) {
  const char *target = ig_sym_target(kind);
  if (!target) {
    (void)ig_fail(p->c, IG_UNSUPPORTED, "an assertion uses a function that graphs do not have");
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

// 0 <= u0 is written as u0 >= 0.
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

// h from 2*h + 1: the size without 1, divided by 2.
static ig_node *compute_root(placer *p, const ig_expr *root, ig_node *of, int64_t dim) {
  const ig_expr *size = ig_sizes(of->val.tensor)[dim].expr;
  const ig_expr *symbol = NULL;
  int64_t k = 0;
  int64_t k0 = 0;
  if (!ig_expr_affine(size, &symbol, &k, &k0)) return NULL;
  ig_node *n = insert_size(p, size, of, dim);
  if (n && k0 != 0) {
    const ig_expr *multiple = ig_expr_make2(p->c, IG_EXPR_MUL, ig_expr_of_i64(p->c, k), root);
    ig_value args[] = {ig_of_node(n), ig_of_i64(k0)};
    n = multiple ? insert_call(p, IG_EXPR_SUB, args, 2, multiple) : NULL;
  }
  if (!n || k == 1) return n;
  ig_value args[] = {ig_of_node(n), ig_of_i64(k)};
  return insert_call(p, IG_EXPR_FLOORDIV, args, 2, root);
}

static ig_node *compute_symbol(placer *p, const ig_expr *e) {
  const ig_table_slot *size = ig_table_find(&p->sizes, e);
  if (size) return insert_size(p, e, size->value, size->number);
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

// ---- conditions on a symbol ----

static bool insert_op(placer *p, unsigned id, const char *name, const ig_value *args, size_t npos,
                      size_t nkw) {
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
  return insert(p, &proto, name) != NULL;
}

static int64_t clip(ig_wide w, int64_t open) {
  return w == IG_WIDE_MIN || w == IG_WIDE_MAX ? open : (int64_t)w;
}

// An unbounded range ends with the largest number, or with the largest size.
static int64_t upper_bound(const ig_symbol *s, ig_vrange r) {
  return clip(r.hi, s->size_like ? INT64_MAX - 1 : INT64_MAX);
}

// Whether the program itself has called the operator on n already.
static bool is_stated(const ig_node *n, unsigned id) {
  for (const ig_use *u = n->first_use; u; u = u->next) {
    if (u->user->kind == IG_NODE_CALL && u->user->op && u->user->op->number == id) return true;
  }
  return false;
}

static bool say_range(placer *p, const ig_expr *u, ig_node *n) {
  const ig_symbol *s = ig_env_symbol(p->c, u);
  if (!s || u->sort != IG_SORT_INT) return p->c->status == IG_OK;
  ig_value self = ig_of_node(n);
  if (s->size_like && !is_stated(n, IG_ID_SYM_CONSTRAIN_RANGE_FOR_SIZE) &&
      !insert_op(p, IG_ID_SYM_CONSTRAIN_RANGE_FOR_SIZE, "sym_constrain_range_for_size_default",
                 &self, 1, 0)) {
    return false;
  }
  ig_vrange r = ig_symbol_range(p->c, u);
  if (r.lo <= (ig_wide)INT64_MIN && r.hi >= (ig_wide)INT64_MAX - 1) return true;
  ig_value args[] = {self, ig_of_i64(clip(r.lo, INT64_MIN)), ig_of_i64(upper_bound(s, r))};
  return insert_op(p, IG_ID_SYM_CONSTRAIN_RANGE, "sym_constrain_range_default", args, 1, 2);
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
    bool here = given ? ig_table_find(&p->sizes, all[i]) || ig_table_find(&p->computed, all[i]) ||
                            ig_table_find(&p->derived, all[i])
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

static bool say(placer *p, const ig_expr *e) {
  ig_value held;
  if (e->kind == IG_EXPR_BOOL || !compute(p, e, &held)) return p->c->status == IG_OK;
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "Runtime assertion failed for expression ");
  ig_str_expr(&s, e);
  ig_str_add(&s, " on node '%s'", held.kind == IG_KIND_NODE ? held.node->name : "");
  ig_value args[] = {held, ig_of_str(s.at)};
  bool ok = s.failed ? no_memory(p->c)
                     : insert_op(p, IG_ID__ASSERT_SCALAR, "_assert_scalar_default", args, 2, 0);
  ig_str_free(&s);
  return ok;
}

// A declared dimension has its own symbol while the program is captured. If it is derived, sizes
// use its replacement afterwards.
static const ig_expr *declared(void *user, const ig_expr *e) {
  placer *p = user;
  if (e->kind != IG_EXPR_SYMBOL || !e->backed || ig_table_find(&p->sizes, e)) return NULL;
  const ig_symbol *s = ig_env_symbol(p->c, e);
  return s ? s->replacement : NULL;
}

// Assertions that use only known symbols; `unbacked`: those about data.
static bool say_ready(placer *p, bool unbacked) {
  for (size_t i = 0; i < p->env->asserts.n; i++) {
    const ig_assert *a = &p->env->asserts.at[i];
    if ((a->symbol != NULL) != unbacked) continue;
    const ig_expr *e = ig_expr_replace(p->c, a->expr, declared, p);
    if (!e) return false;
    if (is_said(p, e) || !is_ready(p, e)) continue;
    if (!put(p, &p->said, e, p, 1) || !say(p, e)) return false;
  }
  return true;
}

// ---- sizes without conditions ----

// A call without a source line: "ge_0;builtin_function_or_method.ge".
static bool name_call(placer *p, ig_node *n, const char *cls, const char *name) {
  char text[128];
  if (!n) return false;
  (void)snprintf(text, sizeof text, "%s_0;%s.%s", name, cls, name);
  n->meta.text[IG_META_TORCH_FN] = ig_graph_keep_text(p->c, p->g, text);
  n->meta.text[IG_META_SOURCE_FN] = NULL;
  n->meta.text[IG_META_STACK_TRACE] = NULL;
  return n->meta.text[IG_META_TORCH_FN] != NULL;
}

static ig_node *insert_named(placer *p, unsigned id, const ig_value *args, size_t npos,
                             const ig_value *val, const char *name) {
  const ig_op *op = ig_op_at(p->c, id);
  if (!op) return NULL;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = val->kind != IG_KIND_TENSOR,
                   .args = args,
                   .npos = npos,
                   .val = *val};
  ig_node *n = insert(p, &proto, name);
  return name_call(p, n, "OpOverload", strchr(op->target, '.') + 1) ? n : NULL;
}

static bool check_bound(placer *p, ig_node *size, ig_expr_kind kind, int64_t bound,
                        const char *message) {
  ig_ctx *c = p->c;
  ig_scope s = ig_scope_open(c);
  const ig_expr *limit = ig_expr_of_i64(c, bound);
  const ig_expr *holds = limit ? ig_expr_make2(c, kind, size->val.i.expr, limit) : NULL;
  ig_value sides[] = {ig_of_node(size), ig_of_i64(bound)};
  ig_node *asked = holds ? insert_call(p, kind, sides, 2, holds) : NULL;
  bool ok = name_call(p, asked, "builtin_function_or_method", kind == IG_EXPR_GE ? "ge" : "le");
  ig_meta m;
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  ig_value number = ig_of_tensor(ok ? ig_tensor_make(c, &m, true) : NULL);
  ig_value given = ig_of_node(asked);
  ig_node *tensor = number.tensor ? insert_named(p, IG_ID_SCALAR_TENSOR, &given, 1, &number,
                                                 "scalar_tensor_default")
                                  : NULL;
  ig_value args[] = {ig_of_node(tensor), ig_of_str(message)};
  ig_value none = ig_none();
  ok = tensor &&
       insert_named(p, IG_ID__ASSERT_ASYNC_MSG, args, 2, &none, "_assert_async_msg") != NULL;
  ig_scope_close(c, s);
  return ok;
}

// Whether an assertion uses n, possibly through a size, a comparison and a tensor.
static bool reaches_assertion(const ig_node *n, int steps) {
  if (n->kind == IG_NODE_CALL && n->op && n->op->def->check == IG_CHECK_TENSOR) return true;
  for (const ig_use *u = n->first_use; u && steps; u = u->next) {
    if (reaches_assertion(u->user, steps - 1)) return true;
  }
  return false;
}

// A program that is captured again has its assertions already.
static bool is_checked(const ig_node *n, int dim) {
  enum { SIZE_TO_ASSERTION = 3 };
  for (const ig_use *u = n->first_use; u; u = u->next) {
    const ig_node *size = u->user;
    bool same = size->kind == IG_NODE_CALL && size->callee == IG_CALLEE_SIZE && size->npos == 2 &&
                size->args[1].kind == IG_KIND_INT && size->args[1].i.value == dim;
    if (same && reaches_assertion(size, SIZE_TO_ASSERTION)) return true;
  }
  return false;
}

// `number` lies in the range of u; `what` it is: "nonzero.shape[0]".
static bool check_range(placer *p, const ig_expr *u, ig_node *number, const char *what) {
  const ig_symbol *symbol = ig_env_symbol(p->c, u);
  if (!symbol) return false;
  ig_vrange r = ig_symbol_range(p->c, u);
  int64_t lo = clip(r.lo, INT64_MIN);
  int64_t hi = upper_bound(symbol, r);
  ig_str s = ig_str_make(p->c->alloc);
  ig_str_add(&s, "%s is outside of inline constraint [%" PRId64 ", %" PRId64 "].", what, lo, hi);
  bool ok = s.failed ? no_memory(p->c)
                     : check_bound(p, number, IG_EXPR_GE, lo, s.at) &&
                           check_bound(p, number, IG_EXPR_LE, hi, s.at);
  ig_str_free(&s);
  return ok;
}

static bool is_unlimited(ig_ctx *c, const ig_expr *u) {
  return ig_symbol_range(c, u).lo <= (ig_wide)INT64_MIN;
}

static bool check_size(placer *p, const ig_expr *u, ig_node *n, int dim) {
  enum { DIM_CHARACTERS = 32 };
  if (is_unlimited(p->c, u) || is_checked(n, dim)) return true;
  ig_node *size = insert_size(p, u, n, dim);
  if (!name_call(p, size, "OpOverload", "sym_size.int")) return false;
  size_t length = strlen(n->name) + DIM_CHARACTERS;
  char *what = ig_scope_push(p->c, length);
  if (!what) return false;
  (void)snprintf(what, length, "%s.shape[%d]", n->name, dim);
  return check_range(p, u, size, what);
}

// Whether a comparison with the number is asserted already.
static bool is_compared(const ig_node *n) {
  enum { COMPARISON_TO_ASSERTION = 2 };
  for (const ig_use *u = n->first_use; u; u = u->next) {
    bool arithmetic = u->user->kind == IG_NODE_CALL && u->user->callee == IG_CALLEE_SYM;
    if (arithmetic && reaches_assertion(u->user, COMPARISON_TO_ASSERTION)) return true;
  }
  return false;
}

static bool check_number(placer *p, const ig_expr *u, ig_node *n) {
  if (is_unlimited(p->c, u) || is_stated(n, IG_ID_SYM_CONSTRAIN_RANGE)) return true;
  return is_compared(n) || check_range(p, u, n, n->name);
}

// ---- the walk ----

static bool know_sizes(placer *p, ig_node *n) {
  const ig_tensor *t = n->val.tensor;
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    const ig_expr *root = NULL;
    int64_t k = 0;
    int64_t k0 = 0;
    if (!e) continue;
    if (e->kind == IG_EXPR_SYMBOL) {
      if (!put(p, &p->sizes, e, n, d)) return false;
    } else if (ig_expr_affine(e, &root, &k, &k0) && root && k != 0) {
      if (!put(p, &p->derived, root, n, d)) return false;
    }
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

static bool check_inline(placer *p, ig_node *n) {
  if (n->val.kind == IG_KIND_INT && is_new(p, n->val.i.expr)) {
    return put(p, &p->bound, n->val.i.expr, n, 1) && check_number(p, n->val.i.expr, n);
  }
  for (int d = 0; n->val.kind == IG_KIND_TENSOR && d < n->val.tensor->ndim; d++) {
    const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
    if (is_new(p, e) && !(put(p, &p->bound, e, n, 1) && check_size(p, e, n, d))) return false;
  }
  return true;
}

static bool visit(placer *p, ig_node *n) {
  if (n->val.kind == IG_KIND_TENSOR && !know_sizes(p, n)) return false;
  if (n->kind != IG_NODE_CALL || n->callee == IG_CALLEE_SYM || n->callee == IG_CALLEE_SIZE) {
    return true;
  }
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

// Data-dependent numbers of a sub-graph are asserted there.
static bool place_all(ig_ctx *c, ig_graph *g, const placer *outer) {
  const ig_env *env = g->sym->env;
  placer p = {.outer = outer, .c = c, .g = g, .env = env, .inline_only = env->asserts.n == 0};
  p.computed = p.sizes = p.derived = p.bound = p.said = ig_table_make(c->alloc);
  bool ok = place(&p);
  for (size_t i = 0; i < g->subs.n && ok; i++) ok = place_all(c, g->subs.at[i].graph, &p);
  ig_table_free(&p.computed);
  ig_table_free(&p.sizes);
  ig_table_free(&p.derived);
  ig_table_free(&p.bound);
  ig_table_free(&p.said);
  return ok;
}

static ig_status insert_asserts(ig_ctx *c, ig_graph *g) {
  void (*locate)(ig_ctx *, void *) = c->locate;
  ig_mode_scope mode = ig_mode_push_sym(c, g->sym);
  c->locate = NULL;
  (void)place_all(c, g, NULL);
  ig_mode_pop(c, &mode);
  c->locate = locate;
  return c->status;
}

ig_status ig_program_insert_asserts(ig_ctx *c, ig_program *p, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  const ig_env *env = p->graph->sym->env;
  bool inlined = p->graph->strict && !p->training && p->graph->sym->counts[0] > 0;
  if (!env || (env->asserts.n == 0 && !inlined)) {
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
