// SPDX-License-Identifier: Apache-2.0
// Unbacked symbols when a graph is traced again: they stay what they are, or, once after a
// non-strict capture, get the next numbers as PyTorch's second trace does.
#include <stdio.h>
#include <string.h>

#include "sym/env.h"

static bool is_unbacked(const ig_expr *e) {
  return e && e->kind == IG_EXPR_SYMBOL && !e->backed;
}

static void push(ig_ctx *c, ig_env *env, const ig_expr *e) {
  if (!is_unbacked(e)) return;
  const ig_symbol *s = ig_env_symbol(c, e);
  if (s && s->twin) e = s->twin;
  if (!ig_vec_push(env->alloc, &env->replay, e)) (void)ig_fail(c, IG_NOMEM, "out of memory");
}

// `sizes` and `ndim` of a tensor are not known in this layer: the caller hands its integers.
static void push_value(ig_ctx *c, ig_env *env, const ig_value *v) {
  if (v->kind == IG_KIND_INT) push(c, env, v->i.expr);
  for (size_t i = 0; v->kind == IG_KIND_INTS && i < v->ints.n; i++) {
    push(c, env, v->ints.at[i].expr);
  }
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    push_value(c, env, &v->list.at[i]);
  }
}

void ig_env_replay(ig_ctx *c, const ig_value *old) {
  ig_env *env = c->sym ? c->sym->env : NULL;
  if (!env) return;
  env->replay.n = 0;
  env->replayed = 0;
  if (old) push_value(c, env, old);
}

bool ig_env_next(ig_ctx *c, ig_int *out) {
  ig_env *env = c->sym ? c->sym->env : NULL;
  if (!env || env->replayed >= env->replay.n) return false;
  *out = (ig_int){0, env->replay.at[env->replayed++]};
  return true;
}

static const ig_expr *twin_of(void *user, const ig_expr *e) {
  if (!is_unbacked(e)) return NULL;
  const ig_symbol *s = ig_env_symbol(user, e);
  return s ? s->twin : NULL;
}

static const ig_expr *symbol_number(ig_ctx *c, uint32_t i) {
  char name[16];
  snprintf(name, sizeof name, "u%u", i);
  return ig_expr_find(c, name);
}

static void make_twin(ig_ctx *c, const ig_expr *old) {
  const ig_expr *twin = ig_sym_unbacked(c).expr;
  ig_symbol *to = twin ? ig_env_symbol(c, twin) : NULL;
  if (!to) return;
  ig_symbol *from = ig_env_symbol(c, old);
  to = &c->sym->env->symbols.at[twin->index];
  if (!from) return;
  to->size_like = from->size_like;
  from->twin = twin;
  ig_symbol_set_range(c, twin, ig_symbol_range(c, old));
}

void ig_env_make_twins(ig_ctx *c) {
  ig_env *env = c->status == IG_OK ? ig_env_get(c) : NULL;
  uint32_t n = env ? c->sym->counts[0] : 0;
  for (uint32_t i = 0; i < n && c->status == IG_OK; i++) {
    const ig_expr *old = symbol_number(c, i);
    if (old) make_twin(c, old);
  }
  for (uint32_t i = 0; i < n && c->status == IG_OK; i++) {
    const ig_expr *old = symbol_number(c, i);
    const ig_symbol *s = old ? ig_env_symbol(c, old) : NULL;
    if (!s || !s->twin || !s->replacement) continue;
    const ig_expr *target = ig_expr_replace(c, s->replacement, twin_of, c);
    ig_symbol *to = ig_env_symbol(c, s->twin);
    if (to) to->replacement = target;
  }
  for (size_t i = 0; n && i < env->asserts.n && c->status == IG_OK; i++) {
    ig_assert *a = &env->asserts.at[i];
    const ig_expr *e = ig_expr_replace(c, a->expr, twin_of, c);
    if (!e) return;
    a->expr = e;
    if (a->symbol) a->symbol = twin_of(c, a->symbol);
    ig_env_remember(c, e);
  }
}
