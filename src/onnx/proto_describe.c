// SPDX-License-Identifier: Apache-2.0
// Description of a model, for inspection.
#include "onnx/proto_model.h"

ig_onnx_facts ig_onnx_describe(const ig_onnx_model *m) {
  return (ig_onnx_facts){
      .ir_version = m->ir_version,
      .producer_name = m->producer_name,
      .producer_version = m->producer_version,
      .domain = m->domain,
      .model_version = m->model_version,
      .doc = m->doc,
      .graph_name = m->graph->name,
      .nnodes = m->graph->nnodes,
      .ninitializers = m->graph->ninits + m->graph->nsparse,
      .nfunctions = m->nfunctions,
  };
}

bool ig_onnx_opset(const ig_onnx_model *m, size_t i, const char **domain, int64_t *version) {
  if (i >= m->nopsets) return false;
  *domain = m->opsets[i].domain;
  *version = m->opsets[i].version;
  return true;
}

bool ig_onnx_metadata(const ig_onnx_model *m, size_t i, const char **key, const char **value) {
  if (i >= m->nmetadata) return false;
  *key = m->metadata[i].key;
  *value = m->metadata[i].value;
  return true;
}

bool ig_onnx_node_at(const ig_onnx_model *m, size_t i, const char **name, const char **domain,
                     const char **op_type) {
  if (i >= m->graph->nnodes) return false;
  const ig_om_node *n = &m->graph->nodes[i];
  *name = n->name;
  *domain = n->domain;
  *op_type = n->op_type;
  return true;
}

// Inputs that have an initializer need not be given.
static const ig_om_info *input_at(const ig_onnx_model *m, size_t i) {
  const ig_om_graph *g = m->graph;
  for (size_t k = 0; k < g->ninputs; k++) {
    if (g->input_defaults[k]) continue;
    if (i-- == 0) return &g->inputs[k];
  }
  return NULL;
}

static bool describe(const ig_om_info *v, ig_onnx_port *out) {
  if (!v) return false;
  bool tensor = v->type.kind == IG_OM_TENSOR_TYPE;
  *out = (ig_onnx_port){v->name, tensor ? v->type.elem : 0,
                        tensor && v->type.has_shape ? v->type.ndim : -1};
  return true;
}

static int64_t dim_of(const ig_om_info *v, int dim, const char **param) {
  *param = NULL;
  if (!v || dim < 0 || dim >= v->type.ndim) return -1;
  *param = v->type.dims[dim].param;
  return v->type.dims[dim].value;
}

size_t ig_onnx_inputs(const ig_onnx_model *m) {
  size_t n = 0;
  for (size_t i = 0; i < m->graph->ninputs; i++) n += !m->graph->input_defaults[i];
  return n;
}

size_t ig_onnx_outputs(const ig_onnx_model *m) {
  return m->graph->noutputs;
}

bool ig_onnx_input(const ig_onnx_model *m, size_t i, ig_onnx_port *out) {
  return describe(input_at(m, i), out);
}

bool ig_onnx_output(const ig_onnx_model *m, size_t i, ig_onnx_port *out) {
  return describe(i < m->graph->noutputs ? &m->graph->outputs[i] : NULL, out);
}

int64_t ig_onnx_input_dim(const ig_onnx_model *m, size_t i, int dim, const char **param) {
  return dim_of(input_at(m, i), dim, param);
}

int64_t ig_onnx_output_dim(const ig_onnx_model *m, size_t i, int dim, const char **param) {
  return dim_of(i < m->graph->noutputs ? &m->graph->outputs[i] : NULL, dim, param);
}
