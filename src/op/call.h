// SPDX-License-Identifier: Apache-2.0
// Dispatch, recording and interpretation.
#ifndef OP_CALL_H_
#define OP_CALL_H_

#include "ir/graph.h"
#include "op/op.h"

// A rewrite is asked first while recording. It either answers a call (made by other calls, which
// come here again) by filling outs, or returns false to leave it alone.
typedef struct ig_rewrite {
  bool (*fn)(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user);
  void *user;
  // If not NULL: called with values that are about to become operands or outputs of a graph other
  // than through fn, so that the nodes they stand for can be brought up to date.
  void (*settle)(ig_ctx *c, const ig_value *values, size_t n, void *user);
} ig_rewrite;

// Runs a call without recording: what ig_call does when no capture is open.
void ig_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Fake results of a call, nothing recorded, no tape.
void ig_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Appends the node for one call whose fake results are outs.
void ig_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
bool ig_record_value(ig_ctx *c, const ig_value *in, ig_value *out);  // tensors become nodes

// The environment that fake operands bring along, wherever they are used; NULL: none.
ig_sym *ig_sym_of_operands(const ig_op *op, const ig_value *args);

// Closes the scope and hands the results of a call over to the one around it.
void ig_return_values(ig_ctx *c, ig_scope s, ig_value *outs, size_t n);

// In-place and out forms, derived from the functional record.
// squeeze_ and its kin, resize_: a tensor will have other sizes from now on, but what the open
// capture recorded of it keeps those that it had. False after an error.
bool ig_keep_recorded(ig_ctx *c, ig_tensor *self);
// Refuses to write to a tensor with elements that share memory, in PyTorch's words.
bool ig_check_writable(ig_ctx *c, const ig_tensor *to);
void ig_run_inplace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
void ig_run_out(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// Arguments of the functional operator that an out form is derived from.
void ig_out_args(const ig_op *op, const ig_value *args, ig_value *to);

#endif
