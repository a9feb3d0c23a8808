// SPDX-License-Identifier: Apache-2.0
// Graphs given as text, run with Python values; what scripts print and warn about.
#include "script/interp.h"
#include "script_value.h"

// sys.stdout.write, which has no limit on the length.
static void print_out(void *user, const char *text, size_t n) {
  (void)user;
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject *out = PySys_GetObject("stdout");
  PyObject *shown = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
  if (out && shown && PyFile_WriteObject(shown, out, Py_PRINT_RAW) != 0) PyErr_Clear();
  Py_XDECREF(shown);
  PyErr_Restore(type, value, traceback);
}

// At the line of the script.
static void warn_out(ig_ctx *c, void *user, const char *text, const ig_snode *node) {
  (void)user;
  ig_srange where = node ? node->range : (ig_srange){0};
  const char *file = where.source ? where.source->file : NULL;
  int failed = file ? PyErr_WarnExplicit(PyExc_UserWarning, text, file, (int)ig_srange_line(where),
                                         NULL, NULL)
                    : PyErr_WarnEx(PyExc_UserWarning, text, 1);
  if (failed) py_host_failed(c);
}

ig_sout py_script_out(void) {
  return (ig_sout){.print = print_out, .warn = warn_out};
}

// Values of the graph's inputs in the innermost scope; NULL: exception set.
static ig_value *values_of(ig_ctx *c, ig_sunit *u, const ig_sgraph *g, PyObject *args) {
  size_t n = (size_t)PyTuple_GET_SIZE(args);
  if (n != g->body->n_in) {
    PyErr_Format(PyExc_TypeError, "the graph has %zu inputs, found %zu values", g->body->n_in, n);
    return NULL;
  }
  ig_value *at = ig_scope_array(c, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) at[i] = ig_none();
  for (size_t i = 0; at && i < n; i++) {
    const ig_stype *t = g->body->in[i]->type;
    ig_str why = ig_str_make(c->alloc);
    if (!py_to_script(c, u, PyTuple_GET_ITEM(args, (Py_ssize_t)i), t, &at[i], &why)) {
      if (!PyErr_Occurred() && c->status == IG_OK) {
        PyErr_Format(PyExc_RuntimeError, "input %zu of type %s: %s", i, t->text,
                     why.at ? why.at : "");
      }
      for (size_t k = 0; k < i; k++) ig_svalue_release(at[k]);
      at = NULL;
    }
    ig_str_free(&why);
  }
  return at;
}

static PyObject *run(ig_ctx *c, ig_sunit *u, const ig_sgraph *g, PyObject *args) {
  size_t n_out = g->body->n_out;
  ig_value *in = values_of(c, u, g, args);
  ig_value *out = in ? ig_scope_array(c, n_out, sizeof *out) : NULL;
  PyObject *made = NULL;
  if (out && ig_sgraph_run(c, u, g, in, g->body->n_in, out) == IG_OK) {
    made = PyTuple_New((Py_ssize_t)n_out);
    for (size_t i = 0; made && i < n_out; i++) {
      PyObject *o = py_from_script(c, out[i]);
      if (o)
        PyTuple_SET_ITEM(made, (Py_ssize_t)i, o);
      else
        Py_CLEAR(made);
    }
    for (size_t i = 0; i < n_out; i++) ig_svalue_release(out[i]);
  }
  for (size_t i = 0; in && i < g->body->n_in; i++) ig_svalue_release(in[i]);
  if (!made && !PyErr_Occurred()) return py_raise(c);
  if (!made) ig_ctx_clear(c);
  return made;
}

// _script_run_graph(text, args): the results as a tuple.
static PyObject *run_graph(PyObject *module, PyObject *args) {
  (void)module;
  const char *text = NULL;
  PyObject *values = NULL;
  if (!PyArg_ParseTuple(args, "sO!:_script_run_graph", &text, &PyTuple_Type, &values)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sunit *u = ig_sunit_create(c);
  if (!u) return py_raise(c);
  u->out = py_script_out();
  ig_sgraph *g = ig_sgraph_parse(&u->types, NULL, text);
  ig_scope s = ig_scope_open(c);
  PyObject *made = g ? run(c, u, g, values) : py_raise(c);
  ig_scope_close(c, s);
  if (g) ig_sgraph_free(g);
  ig_sunit_release(u);
  return made;
}

static PyMethodDef functions[] = {
    {"_script_run_graph", run_graph, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_script_run(PyObject *m) {
  return PyModule_AddFunctions(m, functions);
}
