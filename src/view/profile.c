// SPDX-License-Identifier: Apache-2.0
// Costs of a run: what `ingot bench --profile --json` has measured, by the names of nodes. The time
// of a step that computes several nodes is that of the first of them.
#include "codec/json.h"
#include "view/view.h"

typedef struct costs {
  ig_view *v;
  ig_map items;  // name -> its item, plus one
} costs;

static bool put_name(costs *k, const char *name, uint32_t item) {
  ig_map_value *at = name[0] ? ig_map_put(&k->items, name) : NULL;
  if (at && !at->num) at->num = (size_t)item + 1;
  return at || !name[0] || ig_fail(k->v->c, IG_NOMEM, "out of memory") == IG_OK;
}

static bool index_items(costs *k) {
  for (uint32_t i = 1; i < k->v->items.n; i++) {
    const ig_view_item *it = &k->v->items.at[i];
    if (it->kind != IG_VIEW_NODE) continue;
    if (!put_name(k, it->name, i)) return false;
    for (size_t o = 0; o < it->nouts; o++) {
      if (!put_name(k, k->v->outs.at[it->out + o].name, i)) return false;
    }
  }
  return true;
}

static double number_of(const ig_json *at, const char *key) {
  const ig_json *x = ig_json_find(at, key);
  if (x && x->kind == IG_JSON_INT) return (double)x->i;
  return x && x->kind == IG_JSON_FLOAT ? x->f : -1;
}

static void take(const costs *k, const ig_json *entry, bool time) {
  const ig_json *name = ig_json_find(entry, "name");
  if (!name || name->kind != IG_JSON_STRING) return;
  const ig_map_value *at = ig_map_find(&k->items, name->text);
  ig_view_item *it = at ? &k->v->items.at[at->num - 1] : NULL;
  double micros = number_of(entry, "us");
  double bytes = number_of(entry, "bytes");
  if (it && time && micros >= 0) it->micros = (it->micros < 0 ? 0 : it->micros) + micros;
  if (it && bytes >= 0) it->bytes = (it->bytes < 0 ? 0 : it->bytes) + bytes;
}

static bool take_list(const costs *k, const ig_json *doc, const char *key, bool time) {
  const ig_json *list = ig_json_find(doc, key);
  if (!list || list->kind != IG_JSON_ARRAY) return false;
  for (size_t i = 0; i < list->n; i++) {
    if (list->items[i].kind == IG_JSON_OBJECT) take(k, &list->items[i], time);
  }
  return list->n > 0;
}

bool ig_view_cost(ig_view *v, const char *text, size_t n) {
  const ig_json *doc = NULL;
  costs k = {.v = v, .items = ig_map_make(v->c->alloc)};
  ig_bytes bytes = {.at = (const uint8_t *)text, .n = n};
  bool ok =
      ig_json_parse(v->c, "profile", bytes, &v->arena, NULL, &doc) == IG_OK && index_items(&k);
  if (ok && doc->kind == IG_JSON_OBJECT) {
    bool steps = take_list(&k, doc, "steps", true);
    v->costs = take_list(&k, doc, "values", !steps) || steps;
  }
  if (ok && !v->costs) {
    (void)ig_fail(v->c, IG_SYNTAX,
                  "the profile has neither steps nor values; ingot bench --profile --json writes "
                  "them");
  }
  ig_map_free(&k.items);
  return ok && v->c->status == IG_OK;
}
