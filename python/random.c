// SPDX-License-Identifier: Apache-2.0
// torch.Generator, and the default generator of the process: one object shared by all threads, as
// the GIL is held whenever it is drawn from.
#include "op/random.h"

#include <string.h>

#include "py.h"

PyTypeObject py_generator_type;
static py_generator *default_generator;

static ig_generator *generator_of(PyObject *o) {
  return ((py_generator *)o)->g;
}

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"device", NULL};
  PyObject *device = NULL;
  ig_device d = ig_device_cpu();
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", keys, &device)) return NULL;
  if (device && device != Py_None) {
    int taken = py_to_device(device, &d);
    if (taken == 0) {
      PyErr_Format(PyExc_TypeError,
                   "Generator(): argument 'device' (position 1) must be torch.device, not %s",
                   py_type_name(device));
    }
    if (taken != 1) return NULL;
  }
  if (d.type != IG_DEVICE_CPU) {
    PyErr_Format(PyExc_RuntimeError, "Device type %s is not supported for torch.Generator() api.",
                 ig_device_type_text(d));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_generator *g = ig_generator_create(c, IG_RANDOM_DEFAULT_SEED);
  if (!g) return py_ok(c) ? PyErr_NoMemory() : NULL;
  py_generator *o = (py_generator *)type->tp_alloc(type, 0);
  if (!o) {
    ig_generator_free(g);
    return NULL;
  }
  o->g = g;
  return (PyObject *)o;
}

static void generator_dealloc(PyObject *o) {
  if (!((py_generator *)o)->borrowed) ig_generator_free(generator_of(o));
  Py_TYPE(o)->tp_free(o);
}

// Negative seeds count from the top; beyond 64 bits is an overflow.
static bool to_seed(PyObject *o, uint64_t *out) {
  PyObject *i = PyNumber_Long(o);
  if (!i) return false;
  int overflow = 0;
  long long s = PyLong_AsLongLongAndOverflow(i, &overflow);
  if (overflow > 0) {
    *out = PyLong_AsUnsignedLongLong(i);
  } else {
    *out = (uint64_t)s;
  }
  bool bad = overflow < 0 || (overflow > 0 && PyErr_Occurred());
  Py_DECREF(i);
  if (bad) {
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking unsigned long long");
  }
  return !bad;
}

static PyObject *manual_seed(PyObject *o, PyObject *seed) {
  uint64_t s = 0;
  if (!to_seed(seed, &s) || !py_settle_random(py_ctx())) return NULL;
  ig_generator_seed(generator_of(o), s);
  return Py_NewRef(o);
}
static PyObject *seed(PyObject *o, PyObject *unused) {
  (void)unused;
  if (!py_settle_random(py_ctx())) return NULL;
  return PyLong_FromUnsignedLongLong(ig_generator_seed_any(generator_of(o)));
}
static PyObject *initial_seed(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(ig_generator_initial_seed(generator_of(o)));
}
static PyObject *get_state(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!py_settle_random(c)) return NULL;
  int64_t n = IG_RANDOM_STATE_BYTES;
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = ig_tensor_empty(c, IG_U8, &n, 1);
  if (t) ig_generator_get_state(generator_of(o), ig_tensor_data(t));
  PyObject *out = py_from_tensor(c, t);
  ig_scope_close(c, s);
  return out;
}
static PyObject *set_state(PyObject *o, PyObject *state) {
  ig_ctx *c = py_ctx();
  if (!py_settle_random(c)) return NULL;
  const ig_tensor *t = py_is_tensor(state) ? py_tensor_of(state) : NULL;
  if (!t || t->dtype != IG_U8 || ig_is_fake(t) || !ig_tensor_is_dense(t)) {
    PyErr_SetString(PyExc_TypeError, "expected a torch.ByteTensor, but got another state");
    return NULL;
  }
  size_t n = (size_t)ig_tensor_numel(t);
  (void)ig_generator_set_state(c, generator_of(o), ig_tensor_data(t), n);
  return py_ok(c) ? Py_NewRef(o) : NULL;
}
static PyObject *clone_state(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!py_settle_random(c)) return NULL;
  ig_generator *g = ig_generator_copy(c, generator_of(o));
  if (!g) return py_ok(c) ? PyErr_NoMemory() : NULL;
  py_generator *copy = (py_generator *)py_generator_type.tp_alloc(&py_generator_type, 0);
  if (copy) {
    copy->g = g;
  } else {
    ig_generator_free(g);
  }
  return (PyObject *)copy;
}
static PyObject *reduce(PyObject *o, PyObject *unused) {
  PyObject *maker = PyObject_GetAttrString(py.module, "_rebuild_generator");
  PyObject *state = maker ? get_state(o, unused) : NULL;
  if (!state) {
    Py_XDECREF(maker);
    return NULL;
  }
  return Py_BuildValue("N(N)", maker, state);
}
static PyObject *get_device(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  return py_from_device(ig_device_cpu());
}

static PyGetSetDef getset[] = {
    {"device", get_device, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, NULL},
    {"seed", seed, METH_NOARGS, NULL},
    {"initial_seed", initial_seed, METH_NOARGS, NULL},
    {"get_state", get_state, METH_NOARGS, NULL},
    {"set_state", set_state, METH_O, NULL},
    {"clone_state", clone_state, METH_NOARGS, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_generator_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.Generator",
    .tp_basicsize = sizeof(py_generator),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = generator_new,
    .tp_dealloc = generator_dealloc,
    .tp_getset = getset,
    .tp_methods = methods,
};

static PyObject *rebuild_generator(PyObject *module, PyObject *state) {
  (void)module;
  PyObject *o = PyObject_CallNoArgs((PyObject *)&py_generator_type);
  PyObject *same = o ? set_state(o, state) : NULL;
  Py_XDECREF(o);
  return same;
}

PyMethodDef py_random_functions[] = {
    {"_rebuild_generator", rebuild_generator, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

void py_share_generator(ig_ctx *c) {
  if (!default_generator) return;
  ig_mode_set_generator(c, default_generator->g, NULL);
}

int py_add_random(PyObject *m) {
  if (PyType_Ready(&py_generator_type) != 0) return -1;
  ig_ctx *c = py_ctx();
  ig_generator *g = ig_generator_default(c);
  if (!g) {
    (void)py_ok(c);
    return -1;
  }
  default_generator = (py_generator *)py_generator_type.tp_alloc(&py_generator_type, 0);
  if (!default_generator) return -1;
  default_generator->g = g;
  default_generator->borrowed = true;
  return PyModule_AddObjectRef(m, "Generator", (PyObject *)&py_generator_type) ||
         PyModule_AddObjectRef(m, "default_generator", (PyObject *)default_generator);
}
