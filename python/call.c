// SPDX-License-Identifier: Apache-2.0
// Calls of operators. ingot.add, Tensor.add, ops.aten.add and ops.aten.add.Tensor hold a set of
// overloads; the engine's binder (op/bind.h) chooses one and asks this file to convert the
// arguments as its schema says; then there is one ig_call. No operator is named here.
#include <string.h>

#include "ingot/aten.h"
#include "op/call.h"
#include "py.h"

static struct {
  PyObject *out;
  PyObject *requires_grad;
  PyObject *input;
} word;

// ---- signatures ----

static py_sig **sigs;  // by number of the operator
static PyObject **overloads;
static size_t sig_count;

static PyObject *tuple_repr(PyObject *o) {
  PyObject *out = PyUnicode_FromFormat("%s(\n", Py_TYPE(o)->tp_name);
  PyObject *fields = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__match_args__");
  for (Py_ssize_t i = 0; out && fields && i < PyTuple_GET_SIZE(o); i++) {
    const char *end = i + 1 < PyTuple_GET_SIZE(o) ? ",\n" : ")";
    PyObject *line =
        PyUnicode_FromFormat("%S=%R%s", PyTuple_GET_ITEM(fields, i), PyTuple_GET_ITEM(o, i), end);
    PyUnicode_AppendAndDel(&out, line);
  }
  Py_XDECREF(fields);
  return out;
}

// torch.return_types.sort: shared by the overloads that have the same fields.
static PyTypeObject *named_tuple(const ig_op *op) {
  static PyObject *made;  // "torch.return_types.sort:values,indices" -> type
  const ig_schema *s = &op->schema;
  PyStructSequence_Field fields[IG_MAX_RETURNS + 1] = {{NULL, NULL}};
  char key[256];
  size_t n = (size_t)snprintf(key, sizeof key, "torch.return_types.%s", s->name);
  if (!made && !(made = PyDict_New())) return NULL;
  if (n >= sizeof key) return NULL;
  char *name = PyMem_Malloc(n + 1);  // the type keeps the text
  if (!name) return (PyTypeObject *)PyErr_NoMemory();
  memcpy(name, key, n + 1);
  for (size_t i = 0; i < s->nrets; i++) {
    fields[i].name = s->rets[i].name;
    n += (size_t)snprintf(key + n, n < sizeof key ? sizeof key - n : 0, ",%s", s->rets[i].name);
    if (n >= sizeof key) n = sizeof key - 1;
  }
  PyTypeObject *type = (PyTypeObject *)PyDict_GetItemString(made, key);
  if (type) {
    PyMem_Free(name);
    return type;
  }
  PyStructSequence_Desc desc = {name, NULL, fields, (int)s->nrets};
  type = PyStructSequence_NewType(&desc);
  if (!type) return NULL;
  type->tp_repr = tuple_repr;
  int bad = PyDict_SetItemString(made, key, (PyObject *)type);
  Py_DECREF(type);
  return bad ? NULL : type;
}

static bool has_named_results(const ig_op *op) {
  const ig_schema *s = &op->schema;
  for (size_t i = 0; i < s->nrets; i++) {
    if (!s->rets[i].name[0]) return false;
  }
  return s->nrets > 1 && s->nrets <= IG_MAX_RETURNS;
}

PyTypeObject *py_return_type(const char *name) {
  const ig_op *op = ig_lib_overloads(py_ctx(), "aten", name);
  while (op && !has_named_results(op)) op = op->next;
  return op ? named_tuple(op) : NULL;
}

// Custom operators are numbered after those of the library.
static bool grow_sigs(size_t number) {
  ig_ctx *c = py_ctx();
  const ig_lib *lib = ig_lib_get(c);
  if (!lib) return py_raise(c) != NULL;
  size_t n = number < lib->n ? lib->n : number + 64;
  py_sig **more = PyMem_Realloc(sigs, ig_mem_mul(n, sizeof *sigs));
  if (more) sigs = more;
  PyObject **objects = more ? PyMem_Realloc(overloads, ig_mem_mul(n, sizeof(PyObject *))) : NULL;
  if (!objects) return PyErr_NoMemory() != NULL;
  overloads = objects;
  for (size_t i = sig_count; i < n; i++) {
    sigs[i] = NULL;
    overloads[i] = NULL;
  }
  sig_count = n;
  return true;
}

py_sig *py_sig_get(const ig_op *op) {
  if (op->number >= sig_count && !grow_sigs(op->number)) return NULL;
  if (sigs[op->number]) return sigs[op->number];
  py_sig *sig = PyMem_Calloc(1, sizeof *sig);
  PyObject **names = PyMem_Calloc(op->schema.nargs + 1, sizeof(PyObject *));
  if (!sig || !names) {
    PyMem_Free(sig);
    PyMem_Free(names);
    return (py_sig *)PyErr_NoMemory();
  }
  sig->op = op;
  sig->names = names;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    names[i] = PyUnicode_InternFromString(op->schema.args[i].name);
    if (!names[i]) return NULL;
  }
  sigs[op->number] = sig;
  return sig;
}

// ---- what the binder asks ----

static size_t keyword_by_name(const py_args *call, PyObject *name) {
  size_t none = call->given.nkw;
  for (size_t k = 0; k < none; k++) {
    if (PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k) == name) return call->given.npos + k;
  }
  for (size_t k = 0; k < none; k++) {  // keys that were not interned
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    if (!PyUnicode_CHECK_INTERNED(key) && PyUnicode_Compare(key, name) == 0) {
      return call->given.npos + k;
    }
  }
  return call->given.npos + none;
}

static size_t keyword_by_text(const py_args *call, const char *name) {
  size_t k = 0;
  while (k < call->given.nkw &&
         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k), name)) {
    k++;
  }
  return call->given.npos + k;
}

static size_t object_keyword(const ig_given *g, const ig_op *op, size_t i, const char *name) {
  const py_args *call = (const py_args *)g;
  const py_sig *sig = op && name == op->schema.args[i].name ? py_sig_get(op) : NULL;
  if (sig) return keyword_by_name(call, sig->names[i]);
  return op && !PyErr_Occurred() ? keyword_by_name(call, word.input) : keyword_by_text(call, name);
}

static ig_match object_take(ig_given *g, size_t at, const ig_arg *a, bool numbers, ig_value *v) {
  py_args *call = (py_args *)g;
  PyObject *o = call->at[at];
  if (Py_IS_TYPE(o, py_tensor_type) && a->type == IG_TYPE_TENSOR && !a->list) {
    *v = ig_of_tensor(py_tensor_of(o));
    return IG_MATCH_TAKEN;
  }
  return py_convert(&call->room, a, o, numbers, v);
}

static bool object_is_integer(const ig_given *g, size_t at) {
  PyObject *first = ((const py_args *)g)->at[at];
  if (py_is_tensor(first)) {
    ig_dtype d = py_tensor_of(first)->dtype;
    return !ig_dtype_is_float(d) && !ig_dtype_is_complex(d) && d != IG_BOOL;
  }
  return PyIndex_Check(first) && !PyBool_Check(first) && !PySequence_Check(first);
}

static ig_match object_take_integers(ig_given *g, size_t first, const ig_arg *a, ig_value *v) {
  py_args *call = (py_args *)g;
  size_t n = g->npos - first;
  ig_int *at = py_room_ints(&call->room, n);
  if (!at) return IG_MATCH_REFUSED;
  for (size_t k = 0; k < n; k++) {
    PyObject *o = call->at[first + k];
    ig_match taken = py_to_listed_int(&call->room, o, &at[k]);
    if (taken == IG_MATCH_TAKEN) continue;
    bool overflow = PyErr_Occurred() != NULL;
    PyErr_Clear();
    char other[128];
    (void)snprintf(other, sizeof other, "type must be tuple of ints,but got %.60s",
                   py_type_name(o));
    PyErr_Format(PyExc_TypeError,
                 "%s(): argument '%s' failed to unpack the object at pos %zu with error \"%s\"",
                 call->room.name, a->name, k + 1,
                 overflow ? "Overflow when unpacking long long" : other);
    return IG_MATCH_REFUSED;
  }
  *v = ig_of_ints(at, n);
  return IG_MATCH_TAKEN;
}

// out= of a function: one tensor, or a tuple with one for each written argument.
static ig_match object_take_out(ig_given *g, size_t nth, size_t n, ig_value *v) {
  py_args *call = (py_args *)g;
  PyObject *o = call->out;
  if (n > 1 && (PyTuple_Check(o) || PyList_Check(o))) {
    if ((Py_ssize_t)nth >= PySequence_Fast_GET_SIZE(o)) return IG_MATCH_OTHER;
    o = PySequence_Fast_GET_ITEM(o, (Py_ssize_t)nth);
  } else if (nth > 0) {
    return IG_MATCH_OTHER;
  }
  if (!py_is_tensor(o)) return IG_MATCH_OTHER;
  ig_ctx *c = call->room.c;
  *v = ig_of_tensor(py_lend(c, o));  // a list may lose it while others are read
  return py_ok(c) ? IG_MATCH_TAKEN : IG_MATCH_REFUSED;
}

static void object_reset(ig_given *g) {
  ((py_args *)g)->room.used = 0;
}

static const ig_given_ops of_objects = {.keyword = object_keyword,
                                        .take = object_take,
                                        .is_integer = object_is_integer,
                                        .take_integers = object_take_integers,
                                        .take_out = object_take_out,
                                        .reset = object_reset};

static bool is_operator(const py_op *op) {  // ops.aten, not a function or method
  return op->set->style == IG_STYLE_OVERLOAD || op->set->style == IG_STYLE_PACKET;
}

static bool is_factory(const ig_op *op) {
  return op->schema.options < op->schema.nargs;
}

// Takes out= and requires_grad= out of the keywords of a function or method.
static bool split_keywords(const py_op *op, py_args *call) {
  if (is_operator(op)) return true;
  size_t none = call->given.npos + call->given.nkw;
  size_t out = op->set->style == IG_STYLE_FUNCTION ? keyword_by_name(call, word.out) : none;
  if (out < none) {
    call->given.consumed++;
    if (call->at[out] != Py_None) call->out = call->at[out];
    call->given.out = call->out != NULL;
  }
  size_t grad = keyword_by_name(call, word.requires_grad);
  if (grad < none && is_factory(op->set->at[0])) {
    call->given.consumed++;
    int on = PyObject_IsTrue(call->at[grad]);
    if (on < 0) return false;
    call->requires_grad = on == 1;
  }
  return true;
}

// What PyTorch's Python layer passes if the caller does not.
static void fill_factory(const ig_op *op, ig_value *values) {
  size_t at = op->schema.options;
  bool like = op->schema.args[0].type == IG_TYPE_TENSOR && !op->schema.args[0].list;
  if (!like && values[at + 2].kind == IG_KIND_NONE) {
    values[at + 2] = ig_of_device(py_ctx()->mode->device);
  }
  if (values[at + 3].kind == IG_KIND_NONE) values[at + 3] = ig_of_bool(false);
}

// ---- results ----

static PyObject *one_result(ig_ctx *c, const ig_value *v, bool named) {
  if (v->kind == IG_KIND_TENSOR) return py_from_tensor(c, v->tensor);
  PyObject *o = py_from_value(c, v);
  if (o && named && v->kind == IG_KIND_LIST) {
    PyObject *tuple = PyList_AsTuple(o);
    Py_SETREF(o, tuple);
  }
  return o;
}

PyObject *py_results(ig_ctx *c, py_sig *sig, const ig_value *outs, bool named) {
  const ig_op *op = sig->op;
  size_t n = op->schema.nrets;
  if (n == 1) return one_result(c, &outs[0], named);
  if (n == 0) Py_RETURN_NONE;
  PyObject *tuple = NULL;
  bool fields = named && has_named_results(op);
  if (fields) {
    if (!sig->tuple) sig->tuple = named_tuple(op);
    tuple = sig->tuple ? PyStructSequence_New(sig->tuple) : NULL;
  } else {
    tuple = PyTuple_New((Py_ssize_t)n);
  }
  for (size_t i = 0; tuple && i < n; i++) {
    PyObject *item = one_result(c, &outs[i], named);
    if (!item) {
      Py_CLEAR(tuple);
    } else if (fields) {
      PyStructSequence_SetItem(tuple, (Py_ssize_t)i, item);
    } else {
      PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
    }
  }
  return tuple;
}

// ---- calling ----

// The environment of the first symbolic number among some objects, or in a list of them.
static ig_sym *sym_of_objects(PyObject *const *at, Py_ssize_t n, bool nested) {
  for (Py_ssize_t i = 0; i < n; i++) {
    if (py_is_sym(at[i])) return ((py_sym *)at[i])->sym;
    if (nested || (!PyTuple_Check(at[i]) && !PyList_Check(at[i]))) continue;
    ig_sym *sym =
        sym_of_objects(PySequence_Fast_ITEMS(at[i]), PySequence_Fast_GET_SIZE(at[i]), true);
    if (sym) return sym;
  }
  return NULL;
}
static ig_sym *sym_of_call(const py_args *call) {
  Py_ssize_t keywords = call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0;
  return sym_of_objects(call->at, (Py_ssize_t)call->given.npos + keywords, false);
}

static PyObject *run_in_mode(const py_op *op, ig_ctx *c, py_args *call) {
  ig_value values[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  ig_match answer = IG_MATCH_OTHER;
  call->room.c = c;
  call->room.name = PyUnicode_AsUTF8(op->name);
  call->room.reads = &call->given.reads;
  const ig_op *chosen = ig_bind(c, op->set, &call->given, values, &answer);
  if (!chosen) {
    if (c->status != IG_OK) return py_raise(c);
    return answer == IG_MATCH_REFUSED ? NULL : py_explain(op, call);
  }
  if (is_factory(chosen) && !is_operator(op)) fill_factory(chosen, values);
  ig_call(c, chosen, values, outs);
  if (c->status == IG_OK && call->requires_grad && outs[0].kind == IG_KIND_TENSOR) {
    ig_tensor_set_requires_grad(c, outs[0].tensor, true);
  }
  if (c->status != IG_OK) return py_raise(c);
  py_sig *sig = py_sig_get(chosen);
  if (!sig) return NULL;
  // Symbolic results belong to the environment of the operands.
  ig_sym *sym = c->mode->sym ? c->mode->sym : ig_sym_of_operands(chosen, values);
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  PyObject *out = py_results(c, sig, outs, !is_operator(op));
  ig_mode_pop(c, &mode);
  return out;
}

// Symbolic numbers bring their environment where none is current.
static PyObject *run(const py_op *op, ig_ctx *c, py_args *call) {
  ig_sym *sym = c->mode->sym ? NULL : sym_of_call(call);
  if (!sym) return run_in_mode(op, c, call);
  ig_mode_scope mode = ig_mode_push_sym(c, sym);
  PyObject *out = run_in_mode(op, c, call);
  ig_mode_pop(c, &mode);
  return out;
}

// The name of a call in metadata.
static bool enter(ig_ctx *c, const py_op *op) {
  ig_call_style style = op->set->style;
  static const char *const classes[] = {[IG_STYLE_FUNCTION] = "builtin_function_or_method",
                                        [IG_STYLE_METHOD] = "method_descriptor",
                                        [IG_STYLE_OVERLOAD] = "OpOverload",
                                        [IG_STYLE_PACKET] = "OpOverloadPacket"};
  const char *name = PyUnicode_AsUTF8(op->name);
  if (style == IG_STYLE_OVERLOAD) {
    const char *dot = strchr(op->set->at[0]->target, '.');
    if (dot) name = dot + 1;
  }
  bool python = style == IG_STYLE_METHOD && op->set->at[0]->facts & IG_FACT_PYTHON_METHOD;
  return py_region_enter(c, python ? "function" : classes[style], name, NULL);
}

void py_note_call(PyObject *self, PyObject *const *args, size_t npos, PyObject *kwnames) {
  bool told =
      PyErr_ExceptionMatches(PyExc_RuntimeError) || PyErr_ExceptionMatches(PyExc_IndexError) ||
      PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_AssertionError);
  if (!told || !py_trace_is_strict(py_ctx())) return;
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *given = PyTuple_New((Py_ssize_t)npos);
  PyObject *named = PyDict_New();
  for (size_t i = 0; given && i < npos; i++)
    PyTuple_SET_ITEM(given, (Py_ssize_t)i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; named && kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    (void)PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, i), args[npos + (size_t)i]);
  }
  PyObject *call = given && named ? Py_BuildValue("(OOO)", self, given, named) : NULL;
  if (call && value) (void)PyObject_SetAttrString(value, "_call", call);
  Py_XDECREF(call);
  Py_XDECREF(given);
  Py_XDECREF(named);
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

// Errors that say that no schema accepts the arguments: functions and methods raise one class,
// packets and overloads the other.
static bool refused(const py_op *op) {
  bool exact = op->set->style == IG_STYLE_OVERLOAD || op->set->style == IG_STYLE_PACKET;
  return PyErr_ExceptionMatches(PyExc_TypeError) ||
         (exact && PyErr_ExceptionMatches(PyExc_RuntimeError));
}

// `shown` is the function that __torch_function__ gets: for x + y the method, not the function.
static PyObject *call_shown(PyObject *self, PyObject *shown, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames) {
  const py_op *op = (py_op *)self;
  size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
  py_args call;  // most of it is buffer space that need not be cleared
  call.given.ops = &of_objects;
  call.given.npos = (size_t)PyVectorcall_NARGS(nargsf);
  call.given.nkw = nkw;
  call.given.consumed = 0;
  call.given.out = false;
  call.at = args;
  call.kwnames = kwnames;
  call.out = NULL;
  call.requires_grad = false;
  PyObject *out = NULL;
  ig_ctx *c = py_ctx();
  const py_thread *t = py_thread_of(c);
  if ((py.overriding || t->modes) && !t->function_off) {
    int taken = py_overridden(shown, args, call.given.npos, kwnames, false, &out);
    if (taken != 0) return out;
  }
  if (nkw > 0 && !split_keywords(op, &call)) return NULL;
  bool inside = c->mode->capture && enter(c, op);
  ig_scope s = ig_scope_open(c);
  out = run(op, c, &call);
  ig_scope_close(c, s);
  if (inside) py_region_leave(c);
  if (inside && out && (PyTuple_Check(out) || PyList_Check(out))) {
    py_trace_name(c, "getitem", (size_t)PySequence_Fast_GET_SIZE(out));
  }
  if (!out && inside) py_note_call(self, args, call.given.npos, kwnames);
  // An argument that no schema accepts may be an object with __torch_function__.
  if (!out && !t->function_off && refused(op)) {
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    if (py_overridden(shown, args, call.given.npos, kwnames, true, &out) == 0) {
      PyErr_Restore(type, value, trace);
    } else {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
    }
  }
  return out;
}

PyObject *py_op_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  return call_shown(self, self, args, nargsf, kwnames);
}

// ---- making ----

// Takes over the set.
static PyObject *op_from_set(ig_overload_set *set) {
  PyTypeObject *const types[] = {[IG_STYLE_FUNCTION] = &py_function_type,
                                 [IG_STYLE_METHOD] = &py_method_type,
                                 [IG_STYLE_OVERLOAD] = &py_overload_type,
                                 [IG_STYLE_PACKET] = &py_packet_type};
  PyTypeObject *type = types[set->style];
  py_op *o = (py_op *)type->tp_alloc(type, 0);
  if (!o) {
    ig_overload_set_free(set);
    return NULL;
  }
  o->vectorcall = py_op_call;
  o->set = set;
  o->ns = set->at[0]->schema.ns;
  o->name = PyUnicode_InternFromString(set->at[0]->schema.name);
  if (!o->name) Py_CLEAR(o);
  return (PyObject *)o;
}

PyObject *py_op_make(const char *ns, const char *name, ig_call_style style) {
  ig_ctx *c = py_ctx();
  ig_overload_set *set = ig_overload_set_make(c, ns, name, style);
  if (!set) return c->status == IG_OK ? NULL : py_raise(c);
  return op_from_set(set);
}

PyObject *py_op_make_overload(const ig_op *op) {
  if (!py_sig_get(op)) return NULL;
  if (!overloads[op->number]) {
    ig_ctx *c = py_ctx();
    ig_overload_set *set = ig_overload_set_of(c, op);
    if (!set) return py_raise(c);
    overloads[op->number] = op_from_set(set);
  }
  return Py_XNewRef(overloads[op->number]);
}

// ---- calls of the extension itself ----

PyObject *py_fn_get(py_fn fn) {
  static const char *const names[] = {
#define X(name) #name,
      PY_FN_LIST(X)
#undef X
  };
  static PyObject *made[PY_FN_COUNT];
  if (!made[fn]) made[fn] = py_op_make("aten", names[fn], IG_STYLE_FUNCTION);
  if (!made[fn] && !PyErr_Occurred()) {
    PyErr_Format(PyExc_NotImplementedError, "no operator is called 'aten::%s'", names[fn]);
  }
  return made[fn];
}

PyObject *py_fn_call(py_fn fn, PyObject *const *args, size_t n) {
  PyObject *op = py_fn_get(fn);
  if (!op) return NULL;
  ig_ctx *c = py_ctx();
  const char *name = PyUnicode_AsUTF8(((py_op *)op)->name);
  bool inside = py_region(c, "method_descriptor", name, NULL);
  PyObject *shown = _PyType_Lookup(py_tensor_type, ((py_op *)op)->name);
  PyObject *out = call_shown(op, shown ? shown : op, args, n, NULL);
  if (inside) py_region_leave(c);
  return out;
}

static const ig_op *target_get(ig_ctx *c, py_target target) {
  static const unsigned ids[] = {
#define X(name, id) IG_ID_##id,
      PY_TARGET_LIST(X)
#undef X
  };
  const ig_op *op = ig_op_at(c, ids[target]);
  if (!op) (void)py_ok(c);
  return op;
}

bool py_call_values(ig_ctx *c, py_target target, const ig_value *args, size_t n, ig_value *outs) {
  const ig_op *op = target_get(c, target);
  ig_value values[IG_MAX_ARGS];
  if (!op) return false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    values[i] = i < n ? args[i] : op->schema.args[i].def;
  }
  ig_call(c, op, values, outs);
  return py_ok(c);
}

ig_tensor *py_call_tensor(ig_ctx *c, py_target target, const ig_value *args, size_t n) {
  ig_value outs[IG_MAX_RETURNS];
  if (!py_call_values(c, target, args, n, outs)) return NULL;
  return outs[0].kind == IG_KIND_TENSOR ? outs[0].tensor : NULL;
}

int py_add_calls(PyObject *m) {
  PyTypeObject *types[] = {&py_function_type, &py_method_type, &py_overload_type, &py_packet_type};
  word.out = PyUnicode_InternFromString("out");
  word.requires_grad = PyUnicode_InternFromString("requires_grad");
  word.input = PyUnicode_InternFromString("input");
  for (size_t i = 0; i < PY_COUNT(types); i++) {
    if (PyType_Ready(types[i]) != 0) return -1;
  }
  (void)m;
  return word.out && word.requires_grad && word.input ? 0 : -1;
}
