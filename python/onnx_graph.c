// SPDX-License-Identifier: Apache-2.0
// ONNX models as text, and as graphs of nodes "onnx::Add" (torch._C.Graph): weights are inputs
// after those of the model, as in PyTorch's exporter before it writes.
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "onnx/proto_model.h"
#include "py.h"
#include "sgraph.h"
#include "tensor/tensor.h"

typedef struct builder {
  ig_ctx *c;
  ig_sunit *unit;
  ig_sgraph *g;
  ig_map values;  // name -> ig_svalue
} builder;

static ig_svalue *find_value(builder *b, const char *name) {
  ig_map_value *v = ig_map_find(&b->values, name);
  return v ? v->ptr : NULL;
}

static void name_value(builder *b, ig_svalue *v, const char *name) {
  ig_map_value *slot = v ? ig_map_put(&b->values, name) : NULL;
  if (!slot) (void)ig_fail(b->c, IG_NOMEM, "out of memory");
  if (slot) slot->ptr = v;
  if (v) (void)ig_svalue_set_name(b->g, v, name);
}

static const ig_stype *tensor_type(builder *b, int elem, int ndim, const int64_t *sizes) {
  ig_dtype dtype = ig_om_elem_dtype(elem);
  ig_stensor known = {.dtype = dtype == IG_DTYPE_COUNT ? -1 : (int)dtype, .ndim = ndim};
  known.sizes = sizes;
  known.requires_grad = 0;
  known.device = "cpu";
  return ig_stype_traced(&b->unit->types, &known);
}

static const ig_stype *info_type(builder *b, const ig_om_type *t) {
  int64_t sizes[IG_MAX_DIM];
  bool all = t->kind == IG_OM_TENSOR_TYPE && t->has_shape && t->ndim <= IG_MAX_DIM;
  for (int d = 0; all && d < t->ndim; d++) {
    sizes[d] = t->dims[d].value;
    all = t->dims[d].value >= 0;
  }
  return tensor_type(b, t->elem, t->has_shape ? t->ndim : -1, all ? sizes : NULL);
}

static PyObject *bytes_text(ig_bytes s) {
  return PyUnicode_DecodeUTF8((const char *)s.at, (Py_ssize_t)s.n, "replace");
}

static PyObject *tensor_object(builder *b, const ig_om_tensor *t) {
  ig_dtype dtype = ig_om_elem_dtype(t->elem);
  if (dtype == IG_DTYPE_COUNT || t->ndim > IG_MAX_DIM) return NULL;
  ig_tensor *out = ig_tensor_empty(b->c, dtype, t->dims, t->ndim);
  size_t n = out ? (size_t)ig_tensor_numel(out) * ig_dtype_size(dtype) : 0;  // admitted: a tensor
  if (n && n == t->raw.n) memcpy(ig_tensor_data(out), t->raw.at, n);
  return out ? py_from_tensor(b->c, out) : py_raise(b->c);
}

static PyObject *list_object(const ig_om_attr *a) {
  PyObject *list = PyList_New((Py_ssize_t)a->n);
  for (size_t i = 0; list && i < a->n; i++) {
    PyObject *o = a->type == IG_OM_ATTR_INTS     ? PyLong_FromLongLong(a->ints[i])
                  : a->type == IG_OM_ATTR_FLOATS ? PyFloat_FromDouble((double)a->floats[i])
                                                 : bytes_text(a->strings[i]);
    if (!o) Py_CLEAR(list);
    if (o) PyList_SET_ITEM(list, (Py_ssize_t)i, o);
  }
  return list;
}

// NULL without an exception: an attribute that graphs of scripts do not have.
static PyObject *attr_object(builder *b, const ig_om_attr *a) {
  switch (a->type) {
    case IG_OM_ATTR_INT:
      return PyLong_FromLongLong(a->i);
    case IG_OM_ATTR_FLOAT:
      return PyFloat_FromDouble((double)a->f);
    case IG_OM_ATTR_STRING:
      return bytes_text(a->s);
    case IG_OM_ATTR_TENSOR:
      return tensor_object(b, a->tensors[0]);
    case IG_OM_ATTR_INTS:
    case IG_OM_ATTR_FLOATS:
    case IG_OM_ATTR_STRINGS:
      return list_object(a);
    default:
      return NULL;
  }
}

static const char *place_of(builder *b, const ig_om_node *n) {
  for (size_t i = 0; i < n->nmetadata; i++) {
    if (strcmp(n->metadata[i].key, "pkg.torch.onnx.stack_trace") == 0)
      return ig_arena_strn(&b->g->arena, n->metadata[i].value, strlen(n->metadata[i].value));
  }
  return NULL;
}

static bool add_graph(builder *b, ig_sblock *block, const ig_om_graph *g);

static bool add_attrs(builder *b, ig_snode *made, const ig_om_node *n) {
  for (size_t i = 0; i < n->nattrs; i++) {
    if (n->attrs[i].type == IG_OM_ATTR_GRAPH) {
      ig_sblock *block = ig_snode_add_block(made);
      if (!block || !add_graph(b, block, n->attrs[i].graphs[0])) return false;
      continue;
    }
    PyObject *o = attr_object(b, &n->attrs[i]);
    if (!o && PyErr_Occurred()) return false;
    bool ok = !o || py_sattr_set(made, n->attrs[i].name, o);
    Py_XDECREF(o);
    if (!ok) return false;
  }
  return true;
}

static ig_svalue *none_value(builder *b, ig_sblock *block) {
  ig_snode *n = ig_snode_push(block, "prim::Constant", NULL, 0);
  return n ? ig_snode_add_output(n, ig_stype_plain(&b->unit->types, IG_STYPE_NONE)) : NULL;
}

static bool add_node(builder *b, ig_sblock *block, const ig_om_node *n) {
  char kind[256];
  (void)snprintf(kind, sizeof kind, "%.120s::%.120s", n->domain[0] ? n->domain : "onnx",
                 n->op_type);
  ig_svalue **in = ig_scope_array(b->c, n->ninputs + 1, sizeof *in);
  if (!in) return false;
  for (size_t i = 0; i < n->ninputs; i++) {
    in[i] = n->inputs[i][0] ? find_value(b, n->inputs[i]) : none_value(b, block);
    if (!in[i]) return false;
  }
  const char *kept = ig_arena_strn(&b->g->arena, kind, strlen(kind));
  ig_snode *made = kept ? ig_snode_push(block, kept, in, n->ninputs) : NULL;
  if (!made) return false;
  made->place = place_of(b, n);
  for (size_t i = 0; i < n->noutputs; i++) {
    ig_svalue *v = ig_snode_add_output(made, ig_stype_plain(&b->unit->types, IG_STYPE_TENSOR));
    name_value(b, v, n->outputs[i]);
  }
  return add_attrs(b, made, n);
}

static bool add_graph(builder *b, ig_sblock *block, const ig_om_graph *g) {
  for (size_t i = 0; i < g->ninputs; i++)
    name_value(b, ig_sblock_add_input(block, info_type(b, &g->inputs[i].type)), g->inputs[i].name);
  for (size_t i = 0; i < g->ninits; i++) {
    const ig_om_tensor *t = g->inits[i];
    if (find_value(b, t->name)) continue;
    name_value(b, ig_sblock_add_input(block, tensor_type(b, t->elem, t->ndim, t->dims)), t->name);
  }
  for (size_t i = 0; i < g->nnodes; i++)
    if (!add_node(b, block, &g->nodes[i])) return false;
  for (size_t i = 0; i < g->noutputs; i++) {
    ig_svalue *v = find_value(b, g->outputs[i].name);
    if (!v || !ig_sblock_add_output(block, v)) return false;
    if (g->outputs[i].type.kind == IG_OM_TENSOR_TYPE) v->type = info_type(b, &g->outputs[i].type);
  }
  return ig_ctx_status(b->c) == IG_OK;
}

static ig_onnx_model *parse(PyObject *bytes) {
  Py_buffer data;
  if (PyObject_GetBuffer(bytes, &data, PyBUF_SIMPLE) != 0) return NULL;
  ig_onnx_model *m = NULL;
  ig_ctx *c = py_ctx();
  ig_status st = ig_onnx_parse(c, "model", data.buf, (size_t)data.len, NULL, NULL, &m);
  PyBuffer_Release(&data);
  if (st != IG_OK) (void)py_raise(c);
  return st == IG_OK ? m : NULL;
}

// onnx_graph(bytes) -> (graph, {name of a weight: tensor})
static PyObject *onnx_graph(PyObject *module, PyObject *bytes) {
  (void)module;
  ig_ctx *c = py_ctx();
  ig_sunit *unit = py_unit();
  ig_onnx_model *m = unit ? parse(bytes) : NULL;
  if (!m) return NULL;
  ig_scope s = ig_scope_open(c);
  builder b = {.c = c, .unit = unit, .g = ig_sgraph_create(&unit->types)};
  b.values = ig_map_make(c->alloc);
  bool ok = b.g && add_graph(&b, b.g->body, m->graph);
  PyObject *weights = ok ? PyDict_New() : NULL;
  for (size_t i = 0; weights && i < m->graph->ninits; i++) {
    PyObject *t = tensor_object(&b, m->graph->inits[i]);
    if (!t || PyDict_SetItemString(weights, m->graph->inits[i]->name, t) != 0) Py_CLEAR(weights);
    Py_XDECREF(t);
  }
  PyObject *graph = NULL;
  if (weights) graph = py_from_sgraph(unit, b.g, true);
  if (!weights && b.g) ig_sgraph_free(b.g);
  if (!graph && !PyErr_Occurred() && py_ok(c))
    PyErr_SetString(PyExc_RuntimeError, "the model has values that graphs of scripts do not have");
  ig_map_free(&b.values);
  ig_scope_close(c, s);
  ig_onnx_free(m);
  PyObject *out = graph ? Py_BuildValue("(OO)", graph, weights) : NULL;
  Py_XDECREF(graph);
  Py_XDECREF(weights);
  return out;
}

// onnx_text(bytes) -> text
static PyObject *onnx_text(PyObject *module, PyObject *bytes) {
  (void)module;
  ig_onnx_model *m = parse(bytes);
  if (!m) return NULL;
  ig_str s = ig_str_make(py_ctx()->alloc);
  ig_onnx_print(&s, m);
  PyObject *out =
      s.failed ? PyErr_NoMemory() : PyUnicode_DecodeUTF8(s.at, (Py_ssize_t)s.n, "replace");
  ig_str_free(&s);
  ig_onnx_free(m);
  return out;
}

static PyMethodDef functions[] = {
    {"onnx_graph", onnx_graph, METH_O, "A model as a graph of nodes, and its weights."},
    {"onnx_text", onnx_text, METH_O, "A model as text."},
    {NULL, NULL, 0, NULL},
};

int py_add_onnx_graph(PyObject *m) {
  return PyModule_AddFunctions(m, functions);
}
