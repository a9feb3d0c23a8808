// SPDX-License-Identifier: Apache-2.0
// What the interpreter runs: a graph as a flat list of instructions over registers. Made once per
// function. A register is given back after the last use of its value, so that memory is released
// where the original would release it.
#ifndef SCRIPT_CODE_H_
#define SCRIPT_CODE_H_

#include "script/operator.h"

// How an argument of an ATen operator is made from a value of the script.
typedef enum ig_sarg {
  IG_SARG_PASS,
  IG_SARG_FLOAT,  // from an int, too
  IG_SARG_INTS,
  IG_SARG_LIST,
  IG_SARG_TEXTS,
  IG_SARG_STR,
  IG_SARG_DTYPE,
  IG_SARG_LAYOUT,
  IG_SARG_FORMAT,
  IG_SARG_DEVICE,
} ig_sarg;

// Built-ins on two numbers that the interpreter computes itself where both are plain.
typedef enum ig_snumber {
  IG_SNUMBER_NONE,
  IG_SNUMBER_ADD,
  IG_SNUMBER_SUB,
  IG_SNUMBER_MUL,
  IG_SNUMBER_DIV,
  IG_SNUMBER_FLOORDIV,
  IG_SNUMBER_REMAINDER,
  IG_SNUMBER_LT,
  IG_SNUMBER_LE,
  IG_SNUMBER_GT,
  IG_SNUMBER_GE,
  IG_SNUMBER_EQ,
  IG_SNUMBER_NE,
} ig_snumber;

typedef enum ig_sinsn_kind {
  IG_SINSN_OP,
  IG_SINSN_BUILTIN,
  IG_SINSN_NUMBER,   // a BUILTIN that is `number` of in[0] and in[1]
  IG_SINSN_MISSING,  // an operator that there is not: an error where it is reached
  IG_SINSN_MOVES,    // in to out, all at once
  IG_SINSN_JUMP,     // to target
  IG_SINSN_UNLESS,   // to target if in[0] is false; out has the results of the If, which end at
                     // index
  IG_SINSN_BEGIN,    // of a loop: out[0] = 0
  IG_SINSN_TEST,  // of a loop: to target if in[0] >= in[1] or in[2] is false; out has the registers
                  // of condition and carried values, the body ends at index
  IG_SINSN_NEXT,  // of a loop: out[0] += 1, to target
  IG_SINSN_FREE,  // nothing but frees
  IG_SINSN_LIST,
  IG_SINSN_TUPLE,
  IG_SINSN_DICT,
  IG_SINSN_UNPACK,
  IG_SINSN_TUPLE_SLICE,
  IG_SINSN_GET,
  IG_SINSN_SET,
  IG_SINSN_CREATE,
  IG_SINSN_CALL,
  IG_SINSN_CALL_NAMED,  // a method of whatever class in[0] has
  IG_SINSN_CALL_VALUE,  // the function in[0]
  IG_SINSN_FORK,
  IG_SINSN_ENTER,
  IG_SINSN_EXIT,
  IG_SINSN_ISINSTANCE,
  IG_SINSN_RETURN,
} ig_sinsn_kind;

// An operand: register i is i, constant i is ~i.
typedef int32_t ig_soperand;

typedef struct ig_sinsn {
  ig_sinsn_kind kind;
  ig_snumber number;
  uint32_t target;
  uint32_t n_in;
  uint32_t n_out;
  uint32_t n_free;
  uint32_t index;         // of an attribute; UINT32_MAX: found by name when it runs
  const ig_soperand *in;  // OP: one per argument of the schema
  const uint32_t *out;
  const uint32_t *frees;  // registers whose values end here
  // BUILTIN: the kinds that each operand may have: bit k for kind k, and for an object of kind k
  // bit IG_KIND_COUNT + k. A graph may claim other types than its values have.
  const uint64_t *kinds;
  const uint8_t *how;  // OP: ig_sarg per argument; MOVES, RETURN: 1: the source ends here
  const ig_op *op;
  ig_sbuiltin_fn *run;
  ig_sfunction *function;
  ig_scode *body;    // FORK
  const char *name;  // of an attribute or method; MISSING: operator and types of its operands
  const ig_snode *node;
} ig_sinsn;

struct ig_scode {
  ig_ctx *c;
  ig_arena arena;
  ig_sunit *unit;  // borrowed
  const ig_sgraph *graph;
  const char *name;  // of the function, for frames
  const ig_sinsn *at;
  size_t n;
  ig_value *constants;  // retained
  size_t n_constants;
  size_t n_registers;  // arguments are the first ones
  size_t n_args;
  size_t n_results;
  struct ig_scode *inner;  // bodies of forks, a list
  struct ig_scode *next;
};

// NULL after an error. The graph and the unit must outlive the code.
ig_scode *ig_scode_make(ig_ctx *c, ig_sunit *u, const ig_sgraph *g, const char *name);
void ig_scode_free(ig_scode *code);

// A constant of a graph as a value of a running script, a new reference. False after an error.
bool ig_scode_constant(ig_ctx *c, ig_sunit *u, const ig_snode *n, ig_value *out);

#endif
