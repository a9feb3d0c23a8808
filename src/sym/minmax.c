// SPDX-License-Identifier: Apache-2.0
// Min, Max and Abs.
//
// Min and Max are flat; an operand that another one dominates by the sign of their difference is
// dropped, and so is what a nested opposite one repeats. Operands are ordered by size, then by sort
// key.
#include "sym/build.h"

static bool contains(const ig_expr *e, const ig_expr *arg) {
  for (size_t i = 0; i < e->n; i++) {
    if (e->args[i] == arg) return true;
  }
  return false;
}

static bool is_minmax(const ig_expr *e) {
  return e->kind == IG_EXPR_MIN || e->kind == IG_EXPR_MAX;
}

static ig_expr_sort sort_of(const ig_expr *const *args, size_t n) {
  ig_expr_sort s = IG_SORT_INT;
  for (size_t i = 0; i < n; i++) s = args[i]->sort > s ? args[i]->sort : s;
  return s;
}

// Operands are distinct and flat already.
static const ig_expr *node(ig_ctx *c, ig_expr_kind kind, ig_list *l) {
  if (l->n == 1) return l->at[0];
  ig_list_sort(l, ig_expr_cmp_size);
  return ig_expr_intern(c, kind, sort_of(l->at, l->n), l->at, l->n);
}

static bool flatten(ig_ctx *c, ig_expr_kind kind, const ig_expr *e, ig_list *l) {
  if (e->kind != kind) {
    for (size_t i = 0; i < l->n; i++) {
      if (l->at[i] == e) return true;
    }
    return ig_list_push(c, l, e);
  }
  bool ok = true;
  for (size_t i = 0; ok && i < e->n; i++) ok = flatten(c, kind, e->args[i], l);
  return ok;
}

// What `e`, an operand of a function of this kind, becomes beside the operand `a`.
static const ig_expr *beside(ig_ctx *c, ig_expr_kind kind, const ig_expr *e, const ig_expr *a) {
  if (!is_minmax(e)) return e;
  bool has = contains(e, a);
  if (has && e->kind != kind) return a;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  bool changed = has;
  for (size_t i = 0; ok && i < e->n; i++) {
    if (e->args[i] == a) continue;
    const ig_expr *x = beside(c, kind, e->args[i], a);
    changed = changed || x != e->args[i];
    ok = x && flatten(c, e->kind, x, &l);
  }
  const ig_expr *out = !ok ? NULL : changed ? ig_build_minmax(c, e->kind, l.at, l.n) : e;
  ig_list_free(&l);
  return out;
}

// 1: a is at least b; -1: at most.
static int compare(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  const ig_expr *d = ig_build_difference(c, a, b);
  unsigned f = d ? ig_expr_facts(d) : 0;
  return f & IG_IS_NONNEG ? 1 : f & IG_IS_NONPOS ? -1 : 0;
}

// Drops redundant operands.
static bool drop_dominated(ig_ctx *c, ig_expr_kind kind, ig_list *l) {
  size_t n = 0;
  int want = kind == IG_EXPR_MAX ? 1 : -1;
  for (size_t i = 0; i < l->n; i++) {
    const ig_expr *v = l->at[i];
    bool keep = true;
    size_t m = 0;
    for (size_t k = 0; k < n; k++) {
      int s = keep ? compare(c, v, l->at[k]) : 0;
      if (c->status != IG_OK) return false;
      if (s == -want || v == l->at[k]) keep = false;
      if (s != want) l->at[m++] = l->at[k];
    }
    n = m;
    if (keep) l->at[n++] = v;
  }
  l->n = n;
  return true;
}

static bool is_less(const ig_expr *a, const ig_expr *b) {
  return ig_num_cmp(ig_expr_num(a), ig_expr_num(b)) < 0;
}

// A number among the operands drops nested opposite ones that hold a number on the wrong side.
static void drop_by_number(ig_expr_kind kind, ig_list *l) {
  const ig_expr *best = NULL;
  bool max = kind == IG_EXPR_MAX;
  for (size_t i = 0; i < l->n; i++) {
    const ig_expr *v = l->at[i];
    if (!ig_expr_is_number(v)) continue;
    if (!best || (max ? is_less(best, v) : is_less(v, best))) best = v;
  }
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++) {
    const ig_expr *v = l->at[i];
    bool nested = best && is_minmax(v) && v->kind != kind && ig_expr_is_number(v->args[0]);
    if (nested && (max ? is_less(v->args[0], best) : is_less(best, v->args[0]))) continue;
    l->at[n++] = v;
  }
  l->n = n;
}

// Min(Max(x, y), Max(x, z)) becomes Max(x, Min(y, z)) when all nested opposite ones share x.
static const ig_expr *factored(ig_ctx *c, ig_expr_kind kind, const ig_list *nested) {
  ig_expr_kind other = nested->at[0]->kind;
  ig_list common;
  ig_list rests;
  ig_list_init(&common, c);
  ig_list_init(&rests, c);
  bool ok = true;
  bool empty = false;
  for (size_t i = 0; ok && i < nested->at[0]->n; i++) {
    const ig_expr *x = nested->at[0]->args[i];
    bool in_all = true;
    for (size_t k = 1; k < nested->n; k++) in_all = in_all && contains(nested->at[k], x);
    if (in_all) ok = ig_list_push(c, &common, x);
  }
  for (size_t k = 0; ok && common.n && k < nested->n; k++) {
    ig_list rest;
    ig_list_init(&rest, c);
    for (size_t i = 0; ok && i < nested->at[k]->n; i++) {
      const ig_expr *x = nested->at[k]->args[i];
      bool shared = false;
      for (size_t j = 0; j < common.n; j++) shared = shared || common.at[j] == x;
      if (!shared) ok = ig_list_push(c, &rest, x);
    }
    empty = empty || rest.n == 0;
    if (ok && rest.n) {
      const ig_expr *r = ig_build_minmax(c, other, rest.at, rest.n);
      ok = r && flatten(c, kind, r, &rests);
    }
    ig_list_free(&rest);
  }
  const ig_expr *out = NULL;
  if (ok && common.n) {
    if (!empty) {
      const ig_expr *r = ig_build_minmax(c, kind, rests.at, rests.n);
      ok = r && flatten(c, other, r, &common);
    }
    if (ok) out = ig_build_minmax(c, other, common.at, common.n);
  }
  ig_list_free(&common);
  ig_list_free(&rests);
  return out;
}

static bool factor(ig_ctx *c, ig_expr_kind kind, ig_list *l) {
  ig_list nested;
  ig_list_init(&nested, c);
  bool ok = true;
  for (size_t i = 0; ok && i < l->n; i++) {
    if (is_minmax(l->at[i]) && l->at[i]->kind != kind) ok = ig_list_push(c, &nested, l->at[i]);
  }
  const ig_expr *one = ok && nested.n > 1 ? factored(c, kind, &nested) : NULL;
  if (one) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
      if (!is_minmax(l->at[i]) || l->at[i]->kind == kind) l->at[n++] = l->at[i];
    }
    l->n = n;
    ok = flatten(c, kind, one, l);
  }
  ig_list_free(&nested);
  return ok && c->status == IG_OK;
}

static bool collapse(ig_ctx *c, ig_expr_kind kind, ig_list *l) {
  ig_list_sort(l, ig_expr_cmp_size);
  drop_by_number(kind, l);
  for (size_t i = 0; i < l->n; i++) {
    for (size_t k = i + 1; k < l->n; k++) {
      const ig_expr *e = beside(c, kind, l->at[k], l->at[i]);
      if (!e) return false;
      l->at[k] = e;
    }
  }
  return l->n < 2 || factor(c, kind, l);
}

const ig_expr *ig_build_minmax(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n) {
  ig_list l;
  ig_list flat;
  ig_list_init(&l, c);
  ig_list_init(&flat, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = flatten(c, kind, args[i], &l);
  ok = ok && (l.n < 2 || collapse(c, kind, &l));
  for (size_t i = 0; ok && i < l.n; i++) ok = flatten(c, kind, l.at[i], &flat);
  ok = ok && drop_dominated(c, kind, &flat);
  const ig_expr *e = ok ? node(c, kind, &flat) : NULL;
  ig_list_free(&l);
  ig_list_free(&flat);
  return e;
}

static const ig_expr *abs_of_product(ig_ctx *c, const ig_expr *a) {
  ig_list known;
  ig_list open;
  ig_list_init(&known, c);
  ig_list_init(&open, c);
  bool ok = true;
  for (size_t i = 0; ok && i < a->n; i++) {
    const ig_expr *x = ig_build_abs(c, a->args[i]);
    ok = x != NULL;
    if (ok && x->kind == IG_EXPR_ABS) {
      ok = ig_list_push(c, &open, x->args[0]);
    } else {
      ok = ok && ig_list_push(c, &known, x);
    }
  }
  if (ok && open.n) {
    // Factors that met in it may be known now: |x*|x*y|| has x**2.
    const ig_expr *rest = ig_build_product(c, open.at, open.n);
    const ig_expr *abs = !rest       ? NULL
                         : rest == a ? ig_expr_intern(c, IG_EXPR_ABS, rest->sort, &rest, 1)
                                     : ig_build_abs(c, rest);
    ok = abs && ig_list_push(c, &known, abs);
  }
  const ig_expr *e = ok ? ig_build_product(c, known.at, known.n) : NULL;
  ig_list_free(&known);
  ig_list_free(&open);
  return e;
}

const ig_expr *ig_build_abs(ig_ctx *c, const ig_expr *a) {
  unsigned f = ig_expr_facts(a);
  if (f & IG_IS_NONNEG) return a;
  if (f & IG_IS_NONPOS) return ig_build_negated(c, a);
  if (a->kind == IG_EXPR_ABS) return a;
  if (a->kind == IG_EXPR_MUL) return abs_of_product(c, a);
  if (a->kind == IG_EXPR_POW) {  // an odd power: |x|**3 is x**2*|x|
    const ig_expr *parts[] = {ig_build_power(c, a->args[0], a->args[1]->num - 1),
                              ig_build_abs(c, a->args[0])};
    return parts[0] && parts[1] ? ig_build_product(c, parts, 2) : NULL;
  }
  if (a->kind == IG_EXPR_ADD && ig_expr_is_minus(c, a)) a = ig_build_negated(c, a);
  return a ? ig_expr_intern(c, IG_EXPR_ABS, a->sort, &a, 1) : NULL;
}
