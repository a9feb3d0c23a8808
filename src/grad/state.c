// SPDX-License-Identifier: Apache-2.0
// Grad modes of the context and gradient state of tensors.
#include "grad/grad.h"
#include "op/formula.h"

bool ig_grad_is_enabled(const ig_ctx *c) {
  return !c->mode->no_grad && !c->mode->inference;
}

bool ig_grad_set_enabled(ig_ctx *c, bool on) {
  bool before = !c->mode->no_grad;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = !on}});
  return before;
}

bool ig_inference_is_enabled(const ig_ctx *c) {
  return c->mode->inference;
}

bool ig_inference_set_enabled(ig_ctx *c, bool on) {
  bool before = c->mode->inference;
  ig_mode_set(c, &(ig_mode_change){IG_MODE_INFERENCE, {.inference = on}});
  return before;
}

bool ig_tensor_requires_grad(const ig_tensor *t) {
  return ig_tape_requires_grad(t);
}

bool ig_tensor_is_leaf(ig_ctx *c, ig_tensor *t) {
  return ig_tensor_grad_fn(c, t, NULL) == NULL;
}

ig_grad_fn *ig_tensor_grad_fn(ig_ctx *c, ig_tensor *t, uint32_t *index) {
  ig_tape_refresh(c, t);
  const struct ig_autograd *a = t->autograd;
  if (index) *index = a ? a->index : 0;
  return a ? a->entry : NULL;
}

void ig_tensor_set_requires_grad(ig_ctx *c, ig_tensor *t, bool on) {
  if (c->status != IG_OK || !t) return;
  if (!ig_tensor_is_leaf(c, t)) {
    if (on || c->status != IG_OK) return;
    ig_fail_text(c, IG_RUNTIME,
                 "you can only change requires_grad flags of leaf variables. If you want to use a "
                 "computed variable in a subgraph that doesn't require differentiation use "
                 "var_no_grad = var.detach().");
  } else if (on && !ig_dtype_is_float(t->dtype) && !ig_dtype_is_complex(t->dtype)) {
    ig_fail_text(c, IG_RUNTIME,
                 "only Tensors of floating point and complex dtype can require gradients");
  } else if (on && t->inference && !c->mode->inference) {
    ig_fail_text(c, IG_RUNTIME,
                 "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                 "allowed.");
  } else {
    ig_tensor *base = on && t->autograd ? t->autograd->base : NULL;
    struct ig_autograd *of_base = base ? ig_tape_state(c, base) : NULL;
    if (base && !of_base) return;
    if (of_base) of_base->leaf_views = true;
    t->requires_grad = on;
  }
}

ig_tensor *ig_tensor_grad(const ig_tensor *t) {
  return t->autograd ? t->autograd->grad : NULL;
}

static bool check_grad(ig_ctx *c, const ig_tensor *t, const ig_tensor *g) {
  bool same = t->ndim == g->ndim;
  for (int d = 0; same && d < t->ndim; d++) same = ig_int_eq(c, ig_sizes(t)[d], ig_sizes(g)[d]);
  char a[256];
  char b[256];
  if (g == t) {
    ig_fail_text(c, IG_RUNTIME, "can't assign Variable as its own grad");
  } else if (g->dtype != t->dtype) {
    ig_fail_text(c, IG_RUNTIME,
                 "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype "
                 "'%s'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                 "dtype).",
                 ig_dtype_text(g->dtype), ig_dtype_text(t->dtype));
  } else if (g->device.type != t->device.type) {
    ig_fail_text(c, IG_RUNTIME,
                 "attempting to assign a gradient with device type '%s' to a tensor with device "
                 "type '%s'. Please ensure that the gradient and the tensor are on the same device",
                 ig_device_type_text(g->device), ig_device_type_text(t->device));
  } else if (!same && c->status == IG_OK) {
    ig_fail_text(c, IG_RUNTIME,
                 "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please "
                 "ensure that the gradient and the tensor are the same size",
                 ig_grad_sizes_text(c, g, a, sizeof a), ig_grad_sizes_text(c, t, b, sizeof b));
  }
  return c->status == IG_OK;
}

void ig_tensor_set_grad(ig_ctx *c, ig_tensor *t, ig_tensor *grad) {
  if (c->status != IG_OK || (!grad && !t->autograd) || (grad && !check_grad(c, t, grad))) return;
  struct ig_autograd *a = ig_tape_state(c, t);
  if (!a) return;
  ig_tensor *old = a->grad;
  a->grad = ig_tensor_retain(grad);
  ig_tensor_release(old);
}

void ig_tensor_retain_grad(ig_ctx *c, ig_tensor *t) {
  if (c->status != IG_OK) return;
  if (!ig_tape_requires_grad(t)) {
    ig_fail_text(c, IG_RUNTIME, "can't retain_grad on Tensor that has requires_grad=False");
    return;
  }
  (void)ig_tape_undivide(c, t);
  ig_tape_entry *e = ig_tensor_grad_fn(c, t, NULL);
  if (!e || t->autograd->retain_grad) return;
  if (!ig_vec_push(e->alloc, &e->retainers, ((ig_retainer){t->autograd->index, t}))) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return;
  }
  t->autograd->retain_grad = true;
}

bool ig_tensor_retains_grad(const ig_tensor *t) {
  return t->autograd && t->autograd->retain_grad;
}

bool ig_tensor_is_inference(const ig_tensor *t) {
  return t->inference;
}

bool ig_tensor_is_view(const ig_tensor *t) {
  return t->autograd && t->autograd->base;
}

ig_tensor *ig_tensor_base(const ig_tensor *t) {
  return t->autograd ? t->autograd->base : NULL;
}

void ig_tensor_detach_inplace(ig_ctx *c, ig_tensor *t) {
  if (c->status != IG_OK) return;
  if (ig_tensor_is_view(t)) {
    ig_fail_text(c, IG_RUNTIME,
                 "Can't detach views in-place. Use detach() instead. If you are using "
                 "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set "
                 "as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                 "called on these gradients. To fix this error, please refer to the "
                 "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.");
    return;
  }
  t->requires_grad = false;
  if (t->autograd && t->autograd->entry) (void)ig_tape_set_history(c, t, NULL, 0);
}

ig_tensor *ig_tensor_detach(ig_ctx *c, ig_tensor *t) {
  const ig_op *op = t ? ig_op_at(c, IG_ID_DETACH) : NULL;
  if (!op) return NULL;
  ig_value out[IG_MAX_RETURNS];
  ig_value arg = ig_of_tensor(t);
  ig_call(c, op, &arg, out);
  return ig_value_tensor(&out[0]);
}

ig_tensor *ig_tensor_get_data(ig_ctx *c, ig_tensor *t) {
  if (c->mode->capture) return ig_tensor_detach(c, t);
  ig_tensor *other = ig_tensor_alias(c, t);
  if (other) other->untracked = true;
  return other;
}

void ig_tensor_set_data(ig_ctx *c, ig_tensor *t, ig_tensor *value) {
  if (c->status != IG_OK || !t || !value || t == value) return;
  bool floating = ig_dtype_is_float(value->dtype) || ig_dtype_is_complex(value->dtype);
  if (ig_tape_requires_grad(t) && !floating) {
    ig_fail_text(c, IG_RUNTIME,
                 "data set to a tensor that requires gradients must be floating point or complex "
                 "dtype");
    return;
  }
  ig_storage *old = t->storage;
  ig_meta m;
  ig_meta_of(value, &m);
  ig_ref_retain(&value->storage->ref);
  t->storage = value->storage;
  if (ig_tensor_reshape_inplace(c, t, &m)) {
    t->device = value->device;
    ig_ref_release(&old->ref);
  } else {
    ig_ref_release(&t->storage->ref);
    t->storage = old;
  }
}
