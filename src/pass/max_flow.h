// SPDX-License-Identifier: Apache-2.0
// Maximum flow from a source to a sink (Dinic), and the minimum cut that is nearest to the sink.
#ifndef PASS_MAX_FLOW_H_
#define PASS_MAX_FLOW_H_

#include "base/ctx.h"
#include "base/mem.h"

#define IG_FLOW_ENDLESS INT64_MAX  // capacity of an edge that no cut contains

typedef struct ig_flow_edge {
  size_t to;
  size_t next;   // of the same vertex; SIZE_MAX: none
  int64_t room;  // capacity that is left; the reverse edge is the one with number ^ 1
} ig_flow_edge;

typedef struct ig_flow {
  ig_ctx *c;
  size_t n;
  size_t *first;  // per vertex
  size_t *at;     // per vertex: the next edge to try
  int64_t *level;
  size_t *queue;
  IG_VEC(ig_flow_edge) edges;
} ig_flow;

bool ig_flow_init(ig_ctx *c, ig_flow *f, size_t n);  // false: out of memory
void ig_flow_free(ig_flow *f);
bool ig_flow_add(ig_flow *f, size_t from, size_t to, int64_t capacity);
// beyond[v]: v is on the sink's side of the cut. False: out of memory, or no cut is finite.
bool ig_flow_cut(ig_flow *f, size_t source, size_t sink, bool *beyond);

#endif
