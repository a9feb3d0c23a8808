// SPDX-License-Identifier: Apache-2.0
// ONNX models. They are interpreted; if the caller requests a program, they are converted, and the
// program runs instead.
#include <stdio.h>
#include <string.h>

#include "arrays/unpack.h"
#include "base/budget.h"
#include "base/cause.h"
#include "model/session.h"
#include "onnx/proto_model.h"
#include "onnx_read/steps.h"

static bool add_facts(ig_ctx *c, ig_model *m, const ig_onnx_model *o) {
  ig_onnx_facts f = ig_onnx_describe(o);
  const char *key = NULL;
  const char *value = NULL;
  int64_t version = 0;
  (void)ig_model_add_fact(c, m, IG_FACT_VERSION, "IR", "%lld", (long long)f.ir_version);
  for (size_t i = 0; ig_onnx_opset(o, i, &key, &version); i++) {
    char name[200];
    (void)snprintf(name, sizeof name, "opset%s%.180s", key[0] ? " " : "", key);
    (void)ig_model_add_fact(c, m, IG_FACT_VERSION, name, "%lld", (long long)version);
  }
  if (f.producer_name && f.producer_name[0]) {
    (void)ig_model_add_fact(c, m, IG_FACT_VERSION, "producer", "%s%s%s", f.producer_name,
                            f.producer_version && f.producer_version[0] ? " " : "",
                            f.producer_version ? f.producer_version : "");
  }
  if (f.graph_name && f.graph_name[0]) {
    (void)ig_model_add_fact(c, m, IG_FACT_METADATA, "graph", "%s", f.graph_name);
  }
  for (size_t i = 0; ig_onnx_metadata(o, i, &key, &value); i++) {
    (void)ig_model_add_fact(c, m, IG_FACT_METADATA, key, "%s", value);
  }
  return c->status == IG_OK;
}

// ---- ports

typedef int64_t dim_fn(const ig_onnx_model *m, size_t i, int dim, const char **param);

// What the port takes or gives; false: neither numbers nor texts, but a sequence, an optional, a
// map.
static bool set_kind(ig_model_port *port, int elem) {
  port->dtype = ig_om_elem_dtype(elem);
  port->texts = elem == IG_OM_STRING;
  bool numbers = port->dtype != IG_DTYPE_COUNT;
  port->kind = numbers ? IG_KIND_TENSOR : port->texts ? IG_KIND_STR : IG_KIND_OBJECT;
  return numbers || port->texts;
}

static bool set_port(ig_ctx *c, ig_model *m, ig_model_port *port, const ig_onnx_port *info,
                     size_t i, dim_fn *dim_of) {
  if (!port) return false;
  if (!set_kind(port, info->elem) || info->ndim < 0) return true;
  ig_kind kind = port->kind;
  if (!ig_model_port_tensor(c, m, port, port->dtype, info->ndim)) return false;
  port->kind = kind;
  for (int d = 0; d < info->ndim; d++) {
    const char *param = NULL;
    int64_t size = dim_of(m->inner, i, d, &param);
    ig_model_dim *dim = (ig_model_dim *)port->dims[d];
    *dim = (ig_model_dim){NULL, size, size, size};
    if (size < 0) {
      *dim = (ig_model_dim){ig_model_text(c, m, param && param[0] ? param : "?"), 2, 0, INT64_MAX};
      if (!dim->name) return false;
    }
  }
  return true;
}

static bool add_ports(ig_ctx *c, ig_model *m, const ig_onnx_model *o) {
  ig_onnx_port info;
  for (size_t i = 0; i < ig_onnx_inputs(o) && ig_onnx_input(o, i, &info); i++) {
    ig_model_port *port = ig_model_add_input(c, m, info.name);
    if (!set_port(c, m, port, &info, i, ig_onnx_input_dim)) return false;
  }
  for (size_t i = 0; i < ig_onnx_outputs(o) && ig_onnx_output(o, i, &info); i++) {
    ig_model_port *port = ig_model_add_output(c, m, info.name);
    if (!set_port(c, m, port, &info, i, ig_onnx_output_dim)) return false;
  }
  return true;
}

// ---- weights

static void release_model(void *user) {
  ig_onnx_free(user);
}

// Memory that the model keeps is not copied.
static ig_tensor *to_tensor(ig_ctx *c, const ig_onnx_model *o, const ig_om_tensor *t,
                            ig_dtype dtype) {
  bool kept = (t->file || t->own) && dtype != IG_BOOL && t->raw.n &&
              (uintptr_t)t->raw.at % ig_element_align(dtype) == 0;
  if (kept) {
    ig_foreign memory = {(void *)t->raw.at, t->raw.n, NULL, release_model,
                         ig_onnx_retain((ig_onnx_model *)o)};
    return ig_tensor_wrap(c, dtype, t->dims, t->ndim, &memory);
  }
  ig_tensor *copy = ig_tensor_empty(c, dtype, t->dims, t->ndim);
  if (!copy || !t->raw.n) return copy;
  memcpy(ig_tensor_data(copy), t->raw.at, t->raw.n);
  if (dtype == IG_BOOL) ig_bools_normalize(ig_tensor_data(copy), t->raw.n);
  return copy;
}

static bool add_weights(ig_ctx *c, ig_model *m, const ig_onnx_model *o) {
  for (size_t i = 0; i < o->graph->ninits; i++) {
    const ig_om_tensor *t = o->graph->inits[i];
    ig_dtype dtype = ig_om_elem_dtype(t->elem);
    if (dtype == IG_DTYPE_COUNT || t->strings) {
      const char *elem = ig_om_elem_text(t->elem);
      if (!ig_model_add_finding(c, m, IG_OK, t->name,
                                "an initializer of %s: not listed as a weight", elem)) {
        return false;
      }
      continue;
    }
    ig_tensor *tensor = to_tensor(c, o, t, dtype);
    if (!tensor || !ig_model_add_weight(c, m, t->name, IG_WEIGHT_ARRAY, tensor)) return false;
  }
  return true;
}

// ---- operators

// Calls in the main graph, in bodies of control flow, and of functions that are called.
static bool count_graph(ig_ctx *c, ig_model *m, const ig_om_graph *g) {
  for (size_t i = 0; i < g->nnodes; i++) {
    const ig_om_node *n = &g->nodes[i];
    char name[256];
    (void)snprintf(name, sizeof name, "%.120s%s%.120s", n->domain, n->domain[0] ? "." : "",
                   n->op_type);
    if (!ig_model_count_operator(c, m, name)) return false;
    for (size_t a = 0; a < n->nattrs; a++) {
      for (size_t k = 0; n->attrs[a].graphs && k < n->attrs[a].n; k++) {
        if (!count_graph(c, m, n->attrs[a].graphs[k])) return false;
      }
    }
  }
  return true;
}

// ---- the row

static ig_status open_inside(ig_ctx *c, const ig_model *m, ig_onnx_model **out) {
  const ig_compiled *x = m->compiled;
  if (!x->weights) {
    return ig_fail(c, IG_SYNTAX | IG_E_INGOT_FILE,
                   "%s: a compiled model: an ONNX model without a section of weights", m->name);
  }
  return ig_om_open_parts(c, m->name, m->file, x->weights, m->options.limits, out);
}

ig_status ig_model_open_onnx(ig_ctx *c, ig_model *m) {
  ig_onnx_model *o = NULL;
  const ig_bytes *b = &m->file->bytes;
  IG_RETURN_IF_ERR(m->compiled ? open_inside(c, m, &o)
                   : m->in_memory
                       ? ig_onnx_parse(c, m->name, b->at, b->n, NULL, m->options.limits, &o)
                       : ig_onnx_open(c, m->name, m->options.limits, &o));
  m->inner = o;
  if (!add_facts(c, m, o) || !add_ports(c, m, o) || !add_weights(c, m, o) ||
      !count_graph(c, m, o->graph)) {
    return c->status;
  }
  if (!m->options.program) return IG_OK;
  ig_model_stage(m, "making a program", 0, 0);
  ig_program *p = NULL;
  ig_status st = ig_onnx_program(c, o, &p);
  if (st == IG_OK) st = ig_model_take_program(c, m, p, false);
  if (st == IG_OK || ig_status_is_final(st)) return st;
  // It can still be interpreted.
  bool ok = ig_model_add_finding(c, m, IG_OK, "program", "%s", ig_ctx_error(c));
  ig_ctx_clear(c);
  return ok ? IG_OK : ig_fail(c, IG_NOMEM, "out of memory");
}

// The inputs by name; NULL after an error.
static ig_weight *list_inputs(ig_ctx *c, const ig_model *m, const ig_value *inputs, size_t *n) {
  ig_weight *list = ig_scope_array(c, m->inputs.n + 1, sizeof *list);
  *n = 0;
  for (size_t i = 0; list && i < m->inputs.n; i++) {
    const ig_model_port *p = m->inputs.at[i];
    if (!ig_port_is_array(p)) continue;
    list[(*n)++] = p->texts ? (ig_weight){.name = p->name, .texts = &inputs[i]}
                            : (ig_weight){.name = p->name, .tensor = inputs[i].tensor};
  }
  return list;
}

ig_status ig_model_run_onnx(ig_ctx *c, const ig_model *m, void *state, const ig_value *inputs,
                            ig_value *outs) {
  (void)state;
  size_t n = 0;
  const ig_weight *list = list_inputs(c, m, inputs, &n);
  return list ? ig_onnx_run(c, m->inner, list, n, outs) : c->status;
}

// ---- node by node

static void *open_run(ig_ctx *c, void *user, const ig_value *inputs) {
  const ig_session *s = user;
  size_t n = 0;
  const ig_weight *list = list_inputs(c, s->m, inputs, &n);
  return list ? ig_rd_steps_open(c, s->m->inner, list, n) : NULL;
}

static void close_run(void *run) {
  ig_rd_steps_close(run);
}

static size_t count_nodes(const void *run) {
  return ig_rd_steps_count(run);
}

static bool is_node_ready(const void *run, size_t node) {
  return ig_rd_steps_ready(run, node);
}

static bool compute_node(void *run, size_t node) {
  return ig_rd_steps_run(run, node);
}

static bool leave_node(void *run, size_t node) {
  return ig_rd_steps_leave(run, node);
}

static bool settle_run(void *run) {
  return ig_rd_steps_settle(run);
}

static void forget_run(void *run) {
  ig_rd_steps_forget(run);
}

static void each_read(const void *run, size_t node, ig_rt_visit *fn, void *user) {
  ig_rd_steps_each_read(run, node, fn, user);
}

static void each_made(const void *run, size_t node, ig_rt_visit *fn, void *user) {
  ig_rd_steps_each_made(run, node, fn, user);
}

static void each_number(const void *run, size_t node, ig_rt_visit_size *fn, void *user) {
  ig_rd_steps_each_int(run, node, fn, user);
}

static bool take_output(void *run, size_t i, ig_value *out) {
  return ig_rd_steps_output(run, i, out);
}

// Nodes often have no name; a value that they compute has one.
static const char *name_node(const void *run, size_t node) {
  const ig_om_node *n = ig_rd_steps_node(run, node);
  return n->name[0] || n->noutputs == 0 ? n->name : n->outputs[0];
}

static const char *name_operator(const void *run, size_t node) {
  return ig_rd_steps_node(run, node)->op_type;
}

const ig_plan_nodes ig_model_onnx_nodes = {
    .open = open_run,
    .close = close_run,
    .count = count_nodes,
    .is_ready = is_node_ready,
    .compute = compute_node,
    .leave = leave_node,
    .settle = settle_run,
    .forget = forget_run,
    .each_operand = each_read,
    .each_result = each_made,
    .each_size = each_number,
    .output = take_output,
    .name = name_node,
    .target = name_operator,
};

ig_status ig_model_verify_onnx(ig_ctx *c, const ig_model *m) {
  return ig_onnx_check(c, m->inner);
}

const ig_onnx_model *ig_model_onnx(const ig_model *m) {
  return m->format->kind == IG_MODEL_ONNX ? m->inner : NULL;
}

void ig_model_close_onnx(ig_model *m) {
  ig_onnx_free(m->inner);
}
