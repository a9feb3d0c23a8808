// SPDX-License-Identifier: Apache-2.0
// Rebuilding: replacement of parts, and multiplying out.
#include <string.h>

#include "sym/build.h"

const ig_expr *ig_expr_replace(ig_ctx *c, const ig_expr *e, ig_replace_fn fn, void *user) {
  if (!e || c->status != IG_OK) return NULL;
  const ig_expr *to = fn(user, e);
  if (to) return to;
  if (e->n == 0) return c->status == IG_OK ? e : NULL;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  bool changed = false;
  for (size_t i = 0; ok && i < e->n; i++) {
    ok = ig_list_push(c, &l, ig_expr_replace(c, e->args[i], fn, user));
    changed = changed || (ok && l.at[i] != e->args[i]);
  }
  const ig_expr *out = !ok ? NULL : changed ? ig_expr_make(c, e->kind, l.at, l.n) : e;
  ig_list_free(&l);
  return out;
}

typedef struct pairs {
  const ig_expr *const *from;
  const ig_expr *const *to;
  size_t n;
} pairs;

static const ig_expr *look_up(void *user, const ig_expr *e) {
  const pairs *p = user;
  for (size_t i = 0; i < p->n; i++) {
    if (p->from[i] == e) return p->to[i];
  }
  return NULL;
}

const ig_expr *ig_expr_substitute(ig_ctx *c, const ig_expr *e, const ig_expr *const *from,
                                  const ig_expr *const *to, size_t n) {
  pairs p = {from, to, n};
  return ig_expr_replace(c, e, look_up, &p);
}

typedef struct adoption {
  ig_ctx *c;
  const ig_sym *from;
} adoption;

static const ig_expr *adopted(void *user, const ig_expr *e) {
  const adoption *a = user;
  if (e->kind == IG_EXPR_BOOL) return ig_expr_of_bool(a->c, e->value != 0);
  if (ig_expr_is_number(e)) return ig_expr_of_num(a->c, ig_expr_num(e));
  if (e->kind != IG_EXPR_SYMBOL) return NULL;
  bool ranged = e->index < a->from->exprs.ranges.n;
  const ig_symbol_info info = {
      .sort = e->sort,
      .positive = e->positive,
      .backed = e->backed,
      .hint = e->value,
      .fhint = e->f,
      .range = ranged ? a->from->exprs.ranges.at[e->index] : ig_vrange_all(e->sort)};
  return ig_expr_symbol(a->c, e->name, &info);
}

const ig_expr *ig_expr_adopt(ig_ctx *c, const ig_sym *from, const ig_expr *e) {
  return from == c->mode->sym ? e : ig_expr_replace(c, e, adopted, &(adoption){c, from});
}

static const ig_expr *const *terms_of(const ig_expr *const *e, size_t *n) {
  *n = (*e)->kind == IG_EXPR_ADD ? (*e)->n : 1;
  return (*e)->kind == IG_EXPR_ADD ? (*e)->args : e;
}

// The product of two sums, term by term.
static const ig_expr *cross(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  size_t n = 0;
  size_t m = 0;
  const ig_expr *const *x = terms_of(&a, &n);
  const ig_expr *const *y = terms_of(&b, &m);
  if (n * m > IG_EXPR_MAX_TERMS) return ig_expr_too_large(c);
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    for (size_t k = 0; ok && k < m; k++) {
      const ig_expr *pair[] = {x[i], y[k]};
      ok = ig_list_push(c, &l, ig_build_product(c, pair, 2));
    }
  }
  const ig_expr *e = ok ? ig_build_sum(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return e;
}

static const ig_expr *power_of_sum(ig_ctx *c, const ig_expr *sum, ig_wide k) {
  const ig_expr *out = NULL;
  const ig_expr *square = sum;
  for (; k > 0 && square; k /= 2) {
    if (k % 2) out = out ? cross(c, out, square) : square;
    if (!out && c->status != IG_OK) return NULL;
    if (k > 1) square = cross(c, square, square);
  }
  return square ? out : NULL;
}

static bool has_sum(const ig_expr *product) {
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&product, &n);
  for (size_t i = 0; i < n; i++) {
    if (ig_factor_base(f[i])->kind == IG_EXPR_ADD) return true;
  }
  return false;
}

// Multiplies out one product whose factors are multiplied out themselves.
static const ig_expr *distribute(ig_ctx *c, const ig_expr *e) {
  if ((e->kind != IG_EXPR_MUL && e->kind != IG_EXPR_POW) || !has_sum(e)) return e;
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&e, &n);
  const ig_expr *out = ig_expr_of_num(c, ig_term_coeff(e));
  for (size_t i = 0; out && i < n; i++) {
    const ig_expr *base = ig_factor_base(f[i]);
    const ig_expr *x =
        base->kind == IG_EXPR_ADD ? power_of_sum(c, base, ig_factor_power(f[i])) : f[i];
    out = x ? cross(c, out, x) : NULL;
  }
  return out;
}

static const ig_expr *expand_sum(ig_ctx *c, const ig_expr *e) {
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  for (size_t i = 0; ok && i < e->n; i++) ok = ig_list_push(c, &l, distribute(c, e->args[i]));
  const ig_expr *out = ok ? ig_build_sum(c, l.at, l.n) : NULL;
  ig_list_free(&l);
  return out;
}

static const ig_expr *expand_fully(ig_ctx *c, const ig_expr *e);

static const ig_expr *expand(ig_ctx *c, const ig_expr *e) {
  ig_list l;
  ig_list_init(&l, c);
  bool ok = true;
  bool changed = false;
  for (size_t i = 0; ok && i < e->n; i++) {
    ok = ig_list_push(c, &l, expand_fully(c, e->args[i]));
    changed = changed || (ok && l.at[i] != e->args[i]);
  }
  const ig_expr *out = !ok ? NULL : changed ? ig_expr_make(c, e->kind, l.at, l.n) : e;
  ig_list_free(&l);
  if (!out) return NULL;
  return out->kind == IG_EXPR_ADD ? expand_sum(c, out) : distribute(c, out);
}

static const ig_expr *expand_fully(ig_ctx *c, const ig_expr *e) {
  if (e->n == 0 || e->simple == e) return e;
  if (e->simple) return e->simple;
  const ig_expr *now = e;
  for (int round = 0; round < 8; round++) {  // each pass can create new products; few do
    const ig_expr *next = expand(c, now);
    if (!next) return NULL;
    if (next == now) break;
    now = next;
  }
  ((ig_expr *)e)->simple = now;
  if (!now->simple) ((ig_expr *)now)->simple = now;
  return now;
}

const ig_expr *ig_expr_simplify(ig_ctx *c, const ig_expr *e) {
  if (!e || c->status != IG_OK) return NULL;
  // Relations are multiplied out, but not a top-level connective, as in SymPy.
  if (e->kind >= IG_EXPR_AND && e->kind <= IG_EXPR_NOT) return e;
  return expand_fully(c, e);
}

bool ig_expr_has(const ig_expr *e, const ig_expr *part) {
  if (e == part) return true;
  if (e->age < part->age) return false;  // what is older cannot contain it
  for (size_t i = 0; i < e->n; i++) {
    if (ig_expr_has(e->args[i], part)) return true;
  }
  return false;
}

bool ig_expr_has_kind(const ig_expr *e, ig_expr_kind kind) {
  if (e->kind == kind) return true;
  for (size_t i = 0; i < e->n; i++) {
    if (ig_expr_has_kind(e->args[i], kind)) return true;
  }
  return false;
}

static int cmp_index(const ig_expr *a, const ig_expr *b) {
  return (a->index > b->index) - (a->index < b->index);
}

static bool add_symbols(ig_ctx *c, const ig_expr *e, ig_list *l) {
  size_t n = 0;
  const ig_expr *const *s = ig_expr_symbols(c, e, &n);
  bool ok = s || n == 0;
  for (size_t i = 0; ok && i < n; i++) {
    bool known = false;
    for (size_t k = 0; k < l->n && !known; k++) known = l->at[k] == s[i];
    if (!known) ok = ig_list_push(c, l, s[i]);
  }
  return ok;
}

const ig_expr *const *ig_expr_symbols(ig_ctx *c, const ig_expr *e, size_t *n) {
  ig_exprs *t = NULL;
  *n = e->nsymbols;
  if (e->symbols) return e->symbols;
  ig_list l;
  ig_list_init(&l, c);
  bool ok = e->kind != IG_EXPR_SYMBOL || ig_list_push(c, &l, e);
  for (size_t i = 0; ok && i < e->n; i++) ok = add_symbols(c, e->args[i], &l);
  ig_list_sort(&l, cmp_index);
  t = ok ? ig_expr_table(c) : NULL;
  const ig_expr **at = t ? ig_arena_array(&t->arena, l.n + 1, sizeof *at) : NULL;
  if (at) {
    memcpy(at, l.at, l.n * sizeof *at);
    ((ig_expr *)e)->symbols = at;
    ((ig_expr *)e)->nsymbols = (uint32_t)l.n;
    *n = l.n;
  }
  ig_list_free(&l);
  return at;
}
