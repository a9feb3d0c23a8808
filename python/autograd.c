// SPDX-License-Identifier: Apache-2.0
// Gradients at the tensor: requires_grad, grad, grad_fn, backward, hooks; the switches of the
// context; what ingot.autograd is built on (_run_backward, _make_function).
#include "ingot/grad.h"

#include <string.h>

#include "py.h"

// A tensor handed to the innermost scope, which is what the engine wants from its host.
static ig_tensor *lend(ig_ctx *c, PyObject *o) {
  ig_tensor *t = ig_tensor_retain(py_tensor_of(o));
  return ig_pool_add(c, &t->ref) ? t : NULL;
}

static void host_failed(ig_ctx *c) {
  ig_fail_text(c, IG_HOST, "error in Python");
}

static void drop(void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)user);
  PyGILState_Release(state);
}

// ---- attributes ----

static PyObject *get_requires_grad(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(py_tensor_of(o)->requires_grad);
}
static int set_requires_grad(PyObject *o, PyObject *on, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!on || !PyBool_Check(on)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  ig_tensor_set_requires_grad(c, py_tensor_of(o), on == Py_True);
  return py_ok(c) ? 0 : -1;
}
static PyObject *requires_grad_(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"requires_grad", NULL};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", keys, &on)) return NULL;
  const ig_tensor *t = py_tensor_of(o);
  if (on && !ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "only Tensors of floating point dtype can require gradients");
    return NULL;
  }
  return set_requires_grad(o, on ? Py_True : Py_False, NULL) == 0 ? Py_NewRef(o) : NULL;
}

static PyObject *get_grad(PyObject *o, void *unused) {
  (void)unused;
  return py_from_tensor(py_ctx(), ig_tensor_grad(py_tensor_of(o)));
}
static int set_grad(PyObject *o, PyObject *grad, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  bool none = !grad || grad == Py_None;
  if (!none && !py_is_tensor(grad)) {
    PyErr_Format(PyExc_TypeError,
                 "assigned grad expected to be a Tensor or None but got grad of type %s",
                 Py_TYPE(grad)->tp_name);
    return -1;
  }
  if (grad == o) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  ig_tensor_set_grad(c, py_tensor_of(o), none ? NULL : py_tensor_of(grad));
  return py_ok(c) ? 0 : -1;
}

static PyObject *get_is_leaf(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  bool yes = ig_tensor_is_leaf(c, py_tensor_of(o));
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}
static PyObject *get_retains_grad(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(ig_tensor_retains_grad(py_tensor_of(o)));
}
static PyObject *get_version(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLong(ig_tensor_version(py_tensor_of(o)));
}
static PyObject *get_base(PyObject *o, void *unused) {
  (void)unused;
  return py_from_tensor(py_ctx(), ig_tensor_base(py_tensor_of(o)));
}
static PyObject *get_output_nr(PyObject *o, void *unused) {
  (void)unused;
  uint32_t index = 0;
  (void)ig_tensor_grad_fn(py_ctx(), py_tensor_of(o), &index);
  return py_ok(py_ctx()) ? PyLong_FromUnsignedLong(index) : NULL;
}

static PyObject *get_data(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = py_from_tensor(c, ig_tensor_get_data(c, py_tensor_of(o)));
  ig_scope_close(c, s);
  return out;
}
static int set_data(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!value || !py_is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s",
                 value ? Py_TYPE(value)->tp_name : "nothing");
    return -1;
  }
  ig_tensor_set_data(c, py_tensor_of(o), py_tensor_of(value));
  return py_ok(c) ? 0 : -1;
}

static PyObject *is_view(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_tensor_is_view(py_tensor_of(o)));
}
static PyObject *is_inference(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_tensor_is_inference(py_tensor_of(o)));
}
static PyObject *retain_grad(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_tensor_retain_grad(c, py_tensor_of(o));
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
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
    host_failed(c);
  } else if (answer != Py_None && !py_is_tensor(answer)) {
    PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'",
                 Py_TYPE(answer)->tp_name);
    host_failed(c);
  } else if (answer != Py_None) {
    out = lend(c, answer);
  }
  Py_XDECREF(answer);
  Py_XDECREF(g);
  return out;
}

static PyObject *add_hook(PyObject *o, PyObject *fn, bool post) {
  ig_ctx *c = py_ctx();
  ig_grad_hook hook = {call_hook, drop, Py_NewRef(fn)};
  ig_tensor *t = py_tensor_of(o);
  uint64_t number = post ? ig_tensor_add_post_hook(c, t, &hook) : ig_tensor_add_hook(c, t, &hook);
  if (!py_ok(c)) return NULL;
  return handle_make(o, number);
}
static PyObject *register_hook(PyObject *o, PyObject *fn) {
  return add_hook(o, fn, false);
}

// The answer of a hook that runs afterwards is ignored.
static ig_tensor *call_post(ig_ctx *c, ig_tensor *leaf, void *user) {
  PyObject *t = py_from_tensor(c, leaf);
  PyObject *answer = t ? PyObject_CallOneArg(user, t) : NULL;
  if (!answer) host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(t);
  return NULL;
}
static PyObject *register_post(PyObject *o, PyObject *fn) {
  ig_ctx *c = py_ctx();
  ig_grad_hook hook = {call_post, drop, Py_NewRef(fn)};
  uint64_t number = ig_tensor_add_post_hook(c, py_tensor_of(o), &hook);
  return py_ok(c) ? handle_make(o, number) : NULL;
}

// ---- grad_fn ----

static PyObject *node_types;  // name -> class, so that type(x.grad_fn).__name__ tells the operator

static PyTypeObject *type_named(const char *name) {
  PyObject *found = PyDict_GetItemString(node_types, name);
  if (found) return (PyTypeObject *)found;
  PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(O){s:s}", name, &node_type,
                                         "__module__", "torch.autograd.graph");
  if (made && PyDict_SetItemString(node_types, name, made) != 0) Py_CLEAR(made);
  Py_XDECREF(made);  // the dict keeps it
  return (PyTypeObject *)made;
}

static PyObject *node_wrap(ig_grad_fn *f) {
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
  return PyUnicode_FromString(ig_grad_fn_name(n->f, name, sizeof name));
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
    PyObject *fn = leaf ? leaf_wrap(c, leaf) : node_wrap(next);
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

// Hooks on a function get and give tuples.
static PyObject *grads_tuple(ig_ctx *c, ig_tensor *const *grads, size_t n) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *g = py_from_tensor(c, grads[i]);
    if (!g) Py_CLEAR(tuple);
    if (g) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, g);
  }
  return tuple;
}
// A lone tensor stands for a tuple of one.
static bool take_grads(ig_ctx *c, PyObject *answer, ig_tensor **grads, size_t n, const char *who) {
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
      grads[i] = lend(c, g);
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
  PyObject *inputs = grads_tuple(c, grads, n);
  PyObject *outputs = inputs ? grads_tuple(c, of_results, nresults) : NULL;
  PyObject *answer = outputs ? PyObject_CallFunctionObjArgs(user, inputs, outputs, NULL) : NULL;
  if (!answer || (answer != Py_None && !take_grads(c, answer, grads, n, "hook"))) host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(inputs);
  Py_XDECREF(outputs);
}
static void call_node_prehook(ig_ctx *c, ig_tensor **grads, size_t n, ig_tensor *const *of_results,
                              size_t nresults, void *user) {
  (void)of_results;
  (void)nresults;
  PyObject *outputs = grads_tuple(c, grads, n);
  PyObject *answer = outputs ? PyObject_CallOneArg(user, outputs) : NULL;
  if (!answer || (answer != Py_None && !take_grads(c, answer, grads, n, "hook"))) host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(outputs);
}
static PyObject *add_node_hook(PyObject *o, PyObject *fn, bool pre) {
  py_node *n = (py_node *)o;
  ig_ctx *c = py_ctx();
  if (!n->f) return add_hook(n->leaf, fn, !pre);
  ig_grad_fn_hook hook = {pre, pre ? call_node_prehook : call_node_hook, drop, Py_NewRef(fn)};
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

static PyObject *get_grad_fn(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_grad_fn *f = ig_tensor_grad_fn(c, py_tensor_of(o), NULL);
  return py_ok(c) ? node_wrap(f) : NULL;
}

// ---- running backwards ----

// A tuple of tensors (None: NULL) in memory of the innermost scope.
static bool tensors_of(ig_ctx *c, PyObject *o, const char *what, ig_tensor ***out, size_t *n) {
  *out = NULL;
  *n = 0;
  if (o == Py_None) return true;
  PyObject *seq = PySequence_Fast(o, "expected a sequence of tensors");
  if (!seq) return false;
  *n = (size_t)PySequence_Fast_GET_SIZE(seq);
  *out = ig_scope_push(c, (*n + 1) * sizeof **out);
  bool ok = py_ok(c);
  for (size_t i = 0; ok && i < *n; i++) {
    PyObject *t = PySequence_Fast_GET_ITEM(seq, (Py_ssize_t)i);
    ok = t == Py_None || py_is_tensor(t);
    if (!ok) {
      PyErr_Format(PyExc_TypeError, "element %zu of %s is not a Tensor but %s", i, what,
                   Py_TYPE(t)->tp_name);
    }
    (*out)[i] = ok && t != Py_None ? py_tensor_of(t) : NULL;
  }
  Py_DECREF(seq);
  return ok;
}

static PyObject *backward_run(ig_ctx *c, ig_backward_args *a) {
  size_t n = a->accumulate ? 0 : a->ninputs;
  ig_tensor **grads = ig_scope_push(c, (n + 1) * sizeof *grads);
  if (!grads || ig_backward(c, a, grads) != IG_OK) return py_raise(c);
  return grads_tuple(c, grads, n);
}

// _run_backward(outputs, seeds, retain_graph, create_graph, inputs, allow_unused, accumulate,
// materialize_grads=False): the gradients of inputs, () when they are accumulated.
static PyObject *run_backward(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"outputs", "seeds",        "retain_graph", "create_graph",
                         "inputs",  "allow_unused", "accumulate",   "materialize_grads",
                         NULL};
  (void)module;
  PyObject *outputs = NULL;
  PyObject *seeds = Py_None;
  PyObject *inputs = Py_None;
  int flags[5] = {0};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OppOppp:_run_backward", keys, &outputs, &seeds,
                                   &flags[0], &flags[1], &inputs, &flags[2], &flags[3],
                                   &flags[4])) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor **at[3];
  size_t n[3];
  PyObject *out = NULL;
  if (tensors_of(c, outputs, "tensors", &at[0], &n[0]) &&
      tensors_of(c, seeds, "gradients", &at[1], &n[1]) &&
      tensors_of(c, inputs, "inputs", &at[2], &n[2])) {
    if (at[1] && n[1] != n[0]) {
      PyErr_Format(PyExc_RuntimeError, "got %zu tensors and %zu gradients", n[0], n[1]);
    } else {
      ig_backward_args a = {.outputs = at[0],
                            .noutputs = n[0],
                            .seeds = at[1],
                            .inputs = at[2],
                            .ninputs = n[2],
                            .retain_graph = flags[0] == 1,
                            .create_graph = flags[1] == 1,
                            .allow_unused = flags[2] == 1,
                            .accumulate = flags[3] == 1 || inputs == Py_None,
                            .materialize_grads = flags[4] == 1};
      out = backward_run(c, &a);
    }
  }
  ig_scope_close(c, s);
  return out;
}

// x.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
static PyObject *backward(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"gradient", "retain_graph", "create_graph", "inputs", NULL};
  PyObject *gradient = Py_None;
  PyObject *retain = Py_None;
  PyObject *inputs = Py_None;
  int create = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOpO:backward", keys, &gradient, &retain,
                                   &create, &inputs)) {
    return NULL;
  }
  if (gradient != Py_None && !py_is_tensor(gradient)) {
    PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s",
                 Py_TYPE(gradient)->tp_name);
    return NULL;
  }
  int keep = retain == Py_None ? create : PyObject_IsTrue(retain);
  if (keep < 0) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor *self = py_tensor_of(o);
  ig_tensor *seed = gradient == Py_None ? NULL : py_tensor_of(gradient);
  ig_tensor **at = NULL;
  size_t n = 0;
  PyObject *one = py_is_tensor(inputs) ? PyTuple_Pack(1, inputs) : Py_NewRef(inputs);
  PyObject *out = NULL;
  if (one && tensors_of(c, one, "inputs", &at, &n)) {
    if (at && n == 0) {
      PyErr_SetString(PyExc_RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
    } else {
      ig_backward_args a = {.outputs = &self,
                            .noutputs = 1,
                            .seeds = &seed,
                            .inputs = at,
                            .ninputs = n,
                            .retain_graph = keep == 1,
                            .create_graph = create == 1,
                            .accumulate = true};
      out = backward_run(c, &a);
    }
  }
  Py_XDECREF(one);
  ig_scope_close(c, s);
  if (!out) return NULL;
  Py_DECREF(out);
  Py_RETURN_NONE;
}

// ---- functions whose gradient Python gives ----

static void call_custom(ig_ctx *c, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                        void *user) {
  PyObject *pair = user;  // (callback, number of results, number of inputs)
  size_t nouts = PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 1));
  size_t nins = PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 2));
  PyObject *node = node_wrap(f);
  PyObject *tuple = node ? grads_tuple(c, grads, nouts) : NULL;
  PyObject *answer =
      tuple ? PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(pair, 0), node, tuple, NULL) : NULL;
  char name[128];
  if (!answer || !take_grads(c, answer, d, nins, ig_grad_fn_name(f, name, sizeof name))) {
    host_failed(c);
  }
  Py_XDECREF(answer);
  Py_XDECREF(tuple);
  Py_XDECREF(node);
}

// _make_function(name, callback, inputs, outputs, saved, dirty, non_differentiable, materialize):
// (outputs, grad_fn or None). callback(grad_fn, grads) returns one gradient or None per input.
static PyObject *make_function(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *callback = NULL;
  PyObject *lists[5];
  int materialize = 1;
  if (!PyArg_ParseTuple(args, "sOOOOOO|p:_make_function", &name, &callback, &lists[0], &lists[1],
                        &lists[2], &lists[3], &lists[4], &materialize)) {
    return NULL;
  }
  static const char *const words[] = {"inputs", "outputs", "saved", "dirty", "non_differentiable"};
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor **at[5];
  size_t n[5];
  bool ok = true;
  for (size_t i = 0; ok && i < PY_COUNT(lists); i++) {
    ok = tensors_of(c, lists[i], words[i], &at[i], &n[i]);
  }
  PyObject *user = ok ? Py_BuildValue("(Onn)", callback, (Py_ssize_t)n[1], (Py_ssize_t)n[0]) : NULL;
  PyObject *out = NULL;
  if (user) {
    ig_custom k = {.name = name,
                   .backward = call_custom,
                   .free_fn = drop,
                   .user = user,
                   .inputs = at[0],
                   .ninputs = n[0],
                   .outputs = at[1],
                   .noutputs = n[1],
                   .saved = at[2],
                   .nsaved = n[2],
                   .dirty = at[3],
                   .ndirty = n[3],
                   .nondiff = at[4],
                   .nnondiff = n[4],
                   .materialize = materialize == 1};
    ig_grad_fn *f = ig_grad_custom(c, &k);
    if (py_ok(c)) {
      PyObject *outputs = grads_tuple(c, at[1], n[1]);
      PyObject *node = outputs ? node_wrap(f) : NULL;
      if (node) {
        out = Py_BuildValue("(NN)", outputs, node);
      } else {
        Py_XDECREF(outputs);
      }
    }
  }
  ig_scope_close(c, s);
  return out;
}

// ---- switches ----

static PyObject *is_grad_enabled(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_grad_is_enabled(py_ctx()));
}
static PyObject *is_inference_enabled(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_inference_is_enabled(py_ctx()));
}
static PyObject *set_grad_enabled(PyObject *module, PyObject *on) {
  (void)module;
  int yes = PyObject_IsTrue(on);
  return yes < 0 ? NULL : PyBool_FromLong(ig_grad_set_enabled(py_ctx(), yes == 1));
}
static PyObject *set_inference(PyObject *module, PyObject *on) {
  (void)module;
  int yes = PyObject_IsTrue(on);
  return yes < 0 ? NULL : PyBool_FromLong(ig_inference_set_enabled(py_ctx(), yes == 1));
}

PyGetSetDef py_autograd_getset[] = {
    {"requires_grad", get_requires_grad, set_requires_grad, NULL, NULL},
    {"grad", get_grad, set_grad, NULL, NULL},
    {"_grad", get_grad, set_grad, NULL, NULL},
    {"grad_fn", get_grad_fn, NULL, NULL, NULL},
    {"is_leaf", get_is_leaf, NULL, NULL, NULL},
    {"retains_grad", get_retains_grad, NULL, NULL, NULL},
    {"data", get_data, set_data, NULL, NULL},
    {"_version", get_version, NULL, NULL, NULL},
    {"_base", get_base, NULL, NULL, NULL},
    {"output_nr", get_output_nr, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
PyMethodDef py_autograd_methods[] = {
    {"requires_grad_", (PyCFunction)(void (*)(void))requires_grad_, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"backward", (PyCFunction)(void (*)(void))backward, METH_VARARGS | METH_KEYWORDS, NULL},
    {"retain_grad", retain_grad, METH_NOARGS, NULL},
    {"register_hook", register_hook, METH_O, NULL},
    {"register_post_accumulate_grad_hook", register_post, METH_O, NULL},
    {"_is_view", is_view, METH_NOARGS, NULL},
    {"is_inference", is_inference, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyMethodDef py_autograd_functions[] = {
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, NULL},
    {"is_inference_mode_enabled", is_inference_enabled, METH_NOARGS, NULL},
    {"_set_grad_enabled", set_grad_enabled, METH_O, "Switches history on or off; what it was."},
    {"_set_inference_mode", set_inference, METH_O, NULL},
    {"_run_backward", (PyCFunction)(void (*)(void))run_backward, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"_make_function", make_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_autograd(PyObject *m) {
  node_types = PyDict_New();
  if (!node_types || PyType_Ready(&node_type) != 0 || PyType_Ready(&handle_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "Node", (PyObject *)&node_type);
}
