// SPDX-License-Identifier: Apache-2.0
// grad_fn and hooks: autograd functions as Python objects (one class per name, one object per
// function), hooks on tensors and functions, and the handles that remove them.
#include "ingot/grad.h"

#include <string.h>

#include "py.h"

// A tensor owned by the innermost scope, as the engine expects from its host.
ig_tensor *py_lend(ig_ctx *c, PyObject *o) {
  ig_tensor *t = ig_tensor_retain(py_tensor_of(o));
  return ig_pool_add(c, &t->ref) ? t : NULL;
}

void py_host_failed(ig_ctx *c) {
  ig_fail_text(c, IG_HOST, "error in Python");
}

void py_drop(void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)user);
  PyGILState_Release(state);
}

// ---- hooks ----

typedef struct py_handle {
  PyObject_HEAD PyObject *owner;  // tensor or function; NULL: removed
  uint64_t number;
} py_handle;

static PyTypeObject handle_type;
static PyTypeObject node_type;

typedef struct py_node {
  PyObject_HEAD ig_grad_fn *f;
  PyObject *leaf;  // of an AccumulateGrad; then f is NULL
  PyObject *dict;
  PyObject *weak;
} py_node;

static PyObject *handle_make(PyObject *owner, uint64_t number) {
  py_handle *h = PyObject_New(py_handle, &handle_type);
  if (!h) return NULL;
  h->owner = Py_NewRef(owner);
  h->number = number;
  return (PyObject *)h;
}
static void handle_dealloc(PyObject *o) {
  Py_XDECREF(((py_handle *)o)->owner);
  PyObject_Free(o);
}
static PyObject *handle_remove(PyObject *o, PyObject *unused) {
  (void)unused;
  py_handle *h = (py_handle *)o;
  if (!h->owner) Py_RETURN_NONE;
  ig_ctx *c = py_ctx();
  if (py_is_tensor(h->owner)) {
    ig_tensor_remove_hook(c, py_tensor_of(h->owner), h->number);
  } else if (((py_node *)h->owner)->f) {
    ig_grad_fn_remove_hook(c, ((py_node *)h->owner)->f, h->number);
  }
  Py_CLEAR(h->owner);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}
static PyObject *handle_enter(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}
static PyObject *handle_id(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(((py_handle *)o)->number);
}
static PyGetSetDef handle_getset[] = {
    {"id", handle_id, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef handle_methods[] = {
    {"remove", handle_remove, METH_NOARGS, NULL},
    {"__enter__", handle_enter, METH_NOARGS, NULL},
    {"__exit__", handle_remove, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject handle_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._HookHandle",
    .tp_basicsize = sizeof(py_handle),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = handle_dealloc,
    .tp_getset = handle_getset,
    .tp_methods = handle_methods,
};

// hook(grad) -> another gradient or None
static ig_tensor *call_hook(ig_ctx *c, ig_tensor *grad, void *user) {
  PyObject *g = py_from_tensor(c, grad);
  PyObject *answer = g ? PyObject_CallOneArg(user, g) : NULL;
  ig_tensor *out = NULL;
  if (!answer) {
    py_host_failed(c);
  } else if (answer != Py_None && !py_is_tensor(answer)) {
    PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'",
                 Py_TYPE(answer)->tp_name);
    py_host_failed(c);
  } else if (answer != Py_None) {
    out = py_lend(c, answer);
  }
  Py_XDECREF(answer);
  Py_XDECREF(g);
  return out;
}

static PyObject *add_hook(PyObject *o, PyObject *fn, bool post) {
  ig_ctx *c = py_ctx();
  ig_grad_hook hook = {call_hook, py_drop, Py_NewRef(fn)};
  ig_tensor *t = py_tensor_of(o);
  uint64_t number = post ? ig_tensor_add_post_hook(c, t, &hook) : ig_tensor_add_hook(c, t, &hook);
  if (!py_ok(c)) return NULL;
  return handle_make(o, number);
}
static PyObject *register_hook(PyObject *o, PyObject *fn) {
  if (!py_settled_for_hook(o)) return NULL;
  return add_hook(o, fn, false);
}

// The result of a post hook is ignored.
static ig_tensor *call_post(ig_ctx *c, ig_tensor *leaf, void *user) {
  PyObject *t = py_from_tensor(c, leaf);
  PyObject *answer = t ? PyObject_CallOneArg(user, t) : NULL;
  if (!answer) py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(t);
  return NULL;
}
static PyObject *register_post(PyObject *o, PyObject *fn) {
  if (!py_settled(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_grad_hook hook = {call_post, py_drop, Py_NewRef(fn)};
  uint64_t number = ig_tensor_add_post_hook(c, py_tensor_of(o), &hook);
  return py_ok(c) ? handle_make(o, number) : NULL;
}

// ---- grad_fn ----

static PyObject *node_types;  // name -> class, so that type(x.grad_fn).__name__ names the operator

static PyTypeObject *type_named(const char *name) {
  PyObject *found = PyDict_GetItemString(node_types, name);
  if (found) return (PyTypeObject *)found;
  PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(O){s:s}", name, &node_type,
                                         "__module__", "torch.autograd.graph");
  if (made && PyDict_SetItemString(node_types, name, made) != 0) Py_CLEAR(made);
  Py_XDECREF(made);  // the dict keeps it
  return (PyTypeObject *)made;
}

PyObject *py_node_wrap(ig_grad_fn *f) {
  if (!f) Py_RETURN_NONE;
  void *host = ig_grad_fn_host(f);
  if (host) return Py_NewRef((PyObject *)host);
  char name[128];
  PyTypeObject *type = type_named(ig_grad_fn_name(f, name, sizeof name));
  py_node *o = type ? (py_node *)type->tp_alloc(type, 0) : NULL;
  if (!o) return NULL;
  o->f = ig_grad_fn_retain(f);
  ig_grad_fn_set_host(f, o);
  return (PyObject *)o;
}

static PyObject *leaf_wrap(ig_ctx *c, ig_tensor *leaf) {
  PyTypeObject *type = type_named("AccumulateGrad");
  PyObject *t = type ? py_from_tensor(c, leaf) : NULL;
  py_node *o = t ? (py_node *)type->tp_alloc(type, 0) : NULL;
  if (o) {
    o->leaf = t;
  } else {
    Py_XDECREF(t);
  }
  return (PyObject *)o;
}

static int node_traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(((py_node *)o)->dict);
  Py_VISIT(((py_node *)o)->leaf);
  return 0;
}
static int node_clear(PyObject *o) {
  Py_CLEAR(((py_node *)o)->dict);
  return 0;
}
static void node_dealloc(PyObject *o) {
  py_node *n = (py_node *)o;
  PyObject_GC_UnTrack(o);
  if (n->weak) PyObject_ClearWeakRefs(o);
  Py_CLEAR(n->dict);
  Py_CLEAR(n->leaf);
  if (n->f) {
    ig_grad_fn_set_host(n->f, NULL);
    ig_grad_fn_release(n->f);
  }
  Py_TYPE(o)->tp_free(o);
}

static PyObject *node_name(PyObject *o, PyObject *unused) {
  (void)unused;
  py_node *n = (py_node *)o;
  if (!n->f) return PyUnicode_FromString("struct torch::autograd::AccumulateGrad");
  char name[128];
  return PyUnicode_FromString(ig_grad_fn_full_name(n->f, name, sizeof name));
}

static PyObject *node_next(PyObject *o, void *unused) {
  (void)unused;
  py_node *n = (py_node *)o;
  ig_ctx *c = py_ctx();
  PyObject *list = PyList_New(0);
  ig_grad_fn *next = NULL;
  ig_tensor *leaf = NULL;
  uint32_t index = 0;
  for (size_t i = 0; list && n->f && ig_grad_fn_next(n->f, i, &next, &index, &leaf); i++) {
    PyObject *fn = leaf ? leaf_wrap(c, leaf) : py_node_wrap(next);
    PyObject *pair = fn ? Py_BuildValue("(NI)", fn, leaf ? 0U : index) : NULL;
    if (!pair || PyList_Append(list, pair) != 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
  Py_XDECREF(list);
  return tuple;
}
static PyObject *node_variable(PyObject *o, void *unused) {
  (void)unused;
  if (((py_node *)o)->leaf) return Py_NewRef(((py_node *)o)->leaf);
  PyErr_SetString(PyExc_AttributeError, "variable");
  return NULL;
}
static PyObject *node_saved(PyObject *o, void *unused) {
  (void)unused;
  py_node *n = (py_node *)o;
  ig_ctx *c = py_ctx();
  size_t count = n->f ? ig_grad_fn_saved_count(n->f) : 0;
  PyObject *out = PyTuple_New((Py_ssize_t)count);
  ig_scope s = ig_scope_open(c);
  for (size_t i = 0; out && i < count; i++) {
    PyObject *t = py_from_tensor(c, ig_grad_fn_saved(c, n->f, i));
    if (!t) Py_CLEAR(out);
    if (t) PyTuple_SET_ITEM(out, (Py_ssize_t)i, t);
  }
  ig_scope_close(c, s);
  return out;
}
static PyObject *node_wants(PyObject *o, PyObject *i) {
  py_node *n = (py_node *)o;
  size_t index = PyLong_AsSize_t(i);
  if (PyErr_Occurred()) return NULL;
  return PyBool_FromLong(n->f && ig_grad_fn_wants(n->f, index));
}

// Hooks on a function take and return tuples.
PyObject *py_grads_tuple(ig_ctx *c, ig_tensor *const *grads, size_t n) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *g = py_from_tensor(c, grads[i]);
    if (!g) Py_CLEAR(tuple);
    if (g) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, g);
  }
  return tuple;
}
// A single tensor is treated as a tuple of one.
bool py_take_grads(ig_ctx *c, PyObject *answer, ig_tensor **grads, size_t n, const char *who) {
  PyObject *seq = py_is_tensor(answer) ? PyTuple_Pack(1, answer) : PySequence_Tuple(answer);
  if (!seq) return false;
  bool ok = (size_t)PyTuple_GET_SIZE(seq) == n;
  if (!ok) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s returned an incorrect number of gradients (expected %zu, got %zd)", who, n,
                 PyTuple_GET_SIZE(seq));
  }
  for (size_t i = 0; ok && i < n; i++) {
    PyObject *g = PyTuple_GET_ITEM(seq, (Py_ssize_t)i);
    if (g == Py_None) {
      grads[i] = NULL;
    } else if (py_is_tensor(g)) {
      grads[i] = py_lend(c, g);
    } else {
      PyErr_Format(PyExc_TypeError, "%s: expected Variable or None (got %s)", who,
                   Py_TYPE(g)->tp_name);
      ok = false;
    }
  }
  Py_DECREF(seq);
  return ok;
}

static void call_node_hook(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
                           size_t nresults, void *user) {
  PyObject *inputs = py_grads_tuple(c, grads, n);
  PyObject *outputs = inputs ? py_grads_tuple(c, of_results, nresults) : NULL;
  PyObject *answer = outputs ? PyObject_CallFunctionObjArgs(user, inputs, outputs, NULL) : NULL;
  if (!answer || (answer != Py_None && !py_take_grads(c, answer, grads, n, "hook")))
    py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(inputs);
  Py_XDECREF(outputs);
}
static void call_node_prehook(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
                              size_t nresults, void *user) {
  (void)of_results;
  (void)nresults;
  PyObject *outputs = py_grads_tuple(c, grads, n);
  PyObject *answer = outputs ? PyObject_CallOneArg(user, outputs) : NULL;
  if (!answer || (answer != Py_None && !py_take_grads(c, answer, grads, n, "hook")))
    py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(outputs);
}
static PyObject *add_node_hook(PyObject *o, PyObject *fn, bool pre) {
  py_node *n = (py_node *)o;
  ig_ctx *c = py_ctx();
  if (!n->f) return add_hook(n->leaf, fn, !pre);
  ig_grad_fn_hook hook = {pre, pre ? call_node_prehook : call_node_hook, py_drop, Py_NewRef(fn)};
  uint64_t number = ig_grad_fn_add_hook(c, n->f, &hook);
  return py_ok(c) ? handle_make(o, number) : NULL;
}
static PyObject *node_register(PyObject *o, PyObject *fn) {
  return add_node_hook(o, fn, false);
}
static PyObject *node_preregister(PyObject *o, PyObject *fn) {
  return add_node_hook(o, fn, true);
}
static PyObject *node_metadata(PyObject *o, void *unused) {
  (void)unused;
  py_node *n = (py_node *)o;
  if (!n->dict && !(n->dict = PyDict_New())) return NULL;
  PyObject *found = PyDict_GetItemString(n->dict, "metadata");
  if (found) return Py_NewRef(found);
  PyObject *made = PyDict_New();
  if (made && PyDict_SetItemString(n->dict, "metadata", made) != 0) Py_CLEAR(made);
  return made;
}

static PyGetSetDef node_getset[] = {
    {"next_functions", node_next, NULL, NULL, NULL},
    {"variable", node_variable, NULL, NULL, NULL},
    {"saved_tensors", node_saved, NULL, NULL, NULL},
    {"metadata", node_metadata, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, NULL},
    {"register_hook", node_register, METH_O, NULL},
    {"register_prehook", node_preregister, METH_O, NULL},
    {"_wants", node_wants, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject node_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Node",
    .tp_basicsize = sizeof(py_node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = node_dealloc,
    .tp_traverse = node_traverse,
    .tp_clear = node_clear,
    .tp_dictoffset = offsetof(py_node, dict),
    .tp_weaklistoffset = offsetof(py_node, weak),
    .tp_getset = node_getset,
    .tp_methods = node_methods,
};

static PyMethodDef tensor_methods[] = {
    {"register_hook", register_hook, METH_O, NULL},
    {"register_post_accumulate_grad_hook", register_post, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_nodes(PyObject *m) {
  node_types = PyDict_New();
  if (!node_types || PyType_Ready(&node_type) != 0 || PyType_Ready(&handle_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "GradNode", (PyObject *)&node_type) ||
         py_tensor_add(tensor_methods, NULL);
}
