// SPDX-License-Identifier: Apache-2.0
// NumPy import and export without copies and without its headers: arrays come in and tensors go out
// through __array_struct__, a documented C struct in a capsule.
#include <string.h>

#include "capture/defer.h"
#include "ingot/grad.h"
#include "op/refuse.h"
#include "py.h"
#include "trace_script.h"

// The struct of NumPy's array interface, version 3.
typedef struct array_struct {
  int two;
  int nd;
  char kind;
  int itemsize;
  int flags;
  Py_intptr_t *shape;
  Py_intptr_t *strides;
  void *data;
  PyObject *descr;
} array_struct;

enum { ALIGNED = 0x100, NOT_SWAPPED = 0x200, WRITABLE = 0x400 };

static const struct {
  char kind;
  int size;
  ig_dtype dtype;
} kinds[] = {
    {'b', 1, IG_BOOL}, {'u', 1, IG_U8},  {'i', 1, IG_I8},  {'i', 2, IG_I16},   {'i', 4, IG_I32},
    {'i', 8, IG_I64},  {'u', 2, IG_U16}, {'u', 4, IG_U32}, {'u', 8, IG_U64},   {'f', 2, IG_F16},
    {'f', 4, IG_F32},  {'f', 8, IG_F64}, {'c', 8, IG_C64}, {'c', 16, IG_C128},
};

static void free_array(void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)user);
  PyGILState_Release(state);
}

static ig_dtype array_dtype(PyObject *o, const array_struct *a) {
  for (size_t i = 0; i < PY_COUNT(kinds); i++) {
    if (kinds[i].kind != a->kind || kinds[i].size != a->itemsize) continue;
    if (a->flags & NOT_SWAPPED || a->itemsize == 1) return kinds[i].dtype;
    PyErr_SetString(PyExc_ValueError,
                    "given numpy array has byte order different from the native byte order. "
                    "Conversion between byte orders is currently not supported.");
    return IG_DTYPE_COUNT;
  }
  PyObject *dtype = PyObject_GetAttrString(o, "dtype");
  PyObject *type = dtype ? PyObject_GetAttrString(dtype, "type") : NULL;
  const char *name = type && PyType_Check(type) ? ((PyTypeObject *)type)->tp_name : "unknown";
  PyErr_Format(PyExc_TypeError,
               "can't convert np.ndarray of type %s. The only supported types are: float64, "
               "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
               "uint32, uint16, uint8, and bool.",
               name);
  Py_XDECREF(type);
  Py_XDECREF(dtype);
  return IG_DTYPE_COUNT;
}

// Sizes and strides in elements, and the bytes that they reach over.
static bool array_layout(const array_struct *a, int64_t *sizes, int64_t *strides, size_t *bytes) {
  int64_t last = 0;
  int64_t dense = 1;
  bool empty = false;
  for (int d = a->nd - 1; d >= 0; d--) {
    int64_t n = a->shape[d];
    if (n > 1 && a->strides[d] < 0) {
      PyErr_SetString(PyExc_ValueError,
                      "At least one stride in the given numpy array is negative, and tensors with "
                      "negative strides are not currently supported. (You can probably work around "
                      "this by making a copy of your array  with array.copy().) ");
      return false;
    }
    if (n > 1 && a->strides[d] % a->itemsize != 0) {
      PyErr_SetString(PyExc_ValueError,
                      "given numpy array strides not a multiple of the element byte size. Copy the "
                      "numpy array to reallocate the memory.");
      return false;
    }
    // A dimension of one element has the stride that a dense array would have.
    int64_t stride = n > 1 ? a->strides[d] / a->itemsize : dense;
    dense = stride * (n > 1 ? n : 1);
    sizes[d] = n;
    strides[d] = stride;
    empty |= n == 0;
    if (n > 1) last += (n - 1) * stride;
  }
  *bytes = empty ? 0 : (size_t)(last + 1) * (size_t)a->itemsize;
  return true;
}

// owner: what must live as long as the memory.
static ig_tensor *wrap(ig_ctx *c, PyObject *o, PyObject *owner, const array_struct *a) {
  int64_t sizes[IG_MAX_DIM];
  int64_t strides[IG_MAX_DIM];
  ig_foreign memory = {.data = a->data, .strides = strides, .free_fn = free_array, .user = owner};
  if (a->nd > IG_MAX_DIM) {
    PyErr_Format(PyExc_ValueError, "found %d dimensions, expected at most %d", a->nd, IG_MAX_DIM);
    return NULL;
  }
  ig_dtype d = array_dtype(o, a);
  if (d == IG_DTYPE_COUNT || !array_layout(a, sizes, strides, &memory.bytes)) return NULL;
  Py_INCREF(owner);
  ig_tensor *t = ig_tensor_wrap(c, d, sizes, a->nd, &memory);
  return py_ok(c) ? t : NULL;
}

static PyObject *struct_of(PyObject *o, const array_struct **a) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("__array_struct__"))) return NULL;
  PyObject *capsule = NULL;
  if (PyObject_GetOptionalAttr(o, name, &capsule) <= 0) return NULL;
  *a = PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
  if (!*a || (*a)->two != 2) {
    PyErr_Clear();
    Py_CLEAR(capsule);
  }
  return capsule;
}

// Kernels read elements at multiples of their size; an array in a file or buffer may lie elsewhere.
static ig_tensor *from_misaligned(ig_ctx *c, PyObject *o) {
  const array_struct *a = NULL;
  PyObject *copy = PyObject_CallMethod(o, "copy", NULL);
  PyObject *capsule = copy ? struct_of(copy, &a) : NULL;
  ig_tensor *t = NULL;
  if (capsule && a->flags & ALIGNED) t = wrap(c, copy, copy, a);
  if (capsule && !(a->flags & ALIGNED))
    PyErr_SetString(PyExc_ValueError, "an array is not aligned, and neither is its copy");
  Py_XDECREF(capsule);
  Py_XDECREF(copy);
  return t;
}

ig_tensor *py_from_array(ig_ctx *c, PyObject *o) {
  const array_struct *a = NULL;
  PyObject *capsule = struct_of(o, &a);
  if (!capsule) return NULL;
  if (!(a->flags & ALIGNED)) {
    Py_DECREF(capsule);
    return from_misaligned(c, o);
  }
  // A scalar's struct belongs to an array that the capsule keeps.
  PyObject *owner = strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") == 0 ? o : capsule;
  ig_tensor *t = wrap(c, o, owner, a);
  Py_DECREF(capsule);
  return t;
}

// -1: no memory to find out.
static int is_ndarray(PyObject *o) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *type = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
  int yes = type ? PyObject_IsInstance(o, type) : 0;
  Py_XDECREF(type);
  Py_XDECREF(numpy);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
  PyErr_Clear();
  return yes == 1;
}

static PyObject *from_numpy(PyObject *module, PyObject *o) {
  (void)module;
  static bool warned;
  const array_struct *a = NULL;
  int array = is_ndarray(o);
  if (array == 0)
    PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(o)->tp_name);
  if (array <= 0) return NULL;
  PyObject *capsule = struct_of(o, &a);
  if (!capsule) return NULL;
  ig_ctx *c = py_ctx();
  if (!py_trace_warn(
          c,
          "torch.from_numpy results are registered as constants in the trace. You can safely "
          "ignore this warning if you use this function to create tensors out of constant "
          "variables that would be the same every time you call this function. In any other case, "
          "this might cause the trace to be incorrect.")) {
    Py_DECREF(capsule);
    return NULL;
  }
  if (!(a->flags & ALIGNED)) {
    Py_DECREF(capsule);
    PyErr_SetString(PyExc_ValueError,
                    "given numpy array is not aligned: its elements do not lie at multiples of "
                    "their size. Copy the numpy array to reallocate the memory.");
    return NULL;
  }
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (a->flags & WRITABLE || warned) {
    ig_tensor *t = wrap(c, o, o, a);
    if (t) out = py_from_tensor(c, t);
  } else {
    warned = true;
    int bad = PyErr_WarnEx(
        PyExc_UserWarning,
        "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
        "This means writing to this tensor will result in undefined behavior. You may want to copy "
        "the array to protect its data or make it writable before converting it to a tensor. This "
        "type of warning will be suppressed for the rest of this program.",
        1);
    ig_tensor *t = bad ? NULL : wrap(c, o, o, a);
    if (t) out = py_from_tensor(c, t);
  }
  if (out && py_tracing(c)) {  // the data enters as a constant
    ig_value v = ig_of_tensor(py_tensor_of(out));
    ig_tensor *lifted = py_call_tensor(c, PY_LIFT, &v, 1);
    Py_SETREF(out, lifted ? py_from_tensor(c, lifted) : NULL);
  }
  ig_scope_close(c, s);
  Py_DECREF(capsule);
  return out;
}

// frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False): shares the memory.
static void free_buffer(void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyBuffer_Release(user);
  PyMem_Free(user);
  PyGILState_Release(state);
}

static bool buffer_count(const Py_buffer *b, Py_ssize_t size, Py_ssize_t *count,
                         Py_ssize_t offset) {
  if (b->len <= 0 || *count == 0) {
    PyErr_Format(PyExc_ValueError, "both buffer length (%zd) and count (%zd) must not be 0", b->len,
                 *count);
  } else if (offset < 0 || offset >= b->len) {
    PyErr_Format(PyExc_ValueError,
                 "offset (%zd bytes) must be non-negative and no greater than buffer length (%zd "
                 "bytes) minus 1",
                 offset, b->len);
  } else if (*count < 0 && (b->len - offset) % size != 0) {
    PyErr_Format(PyExc_ValueError,
                 "buffer length (%zd bytes) after offset (%zd bytes) must be a multiple of element "
                 "size (%zd)",
                 b->len, offset, size);
  } else if (*count > 0 && *count > (b->len - offset) / size) {
    PyErr_Format(PyExc_ValueError,
                 "requested buffer length (%zd * %zd bytes) after offset (%zd bytes) must not be "
                 "greater than actual buffer length (%zd bytes)",
                 *count, size, offset, b->len);
  } else {
    if (*count < 0) *count = (b->len - offset) / size;
    return true;
  }
  return false;
}

static PyObject *frombuffer(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"buffer", "dtype", "count", "offset", "requires_grad", NULL};
  (void)module;
  PyObject *source = NULL;
  PyObject *dtype = NULL;
  Py_ssize_t count = -1;
  Py_ssize_t offset = 0;
  int grad = 0;
  ig_dtype d = IG_F32;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$Onnp:frombuffer", keys, &source, &dtype,
                                   &count, &offset, &grad)) {
    return NULL;
  }
  if (!dtype || !py_to_dtype(dtype, &d)) {
    PyErr_SetString(PyExc_TypeError, "frombuffer(): argument 'dtype' must be torch.dtype");
    return NULL;
  }
  Py_buffer *b = PyMem_Calloc(1, sizeof *b);
  if (!b) return PyErr_NoMemory();
  if (PyObject_GetBuffer(source, b, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(source, b, PyBUF_SIMPLE) != 0) {
      PyMem_Free(b);
      return NULL;
    }
  }
  if (!buffer_count(b, (Py_ssize_t)ig_dtype_size(d), &count, offset)) {
    free_buffer(b);
    return NULL;
  }
  int64_t n = count;
  ig_foreign memory = {.data = (char *)b->buf + offset,
                       .bytes = (size_t)(b->len - offset),
                       .free_fn = free_buffer,
                       .user = b};
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = ig_tensor_wrap(c, d, &n, 1, &memory);
  if (t && grad) ig_tensor_set_requires_grad(c, t, true);
  PyObject *out = py_from_tensor(c, t);
  ig_scope_close(c, s);
  return out;
}

// ---- out ----

// What NumPy makes an array from, without a copy: an object whose __array_struct__ is a capsule.
// The array keeps the capsule, and the capsule the tensor.
typedef struct py_array {
  PyObject_HEAD PyObject *tensor;
} py_array;

typedef struct shown_array {
  array_struct head;
  Py_intptr_t dims[2 * IG_MAX_DIM];  // sizes, then strides
  PyObject *tensor;
} shown_array;

static void array_dealloc(PyObject *o) {
  Py_XDECREF(((py_array *)o)->tensor);
  PyObject_Free(o);
}

static void drop_shown(PyObject *capsule) {
  shown_array *a = PyCapsule_GetPointer(capsule, NULL);
  Py_DECREF(a->tensor);
  PyMem_Free(a);
}

static PyObject *show_array(PyObject *o, void *unused) {
  (void)unused;
  static char nothing[16];
  PyObject *tensor = ((py_array *)o)->tensor;
  const ig_tensor *t = py_tensor_of(tensor);
  size_t k = 0;
  while (k < PY_COUNT(kinds) && kinds[k].dtype != t->dtype) k++;
  if (k == PY_COUNT(kinds)) {
    PyErr_SetString(PyExc_TypeError, "no array has this dtype");
    return NULL;
  }
  shown_array *a = PyMem_Malloc(sizeof *a);
  if (!a) return PyErr_NoMemory();
  void *data = ig_tensor_data(t);
  a->head = (array_struct){.two = 2,
                           .nd = t->ndim,
                           .kind = kinds[k].kind,
                           .itemsize = kinds[k].size,
                           .flags = ALIGNED | NOT_SWAPPED | WRITABLE,
                           .shape = a->dims,
                           .strides = a->dims + IG_MAX_DIM,
                           .data = data ? data : nothing};
  for (int d = 0; d < t->ndim; d++) {
    a->dims[d] = (Py_intptr_t)ig_sizes(t)[d].value;
    a->dims[IG_MAX_DIM + d] = (Py_intptr_t)ig_strides(t)[d].value * kinds[k].size;
  }
  a->tensor = Py_NewRef(tensor);
  PyObject *capsule = PyCapsule_New(a, NULL, drop_shown);
  if (capsule) return capsule;
  Py_DECREF(a->tensor);
  PyMem_Free(a);
  return NULL;
}

static PyGetSetDef array_getset[] = {
    {"__array_struct__", show_array, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._ArrayView",
    .tp_basicsize = sizeof(py_array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = array_dealloc,
    .tp_getset = array_getset,
};

static bool may_be_array(const ig_tensor *t) {
  if (t->requires_grad) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                    "instead.");
  } else if (t->device.type != IG_DEVICE_CPU) {
    PyErr_Format(
        PyExc_TypeError,
        "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
        "to host memory first.",
        ig_device_type_text(t->device));
  } else if (ig_is_fake(t)) {
    PyErr_SetString(PyExc_RuntimeError, ".numpy() is not supported for tensor subclasses.");
  } else if (t->dtype == IG_BF16 || t->dtype == IG_F8E4M3FN || t->dtype == IG_F8E5M2 ||
             t->quantizer) {
    PyErr_Format(PyExc_TypeError, "Got unsupported ScalarType %s", ig_dtype_title(t->dtype));
  } else {
    return true;
  }
  return false;
}

PyObject *py_tensor_numpy(PyObject *self) {
  ig_ctx *c = py_ctx();
  ig_defer_need need = {.allowed = true};  // one graph may have arrays
  ig_mode_scope mode = ig_defer_push_need(c, &need);
  bool ready = py_expose(c, py_tensor_of(self));
  ig_mode_pop(c, &mode);
  if (!ready) return NULL;
  if (!py_trace_warn(c,
                     "Converting a tensor to a NumPy array might cause the trace to be incorrect. "
                     "We can't record the data flow of Python values, so this value will be "
                     "treated as a constant in the future. This means that the trace might not "
                     "generalize to other inputs!")) {
    return NULL;
  }
  if (!may_be_array(py_tensor_of(self))) return NULL;
  py_array *view = PyObject_New(py_array, &array_type);
  if (!view) return NULL;
  view->tensor = Py_NewRef(self);
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *out = numpy ? PyObject_CallMethod(numpy, "asarray", "O", view) : NULL;
  Py_XDECREF(numpy);
  Py_DECREF(view);
  return out;
}

PyMethodDef py_numpy_functions[] = {
    {"from_numpy", from_numpy, METH_O, NULL},
    {"frombuffer", (PyCFunction)(void (*)(void))frombuffer, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_numpy(PyObject *m) {
  (void)m;
  return PyType_Ready(&array_type);
}
