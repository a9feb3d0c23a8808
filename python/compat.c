// SPDX-License-Identifier: Apache-2.0
// What an older CPython has no function for, see compat.h.
#include <stdbool.h>

#include "compat.h"

#if PY_VERSION_HEX >= 0x030B0000

PyObject *py_qualname(PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  PyObject *name = Py_NewRef(code->co_qualname);
  Py_DECREF(code);
  return name;
}

#else

// Is it a function, or a class method, with this code?
static bool has_code(PyObject *member, const PyCodeObject *code) {
  PyObject *function = member && Py_IS_TYPE(member, &PyClassMethod_Type)
                           ? PyObject_GetAttrString(member, "__func__")
                           : Py_XNewRef(member);
  bool has = function && PyFunction_Check(function) &&
             PyFunction_GetCode(function) == (const PyObject *)code;
  Py_XDECREF(function);
  return has;
}

// The class among those of an argument whose member has this code; borrowed, NULL: none.
static PyTypeObject *class_with(PyObject *argument, const PyCodeObject *code) {
  PyTypeObject *type = PyType_Check(argument) ? (PyTypeObject *)argument : Py_TYPE(argument);
  Py_ssize_t n = type->tp_mro ? PyTuple_GET_SIZE(type->tp_mro) : 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
    if (has_code(PyDict_GetItemWithError(base->tp_dict, code->co_name), code)) return base;
  }
  return NULL;
}

PyObject *py_qualname(PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  PyObject *first = code->co_argcount > 0 ? frame->f_localsplus[0] : NULL;
  PyTypeObject *type = first ? class_with(first, code) : NULL;
  PyObject *prefix = type ? PyObject_GetAttrString((PyObject *)type, "__qualname__") : NULL;
  PyObject *name = prefix ? PyUnicode_FromFormat("%U.%U", prefix, code->co_name)
                          : (PyErr_Clear(), Py_NewRef(code->co_name));
  Py_XDECREF(prefix);
  Py_DECREF(code);
  return name;
}

#endif
