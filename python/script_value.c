// SPDX-License-Identifier: Apache-2.0
// Python objects as values of scripts and back. Containers are copied; tensors are shared.
#include "script_value.h"

#include <string.h>

#include "op/native.h"
#include "script.h"
#include "script/numbers.h"
#include "tensor/number.h"

// ---- objects that do not fit

static bool not_cast(PyObject *o, ig_str *why) {
  PyObject *type = PyObject_Repr((PyObject *)Py_TYPE(o));
  const char *text = type ? PyUnicode_AsUTF8(type) : NULL;
  ig_str_add(why,
             "Unable to cast Python instance of type %s to C++ type '?' (#define "
             "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)",
             text ? text : "?");
  Py_XDECREF(type);
  return false;
}

static void add_repr(ig_str *why, PyObject *o, bool str) {
  PyObject *shown = str ? PyObject_Str(o) : PyObject_Repr(o);
  const char *text = shown ? PyUnicode_AsUTF8(shown) : NULL;
  ig_str_add(why, "%s", text ? text : "?");
  Py_XDECREF(shown);
  if (PyErr_Occurred()) PyErr_Clear();
}

// ---- numbers

// The element of a tensor that has one; false without exception: it is none.
static bool element_of(PyObject *o, ig_value *out) {
  const ig_tensor *t = py_is_tensor(o) ? py_tensor_of(o) : NULL;
  if (!t || !py_settled(o) || ig_is_fake(t) || ig_tensor_numel(t) != 1) return false;
  *out = ig_element_load(ig_tensor_data(t), t->dtype);
  return true;
}

static bool number_of(PyObject *o, ig_value *out) {
  return element_of(o, out) || py_to_number(o, out) == IG_MATCH_TAKEN;
}

static bool to_int(PyObject *o, ig_value *out) {
  ig_value v;
  if (PyFloat_Check(o) || PyComplex_Check(o) || !number_of(o, &v)) return false;
  if (v.kind == IG_KIND_BOOL) v = ig_of_i64(v.b);
  if (v.kind == IG_KIND_FLOAT && !(v.f > -0x1p63 && v.f < 0x1p63)) return false;
  if (v.kind == IG_KIND_FLOAT) v = ig_of_i64((int64_t)v.f);
  *out = v;
  return v.kind == IG_KIND_INT;
}

static bool to_float(PyObject *o, ig_value *out) {
  ig_value v;
  if (PyComplex_Check(o) || !number_of(o, &v)) return false;
  if (v.kind == IG_KIND_BOOL) v = ig_of_f64(v.b);
  if (v.kind == IG_KIND_INT && !v.i.expr) v = ig_of_f64((double)v.i.value);
  *out = v;
  return v.kind == IG_KIND_FLOAT;
}

static bool to_complex(PyObject *o, ig_value *out) {
  ig_value v;
  if (!number_of(o, &v)) return false;
  if (v.kind == IG_KIND_BOOL) v = ig_of_complex(v.b, 0);
  if (v.kind == IG_KIND_INT && !v.i.expr) v = ig_of_complex((double)v.i.value, 0);
  if (v.kind == IG_KIND_FLOAT && !v.f_expr) v = ig_of_complex(v.f, 0);
  *out = v;
  return v.kind == IG_KIND_COMPLEX;
}

static bool to_bool(PyObject *o, ig_value *out) {
  ig_value v;
  if (PyBool_Check(o)) {
    *out = ig_of_bool(o == Py_True);
    return true;
  }
  if (PyLong_Check(o) || PyFloat_Check(o) || !number_of(o, &v) || v.kind != IG_KIND_BOOL) {
    return false;
  }
  *out = v;
  return true;
}

// dtype, layout and memory format are numbers in scripts.
static bool to_named_number(PyObject *o, ig_value *out) {
  if (Py_IS_TYPE(o, &py_dtype_type)) {
    *out = ig_of_i64(ig_script_of_dtype(((py_dtype *)o)->d));
  } else if (Py_IS_TYPE(o, &py_layout_type)) {
    *out = ig_of_i64(ig_script_of_layout((ig_layout)((py_enum *)o)->v));
  } else if (Py_IS_TYPE(o, &py_memory_format_type)) {
    *out = ig_of_i64(ig_script_of_memory_format((ig_memory_format)((py_enum *)o)->v));
  } else {
    return false;
  }
  return true;
}

// ---- containers

static bool to_seq(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                   ig_str *why) {
  if (PyUnicode_Check(o) || PyDict_Check(o)) return not_cast(o, why);
  PyObject *items = PySequence_Tuple(o);  // a copy: methods of the elements may change the list
  if (!items) {
    PyErr_Clear();
    return not_cast(o, why);
  }
  size_t n = (size_t)PyTuple_GET_SIZE(items);
  ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_LIST, t, NULL, n);
  bool ok = s != NULL;
  bool plain = t->at[0]->kind == IG_STYPE_INT || t->at[0]->kind == IG_STYPE_FLOAT ||
               t->at[0]->kind == IG_STYPE_BOOL || t->at[0]->kind == IG_STYPE_TENSOR;
  ig_str inner = ig_str_make(c->alloc);
  for (size_t i = 0; ok && i < n; i++) {
    ok = py_to_script(c, u, PyTuple_GET_ITEM(items, (Py_ssize_t)i), t->at[0], &s->at[i], &inner);
  }
  // A vector of numbers is converted as a whole, and named as a whole.
  if (!ok && plain)
    (void)not_cast(o, why);
  else if (!ok && inner.at)
    ig_str_add(why, "%s", inner.at);
  ig_str_free(&inner);
  Py_DECREF(items);
  if (ok)
    *out = ig_of_sobj(s);
  else if (s)
    ig_svalue_release(ig_of_sobj(s));
  return ok;
}

static bool to_tuple(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                     ig_str *why) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return not_cast(o, why);
  PyObject *items = PySequence_Tuple(o);  // methods of its elements may change a list
  if (!items) return false;
  size_t n = (size_t)PyTuple_GET_SIZE(items);
  if (n != t->n) {
    ig_str_add(why, "Object ");
    add_repr(why, items, true);
    ig_str_add(why, " had a different number of elements than type ");
    ig_stype_print_annotation(why, t);
    Py_DECREF(items);
    return false;
  }
  ig_sobj_seq *s = ig_sobj_seq_make(c, IG_SOBJ_TUPLE, t, NULL, n);
  bool ok = s != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    ok = py_to_script(c, u, PyTuple_GET_ITEM(items, (Py_ssize_t)i), t->at[i], &s->at[i], why);
  }
  Py_DECREF(items);
  if (ok)
    *out = ig_of_sobj(s);
  else if (s)
    ig_svalue_release(ig_of_sobj(s));
  return ok;
}

static bool to_dict(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                    ig_str *why) {
  if (!PyDict_Check(o)) return not_cast(o, why);
  PyObject *items = PyDict_Copy(o);  // methods of its values may change it
  ig_sobj_dict *d = items ? ig_sobj_dict_make(c, t) : NULL;
  bool ok = d != NULL;
  PyObject *key = NULL;
  PyObject *value = NULL;
  for (Py_ssize_t i = 0; ok && PyDict_Next(items, &i, &key, &value);) {
    ig_value k = ig_none();
    ig_value v = ig_none();
    ok = py_to_script(c, u, key, t->at[0], &k, why) &&
         py_to_script(c, u, value, t->at[1], &v, why) && ig_sobj_dict_put(c, d, k, v);
    ig_svalue_release(k);
    ig_svalue_release(v);
  }
  Py_XDECREF(items);
  if (ok)
    *out = ig_of_sobj(d);
  else if (d)
    ig_svalue_release(ig_of_sobj(d));
  return ok;
}

static bool to_str(ig_ctx *c, PyObject *o, ig_value *out) {
  Py_ssize_t n = 0;
  const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &n) : NULL;
  ig_sobj_str *s = text ? ig_sobj_str_make(c, text, (size_t)n) : NULL;
  if (s) *out = ig_of_sobj(s);
  return s != NULL;
}

static bool to_enum(ig_ctx *c, PyObject *o, const ig_stype *t, ig_value *out) {
  ig_senum *e = ig_senum_of(t);
  PyObject *name = e ? PyObject_GetAttrString(o, "name") : NULL;
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  ig_sobj_enum *made = NULL;
  for (size_t i = 0; text && !made && i < e->members.n; i++) {
    if (strcmp(e->members.at[i].name, text) == 0) made = ig_sobj_enum_make(c, e, i);
  }
  Py_XDECREF(name);
  if (PyErr_Occurred()) PyErr_Clear();
  if (made) *out = ig_of_sobj(made);
  return made != NULL;
}

// Any and unions: the type of the object itself.
static bool to_inferred(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                        ig_str *why) {
  const ig_stype *own = py_script_type_of(c, u, o, why);
  if (!own) return false;
  if (t->kind == IG_STYPE_UNION && !ig_stype_is_subtype(own, t)) {
    ig_str_add(why, "Expected a member of ");
    ig_stype_print_annotation(why, t);
    ig_str_add(why, " but instead found type ");
    ig_stype_print_annotation(why, own);
    return false;
  }
  return own->kind != IG_STYPE_UNION && own->kind != IG_STYPE_ANY &&
         py_to_script(c, u, o, own, out, why);
}

static bool to_tensor(PyObject *o, ig_value *out, ig_str *why) {
  if (py_is_tensor(o)) {
    *out = ig_of_tensor(ig_tensor_retain(py_tensor_of(o)));
    return py_settled(o);
  }
  if (o == Py_None) return true;
  ig_str_add(why, "Unable to cast ");
  add_repr(why, o, true);
  ig_str_add(why, " to Tensor");
  return false;
}

static bool convert(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                    ig_str *why) {
  bool ok = false;
  switch (t->kind) {
    case IG_STYPE_TENSOR:
      return to_tensor(o, out, why);
    case IG_STYPE_INT:
      ok = to_int(o, out) || to_named_number(o, out);
      break;
    case IG_STYPE_FLOAT:
      ok = to_float(o, out);
      break;
    case IG_STYPE_COMPLEX:
      ok = to_complex(o, out);
      break;
    case IG_STYPE_NUMBER:
      ok = number_of(o, out);
      break;
    case IG_STYPE_BOOL:
      ok = to_bool(o, out);
      break;
    case IG_STYPE_STR:
      ok = to_str(c, o, out);
      break;
    case IG_STYPE_NONE:
      ok = o == Py_None;
      break;
    case IG_STYPE_DEVICE:
      out->kind = IG_KIND_DEVICE;
      ok = py_to_device(o, &out->device) == 1;
      break;
    case IG_STYPE_LIST:
      return to_seq(c, u, o, t, out, why);
    case IG_STYPE_TUPLE:
      return to_tuple(c, u, o, t, out, why);
    case IG_STYPE_DICT:
      return to_dict(c, u, o, t, out, why);
    case IG_STYPE_ENUM:
      ok = to_enum(c, o, t, out);
      break;
    case IG_STYPE_OPTIONAL:
      return o == Py_None || py_to_script(c, u, o, t->at[0], out, why);
    case IG_STYPE_ANY:
    case IG_STYPE_UNION:
      return to_inferred(c, u, o, t, out, why);
    case IG_STYPE_CLASS:
    case IG_STYPE_INTERFACE:
      if (py_native_of(o)) {
        const char *name = ig_class_text(py_native_of(o)->cls);
        ok = t->name && strcmp(t->name, name) == 0;
        if (ok) {
          *out = ig_of_native(py_native_of(o));
          ig_svalue_retain(*out);
        }
        break;
      }
      return py_to_sinstance(c, u, o, t, out, why);
    case IG_STYPE_GENERATOR:
      ok = o == Py_None || Py_IS_TYPE(o, &py_generator_type);
      if (ok && o != Py_None) {
        *out = (ig_value){.kind = IG_KIND_GENERATOR, .generator = ((py_generator *)o)->g};
      }
      break;
    default:
      ig_str_add(why, "toIValue() cannot handle converting to type: ");
      ig_stype_print_annotation(why, t);
      return false;
  }
  if (ok) return true;
  *out = ig_none();
  return PyErr_Occurred() ? false : not_cast(o, why);
}

bool py_to_script(ig_ctx *c, ig_sunit *u, PyObject *o, const ig_stype *t, ig_value *out,
                  ig_str *why) {
  *out = ig_none();
  if (Py_EnterRecursiveCall(" in an argument of a script")) return false;
  bool ok = convert(c, u, o, t, out, why);
  Py_LeaveRecursiveCall();
  return ok;
}

// ---- types of objects

static const ig_stype *plain(ig_sunit *u, ig_stype_kind kind) {
  return ig_stype_plain(&u->types, kind);
}

// One type for all elements of an iterable; NULL: there is none.
static const ig_stype *common(ig_ctx *c, ig_sunit *u, PyObject *list, const char *what,
                              ig_str *why) {
  const ig_stype *t = NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject *item = Py_NewRef(PyList_GET_ITEM(list, i));  // looking at it may change the list
    const ig_stype *own = py_script_type_of(c, u, item, why);
    Py_DECREF(item);
    if (!own) return NULL;
    const ig_stype *both = t ? ig_stype_unify(&u->types, t, own, false) : own;
    if (!both) {
      ig_str_add(why, "%s. Found ", what);
      ig_stype_print_annotation(why, t);
      ig_str_add(why, " and ");
      ig_stype_print_annotation(why, own);
      return NULL;
    }
    t = both;
  }
  return t;
}

static const ig_stype *type_of_list(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why) {
  if (PyList_GET_SIZE(o) == 0) {
    ig_str_add(why, "List trace inputs must have elements");
    return NULL;
  }
  const ig_stype *item =
      common(c, u, o, "List inputs to traced functions must have consistent element type", why);
  return item ? ig_stype_list(&u->types, item) : NULL;
}

static const ig_stype *type_of_dict(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why) {
  if (PyDict_GET_SIZE(o) == 0) {
    ig_str_add(why, "Dictionary inputs must have entries");
    return NULL;
  }
  PyObject *keys = PyDict_Keys(o);
  PyObject *values = PyDict_Values(o);
  static const char what[] = "Dictionary inputs to traced functions must have consistent type";
  const ig_stype *key = keys && values ? common(c, u, keys, what, why) : NULL;
  const ig_stype *value = key ? common(c, u, values, what, why) : NULL;
  Py_XDECREF(keys);
  Py_XDECREF(values);
  return value ? ig_stype_dict(&u->types, key, value) : NULL;
}

static const ig_stype *type_of_tuple(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why) {
  size_t n = (size_t)PyTuple_GET_SIZE(o);
  ig_scope s = ig_scope_open(c);
  const ig_stype **at = ig_scope_array(c, n, sizeof *at);
  for (size_t i = 0; at && i < n; i++) {
    at[i] = py_script_type_of(c, u, PyTuple_GET_ITEM(o, (Py_ssize_t)i), why);
    if (!at[i]) at = NULL;
  }
  const ig_stype *t = at ? ig_stype_tuple(&u->types, at, n) : NULL;
  ig_scope_close(c, s);
  return t;
}

static const ig_stype *type_of(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why) {
  ig_value number;
  if (o == Py_None) return plain(u, IG_STYPE_NONE);
  if (py_is_tensor(o)) return plain(u, IG_STYPE_TENSOR);
  if (py_native_of(o)) {
    const char *name = ig_class_text(py_native_of(o)->cls);
    return ig_stype_named(&u->types, IG_STYPE_CLASS, name, NULL);
  }
  if (PyBool_Check(o)) return plain(u, IG_STYPE_BOOL);
  if (PyFloat_Check(o)) return plain(u, IG_STYPE_FLOAT);
  if (PyLong_Check(o)) return plain(u, IG_STYPE_INT);
  if (PyComplex_Check(o)) return plain(u, IG_STYPE_COMPLEX);
  if (PyUnicode_Check(o)) return plain(u, IG_STYPE_STR);
  if (PyList_Check(o)) return type_of_list(c, u, o, why);
  if (PyDict_Check(o)) return type_of_dict(c, u, o, why);
  if (PyTuple_Check(o)) return type_of_tuple(c, u, o, why);
  if (Py_IS_TYPE(o, &py_device_type)) return plain(u, IG_STYPE_DEVICE);
  if (to_named_number(o, &number)) return plain(u, IG_STYPE_INT);
  const ig_stype *declared = py_declared_type(o);
  if (declared || PyErr_Occurred()) return declared;
  ig_str_add(why,
             "Only tensors and (possibly nested) tuples of tensors, lists, or dicts"
             "are supported as inputs or outputs of traced functions, but instead got value of "
             "type %s.",
             Py_TYPE(o)->tp_name);
  return NULL;
}

const ig_stype *py_script_type_of(ig_ctx *c, ig_sunit *u, PyObject *o, ig_str *why) {
  if (Py_EnterRecursiveCall(" in the type of a value")) return NULL;
  const ig_stype *t = type_of(c, u, o, why);
  Py_LeaveRecursiveCall();
  return t;
}

// ---- back

static PyObject *from_seq(ig_ctx *c, const ig_sobj_seq *s) {
  bool tuple = s->head.kind == IG_SOBJ_TUPLE;
  PyObject *made = tuple ? PyTuple_New((Py_ssize_t)s->n) : PyList_New((Py_ssize_t)s->n);
  for (size_t i = 0; made && i < s->n; i++) {
    PyObject *item = py_from_script(c, s->at[i]);
    if (!item) {
      Py_CLEAR(made);
    } else if (tuple) {
      PyTuple_SET_ITEM(made, (Py_ssize_t)i, item);
    } else {
      PyList_SET_ITEM(made, (Py_ssize_t)i, item);
    }
  }
  return made;
}

// The last part of a qualified name.
static const char *short_name(const char *qualified) {
  const char *dot = qualified ? strrchr(qualified, '.') : NULL;
  return dot ? dot + 1 : qualified ? qualified : "NamedTuple";
}

static PyObject *from_named_tuple(ig_ctx *c, const ig_sobj_seq *s) {
  const ig_stype *t = s->head.type;
  PyObject *plain_tuple = from_seq(c, s);
  PyObject *module = plain_tuple ? PyImport_ImportModule("collections") : NULL;
  PyObject *names = module ? PyList_New((Py_ssize_t)t->n) : NULL;
  for (size_t i = 0; names && i < t->n; i++) {
    PyObject *name = PyUnicode_FromString(t->names[i]);
    if (!name) Py_CLEAR(names);
    if (names) PyList_SET_ITEM(names, (Py_ssize_t)i, name);
  }
  PyObject *cls =
      names ? PyObject_CallMethod(module, "namedtuple", "sO", short_name(t->name), names) : NULL;
  PyObject *made = cls ? PyObject_CallObject(cls, plain_tuple) : NULL;
  Py_XDECREF(cls);
  Py_XDECREF(names);
  Py_XDECREF(module);
  Py_XDECREF(plain_tuple);
  return made;
}

// A tuple of a class. Results of operators have fields, too, but no class: they are plain tuples.
static bool is_named(const ig_stype *t, size_t n) {
  return t && t->names && t->n == n && t->name && strchr(t->name, '.');
}

static PyObject *from_dict(ig_ctx *c, const ig_sobj_dict *d) {
  PyObject *made = PyDict_New();
  size_t i = 0;
  for (const ig_sentry *e; made && (e = ig_sobj_dict_next(d, &i));) {
    PyObject *key = py_from_script(c, e->key);
    PyObject *value = key ? py_from_script(c, e->value) : NULL;
    if (!value || PyDict_SetItem(made, key, value) != 0) Py_CLEAR(made);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  return made;
}

static PyObject *from_rows(ig_ctx *c, const ig_sobj_seq *s) {
  PyObject *home = PyImport_ImportModule("ingot.jit._rows");
  PyObject *cls = home ? PyObject_GetAttrString(home, "Rows") : NULL;
  PyObject *tensor = cls ? py_from_script(c, ig_of_tensor(s->rows)) : NULL;
  PyObject *size = tensor ? py_from_script(c, ig_of_int(s->piece)) : NULL;
  PyObject *lengths =
      size ? py_from_script(c, s->lengths ? ig_of_tensor(s->lengths) : ig_none()) : NULL;
  PyObject *made =
      lengths ? PyObject_CallFunction(cls, "OiOO", tensor, s->dim, size, lengths) : NULL;
  Py_XDECREF(home);
  Py_XDECREF(cls);
  Py_XDECREF(tensor);
  Py_XDECREF(size);
  Py_XDECREF(lengths);
  return made;
}

static PyObject *from_object(ig_ctx *c, ig_sobj *o) {
  const ig_sobj_seq *s = (const ig_sobj_seq *)o;
  const ig_sobj_str *text = (const ig_sobj_str *)o;
  switch (o->kind) {
    case IG_SOBJ_STR:
      return PyUnicode_DecodeUTF8(text->text, (Py_ssize_t)text->n, "surrogateescape");
    case IG_SOBJ_LIST:
      return from_seq(c, s);
    case IG_SOBJ_TUPLE:
      return is_named(o->type, s->n) ? from_named_tuple(c, s) : from_seq(c, s);
    case IG_SOBJ_DICT:
      return from_dict(c, (const ig_sobj_dict *)o);
    case IG_SOBJ_FUTURE:
      return py_from_script(c, ((const ig_sobj_future *)o)->value);
    case IG_SOBJ_INSTANCE: {
      ig_sobj_instance *instance = (ig_sobj_instance *)o;
      PyObject *host = instance->host;
      return host ? Py_NewRef(host) : py_from_sinstance(instance);
    }
    case IG_SOBJ_ENUM: {
      const ig_sobj_enum *member = (const ig_sobj_enum *)o;
      PyObject *cls = member->declaration->host;
      if (cls) {
        return PyObject_GetAttrString(cls, member->declaration->members.at[member->member].name);
      }
      break;
    }
    case IG_SOBJ_HOST:
      return Py_NewRef((PyObject *)((const ig_sobj_host *)o)->object);
    case IG_SOBJ_ROWS:
      return from_rows(c, s);
    default:
      break;
  }
  return PyErr_Format(PyExc_RuntimeError, "a value of type %s has no Python object",
                      o->type ? o->type->text : "Function");
}

PyObject *py_from_script(ig_ctx *c, ig_value v) {
  switch (v.kind) {
    case IG_KIND_NONE:
      Py_RETURN_NONE;
    case IG_KIND_TENSOR:
      return py_from_tensor(c, v.tensor);
    case IG_KIND_DEVICE:
      return py_from_device(v.device);
    case IG_KIND_OBJECT: {
      if (Py_EnterRecursiveCall(" in a result of a script")) return NULL;
      PyObject *made = from_object(c, v.object);
      Py_LeaveRecursiveCall();
      return made;
    }
    default:
      return py_from_value(c, &v);
  }
}
