// SPDX-License-Identifier: Apache-2.0
// Dispatch, recording and interpretation.
#ifndef OP_CALL_H_
#define OP_CALL_H_

#include "ir/graph.h"
#include "op/op.h"

// A rewrite is called first while recording. It either replaces a call by other calls (which are
// dispatched again) and fills outs, or returns false to leave it unchanged.
typedef struct ig_rewrite {
  bool (*fn)(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user);
  void *user;
  // If not NULL: called with values that are about to become operands or outputs of a graph other
  // than through fn, so that their nodes can be updated.
  void (*settle)(ig_ctx *c, const ig_value *values, size_t n, void *user);
  bool eager;  // calls that no graph records, but not those of operators that are being inferred
} ig_rewrite;

// Runs a call without recording: what ig_call does when no capture is open.
void ig_run(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);

// Fake results of a call, nothing recorded, no tape.
void ig_infer(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// Does the operator's own rule accept the arguments? False after an error. Whoever rewrites a call
// asks first: formulas rely on the dims, sizes and dtypes that the rule checks.
bool ig_check_call(ig_ctx *c, const ig_op *op, const ig_value *args);

// Appends the node for one call whose fake results are outs.
void ig_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
bool ig_record_value(ig_ctx *c, const ig_value *in, ig_value *out);  // tensors become nodes

// The shape environment of the fake operands; NULL: none.
ig_sym *ig_sym_of_operands(const ig_op *op, const ig_value *args);

// Closes the scope and passes the results of a call to the enclosing one.
void ig_return_values(ig_ctx *c, ig_scope s, ig_value *outs, size_t n);

// In-place and out forms, derived from the functional record. For squeeze_, resize_ and similar: a
// tensor is about to change its sizes, but the values already recorded by the open capture keep the
// old ones. False after an error.
bool ig_keep_recorded(ig_ctx *c, ig_tensor *self);
// Rejects writing to a tensor whose elements overlap in memory, with PyTorch's message.
bool ig_check_writable(ig_ctx *c, const ig_tensor *to);
void ig_run_inplace(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// op(args), an operator whose parts have gradients, into `to`: they read a copy of args[0].
void ig_write_parts(ig_ctx *c, const ig_op *op, const ig_value *args, ig_tensor *to);
void ig_run_out(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs);
// Arguments of the functional operator that an out form is derived from.
void ig_out_args(const ig_op *op, const ig_value *args, ig_value *to);

#endif
