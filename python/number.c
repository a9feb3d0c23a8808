// SPDX-License-Identifier: Apache-2.0
// Python's operators on tensors, and tensors as numbers. Each operator is exactly the call that
// PyTorch makes for it: 1 - x is rsub, 2 / x is reciprocal and mul, x & y is __and__.
#include "tensor/number.h"
#include "capture/defer.h"
#include "ir/graph.h"
#include "py.h"
#include "trace_script.h"

// If no overload accepts an operand, the other operand's method is tried.
static PyObject *or_not_implemented(PyObject *out) {
  if (out || !PyErr_ExceptionMatches(PyExc_TypeError)) return out;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *call2(py_fn fn, PyObject *a, PyObject *b) {
  PyObject *args[] = {a, b};
  return or_not_implemented(py_fn_call(fn, args, 2));
}

// The names of a Python operator as a PyTorch method and in the operator module.
typedef struct spelling {
  const char *cls;
  const char *name;
  const char *source;
} spelling;

static const char method[] = "method_descriptor";
static const char function[] = "function";  // PyTorch has it in Python

static PyObject *as_operator(py_fn fn, spelling s, PyObject *a, PyObject *b) {
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, s.cls, s.name, s.source);
  PyObject *out = b ? call2(fn, a, b) : py_fn_call(fn, &a, 1);
  if (inside) py_region_leave(c);
  return out;
}

// a op b, where the tensor may stand on either side: `reflected` takes (b, a).
static PyObject *binary(py_fn fn, py_fn reflected, PyObject *a, PyObject *b) {
  return py_is_tensor(a) ? call2(fn, a, b) : call2(reflected, b, a);
}

#define COMMUTING(name)                                  \
  static PyObject *nb_##name(PyObject *a, PyObject *b) { \
    return binary(PY_FN_##name, PY_FN_##name, a, b);     \
  }
COMMUTING(add)
COMMUTING(mul)

static PyObject *nb_sub(PyObject *a, PyObject *b) {
  if (py_is_tensor(a)) return call2(PY_FN_sub, a, b);
  return as_operator(PY_FN_rsub, (spelling){function, "__rsub__", "sub"}, b, a);
}
static PyObject *nb_truediv(PyObject *a, PyObject *b) {
  if (py_is_tensor(a)) return as_operator(PY_FN_div, (spelling){method, "div", "truediv"}, a, b);
  ig_value v;
  if (py_to_number(a, &v) != IG_MATCH_TAKEN) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  ig_ctx *c = py_ctx();
  bool inside = py_region(c, function, "__rdiv__", "truediv");
  PyObject *inverse = py_fn_call(PY_FN_reciprocal, &b, 1);
  PyObject *out = inverse ? call2(PY_FN_mul, inverse, a) : NULL;
  Py_XDECREF(inverse);
  if (inside) py_region_leave(c);
  return out;
}

// The same function either way, operands in the order they stand; `left` and `right` are the names
// where the tensor stands there.
static PyObject *ordered(py_fn fn, spelling left, spelling right, PyObject *a, PyObject *b) {
  return as_operator(fn, py_is_tensor(a) ? left : right, a, b);
}
static PyObject *nb_floordiv(PyObject *a, PyObject *b) {
  return ordered(PY_FN_floor_divide, (spelling){function, "__floordiv__", "floordiv"},
                 (spelling){function, "__rfloordiv__", "floordiv"}, a, b);
}
static PyObject *nb_mod(PyObject *a, PyObject *b) {
  return ordered(PY_FN_remainder, (spelling){method, "remainder", "mod"},
                 (spelling){function, "__rmod__", "mod"}, a, b);
}
static PyObject *nb_matmul(PyObject *a, PyObject *b) {
  return call2(PY_FN_matmul, a, b);
}
static PyObject *nb_pow(PyObject *a, PyObject *b, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return ordered(PY_FN_pow, (spelling){function, "pow", "pow"},
                 (spelling){function, "__rpow__", "pow"}, a, b);
}

#define BITWISE(slot, name, source, reflected)                                  \
  static PyObject *nb_##slot(PyObject *a, PyObject *b) {                        \
    if (!py_is_tensor(a)) return call2(PY_FN_##reflected, b, a);                \
    return as_operator(PY_FN_##name, (spelling){method, #name, #source}, a, b); \
  }
BITWISE(and, __and__, and_, bitwise_and)
BITWISE(or, __or__, or_, bitwise_or)
BITWISE(xor, __xor__, xor, bitwise_xor)

#define SHIFT(slot, whole)                                                                    \
  static PyObject *nb_##slot(PyObject *a, PyObject *b) {                                      \
    if (!py_is_tensor(a)) return call2(PY_FN_##whole, a, b);                                  \
    return as_operator(PY_FN___##slot##__, (spelling){method, "__" #slot "__", #slot}, a, b); \
  }
SHIFT(lshift, bitwise_left_shift)
SHIFT(rshift, bitwise_right_shift)

#define INPLACE(slot, name)                                                       \
  static PyObject *nb_i##slot(PyObject *a, PyObject *b) {                         \
    return as_operator(PY_FN_##name, (spelling){method, #name, "i" #slot}, a, b); \
  }
INPLACE(add, add_)
INPLACE(sub, sub_)
INPLACE(mul, mul_)
INPLACE(truediv, div_)
INPLACE(floordiv, floor_divide_)
INPLACE(mod, remainder_)
INPLACE(and, __iand__)
INPLACE(or, __ior__)
INPLACE(xor, __ixor__)
INPLACE(lshift, __ilshift__)
INPLACE(rshift, __irshift__)

static PyObject *nb_ipow(PyObject *a, PyObject *b, PyObject *modulus) {
  (void)modulus;
  return call2(PY_FN_pow_, a, b);
}

#define UNARY(slot, name)                   \
  static PyObject *nb_##slot(PyObject *a) { \
    return py_fn_call(PY_FN_##name, &a, 1); \
  }
UNARY(negative, neg)
UNARY(positive, positive)

static PyObject *nb_absolute(PyObject *a) {
  return as_operator(PY_FN_abs, (spelling){method, "abs", "__abs__"}, a, NULL);
}
static PyObject *nb_invert(PyObject *a) {
  return as_operator(PY_FN_bitwise_not, (spelling){method, "__invert__", "invert"}, a, NULL);
}

PyObject *py_tensor_compare(PyObject *a, PyObject *b, int how) {
  static const py_fn fns[] = {[Py_LT] = PY_FN_lt, [Py_LE] = PY_FN_le, [Py_EQ] = PY_FN_eq,
                              [Py_NE] = PY_FN_ne, [Py_GT] = PY_FN_gt, [Py_GE] = PY_FN_ge};
  if (how == Py_EQ) return as_operator(PY_FN_eq, (spelling){method, "__eq__", "eq"}, a, b);
  return call2(fns[how], a, b);
}

// ---- as a number ----

static int64_t numel(PyObject *o) {
  return ig_tensor_numel(py_tensor_of(o));
}

// Distinguishes a branch on a tensor from one on a number that was read from it.
static void mark_branch(void) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  if (!PyErr_ExceptionMatches(py.guard_error)) return;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && PyObject_SetAttrString(value, "_on_tensor", Py_True) != 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

// Whether the truth is asserted by a statement, which a strict capture records: then it holds. -1:
// an error.
static int is_asserted(PyObject *o) {
  const ig_graph *g = py_ctx()->mode->capture;
  if (!g || !g->strict) return 0;
  PyObject *module = PyImport_ImportModule("ingot.export._assertions");
  PyObject *answer = module ? PyObject_CallMethod(module, "asserted", "O", o) : NULL;
  int yes = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(module);
  Py_XDECREF(answer);
  return yes;
}

static int nb_bool(PyObject *o) {
  if (!py_trace_constant(py_ctx(), "boolean")) return -1;
  int64_t n = numel(o);
  if (n != 1) {
    PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous",
                 n == 0 ? "no values" : "more than one value");
    return -1;
  }
  int asserted = is_asserted(o);
  if (asserted != 0) return asserted;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_defer_push_need(c, &(ig_defer_need){.decides = true});
  PyObject *item = py_tensor_item(c, py_tensor_of(o));
  ig_mode_pop(c, &mode);
  int yes = item ? PyObject_IsTrue(item) : -1;
  if (item && yes < 0) mark_branch();
  Py_XDECREF(item);
  return yes;
}

static PyObject *only_item(PyObject *o) {
  if (numel(o) != 1) {
    PyErr_SetString(PyExc_ValueError,
                    "only one element tensors can be converted to Python scalars");
    return NULL;
  }
  return py_tensor_item(py_ctx(), py_tensor_of(o));
}

static PyObject *nb_int(PyObject *o) {
  if (!py_trace_constant(py_ctx(), "integer")) return NULL;
  PyObject *item = only_item(o);
  PyObject *out = item ? PyNumber_Long(item) : NULL;
  Py_XDECREF(item);
  return out;
}
static PyObject *nb_float(PyObject *o) {
  if (!py_trace_constant(py_ctx(), "float")) return NULL;
  PyObject *item = only_item(o);
  PyObject *out = item ? PyNumber_Float(item) : NULL;
  Py_XDECREF(item);
  return out;
}
static PyObject *nb_index(PyObject *o) {
  const ig_tensor *t = py_tensor_of(o);
  bool integral = ig_dtype_is_integral(t->dtype) || t->dtype == IG_BOOL;
  if (!integral || numel(o) != 1) {
    PyErr_SetString(PyExc_TypeError,
                    "only integer tensors of a single element can be converted to an index");
    return NULL;
  }
  PyObject *item = only_item(o);
  PyObject *out = item ? PyNumber_Index(item) : NULL;
  Py_XDECREF(item);
  return out;
}

#define SLOT(id, fn) \
  { Py_##id, (void (*)(void))(fn) }
const py_slot py_number_slots[PY_NUMBER_SLOTS] = {
    SLOT(nb_add, nb_add),
    SLOT(nb_subtract, nb_sub),
    SLOT(nb_multiply, nb_mul),
    SLOT(nb_remainder, nb_mod),
    SLOT(nb_power, nb_pow),
    SLOT(nb_negative, nb_negative),
    SLOT(nb_positive, nb_positive),
    SLOT(nb_absolute, nb_absolute),
    SLOT(nb_bool, nb_bool),
    SLOT(nb_invert, nb_invert),
    SLOT(nb_lshift, nb_lshift),
    SLOT(nb_rshift, nb_rshift),
    SLOT(nb_and, nb_and),
    SLOT(nb_xor, nb_xor),
    SLOT(nb_or, nb_or),
    SLOT(nb_int, nb_int),
    SLOT(nb_float, nb_float),
    SLOT(nb_inplace_add, nb_iadd),
    SLOT(nb_inplace_subtract, nb_isub),
    SLOT(nb_inplace_multiply, nb_imul),
    SLOT(nb_inplace_remainder, nb_imod),
    SLOT(nb_inplace_power, nb_ipow),
    SLOT(nb_inplace_lshift, nb_ilshift),
    SLOT(nb_inplace_rshift, nb_irshift),
    SLOT(nb_inplace_and, nb_iand),
    SLOT(nb_inplace_xor, nb_ixor),
    SLOT(nb_inplace_or, nb_ior),
    SLOT(nb_floor_divide, nb_floordiv),
    SLOT(nb_true_divide, nb_truediv),
    SLOT(nb_inplace_floor_divide, nb_ifloordiv),
    SLOT(nb_inplace_true_divide, nb_itruediv),
    SLOT(nb_index, nb_index),
    SLOT(nb_matrix_multiply, nb_matmul),
};
