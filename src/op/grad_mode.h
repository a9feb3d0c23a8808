// SPDX-License-Identifier: Apache-2.0
// A change of the grad mode as a node: torch._C._set_grad_enabled(True). A capture records it where
// the program changes the mode; running the graph changes it again.
#ifndef OP_GRAD_MODE_H_
#define OP_GRAD_MODE_H_

#include "ir/graph.h"

// host_fn: the host's function, NULL: none.
extern const char ig_grad_mode_target[];  // the host's function
void ig_record_grad_mode(ig_ctx *c, bool enabled, void *host_fn);
bool ig_node_is_grad_mode(const ig_node *n, bool *enabled);  // enabled may be NULL
// Removes changes without effect: those right before another one, and those to the current mode.
// `enabled` is the initial mode. The others are renumbered.
void ig_graph_merge_grad_modes(ig_ctx *c, ig_graph *g, bool enabled);

bool ig_graph_no_grad(const ig_graph *g);  // the mode at the end of the graph

#endif
