// SPDX-License-Identifier: Apache-2.0
// vmap from Python: the function runs once, on tensors that stand for one slice, under a capture;
// its graph is computed for all slices (ingot/batch.h).
#include "ingot/batch.h"

#include <string.h>

#include "fx.h"
#include "ingot/aot.h"
#include "ingot/aten.h"
#include "op/nested.h"
#include "op/record.h"
#include "py.h"

typedef struct job {
  ig_ctx *c;
  PyObject *fn;
  PyObject *inputs;  // a tuple of tensors
  PyObject *dims;    // a tuple: dim of the slices, or None
  size_t n;
  ig_batch_args args;
  bool nested;
} job;

static ig_tensor *tensor_at(const job *j, size_t i) {
  return py_tensor_of(PyTuple_GET_ITEM(j->inputs, (Py_ssize_t)i));
}

// The dim of the slices; -1: none.
static int dim_at(const job *j, size_t i) {
  PyObject *dim = PyTuple_GET_ITEM(j->dims, (Py_ssize_t)i);
  return dim == Py_None ? -1 : (int)PyLong_AsLong(dim);
}

// What stands for one slice inside the function.
static ig_tensor *slice_at(const job *j, size_t i) {
  ig_tensor *t = tensor_at(j, i);
  int dim = dim_at(j, i);
  ig_meta m;
  ig_meta_of(t, &m);
  if (dim >= 0) {
    for (int d = dim; d + 1 < m.ndim; d++) m.size[d] = m.size[d + 1];
    m.ndim--;
  }
  m.view_of = NULL;
  m.offset = ig_const(0);
  ig_meta_contiguous(j->c, &m);
  m.strided = true;
  char name[32];
  (void)snprintf(name, sizeof name, "slice_%zu", i + 1);
  if (j->nested) {
    ig_value outer = ig_of_tensor(t);
    ig_value inner = ig_none();
    return ig_nested_operand(j->c, &outer, &m, name, &inner) ? inner.tensor : NULL;
  }
  ig_placeholder p = {.role = IG_INPUT_USER,
                      .name = name,
                      .path = name,
                      .requires_grad = t->requires_grad && !j->c->mode->no_grad};
  return ig_record_placeholder(j->c, &p, &m);
}

static PyObject *slices_of(const job *j) {
  PyObject *list = PyTuple_New((Py_ssize_t)j->n);
  for (size_t i = 0; list && i < j->n; i++) {
    ig_tensor *t = slice_at(j, i);
    PyObject *o = t ? py_from_tensor(j->c, t) : NULL;
    if (!o) {
      Py_CLEAR(list);
    } else {
      PyTuple_SET_ITEM(list, (Py_ssize_t)i, o);
    }
  }
  return list;
}

// Calls the function under the open capture. NULL after an error.
static PyObject *call_once(const job *j) {
  PyObject *slices = slices_of(j);
  PyObject *found = slices ? PyObject_CallObject(j->fn, slices) : NULL;
  Py_XDECREF(slices);
  PyObject *outs = found ? py_items(found, "a sequence of tensors") : NULL;
  Py_XDECREF(found);
  for (Py_ssize_t i = 0; outs && i < PyTuple_GET_SIZE(outs); i++) {
    if (py_is_tensor(PyTuple_GET_ITEM(outs, i))) continue;
    PyErr_Format(PyExc_TypeError, "batch_run: the function returned %s, expected tensors",
                 py_type_name(PyTuple_GET_ITEM(outs, i)));
    Py_CLEAR(outs);
  }
  return outs;
}

static ig_value *values_of(ig_ctx *c, PyObject *tensors, size_t *n) {
  *n = (size_t)PyTuple_GET_SIZE(tensors);
  ig_value *values = ig_scope_array(c, *n + 1, sizeof *values);
  for (size_t i = 0; values && i < *n; i++) {
    values[i] = ig_of_tensor(py_tensor_of(PyTuple_GET_ITEM(tensors, (Py_ssize_t)i)));
  }
  return values;
}

static bool open_capture(job *j) {
  ig_ctx *c = j->c;
  j->nested = c->mode->capture != NULL;
  if (j->nested) return ig_nested_push(c);
  if (ig_capture_begin_in(c, c->mode->ambient) != IG_OK) return false;
  c->mode->capture->release = IG_RELEASE_2_5;
  if (py_trace_begin(c, false, true)) return true;
  ig_capture_abort(c);
  return false;
}

static ig_graph *close_capture(const job *j, PyObject *outs) {
  ig_ctx *c = j->c;
  ig_graph *g = NULL;
  size_t n = 0;
  const ig_value *values = outs ? values_of(c, outs, &n) : NULL;
  if (j->nested) {
    if (!values && c->status == IG_OK) (void)ig_fail(c, IG_RUNTIME, "vmap: the function failed");
    return ig_nested_pop(c, values, n);
  }
  if (!values || ig_capture_end(c, values, n, &g) != IG_OK) ig_capture_abort(c);
  py_trace_end(c);
  return g;
}

// The graph of one slice. NULL: an exception is set, or the context has the error.
static ig_graph *graph_of(job *j) {
  ig_ctx *c = j->c;
  if (!open_capture(j)) return NULL;
  j->args.slices = ig_const(0);
  for (size_t i = 0; i < j->n; i++) {
    if (dim_at(j, i) >= 0) j->args.slices = ig_sizes(tensor_at(j, i))[dim_at(j, i)];
  }
  // Calls are for the capture alone, also while it infers shapes.
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
  PyObject *outs = call_once(j);
  ig_mode_pop(c, &mode);
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  if (!outs) PyErr_Fetch(&type, &value, &trace);
  ig_graph *g = close_capture(j, outs);
  Py_XDECREF(outs);
  if (type) {
    ig_ctx_clear(c);
    PyErr_Restore(type, value, trace);
  }
  return g;
}

// Tensors from outside are the same for all slices: the function may not write them.
static bool refuse_writes(ig_ctx *c, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP) continue;
    for (size_t i = 0; i < n->npos && i < n->op->schema.nargs; i++) {
      const ig_node *from = n->args[i].kind == IG_KIND_NODE ? n->args[i].node : NULL;
      if (!n->op->schema.args[i].written || !from || from->kind != IG_NODE_ATTR) continue;
      return ig_fail(c, IG_RUNTIME,
                     "vmap: %s writes in place to a tensor from outside of the function, which is "
                     "the same for all slices. Use an out-of-place operator, or map over that "
                     "tensor as well",
                     n->target) == IG_OK;
    }
  }
  return true;
}

static ig_tensor *slices_first(const job *j, size_t i) {
  ig_tensor *t = tensor_at(j, i);
  int dim = dim_at(j, i);
  return dim ? ig_movedim_int(j->c, t, ig_const(dim), ig_const(0)) : t;
}

// One value per placeholder: slices in dim 0; values from outside as they are.
static const ig_value *inputs_of(const job *j, const ig_graph *g, bool *batched) {
  ig_ctx *c = j->c;
  size_t n = j->nested ? g->operands.n : j->n;
  ig_value *values = ig_scope_array(c, n + 1, sizeof *values);
  for (size_t i = 0; values && i < n; i++) {
    batched[i] = i < j->n && dim_at(j, i) >= 0;
    if (i >= j->n) {
      values[i] = g->operands.at[i];
    } else if (batched[i]) {
      values[i] = ig_of_tensor(slices_first(j, i));
    } else {
      values[i] = ig_of_tensor(tensor_at(j, i));
    }
  }
  return c->status == IG_OK ? values : NULL;
}

// What was written to a slice is written to all of them.
static bool write_back(const job *j, const ig_aot *a, const ig_value *outs, const bool *batched) {
  size_t k = 0;
  for (size_t i = 0; i < a->ninputs; i++) {
    if (!a->inputs[i].written) continue;
    size_t at = k++;
    if (i >= j->n || (batched[at] && dim_at(j, i) < 0) || a->inputs[i].reshaped) {
      return ig_fail(j->c, IG_RUNTIME,
                     "vmap: a tensor that is the same for all slices, or comes from outside, was "
                     "written in place by a value that differs between slices. Use an out-of-place "
                     "operator, or map over that tensor as well") == IG_OK;
    }
    ig_tensor *to = dim_at(j, i) >= 0 ? slices_first(j, i) : tensor_at(j, i);
    if (to) (void)ig_copy_(j->c, to, outs[at].tensor);
    if (j->c->status != IG_OK) return false;
  }
  return true;
}

static PyObject *results_of(ig_ctx *c, const ig_value *outs, const bool *batched, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *t = py_from_tensor(c, outs[i].tensor);
    PyObject *pair = t ? Py_BuildValue("(NO)", t, batched[i] ? Py_True : Py_False) : NULL;
    if (!pair) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, (Py_ssize_t)i, pair);
    }
  }
  return list;
}

static PyObject *run_batch(job *j, const ig_graph *g, const ig_aot *a) {
  ig_ctx *c = j->c;
  size_t nouts = a->graph->last->npos;
  size_t most = (j->nested ? g->operands.n : j->n) + 1;
  bool *batched = ig_scope_array(c, most, sizeof *batched);
  bool *flags = ig_scope_array(c, nouts + 1, sizeof *flags);
  ig_value *outs = ig_scope_array(c, nouts + 1, sizeof *outs);
  const ig_value *inputs = batched && flags && outs ? inputs_of(j, g, batched) : NULL;
  j->args.batched = batched;
  if (!inputs || ig_batch_run(c, a->graph, &j->args, inputs, outs, flags) != IG_OK) return NULL;
  if (!write_back(j, a, outs, flags)) return NULL;
  return results_of(c, outs + a->nwrites, flags + a->nwrites, a->noutputs);
}

// Writes and views become values; nothing is recorded meanwhile.
static ig_aot *functional(ig_ctx *c, const ig_graph *g) {
  enum { OFF = IG_MODE_REWRITE | IG_MODE_CAPTURE };
  ig_aot *a = NULL;
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){OFF, {.rewrite = NULL, .capture = NULL}});
  bool ok = ig_aot_create(c, g, false, &a) == IG_OK;
  ig_mode_pop(c, &mode);
  return ok ? a : NULL;
}

// batch_run(fn, inputs, dims, random) -> [(tensor, is it batched: slices in dim 0)]: fn takes one
// tensor per input and returns a sequence of tensors. dims: not negative, or None. random: 0
// refused, 1 different, 2 the same.
static PyObject *batch_run(PyObject *module, PyObject *args) {
  (void)module;
  job j = {.c = py_ctx()};
  int random = 0;
  if (!PyArg_ParseTuple(args, "OO!O!i:batch_run", &j.fn, &PyTuple_Type, &j.inputs, &PyTuple_Type,
                        &j.dims, &random)) {
    return NULL;
  }
  j.n = (size_t)PyTuple_GET_SIZE(j.inputs);
  j.args.size = sizeof j.args;
  j.args.random = (ig_batch_random)random;
  if ((size_t)PyTuple_GET_SIZE(j.dims) != j.n) {
    PyErr_SetString(PyExc_ValueError, "batch_run: expected one dim per input");
    return NULL;
  }
  for (size_t i = 0; i < j.n; i++) {
    PyObject *o = PyTuple_GET_ITEM(j.inputs, (Py_ssize_t)i);
    if (!py_is_tensor(o)) return PyErr_Format(PyExc_TypeError, "batch_run: expected tensors");
    if (dim_at(&j, i) >= tensor_at(&j, i)->ndim || PyErr_Occurred()) {
      return PyErr_Format(PyExc_ValueError, "batch_run: input %zu has no such dim", i);
    }
  }
  ig_ctx *c = j.c;
  ig_scope s = ig_scope_open(c);
  ig_graph *g = graph_of(&j);
  ig_aot *a = g && refuse_writes(c, g) ? functional(c, g) : NULL;
  PyObject *out = a ? run_batch(&j, g, a) : NULL;
  ig_aot_free(a);
  ig_graph_free(g);
  ig_scope_close(c, s);
  if (!out && !PyErr_Occurred()) return py_raise(c);
  return out;
}

PyMethodDef py_batch_functions[] = {
    {"batch_run", batch_run, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
