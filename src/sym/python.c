// SPDX-License-Identifier: Apache-2.0
// Expressions in Python syntax, and the checks that would resolve a query.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sym/build.h"
#include "sym/report.h"

enum { OR = 20, AND = 30, RELATION = 35, SUM = 40, PRODUCT = 50, POWER = 60, ATOM = 100 };

typedef struct writer {
  ig_ctx *c;
  ig_str *s;
  ig_str *how;
} writer;

static void write(const writer *w, const ig_expr *e);

static int level(const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_CONST:
    case IG_EXPR_RATIONAL:
    case IG_EXPR_FLOAT:
      return ig_num_sign(ig_expr_num(e)) < 0 ? SUM : e->kind == IG_EXPR_RATIONAL ? PRODUCT : ATOM;
    case IG_EXPR_ADD:
      return SUM;
    case IG_EXPR_MUL:
      return ig_num_sign(ig_term_coeff(e)) < 0 ? SUM : PRODUCT;
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
    case IG_EXPR_INT_TRUEDIV:
    case IG_EXPR_FLOAT_TRUEDIV:
      return PRODUCT;
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
    case IG_EXPR_FLOAT_POW:
      return POWER;
    case IG_EXPR_EQ:
    case IG_EXPR_NE:
    case IG_EXPR_LT:
    case IG_EXPR_LE:
    case IG_EXPR_GT:
    case IG_EXPR_GE:
      return RELATION;
    case IG_EXPR_AND:
      return AND;
    case IG_EXPR_OR:
      return OR;
    default:
      return ATOM;
  }
}

static void wrap(const writer *w, const ig_expr *e, int around) {
  bool paren = level(e) <= around;
  if (paren) ig_str_add(w->s, "(");
  write(w, e);
  if (paren) ig_str_add(w->s, ")");
}

static void infix(const writer *w, const ig_expr *e, const char *op, int around) {
  for (size_t i = 0; i < e->n; i++) {
    if (i) ig_str_add(w->s, "%s", op);
    wrap(w, e->args[i], around);
  }
}

static bool is_told(const ig_str *how, const char *name) {
  char text[64];
  (void)snprintf(text, sizeof text, "`%s`", name);
  return how->at && strstr(how->at, text);
}

static void symbol(const writer *w, const ig_expr *e) {
  ig_str name = ig_str_make(w->c->alloc);
  bool named = w->c->name_symbol && w->c->name_symbol(w->c, e, &name) && name.at;
  ig_str_add(w->s, "%s", named ? name.at : e->name);
  if (named && w->how && strcmp(name.at, e->name) != 0 && !is_told(w->how, e->name)) {
    ig_str_add(w->how, "%s`%s` with %s", w->how->n ? ", " : "", e->name, name.at);
  }
  ig_str_free(&name);
}

static void sum(const writer *w, const ig_expr *e) {
  for (size_t i = 0; i < e->n; i++) {
    const ig_expr *t = ig_sum_term(e, i);
    size_t at = w->s->n;
    if (i) ig_str_add(w->s, " + ");
    write(w, t);
    if (i && !w->s->failed && w->s->at[at + 3] == '-') {  // a + -b
      memmove(w->s->at + at + 3, w->s->at + at + 4, w->s->n - at - 3);
      w->s->n--;
      w->s->at[at + 1] = '-';
    }
  }
}

static void product(const writer *w, const ig_expr *e) {
  ig_num k = ig_term_coeff(e);
  size_t n = 0;
  const ig_expr *const *f = ig_term_factors(&e, &n);
  char text[IG_WIDE_TEXT];
  bool minus = ig_num_sign(k) < 0;
  bool started = k.is_float || (k.p != 1 && k.p != -1);
  if (minus) ig_str_add(w->s, "-");
  if (k.is_float) {
    ig_str_float(w->s, fabs(k.f));
  } else if (started) {
    ig_str_add(w->s, "%s", ig_wide_text(minus ? -k.p : k.p, text));
  }
  for (size_t i = 0; i < n; i++) {
    if (started) ig_str_add(w->s, "*");
    wrap(w, f[i], PRODUCT);
    started = true;
  }
  if (!k.is_float && k.q != 1) ig_str_add(w->s, "/%s", ig_wide_text(k.q, text));
}

static const char *function_of(ig_expr_kind kind) {
  switch (kind) {
    case IG_EXPR_MIN:
      return "torch.sym_min";
    case IG_EXPR_MAX:
      return "torch.sym_max";
    case IG_EXPR_ABS:
      return "abs";
    case IG_EXPR_CEIL:
      return "math.ceil";
    case IG_EXPR_FLOOR:
      return "math.floor";
    case IG_EXPR_TRUNC:
    case IG_EXPR_TRUNC_FLOAT:
      return "int";
    case IG_EXPR_ROUND:
    case IG_EXPR_ROUND_DECIMAL:
      return "round";
    case IG_EXPR_TO_FLOAT:
      return "float";
    case IG_EXPR_NOT:
      return "torch.sym_not";
    default:
      return NULL;
  }
}

static void call(const writer *w, const ig_expr *e) {
  static const char opaque[] = "OpaqueUnaryFn_";
  const char *name = function_of(e->kind);
  const char *own = ig_expr_kind_text(e->kind);
  if (name) {
    ig_str_add(w->s, "%s(", name);
  } else if (strncmp(own, opaque, sizeof opaque - 1) == 0) {
    ig_str_add(w->s, "torch._sym_%s(", own + sizeof opaque - 1);
  } else {
    ig_str_add(w->s, "%s(", own);
  }
  for (size_t i = 0; i < e->n; i++) {
    if (i) ig_str_add(w->s, ", ");
    write(w, e->args[i]);
  }
  ig_str_add(w->s, ")");
}

static void number(const writer *w, const ig_expr *e) {
  char text[IG_WIDE_TEXT];
  if (e->kind == IG_EXPR_FLOAT) {
    ig_str_float(w->s, e->f);
    return;
  }
  ig_str_add(w->s, "%s", ig_wide_text(e->num, text));
  if (e->kind == IG_EXPR_RATIONAL) ig_str_add(w->s, "/%s", ig_wide_text(e->den, text));
}

static const char *operator_of(ig_expr_kind kind) {
  switch (kind) {
    case IG_EXPR_POW:
    case IG_EXPR_POW_NATURAL:
    case IG_EXPR_FLOAT_POW:
      return "**";
    case IG_EXPR_FLOORDIV:
    case IG_EXPR_CLEANDIV:
      return "//";
    case IG_EXPR_MOD:
    case IG_EXPR_PYTHONMOD:
      return " % ";
    case IG_EXPR_INT_TRUEDIV:
    case IG_EXPR_FLOAT_TRUEDIV:
      return "/";
    case IG_EXPR_EQ:
      return " == ";
    case IG_EXPR_NE:
      return " != ";
    case IG_EXPR_LT:
      return " < ";
    case IG_EXPR_LE:
      return " <= ";
    case IG_EXPR_GT:
      return " > ";
    case IG_EXPR_GE:
      return " >= ";
    case IG_EXPR_AND:
      return " & ";
    case IG_EXPR_OR:
      return " | ";
    default:
      return NULL;
  }
}

// == and != put products and sums into parentheses, & and | everything except names.
static int around(const ig_expr *e) {
  if (e->kind == IG_EXPR_EQ || e->kind == IG_EXPR_NE) return PRODUCT;
  return e->kind == IG_EXPR_AND || e->kind == IG_EXPR_OR ? POWER : level(e);
}

static void write(const writer *w, const ig_expr *e) {
  const char *op = operator_of(e->kind);
  if (ig_expr_is_number(e)) {
    number(w, e);
  } else if (e->kind == IG_EXPR_BOOL) {
    ig_str_add(w->s, e->value ? "True" : "False");
  } else if (e->kind == IG_EXPR_SYMBOL) {
    symbol(w, e);
  } else if (e->kind == IG_EXPR_ADD) {
    sum(w, e);
  } else if (e->kind == IG_EXPR_MUL) {
    product(w, e);
  } else if (op) {
    infix(w, e, op, around(e));
  } else {
    call(w, e);
  }
}

void ig_str_python(ig_ctx *c, ig_str *s, const ig_expr *e, ig_str *how) {
  write(&(writer){c, s, how}, e);
}

// ---- checks ----

static ig_vrange as_size(void *user, const ig_expr *symbol) {
  ig_vrange r = ig_symbol_range(user, symbol);
  if (!symbol->backed && symbol->sort == IG_SORT_INT && r.lo < 0) r.lo = 0;
  return r;
}

typedef struct checks {
  ig_ctx *c;
  ig_str *how;
  ig_remedy *at;
  size_t n;
} checks;

// Moves the text into the innermost scope.
static void add_check(checks *k, ig_str *text, bool is_size) {
  char *copy = text->failed ? NULL : ig_scope_push(k->c, text->n + 1);
  if (copy) memcpy(copy, text->at ? text->at : "", text->n + 1);
  if (copy) k->at[k->n++] = (ig_remedy){copy, is_size};
  ig_str_free(text);
}

// Would declaring the symbols as sizes be enough?
static void check_sizes(checks *k, const ig_expr *e, const ig_expr *const *free, size_t n) {
  ig_vrange r = ig_expr_range_with(k->c, e, as_size, k->c);
  if (r.lo != r.hi) return;
  for (size_t i = 0; i < n; i++) {
    if (free[i]->backed || ig_symbol_range(k->c, free[i]).lo >= 0) continue;
    ig_str s = ig_str_make(k->c->alloc);
    ig_str_add(&s, "torch._check_is_size(");
    ig_str_python(k->c, &s, free[i], k->how);
    ig_str_add(&s, ")");
    add_check(k, &s, true);
  }
}

static void check_one(checks *k, const ig_expr *e) {
  bool both = e->kind == IG_EXPR_AND;
  ig_str s = ig_str_make(k->c->alloc);
  for (size_t i = 0; i < (both ? e->n : 1); i++) {
    if (i) ig_str_add(&s, "; ");
    ig_str_add(&s, "torch._check(");
    ig_str_python(k->c, &s, both ? e->args[i] : e, k->how);
    ig_str_add(&s, ")");
  }
  add_check(k, &s, false);
}

static void check_number(checks *k, const ig_expr *e) {
  ig_hint v;
  ig_str s = ig_str_make(k->c->alloc);
  ig_str_add(&s, "torch._check(");
  ig_str_python(k->c, &s, e, k->how);
  ig_str_add(&s, " == ");
  if (ig_env_example(k->c, e, &v)) {
    ig_str_hint(&s, &v);
    ig_str_add(&s, ")");
  } else {
    ig_str_add(&s, "N)  # N: the only value that it may have");
  }
  add_check(k, &s, false);
}

const ig_remedy *ig_remedies(ig_ctx *c, const ig_expr *e, ig_str *how, size_t *n) {
  size_t symbols = 0;
  const ig_expr *const *free = ig_expr_symbols(c, e, &symbols);
  checks k = {.c = c, .how = how, .at = ig_scope_array(c, symbols + 2, sizeof *k.at)};
  *n = 0;
  if (!k.at) return NULL;
  if (e->sort == IG_SORT_BOOL) {
    ig_hint v;
    const ig_expr *other = ig_expr_make1(c, IG_EXPR_NOT, e);
    bool known = ig_env_example(c, e, &v);
    check_sizes(&k, e, free, symbols);
    if (!known || v.i) check_one(&k, e);
    if (other && (!known || !v.i)) check_one(&k, other);
  } else {
    check_number(&k, e);
  }
  *n = k.n;
  return k.at;
}
