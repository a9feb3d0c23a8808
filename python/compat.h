// SPDX-License-Identifier: Apache-2.0
// Versions of CPython: what an older one lacks has the name here that newer ones give it.
#ifndef COMPAT_H_
#define COMPAT_H_

#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>

// There, instructions are counted, not bytes.
static inline int PyFrame_GetLasti(PyFrameObject *frame) {
  return frame->f_lasti < 0 ? -1 : frame->f_lasti * 2;
}

static inline PyObject *PyFrame_GetLocals(PyFrameObject *frame) {
  return PyFrame_FastToLocalsWithError(frame) < 0 ? NULL : Py_NewRef(frame->f_locals);
}
#endif

#if PY_VERSION_HEX < 0x030D0000
#define PyObject_GetOptionalAttr _PyObject_LookupAttr
#endif

// Little-endian, signed. Python 3.13 added an argument.
#if PY_VERSION_HEX >= 0x030D0000
#define PY_LONG_TO_BYTES(o, bytes, n) \
  _PyLong_AsByteArray((PyLongObject *)(o), (bytes), (n), 1, 1, 1)
#else
#define PY_LONG_TO_BYTES(o, bytes, n) _PyLong_AsByteArray((PyLongObject *)(o), (bytes), (n), 1, 1)
#endif

// The qualified name of the function that a frame runs, a new reference. Code of Python 3.10 does
// not have it: there a method is looked for in the classes of its first argument.
PyObject *py_qualname(PyFrameObject *frame);

#endif
