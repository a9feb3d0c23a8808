// SPDX-License-Identifier: Apache-2.0
// ingot.ops: namespaces that find packets by name and keep them, and take attributes from Python
// (higher-order operators, operators that a library adds).
#include <string.h>

#include "py.h"

typedef struct py_namespace {
  PyObject_HEAD PyObject *name;  // NULL: ingot.ops itself
  PyObject *dict;
} py_namespace;

static PyTypeObject namespace_type;
static PyTypeObject root_type;

static int namespace_traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(((py_namespace *)o)->dict);
  return 0;
}
static int namespace_clear(PyObject *o) {
  Py_CLEAR(((py_namespace *)o)->dict);
  return 0;
}
static void namespace_dealloc(PyObject *o) {
  PyObject_GC_UnTrack(o);
  (void)namespace_clear(o);
  Py_XDECREF(((py_namespace *)o)->name);
  Py_TYPE(o)->tp_free(o);
}

static PyObject *namespace_new(PyTypeObject *type, PyObject *name) {
  py_namespace *o = (py_namespace *)type->tp_alloc(type, 0);
  if (!o) return NULL;
  o->name = Py_XNewRef(name);
  o->dict = PyDict_New();
  if (!o->dict) Py_CLEAR(o);
  return (PyObject *)o;
}

static PyObject *namespace_init(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *name = NULL;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "U:_OpNamespace", &name)) return NULL;
  return namespace_new(type, name);
}

// Cached, so that the next lookup is a plain attribute access.
static PyObject *keep(PyObject *o, PyObject *name, PyObject *found) {
  if (found && PyDict_SetItem(((py_namespace *)o)->dict, name, found) != 0) Py_CLEAR(found);
  return found;
}

static PyObject *namespace_getattr(PyObject *o, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  PyObject *ns = ((py_namespace *)o)->name;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  // Higher-order operators are made when their package is imported.
  if (text[0] != '_' && PyUnicode_CompareWithASCIIString(ns, "higher_order") == 0) {
    PyObject *home = PyImport_ImportModule("ingot._higher_order_ops");
    Py_XDECREF(home);
    found = home ? PyObject_GenericGetAttr(o, name) : NULL;
    return found;
  }
  if (PyUnicode_CompareWithASCIIString(ns, "_TorchScriptTesting") == 0) {
    PyObject *home = PyImport_ImportModule("ingot.classes");
    Py_XDECREF(home);
    if (!home) return NULL;
  }
  if (strncmp(text, "__", 2) != 0 || strcmp(text, "__and__") == 0 || text[2] != 0) {
    found = PyObject_CallMethod(py.module, "_packet", "OO", ns, name);
    if (!found) return NULL;
    if (found != Py_None) return keep(o, name, found);
    Py_DECREF(found);
  }
  PyErr_Format(PyExc_AttributeError, "'_OpNamespace' '%U' object has no attribute '%U'", ns, name);
  return NULL;
}

static PyObject *root_getattr(PyObject *o, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text || strncmp(text, "__", 2) == 0) return NULL;
  PyErr_Clear();
  if (strcmp(text, "load_library") == 0 || strcmp(text, "loaded_libraries") == 0) {
    PyObject *home = PyImport_ImportModule("ingot._libraries");
    found = home ? PyObject_GetAttr(home, name) : NULL;
    Py_XDECREF(home);
    return found ? keep(o, name, found) : NULL;
  }
  return keep(o, name, namespace_new(&namespace_type, name));
}

static PyObject *namespace_repr(PyObject *o) {
  PyObject *name = ((py_namespace *)o)->name;
  return name ? PyUnicode_FromFormat("<module 'torch.ops.%U' from 'torch.ops'>", name)
              : PyUnicode_FromString("<module 'torch.ops' from '_ops.py'>");
}
static PyObject *namespace_name(PyObject *o, void *unused) {
  (void)unused;
  PyObject *name = ((py_namespace *)o)->name;
  return name ? PyUnicode_FromFormat("torch.ops.%U", name) : PyUnicode_FromString("torch.ops");
}
static PyObject *namespace_short(PyObject *o, void *unused) {
  (void)unused;
  PyObject *name = ((py_namespace *)o)->name;
  return name ? Py_NewRef(name) : PyUnicode_FromString("ops");
}
static PyObject *namespace_dir(PyObject *o, PyObject *unused) {
  (void)unused;
  PyObject *name = ((py_namespace *)o)->name;
  if (name && PyUnicode_CompareWithASCIIString(name, "aten") == 0) {
    return PyObject_CallMethod(py.module, "_op_names", NULL);
  }
  return PyDict_Keys(((py_namespace *)o)->dict);
}

static PyGetSetDef namespace_getset[] = {
    {"__name__", namespace_name, NULL, NULL, NULL},
    {"name", namespace_short, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef namespace_methods[] = {
    {"__dir__", namespace_dir, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define NAMESPACE_TYPE                                                      \
  .tp_basicsize = sizeof(py_namespace), .tp_dealloc = namespace_dealloc,    \
  .tp_traverse = namespace_traverse, .tp_clear = namespace_clear,           \
  .tp_dictoffset = offsetof(py_namespace, dict), .tp_repr = namespace_repr, \
  .tp_getset = namespace_getset, .tp_methods = namespace_methods

static PyTypeObject namespace_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._OpNamespace",
    NAMESPACE_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = namespace_init,
    .tp_getattro = namespace_getattr,
};
static PyTypeObject root_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._Ops",
    NAMESPACE_TYPE,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getattro = root_getattr,
};

// ---- torch.return_types ----

static PyObject *returns_getattr(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  PyTypeObject *type = text && text[0] != '_' ? py_return_type(text) : NULL;
  if (type) return Py_NewRef((PyObject *)type);
  return PyErr_Occurred() ? NULL : PyObject_GenericGetAttr(o, name);
}
static PyTypeObject returns_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.return_types",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getattro = returns_getattr,
};

// ---- torch._C._VariableFunctions: the functions by name ----

static PyObject *functions_getattr(PyObject *o, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  PyObject *package = PyImport_ImportModule("ingot");
  found = package ? PyObject_GetAttr(package, name) : NULL;
  Py_XDECREF(package);
  return found;
}
static PyTypeObject functions_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._VariableFunctionsClass",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getattro = functions_getattr,
};

static int add_object(PyObject *m, const char *name, PyTypeObject *type) {
  PyObject *o = PyType_Ready(type) == 0 ? PyObject_New(PyObject, type) : NULL;
  int bad = !o || PyModule_AddObjectRef(m, name, o);
  Py_XDECREF(o);
  return bad;
}

int py_add_namespaces(PyObject *m) {
  if (PyType_Ready(&namespace_type) != 0 || PyType_Ready(&root_type) != 0 ||
      add_object(m, "return_types", &returns_type) ||
      add_object(m, "_VariableFunctions", &functions_type)) {
    return -1;
  }
  PyObject *ops = namespace_new(&root_type, NULL);
  int bad = !ops || PyModule_AddObjectRef(m, "ops", ops) ||
            PyModule_AddObjectRef(m, "_OpNamespace", (PyObject *)&namespace_type);
  Py_XDECREF(ops);
  return bad ? -1 : 0;
}
