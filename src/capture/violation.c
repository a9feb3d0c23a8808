// SPDX-License-Identifier: Apache-2.0
// Violations of declared dims as issues: the decision of the program that caused it, and the edit.
#include <string.h>

#include "base/frames.h"
#include "capture/dims.h"
#include "sym/report.h"

static bool is_called(const ig_dim_use *u, const char *name) {
  bool root = u->dim.kind == IG_DIM_DERIVED && strcmp(u->dim.root, name) == 0;
  return root || strcmp(ig_use_name(u), name) == 0;
}

static bool is_about(ig_ctx *c, const ig_dims *d, const ig_expr *e, const char *name) {
  size_t n = 0;
  const ig_expr *const *free = ig_expr_symbols(c, e, &n);
  for (size_t k = 0; k < n * d->uses.n; k++) {
    const ig_dim_use *u = &d->uses.at[k % d->uses.n];
    if (u->size.expr == free[k / d->uses.n] && is_called(u, name)) return true;
  }
  return false;
}

// The first decision or assertion about a size of that name.
static ig_guard place_of(ig_ctx *c, const ig_dims *d, const char *name) {
  const ig_env *env = c->mode->sym->env;
  for (size_t i = 0; i < env->guards.n; i++) {
    if (is_about(c, d, env->guards.at[i].expr, name)) return env->guards.at[i];
  }
  for (size_t i = 0; i < env->asserts.n; i++) {
    const ig_assert *a = &env->asserts.at[i];
    if (is_about(c, d, a->expr, name)) return (ig_guard){a->expr, a->file, a->line, a->stack};
  }
  return (ig_guard){0};
}

// The fixes of that name, or all of them.
static void add_fixes(ig_str *s, const ig_dim_fix *fixes, size_t n, const char *name) {
  for (int own = 1; own >= 0 && !s->n; own--) {
    for (size_t i = 0; i < n; i++) {
      if (own && strcmp(fixes[i].name, name) != 0) continue;
      ig_str_add(s, "in dynamic_shapes: ");
      ig_str_fix(s, &fixes[i]);
      ig_str_add(s, "\n");
    }
  }
}

void ig_dims_tell(ig_ctx *c, const ig_dims *d, const ig_violation *v, const char *reason,
                  const ig_dim_fix *fixes, size_t nfixes) {
  if (c->status != IG_OK) return;
  ig_guard g = v->guard ? *v->guard : place_of(c, d, v->name);
  ig_str sentence = ig_str_make(c->alloc);
  ig_str predicate = ig_str_make(c->alloc);
  ig_str fix = ig_str_make(c->alloc);
  ig_str_add(&sentence, "%.*s", (int)strcspn(reason, "\n"), reason);
  if (g.expr) ig_str_expr(&predicate, g.expr);
  add_fixes(&fix, fixes, nfixes, v->name);
  ig_issue issue = {.kind = IG_ISSUE_CONSTRAINT,
                    .file = g.file ? g.file : "",
                    .line = g.line,
                    .frames = g.stack ? g.stack->at : NULL,
                    .nframes = g.stack ? g.stack->n : 0,
                    .predicate = predicate.at,
                    .reason = sentence.at,
                    .fix = fix.at};
  ig_issue_tell(c, &issue);
  ig_str_free(&sentence);
  ig_str_free(&predicate);
  ig_str_free(&fix);
}
