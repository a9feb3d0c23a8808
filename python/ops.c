// SPDX-License-Identifier: Apache-2.0
// Operators in Python: functions (ingot.add), methods (Tensor.add), ops.aten with its packets
// (ops.aten.add) and overloads (ops.aten.add.Tensor). Packets and overloads are made once, so
// identity is equality; they pickle by name.
#include "ingot/library.h"

#include <string.h>

#include "py.h"

static const ig_op *op_of(PyObject *o) {
  return ((py_op *)o)->set->at[0];
}

static void op_dealloc(PyObject *o) {
  if (((py_op *)o)->weak) PyObject_ClearWeakRefs(o);
  Py_XDECREF(((py_op *)o)->name);
  ig_overload_set_free(((py_op *)o)->set);
  Py_TYPE(o)->tp_free(o);
}

static PyObject *op_name(PyObject *o, void *unused) {
  (void)unused;
  return Py_NewRef(((py_op *)o)->name);
}
static PyObject *op_module(PyObject *o, void *unused) {
  (void)unused;
  switch (((py_op *)o)->set->style) {
    case IG_STYLE_FUNCTION:
      return PyUnicode_FromString("ingot");
    case IG_STYLE_METHOD:
      return PyUnicode_FromString("ingot._C");
    default:
      return PyUnicode_FromFormat("torch._ops.%s", ((py_op *)o)->ns);
  }
}
static PyObject *op_schemas(PyObject *o, void *unused) {
  (void)unused;
  py_op *op = (py_op *)o;
  PyObject *list = PyList_New((Py_ssize_t)op->set->n);
  for (size_t i = 0; list && i < op->set->n; i++) {
    PyObject *s = py_schema_of(op->set->at[i]);
    if (!s) Py_CLEAR(list);
    if (s) PyList_SET_ITEM(list, (Py_ssize_t)i, s);
  }
  return list;
}
static PyObject *op_reduce(PyObject *o, PyObject *unused) {
  (void)unused;
  py_op *op = (py_op *)o;
  PyObject *maker = PyObject_GetAttrString(py.module, "_find_op");
  if (!maker) return NULL;
  const char *overload = op->set->style == IG_STYLE_OVERLOAD ? op_of(o)->schema.overload : "";
  return Py_BuildValue("N(sOsi)", maker, op->ns, op->name, overload, (int)op->set->style);
}

// ---- functions and methods ----

// In PyTorch a function of torch._C._nn, not a static method that torch has under its name.
static bool is_nn(PyObject *o) {
  return op_of(o)->facts & IG_FACT_NN;
}
static PyObject *function_is_nn(PyObject *o, void *unused) {
  (void)unused;
  return PyBool_FromLong(is_nn(o));
}
static PyObject *function_repr(PyObject *o) {
  if (is_nn(o)) return PyUnicode_FromFormat("<built-in function %U>", ((py_op *)o)->name);
  return PyUnicode_FromFormat("<built-in method %U of type object>", ((py_op *)o)->name);
}
static PyObject *method_repr(PyObject *o) {
  return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", ((py_op *)o)->name);
}
static PyObject *method_bind(PyObject *op, PyObject *self, PyObject *type) {
  (void)type;
  return self ? PyMethod_New(op, self) : Py_NewRef(op);
}
static PyObject *method_qualname(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromFormat("Tensor.%U", ((py_op *)o)->name);
}

// Functions of ingot._docs, which is imported when somebody asks.
static PyObject *op_document(PyObject *o, void *unused) {
  (void)unused;
  PyObject *docs = PyImport_ImportModule("ingot._docs");
  PyObject *schemas = docs ? op_schemas(o, NULL) : NULL;
  PyObject *out = schemas ? PyObject_CallMethod(docs, "document", "OOz", ((py_op *)o)->name,
                                                schemas, op_of(o)->def->samples)
                          : NULL;
  Py_XDECREF(docs);
  Py_XDECREF(schemas);
  return out;
}
static PyObject *op_signature(PyObject *o, void *unused) {
  (void)unused;
  PyObject *docs = PyImport_ImportModule("ingot._docs");
  PyObject *schemas = docs ? op_schemas(o, NULL) : NULL;
  PyObject *out = schemas ? PyObject_CallMethod(docs, "signature", "O", schemas) : NULL;
  Py_XDECREF(docs);
  Py_XDECREF(schemas);
  return out;
}
// A function of a class is itself, bound to nothing. It has this slot so that inspect and help()
// know it as a routine.
static PyObject *function_bind(PyObject *op, PyObject *self, PyObject *type) {
  (void)self;
  (void)type;
  return Py_NewRef(op);
}

static PyGetSetDef function_getset[] = {
    {"__doc__", op_document, NULL, NULL, NULL},
    {"__signature__", op_signature, NULL, NULL, NULL},
    {"__name__", op_name, NULL, NULL, NULL},
    {"__qualname__", op_name, NULL, NULL, NULL},
    {"__module__", op_module, NULL, NULL, NULL},
    {"_schemas", op_schemas, NULL, "Schemas of the overloads in the order of trial.", NULL},
    {"_is_nn", function_is_nn, NULL, "Whether PyTorch has it in torch._C._nn.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyGetSetDef method_getset[] = {
    {"__doc__", op_document, NULL, NULL, NULL},
    {"__signature__", op_signature, NULL, NULL, NULL},
    {"__name__", op_name, NULL, NULL, NULL},
    {"__qualname__", method_qualname, NULL, NULL, NULL},
    {"__module__", op_module, NULL, NULL, NULL},
    {"_schemas", op_schemas, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef function_methods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define OP_TYPE                                                                                    \
  .tp_basicsize = sizeof(py_op), .tp_dealloc = op_dealloc,                                         \
  .tp_vectorcall_offset = offsetof(py_op, vectorcall), .tp_weaklistoffset = offsetof(py_op, weak), \
  .tp_call = PyVectorcall_Call

PyTypeObject py_function_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Function",
    OP_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = function_repr,
    .tp_descr_get = function_bind,
    .tp_getset = function_getset,
    .tp_methods = function_methods,
};
PyTypeObject py_method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Method",
    OP_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = method_repr,
    .tp_descr_get = method_bind,
    .tp_getset = method_getset,
    .tp_methods = function_methods,
};

// ---- overloads ----

static PyObject *overload_str(PyObject *o) {
  return PyUnicode_FromString(op_of(o)->target);
}
static PyObject *overload_repr(PyObject *o) {
  const ig_schema *s = &op_of(o)->schema;
  return PyUnicode_FromFormat("<OpOverload(op='%s.%s', overload='%s')>", s->ns, s->name,
                              s->overload);
}
static PyObject *overload_name(PyObject *o, void *unused) {
  (void)unused;
  const ig_schema *s = &op_of(o)->schema;
  return PyUnicode_FromFormat("%s.%s", s->name, s->overload);
}
static PyObject *overload_overload(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(op_of(o)->schema.overload);
}
static PyObject *overload_namespace(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromString(op_of(o)->schema.ns);
}
static PyObject *overload_schema(PyObject *o, void *unused) {
  (void)unused;
  return py_schema_of(op_of(o));
}
static PyObject *overload_packet(PyObject *o, void *unused);

// Tags derived from the library's properties, or given by the user.
static PyObject *overload_tags(PyObject *o, void *unused) {
  (void)unused;
  const ig_op *op = op_of(o);
  PyObject *tags = PyList_New(0);
  PyObject *type = PyObject_GetAttrString(py.module, "Tag");
  unsigned bits = ig_op_tags(op);
  if (op->facts & IG_FACT_CORE) bits |= 1U << IG_TAG_CORE;
  if (op->def->random) bits |= 1U << IG_TAG_NONDETERMINISTIC_SEEDED;
  if (!ig_op_is_user(op)) bits |= 1U << IG_TAG_PT2_COMPLIANT;
  for (int t = 0; tags && type && t < IG_TAG_COUNT; t++) {
    if (!(bits >> t & 1)) continue;
    PyObject *tag = PyObject_GetAttrString(type, ig_tag_text((ig_tag)t));
    if (!tag || PyList_Append(tags, tag) != 0) Py_CLEAR(tags);
    Py_XDECREF(tag);
  }
  if (!type) Py_CLEAR(tags);
  Py_XDECREF(type);
  return tags;
}

// "aten::add.Tensor"; the default overload has no suffix.
static PyObject *overload_full_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_schema *s = &op_of(o)->schema;
  return strcmp(s->overload, "default") == 0
             ? PyUnicode_FromFormat("%s::%s", s->ns, s->name)
             : PyUnicode_FromFormat("%s::%s.%s", s->ns, s->name, s->overload);
}
// Does every call of it draw random numbers? Attention, for example, only does so with a dropout.
static PyObject *overload_draws(PyObject *o, void *unused) {
  (void)unused;
  const ig_op *op = op_of(o);
  return PyBool_FromLong(op->def->random && op->facts & IG_FACT_SEEDED);
}
static PyObject *overload_is_view(PyObject *o, void *unused) {
  (void)unused;
  const ig_schema *s = &op_of(o)->schema;
  bool view = false;
  for (size_t i = 0; i < s->nargs; i++) view |= s->args[i].aliased && !s->args[i].written;
  return PyBool_FromLong(view);
}
static PyObject *overload_has_kernel(PyObject *o, PyObject *unused) {
  (void)o;
  (void)unused;
  Py_RETURN_TRUE;
}
static PyObject *overload_decompose(PyObject *o, PyObject *args, PyObject *kwargs) {
  // Where the record has a decomposition, calling the operator under a capture does not decompose
  // it; here it is run eagerly, which computes the same.
  if (!ig_op_has_decomposition(op_of(o))) Py_RETURN_NOTIMPLEMENTED;
  return PyObject_Call(o, args, kwargs);
}
static PyObject *overload_copy(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef(o);
}

static PyObject *overload_name_field(PyObject *o, void *unused) {
  (void)unused;
  return overload_full_name(o, NULL);
}

static PyGetSetDef overload_getset[] = {
    {"__name__", overload_name, NULL, NULL, NULL},
    {"__qualname__", overload_name, NULL, NULL, NULL},
    {"__module__", op_module, NULL, NULL, NULL},
    {"_schema", overload_schema, NULL, NULL, NULL},
    {"_name", overload_name_field, NULL, NULL, NULL},
    {"_overloadname", overload_overload, NULL, NULL, NULL},
    {"overloadpacket", overload_packet, NULL, NULL, NULL},
    {"_overloadpacket", overload_packet, NULL, NULL, NULL},
    {"namespace", overload_namespace, NULL, NULL, NULL},
    {"tags", overload_tags, NULL, NULL, NULL},
    {"is_view", overload_is_view, NULL, NULL, NULL},
    {"_draws", overload_draws, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef overload_methods[] = {
    {"name", overload_full_name, METH_NOARGS, NULL},
    {"has_kernel_for_dispatch_key", overload_has_kernel, METH_O, NULL},
    {"decompose", (PyCFunction)(void (*)(void))overload_decompose, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"__deepcopy__", overload_copy, METH_O, NULL},
    {"__copy__", overload_copy, METH_NOARGS, NULL},
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_overload_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.OpOverload",
    OP_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = overload_repr,
    .tp_str = overload_str,
    .tp_getset = overload_getset,
    .tp_methods = overload_methods,
};

// ---- packets ----

static PyObject *packets;  // "aten::add" -> packet

static PyObject *packet_get(const char *ns, const char *name) {
  char key[160];
  if ((size_t)snprintf(key, sizeof key, "%s::%s", ns, name) >= sizeof key) return NULL;
  PyObject *found = PyDict_GetItemString(packets, key);
  if (found) return Py_NewRef(found);
  PyObject *made = py_op_make(ns, name, IG_STYLE_PACKET);
  if (made && PyDict_SetItemString(packets, key, made) != 0) Py_CLEAR(made);
  return made;
}

void py_packet_forget(const ig_op *op) {
  char key[160];
  const ig_schema *s = &op->schema;
  if ((size_t)snprintf(key, sizeof key, "%s::%s", s->ns, s->name) >= sizeof key) return;
  PyObject *found = PyDict_GetItemString(packets, key);
  if (!found) return;
  if (PyDict_DelItemString(packets, key) != 0) PyErr_Clear();
  // ops.<ns> keeps what it has found.
  PyObject *ops = PyObject_GetAttrString(py.module, "ops");
  PyObject *ns = ops ? PyObject_GetAttrString(ops, s->ns) : NULL;
  if (!ns || PyObject_SetAttrString(ns, s->name, NULL) != 0) PyErr_Clear();
  Py_XDECREF(ns);
  Py_XDECREF(ops);
}

static PyObject *overload_packet(PyObject *o, void *unused) {
  (void)unused;
  return packet_get(op_of(o)->schema.ns, op_of(o)->schema.name);
}

static PyObject *packet_str(PyObject *o) {
  return PyUnicode_FromFormat("%s.%U", ((py_op *)o)->ns, ((py_op *)o)->name);
}
static PyObject *packet_repr(PyObject *o) {
  return PyUnicode_FromFormat("<OpOverloadPacket(op='%s.%U')>", ((py_op *)o)->ns,
                              ((py_op *)o)->name);
}
static PyObject *packet_overloads(PyObject *o, PyObject *unused) {
  (void)unused;
  py_op *op = (py_op *)o;
  PyObject *list = PyList_New((Py_ssize_t)op->set->n);
  for (size_t i = 0; list && i < op->set->n; i++) {
    PyObject *name = PyUnicode_FromString(op->set->at[i]->schema.overload);
    if (!name) Py_CLEAR(list);
    if (name) PyList_SET_ITEM(list, (Py_ssize_t)i, name);
  }
  return list;
}
static PyObject *packet_getattr(PyObject *o, PyObject *name) {
  py_op *op = (py_op *)o;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  for (size_t i = 0; i < op->set->n; i++) {
    if (strcmp(op->set->at[i]->schema.overload, text) == 0) {
      return py_op_make_overload(op->set->at[i]);
    }
  }
  PyObject *found = PyObject_GenericGetAttr(o, name);
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Format(PyExc_AttributeError, "The underlying op of '%s.%U' has no overload name '%U'",
                 op->ns, op->name, name);
  }
  return found;
}
static PyObject *packet_iter(PyObject *o) {
  PyObject *list = packet_overloads(o, NULL);
  PyObject *it = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return it;
}
static PyObject *packet_dir(PyObject *o, PyObject *unused) {
  return packet_overloads(o, unused);
}
static PyObject *packet_qualified(PyObject *o, void *unused) {
  (void)unused;
  return PyUnicode_FromFormat("%s::%U", ((py_op *)o)->ns, ((py_op *)o)->name);
}

static PyGetSetDef packet_getset[] = {
    {"__name__", op_name, NULL, NULL, NULL},
    {"__module__", op_module, NULL, NULL, NULL},
    {"_qualified_op_name", packet_qualified, NULL, NULL, NULL},
    {"_schemas", op_schemas, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef packet_methods[] = {
    {"overloads", packet_overloads, METH_NOARGS, NULL},
    {"__dir__", packet_dir, METH_NOARGS, NULL},
    {"__deepcopy__", overload_copy, METH_O, NULL},
    {"__reduce__", op_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
PyTypeObject py_packet_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.OpOverloadPacket",
    OP_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = packet_repr,
    .tp_str = packet_str,
    .tp_getattro = packet_getattr,
    .tp_iter = packet_iter,
    .tp_getset = packet_getset,
    .tp_methods = packet_methods,
};

// ---- functions of the module ----

// op(name): the function of that name. AttributeError: none.
static PyObject *op_function(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(name);
  PyObject *op = text ? py_op_make("aten", text, IG_STYLE_FUNCTION) : NULL;
  if (!op && !PyErr_Occurred()) {
    PyErr_Format(PyExc_AttributeError, "no operator is called 'aten::%s'", text);
  }
  return op;
}

// _packet(namespace, name): None when there is none.
static PyObject *op_packet(PyObject *module, PyObject *args) {
  (void)module;
  const char *ns = NULL;
  const char *name = NULL;
  if (!PyArg_ParseTuple(args, "ss:_packet", &ns, &name)) return NULL;
  PyObject *op = packet_get(ns, name);
  if (!op && !PyErr_Occurred()) Py_RETURN_NONE;
  return op;
}

// _find_op(namespace, name, overload, kind): what op_reduce wrote.
static PyObject *op_find(PyObject *module, PyObject *args) {
  (void)module;
  const char *ns = NULL;
  const char *name = NULL;
  const char *overload = NULL;
  int kind = 0;
  PyObject *out = NULL;
  if (!PyArg_ParseTuple(args, "sssi:_find_op", &ns, &name, &overload, &kind)) return NULL;
  if (kind == IG_STYLE_OVERLOAD) {
    const ig_op *op = ig_lib_overloads(py_ctx(), ns, name);
    while (op && strcmp(op->schema.overload, overload) != 0) op = op->next;
    if (op) return py_op_make_overload(op);
  } else if (kind == IG_STYLE_METHOD) {
    return PyObject_GetAttrString((PyObject *)py_tensor_type, name);
  } else if (kind == IG_STYLE_FUNCTION) {
    PyObject *package = PyImport_ImportModule("ingot");
    out = package ? PyObject_GetAttrString(package, name) : NULL;
    Py_XDECREF(package);
    return out;
  } else {
    out = packet_get(ns, name);
    if (out || PyErr_Occurred()) return out;
  }
  PyErr_Format(PyExc_AttributeError, "no operator is called '%s::%s.%s'", ns, name, overload);
  return NULL;
}

// The names of namespace aten that have these facts, sorted, each once.
static PyObject *names_with(unsigned facts) {
  ig_ctx *c = py_ctx();
  PyObject *set = PySet_New(NULL);
  for (size_t i = 0; set && i < ig_op_count(c); i++) {
    const ig_op *op = ig_op_at(c, i);
    const ig_schema *s = &op->schema;
    if (strcmp(s->ns, "aten") != 0 || (op->facts & facts) != facts) continue;
    PyObject *name = PyUnicode_FromString(s->name);
    if (!name || PySet_Add(set, name) != 0) Py_CLEAR(set);
    Py_XDECREF(name);
  }
  PyObject *list = set ? PySequence_List(set) : NULL;
  Py_XDECREF(set);
  if (list && PyList_Sort(list) != 0) Py_CLEAR(list);
  return list;
}

static PyObject *op_names(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return names_with(0);
}
static PyObject *function_names(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return names_with(IG_FACT_FUNCTION);
}

static PyMethodDef functions[] = {
    {"op", op_function, METH_O, "The function of an operator's name; AttributeError: none."},
    {"_packet", op_packet, METH_VARARGS, NULL},
    {"_find_op", op_find, METH_VARARGS, NULL},
    {"_op_names", op_names, METH_NOARGS, NULL},
    {"_function_names", function_names, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

// Every operator whose first argument is a tensor becomes a method of Tensor, unless the type has
// something else of that name.
static int add_methods(PyTypeObject *type) {
  ig_ctx *c = py_ctx();
  size_t n = ig_op_count(c);
  if (!py_ok(c)) return -1;
  for (size_t i = 0; i < n; i++) {
    const ig_op *at = ig_op_at(c, i);
    const char *text = at->schema.name;
    if (strcmp(at->schema.ns, "aten") != 0) continue;
    PyObject *name = PyUnicode_InternFromString(text);
    if (!name) return -1;
    if (!PyDict_Contains(type->tp_dict, name)) {
      PyObject *op = py_op_make("aten", text, IG_STYLE_METHOD);
      int bad = op ? PyDict_SetItem(type->tp_dict, name, op) : PyErr_Occurred() != NULL;
      Py_XDECREF(op);
      if (bad) {
        Py_DECREF(name);
        return -1;
      }
    }
    Py_DECREF(name);
  }
  PyType_Modified(type);
  return 0;
}

int py_add_ops(PyObject *m) {
  packets = PyDict_New();
  if (!packets || PyModule_AddFunctions(m, functions) != 0) return -1;
  if (PyModule_AddObjectRef(m, "OpOverload", (PyObject *)&py_overload_type) ||
      PyModule_AddObjectRef(m, "OpOverloadPacket", (PyObject *)&py_packet_type)) {
    return -1;
  }
  return add_methods(py_tensor_type);
}
