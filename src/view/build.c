// SPDX-License-Identifier: Apache-2.0
// Building a view, and what its forms have in common.
#include <stdarg.h>
#include <string.h>

#include "base/budget.h"
#include "base/options.h"
#include "ir/print.h"
#include "view/view.h"

static bool no_memory(ig_view *v) {
  return ig_fail(v->c, IG_NOMEM, "out of memory") == IG_OK;
}

const char *ig_view_take(ig_view *v, ig_str *s) {
  const char *text = s->failed ? NULL : ig_arena_strn(&v->arena, s->at ? s->at : "", s->n);
  ig_str_free(s);
  if (!text) (void)no_memory(v);
  return text;
}

const char *ig_view_text(ig_view *v, const char *fmt, ...) {
  ig_str s = ig_str_make(v->c->alloc);
  va_list ap;
  va_start(ap, fmt);
  ig_str_addv(&s, fmt, ap);
  va_end(ap);
  return ig_view_take(v, &s);
}

uint32_t ig_view_add(ig_view *v, ig_view_kind kind, uint32_t parent, const char *name,
                     const char *title) {
  if (v->c->status != IG_OK || !ig_step(v->c)) return IG_VIEW_NONE;
  uint32_t depth = v->items.n ? v->items.at[parent].depth + 1 : 0;
  if (v->items.n >= IG_VIEW_MAX_ITEMS || depth > IG_VIEW_MAX_DEPTH) {
    (void)ig_fail(v->c, IG_UNSUPPORTED, "a view has at most %d items, %d deep", IG_VIEW_MAX_ITEMS,
                  IG_VIEW_MAX_DEPTH);
    return IG_VIEW_NONE;
  }
  ig_view_item it = {.kind = kind,
                     .parent = parent,
                     .depth = depth,
                     .name = name ? name : "",
                     .title = title ? title : "",
                     .stack = IG_VIEW_NONE,
                     .arg = v->args.n,
                     .out = v->outs.n,
                     .partner = IG_VIEW_NONE,
                     .micros = -1,
                     .bytes = -1};
  if (!ig_vec_push(v->c->alloc, &v->items, it)) {
    (void)no_memory(v);
    return IG_VIEW_NONE;
  }
  return (uint32_t)(v->items.n - 1);
}

static bool add_arg(ig_view *v, ig_view_arg a) {
  if (v->c->status != IG_OK) return false;
  a.label = a.label ? a.label : "";
  if (!ig_vec_push(v->c->alloc, &v->args, a)) return no_memory(v);
  v->items.at[v->items.n - 1].nargs++;
  return true;
}

bool ig_view_add_text(ig_view *v, const char *label, const char *text) {
  return add_arg(v, (ig_view_arg){IG_VIEW_TEXT, label, text ? text : "", 0, 0});
}

bool ig_view_add_value(ig_view *v, const char *label, uint32_t item, uint32_t out) {
  return add_arg(v, (ig_view_arg){IG_VIEW_VALUE, label, "", item, out});
}

bool ig_view_add_weight(ig_view *v, const char *label, const char *name) {
  const ig_map_value *at = ig_map_find(&v->weight_names, name);
  if (!at) return ig_view_add_text(v, label, name);
  return add_arg(v, (ig_view_arg){IG_VIEW_WEIGHT, label, "", (uint32_t)(at->num - 1), 0});
}

bool ig_view_add_out(ig_view *v, const char *name, const char *type) {
  if (v->c->status != IG_OK) return false;
  ig_view_out o = {name ? name : "", type ? type : ""};
  if (!ig_vec_push(v->c->alloc, &v->outs, o)) return no_memory(v);
  v->items.at[v->items.n - 1].nouts++;
  return true;
}

uint32_t ig_view_module(ig_view *v, uint32_t parent, const char *key, const char *path,
                        const char *title) {
  const char *full = ig_view_text(v, "%u %s", (unsigned)parent, key);
  ig_map_value *at = full ? ig_map_put(&v->boxes, full) : NULL;
  if (full && !at) (void)no_memory(v);
  if (!at) return IG_VIEW_NONE;
  if (at->num) return (uint32_t)at->num;  // item 0 is no module
  uint32_t i = ig_view_add(v, IG_VIEW_MODULE, parent, path, title);
  at->num = i == IG_VIEW_NONE ? 0 : i;
  return i;
}

// ---- weights

static bool list_weights(ig_view *v) {
  const ig_model_weight *const *list = NULL;
  size_t n = ig_model_weights(v->m, &list);
  for (size_t i = 0; i < n; i++) {
    ig_view_weight w = {.of = list[i]};
    if (!ig_vec_push(v->c->alloc, &v->weights, w)) return no_memory(v);
    ig_map_value *at = ig_map_put(&v->weight_names, list[i]->name);
    if (!at) return no_memory(v);
    if (!at->num) at->num = i + 1;
  }
  return true;
}

static bool measure(ig_view *v, const ig_view_options *o) {
  for (size_t i = 0; i < v->weights.n; i++) {
    ig_view_weight *w = &v->weights.at[i];
    if (o->progress) o->progress(o->progress_user, i, v->weights.n);
    if (!w->of->tensor) continue;
    if (ig_tensor_stats(v->c, w->of->tensor, &w->stats) != IG_OK) return false;
    w->measured = true;
  }
  return true;
}

// ---- forms

void ig_view_short(const char *text, size_t max, char *out, size_t cap) {
  size_t chars = 0;
  size_t n = 0;
  for (; text[n]; n++) {
    bool starts = ((unsigned char)text[n] & 0xc0) != 0x80;
    if (starts && (chars == max || n + 8 > cap)) break;
    chars += starts;
    out[n] = text[n];
  }
  out[n] = 0;
  if (text[n]) memcpy(out + n, "\xe2\x80\xa6", 4);
}

const char *ig_view_label(const ig_view_item *it) {
  if (it->kind == IG_VIEW_NODE && it->title[0]) return it->title;
  return it->name[0] ? it->name : it->title;
}

uint32_t ig_view_seen(const ig_view *v, uint32_t item, int depth) {
  while (depth > 0 && v->items.at[item].depth > (uint32_t)depth) item = v->items.at[item].parent;
  return item;
}

static bool build_model(ig_view *v, const ig_model *other) {
  ig_program *p = ig_model_program(v->m);
  const struct ig_onnx_model *onnx = ig_model_onnx(v->m);
  ig_model_kind kind = ig_model_get_kind(v->m);
  if (other && !ig_model_onnx(other)) onnx = p ? NULL : onnx;  // both as programs
  if (!list_weights(v)) return false;
  if (onnx) return ig_view_of_onnx(v, onnx);
  if (p) return ig_view_of_program(v, p);
  if (kind == IG_MODEL_TORCHSCRIPT) return ig_view_of_script(v);
  return ig_fail(v->c, IG_UNSUPPORTED, "this %s has no graph to look at",
                 ig_model_kind_text(kind)) == IG_OK;
}

static const char *file_name(const ig_model *m) {
  const char *slash = strrchr(ig_model_name(m), '/');
  return slash ? slash + 1 : ig_model_name(m);
}

// Two models are two boxes beside each other.
static bool build_pair(ig_view *v, const ig_model *other) {
  const ig_model *first = v->m;
  v->box = ig_view_add(v, IG_VIEW_GRAPH, 0, file_name(first), "first");
  if (v->box == IG_VIEW_NONE || !build_model(v, other)) return false;
  ig_map_free(&v->weight_names);
  v->weight_names = ig_map_make(v->c->alloc);
  v->m = other;
  v->beside = v->box = ig_view_add(v, IG_VIEW_GRAPH, 0, file_name(other), "second");
  bool ok = v->box != IG_VIEW_NONE && build_model(v, first);
  v->m = first;
  return ok && ig_view_pair(v, first, other);
}

static bool build(ig_view *v, const ig_view_options *o) {
  if (ig_view_add(v, IG_VIEW_GRAPH, 0, "", "") == IG_VIEW_NONE) return false;
  bool ok = o->other ? build_pair(v, o->other) : build_model(v, NULL);
  return ok && (!o->profile || ig_view_cost(v, o->profile, strlen(o->profile)));
}

static void write_form(ig_view *v, const ig_view_options *o, ig_str *s) {
  if (o->form == IG_VIEW_DOT) ig_view_dot(v, s, o->depth);
  if (o->form == IG_VIEW_SVG) ig_view_svg(v, s, o->depth);
  if (o->form == IG_VIEW_HTML) ig_view_html(v, s);
  if (s->failed) (void)no_memory(v);
}

static void view_free(ig_view *v) {
  ig_alloc a = v->c->alloc;
  ig_vec_free(a, &v->items);
  ig_vec_free(a, &v->args);
  ig_vec_free(a, &v->outs);
  ig_vec_free(a, &v->stacks);
  ig_vec_free(a, &v->nets);
  ig_vec_free(a, &v->ends);
  ig_vec_free(a, &v->vias);
  ig_vec_free(a, &v->weights);
  ig_map_free(&v->weight_names);
  ig_map_free(&v->boxes);
  ig_arena_free(&v->arena);
}

char *ig_model_view(ig_ctx *c, const ig_model *m, const ig_view_options *options) {
  if (c->status != IG_OK) return NULL;
  ig_view_options o;
  IG_OPTIONS_TAKE(&o, options, progress_user);
  ig_scope scope = ig_scope_open(c);
  ig_view v = {.c = c, .m = m, .options = &o, .arena = ig_arena_make(c->alloc)};
  v.weight_names = ig_map_make(c->alloc);
  v.boxes = ig_map_make(c->alloc);
  ig_str s = ig_str_make(c->alloc);
  bool ok = build(&v, &o) && ig_view_connect(&v);
  ok = ok && (o.form == IG_VIEW_DOT || ig_view_layout(&v));
  ok = ok && (o.form != IG_VIEW_HTML || o.no_stats || measure(&v, &o));
  if (ok) write_form(&v, &o, &s);
  view_free(&v);
  ig_scope_close(c, scope);
  if (c->status == IG_OK) return ig_print_end(c, &s);
  ig_str_free(&s);
  return NULL;
}
