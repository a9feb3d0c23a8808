// SPDX-License-Identifier: Apache-2.0
// The Node type: what torch.fx.Node shows, read from and written to the engine's node.
#include "fx.h"

#include <stdint.h>
#include <string.h>

static ig_node *node_of(PyObject *o) {
  return py_fx_node_of(o);
}

PyObject *py_from_node(ig_node *n) {
  if (!n) Py_RETURN_NONE;
  if (n->extra) return Py_NewRef((PyObject *)n->extra);
  PyTypeObject *type = (PyTypeObject *)py_fx_class("ingot.fx.node", "Node");
  PyObject *graph = type ? py_from_graph(n->graph) : NULL;
  py_fx_node *o = graph ? (py_fx_node *)type->tp_alloc(type, 0) : NULL;
  if (!o) {
    Py_XDECREF(graph);
    return NULL;
  }
  o->n = n;
  o->graph = graph;
  n->extra = o;
  return (PyObject *)o;
}

static int node_traverse(PyObject *o, visitproc visit, void *arg) {
  py_fx_node *p = (py_fx_node *)o;
  Py_VISIT(p->graph);
  Py_VISIT(p->dict);
  return 0;
}
static int node_clear(PyObject *o) {
  Py_CLEAR(((py_fx_node *)o)->dict);
  return 0;
}
static void node_dealloc(PyObject *o) {
  py_fx_node *p = (py_fx_node *)o;
  PyObject_GC_UnTrack(o);
  if (p->weak) PyObject_ClearWeakRefs(o);
  if (p->n && p->n->extra == o) p->n->extra = NULL;
  Py_XDECREF(p->dict);
  Py_XDECREF(p->graph);
  Py_TYPE(o)->tp_free(o);
}
static PyObject *node_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)type;
  (void)args;
  (void)kwargs;
  PyErr_SetString(PyExc_TypeError, "a Node is made by its graph: use graph.create_node");
  return NULL;
}

// An extra Python attribute makes the object part of the graph.
static int node_setattro(PyObject *o, PyObject *name, PyObject *value) {
  py_fx_node *p = (py_fx_node *)o;
  if (PyObject_GenericSetAttr(o, name, value) != 0) return -1;
  py_graph *g = (py_graph *)p->graph;
  if (!p->dict || PyDict_GET_SIZE(p->dict) == 0) return 0;
  if (!g->kept) g->kept = PySet_New(NULL);
  return g->kept ? PySet_Add(g->kept, o) : -1;
}

static PyObject *node_repr(PyObject *o) {
  return PyUnicode_FromString(node_of(o)->name);
}

// Nodes are ordered by their places in the graph, and equal if they are the same object.
static PyObject *node_compare(PyObject *a, PyObject *b, int how) {
  if (!py_is_fx_node(b) || how == Py_EQ || how == Py_NE) Py_RETURN_NOTIMPLEMENTED;
  const ig_node *x = node_of(a);
  const ig_node *y = node_of(b);
  bool less = how == Py_LT || how == Py_LE;
  bool same = x == y && (how == Py_LE || how == Py_GE);
  return PyBool_FromLong(same || (less ? ig_node_precedes(x, y) : ig_node_precedes(y, x)));
}
static Py_hash_t node_hash(PyObject *o) {
  return (Py_hash_t)((uintptr_t)o >> 4);
}

static PyObject *get_graph(PyObject *o, void *unused) {
  (void)unused;
  return Py_NewRef(((py_fx_node *)o)->graph);
}
static PyObject *get_op(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(py_fx_ops[node_of(o)->kind]);
}
static PyObject *get_name(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(node_of(o)->name);
}
static bool deleted(const PyObject *value, const char *what) {
  if (value) return false;
  PyErr_Format(PyExc_TypeError, "%s of a node cannot be deleted", what);
  return true;
}
static int set_name(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  if (deleted(value, "the name")) return -1;
  const char *text = PyUnicode_AsUTF8(value);
  ig_ctx *c = py_ctx();
  if (!text) return -1;
  ig_node *n = node_of(o);
  const char *target = n->target;  // the parameter of the code keeps its name
  if (!ig_graph_set_name(c, n->graph, n, text)) (void)py_ok(c);
  if (n->kind == IG_NODE_PLACEHOLDER) n->target = target;
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *get_target(PyObject *o, void *unused) {
  (void)unused;
  return py_fx_target(py_ctx(), node_of(o));
}
static int set_target(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  ig_node *n = node_of(o);
  ig_ctx *c = py_ctx();
  ig_node proto = {0};
  if (deleted(value, "the target")) return -1;
  if (!py_fx_set_target(c, n->graph, py_fx_ops[n->kind], value, &proto)) return -1;
  if (!ig_graph_keep_object(c, n->graph, proto.host_fn)) {
    (void)py_ok(c);
    return -1;
  }
  n->callee = proto.callee;
  n->arith = proto.arith;
  n->op = proto.op;
  n->hop = proto.hop;
  n->host_fn = proto.host_fn;
  n->effect = proto.effect;
  n->target = proto.target;
  return 0;
}

// An output shows one argument: what is returned.
static PyObject *get_args(PyObject *o, void *unused) {
  (void)unused;
  const ig_node *n = node_of(o);
  ig_ctx *c = py_ctx();
  if (n->kind == IG_NODE_OUTPUT && !n->bare) {
    ig_value all = ig_of_tuple(n->args, n->npos);
    return py_fx_tuple(c, &all, 1);
  }
  return py_fx_tuple(c, n->args, n->npos);
}
static PyObject *get_kwargs(PyObject *o, void *unused) {
  (void)unused;
  const ig_node *n = node_of(o);
  return py_fx_dict(py_ctx(), n->keys, n->args + n->npos, n->nkw);
}

bool py_fx_output(ig_node *proto) {
  if (proto->npos != 1 || proto->nkw) {
    PyErr_SetString(PyExc_TypeError, "an output takes one argument: what is returned");
    return false;
  }
  const ig_value *v = &proto->args[0];
  proto->bare = v->kind != IG_KIND_LIST || v->seq != IG_SEQ_TUPLE;
  if (!proto->bare) {
    proto->npos = v->list.n;
    proto->args = v->list.at;
  }
  return true;
}

static int set_arguments(PyObject *o, PyObject *args, PyObject *kwargs) {
  ig_node *n = node_of(o);
  ig_ctx *c = py_ctx();
  ig_node proto = {0};
  ig_scope s = ig_scope_open(c);
  bool ok = py_fx_to_args(c, n->graph, args, kwargs, &proto);
  if (ok && n->kind == IG_NODE_OUTPUT) ok = py_fx_output(&proto);
  if (ok && n->erased) {
    PyErr_Format(PyExc_RuntimeError, "node '%s' was erased from its graph", n->name);
    ok = false;
  }
  if (ok) {
    ok = ig_node_set_args(c, n, proto.args, proto.npos, proto.nkw, proto.keys);
    if (ok) n->bare = proto.bare;
    if (!ok) (void)py_ok(c);
  }
  ig_scope_close(c, s);
  return ok ? 0 : -1;
}
static int set_args(PyObject *o, PyObject *value, void *unused) {
  if (deleted(value, "args")) return -1;
  PyObject *args = PyList_Check(value) ? PyList_AsTuple(value) : Py_NewRef(value);
  PyObject *kwargs = args ? get_kwargs(o, unused) : NULL;
  int st = kwargs ? set_arguments(o, args, kwargs) : -1;
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  return st;
}
static int set_kwargs(PyObject *o, PyObject *value, void *unused) {
  if (deleted(value, "kwargs")) return -1;
  PyObject *args = get_args(o, unused);
  int st = args ? set_arguments(o, args, value) : -1;
  Py_XDECREF(args);
  return st;
}

static PyObject *get_users(PyObject *o, void *unused) {
  (void)unused;
  PyObject *dict = PyDict_New();
  for (const ig_use *u = node_of(o)->first_use; dict && u; u = u->next) {
    PyObject *user = py_from_node(u->user);
    if (!user || PyDict_SetItem(dict, user, Py_None) != 0) Py_CLEAR(dict);
    Py_XDECREF(user);
  }
  return dict;
}
static PyObject *get_inputs(PyObject *o, void *unused) {
  (void)unused;
  const ig_node *n = node_of(o);
  PyObject *list = PyList_New((Py_ssize_t)n->ninputs);
  for (size_t i = 0; list && i < n->ninputs; i++) {
    PyObject *item = py_from_node(n->inputs[i]);
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}
static PyObject *get_input_nodes(PyObject *o, void *unused) {
  PyObject *list = get_inputs(o, unused);
  PyObject *dict = list ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; dict && i < PyList_GET_SIZE(list); i++) {
    if (PyDict_SetItem(dict, PyList_GET_ITEM(list, i), Py_None) != 0) Py_CLEAR(dict);
  }
  Py_XDECREF(list);
  return dict;
}
static PyObject *get_next(PyObject *o, void *unused) {
  (void)unused;
  return py_from_node(node_of(o)->next);
}
static PyObject *get_prev(PyObject *o, void *unused) {
  (void)unused;
  return py_from_node(node_of(o)->prev);
}
static PyObject *get_meta(PyObject *o, void *unused) {
  (void)unused;
  return Py_XNewRef(py_fx_meta(py_ctx(), node_of(o)));
}
static int set_meta(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  if (deleted(value, "meta")) return -1;
  return py_fx_set_meta(py_ctx(), node_of(o), value) ? 0 : -1;
}
static PyObject *get_type(PyObject *o, void *unused) {
  (void)unused;
  const ig_node *n = node_of(o);
  return Py_NewRef(n->type ? (PyObject *)n->type : Py_None);
}
// The texts come from ingot.fx.node._type_texts: how code and the list of nodes spell the type.
static int set_type(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  ig_node *n = node_of(o);
  ig_ctx *c = py_ctx();
  if (deleted(value, "the type")) return -1;
  if (value == Py_None) {
    n->type = NULL;
    n->type_code = n->type_text = NULL;
    return 0;
  }
  PyObject *fn = py_fx_class("ingot.fx.node", "_type_texts");
  PyObject *pair = fn ? PyObject_CallOneArg(fn, value) : NULL;
  const char *code = NULL;
  const char *text = NULL;
  bool ok = pair && PyArg_ParseTuple(pair, "ss", &code, &text);
  if (ok) {
    code = ig_graph_keep_text(c, n->graph, code);
    text = code ? ig_graph_keep_text(c, n->graph, text) : NULL;
    ok = text && ig_graph_keep_object(c, n->graph, value);
    if (!ok) (void)py_ok(c);
  }
  if (ok) {
    n->type = value;
    n->type_code = code;
    n->type_text = text;
  }
  Py_XDECREF(pair);
  return ok ? 0 : -1;
}
static PyObject *has_meta(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(node_of(o)->host_meta != NULL);
}
static PyObject *get_erased(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(node_of(o)->erased);
}
static PyObject *get_effect(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(node_of(o)->effect);
}
static PyObject *get_bare(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(node_of(o)->bare);
}

// ---- moving ----

static bool same_graph(const ig_node *a, PyObject *other, ig_node **b) {
  if (!py_is_fx_node(other)) {
    PyErr_Format(PyExc_TypeError, "expected a Node, not %s", Py_TYPE(other)->tp_name);
    return false;
  }
  *b = node_of(other);
  if ((*b)->graph != a->graph) {
    PyErr_SetString(PyExc_AssertionError, "Attempting to move a Node into a different Graph");
    return false;
  }
  if (a->erased || (*b)->erased) {
    PyErr_Format(PyExc_RuntimeError, "node '%s' was erased from its graph",
                 a->erased ? a->name : (*b)->name);
    return false;
  }
  return true;
}

// prepend(x): moves x right before this node.
static PyObject *node_prepend(PyObject *o, PyObject *x) {
  ig_node *other = NULL;
  if (!same_graph(node_of(o), x, &other)) return NULL;
  ig_graph_move(node_of(o)->graph, other, node_of(o));
  Py_RETURN_NONE;
}
static PyObject *node_append(PyObject *o, PyObject *x) {
  ig_node *other = NULL;
  ig_node *n = node_of(o);
  if (!same_graph(n, x, &other)) return NULL;
  if (other != n && n->next != other) ig_graph_move(n->graph, other, n->next);
  Py_RETURN_NONE;
}

static PyObject *node_replace_input(PyObject *o, PyObject *args) {
  PyObject *from = NULL;
  PyObject *to = NULL;
  ig_node *a = NULL;
  ig_node *b = NULL;
  if (!PyArg_ParseTuple(args, "OO:replace_input_with", &from, &to)) return NULL;
  if (!same_graph(node_of(o), from, &a) || !same_graph(node_of(o), to, &b)) return NULL;
  ig_ctx *c = py_ctx();
  if (!ig_node_replace_input(c, node_of(o), a, b)) return py_raise(c);
  Py_RETURN_NONE;
}

// _replace(to, users): those of its users use `to` instead.
static PyObject *node_replace(PyObject *o, PyObject *args) {
  PyObject *to = NULL;
  PyObject *users = NULL;
  ig_node *b = NULL;
  if (!PyArg_ParseTuple(args, "OO!:_replace", &to, &PyList_Type, &users)) return NULL;
  if (!same_graph(node_of(o), to, &b)) return NULL;
  ig_ctx *c = py_ctx();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(users); i++) {
    ig_node *u = NULL;
    if (!same_graph(node_of(o), PyList_GET_ITEM(users, i), &u)) return NULL;
    if (!ig_node_replace_input(c, u, node_of(o), b)) return py_raise(c);
  }
  Py_RETURN_NONE;
}

static PyObject *node_rename(PyObject *o, PyObject *value) {
  const char *text = PyUnicode_AsUTF8(value);
  ig_ctx *c = py_ctx();
  if (!text) return NULL;
  ig_node *n = node_of(o);
  if (strcmp(text, n->name) != 0 && !ig_graph_rename(c, n->graph, n, text)) return py_raise(c);
  Py_RETURN_NONE;
}

// _set_attr(tensor, Graph or any object): sets the value of a get_attr node.
static PyObject *node_set_attr(PyObject *o, PyObject *value) {
  ig_node *n = node_of(o);
  ig_ctx *c = py_ctx();
  if (py_is_tensor(value)) {
    ig_node_set_attr(n, py_tensor_of(value), NULL, NULL);
  } else if (PyObject_TypeCheck(value, &py_graph_type)) {
    ig_graph *sub = py_graph_of(value);
    if (!ig_graph_set_sub(c, n->graph, n->target, sub)) return py_raise(c);
    ig_node_set_attr(n, NULL, sub, NULL);
  } else {
    if (n->object != value && !ig_graph_keep_object(c, n->graph, value)) return py_raise(c);
    ig_node_set_attr(n, NULL, NULL, value);
  }
  Py_RETURN_NONE;
}

static PyObject *node_attr(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_node *n = node_of(o);
  if (n->sub) return py_from_graph(n->sub);
  if (n->object) return Py_NewRef((PyObject *)n->object);
  return py_from_tensor(py_ctx(), n->constant);
}

static PyObject *node_text(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  char *text = ig_node_text(c, node_of(o));
  if (!text) return py_raise(c);
  PyObject *out = PyUnicode_FromString(text);
  ig_text_free(c, text);
  return out;
}

static PyGetSetDef getset[] = {
    {"graph", get_graph, NULL, NULL, NULL},
    {"op", get_op, NULL, "placeholder, get_attr, call_function, call_module, call_method, output",
     NULL},
    {"name", get_name, set_name, NULL, NULL},
    {"target", get_target, set_target, NULL, NULL},
    {"args", get_args, set_args, NULL, NULL},
    {"kwargs", get_kwargs, set_kwargs, NULL, NULL},
    {"users", get_users, NULL, "The nodes that read this one, in order of age.", NULL},
    {"all_input_nodes", get_inputs, NULL, "Distinct operands in order of appearance.", NULL},
    {"_input_nodes", get_input_nodes, NULL, NULL, NULL},
    {"next", get_next, NULL, NULL, NULL},
    {"prev", get_prev, NULL, NULL, NULL},
    {"_next", get_next, NULL, NULL, NULL},
    {"_prev", get_prev, NULL, NULL, NULL},
    {"meta", get_meta, set_meta, NULL, NULL},
    {"type", get_type, set_type, "The type that the program declared; None: none.", NULL},
    {"_has_meta", has_meta, NULL, "Has Python asked for its metadata?", NULL},
    {"_erased", get_erased, NULL, NULL, NULL},
    {"_effect", get_effect, NULL, NULL, NULL},
    {"_bare", get_bare, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"prepend", node_prepend, METH_O, "Moves a node right before this one."},
    {"append", node_append, METH_O, "Moves a node right behind this one."},
    {"replace_input_with", node_replace_input, METH_VARARGS, NULL},
    {"_replace", node_replace, METH_VARARGS, NULL},
    {"_rename", node_rename, METH_O, NULL},
    {"_set_attr", node_set_attr, METH_O, NULL},
    {"_attr", node_attr, METH_NOARGS, NULL},
    {"_text", node_text, METH_NOARGS, "The line of the graph's printed form."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_fx_node_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.FxNode",
    .tp_basicsize = sizeof(py_fx_node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = node_new,
    .tp_dealloc = node_dealloc,
    .tp_traverse = node_traverse,
    .tp_clear = node_clear,
    .tp_repr = node_repr,
    .tp_richcompare = node_compare,
    .tp_hash = node_hash,
    .tp_setattro = node_setattro,
    .tp_dictoffset = offsetof(py_fx_node, dict),
    .tp_weaklistoffset = offsetof(py_fx_node, weak),
    .tp_getset = getset,
    .tp_methods = methods,
};
