// SPDX-License-Identifier: Apache-2.0
// Trees of plain values to Python objects and back.
#ifndef PY_OBJECT_H_
#define PY_OBJECT_H_

#include "ingot/object.h"
#include "py.h"

// classes: dict of "module.name" -> class or function for instances; NULL: there are none.
PyObject *py_from_object(ig_ctx *c, const ig_object *o, PyObject *classes);
// NULL: exception set. The caller frees the tree.
ig_object *py_to_object(ig_ctx *c, PyObject *o);

extern PyMethodDef py_object_functions[];
extern PyMethodDef py_file_functions[];  // files.c

#endif
