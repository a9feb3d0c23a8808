// SPDX-License-Identifier: Apache-2.0
// Nodes that compute what an assertion asks: each call in front of one place of a graph that is
// done otherwise.
#ifndef PASS_PLACER_H_
#define PASS_PLACER_H_

#include "ir/release.h"
#include "pass/pass.h"
#include "sym/env.h"

typedef struct ig_placer {
  const struct ig_placer *outer;  // of the graph around this one, done; NULL: none
  ig_ctx *c;
  ig_graph *g;
  const ig_env *env;
  const ig_forms *forms;
  ig_node *before;    // new nodes go here
  const ig_node *at;  // whose metadata they carry; NULL: none
  ig_table computed;  // expression -> node
  ig_table sizes;     // symbol -> node that has it as a size; number: dimension
  ig_table derived;   // symbol -> node that has k*symbol + k0 as a size; number: dimension
  ig_table bound;     // unbacked symbols so far
  ig_table said;      // assertions so far, by expression
  bool first_trace;   // of two: only the names stay
  bool inline_only;   // nothing was asked: only the ranges of what depends on data are checked
} ig_placer;

// The first value of a key stays. False after an error.
bool ig_placer_put(ig_placer *p, ig_table *t, const void *key, void *value, int64_t number);

// Says which function n comes from: "ge_0;builtin_function_or_method.ge".
bool ig_placer_describe(const ig_placer *p, ig_node *n, const char *cls, const char *name);
ig_node *ig_placer_insert(ig_placer *p, ig_node *proto, const char *name);
// sym_size of a dimension of a tensor that is `symbol`.
ig_node *ig_placer_insert_size(ig_placer *p, const ig_expr *symbol, ig_node *of, int64_t dim);
// A function of numbers whose result is `value`.
ig_node *ig_placer_insert_call(ig_placer *p, ig_expr_kind kind, const ig_value *args, size_t n,
                               const ig_expr *value);
// Nodes for all of e; *out: the last of them, or a number. False after an error.
bool ig_placer_compute(ig_placer *p, const ig_expr *e, ig_value *out);

// A call of an operator without a result; the last nkw arguments are called min and max.
bool ig_placer_insert_op(ig_placer *p, unsigned id, const char *name, const ig_value *args,
                         size_t npos, size_t nkw);

// The range of u as two numbers: where it is open, it ends with the largest number, or with the
// largest size.
void ig_placer_range(const ig_placer *p, const ig_symbol *s, int64_t *lo, int64_t *hi);

// Whether the program itself has called the operator on n already.
bool ig_placer_is_stated(const ig_node *n, unsigned id);

// Checks of the range of u as a strict capture has them where nothing was asked (inline.c): n is
// the number itself, or a tensor one of whose sizes it is. False after an error.
bool ig_placer_check_number(ig_placer *p, const ig_expr *u, ig_node *n);
bool ig_placer_check_size(ig_placer *p, const ig_expr *u, ig_node *n, int dim);

#endif  // PASS_PLACER_H_
