// SPDX-License-Identifier: Apache-2.0
// torch.jit.trace: the tracer as a Python object, and what tensors answer while one is active.
#include "trace_script.h"

#include <stdio.h>
#include <string.h>

#include "base/str_bytes.h"
#include "script.h"
#include "script/trace.h"

// A frame as the last place had it, counted from the outermost.
typedef struct py_splace {
  PyCodeObject *code;  // retained
  int at;              // the instruction
  int line;
} py_splace;

enum { PLACES = 256 };  // frames whose lines are remembered; those further in are looked up

typedef struct py_strace {
  PyObject_HEAD ig_strace *t;
  ig_sunit *unit;  // retained
  PyObject *kept;  // the text of the last file or name
  ig_str stack;    // of the last place
  py_splace places[PLACES];
  int up;  // names are those of this many frames further out
} py_strace;

static PyTypeObject strace_type;

// ---- the host of a trace

static PyFrameObject *innermost(void) {
  return PyThreadState_GetFrame(PyThreadState_Get());
}

// The local variable of the innermost frame that is this tensor's object.
static const char *variable(void *user, const ig_tensor *t) {
  py_strace *p = user;
  PyFrameObject *frame = t->host ? innermost() : NULL;
  for (int i = 0; frame && i < p->up; i++) Py_SETREF(frame, PyFrame_GetBack(frame));
  if (!frame) return "";
  PyObject *locals = PyFrame_GetLocals(frame);
  Py_DECREF(frame);
  PyObject *found = NULL;
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  while (locals && !found && PyDict_Check(locals) && PyDict_Next(locals, &at, &key, &value)) {
    if (value == (PyObject *)t->host && PyUnicode_Check(key)) found = key;
  }
  Py_XINCREF(found);
  Py_XDECREF(locals);
  PyErr_Clear();
  Py_XSETREF(p->kept, found);
  const char *name = found ? PyUnicode_AsUTF8(found) : "";
  return name && strcmp(name, "self") != 0 ? name : "";
}

static int line_at(py_strace *p, size_t depth, PyCodeObject *code, int at) {
  if (depth >= PLACES) return PyCode_Addr2Line(code, at);
  py_splace *known = &p->places[depth];
  if (known->code == code && known->at == at) return known->line;
  Py_INCREF(code);
  Py_XSETREF(known->code, code);
  known->at = at;
  known->line = PyCode_Addr2Line(code, at);
  return known->line;
}

static bool add_utf8(ig_str *s, PyObject *text) {
  Py_ssize_t n = 0;
  const char *at = PyUnicode_AsUTF8AndSize(text, &n);
  if (at) ig_str_bytes(s, at, (size_t)n);
  if (!at) PyErr_Clear();
  return at != NULL;
}

static void add_frame(ig_str *s, PyCodeObject *code, int line) {
  char number[16];
  (void)add_utf8(s, code->co_filename);
  int n = snprintf(number, sizeof number, "(%d): ", line);
  ig_str_bytes(s, number, (size_t)n);
  (void)add_utf8(s, code->co_name);
  ig_str_bytes(s, "\n", 1);
}

static size_t depth_of(PyFrameObject *frame) {
  size_t n = 0;
  PyFrameObject *at = (PyFrameObject *)Py_NewRef((PyObject *)frame);
  for (; at; n++) Py_SETREF(at, PyFrame_GetBack(at));
  return n;
}

// Where the program is: the innermost frame, also of the library, and those around it. Most of
// them are those of the call before.
static bool place(void *user, ig_source *out) {
  py_strace *p = user;
  PyFrameObject *frame = innermost();
  *out = (ig_source){0};
  p->stack.n = 0;
  for (size_t depth = frame ? depth_of(frame) : 0; frame; depth--) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    int line = line_at(p, depth - 1, code, PyFrame_GetLasti(frame));
    if (!out->file) {
      Py_XSETREF(p->kept, Py_NewRef(code->co_filename));
      out->file = PyUnicode_AsUTF8(p->kept);
      out->first_line = (size_t)line;
    }
    add_frame(&p->stack, code, line);
    Py_DECREF(code);
    Py_SETREF(frame, PyFrame_GetBack(frame));
  }
  if (!out->file) PyErr_Clear();
  out->text = p->stack.at;
  out->n = p->stack.n;
  return out->file && !p->stack.failed;
}

static bool is_library(PyObject *file) {
  return py.package &&
         PyUnicode_Tailmatch(file, py.package, 0, PyUnicode_GET_LENGTH(file), -1) == 1;
}

// Warns unless the library itself did it: the class says which of its warnings users see.
static bool warn(const char *text) {
  PyFrameObject *frame = innermost();
  if (!frame) return true;
  PyCodeObject *code = PyFrame_GetCode(frame);
  bool ours = is_library(code->co_filename);
  Py_DECREF(code);
  Py_DECREF(frame);
  if (ours) return true;
  PyObject *home = PyImport_ImportModule("ingot.jit._trace");
  PyObject *category = home ? PyObject_GetAttrString(home, "TracerWarning") : NULL;
  int failed = category ? PyErr_WarnEx(category, text, 1) : -1;
  Py_XDECREF(category);
  Py_XDECREF(home);
  return failed == 0;
}

static void host_warn(void *user, const char *text) {
  PyObject *home = PyImport_ImportModule("ingot.jit._trace");
  PyObject *category = home ? PyObject_GetAttrString(home, "TracerWarning") : NULL;
  (void)user;
  if (!category || PyErr_WarnEx(category, text, 1) != 0) PyErr_Clear();
  Py_XDECREF(category);
  Py_XDECREF(home);
}

// ---- what tensors answer

bool py_tracing(ig_ctx *c) {
  return c->mode->rewrite && ig_strace_of(c);
}

bool py_trace_constant(ig_ctx *c, const char *what) {
  if (!py_tracing(c)) return true;
  PyObject *text = PyUnicode_FromFormat(
      "Converting a tensor to a Python %s might cause the trace to be incorrect. We can't record "
      "the data flow of Python values, so this value will be treated as a constant in the future. "
      "This means that the trace might not generalize to other inputs!",
      what);
  bool ok = text && warn(PyUnicode_AsUTF8(text));
  Py_XDECREF(text);
  return ok;
}

bool py_trace_warn(ig_ctx *c, const char *text) {
  return !py_tracing(c) || warn(text);
}

PyObject *py_traced_size(ig_ctx *c, ig_tensor *t, int dim) {
  ig_scope s = ig_scope_open(c);
  ig_tensor *size = ig_strace_size(ig_strace_of(c), t, dim);
  PyObject *o = size ? py_from_tensor(c, size) : py_raise(c);
  ig_scope_close(c, s);
  return o;
}

PyObject *py_traced_numel(ig_ctx *c, ig_tensor *t) {
  ig_scope s = ig_scope_open(c);
  ig_tensor *n = ig_strace_numel(ig_strace_of(c), t);
  PyObject *o = n ? py_from_tensor(c, n) : py_raise(c);
  ig_scope_close(c, s);
  return o;
}

PyObject *py_traced_sizes(ig_ctx *c, ig_tensor *t) {
  PyObject *out = py_size_type.tp_alloc(&py_size_type, t->ndim);
  for (int d = 0; out && d < t->ndim; d++) {
    PyObject *size = py_traced_size(c, t, d);
    if (!size) Py_CLEAR(out);
    if (size) PyTuple_SET_ITEM(out, d, size);
  }
  return out;
}

bool py_traced_int(ig_ctx *c, ig_tensor *t, bool scalar, ig_int *out) {
  return ig_strace_int(ig_strace_of(c), t, scalar, out);
}

// ---- values

static bool to_tree(ig_ctx *c, PyObject *o, ig_value *v);

static bool to_items(ig_ctx *c, PyObject *items, ig_seq seq, ig_value *v) {
  size_t n = (size_t)PyTuple_GET_SIZE(items);
  ig_value *at = ig_scope_array(c, n + 1, sizeof *at);
  if (!at) return py_raise(c) != NULL;
  for (size_t i = 0; i < n; i++) {
    if (!to_tree(c, PyTuple_GET_ITEM(items, (Py_ssize_t)i), &at[i])) return false;
  }
  *v = ig_of_list(at, n);
  v->seq = seq;
  return true;
}

// Keys and values alternate.
static bool to_dict(ig_ctx *c, PyObject *o, ig_value *v) {
  PyObject *flat = PyTuple_New(2 * PyDict_GET_SIZE(o));
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; flat && PyDict_Next(o, &at, &key, &value); i += 2) {
    PyTuple_SET_ITEM(flat, i, Py_NewRef(key));
    PyTuple_SET_ITEM(flat, i + 1, Py_NewRef(value));
  }
  bool ok = flat && to_items(c, flat, IG_SEQ_DICT, v);
  Py_XDECREF(flat);
  return ok;
}

// Containers and their leaves, in the innermost scope; other objects are OBJECTs.
static bool to_tree(ig_ctx *c, PyObject *o, ig_value *v) {
  if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
    return true;
  }
  if (PyDict_Check(o)) return to_dict(c, o, v);
  if (PyTuple_Check(o)) return to_items(c, o, IG_SEQ_TUPLE, v);
  if (PyList_Check(o)) {
    PyObject *items = PyList_AsTuple(o);
    bool ok = items && to_items(c, items, IG_SEQ_LIST, v);
    Py_XDECREF(items);
    return ok;
  }
  if (PyUnicode_Check(o)) {
    *v = (ig_value){.kind = IG_KIND_STR, .str = PyUnicode_AsUTF8(o)};
    return v->str != NULL;
  }
  if (o == Py_None) {
    *v = ig_none();
    return true;
  }
  ig_match taken = py_to_number(o, v);
  if (taken == IG_MATCH_OTHER) *v = (ig_value){.kind = IG_KIND_OBJECT, .object = o};
  return taken != IG_MATCH_REFUSED;
}

// ---- the object

static PyObject *strace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"strict", "frames_up", NULL};
  int strict = 1;
  int up = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pi:_Tracer", names, &strict, &up)) return NULL;
  ig_sunit *u = py_unit();
  py_strace *o = u ? (py_strace *)type->tp_alloc(type, 0) : NULL;
  if (!o) return NULL;
  ig_strace_host host = {.variable = variable, .place = place, .warn = host_warn, .user = o};
  o->unit = ig_sunit_retain(u);
  o->up = up;
  o->stack = ig_str_make(py_ctx()->alloc);
  o->t = ig_strace_create(py_ctx(), u, &host, strict != 0);
  if (o->t) return (PyObject *)o;
  Py_DECREF(o);
  return py_raise(py_ctx());
}
static void strace_dealloc(PyObject *o) {
  py_strace *p = (py_strace *)o;
  ig_strace_free(p->t);
  ig_sunit_release(p->unit);
  Py_XDECREF(p->kept);
  for (size_t i = 0; i < PLACES; i++) Py_XDECREF(p->places[i].code);
  ig_str_free(&p->stack);
  Py_TYPE(o)->tp_free(o);
}

static ig_strace *self_of(PyObject *o) {
  return ((py_strace *)o)->t;
}
static PyObject *done(bool ok) {
  ig_ctx *c = py_ctx();
  if (!py_ok(c)) return NULL;
  if (!ok) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *begin(PyObject *o, PyObject *unused) {
  (void)unused;
  if (!py_settle_all(py_ctx())) return NULL;
  return done(ig_strace_begin(self_of(o)));
}
static PyObject *end(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_strace_end(self_of(o));
  Py_RETURN_NONE;
}

// _untraced(fn) -> fn(), of which an open trace has nothing
static PyObject *untraced(PyObject *unused, PyObject *fn) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_mode_scope s = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
  PyObject *out = PyObject_CallNoArgs(fn);
  ig_mode_pop(c, &s);
  return out;
}

// input(name, value) -> the value as the program sees it
static PyObject *input(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *value = NULL;
  if (!PyArg_ParseTuple(args, "sO:input", &name, &value)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value v;
  PyObject *out = NULL;
  if (to_tree(c, value, &v)) {
    bool ok = ig_strace_input(self_of(o), name, &v);
    out = ok ? py_from_value(c, &v) : py_raise(c);
  }
  ig_scope_close(c, s);
  return out;
}
static PyObject *output(PyObject *o, PyObject *value) {
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value v;
  PyObject *out = to_tree(c, value, &v) ? done(ig_strace_output(self_of(o), &v)) : NULL;
  ig_scope_close(c, s);
  return out;
}
static PyObject *enter(PyObject *o, PyObject *path) {
  const char *text = PyUnicode_AsUTF8(path);
  return text ? done(ig_strace_enter(self_of(o), text)) : NULL;
}
static PyObject *leave(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_strace_leave(self_of(o));
  Py_RETURN_NONE;
}
static PyObject *module(PyObject *o, PyObject *given) {
  if (!PyObject_TypeCheck(given, &py_sobject_type)) {
    return PyErr_Format(PyExc_TypeError, "expected a module of a script");
  }
  return done(ig_strace_self(self_of(o), ((py_sobject *)given)->o));
}
static PyObject *has(PyObject *o, PyObject *path) {
  const char *text = PyUnicode_AsUTF8(path);
  return text ? PyBool_FromLong(ig_strace_has(self_of(o), text)) : NULL;
}

// graph() -> Graph
static PyObject *graph(PyObject *o, PyObject *unused) {
  (void)unused;
  py_strace *p = (py_strace *)o;
  ig_sgraph *g = ig_strace_finish(p->t);
  return g ? py_from_sgraph(p->unit, g, true) : py_raise(py_ctx());
}
// function(name, qualified) -> ScriptFunction
static PyObject *function(PyObject *o, PyObject *args) {
  const char *name = NULL;
  const char *qualified = NULL;
  if (!PyArg_ParseTuple(args, "ss:function", &name, &qualified)) return NULL;
  py_strace *p = (py_strace *)o;
  ig_sgraph *g = ig_strace_finish(p->t);
  bool taken = g && (ig_sunit_function(p->unit, qualified) || ig_sunit_type(p->unit, qualified));
  const char *fresh = taken ? ig_sunit_mangle(p->unit, qualified) : qualified;
  ig_sfunction *f = g && fresh ? ig_strace_function(p->unit, NULL, name, fresh, g) : NULL;
  return f ? py_from_sfunction(p->unit, f) : py_raise(py_ctx());
}
static PyObject *method(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  py_strace *p = (py_strace *)o;
  ig_sfunction *f = text ? ig_strace_finish_method(p->t, text) : NULL;
  if (!text) return NULL;
  return f ? py_from_sfunction(p->unit, f) : py_raise(py_ctx());
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_NOARGS, NULL},
    {"end", end, METH_NOARGS, NULL},
    {"input", input, METH_VARARGS, NULL},
    {"output", output, METH_O, NULL},
    {"enter", enter, METH_O, NULL},
    {"leave", leave, METH_NOARGS, NULL},
    {"has", has, METH_O, NULL},
    {"graph", graph, METH_NOARGS, NULL},
    {"module", module, METH_O, NULL},
    {"method", method, METH_O, NULL},
    {"function", function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject strace_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._Tracer",
    .tp_basicsize = sizeof(py_strace),
    .tp_dealloc = strace_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods,
    .tp_new = strace_new,
};

static PyObject *is_tracing(PyObject *unused, PyObject *none) {
  (void)unused;
  (void)none;
  return PyBool_FromLong(py_tracing(py_ctx()));
}

// ---- calls of Function.apply

static const char node_name[] = "a call in a trace";

// Tensors of a tuple, NULL for other objects, in the innermost scope.
static ig_tensor **tensors_of(ig_ctx *c, PyObject *tuple) {
  size_t n = (size_t)PyTuple_GET_SIZE(tuple);
  ig_tensor **at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    PyObject *o = PyTuple_GET_ITEM(tuple, (Py_ssize_t)i);
    at[i] = py_is_tensor(o) ? py_tensor_of(o) : NULL;
  }
  return at;
}

static bool set_text(ig_snode *n, const char *name, const char *text) {
  ig_sattr *a = ig_snode_add_attr(n, name, IG_SATTR_VALUE);
  char *kept = a ? ig_arena_strn(&n->owner->graph->arena, text, strlen(text)) : NULL;
  if (a) a->value = (ig_value){.kind = IG_KIND_STR, .str = kept ? kept : ""};
  return kept != NULL;
}

// _trace_open_call(callable, name, scalars, tensors): calls belong to one node from here on.
static PyObject *open_call(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *callable = NULL;
  PyObject *tensors = NULL;
  const char *name = NULL;
  const char *scalars = NULL;
  if (!PyArg_ParseTuple(args, "OssO!:_trace_open_call", &callable, &name, &scalars, &PyTuple_Type,
                        &tensors)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_strace *t = ig_strace_of(c);
  if (!t) return PyErr_Format(PyExc_RuntimeError, "nothing is traced");
  ig_scope s = ig_scope_open(c);
  ig_tensor **at = tensors_of(c, tensors);
  ig_sfunction *f = at ? py_script_host_function(py_unit(), name, scalars,
                                                 (size_t)PyTuple_GET_SIZE(tensors), callable)
                       : NULL;
  ig_snode *n = f ? ig_strace_open_host(t, f, at, f->n_params) : NULL;
  ig_scope_close(c, s);
  if (n) return PyCapsule_New(n, node_name, NULL);
  return PyErr_Occurred() ? NULL : py_raise(c);
}

// _trace_close_call(call, inner, outs, tuple, inplace, module); outs None: it failed.
static PyObject *close_call(PyObject *unused, PyObject *args) {
  (void)unused;
  PyObject *call = NULL;
  PyObject *inner = NULL;
  PyObject *outs = NULL;
  int tuple = 0;
  int inplace = 0;
  const char *module = NULL;
  if (!PyArg_ParseTuple(args, "OOOppz:_trace_close_call", &call, &inner, &outs, &tuple, &inplace,
                        &module)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_snode *n = PyCapsule_GetPointer(call, node_name);
  ig_strace *t = n ? ig_strace_of(c) : NULL;
  if (!n) return NULL;
  if (!t) return PyErr_Format(PyExc_RuntimeError, "nothing is traced");
  if (!PyTuple_Check(inner) || !PyTuple_Check(outs) ||
      PyTuple_GET_SIZE(inner) != PyTuple_GET_SIZE(outs) || PyTuple_GET_SIZE(outs) == 0) {
    ig_strace_drop_host(t, n);
    Py_RETURN_NONE;
  }
  ig_scope s = ig_scope_open(c);
  ig_sattr *a = ig_snode_add_attr(n, "inplace", IG_SATTR_VALUE);
  if (a) a->value = ig_of_i64(inplace);
  bool ok = a && (!module || set_text(n, "module", module));
  ig_strace_results r = {.n = (size_t)PyTuple_GET_SIZE(outs), .tuple = tuple != 0};
  r.inner = ok ? tensors_of(c, inner) : NULL;
  r.outs = r.inner ? tensors_of(c, outs) : NULL;
  if (r.outs) n->host->result = py_script_tensors_type(n->host->unit, r.n, r.tuple);
  ok = r.outs && n->host->result && ig_strace_close_host(t, n, &r);
  ig_scope_close(c, s);
  return done(ok);
}

// _create_function_from_graph(name, graph) -> a function whose body is a copy of the graph
static PyObject *function_of_graph(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *given = NULL;
  if (!PyArg_ParseTuple(args, "sO:_create_function_from_graph", &name, &given)) return NULL;
  const ig_sgraph *g = py_sgraph_of(given);
  if (!g) return NULL;
  ig_sunit *unit = py_unit();
  ig_sgraph *copy = unit ? ig_sgraph_copy(g) : NULL;
  bool taken = copy && (ig_sunit_function(unit, name) || ig_sunit_type(unit, name));
  const char *fresh = taken ? ig_sunit_mangle(unit, name) : name;
  ig_sfunction *f = copy && fresh ? ig_strace_function(unit, NULL, name, fresh, copy) : NULL;
  if (!f && !PyErr_Occurred() && py_ok(py_ctx()))
    PyErr_SetString(PyExc_RuntimeError, "a function has one output");
  return f ? py_from_sfunction(unit, f) : PyErr_Occurred() ? NULL : py_raise(py_ctx());
}

static PyMethodDef functions[] = {
    {"_create_function_from_graph", function_of_graph, METH_VARARGS, NULL},
    {"_is_tracing", is_tracing, METH_NOARGS, NULL},
    {"_trace_open_call", open_call, METH_VARARGS, NULL},
    {"_trace_close_call", close_call, METH_VARARGS, NULL},
    {"_untraced", untraced, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_strace(PyObject *m) {
  if (PyType_Ready(&strace_type) != 0 || PyModule_AddFunctions(m, functions) != 0) return -1;
  return PyModule_AddObjectRef(m, "_Tracer", (PyObject *)&strace_type);
}
