// SPDX-License-Identifier: Apache-2.0
// Accumulating gradients: sum of two contributions, contribution to .grad.
#include "grad/grad.h"
#include "op/formula.h"
#include "tensor/copy.h"

static ig_tensor *call2(ig_ctx *c, unsigned id, ig_tensor *a, ig_tensor *b) {
  const ig_op *op = ig_op_at(c, id);
  if (!op) return NULL;
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, (ig_value[]){ig_of_tensor(a), ig_of_tensor(b), ig_of_i64(1)}, out);
  return ig_value_tensor(&out[0]);
}

ig_tensor *ig_grad_plus(ig_ctx *c, ig_tensor *a, ig_tensor *b, bool owned) {
  if (!a || !b) return a ? a : b;
  bool reuse =
      owned && c->mode->no_grad && !c->mode->capture && !ig_is_fake(a) && a->dtype == b->dtype;
  return call2(c, reuse ? IG_ID_ADD__TENSOR : IG_ID_ADD_TENSOR, a, b);
}

static bool same_strides(const ig_tensor *a, const ig_tensor *b) {
  for (int d = 0; d < a->ndim; d++) {
    bool counts = ig_sizes(a)[d].value > 1;
    if (counts && ig_strides(a)[d].value != ig_strides(b)[d].value) return false;
  }
  return true;
}

// .grad has the strides of its tensor if that is non-overlapping and dense, otherwise contiguous
// ones.
static bool obeys_layout(const ig_tensor *t, const ig_tensor *g) {
  return ig_tensor_is_dense_permuted(t) ? same_strides(t, g) : ig_tensor_is_dense(g);
}

static bool can_steal(const ig_ctx *c, const ig_tensor *t, const ig_tensor *g) {
  return c->mode->no_grad && !g->host && !g->requires_grad && atomic_load(&g->ref.count) == 1 &&
         atomic_load(&g->storage->ref.count) == 1 && g->storage->resizable && !g->inference &&
         obeys_layout(t, g);
}

static ig_tensor *copy_for(ig_ctx *c, const ig_tensor *t, ig_tensor *g) {
  ig_meta m;
  ig_meta_of(ig_tensor_is_dense_permuted(t) ? t : g, &m);
  m.dtype = g->dtype;
  m.offset = ig_const(0);
  if (!ig_tensor_is_dense_permuted(t)) ig_meta_contiguous(c, &m);
  ig_tensor *copy = ig_tensor_make(c, &m, false);
  if (copy) ig_tensor_copy(copy, g);
  return copy;
}

static ig_tensor *clone(ig_ctx *c, ig_tensor *g) {
  const ig_op *op = ig_op_at(c, IG_ID_CLONE);
  if (!op) return NULL;
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, (ig_value[]){ig_of_tensor(g), ig_none()}, out);
  return ig_value_tensor(&out[0]);
}

// What answers calls sees that a gradient is kept.
static ig_tensor *detach(ig_ctx *c, ig_tensor *g) {
  const ig_op *op = ig_op_at(c, IG_ID_DETACH);
  if (!op) return NULL;
  ig_value out[IG_MAX_RETURNS];
  ig_call(c, op, (ig_value[]){ig_of_tensor(g)}, out);
  return ig_value_tensor(&out[0]);
}

static ig_tensor *first(ig_ctx *c, ig_tensor *t, ig_tensor *g) {
  bool seen = g->intercept || c->mode->intercept;
  if (seen && c->mode->no_grad) return detach(c, g);
  if (can_steal(c, t, g)) return g;
  bool formula = !c->mode->no_grad || c->mode->capture || ig_is_fake(g);
  return formula ? clone(c, g) : copy_for(c, t, g);
}

bool ig_grad_accumulate(ig_ctx *c, ig_tensor *t, ig_tensor *g) {
  struct ig_autograd *a = ig_tape_state(c, t);
  if (!a || !g) return a != NULL;
  ig_tensor *sum = NULL;
  if (!a->grad) {
    sum = first(c, t, g);
  } else if (c->mode->no_grad && !c->mode->capture && !ig_is_fake(a->grad)) {
    sum = call2(c, IG_ID_ADD__TENSOR, a->grad, g);
  } else {
    sum = call2(c, IG_ID_ADD_TENSOR, a->grad, g);
  }
  if (!sum) return false;
  (void)ig_tensor_retain(sum);
  ig_tensor_release(a->grad);
  a->grad = sum;
  return true;
}
