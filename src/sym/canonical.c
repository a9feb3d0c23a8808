// SPDX-License-Identifier: Apache-2.0
// The form in which facts are stored and looked up: no minus signs, no common divisor, < and <=
// only; logic as a conjunction of disjunctions.
#include "sym/build.h"

// right - left, divided by its integer content.
static const ig_expr *reduced_difference(ig_ctx *c, const ig_expr *left, const ig_expr *right) {
  const ig_expr *d = ig_build_difference(c, right, left);
  d = d ? ig_expr_simplify(c, d) : NULL;
  if (!d) return NULL;
  ig_wide g = 0;
  size_t n = d->kind == IG_EXPR_ADD ? d->n : 1;
  for (size_t i = 0; i < n; i++) {
    ig_num k = ig_term_coeff(d->kind == IG_EXPR_ADD ? d->args[i] : d);
    if (!ig_num_is_int(k)) return d;
    g = ig_wide_gcd(g, k.p);
  }
  return g > 1 ? ig_build_scaled(c, (ig_num){.p = 1, .q = g}, d) : d;
}

static const ig_expr *relation(ig_ctx *c, const ig_expr *e) {
  bool turn = e->kind == IG_EXPR_GT || e->kind == IG_EXPR_GE;
  ig_expr_kind kind = turn ? ig_relation_swapped(e->kind) : e->kind;
  const ig_expr *left = e->args[turn];
  const ig_expr *right = e->args[!turn];
  if (left->sort == IG_SORT_BOOL) return e;
  const ig_expr *d = reduced_difference(c, left, right);
  if (!d) return NULL;
  ig_list minus;
  ig_list plus;
  ig_list_init(&minus, c);
  ig_list_init(&plus, c);
  size_t n = d->kind == IG_EXPR_ADD ? d->n : 1;
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    const ig_expr *t = d->kind == IG_EXPR_ADD ? d->args[i] : d;
    bool negative = ig_num_sign(ig_term_coeff(t)) < 0;
    ok = negative ? ig_list_push(c, &minus, ig_build_negated(c, t)) : ig_list_push(c, &plus, t);
  }
  const ig_expr *a = ok ? ig_build_sum(c, minus.at, minus.n) : NULL;
  const ig_expr *b = a ? ig_build_sum(c, plus.at, plus.n) : NULL;
  const ig_expr *out = b ? ig_build_relation(c, kind, a, b) : NULL;
  ig_list_free(&minus);
  ig_list_free(&plus);
  return out;
}

// Not moved down to relations.
static const ig_expr *push_not(ig_ctx *c, const ig_expr *e, bool negate) {
  if (e->kind == IG_EXPR_NOT) return push_not(c, e->args[0], !negate);
  if (e->kind != IG_EXPR_AND && e->kind != IG_EXPR_OR) return negate ? ig_build_not(c, e) : e;
  ig_expr_kind kind = (e->kind == IG_EXPR_AND) != negate ? IG_EXPR_AND : IG_EXPR_OR;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < e->n; i++) ok = ig_list_push(c, &l, push_not(c, e->args[i], negate));
  const ig_expr *out = ok ? ig_build_logic(c, kind, l.at, l.n) : NULL;
  ig_list_free(&l);
  return out;
}

// a | (b & c) becomes (a | b) & (a | c); both sides are conjunctions already.
static const ig_expr *distribute(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  size_t n = a->kind == IG_EXPR_AND ? a->n : 1;
  size_t m = b->kind == IG_EXPR_AND ? b->n : 1;
  if (n * m > 256) return ig_expr_too_large(c);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    for (size_t k = 0; ok && k < m; k++) {
      const ig_expr *pair[] = {a->kind == IG_EXPR_AND ? a->args[i] : a,
                               b->kind == IG_EXPR_AND ? b->args[k] : b};
      ok = ig_list_push(c, &l, ig_build_logic(c, IG_EXPR_OR, pair, 2));
    }
  }
  const ig_expr *out = ok ? ig_build_logic(c, IG_EXPR_AND, l.at, l.n) : NULL;
  ig_list_free(&l);
  return out;
}

static const ig_expr *conjunction(ig_ctx *c, const ig_expr *e) {
  if (ig_expr_is_relation(e)) return relation(c, e);
  if (e->kind != IG_EXPR_AND && e->kind != IG_EXPR_OR) return e;
  const ig_expr *out = NULL;
  for (size_t i = 0; i < e->n; i++) {
    const ig_expr *x = conjunction(c, e->args[i]);
    if (!x) return NULL;
    const ig_expr *pair[] = {out, x};
    out = !out                     ? x
          : e->kind == IG_EXPR_AND ? ig_build_logic(c, IG_EXPR_AND, pair, 2)
                                   : distribute(c, out, x);
    if (!out) return NULL;
  }
  return out;
}

const ig_expr *ig_expr_canonical(ig_ctx *c, const ig_expr *e) {
  if (!e || c->status != IG_OK) return NULL;
  const ig_expr *plain = push_not(c, e, false);
  return plain ? conjunction(c, plain) : NULL;
}
