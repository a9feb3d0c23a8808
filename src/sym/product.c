// SPDX-License-Identifier: Apache-2.0
// Products and powers: flat, coefficient first, equal bases are one power, factors by sort key. A
// number times a sum is distributed; sums are not multiplied by each other.
#include "sym/build.h"

static ig_expr_sort sort_of(const ig_list *l) {
  ig_expr_sort s = IG_SORT_INT;
  for (size_t i = 0; i < l->n; i++) s = l->at[i]->sort > s ? l->at[i]->sort : s;
  return s;
}

static const ig_expr *pow_node(ig_ctx *c, const ig_expr *base, ig_wide k) {
  if (k == 1) return base;
  if (k > IG_EXPR_MAX_POWER) {
    (void)ig_fail(c, IG_UNSUPPORTED, "an exponent of a symbolic expression is at most %d",
                  IG_EXPR_MAX_POWER);
    return NULL;
  }
  const ig_expr *args[] = {base, ig_expr_of_wide(c, k)};
  return args[1] ? ig_expr_intern(c, IG_EXPR_POW, base->sort, args, 2) : NULL;
}

// Coefficients go into *k, other factors to the list.
static bool gather(ig_ctx *c, const ig_expr *e, ig_num *k, ig_list *l) {
  if (!ig_num_mul(*k, ig_term_coeff(e), k)) return ig_expr_overflow(c) != NULL;
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&e, &n);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = ig_list_push(c, l, f[i]);
  return ok;
}

static int cmp_base(const ig_expr *a, const ig_expr *b) {
  return ig_expr_cmp(ig_factor_base(a), ig_factor_base(b));
}

// Equal bases are adjacent.
static bool merge_powers(ig_ctx *c, ig_list *l) {
  size_t n = 0;
  for (size_t i = 0; i < l->n;) {
    const ig_expr *base = ig_factor_base(l->at[i]);
    ig_wide k = 0;
    size_t first = i;
    for (; i < l->n && ig_factor_base(l->at[i]) == base; i++) k += ig_factor_power(l->at[i]);
    const ig_expr *f = i == first + 1 ? l->at[first] : pow_node(c, base, k);
    if (!f) return false;
    l->at[n++] = f;
  }
  l->n = n;
  return true;
}

static const ig_expr *finish(ig_ctx *c, ig_num k, ig_list *l) {
  if (ig_num_sign(k) == 0) return ig_expr_of_num(c, k);
  if (l->n == 0) return ig_expr_of_num(c, k);
  if (l->n == 1) return ig_build_scaled(c, k, l->at[0]);
  if (l->n > IG_EXPR_MAX_TERMS) return ig_expr_too_large(c);
  const ig_expr *e = ig_expr_intern(c, IG_EXPR_MUL, sort_of(l), l->at, l->n);
  return e ? ig_build_scaled(c, k, e) : NULL;
}

const ig_expr *ig_build_product(ig_ctx *c, const ig_expr *const *args, size_t n) {
  ig_num k = ig_num_int(1);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = gather(c, args[i], &k, &l);
  ig_list_sort(&l, cmp_base);
  const ig_expr *e = ok && merge_powers(c, &l) ? finish(c, k, &l) : NULL;
  ig_list_free(&l);
  return e;
}

const ig_expr *ig_build_power(ig_ctx *c, const ig_expr *base, ig_wide k) {
  if (k == 0) return ig_expr_of_i64(c, 1);
  if (k == 1) return base;
  ig_num coeff;
  if (k < 0) {
    (void)ig_fail(c, IG_UNSUPPORTED, "a negative power of a symbolic integer is not an integer");
    return NULL;
  }
  if (!ig_num_pow(ig_term_coeff(base), k, &coeff)) return ig_expr_overflow(c);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&base, &n);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    ig_wide p = ig_factor_power(f[i]);
    ok = p <= IG_EXPR_MAX_POWER && k <= IG_EXPR_MAX_POWER;
    if (!ok) (void)pow_node(c, f[i], (ig_wide)IG_EXPR_MAX_POWER + 1);
    ok = ok && ig_list_push(c, &l, pow_node(c, ig_factor_base(f[i]), p * k));
  }
  const ig_expr *e = ok ? finish(c, coeff, &l) : NULL;
  ig_list_free(&l);
  return e;
}
