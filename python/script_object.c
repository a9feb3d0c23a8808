// SPDX-License-Identifier: Apache-2.0
// Instances of script classes as Python objects: torch._C.ScriptObject and, of modules,
// torch._C.ScriptModule; their methods, and views of a module's parts by role.
#include <string.h>

#include "script.h"
#include "script_value.h"

static ig_sobj_instance *instance_of(PyObject *o) {
  return ((py_sobject *)o)->o;
}

static ig_sunit *unit_of(PyObject *o) {
  return instance_of(o)->cls->unit;
}

// Takes over the reference.
static PyObject *wrap(ig_sobj_instance *i) {
  PyTypeObject *type = i->cls->module ? &py_smodule_type : &py_sobject_type;
  py_sobject *o = (py_sobject *)type->tp_alloc(type, 0);
  if (!o) {
    ig_svalue_release(ig_of_sobj(i));
    return NULL;
  }
  o->o = i;
  return (PyObject *)o;
}

PyObject *py_from_sinstance(ig_sobj_instance *i) {
  ig_svalue_retain(ig_of_sobj(i));
  return wrap(i);
}

enum { FEW = 64 };  // objects that are looked at whenever one is let go

static void object_dealloc(PyObject *o) {
  ig_sunit *u = ig_sunit_retain(instance_of(o)->cls->unit);
  ig_svalue_release(ig_of_sobj(instance_of(o)));
  if (u->n_objects < FEW) {
    ig_sunit_close(u);
  } else {
    ig_sunit_release(u);
  }
  Py_TYPE(o)->tp_free(o);
}

// ---- objects as values

// The object inside of a Python module that wraps one; NULL: there is none. A new reference.
static PyObject *inner_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &py_sobject_type)) return Py_NewRef(o);
  PyObject *inner = PyObject_GetAttrString(o, "_c");
  if (!inner) PyErr_Clear();
  if (inner && PyObject_TypeCheck(inner, &py_sobject_type)) return inner;
  Py_XDECREF(inner);
  return NULL;
}

const ig_stype *py_declared_type(PyObject *o) {
  PyObject *inner = inner_of(o);
  if (inner) {
    const ig_stype *type = instance_of(inner)->cls->type;
    Py_DECREF(inner);
    return type;
  }
  PyObject *known = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "_ingot_script_type");
  if (!known) PyErr_Clear();
  const ig_stype *type =
      known && PyObject_TypeCheck(known, &py_stype_type) ? py_stype_of(known) : NULL;
  Py_XDECREF(known);
  return type;
}

// A copy of a Python object, attribute by attribute.
static bool copy_object(ig_ctx *c, ig_sunit *u, PyObject *o, ig_sclass *k, ig_value *out,
                        ig_str *why) {
  ig_sobj_instance *made = ig_sobj_instance_make(c, k);
  bool ok = made != NULL;
  for (size_t i = 0; ok && i < k->attributes.n; i++) {
    PyObject *value = PyObject_GetAttrString(o, k->attributes.at[i].name);
    ig_value v = ig_none();
    ok = value && py_to_script(c, u, value, k->attributes.at[i].type, &v, why) &&
         ig_sobj_instance_set(c, made, i, v);
    ig_svalue_release(v);
    Py_XDECREF(value);
  }
  if (ok) *out = ig_of_sobj(made);
  if (!ok && made) ig_svalue_release(ig_of_sobj(made));
  return ok;
}

bool py_to_sinstance(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                     ig_str *why) {
  PyObject *inner = inner_of(o);
  if (inner) {
    ig_sobj_instance *i = instance_of(inner);
    bool fits = ig_stype_is_subtype(i->cls->type, t);
    if (fits) {
      ig_svalue_retain(ig_of_sobj(i));
      *out = ig_of_sobj(i);
    } else {
      ig_str_add(why,
                 t->kind == IG_STYPE_INTERFACE
                     ? "Object of type %s is not compatible with interface %s"
                     : "Object of type %s is not of type %s",
                 i->cls->type->name, t->name);
    }
    Py_DECREF(inner);
    return fits;
  }
  const ig_stype *own = py_declared_type(o);
  ig_sclass *k = own ? ig_sclass_of(own) : NULL;
  if (k && ig_stype_is_subtype(own, t)) return copy_object(c, u, o, k, out, why);
  if (!PyErr_Occurred()) {
    ig_str_add(why, "Expected an object of type %s, found %s", t->name, Py_TYPE(o)->tp_name);
  }
  return false;
}

// A new instance of a class; attributes are None.
PyObject *py_script_instance(PyObject *module, PyObject *cls) {
  (void)module;
  if (!PyObject_TypeCheck(cls, &py_sclass_type)) {
    return PyErr_Format(PyExc_TypeError, "expected a class of a script");
  }
  ig_ctx *c = py_ctx();
  ig_sobj_instance *i = ig_sobj_instance_make(c, ((py_sclass *)cls)->k);
  return i ? wrap(i) : py_raise(c);
}

// ---- attributes

static size_t position(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  return text ? ig_sclass_attribute(instance_of(o)->cls, text) : SIZE_MAX;
}

static PyObject *has_attribute(PyObject *o, PyObject *name) {
  return PyBool_FromLong(position(o, name) != SIZE_MAX);
}

static PyObject *get_attribute(PyObject *o, PyObject *name) {
  size_t at = position(o, name);
  if (at != SIZE_MAX) return py_from_script(py_ctx(), ig_sobj_instance_get(instance_of(o), at));
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'",
                 instance_of(o)->cls->type->name, name);
  }
  return NULL;
}

static PyObject *set_attribute(PyObject *o, PyObject *args) {
  PyObject *name = NULL;
  PyObject *value = NULL;
  if (!PyArg_ParseTuple(args, "UO", &name, &value)) return NULL;
  size_t at = position(o, name);
  if (at == SIZE_MAX) {
    return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'",
                        instance_of(o)->cls->type->name, name);
  }
  ig_ctx *c = py_ctx();
  const ig_stype *type = instance_of(o)->cls->attributes.at[at].type;
  ig_value v = ig_none();
  ig_str why = ig_str_make(c->alloc);
  bool ok = py_to_script(c, unit_of(o), value, type, &v, &why);
  if (!ok && !PyErr_Occurred() && c->status == IG_OK) {
    ig_str text = ig_str_make(c->alloc);
    ig_stype_print_annotation(&text, type);
    PyErr_Format(PyExc_RuntimeError, "Could not cast attribute '%U' to type %s: %s", name,
                 text.at ? text.at : "", why.at ? why.at : "");
    ig_str_free(&text);
  }
  ig_str_free(&why);
  if (ok) {
    ok = ig_sobj_instance_set(c, instance_of(o), at, v);
    ig_svalue_release(v);
  }
  if (ok) Py_RETURN_NONE;
  return PyErr_Occurred() ? NULL : py_raise(c);
}

static PyObject *get_constant(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  const ig_sconstant *found = text ? ig_sclass_constant(instance_of(o)->cls, text) : NULL;
  if (found) return Py_BuildValue("(N)", py_from_script(py_ctx(), found->value));
  if (!text) return NULL;
  Py_RETURN_NONE;
}

// ---- methods

static PyObject *bound(PyObject *o, ig_sfunction *f) {
  PyObject *made = py_from_sfunction(unit_of(o), f);
  if (made) ((py_sfunction *)made)->self = Py_NewRef(o);
  return made;
}

static PyObject *get_method(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  ig_sfunction *f = text ? ig_sclass_method(instance_of(o)->cls, text) : NULL;
  if (f) return bound(o, f);
  if (!text) return NULL;
  return PyErr_Format(PyExc_AttributeError, "'%s' object has no method '%U'",
                      instance_of(o)->cls->type->name, name);
}

static PyObject *has_method(PyObject *o, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  return text ? PyBool_FromLong(ig_sclass_method(instance_of(o)->cls, text) != NULL) : NULL;
}

static PyObject *names_of(ig_sfunction *const *at, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *name = PyUnicode_FromString(at[i]->name);
    if (!name) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, name);
  }
  return list;
}

// Names of the hooks before and behind forward.
static PyObject *names_of_hooks(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_sclass *k = instance_of(o)->cls;
  PyObject *before = names_of(k->pre_hooks.at, k->pre_hooks.n);
  PyObject *behind = before ? names_of(k->hooks.at, k->hooks.n) : NULL;
  PyObject *both = behind ? PyTuple_Pack(2, before, behind) : NULL;
  Py_XDECREF(before);
  Py_XDECREF(behind);
  return both;
}

static PyObject *names_of_methods(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_sclass *k = instance_of(o)->cls;
  PyObject *names = PyList_New(0);
  for (size_t i = 0; names && i < k->methods.n; i++) {
    const ig_sfunction *f = k->methods.at[i];
    if (f->host_run || f->refusal || f->is_hook) continue;
    PyObject *name = PyUnicode_FromString(f->name);
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

static PyObject *get_type(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_stype(unit_of(o), instance_of(o)->cls->type);
}

static PyObject *get_class(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_sclass(unit_of(o), instance_of(o)->cls);
}

// Attribute (o.x), or a method.
static PyObject *object_getattro(PyObject *o, PyObject *name) {
  PyObject *own = PyObject_GenericGetAttr(o, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  if (position(o, name) != SIZE_MAX) return get_attribute(o, name);
  return PyErr_Occurred() ? NULL : get_method(o, name);
}

static int object_setattro(PyObject *o, PyObject *name, PyObject *value) {
  if (!value) {
    PyErr_Format(PyExc_AttributeError, "attributes of script objects cannot be deleted");
    return -1;
  }
  PyObject *args = PyTuple_Pack(2, name, value);
  PyObject *done = args ? set_attribute(o, args) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// ---- the parts of a module: (name, value) by role

static PyObject *parts(PyObject *o, ig_srole role, bool modules) {
  const ig_sobj_instance *i = instance_of(o);
  PyObject *all = PyList_New(0);
  for (size_t k = 0; all && k < i->cls->attributes.n; k++) {
    const ig_sattribute *a = &i->cls->attributes.at[k];
    ig_value v = ig_sobj_instance_get(i, k);
    bool is_module =
        ig_sobj_is(v, IG_SOBJ_INSTANCE) && ((const ig_sobj_instance *)v.object)->cls->module;
    if (modules ? !is_module : a->role != role || v.kind == IG_KIND_NONE) continue;
    PyObject *value = is_module ? py_from_sinstance(v.object) : py_from_script(py_ctx(), v);
    PyObject *row = value ? Py_BuildValue("sN", a->name, value) : NULL;
    if (!row || PyList_Append(all, row) < 0) Py_CLEAR(all);
    Py_XDECREF(row);
  }
  return all;
}

static PyObject *parameters(PyObject *o, PyObject *unused) {
  (void)unused;
  return parts(o, IG_SROLE_PARAMETER, false);
}

static PyObject *buffers(PyObject *o, PyObject *unused) {
  (void)unused;
  return parts(o, IG_SROLE_BUFFER, false);
}

static PyObject *children(PyObject *o, PyObject *unused) {
  (void)unused;
  return parts(o, IG_SROLE_PLAIN, true);
}

static PyObject *same(PyObject *a, PyObject *b, int op) {
  if (!PyObject_TypeCheck(b, &py_sobject_type) || (op != Py_EQ && op != Py_NE)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong((instance_of(a) == instance_of(b)) == (op == Py_EQ));
}

static Py_hash_t object_hash(PyObject *o) {
  return (Py_hash_t)((uintptr_t)instance_of(o) >> 4);
}

static PyMethodDef object_methods[] = {
    {"hasattr", has_attribute, METH_O, NULL},
    {"getattr", get_attribute, METH_O, NULL},
    {"setattr", set_attribute, METH_VARARGS, NULL},
    {"_constant", get_constant, METH_O, NULL},
    {"_get_method", get_method, METH_O, NULL},
    {"_hook_names", names_of_hooks, METH_NOARGS, NULL},
    {"_has_method", has_method, METH_O, NULL},
    {"_method_names", names_of_methods, METH_NOARGS, NULL},
    {"_type", get_type, METH_NOARGS, NULL},
    {"_class", get_class, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef module_methods[] = {
    {"_parameters", parameters, METH_NOARGS, NULL},
    {"_buffers", buffers, METH_NOARGS, NULL},
    {"_modules", children, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_sobject_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.ScriptObject",
    .tp_basicsize = sizeof(py_sobject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An object of a script.",
    .tp_dealloc = object_dealloc,
    .tp_getattro = object_getattro,
    .tp_setattro = object_setattro,
    .tp_richcompare = same,
    .tp_hash = object_hash,
    .tp_methods = object_methods,
};

PyTypeObject py_smodule_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.ScriptModule",
    .tp_base = &py_sobject_type,
    .tp_basicsize = sizeof(py_sobject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A module of a script.",
    .tp_methods = module_methods,
};

static PyMethodDef functions[] = {
    {"_script_instance", py_script_instance, METH_O, "A new object of a class."},
    {"_script_set_refusal", py_script_set_refusal, METH_VARARGS, "Calls only raise."},
    {"_script_set_host", py_script_set_host, METH_VARARGS, "Python runs the function."},
    {NULL, NULL, 0, NULL},
};

int py_add_script_object(PyObject *m) {
  if (PyType_Ready(&py_sobject_type) < 0 || PyType_Ready(&py_smodule_type) < 0) return -1;
  if (PyModule_AddFunctions(m, functions) < 0) return -1;
  if (PyModule_AddObjectRef(m, "ScriptObject", (PyObject *)&py_sobject_type) < 0) return -1;
  return PyModule_AddObjectRef(m, "ScriptModule", (PyObject *)&py_smodule_type);
}
