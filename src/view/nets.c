// SPDX-License-Identifier: Apache-2.0
// From the arguments of nodes to the nets of each box. A value that crosses borders of boxes has
// one net in every box on its way.
#include <string.h>

#include "base/budget.h"
#include "view/view.h"

// One end of a net before nets are collected.
typedef struct wire {
  uint32_t box;
  uint32_t source;  // the node that makes the value
  uint32_t from;    // item of the box; IG_VIEW_NONE: the upper border
  uint32_t to;      // item of the box; IG_VIEW_NONE: the lower border
} wire;

typedef struct wires {
  wire *at;
  size_t n;
  size_t cap;
} wires;

static bool push(ig_view *v, wires *w, wire one) {
  if (ig_vec_push(v->c->alloc, w, one)) return true;
  return ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
}

static uint32_t up(const ig_view *v, uint32_t i) {
  return v->items.at[i].parent;
}

// The wires of one argument: from the source up to the box that has both, and down to the reader.
static bool connect(ig_view *v, wires *w, uint32_t source, uint32_t reader) {
  const ig_view_item *items = v->items.at;
  uint32_t a = source;
  uint32_t b = reader;
  while (up(v, a) != up(v, b)) {
    bool lift = items[a].depth >= items[b].depth;
    uint32_t *low = lift ? &a : &b;
    wire one = {up(v, *low), source, IG_VIEW_NONE, IG_VIEW_NONE};
    if (lift) one.from = a;
    if (!lift) one.to = b;
    // An argument of a node that is itself the box around the source: drawn inside it already.
    if (!push(v, w, one)) return false;
    *low = up(v, *low);
    if (a == b) return true;
  }
  return a == b || push(v, w, (wire){up(v, a), source, a, b});
}

static int compare_u32(uint32_t a, uint32_t b) {
  return (a > b) - (a < b);
}

static int compare(const wire *a, const wire *b) {
  int order = compare_u32(a->box, b->box);
  if (!order) order = compare_u32(a->source, b->source);
  if (!order) order = compare_u32(a->from, b->from);
  return order ? order : compare_u32(a->to, b->to);
}

// Merge sort: linear space, no worst case.
static void sort(wire *at, wire *room, size_t n) {
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t i = 0; i < n; i += 2 * width) {
      size_t mid = i + width < n ? i + width : n;
      size_t end = i + 2 * width < n ? i + 2 * width : n;
      size_t l = i;
      size_t r = mid;
      for (size_t k = i; k < end; k++) {
        bool left = l < mid && (r >= end || compare(&at[l], &at[r]) <= 0);
        room[k] = left ? at[l++] : at[r++];
      }
    }
    memcpy(at, room, n * sizeof *at);
  }
}

// Wires in order: those of one box and source are one net.
static bool collect(ig_view *v, const wire *at, size_t n) {
  ig_alloc a = v->c->alloc;
  for (size_t i = 0; i < n;) {
    ig_view_net net = {.source = at[i].source, .from = at[i].from, .to = v->ends.n};
    size_t k = i;
    for (; k < n && at[k].box == at[i].box && at[k].source == at[i].source; k++) {
      if (at[k].from != IG_VIEW_NONE) net.from = at[k].from;
      if (k > i && compare(&at[k], &at[k - 1]) == 0) continue;
      if (at[k].to == IG_VIEW_NONE) {
        net.leaves = true;
      } else {
        if (!ig_vec_push(a, &v->ends, at[k].to)) return false;
        net.nto++;
      }
    }
    ig_view_item *box = &v->items.at[at[i].box];
    if (!box->nnets) box->net = v->nets.n;
    box->nnets++;
    if (!ig_vec_push(a, &v->nets, net)) return false;
    i = k;
  }
  return true;
}

bool ig_view_connect(ig_view *v) {
  wires w = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < v->items.n; i++) {
    const ig_view_item *it = &v->items.at[i];
    for (size_t k = 0; ok && k < it->nargs; k++) {
      const ig_view_arg *arg = &v->args.at[it->arg + k];
      if (arg->kind == IG_VIEW_VALUE) ok = connect(v, &w, arg->item, (uint32_t)i) && ig_step(v->c);
    }
  }
  wire *room = ig_mem_array(v->c->alloc, w.n, sizeof *room);
  if (ok && room) {
    sort(w.at, room, w.n);
    ok = collect(v, w.at, w.n);
  }
  if (!room || (!ok && v->c->status == IG_OK)) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  ig_mem_array_free(v->c->alloc, room, w.n, sizeof *room);
  ig_vec_free(v->c->alloc, &w);
  return v->c->status == IG_OK;
}
