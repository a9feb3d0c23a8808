// SPDX-License-Identifier: Apache-2.0
// Calls of script functions from Python: arguments to parameters, in the words of PyTorch where
// they do not fit.
#include <string.h>

#include "script.h"
#include "script/interp.h"
#include "script/trace.h"
#include "script_value.h"
#include "trace_script.h"

static PyObject *declaration_of(const ig_sfunction *f) {
  ig_str s = ig_str_make(f->unit->alloc);
  bool ok = ig_sfunction_print_schema(&s, f) && s.at;
  PyObject *text = ok ? PyUnicode_FromString(s.at) : PyErr_NoMemory();
  ig_str_free(&s);
  return text;
}

static bool fail_count(const ig_sfunction *f, size_t hidden, size_t given) {
  PyObject *text = declaration_of(f);
  if (text) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s() expected at most %zu argument(s) but received %zu argument(s). "
                 "Declaration: %U",
                 f->name, f->n_params - hidden, given - hidden, text);
  }
  Py_XDECREF(text);
  return false;
}

static bool fail_missing(const ig_sfunction *f, const ig_sparam *p) {
  PyObject *text = declaration_of(f);
  if (text) {
    PyErr_Format(PyExc_RuntimeError, "%s() is missing value for argument '%s'. Declaration: %U",
                 f->name, p->name, text);
  }
  Py_XDECREF(text);
  return false;
}

static bool fail_keyword(const ig_sfunction *f, PyObject *name) {
  PyObject *text = declaration_of(f);
  if (text) {
    PyErr_Format(PyExc_RuntimeError, "Unknown keyword argument '%U' for operator '%s'. Schema: %U",
                 name, f->name, text);
  }
  Py_XDECREF(text);
  return false;
}

static bool fail_type(ig_ctx *c, const ig_sfunction *f, size_t at, PyObject *value,
                      const char *why) {
  const ig_sparam *p = &f->params[at];
  PyObject *text = declaration_of(f);
  ig_str type = ig_str_make(c->alloc);
  ig_stype_print_annotation(&type, p->type);
  PyObject *shown = PyObject_Repr(value);
  if (text && shown) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s() Expected a value of type '%s%s' for argument '%s' but instead found type "
                 "'%s'.\n%s%s%sPosition: %zu\nValue: %U\nDeclaration: %U\nCast error details: %s",
                 f->name, type.at ? type.at : "", p->inferred ? " (inferred)" : "", p->name,
                 Py_TYPE(value)->tp_name, p->inferred ? "Inferred '" : "",
                 p->inferred ? p->name : "",
                 p->inferred ? "' to be of type 'Tensor' because it was not annotated with an "
                               "explicit type.\n"
                             : "",
                 at, shown, text, why);
  }
  ig_str_free(&type);
  Py_XDECREF(shown);
  Py_XDECREF(text);
  return false;
}

static bool take(ig_ctx *c, const ig_sfunction *f, size_t at, PyObject *value, ig_value *out) {
  ig_str why = ig_str_make(c->alloc);
  bool ok = py_to_script(c, f->unit, value, f->params[at].type, out, &why);
  if (!ok && !PyErr_Occurred() && c->status == IG_OK) {
    (void)fail_type(c, f, at, value, why.at ? why.at : "");
  }
  ig_str_free(&why);
  return ok;
}

// Fills in[0 .. n_params); *n says how many must be released.
static bool bind(ig_ctx *c, const ig_sfunction *f, PyObject *self, PyObject *args,
                 PyObject *options, ig_value *in, size_t *n) {
  size_t hidden = self ? 1 : 0;
  size_t n_pos = (size_t)PyTuple_GET_SIZE(args);
  size_t n_kw = options ? (size_t)PyDict_GET_SIZE(options) : 0;
  if (hidden + n_pos + n_kw > f->n_params) return fail_count(f, hidden, hidden + n_pos + n_kw);
  size_t used = 0;
  for (*n = 0; *n < f->n_params; ++*n) {
    const ig_sparam *p = &f->params[*n];
    PyObject *value = self && *n == 0 ? self : NULL;
    if (!value && *n - hidden < n_pos) {
      value = PyTuple_GET_ITEM(args, (Py_ssize_t)(*n - hidden));
    } else if (!value && options) {
      value = PyDict_GetItemString(options, p->name);
      used += value != NULL;
    }
    if (value) {
      if (!take(c, f, *n, value, &in[*n])) return false;
    } else if (p->has_default) {
      in[*n] = p->def;
      ig_svalue_retain(p->def);
    } else {
      return fail_missing(f, p);
    }
  }
  if (used == n_kw) return true;
  PyObject *key = NULL;
  Py_ssize_t at = 0;
  while (PyDict_Next(options, &at, &key, NULL)) {
    bool known = false;
    for (size_t i = hidden + n_pos; i < f->n_params; i++) {
      known |= PyUnicode_CompareWithASCIIString(key, f->params[i].name) == 0;
    }
    if (!known) return fail_keyword(f, key);
  }
  return true;
}

PyObject *py_script_call(ig_sfunction *f, PyObject *self, PyObject *args, PyObject *options) {
  ig_ctx *c = py_ctx();
  if (!ig_sfunction_ensure(c, f)) return py_script_raise(c);
  ig_scope scope = ig_scope_open(c);
  ig_value *in = ig_scope_array(c, f->n_params + 1, sizeof *in);
  ig_value result = ig_none();
  PyObject *out = NULL;
  size_t n = 0;
  if (in && bind(c, f, self, args, options, in, &n) &&
      (py_tracing(c) ? ig_strace_call(ig_strace_of(c), f, in, &result)
                     : ig_sfunction_run(c, f, in, &result) == IG_OK)) {
    out = py_from_script(c, result);
    ig_svalue_release(result);
  }
  for (size_t i = 0; i < n; i++) ig_svalue_release(in[i]);
  ig_scope_close(c, scope);
  if (out) return out;
  if (!PyErr_Occurred()) return py_script_raise(c);
  ig_ctx_clear(c);
  return NULL;
}

// ---- functions of Python in scripts

static bool host_run(ig_ctx *c, ig_sfunction *f, const ig_value *args, ig_value *result) {
  PyObject *values = PyTuple_New((Py_ssize_t)f->n_params);
  for (size_t i = 0; values && i < f->n_params; i++) {
    PyObject *o = py_from_script(c, args[i]);
    if (o) {
      PyTuple_SET_ITEM(values, (Py_ssize_t)i, o);
    } else {
      Py_CLEAR(values);
    }
  }
  PyObject *made = values ? PyObject_Call(f->user, values, NULL) : NULL;
  Py_XDECREF(values);
  if (!made) return py_script_failed(c);
  ig_str why = ig_str_make(c->alloc);
  bool ok = py_to_script(c, f->unit, made, f->result, result, &why);
  if (!ok && !PyErr_Occurred() && c->status == IG_OK) {
    PyErr_Format(PyExc_RuntimeError, "%s: the result %R is no %s: %s", f->name, made,
                 f->result->text, why.at ? why.at : "");
  }
  ig_str_free(&why);
  Py_DECREF(made);
  return ok || py_script_failed(c);
}

// Tensor, or a tuple of n of them.
const ig_stype *py_script_tensors_type(ig_sunit *u, size_t n, bool tuple) {
  const ig_stype *tensor = ig_stype_plain(&u->types, IG_STYPE_TENSOR);
  if (!tuple) return tensor;
  const ig_stype **at = ig_arena_array(&u->arena, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) at[i] = tensor;
  return at ? ig_stype_tuple(&u->types, at, n) : NULL;
}

ig_sfunction *py_script_host_function(ig_sunit *u, const char *name, const char *scalars, size_t n,
                                      PyObject *callable) {
  ig_sfunction *f = u ? ig_sunit_add_unnamed(u, name) : NULL;
  ig_sparam *params = f ? ig_arena_array(&u->arena, n + 1, sizeof *params) : NULL;
  const char *text = params ? ig_arena_strn(&u->arena, scalars, strlen(scalars)) : NULL;
  const ig_stype *tensor = text ? ig_stype_plain(&u->types, IG_STYPE_TENSOR) : NULL;
  if (!tensor) {
    if (u) (void)ig_fail(u->c, IG_NOMEM, "out of memory");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) params[i] = (ig_sparam){.name = "", .type = tensor};
  f->params = params;
  f->n_params = n;
  f->result = tensor;
  f->scalars = text;
  f->host_run = host_run;
  f->user = Py_NewRef(callable);  // as long as the unit
  return f;
}

PyObject *py_script_set_refusal(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  const char *text = NULL;
  if (!PyArg_ParseTuple(args, "O!s", &py_sfunction_type, &o, &text)) return NULL;
  ig_sfunction *f = ((py_sfunction *)o)->f;
  f->refusal = ig_arena_strn(&f->unit->arena, text, strlen(text));
  if (!f->refusal) return PyErr_NoMemory();
  if (!f->result) f->result = ig_stype_plain(&f->unit->types, IG_STYPE_TENSOR);
  return Py_NewRef(o);
}

PyObject *py_script_set_host(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  PyObject *function = NULL;
  if (!PyArg_ParseTuple(args, "O!O", &py_sfunction_type, &o, &function)) return NULL;
  ig_sfunction *f = ((py_sfunction *)o)->f;
  f->compile = NULL;
  f->host_run = host_run;
  f->user = Py_NewRef(function);  // as long as the unit
  if (!f->result) f->result = ig_stype_plain(&f->unit->types, IG_STYPE_TENSOR);
  return Py_NewRef(o);
}
