// SPDX-License-Identifier: Apache-2.0
// New names for unbacked symbols, when a program is traced again: ranges, facts, assertions and
// replacements are copied to the new symbols.
#include <stdio.h>

#include "sym/env.h"

typedef struct renaming {
  const ig_expr *const *old;
  const ig_expr *const *fresh;
  size_t n;
} renaming;

// e with the new symbols; NULL: it has none of the old ones, or an error.
static const ig_expr *renamed(ig_ctx *c, const renaming *r, const ig_expr *e) {
  if (!e) return NULL;
  const ig_expr *now = ig_expr_substitute(c, e, r->old, r->fresh, r->n);
  return now == e ? NULL : now;
}

static const ig_expr *create(ig_ctx *c, const ig_expr *old) {
  char name[24];
  bool whole = old->sort == IG_SORT_INT;
  ig_symbol_info info = {.sort = old->sort, .positive = old->positive};
  info.range = ig_symbol_range(c, old);
  uint32_t *count = whole ? &c->mode->sym->counts[0] : &c->mode->sym->floats;
  (void)snprintf(name, sizeof name, "%s%u", whole ? "u" : "zuf", (*count)++);
  return ig_expr_symbol(c, name, &info);
}

static bool copy_symbol(ig_ctx *c, const renaming *r, size_t i) {
  const ig_symbol *from = ig_env_symbol(c, r->old[i]);
  if (!from) return false;
  ig_symbol known = *from;
  const ig_expr *replacement = renamed(c, r, known.replacement);
  if (!replacement) replacement = known.replacement;
  ig_symbol *to = ig_env_symbol(c, r->fresh[i]);
  if (!to) return false;
  to->size_like = known.size_like;
  to->kept = known.kept;
  to->has_example = known.has_example;
  to->example = known.example;
  to->replacement = replacement;
  return true;
}

static bool copy_facts(ig_ctx *c, const renaming *r) {
  const ig_env *env = c->mode->sym->env;
  size_t cap = env->known_cap;
  ig_known_slot *slots = ig_scope_array(c, cap, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < cap; i++) slots[i] = env->known[i];  // it grows during the loop
  for (size_t i = 0; i < cap && c->status == IG_OK; i++) {
    if (!slots[i].relation || !slots[i].truth) continue;
    const ig_expr *now = renamed(c, r, slots[i].relation);
    now = now ? ig_expr_canonical(c, now) : NULL;
    if (now && now->kind != IG_EXPR_BOOL) ig_env_remember(c, now);
  }
  return c->status == IG_OK;
}

static bool copy_asserts(ig_ctx *c, const renaming *r) {
  ig_env *env = c->mode->sym->env;
  size_t n = env->asserts.n;
  for (size_t i = 0; i < n; i++) {
    ig_assert a = env->asserts.at[i];
    const ig_expr *now = renamed(c, r, a.expr);
    if (!now) continue;
    a.expr = ig_expr_canonical(c, now);
    for (size_t k = 0; k < r->n; k++) {
      if (a.symbol == r->old[k]) a.symbol = r->fresh[k];
    }
    if (!a.expr || !ig_vec_push(env->alloc, &env->asserts, a)) {
      return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    }
  }
  return c->status == IG_OK;
}

bool ig_sym_renew(ig_ctx *c, const ig_expr *const *old, const ig_expr **fresh, size_t n) {
  ig_scope s = ig_scope_open(c);
  renaming r = {old, fresh, n};
  bool ok = c->status == IG_OK && ig_env_get(c);
  for (size_t i = 0; ok && i < n; i++) ok = (fresh[i] = create(c, old[i])) != NULL;
  for (size_t i = 0; ok && i < n; i++) ok = copy_symbol(c, &r, i);
  ok = ok && copy_facts(c, &r) && copy_asserts(c, &r);
  ig_scope_close(c, s);
  return ok;
}
