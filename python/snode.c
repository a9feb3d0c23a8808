// SPDX-License-Identifier: Apache-2.0
// torch._C.Node and torch._C.Value: nodes and values of scripts' graphs.
#include <string.h>

#include "script/calls.h"
#include "script/form.h"
#include "script/ir_edit.h"
#include "script/operator.h"
#include "script/tensor_text.h"
#include "sgraph.h"

// ---- objects

static PyObject *make_part(PyTypeObject *type, py_sgraph *graph) {
  py_spart *o = PyObject_New(py_spart, type);
  if (o) o->graph = (py_sgraph *)Py_NewRef((PyObject *)graph);
  return (PyObject *)o;
}
static void part_dealloc(PyObject *o) {
  Py_DECREF(((py_spart *)o)->graph);
  PyObject_Free(o);
}

PyObject *py_from_snode(py_sgraph *graph, ig_snode *n) {
  if (!n) Py_RETURN_NONE;
  PyObject *o = make_part(&py_snode_type, graph);
  if (o) ((py_spart *)o)->node = n;
  return o;
}
PyObject *py_from_svalue(py_sgraph *graph, ig_svalue *v) {
  if (!v) Py_RETURN_NONE;
  PyObject *o = make_part(&py_svalue_type, graph);
  if (o) ((py_spart *)o)->value = v;
  return o;
}
PyObject *py_from_sblock(py_sgraph *graph, ig_sblock *b) {
  PyObject *o = make_part(&py_sblock_type, graph);
  if (o) ((py_spart *)o)->block = b;
  return o;
}

static PyObject *part_compare(PyObject *a, PyObject *b, int how) {
  if (Py_TYPE(a) != Py_TYPE(b) || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool same = ((py_spart *)a)->node == ((py_spart *)b)->node;
  return PyBool_FromLong(same == (how == Py_EQ));
}
static Py_hash_t part_hash(PyObject *o) {
  return (Py_hash_t)((uintptr_t)((py_spart *)o)->node >> 4);
}

static py_sgraph *graph_of(PyObject *o) {
  return ((py_spart *)o)->graph;
}

static bool is_removed(const ig_snode *n) {
  for (; n; n = n->owner->node) {
    if (n->removed) return true;
  }
  return false;
}

// NULL with an exception when the node was removed from its graph.
static ig_snode *node_of(PyObject *o) {
  ig_snode *n = ((py_spart *)o)->node;
  if (!is_removed(n)) return n;
  PyErr_Format(PyExc_RuntimeError, "this node (%s) was removed from its graph", n->kind);
  return NULL;
}
static ig_svalue *value_of(PyObject *o) {
  ig_svalue *v = ((py_spart *)o)->value;
  const ig_snode *n = v->block ? v->block->node : v->node;
  if (!n || !is_removed(n)) return v;
  PyErr_Format(PyExc_RuntimeError, "the node of this value (%s) was removed from its graph",
               n->kind);
  return NULL;
}

// An argument of a method: of the same graph as self.
static PyObject *same_graph(PyObject *self, PyObject *o, PyTypeObject *type) {
  if (!PyObject_TypeCheck(o, type)) {
    PyErr_Format(PyExc_TypeError, "expected %s, not %s", type->tp_name, Py_TYPE(o)->tp_name);
    return NULL;
  }
  if (graph_of(o)->g == graph_of(self)->g) return o;
  PyErr_Format(PyExc_RuntimeError, "the %s belongs to another graph", type->tp_name);
  return NULL;
}
static ig_snode *node_arg(PyObject *self, PyObject *o) {
  return same_graph(self, o, &py_snode_type) ? node_of(o) : NULL;
}
static ig_svalue *value_arg(PyObject *self, PyObject *o) {
  return same_graph(self, o, &py_svalue_type) ? value_of(o) : NULL;
}

static PyObject *done(void) {
  if (!py_ok(py_ctx())) return NULL;
  Py_RETURN_NONE;
}

static PyObject *values(py_sgraph *graph, ig_svalue *const *at, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *v = py_from_svalue(graph, at[i]);
    if (!v) Py_CLEAR(list);
    if (v) PyList_SET_ITEM(list, (Py_ssize_t)i, v);
  }
  PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return iterator;
}

// ---- reading nodes

static PyObject *node_kind(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  if (!n) return NULL;
  bool host = ig_sform_of(n) == IG_SFORM_PYTHON;
  return PyUnicode_FromString(host ? "prim::PythonOp" : n->kind);
}

// ---- calls of Python

static const ig_snode *python_op(PyObject *o) {
  const ig_snode *n = node_of(o);
  if (!n || ig_sform_of(n) == IG_SFORM_PYTHON) return n;
  PyErr_Format(PyExc_RuntimeError, "%s is no call of Python", n->kind);
  return NULL;
}
static PyObject *python_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = python_op(o);
  return n ? PyUnicode_FromString(n->kind + 1) : NULL;
}
// What a call of Function.apply keeps (ingot.jit._python_op.PythonOp); a function has all of its
// arguments in the graph, and is itself what is called.
static PyObject *python_fact(PyObject *o, const char *name) {
  const ig_snode *n = python_op(o);
  if (!n) return NULL;
  if (!n->host) return PyErr_Format(PyExc_RuntimeError, "only the text of this call is known");
  PyObject *callable = n->host->user;
  if (n->host->scalars) return PyObject_GetAttrString(callable, name);
  return Py_NewRef(callable);
}
static PyObject *python_object(PyObject *o, PyObject *unused) {
  (void)unused;
  return python_fact(o, "pyobj");
}
static PyObject *scalar_args(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = python_op(o);
  if (!n) return NULL;
  return n->host && n->host->scalars ? python_fact(o, "scalar_args") : PyList_New(0);
}
static PyObject *calling_convention(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = python_op(o);
  if (!n) return NULL;
  if (n->host && n->host->scalars) return python_fact(o, "cconv");
  PyObject *one = PyUnicode_FromString("d");
  PyObject *all = one ? PySequence_Repeat(one, (Py_ssize_t)n->n_in) : NULL;
  Py_XDECREF(one);
  return all;
}

// ---- parts of nodes

static PyObject *node_inputs(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? values(graph_of(o), n->in, n->n_in) : NULL;
}
static PyObject *node_outputs(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? values(graph_of(o), n->out, n->n_out) : NULL;
}
static PyObject *inputs_size(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? PyLong_FromSize_t(n->n_in) : NULL;
}
static PyObject *outputs_size(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? PyLong_FromSize_t(n->n_out) : NULL;
}
static PyObject *has_multiple_outputs(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? PyBool_FromLong(n->n_out > 1) : NULL;
}
static PyObject *has_uses(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  bool used = false;
  for (size_t i = 0; n && i < n->n_out; i++) {
    used = used || ig_svalue_is_used(graph_of(o)->g->body, n->out[i]);
  }
  return n ? PyBool_FromLong(used) : NULL;
}
static PyObject *value_at(PyObject *o, ig_svalue *const *at, size_t n, PyObject *index) {
  Py_ssize_t i = PyLong_AsSsize_t(index);
  if (i == -1 && PyErr_Occurred()) return NULL;
  if (i >= 0 && (size_t)i < n) return py_from_svalue(graph_of(o), at[i]);
  PyErr_Format(PyExc_IndexError, "%s: there is no value %zd, only %zu", ((py_spart *)o)->node->kind,
               i, n);
  return NULL;
}
static PyObject *inputs_at(PyObject *o, PyObject *index) {
  const ig_snode *n = node_of(o);
  return n ? value_at(o, n->in, n->n_in, index) : NULL;
}
static PyObject *outputs_at(PyObject *o, PyObject *index) {
  const ig_snode *n = node_of(o);
  return n ? value_at(o, n->out, n->n_out, index) : NULL;
}
static PyObject *only(PyObject *o, ig_svalue *const *at, size_t n, const char *what) {
  if (n == 1) return py_from_svalue(graph_of(o), at[0]);
  PyErr_Format(PyExc_RuntimeError, "%s has %zu %s, expected 1", ((py_spart *)o)->node->kind, n,
               what);
  return NULL;
}
static PyObject *node_input(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? only(o, n->in, n->n_in, "inputs") : NULL;
}
static PyObject *node_output(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? only(o, n->out, n->n_out, "outputs") : NULL;
}
static PyObject *node_blocks(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  PyObject *list = n ? PyList_New((Py_ssize_t)n->n_blocks) : NULL;
  for (size_t i = 0; list && i < n->n_blocks; i++) {
    PyObject *b = py_from_sblock(graph_of(o), n->blocks[i]);
    if (!b) Py_CLEAR(list);
    if (b) PyList_SET_ITEM(list, (Py_ssize_t)i, b);
  }
  PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return iterator;
}
static PyObject *owning_block(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? py_from_sblock(graph_of(o), n->owner) : NULL;
}
static PyObject *owning_graph(PyObject *o, PyObject *unused) {
  (void)unused;
  return Py_NewRef((PyObject *)graph_of(o));
}
static PyObject *node_next(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? py_from_snode(graph_of(o), n->next) : NULL;
}
static PyObject *node_prev(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? py_from_snode(graph_of(o), n->prev) : NULL;
}
static PyObject *scope_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? PyUnicode_FromString(n->scope ? n->scope : "") : NULL;
}
static PyObject *source_range(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  if (!n) return NULL;
  if (n->place || !n->range.source) return PyUnicode_FromString(n->place ? n->place : "");
  ig_str s = ig_str_make(py_ctx()->alloc);
  ig_srange_quote(&s, n->range, NULL);
  PyObject *text = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at ? s.at : "");
  ig_str_free(&s);
  return text;
}
static PyObject *node_schema(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  const ig_soperator *found = n ? ig_soperator_of_node(graph_of(o)->unit, n) : NULL;
  if (!n || !py_ok(py_ctx())) return NULL;
  return PyUnicode_FromString(found ? found->schema->text : "(no schema)");
}
static PyObject *must_be_none(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  if (!n) return NULL;
  bool none = n->n_out == 1 && n->out[0]->type->kind == IG_STYPE_NONE;
  return PyBool_FromLong(none && strcmp(n->kind, "prim::Constant") == 0);
}
static PyObject *is_random(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  bool random = n && ig_snode_is_random(graph_of(o)->unit, n);
  return n && py_ok(py_ctx()) ? PyBool_FromLong(random) : NULL;
}
static PyObject *node_repr(PyObject *o) {
  const ig_snode *n = node_of(o);
  if (!n) return NULL;
  ig_str s = ig_str_make(py_ctx()->alloc);
  ig_snode_print(&s, n);
  PyObject *text =
      s.failed ? PyErr_NoMemory() : PyUnicode_FromStringAndSize(s.at, (Py_ssize_t)s.n - 1);
  ig_str_free(&s);
  return text;
}

// ---- attributes

static PyObject *attribute_names(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  PyObject *list = n ? PyList_New(0) : NULL;
  for (size_t i = 0; list && i < n->n_attrs; i++) {
    PyObject *name = PyUnicode_FromString(n->attrs[i].name);
    if (!name || PyList_Append(list, name) != 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}
static PyObject *has_attribute(PyObject *o, PyObject *name) {
  const ig_snode *n = node_of(o);
  const char *text = n ? PyUnicode_AsUTF8(name) : NULL;
  return text ? PyBool_FromLong(ig_snode_attr(n, text) != NULL) : NULL;
}
static PyObject *has_attributes(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_snode *n = node_of(o);
  return n ? PyBool_FromLong(n->n_attrs > 0) : NULL;
}
static const ig_sattr *attr_of(PyObject *o, PyObject *name) {
  const ig_snode *n = node_of(o);
  const char *text = n ? PyUnicode_AsUTF8(name) : NULL;
  const ig_sattr *a = text ? ig_snode_attr(n, text) : NULL;
  if (text && !a) {
    PyErr_Format(PyExc_RuntimeError, "required keyword attribute '%s' has the wrong type", text);
  }
  return a;
}

static const char *letter(ig_kind kind) {
  switch (kind) {
    case IG_KIND_INT:
    case IG_KIND_BOOL:
      return "i";
    case IG_KIND_FLOAT:
      return "f";
    case IG_KIND_COMPLEX:
      return "c";
    case IG_KIND_STR:
    case IG_KIND_DEVICE:
      return "s";
    case IG_KIND_TENSOR:
      return "t";
    default:
      return "ival";
  }
}
static PyObject *kind_of(PyObject *o, PyObject *name) {
  const ig_sattr *a = attr_of(o, name);
  if (!a) return NULL;
  if (a->kind == IG_SATTR_GRAPH) return PyUnicode_FromString("g");
  if (a->kind == IG_SATTR_TYPES) return PyUnicode_FromString("tys");
  if (a->kind == IG_SATTR_TEXT) return PyUnicode_FromString("t");
  if (a->value.kind == IG_KIND_INTS) return PyUnicode_FromString("is");
  if (a->value.kind != IG_KIND_LIST || a->value.seq != IG_SEQ_LIST) {
    return PyUnicode_FromString(letter(a->value.kind));
  }
  ig_kind item = a->value.list.n ? a->value.list.at[0].kind : IG_KIND_INT;
  for (size_t i = 1; i < a->value.list.n; i++) {
    if (a->value.list.at[i].kind != item) item = IG_KIND_NONE;
  }
  const char *one = letter(item);
  return strlen(one) == 1 ? PyUnicode_FromFormat("%ss", one) : PyUnicode_FromString(one);
}
static PyObject *get_attr(PyObject *o, PyObject *name) {
  const ig_sattr *a = attr_of(o, name);
  return a ? py_sattr_get(graph_of(o), a) : NULL;
}
// i_("axis", 1) and the others; gives the node back, so that calls can be chained.
static PyObject *set_attr(PyObject *o, PyObject *args) {
  const char *name = NULL;
  PyObject *value = NULL;
  ig_snode *n = node_of(o);
  if (!n || !PyArg_ParseTuple(args, "sO", &name, &value)) return NULL;
  return py_sattr_set(n, name, value) ? Py_NewRef(o) : NULL;
}
static PyObject *remove_attribute(PyObject *o, PyObject *name) {
  ig_snode *n = node_of(o);
  const char *text = n ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return NULL;
  ig_snode_remove_attr(n, text);
  return Py_NewRef(o);
}
static PyObject *copy_attributes(PyObject *o, PyObject *from) {
  ig_snode *n = node_of(o);
  if (!n || !PyObject_TypeCheck(from, &py_snode_type)) return NULL;
  const ig_snode *other = node_of(from);
  if (!other) return NULL;
  for (size_t i = 0; i < other->n_attrs; i++) {
    PyObject *value = py_sattr_get(graph_of(from), &other->attrs[i]);
    bool ok = value && py_sattr_set(n, other->attrs[i].name, value);
    Py_XDECREF(value);
    if (!ok) return NULL;
  }
  return Py_NewRef(o);
}

// ---- changing nodes

static PyObject *add_input(PyObject *o, PyObject *given) {
  ig_snode *n = node_of(o);
  ig_svalue *v = n ? value_arg(o, given) : NULL;
  if (!v) return NULL;
  (void)ig_snode_add_input(n, v);
  if (!py_ok(py_ctx())) return NULL;
  return Py_NewRef(given);
}
static PyObject *replace_input(PyObject *o, PyObject *args) {
  Py_ssize_t at = 0;
  PyObject *given = NULL;
  ig_snode *n = node_of(o);
  if (!n || !PyArg_ParseTuple(args, "nO:replaceInput", &at, &given)) return NULL;
  ig_svalue *v = value_arg(o, given);
  if (!v) return NULL;
  if (at < 0 || (size_t)at >= n->n_in) {
    PyErr_Format(PyExc_IndexError, "%s has no input %zd", n->kind, at);
    return NULL;
  }
  PyObject *old = py_from_svalue(graph_of(o), n->in[at]);
  if (old) n->in[at] = v;
  return old;
}
static PyObject *replace_input_with(PyObject *o, PyObject *args) {
  PyObject *from = NULL;
  PyObject *to = NULL;
  ig_snode *n = node_of(o);
  if (!n || !PyArg_ParseTuple(args, "OO:replaceInputWith", &from, &to)) return NULL;
  const ig_svalue *old = value_arg(o, from);
  ig_svalue *by = old ? value_arg(o, to) : NULL;
  if (!by) return NULL;
  for (size_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == old) n->in[i] = by;
  }
  Py_RETURN_NONE;
}
static PyObject *remove_input(PyObject *o, PyObject *index) {
  ig_snode *n = node_of(o);
  Py_ssize_t at = n ? PyLong_AsSsize_t(index) : -1;
  if (!n || (at == -1 && PyErr_Occurred())) return NULL;
  if (at < 0 || (size_t)at >= n->n_in) {
    PyErr_Format(PyExc_IndexError, "%s has no input %zd", n->kind, at);
    return NULL;
  }
  ig_snode_remove_input(n, (size_t)at);
  return done();
}
static PyObject *remove_all_inputs(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_snode *n = node_of(o);
  if (!n) return NULL;
  while (n->n_in) ig_snode_remove_input(n, n->n_in - 1);
  return done();
}
static PyObject *add_output(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_snode *n = node_of(o);
  if (!n) return NULL;
  ig_svalue *v = ig_snode_add_output(n, ig_stype_plain(&graph_of(o)->unit->types, IG_STYPE_TENSOR));
  return v ? py_from_svalue(graph_of(o), v) : py_raise(py_ctx());
}
static bool is_free(PyObject *o, const ig_svalue *v) {
  if (!ig_svalue_is_used(graph_of(o)->g->body, v)) return true;
  PyErr_Format(PyExc_RuntimeError, "a result of %s is still used", v->node->kind);
  return false;
}
static PyObject *erase_output(PyObject *o, PyObject *index) {
  ig_snode *n = node_of(o);
  Py_ssize_t at = n ? PyLong_AsSsize_t(index) : -1;
  if (!n || (at == -1 && PyErr_Occurred())) return NULL;
  if (at < 0 || (size_t)at >= n->n_out) {
    PyErr_Format(PyExc_IndexError, "%s has no output %zd", n->kind, at);
    return NULL;
  }
  if (!is_free(o, n->out[at])) return NULL;
  ig_snode_remove_output(n, (size_t)at);
  return done();
}
static PyObject *add_block(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_snode *n = node_of(o);
  if (!n) return NULL;
  ig_sblock *b = ig_snode_add_block(n);
  return b ? py_from_sblock(graph_of(o), b) : py_raise(py_ctx());
}

static PyObject *place(PyObject *o, PyObject *other, bool after) {
  ig_snode *n = node_of(o);
  ig_snode *at = n ? node_arg(o, other) : NULL;
  if (!at) return NULL;
  bool front = at == at->owner->params;
  bool end = at == at->owner->returns;
  if (front || end) {
    ig_snode_insert(n, at->owner, front ? at->owner->first : NULL);
    return Py_NewRef(o);
  }
  if (at->detached) {
    PyErr_Format(PyExc_RuntimeError, "%s stands in no block", at->kind);
    return NULL;
  }
  for (const ig_snode *up = at; up; up = up->owner->node) {
    if (up != n) continue;
    if (up == at) return Py_NewRef(o);
    PyErr_Format(PyExc_RuntimeError, "%s cannot be moved into itself", n->kind);
    return NULL;
  }
  ig_snode *before = after ? at->next : at;
  if (before == n) return Py_NewRef(o);
  ig_snode_insert(n, at->owner, before);
  return Py_NewRef(o);
}
static PyObject *insert_before(PyObject *o, PyObject *other) {
  return place(o, other, false);
}
static PyObject *insert_after(PyObject *o, PyObject *other) {
  return place(o, other, true);
}
static PyObject *node_replace_uses(PyObject *o, PyObject *other) {
  const ig_snode *n = node_of(o);
  const ig_snode *by = n ? node_arg(o, other) : NULL;
  if (!by) return NULL;
  if (by->n_out != n->n_out) {
    PyErr_Format(PyExc_RuntimeError, "%s has %zu results and %s %zu", n->kind, n->n_out, by->kind,
                 by->n_out);
    return NULL;
  }
  for (size_t i = 0; i < n->n_out; i++) {
    ig_svalue_replace(graph_of(o)->g->body, n->out[i], by->out[i]);
  }
  Py_RETURN_NONE;
}
static PyObject *destroy(PyObject *o, PyObject *unused) {
  (void)unused;
  ig_snode *n = node_of(o);
  if (!n) return NULL;
  for (size_t i = 0; i < n->n_out; i++) {
    if (!is_free(o, n->out[i])) return NULL;
  }
  py_sgraph *graph = graph_of(o);
  if (graph->before == n) graph->before = n->next;
  for (const ig_sblock *b = graph->block; b && b->node; b = b->node->owner) {
    if (b->node == n) graph->block = NULL;
    if (b->node == n) graph->before = NULL;
    if (b->node == n) break;
  }
  if (n->detached) n->removed = true;
  ig_snode_remove(n);
  Py_RETURN_NONE;
}
static PyObject *copy_metadata_of_node(PyObject *o, PyObject *from) {
  ig_snode *n = node_of(o);
  const ig_snode *other = n && PyObject_TypeCheck(from, &py_snode_type) ? node_of(from) : NULL;
  if (!other) return NULL;
  ig_arena *arena = &graph_of(o)->g->arena;
  n->range = other->range;
  if (other->place) n->place = ig_arena_strn(arena, other->place, strlen(other->place));
  if (other->scope) n->scope = ig_arena_strn(arena, other->scope, strlen(other->scope));
  return Py_NewRef(o);
}

#define GET(name) \
  { name, get_attr, METH_O, NULL }
#define SET(name) \
  { name, set_attr, METH_VARARGS, NULL }
static PyMethodDef node_methods[] = {
    {"kind", node_kind, METH_NOARGS, NULL},
    {"inputs", node_inputs, METH_NOARGS, NULL},
    {"outputs", node_outputs, METH_NOARGS, NULL},
    {"inputsSize", inputs_size, METH_NOARGS, NULL},
    {"outputsSize", outputs_size, METH_NOARGS, NULL},
    {"hasMultipleOutputs", has_multiple_outputs, METH_NOARGS, NULL},
    {"hasUses", has_uses, METH_NOARGS, NULL},
    {"inputsAt", inputs_at, METH_O, NULL},
    {"outputsAt", outputs_at, METH_O, NULL},
    {"input", node_input, METH_NOARGS, NULL},
    {"output", node_output, METH_NOARGS, NULL},
    {"blocks", node_blocks, METH_NOARGS, NULL},
    {"owningBlock", owning_block, METH_NOARGS, NULL},
    {"owningGraph", owning_graph, METH_NOARGS, NULL},
    {"next", node_next, METH_NOARGS, NULL},
    {"prev", node_prev, METH_NOARGS, NULL},
    {"scopeName", scope_name, METH_NOARGS, NULL},
    {"sourceRange", source_range, METH_NOARGS, NULL},
    {"schema", node_schema, METH_NOARGS, NULL},
    {"pyname", python_name, METH_NOARGS, NULL},
    {"pyobj", python_object, METH_NOARGS, NULL},
    {"scalar_args", scalar_args, METH_NOARGS, NULL},
    {"cconv", calling_convention, METH_NOARGS, NULL},
    {"isNondeterministic", is_random, METH_NOARGS, NULL},
    {"mustBeNone", must_be_none, METH_NOARGS, NULL},
    {"attributeNames", attribute_names, METH_NOARGS, NULL},
    {"hasAttribute", has_attribute, METH_O, NULL},
    {"hasAttributes", has_attributes, METH_NOARGS, NULL},
    {"kindOf", kind_of, METH_O, NULL},
    {"removeAttribute", remove_attribute, METH_O, NULL},
    {"copyAttributes", copy_attributes, METH_O, NULL},
    {"__getitem__", get_attr, METH_O, NULL},
    GET("i"),
    GET("f"),
    GET("s"),
    GET("t"),
    GET("g"),
    GET("c"),
    GET("is"),
    GET("fs"),
    GET("ss"),
    GET("ts"),
    GET("gs"),
    GET("ival"),
    GET("tys"),
    SET("i_"),
    SET("f_"),
    SET("s_"),
    SET("t_"),
    SET("c_"),
    SET("is_"),
    SET("fs_"),
    SET("ss_"),
    SET("ts_"),
    SET("ival_"),
    {"addInput", add_input, METH_O, NULL},
    {"replaceInput", replace_input, METH_VARARGS, NULL},
    {"replaceInputWith", replace_input_with, METH_VARARGS, NULL},
    {"removeInput", remove_input, METH_O, NULL},
    {"removeAllInputs", remove_all_inputs, METH_NOARGS, NULL},
    {"addOutput", add_output, METH_NOARGS, NULL},
    {"eraseOutput", erase_output, METH_O, NULL},
    {"addBlock", add_block, METH_NOARGS, NULL},
    {"insertBefore", insert_before, METH_O, NULL},
    {"insertAfter", insert_after, METH_O, NULL},
    {"moveBefore", insert_before, METH_O, NULL},
    {"moveAfter", insert_after, METH_O, NULL},
    {"replaceAllUsesWith", node_replace_uses, METH_O, NULL},
    {"copyMetadata", copy_metadata_of_node, METH_O, NULL},
    {"destroy", destroy, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_snode_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Node",
    .tp_basicsize = sizeof(py_spart),
    .tp_dealloc = part_dealloc,
    .tp_repr = node_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = node_methods,
    .tp_richcompare = part_compare,
    .tp_hash = part_hash,
};

// ---- values

static PyObject *debug_name(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  if (!v) return NULL;
  return v->name ? PyUnicode_FromString(v->name) : PyUnicode_FromFormat("%zu", v->number);
}
static PyObject *set_debug_name(PyObject *o, PyObject *name) {
  ig_svalue *v = value_of(o);
  const char *text = v ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return NULL;
  if (text[0] && !text[strspn(text, "0123456789")])
    return PyErr_Format(PyExc_RuntimeError, "Invalid name: '%s'", text);
  if (!ig_svalue_set_name(graph_of(o)->g, v, text)) return py_raise(py_ctx());
  return Py_NewRef(o);
}
static PyObject *value_type_of(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  return v ? py_from_stype(graph_of(o)->unit, v->type) : NULL;
}
static PyObject *set_type(PyObject *o, PyObject *given) {
  ig_svalue *v = value_of(o);
  const ig_stype *t = v ? py_stype_of(given) : NULL;
  if (!t) return NULL;
  if (((py_stype *)given)->unit != graph_of(o)->unit) {
    PyErr_SetString(PyExc_RuntimeError, "the type belongs to another compilation unit");
    return NULL;
  }
  v->type = t;
  return Py_NewRef(o);
}
static PyObject *infer_type_from(PyObject *o, PyObject *given) {
  ig_svalue *v = value_of(o);
  if (!v) return NULL;
  if (!py_is_tensor(given)) {
    PyErr_SetString(PyExc_TypeError, "inferTypeFrom: expected a Tensor");
    return NULL;
  }
  const ig_stype *t = ig_stype_of_tensor(&graph_of(o)->unit->types, py_tensor_of(given));
  if (!t) return py_raise(py_ctx());
  v->type = t;
  Py_RETURN_NONE;
}
static PyObject *value_node(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  if (!v) return NULL;
  if (!v->block) return py_from_snode(graph_of(o), v->node);
  ig_snode *params = ig_snode_of_params(v->block);
  return params ? py_from_snode(graph_of(o), params) : py_raise(py_ctx());
}
static PyTypeObject use_type;
static PyStructSequence_Field use_fields[] = {
    {"user", "the node"}, {"offset", "which of its inputs"}, {NULL, NULL}};
static PyStructSequence_Desc use_description = {"ingot._C.Use", NULL, use_fields, 2};

static PyObject *value_uses(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  size_t n = 0;
  const ig_suse *uses = v ? ig_svalue_uses(graph_of(o)->g->body, v, &n) : NULL;
  if (!uses) return v ? py_raise(py_ctx()) : NULL;
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    ig_snode *user = uses[i].node ? uses[i].node : ig_snode_of_returns(uses[i].block);
    PyObject *node = user ? py_from_snode(graph_of(o), user) : py_raise(py_ctx());
    PyObject *use = node ? PyStructSequence_New(&use_type) : NULL;
    PyObject *at = use ? PyLong_FromSize_t(uses[i].at) : NULL;
    if (at) PyStructSequence_SET_ITEM(use, 0, node);
    if (at) PyStructSequence_SET_ITEM(use, 1, at);
    if (!at) Py_XDECREF(node);
    if (!at) Py_CLEAR(use);
    if (!use) Py_CLEAR(list);
    if (use) PyList_SET_ITEM(list, (Py_ssize_t)i, use);
  }
  return list;
}
static PyObject *unique(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  return v ? PyLong_FromSize_t(v->number) : NULL;
}
static PyObject *value_replace_uses(PyObject *o, PyObject *given) {
  const ig_svalue *v = value_of(o);
  ig_svalue *by = v ? value_arg(o, given) : NULL;
  if (!by) return NULL;
  ig_svalue_replace(graph_of(o)->g->body, v, by);
  Py_RETURN_NONE;
}
// Only uses behind the node.
static PyObject *replace_uses_after(PyObject *o, PyObject *args) {
  PyObject *node = NULL;
  PyObject *given = NULL;
  const ig_svalue *v = value_of(o);
  if (!v || !PyArg_ParseTuple(args, "OO:replaceAllUsesAfterNodeWith", &node, &given)) return NULL;
  const ig_snode *at = node_arg(o, node);
  ig_svalue *by = at ? value_arg(o, given) : NULL;
  if (!by) return NULL;
  size_t n = 0;
  const ig_suse *uses = ig_svalue_uses(graph_of(o)->g->body, v, &n);
  if (!uses) return py_raise(py_ctx());
  for (size_t i = 0; i < n; i++) {
    if (!uses[i].node) {
      uses[i].block->out[uses[i].at] = by;
    } else if (uses[i].node != at && !ig_snode_is_before(uses[i].node, at)) {
      uses[i].node->in[uses[i].at] = by;
    }
  }
  Py_RETURN_NONE;
}
static PyObject *to_ivalue(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  if (!v) return NULL;
  bool constant = !v->block && strcmp(v->node->kind, "prim::Constant") == 0;
  const ig_sattr *a = constant ? ig_snode_attr(v->node, "value") : NULL;
  if (!a) Py_RETURN_NONE;
  return py_sattr_get(graph_of(o), a);
}
static PyObject *value_requires_grad(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  return v ? PyBool_FromLong(v->type->tensor && v->type->tensor->requires_grad == 1) : NULL;
}
static PyObject *is_complete(PyObject *o, PyObject *unused) {
  (void)unused;
  const ig_svalue *v = value_of(o);
  const ig_stensor *k = v ? v->type->tensor : NULL;
  if (!v) return NULL;
  return PyBool_FromLong(k && k->dtype >= 0 && k->sizes && k->strides && k->device);
}
static PyObject *value_copy_metadata(PyObject *o, PyObject *from) {
  ig_svalue *v = value_of(o);
  const ig_svalue *other = v && PyObject_TypeCheck(from, &py_svalue_type) ? value_of(from) : NULL;
  if (!other) return NULL;
  v->type = other->type;
  if (other->name && !ig_svalue_set_name(graph_of(o)->g, v, other->name)) return py_raise(py_ctx());
  return Py_NewRef(o);
}
static PyObject *value_repr(PyObject *o) {
  PyObject *name = debug_name(o, NULL);
  const ig_svalue *v = name ? value_of(o) : NULL;
  const ig_snode *n = v && v->block ? ig_snode_of_params(v->block) : v ? v->node : NULL;
  ig_str s = ig_str_make(py_ctx()->alloc);
  if (n) ig_snode_print(&s, n);
  bool whole = n && !s.failed;
  if (name && !whole && !PyErr_Occurred()) PyErr_NoMemory();
  PyObject *text = whole ? PyUnicode_FromFormat("%U defined in (%s)", name, s.at) : NULL;
  ig_str_free(&s);
  Py_XDECREF(name);
  return text;
}

static PyMethodDef value_methods[] = {
    {"debugName", debug_name, METH_NOARGS, NULL},
    {"setDebugName", set_debug_name, METH_O, NULL},
    {"type", value_type_of, METH_NOARGS, NULL},
    {"setType", set_type, METH_O, NULL},
    {"inferTypeFrom", infer_type_from, METH_O, NULL},
    {"node", value_node, METH_NOARGS, NULL},
    {"uses", value_uses, METH_NOARGS, NULL},
    {"unique", unique, METH_NOARGS, NULL},
    {"replaceAllUsesWith", value_replace_uses, METH_O, NULL},
    {"replaceAllUsesAfterNodeWith", replace_uses_after, METH_VARARGS, NULL},
    {"toIValue", to_ivalue, METH_NOARGS, NULL},
    {"requires_grad", value_requires_grad, METH_NOARGS, NULL},
    {"requiresGrad", value_requires_grad, METH_NOARGS, NULL},
    {"isCompleteTensor", is_complete, METH_NOARGS, NULL},
    {"copyMetadata", value_copy_metadata, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_svalue_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Value",
    .tp_basicsize = sizeof(py_spart),
    .tp_dealloc = part_dealloc,
    .tp_repr = value_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = value_methods,
    .tp_richcompare = part_compare,
    .tp_hash = part_hash,
};

int py_add_snode(PyObject *m) {
  if (!use_type.tp_name && PyStructSequence_InitType2(&use_type, &use_description) != 0) return -1;
  if (PyType_Ready(&py_snode_type) != 0 || PyType_Ready(&py_svalue_type) != 0) return -1;
  return PyModule_AddObjectRef(m, "Node", (PyObject *)&py_snode_type) ||
         PyModule_AddObjectRef(m, "Value", (PyObject *)&py_svalue_type);
}
