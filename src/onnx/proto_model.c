// SPDX-License-Identifier: Apache-2.0
// ModelProto and FunctionProto; opening a model, describing it.
#include "base/cause.h"
#include "onnx/proto_parse.h"

#include <string.h>

#include "base/limits.h"

enum { VALUES_PER_NODE = 4 };

static void kept(ig_om_parser *p, bool ok) {
  if (!ok) (void)ig_fail(p->c, IG_NOMEM, "out of memory");
}
#define PUSH(p, vec, item) kept((p), ig_vec_push((p)->c->alloc, (vec), (item)))

static const char *text(ig_om_parser *p, ig_proto *in, const ig_proto_field *f) {
  const char *s = ig_proto_text(in, f, &p->m->arena);
  return s ? s : "";
}

static void parse_opset(ig_om_parser *p, ig_proto *in, ig_om_opset *out) {
  *out = (ig_om_opset){"", 0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) {
    if (f.number == 1) out->domain = text(p, in, &f);
    if (f.number == 2) out->version = ig_proto_int(in, &f);
  }
  if (strcmp(out->domain, "ai.onnx") == 0) out->domain = "";
}

// ---- functions

typedef struct function_lists {
  IG_VEC(ig_om_info) inputs;
  IG_VEC(ig_om_info) outputs;
  IG_VEC(ig_om_info) values;
  IG_VEC(const char *) attrs;
  IG_VEC(ig_om_attr) defaults;
  IG_VEC(ig_om_node) nodes;
  IG_VEC(ig_om_opset) opsets;
} function_lists;

static void function_message(ig_om_parser *p, ig_proto *sub, uint32_t number, function_lists *l) {
  if (number == 7) {
    ig_om_node n;
    if (ig_om_parse_node(p, sub, &n)) PUSH(p, &l->nodes, n);
  } else if (number == 9) {
    ig_om_opset o;
    parse_opset(p, sub, &o);
    PUSH(p, &l->opsets, o);
  } else if (number == 11) {
    ig_om_attr a;
    ig_om_parse_attr(p, sub, &a);
    PUSH(p, &l->defaults, a);
  } else if (number == 12) {
    ig_om_info v;
    if (ig_om_parse_info(p, sub, &v)) PUSH(p, &l->values, v);
  }
}

static void function_field(ig_om_parser *p, ig_proto *in, const ig_proto_field *f,
                           ig_om_function *fn, function_lists *l) {
  ig_om_info named = {.name = "", .doc = ""};
  ig_proto sub;
  switch (f->number) {
    case 1:
      fn->name = text(p, in, f);
      break;
    case 4:
      named.name = text(p, in, f);
      PUSH(p, &l->inputs, named);
      break;
    case 5:
      named.name = text(p, in, f);
      PUSH(p, &l->outputs, named);
      break;
    case 6:
      PUSH(p, &l->attrs, text(p, in, f));
      break;
    case 8:
      fn->doc = text(p, in, f);
      break;
    case 10:
      fn->domain = text(p, in, f);
      break;
    case 13:
      fn->overload = text(p, in, f);
      break;
    case 7:
    case 9:
    case 11:
    case 12:
      sub = ig_proto_message(in, f);
      function_message(p, &sub, f->number, l);
      break;
    default:
      break;
  }
}

static bool parse_function(ig_om_parser *p, ig_proto *in, ig_om_function *out) {
  *out = (ig_om_function){.name = "", .domain = "", .overload = "", .doc = ""};
  function_lists l = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) function_field(p, in, &f, out, &l);
  if (strcmp(out->domain, "ai.onnx") == 0) out->domain = "";
  ig_om_graph *g = ig_om_push(p, sizeof *g);
  ig_om_graph body = {.name = out->name, .doc = ""};
  body.nnodes = l.nodes.n;
  body.nodes = IG_OM_SETTLE(p, &l.nodes);
  body.ninputs = l.inputs.n;
  body.inputs = IG_OM_SETTLE(p, &l.inputs);
  body.noutputs = l.outputs.n;
  body.outputs = IG_OM_SETTLE(p, &l.outputs);
  body.nvalues = l.values.n;
  body.values = IG_OM_SETTLE(p, &l.values);
  out->nattrs = l.attrs.n;
  out->attrs = IG_OM_SETTLE(p, &l.attrs);
  out->ndefaults = l.defaults.n;
  out->defaults = IG_OM_SETTLE(p, &l.defaults);
  out->nopsets = l.opsets.n;
  out->opsets = IG_OM_SETTLE(p, &l.opsets);
  if (g) *g = body;
  out->body = g;
  return p->c->status == IG_OK;
}

// ---- the model

typedef struct model_lists {
  IG_VEC(ig_om_opset) opsets;
  IG_VEC(ig_om_entry) metadata;
  IG_VEC(ig_om_function) functions;
  IG_VEC(ig_proto_field) rest;
} model_lists;

static void model_message(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, model_lists *l) {
  ig_proto sub = ig_proto_message(in, f);
  if (f->number == 7) {
    if (p->m->graph) {
      (void)ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: the model has two graphs", p->m->name);
      return;
    }
    p->m->graph = ig_om_parse_graph(p, &sub);
  } else if (f->number == 8) {
    ig_om_opset o;
    parse_opset(p, &sub, &o);
    PUSH(p, &l->opsets, o);
  } else if (f->number == 14) {
    ig_om_entry e;
    if (ig_om_parse_entry(p, &sub, &e)) PUSH(p, &l->metadata, e);
  } else if (f->number == 25) {
    ig_om_function fn;
    if (parse_function(p, &sub, &fn)) PUSH(p, &l->functions, fn);
  }
}

static void model_field(ig_om_parser *p, ig_proto *in, const ig_proto_field *f, model_lists *l) {
  ig_onnx_model *m = p->m;
  switch (f->number) {
    case 1:
      m->ir_version = ig_proto_int(in, f);
      break;
    case 2:
      m->producer_name = text(p, in, f);
      break;
    case 3:
      m->producer_version = text(p, in, f);
      break;
    case 4:
      m->domain = text(p, in, f);
      break;
    case 5:
      m->model_version = ig_proto_int(in, f);
      break;
    case 6:
      m->doc = text(p, in, f);
      break;
    case 7:
    case 8:
    case 14:
    case 25:
      model_message(p, in, f, l);
      break;
    default:
      PUSH(p, &l->rest, *f);
      break;
  }
}

ig_status ig_om_parse_model(ig_om_parser *p, ig_proto *in) {
  model_lists l = {0};
  ig_proto_field f;
  while (ig_proto_next(in, &f)) model_field(p, in, &f, &l);
  ig_onnx_model *m = p->m;
  m->nopsets = l.opsets.n;
  m->opsets = IG_OM_SETTLE(p, &l.opsets);
  m->nmetadata = l.metadata.n;
  m->metadata = IG_OM_SETTLE(p, &l.metadata);
  m->nfunctions = l.functions.n;
  m->functions = IG_OM_SETTLE(p, &l.functions);
  m->rest.n = l.rest.n;
  m->rest.at = IG_OM_SETTLE(p, &l.rest);
  IG_RETURN_IF_ERR(p->c->status);
  if (!m->graph)
    return ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: not an ONNX model: it has no graph",
                   m->name);
  if (m->ir_version < 1) {
    return ig_fail(p->c, IG_SYNTAX | IG_E_ONNX_MODEL, "%s: ir_version is %lld, expected at least 1",
                   m->name, (long long)m->ir_version);
  }
  return IG_OK;
}

// ---- opening

static void model_destroy(ig_ref *self) {
  ig_onnx_model *m = (ig_onnx_model *)self;
  for (size_t i = 0; i < m->files.n; i++) ig_file_release(m->files.at[i].file);
  ig_vec_free(m->alloc, &m->files);
  ig_arena_free(&m->arena);
  ig_file_release(m->file);
  ig_mem_free(m->alloc, m, sizeof *m);
}

static ig_onnx_model *model_make(ig_ctx *c, const char *name, const char *folder, size_t nfolder,
                                 const ig_limits *limits) {
  ig_onnx_model *m = ig_mem_new(c->alloc, sizeof *m);
  if (!m) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  m->ref.destroy = model_destroy;
  ig_ref_retain(&m->ref);
  m->alloc = c->alloc;
  m->arena = ig_arena_make(c->alloc);
  m->producer_name = m->producer_version = m->domain = m->doc = "";
  // Values are inputs, outputs and attributes of nodes.
  const uint64_t nodes = ig_limits_of(c, limits).max_nodes;
  m->nodes_left = nodes;
  m->values_left = nodes < SIZE_MAX / VALUES_PER_NODE ? nodes * VALUES_PER_NODE : SIZE_MAX;
  m->name = ig_arena_strn(&m->arena, name, strlen(name));
  m->folder = folder ? ig_arena_strn(&m->arena, folder, nfolder) : NULL;
  if (!m->name || (folder && !m->folder)) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    ig_onnx_free(m);
    return NULL;
  }
  return m;
}

static ig_status parse_all(ig_ctx *c, ig_onnx_model *m, ig_bytes bytes, ig_onnx_model **out) {
  ig_om_parser p = {.c = c, .m = m};
  ig_proto in = ig_proto_make(c, m->name, bytes);
  ig_status st = ig_om_parse_model(&p, &in);
  if (st == IG_OK) st = ig_om_resolve(c, m);
  if (st != IG_OK) {
    ig_onnx_free(m);
    return st;
  }
  *out = m;
  return IG_OK;
}

ig_status ig_om_parse_borrowed(ig_ctx *c, const char *name, ig_bytes bytes, ig_onnx_model **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  ig_onnx_model *m = model_make(c, name, NULL, 0, NULL);
  return m ? parse_all(c, m, bytes, out) : c->status;
}

ig_status ig_onnx_parse(ig_ctx *c, const char *name, const void *data, size_t n, const char *folder,
                        const ig_limits *limits, ig_onnx_model **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  if (limits && limits->max_text && n > limits->max_text) {
    return ig_fail(c, IG_SYNTAX | IG_E_READER_LIMIT, "%s: found %zu bytes, the limits allow %llu",
                   name, n, (unsigned long long)limits->max_text);
  }
  ig_onnx_model *m = model_make(c, name, folder, folder ? strlen(folder) : 0, limits);
  if (!m) return c->status;
  uint8_t *copy = ig_arena_push(&m->arena, n + 1);
  if (!copy) {
    ig_onnx_free(m);
    return ig_fail(c, IG_NOMEM, "out of memory");
  }
  if (n) memcpy(copy, data, n);
  return parse_all(c, m, (ig_bytes){copy, n}, out);
}

ig_status ig_onnx_open(ig_ctx *c, const char *path, const ig_limits *limits, ig_onnx_model **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  const char *slash = strrchr(path, '/');
  ig_onnx_model *m = slash ? model_make(c, path, path, (size_t)(slash - path) + 1, limits)
                           : model_make(c, path, "./", 2, limits);
  if (!m) return c->status;
  ig_status st = ig_file_map(c, path, &m->file);
  if (st != IG_OK) {
    ig_onnx_free(m);
    return st;
  }
  if (limits && limits->max_text && m->file->bytes.n > limits->max_text) {
    st = ig_fail(c, IG_SYNTAX | IG_E_READER_LIMIT, "%s: found %zu bytes, the limits allow %llu",
                 path, m->file->bytes.n, (unsigned long long)limits->max_text);
    ig_onnx_free(m);
    return st;
  }
  return parse_all(c, m, m->file->bytes, out);
}

ig_status ig_om_open_parts(ig_ctx *c, const char *name, ig_file *model, ig_file *weights,
                           const ig_limits *limits, ig_onnx_model **out) {
  *out = NULL;
  IG_RETURN_IF_ERR(c->status);
  if (limits && limits->max_text && model->bytes.n > limits->max_text) {
    return ig_fail(c, IG_SYNTAX | IG_E_READER_LIMIT, "%s: found %zu bytes, the limits allow %llu",
                   name, model->bytes.n, (unsigned long long)limits->max_text);
  }
  ig_onnx_model *m = model_make(c, name, NULL, 0, limits);
  if (!m) return c->status;
  struct ig_om_file item = {IG_OM_WEIGHTS, weights};
  if (!ig_vec_push(c->alloc, &m->files, item)) {
    ig_onnx_free(m);
    return ig_fail(c, IG_NOMEM, "out of memory");
  }
  ig_ref_retain(&weights->ref);
  ig_ref_retain(&model->ref);
  m->file = model;
  return parse_all(c, m, model->bytes, out);
}

ig_onnx_model *ig_onnx_retain(ig_onnx_model *m) {
  if (m) ig_ref_retain(&m->ref);
  return m;
}

void ig_onnx_free(ig_onnx_model *m) {
  if (m) ig_ref_release(&m->ref);
}
