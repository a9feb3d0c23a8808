// SPDX-License-Identifier: Apache-2.0
// The dimension solver: from guards over size symbols to what each symbol may be.
//
// A guard in one symbol s is a polynomial relation once b//d and b%d are eliminated with the help
// of the example: b%d is the number k that it is now, b//d is (b - k)/d, and b = k (mod d) is kept.
// So a symbol is described by an interval, congruences, and perhaps one value. A guard in several
// symbols waits until all but one have a value.
#ifndef SYM_SOLVE_H_
#define SYM_SOLVE_H_

#include "sym/env.h"

enum { IG_SOLVE_DEGREE = 8 };

// (k[0] + k[1] s + ... ) / den
typedef struct ig_upoly {
  int degree;
  ig_wide k[IG_SOLVE_DEGREE + 1];
  ig_wide den;  // positive
} ig_upoly;

// The polynomial is 0 modulo m.
typedef struct ig_congruence {
  ig_upoly base;
  int64_t m;  // 0: the divisor is not a constant
} ig_congruence;

typedef struct ig_unknown {
  const ig_expr *symbol;
  int64_t hint;
  ig_wide lo;
  ig_wide hi;
  bool bounded;  // some relation determined the interval
  bool equality;
  bool fixed;   // has the value `hint`
  bool forced;  // determined by the solver, not directly by a guard
  IG_VEC(ig_congruence) congruences;
  int64_t r;  // s = r (mod m), if m > 1
  int64_t m;
  bool complex;  // some congruence does not have that form
} ig_unknown;

typedef struct ig_equivalence {
  size_t tag;  // the caller's number for the source
  const ig_expr *expr;
} ig_equivalence;

typedef struct ig_solver {
  ig_ctx *c;
  IG_VEC(ig_unknown) unknowns;
  IG_VEC(const ig_expr *) parked;  // relations in several symbols
  IG_VEC(ig_equivalence) equal;
  bool forced;  // specialize what is too complex
} ig_solver;

void ig_solver_init(ig_solver *s, ig_ctx *c);
void ig_solver_free(ig_solver *s);
ig_unknown *ig_solver_symbol(ig_solver *s, const ig_expr *symbol);  // NULL after an error
// True: the relation is redundant.
bool ig_solver_add(ig_solver *s, const ig_expr *relation);
void ig_solver_equal(ig_solver *s, size_t tag, const ig_expr *e);
void ig_solver_run(ig_solver *s);

// k*symbol + c, symbol NULL: the number c. False: not of that form.
bool ig_expr_affine(const ig_expr *e, const ig_expr **symbol, int64_t *k, int64_t *c);

// As a polynomial in its only symbol, with congruences; false: not one. (solve_poly.c)
typedef struct ig_upoly_sink {
  ig_alloc alloc;
  ig_unknown *unknown;
  bool failed;  // out of memory
} ig_upoly_sink;
bool ig_upoly_of(ig_upoly_sink *sink, const ig_expr *e, ig_upoly *out);
bool ig_upoly_sub(const ig_upoly *a, const ig_upoly *b, ig_upoly *out);
bool ig_upoly_at(const ig_upoly *p, ig_wide s, ig_wide *numerator);  // false: overflow
// Merges the congruences of u into one.
void ig_congruences_merge(ig_unknown *u);

#endif
