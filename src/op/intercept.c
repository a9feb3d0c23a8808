// SPDX-License-Identifier: Apache-2.0
#include "op/intercept.h"

#include "ingot/library.h"
#include "op/call.h"
#include "op/formula.h"
#include "op/library.h"
#include "op/refuse.h"
#include "op/tape.h"

static const ig_intercept *of_value(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor->intercept;
  const ig_intercept *found = NULL;
  for (size_t i = 0; v->kind == IG_KIND_LIST && !found && i < v->list.n; i++) {
    found = of_value(&v->list.at[i]);
  }
  return found;
}

static const ig_intercept *of_operands(const ig_op *op, const ig_value *args) {
  const ig_intercept *found = NULL;
  for (size_t i = 0; !found && i < op->schema.nargs; i++) found = of_value(&args[i]);
  return found;
}

// Operators that PyTorch takes apart above its kernels; with gradients, also those whose derivative
// is that of their parts.
static bool is_taken_apart(const ig_ctx *c, const ig_op *op, const ig_value *args) {
  if (op->base || !ig_op_has_lowering(op)) return false;
  if (op->facts & IG_FACT_IMPLICIT) return !c->mode->inference;
  bool rule = op->def->vjp || op->def->not_differentiable || ig_tape_refuses(c, op);
  return !rule && ig_op_has_decomposition(op) && ig_tape_wanted(c, op, args);
}

static bool is_operand(const ig_value *v, const ig_tensor *t) {
  if (v->kind == IG_KIND_TENSOR) return v->tensor == t;
  bool found = false;
  for (size_t i = 0; v->kind == IG_KIND_LIST && !found && i < v->list.n; i++) {
    found = is_operand(&v->list.at[i], t);
  }
  return found;
}

// What is attached to a result (its history) must not change a tensor that existed before.
static void part_from_operands(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *out) {
  if (out->kind != IG_KIND_TENSOR) return;
  bool same = out->tensor->autograd != NULL;
  for (size_t i = 0; !same && i < op->schema.nargs; i++) same = is_operand(&args[i], out->tensor);
  if (!same) return;
  ig_tensor *other = ig_tensor_alias(c, out->tensor);
  *out = other ? ig_of_tensor(other) : ig_none();
}

static void check_result(ig_ctx *c, const ig_op *op, size_t i, const ig_value *v) {
  const ig_arg *r = &op->schema.rets[i];
  bool none = v->kind == IG_KIND_NONE;
  bool ok = r->type != IG_TYPE_TENSOR || (r->list ? v->kind == IG_KIND_LIST : true);
  if (r->type == IG_TYPE_TENSOR && !r->list) ok = v->kind == IG_KIND_TENSOR || none;
  if (!ok) {
    (void)ig_fail(c, IG_BAD_TYPE, "result %zu of what intercepts the call: found %s, expected %s",
                  i, ig_value_class(v), r->list ? "a list of Tensors" : "a Tensor");
  }
}

static bool shares_memory(const ig_value *args, const ig_value *out) {
  return out->kind == IG_KIND_TENSOR && args[0].kind == IG_KIND_TENSOR &&
         out->tensor->storage == args[0].tensor->storage;
}

static void answer(ig_ctx *c, const ig_intercept *i, const ig_op *op, const ig_value *args,
                   ig_value *outs) {
  enum { ALL = IG_MODE_INTERCEPT | IG_MODE_NO_GRAD | IG_MODE_AUTOCASTS };
  ig_mode_change change = {ALL, {.no_grad = true, .intercept = i->outer}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_scope s = ig_scope_open(c);
  i->fn(c, op, args, outs, i->user);
  for (size_t k = 0; k < op->schema.nrets && c->status == IG_OK; k++) {
    check_result(c, op, k, &outs[k]);
    if (!ig_op_mutates(op)) part_from_operands(c, op, args, &outs[k]);
  }
  ig_return_values(c, s, outs, op->schema.nrets);
  ig_mode_pop(c, &mode);
}

static void call_in_place(ig_ctx *c, const ig_intercept *i, const ig_op *op, const ig_value *args,
                          ig_value *outs) {
  ig_tensor *self = ig_value_tensor(&args[0]);
  if (self && !ig_tape_may_write(c, op, self)) return;
  uint32_t before = self ? ig_tensor_version(self) : 0;
  answer(c, i, op, args, outs);
  if (c->status != IG_OK || !self) return;
  if (ig_tensor_version(self) == before) ig_tensor_bump(self);  // the memory may be another's
  if (op->schema.nrets == 1) outs[0] = args[0];
}

static void call_seen(ig_ctx *c, const ig_intercept *i, const ig_op *op, const ig_value *args,
                      ig_value *outs) {
  bool in_place = op->form == IG_FORM_INPLACE;
  ig_tape_entry *e = ig_tape_open(c, op, args);
  if (c->status != IG_OK) return;
  (in_place ? call_in_place : answer)(c, i, op, args, outs);
  ig_tape_close(c, e, op, args, outs);
  bool related = op->def->view && !in_place && c->status == IG_OK;
  if (related && shares_memory(args, &outs[0])) ig_tape_view(c, op, args, outs);
}

bool ig_intercept_call(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  const ig_intercept *i = c->mode->intercept;
  if (!i && !c->mode->unseen) i = of_operands(op, args);
  if (!i) return false;
  if (is_taken_apart(c, op, args)) {
    ig_scope s = ig_scope_open(c);
    ig_op_lower(c, op, args, outs);
    ig_return_values(c, s, outs, op->schema.nrets);
    return true;
  }
  // The rule for gradients calls the operator again, without a gradient.
  bool rule = op->user && ig_library_has(op, IG_IMPL_AUTOGRAD) && ig_tape_wanted(c, op, args);
  if (rule && ig_library_call(c, op, IG_IMPL_AUTOGRAD, args, outs)) return true;
  if (c->status == IG_OK) call_seen(c, i, op, args, outs);
  return true;
}
