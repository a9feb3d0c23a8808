// SPDX-License-Identifier: Apache-2.0
// ONNX models from Python: opening, running on values of every kind, conversion to programs.
//
// A value is a Tensor; a pair (element type, Tensor) where the tensor represents a type that it
// lacks (int4, float8_e4m3fnuz ...); a triple (8, shape, [bytes]) for strings; a list for a
// sequence; a dict for a map; None for what is absent. An input that the model declares as strings
// also takes a str, lists of them, and arrays of NumPy.
#include "ingot/onnx.h"

#include <string.h>

#include "fx.h"
#include "onnx_read/float8.h"
#include "onnx_read/session.h"
#include "py.h"

typedef struct py_onnx {
  PyObject_HEAD ig_onnx_model *m;
} py_onnx;

static PyTypeObject onnx_type;

static PyObject *wrap_model(ig_ctx *c, ig_status st, ig_onnx_model *m) {
  if (st != IG_OK) return py_raise(c);
  py_onnx *o = PyObject_New(py_onnx, &onnx_type);
  if (o) {
    o->m = m;
  } else {
    ig_onnx_free(m);
  }
  return (PyObject *)o;
}

static ig_onnx_model *model_of(PyObject *o) {
  return ((py_onnx *)o)->m;
}

static void onnx_dealloc(PyObject *o) {
  ig_onnx_free(model_of(o));
  PyObject_Free(o);
}

// onnx_open(path)
static PyObject *onnx_open(PyObject *module, PyObject *arg) {
  (void)module;
  PyObject *path = NULL;
  if (!PyUnicode_FSConverter(arg, &path)) return NULL;
  ig_ctx *c = py_ctx();
  ig_onnx_model *m = NULL;
  ig_status st = ig_onnx_open(c, PyBytes_AS_STRING(path), NULL, &m);
  Py_DECREF(path);
  return wrap_model(c, st, m);
}

// onnx_parse(data, name, folder=None)
static PyObject *onnx_parse(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer data;
  const char *name = NULL;
  const char *folder = NULL;
  if (!PyArg_ParseTuple(args, "y*s|z:onnx_parse", &data, &name, &folder)) return NULL;
  ig_ctx *c = py_ctx();
  ig_onnx_model *m = NULL;
  ig_status st = ig_onnx_parse(c, name, data.buf, (size_t)data.len, folder, NULL, &m);
  PyBuffer_Release(&data);
  return wrap_model(c, st, m);
}

// ---- values in

static ig_rd_value *take_value(ig_rd *r, PyObject *o);

static ig_rd_value *take_list(ig_rd *r, PyObject *o) {
  size_t n = (size_t)PyList_GET_SIZE(o);
  ig_rd_value **items = ig_scope_array(r->c, n, sizeof *items);
  if (!items) return NULL;
  for (size_t i = 0; i < n; i++) {
    items[i] = take_value(r, PyList_GET_ITEM(o, (Py_ssize_t)i));
    if (!items[i]) return NULL;
  }
  return ig_rd_of_items(r, IG_RD_SEQUENCE, items, n);
}

static bool take_shape(PyObject *o, int64_t *dims, int *ndim, size_t *total) {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) > IG_MAX_DIM) return false;
  *ndim = (int)PyTuple_GET_SIZE(o);
  *total = 1;
  for (int d = 0; d < *ndim; d++) {
    dims[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(o, d));
    if (dims[d] < 0 || __builtin_mul_overflow(*total, (size_t)dims[d], total)) return false;
  }
  return true;
}

static ig_rd_value *take_strings(ig_rd *r, PyObject *shape, PyObject *list) {
  int64_t dims[IG_MAX_DIM];
  int ndim = 0;
  size_t total = 0;
  if (!take_shape(shape, dims, &ndim, &total) || !PyList_Check(list) ||
      (size_t)PyList_GET_SIZE(list) != total) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "expected a shape and that many bytes");
    return NULL;
  }
  ig_bytes *texts = ig_scope_array(r->c, total, sizeof *texts);
  for (size_t i = 0; texts && i < total; i++) {
    PyObject *item = PyList_GET_ITEM(list, (Py_ssize_t)i);
    if (!PyBytes_Check(item)) {
      PyErr_SetString(PyExc_TypeError, "strings must be given as bytes");
      return NULL;
    }
    texts[i] = (ig_bytes){(const uint8_t *)PyBytes_AS_STRING(item), (size_t)PyBytes_GET_SIZE(item)};
  }
  return texts ? ig_rd_of_strings(r, texts, total, dims, ndim) : NULL;
}

static ig_rd_value *take_tuple(ig_rd *r, PyObject *o) {
  Py_ssize_t n = PyTuple_GET_SIZE(o);
  if (n == 3) return take_strings(r, PyTuple_GET_ITEM(o, 1), PyTuple_GET_ITEM(o, 2));
  PyObject *t = n == 2 ? PyTuple_GET_ITEM(o, 1) : NULL;
  long elem = n == 2 ? PyLong_AsLong(PyTuple_GET_ITEM(o, 0)) : 0;
  if (PyErr_Occurred()) return NULL;
  if (!t || !py_is_tensor(t) || ig_rd_carrier((int)elem) != py_tensor_of(t)->dtype) {
    PyErr_SetString(PyExc_TypeError, "expected (element type, Tensor of the type that carries it)");
    return NULL;
  }
  if (!py_settled(t)) return NULL;
  return ig_rd_of_tensor(r, py_tensor_of(t), (int)elem);
}

static ig_rd_value *take_value(ig_rd *r, PyObject *o) {
  if (o == Py_None) return ig_rd_of_items(r, IG_RD_OPTIONAL, NULL, 0);
  if (!py_settled(o)) return NULL;
  if (py_is_tensor(o)) return ig_rd_of_tensor(r, py_tensor_of(o), 0);
  if (PyList_Check(o)) return take_list(r, o);
  if (PyTuple_Check(o)) return take_tuple(r, o);
  PyErr_Format(PyExc_TypeError, "a value of an ONNX model cannot be a %s", Py_TYPE(o)->tp_name);
  return NULL;
}

// ---- values out

static PyObject *give_value(ig_rd *r, ig_rd_value *v);

static PyObject *give_strings(const ig_rd_value *v) {
  PyObject *shape = PyTuple_New(v->ndim);
  PyObject *list = PyList_New((Py_ssize_t)v->nstrings);
  for (int d = 0; shape && d < v->ndim; d++) {
    PyTuple_SET_ITEM(shape, d, PyLong_FromLongLong(v->dims[d]));
  }
  for (size_t i = 0; list && i < v->nstrings; i++) {
    PyObject *s =
        PyBytes_FromStringAndSize((const char *)v->strings[i].at, (Py_ssize_t)v->strings[i].n);
    PyList_SET_ITEM(list, (Py_ssize_t)i, s);
  }
  return Py_BuildValue("(iNN)", (int)IG_OM_STRING, shape, list);
}

static PyObject *give_items(ig_rd *r, const ig_rd_value *v) {
  PyObject *list = PyList_New((Py_ssize_t)v->nitems);
  for (size_t i = 0; list && i < v->nitems; i++) {
    PyObject *item = give_value(r, v->items[i]);
    if (!item) {
      Py_DECREF(list);
      return NULL;
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

static PyObject *give_value(ig_rd *r, ig_rd_value *v) {
  switch (v->kind) {
    case IG_RD_TENSOR: {
      ig_tensor *t = ig_rd_tensor(r, v);
      PyObject *o = py_from_tensor(r->c, t);
      if (!o || ig_om_elem_dtype(v->elem) == t->dtype) return o;
      return Py_BuildValue("(iN)", v->elem, o);
    }
    case IG_RD_STRINGS:
      return give_strings(v);
    case IG_RD_OPTIONAL:
      if (v->nitems == 0) Py_RETURN_NONE;
      return give_value(r, v->items[0]);
    default: {
      PyObject *list = give_items(r, v);
      return v->kind == IG_RD_MAP && list ? Py_BuildValue("{sN}", "map", list) : list;
    }
  }
}

// ---- strings as Python has them

// The array of lists of str or bytes as (8, shape, [bytes]); `flat` is that list.
static bool flatten_texts(PyObject *o, PyObject *flat, int64_t *dims, int depth, int *ndim) {
  if (PyList_Check(o)) {
    Py_ssize_t n = PyList_GET_SIZE(o);
    bool first = depth == *ndim && PyList_GET_SIZE(flat) == 0;
    if (first && *ndim < IG_MAX_DIM) dims[(*ndim)++] = n;
    if (depth < *ndim && dims[depth] == n) {
      for (Py_ssize_t i = 0; i < n; i++) {
        if (!flatten_texts(PyList_GET_ITEM(o, i), flat, dims, depth + 1, ndim)) return false;
      }
      return true;
    }
  } else if (depth == *ndim && (PyUnicode_Check(o) || PyBytes_Check(o))) {
    PyObject *text =
        PyBytes_Check(o) ? Py_NewRef(o) : PyUnicode_AsEncodedString(o, "utf-8", "surrogateescape");
    bool ok = text && PyList_Append(flat, text) == 0;
    Py_XDECREF(text);
    return ok;
  }
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "expected a str or lists of str of equal lengths, found a %s%s",
                 Py_TYPE(o)->tp_name, PyList_Check(o) ? " of another length" : "");
  }
  return false;
}

static ig_rd_value *take_texts(ig_rd *r, PyObject *o) {
  int64_t dims[IG_MAX_DIM];
  int ndim = 0;
  ig_rd_value *v = NULL;
  PyObject *lists = PyList_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o)
                        ? Py_NewRef(o)
                        : PyObject_CallMethod(o, "tolist", NULL);
  PyObject *flat = lists ? PyList_New(0) : NULL;
  if (flat && flatten_texts(lists, flat, dims, 0, &ndim)) {
    PyObject *shape = PyTuple_New(ndim);
    for (int d = 0; shape && d < ndim; d++) {
      PyTuple_SET_ITEM(shape, d, PyLong_FromLongLong(dims[d]));
    }
    if (shape && !PyErr_Occurred()) v = take_strings(r, shape, flat);
    Py_XDECREF(shape);
  }
  Py_XDECREF(flat);
  Py_XDECREF(lists);
  return v;
}

// Does input i, of those without an initializer, take strings?
static bool takes_strings(const ig_onnx_model *m, size_t i) {
  ig_onnx_port port;
  return ig_onnx_input(m, i, &port) && port.elem == IG_OM_STRING;
}

static ig_rd_value *take_input(ig_rd *r, size_t i, PyObject *o) {
  bool texts = takes_strings(r->m, i) && !PyTuple_Check(o) && o != Py_None && !py_is_tensor(o);
  return texts ? take_texts(r, o) : take_value(r, o);
}

static PyObject *run_values(ig_rd *r, PyObject *list) {
  size_t n = (size_t)PyList_GET_SIZE(list);
  size_t nouts = r->m->graph->noutputs;
  ig_rd_value **in = ig_scope_array(r->c, n, sizeof *in);
  ig_rd_value **outs = ig_scope_array(r->c, nouts, sizeof *outs);
  if (!in || !outs) return py_raise(r->c);
  for (size_t i = 0; i < n; i++) {
    in[i] = take_input(r, i, PyList_GET_ITEM(list, (Py_ssize_t)i));
    if (!in[i]) return PyErr_Occurred() ? NULL : py_raise(r->c);
  }
  if (ig_rd_run(r, in, n, outs) != IG_OK) return py_raise(r->c);
  PyObject *out = PyList_New((Py_ssize_t)nouts);
  for (size_t i = 0; out && i < nouts; i++) {
    PyObject *item = give_value(r, outs[i]);
    if (!item) {
      Py_DECREF(out);
      return PyErr_Occurred() ? NULL : py_raise(r->c);
    }
    PyList_SET_ITEM(out, (Py_ssize_t)i, item);
  }
  return out;
}

// run([value ...]) -> [value ...]: one per input without an initializer, one per output
static PyObject *onnx_run(PyObject *o, PyObject *list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "run() takes a list of values");
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  ig_rd r;
  ig_mode_scope mode = ig_mode_push_grad(c, false);
  PyObject *out = ig_rd_init(&r, c, model_of(o)) == IG_OK ? run_values(&r, list) : py_raise(c);
  ig_rd_done(&r);
  ig_mode_pop(c, &mode);
  ig_scope_close(c, s);
  return out;
}

static PyObject *onnx_program(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_ctx *c = py_ctx();
  ig_program *p = NULL;
  ig_status st = ig_onnx_program(c, model_of(o), &p);
  return py_program_wrap(c, st, p);
}

// ---- description

static PyObject *ports(const ig_onnx_model *m, bool outputs) {
  size_t n = outputs ? ig_onnx_outputs(m) : ig_onnx_inputs(m);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    ig_onnx_port p;
    bool ok = outputs ? ig_onnx_output(m, i, &p) : ig_onnx_input(m, i, &p);
    PyObject *dims = ok && p.ndim >= 0 ? PyTuple_New(p.ndim) : Py_NewRef(Py_None);
    for (int d = 0; ok && dims && d < p.ndim; d++) {
      const char *param = NULL;
      int64_t v =
          outputs ? ig_onnx_output_dim(m, i, d, &param) : ig_onnx_input_dim(m, i, d, &param);
      PyTuple_SET_ITEM(dims, d, v < 0 ? Py_BuildValue("z", param) : PyLong_FromLongLong(v));
    }
    PyList_SET_ITEM(list, (Py_ssize_t)i, Py_BuildValue("(siN)", p.name, p.elem, dims));
  }
  return list;
}

static PyObject *onnx_inputs(PyObject *o, void *unused) {
  (void)unused;
  return ports(model_of(o), false);
}
static PyObject *onnx_outputs(PyObject *o, void *unused) {
  (void)unused;
  return ports(model_of(o), true);
}

static PyMethodDef onnx_methods[] = {
    {"run", onnx_run, METH_O, NULL},
    {"program", onnx_program, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef onnx_getset[] = {
    {"inputs", onnx_inputs, NULL, NULL, NULL},  // [(name, element type, dims)]
    {"outputs", onnx_outputs, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyTypeObject onnx_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.OnnxModel",
    .tp_basicsize = sizeof(py_onnx),
    .tp_dealloc = onnx_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = onnx_methods,
    .tp_getset = onnx_getset,
};

// ---- codes of small floats, for versions of the onnx package whose arrays hold them

// onnx_decode(element type, codes as uint8) -> float32; onnx_encode(element type, float32) -> uint8
static PyObject *recode(PyObject *args, bool decode) {
  int elem = 0;
  PyObject *o = NULL;
  if (!PyArg_ParseTuple(args, "iO", &elem, &o)) return NULL;
  ig_dtype from = decode ? IG_U8 : IG_F32;
  if (!ig_is_small_float(elem) || !py_is_tensor(o) || py_tensor_of(o)->dtype != from ||
      !ig_tensor_is_dense(py_tensor_of(o))) {
    PyErr_SetString(PyExc_TypeError,
                    "expected a type of small floats and a dense tensor of codes or numbers");
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  const ig_tensor *t = py_tensor_of(o);
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_tensor_size(t, d).value;
  ig_tensor *out = ig_tensor_empty(c, decode ? IG_F32 : IG_U8, dims, t->ndim);
  const void *at = ig_tensor_data(t);
  for (int64_t i = 0; out && i < ig_tensor_numel(out); i++) {
    if (decode) {
      ((float *)ig_tensor_data(out))[i] = ig_small_to_f32(elem, ((const uint8_t *)at)[i]);
    } else {
      ((uint8_t *)ig_tensor_data(out))[i] = ig_small_from_f32(elem, ((const float *)at)[i], false);
    }
  }
  PyObject *result = py_from_tensor(c, out);
  ig_scope_close(c, s);
  return result;
}
static PyObject *onnx_decode(PyObject *module, PyObject *args) {
  (void)module;
  return recode(args, true);
}
static PyObject *onnx_encode(PyObject *module, PyObject *args) {
  (void)module;
  return recode(args, false);
}

static PyMethodDef functions[] = {
    {"onnx_decode", onnx_decode, METH_VARARGS, NULL},
    {"onnx_encode", onnx_encode, METH_VARARGS, NULL},
    {"onnx_open", onnx_open, METH_O, NULL},
    {"onnx_parse", onnx_parse, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_onnx_models(PyObject *m) {
  return PyType_Ready(&onnx_type) || PyModule_AddFunctions(m, functions) ||
         PyModule_AddObjectRef(m, "OnnxModel", (PyObject *)&onnx_type) || py_add_onnx_graph(m);
}
