// SPDX-License-Identifier: Apache-2.0
// Modules of scripts to TorchScript archives and back.
#include <string.h>

#include "base/file.h"
#include "ingot/script.h"
#include "script.h"
#include "script/ir_edit.h"
#include "ts/load.h"
#include "ts/write.h"

// ---- a function as a module that has it as forward

static bool copy_params(ig_sfunction *to, const ig_sfunction *from, const ig_stype *self) {
  ig_arena *arena = &to->unit->arena;
  to->params = ig_arena_array(arena, from->n_params + 1, sizeof *to->params);
  if (!to->params) return false;
  to->params[0] = (ig_sparam){.name = "self", .type = self};
  for (size_t i = 0; i < from->n_params; i++) {
    to->params[i + 1] = from->params[i];
    ig_svalue_retain(from->params[i].def);
  }
  to->n_params = from->n_params + 1;
  to->result = from->result;
  return true;
}

static ig_sobj_instance *module_of(ig_ctx *c, ig_sfunction *f) {
  static const char plain[] = "__torch__.PlaceholderModule";
  ig_sunit *u = f->unit;
  const char *name = ig_sunit_type(u, plain) ? ig_sunit_mangle(u, plain) : plain;
  ig_sclass *k = name ? ig_sunit_add_class(u, name, true) : NULL;
  const ig_stype *flag = k ? ig_stype_plain(&u->types, IG_STYPE_BOOL) : NULL;
  if (!flag || ig_sclass_add_attribute(k, "training", flag, IG_SROLE_PLAIN) == SIZE_MAX)
    return NULL;
  ig_str qualified = ig_str_make(c->alloc);
  ig_str_add(&qualified, "%s.forward", name);
  ig_sfunction *forward =
      qualified.at ? ig_sunit_add_function(u, k, "forward", qualified.at) : NULL;
  ig_str_free(&qualified);
  if (!forward || !copy_params(forward, f, k->type)) return NULL;
  forward->graph = ig_sgraph_copy(f->graph);
  ig_svalue *self =
      forward->graph ? ig_sblock_insert_input(forward->graph->body, 0, k->type) : NULL;
  if (!self || !ig_svalue_set_name(forward->graph, self, "self")) return NULL;
  ig_sobj_instance *made = ig_sobj_instance_make(c, k);
  if (made && !ig_sobj_instance_set(c, made, 0, ig_of_bool(true))) {
    ig_svalue_release(ig_of_sobj(made));
    return NULL;
  }
  return made;
}

// The module to write, a new reference. NULL: exception set.
static ig_sobj_instance *root_of(ig_ctx *c, PyObject *what) {
  if (PyObject_TypeCheck(what, &py_smodule_type)) {
    ig_sobj_instance *o = ((py_sobject *)what)->o;
    ig_svalue_retain(ig_of_sobj(o));
    return o;
  }
  if (!PyObject_TypeCheck(what, &py_sfunction_type)) {
    PyErr_Format(PyExc_TypeError, "expected a module or function of a script, found %s",
                 Py_TYPE(what)->tp_name);
    return NULL;
  }
  ig_sfunction *f = ((py_sfunction *)what)->f;
  if (ig_sfunction_ensure(c, f) && f->graph) {
    ig_sobj_instance *made = module_of(c, f);
    if (made) return made;
    if (c->status == IG_OK) (void)ig_fail(c, IG_NOMEM, "out of memory");
  }
  (void)py_script_raise(c);
  return NULL;
}

// ---- writing

static ig_ts_extra *extras_of(ig_ctx *c, PyObject *files, size_t *n) {
  *n = (size_t)PyDict_GET_SIZE(files);
  ig_ts_extra *at = ig_scope_array(c, *n + 1, sizeof *at);
  PyObject *name = NULL;
  PyObject *data = NULL;
  Py_ssize_t next = 0;
  for (size_t i = 0; at && PyDict_Next(files, &next, &name, &data); i++) {
    Py_ssize_t size = 0;
    at[i].name = PyUnicode_AsUTF8(name);
    if (PyBytes_Check(data)) {
      at[i].data = PyBytes_AS_STRING(data);
      size = PyBytes_GET_SIZE(data);
    } else {
      at[i].data = PyUnicode_AsUTF8AndSize(data, &size);
    }
    at[i].n = (size_t)size;
    if (!at[i].name || !at[i].data) return NULL;
  }
  return at;
}

// What no archive can hold is a RuntimeError in PyTorch.
static PyObject *save_failed(ig_ctx *c) {
  if (PyErr_Occurred()) return NULL;
  if (ig_ctx_status(c) != IG_UNSUPPORTED) return py_script_raise(c);
  return py_raise_as(c, PyExc_RuntimeError);
}

// _script_save_file(what, path, extra files): the file is replaced when the archive is complete.
static PyObject *save_file(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *what = NULL;
  PyObject *files = NULL;
  const char *path = NULL;
  if (!PyArg_ParseTuple(args, "OsO!", &what, &path, &PyDict_Type, &files)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sobj_instance *root = root_of(c, what);
  if (!root) return NULL;
  ig_scope scope = ig_scope_open(c);
  size_t n = 0;
  const ig_ts_extra *extras = extras_of(c, files, &n);
  bool ok = extras && ig_ts_save(c, root, path, extras, n) == IG_OK;
  ig_scope_close(c, scope);
  ig_svalue_release(ig_of_sobj(root));
  if (!ok) return save_failed(c);
  Py_RETURN_NONE;
}

// _script_save(what, folder, extra files) -> bytes
static PyObject *save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *what = NULL;
  PyObject *files = NULL;
  const char *folder = NULL;
  if (!PyArg_ParseTuple(args, "OsO!", &what, &folder, &PyDict_Type, &files)) return NULL;
  ig_ctx *c = py_ctx();
  ig_sobj_instance *root = root_of(c, what);
  if (!root) return NULL;
  ig_scope scope = ig_scope_open(c);
  ig_sink sink = ig_sink_memory(c->alloc);
  size_t n = 0;
  const ig_ts_extra *extras = extras_of(c, files, &n);
  PyObject *out = NULL;
  if (extras && ig_ts_print(c, root, folder, extras, n, &sink) == IG_OK &&
      ig_sink_close(c, &sink) == IG_OK) {
    out = PyBytes_FromStringAndSize((const char *)sink.at, (Py_ssize_t)sink.n);
  }
  ig_sink_drop(&sink);
  ig_scope_close(c, scope);
  ig_svalue_release(ig_of_sobj(root));
  return out ? out : save_failed(c);
}

// ---- reading

static PyObject *load(PyObject *module, PyObject *path) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(path);
  if (!text) return NULL;
  ig_ctx *c = py_ctx();
  ig_ts *ts = NULL;
  ig_sobj_instance *root = NULL;
  if (ig_ts_open(c, text, NULL, &ts) == IG_OK) root = ig_ts_load(c, ts);
  ig_ts_free(ts);
  if (root) {
    PyObject *out = py_from_sinstance(root);
    ig_svalue_release(ig_of_sobj(root));
    return out;
  }
  ig_status st = ig_ctx_status(c);
  if (st != IG_UNSUPPORTED && st != IG_INVALID && st != IG_NOT_FOUND) return py_script_raise(c);
  return py_raise_as(c, PyExc_RuntimeError);
}

static PyMethodDef functions[] = {
    {"_script_save", save, METH_VARARGS, "The bytes of an archive."},
    {"_script_save_file", save_file, METH_VARARGS, "Writes an archive to a file."},
    {"_script_load", load, METH_O, "The module of an archive."},
    {NULL, NULL, 0, NULL},
};

int py_add_script_archive(PyObject *m) {
  return PyModule_AddFunctions(m, functions);
}
