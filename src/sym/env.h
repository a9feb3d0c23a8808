// SPDX-License-Identifier: Apache-2.0
// The shape environment: what is known about the symbols of a program, and who asks.
//
// A question is answered at once (known from constants, ranges, replacements, facts), or decided by
// the hints and recorded as a guard, or refused as data-dependent. Guards and facts are used up as
// they come: they narrow ranges and make replacements (s1 = s0 + 1). What must hold for sizes read
// from data is kept as an assertion, to be checked when the program runs.
#ifndef SYM_ENV_H_
#define SYM_ENV_H_

#include "sym/expr.h"

typedef enum ig_answer { IG_UNKNOWN = -1, IG_NO, IG_YES } ig_answer;

// A decision that the hints made. The expression holds for the example.
typedef struct ig_guard {
  const ig_expr *expr;
  const char *file;  // user's location; NULL: unknown
  int line;
  const char *stack;  // his frames, until the capture ends
} ig_guard;

// What has to hold at run time, in canonical form.
typedef struct ig_assert {
  const ig_expr *expr;
  const ig_expr *symbol;  // the unbacked symbol of the highest number in it; NULL: none
  const char *message;    // NULL: none
  const char *file;
  int line;
  const char *stack;  // until the capture ends
} ig_assert;

// One place where a size symbol comes from.
typedef struct ig_symbol {
  const ig_expr *expr;
  const ig_expr *replacement;  // what it equals; NULL: itself
  bool size_like;              // unbacked: taken as >= 2 by shape rules
  bool kept;                   // unbacked: its reading stays in the program, to be asserted about
  bool has_example;            // unbacked, in a draft: what it was for the example inputs
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
  bool asks_empty;         // views are asked whether they are empty, as non-strict PyTorch does
  bool keeps_checked;      // a check keeps what it reads in the program, as strict PyTorch does
  bool deferred;           // complex guards become assertions
  const ig_expr *refused;  // the last question that had no answer
  struct ig_dims *dims;    // declared dimensions of the inputs, see capture/dims.h
  void (*dims_free)(struct ig_env *env, struct ig_dims *dims);
} ig_env;

ig_env *ig_env_get(ig_ctx *c);  // of c->mode->sym, made at first use; NULL after an error
void ig_env_free(ig_env *env);

ig_symbol *ig_env_symbol(ig_ctx *c, const ig_expr *symbol);  // NULL after an error
// With replacements, simplified.
const ig_expr *ig_env_find(ig_ctx *c, const ig_expr *e);
// As the question is asked: remainders of what is not negative by its range are plain ones.
const ig_expr *ig_env_question(ig_ctx *c, const ig_expr *e);
ig_int ig_int_find(ig_ctx *c, ig_int i);
void ig_env_narrow(ig_ctx *c, const ig_expr *symbol, ig_wide lo, ig_wide hi);
void ig_env_equate(ig_ctx *c, const ig_expr *symbol, const ig_expr *target);

// What is known without any guard.
enum { IG_ASK_OBLIVIOUS = 1, IG_ASK_WITHOUT_FACTS = 2 };
ig_answer ig_env_static(ig_ctx *c, const ig_expr *e, unsigned how);

// Uses up a relation that holds: ranges, replacements.
void ig_env_learn(ig_ctx *c, const ig_expr *relation);
// Isolates `symbol` in a relation: symbol `*kind` *other. False: not possible.
bool ig_env_isolate(ig_ctx *c, const ig_expr *relation, const ig_expr *symbol, bool floordiv,
                    ig_expr_kind *kind, const ig_expr **other);

// Facts (facts.c): relations known to hold, and what follows from them.
void ig_env_remember(ig_ctx *c, const ig_expr *e);
// A guard was made: the same question has the same answer. Nothing else follows from it.
void ig_env_decided(ig_ctx *c, const ig_expr *guard);
ig_answer ig_env_recall(ig_ctx *c, const ig_expr *relation);

// Questions. A plain value is its own answer. After IG_DATA_DEPENDENT the answer is false.
bool ig_bool_guard(ig_ctx *c, const ig_value *b);
int64_t ig_int_guard(ig_ctx *c, ig_int i);
double ig_float_guard(ig_ctx *c, const ig_value *f);
bool ig_bool_known(ig_ctx *c, const ig_value *b, bool *answer);
// As a shape rule asks: size-like sizes are at least 2.
bool ig_bool_oblivious(ig_ctx *c, const ig_value *b);

// Nobody knows e. In a draft the example may: *example is its value, and an issue is reported;
// false otherwise, with IG_DATA_DEPENDENT.
bool ig_env_refuse(ig_ctx *c, const ig_expr *e, bool oblivious, ig_hint *example);

// torch._check: false at once is IG_RUNTIME with the message; otherwise it holds from now on.
void ig_sym_check(ig_ctx *c, const ig_value *b, const char *message);
// Something about the data that the program itself asserts where it runs: it holds from now on.
void ig_sym_believe(ig_ctx *c, const ig_value *b);
// ig_sym_check with the answer: false if it is known not to hold, or the hints say so.
bool ig_bool_expect(ig_ctx *c, const ig_value *b, const char *message);
// What a shape rule relies on (sizes that must agree): false only if it is known to be false or the
// hints say so; for unbacked sizes it becomes an assertion.
bool ig_int_expect(ig_ctx *c, ig_int a, ig_rel rel, ig_int b);
// sym_constrain_range(_for_size); hi INT64_MAX, lo INT64_MIN: open.
void ig_sym_constrain(ig_ctx *c, ig_int i, int64_t lo, int64_t hi, bool size);

#endif
