// SPDX-License-Identifier: Apache-2.0
// The passes of which ig_sgraph_clean and freezing consist. All are false after an error, and take
// any graph that ig_sbuild_check accepts.
#ifndef SCRIPT_PASSES_H_
#define SCRIPT_PASSES_H_

#include "script/ir_build.h"
#include "script/unit.h"

// Loops with a trip count and a condition of their own count for themselves.
bool ig_sgraph_canonicalize_loops(ig_sgraph *g);
// Operators of several names get one of them.
bool ig_sgraph_normalize_operators(ig_sgraph *g);
// Blocks of prim::Closure become graphs, and what is forked from one a prim::fork.
bool ig_sgraph_lift_closures(ig_sunit *u, ig_sgraph *g);
// Elements of tuples that are made in the graph are used directly.
bool ig_sgraph_forward_tuples(ig_sgraph *g);
// Comparisons with None and casts that the types decide; `True if c else False`.
bool ig_sgraph_simplify(ig_sunit *u, ig_sgraph *g);
// Computes all operators with constant operands, also of tensors and lists, unless somebody writes
// to them.
bool ig_sgraph_fold_all(ig_sunit *u, ig_sgraph *g);
// Loops with a small known number of turns become copies of their body.
bool ig_sgraph_unroll_loops(ig_sgraph *g, bool *changed);
// Whether a loop of so many turns is one of them: it ends only after all of them, and is small.
bool ig_sloop_is_short(const ig_snode *n, int64_t turns);
// Results of conditions and loops in the order of their first use.
bool ig_sgraph_order_outputs(ig_sgraph *g);
// Every warning has a number, so that it is shown once.
bool ig_sgraph_number_warnings(ig_sunit *u, ig_sgraph *g);

#endif
