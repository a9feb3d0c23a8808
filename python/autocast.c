// SPDX-License-Identifier: Apache-2.0
// Autocast state; the context managers are in ingot.amp.
#include "ingot/autocast.h"

#include "op/autocast.h"
#include "py.h"

static bool device_of(PyObject *o, ig_device_type *type) {
  ig_device d;
  if (py_to_device(o, &d) <= 0) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a device");
    return false;
  }
  *type = (ig_device_type)d.type;
  return true;
}

// autocast_get(device) -> (on, dtype)
static PyObject *autocast_get(PyObject *module, PyObject *device) {
  (void)module;
  ig_device_type type = IG_DEVICE_CPU;
  if (!device_of(device, &type)) return NULL;
  ig_autocast a = ig_autocast_get(py_ctx(), type);
  return Py_BuildValue("(NN)", PyBool_FromLong(a.on), py_from_dtype(a.dtype));
}

// autocast_set(device, on, dtype)
static PyObject *autocast_set(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *device = NULL;
  PyObject *dtype = NULL;
  int on = 0;
  ig_device_type type = IG_DEVICE_CPU;
  ig_autocast a = {0};
  if (!PyArg_ParseTuple(args, "OpO:autocast_set", &device, &on, &dtype)) return NULL;
  if (!device_of(device, &type) || !py_to_dtype(dtype, &a.dtype)) return NULL;
  a.on = on != 0;
  ig_autocast_set(py_ctx(), type, a);
  Py_RETURN_NONE;
}

// The state of a device as one number.
enum { ON_BIT = 1, DEVICE_SHIFT = 1, DTYPE_SHIFT = 9, BYTE = 255 };

// autocast_enter(device, on, dtype) -> before: a region of the program begins. It has begun, or
// there is an exception.
static PyObject *autocast_enter(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *device = NULL;
  PyObject *dtype = NULL;
  int on = 0;
  ig_device_type type = IG_DEVICE_CPU;
  ig_autocast a = {0};
  if (!PyArg_ParseTuple(args, "UpO:autocast_enter", &device, &on, &dtype)) return NULL;
  if (!device_of(device, &type) || !py_to_dtype(dtype, &a.dtype)) return NULL;
  a.on = on != 0;
  ig_ctx *c = py_ctx();
  ig_autocast old = ig_autocast_get(c, type);
  long bits = (long)old.dtype << DTYPE_SHIFT | (long)type << DEVICE_SHIFT | (old.on ? ON_BIT : 0);
  PyObject *before = PyLong_FromLong(bits);
  const char *name = before ? PyUnicode_AsUTF8(device) : NULL;
  if (name) ig_record_autocast(c, name, a.dtype, a.on, NULL);
  if (!name || !py_ok(c)) {
    Py_XDECREF(before);
    return NULL;
  }
  ig_autocast_set(c, type, a);
  return before;
}

// autocast_exit(before): the region ends. It needs no memory of Python's.
static PyObject *autocast_exit(PyObject *module, PyObject *before) {
  (void)module;
  long bits = PyLong_AsLong(before);
  if (bits == -1 && PyErr_Occurred()) return NULL;
  long dtype = bits >> DTYPE_SHIFT;
  long device = bits >> DEVICE_SHIFT & BYTE;
  if (bits < 0 || dtype >= IG_DTYPE_COUNT || device >= IG_DEVICE_COUNT) {
    PyErr_SetString(PyExc_ValueError, "expected what autocast_enter returned");
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_autocast_set(c, (ig_device_type)device, (ig_autocast){(bits & ON_BIT) != 0, (ig_dtype)dtype});
  ig_record_autocast_end(c, NULL);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef py_autocast_functions[] = {
    {"autocast_enter", autocast_enter, METH_VARARGS, NULL},
    {"autocast_exit", autocast_exit, METH_O, NULL},
    {"autocast_get", autocast_get, METH_O, NULL},
    {"autocast_set", autocast_set, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
