// SPDX-License-Identifier: Apache-2.0
// Capture and programs from Python: the thin layer that ingot.export is built on. A capture belongs
// to the context of the thread; a Program object owns one reference to its program.
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

// ---- capture ----

// capture_begin(strict=False, grad_modes=False, env=None, late_names=False): env is the environment
// of fake inputs or weights; late_names: placeholders are named by Program.name_inputs().
static PyObject *capture_begin(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *keys[] = {"strict",    "grad_modes",    "env",      "late_names",
                         "inference", "implied_casts", "training", NULL};
  int strict = 0;
  int training = 0;
  int modes = 0;
  int inference = 0;
  int implied = 0;
  int late = 0;
  PyObject *env = NULL;
  ig_sym *sym = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ppOpppp:capture_begin", keys, &strict, &modes,
                                   &env, &late, &inference, &implied, &training)) {
    return NULL;
  }
  if (!py_to_env(env, &sym)) return NULL;
  ig_ctx *c = py_ctx();
  if (ig_capture_begin_in(c, sym ? sym : c->ambient) != IG_OK) return py_raise(c);
  c->capture->strict = strict != 0;
  c->capture->inference = inference != 0;
  c->capture->implied_casts = implied != 0;
  c->capture->unnamed = late != 0;
  if (training) c->capture->release = IG_RELEASE_2_5;
  if (py_trace_begin(c, strict, modes)) Py_RETURN_NONE;
  ig_capture_abort(c);
  return NULL;
}
static PyObject *capture_abort(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_capture_abort(py_ctx());
  py_trace_end(py_ctx());
  Py_RETURN_NONE;
}
static PyObject *capture_is_open(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_capture_is_open(py_ctx()));
}

// A value that is no list: tensors, numbers, strings, None.
static bool plain_value(PyObject *o, ig_value *v) {
  if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
    return true;
  }
  *v = ig_none();
  if (o == Py_None) return true;
  if (PyUnicode_Check(o)) {
    const char *text = PyUnicode_AsUTF8(o);
    *v = ig_of_str(text ? text : "");
    return text != NULL;
  }
  py_take taken = py_to_number(o, v);
  if (taken == PY_OTHER) {
    PyErr_Format(PyExc_TypeError, "a graph takes no %s", Py_TYPE(o)->tp_name);
  }
  return taken == PY_TAKEN;
}

// capture_input(name, example, source=None, dims=None): the fake tensor that stands for it; other
// values are fixed. See dims.c for the dims.
static PyObject *capture_input(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *example = NULL;
  const char *source = NULL;
  PyObject *dims = Py_None;
  if (!PyArg_ParseTuple(args, "sO|zO:capture_input", &name, &example, &source, &dims)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (py_is_tensor(example)) {
    ig_tensor *t = py_capture_input_dims(c, name, source, py_tensor_of(example), dims);
    if (t || py_ok(c)) out = PyErr_Occurred() ? NULL : py_from_tensor(c, t);
  } else {
    ig_value v;
    if (plain_value(example, &v)) {
      ig_capture_input_value(c, name, &v);
      if (py_ok(c)) out = Py_NewRef(example);
    }
  }
  ig_scope_close(c, s);
  return out;
}

// capture_state(kind, name, tensor, how="state"): kinds "parameter", "buffer", "temporary",
// "constant"; how: "state", "alias", "name" or "again", see ig_capture_state and its kin. The
// answer is the fake tensor, of the same class as the tensor; None for a name, and again inside of
// the body of a higher-order operator.
static PyObject *capture_state(PyObject *module, PyObject *args) {
  (void)module;
  static const char *const kinds[] = {"parameter", "buffer", "temporary", "constant"};
  const char *kind = NULL;
  const char *name = NULL;
  const char *how = "state";
  PyObject *value = NULL;
  if (!PyArg_ParseTuple(args, "ssO!|s:capture_state", &kind, &name, py_tensor_type, &value, &how)) {
    return NULL;
  }
  size_t k = 0;
  while (k < PY_COUNT(kinds) && strcmp(kinds[k], kind) != 0) k++;
  if (k == PY_COUNT(kinds)) {
    PyErr_Format(PyExc_ValueError, "unknown kind of state '%s'", kind);
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = py_tensor_of(value);
  ig_tensor *fake = NULL;
  if (strcmp(how, "name") == 0) {
    ig_capture_name(c, (ig_state_kind)k, name, t);
  } else if (strcmp(how, "alias") == 0) {
    fake = ig_capture_alias(c, (ig_state_kind)k, name, t);
  } else if (strcmp(how, "again") == 0) {
    bool inner = c->capture && c->capture->outer;  // the body of a higher-order operator
    if (!inner) fake = ig_capture_again(c, (ig_state_kind)k, name, t);
  } else {
    fake = ig_capture_state(c, (ig_state_kind)k, name, t);
  }
  PyObject *out = NULL;
  if (py_ok(c))
    out = fake && !fake->host ? py_wrap_as(fake, Py_TYPE(value)) : py_from_tensor(c, fake);
  ig_scope_close(c, s);
  return out;
}

// capture_state_order(names): how state_dict goes, see ig_capture_order_state
static PyObject *capture_state_order(PyObject *module, PyObject *names) {
  (void)module;
  if (!PyList_Check(names)) return PyErr_Format(PyExc_TypeError, "names: expected a list");
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  size_t n = (size_t)PyList_GET_SIZE(names);
  const char **all = ig_scope_array(c, n, sizeof *all);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    ok = (all[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(names, (Py_ssize_t)i))) != NULL;
  }
  if (ok) ig_capture_order_state(c, all, n);
  ig_scope_close(c, s);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

// capture_arrange_state(tensors, groups or None): see ig_capture_arrange_state
static PyObject *capture_arrange_state(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *tensors = NULL;
  PyObject *given = NULL;
  if (!PyArg_ParseTuple(args, "O!O:capture_arrange_state", &PyList_Type, &tensors, &given))
    return NULL;
  size_t n = (size_t)PyList_GET_SIZE(tensors);
  bool grouped = PyList_Check(given) && PyList_GET_SIZE(given) == (Py_ssize_t)n;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor **state = ig_scope_array(c, n, sizeof *state);
  size_t *groups = ig_scope_array(c, n, sizeof *groups);
  bool ok = state && groups;
  for (size_t i = 0; ok && i < n; i++) {
    PyObject *t = PyList_GET_ITEM(tensors, (Py_ssize_t)i);
    state[i] = PyObject_TypeCheck(t, py_tensor_type) ? py_tensor_of(t) : NULL;
    groups[i] = grouped ? PyLong_AsSize_t(PyList_GET_ITEM(given, (Py_ssize_t)i)) : 0;
    ok = !PyErr_Occurred();
  }
  if (ok) ig_capture_arrange_state(c, state, grouped ? groups : NULL, n);
  ig_scope_close(c, s);
  if (PyErr_Occurred()) return NULL;
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

static bool values_of(ig_ctx *c, PyObject *tuple, ig_value **out, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(tuple);
  *out = ig_scope_array(c, *n + 1, sizeof **out);
  if (!py_ok(c)) return false;
  for (size_t i = 0; i < *n; i++) {
    if (!plain_value(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), &(*out)[i])) return false;
  }
  return true;
}

static bool writes_of(ig_ctx *c, PyObject *pairs, ig_capture_write **out, size_t *n) {
  *n = pairs ? (size_t)PyList_GET_SIZE(pairs) : 0;
  *out = ig_scope_array(c, *n + 1, sizeof **out);
  if (!py_ok(c)) return false;
  for (size_t i = 0; i < *n; i++) {
    PyObject *state = NULL;
    PyObject *value = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, (Py_ssize_t)i), "O!O!", py_tensor_type, &state,
                          py_tensor_type, &value)) {
      return false;
    }
    (*out)[i] = (ig_capture_write){py_tensor_of(state), py_tensor_of(value)};
  }
  return true;
}

// capture_end(outputs, [(state, new value)]) -> Program
static PyObject *capture_end(PyObject *module, PyObject *args) {
  (void)module;
  ig_ctx *c = py_ctx();
  PyObject *outputs = NULL;
  PyObject *pairs = NULL;
  if (!PyArg_ParseTuple(args, "O|O!:capture_end", &outputs, &PyList_Type, &pairs)) return NULL;
  PyObject *tuple = PySequence_Tuple(outputs);
  if (!tuple) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_value *values = NULL;
  ig_capture_write *writes = NULL;
  size_t n = 0;
  size_t nwrites = 0;
  PyObject *out = NULL;
  if (values_of(c, tuple, &values, &n) && writes_of(c, pairs, &writes, &nwrites)) {
    ig_program *p = NULL;
    py_trace_merge(c);
    ig_status st = ig_capture_end_writes(c, writes, nwrites, values, n, &p);
    out = py_program_wrap(c, st, p);
  } else {
    ig_capture_abort(c);
  }
  ig_scope_close(c, s);
  py_trace_end(c);
  Py_DECREF(tuple);
  return out;
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

// The value of a spec: None for a node, except that a tensor is told by the tensor itself.
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
  } else if (values_of(c, args, &values, &n)) {
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
static PyObject *program_set_arg_names(PyObject *o, PyObject *list) {
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
  if (ok) ig_program_set_arg_names(c, program_of(o), at, n);
  ig_scope_close(c, s);
  Py_DECREF(names);
  return !PyErr_Occurred() && py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *program_ranges(PyObject *o, void *unused) {
  (void)unused;
  return py_program_ranges(program_of(o));
}
// check_inputs(flat tuple, paths or None)
static PyObject *program_check(PyObject *o, PyObject *args) {
  return py_program_check(program_of(o), args, plain_value);
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

// name_inputs({path of a weight: path that it is named after})
static PyObject *program_name_inputs(PyObject *o, PyObject *shown) {
  ig_ctx *c = py_ctx();
  ig_map map = ig_map_make(c->alloc);
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  bool ok = PyDict_Check(shown);
  if (!ok) PyErr_SetString(PyExc_TypeError, "name_inputs: expected a dict of paths");
  while (ok && PyDict_Next(shown, &at, &key, &value)) {
    const char *path = PyUnicode_AsUTF8(key);
    const char *name = path ? PyUnicode_AsUTF8(value) : NULL;
    ig_map_value *v = name ? ig_map_put(&map, path) : NULL;
    ok = v != NULL;
    if (ok) v->text = name;
  }
  if (ok && ig_program_name_inputs(c, program_of(o), &map) != IG_OK) ok = py_raise(c) != NULL;
  ig_map_free(&map);
  if (!ok && !PyErr_Occurred()) return PyErr_NoMemory();
  return ok ? Py_NewRef(o) : NULL;
}

// name_sources(): a parameter or buffer comes from the function that reads it first.
static PyObject *program_name_sources(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_graph *g = ig_program_graph(program_of(o));
  for (ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next) {
    bool state = n->role == IG_INPUT_PARAMETER || n->role == IG_INPUT_BUFFER;
    if (!state || !n->first_use) continue;
    n->meta.text[IG_META_SOURCE_FN] = n->first_use->user->meta.text[IG_META_SOURCE_FN];
  }
  Py_RETURN_NONE;
}

static PyGetSetDef program_getset[] = {
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
static PyMethodDef program_methods[] = {
    {"set_specs", program_set_specs, METH_VARARGS, NULL},
    {"name_inputs", program_name_inputs, METH_O,
     "Names the placeholders of a capture with late names; the program itself."},
    {"name_sources", program_name_sources, METH_NOARGS, NULL},
    {"unlift", program_unlift, METH_NOARGS, "The graph of the program as a module runs it."},
    {"check_inputs", program_check, METH_VARARGS, NULL},
    {"set_arg_names", program_set_arg_names, METH_O, NULL},
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

PyMethodDef py_graph_functions[] = {
    {"capture_begin", (PyCFunction)(void (*)(void))capture_begin, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"capture_abort", capture_abort, METH_NOARGS, NULL},
    {"capture_is_open", capture_is_open, METH_NOARGS, NULL},
    {"capture_input", capture_input, METH_VARARGS, NULL},
    {"capture_state_order", capture_state_order, METH_O, NULL},
    {"capture_arrange_state", capture_arrange_state, METH_VARARGS, NULL},
    {"capture_state", capture_state, METH_VARARGS, NULL},
    {"capture_end", capture_end, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_graph(PyObject *m) {
  if (PyType_Ready(&program_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "Program", (PyObject *)&program_type);
}
