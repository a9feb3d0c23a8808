// SPDX-License-Identifier: Apache-2.0
// The order of solving: values from equalities, divisors, congruences, intervals, equivalences.
#include "sym/solve.h"

void ig_solver_init(ig_solver *s, ig_ctx *c) {
  *s = (ig_solver){.c = c, .forced = true};
}

void ig_solver_free(ig_solver *s) {
  for (size_t i = 0; i < s->unknowns.n; i++) {
    ig_vec_free(s->c->alloc, &s->unknowns.at[i].congruences);
  }
  ig_vec_free(s->c->alloc, &s->unknowns);
  ig_vec_free(s->c->alloc, &s->parked);
  ig_vec_free(s->c->alloc, &s->equal);
}

static void no_memory(ig_solver *s) {
  (void)ig_fail(s->c, IG_NOMEM, "out of memory");
}

ig_unknown *ig_solver_symbol(ig_solver *s, const ig_expr *symbol) {
  for (size_t i = 0; i < s->unknowns.n; i++) {
    if (s->unknowns.at[i].symbol == symbol) return &s->unknowns.at[i];
  }
  ig_unknown u = {.symbol = symbol, .hint = symbol->value, .lo = IG_WIDE_MIN, .hi = IG_WIDE_MAX};
  u.m = 1;
  if (!ig_vec_push(s->c->alloc, &s->unknowns, u)) {
    no_memory(s);
    return NULL;
  }
  return &s->unknowns.at[s->unknowns.n - 1];
}

static bool is_order(ig_expr_kind k) {
  return k == IG_EXPR_LT || k == IG_EXPR_LE || k == IG_EXPR_GT || k == IG_EXPR_GE;
}

static bool holds(const ig_upoly *p, ig_expr_kind kind, ig_wide s) {
  ig_wide v = 0;
  if (!ig_upoly_at(p, s, &v)) return true;  // beyond every size
  switch (kind) {
    case IG_EXPR_LT:
      return v < 0;
    case IG_EXPR_LE:
      return v <= 0;
    case IG_EXPR_GT:
      return v > 0;
    case IG_EXPR_GE:
      return v >= 0;
    default:
      return v == 0;
  }
}

// The farthest point from `from` in one direction up to which the relation holds throughout:
// doubling steps, then bisection. Guards are piecewise monotone and of low degree.
static ig_wide reach(const ig_upoly *p, ig_expr_kind kind, int64_t from, int sign) {
  ig_wide limit = (ig_wide)1 << 62;
  ig_wide good = 0;
  ig_wide step = 1;
  while (step < limit && holds(p, kind, from + sign * step)) {
    good = step;
    step *= 2;
  }
  if (step >= limit) return sign > 0 ? IG_WIDE_MAX : IG_WIDE_MIN;
  while (step - good > 1) {
    ig_wide mid = good + (step - good) / 2;
    if (holds(p, kind, from + sign * mid)) {
      good = mid;
    } else {
      step = mid;
    }
  }
  return from + sign * good;
}

static void bound(ig_unknown *u, const ig_upoly *p, ig_expr_kind kind) {
  ig_wide lo = reach(p, kind, u->hint, -1);
  ig_wide hi = reach(p, kind, u->hint, 1);
  u->bounded = true;
  if (lo > u->lo) u->lo = lo;
  if (hi < u->hi) u->hi = hi;
}

// One symbol. True: nothing new.
static bool add_one(ig_solver *s, const ig_expr *e, const ig_expr *symbol) {
  ig_unknown *u = ig_solver_symbol(s, symbol);
  if (!u) return false;
  ig_upoly_sink sink = {.alloc = s->c->alloc, .unknown = u};
  size_t before = u->congruences.n;
  ig_upoly left;
  ig_upoly right;
  bool plain = ig_upoly_of(&sink, e->args[0], &left) && ig_upoly_of(&sink, e->args[1], &right) &&
               ig_upoly_sub(&left, &right, &left);
  if (sink.failed) no_memory(s);
  if (!plain) {
    if (e->kind == IG_EXPR_EQ) u->equality = true;
    return false;
  }
  if (left.degree == 0) return before == u->congruences.n;
  if (e->kind == IG_EXPR_EQ) {
    u->equality = true;
  } else {
    bound(u, &left, e->kind);
  }
  return false;
}

bool ig_solver_add(ig_solver *s, const ig_expr *e) {
  if (!e || s->c->status != IG_OK) return false;
  if (e->kind == IG_EXPR_BOOL) return true;
  if (e->kind == IG_EXPR_AND) {
    bool trivial = true;
    for (size_t i = 0; i < e->n; i++) trivial = ig_solver_add(s, e->args[i]) && trivial;
    return trivial;
  }
  if ((e->kind != IG_EXPR_EQ && !is_order(e->kind)) || e->args[0]->sort != IG_SORT_INT)
    return false;
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(s->c, e, &n);
  if (n == 1) return add_one(s, e, free[0]);
  if (!ig_vec_push(s->c->alloc, &s->parked, e)) no_memory(s);
  return false;
}

void ig_solver_equal(ig_solver *s, size_t tag, const ig_expr *e) {
  if (!ig_vec_push(s->c->alloc, &s->equal, ((ig_equivalence){tag, e}))) no_memory(s);
}

static const ig_expr *valued(void *user, const ig_expr *e) {
  ig_solver *s = user;
  if (e->kind != IG_EXPR_SYMBOL) return NULL;
  const ig_unknown *u = ig_solver_symbol(s, e);
  return u && u->fixed ? ig_expr_of_i64(s->c, u->hint) : NULL;
}

static const ig_expr *substituted(ig_solver *s, const ig_expr *e) {
  const ig_expr *r = ig_expr_replace(s->c, e, valued, s);
  return r ? ig_expr_simplify(s->c, r) : NULL;
}

// Values became known: the pending relations are processed again.
static void sort_again(ig_solver *s) {
  size_t n = s->parked.n;
  const ig_expr **old = s->parked.at;
  size_t cap = s->parked.cap;
  s->parked.at = NULL;
  s->parked.n = s->parked.cap = 0;
  for (size_t i = 0; i < n && s->c->status == IG_OK; i++) {
    (void)ig_solver_add(s, substituted(s, old[i]));
  }
  ig_mem_array_free(s->c->alloc, old, cap, sizeof *old);
}

static void fix(ig_unknown *u) {
  u->fixed = true;
  u->forced = true;
}

static void solve_equalities(ig_solver *s) {
  bool more = true;
  while (more && s->c->status == IG_OK) {
    more = false;
    for (size_t i = 0; i < s->unknowns.n; i++) {
      ig_unknown *u = &s->unknowns.at[i];
      if (!u->equality || u->fixed) continue;
      fix(u);
      more = true;
    }
    if (more) sort_again(s);
  }
}

static void force_symbols(ig_solver *s, const ig_expr *e) {
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(s->c, e, &n);
  for (size_t i = 0; i < n; i++) {
    ig_unknown *u = ig_solver_symbol(s, free[i]);
    if (u) fix(u);
  }
}

static void force_divisors(ig_solver *s, const ig_expr *e) {
  bool divides = e->kind == IG_EXPR_MOD || e->kind == IG_EXPR_PYTHONMOD ||
                 e->kind == IG_EXPR_FLOORDIV || e->kind == IG_EXPR_CLEANDIV;
  if (divides) force_symbols(s, e->args[1]);
  for (size_t i = 0; i < e->n; i++) force_divisors(s, e->args[i]);
}

static void solve_congruences(ig_solver *s) {
  for (size_t i = 0; i < s->unknowns.n; i++) {
    ig_unknown *u = &s->unknowns.at[i];
    if (u->fixed) continue;
    ig_congruences_merge(u);
    if (u->complex && s->forced) fix(u);
    if (u->equality && s->forced) u->fixed = true;
  }
}

bool ig_expr_affine(const ig_expr *e, const ig_expr **symbol, int64_t *k, int64_t *c) {
  *symbol = NULL;
  *k = 0;
  *c = 0;
  if (e->kind == IG_EXPR_ADD) {
    if (e->n != 2 || e->args[1]->kind != IG_EXPR_CONST) return false;
    *c = e->args[1]->value;
    e = e->args[0];
  }
  if (e->kind == IG_EXPR_CONST) {
    *c += e->value;
    return true;
  }
  *k = 1;
  if (e->kind == IG_EXPR_MUL) {
    if (e->n != 2 || e->args[0]->kind != IG_EXPR_CONST) return false;
    *k = e->args[0]->value;
    e = e->args[1];
  }
  *symbol = e;
  return e->kind == IG_EXPR_SYMBOL;
}

static void solve_equivalences(ig_solver *s) {
  for (size_t i = 0; i < s->equal.n && s->c->status == IG_OK; i++) {
    const ig_expr *symbol = NULL;
    int64_t k = 0;
    int64_t c = 0;
    if (s->forced && !ig_expr_affine(s->equal.at[i].expr, &symbol, &k, &c)) {
      force_symbols(s, s->equal.at[i].expr);
    }
  }
  for (size_t i = 0; i < s->equal.n && s->c->status == IG_OK; i++) {
    const ig_expr *e = substituted(s, s->equal.at[i].expr);
    if (e) s->equal.at[i].expr = e;
  }
}

void ig_solver_run(ig_solver *s) {
  if (s->forced) {
    solve_equalities(s);
    for (size_t i = 0; i < s->parked.n; i++) force_divisors(s, s->parked.at[i]);
    sort_again(s);
  }
  solve_congruences(s);
  solve_equivalences(s);
}
