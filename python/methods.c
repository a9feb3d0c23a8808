// SPDX-License-Identifier: Apache-2.0
// Attributes and methods of Tensor that are no operators: sizes and layout, conversions between
// dtypes and devices, Python's and NumPy's protocols.
#include <string.h>

#include "op/refuse.h"
#include "py.h"

static ig_tensor *self_of(PyObject *o) {
  return py_tensor_of(o);
}

// ---- what it is ----

static PyObject *get_shape(PyObject *o, void *unused) {
  (void)unused;
  return py_size_make(ig_sizes(self_of(o)), self_of(o)->ndim);
}
static PyObject *get_ndim(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromLong(self_of(o)->ndim);
}
static PyObject *get_dtype(PyObject *o, void *unused) {
  (void)unused;
  return py_from_dtype(self_of(o)->dtype);
}
static PyObject *get_device(PyObject *o, void *unused) {
  (void)unused;
  return py_from_device(self_of(o)->device);
}
static PyObject *get_layout(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  return py_from_layout(IG_STRIDED);
}
// The closure is the device type asked for.
static PyObject *is_device(PyObject *o, void *type) {
  return PyBool_FromLong(self_of(o)->device.type == (int)(intptr_t)type);
}
static PyObject *is_never(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_FALSE;
}
static PyObject *get_itemsize(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(ig_dtype_size(self_of(o)->dtype));
}

static PyObject *numel(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  const ig_tensor *t = self_of(o);
  ig_int n = ig_const(1);
  for (int d = 0; d < t->ndim; d++) n = ig_int_mul(c, n, ig_sizes(t)[d]);
  return py_ok(c) ? py_from_int(n) : NULL;
}
static PyObject *get_nbytes(PyObject *o, void *unused) {
  PyObject *n = numel(o, NULL);
  PyObject *size = n ? get_itemsize(o, unused) : NULL;
  PyObject *out = size ? PyNumber_Multiply(n, size) : NULL;
  Py_XDECREF(n);
  Py_XDECREF(size);
  return out;
}
static PyObject *get_priority(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  return PyLong_FromLong(1000);  // NumPy's operators leave mixed calls to us
}
static PyObject *get_cdata(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(self_of(o));
}
// The closure is the operator.
static PyObject *by_operator(PyObject *o, void *fn) {
  return py_fn_call((py_fn)(intptr_t)fn, &o, 1);
}
static PyObject *get_real(PyObject *o, void *unused) {
  (void)unused;
  return py_fn_call(PY_FN_real, &o, 1);
}
static PyObject *get_imag(PyObject *o, void *unused) {
  (void)unused;
  if (!ig_dtype_is_complex(self_of(o)->dtype)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "imag is not implemented for tensors with non-complex dtypes.");
    return NULL;
  }
  return py_fn_call(PY_FN_imag, &o, 1);
}

// ---- sizes ----

// The optional argument `dim` of size() and stride(); -1: exception set, ndim: not given.
static int dim_argument(PyObject *o, const char *name, PyObject *const *args, Py_ssize_t n,
                        PyObject *kwnames) {
  int ndim = self_of(o)->ndim;
  PyObject *dim = n > 0 ? args[0] : NULL;
  if (kwnames && PyTuple_GET_SIZE(kwnames) == 1 && n == 0) dim = args[0];
  if (!dim || dim == Py_None) return ndim;
  ig_int i;
  py_take taken = py_to_int(dim, &i);
  if (taken == PY_OTHER) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", name,
                 py_type_name(dim));
  }
  if (taken != PY_TAKEN) return -1;
  if (i.value < -ndim || i.value >= ndim) {
    if (ndim == 0) {
      PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions",
                   (long long)i.value);
    } else {
      PyErr_Format(PyExc_IndexError,
                   "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   -ndim, ndim - 1, (long long)i.value);
    }
    return -1;
  }
  return (int)(i.value < 0 ? i.value + ndim : i.value);
}

static PyObject *size(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  int d = dim_argument(o, "size", args, n, kwnames);
  if (d < 0) return NULL;
  const ig_tensor *t = self_of(o);
  return d == t->ndim ? py_size_make(ig_sizes(t), t->ndim) : py_from_int(ig_sizes(t)[d]);
}
static PyObject *stride(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  int d = dim_argument(o, "stride", args, n, kwnames);
  if (d < 0) return NULL;
  const ig_tensor *t = self_of(o);
  if (d < t->ndim) return py_from_int(ig_strides(t)[d]);
  PyObject *out = PyTuple_New(t->ndim);
  for (int i = 0; out && i < t->ndim; i++) {
    PyObject *item = py_from_int(ig_strides(t)[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyTuple_SET_ITEM(out, i, item);
  }
  return out;
}
static PyObject *dim(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(self_of(o)->ndim);
}
static PyObject *element_size(PyObject *o, PyObject *unused) {
  (void)unused;
  return get_itemsize(o, NULL);
}
static PyObject *data_ptr(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_tensor *t = self_of(o);
  if (ig_is_fake(t) && t->device.type == IG_DEVICE_CPU) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Cannot access data pointer of Tensor that doesn't have storage");
    return NULL;
  }
  return PyLong_FromVoidPtr(ig_tensor_numel(t) > 0 ? ig_tensor_data(t) : NULL);
}
static PyObject *storage_offset(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_int(self_of(o)->offset);
}
static PyObject *get_device_index(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(self_of(o)->device.index);
}
static PyObject *is_floating_point(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_dtype_is_float(self_of(o)->dtype));
}
static PyObject *is_complex(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_dtype_is_complex(self_of(o)->dtype));
}
static PyObject *is_signed(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *d = py_from_dtype(self_of(o)->dtype);
  PyObject *out = PyObject_GetAttrString(d, "is_signed");
  Py_DECREF(d);
  return out;
}
static PyObject *no(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_FALSE;
}
static PyObject *itself(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}
static PyObject *is_set_to(PyObject *o, PyObject *other) {
  if (!py_is_tensor(other)) {
    PyErr_SetString(PyExc_TypeError, "is_set_to(): expected a Tensor");
    return NULL;
  }
  const ig_tensor *a = self_of(o);
  const ig_tensor *b = self_of(other);
  bool same = a->storage == b->storage && a->ndim == b->ndim && a->offset.value == b->offset.value;
  for (int d = 0; same && d < 2 * a->ndim; d++) same = a->dims[d].value == b->dims[d].value;
  return PyBool_FromLong(same);
}

// The argument memory_format, given by place or name.
static bool format_argument(const char *name, PyObject *const *args, Py_ssize_t n,
                            PyObject *kwnames, ig_value *out) {
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

static bool has_format(ig_ctx *c, const ig_tensor *t, const ig_value *format) {
  bool plain = format->kind == IG_KIND_NONE || format->memory_format == IG_CONTIGUOUS;
  return plain ? ig_tensor_is_contiguous(c, t) : ig_tensor_has_format(c, t, format->memory_format);
}

static PyObject *is_contiguous(PyObject *o, PyObject *const *args, Py_ssize_t n,
                               PyObject *kwnames) {
  ig_value format;
  if (!format_argument("is_contiguous", args, n, kwnames, &format)) return NULL;
  ig_ctx *c = py_ctx();
  bool yes = has_format(c, self_of(o), &format);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

static PyObject *contiguous(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  ig_value format;
  if (!format_argument("contiguous", args, n, kwnames, &format)) return NULL;
  ig_ctx *c = py_ctx();
  if (has_format(c, self_of(o), &format)) return Py_NewRef(o);
  if (!py_ok(c)) return NULL;
  if (format.kind == IG_KIND_NONE) format = ig_of_memory_format(IG_CONTIGUOUS);
  ig_value v[] = {ig_of_tensor(self_of(o)), format};
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = py_call_tensor(c, PY_CONTIGUOUS, v, 2);
  PyObject *out = t ? py_from_tensor(c, t) : NULL;
  ig_scope_close(c, s);
  return out;
}

// ---- conversions ----

typedef struct conversion {
  bool has_device;
  bool has_dtype;
  ig_device device;
  ig_dtype dtype;
  bool non_blocking;
  bool copy;
  ig_value format;
} conversion;

// Makes the very call that PyTorch makes for each spelling.
static PyObject *convert(PyObject *o, const conversion *k, bool always) {
  ig_tensor *t = self_of(o);
  ig_value nb = ig_of_bool(k->non_blocking);
  ig_value copy = ig_of_bool(k->copy);
  ig_value self = ig_of_tensor(t);
  if (!always && !k->has_device && !k->has_dtype && !k->copy && k->format.kind == IG_KIND_NONE) {
    return Py_NewRef(o);
  }
  ig_ctx *c = py_ctx();
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
    k->device = self_of(args[0])->device;
    k->dtype = self_of(args[0])->dtype;
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
  if (strcmp(key, "memory_format") == 0) return format_argument("to", &o, 1, NULL, &k->format);
  if (strcmp(key, "other") == 0 || strcmp(key, "tensor") == 0) return to_positional(k, &o, 1);
  PyErr_Format(PyExc_TypeError, "to() got an unexpected keyword argument '%U'", name);
  return false;
}

static PyObject *to(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.format = ig_none()};
  if (!to_positional(&k, args, n)) return NULL;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    if (!to_keyword(&k, PyTuple_GET_ITEM(kwnames, i), args[n + i])) return NULL;
  }
  return convert(o, &k, false);
}

static PyObject *as_dtype(PyObject *o, const char *name, ig_dtype d, PyObject *const *args,
                          Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.has_dtype = true, .dtype = d};
  if (!format_argument(name, args, n, kwnames, &k.format)) return NULL;
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
  conversion k = {.has_device = true, .device = ig_device_cpu()};
  if (!format_argument("cpu", args, n, kwnames, &k.format)) return NULL;
  return convert(o, &k, true);
}
static PyObject *cuda(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  conversion k = {.has_device = true, .device = {IG_DEVICE_CUDA, 0}, .format = ig_none()};
  (void)kwnames;
  int taken = n > 0 && args[0] != Py_None ? py_to_device(args[0], &k.device) : 1;
  if (taken == 0) (void)bad_to(args[0]);
  if (taken != 1) return NULL;
  return convert(o, &k, true);
}

// type() -> "torch.FloatTensor"; type(dtype or such a text) converts.
static PyObject *type(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"dtype", "non_blocking", NULL};
  PyObject *want = Py_None;
  int nb = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:type", keys, &want, &nb)) return NULL;
  if (want == Py_None) {
    return PyUnicode_FromFormat("torch.%sTensor", ig_dtype_title(self_of(o)->dtype));
  }
  conversion k = {.has_dtype = true, .non_blocking = nb == 1, .format = ig_none()};
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
  if (!py_to_dtype(want, &k.dtype)) {
    PyErr_SetString(PyExc_TypeError, "dtype must be a type, str, or dtype object");
    return NULL;
  }
  return convert(o, &k, false);
}

// ---- Python's protocols ----

static PyObject *item(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_tensor_item(py_ctx(), self_of(o));
}
static PyObject *tolist(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_tolist(py_ctx(), self_of(o));
}
static PyObject *numpy(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"force", NULL};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", keys, &force)) return NULL;
  if (!force) return py_tensor_numpy(o);
  PyObject *plain = py_fn_call(PY_FN_detach, &o, 1);
  PyObject *out = plain ? py_tensor_numpy(plain) : NULL;
  Py_XDECREF(plain);
  return out;
}
static PyObject *array(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"dtype", "copy", NULL};
  PyObject *dtype = Py_None;
  PyObject *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", keys, &dtype, &copy)) return NULL;
  PyObject *a = py_tensor_numpy(o);
  if (a && dtype != Py_None) {
    PyObject *method = PyObject_GetAttrString(a, "astype");
    PyObject *tuple = PyTuple_Pack(1, dtype);
    PyObject *kw = Py_BuildValue("{s:O}", "copy", copy == Py_True ? Py_True : Py_False);
    PyObject *converted = method && tuple && kw ? PyObject_Call(method, tuple, kw) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(tuple);
    Py_XDECREF(kw);
    Py_SETREF(a, converted);
  } else if (a && copy == Py_True) {
    PyObject *copied = PyObject_CallMethod(a, "copy", NULL);
    Py_SETREF(a, copied);
  }
  return a;
}
static PyObject *array_wrap(PyObject *o, PyObject *args) {
  (void)o;
  if (PyTuple_GET_SIZE(args) == 0) {
    PyErr_SetString(PyExc_TypeError, "__array_wrap__(): expected an array");
    return NULL;
  }
  return PyObject_CallMethod(py.module, "as_tensor", "O", PyTuple_GET_ITEM(args, 0));
}
static PyObject *complex_of(PyObject *o, PyObject *unused) {
  (void)unused;
  if (ig_tensor_numel(self_of(o)) != 1) {
    PyErr_SetString(PyExc_ValueError,
                    "only one element tensors can be converted to Python scalars");
    return NULL;
  }
  PyObject *x = py_tensor_item(py_ctx(), self_of(o));
  PyObject *out = x ? PyObject_CallOneArg((PyObject *)&PyComplex_Type, x) : NULL;
  Py_XDECREF(x);
  return out;
}
static PyObject *format(PyObject *o, PyObject *spec) {
  const ig_tensor *t = self_of(o);
  if (t->ndim == 0 && !ig_is_fake(t) && Py_IS_TYPE(o, py_tensor_type)) {
    PyObject *x = py_tensor_item(py_ctx(), self_of(o));
    PyObject *out = x ? PyObject_Format(x, spec) : NULL;
    Py_XDECREF(x);
    return out;
  }
  if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return PyObject_Str(o);
  PyErr_Format(PyExc_TypeError, "unsupported format string passed to %s.__format__",
               py_type_name(o));
  return NULL;
}
static PyObject *reversed(PyObject *o, PyObject *unused) {
  (void)unused;
  if (self_of(o)->ndim == 0) return Py_NewRef(o);
  PyObject *dims = Py_BuildValue("(i)", 0);
  PyObject *args[] = {o, dims};
  PyObject *out = dims ? py_fn_call(PY_FN_flip, args, 2) : NULL;
  Py_XDECREF(dims);
  return out;
}

// split(size, dim=0): a list of sizes is another operator.
static PyObject *split(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"split_size", "dim", NULL};
  PyObject *sizes = NULL;
  PyObject *along = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:split", keys, &sizes, &along)) return NULL;
  PyObject *call[] = {o, sizes, along};
  bool list = PyList_Check(sizes) || PyTuple_Check(sizes);
  return py_fn_call(list ? PY_FN_split_with_sizes : PY_FN_split, call, along ? 3 : 2);
}

static PyObject *new_tensor(PyObject *o, PyObject *args, PyObject *kwargs) {
  PyObject *fn = PyObject_GetAttrString(py.module, "_new_tensor");
  PyObject *self = PyTuple_Pack(1, o);
  PyObject *all = self ? PySequence_Concat(self, args) : NULL;
  PyObject *out = fn && all ? PyObject_Call(fn, all, kwargs) : NULL;
  Py_XDECREF(fn);
  Py_XDECREF(self);
  Py_XDECREF(all);
  return out;
}

// Methods that PyTorch writes in Python: the package has them as functions.
static PyObject *delegate(const char *name, PyObject *o, PyObject *args, PyObject *kwargs) {
  PyObject *module = PyImport_ImportModule("ingot.functional");
  PyObject *fn = module ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *self = PyTuple_Pack(1, o);
  PyObject *all = self ? PySequence_Concat(self, args) : NULL;
  PyObject *out = fn && all ? PyObject_Call(fn, all, kwargs) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(fn);
  Py_XDECREF(self);
  Py_XDECREF(all);
  return out;
}
#define DELEGATE(name)                                                   \
  static PyObject *name(PyObject *o, PyObject *args, PyObject *kwargs) { \
    return delegate(#name, o, args, kwargs);                             \
  }
DELEGATE(norm)
DELEGATE(unique)
DELEGATE(unique_consecutive)
DELEGATE(stft)
DELEGATE(istft)

#define DEVICE(name, type) \
  { name, is_device, NULL, NULL, (void *)(intptr_t)(type) }
#define BY(name, fn) \
  { name, by_operator, NULL, NULL, (void *)(intptr_t)(fn) }
PyGetSetDef py_tensor_getset[] = {
    {"shape", get_shape, NULL, NULL, NULL},
    {"ndim", get_ndim, NULL, NULL, NULL},
    {"dtype", get_dtype, NULL, NULL, NULL},
    {"device", get_device, NULL, NULL, NULL},
    {"layout", get_layout, NULL, NULL, NULL},
    {"itemsize", get_itemsize, NULL, NULL, NULL},
    {"nbytes", get_nbytes, NULL, NULL, NULL},
    DEVICE("is_cpu", IG_DEVICE_CPU),
    DEVICE("is_cuda", IG_DEVICE_CUDA),
    DEVICE("is_meta", IG_DEVICE_META),
    DEVICE("is_mps", IG_DEVICE_MPS),
    DEVICE("is_xpu", IG_DEVICE_XPU),
    DEVICE("is_xla", IG_DEVICE_XLA),
    DEVICE("is_mtia", IG_DEVICE_MTIA),
    {"is_sparse", is_never, NULL, NULL, NULL},
    {"is_sparse_csr", is_never, NULL, NULL, NULL},
    {"is_quantized", is_never, NULL, NULL, NULL},
    {"is_mkldnn", is_never, NULL, NULL, NULL},
    {"is_nested", is_never, NULL, NULL, NULL},
    {"is_vulkan", is_never, NULL, NULL, NULL},
    BY("T", PY_FN_numpy_T),
    BY("mT", PY_FN_mT),
    BY("mH", PY_FN_mH),
    BY("H", PY_FN_matrix_H),
    {"real", get_real, NULL, NULL, NULL},
    {"imag", get_imag, NULL, NULL, NULL},
    {"__array_priority__", get_priority, NULL, NULL, NULL},
    {"_cdata", get_cdata, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define FAST(fn) (PyCFunction)(void (*)(void))(fn), METH_FASTCALL | METH_KEYWORDS, NULL
#define WORDS(fn) (PyCFunction)(void (*)(void))(fn), METH_VARARGS | METH_KEYWORDS, NULL
PyMethodDef py_tensor_methods[] = {
    {"size", FAST(size)},
    {"stride", FAST(stride)},
    {"dim", dim, METH_NOARGS, NULL},
    {"ndimension", dim, METH_NOARGS, NULL},
    {"numel", numel, METH_NOARGS, NULL},
    {"nelement", numel, METH_NOARGS, NULL},
    {"element_size", element_size, METH_NOARGS, NULL},
    {"data_ptr", data_ptr, METH_NOARGS, NULL},
    {"storage_offset", storage_offset, METH_NOARGS, NULL},
    {"get_device", get_device_index, METH_NOARGS, NULL},
    {"is_floating_point", is_floating_point, METH_NOARGS, NULL},
    {"is_complex", is_complex, METH_NOARGS, NULL},
    {"is_signed", is_signed, METH_NOARGS, NULL},
    {"is_conj", no, METH_NOARGS, NULL},
    {"is_neg", no, METH_NOARGS, NULL},
    {"is_shared", no, METH_NOARGS, NULL},
    {"is_pinned", no, METH_NOARGS, NULL},
    {"resolve_neg", itself, METH_NOARGS, NULL},
    {"share_memory_", itself, METH_NOARGS, NULL},
    {"pin_memory", itself, METH_NOARGS, NULL},
    {"is_set_to", is_set_to, METH_O, NULL},
    {"is_contiguous", FAST(is_contiguous)},
    {"contiguous", FAST(contiguous)},
    {"to", FAST(to)},
    {"type", WORDS(type)},
    {"cpu", FAST(cpu)},
    {"cuda", FAST(cuda)},
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
    {"item", item, METH_NOARGS, NULL},
    {"tolist", tolist, METH_NOARGS, NULL},
    {"numpy", WORDS(numpy)},
    {"new_tensor", WORDS(new_tensor)},
    {"split", WORDS(split)},
    {"norm", WORDS(norm)},
    {"unique", WORDS(unique)},
    {"unique_consecutive", WORDS(unique_consecutive)},
    {"stft", WORDS(stft)},
    {"istft", WORDS(istft)},
    {"__array__", WORDS(array)},
    {"__array_wrap__", array_wrap, METH_VARARGS, NULL},
    {"__dlpack__", WORDS(py_tensor_dlpack)},
    {"__dlpack_device__", py_tensor_dlpack_device, METH_NOARGS, NULL},
    {"__complex__", complex_of, METH_NOARGS, NULL},
    {"__format__", format, METH_O, NULL},
    {"__reversed__", reversed, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
