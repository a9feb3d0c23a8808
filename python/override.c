// SPDX-License-Identifier: Apache-2.0
// __torch_function__: arguments whose class has one, and modes, override calls.
//
// Exact tensors cost nothing: the check is made only after the first object of an overriding class
// exists. A class switches it off by assigning _disabled_torch_function_impl, as Parameter does.
#include <string.h>

#include "py.h"

static PyObject *attribute;  // "__torch_function__"

// An override may call the function again with the same object and terminate by itself; more nested
// calls than this count as infinite recursion.
enum { MOST_ASKED = 8 };

bool py_has_override(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  if (type == py_tensor_type || PyType_Check(o)) return false;
  PyObject *found = _PyType_Lookup(type, attribute);
  return found && found != py.disabled;
}

// Subclasses come before the classes they derive from.
static int collect(PyObject *list, PyObject *o) {
  Py_ssize_t n = PyList_GET_SIZE(list);
  Py_ssize_t at = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *seen = PyList_GET_ITEM(list, i);
    if (Py_TYPE(seen) == Py_TYPE(o)) return 0;
    if (at == n && PyType_IsSubtype(Py_TYPE(o), Py_TYPE(seen))) at = i;
  }
  return PyList_Insert(list, at, o);
}

// deep: also objects that are not tensors.
static int scan(PyObject *list, PyObject *o, bool deep) {
  if (Py_IS_TYPE(o, py_tensor_type) || PyLong_Check(o) || PyFloat_Check(o) || o == Py_None)
    return 0;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
      PyObject *item = PySequence_Fast_GET_ITEM(o, i);
      if (!PyList_Check(item) && !PyTuple_Check(item) && scan(list, item, deep) != 0) return -1;
    }
    return 0;
  }
  if (!deep && !PyObject_TypeCheck(o, py_tensor_type)) return 0;
  return py_has_override(o) ? collect(list, o) : 0;
}

static PyObject *types_of(PyObject *list) {
  PyObject *types = PyTuple_New(PyList_GET_SIZE(list));
  for (Py_ssize_t i = 0; types && i < PyList_GET_SIZE(list); i++) {
    PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(PyList_GET_ITEM(list, i))));
  }
  return types;
}

static PyObject *keywords(PyObject *const *args, PyObject *kwnames) {
  PyObject *kwargs = PyDict_New();
  for (Py_ssize_t k = 0; kwargs && kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
    if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, k), args[k]) != 0) Py_CLEAR(kwargs);
  }
  return kwargs;
}

// The innermost mode handles the call, with itself popped off the stack.
static PyObject *ask_mode(py_thread *t, PyObject *func, PyObject *types, PyObject *args,
                          PyObject *kwargs) {
  Py_ssize_t n = PyList_GET_SIZE(t->modes);
  PyObject *mode = Py_NewRef(PyList_GET_ITEM(t->modes, n - 1));
  PyObject *all = t->modes;
  PyObject *rest = PyList_GetSlice(all, 0, n - 1);
  PyObject *out = NULL;
  if (rest) {
    t->modes = n > 1 ? rest : NULL;
    out = PyObject_CallMethodObjArgs(mode, attribute, func, types, args, kwargs, NULL);
    t->modes = all;
  }
  Py_XDECREF(rest);
  Py_DECREF(mode);
  return out;
}

// How often the call is already active.
static int times_asked(const py_thread *t, PyObject *func, PyObject *object) {
  int n = 0;
  for (const py_asked *a = t->asked; a; a = a->up) n += a->func == func && a->object == object;
  return n;
}

// A tensor of another library: its __torch_function__ calls back with what it was given.
static void refuse_foreign(PyObject *func, PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
  PyObject *name = PyObject_GetAttrString(func, "__name__");
  PyErr_Clear();
  bool known = module && PyUnicode_Check(module);
  // The names of PyTorch's classes are those of ours: the message says which of the two it is.
  const char *text = known ? PyUnicode_AsUTF8(module) : NULL;
  bool real = text && (strcmp(text, "torch") == 0 || strncmp(text, "torch.", 6) == 0);
  PyErr_Clear();
  const char *whose = real ? "the real torch" : "another library";
  const char *how = real ? "ingot.from_torch(x)" : "from_dlpack(x) or from_numpy(x.numpy())";
  PyErr_Format(
      PyExc_TypeError,
      "%S(): found an argument of class %S%s%s, which belongs to %s and does not implement "
      "the call, expected a tensor of Ingot: convert it first, by %s",
      name ? name : func, known ? module : Py_None, known ? "." : "", type->tp_name, whose, how);
  Py_XDECREF(module);
  Py_XDECREF(name);
}

static PyObject *ask(py_thread *t, PyObject *list, PyObject *func, PyObject *types, PyObject *args,
                     PyObject *kwargs) {
  if (t->modes) {
    PyObject *out = ask_mode(t, func, types, args, kwargs);
    if (out != Py_NotImplemented) return out;
    Py_DECREF(out);
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject *o = PyList_GET_ITEM(list, i);
    if (times_asked(t, func, o) == MOST_ASKED) {
      refuse_foreign(func, o);
      return NULL;
    }
    py_asked frame = {func, o, t->asked};
    t->asked = &frame;
    PyObject *type = (PyObject *)Py_TYPE(o);
    PyObject *out = PyObject_CallMethodObjArgs(type, attribute, func, types, args, kwargs, NULL);
    t->asked = frame.up;
    if (out != Py_NotImplemented) return out;
    Py_DECREF(out);
  }
  PyErr_Format(PyExc_TypeError,
               "no implementation found for '%R' on types that implement __torch_function__: %R",
               func, types);
  return NULL;
}

int py_overridden(PyObject *func, PyObject *const *args, size_t n, PyObject *kwnames, bool deep,
                  PyObject **out) {
  *out = NULL;
  py_thread *t = py_thread_of(py_ctx());
  if (t->function_off) return 0;
  size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
  PyObject *list = PyList_New(0);
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < n + nkw; i++) ok = scan(list, args[i], deep) == 0;
  if (ok && PyList_GET_SIZE(list) == 0 && !(t->modes && !deep)) {
    Py_DECREF(list);
    return 0;
  }
  PyObject *types = ok ? types_of(list) : NULL;
  PyObject *tuple = types ? PyTuple_New((Py_ssize_t)n) : NULL;
  for (size_t i = 0; tuple && i < n; i++) {
    PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, Py_NewRef(args[i]));
  }
  PyObject *kwargs = tuple ? keywords(args + n, kwnames) : NULL;
  if (kwargs) *out = ask(t, list, func, types, tuple, kwargs);
  Py_XDECREF(list);
  Py_XDECREF(types);
  Py_XDECREF(tuple);
  Py_XDECREF(kwargs);
  return 1;
}

// ---- Tensor.__torch_function__ ----

static PyObject *as_class(PyObject *o, PyTypeObject *cls) {
  if (cls == py_tensor_type) return Py_NewRef(o);
  if (py_is_tensor(o)) {
    if (PyObject_TypeCheck(o, cls)) return Py_NewRef(o);
    return PyObject_CallMethod(o, "as_subclass", "O", cls);
  }
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return Py_NewRef(o);
  PyObject *items = PySequence_Tuple(o);  // as_subclass may change the list
  Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;
  PyObject *list = items ? PyList_New(n) : NULL;
  for (Py_ssize_t i = 0; list && i < n; i++) {
    PyObject *item = as_class(PyTuple_GET_ITEM(items, i), cls);
    if (!item) Py_CLEAR(list);
    if (item) PyList_SET_ITEM(list, i, item);
  }
  Py_XDECREF(items);
  if (!list || PyList_CheckExact(o)) return list;
  PyObject *tuple = PyList_AsTuple(list);
  Py_DECREF(list);
  return tuple;
}

// The default for subclasses that define none: the plain call, with results of the subclass.
static PyObject *default_impl(PyObject *cls, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"func", "types", "args", "kwargs", NULL};
  PyObject *func = NULL;
  PyObject *types = NULL;
  PyObject *fargs = NULL;
  PyObject *fkwargs = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO", keys, &func, &types, &fargs, &fkwargs)) {
    return NULL;
  }
  PyObject *it = PyObject_GetIter(types);
  PyObject *type = NULL;
  while (it && (type = PyIter_Next(it))) {
    int sub = PyObject_IsSubclass(cls, type);
    Py_DECREF(type);
    if (sub != 1) {
      Py_DECREF(it);
      if (sub == 0) Py_RETURN_NOTIMPLEMENTED;
      return NULL;
    }
  }
  Py_XDECREF(it);
  if (PyErr_Occurred()) return NULL;
  py_thread *t = py_thread_of(py_ctx());
  if (t->function_off && times_asked(t, func, NULL) > 0) {
    // The caller does not know that our __torch_function__ is disabled.
    PyObject *name = PyObject_GetAttrString(func, "__name__");
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "%S(): a function of another library got a tensor of Ingot (%S), which it cannot "
                 "compute with: convert the tensor first, by from_dlpack(x) of that library or by "
                 "x.numpy()",
                 name ? name : func, cls);
    Py_XDECREF(name);
    return NULL;
  }
  PyObject *none = fargs && fargs != Py_None ? NULL : PyTuple_New(0);
  bool before = t->function_off;
  py_asked frame = {func, NULL, t->asked};
  t->asked = &frame;
  t->function_off = true;
  PyObject *result = PyObject_Call(func, none ? none : fargs, fkwargs == Py_None ? NULL : fkwargs);
  PyObject *out = result ? as_class(result, (PyTypeObject *)cls) : NULL;
  t->function_off = before;
  t->asked = frame.up;
  Py_XDECREF(result);
  Py_XDECREF(none);
  return out;
}

static PyObject *disabled_impl(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *keys[] = {"func", "types", "args", "kwargs", NULL};
  PyObject *func = NULL;
  PyObject *types = NULL;
  PyObject *fargs = NULL;
  PyObject *fkwargs = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO", keys, &func, &types, &fargs, &fkwargs)) {
    return NULL;
  }
  py_thread *t = py_thread_of(py_ctx());
  bool before = t->function_off;
  t->function_off = true;
  PyObject *out = PyObject_Call(func, fargs, fkwargs == Py_None ? NULL : fkwargs);
  t->function_off = before;
  return out;
}

// _set_torch_function_enabled(bool) -> what it was
static PyObject *set_enabled(PyObject *module, PyObject *on) {
  (void)module;
  py_thread *t = py_thread_of(py_ctx());
  bool before = !t->function_off;
  int yes = PyObject_IsTrue(on);
  if (yes < 0) return NULL;
  t->function_off = yes == 0;
  return PyBool_FromLong(before);
}
static PyObject *is_enabled(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(!py_thread_of(py_ctx())->function_off);
}
static PyObject *push_mode(PyObject *module, PyObject *mode) {
  (void)module;
  py_thread *t = py_thread_of(py_ctx());
  if (!t->modes && !(t->modes = PyList_New(0))) return NULL;
  if (PyList_Append(t->modes, mode) != 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *pop_mode(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  py_thread *t = py_thread_of(py_ctx());
  Py_ssize_t n = t->modes ? PyList_GET_SIZE(t->modes) : 0;
  if (n == 0) {
    PyErr_SetString(PyExc_RuntimeError, "the stack of modes is empty");
    return NULL;
  }
  PyObject *mode = Py_NewRef(PyList_GET_ITEM(t->modes, n - 1));
  if (PyList_SetSlice(t->modes, n - 1, n, NULL) != 0) Py_CLEAR(mode);
  if (n == 1) Py_CLEAR(t->modes);
  return mode;
}
static PyObject *mode_count(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  const py_thread *t = py_thread_of(py_ctx());
  return PyLong_FromSsize_t(t->modes ? PyList_GET_SIZE(t->modes) : 0);
}
static PyObject *has_function(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *list = PyList_New(0);
  if (!list || scan(list, args, true) != 0) {
    Py_XDECREF(list);
    return NULL;
  }
  const py_thread *t = py_thread_of(py_ctx());
  bool any = PyList_GET_SIZE(list) > 0 && !t->function_off;
  Py_DECREF(list);
  return PyBool_FromLong(any || (t->modes && !t->function_off));
}

// ---- observers of modules ----

// _set_module_observers((call, assign, load) or None) -> those before; of this thread. A capture
// uses them to observe module calls and reads and writes of module attributes.
static PyObject *set_observers(PyObject *module, PyObject *o) {
  (void)module;
  if (o != Py_None && !(PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == 3)) {
    PyErr_SetString(PyExc_TypeError, "expected (call, assign, load) or None");
    return NULL;
  }
  py_thread *t = py_thread_of(py_ctx());
  PyObject *before = t->observers ? t->observers : Py_NewRef(Py_None);
  t->observers = o == Py_None ? NULL : Py_NewRef(o);
  return before;
}
static PyObject *observer_at(Py_ssize_t i) {
  const py_thread *t = py_thread_of(py_ctx());
  return Py_NewRef(t->observers ? PyTuple_GET_ITEM(t->observers, i) : Py_None);
}
static PyObject *call_observer(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return observer_at(0);
}
static PyObject *assign_observer(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return observer_at(1);
}
static PyObject *load_observer(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return observer_at(2);
}

static PyMethodDef functions[] = {
    {"_set_module_observers", set_observers, METH_O, NULL},
    {"_call_observer", call_observer, METH_NOARGS, NULL},
    {"_assign_observer", assign_observer, METH_NOARGS, NULL},
    {"_load_observer", load_observer, METH_NOARGS, NULL},
    {"_disabled_torch_function_impl", (PyCFunction)(void (*)(void))disabled_impl,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"_set_torch_function_enabled", set_enabled, METH_O, NULL},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, NULL},
    {"_push_on_torch_function_stack", push_mode, METH_O, NULL},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, NULL},
    {"_len_torch_function_stack", mode_count, METH_NOARGS, NULL},
    {"_has_torch_function", has_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef default_def = {"__torch_function__", (PyCFunction)(void (*)(void))default_impl,
                                  METH_VARARGS | METH_KEYWORDS | METH_CLASS, NULL};

int py_add_overrides(PyObject *m) {
  attribute = PyUnicode_InternFromString("__torch_function__");
  if (!attribute || PyModule_AddFunctions(m, functions) != 0) return -1;
  py.disabled = PyObject_GetAttrString(m, "_disabled_torch_function_impl");
  PyObject *method = PyDescr_NewClassMethod(py_tensor_type, &default_def);
  int bad = !method || PyDict_SetItem(py_tensor_type->tp_dict, attribute, method);
  Py_XDECREF(method);
  PyType_Modified(py_tensor_type);
  return bad || !py.disabled ? -1 : 0;
}
