// SPDX-License-Identifier: Apache-2.0
// Autocast: inside a region, matrix products and convolutions cast their operands to a
// lower-precision dtype, losses and matrix decompositions to float32, and concatenations to the
// widest dtype of their operands. The casts are separate calls, so that a captured program contains
// them.
#ifndef OP_AUTOCAST_H_
#define OP_AUTOCAST_H_

#include "ir/graph.h"
#include "op/op.h"

// `args` with the casts that the enclosing regions require: args itself if there are none,
// otherwise `room`. NULL after an error.
const ig_value *ig_autocast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room);

// Enters or leaves a region: a node in a capture with implied casts, otherwise nothing is recorded.
// host_fn: the host's function for it. A region ends with the innermost one that is open.
void ig_record_autocast(ig_ctx *c, const char *device, ig_dtype dtype, bool enabled, void *host_fn);
void ig_record_autocast_end(ig_ctx *c, void *host_fn);

typedef enum ig_autocast_switch {
  IG_SWITCH_NONE,
  IG_SWITCH_ENTER,
  IG_SWITCH_EXIT
} ig_autocast_switch;
ig_autocast_switch ig_node_autocast(const ig_node *n);
// For the interpreter: changes the state and notifies a capture. `before` is the value of the node
// that entered the region; returns the value of this node.
ig_value ig_autocast_step(ig_ctx *c, const ig_node *n, const ig_value *before);

#endif
