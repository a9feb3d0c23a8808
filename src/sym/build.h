// SPDX-License-Identifier: Apache-2.0
// What the files that build expressions share. Operands are never NULL here, and arguments are
// already canonical.
#ifndef SYM_BUILD_H_
#define SYM_BUILD_H_

#include "sym/expr.h"
#include "sym/number.h"

ig_exprs *ig_expr_table(ig_ctx *c);  // NULL after an error: no environment is open

// The one expression of that kind with those arguments; computes hint, size and sort.
const ig_expr *ig_expr_intern(ig_ctx *c, ig_expr_kind kind, ig_expr_sort sort,
                              const ig_expr *const *args, size_t n);
const ig_expr *ig_expr_of_num(ig_ctx *c, ig_num v);
const ig_expr *ig_expr_of_hint(ig_ctx *c, const ig_hint *h);
ig_num ig_expr_num(const ig_expr *e);  // of a number
// The operation of e on what `get` returns for its arguments.
bool ig_expr_fold_args(const ig_expr *e, ig_lookup_fn get, void *user, ig_hint *out);
bool ig_hint_of(const ig_expr *e, ig_hint *out);  // of a constant, or the hint

const ig_expr *ig_expr_overflow(ig_ctx *c);
const ig_expr *ig_expr_too_large(ig_ctx *c);

// A term is a coefficient times a product without one; a number has the rest NULL.
ig_num ig_term_coeff(const ig_expr *e);
// Factors of a term without its coefficient: *n of them, none for a number.
const ig_expr *const *ig_term_factors(const ig_expr *const *e, size_t *n);
const ig_expr *ig_factor_base(const ig_expr *f);
ig_wide ig_factor_power(const ig_expr *f);
int ig_term_cmp(const ig_expr *a,
                const ig_expr *b);  // printed order; 0: alike but for coefficients
// Terms in printed order: a constant stands before a lone negative factor.
const ig_expr *ig_sum_term(const ig_expr *sum, size_t i);
int ig_expr_cmp_size(const ig_expr *a, const ig_expr *b);  // by number of nodes, then sort key

// Builders of each kind.
const ig_expr *ig_build_sum(ig_ctx *c, const ig_expr *const *args, size_t n);
const ig_expr *ig_build_scaled(ig_ctx *c, ig_num k, const ig_expr *e);  // k * e, distributed
const ig_expr *ig_build_product(ig_ctx *c, const ig_expr *const *args, size_t n);
const ig_expr *ig_build_power(ig_ctx *c, const ig_expr *base, ig_wide k);  // to the k-th
const ig_expr *ig_build_difference(ig_ctx *c, const ig_expr *a, const ig_expr *b);
const ig_expr *ig_build_negated(ig_ctx *c, const ig_expr *a);
const ig_expr *ig_build_quotient(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b);
const ig_expr *ig_build_mod(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b);
const ig_expr *ig_build_minmax(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n);
const ig_expr *ig_build_abs(ig_ctx *c, const ig_expr *a);
const ig_expr *ig_build_function(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args,
                                 size_t n);
const ig_expr *ig_build_relation(ig_ctx *c, ig_expr_kind kind, const ig_expr *a, const ig_expr *b);
const ig_expr *ig_build_logic(ig_ctx *c, ig_expr_kind kind, const ig_expr *const *args, size_t n);
const ig_expr *ig_build_not(ig_ctx *c, const ig_expr *a);
const ig_expr *ig_build_piecewise(ig_ctx *c, const ig_expr *const *args, size_t n);
ig_expr_kind ig_mod_kind(const ig_expr *a,
                         const ig_expr *b);          // MOD, or PYTHONMOD if a sign is unknown
bool ig_expr_is_minus(ig_ctx *c, const ig_expr *e);  // reads better negated
const ig_expr *ig_relation_canonical(ig_ctx *c, const ig_expr *e);  // SymPy's own: number right

// Work space that usually fits on the stack.
typedef struct ig_list {
  ig_alloc alloc;
  const ig_expr **at;
  size_t n;
  size_t cap;
  const ig_expr *few[32];
} ig_list;
void ig_list_init(ig_list *l, ig_ctx *c);
bool ig_list_push(ig_ctx *c, ig_list *l, const ig_expr *e);
void ig_list_sort(ig_list *l, int (*cmp)(const ig_expr *, const ig_expr *));
void ig_list_free(ig_list *l);

#endif
