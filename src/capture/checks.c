// SPDX-License-Identifier: Apache-2.0
// Checking inputs when a program runs: sizes against what was captured, symbols solved from the
// first size that mentions them, bounds, and values that the capture has fixed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "capture/dims.h"
#include "op/refuse.h"

typedef struct binding {
  const ig_expr *symbol;
  int64_t value;
} binding;

typedef struct checker {
  ig_ctx *c;
  const ig_range_entry *ranges;
  size_t nranges;
  binding *bound;
  size_t nbound;
  const char *path;
  const char *name;  // of the placeholder
} checker;

static bool fail(const checker *k, const char *where, const char *what, const char *want,
                 const char *got) {
  ig_fail_text(k->c, IG_RUNTIME | IG_E_PROGRAM_INPUT,
               "Expected input at %s%s to be %s %s, but got %s", k->path, where, what, want, got);
  return false;
}

static bool fail_size(const checker *k, int dim, const char *what, int64_t want, int64_t got) {
  char where[32];
  char w[32];
  char g[32];
  (void)snprintf(where, sizeof where, ".shape[%d]", dim);
  (void)snprintf(w, sizeof w, "%lld", (long long)want);
  (void)snprintf(g, sizeof g, "%lld", (long long)got);
  return fail(k, where, what, w, g);
}

static bool lookup(void *user, const ig_expr *symbol, ig_hint *out) {
  const checker *k = user;
  for (size_t i = 0; i < k->nbound; i++) {
    if (k->bound[i].symbol != symbol) continue;
    *out = (ig_hint){.sort = IG_SORT_INT, .i = k->bound[i].value, .den = 1};
    return true;
  }
  return false;
}

// Solves for the symbol of a size that is not known yet: k*s + c = size.
static bool bind(checker *k, int dim, const ig_expr *e, const ig_expr *symbol, int64_t size) {
  const ig_expr *same = NULL;
  int64_t f = 0;
  int64_t c = 0;
  if (!ig_expr_affine(e, &same, &f, &c) || !same || f == 0) return true;  // cannot be solved here
  if ((size - c) % f != 0) {
    ig_str s = ig_str_make(k->c->alloc);
    ig_str_expr(&s, e);
    ig_fail_text(k->c, IG_RUNTIME | IG_E_PROGRAM_INPUT,
                 "Expected input %s.shape[%d] = %lld to be of the form %s, where %s is an integer",
                 k->name, dim, (long long)size, s.at ? s.at : "", symbol->name);
    ig_str_free(&s);
    return false;
  }
  k->bound[k->nbound++] = (binding){symbol, (size - c) / f};
  return true;
}

static bool check_bounds(const checker *k, int dim, const ig_expr *e, int64_t size) {
  for (size_t i = 0; i < k->nranges; i++) {
    const ig_range_entry *r = &k->ranges[i];
    if (r->expr != e) continue;
    // Sizes 0 and 1 are allowed: programs are captured for sizes from 2 on but are mostly valid for
    // them.
    if (r->lo > 2 && size < r->lo) return fail_size(k, dim, ">=", r->lo, size);
    if (size > r->hi) return fail_size(k, dim, "<=", r->hi, size);
  }
  return true;
}

// The only symbol of an expression; false: it has several. Read-only, because programs are shared.
static bool only_symbol(const ig_expr *e, const ig_expr **symbol) {
  if (e->kind == IG_EXPR_SYMBOL) {
    bool same = !*symbol || *symbol == e;
    *symbol = e;
    return same;
  }
  for (size_t i = 0; i < e->n; i++) {
    if (!only_symbol(e->args[i], symbol)) return false;
  }
  return true;
}

static bool check_symbolic(checker *k, int dim, const ig_expr *e, int64_t size) {
  const ig_expr *symbol = NULL;
  if (!only_symbol(e, &symbol) || !symbol) return true;
  ig_hint v;
  if (ig_expr_eval(e, lookup, k, &v)) {
    if (v.sort == IG_SORT_INT && v.i != size)
      return fail_size(k, dim, "equal to", (int64_t)v.i, size);
  } else if (!bind(k, dim, e, symbol, size)) {
    return false;
  }
  return check_bounds(k, dim, e, size);
}

static bool check_tensor(checker *k, const ig_tensor *want, const ig_value *given) {
  if (given->kind != IG_KIND_TENSOR) {
    ig_fail_text(k->c, IG_RUNTIME | IG_E_PROGRAM_INPUT,
                 "Expected input at %s to be a tensor, but got <class '%s'>", k->path,
                 ig_value_class(given));
    return false;
  }
  const ig_tensor *t = given->tensor;
  if (t->ndim != want->ndim) {
    ig_fail_text(
        k->c, IG_RUNTIME | IG_E_PROGRAM_INPUT,
        "Unexpected number of dimensions in input at %s.shape (expected torch.Size(%s), got "
        "torch.Size(%s))",
        k->path, ig_sizes_text(k->c, ig_sizes(want), (size_t)want->ndim),
        ig_sizes_text(k->c, ig_sizes(t), (size_t)t->ndim));
    return false;
  }
  for (int d = 0; d < t->ndim; d++) {
    ig_int size = ig_sizes(want)[d];
    ig_int have = ig_sizes(t)[d];
    if (have.expr) continue;  // a fake input: its sizes are checked where they are known
    bool ok = size.expr
                  ? check_symbolic(k, d, size.expr, have.value)
                  : size.value == have.value || fail_size(k, d, "equal to", size.value, have.value);
    if (!ok) return false;
  }
  return true;
}

static void str_value(ig_str *s, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      ig_str_add(s, "%lld", (long long)v->i.value);
      break;
    case IG_KIND_FLOAT:
      ig_str_float(s, v->f);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, v->b ? "True" : "False");
      break;
    case IG_KIND_STR:
      ig_str_add(s, "%s", v->str);
      break;
    case IG_KIND_NONE:
      ig_str_add(s, "None");
      break;
    case IG_KIND_TENSOR:
      ig_str_add(s, "a tensor");
      break;
    default:
      ig_str_add(s, "another value");
      break;
  }
}

static bool same_value(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_INT:
      return a->i.value == b->i.value;
    case IG_KIND_FLOAT:
      return a->f == b->f || (isnan(a->f) && isnan(b->f));
    case IG_KIND_BOOL:
      return a->b == b->b;
    case IG_KIND_STR:
      return strcmp(a->str, b->str) == 0;
    default:
      return true;
  }
}

static bool check_value(const checker *k, const ig_value *want, const ig_value *given) {
  bool symbolic = (want->kind == IG_KIND_INT && want->i.expr) ||
                  (want->kind == IG_KIND_FLOAT && want->f_expr) ||
                  (want->kind == IG_KIND_BOOL && want->b_expr);
  if (symbolic || same_value(want, given)) return true;
  ig_str w = ig_str_make(k->c->alloc);
  ig_str g = ig_str_make(k->c->alloc);
  str_value(&w, want);
  str_value(&g, given);
  (void)fail(k, "", "equal to", w.at ? w.at : "", g.at ? g.at : "");
  ig_str_free(&w);
  ig_str_free(&g);
  return false;
}

static bool check_all(checker *k, const ig_program *p, const ig_value *flat,
                      const char *const *paths) {
  size_t i = 0;
  char path[32];
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n) || n->role != IG_INPUT_USER) continue;
    (void)snprintf(path, sizeof path, "*args[%zu]", i);
    k->path = paths ? paths[i] : path;
    k->name = n->name;
    bool ok = n->val.kind == IG_KIND_TENSOR ? check_tensor(k, n->val.tensor, &flat[i])
                                            : check_value(k, &n->val, &flat[i]);
    k->path = NULL;
    if (!ok) return false;
    i++;
  }
  return true;
}

ig_status ig_program_check_inputs(ig_ctx *c, const ig_program *p, const ig_value *flat,
                                  const char *const *paths, size_t n) {
  size_t expected = ig_program_user_inputs(p);
  if (c->status != IG_OK) return c->status;
  if (n != expected)
    return ig_fail(c, IG_RUNTIME | IG_E_PROGRAM_INPUT, "found %zu inputs, expected %zu", n,
                   expected);
  ig_scope s = ig_scope_open(c);
  checker k = {.c = c};
  const ig_sym *sym = p->graph->sym;
  if (sym && sym->env && sym->env->dims) {
    k.ranges = sym->env->dims->ranges.at;
    k.nranges = sym->env->dims->ranges.n;
  }
  size_t symbols = sym ? sym->exprs.ranges.n : 0;
  k.bound = ig_scope_array(c, symbols, sizeof *k.bound);
  ig_mode_scope mode = ig_mode_push_sym(c, p->graph->sym);
  if (k.bound) (void)check_all(&k, p, flat, paths);
  ig_mode_pop(c, &mode);
  ig_scope_close(c, s);
  return c->status;
}
