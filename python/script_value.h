// SPDX-License-Identifier: Apache-2.0
// Python objects as values of scripts and back.
#ifndef SCRIPT_VALUE_H_
#define SCRIPT_VALUE_H_

#include "py.h"
#include "script/unit.h"

// A value of the declared type, a new reference. false: the object does not fit; `why` says so in
// the words of PyTorch, or a Python exception is set.
bool py_to_script(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                  ig_str *why);
// The type that an object would have in a script; NULL: none, `why` says so.
const ig_stype *py_script_type_of(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why);
PyObject *py_from_script(ig_ctx *c, ig_value v);

ig_sout py_script_out(void);         // script_run.c: sys.stdout and warnings
int py_add_script_run(PyObject *m);  // script_run.c

#endif
