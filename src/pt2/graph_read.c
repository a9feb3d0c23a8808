// SPDX-License-Identifier: Apache-2.0
// Graphs of the export schema -> graphs: names, descriptions of values, sub-graphs.
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "pt2/reader.h"

ig_status ig_pt2_no_memory(const ig_pt2_reader *r) {
  return ig_fail(r->c, IG_NOMEM, "out of memory");
}

// ---- scopes

static const ig_json *values_of(const ig_json *graph, const char *key) {
  const ig_json *v = ig_json_find(graph, key);
  return v && v->kind == IG_JSON_OBJECT ? v : NULL;
}

ig_status ig_pt2_scope_open(ig_pt2_reader *r, const ig_json *graph, ig_pt2_scope *s) {
  *s = (ig_pt2_scope){.g = ig_graph_create(r->c, r->c->mode->sym),
                      .names = ig_map_make(r->c->alloc),
                      .tensors = values_of(graph, "tensor_values"),
                      .ints = values_of(graph, "sym_int_values"),
                      .floats = values_of(graph, "sym_float_values"),
                      .bools = values_of(graph, "sym_bool_values"),
                      .objects = values_of(graph, "custom_obj_values")};
  if (s->g) s->g->release = r->release;
  r->scope = s;
  r->in.names = &s->names;
  return ig_ctx_status(r->c);
}

void ig_pt2_scope_close(ig_pt2_reader *r, ig_pt2_scope *s, ig_pt2_scope *outer) {
  ig_map_free(&s->names);
  r->scope = outer;
  r->in.names = outer ? &outer->names : NULL;
}

// ---- names

ig_status ig_pt2_define(ig_pt2_reader *r, const ig_json *at, const char *name, ig_node *node) {
  if (!node) return ig_ctx_status(r->c);
  ig_map_value *v = ig_map_put(&r->scope->names, name);
  if (!v) return ig_pt2_no_memory(r);
  if (v->ptr) return ig_pt2_fail(&r->in, at, IG_SYNTAX, "'%.100s' is defined twice", name);
  v->ptr = node;
  return IG_OK;
}

ig_node *ig_pt2_push(ig_pt2_reader *r, const ig_node *proto, const char *name) {
  ig_graph *g = r->scope->g;
  if (ig_ctx_status(r->c) != IG_OK) return NULL;
  if (!ig_pt2_name_is_plain(name)) {
    (void)ig_fail(r->c, IG_SYNTAX | IG_E_PT2, "%s: '%.100s' is not a name", r->in.file, name);
    return NULL;
  }
  ig_node *n = ig_graph_push(r->c, g, proto, name);
  bool exact = n && (strcmp(n->name, name) == 0 || ig_graph_set_name(r->c, g, n, name));
  return exact ? n : NULL;
}

// ---- values

bool ig_pt2_describe_tensor(ig_pt2_reader *r, const ig_json *at, const char *name, ig_value *out) {
  const ig_json *meta = r->scope->tensors ? ig_json_find(r->scope->tensors, name) : NULL;
  if (meta && r->in.major == 1 && ig_json_find(meta, "meta")) meta = ig_json_find(meta, "meta");
  if (!meta) {
    (void)ig_pt2_fail(&r->in, at, IG_SYNTAX, "tensor '%.100s' is not described", name);
    return false;
  }
  ig_meta m;
  bool grad = false;
  if (!ig_pt2_get_tensor_meta(&r->in, meta, &m, &grad)) return false;
  ig_tensor *t = ig_tensor_make(r->c, &m, true);
  if (!t) {
    ig_note(r->c, "in %s, byte %zu: tensor '%.100s'", r->in.file, meta->at, name);
    return false;
  }
  t->requires_grad = grad && (ig_dtype_is_float(m.dtype) || ig_dtype_is_complex(m.dtype));
  *out = ig_of_tensor(t);
  return true;
}

bool ig_pt2_describe_number(ig_pt2_reader *r, const ig_json *at, const char *name, ig_value *out) {
  const ig_json *const lists[] = {r->scope->ints, r->scope->floats, r->scope->bools};
  const ig_json *v = NULL;
  for (size_t i = 0; i < 3 && !v; i++) v = lists[i] ? ig_json_find(lists[i], name) : NULL;
  if (!v) {
    (void)ig_pt2_fail(&r->in, at, IG_SYNTAX, "number '%.100s' is not described", name);
    return false;
  }
  *out = ig_pt2_get_number(&r->in, v);
  return ig_ctx_status(r->c) == IG_OK;
}

static bool is_symbolic(const char *key) {
  return strcmp(key, "as_sym_int") == 0 || strcmp(key, "as_sym_float") == 0 ||
         strcmp(key, "as_sym_bool") == 0;
}

bool ig_pt2_describe(ig_pt2_reader *r, const ig_json *argument, const char **name, ig_value *out) {
  const ig_json_member *m = ig_pt2_union(&r->in, argument);
  *name = NULL;
  *out = ig_none();
  if (!m) return false;
  if (strcmp(m->key, "as_tensor") == 0) {
    *name = ig_pt2_get_text(&r->in, &m->value, "name");
    return *name && ig_pt2_describe_tensor(r, &m->value, *name, out);
  }
  const ig_json_member *number = is_symbolic(m->key) ? ig_pt2_union(&r->in, &m->value) : NULL;
  if (number && strcmp(number->key, "as_name") == 0) {
    *name = ig_pt2_get_text(&r->in, &m->value, "as_name");
    return *name && ig_pt2_describe_number(r, &m->value, *name, out);
  }
  *out = ig_pt2_get_argument(&r->in, argument);
  return ig_ctx_status(r->c) == IG_OK;
}

// ---- sub-graphs

static ig_status read_placeholder(ig_pt2_reader *r, const ig_json *argument, size_t i) {
  const char *name = NULL;
  char literal[32];
  ig_value val;
  if (!ig_pt2_describe(r, argument, &name, &val)) return ig_ctx_status(r->c);
  (void)snprintf(literal, sizeof literal, "arg%zu_1", i);
  if (!name) name = literal;
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER,
                   .role = IG_INPUT_USER,
                   .path = ig_graph_keep_text(r->c, r->scope->g, name),
                   .val = val};
  ig_node *n = ig_pt2_push(r, &proto, name);
  return ig_pt2_define(r, argument, n ? n->name : name, n);
}

static ig_status read_output(ig_pt2_reader *r, const ig_json *graph) {
  const ig_json *outputs = ig_pt2_get(&r->in, graph, "outputs", IG_JSON_ARRAY);
  const ig_json *single = ig_json_find(graph, "is_single_tensor_return");
  if (!outputs) return ig_ctx_status(r->c);
  ig_value *values = ig_arena_array(r->source->arena, outputs->n + 1, sizeof *values);
  if (!values) return ig_pt2_no_memory(r);
  for (size_t i = 0; i < outputs->n; i++) {
    values[i] = ig_pt2_get_argument(&r->in, &outputs->items[i]);
  }
  bool bare = single && single->kind == IG_JSON_BOOL && single->b && outputs->n == 1;
  ig_node proto = {
      .kind = IG_NODE_OUTPUT, .args = values, .npos = outputs->n, .bare = bare, .target = "output"};
  (void)ig_pt2_push(r, &proto, "output");
  return ig_ctx_status(r->c);
}

void ig_pt2_drop_unread(ig_graph *g) {
  for (ig_node *n = g->last, *prev = NULL; n; n = prev) {
    prev = n->prev;
    bool item = n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM;
    if (item && n->users == 0) ig_graph_erase(g, n);
  }
}

ig_status ig_pt2_read_nodes(ig_pt2_reader *r, const ig_json *graph) {
  const ig_json *nodes = ig_pt2_get(&r->in, graph, "nodes", IG_JSON_ARRAY);
  if (!nodes) return ig_ctx_status(r->c);
  for (size_t i = 0; i < nodes->n; i++) IG_RETURN_IF_ERR(ig_pt2_read_node(r, &nodes->items[i]));
  return IG_OK;
}

static ig_status read_body(ig_pt2_reader *r, const ig_json *graph) {
  const ig_json *inputs = ig_pt2_get(&r->in, graph, "inputs", IG_JSON_ARRAY);
  if (!inputs) return ig_ctx_status(r->c);
  for (size_t i = 0; i < inputs->n; i++) {
    IG_RETURN_IF_ERR(read_placeholder(r, &inputs->items[i], i));
  }
  IG_RETURN_IF_ERR(ig_pt2_read_constants(r, graph, false));
  IG_RETURN_IF_ERR(ig_pt2_read_nodes(r, graph));
  IG_RETURN_IF_ERR(read_output(r, graph));
  ig_pt2_drop_unread(r->scope->g);
  return ig_graph_verify(r->c, r->scope->g);
}

static ig_graph *read_sub(ig_pt2_reader *r, const ig_json *graph) {
  ig_pt2_scope *outer = r->scope;
  ig_pt2_scope inner;
  if (r->nesting >= IG_PT2_MAX_NESTING) {
    (void)ig_pt2_fail(&r->in, graph, IG_SYNTAX, "more than %d sub-graphs inside each other",
                      IG_PT2_MAX_NESTING);
    return NULL;
  }
  r->nesting++;
  ig_status st = ig_pt2_scope_open(r, graph, &inner);
  if (st == IG_OK) st = read_body(r, graph);
  ig_pt2_scope_close(r, &inner, outer);
  r->nesting--;
  if (st == IG_OK) return inner.g;
  ig_graph_free(inner.g);
  return NULL;
}

// GraphArgument -> the get_attr node that reads the sub-graph.
ig_value ig_pt2_read_sub(void *user, const ig_json *v) {
  ig_pt2_reader *r = user;
  const char *name = ig_pt2_get_text(&r->in, v, "name");
  const ig_json *graph = ig_pt2_get(&r->in, v, "graph", IG_JSON_OBJECT);
  if (!name || !graph) return ig_none();
  if (!ig_pt2_name_is_plain(name)) {
    (void)ig_pt2_fail(&r->in, v, IG_SYNTAX, "'%.100s' is not a name", name);
    return ig_none();
  }
  ig_graph *sub = read_sub(r, graph);
  const char *kept = sub ? ig_graph_set_sub(r->c, r->scope->g, name, sub) : NULL;
  ig_node proto = {.kind = IG_NODE_ATTR, .target = kept, .sub = sub};
  ig_node *n = kept ? ig_graph_push(r->c, r->scope->g, &proto, name) : NULL;
  ig_graph_free(sub);  // the graph owns it
  return n ? ig_of_node(n) : ig_none();
}
