// SPDX-License-Identifier: Apache-2.0
// What Python's tensors do while torch.jit.trace runs the program.
#ifndef PY_TRACE_SCRIPT_H_
#define PY_TRACE_SCRIPT_H_

#include "py.h"

bool py_tracing(ig_ctx *c);
// A Python number is made from a tensor ("integer", "float", "boolean", ...): the trace cannot
// follow it. False: the warning became an exception.
bool py_trace_constant(ig_ctx *c, const char *what);
bool py_trace_warn(ig_ctx *c, const char *text);
// While tracing: sizes as tensors without dimensions; torch.Size of them.
PyObject *py_traced_size(ig_ctx *c, ig_tensor *t, int dim);
PyObject *py_traced_sizes(ig_ctx *c, ig_tensor *t);
PyObject *py_traced_numel(ig_ctx *c, ig_tensor *t);
// While tracing: the integer in a tensor, which the graph takes from there. False: context failed.
bool py_traced_int(ig_ctx *c, ig_tensor *t, bool scalar, ig_int *out);
int py_add_strace(PyObject *m);

#endif
