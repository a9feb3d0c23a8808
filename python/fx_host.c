// SPDX-License-Identifier: Apache-2.0
// The engine's host callbacks for objects in graphs: reference counting, printing, calling.
#include "fx.h"

#include <string.h>

static void host_retain(void *object) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_INCREF((PyObject *)object);
  PyGILState_Release(state);
}

static void host_release(void *object) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)object);
  PyGILState_Release(state);
}

// A repr that fails prints as the type's name: printing a graph does not raise.
static void host_print(ig_str *s, void *object, bool code) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *fn = code ? py_fx_class("ingot.fx.node", "_code_repr") : NULL;
  PyObject *text = fn ? PyObject_CallOneArg(fn, object) : code ? NULL : PyObject_Str(object);
  const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
  ig_str_add(s, "%s", utf8 ? utf8 : Py_TYPE((PyObject *)object)->tp_name);
  Py_XDECREF(text);
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
}

// ---- calling ----

static bool lend(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return ig_pool_add(c, &ig_tensor_retain(v->tensor)->ref);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!lend(c, &v->list.at[i])) return false;
  }
  return true;
}

static bool take_result(ig_ctx *c, const ig_node *n, PyObject *o, ig_value *out) {
  if (py_is_tensor(o)) {
    *out = ig_of_tensor(py_tensor_of(o));
    return true;
  }
  if (PyTuple_Check(o) || PyList_Check(o)) {
    PyObject *all = py_items(o, "");
    size_t count = all ? (size_t)PyTuple_GET_SIZE(all) : 0;
    ig_value *items = all ? ig_scope_array(c, count, sizeof *items) : NULL;
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < count; i++) {
      ok = take_result(c, n, PyTuple_GET_ITEM(all, (Py_ssize_t)i), &items[i]);
    }
    Py_XDECREF(all);
    *out = ig_of_list(items, items ? count : 0);
    if (PyTuple_Check(o)) out->seq = IG_SEQ_TUPLE;
    return ok;
  }
  if (!py_fx_to_value(c, n->graph, o, out)) return false;
  if (out->kind != IG_KIND_OBJECT && out->kind != IG_KIND_NODE) return true;
  PyErr_Format(PyExc_TypeError, "%s returned a %s, which the engine cannot hold", n->target,
               Py_TYPE(o)->tp_name);
  return false;
}

static PyObject *arguments(ig_ctx *c, const ig_value *args, size_t n) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *item = py_from_value(c, &args[i]);
    if (!item) Py_CLEAR(tuple);
    if (item) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
  }
  return tuple;
}

static PyObject *keywords(ig_ctx *c, const ig_node *n, const ig_value *args) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < n->nkw; i++) {
    PyObject *item = py_from_value(c, &args[i]);
    if (!item || PyDict_SetItemString(dict, n->keys[i], item) != 0) Py_CLEAR(dict);
    Py_XDECREF(item);
  }
  return dict;
}

// The module of a call_module node, of the module that owns the graph.
static PyObject *module_of(const ig_node *n) {
  PyObject *graph = py_from_graph(n->graph);
  PyObject *owner = graph ? PyObject_GetAttrString(graph, "owning_module") : NULL;
  PyObject *out = owner ? PyObject_CallMethod(owner, "get_submodule", "s", n->target) : NULL;
  Py_XDECREF(owner);
  Py_XDECREF(graph);
  return out;
}

static PyObject *callee(ig_ctx *c, const ig_node *n, PyObject *args) {
  if (n->kind == IG_NODE_MODULE) return module_of(n);
  if (n->kind != IG_NODE_METHOD) return py_fx_target(c, n);
  if (PyTuple_GET_SIZE(args) == 0) {
    PyErr_Format(PyExc_RuntimeError, "node '%s' calls a method of nothing", n->name);
    return NULL;
  }
  return PyObject_GetAttrString(PyTuple_GET_ITEM(args, 0), n->target);
}

static void host_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *pos = arguments(c, args, n->npos);
  PyObject *kw = pos ? keywords(c, n, args + n->npos) : NULL;
  PyObject *fn = kw ? callee(c, n, pos) : NULL;
  if (fn && n->kind == IG_NODE_METHOD) {
    PyObject *rest = PyTuple_GetSlice(pos, 1, PyTuple_GET_SIZE(pos));
    Py_SETREF(pos, rest);
  }
  PyObject *answer = fn && pos ? PyObject_Call(fn, pos, kw) : NULL;
  bool ok = answer && take_result(c, n, answer, out) && lend(c, out);
  if (!ok) *out = ig_none();
  if (!ok && c->status == IG_OK) py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(fn);
  Py_XDECREF(kw);
  Py_XDECREF(pos);
  PyGILState_Release(state);
}

const ig_host py_host = {host_retain, host_release, host_print, host_call};
