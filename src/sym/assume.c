// SPDX-License-Identifier: Apache-2.0
// Sign and parity that follow from the assumptions on symbols: sizes are positive integers, other
// symbols are integers. Ranges are not consulted; the canonical form would change with them.
#include "sym/build.h"

enum {
  POS = IG_IS_POSITIVE,
  NEG = IG_IS_NEGATIVE,
  NONNEG = IG_IS_NONNEG,
  NONPOS = IG_IS_NONPOS,
  ZERO = IG_IS_ZERO,
  NONZERO = IG_IS_NONZERO,
  EVEN = IG_IS_EVEN,
  ODD = IG_IS_ODD,
  INTEGER = IG_IS_INTEGER,
  REAL = IG_IS_REAL,
  MAX_FACTORS = 16,
  MAX_DEGREE = 6,  // of polynomials in one size whose sign is found
};

// Derived properties.
static unsigned closure(unsigned f) {
  if (f & ODD) f |= NONZERO | INTEGER;
  if (f & EVEN) f |= INTEGER;
  if ((f & NONNEG) && (f & NONZERO)) f |= POS;
  if ((f & NONPOS) && (f & NONZERO)) f |= NEG;
  if ((f & NONNEG) && (f & NONPOS)) f |= ZERO;
  if (f & POS) f |= NONNEG | NONZERO;
  if (f & NEG) f |= NONPOS | NONZERO;
  if (f & ZERO) f |= NONNEG | NONPOS | EVEN;
  if (f & (INTEGER | NONNEG | NONPOS)) f |= REAL;
  return f;
}

static unsigned of_number(ig_num v) {
  int s = ig_num_sign(v);
  unsigned f = REAL | (s > 0 ? POS : s < 0 ? NEG : ZERO);
  if (ig_num_is_int(v)) f |= v.p % 2 ? ODD : EVEN;
  return closure(f);
}

// Parity of a + b, where equal terms cancel: s0 + (s0 + 1) is odd.
static bool is_odd_together(const ig_expr *a, const ig_expr *b) {
  const ig_expr *both[] = {a, b};
  bool odd = false;
  for (int k = 0; k < 2; k++) {
    const ig_expr *e = both[k];
    const ig_expr *other = both[1 - k];
    size_t n = e->kind == IG_EXPR_ADD ? e->n : 1;
    size_t m = other->kind == IG_EXPR_ADD ? other->n : 1;
    const ig_expr *const *t = e->kind == IG_EXPR_ADD ? e->args : &both[k];
    const ig_expr *const *u = other->kind == IG_EXPR_ADD ? other->args : &both[1 - k];
    for (size_t i = 0; i < n; i++) {
      unsigned f = ig_expr_facts(t[i]);
      bool paired = false;
      for (size_t j = 0; j < m && !paired; j++) paired = u[j] == t[i];
      if (paired || (f & EVEN)) continue;
      if (!(f & ODD)) return false;
      odd = !odd;
    }
  }
  return odd;
}

// Order of factors inside SymPy: unbacked symbols, sizes, powers, products, sums, functions.
static int inner_rank(const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_SYMBOL:
      return e->positive;
    case IG_EXPR_POW:
      return 2;
    case IG_EXPR_ADD:
      return 3;
    default:
      return 4;
  }
}

// The next factor after `last` in that order; NULL: none.
static const ig_expr *next_factor(const ig_expr *const *args, size_t n, const ig_expr *last) {
  const ig_expr *next = NULL;
  for (size_t i = 0; i < n; i++) {  // arguments of one rank are already in order
    int rank = inner_rank(args[i]);
    if (ig_expr_is_number(args[i]) || (last && rank < inner_rank(last))) continue;
    if (last && rank == inner_rank(last) && ig_expr_cmp(args[i], last) <= 0) continue;
    if (!next || rank < inner_rank(next)) next = args[i];
  }
  return next;
}

static unsigned parity_of_product(const ig_expr *const *args, size_t n) {
  bool all_odd = true;
  for (size_t i = 0; i < n; i++) {
    unsigned f = ig_expr_facts(args[i]);
    if (!(f & INTEGER)) return 0;
    if (f & EVEN) return EVEN;
    all_odd = all_odd && (f & ODD);
  }
  if (all_odd) return ODD;
  if (n > MAX_FACTORS) return INTEGER;
  // Neighbours of different parity: s0*(s0 + 1) is even.
  const ig_expr *last = next_factor(args, n, NULL);
  for (const ig_expr *e = last; e; last = e) {
    e = next_factor(args, n, last);
    if (e && is_odd_together(last, e)) return EVEN;
  }
  return INTEGER;
}

static unsigned of_product(const ig_expr *e) {
  bool known = true;
  bool flip = false;
  bool weak = false;
  bool real = true;
  bool nonzero = true;
  for (size_t i = 0; i < e->n; i++) {
    unsigned f = ig_expr_facts(e->args[i]);
    if (f & ZERO) return closure(ZERO);
    real = real && (f & REAL);
    nonzero = nonzero && (f & NONZERO);
    if (!(f & (NONNEG | NONPOS))) known = false;
    if (!(f & (POS | NEG))) weak = true;
    if (f & NONPOS) flip = !flip;
  }
  unsigned f = real ? REAL : 0;
  if (nonzero) f |= NONZERO;
  if (known) f |= flip ? (weak ? NONPOS : NEG) : (weak ? NONNEG : POS);
  return closure(f | parity_of_product(e->args, e->n));
}

static unsigned of_power(const ig_expr *e) {
  unsigned b = ig_expr_facts(e->args[0]);
  bool even = e->args[1]->num % 2 == 0;
  unsigned f = b & (ODD | EVEN | INTEGER | REAL | ZERO | NONZERO);
  if (even && (b & REAL)) f |= NONNEG;
  if (!even) f |= b & (NONNEG | NONPOS);
  if (b & POS) f |= POS;
  return closure(f);
}

// The least absolute value of a term whose sign is known.
static int least(const ig_expr *e, unsigned f) {
  if (!(f & (POS | NEG)) || !(f & INTEGER)) return 0;
  int more = 0;  // factors of at least 2
  for (size_t i = 0; e->kind == IG_EXPR_MUL && i < e->n; i++) {
    const ig_expr *x = e->args[i];
    unsigned g = ig_expr_facts(x);
    if (ig_expr_is_number(x)) {
      more += x->num > 1;
    } else if (x->kind == IG_EXPR_ADD && (g & POS) && ig_expr_is_number(x->args[x->n - 1])) {
      bool all = ig_expr_num(x->args[x->n - 1]).p >= 1;
      for (size_t k = 0; all && k + 1 < x->n; k++) all = ig_expr_facts(x->args[k]) & POS;
      more += all;
    }
  }
  if ((f & POS) && more > 1) return (f & ODD) ? 9 : 4;
  return f & EVEN ? 2 : 1;
}

// Coefficients of e as a polynomial in one size, around 1: p[k] of (s - 1)**k.
static bool shifted(const ig_expr *e, ig_wide *p) {
  static const int choose[MAX_DEGREE + 1][MAX_DEGREE + 1] = {{1},
                                                             {1, 1},
                                                             {1, 2, 1},
                                                             {1, 3, 3, 1},
                                                             {1, 4, 6, 4, 1},
                                                             {1, 5, 10, 10, 5, 1},
                                                             {1, 6, 15, 20, 15, 6, 1}};
  const ig_expr *symbol = NULL;
  for (int k = 0; k <= MAX_DEGREE; k++) p[k] = 0;
  for (size_t i = 0; i < e->n; i++) {
    size_t n = 0;
    const ig_expr *const *f = ig_term_factors(&e->args[i], &n);
    ig_num k = ig_term_coeff(e->args[i]);
    ig_wide power = n ? ig_factor_power(f[0]) : 0;
    if (n > 1 || power > MAX_DEGREE || !ig_num_is_int(k) || !ig_wide_fits(k.p)) return false;
    if (n) {
      const ig_expr *b = ig_factor_base(f[0]);
      if (b->kind != IG_EXPR_SYMBOL || !b->positive || (symbol && symbol != b)) return false;
      symbol = b;
    }
    for (int j = 0; j <= power; j++) p[j] += k.p * choose[power][j];
  }
  return symbol != NULL;
}

// A monotone polynomial in one size has its extreme at 1.
static unsigned of_polynomial(const ig_expr *e, ig_wide c) {
  ig_wide p[MAX_DEGREE + 1];
  if (!shifted(e, p)) return 0;
  bool rises = p[1] > 0 && p[0] - c >= 0;
  bool falls = p[1] < 0 && p[0] - c <= 0;
  for (int k = 1; k <= MAX_DEGREE; k++) {
    rises = rises && p[k] >= 0;
    falls = falls && p[k] <= 0;
  }
  if (rises && p[0] >= 0) return p[0] > 0 ? POS : NONNEG;
  if (falls && p[0] <= 0) return p[0] < 0 ? NEG : NONPOS;
  return 0;
}

static unsigned of_constant_and_rest(const ig_expr *e) {
  const ig_expr *last = e->args[e->n - 1];
  if (!ig_expr_is_number(last) || !ig_num_is_int(ig_expr_num(last))) return 0;
  unsigned f = of_polynomial(e, last->num);
  if (e->n != 2) return f;
  unsigned g = ig_expr_facts(e->args[0]);
  ig_wide least_value = least(e->args[0], g);
  if ((g & NONNEG) && last->num + least_value >= 0) f |= last->num + least_value ? POS : NONNEG;
  if ((g & NONPOS) && last->num - least_value <= 0) f |= last->num - least_value ? NEG : NONPOS;
  return f;
}

static unsigned of_sum(const ig_expr *e) {
  unsigned all = NONNEG | NONPOS | INTEGER | REAL;
  unsigned any = 0;
  bool parity = true;
  bool odd = false;
  for (size_t i = 0; i < e->n; i++) {
    unsigned f = ig_expr_facts(e->args[i]);
    all &= f;
    any |= f & (POS | NEG);
    parity = parity && (f & (EVEN | ODD));
    if (f & ODD) odd = !odd;
  }
  unsigned f = all;
  if (all & NONNEG) f |= any & POS;
  if (all & NONPOS) f |= any & NEG;
  if (parity) f |= odd ? ODD : EVEN;
  if (!(f & (NONNEG | NONPOS)) && (all & INTEGER)) f |= of_constant_and_rest(e);
  return closure(f);
}

static unsigned of_minmax(const ig_expr *e) {
  unsigned all = ~0u;
  unsigned any = 0;
  for (size_t i = 0; i < e->n; i++) {
    unsigned f = ig_expr_facts(e->args[i]);
    all &= f;
    any |= f;
  }
  unsigned f = all & (POS | NEG | NONNEG | NONPOS | EVEN | ODD | INTEGER | REAL | NONZERO);
  f |= any & (e->kind == IG_EXPR_MAX ? POS | NONNEG : NEG | NONPOS);
  return closure(f);
}

static unsigned of_piecewise(const ig_expr *e) {
  unsigned all = ~0u;
  for (size_t i = 0; i < e->n; i += 2) all &= ig_expr_facts(e->args[i]);
  return closure(all &
                 (POS | NEG | NONNEG | NONPOS | EVEN | ODD | INTEGER | REAL | ZERO | NONZERO));
}

static unsigned of_python_mod(const ig_expr *e) {
  unsigned d = ig_expr_facts(e->args[1]);
  return closure(INTEGER | (d & POS ? NONNEG : 0) | (d & NEG ? NONPOS : 0));
}

static unsigned find(const ig_expr *e) {
  switch (e->kind) {
    case IG_EXPR_CONST:
    case IG_EXPR_RATIONAL:
    case IG_EXPR_FLOAT:
      return of_number(ig_expr_num(e));
    case IG_EXPR_SYMBOL:
      return closure((e->positive ? POS : 0) | (e->sort == IG_SORT_INT ? INTEGER : REAL));
    case IG_EXPR_ADD:
      return of_sum(e);
    case IG_EXPR_MUL:
      return of_product(e);
    case IG_EXPR_POW:
      return of_power(e);
    case IG_EXPR_MIN:
    case IG_EXPR_MAX:
      return of_minmax(e);
    case IG_EXPR_ABS: {
      unsigned f = ig_expr_facts(e->args[0]);
      return closure(NONNEG | (f & (NONZERO | EVEN | ODD | INTEGER)));
    }
    case IG_EXPR_MOD:
      return closure(INTEGER | NONNEG);
    case IG_EXPR_PYTHONMOD:
      return of_python_mod(e);
    case IG_EXPR_PIECEWISE:
      return of_piecewise(e);
    default:
      if (e->sort == IG_SORT_INT) return closure(INTEGER);
      return e->kind >= IG_EXPR_SQRT && e->kind <= IG_EXPR_LOG2 ? 0 : REAL;
  }
}

unsigned ig_expr_facts(const ig_expr *e) {
  if (!(e->facts & IG_IS_ASKED)) ((ig_expr *)e)->facts = (uint16_t)(find(e) | IG_IS_ASKED);
  return e->facts;
}
