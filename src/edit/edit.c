// SPDX-License-Identifier: Apache-2.0
#include "edit/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cause.h"
#include "onnx/check.h"
#include "onnx/proto_parse.h"

// ---- copies

// Attributes with copies of their graphs; others are shared.
static void copy_attrs(ig_edit *e, ig_om_node *n) {
  if (!ig_ed_has_graphs(n)) return;
  ig_om_attr *attrs = ig_ed_push(e, n->nattrs, sizeof *attrs);
  if (!attrs) return;
  memcpy(attrs, n->attrs, n->nattrs * sizeof *attrs);
  for (size_t i = 0; i < n->nattrs; i++) {
    ig_om_attr *a = &attrs[i];
    if (a->ref || (a->type != IG_OM_ATTR_GRAPH && a->type != IG_OM_ATTR_GRAPHS)) continue;
    ig_om_graph **graphs = ig_ed_push(e, a->n, sizeof *graphs);
    for (size_t k = 0; graphs && k < a->n; k++) graphs[k] = ig_ed_copy_graph(e, a->graphs[k]);
    a->graphs = graphs;
  }
  n->attrs = attrs;
}

// Depth: the parser admits IG_OM_MAX_DEPTH graphs in graphs.
ig_om_graph *ig_ed_copy_graph(ig_edit *e, const ig_om_graph *g) {
  ig_om_graph *to = ig_ed_push(e, 1, sizeof *to);
  ig_om_node *nodes = ig_ed_push(e, g->nnodes, sizeof *nodes);
  if (!to || !nodes) return NULL;
  *to = *g;
  to->nodes = nodes;
  if (g->nnodes) memcpy(nodes, g->nodes, g->nnodes * sizeof *nodes);
  for (size_t i = 0; i < g->nnodes && ig_ed_ok(e); i++) copy_attrs(e, &nodes[i]);
  return ig_ed_ok(e) ? to : NULL;
}

static void copy_functions(ig_edit *e, const ig_onnx_model *m) {
  ig_om_function *to = ig_ed_push(e, m->nfunctions, sizeof *to);
  for (size_t i = 0; to && i < m->nfunctions && ig_ed_ok(e); i++) {
    to[i] = m->functions[i];
    to[i].mark = 0;
    to[i].body = ig_ed_copy_graph(e, m->functions[i].body);
  }
  e->m.functions = to;
}

void ig_ed_fix_weights(ig_edit *e) {
  ig_om_graph *g = e->m.graph;
  if (e->m.ir_version >= 4) return;
  ig_om_info *inputs = ig_ed_push(e, g->ninputs, sizeof *inputs);
  size_t n = 0;
  for (size_t i = 0; inputs && i < g->ninputs; i++)
    if (!g->input_defaults[i]) inputs[n++] = g->inputs[i];
  g->inputs = inputs;
  g->ninputs = inputs ? n : 0;
  e->m.ir_version = 4;
}

// ---- life

static ig_status start(ig_edit *e, ig_onnx_model *m) {
  e->m = *m;
  e->m.arena = ig_arena_make(e->c->alloc);
  if (!ig_vec_push(e->c->alloc, &e->sources, m)) {
    ig_ed_no_memory(e);
    return e->c->status;
  }
  (void)ig_onnx_retain(m);
  e->m.graph = ig_ed_copy_graph(e, m->graph);
  if (e->m.graph) copy_functions(e, m);
  return ig_ed_ok(e) ? ig_om_resolve(e->c, &e->m) : e->c->status;
}

ig_status ig_edit_of(ig_ctx *c, ig_onnx_model *m, ig_edit **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  ig_edit *e = ig_mem_new(c->alloc, sizeof *e);
  if (!e) return ig_fail(c, IG_NOMEM, "out of memory");
  e->c = c;
  e->m.arena = ig_arena_make(c->alloc);
  e->names = ig_map_make(c->alloc);
  ig_status st = start(e, m);
  if (st == IG_OK)
    *out = e;
  else
    ig_edit_free(e);
  return st;
}

ig_status ig_edit_open(ig_ctx *c, const char *path, const ig_limits *limits, ig_edit **out) {
  ig_onnx_model *m = NULL;
  *out = NULL;
  IG_RETURN_IF_ERR(ig_onnx_open(c, path, limits, &m));
  ig_status st = ig_edit_of(c, m, out);
  ig_onnx_free(m);
  return st;
}

void ig_edit_free(ig_edit *e) {
  if (!e) return;
  ig_alloc alloc = e->c->alloc;
  for (size_t i = 0; i < e->sources.n; i++) ig_onnx_free(e->sources.at[i]);
  ig_vec_free(alloc, &e->sources);
  ig_vec_free(alloc, &e->notes);
  ig_map_free(&e->names);
  ig_arena_free(&e->m.arena);
  ig_mem_free(alloc, e, sizeof *e);
}

const ig_onnx_model *ig_edit_model(const ig_edit *e) {
  return &e->m;
}

ig_status ig_edit_save(ig_edit *e, ig_onnx_external how, const char *path) {
  return ig_om_write(e->c, &e->m, how, path, NULL);
}

ig_status ig_edit_split(ig_edit *e, uint64_t least, const char *path) {
  size_t bytes = least > SIZE_MAX ? SIZE_MAX : (size_t)least;
  return ig_om_write_from(e->c, &e->m, IG_ONNX_EXTERNAL_ALWAYS, bytes, path, NULL);
}

ig_status ig_edit_write(ig_edit *e, struct ig_sink *sink) {
  return ig_om_write(e->c, &e->m, IG_ONNX_EXTERNAL_NEVER, NULL, sink);
}

size_t ig_edit_notes(const ig_edit *e) {
  return e->notes.n;
}

bool ig_edit_note_at(const ig_edit *e, size_t i, ig_edit_note *out) {
  if (i >= e->notes.n) return false;
  *out = e->notes.at[i];
  return true;
}

// ---- operations

ig_status ig_ed_begin(ig_edit *e) {
  IG_RETURN_IF_ERR(e->c->status);
  ig_map_free(&e->names);
  e->names = ig_map_make(e->c->alloc);
  ig_ed_take_names(e, e->m.graph);
  for (size_t i = 0; i < e->m.nfunctions; i++) ig_ed_take_names(e, e->m.functions[i].body);
  return e->c->status;
}

ig_status ig_ed_end(ig_edit *e) {
  IG_RETURN_IF_ERR(e->c->status);
  for (size_t i = 0; i < e->m.nfunctions; i++) e->m.functions[i].mark = 0;
  IG_RETURN_IF_ERR(ig_om_resolve(e->c, &e->m));
  return ig_om_check(e->c, &e->m, true);
}
