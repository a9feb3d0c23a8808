// SPDX-License-Identifier: Apache-2.0
// Sessions from Python: a model file of any kind, run on tensors. A session has a context of its
// own, so that it can be used from any thread; the GIL keeps its runs apart.
#include <string.h>

#include "ingot/graph.h"
#include "ingot/model.h"
#include "py.h"

typedef struct py_session {
  PyObject_HEAD ig_ctx *c;
  ig_model *m;
  ig_session *s;
} py_session;

static PyTypeObject session_type;

static void session_dealloc(PyObject *o) {
  py_session *x = (py_session *)o;
  ig_session_free(x->s);
  ig_model_free(x->m);
  ig_ctx_free(x->c);
  PyObject_Free(o);
}

static bool open_session(py_session *x, const char *path, const ig_session_options *options) {
  if (ig_ctx_create(NULL, &x->c) != IG_OK) {
    (void)PyErr_NoMemory();
    return false;
  }
  bool ok = ig_model_open(x->c, path, NULL, &x->m) == IG_OK &&
            ig_session_create_with(x->c, x->m, options, &x->s) == IG_OK;
  if (!ok) (void)py_raise(x->c);
  return ok;
}

// open_session(path, interpret=False, without=0)
static PyObject *session_open(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *path = NULL;
  int interpret = 0;
  unsigned without = 0;
  if (!PyArg_ParseTuple(args, "O&|pI:open_session", PyUnicode_FSConverter, &path, &interpret,
                        &without)) {
    return NULL;
  }
  py_session *x = PyObject_New(py_session, &session_type);
  if (x) {
    x->c = NULL;
    x->m = NULL;
    x->s = NULL;
    ig_session_options o = {.size = sizeof o, .interpret = interpret != 0, .without = without};
    if (!open_session(x, PyBytes_AS_STRING(path), &o)) Py_CLEAR(x);
  }
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

static bool set_input(py_session *x, const char *name, PyObject *o) {
  if (!py_is_tensor(o)) return set_number(x, name, o);
  if (!py_settled(o)) return false;
  if (ig_session_set(x->s, name, py_tensor_of(o)) == IG_OK) return true;
  (void)py_raise(x->c);
  return false;
}

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

// run({name: value}) -> [value ...]: results of the user, in order
static PyObject *session_run(PyObject *o, PyObject *inputs) {
  py_session *x = (py_session *)o;
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  if (!PyDict_Check(inputs)) {
    PyErr_SetString(PyExc_TypeError, "run() takes a dict of inputs by name");
    return NULL;
  }
  while (PyDict_Next(inputs, &at, &key, &value)) {
    const char *name = PyUnicode_AsUTF8(key);
    if (!name || !set_input(x, name, value)) return NULL;
  }
  if (ig_session_run(x->s) != IG_OK) return py_raise(x->c);
  const ig_model_port *const *ports = NULL;
  size_t n = ig_model_outputs(x->m, &ports);
  PyObject *out = PyList_New(0);
  for (size_t i = 0; out && i < n; i++) {
    if (ports[i]->role != IG_PORT_USER) continue;
    PyObject *item = give(ig_session_output_at(x->s, i));
    if (!item || PyList_Append(out, item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

// plan({name: value}) -> text
static PyObject *session_plan(PyObject *o, PyObject *unused) {
  (void)unused;
  py_session *x = (py_session *)o;
  char *text = ig_session_plan_text(x->s);
  if (!text) return py_raise(x->c);
  PyObject *out = PyUnicode_FromString(text);
  ig_text_free(x->c, text);
  return out;
}

static PyObject *session_profile(PyObject *o, PyObject *on) {
  int truth = PyObject_IsTrue(on);
  if (truth < 0) return NULL;
  ig_session_profile(((py_session *)o)->s, truth != 0);
  Py_RETURN_NONE;
}

// steps() -> [(name, target, interpreted, seconds, runs) ...]
static PyObject *session_steps(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_session_step step;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && ig_session_profile_at(((py_session *)o)->s, i, &step); i++) {
    PyObject *row =
        Py_BuildValue("(ssOdK)", step.name, step.target, step.interpreted ? Py_True : Py_False,
                      step.seconds, (unsigned long long)step.runs);
    if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
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
  ig_session_reset(((py_session *)o)->s);
  Py_RETURN_NONE;
}

static PyMethodDef session_methods[] = {
    {"run", session_run, METH_O, NULL},          {"plan", session_plan, METH_NOARGS, NULL},
    {"profile", session_profile, METH_O, NULL},  {"steps", session_steps, METH_NOARGS, NULL},
    {"reset", session_reset, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL},
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
