// SPDX-License-Identifier: Apache-2.0
// node.meta: a plain dictionary that is created from the engine's metadata on first access, and
// belongs to Python from then on. py_fx_sync copies changes back.
#include "fx.h"

#include <string.h>

// "a,b,c;d,e,f" -> parts between separators, from *at on; the last part reaches to the end.
static PyObject *part(const char **at, char stop) {
  const char *end = strchr(*at, stop);
  size_t n = end ? (size_t)(end - *at) : strlen(*at);
  PyObject *out = PyUnicode_FromStringAndSize(*at, (Py_ssize_t)n);
  *at += n + (end != NULL);
  return out;
}

// {key: (path, class)}
static PyObject *module_stack(const ig_module_stack *stack) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < stack->n; i++) {
    PyObject *pair = Py_BuildValue("(ss)", stack->at[i].path, stack->at[i].type);
    if (!pair || PyDict_SetItemString(dict, stack->at[i].key, pair) != 0) Py_CLEAR(dict);
    Py_XDECREF(pair);
  }
  return dict;
}

// "linear_1;builtin_function_or_method.linear" -> two texts
static PyObject *pair_of(const char *text) {
  PyObject *first = part(&text, ';');
  return first ? Py_BuildValue("(Ns)", first, text) : NULL;
}

// "name,fn;name,fn" -> [(name, fn)]
static PyObject *pairs_of(const char *text) {
  PyObject *list = PyList_New(0);
  while (list && *text) {
    PyObject *entry = part(&text, ';');
    const char *at = entry ? PyUnicode_AsUTF8(entry) : NULL;
    PyObject *name = at ? part(&at, ',') : NULL;
    PyObject *pair = name ? Py_BuildValue("(Ns)", name, at) : NULL;
    if (!pair || PyList_Append(list, pair) != 0) Py_CLEAR(list);
    Py_XDECREF(pair);
    Py_XDECREF(entry);
  }
  return list;
}

static const char *const keys[IG_META_KEY_COUNT] = {[IG_META_TORCH_FN] = "torch_fn",
                                                    [IG_META_SOURCE_FN] = "source_fn_stack",
                                                    [IG_META_CUSTOM] = "custom"};
static const char frames_key[] = "stack_trace";
static const char modules_key[] = "nn_module_stack";

// What the user attached, as JSON.
static PyObject *call_json(const char *name, PyObject *arg) {
  PyObject *json = PyImport_ImportModule("json");
  PyObject *out = json ? PyObject_CallMethod(json, name, "O", arg) : NULL;
  Py_XDECREF(json);
  return out;
}

static PyObject *json_value(const char *text) {
  PyObject *o = PyUnicode_FromString(text);
  PyObject *out = o ? call_json("loads", o) : NULL;
  if (!out && o && PyErr_ExceptionMatches(PyExc_ValueError)) {
    PyErr_Clear();
    return o;
  }
  Py_XDECREF(o);
  return out;
}

static bool json_text(ig_str *s, PyObject *value) {
  PyObject *o = call_json("dumps", value);
  const char *text = o ? PyUnicode_AsUTF8(o) : NULL;
  if (text) ig_str_add(s, "%s", text);
  Py_XDECREF(o);
  return text != NULL;
}

static PyObject *text_value(ig_meta_key key, const char *text) {
  switch (key) {
    case IG_META_TORCH_FN:
      return pair_of(text);
    case IG_META_SOURCE_FN:
      return pairs_of(text);
    case IG_META_CUSTOM:
      return json_value(text);
    default:
      return PyUnicode_FromString(text);
  }
}

static PyObject *frames_text(ig_ctx *c, const ig_call_stack *stack) {
  ig_str s = ig_str_make(c->alloc);
  ig_frames_print(&s, &stack->frames);
  PyObject *o = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at ? s.at : "");
  ig_str_free(&s);
  return o;
}

static bool put(PyObject *dict, const char *key, PyObject *value) {
  bool ok = value && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *val_of_now(ig_ctx *c, const ig_node *n) {
  if (n->val.kind == IG_KIND_LIST && n->val.seq != IG_SEQ_DICT) {
    ig_value copy = n->val;  // results come as tuples unless the operator returns a list
    bool list = n->callee == IG_CALLEE_OP && n->op && n->op->schema.nrets == 1;
    PyObject *items = py_from_value(c, &copy);
    if (!items || list || !PyList_Check(items)) return items;
    PyObject *tuple = PyList_AsTuple(items);
    Py_DECREF(items);
    return tuple;
  }
  return py_from_value(c, &n->val);
}

// Symbolic numbers belong to the environment of the graph, open or not.
static PyObject *val_of(ig_ctx *c, const ig_node *n) {
  ig_ctx *ctx = py_ctx();
  ig_mode_scope mode = ig_mode_push_sym(ctx, n->graph->sym);
  PyObject *out = val_of_now(c, n);
  ig_mode_pop(ctx, &mode);
  return out;
}

static bool has_val(const ig_node *n) {
  if (n->kind == IG_NODE_PLACEHOLDER) return n->val.kind != IG_KIND_NONE || n->path;
  return n->val.kind != IG_KIND_NONE;
}

PyObject *py_fx_meta(ig_ctx *c, ig_node *n) {
  if (n->host_meta) return n->host_meta;
  PyObject *dict = PyDict_New();
  bool ok = dict != NULL;
  if (ok && n->meta.stack) ok = put(dict, frames_key, frames_text(c, n->meta.stack));
  if (ok && n->meta.modules) ok = put(dict, modules_key, module_stack(n->meta.modules));
  for (int k = 0; ok && k < IG_META_KEY_COUNT; k++) {
    if (n->meta.text[k]) ok = put(dict, keys[k], text_value((ig_meta_key)k, n->meta.text[k]));
  }
  if (ok && has_val(n)) ok = put(dict, "val", val_of(c, n));
  if (ok && !ig_graph_keep_object(c, n->graph, dict)) ok = py_ok(c) && false;
  if (ok) n->host_meta = dict;
  Py_XDECREF(dict);  // the graph has it
  return ok ? n->host_meta : NULL;
}

bool py_fx_set_meta(ig_ctx *c, ig_node *n, PyObject *value) {
  PyObject *dict = PyDict_New();
  bool ok = dict && PyDict_Update(dict, value) == 0;
  if (ok && !ig_graph_keep_object(c, n->graph, dict)) ok = py_ok(c) && false;
  if (ok) n->host_meta = dict;
  Py_XDECREF(dict);
  return ok;
}

// ---- back to the engine ----

static bool join(ig_str *s, PyObject *first, PyObject *second, const char *before) {
  const char *a = PyUnicode_Check(first) ? PyUnicode_AsUTF8(first) : NULL;
  const char *b = PyUnicode_Check(second) ? PyUnicode_AsUTF8(second) : NULL;
  if (a && b) ig_str_add(s, "%s%s,%s", before, a, b);
  return a && b;
}

static const char *text_in(PyObject *o) {
  return PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;
}

static bool to_level(PyObject *key, PyObject *pair, ig_module_level *out) {
  if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return false;
  *out = (ig_module_level){text_in(key), text_in(PyTuple_GET_ITEM(pair, 0)),
                           text_in(PyTuple_GET_ITEM(pair, 1))};
  return out->key && out->path && out->type;
}

// {key: (path, class)}; anything else stays in Python only. False: no memory.
static bool sync_modules(ig_ctx *c, ig_node *n, PyObject *value) {
  if (!value) n->meta.modules = NULL;
  if (!value || !PyDict_Check(value)) return true;
  ig_scope s = ig_scope_open(c);
  ig_module_level *levels = ig_scope_array(c, (size_t)PyDict_Size(value), sizeof *levels);
  PyObject *key = NULL;
  PyObject *pair = NULL;
  Py_ssize_t at = 0;
  size_t count = 0;
  bool known = levels != NULL;
  while (known && PyDict_Next(value, &at, &key, &pair)) {
    known = to_level(key, pair, &levels[count++]);
  }
  PyErr_Clear();
  const ig_module_stack *kept = known ? ig_graph_keep_levels(c, n->graph, levels, count) : NULL;
  ig_scope_close(c, s);
  if (kept) n->meta.modules = kept;
  return py_ok(c);
}

// A text, whoever wrote it; anything else stays in Python only. False: no memory.
static bool sync_frames(ig_ctx *c, ig_node *n, PyObject *value) {
  if (!value) n->meta.stack = NULL;
  const char *text = value ? text_in(value) : NULL;
  PyErr_Clear();
  const ig_call_stack *read = text ? ig_graph_read_frames(c, n->graph, text) : NULL;
  if (read) n->meta.stack = read;
  return py_ok(c);
}

// Only what has the form that the engine knows; anything else stays in Python only.
static bool meta_text(ig_str *s, ig_meta_key key, PyObject *value) {
  if (key == IG_META_CUSTOM) return json_text(s, value);
  if (key == IG_META_TORCH_FN) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) return false;
    const char *a = PyUnicode_Check(PyTuple_GET_ITEM(value, 0))
                        ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(value, 0))
                        : NULL;
    const char *b = PyUnicode_Check(PyTuple_GET_ITEM(value, 1))
                        ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(value, 1))
                        : NULL;
    if (a && b) ig_str_add(s, "%s;%s", a, b);
    return a && b;
  }
  if (key == IG_META_SOURCE_FN) {
    if (!PyList_Check(value)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
      PyObject *pair = PyList_GET_ITEM(value, i);
      if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return false;
      if (!join(s, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), i ? ";" : ""))
        return false;
    }
    return true;
  }
  const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;
  if (text) ig_str_add(s, "%s", text);
  return text != NULL;
}

static bool sync_text(ig_ctx *c, ig_node *n, ig_meta_key key, PyObject *value) {
  if (!value) {
    n->meta.text[key] = NULL;
    return true;
  }
  ig_str s = ig_str_make(c->alloc);
  bool ok = meta_text(&s, key, value);
  PyErr_Clear();
  if (ok && s.n) n->meta.text[key] = ig_graph_keep_text(c, n->graph, s.at);
  bool failed = s.failed || (ok && s.n && !n->meta.text[key]);
  ig_str_free(&s);
  if (failed) PyErr_NoMemory();
  return !failed;
}

// Tensors, numbers and sequences of them; anything else is not a value of the engine.
static bool to_val(ig_ctx *c, ig_graph *g, PyObject *o, ig_value *v) {
  if (py_is_tensor(o)) {
    *v = ig_of_tensor(py_tensor_of(o));
    return true;
  }
  if (PyTuple_Check(o) || PyList_Check(o)) {
    PyObject *all = py_items(o, "");
    size_t n = all ? (size_t)PyTuple_GET_SIZE(all) : 0;
    ig_value *items = all ? ig_scope_array(c, n, sizeof *items) : NULL;
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < n; i++) {
      ok = to_val(c, g, PyTuple_GET_ITEM(all, (Py_ssize_t)i), &items[i]);
    }
    Py_XDECREF(all);
    if (ok) *v = ig_of_list(items, n);
    return ok;
  }
  return py_fx_to_value(c, g, o, v) && v->kind != IG_KIND_OBJECT && v->kind != IG_KIND_NODE;
}

static bool sync_node(ig_ctx *c, ig_node *n) {
  PyObject *dict = n->host_meta;
  for (int k = 0; k < IG_META_KEY_COUNT; k++) {
    if (!sync_text(c, n, (ig_meta_key)k, PyDict_GetItemString(dict, keys[k]))) return false;
  }
  if (!sync_frames(c, n, PyDict_GetItemString(dict, frames_key))) return false;
  if (!sync_modules(c, n, PyDict_GetItemString(dict, modules_key))) return false;
  PyObject *val = PyDict_GetItemString(dict, "val");
  ig_scope s = ig_scope_open(c);
  ig_value v = ig_none();
  bool ok = true;
  if (val && to_val(c, n->graph, val, &v)) ok = ig_node_set_val(c, n, &v);
  PyErr_Clear();
  ig_scope_close(c, s);
  return py_ok(c) && ok;
}

bool py_fx_sync(ig_ctx *c, ig_graph *g) {
  for (ig_node *n = g->first; n; n = n->next) {
    if (n->host_meta && !sync_node(c, n)) return false;
    if (n->sub && !py_fx_sync(c, n->sub)) return false;
  }
  return true;
}
