// SPDX-License-Identifier: Apache-2.0
// The calls of a graph that are left when dead code is gone and constants are computed: what an
// exporter translates. The graph itself is not changed.
#ifndef SCRIPT_CALLS_H_
#define SCRIPT_CALLS_H_

#include "script/unit.h"

typedef IG_VEC(ig_snode *) ig_scalls;

// In the order of the graph, those of inner blocks behind their owner. The caller frees `out`, also
// after an error, which gives false.
bool ig_sgraph_calls(ig_sunit *u, const ig_sgraph *g, ig_scalls *out);

// Which inputs a live call asks for sizes, of the inputs themselves or of what is computed from
// them. Only sizes of values that depend on a varying input count: all others are numbers that are
// known ahead. `varying` and `asked` have one element per input of the graph.
bool ig_sgraph_size_reads(ig_sunit *u, const ig_sgraph *g, const bool *varying, bool *asked);

// Does a node call an operator that is random? Not if a constant says that it is not training.
bool ig_snode_is_random(ig_sunit *u, const ig_snode *n);

#endif
