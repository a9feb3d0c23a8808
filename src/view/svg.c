// SPDX-License-Identifier: Apache-2.0
// A drawing of a view. Boxes are placed from the inside out, as the page does it: rows below each
// other, and in a row every entry as near to its neighbours as order and distances allow (least
// squares; adjacent entries that would overlap are pooled).
#include <float.h>
#include <string.h>

#include "ingot/text.h"
#include "view/view.h"

enum { GAP = 36, SPACE = 22, PAD = 14, HEAD = 24, SWEEPS = 5 };
static const double wide_char = 7.25;
static const double small_char = 6.35;

typedef struct entry {
  uint32_t item;  // IG_VIEW_NONE: a port or point
  double w;
  double h;
  double x;  // of its middle, in its box
} entry;

typedef struct wire {
  uint32_t a;  // entries, a in the row above b
  uint32_t b;
  uint32_t row;     // of a
  uint32_t source;  // of its net
} wire;

// A placed box.
typedef struct area {
  entry *at;
  uint32_t *row;  // entries of row r: row[r] up to row[r + 1]
  uint32_t nrows;
  double *y;  // of rows
  double *h;
  wire *wires;  // sorted by row: those from row r are gap[r] up to gap[r + 1]
  size_t nwires;
  size_t *gap;
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
  double w = (double)length_of(ig_view_label(it)) * wide_char + 20;
  double small = (double)length_of(type) * small_char + 20;
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
    r->wires[r->nwires++] = (wire){at, next, base + (uint32_t)k, net->source};
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
    r->wires[r->nwires++] = (wire){before, end, rank - 1, net->source};
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

static bool sort_wires(drawing *d, area *r) {
  wire *sorted = array(d, r->nwires, sizeof *sorted);
  r->gap = array(d, (size_t)r->nrows + 2, sizeof *r->gap);
  if (d->failed) return false;
  for (size_t i = 0; i < r->nwires; i++) r->gap[r->wires[i].row + 1]++;
  for (uint32_t k = 0; k < r->nrows; k++) r->gap[k + 1] += r->gap[k];
  for (size_t i = 0; i < r->nwires; i++) sorted[r->gap[r->wires[i].row]++] = r->wires[i];
  memmove(r->gap + 1, r->gap, (size_t)r->nrows * sizeof *r->gap);
  r->gap[0] = 0;
  r->wires = sorted;
  return true;
}

// Where the net of a source meets an entry: an open box has a port for it.
static double meet(const drawing *d, const entry *e, uint32_t source, bool below) {
  const area *inner = e->item == IG_VIEW_NONE ? NULL : d->areas[e->item];
  if (!inner) return e->x;
  const ig_view_item *it = &d->v->items.at[e->item];
  size_t lo = 0;
  size_t hi = it->nnets;  // sorted by source
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (d->v->nets.at[it->net + mid].source < source) lo = mid + 1;
    if (d->v->nets.at[it->net + mid].source >= source) hi = mid;
  }
  const ig_view_net *net = lo < it->nnets ? &d->v->nets.at[it->net + lo] : NULL;
  bool has = net && net->source == source && (below ? net->leaves : net->from == IG_VIEW_NONE);
  if (!has) return e->x;
  uint32_t port = below ? inner->row[inner->nrows - 1] + net->exit_pos : net->from_pos;
  return e->x - e->w / 2 + inner->at[port].x;
}

typedef struct sums {
  double *sum;
  double *count;
  double *offs;
  pool *pools;
} sums;

// Moves the entries of a row towards their neighbours in the row above (or below).
static void pull(const drawing *d, area *r, const sums *k, uint32_t row, bool down) {
  uint32_t first = r->row[row];
  uint32_t n = r->row[row + 1] - first;
  uint32_t gap = down ? row - 1 : row;
  for (uint32_t i = first; i < first + n; i++) k->sum[i] = k->count[i] = 0;
  for (size_t i = r->gap[gap]; i < r->gap[gap + 1]; i++) {
    const wire *w = &r->wires[i];
    uint32_t mine = down ? w->b : w->a;
    const entry *other = &r->at[down ? w->a : w->b];
    double aside = meet(d, &r->at[mine], w->source, !down) - r->at[mine].x;
    k->sum[mine] += meet(d, other, w->source, down) - aside;
    k->count[mine]++;
  }
  for (uint32_t i = first; i < first + n; i++) {
    k->sum[i] = k->count[i] > 0 ? k->sum[i] / k->count[i] : r->at[i].x;
  }
  settle(r->at + first, n, k->sum + first, k->pools, k->offs);
}

static bool set_x(drawing *d, area *r) {
  uint32_t n = r->row[r->nrows];
  sums k = {array(d, n, sizeof(double)), array(d, n, sizeof(double)), array(d, n, sizeof(double)),
            array(d, n, sizeof(pool))};
  if (d->failed || !sort_wires(d, r)) return false;
  for (uint32_t row = 0; row < r->nrows; row++) {  // side by side around the middle
    settle(r->at + r->row[row], r->row[row + 1] - r->row[row], k.sum + r->row[row], k.pools,
           k.offs);
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    bool down = sweep % 2 == 0;
    for (uint32_t i = 1; i < r->nrows; i++) pull(d, r, &k, down ? i : r->nrows - 1 - i, down);
  }
  return true;
}

static void set_sizes(const drawing *d, uint32_t b, area *r) {
  double lo = DBL_MAX;
  double hi = -DBL_MAX;
  double y = 0;
  uint32_t n = r->row[r->nrows];
  for (uint32_t i = 0; i < n; i++) {
    if (r->at[i].x - r->at[i].w / 2 < lo) lo = r->at[i].x - r->at[i].w / 2;
    if (r->at[i].x + r->at[i].w / 2 > hi) hi = r->at[i].x + r->at[i].w / 2;
  }
  if (lo > hi) lo = hi = 0;
  double name = (double)length_of(ig_view_label(&d->v->items.at[b])) * wide_char + 30;
  r->w = hi - lo + 2 * PAD > name ? hi - lo + 2 * PAD : name;
  for (uint32_t i = 0; i < n; i++) r->at[i].x += (r->w - (hi - lo)) / 2 - lo;
  // Ports lie on the borders: the first row at the top, the last one at the bottom.
  for (uint32_t k = 0; k < r->nrows; k++) {
    bool last = k + 1 == r->nrows;
    for (uint32_t i = r->row[k]; i < r->row[k + 1]; i++) {
      if (r->at[i].h > r->h[k]) r->h[k] = r->at[i].h;
    }
    r->y[k] = k ? y : 0;
    if (k && r->row[k + 1] > r->row[k]) r->height = y + r->h[k] + (last ? 0 : PAD);
    double below = r->row[k + 1] == r->row[k] ? 0 : k + 2 == r->nrows ? PAD + 8 : GAP;
    y = k ? y + r->h[k] + below : b ? HEAD + 14 : 0;
  }
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
  for (size_t i = 0; i < r->nwires; i++) {
    const entry *a = &r->at[r->wires[i].a];
    const entry *b = &r->at[r->wires[i].b];
    uint32_t ra = r->wires[i].row;
    uint32_t rb = ra + 1;
    double y0 = oy + (a->item == IG_VIEW_NONE ? r->y[ra] : top_of(r, ra, a) + a->h);
    double y1 = oy + r->y[ra] + r->h[ra];
    double y2 = oy + r->y[rb];
    double y3 = oy + (b->item == IG_VIEW_NONE ? r->y[rb] : top_of(r, rb, b));
    double mid = (y1 + y2) / 2;
    double x0 = ox + meet(d, a, r->wires[i].source, true);
    double x1 = ox + meet(d, b, r->wires[i].source, false);
    ig_str_add(d->s, "<path d=\"M%.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0, y1, x0, mid,
               x1, mid, x1, y2);
    if (y3 > y2) ig_str_add(d->s, "V%.1f", y3);
    bool ends = b->item != IG_VIEW_NONE && !d->areas[b->item];
    ig_str_add(d->s, ends ? "\" class=\"to\"/>\n" : "\"/>\n");
  }
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
  put_label(d->s, x + e->w / 2, y + 17, "op", ig_view_label(it));
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
