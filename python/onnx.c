// SPDX-License-Identifier: Apache-2.0
// Writing ONNX from Python: a method of Program.
#include <string.h>

#include "base/file.h"
#include "fx.h"
#include "ingot/file.h"
#include "py.h"

// A sequence of names; the texts live as long as its list, which *keep holds.
static bool take_names(PyObject *given, PyObject **keep, const char *const **out, size_t *n) {
  if (given == Py_None) return true;
  *keep = PySequence_Tuple(given);
  if (!*keep) return false;
  *n = (size_t)PyTuple_GET_SIZE(*keep);
  const char **names = PyMem_Calloc(*n + 1, sizeof *names);
  if (!names) PyErr_NoMemory();
  *out = names;
  for (size_t i = 0; names && i < *n; i++) {
    PyObject *o = PyTuple_GET_ITEM(*keep, (Py_ssize_t)i);
    names[i] = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;
    if (!names[i] && !PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "names must be texts, found %s", Py_TYPE(o)->tp_name);
    }
    if (!names[i]) return false;
  }
  return names != NULL;
}

static PyObject *write_bytes(ig_ctx *c, const ig_program *p, const ig_onnx_options *options) {
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_program_write_onnx(c, p, options, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  PyObject *out = NULL;
  if (st == IG_OK) out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  if (st != IG_OK) (void)py_raise(c);
  ig_sink_drop(&sink);
  return out;
}

static bool take_external(const char *text, ig_onnx_external *out) {
  static const char *const names[] = {"auto", "never", "always"};
  for (size_t i = 0; i < PY_COUNT(names); i++) {
    *out = (ig_onnx_external)i;
    if (strcmp(text, names[i]) == 0) return true;
  }
  PyErr_Format(PyExc_ValueError, "external data: 'auto', 'never' or 'always', not '%s'", text);
  return false;
}

static PyObject *write_to(PyObject *o, const char *path, bool dry, const ig_onnx_options *options) {
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (dry) {
    out = ig_program_write_onnx(c, py_program_of(o), options, NULL) == IG_OK ? Py_NewRef(Py_None)
                                                                             : py_raise(c);
  } else if (!path) {
    out = write_bytes(c, py_program_of(o), options);
  } else if (ig_program_save_onnx_as(c, py_program_of(o), options, path) == IG_OK) {
    out = Py_NewRef(Py_None);
  } else {
    (void)py_raise(c);
  }
  ig_scope_close(c, s);
  return out;
}

// write_onnx(path=None, *, opset, external, input_names, output_names, ...) -> bytes, or None when
// there is a path; dry: only tells whether it can be written
static PyObject *program_write_onnx(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"path",
                         "opset",
                         "external",
                         "input_names",
                         "output_names",
                         "functions",
                         "weights_as_inputs",
                         "initializers_as_inputs",
                         "metadata",
                         "node_names",
                         "folding",
                         "dry",
                         NULL};
  const char *path = NULL;
  const char *external = "auto";
  PyObject *inputs = Py_None;
  PyObject *outputs = Py_None;
  ig_onnx_options options = {0};
  int functions = 0;
  int as_inputs = 0;
  int defaults = 0;
  int metadata = 1;
  int names = 1;
  int folding = 1;
  int dry = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z$isOOppppppp:write_onnx", keys, &path,
                                   &options.opset, &external, &inputs, &outputs, &functions,
                                   &as_inputs, &defaults, &metadata, &names, &folding, &dry)) {
    return NULL;
  }
  options.functions = functions;
  options.weights_as_inputs = as_inputs;
  options.initializers_as_inputs = defaults;
  options.no_metadata = !metadata;
  options.no_node_names = !names;
  options.no_folding = !folding;
  PyObject *keep[2] = {NULL, NULL};
  PyObject *out = NULL;
  if (take_external(external, &options.external) &&
      take_names(inputs, &keep[0], &options.input_names, &options.ninput_names) &&
      take_names(outputs, &keep[1], &options.output_names, &options.noutput_names)) {
    out = write_to(o, path, dry, &options);
  }
  PyMem_Free((void *)options.input_names);
  PyMem_Free((void *)options.output_names);
  Py_XDECREF(keep[0]);
  Py_XDECREF(keep[1]);
  return out;
}

static PyMethodDef methods[] = {
    {"write_onnx", (PyCFunction)(void (*)(void))program_write_onnx, METH_VARARGS | METH_KEYWORDS,
     "Writes an ONNX model: into a file, or as bytes."},
    {NULL, NULL, 0, NULL},
};

int py_add_onnx(PyObject *m) {
  PyObject *program = PyObject_GetAttrString(m, "Program");
  if (!program) return -1;
  PyTypeObject *type = (PyTypeObject *)program;
  int bad = 0;
  for (PyMethodDef *d = methods; !bad && d->ml_name; d++) {
    PyObject *method = PyDescr_NewMethod(type, d);
    bad = !method || PyDict_SetItemString(type->tp_dict, d->ml_name, method) != 0;
    Py_XDECREF(method);
  }
  PyType_Modified(type);
  Py_DECREF(program);
  return bad ? -1 : 0;
}
