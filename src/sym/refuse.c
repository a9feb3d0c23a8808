// SPDX-License-Identifier: Apache-2.0
// Data-dependent queries: rejected with all information that helps to resolve them or, in a draft,
// answered by the example and reported.
#include <string.h>

#include "sym/report.h"

// ---- examples ----

void ig_env_set_example(ig_ctx *c, const ig_expr *symbol, const ig_hint *value) {
  ig_symbol *s = ig_env_symbol(c, symbol);
  if (!s || s->has_example) return;
  s->has_example = true;
  s->example = *value;
}

static bool example_of(void *user, const ig_expr *symbol, ig_hint *out) {
  const ig_ctx *c = user;
  const ig_env *env = c->mode->sym->env;
  if (symbol->backed) {
    *out = (ig_hint){.sort = symbol->sort, .i = symbol->value, .den = 1, .f = symbol->f};
    return symbol->hinted;
  }
  if (symbol->index >= env->symbols.n || !env->symbols.at[symbol->index].has_example) return false;
  *out = env->symbols.at[symbol->index].example;
  return true;
}

bool ig_env_example(ig_ctx *c, const ig_expr *e, ig_hint *out) {
  return c->mode->draft && c->mode->sym && c->mode->sym->env && ig_expr_eval(e, example_of, c, out);
}

// ---- texts ----

static const ig_expr *hinted(void *user, const ig_expr *e) {
  if (e->kind != IG_EXPR_SYMBOL || !e->hinted || e->sort != IG_SORT_INT) return NULL;
  return ig_expr_of_i64(user, e->value);
}

static void add_size_like(ig_ctx *c, ig_str *s, const ig_expr *e) {
  size_t n = 0;
  size_t found = 0;
  const ig_expr *const *free = ig_expr_symbols(c, e, &n);
  ig_str_add(s, "  (Size-like symbols: ");
  for (size_t i = 0; i < n; i++) {
    const ig_symbol *symbol = ig_env_symbol(c, free[i]);
    if (symbol && symbol->size_like) ig_str_add(s, "%s%s", found++ ? ", " : "", free[i]->name);
  }
  ig_str_add(s, "%s)", found ? "" : "none");
}

static void add_question(ig_ctx *c, ig_str *s, const ig_expr *e, bool oblivious) {
  ig_answer easier =
      oblivious || e->sort != IG_SORT_BOOL ? IG_UNKNOWN : ig_env_static(c, e, IG_ASK_OBLIVIOUS);
  const ig_expr *shown = ig_expr_replace(c, e, hinted, c);
  ig_str_add(s, "Could not %s data-dependent expression ",
             e->sort == IG_SORT_INT ? "extract specialized integer from" : "guard on");
  ig_str_expr(s, shown ? shown : e);
  ig_str_add(s, " (unhinted: ");
  ig_str_expr(s, e);
  ig_str_add(s, ").");
  add_size_like(c, s, e);
  if (easier == IG_UNKNOWN) return;
  ig_str_add(s,
             "\n\nATTENTION: guard_size_oblivious would fix the error, evaluating expression to "
             "%s.\nMaybe you need to add guard_size_oblivious to framework code, see doc below "
             "for more guidance.",
             easier == IG_YES ? "True" : "False");
}

typedef struct help {
  const ig_remedy *checks;
  size_t n;
  const char *how;  // symbols that the checks replace
  bool listed;
} help;

// Numbered checks; the hint about sizes follows.
static void add_checks(ig_str *s, const help *h) {
  size_t number = 1;
  for (size_t i = 0; i < h->n; i++) {
    if (!h->checks[i].is_size) ig_str_add(s, "\n  %zu. %s", number++, h->checks[i].text);
  }
}

static void add_sizes(ig_str *s, const help *h) {
  for (size_t i = 0; i < h->n; i++) {
    if (!h->checks[i].is_size) continue;
    ig_str_add(s, "\n\nFor a size it is enough to say %s.", h->checks[i].text);
  }
}

// The same in one sentence, for queries of the program itself and in strict captures, where PyTorch
// has no list.
static void add_sentence(ig_str *s, const help *h, const char *where) {
  bool any = false;
  for (size_t i = 0; i < h->n; i++) {
    if (h->checks[i].is_size) continue;
    ig_str_add(s, "%s%s%s", any ? " or " : "\n\nOne of these has to hold before this ",
               any ? "" : where, h->checks[i].text);
    any = true;
  }
  if (any) ig_str_add(s, ".");
}

static void add_help(ig_str *s, const ig_issue *i, const help *h) {
  if (i->op) ig_str_add(s, "\n\nWhile calling %s(%s)", i->op, i->operands ? i->operands : "");
  if (i->file) {
    ig_str_add(s, "\n\nUser code:\n  File \"%s\", line %d%s%s", i->file, i->line,
               i->function ? ", in " : "", i->function ? i->function : "");
    if (i->source) ig_str_add(s, "\n    %s", i->source);
  }
  if (!h->listed || !i->op) {
    add_sentence(s, h, i->op ? "call: " : "line: ");
  } else {
    ig_str_add(s, "\n\nTo fix the error, insert one of the following checks before this call:");
    add_checks(s, h);
    if (h->how) {
      ig_str_add(s,
                 "\n\n(These suggested fixes were derived by replacing %s in %s and its negation.)",
                 h->how, i->predicate);
    }
  }
  add_sizes(s, h);
}

static void fail(ig_ctx *c, const ig_expr *e, bool oblivious, const ig_issue *issue, help h) {
  ig_str s = ig_str_make(c->alloc);
  const ig_issue *told = NULL;
  ig_issue_tell(c, issue);
  size_t n = ig_report_issues(ig_ctx_report(c), &told);
  add_question(c, &s, e, oblivious);
  h.listed = !(c->mode->sym && c->mode->sym->env && c->mode->sym->env->keeps_checked);
  add_help(&s, n ? &told[n - 1] : issue, &h);
  ig_fail_text(c, IG_DATA_DEPENDENT, "%s", s.at ? s.at : "");
  ig_report_printed(c);
  ig_str_free(&s);
}

// ---- the error ----

bool ig_env_refuse(ig_ctx *c, const ig_expr *e, bool oblivious, ig_hint *example) {
  if (c->status != IG_OK) return false;
  bool known = ig_env_example(c, e, example);
  ig_str predicate = ig_str_make(c->alloc);
  ig_str answer = ig_str_make(c->alloc);
  ig_str fix = ig_str_make(c->alloc);
  ig_str how = ig_str_make(c->alloc);
  ig_str reason = ig_str_make(c->alloc);
  ig_str_expr(&predicate, e);
  ig_scope scope = ig_scope_open(c);
  help h = {.checks = NULL};
  h.checks = ig_remedies(c, e, &how, &h.n);
  h.how = how.at;
  for (size_t i = 0; i < h.n; i++) ig_str_add(&fix, "%s\n", h.checks[i].text);
  if (known) ig_str_hint(&answer, example);
  ig_str_add(&reason, "The program needs the %s of `%s`, which depends on the data.",
             e->sort == IG_SORT_BOOL ? "truth" : "value", predicate.at ? predicate.at : "?");
  ig_issue issue = {.kind = IG_ISSUE_DATA_DEPENDENT,
                    .predicate = predicate.at,
                    .answer = answer.at,
                    .fix = fix.at,
                    .reason = reason.at};
  if (c->mode->sym && c->mode->sym->env) c->mode->sym->env->refused = e;
  if (known) {
    ig_issue_tell(c, &issue);
  } else {
    ig_mode_scope mode = ig_mode_push_draft(c, NULL);  // the issue belongs to the error
    fail(c, e, oblivious, &issue, h);
    ig_mode_pop(c, &mode);
  }
  ig_scope_close(c, scope);
  ig_str *texts[] = {&predicate, &answer, &fix, &how, &reason};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) ig_str_free(texts[i]);
  return known;
}
