// SPDX-License-Identifier: Apache-2.0
// The layout of a view, box by box: vertices are the items in the box and the ports of its nets.
#include <string.h>

#include "base/budget.h"
#include "view/view.h"

typedef struct box {
  ig_view *v;
  ig_arena *arena;
  const ig_view_item *it;
  const uint32_t *items;  // in the box, in order
  uint32_t nitems;
  uint32_t *local;  // by item: its vertex
  uint32_t n;       // vertices
  uint32_t *entry;  // by net: the vertices of its ports
  uint32_t *exit;
  uint32_t *order;   // by vertex: its number for the layout
  uint32_t *vertex;  // and back
} box;

static void *array(const box *b, size_t n, size_t size) {
  void *at = ig_arena_array(b->arena, n, size);
  if (!at) (void)ig_fail(b->v->c, IG_NOMEM, "out of memory");
  return at;
}

static const ig_view_net *net_at(const box *b, size_t i) {
  return &b->v->nets.at[b->it->net + i];
}

static uint32_t from_of(const box *b, size_t i) {
  const ig_view_net *net = net_at(b, i);
  return net->from == IG_VIEW_NONE ? b->entry[i] : b->local[net->from];
}

static size_t ends_of(const box *b, size_t i) {
  return net_at(b, i)->nto + net_at(b, i)->leaves;
}

static uint32_t end_of(const box *b, size_t i, size_t k) {
  const ig_view_net *net = net_at(b, i);
  return k < net->nto ? b->local[b->v->ends.at[net->to + k]] : b->exit[i];
}

// Ports are vertices behind the items.
static bool add_ports(box *b) {
  b->n = b->nitems;
  b->entry = array(b, b->it->nnets, sizeof *b->entry);
  b->exit = array(b, b->it->nnets, sizeof *b->exit);
  if (!b->entry || !b->exit) return false;
  for (size_t i = 0; i < b->it->nnets; i++) {
    const ig_view_net *net = net_at(b, i);
    b->entry[i] = net->from == IG_VIEW_NONE ? b->n++ : 0;
    b->exit[i] = net->leaves ? b->n++ : 0;
  }
  return true;
}

// ---- an order in which edges run upwards; of a cycle, one edge does not

typedef struct search {
  size_t *start;  // readers of vertex i: list[start[i]] up to list[start[i + 1]]
  uint32_t *list;
  size_t *next;  // by vertex: the reader to visit next
  uint32_t *path;
  uint8_t *seen;
} search;

static bool index_readers(const box *b, search *s) {
  size_t nedges = 0;
  s->start = array(b, (size_t)b->n + 2, sizeof *s->start);
  if (!s->start) return false;
  for (size_t i = 0; i < b->it->nnets; i++) {
    s->start[from_of(b, i) + 1] += ends_of(b, i);
    nedges += ends_of(b, i);
  }
  for (uint32_t i = 0; i < b->n; i++) s->start[i + 1] += s->start[i];
  s->list = array(b, nedges, sizeof *s->list);
  s->next = array(b, (size_t)b->n + 1, sizeof *s->next);
  s->path = array(b, b->n, sizeof *s->path);
  s->seen = array(b, b->n, 1);
  if (!s->list || !s->next || !s->path || !s->seen) return false;
  memcpy(s->next, s->start, (size_t)b->n * sizeof *s->next);
  for (size_t i = 0; i < b->it->nnets; i++) {
    for (size_t k = 0; k < ends_of(b, i); k++) s->list[s->next[from_of(b, i)]++] = end_of(b, i, k);
  }
  memcpy(s->next, s->start, (size_t)b->n * sizeof *s->next);
  return true;
}

// Depth first from a vertex; numbers are given from the last one down as vertices are left.
static void visit(const box *b, const search *s, uint32_t root, uint32_t *left) {
  uint32_t depth = 0;
  s->path[depth++] = root;
  s->seen[root] = 1;
  while (depth) {
    uint32_t at = s->path[depth - 1];
    if (s->next[at] < s->start[at + 1]) {
      uint32_t to = s->list[s->next[at]++];
      if (s->seen[to]) continue;
      s->seen[to] = 1;
      s->path[depth++] = to;
    } else {
      depth--;
      b->order[at] = --*left;
      b->vertex[*left] = at;
    }
  }
}

static bool sort_vertices(box *b) {
  search s;
  b->order = array(b, b->n, sizeof *b->order);
  b->vertex = array(b, b->n, sizeof *b->vertex);
  if (!b->order || !b->vertex || !index_readers(b, &s)) return false;
  uint32_t left = b->n;
  for (uint32_t i = b->n; i-- > 0;) {
    if (!s.seen[i]) visit(b, &s, i, &left);
  }
  return true;
}

// ---- layout

// Nets sorted by the vertex that they come from, as the layout needs them. by: their numbers.
static bool sort_nets(const box *b, ig_rows_net *nets, uint32_t *by) {
  size_t n = b->it->nnets;
  size_t *start = array(b, (size_t)b->n + 2, sizeof *start);
  if (!start) return false;
  for (size_t i = 0; i < n; i++) start[b->order[from_of(b, i)] + 1]++;
  for (uint32_t i = 0; i < b->n; i++) start[i + 1] += start[i];
  for (size_t i = 0; i < n; i++) {
    size_t at = start[b->order[from_of(b, i)]]++;
    uint32_t *to = array(b, ends_of(b, i), sizeof *to);
    if (!to) return false;
    for (size_t k = 0; k < ends_of(b, i); k++) to[k] = b->order[end_of(b, i, k)];
    nets[at] = (ig_rows_net){.from = b->order[from_of(b, i)], .to = to, .nto = ends_of(b, i)};
    by[at] = (uint32_t)i;
  }
  return true;
}

static bool keep(const box *b, const ig_rows *r, const uint32_t *by) {
  ig_view *v = b->v;
  for (uint32_t i = 0; i < b->nitems; i++) {
    v->items.at[b->items[i]].rank = r->rank[b->order[i]];
    v->items.at[b->items[i]].pos = r->pos[b->order[i]];
  }
  for (size_t k = 0; k < r->nnets; k++) {
    ig_view_net *net = &v->nets.at[b->it->net + by[k]];
    if (net->from == IG_VIEW_NONE) net->from_pos = r->pos[b->order[b->entry[by[k]]]];
    if (net->leaves) net->exit_pos = r->pos[b->order[b->exit[by[k]]]];
    net->via = v->vias.n;
    net->nvia = r->nets[k].nvia;
    for (size_t i = 0; i < net->nvia; i++) {
      if (ig_vec_push(v->c->alloc, &v->vias, r->nets[k].via[i])) continue;
      return ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
    }
  }
  return true;
}

static bool lay_out(box *b) {
  if (!add_ports(b) || !sort_vertices(b)) return false;
  uint8_t *ports = array(b, b->n, 1);
  uint32_t *by = array(b, b->it->nnets, sizeof *by);
  ig_rows_net *nets = array(b, b->it->nnets, sizeof *nets);
  if (!ports || !by || !nets || !sort_nets(b, nets, by)) return false;
  for (size_t i = 0; i < b->it->nnets; i++) {
    const ig_view_net *net = net_at(b, i);
    if (net->from == IG_VIEW_NONE) ports[b->order[b->entry[i]]] = IG_ROWS_FIRST;
    if (net->leaves) ports[b->order[b->exit[i]]] = IG_ROWS_LAST;
  }
  ig_rows r = {.c = b->v->c, .arena = b->arena, .n = b->n, .ports = ports, .nets = nets};
  r.nnets = b->it->nnets;
  return ig_rows_make(&r) && keep(b, &r, by);
}

static bool lay_out_all(ig_view *v, const size_t *start, const uint32_t *items, uint32_t *local) {
  for (size_t i = 0; i < v->items.n; i++) {
    box b = {.v = v, .it = &v->items.at[i], .items = items + start[i], .local = local};
    b.nitems = (uint32_t)(start[i + 1] - start[i]);
    if (!b.nitems) continue;
    for (uint32_t k = 0; k < b.nitems; k++) local[b.items[k]] = k;
    v->items.at[i].nitems = b.nitems;
    ig_arena arena = ig_arena_make(v->c->alloc);
    b.arena = &arena;
    bool ok = lay_out(&b);
    ig_arena_free(&arena);
    if (!ok || !ig_step(v->c)) return false;
  }
  return true;
}

bool ig_view_layout(ig_view *v) {
  size_t n = v->items.n;
  size_t *start = ig_arena_array(&v->arena, n + 2, sizeof *start);
  uint32_t *items = ig_arena_array(&v->arena, n, sizeof *items);
  uint32_t *local = ig_arena_array(&v->arena, n, sizeof *local);
  if (!start || !items || !local) return ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 1; i < n; i++) start[v->items.at[i].parent + 1]++;
  for (size_t i = 0; i < n; i++) start[i + 1] += start[i];
  for (size_t i = 1; i < n; i++) items[start[v->items.at[i].parent]++] = (uint32_t)i;
  memmove(start + 1, start, n * sizeof *start);
  start[0] = 0;
  return lay_out_all(v, start, items, local);
}
