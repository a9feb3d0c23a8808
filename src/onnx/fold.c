// SPDX-License-Identifier: Apache-2.0
// Constant folding: calls whose operands are all known when the model is written, and whose results
// are small, are evaluated. A result becomes an initializer when a remaining call uses it. Weights
// of the program are never folded.
#include "ingot/aten.h"
#include "ingot/library.h"
#include "onnx/writer.h"
#include "tensor/copy.h"

enum { MAX_ELEMENTS = 1 << 16 };

static ig_tensor *folded(const ig_onnx *x, const ig_node *n) {
  ig_table_slot *s = ig_table_find(&x->folded, n);
  return s ? s->value : NULL;
}

// The value of an argument with known tensors in place of nodes; false: something is not known.
static bool know(ig_onnx *x, const ig_value *v, ig_value *out) {
  *out = *v;
  if (v->kind == IG_KIND_NODE) {
    ig_tensor *t = folded(x, v->node);
    if (t) {
      *out = ig_of_tensor(t);
      return true;
    }
    *out = v->node->val;
    return !ig_onnx_tensor_of(v) && out->kind != IG_KIND_LIST && !ig_onnx_is_symbolic(v);
  }
  if (v->kind == IG_KIND_LIST) {
    ig_value *at = ig_onnx_push(x, ig_mem_mul(v->list.n + 1, sizeof *at));
    for (size_t i = 0; at && i < v->list.n; i++) {
      if (!know(x, &v->list.at[i], &at[i])) return false;
    }
    if (at) out->list.at = at;
    return at != NULL;
  }
  if (v->kind == IG_KIND_INTS) {
    for (size_t i = 0; i < v->ints.n; i++) {
      if (v->ints.at[i].expr) return false;
    }
  }
  return v->kind != IG_KIND_OBJECT && !ig_onnx_is_symbolic(v);
}

static bool is_small(const ig_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; d++) {
    ig_int size = ig_sizes(t)[d];
    if (size.expr || size.value > MAX_ELEMENTS) return false;
    n *= size.value;
    if (n > MAX_ELEMENTS) return false;
  }
  return !ig_dtype_is_complex(t->dtype);
}

// A list argument of integers arrives as nodes and numbers, the operator takes plain integers.
static void settle_lists(ig_onnx *x, const ig_op *op, ig_value *args) {
  for (size_t i = 0; i < op->schema.nargs; i++) {
    ig_value *v = &args[i];
    if (v->kind != IG_KIND_LIST || v->list.n == 0) continue;
    bool plain = true;
    for (size_t k = 0; k < v->list.n; k++) plain = plain && v->list.at[k].kind == IG_KIND_INT;
    ig_int *ints = plain ? ig_onnx_push(x, ig_mem_mul(v->list.n, sizeof *ints)) : NULL;
    for (size_t k = 0; ints && k < v->list.n; k++) ints[k] = v->list.at[k].i;
    if (ints) *v = ig_of_ints(ints, v->list.n);
  }
}

static bool set_result(ig_onnx *x, const ig_node *n, ig_tensor *t) {
  ig_table_slot *slot = ig_table_put(&x->folded, n);
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (slot) slot->value = ig_tensor_retain(t);
  return slot != NULL;
}

bool ig_onnx_fold_filled(ig_onnx *x, const ig_onnx_call *call, const ig_value *number) {
  const ig_tensor *t = call->val;
  bool whole = x->options->torchscript && !x->options->no_folding && call->node;
  if (!whole || !is_small(t)) return false;
  ig_ctx *c = x->c;
  ig_mode_scope mode = ig_mode_push_sym(c, NULL);
  ig_scope s = ig_scope_open(c);
  ig_tensor *made = ig_full_with(c, ig_of_ints(ig_sizes(t), (size_t)t->ndim), *number,
                                 ig_of_dtype(t->dtype), ig_none(), ig_none(), ig_none());
  bool ok =
      made && ig_ctx_status(c) == IG_OK && !ig_is_fake(made) && set_result(x, call->node, made);
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  return ok;
}

// Runtimes compute on quantized weights and need their scales: as numbers they would be quantized
// anew.
static bool gives_weights(const ig_op *op) {
  return op->number == IG_ID_QUANTIZED_DECOMPOSED__DEQUANTIZE_PER_TENSOR ||
         op->number == IG_ID_QUANTIZED_DECOMPOSED__DEQUANTIZE_PER_CHANNEL;
}

bool ig_onnx_fold(ig_onnx *x, const ig_node *n, const ig_value *given) {
  if (n->val.kind != IG_KIND_TENSOR || !is_small(n->val.tensor)) return false;
  if (gives_weights(n->op)) return false;
  if (ig_op_is_random(n->op) || n->op->user || ig_op_mutates(n->op)) return false;
  ig_value args[IG_MAX_ARGS];
  for (size_t i = 0; i < n->op->schema.nargs; i++) {
    if (!know(x, &given[i], &args[i])) return false;
  }
  settle_lists(x, n->op, args);
  ig_ctx *c = x->c;
  ig_mode_scope mode = ig_mode_push_sym(c, NULL);
  ig_scope s = ig_scope_open(c);
  ig_value out = ig_none();
  ig_call(c, n->op, args, &out);
  bool ok = ig_ctx_status(c) == IG_OK && out.kind == IG_KIND_TENSOR && !ig_is_fake(out.tensor);
  ok = ok && set_result(x, n, out.tensor);
  ig_scope_close(c, s);
  ig_mode_pop(c, &mode);
  return ok;
}

void ig_onnx_fold_free(ig_onnx *x) {
  for (size_t i = 0; i < x->folded.cap; i++) {
    if (x->folded.slots[i].key) ig_tensor_release(x->folded.slots[i].value);
  }
  ig_table_free(&x->folded);
}
