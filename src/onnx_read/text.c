// SPDX-License-Identifier: Apache-2.0
// A model as a listing of its nodes, in the manner of ONNX's textual form: one line per node, with
// the types of its results behind it, as the file or inference says; bodies of control flow and
// functions are indented below.
#include "onnx_read/text.h"

#include <string.h>

#include "ir/print.h"
#include "onnx_read/infer.h"

enum { SHOWN = 8 };  // elements of a list or constant that are printed

typedef struct listing {
  ig_ctx *c;
  const ig_onnx_model *m;
  ig_str *s;
  ig_arena arena;
  ig_map types;  // of values of the main graph, by name
} listing;

static void indent(ig_str *s, int depth) {
  for (int i = 0; i < depth; i++) ig_str_add(s, "  ");
}

// ---- types

void ig_om_put_type(ig_str *s, const ig_om_type *t) {
  static const char *const words[] = {[IG_OM_SEQUENCE_TYPE] = "seq",
                                      [IG_OM_OPTIONAL_TYPE] = "optional",
                                      [IG_OM_MAP_TYPE] = "map",
                                      [IG_OM_SPARSE_TYPE] = "sparse_tensor"};
  bool tensor = t->kind == IG_OM_TENSOR_TYPE || t->kind == IG_OM_SPARSE_TYPE;
  if (t->kind == IG_OM_NO_TYPE || t->kind == IG_OM_OPAQUE_TYPE) return;
  if (!tensor) {
    ig_str_add(s, "%s(", words[t->kind]);
    if (t->of) ig_om_put_type(s, t->of);
    ig_str_add(s, ")");
    return;
  }
  ig_str_add(s, "%s", ig_om_elem_text(t->elem));
  if (!t->has_shape) return;
  ig_str_add(s, "[");
  for (int d = 0; d < t->ndim; d++) {
    const ig_om_dim *dim = &t->dims[d];
    if (d) ig_str_add(s, ", ");
    if (dim->value >= 0) ig_str_add(s, "%lld", (long long)dim->value);
    if (dim->value < 0) ig_str_add(s, "%s", dim->param && dim->param[0] ? dim->param : "?");
  }
  ig_str_add(s, "]");
}

static void keep_type(listing *k, const char *name, ig_str *text) {
  const char *kept = NULL;
  ig_map_value *at =
      text->n && !text->failed ? ig_map_keep(&k->types, &k->arena, name, &kept) : NULL;
  if (at && kept) at->text = ig_arena_strn(&k->arena, text->at, text->n);
  k->s->failed = k->s->failed || text->failed || (at && !at->text);
  ig_str_free(text);
}

static void keep_types(listing *k, const ig_om_info *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    ig_str text = ig_str_make(k->c->alloc);
    ig_om_put_type(&text, &list[i].type);
    keep_type(k, list[i].name, &text);
  }
}

static void on_type(void *user, const char *name, int elem, int ndim, const int64_t *dims,
                    const char *const *texts) {
  listing *k = user;
  ig_str text = ig_str_make(k->c->alloc);
  ig_str_add(&text, "%s", ig_om_elem_text(elem));
  if (ndim >= 0) ig_str_add(&text, "[");
  for (int d = 0; d < ndim; d++) {
    if (d) ig_str_add(&text, ", ");
    if (dims[d] < 0) ig_str_add(&text, "%s", texts[d] && texts[d][0] ? texts[d] : "?");
    if (dims[d] >= 0) ig_str_add(&text, "%lld", (long long)dims[d]);
  }
  if (ndim >= 0) ig_str_add(&text, "]");
  keep_type(k, name, &text);
}

// ---- attributes

static void put_tensor(ig_str *s, const ig_om_tensor *t) {
  ig_str_add(s, "%s[", ig_om_elem_text(t->elem));
  for (int d = 0; d < t->ndim; d++) ig_str_add(s, d ? ", %lld" : "%lld", (long long)t->dims[d]);
  ig_str_add(s, "]");
  bool whole = t->elem == IG_OM_INT64 || t->elem == IG_OM_INT32;
  bool real = t->elem == IG_OM_FLOAT || t->elem == IG_OM_DOUBLE;
  if (t->strings || !(whole || real) || t->numel > SHOWN) return;
  ig_str_add(s, " {");
  size_t size = ig_om_elem_bits(t->elem) / 8;
  for (int64_t i = 0; i < t->numel; i++) {
    const uint8_t *at = t->raw.at + (size_t)i * size;
    int64_t x = 0;
    int32_t narrow = 0;
    double f = 0;
    float g = 0;
    memcpy(size == 8 ? (void *)&x : (void *)&narrow, at, size);
    memcpy(size == 8 ? (void *)&f : (void *)&g, at, size);
    if (i) ig_str_add(s, ", ");
    if (whole) ig_str_add(s, "%lld", (long long)(size == 8 ? x : narrow));
    if (real) ig_str_float(s, size == 8 ? f : (double)g);
  }
  ig_str_add(s, "}");
}

static void put_string(ig_str *s, ig_bytes b) {
  size_t n = b.n < 100 ? b.n : 100;
  ig_str_add(s, "\"%.*s\"%s", (int)n, b.at ? (const char *)b.at : "", b.n > n ? "..." : "");
}

static void put_item(ig_str *s, const ig_om_attr *a, size_t i) {
  if (a->type == IG_OM_ATTR_FLOAT) ig_str_float(s, a->f);
  if (a->type == IG_OM_ATTR_INT) ig_str_add(s, "%lld", (long long)a->i);
  if (a->type == IG_OM_ATTR_STRING) put_string(s, a->s);
  if (a->type == IG_OM_ATTR_FLOATS) ig_str_float(s, a->floats[i]);
  if (a->type == IG_OM_ATTR_INTS) ig_str_add(s, "%lld", (long long)a->ints[i]);
  if (a->type == IG_OM_ATTR_STRINGS) put_string(s, a->strings[i]);
  if (a->type == IG_OM_ATTR_TENSOR || a->type == IG_OM_ATTR_TENSORS) put_tensor(s, a->tensors[i]);
  if (a->type == IG_OM_ATTR_SPARSE || a->type == IG_OM_ATTR_SPARSES) {
    put_tensor(s, a->sparses[i]->values);
  }
  if (a->type == IG_OM_ATTR_TYPE || a->type == IG_OM_ATTR_TYPES) ig_om_put_type(s, &a->types[i]);
}

static bool is_list(const ig_om_attr *a) {
  return a->type == IG_OM_ATTR_FLOATS || a->type == IG_OM_ATTR_INTS ||
         a->type == IG_OM_ATTR_STRINGS || a->type == IG_OM_ATTR_TENSORS ||
         a->type == IG_OM_ATTR_SPARSES || a->type == IG_OM_ATTR_TYPES;
}

static void put_attr(ig_str *s, const ig_om_attr *a) {
  ig_str_add(s, "%s = ", a->name);
  if (a->ref) {
    ig_str_add(s, "@%s", a->ref);
    return;
  }
  if (is_list(a)) ig_str_add(s, "[");
  for (size_t i = 0; i < a->n && i < SHOWN; i++) {
    if (i) ig_str_add(s, ", ");
    put_item(s, a, i);
  }
  if (a->n > SHOWN) ig_str_add(s, ", ... %zu more", a->n - SHOWN);
  if (is_list(a)) ig_str_add(s, "]");
}

// ---- nodes

static void put_graph(listing *k, const ig_om_graph *g, int depth, bool types);

static void put_names(ig_str *s, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) ig_str_add(s, "%s%s", i ? ", " : "", names[i][0] ? names[i] : "_");
}

static void put_results(listing *k, const ig_om_node *n) {
  bool any = false;
  for (size_t i = 0; i < n->noutputs; i++) {
    const ig_map_value *type = ig_map_find(&k->types, n->outputs[i]);
    if (!type || !type->text) continue;
    ig_str_add(k->s, "%s%s", any ? ", " : "  # ", type->text);
    any = true;
  }
}

static void put_node(listing *k, const ig_om_node *n, int depth, bool types) {
  indent(k->s, depth);
  if (n->name && n->name[0]) ig_str_add(k->s, "[%s] ", n->name);
  put_names(k->s, n->outputs, n->noutputs);
  ig_str_add(k->s, " = %s%s%s", n->domain, n->domain[0] ? "." : "", n->op_type);
  bool any = false;
  for (size_t i = 0; i < n->nattrs; i++) {
    if (n->attrs[i].graphs) continue;
    ig_str_add(k->s, any ? ", " : " <");
    put_attr(k->s, &n->attrs[i]);
    any = true;
  }
  ig_str_add(k->s, any ? "> (" : " (");
  put_names(k->s, n->inputs, n->ninputs);
  ig_str_add(k->s, ")");
  if (types) put_results(k, n);
  ig_str_add(k->s, "\n");
  for (size_t i = 0; i < n->nattrs; i++) {
    for (size_t b = 0; n->attrs[i].graphs && b < n->attrs[i].n; b++) {
      indent(k->s, depth + 1);
      ig_str_add(k->s, "%s = ", n->attrs[i].name);
      put_graph(k, n->attrs[i].graphs[b], depth + 1, false);
    }
  }
}

// ---- graphs

static void put_infos(ig_str *s, const ig_om_info *list, const bool *skip, size_t n) {
  const char *comma = "";
  ig_str_add(s, "(");
  for (size_t i = 0; i < n; i++) {
    if (skip && skip[i]) continue;
    ig_str_add(s, "%s", comma);
    size_t before = s->n;
    ig_om_put_type(s, &list[i].type);
    ig_str_add(s, "%s%s", s->n > before ? " " : "", list[i].name);
    comma = ", ";
  }
  ig_str_add(s, ")");
}

static void put_graph(listing *k, const ig_om_graph *g, int depth, bool types) {
  ig_str_add(k->s, "%s ", g->name && g->name[0] ? g->name : "graph");
  put_infos(k->s, g->inputs, g->input_defaults, g->ninputs);
  ig_str_add(k->s, " => ");
  put_infos(k->s, g->outputs, NULL, g->noutputs);
  ig_str_add(k->s, " {\n");
  for (size_t i = 0; i < g->ninits; i++) {
    indent(k->s, depth + 1);
    ig_str_add(k->s, "%s = ", g->inits[i]->name);
    put_tensor(k->s, g->inits[i]);
    ig_str_add(k->s, "\n");
  }
  for (size_t i = 0; i < g->nnodes; i++) put_node(k, &g->nodes[i], depth + 1, types);
  indent(k->s, depth);
  ig_str_add(k->s, "}\n");
}

static void put_function(listing *k, const ig_om_function *f) {
  ig_str_add(k->s, "\n%s%s%s", f->domain, f->domain[0] ? "." : "", f->name);
  for (size_t i = 0; i < f->nattrs; i++) ig_str_add(k->s, "%s%s", i ? ", " : " <", f->attrs[i]);
  for (size_t i = 0; i < f->ndefaults; i++) {
    ig_str_add(k->s, f->nattrs || i ? ", " : " <");
    put_attr(k->s, &f->defaults[i]);
  }
  ig_str_add(k->s, f->nattrs || f->ndefaults ? "> = " : " = ");
  put_graph(k, f->body, 0, false);
}

static void put_head(const listing *k) {
  const ig_onnx_model *m = k->m;
  ig_str_add(k->s, "<ir_version: %lld, opset_import: [", (long long)m->ir_version);
  for (size_t i = 0; i < m->nopsets; i++) {
    ig_str_add(k->s, "%s\"%s\" : %lld", i ? ", " : "", m->opsets[i].domain,
               (long long)m->opsets[i].version);
  }
  ig_str_add(k->s, "]>\n");
}

char *ig_onnx_text(ig_ctx *c, const ig_onnx_model *m) {
  if (c->status != IG_OK) return NULL;
  ig_str s = ig_str_make(c->alloc);
  listing k = {.c = c, .m = m, .s = &s, .arena = ig_arena_make(c->alloc)};
  k.types = ig_map_make(c->alloc);
  keep_types(&k, m->graph->inputs, m->graph->ninputs);
  keep_types(&k, m->graph->values, m->graph->nvalues);
  keep_types(&k, m->graph->outputs, m->graph->noutputs);
  bool ok = ig_rd_infer(c, m, &(ig_rd_infer_sink){.user = &k, .type = on_type}) == IG_OK;
  put_head(&k);
  put_graph(&k, m->graph, 0, true);
  for (size_t i = 0; i < m->nfunctions; i++) put_function(&k, &m->functions[i]);
  ig_map_free(&k.types);
  ig_arena_free(&k.arena);
  if (ok) return ig_print_end(c, &s);
  ig_str_free(&s);
  return NULL;
}
