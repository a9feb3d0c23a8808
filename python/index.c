// SPDX-License-Identifier: Apache-2.0
// x[...] and x[...] = v: integers, slices, None, Ellipsis, bool, masks, index tensors, sequences.
// The calls made are exactly those of PyTorch, because they are also what a capture records.
#include <string.h>

#include "op/refuse.h"
#include "py.h"
#include "trace_script.h"

// One walk over an index: `t` is what has been sliced so far, `at` the next dimension of it.
typedef struct walk {
  ig_ctx *c;
  ig_tensor *t;
  int64_t at;
  size_t n;  // index tensors; NONE where a dimension is taken whole
  ig_value tensors[IG_MAX_DIM];
} walk;

static ig_tensor *call_i(ig_ctx *c, py_target target, ig_tensor *t, int64_t i) {
  ig_value v[] = {ig_of_tensor(t), ig_of_i64(i)};
  return py_call_tensor(c, target, v, 2);
}

// real: the position of the index in the brackets, for the message.
static ig_tensor *select_at(ig_ctx *c, ig_tensor *t, int64_t dim, ig_int i, int64_t real) {
  if (t->ndim == 0 && !i.expr && i.value == 0) {
    PyErr_SetString(PyExc_IndexError,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                    "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    return NULL;
  }
  ig_int size = t->ndim ? ig_sizes(t)[dim] : ig_const(0);
  if (!size.expr && !i.expr && (i.value >= size.value || i.value < -size.value)) {
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %lld with size %lld",
                 (long long)i.value, (long long)real, (long long)size.value);
    return NULL;
  }
  ig_value v[] = {ig_of_tensor(t), ig_of_i64(dim), ig_of_int(i)};
  return py_call_tensor(c, PY_SELECT, v, 3);
}

// An integer in a tensor of which a capture does not know the elements.
static bool is_captured_index(const ig_tensor *t) {
  return t->ndim == 0 && ig_is_fake(t) && ig_dtype_is_integral(t->dtype) && py_ctx()->mode->capture;
}

static bool captured_bound(PyObject *o, ig_int *out) {
  PyObject *item = py_tensor_item(py_ctx(), py_tensor_of(o));
  bool ok = item && py_to_int(item, out) == IG_MATCH_TAKEN;
  Py_XDECREF(item);
  return ok;
}

// A bound of a slice: clipped to int64, symbolic kept, None is `def`.
static bool bound(PyObject *o, int64_t def, ig_int *out) {
  *out = ig_const(def);
  if (o == Py_None) return true;
  if (Py_IS_TYPE(o, &py_symint_type)) {
    *out = ((py_sym *)o)->v.i;
    return true;
  }
  if (py_is_tensor(o) && py_tracing(py_ctx()) && py_tensor_of(o)->ndim == 0) {
    ig_ctx *c = py_ctx();
    return py_traced_int(c, py_tensor_of(o), false, out) || py_raise(c) != NULL;
  }
  if (!PyIndex_Check(o)) {
    PyErr_SetString(PyExc_TypeError,
                    "slice indices must be integers or None or have an __index__ method");
    return false;
  }
  if (py_is_tensor(o) && is_captured_index(py_tensor_of(o))) return captured_bound(o, out);
  PyObject *index = PyNumber_Index(o);
  if (!index) return false;
  int overflow = 0;
  long long i = PyLong_AsLongLongAndOverflow(index, &overflow);
  *out = overflow ? ig_const(overflow > 0 ? INT64_MAX : INT64_MIN) : py_tracked_int(o, i);
  Py_DECREF(index);
  return !PyErr_Occurred();
}

static bool same_int(ig_int a, ig_int b) {
  return a.expr == b.expr && (a.expr || a.value == b.value);
}

// whole: a slice that takes everything is not a call. A capture and the tape still record one with
// an open end, as PyTorch calls the operator for it.
static ig_tensor *slice_at(ig_ctx *c, ig_tensor *t, int64_t dim, PyObject *o, bool whole) {
  PySliceObject *s = (PySliceObject *)o;
  ig_int start;
  ig_int stop;
  ig_int step;
  if (!bound(s->step, 1, &step)) return NULL;
  if (!step.expr && step.value == 0) {
    PyErr_SetString(PyExc_ValueError, "slice step cannot be zero");
    return NULL;
  }
  bool back = !step.expr && step.value < 0;
  if (!bound(s->start, back ? INT64_MAX : 0, &start) ||
      !bound(s->stop, back ? INT64_MIN : INT64_MAX, &stop)) {
    return NULL;
  }
  if (back) {
    PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
    return NULL;
  }
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
    return NULL;
  }
  ig_int size = ig_sizes(t)[dim];
  bool beyond = (!stop.expr && stop.value == INT64_MAX) ||
                (!size.expr && !stop.expr && stop.value >= size.value);
  bool seen = c->mode->capture || (t->requires_grad && !c->mode->no_grad);
  whole = whole && !py_tracing(c) &&
          !(c->mode->rewrite && s->stop != Py_None);  // another input may be longer
  bool to_end = same_int(size, stop) || (beyond && !seen);
  bool is_whole = !start.expr && start.value == 0 && !step.expr && step.value == 1 && to_end;
  if (whole && is_whole) return t;
  ig_value v[] = {ig_of_tensor(t), ig_of_i64(dim), ig_of_int(start), ig_of_int(stop),
                  ig_of_int(step)};
  return py_call_tensor(c, PY_SLICE, v, 5);
}

// True is the index 0 of a new dimension, False no index at all.
static ig_tensor *bool_tensor(ig_ctx *c, ig_tensor *t, bool on) {
  ig_int n = ig_const(on);
  ig_value v[] = {ig_of_ints(&n, 1), ig_of_dtype(IG_I64),
                  (ig_value){.kind = IG_KIND_LAYOUT, .layout = IG_STRIDED},
                  ig_of_device(t->device)};
  ig_tensor *index = py_call_tensor(c, PY_EMPTY, v, 4);
  if (!index || !on) return index;
  ig_value fill[] = {ig_of_tensor(index), ig_of_f64(0)};
  return py_call_tensor(c, PY_FILL_SCALAR, fill, 2);
}

static bool record(walk *w, ig_tensor *index) {
  if (!index) return false;
  if (w->at >= IG_MAX_DIM) {
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", w->t->ndim);
    return false;
  }
  while ((int64_t)w->n < w->at) w->tensors[w->n++] = ig_none();
  w->tensors[w->n++] = ig_of_tensor(index);
  w->at++;
  return true;
}

static bool step_bool(walk *w, bool on) {
  w->t = call_i(w->c, PY_UNSQUEEZE, w->t, w->at);
  return w->t && record(w, bool_tensor(w->c, w->t, on));
}

static bool step_tensor(walk *w, PyObject *o, int64_t real) {
  ig_tensor *index = py_tensor_of(o);
  bool mask = index->dtype == IG_BOOL || index->dtype == IG_U8;
  if (index->ndim > 0 || !(mask || ig_dtype_is_integral(index->dtype))) return record(w, index);
  ig_int i = ig_const(0);
  if (!mask && py_tracing(w->c)) {
    if (!py_traced_int(w->c, index, false, &i)) return py_raise(w->c) != NULL;
    w->t = select_at(w->c, w->t, w->at, i, real);
    return w->t != NULL;
  }
  PyObject *item = py_tensor_item(w->c, index);
  if (!item) return false;
  bool ok = true;
  if (mask) {
    int on = PyObject_IsTrue(item);
    ok = on >= 0 && step_bool(w, on == 1);
  } else {
    ok = py_to_int(item, &i) == IG_MATCH_TAKEN;
    w->t = ok ? select_at(w->c, w->t, w->at, i, real) : NULL;
    ok = w->t != NULL;
  }
  Py_DECREF(item);
  return ok;
}

// A list or array of indices: int64, or a mask.
static bool step_sequence(walk *w, PyObject *o) {
  if (PyUnicode_Check(o) || PyBytes_Check(o)) {
    PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(o)->tp_name);
    return false;
  }
  ig_tensor *t = py_tensor_from_data(w->c, o, -1, ig_device_cpu(), true);
  if (!t) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_RuntimeError)) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "new(): invalid data type 'str'");
    }
    return false;
  }
  int64_t numel = ig_tensor_numel(t);
  if (t->dtype != IG_BOOL && t->dtype != IG_U8 && t->dtype != IG_I64) {
    bool keeps = ig_dtype_is_integral(t->dtype) || numel == 0;
    if (!keeps) {
      PyErr_SetString(PyExc_IndexError,
                      "tensors used as indices must be long, int, byte or bool tensors");
      return false;
    }
    ig_value v[] = {ig_of_tensor(t), ig_of_dtype(IG_I64)};
    t = py_call_tensor(w->c, PY_TO_DTYPE, v, 2);
  }
  return t && record(w, py_lift(w->c, t));
}

static bool bad_index(PyObject *o) {
  PyErr_Format(PyExc_IndexError,
               "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
               "valid indices (got %s)",
               Py_TYPE(o)->tp_name);
  return false;
}

static bool is_integer(PyObject *o) {
  return (PyLong_Check(o) && !PyBool_Check(o)) || Py_IS_TYPE(o, &py_symint_type);
}

static bool step(walk *w, PyObject *o, int64_t specified, int64_t real) {
  ig_int i;
  if (is_integer(o)) {
    if (py_to_int(o, &i) != IG_MATCH_TAKEN) return false;
    w->t = select_at(w->c, w->t, w->at, i, real);
  } else if (PySlice_Check(o)) {
    w->t = slice_at(w->c, w->t, w->at, o, true);
    w->at++;
  } else if (o == Py_Ellipsis) {
    w->at += specified;  // the caller passes the dimensions that no index names
  } else if (o == Py_None) {
    w->t = call_i(w->c, PY_UNSQUEEZE, w->t, w->at);
    w->at++;
  } else if (PyBool_Check(o)) {
    return step_bool(w, o == Py_True);
  } else if (py_is_tensor(o)) {
    return step_tensor(w, o, real);
  } else if (PySequence_Check(o)) {
    return step_sequence(w, o);
  } else if (PyIndex_Check(o)) {
    if (py_to_int(o, &i) != IG_MATCH_TAKEN) return PyErr_Occurred() ? false : bad_index(o);
    w->t = select_at(w->c, w->t, w->at, i, real);
  } else {
    return bad_index(o);
  }
  return w->t != NULL;
}

static int64_t specified_dims(PyObject *tuple) {
  int64_t n = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject *o = PyTuple_GET_ITEM(tuple, i);
    if (py_is_tensor(o)) {
      ig_dtype d = py_tensor_of(o)->dtype;
      n += d == IG_BOOL || d == IG_U8 ? py_tensor_of(o)->ndim : 1;
    } else if (o != Py_None && o != Py_Ellipsis && !PyBool_Check(o)) {
      n++;
    }
  }
  return n;
}

// Is a non-tuple sequence treated as a tuple? It is if it contains what only a tuple can.
static bool is_tuple_like(PyObject *o) {
  if (PyTuple_Check(o)) return true;
  if (!PyList_Check(o) || PyList_GET_SIZE(o) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); i++) {
    PyObject *item = PyList_GET_ITEM(o, i);
    if (py_is_tensor(item) || PySequence_Check(item) || PySlice_Check(item) ||
        item == Py_Ellipsis || item == Py_None) {
      return true;
    }
  }
  return false;
}

// Applies the whole index; false: exception set.
static bool apply(walk *w, PyObject *index) {
  int ndim = w->t->ndim;
  PyObject *tuple = is_tuple_like(index) ? PySequence_Tuple(index) : PyTuple_Pack(1, index);
  if (!tuple) return false;
  int64_t specified = specified_dims(tuple);
  bool ok = specified <= ndim;
  if (!ok) PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", ndim);
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(tuple); i++) {
    ok = step(w, PyTuple_GET_ITEM(tuple, i), ndim - specified, i);
  }
  Py_DECREF(tuple);
  return ok;
}

// Does a subclass override it? 1: *out is the result.
static int overridden(const char *name, PyObject *self, PyObject *index, PyObject *value,
                      PyObject **out) {
  const py_thread *t = py_thread_of(py_ctx());
  if (!(py.overriding || t->modes) || t->function_off) return 0;
  PyObject *func = PyObject_GetAttrString((PyObject *)py_tensor_type, name);
  if (!func) return 1;
  PyObject *args[] = {self, index, value};
  int taken = py_overridden(func, args, value ? 3 : 2, NULL, false, out);
  Py_DECREF(func);
  return taken;
}

static ig_tensor *get(ig_ctx *c, ig_tensor *t, PyObject *index) {
  ig_value self = ig_of_tensor(t);
  if (index == Py_Ellipsis) return py_call_tensor(c, PY_ALIAS, &self, 1);
  if (index == Py_None) return call_i(c, PY_UNSQUEEZE, t, 0);
  if (PySlice_Check(index)) return slice_at(c, t, 0, index, false);
  if (is_integer(index)) {
    ig_int i;
    return py_to_int(index, &i) == IG_MATCH_TAKEN ? select_at(c, t, 0, i, 0) : NULL;
  }
  walk w;
  w.c = c;
  w.t = t;
  w.at = 0;
  w.n = 0;
  if (!apply(&w, index)) return NULL;
  if (w.n == 0) return w.t == t ? py_call_tensor(c, PY_ALIAS, &self, 1) : w.t;
  ig_value v[] = {ig_of_tensor(w.t), ig_of_list(w.tensors, w.n)};
  return py_call_tensor(c, PY_INDEX, v, 2);
}

PyObject *py_tensor_getitem(PyObject *self, PyObject *index) {
  PyObject *out = NULL;
  if (overridden("__getitem__", self, index, NULL, &out)) return out;
  ig_ctx *c = py_ctx();
  bool select = Py_IS_TYPE(index, &py_symint_type) && py_trace_is_strict(c);
  bool inside = select ? py_region(c, "builtin_function_or_method", "select", NULL)
                       : py_region(c, "wrapper_descriptor", "__getitem__", "getitem");
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = get(c, py_tensor_of(self), index);
  if (t) out = py_from_tensor(c, t);
  ig_scope_close(c, s);
  if (inside) py_region_leave(c);
  PyObject *fn = out || !inside ? NULL : PyUnicode_FromString("<built-in function getitem>");
  if (fn) py_note_call(fn, (PyObject *[]){self, index}, 2, NULL);
  Py_XDECREF(fn);
  return out;
}

// ---- assignment ----

// Sizes without the leading ones.
static ig_value prefix_free(const ig_tensor *t) {
  int d = 0;
  while (d < t->ndim && !ig_sizes(t)[d].expr && ig_sizes(t)[d].value == 1) d++;
  return ig_of_ints(ig_sizes(t) + d, (size_t)(t->ndim - d));
}

static bool same_sizes(const ig_tensor *a, const ig_tensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++) {
    if (!same_int(ig_sizes(a)[d], ig_sizes(b)[d])) return false;
  }
  return true;
}

static bool copy_to(ig_ctx *c, ig_tensor *dst, ig_tensor *src) {
  ig_value v[] = {ig_of_tensor(dst), ig_of_tensor(src)};
  if (same_sizes(dst, src)) return py_call_tensor(c, PY_COPY, v, 2) != NULL;
  if (src->ndim == 0) return py_call_tensor(c, PY_FILL, v, 2) != NULL;
  ig_value view[] = {ig_of_tensor(src), prefix_free(src)};
  ig_tensor *b = py_call_tensor(c, PY_VIEW, view, 2);
  if (b && !same_sizes(dst, b)) {
    ig_value expand[] = {ig_of_tensor(b), ig_of_ints(ig_sizes(dst), (size_t)dst->ndim)};
    b = py_call_tensor(c, PY_EXPAND, expand, 2);
  }
  v[1] = ig_of_tensor(b);
  return b && py_call_tensor(c, PY_COPY, v, 2) != NULL;
}

static ig_tensor *value_tensor(ig_ctx *c, const ig_tensor *self, PyObject *value) {
  if (py_is_tensor(value)) return py_tensor_of(value);
  ig_value v;
  bool plain = PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) ||
               Py_IS_TYPE(value, &py_symint_type);
  ig_match taken = plain ? py_to_number(value, &v) : IG_MATCH_OTHER;
  if (taken == IG_MATCH_REFUSED) return NULL;
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name,
                 ig_dtype_title(self->dtype));
    return NULL;
  }
  return py_lift(c, py_number_tensor(c, &v, self->quantizer ? IG_F32 : self->dtype, self->device));
}

static bool set(ig_ctx *c, ig_tensor *t, PyObject *index, ig_tensor *value) {
  if (index == Py_False) return true;
  ig_tensor *part = NULL;
  if (index == Py_Ellipsis) {
    part = t;
  } else if (index == Py_None || index == Py_True) {
    part = call_i(c, PY_UNSQUEEZE, t, 0);
  } else if (PySlice_Check(index)) {
    part = slice_at(c, t, 0, index, true);
  } else if (is_integer(index)) {
    ig_int i;
    part = py_to_int(index, &i) == IG_MATCH_TAKEN ? select_at(c, t, 0, i, 0) : NULL;
  } else {
    walk w;
    w.c = c;
    w.t = t;
    w.at = 0;
    w.n = 0;
    if (!apply(&w, index)) return false;
    if (w.n > 0) {
      ig_value sizes = prefix_free(value);
      if (sizes.ints.n != (size_t)value->ndim) {
        ig_value view[] = {ig_of_tensor(value), sizes};
        value = py_call_tensor(c, PY_VIEW, view, 2);
      }
      ig_value v[] = {ig_of_tensor(w.t), ig_of_list(w.tensors, w.n), ig_of_tensor(value)};
      return value && py_call_tensor(c, PY_INDEX_PUT, v, 3) != NULL;
    }
    part = w.t;
  }
  return part && copy_to(c, part, value);
}

int py_tensor_setitem(PyObject *self, PyObject *index, PyObject *value) {
  PyObject *out = NULL;
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  if (overridden("__setitem__", self, index, value, &out)) {
    Py_XDECREF(out);
    return out ? 0 : -1;
  }
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, "wrapper_descriptor", "__setitem__", "setitem");
  ig_scope s = ig_scope_open(c);
  ig_tensor *v = value_tensor(c, py_tensor_of(self), value);
  bool ok = v && set(c, py_tensor_of(self), index, v);
  ig_scope_close(c, s);
  if (inside) py_region_leave(c);
  return ok ? 0 : -1;
}
