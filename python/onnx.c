// SPDX-License-Identifier: Apache-2.0
// Writing ONNX from Python: a method of Program, and the builder with which custom translation
// functions emit nodes. A builder is valid during one call of such a function.
#include <string.h>

#include "base/file.h"
#include "fx.h"
#include "ingot/onnx.h"
#include "ingot/pass.h"
#include "onnx/model.h"
#include "onnx/writer.h"
#include "py.h"
#include "tensor/copy.h"

// A sequence of names; the texts live as long as its list, which *keep holds.
static bool take_names(PyObject *given, PyObject **keep, const char *const **out, size_t *n) {
  if (given == Py_None) return true;
  *keep = PySequence_Tuple(given);
  if (!*keep) return false;
  *n = (size_t)PyTuple_GET_SIZE(*keep);
  const char **names = PyMem_Calloc(*n + 1, sizeof *names);
  if (!names) PyErr_NoMemory();
  *out = names;
  for (size_t i = 0; names && i < *n; i++) {
    PyObject *o = PyTuple_GET_ITEM(*keep, (Py_ssize_t)i);
    names[i] = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;
    if (!names[i] && !PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "names must be texts, found %s", Py_TYPE(o)->tp_name);
    }
    if (!names[i]) return false;
  }
  return names != NULL;
}

// ---- builder ----

typedef struct py_builder {
  PyObject_HEAD ig_onnx *x;  // NULL: the call is over
} py_builder;

static bool alive(PyObject *o) {
  if (((py_builder *)o)->x) return true;
  PyErr_SetString(PyExc_RuntimeError, "the translation that this builder belongs to is over");
  return false;
}

static bool take_list(ig_onnx *x, PyObject *value, ig_onnx_attr *out) {
  Py_ssize_t n = PySequence_Size(value);
  bool whole = true;
  out->n = (size_t)n;
  int64_t *ints = ig_onnx_push(x, ig_mem_mul(out->n + 1, sizeof *ints));
  float *floats = ig_onnx_push(x, ig_mem_mul(out->n + 1, sizeof *floats));
  for (Py_ssize_t i = 0; n >= 0 && ints && floats && i < n; i++) {
    PyObject *item = PySequence_GetItem(value, i);
    if (!item) return false;
    whole = whole && PyLong_Check(item);
    if (whole) ints[i] = PyLong_AsLongLong(item);
    floats[i] = (float)PyFloat_AsDouble(item);
    Py_DECREF(item);
    if (PyErr_Occurred()) return false;
  }
  out->type = whole ? IG_ONNX_INTS : IG_ONNX_FLOATS;
  out->ints = whole ? ints : NULL;
  out->floats = whole ? NULL : floats;
  return n >= 0 && ints && floats;
}

static bool take_texts(ig_onnx *x, PyObject *value, ig_onnx_attr *out) {
  Py_ssize_t n = PySequence_Size(value);
  const char **texts = n < 0 ? NULL : ig_onnx_push(x, ig_mem_mul((size_t)n + 1, sizeof *texts));
  for (Py_ssize_t i = 0; texts && i < n; i++) {
    PyObject *item = PySequence_GetItem(value, i);
    const char *text = item && PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
    if (text) texts[i] = ig_onnx_keep(x, text);
    if (item && !text && !PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a list of texts has other members too");
    Py_XDECREF(item);
    if (PyErr_Occurred()) return false;
  }
  out->type = IG_ONNX_STRINGS;
  out->strings = texts;
  out->n = (size_t)n;
  return texts != NULL;
}

static bool is_text_list(PyObject *value) {
  PyObject *first = PySequence_Size(value) > 0 ? PySequence_GetItem(value, 0) : NULL;
  bool text = first && PyUnicode_Check(first);
  Py_XDECREF(first);
  return text;
}

static bool take_tensor(ig_onnx *x, const char *name, const ig_tensor *t, ig_onnx_attr *out) {
  struct ig_onnx_tensor *made = ig_onnx_push(x, sizeof *made);
  int64_t *dims = ig_onnx_push(x, ig_mem_mul((size_t)t->ndim + 1, sizeof *dims));
  size_t n = ig_mem_mul((size_t)ig_tensor_numel(t), ig_dtype_size(t->dtype));
  void *at = ig_onnx_push(x, n + 1);
  if (!made || !dims || !at) return py_ok(x->c);
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_tensor_size(t, d).value;
  if (n) ig_tensor_read(t, t->dtype, at);
  *made = (struct ig_onnx_tensor){
      .name = "", .dtype = t->dtype, .ndim = t->ndim, .dims = dims, .data = {at, n}};
  *out = (ig_onnx_attr){.name = name, .type = IG_ONNX_TENSOR, .tensor = made};
  return true;
}

static bool take_attr(ig_onnx *x, const char *name, PyObject *value, ig_onnx_attr *out) {
  *out = (ig_onnx_attr){.name = name};
  if (PyFloat_Check(value)) {
    *out = ig_onnx_float(name, PyFloat_AS_DOUBLE(value));
  } else if (PyLong_Check(value)) {
    *out = ig_onnx_int(name, PyLong_AsLongLong(value));
  } else if (PyUnicode_Check(value)) {
    const char *text = PyUnicode_AsUTF8(value);
    *out = ig_onnx_string(name, text ? ig_onnx_keep(x, text) : "");
  } else if (PyList_Check(value) || PyTuple_Check(value)) {
    return is_text_list(value) ? take_texts(x, value, out) : take_list(x, value, out);
  } else if (py_is_tensor(value)) {
    return take_tensor(x, name, py_tensor_of(value), out);
  } else {
    PyErr_Format(PyExc_TypeError,
                 "attribute '%s': a number, a text, a tensor or a list of numbers, not %s", name,
                 Py_TYPE(value)->tp_name);
  }
  return !PyErr_Occurred();
}

static bool take_attrs(ig_onnx *x, PyObject *dict, ig_onnx_node *node) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  size_t n = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    const char *name = PyUnicode_AsUTF8(key);
    if (value == Py_None) continue;
    if (n == IG_ONNX_MAX_ATTRS) {
      PyErr_Format(PyExc_ValueError, "a node takes at most %d attributes", IG_ONNX_MAX_ATTRS);
      return false;
    }
    if (!name || !take_attr(x, ig_onnx_keep(x, name), value, &node->attrs[n++])) return false;
  }
  return true;
}

// emit(op_type, inputs, attributes, outputs=1, domain="") -> names
static PyObject *builder_emit(PyObject *o, PyObject *args) {
  const char *op = NULL;
  const char *domain = "";
  PyObject *inputs = NULL;
  PyObject *attrs = NULL;
  Py_ssize_t outputs = 1;
  if (!PyArg_ParseTuple(args, "sO!O!|ns:emit", &op, &PyList_Type, &inputs, &PyDict_Type, &attrs,
                        &outputs, &domain) ||
      !alive(o)) {
    return NULL;
  }
  ig_onnx *x = ((py_builder *)o)->x;
  if (outputs < 1 || outputs > 256) {
    PyErr_SetString(PyExc_ValueError, "a node has 1 to 256 outputs");
    return NULL;
  }
  ig_onnx_node node = {.op_type = ig_onnx_keep(x, op), .nouts = (size_t)outputs};
  if (domain[0]) node.domain = ig_onnx_keep(x, domain);
  // A symbolic of the TorchScript exporter knows the opset that the model ends at.
  else if (x->options->torchscript)
    node.domain = ig_onnx_final_domain(x, op);
  node.nmany = (size_t)PyList_GET_SIZE(inputs);
  const char **in = ig_onnx_push(x, ig_mem_mul(node.nmany + 1, sizeof *in));
  const char **outs = ig_onnx_push(x, ig_mem_mul(node.nouts, sizeof *outs));
  for (size_t i = 0; in && i < node.nmany; i++) {
    const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(inputs, (Py_ssize_t)i));
    if (!name) return NULL;
    in[i] = ig_onnx_keep(x, name);
  }
  for (size_t i = 0; outs && i < node.nouts; i++) outs[i] = ig_onnx_fresh(x, op);
  node.many = in;
  node.outs = outs;
  if (!take_attrs(x, attrs, &node)) return NULL;
  if (!py_ok(x->c) || !in || !outs) return NULL;
  (void)ig_onnx_emit(x, &node);
  PyObject *list = PyList_New(outputs);
  for (Py_ssize_t i = 0; list && i < outputs; i++) {
    PyList_SET_ITEM(list, i, PyUnicode_FromString(outs[i]));
  }
  return list;
}

// constant(tensor) -> name of an initializer
static PyObject *builder_constant(PyObject *o, PyObject *tensor) {
  if (!alive(o)) return NULL;
  if (!py_is_tensor(tensor)) {
    PyErr_SetString(PyExc_TypeError, "constant takes a tensor");
    return NULL;
  }
  ig_onnx *x = ((py_builder *)o)->x;
  const ig_tensor *t = py_tensor_of(tensor);
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_tensor_size(t, d).value;
  const char *name = NULL;
  void *at = ig_onnx_constant(x, ig_onnx_fresh(x, "given"), t->dtype, dims, t->ndim, &name);
  if (at) ig_tensor_read(t, t->dtype, at);
  return PyUnicode_FromString(name);
}

static PyObject *builder_opset(PyObject *o, void *unused) {
  (void)unused;
  return alive(o) ? PyLong_FromLong(((py_builder *)o)->x->opset) : NULL;
}

static PyMethodDef builder_methods[] = {
    {"emit", builder_emit, METH_VARARGS, "Adds a node; the names of its outputs."},
    {"constant", builder_constant, METH_O, "Adds an initializer; its name."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef builder_getset[] = {{"opset", builder_opset, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};
static PyTypeObject builder_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.OnnxBuilder",
    .tp_basicsize = sizeof(py_builder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = builder_methods,
    .tp_getset = builder_getset,
};

// ---- custom translations ----

// Arguments of the functions: a tensor as (name, example), other values unchanged.
static PyObject *operand(ig_onnx *x, const ig_value *v) {
  if (v->kind == IG_KIND_LIST) {
    PyObject *list = PyList_New((Py_ssize_t)v->list.n);
    for (size_t i = 0; list && i < v->list.n; i++) {
      PyObject *item = operand(x, &v->list.at[i]);
      if (!item) Py_CLEAR(list);
      if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
  }
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (!t && !(v->kind == IG_KIND_NODE && ig_onnx_is_symbolic(v))) {
    return py_from_value(x->c, v->kind == IG_KIND_NODE ? &v->node->val : v);
  }
  const char *name = ig_onnx_operand(x, v, IG_DTYPE_COUNT);
  return Py_BuildValue("(sN)", name, py_from_value(x->c, &v->node->val));
}

// The function's results go to the names that the call has.
static bool take_results(ig_onnx *x, const ig_onnx_call *call, PyObject *names) {
  size_t want = call->outs ? call->nouts : 1;
  if (!PyList_Check(names) || (size_t)PyList_GET_SIZE(names) != want) {
    PyErr_Format(PyExc_ValueError, "the translation of %s must give %zu values", call->node->target,
                 want);
    return false;
  }
  for (size_t i = 0; i < want; i++) {
    const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(names, (Py_ssize_t)i));
    const char *out = call->outs ? call->outs[i] : call->out;
    if (!name) return false;
    if (out) ig_onnx_same(x, ig_onnx_keep(x, name), out);
  }
  return true;
}

static bool translates(const char *target, void *user) {
  return PyDict_GetItemString(user, target) != NULL;
}

// translations[target](builder, operands) -> names
static bool translate(ig_onnx *x, const ig_onnx_call *call, void *user) {
  PyObject *fn = PyDict_GetItemString(user, call->node->target);
  size_t n = call->node->op->schema.nargs;
  PyObject *list = PyList_New((Py_ssize_t)n);
  py_builder *b = PyObject_New(py_builder, &builder_type);
  bool ok = list && b;
  if (b) b->x = x;
  for (size_t i = 0; ok && i < n; i++) {
    PyObject *item = operand(x, &call->args[i]);
    ok = item != NULL;
    if (item) PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  PyObject *names = ok ? PyObject_CallFunctionObjArgs(fn, (PyObject *)b, list, NULL) : NULL;
  ok = names && take_results(x, call, names);
  if (b) b->x = NULL;
  Py_XDECREF(names);
  Py_XDECREF((PyObject *)b);
  Py_XDECREF(list);
  return ok;
}

// ---- writing ----

// What a translation raised comes first.
static PyObject *raise_first(ig_ctx *c) {
  PyObject *type = NULL;
  PyObject *value = NULL;
  PyObject *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  (void)py_raise(c);
  if (type) PyErr_Restore(type, value, trace);
  return NULL;
}

// The memory of a sink is a bytes object, so that a model is not copied into one.
static void *resize_bytes(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)old_size;
  PyObject **bytes = user;
  if (new_size == 0 || new_size > PY_SSIZE_T_MAX) {
    if (new_size == 0) Py_CLEAR(*bytes);
    return NULL;
  }
  if (!ptr) {
    Py_XSETREF(*bytes, PyBytes_FromStringAndSize(NULL, (Py_ssize_t)new_size));
  } else {
    (void)_PyBytes_Resize(bytes, (Py_ssize_t)new_size);
  }
  if (!*bytes) PyErr_Clear();  // the sink says so
  return *bytes ? PyBytes_AS_STRING(*bytes) : NULL;
}

static PyObject *write_bytes(ig_ctx *c, const ig_program *p, const ig_onnx_options *options) {
  PyObject *bytes = NULL;
  ig_sink sink = ig_sink_memory((ig_alloc){.fn = resize_bytes, .user = &bytes});
  ig_status st = ig_program_convert_onnx(c, p, options, NULL, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  if (st != IG_OK) {
    (void)raise_first(c);
    ig_sink_drop(&sink);
    return NULL;
  }
  if (bytes && sink.n != (size_t)PyBytes_GET_SIZE(bytes))
    (void)_PyBytes_Resize(&bytes, (Py_ssize_t)sink.n);
  return bytes;
}

static bool call_write(void *user, const void *data, size_t n) {
  PyObject *view = PyMemoryView_FromMemory((char *)data, (Py_ssize_t)n, PyBUF_READ);
  PyObject *out = view ? PyObject_CallOneArg(user, view) : NULL;
  Py_XDECREF(view);
  Py_XDECREF(out);
  return out != NULL;
}

// Into pieces for a function, which copies them; its exceptions are propagated.
static PyObject *write_pieces(ig_ctx *c, const ig_program *p, const ig_onnx_options *options,
                              PyObject *to) {
  ig_sink sink;
  ig_status st = ig_sink_call(c, call_write, to, &sink);
  if (st == IG_OK) st = ig_program_convert_onnx(c, p, options, NULL, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&sink);
  return st == IG_OK ? Py_NewRef(Py_None) : raise_first(c);
}

// {name: tensor}; the texts live as long as the dictionary.
static bool take_weights(PyObject *dict, ig_onnx_options *options) {
  if (!PyDict_Check(dict)) return true;
  ig_weight *all = PyMem_Calloc((size_t)PyDict_GET_SIZE(dict) + 1, sizeof *all);
  options->weights = all;
  if (!all) PyErr_NoMemory();
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  while (all && PyDict_Next(dict, &at, &key, &value)) {
    const char *name = PyUnicode_AsUTF8(key);
    if (name && !py_is_tensor(value)) PyErr_Format(PyExc_TypeError, "'%s' is no tensor", name);
    if (PyErr_Occurred() || !py_settled(value)) return false;
    all[options->nweights++] = (ig_weight){.name = name, .tensor = py_tensor_of(value)};
  }
  return all != NULL;
}

static bool take_external(const char *text, ig_onnx_external *out) {
  static const char *const names[] = {"auto", "never", "always"};
  for (size_t i = 0; i < PY_COUNT(names); i++) {
    *out = (ig_onnx_external)i;
    if (strcmp(text, names[i]) == 0) return true;
  }
  PyErr_Format(PyExc_ValueError, "external data: 'auto', 'never' or 'always', not '%s'", text);
  return false;
}

static PyObject *write_to(PyObject *o, const char *path, PyObject *to, bool dry,
                          const ig_onnx_options *options) {
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = NULL;
  if (dry) {
    ig_status st = ig_program_convert_onnx(c, py_program_of(o), options, NULL, NULL);
    out = st == IG_OK ? Py_NewRef(Py_None) : raise_first(c);
  } else if (to != Py_None) {
    out = write_pieces(c, py_program_of(o), options, to);
  } else if (!path) {
    out = write_bytes(c, py_program_of(o), options);
  } else if (ig_program_convert_onnx(c, py_program_of(o), options, path, NULL) == IG_OK) {
    out = Py_NewRef(Py_None);
  } else {
    (void)raise_first(c);
  }
  ig_scope_close(c, s);
  return out;
}

// {domain: version}; the texts stay those of the dictionary.
static bool take_opsets(PyObject *given, ig_onnx_options *options) {
  if (given == Py_None) return true;
  if (!PyDict_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "opsets: expected a dictionary of domains and versions");
    return false;
  }
  Py_ssize_t at = 0;
  PyObject *key = NULL;
  PyObject *value = NULL;
  ig_opset *list = PyMem_Calloc((size_t)PyDict_Size(given) + 1, sizeof *list);
  options->opsets = list;
  if (!list) return PyErr_NoMemory() != NULL;
  while (PyDict_Next(given, &at, &key, &value)) {
    const char *name = PyUnicode_AsUTF8(key);
    long long version = name ? PyLong_AsLongLong(value) : -1;
    if (!name || PyErr_Occurred()) return false;
    list[options->nopsets++] = (ig_opset){name, version};
  }
  return true;
}

// [(value, axis, name)]; the texts stay those of the list.
static bool take_axes(PyObject *given, ig_onnx_options *options) {
  if (given == Py_None) return true;
  if (!PyList_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "axes: expected a list of (value, axis, name)");
    return false;
  }
  ig_onnx_axis *list = PyMem_Calloc((size_t)PyList_GET_SIZE(given) + 1, sizeof *list);
  options->axes = list;
  if (!list) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given); i++) {
    ig_onnx_axis *a = &list[options->naxes++];
    long long axis = 0;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(given, i), "sLs:axes", &a->value, &axis, &a->name))
      return false;
    a->axis = axis;
  }
  return true;
}

// [(output, dim, size)]
static bool take_sequences(PyObject *given, ig_onnx_options *options) {
  if (given == Py_None) return true;
  if (!PyList_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "sequences: expected a list of (output, dim, size)");
    return false;
  }
  ig_onnx_sequence *list = PyMem_Calloc((size_t)PyList_GET_SIZE(given) + 1, sizeof *list);
  options->sequences = list;
  if (!list) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given); i++) {
    long long dim = 0;
    long long size = 0;
    Py_ssize_t output = 0;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(given, i), "nLL:sequences", &output, &dim, &size))
      return false;
    list[options->nsequences++] = (ig_onnx_sequence){(size_t)output, dim, size};
  }
  return true;
}

// [number of an input]
static bool take_measured(PyObject *given, ig_onnx_options *options) {
  if (given == Py_None) return true;
  if (!PyList_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "measured_inputs: expected a list of integers");
    return false;
  }
  size_t *list = PyMem_Calloc((size_t)PyList_GET_SIZE(given) + 1, sizeof *list);
  options->measured_inputs = list;
  if (!list) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given); i++) {
    size_t number = PyLong_AsSize_t(PyList_GET_ITEM(given, i));
    if (PyErr_Occurred()) return false;
    list[options->nmeasured_inputs++] = number;
  }
  return true;
}

static void take_translations(PyObject *given, ig_onnx_options *options) {
  if (!PyDict_Check(given)) return;
  options->translates = translates;
  options->translate = translate;
  options->user = given;
}

static void drop_lists(const ig_onnx_options *options) {
  PyMem_Free((void *)options->weights);
  PyMem_Free((void *)options->opsets);
  PyMem_Free((void *)options->axes);
  PyMem_Free((void *)options->sequences);
  PyMem_Free((void *)options->measured_inputs);
  PyMem_Free((void *)options->input_names);
  PyMem_Free((void *)options->output_names);
}

// write_onnx(path=None, *, opset, external, input_names, output_names, ...) -> bytes, or None when
// there is a path or a function `write` of pieces; dry: only checks whether it can be written
static PyObject *program_write_onnx(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"path",
                         "opset",
                         "external",
                         "input_names",
                         "output_names",
                         "functions",
                         "weights_as_inputs",
                         "initializers_as_inputs",
                         "metadata",
                         "node_names",
                         "folding",
                         "user_outputs",
                         "dry",
                         "translations",
                         "weights",
                         "opsets",
                         "axes",
                         "torchscript",
                         "training",
                         "sequences",
                         "none_outputs",
                         "measured_inputs",
                         "write",
                         NULL};
  const char *path = NULL;
  const char *external = "auto";
  PyObject *inputs = Py_None;
  PyObject *outputs = Py_None;
  ig_onnx_options options = {.size = sizeof options};
  int functions = 0;
  int as_inputs = 0;
  int defaults = 0;
  int metadata = 1;
  int names = 1;
  int folding = 1;
  int user_outputs = 0;
  int dry = 0;
  PyObject *translations = Py_None;
  PyObject *weights = Py_None;
  PyObject *opsets = Py_None;
  PyObject *axes = Py_None;
  PyObject *sequences = Py_None;
  PyObject *measured = Py_None;
  int torchscript = 0;
  int nones = 0;
  int training = 0;
  PyObject *write = Py_None;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "|z$isOOppppppppOOOOppOpOO:write_onnx", keys, &path, &options.opset,
          &external, &inputs, &outputs, &functions, &as_inputs, &defaults, &metadata, &names,
          &folding, &user_outputs, &dry, &translations, &weights, &opsets, &axes, &torchscript,
          &training, &sequences, &nones, &measured, &write)) {
    return NULL;
  }
  options.functions = functions;
  options.weights_as_inputs = as_inputs;
  options.initializers_as_inputs = defaults;
  options.no_metadata = !metadata;
  options.no_node_names = !names;
  options.no_folding = !folding;
  options.user_outputs = user_outputs;
  options.torchscript = torchscript;
  options.none_outputs = nones;
  options.training = training;
  PyObject *keep[2] = {NULL, NULL};
  PyObject *out = NULL;
  take_translations(translations, &options);
  if (take_external(external, &options.external) && take_weights(weights, &options) &&
      take_opsets(opsets, &options) && take_axes(axes, &options) &&
      take_sequences(sequences, &options) && take_measured(measured, &options) &&
      take_names(inputs, &keep[0], &options.input_names, &options.ninput_names) &&
      take_names(outputs, &keep[1], &options.output_names, &options.noutput_names)) {
    out = write_to(o, path, write, dry, &options);
  }
  drop_lists(&options);
  Py_XDECREF(keep[0]);
  Py_XDECREF(keep[1]);
  return out;
}

static bool append_name(PyObject *list, const char *target) {
  PyObject *name = PyUnicode_FromString(target);
  bool ok = name && PyList_Append(list, name) == 0;
  Py_XDECREF(name);
  return ok;
}

// onnx_lowered() -> names of operators without a row that partitions take all the same
static PyObject *onnx_lowered(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *list = PyList_New(0);
  for (const char *const *target = ig_onnx_lowered_whole; list && *target; target++) {
    if (!append_name(list, *target)) Py_CLEAR(list);
  }
  return list;
}

// onnx_targets() -> names of operators with a row
static PyObject *onnx_targets(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *list = PyList_New(0);
  for (const ig_onnx_row *const *family = ig_onnx_families; list && *family; family++) {
    for (const ig_onnx_row *row = *family; list && row->target; row++) {
      if (!append_name(list, row->target)) Py_CLEAR(list);
    }
  }
  return list;
}

static PyMethodDef functions[] = {
    {"onnx_lowered", onnx_lowered, METH_NOARGS, "Others that are written as other operators."},
    {"onnx_targets", onnx_targets, METH_NOARGS, "Operators that are written as ONNX as they are."},
    {NULL, NULL, 0, NULL},
};

// is_training(): whether the program may mutate its operands, as captured
static PyObject *program_is_training(PyObject *o, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(ig_program_is_training(py_program_of(o)));
}

static PyMethodDef methods[] = {
    {"is_training", program_is_training, METH_NOARGS, "Whether it may write to its operands."},
    {"write_onnx", (PyCFunction)(void (*)(void))program_write_onnx, METH_VARARGS | METH_KEYWORDS,
     "Writes an ONNX model: into a file, or as bytes."},
    {NULL, NULL, 0, NULL},
};

int py_add_onnx(PyObject *m) {
  PyObject *program = PyObject_GetAttrString(m, "Program");
  if (!program) return -1;
  PyTypeObject *type = (PyTypeObject *)program;
  int bad = PyType_Ready(&builder_type) || PyModule_AddFunctions(m, functions);
  for (PyMethodDef *d = methods; !bad && d->ml_name; d++) {
    PyObject *method = PyDescr_NewMethod(type, d);
    bad = !method || PyDict_SetItemString(type->tp_dict, d->ml_name, method) != 0;
    Py_XDECREF(method);
  }
  PyType_Modified(type);
  Py_DECREF(program);
  return bad ? -1 : 0;
}
