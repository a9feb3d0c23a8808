// SPDX-License-Identifier: Apache-2.0
// History of results: a tape entry keeps what a .vjp rule needs, and edges to the entries (or
// leaves) that made its operands. A result owns the entry that made it, an entry its edges, so an
// unused tape disappears with its last tensor.
#ifndef OP_TAPE_H_
#define OP_TAPE_H_

#include "op/op.h"

typedef struct ig_tape_entry ig_tape_entry;

// Does any tensor operand want a gradient, and is history being kept?
bool ig_tape_wanted(const ig_ctx *c, const ig_op *op, const ig_value *args);

// Before the call: keeps operands (twins, ghosts, for an in-place call copies of what it will
// overwrite) and their edges. NULL when no gradient is wanted or after an error.
ig_tape_entry *ig_tape_open(ig_ctx *c, const ig_op *op, const ig_value *args);
// After the call: keeps results and makes the entry the history of outs. Takes the entry over
// (NULL is allowed); drops it after an error.
void ig_tape_close(ig_ctx *c, ig_tape_entry *e, const ig_op *op, const ig_value *args,
                   const ig_value *outs);
// A view made without history (no_grad, detach) and the view relation of those with one.
void ig_tape_view(ig_ctx *c, const ig_op *op, const ig_value *args, const ig_value *outs);
// In-place and out calls: false (and an error with PyTorch's text) when `self` may not be written,
// such as a leaf that requires grad.
bool ig_tape_may_write(ig_ctx *c, const ig_op *op, ig_tensor *self);

#endif
