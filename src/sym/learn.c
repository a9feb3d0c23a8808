// SPDX-License-Identifier: Apache-2.0
// What a relation that holds implies for its symbols: bounds of each, and for an equality one
// symbol in terms of the others. The larger hint is eliminated, of equal hints the larger name, so
// that sizes are expressed by smaller ones.
#include <string.h>

#include "sym/env.h"

enum { MAX_SYMBOLS = 5 };  // of a relation worth looking at

static bool has(ig_ctx *c, const ig_expr *e, const ig_expr *symbol) {
  size_t n = 0;
  const ig_expr *const *at = ig_expr_symbols(c, e, &n);
  for (size_t i = 0; i < n; i++) {
    if (at[i] == symbol) return true;
  }
  return false;
}

static ig_expr_kind mirrored(ig_expr_kind kind) {
  switch (kind) {
    case IG_EXPR_LT:
      return IG_EXPR_GT;
    case IG_EXPR_LE:
      return IG_EXPR_GE;
    case IG_EXPR_GT:
      return IG_EXPR_LT;
    case IG_EXPR_GE:
      return IG_EXPR_LE;
    default:
      return kind;
  }
}

typedef struct side {
  ig_expr_kind kind;
  const ig_expr *left;   // with the symbol
  const ig_expr *right;  // without
} side;

static const ig_expr *minus(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  const ig_expr *m = ig_expr_make2(c, IG_EXPR_MUL, ig_expr_of_i64(c, -1), b);
  return m ? ig_expr_make2(c, IG_EXPR_ADD, a, m) : NULL;
}

// Terms without the symbol go to the right.
static bool move_terms(ig_ctx *c, side *s, const ig_expr *symbol) {
  if (s->left->kind != IG_EXPR_ADD) return true;
  const ig_expr *with = NULL;
  const ig_expr *rest = s->right;
  for (size_t i = 0; i < s->left->n; i++) {
    const ig_expr *t = s->left->args[i];
    if (has(c, t, symbol)) {
      if (with) return false;
      with = t;
    } else {
      rest = minus(c, rest, t);
      if (!rest) return false;
    }
  }
  s->left = with;
  s->right = rest;
  return with != NULL;
}

// e / k, if that is an integer expression; NULL: not
static const ig_expr *quotient(ig_ctx *c, const ig_expr *e, int64_t k) {
  e = ig_expr_simplify(c, e);
  if (!e) return NULL;
  const ig_expr *sum = ig_expr_of_i64(c, 0);
  bool many = e->kind == IG_EXPR_ADD;
  for (size_t i = 0; i < (many ? e->n : 1) && sum; i++) {
    const ig_expr *t = many ? e->args[i] : e;
    const ig_expr *head = t->kind == IG_EXPR_MUL ? t->args[0] : t;
    if (head->kind != IG_EXPR_CONST || head->value % k != 0) return NULL;
    const ig_expr *q = ig_expr_of_i64(c, head->value / k);
    for (size_t j = 1; t != head && j < t->n && q; j++) {
      q = ig_expr_make2(c, IG_EXPR_MUL, q, t->args[j]);
    }
    sum = q ? ig_expr_make2(c, IG_EXPR_ADD, sum, q) : NULL;
  }
  return sum;
}

// A constant factor on the left is removed.
static bool divide(ig_ctx *c, side *s, const ig_expr *symbol) {
  if (s->left->kind != IG_EXPR_MUL) return true;
  if (s->left->n != 2 || s->left->args[0]->kind != IG_EXPR_CONST) return false;
  int64_t k = s->left->args[0]->value;
  if (!has(c, s->left->args[1], symbol) || k == 0) return false;
  const ig_expr *q = k == -1 ? minus(c, ig_expr_of_i64(c, 0), s->right) : quotient(c, s->right, k);
  if (!q) return false;
  if (k < 0) s->kind = mirrored(s->kind);
  s->left = s->left->args[1];
  s->right = q;
  return true;
}

// a//b >= r is a >= b*r, a//b <= r is a < b*(r + 1) and so on, for a positive constant b.
static bool unroll(ig_ctx *c, side *s) {
  if (s->left->kind != IG_EXPR_FLOORDIV) return true;
  const ig_expr *b = s->left->args[1];
  if (b->kind != IG_EXPR_CONST || b->value <= 0 || s->kind == IG_EXPR_EQ) return false;
  bool next = s->kind == IG_EXPR_GT || s->kind == IG_EXPR_LE;
  bool above = s->kind == IG_EXPR_GT || s->kind == IG_EXPR_GE;
  const ig_expr *r =
      next ? ig_expr_make2(c, IG_EXPR_ADD, s->right, ig_expr_of_i64(c, 1)) : s->right;
  s->right = r ? ig_expr_make2(c, IG_EXPR_MUL, r, b) : NULL;
  s->left = s->left->args[0];
  s->kind = above ? IG_EXPR_GE : IG_EXPR_LT;
  return s->right != NULL;
}

bool ig_env_isolate(ig_ctx *c, const ig_expr *relation, const ig_expr *symbol, bool floordiv,
                    ig_expr_kind *kind, const ig_expr **other) {
  side s = {relation->kind, relation->args[0], relation->args[1]};
  bool right = has(c, s.right, symbol);
  if (has(c, s.left, symbol) == right) return false;  // on both sides
  if (right) s = (side){mirrored(s.kind), s.right, s.left};
  for (int trial = 0; trial < 5 && s.left != symbol; trial++) {
    const ig_expr *before = s.left;
    if (!move_terms(c, &s, symbol) || !divide(c, &s, symbol)) return false;
    if (floordiv ? !unroll(c, &s) : s.left->kind == IG_EXPR_FLOORDIV) return false;
    if (s.left == before) return false;
  }
  if (s.left != symbol) return false;
  *kind = s.kind;
  *other = ig_expr_simplify(c, s.right);
  return *other && (*other)->sort == IG_SORT_INT;
}

static void refine(ig_ctx *c, const ig_expr *relation, const ig_expr *symbol) {
  ig_expr_kind kind = IG_EXPR_EQ;
  const ig_expr *other = NULL;
  if (symbol->sort != IG_SORT_INT) return;
  if (!ig_env_isolate(c, relation, symbol, true, &kind, &other)) return;
  ig_vrange bound = ig_expr_range(c, other);
  ig_wide lo = IG_WIDE_MIN;
  ig_wide hi = IG_WIDE_MAX;
  bool below = kind == IG_EXPR_LT || kind == IG_EXPR_LE || kind == IG_EXPR_EQ;
  bool above = kind == IG_EXPR_GT || kind == IG_EXPR_GE || kind == IG_EXPR_EQ;
  if (below && bound.hi != IG_WIDE_MAX) hi = bound.hi - (kind == IG_EXPR_LT);
  if (above && bound.lo != IG_WIDE_MIN) lo = bound.lo + (kind == IG_EXPR_GT);
  ig_env_narrow(c, symbol, lo, hi);
}

static bool contains(const ig_expr *e, ig_expr_kind a, ig_expr_kind b) {
  if (e->kind == a || e->kind == b) return true;
  for (size_t i = 0; i < e->n; i++) {
    if (contains(e->args[i], a, b)) return true;
  }
  return false;
}

static bool all_backed(const ig_expr *e) {
  return e->backed;
}

// Should a be eliminated rather than b?
static bool rather(const ig_expr *a, const ig_expr *b) {
  int64_t x = a->backed ? a->value : INT64_MAX;
  int64_t y = b->backed ? b->value : INT64_MAX;
  return x != y ? x > y : strcmp(a->name, b->name) > 0;
}

static void replace_one(ig_ctx *c, const ig_expr *e, const ig_expr *const *free, size_t n) {
  const ig_expr *l = e->args[0];
  const ig_expr *r = e->args[1];
  if (l->kind == IG_EXPR_SYMBOL && !l->backed && all_backed(r)) {
    ig_env_equate(c, l, ig_env_find(c, r));
    return;
  }
  if (r->kind == IG_EXPR_SYMBOL && !r->backed && all_backed(l)) {
    ig_env_equate(c, r, ig_env_find(c, l));
    return;
  }
  const ig_expr *best = free[0];
  for (size_t i = 1; i < n; i++) {
    if (rather(free[i], best)) best = free[i];
  }
  ig_expr_kind kind = IG_EXPR_EQ;
  const ig_expr *other = NULL;
  if (!ig_env_isolate(c, e, best, false, &kind, &other)) return;
  other = ig_env_find(c, other);
  if (other && all_backed(other)) ig_env_equate(c, best, other);
}

static bool is_relation(const ig_expr *e) {
  return e->kind == IG_EXPR_EQ || e->kind == IG_EXPR_LT || e->kind == IG_EXPR_LE ||
         e->kind == IG_EXPR_GT || e->kind == IG_EXPR_GE;
}

void ig_env_learn(ig_ctx *c, const ig_expr *relation) {
  if (!relation || !is_relation(relation) || c->status != IG_OK) return;
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(c, relation, &n);
  if (n == 0 || n > MAX_SYMBOLS) return;
  for (size_t i = 0; i < n; i++) refine(c, relation, free[i]);
  if (relation->kind != IG_EXPR_EQ || relation->args[0]->sort != IG_SORT_INT) return;
  if (contains(relation, IG_EXPR_MOD, IG_EXPR_PYTHONMOD) ||
      contains(relation, IG_EXPR_FLOORDIV, IG_EXPR_CLEANDIV)) {
    return;
  }
  replace_one(c, relation, free, n);
}
