// SPDX-License-Identifier: Apache-2.0
// The ONNX model checker and shape inference from Python.
#include "base/file.h"
#include "ingot/onnx.h"
#include "onnx/proto_model.h"
#include "py.h"

// All problems of a model raise the same exception; its message has the details.
static PyObject *verdict(ig_ctx *c, ig_status st) {
  if (st == IG_OK) Py_RETURN_NONE;
  if (st == IG_NOMEM || st == IG_IO) return py_raise(c);
  return py_raise_as(c, PyExc_RuntimeError);
}

static PyObject *check_proto(PyObject *m, PyObject *args, PyObject *kwargs) {
  (void)m;
  static char *keys[] = {"proto", "full_check", NULL};
  Py_buffer bytes;
  int full = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|p:_check_onnx_proto", keys, &bytes, &full))
    return NULL;
  ig_ctx *c = py_ctx();
  ig_onnx_model *model = NULL;
  const ig_bytes given = {bytes.buf, (size_t)bytes.len};
  ig_status st = ig_om_parse_borrowed(c, "model", given, &model);
  if (st == IG_OK) st = full ? ig_onnx_check_shapes(c, model) : ig_onnx_check(c, model);
  ig_onnx_free(model);
  PyBuffer_Release(&bytes);
  return verdict(c, st);
}

static PyObject *check_file(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *bytes = NULL;
  int full = 0;
  if (!PyArg_ParseTuple(args, "O&|p:check_onnx_file", PyUnicode_FSConverter, &bytes, &full))
    return NULL;
  ig_ctx *c = py_ctx();
  ig_onnx_model *model = NULL;
  ig_status st = ig_onnx_open(c, PyBytes_AS_STRING(bytes), NULL, &model);
  if (st == IG_OK) st = full ? ig_onnx_check_shapes(c, model) : ig_onnx_check(c, model);
  ig_onnx_free(model);
  Py_DECREF(bytes);
  return verdict(c, st);
}

static PyObject *inferred(ig_ctx *c, const Py_buffer *bytes) {
  ig_onnx_model *model = NULL;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_onnx_parse(c, "model", bytes->buf, (size_t)bytes->len, NULL, NULL, &model);
  if (st == IG_OK) st = ig_onnx_infer(c, model, bytes->buf, (size_t)bytes->len, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  PyObject *out = NULL;
  if (st == IG_OK) out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  ig_onnx_free(model);
  ig_sink_drop(&sink);
  if (st != IG_OK) (void)verdict(c, st);
  return out;
}

static PyObject *infer_proto(PyObject *m, PyObject *given) {
  (void)m;
  Py_buffer bytes;
  if (PyObject_GetBuffer(given, &bytes, PyBUF_SIMPLE) != 0) return NULL;
  ig_ctx *c = py_ctx();
  ig_scope s = ig_scope_open(c);
  PyObject *out = inferred(c, &bytes);
  ig_scope_close(c, s);
  PyBuffer_Release(&bytes);
  return out;
}

// Bytes to bytes, or file to file where both paths are given.
static PyObject *converted(ig_ctx *c, ig_onnx_model *model, int opset, const char *path) {
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = ig_onnx_convert(c, model, opset, IG_ONNX_EXTERNAL_AUTO, path, path ? NULL : &sink);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  PyObject *out = NULL;
  if (st == IG_OK) out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  ig_sink_drop(&sink);
  if (st != IG_OK) (void)verdict(c, st);
  return out;
}

static PyObject *convert_proto(PyObject *m, PyObject *args) {
  (void)m;
  Py_buffer bytes;
  int opset = 0;
  if (!PyArg_ParseTuple(args, "y*i:convert_onnx", &bytes, &opset)) return NULL;
  ig_ctx *c = py_ctx();
  ig_onnx_model *model = NULL;
  ig_status st = ig_onnx_parse(c, "model", bytes.buf, (size_t)bytes.len, NULL, NULL, &model);
  PyObject *out = st == IG_OK ? converted(c, model, opset, NULL) : verdict(c, st);
  ig_onnx_free(model);
  PyBuffer_Release(&bytes);
  return out;
}

static PyObject *convert_file(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *from = NULL;
  PyObject *to = NULL;
  int opset = 0;
  if (!PyArg_ParseTuple(args, "O&O&i:convert_onnx_file", PyUnicode_FSConverter, &from,
                        PyUnicode_FSConverter, &to, &opset)) {
    Py_XDECREF(from);
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_onnx_model *model = NULL;
  ig_status st = ig_onnx_open(c, PyBytes_AS_STRING(from), NULL, &model);
  PyObject *out = st == IG_OK ? converted(c, model, opset, PyBytes_AS_STRING(to)) : verdict(c, st);
  ig_onnx_free(model);
  Py_DECREF(from);
  Py_DECREF(to);
  return out;
}

PyMethodDef py_onnx_check_functions[] = {
    {"convert_onnx", convert_proto, METH_VARARGS,
     "Bytes of a model, opset -> bytes at that opset."},
    {"convert_onnx_file", convert_file, METH_VARARGS, "The same from file to file."},
    {"infer_onnx", infer_proto, METH_O, "Bytes of a model -> the same with inferred shapes."},
    {"_check_onnx_proto", (PyCFunction)(void (*)(void))check_proto, METH_VARARGS | METH_KEYWORDS,
     "_check_onnx_proto(proto, full_check=False): RuntimeError lists what is wrong with a model."},
    {"check_onnx_file", check_file, METH_VARARGS, "The same for a file and its external data."},
    {NULL, NULL, 0, NULL},
};
