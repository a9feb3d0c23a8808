// SPDX-License-Identifier: Apache-2.0
// SymInt, SymFloat, SymBool: numbers that are expressions over the symbols of a capture.
//
// Arithmetic and comparisons make new expressions (and nodes, while a capture is open). Where
// Python needs to know (a branch, an index, a float), the engine is asked: it knows, guards, or
// refuses.
#include <string.h>

#include "op/record.h"
#include "op/shape.h"
#include "py.h"

static void sym_dealloc(PyObject *o) {
  py_sym *s = (py_sym *)o;
  if (s->sym) ig_ref_release(&s->sym->ref);
  PyObject_Free(o);
}

static ig_value value_of(PyObject *o) {
  return ((py_sym *)o)->v;
}

static PyObject *result(ig_ctx *c, const ig_value *v) {
  return py_ok(c) ? py_from_value(c, v) : NULL;
}

static bool number_of(PyObject *o, ig_value *v) {
  py_take taken = py_is_tensor(o) ? PY_OTHER : py_to_number(o, v);
  if (taken == PY_FAILED) PyErr_Clear();
  return taken == PY_TAKEN && v->kind != IG_KIND_COMPLEX;
}

static PyObject *apply(ig_expr_kind fn, PyObject *const *operands, size_t n) {
  ig_value args[3];
  ig_value out;
  ig_ctx *c = py_ctx();
  for (size_t i = 0; i < n; i++) {
    if (!number_of(operands[i], &args[i])) Py_RETURN_NOTIMPLEMENTED;
  }
  ig_sym_call(c, fn, args, n, &out);
  return result(c, &out);
}

static PyObject *apply1(ig_expr_kind fn, PyObject *a) {
  return apply(fn, &a, 1);
}
static PyObject *apply2(ig_expr_kind fn, PyObject *a, PyObject *b) {
  PyObject *both[] = {a, b};
  return apply(fn, both, 2);
}

#define BINARY(name, kind)                                \
  static PyObject *sym_##name(PyObject *a, PyObject *b) { \
    return apply2(IG_EXPR_##kind, a, b);                  \
  }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(floordiv, FLOORDIV)
BINARY(mod, MOD)
BINARY(truediv, TRUEDIV)
BINARY(and, AND)
BINARY(or, OR)

static PyObject *sym_neg(PyObject *o) {
  return apply1(IG_EXPR_NEG, o);
}
static PyObject *sym_pos(PyObject *o) {
  return Py_NewRef(o);
}
static PyObject *sym_abs(PyObject *o) {
  return apply1(IG_EXPR_ABS, o);
}
static PyObject *sym_invert(PyObject *o) {
  return apply1(IG_EXPR_NOT, o);
}
static PyObject *sym_power(PyObject *a, PyObject *b, PyObject *unused) {
  (void)unused;
  return apply2(IG_EXPR_POW, a, b);
}

static PyObject *sym_compare(PyObject *a, PyObject *b, int how) {
  static const ig_expr_kind kinds[] = {
      [Py_LT] = IG_EXPR_LT, [Py_LE] = IG_EXPR_LE, [Py_EQ] = IG_EXPR_EQ,
      [Py_NE] = IG_EXPR_NE, [Py_GT] = IG_EXPR_GT, [Py_GE] = IG_EXPR_GE};
  return apply2(kinds[how], a, b);
}

// ---- where Python needs to know ----

static PyObject *symint_int(PyObject *o) {
  ig_ctx *c = py_ctx();
  int64_t i = ig_int_guard(c, value_of(o).i);
  return py_ok(c) ? PyLong_FromLongLong(i) : NULL;
}
static PyObject *symint_float(PyObject *o) {
  PyObject *i = symint_int(o);
  PyObject *f = i ? PyNumber_Float(i) : NULL;
  Py_XDECREF(i);
  return f;
}
static PyObject *symfloat_float(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_value v = value_of(o);
  double f = ig_float_guard(c, &v);
  return py_ok(c) ? PyFloat_FromDouble(f) : NULL;
}
static PyObject *symfloat_int(PyObject *o) {
  PyObject *f = symfloat_float(o);
  PyObject *i = f ? PyNumber_Long(f) : NULL;
  Py_XDECREF(f);
  return i;
}
static int sym_bool(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_value v = value_of(o);
  if (v.kind != IG_KIND_BOOL) {
    const ig_value pair[] = {v, ig_of_i64(0)};
    ig_sym_call(c, IG_EXPR_NE, pair, 2, &v);
    if (!py_ok(c)) return -1;
  }
  bool yes = ig_bool_guard(c, &v);
  return py_ok(c) ? yes : -1;
}
static PyObject *symbool_int(PyObject *o) {
  int yes = sym_bool(o);
  return yes < 0 ? NULL : PyLong_FromLong(yes);
}

// ---- methods ----

static PyObject *sym_repr(PyObject *o) {
  ig_value v = value_of(o);
  const ig_expr *e = v.kind == IG_KIND_INT     ? v.i.expr
                     : v.kind == IG_KIND_FLOAT ? v.f_expr
                                               : v.b_expr;
  ig_ctx *c = py_ctx();
  ig_str s = ig_str_make(c->alloc);
  bool open = c->sym && ((py_sym *)o)->sym == c->sym;
  const ig_expr *now = open ? ig_env_find(c, e) : NULL;
  ig_str_expr(&s, now ? now : e);
  PyObject *out = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at);
  ig_str_free(&s);
  return out;
}

static Py_hash_t sym_hash(PyObject *o) {
  ig_value v = value_of(o);
  const void *e = v.kind == IG_KIND_INT ? v.i.expr : v.kind == IG_KIND_FLOAT ? v.f_expr : v.b_expr;
  return _Py_HashPointer(e);
}

#define UNARY_METHOD(name, kind)                                  \
  static PyObject *method_##name(PyObject *o, PyObject *unused) { \
    (void)unused;                                                 \
    return apply1(IG_EXPR_##kind, o);                             \
  }
UNARY_METHOD(sym_float, TO_FLOAT)
UNARY_METHOD(sym_not, NOT)
UNARY_METHOD(sym_sqrt, SQRT)
UNARY_METHOD(floor, FLOOR)
UNARY_METHOD(ceil, CEIL)
UNARY_METHOD(trunc, TRUNC)

static PyObject *method_sym_int(PyObject *o, PyObject *unused) {
  (void)unused;
  return value_of(o).kind == IG_KIND_INT ? Py_NewRef(o) : apply1(IG_EXPR_TRUNC, o);
}
static PyObject *method_sym_max(PyObject *o, PyObject *other) {
  return apply2(IG_EXPR_MAX, o, other);
}
static PyObject *method_sym_min(PyObject *o, PyObject *other) {
  return apply2(IG_EXPR_MIN, o, other);
}
static PyObject *method_sym_ite(PyObject *o, PyObject *args) {
  PyObject *yes = NULL;
  PyObject *no = NULL;
  if (!PyArg_ParseTuple(args, "OO:sym_ite", &yes, &no)) return NULL;
  PyObject *all[] = {o, yes, no};
  return apply(IG_EXPR_PIECEWISE, all, 3);
}
// round(x) of a float; of digits, or of an integer, as Python.
static PyObject *method_python_round(PyObject *o, PyObject *args) {
  if (value_of(o).kind == IG_KIND_INT) return Py_NewRef(o);
  if (PyTuple_GET_SIZE(args) == 0) return apply1(IG_EXPR_ROUND, o);
  PyErr_SetString(PyExc_NotImplementedError, "round() of a symbolic float to digits");
  return NULL;
}

static PyMethodDef methods[] = {
    {"__sym_int__", method_sym_int, METH_NOARGS, NULL},
    {"__sym_float__", method_sym_float, METH_NOARGS, NULL},
    {"__sym_not__", method_sym_not, METH_NOARGS, NULL},
    {"__sym_sqrt__", method_sym_sqrt, METH_NOARGS, NULL},
    {"__sym_max__", method_sym_max, METH_O, NULL},
    {"__sym_min__", method_sym_min, METH_O, NULL},
    {"__sym_ite__", method_sym_ite, METH_VARARGS, NULL},
    {"__floor__", method_floor, METH_NOARGS, NULL},
    {"__ceil__", method_ceil, METH_NOARGS, NULL},
    {"__trunc__", method_trunc, METH_NOARGS, NULL},
    {"__round__", method_python_round, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define ARITHMETIC                                                                               \
  .nb_add = sym_add, .nb_subtract = sym_sub, .nb_multiply = sym_mul,                             \
  .nb_floor_divide = sym_floordiv, .nb_remainder = sym_mod, .nb_true_divide = sym_truediv,       \
  .nb_power = sym_power, .nb_negative = sym_neg, .nb_positive = sym_pos, .nb_absolute = sym_abs, \
  .nb_bool = sym_bool

static PyNumberMethods symint_number = {ARITHMETIC, .nb_int = symint_int, .nb_index = symint_int,
                                        .nb_float = symint_float};
static PyNumberMethods symfloat_number = {ARITHMETIC, .nb_int = symfloat_int,
                                          .nb_float = symfloat_float};
static PyNumberMethods symbool_number = {.nb_and = sym_and,
                                         .nb_or = sym_or,
                                         .nb_invert = sym_invert,
                                         .nb_bool = sym_bool,
                                         .nb_int = symbool_int,
                                         .nb_add = sym_add,
                                         .nb_subtract = sym_sub,
                                         .nb_multiply = sym_mul};

#define TYPE(title, number)                                                                  \
  {                                                                                          \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot." title, .tp_basicsize = sizeof(py_sym), \
                                .tp_flags =                                                  \
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,  \
                                .tp_dealloc = sym_dealloc, .tp_repr = sym_repr,              \
                                .tp_hash = sym_hash, .tp_as_number = &(number),              \
                                .tp_richcompare = sym_compare, .tp_methods = methods         \
  }
PyTypeObject py_symint_type = TYPE("SymInt", symint_number);
PyTypeObject py_symfloat_type = TYPE("SymFloat", symfloat_number);
PyTypeObject py_symbool_type = TYPE("SymBool", symbool_number);

// ---- what the program states ----

// expect_true(cond): torch._check of a symbolic condition. False: it does not hold.
static PyObject *expect_true(PyObject *module, PyObject *o) {
  (void)module;
  ig_value v;
  if (!number_of(o, &v) || v.kind != IG_KIND_BOOL) {
    PyErr_Format(PyExc_TypeError, "cond must be a bool, but got %s", Py_TYPE(o)->tp_name);
    return NULL;
  }
  ig_ctx *c = py_ctx();
  bool yes = ig_bool_expect(c, &v, NULL);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

static PyObject *check_is_size(PyObject *module, PyObject *o) {
  (void)module;
  ig_int i;
  ig_ctx *c = py_ctx();
  if (py_to_int(o, &i) != PY_TAKEN) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a size is an integer");
    return NULL;
  }
  if (i.expr) ig_sym_constrain(c, i, 0, INT64_MAX, true);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

// sym_constrain(i, lo or None, hi or None, size)
static PyObject *constrain(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  PyObject *lo = NULL;
  PyObject *hi = NULL;
  int size = 0;
  ig_int i;
  if (!PyArg_ParseTuple(args, "OOOp:sym_constrain", &o, &lo, &hi, &size)) return NULL;
  if (py_to_int(o, &i) != PY_TAKEN) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_ValueError, "Constraining SymFloat or Symbool is nyi");
    return NULL;
  }
  long long low = lo == Py_None ? INT64_MIN : PyLong_AsLongLong(lo);
  long long high = hi == Py_None ? INT64_MAX : PyLong_AsLongLong(hi);
  if (PyErr_Occurred()) return NULL;
  ig_ctx *c = py_ctx();
  ig_sym_constrain(c, i, low, high, size != 0);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"expect_true", expect_true, METH_O, NULL},
    {"check_is_size", check_is_size, METH_O, NULL},
    {"sym_constrain", constrain, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_syms(PyObject *m) {
  if (PyType_Ready(&py_symint_type) || PyType_Ready(&py_symfloat_type) ||
      PyType_Ready(&py_symbool_type) || PyModule_AddFunctions(m, functions)) {
    return -1;
  }
  return PyModule_AddObjectRef(m, "SymInt", (PyObject *)&py_symint_type) ||
         PyModule_AddObjectRef(m, "SymFloat", (PyObject *)&py_symfloat_type) ||
         PyModule_AddObjectRef(m, "SymBool", (PyObject *)&py_symbool_type);
}
