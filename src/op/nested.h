// SPDX-License-Identifier: Apache-2.0
// A capture inside a capture. What the inner one uses of the outer ones (tensors, symbolic numbers)
// becomes a placeholder of the inner graph, named after the outer node, and an operand of whatever
// calls the inner graph.
#ifndef OP_NESTED_H_
#define OP_NESTED_H_

#include "op/record.h"

// Opens an inner capture; false after an error, then there is nothing to close.
bool ig_nested_push(ig_ctx *c);
// Closes it, even after an error (then NULL). The graph, owned by the caller, returns outs as a
// tuple; graph->operands are the outer values of its placeholders, valid while the outer graph is.
ig_graph *ig_nested_pop(ig_ctx *c, const ig_value *outs, size_t n);

// Adds a placeholder for an outer value, used or not; *inner represents it inside. `like` and
// `name` (may be NULL) override the description and name of the outer value.
bool ig_nested_operand(ig_ctx *c, const ig_value *outer, const ig_meta *like, const char *name,
                       ig_value *inner);

// The placeholder of the open inner capture for a tensor or symbolic number from outside, made when
// there is none. NULL after an error.
ig_tensor *ig_nested_lift(ig_ctx *c, ig_tensor *t);
// The program reads the sizes of t: their symbols are computed from t, unless they are nodes
// already.
bool ig_nested_read_sizes(ig_ctx *c, ig_tensor *t);
ig_node *ig_nested_lift_number(ig_ctx *c, const ig_value *v);

// Gives a finished inner graph exactly these operands, in this order: placeholders are moved and
// added. All its present operands must be among them.
bool ig_nested_arrange(ig_ctx *c, ig_graph *sub, const ig_value *operands, size_t n);

// The same value of the outer graph?
bool ig_nested_same(const ig_value *a, const ig_value *b);

#endif
