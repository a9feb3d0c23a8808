// SPDX-License-Identifier: Apache-2.0
// SymInt, SymFloat, SymBool, and values of the engine as Python objects.
//
// Arithmetic and comparisons build expressions (ig_sym_call), which a capture records. Where Python
// needs a truth value or a number, the environment is queried: it knows the answer, guards, or
// raises an error. A number keeps its environment alive and also works where that is not the
// current one.
#include <string.h>

#include "op/arithmetic.h"
#include "op/record.h"
#include "py.h"
#include "sym/env.h"

static PyObject *sym_make(PyTypeObject *type, ig_value v) {
  ig_ctx *c = py_ctx();
  py_sym *o = PyObject_New(py_sym, type);
  if (!o) return NULL;
  o->v = v;
  o->sym = c->mode->sym;
  if (o->sym) ig_ref_retain(&o->sym->ref);
  return (PyObject *)o;
}

PyObject *py_from_int(ig_int i) {
  return i.expr ? sym_make(&py_symint_type, ig_of_int(i)) : PyLong_FromLongLong(i.value);
}

// Sizes of a fake tensor belong to its environment, whichever is the current one.
static ig_mode_scope enter_tensor(ig_ctx *c, const ig_tensor *t) {
  ig_sym *own = ig_tensor_sym(t);
  return ig_mode_push_sym(c, own ? own : c->mode->sym);
}
PyObject *py_int_of(const ig_tensor *t, ig_int i) {
  if (!i.expr) return PyLong_FromLongLong(i.value);
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter_tensor(c, t);
  PyObject *o = py_from_int(i);
  ig_mode_pop(c, &mode);
  return o;
}
PyObject *py_sizes_of(const ig_tensor *t, const ig_int *at) {
  ig_ctx *c = py_ctx();
  if (c->mode->rewrite && at == ig_sizes(t) && !ig_tensor_is_symbolic(t)) {
    PyObject *sizes = py_size_type.tp_alloc(&py_size_type, t->ndim);
    for (int d = 0; sizes && d < t->ndim; d++) {
      PyObject *item = py_tracked_size(c, t, d);
      if (!item) Py_CLEAR(sizes);
      if (item) PyTuple_SET_ITEM(sizes, d, item);
    }
    return sizes;
  }
  ig_mode_scope mode = enter_tensor(c, t);
  PyObject *o = py_size_make(at, t->ndim);
  ig_mode_pop(c, &mode);
  return o;
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
    case IG_KIND_NATIVE:
      return py_from_native(v->native);
    default:
      Py_RETURN_NONE;
  }
}

static void sym_dealloc(PyObject *o) {
  py_sym *s = (py_sym *)o;
  if (s->sym) ig_ref_release(&s->sym->ref);
  PyObject_Free(o);
}

bool py_is_sym(PyObject *o) {
  return Py_IS_TYPE(o, &py_symint_type) || Py_IS_TYPE(o, &py_symfloat_type) ||
         Py_IS_TYPE(o, &py_symbool_type);
}

// ---- arithmetic ----

// The environment of a number becomes the current one where there is none.
static ig_mode_scope enter(ig_ctx *c, PyObject *const *at, size_t n) {
  ig_sym *sym = c->mode->sym;
  for (size_t i = 0; i < n && !sym; i++) {
    if (py_is_sym(at[i])) sym = ((py_sym *)at[i])->sym;
  }
  return ig_mode_push_sym(c, sym);
}

// fn of numbers; NotImplemented when one is something else.
static PyObject *apply(ig_expr_kind fn, PyObject *const *at, size_t n) {
  enum { MOST = 3 };
  ig_value args[MOST];
  ig_value out;
  for (size_t i = 0; i < n; i++) {
    ig_match taken = py_is_tensor(at[i]) ? IG_MATCH_OTHER : py_to_number(at[i], &args[i]);
    if (taken == IG_MATCH_REFUSED) return NULL;
    if (taken == IG_MATCH_OTHER || args[i].kind == IG_KIND_COMPLEX) Py_RETURN_NOTIMPLEMENTED;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, at, n);
  ig_sym_call(c, fn, args, n, &out);
  const char *target = c->mode->capture && ig_value_expr(&out) ? ig_sym_target(fn) : NULL;
  if (target) py_trace_name(c, ig_sym_base(target), 1);
  if (target) ig_record_arithmetic(c, fn, args, n, &out);
  PyObject *result = py_ok(c) ? py_from_value(c, &out) : NULL;
  ig_mode_pop(c, &mode);
  return result;
}

static bool is_float(PyObject *o) {
  return PyFloat_Check(o) || Py_IS_TYPE(o, &py_symfloat_type);
}

// The example value of a symbolic number, other numbers themselves; None: unknown.
static PyObject *example_of(PyObject *o) {
  if (!py_is_sym(o)) return Py_NewRef(o);
  PyObject *node = PyObject_GetAttrString(o, "node");
  PyObject *hint = node ? PyObject_GetAttrString(node, "hint") : NULL;
  Py_XDECREF(node);
  return hint;
}
// fn of the examples: what Python says of them (division by zero, shifts of floats) holds here too.
static bool try_examples(binaryfunc fn, PyObject *a, PyObject *b) {
  PyObject *x = example_of(a);
  PyObject *y = x ? example_of(b) : NULL;
  bool known = y && x != Py_None && y != Py_None;
  bool numbers = known && PyNumber_Check(x) && PyNumber_Check(y);
  PyObject *tried = numbers ? fn(x, y) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  Py_XDECREF(tried);
  return tried || (!numbers && !PyErr_Occurred());
}

// floor(a / b) as a float: what Python means by // when one of the two is a float.
static PyObject *float_quotient(PyObject *a, PyObject *b) {
  PyObject *q = apply(IG_EXPR_TRUEDIV, (PyObject *[]){a, b}, 2);
  if (!q || q == Py_NotImplemented) return q;
  PyObject *whole = apply(IG_EXPR_FLOOR, &q, 1);
  PyObject *out = whole ? apply(IG_EXPR_TO_FLOAT, &whole, 1) : NULL;
  Py_DECREF(q);
  Py_XDECREF(whole);
  return out;
}
static PyObject *sym_floordiv(PyObject *a, PyObject *b) {
  bool whole = !is_float(a) && !is_float(b);
  if (!try_examples(whole ? PyNumber_FloorDivide : PyNumber_TrueDivide, a, b)) return NULL;
  if (is_float(a) || is_float(b)) return float_quotient(a, b);
  return apply(IG_EXPR_FLOORDIV, (PyObject *[]){a, b}, 2);
}
// a - floor(a / b) * b
static PyObject *sym_mod(PyObject *a, PyObject *b) {
  if (!try_examples(PyNumber_Remainder, a, b)) return NULL;
  if (!is_float(a) && !is_float(b)) return apply(IG_EXPR_MOD, (PyObject *[]){a, b}, 2);
  PyObject *q = float_quotient(a, b);
  if (!q || q == Py_NotImplemented) return q;
  PyObject *part = apply(IG_EXPR_MUL, (PyObject *[]){q, b}, 2);
  PyObject *out = part ? apply(IG_EXPR_SUB, (PyObject *[]){a, part}, 2) : NULL;
  Py_DECREF(q);
  Py_XDECREF(part);
  return out;
}

#define BINARY(name, fn)                                  \
  static PyObject *sym_##name(PyObject *a, PyObject *b) { \
    return apply(IG_EXPR_##fn, (PyObject *[]){a, b}, 2);  \
  }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)

// Where Python refuses some numbers.
#define TRIED(name, fn, python)                           \
  static PyObject *sym_##name(PyObject *a, PyObject *b) { \
    if (!try_examples(python, a, b)) return NULL;         \
    return apply(IG_EXPR_##fn, (PyObject *[]){a, b}, 2);  \
  }
TRIED(truediv, TRUEDIV, PyNumber_TrueDivide)
TRIED(lshift, LSHIFT, PyNumber_Lshift)
TRIED(rshift, RSHIFT, PyNumber_Rshift)

// Of truth values; Python reports other operands.
static bool is_truth(PyObject *o) {
  return PyBool_Check(o) || Py_IS_TYPE(o, &py_symbool_type);
}
#define LOGIC(name, fn)                                         \
  static PyObject *sym_##name(PyObject *a, PyObject *b) {       \
    if (!is_truth(a) || !is_truth(b)) Py_RETURN_NOTIMPLEMENTED; \
    return apply(IG_EXPR_##fn, (PyObject *[]){a, b}, 2);        \
  }
LOGIC(and, AND)
LOGIC(or, OR)

#define UNARY(name, fn)                      \
  static PyObject *sym_##name(PyObject *o) { \
    return apply(IG_EXPR_##fn, &o, 1);       \
  }
UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(not, NOT)

static PyObject *sym_pos(PyObject *o) {
  return Py_NewRef(o);
}
static PyObject *sym_pow(PyObject *a, PyObject *b, PyObject *mod) {
  if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
  int sign = 0;
  long e = PyLong_Check(b) ? PyLong_AsLongAndOverflow(b, &sign) : 0;
  if (e >= 0 && sign >= 0) return apply(IG_EXPR_POW, (PyObject *[]){a, b}, 2);
  // A negative power of a whole number is a float.
  PyObject *exponent = PyNumber_Float(b);
  PyObject *out = exponent ? apply(IG_EXPR_POW, (PyObject *[]){a, exponent}, 2) : NULL;
  Py_XDECREF(exponent);
  return out;
}
static PyObject *sym_divmod(PyObject *a, PyObject *b) {
  PyObject *q = sym_floordiv(a, b);
  PyObject *r = q && q != Py_NotImplemented ? sym_mod(a, b) : NULL;
  if (q == Py_NotImplemented || !r) return q == Py_NotImplemented ? q : (Py_XDECREF(q), NULL);
  return Py_BuildValue("(NN)", q, r);
}
static PyObject *sym_compare(PyObject *a, PyObject *b, int how) {
  static const ig_expr_kind kinds[] = {
      [Py_LT] = IG_EXPR_LT, [Py_LE] = IG_EXPR_LE, [Py_EQ] = IG_EXPR_EQ,
      [Py_NE] = IG_EXPR_NE, [Py_GT] = IG_EXPR_GT, [Py_GE] = IG_EXPR_GE};
  return apply(kinds[how], (PyObject *[]){a, b}, 2);
}

// ---- conversion to a number: the environment knows it, guards, or raises an error ----

// Whether the user's program asserts the truth by a statement. -1: an error.
static int is_assertion(void) {
  PyObject *module = PyImport_ImportModule("ingot.export._assertions");
  PyObject *message = module ? PyObject_CallMethod(module, "message", NULL) : NULL;
  int yes = message ? message != Py_None : -1;
  Py_XDECREF(module);
  Py_XDECREF(message);
  return yes;
}

static int sym_bool(PyObject *o) {
  ig_ctx *c = py_ctx();
  const ig_graph *g = c->mode->capture;
  ig_mode_scope mode = enter(c, &o, 1);
  ig_value v = ((py_sym *)o)->v;
  if (v.kind != IG_KIND_BOOL) {
    ig_value args[] = {v, v.kind == IG_KIND_INT ? ig_of_i64(0) : ig_of_f64(0)};
    ig_sym_apply(c, IG_EXPR_NE, args, 2, &v);
  }
  // A strict capture keeps what the program asserts of its data, and takes it for granted.
  bool unknown = g && g->strict && c->status == IG_OK && v.b_expr && !v.b_expr->hinted;
  int asserted = unknown ? is_assertion() : 0;
  bool yes = asserted > 0 ? ig_bool_expect(c, &v, NULL) : asserted == 0 && ig_bool_guard(c, &v);
  ig_mode_pop(c, &mode);
  return py_ok(c) && asserted >= 0 ? yes : -1;
}
static PyObject *symint_int(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &o, 1);
  int64_t i = ig_int_guard(c, ((py_sym *)o)->v.i);
  ig_mode_pop(c, &mode);
  return py_ok(c) ? PyLong_FromLongLong(i) : NULL;
}
static PyObject *symfloat_float(PyObject *o) {
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &o, 1);
  double f = ig_float_guard(c, &((py_sym *)o)->v);
  ig_mode_pop(c, &mode);
  return py_ok(c) ? PyFloat_FromDouble(f) : NULL;
}
static PyObject *symint_float(PyObject *o) {
  PyObject *i = symint_int(o);
  PyObject *f = i ? PyNumber_Float(i) : NULL;
  Py_XDECREF(i);
  return f;
}
static PyObject *symfloat_int(PyObject *o) {
  PyObject *f = symfloat_float(o);
  PyObject *i = f ? PyNumber_Long(f) : NULL;
  Py_XDECREF(f);
  return i;
}
static PyObject *symbool_int(PyObject *o) {
  int yes = sym_bool(o);
  return yes < 0 ? NULL : PyLong_FromLong(yes);
}
static PyObject *symbool_float(PyObject *o) {
  int yes = sym_bool(o);
  return yes < 0 ? NULL : PyFloat_FromDouble(yes);
}

// ---- methods ----

static PyObject *to_int(PyObject *o, ig_expr_kind fn) {
  return Py_IS_TYPE(o, &py_symfloat_type) ? apply(fn, &o, 1) : Py_NewRef(o);
}
static PyObject *sym_floor(PyObject *o, PyObject *unused) {
  (void)unused;
  return to_int(o, IG_EXPR_FLOOR);
}
static PyObject *sym_ceil(PyObject *o, PyObject *unused) {
  (void)unused;
  return to_int(o, IG_EXPR_CEIL);
}
static PyObject *sym_trunc(PyObject *o, PyObject *unused) {
  (void)unused;
  return to_int(o, IG_EXPR_TRUNC);
}
static PyObject *sym_round(PyObject *o, PyObject *args) {
  PyObject *digits = Py_None;
  if (!PyArg_ParseTuple(args, "|O:__round__", &digits)) return NULL;
  if (!Py_IS_TYPE(o, &py_symfloat_type)) return Py_NewRef(o);
  if (digits == Py_None) return apply(IG_EXPR_ROUND, &o, 1);
  return apply(IG_EXPR_ROUND_DECIMAL, (PyObject *[]){o, digits}, 2);
}
static PyObject *sym_is_integer(PyObject *o, PyObject *unused) {
  (void)unused;
  if (!Py_IS_TYPE(o, &py_symfloat_type)) Py_RETURN_TRUE;
  PyObject *whole = apply(IG_EXPR_FLOOR, &o, 1);
  PyObject *same = whole ? sym_compare(whole, o, Py_EQ) : NULL;
  Py_XDECREF(whole);
  return same;
}
static PyObject *sym_copy(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}

// With what is known by now.
static PyObject *sym_repr(PyObject *o) {
  const ig_expr *e = ig_value_expr(&((py_sym *)o)->v);
  ig_sym *sym = ((py_sym *)o)->sym;
  ig_ctx *c = py_ctx();
  if (sym && c->status == IG_OK) {
    ig_mode_scope mode = ig_mode_push_sym(c, sym);
    const ig_expr *found = ig_env_find(c, e);
    ig_mode_pop(c, &mode);
    if (!py_ok(c)) return NULL;
    e = found ? found : e;
  }
  ig_str s = ig_str_make(ig_alloc_libc());
  ig_str_expr(&s, e);
  PyObject *text = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at);
  ig_str_free(&s);
  return text;
}
static Py_hash_t sym_hash(PyObject *o) {
  // Equal integers would need equal hashes, and which ones are equal takes a guard to find out.
  if (Py_IS_TYPE(o, &py_symint_type)) {
    PyErr_SetString(PyExc_TypeError, "unhashable type: non-nested SymInt");
    return -1;
  }
  return _Py_HashPointer(ig_value_expr(&((py_sym *)o)->v));
}

static PyMethodDef sym_methods[] = {
    {"__floor__", sym_floor, METH_NOARGS, NULL},       {"__ceil__", sym_ceil, METH_NOARGS, NULL},
    {"__trunc__", sym_trunc, METH_NOARGS, NULL},       {"__round__", sym_round, METH_VARARGS, NULL},
    {"is_integer", sym_is_integer, METH_NOARGS, NULL}, {"__copy__", sym_copy, METH_NOARGS, NULL},
    {"__deepcopy__", sym_copy, METH_O, NULL},          {NULL, NULL, 0, NULL},
};
static PyGetSetDef sym_getset[] = {
    {"node", py_sym_node, NULL, "Expression, hint and environment.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define ARITHMETIC                                                                   \
  .nb_add = sym_add, .nb_subtract = sym_sub, .nb_multiply = sym_mul,                 \
  .nb_floor_divide = sym_floordiv, .nb_remainder = sym_mod, .nb_divmod = sym_divmod, \
  .nb_true_divide = sym_truediv, .nb_power = sym_pow, .nb_negative = sym_neg,        \
  .nb_positive = sym_pos, .nb_absolute = sym_abs, .nb_bool = sym_bool
static PyNumberMethods symint_number = {
    ARITHMETIC,           .nb_lshift = sym_lshift, .nb_rshift = sym_rshift,
    .nb_int = symint_int, .nb_index = symint_int,  .nb_float = symint_float,
};
static PyNumberMethods symfloat_number = {
    ARITHMETIC,
    .nb_int = symfloat_int,
    .nb_float = symfloat_float,
};
static PyNumberMethods symbool_number = {
    .nb_add = sym_add,
    .nb_subtract = sym_sub,
    .nb_multiply = sym_mul,
    .nb_and = sym_and,
    .nb_or = sym_or,
    .nb_invert = sym_not,
    .nb_bool = sym_bool,
    .nb_int = symbool_int,
    .nb_float = symbool_float,
};

#define SYM_TYPE(name, number)                                                              \
  {                                                                                         \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot." name, .tp_basicsize = sizeof(py_sym), \
                                .tp_flags =                                                 \
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, \
                                .tp_dealloc = sym_dealloc, .tp_repr = sym_repr,             \
                                .tp_hash = sym_hash, .tp_as_number = &(number),             \
                                .tp_richcompare = sym_compare, .tp_methods = sym_methods,   \
                                .tp_getset = sym_getset                                     \
  }
PyTypeObject py_symint_type = SYM_TYPE("SymInt", symint_number);
PyTypeObject py_symfloat_type = SYM_TYPE("SymFloat", symfloat_number);
PyTypeObject py_symbool_type = SYM_TYPE("SymBool", symbool_number);

// ---- functions of the module ----

// sym_apply(name, *numbers): "max", "min", "ite", "not", "sqrt", "float", "int", "cos", ...
static PyObject *sym_apply(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  (void)module;
  static const struct {
    const char *name;
    ig_expr_kind fn;
    Py_ssize_t n;
  } table[] = {
      {"max", IG_EXPR_MAX, 2},   {"min", IG_EXPR_MIN, 2},   {"ite", IG_EXPR_PIECEWISE, 3},
      {"not", IG_EXPR_NOT, 1},   {"sqrt", IG_EXPR_SQRT, 1}, {"float", IG_EXPR_TO_FLOAT, 1},
      {"int", IG_EXPR_TRUNC, 1}, {"cos", IG_EXPR_COS, 1},   {"cosh", IG_EXPR_COSH, 1},
      {"sin", IG_EXPR_SIN, 1},   {"sinh", IG_EXPR_SINH, 1}, {"tan", IG_EXPR_TAN, 1},
      {"tanh", IG_EXPR_TANH, 1}, {"asin", IG_EXPR_ASIN, 1}, {"acos", IG_EXPR_ACOS, 1},
      {"atan", IG_EXPR_ATAN, 1}, {"log2", IG_EXPR_LOG2, 1}, {"add", IG_EXPR_ADD, 2},
  };
  const char *name = n > 0 ? PyUnicode_AsUTF8(args[0]) : "";
  for (size_t i = 0; name && i < PY_COUNT(table); i++) {
    if (strcmp(table[i].name, name) != 0 || table[i].n != n - 1) continue;
    PyObject *out = apply(table[i].fn, args + 1, (size_t)(n - 1));
    if (out != Py_NotImplemented) return out;
    Py_DECREF(out);
    PyErr_Format(PyExc_TypeError, "torch.sym_%s: expected numbers", name);
    return NULL;
  }
  if (name)
    PyErr_Format(PyExc_TypeError, "sym_apply: no function '%s' of %zd numbers", name, n - 1);
  return NULL;
}

// sym_check(cond, message or None) -> bool: torch._check. False: it is known not to hold.
static PyObject *sym_check(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *cond = NULL;
  const char *message = NULL;
  if (!PyArg_ParseTuple(args, "O!|z:sym_check", &py_symbool_type, &cond, &message)) return NULL;
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &cond, 1);
  const ig_value *v = &((py_sym *)cond)->v;
  bool yes = true;
  if (!ig_bool_known(c, v, &yes)) {
    yes = true;
    ig_sym_check(c, v, message);
  }
  ig_mode_pop(c, &mode);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

// sym_is_size(i): may be used as a size.
static PyObject *sym_is_size(PyObject *module, PyObject *o) {
  (void)module;
  ig_int i;
  if (py_to_int(o, &i) != IG_MATCH_TAKEN) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "expected an integer, not %s", py_type_name(o));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &o, 1);
  if (i.expr) ig_record_is_size(c, i);
  if (i.expr) ig_sym_constrain(c, i, 0, INT64_MAX, true);
  ig_mode_pop(c, &mode);
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

// sym_known(cond) -> True, False, or None: what is known without any guard.
static PyObject *sym_known(PyObject *module, PyObject *o) {
  (void)module;
  if (PyBool_Check(o)) return Py_NewRef(o);
  if (!Py_IS_TYPE(o, &py_symbool_type)) {
    PyErr_Format(PyExc_TypeError, "expected a bool, not %s", py_type_name(o));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &o, 1);
  bool yes = false;
  bool known = ig_bool_known(c, &((py_sym *)o)->v, &yes);
  ig_mode_pop(c, &mode);
  if (!py_ok(c)) return NULL;
  return known ? PyBool_FromLong(yes) : Py_NewRef(Py_None);
}

// sym_guard_size(SymBool) -> bool: a size from data counts as neither 0 nor 1.
static PyObject *sym_guard_size(PyObject *module, PyObject *o) {
  (void)module;
  if (!Py_IS_TYPE(o, &py_symbool_type)) {
    PyErr_Format(PyExc_TypeError, "expected a SymBool, not %s", py_type_name(o));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = enter(c, &o, 1);
  bool yes = ig_bool_guard_size(c, &((py_sym *)o)->v);
  ig_mode_pop(c, &mode);
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}

static PyMethodDef functions[] = {
    {"sym_guard_size", sym_guard_size, METH_O, NULL},
    {"sym_apply", (PyCFunction)(void (*)(void))sym_apply, METH_FASTCALL, NULL},
    {"sym_check", sym_check, METH_VARARGS, NULL},
    {"sym_is_size", sym_is_size, METH_O, NULL},
    {"sym_known", sym_known, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_syms(PyObject *m) {
  if (PyType_Ready(&py_symint_type) || PyType_Ready(&py_symfloat_type) ||
      PyType_Ready(&py_symbool_type)) {
    return -1;
  }
  return PyModule_AddFunctions(m, functions) || py_add_symnode(m) ||
         PyModule_AddObjectRef(m, "SymInt", (PyObject *)&py_symint_type) ||
         PyModule_AddObjectRef(m, "SymFloat", (PyObject *)&py_symfloat_type) ||
         PyModule_AddObjectRef(m, "SymBool", (PyObject *)&py_symbool_type);
}
