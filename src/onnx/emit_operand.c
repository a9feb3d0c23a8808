// SPDX-License-Identifier: Apache-2.0
// Reading the operands of graph nodes, and collecting what ONNX cannot express. Unsupported calls
// are kept with the user's source line, each once, and reported together.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cause.h"
#include "onnx/writer.h"
#include "sym/report.h"
#include "tensor/copy.h"

const ig_tensor *ig_onnx_tensor_of(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor;
  if (v->kind != IG_KIND_NODE || v->node->val.kind != IG_KIND_TENSOR) return NULL;
  return v->node->val.tensor;
}

bool ig_onnx_same_sizes(const ig_tensor *a, const ig_tensor *b) {
  bool same = a && b && a->ndim == b->ndim;
  for (int d = 0; same && d < a->ndim; d++) {
    ig_int s = ig_sizes(a)[d];
    ig_int t = ig_sizes(b)[d];
    same = s.expr == t.expr && (s.expr || s.value == t.value);
  }
  return same;
}

int ig_onnx_ndim(const ig_value *v) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  return t ? t->ndim : 0;
}

// A folded result becomes an initializer when it is first used. A name given by the user is that of
// the output, which a node produces.
static const char *name_of(ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->names, n);
  const char *name = s ? s->value : n->name;
  ig_table_slot *known = ig_table_find(&x->folded, n);
  if (!known || known->number) return name;
  known->number = 1;
  if (s || x->inside) name = ig_onnx_fresh(x, x->outer ? "v" : n->name);
  (void)ig_onnx_set_name(x, n, name);
  return ig_onnx_add_tensor(x, name, known->value);
}

// A number that is a node is replaced by its value.
static const ig_value *value_of(const ig_value *v) {
  return v->kind == IG_KIND_NODE ? &v->node->val : v;
}

static const ig_expr *expr_of(const ig_value *v) {
  return v->kind == IG_KIND_INT     ? v->i.expr
         : v->kind == IG_KIND_FLOAT ? v->f_expr
         : v->kind == IG_KIND_BOOL  ? v->b_expr
                                    : NULL;
}

bool ig_onnx_is_symbolic(const ig_value *v) {
  return expr_of(value_of(v)) != NULL;
}

// With the TorchScript conventions a constant has the type in which it is read; NULL: n is not one.
static const char *typed_constant(ig_onnx *x, const ig_node *n, ig_dtype dtype) {
  ig_table_slot *known = x->options->torchscript ? ig_table_find(&x->folded, n) : NULL;
  const ig_tensor *t = known ? known->value : NULL;
  if (!t || !ig_tensor_is_dense(t)) return NULL;
  int64_t dims[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) dims[d] = ig_tensor_size(t, d).value;
  ig_str key = ig_str_make(x->c->alloc);
  ig_str_add(&key, "%s of %s", ig_dtype_text(dtype), n->name);
  const char *name = "";
  if (key.failed) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  void *data = key.failed ? NULL : ig_onnx_constant(x, key.at, dtype, dims, t->ndim, &name);
  if (data) ig_tensor_read(t, dtype, data);
  ig_str_free(&key);
  return name;
}

const char *ig_onnx_operand(ig_onnx *x, const ig_value *v, ig_dtype dtype) {
  const ig_tensor *t = ig_onnx_tensor_of(v);
  if (t) {
    bool other = dtype != IG_DTYPE_COUNT && t->dtype != dtype;
    const char *constant = other ? typed_constant(x, v->node, dtype) : NULL;
    if (constant) return constant;
    const char *name = name_of(x, v->node);
    return dtype == IG_DTYPE_COUNT || t->dtype == dtype ? name : ig_onnx_cast(x, name, dtype, NULL);
  }
  v = value_of(v);
  if (v->kind == IG_KIND_NONE) return "";
  ig_dtype own = v->kind == IG_KIND_INT ? IG_I64 : v->kind == IG_KIND_BOOL ? IG_BOOL : IG_F32;
  if (dtype == IG_DTYPE_COUNT) dtype = own;
  if (expr_of(v)) return ig_onnx_scalar_of(x, expr_of(v), dtype);
  if (v->kind == IG_KIND_INT) return ig_onnx_integer(x, dtype, v->i.value);
  return ig_onnx_number(x, dtype, ig_onnx_float_of(x, v));
}

static void unexpected(ig_onnx *x, const char *what) {
  if (x->node) {
    ig_onnx_refuse(x, x->node, "%s must be known when the model is written", what);
  } else {
    (void)ig_fail(x->c, IG_UNSUPPORTED | IG_E_ONNX_CALL,
                  "ONNX: %s must be known when the model is written", what);
  }
}

ig_int ig_onnx_symint_of(ig_onnx *x, const ig_value *v) {
  v = value_of(v);
  if (v->kind == IG_KIND_INT) return v->i;
  if (v->kind == IG_KIND_BOOL && !v->b_expr) return ig_const(v->b);
  unexpected(x, "an integer argument");
  return ig_const(0);
}

int64_t ig_onnx_int_of(ig_onnx *x, const ig_value *v) {
  v = value_of(v);
  if (v->kind == IG_KIND_INT && !v->i.expr) return v->i.value;
  if (v->kind == IG_KIND_BOOL && !v->b_expr) return v->b;
  unexpected(x, "an integer argument");
  return 0;
}

double ig_onnx_float_of(ig_onnx *x, const ig_value *v) {
  v = value_of(v);
  if (v->kind == IG_KIND_FLOAT && !v->f_expr) return v->f;
  if (v->kind == IG_KIND_COMPLEX) {
    if (x->node) ig_onnx_refuse(x, x->node, "complex numbers cannot be written as ONNX");
    return v->z.re;
  }
  return (double)ig_onnx_int_of(x, v);
}

bool ig_onnx_bool_of(ig_onnx *x, const ig_value *v) {
  return ig_onnx_int_of(x, v) != 0;
}

int64_t ig_onnx_dim(ig_onnx *x, const ig_value *v, int ndim) {
  int64_t d = ig_onnx_int_of(x, v);
  if (d < 0) d += ndim;
  return d < 0 || ndim == 0 ? 0 : d;
}

ig_int ig_onnx_size_at(ig_onnx *x, const ig_tensor *t, int64_t axis) {
  if (axis >= 0 && axis < t->ndim) return ig_sizes(t)[axis];
  unexpected(x, "a dimension that exists");
  return ig_const(1);
}

size_t ig_onnx_symint_list(ig_onnx *x, const ig_value *v, ig_int *out, size_t cap, size_t want) {
  size_t n = 0;
  if (v->kind == IG_KIND_LIST) {
    if (v->list.n > cap) unexpected(x, "a shorter list");
    for (; n < v->list.n && n < cap; n++) out[n] = ig_onnx_symint_of(x, &v->list.at[n]);
  } else if (v->kind == IG_KIND_INTS) {
    if (v->ints.n > cap) unexpected(x, "a shorter list");
    for (; n < v->ints.n && n < cap; n++) out[n] = v->ints.at[n];
  } else if (v->kind != IG_KIND_NONE) {
    out[n++] = ig_onnx_symint_of(x, v);
  }
  for (; n == 0 ? false : n < want && n < cap; n++) out[n] = out[0];
  return n;
}

size_t ig_onnx_int_list(ig_onnx *x, const ig_value *v, int64_t *out, size_t cap, size_t want) {
  ig_int all[IG_MAX_DIM];
  size_t n = ig_onnx_symint_list(x, v, all, cap < IG_MAX_DIM ? cap : IG_MAX_DIM, want);
  for (size_t i = 0; i < n; i++) {
    if (all[i].expr) unexpected(x, "an integer argument");
    out[i] = all[i].value;
  }
  return n;
}

// ---- unsupported calls

void ig_onnx_refuse(ig_onnx *x, const ig_node *n, const char *fmt, ...) {
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ig_onnx *model = x;
  while (model->outer) model = model->outer;
  if (!model->refused) model->refused = ig_report_create(x->c);
  if (!model->refused) {
    (void)ig_fail(x->c, IG_NOMEM, "out of memory");
    return;
  }
  ig_issue issue = {.kind = IG_ISSUE_FORMAT,
                    .file = n->file ? n->file : "",
                    .line = n->line,
                    .op = n->target ? n->target : n->name,
                    .reason = text};
  issue.nframes = ig_node_frames(n, &issue.frames);
  ig_report_add(x->c, model->refused, &issue);
}
