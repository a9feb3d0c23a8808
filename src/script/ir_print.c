// SPDX-License-Identifier: Apache-2.0
// Graphs of scripts as PyTorch prints them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script/form.h"
#include "script/tensor_text.h"
#include "script/unit.h"

static void add_name(ig_str *s, const ig_svalue *v) {
  if (v->name) {
    ig_str_add(s, "%%%s", v->name);
  } else {
    ig_str_add(s, "%%%zu", v->number);
  }
}

static void add_values(ig_str *s, ig_svalue *const *at, size_t n, bool types, const char *between) {
  for (size_t i = 0; i < n; i++) {
    if (i) ig_str_add(s, "%s", between);
    add_name(s, at[i]);
    if (types) ig_str_add(s, " : %s", at[i]->type->text);
  }
}

static void add_string(ig_str *s, const char *text) {
  ig_str_add(s, "\"");
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"'";
    static const char to[] = "abfnrtv\\\"'";
    const char *known = strchr(from, *p);
    if (known) {
      ig_str_add(s, "\\%c", to[known - from]);
    } else if (*p < 0x20 || *p > 0x7e) {
      // The digits of a signed character, as the original computes them.
      int code = *p < 0x80 ? *p : *p - 0x100;
      ig_str_add(s, "\\%c%c%c", '0' + code / 64, '0' + code / 8 % 8, '0' + code % 8);
    } else {
      ig_str_add(s, "%c", *p);
    }
  }
  ig_str_add(s, "\"");
}

// 17 digits, and a point behind whole numbers that are not large.
static void add_float(ig_str *s, double f) {
  char text[40];
  (void)snprintf(text, sizeof text, "%.17g", f);
  ig_str_add(s, "%s%s", text, fabs(f) < 1e10 && !strpbrk(text, ".e") ? "." : "");
}

static void add_value(ig_str *s, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_INT:
      ig_str_add(s, "%lld", (long long)v->i.value);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, "%d", v->b);
      break;
    case IG_KIND_FLOAT:
      add_float(s, v->f);
      break;
    case IG_KIND_COMPLEX:
      add_float(s, v->z.re);
      ig_str_add(s, signbit(v->z.im) ? "" : "+");
      add_float(s, v->z.im);
      ig_str_add(s, "j");
      break;
    case IG_KIND_STR:
      add_string(s, v->str);
      break;
    case IG_KIND_TENSOR:
      ig_tensor_print_constant(s, v->tensor);
      break;
    case IG_KIND_DEVICE:
      ig_str_add(s, "\"%s", ig_device_type_text(v->device));
      if (v->device.index >= 0) ig_str_add(s, ":%d", v->device.index);
      ig_str_add(s, "\"");
      break;
    case IG_KIND_LIST:
      ig_str_add(s, v->seq == IG_SEQ_TUPLE ? "(" : "[");
      for (size_t i = 0; i < v->list.n; i++) {
        if (i) ig_str_add(s, ", ");
        add_value(s, &v->list.at[i]);
      }
      ig_str_add(s, v->seq == IG_SEQ_TUPLE ? ")" : "]");
      break;
    default:
      ig_str_add(s, "None");
  }
}

// An empty list says its type.
static void add_constant(ig_str *s, const ig_snode *n, const ig_value *v) {
  bool empty = v->kind == IG_KIND_LIST && v->seq == IG_SEQ_LIST && v->list.n == 0 && n->n_out == 1;
  if (empty) {
    ig_str_add(s, "annotate(");
    ig_stype_print_annotation(s, n->out[0]->type);
    ig_str_add(s, ", ");
  }
  add_value(s, v);
  if (empty) ig_str_add(s, ")");
}

static void add_attrs(ig_str *s, const ig_snode *n) {
  bool host = ig_sform_of(n) == IG_SFORM_PYTHON;
  if (host && n->n_attrs && n->attrs[0].kind == IG_SATTR_TEXT) {
    ig_str_add(s, "%s", n->attrs[0].text);  // a call of the host that was read, known by its text
    return;
  }
  size_t count = 0;
  if (host) ig_str_add(s, "[");
  for (size_t i = 0; i < n->n_attrs; i++) {
    const ig_sattr *a = &n->attrs[i];
    if (a->kind == IG_SATTR_GRAPH && !host) continue;
    ig_str_add(s, "%s%s=", count++ ? ", " : host ? "" : "[", a->name);
    if (a->kind == IG_SATTR_GRAPH) ig_str_add(s, "<Graph>");
    if (a->kind == IG_SATTR_VALUE) add_constant(s, n, &a->value);
    if (a->kind == IG_SATTR_TEXT) ig_str_add(s, "%s", a->text);
    if (a->kind != IG_SATTR_TYPES) continue;
    for (size_t k = 0; k < a->n_types; k++) {
      ig_str_add(s, "%s%s", k ? ", " : "[", a->types[k]->text);
    }
    ig_str_add(s, "]");
  }
  if (count || host) ig_str_add(s, "]");
  if (host) ig_str_add(s, "(%s)", n->host && n->host->scalars ? n->host->scalars : "");
}

static void indent(ig_str *s, size_t level) {
  while (level-- > 0) ig_str_add(s, "  ");
}

static void add_place(ig_str *s, const ig_snode *n) {
  if (n->place) ig_str_add(s, " # %s", n->place);
  if (n->place || !n->range.source || !n->range.source->file) return;
  ig_str_add(s, " # %s:%zu:%zu", n->range.source->file, ig_srange_line(n->range),
             ig_srange_column(n->range));
}

// Nodes with graphs are numbered in the order of their graph: prim::fork_0.
typedef struct out {
  bool places;
  size_t groups;
} out;

static bool has_graph(const ig_snode *n) {
  if (ig_sform_of(n) == IG_SFORM_PYTHON) return false;
  for (size_t i = 0; i < n->n_attrs; i++) {
    if (n->attrs[i].kind == IG_SATTR_GRAPH) return true;
  }
  return false;
}

static void add_nodes(ig_str *s, const ig_sblock *b, size_t level, out *o);

static void add_block(ig_str *s, const ig_sblock *b, size_t number, size_t level, out *o) {
  indent(s, level);
  ig_str_add(s, "block%zu(", number);
  add_values(s, b->in, b->n_in, true, ", ");
  ig_str_add(s, "):\n");
  add_nodes(s, b, level + 1, o);
  indent(s, level + 1);
  ig_str_add(s, "-> (");
  add_values(s, b->out, b->n_out, false, ", ");
  ig_str_add(s, ")\n");
}

static void add_node(ig_str *s, const ig_snode *n, size_t level, out *o) {
  indent(s, level);
  add_values(s, n->out, n->n_out, true, ", ");
  ig_str_add(s, " = %s", n->kind);
  if (has_graph(n)) ig_str_add(s, "_%zu", o->groups++);
  add_attrs(s, n);
  ig_str_add(s, "(");
  add_values(s, n->in, n->n_in, false, ", ");
  ig_str_add(s, ")");
  if (n->scope) ig_str_add(s, ", scope: %s", n->scope);
  if (o->places) add_place(s, n);
  ig_str_add(s, "\n");
  for (size_t i = 0; i < n->n_blocks; i++) add_block(s, n->blocks[i], i, level + 1, o);
}

static void add_nodes(ig_str *s, const ig_sblock *b, size_t level, out *o) {
  for (const ig_snode *n = b->first; n; n = n->next) add_node(s, n, level, o);
}

static void add_graph(ig_str *s, const ig_sgraph *g, bool places) {
  out o = {.places = places};
  ig_str_add(s, "graph(");
  add_values(s, g->body->in, g->body->n_in, true, ",\n      ");
  ig_str_add(s, "):\n");
  add_nodes(s, g->body, 1, &o);
  ig_str_add(s, "  return (");
  add_values(s, g->body->out, g->body->n_out, false, ", ");
  ig_str_add(s, ")\n");
}

// Graphs inside of nodes stand behind the graph, in the order of the nodes.
static void add_inner(ig_str *s, const ig_sblock *b, out *o) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    size_t number = has_graph(n) ? o->groups++ : 0;
    for (size_t i = 0; i < n->n_attrs; i++) {
      if (n->attrs[i].kind != IG_SATTR_GRAPH || !has_graph(n)) continue;
      ig_str_add(s, "with %s_%zu = ", n->kind, number);
      ig_sgraph_print(s, n->attrs[i].graph, o->places);
    }
    for (size_t i = 0; i < n->n_blocks; i++) add_inner(s, n->blocks[i], o);
  }
}

void ig_sgraph_print(ig_str *s, const ig_sgraph *g, bool places) {
  out o = {.places = places};
  add_graph(s, g, places);
  add_inner(s, g->body, &o);
}

void ig_snode_print(ig_str *s, const ig_snode *n) {
  out o = {.places = true};
  add_node(s, n, 0, &o);
}
