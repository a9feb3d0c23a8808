// SPDX-License-Identifier: Apache-2.0
// What passes over whole graphs need beside ir_edit.h.
//
// A value that is replaced points to the one that stands for it, and passes read operands through
// ig_sbuild_now until ig_sbuild_settle has rewritten all of them in one walk. So a pass costs one
// walk and not one per replacement.
// All functions that make something fail the context when out of memory and then give NULL or
// false; they take NULL for "that failed before".
#ifndef SCRIPT_IR_BUILD_H_
#define SCRIPT_IR_BUILD_H_

#include "script/form.h"
#include "script/ir_edit.h"

// ---- nodes; before NULL: at the end of the block

ig_snode *ig_sbuild_node(ig_sblock *b, ig_snode *before, const char *kind, ig_svalue *const *in,
                         size_t n);
// The same with one result.
ig_svalue *ig_sbuild_value(ig_sblock *b, ig_snode *before, const char *kind, ig_svalue *const *in,
                           size_t n, const ig_stype *type);
ig_svalue *ig_sbuild_int(ig_sblock *b, ig_snode *before, int64_t i);
ig_svalue *ig_sbuild_bool(ig_sblock *b, ig_snode *before, bool value);
// A value of the interpreter as a constant; declared: its type where the value does not tell. NULL
// without an error: it cannot be one.
ig_svalue *ig_sbuild_literal(ig_sblock *b, ig_snode *before, ig_value v, const ig_stype *declared);
// All nodes of a block move in front of a node (of another block), or to the end of `to`.
void ig_sbuild_move_all(ig_sblock *from, ig_sblock *to, ig_snode *before);

// ---- operands and results

bool ig_sbuild_insert_block_output(ig_sblock *b, size_t at, ig_svalue *v);
// Type and name of another value; the name is taken from it.
bool ig_sbuild_copy_metadata(ig_svalue *v, const ig_svalue *from);

// ---- replacing

ig_svalue *ig_sbuild_now(ig_svalue *v);
void ig_sbuild_replace(ig_svalue *v, ig_svalue *by);
void ig_sbuild_settle(ig_sgraph *g);
// Sets `uses` of all values.
void ig_sbuild_count_uses(ig_sgraph *g);

// ---- copying

// What a value outside of the copied nodes becomes; NULL after an error.
typedef struct ig_soutside {
  ig_svalue *(*value)(void *user, ig_svalue *v);
  void *user;
} ig_soutside;
// Adds copies of inputs, nodes and outputs of a block to another one, also of another graph.
bool ig_sbuild_copy_block(ig_sblock *into, ig_sblock *from, const ig_soutside *outside);
// Copies the nodes only. The values in `from` keep their copies until ig_sbuild_forget.
bool ig_sbuild_copy_nodes(ig_sblock *into, ig_snode *before, ig_sblock *from,
                          const ig_soutside *outside);
void ig_sbuild_forget(ig_sblock *b);

// ---- asking

// The value of a constant; NULL: it is none, or None.
const ig_value *ig_sbuild_constant(const ig_svalue *v);
bool ig_sbuild_is_constant(const ig_svalue *v);
bool ig_sbuild_as_bool(const ig_svalue *v, bool *out);  // false: no constant of this type
bool ig_sbuild_as_int(const ig_svalue *v, int64_t *out);
// A text that tells constants apart.
void ig_sbuild_add_key(ig_str *s, const ig_value *v);
// Are two constants the same: type and value?
bool ig_sbuild_same_constant(const ig_snode *a, const ig_snode *b);

// Do the nodes have the operands, results and blocks that their forms demand? Texts of graphs can
// say anything. IG_INVALID: not. ssa: after ig_sgraph_to_ssa.
bool ig_sbuild_check(ig_sgraph *g, bool ssa);

#endif
