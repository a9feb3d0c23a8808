// SPDX-License-Identifier: Apache-2.0
// What passes share.
#ifndef PASS_PASS_H_
#define PASS_PASS_H_

#include "ingot/pass.h"
#include "ir/program.h"
#include "op/interpret.h"

// Makes a program from a rewritten graph of p: clean-up, new constants as inputs, checks. Takes
// ownership of the graph. kinds and targets describe the outputs; NULL: as in p. NULL after an
// error.
ig_program *ig_pass_program(ig_ctx *c, const ig_program *p, ig_graph *g,
                            const ig_output_kind *kinds, const char *const *targets);

// ig_scope_array whose memory is zeroed.
void *ig_pass_zeros(ig_ctx *c, size_t n, size_t size);

// Calls op without the rewrite: the call is recorded unchanged.
void ig_pass_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// ig_program_functionalize that also decomposes calls: `apart` (NULL: none) is called for every
// call without mutation, including those that scatter views into their bases.
ig_status ig_pass_functionalize(ig_ctx *c, const ig_program *p, const ig_rewrite *apart,
                                ig_program **out);

// Copies of single nodes into another graph. `map` returns the node of `to` for one of the old
// graph; NULL after an error.
typedef struct ig_node_copier {
  ig_ctx *c;
  ig_graph *to;
  ig_node *(*map)(void *user, const ig_node *n);
  void *user;
  bool own_subs;  // sub-graphs are copied too
} ig_node_copier;

// A value with its nodes mapped; lists live in the innermost scope.
bool ig_copy_value(const ig_node_copier *k, const ig_value *from, ig_value *to);
// Inserts a copy of n, modified by `change` (may be NULL), before `before` (NULL: at the end).
// Values, constants, locations and metadata are shared or copied; NULL after an error.
ig_node *ig_copy_node(const ig_node_copier *k, const ig_node *n, ig_node *before, const char *name,
                      void (*change)(ig_node *proto, const void *with), const void *with);

// p without tokens: itself when it has none, else *view, whose lists live in the innermost scope
// and whose graph the caller frees (NULL when there is nothing to free). NULL after an error.
const ig_program *ig_pass_shed_tokens(ig_ctx *c, const ig_program *p, ig_program *view);

// Assertions about what stands in the data, in place: names go on counting. After an error p is
// good for nothing but to be freed.
ig_status ig_program_place_asserts(ig_ctx *c, ig_program *p);
// p was made from a training program: its checks take the form of other programs. Nothing happens
// to checks whose reasons are not known any more, as in a program from a file.
ig_status ig_program_renew_asserts(ig_ctx *c, ig_program *p);
// The specs name the nodes that the output returns now.
void ig_program_follow_outputs(ig_program *p);

// The graph of `outs` (values of g, which may contain nodes) as functions of `inputs`, which may be
// any nodes of g; names are kept. effects: per node, does its effect belong to this graph? NULL: no
// effect does. NULL after an error: an output depends on other placeholders.
ig_graph *ig_pass_extract(ig_ctx *c, const ig_graph *g, ig_node *const *inputs, size_t ninputs,
                          const ig_value *outs, size_t nouts, const bool *effects);
// Merges calls that compute the same. Changes g; false after an error.
bool ig_graph_cse(ig_ctx *c, ig_graph *g);

// A graph without writes: every output is the last value of what it was, also of a placeholder.
ig_status ig_graph_functionalize(ig_ctx *c, const ig_graph *g, const ig_rewrite *apart,
                                 ig_graph **out);
// Changes of the grad mode say nothing in a graph that has its gradients.
void ig_graph_drop_grad_modes(ig_graph *g);
// Is op one of those that every trace below autograd takes apart?
bool ig_op_is_traced_apart(const ig_op *op);

ig_status ig_graph_wrap_grad_regions(ig_ctx *c, const ig_graph *g, ig_graph **out);

#endif
