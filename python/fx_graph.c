// SPDX-License-Identifier: Apache-2.0
// The Graph type: nodes in order, editing, printing. ingot.fx.Graph adds the parts that only exist
// in Python.
#include "fx.h"

#include <string.h>

#include "ingot/program.h"

static ig_graph *graph_of(PyObject *o) {
  return ((py_graph *)o)->g;
}

ig_graph *py_graph_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &py_graph_type)) return graph_of(o);
  PyErr_Format(PyExc_TypeError, "expected a Graph, not %s", Py_TYPE(o)->tp_name);
  return NULL;
}

PyObject *py_from_graph(ig_graph *g) {
  if (!g) Py_RETURN_NONE;
  if (g->extra) return Py_NewRef((PyObject *)g->extra);
  PyTypeObject *type = (PyTypeObject *)py_fx_class("ingot.fx.graph", "Graph");
  py_graph *o = type ? (py_graph *)type->tp_alloc(type, 0) : NULL;
  if (!o) return NULL;
  o->g = ig_graph_retain(g);
  g->extra = o;
  if (!g->host) g->host = &py_host;
  return (PyObject *)o;
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  ig_ctx *c = py_ctx();
  ig_sym *sym = ig_sym_create(c);
  ig_graph *g = sym ? ig_graph_create(c, sym) : NULL;
  if (sym) ig_ref_release(&sym->ref);
  if (!g) return py_raise(c);
  g->release = IG_RELEASE_2_5_FX;  // what Python makes prints as its release does
  py_graph *o = (py_graph *)type->tp_alloc(type, 0);
  if (o) {
    o->g = g;
    g->extra = o;
    g->host = &py_host;
  } else {
    ig_graph_free(g);
  }
  return (PyObject *)o;
}

// Host objects of a graph without other owners are visited by this object.
static int graph_traverse(PyObject *o, visitproc visit, void *arg) {
  py_graph *p = (py_graph *)o;
  Py_VISIT(p->dict);
  Py_VISIT(p->kept);
  if (!p->g || p->g->ref.count != 1 || p->g->host != &py_host) return 0;
  for (size_t i = 0; i < p->g->objects.n; i++) Py_VISIT((PyObject *)p->g->objects.at[i]);
  return 0;
}
static int graph_clear(PyObject *o) {
  py_graph *p = (py_graph *)o;
  Py_CLEAR(p->dict);
  Py_CLEAR(p->kept);
  return 0;
}
static void graph_dealloc(PyObject *o) {
  py_graph *p = (py_graph *)o;
  PyObject_GC_UnTrack(o);
  if (p->weak) PyObject_ClearWeakRefs(o);
  if (p->g && p->g->extra == o) p->g->extra = NULL;
  (void)graph_clear(o);
  ig_graph_free(p->g);
  Py_TYPE(o)->tp_free(o);
}

// ---- making nodes ----

static ig_node *place(const py_graph *p) {
  if (!p->anchor) return p->after ? p->g->first : NULL;
  return p->after ? p->anchor->next : p->anchor;
}

static bool anchored(const py_graph *p) {
  if (!p->anchor || !p->anchor->erased) return true;
  PyErr_Format(PyExc_RuntimeError, "the place to insert at is gone: node '%s' was erased",
               p->anchor->name);
  return false;
}

// _create(op, target, args, kwargs, name) -> Node
static PyObject *graph_create(PyObject *o, PyObject *arguments) {
  py_graph *p = (py_graph *)o;
  const char *op = NULL;
  const char *name = NULL;
  PyObject *target = NULL;
  PyObject *args = NULL;
  PyObject *kwargs = NULL;
  if (!PyArg_ParseTuple(arguments, "sOOOs:_create", &op, &target, &args, &kwargs, &name)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_node proto = {.val = ig_none()};
  bool ok = anchored(p) && py_fx_set_target(c, p->g, op, target, &proto) &&
            py_fx_to_args(c, p->g, args, kwargs, &proto);
  if (ok && proto.kind == IG_NODE_OUTPUT) ok = py_fx_output(&proto);
  PyObject *out = NULL;
  if (ok) {
    void (*locate)(ig_ctx *, void *) = c->locate;
    c->locate = NULL;  // nodes made by hand have no source location
    ig_node *n = ig_graph_insert(c, p->g, place(p), &proto, name);
    c->locate = locate;
    out = n ? py_from_node(n) : py_raise(c);
  }
  ig_scope_close(c, s);
  return out;
}

// _insert_at(node or None, after) -> (node or None, after) before
static PyObject *graph_insert_at(PyObject *o, PyObject *args) {
  py_graph *p = (py_graph *)o;
  PyObject *node = NULL;
  int after = 0;
  if (!PyArg_ParseTuple(args, "Op:_insert_at", &node, &after)) return NULL;
  if (node != Py_None && (!py_is_fx_node(node) || py_fx_node_of(node)->graph != p->g)) {
    PyErr_Format(PyExc_AssertionError, "Node to insert %s is not in graph.",
                 after ? "after" : "before");
    return NULL;
  }
  PyObject *old = p->anchor ? py_from_node(p->anchor) : Py_NewRef(Py_None);
  if (!old) return NULL;
  PyObject *out = Py_BuildValue("(NO)", old, p->after ? Py_True : Py_False);
  if (!out) return NULL;
  p->anchor = node == Py_None ? NULL : py_fx_node_of(node);
  p->after = after != 0;
  return out;
}

static PyObject *graph_name(PyObject *o, PyObject *base) {
  const char *text = PyUnicode_AsUTF8(base);
  ig_ctx *c = py_ctx();
  const char *name = text ? ig_graph_name(c, graph_of(o), text) : NULL;
  if (!name) return text ? py_raise(c) : NULL;
  return PyUnicode_FromString(name);
}

static PyObject *graph_erase(PyObject *o, PyObject *node) {
  if (!py_is_fx_node(node) || py_fx_node_of(node)->graph != graph_of(o)) {
    PyErr_Format(PyExc_RuntimeError, "Attempting to remove %S from wrong graph!", node);
    return NULL;
  }
  ig_node *n = py_fx_node_of(node);
  if (n->users) {
    PyObject *users = PyObject_GetAttrString(node, "users");
    if (users) {
      PyErr_Format(PyExc_RuntimeError,
                   "Tried to erase Node %s but it still had %zu users in the graph: %R!", n->name,
                   n->users, users);
      Py_DECREF(users);
    }
    return NULL;
  }
  if (n->erased) {
    return PyErr_WarnFormat(PyExc_UserWarning, 1, "erase_node(%s) on an already erased node",
                            n->name) == 0
               ? Py_NewRef(Py_None)
               : NULL;
  }
  // The wrapper's metadata may still be read: it is created while it exists.
  if (n->extra && !n->host_meta && !py_fx_meta(py_ctx(), n)) return NULL;
  ig_graph_erase(graph_of(o), n);
  Py_RETURN_NONE;
}

// ---- inspection ----

static PyObject *graph_first(PyObject *o, void *unused) {
  (void)unused;
  return py_from_node(graph_of(o)->first);
}
static PyObject *graph_last(PyObject *o, void *unused) {
  (void)unused;
  return py_from_node(graph_of(o)->last);
}
static PyObject *graph_count(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(graph_of(o)->n);
}

// _list(op or None, target or None) -> list of nodes
static PyObject *graph_list(PyObject *o, PyObject *args) {
  const char *op = NULL;
  PyObject *target = Py_None;
  if (!PyArg_ParseTuple(args, "zO:_list", &op, &target)) return NULL;
  ig_ctx *c = py_ctx();
  PyObject *list = PyList_New(0);
  for (ig_node *n = graph_of(o)->first; list && n; n = n->next) {
    if (op && strcmp(py_fx_ops[n->kind], op) != 0) continue;
    if (target != Py_None) {
      PyObject *own = py_fx_target(c, n);
      int same = own ? PyObject_RichCompareBool(own, target, Py_EQ) : -1;
      Py_XDECREF(own);
      if (same < 0) Py_CLEAR(list);
      if (same <= 0) continue;
    }
    PyObject *node = py_from_node(n);
    if (!node || PyList_Append(list, node) != 0) Py_CLEAR(list);
    Py_XDECREF(node);
  }
  return list;
}

static PyObject *graph_find(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  return text ? py_from_node((ig_node *)ig_graph_find(graph_of(o), text)) : NULL;
}

static PyObject *own_text(ig_ctx *c, char *text) {
  if (!text) return py_raise(c);
  PyObject *out = PyUnicode_FromString(text);
  ig_text_free(c, text);
  return out;
}
static PyObject *graph_str(PyObject *o) {
  ig_ctx *c = py_ctx();
  return own_text(c, ig_graph_text(c, graph_of(o)));
}

static const char **texts(ig_ctx *c, PyObject *seq, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(seq);
  const char **at = ig_scope_array(c, *n, sizeof *at);
  for (size_t i = 0; at && i < *n; i++) {
    at[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(seq, (Py_ssize_t)i));
    if (!at[i]) return NULL;
  }
  if (!at) (void)py_ok(c);
  return at;
}

static bool tree_args(ig_ctx *c, PyObject *names, Py_ssize_t npos, PyObject *keys,
                      ig_tree_args *tree) {
  size_t nkeys = 0;
  if (!PyTuple_Check(names) || npos < 0) {
    PyErr_SetString(PyExc_TypeError, "names must be a tuple of str");
    return false;
  }
  tree->npos = (size_t)npos;
  tree->names = texts(c, names, &tree->n);
  if (keys == Py_None && tree->names && tree->npos == tree->n) return true;
  if (!PyTuple_Check(keys)) {
    PyErr_SetString(PyExc_TypeError, "keys must be a tuple of str");
    return false;
  }
  tree->keys = tree->names ? texts(c, keys, &nkeys) : NULL;
  if (!tree->keys) return false;
  if (tree->npos <= tree->n && nkeys >= tree->n - tree->npos) return true;
  PyErr_SetString(PyExc_ValueError, "fewer keys than arguments given by name");
  return false;
}

// _code(class name or None, names or None, npos, keys): with names, the code of a function that
// takes trees: npos positional arguments, the others by keys (None: the tree has no keyword
// arguments). With a class name, annotated.
static PyObject *graph_code(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *names = Py_None;
  PyObject *keys = NULL;
  Py_ssize_t npos = 0;
  if (!PyArg_ParseTuple(args, "zOnO:_code", &name, &names, &npos, &keys)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tree_args tree = {0};
  ig_tree_args *given = names == Py_None ? NULL : &tree;
  PyObject *out = NULL;
  if (!given || tree_args(c, names, npos, keys, &tree)) {
    out = own_text(c, name ? ig_graph_readable(c, graph_of(o), name, given)
                           : ig_graph_tree_code(c, graph_of(o), given));
  }
  ig_scope_close(c, s);
  return out;
}

// _code_part(part): see ig_code_part.
static PyObject *graph_code_part(PyObject *o, PyObject *part) {
  long number = PyLong_AsLong(part);
  if (number == -1 && PyErr_Occurred()) return NULL;
  if (number < IG_PART_PARAMETERS || number > IG_PART_RESULT) {
    return PyErr_Format(PyExc_ValueError, "part %ld of a graph's code; expected 0 to %d", number,
                        IG_PART_RESULT);
  }
  ig_ctx *c = py_ctx();
  return own_text(c, ig_graph_code_part(c, graph_of(o), (ig_code_part)number));
}

// ---- as a whole ----

static PyObject *graph_verify(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (ig_graph_lint(c, graph_of(o)) != IG_OK) return py_raise(c);
  Py_RETURN_NONE;
}
static PyObject *graph_dce(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromSize_t(ig_graph_dce(graph_of(o)));
}
static PyObject *graph_copy(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_graph *g = ig_graph_copy(c, graph_of(o));
  if (!g) return py_raise(c);
  PyObject *out = py_from_graph(g);
  ig_node *to = g->first;
  for (ig_node *n = graph_of(o)->first; out && n && to; n = n->next, to = to->next) {
    if (n->host_meta && !py_fx_set_meta(c, to, n->host_meta)) Py_CLEAR(out);
  }
  ig_graph_free(g);
  return out;
}
static PyObject *graph_sync(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_fx_sync(py_ctx(), graph_of(o)) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *graph_subs(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_graph *g = graph_of(o);
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < g->subs.n; i++) {
    PyObject *sub = py_from_graph(g->subs.at[i].graph);
    if (!sub || PyDict_SetItemString(dict, g->subs.at[i].name, sub) != 0) Py_CLEAR(dict);
    Py_XDECREF(sub);
  }
  return dict;
}

// Can the engine run the graph? Every target an operator or a switch of a mode, every value its
// own.
static PyObject *graph_native(PyObject *o, void *unused) {
  (void)unused;
  for (const ig_node *n = graph_of(o)->first; n; n = n->next) {
    bool help = n->kind == IG_NODE_MODULE || n->kind == IG_NODE_METHOD ||
                (n->kind == IG_NODE_ATTR && !n->constant && !n->sub) ||
                (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_HOST && !n->effect);
    for (size_t i = 0; i < n->npos + n->nkw && !help; i++) {
      help = n->args[i].kind == IG_KIND_OBJECT;
    }
    if (help) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

static bool run_inputs(ig_ctx *c, ig_graph *g, PyObject *tuple, ig_value **out, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(tuple);
  *out = ig_scope_array(c, *n, sizeof **out);
  if (!*out) return py_ok(c);
  for (size_t i = 0; i < *n; i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, (Py_ssize_t)i);
    (*out)[i] = ig_none();
    if (py_is_tensor(item)) {
      (*out)[i] = ig_of_tensor(py_tensor_of(item));
    } else if (!py_fx_to_value(c, g, item, &(*out)[i])) {
      return false;
    }
  }
  return true;
}

static PyObject *run_outputs(ig_ctx *c, const ig_graph *g, const ig_value *outs) {
  const ig_node *last = g->last;
  if (!last || last->kind != IG_NODE_OUTPUT) Py_RETURN_NONE;
  if (last->bare) return py_from_value(c, &outs[0]);
  PyObject *tuple = PyTuple_New((Py_ssize_t)last->npos);
  for (size_t i = 0; tuple && i < last->npos; i++) {
    PyObject *item = py_from_value(c, &outs[i]);
    if (!item) Py_CLEAR(tuple);
    if (item) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
  }
  return tuple;
}

// _run(inputs): one value per placeholder; what the output returns, None without one.
static PyObject *graph_run(PyObject *o, PyObject *inputs) {
  ig_ctx *c = py_ctx();
  ig_graph *g = graph_of(o);
  if (!PyTuple_Check(inputs)) {
    PyErr_SetString(PyExc_TypeError, "the inputs of a graph come as a tuple");
    return NULL;
  }
  size_t nouts = g->last && g->last->kind == IG_NODE_OUTPUT ? g->last->npos : 0;
  ig_scope s = ig_scope_open(c);
  ig_value *values = NULL;
  size_t n = 0;
  PyObject *out = NULL;
  ig_value *outs = ig_scope_array(c, nouts + 1, sizeof *outs);
  (void)ig_graph_retain(g);
  if (!outs) {
    (void)py_ok(c);
  } else if (run_inputs(c, g, inputs, &values, &n)) {
    ig_status st = ig_graph_run(c, g, values, n, outs);
    out = st == IG_OK ? run_outputs(c, g, outs) : py_raise(c);
  }
  ig_graph_free(g);
  ig_scope_close(c, s);
  return out;
}

static PyGetSetDef getset[] = {
    {"_first", graph_first, NULL, NULL, NULL},
    {"_last", graph_last, NULL, NULL, NULL},
    {"_count", graph_count, NULL, NULL, NULL},
    {"_native", graph_native, NULL, "Runs in the engine alone.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"_create", graph_create, METH_VARARGS, NULL},
    {"_insert_at", graph_insert_at, METH_VARARGS, NULL},
    {"_name", graph_name, METH_O, "A name that nothing has yet."},
    {"_erase", graph_erase, METH_O, NULL},
    {"_list", graph_list, METH_VARARGS, NULL},
    {"_find", graph_find, METH_O, "The node of a name, or None."},
    {"_code", graph_code, METH_VARARGS, NULL},
    {"_code_part", graph_code_part, METH_O, "Parameters, type of the result, body, result."},
    {"_verify", graph_verify, METH_NOARGS, NULL},
    {"_dce", graph_dce, METH_NOARGS, "How many nodes went."},
    {"_copy", graph_copy, METH_NOARGS, "With sub-graphs and metadata."},
    {"_sync", graph_sync, METH_NOARGS, NULL},
    {"_subs", graph_subs, METH_NOARGS, "Sub-graphs by attribute name."},
    {"_run", graph_run, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_graph_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Graph",
    .tp_basicsize = sizeof(py_graph),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = graph_new,
    .tp_dealloc = graph_dealloc,
    .tp_traverse = graph_traverse,
    .tp_clear = graph_clear,
    .tp_str = graph_str,
    .tp_dictoffset = offsetof(py_graph, dict),
    .tp_weaklistoffset = offsetof(py_graph, weak),
    .tp_getset = getset,
    .tp_methods = methods,
};

int py_add_fx(PyObject *m) {
  if (PyType_Ready(&py_graph_type) != 0 || PyType_Ready(&py_fx_node_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "FxGraph", (PyObject *)&py_graph_type) ||
         PyModule_AddObjectRef(m, "FxNode", (PyObject *)&py_fx_node_type);
}
