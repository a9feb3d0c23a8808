// SPDX-License-Identifier: Apache-2.0
// Named tensors in files: behind ingot.safetensors, ingot.load_file and ingot.save_file.
#include <string.h>

#include "arrays/arrays.h"
#include "arrays/torch_zip.h"
#include "ingot/script.h"
#include "object.h"

// A text as a str, lists as lists.
static PyObject *texts_of(const ig_value *v) {
  if (v->kind == IG_KIND_STR) return PyUnicode_FromString(v->str);
  PyObject *list = PyList_New((Py_ssize_t)v->list.n);
  for (size_t i = 0; list && i < v->list.n; i++) {
    PyObject *item = texts_of(&v->list.at[i]);
    if (item) {
      PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    } else {
      Py_CLEAR(list);
    }
  }
  return list;
}

static PyObject *tensors_of(ig_ctx *c, const ig_tensor_list *list) {
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i < list->n; i++) {
    const ig_weight *w = &list->at[i];
    PyObject *t = w->texts ? texts_of(w->texts) : py_from_tensor(c, w->tensor);
    if (!t || PyDict_SetItemString(out, list->at[i].name, t) != 0) Py_CLEAR(out);
    Py_XDECREF(t);
  }
  return out;
}

static PyObject *metadata_of(const ig_tensor_list *list) {
  if (!list->metadata) Py_RETURN_NONE;
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i < list->n_metadata; i++) {
    PyObject *v = PyUnicode_FromString(list->metadata[i].value);
    if (!v || PyDict_SetItemString(out, list->metadata[i].key, v) != 0) Py_CLEAR(out);
    Py_XDECREF(v);
  }
  return out;
}

// tensors_load(path or bytes, name) -> (dict of tensors, dict of texts or None)
static PyObject *tensors_load(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *source = NULL;
  const char *name = NULL;
  if (!PyArg_ParseTuple(args, "Os:tensors_load", &source, &name)) return NULL;
  ig_ctx *c = py_ctx();
  ig_tensor_list list = {0};
  ig_status st;
  ig_scope s = ig_scope_open(c);
  if (PyUnicode_Check(source)) {
    const char *path = PyUnicode_AsUTF8(source);
    st = path ? ig_tensors_open(c, path, NULL, &list) : IG_HOST;
  } else {
    Py_buffer b;
    st = PyObject_GetBuffer(source, &b, PyBUF_SIMPLE) == 0 ? IG_OK : IG_HOST;
    if (st == IG_OK) {
      ig_arrays_in in = {.name = name, .bytes = {b.buf, (size_t)b.len}};
      st = ig_tensors_parse(c, &in, &list);
      PyBuffer_Release(&b);
    }
  }
  PyObject *out = NULL;
  if (st == IG_OK) {
    PyObject *tensors = tensors_of(c, &list);
    PyObject *metadata = tensors ? metadata_of(&list) : NULL;
    if (metadata) out = PyTuple_Pack(2, tensors, metadata);
    Py_XDECREF(tensors);
    Py_XDECREF(metadata);
  } else if (!PyErr_Occurred()) {
    (void)py_raise(c);
  }
  ig_scope_close(c, s);
  return out;
}

// Names and tensors of a dict, which lends them.
static bool take_tensors(PyObject *dict, ig_weight *list, size_t *n) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    if (PyErr_Occurred()) return false;
    if (!name || !py_is_tensor(value)) {
      PyErr_Format(PyExc_TypeError, "expected a dictionary of names and tensors, found %s: %s",
                   py_type_name(key), py_type_name(value));
      return false;
    }
    if (!py_settled(value)) return false;
    list[(*n)++] = (ig_weight){.name = name, .tensor = py_tensor_of(value)};
  }
  return true;
}

static bool take_texts(PyObject *dict, ig_text_pair *pairs, size_t *n) {
  PyObject *key = NULL;
  PyObject *value = NULL;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    const char *text = name && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;
    if (PyErr_Occurred()) return false;
    if (!text) {
      PyErr_SetString(PyExc_TypeError, "metadata must be texts by texts");
      return false;
    }
    pairs[(*n)++] = (ig_text_pair){name, text};
  }
  return true;
}

// The list of a dict of tensors and a dict of texts, in the innermost scope; names are borrowed.
static bool list_of(ig_ctx *c, PyObject *tensors, PyObject *metadata, ig_tensor_list *out) {
  bool has = metadata != Py_None;
  if (has && !PyDict_Check(metadata)) {
    PyErr_SetString(PyExc_TypeError, "metadata must be texts by texts");
    return false;
  }
  size_t n = (size_t)PyDict_GET_SIZE(tensors);
  size_t m = has ? (size_t)PyDict_GET_SIZE(metadata) : 0;
  ig_weight *list = ig_scope_array(c, n + 1, sizeof *list);
  ig_text_pair *pairs = ig_scope_array(c, m + 1, sizeof *pairs);
  if (!list || !pairs) return py_ok(c);
  *out = (ig_tensor_list){list, 0, pairs, 0};
  return take_tensors(tensors, list, &out->n) &&
         (!has || take_texts(metadata, pairs, &out->n_metadata));
}

// tensors_save(dict, path, metadata or None, bits): the format by the ending of the name
static PyObject *tensors_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *tensors = NULL;
  PyObject *metadata = NULL;  // None, or a dict
  const char *path = NULL;
  int bits = 0;
  if (!PyArg_ParseTuple(args, "O!sOp:tensors_save", &PyDict_Type, &tensors, &path, &metadata,
                        &bits)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_tensor_list list;
  ig_scope s = ig_scope_open(c);
  bool ok = list_of(c, tensors, metadata, &list);
  ig_status st = IG_OK;
  if (ok) st = (bits ? ig_tensors_write_bits : ig_tensors_write)(c, path, &list);
  ig_scope_close(c, s);
  if (!ok) return NULL;
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

// safetensors_print(dict, metadata or None) -> bytes
static PyObject *safetensors_print(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *tensors = NULL;
  PyObject *metadata = NULL;
  if (!PyArg_ParseTuple(args, "O!O:safetensors_print", &PyDict_Type, &tensors, &metadata)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_tensor_list list;
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_scope s = ig_scope_open(c);
  bool ok = list_of(c, tensors, metadata, &list);
  ig_status st = ok ? ig_safetensors_print(c, &list, &sink) : IG_OK;
  if (ok && st == IG_OK) st = ig_sink_close(c, &sink);
  PyObject *out = NULL;
  if (ok && st == IG_OK) {
    out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  } else if (ok) {
    (void)py_raise(c);
  }
  ig_sink_drop(&sink);
  ig_scope_close(c, s);
  return out;
}

// safetensors_save(dict, path, metadata or None)
static PyObject *safetensors_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *tensors = NULL;
  PyObject *metadata = NULL;
  const char *path = NULL;
  if (!PyArg_ParseTuple(args, "O!sO:safetensors_save", &PyDict_Type, &tensors, &path, &metadata)) {
    return NULL;
  }
  ig_ctx *c = py_ctx();
  ig_tensor_list list;
  ig_scope s = ig_scope_open(c);
  bool ok = list_of(c, tensors, metadata, &list);
  ig_sink sink;
  ig_status st = ok ? ig_sink_file(c, path, &sink) : IG_OK;
  if (ok && st == IG_OK) {
    st = ig_safetensors_print(c, &list, &sink);
    if (st == IG_OK) st = ig_sink_close(c, &sink);
    ig_sink_drop(&sink);
  }
  ig_scope_close(c, s);
  if (!ok) return NULL;
  return st == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

// write_file(path, bytes): atomically
static PyObject *write_file(PyObject *module, PyObject *args) {
  (void)module;
  const char *path = NULL;
  const char *data = NULL;
  Py_ssize_t n = 0;
  if (!PyArg_ParseTuple(args, "sy#:write_file", &path, &data, &n)) return NULL;
  ig_ctx *c = py_ctx();
  return ig_file_write(c, path, data, (size_t)n) == IG_OK ? Py_NewRef(Py_None) : py_raise(c);
}

// archive_kind(path) -> "torch", "torchscript", "pt2" or "" for a zip archive
static PyObject *archive_kind(PyObject *module, PyObject *path) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(path);
  if (!text) return NULL;
  ig_ctx *c = py_ctx();
  ig_file *f = NULL;
  ig_torch_zip z;
  ig_status st = ig_file_map(c, text, &f);
  if (st == IG_OK) st = ig_torch_zip_open(c, text, f->bytes, f, NULL, true, &z);
  const char *kind = "";
  if (st == IG_OK) {
    if (ig_zip_find(&z.zip, "serialized_exported_program.json") ||
        ig_torch_zip_find(&z, "archive_format")) {
      kind = "pt2";
    } else if (ig_torch_zip_find(&z, "data.pkl")) {
      kind = ig_torch_zip_find(&z, "constants.pkl") ? "torchscript" : "torch";
    }
    ig_torch_zip_free(&z);
  }
  ig_file_release(f);
  return st == IG_OK ? PyUnicode_FromString(kind) : py_raise(c);
}

// ---- TorchScript

static PyObject *weights_of(ig_ctx *c, const ig_ts *ts) {
  static const char *const roles[] = {"parameter", "buffer", "attribute"};
  const ig_ts_weight *list = NULL;
  size_t n = ig_ts_weights(ts, &list);
  PyObject *out = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; out && i < n; i++) {
    PyObject *t = py_from_tensor(c, list[i].tensor);
    PyObject *row = t ? Py_BuildValue("(ssN)", list[i].name, roles[list[i].role], t) : NULL;
    if (!row) {
      Py_CLEAR(out);
    } else {
      PyList_SET_ITEM(out, (Py_ssize_t)i, row);
    }
  }
  return out;
}

static PyObject *modules_of(const ig_ts *ts) {
  const ig_ts_module *list = NULL;
  size_t n = ig_ts_modules(ts, &list);
  PyObject *out = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; out && i < n; i++) {
    PyObject *row = Py_BuildValue("(ssO)", list[i].name, list[i].class_name,
                                  list[i].training ? Py_True : Py_False);
    if (!row) {
      Py_CLEAR(out);
    } else {
      PyList_SET_ITEM(out, (Py_ssize_t)i, row);
    }
  }
  return out;
}

static PyObject *sources_of(const ig_ts *ts) {
  const ig_ts_source *list = NULL;
  size_t n = ig_ts_sources(ts, &list);
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i < n; i++) {
    PyObject *text = PyUnicode_FromString(list[i].text);
    if (!text || PyDict_SetItemString(out, list[i].name, text) != 0) Py_CLEAR(out);
    Py_XDECREF(text);
  }
  return out;
}

static PyObject *members_of(const ig_ts *ts) {
  const ig_ts_member *list = NULL;
  size_t n = ig_ts_members(ts, &list);
  PyObject *out = PyDict_New();
  for (size_t i = 0; out && i < n; i++) {
    PyObject *size = PyLong_FromUnsignedLongLong(list[i].size);
    if (!size || PyDict_SetItemString(out, list[i].name, size) != 0) Py_CLEAR(out);
    Py_XDECREF(size);
  }
  return out;
}

// ts_open(path) -> (version, bytecode, members, sources, modules, weights, constants)
static PyObject *ts_open(PyObject *module, PyObject *path) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(path);
  if (!text) return NULL;
  ig_ctx *c = py_ctx();
  ig_ts *ts = NULL;
  if (ig_ts_open(c, text, NULL, &ts) != IG_OK) return py_raise(c);
  PyObject *out = Py_BuildValue("(iLNNNNN)", ig_ts_version(ts), (long long)ig_ts_bytecode(ts),
                                members_of(ts), sources_of(ts), modules_of(ts), weights_of(c, ts),
                                py_from_object(c, ig_ts_constants(ts), NULL));
  ig_ts_free(ts);
  return out;
}

PyMethodDef py_file_functions[] = {
    {"archive_kind", archive_kind, METH_O, NULL},
    {"write_file", write_file, METH_VARARGS, NULL},
    {"ts_open", ts_open, METH_O, NULL},
    {"tensors_load", tensors_load, METH_VARARGS, NULL},
    {"tensors_save", tensors_save, METH_VARARGS, NULL},
    {"safetensors_save", safetensors_save, METH_VARARGS, NULL},
    {"safetensors_print", safetensors_print, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
