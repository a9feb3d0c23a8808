// SPDX-License-Identifier: Apache-2.0
// Emitting ONNX nodes and constants, and reading the operands of graph nodes.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "onnx/model.h"
#include "onnx/writer.h"
#include "tensor/number.h"

// Field numbers of NodeProto and AttributeProto.
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_INTS = 8, ATTR_TYPE = 20 };

int64_t ig_onnx_elem_type(ig_dtype d) {
  static const uint8_t types[IG_DTYPE_COUNT] = {
      [IG_BOOL] = 9,      [IG_U8] = 2,      [IG_I8] = 3,   [IG_I16] = 5,  [IG_I32] = 6,
      [IG_I64] = 7,       [IG_U16] = 4,     [IG_U32] = 12, [IG_U64] = 13, [IG_F16] = 10,
      [IG_BF16] = 16,     [IG_F32] = 1,     [IG_F64] = 11, [IG_C64] = 14, [IG_C128] = 15,
      [IG_F8E4M3FN] = 17, [IG_F8E5M2] = 19,
  };
  return types[d];
}

void *ig_onnx_push(ig_onnx *x, size_t size) {
  void *p = ig_arena_push(&x->arena, size);
  if (!p) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return p;
}

static const char *keep(ig_onnx *x, const char *text) {
  const char *copy = ig_arena_strn(&x->arena, text, strlen(text));
  if (!copy) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return copy ? copy : "";
}

// Names of nodes are identifiers, so a name with colons is free.
static const char *fresh(ig_onnx *x, const char *op_type) {
  char text[96];
  (void)snprintf(text, sizeof text, "%.60s::%zu", op_type, x->temps++);
  return keep(x, text);
}

// ---- nodes

static void put_attr(ig_proto_writer *w, const ig_onnx_attr *a) {
  size_t mark = ig_proto_open(w, NODE_ATTRIBUTE);
  ig_proto_put_text(w, ATTR_NAME, a->name);
  if (a->type == IG_ONNX_FLOAT) ig_proto_put_float(w, ATTR_F, a->f);
  if (a->type == IG_ONNX_INT) ig_proto_put_int(w, ATTR_I, a->i);
  for (size_t i = 0; i < a->n; i++) ig_proto_put_int(w, ATTR_INTS, a->ints[i]);
  ig_proto_put_int(w, ATTR_TYPE, a->type);
  ig_proto_close(w, mark);
}

const char *ig_onnx_emit(ig_onnx *x, const ig_onnx_node *n) {
  const char *out = n->nouts ? n->outs[0] : n->out;
  if (!out) out = fresh(x, n->op_type);
  if (ig_ctx_status(x->c) != IG_OK) return out;
  ig_proto_writer *w = &x->w;
  size_t mark = ig_proto_open(w, IG_ONNX_GRAPH_NODE);
  for (size_t i = 0; !n->many && n->in[i]; i++) ig_proto_put_text(w, NODE_INPUT, n->in[i]);
  for (size_t i = 0; i < n->nmany; i++) ig_proto_put_text(w, NODE_INPUT, n->many[i]);
  ig_proto_put_text(w, NODE_OUTPUT, out);
  for (size_t i = 1; i < n->nouts; i++)
    ig_proto_put_text(w, NODE_OUTPUT, n->outs[i] ? n->outs[i] : "");
  char name[128];
  (void)snprintf(name, sizeof name, "node_%.110s", out);
  ig_proto_put_text(w, NODE_NAME, name);
  ig_proto_put_text(w, NODE_OP_TYPE, n->op_type);
  for (size_t i = 0; n->attrs[i].name; i++) put_attr(w, &n->attrs[i]);
  ig_proto_close(w, mark);
  return out;
}

const char *ig_onnx_cast(ig_onnx *x, const char *name, ig_dtype dtype, const char *out) {
  return ig_onnx_emit(x, &(ig_onnx_node){.op_type = "Cast",
                                         .in = {name},
                                         .attrs = {ig_onnx_int("to", ig_onnx_elem_type(dtype))},
                                         .out = out});
}

// ---- constants

// A new initializer for `key`, or NULL when there is one already; *name is set either way.
static void *constant(ig_onnx *x, const char *key, ig_dtype dtype, int64_t numel, int ndim,
                      const char **name) {
  const char *kept = keep(x, key);
  ig_map_value *v = ig_map_put(&x->constants, kept);
  if (!v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  *name = "";
  if (!v || ig_ctx_status(x->c) != IG_OK) return NULL;
  if (v->ptr) {
    *name = v->ptr;
    return NULL;
  }
  size_t bytes = (size_t)numel * ig_dtype_size(dtype);
  void *data = ig_onnx_push(x, bytes);
  *name = fresh(x, "const");
  v->ptr = (void *)*name;
  struct ig_onnx_tensor t = {.name = *name, .dtype = dtype, .ndim = ndim, .dims = {numel}};
  t.data = (ig_bytes){data, bytes};
  if (!ig_vec_push(x->c->alloc, &x->tensors, t)) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  return data;
}

const char *ig_onnx_number(ig_onnx *x, ig_dtype dtype, double v) {
  char key[64];
  const char *name = NULL;
  (void)snprintf(key, sizeof key, "%s %a", ig_dtype_text(dtype), v);
  void *data = constant(x, key, dtype, 1, 0, &name);
  if (data) ig_fill(data, dtype, 1, &(ig_value){.kind = IG_KIND_FLOAT, .f = v});
  return name;
}

const char *ig_onnx_filled(ig_onnx *x, ig_dtype dtype, int64_t n, double v) {
  char key[96];
  const char *name = NULL;
  (void)snprintf(key, sizeof key, "%s[%" PRId64 "] %a", ig_dtype_text(dtype), n, v);
  void *data = constant(x, key, dtype, n, 1, &name);
  if (data) ig_fill(data, dtype, (size_t)n, &(ig_value){.kind = IG_KIND_FLOAT, .f = v});
  return name;
}

const char *ig_onnx_vector(ig_onnx *x, const int64_t *at, size_t n) {
  ig_str key = ig_str_make(x->c->alloc);
  ig_str_add(&key, "int64s");
  for (size_t i = 0; i < n; i++) ig_str_add(&key, " %" PRId64, at[i]);
  const char *name = "";
  void *data = key.failed ? NULL : constant(x, key.at, IG_I64, (int64_t)n, 1, &name);
  if (key.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (data && n) memcpy(data, at, n * sizeof *at);
  ig_str_free(&key);
  return name;
}

// ---- operands

const ig_tensor *ig_onnx_tensor_of(const ig_value *v) {
  if (v->kind != IG_KIND_NODE || v->node->val.kind != IG_KIND_TENSOR) return NULL;
  return v->node->val.tensor;
}

static const char *name_of(const ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->names, n);
  return s ? s->value : n->name;
}

const char *ig_onnx_operand(ig_onnx *x, const ig_value *v, ig_dtype dtype) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) {
    const char *name = name_of(x, v->node);
    return dtype == IG_DTYPE_COUNT || t->dtype == dtype ? name : ig_onnx_cast(x, name, dtype, NULL);
  }
  if (v->kind == IG_KIND_NONE) return "";
  ig_dtype own = v->kind == IG_KIND_INT ? IG_I64 : v->kind == IG_KIND_BOOL ? IG_BOOL : IG_F32;
  return ig_onnx_number(x, dtype == IG_DTYPE_COUNT ? own : dtype, ig_onnx_float_of(x, v));
}

static void unexpected(ig_onnx *x, const char *what) {
  (void)ig_fail(x->c, IG_UNSUPPORTED, "ONNX: %s must be known when the model is written", what);
}

int64_t ig_onnx_int_of(ig_onnx *x, const ig_value *v) {
  if (v->kind == IG_KIND_INT && !v->i.expr) return v->i.value;
  if (v->kind == IG_KIND_BOOL && !v->b_expr) return v->b;
  unexpected(x, "an integer argument");
  return 0;
}

double ig_onnx_float_of(ig_onnx *x, const ig_value *v) {
  if (v->kind == IG_KIND_FLOAT && !v->f_expr) return v->f;
  return (double)ig_onnx_int_of(x, v);
}

bool ig_onnx_bool_of(ig_onnx *x, const ig_value *v) {
  return ig_onnx_int_of(x, v) != 0;
}

size_t ig_onnx_int_list(ig_onnx *x, const ig_value *v, int64_t *out, size_t cap, size_t want) {
  size_t n = 0;
  if (v->kind == IG_KIND_LIST) {
    if (v->list.n > cap) unexpected(x, "a shorter list");
    for (; n < v->list.n && n < cap; n++) out[n] = ig_onnx_int_of(x, &v->list.at[n]);
  } else if (v->kind == IG_KIND_INTS) {
    if (v->ints.n > cap) unexpected(x, "a shorter list");
    for (; n < v->ints.n && n < cap; n++)
      out[n] = ig_onnx_int_of(x, &(ig_value){.kind = IG_KIND_INT, .i = v->ints.at[n]});
  } else if (v->kind != IG_KIND_NONE) {
    out[n++] = ig_onnx_int_of(x, v);
  }
  for (; n == 0 ? false : n < want && n < cap; n++) out[n] = out[0];
  return n;
}

int ig_onnx_sizes(ig_onnx *x, const ig_tensor *t, int64_t *sizes) {
  for (int d = 0; t && d < t->ndim; d++) {
    if (ig_sizes(t)[d].expr) unexpected(x, "a size");
    sizes[d] = ig_sizes(t)[d].value;
  }
  return t ? t->ndim : 0;
}

// ---- refusing

// "model.py:14" from the node's location or its stack trace.
static void locate(const ig_node *n, char *out, size_t cap) {
  const char *file = n->file;
  int line = n->line;
  size_t len = file ? strlen(file) : 0;
  const char *trace = n->meta[IG_META_STACK_TRACE];
  const char *quote = !file && trace ? strstr(trace, "File \"") : NULL;
  if (quote) {
    file = quote + strlen("File \"");
    const char *end = strchr(file, '"');
    len = end ? (size_t)(end - file) : 0;
    if (!end || sscanf(end, "\", line %d", &line) != 1) len = 0;  // NOLINT(cert-err34-c): 0 is fine
  }
  for (size_t i = 0; i < len; i++) {
    if (file[i] != '/') continue;
    file += i + 1;
    len -= i + 1;
    i = (size_t)-1;
  }
  out[0] = 0;
  if (len) (void)snprintf(out, cap, " (%.*s:%d)", (int)(len < 200 ? len : 200), file, line);
}

void ig_onnx_refuse(ig_onnx *x, const ig_node *n, const char *fmt, ...) {
  char text[256];
  char where[256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  locate(n, where, sizeof where);
  ig_fail_text(x->c, IG_UNSUPPORTED, "%s: %s%s", n->target, text, where);
}
