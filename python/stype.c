// SPDX-License-Identifier: Apache-2.0
// The types of scripts as Python objects: torch._C.TensorType, ListType, ...
#include <stdio.h>
#include <string.h>

#include "sgraph.h"

// Names of the Python classes, which kind() gives as well, with the module in front: before
// Python 3.11 a type does not copy the name that it is made with.
#define IN_MODULE "ingot._C."
static const char *const kinds[IG_STYPE_COUNT] = {
    [IG_STYPE_ANY] = IN_MODULE "AnyType",
    [IG_STYPE_ENUM] = IN_MODULE "EnumType",
    [IG_STYPE_TENSOR] = IN_MODULE "TensorType",
    [IG_STYPE_TUPLE] = IN_MODULE "TupleType",
    [IG_STYPE_LIST] = IN_MODULE "ListType",
    [IG_STYPE_DICT] = IN_MODULE "DictType",
    [IG_STYPE_NUMBER] = IN_MODULE "NumberType",
    [IG_STYPE_FLOAT] = IN_MODULE "FloatType",
    [IG_STYPE_COMPLEX] = IN_MODULE "ComplexType",
    [IG_STYPE_FUTURE] = IN_MODULE "FutureType",
    [IG_STYPE_INT] = IN_MODULE "IntType",
    [IG_STYPE_NONE] = IN_MODULE "NoneType",
    [IG_STYPE_STR] = IN_MODULE "StringType",
    [IG_STYPE_GENERATOR] = IN_MODULE "GeneratorType",
    [IG_STYPE_BOOL] = IN_MODULE "BoolType",
    [IG_STYPE_OPTIONAL] = IN_MODULE "OptionalType",
    [IG_STYPE_DEVICE] = IN_MODULE "DeviceObjType",
    [IG_STYPE_FUNCTION] = IN_MODULE "FunctionType",
    [IG_STYPE_CLASS] = IN_MODULE "ClassType",
    [IG_STYPE_INTERFACE] = IN_MODULE "InterfaceType",
    [IG_STYPE_ANY_LIST] = IN_MODULE "AnyListType",
    [IG_STYPE_ANY_TUPLE] = IN_MODULE "AnyTupleType",
    [IG_STYPE_UNION] = IN_MODULE "UnionType",
    [IG_STYPE_ANY_ENUM] = IN_MODULE "AnyEnumType",
    [IG_STYPE_ANY_CLASS] = IN_MODULE "AnyClassType",
    [IG_STYPE_VAR] = IN_MODULE "VarType",
};
_Static_assert(IG_STYPE_VAR + 1 == IG_STYPE_COUNT, "a kind without a class");

static const char *kind_name(ig_stype_kind kind) {
  return kinds[kind] + sizeof IN_MODULE - 1;
}

// The Python class of a kind, borrowed from the module; somebody may have put something else there.
static PyTypeObject *class_of(ig_stype_kind kind) {
  PyObject *found = PyObject_GetAttrString(py.module, kind_name(kind));
  Py_XDECREF(found);
  if (!found || (PyType_Check(found) && PyType_IsSubtype((PyTypeObject *)found, &py_stype_type)))
    return (PyTypeObject *)found;
  PyErr_Format(PyExc_TypeError, "torch._C.%s is not the class of these types but %R",
               kind_name(kind), found);
  return NULL;
}

static ig_stype_kind kind_of_class(PyTypeObject *type) {
  int kind = 0;
  const char *dot = strrchr(type->tp_name, '.');
  const char *name = dot ? dot + 1 : type->tp_name;
  while (kind < IG_STYPE_COUNT && strcmp(kind_name((ig_stype_kind)kind), name) != 0) kind++;
  return (ig_stype_kind)kind;
}

PyObject *py_from_stype(ig_sunit *u, const ig_stype *t) {
  if (!t) return py_raise(py_ctx());
  PyTypeObject *type = class_of(t->kind);
  py_stype *o = type ? (py_stype *)type->tp_alloc(type, 0) : NULL;
  if (!o) return NULL;
  o->unit = ig_sunit_retain(u);
  o->t = t;
  return (PyObject *)o;
}

const ig_stype *py_stype_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &py_stype_type)) return ((py_stype *)o)->t;
  PyErr_Format(PyExc_TypeError, "expected a type of scripts, not %s", Py_TYPE(o)->tp_name);
  return NULL;
}

static void type_dealloc(PyObject *o) {
  ig_sunit_release(((py_stype *)o)->unit);
  Py_TYPE(o)->tp_free(o);
}

// ---- making

static PyObject *of_kind(ig_sunit *u, ig_stype_kind kind, const ig_stype *const *at, size_t n) {
  ig_stypes *t = &u->types;
  switch (kind) {
    case IG_STYPE_LIST:
      return py_from_stype(u, ig_stype_list(t, at[0]));
    case IG_STYPE_OPTIONAL:
      return py_from_stype(u, ig_stype_optional(t, at[0]));
    case IG_STYPE_FUTURE:
      return py_from_stype(u, ig_stype_future(t, at[0]));
    case IG_STYPE_DICT:
      return py_from_stype(u, ig_stype_dict(t, at[0], at[1]));
    case IG_STYPE_TUPLE:
      return py_from_stype(u, ig_stype_tuple(t, at, n));
    case IG_STYPE_UNION:
      return py_from_stype(u, ig_stype_union(t, at, n));
    default:
      return py_from_stype(u, ig_stype_plain(t, kind));
  }
}

static Py_ssize_t arity(ig_stype_kind kind) {
  switch (kind) {
    case IG_STYPE_LIST:
    case IG_STYPE_OPTIONAL:
    case IG_STYPE_FUTURE:
      return 1;
    case IG_STYPE_DICT:
      return 2;
    case IG_STYPE_TUPLE:
    case IG_STYPE_UNION:
      return -1;  // one argument: a sequence
    default:
      return 0;
  }
}

static PyObject *type_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  enum { MOST = 256 };
  const ig_stype *at[MOST];
  (void)kwargs;
  ig_stype_kind kind = kind_of_class(type);
  ig_sunit *u = py_unit();
  if (!u) return NULL;
  Py_ssize_t need = kind == IG_STYPE_COUNT ? -2 : arity(kind);
  Py_ssize_t given = PyTuple_GET_SIZE(args);
  if (need == -2 || given != (need < 0 ? 1 : need)) {
    PyErr_Format(PyExc_TypeError, "%s: found %zd arguments", type->tp_name, given);
    return NULL;
  }
  PyObject *all = need < 0 ? PySequence_Tuple(PyTuple_GET_ITEM(args, 0)) : Py_NewRef(args);
  if (!all) return NULL;
  Py_ssize_t n = PyTuple_GET_SIZE(all);
  PyObject *out = NULL;
  bool ok = n <= MOST;
  if (!ok) PyErr_SetString(PyExc_ValueError, "more than 256 types");
  for (Py_ssize_t i = 0; ok && i < n; i++) {
    ok = (at[i] = py_stype_of(PyTuple_GET_ITEM(all, i))) != NULL;
    if (ok) u = ((py_stype *)PyTuple_GET_ITEM(all, i))->unit;
  }
  if (ok) out = of_kind(u, kind, at, (size_t)n);
  Py_DECREF(all);
  return out;
}

// TensorType.get(): the plain type of a class.
static PyObject *type_get(PyObject *cls, PyObject *unused) {
  (void)unused;
  ig_sunit *u = py_unit();
  ig_stype_kind kind = kind_of_class((PyTypeObject *)cls);
  if (!u) return NULL;
  if (kind < IG_STYPE_COUNT && arity(kind) == 0) return of_kind(u, kind, NULL, 0);
  PyErr_Format(PyExc_TypeError, "%s has no single type", ((PyTypeObject *)cls)->tp_name);
  return NULL;
}

#define LIST_OF(name, item)                                                     \
  static PyObject *list_##name(PyObject *cls, PyObject *unused) {               \
    (void)cls;                                                                  \
    (void)unused;                                                               \
    ig_sunit *u = py_unit();                                                    \
    const ig_stype *of = u ? ig_stype_plain(&u->types, IG_STYPE_##item) : NULL; \
    return u ? py_from_stype(u, ig_stype_list(&u->types, of)) : NULL;           \
  }
LIST_OF(ints, INT)
LIST_OF(floats, FLOAT)
LIST_OF(bools, BOOL)
LIST_OF(tensors, TENSOR)
LIST_OF(strings, STR)
LIST_OF(complexes, COMPLEX)

// ---- reading

static const ig_stype *self_of(PyObject *o) {
  return ((py_stype *)o)->t;
}

static PyObject *type_str(PyObject *o) {
  return PyUnicode_FromString(self_of(o)->text);
}
static PyObject *annotation(PyObject *o, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_str s = ig_str_make(c->alloc);
  ig_stype_print_annotation(&s, self_of(o));
  PyObject *out = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at);
  ig_str_free(&s);
  return out;
}
static PyObject *type_repr(PyObject *o) {
  return annotation(o, NULL);
}
static PyObject *type_kind(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(kind_name(self_of(o)->kind));
}
static PyObject *is_subtype(PyObject *o, PyObject *other) {
  const ig_stype *b = py_stype_of(other);
  return b ? PyBool_FromLong(ig_stype_is_subtype(self_of(o), b)) : NULL;
}
static PyObject *type_compare(PyObject *a, PyObject *b, int how) {
  if (!PyObject_TypeCheck(b, &py_stype_type) || (how != Py_EQ && how != Py_NE)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  bool same = self_of(a) == self_of(b) || strcmp(self_of(a)->text, self_of(b)->text) == 0;
  return PyBool_FromLong(same == (how == Py_EQ));
}
static Py_hash_t type_hash(PyObject *o) {
  PyObject *text = type_str(o);
  Py_hash_t h = text ? PyObject_Hash(text) : -1;
  Py_XDECREF(text);
  return h;
}
static PyObject *item(PyObject *o, size_t i) {
  const ig_stype *t = self_of(o);
  if (i < t->n) return py_from_stype(((py_stype *)o)->unit, t->at[i]);
  PyErr_Format(PyExc_RuntimeError, "%s contains no type", t->text);
  return NULL;
}
static PyObject *element_type(PyObject *o, PyObject *unused) {
  (void)unused;
  return item(o, 0);
}
static PyObject *value_type(PyObject *o, PyObject *unused) {
  (void)unused;
  return item(o, 1);
}
static PyObject *contained(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *out = PyList_New((Py_ssize_t)self_of(o)->n);
  for (size_t i = 0; out && i < self_of(o)->n; i++) {
    PyObject *t = item(o, i);
    if (!t) Py_CLEAR(out);
    if (t) PyList_SET_ITEM(out, (Py_ssize_t)i, t);
  }
  return out;
}
static PyObject *type_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const char *name = self_of(o)->name;
  if (!name) Py_RETURN_NONE;
  const char *dot = strrchr(name, '.');
  return PyUnicode_FromString(dot ? dot + 1 : name);
}
static PyObject *qualified_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const char *name = self_of(o)->name;
  if (!name) Py_RETURN_NONE;
  return PyUnicode_FromString(name);
}

// ---- tensors

static PyObject *ints(const int64_t *at, int n) {
  if (!at) Py_RETURN_NONE;
  PyObject *out = PyList_New(n);
  for (int i = 0; out && i < n; i++) {
    PyObject *number = PyLong_FromLongLong(at[i]);
    if (!number) Py_CLEAR(out);
    if (number) PyList_SET_ITEM(out, i, number);
  }
  return out;
}
static PyObject *sizes(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  return ints(k ? k->sizes : NULL, k ? k->ndim : 0);
}
static PyObject *strides(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  return ints(k ? k->strides : NULL, k ? k->ndim : 0);
}
// Dimensions whose size is not known are None.
static PyObject *varying_sizes(PyObject *o, PyObject *unused) {
  const ig_stensor *k = self_of(o)->tensor;
  if (!k || k->ndim < 0) Py_RETURN_NONE;
  if (k->sizes) return sizes(o, unused);
  PyObject *out = PyList_New(k->ndim);
  for (int i = 0; out && i < k->ndim; i++) PyList_SET_ITEM(out, i, Py_NewRef(Py_None));
  return out;
}
static PyObject *dim(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  if (!k || k->ndim < 0) Py_RETURN_NONE;
  return PyLong_FromLong(k->ndim);
}
static PyObject *scalar_type(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  if (!k || k->dtype < 0) Py_RETURN_NONE;
  const char *text = self_of(o)->text;
  return PyUnicode_FromStringAndSize(text, (Py_ssize_t)strcspn(text, "("));
}
static PyObject *dtype(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  if (!k || k->dtype < 0) Py_RETURN_NONE;
  return py_from_dtype((ig_dtype)k->dtype);
}
static PyObject *device(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  ig_device d;
  if (!k || !k->device || !ig_device_parse(k->device, &d)) Py_RETURN_NONE;
  return py_from_device(d);
}
static PyObject *requires_grad(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_stensor *k = self_of(o)->tensor;
  return PyBool_FromLong(k && k->requires_grad == 1);
}

static PyObject *with(PyObject *o, const ig_stensor *k) {
  py_stype *p = (py_stype *)o;
  return py_from_stype(p->unit, ig_stype_traced(&p->unit->types, k));
}
static ig_stensor known_of(PyObject *o) {
  const ig_stensor *k = self_of(o)->tensor;
  return k ? *k : (ig_stensor){.dtype = -1, .ndim = -1, .requires_grad = -1};
}
static PyObject *with_sizes(PyObject *o, PyObject *given) {
  int64_t at[IG_MAX_DIM];
  ig_stensor k = known_of(o);
  PyObject *all = PySequence_Tuple(given);
  bool ok = all && PyTuple_GET_SIZE(all) <= IG_MAX_DIM;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(all); i++) {
    at[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(all, i));
    ok = !PyErr_Occurred();
  }
  if (!ok && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many dimensions");
  k.ndim = all ? (int)PyTuple_GET_SIZE(all) : 0;
  k.sizes = at;
  k.strides = NULL;
  Py_XDECREF(all);
  return ok ? with(o, &k) : NULL;
}
static PyObject *with_dtype(PyObject *o, PyObject *given) {
  ig_dtype d;
  ig_stensor k = known_of(o);
  if (!py_to_dtype(given, &d)) {
    PyErr_SetString(PyExc_TypeError, "with_dtype: expected a dtype");
    return NULL;
  }
  k.dtype = (int)d;
  return with(o, &k);
}

static PyMethodDef methods[] = {
    {"kind", type_kind, METH_NOARGS, NULL},
    {"str", (PyCFunction)(void (*)(void))type_str, METH_NOARGS, NULL},
    {"isSubtypeOf", is_subtype, METH_O, NULL},
    {"containedTypes", contained, METH_NOARGS, NULL},
    {"elements", contained, METH_NOARGS, NULL},
    {"getElementType", element_type, METH_NOARGS, NULL},
    {"getKeyType", element_type, METH_NOARGS, NULL},
    {"getValueType", value_type, METH_NOARGS, NULL},
    {"name", type_name, METH_NOARGS, NULL},
    {"qualified_name", qualified_name, METH_NOARGS, NULL},
    {"sizes", sizes, METH_NOARGS, NULL},
    {"varyingSizes", varying_sizes, METH_NOARGS, NULL},
    {"strides", strides, METH_NOARGS, NULL},
    {"dim", dim, METH_NOARGS, NULL},
    {"scalarType", scalar_type, METH_NOARGS, NULL},
    {"dtype", dtype, METH_NOARGS, NULL},
    {"device", device, METH_NOARGS, NULL},
    {"requiresGrad", requires_grad, METH_NOARGS, NULL},
    {"requires_grad", requires_grad, METH_NOARGS, NULL},
    {"with_sizes", with_sizes, METH_O, NULL},
    {"with_dtype", with_dtype, METH_O, NULL},
    {"get", type_get, METH_NOARGS | METH_CLASS, NULL},
    {"ofInts", list_ints, METH_NOARGS | METH_CLASS, NULL},
    {"ofFloats", list_floats, METH_NOARGS | METH_CLASS, NULL},
    {"ofBools", list_bools, METH_NOARGS | METH_CLASS, NULL},
    {"ofTensors", list_tensors, METH_NOARGS | METH_CLASS, NULL},
    {"ofStrings", list_strings, METH_NOARGS | METH_CLASS, NULL},
    {"ofComplexDoubles", list_complexes, METH_NOARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getset[] = {{"annotation_str", annotation, NULL, NULL, NULL},
                               {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject py_stype_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.JitType",
    .tp_basicsize = sizeof(py_stype),
    .tp_dealloc = type_dealloc,
    .tp_repr = type_repr,
    .tp_str = type_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_richcompare = type_compare,
    .tp_hash = type_hash,
    .tp_new = type_new,
};

int py_add_stype(PyObject *m) {
  if (PyType_Ready(&py_stype_type) != 0) return -1;
  if (PyModule_AddObjectRef(m, "JitType", (PyObject *)&py_stype_type) != 0) return -1;
  if (PyModule_AddObjectRef(m, "Type", (PyObject *)&py_stype_type) != 0) return -1;
  for (int i = 0; i < IG_STYPE_COUNT; i++) {
    PyType_Slot slots[] = {{0, NULL}};
    PyType_Spec spec = {.name = kinds[i], .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
    PyObject *made = PyType_FromSpecWithBases(&spec, (PyObject *)&py_stype_type);
    int failed = made ? PyModule_AddObjectRef(m, kind_name((ig_stype_kind)i), made) : -1;
    Py_XDECREF(made);
    if (failed) return -1;
  }
  return 0;
}
