// SPDX-License-Identifier: Apache-2.0
// What is known without a guard: constants after simplification, facts, then every symbol shifted
// to its lower bound (so that sums of non-negative terms show their sign), then intervals.
#include "sym/env.h"
#include "sym/poly.h"

// Upper bound that shape rules assume for a size-like symbol.
static const ig_wide huge = (ig_wide)1 << 48;
enum { LEAST_SIZE = 2 };  // that a capture takes a dynamic size for

typedef struct asker {
  ig_ctx *c;
  bool oblivious;
  bool all_sizes;
} asker;

static ig_vrange range_of(const asker *a, const ig_expr *symbol) {
  ig_vrange r = ig_symbol_range(a->c, symbol);
  const ig_symbol *s = a->oblivious ? ig_env_symbol(a->c, symbol) : NULL;
  if (s && s->size_like && r.hi >= 2) {
    if (r.lo < 2) r.lo = 2;
    if (r.hi > huge) r.hi = huge;
  }
  if (a->all_sizes && symbol->backed && r.lo == LEAST_SIZE) r.lo = 0;
  return r;
}

static bool is_shifted(ig_vrange r, const ig_expr *symbol) {
  return symbol->sort == IG_SORT_INT && r.lo > IG_WIDE_MIN && r.lo <= INT64_MAX;
}

// The symbol is replaced by its distance from the lower bound, plus 1: it stays positive.
static const ig_expr *shifted(void *user, const ig_expr *e) {
  const asker *a = user;
  if (e->kind != IG_EXPR_SYMBOL) return NULL;
  ig_vrange r = range_of(a, e);
  if (!is_shifted(r, e) || r.lo == 1) return NULL;
  if (r.lo == r.hi) return ig_expr_of_i64(a->c, (int64_t)r.lo);
  return ig_expr_make2(a->c, IG_EXPR_ADD, e, ig_expr_of_i64(a->c, (int64_t)r.lo - 1));
}

static ig_vrange shifted_range(void *user, const ig_expr *symbol) {
  ig_vrange r = range_of(user, symbol);
  if (!is_shifted(r, symbol)) return r;
  if (r.hi != IG_WIDE_MAX) r.hi = r.hi - r.lo + 1;
  r.lo = 1;
  return r;
}

static ig_vrange plain_range(void *user, const ig_expr *symbol) {
  return range_of(user, symbol);
}

static ig_answer from_range(ig_vrange r) {
  if (r.lo != r.hi) return IG_UNKNOWN;
  return r.lo ? IG_YES : IG_NO;
}

// Eq(Mod(s0*s1 + s1, s1), 0): a product that was multiplied out is still a multiple of its factors.
static bool is_multiple(ig_ctx *c, const ig_expr *e) {
  if (e->kind != IG_EXPR_EQ && e->kind != IG_EXPR_NE) return false;
  size_t zero = ig_expr_is_int(e->args[0], 0) ? 0 : 1;
  const ig_expr *mod = e->args[1 - zero];
  bool asked = ig_expr_is_int(e->args[zero], 0) && mod->kind == IG_EXPR_MOD &&
               mod->args[1]->kind != IG_EXPR_CONST;
  return asked && ig_poly_divide(c, mod->args[0], mod->args[1]) != NULL;
}

static ig_answer of_atom(asker *a, const ig_expr *e, bool facts) {
  ig_ctx *c = a->c;
  if (is_multiple(c, e)) return e->kind == IG_EXPR_EQ ? IG_YES : IG_NO;
  ig_answer known = facts ? ig_env_recall(c, e) : IG_UNKNOWN;
  if (known != IG_UNKNOWN) return known;
  known = from_range(ig_expr_range_with(c, e, plain_range, a));
  if (known != IG_UNKNOWN) return known;
  const ig_expr *moved = ig_expr_replace(c, e, shifted, a);
  if (moved) moved = ig_expr_simplify(c, moved);
  if (!moved) return IG_UNKNOWN;
  if (moved->kind == IG_EXPR_BOOL) return moved->value ? IG_YES : IG_NO;
  return from_range(ig_expr_range_with(c, moved, shifted_range, a));
}

static ig_answer decide(asker *a, const ig_expr *e, bool facts) {
  if (e->kind == IG_EXPR_BOOL) return e->value ? IG_YES : IG_NO;
  if (e->kind == IG_EXPR_NOT) {
    ig_answer inner = decide(a, e->args[0], facts);
    return inner == IG_UNKNOWN ? IG_UNKNOWN : inner == IG_YES ? IG_NO : IG_YES;
  }
  bool all = e->kind == IG_EXPR_AND;
  if (!all && e->kind != IG_EXPR_OR) return of_atom(a, e, facts);
  ig_answer whole = facts ? ig_env_recall(a->c, e) : IG_UNKNOWN;
  if (whole != IG_UNKNOWN) return whole;
  ig_answer out = all ? IG_YES : IG_NO;
  for (size_t i = 0; i < e->n; i++) {
    ig_answer part = decide(a, e->args[i], facts);
    if (part == (all ? IG_NO : IG_YES)) return part;
    if (part == IG_UNKNOWN) out = IG_UNKNOWN;
  }
  return out;
}

ig_answer ig_env_static(ig_ctx *c, const ig_expr *e, unsigned how) {
  if (c->status != IG_OK) return IG_UNKNOWN;
  e = ig_env_find(c, e);
  if (!e) return IG_UNKNOWN;
  asker a = {c, (how & IG_ASK_OBLIVIOUS) != 0, (how & IG_ASK_ALL_SIZES) != 0};
  return decide(&a, e, !(how & IG_ASK_WITHOUT_FACTS));
}
