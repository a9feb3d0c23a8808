// SPDX-License-Identifier: Apache-2.0
// A drawing of a view. Boxes are placed from the inside out, as the page does it: rows below each
// other, and in a row every entry as near to its neighbours as order and distances allow (least
// squares; adjacent entries that would overlap are pooled).
#include <float.h>
#include <string.h>

#include "ingot/text.h"
#include "view/view.h"

static const double GAP = 36, SPACE = 22, PAD = 14, HEAD = 24, CHAR = 7.25, SMALL = 6.35;
enum { SWEEPS = 5 };

typedef struct entry {
  uint32_t item;  // IG_VIEW_NONE: a port or point
  double w;
  double h;
  double x;  // of its middle, in its box
} entry;

typedef struct wire {
  uint32_t a;  // entries, a in the row above b
  uint32_t b;
} wire;

// A placed box.
typedef struct area {
  entry *at;
  uint32_t *row;  // entries of row r: row[r] up to row[r + 1]
  uint32_t nrows;
  double *y;  // of rows
  double *h;
  wire *wires;
  size_t nwires;
  double w;
  double height;
} area;

typedef struct drawing {
  ig_view *v;
  ig_str *s;
  int depth;
  size_t *start;  // items in box i: items[start[i]] up to items[start[i + 1]]
  uint32_t *items;
  area **areas;  // by item; NULL: drawn closed
  bool failed;
} drawing;

static void *array(drawing *d, size_t n, size_t size) {
  void *at = ig_arena_array(&d->v->arena, n, size);
  d->failed = d->failed || !at;
  return at;
}

static size_t length_of(const char *text) {
  char part[400];
  ig_view_short(text, IG_VIEW_TITLE, part, sizeof part);
  size_t n = 0;
  for (const char *at = part; *at; at++) n += ((unsigned char)*at & 0xc0) != 0x80;
  return n;
}

static const char *type_of(const drawing *d, const ig_view_item *it) {
  return it->nouts ? d->v->outs.at[it->out].type : "";
}

static entry item_entry(const drawing *d, uint32_t i) {
  const ig_view_item *it = &d->v->items.at[i];
  const area *inner = d->areas[i];
  if (inner) return (entry){i, inner->w, inner->height, 0};
  const char *type = type_of(d, it);
  double w = (double)length_of(ig_view_label(it)) * CHAR + 20;
  double small = (double)length_of(type) * SMALL + 20;
  w = w > small ? w : small;
  return (entry){i, w > 56 ? w : 56, type[0] ? 40 : 26, 0};
}

// ---- entries and wires of a box

static uint32_t row_of(const ig_view *v, const ig_view_net *net) {
  return net->from == IG_VIEW_NONE ? 0 : v->items.at[net->from].rank;
}

static bool count_rows(drawing *d, uint32_t b, area *r) {
  const ig_view *v = d->v;
  const ig_view_item *it = &v->items.at[b];
  uint32_t last = 0;
  for (size_t i = d->start[b]; i < d->start[b + 1]; i++) {
    if (v->items.at[d->items[i]].rank > last) last = v->items.at[d->items[i]].rank;
  }
  r->nrows = last + 2;
  r->row = array(d, (size_t)r->nrows + 2, sizeof *r->row);
  r->y = array(d, r->nrows, sizeof *r->y);
  r->h = array(d, r->nrows, sizeof *r->h);
  if (d->failed) return false;
  for (size_t i = d->start[b]; i < d->start[b + 1]; i++)
    r->row[v->items.at[d->items[i]].rank + 1]++;
  size_t most = 0;
  for (size_t i = 0; i < it->nnets; i++) {
    const ig_view_net *net = &v->nets.at[it->net + i];
    r->row[1] += net->from == IG_VIEW_NONE;
    r->row[r->nrows] += net->leaves;
    for (size_t k = 0; k < net->nvia; k++) r->row[row_of(v, net) + 2 + k]++;
    most += net->nvia + net->nto + net->leaves;
  }
  for (uint32_t i = 0; i < r->nrows; i++) r->row[i + 1] += r->row[i];
  r->at = array(d, r->row[r->nrows], sizeof *r->at);
  r->wires = array(d, most, sizeof *r->wires);
  for (uint32_t i = 0; !d->failed && i < r->row[r->nrows]; i++) {
    r->at[i] = (entry){IG_VIEW_NONE, 4, 0, 0};
  }
  return !d->failed;
}

static void add_net(const drawing *d, area *r, const ig_view_net *net) {
  const ig_view *v = d->v;
  uint32_t base = row_of(v, net);
  uint32_t from = net->from == IG_VIEW_NONE ? r->row[0] + net->from_pos
                                            : r->row[base] + v->items.at[net->from].pos;
  uint32_t at = from;
  for (size_t k = 0; k < net->nvia; k++) {
    uint32_t next = r->row[base + 1 + k] + v->vias.at[net->via + k];
    r->wires[r->nwires++] = (wire){at, next};
    at = next;
  }
  for (size_t k = 0; k < net->nto + net->leaves; k++) {
    bool port = k == net->nto;
    const ig_view_item *to = port ? NULL : &v->items.at[v->ends.at[net->to + k]];
    uint32_t rank = port ? r->nrows - 1 : to->rank;
    if (rank <= base || rank - base - 1 > net->nvia) continue;
    uint32_t end = r->row[rank] + (port ? net->exit_pos : to->pos);
    uint32_t before =
        rank == base + 1 ? from : r->row[rank - 1] + v->vias.at[net->via + rank - base - 2];
    r->wires[r->nwires++] = (wire){before, end};
  }
}

// ---- placing

typedef struct pool {
  uint32_t first;
  double sum;
  double n;
} pool;

static void settle(entry *at, uint32_t n, const double *want, pool *pools, double *offs) {
  uint32_t k = 0;
  double off = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (i) off += (at[i - 1].w + at[i].w) / 2 + SPACE;
    offs[i] = off;
    pools[k++] = (pool){i, want[i] - off, 1};
    while (k > 1 && pools[k - 1].sum * pools[k - 2].n < pools[k - 2].sum * pools[k - 1].n) {
      pools[k - 2].sum += pools[k - 1].sum;
      pools[k - 2].n += pools[k - 1].n;
      k--;
    }
  }
  for (uint32_t p = 0; p < k; p++) {
    uint32_t end = p + 1 < k ? pools[p + 1].first : n;
    for (uint32_t i = pools[p].first; i < end; i++) at[i].x = pools[p].sum / pools[p].n + offs[i];
  }
}

static bool set_x(drawing *d, area *r) {
  uint32_t n = r->row[r->nrows];
  double *sum = array(d, n, sizeof *sum);
  double *count = array(d, n, sizeof *count);
  double *offs = array(d, n, sizeof *offs);
  pool *pools = array(d, n, sizeof *pools);
  if (d->failed) return false;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    bool down = sweep % 2 == 0;
    memset(sum, 0, n * sizeof *sum);
    memset(count, 0, n * sizeof *count);
    // Wires are not sorted by row: all of them see the positions of the sweep before.
    for (size_t i = 0; i < r->nwires; i++) {
      uint32_t mine = down ? r->wires[i].b : r->wires[i].a;
      sum[mine] += r->at[down ? r->wires[i].a : r->wires[i].b].x;
      count[mine]++;
    }
    for (uint32_t i = 0; i < n; i++) sum[i] = count[i] > 0 ? sum[i] / count[i] : r->at[i].x;
    for (uint32_t k = 0; k < r->nrows; k++) {
      settle(r->at + r->row[k], r->row[k + 1] - r->row[k], sum + r->row[k], pools, offs);
    }
  }
  return true;
}

static void set_sizes(const drawing *d, uint32_t b, area *r) {
  double lo = DBL_MAX;
  double hi = -DBL_MAX;
  double y = b ? HEAD : 0;
  uint32_t n = r->row[r->nrows];
  for (uint32_t i = 0; i < n; i++) {
    if (r->at[i].x - r->at[i].w / 2 < lo) lo = r->at[i].x - r->at[i].w / 2;
    if (r->at[i].x + r->at[i].w / 2 > hi) hi = r->at[i].x + r->at[i].w / 2;
  }
  if (lo > hi) lo = hi = 0;
  double name = (double)length_of(ig_view_label(&d->v->items.at[b])) * CHAR + 30;
  r->w = hi - lo + 2 * PAD > name ? hi - lo + 2 * PAD : name;
  for (uint32_t i = 0; i < n; i++) r->at[i].x += (r->w - (hi - lo)) / 2 - lo;
  for (uint32_t k = 0; k < r->nrows; k++) {
    for (uint32_t i = r->row[k]; i < r->row[k + 1]; i++) {
      if (r->at[i].h > r->h[k]) r->h[k] = r->at[i].h;
    }
    r->y[k] = y;
    y += r->h[k] + (r->row[k + 1] > r->row[k] ? GAP : 0);
  }
  r->height = y;
}

static bool place(drawing *d, uint32_t b) {
  const ig_view_item *it = &d->v->items.at[b];
  area *r = array(d, 1, sizeof *r);
  if (!r || !count_rows(d, b, r)) return false;
  for (size_t i = d->start[b]; i < d->start[b + 1]; i++) {
    const ig_view_item *child = &d->v->items.at[d->items[i]];
    r->at[r->row[child->rank] + child->pos] = item_entry(d, d->items[i]);
  }
  for (size_t i = 0; i < it->nnets; i++) add_net(d, r, &d->v->nets.at[it->net + i]);
  if (!set_x(d, r)) return false;
  set_sizes(d, b, r);
  d->areas[b] = r;
  return true;
}

// ---- drawing

static void put_xml(ig_str *s, const char *text) {
  char part[400];
  char safe[1600];
  ig_view_short(text, IG_VIEW_TITLE, part, sizeof part);
  (void)ig_text_escape(part, strlen(part), false, safe, sizeof safe);
  for (const char *at = safe; *at; at++) {
    if (*at == '<' || *at == '>' || *at == '&' || *at == '"') {
      ig_str_add(s, "&#%d;", *at);
    } else {
      ig_str_add(s, "%c", *at);
    }
  }
}

static void put_label(ig_str *s, double x, double y, const char *class, const char *text) {
  ig_str_add(s, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
  put_xml(s, text);
  ig_str_add(s, "</text>\n");
}

static double top_of(const area *r, uint32_t row, const entry *e) {
  return r->y[row] + (r->h[row] - e->h) / 2;
}

static void put_wires(const drawing *d, const area *r, double ox, double oy) {
  uint32_t *rows = ig_mem_array(d->v->c->alloc, r->row[r->nrows], sizeof *rows);
  d->s->failed = d->s->failed || !rows;
  for (uint32_t k = 0; rows && k < r->nrows; k++) {
    for (uint32_t i = r->row[k]; i < r->row[k + 1]; i++) rows[i] = k;
  }
  for (size_t i = 0; rows && i < r->nwires; i++) {
    const entry *a = &r->at[r->wires[i].a];
    const entry *b = &r->at[r->wires[i].b];
    uint32_t ra = rows[r->wires[i].a];
    uint32_t rb = rows[r->wires[i].b];
    double y0 = oy + (a->item == IG_VIEW_NONE ? r->y[ra] : top_of(r, ra, a) + a->h);
    double y1 = oy + r->y[ra] + r->h[ra];
    double y2 = oy + r->y[rb];
    double y3 = oy + (b->item == IG_VIEW_NONE ? r->y[rb] : top_of(r, rb, b));
    double mid = (y1 + y2) / 2;
    double x0 = ox + a->x;
    double x1 = ox + b->x;
    ig_str_add(d->s, "<path d=\"M%.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f %.1fV%.1f\"%s/>\n", x0, y0,
               y1, x0, mid, x1, mid, x1, y2, y3, b->item == IG_VIEW_NONE ? "" : " class=\"to\"");
  }
  ig_mem_array_free(d->v->c->alloc, rows, r->row[r->nrows], sizeof *rows);
}

static void put_area(const drawing *d, uint32_t b, double ox, double oy);

static void put_entry(const drawing *d, const entry *e, double x, double y) {
  const ig_view_item *it = &d->v->items.at[e->item];
  static const char *const classes[] = {[IG_VIEW_NODE] = "node",
                                        [IG_VIEW_MODULE] = "module",
                                        [IG_VIEW_GRAPH] = "module",
                                        [IG_VIEW_INPUT] = "port",
                                        [IG_VIEW_OUTPUT] = "port"};
  bool is_open = d->areas[e->item] != NULL;
  ig_str_add(d->s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x,
             y, e->w, e->h, is_open ? "open" : classes[it->kind]);
  if (is_open) {
    put_label(d->s, x + 8, y + 16, "name", ig_view_label(it));
    put_area(d, e->item, x, y);
    return;
  }
  const char *type = type_of(d, it);
  put_label(d->s, x + e->w / 2, y + (type[0] ? 17 : 17), "op", ig_view_label(it));
  if (type[0]) put_label(d->s, x + e->w / 2, y + 32, "type", type);
}

static void put_area(const drawing *d, uint32_t b, double ox, double oy) {
  const area *r = d->areas[b];
  put_wires(d, r, ox, oy);
  for (uint32_t k = 0; k < r->nrows; k++) {
    for (uint32_t i = r->row[k]; i < r->row[k + 1]; i++) {
      const entry *e = &r->at[i];
      if (e->item != IG_VIEW_NONE) put_entry(d, e, ox + e->x - e->w / 2, oy + top_of(r, k, e));
    }
  }
}

static void put_drawing(drawing *d) {
  const area *r = d->areas[0];
  ig_str_add(
      d->s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\">\n<style>text{font:12px monospace;text-anchor:middle;fill:#1c2330}"
      ".name{text-anchor:start}.type{font-size:10.5px;fill:#667085}rect{fill:#fff;"
      "stroke:#98a2b3;rx:5}.open{fill:#14285a;fill-opacity:.04}.module{fill:#e8effc;stroke:"
      "#3b82f6}.port{rx:12;fill:#eef0f3}path{fill:none;stroke:#98a2b3}.to{marker-end:url(#a)}"
      "</style>\n<defs><marker id=\"a\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" "
      "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6\"/>"
      "</marker></defs>\n<rect width=\"100%%\" height=\"100%%\" stroke=\"none\"/>\n",
      r->w, r->height + 2 * PAD, r->w, r->height + 2 * PAD);
  put_area(d, 0, 0, PAD);
  ig_str_add(d->s, "</svg>\n");
}

static void list_items(drawing *d) {
  const ig_view *v = d->v;
  size_t n = v->items.n;
  for (size_t i = 1; i < n; i++) d->start[v->items.at[i].parent + 1]++;
  for (size_t i = 0; i < n; i++) d->start[i + 1] += d->start[i];
  for (size_t i = 1; i < n; i++) d->items[d->start[v->items.at[i].parent]++] = (uint32_t)i;
  memmove(d->start + 1, d->start, n * sizeof *d->start);
  d->start[0] = 0;
}

void ig_view_svg(ig_view *v, ig_str *s, int depth) {
  drawing d = {.v = v, .s = s, .depth = depth};
  size_t n = v->items.n;
  d.start = array(&d, n + 2, sizeof *d.start);
  d.items = array(&d, n, sizeof *d.items);
  d.areas = array(&d, n, sizeof *d.areas);
  if (!d.failed) list_items(&d);
  // What is in a box comes behind it: from the last one on, the inner ones come first.
  for (size_t i = n; !d.failed && i-- > 0;) {
    bool closed = depth > 0 && v->items.at[i].depth >= (uint32_t)depth;
    bool empty = d.start[i] == d.start[i + 1] && i > 0;
    if (!closed && !empty) (void)place(&d, (uint32_t)i);
  }
  if (!d.failed) put_drawing(&d);
  s->failed = s->failed || d.failed;
}
