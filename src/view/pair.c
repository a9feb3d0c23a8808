// SPDX-License-Identifier: Apache-2.0
// Two models beside each other: which items correspond, and how they differ.
#include <string.h>

#include "ir/table.h"
#include "model/diff.h"
#include "view/view.h"

typedef struct pairs {
  ig_view *v;
  ig_table items;  // node of a model -> its item
} pairs;

static uint32_t item_of(const pairs *p, const void *node) {
  const ig_table_slot *at = node ? ig_table_find(&p->items, node) : NULL;
  return at ? (uint32_t)at->number : IG_VIEW_NONE;
}

static void on_pair(void *user, const void *a, const void *b, bool same) {
  const pairs *p = user;
  uint32_t x = item_of(p, a);
  uint32_t y = item_of(p, b);
  ig_view_item *items = p->v->items.at;
  bool both = x != IG_VIEW_NONE && y != IG_VIEW_NONE;
  if (both) {
    items[x].partner = y;
    items[y].partner = x;
    items[x].mark = items[y].mark = same ? IG_VIEW_SAME : IG_VIEW_CHANGED;
  } else if (x != IG_VIEW_NONE && !b) {
    items[x].mark = IG_VIEW_REMOVED;
  } else if (y != IG_VIEW_NONE && !a) {
    items[y].mark = IG_VIEW_ADDED;
  }
}

static bool index_items(pairs *p) {
  for (size_t i = 0; i < p->v->items.n; i++) {
    const void *node = p->v->items.at[i].from;
    ig_table_slot *at = node ? ig_table_put(&p->items, node) : NULL;
    if (node && !at) return ig_fail(p->v->c, IG_NOMEM, "out of memory") == IG_OK;
    if (at && !at->number) at->number = (int64_t)i;  // a function is several items
  }
  return true;
}

// Boxes and inputs correspond by their names, in corresponding boxes. What is in a box comes after
// it, so one pass is enough.
static bool pair_named(ig_view *v) {
  ig_map names = ig_map_make(v->c->alloc);
  bool ok = true;
  for (uint32_t i = 0; ok && i < v->items.n; i++) {
    ig_view_item *it = &v->items.at[i];
    if (it->from || i == 0 || it->parent == 0) continue;
    bool second = i > v->beside;
    uint32_t up = v->items.at[it->parent].partner;
    if (up == IG_VIEW_NONE) continue;
    const char *key =
        ig_view_text(v, "%u %d %s", (unsigned)(second ? up : it->parent), (int)it->kind, it->name);
    ig_map_value *at = key ? ig_map_put(&names, key) : NULL;
    ok = at != NULL;
    if (at && !second) at->num = i;
    if (!at || !second || !at->num) continue;
    it->partner = (uint32_t)at->num;
    v->items.at[at->num].partner = i;
  }
  ig_map_free(&names);
  return ok || v->c->status != IG_OK || ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
}

static bool has_name(const ig_view *v, const ig_view_item *it, const char *name) {
  if (strcmp(it->name, name) == 0) return true;
  for (size_t i = 0; i < it->nouts; i++) {
    if (strcmp(v->outs.at[it->out + i].name, name) == 0) return true;
  }
  return false;
}

static void mark_first(ig_view *v, const char *name, bool second) {
  for (uint32_t i = 1; name && i < v->items.n; i++) {
    ig_view_item *it = &v->items.at[i];
    if ((i >= v->beside) != second || it->kind != IG_VIEW_NODE || !has_name(v, it, name)) continue;
    it->mark = IG_VIEW_DIVERGES;
    v->first[second] = i;
    return;
  }
}

bool ig_view_pair(ig_view *v, const ig_model *a, const ig_model *b) {
  pairs p = {.v = v, .items = ig_table_make(v->c->alloc)};
  v->items.at[1].partner = v->beside;  // the two boxes
  v->items.at[v->beside].partner = 1;
  bool ok = index_items(&p);
  if (ok && !ig_model_pairs(v->c, a, b, on_pair, &p) && v->c->status == IG_OK) {
    ok = ig_fail(v->c, IG_UNSUPPORTED,
                 "%s has no program to compare; TorchScript code must be captured first",
                 ig_model_name(ig_model_program(a) ? b : a)) == IG_OK;
  }
  ig_table_free(&p.items);
  ok = ok && v->c->status == IG_OK && pair_named(v);
  if (ok) mark_first(v, v->options->first_a, false);
  if (ok) mark_first(v, v->options->first_b, true);
  return ok;
}
