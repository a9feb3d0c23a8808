// SPDX-License-Identifier: Apache-2.0
// Edits of ONNX models from Python: one call opens a model, applies operations in turn, and writes
// it. ingot/edit.py has a function per operation.
#include "ingot/edit.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "py.h"

// Lists of Python as arrays of the innermost scope. NULL: an exception is set.
static const char **texts(ig_ctx *c, PyObject *list, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(list);
  const char **at = ig_scope_array(c, *n + 1, sizeof *at);
  for (size_t i = 0; at && i < *n; i++) {
    at[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(list, (Py_ssize_t)i));
    if (!at[i]) return NULL;
  }
  if (!at) (void)py_raise(c);
  return at;
}

// A tuple of runs, each a tuple of (name, tensor).
static ig_edit_run *runs_of(ig_ctx *c, PyObject *list, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(list);
  ig_edit_run *at = ig_scope_array(c, *n + 1, sizeof *at);
  for (size_t i = 0; at && i < *n; i++) {
    PyObject *run = PyTuple_GET_ITEM(list, (Py_ssize_t)i);
    size_t count = (size_t)PyTuple_GET_SIZE(run);
    ig_weight *inputs = ig_scope_array(c, count + 1, sizeof *inputs);
    for (size_t k = 0; inputs && k < count; k++) {
      const char *name = NULL;
      PyObject *tensor = NULL;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(run, (Py_ssize_t)k), "sO", &name, &tensor))
        return NULL;
      inputs[k] = (ig_weight){name, py_lend(c, tensor), NULL};
      if (!inputs[k].tensor) return NULL;
    }
    at[i] = (ig_edit_run){count, inputs};
    if (!inputs) at = NULL;
  }
  if (!at && !PyErr_Occurred()) (void)py_raise(c);
  return at;
}

// ---- operations: the arguments of one as a tuple. False: an exception, or an error of the
// context.

typedef bool step_fn(ig_ctx *c, ig_edit *e, PyObject *args);

static bool simplify(ig_ctx *c, ig_edit *e, PyObject *args) {
  (void)c;
  unsigned long long most = 0;
  int functions = 0;
  int fused = 0;
  if (!PyArg_ParseTuple(args, "Kpp", &most, &functions, &fused)) return false;
  const ig_simplify_options o = {sizeof o, most, functions != 0, fused != 0};
  return ig_edit_simplify(e, &o) == IG_OK;
}

static bool fix_sizes(ig_ctx *c, ig_edit *e, PyObject *args) {
  size_t n = (size_t)PyTuple_GET_SIZE(args);
  ig_dim_value *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    long long value = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(args, (Py_ssize_t)i), "sL", &at[i].name, &value))
      return false;
    at[i].value = value;
  }
  return at && ig_edit_fix_sizes(e, at, n) == IG_OK;
}

static bool free_sizes(ig_ctx *c, ig_edit *e, PyObject *args) {
  size_t n = (size_t)PyTuple_GET_SIZE(args);
  ig_free_size *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++)
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(args, (Py_ssize_t)i), "sis", &at[i].input, &at[i].dim,
                          &at[i].name))
      return false;
  return at && ig_edit_free_sizes(e, at, n) == IG_OK;
}

static bool rename_names(ig_ctx *c, ig_edit *e, PyObject *args) {
  size_t n = (size_t)PyTuple_GET_SIZE(args);
  ig_rename *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    int kind = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(args, (Py_ssize_t)i), "iss", &kind, &at[i].from,
                          &at[i].to))
      return false;
    at[i].kind = (ig_rename_kind)kind;
  }
  return at && ig_edit_rename(e, at, n) == IG_OK;
}

static bool extract(ig_ctx *c, ig_edit *e, PyObject *args) {
  PyObject *from = NULL;
  PyObject *to = NULL;
  ig_extract_options o = {.size = sizeof o};
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &from, &PyTuple_Type, &to)) return false;
  o.from = texts(c, from, &o.nfrom);
  o.to = o.from ? texts(c, to, &o.nto) : NULL;
  return o.to && ig_edit_extract(e, &o) == IG_OK;
}

static ig_onnx_model *open_model(ig_ctx *c, PyObject *source) {
  ig_onnx_model *m = NULL;
  PyObject *path = NULL;
  if (PyBytes_Check(source)) {
    const char *at = PyBytes_AS_STRING(source);
    return ig_onnx_parse(c, "model", at, (size_t)PyBytes_GET_SIZE(source), NULL, NULL, &m) == IG_OK
               ? m
               : NULL;
  }
  if (!PyUnicode_FSConverter(source, &path)) return NULL;
  ig_status st = ig_onnx_open(c, PyBytes_AS_STRING(path), NULL, &m);
  Py_DECREF(path);
  return st == IG_OK ? m : NULL;
}

static bool merge(ig_ctx *c, ig_edit *e, PyObject *args) {
  PyObject *other = NULL;
  PyObject *joins = NULL;
  const char *prefix = NULL;
  int keep = 0;
  if (!PyArg_ParseTuple(args, "OO!zp", &other, &PyTuple_Type, &joins, &prefix, &keep)) return false;
  size_t n = (size_t)PyTuple_GET_SIZE(joins);
  ig_join *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++)
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(joins, (Py_ssize_t)i), "ss", &at[i].output,
                          &at[i].input))
      return false;
  ig_onnx_model *m = at ? open_model(c, other) : NULL;
  const ig_merge_options o = {sizeof o, at, n, prefix, keep != 0};
  bool ok = m && ig_edit_merge(e, m, &o) == IG_OK;
  ig_onnx_free(m);
  return ok;
}

static bool dtype(ig_ctx *c, ig_edit *e, PyObject *args) {
  PyObject *to = NULL;
  PyObject *keep = NULL;
  PyObject *runs = NULL;
  int io = 0;
  ig_dtype_options o = {.size = sizeof o};
  if (!PyArg_ParseTuple(args, "O!pO!O!", &py_dtype_type, &to, &io, &PyTuple_Type, &keep,
                        &PyTuple_Type, &runs))
    return false;
  o.dtype = ((py_dtype *)to)->d;
  o.convert_io = io != 0;
  o.keep = texts(c, keep, &o.nkeep);
  o.runs = o.keep ? runs_of(c, runs, &o.nruns) : NULL;
  return o.runs && ig_edit_dtype(e, &o) == IG_OK;
}

static bool quantize(ig_ctx *c, ig_edit *e, PyObject *args) {
  PyObject *keep = NULL;
  PyObject *runs = NULL;
  int how = 0;
  ig_quantize_options o = {.size = sizeof o};
  if (!PyArg_ParseTuple(args, "iidO!O!", &how, &o.block, &o.percentile, &PyTuple_Type, &keep,
                        &PyTuple_Type, &runs))
    return false;
  o.how = (ig_quantize_how)how;
  o.keep = texts(c, keep, &o.nkeep);
  o.runs = o.keep ? runs_of(c, runs, &o.nruns) : NULL;
  return o.runs && ig_edit_quantize(e, &o) == IG_OK;
}

static const struct {
  const char *name;
  step_fn *fn;
} steps[] = {{"simplify", simplify},   {"fix_sizes", fix_sizes}, {"free_sizes", free_sizes},
             {"rename", rename_names}, {"extract", extract},     {"merge", merge},
             {"dtype", dtype},         {"quantize", quantize}};

static bool apply(ig_ctx *c, ig_edit *e, PyObject *list) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
    const char *name = NULL;
    PyObject *args = NULL;
    step_fn *fn = NULL;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list, i), "sO!", &name, &PyTuple_Type, &args))
      return false;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
      if (strcmp(steps[k].name, name) == 0) fn = steps[k].fn;
    if (!fn) {
      PyErr_Format(PyExc_ValueError, "there is no operation '%s'", name);
      return false;
    }
    if (!fn(c, e, args)) return false;
  }
  return true;
}

// ---- results

static PyObject *notes_of(const ig_edit *e) {
  PyObject *list = PyList_New(0);
  ig_edit_note n;
  for (size_t i = 0; list && ig_edit_note_at(e, i, &n); i++) {
    PyObject *item = isnan(n.number)
                         ? Py_BuildValue("(ssssO)", n.what, n.name, n.op, n.why, Py_None)
                         : Py_BuildValue("(ssssd)", n.what, n.name, n.op, n.why, n.number);
    if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *bytes_of(ig_ctx *c, ig_edit *e) {
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_edit_write(e, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  PyObject *out = NULL;
  if (st == IG_OK) out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  ig_sink_drop(&sink);
  return out;
}

static PyObject *saved(ig_edit *e, PyObject *output, int external, unsigned long long least) {
  PyObject *path = NULL;
  if (!PyUnicode_FSConverter(output, &path)) return NULL;
  const char *to = PyBytes_AS_STRING(path);
  ig_status st =
      least ? ig_edit_split(e, least, to) : ig_edit_save(e, (ig_onnx_external)external, to);
  Py_DECREF(path);
  return st == IG_OK ? Py_NewRef(Py_None) : NULL;
}

// edit_onnx(source, steps, output, external, least) -> (bytes or None, notes)
static PyObject *edit_onnx(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *source = NULL;
  PyObject *list = NULL;
  PyObject *output = NULL;
  int external = 0;
  unsigned long long least = 0;
  if (!PyArg_ParseTuple(args, "OO!OiK:edit_onnx", &source, &PyTuple_Type, &list, &output, &external,
                        &least))
    return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_edit *e = NULL;
  PyObject *out = NULL;
  PyObject *notes = NULL;
  ig_onnx_model *m = open_model(c, source);
  bool ok = m && ig_edit_of(c, m, &e) == IG_OK && apply(c, e, list);
  if (ok) out = output == Py_None ? bytes_of(c, e) : saved(e, output, external, least);
  if (out) notes = notes_of(e);
  ig_edit_free(e);
  ig_onnx_free(m);
  ig_scope_close(c, s);
  PyObject *both = notes ? PyTuple_Pack(2, out, notes) : NULL;
  Py_XDECREF(out);
  Py_XDECREF(notes);
  if (both) return both;
  if (ig_ctx_status(c) != IG_OK && PyErr_Occurred()) ig_ctx_clear(c);
  return PyErr_Occurred() ? NULL : py_raise(c);
}

PyMethodDef py_edit_functions[] = {
    {"edit_onnx", edit_onnx, METH_VARARGS,
     "edit_onnx(source, steps, output, external, least): what ingot.edit does."},
    {NULL, NULL, 0, NULL},
};
