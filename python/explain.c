// SPDX-License-Identifier: Apache-2.0
// Why no overload accepts the arguments, with PyTorch's messages. Functions and methods use those
// of its argument parser (TypeError), ops.aten those of its schema matcher (RuntimeError).
#include <string.h>

#include "base/str.h"
#include "py.h"

static const char *type_text(const ig_arg *a) {
  switch (a->type) {
    case IG_TYPE_TENSOR:
      return a->list ? "tuple of Tensors" : "Tensor";
    case IG_TYPE_SCALAR:
      return a->list ? "tuple of Scalars" : "Number";
    case IG_TYPE_INT:
    case IG_TYPE_SYMINT:
      return a->list ? "tuple of ints" : "int";
    case IG_TYPE_FLOAT:
      return a->list ? "tuple of floats" : "float";
    case IG_TYPE_BOOL:
      return a->list ? "tuple of bools" : "bool";
    case IG_TYPE_COMPLEX:
      return "complex";
    case IG_TYPE_STR:
      return "str";
    case IG_TYPE_DTYPE:
      return "torch.dtype";
    case IG_TYPE_LAYOUT:
      return "torch.layout";
    case IG_TYPE_DEVICE:
      return "torch.device";
    case IG_TYPE_MEMORY_FORMAT:
      return "torch.memory_format";
    case IG_TYPE_GENERATOR:
      return "torch.Generator";
    default:
      return "object";
  }
}

static void add_default(ig_str *s, const ig_arg *a) {
  const ig_value *v = &a->def;
  if (a->fixed && v->kind == IG_KIND_INTS && v->ints.n > 0) {
    ig_str_add(s, " = %lld", (long long)v->ints.at[0].value);
    return;
  }
  switch (v->kind) {
    case IG_KIND_INT:
      ig_str_add(s, " = %lld", (long long)v->i.value);
      break;
    case IG_KIND_FLOAT:
      ig_str_add(s, " = ");
      ig_str_float(s, v->f);
      break;
    case IG_KIND_BOOL:
      ig_str_add(s, " = %s", v->b ? "True" : "False");
      break;
    case IG_KIND_STR:
      ig_str_add(s, " = '%s'", v->str);
      break;
    case IG_KIND_MEMORY_FORMAT:
      ig_str_add(
          s, " = %s",
          v->memory_format == IG_CONTIGUOUS ? "torch.contiguous_format" : "torch.preserve_format");
      break;
    default:
      ig_str_add(s, " = None");
  }
}

// An out form of the same positional arguments makes the function take out=.
static const ig_op *out_of(const py_op *op, const ig_op *plain) {
  if (op->set->style != IG_STYLE_FUNCTION) return NULL;
  for (size_t i = op->set->plain; i < op->set->n; i++) {
    const ig_schema *s = &op->set->at[i]->schema;
    bool same = s->npos == plain->schema.npos;
    for (size_t k = 0; same && k < s->npos; k++) {
      same = strcmp(s->args[k].name, plain->schema.args[k].name) == 0 &&
             s->args[k].type == plain->schema.args[k].type;
    }
    if (same) return op->set->at[i];
  }
  return NULL;
}

static bool is_factory(const ig_op *op) {
  return op->schema.options < op->schema.nargs;
}

static size_t first_arg(const py_op *op) {
  return op->set->style == IG_STYLE_METHOD;  // self is not listed
}

static void add_out(ig_str *s, const ig_op *out, size_t *n) {
  size_t places = 0;
  for (size_t k = out->schema.npos; k < out->schema.nargs; k++)
    places += out->schema.args[k].written;
  ig_str_add(s, "%s%s out = None", (*n)++ ? ", " : "", places > 1 ? "tuple of Tensors" : "Tensor");
}

static void add_argument(ig_str *s, const py_op *op, const ig_op *sig, size_t i, size_t *n) {
  const ig_arg *a = &sig->schema.args[i];
  ig_str_add(s, "%s%s %s", (*n)++ ? ", " : "", type_text(a),
             ig_arg_keyword(op->set->style, sig, i));
  if (is_factory(sig) && i == sig->schema.options + 3) {
    ig_str_add(s, " = False");  // pin_memory
  } else if (a->has_default) {
    add_default(s, a);
  }
}

// "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"; answers how many tokens.
static size_t add_signature(ig_str *s, const py_op *op, const ig_op *sig) {
  const ig_schema *sc = &sig->schema;
  const ig_op *out = out_of(op, sig);
  size_t n = 0;
  size_t out_at = sc->options;
  ig_str_add(s, "(");
  for (size_t i = first_arg(op); i < sc->npos; i++) add_argument(s, op, sig, i, &n);
  if (sc->nargs > sc->npos || out || is_factory(sig)) ig_str_add(s, "%s*", n++ ? ", " : "");
  for (size_t i = sc->npos; i < sc->nargs; i++) {
    if (out && i == out_at) add_out(s, out, &n);
    add_argument(s, op, sig, i, &n);
  }
  if (out && out_at == sc->nargs) add_out(s, out, &n);
  if (is_factory(sig)) ig_str_add(s, "%sbool requires_grad = False", n++ ? ", " : "");
  ig_str_add(s, ")");
  return n;
}

// A list may contain itself, or the same list many times: depth and length are bounded.
static void add_type(ig_str *s, PyObject *o, int depth) {
  enum { DEEPEST = 16, LONGEST = 1 << 16 };
  bool opened = (PyTuple_CheckExact(o) || PyList_CheckExact(o)) && depth < DEEPEST;
  if (!opened) {
    ig_str_add(s, "%s", py_type_name(o));
    return;
  }
  bool tuple = PyTuple_CheckExact(o);
  ig_str_add(s, "%s of %s", tuple ? "tuple" : "list", tuple ? "(" : "[");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
    if (i) ig_str_add(s, ", ");
    if (s->n > LONGEST || s->failed) {
      ig_str_add(s, "...");
      break;
    }
    add_type(s, PySequence_Fast_GET_ITEM(o, i), depth + 1);
  }
  if (tuple && PyTuple_GET_SIZE(o) == 1) ig_str_add(s, ",");
  ig_str_add(s, tuple ? ")" : "]");
}

// Types of the arguments as they came, those that differ from the signature between !.
static void add_got(ig_str *s, const py_op *op, const py_args *call, const ig_op *marked) {
  size_t from = first_arg(op);
  ig_str_add(s, "(");
  for (size_t i = from; i < call->given.npos + call->given.nkw; i++) {
    PyObject *o = call->at[i];
    if (i > from) ig_str_add(s, ", ");
    bool named = i >= call->given.npos;
    bool bad = marked && !named && i < marked->schema.nargs &&
               strcmp(type_text(&marked->schema.args[i]), py_type_name(o)) != 0;
    if (bad) ig_str_add(s, "!");
    if (named) {
      const char *key =
          PyUnicode_AsUTF8(PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)(i - call->given.npos)));
      ig_str_add(s, "%s=", key ? key : "?");
    }
    add_type(s, o, 0);
    if (bad) ig_str_add(s, "!");
  }
  ig_str_add(s, ")");
}

static bool is_known_word(const py_op *op, const ig_op *sig, PyObject *key) {
  const ig_schema *sc = &sig->schema;
  for (size_t i = first_arg(op); i < sc->nargs; i++) {
    if (PyUnicode_CompareWithASCIIString(key, ig_arg_keyword(op->set->style, sig, i)) == 0)
      return true;
  }
  bool out = PyUnicode_CompareWithASCIIString(key, "out") == 0 && out_of(op, sig);
  return out || (is_factory(sig) && PyUnicode_CompareWithASCIIString(key, "requires_grad") == 0);
}

static PyObject *keyword(const py_args *call, const char *name) {
  for (size_t k = 0; k < call->given.nkw; k++) {
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return call->at[call->given.npos + k];
  }
  return NULL;
}

static PyObject *element_error(const py_op *op, PyObject *o, size_t i) {
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++) {
    PyObject *item = PySequence_Fast_GET_ITEM(o, k);
    if (py_is_tensor(item)) continue;
    PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %zu, but got %s", k,
                 i - first_arg(op), py_type_name(item));
    break;
  }
  return NULL;
}

static PyObject *bad_type(const py_op *op, const ig_op *sig, size_t i, PyObject *o, bool named) {
  const ig_arg *a = &sig->schema.args[i];
  const char *name = ig_arg_keyword(op->set->style, sig, i);
  if (a->list && a->type == IG_TYPE_TENSOR && (PyList_Check(o) || PyTuple_Check(o))) {
    return element_error(op, o, i);
  }
  if (named) {
    PyErr_Format(PyExc_TypeError, "%U(): argument '%s' must be %s, not %s", op->name, name,
                 type_text(a), py_type_name(o));
  } else {
    PyErr_Format(PyExc_TypeError, "%U(): argument '%s' (position %zu) must be %s, not %s", op->name,
                 name, i + 1 - first_arg(op), type_text(a), py_type_name(o));
  }
  return NULL;
}

static PyObject *missing(const py_op *op, const ig_op *sig, const py_args *call) {
  const ig_schema *sc = &sig->schema;
  ig_str s = ig_str_make(py_ctx()->alloc);
  size_t n = 0;
  for (size_t i = call->given.npos; i < sc->npos; i++) {
    const char *name = ig_arg_keyword(op->set->style, sig, i);
    if (sc->args[i].has_default || keyword(call, name)) continue;
    ig_str_add(&s, "%s\"%s\"", n++ ? ", " : "", name);
  }
  if (n > 0) {
    PyErr_Format(PyExc_TypeError, "%U() missing %zu required positional arguments: %s", op->name, n,
                 s.at ? s.at : "");
  }
  ig_str_free(&s);
  return NULL;
}

// The first mismatch with one signature; true: reported.
static bool complain(const py_op *op, const ig_op *sig, const py_args *call) {
  const ig_schema *sc = &sig->schema;
  ig_ctx *c = py_ctx();
  py_room room = {.c = c, .name = PyUnicode_AsUTF8(op->name)};
  size_t from = first_arg(op);
  bool packed = from < sc->nargs && ig_bind_spreads(op->set, &call->given, sig, from);
  if (call->given.npos > sc->npos && !packed) {
    size_t max = sc->npos - from;
    PyErr_Format(PyExc_TypeError, "%U() takes %zu positional argument%s but %zu %s given", op->name,
                 max, max == 1 ? "" : "s", call->given.npos - from,
                 call->given.npos - from == 1 ? "was" : "were");
    return true;
  }
  for (size_t i = from + packed; i < sc->nargs; i++) {
    bool named = packed || i >= call->given.npos;
    PyObject *o = named ? keyword(call, ig_arg_keyword(op->set->style, sig, i)) : call->at[i];
    ig_value v;
    if (!o || py_convert(&room, &sc->args[i], o, op->set->numbers, &v) == IG_MATCH_TAKEN) continue;
    if (!PyErr_Occurred()) (void)bad_type(op, sig, i, o, named);
    return true;
  }
  (void)missing(op, sig, call);
  for (size_t k = 0; k < call->given.nkw && !PyErr_Occurred(); k++) {
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    if (!is_known_word(op, sig, key)) {
      PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", op->name, key);
    }
  }
  if (!PyErr_Occurred() && call->out) {
    PyErr_Format(PyExc_TypeError, "%U(): argument 'out' must be Tensor, not %s", op->name,
                 py_type_name(call->out));
  }
  return PyErr_Occurred() != NULL;
}

// Could the count of arguments fit? Required ones given, not more than there are.
static bool is_plausible(const py_op *op, const ig_op *sig, const py_args *call) {
  const ig_schema *sc = &sig->schema;
  size_t from = first_arg(op);
  bool packed = from < sc->nargs && ig_bind_spreads(op->set, &call->given, sig, from);
  size_t given = (packed ? 1 : call->given.npos - from) + call->given.nkw;
  size_t max = sc->nargs - first_arg(op) + (out_of(op, sig) != NULL) + is_factory(sig);
  size_t min = 0;
  for (size_t i = first_arg(op); i < sc->nargs; i++) min += !sc->args[i].has_default;
  return given >= min && given <= max;
}

static void add_reason(ig_str *s, const py_op *op, const ig_op *sig, const py_args *call,
                       size_t tokens) {
  if (call->given.npos + call->given.nkw - first_arg(op) != tokens) return;
  size_t wrong = 0;
  for (size_t k = 0; k < call->given.nkw; k++) {
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    bool fits = false;
    for (size_t i = first_arg(op); i < sig->schema.nargs; i++) {
      fits |= !sig->schema.args[i].has_default &&
              PyUnicode_CompareWithASCIIString(key, ig_arg_keyword(op->set->style, sig, i)) == 0;
    }
    if (fits) continue;
    const char *text = PyUnicode_AsUTF8(key);
    ig_str_add(s, "%s%s",
               wrong++ ? ", " : "      didn't match because some of the keywords were incorrect: ",
               text ? text : "?");
  }
  if (wrong == 0) {
    ig_str_add(s, "      didn't match because some of the arguments have invalid types: ");
    add_got(s, op, call, sig);
  }
  ig_str_add(s, "\n");
}

static PyObject *no_combination(const py_op *op, const py_args *call) {
  ig_str s = ig_str_make(py_ctx()->alloc);
  ig_str_add(&s, "got ");
  add_got(&s, op, call, NULL);
  size_t n = op->set->plain ? op->set->plain : op->set->n;
  if (n == 1) {
    ig_str_add(&s, ", but expected ");
    (void)add_signature(&s, op, op->set->at[0]);
  } else {
    ig_str_add(&s, ", but expected one of:\n");
    for (size_t i = 0; i < n; i++) {
      ig_str_add(&s, " * ");
      size_t tokens = add_signature(&s, op, op->set->at[i]);
      ig_str_add(&s, "\n");
      add_reason(&s, op, op->set->at[i], call, tokens);
    }
  }
  PyErr_Format(PyExc_TypeError, "%U() received an invalid combination of arguments - %s", op->name,
               s.at ? s.at : "");
  ig_str_free(&s);
  return NULL;
}

static PyObject *explain_function(const py_op *op, const py_args *call) {
  size_t n = op->set->plain ? op->set->plain : op->set->n;
  const ig_op *only = NULL;
  size_t plausible = 0;
  if (op->set->style == IG_STYLE_METHOD && (call->given.npos == 0 || !py_is_tensor(call->at[0]))) {
    PyErr_Format(PyExc_TypeError,
                 "descriptor '%U' for 'torch._C.TensorBase' objects doesn't apply "
                 "to a '%s' object",
                 op->name, call->given.npos ? py_type_name(call->at[0]) : "missing");
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    if (!is_plausible(op, op->set->at[i], call)) continue;
    only = op->set->at[i];
    plausible++;
  }
  // Functions of numbers have deprecated signatures in PyTorch, so they never have a single one.
  if (n == 1 && !op->set->numbers) only = op->set->at[0];
  bool single = (n == 1 && !op->set->numbers) || plausible == 1;
  if (single && complain(op, only, call)) return NULL;
  return no_combination(op, call);
}

// ---- ops.aten ----

static void schema_type(const ig_arg *a, char *text, size_t cap) {
  static const char *const names[] = {"Tensor", "number",  "int",       "int", "float",
                                      "bool",   "complex", "str",       "int", "int",
                                      "Device", "int",     "Generator", "Any"};
  const char *item = names[a->type];
  (void)snprintf(text, cap, "%s%s%s%s%s", a->optional ? "Optional[" : "", a->list ? "List[" : "",
                 item, a->list ? "]" : "", a->optional ? "]" : "");
}

static const char *text_or(PyObject *o, const char *other) {
  const char *text = o ? PyUnicode_AsUTF8(o) : NULL;
  PyErr_Clear();
  return text ? text : other;
}

static void add_cast_error(ig_str *s, const ig_schema *sc, size_t i, PyObject *o) {
  char type[96];
  schema_type(&sc->args[i], type, sizeof type);
  PyObject *repr = PyObject_Repr(o);
  PyObject *str = PyObject_Str(o);
  ig_str_add(s,
             "%s::%s() Expected a value of type '%s' for argument '%s' but instead found type "
             "'%s'.\nPosition: %zu\nValue: %s\nDeclaration: %s\nCast error details: %s %s to %s",
             sc->ns, sc->name, type, sc->args[i].name, Py_TYPE(o)->tp_name, i, text_or(repr, "?"),
             sc->text, strcmp(type, "number") == 0 ? "Cannot cast" : "Unable to cast",
             text_or(str, "?"), type);
  Py_XDECREF(repr);
  Py_XDECREF(str);
}

static void mismatch(ig_str *s, const py_op *op, const ig_op *sig, const py_args *call) {
  const ig_schema *sc = &sig->schema;
  size_t given = call->given.npos + call->given.nkw;
  ig_ctx *c = py_ctx();
  py_room room = {.c = c};
  if (given > sc->nargs) {
    ig_str_add(s,
               "%s::%s() expected at most %zu argument(s) but received %zu argument(s). "
               "Declaration: %s",
               sc->ns, sc->name, sc->nargs, given, sc->text);
    return;
  }
  if (call->given.npos > sc->npos) {
    ig_str_add(s,
               "%s::%s() takes %zu positional argument(s) but %zu was/were given.  Declaration: "
               "%s",
               sc->ns, sc->name, sc->npos, call->given.npos, sc->text);
    return;
  }
  for (size_t i = 0; i < sc->nargs; i++) {
    PyObject *o = i < call->given.npos ? call->at[i] : keyword(call, sc->args[i].name);
    ig_value v;
    if (!o) {
      if (sc->args[i].has_default) continue;
      ig_str_add(s, "%s::%s() is missing value for argument '%s'. Declaration: %s", sc->ns,
                 sc->name, sc->args[i].name, sc->text);
      return;
    }
    if (py_convert(&room, &sc->args[i], o, op->set->numbers, &v) == IG_MATCH_TAKEN) continue;
    PyErr_Clear();
    add_cast_error(s, sc, i, o);
    return;
  }
  for (size_t k = 0; k < call->given.nkw; k++) {
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    const char *text = PyUnicode_AsUTF8(key);
    bool known = false;
    for (size_t i = call->given.npos; i < sc->nargs; i++) {
      known |= PyUnicode_CompareWithASCIIString(key, sc->args[i].name) == 0;
    }
    if (known) continue;
    ig_str_add(s, "Unknown keyword argument '%s' for operator '%s::%s'. Schema: %s",
               text ? text : "?", sc->ns, sc->name, sc->text);
    return;
  }
}

static PyObject *explain_operator(const py_op *op, const py_args *call) {
  ig_str s = ig_str_make(py_ctx()->alloc);
  bool several = op->set->style == IG_STYLE_PACKET && op->set->n > 1;
  if (several) {
    ig_str_add(&s, "Overloaded torch operator invoked from Python failed to match any schema:\n");
  }
  for (size_t i = 0; i < op->set->n; i++) {
    mismatch(&s, op, op->set->at[i], call);
    if (several) ig_str_add(&s, "\n\n");
  }
  PyErr_SetString(PyExc_RuntimeError, s.at ? s.at : "");
  ig_str_free(&s);
  return NULL;
}

PyObject *py_explain(const py_op *op, const py_args *call) {
  return op->set->style >= IG_STYLE_OVERLOAD ? explain_operator(op, call)
                                             : explain_function(op, call);
}
