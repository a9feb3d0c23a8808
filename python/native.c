// SPDX-License-Identifier: Apache-2.0
// Quantizers as tuples, and objects of the library's own classes (packed parameters), which Python
// holds, passes on and pickles.
#include "op/native.h"

#include "py.h"
#include "tensor/quantizer.h"

typedef struct py_native {
  PyObject_HEAD ig_native *o;
} py_native;

PyObject *py_from_native(ig_native *o) {
  py_native *p = PyObject_New(py_native, &py_native_type);
  if (!p) return NULL;
  ig_ref_retain(&o->ref);
  p->o = o;
  return (PyObject *)p;
}

ig_native *py_native_of(PyObject *o) {
  return Py_IS_TYPE(o, &py_native_type) ? ((py_native *)o)->o : NULL;
}

static void dealloc(PyObject *o) {
  ig_ref_release(&((py_native *)o)->o->ref);
  PyObject_Free(o);
}

static PyObject *str(PyObject *o) {
  return PyUnicode_FromFormat("ScriptObject <%s>", ig_class_text(py_native_of(o)->cls));
}
static PyObject *repr(PyObject *o) {
  return PyUnicode_FromFormat("<torch.ScriptObject object at %p>", (void *)o);
}

static PyObject *state_of(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value state = ig_native_state(c, py_native_of(o));
  PyObject *out = c->status == IG_OK ? py_from_value(c, &state) : NULL;
  ig_scope_close(c, s);
  return py_done(c, out);
}

static PyObject *getstate(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *state = state_of(o);
  return state ? Py_BuildValue("(Ns)", state, ig_class_text(py_native_of(o)->cls)) : NULL;
}

// (weight, bias)
static PyObject *unpack(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  const ig_packed *p = (const ig_packed *)py_native_of(o);
  if (!p->weight) Py_RETURN_NONE;
  PyObject *weight = py_from_tensor(c, p->weight);
  PyObject *bias = p->bias ? py_from_tensor(c, p->bias) : Py_NewRef(Py_None);
  if (weight && bias) return Py_BuildValue("(NN)", weight, bias);
  Py_XDECREF(weight);
  Py_XDECREF(bias);
  return NULL;
}
static PyObject *bias_of(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_packed *p = (const ig_packed *)py_native_of(o);
  return p->bias ? py_from_tensor(py_ctx(), p->bias) : Py_NewRef(Py_None);
}

static PyObject *type_name(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(ig_class_text(py_native_of(o)->cls));
}

static PyObject *reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *module = PyImport_ImportModule("ingot._C");
  PyObject *maker = module ? PyObject_GetAttrString(module, "_native_object") : NULL;
  PyObject *state = maker ? state_of(o) : NULL;
  Py_XDECREF(module);
  if (!state) {
    Py_XDECREF(maker);
    return NULL;
  }
  return Py_BuildValue("N(sN)", maker, ig_class_text(py_native_of(o)->cls), state);
}

// They never change, so a copy is the object itself.
static PyObject *copy(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}

static PyMethodDef methods[] = {
    {"__getstate__", getstate, METH_NOARGS, NULL}, {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__copy__", copy, METH_NOARGS, NULL},         {"__deepcopy__", copy, METH_O, NULL},
    {"unpack", unpack, METH_NOARGS, NULL},         {"bias", bias_of, METH_NOARGS, NULL},
    {"_type_name", type_name, METH_NOARGS, NULL},  {NULL, NULL, 0, NULL},
};

PyTypeObject py_native_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.ScriptObject",
    .tp_basicsize = sizeof(py_native),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Parameters that are packed for the kernels of a quantized layer.",
    .tp_dealloc = dealloc,
    .tp_str = str,
    .tp_repr = repr,
    .tp_methods = methods,
};

// ---- from states

enum { DEPTH = 4 };
// Plain values of a state; lists live in the innermost scope.
static bool to_state(ig_ctx *c, PyObject *o, int depth, ig_value *v) {
  if (o == Py_None) {
    *v = ig_none();
  } else if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
  } else if (py_native_of(o)) {
    *v = ig_of_native(py_native_of(o));
  } else if (PyBool_Check(o)) {
    *v = ig_of_bool(o == Py_True);
  } else if (PyLong_Check(o)) {
    *v = ig_of_i64(PyLong_AsLongLong(o));
  } else if (PyFloat_Check(o)) {
    *v = ig_of_f64(PyFloat_AS_DOUBLE(o));
  } else if (PyUnicode_Check(o)) {
    *v = ig_of_str(PyUnicode_AsUTF8(o));
  } else if ((PyTuple_Check(o) || PyList_Check(o)) && depth > 0) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    ig_value *at = ig_scope_array(c, (size_t)n, sizeof *at);
    if (!at) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!to_state(c, PySequence_Fast_GET_ITEM(o, i), depth - 1, &at[i])) return false;
    }
    *v = PyTuple_Check(o) ? ig_of_tuple(at, (size_t)n) : ig_of_list(at, (size_t)n);
  } else {
    PyErr_Format(PyExc_TypeError, "found %s in the state of an object", Py_TYPE(o)->tp_name);
  }
  return !PyErr_Occurred();
}

static PyObject *native_object(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  Py_ssize_t n = 0;
  PyObject *state = NULL;
  if (!PyArg_ParseTuple(args, "s#O:_native_object", &name, &n, &state)) return NULL;
  ig_class cls = ig_class_find(name, (size_t)n);
  if (cls == IG_CLASS_NONE) {
    return PyErr_Format(PyExc_RuntimeError, "'%s' is none of the library's classes", name);
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value v = ig_none();
  ig_native *o = to_state(c, state, DEPTH, &v) ? ig_native_from_state(c, cls, &v) : NULL;
  PyObject *out = o ? py_from_native(o) : NULL;
  ig_scope_close(c, s);
  return py_done(c, out);
}

static PyObject *is_native_class(PyObject *module, PyObject *name) {
  (void)module;
  Py_ssize_t n = 0;
  const char *text = PyUnicode_AsUTF8AndSize(name, &n);
  return text ? PyBool_FromLong(ig_class_find(text, (size_t)n) != IG_CLASS_NONE) : NULL;
}

// ---- quantizers

PyObject *py_quantizer_parts(ig_ctx *c, const ig_tensor *t) {
  const ig_quantizer *q = t->quantizer;
  PyObject *scheme = py_from_qscheme((int)q->scheme);
  if (ig_quantizer_is_uniform(q)) {
    return Py_BuildValue("(NdL)", scheme, q->scale, (long long)q->zero_point);
  }
  PyObject *scales = py_from_tensor(c, q->scales);
  PyObject *zeros = py_from_tensor(c, q->zero_points);
  if (scales && zeros) return Py_BuildValue("(NNNi)", scheme, scales, zeros, q->axis);
  Py_XDECREF(scheme);
  Py_XDECREF(scales);
  Py_XDECREF(zeros);
  return NULL;
}

ig_quantizer *py_to_quantizer(ig_ctx *c, PyObject *parts) {
  PyObject *scheme = NULL;
  PyObject *first = NULL;
  PyObject *second = NULL;
  int axis = 0;
  if (!PyTuple_Check(parts) ||
      !PyArg_ParseTuple(parts, "O!OO|i", &py_qscheme_type, &scheme, &first, &second, &axis)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a quantizer is a tuple of its parts");
    return NULL;
  }
  if (((py_enum *)scheme)->v == IG_PER_TENSOR_AFFINE) {
    double scale = PyFloat_AsDouble(first);
    long long zero = PyLong_AsLongLong(second);
    return PyErr_Occurred() ? NULL : ig_quantizer_make(c, scale, zero);
  }
  bool ok = py_is_tensor(first) && py_is_tensor(second);
  if (ok) {
    const ig_tensor *s = py_tensor_of(first);
    const ig_tensor *z = py_tensor_of(second);
    bool numbers = s->dtype == IG_F32 && z->dtype == IG_F32;
    ok = (numbers || (s->dtype == IG_F64 && z->dtype == IG_I64)) && s->ndim == 1 && z->ndim == 1 &&
         ig_tensor_numel(s) == ig_tensor_numel(z) && ig_tensor_is_dense(s) && ig_tensor_is_dense(z);
  }
  if (!ok) {
    PyErr_SetString(PyExc_TypeError, "a quantizer per channel has scales and zero points");
    return NULL;
  }
  return ig_quantizer_make_channels(c, py_tensor_of(first), py_tensor_of(second), axis);
}

static PyMethodDef functions[] = {
    {"_is_native_class", is_native_class, METH_O,
     "Whether a qualified name is one of the library's own classes."},
    {"_native_object", native_object, METH_VARARGS, "An object of a class, made from its state."},
    {NULL, NULL, 0, NULL},
};

int py_add_native(PyObject *m) {
  if (PyType_Ready(&py_native_type) < 0) return -1;
  if (PyModule_AddObjectRef(m, "NativeObject", (PyObject *)&py_native_type) < 0) return -1;
  return PyModule_AddFunctions(m, functions);
}
