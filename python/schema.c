// SPDX-License-Identifier: Apache-2.0
// OpOverload._schema: FunctionSchema with its arguments, as far as programs look at it.
#include <string.h>

#include "py.h"

typedef struct py_schema {
  PyObject_HEAD const ig_op *op;
} py_schema;
typedef struct py_argument {
  PyObject_HEAD const ig_op *op;
  const ig_arg *a;
} py_argument;
typedef struct py_argtype {  // prints as the JIT's types do; the class tells its kind
  PyObject_HEAD const ig_arg *a;
  int stage;  // 0: whole, 1: without Optional, 2: element of a list
  bool real;  // dtypes, layouts and memory formats by their names; otherwise the JIT's integers
} py_argtype;

static PyTypeObject schema_type;
static PyTypeObject argument_type;
static PyTypeObject argtype_type;
static PyTypeObject alias_type;

typedef struct py_alias {
  PyObject_HEAD bool write;
  char set;
} py_alias;

// ---- types ----

static const char *const type_names[] = {
    [IG_TYPE_TENSOR] = "Tensor",       [IG_TYPE_SCALAR] = "number", [IG_TYPE_INT] = "int",
    [IG_TYPE_SYMINT] = "int",          [IG_TYPE_FLOAT] = "float",   [IG_TYPE_BOOL] = "bool",
    [IG_TYPE_COMPLEX] = "complex",     [IG_TYPE_STR] = "str",       [IG_TYPE_DTYPE] = "int",
    [IG_TYPE_LAYOUT] = "int",          [IG_TYPE_DEVICE] = "Device", [IG_TYPE_MEMORY_FORMAT] = "int",
    [IG_TYPE_GENERATOR] = "Generator", [IG_TYPE_OTHER] = "Any",
};
static const char *const class_names[] = {
    [IG_TYPE_TENSOR] = "TensorType",
    [IG_TYPE_SCALAR] = "NumberType",
    [IG_TYPE_INT] = "IntType",
    [IG_TYPE_SYMINT] = "SymIntType",
    [IG_TYPE_FLOAT] = "FloatType",
    [IG_TYPE_BOOL] = "BoolType",
    [IG_TYPE_COMPLEX] = "ComplexType",
    [IG_TYPE_STR] = "StringType",
    [IG_TYPE_DTYPE] = "IntType",
    [IG_TYPE_LAYOUT] = "IntType",
    [IG_TYPE_DEVICE] = "DeviceObjType",
    [IG_TYPE_MEMORY_FORMAT] = "IntType",
    [IG_TYPE_GENERATOR] = "_GeneratorType",
    [IG_TYPE_OTHER] = "AnyType",
};

// Types that the JIT holds as integers.
static const struct {
  const char *name, *class_name;
} real_names[PY_COUNT(class_names)] = {
    [IG_TYPE_DTYPE] = {"ScalarType", "ScalarTypeType"},
    [IG_TYPE_LAYOUT] = {"Layout", "LayoutType"},
    [IG_TYPE_MEMORY_FORMAT] = {"MemoryFormat", "MemoryFormatType"},
};

static bool shows_optional(const py_argtype *t) {
  return t->stage == 0 && t->a->optional;
}
static bool shows_list(const py_argtype *t) {
  return t->stage < 2 && t->a->list;
}

static PyObject *argtype_str(PyObject *o) {
  const py_argtype *t = (py_argtype *)o;
  char text[128];
  bool real = t->real && real_names[t->a->type].name;
  const char *item = real ? real_names[t->a->type].name : type_names[t->a->type];
  const char *open = shows_list(t) ? (t->a->item_optional ? "List[Optional[" : "List[") : "";
  const char *close = shows_list(t) ? (t->a->item_optional ? "]]" : "]") : "";
  (void)snprintf(text, sizeof text, "%s%s%s%s%s", shows_optional(t) ? "Optional[" : "", open, item,
                 close, shows_optional(t) ? "]" : "");
  return PyUnicode_FromString(text);
}

// One class per kind, derived from Type, made when first needed. The types of scripts, which have
// other contents, have the plain names in the module.
static PyTypeObject *class_of(const char *name) {
  char key[64];
  (void)snprintf(key, sizeof key, "_Argument%s", name);
  PyObject *found = PyObject_GetAttrString(py.module, key);
  if (!found) PyErr_Clear();
  Py_XDECREF(found);  // the module keeps it
  if (found && PyType_Check(found) && PyType_IsSubtype((PyTypeObject *)found, &argtype_type))
    return (PyTypeObject *)found;
  PyObject *made = PyObject_CallFunction((PyObject *)&PyType_Type, "s(O){s:s}", name, &argtype_type,
                                         "__module__", "ingot._C");
  if (made && PyModule_AddObjectRef(py.module, key, made) != 0) Py_CLEAR(made);
  Py_XDECREF(made);
  return (PyTypeObject *)made;
}

static PyObject *argtype_make(const ig_arg *a, int stage, bool real) {
  py_argtype probe = {.a = a, .stage = stage};
  const char *item = real ? real_names[a->type].class_name : NULL;
  const char *name = shows_optional(&probe) ? "OptionalType"
                     : shows_list(&probe)   ? "ListType"
                     : item                 ? item
                                            : class_names[a->type];
  PyTypeObject *type = class_of(name);
  py_argtype *o = type ? (py_argtype *)type->tp_alloc(type, 0) : NULL;
  if (!o) return NULL;
  o->a = a;
  o->stage = stage;
  o->real = real;
  return (PyObject *)o;
}

static PyObject *argtype_element(PyObject *o, PyObject *unused) {
  (void)unused;
  const py_argtype *t = (py_argtype *)o;
  if (shows_optional(t)) return argtype_make(t->a, 1, t->real);
  if (shows_list(t)) return argtype_make(t->a, 2, t->real);
  PyErr_SetString(PyExc_AttributeError, "this type has no elements");
  return NULL;
}
static PyObject *argtype_kind(PyObject *o, PyObject *unused) {
  (void)unused;
  const char *name = Py_TYPE(o)->tp_name;
  const char *dot = strrchr(name, '.');
  return PyUnicode_FromString(dot ? dot + 1 : name);
}
static PyObject *argtype_compare(PyObject *a, PyObject *b, int how) {
  if (!PyObject_TypeCheck(b, &argtype_type) || (how != Py_EQ && how != Py_NE)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  PyObject *x = argtype_str(a);
  PyObject *y = x ? argtype_str(b) : NULL;
  PyObject *out = y ? PyObject_RichCompare(x, y, how) : NULL;
  Py_XDECREF(x);
  Py_XDECREF(y);
  return out;
}
static Py_hash_t argtype_hash(PyObject *o) {
  PyObject *text = argtype_str(o);
  Py_hash_t h = text ? PyObject_Hash(text) : -1;
  Py_XDECREF(text);
  return h;
}
static PyObject *argtype_get(PyObject *cls, PyObject *unused) {
  // TensorType.get(): an instance that represents the kind.
  (void)unused;
  for (size_t i = 0; i < PY_COUNT(class_names); i++) {
    const char *dot = strrchr(((PyTypeObject *)cls)->tp_name, '.');
    const char *name = dot ? dot + 1 : ((PyTypeObject *)cls)->tp_name;
    if (strcmp(name, class_names[i]) != 0) continue;
    static ig_arg plain[PY_COUNT(class_names)];
    plain[i].type = (ig_type)i;
    return argtype_make(&plain[i], 0, false);
  }
  PyErr_SetString(PyExc_TypeError, "get(): this type has parameters");
  return NULL;
}

static PyMethodDef argtype_methods[] = {
    {"getElementType", argtype_element, METH_NOARGS, NULL},
    {"kind", argtype_kind, METH_NOARGS, NULL},
    {"get", argtype_get, METH_NOARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject argtype_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Type",
    .tp_basicsize = sizeof(py_argtype),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_str = argtype_str,
    .tp_repr = argtype_str,
    .tp_richcompare = argtype_compare,
    .tp_hash = argtype_hash,
    .tp_methods = argtype_methods,
};

// ---- alias info ----

static PyObject *alias_write(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(((py_alias *)o)->write);
}
static PyObject *alias_set(PyObject *o, void *unused) {
  (void)unused;
  return PyObject_CallFunction((PyObject *)&PySet_Type, "[s#]", &((py_alias *)o)->set,
                               (Py_ssize_t)1);
}
static PyGetSetDef alias_getset[] = {
    {"is_write", alias_write, NULL, NULL, NULL},
    {"before_set", alias_set, NULL, NULL, NULL},
    {"after_set", alias_set, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject alias_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._AliasInfo",
    .tp_basicsize = sizeof(py_alias),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = alias_getset,
};

// ---- arguments ----

static const ig_arg *arg_of(PyObject *o) {
  return ((py_argument *)o)->a;
}
static PyObject *argument_make(const ig_op *op, const ig_arg *a) {
  py_argument *o = PyObject_New(py_argument, &argument_type);
  if (!o) return NULL;
  o->op = op;
  o->a = a;
  return (PyObject *)o;
}
static PyObject *argument_name(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(arg_of(o)->name);
}
static PyObject *argument_type_of(PyObject *o, void *unused) {
  (void)unused;
  return argtype_make(arg_of(o), 0, false);
}
static PyObject *argument_real_type(PyObject *o, void *unused) {
  (void)unused;
  return argtype_make(arg_of(o), 0, true);
}
static PyObject *argument_default(PyObject *o, void *unused) {
  (void)unused;
  if (!arg_of(o)->has_default) Py_RETURN_NONE;
  return py_from_value(py_ctx(), &arg_of(o)->def);
}
static PyObject *argument_has_default(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(arg_of(o)->has_default);
}
static PyObject *argument_n(PyObject *o, void *unused) {
  (void)unused;
  if (arg_of(o)->fixed == 0) Py_RETURN_NONE;
  return PyLong_FromLong(arg_of(o)->fixed);
}
static PyObject *argument_kwarg_only(PyObject *o, void *unused) {
  (void)unused;
  const ig_schema *s = &((py_argument *)o)->op->schema;
  const ig_arg *a = arg_of(o);
  return PyBool_FromLong(a >= s->args + s->npos && a < s->args + s->nargs);
}
static PyObject *argument_is_out(PyObject *o, void *unused) {
  (void)unused;
  const ig_schema *s = &((py_argument *)o)->op->schema;
  const ig_arg *a = arg_of(o);
  return PyBool_FromLong(a->written && a >= s->args + s->npos && a < s->args + s->nargs);
}
static PyObject *argument_alias(PyObject *o, void *unused) {
  (void)unused;
  const ig_arg *a = arg_of(o);
  if (!a->alias) Py_RETURN_NONE;
  py_alias *out = PyObject_New(py_alias, &alias_type);
  if (out) {
    out->write = a->written;
    out->set = a->alias;
  }
  return (PyObject *)out;
}
static PyGetSetDef argument_getset[] = {
    {"name", argument_name, NULL, NULL, NULL},
    {"type", argument_type_of, NULL, NULL, NULL},
    {"real_type", argument_real_type, NULL, NULL, NULL},
    {"default_value", argument_default, NULL, NULL, NULL},
    {"N", argument_n, NULL, NULL, NULL},
    {"kwarg_only", argument_kwarg_only, NULL, NULL, NULL},
    {"is_out", argument_is_out, NULL, NULL, NULL},
    {"alias_info", argument_alias, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef argument_methods[] = {
    {"has_default_value", argument_has_default, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyTypeObject argument_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Argument",
    .tp_basicsize = sizeof(py_argument),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = argument_getset,
    .tp_methods = argument_methods,
};

// ---- the schema ----

static const ig_schema *schema_of(PyObject *o) {
  return &((py_schema *)o)->op->schema;
}
PyObject *py_schema_of(const ig_op *op) {
  py_schema *o = PyObject_New(py_schema, &schema_type);
  if (o) o->op = op;
  return (PyObject *)o;
}
static PyObject *schema_str(PyObject *o) {
  return PyUnicode_FromString(schema_of(o)->text);
}
static PyObject *schema_name(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromFormat("%s::%s", schema_of(o)->ns, schema_of(o)->name);
}
static PyObject *schema_overload(PyObject *o, void *unused) {
  (void)unused;
  const char *name = schema_of(o)->overload;
  return PyUnicode_FromString(strcmp(name, "default") == 0 ? "" : name);
}
static PyObject *argument_list(const ig_op *op, const ig_arg *at, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *a = argument_make(op, &at[i]);
    if (!a) Py_CLEAR(list);
    if (a) PyList_SET_ITEM(list, (Py_ssize_t)i, a);
  }
  return list;
}
static PyObject *schema_arguments(PyObject *o, void *unused) {
  (void)unused;
  return argument_list(((py_schema *)o)->op, schema_of(o)->args, schema_of(o)->nargs);
}
static PyObject *schema_returns(PyObject *o, void *unused) {
  (void)unused;
  return argument_list(((py_schema *)o)->op, schema_of(o)->rets, schema_of(o)->nrets);
}
static PyObject *schema_is_mutable(PyObject *o, void *unused) {
  (void)unused;
  bool written = false;
  for (size_t i = 0; i < schema_of(o)->nargs; i++) written |= schema_of(o)->args[i].written;
  return PyBool_FromLong(written);
}
static PyObject *schema_compare(PyObject *a, PyObject *b, int how) {
  if (Py_TYPE(a) != Py_TYPE(b) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((((py_schema *)a)->op == ((py_schema *)b)->op) == (how == Py_EQ));
}
static Py_hash_t schema_hash(PyObject *o) {
  return _Py_HashPointer(((py_schema *)o)->op);
}
static PyGetSetDef schema_getset[] = {
    {"name", schema_name, NULL, NULL, NULL},
    {"overload_name", schema_overload, NULL, NULL, NULL},
    {"arguments", schema_arguments, NULL, NULL, NULL},
    {"returns", schema_returns, NULL, NULL, NULL},
    {"is_mutable", schema_is_mutable, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject schema_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.FunctionSchema",
    .tp_basicsize = sizeof(py_schema),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_str = schema_str,
    .tp_repr = schema_str,
    .tp_richcompare = schema_compare,
    .tp_hash = schema_hash,
    .tp_getset = schema_getset,
};

int py_add_schema(PyObject *m) {
  PyTypeObject *types[] = {&schema_type, &argument_type, &argtype_type, &alias_type};
  static const char *const names[] = {"FunctionSchema", "Argument", "Type", "_AliasInfo"};
  for (size_t i = 0; i < PY_COUNT(types); i++) {
    if (PyType_Ready(types[i]) || PyModule_AddObjectRef(m, names[i], (PyObject *)types[i]))
      return -1;
  }
  for (size_t i = 0; i < PY_COUNT(class_names); i++) {
    if (!class_of(class_names[i])) return -1;
  }
  return class_of("OptionalType") && class_of("ListType") ? 0 : -1;
}
