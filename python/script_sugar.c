// SPDX-License-Identifier: Apache-2.0
// What Python says that a name means, as the compiler takes it.
//
// Python answers with None (there is no such name) or a tuple: a word, then its data.
//   ("builtin", "aten::relu")       ("function", [ScriptFunction, ...])    ("class", type)
//   ("special", "isinstance")       ("constant", value)
//   ("tuple", [answer, ...])        ("dict", [name, ...], [answer, ...])   ("host", object)
//   ("exception", "builtins.ValueError")    ("namespace", "aten")
//   ("method", [name, ...])         of the module that was asked
//   ("dispatch", (param, position, default), [answer, answer])   the first if the argument is True
//   ("error", text)                 an error at the place of the name
//   ("refused", text)               the same as torch.jit.frontend.FrontendError
#include <string.h>

#include "script.h"
#include "script/check.h"
#include "script/numbers.h"

bool py_script_failed(ig_ctx *c) {
  py_host_failed(c);
  return false;
}

static bool no_memory(ig_ctx *c) {
  (void)ig_fail(c, IG_NOMEM, "out of memory");
  return false;
}

// ---- constants

static bool constants_of(ig_sunit *u, PyObject *o, ig_value *out, const ig_stype **type) {
  bool tuple = PyTuple_Check(o);
  PyObject *items = py_items(o, "a list or tuple");
  if (!items) return false;
  size_t n = (size_t)PyTuple_GET_SIZE(items);
  ig_value *at = ig_arena_array(&u->arena, n + 1, sizeof *at);
  const ig_stype **types = ig_arena_array(&u->arena, n + 1, sizeof *types);
  bool ok = at && types;
  if (!ok) PyErr_NoMemory();
  for (size_t i = 0; ok && i < n; i++) {
    ok = py_script_constant(u, PyTuple_GET_ITEM(items, (Py_ssize_t)i), &at[i], &types[i]);
  }
  Py_DECREF(items);
  if (!ok) return false;
  if (tuple) {
    *out = ig_of_tuple(at, n);
    *type = ig_stype_tuple(&u->types, types, n);
  } else {
    *out = ig_of_list(at, n);
    *type = ig_stype_list(&u->types, n ? types[0] : ig_stype_plain(&u->types, IG_STYPE_TENSOR));
  }
  return *type || py_script_raise(u->c) != NULL;
}

// The number of a dtype, layout or memory format.
static bool number_of(PyObject *o, int64_t *out) {
  if (Py_IS_TYPE(o, &py_dtype_type)) {
    *out = ig_script_of_dtype(((py_dtype *)o)->d);
  } else if (Py_IS_TYPE(o, &py_layout_type)) {
    *out = ig_script_of_layout((ig_layout)((py_enum *)o)->v);
  } else if (Py_IS_TYPE(o, &py_memory_format_type)) {
    *out = ig_script_of_memory_format((ig_memory_format)((py_enum *)o)->v);
  } else {
    return false;
  }
  return true;
}

bool py_script_constant(ig_sunit *u, PyObject *o, ig_value *out, const ig_stype **type) {
  ig_stype_kind kind = IG_STYPE_NONE;
  int64_t number = 0;
  *out = ig_none();
  if (PyTuple_Check(o) || PyList_Check(o)) return constants_of(u, o, out, type);
  if (PyBool_Check(o)) {
    kind = IG_STYPE_BOOL;
    *out = ig_of_bool(o == Py_True);
  } else if (PyLong_Check(o)) {
    kind = IG_STYPE_INT;
    *out = ig_of_i64(PyLong_AsLongLong(o));
  } else if (PyFloat_Check(o)) {
    kind = IG_STYPE_FLOAT;
    *out = ig_of_f64(PyFloat_AS_DOUBLE(o));
  } else if (PyComplex_Check(o)) {
    kind = IG_STYPE_COMPLEX;
    *out = ig_of_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  } else if (PyUnicode_Check(o)) {
    Py_ssize_t n = 0;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    const char *kept = text ? ig_arena_strn(&u->arena, text, (size_t)n) : NULL;
    if (text && !kept) PyErr_NoMemory();
    kind = IG_STYPE_STR;
    *out = ig_of_str(kept);
  } else if (number_of(o, &number)) {
    kind = IG_STYPE_INT;
    *out = ig_of_i64(number);
  } else if (Py_IS_TYPE(o, &py_device_type)) {
    kind = IG_STYPE_DEVICE;
    *out = ig_of_device(((py_device *)o)->d);
  } else if (py_is_tensor(o)) {
    kind = IG_STYPE_TENSOR;
    *out = ig_of_tensor(py_tensor_of(o));
    ig_tensor_retain(py_tensor_of(o));  // as long as the unit, which lives as long as the process
  } else if (o != Py_None) {
    PyErr_Format(PyExc_TypeError, "%s is no constant of a script", Py_TYPE(o)->tp_name);
  }
  if (PyErr_Occurred()) return false;
  *type = ig_stype_plain(&u->types, kind);
  return *type || py_script_raise(u->c) != NULL;
}

// ---- objects that only Python can look into

static PyObject *front_call(const char *function, PyObject *object, const char *name) {
  PyObject *front = PyImport_ImportModule("ingot.jit._front");
  PyObject *said =
      front ? PyObject_CallMethod(front, function, name ? "Os" : "O", object, name) : NULL;
  Py_XDECREF(front);
  return said;
}

static bool host_attr(ig_ctx *c, void *object, const char *name, ig_srange where, ig_sugar *out) {
  PyObject *said = front_call("attribute", object, name);
  bool ok = said ? py_sugar_of(c, said, NULL, where, out) : py_script_failed(c);
  Py_XDECREF(said);
  return ok;
}

static void add_text(const char *function, void *object, ig_str *s) {
  PyObject *said = front_call(function, object, NULL);
  const char *text = said ? PyUnicode_AsUTF8(said) : NULL;
  if (text) ig_str_add(s, "%s", text);
  if (!text) PyErr_Clear();
  Py_XDECREF(said);
}
static void host_describe(void *object, ig_str *s) {
  add_text("describe", object, s);
}
static void host_explain(void *object, ig_str *s) {
  add_text("explain", object, s);
}

// ---- answers

typedef struct answer {
  ig_ctx *c;
  ig_sunit *u;
  PyObject *data;  // borrowed; NULL: none
  PyObject *more;
  ig_svalue *self;
  ig_srange where;
} answer;

static const char *text_of(const answer *a, PyObject *o) {
  const char *text = o ? PyUnicode_AsUTF8(o) : NULL;
  const char *kept = text ? ig_arena_strn(&a->u->arena, text, strlen(text)) : NULL;
  if (!kept) (void)(text ? no_memory(a->c) : py_script_failed(a->c));
  return kept;
}

static const char **texts_of(const answer *a, PyObject *list, size_t *n) {
  *n = (size_t)PyList_GET_SIZE(list);
  const char **at = ig_arena_array(&a->u->arena, *n + 1, sizeof *at);
  if (!at) (void)no_memory(a->c);
  for (size_t i = 0; at && i < *n; i++) {
    if (!(at[i] = text_of(a, PyList_GET_ITEM(list, (Py_ssize_t)i)))) return NULL;
  }
  return at;
}

static bool say_builtin(const answer *a, ig_sugar *out) {
  const char *symbol = text_of(a, a->data);
  *out = (ig_sugar){.kind = IG_SUGAR_BUILTIN, .builtin = {.symbol = symbol}};
  return symbol != NULL;
}

static bool say_special(const answer *a, ig_sugar *out) {
  static const struct {
    const char *name;
    ig_special form;
  } forms[] = {
      {"isinstance", IG_SPECIAL_ISINSTANCE},          {"annotate", IG_SPECIAL_ANNOTATE},
      {"unwrap_optional", IG_SPECIAL_UNCHECKED_CAST}, {"fork", IG_SPECIAL_FORK},
      {"is_scripting", IG_SPECIAL_IS_SCRIPTING},      {"is_tracing", IG_SPECIAL_IS_TRACING},
  };
  const char *name = text_of(a, a->data);
  for (size_t i = 0; name && i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(forms[i].name, name) != 0) continue;
    *out = (ig_sugar){.kind = IG_SUGAR_SPECIAL, .special = forms[i].form};
    return true;
  }
  return false;
}

// Is the data a list whose elements are of the type? type NULL: of any.
static bool is_list(const answer *a, PyObject *o, PyTypeObject *type) {
  bool ok = o && PyList_Check(o);
  for (Py_ssize_t i = 0; ok && type && i < PyList_GET_SIZE(o); i++) {
    ok = PyObject_TypeCheck(PyList_GET_ITEM(o, i), type);
  }
  if (ok) return true;
  PyErr_Format(PyExc_TypeError, "expected a list%s%s, found %R", type ? " of " : "",
               type ? type->tp_name : "", o ? o : Py_None);
  return py_script_failed(a->c);
}

static bool say_function(const answer *a, ig_sugar *out) {
  if (!is_list(a, a->data, &py_sfunction_type)) return false;
  size_t n = (size_t)PyList_GET_SIZE(a->data);
  ig_sfunction **at = ig_arena_array(&a->u->arena, n + 1, sizeof *at);
  if (!at) return no_memory(a->c);
  for (size_t i = 0; i < n; i++) {
    at[i] = ((py_sfunction *)PyList_GET_ITEM(a->data, (Py_ssize_t)i))->f;
  }
  *out = (ig_sugar){.kind = IG_SUGAR_FUNCTION, .functions = at, .n_functions = n};
  return true;
}

static bool say_class(const answer *a, ig_sugar *out) {
  const ig_stype *type = py_stype_of(a->data);
  *out = (ig_sugar){.kind = IG_SUGAR_CLASS, .type = type};
  return type || py_script_failed(a->c);
}

static bool say_constant(const answer *a, ig_sugar *out) {
  *out = (ig_sugar){.kind = IG_SUGAR_CONSTANT};
  return py_script_constant(a->u, a->data, &out->constant, &out->constant_type) ||
         py_script_failed(a->c);
}

static ig_sugar *several(const answer *a, PyObject *list, size_t *n) {
  *n = (size_t)PyList_GET_SIZE(list);
  ig_sugar *at = ig_arena_array(&a->u->arena, *n + 1, sizeof *at);
  if (!at) (void)no_memory(a->c);
  for (size_t i = 0; at && i < *n; i++) {
    PyObject *said = PyList_GET_ITEM(list, (Py_ssize_t)i);
    if (!py_sugar_of(a->c, said, a->self, a->where, &at[i])) return NULL;
  }
  return at;
}

static bool say_tuple(const answer *a, ig_sugar *out) {
  if (!is_list(a, a->data, NULL)) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_TUPLE};
  out->items.at = several(a, a->data, &out->items.n);
  return out->items.at != NULL;
}

static bool say_dict(const answer *a, ig_sugar *out) {
  if (!is_list(a, a->data, &PyUnicode_Type) || !is_list(a, a->more, NULL)) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_DICT};
  out->items.keys = texts_of(a, a->data, &out->items.n);
  if (out->items.keys) out->items.at = several(a, a->more, &out->items.n);
  return out->items.at != NULL;
}

static bool say_host(const answer *a, ig_sugar *out) {
  static const ig_sugar_host_ops ops = {host_attr, host_describe, host_explain};
  Py_INCREF(a->data);  // kept as long as the unit, which lives as long as the process
  *out = (ig_sugar){.kind = IG_SUGAR_HOST, .host = {&ops, a->data}};
  return true;
}

// None: an exception that is raised without its class.
static bool say_exception(const answer *a, ig_sugar *out) {
  const char *name = a->data == Py_None ? NULL : text_of(a, a->data);
  *out = (ig_sugar){.kind = IG_SUGAR_EXCEPTION, .name = name};
  return name || a->data == Py_None;
}

static bool say_namespace(const answer *a, ig_sugar *out) {
  const char *name = text_of(a, a->data);
  *out = (ig_sugar){.kind = IG_SUGAR_NAMESPACE, .name = name};
  return name != NULL;
}

static bool say_method(const answer *a, ig_sugar *out) {
  if (!is_list(a, a->data, &PyUnicode_Type)) return false;
  size_t n = 0;
  const char **names = texts_of(a, a->data, &n);
  *out = (ig_sugar){.kind = IG_SUGAR_METHOD, .method = {a->self, names, n}};
  return names != NULL;
}

static bool say_dispatch(const answer *a, ig_sugar *out) {
  PyObject *name = NULL;
  Py_ssize_t at = 0;
  int otherwise = 0;
  if (!PyArg_ParseTuple(a->data, "Unp", &name, &at, &otherwise)) return py_script_failed(a->c);
  if (!is_list(a, a->more, NULL)) return false;
  size_t n = 0;
  const char *param = text_of(a, name);
  const ig_sugar *two = param ? several(a, a->more, &n) : NULL;
  if (!two || n != 2) return false;
  *out = (ig_sugar){.kind = IG_SUGAR_DISPATCH,
                    .dispatch = {param, (size_t)at, otherwise != 0, &two[0], &two[1]}};
  return true;
}

static bool say_error(const answer *a, ig_sugar *out) {
  (void)out;
  const char *text = text_of(a, a->data);
  if (!text) return false;
  ig_str quoted = ig_str_make(a->c->alloc);
  ig_srange_quote(&quoted, a->where, NULL);
  ig_fail_text(a->c, IG_RUNTIME, "\n%s:\n%s", text, quoted.at ? quoted.at : "");
  ig_str_free(&quoted);
  return false;
}

static bool say_refused(const answer *a, ig_sugar *out) {
  (void)out;
  const char *text = text_of(a, a->data);
  if (!text) return false;
  ig_str quoted = ig_str_make(a->c->alloc);
  ig_srange_quote(&quoted, a->where, NULL);
  PyObject *errors = PyImport_ImportModule("ingot.jit.frontend");
  PyObject *cls = errors ? PyObject_GetAttrString(errors, "FrontendError") : NULL;
  if (cls) PyErr_Format(cls, "%s:\n%s", text, quoted.at ? quoted.at : "");
  Py_XDECREF(cls);
  Py_XDECREF(errors);
  ig_str_free(&quoted);
  return py_script_failed(a->c);
}

bool py_sugar_of(ig_ctx *c, PyObject *said, ig_svalue *self, ig_srange where, ig_sugar *out) {
  static const struct {
    const char *word;
    bool (*say)(const answer *a, ig_sugar *out);
  } words[] = {
      {"builtin", say_builtin},     {"special", say_special},   {"function", say_function},
      {"class", say_class},         {"constant", say_constant}, {"tuple", say_tuple},
      {"dict", say_dict},           {"host", say_host},         {"exception", say_exception},
      {"namespace", say_namespace}, {"method", say_method},     {"error", say_error},
      {"refused", say_refused},     {"dispatch", say_dispatch},
  };
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  if (said == Py_None) return true;
  ig_sunit *u = py_unit();
  if (!u) return py_script_failed(c);
  if (!PyTuple_Check(said) || PyTuple_GET_SIZE(said) < 2) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of a word and its data");
    return py_script_failed(c);
  }
  Py_ssize_t n = PyTuple_GET_SIZE(said);
  answer a = {c,    u,    PyTuple_GET_ITEM(said, 1), n > 2 ? PyTuple_GET_ITEM(said, 2) : NULL,
              self, where};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(said, 0), words[i].word) == 0) {
      return words[i].say(&a, out);
    }
  }
  PyErr_Format(PyExc_TypeError, "%R is no answer about a name", said);
  return py_script_failed(c);
}
