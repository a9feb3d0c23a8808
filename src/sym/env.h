// SPDX-License-Identifier: Apache-2.0
// The shape environment: what is known about the symbols of a program, and queries about them.
//
// A query is answered statically (from constants, ranges, replacements, facts), or decided by the
// hints and recorded as a guard, or rejected as data-dependent. Guards and facts take effect
// immediately: they narrow ranges and create replacements (s1 = s0 + 1). Conditions on unbacked
// symbols become runtime assertions.
#ifndef SYM_ENV_H_
#define SYM_ENV_H_

#include "sym/expr.h"

typedef enum ig_answer { IG_UNKNOWN = -1, IG_NO, IG_YES } ig_answer;

// A decision based on the hints. The expression holds for the example.
typedef struct ig_guard {
  const ig_expr *expr;
  const char *file;  // user's location; NULL: unknown
  int line;
  const struct ig_frames *stack;  // the user's frames, until the capture ends
} ig_guard;

// A runtime assertion, in canonical form.
typedef struct ig_assert {
  const ig_expr *expr;
  const ig_expr *symbol;  // its unbacked symbol with the highest number; NULL: none
  const char *message;    // NULL: none
  const char *file;
  int line;
  const struct ig_frames *stack;  // until the capture ends
} ig_assert;

// One place where a size symbol comes from.
typedef struct ig_symbol {
  const ig_expr *expr;
  const ig_expr *replacement;  // what it equals; NULL: itself
  bool size_like;              // unbacked: assumed >= 2 by shape rules
  bool kept;                   // unbacked: its read stays in the program, for assertions
  bool has_example;            // unbacked, in a draft: its value for the example inputs
  ig_hint example;
} ig_symbol;

typedef struct ig_known_slot {
  const ig_expr *relation;  // NULL: free
  bool truth;
} ig_known_slot;

typedef struct ig_env {
  ig_alloc alloc;
  ig_arena arena;
  IG_VEC(ig_symbol) symbols;  // by ig_expr.index
  IG_VEC(ig_guard) guards;
  IG_VEC(ig_assert) asserts;
  ig_known_slot *known;  // relations and their truth, open addressing
  size_t nknown;
  bool remembers;  // some of them hold in canonical form
  size_t known_cap;
  bool asks_empty;         // ask whether views are empty, as non-strict PyTorch does
  bool skips_layouts;      // do not ask for layouts where only PyTorch's guards would need it
  bool keeps_checked;      // a check keeps its operands in the program, as strict PyTorch does
  bool deferred;           // complex guards become assertions
  bool choices;            // scripts record conditions on dynamic sizes instead of deciding them
  const ig_expr *refused;  // the last query without an answer
  struct ig_dims *dims;    // declared dimensions of the inputs, see capture/dims.h
  void (*dims_free)(struct ig_env *env, struct ig_dims *dims);
} ig_env;

static inline bool ig_env_records_choices(const ig_ctx *c) {
  return c->mode->sym && c->mode->sym->env && c->mode->sym->env->choices;
}
ig_env *ig_env_get(ig_ctx *c);  // of c->mode->sym, created on first use; NULL after an error
void ig_env_free(ig_env *env);

ig_symbol *ig_env_symbol(ig_ctx *c, const ig_expr *symbol);  // NULL after an error
// With replacements, simplified.
const ig_expr *ig_env_find(ig_ctx *c, const ig_expr *e);
// The normalized query: remainders of non-negative values become plain ones.
const ig_expr *ig_env_question(ig_ctx *c, const ig_expr *e);
ig_int ig_int_find(ig_ctx *c, ig_int i);
void ig_env_narrow(ig_ctx *c, const ig_expr *symbol, ig_wide lo, ig_wide hi);
void ig_env_equate(ig_ctx *c, const ig_expr *symbol, const ig_expr *target);

// The static value, without a guard.
// IG_ASK_ALL_SIZES: a size that a capture takes as at least 2 may be 0 or 1 when the program runs.
enum { IG_ASK_OBLIVIOUS = 1, IG_ASK_WITHOUT_FACTS = 2, IG_ASK_ALL_SIZES = 4 };
ig_answer ig_env_static(ig_ctx *c, const ig_expr *e, unsigned how);

// Applies a relation that holds: ranges, replacements.
void ig_env_learn(ig_ctx *c, const ig_expr *relation);
// Isolates `symbol` in a relation: symbol `*kind` *other. False: not possible.
bool ig_env_isolate(ig_ctx *c, const ig_expr *relation, const ig_expr *symbol, bool floordiv,
                    ig_expr_kind *kind, const ig_expr **other);

// Facts (facts.c): relations known to hold, and what follows from them.
void ig_env_remember(ig_ctx *c, const ig_expr *e);
// Records the answer of a guard, for the same query only; nothing else is derived from it.
void ig_env_decided(ig_ctx *c, const ig_expr *guard);
ig_answer ig_env_recall(ig_ctx *c, const ig_expr *relation);

// Queries. A plain value is its own answer. After IG_DATA_DEPENDENT the answer is false.
bool ig_bool_guard(ig_ctx *c, const ig_value *b);
// The same, where a size from data counts as neither 0 nor 1.
bool ig_bool_guard_size(ig_ctx *c, const ig_value *b);
int64_t ig_int_guard(ig_ctx *c, ig_int i);
double ig_float_guard(ig_ctx *c, const ig_value *f);
bool ig_bool_known(ig_ctx *c, const ig_value *b, bool *answer);

// The value of e is unknown. In a draft the example may have it: *example is its value, and an
// issue is reported; false otherwise, with IG_DATA_DEPENDENT.
bool ig_env_refuse(ig_ctx *c, const ig_expr *e, bool oblivious, ig_hint *example);

// torch._check: if statically false, IG_RUNTIME with the message; otherwise it is assumed from now
// on.
void ig_sym_check(ig_ctx *c, const ig_value *b, const char *message);
// A condition on data that the program itself asserts at run time: it is assumed from now on.
void ig_sym_believe(ig_ctx *c, const ig_value *b);
// ig_sym_check that returns the answer: false if it is known not to hold, or does not hold for the
// hints.
bool ig_bool_expect(ig_ctx *c, const ig_value *b, const char *message);
// A condition that a shape rule relies on (sizes that must agree): false only if it is known to be
// false, or false for the hints; for unbacked sizes it becomes an assertion.
bool ig_int_expect(ig_ctx *c, ig_int a, ig_rel rel, ig_int b);
// sym_constrain_range(_for_size); hi INT64_MAX, lo INT64_MIN: unbounded.
void ig_sym_constrain(ig_ctx *c, ig_int i, int64_t lo, int64_t hi, bool size);

#endif
