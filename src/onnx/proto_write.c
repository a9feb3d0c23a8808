// SPDX-License-Identifier: Apache-2.0
// Serializing a model. Tensor data is borrowed, not copied; it is written to the file or, if that
// would exceed 2 GiB or the caller requests it, to a file beside it. External data of the model is
// treated like any other: the copy does not refer to the original's files.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "codec/bits.h"
#include "onnx/model.h"
#include "onnx/proto_model.h"

enum { MAX_BYTES = INT32_MAX };  // of one message

typedef struct writer {
  ig_proto_writer w;
  const char *data_name;  // NULL: everything is in one file
  size_t least;           // bytes of what is not in the model's file
  uint64_t align;         // of what is not large
  uint64_t offset;        // offset of the next data
  ig_arena swapped;       // data in the byte order of files
  IG_VEC(struct placed {
    ig_bytes raw;
    uint64_t offset;
  })
  placed;
} writer;

// ---- tensors

static void put_entry(ig_proto_writer *w, uint32_t field, const char *key, const char *value) {
  size_t mark = ig_proto_open(w, field);
  ig_proto_put_text(w, IG_ONNX_ENTRY_KEY, key);
  ig_proto_put_text(w, IG_ONNX_ENTRY_VALUE, value);
  ig_proto_close(w, mark);
}

static void put_number_entry(ig_proto_writer *w, const char *key, uint64_t value) {
  char text[24];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  put_entry(w, 13, key, text);
}

static void put_external(writer *x, ig_bytes raw) {
  uint64_t align = raw.n >= IG_ONNX_LARGE ? IG_ONNX_ALIGN_LARGE : x->align;
  x->offset = (x->offset + align - 1) / align * align;
  put_entry(&x->w, 13, "location", x->data_name);
  put_number_entry(&x->w, "offset", x->offset);
  put_number_entry(&x->w, "length", raw.n);
  ig_proto_put_int(&x->w, 14, 1);
  struct placed p = {raw, x->offset};
  if (!ig_vec_push(x->w.alloc, &x->placed, p)) x->w.failed = true;
  x->offset += raw.n;
}

// What the file has of elements in the machine's order: on big-endian machines a copy, which the
// writer keeps.
static ig_bytes little(writer *x, const ig_om_tensor *t) {
  if (!IG_BIG_ENDIAN || ig_om_elem_part(t->elem) == 1 || t->raw.n == 0) return t->raw;
  uint8_t *to = ig_arena_push(&x->swapped, t->raw.n);
  if (!to) {
    x->w.failed = true;
    return (ig_bytes){NULL, 0};
  }
  memcpy(to, t->raw.at, t->raw.n);
  ig_order_swap(to, t->raw.n, ig_om_elem_part(t->elem));
  return (ig_bytes){to, t->raw.n};
}

static void put_tensor(writer *x, uint32_t field, const ig_om_tensor *t, bool weight) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, field);
  if (t->ndim) ig_proto_put_packed_ints(w, 1, t->dims, (size_t)t->ndim);
  ig_proto_put_int(w, 2, t->elem);
  if (*t->name) ig_proto_put_text(w, 8, t->name);
  if (t->doc && *t->doc) ig_proto_put_text(w, 12, t->doc);
  if (t->elem == IG_OM_STRING) {
    for (int64_t i = 0; i < t->numel; i++) ig_proto_put_borrowed(w, 6, t->strings[i]);
  } else if (weight && x->data_name && t->raw.n >= x->least) {
    put_external(x, little(x, t));
  } else {
    ig_proto_put_borrowed(w, 9, little(x, t));
  }
  ig_proto_close(w, mark);
}

static void put_sparse(writer *x, uint32_t field, const ig_om_sparse *s) {
  size_t mark = ig_proto_open(&x->w, field);
  put_tensor(x, 1, s->values, false);
  put_tensor(x, 2, s->indices, false);
  if (s->ndim) ig_proto_put_packed_ints(&x->w, 3, s->dims, (size_t)s->ndim);
  ig_proto_close(&x->w, mark);
}

// ---- types

static void put_type(ig_proto_writer *w, uint32_t field, const ig_om_type *t);

static void put_shape(ig_proto_writer *w, const ig_om_type *t) {
  size_t shape = ig_proto_open(w, 2);
  for (int d = 0; d < t->ndim; d++) {
    size_t dim = ig_proto_open(w, 1);
    if (t->dims[d].value >= 0) ig_proto_put_int(w, 1, t->dims[d].value);
    if (t->dims[d].value < 0 && t->dims[d].param) ig_proto_put_text(w, 2, t->dims[d].param);
    if (t->dims[d].denotation) ig_proto_put_text(w, 3, t->dims[d].denotation);
    ig_proto_close(w, dim);
  }
  ig_proto_close(w, shape);
}

static void put_type(ig_proto_writer *w, uint32_t field, const ig_om_type *t) {
  static const uint32_t fields[] = {
      [IG_OM_TENSOR_TYPE] = 1, [IG_OM_SEQUENCE_TYPE] = 4, [IG_OM_MAP_TYPE] = 5,
      [IG_OM_OPAQUE_TYPE] = 7, [IG_OM_OPTIONAL_TYPE] = 9, [IG_OM_SPARSE_TYPE] = 8};
  size_t mark = ig_proto_open(w, field);
  size_t inner = t->kind ? ig_proto_open(w, fields[t->kind]) : 0;
  bool map = t->kind == IG_OM_MAP_TYPE;
  if (map || t->kind == IG_OM_TENSOR_TYPE || t->kind == IG_OM_SPARSE_TYPE)
    ig_proto_put_int(w, 1, t->elem);
  if (t->has_shape) put_shape(w, t);
  if (t->of) put_type(w, map ? 2 : 1, t->of);
  if (t->kind) ig_proto_close(w, inner);
  if (t->denotation) ig_proto_put_text(w, 6, t->denotation);
  ig_proto_close(w, mark);
}

static void put_metadata(ig_proto_writer *w, uint32_t field, const ig_om_entry *at, size_t n) {
  for (size_t i = 0; i < n; i++) put_entry(w, field, at[i].key, at[i].value);
}

static void put_info(ig_proto_writer *w, uint32_t field, const ig_om_info *v) {
  size_t mark = ig_proto_open(w, field);
  ig_proto_put_text(w, 1, v->name);
  if (v->type.kind) put_type(w, 2, &v->type);
  if (*v->doc) ig_proto_put_text(w, 3, v->doc);
  put_metadata(w, 4, v->metadata, v->nmetadata);
  ig_proto_close(w, mark);
}

// ---- graphs

static void put_rest(ig_proto_writer *w, const ig_om_rest *rest) {
  for (size_t i = 0; i < rest->n; i++) {
    const ig_proto_field *f = &rest->at[i];
    if (f->wire == IG_PROTO_LEN) ig_proto_put_borrowed(w, f->number, f->bytes);
    if (f->wire == IG_PROTO_VARINT) ig_proto_put_int(w, f->number, (int64_t)f->value);
  }
}

static void put_text_if(ig_proto_writer *w, uint32_t field, const char *text) {
  if (text && *text) ig_proto_put_text(w, field, text);
}

static void put_graph(writer *x, uint32_t field, const ig_om_graph *g);

static void put_attr(writer *x, uint32_t field, const ig_om_attr *a) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, field);
  ig_proto_put_text(w, 1, a->name);
  put_text_if(w, 13, a->doc);
  ig_proto_put_int(w, 20, a->type);
  put_text_if(w, 21, a->ref);
  ig_om_attr_type type = a->ref ? IG_OM_ATTR_UNDEFINED : a->type;
  if (type == IG_OM_ATTR_FLOAT) ig_proto_put_float(w, 2, a->f);
  if (type == IG_OM_ATTR_INT) ig_proto_put_int(w, 3, a->i);
  if (type == IG_OM_ATTR_STRING) ig_proto_put_borrowed(w, 4, a->s);
  if (type == IG_OM_ATTR_FLOATS && a->n) ig_proto_put_packed_floats(w, 7, a->floats, a->n);
  if (type == IG_OM_ATTR_INTS && a->n) ig_proto_put_packed_ints(w, 8, a->ints, a->n);
  for (size_t i = 0; i < a->n; i++) {
    if (type == IG_OM_ATTR_STRINGS) ig_proto_put_borrowed(w, 9, a->strings[i]);
    if (type == IG_OM_ATTR_TENSOR) put_tensor(x, 5, a->tensors[i], false);
    if (type == IG_OM_ATTR_TENSORS) put_tensor(x, 10, a->tensors[i], false);
    if (type == IG_OM_ATTR_GRAPH) put_graph(x, 6, a->graphs[i]);
    if (type == IG_OM_ATTR_GRAPHS) put_graph(x, 11, a->graphs[i]);
    if (type == IG_OM_ATTR_SPARSE) put_sparse(x, 22, a->sparses[i]);
    if (type == IG_OM_ATTR_SPARSES) put_sparse(x, 23, a->sparses[i]);
    if (type == IG_OM_ATTR_TYPE) put_type(w, 14, &a->types[i]);
    if (type == IG_OM_ATTR_TYPES) put_type(w, 15, &a->types[i]);
  }
  ig_proto_close(w, mark);
}

static void put_node(writer *x, uint32_t field, const ig_om_node *n) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, field);
  for (size_t i = 0; i < n->ninputs; i++) ig_proto_put_text(w, 1, n->inputs[i]);
  for (size_t i = 0; i < n->noutputs; i++) ig_proto_put_text(w, 2, n->outputs[i]);
  put_text_if(w, 3, n->name);
  ig_proto_put_text(w, 4, n->op_type);
  for (size_t i = 0; i < n->nattrs; i++) put_attr(x, 5, &n->attrs[i]);
  put_text_if(w, 6, n->doc);
  put_text_if(w, 7, n->domain);
  put_text_if(w, 8, n->overload);
  put_metadata(w, IG_ONNX_NODE_METADATA, n->metadata, n->nmetadata);
  put_rest(w, &n->rest);
  ig_proto_close(w, mark);
}

static void put_graph(writer *x, uint32_t field, const ig_om_graph *g) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, field);
  for (size_t i = 0; i < g->nnodes; i++) put_node(x, IG_ONNX_GRAPH_NODE, &g->nodes[i]);
  ig_proto_put_text(w, IG_ONNX_GRAPH_NAME, g->name);
  for (size_t i = 0; i < g->ninits; i++)
    put_tensor(x, IG_ONNX_GRAPH_INITIALIZER, g->inits[i], true);
  put_text_if(w, 10, g->doc);
  for (size_t i = 0; i < g->ninputs; i++) put_info(w, IG_ONNX_GRAPH_INPUT, &g->inputs[i]);
  for (size_t i = 0; i < g->noutputs; i++) put_info(w, IG_ONNX_GRAPH_OUTPUT, &g->outputs[i]);
  for (size_t i = 0; i < g->nvalues; i++) put_info(w, 13, &g->values[i]);
  for (size_t i = 0; i < g->nsparse; i++) put_sparse(x, 15, g->sparse[i]);
  put_metadata(w, 16, g->metadata, g->nmetadata);
  put_rest(w, &g->rest);
  ig_proto_close(w, mark);
}

// ---- the model

static void put_opsets(ig_proto_writer *w, uint32_t field, const ig_om_opset *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t mark = ig_proto_open(w, field);
    ig_proto_put_text(w, 1, at[i].domain);
    ig_proto_put_int(w, 2, at[i].version);
    ig_proto_close(w, mark);
  }
}

static void put_function(writer *x, const ig_om_function *f) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, 25);
  ig_proto_put_text(w, 1, f->name);
  for (size_t i = 0; i < f->body->ninputs; i++) ig_proto_put_text(w, 4, f->body->inputs[i].name);
  for (size_t i = 0; i < f->body->noutputs; i++) ig_proto_put_text(w, 5, f->body->outputs[i].name);
  for (size_t i = 0; i < f->nattrs; i++) ig_proto_put_text(w, 6, f->attrs[i]);
  for (size_t i = 0; i < f->body->nnodes; i++) put_node(x, 7, &f->body->nodes[i]);
  put_text_if(w, 8, f->doc);
  put_opsets(w, 9, f->opsets, f->nopsets);
  ig_proto_put_text(w, 10, f->domain);
  for (size_t i = 0; i < f->ndefaults; i++) put_attr(x, 11, &f->defaults[i]);
  for (size_t i = 0; i < f->body->nvalues; i++) put_info(w, 12, &f->body->values[i]);
  put_text_if(w, 13, f->overload);
  ig_proto_close(w, mark);
}

static void put_model(writer *x, const ig_onnx_model *m) {
  ig_proto_writer *w = &x->w;
  ig_proto_put_int(w, 1, m->ir_version);
  put_text_if(w, 2, m->producer_name);
  put_text_if(w, 3, m->producer_version);
  put_text_if(w, 4, m->domain);
  if (m->model_version) ig_proto_put_int(w, 5, m->model_version);
  put_text_if(w, 6, m->doc);
  put_graph(x, 7, m->graph);
  put_opsets(w, 8, m->opsets, m->nopsets);
  put_metadata(w, IG_ONNX_MODEL_METADATA, m->metadata, m->nmetadata);
  for (size_t i = 0; i < m->nfunctions; i++) put_function(x, &m->functions[i]);
  put_rest(w, &m->rest);
}

// ---- files

static void put_data(const writer *x, ig_sink *sink) {
  for (size_t i = 0; i < x->placed.n; i++) {
    ig_sink_zeros(sink, (size_t)(x->placed.at[i].offset - sink->total));
    ig_sink_put(sink, x->placed.at[i].raw.at, x->placed.at[i].raw.n);
  }
}

static ig_status save_data(ig_ctx *c, const writer *x, const char *path, ig_sink *sink) {
  IG_RETURN_IF_ERR(ig_sink_file(c, path, sink));
  put_data(x, sink);
  return ig_sink_finish(c, sink);
}

// The weights and the model replace older ones only when both are written. data NULL: no such file.
static ig_status save_model(ig_ctx *c, const writer *x, const char *path, const char *data_path) {
  ig_sink data = ig_sink_memory(c->alloc);
  ig_sink sink = ig_sink_memory(c->alloc);
  ig_status st = data_path ? save_data(c, x, data_path, &data) : IG_OK;
  if (st == IG_OK) st = ig_sink_file(c, path, &sink);
  if (st == IG_OK) st = ig_proto_write(c, &x->w, &sink);
  if (st == IG_OK) st = ig_sink_finish(c, &sink);
  if (st == IG_OK) st = ig_sink_close(c, &data);
  if (st == IG_OK) st = ig_sink_close(c, &sink);
  ig_sink_drop(&data);
  ig_sink_drop(&sink);
  return st;
}

static uint64_t weight_total(const ig_onnx_model *m) {
  uint64_t total = 0;
  for (size_t i = 0; i < m->graph->ninits; i++) total += m->graph->inits[i]->raw.n;
  return total;
}

ig_status ig_om_write(ig_ctx *c, const ig_onnx_model *m, ig_onnx_external how, const char *path,
                      ig_sink *sink) {
  return ig_om_write_from(c, m, how, IG_ONNX_EXTERNAL_MIN, path, sink);
}

ig_status ig_om_write_from(ig_ctx *c, const ig_onnx_model *m, ig_onnx_external how, size_t least,
                           const char *path, ig_sink *sink) {
  IG_RETURN_IF_ERR(c->status);
  ig_str data = ig_str_make(c->alloc);
  writer x = {.w = ig_proto_writer_make(c->alloc), .least = least, .align = IG_ONNX_ALIGN};
  x.swapped = ig_arena_make(c->alloc);
  bool large = weight_total(m) > MAX_BYTES - (64 << 20);  // room for the nodes
  if (path && (how == IG_ONNX_EXTERNAL_ALWAYS || (how == IG_ONNX_EXTERNAL_AUTO && large))) {
    ig_str_add(&data, "%s.data", path);
    const char *slash = data.failed ? NULL : strrchr(data.at, '/');
    x.data_name = slash ? slash + 1 : data.at;
  }
  put_model(&x, m);
  ig_status st = IG_OK;
  if (x.w.failed || data.failed) {
    st = ig_fail(c, IG_NOMEM, "out of memory");
  } else if (x.w.total > MAX_BYTES) {
    st = ig_fail(c, IG_UNSUPPORTED,
                 "%s: the model has %llu bytes, an ONNX file at most 2 GB: save it with its "
                 "weights in a file beside it",
                 path ? path : "ONNX", (unsigned long long)x.w.total);
  }
  const char *data_path = x.placed.n ? data.at : NULL;
  if (st == IG_OK) st = path ? save_model(c, &x, path, data_path) : ig_proto_write(c, &x.w, sink);
  ig_arena_free(&x.swapped);
  ig_vec_free(c->alloc, &x.placed);
  ig_proto_writer_free(&x.w);
  ig_str_free(&data);
  return st;
}

ig_status ig_om_write_parts(ig_ctx *c, const ig_onnx_model *m, ig_sink *model, ig_sink *weights) {
  IG_RETURN_IF_ERR(c->status);
  enum { CACHE_LINE = 64, LEAST = 16 };
  writer x = {.w = ig_proto_writer_make(c->alloc),
              .data_name = IG_OM_WEIGHTS,
              .least = LEAST,
              .align = CACHE_LINE};
  x.swapped = ig_arena_make(c->alloc);
  put_model(&x, m);
  ig_status st = x.w.failed ? ig_fail(c, IG_NOMEM, "out of memory") : IG_OK;
  if (st == IG_OK) st = ig_proto_write(c, &x.w, model);
  if (st == IG_OK) put_data(&x, weights);
  ig_arena_free(&x.swapped);
  ig_vec_free(c->alloc, &x.placed);
  ig_proto_writer_free(&x.w);
  return st;
}
