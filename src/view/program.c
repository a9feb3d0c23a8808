// SPDX-License-Identifier: Apache-2.0
// The view of a program: its calls, in the boxes of the modules that made them. One of several
// results is no item of its own, but a result of the call.
#include <string.h>

#include "ir/print.h"
#include "model/text.h"
#include "op/op.h"
#include "view/view.h"

// What a node stands for where it is read.
typedef struct source {
  ig_view_arg_kind kind;
  uint32_t item;  // VALUE
  uint32_t out;
  const char *text;  // WEIGHT: its name; TEXT
} source;

typedef struct walk {
  ig_view *v;
  const ig_graph *g;
  uint32_t box;     // of the graph
  bool top;         // it is that of the program
  source *sources;  // by node index
  ig_map *subs;     // attribute name of a sub-graph -> the item that has it, plus one
  ig_map *stacks;   // "pointer" of a call stack -> its number plus one
} walk;

static const char *type_of(ig_view *v, const ig_value *val) {
  ig_str s = ig_str_make(v->c->alloc);
  ig_steps_type(&s, val);
  return ig_view_take(v, &s);
}

// ---- where a node stands

static uint32_t box_of(const walk *k, const ig_node *n) {
  const ig_module_level *levels = NULL;
  size_t depth = ig_node_modules(n, &levels);
  uint32_t at = k->box;
  if (ig_modules_are_none(levels, depth)) return at;
  for (size_t i = 0; i < depth && at != IG_VIEW_NONE; i++) {
    if (levels[i].path[0]) {
      const char *dot = strrchr(levels[i].type, '.');
      at = ig_view_module(k->v, at, ig_view_text(k->v, "%s %s", levels[i].key, levels[i].path),
                          levels[i].path, dot ? dot + 1 : levels[i].type);
    }
  }
  return at;
}

static uint32_t stack_of(const walk *k, const ig_node *n) {
  ig_view *v = k->v;
  ig_view_stack st = {NULL, 0};
  st.n = ig_node_frames(n, &st.frames);
  if (!st.n) {
    ig_frame one = ig_node_location(n);
    if (!one.file) return IG_VIEW_NONE;
    ig_frame *copy = ig_arena_push(&v->arena, sizeof one);
    if (!copy) return IG_VIEW_NONE;
    *copy = one;
    st = (ig_view_stack){copy, 1};
  }
  // Graphs intern their stacks: the address is the identity.
  const char *key = ig_view_text(v, "%p", (const void *)st.frames);
  ig_map_value *at = key ? ig_map_put(k->stacks, key) : NULL;
  if (at && !at->num && ig_vec_push(v->c->alloc, &v->stacks, st)) at->num = v->stacks.n;
  return at && at->num ? (uint32_t)(at->num - 1) : IG_VIEW_NONE;
}

// ---- arguments

static bool has_node(const ig_value *a) {
  if (a->kind == IG_KIND_NODE) return true;
  for (size_t i = 0; a->kind == IG_KIND_LIST && i < a->list.n; i++) {
    if (has_node(&a->list.at[i])) return true;
  }
  return false;
}

static bool add_source(const walk *k, const char *label, const source *s) {
  if (s->kind == IG_VIEW_VALUE) return ig_view_add_value(k->v, label, s->item, s->out);
  if (s->kind == IG_VIEW_WEIGHT) return ig_view_add_weight(k->v, label, s->text);
  return ig_view_add_text(k->v, label, s->text);
}

static bool add_argument(const walk *k, const char *label, const ig_value *a) {
  if (a->kind == IG_KIND_NODE) return add_source(k, label, &k->sources[a->node->index]);
  if (a->kind == IG_KIND_LIST && has_node(a)) {
    for (size_t i = 0; i < a->list.n; i++) {
      const char *each = ig_view_text(k->v, "%s[%zu]", label, i);
      if (!each || !add_argument(k, each, &a->list.at[i])) return false;
    }
    return true;
  }
  ig_str s = ig_str_make(k->v->c->alloc);
  ig_printer p = {.s = &s, .form = IG_TEXT_CODE, .host = k->g->host};
  ig_print_value(&p, a);
  const char *text = ig_view_take(k->v, &s);
  return text && ig_view_add_text(k->v, label, text);
}

static bool add_arguments(const walk *k, const ig_node *n) {
  for (size_t i = 0; i < n->npos + n->nkw; i++) {
    bool known = n->op && i < n->npos && i < n->op->schema.nargs;
    const char *label = i >= n->npos ? n->keys[i - n->npos]
                        : known      ? n->op->schema.args[i].name
                                     : "";
    if (!add_argument(k, label, &n->args[i])) return false;
  }
  return true;
}

// ---- nodes

static bool add_results(const walk *k, const ig_node *n) {
  const ig_value *val = &n->val;
  bool several = val->kind == IG_KIND_LIST;
  for (size_t i = 0; several && i < val->list.n; i++) {
    const char *name = ig_view_text(k->v, "%s[%zu]", n->name, i);
    if (!name || !ig_view_add_out(k->v, name, type_of(k->v, &val->list.at[i]))) return false;
  }
  return several || ig_view_add_out(k->v, n->name, type_of(k->v, val));
}

static bool remember(const walk *k, const ig_node *n, uint32_t item) {
  if (item == IG_VIEW_NONE) return false;
  k->sources[n->index] = (source){IG_VIEW_VALUE, item, 0, NULL};
  return true;
}

static bool add_placeholder(const walk *k, const ig_node *n) {
  if (k->top && n->role != IG_INPUT_USER && n->role != IG_INPUT_TOKEN) {
    k->sources[n->index] = (source){IG_VIEW_WEIGHT, 0, 0, n->path ? n->path : n->name};
    return true;
  }
  uint32_t i = ig_view_add(k->v, IG_VIEW_INPUT, k->box, n->name, "input");
  return i != IG_VIEW_NONE && remember(k, n, i) && add_results(k, n);
}

// One of several results: names the result of the call.
static bool add_item_of(const walk *k, const ig_node *n) {
  source of = k->sources[n->args[0].node->index];
  ig_view_item *call = of.kind == IG_VIEW_VALUE ? &k->v->items.at[of.item] : NULL;
  int64_t i = n->args[1].i.value;
  if (!call || call->kind == IG_VIEW_INPUT || i < 0 || (uint64_t)i >= call->nouts) return false;
  of.out = (uint32_t)i;
  k->v->outs.at[call->out + (size_t)i].name = n->name;
  k->sources[n->index] = of;
  return true;
}

static bool is_item_of(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM && n->npos == 2 &&
         n->args[0].kind == IG_KIND_NODE && n->args[1].kind == IG_KIND_INT;
}

static bool add_attribute(const walk *k, const ig_node *n) {
  k->sources[n->index] = (source){n->sub ? IG_VIEW_TEXT : IG_VIEW_WEIGHT, 0, 0, n->target};
  return true;
}

// Sub-graphs belong to the first call that is given them.
static bool note_subs(const walk *k, const ig_value *a, uint32_t item) {
  if (a->kind == IG_KIND_NODE && a->node->sub) {
    ig_map_value *at = ig_map_put(k->subs, a->node->target);
    if (!at) return ig_fail(k->v->c, IG_NOMEM, "out of memory") == IG_OK;
    if (!at->num) at->num = (size_t)item + 1;
  }
  for (size_t i = 0; a->kind == IG_KIND_LIST && i < a->list.n; i++) {
    if (!note_subs(k, &a->list.at[i], item)) return false;
  }
  return true;
}

static bool add_call(const walk *k, const ig_node *n) {
  ig_view *v = k->v;
  bool out = n->kind == IG_NODE_OUTPUT;
  uint32_t box = out ? k->box : box_of(k, n);
  if (box == IG_VIEW_NONE) return false;
  uint32_t i =
      ig_view_add(v, out ? IG_VIEW_OUTPUT : IG_VIEW_NODE, box, n->name, out ? "output" : n->target);
  if (!remember(k, n, i) || !add_arguments(k, n)) return false;
  v->items.at[i].from = n;
  v->items.at[i].stack = stack_of(k, n);
  for (size_t a = 0; a < n->npos + n->nkw; a++) {
    if (!note_subs(k, &n->args[a], i)) return false;
  }
  return out || add_results(k, n);
}

static bool walk_graph(ig_view *v, const ig_graph *g, uint32_t box, bool top, ig_map *stacks);

static bool walk_subs(const walk *k) {
  for (size_t i = 0; i < k->g->subs.n; i++) {
    const ig_sub *sub = &k->g->subs.at[i];
    const ig_map_value *at = ig_map_find(k->subs, sub->name);
    uint32_t owner = at ? (uint32_t)(at->num - 1) : k->box;
    uint32_t box = ig_view_add(k->v, IG_VIEW_GRAPH, owner, sub->name, "graph");
    if (box == IG_VIEW_NONE || !walk_graph(k->v, sub->graph, box, false, k->stacks)) return false;
  }
  return true;
}

static bool walk_nodes(const walk *k) {
  for (const ig_node *n = k->g->first; n; n = n->next) {
    bool ok = true;
    if (n->kind == IG_NODE_PLACEHOLDER) {
      ok = add_placeholder(k, n);
    } else if (n->kind == IG_NODE_ATTR) {
      ok = add_attribute(k, n);
    } else if (!is_item_of(n) || !add_item_of(k, n)) {
      ok = add_call(k, n);
    }
    if (!ok || k->v->c->status != IG_OK) return false;
  }
  return walk_subs(k);
}

static bool walk_graph(ig_view *v, const ig_graph *g, uint32_t box, bool top, ig_map *stacks) {
  ig_map subs = ig_map_make(v->c->alloc);
  walk k = {.v = v, .g = g, .box = box, .top = top, .subs = &subs, .stacks = stacks};
  k.sources = ig_arena_array(&v->arena, g->next_index, sizeof *k.sources);
  bool ok = k.sources != NULL;
  if (!ok) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; ok && i < g->next_index; i++) k.sources[i] = (source){IG_VIEW_TEXT, 0, 0, "?"};
  ok = ok && walk_nodes(&k);
  ig_map_free(&subs);
  return ok;
}

bool ig_view_of_program(ig_view *v, const ig_program *p) {
  ig_map stacks = ig_map_make(v->c->alloc);
  ig_mode_scope mode = ig_mode_push_sym(v->c, p->graph->sym);
  bool ok = walk_graph(v, p->graph, v->box, true, &stacks);
  ig_mode_pop(v->c, &mode);
  ig_map_free(&stacks);
  return ok;
}
