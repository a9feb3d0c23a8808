// SPDX-License-Identifier: Apache-2.0
// Values of the engine as Python objects.
#include "py.h"

static PyObject *sym_make(PyTypeObject *type, ig_value v) {
  ig_ctx *c = py_ctx();
  py_sym *o = PyObject_New(py_sym, type);
  if (!o) return NULL;
  o->v = v;
  o->sym = c->sym;
  if (o->sym) ig_ref_retain(&o->sym->ref);
  return (PyObject *)o;
}

PyObject *py_from_int(ig_int i) {
  return i.expr ? sym_make(&py_symint_type, ig_of_int(i)) : PyLong_FromLongLong(i.value);
}

static PyObject *from_dict(ig_ctx *c, const ig_value *v) {
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i + 1 < v->list.n; i += 2) {
    PyObject *key = py_from_value(c, &v->list.at[i]);
    PyObject *item = key ? py_from_value(c, &v->list.at[i + 1]) : NULL;
    if (!item || PyDict_SetItem(out, key, item) != 0) Py_CLEAR(out);
    Py_XDECREF(key);
    Py_XDECREF(item);
  }
  return out;
}

static PyObject *from_list(ig_ctx *c, const ig_value *v) {
  if (v->seq == IG_SEQ_DICT) return from_dict(c, v);
  PyObject *out = PyList_New((Py_ssize_t)v->list.n);
  for (size_t i = 0; out && i < v->list.n; i++) {
    PyObject *item = py_from_value(c, &v->list.at[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyList_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  if (!out || v->seq == IG_SEQ_LIST) return out;
  PyObject *as =
      v->seq == IG_SEQ_TUPLE
          ? PyList_AsTuple(out)
          : PySlice_New(PyList_GET_ITEM(out, 0), PyList_GET_ITEM(out, 1), PyList_GET_ITEM(out, 2));
  Py_DECREF(out);
  return as;
}

static PyObject *from_ints(const ig_value *v) {
  PyObject *out = PyList_New((Py_ssize_t)v->ints.n);
  for (size_t i = 0; out && i < v->ints.n; i++) {
    PyObject *item = py_from_int(v->ints.at[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyList_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  return out;
}

PyObject *py_from_value(ig_ctx *c, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return py_from_tensor(c, v->tensor);
    case IG_KIND_INT:
      return py_from_int(v->i);
    case IG_KIND_FLOAT:
      return v->f_expr ? sym_make(&py_symfloat_type, *v) : PyFloat_FromDouble(v->f);
    case IG_KIND_BOOL:
      return v->b_expr ? sym_make(&py_symbool_type, *v) : PyBool_FromLong(v->b);
    case IG_KIND_COMPLEX:
      return PyComplex_FromDoubles(v->z.re, v->z.im);
    case IG_KIND_STR:
      return PyUnicode_FromString(v->str);
    case IG_KIND_DTYPE:
      return py_from_dtype(v->dtype);
    case IG_KIND_DEVICE:
      return py_from_device(v->device);
    case IG_KIND_LAYOUT:
      return py_from_layout(v->layout);
    case IG_KIND_MEMORY_FORMAT:
      return py_from_memory_format(v->memory_format);
    case IG_KIND_INTS:
      return from_ints(v);
    case IG_KIND_LIST:
      return from_list(c, v);
    case IG_KIND_OBJECT:
      return Py_NewRef((PyObject *)v->object);
    default:
      Py_RETURN_NONE;
  }
}
