// SPDX-License-Identifier: Apache-2.0
// Module stacks in files: "key,path,class;key,path,class". There is no quoting, so names with
// commas or semicolons make the text ambiguous. What PyTorch's reader can split (two commas outside
// brackets in every item) is split in the same way. Other items are parsed by a property of all
// exporters: the key is derived from the path, so both have the same commas and semicolons, and a
// class has none.
#include <string.h>

#include "pt2/modules.h"
#include "pt2/reader.h"

enum { MAX_PIECES = 16 };  // semicolons supported in one name

typedef struct item {
  const char *at;
  size_t n;
  size_t first;   // position of the comma after the key
  size_t second;  // position of the comma after the path
} item;

// Two commas outside of brackets: PyTorch's own rule.
static bool split_plain(item *i) {
  size_t commas = 0;
  int depth = 0;
  for (size_t k = 0; k < i->n; k++) {
    char ch = i->at[k];
    depth += (ch == '[' || ch == '(') - (ch == ']' || ch == ')');
    if (ch != ',' || depth != 0) continue;
    if (commas == 0) i->first = k;
    if (commas == 1) i->second = k;
    commas++;
  }
  return commas == 2;
}

static size_t count(const char *at, size_t n, char what) {
  size_t found = 0;
  for (size_t k = 0; k < n; k++) found += at[k] == what;
  return found;
}

// The class after the last comma; key and path have equally many commas and semicolons.
static bool split_even(item *i) {
  size_t commas = count(i->at, i->n, ',');
  if (commas < 2 || commas % 2 != 0) return false;
  size_t seen = 0;
  for (size_t k = 0; k < i->n; k++) {
    if (i->at[k] != ',') continue;
    seen++;
    if (seen == commas / 2) i->first = k;
    if (seen == commas) i->second = k;
  }
  size_t npath = i->second - i->first - 1;
  return count(i->at, i->first, ';') == count(i->at + i->first + 1, npath, ';');
}

// Is the key derived from the path? L__self___a_b of a.b, and L__self__a.b too.
static bool is_made_of_path(const item *i) {
  const char *path = i->at + i->first + 1;
  size_t n = i->second - i->first - 1;
  if (i->first < n) return false;
  const char *key = i->at + i->first - n;
  for (size_t k = 0; k < n; k++) {
    if (key[k] != path[k] && !(path[k] == '.' && key[k] == '_')) return false;
  }
  return true;
}

// A malformed item: as much of a key, a path and a class as can be found.
static void split_rest(item *i) {
  const char *comma = memchr(i->at, ',', i->n);
  i->first = comma ? (size_t)(comma - i->at) : i->n;
  comma = comma ? memchr(comma + 1, ',', i->n - i->first - 1) : NULL;
  i->second = comma ? (size_t)(comma - i->at) : i->n;
}

// The item at the beginning of the text: up to a semicolon that does not belong to a name.
static item next_item(const char *text) {
  item one = {.at = text, .n = strcspn(text, ";")};
  if (split_plain(&one) && is_made_of_path(&one)) return one;
  item longer = one;
  for (int pieces = 0; pieces < MAX_PIECES; pieces++) {
    if (split_even(&longer) && is_made_of_path(&longer)) return longer;
    if (!text[longer.n]) break;
    longer.n += 1 + strcspn(text + longer.n + 1, ";");
  }
  if (!split_plain(&one) && !split_even(&one)) split_rest(&one);
  return one;
}

static bool set_level(ig_arena *a, const item *i, ig_module_level *out) {
  size_t path = i->first < i->n ? i->first + 1 : i->n;
  size_t type = i->second < i->n ? i->second + 1 : i->n;
  out->key = ig_arena_strn(a, i->at, i->first);
  out->path = ig_arena_strn(a, i->at + path, i->second - path);
  out->type = ig_arena_strn(a, i->at + type, i->n - type);
  return out->key && out->path && out->type;
}

const char *ig_modules_next(ig_arena *a, const char *text, ig_module_level *out) {
  item i = next_item(text);
  return set_level(a, &i, out) ? text + i.n + (text[i.n] == ';') : NULL;
}

static bool parse(ig_pt2_reader *r, const char *text, ig_pt2_stack *out) {
  size_t most = count(text, strlen(text), ';') + 1;
  out->at = ig_arena_array(r->source->arena, most, sizeof *out->at);
  if (!out->at) return ig_pt2_no_memory(r) == IG_OK;
  if (ig_pt2_old_stack(r, text, out)) return true;
  out->n = 0;
  while (*text && r->c->status == IG_OK) {
    text = ig_modules_next(r->source->arena, text, &out->at[out->n++]);
    if (!text) return ig_pt2_no_memory(r) == IG_OK;
  }
  return r->c->status == IG_OK;
}

// Many nodes have the same text.
static const ig_pt2_stack *find(ig_pt2_reader *r, const char *text) {
  ig_map_value *v = ig_map_put(&r->stacks, text);
  if (v && v->ptr) return v->ptr;
  ig_pt2_stack *made = v ? ig_arena_push(r->source->arena, sizeof *made) : NULL;
  if (!made) {
    (void)ig_pt2_no_memory(r);
    return NULL;
  }
  if (!parse(r, text, made)) return NULL;
  v->ptr = made;
  return made;
}

const ig_module_stack *ig_pt2_read_stack(ig_pt2_reader *r, const char *text) {
  const ig_pt2_stack *stack = *text ? find(r, text) : NULL;
  return stack ? ig_graph_keep_levels(r->c, r->scope->g, stack->at, stack->n) : NULL;
}

ig_status ig_pt2_read_modules(ig_pt2_reader *r, const ig_json *graph) {
  const ig_json *nodes = r->in.major == 1 ? ig_json_find(graph, "nodes") : NULL;
  for (size_t i = 0; nodes && nodes->kind == IG_JSON_ARRAY && i < nodes->n; i++) {
    const ig_json *meta = ig_json_find(&nodes->items[i], "metadata");
    const ig_json *stack = meta ? ig_json_find(meta, IG_PT2_MODULE_STACK) : NULL;
    bool plain = stack && stack->kind == IG_JSON_STRING && !memchr(stack->text, 0, stack->n);
    if (plain && *stack->text) (void)find(r, stack->text);
  }
  return ig_ctx_status(r->c);
}
