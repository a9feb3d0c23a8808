// SPDX-License-Identifier: Apache-2.0
// The generic binder. ingot.add, Tensor.add, ops.aten.add and ops.aten.add.Tensor hold a list of
// overloads; a call converts its arguments on the stack as the schema of the first one that fits
// says, and makes one ig_call. No operator is named here.
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

static bool find_factory(const ig_op *op, size_t *at) {
  const ig_schema *s = &op->schema;
  for (size_t i = 0; i + 3 < s->nargs; i++) {
    if (s->args[i].type == IG_TYPE_DTYPE && s->args[i + 1].type == IG_TYPE_LAYOUT &&
        s->args[i + 2].type == IG_TYPE_DEVICE && s->args[i + 3].type == IG_TYPE_BOOL) {
      *at = i;
      return strcmp(s->args[i + 3].name, "pin_memory") == 0;
    }
  }
  return false;
}

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

// Operators of users have numbers behind those of the library.
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
  sig->factory = find_factory(op, &sig->factory_at);
  for (size_t i = 0; i < op->schema.nargs; i++) {
    names[i] = PyUnicode_InternFromString(op->schema.args[i].name);
    if (!names[i]) return NULL;
  }
  sigs[op->number] = sig;
  return sig;
}

// ---- binding ----

const char *py_arg_name(const py_op *op, const ig_op *of, size_t i) {
  const ig_arg *a = &of->schema.args[i];
  bool input = op->kind == PY_FUNCTION && a->type == IG_TYPE_TENSOR && strcmp(a->name, "self") == 0;
  return input ? "input" : a->name;
}

static PyObject *find_exact(const py_args *call, PyObject *name) {
  for (size_t k = 0; k < call->nkw; k++) {
    if (PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k) == name) return call->at[call->npos + k];
  }
  for (size_t k = 0; k < call->nkw; k++) {  // keys that were not interned
    PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
    if (!PyUnicode_CHECK_INTERNED(key) && PyUnicode_Compare(key, name) == 0) {
      return call->at[call->npos + k];
    }
  }
  return NULL;
}

// NumPy's names for some arguments.
static PyObject *find_alias(const py_args *call, const char *name) {
  static const char *const aliases[][2] = {{"dim", "axis"}, {"keepdim", "keepdims"},
                                           {"input", "x"},  {"input", "a"},
                                           {"input", "x1"}, {"other", "x2"}};
  for (size_t i = 0; i < PY_COUNT(aliases); i++) {
    if (strcmp(aliases[i][0], name) != 0) continue;
    for (size_t k = 0; k < call->nkw; k++) {
      PyObject *key = PyTuple_GET_ITEM(call->kwnames, (Py_ssize_t)k);
      if (PyUnicode_CompareWithASCIIString(key, aliases[i][1]) == 0) {
        return call->at[call->npos + k];
      }
    }
  }
  return NULL;
}

static PyObject *find_keyword(const py_op *op, const py_args *call, py_sig *sig, size_t i) {
  PyObject *name = sig->names[i];
  if (op->kind >= PY_OVERLOAD) return find_exact(call, name);
  const char *text = py_arg_name(op, sig->op, i);
  if (text != sig->op->schema.args[i].name) name = word.input;
  PyObject *found = find_exact(call, name);
  return found ? found : find_alias(call, text);
}

// x.view(2, 3), torch.zeros(2, 3): integers that fill the only positional argument.
bool py_is_varargs(const py_op *op, const py_args *call, const ig_schema *s, size_t i) {
  const ig_arg *a = &s->args[i];
  bool ints = a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
  if (!ints || op->kind >= PY_OVERLOAD || i != (op->kind == PY_METHOD) || s->npos != i + 1) {
    return false;
  }
  if (call->npos <= i) return false;
  PyObject *first = call->at[i];
  if (py_is_tensor(first)) {
    ig_dtype d = py_tensor_of(first)->dtype;
    return !ig_dtype_is_float(d) && !ig_dtype_is_complex(d) && d != IG_BOOL;
  }
  return PyIndex_Check(first) && !PyBool_Check(first) && !PySequence_Check(first);
}

static py_take pack(py_room *room, const py_args *call, const ig_arg *a, size_t i, ig_value *v) {
  size_t n = call->npos - i;
  ig_int *at = py_room_ints(room, n);
  if (!at) return PY_FAILED;
  for (size_t k = 0; k < n; k++) {
    py_take taken = py_to_listed_int(room, call->at[i + k], &at[k]);
    if (taken == PY_TAKEN) continue;
    bool overflow = PyErr_Occurred() != NULL;
    PyErr_Clear();
    char other[128];
    (void)snprintf(other, sizeof other, "type must be tuple of ints,but got %.60s",
                   py_type_name(call->at[i + k]));
    PyErr_Format(PyExc_TypeError,
                 "%s(): argument '%s' failed to unpack the object at pos %zu with error \"%s\"",
                 room->name, a->name, k + 1,
                 overflow ? "Overflow when unpacking long long" : other);
    return PY_FAILED;
  }
  *v = ig_of_ints(at, n);
  return PY_TAKEN;
}

// out= of a function: one tensor, or a tuple with one for each written argument.
static py_take take_out(py_room *room, const py_args *call, const ig_schema *s, ig_value *values,
                        size_t i, size_t nth) {
  PyObject *o = call->out;
  size_t places = 0;
  for (size_t k = s->npos; k < s->nargs; k++) places += s->args[k].written;
  if (places > 1 && (PyTuple_Check(o) || PyList_Check(o))) {
    if ((Py_ssize_t)nth >= PySequence_Fast_GET_SIZE(o)) return PY_OTHER;
    o = PySequence_Fast_GET_ITEM(o, (Py_ssize_t)nth);
  } else if (nth > 0) {
    return PY_OTHER;
  }
  if (!py_is_tensor(o)) return PY_OTHER;
  values[i] = ig_of_tensor(py_lend(room->c, o));  // a list may lose it while others are read
  return py_ok(room->c) ? PY_TAKEN : PY_FAILED;
}

// Where the binding of one call stands.
typedef struct cursor {
  size_t pos;   // positional arguments used
  size_t used;  // keywords used
  size_t outs;  // places of out= used
} cursor;

// One argument of the schema from what the caller gave.
static py_take bind_one(const py_op *op, py_sig *sig, const py_args *call, py_room *room, size_t i,
                        cursor *at, ig_value *values) {
  const ig_schema *s = &sig->op->schema;
  const ig_arg *a = &s->args[i];
  PyObject *o = NULL;
  if (i < s->npos && at->pos < call->npos) {
    if (a->list && py_is_varargs(op, call, s, i)) {
      at->pos = call->npos;
      return pack(room, call, a, i, &values[i]);
    }
    o = call->at[at->pos++];
  } else if (call->out && i >= s->npos && a->written) {
    return take_out(room, call, s, values, i, at->outs++);
  } else if (call->nkw > 0) {
    o = find_keyword(op, call, sig, i);
    at->used += o != NULL;
  }
  if (!o) {
    if (!a->has_default) return PY_OTHER;
    values[i] = a->def;
    return PY_TAKEN;
  }
  if (Py_IS_TYPE(o, py_tensor_type) && a->type == IG_TYPE_TENSOR && !a->list) {
    values[i] = ig_of_tensor(py_tensor_of(o));
    return PY_TAKEN;
  }
  return py_convert(room, a, o, op->numbers && !a->written, &values[i]);
}

static py_take bind(const py_op *op, py_sig *sig, const py_args *call, py_room *room,
                    ig_value *values) {
  cursor at = {.used = call->special};
  room->used = room->nreads = 0;
  for (size_t i = 0; i < sig->op->schema.nargs; i++) {
    py_take taken = bind_one(op, sig, call, room, i, &at, values);
    if (taken != PY_TAKEN) return taken;
  }
  return at.pos == call->npos && at.used == call->nkw ? PY_TAKEN : PY_OTHER;
}

// Takes out= and requires_grad= out of the keywords of a function or method.
static bool split_keywords(const py_op *op, py_args *call) {
  if (op->kind >= PY_OVERLOAD) return true;
  PyObject *out = op->kind == PY_FUNCTION ? find_exact(call, word.out) : NULL;
  if (out) {
    call->special++;
    if (out != Py_None) call->out = out;
  }
  PyObject *grad = find_exact(call, word.requires_grad);
  if (grad && op->sigs[0]->factory) {
    call->special++;
    int on = PyObject_IsTrue(grad);
    if (on < 0) return false;
    call->requires_grad = on == 1;
  }
  return true;
}

// What PyTorch's Python layer passes along where the caller says nothing.
static void fill_factory(py_sig *sig, ig_value *values) {
  size_t at = sig->factory_at;
  bool like = sig->op->schema.args[0].type == IG_TYPE_TENSOR && !sig->op->schema.args[0].list;
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

static PyObject *run(const py_op *op, ig_ctx *c, const py_args *call) {
  ig_value values[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  py_room room;
  room.c = c;
  room.name = PyUnicode_AsUTF8(op->name);
  room.deferring = true;
  size_t first = call->out ? op->plain : 0;
  size_t end = call->out || op->kind >= PY_OVERLOAD ? op->n : op->plain;
  for (size_t i = first; i < end; i++) {
    py_sig *sig = op->sigs[i];
    py_take taken = bind(op, sig, call, &room, values);
    if (taken == PY_FAILED) return NULL;
    if (taken == PY_OTHER) continue;
    if (room.nreads && !py_room_read(&room)) return NULL;
    if (sig->factory && op->kind < PY_OVERLOAD) fill_factory(sig, values);
    ig_call(c, sig->op, values, outs);
    if (c->status == IG_OK && call->requires_grad && outs[0].kind == IG_KIND_TENSOR) {
      ig_tensor_set_requires_grad(c, outs[0].tensor, true);
    }
    if (c->status != IG_OK) return py_raise(c);
    // Symbolic results belong to the environment of the operands.
    ig_sym *sym = c->mode->sym ? c->mode->sym : ig_sym_of_operands(sig->op, values);
    ig_mode_scope mode = ig_mode_push_sym(c, sym);
    PyObject *out = py_results(c, sig, outs, op->kind < PY_OVERLOAD);
    ig_mode_pop(c, &mode);
    return out;
  }
  return py_explain(op, call);
}

// The name under which metadata knows a call.
static bool enter(ig_ctx *c, const py_op *op) {
  static const char *const classes[] = {[PY_FUNCTION] = "builtin_function_or_method",
                                        [PY_METHOD] = "method_descriptor",
                                        [PY_OVERLOAD] = "OpOverload",
                                        [PY_PACKET] = "OpOverloadPacket"};
  const char *name = PyUnicode_AsUTF8(op->name);
  if (op->kind == PY_OVERLOAD) {
    const char *dot = strchr(op->sigs[0]->op->target, '.');
    if (dot) name = dot + 1;
  }
  bool python = op->kind == PY_METHOD && strcmp(name, "unflatten") == 0;  // so PyTorch has it
  return py_region_enter(c, python ? "function" : classes[op->kind], name, NULL);
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

PyObject *py_op_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  const py_op *op = (py_op *)self;
  size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
  py_args call = {args, (size_t)PyVectorcall_NARGS(nargsf), kwnames, nkw, NULL, 0, false};
  PyObject *out = NULL;
  ig_ctx *c = py_ctx();
  const py_thread *t = py_thread_of(c);
  if ((py.overriding || t->modes) && !t->function_off) {
    int taken = py_overridden(self, args, call.npos, kwnames, false, &out);
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
  if (!out && inside) py_note_call(self, args, call.npos, kwnames);
  // An argument that no schema takes may be an object with __torch_function__.
  if (!out && PyErr_ExceptionMatches(PyExc_TypeError) && !t->function_off) {
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    if (py_overridden(self, args, call.npos, kwnames, true, &out) == 0) {
      PyErr_Restore(type, value, trace);
    } else {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
    }
  }
  return out;
}

// ---- making ----

static size_t scalars(const ig_op *op) {
  size_t n = 0;
  for (size_t i = 0; i < op->schema.npos; i++) n += op->schema.args[i].type == IG_TYPE_SCALAR;
  return n;
}

static bool is_out(const ig_op *op) {
  const ig_schema *s = &op->schema;
  for (size_t i = s->npos; i < s->nargs; i++) {
    if (s->args[i].written) return true;
  }
  return false;
}

// Is op among the candidates that Python's functions (not ops.aten) try?
static bool is_wanted(const ig_op *op, py_kind kind) {
  const ig_schema *s = &op->schema;
  if (kind >= PY_OVERLOAD) return true;
  if (kind == PY_METHOD) {
    bool self = s->nargs > 0 && s->args[0].type == IG_TYPE_TENSOR && !s->args[0].list &&
                strcmp(s->args[0].name, "self") == 0;
    if (!self || is_out(op)) return false;
  }
  return !ig_op_is_hidden(op);
}

static void place(py_op *o, py_sig *sig) {
  size_t i = o->n++;
  size_t floor = 0;
  bool out = is_out(sig->op);
  if (out) {
    floor = o->plain;
  } else {
    for (; i > o->plain; i--) o->sigs[i] = o->sigs[i - 1];
    o->plain++;
  }
  // Tensors before numbers: a 0-d tensor would do as a number as well.
  for (; i > floor && scalars(o->sigs[i - 1]->op) > scalars(sig->op); i--) {
    o->sigs[i] = o->sigs[i - 1];
  }
  o->sigs[i] = sig;
}

static PyTypeObject *type_of_kind(py_kind kind) {
  PyTypeObject *const types[] = {&py_function_type, &py_method_type, &py_overload_type,
                                 &py_packet_type};
  return types[kind];
}

static py_op *op_alloc(const ig_op *first, py_kind kind, size_t n) {
  py_op *o = (py_op *)type_of_kind(kind)->tp_alloc(type_of_kind(kind), (Py_ssize_t)n);
  if (!o) return NULL;
  o->vectorcall = py_op_call;
  o->ns = first->schema.ns;
  o->kind = kind;
  o->numbers = first->def->numbers_to_tensor;
  o->name = PyUnicode_InternFromString(first->schema.name);
  if (!o->name) Py_CLEAR(o);
  return o;
}

PyObject *py_op_make(const char *ns, const char *name, py_kind kind) {
  ig_ctx *c = py_ctx();
  const ig_op *first = ig_lib_overloads(c, ns, name);
  if (!first) return c->status == IG_OK ? NULL : py_raise(c);
  size_t n = 0;
  for (const ig_op *op = first; op; op = op->next) n += is_wanted(op, kind);
  if (n == 0) return NULL;
  py_op *o = op_alloc(first, kind, n);
  for (const ig_op *op = first; o && op; op = op->next) {
    if (!is_wanted(op, kind)) continue;
    py_sig *sig = py_sig_get(op);
    if (!sig) {
      Py_CLEAR(o);
      break;
    }
    place(o, sig);
  }
  if (o && o->plain == 0) o->plain = o->n;
  return (PyObject *)o;
}

PyObject *py_op_make_overload(const ig_op *op) {
  py_sig *sig = py_sig_get(op);
  if (!sig) return NULL;
  if (!overloads[op->number]) {
    py_op *o = op_alloc(op, PY_OVERLOAD, 1);
    if (!o) return NULL;
    o->sigs[0] = sig;
    o->n = o->plain = 1;
    overloads[op->number] = (PyObject *)o;
  }
  return Py_NewRef(overloads[op->number]);
}

// ---- calls of the extension itself ----

PyObject *py_fn_get(py_fn fn) {
  static const char *const names[] = {
#define X(name) #name,
      PY_FN_LIST(X)
#undef X
  };
  static PyObject *made[PY_FN_COUNT];
  if (!made[fn]) made[fn] = py_op_make("aten", names[fn], PY_FUNCTION);
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
  PyObject *out = py_op_call(op, args, n, NULL);
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
