// SPDX-License-Identifier: Apache-2.0
// .pt2 archives from Python: programs to and from paths, bytes and file objects.
#include "pt2/archive.h"

#include <string.h>

#include "base/file.h"
#include "ingot/file.h"
#include "ingot/program.h"
#include "py.h"

// pt2_load(path or bytes) -> Program
static PyObject *pt2_load(PyObject *module, PyObject *from) {
  (void)module;
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_status st = IG_OK;
  ig_scope s = ig_scope_open(c);
  if (PyUnicode_Check(from)) {
    const char *path = PyUnicode_AsUTF8(from);
    if (path) st = ig_program_load(c, path, &p);
  } else {
    Py_buffer view;
    if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE) == 0) {
      ig_bytes bytes = {view.buf, (size_t)view.len};
      st = ig_program_load_bytes(c, "archive", bytes, NULL, NULL, &p);
      PyBuffer_Release(&view);
    }
  }
  ig_scope_close(c, s);
  return PyErr_Occurred() ? NULL : py_program_wrap(c, st, p);
}

static bool call_write(void *user, const void *data, size_t n) {
  PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)n);
  PyObject *out = bytes ? PyObject_CallOneArg(user, bytes) : NULL;
  Py_XDECREF(bytes);
  Py_XDECREF(out);
  return out != NULL;
}

// pt2_save(program, path or function that takes bytes)
static PyObject *pt2_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  PyObject *to = NULL;
  if (!PyArg_ParseTuple(args, "OO:pt2_save", &program, &to)) return NULL;
  ig_ctx *c = py_ctx();
  const ig_program *p = py_program_of(program);
  ig_status st = IG_OK;
  if (PyUnicode_Check(to)) {
    const char *path = PyUnicode_AsUTF8(to);
    if (!path) return NULL;
    st = ig_program_save(c, p, path);
  } else {
    ig_sink sink;
    st = ig_sink_call(c, call_write, to, &sink);
    if (st == IG_OK) st = ig_program_write(c, p, NULL, &sink);
    if (st == IG_OK) st = ig_sink_close(c, &sink);
    ig_sink_drop(&sink);
  }
  if (PyErr_Occurred()) {  // of the function
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    if (!py_ok(c)) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return NULL;
  }
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

PyMethodDef py_pt2_functions[] = {
    {"pt2_load", pt2_load, METH_O, "Reads a .pt2 archive: a path or bytes."},
    {"pt2_save", pt2_save, METH_VARARGS, "Writes a .pt2 archive: to a path, or piece by piece."},
    {NULL, NULL, 0, NULL},
};
