// SPDX-License-Identifier: Apache-2.0
// Coefficients, exact division, greatest common divisors (by primitive remainders).
#include "sym/poly.h"

#include "sym/build.h"

enum { MAX_WORK = 64 };  // terms; larger polynomials are not handled

static size_t count(const ig_expr *e) {
  return e->kind == IG_EXPR_ADD ? e->n : 1;
}

static const ig_expr *term(const ig_expr *e, size_t i) {
  return e->kind == IG_EXPR_ADD ? e->args[i] : e;
}

static bool is_zero(const ig_expr *e) {
  return ig_expr_is_number(e) && ig_num_sign(ig_expr_num(e)) == 0;
}

static const ig_expr *times(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  const ig_expr *args[] = {a, b};
  return a && b ? ig_expr_simplify(c, ig_build_product(c, args, 2)) : NULL;
}

ig_wide ig_poly_content(const ig_expr *e) {
  ig_wide g = 0;
  for (size_t i = 0; i < count(e); i++) {
    ig_num k = ig_term_coeff(term(e, i));
    if (!ig_num_is_int(k)) return 1;
    g = ig_wide_gcd(g, k.p);
  }
  return g;
}

// The power of x in a term; the rest is stored in *rest. -1: x occurs inside a function.
static int power_in(ig_ctx *c, const ig_expr *t, const ig_expr *x, const ig_expr **rest) {
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&t, &n);
  ig_wide power = 0;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = ig_list_push(c, &l, ig_expr_of_num(c, ig_term_coeff(t)));
  for (size_t i = 0; ok && i < n; i++) {
    if (ig_factor_base(f[i]) == x) {
      power = ig_factor_power(f[i]);
    } else {
      ok = !ig_expr_has(f[i], x) && ig_list_push(c, &l, f[i]);
    }
  }
  *rest = ok ? ig_build_product(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return *rest && power <= IG_POLY_MAX_DEGREE ? (int)power : -1;
}

bool ig_poly_coeffs(ig_ctx *c, const ig_expr *e, const ig_expr *x,
                    const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1], size_t *degree) {
  *degree = 0;
  e = ig_expr_simplify(c, e);
  const ig_expr *zero = ig_expr_of_i64(c, 0);
  if (!e || !zero) return false;
  for (size_t k = 0; k <= IG_POLY_MAX_DEGREE; k++) coeff[k] = zero;
  for (size_t i = 0; i < count(e); i++) {
    const ig_expr *rest = NULL;
    int k = power_in(c, term(e, i), x, &rest);
    if (k < 0) return false;
    const ig_expr *sum[] = {coeff[k], rest};
    coeff[k] = ig_build_sum(c, sum, 2);
    if (!coeff[k]) return false;
  }
  for (size_t k = 0; k <= IG_POLY_MAX_DEGREE; k++) {
    if (!is_zero(coeff[k])) *degree = k;
  }
  return true;
}

bool ig_poly_affine(ig_ctx *c, const ig_expr *e, const ig_expr **x, ig_num *k, ig_num *b) {
  e = ig_expr_simplify(c, e);
  if (!e || count(e) > 2) return false;
  const ig_expr *t = term(e, 0);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&t, &n);
  if (n != 1 || f[0]->kind != IG_EXPR_SYMBOL) return false;
  if (count(e) == 2 && !ig_expr_is_number(term(e, 1))) return false;
  *x = f[0];
  *k = ig_term_coeff(t);
  *b = count(e) == 2 ? ig_expr_num(term(e, 1)) : ig_num_int(0);
  return true;
}

const ig_expr *ig_poly_solve(ig_ctx *c, const ig_expr *left, const ig_expr *right,
                             const ig_expr *x) {
  const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1];
  size_t degree = 0;
  const ig_expr *d = ig_build_difference(c, left, right);
  if (!d || !ig_poly_coeffs(c, d, x, coeff, &degree)) return NULL;
  if (degree != 1 || !ig_expr_is_number(coeff[1])) return NULL;
  ig_num k;
  if (!ig_num_div(ig_num_int(-1), ig_expr_num(coeff[1]), &k)) return NULL;
  return ig_build_scaled(c, k, coeff[0]);
}

// t / d for single terms; NULL without error: not divisible.
static const ig_expr *divide_terms(ig_ctx *c, const ig_expr *t, const ig_expr *d) {
  ig_num k;
  if (!ig_num_div(ig_term_coeff(t), ig_term_coeff(d), &k)) return NULL;
  if (!k.is_float && k.q != 1 && ig_num_is_int(ig_term_coeff(t))) return NULL;
  size_t n = 0;
  size_t m = 0;
  const ig_expr *const *f = ig_term_factors(&t, &n);
  const ig_expr *const *g = ig_term_factors(&d, &m);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = ig_list_push(c, &l, ig_expr_of_num(c, k));
  size_t used = 0;
  for (size_t i = 0; ok && i < n; i++) {
    ig_wide power = ig_factor_power(f[i]);
    for (size_t j = 0; j < m; j++) {
      if (ig_factor_base(g[j]) != ig_factor_base(f[i])) continue;
      power -= ig_factor_power(g[j]);
      used++;
    }
    ok = power >= 0;
    if (ok && power > 0) {
      ok = ig_list_push(c, &l, ig_build_power(c, ig_factor_base(f[i]), power));
    }
  }
  const ig_expr *e = ok && used == m ? ig_build_product(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

const ig_expr *ig_poly_divide(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  const ig_expr *r = ig_expr_simplify(c, a);
  const ig_expr *d = ig_expr_simplify(c, b);
  if (!r || !d || is_zero(d)) return NULL;
  ig_list q;
  ig_list_init(&q, c);
  bool ok = true;
  for (size_t step = 0; ok && !is_zero(r); step++) {
    const ig_expr *t = step <= MAX_WORK ? divide_terms(c, term(r, 0), term(d, 0)) : NULL;
    const ig_expr *product = times(c, t, d);
    const ig_expr *next = product ? ig_build_difference(c, r, product) : NULL;
    // The leading term must cancel, or this never ends.
    ok = next && (is_zero(next) || ig_term_cmp(term(r, 0), term(next, 0)) < 0) &&
         ig_list_push(c, &q, t);
    r = next;
  }
  const ig_expr *e = ok ? ig_build_sum(c, q.at, q.n) : NULL;
  ig_list_free(&q);
  return e;
}

static const ig_expr *gcd(ig_ctx *c, const ig_expr *a, const ig_expr *b, int depth);

// The greatest common divisor of the coefficients of x.
static const ig_expr *content_in(ig_ctx *c, const ig_expr *e, const ig_expr *x, int depth) {
  const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1];
  size_t degree = 0;
  if (!ig_poly_coeffs(c, e, x, coeff, &degree)) return NULL;
  const ig_expr *g = coeff[degree];
  for (size_t k = degree; k-- > 0 && g;) {
    if (!is_zero(coeff[k])) g = gcd(c, g, coeff[k], depth + 1);
  }
  return g;
}

// Remainder of lead(b)**k * a by b as polynomials in x.
static const ig_expr *remainder_in(ig_ctx *c, const ig_expr *a, const ig_expr *b,
                                   const ig_expr *x) {
  const ig_expr *p[IG_POLY_MAX_DEGREE + 1];
  const ig_expr *q[IG_POLY_MAX_DEGREE + 1];
  size_t m = 0;
  if (!ig_poly_coeffs(c, b, x, q, &m)) return NULL;
  for (;;) {
    size_t n = 0;
    if (!ig_poly_coeffs(c, a, x, p, &n) || count(a) > MAX_WORK) return NULL;
    if (n < m || is_zero(a)) return a;
    const ig_expr *shift = ig_build_power(c, x, (ig_wide)(n - m));
    const ig_expr *left = times(c, q[m], a);
    const ig_expr *right = times(c, times(c, p[n], shift), b);
    a = left && right ? ig_build_difference(c, left, right) : NULL;
    if (!a) return NULL;
  }
}

static const ig_expr *primitive(ig_ctx *c, const ig_expr *e, const ig_expr *x, int depth) {
  const ig_expr *g = content_in(c, e, x, depth);
  return g ? ig_poly_divide(c, e, g) : NULL;
}

static size_t degree_in(ig_ctx *c, const ig_expr *e, const ig_expr *x) {
  const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1];
  size_t degree = 0;
  return ig_poly_coeffs(c, e, x, coeff, &degree) ? degree : IG_POLY_MAX_DEGREE;
}

// Both primitive in x and of positive degree.
static const ig_expr *gcd_primitive(ig_ctx *c, const ig_expr *a, const ig_expr *b, const ig_expr *x,
                                    int depth) {
  if (degree_in(c, a, x) < degree_in(c, b, x)) {
    const ig_expr *t = a;
    a = b;
    b = t;
  }
  for (int step = 0; step <= IG_POLY_MAX_DEGREE; step++) {
    const ig_expr *r = remainder_in(c, a, b, x);
    if (!r) return NULL;
    if (is_zero(r)) return primitive(c, b, x, depth);
    if (degree_in(c, r, x) == 0) return ig_expr_of_i64(c, 1);
    a = b;
    b = primitive(c, r, x, depth);
    if (!b) return NULL;
  }
  return NULL;
}

static const ig_expr *generator_of(const ig_expr *e) {
  const ig_expr *t = term(e, 0);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&t, &n);
  return n ? ig_factor_base(f[0]) : NULL;
}

static const ig_expr *gcd(ig_ctx *c, const ig_expr *a, const ig_expr *b, int depth) {
  if (depth > 16 || count(a) > MAX_WORK || count(b) > MAX_WORK) return NULL;
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  const ig_expr *x = generator_of(a);
  if (!x || !generator_of(b)) {
    return ig_expr_of_wide(c, ig_wide_gcd(ig_poly_content(a), ig_poly_content(b)));
  }
  const ig_expr *ca = content_in(c, a, x, depth);
  const ig_expr *cb = content_in(c, b, x, depth);
  if (!ca || !cb) return NULL;
  if (!ig_expr_has(b, x)) return gcd(c, ca, b, depth + 1);
  const ig_expr *g = gcd(c, ca, cb, depth + 1);
  const ig_expr *pa = g ? ig_poly_divide(c, a, ca) : NULL;
  const ig_expr *pb = pa ? ig_poly_divide(c, b, cb) : NULL;
  const ig_expr *gp = pb ? gcd_primitive(c, pa, pb, x, depth + 1) : NULL;
  return gp ? times(c, g, gp) : NULL;
}

const ig_expr *ig_poly_gcd(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  a = ig_expr_simplify(c, a);
  b = ig_expr_simplify(c, b);
  const ig_expr *g = a && b ? gcd(c, a, b, 0) : NULL;
  if (g && ig_num_sign(ig_term_coeff(term(g, 0))) < 0) g = ig_build_negated(c, g);
  return g;
}

bool ig_poly_cancel(ig_ctx *c, const ig_expr **a, const ig_expr **b) {
  const ig_expr *g = ig_poly_gcd(c, *a, *b);
  if (!g || ig_expr_is_int(g, 1) || is_zero(g)) return false;
  const ig_expr *p = ig_poly_divide(c, *a, g);
  const ig_expr *q = p ? ig_poly_divide(c, *b, g) : NULL;
  if (!q) return false;
  *a = p;
  *b = q;
  return true;
}
