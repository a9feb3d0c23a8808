// SPDX-License-Identifier: Apache-2.0
// Python objects to values, directed by the argument of a schema.
//
// A conversion that does not match returns IG_MATCH_OTHER without an exception, so that the next
// overload can be tried; IG_MATCH_REFUSED, with an exception, is for an object of the right type
// with a wrong content.
#include <string.h>

#include "ingot/aten.h"
#include "py.h"
#include "tensor/number.h"
#include "trace_script.h"

ig_int *py_room_ints(py_room *room, size_t n) {
  if (n <= PY_ROOM - room->used) {
    ig_int *at = room->ints + room->used;
    room->used += n;
    return at;
  }
  ig_int *at = ig_scope_array(room->c, n, sizeof *at);
  if (!at) (void)py_raise(room->c);
  return at;
}

ig_value *py_room_values(py_room *room, size_t n) {
  ig_value *at = ig_scope_array(room->c, n ? n : 1, sizeof *at);
  if (!at) (void)py_raise(room->c);
  return at;
}

const char *py_type_name(PyObject *o) {
  static const struct {
    PyTypeObject *type;
    const char *name;
  } names[] = {
      {&py_dtype_type, "torch.dtype"},         {&py_device_type, "torch.device"},
      {&py_size_type, "torch.Size"},           {&py_layout_type, "torch.layout"},
      {&py_generator_type, "torch.Generator"}, {&py_memory_format_type, "torch.memory_format"},
      {&py_symint_type, "torch.SymInt"},
  };
  if (Py_IS_TYPE(o, py_tensor_type)) return "Tensor";
  for (size_t i = 0; i < PY_COUNT(names); i++) {
    if (Py_IS_TYPE(o, names[i].type)) return names[i].name;
  }
  return Py_TYPE(o)->tp_name;
}

static bool is_numpy(PyObject *o) {
  return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0;
}
static bool is_numpy_bool(PyObject *o) {
  const char *name = Py_TYPE(o)->tp_name;
  return strcmp(name, "numpy.bool") == 0 || strcmp(name, "numpy.bool_") == 0;
}
static bool is_numpy_scalar(PyObject *o) {
  return is_numpy(o) && strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0 &&
         Py_TYPE(o)->tp_as_number && Py_TYPE(o)->tp_as_number->nb_float;
}

static ig_match from_long(PyObject *o, ig_int *out) {
  int overflow = 0;
  long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) {
    PyErr_SetString(PyExc_OverflowError, "int too big to convert");
    return IG_MATCH_REFUSED;
  }
  if (i == -1 && PyErr_Occurred()) return IG_MATCH_REFUSED;
  *out = PyLong_CheckExact(o) ? ig_const(i) : py_tracked_int(o, i);
  return IG_MATCH_TAKEN;
}

// The number in a 0-d tensor that has data and no history.
static bool tensor_number(PyObject *o, ig_value *v) {
  if (!py_is_tensor(o)) return false;
  ig_tensor *t = py_tensor_of(o);
  if (t->ndim != 0 || t->requires_grad || !py_settled(o) || ig_is_fake(t)) return false;
  *v = ig_element_load(ig_tensor_data(t), t->dtype);
  return true;
}

static bool is_integral(const ig_tensor *t) {
  return !ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype) && t->dtype != IG_BOOL;
}

static bool has_one_element(const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    if (ig_sizes(t)[d].expr || ig_sizes(t)[d].value != 1) return false;
  }
  return true;
}

// A tensor without data where a number is expected: its value is read later.
static bool defer(py_room *room, PyObject *o, ig_int *i, ig_value *v) {
  if (!room->reads || !py_is_tensor(o)) return false;
  ig_tensor *t = py_tensor_of(o);
  return ig_is_fake(t) && !t->requires_grad && ig_reads_defer(room->reads, t, i, v);
}

// An integer; among several also that of a tensor with one element.
static ig_match to_int(py_room *room, PyObject *o, bool listed, ig_int *out) {
  if (!py_is_tensor(o)) return py_to_int(o, out);
  const ig_tensor *t = py_tensor_of(o);
  bool one = listed ? has_one_element(t) : t->ndim == 0;
  if (!one || !is_integral(t) || t->requires_grad) return IG_MATCH_OTHER;
  if (!py_settled(o)) return IG_MATCH_REFUSED;
  if (ig_is_fake(t)) return defer(room, o, out, NULL) ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
  if (py_tracing(room->c)) {
    if (py_traced_int(room->c, py_tensor_of(o), false, out)) return IG_MATCH_TAKEN;
    (void)py_raise(room->c);
    return IG_MATCH_REFUSED;
  }
  *out = ig_element_load(ig_tensor_data(t), t->dtype).i;
  return IG_MATCH_TAKEN;
}

ig_match py_to_listed_int(py_room *room, PyObject *o, ig_int *out) {
  return to_int(room, o, true, out);
}

ig_match py_to_int(PyObject *o, ig_int *out) {
  if (PyLong_CheckExact(o)) return from_long(o, out);
  if (PyBool_Check(o)) return IG_MATCH_OTHER;
  if (PyLong_Check(o)) return from_long(o, out);
  if (Py_IS_TYPE(o, &py_symint_type)) {
    *out = ((py_sym *)o)->v.i;
    return IG_MATCH_TAKEN;
  }
  ig_value v;
  if (py_is_tensor(o)) {
    if (!tensor_number(o, &v) || v.kind != IG_KIND_INT) return IG_MATCH_OTHER;
    *out = v.i;
    return IG_MATCH_TAKEN;
  }
  if (!PyIndex_Check(o)) return IG_MATCH_OTHER;
  PyObject *index = PyNumber_Index(o);
  if (!index) {  // an array of several elements
    PyErr_Clear();
    return IG_MATCH_OTHER;
  }
  ig_match taken = from_long(index, out);
  Py_DECREF(index);
  return taken;
}

static ig_match from_numpy_scalar(PyObject *o, ig_value *v) {
  if (is_numpy_bool(o)) {
    int yes = PyObject_IsTrue(o);
    *v = ig_of_bool(yes == 1);
    return yes < 0 ? IG_MATCH_REFUSED : IG_MATCH_TAKEN;
  }
  if (PyIndex_Check(o)) {
    ig_match taken = py_to_int(o, &v->i);
    v->kind = IG_KIND_INT;
    return taken;
  }
  if (strstr(Py_TYPE(o)->tp_name, "complex")) {
    Py_complex z = PyComplex_AsCComplex(o);
    *v = ig_of_complex(z.real, z.imag);
  } else {
    *v = ig_of_f64(PyFloat_AsDouble(o));
  }
  return PyErr_Occurred() ? IG_MATCH_REFUSED : IG_MATCH_TAKEN;
}

ig_match py_to_number(PyObject *o, ig_value *v) {
  if (PyBool_Check(o)) {
    *v = ig_of_bool(o == Py_True);
  } else if (PyLong_Check(o)) {
    v->kind = IG_KIND_INT;
    return from_long(o, &v->i);
  } else if (PyFloat_Check(o)) {
    *v = ig_of_f64(PyFloat_AS_DOUBLE(o));
  } else if (Py_IS_TYPE(o, &py_symint_type) || Py_IS_TYPE(o, &py_symfloat_type) ||
             Py_IS_TYPE(o, &py_symbool_type)) {
    *v = ((py_sym *)o)->v;
  } else if (PyComplex_Check(o)) {
    Py_complex z = PyComplex_AsCComplex(o);
    *v = ig_of_complex(z.real, z.imag);
  } else {
    return is_numpy_scalar(o) ? from_numpy_scalar(o, v) : IG_MATCH_OTHER;
  }
  return IG_MATCH_TAKEN;
}

static ig_match to_scalar(py_room *room, PyObject *o, ig_value *v) {
  bool bare = py_is_tensor(o) && py_tensor_of(o)->ndim == 0;
  if (bare && defer(room, o, NULL, v)) {
    *v = ig_none();
    return IG_MATCH_TAKEN;
  }
  if (!tensor_number(o, v)) return py_to_number(o, v);
  if (v->kind == IG_KIND_INT && py_tracing(room->c) &&
      !py_traced_int(room->c, py_tensor_of(o), true, &v->i)) {
    (void)py_raise(room->c);
    return IG_MATCH_REFUSED;
  }
  return IG_MATCH_TAKEN;
}

static ig_match to_float(py_room *room, PyObject *o, ig_value *v) {
  if (py_is_tensor(o) && ig_dtype_is_complex(py_tensor_of(o)->dtype)) return IG_MATCH_OTHER;
  ig_match taken = to_scalar(room, o, v);
  if (taken != IG_MATCH_TAKEN) return taken;
  if (v->kind == IG_KIND_INT && !v->i.expr) *v = ig_of_f64((double)v->i.value);
  if (v->kind == IG_KIND_BOOL && !v->b_expr) *v = ig_of_f64(v->b);
  return v->kind == IG_KIND_COMPLEX ? IG_MATCH_OTHER : IG_MATCH_TAKEN;
}

static ig_match to_bool(PyObject *o, ig_value *v) {
  if (PyBool_Check(o)) {
    *v = ig_of_bool(o == Py_True);
    return IG_MATCH_TAKEN;
  }
  if (Py_IS_TYPE(o, &py_symbool_type)) {
    *v = ((py_sym *)o)->v;
    return IG_MATCH_TAKEN;
  }
  if (is_numpy_bool(o)) return from_numpy_scalar(o, v);
  if (!tensor_number(o, v) || (v->kind != IG_KIND_BOOL && v->kind != IG_KIND_INT))
    return IG_MATCH_OTHER;
  if (v->kind == IG_KIND_INT) *v = ig_of_bool(v->i.value != 0);
  return IG_MATCH_TAKEN;
}

// The items of a list or tuple, which stay as they are until the innermost scope closes: converting
// one of them, or a later argument, may run code of the user that changes the list. NULL: exception
// set.
typedef struct kept_object {
  ig_ref ref;
  ig_alloc alloc;
  PyObject *o;
} kept_object;

static void drop_object(ig_ref *ref) {
  kept_object *k = (kept_object *)ref;
  Py_DECREF(k->o);
  ig_mem_free(k->alloc, k, sizeof *k);
}

PyObject *py_items(PyObject *o, const char *message) {
  PyObject *fast = PySequence_Fast(o, message);
  PyObject *items = fast ? PySequence_Tuple(fast) : NULL;
  Py_XDECREF(fast);
  return items;
}

static PyObject *keep_items(py_room *room, PyObject *o) {
  if (PyTuple_Check(o)) return o;
  ig_ctx *c = room->c;
  PyObject *items = PyList_AsTuple(o);
  kept_object *k = items ? ig_mem_new(c->alloc, sizeof *k) : NULL;
  if (!k) {
    if (items) PyErr_NoMemory();
    Py_XDECREF(items);
    return NULL;
  }
  *k = (kept_object){{1, drop_object}, c->alloc, items};
  if (ig_pool_add(c, &k->ref)) return items;
  (void)py_raise(c);
  return NULL;
}

// Plain integers run no code.
static bool all_plain(PyObject *list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    if (!PyLong_CheckExact(PyList_GET_ITEM(list, i))) return false;
  }
  return true;
}

// First item decides whether it is a list of integers; later ones fail with PyTorch's text.
ig_match py_to_ints(py_room *room, PyObject *o, const char *what, ig_value *v) {
  bool tuple = PyTuple_Check(o);
  if (!tuple && !PyList_Check(o)) return IG_MATCH_OTHER;
  if (!tuple && !all_plain(o)) {
    o = keep_items(room, o);
    if (!o) return IG_MATCH_REFUSED;
    tuple = true;
  }
  size_t n = (size_t)(tuple ? PyTuple_GET_SIZE(o) : PyList_GET_SIZE(o));
  ig_int *at = py_room_ints(room, n);
  if (!at) return IG_MATCH_REFUSED;
  for (size_t i = 0; i < n; i++) {
    Py_ssize_t k = (Py_ssize_t)i;
    PyObject *item = tuple ? PyTuple_GET_ITEM(o, k) : PyList_GET_ITEM(o, k);
    ig_match taken = py_to_listed_int(room, item, &at[i]);
    if (taken == IG_MATCH_TAKEN) continue;
    if (taken == IG_MATCH_OTHER && i == 0) return IG_MATCH_OTHER;
    const char *text = "Overflow when unpacking long long";
    char other[160];
    if (taken == IG_MATCH_OTHER) {
      (void)snprintf(other, sizeof other, "type must be tuple of ints,but got %.80s",
                     py_type_name(item));
      text = other;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s failed to unpack the object at pos %zu with error \"%s\"",
                 what, i + 1, text);
    return IG_MATCH_REFUSED;
  }
  *v = ig_of_ints(at, n);
  return IG_MATCH_TAKEN;
}

static ig_match one(py_room *room, const ig_arg *a, PyObject *o, ig_value *v);

static ig_match to_int_list(py_room *room, const ig_arg *a, PyObject *o, ig_value *v) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    char what[160];
    (void)snprintf(what, sizeof what, "%.60s%sargument '%.60s'", room->name ? room->name : "",
                   room->name ? "(): " : "", a->name);
    return py_to_ints(room, o, what, v);
  }
  if (a->fixed == 0) return IG_MATCH_OTHER;
  ig_int *at = py_room_ints(room, (size_t)a->fixed);
  if (!at) return IG_MATCH_REFUSED;
  for (int k = 0; k < a->fixed; k++) {
    ig_match taken = to_int(room, o, false, &at[k]);
    if (taken != IG_MATCH_TAKEN) return taken;
  }
  *v = ig_of_ints(at, (size_t)a->fixed);
  return IG_MATCH_TAKEN;
}

static ig_match to_list(py_room *room, const ig_arg *a, PyObject *o, ig_value *v) {
  bool tuple = PyTuple_Check(o);
  if (!tuple && !PyList_Check(o)) {
    if (a->fixed == 0 || a->type == IG_TYPE_TENSOR) return IG_MATCH_OTHER;
    ig_value *at = py_room_values(room, 1);
    if (!at) return IG_MATCH_REFUSED;
    *v = ig_of_list(at, 1);
    return one(room, a, o, at);
  }
  PyObject *items = keep_items(room, o);
  if (!items) return IG_MATCH_REFUSED;
  size_t n = (size_t)PyTuple_GET_SIZE(items);
  ig_value *at = py_room_values(room, n);
  if (!at) return IG_MATCH_REFUSED;
  for (size_t i = 0; i < n; i++) {
    PyObject *item = PyTuple_GET_ITEM(items, (Py_ssize_t)i);
    if (item == Py_None && a->item_optional) {
      at[i] = ig_none();
      continue;
    }
    ig_match taken = one(room, a, item, &at[i]);
    if (taken != IG_MATCH_TAKEN) return taken;
  }
  *v = ig_of_list(at, n);
  return IG_MATCH_TAKEN;
}

static ig_match to_device(PyObject *o, ig_value *v) {
  int taken = py_to_device(o, &v->device);
  v->kind = IG_KIND_DEVICE;
  return taken == 1 ? IG_MATCH_TAKEN : taken == 0 ? IG_MATCH_OTHER : IG_MATCH_REFUSED;
}

static ig_match to_str(PyObject *o, ig_value *v) {
  if (!PyUnicode_Check(o)) return IG_MATCH_OTHER;
  const char *text = PyUnicode_AsUTF8(o);
  if (!text) return IG_MATCH_REFUSED;
  *v = ig_of_str(text);
  return IG_MATCH_TAKEN;
}

static ig_match to_enum(const ig_arg *a, PyObject *o, ig_value *v) {
  if (a->type == IG_TYPE_DTYPE) {
    v->kind = IG_KIND_DTYPE;
    return py_to_dtype(o, &v->dtype) ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
  }
  if (a->type == IG_TYPE_LAYOUT) {
    if (!Py_IS_TYPE(o, &py_layout_type)) return IG_MATCH_OTHER;
    *v = (ig_value){.kind = IG_KIND_LAYOUT, .layout = (ig_layout)((py_enum *)o)->v};
    return IG_MATCH_TAKEN;
  }
  if (!Py_IS_TYPE(o, &py_memory_format_type)) return IG_MATCH_OTHER;
  *v = ig_of_memory_format((ig_memory_format)((py_enum *)o)->v);
  return IG_MATCH_TAKEN;
}

// One element, not a list.
static ig_match one(py_room *room, const ig_arg *a, PyObject *o, ig_value *v) {
  switch (a->type) {
    case IG_TYPE_TENSOR:
      if (!py_is_tensor(o)) return IG_MATCH_OTHER;
      *v = ig_of_tensor(py_tensor_of(o));
      return IG_MATCH_TAKEN;
    case IG_TYPE_SCALAR:
      return to_scalar(room, o, v);
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      v->kind = IG_KIND_INT;
      return to_int(room, o, false, &v->i);
    case IG_TYPE_FLOAT:
      return to_float(room, o, v);
    case IG_TYPE_BOOL:
      return to_bool(o, v);
    case IG_TYPE_COMPLEX:
      return to_scalar(room, o, v);
    case IG_TYPE_STR:
      return to_str(o, v);
    case IG_TYPE_DEVICE:
      return to_device(o, v);
    case IG_TYPE_DTYPE:
    case IG_TYPE_LAYOUT:
    case IG_TYPE_MEMORY_FORMAT:
      return to_enum(a, o, v);
    case IG_TYPE_GENERATOR:
      if (!PyObject_TypeCheck(o, &py_generator_type)) return IG_MATCH_OTHER;
      *v = (ig_value){.kind = IG_KIND_GENERATOR, .generator = ((py_generator *)o)->g};
      return IG_MATCH_TAKEN;
    case IG_TYPE_OTHER:  // an object of a class that only its operators know
      if (a->cls) {
        *v = ig_of_native(py_native_of(o));
        return v->kind == IG_KIND_NATIVE ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
      }
      if (py_is_tensor(o) || PyLong_Check(o) || PyFloat_Check(o) || PyUnicode_Check(o)) {
        return IG_MATCH_OTHER;
      }
      *v = (ig_value){.kind = IG_KIND_OBJECT, .object = o};
      return IG_MATCH_TAKEN;
    default:
      return IG_MATCH_OTHER;
  }
}

ig_match py_convert(py_room *room, const ig_arg *a, PyObject *o, bool numbers, ig_value *v) {
  if (o == Py_None) {
    *v = ig_none();
    return a->optional ? IG_MATCH_TAKEN : IG_MATCH_OTHER;
  }
  if (a->list) {
    bool ints = a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT;
    return ints ? to_int_list(room, a, o, v) : to_list(room, a, o, v);
  }
  ig_match taken = one(room, a, o, v);
  if (taken == IG_MATCH_OTHER && numbers && a->type == IG_TYPE_TENSOR) return py_to_number(o, v);
  return taken;
}
