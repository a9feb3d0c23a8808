// SPDX-License-Identifier: Apache-2.0
// Between values of scripts and values of operators.
#ifndef SCRIPT_INTERP_ARGS_H_
#define SCRIPT_INTERP_ARGS_H_

#include "script/code.h"

// Room for the integers of one call; larger lists lie in the innermost scope.
enum { IG_SROOM = 64 };
typedef struct ig_sroom {
  ig_int ints[IG_SROOM];
  size_t n;
} ig_sroom;

// Argument k in the form that the operator takes. False after an error.
bool ig_sarg_adapt(ig_ctx *c, const ig_sinsn *i, size_t k, ig_sroom *space, ig_value *v);
// Result k of an operator as a value of the script, a new reference.
ig_value ig_sarg_result(ig_ctx *c, const ig_sinsn *i, size_t k, ig_value v);

#endif
