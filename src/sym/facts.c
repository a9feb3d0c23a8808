// SPDX-License-Identifier: Apache-2.0
// Relations that are known to hold. A relation is looked up in canonical form; everything that
// follows from it in one step is entered as well; nothing is chained.
#include "sym/env.h"

static size_t slot_of(const ig_env *env, const ig_expr *e) {
  size_t mask = env->known_cap - 1;
  size_t i = (size_t)(((uintptr_t)e >> 4) * 0x9E3779B97F4A7C15u >> 20) & mask;
  while (env->known[i].relation && env->known[i].relation != e) i = (i + 1) & mask;
  return i;
}

static bool grow(ig_env *env) {
  size_t cap = env->known_cap ? env->known_cap * 2 : 64;
  ig_env bigger = {.known = ig_mem_array(env->alloc, cap, sizeof *env->known), .known_cap = cap};
  if (!bigger.known) return false;
  for (size_t i = 0; i < env->known_cap; i++) {
    if (env->known[i].relation) {
      bigger.known[slot_of(&bigger, env->known[i].relation)] = env->known[i];
    }
  }
  ig_mem_array_free(env->alloc, env->known, env->known_cap, sizeof *env->known);
  env->known = bigger.known;
  env->known_cap = cap;
  return true;
}

static void enter(ig_ctx *c, const ig_expr *relation, bool truth) {
  ig_env *env = ig_env_get(c);
  if (!env || !relation || relation->kind == IG_EXPR_BOOL) return;
  if (env->nknown * 2 >= env->known_cap && !grow(env)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  ig_known_slot *s = &env->known[slot_of(env, relation)];
  env->nknown += s->relation == NULL;
  *s = (ig_known_slot){relation, truth};
}

// a kind b, in canonical form
static void enter_relation(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b,
                           bool truth) {
  const ig_expr *r = a && b ? ig_expr_make2(c, kind, a, b) : NULL;
  if (!r || r->kind == IG_EXPR_BOOL) return;
  enter(c, ig_expr_canonical(c, r), truth);
}

static const ig_expr *plus(ig_ctx *c, const ig_expr *a, int64_t k) {
  const ig_expr *r = ig_expr_make2(c, IG_EXPR_ADD, a, ig_expr_of_i64(c, k));
  return r ? ig_expr_simplify(c, r) : NULL;
}

static void follow_equality(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  enter_relation(c, IG_EXPR_EQ, a, b, true);
  enter_relation(c, IG_EXPR_EQ, b, a, true);
  enter_relation(c, IG_EXPR_NE, a, b, false);
  enter_relation(c, IG_EXPR_NE, b, a, false);
  enter_relation(c, IG_EXPR_LE, a, b, true);
  enter_relation(c, IG_EXPR_LE, b, a, true);
  enter_relation(c, IG_EXPR_LT, a, b, false);
  enter_relation(c, IG_EXPR_LT, b, a, false);
}

static void follow_less(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  enter_relation(c, IG_EXPR_LT, a, b, true);
  enter_relation(c, IG_EXPR_LE, a, b, true);
  enter_relation(c, IG_EXPR_LE, b, a, false);
  enter_relation(c, IG_EXPR_LT, b, a, false);
  const ig_expr *pairs[2][2] = {{a, b}, {b, a}};
  for (int i = 0; i < 2; i++) {
    enter_relation(c, IG_EXPR_NE, pairs[i][0], pairs[i][1], true);
    enter_relation(c, IG_EXPR_EQ, pairs[i][0], pairs[i][1], false);
  }
  if (a->sort != IG_SORT_INT || b->sort != IG_SORT_INT) return;
  enter_relation(c, IG_EXPR_LE, plus(c, a, 1), b, true);
  enter_relation(c, IG_EXPR_LT, b, plus(c, a, 1), false);
}

static void follow_at_most(ig_ctx *c, const ig_expr *a, const ig_expr *b) {
  enter_relation(c, IG_EXPR_LE, a, b, true);
  enter_relation(c, IG_EXPR_LT, b, a, false);
  if (a->sort != IG_SORT_INT || b->sort != IG_SORT_INT) return;
  enter_relation(c, IG_EXPR_LT, a, plus(c, b, 1), true);
  enter_relation(c, IG_EXPR_LE, plus(c, b, 1), a, false);
}

void ig_env_remember(ig_ctx *c, const ig_expr *e) {
  if (!e || c->status != IG_OK) return;
  const ig_expr *canonical = ig_expr_canonical(c, e);
  if (!canonical || canonical->kind == IG_EXPR_BOOL) return;
  if (canonical->kind == IG_EXPR_AND) {
    for (size_t i = 0; i < canonical->n; i++) ig_env_remember(c, canonical->args[i]);
  }
  ig_env *env = ig_env_get(c);
  if (env) env->remembers = true;
  enter(c, canonical, true);
  const ig_expr *no = ig_expr_make(c, IG_EXPR_NOT, &canonical, 1);
  if (no && no->kind != IG_EXPR_BOOL) enter(c, ig_expr_canonical(c, no), false);
  switch (canonical->kind) {
    case IG_EXPR_EQ:
      follow_equality(c, canonical->args[0], canonical->args[1]);
      break;
    case IG_EXPR_NE:
      enter_relation(c, IG_EXPR_NE, canonical->args[1], canonical->args[0], true);
      enter_relation(c, IG_EXPR_EQ, canonical->args[1], canonical->args[0], false);
      break;
    case IG_EXPR_LT:
      follow_less(c, canonical->args[0], canonical->args[1]);
      break;
    case IG_EXPR_LE:
      follow_at_most(c, canonical->args[0], canonical->args[1]);
      break;
    default:
      break;
  }
}

void ig_env_decided(ig_ctx *c, const ig_expr *guard) {
  const ig_expr *no = ig_expr_make1(c, IG_EXPR_NOT, guard);
  enter(c, guard, true);
  enter(c, no, false);
}

static ig_answer look_up(const ig_env *env, const ig_expr *e) {
  const ig_known_slot *s = &env->known[slot_of(env, e)];
  return !s->relation ? IG_UNKNOWN : s->truth ? IG_YES : IG_NO;
}

ig_answer ig_env_recall(ig_ctx *c, const ig_expr *relation) {
  const ig_env *env = ig_env_get(c);
  if (!env || env->nknown == 0) return IG_UNKNOWN;
  ig_answer same = look_up(env, relation);
  if (same != IG_UNKNOWN || !env->remembers) return same;
  const ig_expr *canonical = ig_expr_canonical(c, relation);
  if (!canonical) return IG_UNKNOWN;
  if (canonical->kind == IG_EXPR_BOOL) return canonical->value ? IG_YES : IG_NO;
  return look_up(env, canonical);
}
