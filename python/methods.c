// SPDX-License-Identifier: Apache-2.0
// Attributes and methods of Tensor that are not operators: sizes and layout, Python's and NumPy's
// protocols.
#include <string.h>

#include "ingot/aten.h"
#include "op/arithmetic.h"
#include "op/nested.h"
#include "py.h"
#include "trace_script.h"

static ig_tensor *self_of(PyObject *o) {
  return py_tensor_of(o);
}

// ---- properties ----

// All sizes at once; symbolic ones are read one by one. The body of a higher-order operator reads a
// size from the tensor whose shape was accessed.
static bool touch(const ig_tensor *t) {
  ig_ctx *c = py_ctx();
  if (!c->mode->capture || !c->mode->capture->outer || !ig_tensor_is_symbolic(t)) return true;
  return ig_nested_read_sizes(c, (ig_tensor *)t) || py_raise(c) != NULL;
}
static PyObject *all_sizes(const ig_tensor *t) {
  if (py_tracing(py_ctx())) return py_traced_sizes(py_ctx(), (ig_tensor *)t);
  if (!touch(t)) return NULL;
  bool symbolic = false;
  for (int d = 0; d < t->ndim; d++) symbolic = symbolic || ig_sizes(t)[d].expr;
  if (symbolic) {
    py_trace_name(py_ctx(), "size", 1);
    py_trace_name(py_ctx(), "getitem", (size_t)t->ndim);
  }
  return py_sizes_of(t, ig_sizes(t));
}
static PyObject *get_shape(PyObject *o, void *unused) {
  (void)unused;
  return all_sizes(self_of(o));
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
  return PyBool_FromLong(self_of(o)->device.type == *(int *)type);
}
static PyObject *is_quantized(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(self_of(o)->quantizer != NULL);
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
  if (py_tracing(c)) return py_traced_numel(c, (ig_tensor *)t);
  ig_int n = ig_const(1);
  // Sizes of a fake tensor outside of its mode belong to its own environment.
  ig_mode_scope mode = ig_mode_push_sym(c, c->mode->sym ? c->mode->sym : ig_tensor_sym(t));
  for (int d = 0; d < t->ndim; d++) n = ig_int_mul(c, n, ig_sizes(t)[d]);
  PyObject *plain = py_ok(c) ? py_from_int(n) : NULL;
  ig_mode_pop(c, &mode);
  if (!plain) return NULL;
  if (n.expr) py_trace_name(c, "numel", 1);
  if (!n.expr || !c->mode->capture) return plain;
  Py_DECREF(plain);
  ig_int read = ig_record_layout(c, t, -1, n);
  if (!py_ok(c)) return NULL;
  if (read.origin) return py_from_int(read);
  // A capture shows how it came about: size by size.
  PyObject *out = py_from_int(ig_sizes(t)[0]);
  for (int d = 1; out && d < t->ndim; d++) {
    PyObject *size = py_from_int(ig_sizes(t)[d]);
    Py_SETREF(out, size ? PyNumber_Multiply(out, size) : NULL);
    Py_XDECREF(size);
  }
  return out;
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
  return PyLong_FromLong(1000);  // NumPy's operators defer mixed calls to us
}
static PyObject *get_cdata(PyObject *o, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(self_of(o));
}
// The closure is the operator.
static PyObject *by_operator(PyObject *o, void *fn) {
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, "method-wrapper", "__get__", "getattr");
  PyObject *out = py_fn_call(*(py_fn *)fn, &o, 1);
  if (inside) py_region_leave(c);
  return out;
}
static PyObject *get_imag(PyObject *o, void *unused) {
  (void)unused;
  if (!ig_dtype_is_complex(self_of(o)->dtype)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "imag is not implemented for tensors with non-complex dtypes.");
    return NULL;
  }
  static py_fn imag = PY_FN_imag;
  return by_operator(o, &imag);
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
  ig_match taken = py_to_int(dim, &i);
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", name,
                 py_type_name(dim));
  }
  if (taken != IG_MATCH_TAKEN) return -1;
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
  if (d == t->ndim) return all_sizes(t);
  if (py_tracing(py_ctx())) {
    bool from_end = n == 1 && PyLong_Check(args[0]) && PyLong_AsLong(args[0]) < 0;
    return py_traced_size(py_ctx(), (ig_tensor *)t, from_end ? d - t->ndim : d);
  }
  if (!touch(t)) return NULL;
  if (ig_sizes(t)[d].expr) py_trace_name(py_ctx(), "size", 1);
  if (py_ctx()->mode->rewrite && !ig_sizes(t)[d].expr) return py_tracked_size(py_ctx(), t, d);
  return py_int_of(t, ig_sizes(t)[d]);
}
static PyObject *stride_of(const ig_tensor *t, int d) {
  ig_ctx *c = py_ctx();
  ig_int n = ig_record_layout(c, t, d, ig_strides(t)[d]);
  return py_ok(c) ? py_int_of(t, n) : NULL;
}
static PyObject *stride(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  int d = dim_argument(o, "stride", args, n, kwnames);
  if (d < 0) return NULL;
  const ig_tensor *t = self_of(o);
  if (d < t->ndim) return stride_of(t, d);
  PyObject *out = PyTuple_New(t->ndim);
  for (int i = 0; out && i < t->ndim; i++) {
    PyObject *item = stride_of(t, i);
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
  if (!py_expose(py_ctx(), t)) return NULL;
  if (ig_is_fake(t) && t->device.type == IG_DEVICE_CPU) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Cannot access data pointer of Tensor that doesn't have storage");
    return NULL;
  }
  return PyLong_FromVoidPtr(ig_tensor_numel(t) > 0 ? ig_tensor_data(t) : NULL);
}
static PyObject *storage_offset(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_int_of(self_of(o), self_of(o)->offset);
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

static bool has_format(ig_ctx *c, const ig_tensor *t, const ig_value *format) {
  bool plain = format->kind == IG_KIND_NONE || format->memory_format == IG_CONTIGUOUS;
  ig_mode_scope mode = ig_mode_push_sym(c, c->mode->sym ? c->mode->sym : ig_tensor_sym(t));
  bool yes =
      plain ? ig_tensor_is_contiguous(c, t) : ig_tensor_has_format(c, t, format->memory_format);
  ig_mode_pop(c, &mode);
  return yes;
}

static PyObject *is_contiguous(PyObject *o, PyObject *const *args, Py_ssize_t n,
                               PyObject *kwnames) {
  ig_value format;
  if (!py_to_format("is_contiguous", args, n, kwnames, &format)) return NULL;
  ig_ctx *c = py_ctx();
  bool yes = has_format(c, self_of(o), &format);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

static PyObject *contiguous(PyObject *o, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  ig_value format;
  if (!py_to_format("contiguous", args, n, kwnames, &format)) return NULL;
  ig_ctx *c = py_ctx();
  if (!py_tracing(c) && has_format(c, self_of(o), &format)) return Py_NewRef(o);
  if (!py_ok(c)) return NULL;
  if (format.kind == IG_KIND_NONE) format = ig_of_memory_format(IG_CONTIGUOUS);
  ig_value v[] = {ig_of_tensor(self_of(o)), format};
  bool inside = py_region(c, "method_descriptor", "contiguous", NULL);
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = py_call_tensor(c, PY_CONTIGUOUS, v, 2);
  PyObject *out = t ? py_from_tensor(c, t) : NULL;
  ig_scope_close(c, s);
  if (inside) py_region_leave(c);
  return out;
}

// ---- Python's protocols ----

static PyObject *item(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!py_trace_constant(c, "number")) return NULL;
  bool inside = py_region(c, "method_descriptor", "item", NULL);
  PyObject *out = py_tensor_item(c, self_of(o));
  if (inside) py_region_leave(c);
  return py_tracked_element(c, out);
}
static PyObject *qscheme(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_value outs[IG_MAX_RETURNS] = {{0}};
  ig_scope s = ig_scope_open(c);
  ig_qscheme(c, self_of(o), outs);
  ig_scope_close(c, s);
  return py_ok(c) ? py_from_qscheme((int)outs[0].i.value) : NULL;
}

static PyObject *tolist(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!py_trace_constant(c, "list")) return NULL;
  bool inside = py_region(c, "method_descriptor", "tolist", NULL);
  PyObject *out = py_tolist(c, self_of(o));
  if (inside) py_region_leave(c);
  return out;
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
// The only method whose tensor is not the operator's first operand.
static PyObject *where(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"condition", "other", NULL};
  PyObject *given[3] = {NULL, o, NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:where", keys, &given[0], &given[2]))
    return NULL;
  return py_fn_call(PY_FN_where, given, 3);
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
  if (!py_read(py_ctx(), t)) return NULL;
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
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, "function", "split", NULL);  // PyTorch has it in Python
  PyObject *out = py_fn_call(list ? PY_FN_split_with_sizes : PY_FN_split, call, along ? 3 : 2);
  if (inside) py_region_leave(c);
  if (inside && out) py_trace_name(c, "getitem", (size_t)PyObject_Size(out));
  return out;
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
static PyObject *delegate_to(const char *where, const char *name, PyObject *o, PyObject *args,
                             PyObject *kwargs) {
  PyObject *module = PyImport_ImportModule(where);
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
    return delegate_to("ingot.functional", #name, o, args, kwargs);      \
  }
DELEGATE(norm)
DELEGATE(nonzero)
DELEGATE(unique)
DELEGATE(unique_consecutive)
DELEGATE(stft)
DELEGATE(istft)
static PyObject *new_like(PyObject *o, PyObject *args, PyObject *kwargs) {
  return delegate_to("ingot._tensor_types", "new", o, args, kwargs);
}

// What the closures of the table below point at.
static int devices[] = {IG_DEVICE_CPU, IG_DEVICE_CUDA, IG_DEVICE_META, IG_DEVICE_MPS,
                        IG_DEVICE_XPU, IG_DEVICE_XLA,  IG_DEVICE_MTIA};
static py_fn views[] = {PY_FN_numpy_T, PY_FN_mT, PY_FN_mH, PY_FN_matrix_H, PY_FN_real};

PyGetSetDef py_tensor_getset[] = {
    {"shape", get_shape, NULL, NULL, NULL},
    {"ndim", get_ndim, NULL, NULL, NULL},
    {"dtype", get_dtype, NULL, NULL, NULL},
    {"device", get_device, NULL, NULL, NULL},
    {"layout", get_layout, NULL, NULL, NULL},
    {"itemsize", get_itemsize, NULL, NULL, NULL},
    {"nbytes", get_nbytes, NULL, NULL, NULL},
    {"is_cpu", is_device, NULL, NULL, &devices[0]},
    {"is_cuda", is_device, NULL, NULL, &devices[1]},
    {"is_meta", is_device, NULL, NULL, &devices[2]},
    {"is_mps", is_device, NULL, NULL, &devices[3]},
    {"is_xpu", is_device, NULL, NULL, &devices[4]},
    {"is_xla", is_device, NULL, NULL, &devices[5]},
    {"is_mtia", is_device, NULL, NULL, &devices[6]},
    {"is_sparse", is_never, NULL, NULL, NULL},
    {"is_sparse_csr", is_never, NULL, NULL, NULL},
    {"is_quantized", is_quantized, NULL, NULL, NULL},
    {"is_mkldnn", is_never, NULL, NULL, NULL},
    {"is_nested", is_never, NULL, NULL, NULL},
    {"is_vulkan", is_never, NULL, NULL, NULL},
    {"T", by_operator, NULL, NULL, &views[0]},
    {"mT", by_operator, NULL, NULL, &views[1]},
    {"mH", by_operator, NULL, NULL, &views[2]},
    {"H", by_operator, NULL, NULL, &views[3]},
    {"real", by_operator, NULL, NULL, &views[4]},
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
    {"where", WORDS(where)},
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
    {"item", item, METH_NOARGS, NULL},
    {"tolist", tolist, METH_NOARGS, NULL},
    {"qscheme", qscheme, METH_NOARGS, NULL},
    {"numpy", WORDS(numpy)},
    {"new_tensor", WORDS(new_tensor)},
    {"split", WORDS(split)},
    {"norm", WORDS(norm)},
    {"nonzero", WORDS(nonzero)},
    {"unique", WORDS(unique)},
    {"unique_consecutive", WORDS(unique_consecutive)},
    {"stft", WORDS(stft)},
    {"istft", WORDS(istft)},
    {"new", WORDS(new_like)},
    {"__array__", WORDS(array)},
    {"__array_wrap__", array_wrap, METH_VARARGS, NULL},
    {"__dlpack__", WORDS(py_tensor_dlpack)},
    {"__dlpack_device__", py_tensor_dlpack_device, METH_NOARGS, NULL},
    {"__complex__", complex_of, METH_NOARGS, NULL},
    {"__format__", format, METH_O, NULL},
    {"__reversed__", reversed, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
