// SPDX-License-Identifier: Apache-2.0
// Rows and positions of what is in a box, in the manner of Sugiyama: every vertex is in a row below
// all that it reads (longest path); a net that passes rows has a point in each of them, shared by
// its readers; the order in the rows follows the mean positions of the neighbours, in a fixed
// number of sweeps. Time is linear but for the sorting of rows. Nets that would need too many
// points get none: whoever draws shows their ends only.
#include <string.h>

#include "base/budget.h"
#include "view/view.h"

enum { SWEEPS = 4, POINTS_PER_VERTEX = 4, POINTS_MIN = 4096 };

typedef struct row {
  uint32_t *at;  // vertices, those behind r->n are points
  uint32_t n;
} row;

typedef struct plan {
  ig_rows *r;
  uint32_t total;  // vertices and points
  uint32_t nrows;
  uint32_t *rank;  // of all
  uint32_t *pos;
  row *rows;
  // Neighbours: those of i are list[start[i]] up to list[start[i + 1]].
  uint32_t *start[2];  // above, below
  uint32_t *list[2];
  size_t nedges;
  double *keys;  // while a row is sorted
  uint32_t *room;
} plan;

static void *array(ig_rows *r, size_t n, size_t size) {
  void *at = ig_arena_array(r->arena, n, size);
  if (!at) (void)ig_fail(r->c, IG_NOMEM, "out of memory");
  return at;
}

// ---- ranks

static void rank_down(ig_rows *r) {
  for (size_t i = 0; i < r->nnets; i++) {
    const ig_rows_net *net = &r->nets[i];
    for (size_t k = 0; k < net->nto; k++) {
      uint32_t least = r->rank[net->from] + 1;
      if (net->to[k] > net->from && r->rank[net->to[k]] < least) r->rank[net->to[k]] = least;
    }
  }
}

// What reads nothing is right above its first reader.
static bool pull_sources(ig_rows *r) {
  uint8_t *reads = array(r, r->n, 1);
  if (!reads) return false;
  for (size_t i = 0; i < r->nnets; i++) {
    for (size_t k = 0; k < r->nets[i].nto; k++) reads[r->nets[i].to[k]] = 1;
  }
  for (size_t i = r->nnets; i-- > 0;) {
    const ig_rows_net *net = &r->nets[i];
    uint32_t least = UINT32_MAX;
    for (size_t k = 0; k < net->nto; k++) {
      uint32_t rank = r->rank[net->to[k]];
      if (net->to[k] > net->from && rank < least) least = rank;
    }
    if (reads[net->from] || r->ports[net->from] || least == UINT32_MAX) continue;
    if (least > r->rank[net->from] + 1) r->rank[net->from] = least - 1;
  }
  return true;
}

static void set_ranks(ig_rows *r, uint32_t *nrows) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < r->n; i++) r->rank[i] = r->ports[i] == IG_ROWS_FIRST ? 0 : 1;
  rank_down(r);
  if (!pull_sources(r)) return;
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->ports[i] != IG_ROWS_LAST && r->rank[i] > last) last = r->rank[i];
  }
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->ports[i] == IG_ROWS_LAST) r->rank[i] = last + 1;
  }
  *nrows = last + 2;
}

// ---- points

static uint32_t span_of(const ig_rows *r, const ig_rows_net *net) {
  uint32_t last = r->rank[net->from];
  for (size_t k = 0; k < net->nto; k++) {
    if (r->rank[net->to[k]] > last) last = r->rank[net->to[k]];
  }
  uint32_t rows = last - r->rank[net->from];
  return rows ? rows - 1 : 0;
}

// The longest nets that get points, so that there are not too many of them.
static uint32_t longest_span(const ig_rows *r, const uint32_t *spans, uint32_t nrows,
                             size_t *sums) {
  size_t budget = (size_t)r->n * POINTS_PER_VERTEX + POINTS_MIN;
  for (size_t i = 0; i < r->nnets; i++) sums[spans[i]] += spans[i];
  size_t total = 0;
  uint32_t span = 0;
  for (; span < nrows; span++) {
    total += sums[span];
    if (total > budget) break;
  }
  return span ? span - 1 : 0;
}

static bool add_points(plan *p) {
  ig_rows *r = p->r;
  uint32_t *spans = array(r, r->nnets, sizeof *spans);
  size_t *sums = array(r, (size_t)p->nrows + 1, sizeof *sums);
  if (!spans || !sums) return false;
  for (size_t i = 0; i < r->nnets; i++) spans[i] = span_of(r, &r->nets[i]);
  uint32_t longest = longest_span(r, spans, p->nrows, sums);
  p->total = r->n;
  for (size_t i = 0; i < r->nnets; i++) {
    r->nets[i].nvia = spans[i] <= longest ? spans[i] : 0;
    p->total += (uint32_t)r->nets[i].nvia;  // within the budget
  }
  p->rank = array(r, p->total, sizeof *p->rank);
  p->pos = array(r, p->total, sizeof *p->pos);
  if (!p->rank || !p->pos) return false;
  if (r->n) memcpy(p->rank, r->rank, r->n * sizeof *p->rank);
  uint32_t next = r->n;
  for (size_t i = 0; i < r->nnets; i++) {
    ig_rows_net *net = &r->nets[i];
    if (net->nvia) net->via = array(r, net->nvia, sizeof *net->via);
    if (net->nvia && !net->via) return false;
    for (size_t k = 0; k < net->nvia; k++, next++) {
      net->via[k] = next;
      p->rank[next] = r->rank[net->from] + 1 + (uint32_t)k;
    }
  }
  return true;
}

// ---- edges between neighbouring rows

typedef void edge_fn(plan *p, uint32_t a, uint32_t b);

static void each_edge(plan *p, edge_fn *fn) {
  const ig_rows *r = p->r;
  for (size_t i = 0; i < r->nnets; i++) {
    const ig_rows_net *net = &r->nets[i];
    uint32_t base = r->rank[net->from];
    uint32_t at = net->from;
    for (size_t k = 0; k < net->nvia; k++) {
      fn(p, at, net->via[k]);
      at = net->via[k];
    }
    for (size_t k = 0; k < net->nto; k++) {
      uint32_t rank = r->rank[net->to[k]];
      if (rank <= base || rank - base - 1 > net->nvia) continue;
      fn(p, rank == base + 1 ? net->from : net->via[rank - base - 2], net->to[k]);
    }
  }
}

static void count_edge(plan *p, uint32_t a, uint32_t b) {
  p->start[0][b + 1]++;
  p->start[1][a + 1]++;
  p->nedges++;
}

static void put_edge(plan *p, uint32_t a, uint32_t b) {
  p->list[0][p->start[0][b]++] = a;
  p->list[1][p->start[1][a]++] = b;
}

static bool index_edges(plan *p) {
  for (int side = 0; side < 2; side++) {
    p->start[side] = array(p->r, (size_t)p->total + 2, sizeof *p->start[side]);
    if (!p->start[side]) return false;
  }
  each_edge(p, count_edge);
  for (int side = 0; side < 2; side++) {
    p->list[side] = array(p->r, p->nedges, sizeof *p->list[side]);
    if (!p->list[side]) return false;
    for (uint32_t i = 0; i < p->total; i++) p->start[side][i + 1] += p->start[side][i];
  }
  each_edge(p, put_edge);
  for (int side = 0; side < 2; side++) {  // filling moved each start to its end
    memmove(p->start[side] + 1, p->start[side], (size_t)p->total * sizeof **p->start);
    p->start[side][0] = 0;
  }
  return true;
}

// ---- order

static bool fill_rows(plan *p) {
  ig_rows *r = p->r;
  p->rows = array(r, p->nrows, sizeof *p->rows);
  uint32_t *all = array(r, p->total, sizeof *all);
  p->keys = array(r, p->total, sizeof *p->keys);
  p->room = array(r, p->total, sizeof *p->room);
  if (!p->rows || !all || !p->keys || !p->room) return false;
  for (uint32_t i = 0; i < p->total; i++) p->rows[p->rank[i]].n++;
  for (uint32_t k = 0; k < p->nrows; k++) {
    p->rows[k].at = all;
    all += p->rows[k].n;
    p->rows[k].n = 0;
  }
  for (uint32_t i = 0; i < p->total; i++) {
    row *to = &p->rows[p->rank[i]];
    p->pos[i] = to->n;
    to->at[to->n++] = i;
  }
  return true;
}

// Stable: vertices with equal keys keep their order.
static void sort_row(const plan *p, row *to) {
  uint32_t *at = to->at;
  for (uint32_t width = 1; width < to->n; width *= 2) {
    for (uint32_t i = 0; i < to->n; i += 2 * width) {
      uint32_t mid = i + width < to->n ? i + width : to->n;
      uint32_t end = i + 2 * width < to->n ? i + 2 * width : to->n;
      uint32_t l = i;
      uint32_t m = mid;
      for (uint32_t k = i; k < end; k++) {
        bool left = l < mid && (m >= end || p->keys[at[l]] <= p->keys[at[m]]);
        p->room[k] = left ? at[l++] : at[m++];
      }
    }
    memcpy(at, p->room, to->n * sizeof *at);
  }
}

static void order_row(const plan *p, uint32_t k, int side) {
  row *to = &p->rows[k];
  for (uint32_t i = 0; i < to->n; i++) {
    uint32_t id = to->at[i];
    uint32_t from = p->start[side][id];
    uint32_t end = p->start[side][id + 1];
    double sum = 0;
    for (uint32_t e = from; e < end; e++) {
      uint32_t near = p->list[side][e];
      sum += ((double)p->pos[near] + 0.5) / (double)p->rows[p->rank[near]].n;
    }
    p->keys[id] = end > from ? sum / (double)(end - from) : ((double)i + 0.5) / (double)to->n;
  }
  sort_row(p, to);
  for (uint32_t i = 0; i < to->n; i++) p->pos[to->at[i]] = i;
}

static bool order_rows(plan *p) {
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    bool down = sweep % 2 == 0;
    for (uint32_t i = 0; i < p->nrows; i++) {
      order_row(p, down ? i : p->nrows - 1 - i, down ? 0 : 1);
      if (!ig_step(p->r->c)) return false;
    }
  }
  return true;
}

bool ig_rows_make(ig_rows *r) {
  plan p = {.r = r, .nrows = 2};
  r->rank = array(r, r->n, sizeof *r->rank);
  r->pos = array(r, r->n, sizeof *r->pos);
  if (!r->rank || !r->pos) return false;
  set_ranks(r, &p.nrows);
  if (r->c->status != IG_OK || !add_points(&p) || !index_edges(&p) || !fill_rows(&p) ||
      !order_rows(&p)) {
    return false;
  }
  if (r->n) memcpy(r->pos, p.pos, r->n * sizeof *r->pos);
  for (size_t i = 0; i < r->nnets; i++) {
    for (size_t k = 0; k < r->nets[i].nvia; k++) r->nets[i].via[k] = p.pos[r->nets[i].via[k]];
  }
  return true;
}
