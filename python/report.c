// SPDX-License-Identifier: Apache-2.0
// Reports of drafts and of failed exports as Python objects, and the user's names of symbols.
#include <string.h>

#include "ir/program.h"
#include "op/draft.h"
#include "op/record.h"
#include "py.h"

// ---- objects ----

static PyObject *issue_object(ig_ctx *c, const ig_issue *i) {
  ig_str stack = ig_str_make(c->alloc);
  ig_frames_print(&stack, &(ig_frames){i->frames, i->nframes, NULL});
  PyObject *o = Py_BuildValue(
      "{sssssisssssssssssssssssssn}", "kind", ig_issue_kind_text(i->kind), "file",
      i->file ? i->file : "", "line", i->line, "function", i->function ? i->function : "", "source",
      i->source ? i->source : "", "stack", stack.at ? stack.at : "", "op", i->op ? i->op : "",
      "operands", i->operands ? i->operands : "", "expr", i->predicate ? i->predicate : "",
      "result", i->answer ? i->answer : "", "reason", i->reason ? i->reason : "", "fix",
      i->fix ? i->fix : "", "occurrences", (Py_ssize_t)i->times);
  ig_str_free(&stack);
  return o;
}

static PyObject *issue_list(ig_ctx *c, const ig_report *r) {
  const ig_issue *at = NULL;
  size_t n = ig_report_issues(r, &at);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *item = issue_object(c, &at[i]);
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
  PyObject *list = issue_list(c, r);
  PyObject *text = list ? text_object(c, ig_report_text(c, r)) : NULL;
  PyObject *json = text ? text_object(c, ig_report_json(c, r)) : NULL;
  PyObject *out = json ? PyTuple_Pack(3, list, text, json) : NULL;
  Py_XDECREF(list);
  Py_XDECREF(text);
  Py_XDECREF(json);
  return out;
}

// ---- errors ----

// The exception gets .issues, .fixes of dims (see dim_fixes), and a note for the traceback unless
// its message already contains it.
void py_report_attach(ig_ctx *c) {
  const ig_report *r = ig_ctx_report(c);
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *traceback = NULL;
  if (!r || !PyErr_Occurred()) return;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *issues = issue_list(c, r);
  PyObject *text = r->printed ? NULL : text_object(c, ig_report_text(c, r));
  if (issues && value) (void)PyObject_SetAttrString(value, "issues", issues);
  const ig_dim_fix *at = NULL;
  size_t nfixes = ig_report_fixes(r, &at);
  PyObject *fixes = nfixes ? py_from_fixes(at, nfixes) : NULL;
  if (fixes && value) (void)PyObject_SetAttrString(value, "fixes", fixes);
  Py_XDECREF(fixes);
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
    if (!number || py_to_number(value, &v) != IG_MATCH_TAKEN || ig_value_expr(&v) != symbol)
      continue;
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

// program_report(program) -> (issues, text, JSON) of a draft, None of another program.
static PyObject *program_report(PyObject *module, PyObject *program) {
  (void)module;
  if (!py_is_program(program)) return NULL;
  const ig_report *r = ig_program_report(py_program_of(program));
  return r ? report_object(py_ctx(), r) : Py_NewRef(Py_None);
}

PyMethodDef py_report_functions[] = {
    {"program_report", program_report, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
