// SPDX-License-Identifier: Apache-2.0
// Autocast: inside such a region products and convolutions take their operands in a short type,
// losses and decompositions in float32, and joins in the widest type of their operands. The casts
// are calls of their own, so that a captured program keeps them.
#ifndef OP_AUTOCAST_H_
#define OP_AUTOCAST_H_

#include "op/op.h"

// `args` with the casts that the regions around the call demand: args itself if there are none,
// otherwise `room`. NULL after an error.
const ig_value *ig_autocast_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room);

#endif
