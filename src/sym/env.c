// SPDX-License-Identifier: Apache-2.0
// State of the environment: symbols with their ranges and replacements.
#include "sym/env.h"

#include <string.h>

#include "sym/poly.h"

void ig_env_free(ig_env *env) {
  if (!env) return;
  if (env->dims_free) env->dims_free(env, env->dims);
  ig_alloc a = env->alloc;
  ig_vec_free(a, &env->symbols);
  ig_vec_free(a, &env->guards);
  ig_vec_free(a, &env->asserts);
  ig_mem_array_free(a, env->known, env->known_cap, sizeof *env->known);
  ig_arena_free(&env->arena);
  ig_mem_free(a, env, sizeof *env);
}

static void *no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return NULL;
}

ig_env *ig_env_get(ig_ctx *c) {
  if (!c->mode->sym) {
    (void)ig_fail(c, IG_RUNTIME, "a symbolic size is used after its capture was closed");
    return NULL;
  }
  if (c->mode->sym->env) return c->mode->sym->env;
  ig_env *env = ig_mem_new(c->alloc, sizeof *env);
  if (!env) return no_memory(c);
  env->alloc = c->alloc;
  env->arena = ig_arena_make(c->alloc);
  c->mode->sym->env = env;
  c->mode->sym->env_free = ig_env_free;
  return env;
}

ig_symbol *ig_env_symbol(ig_ctx *c, const ig_expr *symbol) {
  ig_env *env = ig_env_get(c);
  if (!env) return NULL;
  while (env->symbols.n <= symbol->index) {
    if (!ig_vec_push(env->alloc, &env->symbols, (ig_symbol){0})) return no_memory(c);
  }
  ig_symbol *s = &env->symbols.at[symbol->index];
  s->expr = symbol;
  return s;
}

// Chains of replacements are followed to the end and path-compressed.
static const ig_expr *replaced(void *user, const ig_expr *e) {
  ig_ctx *c = user;
  if (e->kind != IG_EXPR_SYMBOL) return NULL;
  const ig_env *env = c->mode->sym->env;
  if (e->index >= env->symbols.n || !env->symbols.at[e->index].replacement) return NULL;
  const ig_expr *end = ig_env_find(c, env->symbols.at[e->index].replacement);
  if (end) env->symbols.at[e->index].replacement = end;
  return end;
}

const ig_expr *ig_env_find(ig_ctx *c, const ig_expr *e) {
  if (!e || !ig_env_get(c)) return NULL;
  const ig_expr *r = ig_expr_replace(c, e, replaced, c);
  return r ? ig_expr_simplify(c, r) : NULL;
}

// Python's remainder is the plain one where nothing is negative.
static const ig_expr *plain_mod(void *user, const ig_expr *e) {
  ig_ctx *c = user;
  if (e->kind != IG_EXPR_PYTHONMOD || ig_expr_has_kind(e->args[0], IG_EXPR_PYTHONMOD)) return NULL;
  bool plain = ig_expr_range(c, e->args[0]).lo >= 0 && ig_expr_range(c, e->args[1]).lo >= 0;
  return plain ? ig_expr_make2(c, IG_EXPR_MOD, e->args[0], e->args[1]) : NULL;
}

const ig_expr *ig_env_question(ig_ctx *c, const ig_expr *e) {
  if (!e || !ig_env_get(c)) return NULL;
  return ig_expr_has_kind(e, IG_EXPR_PYTHONMOD) ? ig_expr_replace(c, e, plain_mod, c) : e;
}

ig_int ig_int_find(ig_ctx *c, ig_int i) {
  const ig_expr *e = i.expr ? ig_env_find(c, i.expr) : NULL;
  if (!e) return i;
  if (e->kind == IG_EXPR_CONST) return ig_const(e->value);
  return (ig_int){.value = e->value, .expr = e, .origin = i.origin};
}

void ig_env_narrow(ig_ctx *c, const ig_expr *symbol, ig_wide lo, ig_wide hi) {
  const ig_symbol *s = ig_env_symbol(c, symbol);
  if (!s) return;
  ig_vrange r = ig_symbol_range(c, symbol);
  // A size-like symbol is taken as at least 2 by shape rules, so it must be able to be that.
  if (s->size_like && hi < 2) hi = 2;
  if (lo > r.lo) r.lo = lo;
  if (hi < r.hi) r.hi = hi;
  if (r.lo > r.hi) return;  // contradicts what is known: the runtime check will fail
  ig_vrange old = ig_symbol_range(c, symbol);
  if (old.lo == r.lo && old.hi == r.hi) return;
  ig_symbol_set_range(c, symbol, r);
}

static bool inside(ig_vrange a, ig_vrange b) {
  return a.lo >= b.lo && a.hi <= b.hi;
}

static bool mentions(ig_ctx *c, const ig_expr *e, const ig_expr *symbol) {
  size_t n = 0;
  const ig_expr *const *at = ig_expr_symbols(c, e, &n);
  for (size_t i = 0; i < n; i++) {
    if (at[i] == symbol) return true;
  }
  return false;
}

static ig_wide floor_div(ig_wide a, ig_wide b) {
  ig_wide q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// The range of `outer` pushed through outer = k*inner + b.
static void push_range(ig_ctx *c, ig_vrange outer, const ig_expr *inner, ig_wide k, ig_wide b) {
  ig_wide lo = IG_WIDE_MIN;
  ig_wide hi = IG_WIDE_MAX;
  if (outer.lo != IG_WIDE_MIN) lo = -floor_div(-(outer.lo - b), k);
  if (outer.hi != IG_WIDE_MAX) hi = floor_div(outer.hi - b, k);
  ig_env_narrow(c, inner, lo, hi);
}

// The ranges of both sides meet: that of a target in one symbol is pushed through it.
static bool reconcile(ig_ctx *c, const ig_expr *symbol, const ig_expr *target) {
  ig_vrange own = ig_symbol_range(c, symbol);
  ig_vrange range = ig_expr_range(c, target);
  ig_env_narrow(c, symbol, range.lo, range.hi);
  if (inside(range, own)) return true;
  const ig_expr *inner = NULL;
  ig_num k;
  ig_num b;
  bool affine = ig_poly_affine(c, target, &inner, &k, &b) && k.q == 1 && b.q == 1 && k.p > 0;
  if (!affine) return false;
  push_range(c, ig_symbol_range(c, symbol), inner, k.p, b.p);
  return inside(ig_expr_range(c, target), own);
}

// k*s + c over one symbol
static bool is_affine(ig_ctx *c, const ig_expr *e) {
  size_t n = 0;
  (void)ig_expr_symbols(c, e, &n);
  if (n != 1) return false;
  const ig_expr *term = e;
  if (e->kind == IG_EXPR_ADD) {
    if (e->n != 2 || e->args[1]->kind != IG_EXPR_CONST) return false;
    term = e->args[0];
  }
  if (term->kind == IG_EXPR_MUL) {
    return term->n == 2 && term->args[0]->kind == IG_EXPR_CONST &&
           term->args[1]->kind == IG_EXPR_SYMBOL;
  }
  return term->kind == IG_EXPR_SYMBOL;
}

void ig_env_equate(ig_ctx *c, const ig_expr *symbol, const ig_expr *target) {
  ig_symbol *s = ig_env_symbol(c, symbol);
  if (!s || !target || s->replacement || c->status != IG_OK) return;
  if (mentions(c, target, symbol)) return;
  if (!reconcile(c, symbol, target)) return;
  if (c->mode->sym->env->deferred && !is_affine(c, target)) return;
  s = ig_env_symbol(c, symbol);
  if (s && !s->replacement) s->replacement = ig_env_find(c, target);
}
