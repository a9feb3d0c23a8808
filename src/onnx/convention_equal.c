// SPDX-License-Identifier: Apache-2.0
// PyTorch's TorchScript exporter computes once what a program computes twice: a call that was
// written with the same arguments before gives its results their names. Results of the model stay
// values of their own, and what a branch or loop computes stays there.
#include "ingot/aten.h"
#include "onnx/convention.h"

enum { BUCKETS = 256 };

typedef struct written {
  const ig_node *node;
  const ig_onnx_call *call;  // its names
  struct written *next;
} written;

struct ig_onnx_written {
  written *at[BUCKETS];
};

static bool is_number(const ig_value *v) {
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
}

static const ig_expr *expr_of(const ig_value *v) {
  return v->kind == IG_KIND_INT ? v->i.expr : v->kind == IG_KIND_FLOAT ? v->f_expr : v->b_expr;
}

static bool put(ig_onnx *x, const void *key, const void *value) {
  ig_table_slot *slot = ig_table_put(&x->equal, key);
  if (!slot) (void)ig_fail(x->c, IG_NOMEM, "out of memory");
  if (slot) slot->value = (void *)value;
  return slot != NULL;
}

// Operands that nothing was found for stand for themselves; numbers of one expression are equal.
static void note_operands(ig_onnx *x, const ig_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_node *in = n->inputs[i];
    if (ig_table_find(&x->equal, in)) continue;
    const ig_expr *e = is_number(&in->val) ? expr_of(&in->val) : NULL;
    ig_table_slot *first = e ? ig_table_find(&x->equal, e) : NULL;
    const void *stands = first ? first->value : in;
    if (e && !first) (void)put(x, e, in);
    (void)put(x, in, stands);
  }
}

static bool may_repeat(const ig_onnx *x, const ig_node *n) {
  return x->options->torchscript && !x->inside && !x->outer && !x->functions && n->op &&
         n->callee == IG_CALLEE_OP && !n->effect && !n->op->user && !ig_op_is_random(n->op) &&
         n->op->number != IG_ID_EMPTY_MEMORY_FORMAT;
}

static bool is_result(const ig_node *n) {
  for (const ig_use *u = n->first_use; u; u = u->next)
    if (u->user->kind == IG_NODE_OUTPUT) return true;
  return false;
}

static size_t bucket_of(const ig_onnx *x, const ig_node *n) {
  size_t h = n->op->number * 31 + n->npos;
  for (size_t i = 0; i < n->ninputs; i++) {
    const ig_table_slot *slot = ig_table_find(&x->equal, n->inputs[i]);
    const ig_node *in = slot ? slot->value : n->inputs[i];
    h = h * 31 + in->index;
  }
  return h % BUCKETS;
}

// Whether the earlier call has every result that this one has.
static bool has_results(const ig_onnx_call *earlier, const ig_onnx_call *call) {
  if (earlier->nouts != call->nouts) return false;
  for (size_t i = 0; i < call->nouts; i++)
    if (call->outs[i] && !earlier->outs[i]) return false;
  return true;
}

static void take_results(ig_onnx *x, const ig_onnx_call *earlier, const ig_onnx_call *call) {
  if (!call->nouts) ig_onnx_same(x, earlier->out, call->out);
  for (size_t i = 0; i < call->nouts; i++)
    if (call->outs[i]) ig_onnx_same(x, earlier->outs[i], call->outs[i]);
}

static bool picked_is_result(const ig_node *n) {
  for (const ig_use *u = n->first_use; u; u = u->next)
    if (u->user->callee == IG_CALLEE_GETITEM && is_result(u->user)) return true;
  return false;
}

bool ig_onnx_repeats(ig_onnx *x, const ig_onnx_call *call) {
  const ig_node *n = call->node;
  if (!may_repeat(x, n)) return false;
  note_operands(x, n);
  if (!x->written) x->written = ig_onnx_push(x, sizeof *x->written);
  if (!x->written || ig_ctx_status(x->c) != IG_OK) return false;
  bool own = is_result(n) || picked_is_result(n);
  written **bucket = &x->written->at[bucket_of(x, n)];
  for (written *w = *bucket; w && !own; w = w->next) {
    if (!ig_node_same(&x->equal, n, w->node) || !has_results(w->call, call)) continue;
    take_results(x, w->call, call);
    return put(x, n, w->node);
  }
  written *w = ig_onnx_push(x, sizeof *w);
  ig_onnx_call *kept = ig_onnx_push(x, sizeof *kept);
  if (!w || !kept) return false;
  *kept = *call;
  *w = (written){n, kept, *bucket};
  *bucket = w;
  return !put(x, n, n);
}
