// SPDX-License-Identifier: Apache-2.0
// Autocast: inside such a region products and convolutions take their operands in a short type,
// losses and decompositions in float32, and joins in the widest type of their operands. The casts
// are calls of their own, so that a captured program keeps them.
#ifndef OP_AUTOCAST_H_
#define OP_AUTOCAST_H_

#include "ir/graph.h"
#include "op/op.h"

// `args` with the casts that the regions around the call demand: args itself if there are none,
// otherwise `room`. NULL after an error.
const ig_value *ig_autocast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room);

// Switches as nodes of a capture that has implied casts; otherwise nothing is recorded. host_fn:
// what the host calls to switch. A region ends with the innermost one that is open.
void ig_record_autocast(ig_ctx *c, const char *device, ig_dtype dtype, bool enabled, void *host_fn);
void ig_record_autocast_end(ig_ctx *c, void *host_fn);

typedef enum ig_autocast_switch {
  IG_SWITCH_NONE,
  IG_SWITCH_ENTER,
  IG_SWITCH_EXIT
} ig_autocast_switch;
ig_autocast_switch ig_node_autocast(const ig_node *n);
// What the interpreter does: the state changes, and a capture is told. `before` is what the value
// of the node that entered the region says; the value of this node is returned.
ig_value ig_autocast_step(ig_ctx *c, const ig_node *n, const ig_value *before);

#endif
