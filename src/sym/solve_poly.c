// SPDX-License-Identifier: Apache-2.0
// Polynomials in one symbol with rational coefficients, and congruences.
#include <string.h>

#include "sym/solve.h"

static bool mul_fits(ig_wide a, ig_wide b, ig_wide *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static bool add_fits(ig_wide a, ig_wide b, ig_wide *out) {
  return !__builtin_add_overflow(a, b, out);
}

static ig_wide gcd(ig_wide a, ig_wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b) {
    ig_wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}

static void reduce(ig_upoly *p) {
  while (p->degree > 0 && p->k[p->degree] == 0) p->degree--;
  ig_wide g = p->den;
  for (int i = 0; i <= p->degree; i++) g = gcd(g, p->k[i]);
  if (g <= 1) return;
  for (int i = 0; i <= p->degree; i++) p->k[i] /= g;
  p->den /= g;
}

static ig_upoly number(ig_wide v) {
  ig_upoly p = {.den = 1};
  p.k[0] = v;
  return p;
}

static bool combine(const ig_upoly *a, const ig_upoly *b, ig_wide sign, ig_upoly *out) {
  ig_upoly r = {.degree = a->degree > b->degree ? a->degree : b->degree};
  if (!mul_fits(a->den, b->den, &r.den)) return false;
  for (int i = 0; i <= r.degree; i++) {
    ig_wide x = 0;
    ig_wide y = 0;
    if (i <= a->degree && !mul_fits(a->k[i], b->den, &x)) return false;
    if (i <= b->degree && !mul_fits(b->k[i] * sign, a->den, &y)) return false;
    if (!add_fits(x, y, &r.k[i])) return false;
  }
  reduce(&r);
  *out = r;
  return true;
}

bool ig_upoly_sub(const ig_upoly *a, const ig_upoly *b, ig_upoly *out) {
  return combine(a, b, -1, out);
}

static bool multiply(const ig_upoly *a, const ig_upoly *b, ig_upoly *out) {
  ig_upoly r = {.degree = a->degree + b->degree};
  if (r.degree > IG_SOLVE_DEGREE || !mul_fits(a->den, b->den, &r.den)) return false;
  for (int i = 0; i <= a->degree; i++) {
    for (int j = 0; j <= b->degree; j++) {
      ig_wide x = 0;
      if (!mul_fits(a->k[i], b->k[j], &x) || !add_fits(r.k[i + j], x, &r.k[i + j])) return false;
    }
  }
  reduce(&r);
  *out = r;
  return true;
}

bool ig_upoly_at(const ig_upoly *p, ig_wide s, ig_wide *numerator) {
  ig_wide v = 0;
  for (int i = p->degree; i >= 0; i--) {
    if (!mul_fits(v, s, &v) || !add_fits(v, p->k[i], &v)) return false;
  }
  *numerator = v;
  return true;
}

static ig_wide floor_mod(ig_wide a, ig_wide b) {
  ig_wide r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool same(const ig_congruence *a, const ig_congruence *b) {
  if (a->m != b->m || a->base.degree != b->base.degree || a->base.den != b->base.den) return false;
  for (int i = 0; i <= a->base.degree; i++) {
    if (a->base.k[i] != b->base.k[i]) return false;
  }
  return true;
}

// base = k (mod m), where base may be a fraction: its numerator is 0 modulo m * den.
static void add_congruence(ig_upoly_sink *sink, const ig_upoly *base, ig_wide k, ig_wide m) {
  ig_upoly value = number(k);
  ig_congruence g = {.m = 0};
  if (m == 0 || !combine(base, &value, -1, &g.base)) {
    g.base = *base;
  } else {
    ig_wide whole = (m < 0 ? -m : m) * g.base.den;
    g.m = whole > INT64_MAX ? 0 : (int64_t)whole;
    g.base.den = 1;
    for (int i = 0; g.m && i <= g.base.degree; i++) g.base.k[i] = floor_mod(g.base.k[i], g.m);
    reduce(&g.base);
    if (g.m == 1 || (g.m && g.base.degree == 0 && g.base.k[0] == 0)) return;
  }
  for (size_t i = 0; i < sink->unknown->congruences.n; i++) {
    if (same(&sink->unknown->congruences.at[i], &g)) return;
  }
  if (!ig_vec_push(sink->alloc, &sink->unknown->congruences, g)) sink->failed = true;
}

// b//d or b%d, by the value that b%d has now.
static bool of_division(ig_upoly_sink *sink, const ig_expr *e, bool quotient, ig_upoly *out) {
  ig_upoly base;
  ig_upoly by;
  if (!ig_upoly_of(sink, e->args[0], &base) || !ig_upoly_of(sink, e->args[1], &by)) return false;
  ig_wide b = 0;
  ig_wide d = 0;
  int64_t hint = sink->unknown->hint;
  if (!ig_upoly_at(&base, hint, &b) || !ig_upoly_at(&by, hint, &d)) return false;
  if (d == 0 || b % base.den != 0 || d % by.den != 0) return false;
  ig_wide k = floor_mod(b / base.den, d / by.den);
  ig_upoly rest = number(k);
  if (by.degree > 0) {
    add_congruence(sink, &base, k, 0);
    if (!quotient) *out = rest;
    return !quotient;
  }
  add_congruence(sink, &base, k, d / by.den);
  if (!quotient) {
    *out = rest;
    return true;
  }
  ig_upoly inverse = {.den = d < 0 ? -d : d};
  inverse.k[0] = d < 0 ? -by.den : by.den;
  return combine(&base, &rest, -1, &base) && multiply(&base, &inverse, out);
}

static bool of_power(ig_upoly_sink *sink, const ig_expr *e, ig_upoly *out) {
  ig_upoly base;
  const ig_expr *n = e->args[1];
  if (n->kind != IG_EXPR_CONST || n->value < 0 || n->value > IG_SOLVE_DEGREE) return false;
  if (!ig_upoly_of(sink, e->args[0], &base)) return false;
  *out = number(1);
  for (int64_t i = 0; i < n->value; i++) {
    if (!multiply(out, &base, out)) return false;
  }
  return true;
}

bool ig_upoly_of(ig_upoly_sink *sink, const ig_expr *e, ig_upoly *out) {
  switch (e->kind) {
    case IG_EXPR_CONST:
      *out = number(e->value);
      return true;
    case IG_EXPR_SYMBOL:
      *out = number(0);
      out->degree = 1;
      out->k[1] = 1;
      return e == sink->unknown->symbol;
    case IG_EXPR_ADD:
    case IG_EXPR_MUL: {
      *out = number(e->kind == IG_EXPR_MUL);
      for (size_t i = 0; i < e->n; i++) {
        ig_upoly part;
        if (!ig_upoly_of(sink, e->args[i], &part)) return false;
        bool ok = e->kind == IG_EXPR_MUL ? multiply(out, &part, out) : combine(out, &part, 1, out);
        if (!ok) return false;
      }
      return true;
    }
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
      return of_power(sink, e, out);
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
      return of_division(sink, e, true, out);
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
      return of_division(sink, e, false, out);
    default:
      return false;
  }
}

// x with a*x = 1 (mod m), for coprime a and m
static ig_wide inverse_mod(ig_wide a, ig_wide m) {
  ig_wide r0 = m;
  ig_wide r1 = floor_mod(a, m);
  ig_wide t0 = 0;
  ig_wide t1 = 1;
  while (r1) {
    ig_wide q = r0 / r1;
    ig_wide r = r0 - q * r1;
    ig_wide t = t0 - q * t1;
    r0 = r1;
    r1 = r;
    t0 = t1;
    t1 = t;
  }
  return floor_mod(t0, m);
}

// s = r (mod m) from a linear congruence; false: not linear
static bool solve_linear(const ig_congruence *g, int64_t *r, int64_t *m) {
  if (g->m == 0 || g->base.degree != 1) return false;
  ig_wide d = gcd(g->base.k[1], g->m);
  if (g->base.k[0] % d != 0) return false;
  ig_wide mod = g->m / d;
  *m = (int64_t)mod;
  *r = mod == 1 ? 0
                : (int64_t)floor_mod(-(g->base.k[0] / d) * inverse_mod(g->base.k[1] / d, mod) % mod,
                                     mod);
  return true;
}

// Both congruences at once; the example satisfies both, so there is a solution.
static bool meet(ig_unknown *u, int64_t m) {
  ig_wide both = (ig_wide)u->m / gcd(u->m, m) * m;
  if (both > INT64_MAX) return false;
  u->m = (int64_t)both;
  u->r = (int64_t)floor_mod(u->hint, both);
  return true;
}

// Does s = r (mod m) imply g? Tested on a whole period.
static bool implied(const ig_unknown *u, const ig_congruence *g) {
  if (g->m == 0 || g->m > 4096) return false;
  for (int64_t t = 0; t < g->m; t++) {
    ig_wide v = 0;
    if (!ig_upoly_at(&g->base, u->r + (ig_wide)u->m * t, &v) || floor_mod(v, g->m) != 0)
      return false;
  }
  return true;
}

void ig_congruences_merge(ig_unknown *u) {
  u->m = 1;
  u->r = 0;
  u->complex = false;
  for (size_t i = 0; i < u->congruences.n; i++) {
    int64_t r = 0;
    int64_t m = 0;
    if (solve_linear(&u->congruences.at[i], &r, &m) && !meet(u, m)) u->complex = true;
  }
  for (size_t i = 0; i < u->congruences.n; i++) {
    int64_t r = 0;
    int64_t m = 0;
    const ig_congruence *g = &u->congruences.at[i];
    if (!solve_linear(g, &r, &m) && !implied(u, g)) u->complex = true;
  }
}
