// SPDX-License-Identifier: Apache-2.0
// Expressions as polynomials. The generators are symbols and whole function applications; operands
// are multiplied out first. Everything returns NULL or false without an error if there is no such
// result, and after an error (sticky in c).
#ifndef SYM_POLY_H_
#define SYM_POLY_H_

#include "sym/expr.h"
#include "sym/number.h"

enum { IG_POLY_MAX_DEGREE = 8 };

// Coefficients of x by power in e: coeff[0] + coeff[1]*x + ..., each free of x, never NULL up to
// *degree. False: x occurs inside a function, or the degree is above IG_POLY_MAX_DEGREE.
bool ig_poly_coeffs(ig_ctx *c, const ig_expr *e, const ig_expr *x,
                    const ig_expr *coeff[IG_POLY_MAX_DEGREE + 1], size_t *degree);

// e is k*x + b for one symbol x and numbers k (not 0) and b.
bool ig_poly_affine(ig_ctx *c, const ig_expr *e, const ig_expr **x, ig_num *k, ig_num *b);

// Solves left == right for x, if x occurs linearly with a number as coefficient. The result may
// have fractions (sort RATIONAL); ig_expr_facts says whether it is certainly an integer.
const ig_expr *ig_poly_solve(ig_ctx *c, const ig_expr *left, const ig_expr *right,
                             const ig_expr *x);

// Greatest integer that divides every coefficient, not negative; 1 if a coefficient is not an
// integer.
ig_wide ig_poly_content(const ig_expr *e);

// Greatest common divisor over the integers.
const ig_expr *ig_poly_gcd(ig_ctx *c, const ig_expr *a, const ig_expr *b);

// a / b when b divides a exactly.
const ig_expr *ig_poly_divide(ig_ctx *c, const ig_expr *a, const ig_expr *b);

// Divides both by their greatest common divisor. False: it is 1.
bool ig_poly_cancel(ig_ctx *c, const ig_expr **a, const ig_expr **b);

#endif
