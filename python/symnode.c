// SPDX-License-Identifier: Apache-2.0
// SymInt.node: the expression as an object that prints, compares and lists its symbols; the hint.
#include <string.h>
#include "fx.h"

#include "op/record.h"
#include "py.h"
#include "sym/env.h"
#include "symexpr.h"

typedef struct py_expr {
  PyObject_HEAD const ig_expr *e;
  ig_sym *sym;
} py_expr;
typedef struct py_symnode {
  PyObject_HEAD PyObject *number;  // py_sym
} py_symnode;

static PyTypeObject expr_type;
static PyTypeObject symnode_type;

// ---- expressions ----

PyObject *py_from_expr(const ig_expr *e, ig_sym *sym) {
  py_expr *o = PyObject_New(py_expr, &expr_type);
  if (!o) return NULL;
  o->e = e;
  o->sym = sym;
  if (sym) ig_ref_retain(&sym->ref);
  return (PyObject *)o;
}
static void expr_dealloc(PyObject *o) {
  if (((py_expr *)o)->sym) ig_ref_release(&((py_expr *)o)->sym->ref);
  PyObject_Free(o);
}
static PyObject *expr_repr(PyObject *o) {
  ig_str s = ig_str_make(ig_alloc_libc());
  ig_str_expr(&s, ((py_expr *)o)->e);
  PyObject *text = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at);
  ig_str_free(&s);
  return text;
}
static Py_hash_t expr_hash(PyObject *o) {
  return _Py_HashPointer(((py_expr *)o)->e);
}
static bool plain_number(const ig_expr *e, ig_value *v) {
  bool plain = e->kind == IG_EXPR_CONST || e->kind == IG_EXPR_FLOAT || e->kind == IG_EXPR_BOOL;
  if (plain) ig_value_of_expr(e, v);
  return plain;
}
static PyObject *expr_order(PyObject *a, PyObject *b, int how);
// Equal expressions are one; numbers compare as numbers; texts of symbols across environments.
static PyObject *expr_compare(PyObject *a, PyObject *b, int how) {
  if (how != Py_EQ && how != Py_NE) return expr_order(a, b, how);
  bool same = false;
  if (Py_IS_TYPE(b, &expr_type)) {
    same = ((py_expr *)a)->e == ((py_expr *)b)->e;
    if (!same && ((py_expr *)a)->sym != ((py_expr *)b)->sym) {
      PyObject *x = expr_repr(a);
      PyObject *y = x ? expr_repr(b) : NULL;
      same = y && PyUnicode_Compare(x, y) == 0;
      Py_XDECREF(x);
      Py_XDECREF(y);
      if (PyErr_Occurred()) return NULL;
    }
  } else {
    ig_value v;
    PyObject *number = plain_number(((py_expr *)a)->e, &v) ? py_from_value(py_ctx(), &v) : NULL;
    if (!number) Py_RETURN_NOTIMPLEMENTED;
    int equal = PyObject_RichCompareBool(number, b, Py_EQ);
    Py_DECREF(number);
    if (equal < 0) return NULL;
    same = equal == 1;
  }
  return PyBool_FromLong(same == (how == Py_EQ));
}
// ---- arithmetic: that of the numbers which expressions describe ----

PyObject *py_number_of_expr(PyObject *o) {
  if (!Py_IS_TYPE(o, &expr_type)) return Py_NewRef(o);
  py_expr *x = (py_expr *)o;
  ig_ctx *c = py_ctx();
  ig_value v;
  ig_value_of_expr(x->e, &v);
  ig_mode_scope mode = ig_mode_push_sym(c, x->sym);
  PyObject *out = py_from_value(c, &v);
  ig_mode_pop(c, &mode);
  return out;
}
static PyObject *expr_of_number(PyObject *number) {
  if (!number || !py_is_sym(number)) return number;
  py_sym *s = (py_sym *)number;
  PyObject *out = py_from_expr(ig_value_expr(&s->v), s->sym);
  Py_DECREF(number);
  return out;
}
static PyObject *expr_binary(PyObject *a, PyObject *b, binaryfunc fn) {
  PyObject *x = py_number_of_expr(a);
  PyObject *y = x ? py_number_of_expr(b) : NULL;
  PyObject *out = y ? fn(x, y) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return expr_of_number(out);
}
static PyObject *expr_add(PyObject *a, PyObject *b) {
  return expr_binary(a, b, PyNumber_Add);
}
static PyObject *expr_sub(PyObject *a, PyObject *b) {
  return expr_binary(a, b, PyNumber_Subtract);
}
static PyObject *expr_mul(PyObject *a, PyObject *b) {
  return expr_binary(a, b, PyNumber_Multiply);
}
static PyObject *expr_floordiv(PyObject *a, PyObject *b) {
  return expr_binary(a, b, PyNumber_FloorDivide);
}
static PyObject *expr_mod(PyObject *a, PyObject *b) {
  return expr_binary(a, b, PyNumber_Remainder);
}
static PyObject *expr_pow(PyObject *a, PyObject *b, PyObject *unused) {
  PyObject *x = py_number_of_expr(a);
  PyObject *y = x ? py_number_of_expr(b) : NULL;
  PyObject *out = y ? PyNumber_Power(x, y, unused) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return expr_of_number(out);
}
static PyObject *expr_neg(PyObject *a) {
  PyObject *x = py_number_of_expr(a);
  PyObject *out = x ? PyNumber_Negative(x) : NULL;
  Py_XDECREF(x);
  return expr_of_number(out);
}
static PyObject *expr_order(PyObject *a, PyObject *b, int how) {
  PyObject *x = py_number_of_expr(a);
  PyObject *y = x ? py_number_of_expr(b) : NULL;
  PyObject *out = y ? PyObject_RichCompare(x, y, how) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return expr_of_number(out);
}

static PyObject *expr_free_symbols(PyObject *o, void *unused) {
  (void)unused;
  py_expr *x = (py_expr *)o;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, x->sym);
  size_t n = 0;
  const ig_expr *const *at = ig_expr_symbols(c, x->e, &n);
  ig_mode_pop(c, &mode);
  if (!py_ok(c)) return NULL;
  PyObject *set = PySet_New(NULL);
  for (size_t i = 0; set && i < n; i++) {
    PyObject *item = py_from_expr(at[i], x->sym);
    if (!item || PySet_Add(set, item) != 0) Py_CLEAR(set);
    Py_XDECREF(item);
  }
  return set;
}
static PyObject *expr_is_number(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(ig_expr_is_number(((py_expr *)o)->e));
}
static PyObject *expr_is_symbol(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(((py_expr *)o)->e->kind == IG_EXPR_SYMBOL);
}
static PyObject *expr_name(PyObject *o, void *unused) {
  (void)unused;
  if (((py_expr *)o)->e->kind == IG_EXPR_SYMBOL) return expr_repr(o);
  PyErr_SetString(PyExc_AttributeError, "only a symbol has a name");
  return NULL;
}
static PyObject *expr_int(PyObject *o) {
  ig_value v;
  if (plain_number(((py_expr *)o)->e, &v) && v.kind == IG_KIND_INT)
    return PyLong_FromLongLong(v.i.value);
  PyErr_Format(PyExc_TypeError, "Cannot convert symbols to int");
  return NULL;
}
static PyNumberMethods expr_number = {
    .nb_int = expr_int,
    .nb_add = expr_add,
    .nb_subtract = expr_sub,
    .nb_multiply = expr_mul,
    .nb_floor_divide = expr_floordiv,
    .nb_remainder = expr_mod,
    .nb_power = expr_pow,
    .nb_negative = expr_neg,
};
static PyGetSetDef expr_getset[] = {
    {"free_symbols", expr_free_symbols, NULL, NULL, NULL},
    {"is_number", expr_is_number, NULL, NULL, NULL},
    {"is_symbol", expr_is_symbol, NULL, NULL, NULL},
    {"is_Symbol", expr_is_symbol, NULL, NULL, NULL},
    {"name", expr_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject expr_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.SymExpr",
    .tp_basicsize = sizeof(py_expr),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = expr_dealloc,
    .tp_repr = expr_repr,
    .tp_hash = expr_hash,
    .tp_richcompare = expr_compare,
    .tp_as_number = &expr_number,
    .tp_getset = expr_getset,
};

// ---- nodes ----

PyObject *py_sym_node(PyObject *o, void *unused) {
  (void)unused;
  py_symnode *n = PyObject_New(py_symnode, &symnode_type);
  if (n) n->number = Py_NewRef(o);
  return (PyObject *)n;
}
static py_sym *number_of(PyObject *o) {
  return (py_sym *)((py_symnode *)o)->number;
}
static void symnode_dealloc(PyObject *o) {
  Py_DECREF(((py_symnode *)o)->number);
  PyObject_Free(o);
}
static PyObject *symnode_repr(PyObject *o) {
  return PyObject_Repr(((py_symnode *)o)->number);
}
// With what is known by now.
static PyObject *symnode_expr(PyObject *o, void *unused) {
  (void)unused;
  py_sym *s = number_of(o);
  const ig_expr *e = ig_value_expr(&s->v);
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(c, s->sym);
  const ig_expr *found = s->sym ? ig_env_find(c, e) : e;
  ig_mode_pop(c, &mode);
  return py_ok(c) ? py_from_expr(found ? found : e, s->sym) : NULL;
}
static PyObject *symnode_hint(PyObject *o, void *unused) {
  (void)unused;
  const ig_value *v = &number_of(o)->v;
  const ig_expr *e = ig_value_expr(v);
  if (!e->hinted) Py_RETURN_NONE;
  if (v->kind == IG_KIND_INT) return PyLong_FromLongLong(e->value);
  return v->kind == IG_KIND_BOOL ? PyBool_FromLong(e->value != 0) : PyFloat_FromDouble(e->f);
}
static PyObject *symnode_has_hint(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_value_expr(&number_of(o)->v)->hinted);
}
static PyObject *symnode_require_hint(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"fallback", NULL};
  PyObject *fallback = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:require_hint", names, &fallback)) return NULL;
  PyObject *hint = symnode_hint(o, NULL);
  if (hint != Py_None) return hint;
  Py_DECREF(hint);
  if (fallback != Py_None) return Py_NewRef(fallback);
  PyErr_Format(PyExc_RuntimeError, "%R is read from data and has no hint", number_of(o));
  return NULL;
}
static PyObject *symnode_env(PyObject *o, void *unused) {
  (void)unused;
  PyObject *type = py_fx_class("ingot.fx.experimental.symbolic_shapes", "ShapeEnv");
  PyObject *env = type ? py_from_env(number_of(o)->sym) : NULL;
  PyObject *out = env ? PyObject_CallMethod(type, "_of", "O", env) : NULL;
  Py_XDECREF(env);
  return out;
}
static PyObject *symnode_pytype(PyObject *o, void *unused) {
  (void)unused;
  ig_kind kind = number_of(o)->v.kind;
  PyTypeObject *type = kind == IG_KIND_INT     ? &PyLong_Type
                       : kind == IG_KIND_FLOAT ? &PyFloat_Type
                                               : &PyBool_Type;
  return Py_NewRef((PyObject *)type);
}
static PyObject *symnode_maybe(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *expr = symnode_expr(o, NULL);
  ig_value v;
  bool plain = expr && plain_number(((py_expr *)expr)->e, &v);
  Py_XDECREF(expr);
  if (!expr) return NULL;
  return plain ? py_from_value(py_ctx(), &v) : Py_NewRef(Py_None);
}
static PyObject *symnode_is_symbolic(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_TRUE;
}
static PyObject *symnode_is_int(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(number_of(o)->v.kind == IG_KIND_INT);
}
static PyObject *symnode_is_float(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(number_of(o)->v.kind == IG_KIND_FLOAT);
}
static PyObject *symnode_is_bool(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(number_of(o)->v.kind == IG_KIND_BOOL);
}
static PyObject *symnode_str(PyObject *o, PyObject *unused) {
  (void)unused;
  return symnode_repr(o);
}
// guard_int(file, line) and its kin: the value of the example, which a guard makes hold.
static PyObject *symnode_guard_int(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyNumber_Long(((py_symnode *)o)->number);
}
static PyObject *symnode_guard_float(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyNumber_Float(((py_symnode *)o)->number);
}
static PyObject *symnode_guard_bool(PyObject *o, PyObject *unused) {
  (void)unused;
  int yes = PyObject_IsTrue(((py_symnode *)o)->number);
  return yes < 0 ? NULL : PyBool_FromLong(yes);
}
static PyObject *symnode_clone(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}
static PyObject *symnode_is_constant(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_FALSE;
}
static PyObject *symnode_constant(PyObject *o, void *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_NONE;
}
static PyGetSetDef symnode_getset[] = {
    {"expr", symnode_expr, NULL, NULL, NULL},
    {"_expr", symnode_expr, NULL, NULL, NULL},
    {"hint", symnode_hint, NULL, NULL, NULL},
    {"shape_env", symnode_env, NULL, NULL, NULL},
    {"pytype", symnode_pytype, NULL, NULL, NULL},
    {"constant", symnode_constant, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef symnode_methods[] = {
    {"has_hint", symnode_has_hint, METH_NOARGS, NULL},
    {"is_symbolic", symnode_is_symbolic, METH_NOARGS, NULL},
    {"is_int", symnode_is_int, METH_NOARGS, NULL},
    {"is_float", symnode_is_float, METH_NOARGS, NULL},
    {"is_bool", symnode_is_bool, METH_NOARGS, NULL},
    {"str", symnode_str, METH_NOARGS, NULL},
    {"require_hint", (PyCFunction)(void (*)(void))symnode_require_hint,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"maybe_as_int", symnode_maybe, METH_NOARGS, NULL},
    {"maybe_as_float", symnode_maybe, METH_NOARGS, NULL},
    {"maybe_as_bool", symnode_maybe, METH_NOARGS, NULL},
    {"guard_int", symnode_guard_int, METH_VARARGS, NULL},
    {"guard_float", symnode_guard_float, METH_VARARGS, NULL},
    {"guard_bool", symnode_guard_bool, METH_VARARGS, NULL},
    {"clone", symnode_clone, METH_NOARGS, NULL},
    {"is_constant", symnode_is_constant, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject symnode_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.SymNode",
    .tp_basicsize = sizeof(py_symnode),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = symnode_dealloc,
    .tp_repr = symnode_repr,
    .tp_getset = symnode_getset,
    .tp_methods = symnode_methods,
};

int py_add_symnode(PyObject *m) {
  if (PyType_Ready(&expr_type) || PyType_Ready(&symnode_type)) return -1;
  return PyModule_AddObjectRef(m, "SymExpr", (PyObject *)&expr_type) ||
         PyModule_AddObjectRef(m, "SymNode", (PyObject *)&symnode_type);
}
