// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors: requires_grad, grad, backward; grad modes of the context; the basis of
// ingot.autograd (_run_backward, _make_function).
#include "ingot/grad.h"

#include <string.h>

#include "capture/defer.h"
#include "ingot/aten.h"
#include "py.h"
#include "trace_script.h"

// ---- attributes ----

static PyObject *get_requires_grad(PyObject *o, void *unused) {
  (void)unused;
  // A result of a recording knows whether it will have a history; what was written does not.
  if (!py_tensor_of(o)->defer && !py_settled(o)) return NULL;
  return PyBool_FromLong(ig_tensor_requires_grad(py_tensor_of(o)));
}
static int set_requires_grad(PyObject *o, PyObject *on, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!on || !PyBool_Check(on)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  if (!py_settle_all(c)) return -1;
  ig_tensor_set_requires_grad(c, py_tensor_of(o), on == Py_True);
  return py_ok(c) ? 0 : -1;
}
static PyObject *change_requires_grad(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"requires_grad", NULL};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", keys, &on)) return NULL;
  const ig_tensor *t = py_tensor_of(o);
  if (on && !ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "only Tensors of floating point dtype can require gradients");
    return NULL;
  }
  return set_requires_grad(o, on ? Py_True : Py_False, NULL) == 0 ? Py_NewRef(o) : NULL;
}

static PyObject *get_grad(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  return py_from_tensor(py_ctx(), ig_tensor_grad(py_tensor_of(o)));
}
static int set_grad(PyObject *o, PyObject *grad, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  bool none = !grad || grad == Py_None;
  if (!none && !py_is_tensor(grad)) {
    PyErr_Format(PyExc_TypeError,
                 "assigned grad expected to be a Tensor or None but got grad of type %s",
                 Py_TYPE(grad)->tp_name);
    return -1;
  }
  if (grad == o) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  ig_tensor_set_grad(c, py_tensor_of(o), none ? NULL : py_tensor_of(grad));
  return py_ok(c) ? 0 : -1;
}

static PyObject *get_is_leaf(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  ig_ctx *c = py_ctx();
  bool yes = ig_tensor_is_leaf(c, py_tensor_of(o));
  return py_ok(c) ? PyBool_FromLong(yes) : NULL;
}
static PyObject *get_retains_grad(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  return PyBool_FromLong(ig_tensor_retains_grad(py_tensor_of(o)));
}
static PyObject *get_version(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  return PyLong_FromUnsignedLong(ig_tensor_version(py_tensor_of(o)));
}
static PyObject *get_base(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  return py_from_tensor(py_ctx(), ig_tensor_base(py_tensor_of(o)));
}
static PyObject *get_output_nr(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  uint32_t index = 0;
  (void)ig_tensor_grad_fn(py_ctx(), py_tensor_of(o), &index);
  return py_ok(py_ctx()) ? PyLong_FromUnsignedLong(index) : NULL;
}

static PyObject *get_data(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = py_from_tensor(c, ig_tensor_get_data(c, py_tensor_of(o)));
  ig_scope_close(c, s);
  return out;
}
static int set_data(PyObject *o, PyObject *value, void *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!value || !py_is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s",
                 value ? Py_TYPE(value)->tp_name : "nothing");
    return -1;
  }
  if (!py_settle_all(c)) return -1;
  ig_tensor_set_data(c, py_tensor_of(o), py_tensor_of(value));
  return py_ok(c) ? 0 : -1;
}

static PyObject *is_view(PyObject *o, PyObject *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  return PyBool_FromLong(ig_tensor_is_view(py_tensor_of(o)));
}
static PyObject *is_inference(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_tensor_is_inference(py_tensor_of(o)));
}
static PyObject *retain_grad(PyObject *o, PyObject *unused) {
  (void)unused;
  if (!py_settled_for_hook(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_tensor_retain_grad(c, py_tensor_of(o));
  return py_ok(c) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *get_grad_fn(PyObject *o, void *unused) {
  (void)unused;
  if (!py_settled(o)) return NULL;
  ig_ctx *c = py_ctx();
  ig_grad_fn *f = ig_tensor_grad_fn(c, py_tensor_of(o), NULL);
  return py_ok(c) ? py_node_wrap(f) : NULL;
}

// ---- backward ----

// A tuple of tensors (None: NULL) in memory of the innermost scope.
static bool tensors_of(ig_ctx *c, PyObject *o, const char *what, ig_tensor ***out, size_t *n) {
  *out = NULL;
  *n = 0;
  if (o == Py_None) return true;
  PyObject *seq = py_items(o, "expected a sequence of tensors");
  if (!seq) return false;
  *n = (size_t)PyTuple_GET_SIZE(seq);
  *out = ig_scope_array(c, *n + 1, sizeof **out);
  bool ok = py_ok(c);
  for (size_t i = 0; ok && i < *n; i++) {
    PyObject *t = PyTuple_GET_ITEM(seq, (Py_ssize_t)i);
    ok = t == Py_None || py_is_tensor(t);
    if (!ok) {
      PyErr_Format(PyExc_TypeError, "element %zu of %s is not a Tensor but %s", i, what,
                   Py_TYPE(t)->tp_name);
    }
    (*out)[i] = ok && t != Py_None ? py_lend(c, t) : NULL;  // hooks may change the list
  }
  Py_DECREF(seq);
  return ok;
}

static PyObject *backward_run(ig_ctx *c, ig_backward_args *a) {
  if (!py_settle_all(c)) return NULL;
  for (size_t i = 0; i < a->ninputs; i++) {
    if (a->inputs[i] && !py_divide_history(c, a->inputs[i])) return NULL;
  }
  size_t n = a->accumulate ? 0 : a->ninputs;
  ig_tensor **grads = ig_scope_array(c, n + 1, sizeof *grads);
  // torch.compile does not record what a backward computes.
  bool aside = !c->mode->capture && !py_tracing(c);
  unsigned set = aside ? IG_MODE_REWRITE : 0;
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){set, {.rewrite = NULL}});
  bool ok = grads && ig_backward(c, a, grads) == IG_OK;
  ig_mode_pop(c, &mode);
  return ok ? py_grads_tuple(c, grads, n) : py_raise(c);
}

// _run_backward(outputs, seeds, retain_graph, create_graph, inputs, allow_unused, accumulate,
// materialize_grads=False): the gradients of inputs, () when they are accumulated.
static PyObject *run_backward(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"outputs", "seeds",        "retain_graph", "create_graph",
                         "inputs",  "allow_unused", "accumulate",   "materialize_grads",
                         NULL};
  (void)module;
  PyObject *outputs = NULL;
  PyObject *seeds = Py_None;
  PyObject *inputs = Py_None;
  int flags[5] = {0};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OppOppp:_run_backward", keys, &outputs, &seeds,
                                   &flags[0], &flags[1], &inputs, &flags[2], &flags[3],
                                   &flags[4])) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor **at[3];
  size_t n[3];
  PyObject *out = NULL;
  if (tensors_of(c, outputs, "tensors", &at[0], &n[0]) &&
      tensors_of(c, seeds, "gradients", &at[1], &n[1]) &&
      tensors_of(c, inputs, "inputs", &at[2], &n[2])) {
    if (at[1] && n[1] != n[0]) {
      PyErr_Format(PyExc_RuntimeError, "got %zu tensors and %zu gradients", n[0], n[1]);
    } else {
      ig_backward_args a = {.size = sizeof a,
                            .outputs = at[0],
                            .noutputs = n[0],
                            .seeds = at[1],
                            .inputs = at[2],
                            .ninputs = n[2],
                            .retain_graph = flags[0] == 1,
                            .create_graph = flags[1] == 1,
                            .allow_unused = flags[2] == 1,
                            .accumulate = flags[3] == 1 || inputs == Py_None,
                            .materialize_grads = flags[4] == 1};
      out = backward_run(c, &a);
    }
  }
  ig_scope_close(c, s);
  return out;
}

// x.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
static PyObject *backward(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"gradient", "retain_graph", "create_graph", "inputs", NULL};
  PyObject *gradient = Py_None;
  PyObject *retain = Py_None;
  PyObject *inputs = Py_None;
  int create = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOpO:backward", keys, &gradient, &retain,
                                   &create, &inputs)) {
    return NULL;
  }
  if (gradient != Py_None && !py_is_tensor(gradient)) {
    PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s",
                 Py_TYPE(gradient)->tp_name);
    return NULL;
  }
  int keep = retain == Py_None ? create : PyObject_IsTrue(retain);
  if (keep < 0) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor *self = py_tensor_of(o);
  ig_tensor *seed = gradient == Py_None ? NULL : py_tensor_of(gradient);
  ig_tensor **at = NULL;
  size_t n = 0;
  PyObject *one = py_is_tensor(inputs) ? PyTuple_Pack(1, inputs) : Py_NewRef(inputs);
  PyObject *out = NULL;
  if (one && tensors_of(c, one, "inputs", &at, &n)) {
    if (at && n == 0) {
      PyErr_SetString(PyExc_RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
    } else {
      ig_backward_args a = {.size = sizeof a,
                            .outputs = &self,
                            .noutputs = 1,
                            .seeds = &seed,
                            .inputs = at,
                            .ninputs = n,
                            .retain_graph = keep == 1,
                            .create_graph = create == 1,
                            .accumulate = true};
      out = backward_run(c, &a);
    }
  }
  Py_XDECREF(one);
  ig_scope_close(c, s);
  if (!out) return NULL;
  Py_DECREF(out);
  Py_RETURN_NONE;
}

// ---- functions whose backward Python defines ----

static void call_custom(ig_ctx *c, ig_grad_fn *f, ig_tensor *const *grads, ig_tensor **d,
                        void *user) {
  PyObject *pair = user;  // (callback, number of results, number of inputs)
  size_t nouts = PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 1));
  size_t nins = PyLong_AsSize_t(PyTuple_GET_ITEM(pair, 2));
  PyObject *node = py_node_wrap(f);
  PyObject *tuple = node ? py_grads_tuple(c, grads, nouts) : NULL;
  PyObject *answer =
      tuple ? PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(pair, 0), node, tuple, NULL) : NULL;
  char name[128];
  if (!answer || !py_take_grads(c, answer, d, nins, ig_grad_fn_name(f, name, sizeof name))) {
    py_host_failed(c);
  }
  Py_XDECREF(answer);
  Py_XDECREF(tuple);
  Py_XDECREF(node);
}

// Computes the results of a function once more, see ig_grad_fn_divide.
static void call_again(ig_ctx *c, ig_tensor **outs, void *user) {
  size_t n = PyLong_AsSize_t(PyTuple_GET_ITEM((PyObject *)user, 1));
  PyObject *answer = PyObject_CallNoArgs(PyTuple_GET_ITEM((PyObject *)user, 3));
  char where[] = "the function that computes results once more";
  if (!answer || !py_take_grads(c, answer, outs, n, where)) py_host_failed(c);
  Py_XDECREF(answer);
}

bool py_divide_history(ig_ctx *c, ig_tensor *t) {
  ig_grad_fn *f = ig_tensor_grad_fn(c, t, NULL);
  if (f && ig_grad_fn_is_divisible(f)) ig_grad_fn_divide(c, f, call_again, ig_grad_fn_user(f));
  return py_ok(c);
}

static bool wants_history(ig_ctx *c, PyObject *inputs) {
  bool any = false;
  for (Py_ssize_t i = 0; PyList_Check(inputs) && i < PyList_GET_SIZE(inputs); i++) {
    PyObject *o = PyList_GET_ITEM(inputs, i);
    any = any || (py_is_tensor(o) && py_tensor_of(o)->requires_grad);
  }
  return any && ig_grad_is_enabled(c);
}

// _make_function(name, callback, inputs, outputs, saved, dirty, non_differentiable, materialize,
// again=None): (outputs, grad_fn or None). callback(grad_fn, grads) returns one gradient or None
// per input; again() the outputs once more, with their own histories, None for those without.
static PyObject *make_function(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *callback = NULL;
  PyObject *lists[5];
  int materialize = 1;
  PyObject *again = Py_None;
  if (!PyArg_ParseTuple(args, "sOOOOOO|pO:_make_function", &name, &callback, &lists[0], &lists[1],
                        &lists[2], &lists[3], &lists[4], &materialize, &again)) {
    return NULL;
  }
  static const char *const words[] = {"inputs", "outputs", "saved", "dirty", "non_differentiable"};
  ig_ctx *c = py_ctx();
  if (wants_history(c, lists[0]) && !py_settle_all(c)) return NULL;  // of real results
  ig_scope s = ig_scope_open(c);
  ig_tensor **at[5];
  size_t n[5];
  bool ok = true;
  for (size_t i = 0; ok && i < PY_COUNT(lists); i++) {
    ok = tensors_of(c, lists[i], words[i], &at[i], &n[i]);
  }
  PyObject *user =
      ok ? Py_BuildValue("(OnnO)", callback, (Py_ssize_t)n[1], (Py_ssize_t)n[0], again) : NULL;
  PyObject *out = NULL;
  if (user) {
    ig_custom k = {.name = name,
                   .backward = call_custom,
                   .free_fn = py_drop,
                   .user = user,
                   .inputs = at[0],
                   .ninputs = n[0],
                   .outputs = at[1],
                   .noutputs = n[1],
                   .saved = at[2],
                   .nsaved = n[2],
                   .dirty = at[3],
                   .ndirty = n[3],
                   .nondiff = at[4],
                   .nnondiff = n[4],
                   .materialize = materialize == 1,
                   .divisible = again != Py_None};
    ig_grad_fn *f = ig_grad_custom(c, &k);
    if (py_ok(c)) {
      PyObject *outputs = py_grads_tuple(c, at[1], n[1]);
      PyObject *node = outputs ? py_node_wrap(f) : NULL;
      if (node) {
        out = Py_BuildValue("(NN)", outputs, node);
      } else {
        Py_XDECREF(outputs);
      }
    }
  }
  ig_scope_close(c, s);
  return out;
}

// ---- modes ----

static PyObject *is_grad_enabled(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_grad_is_enabled(py_ctx()));
}
static PyObject *is_inference_enabled(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(ig_inference_is_enabled(py_ctx()));
}
static PyObject *set_grad_enabled(PyObject *module, PyObject *on) {
  int yes = PyObject_IsTrue(on);
  if (yes < 0) return NULL;
  ig_ctx *c = py_ctx();
  if (c->mode->capture) {
    PyObject *fn = PyObject_GetAttrString(module, "_set_grad_enabled");
    bool noted = fn && py_trace_grad_mode(c, yes == 1, fn);
    Py_XDECREF(fn);
    if (!fn) return NULL;
    if (noted) return PyBool_FromLong(ig_grad_is_enabled(c));
  }
  return PyBool_FromLong(ig_grad_set_enabled(c, yes == 1));
}
// _call_without_grad(fn, *args): what autograd itself does around a function's forward. Unlike
// no_grad it is no statement of the user, so a capture does not record it.
static PyObject *call_without_grad(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  (void)module;
  if (n < 1) {
    PyErr_SetString(PyExc_TypeError, "_call_without_grad() needs a function");
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = true}});
  PyObject *out = PyObject_Vectorcall(args[0], args + 1, (size_t)(n - 1), NULL);
  ig_mode_pop(c, &mode);
  return out;
}
static PyObject *set_inference(PyObject *module, PyObject *on) {
  (void)module;
  int yes = PyObject_IsTrue(on);
  return yes < 0 ? NULL : PyBool_FromLong(ig_inference_set_enabled(py_ctx(), yes == 1));
}

PyGetSetDef py_autograd_getset[] = {
    {"requires_grad", get_requires_grad, set_requires_grad, NULL, NULL},
    {"grad", get_grad, set_grad, NULL, NULL},
    {"_grad", get_grad, set_grad, NULL, NULL},
    {"grad_fn", get_grad_fn, NULL, NULL, NULL},
    {"is_leaf", get_is_leaf, NULL, NULL, NULL},
    {"retains_grad", get_retains_grad, NULL, NULL, NULL},
    {"data", get_data, set_data, NULL, NULL},
    {"_version", get_version, NULL, NULL, NULL},
    {"_base", get_base, NULL, NULL, NULL},
    {"output_nr", get_output_nr, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
PyMethodDef py_autograd_methods[] = {
    {"requires_grad_", (PyCFunction)(void (*)(void))change_requires_grad,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"backward", (PyCFunction)(void (*)(void))backward, METH_VARARGS | METH_KEYWORDS, NULL},
    {"retain_grad", retain_grad, METH_NOARGS, NULL},
    {"_is_view", is_view, METH_NOARGS, NULL},
    {"is_inference", is_inference, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
// tensor_alias(tensor): the same memory without a history, which no trace records. A compiled
// function does: what it has not computed yet has no memory.
static PyObject *tensor_alias(PyObject *module, PyObject *o) {
  (void)module;
  if (!py_is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a tensor");
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_tensor *t = py_tensor_of(o);
  t = ig_defer_of(c) ? ig_detach(c, t) : ig_tensor_alias(c, t);
  PyObject *out = t ? py_from_tensor(c, t) : py_raise(c);
  ig_scope_close(c, s);
  return out;
}

PyMethodDef py_autograd_functions[] = {
    {"tensor_alias", tensor_alias, METH_O, NULL},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, NULL},
    {"is_inference_mode_enabled", is_inference_enabled, METH_NOARGS, NULL},
    {"_set_grad_enabled", set_grad_enabled, METH_O, "Switches history on or off; what it was."},
    {"_call_without_grad", (PyCFunction)(void (*)(void))call_without_grad, METH_FASTCALL, NULL},
    {"_set_inference_mode", set_inference, METH_O, NULL},
    {"_run_backward", (PyCFunction)(void (*)(void))run_backward, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"_make_function", make_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
