// SPDX-License-Identifier: Apache-2.0
// The switch of the grad mode as a node: torch._C._set_grad_enabled(True). A capture records it
// where the program switches; running the graph switches as well.
#ifndef OP_GRAD_MODE_H_
#define OP_GRAD_MODE_H_

#include "ir/graph.h"

// host_fn: what the host knows the call by, NULL: nothing.
extern const char ig_grad_mode_target[];  // the function of the host that switches
void ig_record_grad_mode(ig_ctx *c, bool enabled, void *host_fn);
bool ig_node_is_grad_mode(const ig_node *n, bool *enabled);  // enabled may be NULL
// Drops switches that have no effect: those right before another one, and those to the mode that
// holds already. `enabled` is the mode at the beginning. The others are counted anew.
void ig_graph_merge_grad_modes(ig_ctx *c, ig_graph *g, bool enabled);

bool ig_graph_no_grad(const ig_graph *g);  // the mode at the end of the graph

#endif
