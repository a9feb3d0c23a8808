// SPDX-License-Identifier: Apache-2.0
// And, Or, Not, Piecewise.
#include "sym/build.h"

static const ig_expr *negated_relation(ig_ctx *c, const ig_expr *e) {
  return ig_expr_intern(c, ig_relation_negated(e->kind), IG_SORT_BOOL, e->args, 2);
}

const ig_expr *ig_build_not(ig_ctx *c, const ig_expr *a) {
  if (a->kind == IG_EXPR_BOOL) return ig_expr_of_bool(c, !a->value);
  if (a->kind == IG_EXPR_NOT) return a->args[0];
  if (ig_expr_is_relation(a)) return negated_relation(c, a);
  return ig_expr_intern(c, IG_EXPR_NOT, IG_SORT_BOOL, &a, 1);
}

static bool flatten(ig_ctx *c, ig_expr_kind kind, const ig_expr *e, ig_list *l, bool *absorbed) {
  if (e->kind == IG_EXPR_BOOL) {
    if ((e->value != 0) == (kind == IG_EXPR_OR)) *absorbed = true;
    return true;
  }
  bool ok = true;
  if (e->kind == kind) {
    for (size_t i = 0; ok && i < e->n; i++) ok = flatten(c, kind, e->args[i], l, absorbed);
    return ok;
  }
  for (size_t i = 0; i < l->n; i++) {
    if (l->at[i] == e) return true;
  }
  return ig_list_push(c, l, e);
}

static bool has(const ig_list *l, const ig_expr *e) {
  for (size_t i = 0; i < l->n; i++) {
    if (l->at[i] == e) return true;
  }
  return false;
}

// Drops relations that are equivalent to an earlier one; *absorbed: one contradicts another.
static bool drop_repeated(ig_ctx *c, ig_list *l, bool *absorbed) {
  ig_list seen;
  ig_list_init(&seen, c);
  size_t n = 0;
  bool ok = true;
  for (size_t i = 0; ok && i < l->n; i++) {
    const ig_expr *e = l->at[i];
    if (ig_expr_is_relation(e)) {
      const ig_expr *same = ig_relation_canonical(c, e);
      const ig_expr *not_same = same ? negated_relation(c, same) : NULL;
      not_same = not_same ? ig_relation_canonical(c, not_same) : NULL;
      ok = not_same != NULL;
      if (ok && has(&seen, same)) continue;
      if (ok && has(&seen, not_same)) *absorbed = true;
      ok = ok && ig_list_push(c, &seen, same);
    }
    l->at[n++] = e;
  }
  l->n = n;
  ig_list_free(&seen);
  return ok;
}

static bool has_opposite(const ig_list *l) {
  for (size_t i = 0; i < l->n; i++) {
    if (l->at[i]->kind == IG_EXPR_NOT && has(l, l->at[i]->args[0])) return true;
  }
  return false;
}

const ig_expr *ig_build_logic(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n) {
  ig_list l;
  ig_list_init(&l, c);
  bool absorbed = false;
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = flatten(c, kind, args[i], &l, &absorbed);
  if (kind == IG_EXPR_AND) ig_list_sort(&l, ig_expr_cmp_size);
  ok = ok && drop_repeated(c, &l, &absorbed);
  absorbed = absorbed || has_opposite(&l);
  ig_list_sort(&l, ig_expr_cmp_size);
  const ig_expr *e = NULL;
  if (ok) {
    e = absorbed   ? ig_expr_of_bool(c, kind == IG_EXPR_OR)
        : l.n == 0 ? ig_expr_of_bool(c, kind == IG_EXPR_AND)
        : l.n == 1 ? l.at[0]
                   : ig_expr_intern(c, kind, IG_SORT_BOOL, l.at, l.n);
  }
  ig_list_free(&l);
  return e;
}

// -2*x + 1 < 0 as x > 1/2: the constant moves right, the coefficient is removed.
static const ig_expr *solved_once(ig_ctx *c, const ig_expr *e) {
  const ig_expr *r = ig_relation_canonical(c, e);
  if (!r || r->args[0]->sort == IG_SORT_BOOL) return r;
  const ig_expr *left = r->args[0];
  const ig_expr *right = r->args[1];
  const ig_expr *last = left->kind == IG_EXPR_ADD ? left->args[left->n - 1] : NULL;
  if (last && (last->kind == IG_EXPR_CONST || last->kind == IG_EXPR_RATIONAL)) {
    left = ig_build_difference(c, left, last);
    right = left ? ig_build_difference(c, right, last) : NULL;
    if (!right) return NULL;
  }
  ig_num k = ig_term_coeff(left);
  if (left->kind == IG_EXPR_ADD || ig_expr_is_number(left) || k.is_float) k = ig_num_int(1);
  ig_expr_kind kind = ig_num_sign(k) < 0 ? ig_relation_swapped(r->kind) : r->kind;
  ig_num inverse;
  if (!ig_num_div(ig_num_int(1), k, &inverse)) return ig_expr_overflow(c);
  left = ig_build_scaled(c, inverse, left);
  right = left ? ig_build_scaled(c, inverse, right) : NULL;
  return right ? ig_build_relation(c, kind, left, right) : NULL;
}

// Without its constant a sum may read better negated: 0 == b - a + 1 is b - a == -1, is a - b == 1.
static const ig_expr *solved(ig_ctx *c, const ig_expr *e) {
  const ig_expr *once = solved_once(c, e);
  return !once || once == e || !ig_expr_is_relation(once) ? once : solved_once(c, once);
}

static const ig_expr *solved_inside(ig_ctx *c, const ig_expr *e) {
  if (ig_expr_is_relation(e)) return solved(c, e);
  if (e->kind == IG_EXPR_BOOL || e->kind == IG_EXPR_SYMBOL) return e;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < e->n; i++) ok = ig_list_push(c, &l, solved_inside(c, e->args[i]));
  const ig_expr *out = ok ? ig_expr_make(c, e->kind, l.at, l.n) : NULL;
  ig_list_free(&l);
  return out;
}

// A Piecewise under a condition that it repeats is one of its branches.
static const ig_expr *branch(const ig_expr *value, const ig_expr *cond, const ig_list *before) {
  if (value->kind != IG_EXPR_PIECEWISE || cond->kind == IG_EXPR_BOOL) return value;
  for (size_t i = 0; i + 1 < value->n; i += 2) {
    if (has(before, value->args[i + 1])) continue;
    return value->args[i + 1] == cond ? value->args[i] : value;
  }
  return value;
}

// Adds one pair; the last value repeated widens its condition.
static bool add_pair(ig_ctx *c, ig_list *out, ig_list *before, const ig_expr *value,
                     const ig_expr *cond) {
  if (ig_expr_is_relation(cond)) {
    const ig_expr *opposite = negated_relation(c, cond);
    opposite = opposite ? ig_relation_canonical(c, opposite) : NULL;
    if (!opposite) return false;
    if (has(before, opposite)) cond = ig_expr_of_bool(c, true);
  }
  if (!ig_list_push(c, before, cond)) return false;
  if (out->n && out->at[out->n - 2] == value) {
    const ig_expr *both[] = {cond, out->at[out->n - 1]};
    const ig_expr *either = ig_build_logic(c, IG_EXPR_OR, both, 2);
    if (either) out->at[out->n - 1] = either;
    return either != NULL;
  }
  if (out->n && out->at[out->n - 1] == cond) return true;
  return ig_list_push(c, out, value) && ig_list_push(c, out, cond);
}

const ig_expr *ig_build_piecewise(ig_ctx *c, const ig_expr *const *args, size_t n) {
  ig_list out;
  ig_list before;
  ig_list_init(&out, c);
  ig_list_init(&before, c);
  ig_expr_sort sort = args[0]->sort;
  bool ok = true;
  for (size_t i = 0; ok && i + 1 < n; i += 2) {
    if (args[i + 1]->kind == IG_EXPR_BOOL && !args[i + 1]->value) continue;
    const ig_expr *cond = solved_inside(c, args[i + 1]);
    ok = cond != NULL;
    if (!ok || (cond->kind == IG_EXPR_BOOL && !cond->value) || has(&before, cond)) continue;
    ok = add_pair(c, &out, &before, branch(args[i], cond, &before), cond);
    if (args[i]->sort > sort && sort != IG_SORT_BOOL) sort = args[i]->sort;
    if (ok && out.at[out.n - 1]->kind == IG_EXPR_BOOL) break;
  }
  const ig_expr *e = NULL;
  if (ok && out.n == 0) {
    (void)ig_fail(c, IG_INVALID, "no branch of a conditional expression can be taken");
  } else if (ok) {
    bool sure = out.n == 2 && out.at[1]->kind == IG_EXPR_BOOL;
    e = sure ? out.at[0] : ig_expr_intern(c, IG_EXPR_PIECEWISE, sort, out.at, out.n);
  }
  ig_list_free(&out);
  ig_list_free(&before);
  return e;
}
