// SPDX-License-Identifier: Apache-2.0
#include "op/known.h"

#include "ingot/aten.h"
#include "op/library.h"
#include "op/outside.h"
#include "op/record.h"

ig_tensor *ig_known_find(const ig_tensor *fake) {
  bool valid = fake->known && fake->known_version == ig_tensor_version(fake);
  return valid ? fake->known : NULL;
}

const ig_int *ig_known_sizes(const ig_tensor *fake) {
  const ig_node *n = fake->node;
  if (!n || !n->op || n->op->number != IG_ID__SHAPE_AS_TENSOR) return NULL;
  const ig_value *of = &n->args[0];
  if (of->kind != IG_KIND_NODE || of->node->val.kind != IG_KIND_TENSOR) return NULL;
  const ig_tensor *t = of->node->val.tensor;
  return t && t->ndim == ig_sizes(fake)[0].value ? ig_sizes(t) : NULL;
}

static bool is_single(const ig_tensor *t) {
  return t && !ig_tensor_is_symbolic(t) && ig_tensor_numel(t) == 1;
}

static void set(ig_tensor *fake, ig_tensor *real) {
  ig_tensor_release(fake->known);
  fake->known = ig_tensor_retain(real);
  fake->known_version = ig_tensor_version(fake);
}

// The real operands of a call. False: one of them is not known, or none is a tensor.
static bool find_operands(const ig_op *op, const ig_value *args, ig_value *real) {
  bool any = false;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    real[i] = args[i];
    if (args[i].kind == IG_KIND_LIST || ig_value_expr(&args[i])) return false;
    if (args[i].kind != IG_KIND_TENSOR || !args[i].tensor) continue;
    real[i].tensor = ig_is_fake(args[i].tensor) ? ig_known_find(args[i].tensor) : NULL;
    if (!real[i].tensor) return false;
    any = true;
  }
  return any;
}

static bool results_are_single(const ig_op *op, const ig_value *outs) {
  for (size_t k = 0; k < op->schema.nrets; k++) {
    if (outs[k].kind != IG_KIND_TENSOR || !is_single(outs[k].tensor)) return false;
  }
  return op->schema.nrets > 0;
}

bool ig_known_number(const ig_op *op, const ig_value *args, const ig_value *outs) {
  bool number =
      op->schema.nrets == 1 && (outs[0].kind == IG_KIND_INT || outs[0].kind == IG_KIND_FLOAT ||
                                outs[0].kind == IG_KIND_BOOL);
  ig_value real[IG_MAX_ARGS];
  return number && !ig_value_expr(&outs[0]) && find_operands(op, args, real);
}

void ig_known_follow(ig_ctx *c, const ig_op *op, const ig_value *given, const ig_value *args,
                     const ig_value *outs) {
  if (c->status != IG_OK || ig_op_is_random(op) || ig_op_mutates(op) || op->user) return;
  ig_value real[IG_MAX_ARGS];
  if (op->number == IG_ID_LIFT_FRESH_COPY && !ig_is_fake(given[0].tensor)) {
    real[0] = given[0];
  } else if (!find_operands(op, args, real)) {
    return;
  }
  if (!results_are_single(op, outs)) return;
  ig_scope s = ig_scope_open(c);
  ig_value results[IG_MAX_ARGS];
  ig_outside o = ig_outside_enter(c, NULL);
  ig_call(c, op, real, results);
  bool ok = ig_outside_leave(c, &o);
  for (size_t k = 0; ok && k < op->schema.nrets; k++) {
    if (results[k].kind == IG_KIND_TENSOR) set(outs[k].tensor, results[k].tensor);
  }
  ig_scope_close(c, s);
}
