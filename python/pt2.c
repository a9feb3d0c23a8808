// SPDX-License-Identifier: Apache-2.0
// .pt2 archives from Python: programs to and from paths, bytes and file objects; their text alone
// with the weights beside it; signatures that Python has edited.
#include "pt2/archive.h"

#include <string.h>

#include "base/file.h"
#include "fx.h"
#include "ingot/file.h"
#include "ir/program.h"
#include "pt2/schema.h"
#include "py.h"

// ---- loading

// pt2_load(path or bytes, objects=False) -> Program
static PyObject *pt2_load(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *from = NULL;
  int objects = 0;
  if (!PyArg_ParseTuple(args, "O|p:pt2_load", &from, &objects)) return NULL;
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_status st = IG_OK;
  ig_load_options options = {.size = sizeof options, .objects = objects != 0};
  ig_scope s = ig_scope_open(c);
  if (PyUnicode_Check(from)) {
    const char *path = PyUnicode_AsUTF8(from);
    if (path) st = ig_program_load_with(c, path, &options, &p);
  } else {
    Py_buffer view;
    if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE) == 0) {
      ig_bytes bytes = {view.buf, (size_t)view.len};
      st = ig_program_load_from(c, "archive", bytes, NULL, &options, &p);
      PyBuffer_Release(&view);
    }
  }
  ig_scope_close(c, s);
  return PyErr_Occurred() ? NULL : py_program_wrap(c, st, p);
}

// pt2_extra(program) -> {name: bytes}
static PyObject *pt2_extra(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_extra_file *files = NULL;
  size_t n = ig_program_extra_files(py_program_of(program), &files);
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < n; i++) {
    PyObject *data = PyBytes_FromStringAndSize(files[i].data, (Py_ssize_t)files[i].n);
    if (!data || PyDict_SetItemString(dict, files[i].name, data) != 0) Py_CLEAR(dict);
    Py_XDECREF(data);
  }
  return dict;
}

// pt2_examples(program) -> bytes of a torch.save file; None: none
static PyObject *pt2_examples(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_pt2_origin *o = py_program_of(program)->origin;
  if (!o || !o->examples.n) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize((const char *)o->examples.at, (Py_ssize_t)o->examples.n);
}

static PyObject *pairs(const ig_origin_fact *at, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *pair = Py_BuildValue("(ss)", at[i].name, at[i].value);
    if (!pair) Py_CLEAR(list);
    if (pair) PyList_SET_ITEM(list, (Py_ssize_t)i, pair);
  }
  return list;
}

// pt2_facts(program) -> ([(name, value)], [(part, why it is not loaded)])
static PyObject *pt2_facts(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_origin_fact *facts = NULL;
  const ig_origin_fact *findings = NULL;
  size_t n = ig_program_facts(py_program_of(program), &facts);
  size_t m = ig_program_findings(py_program_of(program), &findings);
  PyObject *a = pairs(facts, n);
  PyObject *b = a ? pairs(findings, m) : NULL;
  if (!b) {
    Py_XDECREF(a);
    return NULL;
  }
  return Py_BuildValue("(NN)", a, b);
}

// pt2_calls(program) -> [(path of a module, its signature as JSON)]
static PyObject *pt2_calls(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_pt2_origin *o = py_program_of(program)->origin;
  return pairs(o ? o->calls.at : NULL, o ? o->calls.n : 0);
}

// pt2_set_calls(program, [(path, signature as JSON)]): signatures that the exporter kept.
static PyObject *pt2_set_calls(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  PyObject *calls = NULL;
  if (!PyArg_ParseTuple(args, "OO!:pt2_set_calls", &program, &PyList_Type, &calls)) return NULL;
  ig_ctx *c = py_ctx();
  if (!py_is_program(program)) return NULL;
  ig_program *p = py_program_of(program);
  if (!p->origin) {
    p->origin = ig_pt2_origin_create(c, NULL);
    p->origin_free = ig_pt2_origin_free;
  }
  for (Py_ssize_t i = 0; p->origin && i < PyList_GET_SIZE(calls); i++) {
    const char *path = NULL;
    const char *text = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(calls, i), "ss:pt2_set_calls", &path, &text)) return NULL;
    if (ig_pt2_origin_call(c, p->origin, path, text) != IG_OK) break;
  }
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

// ---- saving

static bool read_opsets(ig_ctx *c, PyObject *dict, ig_save_options *o) {
  size_t n = (size_t)PyDict_GET_SIZE(dict);
  ig_opset *at = ig_scope_array(c, n + 1, sizeof *at);
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t pos = 0;
  for (size_t i = 0; at && PyDict_Next(dict, &pos, &key, &value); i++) {
    at[i] = (ig_opset){PyUnicode_AsUTF8(key), PyLong_AsLongLong(value)};
    if (!at[i].name || PyErr_Occurred()) return false;
  }
  o->opsets = at;
  o->nopsets = n;
  return at != NULL;
}

static bool read_extra(ig_ctx *c, PyObject *dict, ig_save_options *o) {
  size_t n = (size_t)PyDict_GET_SIZE(dict);
  ig_extra_file *at = ig_scope_array(c, n + 1, sizeof *at);
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t pos = 0;
  for (size_t i = 0; at && PyDict_Next(dict, &pos, &key, &value); i++) {
    char *data = NULL;
    Py_ssize_t length = 0;
    at[i].name = PyUnicode_AsUTF8(key);
    if (!at[i].name || PyBytes_AsStringAndSize(value, &data, &length) != 0) return false;
    at[i].data = data;
    at[i].n = (size_t)length;
  }
  o->extra = at;
  o->nextra = n;
  return at != NULL;
}

static bool read_layout(const char *text, ig_save_options *o) {
  static const char *const names[] = {
      [IG_PT2_NEWEST] = "newest", [IG_PT2_FOR_2_6] = "2.6", [IG_PT2_FOR_2_5] = "2.5"};
  for (size_t i = 0; i < PY_COUNT(names); i++) {
    o->layout = (ig_pt2_layout)i;
    if (strcmp(names[i], text) == 0) return true;
  }
  PyErr_Format(PyExc_ValueError, "layout '%s': expected 'newest', '2.6' or '2.5'", text);
  return false;
}

static bool call_write(void *user, const void *data, size_t n) {
  PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)n);
  PyObject *out = bytes ? PyObject_CallOneArg(user, bytes) : NULL;
  Py_XDECREF(bytes);
  Py_XDECREF(out);
  return out != NULL;
}

// To a path, or in chunks to a function, whose exceptions are propagated.
static PyObject *save_to(ig_ctx *c, const ig_program *p, const ig_save_options *o, PyObject *to) {
  ig_status st = IG_OK;
  if (PyUnicode_Check(to)) {
    const char *path = PyUnicode_AsUTF8(to);
    if (!path) return NULL;
    st = ig_program_save_as(c, p, o, path);
  } else {
    ig_sink sink;
    st = ig_sink_call(c, call_write, to, &sink);
    if (st == IG_OK) st = ig_program_write(c, p, o, &sink);
    if (st == IG_OK) st = ig_sink_close(c, &sink);
    ig_sink_drop(&sink);
  }
  if (!PyErr_Occurred()) return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  if (!py_ok(c)) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return NULL;
}

// pt2_save(program, path or function of bytes, layout, extra files, opsets, examples or None)
static PyObject *pt2_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  PyObject *to = NULL;
  PyObject *extra = NULL;
  PyObject *opsets = NULL;
  const char *layout = NULL;
  const char *packed = NULL;
  Py_ssize_t npacked = 0;
  if (!PyArg_ParseTuple(args, "OOsO!O!z#:pt2_save", &program, &to, &layout, &PyDict_Type, &extra,
                        &PyDict_Type, &opsets, &packed, &npacked)) {
    return NULL;
  }
  if (!py_is_program(program)) return NULL;
  ig_ctx *c = py_ctx();
  ig_save_options o = {.size = sizeof o, .packed = packed, .npacked = (size_t)npacked};
  PyObject *out = NULL;
  ig_scope s = ig_scope_open(c);
  if (read_layout(layout, &o) && read_opsets(c, opsets, &o) && read_extra(c, extra, &o)) {
    out = save_to(c, py_program_of(program), &o, to);
  }
  ig_scope_close(c, s);
  return py_done(c, out);
}

// ---- the text alone

// pt2_text(program, opsets, layout="newest") -> bytes
static PyObject *pt2_text(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  PyObject *opsets = NULL;
  const char *layout = "newest";
  if (!PyArg_ParseTuple(args, "OO!|s:pt2_text", &program, &PyDict_Type, &opsets, &layout)) {
    return NULL;
  }
  if (!py_is_program(program)) return NULL;
  ig_ctx *c = py_ctx();
  ig_save_options o = {.size = sizeof o};
  ig_str text = ig_str_make(c->alloc);
  PyObject *out = NULL;
  ig_scope s = ig_scope_open(c);
  if (read_layout(layout, &o) && read_opsets(c, opsets, &o)) {
    ig_status st = ig_pt2_write_program(c, py_program_of(program), &o, &text);
    out = st == IG_OK ? PyBytes_FromStringAndSize(text.at, (Py_ssize_t)text.n) : py_raise(c);
  }
  ig_scope_close(c, s);
  ig_str_free(&text);
  return py_done(c, out);
}

static bool read_weights(ig_ctx *c, PyObject *dict, ig_pt2_weights *out) {
  size_t n = (size_t)PyDict_GET_SIZE(dict);
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t pos = 0;
  out->at = ig_scope_array(c, n + 1, sizeof *out->at);
  for (out->n = 0; out->at && PyDict_Next(dict, &pos, &key, &value); out->n++) {
    ig_pt2_weight *w = &out->at[out->n];
    *w = (ig_pt2_weight){.name = PyUnicode_AsUTF8(key)};
    if (py_is_tensor(value)) w->tensor = py_tensor_of(value);
    if (!w->name || !py_settled(value)) return false;
  }
  return out->at != NULL;
}

// pt2_parse(text, state, constants, objects) -> Program
static PyObject *pt2_parse(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer text;
  PyObject *state = NULL;
  PyObject *constants = NULL;
  int objects = 0;
  if (!PyArg_ParseTuple(args, "y*O!O!p:pt2_parse", &text, &PyDict_Type, &state, &PyDict_Type,
                        &constants, &objects)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_pt2_weights lists[2] = {{0}};
  ig_arena arena = ig_arena_make(c->alloc);
  ig_program *p = NULL;
  ig_status st = IG_OK;
  ig_scope s = ig_scope_open(c);
  if (read_weights(c, state, &lists[0]) && read_weights(c, constants, &lists[1])) {
    ig_pt2_source source = {.name = "program",
                            .text = {text.buf, (size_t)text.len},
                            .state = &lists[0],
                            .constants = &lists[1],
                            .arena = &arena,
                            .objects = objects != 0,
                            .origin = ig_pt2_origin_create(c, NULL)};
    st = source.origin ? ig_pt2_read_program(c, &source, &p) : ig_ctx_status(c);
    if (p) p->origin = source.origin;
    if (p) p->origin_free = ig_pt2_origin_free;
    if (!p) ig_pt2_origin_free(source.origin);
  }
  ig_scope_close(c, s);
  ig_arena_free(&arena);
  PyBuffer_Release(&text);
  bool read = p || st != IG_OK;
  return read && !PyErr_Occurred() ? py_program_wrap(c, st, p) : py_done(c, NULL);
}

// pt2_texts(program) -> (custom, named tuples), each JSON or None
static PyObject *pt2_texts(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_program *p = py_program_of(program);
  return Py_BuildValue("(zz)", ig_program_custom(p), ig_program_namedtuples(p));
}

// pt2_set_texts(program, custom, named tuples)
static PyObject *pt2_set_texts(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  const char *custom = NULL;
  const char *tuples = NULL;
  if (!PyArg_ParseTuple(args, "Ozz:pt2_set_texts", &program, &custom, &tuples)) return NULL;
  if (!py_is_program(program)) return NULL;
  ig_ctx *c = py_ctx();
  ig_program_set_texts(c, py_program_of(program), custom, tuples);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

// ---- signatures

static int find_kind(const char *const *names, size_t n, const char *text) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(names[i], text) == 0) return (int)i;
  }
  PyErr_Format(PyExc_ValueError, "unknown kind '%s'", text);
  return -1;
}

static bool read_inputs(ig_ctx *c, PyObject *list, ig_signature *out) {
  static const char *const kinds[] = {"USER_INPUT",      "PARAMETER",  "BUFFER",
                                      "CONSTANT_TENSOR", "CUSTOM_OBJ", "TOKEN"};
  size_t n = (size_t)PyList_GET_SIZE(list);
  ig_input_spec *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    const char *kind = NULL;
    const char *cls = NULL;
    int persistent = 0;
    at[i] = (ig_input_spec){.kind = IG_INPUT_USER};
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, (Py_ssize_t)i), "sszpz", &kind, &at[i].name,
                          &at[i].target, &persistent, &cls)) {
      return false;
    }
    int k = find_kind(kinds, PY_COUNT(kinds), kind);
    if (k < 0) return false;
    at[i].kind = (ig_input_kind)k;
    at[i].persistent = persistent != 0;
    at[i].value = cls ? ig_of_str(cls) : ig_none();
  }
  out->inputs = at;
  out->ninputs = n;
  return at != NULL;
}

static bool read_outputs(ig_ctx *c, PyObject *list, ig_signature *out) {
  static const char *const kinds[] = {"USER_OUTPUT",
                                      "LOSS_OUTPUT",
                                      "BUFFER_MUTATION",
                                      "USER_INPUT_MUTATION",
                                      "GRADIENT_TO_PARAMETER",
                                      "GRADIENT_TO_USER_INPUT",
                                      "TOKEN",
                                      "PARAMETER_MUTATION"};
  size_t n = (size_t)PyList_GET_SIZE(list);
  ig_output_kind *at = ig_scope_array(c, n + 1, sizeof *at);
  const char **targets = ig_scope_array(c, n + 1, sizeof *targets);
  for (size_t i = 0; at && targets && i < n; i++) {
    const char *kind = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, (Py_ssize_t)i), "sz", &kind, &targets[i])) {
      return false;
    }
    int k = find_kind(kinds, PY_COUNT(kinds), kind);
    if (k < 0) return false;
    at[i] = (ig_output_kind)k;
  }
  out->kinds = at;
  out->targets = targets;
  out->noutputs = n;
  return at && targets;
}

static bool read_state(ig_ctx *c, PyObject *list, ig_signature *out) {
  static const char *const kinds[] = {"parameter", "buffer", "temporary", "constant"};
  size_t n = (size_t)PyList_GET_SIZE(list);
  ig_state *at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    const char *kind = NULL;
    PyObject *tensor = NULL;
    at[i] = (ig_state){.kind = IG_STATE_PARAMETER};
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, (Py_ssize_t)i), "ssO!", &kind, &at[i].name,
                          py_tensor_type, &tensor)) {
      return false;
    }
    int k = find_kind(kinds, PY_COUNT(kinds), kind);
    if (k < 0) return false;
    at[i].kind = (ig_state_kind)k;
    if (!py_settled(tensor)) return false;
    at[i].tensor = py_tensor_of(tensor);
  }
  out->state = at;
  out->nstate = n;
  return at != NULL;
}

// pt2_resign(program or None, [(kind, name, target, persistent, class)], [(kind, target)],
//            [(kind, name, tensor)], graph or None) -> Program
static PyObject *pt2_resign(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *program = NULL;
  PyObject *inputs = NULL;
  PyObject *outputs = NULL;
  PyObject *state = NULL;
  PyObject *graph = Py_None;
  if (!PyArg_ParseTuple(args, "OO!O!O!|O:pt2_resign", &program, &PyList_Type, &inputs, &PyList_Type,
                        &outputs, &PyList_Type, &state, &graph)) {
    return NULL;
  }
  if ((program != Py_None || graph == Py_None) && !py_is_program(program)) return NULL;
  ig_program *from = program == Py_None ? NULL : py_program_of(program);
  ig_graph *g = graph == Py_None ? (ig_graph *)ig_program_graph(from) : py_graph_of(graph);
  if (!g) return NULL;
  ig_ctx *c = py_ctx();
  ig_signature sig = {0};
  ig_program *p = NULL;
  ig_status st = IG_OK;
  ig_scope s = ig_scope_open(c);
  bool ok =
      read_inputs(c, inputs, &sig) && read_outputs(c, outputs, &sig) && read_state(c, state, &sig);
  if (ok) st = ig_program_resign(c, from, g, &sig, &p);
  ig_scope_close(c, s);
  return ok ? py_program_wrap(c, st, p) : py_done(c, NULL);
}

PyMethodDef py_pt2_functions[] = {
    {"pt2_load", pt2_load, METH_VARARGS, "Reads a .pt2 archive: a path or bytes."},
    {"pt2_save", pt2_save, METH_VARARGS, "Writes a .pt2 archive: to a path, or piece by piece."},
    {"pt2_extra", pt2_extra, METH_O, NULL},
    {"pt2_examples", pt2_examples, METH_O, NULL},
    {"pt2_calls", pt2_calls, METH_O, NULL},
    {"pt2_set_calls", pt2_set_calls, METH_VARARGS, NULL},
    {"pt2_facts", pt2_facts, METH_O, NULL},
    {"pt2_text", pt2_text, METH_VARARGS, NULL},
    {"pt2_parse", pt2_parse, METH_VARARGS, NULL},
    {"pt2_texts", pt2_texts, METH_O, NULL},
    {"pt2_set_texts", pt2_set_texts, METH_VARARGS, NULL},
    {"pt2_resign", pt2_resign, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
