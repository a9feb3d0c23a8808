// SPDX-License-Identifier: Apache-2.0
// Operators as scripts see them: the ATen records, and the built-in functions on numbers, strings
// and containers that only scripts have. Both have a schema over the types of scripts.
#ifndef SCRIPT_OPERATOR_H_
#define SCRIPT_OPERATOR_H_

#include "op/op.h"
#include "script/unit.h"

// What a schema says of the memory of a parameter or result: Tensor(a!), t(b -> *), t(*).
typedef struct ig_salias {
  char set;       // parameters and results of one letter share memory; '*': anything; 0: its own
  bool written;   // !
  bool stored;    // -> *: a container holds it from then on
  bool elements;  // all that holds for the elements of a list: Tensor(a)[]
} ig_salias;

typedef struct ig_sformal {
  const char *name;
  const ig_stype *type;  // may contain type variables
  int fixed;             // int[2]: a single number stands for the list; 0: not
  bool keyword_only;
  bool written;  // Tensor(a!)
  ig_salias alias;
  bool has_default;
  ig_value def;  // numbers, None, strings (borrowed), INTS, LIST
} ig_sformal;

typedef struct ig_sschema {
  const char *text;
  const char *name;      // "aten::add"
  const char *overload;  // "Tensor"; "": none
  ig_sformal *params;
  size_t n_params;
  bool vararg;  // (str self, ...)
  const ig_stype **results;
  const char **result_names;  // "": none
  ig_salias *result_aliases;
  size_t n_results;
  bool varret;  // -> ...
} ig_sschema;

// Reads a schema over the types of scripts. Everything lives in the table's arena. NULL after an
// error.
const ig_sschema *ig_sschema_parse(ig_stypes *types, const char *text);

// A built-in: fills out[0 .. n_results) with new references from in[0 .. n_in), which are borrowed.
// An error fails the context.
typedef struct ig_sbuiltin_call {
  ig_ctx *c;
  ig_sunit *unit;
  const ig_snode *node;  // for attributes and the types of results
  const ig_value *in;
  size_t n_in;
  ig_value *out;
} ig_sbuiltin_call;
typedef void ig_sbuiltin_fn(const ig_sbuiltin_call *call);

// A row of the table of built-ins (builtin_*.c). Rows of one name stand together in the order in
// which overloads are tried.
typedef struct ig_sbuiltin {
  const char *schema;
  ig_sbuiltin_fn *run;
  bool effects;  // must not be folded or removed: prints, raises, changes an operand, is random
} ig_sbuiltin;
typedef struct ig_sbuiltins {
  const ig_sbuiltin *at;
  size_t n;
} ig_sbuiltins;
ig_sbuiltins ig_sbuiltins_named(const char *name);  // rows of "aten::len"; n 0: none
ig_sbuiltins ig_sbuiltins_all(void);                // the whole table, sorted by name

typedef struct ig_soperator {
  const ig_sschema *schema;
  const ig_op *op;             // NULL: a built-in
  const ig_sbuiltin *builtin;  // NULL: an ATen operator
} ig_soperator;

typedef struct ig_soperators {
  const ig_soperator *at;  // in the order of trial: ATen first
  size_t n;
} ig_soperators;

// All overloads of "aten::add"; n 0: there are none. NULL after an error.
const ig_soperators *ig_soperators_named(ig_sunit *u, const char *name);
// The overload that takes a node's inputs as they are, without conversions. NULL without an error:
// none does.
const ig_soperator *ig_soperator_of_node(ig_sunit *u, const ig_snode *n);

// Binds type variables: does `actual` fit `formal`, given what was bound before? The bound type of
// variable i of IG_MAX_TYPE_VARS.
enum { IG_MAX_TYPE_VARS = 4 };
typedef struct ig_sbinding {
  const char *name[IG_MAX_TYPE_VARS];
  const ig_stype *type[IG_MAX_TYPE_VARS];
  size_t n;
} ig_sbinding;
bool ig_stype_match(ig_stypes *types, const ig_stype *formal, const ig_stype *actual,
                    ig_sbinding *b);
// The type with its variables replaced; NULL: one is not bound (or out of memory).
const ig_stype *ig_stype_bind(ig_stypes *t, const ig_stype *formal, const ig_sbinding *b);

#endif
