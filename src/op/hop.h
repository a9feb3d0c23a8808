// SPDX-License-Identifier: Apache-2.0
// Shared by the higher-order operators: calling functions, capturing them, recording the node.
#ifndef OP_HOP_H_
#define OP_HOP_H_

#include "ingot/hop.h"
#include "op/nested.h"

extern const ig_hop ig_hop_cond;
extern const ig_hop ig_hop_map;
extern const ig_hop ig_hop_while_loop;
extern const ig_hop ig_hop_scan;
extern const ig_hop ig_hop_strict_mode;
extern const ig_hop ig_hop_set_grad;
extern const ig_hop ig_hop_auto_functionalized;
extern const ig_hop ig_hop_auto_functionalized_v2;
extern const ig_hop ig_hop_autocast;
extern const ig_hop ig_hop_with_effects;

// Calls a function; its results in the innermost scope, NULL after an error.
const ig_value *ig_branch_call(ig_ctx *c, const ig_branch *b, const ig_value *in, size_t n,
                               size_t *nouts);
// The same in its own scope.
const ig_value *ig_branch_run(ig_ctx *c, const ig_branch *b, const ig_value *in, size_t n,
                              size_t *nouts);

// Captures a function as a graph of its own. IG_BRANCH: it mutates its operands. likes (may be
// NULL, or have NULLs) and names (may be NULL): see ig_nested_operand; `lazy`: operands become
// placeholders only when they are read.
typedef struct ig_branch_inputs {
  const char *who;  // "cond", for messages
  const ig_value *operands;
  size_t n;
  const ig_meta *const *likes;
  const char *const *names;
  bool lazy;
} ig_branch_inputs;
ig_graph *ig_branch_capture(ig_ctx *c, const ig_branch *b, const ig_branch_inputs *in);

// The results of a captured function: its output node's values; inner tensors.
const ig_value *ig_branch_outputs(ig_ctx *c, const ig_graph *sub, size_t *n);
// For operators whose sub-graphs have numbered placeholders, arg0_1: renames those from index
// `from` on.
bool ig_hop_number_inputs(ig_ctx *c, ig_graph *sub, size_t from);
// The fake value of the outer graph for one result of a sub-graph.
ig_value ig_branch_result(ig_ctx *c, const ig_value *inner);
// A list of operands, then those that the capture of sub has added after the first `from`.
ig_value ig_branch_operands(ig_ctx *c, const ig_value *given, size_t n, const ig_graph *sub,
                            size_t from, ig_seq seq);

// Records the node; frees nothing. args: live values, nodes; results are its fake results.
bool ig_hop_record(ig_ctx *c, const ig_hop *hop, const ig_value *args, size_t npos,
                   const char *const *keys, size_t nkw, const ig_value *results, size_t n);

// A branch as a sub-graph.
static inline ig_branch ig_branch_of(const ig_value *v) {
  return (ig_branch){.graph = v->graph};
}
// The base of its nodes' names in a release.
static inline const char *ig_hop_base(const ig_hop *hop, ig_release r) {
  return hop->bases[r] ? hop->bases[r] : hop->base;
}
// Text of a value for messages: "float32[2, 3]".
const char *ig_hop_describe(ig_ctx *c, const ig_value *v);
// Same kind, dtype, device and sizes?
bool ig_hop_alike(const ig_value *a, const ig_value *b);

// ---- sizes that differ (hop_join.c)

// May both values be results of one place although their sizes differ? Where scripts record their
// conditions: such a size is known when the program runs.
bool ig_hop_joins(const ig_ctx *c, const ig_value *a, const ig_value *b);
// Describes a with sizes of their own where those of b differ, in memory of the innermost scope;
// *like (NULL: as a is) is what was found so far. True: one more size differs.
bool ig_hop_widen(ig_ctx *c, const ig_value *a, const ig_value *b, const ig_meta **like);
// Is a size of the value a symbol that only the running program knows?
bool ig_hop_has_own_size(const ig_value *v);

#endif
