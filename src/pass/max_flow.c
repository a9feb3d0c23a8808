// SPDX-License-Identifier: Apache-2.0
#include "pass/max_flow.h"

#include <string.h>

enum { SOURCE_LEVEL = 1 };

bool ig_flow_init(ig_ctx *c, ig_flow *f, size_t n) {
  *f = (ig_flow){.c = c, .n = n};
  f->first = ig_mem_array(c->alloc, n, sizeof *f->first);
  f->at = ig_mem_array(c->alloc, n, sizeof *f->at);
  f->level = ig_mem_array(c->alloc, n, sizeof *f->level);
  f->queue = ig_mem_array(c->alloc, n, sizeof *f->queue);
  if (!f->first || !f->at || !f->level || !f->queue) {
    ig_flow_free(f);
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  for (size_t i = 0; i < n; i++) f->first[i] = SIZE_MAX;
  return true;
}

void ig_flow_free(ig_flow *f) {
  ig_alloc a = f->c->alloc;
  ig_mem_array_free(a, f->first, f->n, sizeof *f->first);
  ig_mem_array_free(a, f->at, f->n, sizeof *f->at);
  ig_mem_array_free(a, f->level, f->n, sizeof *f->level);
  ig_mem_array_free(a, f->queue, f->n, sizeof *f->queue);
  ig_vec_free(a, &f->edges);
  *f = (ig_flow){.c = f->c};
}

static bool add_half(ig_flow *f, size_t from, size_t to, int64_t room) {
  ig_flow_edge e = {to, f->first[from], room};
  if (!ig_vec_push(f->c->alloc, &f->edges, e)) {
    return ig_fail(f->c, IG_NOMEM, "out of memory") == IG_OK;
  }
  f->first[from] = f->edges.n - 1;
  return true;
}

bool ig_flow_add(ig_flow *f, size_t from, size_t to, int64_t capacity) {
  return add_half(f, from, to, capacity) && add_half(f, to, from, 0);
}

// Distances from the source over edges with room; is the sink among them?
static bool set_levels(ig_flow *f, size_t source, size_t sink) {
  memset(f->level, 0, f->n * sizeof *f->level);
  f->level[source] = SOURCE_LEVEL;
  size_t n = 0;
  f->queue[n++] = source;
  for (size_t k = 0; k < n; k++) {
    size_t v = f->queue[k];
    for (size_t e = f->first[v]; e != SIZE_MAX; e = f->edges.at[e].next) {
      const ig_flow_edge *edge = &f->edges.at[e];
      if (edge->room == 0 || f->level[edge->to]) continue;
      f->level[edge->to] = f->level[v] + 1;
      f->queue[n++] = edge->to;
    }
  }
  return f->level[sink] != 0;
}

static void push(ig_flow *f, size_t e, int64_t amount) {
  ig_flow_edge *edge = &f->edges.at[e];
  ig_flow_edge *back = &f->edges.at[e ^ 1];
  if (edge->room != IG_FLOW_ENDLESS) edge->room -= amount;
  if (back->room != IG_FLOW_ENDLESS && !ig_checked_add(back->room, amount, &back->room)) {
    back->room = IG_FLOW_ENDLESS - 1;
  }
}

// One path to the sink along rising levels, without recursion: f->queue has its edges. Returns
// what flowed along it; 0: there is no further path.
static int64_t augment(ig_flow *f, size_t source, size_t sink) {
  size_t depth = 0;
  size_t v = source;
  while (v != sink) {
    size_t e = f->at[v];
    while (e != SIZE_MAX &&
           (f->edges.at[e].room == 0 || f->level[f->edges.at[e].to] != f->level[v] + 1)) {
      e = f->edges.at[e].next;
    }
    f->at[v] = e;
    if (e != SIZE_MAX) {
      f->queue[depth++] = e;
      v = f->edges.at[e].to;
    } else if (depth == 0) {
      return 0;
    } else {
      v = f->edges.at[f->queue[--depth] ^ 1].to;
      f->at[v] = f->edges.at[f->at[v]].next;  // a dead end
    }
  }
  int64_t amount = IG_FLOW_ENDLESS;
  for (size_t i = 0; i < depth; i++) {
    int64_t room = f->edges.at[f->queue[i]].room;
    if (room < amount) amount = room;
  }
  for (size_t i = 0; i < depth && amount != IG_FLOW_ENDLESS; i++) push(f, f->queue[i], amount);
  return amount;
}

// What still reaches the sink.
static void mark_beyond(ig_flow *f, size_t sink, bool *beyond) {
  size_t n = 0;
  beyond[sink] = true;
  f->queue[n++] = sink;
  for (size_t k = 0; k < n; k++) {
    for (size_t e = f->first[f->queue[k]]; e != SIZE_MAX; e = f->edges.at[e].next) {
      size_t from = f->edges.at[e].to;
      if (f->edges.at[e ^ 1].room == 0 || beyond[from]) continue;
      beyond[from] = true;
      f->queue[n++] = from;
    }
  }
}

bool ig_flow_cut(ig_flow *f, size_t source, size_t sink, bool *beyond) {
  memset(beyond, 0, f->n * sizeof *beyond);
  while (set_levels(f, source, sink)) {
    memcpy(f->at, f->first, f->n * sizeof *f->at);
    for (int64_t flow = 1; flow;) {
      flow = augment(f, source, sink);
      if (flow == IG_FLOW_ENDLESS) return false;
    }
  }
  mark_beyond(f, sink, beyond);
  return true;
}
