// SPDX-License-Identifier: Apache-2.0
// torch.device, and torch.Size: the tuple of integers that a shape is.
#include <string.h>

#include "py.h"

PyObject *py_from_device(ig_device d) {
  static PyObject *cpu;  // by far the most frequent one
  bool plain = d.type == IG_DEVICE_CPU && d.index < 0;
  if (plain && cpu) return Py_NewRef(cpu);
  py_device *o = PyObject_New(py_device, &py_device_type);
  if (!o) return NULL;
  o->d = d;
  if (plain) cpu = Py_NewRef((PyObject *)o);
  return (PyObject *)o;
}

static int bad_device(const char *text) {
  const char *colon = strchr(text, ':');
  ig_device d;
  char type[32];
  size_t n = colon ? (size_t)(colon - text) : strlen(text);
  if (n < sizeof type) {
    memcpy(type, text, n);
    type[n] = 0;
    if (ig_device_parse(type, &d)) {
      PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
      return -1;
    }
  }
  PyErr_Format(PyExc_RuntimeError,
               "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, "
               "maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start "
               "of device string: %s",
               text);
  return -1;
}

// Are tensors fake here, and so may be on any device? t: what one is made from, or NULL.
static bool takes_nominal(const ig_ctx *c, const ig_tensor *t) {
  bool fake = t && ig_is_fake(t) && (t->device.type != IG_DEVICE_META || ig_tensor_sym(t));
  return fake || c->mode->fake || c->mode->capture;
}

bool py_device_ready(ig_ctx *c, const ig_tensor *t, ig_device d) {
  if (!ig_device_is_nominal(d) || takes_nominal(c, t)) return true;
  if (d.type == IG_DEVICE_CUDA || d.type == IG_DEVICE_XPU) {
    ig_device_refuse(c, d);
    return py_ok(c);
  }
  PyErr_Format(PyExc_RuntimeError, "PyTorch is not linked with support for %s devices",
               ig_device_type_text(d));
  return false;
}

int py_to_device(PyObject *o, ig_device *out) {
  if (Py_IS_TYPE(o, &py_device_type)) {
    *out = ((py_device *)o)->d;
    return 1;
  }
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    long index = PyLong_AsLong(o);
    if (PyErr_Occurred()) return -1;
    if (index < 0 || index > INT16_MAX) {
      PyErr_SetString(PyExc_RuntimeError, "Device index must not be negative");
      return -1;
    }
    if (!takes_nominal(py_ctx(), NULL)) {
      PyErr_SetString(PyExc_RuntimeError,
                      "Cannot access accelerator device when none is available.");
      return -1;
    }
    *out = (ig_device){IG_DEVICE_CUDA, (int16_t)index};
    return 1;
  }
  if (!PyUnicode_Check(o)) return 0;
  const char *text = PyUnicode_AsUTF8(o);
  if (!text) return -1;
  return ig_device_parse(text, out) ? 1 : bad_device(text);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"type", "index", NULL};
  (void)type;
  PyObject *what = NULL;
  PyObject *index = Py_None;
  ig_device d = {0, -1};
  PyObject *given = kwargs ? PyDict_GetItemString(kwargs, "device") : NULL;
  if (given && PyTuple_GET_SIZE(args) == 0 && PyDict_GET_SIZE(kwargs) == 1) {
    what = given;
  } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", keys, &what, &index)) {
    return NULL;
  }
  int taken = py_to_device(what, &d);
  if (taken < 0) return NULL;
  if (taken == 0) {
    PyErr_Format(PyExc_TypeError,
                 "device() received an invalid combination of arguments - got (%s), but expected "
                 "one of:\n * (torch.device device)\n      didn't match because some of the "
                 "arguments have invalid types: (!%s!)\n * (str type, int index = -1)\n",
                 py_type_name(what), py_type_name(what));
    return NULL;
  }
  if (index != Py_None) {
    long i = PyLong_AsLong(index);
    if (PyErr_Occurred()) return NULL;
    if (d.index >= 0) {
      PyErr_Format(PyExc_RuntimeError,
                   "type (string) must not include an index because index was passed explicitly: "
                   "%S",
                   what);
      return NULL;
    }
    if (i < 0 || i > INT16_MAX) {
      PyErr_SetString(PyExc_RuntimeError, "Device index must not be negative");
      return NULL;
    }
    d.index = (int16_t)i;
  }
  return py_from_device(d);
}

static ig_device device_of(PyObject *o) {
  return ((py_device *)o)->d;
}

static PyObject *device_repr(PyObject *o) {
  ig_device d = device_of(o);
  const char *type = ig_device_type_text(d);
  return d.index < 0 ? PyUnicode_FromFormat("device(type='%s')", type)
                     : PyUnicode_FromFormat("device(type='%s', index=%d)", type, (int)d.index);
}
static PyObject *device_str(PyObject *o) {
  ig_device d = device_of(o);
  const char *type = ig_device_type_text(d);
  return d.index < 0 ? PyUnicode_FromString(type)
                     : PyUnicode_FromFormat("%s:%d", type, (int)d.index);
}
static Py_hash_t device_hash(PyObject *o) {
  return device_of(o).type * 131 + device_of(o).index + 1;
}
static PyObject *device_compare(PyObject *a, PyObject *b, int how) {
  if (Py_TYPE(a) != Py_TYPE(b) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool same = device_of(a).type == device_of(b).type && device_of(a).index == device_of(b).index;
  return PyBool_FromLong(same == (how == Py_EQ));
}
static PyObject *device_type(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(ig_device_type_text(device_of(o)));
}
static PyObject *device_index(PyObject *o, void *unused) {
  (void)unused;
  if (device_of(o).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_of(o).index);
}
static PyObject *device_reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *type = (PyObject *)&py_device_type;
  const char *text = ig_device_type_text(device_of(o));
  int index = device_of(o).index;
  return index < 0 ? Py_BuildValue("O(s)", type, text) : Py_BuildValue("O(si)", type, text, index);
}

// with torch.device(...): factories of this thread make their tensors there.
static PyObject *device_enter(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  py_thread *t = py_thread_of(c);
  if (t->ndevices == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 8;
    ig_device *bigger = PyMem_RawRealloc(t->devices, ig_mem_mul(cap, sizeof *bigger));
    if (!bigger) return PyErr_NoMemory();
    t->devices = bigger;
    t->cap = cap;
  }
  t->devices[t->ndevices++] = c->mode->device;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_DEVICE, {.device = device_of(o)}});
  return Py_NewRef(o);
}
static PyObject *device_exit(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  ig_ctx *c = py_ctx();
  py_thread *t = py_thread_of(c);
  if (t->ndevices > 0) {
    ig_device before = t->devices[--t->ndevices];
    ig_mode_set(c, &(ig_mode_change){IG_MODE_DEVICE, {.device = before}});
  }
  Py_RETURN_NONE;
}
static PyGetSetDef device_getset[] = {
    {"type", device_type, NULL, NULL, NULL},
    {"index", device_index, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {"__enter__", device_enter, METH_NOARGS, NULL},
    {"__exit__", device_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_device_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.device",
    .tp_basicsize = sizeof(py_device),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = device_new,
    .tp_repr = device_repr,
    .tp_str = device_str,
    .tp_hash = device_hash,
    .tp_richcompare = device_compare,
    .tp_getset = device_getset,
    .tp_methods = device_methods,
};

// ---- Size ----

PyObject *py_size_make(const ig_int *at, int n) {
  PyObject *o = py_size_type.tp_alloc(&py_size_type, n);
  for (int d = 0; o && d < n; d++) {
    PyObject *item = py_from_int(at[d]);
    if (!item) Py_CLEAR(o);
    if (item) PyTuple_SET_ITEM(o, d, item);
  }
  return o;
}

static PyObject *size_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *o = PyTuple_Type.tp_new(type, args, kwargs);
  for (Py_ssize_t i = 0; o && i < PyTuple_GET_SIZE(o); i++) {
    PyObject *item = PyTuple_GET_ITEM(o, i);
    if (PyLong_Check(item) || Py_IS_TYPE(item, &py_symint_type)) continue;
    PyObject *index = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
    if (!index) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      Py_CLEAR(o);
      break;
    }
    PyTuple_SET_ITEM(o, i, index);
    Py_DECREF(item);
  }
  return o;
}

// Takes the reference of a plain tuple over.
static PyObject *as_size(PyObject *tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject *o = py_size_type.tp_alloc(&py_size_type, n);
  for (Py_ssize_t i = 0; o && i < n; i++) {
    PyTuple_SET_ITEM(o, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  Py_DECREF(tuple);
  return o;
}

static PyObject *size_subscript(PyObject *o, PyObject *key) {
  PyObject *out = PyTuple_Type.tp_as_mapping->mp_subscript(o, key);
  if (out == o) {  // a whole slice of a tuple is the tuple
    return out;
  }
  return PySlice_Check(key) ? as_size(out) : out;
}

static PyObject *size_concat(PyObject *a, PyObject *b) {
  if (!PyTuple_Check(b)) {
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to torch.Size",
                 Py_TYPE(b)->tp_name);
    return NULL;
  }
  PyObject *left = PyTuple_GetSlice(a, 0, PyTuple_GET_SIZE(a));
  PyObject *out = left ? PySequence_Concat(left, b) : NULL;
  Py_XDECREF(left);
  for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(out); i++) {
    PyObject *item = PyTuple_GET_ITEM(out, i);
    if (!PyLong_Check(item) && !Py_IS_TYPE(item, &py_symint_type)) return out;
  }
  return as_size(out);
}

// Both orders: (1,) + size is a Size as well.
static PyObject *size_add(PyObject *a, PyObject *b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}

static PyObject *size_repeat(PyObject *o, Py_ssize_t n) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(o, n));
}

static PyObject *size_numel(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *out = PyLong_FromLong(1);
  for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(o); i++) {
    PyObject *next = PyNumber_Multiply(out, PyTuple_GET_ITEM(o, i));
    Py_SETREF(out, next);
  }
  return out;
}

static PyObject *size_reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_BuildValue("O(N)", &py_size_type, PySequence_List(o));
}

static PyObject *size_repr(PyObject *o) {
  PyObject *list = PySequence_List(o);
  PyObject *out = list ? PyUnicode_FromFormat("torch.Size(%R)", list) : NULL;
  Py_XDECREF(list);
  return out;
}

static PyMappingMethods size_mapping = {.mp_subscript = size_subscript};
static PySequenceMethods size_sequence = {.sq_concat = size_concat, .sq_repeat = size_repeat};
static PyNumberMethods size_number = {.nb_add = size_add};
static PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, NULL},
    {"__reduce__", size_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_size_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.Size",
    .tp_base = &PyTuple_Type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = size_new,
    .tp_repr = size_repr,
    .tp_as_mapping = &size_mapping,
    .tp_as_sequence = &size_sequence,
    .tp_as_number = &size_number,
    .tp_methods = size_methods,
};
