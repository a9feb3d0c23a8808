// SPDX-License-Identifier: Apache-2.0
// The model around the nodes: inputs, outputs, initializers, metadata. Dynamic sizes have the
// user's names, and expressions of them are written out; ranges and relations are metadata of the
// model.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/bits.h"
#include "ingot/dims.h"
#include "ingot/version.h"
#include "onnx/convention.h"
#include "onnx/functions.h"
#include "onnx/model.h"
#include "op/shape.h"
#include "sym/env.h"

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7 };
enum { MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14, LOCATION_EXTERNAL = 1 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, ELEM_TYPE = 1, SHAPE = 2 };
enum {
  TYPE_TENSOR = 1,
  TYPE_SEQUENCE = 4,
  SEQUENCE_ELEM = 1,
  TYPE_OPTIONAL = 9,
  OPTIONAL_ELEM = 1
};
enum {
  NODE_ATTRIBUTE = 5,
  ATTR_NAME = 1,
  ATTR_TYPE_PROTO = 14,
  ATTR_TYPE = 20,
  ATTR_IS_TYPE_PROTO = 13
};
enum { FUNCTIONS_IR_VERSION = 8 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

int ig_onnx_ir_version(int opset) {
  static const int versions[] = {7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
  return versions[opset - IG_ONNX_OPSET_OLDEST];
}

// ---- sizes

// An expression with the names that the user gave to its symbols.
static void add_named(ig_onnx *x, ig_str *out, const char *text) {
  while (*text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
    char word[64] = "";
    if (n && n < sizeof word) memcpy(word, text, n);
    ig_map_value *name = word[0] ? ig_map_find(&x->dim_names, word) : NULL;
    if (n == 0) n = 1;
    if (name) ig_str_add(out, "%s", (const char *)name->ptr);
    if (!name) ig_str_add(out, "%.*s", (int)n, text);
    text += n;
  }
}

static const char *expr_text(ig_onnx *x, const ig_expr *e) {
  ig_str plain = ig_str_make(x->c->alloc);
  ig_str named = ig_str_make(x->c->alloc);
  ig_str_expr(&plain, e);
  if (!plain.failed) add_named(x, &named, plain.at);
  bool failed = plain.failed || named.failed;
  if (failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  const char *out = failed ? "" : ig_onnx_keep(x, named.at);
  ig_str_free(&plain);
  ig_str_free(&named);
  return out;
}

static void learn_names(ig_onnx *x, const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    size_t n = 0;
    const ig_expr *const *symbols = e ? ig_expr_symbols(x->c, e, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
      const char *name = ig_program_dim_name(x->p, symbols[i]);
      ig_map_value *v = name ? ig_map_put(&x->dim_names, symbols[i]->name) : NULL;
      if (v && !v->ptr) v->ptr = (void *)name;
    }
  }
}

// What an axis is called: the caller's name, with the TorchScript conventions the name of a
// computed size, or the expression. NULL: its size is a number.
static const char *dim_text(ig_onnx *x, const char *value, int axis, int ndim, ig_int *size) {
  const char *text = ig_onnx_axis_name(x, value, axis);
  if (text) return text;
  int64_t number = 0;
  if (ig_onnx_inferred_axis(x, value, axis, ndim, &text, &number)) {
    if (!text) *size = ig_const(number);
    return text;
  }
  if (!size->expr) return NULL;
  bool plain = size->expr->kind == IG_EXPR_SYMBOL && ig_map_find(&x->dim_names, size->expr->name);
  if (x->options->torchscript && !plain) return ig_onnx_made_axis(x, value, axis);
  return expr_text(x, size->expr);
}

static void put_dim(ig_onnx *x, const char *value, int axis, int ndim, ig_int size) {
  size_t mark = ig_proto_open(&x->w, SHAPE_DIM);
  const char *text = dim_text(x, value, axis, ndim, &size);
  if (text) {
    ig_proto_put_text(&x->w, DIM_PARAM, text);
  } else {
    ig_proto_put_int(&x->w, DIM_VALUE, size.value);
  }
  ig_proto_close(&x->w, mark);
}

static void put_info(ig_onnx *x, uint32_t field, const char *name, ig_dtype dtype,
                     const ig_int *sizes, int ndim) {
  ig_proto_writer *w = &x->w;
  size_t info = ig_proto_open(w, field);
  ig_proto_put_text(w, VALUE_NAME, name);
  size_t type = ig_proto_open(w, VALUE_TYPE);
  size_t tensor = ig_proto_open(w, TYPE_TENSOR);
  ig_proto_put_int(w, ELEM_TYPE, ig_onnx_elem_type(dtype));
  size_t shape = ig_proto_open(w, SHAPE);
  for (int d = 0; d < ndim; d++) put_dim(x, name, d, ndim, sizes[d]);
  ig_proto_close(w, shape);
  ig_proto_close(w, tensor);
  ig_proto_close(w, type);
  ig_proto_close(w, info);
}

// A sequence of tensors, of whose sizes nothing is stated.
static void put_sequence_info(ig_onnx *x, const char *name, ig_dtype dtype) {
  ig_proto_writer *w = &x->w;
  size_t info = ig_proto_open(w, IG_ONNX_GRAPH_OUTPUT);
  ig_proto_put_text(w, VALUE_NAME, name);
  size_t type = ig_proto_open(w, VALUE_TYPE);
  size_t sequence = ig_proto_open(w, TYPE_SEQUENCE);
  size_t element = ig_proto_open(w, SEQUENCE_ELEM);
  size_t tensor = ig_proto_open(w, TYPE_TENSOR);
  ig_proto_put_int(w, ELEM_TYPE, ig_onnx_elem_type(dtype));
  ig_proto_close(w, tensor);
  ig_proto_close(w, element);
  ig_proto_close(w, sequence);
  ig_proto_close(w, type);
  ig_proto_close(w, info);
}

void ig_onnx_put_value_info(ig_onnx *x, uint32_t field, const char *name, const ig_tensor *t) {
  if (!ig_dtype_is_complex(t->dtype)) {
    put_info(x, field, name, t->dtype, ig_sizes(t), t->ndim);
    return;
  }
  ig_int sizes[IG_MAX_DIM + 1];  // pairs of real numbers
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d];
  sizes[t->ndim] = ig_const(2);
  put_info(x, field, name, ig_to_real(t->dtype), sizes, t->ndim + 1);
}

void ig_onnx_put_scalar_info(ig_onnx *x, uint32_t field, const char *name, ig_dtype dtype) {
  put_info(x, field, name, dtype, NULL, 0);
}

// ---- initializers

static void put_entry(ig_onnx *x, uint32_t field, const char *key, const char *value) {
  size_t mark = ig_proto_open(&x->w, field);
  ig_proto_put_text(&x->w, IG_ONNX_ENTRY_KEY, key);
  ig_proto_put_text(&x->w, IG_ONNX_ENTRY_VALUE, value);
  ig_proto_close(&x->w, mark);
}

static void put_location(ig_onnx *x, struct ig_onnx_tensor *t) {
  char text[32];
  uint64_t align = t->data.n >= IG_ONNX_LARGE ? IG_ONNX_ALIGN_LARGE : IG_ONNX_ALIGN;
  x->external = (x->external + align - 1) / align * align;
  t->offset = x->external;
  x->external += t->data.n;
  put_entry(x, TENSOR_EXTERNAL, "location", x->data_name);
  (void)snprintf(text, sizeof text, "%" PRIu64, t->offset);
  put_entry(x, TENSOR_EXTERNAL, "offset", text);
  (void)snprintf(text, sizeof text, "%zu", t->data.n);
  put_entry(x, TENSOR_EXTERNAL, "length", text);
  ig_proto_put_int(&x->w, TENSOR_LOCATION, LOCATION_EXTERNAL);
}

ig_bytes ig_onnx_little(ig_onnx *x, const struct ig_onnx_tensor *t) {
  if (!IG_BIG_ENDIAN || t->data.n == 0) return t->data;
  uint8_t *to = ig_onnx_push(x, t->data.n);
  if (!to) return (ig_bytes){NULL, 0};
  memcpy(to, t->data.at, t->data.n);
  size_t parts = ig_dtype_is_complex(t->dtype) ? 2 : 1;
  ig_order_swap(to, t->data.n, ig_dtype_size(t->dtype) / parts);
  return (ig_bytes){to, t->data.n};
}

void ig_onnx_put_tensor(ig_onnx *x, const struct ig_onnx_tensor *t) {
  for (int d = 0; d < t->ndim; d++) ig_proto_put_int(&x->w, TENSOR_DIMS, t->dims[d]);
  ig_proto_put_int(&x->w, TENSOR_TYPE, ig_onnx_elem_type(t->dtype));
  ig_proto_put_text(&x->w, TENSOR_NAME, t->name);
  if (!t->is_external) ig_proto_put_borrowed(&x->w, TENSOR_RAW, ig_onnx_little(x, t));
}

// With the TorchScript conventions weights that nothing reads are left out.
static bool is_left_out(const ig_onnx *x, const struct ig_onnx_tensor *t) {
  return t->is_weight && x->options->torchscript && !x->functions && !ig_onnx_is_read(x, t->name);
}

static void put_tensors(ig_onnx *x) {
  ig_proto_writer *w = &x->w;
  for (size_t i = 0; i < x->tensors.n; i++) {
    struct ig_onnx_tensor *t = &x->tensors.at[i];
    if (t->is_node || t->is_unread || is_left_out(x, t)) continue;
    if (t->is_weight && x->options->weights_as_inputs) continue;
    size_t mark = ig_proto_open(w, IG_ONNX_GRAPH_INITIALIZER);
    t->is_external = x->data_name && t->data.n >= IG_ONNX_EXTERNAL_MIN;
    ig_onnx_put_tensor(x, t);
    if (t->is_external) put_location(x, t);
    ig_proto_close(w, mark);
  }
}

static void put_weight_inputs(ig_onnx *x) {
  if (!x->options->weights_as_inputs && !x->options->initializers_as_inputs) return;
  for (size_t i = 0; i < x->tensors.n; i++) {
    const struct ig_onnx_tensor *t = &x->tensors.at[i];
    ig_int sizes[IG_MAX_DIM];
    if (!t->is_weight || is_left_out(x, t)) continue;
    for (int d = 0; d < t->ndim; d++) sizes[d] = ig_const(t->dims[d]);
    put_info(x, IG_ONNX_GRAPH_INPUT, t->name, t->dtype, sizes, t->ndim);
  }
}

// ---- inputs

static bool is_number(const ig_value *v) {
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
}

// A name given by the user; a node that has the same name is renamed.
static void give_name(ig_onnx *x, const ig_node *n, const char *name) {
  const ig_node *other = ig_graph_find(x->g, name);
  if (other && other != n && !ig_table_find(&x->names, other)) {
    (void)ig_onnx_set_name(x, other, ig_onnx_fresh(x, name));
  }
  (void)ig_onnx_set_name(x, n, name);
}

static const char *input_name(ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->names, n);
  return ig_onnx_file_name(x, s ? s->value : n->name);
}

static bool is_input(const ig_node *n) {
  return n->val.kind == IG_KIND_TENSOR || (is_number(&n->val) && ig_onnx_is_symbolic(&n->val));
}

static const ig_expr *number_expr(const ig_node *n) {
  return n->val.kind == IG_KIND_INT ? n->val.i.expr : n->val.f_expr;
}

// Symbolic numbers are 0-d inputs; a number that was specialized by the capture is not an input.
static void put_input(ig_onnx *x, const ig_node *n) {
  const char *name = input_name(x, n);
  if (n->val.kind == IG_KIND_TENSOR) {
    ig_onnx_put_value_info(x, IG_ONNX_GRAPH_INPUT, name, n->val.tensor);
  } else if (is_input(n)) {
    put_info(x, IG_ONNX_GRAPH_INPUT, name, ig_onnx_number_type(number_expr(n)), NULL, 0);
  }
}

static void learn_input(ig_onnx *x, const ig_node *n) {
  const char *name = input_name(x, n);
  if (n->val.kind == IG_KIND_TENSOR) {
    ig_onnx_learn(x, name, n->val.tensor);
    if (x->options->torchscript) ig_onnx_note_input(x, name, n->val.tensor);
  } else if (is_input(n)) {
    ig_onnx_learn_scalar(x, name, number_expr(n));
  }
}

// The placeholder of an input; the root of the modules has one per user input, in order.
static const ig_node *placeholder_of(ig_onnx *x, const ig_input_spec *in, const ig_node **next) {
  if (in->kind != IG_INPUT_USER) return NULL;
  if (!x->functions) return ig_graph_find(x->g, in->name);
  while (*next && !ig_node_is_placeholder(*next)) *next = (*next)->next;
  const ig_node *found = *next;
  if (found) *next = found->next;
  return found;
}

static void put_inputs(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  const ig_node *next = x->g->first;
  for (size_t i = 0; i < n; i++) {
    const ig_node *node = placeholder_of(x, &in[i], &next);
    if (node && !x->options->torchscript) put_input(x, node);
    if (node) learn_input(x, node);
  }
}

static bool is_measured(const ig_onnx *x, size_t input) {
  for (size_t i = 0; i < x->options->nmeasured_inputs; i++) {
    if (x->options->measured_inputs[i] == input) return true;
  }
  return false;
}

// With the TorchScript conventions, when all nodes are known: the inputs that some node reads or
// whose sizes the model asks for.
static void put_read_inputs(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  size_t k = 0;
  const ig_node *next = x->g->first;
  for (size_t i = 0; i < n; i++) {
    const ig_node *node = placeholder_of(x, &in[i], &next);
    if (!node || !is_input(node)) continue;
    if (ig_onnx_is_read(x, input_name(x, node)) || is_measured(x, k)) put_input(x, node);
    k++;
  }
}

// Names that the caller gave to axes are those of their symbols.
static void learn_axes(ig_onnx *x, const char *name, const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    const char *text = ig_onnx_axis_name(x, name, d);
    ig_map_value *v =
        text && e && e->kind == IG_EXPR_SYMBOL ? ig_map_put(&x->dim_names, e->name) : NULL;
    if (v && !v->ptr) v->ptr = (void *)text;
  }
}

// Names of inputs and outputs, before anything is written.
static void name_inputs(ig_onnx *x) {
  const ig_input_spec *in = NULL;
  size_t n = ig_program_inputs(x->p, &in);
  size_t k = 0;
  const ig_node *next = x->g->first;
  for (size_t i = 0; i < n; i++) {
    const ig_node *node = placeholder_of(x, &in[i], &next);
    if (!node) continue;
    if (x->functions && strcmp(node->name, in[i].name) != 0) give_name(x, node, in[i].name);
    bool tensor = node->val.kind == IG_KIND_TENSOR;
    if (!is_input(node)) continue;
    const char *name = k < x->options->ninput_names ? x->options->input_names[k++] : "";
    if (*name) give_name(x, node, name);
    if (tensor) learn_axes(x, input_name(x, node), node->val.tensor);
    if (tensor) learn_names(x, node->val.tensor);
  }
}

// ---- outputs

// None and strings are not outputs of a model.
static bool is_output(const ig_output_spec *out) {
  const ig_value *v = out->value.kind == IG_KIND_NODE ? &out->value.node->val : &out->value;
  return v->kind == IG_KIND_TENSOR || is_number(v);
}

static bool is_call(const ig_node *n) {
  return n->kind == IG_NODE_CALL || n->kind == IG_NODE_MODULE;
}

// Of the program, or of the root of its modules, which returns the same.
static size_t outputs_of(ig_onnx *x, const ig_output_spec **out) {
  size_t n = ig_program_outputs(x->p, out);
  if (!x->functions) return n;
  const ig_node *last = x->g->last;
  while (last && last->kind != IG_NODE_OUTPUT) last = last->prev;
  ig_output_spec *own = ig_onnx_push(x, ig_mem_mul(n + 1, sizeof *own));
  const ig_value *at = last ? last->args : NULL;
  size_t count = last ? last->npos : 0;
  if (last && last->bare && count == 1 && at->kind == IG_KIND_LIST) {
    count = at->list.n;
    at = at->list.at;
  }
  for (size_t i = 0; own && i < n && i < count; i++) {
    own[i] = (ig_output_spec){.kind = IG_OUTPUT_USER, .value = at[i]};
  }
  *out = own;
  return own && count == n ? n : 0;
}

static void name_outputs(ig_onnx *x) {
  const ig_output_spec *out = NULL;
  size_t n = outputs_of(x, &out);
  size_t k = 0;
  for (size_t i = 0; !x->options->torchscript && i < n && k < x->options->noutput_names; i++) {
    if (!is_output(&out[i])) continue;
    const char *name = x->options->output_names[k++];
    const ig_value *v = &out[i].value;
    bool made = v->kind == IG_KIND_NODE && is_call(v->node) &&
                v->node->val.kind == IG_KIND_TENSOR && !ig_table_find(&x->names, v->node);
    if (made) give_name(x, v->node, name);
  }
}

// ONNX requires that each output has a unique name and is produced by a node.
static const char *output_name(ig_onnx *x, const ig_value *v, const char *given, size_t i) {
  const char *name = ig_onnx_file_name(x, ig_onnx_operand(x, v, IG_DTYPE_COUNT));
  ig_map_value *seen = ig_map_put(&x->outputs, name);
  if (!seen) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  bool made = v->kind == IG_KIND_NODE && is_call(v->node) && !ig_table_find(&x->folded, v->node);
  if (x->options->torchscript) {
    ig_onnx_flush_constants(x);
    made = ig_onnx_is_made(x, name);
    if (!x->renames) given = NULL;  // names are found first
  }
  bool fits = ig_onnx_tensor_of(v) || x->options->torchscript;  // numbers have the same form there
  if (seen && !seen->num && made && fits && (!given || strcmp(given, name) == 0)) {
    seen->num = 1;
    return name;
  }
  char text[32];
  (void)snprintf(text, sizeof text, "output::%zu", i);
  const char *own = given ? given : ig_onnx_keep(x, text);
  if (!given && v->kind == IG_KIND_NODE && !ig_onnx_tensor_of(v))
    own = v->node->name;  // a number has no node yet
  return ig_onnx_emit1(x, "Identity", name, own);
}

static void put_output(ig_onnx *x, const ig_output_spec *out, const char *given, size_t i) {
  const ig_value *v = &out->value;
  const char *name = output_name(x, v, given, i);
  if (x->output_order) x->output_order[x->noutput_order++] = name;
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) {
    ig_onnx_put_value_info(x, IG_ONNX_GRAPH_OUTPUT, name, t);
    return;
  }
  const ig_value *number = v->kind == IG_KIND_NODE ? &v->node->val : v;
  ig_dtype d = number->kind == IG_KIND_INT    ? IG_I64
               : number->kind == IG_KIND_BOOL ? IG_BOOL
                                              : IG_F32;
  put_info(x, IG_ONNX_GRAPH_OUTPUT, name, d, NULL, 0);
}

// An output that is the sequence of the pieces of a tensor.
static void put_sequence(ig_onnx *x, const ig_output_spec *out, const char *given, size_t i,
                         const ig_onnx_sequence *s, const ig_output_spec *lengths) {
  const ig_tensor *t = ig_onnx_tensor_of(&out->value);
  if (!t || x->opset < 11 || (x->options->converted_to && x->options->converted_to < 11)) {
    ig_onnx_refuse(x, x->node, "a list of dynamic length needs opset 11");
    return;
  }
  char text[32];
  (void)snprintf(text, sizeof text, "output::%zu", i);
  const char *from = ig_onnx_operand(x, &out->value, IG_DTYPE_COUNT);
  const char *size = lengths   ? ig_onnx_operand(x, &lengths->value, IG_I64)
                     : s->size ? ig_onnx_number(x, IG_I64, (double)s->size)
                               : NULL;
  const char *name = ig_onnx_emit(
      x,
      &(ig_onnx_node){.op_type = "SplitToSequence",
                      .in = {from, size},
                      .attrs = {ig_onnx_int("axis", s->dim), ig_onnx_int("keepdims", s->size != 0)},
                      .out = given ? given : ig_onnx_keep(x, text)});
  if (x->output_order) x->output_order[x->noutput_order++] = name;
  put_sequence_info(x, name, t->dtype);
}

// The type optional(tensor(float)), as in PyTorch's files.
static void put_optional_type(ig_onnx *x, uint32_t field) {
  size_t type = ig_proto_open(&x->w, field);
  size_t optional = ig_proto_open(&x->w, TYPE_OPTIONAL);
  size_t element = ig_proto_open(&x->w, OPTIONAL_ELEM);
  size_t tensor = ig_proto_open(&x->w, TYPE_TENSOR);
  ig_proto_put_int(&x->w, ELEM_TYPE, ig_onnx_elem_type(IG_F32));
  ig_proto_close(&x->w, tensor);
  ig_proto_close(&x->w, element);
  ig_proto_close(&x->w, optional);
  ig_proto_close(&x->w, type);
}

// None among the results.
static void put_none(ig_onnx *x, const char *given, size_t i) {
  char text[32];
  (void)snprintf(text, sizeof text, "output::%zu", i);
  const char *name = given ? given : ig_onnx_keep(x, text);
  size_t open = ig_onnx_begin(x, &(ig_onnx_node){.op_type = "Optional", .out = name});
  size_t attr = ig_proto_open(&x->w, NODE_ATTRIBUTE);
  ig_proto_put_text(&x->w, ATTR_NAME, "type");
  size_t type = ig_proto_open(&x->w, ATTR_TYPE_PROTO);
  size_t tensor = ig_proto_open(&x->w, TYPE_TENSOR);
  ig_proto_put_int(&x->w, ELEM_TYPE, ig_onnx_elem_type(IG_F32));
  ig_proto_close(&x->w, tensor);
  ig_proto_close(&x->w, type);
  ig_proto_put_int(&x->w, ATTR_TYPE, ATTR_IS_TYPE_PROTO);
  ig_proto_close(&x->w, attr);
  ig_onnx_end(x, open);
  if (x->output_order) x->output_order[x->noutput_order++] = name;
  size_t info = ig_proto_open(&x->w, IG_ONNX_GRAPH_OUTPUT);
  ig_proto_put_text(&x->w, VALUE_NAME, name);
  put_optional_type(x, VALUE_TYPE);
  ig_proto_close(&x->w, info);
}

static bool is_none_output(const ig_onnx *x, const ig_output_spec *out) {
  const ig_value *v = out->value.kind == IG_KIND_NODE ? &out->value.node->val : &out->value;
  return x->options->none_outputs && x->opset >= 15 && v->kind == IG_KIND_NONE;
}

static const ig_onnx_sequence *sequence_at(const ig_onnx *x, size_t output) {
  for (size_t i = 0; i < x->options->nsequences; i++) {
    if (x->options->sequences[i].output == output) return &x->options->sequences[i];
  }
  return NULL;
}

static void put_outputs(ig_onnx *x) {
  const ig_output_spec *out = NULL;
  size_t n = outputs_of(x, &out);
  size_t k = 0;
  x->output_order = ig_onnx_push(x, ig_mem_mul(n + 1, sizeof *x->output_order));
  for (size_t i = 0; i < n && ig_ctx_status(x->c) == IG_OK; i++) {
    bool none = is_none_output(x, &out[i]);
    if (!none && !is_output(&out[i])) continue;
    const char *given = k < x->options->noutput_names ? x->options->output_names[k] : NULL;
    const ig_onnx_sequence *sequence = sequence_at(x, i);
    k++;
    if (none)
      put_none(x, given, i);
    else if (sequence && sequence->size < 0 && i + 1 < n)
      put_sequence(x, &out[i], given, i, sequence, &out[i + 1]);
    else if (sequence)
      put_sequence(x, &out[i], given, i, sequence, NULL);
    else
      put_output(x, &out[i], given, i);
    if (sequence && sequence->size < 0) i++;
  }
}

// ---- metadata

static void put_property(ig_onnx *x, const char *key, const char *value) {
  put_entry(x, IG_ONNX_MODEL_METADATA, key, value);
}

static void put_ranges(ig_onnx *x) {
  const ig_range_entry *at = NULL;
  size_t n = ig_program_ranges(x->c, x->p, &at);
  for (size_t i = 0; i < n; i++) {
    char key[128];
    char text[96];
    char lo[32] = "-int_oo";
    char hi[32] = "int_oo";
    if (at[i].lo != INT64_MIN) (void)snprintf(lo, sizeof lo, "%" PRId64, at[i].lo);
    if (at[i].hi != INT64_MAX) (void)snprintf(hi, sizeof hi, "%" PRId64, at[i].hi);
    (void)snprintf(key, sizeof key, "ingot.range.%.100s", expr_text(x, at[i].expr));
    (void)snprintf(text, sizeof text, "[%s, %s]", lo, hi);
    put_property(x, key, text);
  }
}

// The program's symbol of each named dimension, and relations between sizes.
static void put_relations(ig_onnx *x) {
  const ig_env *env = x->g->sym ? x->g->sym->env : NULL;
  for (size_t i = 0; env && i < env->asserts.n; i++) {
    char key[64];
    (void)snprintf(key, sizeof key, "ingot.relation.%zu", i);
    put_property(x, key, expr_text(x, env->asserts.at[i].expr));
  }
}

static void put_metadata(ig_onnx *x) {
  if (x->options->no_metadata) return;
  put_ranges(x);
  put_relations(x);
}

// ---- the model

static void put_opset(ig_onnx *x, const char *domain, int version) {
  size_t opset = ig_proto_open(&x->w, MODEL_OPSET);
  ig_proto_put_text(&x->w, OPSET_DOMAIN, domain);
  ig_proto_put_int(&x->w, OPSET_VERSION, version);
  ig_proto_close(&x->w, opset);
}

static bool is_asked(const ig_onnx *x, const char *domain) {
  for (size_t i = 0; i < x->options->nopsets; i++)
    if (strcmp(x->options->opsets[i].name, domain) == 0) return true;
  return false;
}

int ig_onnx_domain_version(const ig_onnx *x, const char *domain) {
  for (size_t i = 0; i < x->options->nopsets; i++)
    if (strcmp(x->options->opsets[i].name, domain) == 0) return (int)x->options->opsets[i].version;
  return 1;
}

void ig_onnx_put_model(ig_onnx *x) {
  ig_proto_writer *w = &x->w;
  int version = ig_onnx_ir_version(x->opset);
  if (x->functions && version < FUNCTIONS_IR_VERSION) version = FUNCTIONS_IR_VERSION;
  ig_proto_put_int(w, MODEL_IR_VERSION, version);
  ig_proto_put_text(w, MODEL_PRODUCER, "ingot");
  ig_proto_put_text(w, MODEL_PRODUCER_VERSION, IG_VERSION);
  size_t graph = ig_proto_open(w, MODEL_GRAPH);
  ig_proto_put_text(w, IG_ONNX_GRAPH_NAME, "main_graph");
  name_inputs(x);
  name_outputs(x);
  if (!x->functions) ig_onnx_add_weights(x);
  put_inputs(x);
  ig_onnx_put_nodes(x, x->g);
  put_outputs(x);
  if (x->options->torchscript) put_read_inputs(x);
  put_weight_inputs(x);
  put_tensors(x);
  ig_proto_close(w, graph);
  put_opset(x, "", x->opset);
  for (size_t i = 0; !x->options->torchscript && i < x->options->nopsets; i++)
    put_opset(x, x->options->opsets[i].name, (int)x->options->opsets[i].version);
  for (size_t i = 0; i < x->domains.n; i++) {
    if (x->options->torchscript || !is_asked(x, x->domains.at[i]))
      put_opset(x, x->domains.at[i], ig_onnx_domain_version(x, x->domains.at[i]));
  }
  ig_onnx_put_functions(x);
  put_metadata(x);
}
