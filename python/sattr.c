// SPDX-License-Identifier: Apache-2.0
// Attributes and constants of scripts' graphs as Python values, and back.
#include <string.h>

#include "script/ir_edit.h"
#include "script/tensor_text.h"
#include "sgraph.h"

// ---- to Python

PyObject *py_sattr_get(py_sgraph *graph, const ig_sattr *a) {
  if (a->kind == IG_SATTR_VALUE) return py_from_value(py_ctx(), &a->value);
  if (a->kind == IG_SATTR_TEXT) {
    PyErr_Format(PyExc_RuntimeError, "only the text of attribute '%s' is known: %s", a->name,
                 a->text);
    return NULL;
  }
  if (a->kind == IG_SATTR_GRAPH) {
    PyObject *inner = py_from_sgraph(graph->unit, a->graph, false);
    py_sgraph *p = (py_sgraph *)inner;
    if (p && !p->outer) p->outer = Py_NewRef((PyObject *)graph);
    return inner;
  }
  PyObject *list = PyList_New((Py_ssize_t)a->n_types);
  for (size_t i = 0; list && i < a->n_types; i++) {
    PyObject *t = py_from_stype(graph->unit, a->types[i]);
    if (!t) Py_CLEAR(list);
    if (t) PyList_SET_ITEM(list, (Py_ssize_t)i, t);
  }
  return list;
}

// ---- from Python

static bool no_memory(void) {
  (void)PyErr_NoMemory();
  return false;
}

static bool to_value(ig_sgraph *g, PyObject *o, ig_value *v);

static bool to_list(ig_sgraph *g, PyObject *o, ig_value *v) {
  PyObject *all = PySequence_Tuple(o);
  if (!all) return false;
  size_t n = (size_t)PyTuple_GET_SIZE(all);
  ig_value *at = ig_arena_array(&g->arena, n + 1, sizeof *at);
  bool ok = at || no_memory();
  for (size_t i = 0; ok && i < n; i++) {
    ok = to_value(g, PyTuple_GET_ITEM(all, (Py_ssize_t)i), &at[i]);
  }
  Py_DECREF(all);
  if (ok) *v = PyTuple_Check(o) ? ig_of_tuple(at, n) : ig_of_list(at, n);
  return ok;
}

// Values live as long as the graph.
static bool to_value(ig_sgraph *g, PyObject *o, ig_value *v) {
  if (o == Py_None) {
    *v = ig_none();
  } else if (PyBool_Check(o)) {
    *v = ig_of_bool(o == Py_True);
  } else if (PyUnicode_Check(o)) {
    Py_ssize_t n = 0;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    const char *kept = text ? ig_arena_strn(&g->arena, text, (size_t)n) : NULL;
    if (!kept) return text && no_memory();
    *v = (ig_value){.kind = IG_KIND_STR, .str = kept};
  } else if (py_is_tensor(o)) {
    ig_tensor *t = ig_sgraph_keep(g, py_tensor_of(o));
    if (!t) return py_ok(g->c) && no_memory();
    *v = ig_of_tensor(t);
  } else if (Py_IS_TYPE(o, &py_device_type)) {
    *v = (ig_value){.kind = IG_KIND_DEVICE, .device = ((py_device *)o)->d};
  } else if (PyList_Check(o) || PyTuple_Check(o)) {
    return to_list(g, o, v);
  } else {
    ig_match taken = py_to_number(o, v);
    if (taken == IG_MATCH_REFUSED) return false;
    if (taken == IG_MATCH_OTHER) {
      PyErr_Format(PyExc_TypeError, "%s cannot be an attribute of a graph", Py_TYPE(o)->tp_name);
      return false;
    }
  }
  return true;
}

bool py_sattr_set(ig_snode *n, const char *name, PyObject *value) {
  ig_sgraph *g = n->owner->graph;
  ig_value v;
  if (!to_value(g, value, &v)) return false;
  ig_sattr *a = (ig_sattr *)ig_snode_attr(n, name);
  if (!a) a = ig_snode_add_attr(n, name, IG_SATTR_VALUE);
  if (!a) return py_ok(g->c);
  a->kind = IG_SATTR_VALUE;
  a->value = v;
  return true;
}

// The type of a constant.
static const ig_stype *type_of(ig_sunit *u, const ig_value *v) {
  ig_stypes *t = &u->types;
  switch (v->kind) {
    case IG_KIND_INT:
      return ig_stype_plain(t, IG_STYPE_INT);
    case IG_KIND_FLOAT:
      return ig_stype_plain(t, IG_STYPE_FLOAT);
    case IG_KIND_BOOL:
      return ig_stype_plain(t, IG_STYPE_BOOL);
    case IG_KIND_COMPLEX:
      return ig_stype_plain(t, IG_STYPE_COMPLEX);
    case IG_KIND_STR:
      return ig_stype_plain(t, IG_STYPE_STR);
    case IG_KIND_DEVICE:
      return ig_stype_plain(t, IG_STYPE_DEVICE);
    case IG_KIND_TENSOR:
      return ig_stype_of_tensor(t, v->tensor);
    case IG_KIND_LIST: {
      enum { MOST = 256 };
      const ig_stype *at[MOST];
      size_t n = v->list.n < MOST ? v->list.n : MOST;
      for (size_t i = 0; i < n; i++) {
        if (!(at[i] = type_of(u, &v->list.at[i]))) return NULL;
      }
      if (v->seq == IG_SEQ_TUPLE) return ig_stype_tuple(t, at, n);
      return ig_stype_list(t, n ? at[0] : ig_stype_plain(t, IG_STYPE_TENSOR));
    }
    default:
      return ig_stype_plain(t, IG_STYPE_NONE);
  }
}

ig_svalue *py_sgraph_constant(py_sgraph *graph, PyObject *value) {
  ig_value v;
  if (!to_value(graph->g, value, &v)) return NULL;
  ig_snode *n = ig_snode_create(graph->g, "prim::Constant", NULL, 0);
  ig_sattr *a = n && v.kind != IG_KIND_NONE ? ig_snode_add_attr(n, "value", IG_SATTR_VALUE) : NULL;
  if (a) a->value = v;
  ig_svalue *out = n ? ig_snode_add_output(n, type_of(graph->unit, &v)) : NULL;
  if (!out) {
    (void)py_raise(graph->g->c);
    return NULL;
  }
  py_sgraph_insert(graph, n);
  return out;
}
