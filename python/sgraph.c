// SPDX-License-Identifier: Apache-2.0
// torch._C.Graph and torch._C.Block, parse_ir, and the passes that user code calls.
#include "sgraph.h"

#include <string.h>

#include "script/calls.h"
#include "script/compile.h"
#include "script/form.h"
#include "script/freeze.h"
#include "script/ir_edit.h"
#include "script/ir_pass.h"
#include "script/passes.h"
#include "script_value.h"

ig_sunit *py_unit(void) {
  if (!py.unit) {
    py.unit = ig_sunit_create(py.main);
    if (py.unit)
      py.unit->out = py_script_out();
    else
      (void)py_raise(py.main);
  }
  return py.unit;
}

// ---- objects

PyObject *py_from_sgraph(ig_sunit *u, ig_sgraph *g, bool own) {
  if (!g) return py_raise(py_ctx());
  if (g->host && !own) return Py_NewRef((PyObject *)g->host);
  py_sgraph *o = PyObject_New(py_sgraph, &py_sgraph_type);
  if (!o) {
    if (own) ig_sgraph_free(g);
    return NULL;
  }
  o->g = g;
  o->unit = ig_sunit_retain(u);
  o->outer = NULL;
  o->own = own;
  o->block = NULL;
  o->before = NULL;
  g->host = o;
  return (PyObject *)o;
}

ig_sgraph *py_sgraph_of(PyObject *o) {
  if (PyObject_TypeCheck(o, &py_sgraph_type)) return ((py_sgraph *)o)->g;
  PyErr_Format(PyExc_TypeError, "expected a Graph, not %s", Py_TYPE(o)->tp_name);
  return NULL;
}

static void graph_dealloc(PyObject *o) {
  py_sgraph *p = (py_sgraph *)o;
  if (p->g && p->g->host == o) p->g->host = NULL;
  if (p->own) ig_sgraph_free(p->g);
  ig_sunit_release(p->unit);
  Py_XDECREF(p->outer);
  PyObject_Free(o);
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)type;
  (void)args;
  (void)kwargs;
  ig_sunit *u = py_unit();
  return u ? py_from_sgraph(u, ig_sgraph_create(&u->types), true) : NULL;
}

static py_sgraph *self_of(PyObject *o) {
  return (py_sgraph *)o;
}
static ig_sblock *body_of(PyObject *o) {
  return self_of(o)->g->body;
}

static PyObject *done(void) {
  if (!py_ok(py_ctx())) return NULL;
  Py_RETURN_NONE;
}

// ---- what blocks and graphs have in common

static PyObject *list_values(py_sgraph *graph, ig_svalue *const *at, size_t n) {
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
static PyObject *list_nodes(py_sgraph *graph, const ig_sblock *b) {
  PyObject *list = PyList_New(0);
  for (ig_snode *n = b->first; list && n; n = n->next) {
    PyObject *node = py_from_snode(graph, n);
    if (!node || PyList_Append(list, node) != 0) Py_CLEAR(list);
    Py_XDECREF(node);
  }
  PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return iterator;
}

// Nodes of a kind, in order; `first`: one is enough. False: exception set.
static bool find_nodes(py_sgraph *graph, const ig_sblock *b, const char *kind, bool deep,
                       bool first, PyObject *list) {
  for (ig_snode *n = b->first; n; n = n->next) {
    if (first && PyList_GET_SIZE(list)) return true;
    if (!kind || strcmp(n->kind, kind) == 0) {
      PyObject *node = py_from_snode(graph, n);
      bool ok = node && PyList_Append(list, node) == 0;
      Py_XDECREF(node);
      if (!ok) return false;
    }
    for (size_t i = 0; deep && i < n->n_blocks; i++) {
      if (!find_nodes(graph, n->blocks[i], kind, deep, first, list)) return false;
    }
  }
  return true;
}
static PyObject *find(py_sgraph *graph, const ig_sblock *b, PyObject *args, PyObject *kwargs,
                      bool first) {
  static char *names[] = {"kind", "recurse", NULL};
  const char *kind = NULL;
  int deep = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|p", names, &kind, &deep)) return NULL;
  PyObject *list = PyList_New(0);
  if (list && !find_nodes(graph, b, kind, deep, first, list)) Py_CLEAR(list);
  if (!list || !first) return list;
  PyObject *found = Py_NewRef(PyList_GET_SIZE(list) ? PyList_GET_ITEM(list, 0) : Py_None);
  Py_DECREF(list);
  return found;
}

static PyObject *params_of(py_sgraph *graph, ig_sblock *b) {
  ig_snode *n = ig_snode_of_params(b);
  return n ? py_from_snode(graph, n) : py_raise(py_ctx());
}
static PyObject *returns_of(py_sgraph *graph, ig_sblock *b) {
  ig_snode *n = ig_snode_of_returns(b);
  return n ? py_from_snode(graph, n) : py_raise(py_ctx());
}
static PyObject *add_input_to(py_sgraph *graph, ig_sblock *b, PyObject *args) {
  const char *name = "";
  if (!PyArg_ParseTuple(args, "|s:addInput", &name)) return NULL;
  ig_svalue *v = ig_sblock_add_input(b, ig_stype_plain(&graph->unit->types, IG_STYPE_TENSOR));
  if (!v || (name[0] && !ig_svalue_set_name(graph->g, v, name))) return py_raise(py_ctx());
  return py_from_svalue(graph, v);
}
static PyObject *register_output_of(py_sgraph *graph, ig_sblock *b, PyObject *given) {
  if (!PyObject_TypeCheck(given, &py_svalue_type) || ((py_spart *)given)->graph->g != graph->g) {
    PyErr_SetString(PyExc_TypeError, "registerOutput: expected a Value of this graph");
    return NULL;
  }
  if (!ig_sblock_add_output(b, ((py_spart *)given)->value)) return py_raise(py_ctx());
  return PyLong_FromSize_t(b->n_out - 1);
}

// ---- reading graphs

static PyObject *graph_text(const ig_sgraph *g, bool places) {
  ig_str s = ig_str_make(py_ctx()->alloc);
  ig_sgraph_print(&s, g, places);
  PyObject *text = s.failed ? PyErr_NoMemory() : PyUnicode_FromString(s.at);
  ig_str_free(&s);
  return text;
}
static PyObject *graph_repr(PyObject *o) {
  return graph_text(self_of(o)->g, true);
}
static PyObject *graph_str(PyObject *o, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"print_source_ranges", NULL};
  int places = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:str", names, &places)) return NULL;
  return graph_text(self_of(o)->g, places != 0);
}
static PyObject *graph_inputs(PyObject *o, PyObject *unused) {
  (void)unused;
  return list_values(self_of(o), body_of(o)->in, body_of(o)->n_in);
}
static PyObject *graph_outputs(PyObject *o, PyObject *unused) {
  (void)unused;
  return list_values(self_of(o), body_of(o)->out, body_of(o)->n_out);
}
static PyObject *graph_nodes(PyObject *o, PyObject *unused) {
  (void)unused;
  return list_nodes(self_of(o), body_of(o));
}
static PyObject *find_node(PyObject *o, PyObject *args, PyObject *kwargs) {
  return find(self_of(o), body_of(o), args, kwargs, true);
}
static PyObject *find_all_nodes(PyObject *o, PyObject *args, PyObject *kwargs) {
  return find(self_of(o), body_of(o), args, kwargs, false);
}
static PyObject *param_node(PyObject *o, PyObject *unused) {
  (void)unused;
  return params_of(self_of(o), body_of(o));
}
static PyObject *return_node(PyObject *o, PyObject *unused) {
  (void)unused;
  return returns_of(self_of(o), body_of(o));
}
static PyObject *graph_block(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_sblock(self_of(o), body_of(o));
}

// ---- changing graphs

static PyObject *graph_copy(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_sgraph(self_of(o)->unit, ig_sgraph_copy(self_of(o)->g), true);
}
static PyObject *lint(PyObject *o, PyObject *unused) {
  (void)unused;
  (void)ig_sgraph_lint(self_of(o)->g);
  return done();
}
static PyObject *add_input(PyObject *o, PyObject *args) {
  return add_input_to(self_of(o), body_of(o), args);
}
static bool at_index(PyObject *index, size_t n, size_t *at) {
  Py_ssize_t i = PyLong_AsSsize_t(index);
  if (i == -1 && PyErr_Occurred()) return false;
  if (i < 0 || (size_t)i >= n) {
    PyErr_Format(PyExc_IndexError, "there is no value %zd, only %zu", i, n);
    return false;
  }
  *at = (size_t)i;
  return true;
}
static PyObject *erase_input(PyObject *o, PyObject *index) {
  size_t at = 0;
  ig_sblock *b = body_of(o);
  if (!at_index(index, b->n_in, &at)) return NULL;
  if (ig_svalue_is_used(b, b->in[at])) {
    PyErr_SetString(PyExc_RuntimeError, "the input is still used");
    return NULL;
  }
  ig_sblock_remove_input(b, at);
  return done();
}
static PyObject *erase_output(PyObject *o, PyObject *index) {
  size_t at = 0;
  if (!at_index(index, body_of(o)->n_out, &at)) return NULL;
  ig_sblock_remove_output(body_of(o), at);
  return done();
}
static PyObject *register_output(PyObject *o, PyObject *given) {
  return register_output_of(self_of(o), body_of(o), given);
}
static PyObject *make_multi_output(PyObject *o, PyObject *values) {
  PyObject *all = PySequence_Tuple(values);
  if (!all) return NULL;
  ig_sblock *b = body_of(o);
  while (b->n_out) ig_sblock_remove_output(b, b->n_out - 1);
  PyObject *out = Py_NewRef(Py_None);
  for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(all); i++) {
    Py_SETREF(out, register_output(o, PyTuple_GET_ITEM(all, i)));
  }
  Py_DECREF(all);
  Py_XDECREF(out);
  if (!out) return NULL;
  Py_RETURN_NONE;
}

// create(kind, [inputs], outputs=1): stands nowhere until it is inserted.
static PyObject *create(PyObject *o, PyObject *args) {
  const char *kind = NULL;
  PyObject *second = NULL;
  Py_ssize_t outputs = 1;
  if (!PyArg_ParseTuple(args, "s|On:create", &kind, &second, &outputs)) return NULL;
  if (second && PyLong_Check(second)) {
    outputs = PyLong_AsSsize_t(second);
    second = NULL;
  }
  py_sgraph *graph = self_of(o);
  if (!strstr(kind, "::")) {
    PyErr_Format(PyExc_ValueError, "create: kind '%s' has no namespace, expected 'aten::add'",
                 kind);
    return NULL;
  }
  ig_snode *n = ig_snode_create(graph->g, kind, NULL, 0);
  const ig_stype *tensor = ig_stype_plain(&graph->unit->types, IG_STYPE_TENSOR);
  for (Py_ssize_t i = 0; n && i < outputs; i++) {
    if (!ig_snode_add_output(n, tensor)) n = NULL;
  }
  PyObject *node = n ? py_from_snode(graph, n) : py_raise(py_ctx());
  PyObject *all = node && second ? PySequence_Tuple(second) : NULL;
  if (node && second && !all) Py_CLEAR(node);
  for (Py_ssize_t i = 0; node && all && i < PyTuple_GET_SIZE(all); i++) {
    PyObject *added = PyObject_CallMethod(node, "addInput", "O", PyTuple_GET_ITEM(all, i));
    if (!added) Py_CLEAR(node);
    Py_XDECREF(added);
  }
  Py_XDECREF(all);
  return node;
}

void py_sgraph_insert(py_sgraph *graph, ig_snode *n) {
  ig_snode_insert(n, graph->block ? graph->block : graph->g->body, graph->before);
}

static ig_snode *own_node(PyObject *o, PyObject *given) {
  if (PyObject_TypeCheck(given, &py_snode_type) && ((py_spart *)given)->graph->g == self_of(o)->g) {
    return ((py_spart *)given)->node;
  }
  PyErr_SetString(PyExc_TypeError, "expected a Node of this graph");
  return NULL;
}
static PyObject *insert_node(PyObject *o, PyObject *given) {
  ig_snode *n = own_node(o, given);
  if (!n) return NULL;
  if (!n->detached || n->removed) {
    PyErr_Format(PyExc_RuntimeError, "%s %s", n->kind,
                 n->removed ? "was removed from the graph" : "is in the graph already");
    return NULL;
  }
  py_sgraph_insert(self_of(o), n);
  return Py_NewRef(given);
}
static PyObject *append_node(PyObject *o, PyObject *given) {
  ig_snode *n = own_node(o, given);
  if (!n) return NULL;
  ig_snode_insert(n, body_of(o), NULL);
  return Py_NewRef(given);
}
static PyObject *prepend_node(PyObject *o, PyObject *given) {
  ig_snode *n = own_node(o, given);
  if (!n) return NULL;
  ig_snode_insert(n, body_of(o), body_of(o)->first);
  return Py_NewRef(given);
}
static PyObject *set_insert_point(PyObject *o, PyObject *given) {
  py_sgraph *graph = self_of(o);
  if (PyObject_TypeCheck(given, &py_sblock_type) && ((py_spart *)given)->graph->g == graph->g) {
    graph->block = ((py_spart *)given)->block;
    graph->before = NULL;
    Py_RETURN_NONE;
  }
  ig_snode *n = own_node(o, given);
  if (!n) return NULL;
  graph->block = n->owner;
  graph->before = n->detached ? (n == n->owner->params ? n->owner->first : NULL) : n;
  Py_RETURN_NONE;
}
static PyObject *insert_point(PyObject *o, PyObject *unused) {
  (void)unused;
  py_sgraph *graph = self_of(o);
  if (graph->before) return py_from_snode(graph, graph->before);
  return returns_of(graph, graph->block ? graph->block : graph->g->body);
}
static PyObject *insert_constant(PyObject *o, PyObject *given) {
  ig_svalue *v = py_sgraph_constant(self_of(o), given);
  return v ? py_from_svalue(self_of(o), v) : NULL;
}

#define WITH_KEYWORDS(fn) (PyCFunction)(void (*)(void))(fn)
static PyMethodDef graph_methods[] = {
    {"str", WITH_KEYWORDS(graph_str), METH_VARARGS | METH_KEYWORDS, NULL},
    {"inputs", graph_inputs, METH_NOARGS, NULL},
    {"outputs", graph_outputs, METH_NOARGS, NULL},
    {"nodes", graph_nodes, METH_NOARGS, NULL},
    {"findNode", WITH_KEYWORDS(find_node), METH_VARARGS | METH_KEYWORDS, NULL},
    {"findAllNodes", WITH_KEYWORDS(find_all_nodes), METH_VARARGS | METH_KEYWORDS, NULL},
    {"param_node", param_node, METH_NOARGS, NULL},
    {"return_node", return_node, METH_NOARGS, NULL},
    {"block", graph_block, METH_NOARGS, NULL},
    {"copy", graph_copy, METH_NOARGS, NULL},
    {"lint", lint, METH_NOARGS, NULL},
    {"addInput", add_input, METH_VARARGS, NULL},
    {"eraseInput", erase_input, METH_O, NULL},
    {"eraseOutput", erase_output, METH_O, NULL},
    {"registerOutput", register_output, METH_O, NULL},
    {"makeMultiOutputIntoTuple", make_multi_output, METH_O, NULL},
    {"create", create, METH_VARARGS, NULL},
    {"insertNode", insert_node, METH_O, NULL},
    {"appendNode", append_node, METH_O, NULL},
    {"prependNode", prepend_node, METH_O, NULL},
    {"setInsertPoint", set_insert_point, METH_O, NULL},
    {"insertPoint", insert_point, METH_NOARGS, NULL},
    {"insertConstant", insert_constant, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_sgraph_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Graph",
    .tp_basicsize = sizeof(py_sgraph),
    .tp_dealloc = graph_dealloc,
    .tp_repr = graph_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = graph_methods,
    .tp_new = graph_new,
};

// ---- blocks

static void block_dealloc(PyObject *o) {
  Py_DECREF(((py_spart *)o)->graph);
  PyObject_Free(o);
}
static PyObject *block_inputs(PyObject *o, PyObject *unused) {
  const py_spart *p = (py_spart *)o;
  (void)unused;
  return list_values(p->graph, p->block->in, p->block->n_in);
}
static PyObject *block_outputs(PyObject *o, PyObject *unused) {
  const py_spart *p = (py_spart *)o;
  (void)unused;
  return list_values(p->graph, p->block->out, p->block->n_out);
}
static PyObject *block_nodes(PyObject *o, PyObject *unused) {
  const py_spart *p = (py_spart *)o;
  (void)unused;
  return list_nodes(p->graph, p->block);
}
static PyObject *block_find(PyObject *o, PyObject *args, PyObject *kwargs) {
  return find(((py_spart *)o)->graph, ((py_spart *)o)->block, args, kwargs, true);
}
static PyObject *block_find_all(PyObject *o, PyObject *args, PyObject *kwargs) {
  return find(((py_spart *)o)->graph, ((py_spart *)o)->block, args, kwargs, false);
}
static PyObject *block_params(PyObject *o, PyObject *unused) {
  (void)unused;
  return params_of(((py_spart *)o)->graph, ((py_spart *)o)->block);
}
static PyObject *block_returns(PyObject *o, PyObject *unused) {
  (void)unused;
  return returns_of(((py_spart *)o)->graph, ((py_spart *)o)->block);
}
static PyObject *block_add_input(PyObject *o, PyObject *args) {
  return add_input_to(((py_spart *)o)->graph, ((py_spart *)o)->block, args);
}
static PyObject *block_register(PyObject *o, PyObject *given) {
  return register_output_of(((py_spart *)o)->graph, ((py_spart *)o)->block, given);
}
static PyObject *block_node(PyObject *o, PyObject *unused) {
  (void)unused;
  return py_from_snode(((py_spart *)o)->graph, ((py_spart *)o)->block->node);
}

static PyMethodDef block_methods[] = {
    {"inputs", block_inputs, METH_NOARGS, NULL},
    {"outputs", block_outputs, METH_NOARGS, NULL},
    {"nodes", block_nodes, METH_NOARGS, NULL},
    {"findNode", WITH_KEYWORDS(block_find), METH_VARARGS | METH_KEYWORDS, NULL},
    {"findAllNodes", WITH_KEYWORDS(block_find_all), METH_VARARGS | METH_KEYWORDS, NULL},
    {"paramNode", block_params, METH_NOARGS, NULL},
    {"returnNode", block_returns, METH_NOARGS, NULL},
    {"addInputToBlock", block_add_input, METH_VARARGS, NULL},
    {"registerOutput", block_register, METH_O, NULL},
    {"owningNode", block_node, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject py_sblock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ingot._C.Block",
    .tp_basicsize = sizeof(py_spart),
    .tp_dealloc = block_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = block_methods,
};

// ---- passes

// Only the inputs of the graph keep the names of the text.
static void drop_names(ig_sblock *b) {
  for (ig_snode *n = b->first; n; n = n->next) {
    for (size_t i = 0; i < n->n_out; i++) (void)ig_svalue_set_name(b->graph, n->out[i], "");
    for (size_t i = 0; i < n->n_blocks; i++) drop_names(n->blocks[i]);
  }
}

static PyObject *parse_ir(PyObject *unused, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"input", "parse_tensor_constants", NULL};
  const char *text = NULL;
  int tensors = 0;
  (void)unused;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|p:parse_ir", names, &text, &tensors))
    return NULL;
  ig_sunit *u = py_unit();
  ig_sgraph *g = u ? ig_sgraph_parse(&u->types, NULL, text) : NULL;
  if (u && !g && u->c->status == IG_SYNTAX) {  // errors in scripts are RuntimeErrors
    return py_raise_as(u->c, PyExc_RuntimeError);
  }
  if (!u || !g) return u ? py_raise(u->c) : NULL;
  drop_names(g->body);
  ig_sgraph *numbered = ig_sgraph_copy(g);  // in order
  ig_sgraph_free(g);
  return py_from_sgraph(u, numbered, true);
}

// A pass over a graph, which it changes.
static PyObject *pass(PyObject *o, bool (*fn)(ig_sunit *u, ig_sgraph *g)) {
  ig_sgraph *g = py_sgraph_of(o);
  if (!g) return NULL;
  (void)fn(self_of(o)->unit, g);
  return done();
}
static bool do_inline(ig_sunit *u, ig_sgraph *g) {
  return ig_sgraph_inline(g->c, u, g);
}
static bool do_lint(ig_sunit *u, ig_sgraph *g) {
  (void)u;
  return ig_sgraph_lint(g);
}
static bool do_erase_shapes(ig_sunit *u, ig_sgraph *g) {
  (void)u;
  return ig_sgraph_erase_shapes(g);
}
static bool do_lower_tuples(ig_sunit *u, ig_sgraph *g) {
  (void)u;
  return ig_sgraph_lower_tuples(g);
}

static bool do_pool(ig_sunit *u, ig_sgraph *g) {
  (void)u;
  return ig_sgraph_pool_constants(g);
}

static bool do_unroll(ig_sunit *u, ig_sgraph *g) {
  bool changed = false;
  (void)u;
  return ig_sgraph_unroll_loops(g, &changed);
}

#define PASS(name, fn)                                     \
  static PyObject *pass_##name(PyObject *m, PyObject *o) { \
    (void)m;                                               \
    return pass(o, fn);                                    \
  }
PASS(dce, ig_sgraph_remove_dead)
PASS(inline, do_inline)
PASS(lint, do_lint)
PASS(erase_shapes, do_erase_shapes)
PASS(lower_tuples, do_lower_tuples)
PASS(cse, ig_sgraph_merge_equal)
PASS(fold, ig_sgraph_fold_constants)
PASS(pool, do_pool)
PASS(unroll, do_unroll)
PASS(simplify_only, ig_sgraph_simplify)
PASS(fold_all, ig_sgraph_fold_all)

// peephole(graph, addmm_fusion_enabled=False): there is no fusion.
static PyObject *pass_peephole(PyObject *m, PyObject *args) {
  PyObject *o = NULL;
  int fuse = 0;
  return PyArg_ParseTuple(args, "O|p:_jit_pass_peephole", &o, &fuse) ? pass_simplify_only(m, o)
                                                                     : NULL;
}

// optimize_frozen_graph(graph, optimize_numerics=True)
static PyObject *pass_optimize_frozen(PyObject *m, PyObject *args) {
  PyObject *o = NULL;
  int numerics = 1;
  (void)m;
  if (!PyArg_ParseTuple(args, "O|p:_jit_pass_optimize_frozen_graph", &o, &numerics)) return NULL;
  ig_sgraph *g = py_sgraph_of(o);
  if (!g) return NULL;
  (void)ig_sgraph_optimize_frozen(self_of(o)->unit, g, numerics != 0);
  return done();
}

// A copy whose values are numbered in order, without names if they are not wanted.
static PyObject *pass_canonicalize(PyObject *unused, PyObject *args) {
  PyObject *o = NULL;
  int names = 1;
  (void)unused;
  if (!PyArg_ParseTuple(args, "O|p:_jit_pass_canonicalize", &o, &names)) return NULL;
  const ig_sgraph *g = py_sgraph_of(o);
  if (!g) return NULL;
  return py_from_sgraph(self_of(o)->unit, ig_sgraph_canonical(g, names != 0), true);
}

// The one name of an operator that has several.
static PyObject *operator_name(PyObject *unused, PyObject *kind) {
  (void)unused;
  const char *text = PyUnicode_AsUTF8(kind);
  const char *one = text ? ig_sform_alias(text) : NULL;
  return !text ? NULL : one ? PyUnicode_FromString(one) : Py_NewRef(kind);
}

// _calls(graph) -> the nodes that are neither dead nor constant, those of inner blocks too
static PyObject *calls(PyObject *unused, PyObject *o) {
  (void)unused;
  const ig_sgraph *g = py_sgraph_of(o);
  if (!g) return NULL;
  ig_scalls found = {0};
  PyObject *list = ig_sgraph_calls(self_of(o)->unit, g, &found) ? PyList_New(0) : py_raise(g->c);
  for (size_t i = 0; list && i < found.n; i++) {
    PyObject *node = py_from_snode(self_of(o), found.at[i]);
    if (!node || PyList_Append(list, node) != 0) Py_CLEAR(list);
    Py_XDECREF(node);
  }
  ig_vec_free(g->c->alloc, &found);
  return list;
}

static PyObject *list_of_marked(const bool *marked, size_t n) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *number = marked[i] ? PyLong_FromSize_t(i) : NULL;
    if (marked[i] && (!number || PyList_Append(list, number) != 0)) Py_CLEAR(list);
    Py_XDECREF(number);
  }
  return list;
}

// _size_reads(graph, varying) -> the inputs that live calls ask for sizes; inputs are numbers
static PyObject *size_reads(PyObject *unused, PyObject *args) {
  PyObject *o = NULL;
  PyObject *given = NULL;
  (void)unused;
  if (!PyArg_ParseTuple(args, "OO!:_size_reads", &o, &PyList_Type, &given)) return NULL;
  const ig_sgraph *g = py_sgraph_of(o);
  if (!g) return NULL;
  size_t n = g->body->n_in;
  bool *varying = PyMem_Calloc(n + 1, sizeof *varying);
  bool *asked = PyMem_Calloc(n + 1, sizeof *asked);
  bool ok = varying && asked;
  if (!ok) (void)PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(given); i++) {
    size_t number = PyLong_AsSize_t(PyList_GET_ITEM(given, i));
    ok = !PyErr_Occurred();
    if (ok && number < n) varying[number] = true;
  }
  PyObject *out = NULL;
  if (ok) {
    bool found = ig_sgraph_size_reads(self_of(o)->unit, g, varying, asked);
    out = found ? list_of_marked(asked, n) : py_raise(g->c);
  }
  PyMem_Free(varying);
  PyMem_Free(asked);
  return out;
}

static bool add_kinds(PyObject *set, const ig_sblock *b) {
  for (const ig_snode *n = b->first; n; n = n->next) {
    PyObject *kind = PyUnicode_FromString(n->kind);
    bool ok = kind && PySet_Add(set, kind) == 0;
    Py_XDECREF(kind);
    for (size_t i = 0; ok && i < n->n_blocks; i++) ok = add_kinds(set, n->blocks[i]);
    if (!ok) return false;
  }
  return true;
}

// _kinds(graph) -> the kinds of its nodes, those of inner blocks too
static PyObject *kinds(PyObject *unused, PyObject *o) {
  (void)unused;
  const ig_sgraph *g = py_sgraph_of(o);
  PyObject *set = g ? PySet_New(NULL) : NULL;
  if (set && !add_kinds(set, g->body)) Py_CLEAR(set);
  return set;
}

static PyMethodDef functions[] = {
    {"_calls", calls, METH_O, NULL},
    {"_kinds", kinds, METH_O, NULL},
    {"_operator_name", operator_name, METH_O, NULL},
    {"_size_reads", size_reads, METH_VARARGS, NULL},
    {"parse_ir", WITH_KEYWORDS(parse_ir), METH_VARARGS | METH_KEYWORDS, NULL},
    {"_jit_pass_dce", pass_dce, METH_O, NULL},
    {"_jit_pass_cse", pass_cse, METH_O, NULL},
    {"_jit_pass_inline", pass_inline, METH_O, NULL},
    {"_jit_pass_constant_propagation", pass_fold_all, METH_O, NULL},
    {"_jit_pass_constant_propagation_immutable_types", pass_fold, METH_O, NULL},
    {"_jit_pass_constant_loop_unrolling", pass_unroll, METH_O, NULL},
    {"_jit_pass_peephole", pass_peephole, METH_VARARGS, NULL},
    {"_jit_pass_optimize_frozen_graph", pass_optimize_frozen, METH_VARARGS, NULL},
    {"_jit_pass_constant_pooling", pass_pool, METH_O, NULL},
    {"_jit_pass_lint", pass_lint, METH_O, NULL},
    {"_jit_pass_erase_shape_information", pass_erase_shapes, METH_O, NULL},
    {"_jit_pass_lower_all_tuples", pass_lower_tuples, METH_O, NULL},
    {"_jit_pass_canonicalize", pass_canonicalize, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int py_add_sgraph(PyObject *m) {
  if (PyType_Ready(&py_sgraph_type) != 0 || PyType_Ready(&py_sblock_type) != 0) return -1;
  if (PyModule_AddFunctions(m, functions) != 0) return -1;
  return py_add_stype(m) || py_add_snode(m) ||
         PyModule_AddObjectRef(m, "Graph", (PyObject *)&py_sgraph_type) ||
         PyModule_AddObjectRef(m, "Block", (PyObject *)&py_sblock_type);
}
