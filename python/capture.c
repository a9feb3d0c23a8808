// SPDX-License-Identifier: Apache-2.0
// Captures from Python: what a model declares, and the export of one. A capture belongs to the
// context of the thread.
#include <string.h>

#include "capture/dims.h"
#include "ingot/graph.h"
#include "ir/program.h"
#include "op/record.h"
#include "pass/pipeline.h"
#include "py.h"

// ---- declaring ----

// capture_begin(env=None, aot=False, modes=False, release=None): env is the environment of fake
// inputs; aot: for ingot/aot.h, so that changes of the grad mode are recorded and made, and a
// symbolic number has one node; modes: changes of the grad mode are recorded; release: whose forms
// the graph has.
static PyObject *capture_begin(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *keys[] = {"env", "aot", "modes", "release", NULL};
  PyObject *env = NULL;
  ig_sym *sym = NULL;
  int aot = 0;
  int modes = 0;
  const char *release = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Oppz:capture_begin", keys, &env, &aot, &modes,
                                   &release)) {
    return NULL;
  }
  if (!py_to_env(env, &sym)) return NULL;
  ig_ctx *c = py_ctx();
  if (!py_settle_all(c)) return NULL;
  if (ig_capture_begin_in(c, sym ? sym : c->mode->ambient) != IG_OK) return py_raise(c);
  if (aot) {
    c->mode->capture->release = IG_RELEASE_2_5;
    c->mode->capture->keeps_draws = true;
    c->mode->capture->switches_grad = true;
  } else if (release) {
    c->mode->capture->release = ig_release_find(release);
  }
  if (py_trace_begin(c, false, aot != 0 || modes != 0)) Py_RETURN_NONE;
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
// capture_apart(on) -> what it was: derivatives are taken in the open capture; without one nothing.
static PyObject *capture_apart(PyObject *module, PyObject *on) {
  (void)module;
  ig_graph *g = py_ctx()->mode->capture;
  int yes = PyObject_IsTrue(on);
  if (yes < 0) return NULL;
  bool before = g && g->apart;
  if (g) g->apart = yes != 0;
  return PyBool_FromLong(before);
}
// capture_outside(fn, args, kwargs): a call that no capture sees, on real tensors.
static PyObject *capture_outside(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *fn = NULL;
  PyObject *positional = NULL;
  PyObject *keywords = NULL;
  if (!PyArg_ParseTuple(args, "OO!O!:capture_outside", &fn, &PyTuple_Type, &positional,
                        &PyDict_Type, &keywords)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  enum { OFF = IG_MODE_CAPTURE | IG_MODE_REWRITE | IG_MODE_SYM | IG_MODE_FAKE };
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){OFF, {.capture = NULL}});
  PyObject *out = PyObject_Call(fn, positional, keywords);
  ig_mode_pop(c, &mode);
  return out;
}
static PyObject *capture_is_open(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_capture_is_open(py_ctx()));
}

// capture_input(name, example, source=None, dims=None, like=None): returns its fake tensor; other
// values are specialized, but for symbolic numbers. See dims.c for the dims. like: the real tensor
// of a fake example.
static PyObject *capture_input(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *example = NULL;
  const char *source = NULL;
  PyObject *dims = Py_None;
  PyObject *like = Py_None;
  if (!PyArg_ParseTuple(args, "sO|zOO:capture_input", &name, &example, &source, &dims, &like)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (py_is_tensor(example)) {
    ig_tensor *given = py_tensor_of(example);
    bool keeps = dims == Py_None && ig_tensor_is_symbolic(given);  // its symbols
    ig_tensor *t = keeps ? ig_capture_input_like(c, name, given)
                         : py_capture_input_dims(c, name, source, given, dims);
    if (keeps && py_is_tensor(like)) ig_capture_keep_history(c, t, py_tensor_of(like));
    if (t || py_ok(c)) out = PyErr_Occurred() ? NULL : py_from_tensor(c, t);
  } else {
    ig_value v;
    bool number = Py_IS_TYPE(example, &py_symint_type) &&
                  py_to_number(example, &v) == IG_MATCH_TAKEN;  // an input of its own
    if (number || (!PyErr_Occurred() && py_plain_value(example, &v))) {
      ig_capture_input_value(c, name, &v);
      if (py_ok(c)) out = Py_NewRef(example);
    }
  }
  ig_scope_close(c, s);
  return out;
}

// capture_state(kind, name, tensor, how="state"): kinds "parameter", "buffer", "temporary",
// "constant"; how: "state", "alias", "name" or "again", see ig_capture_state and related functions.
// Returns the fake tensor, of the same class as the tensor; None for a name, and for "again" inside
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
    bool inner =
        c->mode->capture && c->mode->capture->outer;  // the body of a higher-order operator
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

// ---- exports ----

typedef struct model {
  PyObject *front;  // declare(), run(), refine(fixes or None, error or None)
  bool strict;
  bool grad_modes;
  PyObject *result;  // the result of run(): its values are borrowed by the engine
  ig_map shown;
  PyObject *kept;  // names
} model;

// The text of the pending exception, which stays.
static void fail(ig_ctx *c) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *text = value ? PyObject_Str(value) : NULL;
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  if (c->status == IG_OK) ig_fail_text(c, IG_HOST, "%s", words ? words : "error in Python");
  Py_XDECREF(text);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

static void declare(ig_ctx *c, void *user) {
  const model *m = user;
  PyObject *none = NULL;
  if (py_trace_begin(c, m->strict, m->grad_modes)) {
    none = PyObject_CallMethod(m->front, "declare", NULL);
  }
  if (!none) fail(c);
  Py_XDECREF(none);
}

static bool writes_of(ig_ctx *c, PyObject *pairs, ig_forward *out) {
  size_t n = (size_t)PyList_GET_SIZE(pairs);
  ig_capture_write *writes = ig_scope_array(c, n + 1, sizeof *writes);
  if (!writes) return false;
  for (size_t i = 0; i < n; i++) {
    PyObject *state = NULL;
    PyObject *value = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, (Py_ssize_t)i), "O!O!", py_tensor_type, &state,
                          py_tensor_type, &value)) {
      return false;
    }
    writes[i] = (ig_capture_write){py_tensor_of(state), py_tensor_of(value)};
  }
  out->writes = writes;
  out->nwrites = n;
  return true;
}

// [(placeholder, number of the group)]; only tensors have a placeholder.
static bool order_of(ig_ctx *c, PyObject *pairs, bool grouped, ig_forward *out) {
  size_t n = (size_t)PyList_GET_SIZE(pairs);
  ig_tensor **state = ig_scope_array(c, n + 1, sizeof *state);
  size_t *groups = ig_scope_array(c, n + 1, sizeof *groups);
  if (!state || !groups) return false;
  for (size_t i = 0; i < n; i++) {
    PyObject *value = NULL;
    PyObject *group = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, (Py_ssize_t)i), "OO", &value, &group))
      return false;
    state[i] = PyObject_TypeCheck(value, py_tensor_type) ? py_tensor_of(value) : NULL;
    groups[i] = PyLong_AsSize_t(group);
    if (PyErr_Occurred()) return false;
  }
  out->state = state;
  out->groups = grouped ? groups : NULL;
  out->nstate = n;
  return true;
}

static bool shown_of(model *m, PyObject *dict, ig_forward *out) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char *path = PyUnicode_AsUTF8(key);
    const char *name = path ? PyUnicode_AsUTF8(value) : NULL;
    ig_map_value *v = name ? ig_map_put(&m->shown, path) : NULL;
    if (!v && !PyErr_Occurred()) PyErr_NoMemory();
    if (!v) return false;
    v->text = name;
  }
  out->shown = &m->shown;
  return true;
}

// run() -> (outputs, how many of them are kept, writes, order of the state, grouped, shown)
static bool take_result(ig_ctx *c, model *m, ig_forward *out) {
  PyObject *outs = NULL;
  PyObject *writes = NULL;
  PyObject *order = NULL;
  PyObject *shown = NULL;
  Py_ssize_t kept = 0;
  int grouped = 0;
  ig_value *values = NULL;
  if (!PyArg_ParseTuple(m->result, "O!nO!O!pO!", &PyTuple_Type, &outs, &kept, &PyList_Type, &writes,
                        &PyList_Type, &order, &grouped, &PyDict_Type, &shown)) {
    return false;
  }
  if (!py_values_of(c, outs, &values, &out->nouts)) return false;
  out->outs = values;
  out->nkept = (size_t)kept < out->nouts ? (size_t)kept : out->nouts;
  return writes_of(c, writes, out) && order_of(c, order, grouped != 0, out) &&
         shown_of(m, shown, out);
}

static void run(ig_ctx *c, ig_forward *out, void *user) {
  model *m = user;
  Py_XSETREF(m->result, PyObject_CallMethod(m->front, "run", NULL));
  bool ok = m->result && take_result(c, m, out);
  if (!ok && PyErr_Occurred()) fail(c);
}

static void end(ig_ctx *c, void *user) {
  (void)user;
  py_trace_end(c);
}

static void keep(ig_ctx *c, const char *const *names, size_t n, void *user) {
  model *m = user;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *name = Py_BuildValue("z", names[i]);
    if (!name || PyList_Append(list, name) != 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  Py_XSETREF(m->kept, list);
  if (!list) fail(c);
}

// An exception of the program itself is not a violation, and is kept.
static bool refine(ig_ctx *c, ig_status status, const ig_dim_fix *fixes, size_t n, void *user) {
  const model *m = user;
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  if (status == IG_HOST) {
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
  }
  PyObject *list = n ? py_from_fixes(fixes, n) : Py_NewRef(Py_None);
  PyObject *answer =
      list ? PyObject_CallMethod(m->front, "refine", "OO", list, value ? value : Py_None) : NULL;
  bool again = answer == Py_True;
  Py_XDECREF(list);
  Py_XDECREF(answer);
  if (!answer) {
    fail(c);
  } else if (!again && value) {
    PyErr_Restore(type, value, traceback);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return again;
}

static PyObject *export_of(ig_ctx *c, const ig_pipeline *o, model *m, bool draft) {
  ig_front front = {
      .declare = declare,
      .run = run,
      .close = end,
      .keep = keep,
      .refine = refine,
      .advice = "Dim.AUTO in dynamic_shapes lets the program decide which sizes are dynamic",
      .user = m};
  ig_program *p = NULL;
  ig_status st = (draft ? ig_pipeline_draft : ig_pipeline_run)(c, o, &front, &p);
  PyObject *program = py_program_wrap(c, st, p);
  if (!program) return NULL;
  PyObject *kept = m->kept ? Py_NewRef(m->kept) : PyList_New(0);
  PyObject *out = kept ? PyTuple_Pack(2, program, kept) : NULL;
  Py_XDECREF(kept);
  Py_DECREF(program);
  return out;
}

// export(front, level, strict, grad_modes, asserts, no_forced, allow_complex_guards, env, draft,
// verify, late_sizes, free_conversions) -> (Program, names of what was kept)
static PyObject *export(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *keys[] = {"front",
                         "level",
                         "strict",
                         "grad_modes",
                         "asserts",
                         "no_forced",
                         "allow_complex_guards",
                         "env",
                         "draft",
                         "verify",
                         "late_sizes",
                         "free_conversions",
                         NULL};
  static const char *const levels[] = {
      [IG_LEVEL_INFERENCE] = "inference",   [IG_LEVEL_TRAINING] = "training",
      [IG_LEVEL_DISPATCHED] = "dispatched", [IG_LEVEL_DECOMPOSED] = "decomposed",
      [IG_LEVEL_CAPTURED] = "captured",
  };
  ig_ctx *c = py_ctx();
  model m = {.shown = ig_map_make(c->alloc)};
  const char *level = NULL;
  PyObject *env = NULL;
  ig_pipeline o = {0};
  int strict = 0;
  int modes = 0;
  int asserts = 0;
  int no_forced = 0;
  int allow = 0;
  int draft = 0;
  int check = 0;
  int late = 0;
  int free_conversions = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Osppppp|Opppp:export", keys, &m.front, &level,
                                   &strict, &modes, &asserts, &no_forced, &allow, &env, &draft,
                                   &check, &late, &free_conversions) ||
      !py_to_env(env, &o.sym)) {
    return NULL;
  }
  size_t k = 0;
  while (k < PY_COUNT(levels) && strcmp(levels[k], level) != 0) k++;
  if (k == PY_COUNT(levels)) return PyErr_Format(PyExc_ValueError, "unknown level '%s'", level);
  if (!py_settle_all(c)) return NULL;
  o.level = (ig_level)k;
  o.strict = m.strict = strict != 0;
  o.asserts = asserts != 0;
  o.no_forced = no_forced != 0;
  o.allow_complex_guards = allow != 0;
  o.verify = check != 0;
  o.late_sizes = late != 0;
  o.free_conversions = free_conversions != 0;
  m.grad_modes = modes != 0;
  PyObject *out = export_of(c, &o, &m, draft != 0);
  ig_map_free(&m.shown);
  Py_XDECREF(m.result);
  Py_XDECREF(m.kept);
  return out;
}

#define WITH_KEYWORDS(fn) (PyCFunction)(void (*)(void))(fn), METH_VARARGS | METH_KEYWORDS
PyMethodDef py_capture_functions[] = {
    {"capture_apart", capture_apart, METH_O, NULL},
    {"capture_begin", WITH_KEYWORDS(capture_begin), NULL},
    {"capture_abort", capture_abort, METH_NOARGS, NULL},
    {"capture_outside", capture_outside, METH_VARARGS, NULL},
    {"capture_is_open", capture_is_open, METH_NOARGS, NULL},
    {"capture_input", capture_input, METH_VARARGS, NULL},
    {"capture_state", capture_state, METH_VARARGS, NULL},
    {"capture_state_order", capture_state_order, METH_O, NULL},
    {"export", WITH_KEYWORDS(export), "A model as a program: see ingot/export.h."},
    {NULL, NULL, 0, NULL},
};
