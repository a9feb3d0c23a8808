// SPDX-License-Identifier: Apache-2.0
// Sizes that remember where they come from. While torch.compile records, the size of a tensor is an
// int whose class is a subclass of int, and what is computed from it with + - * // % is one as
// well; so are elements under capture_scalar_outputs. An operator that takes such a number knows
// how it was computed; a trace then writes it as an expression of the sizes, or as a symbol. This
// is a hint only: an entry checks the number itself at every call. When the recording ends, those
// that are still alive become plain ints.
#include "capture/defer.h"
#include "py.h"

static PyTypeObject tracked_type;

static uint32_t expr_of(const ig_defer *d, PyObject *o) {
  const ig_table_slot *at = Py_IS_TYPE(o, &tracked_type) ? ig_table_find(&d->tracked, o) : NULL;
  return at ? (uint32_t)at->number : 0;
}

// An int object of its own: small numbers are shared otherwise.
static PyObject *make(ig_defer *d, int64_t value, uint32_t expr) {
  PyObject *plain = PyLong_FromLongLong(value);
  if (!plain || !expr) return plain;
  PyObject *args = PyTuple_Pack(1, plain);
  PyObject *o = args ? PyLong_Type.tp_new(&tracked_type, args, NULL) : NULL;
  Py_XDECREF(args);
  Py_DECREF(plain);
  ig_table_slot *at = o ? ig_table_put(&d->tracked, o) : NULL;
  if (o && !at) {
    Py_DECREF(o);
    return PyErr_NoMemory();
  }
  if (at) {
    at->number = expr;
    Py_INCREF(o);  // the table keeps it, so that no other object has its address
  }
  return o;
}

PyObject *py_tracked_size(ig_ctx *c, const ig_tensor *t, int dim) {
  ig_defer *d = ig_defer_of(c);
  int64_t value = ig_sizes(t)[dim].value;
  uint32_t expr = 0;
  if (d && !d->busy) {
    expr = ig_defer_expr_add(
        d, &(ig_defer_expr){
               .kind = IG_EXPR_SYMBOL, .tensor = t, .dim = (uint32_t)dim, .value = value});
  }
  return make(d, value, expr);
}

// An element of a tensor that the program has read; o: the plain int, consumed.
PyObject *py_tracked_element(ig_ctx *c, PyObject *o) {
  ig_defer *d = ig_defer_of(c);
  if (!o || !d || d->busy || !d->elements || !PyLong_CheckExact(o)) return o;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
  ig_defer_expr e = {.kind = IG_EXPR_SYMBOL, .value = value};
  uint32_t expr = overflow ? 0 : ig_defer_expr_add(d, &e);
  if (!expr) return o;
  Py_DECREF(o);
  return make(d, value, expr);
}

ig_int py_tracked_int(PyObject *o, int64_t value) {
  const ig_defer *d = Py_IS_TYPE(o, &tracked_type) ? ig_defer_of(py_ctx()) : NULL;
  return ig_defer_int(value, d && !d->busy ? expr_of(d, o) : 0);
}

void py_tracked_end(ig_defer *d) {
  for (size_t i = 0; i < d->tracked.cap; i++) {
    PyObject *o = (PyObject *)d->tracked.slots[i].key;
    if (!o) continue;
    // Same layout and same way to be freed: the class has nothing of its own but the operators.
    Py_SET_TYPE(o, &PyLong_Type);
    Py_DECREF(o);
  }
  ig_table_free(&d->tracked);
  d->tracked = ig_table_make(d->alloc);
}

// The plain result, with the expression if both operands are numbers that fit.
static PyObject *combine(PyObject *a, PyObject *b, binaryfunc plain, ig_expr_kind kind) {
  PyObject *out = plain(a, b);
  ig_defer *d = ig_defer_of(py_ctx());
  if (!out || !d || !PyLong_CheckExact(out)) return out;
  if (!PyLong_Check(a) || !PyLong_Check(b) || PyBool_Check(a) || PyBool_Check(b)) return out;
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(out, &overflow);
  uint32_t expr = overflow
                      ? 0
                      : ig_defer_expr_combine(d, kind, expr_of(d, a), expr_of(d, b),
                                              PyLong_AsLongLong(a), PyLong_AsLongLong(b), value);
  PyErr_Clear();
  if (!expr) return out;
  Py_DECREF(out);
  return make(d, value, expr);
}

#define BINARY(name, slot, kind)                                          \
  static PyObject *name(PyObject *a, PyObject *b) {                       \
    return combine(a, b, PyLong_Type.tp_as_number->slot, IG_EXPR_##kind); \
  }
BINARY(add, nb_add, ADD)
BINARY(subtract, nb_subtract, SUB)
BINARY(multiply, nb_multiply, MUL)
BINARY(floor_divide, nb_floor_divide, FLOORDIV)
BINARY(modulo, nb_remainder, MOD)

static PyNumberMethods numbers = {
    .nb_add = add,
    .nb_subtract = subtract,
    .nb_multiply = multiply,
    .nb_floor_divide = floor_divide,
    .nb_remainder = modulo,
};
// Pickled and copied as what it is.
static PyObject *reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_BuildValue("(O(N))", (PyObject *)&PyLong_Type, PyLong_Type.tp_as_number->nb_int(o));
}
static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject tracked_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "int",
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_base = &PyLong_Type,
    .tp_as_number = &numbers,
    .tp_methods = methods,
};

int py_add_tracked(PyObject *m) {
  (void)m;
  tracked_type.tp_basicsize = PyLong_Type.tp_basicsize;
  tracked_type.tp_itemsize = PyLong_Type.tp_itemsize;
  tracked_type.tp_free = PyLong_Type.tp_free;
  tracked_type.tp_dealloc = PyLong_Type.tp_dealloc;
  tracked_type.tp_hash = PyLong_Type.tp_hash;
  tracked_type.tp_richcompare = PyLong_Type.tp_richcompare;
  tracked_type.tp_repr = PyLong_Type.tp_repr;
  return PyType_Ready(&tracked_type);
}
