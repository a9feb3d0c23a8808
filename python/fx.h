// SPDX-License-Identifier: Apache-2.0
// Graphs and nodes as Python objects. A Node object keeps its Graph object alive, which keeps the
// engine's graph alive; the engine's node has a weak pointer back. There is at most one object per
// node, and nothing is lost when it is freed: what Python adds to a node (metadata) is in
// node->host_meta.
#ifndef PY_FX_H_
#define PY_FX_H_

#include "ir/graph.h"
#include "py.h"

typedef struct py_graph {
  PyObject_HEAD ig_graph *g;
  PyObject *dict;
  PyObject *weak;
  PyObject *kept;   // Node objects with extra attributes; NULL: none
  ig_node *anchor;  // insertion point; NULL: one end of the graph
  bool after;       // insert after it; without anchor: at the front
} py_graph;

typedef struct py_fx_node {
  PyObject_HEAD ig_node *n;
  PyObject *graph;
  PyObject *dict;
  PyObject *weak;
} py_fx_node;

extern PyTypeObject py_graph_type;
extern PyTypeObject py_fx_node_type;

// The object for g (which it retains), of the class ingot.fx.Graph; always the same one.
PyObject *py_from_graph(ig_graph *g);
ig_graph *py_graph_of(PyObject *o);  // NULL: exception set
PyObject *py_from_node(ig_node *n);  // of the class ingot.fx.Node
bool py_fx_output(ig_node *proto);   // arguments of an output: a tuple is unpacked
static inline ig_node *py_fx_node_of(PyObject *o) {
  return ((py_fx_node *)o)->n;
}
static inline bool py_is_fx_node(PyObject *o) {
  return PyObject_TypeCheck(o, &py_fx_node_type);
}

// ---- fx_value.c: arguments ----

// Any Python value as a value for g, in the innermost scope; false: exception set.
bool py_fx_to_value(ig_ctx *c, ig_graph *g, PyObject *o, ig_value *v);
// Arguments as fx shows them: immutable lists and dictionaries, nodes, objects.
PyObject *py_fx_from_value(ig_ctx *c, const ig_value *v);
PyObject *py_fx_tuple(ig_ctx *c, const ig_value *v, size_t n);
PyObject *py_fx_dict(ig_ctx *c, const char *const *keys, const ig_value *v, size_t n);
// Positional and keyword arguments in one array of the scope.
bool py_fx_to_args(ig_ctx *c, ig_graph *g, PyObject *args, PyObject *kwargs, ig_node *proto);
PyObject *py_fx_class(const char *module, const char *name);  // borrowed, never freed

// ---- fx_target.c: what nodes call ----

PyObject *py_fx_target(ig_ctx *c, const ig_node *n);
// Fills kind, callee and target of proto; texts in g. False: exception set.
bool py_fx_set_target(ig_ctx *c, ig_graph *g, const char *op, PyObject *target, ig_node *proto);
extern const char *const py_fx_ops[];  // by ig_node_kind: "placeholder", "get_attr" ...

// ---- fx_meta.c ----

PyObject *py_fx_meta(ig_ctx *c, ig_node *n);  // the dictionary, made at first use
bool py_fx_set_meta(ig_ctx *c, ig_node *n, PyObject *dict);
bool py_fx_sync(ig_ctx *c, ig_graph *g);  // writes Python's changes back to the engine's nodes

// ---- fx_host.c ----

extern const ig_host py_host;

int py_add_fx(PyObject *m);

extern PyMethodDef py_aot_functions[];  // aot.c

#endif
