// SPDX-License-Identifier: Apache-2.0
// Smaller passes over graphs, beside those of compile.h. They are false after an error.
#ifndef SCRIPT_IR_PASS_H_
#define SCRIPT_IR_PASS_H_

#include "script/unit.h"

// The function that a prim::CallFunction or prim::CallMethod calls; NULL: it is not known.
struct ig_sfunction *ig_snode_callee(const ig_snode *n);

// A tuple that is made and taken apart in one graph disappears.
bool ig_sgraph_lower_tuples(ig_sgraph *g);

// Nodes that compute the same from the same values become one, unless they have an effect or are
// random.
bool ig_sgraph_merge_equal(ig_sunit *u, ig_sgraph *g);

// A copy whose unnamed values are numbered in order; without names if they are not wanted. NULL
// after an error.
ig_sgraph *ig_sgraph_canonical(const ig_sgraph *g, bool names);

// Traced tensor types become Tensor, also inside of containers.
bool ig_sgraph_erase_shapes(ig_sgraph *g);
const ig_stype *ig_stype_without_shapes(ig_stypes *types, const ig_stype *t);

// The order of definitions, owners of blocks and names: what must hold in every graph. IG_RUNTIME
// names the first node that is wrong.
bool ig_sgraph_lint(const ig_sgraph *g);

#endif
