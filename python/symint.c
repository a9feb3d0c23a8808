// SPDX-License-Identifier: Apache-2.0
// SymInt, SymFloat, SymBool, and values of the engine as Python objects.
//
// Arithmetic of a SymInt goes through ig_int_*; a comparison is a question to the engine, which
// knows the answer, guards, or refuses. Where Python needs a number (an index, a float), the symbol
// is specialised to its hint.
#include "op/shape.h"
#include "py.h"

static PyObject *sym_make(PyTypeObject *type, ig_value v) {
  ig_ctx *c = py_ctx();
  py_sym *o = PyObject_New(py_sym, type);
  if (!o) return NULL;
  o->v = v;
  o->sym = c->sym;
  if (o->sym) ig_ref_retain(&o->sym->ref);
  return (PyObject *)o;
}

PyObject *py_from_int(ig_int i) {
  return i.expr ? sym_make(&py_symint_type, ig_of_int(i)) : PyLong_FromLongLong(i.value);
}

static PyObject *from_dict(ig_ctx *c, const ig_value *v) {
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i + 1 < v->list.n; i += 2) {
    PyObject *key = py_from_value(c, &v->list.at[i]);
    PyObject *item = key ? py_from_value(c, &v->list.at[i + 1]) : NULL;
    if (!item || PyDict_SetItem(out, key, item) != 0) Py_CLEAR(out);
    Py_XDECREF(key);
    Py_XDECREF(item);
  }
  return out;
}

static PyObject *from_list(ig_ctx *c, const ig_value *v) {
  if (v->seq == IG_SEQ_DICT) return from_dict(c, v);
  PyObject *out = PyList_New((Py_ssize_t)v->list.n);
  for (size_t i = 0; out && i < v->list.n; i++) {
    PyObject *item = py_from_value(c, &v->list.at[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyList_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  if (!out || v->seq == IG_SEQ_LIST) return out;
  PyObject *as =
      v->seq == IG_SEQ_TUPLE
          ? PyList_AsTuple(out)
          : PySlice_New(PyList_GET_ITEM(out, 0), PyList_GET_ITEM(out, 1), PyList_GET_ITEM(out, 2));
  Py_DECREF(out);
  return as;
}

static PyObject *from_ints(const ig_value *v) {
  PyObject *out = PyList_New((Py_ssize_t)v->ints.n);
  for (size_t i = 0; out && i < v->ints.n; i++) {
    PyObject *item = py_from_int(v->ints.at[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyList_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  return out;
}

PyObject *py_from_value(ig_ctx *c, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return py_from_tensor(c, v->tensor);
    case IG_KIND_INT:
      return py_from_int(v->i);
    case IG_KIND_FLOAT:
      return v->f_expr ? sym_make(&py_symfloat_type, *v) : PyFloat_FromDouble(v->f);
    case IG_KIND_BOOL:
      return v->b_expr ? sym_make(&py_symbool_type, *v) : PyBool_FromLong(v->b);
    case IG_KIND_COMPLEX:
      return PyComplex_FromDoubles(v->z.re, v->z.im);
    case IG_KIND_STR:
      return PyUnicode_FromString(v->str);
    case IG_KIND_DTYPE:
      return py_from_dtype(v->dtype);
    case IG_KIND_DEVICE:
      return py_from_device(v->device);
    case IG_KIND_LAYOUT:
      return py_from_layout(v->layout);
    case IG_KIND_MEMORY_FORMAT:
      return py_from_memory_format(v->memory_format);
    case IG_KIND_INTS:
      return from_ints(v);
    case IG_KIND_LIST:
      return from_list(c, v);
    case IG_KIND_OBJECT:
      return Py_NewRef((PyObject *)v->object);
    default:
      Py_RETURN_NONE;
  }
}

static void sym_dealloc(PyObject *o) {
  py_sym *s = (py_sym *)o;
  if (s->sym) ig_ref_release(&s->sym->ref);
  PyObject_Free(o);
}

static bool two_ints(PyObject *a, PyObject *b, ig_int *x, ig_int *y) {
  bool ok = py_to_int(a, x) == PY_TAKEN && py_to_int(b, y) == PY_TAKEN;
  if (!ok) PyErr_Clear();
  return ok;
}

static PyObject *answer(ig_int i) {
  return py_ok(py_ctx()) ? py_from_int(i) : NULL;
}

// A float operand makes the result a float: the symbol is specialised.
static PyObject *as_floats(PyObject *a, PyObject *b, binaryfunc fn) {
  if (!PyFloat_Check(a) && !PyFloat_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *x = PyNumber_Float(a);
  PyObject *y = x ? PyNumber_Float(b) : NULL;
  PyObject *out = y ? fn(x, y) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return out;
}

#define ARITHMETIC(name, fallback)                                            \
  static PyObject *symint_##name(PyObject *a, PyObject *b) {                  \
    ig_int x;                                                                 \
    ig_int y;                                                                 \
    if (!two_ints(a, b, &x, &y)) return as_floats(a, b, PyNumber_##fallback); \
    return answer(ig_int_##name(py_ctx(), x, y));                             \
  }
ARITHMETIC(add, Add)
ARITHMETIC(sub, Subtract)
ARITHMETIC(mul, Multiply)
ARITHMETIC(floordiv, FloorDivide)
ARITHMETIC(mod, Remainder)

static PyObject *symint_neg(PyObject *o) {
  return answer(ig_int_sub(py_ctx(), ig_const(0), ((py_sym *)o)->v.i));
}
static PyObject *symint_pos(PyObject *o) {
  return Py_NewRef(o);
}

static PyObject *symint_compare(PyObject *a, PyObject *b, int how) {
  ig_int x;
  ig_int y;
  ig_ctx *c = py_ctx();
  if (!two_ints(a, b, &x, &y)) Py_RETURN_NOTIMPLEMENTED;
  static const ig_rel rels[] = {[Py_LT] = IG_LT, [Py_LE] = IG_LE, [Py_EQ] = IG_EQ,
                                [Py_NE] = IG_NE, [Py_GT] = IG_LT, [Py_GE] = IG_LE};
  bool swap = how == Py_GT || how == Py_GE;
  bool yes = ig_int_is(c, swap ? y : x, rels[how], swap ? x : y);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

static PyObject *symint_int(PyObject *o) {
  ig_ctx *c = py_ctx();
  int64_t i = ig_int_specialize(c, ((py_sym *)o)->v.i);
  return py_ok(c) ? PyLong_FromLongLong(i) : NULL;
}
static PyObject *symint_float(PyObject *o) {
  PyObject *i = symint_int(o);
  PyObject *f = i ? PyNumber_Float(i) : NULL;
  Py_XDECREF(i);
  return f;
}
static PyObject *symint_truediv(PyObject *a, PyObject *b) {
  PyObject *x = PyNumber_Float(a);
  PyObject *y = x ? PyNumber_Float(b) : NULL;
  PyObject *out = y ? PyNumber_TrueDivide(x, y) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return out;
}
static PyObject *symint_power(PyObject *a, PyObject *b, PyObject *unused) {
  (void)unused;
  ig_int base;
  if (py_to_int(a, &base) != PY_TAKEN || !PyLong_Check(b)) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  long n = PyLong_AsLong(b);
  if (n < 0 || n > 64 || PyErr_Occurred()) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  ig_int out = ig_const(1);
  for (long i = 0; i < n; i++) out = ig_int_mul(py_ctx(), out, base);
  return answer(out);
}
static int symint_bool(PyObject *o) {
  ig_ctx *c = py_ctx();
  bool yes = ig_int_is(c, ((py_sym *)o)->v.i, IG_NE, ig_const(0));
  return py_ok(c) ? yes : -1;
}

static PyObject *symint_repr(PyObject *o) {
  return PyUnicode_FromString(ig_int_text(py_ctx(), ((py_sym *)o)->v.i));
}
static Py_hash_t sym_hash(PyObject *o) {
  return _Py_HashPointer(((py_sym *)o)->v.i.expr);
}

static PyNumberMethods symint_number = {
    .nb_add = symint_add,
    .nb_subtract = symint_sub,
    .nb_multiply = symint_mul,
    .nb_floor_divide = symint_floordiv,
    .nb_remainder = symint_mod,
    .nb_true_divide = symint_truediv,
    .nb_power = symint_power,
    .nb_negative = symint_neg,
    .nb_positive = symint_pos,
    .nb_bool = symint_bool,
    .nb_int = symint_int,
    .nb_index = symint_int,
    .nb_float = symint_float,
};
PyTypeObject py_symint_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.SymInt",
    .tp_basicsize = sizeof(py_sym),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = sym_dealloc,
    .tp_repr = symint_repr,
    .tp_hash = sym_hash,
    .tp_as_number = &symint_number,
    .tp_richcompare = symint_compare,
};

static PyObject *symfloat_float(PyObject *o) {
  return PyFloat_FromDouble(((py_sym *)o)->v.f);
}
static PyNumberMethods symfloat_number = {.nb_float = symfloat_float};
PyTypeObject py_symfloat_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.SymFloat",
    .tp_basicsize = sizeof(py_sym),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = sym_dealloc,
    .tp_as_number = &symfloat_number,
};

static int symbool_bool(PyObject *o) {
  return ((py_sym *)o)->v.b;
}
static PyNumberMethods symbool_number = {.nb_bool = symbool_bool};
PyTypeObject py_symbool_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot.SymBool",
    .tp_basicsize = sizeof(py_sym),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = sym_dealloc,
    .tp_as_number = &symbool_number,
};

int py_add_syms(PyObject *m) {
  if (PyType_Ready(&py_symint_type) || PyType_Ready(&py_symfloat_type) ||
      PyType_Ready(&py_symbool_type)) {
    return -1;
  }
  return PyModule_AddObjectRef(m, "SymInt", (PyObject *)&py_symint_type) ||
         PyModule_AddObjectRef(m, "SymFloat", (PyObject *)&py_symfloat_type) ||
         PyModule_AddObjectRef(m, "SymBool", (PyObject *)&py_symbool_type);
}
