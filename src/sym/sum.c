// SPDX-License-Identifier: Apache-2.0
// Sums: flat, like terms merged, in printed order with the constant last.
#include "sym/build.h"

static ig_expr_sort wider(ig_expr_sort a, ig_expr_sort b) {
  return a > b ? a : b;
}

static ig_expr_sort sort_of(const ig_expr *const *args, size_t n) {
  ig_expr_sort s = IG_SORT_INT;
  for (size_t i = 0; i < n; i++) s = wider(s, args[i]->sort);
  return s;
}

// The factors of a term times k; the term may have had another coefficient.
static const ig_expr *with_coeff(ig_ctx *c, ig_num k, const ig_expr *term) {
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&term, &n);
  if (n == 0) return ig_expr_of_num(c, k);
  if (ig_num_sign(k) == 0) return ig_expr_of_num(c, k);
  if (ig_num_is(k, 1)) return n == 1 ? f[0] : ig_expr_intern(c, IG_EXPR_MUL, sort_of(f, n), f, n);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = ig_list_push(c, &l, ig_expr_of_num(c, k));
  for (size_t i = 0; ok && i < n; i++) ok = ig_list_push(c, &l, f[i]);
  const ig_expr *e = ok ? ig_expr_intern(c, IG_EXPR_MUL, sort_of(l.at, l.n), l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

static bool is_zero(const ig_expr *e) {
  return ig_expr_is_number(e) && ig_num_sign(ig_expr_num(e)) == 0;
}

static const ig_expr *finish(ig_ctx *c, ig_list *l) {
  if (l->n == 0) return ig_expr_of_i64(c, 0);
  if (l->n == 1) return l->at[0];
  if (l->n > IG_EXPR_MAX_TERMS) return ig_expr_too_large(c);
  return ig_expr_intern(c, IG_EXPR_ADD, sort_of(l->at, l->n), l->at, l->n);
}

// Adds the sum of two terms that differ only in their coefficients.
static bool push_merged(ig_ctx *c, ig_list *l, const ig_expr *a, const ig_expr *b) {
  ig_num k;
  if (!ig_num_add(ig_term_coeff(a), ig_term_coeff(b), &k)) return ig_expr_overflow(c) != NULL;
  const ig_expr *sum = with_coeff(c, k, b);
  return sum && (is_zero(sum) || ig_list_push(c, l, sum));
}

// Appends a term; merges it with the last one if they differ only in their coefficients.
static bool append(ig_ctx *c, ig_list *l, const ig_expr *term) {
  const ig_expr *last = l->n ? l->at[l->n - 1] : NULL;
  if (!last || ig_term_cmp(last, term) != 0) return is_zero(term) || ig_list_push(c, l, term);
  l->n--;
  return push_merged(c, l, last, term);
}

static const ig_expr *const *terms_of(const ig_expr *const *e, size_t *n) {
  *n = (*e)->kind == IG_EXPR_ADD ? (*e)->n : 1;
  return (*e)->kind == IG_EXPR_ADD ? (*e)->args : e;
}

static const ig_expr *sum_two(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  size_t n = 0;
  size_t m = 0;
  const ig_expr *const *x = terms_of(&a, &n);
  const ig_expr *const *y = terms_of(&b, &m);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  size_t i = 0;
  size_t j = 0;
  while (ok && i < n && j < m) {
    int r = ig_term_cmp(x[i], y[j]);
    ok = r < 0   ? ig_list_push(c, &l, x[i++])
         : r > 0 ? ig_list_push(c, &l, y[j++])
                 : push_merged(c, &l, x[i++], y[j++]);
  }
  while (ok && i < n) ok = ig_list_push(c, &l, x[i++]);
  while (ok && j < m) ok = ig_list_push(c, &l, y[j++]);
  const ig_expr *e = ok ? finish(c, &l) : NULL;
  ig_list_free(&l);
  return e;
}

const ig_expr *ig_build_sum(ig_ctx *c, const ig_expr *const *args, size_t n) {
  if (n == 0) return ig_expr_of_i64(c, 0);
  if (n == 1) return args[0];
  if (n == 2) return sum_two(c, args[0], args[1]);
  ig_list all;
  ig_list l;
  ig_list_init(&all, c);
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    size_t m = 0;
    const ig_expr *const *t = terms_of(&args[i], &m);
    for (size_t k = 0; ok && k < m; k++) ok = ig_list_push(c, &all, t[k]);
  }
  ig_list_sort(&all, ig_term_cmp);
  for (size_t i = 0; ok && i < all.n; i++) ok = append(c, &l, all.at[i]);
  const ig_expr *e = ok ? finish(c, &l) : NULL;
  ig_list_free(&all);
  ig_list_free(&l);
  return e;
}

const ig_expr *ig_build_scaled(ig_ctx *c, ig_num k, const ig_expr *e) {
  if (ig_num_is(k, 1)) return e;
  if (ig_num_sign(k) == 0) return ig_expr_of_num(c, k);
  if (e->kind != IG_EXPR_ADD) {
    ig_num v;
    if (!ig_num_mul(k, ig_term_coeff(e), &v)) return ig_expr_overflow(c);
    return with_coeff(c, v, e);
  }
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < e->n; i++)
    ok = ig_list_push(c, &l, ig_build_scaled(c, k, e->args[i]));
  const ig_expr *out = ok ? finish(c, &l) : NULL;
  ig_list_free(&l);
  return out;
}

const ig_expr *ig_build_negated(ig_ctx *c, const ig_expr *a) {
  return ig_build_scaled(c, ig_num_int(-1), a);
}

const ig_expr *ig_build_difference(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  const ig_expr *minus = ig_build_negated(c, b);
  return minus ? sum_two(c, a, minus) : NULL;
}
