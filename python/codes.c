// SPDX-License-Identifier: Apache-2.0
// Codes of errors: an attribute and a note of exceptions, and the explanations by code.
#include "ingot/explain.h"
#include "py.h"

// Adds to the notes by hand: exceptions have add_note since Python 3.11.
static bool add_note(PyObject *error, PyObject *text) {
  PyObject *notes = PyObject_GetAttrString(error, "__notes__");
  if (!notes) {
    PyErr_Clear();
    notes = PyList_New(0);
    if (!notes || PyObject_SetAttrString(error, "__notes__", notes) != 0) Py_CLEAR(notes);
  }
  bool ok = notes && PyList_Check(notes) && PyList_Append(notes, text) == 0;
  Py_XDECREF(notes);
  return ok;
}

void py_code_attach(ig_ctx *c) {
  const ig_explanation *e = ig_ctx_explanation(c);
  if (!e || !PyErr_Occurred()) return;
  PyObject *type = NULL;
  PyObject *error = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject *code = PyUnicode_FromString(e->code);
  PyObject *note = PyUnicode_FromFormat("ingot.explain(\"%s\") tells more", e->code);
  bool ok = error && code && note && PyObject_SetAttrString(error, "ingot_code", code) == 0 &&
            add_note(error, note);
  if (!ok) PyErr_Clear();  // the error itself matters more
  Py_XDECREF(code);
  Py_XDECREF(note);
  PyErr_Restore(type, error, traceback);
}

PyObject *py_raise_as(ig_ctx *c, PyObject *type) {
  PyErr_SetString(type, ig_ctx_error(c));
  py_code_attach(c);
  ig_ctx_clear(c);
  return NULL;
}

// _explain(code) -> (code, title, cause, example, message, remedy, the whole as text) or None
static PyObject *explain(PyObject *module, PyObject *args) {
  (void)module;
  const char *code = NULL;
  Py_ssize_t width = 0;
  if (!PyArg_ParseTuple(args, "sn:_explain", &code, &width)) return NULL;
  const ig_explanation *e = ig_explain(code);
  if (!e) Py_RETURN_NONE;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  const char *text = ig_explanation_text(c, e, width > 0 ? (size_t)width : 1);
  PyObject *out = text ? Py_BuildValue("(sssssss)", e->code, e->title, e->cause, e->example,
                                       e->message, e->remedy, text)
                       : py_raise(c);
  ig_scope_close(c, s);
  return out;
}

static PyObject *codes(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const ig_explanation *const *list = NULL;
  size_t n = ig_explanations(&list);
  PyObject *out = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; out && i < n; i++) {
    PyObject *code = PyUnicode_FromString(list[i]->code);
    if (!code) Py_CLEAR(out);
    if (code) PyTuple_SET_ITEM(out, (Py_ssize_t)i, code);
  }
  return out;
}

PyMethodDef py_code_functions[] = {
    {"_explain", explain, METH_VARARGS, NULL},
    {"_explanation_codes", codes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
