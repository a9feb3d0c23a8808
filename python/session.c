// SPDX-License-Identifier: Apache-2.0
// Sessions from Python: a model file of any kind, run on arrays and tensors. A session has a
// context of its own, so that it can be used from any thread. Runs do not hold the GIL; a lock per
// session keeps those of different threads apart.
#include <string.h>

#include "ingot/graph.h"
#include "ingot/model.h"
#include "py.h"

typedef struct py_session {
  PyObject_HEAD ig_ctx *c;
  ig_model *m;
  ig_session *s;
  PyThread_type_lock lock;
  unsigned long runner;  // the thread that has the lock; 0: none
} py_session;

static PyTypeObject session_type;

static void session_dealloc(PyObject *o) {
  py_session *x = (py_session *)o;
  ig_session_free(x->s);
  ig_model_free(x->m);
  ig_ctx_free(x->c);
  if (x->lock) PyThread_free_lock(x->lock);
  PyObject_Free(o);
}

// False: this thread runs the session already, and an operator of the model has called it.
static bool enter(py_session *x) {
  unsigned long me = PyThread_get_thread_ident();
  if (x->runner == me) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the session is called by an operator of its own model, while it runs; open "
                    "the file once more for that");
    return false;
  }
  if (!PyThread_acquire_lock(x->lock, NOWAIT_LOCK)) {
    Py_BEGIN_ALLOW_THREADS;
    (void)PyThread_acquire_lock(x->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
  }
  x->runner = me;
  return true;
}

static void leave(py_session *x) {
  x->runner = 0;
  PyThread_release_lock(x->lock);
}

// data: the file, whose name is `path`; NULL: it is at this path.
static bool open_session(py_session *x, const char *path, const Py_buffer *data,
                         const ig_session_options *options) {
  x->lock = PyThread_allocate_lock();
  if (!x->lock || ig_ctx_create(NULL, &x->c) != IG_OK) {
    (void)PyErr_NoMemory();
    return false;
  }
  ig_model_options copied = {.size = sizeof copied, .copy = true};
  ig_status st = data
                     ? ig_model_open_bytes(x->c, path, data->buf, (size_t)data->len, &copied, &x->m)
                     : ig_model_open(x->c, path, NULL, &x->m);
  bool ok = st == IG_OK && ig_session_create_with(x->c, x->m, options, &x->s) == IG_OK;
  if (!ok) (void)py_raise(x->c);
  return ok;
}

// open_session(path, interpret=False, without=0, precision=0, threads=0, data=None)
static PyObject *session_open(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *path = NULL;
  int interpret = 0;
  unsigned without = 0;
  int precision = 0;
  int threads = 0;
  Py_buffer data = {.buf = NULL};
  if (!PyArg_ParseTuple(args, "O&|pIiiz*:open_session", PyUnicode_FSConverter, &path, &interpret,
                        &without, &precision, &threads, &data)) {
    return NULL;
  }
  py_session *x = PyObject_New(py_session, &session_type);
  if (x) {
    x->c = NULL;
    x->m = NULL;
    x->s = NULL;
    x->lock = NULL;
    x->runner = 0;
    ig_session_options o = {.size = sizeof o,
                            .interpret = interpret != 0,
                            .without = without,
                            .precision = (ig_precision)precision,
                            .threads = threads};
    if (!open_session(x, PyBytes_AS_STRING(path), data.buf ? &data : NULL, &o)) Py_CLEAR(x);
  }
  if (data.buf) PyBuffer_Release(&data);
  Py_DECREF(path);
  return (PyObject *)x;
}

static bool set_number(py_session *x, const char *name, PyObject *o) {
  ig_value v = PyBool_Check(o)    ? ig_of_bool(o == Py_True)
               : PyLong_Check(o)  ? ig_of_i64(PyLong_AsLongLong(o))
               : PyFloat_Check(o) ? ig_of_f64(PyFloat_AS_DOUBLE(o))
                                  : ig_none();
  if (PyErr_Occurred()) return false;
  if (v.kind == IG_KIND_NONE && o != Py_None) {
    PyErr_Format(PyExc_TypeError, "input '%s': expected a Tensor or a number, found a %s", name,
                 Py_TYPE(o)->tp_name);
    return false;
  }
  if (ig_session_set_value(x->s, name, &v) == IG_OK) return true;
  (void)py_raise(x->c);
  return false;
}

// ---- inputs

// A value for an input: a tensor of the innermost scope, or else a number or None.
typedef struct bound {
  const char *name;
  PyObject *number;  // borrowed
  ig_tensor *tensor;
} bound;

typedef struct binder {
  ig_ctx *c;
  bound *at;
  size_t n;
  bool arrays;  // some are arrays of NumPy
} binder;

static bool is_number(PyObject *o) {
  return o == Py_None || PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o);
}

static bool bind(binder *b, const char *name, PyObject *o) {
  bound *at = &b->at[b->n++];
  *at = (bound){.name = name};
  if (py_is_tensor(o)) {
    at->tensor = py_tensor_of(o);
    return py_settled(o);
  }
  if (is_number(o)) {
    at->number = o;
    return true;
  }
  at->tensor = py_from_array(b->c, o);
  b->arrays = b->arrays || at->tensor;
  if (at->tensor || PyErr_Occurred()) return at->tensor != NULL;
  PyObject *t = py_from_dlpack(o);
  if (!t) return false;
  at->tensor = ig_tensor_alias(b->c, py_tensor_of(t));
  Py_DECREF(t);
  return py_ok(b->c) && at->tensor;
}

static bool bind_by_position(binder *b, const py_session *x, PyObject *args) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_inputs(x->m, &ports);
  Py_ssize_t next = 0;
  for (size_t i = 0; i < n && next < PyTuple_GET_SIZE(args); i++) {
    if (ports[i]->role != IG_PORT_USER) continue;
    if (!bind(b, ports[i]->name, PyTuple_GET_ITEM(args, next++))) return false;
  }
  if (next == PyTuple_GET_SIZE(args)) return true;
  PyErr_Format(PyExc_TypeError, "found %zd inputs, expected at most %zd", PyTuple_GET_SIZE(args),
               next);
  return false;
}

static bool bind_by_name(binder *b, PyObject *kwargs) {
  size_t placed = b->n;
  PyObject *key = NULL;
  PyObject *value = NULL;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value);) {
    const char *name = PyUnicode_AsUTF8(key);
    if (!name) return false;
    for (size_t i = 0; i < placed; i++) {
      if (strcmp(b->at[i].name, name) != 0) continue;
      PyErr_Format(PyExc_TypeError, "input '%s' is given twice, by position and by name", name);
      return false;
    }
    if (!bind(b, name, value)) return false;
  }
  return true;
}

static bool set_input(py_session *x, const bound *v) {
  if (v->number) return set_number(x, v->name, v->number);
  if (ig_session_set(x->s, v->name, v->tensor) == IG_OK) return true;
  (void)py_raise(x->c);
  return false;
}

// ---- results

static PyObject *give(const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return py_from_tensor(py_ctx(), v->tensor);
    case IG_KIND_INT:
      return PyLong_FromLongLong(v->i.value);
    case IG_KIND_FLOAT:
      return PyFloat_FromDouble(v->f);
    case IG_KIND_BOOL:
      return PyBool_FromLong(v->b);
    case IG_KIND_STR:
      return PyUnicode_FromString(v->str);
    case IG_KIND_LIST: {
      PyObject *list = PyList_New((Py_ssize_t)v->list.n);
      for (size_t i = 0; list && i < v->list.n; i++) {
        PyObject *item = give(&v->list.at[i]);
        if (!item) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
      }
      return list;
    }
    default:
      Py_RETURN_NONE;
  }
}

static PyObject *give_as(const ig_value *v, bool array) {
  PyObject *o = give(v);
  if (o && array && v->kind == IG_KIND_TENSOR) Py_SETREF(o, py_tensor_numpy(o));
  return o;
}

// One result as itself, several as a tuple.
static PyObject *give_all(const py_session *x, bool arrays) {
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(x->m, &ports);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += ports[i]->role == IG_PORT_USER;
  PyObject *all = count == 1 ? NULL : PyTuple_New((Py_ssize_t)count);
  if (count != 1 && !all) return NULL;
  Py_ssize_t next = 0;
  for (size_t i = 0; i < n; i++) {
    if (ports[i]->role != IG_PORT_USER) continue;
    PyObject *item = give_as(ig_session_output_at(x->s, i), arrays);
    if (!all || !item) {
      Py_XDECREF(all);
      return item;
    }
    PyTuple_SET_ITEM(all, next++, item);
  }
  return all;
}

// ---- methods

static PyObject *run(py_session *x, const binder *b) {
  if (!enter(x)) return NULL;
  bool ok = true;
  for (size_t i = 0; ok && i < b->n; i++) ok = set_input(x, &b->at[i]);
  PyObject *out = NULL;
  if (ok) {
    ig_status st = IG_OK;
    Py_BEGIN_ALLOW_THREADS;
    st = ig_session_run(x->s);
    Py_END_ALLOW_THREADS;
    out = st == IG_OK ? give_all(x, b->arrays) : py_raise(x->c);
  }
  leave(x);
  return out;
}

// call(args, kwargs) -> results of the user: inputs by position and by name
static PyObject *session_call(PyObject *o, PyObject *const *given, Py_ssize_t n) {
  py_session *x = (py_session *)o;
  if (n != 2 || !PyTuple_Check(given[0]) || !PyDict_Check(given[1])) {
    PyErr_SetString(PyExc_TypeError, "call() takes a tuple and a dict");
    return NULL;
  }
  size_t count = (size_t)PyTuple_GET_SIZE(given[0]) + (size_t)PyDict_GET_SIZE(given[1]);
  binder b = {.c = py_ctx()};
  ig_scope s = ig_scope_open(b.c);
  b.at = ig_scope_array(b.c, count + 1, sizeof *b.at);
  bool ok = py_ok(b.c) && bind_by_position(&b, x, given[0]) && bind_by_name(&b, given[1]);
  PyObject *out = ok ? run(x, &b) : NULL;
  ig_scope_close(b.c, s);
  return out;
}

// plan() -> text, for the inputs of the last call
static PyObject *session_plan(PyObject *o, PyObject *unused) {
  (void)unused;
  py_session *x = (py_session *)o;
  if (!enter(x)) return NULL;
  char *text = ig_session_plan_text(x->s);
  PyObject *out = text ? PyUnicode_FromString(text) : py_raise(x->c);
  ig_text_free(x->c, text);
  leave(x);
  return out;
}

static PyObject *session_profile(PyObject *o, PyObject *on) {
  int truth = PyObject_IsTrue(on);
  py_session *x = (py_session *)o;
  if (truth < 0 || !enter(x)) return NULL;
  ig_session_profile(x->s, truth != 0);
  leave(x);
  Py_RETURN_NONE;
}

// steps() -> [(name, target, interpreted, seconds, runs, flops, bytes) ...]
static PyObject *session_steps(PyObject *o, PyObject *unused) {
  (void)unused;
  py_session *x = (py_session *)o;
  ig_session_step step;
  ig_session_cost cost = {.size = sizeof cost};
  if (!enter(x)) return NULL;
  PyObject *list = PyList_New(0);
  // The step last: its texts are valid until the next call.
  for (size_t i = 0;
       list && ig_session_cost_at(x->s, i, &cost) && ig_session_profile_at(x->s, i, &step); i++) {
    PyObject *row =
        Py_BuildValue("(ssOdKdd)", step.name, step.target, step.interpreted ? Py_True : Py_False,
                      step.seconds, (unsigned long long)step.runs, cost.flops, cost.bytes);
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  leave(x);
  return list;
}

// compile(path)
static PyObject *session_compile(PyObject *o, PyObject *arg) {
  py_session *x = (py_session *)o;
  PyObject *path = NULL;
  if (!PyUnicode_FSConverter(arg, &path)) return NULL;
  if (!enter(x)) {
    Py_DECREF(path);
    return NULL;
  }
  ig_status st = IG_OK;
  Py_BEGIN_ALLOW_THREADS;
  st = ig_session_compile(x->s, PyBytes_AS_STRING(path), NULL);
  Py_END_ALLOW_THREADS;
  if (st != IG_OK) (void)py_raise(x->c);
  leave(x);
  Py_DECREF(path);
  return st == IG_OK ? Py_NewRef(Py_None) : NULL;
}

// [(name, dtype or None, sizes or None) ...]; dynamic sizes are texts
static PyObject *describe(const ig_model_port *p) {
  bool known = p->kind == IG_KIND_TENSOR && p->ndim >= 0;
  PyObject *dims = known ? PyTuple_New(p->ndim) : Py_NewRef(Py_None);
  for (int d = 0; dims && known && d < p->ndim; d++) {
    const ig_model_dim *dim = p->dims[d];
    PyTuple_SET_ITEM(dims, d,
                     dim->name ? PyUnicode_FromString(dim->name) : PyLong_FromLongLong(dim->value));
  }
  bool typed = p->kind == IG_KIND_TENSOR && p->dtype != IG_DTYPE_COUNT;
  return Py_BuildValue("(szN)", p->name, typed ? ig_dtype_text(p->dtype) : NULL, dims);
}

static PyObject *ports(const ig_model_port *const *list, size_t n) {
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out && i < n; i++) {
    if (list[i]->role != IG_PORT_USER) continue;
    PyObject *row = describe(list[i]);
    if (!row || PyList_Append(out, row) != 0) Py_CLEAR(out);
    Py_XDECREF(row);
  }
  return out;
}

static PyObject *session_inputs(PyObject *o, void *unused) {
  (void)unused;
  const ig_model_port *const *list = NULL;
  size_t n = ig_model_inputs(((py_session *)o)->m, &list);
  return ports(list, n);
}

static PyObject *session_outputs(PyObject *o, void *unused) {
  (void)unused;
  const ig_model_port *const *list = NULL;
  size_t n = ig_model_outputs(((py_session *)o)->m, &list);
  return ports(list, n);
}

static PyObject *session_reset(PyObject *o, PyObject *unused) {
  (void)unused;
  py_session *x = (py_session *)o;
  if (!enter(x)) return NULL;
  ig_session_reset(x->s);
  leave(x);
  Py_RETURN_NONE;
}

// Without the lock, which the call to be cancelled holds.
static PyObject *session_cancel(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_session_cancel(((py_session *)o)->s);
  Py_RETURN_NONE;
}

static PyMethodDef session_methods[] = {
    {"call", (PyCFunction)(void (*)(void))session_call, METH_FASTCALL, NULL},
    {"plan", session_plan, METH_NOARGS, NULL},
    {"compile", session_compile, METH_O, NULL},
    {"profile", session_profile, METH_O, NULL},
    {"steps", session_steps, METH_NOARGS, NULL},
    {"reset", session_reset, METH_NOARGS, NULL},
    {"cancel", session_cancel, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef session_getset[] = {
    {"inputs", session_inputs, NULL, NULL, NULL},
    {"outputs", session_outputs, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject session_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Session",
    .tp_basicsize = sizeof(py_session),
    .tp_dealloc = session_dealloc,
    .tp_methods = session_methods,
    .tp_getset = session_getset,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

int py_add_sessions(PyObject *m) {
  static PyMethodDef functions[] = {
      {"open_session", session_open, METH_VARARGS, NULL},
      {NULL, NULL, 0, NULL},
  };
  return PyType_Ready(&session_type) || PyModule_AddFunctions(m, functions);
}
