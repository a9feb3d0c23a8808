// SPDX-License-Identifier: Apache-2.0
// A model as text, in the form of PyTorch's export_to_pretty_string.
#include <inttypes.h>

#include "base/str.h"
#include "onnx/proto_model.h"

static void indent(ig_str *s, size_t depth) {
  for (size_t i = 0; i < depth; i++) ig_str_add(s, "  ");
}

static void add_type(ig_str *s, const ig_om_type *t) {
  if (t->kind != IG_OM_TENSOR_TYPE) {
    ig_str_add(s, "type:%s", t->kind == IG_OM_SEQUENCE_TYPE ? "Sequence" : "Other");
    return;
  }
  ig_str_add(s, "type:Tensor");
  if (t->has_shape) ig_str_add(s, " dims:");
  for (int d = 0; t->has_shape && d < t->ndim; d++) {
    if (t->dims[d].param) ig_str_add(s, " %s", t->dims[d].param);
    if (!t->dims[d].param && t->dims[d].value >= 0) ig_str_add(s, " %" PRId64, t->dims[d].value);
    if (!t->dims[d].param && t->dims[d].value < 0) ig_str_add(s, " ?");
  }
}

static void add_infos(ig_str *s, const char *key, const ig_om_info *at, size_t n, size_t depth) {
  indent(s, depth);
  ig_str_add(s, "%s: [", key);
  for (size_t i = 0; i < n; i++) {
    ig_str_add(s, "%s{name: \"%s\", ", i ? "," : "", at[i].name);
    add_type(s, &at[i].type);
    ig_str_add(s, "}");
  }
  ig_str_add(s, "]\n");
}

static void add_tensor(ig_str *s, const ig_om_tensor *t) {
  ig_str_add(s, "TensorProto shape: [");
  for (int d = 0; d < t->ndim; d++) ig_str_add(s, "%s%" PRId64, d ? " " : "", t->dims[d]);
  ig_str_add(s, "]");
}

static void add_graph(ig_str *s, const ig_om_graph *g, size_t depth);

static void add_attr(ig_str *s, const ig_om_attr *a, size_t depth) {
  ig_str_add(s, "{ name: '%s', type: ", a->name);
  switch (a->type) {
    case IG_OM_ATTR_FLOAT:
      ig_str_add(s, "float, value: %g", (double)a->f);
      break;
    case IG_OM_ATTR_INT:
      ig_str_add(s, "int, value: %" PRId64, a->i);
      break;
    case IG_OM_ATTR_STRING:
      ig_str_add(s, "string, value: '%.*s'", (int)a->s.n, (const char *)a->s.at);
      break;
    case IG_OM_ATTR_TENSOR:
      ig_str_add(s, "tensor, value:");
      add_tensor(s, a->tensors[0]);
      break;
    case IG_OM_ATTR_GRAPH:
      ig_str_add(s, "graph, value:\n");
      add_graph(s, a->graphs[0], depth + 1);
      break;
    case IG_OM_ATTR_FLOATS:
      ig_str_add(s, "floats, values: [");
      for (size_t i = 0; i < a->n; i++) ig_str_add(s, "%s%g", i ? " " : "", (double)a->floats[i]);
      ig_str_add(s, "]");
      break;
    case IG_OM_ATTR_INTS:
      ig_str_add(s, "ints, values: [");
      for (size_t i = 0; i < a->n; i++) ig_str_add(s, "%s%" PRId64, i ? " " : "", a->ints[i]);
      ig_str_add(s, "]");
      break;
    default:
      ig_str_add(s, "other, %zu values", a->n);
      break;
  }
  ig_str_add(s, "}");
}

static void add_names(ig_str *s, const char *key, const char *const *names, size_t n) {
  ig_str_add(s, "%s: [", key);
  for (size_t i = 0; i < n; i++) ig_str_add(s, "%s%s", i ? "," : "", names[i]);
  ig_str_add(s, "], ");
}

static void add_node(ig_str *s, const ig_om_node *n, size_t depth) {
  indent(s, depth);
  ig_str_add(s, "Node {");
  if (n->domain[0]) ig_str_add(s, "domain: \"%s\", ", n->domain);
  ig_str_add(s, "type: \"%s\", ", n->op_type);
  add_names(s, "inputs", n->inputs, n->ninputs);
  add_names(s, "outputs", n->outputs, n->noutputs);
  ig_str_add(s, "attributes: [");
  for (size_t i = 0; i < n->nattrs; i++) {
    if (i) ig_str_add(s, ",");
    add_attr(s, &n->attrs[i], depth);
  }
  ig_str_add(s, "]}\n");
}

static void add_graph(ig_str *s, const ig_om_graph *g, size_t depth) {
  indent(s, depth);
  ig_str_add(s, "GraphProto {\n");
  indent(s, depth + 1);
  ig_str_add(s, "name: \"%s\"\n", g->name);
  add_infos(s, "inputs", g->inputs, g->ninputs, depth + 1);
  add_infos(s, "outputs", g->outputs, g->noutputs, depth + 1);
  add_infos(s, "value_infos", g->values, g->nvalues, depth + 1);
  indent(s, depth + 1);
  ig_str_add(s, "initializers: [");
  for (size_t i = 0; i < g->ninits; i++) {
    if (i) ig_str_add(s, ",");
    add_tensor(s, g->inits[i]);
  }
  ig_str_add(s, "]\n");
  indent(s, depth + 1);
  ig_str_add(s, "nodes: [\n");
  for (size_t i = 0; i < g->nnodes; i++) add_node(s, &g->nodes[i], depth + 2);
  indent(s, depth + 1);
  ig_str_add(s, "]\n");
  indent(s, depth);
  ig_str_add(s, "}\n");
}

void ig_onnx_print(ig_str *s, const ig_onnx_model *m) {
  ig_str_add(s, "ModelProto {\n  producer_name: \"%s\"\n  domain: \"%s\"\n  doc_string: \"%s\"\n",
             m->producer_name, m->domain, m->doc);
  ig_str_add(s, "  graph:\n");
  add_graph(s, m->graph, 2);
  ig_str_add(s, "  opset_import: [");
  for (size_t i = 0; i < m->nopsets; i++) {
    ig_str_add(s, "OperatorSetIdProto { domain: %s, version: %" PRId64 "}", m->opsets[i].domain,
               m->opsets[i].version);
  }
  ig_str_add(s, "],\n}\n");
}
