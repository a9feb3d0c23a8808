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

// autocast_enter(device, on, dtype), autocast_exit(): a region of the program begins or ends.
static PyObject *autocast_enter(PyObject *module, PyObject *args) {
  (void)module;
  const char *device = NULL;
  PyObject *dtype = NULL;
  int on = 0;
  ig_dtype type = IG_F32;
  if (!PyArg_ParseTuple(args, "spO:autocast_enter", &device, &on, &dtype)) return NULL;
  if (!py_to_dtype(dtype, &type)) return NULL;
  ig_ctx *c = py_ctx();
  ig_record_autocast(c, device, type, on != 0, NULL);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}
static PyObject *autocast_exit(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_record_autocast_end(c, NULL);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef py_autocast_functions[] = {
    {"autocast_enter", autocast_enter, METH_VARARGS, NULL},
    {"autocast_exit", autocast_exit, METH_NOARGS, NULL},
    {"autocast_get", autocast_get, METH_O, NULL},
    {"autocast_set", autocast_set, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
