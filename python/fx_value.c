// SPDX-License-Identifier: Apache-2.0
// Arguments of nodes between Python and the engine.
#include <string.h>

#include "fx.h"

PyObject *py_fx_class(const char *module, const char *name) {
  static PyObject *known;  // "module:name" -> object
  if (!known) known = PyDict_New();
  PyObject *key = known ? PyUnicode_FromFormat("%s:%s", module, name) : NULL;
  PyObject *found = key ? PyDict_GetItemWithError(known, key) : NULL;
  if (key && !found && !PyErr_Occurred()) {
    PyObject *m = PyImport_ImportModule(module);
    PyObject *o = m ? PyObject_GetAttrString(m, name) : NULL;
    if (o && PyDict_SetItem(known, key, o) == 0) found = o;
    Py_XDECREF(o);
    Py_XDECREF(m);
  }
  Py_XDECREF(key);
  return found;
}

static bool no_memory(ig_ctx *c) {
  (void)py_ok(c);
  return false;
}

static bool to_list(ig_ctx *c, ig_graph *g, PyObject *seq, ig_seq form, ig_value *v) {
  size_t n = (size_t)PySequence_Fast_GET_SIZE(seq);
  ig_value *items = ig_scope_array(c, n, sizeof *items);
  if (!items) return no_memory(c);
  for (size_t i = 0; i < n; i++) {
    // The list may shrink while its elements are looked at.
    if ((Py_ssize_t)i >= PySequence_Fast_GET_SIZE(seq)) {
      PyErr_SetString(PyExc_RuntimeError, "an argument changed while it was read");
      return false;
    }
    if (!py_fx_to_value(c, g, PySequence_Fast_GET_ITEM(seq, (Py_ssize_t)i), &items[i])) {
      return false;
    }
  }
  *v = ig_of_list(items, n);
  v->seq = form;
  return true;
}

static bool to_dict(ig_ctx *c, ig_graph *g, PyObject *dict, ig_value *v) {
  size_t n = (size_t)PyDict_GET_SIZE(dict);
  ig_value *items = ig_scope_array(c, ig_mem_mul(2, n), sizeof *items);
  if (!items) return no_memory(c);
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  size_t k = 0;
  while (PyDict_Next(dict, &at, &key, &value) && k < 2 * n) {
    if (!py_fx_to_value(c, g, key, &items[k]) || !py_fx_to_value(c, g, value, &items[k + 1])) {
      return false;
    }
    k += 2;
  }
  *v = ig_of_list(items, k);
  v->seq = IG_SEQ_DICT;
  return true;
}

static bool to_slice(ig_ctx *c, ig_graph *g, PyObject *o, ig_value *v) {
  const PySliceObject *s = (PySliceObject *)o;
  PyObject *parts[] = {s->start, s->stop, s->step};
  ig_value *items = ig_scope_array(c, 3, sizeof *items);
  if (!items) return no_memory(c);
  for (size_t i = 0; i < 3; i++) {
    if (!py_fx_to_value(c, g, parts[i], &items[i])) return false;
  }
  *v = ig_of_list(items, 3);
  v->seq = IG_SEQ_SLICE;
  return true;
}

static bool to_text(ig_ctx *c, PyObject *o, ig_value *v) {
  Py_ssize_t n = 0;
  const char *text = PyUnicode_AsUTF8AndSize(o, &n);
  if (!text) return false;
  if (strlen(text) != (size_t)n) {  // the engine's strings end with a zero
    *v = (ig_value){.kind = IG_KIND_OBJECT, .object = o};
    return true;
  }
  char *copy = ig_scope_push(c, (size_t)n + 1);
  if (!copy) return no_memory(c);
  memcpy(copy, text, (size_t)n + 1);
  *v = ig_of_str(copy);
  return true;
}

static bool to_node(const ig_graph *g, PyObject *o, ig_value *v) {
  ig_node *n = py_fx_node_of(o);
  if (n->graph != g) {
    PyErr_Format(PyExc_RuntimeError,
                 "Argument '%s' does not belong to this Graph, but was used as an argument! If you "
                 "are copying nodes from another graph, make sure to use ``arg_transform`` on "
                 "node_copy() to remap values",
                 n->name);
    return false;
  }
  if (n->erased) {
    PyErr_Format(PyExc_RuntimeError, "node '%s' was erased from its graph", n->name);
    return false;
  }
  *v = ig_of_node(n);
  return true;
}

// Values that are one word of the engine's own.
static bool to_word(PyObject *o, ig_value *v) {
  *v = ig_none();
  if (Py_IS_TYPE(o, &py_dtype_type)) {
    *v = ig_of_dtype(((py_dtype *)o)->d);
  } else if (Py_IS_TYPE(o, &py_device_type)) {
    *v = ig_of_device(((py_device *)o)->d);
  } else if (Py_IS_TYPE(o, &py_layout_type)) {
    *v = (ig_value){.kind = IG_KIND_LAYOUT, .layout = (ig_layout)((py_enum *)o)->v};
  } else if (Py_IS_TYPE(o, &py_memory_format_type)) {
    *v = ig_of_memory_format((ig_memory_format)((py_enum *)o)->v);
  } else if (Py_IS_TYPE(o, &py_overload_type)) {
    *v = ig_of_op(((py_op *)o)->set->at[0]);
  } else {
    return o == Py_None;
  }
  return true;
}

static bool is_number(PyObject *o) {
  return PyLong_CheckExact(o) || PyBool_Check(o) || PyFloat_CheckExact(o) ||
         PyComplex_CheckExact(o) || PyObject_TypeCheck(o, &py_symint_type) ||
         PyObject_TypeCheck(o, &py_symfloat_type) || PyObject_TypeCheck(o, &py_symbool_type);
}

static bool to_number(PyObject *o, ig_value *v) {
  if (!is_number(o)) return false;
  bool taken = py_to_number(o, v) == IG_MATCH_TAKEN;
  if (!taken) PyErr_Clear();  // too big: it stays Python's
  return taken;
}

bool py_fx_to_value(ig_ctx *c, ig_graph *g, PyObject *o, ig_value *v) {
  if (Py_EnterRecursiveCall(" in the argument of a node")) return false;
  bool ok = true;
  if (py_is_fx_node(o)) {
    ok = to_node(g, o, v);
  } else if (PyTuple_Check(o)) {
    ok = to_list(c, g, o, IG_SEQ_TUPLE, v);
  } else if (PyList_Check(o)) {
    ok = to_list(c, g, o, IG_SEQ_LIST, v);
  } else if (PyDict_Check(o)) {
    ok = to_dict(c, g, o, v);
  } else if (PySlice_Check(o)) {
    ok = to_slice(c, g, o, v);
  } else if (PyUnicode_CheckExact(o)) {
    ok = to_text(c, o, v);
  } else if (!to_word(o, v) && !to_number(o, v)) {
    *v = (ig_value){.kind = IG_KIND_OBJECT, .object = o};
  }
  Py_LeaveRecursiveCall();
  return ok;
}

static size_t count_keywords(PyObject *kwargs) {
  return kwargs && kwargs != Py_None ? (size_t)PyDict_GET_SIZE(kwargs) : 0;
}

static bool to_keywords(ig_ctx *c, ig_graph *g, PyObject *kwargs, const char **keys,
                        ig_value *values) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  for (size_t i = 0; PyDict_Next(kwargs, &at, &key, &value); i++) {
    if (!PyUnicode_Check(key)) {
      PyErr_Format(PyExc_TypeError, "keyword arguments of a node have names, not %s",
                   Py_TYPE(key)->tp_name);
      return false;
    }
    const char *text = PyUnicode_AsUTF8(key);
    keys[i] = text ? ig_graph_keep_text(c, g, text) : NULL;
    if (!keys[i]) return text ? no_memory(c) : false;
    if (!py_fx_to_value(c, g, value, &values[i])) return false;
  }
  return true;
}

bool py_fx_to_args(ig_ctx *c, ig_graph *g, PyObject *args, PyObject *kwargs, ig_node *proto) {
  bool given = args && args != Py_None;
  if (given && !PyTuple_Check(args)) {
    PyErr_Format(PyExc_TypeError, "args of a node must be a tuple, not %s", Py_TYPE(args)->tp_name);
    return false;
  }
  if (kwargs && kwargs != Py_None && !PyDict_Check(kwargs)) {
    PyErr_Format(PyExc_TypeError, "kwargs of a node must be a dict, not %s",
                 Py_TYPE(kwargs)->tp_name);
    return false;
  }
  proto->npos = given ? (size_t)PyTuple_GET_SIZE(args) : 0;
  proto->nkw = count_keywords(kwargs);
  if (proto->nkw > IG_MAX_KEYS) {
    PyErr_Format(PyExc_ValueError, "a node takes at most %d keyword arguments, found %zu",
                 (int)IG_MAX_KEYS, proto->nkw);
    return false;
  }
  ig_value *values = ig_scope_array(c, ig_mem_add(proto->npos, proto->nkw), sizeof *values);
  const char **keys = ig_scope_array(c, proto->nkw, sizeof *keys);
  if (!values || !keys) return no_memory(c);
  for (size_t i = 0; i < proto->npos; i++) {
    if (!py_fx_to_value(c, g, PyTuple_GET_ITEM(args, (Py_ssize_t)i), &values[i])) return false;
  }
  if (proto->nkw && !to_keywords(c, g, kwargs, keys, values + proto->npos)) return false;
  proto->args = values;
  proto->keys = keys;
  return true;
}

// ---- the other way ----

PyObject *py_fx_tuple(ig_ctx *c, const ig_value *v, size_t n) {
  PyObject *out = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; out && i < n; i++) {
    PyObject *item = py_fx_from_value(c, &v[i]);
    if (!item) Py_CLEAR(out);
    if (item) PyTuple_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  return out;
}

static PyObject *frozen(const char *name, PyObject *plain) {
  PyObject *cls = plain ? py_fx_class("ingot.fx.immutable_collections", name) : NULL;
  PyObject *out = cls ? PyObject_CallOneArg(cls, plain) : NULL;
  Py_XDECREF(plain);
  return out;
}

PyObject *py_fx_dict(ig_ctx *c, const char *const *keys, const ig_value *v, size_t n) {
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i < n; i++) {
    PyObject *item = py_fx_from_value(c, &v[i]);
    if (!item || PyDict_SetItemString(out, keys[i], item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return frozen("immutable_dict", out);
}

static PyObject *from_dict(ig_ctx *c, const ig_value *v) {
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i + 1 < v->list.n; i += 2) {
    PyObject *key = py_fx_from_value(c, &v->list.at[i]);
    PyObject *item = key ? py_fx_from_value(c, &v->list.at[i + 1]) : NULL;
    if (!item || PyDict_SetItem(out, key, item) != 0) Py_CLEAR(out);
    Py_XDECREF(key);
    Py_XDECREF(item);
  }
  return frozen("immutable_dict", out);
}

static PyObject *from_list(ig_ctx *c, const ig_value *v) {
  if (v->seq == IG_SEQ_DICT) return from_dict(c, v);
  PyObject *tuple = py_fx_tuple(c, v->list.at, v->list.n);
  if (!tuple || v->seq == IG_SEQ_TUPLE) return tuple;
  if (v->seq == IG_SEQ_LIST) return frozen("immutable_list", tuple);
  PyObject *out = PySlice_New(PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_ITEM(tuple, 1),
                              PyTuple_GET_ITEM(tuple, 2));
  Py_DECREF(tuple);
  return out;
}

PyObject *py_fx_from_value(ig_ctx *c, const ig_value *v) {
  switch (v->kind) {
    case IG_KIND_NODE:
      return py_from_node(v->node);
    case IG_KIND_LIST:
      return from_list(c, v);
    case IG_KIND_OP:
      return py_op_make_overload(v->op);
    case IG_KIND_GRAPH:
      return py_from_graph(v->graph);
    default:
      return py_from_value(c, v);
  }
}
