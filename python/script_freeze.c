// SPDX-License-Identifier: Apache-2.0
// Freezing of script modules from Python.
#include "script/freeze.h"

#include "script.h"

static ig_sobj_instance *module_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &py_smodule_type)) return ((py_sobject *)o)->o;
  PyErr_Format(PyExc_TypeError, "expected a script module, found %s", Py_TYPE(o)->tp_name);
  return NULL;
}

// Texts of a list, borrowed from its elements. NULL: exception set.
static const char **texts_of(PyObject *list, size_t *n) {
  *n = (size_t)PyList_GET_SIZE(list);
  const char **at = (const char **)PyMem_Calloc(*n + 1, sizeof *at);
  if (!at) return (const char **)PyErr_NoMemory();
  for (size_t i = 0; i < *n; i++) {
    at[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(list, (Py_ssize_t)i));
    if (at[i]) continue;
    PyMem_Free((void *)at);
    return NULL;
  }
  return at;
}

static PyObject *freeze_module(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *module = NULL;
  PyObject *preserved = NULL;
  if (!PyArg_ParseTuple(args, "OO!", &module, &PyList_Type, &preserved)) return NULL;
  ig_sobj_instance *o = module_of(module);
  size_t n = 0;
  const char **names = o ? texts_of(preserved, &n) : NULL;
  if (!names) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope scope = ig_scope_open(c);
  ig_sobj_instance *frozen = ig_script_freeze(c, o, &(ig_sfreeze){names, n});
  ig_scope_close(c, scope);
  PyMem_Free((void *)names);
  PyObject *out = frozen ? py_from_sinstance(frozen) : py_script_raise(c);
  if (frozen) ig_svalue_release(ig_of_sobj(frozen));
  return out;
}

// The graph of one method of a frozen module.
static PyObject *optimize_frozen(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *module = NULL;
  const char *name = NULL;
  int numerics = 0;
  if (!PyArg_ParseTuple(args, "Osp", &module, &name, &numerics)) return NULL;
  ig_sobj_instance *o = module_of(module);
  if (!o) return NULL;
  ig_ctx *c = py_ctx();
  ig_sfunction *f = ig_sclass_method(o->cls, name);
  if (!f || !ig_sfunction_ensure(c, f) || !f->graph) {
    if (ig_ctx_status(c) != IG_OK) return py_script_raise(c);
    PyErr_Format(PyExc_AttributeError, "Method '%s' is not defined.", name);
    return NULL;
  }
  ig_scope scope = ig_scope_open(c);
  bool ok = ig_sgraph_optimize_frozen(f->unit, f->graph, numerics);
  ig_scope_close(c, scope);
  if (!ok) return py_script_raise(c);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_script_freeze", freeze_module, METH_VARARGS, "A frozen copy of a module."},
    {"_script_optimize_frozen", optimize_frozen, METH_VARARGS,
     "Optimizes a method of a frozen module."},
    {NULL, NULL, 0, NULL},
};

int py_add_script_freeze(PyObject *m) {
  return PyModule_AddFunctions(m, functions);
}
