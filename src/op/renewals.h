// SPDX-License-Identifier: Apache-2.0
// Unbacked symbols while a graph is interpreted into another one: every call gets the symbols that
// it created the first time, or new names for them, so that what is known about them is kept.
#ifndef OP_RENEWALS_H_
#define OP_RENEWALS_H_

#include "ir/graph.h"

typedef struct ig_renewals {
  ig_renewal queue;  // of the node that is being called
  ig_table nodes;    // node -> its first symbol; number: how many
  const ig_expr **old;
  const ig_expr **fresh;
  size_t bytes;
  ig_mode_scope scope;
} ig_renewals;

// Collects the symbols of g's nodes and installs them in c, if there are any.
bool ig_renewals_open(ig_ctx *c, const ig_graph *g, bool renew, ig_renewals *r);
void ig_renewals_close(ig_ctx *c, ig_renewals *r);
// Before n is called.
void ig_renewals_enter(ig_ctx *c, const ig_node *n);

#endif
