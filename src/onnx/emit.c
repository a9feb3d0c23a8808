// SPDX-License-Identifier: Apache-2.0
// Emitting ONNX nodes and constants. Nodes are written directly into the current message;
// constants become initializers of the model's graph, which sub-graphs see too.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/convention.h"
#include "onnx/functions.h"
#include "onnx/model.h"
#include "onnx/schema.h"
#include "tensor/number.h"

// Field numbers of NodeProto, AttributeProto and StringStringEntryProto.
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { NODE_DOMAIN = 7 };
enum {
  ATTR_NAME = 1,
  ATTR_F = 2,
  ATTR_I = 3,
  ATTR_S = 4,
  ATTR_TENSOR = 5,
  ATTR_FLOATS = 7,
  ATTR_INTS = 8,
  ATTR_STRINGS = 9,
  ATTR_TYPE = 20
};

int64_t ig_onnx_elem_type(ig_dtype d) {
  static const uint8_t types[IG_DTYPE_COUNT] = {
      [IG_BOOL] = 9,      [IG_U8] = 2,      [IG_I8] = 3,   [IG_I16] = 5,  [IG_I32] = 6,
      [IG_I64] = 7,       [IG_U16] = 4,     [IG_U32] = 12, [IG_U64] = 13, [IG_F16] = 10,
      [IG_BF16] = 16,     [IG_F32] = 1,     [IG_F64] = 11, [IG_C64] = 14, [IG_C128] = 15,
      [IG_F8E4M3FN] = 17, [IG_F8E5M2] = 19, [IG_QI8] = 3,  [IG_QU8] = 2,  [IG_QI32] = 6,
  };
  return types[d];
}

void *ig_onnx_push(ig_onnx *x, size_t size) {
  void *p = ig_arena_push(&x->arena, size);
  if (!p) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return p;
}

const char *ig_onnx_keep(ig_onnx *x, const char *text) {
  const char *copy = ig_arena_strn(&x->arena, text, strlen(text));
  if (!copy) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return copy ? copy : "";
}

// Names of nodes are identifiers, so a name with colons is free.
const char *ig_onnx_fresh(ig_onnx *x, const char *op_type) {
  char text[96];
  (void)snprintf(text, sizeof text, "%.60s::%zu", op_type, x->temps++);
  return ig_onnx_keep(x, text);
}

bool ig_onnx_set_name(ig_onnx *x, const ig_node *n, const char *name) {
  ig_table_slot *s = ig_table_put(&x->names, n);
  if (!s) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (s) s->value = (void *)name;
  return s != NULL;
}

// ---- nodes

static void put_attr(ig_onnx *x, const ig_onnx_attr *a) {
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, NODE_ATTRIBUTE);
  ig_proto_put_text(w, ATTR_NAME, a->name);
  if (a->type == IG_ONNX_FLOAT) ig_proto_put_float(w, ATTR_F, a->f);
  if (a->type == IG_ONNX_INT) ig_proto_put_int(w, ATTR_I, a->i);
  if (a->type == IG_ONNX_STRING) ig_proto_put_text(w, ATTR_S, a->s);
  for (size_t i = 0; a->ints && i < a->n; i++) ig_proto_put_int(w, ATTR_INTS, a->ints[i]);
  for (size_t i = 0; a->floats && i < a->n; i++) ig_proto_put_float(w, ATTR_FLOATS, a->floats[i]);
  for (size_t i = 0; a->type == IG_ONNX_STRINGS && i < a->n; i++) {
    ig_proto_put_text(w, ATTR_STRINGS, a->strings ? a->strings[i] : a->s);
  }
  size_t tensor = a->type == IG_ONNX_TENSOR ? ig_proto_open(w, ATTR_TENSOR) : 0;
  if (a->type == IG_ONNX_TENSOR) ig_onnx_put_tensor(x, a->tensor);
  if (a->type == IG_ONNX_TENSOR) ig_proto_close(w, tensor);
  ig_proto_put_int(w, ATTR_TYPE, a->type);
  ig_proto_close(w, mark);
}

static void put_property(ig_proto_writer *w, const char *key, const char *value) {
  size_t mark = ig_proto_open(w, IG_ONNX_NODE_METADATA);
  ig_proto_put_text(w, IG_ONNX_ENTRY_KEY, key);
  ig_proto_put_text(w, IG_ONNX_ENTRY_VALUE, value);
  ig_proto_close(w, mark);
}

static void put_modules(ig_onnx *x, const ig_module_stack *stack) {
  ig_str text = ig_str_make(x->c->alloc);
  ig_modules_print(&text, stack);
  if (text.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (!text.failed) put_property(&x->w, "pkg.torch.onnx.nn_module_stack", text.at ? text.at : "");
  ig_str_free(&text);
}

static void put_frames(ig_onnx *x, const ig_node *n) {
  ig_str text = ig_str_make(x->c->alloc);
  if (n->meta.stack) {
    ig_frames_print(&text, &n->meta.stack->frames);
  } else if (n->file) {
    ig_str_add(&text, "File \"%s\", line %d", n->file, n->line);
  }
  if (text.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (text.n && !text.failed) put_property(&x->w, "pkg.torch.onnx.stack_trace", text.at);
  ig_str_free(&text);
}

// The origin of the node, under the keys of PyTorch's own exporter.
static void put_metadata(ig_onnx *x) {
  const ig_node *n = x->node;
  if (!n || x->options->no_metadata) return;
  put_property(&x->w, "pkg.torch.onnx.fx_node", n->name);
  if (n->target) put_property(&x->w, "pkg.torch.onnx.target", n->target);
  if (n->meta.modules) put_modules(x, n->meta.modules);
  put_frames(x, n);
}

static void note_domain(ig_onnx *x, const char *domain) {
  for (size_t i = 0; i < x->domains.n; i++) {
    if (strcmp(x->domains.at[i], domain) == 0) return;
  }
  if (!ig_vec_push(x->c->alloc, &x->domains, domain)) {
    (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  }
}

// An unused result. Only optional ones may be unnamed: runtimes do not expect it of others,
// although the checker accepts it.
static const char *unread_name(ig_onnx *x, const ig_onnx_node *n, size_t i) {
  const char *domain = n->domain ? n->domain : "";
  const ig_onnx_schema *s = ig_onnx_schema_find(domain, n->op_type, x->opset);
  const ig_onnx_param *p = s ? ig_onnx_schema_output(s, i) : NULL;
  return p && p->option == IG_ONNX_OPTIONAL ? "" : ig_onnx_fresh(x, n->op_type);
}

// What a sub-graph makes itself may be its output.
static void note_local(ig_onnx *x, const char *name) {
  ig_map_value *v = x->inside ? ig_map_put(&x->local, name) : NULL;
  if (v) v->num = x->scope + 1;
}

const char *ig_onnx_as_output(ig_onnx *x, const char *name) {
  const char *own = ig_onnx_file_name(x, name);
  ig_map_value *v = ig_map_find(&x->local, own);
  if (!v || v->num != x->scope + 1)
    return ig_onnx_emit1(x, "Identity", name, ig_onnx_fresh(x, "out"));
  v->num = 0;  // once
  return own;
}

size_t ig_onnx_begin(ig_onnx *x, const ig_onnx_node *n) {
  ig_proto_writer *w = &x->w;
  const char *out = n->nouts ? n->outs[0] : n->out;
  if (x->outer || x->options->torchscript) ig_onnx_flush_constants(x);
  const char *own = x->options->torchscript ? ig_onnx_convention_node(x, n, out) : NULL;
  size_t mark = ig_proto_open(w, x->node_field);
  const char *const *in = n->many ? n->many : n->in;
  for (size_t i = 0; n->many ? i < n->nmany : in[i] != NULL; i++)
    ig_proto_put_text(w, NODE_INPUT, ig_onnx_file_name(x, in[i]));
  ig_proto_put_text(w, NODE_OUTPUT, ig_onnx_file_name(x, out));
  note_local(x, ig_onnx_file_name(x, out));
  for (size_t i = 1; i < n->nouts; i++) {
    const char *name = n->outs[i] ? ig_onnx_file_name(x, n->outs[i]) : unread_name(x, n, i);
    ig_proto_put_text(w, NODE_OUTPUT, name);
    note_local(x, name);
  }
  char name[128];
  (void)snprintf(name, sizeof name, "node_%.110s", out);
  if (!x->options->no_node_names) ig_proto_put_text(w, NODE_NAME, own ? own : name);
  ig_proto_put_text(w, NODE_OP_TYPE, n->op_type);
  if (n->domain) {
    ig_proto_put_text(w, NODE_DOMAIN, n->domain);
    note_domain(x, n->domain);
  }
  for (size_t i = 0; n->attrs[i].name; i++) put_attr(x, &n->attrs[i]);
  return mark;
}

void ig_onnx_end(ig_onnx *x, size_t mark) {
  put_metadata(x);
  ig_proto_close(&x->w, mark);
}

const char *ig_onnx_final_domain(const ig_onnx *x, const char *op_type) {
  bool same =
      ig_onnx_schema_find("", op_type, x->opset) == ig_onnx_schema_find("", op_type, x->least);
  return same ? NULL : IG_ONNX_CONVERTED_DOMAIN;
}

const char *ig_onnx_emit(ig_onnx *x, const ig_onnx_node *n) {
  ig_onnx_node named = *n;
  const char *first = n->nouts ? n->outs[0] : n->out;
  if (!first) first = ig_onnx_fresh(x, n->op_type);
  if (ig_ctx_status(x->c) != IG_OK) return first;
  const char **outs = NULL;
  if (n->nouts && !n->outs[0]) {  // the first of several unused ones needs a name too
    outs = ig_onnx_push(x, ig_mem_mul(n->nouts, sizeof *outs));
    if (!outs) return first;
    memcpy(outs, n->outs, n->nouts * sizeof *outs);
    outs[0] = first;
    named.outs = outs;
  }
  named.out = first;
  if (ig_onnx_fold_node(x, &named, first)) return first;
  size_t mark = ig_onnx_begin(x, &named);
  ig_onnx_end(x, mark);
  return first;
}

const char *ig_onnx_cast(ig_onnx *x, const char *name, ig_dtype dtype, const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Cast",
                                         .in = {name},
                                         .attrs = {ig_onnx_int("to", ig_onnx_elem_type(dtype))},
                                         .out = out});
}

// ---- operators that changed over the opsets

// The axes of a reduction, which the nodes of a call share.
static const char *axes_of(ig_onnx *x, const int64_t *axes, size_t n) {
  ig_onnx_axes *last = &x->axes;
  bool same = x->options->torchscript && x->node && last->node == x->node && last->n == n &&
              x->opset >= 18 && last->inside == x->inside;
  for (size_t i = 0; same && i < n; i++) same = last->at[i] == axes[i];
  if (same) return last->name;
  *last = (ig_onnx_axes){.node = x->node, .inside = x->inside, .n = n <= IG_MAX_DIM ? n : 0};
  for (size_t i = 0; i < last->n; i++) last->at[i] = axes[i];
  return last->name = ig_onnx_vector(x, axes, n);
}

// Axes became an operand of ReduceSum in 13, of the others in 18.
const char *ig_onnx_reduce_node(ig_onnx *x, const char *op, const char *in, const int64_t *axes,
                                size_t n, bool keep, const char *out) {
  bool operand = x->opset >= 18 || strcmp(op, "ReduceSum") == 0;
  ig_onnx_node node = {
      .op_type = op, .in = {in}, .attrs = {ig_onnx_int("keepdims", keep)}, .out = out};
  if (n && operand) node.in[1] = axes_of(x, axes, n);
  if (n && !operand) node.attrs[1] = ig_onnx_ints("axes", axes, n);
  return ig_onnx_emit(x, &node);
}

const char *ig_onnx_unsqueeze(ig_onnx *x, const char *in, int64_t axis, const char *out) {
  return ig_onnx_emit2(x, "Unsqueeze", in, ig_onnx_vector(x, &axis, 1), out);
}

const char *ig_onnx_squeeze(ig_onnx *x, const char *in, int64_t axis, const char *out) {
  return ig_onnx_emit2(x, "Squeeze", in, ig_onnx_vector(x, &axis, 1), out);
}

const char *ig_onnx_transpose(ig_onnx *x, const char *in, const int64_t *perm, size_t n,
                              const char *out) {
  bool moves = false;
  for (size_t i = 0; i < n; i++) moves = moves || perm[i] != (int64_t)i;
  if (!moves && out) ig_onnx_same(x, in, out);
  if (!moves) return out ? out : in;
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Transpose",
                                         .in = {in},
                                         .attrs = {ig_onnx_ints("perm", perm, n)},
                                         .out = out});
}

const char *ig_onnx_gather(ig_onnx *x, const char *in, const char *index, int64_t axis,
                           const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Gather",
                                         .in = {in, index},
                                         .attrs = {ig_onnx_int("axis", axis)},
                                         .out = out});
}

const char *ig_onnx_slice(ig_onnx *x, const char *in, const char *start, const char *end,
                          int64_t axis, int64_t step, const char *out) {
  const char *axes = ig_onnx_vector(x, &axis, 1);
  const char *steps = step == 1 ? NULL : ig_onnx_vector(x, &step, 1);
  return ig_onnx_emit(
      x, &(ig_onnx_node){.op_type = "Slice", .in = {in, start, end, axes, steps}, .out = out});
}

const char *ig_onnx_concat(ig_onnx *x, const char *const *names, size_t n, int64_t axis,
                           const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Concat",
                                         .many = names,
                                         .nmany = n,
                                         .attrs = {ig_onnx_int("axis", axis)},
                                         .out = out});
}

// ---- constants

// A new initializer for `key`, or NULL when there is one already; *name is set either way.
void *ig_onnx_constant(ig_onnx *x, const char *key, ig_dtype dtype, const int64_t *dims, int ndim,
                       const char **name) {
  *name = "";
  // In a function constants are nodes, which are visible only in their graph. With the TorchScript
  // conventions every use has its own.
  char scope[64] = "";
  if (x->outer) (void)snprintf(scope, sizeof scope, "%zu ", x->scope);
  if (x->options->torchscript) (void)snprintf(scope, sizeof scope, "%zu ", x->temps);
  size_t length = strlen(scope) + strlen(key) + 1;
  char *kept = ig_onnx_push(x, length);
  if (!kept) return NULL;
  (void)snprintf(kept, length, "%s%s", scope, key);
  ig_map_value *v = ig_map_put(&x->constants, kept);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (!v || ig_ctx_status(x->c) != IG_OK) return NULL;
  if (v->ptr) {
    *name = v->ptr;
    return NULL;
  }
  struct ig_onnx_tensor t = {.dtype = dtype, .ndim = ndim};
  size_t bytes = ig_dtype_size(dtype);
  for (int d = 0; d < ndim; d++) bytes = ig_mem_mul(bytes, (size_t)dims[d]);
  int64_t *own = ig_onnx_push(x, ig_mem_mul((size_t)ndim + 1, sizeof *own));
  void *data = ig_onnx_push(x, ig_mem_add(bytes, 1));
  if (!own || !data) return NULL;
  if (ndim) memcpy(own, dims, (size_t)ndim * sizeof *own);
  t.dims = own;
  t.name = *name = ig_onnx_fresh(x, "const");
  v->ptr = (void *)*name;
  t.data = (ig_bytes){data, bytes};
  if (!ig_vec_push(x->c->alloc, &x->tensors, t)) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  ig_onnx_know_constant(x, t.name);
  return data;
}

const char *ig_onnx_number(ig_onnx *x, ig_dtype dtype, double v) {
  char key[64];
  const char *name = NULL;
  (void)snprintf(key, sizeof key, "%s %a", ig_dtype_text(dtype), v);
  void *data = ig_onnx_constant(x, key, dtype, NULL, 0, &name);
  if (data) ig_fill(data, dtype, 1, &(ig_value){.kind = IG_KIND_FLOAT, .f = v});
  return name;
}

const char *ig_onnx_integer(ig_onnx *x, ig_dtype dtype, int64_t v) {
  if (v > -((int64_t)1 << 53) && v < (int64_t)1 << 53) return ig_onnx_number(x, dtype, (double)v);
  char key[64];
  const char *name = NULL;
  (void)snprintf(key, sizeof key, "%s i%" PRId64, ig_dtype_text(dtype), v);
  void *data = ig_onnx_constant(x, key, dtype, NULL, 0, &name);
  ig_value number = ig_of_i64(v);
  if (data) ig_fill(data, dtype, 1, &number);
  return name;
}

const char *ig_onnx_filled(ig_onnx *x, ig_dtype dtype, int64_t n, double v) {
  char key[96];
  const char *name = NULL;
  (void)snprintf(key, sizeof key, "%s[%" PRId64 "] %a", ig_dtype_text(dtype), n, v);
  void *data = ig_onnx_constant(x, key, dtype, &n, 1, &name);
  if (data) ig_fill(data, dtype, (size_t)n, &(ig_value){.kind = IG_KIND_FLOAT, .f = v});
  return name;
}

const char *ig_onnx_vector(ig_onnx *x, const int64_t *at, size_t n) {
  ig_str key = ig_str_make(x->c->alloc);
  ig_str_add(&key, "int64s");
  for (size_t i = 0; i < n; i++) ig_str_add(&key, " %" PRId64, at[i]);
  const char *name = "";
  int64_t count = (int64_t)n;
  void *data = key.failed ? NULL : ig_onnx_constant(x, key.at, IG_I64, &count, 1, &name);
  if (key.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (data && n) memcpy(data, at, n * sizeof *at);
  ig_str_free(&key);
  return name;
}

const char *ig_onnx_floats_vector(ig_onnx *x, const double *at, size_t n) {
  ig_str key = ig_str_make(x->c->alloc);
  ig_str_add(&key, "floats");
  for (size_t i = 0; i < n; i++) ig_str_add(&key, " %a", at[i]);
  const char *name = "";
  int64_t count = (int64_t)n;
  float *data = key.failed ? NULL : ig_onnx_constant(x, key.at, IG_F32, &count, 1, &name);
  if (key.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  for (size_t i = 0; data && i < n; i++) data[i] = (float)at[i];
  ig_str_free(&key);
  return name;
}
