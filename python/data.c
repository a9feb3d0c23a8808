// SPDX-License-Identifier: Apache-2.0
// Tensors from Python data and back: torch.tensor, as_tensor, item, tolist.
#include <string.h>

#include "base/budget.h"
#include "capture/defer.h"
#include "ingot/aten.h"
#include "ir/graph.h"
#include "op/shape.h"
#include "py.h"
#include "tensor/copy.h"
#include "tensor/number.h"
#include "trace_script.h"

// ---- out ----

PyObject *py_element(ig_value v) {
  switch (v.kind) {
    case IG_KIND_BOOL:
      return PyBool_FromLong(v.b);
    case IG_KIND_INT:
      return PyLong_FromLongLong(v.i.value);
    case IG_KIND_COMPLEX:
      return PyComplex_FromDoubles(v.z.re, v.z.im);
    default:
      return PyFloat_FromDouble(v.f);
  }
}

static PyObject *element_at(const char *at, ig_dtype d) {
  if (d == IG_U64) {
    uint64_t u = 0;
    memcpy(&u, at, sizeof u);
    return PyLong_FromUnsignedLongLong(u);
  }
  return py_element(ig_element_load(at, d));
}

PyObject *py_tensor_item(ig_ctx *c, ig_tensor *t) {
  int64_t n = ig_tensor_numel(t);
  if (n != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)n);
    return NULL;
  }
  if (!py_read(c, t)) return NULL;
  bool seen = c->mode->intercept || t->intercept;
  if (!seen && !ig_is_fake(t) && !t->quantizer) return element_at(ig_tensor_data(t), t->dtype);
  ig_value outs[IG_MAX_RETURNS];
  ig_value v = ig_of_tensor(t);
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (t->device.type == IG_DEVICE_META && !c->mode->capture) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
  } else if (py_call_values(c, PY_ITEM, &v, 1, outs)) {
    out = py_from_value(c, &outs[0]);
  }
  ig_scope_close(c, s);
  return out;
}

// Whether the limit of the memory leaves so many bytes for n elements. Asked before the first
// element is read: an object can claim any length, and a view can have any number of elements.
static bool has_room(ig_ctx *c, int64_t n, size_t each) {
  size_t bytes = ig_mem_mul((size_t)n, each);
  if (ig_budget_take(c->alloc, bytes)) {
    ig_budget_give(c->alloc, bytes);
    return true;
  }
  (void)ig_fail(c, IG_NOMEM, "out of memory: %zu bytes for %lld elements", bytes, (long long)n);
  return py_ok(c);
}

// One element is converted; limits of work and time apply, and Ctrl-C.
static bool step(ig_ctx *c) {
  return ig_step(c) || py_ok(c);
}

static PyObject *list_of(ig_ctx *c, const ig_tensor *t, const char *data, int dim) {
  if (dim == t->ndim) return step(c) ? element_at(data, t->dtype) : NULL;
  int64_t n = ig_sizes(t)[dim].value;
  int64_t bytes = ig_strides(t)[dim].value * (int64_t)ig_dtype_size(t->dtype);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (int64_t i = 0; list && i < n; i++) {
    // admitted: the geometry of t bounds it
    PyObject *item = list_of(c, t, data + i * bytes, dim + 1);
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

// One row of a tensor after the other, or, as a strict capture has it, each where it is needed.
static PyObject *row_of(PyObject *rows, PyObject *self, Py_ssize_t i) {
  return rows ? PySequence_GetItem(rows, i) : PySequence_GetItem(self, i);
}

// Elements that nobody knows: row by row, each becomes a symbol.
static PyObject *list_of_fakes(ig_ctx *c, ig_tensor *t) {
  bool strict = c->mode->capture && c->mode->capture->strict;
  PyObject *self = py_from_tensor(c, t);
  PyObject *rows = self && !strict ? py_fn_call(PY_FN_unbind, &self, 1) : NULL;
  Py_ssize_t n = rows ? PySequence_Size(rows) : self && strict ? PySequence_Size(self) : -1;
  PyObject *items = n >= 0 ? PyList_New(n) : NULL;
  for (Py_ssize_t i = 0; items && i < n; i++) {
    PyObject *row = row_of(rows, self, i);
    PyObject *item = row ? py_tolist(c, py_tensor_of(row)) : NULL;
    Py_XDECREF(row);
    if (!item) Py_CLEAR(items);
    if (item) PyList_SET_ITEM(items, i, item);
  }
  Py_XDECREF(rows);
  Py_XDECREF(self);
  return items;
}

PyObject *py_tolist(ig_ctx *c, ig_tensor *t) {
  if (!py_read(c, t)) return NULL;
  if (ig_is_fake(t)) {
    if (t->ndim == 0) return py_tensor_item(c, t);
    if (c->mode->capture || ig_tensor_sym(t)) return list_of_fakes(c, t);
    PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    return NULL;
  }
  if (t->quantizer) {
    PyErr_SetString(PyExc_RuntimeError, "invalid type");
    return NULL;
  }
  if (!has_room(c, ig_tensor_numel(t), sizeof(PyObject *))) return NULL;
  return list_of(c, t, ig_tensor_data(t), 0);
}

// ---- in ----

ig_tensor *py_lift(ig_ctx *c, ig_tensor *t) {
  if (t && c->mode->fake && !c->mode->capture && !ig_is_fake(t))
    return ig_tensor_fake(c, t);  // a fake mode
  if (!t || (!c->mode->capture && !c->mode->intercept)) return t;
  ig_value v = ig_of_tensor(t);
  return py_call_tensor(c, PY_LIFT, &v, 1);
}

ig_tensor *py_number_tensor(ig_ctx *c, const ig_value *v, ig_dtype dtype, ig_device device) {
  ig_meta m;
  ig_meta_init(&m, dtype, device);
  ig_tensor *t = ig_tensor_make(c, &m, false);
  if (!py_ok(c)) return NULL;
  if (!ig_is_fake(t)) ig_element_store(ig_tensor_data(t), dtype, v);
  return t;
}

// The shape of nested sequences, by their first items.
typedef struct shape {
  int ndim;
  int64_t size[IG_MAX_DIM];
} shape;

// What addresses every element, whatever their dtype; saturated.
static int64_t elements_of(const shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->ndim; i++) {
    if (s->size[i] == 0) return 0;
    if (!ig_checked_mul(n, s->size[i], &n)) n = INT64_MAX;
  }
  return n;
}

static bool is_sequence(PyObject *o) {
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o);
}

static bool bad_depth(PyObject *o) {
  PyErr_Format(PyExc_ValueError, "too many dimensions '%s'", Py_TYPE(o)->tp_name);
  return false;
}

static bool measure(PyObject *data, shape *s) {
  PyObject *o = Py_NewRef(data);
  s->ndim = 0;
  while (is_sequence(o)) {
    if (py_is_tensor(o) && py_tensor_of(o)->ndim == 0) break;
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0 || s->ndim == IG_MAX_DIM) {
      if (n >= 0) (void)bad_depth(o);
      Py_DECREF(o);
      return false;
    }
    s->size[s->ndim++] = n;
    if (n == 0) break;
    PyObject *first = PySequence_GetItem(o, 0);
    Py_SETREF(o, first);
    if (!first) return false;
  }
  bool text = PyUnicode_Check(o) || PyBytes_Check(o);
  if (text) (void)bad_depth(o);
  Py_DECREF(o);
  return !text;
}

// dtype of a leaf; IG_DTYPE_COUNT: exception set.
static ig_dtype leaf_dtype(ig_ctx *c, PyObject *o) {
  ig_value v;
  if (py_is_tensor(o)) return py_tensor_of(o)->dtype;
  if (PyFloat_Check(o) && !PyFloat_CheckExact(o) &&
      strcmp(Py_TYPE(o)->tp_name, "numpy.float64") == 0) {
    return IG_F64;
  }
  if (strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0) {
    ig_tensor *t = py_from_array(c, o);
    if (PyErr_Occurred()) return IG_DTYPE_COUNT;
    if (t) return t->dtype;
  }
  if (PyLong_Check(o) && !PyBool_Check(o))
    return IG_I64;  // one that is too large fails when stored
  ig_match taken = py_to_number(o, &v);
  if (taken == IG_MATCH_REFUSED) return IG_DTYPE_COUNT;
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %s", Py_TYPE(o)->tp_name);
    return IG_DTYPE_COUNT;
  }
  ig_dtype def = ig_ctx_default_dtype(c);
  if (v.kind == IG_KIND_BOOL) return IG_BOOL;
  if (v.kind == IG_KIND_INT) return IG_I64;
  if (v.kind == IG_KIND_COMPLEX) return def == IG_F64 ? IG_C128 : IG_C64;
  return def;
}

static ig_dtype infer(ig_ctx *c, PyObject *o, int depth) {
  if (!is_sequence(o) || (py_is_tensor(o) && py_tensor_of(o)->ndim == 0)) return leaf_dtype(c, o);
  if (py_is_tensor(o)) return py_tensor_of(o)->dtype;
  Py_ssize_t n = PySequence_Size(o);
  if (n < 0 || depth > IG_MAX_DIM) {
    if (n >= 0) (void)bad_depth(o);
    return IG_DTYPE_COUNT;
  }
  if (n == 0) return ig_ctx_default_dtype(c);
  ig_dtype d = IG_DTYPE_COUNT;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = step(c) ? PySequence_GetItem(o, i) : NULL;
    ig_dtype next = item ? infer(c, item, depth + 1) : IG_DTYPE_COUNT;
    Py_XDECREF(item);
    if (next == IG_DTYPE_COUNT) return next;
    d = i == 0 ? next : ig_dtype_promote(d, next);
    if (d == IG_C128) break;
  }
  return d;
}

// Can an integer dtype hold i, either as signed or as unsigned bits?
static bool fits(ig_dtype d, int64_t i) {
  if (!ig_dtype_is_integral(d) || ig_dtype_size(d) == 8) return true;
  int bits = (int)ig_dtype_size(d) * 8;
  bool is_signed = d == IG_I8 || d == IG_I16 || d == IG_I32;
  int64_t hi = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
  int64_t lo = is_signed ? -hi - 1 : -hi;
  return i >= lo && i <= hi;
}

static bool store_leaf(char *at, ig_dtype d, PyObject *o) {
  ig_value v;
  if (py_is_tensor(o)) {
    const ig_tensor *t = py_tensor_of(o);
    if (!py_settled(o)) return false;
    if (ig_is_fake(t) || ig_tensor_numel(t) != 1) {
      PyErr_SetString(PyExc_ValueError,
                      "only one element tensors can be converted to Python scalars");
      return false;
    }
    v = ig_element_load(ig_tensor_data(t), t->dtype);
    ig_element_store(at, d, &v);
    return true;
  }
  if (d == IG_U64 && PyLong_Check(o)) {
    uint64_t u = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) return false;
    memcpy(at, &u, sizeof u);
    return true;
  }
  if (PyLong_Check(o) && (ig_dtype_is_float(d) || ig_dtype_is_complex(d))) {
    double f = PyLong_AsDouble(o);
    if (f == -1 && PyErr_Occurred()) return false;
    v = ig_of_f64(f);
    ig_element_store(at, d, &v);
    return true;
  }
  ig_match taken = py_to_number(o, &v);
  if (taken == IG_MATCH_TAKEN && v.kind == IG_KIND_COMPLEX && !ig_dtype_is_complex(d)) {
    PyErr_SetString(PyExc_TypeError, "must be real number, not complex");
    return false;
  }
  if (taken == IG_MATCH_TAKEN && v.kind == IG_KIND_INT && v.i.expr) {
    PyObject *plain = PyNumber_Index(o);
    if (!plain) return false;
    v = ig_of_i64(PyLong_AsLongLong(plain));
    Py_DECREF(plain);
  }
  if (taken == IG_MATCH_TAKEN && v.kind == IG_KIND_INT && !fits(d, v.i.value)) {
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                 ig_dtype_text(d));
    return false;
  }
  if (taken == IG_MATCH_TAKEN) {
    ig_element_store(at, d, &v);
    return true;
  }
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_TypeError, "must be real number, not %s", Py_TYPE(o)->tp_name);
  } else if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
  }
  return false;
}

static bool store(ig_ctx *c, char **at, ig_dtype d, const shape *s, int dim, PyObject *o) {
  if (dim == s->ndim) {
    if (!store_leaf(*at, d, o)) return false;
    *at += ig_dtype_size(d);
    return true;
  }
  Py_ssize_t n = is_sequence(o) ? PySequence_Size(o) : -2;
  if (n == -1) return false;
  if (n != (Py_ssize_t)s->size[dim]) {
    if (n == -2) {
      PyErr_Format(PyExc_TypeError, "expected a sequence at dim %d (got %s)", dim,
                   Py_TYPE(o)->tp_name);
    } else {
      PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %zd)",
                   (long long)s->size[dim], dim, n);
    }
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = step(c) ? PySequence_GetItem(o, i) : NULL;
    bool ok = item && store(c, at, d, s, dim + 1, item);
    Py_XDECREF(item);
    if (!ok) return false;
  }
  return true;
}

static bool is_list(PyObject *o) {
  return is_sequence(o) && !py_is_tensor(o);
}

// Does it contain a symbolic number?
static bool has_symbol(ig_ctx *c, PyObject *o, const shape *s, int dim) {
  if (dim == s->ndim || !is_list(o)) {
    return Py_IS_TYPE(o, &py_symint_type) || Py_IS_TYPE(o, &py_symfloat_type) ||
           Py_IS_TYPE(o, &py_symbool_type);
  }
  Py_ssize_t n = PySequence_Size(o);
  bool found = false;
  for (Py_ssize_t i = 0; i < n && !found && ig_step(c); i++) {
    PyObject *item = PySequence_GetItem(o, i);
    found = item && has_symbol(c, item, s, dim + 1);
    Py_XDECREF(item);
  }
  if (c->status == IG_OK) PyErr_Clear();  // reading the data again reports the error
  return found;
}

// Symbolic numbers stay symbolic: each element is a tensor by itself, and rows are stacked.
static ig_tensor *from_symbols(ig_ctx *c, PyObject *o, ig_value dtype, ig_value device) {
  if (py_is_tensor(o)) return py_tensor_of(o);
  if (!is_list(o)) {
    ig_value v;
    ig_match taken = py_to_number(o, &v);
    if (taken == IG_MATCH_OTHER) PyErr_Format(PyExc_TypeError, "not a number: %s", py_type_name(o));
    if (taken != IG_MATCH_TAKEN) return NULL;
    ig_tensor *t = ig_scalar_tensor_with(c, v, dtype, ig_none(), device, ig_none());
    return py_ok(c) ? t : NULL;
  }
  Py_ssize_t n = PySequence_Size(o);
  ig_value *rows = n >= 0 ? ig_scope_array(c, (size_t)n, sizeof *rows) : NULL;
  for (Py_ssize_t i = 0; rows && i < n; i++) {
    PyObject *item = PySequence_GetItem(o, i);
    rows[i] = ig_of_tensor(item ? from_symbols(c, item, dtype, device) : NULL);
    Py_XDECREF(item);
    if (rows[i].kind == IG_KIND_NONE) return NULL;
  }
  ig_tensor *t = rows ? ig_stack(c, ig_of_list(rows, (size_t)n)) : NULL;
  return py_ok(c) ? t : NULL;
}

static ig_tensor *from_nested(ig_ctx *c, PyObject *data, int dtype, ig_device device) {
  shape s;
  if (!measure(data, &s) || !has_room(c, elements_of(&s), 1)) return NULL;
  ig_dtype d = dtype >= 0 ? (ig_dtype)dtype : infer(c, data, 0);
  if (d == IG_DTYPE_COUNT) return NULL;
  if (c->mode->sym && has_symbol(c, data, &s, 0)) {
    return from_symbols(c, data, ig_of_dtype(d), ig_of_device(device));
  }
  ig_tensor *t = ig_tensor_empty(c, d, s.size, s.ndim);
  if (!py_ok(c)) return NULL;
  char *at = ig_tensor_data(t);
  if (ig_tensor_numel(t) > 0 && !store(c, &at, d, &s, 0, data)) return NULL;
  if (device.type == IG_DEVICE_CPU) return t;
  ig_value v[] = {ig_of_tensor(t), ig_of_device(device), ig_of_dtype(d)};
  return py_call_tensor(c, PY_TO_DEVICE, v, 3);
}

// A copy that is not an operator call: data of an array enters a capture as a constant.
static ig_tensor *copy_raw(ig_ctx *c, const ig_tensor *t, ig_dtype d) {
  int64_t sizes[IG_MAX_DIM];
  for (int i = 0; i < t->ndim; i++) sizes[i] = ig_sizes(t)[i].value;
  ig_tensor *out = ig_tensor_empty(c, d, sizes, t->ndim);
  if (!py_ok(c)) return NULL;
  ig_tensor_copy(out, t);
  return out;
}

static ig_tensor *from_array(ig_ctx *c, ig_tensor *t, int dtype, ig_device device, bool copy) {
  ig_dtype d = dtype >= 0 ? (ig_dtype)dtype : t->dtype;
  if (copy || d != t->dtype) t = copy_raw(c, t, d);
  if (!t || device.type == IG_DEVICE_CPU) return t;
  ig_value v[] = {ig_of_tensor(t), ig_of_device(device), ig_of_dtype(d)};
  return py_call_tensor(c, PY_TO_DEVICE, v, 3);
}

// An existing tensor in another dtype or place, copied if asked.
static ig_tensor *from_tensor(ig_ctx *c, ig_tensor *t, int dtype, ig_device device, bool copy) {
  ig_dtype d = dtype >= 0 ? (ig_dtype)dtype : t->dtype;
  bool same = d == t->dtype && device.type == t->device.type;
  if (same && !copy) return t;
  if (same) {
    ig_value v = ig_of_tensor(t);
    return py_call_tensor(c, PY_CLONE, &v, 1);
  }
  ig_value v[] = {ig_of_tensor(t), ig_of_device(device), ig_of_dtype(d), ig_of_bool(false),
                  ig_of_bool(copy)};
  return py_call_tensor(c, PY_TO_DEVICE, v, 5);
}

ig_tensor *py_tensor_from_data(ig_ctx *c, PyObject *data, int dtype, ig_device device, bool copy) {
  if (py_is_tensor(data)) return from_tensor(c, py_tensor_of(data), dtype, device, copy);
  if (!PyList_Check(data) && !PyTuple_Check(data) && !PyFloat_Check(data) && !PyLong_Check(data)) {
    ig_tensor *t = py_from_array(c, data);
    if (PyErr_Occurred()) return NULL;
    if (t) return from_array(c, t, dtype, device, copy);
  }
  return from_nested(c, data, dtype, device);
}

typedef struct options {
  PyObject *data;
  PyObject *dtype;
  PyObject *device;
  PyObject *copy;
  int requires_grad;
  int pin;
} options;

static bool read_options(const options *o, ig_tensor *like, int *dtype, ig_device *device) {
  ig_dtype d = IG_F32;
  *dtype = like ? (int)like->dtype : -1;
  *device = like ? like->device : py_ctx()->mode->device;
  if (o->dtype && o->dtype != Py_None) {
    if (!py_to_dtype(o->dtype, &d)) {
      PyErr_Format(PyExc_TypeError, "tensor(): argument 'dtype' must be torch.dtype, not %s",
                   py_type_name(o->dtype));
      return false;
    }
    *dtype = (int)d;
  }
  if (!o->device || o->device == Py_None) {
    if (py_is_tensor(o->data) && !like) *device = py_tensor_of(o->data)->device;
    return true;
  }
  int taken = py_to_device(o->device, device);
  if (taken == 0) {
    PyErr_Format(PyExc_TypeError, "tensor(): argument 'device' must be torch.device, not %s",
                 py_type_name(o->device));
  }
  return taken == 1;
}

// New data in a trace: a constant, or a detached tensor, that is converted and detached.
static ig_tensor *trace_data(ig_ctx *c, ig_tensor *t, int dtype, bool copy) {
  if (!py_trace_warn(
          c,
          "torch.tensor results are registered as constants in the trace. You can safely ignore "
          "this warning if you use this function to create tensors out of constant variables that "
          "would be the same every time you call this function. In any other case, this might "
          "cause the trace to be incorrect.")) {
    return NULL;
  }
  ig_dtype d = dtype >= 0 ? (ig_dtype)dtype : t->dtype;
  ig_value to[] = {ig_of_tensor(t),   ig_of_device(t->device), ig_of_dtype(d),
                   ig_of_bool(false), ig_of_bool(copy),        ig_none()};
  t = py_call_tensor(c, PY_TO_DEVICE, to, 6);
  ig_value v = ig_of_tensor(t);
  return t ? py_call_tensor(c, PY_DETACH, &v, 1) : NULL;
}

static PyObject *construct(const options *o, ig_tensor *like, bool copy, bool fresh) {
  ig_ctx *c = py_ctx();
  int dtype = -1;
  ig_device device;
  PyObject *out = NULL;
  if (!read_options(o, like, &dtype, &device)) return NULL;
  const ig_tensor *given = py_is_tensor(o->data) ? py_tensor_of(o->data) : like;
  if (!py_device_ready(c, given, device)) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_mode_scope mode = ig_mode_push_grad(c, !fresh && !c->mode->no_grad);
  bool traced = fresh && py_tracing(c) && py_is_tensor(o->data);
  ig_value source = traced ? ig_of_tensor(py_tensor_of(o->data)) : ig_none();
  ig_tensor *t = traced ? py_call_tensor(c, PY_DETACH, &source, 1)
                        : py_tensor_from_data(c, o->data, dtype, device, copy);
  if (t && fresh && c->mode->capture && !ig_is_fake(t)) {
    t = py_lift(c, t);
    ig_value v = ig_of_tensor(t);
    if (t) t = py_call_tensor(c, PY_DETACH_, &v, 1);
  } else if (t && fresh && py_tracing(c)) {
    t = trace_data(c, t, dtype, traced);
  } else if (t && fresh && !c->mode->capture) {
    t = py_lift(c, t);
  }
  ig_mode_pop(c, &mode);
  if (t && o->requires_grad) {
    if (!ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype)) {
      PyErr_SetString(PyExc_RuntimeError,
                      "Only Tensors of floating point and complex dtype can require gradients");
      t = NULL;
    } else {
      ig_tensor_set_requires_grad(c, t, true);
    }
  }
  if (t) out = py_from_tensor(c, t);
  ig_scope_close(c, s);
  return out;
}

static PyObject *tensor(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"data", "dtype", "device", "requires_grad", "pin_memory", NULL};
  (void)module;
  options o = {0};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:tensor", keys, &o.data, &o.dtype,
                                   &o.device, &o.requires_grad, &o.pin)) {
    return NULL;
  }
  if (py_is_tensor(o.data) &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "To copy construct from a tensor, it is recommended to use "
                   "sourceTensor.detach().clone() or "
                   "sourceTensor.detach().clone().requires_grad_(True), rather than "
                   "torch.tensor(sourceTensor).",
                   1) != 0) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, "builtin_function_or_method", "tensor", NULL);
  ig_defer_need need = {.allowed = !py_is_tensor(o.data)};  // one graph may have lists of elements
  ig_mode_scope mode = ig_defer_push_need(c, &need);
  PyObject *out = construct(&o, NULL, true, true);
  ig_mode_pop(c, &mode);
  if (inside) py_region_leave(c);
  return out;
}

// as_tensor of data in a program: it enters as a constant.
static PyObject *lifted(ig_ctx *c, const options *o) {
  int dtype = -1;
  ig_device device;
  if (!read_options(o, NULL, &dtype, &device)) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = py_tensor_from_data(c, o->data, dtype, device, false);
  if (t && !ig_is_fake(t)) t = py_lift(c, t);
  PyObject *out = t ? py_from_tensor(c, t) : NULL;
  ig_scope_close(c, s);
  return out;
}

// as_tensor of a tensor in a training program: a conversion, even if it changes nothing.
static PyObject *converted(const options *o) {
  bool dtype = o->dtype && o->dtype != Py_None;
  bool device = o->device && o->device != Py_None;
  PyObject *type = dtype ? Py_NewRef(o->dtype) : PyObject_GetAttrString(o->data, "dtype");
  PyObject *where = device ? Py_NewRef(o->device) : PyObject_GetAttrString(o->data, "device");
  PyObject *out = type && where ? PyObject_CallMethod(o->data, "to", "OO", where, type) : NULL;
  Py_XDECREF(type);
  Py_XDECREF(where);
  return out;
}

static PyObject *as_tensor(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"data", "dtype", "device", NULL};
  (void)module;
  options o = {0};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:as_tensor", keys, &o.data, &o.dtype,
                                   &o.device)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  const ig_graph *g = c->mode->capture;
  if (g && !py_is_tensor(o.data)) return lifted(c, &o);
  return g && !g->inference ? converted(&o) : construct(&o, NULL, false, false);
}

static PyObject *asarray(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"obj", "dtype", "device", "copy", "requires_grad", NULL};
  (void)module;
  options o = {0};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOp:asarray", keys, &o.data, &o.dtype,
                                   &o.device, &o.copy, &o.requires_grad)) {
    return NULL;
  }
  return construct(&o, NULL, o.copy == Py_True, false);
}

// x.new_tensor(data): dtype and device of x.
static PyObject *new_tensor(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"self",          "data",   "dtype",      "device",
                         "requires_grad", "layout", "pin_memory", NULL};
  (void)module;
  options o = {0};
  PyObject *self = NULL;
  PyObject *layout = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|$OOpOp:new_tensor", keys, py_tensor_type,
                                   &self, &o.data, &o.dtype, &o.device, &o.requires_grad, &layout,
                                   &o.pin)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, "method_descriptor", "new_tensor", NULL);
  PyObject *out = construct(&o, py_tensor_of(self), true, true);
  if (inside) py_region_leave(c);
  return out;
}

PyMethodDef py_data_functions[] = {
    {"tensor", (PyCFunction)(void (*)(void))tensor, METH_VARARGS | METH_KEYWORDS, NULL},
    {"as_tensor", (PyCFunction)(void (*)(void))as_tensor, METH_VARARGS | METH_KEYWORDS, NULL},
    {"asarray", (PyCFunction)(void (*)(void))asarray, METH_VARARGS | METH_KEYWORDS, NULL},
    {"_new_tensor", (PyCFunction)(void (*)(void))new_tensor, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};
