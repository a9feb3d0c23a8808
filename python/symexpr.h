// SPDX-License-Identifier: Apache-2.0
// Expressions of symbols as Python objects (symnode.c).
#ifndef PY_SYMEXPR_H_
#define PY_SYMEXPR_H_

#include "py.h"

// The number that a SymExpr describes: SymInt, SymFloat, SymBool or a plain one. Anything else is
// returned as it is.
PyObject *py_number_of_expr(PyObject *o);

#endif
