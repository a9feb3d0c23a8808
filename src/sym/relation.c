// SPDX-License-Identifier: Apache-2.0
// Relations. They fold only when the sign or parity of the difference of the sides is known;
// otherwise both sides stay exactly as given.
#include "sym/build.h"

ig_expr_kind ig_relation_swapped(ig_expr_kind rel) {
  static const ig_expr_kind to[] = {IG_EXPR_EQ, IG_EXPR_NE, IG_EXPR_GT,
                                    IG_EXPR_GE, IG_EXPR_LT, IG_EXPR_LE};
  return to[rel - IG_EXPR_EQ];
}

ig_expr_kind ig_relation_negated(ig_expr_kind rel) {
  static const ig_expr_kind to[] = {IG_EXPR_NE, IG_EXPR_EQ, IG_EXPR_GE,
                                    IG_EXPR_GT, IG_EXPR_LE, IG_EXPR_LT};
  return to[rel - IG_EXPR_EQ];
}

// -1: unknown; else the truth of `d rel 0`.
static int decide(ig_expr_kind rel, unsigned f) {
  switch (rel) {
    case IG_EXPR_EQ:
      return f & IG_IS_ZERO ? 1 : f & IG_IS_NONZERO ? 0 : -1;
    case IG_EXPR_NE:
      return f & IG_IS_ZERO ? 0 : f & IG_IS_NONZERO ? 1 : -1;
    case IG_EXPR_LT:
      return f & IG_IS_NEGATIVE ? 1 : f & IG_IS_NONNEG ? 0 : -1;
    case IG_EXPR_LE:
      return f & IG_IS_NONPOS ? 1 : f & IG_IS_POSITIVE ? 0 : -1;
    case IG_EXPR_GT:
      return f & IG_IS_POSITIVE ? 1 : f & IG_IS_NONPOS ? 0 : -1;
    default:
      return f & IG_IS_NONNEG ? 1 : f & IG_IS_NEGATIVE ? 0 : -1;
  }
}

static const ig_expr *of_booleans(ig_ctx *c, ig_expr_kind kind, const ig_expr *a,
                                  const ig_expr *b) {
  if (kind != IG_EXPR_EQ && kind != IG_EXPR_NE) {
    (void)ig_fail(c, IG_INVALID, "booleans are not ordered");
    return NULL;
  }
  if (a == b) return ig_expr_of_bool(c, kind == IG_EXPR_EQ);
  bool constants = a->kind == IG_EXPR_BOOL && b->kind == IG_EXPR_BOOL;
  if (constants || a->sort != b->sort) return ig_expr_of_bool(c, kind == IG_EXPR_NE);
  const ig_expr *args[] = {a, b};
  return ig_expr_intern(c, kind, IG_SORT_BOOL, args, 2);
}

const ig_expr *ig_build_relation(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  if (a->sort == IG_SORT_BOOL || b->sort == IG_SORT_BOOL) return of_booleans(c, kind, a, b);
  bool real = (ig_expr_facts(a) & IG_IS_REAL) && (ig_expr_facts(b) & IG_IS_REAL);
  if (a == b && (real || kind == IG_EXPR_EQ || kind == IG_EXPR_NE)) {
    return ig_expr_of_bool(c, kind == IG_EXPR_EQ || kind == IG_EXPR_LE || kind == IG_EXPR_GE);
  }
  if (real) {
    const ig_expr *d = ig_build_difference(c, a, b);
    if (!d) return NULL;
    int truth = decide(kind, ig_expr_facts(d));
    if (truth >= 0) return ig_expr_of_bool(c, truth);
  }
  const ig_expr *args[] = {a, b};
  return ig_expr_intern(c, kind, IG_SORT_BOOL, args, 2);
}

// Whether e reads better negated: a negative coefficient, or a sum with more minus than plus signs.
bool ig_expr_is_minus(ig_ctx *c, const ig_expr *e) {
  if (e->kind != IG_EXPR_ADD) return ig_num_sign(ig_term_coeff(e)) < 0;
  size_t minus = 0;
  for (size_t i = 0; i < e->n; i++) minus += ig_num_sign(ig_term_coeff(e->args[i])) < 0;
  if (2 * minus != e->n) return 2 * minus > e->n;
  const ig_expr *other = ig_build_negated(c, e);
  return other && ig_expr_cmp(e, other) < 0;
}

static const ig_expr *with_signs_swapped(ig_ctx *c, ig_expr_kind kind, const ig_expr *a,
                                         const ig_expr *b) {
  const ig_expr *args[] = {ig_build_negated(c, a), ig_build_negated(c, b)};
  if (!args[0] || !args[1]) return NULL;
  return ig_expr_intern(c, ig_relation_swapped(kind), IG_SORT_BOOL, args, 2);
}

const ig_expr *ig_relation_canonical(ig_ctx *c, const ig_expr *e) {
  if (!ig_expr_is_relation(e)) return e;
  const ig_expr *a = e->args[0];
  const ig_expr *b = e->args[1];
  ig_expr_kind kind = e->kind;
  bool swap = ig_expr_is_number(b) ? false : ig_expr_is_number(a) || ig_expr_cmp_size(a, b) > 0;
  if (swap) {
    a = e->args[1];
    b = e->args[0];
    kind = ig_relation_swapped(kind);
  }
  if (a->sort != IG_SORT_BOOL && b->sort != IG_SORT_BOOL) {
    if (ig_expr_is_minus(c, a)) return with_signs_swapped(c, kind, a, b);
    if (!ig_expr_is_number(b) && ig_expr_is_minus(c, b)) {
      const ig_expr *minus = ig_build_negated(c, b);
      if (!minus) return NULL;
      if (ig_expr_cmp_size(minus, a) < 0) {  // -b precedes a
        return with_signs_swapped(c, ig_relation_swapped(kind), b, a);
      }
    }
  }
  if (c->status != IG_OK) return NULL;
  const ig_expr *args[] = {a, b};
  return ig_expr_intern(c, kind, IG_SORT_BOOL, args, 2);
}
