// SPDX-License-Identifier: Apache-2.0
// Reports of drafts and of failed exports as Python objects, and what the user calls a symbol.
#include <string.h>

#include "ir/program.h"
#include "op/draft.h"
#include "op/record.h"
#include "py.h"

// ---- objects ----

static PyObject *issue_object(const ig_issue *i) {
  return Py_BuildValue("{sssssisssssssssssssssssssn}", "kind", ig_issue_kind_text(i->kind), "file",
                       i->file ? i->file : "", "line", i->line, "function",
                       i->function ? i->function : "", "source", i->source ? i->source : "",
                       "stack", i->stack ? i->stack : "", "op", i->op ? i->op : "", "operands",
                       i->operands ? i->operands : "", "expr", i->predicate ? i->predicate : "",
                       "result", i->answer ? i->answer : "", "reason", i->reason ? i->reason : "",
                       "fix", i->fix ? i->fix : "", "occurrences", (Py_ssize_t)i->times);
}

static PyObject *issue_list(const ig_report *r) {
  const ig_issue *at = NULL;
  size_t n = ig_report_issues(r, &at);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = issue_object(&at[i]);
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject *text_object(ig_ctx *c, char *text) {
  PyObject *o =
      text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : PyErr_NoMemory();
  ig_text_free(c, text);
  return o;
}

// (issues, text, JSON)
static PyObject *report_object(ig_ctx *c, const ig_report *r) {
  PyObject *list = issue_list(r);
  PyObject *text = list ? text_object(c, ig_report_text(c, r)) : NULL;
  PyObject *json = text ? text_object(c, ig_report_json(c, r)) : NULL;
  PyObject *out = json ? PyTuple_Pack(3, list, text, json) : NULL;
  Py_XDECREF(list);
  Py_XDECREF(text);
  Py_XDECREF(json);
  return out;
}

// ---- errors ----

// The exception gets .issues, and a note that a traceback shows unless its text says it already.
void py_report_attach(ig_ctx *c) {
  const ig_report *r = ig_ctx_report(c);
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  if (!r || !PyErr_Occurred()) return;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *issues = issue_list(r);
  PyObject *text = c->status == IG_DATA_DEPENDENT ? NULL : text_object(c, ig_report_text(c, r));
  if (issues && value) (void)PyObject_SetAttrString(value, "issues", issues);
  if (text && value && PyObject_HasAttrString(value, "add_note")) {
    PyObject *none = PyObject_CallMethod(value, "add_note", "O", text);
    Py_XDECREF(none);
  }
  Py_XDECREF(issues);
  Py_XDECREF(text);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

// ---- names ----

static bool name_in(PyObject *locals, const ig_expr *symbol, ig_str *out) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  for (Py_ssize_t at = 0; PyDict_Next(locals, &at, &key, &value);) {
    ig_value v;
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    bool number = name && !py_is_tensor(value) && py_is_sym(value);
    if (!number || py_to_number(value, &v) != PY_TAKEN || ig_value_expr(&v) != symbol) continue;
    ig_str_add(out, "%s", name);
    return true;
  }
  for (Py_ssize_t at = 0; PyDict_Next(locals, &at, &key, &value);) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    const ig_tensor *t = name && py_is_tensor(value) ? py_tensor_of(value) : NULL;
    for (int d = 0; t && d < t->ndim; d++) {
      if (ig_sizes(t)[d].expr != symbol) continue;
      ig_str_add(out, "%s.shape[%d]", name, d);
      return true;
    }
  }
  return false;
}

bool py_name_symbol(ig_ctx *c, const ig_expr *symbol, ig_str *out) {
  (void)c;
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyFrameObject *frame = py_user_frame();
  PyObject *locals = frame ? PyObject_GetAttrString((PyObject *)frame, "f_locals") : NULL;
  PyObject *plain = locals && !PyDict_Check(locals) ? PyDict_New() : NULL;
  if (plain && PyDict_Update(plain, locals) != 0) Py_CLEAR(plain);
  PyObject *dict = plain ? plain : locals;
  bool found = dict && PyDict_Check(dict) && name_in(dict, symbol, out);
  Py_XDECREF(plain);
  Py_XDECREF(locals);
  Py_XDECREF((PyObject *)frame);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return found;
}

// ---- functions ----

// draft_open(): exports from now on ask the example inputs what only data can tell.
static PyObject *draft_open(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  return ig_draft_open(c) == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

// draft_close(program or None) -> (issues, text, JSON); the program keeps the report.
static PyObject *draft_close(PyObject *module, PyObject *program) {
  (void)module;
  if (program != Py_None && !py_is_program(program)) return NULL;
  ig_ctx *c = py_ctx();
  ig_report *r = ig_draft_close(c);
  if (!r) {
    PyErr_SetString(PyExc_RuntimeError, "no draft is open");
    return NULL;
  }
  if (program != Py_None) ig_program_set_report(py_program_of(program), r);
  PyObject *out = report_object(c, r);
  ig_ref_release(&r->ref);
  return out;
}

// draft_add(reason, fix): a constraint that the capture refused before it could say where.
static PyObject *draft_add(PyObject *module, PyObject *args) {
  (void)module;
  const char *reason = NULL;
  const char *fix = NULL;
  if (!PyArg_ParseTuple(args, "ss:draft_add", &reason, &fix)) return NULL;
  ig_issue issue = {.kind = IG_ISSUE_CONSTRAINT, .file = "", .reason = reason, .fix = fix};
  ig_issue_tell(py_ctx(), &issue);
  Py_RETURN_NONE;
}

PyMethodDef py_report_functions[] = {
    {"draft_open", draft_open, METH_NOARGS, NULL},
    {"draft_close", draft_close, METH_O, NULL},
    {"draft_add", draft_add, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
