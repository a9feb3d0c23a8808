// SPDX-License-Identifier: Apache-2.0
// The view of an ONNX model, as it is in the file. Modules are those that exporters record: scopes
// in the metadata of a node, or the folders in its name ("/encoder/layer.0/MatMul").
#include <string.h>

#include "ir/print.h"
#include "model/text.h"
#include "onnx/proto_model.h"
#include "onnx_read/infer.h"
#include "onnx_read/text.h"
#include "pt2/modules.h"
#include "view/view.h"

typedef struct source {
  ig_view_arg_kind kind;
  uint32_t item;
  uint32_t out;
  const char *text;
} source;

typedef struct walk {
  ig_view *v;
  const ig_om_graph *g;
  uint32_t box;
  source *sources;  // by slot
  ig_map *types;    // by name of a value, of this graph
  const struct walk *up;
} walk;

// ---- types

static bool put_type(ig_view *v, ig_map *types, const char *name, const ig_om_type *t) {
  ig_str s = ig_str_make(v->c->alloc);
  ig_om_put_type(&s, t);
  const char *text = ig_view_take(v, &s);
  ig_map_value *at = text && text[0] ? ig_map_put(types, name) : NULL;
  if (at && !at->text) at->text = text;
  return v->c->status == IG_OK;
}

static bool put_types(ig_view *v, ig_map *types, const ig_om_info *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!put_type(v, types, list[i].name, &list[i].type)) return false;
  }
  return true;
}

typedef struct inferring {
  ig_view *v;
  ig_map *types;
} inferring;

// The type of a value that the file does not say.
static void on_type(void *user, const char *name, int elem, int ndim, const int64_t *dims,
                    const char *const *texts) {
  const inferring *k = user;
  if (ig_map_find(k->types, name)) return;
  ig_str s = ig_str_make(k->v->c->alloc);
  ig_str_add(&s, "%s", ig_om_elem_text(elem));
  if (ndim >= 0) ig_str_add(&s, "[");
  for (int d = 0; d < ndim; d++) {
    if (d) ig_str_add(&s, ", ");
    if (dims[d] < 0) ig_str_add(&s, "%s", texts[d] && texts[d][0] ? texts[d] : "?");
    if (dims[d] >= 0) ig_str_add(&s, "%lld", (long long)dims[d]);
  }
  if (ndim >= 0) ig_str_add(&s, "]");
  const char *text = ig_view_take(k->v, &s);
  const char *kept = NULL;
  ig_map_value *at = text ? ig_map_keep(k->types, &k->v->arena, name, &kept) : NULL;
  if (at) at->text = text;
}

// ---- modules

static const char *metadata_of(const ig_om_node *n, const char *key) {
  for (size_t i = 0; i < n->nmetadata; i++) {
    if (n->metadata[i].key && strcmp(n->metadata[i].key, key) == 0) return n->metadata[i].value;
  }
  return NULL;
}

// The next text of a list in Python's form, ['', 'encoder', 'add']; *n is -1 at its end.
static const char *next_text(const char *list, const char **at, int *n) {
  const char *open = list ? strchr(list, '\'') : NULL;
  const char *close = open ? strchr(open + 1, '\'') : NULL;
  *at = close ? open + 1 : "";
  *n = close ? (int)(close - open - 1) : -1;
  return close ? close + 1 : NULL;
}

// Two lists of equal length: paths and classes. The last entry is the node's own.
static uint32_t scopes_box(const walk *k, const char *paths, const char *classes) {
  uint32_t box = k->box;
  const char *path = NULL;
  const char *class = NULL;
  int npath = 0;
  int nclass = 0;
  paths = next_text(paths, &path, &npath);
  while (npath >= 0 && box != IG_VIEW_NONE) {
    const char *next = NULL;
    int nnext = 0;
    paths = next_text(paths, &next, &nnext);
    classes = next_text(classes, &class, &nclass);
    if (nnext < 0) break;
    const char *key = ig_view_text(k->v, "%.*s", npath, path);
    const char *type = ig_view_text(k->v, "%.*s", nclass < 0 ? 0 : nclass, class);
    if (!key || !type) return IG_VIEW_NONE;
    const char *dot = strrchr(type, '.');
    if (key[0]) box = ig_view_module(k->v, box, key, key, dot ? dot + 1 : type);
    path = next;
    npath = nnext;
  }
  return box;
}

static uint32_t stack_box(const walk *k, const char *text) {
  uint32_t box = k->box;
  while (*text && box != IG_VIEW_NONE) {
    ig_module_level level;
    text = ig_modules_next(&k->v->arena, text, &level);
    if (!text) {
      (void)ig_fail(k->v->c, IG_NOMEM, "out of memory");
      return IG_VIEW_NONE;
    }
    const char *dot = strrchr(level.type, '.');
    if (!level.path[0]) continue;
    box = ig_view_module(k->v, box, ig_view_text(k->v, "%s %s", level.key, level.path), level.path,
                         dot ? dot + 1 : level.type);
  }
  return box;
}

static uint32_t folders_box(const walk *k, const char *name) {
  uint32_t box = k->box;
  const char *from = name;
  for (const char *slash = strchr(name + 1, '/'); slash && box != IG_VIEW_NONE;
       slash = strchr(slash + 1, '/')) {
    const char *begin = *from == '/' ? from + 1 : from;
    const char *key = ig_view_text(k->v, "%.*s", (int)(slash - begin), begin);
    const char *path = ig_view_text(k->v, "%.*s", (int)(slash - name), name);
    if (!key || !path) return IG_VIEW_NONE;
    if (key[0]) box = ig_view_module(k->v, box, key, path[0] == '/' ? path + 1 : path, "");
    from = slash;
  }
  return box;
}

static uint32_t box_of(const walk *k, const ig_om_node *n) {
  const char *scopes = metadata_of(n, "pkg.torch.onnx.name_scopes");
  const char *stack = metadata_of(n, "pkg.torch.onnx.nn_module_stack");
  if (scopes) return scopes_box(k, scopes, metadata_of(n, "pkg.torch.onnx.class_hierarchy"));
  if (stack) return stack_box(k, stack);
  return n->name && n->name[0] == '/' ? folders_box(k, n->name) : k->box;
}

// ---- nodes

static const source *find_source(const walk *k, ig_om_ref ref) {
  for (int32_t up = 0; k && up < ref.up; up++) k = k->up;
  return k && ref.slot < k->g->nslots ? &k->sources[ref.slot] : NULL;
}

static const char *label_of(ig_view *v, size_t i) {
  return ig_view_text(v, "%zu", i);
}

static bool add_input(const walk *k, const char *label, const source *s) {
  if (!s) return ig_view_add_text(k->v, label, "?");
  if (s->kind == IG_VIEW_VALUE) return ig_view_add_value(k->v, label, s->item, s->out);
  if (s->kind == IG_VIEW_WEIGHT) return ig_view_add_weight(k->v, label, s->text);
  return ig_view_add_text(k->v, label, s->text);
}

static bool add_arguments(const walk *k, const ig_om_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    const char *label = label_of(k->v, i);
    if (!label) return false;
    if (n->in[i].up >= 0 && !add_input(k, label, find_source(k, n->in[i]))) return false;
  }
  for (size_t i = 0; i < n->nattrs; i++) {
    ig_str s = ig_str_make(k->v->c->alloc);
    ig_steps_attr(&s, &n->attrs[i]);
    const char *text = ig_view_take(k->v, &s);
    if (!text || !ig_view_add_text(k->v, n->attrs[i].name, text)) return false;
  }
  const char *trace = metadata_of(n, "pkg.torch.onnx.stack_trace");
  return !trace || ig_view_add_text(k->v, "source", trace);
}

static bool add_results(const walk *k, const ig_om_node *n, uint32_t item) {
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_map_value *type = ig_map_find(k->types, n->outputs[i]);
    if (!ig_view_add_out(k->v, n->outputs[i], type ? type->text : "")) return false;
    if (n->out[i] != IG_OM_NO_SLOT) {
      k->sources[n->out[i]] = (source){IG_VIEW_VALUE, item, (uint32_t)i, NULL};
    }
  }
  return true;
}

static bool walk_graph(ig_view *v, const ig_om_graph *g, uint32_t box, const walk *up, int depth);

static bool add_subs(const walk *k, const ig_om_node *n, uint32_t item, int depth) {
  for (size_t a = 0; a < n->nattrs; a++) {
    for (size_t i = 0; n->attrs[a].graphs && i < n->attrs[a].n; i++) {
      uint32_t box = ig_view_add(k->v, IG_VIEW_GRAPH, item, n->attrs[a].name, "graph");
      if (box == IG_VIEW_NONE || !walk_graph(k->v, n->attrs[a].graphs[i], box, k, depth + 1)) {
        return false;
      }
    }
  }
  if (!n->function) return true;
  uint32_t box = ig_view_add(k->v, IG_VIEW_GRAPH, item, n->function->name, "function");
  return box != IG_VIEW_NONE && walk_graph(k->v, n->function->body, box, NULL, depth + 1);
}

static bool add_node(const walk *k, const ig_om_node *n, int depth) {
  uint32_t box = box_of(k, n);
  if (box == IG_VIEW_NONE) return false;
  const char *dot = n->domain[0] ? "." : "";
  const char *title = ig_view_text(k->v, "%s%s%s", n->domain, dot, n->op_type);
  uint32_t i = ig_view_add(k->v, IG_VIEW_NODE, box, n->name, title);
  if (i == IG_VIEW_NONE) return false;
  k->v->items.at[i].from = n;
  return add_arguments(k, n) && add_results(k, n, i) && add_subs(k, n, i, depth);
}

static bool add_ports(const walk *k) {
  const ig_om_graph *g = k->g;
  for (size_t i = 0; i < g->ninits; i++) {
    k->sources[g->init_slots[i]] = (source){IG_VIEW_WEIGHT, 0, 0, g->inits[i]->name};
  }
  for (size_t i = 0; i < g->nsparse; i++) {
    k->sources[g->sparse_slots[i]] = (source){IG_VIEW_WEIGHT, 0, 0, g->sparse[i]->values->name};
  }
  for (size_t i = 0; i < g->ninputs; i++) {
    if (g->input_defaults[i]) continue;
    uint32_t item = ig_view_add(k->v, IG_VIEW_INPUT, k->box, g->inputs[i].name, "input");
    const ig_map_value *type = ig_map_find(k->types, g->inputs[i].name);
    if (item == IG_VIEW_NONE || !ig_view_add_out(k->v, g->inputs[i].name, type ? type->text : "")) {
      return false;
    }
    k->sources[g->input_slots[i]] = (source){IG_VIEW_VALUE, item, 0, NULL};
  }
  return true;
}

static bool add_outputs(const walk *k) {
  const ig_om_graph *g = k->g;
  if (ig_view_add(k->v, IG_VIEW_OUTPUT, k->box, "output", "output") == IG_VIEW_NONE) return false;
  for (size_t i = 0; i < g->noutputs; i++) {
    if (!add_input(k, g->outputs[i].name, find_source(k, g->output_refs[i]))) return false;
  }
  return true;
}

static bool walk_graph(ig_view *v, const ig_om_graph *g, uint32_t box, const walk *up, int depth) {
  if (depth > IG_VIEW_MAX_DEPTH) {
    return ig_fail(v->c, IG_UNSUPPORTED, "functions are nested too deeply") == IG_OK;
  }
  ig_map types = ig_map_make(v->c->alloc);
  walk k = {.v = v, .g = g, .box = box, .types = &types, .up = up};
  k.sources = ig_arena_array(&v->arena, g->nslots, sizeof *k.sources);
  bool ok = k.sources != NULL;
  if (!ok) (void)ig_fail(v->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; ok && i < g->nslots; i++) k.sources[i] = (source){IG_VIEW_TEXT, 0, 0, "?"};
  ok = ok && put_types(v, &types, g->inputs, g->ninputs) &&
       put_types(v, &types, g->values, g->nvalues) && put_types(v, &types, g->outputs, g->noutputs);
  if (ok && box == v->box) {
    inferring to = {v, &types};
    ok = ig_rd_infer(v->c, ig_model_onnx(v->m),
                     &(ig_rd_infer_sink){.user = &to, .type = on_type}) == IG_OK;
  }
  ok = ok && add_ports(&k);
  for (size_t i = 0; ok && i < g->nnodes; i++) ok = add_node(&k, &g->nodes[i], depth);
  ok = ok && add_outputs(&k);
  ig_map_free(&types);
  return ok;
}

bool ig_view_of_onnx(ig_view *v, const ig_onnx_model *m) {
  return walk_graph(v, m->graph, v->box, NULL, 0);
}
