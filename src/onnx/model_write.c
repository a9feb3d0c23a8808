// SPDX-License-Identifier: Apache-2.0
// Program -> ONNX model: finds the row of every node, then writes initializers, inputs and outputs.
// Parameters and buffers that somebody reads are initializers under their own names; their bytes go
// from the tensors to the file without a copy where they are dense.
#include <stdio.h>
#include <string.h>

#include "ingot/file.h"
#include "ingot/version.h"
#include "onnx/model.h"
#include "onnx/writer.h"
#include "sym/expr.h"
#include "tensor/copy.h"

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7 };
enum { MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, ELEM_TYPE = 1, SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

#define MAX_MODEL_BYTES INT32_MAX  // what protobuf allows a message to be

// ---- state

static bool set_name(ig_onnx *x, const ig_node *n, const char *name) {
  ig_table_slot *s = ig_table_put(&x->names, n);
  if (!s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (s) s->value = (void *)name;
  return s != NULL;
}

// The bytes of a weight in row-major order.
static ig_bytes weight_bytes(ig_onnx *x, const ig_tensor *t) {
  size_t n = (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);
  if (n == 0 || ig_tensor_is_dense(t)) return (ig_bytes){ig_tensor_data(t), n};
  void *copy = ig_onnx_push(x, n);
  if (copy) ig_tensor_read(t, t->dtype, copy);
  return (ig_bytes){copy, copy ? n : 0};
}

static void add_weight(ig_onnx *x, const ig_node *n, const char *name, const ig_tensor *t) {
  if (ig_tensor_is_fake(t)) {
    (void)ig_fail(x->c, IG_INVALID, "weight '%s' has no data: it is a fake tensor", name);
    return;
  }
  // A weight may be called like a node; then it keeps the name of its placeholder.
  const char *own = ig_graph_find(x->g, name) ? n->name : name;
  struct ig_onnx_tensor w = {.name = own, .dtype = t->dtype, .ndim = t->ndim};
  for (int d = 0; d < t->ndim; d++) w.dims[d] = ig_tensor_size(t, d).value;
  w.data = weight_bytes(x, t);
  if (!ig_vec_push(x->c->alloc, &x->tensors, w)) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  (void)set_name(x, n, own);
}

static void add_weights(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  for (size_t i = 0; i < n; i++) {
    const ig_node *node = ig_graph_find(x->g, in[i].name);
    if (in[i].kind == IG_INPUT_USER || !node || node->users == 0) continue;
    const ig_tensor *t = in[i].target ? ig_program_find_weight(x->p, in[i].target) : NULL;
    if (!t) {
      (void)ig_fail(x->c, IG_UNSUPPORTED, "input '%s' is no tensor: it cannot be written as ONNX",
                    in[i].name);
      return;
    }
    add_weight(x, node, in[i].target, t);
  }
}

// ---- nodes

static bool is_getitem(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM;
}

static const char **elements_of(ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->elements, n);
  return s ? s->value : NULL;
}

// Results that a getitem picks have its name. Called for all nodes before any is emitted.
static void name_elements(ig_onnx *x) {
  for (const ig_node *n = x->g->first; n; n = n->next) {
    if (n->kind == IG_NODE_CALL && n->val.kind == IG_KIND_LIST) {
      ig_table_slot *s = ig_table_put(&x->elements, n);
      if (!s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
      if (s) s->value = ig_onnx_push(x, (n->val.list.n + 1) * sizeof(char *));
    }
    if (!is_getitem(n) || n->npos < 2 || n->args[0].kind != IG_KIND_NODE) continue;
    const char **names = elements_of(x, n->args[0].node);
    int64_t i = ig_onnx_int_of(x, &n->args[1]);
    size_t count = names ? n->args[0].node->val.list.n : 0;
    if (i < 0) i += (int64_t)count;
    if (i < 0 || (size_t)i >= count) continue;
    if (names[i]) (void)set_name(x, n, names[i]);  // picked twice: one name
    if (!names[i]) names[i] = n->name;
  }
}

static void fill_args(const ig_node *n, ig_value *args) {
  const ig_schema *s = &n->op->schema;
  for (size_t i = 0; i < s->nargs; i++) {
    args[i] = i < n->npos ? n->args[i] : s->args[i].has_default ? s->args[i].def : ig_none();
    for (size_t k = 0; k < n->nkw; k++) {
      if (strcmp(n->keys[k], s->args[i].name) == 0) args[i] = n->args[n->npos + k];
    }
  }
}

static void put_call(ig_onnx *x, const ig_node *n) {
  ig_map_value *row = ig_map_find(&x->rows, n->target);
  if (!row || !n->op) {
    ig_onnx_refuse(x, n, "this operator cannot be written as ONNX (opset %d)", IG_ONNX_OPSET);
    return;
  }
  ig_value args[IG_MAX_ARGS];
  if (n->op->schema.nargs > IG_MAX_ARGS) return;
  fill_args(n, args);
  ig_onnx_call call = {.node = n, .row = row->ptr, .args = args, .out = n->name};
  call.outs = elements_of(x, n);
  const ig_value *val = &n->val;
  if (call.outs) {
    call.nouts = val->list.n;
    call.out = call.nouts ? call.outs[0] : NULL;
    val = call.nouts ? &val->list.at[0] : val;
  }
  if (val->kind != IG_KIND_TENSOR) {
    ig_onnx_refuse(x, n, "a result that is no tensor cannot be written as ONNX");
    return;
  }
  call.val = val->tensor;
  call.row->fn(x, &call);
}

static void put_nodes(ig_onnx *x) {
  for (const ig_node *n = x->g->first; n && ig_ctx_status(x->c) == IG_OK; n = n->next) {
    if (n->kind == IG_NODE_CALL && !is_getitem(n)) put_call(x, n);
    if (n->kind == IG_NODE_ATTR && n->constant) add_weight(x, n, n->target, n->constant);
  }
}

// ---- graph

static void put_tensors(ig_onnx *x) {
  ig_proto_writer *w = &x->w;
  for (size_t i = 0; i < x->tensors.n; i++) {
    const struct ig_onnx_tensor *t = &x->tensors.at[i];
    size_t mark = ig_proto_open(w, IG_ONNX_GRAPH_INITIALIZER);
    for (int d = 0; d < t->ndim; d++) ig_proto_put_int(w, TENSOR_DIMS, t->dims[d]);
    ig_proto_put_int(w, TENSOR_TYPE, ig_onnx_elem_type(t->dtype));
    ig_proto_put_text(w, TENSOR_NAME, t->name);
    ig_proto_put_borrowed(w, TENSOR_RAW, t->data);
    ig_proto_close(w, mark);
  }
}

static void put_dim(ig_onnx *x, ig_int size) {
  size_t mark = ig_proto_open(&x->w, SHAPE_DIM);
  if (size.expr) {
    ig_proto_put_text(&x->w, DIM_PARAM, ig_int_text(x->c, size));
  } else {
    ig_proto_put_int(&x->w, DIM_VALUE, size.value);
  }
  ig_proto_close(&x->w, mark);
}

static void put_value_info(ig_onnx *x, uint32_t field, const char *name, const ig_tensor *t) {
  ig_proto_writer *w = &x->w;
  size_t info = ig_proto_open(w, field);
  ig_proto_put_text(w, VALUE_NAME, name);
  size_t type = ig_proto_open(w, VALUE_TYPE);
  size_t tensor = ig_proto_open(w, TYPE_TENSOR);
  ig_proto_put_int(w, ELEM_TYPE, ig_onnx_elem_type(t->dtype));
  size_t shape = ig_proto_open(w, SHAPE);
  for (int d = 0; d < t->ndim; d++) put_dim(x, ig_sizes(t)[d]);
  ig_proto_close(w, shape);
  ig_proto_close(w, tensor);
  ig_proto_close(w, type);
  ig_proto_close(w, info);
}

static void put_inputs(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  for (size_t i = 0; i < n; i++) {
    if (in[i].kind != IG_INPUT_USER) continue;
    const ig_node *node = ig_graph_find(x->g, in[i].name);
    // A number that was fixed by the capture is no input of the model.
    if (node && node->val.kind == IG_KIND_TENSOR) {
      put_value_info(x, IG_ONNX_GRAPH_INPUT, node->name, node->val.tensor);
    }
  }
}

// What ONNX asks of outputs: each has a name of its own and is made by a node.
static const char *output_name(ig_onnx *x, ig_map *taken, const ig_value *v, size_t i) {
  const char *name = ig_onnx_operand(x, v, IG_DTYPE_COUNT);
  ig_map_value *seen = ig_map_put(taken, name);
  if (!seen) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (seen && !seen->num && v->node->kind == IG_NODE_CALL) {
    seen->num = 1;
    return name;
  }
  char text[32];
  int n = snprintf(text, sizeof text, "output::%zu", i);
  const char *own = ig_arena_strn(&x->arena, text, (size_t)n);
  if (!own) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return own ? ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Identity", .in = {name}, .out = own})
             : name;
}

static void put_outputs(ig_onnx *x) {
  const ig_output_spec *out = NULL;
  size_t n = ig_program_outputs(x->p, &out);
  ig_map taken = ig_map_make(x->c->alloc);
  for (size_t i = 0; i < n && ig_ctx_status(x->c) == IG_OK; i++) {
    const ig_tensor *t = ig_onnx_tensor_of(&out[i].value);
    if (out[i].kind != IG_OUTPUT_USER) {
      (void)ig_fail(x->c, IG_UNSUPPORTED, "output %zu changes '%s': ONNX models have no state", i,
                    out[i].target ? out[i].target : "");
    } else if (!t) {
      (void)ig_fail(x->c, IG_UNSUPPORTED, "output %zu is no tensor: it cannot be written as ONNX",
                    i);
    } else {
      put_value_info(x, IG_ONNX_GRAPH_OUTPUT, output_name(x, &taken, &out[i].value, i), t);
    }
  }
  ig_map_free(&taken);
}

static void put_model(ig_onnx *x) {
  ig_proto_writer *w = &x->w;
  ig_proto_put_int(w, MODEL_IR_VERSION, IG_ONNX_IR_VERSION);
  ig_proto_put_text(w, MODEL_PRODUCER, "ingot");
  ig_proto_put_text(w, MODEL_PRODUCER_VERSION, IG_VERSION);
  size_t graph = ig_proto_open(w, MODEL_GRAPH);
  ig_proto_put_text(w, IG_ONNX_GRAPH_NAME, "main_graph");
  add_weights(x);
  name_elements(x);
  put_nodes(x);
  put_inputs(x);
  put_outputs(x);
  put_tensors(x);
  ig_proto_close(w, graph);
  size_t opset = ig_proto_open(w, MODEL_OPSET);
  ig_proto_put_text(w, OPSET_DOMAIN, "");
  ig_proto_put_int(w, OPSET_VERSION, IG_ONNX_OPSET);
  ig_proto_close(w, opset);
}

// ---- file

static ig_status index_rows(ig_onnx *x) {
  const ig_onnx_row *const families[] = {ig_onnx_pointwise, ig_onnx_linear, ig_onnx_window,
                                         ig_onnx_norm,      ig_onnx_shape,  ig_onnx_reduce};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    for (const ig_onnx_row *row = families[i]; row->target; row++) {
      ig_map_value *v = ig_map_put(&x->rows, row->target);
      if (!v) return ig_fail(x->c, IG_NOMEM, "out of memory");
      v->ptr = (void *)row;
    }
  }
  return IG_OK;
}

static ig_status write_file(ig_onnx *x, const char *path) {
  if (x->w.failed) return ig_fail(x->c, IG_NOMEM, "out of memory");
  if (x->w.total > MAX_MODEL_BYTES) {
    return ig_fail(x->c, IG_UNSUPPORTED, "%s: the model has %llu bytes, an ONNX file at most 2 GB",
                   path, (unsigned long long)x->w.total);
  }
  ig_sink sink;
  IG_RETURN_IF_ERR(ig_sink_file(x->c, path, &sink));
  ig_status st = ig_proto_write(x->c, &x->w, &sink);
  if (st == IG_OK) st = ig_sink_close(x->c, &sink);
  ig_sink_drop(&sink);
  return st;
}

ig_status ig_program_save_onnx(ig_ctx *c, const ig_program *p, const char *path) {
  if (ig_ctx_status(c) != IG_OK) return ig_ctx_status(c);
  ig_onnx x = {.c = c, .p = p, .g = ig_program_graph(p)};
  x.w = ig_proto_writer_make(c->alloc);
  x.arena = ig_arena_make(c->alloc);
  x.rows = x.constants = ig_map_make(c->alloc);
  x.names = x.elements = ig_table_make(c->alloc);
  ig_status st = index_rows(&x);
  if (st == IG_OK) put_model(&x);
  if (st == IG_OK) st = ig_ctx_status(c);
  if (st == IG_OK) st = write_file(&x, path);
  ig_vec_free(c->alloc, &x.tensors);
  ig_table_free(&x.elements);
  ig_table_free(&x.names);
  ig_map_free(&x.constants);
  ig_map_free(&x.rows);
  ig_arena_free(&x.arena);
  ig_proto_writer_free(&x.w);
  return st;
}
