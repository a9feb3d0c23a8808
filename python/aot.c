// SPDX-License-Identifier: Apache-2.0
// Joint graphs and their partitions from Python (ingot/aot.h).
#include "ingot/aot.h"

#include <string.h>

#include "fx.h"
#include "ir/program.h"
#include "py.h"

static const char *const aliases[] = {
    [IG_AOT_PLAIN] = "non_alias",
    [IG_AOT_INPUT] = "is_input",
    [IG_AOT_OF_INPUT] = "alias_of_input",
    [IG_AOT_OF_HIDDEN] = "unsafe_view_alias",
    [IG_AOT_OF_OUTPUT] = "alias_of_intermediate_base_is_user_output",
    [IG_AOT_OF_BASE] = "alias_of_intermediate",
    [IG_AOT_OF_NEW_BASE] = "alias_of_intermediate_save_as_output",
};

static PyObject *flag(bool on) {
  return PyBool_FromLong(on);
}

static PyObject *inputs_of(const ig_aot *a) {
  PyObject *list = PyList_New((Py_ssize_t)a->ninputs);
  for (size_t i = 0; list && i < a->ninputs; i++) {
    const ig_aot_input *in = &a->inputs[i];
    PyObject *item =
        Py_BuildValue("(NNN)", flag(in->written), flag(in->reshaped), flag(in->requires_grad));
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject *tangents_of(const ig_aot *a) {
  PyObject *list = PyList_New((Py_ssize_t)a->ntangents);
  for (size_t i = 0; list && i < a->ntangents; i++) {
    PyList_SET_ITEM(list, (Py_ssize_t)i, flag(a->contiguous[i]));
  }
  return list;
}

static PyObject *view_of(ig_ctx *c, const ig_aot *a, size_t i) {
  ig_graph *g = NULL;
  if (ig_aot_view(c, a, i, &g) != IG_OK) return py_raise(c);
  PyObject *out = g ? py_from_graph(g) : Py_NewRef(Py_None);
  ig_graph_free(g);
  return out;
}

static PyObject *outputs_of(ig_ctx *c, const ig_aot *a) {
  PyObject *list = PyList_New((Py_ssize_t)a->noutputs);
  for (size_t i = 0; list && i < a->noutputs; i++) {
    const ig_aot_output *o = &a->outputs[i];
    PyObject *view = view_of(c, a, i);
    PyObject *item = view ? Py_BuildValue("(snNN)", aliases[o->alias], (Py_ssize_t)o->base,
                                          flag(o->requires_grad), view)
                          : NULL;
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

// aot_trace(graph, grad) -> (graph, joint, [(written, reshaped, requires_grad)],
// [(alias, base, requires_grad, graph of the views or None)], bases, [tangent is contiguous]);
// None: autograd refuses to differentiate it.
static PyObject *aot_trace(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *graph = NULL;
  int grad = 0;
  if (!PyArg_ParseTuple(args, "Op:aot_trace", &graph, &grad)) return NULL;
  ig_graph *g = py_graph_of(graph);
  ig_ctx *c = py_ctx();
  if (!g || !py_fx_sync(c, g)) return NULL;
  ig_aot *a = NULL;
  if (ig_aot_create(c, g, grad != 0, &a) != IG_OK) return py_raise(c);
  if (a->refused) {
    ig_aot_free(a);
    Py_RETURN_NONE;
  }
  PyObject *inputs = inputs_of(a);
  PyObject *outputs = inputs ? outputs_of(c, a) : NULL;
  PyObject *traced = outputs ? py_from_graph(a->graph) : NULL;
  PyObject *out = NULL;
  if (traced) {
    out = Py_BuildValue("(NNNNnN)", traced, flag(a->joint), inputs, outputs, (Py_ssize_t)a->nbases,
                        tangents_of(a));
  } else {
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
  }
  ig_aot_free(a);
  return out;
}

// partition(graph, method, forward outputs, tangents) -> (forward, backward, saved tensors, saved
// numbers)
static PyObject *partition(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *graph = NULL;
  const char *method = NULL;
  Py_ssize_t forward = 0;
  Py_ssize_t tangents = 0;
  if (!PyArg_ParseTuple(args, "Osnn:partition", &graph, &method, &forward, &tangents)) return NULL;
  ig_graph *g = py_graph_of(graph);
  if (!g) return NULL;
  if (forward < 0 || tangents < 0) {
    PyErr_SetString(PyExc_ValueError, "partition: expected numbers of outputs and tangents");
    return NULL;
  }
  ig_ctx *c = py_ctx();
  if (!py_fx_sync(c, g)) return NULL;
  ig_partition_args how = {
      .size = sizeof how,
      .method = strcmp(method, "min_cut") == 0 ? IG_PARTITION_MIN_CUT : IG_PARTITION_DEFAULT,
      .nforward = (size_t)forward,
      .ntangents = (size_t)tangents};
  ig_partitions parts;
  if (ig_partition(c, g, &how, &parts) != IG_OK) return py_raise(c);
  PyObject *fw = py_from_graph(parts.forward);
  PyObject *bw = fw ? py_from_graph(parts.backward) : NULL;
  PyObject *out =
      bw ? Py_BuildValue("(NNnn)", fw, bw, (Py_ssize_t)parts.nsaved, (Py_ssize_t)parts.nnumbers)
         : NULL;
  if (!bw) Py_XDECREF(fw);
  ig_partitions_free(&parts);
  return out;
}

// graph_program(graph) -> Program: a copy of a functional graph, whose inputs and outputs are the
// user's.
static PyObject *graph_program(PyObject *module, PyObject *graph) {
  (void)module;
  ig_graph *g = py_graph_of(graph);
  ig_ctx *c = py_ctx();
  if (!g || !py_fx_sync(c, g)) return NULL;
  ig_graph *copy = ig_graph_copy(c, g);
  if (!copy) return py_raise(c);
  ig_node *out = copy->last;
  bool nested = out->npos == 1 && out->args[0].kind == IG_KIND_LIST;
  ig_value list = nested ? out->args[0] : ig_none();
  bool ok = !nested || ig_node_set_args(c, out, list.list.at, list.list.n, 0, NULL);
  out->bare = false;
  if (!ok || !ig_graph_lift_constants(c, copy)) {
    ig_graph_free(copy);
    return py_raise(c);
  }
  ig_program *p = ig_program_create(c, copy, NULL, NULL);
  return py_program_wrap(c, ig_ctx_status(c), p);
}

PyMethodDef py_aot_functions[] = {
    {"graph_program", graph_program, METH_O, "A functional graph as a program."},
    {"aot_trace", aot_trace, METH_VARARGS,
     "A captured graph as a functional graph with gradients."},
    {"partition", partition, METH_VARARGS, "A joint graph as a forward and a backward graph."},
    {NULL, NULL, 0, NULL},
};
