// SPDX-License-Identifier: Apache-2.0
// Symbolic numbers in graphs. A number becomes a node when it is first used as an operand: read off
// a tensor that has it as a size, or computed the way the program computed it (its recipe), or,
// when nobody knows how it came about, from its canonical form. Equal numbers of different origins
// become nodes of their own: y.shape[0] is read off y, also where x has the same size. Releases
// that read sizes first have one node per expression.
#include <string.h>

#include "ingot/aten.h"
#include "ir/release.h"
#include "op/arithmetic.h"
#include "op/nested.h"
#include "op/record.h"
#include "sym/solve.h"

enum { MAX_OPERANDS = 4 };

struct ig_recipe {
  ig_expr_kind fn;
  bool busy;  // being followed: cyclic expressions use the canonical form
  size_t n;
  ig_value args[MAX_OPERANDS];
};

const ig_expr *ig_value_expr(const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      return v->i.expr;
    case IG_KIND_FLOAT:
      return v->f_expr;
    case IG_KIND_BOOL:
      return v->b_expr;
    default:
      return NULL;
  }
}

// ---- recipes ----

// x * 1 is x.
static bool is_plain(const ig_value *args, size_t n, ig_value *result) {
  for (size_t i = 0; i < n; i++) {
    if (ig_value_expr(&args[i]) != ig_value_expr(result)) continue;
    if (args[i].kind == IG_KIND_INT && result->kind == IG_KIND_INT) *result = args[i];
    return true;
  }
  return false;
}

// Does the graph tell equal numbers apart?
static bool has_origins(const ig_graph *g) {
  return !ig_release_forms(g->release)->sizes_first;
}

static const ig_origin *origin_of(const ig_ctx *c, const ig_value *v) {
  return v->kind == IG_KIND_INT && v->i.expr && has_origins(c->mode->capture) ? v->i.origin : NULL;
}

// Beside a symbolic float a whole number is written as a float: item * 2.0.
static void promote(ig_recipe *r) {
  bool any = false;
  for (size_t i = 0; i < r->n; i++) any |= r->args[i].kind == IG_KIND_FLOAT && r->args[i].f_expr;
  for (size_t i = 0; any && i < r->n; i++) {
    bool whole = r->args[i].kind == IG_KIND_INT && !r->args[i].i.expr;
    if (whole) r->args[i] = ig_of_f64((double)r->args[i].i.value);
  }
}

// A symbol that is a number or a size of the graph, or of an enclosing one, is read from there. The
// root of a derived dimension may be neither: of h only 2*h is known, and h is computed from it.
static bool is_readable(const ig_graph *g, const ig_expr *symbol) {
  for (; g; g = g->outer) {
    if (ig_table_find(&g->ints, symbol) || ig_table_find(&g->sizes, symbol)) return true;
  }
  return false;
}

void ig_sym_call(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n, ig_value *out) {
  *out = ig_none();
  ig_sym_apply(c, fn, args, n, out);
  const ig_expr *e = c->status == IG_OK && c->mode->capture ? ig_value_expr(out) : NULL;
  if (!e || n > MAX_OPERANDS || is_plain(args, n, out)) return;
  if (e->kind == IG_EXPR_SYMBOL && is_readable(c->mode->capture, e)) return;
  if (out->kind == IG_KIND_INT && has_origins(c->mode->capture)) out->i = ig_int_renew(c, out->i);
  const ig_origin *origin = origin_of(c, out);
  ig_table_slot *slot = ig_table_put(&c->mode->capture->recipes, e);
  if (slot && slot->value && !origin) return;
  ig_recipe *r = slot ? ig_arena_push(&c->mode->capture->arena, sizeof *r) : NULL;
  if (!r) {
    (void)ig_no_memory(c);
    return;
  }
  r->fn = fn;
  r->n = n;
  memcpy(r->args, args, n * sizeof *args);
  promote(r);
  if (!slot->value) slot->value = r;
  slot = origin ? ig_table_put(&c->mode->capture->recipes, origin) : slot;
  if (!slot) {
    (void)ig_no_memory(c);
    return;
  }
  if (!slot->value) slot->value = r;
}

// ---- nodes ----

static ig_node *push_sym(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n,
                         const ig_value *val) {
  const char *target = ig_sym_target(fn);
  if (!target) {
    (void)ig_fail(c, IG_UNSUPPORTED, "%s has no name in Python", ig_expr_kind_text(fn));
    return NULL;
  }
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_SYM,
                   .target = target,
                   .args = args,
                   .npos = n,
                   .val = *val};
  (void)ig_sym_find(target, &proto.arith);
  return ig_graph_push(c, c->mode->capture, &proto, ig_sym_base(target));
}

static ig_value operand(ig_ctx *c, const ig_value *v) {
  if (!ig_value_expr(v)) return *v;
  return ig_of_node(ig_record_number(c, v));
}

static ig_node *push_recipe(ig_ctx *c, ig_recipe *r, const ig_value *val) {
  ig_value args[MAX_OPERANDS];
  r->busy = true;
  for (size_t i = 0; i < r->n && c->status == IG_OK; i++) args[i] = operand(c, &r->args[i]);
  r->busy = false;
  return c->status == IG_OK ? push_sym(c, r->fn, args, r->n, val) : NULL;
}

static ig_node *push_size(ig_ctx *c, const ig_table_slot *slot, const ig_value *val) {
  ig_value args[] = {ig_of_node(slot->value), ig_of_i64(slot->number)};
  ig_node proto = ig_size_call(args, val);
  return ig_graph_push(c, c->mode->capture, &proto, "sym_size_int");
}

static bool is_chain(ig_expr_kind kind) {
  return kind == IG_EXPR_ADD || kind == IG_EXPR_MUL || kind == IG_EXPR_MIN || kind == IG_EXPR_MAX ||
         kind == IG_EXPR_AND || kind == IG_EXPR_OR;
}

// a + b + d becomes two binary nodes.
static ig_node *push_chain(ig_ctx *c, const ig_expr *e) {
  ig_value sum;
  ig_value_of_expr(e->args[0], &sum);
  ig_value left = operand(c, &sum);
  for (size_t i = 1; i < e->n && c->status == IG_OK; i++) {
    ig_value right;
    ig_value_of_expr(e->args[i], &right);
    ig_value pair[] = {sum, right};
    ig_value args[] = {left, operand(c, &right)};
    ig_sym_apply(c, e->kind, pair, 2, &sum);
    if (c->status == IG_OK) left = ig_of_node(push_sym(c, e->kind, args, 2, &sum));
  }
  return c->status == IG_OK && left.kind == IG_KIND_NODE ? left.node : NULL;
}

static ig_node *push_canonical(ig_ctx *c, const ig_expr *e, const ig_value *val) {
  if (is_chain(e->kind)) return push_chain(c, e);
  ig_value args[MAX_OPERANDS];
  size_t n = e->kind == IG_EXPR_PIECEWISE && e->n == MAX_OPERANDS ? 3 : e->n;
  if (n > MAX_OPERANDS || n == 0) {
    (void)ig_fail(c, IG_UNSUPPORTED, "%s cannot be computed in a graph",
                  ig_int_text(c, (ig_int){.value = 0, .expr = e}));
    return NULL;
  }
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    // value, condition, other value, True -> condition, value, other value
    size_t at = e->kind == IG_EXPR_PIECEWISE && i < 2 ? 1 - i : i;
    ig_value v;
    ig_value_of_expr(e->args[at], &v);
    args[i] = operand(c, &v);
  }
  return c->status == IG_OK ? push_sym(c, e->kind, args, n, val) : NULL;
}

// The size of an input that is k*symbol + k0; NULL: none.
static const ig_expr *find_derived(const ig_graph *g, const ig_expr *symbol, int64_t *k,
                                   int64_t *k0) {
  for (const ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    for (int d = 0; n->val.kind == IG_KIND_TENSOR && d < n->val.tensor->ndim; d++) {
      const ig_expr *e = ig_sizes(n->val.tensor)[d].expr;
      const ig_expr *of = NULL;
      if (e && ig_expr_affine(e, &of, k, k0) && of == symbol && *k != 0) return e;
    }
  }
  return NULL;
}

// h from 2*h + 1: the size without 1, divided by 2.
static ig_node *push_root(ig_ctx *c, const ig_expr *symbol, const ig_value *val) {
  int64_t k = 0;
  int64_t k0 = 0;
  const ig_expr *size = find_derived(c->mode->capture, symbol, &k, &k0);
  if (!size) {
    (void)ig_fail(c, IG_UNSUPPORTED, "no input has size %s",
                  ig_int_text(c, (ig_int){.value = 0, .expr = symbol}));
    return NULL;
  }
  ig_value whole;
  ig_value_of_expr(size, &whole);
  ig_value args[] = {operand(c, &whole), ig_of_i64(k0)};
  if (k0 != 0 && c->status == IG_OK) {
    ig_value pair[] = {whole, ig_of_i64(k0)};
    ig_value rest;
    ig_sym_apply(c, IG_EXPR_SUB, pair, 2, &rest);
    if (k == 1) rest = *val;
    args[0] = ig_of_node(push_sym(c, IG_EXPR_SUB, args, 2, &rest));
  }
  args[1] = ig_of_i64(k);
  if (c->status != IG_OK) return NULL;
  return k == 1 ? args[0].node : push_sym(c, IG_EXPR_FLOORDIV, args, 2, val);
}

static bool known_outside(const ig_graph *g, const ig_expr *e) {
  for (g = g->outer; g; g = g->outer) {
    if (e->kind == IG_EXPR_SYMBOL || ig_table_find(&g->ints, e) || ig_table_find(&g->recipes, e) ||
        ig_table_find(&g->sizes, e)) {
      return true;
    }
  }
  return false;
}

static ig_node *make(ig_ctx *c, const ig_expr *e, const ig_value *v) {
  const ig_table_slot *recipe = ig_table_find(&c->mode->capture->recipes, e);
  ig_recipe *r = recipe ? recipe->value : NULL;
  if (r && !r->busy) return push_recipe(c, r, v);
  const ig_table_slot *size = ig_table_find(&c->mode->capture->sizes, e);
  if (size) return push_size(c, size, v);
  if (known_outside(c->mode->capture, e)) return ig_nested_lift_number(c, v);
  return e->kind == IG_EXPR_SYMBOL ? push_root(c, e, v) : push_canonical(c, e, v);
}

static bool remember(ig_ctx *c, const void *key, ig_node *n) {
  ig_table_slot *slot = ig_table_put(&c->mode->capture->ints, key);
  if (!slot) return ig_no_memory(c);
  if (!slot->value) slot->value = n;
  return true;
}

// The node of this very number; NULL: the graph knows nothing about its origin.
static ig_node *of_origin(ig_ctx *c, const ig_origin *origin, const ig_value *v) {
  const ig_graph *g = c->mode->capture;
  const ig_table_slot *known = ig_table_find(&g->ints, origin);
  if (known) return known->value;
  const ig_table_slot *recipe = ig_table_find(&g->recipes, origin);
  const ig_table_slot *size = recipe ? NULL : ig_table_find(&g->sizes, origin);
  ig_recipe *r = recipe ? recipe->value : NULL;
  ig_node *n = r && !r->busy ? push_recipe(c, r, v) : size ? push_size(c, size, v) : NULL;
  return n && remember(c, origin, n) && remember(c, v->i.expr, n) ? n : NULL;
}

ig_node *ig_record_number(ig_ctx *c, const ig_value *v) {
  const ig_expr *e = ig_value_expr(v);
  const ig_origin *origin = origin_of(c, v);
  ig_node *own = origin ? of_origin(c, origin, v) : NULL;
  if (own || c->status != IG_OK) return own;
  const ig_table_slot *known = ig_table_find(&c->mode->capture->ints, e);
  if (known) return known->value;
  ig_node *n = make(c, e, v);
  return n && remember(c, e, n) ? n : NULL;
}

static bool is_comparison(ig_expr_kind fn) {
  return fn >= IG_EXPR_EQ && fn <= IG_EXPR_GE;
}

// Each time it is computed: an earlier node of the same value is the one that is read. Comparisons
// of a strict program are gone before it is traced, but for those that a size is not negative.
void ig_record_arithmetic(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n,
                          const ig_value *result) {
  const ig_graph *g = c->mode->capture;
  const ig_expr *e = c->status == IG_OK && g ? ig_value_expr(result) : NULL;
  if (!e || n > MAX_OPERANDS || !ig_release_forms(g->release)->records_arithmetic) return;
  ig_value same = *result;
  if (is_plain(args, n, &same) || (g->strict && is_comparison(fn))) return;
  ig_recipe r = {.fn = fn, .n = n};
  memcpy(r.args, args, n * sizeof *args);
  promote(&r);
  ig_node *made = push_recipe(c, &r, result);
  if (made) (void)ig_record_know(c, made);
}

void ig_record_is_size(ig_ctx *c, ig_int i) {
  const ig_graph *g = c->status == IG_OK ? c->mode->capture : NULL;
  if (!i.expr || !g || !g->strict || !ig_release_forms(g->release)->records_arithmetic) return;
  ig_recipe r = {.fn = IG_EXPR_GE, .n = 2, .args = {ig_of_int(i), ig_of_i64(0)}};
  ig_value held;
  ig_sym_apply(c, IG_EXPR_GE, r.args, 2, &held);
  if (c->status == IG_OK) (void)push_recipe(c, &r, &held);
}

ig_int ig_record_layout(ig_ctx *c, const ig_tensor *t, int dim, ig_int n) {
  ig_graph *g = c->status == IG_OK ? c->mode->capture : NULL;
  bool reads = n.expr && t->node && g && ig_release_forms(g->release)->reads_layout;
  const ig_lib *lib = reads ? ig_lib_get(c) : NULL;
  if (!lib) return n;
  const ig_op *op = &lib->ops[dim < 0 ? IG_ID_SYM_NUMEL : IG_ID_SYM_STRIDE_INT];
  ig_value args[] = {ig_of_tensor((ig_tensor *)t), ig_of_i64(dim)};
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, args, out);
  if (c->status != IG_OK || !out[0].i.expr || g->last->op != op) return n;
  out[0].i = g->last->val.i = ig_int_renew(c, out[0].i);
  (void)ig_record_know(c, g->last);
  return out[0].i;
}

// ---- symbols of new nodes ----

static bool know_size(ig_ctx *c, const void *key, ig_node *n, int dim) {
  ig_table_slot *slot = ig_table_put(&c->mode->capture->sizes, key);
  if (!slot) return ig_no_memory(c);
  if (slot->value) return true;
  slot->value = n;
  slot->number = dim;
  return true;
}

// Symbols that a placeholder or a result brings along can be read off it later. A size that was
// not taken over from an operand is a new number.
static bool know_sizes(ig_ctx *c, ig_node *n) {
  ig_tensor *t = n->val.tensor;
  bool origins = has_origins(c->mode->capture);
  for (int d = 0; d < t->ndim; d++) {
    ig_int *size = &t->dims[d];
    if (!size->expr) continue;
    if (!know_size(c, size->expr, n, d)) return false;
    if (origins && !size->origin) *size = ig_int_renew(c, *size);
    if (origins && size->origin && !know_size(c, size->origin, n, d)) return false;
  }
  return c->status == IG_OK;
}

// From now on sizes of results that are sizes of a tangent, too, are read off the tangent: the
// backward graph has that anyway.
bool ig_record_know_late(ig_ctx *c, ig_node *n) {
  const ig_tensor *t = n->val.tensor;
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    ig_table_slot *slot = e ? ig_table_put(&c->mode->capture->sizes, e) : NULL;
    if (e && !slot) return ig_no_memory(c);
    if (!slot || (slot->value && ig_node_is_placeholder(slot->value))) continue;
    slot->value = n;
    slot->number = d;
  }
  return true;
}

bool ig_record_know(ig_ctx *c, ig_node *n) {
  if (n->late) return true;
  if (n->val.kind == IG_KIND_TENSOR) return know_sizes(c, n);
  const ig_expr *e = ig_value_expr(&n->val);
  const ig_origin *origin = e ? origin_of(c, &n->val) : NULL;
  return (!e || remember(c, e, n)) && (!origin || remember(c, origin, n));
}
