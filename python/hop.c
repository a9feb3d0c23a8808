// SPDX-License-Identifier: Apache-2.0
// Higher-order operators from Python: functions that take and return flat lists of tensors and
// numbers. Containers are flattened and rebuilt in Python.
#include "ingot/hop.h"

#include <string.h>

#include "fx.h"
#include "ingot/aten.h"
#include "op/hop.h"
#include "py.h"

// A value of a call; what it points at belongs to o.
static bool to_value(PyObject *o, ig_value *v) {
  *v = ig_none();
  if (o == Py_None) return true;
  if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
    return py_settled(o);
  }
  ig_match taken = py_to_number(o, v);
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(
        PyExc_TypeError,
        "a higher-order operator takes tensors and numbers, not %s; close over other values",
        py_type_name(o));
  }
  return taken == IG_MATCH_TAKEN;
}

// All items of a sequence, in the innermost scope.
static ig_value *to_values(ig_ctx *c, PyObject *o, size_t *n) {
  PyObject *list = py_items(o, "operands must be a list or a tuple");
  if (!list) return NULL;
  *n = (size_t)PyTuple_GET_SIZE(list);
  ig_value *at = ig_scope_array(c, *n + 1, sizeof *at);
  for (size_t i = 0; at && i < *n; i++) {
    PyObject *item = PyTuple_GET_ITEM(list, (Py_ssize_t)i);
    if (!to_value(item, &at[i])) {
      Py_DECREF(list);
      return NULL;
    }
    // The list may be the only owner.
    if (at[i].kind == IG_KIND_TENSOR && !py_lend(c, item)) at = NULL;
  }
  Py_DECREF(list);
  if (!at) (void)py_raise(c);
  return at;
}

static PyObject *from_values(ig_ctx *c, const ig_value *at, size_t n) {
  ig_value list = ig_of_list(at, n);
  return py_from_value(c, &list);
}

// A Python function and its operator's name in the source_fn_stack of its nodes.
typedef struct callee {
  PyObject *fn;
  const char *source;
} callee;

// fn(*values) -> list
static const ig_value *call_fn(ig_ctx *c, const ig_value *in, size_t n, size_t *nouts, void *user) {
  const callee *k = user;
  PyObject *list = from_values(c, in, n);
  PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
  bool inside = tuple && py_level_enter(c, k->source);
  PyObject *answer = tuple ? PyObject_CallObject(k->fn, tuple) : NULL;
  if (inside) py_level_leave(c);
  const ig_value *out = answer ? to_values(c, answer, nouts) : NULL;
  if (!out && c->status == IG_OK) py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(tuple);
  Py_XDECREF(list);
  return out;
}

static ig_branch branch_of(callee *fn) {
  return (ig_branch){.fn = call_fn, .user = fn};
}

// The operator is what its nodes come from.
static bool begin(ig_ctx *c, const ig_hop *hop) {
  const char *own = c->mode->capture ? hop->classes[c->mode->capture->release] : NULL;
  return py_region(c, own ? own : "HigherOrderOperator", hop->name, NULL);
}

static PyObject *finish(ig_ctx *c, ig_scope s, bool inside, const ig_value *outs, size_t n) {
  if (inside) py_region_leave(c);
  PyObject *list = outs ? from_values(c, outs, n) : PyErr_Occurred() ? NULL : py_raise(c);
  // An exception of Python leaves a status behind.
  if (!outs && c->status != IG_OK) ig_ctx_clear(c);
  ig_scope_close(c, s);
  return list;
}

// Texts of a list; NULL without exception: o is None.
static const char *const *to_texts(ig_ctx *c, PyObject *o, size_t n) {
  if (o == Py_None) return NULL;
  if (!PyList_Check(o) || (size_t)PyList_GET_SIZE(o) != n) {
    PyErr_SetString(PyExc_ValueError, "expected one key per operand");
    return NULL;
  }
  const char **at = ig_scope_array(c, n + 1, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    at[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(o, (Py_ssize_t)i));
    if (!at[i]) return NULL;
  }
  return at;
}

// hop_cond(pred, true_fn, false_fn, operands, keys=None, others=(), other_keys=None) -> list
static PyObject *hop_cond(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *pred = NULL;
  PyObject *yes = NULL;
  PyObject *no = NULL;
  PyObject *operands = NULL;
  PyObject *keys = Py_None;
  PyObject *others = NULL;
  PyObject *other_keys = Py_None;
  if (!PyArg_ParseTuple(args, "OOOO|OOO:hop_cond", &pred, &yes, &no, &operands, &keys, &others,
                        &other_keys)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_cond);
  ig_branch t = branch_of(&(callee){yes, "cond"});
  ig_branch f = branch_of(&(callee){no, "cond"});
  ig_value p;
  ig_cond_args a = {.size = sizeof a, .pred = &p, .yes = &t, .no = &f};
  const ig_value *outs = NULL;
  size_t n = 0;
  if (to_value(pred, &p)) a.operands = to_values(c, operands, &a.noperands);
  if (a.operands) a.keys = to_texts(c, keys, a.noperands);
  if (a.keys && others) a.others = to_values(c, others, &a.nothers);
  if (a.others) a.other_keys = to_texts(c, other_keys, a.nothers);
  if (!a.other_keys) a.nothers = 0;
  if (a.operands && !PyErr_Occurred()) outs = ig_cond(c, &a, &n);
  return finish(c, s, inside, outs, n);
}

// hop_map(fn, xs, args) -> list
static PyObject *hop_map(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *fn = NULL;
  PyObject *xs = NULL;
  PyObject *rest = NULL;
  if (!PyArg_ParseTuple(args, "OOO:hop_map", &fn, &xs, &rest)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_map);
  ig_branch body = branch_of(&(callee){fn, "map"});
  const ig_value *outs = NULL;
  size_t nx = 0;
  size_t na = 0;
  size_t n = 0;
  const ig_value *x = to_values(c, xs, &nx);
  const ig_value *a = x ? to_values(c, rest, &na) : NULL;
  if (a) outs = ig_map_over(c, &body, x, nx, a, na, &n);
  return finish(c, s, inside, outs, n);
}

// hop_while_loop(cond_fn, body_fn, carried, extra) -> list
static PyObject *hop_while_loop(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *cond = NULL;
  PyObject *fn = NULL;
  PyObject *carried = NULL;
  PyObject *extra = NULL;
  if (!PyArg_ParseTuple(args, "OOOO:hop_while_loop", &cond, &fn, &carried, &extra)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_while_loop);
  ig_branch test = branch_of(&(callee){cond, "while_loop"});
  ig_branch body = branch_of(&(callee){fn, "while_loop"});
  const ig_value *outs = NULL;
  size_t nc = 0;
  size_t ne = 0;
  size_t n = 0;
  const ig_value *a = to_values(c, carried, &nc);
  const ig_value *b = a ? to_values(c, extra, &ne) : NULL;
  if (b) outs = ig_while_loop(c, &test, &body, a, nc, b, ne, &n);
  return finish(c, s, inside, outs, n);
}

// hop_scan(combine_fn, init, xs, extra, dim, reverse) -> list
static PyObject *hop_scan(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *fn = NULL;
  PyObject *init = NULL;
  PyObject *xs = NULL;
  PyObject *extra = NULL;
  long long dim = 0;
  int reverse = 0;
  if (!PyArg_ParseTuple(args, "OOOOLp:hop_scan", &fn, &init, &xs, &extra, &dim, &reverse)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_scan);
  ig_branch combine = branch_of(&(callee){fn, "scan"});
  ig_scan_args a = {.size = sizeof a, .combine = &combine, .dim = dim, .reverse = reverse != 0};
  const ig_value *outs = NULL;
  size_t n = 0;
  a.init = to_values(c, init, &a.ninit);
  if (a.init) a.xs = to_values(c, xs, &a.nxs);
  if (a.xs) a.extra = to_values(c, extra, &a.nextra);
  if (a.extra) outs = ig_scan(c, &a, &n);
  return finish(c, s, inside, outs, n);
}

// hop_strict_mode(fn, operands) -> list
static PyObject *hop_strict_mode(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *fn = NULL;
  PyObject *operands = NULL;
  if (!PyArg_ParseTuple(args, "OO:hop_strict_mode", &fn, &operands)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_strict_mode);
  ig_branch body = branch_of(&(callee){fn, "strict_mode"});
  const ig_value *outs = NULL;
  size_t nx = 0;
  size_t n = 0;
  const ig_value *x = to_values(c, operands, &nx);
  if (x) outs = ig_strict_mode(c, &body, x, nx, &n);
  return finish(c, s, inside, outs, n);
}

// hop_set_grad(enabled, fn, operands) -> list
static PyObject *hop_set_grad(PyObject *module, PyObject *args) {
  (void)module;
  int enabled = 0;
  PyObject *fn = NULL;
  PyObject *operands = NULL;
  if (!PyArg_ParseTuple(args, "pOO:hop_set_grad", &enabled, &fn, &operands)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_branch body = branch_of(&(callee){fn, NULL});
  const ig_value *outs = NULL;
  size_t nx = 0;
  size_t n = 0;
  const ig_value *x = to_values(c, operands, &nx);
  if (x) outs = ig_wrap_set_grad_enabled(c, enabled != 0, &body, x, nx, &n);
  return finish(c, s, false, outs, n);
}

static bool fill_args(ig_ctx *c, const ig_op *op, PyObject *kwargs, ig_value *values) {
  py_room room = {.c = c, .used = PY_ROOM};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    const ig_arg *a = &op->schema.args[i];
    PyObject *o = PyDict_GetItemString(kwargs, a->name);
    values[i] = a->def;
    if (!o && a->has_default) continue;
    ig_match taken = o ? py_convert(&room, a, o, false, &values[i]) : IG_MATCH_OTHER;
    if (taken == IG_MATCH_TAKEN) continue;
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "auto_functionalized: argument '%s' of %s is %s", a->name,
                   op->target, o ? "of another type" : "missing");
    }
    return false;
  }
  return true;
}

// hop_auto_functionalized(overload, {name: value}) -> list
static PyObject *hop_functional(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *overload = NULL;
  PyObject *kwargs = NULL;
  if (!PyArg_ParseTuple(args, "O!O!:hop_auto_functionalized", &py_overload_type, &overload,
                        &PyDict_Type, &kwargs)) {
    return NULL;
  }
  const ig_op *op = ((py_op *)overload)->set->at[0];
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  bool inside = begin(c, &ig_hop_auto_functionalized);
  ig_value values[IG_MAX_ARGS];
  const ig_value *outs = NULL;
  size_t n = 0;
  if (fill_args(c, op, kwargs, values)) outs = ig_auto_functionalized(c, op, values, &n);
  return finish(c, s, inside, outs, n);
}

// ---- a capture that ends as a graph ----

// Outputs as they are: tensors and numbers in lists, tuples and dicts; in the innermost scope.
static bool to_tree(ig_ctx *c, PyObject *o, ig_value *v) {
  bool dict = PyDict_Check(o);
  if (!dict && !PyList_Check(o) && !PyTuple_Check(o)) {
    if (PyUnicode_Check(o)) {
      *v = ig_of_str(PyUnicode_AsUTF8(o));
      return v->str != NULL;
    }
    return to_value(o, v);
  }
  PyObject *pairs = dict ? PyDict_Items(o) : Py_NewRef(o);
  PyObject *list = pairs ? py_items(pairs, "a sequence") : NULL;
  Py_XDECREF(pairs);
  if (!list) return false;
  size_t n = (size_t)PyTuple_GET_SIZE(list);
  ig_value *at = ig_scope_array(c, ig_mem_mul(dict ? 2 : 1, n) + 1, sizeof *at);
  bool ok = at != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    PyObject *item = PyTuple_GET_ITEM(list, (Py_ssize_t)i);
    if (dict) {
      ok = to_tree(c, PyTuple_GET_ITEM(item, 0), &at[2 * i]) &&
           to_tree(c, PyTuple_GET_ITEM(item, 1), &at[2 * i + 1]);
    } else {
      ok = to_tree(c, item, &at[i]);
    }
  }
  if (ok) {
    *v = ig_of_list(at, (dict ? 2 : 1) * n);
    v->seq = dict ? IG_SEQ_DICT : PyTuple_Check(o) ? IG_SEQ_TUPLE : IG_SEQ_LIST;
  }
  Py_DECREF(list);
  return ok;
}

// A trace below autograd without functionalization: every detach is there twice, once for each
// layer that makes it, and a literal is not detached.
typedef struct direct_trace {
  bool repeating;
} direct_trace;

static bool is_literal(const ig_value *v) {
  const ig_node *n = v->tensor->node;
  return n && n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP &&
         n->op->number == IG_ID_LIFT_FRESH_COPY;
}
static bool keep_direct(const ig_op *op, const ig_value *args, void *user) {
  (void)args;
  return op->number == IG_ID_DETACH && ((direct_trace *)user)->repeating;
}
static bool replace_direct(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                           void *user) {
  direct_trace *t = user;
  if (op->number == IG_ID_DETACH_ && is_literal(&args[0])) {
    outs[0] = args[0];
    return true;
  }
  if (op->number != IG_ID_DETACH || is_literal(&args[0])) return false;
  t->repeating = true;
  ig_value once[IG_MAX_RETURNS];
  ig_call(c, op, args, once);
  ig_call(c, op, once, outs);
  t->repeating = false;
  return true;
}

// capture_end_graph(result, composite, whole=False) -> Graph: `result` is what the graph returns;
// composite: composite operators are decomposed; whole: calls whose results are unused stay.
static PyObject *capture_end_graph(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *result = NULL;
  int composite = 0;
  int whole = 0;
  if (!PyArg_ParseTuple(args, "Op|p:capture_end_graph", &result, &composite, &whole)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value v;
  ig_graph *g = NULL;
  if (!to_tree(c, result, &v)) {
    ig_scope_close(c, s);
    return PyErr_Occurred() ? NULL : py_raise(c);
  }
  bool tuple = v.kind == IG_KIND_LIST && v.seq == IG_SEQ_TUPLE;
  ig_status st = tuple ? ig_capture_end(c, v.list.at, v.list.n, &g) : ig_capture_end(c, &v, 1, &g);
  py_trace_end(c);
  if (st == IG_OK && !tuple) g->last->bare = true;
  if (st == IG_OK && !whole) (void)ig_graph_dce(g);
  if (st == IG_OK && composite) {
    ig_graph *lower = NULL;
    direct_trace direct = {false};
    ig_decompose_args level = {.size = sizeof level,
                               .level = IG_DECOMPOSE_COMPOSITE,
                               .once = true,
                               .whole = whole != 0,
                               .keep = keep_direct,
                               .replace = replace_direct,
                               .user = &direct};
    bool bare = g->last->bare;
    st = ig_graph_decompose(c, g, &level, &lower);
    ig_graph_free(g);
    g = lower;
    if (g) g->last->bare = bare;
  }
  ig_scope_close(c, s);
  if (st != IG_OK) return py_raise(c);
  PyObject *out = py_from_graph(g);
  ig_graph_free(g);
  return out;
}

// ---- their Python objects ----

static PyObject *objects;  // name -> object of Python

// hop_register(name, object): what nodes that call it have as target.
static PyObject *hop_register(PyObject *module, PyObject *args) {
  (void)module;
  const char *name = NULL;
  PyObject *object = NULL;
  if (!PyArg_ParseTuple(args, "sO:hop_register", &name, &object)) return NULL;
  if (!objects && !(objects = PyDict_New())) return NULL;
  return PyDict_SetItemString(objects, name, object) == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject *py_from_hop(const ig_hop *hop) {
  PyObject *found = objects ? PyDict_GetItemString(objects, hop->name) : NULL;
  if (!found) {  // they are made when first needed
    PyObject *home = PyImport_ImportModule("ingot._higher_order_ops");
    if (!home) return NULL;
    Py_DECREF(home);
    found = objects ? PyDict_GetItemString(objects, hop->name) : NULL;
  }
  if (!found)
    PyErr_Format(PyExc_RuntimeError, "no object for torch.ops.higher_order.%s", hop->name);
  return Py_XNewRef(found);
}

const ig_hop *py_hop_of(PyObject *o) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  while (objects && PyDict_Next(objects, &at, &key, &value)) {
    if (value == o) return ig_hop_find(PyUnicode_AsUTF8(key));
  }
  return NULL;
}

static PyObject *hop_object(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(name);
  const ig_hop *hop = text ? ig_hop_find(text) : NULL;
  if (hop) return py_from_hop(hop);
  if (text) PyErr_Format(PyExc_AttributeError, "no higher-order operator is called '%s'", text);
  return NULL;
}

// ---- about the open capture ----

static PyObject *capture_is_strict(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const ig_ctx *c = py_ctx();
  return PyBool_FromLong(c->mode->capture && c->mode->capture->strict);
}

// Is a program recorded for all of its sizes? Not by make_fx, which decides by the example and
// keeps a guard.
static PyObject *capture_is_export(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const ig_graph *g = py_ctx()->mode->capture;
  return PyBool_FromLong(g && g->release != IG_RELEASE_2_5_FX);
}

// capture_name(tensor) -> (what the program calls it, is it an input of the user?), None: it has no
// node
static PyObject *capture_name(PyObject *module, PyObject *o) {
  (void)module;
  const ig_node *n = py_is_tensor(o) ? py_tensor_of(o)->node : NULL;
  if (!n) Py_RETURN_NONE;
  bool input = ig_node_is_placeholder(n) && n->role == IG_INPUT_USER;
  return Py_BuildValue("(sO)", input && n->path ? n->path : n->name, input ? Py_True : Py_False);
}

PyMethodDef py_hop_functions[] = {
    {"capture_is_strict", capture_is_strict, METH_NOARGS, NULL},
    {"capture_is_export", capture_is_export, METH_NOARGS, NULL},
    {"capture_name", capture_name, METH_O, NULL},
    {"hop_cond", hop_cond, METH_VARARGS, NULL},
    {"hop_map", hop_map, METH_VARARGS, NULL},
    {"hop_while_loop", hop_while_loop, METH_VARARGS, NULL},
    {"hop_scan", hop_scan, METH_VARARGS, NULL},
    {"hop_strict_mode", hop_strict_mode, METH_VARARGS, NULL},
    {"hop_set_grad", hop_set_grad, METH_VARARGS, NULL},
    {"hop_auto_functionalized", hop_functional, METH_VARARGS, NULL},
    {"capture_end_graph", capture_end_graph, METH_VARARGS, NULL},
    {"hop_register", hop_register, METH_VARARGS, NULL},
    {"hop_object", hop_object, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
