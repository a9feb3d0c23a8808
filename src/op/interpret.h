// SPDX-License-Identifier: Apache-2.0
// Running a graph is calling its nodes; rewriting one is running it under an open capture.
#ifndef OP_INTERPRET_H_
#define OP_INTERPRET_H_

#include "op/call.h"

// Calls every node of g in order. inputs: one value per placeholder. Under an open capture this
// copies g into it, through c->mode->rewrite. outs get one value per output, owned by the innermost
// scope.
ig_status ig_interpret(ig_ctx *c, const ig_graph *g, const ig_value *inputs, ig_value *outs);

// One node of g that is neither a placeholder nor the output, on the values of its operands: env
// has one per node, by index. The result belongs to the innermost scope.
ig_value ig_interpret_node(ig_ctx *c, const ig_graph *g, const ig_node *n, ig_value *env);

// Called with every value that a node of a running graph or ONNX model computes, including
// sub-graphs (c->mode->watch): the node's name, what it calls ("": nothing).
typedef struct ig_watch {
  void (*fn)(void *user, const char *name, const char *target, const ig_value *value);
  void *user;
} ig_watch;

// Interprets g into a new graph with the same placeholders.
typedef struct ig_transform {
  ig_rewrite rewrite;
  bool grad;  // record gradients; placeholders require grad as in g
  // Unbacked symbols get new names; otherwise they are kept.
  bool renew;
  bool keep_regions;  // changes of autocast stay nodes; otherwise the casts become calls
  // If not NULL, may replace the new placeholders as inputs of what follows, and make more. False
  // after an error.
  bool (*start)(ig_ctx *c, ig_value *inputs, size_t ninputs, void *user);
  // If not NULL, maps the outputs before they are recorded; gets the new placeholders. The result
  // lives in the innermost scope; *n is the number of outs on entry. NULL after an error.
  const ig_value *(*finish)(ig_ctx *c, const ig_value *inputs, size_t ninputs, const ig_value *outs,
                            size_t *n, void *user);
  void *user;
} ig_transform;
ig_status ig_graph_transform(ig_ctx *c, const ig_graph *g, const ig_transform *t, ig_graph **out);

#endif
