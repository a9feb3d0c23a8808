// SPDX-License-Identifier: Apache-2.0
// Higher-order operators: some of their operands are functions. Called eagerly, they call those;
// under a capture each function is captured as a sub-graph of its own, and one node is recorded.
#ifndef INGOT_HOP_H_
#define INGOT_HOP_H_

#include "ingot/graph.h"

IG_BEGIN_DECLS

// A function of values: a callback, or a previously captured graph. The callback returns its *nouts
// results, in memory of the innermost scope; NULL or a failed context: an error. Values it captures
// from its environment (tensors, symbolic sizes) become operands automatically.
typedef struct ig_branch {
  const ig_value *(*fn)(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts, void *user);
  void *user;
  const ig_graph *graph;  // if not NULL, used instead of fn
} ig_branch;

// All functions below return their *nouts results, owned by the innermost scope; NULL after an
// error.

// yes(operands) or no(operands). pred: a bool, symbolic or not, or a tensor of one element. Under a
// capture a plain bool stays in the graph, and both functions must return the same number of
// results with the same dtypes and shapes (IG_BRANCH reports the first difference). order: see
// ig_operand_order.
typedef struct ig_cond_args {
  size_t size;  // sizeof(ig_cond_args)
  const ig_value *pred;
  const ig_branch *yes;
  const ig_branch *no;
  const ig_value *operands;
  size_t noperands;
  // Sort keys of the operands of the recorded node, one text per operand; NULL: their given order,
  // with state of the program first.
  const char *const *keys;
  // With keys: other values that the functions may capture, and their keys.
  const ig_value *others;
  const char *const *other_keys;
  size_t nothers;
} ig_cond_args;
IG_API const ig_value *ig_cond(ig_ctx *c, const ig_cond_args *args, size_t *nouts);

// body(slices of xs along dimension 0, args), results stacked. IG_RUNTIME: the leading dimensions
// differ or are 0.
IG_API const ig_value *ig_map_over(ig_ctx *c, const ig_branch *body, const ig_value *xs, size_t nxs,
                                   const ig_value *args, size_t nargs, size_t *nouts);

// carried = body(carried, extra) while cond(carried, extra).
IG_API const ig_value *ig_while_loop(ig_ctx *c, const ig_branch *cond, const ig_branch *body,
                                     const ig_value *carried, size_t ncarried,
                                     const ig_value *extra, size_t nextra, size_t *nouts);

// (carry, y) = combine(carry, slices of xs along dim) from the first slice to the last, or, when
// reverse, the other way: the last carry, followed by the y stacked along dimension 0.
typedef struct ig_scan_args {
  size_t size;  // sizeof(ig_scan_args)
  const ig_branch *combine;
  const ig_value *init;
  size_t ninit;
  const ig_value *xs;
  size_t nxs;
  const ig_value *extra;
  size_t nextra;
  int64_t dim;
  bool reverse;
} ig_scan_args;
IG_API const ig_value *ig_scan(ig_ctx *c, const ig_scan_args *args, size_t *nouts);

// body(operands) with gradients enabled or disabled.
IG_API const ig_value *ig_wrap_set_grad_enabled(ig_ctx *c, bool enabled, const ig_branch *body,
                                                const ig_value *operands, size_t n, size_t *nouts);
// body(operands), recorded as a single node.
IG_API const ig_value *ig_strict_mode(ig_ctx *c, const ig_branch *body, const ig_value *operands,
                                      size_t n, size_t *nouts);

// The functional form of an operator that mutates operands. Takes one value per schema argument;
// returns its results (None if it has none), then the new value of each mutated argument.
IG_API const ig_value *ig_auto_functionalized(ig_ctx *c, const ig_op *op, const ig_value *args,
                                              size_t *nouts);

// By name: "cond", "map_impl", "while_loop", "scan", "strict_mode", "auto_functionalized",
// "auto_functionalized_v2", "with_effects", "wrap_with_autocast", "wrap_with_set_grad_enabled";
// NULL: none.
typedef struct ig_hop ig_hop;
IG_API const ig_hop *ig_hop_find(const char *name);

IG_END_DECLS

#endif
