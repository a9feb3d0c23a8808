// SPDX-License-Identifier: Apache-2.0
// The sizes that PyTorch's TorchScript exporter infers, value by value while the nodes are written.
// Where no rule applies, a result has the sizes of the program.
#include <string.h>

#include "onnx/sizes.h"

const char *ig_onnx_input_of(const ig_onnx_node *n, size_t i) {
  if (n->many) return i < n->nmany ? n->many[i] : NULL;
  for (size_t k = 0; k < i && k < IG_ONNX_MAX_INPUTS; k++)
    if (!n->in[k]) return NULL;
  return i < IG_ONNX_MAX_INPUTS ? n->in[i] : NULL;
}

// ---- what is known

// An unknown size is told apart from the others: where it occurs twice, it has one name.
static void number_unknown(ig_onnx *x, ig_onnx_extent *d) {
  const char *unnamed = NULL;
  if (d->kind != IG_ONNX_UNKNOWN || d->n) return;
  if (!ig_vec_push(x->c->alloc, &x->unknown_sizes, unnamed))
    (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  d->n = (int64_t)x->unknown_sizes.n;
}

static const ig_onnx_extents *keep_dims(ig_onnx *x, const ig_onnx_extents *dims) {
  size_t bytes = offsetof(ig_onnx_extents, at) + ig_mem_mul(dims->n + 1, sizeof *dims->at);
  ig_onnx_extents *own = ig_onnx_push(x, bytes);
  if (!own) return NULL;
  own->n = dims->n;
  for (size_t i = 0; i < dims->n; i++) {
    own->at[i] = dims->at[i];
    number_unknown(x, &own->at[i]);
  }
  return own;
}

static void keep_fact(ig_onnx *x, const char *name, const ig_onnx_extents *sizes,
                      const ig_onnx_extents *content, bool whole) {
  ig_map_value *v = name && name[0] ? ig_map_put(&x->inferred, ig_onnx_file_name(x, name)) : NULL;
  if (name && name[0] && !v) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  ig_onnx_inferred *fact = v ? ig_onnx_push(x, sizeof *fact) : NULL;
  if (!fact) return;
  fact->sizes = keep_dims(x, sizes);
  fact->content = content ? keep_dims(x, content) : NULL;
  fact->whole = whole;
  if (fact->sizes) v->ptr = fact;
}

// The elements of a constant that may be sizes.
static bool content_of(const ig_tensor *t, ig_onnx_extents *out) {
  int64_t n = t->dtype == IG_I64 && t->ndim <= 1 ? ig_tensor_numel(t) : IG_MAX_DIM + 1;
  if (n > IG_MAX_DIM) return false;
  const int64_t *at = ig_tensor_data(t);
  out->n = (size_t)n;
  for (size_t i = 0; i < out->n; i++) out->at[i] = (ig_onnx_extent){IG_ONNX_NUMBER, at[i], NULL};
  return true;
}

static ig_onnx_extent dim_of(const ig_onnx *x, ig_int size) {
  if (!size.expr) return (ig_onnx_extent){IG_ONNX_NUMBER, size.value, NULL};
  bool plain = size.expr->kind == IG_EXPR_SYMBOL;
  ig_map_value *name = plain ? ig_map_find(&x->dim_names, size.expr->name) : NULL;
  if (!name) return (ig_onnx_extent){.kind = IG_ONNX_UNKNOWN};
  return (ig_onnx_extent){IG_ONNX_NAMED, 0, name->ptr};
}

static void sizes_of(const ig_onnx *x, const ig_tensor *t, ig_onnx_extents *out) {
  out->n = (size_t)t->ndim;
  for (int d = 0; d < t->ndim; d++) out->at[d] = dim_of(x, ig_sizes(t)[d]);
}

const ig_onnx_inferred *ig_onnx_inferred_of(ig_onnx *x, const char *name) {
  if (!name || !name[0]) return NULL;
  ig_map_value *v = ig_map_find(&x->inferred, ig_onnx_file_name(x, name));
  if (v && v->ptr) return v->ptr;
  const ig_tensor *t = ig_onnx_known_value(x, name);
  if (!t) return NULL;
  ig_onnx_extents sizes;
  ig_onnx_extents content;
  sizes_of(x, t, &sizes);
  bool numbers = ig_onnx_is_constant(x, name) && content_of(t, &content);
  keep_fact(x, name, &sizes, numbers ? &content : NULL, false);
  v = ig_map_find(&x->inferred, ig_onnx_file_name(x, name));
  return v ? v->ptr : NULL;
}

void ig_onnx_note_input(ig_onnx *x, const char *name, const ig_tensor *t) {
  ig_onnx_extents sizes;
  sizes_of(x, t, &sizes);
  for (int d = 0; d < t->ndim; d++) {
    const char *given = ig_onnx_axis_name(x, name, d);
    if (given) sizes.at[d] = (ig_onnx_extent){IG_ONNX_NAMED, 0, given};
  }
  keep_fact(x, name, &sizes, NULL, false);
}

// ---- nodes

void ig_onnx_note_sizes(ig_onnx *x, const ig_onnx_node *n, const char *out) {
  ig_onnx_inference f = {.x = x, .n = n};
  const ig_onnx_inferred *first = ig_onnx_inferred_of(x, ig_onnx_input_of(n, 0));
  f.in = first ? first->sizes : NULL;
  if (!ig_onnx_infer_sizes(&f)) return;
  size_t count = n->nouts ? n->nouts : 1;
  for (size_t i = 0; i < count; i++) {
    const char *name = i ? n->outs[i] : out;
    if (f.is_split) {
      int64_t piece = i < IG_MAX_DIM ? f.pieces[i] : 0;
      f.sizes.at[f.split_axis] =
          (ig_onnx_extent){piece ? IG_ONNX_NUMBER : IG_ONNX_UNKNOWN, piece, NULL};
    }
    const ig_onnx_extents *sizes = i && f.has_last ? &f.last : &f.sizes;
    if (name) keep_fact(x, name, sizes, f.has_content ? &f.content : NULL, f.whole);
  }
}

// ---- results of calls

// What the exporter does not infer for a result that the last node of a call makes; everything else
// is inferred, or as in the program.
typedef enum vague { ALL, VARYING_WINDOW } vague;
static const struct {
  const char *op;
  vague which;
  int since;
} rows[] = {
    {"Einsum", ALL, 0},
    {"Loop", ALL, 0},
    {"Pad", ALL, 11},
    {"Conv", VARYING_WINDOW, 0},
    {"ConvTranspose", VARYING_WINDOW, 0},
    {"MaxPool", VARYING_WINDOW, 0},
    {"AveragePool", VARYING_WINDOW, 0},
};

static void limit(const ig_onnx *x, const char *op, ig_onnx_extents *sizes) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, op) != 0 || x->least < rows[i].since) continue;
    for (size_t d = 0; d < sizes->n; d++) {
      bool lost = rows[i].which == ALL || (d > 1 && sizes->at[d].kind == IG_ONNX_NAMED);
      if (lost) sizes->at[d] = (ig_onnx_extent){.kind = IG_ONNX_UNKNOWN};
    }
  }
}

static void note_one(ig_onnx *x, const char *name, const ig_tensor *t) {
  const ig_onnx_inferred *fact = ig_onnx_inferred_of(x, name);
  if (fact && fact->sizes->n == (size_t)t->ndim) return;
  ig_onnx_extents sizes;
  sizes_of(x, t, &sizes);
  limit(x, ig_onnx_maker_of(x, name), &sizes);
  keep_fact(x, name, &sizes, NULL, false);
}

void ig_onnx_note_result(ig_onnx *x, const ig_onnx_call *call) {
  const ig_value *val = &call->node->val;
  if (val->kind == IG_KIND_TENSOR && call->out) note_one(x, call->out, val->tensor);
  for (size_t i = 0; val->kind == IG_KIND_LIST && i < call->nouts; i++) {
    if (call->outs[i] && val->list.at[i].kind == IG_KIND_TENSOR)
      note_one(x, call->outs[i], val->list.at[i].tensor);
  }
}

// The name of an unknown size: after the first value that is described with it.
static const char *unknown_name(ig_onnx *x, const ig_onnx_extent *d, const char *value, int axis) {
  size_t at = (size_t)d->n - 1;
  if (at >= x->unknown_sizes.n) return ig_onnx_made_axis(x, value, axis);
  const char **name = &x->unknown_sizes.at[at];
  if (!*name) *name = ig_onnx_made_axis(x, value, axis);
  return *name;
}

bool ig_onnx_inferred_axis(ig_onnx *x, const char *value, int axis, int ndim, const char **text,
                           int64_t *number) {
  const ig_onnx_inferred *fact = x->options->torchscript ? ig_onnx_inferred_of(x, value) : NULL;
  if (!fact || fact->sizes->n != (size_t)ndim) return false;
  const ig_onnx_extent *d = &fact->sizes->at[axis];
  *text = NULL;
  if (d->kind == IG_ONNX_UNKNOWN) *text = unknown_name(x, d, value, axis);
  if (d->kind == IG_ONNX_NAMED) *text = d->name;
  if (d->kind == IG_ONNX_NUMBER) *number = d->n;
  return true;
}
