// SPDX-License-Identifier: Apache-2.0
// Classes, enums, interfaces and named tuples of scripts, as Python declares them.
#include <string.h>

#include "script.h"
#include "script_value.h"

PyObject *py_from_sclass(ig_sunit *u, ig_sclass *k) {
  py_sclass *o = PyObject_New(py_sclass, &py_sclass_type);
  if (!o) return NULL;
  o->unit = ig_sunit_retain(u);
  o->k = k;
  return (PyObject *)o;
}

static ig_sclass *class_of(PyObject *o) {
  return ((py_sclass *)o)->k;
}

static void class_dealloc(PyObject *o) {
  ig_sunit_release(((py_sclass *)o)->unit);
  PyObject_Free(o);
}

// ---- the host's answers for attributes

static bool host_attr(ig_ctx *c, ig_sclass *k, ig_svalue *self, const char *name, ig_srange where,
                      ig_sugar *out) {
  PyObject *said = PyObject_CallMethod(k->host_user, "attribute", "s", name);
  bool ok = said ? py_sugar_of(c, said, self, where, out) : py_script_failed(c);
  Py_XDECREF(said);
  return ok;
}

static void host_hint(ig_sclass *k, const char *name, ig_str *s) {
  PyObject *said = PyObject_CallMethod(k->host_user, "hint", "s", name);
  const char *text = said ? PyUnicode_AsUTF8(said) : NULL;
  if (text) ig_str_add(s, "%s", text);
  if (!text) PyErr_Clear();
  Py_XDECREF(said);
}

static PyObject *set_host(PyObject *o, PyObject *args) {
  static const ig_sclass_host host = {host_attr, host_hint};
  PyObject *user = NULL;
  int container = 0;
  if (!PyArg_ParseTuple(args, "Oi", &user, &container)) return NULL;
  ig_sclass *k = class_of(o);
  k->host = &host;
  k->host_user = Py_NewRef(user);  // as long as the unit
  k->container = (ig_scontainer)container;
  Py_RETURN_NONE;
}

// ---- members

static PyObject *add_attribute(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *type = NULL;
  int role = 0;
  if (!PyArg_ParseTuple(args, "sOi", &name, &type, &role)) return NULL;
  const ig_stype *t = py_stype_of(type);
  if (!t) return NULL;
  ig_sclass *k = class_of(o);
  size_t at = ig_sclass_add_attribute(k, name, t, (ig_srole)role);
  return at == SIZE_MAX ? py_raise(k->unit->c) : PyLong_FromSize_t(at);
}

static PyObject *add_constant(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *value = NULL;
  if (!PyArg_ParseTuple(args, "sO", &name, &value)) return NULL;
  ig_sclass *k = class_of(o);
  ig_value v;
  const ig_stype *type = NULL;
  if (!py_script_constant(k->unit, value, &v, &type)) return NULL;
  if (!ig_sclass_add_constant(k, name, type, v)) return py_raise(k->unit->c);
  Py_RETURN_NONE;
}

static PyObject *add_hook(PyObject *o, PyObject *args) {
  PyObject *f = NULL;
  int before = 0;
  if (!PyArg_ParseTuple(args, "O!p", &py_sfunction_type, &f, &before)) return NULL;
  ig_sclass *k = class_of(o);
  ig_sfunction *hook = ((py_sfunction *)f)->f;
  hook->is_hook = true;
  bool ok = before ? ig_vec_push(k->unit->alloc, &k->pre_hooks, hook)
                   : ig_vec_push(k->unit->alloc, &k->hooks, hook);
  if (!ok) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *add_static(PyObject *o, PyObject *f) {
  ig_sclass *k = class_of(o);
  if (!PyObject_TypeCheck(f, &py_sfunction_type)) return PyErr_Format(PyExc_TypeError, "function");
  if (!ig_vec_push(k->unit->alloc, &k->statics, ((py_sfunction *)f)->f)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *add_property(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *get = NULL;
  PyObject *set = NULL;
  if (!PyArg_ParseTuple(args, "sO!O", &name, &py_sfunction_type, &get, &set)) return NULL;
  ig_sclass *k = class_of(o);
  ig_sproperty p = {.name = ig_arena_strn(&k->unit->arena, name, strlen(name)),
                    .get = ((py_sfunction *)get)->f,
                    .set = set == Py_None ? NULL : ((py_sfunction *)set)->f};
  if (!p.name || !ig_vec_push(k->unit->alloc, &k->properties, p)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *get_method(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  ig_sfunction *f = text ? ig_sclass_method(class_of(o), text) : NULL;
  if (f) return py_from_sfunction(class_of(o)->unit, f);
  if (!text) return NULL;
  Py_RETURN_NONE;
}

static PyObject *method_names(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_sclass *k = class_of(o);
  PyObject *names = PyList_New(0);
  for (size_t i = 0; names && i < k->methods.n; i++) {
    PyObject *name = PyUnicode_FromString(k->methods.at[i]->name);
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

// (name, type, role) of every attribute, in order.
static PyObject *attributes(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_sclass *k = class_of(o);
  PyObject *all = PyList_New(0);
  for (size_t i = 0; all && i < k->attributes.n; i++) {
    const ig_sattribute *a = &k->attributes.at[i];
    PyObject *row = Py_BuildValue("sNi", a->name, py_from_stype(k->unit, a->type), (int)a->role);
    if (!row || PyList_Append(all, row) < 0) Py_CLEAR(all);
    Py_XDECREF(row);
  }
  return all;
}

static PyObject *get_type(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_stype(class_of(o)->unit, class_of(o)->type);
}

static PyMethodDef class_methods[] = {
    {"add_attribute", add_attribute, METH_VARARGS, NULL},
    {"add_constant", add_constant, METH_VARARGS, NULL},
    {"add_hook", add_hook, METH_VARARGS, NULL},
    {"add_static", add_static, METH_O, NULL},
    {"add_property", add_property, METH_VARARGS, NULL},
    {"set_host", set_host, METH_VARARGS, NULL},
    {"method", get_method, METH_O, NULL},
    {"method_names", method_names, METH_NOARGS, NULL},
    {"attributes", attributes, METH_NOARGS, NULL},
    {"type", get_type, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_sclass_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C._ScriptClass",
    .tp_basicsize = sizeof(py_sclass),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A class of a script while it is built.",
    .tp_dealloc = class_dealloc,
    .tp_methods = class_methods,
};

// ---- new types

static PyObject *new_class(PyObject *module, PyObject *args) {
  (void)module;
  const char *qualified = NULL;
  int is_module = 0;
  ig_sunit *u = py_unit();
  if (!u || !PyArg_ParseTuple(args, "sp", &qualified, &is_module)) return NULL;
  ig_sclass *k = ig_sunit_add_class(u, qualified, is_module != 0);
  return k ? py_from_sclass(u, k) : py_raise(u->c);
}

// A value as running scripts have it, with its type, a new reference.
static bool py_script_value(ig_sunit *u, PyObject *o, ig_value *out, const ig_stype **type) {
  ig_ctx *c = py_ctx();
  ig_str why = ig_str_make(c->alloc);
  *type = py_script_type_of(c, u, o, &why);
  bool ok = *type && py_to_script(c, u, o, *type, out, &why);
  if (!ok && !PyErr_Occurred()) {
    if (c->status == IG_OK) PyErr_SetString(PyExc_RuntimeError, why.at ? why.at : "");
    if (c->status != IG_OK) (void)py_raise(c);
  }
  ig_str_free(&why);
  return ok;
}

// Members as (name, value), in order; all values have one type.
static PyObject *new_enum(PyObject *module, PyObject *args) {
  (void)module;
  const char *qualified = NULL;
  PyObject *members = NULL;
  PyObject *cls = NULL;
  ig_sunit *u = py_unit();
  if (!u || !PyArg_ParseTuple(args, "sO!O", &qualified, &PyList_Type, &members, &cls)) return NULL;
  ig_senum *e = NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(members); i++) {
    const char *name = NULL;
    PyObject *value = NULL;
    ig_value v;
    const ig_stype *type = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(members, i), "sO", &name, &value)) return NULL;
    if (!py_script_value(u, value, &v, &type)) return NULL;
    if (!e && !(e = ig_sunit_add_enum(u, qualified, type))) return py_raise(u->c);
    bool added = ig_senum_add(e, name, v);
    ig_svalue_release(v);
    if (!added) return py_raise(u->c);
  }
  if (!e) return PyErr_Format(PyExc_RuntimeError, "No enum values defined for %s", qualified);
  e->host = Py_NewRef(cls);  // as long as the unit
  return py_from_stype(u, e->type);
}

// Methods are functions without bodies.
static PyObject *new_interface(PyObject *module, PyObject *args) {
  (void)module;
  const char *qualified = NULL;
  int is_module = 0;
  PyObject *methods = NULL;
  ig_sunit *u = py_unit();
  if (!u || !PyArg_ParseTuple(args, "spO!", &qualified, &is_module, &PyList_Type, &methods)) {
    return NULL;
  }
  ig_sinterface *k = ig_sunit_add_interface(u, qualified, is_module != 0);
  if (!k) return py_raise(u->c);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(methods); i++) {
    ig_sfunction *f = ((py_sfunction *)PyList_GET_ITEM(methods, i))->f;
    f->compile = NULL;
    if (f->n_params > 0) {
      f->params[0].type = k->type;
      f->params[0].inferred = false;
    }
    if (!f->result) f->result = ig_stype_plain(&u->types, IG_STYPE_NONE);
    if (!ig_vec_push(u->alloc, &k->methods, f)) return PyErr_NoMemory();
  }
  return py_from_stype(u, k->type);
}

// Fields as (name, type, default as text or None).
static PyObject *new_named_tuple(PyObject *module, PyObject *args) {
  (void)module;
  const char *qualified = NULL;
  PyObject *rows = NULL;
  ig_sunit *u = py_unit();
  if (!u || !PyArg_ParseTuple(args, "sO!", &qualified, &PyList_Type, &rows)) return NULL;
  size_t n = (size_t)PyList_GET_SIZE(rows);
  ig_stype_field *fields = ig_arena_array(&u->arena, n + 1, sizeof *fields);
  if (!fields) return PyErr_NoMemory();
  for (size_t i = 0; i < n; i++) {
    PyObject *type = NULL;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(rows, (Py_ssize_t)i), "sOz", &fields[i].name, &type,
                          &fields[i].value)) {
      return NULL;
    }
    if (!(fields[i].type = py_stype_of(type))) return NULL;
  }
  const ig_stype *t = ig_stype_named_tuple(&u->types, qualified, fields, n);
  return t ? py_from_stype(u, t) : py_raise(u->c);
}

static PyMethodDef functions[] = {
    {"_script_class", new_class, METH_VARARGS, "A new class."},
    {"_script_enum", new_enum, METH_VARARGS, "A new enum."},
    {"_script_interface", new_interface, METH_VARARGS, "A new interface."},
    {"_script_named_tuple", new_named_tuple, METH_VARARGS, "A named tuple."},
    {NULL, NULL, 0, NULL},
};

int py_add_script_class(PyObject *m) {
  if (PyModule_AddFunctions(m, functions) < 0 || PyType_Ready(&py_sclass_type) < 0) return -1;
  return 0;
}
