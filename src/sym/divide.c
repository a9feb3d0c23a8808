// SPDX-License-Identifier: Apache-2.0
// Floor division and remainders.
//
// FloorDiv(a, b) cancels what divides both: for a literal b each term that it divides exactly moves
// out, then the common integer and the factors that occur literally in every term, and a whole
// polynomial divisor if b is a sum. Mod is reduced only if the result is simple.
#include "sym/build.h"
#include "sym/poly.h"

static const ig_expr *const *terms_of(const ig_expr *const *e, size_t *n) {
  *n = (*e)->kind == IG_EXPR_ADD ? (*e)->n : 1;
  return (*e)->kind == IG_EXPR_ADD ? (*e)->args : e;
}

static ig_wide power_of_two(ig_wide d) {  // exponent; -1: d is not a power of two
  ig_wide k = 0;
  for (; d > 1 && d % 2 == 0; d /= 2) k++;
  return d == 1 ? k : -1;
}

// Whether term / d is an integer: the coefficient is divisible, or even factors make up for it.
static bool divides(const ig_expr *term, ig_wide d) {
  ig_num k = ig_term_coeff(term);
  if (!ig_num_is_int(k)) return false;
  ig_wide rest = d / ig_wide_gcd(k.p, d);
  if (rest < 0) rest = -rest;
  if (rest == 1) return true;
  ig_wide twos = power_of_two(rest);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&term, &n);
  for (size_t i = 0; twos > 0 && i < n; i++) {
    if (ig_expr_facts(f[i]) & IG_IS_EVEN) twos -= ig_factor_power(f[i]);
  }
  return twos <= 0 && power_of_two(rest) > 0;
}

static ig_wide content(const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *t = terms_of(&e, &n);
  ig_wide g = 0;
  for (size_t i = 0; i < n; i++) {
    ig_num k = ig_term_coeff(t[i]);
    if (!ig_num_is_int(k)) return 1;
    g = ig_wide_gcd(g, k.p);
  }
  return g;
}

// term / factor for a factor that occurs in it literally.
static const ig_expr *without(ig_ctx *c, const ig_expr *term, const ig_expr *factor) {
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&term, &n);
  ig_list l;
  ig_list_init(&l, c);
  bool found = false;
  bool ok = ig_list_push(c, &l, ig_expr_of_num(c, ig_term_coeff(term)));
  for (size_t i = 0; ok && i < n; i++) {
    if (f[i] == factor && !found) {
      found = true;
    } else {
      ok = ig_list_push(c, &l, f[i]);
    }
  }
  const ig_expr *e = ok ? ig_build_product(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

static bool has_factor(const ig_expr *term, const ig_expr *factor) {
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&term, &n);
  for (size_t i = 0; i < n; i++) {
    if (f[i] == factor) return true;
  }
  return false;
}

static const ig_expr *without_all(ig_ctx *c, const ig_expr *sum, const ig_expr *factor) {
  size_t n = 0;
  const ig_expr *const *t = terms_of(&sum, &n);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = ig_list_push(c, &l, without(c, t[i], factor));
  const ig_expr *e = ok ? ig_build_sum(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

static bool in_every_term(const ig_expr *sum, const ig_expr *factor) {
  size_t n = 0;
  const ig_expr *const *t = terms_of(&sum, &n);
  for (size_t i = 0; i < n; i++) {
    if (!has_factor(t[i], factor)) return false;
  }
  return true;
}

// Cancels the common integer and common literal factors. True: something was cancelled.
static bool cancel(ig_ctx *c, const ig_expr **a, const ig_expr **b) {
  ig_wide g = ig_wide_gcd(content(*a), content(*b));
  bool changed = g != 1;
  if (changed) {
    ig_num k = {.p = 1, .q = g};
    *a = ig_build_scaled(c, k, *a);
    *b = *a ? ig_build_scaled(c, k, *b) : NULL;
    if (!*b) return false;
  }
  const ig_expr *d = *b;
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&d, &n);
  for (size_t i = 0; i < n; i++) {
    if (!in_every_term(*a, f[i])) continue;
    *a = without_all(c, *a, f[i]);
    *b = *a ? without(c, *b, f[i]) : NULL;
    if (!*b) return false;
    changed = true;
  }
  return changed;
}

static bool is_even_sum(const ig_expr *e) {
  return e->kind == IG_EXPR_ADD && content(e) % 2 == 0;
}

// term / d without fractions; NULL without error: d does not divide it. What the coefficient lacks
// is taken out of even sums: s0*(2*s1 + 2) by 2 is s0*(s1 + 1).
static const ig_expr *divided(ig_ctx *c, const ig_expr *term, ig_wide d) {
  ig_num k = ig_term_coeff(term);
  if (!divides(term, d)) return NULL;
  ig_wide g = ig_wide_gcd(k.p, d);
  ig_wide rest = d / g;
  ig_num scale = {.p = rest < 0 ? -1 : 1, .q = g};
  ig_wide twos = power_of_two(rest < 0 ? -rest : rest);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&term, &n);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = ig_num_mul(k, scale, &k) && ig_list_push(c, &l, ig_expr_of_num(c, k));
  for (size_t i = 0; ok && i < n; i++) {
    bool half = twos > 0 && is_even_sum(f[i]);
    if (half) twos--;
    ok = ig_list_push(c, &l, half ? ig_build_scaled(c, (ig_num){.p = 1, .q = 2}, f[i]) : f[i]);
  }
  const ig_expr *e = ok && twos == 0 ? ig_build_product(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

// Terms of a that the literal b divides move out of the quotient; NULL without error: none does.
static const ig_expr *move_out(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  size_t n = 0;
  const ig_expr *const *t = terms_of(&a, &n);
  ig_list in;
  ig_list out;
  ig_list_init(&in, c);
  ig_list_init(&out, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    const ig_expr *q = divided(c, t[i], b->num);
    ok = c->status == IG_OK && (q ? ig_list_push(c, &out, q) : ig_list_push(c, &in, t[i]));
  }
  const ig_expr *e = NULL;
  if (ok && out.n) {
    const ig_expr *rest = ig_build_sum(c, in.at, in.n);
    rest = rest ? ig_build_quotient(c, kind, rest, b) : NULL;
    if (ig_list_push(c, &out, rest)) e = ig_build_sum(c, out.at, out.n);
  }
  ig_list_free(&in);
  ig_list_free(&out);
  return e;
}

static const ig_expr *division_by_zero(ig_ctx *c) {
  (void)ig_fail(c, IG_INVALID, "integer division by zero");
  return NULL;
}

static bool is_quotient(const ig_expr *e) {
  return e->kind == IG_EXPR_FLOORDIV || e->kind == IG_EXPR_CLEANDIV;
}

// Beyond the assumptions: a quotient of what is not negative is not negative.
static bool is_never_negative(const ig_expr *e) {
  if (ig_expr_facts(e) & IG_IS_NONNEG) return true;
  bool parts = is_quotient(e) || e->kind == IG_EXPR_ADD || e->kind == IG_EXPR_MUL ||
               e->kind == IG_EXPR_MIN || e->kind == IG_EXPR_MAX || e->kind == IG_EXPR_POW;
  for (size_t i = 0; parts && i < e->n; i++) parts = is_never_negative(e->args[i]);
  return parts;
}

// (x//p)//q is x//(p*q) unless q is negative: (1//2)//-2 is 0, but 1//-4 is -1.
//
// The rules that need no cancelling; *done: decided (the result may be NULL after an error).
static const ig_expr *simple_quotient(ig_ctx *c, const ig_expr *a, const ig_expr *b, bool *done) {
  *done = true;
  if (ig_expr_is_int(b, 0)) return division_by_zero(c);
  if (ig_expr_is_int(a, 0) || ig_expr_is_int(b, 1)) return a;
  if (ig_expr_is_int(b, -1)) return ig_build_negated(c, a);
  if (a->kind == IG_EXPR_CONST && b->kind == IG_EXPR_CONST) {
    return ig_expr_of_wide(c, ig_wide_floordiv(a->num, b->num));
  }
  if (is_quotient(a) && is_never_negative(b)) {
    const ig_expr *d[] = {a->args[1], b};
    const ig_expr *product = ig_build_product(c, d, 2);
    return product ? ig_build_quotient(c, IG_EXPR_FLOORDIV, a->args[0], product) : NULL;
  }
  *done = false;
  return NULL;
}

const ig_expr *ig_build_quotient(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  bool done = false;
  const ig_expr *e = simple_quotient(c, a, b, &done);
  if (done) return e;
  if (b->kind == IG_EXPR_CONST) {
    e = move_out(c, IG_EXPR_FLOORDIV, a, b);
    if (e || c->status != IG_OK) return e;
  }
  const ig_expr *p = a;
  const ig_expr *q = b;
  bool changed = cancel(c, &p, &q);
  if (c->status != IG_OK) return NULL;
  if (changed) return ig_build_quotient(c, IG_EXPR_FLOORDIV, p, q);
  if (b->kind == IG_EXPR_ADD) {
    changed = ig_poly_cancel(c, &p, &q);
    if (c->status != IG_OK) return NULL;
    if (changed) return ig_build_quotient(c, IG_EXPR_FLOORDIV, p, q);
  }
  const ig_expr *args[] = {a, b};
  return ig_expr_intern(c, kind, IG_SORT_INT, args, 2);
}

static bool is_negative_of(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  return ig_build_negated(c, b) == a;
}

// a / b is an integer expression.
static bool is_multiple(const ig_expr *a, const ig_expr *b) {
  size_t n = 0;
  size_t m = 0;
  if (b->kind == IG_EXPR_CONST) {
    const ig_expr *const *t = terms_of(&a, &n);
    for (size_t i = 0; i < n; i++) {
      if (!divides(t[i], b->num)) return false;
    }
    return true;
  }
  ig_num k;
  if (!ig_num_div(ig_term_coeff(a), ig_term_coeff(b), &k) || !ig_num_is_int(k)) return false;
  const ig_expr *const *f = ig_term_factors(&a, &n);
  const ig_expr *const *g = ig_term_factors(&b, &m);
  for (size_t j = 0; j < m; j++) {
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
      found = ig_factor_base(f[i]) == ig_factor_base(g[j]) &&
              ig_factor_power(f[i]) >= ig_factor_power(g[j]);
    }
    if (!found) return false;
  }
  return true;
}

// The same after multiplying out.
static bool is_polynomial_multiple(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  if (b->kind != IG_EXPR_CONST) {
    bool sums = a->kind == IG_EXPR_ADD || b->kind == IG_EXPR_ADD || a->kind == IG_EXPR_MUL;
    return sums && ig_poly_divide(c, a, b) != NULL;
  }
  const ig_expr *e = ig_expr_simplify(c, a);
  return e && ig_poly_content(e) % b->num == 0;
}

const ig_expr *ig_build_mod(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b) {
  if (ig_expr_is_int(b, 0)) return division_by_zero(c);
  if (ig_expr_is_int(a, 0) || a == b || ig_expr_is_int(b, 1) || is_negative_of(c, a, b)) {
    return ig_expr_of_i64(c, 0);
  }
  if (c->status != IG_OK) return NULL;
  if (a->kind == IG_EXPR_CONST && b->kind == IG_EXPR_CONST) {
    return ig_expr_of_wide(c, a->num - b->num * ig_wide_floordiv(a->num, b->num));
  }
  unsigned f = ig_expr_facts(a);
  unsigned g = ig_expr_facts(b);
  if (ig_expr_is_int(b, 2) && (f & (IG_IS_EVEN | IG_IS_ODD))) {
    return ig_expr_of_i64(c, (f & IG_IS_ODD) != 0);
  }
  if (is_multiple(a, b)) return ig_expr_of_i64(c, 0);
  if (((f & IG_IS_POSITIVE) && (g & IG_IS_POSITIVE)) ||
      ((f & IG_IS_NEGATIVE) && (g & IG_IS_NEGATIVE))) {
    const ig_expr *d = ig_build_difference(c, a, b);
    if (!d) return NULL;
    if (ig_expr_facts(d) & IG_IS_NEGATIVE) return a;
  }
  if (kind == IG_EXPR_PYTHONMOD && is_polynomial_multiple(c, a, b)) return ig_expr_of_i64(c, 0);
  if (c->status != IG_OK) return NULL;
  const ig_expr *args[] = {a, b};
  return ig_expr_intern(c, kind, IG_SORT_INT, args, 2);
}
