// SPDX-License-Identifier: Apache-2.0
// From calls to nodes.
#ifndef OP_RECORD_H_
#define OP_RECORD_H_

#include "op/call.h"

// ig_capture_begin with the symbols of an environment (retained; NULL: new ones).
ig_status ig_capture_begin_in(ig_ctx *c, ig_sym *sym);

// The fake tensor that represents t in the open capture: t itself if it is fake; otherwise that of
// its placeholder or constant, which is created if necessary. NULL after an error.
ig_tensor *ig_record_fake(ig_ctx *c, ig_tensor *t);

// `args` with real tensors replaced by fakes: args itself when there are none, otherwise `room`.
const ig_value *ig_record_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room);
// The operator that the graph records for a call of op.
const ig_op *ig_record_op(ig_ctx *c, const ig_op *op);
// A call that returns an operand returns the given object.
void ig_record_return(const ig_op *op, const ig_value *given, const ig_value *args, ig_value *outs);

// Is v the default of the argument? Such values are not recorded.
bool ig_arg_is_default(const ig_arg *a, const ig_value *v);
// Symbolic numbers (op/record_sym.c): ig_sym_apply that, while a capture is open, remembers how the
// result was computed; the node is created when the number is first used.
void ig_sym_call(ig_ctx *c, ig_expr_kind fn, const ig_value *args, size_t n, ig_value *out);
const ig_expr *ig_value_expr(const ig_value *v);          // of a symbolic number; NULL: v is none
ig_node *ig_record_number(ig_ctx *c, const ig_value *v);  // v is symbolic; NULL after an error
bool ig_record_know(ig_ctx *c, ig_node *n);               // learns symbols from n's value
bool ig_record_know_late(ig_ctx *c,
                         ig_node *n);  // an input is read from which they were not learnt

bool ig_op_has_effect(
    const ig_op *op);  // Does it mutate, or return nothing? Then it is never dead code.

// Records the call of anything: proto->args are live values (tensors, symbolic numbers, lists of
// them) or nodes, proto->val is the result; the elements of a list get their getitem nodes.
ig_node *ig_record_node(ig_ctx *c, const ig_node *proto, const char *base);
// Adds a sub-graph (retained) as prefix_N, and a get_attr node that reads it.
ig_node *ig_record_sub(ig_ctx *c, const char *prefix, ig_graph *sub);

// A placeholder for a fake tensor like m. `value` (may be NULL) is the real tensor that it
// represents.
typedef struct ig_placeholder {
  ig_input_kind role;
  bool persistent;
  const char *name;  // of the node
  const char *path;  // "fc.weight", or the user's name
  ig_tensor *value;
  bool requires_grad;
  bool late;  // graph.h
} ig_placeholder;
ig_tensor *ig_record_placeholder(ig_ctx *c, const ig_placeholder *p, const ig_meta *m);
void ig_record_placeholder_value(ig_ctx *c, const ig_placeholder *p, const ig_value *value);

ig_status ig_record_output(ig_ctx *c, const ig_value *outs, size_t n);

#endif
