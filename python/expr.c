// SPDX-License-Identifier: Apache-2.0
// Access to the symbolic engine for tests: all results for one expression given as text.
#include "py.h"
#include "sym/build.h"

static PyObject *text_of(void (*print)(ig_str *, const ig_expr *), const ig_expr *e) {
  ig_str s = ig_str_make(ig_alloc_libc());
  print(&s, e);
  PyObject *o = PyUnicode_FromStringAndSize(s.at, (Py_ssize_t)s.n);
  ig_str_free(&s);
  return o;
}

static PyObject *from_wide(ig_wide v) {
  char text[IG_WIDE_TEXT];
  if (v == IG_WIDE_MAX || v == IG_WIDE_MIN) Py_RETURN_NONE;
  return PyLong_FromString(ig_wide_text(v, text), NULL, 10);
}

static PyObject *from_range(ig_vrange r) {
  switch (r.sort) {
    case IG_SORT_BOOL:
      return Py_BuildValue("(OO)", r.lo ? Py_True : Py_False, r.hi ? Py_True : Py_False);
    case IG_SORT_INT:
      return Py_BuildValue("(NN)", from_wide(r.lo), from_wide(r.hi));
    default:
      return Py_BuildValue("(dd)", r.flo, r.fhi);
  }
}

static bool hint_of_symbol(void *user, const ig_expr *symbol, ig_hint *out) {
  (void)user;
  return ig_hint_of(symbol, out);
}

static PyObject *value_of(const ig_expr *e) {
  ig_hint h;
  if (!ig_expr_eval(e, hint_of_symbol, NULL, &h)) Py_RETURN_NONE;
  switch (h.sort) {
    case IG_SORT_BOOL:
      return PyBool_FromLong(h.i != 0);
    case IG_SORT_FLOAT:
      return PyFloat_FromDouble(h.f);
    case IG_SORT_INT:
      return from_wide(h.i);
    default:
      return Py_BuildValue("(NN)", from_wide(h.i), from_wide(h.den));
  }
}

static bool put(PyObject *dict, const char *key, PyObject *value) {
  bool ok = value && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static bool reads_back(ig_ctx *c, PyObject *text, const ig_expr *e) {
  const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
  return utf8 && ig_expr_parse(c, utf8) == e;
}

static PyObject *answers(ig_ctx *c, const char *text) {
  const ig_expr *e = ig_expr_parse(c, text);
  const ig_expr *simple = ig_expr_simplify(c, e);
  const ig_expr *canonical = ig_expr_canonical(c, e);
  if (!canonical) return NULL;
  PyObject *d = PyDict_New();
  PyObject *infix = text_of(ig_str_expr, e);
  PyObject *tree = text_of(ig_str_srepr, e);
  bool ok =
      d && put(d, "infix_reads_back", PyBool_FromLong(reads_back(c, infix, e))) &&
      put(d, "tree_reads_back", PyBool_FromLong(reads_back(c, tree, e))) && put(d, "str", infix) &&
      put(d, "srepr", tree) && put(d, "simple", text_of(ig_str_expr, simple)) &&
      put(d, "simple_srepr", text_of(ig_str_srepr, simple)) &&
      put(d, "canonical", text_of(ig_str_expr, canonical)) &&
      put(d, "range", from_range(ig_expr_range(c, e))) && put(d, "value", value_of(e)) &&
      put(d, "simple_value", value_of(simple)) && put(d, "canonical_value", value_of(canonical)) &&
      put(d, "facts", PyLong_FromUnsignedLong(ig_expr_facts(e)));
  if (!ok) Py_CLEAR(d);
  return d;
}

// A bound from Python: None is unbounded.
static ig_wide bound(PyObject *o, ig_wide open) {
  return o == Py_None ? open : PyLong_AsLongLong(o);
}

static bool declare(ig_ctx *c, PyObject *symbols) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t pos = 0;
  while (PyDict_Next(symbols, &pos, &key, &value)) {
    PyObject *lo = NULL;
    PyObject *hi = NULL;
    long long hint = 0;
    const char *name = PyUnicode_AsUTF8(key);
    if (!name || !PyArg_ParseTuple(value, "OOL", &lo, &hi, &hint)) return false;
    const ig_symbol_info info = {
        .sort = IG_SORT_INT,
        .positive = *name == 's',
        .backed = true,
        .hint = hint,
        .range = ig_vrange_ints(bound(lo, IG_WIDE_MIN), bound(hi, IG_WIDE_MAX))};
    if (PyErr_Occurred() || !ig_expr_symbol(c, name, &info)) return false;
  }
  return true;
}

static PyObject *sym_ask(PyObject *self, PyObject *args) {
  const char *text = NULL;
  PyObject *symbols = NULL;
  (void)self;
  if (!PyArg_ParseTuple(args, "sO!:_sym_ask", &text, &PyDict_Type, &symbols)) return NULL;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, ig_sym_create(c));
  PyObject *d = c->mode->sym && declare(c, symbols) ? answers(c, text) : NULL;
  if (c->mode->sym) ig_ref_release(&c->mode->sym->ref);
  ig_mode_pop(c, &mode);
  if (!py_ok(c)) Py_CLEAR(d);
  return d;
}

PyMethodDef py_expr_functions[] = {
    {"_sym_ask", sym_ask, METH_VARARGS,
     "What the symbolic engine says about an expression; symbols: {name: (lo, hi, hint)}."},
    {NULL, NULL, 0, NULL}};
