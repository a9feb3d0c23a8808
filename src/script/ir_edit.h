// SPDX-License-Identifier: Apache-2.0
// Changing graphs of scripts: inserting, moving and removing nodes, replacing values, copying.
#ifndef SCRIPT_IR_EDIT_H_
#define SCRIPT_IR_EDIT_H_

#include "script/ir.h"

// Functions that make something fail the context when out of memory and then give NULL or false.

// A node that stands in no block yet.
ig_snode *ig_snode_create(ig_sgraph *g, const char *kind, ig_svalue *const *in, size_t n);
// Puts a node in front of another of the block; before NULL: at its end. Moves a node that stands
// somewhere already.
void ig_snode_insert(ig_snode *n, ig_sblock *b, ig_snode *before);
// Takes a node out of its block for good; the names of its results are free again. Its results must
// have no uses that stay. The memory remains readable until the graph is freed.
void ig_snode_remove(ig_snode *n);
// Is a node in its graph, together with all nodes around it?
bool ig_snode_is_live(const ig_snode *n);
// Does a stand before b, or around it?
bool ig_snode_is_before(const ig_snode *a, const ig_snode *b);

bool ig_snode_add_input(ig_snode *n, ig_svalue *v);
bool ig_snode_insert_input(ig_snode *n, size_t at, ig_svalue *v);
void ig_snode_remove_input(ig_snode *n, size_t at);
void ig_snode_remove_output(ig_snode *n, size_t at);
void ig_snode_remove_attr(ig_snode *n, const char *name);
ig_svalue *ig_sblock_insert_input(ig_sblock *b, size_t at, const ig_stype *type);
void ig_sblock_remove_input(ig_sblock *b, size_t at);
void ig_sblock_remove_output(ig_sblock *b, size_t at);

// The inputs of a block as results of a prim::Param node, its outputs as inputs of a prim::Return.
// The nodes stand in no block; they show the block as it is at the time of the call.
ig_snode *ig_snode_of_params(ig_sblock *b);
ig_snode *ig_snode_of_returns(ig_sblock *b);

// A place where a value is used: an input of a node, or (node NULL) an output of a block.
typedef struct ig_suse {
  ig_snode *node;
  ig_sblock *block;
  size_t at;
} ig_suse;
// All uses in the block and the blocks inside, in order; n is their number. In the arena of the
// graph.
ig_suse *ig_svalue_uses(ig_sblock *in, const ig_svalue *v, size_t *n);
bool ig_svalue_is_used(const ig_sblock *in, const ig_svalue *v);
// Every use in the block and the blocks inside becomes one of `by`.
void ig_svalue_replace(ig_sblock *in, const ig_svalue *v, ig_svalue *by);
// The block in which a value exists.
ig_sblock *ig_svalue_home(const ig_svalue *v);

// Which value of the new graph stands for one of the old; a table that the caller may fill first.
typedef struct ig_svalue_map {
  ig_sgraph *g;
  const ig_svalue **from;  // open addressing
  ig_svalue **to;
  size_t n;
  size_t cap;
} ig_svalue_map;
ig_svalue_map ig_svalue_map_make(ig_sgraph *g);
bool ig_svalue_map_put(ig_svalue_map *m, const ig_svalue *from, ig_svalue *to);
ig_svalue *ig_svalue_map_get(const ig_svalue_map *m, const ig_svalue *from);  // NULL: there is none

// Attributes, place and scope of another node, also of another graph.
bool ig_snode_copy_attrs(ig_snode *to, const ig_snode *from);
// A copy of one node with its blocks, in front of `before`. Values that the map does not know are
// used as they are, which is right within one graph. Debug names go along if `names`.
ig_snode *ig_snode_copy(ig_svalue_map *m, const ig_snode *n, ig_sblock *b, ig_snode *before,
                        bool names);
// Copies of all nodes of a block; its inputs must be in the map.
bool ig_sblock_copy_nodes(ig_svalue_map *m, const ig_sblock *from, ig_sblock *to, ig_snode *before,
                          bool names);

// Inputs, nodes and outputs of a block, into an empty one.
bool ig_sblock_copy(ig_svalue_map *m, const ig_sblock *from, ig_sblock *to, bool names);

#endif
