// SPDX-License-Identifier: Apache-2.0
// Programs as Python objects: a Program owns one reference to its program.
#include "ingot/graph.h"
#include "ingot/file.h"

#include <string.h>

#include "fx.h"
#include "ingot/pass.h"
#include "ingot/program.h"
#include "ir/program.h"
#include "op/record.h"
#include "py.h"

typedef struct py_program {
  PyObject_HEAD ig_program *p;
} py_program;

static PyTypeObject program_type;

PyObject *py_program_wrap(ig_ctx *c, ig_status st, ig_program *p) {
  if (st != IG_OK) return py_raise(c);
  py_program *o = PyObject_New(py_program, &program_type);
  if (o) {
    o->p = p;
  } else {
    ig_program_free(p);
  }
  return (PyObject *)o;
}
ig_program *py_program_of(PyObject *o) {
  return ((py_program *)o)->p;
}
bool py_is_program(PyObject *o) {
  if (PyObject_TypeCheck(o, &program_type)) return true;
  PyErr_Format(PyExc_TypeError, "expected a Program, found %s", Py_TYPE(o)->tp_name);
  return false;
}
static ig_program *program_of(PyObject *o) {
  return py_program_of(o);
}
static void program_dealloc(PyObject *o) {
  ig_program_free(program_of(o));
  PyObject_Free(o);
}

static PyObject *own_text(ig_ctx *c, char *text) {
  if (!text) return py_raise(c);
  PyObject *out = PyUnicode_FromString(text);
  ig_text_free(c, text);
  return out;
}

// ---- values ----

bool py_plain_value(PyObject *o, ig_value *v) {
  if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
    return py_settled(o);
  }
  *v = ig_none();
  if (o == Py_None) return true;
  if (PyUnicode_Check(o)) {
    const char *text = PyUnicode_AsUTF8(o);
    *v = ig_of_str(text ? text : "");
    return text != NULL;
  }
  ig_match taken = py_to_number(o, v);
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_TypeError, "a graph takes no %s", Py_TYPE(o)->tp_name);
  }
  return taken == IG_MATCH_TAKEN;
}

bool py_values_of(ig_ctx *c, PyObject *tuple, ig_value **out, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(tuple);
  *out = ig_scope_array(c, *n + 1, sizeof **out);
  if (!py_ok(c)) return false;
  for (size_t i = 0; i < *n; i++) {
    if (!py_plain_value(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), &(*out)[i])) return false;
  }
  return true;
}

// ---- programs ----

static PyObject *program_code(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  return own_text(c, ig_program_code(c, program_of(o)));
}
static PyObject *program_module_code(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  return own_text(c, ig_program_module_code(c, program_of(o)));
}
static PyObject *program_graph_text(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  return own_text(c, ig_graph_text(c, ig_program_graph(program_of(o))));
}
static PyObject *program_str(PyObject *o) {
  ig_ctx *c = py_ctx();
  return own_text(c, ig_program_text(c, program_of(o)));
}
static PyObject *program_specs(PyObject *o, void *unused) {
  (void)unused;
  return Py_BuildValue("(ss)", ig_program_in_spec(program_of(o)),
                       ig_program_out_spec(program_of(o)));
}
static PyObject *program_set_specs(PyObject *o, PyObject *args) {
  const char *in = NULL;
  const char *out = NULL;
  ig_ctx *c = py_ctx();
  if (!PyArg_ParseTuple(args, "ss:set_specs", &in, &out)) return NULL;
  ig_program_set_specs(c, program_of(o), in, out);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *weights(const ig_weight *w, size_t n) {
  ig_ctx *c = py_ctx();
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < n; i++) {
    PyObject *t = py_from_tensor(c, w[i].tensor);
    if (!t || PyDict_SetItemString(dict, w[i].name, t) != 0) Py_CLEAR(dict);
    Py_XDECREF(t);
  }
  return dict;
}
static PyObject *program_state(PyObject *o, void *unused) {
  (void)unused;
  const ig_weight *w = NULL;
  size_t n = ig_program_state(program_of(o), &w);
  return weights(w, n);
}
static PyObject *program_constants(PyObject *o, void *unused) {
  (void)unused;
  const ig_weight *w = NULL;
  size_t n = ig_program_constants(program_of(o), &w);
  return weights(w, n);
}

// The value of a spec: None for a node.
static PyObject *spec_value(const ig_value *v) {
  const ig_value *val = v->kind == IG_KIND_NODE ? ig_node_val(v->node) : v;
  return py_from_value(py_ctx(), val);
}

// (kind, name, target, persistent, value) per input and (kind, name, target, value) per output
static PyObject *program_inputs(PyObject *o, void *unused) {
  (void)unused;
  static const char *const kinds[] = {"USER_INPUT",      "PARAMETER",  "BUFFER",
                                      "CONSTANT_TENSOR", "CUSTOM_OBJ", "TOKEN"};
  const ig_input_spec *at = NULL;
  size_t n = ig_program_inputs(program_of(o), &at);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = Py_BuildValue("(sszON)", kinds[at[i].kind], at[i].name, at[i].target,
                                   at[i].persistent ? Py_True : Py_False, spec_value(&at[i].value));
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}
static PyObject *program_outputs(PyObject *o, void *unused) {
  (void)unused;
  static const char *const kinds[] = {"USER_OUTPUT",
                                      "LOSS_OUTPUT",
                                      "BUFFER_MUTATION",
                                      "USER_INPUT_MUTATION",
                                      "GRADIENT_TO_PARAMETER",
                                      "GRADIENT_TO_USER_INPUT",
                                      "TOKEN",
                                      "PARAMETER_MUTATION"};
  const ig_output_spec *at = NULL;
  size_t n = ig_program_outputs(program_of(o), &at);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = Py_BuildValue("(szzN)", kinds[at[i].kind], at[i].name, at[i].target,
                                   spec_value(&at[i].value));
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject *program_call(PyObject *o, PyObject *args, PyObject *kwargs) {
  ig_ctx *c = py_ctx();
  ig_program *p = program_of(o);
  ig_value *values = NULL;
  size_t n = 0;
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "a program takes its inputs by position");
    return NULL;
  }
  ig_scope s = ig_scope_open(c);
  PyObject *list = NULL;
  size_t nouts = ig_program_user_outputs(p);
  ig_value *outs = ig_scope_array(c, nouts + 1, sizeof *outs);
  if (!outs) {
    (void)py_raise(c);
  } else if (py_values_of(c, args, &values, &n)) {
    if (ig_program_run(c, p, values, n, outs) != IG_OK) {
      (void)py_raise(c);
    } else {
      ig_value all = ig_of_list(outs, nouts);
      list = py_from_value(c, &all);
    }
  }
  ig_scope_close(c, s);
  return list;
}

static PyObject *save_by(PyObject *o, PyObject *path,
                         ig_status (*fn)(ig_ctx *, const ig_program *, const char *)) {
  ig_ctx *c = py_ctx();
  const char *text = PyUnicode_AsUTF8(path);
  if (!text) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_status st = fn(c, program_of(o), text);
  ig_scope_close(c, s);
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}
static PyObject *program_save_onnx(PyObject *o, PyObject *path) {
  return save_by(o, path, ig_program_save_onnx);
}

static PyObject *program_arg_names(PyObject *o, void *unused) {
  (void)unused;
  const char *const *names = NULL;
  size_t n = ig_program_arg_names(program_of(o), &names);
  if (!names) Py_RETURN_NONE;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *name = PyUnicode_FromString(names[i]);
    if (!name) Py_CLEAR(list);
    if (name) PyList_SET_ITEM(list, (Py_ssize_t)i, name);
  }
  return list;
}
static PyObject *set_names(PyObject *o, PyObject *list,
                           void (*set)(ig_ctx *c, ig_program *p, const char *const *names,
                                       size_t n)) {
  ig_ctx *c = py_ctx();
  PyObject *names = PySequence_Tuple(list);
  if (!names) return NULL;
  size_t n = (size_t)PyTuple_GET_SIZE(names);
  ig_scope s = ig_scope_open(c);
  const char **at = ig_scope_array(c, n + 1, sizeof *at);
  bool ok = at != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    at[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, (Py_ssize_t)i));
    ok = at[i] != NULL;
  }
  if (ok) set(c, program_of(o), at, n);
  ig_scope_close(c, s);
  Py_DECREF(names);
  return !PyErr_Occurred() && py_ok(c) ? Py_NewRef(Py_None) : NULL;
}
static PyObject *program_set_arg_names(PyObject *o, PyObject *list) {
  return set_names(o, list, ig_program_set_arg_names);
}
static PyObject *program_set_modules(PyObject *o, PyObject *list) {
  return set_names(o, list, ig_program_set_modules);
}

static PyObject *program_ranges(PyObject *o, void *unused) {
  (void)unused;
  return py_program_ranges(program_of(o));
}
// check_inputs(flat tuple, paths or None)
static PyObject *program_check(PyObject *o, PyObject *args) {
  return py_program_check(program_of(o), args, py_plain_value);
}

static PyObject *program_graph(PyObject *o, void *unused) {
  (void)unused;
  return py_from_graph((ig_graph *)ig_program_graph(program_of(o)));
}

static PyObject *program_unlift(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_graph *g = NULL;
  if (ig_program_unlift(c, program_of(o), &g) != IG_OK) return py_raise(c);
  PyObject *out = py_from_graph(g);
  ig_graph_free(g);
  return out;
}

static PyObject *program_modules(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  size_t n = 0;
  const char *const *paths = ig_program_modules(c, program_of(o), &n);
  PyObject *list = paths ? PyList_New((Py_ssize_t)n) : py_raise(c);
  for (size_t i = 0; list && paths && i < n; i++) {
    PyObject *path = PyUnicode_FromString(paths[i]);
    if (!path) Py_CLEAR(list);
    if (path) PyList_SET_ITEM(list, (Py_ssize_t)i, path);
  }
  ig_scope_close(c, s);
  return list;
}

static PyGetSetDef program_getset[] = {
    {"modules", program_modules, NULL, "Paths of the modules that it came from.", NULL},
    {"graph", program_graph, NULL, "The program's own graph.", NULL},
    {"ranges", program_ranges, NULL, "(expression, lower, upper) of symbolic sizes.", NULL},
    {"code", program_code, NULL, NULL, NULL},
    {"module_code", program_module_code, NULL, NULL, NULL},
    {"graph_text", program_graph_text, NULL, NULL, NULL},
    {"specs", program_specs, NULL, "Tree specifications of arguments and results.", NULL},
    {"state_dict", program_state, NULL, NULL, NULL},
    {"constants", program_constants, NULL, NULL, NULL},
    {"arg_names", program_arg_names, NULL, NULL, NULL},
    {"input_specs", program_inputs, NULL, NULL, NULL},
    {"output_specs", program_outputs, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
// Copies of modules share the program that checks their inputs.
static PyObject *program_deepcopy(PyObject *o, PyObject *memo) {
  (void)memo;
  return Py_NewRef(o);
}

static PyMethodDef program_methods[] = {
    {"__deepcopy__", program_deepcopy, METH_O, "The program itself."},
    {"set_specs", program_set_specs, METH_VARARGS, NULL},
    {"unlift", program_unlift, METH_NOARGS, "The graph of the program as a module runs it."},
    {"check_inputs", program_check, METH_VARARGS, NULL},
    {"set_arg_names", program_set_arg_names, METH_O, NULL},
    {"set_modules", program_set_modules, METH_O, NULL},
    {"save_onnx", program_save_onnx, METH_O, "Writes an ONNX model."},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject program_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Program",
    .tp_basicsize = sizeof(py_program),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = program_dealloc,
    .tp_str = program_str,
    .tp_call = program_call,
    .tp_getset = program_getset,
    .tp_methods = program_methods,
};

int py_add_graph(PyObject *m) {
  if (PyType_Ready(&program_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "Program", (PyObject *)&program_type);
}
