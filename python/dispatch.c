// SPDX-License-Identifier: Apache-2.0
// __torch_dispatch__: modes, and tensors whose class answers calls. Both see operators below
// autograd (op/intercept.h); a class switches its method off by assigning
// _disabled_torch_dispatch_impl, as Tensor does.
#include "op/intercept.h"

#include "ir/graph.h"
#include "py.h"

static PyObject *attribute;  // "__torch_dispatch__"
static PyObject *disabled;   // Tensor's
static PyObject *rules;      // {operator: {class: function}}, see dispatch_rule

// A mode that was entered.
typedef struct frame {
  ig_intercept is;
  PyObject *mode;
} frame;

// ---- what a call is asked with ----

static bool has_dispatch(PyTypeObject *type) {
  if (type == py_tensor_type) return false;
  PyObject *found = _PyType_Lookup(type, attribute);
  return found && found != disabled;
}

// Objects in `list`, subclasses before the classes they derive from, each class once.
static int collect(PyObject *list, PyObject *o) {
  Py_ssize_t n = PyList_GET_SIZE(list);
  Py_ssize_t at = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyTypeObject *seen = Py_TYPE(PyList_GET_ITEM(list, i));
    if (seen == Py_TYPE(o)) return 0;
    if (at == n && PyType_IsSubtype(Py_TYPE(o), seen)) at = i;
  }
  return PyList_Insert(list, at, o);
}

static int scan(ig_ctx *c, PyObject *list, const ig_value *v) {
  int bad = 0;
  if (v->kind == IG_KIND_TENSOR && v->tensor->intercept) {
    PyObject *o = py_from_tensor(c, v->tensor);
    bad = !o || collect(list, o);
    Py_XDECREF(o);
  }
  for (size_t i = 0; v->kind == IG_KIND_LIST && !bad && i < v->list.n; i++) {
    bad = scan(c, list, &v->list.at[i]);
  }
  return bad;
}

static PyObject *answering(ig_ctx *c, const ig_op *op, const ig_value *args) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < op->schema.nargs; i++) {
    if (scan(c, list, &args[i]) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *types_of(PyObject *list) {
  PyObject *types = PyTuple_New(PyList_GET_SIZE(list));
  for (Py_ssize_t i = 0; types && i < PyList_GET_SIZE(list); i++) {
    PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(PyList_GET_ITEM(list, i))));
  }
  return types;
}

static void refuse(PyObject *func, PyObject *mode, PyObject *list) {
  PyObject *text = PyUnicode_FromFormat(
      "Multiple dispatch failed for 'torch._ops.%S'; all __torch_dispatch__ handlers returned "
      "NotImplemented:\n\n",
      func);
  if (text && mode) {
    PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("  - mode object %R\n", mode));
  }
  for (Py_ssize_t i = 0; text && i < PyList_GET_SIZE(list); i++) {
    PyTypeObject *type = Py_TYPE(PyList_GET_ITEM(list, i));
    PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("  - tensor subclass %R\n", type));
  }
  if (text) {
    PyUnicode_AppendAndDel(&text,
                           PyUnicode_FromString("\nFor more information, try re-running with "
                                                "TORCH_LOGS=not_implemented"));
  }
  if (text) PyErr_SetObject(PyExc_TypeError, text);
  Py_XDECREF(text);
}

// What `who`, a mode or a class of operands, answers: by the rule of its class for the operator, or
// else by its method.
static PyObject *answer_of(PyObject *who, PyObject *func, PyObject *types, PyObject *args,
                           PyObject *kwargs) {
  PyObject *cls = PyType_Check(who) ? who : (PyObject *)Py_TYPE(who);
  PyObject *of_op = PyDict_GetItemWithError(rules, func);
  PyObject *rule = of_op ? PyDict_GetItemWithError(of_op, cls) : NULL;
  if (PyErr_Occurred()) return NULL;
  if (!rule) return PyObject_CallMethodObjArgs(who, attribute, func, types, args, kwargs, NULL);
  return PyObject_CallFunctionObjArgs(rule, who, func, types, args, kwargs, NULL);
}

// The mode first, then the classes of the operands, until one does not return NotImplemented.
static PyObject *ask(PyObject *mode, PyObject *list, PyObject *func, PyObject *args,
                     PyObject *kwargs) {
  PyObject *types = types_of(list);
  PyObject *out = NULL;
  for (Py_ssize_t i = mode ? -1 : 0; types && i < PyList_GET_SIZE(list); i++) {
    PyObject *who = i < 0 ? mode : (PyObject *)Py_TYPE(PyList_GET_ITEM(list, i));
    out = answer_of(who, func, types, args, kwargs);
    if (out != Py_NotImplemented) break;
    Py_CLEAR(out);
  }
  if (!out && types && !PyErr_Occurred()) refuse(func, mode, list);
  Py_XDECREF(types);
  return out;
}

// An undefined result (a gradient that nobody wants) is None.
static bool take(ig_ctx *c, const ig_op *op, PyObject *answer, ig_value *outs) {
  bool undefined = op->schema.nrets == 1 && answer == Py_None;
  if (undefined && op->schema.rets[0].type == IG_TYPE_TENSOR && !op->schema.rets[0].list) {
    outs[0] = ig_none();
    return true;
  }
  return py_take_results(c, op, answer, outs);
}

static void dispatch(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *mode = Py_XNewRef((PyObject *)user);
  PyObject *func = py_op_make_overload(op);
  PyObject *list = func ? answering(c, op, args) : NULL;
  PyObject *pos = list ? py_positional(c, &op->schema, args) : NULL;
  PyObject *kw = pos ? py_keywords(c, &op->schema, args) : NULL;
  PyObject *answer = kw ? ask(mode, list, func, pos, kw) : NULL;
  bool ok = answer && take(c, op, answer, outs);
  if (!ok && c->status == IG_OK) py_host_failed(c);
  Py_XDECREF(answer);
  Py_XDECREF(kw);
  Py_XDECREF(pos);
  Py_XDECREF(list);
  Py_XDECREF(func);
  Py_XDECREF(mode);
  PyGILState_Release(state);
}

// ---- operands ----

static bool copy_slots(PyObject *from, PyObject *to) {
  for (PyTypeObject *type = Py_TYPE(from); type && type != py_tensor_type; type = type->tp_base) {
    for (PyMemberDef *m = type->tp_members; m && m->name; m++) {
      PyObject *value = m->flags & READONLY ? NULL : PyObject_GetAttrString(from, m->name);
      bool bad = value && PyObject_SetAttrString(to, m->name, value) != 0;
      Py_XDECREF(value);
      if (bad) return false;
      PyErr_Clear();  // not set
    }
  }
  return true;
}

static PyObject *copy_object(PyObject *from) {
  PyTypeObject *type = Py_TYPE(from);
  PyObject *o = type->tp_alloc(type, 0);
  PyObject *dict = ((py_tensor *)from)->dict;
  if (o && dict && !(((py_tensor *)o)->dict = PyDict_Copy(dict))) Py_CLEAR(o);
  if (o && !copy_slots(from, o)) Py_CLEAR(o);
  return o;
}

static bool alias(ig_ctx *c, const ig_tensor *from, ig_tensor *to) {
  if (!from->host) return true;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *o = copy_object(from->host);
  if (!o) {
    py_host_failed(c);
  } else {
    ((py_tensor *)o)->t = to;
    to->host = o;
    to->owns_host = true;
    to->intercept = from->intercept;
  }
  PyGILState_Release(state);
  return o != NULL;
}

static void release(ig_tensor *t) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *o = t->host;
  ((py_tensor *)o)->t = NULL;
  t->host = NULL;
  t->owns_host = false;
  Py_DECREF(o);
  PyGILState_Release(state);
}

const ig_intercept *py_dispatch_of(PyTypeObject *type) {
  static const ig_intercept operand = {.fn = dispatch, .alias = alias, .release = release};
  return has_dispatch(type) ? &operand : NULL;
}

// ---- modes ----

static PyObject *push(PyObject *module, PyObject *mode) {
  (void)module;
  ig_ctx *c = py_ctx();
  frame *f = PyMem_Malloc(sizeof *f);
  if (!f) return PyErr_NoMemory();
  f->mode = Py_NewRef(mode);
  f->is = (ig_intercept){.fn = dispatch, .user = mode, .outer = c->mode->intercept};
  ig_mode_set(c, &(ig_mode_change){IG_MODE_INTERCEPT, {.intercept = &f->is}});
  Py_RETURN_NONE;
}

static PyObject *pop(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  ig_ctx *c = py_ctx();
  frame *f = (frame *)c->mode->intercept;
  if (!f) {
    PyErr_SetString(PyExc_AssertionError, "trying to pop from an empty stack of dispatch modes");
    return NULL;
  }
  ig_mode_set(c, &(ig_mode_change){IG_MODE_INTERCEPT, {.intercept = f->is.outer}});
  PyObject *mode = f->mode;
  PyMem_Free(f);
  return mode;
}

static PyObject *modes(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *list = PyList_New(0);
  const ig_intercept *i = py_ctx()->mode->intercept;
  for (; list && i; i = i->outer) {
    if (PyList_Append(list, ((const frame *)i)->mode) != 0) Py_CLEAR(list);
  }
  if (list && PyList_Reverse(list) != 0) Py_CLEAR(list);
  return list;
}

static PyObject *count(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  long n = 0;
  for (const ig_intercept *i = py_ctx()->mode->intercept; i; i = i->outer) n++;
  return PyLong_FromLong(n);
}

// _set_torch_dispatch_enabled(bool) -> what it was; of operands, modes are popped instead.
static PyObject *set_enabled(PyObject *module, PyObject *on) {
  (void)module;
  ig_ctx *c = py_ctx();
  int yes = PyObject_IsTrue(on);
  if (yes < 0) return NULL;
  bool before = !c->mode->unseen;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_UNSEEN, {.unseen = yes == 0}});
  return PyBool_FromLong(before);
}

static PyObject *disabled_impl(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"func", "types", "args", "kwargs", NULL};
  (void)module;
  PyObject *func = NULL;
  PyObject *types = NULL;
  PyObject *pos = NULL;
  PyObject *kw = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!|O", keys, &func, &types, &PyTuple_Type, &pos,
                                   &kw)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_mode_scope s = ig_mode_push(c, &(ig_mode_change){IG_MODE_UNSEEN, {.unseen = true}});
  PyObject *out = PyObject_Call(func, pos, kw && kw != Py_None ? kw : NULL);
  ig_mode_pop(c, &s);
  return out;
}

// dispatch_rule(overload, class, fn): what modes or operands of the class do for one operator
// instead of calling their method.
static PyObject *dispatch_rule(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *func = NULL;
  PyObject *cls = NULL;
  PyObject *fn = NULL;
  if (!PyArg_ParseTuple(args, "O!O!O:dispatch_rule", &py_overload_type, &func, &PyType_Type, &cls,
                        &fn)) {
    return NULL;
  }
  PyObject *of_op = PyDict_GetItemWithError(rules, func);
  if (!of_op && PyErr_Occurred()) return NULL;
  of_op = of_op ? Py_NewRef(of_op) : PyDict_New();
  bool ok = of_op && PyDict_SetItem(of_op, cls, fn) == 0 && PyDict_SetItem(rules, func, of_op) == 0;
  Py_XDECREF(of_op);
  return ok ? Py_NewRef(Py_None) : NULL;
}

// ---- tensors without elements of their own ----

typedef struct wrapper {
  PyObject *cls;
  PyObject *size;
  PyObject *strides;
  PyObject *offset;
  PyObject *format;
  PyObject *dtype;
  PyObject *device;
  int grad;
} wrapper;

static bool sizes_of(py_room *room, PyObject *o, const char *what, ig_value *out) {
  ig_match taken = py_to_ints(room, o, what, out);
  if (taken == IG_MATCH_OTHER) PyErr_Format(PyExc_TypeError, "%s must be a tuple of ints", what);
  return taken == IG_MATCH_TAKEN;
}

// The environment of symbolic sizes.
static ig_sym *sym_of(PyObject *sizes) {
  PyObject *items = py_items(sizes, "size must be a tuple of ints");
  ig_sym *found = NULL;
  for (Py_ssize_t i = 0; items && !found && i < PyTuple_GET_SIZE(items); i++) {
    PyObject *o = PyTuple_GET_ITEM(items, i);
    if (py_is_sym(o)) found = ((py_sym *)o)->sym;
  }
  Py_XDECREF(items);
  PyErr_Clear();
  return found;
}

static bool fill_meta(ig_ctx *c, const wrapper *w, ig_meta *m) {
  py_room room = {.c = c, .name = "_make_wrapper_subclass"};
  ig_value size;
  ig_value strides;
  ig_device device = c->mode->device;
  ig_dtype dtype = ig_ctx_default_dtype(c);
  if (w->dtype != Py_None && !py_to_dtype(w->dtype, &dtype)) {
    PyErr_Format(PyExc_TypeError, "dtype must be a torch.dtype, not %s", py_type_name(w->dtype));
    return false;
  }
  if (w->device != Py_None && py_to_device(w->device, &device) != 1) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "device must be a torch.device");
    return false;
  }
  if (!sizes_of(&room, w->size, "size", &size)) return false;
  ig_meta_init(m, dtype, device);
  for (size_t d = 0; d < size.ints.n; d++) ig_meta_push_dim(c, m, size.ints.at[d]);
  if (w->strides != Py_None) {
    if (!sizes_of(&room, w->strides, "strides", &strides)) return false;
    if (strides.ints.n != size.ints.n) {
      PyErr_Format(PyExc_RuntimeError, "found %zu strides, expected %zu", strides.ints.n,
                   size.ints.n);
      return false;
    }
    for (size_t d = 0; d < size.ints.n; d++) m->stride[d] = strides.ints.at[d];
    m->strided = true;
  } else if (w->format != Py_None) {
    if (!Py_IS_TYPE(w->format, &py_memory_format_type)) {
      PyErr_SetString(PyExc_TypeError, "memory_format must be a torch.memory_format");
      return false;
    }
    ig_meta_format(c, m, (ig_memory_format)((py_enum *)w->format)->v);
    m->strided = true;
  } else {
    ig_meta_contiguous(c, m);
  }
  if (w->offset != Py_None && py_to_int(w->offset, &m->offset) != IG_MATCH_TAKEN) return false;
  return py_ok(c);
}

static PyObject *make_wrapper(PyObject *unused, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"cls",
                         "size",
                         "strides",
                         "storage_offset",
                         "memory_format",
                         "dtype",
                         "layout",
                         "device",
                         "pin_memory",
                         "requires_grad",
                         "dispatch_sizes_strides_policy",
                         "dispatch_device",
                         "dispatch_layout",
                         "_extra_dispatch_keys",
                         "storage_size",
                         NULL};
  (void)unused;
  wrapper w = {NULL, NULL, Py_None, Py_None, Py_None, Py_None, Py_None, 0};
  PyObject *layout = NULL;
  PyObject *other = NULL;  // policies: sizes and device are those that were given
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOOOOOpOOOOO:_make_wrapper_subclass", keys,
                                   &w.cls, &w.size, &w.strides, &w.offset, &w.format, &w.dtype,
                                   &layout, &w.device, &other, &w.grad, &other, &other, &other,
                                   &other, &other)) {
    return NULL;
  }
  if (!PyType_Check(w.cls) || !PyType_IsSubtype((PyTypeObject *)w.cls, py_tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "cls must be a type (got no subclass of Tensor)");
    return NULL;
  }
  if (!has_dispatch((PyTypeObject *)w.cls)) {
    PyErr_Format(PyExc_RuntimeError, "%s must define __torch_dispatch__",
                 ((PyTypeObject *)w.cls)->tp_name);
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_sym *sym = sym_of(w.size);
  ig_mode_scope mode = ig_mode_push_sym(c, sym ? sym : c->mode->sym);
  ig_meta m;
  ig_tensor *t = fill_meta(c, &w, &m) ? ig_tensor_make(c, &m, true) : NULL;
  if (t && w.grad) ig_tensor_set_requires_grad(c, t, true);
  PyObject *out = !PyErr_Occurred() && py_ok(c) && t ? py_wrap_as(t, (PyTypeObject *)w.cls) : NULL;
  ig_mode_pop(c, &mode);
  ig_scope_close(c, s);
  return out;
}

static PyMethodDef functions[] = {
    {"_push_on_torch_dispatch_stack", push, METH_O, NULL},
    {"_pop_torch_dispatch_stack", pop, METH_NOARGS, NULL},
    {"_torch_dispatch_stack", modes, METH_NOARGS, NULL},
    {"_len_torch_dispatch_stack", count, METH_NOARGS, NULL},
    {"_set_torch_dispatch_enabled", set_enabled, METH_O, NULL},
    {"dispatch_rule", dispatch_rule, METH_VARARGS, NULL},
    {"_disabled_torch_dispatch_impl", (PyCFunction)(void (*)(void))disabled_impl,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef construction = {"_make_wrapper_subclass",
                                   (PyCFunction)(void (*)(void))make_wrapper,
                                   METH_VARARGS | METH_KEYWORDS | METH_STATIC, NULL};

int py_add_dispatch(PyObject *m) {
  attribute = PyUnicode_InternFromString("__torch_dispatch__");
  rules = PyDict_New();
  if (!attribute || !rules || PyModule_AddFunctions(m, functions) != 0) return -1;
  disabled = PyObject_GetAttrString(m, "_disabled_torch_dispatch_impl");
  PyObject *make = PyCFunction_New(&construction, NULL);
  PyObject *method = make ? PyStaticMethod_New(make) : NULL;
  PyObject *dict = py_tensor_type->tp_dict;
  int bad = !disabled || !method || PyDict_SetItem(dict, attribute, disabled) != 0 ||
            PyDict_SetItemString(dict, "_make_wrapper_subclass", method) != 0;
  Py_XDECREF(make);
  Py_XDECREF(method);
  PyType_Modified(py_tensor_type);
  return bad ? -1 : 0;
}
