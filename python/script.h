// SPDX-License-Identifier: Apache-2.0
// Scripts from Python: functions, classes and modules of user code for the compiler. What a name
// means is decided in Python (ingot/jit/_front.py) and handed over as a tuple of a word and its
// data, which script_sugar.c reads.
#ifndef PY_SCRIPT_H_
#define PY_SCRIPT_H_

#include "py.h"
#include "script/compile.h"
#include "sgraph.h"

// A function of the unit: torch.jit.ScriptFunction. The unit keeps the function.
typedef struct py_sfunction {
  PyObject_HEAD ig_sunit *unit;  // retained
  ig_sfunction *f;
  PyObject *self;  // of a method of an object; NULL: none
  PyObject *dict;
} py_sfunction;

// A class of the unit while it is built: attributes, constants, methods.
typedef struct py_sclass {
  PyObject_HEAD ig_sunit *unit;  // retained
  ig_sclass *k;
} py_sclass;

// An object of a class.
typedef struct py_sobject {
  PyObject_HEAD ig_sobj_instance *o;  // retained
} py_sobject;

extern PyTypeObject py_sfunction_type;

// (lines of a file, index of a function's first one) -> (its text without decorators and without
// the indentation around it, number of the text's first line, indentation); None: no definition is
// there.
PyObject *py_script_source(PyObject *module, PyObject *args);
extern PyTypeObject py_sobject_type;
extern PyTypeObject py_smodule_type;
extern PyTypeObject py_sclass_type;

PyObject *py_from_sfunction(ig_sunit *u, ig_sfunction *f);
PyObject *py_from_sinstance(ig_sobj_instance *i);
PyObject *py_from_sclass(ig_sunit *u, ig_sclass *k);

// script_sugar.c: what Python says that a name means. self: of an attribute of a module; NULL: a
// name. False after an error, which is the context's: IG_HOST for an exception.
bool py_sugar_of(ig_ctx *c, PyObject *said, ig_svalue *self, ig_srange where, ig_sugar *out);
// A constant of a script, with its type; everything lives as long as the unit. False: exception
// set.
bool py_script_constant(ig_sunit *u, PyObject *o, ig_value *out, const ig_stype **type);
bool py_script_failed(ig_ctx *c);  // the exception becomes the context's error; false
// Raises the context's error as scripts do: what is wrong in a text is a RuntimeError. NULL.
PyObject *py_script_raise(ig_ctx *c);

// script_call.c: runs a function. self: the object of a method; NULL: none.
PyObject *py_script_call(ig_sfunction *f, PyObject *self, PyObject *args, PyObject *options);
PyObject *py_script_set_host(PyObject *module, PyObject *args);
PyObject *py_script_set_refusal(PyObject *module, PyObject *args);
// A function that calls the Python object with n tensors. NULL after an error, which is the
// context's. scalars: what is printed of its other arguments.
ig_sfunction *py_script_host_function(ig_sunit *u, const char *name, const char *scalars, size_t n,
                                      PyObject *callable);
const ig_stype *py_script_tensors_type(ig_sunit *u, size_t n, bool tuple);  // NULL: out of memory
// script_object.c: an object of a class or interface as a value. A Python object of a class that
// scripts know is copied. False: it does not fit, `why` says so, or an exception is set.
bool py_to_sinstance(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                     ig_str *why);
// The type of an object whose class scripts know; NULL: they do not, or an exception is set.
const ig_stype *py_declared_type(PyObject *o);
PyObject *py_script_instance(PyObject *module, PyObject *cls);

int py_add_script(PyObject *m);  // script.c
int py_add_script_object(PyObject *m);
int py_add_script_archive(PyObject *m);
int py_add_script_freeze(PyObject *m);
int py_add_script_class(PyObject *m);  // script_class.c

#endif
