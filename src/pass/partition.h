// SPDX-License-Identifier: Apache-2.0
// What the methods of ig_partition share.
#ifndef PASS_PARTITION_H_
#define PASS_PARTITION_H_

#include "ingot/aot.h"
#include "pass/pass.h"

// A joint graph that is being divided. Arrays are indexed by the nodes' indices and live in the
// innermost scope.
typedef struct ig_joint {
  ig_ctx *c;
  const ig_graph *g;
  ig_node **primals;
  size_t nprimals;
  ig_node **tangents;
  size_t ntangents;
  const ig_value *outs;  // of the forward graph
  size_t nouts;
  const ig_value *grads;  // the others
  size_t ngrads;
  bool *forward;  // per node: the outputs or effects of the forward graph need it
  bool *late;     // per node: it depends on a tangent
} ig_joint;

// A list of nodes with room for all of a graph.
typedef struct ig_node_list {
  ig_node **at;
  size_t n;
} ig_node_list;

// The nodes that the least memory is saved of, in order. False after an error.
bool ig_joint_min_cut(const ig_joint *j, ig_node_list *saved);

static inline bool ig_node_is_number(const ig_node *n) {
  return n->val.kind == IG_KIND_INT || n->val.kind == IG_KIND_BOOL || n->val.kind == IG_KIND_FLOAT;
}

#endif
