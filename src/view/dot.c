// SPDX-License-Identifier: Apache-2.0
// A view for Graphviz: boxes are clusters.
#include <stdio.h>
#include <string.h>

#include "ingot/text.h"
#include "view/view.h"

static void put_quoted(ig_str *s, const char *text) {
  char part[400];
  char safe[1600];
  ig_view_short(text, IG_VIEW_TITLE, part, sizeof part);
  (void)ig_text_escape(part, strlen(part), false, safe, sizeof safe);
  ig_str_add(s, "\"");
  for (const char *at = safe; *at; at++) ig_str_add(s, strchr("\"\\", *at) ? "\\%c" : "%c", *at);
  ig_str_add(s, "\"");
}

static bool is_open(const ig_view *v, uint32_t i, const uint8_t *holds, int depth) {
  return holds[i] && (depth <= 0 || v->items.at[i].depth < (uint32_t)depth);
}

static void put_node(ig_str *s, const ig_view *v, uint32_t i, bool box) {
  const ig_view_item *it = &v->items.at[i];
  const char *type = it->nouts ? v->outs.at[it->out].type : "";
  ig_str_add(s, "n%u [label=", i);
  put_quoted(s, ig_view_label(it));
  if (type[0]) {
    ig_str_add(s, ", xlabel=");
    put_quoted(s, type);
  }
  if (box) ig_str_add(s, ", shape=box3d");
  if (it->kind == IG_VIEW_INPUT || it->kind == IG_VIEW_OUTPUT) ig_str_add(s, ", shape=oval");
  ig_str_add(s, "];\n");
}

// Items in order: what is in a box is not always next to it, so clusters are opened as often as
// needed; Graphviz joins those of one name.
static void put_items(ig_str *s, const ig_view *v, const uint8_t *holds, int depth) {
  for (uint32_t i = 1; i < v->items.n; i++) {
    if (ig_view_seen(v, i, depth) != i || is_open(v, i, holds, depth)) continue;
    uint32_t path[IG_VIEW_MAX_DEPTH + 1];
    uint32_t n = 0;
    for (uint32_t at = v->items.at[i].parent; at; at = v->items.at[at].parent) path[n++] = at;
    for (uint32_t k = n; k-- > 0;) {
      ig_str_add(s, "subgraph cluster_%u { label=", path[k]);
      put_quoted(s, ig_view_label(&v->items.at[path[k]]));
      ig_str_add(s, "; ");
    }
    put_node(s, v, i, holds[i]);
    for (uint32_t k = 0; k < n; k++) ig_str_add(s, "} ");
    if (n) ig_str_add(s, "\n");
  }
}

// The node that stands for an item: of an open box that is a node itself, the last item in it.
static uint32_t anchor(const ig_view *v, const uint8_t *holds, const uint32_t *last, uint32_t i,
                       int depth) {
  i = ig_view_seen(v, i, depth);
  while (is_open(v, i, holds, depth)) i = last[i];
  return i;
}

// An edge that was not there before: boxes have one for all that is in them.
static bool is_new(ig_map *seen, ig_arena *arena, uint32_t from, uint32_t to) {
  char key[32];
  const char *kept = NULL;
  (void)snprintf(key, sizeof key, "%u %u", (unsigned)from, (unsigned)to);
  return ig_map_keep(seen, arena, key, &kept) && kept;
}

static void put_edges(ig_str *s, ig_view *v, const uint8_t *holds, const uint32_t *last,
                      int depth) {
  ig_map seen = ig_map_make(v->c->alloc);
  for (uint32_t i = 1; i < v->items.n; i++) {
    const ig_view_item *it = &v->items.at[i];
    uint32_t to = anchor(v, holds, last, i, depth);
    for (size_t k = 0; k < it->nargs; k++) {
      const ig_view_arg *a = &v->args.at[it->arg + k];
      if (a->kind != IG_VIEW_VALUE) continue;
      uint32_t from = anchor(v, holds, last, a->item, depth);
      if (from != to && is_new(&seen, &v->arena, from, to)) {
        ig_str_add(s, "n%u -> n%u;\n", from, to);
      }
    }
  }
  ig_map_free(&seen);
}

void ig_view_dot(ig_view *v, ig_str *s, int depth) {
  ig_alloc a = v->c->alloc;
  uint8_t *holds = ig_mem_array(a, v->items.n, 1);
  uint32_t *last = ig_mem_array(a, v->items.n, sizeof *last);
  s->failed = s->failed || !holds || !last;
  if (holds && last) {
    for (uint32_t i = 1; i < v->items.n; i++) {
      holds[v->items.at[i].parent] = 1;
      last[v->items.at[i].parent] = i;
    }
    ig_str_add(s, "digraph model {\nnode [shape=box, style=rounded];\n");
    put_items(s, v, holds, depth);
    put_edges(s, v, holds, last, depth);
    ig_str_add(s, "}\n");
  }
  ig_mem_array_free(a, holds, v->items.n, 1);
  ig_mem_array_free(a, last, v->items.n, sizeof *last);
}
