// SPDX-License-Identifier: Apache-2.0
// Dynamic dimensions from Python: declaring them on inputs, solving, ranges, checks of inputs.
//
// A dim is None (static), an int (static, checked), (name, lo, hi), (text, root, lo, hi, k, c) for
// k*root + c, True (automatic) or ... (dynamic); hi None is unbounded.
#include "ingot/dims.h"

#include "py.h"
#include "sym/env.h"

static bool read_bound(PyObject *o, int64_t open, int64_t *out) {
  *out = open;
  if (o == Py_None) return true;
  *out = PyLong_AsLongLong(o);
  return !PyErr_Occurred();
}

static bool read_tuple(PyObject *o, ig_dim *d) {
  PyObject *lo = NULL;
  PyObject *hi = NULL;
  long long k = 0;
  long long c = 0;
  bool named = PyTuple_GET_SIZE(o) == 3;
  d->kind = named ? IG_DIM_NAMED : IG_DIM_DERIVED;
  if (named ? !PyArg_ParseTuple(o, "sOO", &d->name, &lo, &hi)
            : !PyArg_ParseTuple(o, "ssOOLL", &d->name, &d->root, &lo, &hi, &k, &c)) {
    return false;
  }
  d->k = k;
  d->c = c;
  return read_bound(lo, 0, &d->lo) && read_bound(hi, INT64_MAX, &d->hi);
}

static bool read_dim(PyObject *o, ig_dim *d) {
  *d = (ig_dim){.kind = IG_DIM_STATIC};
  if (o == Py_None) return true;
  if (o == Py_True || o == Py_Ellipsis) {
    d->kind = o == Py_True ? IG_DIM_AUTO : IG_DIM_DYNAMIC;
    return true;
  }
  if (PyTuple_Check(o)) return read_tuple(o, d);
  d->kind = IG_DIM_INT;
  return read_bound(o, 0, &d->lo);
}

ig_tensor *py_capture_input_dims(ig_ctx *c, const char *name, const char *source, ig_tensor *t,
                                 PyObject *dims) {
  ig_dim all[IG_MAX_DIM] = {{0}};
  PyObject *tuple = dims == Py_None ? PyTuple_New(0) : PySequence_Tuple(dims);
  if (!tuple) return NULL;
  bool ok = true;
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  if (n > t->ndim) {
    PyErr_Format(PyExc_ValueError, "input '%s': found %zd dims, expected at most %d", name, n,
                 t->ndim);
    ok = false;
  }
  for (Py_ssize_t i = 0; ok && i < n; i++) ok = read_dim(PyTuple_GET_ITEM(tuple, i), &all[i]);
  ig_tensor *out = ok ? ig_capture_input_dims(c, name, source, t, all) : NULL;
  Py_DECREF(tuple);
  return out;
}

static PyObject *answer(ig_ctx *c, ig_status st) {
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

static PyObject *bound(int64_t v) {
  if (v == INT64_MAX || v == INT64_MIN) return Py_NewRef(Py_None);
  return PyLong_FromLongLong(v);
}

static PyObject *fix_item(const ig_dim_fix *f) {
  if (f->kind == IG_FIX_INT) return Py_BuildValue("(sL)", f->name, (long long)f->value);
  if (f->kind == IG_FIX_DERIVED) {
    return Py_BuildValue("(s(sLL))", f->name, f->root, (long long)f->k, (long long)f->c);
  }
  return Py_BuildValue("(s(NN))", f->name, bound(f->lo), bound(f->hi));
}

PyObject *py_from_fixes(const ig_dim_fix *fixes, size_t n) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = fix_item(&fixes[i]);
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

// dim_fixes(message) -> [(name, int) | (name, (lo, hi)) | (name, (root, k, c))]
static PyObject *dim_fixes(PyObject *module, PyObject *message) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(message);
  if (!text) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  const ig_dim_fix *at = NULL;
  size_t n = ig_dim_fixes(c, text, &at);
  PyObject *list = py_ok(c) ? py_from_fixes(at, n) : NULL;
  ig_scope_close(c, s);
  return list;
}

PyObject *py_program_ranges(const ig_program *p) {
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  const ig_range_entry *at = NULL;
  size_t n = ig_program_ranges(c, p, &at);
  PyObject *list = py_ok(c) ? PyList_New(0) : NULL;
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = Py_BuildValue("(sNN)", at[i].text, bound(at[i].lo), bound(at[i].hi));
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  ig_scope_close(c, s);
  return list;
}

static bool read_paths(ig_ctx *c, PyObject *paths, size_t n, const char ***out) {
  *out = NULL;
  if (paths == Py_None) return true;
  if (!PyTuple_Check(paths) || (size_t)PyTuple_GET_SIZE(paths) != n) {
    PyErr_SetString(PyExc_ValueError, "check_inputs: one path per input is expected");
    return false;
  }
  *out = ig_scope_array(c, n + 1, sizeof **out);
  for (size_t i = 0; *out && i < n; i++) {
    (*out)[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(paths, (Py_ssize_t)i));
    if (!(*out)[i]) return false;
  }
  return *out != NULL;
}

PyObject *py_program_check(const ig_program *p, PyObject *args,
                           bool (*value_of)(PyObject *o, ig_value *v)) {
  PyObject *flat = NULL;
  PyObject *paths = Py_None;
  if (!PyArg_ParseTuple(args, "O!|O:check_inputs", &PyTuple_Type, &flat, &paths)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  size_t n = (size_t)PyTuple_GET_SIZE(flat);
  ig_value *values = ig_scope_array(c, n + 1, sizeof *values);
  const char **names = NULL;
  bool ok = values && read_paths(c, paths, n, &names);
  for (size_t i = 0; ok && i < n; i++) {
    ok = value_of(PyTuple_GET_ITEM(flat, (Py_ssize_t)i), &values[i]);
  }
  PyObject *out = NULL;
  if (ok) out = answer(c, ig_program_check_inputs(c, p, values, names, n));
  if (!out && !PyErr_Occurred()) (void)py_raise(c);
  ig_scope_close(c, s);
  return out;
}

PyMethodDef py_dims_functions[] = {
    {"dim_fixes", dim_fixes, METH_O, "Suggested fixes of a message."},
    {NULL, NULL, 0, NULL},
};
