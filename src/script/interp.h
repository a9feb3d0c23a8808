// SPDX-License-Identifier: Apache-2.0
// The interpreter: runs the graph of a function over ig_call, so that whatever is active there
// (autograd, fake tensors, an open capture, limits) sees the calls of a script like any other.
#ifndef SCRIPT_INTERP_H_
#define SCRIPT_INTERP_H_

#include "script/unit.h"

// Runs a function. args has f->n_params values, already of the declared types, borrowed. *result is
// a new reference (a tuple object where the function returns one). An error is in the context, with
// the script's frames below its text. The tensors of *result are retained, not owned by a scope.
IG_MUST_USE ig_status ig_sfunction_run(ig_ctx *c, ig_sfunction *f, const ig_value *args,
                                       ig_value *result);
// The same for a graph that belongs to no function: for tests and constant folding.
IG_MUST_USE ig_status ig_sgraph_run(ig_ctx *c, ig_sunit *u, const ig_sgraph *g,
                                    const ig_value *args, size_t n, ig_value *outs);

// The text that str(value) gives in a script: `[1, 2]`, `0.10000000000000001`, tensors in their C++
// form.
bool ig_svalue_print(ig_ctx *c, ig_str *s, ig_value v);

// Is a value of that type, as isinstance asks? A list is one of int only if it was declared so.
bool ig_svalue_is(ig_value v, const ig_stype *t);

#endif
