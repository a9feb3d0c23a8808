// SPDX-License-Identifier: Apache-2.0
// The type Tensor. An object owns one reference to its ig_tensor, which points back (host), so that
// one tensor has one object: a result that is an operand is the same object.
//
// Objects are tracked by the garbage collector only once they can be part of a cycle: when they
// have a dict or are of a subclass.
#include "py.h"

#include <string.h>

#include "tensor/intercept.h"
#include "trace_script.h"

PyTypeObject *py_tensor_type;

static PyObject *adopt(PyObject *o, ig_tensor *t) {
  if (!o || !t) return o;
  ((py_tensor *)o)->t = ig_tensor_retain(t);
  t->host = o;
  return o;
}

// Untracked; the fields are zero.
static PyObject *alloc_plain(void) {
  py_tensor *o = PyObject_GC_New(py_tensor, py_tensor_type);
  if (!o) return NULL;
  o->t = NULL;
  o->dict = NULL;
  o->weak = NULL;
  return (PyObject *)o;
}

// A finalizer runs once in the life of an object; this one may be needed again. The bit is part of
// the header in front of every object that the collector knows.
static void clear_finalized(PyObject *o) {
  uintptr_t *head = (uintptr_t *)(void *)o - 2;
  head[1] &= ~(uintptr_t)1;
}

// The tensor has kept its object alive, and gives it back.
static PyObject *reclaim(ig_tensor *t) {
  PyObject *o = t->host;
  t->owns_host = false;
  (void)ig_tensor_retain(t);
  clear_finalized(o);
  return o;
}

PyObject *py_from_tensor(ig_ctx *c, ig_tensor *t) {
  if (c->status != IG_OK) return py_raise(c);
  if (!t) Py_RETURN_NONE;
  if (t->owns_host) return reclaim(t);
  if (t->host) return Py_NewRef((PyObject *)t->host);
  return adopt(alloc_plain(), t);
}

PyObject *py_wrap_as(ig_tensor *t, PyTypeObject *type) {
  if (type == py_tensor_type) return adopt(alloc_plain(), t);
  PyObject *o = type->tp_alloc(type, 0);
  if (o && !py.overriding) py.overriding = py_has_override(o);
  if (o && t && t->owns_host) t->intercept->release(t);
  if (o && t) t->intercept = py_dispatch_of(type);
  return adopt(o, t);
}

// The last reference from Python goes. An object that answers calls holds what its tensor stands
// for: as long as the engine has the tensor, the tensor has the object.
static void tensor_finalize(PyObject *o) {
  ig_tensor *t = ((py_tensor *)o)->t;
  if (!t || !t->intercept || t->host != o || t->owns_host) return;
  if (atomic_load(&t->ref.count) == 1) return;
  t->owns_host = true;
  Py_INCREF(o);
  ig_tensor_release(t);
}

static int tensor_traverse(PyObject *o, visitproc visit, void *arg) {
  py_tensor *self = (py_tensor *)o;
  Py_VISIT(self->dict);
  if (Py_TYPE(o) == py_tensor_type) Py_VISIT(Py_TYPE(o));
  return 0;
}

static int tensor_clear(PyObject *o) {
  Py_CLEAR(((py_tensor *)o)->dict);
  return 0;
}

static void tensor_dealloc(PyObject *o) {
  py_tensor *self = (py_tensor *)o;
  PyTypeObject *type = Py_TYPE(o);
  if (PyObject_GC_IsTracked(o)) PyObject_GC_UnTrack(o);
  if (self->weak) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  if (self->t) {
    if (self->t->host == o) self->t->host = NULL;
    ig_tensor *t = self->t;
    self->t = NULL;
    ig_tensor_release(t);
  }
  type->tp_free(o);
  Py_DECREF(type);
}

static void track(PyObject *o) {
  if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

static int tensor_setattr(PyObject *o, PyObject *name, PyObject *value) {
  int bad = PyObject_GenericSetAttr(o, name, value);
  if (((py_tensor *)o)->dict) track(o);
  return bad;
}

static PyObject *get_dict(PyObject *o, void *unused) {
  PyObject *dict = PyObject_GenericGetDict(o, unused);
  if (dict) track(o);
  return dict;
}
static int set_dict(PyObject *o, PyObject *dict, void *unused) {
  int bad = PyObject_GenericSetDict(o, dict, unused);
  track(o);
  return bad;
}

// ---- construction ----

static bool is_subclass(PyObject *cls) {
  if (PyType_Check(cls) && PyType_IsSubtype((PyTypeObject *)cls, py_tensor_type)) return true;
  PyErr_SetString(PyExc_TypeError, "cls must be a type (got no subclass of Tensor)");
  return false;
}

// _make_subclass(cls, data, require_grad=False): shares the memory of data, without its history.
static PyObject *make_subclass(PyObject *unused, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"cls", "data", "require_grad", NULL};
  (void)unused;
  PyObject *cls = NULL;
  PyObject *data = NULL;
  int grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|p:_make_subclass", keys, &cls, py_tensor_type,
                                   &data, &grad) ||
      !is_subclass(cls) || !py_settled(data)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  ig_tensor *t = ig_tensor_alias(c, py_tensor_of(data));
  if (t && grad) ig_tensor_set_requires_grad(c, t, true);
  if (py_ok(c) && t) out = py_wrap_as(t, (PyTypeObject *)cls);
  ig_scope_close(c, s);
  return out;
}

// x.as_subclass(cls): an alias that keeps the history.
static PyObject *as_subclass(PyObject *self, PyObject *cls) {
  if (!is_subclass(cls) || !py_settled(self)) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_value v = ig_of_tensor(py_tensor_of(self));
  ig_tensor *t = py_call_tensor(c, PY_ALIAS, &v, 1);
  PyObject *out = t ? py_wrap_as(t, (PyTypeObject *)cls) : NULL;
  ig_scope_close(c, s);
  return out;
}

static ig_tensor *legacy_sized(ig_ctx *c, PyObject *args, PyObject *first) {
  py_room room = {.c = c, .name = "Tensor"};
  ig_value sizes;
  PyObject *list = Py_IS_TYPE(first, &py_size_type) ? first : args;
  ig_match taken = py_to_ints(&room, list, "new(): argument 'size'", &sizes);
  if (taken != IG_MATCH_TAKEN) {
    if (taken == IG_MATCH_OTHER) {
      PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)", py_type_name(first));
    }
    return NULL;
  }
  ig_value v[] = {sizes, ig_of_dtype(ig_ctx_default_dtype(c))};
  return py_call_tensor(c, PY_EMPTY, v, 2);
}

// Tensor(2, 3), Tensor([1, 2]), Tensor(tensor): the old constructor.
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  ig_ctx *c = py_ctx();
  ig_tensor *t = NULL;
  PyObject *first = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
  if (!first && kwargs) first = PyDict_GetItemString(kwargs, "data");
  ig_scope s = ig_scope_open(c);
  if (!first) {
    ig_value v[] = {ig_of_ints(&(ig_int){.value = 0}, 1), ig_of_dtype(ig_ctx_default_dtype(c))};
    t = py_call_tensor(c, PY_EMPTY, v, 2);
  } else if (py_is_tensor(first)) {
    ig_value v = ig_of_tensor(py_tensor_of(first));
    t = py_call_tensor(c, PY_ALIAS, &v, 1);
  } else if (Py_IS_TYPE(first, &py_size_type) ||
             (PyIndex_Check(first) && !PySequence_Check(first))) {
    t = legacy_sized(c, args, first);
  } else {
    int d = (int)ig_ctx_default_dtype(c);
    t = py_tensor_from_data(c, first, d, c->mode->device, true);
  }
  PyObject *out = t ? py_wrap_as(t, type) : NULL;
  ig_scope_close(c, s);
  return out;
}

static int tensor_init(PyObject *o, PyObject *args, PyObject *kwargs) {
  (void)o;
  (void)args;
  (void)kwargs;
  return 0;
}

// ---- protocol ----

static Py_ssize_t tensor_length(PyObject *o) {
  ig_tensor *t = py_tensor_of(o);
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  if (!py_trace_warn(py_ctx(),
                     "Using len to get tensor shape might cause the trace to be incorrect. "
                     "Recommended usage would be tensor.shape[0]. Passing a tensor of different "
                     "shape might lead to errors or silently give incorrect results.")) {
    return -1;
  }
  ig_int n = ig_sizes(t)[0];
  if (!n.expr) return (Py_ssize_t)n.value;
  PyObject *sym = py_int_of(t, n);
  Py_ssize_t out = sym ? PyNumber_AsSsize_t(sym, PyExc_OverflowError) : -1;
  Py_XDECREF(sym);
  return out;
}

// Rows by index, as a strict capture sees the loop.
static PyObject *rows(PyObject *o) {
  Py_ssize_t n = tensor_length(o);
  PyObject *out = n < 0 ? NULL : PyList_New(n);
  for (Py_ssize_t i = 0; out && i < n; i++) {
    PyObject *index = PyLong_FromSsize_t(i);
    PyObject *row = index ? py_tensor_getitem(o, index) : NULL;
    if (!row) Py_CLEAR(out);
    if (row) PyList_SET_ITEM(out, i, row);
    Py_XDECREF(index);
  }
  return out;
}

static PyObject *tensor_iter(PyObject *o) {
  if (py_tensor_of(o)->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    return NULL;
  }
  if (!py_trace_warn(py_ctx(),
                     "Iterating over a tensor might cause the trace to be incorrect. Passing a "
                     "tensor of different shape won't change the number of iterations executed "
                     "(and might lead to errors or silently give incorrect results).")) {
    return NULL;
  }
  bool strict = py_trace_is_strict(py_ctx());
  PyObject *args[] = {o, PyLong_FromLong(0)};
  PyObject *items = strict ? rows(o) : args[1] ? py_fn_call(PY_FN_unbind, args, 2) : NULL;
  PyObject *it = items ? PyObject_GetIter(items) : NULL;
  Py_XDECREF(args[1]);
  Py_XDECREF(items);
  return it;
}

static int tensor_contains(PyObject *o, PyObject *item) {
  ig_value v;
  ig_match taken = py_is_tensor(item) ? IG_MATCH_TAKEN : py_to_number(item, &v);
  if (taken == IG_MATCH_REFUSED) return -1;
  if (taken == IG_MATCH_OTHER) {
    PyErr_Format(PyExc_RuntimeError,
                 "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %R.",
                 Py_TYPE(item));
    return -1;
  }
  PyObject *args[] = {o, item};
  PyObject *equal = py_fn_call(PY_FN_eq, args, 2);
  PyObject *any = equal ? py_fn_call(PY_FN_any, &equal, 1) : NULL;
  int yes = any ? PyObject_IsTrue(any) : -1;
  Py_XDECREF(equal);
  Py_XDECREF(any);
  return yes;
}

static Py_hash_t tensor_hash(PyObject *o) {
  return _Py_HashPointer(o);
}

static PyObject *tensor_sq_item(PyObject *o, Py_ssize_t i) {
  PyObject *index = PyLong_FromSsize_t(i);
  PyObject *out = index ? py_tensor_getitem(o, index) : NULL;
  Py_XDECREF(index);
  return out;
}

// ---- the type ----

static PyMethodDef construction[] = {
    {"_make_subclass", (PyCFunction)(void (*)(void))make_subclass,
     METH_VARARGS | METH_KEYWORDS | METH_STATIC, NULL},
    {"as_subclass", as_subclass, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef dict_getset[] = {
    {"__dict__", get_dict, set_dict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(py_tensor, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_tensor, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define SLOT(id, fn) \
  { Py_##id, (void (*)(void))(fn) }
static const py_slot slots[] = {
    SLOT(tp_new, tensor_new),
    SLOT(tp_init, tensor_init),
    SLOT(tp_dealloc, tensor_dealloc),
    SLOT(tp_finalize, tensor_finalize),
    SLOT(tp_traverse, tensor_traverse),
    SLOT(tp_clear, tensor_clear),
    SLOT(tp_setattro, tensor_setattr),
    SLOT(tp_repr, py_tensor_repr),
    SLOT(tp_hash, tensor_hash),
    SLOT(tp_iter, tensor_iter),
    SLOT(tp_richcompare, py_tensor_compare),
    SLOT(mp_length, tensor_length),
    SLOT(mp_subscript, py_tensor_getitem),
    SLOT(mp_ass_subscript, py_tensor_setitem),
    SLOT(sq_length, tensor_length),
    SLOT(sq_item, tensor_sq_item),
    SLOT(sq_contains, tensor_contains),
};
#undef SLOT

// Python wants functions as void *, which C does not convert: the bytes are copied.
static PyType_Slot *add_slots(PyType_Slot *to, const py_slot *from, size_t n) {
  for (size_t i = 0; i < n; i++, to++) {
    to->slot = from[i].id;
    memcpy(&to->pfunc, &from[i].fn, sizeof to->pfunc);
  }
  return to;
}

int py_tensor_add(PyMethodDef *methods, PyGetSetDef *getset) {
  PyObject *dict = py_tensor_type->tp_dict;
  for (PyMethodDef *m = methods; m && m->ml_name; m++) {
    PyObject *o = PyDescr_NewMethod(py_tensor_type, m);
    int bad = !o || PyDict_SetItemString(dict, m->ml_name, o);
    Py_XDECREF(o);
    if (bad) return -1;
  }
  for (PyGetSetDef *g = getset; g && g->name; g++) {
    PyObject *o = PyDescr_NewGetSet(py_tensor_type, g);
    int bad = !o || PyDict_SetItemString(dict, g->name, o);
    Py_XDECREF(o);
    if (bad) return -1;
  }
  return 0;
}

int py_add_tensor(PyObject *m) {
  PyType_Slot all[PY_COUNT(slots) + PY_NUMBER_SLOTS + 4];
  PyType_Slot *end = add_slots(all, slots, PY_COUNT(slots));
  end = add_slots(end, py_number_slots, PY_NUMBER_SLOTS);
  end[0] = (PyType_Slot){Py_tp_methods, construction};
  end[1] = (PyType_Slot){Py_tp_getset, dict_getset};
  end[2] = (PyType_Slot){Py_tp_members, members};
  end[3] = (PyType_Slot){0, NULL};
  PyType_Spec spec = {.name = "ingot.Tensor",
                      .basicsize = sizeof(py_tensor),
                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                      .slots = all};
  py_tensor_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!py_tensor_type) return -1;
  py_tensor_type->tp_name = "Tensor";  // its name in Python's messages
  if (py_tensor_add(py_tensor_methods, py_tensor_getset) ||
      py_tensor_add(py_autograd_methods, py_autograd_getset)) {
    return -1;
  }
  PyType_Modified(py_tensor_type);
  return PyModule_AddObjectRef(m, "Tensor", (PyObject *)py_tensor_type) ||
         PyModule_AddObjectRef(m, "TensorBase", (PyObject *)py_tensor_type) ||
         PyModule_AddObjectRef(m, "_TensorBase", (PyObject *)py_tensor_type);
}
