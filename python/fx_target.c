// SPDX-License-Identifier: Apache-2.0
// What nodes call, as Python objects: operators, Python's operators, functions of symbolic numbers,
// higher-order operators, any callable; and back.
#include <stdio.h>
#include <string.h>

#include "fx.h"
#include "ingot/aten.h"
#include "op/record.h"

const char *const py_fx_ops[] = {
    [IG_NODE_PLACEHOLDER] = "placeholder", [IG_NODE_ATTR] = "get_attr",
    [IG_NODE_CALL] = "call_function",      [IG_NODE_OUTPUT] = "output",
    [IG_NODE_MODULE] = "call_module",      [IG_NODE_METHOD] = "call_method"};

// "_operator.add", "torch.sym_max", "math.ceil", "round": the object of that name.
static PyObject *by_name(const char *name) {
  const char *dot = strchr(name, '.');
  if (!dot) return Py_XNewRef(py_fx_class("builtins", name));
  if (strncmp(name, "torch.", 6) == 0) {
    PyObject *at = PyImport_ImportModule("ingot");
    while (at && dot) {
      const char *end = strchr(dot + 1, '.');
      PyObject *key =
          PyUnicode_FromStringAndSize(dot + 1, end ? end - dot - 1 : (Py_ssize_t)strlen(dot + 1));
      PyObject *next = key ? PyObject_GetAttr(at, key) : NULL;
      Py_XDECREF(key);
      Py_DECREF(at);
      at = next;
      dot = end;
    }
    return at;
  }
  char module[64];
  (void)snprintf(module, sizeof module, "%.*s", (int)(dot - name), name);
  return Py_XNewRef(py_fx_class(module, dot + 1));
}

PyObject *py_fx_target(ig_ctx *c, const ig_node *n) {
  if (n->kind != IG_NODE_CALL) return PyUnicode_FromString(n->target);
  switch (n->callee) {
    case IG_CALLEE_OP:
      return py_op_make_overload(n->op);
    case IG_CALLEE_SIZE: {
      const ig_op *op = ig_op_at(c, IG_ID_SYM_SIZE_INT);
      return op ? py_op_make_overload(op) : py_raise(c);
    }
    case IG_CALLEE_HOST:
      return n->host_fn ? Py_NewRef((PyObject *)n->host_fn) : by_name(n->target);
    case IG_CALLEE_HOP: {
      PyObject *fn = PyObject_GetAttrString(py.module, "hop_object");
      PyObject *out = fn ? PyObject_CallFunction(fn, "s", n->hop->name) : NULL;
      Py_XDECREF(fn);
      return out;
    }
    default:
      return by_name(n->target);
  }
}

// ---- from Python ----

static const char *text_of(ig_ctx *c, ig_graph *g, PyObject *o) {
  const char *text = PyUnicode_AsUTF8(o);
  const char *kept = text ? ig_graph_keep_text(c, g, text) : NULL;
  if (text && !kept) (void)py_ok(c);
  return kept;
}

static bool set_operator(const ig_op *op, ig_node *proto) {
  bool size = op->number == IG_ID_SYM_SIZE_INT;
  proto->callee = size ? IG_CALLEE_SIZE : IG_CALLEE_OP;
  proto->op = size ? NULL : op;
  proto->target = op->target;
  proto->effect = ig_op_has_effect(op);
  return true;
}

// The name by which printed code calls a function.
static const char *qualified_name(ig_ctx *c, ig_graph *g, PyObject *target) {
  PyObject *fn = py_fx_class("ingot.fx.node", "_get_qualified_name");
  PyObject *name = fn ? PyObject_CallOneArg(fn, target) : NULL;
  const char *text = name ? text_of(c, g, name) : NULL;
  Py_XDECREF(name);
  return text;
}

static bool is_impure(const char *name) {
  static const char *const names[] = {"torch._assert",
                                      "torch._assert_async",
                                      "torch._check",
                                      "torch._C._set_grad_enabled",
                                      "torch._C._functorch._vmap_increment_nesting",
                                      "torch._C._functorch._vmap_decrement_nesting",
                                      "torch.amp.autocast_mode._enter_autocast",
                                      "torch.amp.autocast_mode._exit_autocast"};
  for (size_t i = 0; i < PY_COUNT(names); i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

static bool set_function(ig_ctx *c, ig_graph *g, PyObject *target, ig_node *proto) {
  if (Py_IS_TYPE(target, &py_overload_type)) {
    return set_operator(((py_op *)target)->set->at[0], proto);
  }
  if (!PyCallable_Check(target)) {
    PyErr_Format(PyExc_ValueError,
                 "call_function takes a callable as its target, found %s; expected an operator or "
                 "a function",
                 Py_TYPE(target)->tp_name);
    return false;
  }
  const ig_hop *hop = py_hop_of(target);
  if (hop) {
    proto->callee = IG_CALLEE_HOP;
    proto->hop = hop;
    proto->target = hop->path;
    proto->effect = hop->effect;
    return true;
  }
  const char *name = qualified_name(c, g, target);
  if (!name) return false;
  proto->target = name;
  if (strcmp(name, "_operator.getitem") == 0) {
    proto->callee = IG_CALLEE_GETITEM;
    return true;
  }
  if (ig_sym_find(name, &proto->arith)) {
    proto->callee = IG_CALLEE_SYM;
    return true;
  }
  proto->callee = IG_CALLEE_HOST;
  proto->host_fn = target;
  proto->effect = is_impure(name);
  return true;
}

bool py_fx_set_target(ig_ctx *c, ig_graph *g, const char *op, PyObject *target, ig_node *proto) {
  size_t kind = 0;
  while (kind < IG_NODE_METHOD + 1 && strcmp(py_fx_ops[kind], op) != 0) kind++;
  if (kind == IG_NODE_METHOD + 1) {
    PyErr_Format(PyExc_AssertionError, "%s is not a kind of node", op);
    return false;
  }
  proto->kind = (ig_node_kind)kind;
  if (kind == IG_NODE_CALL) return set_function(c, g, target, proto);
  if (!PyUnicode_Check(target)) {
    PyErr_Format(PyExc_ValueError, "the target of %s is a str, not %s", op,
                 Py_TYPE(target)->tp_name);
    return false;
  }
  proto->target = text_of(c, g, target);
  return proto->target != NULL;
}
