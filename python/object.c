// SPDX-License-Identifier: Apache-2.0
// Trees of plain values (ingot/object.h) to Python objects and back, and the functions behind
// ingot.save and ingot.load. Shared objects stay shared.
#include <string.h>

#include "arrays/torch_file.h"
#include "ir/table.h"
#include "object.h"

// ---- from a tree

typedef struct reader {
  ig_ctx *c;
  ig_table made;        // ig_object -> PyObject, one reference each
  PyObject *ordered;    // collections.OrderedDict
  PyObject *counter;    // collections.Counter
  PyTypeObject *param;  // Parameter
  PyObject *classes;    // "module.name" -> class or function; NULL: none
} reader;

static PyObject *from(reader *r, const ig_object *o);

static PyObject *class_of(const char *module, const char *name) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *found = m ? PyObject_GetAttrString(m, name) : NULL;
  Py_XDECREF(m);
  return found;
}

static PyObject *from_items(reader *r, const ig_object *o) {
  Py_ssize_t n = (Py_ssize_t)ig_object_count(o);
  bool list = ig_object_kind_of(o) == IG_OBJECT_LIST;
  PyObject *out = list ? PyList_New(n) : PyTuple_New(n);
  for (Py_ssize_t i = 0; out && i < n; i++) {
    PyObject *item = from(r, ig_object_at(o, (size_t)i));
    if (!item) {
      Py_CLEAR(out);
    } else if (list) {
      PyList_SET_ITEM(out, i, item);
    } else {
      PyTuple_SET_ITEM(out, i, item);
    }
  }
  return out;
}

static PyObject *from_set(reader *r, const ig_object *o) {
  PyObject *out = PySet_New(NULL);
  for (size_t i = 0; out && i < ig_object_count(o); i++) {
    PyObject *item = from(r, ig_object_at(o, i));
    if (!item || PySet_Add(out, item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

static bool set_attributes(reader *r, PyObject *out, const ig_object *state) {
  for (size_t i = 0; i < ig_object_count(state); i++) {
    PyObject *key = from(r, ig_object_key(state, i));
    PyObject *value = key ? from(r, ig_object_at(state, i)) : NULL;
    bool ok = value && PyObject_SetAttr(out, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    if (!ok) return false;
  }
  return true;
}

static PyObject *from_dict(reader *r, const ig_object *o) {
  ig_object_kind kind = ig_object_kind_of(o);
  PyObject *out = kind == IG_OBJECT_DICT
                      ? PyDict_New()
                      : PyObject_CallNoArgs(kind == IG_OBJECT_ORDERED ? r->ordered : r->counter);
  for (size_t i = 0; out && i < ig_object_count(o); i++) {
    PyObject *key = from(r, ig_object_key(o, i));
    PyObject *value = key ? from(r, ig_object_at(o, i)) : NULL;
    if (!value || PyObject_SetItem(out, key, value) != 0) Py_CLEAR(out);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  if (out && ig_object_state(o) && !set_attributes(r, out, ig_object_state(o))) Py_CLEAR(out);
  return out;
}

static PyObject *from_tensor(reader *r, const ig_object *o) {
  ig_tensor *t = ig_object_tensor(o);
  PyObject *out = ig_object_is_parameter(o) ? py_wrap_as(t, r->param) : py_from_tensor(r->c, t);
  if (out && ig_object_state(o) && !set_attributes(r, out, ig_object_state(o))) Py_CLEAR(out);
  return out;
}

static PyObject *from_size(const ig_object *o) {
  ig_int ints[IG_MAX_DIM];
  size_t n = ig_object_count(o);
  if (n > IG_MAX_DIM) {
    PyErr_Format(PyExc_ValueError, "a torch.Size of %zu integers, at most %d are supported", n,
                 IG_MAX_DIM);
    return NULL;
  }
  for (size_t i = 0; i < n; i++) ints[i] = ig_const(ig_object_int(ig_object_at(o, i)));
  return py_size_make(ints, (int)n);
}

// What BUILD does: __setstate__, or attributes from a dictionary or a pair of them.
static bool give_state(PyObject *out, PyObject *state) {
  PyObject *set = PyObject_GetAttrString(out, "__setstate__");
  if (set) {
    PyObject *done = PyObject_CallOneArg(set, state);
    Py_DECREF(set);
    Py_XDECREF(done);
    return done != NULL;
  }
  PyErr_Clear();
  PyObject *const *parts = &state;
  Py_ssize_t n = 1;
  if (PyTuple_Check(state)) {
    parts = ((PyTupleObject *)state)->ob_item;
    n = PyTuple_GET_SIZE(state);
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *key = NULL;
    PyObject *value = NULL;
    Py_ssize_t at = 0;
    if (parts[i] == Py_None) continue;
    if (!PyDict_Check(parts[i])) {
      PyErr_SetString(PyExc_ValueError, "a state that is not a dictionary");
      return false;
    }
    while (PyDict_Next(parts[i], &at, &key, &value)) {
      if (PyObject_SetAttr(out, key, value) != 0) return false;
    }
  }
  return true;
}

static PyObject *from_instance(reader *r, const ig_object *o) {
  const char *name = ig_object_text(o, NULL);
  PyObject *what = r->classes ? PyDict_GetItemString(r->classes, name) : NULL;
  if (!what) {
    PyErr_Format(PyExc_NotImplementedError, "an instance of '%s' has no class here", name);
    return NULL;
  }
  if (!ig_object_args(o)) return Py_NewRef(what);
  PyObject *args = from(r, ig_object_args(o));
  PyObject *out = NULL;
  if (args && ig_object_is_call(o)) {
    out = PyObject_CallObject(what, args);
  } else if (args && PyType_Check(what)) {
    out = ((PyTypeObject *)what)->tp_new((PyTypeObject *)what, args, NULL);
  } else if (args) {
    PyErr_Format(PyExc_TypeError, "'%s' is no class", name);
  }
  Py_XDECREF(args);
  if (!out || !ig_object_state(o)) return out;
  PyObject *state = from(r, ig_object_state(o));
  if (!state || !give_state(out, state)) Py_CLEAR(out);
  Py_XDECREF(state);
  return out;
}

static PyObject *make(reader *r, const ig_object *o) {
  size_t n = 0;
  const char *text = ig_object_text(o, &n);
  switch (ig_object_kind_of(o)) {
    case IG_OBJECT_NONE:
      Py_RETURN_NONE;
    case IG_OBJECT_BOOL:
      return PyBool_FromLong(ig_object_bool(o));
    case IG_OBJECT_INT:
      return PyLong_FromLongLong(ig_object_int(o));
    case IG_OBJECT_BIG:
      return _PyLong_FromByteArray((const unsigned char *)text, n, 1, 1);
    case IG_OBJECT_FLOAT:
      return PyFloat_FromDouble(ig_object_float(o));
    case IG_OBJECT_COMPLEX:
      return PyComplex_FromDoubles(ig_object_complex(o).re, ig_object_complex(o).im);
    case IG_OBJECT_STR:
      return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, NULL);
    case IG_OBJECT_BYTES:
      return PyBytes_FromStringAndSize(text, (Py_ssize_t)n);
    case IG_OBJECT_BYTEARRAY:
      return PyByteArray_FromStringAndSize(text, (Py_ssize_t)n);
    case IG_OBJECT_LIST:
    case IG_OBJECT_TUPLE:
      return from_items(r, o);
    case IG_OBJECT_SIZE:
      return from_size(o);
    case IG_OBJECT_SET:
      return from_set(r, o);
    case IG_OBJECT_DICT:
    case IG_OBJECT_ORDERED:
    case IG_OBJECT_COUNTER:
      return from_dict(r, o);
    case IG_OBJECT_TENSOR:
      return from_tensor(r, o);
    case IG_OBJECT_DTYPE:
      return py_from_dtype(ig_object_dtype(o));
    case IG_OBJECT_DEVICE:
      return py_from_device(ig_object_device(o));
    case IG_OBJECT_LAYOUT:
      return py_from_layout(ig_object_layout(o));
    case IG_OBJECT_INSTANCE:
      return from_instance(r, o);
    case IG_OBJECT_KIND_COUNT:
      break;
  }
  PyErr_SetString(PyExc_SystemError, "a value of no kind");
  return NULL;
}

static PyObject *from(reader *r, const ig_object *o) {
  const ig_table_slot *known = ig_table_find(&r->made, o);
  if (known) return Py_NewRef((PyObject *)known->value);
  PyObject *out = make(r, o);
  ig_table_slot *slot = out ? ig_table_put(&r->made, o) : NULL;
  if (slot) slot->value = Py_NewRef(out);
  if (out && !slot) {
    Py_DECREF(out);
    return PyErr_NoMemory();
  }
  return out;
}

PyObject *py_from_object(ig_ctx *c, const ig_object *o, PyObject *classes) {
  reader r = {.c = c, .made = ig_table_make(c->alloc), .classes = classes};
  r.ordered = class_of("collections", "OrderedDict");
  r.counter = r.ordered ? class_of("collections", "Counter") : NULL;
  r.param = r.counter ? (PyTypeObject *)class_of("ingot.nn.parameter", "Parameter") : NULL;
  PyObject *out = r.param ? from(&r, o) : NULL;
  for (size_t i = 0; i < r.made.cap; i++) {
    if (r.made.slots[i].key) Py_XDECREF((PyObject *)r.made.slots[i].value);
  }
  ig_table_free(&r.made);
  Py_XDECREF(r.ordered);
  Py_XDECREF(r.counter);
  Py_XDECREF((PyObject *)r.param);
  return out;
}

// ---- to a tree

typedef struct writer {
  ig_ctx *c;
  ig_table made;   // PyObject -> ig_object, one reference each; its value NULL: being made
  PyObject *keep;  // objects that live only because of us
  PyObject *ordered;
  PyObject *counter;
  PyTypeObject *param;
  int depth;
} writer;

enum { DEPTH_MAX = 1000 };

static ig_object *to(writer *w, PyObject *o);

static ig_object *failed(writer *w, ig_object *out) {
  ig_object_free(out);
  if (!PyErr_Occurred()) (void)py_raise(w->c);
  return NULL;
}

static ig_object *to_items(writer *w, PyObject *o, ig_object_kind kind) {
  PyObject *items = py_items(o, "not a sequence");
  if (!items) return NULL;
  ig_object *out = ig_object_new(w->c, kind);
  bool ok = out != NULL;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(items); i++) {
    ig_object *item = to(w, PyTuple_GET_ITEM(items, i));
    ok = item && ig_object_push(w->c, out, item) == IG_OK;
  }
  Py_DECREF(items);
  return ok ? out : failed(w, out);
}

// list.sort(key=repr)
static bool sort_by_text(PyObject *list) {
  PyObject *sort = PyObject_GetAttrString(list, "sort");
  PyObject *repr = PyDict_GetItemString(PyEval_GetBuiltins(), "repr");  // borrowed
  PyObject *by = sort && repr ? Py_BuildValue("{sO}", "key", repr) : NULL;
  PyObject *none = by ? PyTuple_New(0) : NULL;
  PyObject *done = none ? PyObject_Call(sort, none, by) : NULL;
  Py_XDECREF(sort);
  Py_XDECREF(by);
  Py_XDECREF(none);
  Py_XDECREF(done);
  return done != NULL;
}

// Sets have no order of their own; sorted ones give the same file every time.
static ig_object *to_set(writer *w, PyObject *o) {
  PyObject *list = PySequence_List(o);
  bool ok = list != NULL;
  if (ok && PyList_Sort(list) != 0) {
    PyErr_Clear();  // values without an order: that of their texts
    ok = sort_by_text(list);
  }
  ok = ok && PyList_Append(w->keep, list) == 0;
  ig_object *out = ok ? to_items(w, list, IG_OBJECT_SET) : NULL;
  Py_XDECREF(list);
  return out;
}

static ig_object *to_dict(writer *w, PyObject *o, ig_object_kind kind) {
  ig_object *out = ig_object_new(w->c, kind);
  PyObject *pairs = kind == IG_OBJECT_DICT ? PyDict_Items(o) : PyMapping_Items(o);
  bool ok = out && pairs && PyList_Append(w->keep, pairs) == 0;
  for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(pairs); i++) {
    PyObject *pair = PyList_GET_ITEM(pairs, i);
    ig_object *key = to(w, PyTuple_GET_ITEM(pair, 0));
    ig_object *value = key ? to(w, PyTuple_GET_ITEM(pair, 1)) : NULL;
    if (!value) {
      ig_object_free(key);
      ok = false;
    } else {
      ok = ig_object_put(w->c, out, key, value) == IG_OK;
    }
  }
  Py_XDECREF(pairs);
  return ok ? out : failed(w, out);
}

// Attributes of o, where it has any.
static ig_object *with_state(writer *w, PyObject *o, ig_object *out) {
  if (!out) return NULL;  // with its error
  PyObject *dict = PyObject_GetAttrString(o, "__dict__");
  if (!dict) PyErr_Clear();
  if (!dict || !PyDict_Check(dict) || PyDict_GET_SIZE(dict) == 0) {
    Py_XDECREF(dict);
    return out;
  }
  bool ok = PyList_Append(w->keep, dict) == 0;
  ig_object *state = ok ? to(w, dict) : NULL;
  ok = state && ig_object_set_state(w->c, out, state) == IG_OK;
  Py_DECREF(dict);
  return ok ? out : failed(w, out);
}

static ig_object *to_int(writer *w, PyObject *o) {
  int overflow = 0;
  long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (i == -1 && PyErr_Occurred()) return NULL;
  if (!overflow) return ig_object_of_int(w->c, i);
  PyObject *bits = PyObject_CallMethod(o, "bit_length", NULL);
  long n = bits ? PyLong_AsLong(bits) / 8 + 1 : -1;
  Py_XDECREF(bits);
  if (n < 0) return NULL;
  uint8_t *bytes = PyMem_Malloc((size_t)n);
  if (!bytes) return (ig_object *)(void *)PyErr_NoMemory();
  ig_object *out = NULL;
  if (PY_LONG_TO_BYTES(o, bytes, (size_t)n) == 0) {
    out = ig_object_of_text(w->c, IG_OBJECT_BIG, bytes, (size_t)n);
  }
  PyMem_Free(bytes);
  return out;
}

static ig_object *to_text(writer *w, PyObject *o) {
  Py_ssize_t n = 0;
  const char *text = PyUnicode_AsUTF8AndSize(o, &n);
  return text ? ig_object_of_text(w->c, IG_OBJECT_STR, text, (size_t)n) : NULL;
}

static ig_object *refuse(PyObject *o) {
  PyErr_Format(PyExc_TypeError,
               "cannot save an object of type %s: files hold tensors, numbers, strings, bytes, "
               "None, dtypes, devices, sizes, and lists, tuples, sets and dictionaries of them",
               Py_TYPE(o)->tp_name);
  return NULL;
}

static ig_object *to_tensor(writer *w, PyObject *o) {
  bool param = Py_IS_TYPE(o, w->param);
  if (!param && !Py_IS_TYPE(o, py_tensor_type)) return refuse(o);
  if (!py_settled(o)) return NULL;
  return with_state(w, o, ig_object_of_tensor(w->c, py_tensor_of(o), param));
}

static ig_object *convert(writer *w, PyObject *o) {
  ig_ctx *c = w->c;
  if (o == Py_None) return ig_object_none(c);
  if (PyBool_Check(o)) return ig_object_of_bool(c, o == Py_True);
  if (PyLong_CheckExact(o)) return to_int(w, o);
  if (PyFloat_CheckExact(o)) return ig_object_of_float(c, PyFloat_AS_DOUBLE(o));
  if (PyUnicode_CheckExact(o)) return to_text(w, o);
  if (py_is_tensor(o)) return to_tensor(w, o);
  if (PyDict_CheckExact(o)) return to_dict(w, o, IG_OBJECT_DICT);
  if ((PyObject *)Py_TYPE(o) == w->ordered) {
    return with_state(w, o, to_dict(w, o, IG_OBJECT_ORDERED));
  }
  if ((PyObject *)Py_TYPE(o) == w->counter) return to_dict(w, o, IG_OBJECT_COUNTER);
  if (PyList_CheckExact(o)) return to_items(w, o, IG_OBJECT_LIST);
  if (Py_IS_TYPE(o, &py_size_type)) return to_items(w, o, IG_OBJECT_SIZE);
  if (PyTuple_CheckExact(o)) return to_items(w, o, IG_OBJECT_TUPLE);
  if (PySet_CheckExact(o)) return to_set(w, o);
  if (PyComplex_CheckExact(o)) {
    Py_complex z = PyComplex_AsCComplex(o);
    return ig_object_of_complex(c, (ig_c128){z.real, z.imag});
  }
  if (PyBytes_CheckExact(o)) {
    return ig_object_of_text(c, IG_OBJECT_BYTES, PyBytes_AS_STRING(o), (size_t)PyBytes_GET_SIZE(o));
  }
  if (PyByteArray_CheckExact(o)) {
    return ig_object_of_text(c, IG_OBJECT_BYTEARRAY, PyByteArray_AS_STRING(o),
                             (size_t)PyByteArray_GET_SIZE(o));
  }
  if (Py_IS_TYPE(o, &py_dtype_type)) return ig_object_of_dtype(c, ((py_dtype *)o)->d);
  if (Py_IS_TYPE(o, &py_device_type)) return ig_object_of_device(c, ((py_device *)o)->d);
  if (Py_IS_TYPE(o, &py_layout_type)) {
    return ig_object_of_layout(c, (ig_layout)((py_enum *)o)->v);
  }
  return refuse(o);
}

static ig_object *to(writer *w, PyObject *o) {
  const ig_table_slot *known = ig_table_find(&w->made, o);
  if (known && known->value) return ig_object_retain(known->value);
  if (known) {
    PyErr_Format(PyExc_ValueError, "cannot save a %s that contains itself", Py_TYPE(o)->tp_name);
    return NULL;
  }
  if (w->depth >= DEPTH_MAX) {
    PyErr_Format(PyExc_ValueError, "cannot save values that are nested deeper than %d", DEPTH_MAX);
    return NULL;
  }
  if (!ig_table_put(&w->made, o)) return (ig_object *)(void *)PyErr_NoMemory();
  w->depth++;
  ig_object *out = convert(w, o);
  w->depth--;
  if (!out) return failed(w, NULL);
  ig_table_find(&w->made, o)->value = ig_object_retain(out);
  return out;
}

ig_object *py_to_object(ig_ctx *c, PyObject *o) {
  writer w = {.c = c, .made = ig_table_make(c->alloc), .keep = PyList_New(0)};
  w.ordered = w.keep ? class_of("collections", "OrderedDict") : NULL;
  w.counter = w.ordered ? class_of("collections", "Counter") : NULL;
  w.param = w.counter ? (PyTypeObject *)class_of("ingot.nn.parameter", "Parameter") : NULL;
  ig_object *out = w.param ? to(&w, o) : NULL;
  for (size_t i = 0; i < w.made.cap; i++) {
    if (w.made.slots[i].key) ig_object_free(w.made.slots[i].value);
  }
  ig_table_free(&w.made);
  Py_XDECREF(w.keep);
  Py_XDECREF(w.ordered);
  Py_XDECREF(w.counter);
  Py_XDECREF((PyObject *)w.param);
  return out;
}

// ---- functions

typedef struct permission {
  PyObject *classes;  // dict of those allowed
  PyObject *unknown;  // set of names: all are allowed and recorded; NULL: none
  PyObject *place;    // called with every storage; NULL: none
} permission;

static bool allow(const char *global, void *user) {
  const permission *p = user;
  if (p->classes && PyDict_GetItemString(p->classes, global)) return true;
  PyErr_Clear();
  if (!p->unknown) return false;
  PyObject *name = PyUnicode_FromString(global);
  bool ok = name && PySet_Add(p->unknown, name) == 0;
  Py_XDECREF(name);
  if (!ok) PyErr_Clear();
  return ok;
}

// map_location(storage, location) -> None (as it is) or a storage
static ig_tensor *place(ig_ctx *c, ig_tensor *bytes, const char *location, void *user) {
  const permission *p = user;
  PyObject *tensor = py_from_tensor(c, bytes);
  PyObject *storage = tensor ? py_tensor_storage(tensor, NULL) : NULL;
  PyObject *there = storage ? PyObject_CallFunction(p->place, "Os", storage, location) : NULL;
  ig_tensor *out = there == Py_None || there == storage ? bytes : NULL;
  if (there && !out) out = py_storage_bytes(c, there);
  if (!out) py_host_failed(c);
  Py_XDECREF(there);
  Py_XDECREF(storage);
  Py_XDECREF(tensor);
  return out;
}

// A path is mapped; bytes are copied from.
static ig_status parse(ig_ctx *c, PyObject *source, const char *name, const ig_torch_options *o,
                       ig_object **out) {
  if (PyUnicode_Check(source)) return ig_torch_load(c, PyUnicode_AsUTF8(source), o, out);
  Py_buffer b;
  if (PyObject_GetBuffer(source, &b, PyBUF_SIMPLE) != 0) return IG_HOST;
  ig_status st = ig_torch_parse_with(c, name, (ig_bytes){b.buf, (size_t)b.len}, NULL, o, out);
  PyBuffer_Release(&b);
  return st;
}

// torch_load(path or bytes, name, classes: dict, meta: bool, place: callable or None)
static PyObject *torch_load(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *source = NULL;
  permission p = {0};
  const char *name = NULL;
  int meta = 0;
  if (!PyArg_ParseTuple(args, "OsO!pO:torch_load", &source, &name, &PyDict_Type, &p.classes, &meta,
                        &p.place)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_torch_options o = {.size = sizeof o,
                        .allow = allow,
                        .user = &p,
                        .meta = meta,
                        .place = p.place == Py_None ? NULL : place};
  ig_object *tree = NULL;
  ig_status st = parse(c, source, name, &o, &tree);
  if (st != IG_OK && PyErr_Occurred()) {
    ig_ctx_clear(c);
    return NULL;
  }
  if (st != IG_OK) return py_raise(c);
  PyObject *out = py_from_object(c, tree, p.classes);
  ig_object_free(tree);
  return out;
}

// torch_globals(path or bytes, name) -> set of names outside the closed set
static PyObject *torch_globals(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *source = NULL;
  const char *name = NULL;
  if (!PyArg_ParseTuple(args, "Os:torch_globals", &source, &name)) return NULL;
  permission p = {.unknown = PySet_New(NULL)};
  if (!p.unknown) return NULL;
  ig_ctx *c = py_ctx();
  ig_torch_options o = {.size = sizeof o, .allow = allow, .user = &p, .meta = true};
  ig_object *tree = NULL;
  ig_status st = parse(c, source, name, &o, &tree);
  ig_object_free(tree);
  if (st == IG_OK) return p.unknown;
  Py_DECREF(p.unknown);
  return PyErr_Occurred() ? NULL : py_raise(c);
}

// torch_save(object, path)
static PyObject *torch_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *o = NULL;
  const char *path = NULL;
  if (!PyArg_ParseTuple(args, "Os:torch_save", &o, &path)) return NULL;
  ig_ctx *c = py_ctx();
  ig_object *tree = py_to_object(c, o);
  if (!tree) return NULL;
  ig_status st = ig_torch_save(c, tree, path);
  ig_object_free(tree);
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

// torch_print(object) -> bytes
static PyObject *torch_print(PyObject *module, PyObject *o) {
  (void)module;
  ig_ctx *c = py_ctx();
  ig_object *tree = py_to_object(c, o);
  if (!tree) return NULL;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_torch_print(c, tree, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_object_free(tree);
  PyObject *out = st == IG_OK ? PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n)
                              : py_raise(c);
  ig_sink_drop(&sink);
  return out;
}

PyMethodDef py_object_functions[] = {
    {"torch_load", torch_load, METH_VARARGS, NULL},
    {"torch_globals", torch_globals, METH_VARARGS, NULL},
    {"torch_save", torch_save, METH_VARARGS, NULL},
    {"torch_print", torch_print, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
