// SPDX-License-Identifier: Apache-2.0
// The order in which SymPy prints: sort keys of expressions, order of the terms of a sum.
//
// A key is (class, number of arguments, their keys, exponent, coefficient), compared from left to
// right. Numbers come first, then symbols by name as text, products, sums, other functions, and
// last Min, Max, relations and logic. SymPy stores operands in another order, and a graph computes
// them in that one.
#include "sym/order.h"

#include <string.h>

#include "sym/build.h"

static const char *const key_names[] = {
#define X(name, text) [IG_EXPR_##name] = text,
    IG_EXPR_LIST(X)
#undef X
};

ig_num ig_term_coeff(const ig_expr *e) {
  if (ig_expr_is_number(e)) return ig_expr_num(e);
  if (e->kind == IG_EXPR_MUL && ig_expr_is_number(e->args[0])) return ig_expr_num(e->args[0]);
  return ig_num_int(1);
}

const ig_expr *const *ig_term_factors(const ig_expr *const *e, size_t *n) {
  *n = ig_expr_is_number(*e) ? 0 : 1;
  if ((*e)->kind != IG_EXPR_MUL) return e;
  size_t skip = ig_expr_is_number((*e)->args[0]);
  *n = (*e)->n - skip;
  return (*e)->args + skip;
}

const ig_expr *ig_factor_base(const ig_expr *f) {
  return f->kind == IG_EXPR_POW ? f->args[0] : f;
}

ig_wide ig_factor_power(const ig_expr *f) {
  return f->kind == IG_EXPR_POW ? f->args[1]->num : 1;
}

// The parts of a key.
typedef struct key {
  int major;
  int minor;
  const char *name;
  const char *symbol;          // SYMBOL: compared instead of arguments
  const ig_expr *whole;        // whose arguments are compared
  const ig_expr *const *args;  // the factors of a product
  size_t n;
  ig_wide power;
  ig_num coeff;
} key;

static void set_class(key *k, const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_SYMBOL:
      k->major = 2;
      break;
    case IG_EXPR_MUL:
    case IG_EXPR_ADD:
    case IG_EXPR_POW:
      k->major = 3;
      k->minor = e->kind == IG_EXPR_MUL ? 0 : e->kind == IG_EXPR_ADD ? 1 : 2;
      break;
    case IG_EXPR_PIECEWISE:
      k->major = 4;
      break;
    case IG_EXPR_MIN:
    case IG_EXPR_MAX:
    case IG_EXPR_BOOL:
      k->major = 5;
      break;
    default:
      k->major = e->kind >= IG_EXPR_EQ ? 5 : 4;
      k->minor = e->kind >= IG_EXPR_EQ ? 0 : 10000;
      break;
  }
  k->name = key_names[e->kind];
}

static key key_of(const ig_expr *const *e) {
  key k = {.power = 1, .coeff = ig_num_int(1)};
  if (ig_expr_is_number(*e)) {
    k.major = 1;
    k.name = "Number";
    k.coeff = ig_expr_num(*e);
    return k;
  }
  k.coeff = ig_term_coeff(*e);
  k.args = ig_term_factors(e, &k.n);
  if (k.n == 1) {
    k.power = ig_factor_power(k.args[0]);
    k.whole = ig_factor_base(k.args[0]);
    k.args = k.whole->args;
    k.n = k.whole->n;
    set_class(&k, k.whole);
    if (k.whole->kind == IG_EXPR_SYMBOL) k.symbol = k.whole->name;
    if (k.whole->kind == IG_EXPR_BOOL) k.symbol = k.whole->value ? "true" : "false";
  } else {
    set_class(&k, *e);
  }
  if (k.symbol) k.n = 1;
  return k;
}

static const ig_expr *key_arg(const key *k, size_t i) {
  return k->whole && k->whole->kind == IG_EXPR_ADD ? ig_sum_term(k->whole, i) : k->args[i];
}

static int cmp_args(const key *x, const key *y) {
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  if (x->symbol) return strcmp(x->symbol, y->symbol);
  for (size_t i = 0; i < x->n; i++) {
    int r = ig_expr_cmp(key_arg(x, i), key_arg(y, i));
    if (r) return r;
  }
  return 0;
}

// Equal except for 2 and 2.0: integers come first.
static int cmp_kinds(const ig_expr *a, const ig_expr *b) {
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  for (size_t i = 0; i < a->n && i < b->n; i++) {
    if (a->args[i] != b->args[i]) return cmp_kinds(a->args[i], b->args[i]);
  }
  return a->age < b->age ? -1 : 1;
}

int ig_expr_cmp(const ig_expr *a, const ig_expr *b) {
  if (a == b) return 0;
  key x = key_of(&a);
  key y = key_of(&b);
  if (x.major != y.major) return x.major < y.major ? -1 : 1;
  if (x.minor != y.minor) return x.minor < y.minor ? -1 : 1;
  int r = strcmp(x.name, y.name);
  if (!r) r = cmp_args(&x, &y);
  if (!r) r = (x.power > y.power) - (x.power < y.power);
  if (!r) r = ig_num_cmp(x.coeff, y.coeff);
  return r ? r : cmp_kinds(a, b);
}

int ig_expr_cmp_size(const ig_expr *a, const ig_expr *b) {
  return a->nodes != b->nodes ? (a->nodes < b->nodes ? -1 : 1) : ig_expr_cmp(a, b);
}

// Lexicographic by the exponents of the bases, the bases in order of their keys, larger first.
int ig_term_cmp(const ig_expr *a, const ig_expr *b) {
  if (a == b) return 0;
  size_t n = 0;
  size_t m = 0;
  const ig_expr *const *f = ig_term_factors(&a, &n);
  const ig_expr *const *g = ig_term_factors(&b, &m);
  for (size_t i = 0; i < n && i < m; i++) {
    if (f[i] == g[i]) continue;
    const ig_expr *x = ig_factor_base(f[i]);
    const ig_expr *y = ig_factor_base(g[i]);
    if (x == y) return ig_factor_power(f[i]) > ig_factor_power(g[i]) ? -1 : 1;
    return ig_expr_cmp(x, y);
  }
  return n == m ? 0 : n > m ? -1 : 1;
}

static bool is_number_first(const ig_expr *sum) {
  if (sum->n != 2 || !ig_expr_is_number(sum->args[1])) return false;
  const ig_expr *t = sum->args[0];
  return ig_num_sign(ig_expr_num(sum->args[1])) > 0 && t->kind == IG_EXPR_MUL && t->n == 2 &&
         ig_expr_is_number(t->args[0]) && ig_num_sign(ig_expr_num(t->args[0])) < 0;
}

const ig_expr *ig_sum_term(const ig_expr *sum, size_t i) {
  return sum->args[is_number_first(sum) ? 1 - i : i];
}

// ---- the order of calls ----

enum { NUMBER, SYMBOL, POWER, PRODUCT, SUM, ABSOLUTE, FUNCTION };

static int class_of(const ig_expr *e) {
  if (ig_expr_is_number(e)) return NUMBER;
  switch (e->kind) {
    case IG_EXPR_SYMBOL:
      return SYMBOL;
    case IG_EXPR_POW:
      return POWER;
    case IG_EXPR_MUL:
      return PRODUCT;
    case IG_EXPR_ADD:
      return SUM;
    case IG_EXPR_ABS:
      return ABSOLUTE;
    default:
      return FUNCTION;
  }
}

// Of a size more is assumed, namely that it is positive.
static int cmp_symbols(const ig_expr *a, const ig_expr *b) {
  return a->backed != b->backed ? (a->backed ? 1 : -1) : strcmp(a->name, b->name);
}

int ig_expr_cmp_stored(const ig_expr *a, const ig_expr *b) {
  int x = class_of(a);
  int y = class_of(b);
  if (a == b || x != y) return (x > y) - (x < y);
  if (x == NUMBER) return ig_num_cmp(ig_expr_num(a), ig_expr_num(b));
  if (x == SYMBOL) return cmp_symbols(a, b);
  int r = x == FUNCTION ? strcmp(key_names[a->kind], key_names[b->kind]) : 0;
  if (r) return r;
  if (a->n != b->n) return a->n < b->n ? -1 : 1;
  for (size_t i = 0; i < a->n; i++) {
    r = ig_expr_cmp_stored(a->args[i], b->args[i]);
    if (r) return r;
  }
  return 0;
}
