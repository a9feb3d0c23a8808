// SPDX-License-Identifier: Apache-2.0
// Conversions of tensors: to() in all its spellings, float(), half() ..., type(), cpu(). Each makes
// exactly the call that PyTorch makes for it.
#include <string.h>

#include "ir/graph.h"
#include "op/refuse.h"
#include "py.h"

// The argument memory_format, given by place or name.
bool py_to_format(const char *name, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                  ig_value *out) {
  PyObject *format = n > 0 || (kwnames && PyTuple_GET_SIZE(kwnames) > 0) ? args[0] : Py_None;
  *out = ig_none();
  if (format == Py_None) return true;
  if (!Py_IS_TYPE(format, &py_memory_format_type)) {
    PyErr_Format(PyExc_TypeError,
                 "%s(): argument 'memory_format' must be torch.memory_format, not %s", name,
                 py_type_name(format));
    return false;
  }
  *out = ig_of_memory_format((ig_memory_format)((py_enum *)format)->v);
  return true;
}

typedef struct conversion {
  const char *name;  // of the method
  bool cast;         // x.float(): a program without writes has it as a call of `to`
  bool has_device;
  bool has_dtype;
  ig_device device;
  ig_dtype dtype;
  bool non_blocking;
  bool copy;
  ig_value format;
} conversion;

// Makes exactly the call that PyTorch makes for each form.
static PyObject *convert(PyObject *o, const conversion *k, bool always) {
  ig_tensor *t = py_tensor_of(o);
  ig_value nb = ig_of_bool(k->non_blocking);
  ig_value copy = ig_of_bool(k->copy);
  ig_value self = ig_of_tensor(t);
  if (!always && !k->has_device && !k->has_dtype && !k->copy && k->format.kind == IG_KIND_NONE) {
    return Py_NewRef(o);
  }
  ig_ctx *c = py_ctx();
  if (k->has_device && !py_device_ready(c, t, k->device)) return NULL;
  bool as_to = k->cast && c->mode->capture && c->mode->capture->inference;
  bool inside = py_region(c, "method_descriptor", as_to ? "to" : k->name, k->name);
  ig_scope s = ig_scope_open(c);
  ig_tensor *r = NULL;
  if (k->has_device && k->has_dtype) {
    ig_value v[] = {self, ig_of_device(k->device), ig_of_dtype(k->dtype), nb, copy, k->format};
    r = py_call_tensor(c, PY_TO_DEVICE, v, 6);
  } else if (k->has_dtype) {
    ig_value v[] = {self, ig_of_dtype(k->dtype), nb, copy, k->format};
    r = py_call_tensor(c, PY_TO_DTYPE, v, 5);
  } else {
    ig_value v[] = {self,
                    ig_of_dtype(t->dtype),
                    (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                    ig_of_device(k->has_device ? k->device : t->device),
                    ig_none(),
                    nb,
                    copy,
                    k->format};
    r = py_call_tensor(c, PY_TO_LAYOUT, v, 8);
  }
  PyObject *out = r ? py_from_tensor(c, r) : NULL;
  ig_scope_close(c, s);
  if (inside) py_region_leave(c);
  return out;
}

static bool flag(PyObject *o, bool *out) {
  int yes = PyObject_IsTrue(o);
  *out = yes == 1;
  return yes >= 0;
}

static bool bad_to(PyObject *o) {
  PyErr_Format(PyExc_TypeError,
               "to() received an invalid combination of arguments - got (%s), but expected one "
               "of:\n * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = "
               "False, bool copy = False, *, torch.memory_format memory_format = None)\n * "
               "(torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
               "torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = "
               "False, bool copy = False, *, torch.memory_format memory_format = None)\n",
               py_type_name(o));
  return false;
}

// A place in the argument list of to(): device, dtype or tensor first, then the flags.
static bool to_positional(conversion *k, PyObject *const *args, Py_ssize_t n) {
  Py_ssize_t i = 0;
  if (n > 0 && py_is_tensor(args[0])) {
    k->has_device = k->has_dtype = true;
    k->device = py_tensor_of(args[0])->device;
    k->dtype = py_tensor_of(args[0])->dtype;
    i = 1;
  } else if (n > 0) {
    if (args[0] != Py_None && py_to_dtype(args[0], &k->dtype)) {
      k->has_dtype = true;
      i = 1;
    } else if (args[0] == Py_None) {
      i = 1;
    } else {
      int taken = py_to_device(args[0], &k->device);
      if (taken <= 0) return taken == 0 ? bad_to(args[0]) : false;
      k->has_device = true;
      i = 1;
    }
    if (!k->has_dtype && i < n && (args[i] == Py_None || py_to_dtype(args[i], &k->dtype))) {
      k->has_dtype = args[i] != Py_None;
      i++;
    }
  }
  if (i < n && !flag(args[i++], &k->non_blocking)) return false;
  if (i < n && !flag(args[i++], &k->copy)) return false;
  return i == n || bad_to(args[i]);
}

static bool to_keyword(conversion *k, PyObject *name, PyObject *o) {
  const char *key = PyUnicode_AsUTF8(name);
  if (!key) return false;
  if (strcmp(key, "non_blocking") == 0) return flag(o, &k->non_blocking);
  if (strcmp(key, "copy") == 0) return flag(o, &k->copy);
  if (o == Py_None) return true;
  if (strcmp(key, "dtype") == 0) {
    k->has_dtype = py_to_dtype(o, &k->dtype);
    return k->has_dtype || bad_to(o);
  }
  if (strcmp(key, "device") == 0) {
    int taken = py_to_device(o, &k->device);
    k->has_device = taken == 1;
    return taken == 0 ? bad_to(o) : taken == 1;
  }
  if (strcmp(key, "memory_format") == 0) return py_to_format("to", &o, 1, NULL, &k->format);
  if (strcmp(key, "other") == 0 || strcmp(key, "tensor") == 0) return to_positional(k, &o, 1);
  PyErr_Format(PyExc_TypeError, "to() got an unexpected keyword argument '%U'", name);
  return false;
}

static PyObject *to(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.name = "to", .format = ig_none()};
  if (!to_positional(&k, args, n)) return NULL;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    if (!to_keyword(&k, PyTuple_GET_ITEM(kwnames, i), args[n + i])) return NULL;
  }
  return convert(o, &k, false);
}

static PyObject *as_dtype(PyObject *o, const char *name, ig_dtype d, PyObject *const *args,
                          Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.name = name, .cast = true, .has_dtype = true, .dtype = d};
  if (!py_to_format(name, args, n, kwnames, &k.format)) return NULL;
  return convert(o, &k, false);
}
#define CAST(name, text, d)                                                                    \
  static PyObject *name(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) { \
    return as_dtype(o, text, d, args, n, kwnames);                                             \
  }
CAST(to_float, "float", IG_F32)
CAST(to_double, "double", IG_F64)
CAST(to_half, "half", IG_F16)
CAST(to_bfloat16, "bfloat16", IG_BF16)
CAST(to_int, "int", IG_I32)
CAST(to_long, "long", IG_I64)
CAST(to_short, "short", IG_I16)
CAST(to_char, "char", IG_I8)
CAST(to_byte, "byte", IG_U8)
CAST(to_bool, "bool", IG_BOOL)
CAST(to_cfloat, "cfloat", IG_C64)
CAST(to_cdouble, "cdouble", IG_C128)

static PyObject *cpu(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.name = "cpu", .has_device = true, .device = ig_device_cpu()};
  if (!py_to_format("cpu", args, n, kwnames, &k.format)) return NULL;
  return convert(o, &k, true);
}
static PyObject *to_kind(PyObject *o, const char *name, int kind, PyObject *const *args,
                         Py_ssize_t n, PyObject *kwnames) {
  conversion k = {
      .name = name, .has_device = true, .device = {(int16_t)kind, 0}, .format = ig_none()};
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    bool device = PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "device") == 0;
    if (device && args[n + i] == Py_None) continue;
    if (!to_keyword(&k, PyTuple_GET_ITEM(kwnames, i), args[n + i])) return NULL;
  }
  int taken = n > 0 && args[0] != Py_None ? py_to_device(args[0], &k.device) : 1;
  if (taken == 0) (void)bad_to(args[0]);
  if (taken != 1) return NULL;
  if (k.device.type != kind) {
    PyErr_Format(PyExc_RuntimeError, "Invalid device, must be %s device", name);
    return NULL;
  }
  return convert(o, &k, true);
}
static PyObject *cuda(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  return to_kind(o, "cuda", IG_DEVICE_CUDA, args, n, kwnames);
}
static PyObject *xpu(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  return to_kind(o, "xpu", IG_DEVICE_XPU, args, n, kwnames);
}

// type() -> "torch.FloatTensor"; type(dtype or such a text) converts.
static PyObject *type(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"dtype", "non_blocking", NULL};
  PyObject *want = Py_None;
  int nb = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:type", keys, &want, &nb)) return NULL;
  if (want == Py_None) {
    const ig_tensor *t = py_tensor_of(o);
    return PyUnicode_FromFormat("torch.%s%sTensor", t->quantizer ? "quantized." : "",
                                ig_dtype_title(t->dtype));
  }
  conversion k = {.name = "type", .has_dtype = true, .non_blocking = nb == 1, .format = ig_none()};
  if (PyUnicode_Check(want)) {
    for (int d = 0; d < IG_DTYPE_COUNT; d++) {
      char text[64];
      (void)snprintf(text, sizeof text, "torch.%sTensor", ig_dtype_title((ig_dtype)d));
      if (PyUnicode_CompareWithASCIIString(want, text) == 0) {
        k.dtype = (ig_dtype)d;
        return convert(o, &k, false);
      }
    }
    PyErr_Format(PyExc_ValueError, "invalid type: %R", want);
    return NULL;
  }
  // torch.FloatTensor and its kin are classes that say their dtype.
  PyObject *dtype = PyType_Check(want) ? PyObject_GetAttrString(want, "dtype") : Py_NewRef(want);
  PyErr_Clear();
  bool known = dtype && py_to_dtype(dtype, &k.dtype);
  Py_XDECREF(dtype);
  if (!known) {
    PyErr_SetString(PyExc_TypeError, "dtype must be a type, str, or dtype object");
    return NULL;
  }
  return convert(o, &k, false);
}

#define FAST(fn) (PyCFunction)(void (*)(void))(fn), METH_FASTCALL | METH_KEYWORDS, NULL
#define WORDS(fn) (PyCFunction)(void (*)(void))(fn), METH_VARARGS | METH_KEYWORDS, NULL
static PyMethodDef methods[] = {
    {"to", FAST(to)},
    {"type", WORDS(type)},
    {"cpu", FAST(cpu)},
    {"cuda", FAST(cuda)},
    {"xpu", FAST(xpu)},
    {"float", FAST(to_float)},
    {"double", FAST(to_double)},
    {"half", FAST(to_half)},
    {"bfloat16", FAST(to_bfloat16)},
    {"int", FAST(to_int)},
    {"long", FAST(to_long)},
    {"short", FAST(to_short)},
    {"char", FAST(to_char)},
    {"byte", FAST(to_byte)},
    {"bool", FAST(to_bool)},
    {"cfloat", FAST(to_cfloat)},
    {"cdouble", FAST(to_cdouble)},
    {NULL, NULL, 0, NULL},
};

int py_add_conversions(void) {
  return py_tensor_add(methods, NULL);
}
