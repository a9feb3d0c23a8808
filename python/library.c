// SPDX-License-Identifier: Apache-2.0
// Operators defined from Python: Python functions as implementations that the engine calls. An
// exception passes through the engine as the status IG_HOST and is raised where the call was made.
#include "ingot/library.h"

#include <string.h>

#include "op/record.h"
#include "py.h"

static const char *const kind_names[] = {
    [IG_IMPL_KERNEL] = "kernel",       [IG_IMPL_FAKE] = "fake",         [IG_IMPL_ABSENT] = "absent",
    [IG_IMPL_COMPOSITE] = "composite", [IG_IMPL_AUTOGRAD] = "autograd",
};

// ---- calling a Python function ----

// Trailing positional arguments that have their default value are omitted, as are keyword-only
// ones: the function may have its own defaults, or lack the parameter.
static size_t count_given(const ig_schema *s, const ig_value *args) {
  size_t n = s->npos;
  while (n && ig_arg_is_default(&s->args[n - 1], &args[n - 1])) n--;
  return n;
}

PyObject *py_positional(ig_ctx *c, const ig_schema *s, const ig_value *args) {
  size_t n = count_given(s, args);
  PyObject *tuple = PyTuple_New((Py_ssize_t)n);
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *item = py_from_value(c, &args[i]);
    if (!item) Py_CLEAR(tuple);
    if (item) PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
  }
  return tuple;
}

PyObject *py_keywords(ig_ctx *c, const ig_schema *s, const ig_value *args) {
  PyObject *dict = PyDict_New();
  for (size_t i = s->npos; dict && i < s->nargs; i++) {
    if (ig_arg_is_default(&s->args[i], &args[i])) continue;
    PyObject *item = py_from_value(c, &args[i]);
    if (!item || PyDict_SetItemString(dict, s->args[i].name, item) != 0) Py_CLEAR(dict);
    Py_XDECREF(item);
  }
  return dict;
}

// The tensors in v belong to a Python object that is about to be freed: the innermost scope keeps
// them.
static bool lend(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return ig_pool_add(c, &ig_tensor_retain(v->tensor)->ref);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!lend(c, &v->list.at[i])) return false;
  }
  return true;
}

static bool take_result(ig_ctx *c, const ig_op *op, size_t i, PyObject *o, ig_value *out) {
  py_room room = {.c = c, .used = PY_ROOM};  // lists outlive this call: in the scope
  ig_match taken = py_convert(&room, &op->schema.rets[i], o, false, out);
  if (taken == IG_MATCH_OTHER) {
    const ig_arg *ret = &op->schema.rets[i];
    const char *wanted = ret->type == IG_TYPE_TENSOR && !ret->list ? "Tensor" : "what is expected";
    PyErr_Format(
        PyExc_RuntimeError,
        "Unable to cast %R to %s: result %zu of the implementation of %s::%s is a %s, which the "
        "schema %s does not allow",
        o, wanted, i, op->schema.ns, op->schema.name, py_type_name(o), op->schema.text);
  }
  return taken == IG_MATCH_TAKEN && lend(c, out);
}

bool py_take_results(ig_ctx *c, const ig_op *op, PyObject *answer, ig_value *outs) {
  size_t n = op->schema.nrets;
  if (n == 0) return true;
  if (n == 1) return take_result(c, op, 0, answer, &outs[0]);
  bool tuple = PyTuple_Check(answer) || PyList_Check(answer);
  if (!tuple || (size_t)PySequence_Fast_GET_SIZE(answer) != n) {
    PyErr_Format(PyExc_RuntimeError, "%s::%s: its implementation returned %s, expected %zu results",
                 op->schema.ns, op->schema.name,
                 tuple ? "another number of results" : py_type_name(answer), n);
    return false;
  }
  PyObject *all = py_items(answer, "");
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    ok = take_result(c, op, i, PyTuple_GET_ITEM(all, (Py_ssize_t)i), &outs[i]);
  }
  Py_XDECREF(all);
  return ok;
}

// An operator without results has an implementation without results.
static bool returns_nothing(const ig_op *op, PyObject *answer) {
  if (op->schema.nrets || answer == Py_None) return true;
  PyErr_Format(PyExc_RuntimeError,
               "Expected PythonKernelHolder for %s::%s to return None but it returned something "
               "else instead.",
               op->schema.ns, op->schema.name);
  return false;
}

static void call_python(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                        void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *pos = py_positional(c, &op->schema, args);
  PyObject *kw = pos ? py_keywords(c, &op->schema, args) : NULL;
  PyObject *answer = kw ? PyObject_Call(user, pos, kw) : NULL;
  bool ok = answer && returns_nothing(op, answer) && py_take_results(c, op, answer, outs);
  if (!ok && c->status == IG_OK) py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(kw);
  Py_XDECREF(pos);
  PyGILState_Release(state);
}

// ---- functions of the module ----

static const ig_op *overload_of(PyObject *o) {
  if (Py_IS_TYPE(o, &py_overload_type)) return ((py_op *)o)->set->at[0];
  PyErr_Format(PyExc_TypeError, "expected an OpOverload, not %s", py_type_name(o));
  return NULL;
}

static bool tag_bits(PyObject *tags, unsigned *out) {
  *out = 0;
  PyObject *list = py_items(tags, "tags must be a sequence of torch.Tag");
  for (Py_ssize_t i = 0; list && i < PyTuple_GET_SIZE(list); i++) {
    PyObject *name = PyObject_GetAttrString(PyTuple_GET_ITEM(list, i), "name");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!text) {
      Py_XDECREF(name);
      Py_DECREF(list);
      return false;
    }
    for (int t = 0; t < IG_TAG_COUNT; t++) {
      if (strcmp(ig_tag_text((ig_tag)t), text) == 0) *out |= 1U << t;
    }
    Py_DECREF(name);
  }
  bool ok = list != NULL;
  Py_XDECREF(list);
  return ok;
}

// A schema that cannot be parsed is a RuntimeError in PyTorch, not a ValueError.
static PyObject *raise_definition(ig_ctx *c) {
  if (c->status != IG_SYNTAX) return py_raise(c);
  PyErr_SetString(PyExc_RuntimeError, ig_ctx_error(c));
  ig_ctx_clear(c);
  return NULL;
}

// library_define(schema, tags=()) -> OpOverload
static PyObject *library_define(PyObject *module, PyObject *args) {
  (void)module;
  const char *schema = NULL;
  PyObject *tags = NULL;
  unsigned bits = 0;
  if (!PyArg_ParseTuple(args, "s|O:library_define", &schema, &tags)) return NULL;
  if (tags && !tag_bits(tags, &bits)) return NULL;
  ig_ctx *c = py_ctx();
  const ig_op *op = NULL;
  if (ig_library_define(c, schema, bits, &op) != IG_OK) return raise_definition(c);
  py_packet_forget(op);
  return py_op_make_overload(op);
}

static PyObject *library_undefine(PyObject *module, PyObject *o) {
  (void)module;
  const ig_op *op = overload_of(o);
  if (!op) return NULL;
  ig_library_undefine(op);
  py_packet_forget(op);
  Py_RETURN_NONE;
}

static bool kind_of(const char *text, ig_impl_kind *out) {
  for (size_t i = 0; i < PY_COUNT(kind_names); i++) {
    if (strcmp(kind_names[i], text) != 0) continue;
    *out = (ig_impl_kind)i;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "unknown kind of implementation '%s'", text);
  return false;
}

// library_impl(overload, kind, fn): kind is kernel, fake, composite or autograd.
static PyObject *library_impl(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  const char *text = NULL;
  PyObject *fn = NULL;
  ig_impl_kind kind = IG_IMPL_KERNEL;
  if (!PyArg_ParseTuple(args, "OsO:library_impl", &o, &text, &fn)) return NULL;
  const ig_op *op = overload_of(o);
  if (!op || !kind_of(text, &kind)) return NULL;
  if (!PyCallable_Check(fn)) {
    PyErr_Format(PyExc_TypeError, "an implementation must be callable, not %s", py_type_name(fn));
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_impl impl = {call_python, Py_NewRef(fn), py_drop};
  return ig_library_implement(c, op, kind, &impl) == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

static PyObject *library_has(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  const char *text = NULL;
  ig_impl_kind kind = IG_IMPL_KERNEL;
  if (!PyArg_ParseTuple(args, "Os:library_has", &o, &text)) return NULL;
  const ig_op *op = overload_of(o);
  if (!op || !kind_of(text, &kind)) return NULL;
  return PyBool_FromLong(ig_library_has(op, kind));
}

// A new size that depends on data, for implementations on fake tensors.
static PyObject *new_unbacked(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  if (!c->mode->sym) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "a size that depends on data exists only in a capture or in a FakeTensorMode with "
        "a ShapeEnv");
    return NULL;
  }
  ig_int i = ig_sym_unbacked(c);
  return py_ok(c) ? py_from_int(i) : NULL;
}

PyMethodDef py_library_functions[] = {
    {"library_define", library_define, METH_VARARGS, NULL},
    {"library_undefine", library_undefine, METH_O, NULL},
    {"library_impl", library_impl, METH_VARARGS, NULL},
    {"library_has", library_has, METH_VARARGS, NULL},
    {"new_unbacked", new_unbacked, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
