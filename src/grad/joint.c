// SPDX-License-Identifier: Apache-2.0
// Forward and backward in one graph: interpret under a recording context with the tape on, then ask
// for gradients there. Operators without a derivative of their own are decomposed.
#include <string.h>

#include "ir/program.h"
#include "op/formula.h"
#include "op/interpret.h"
#include "op/refuse.h"
#include "op/tape.h"

static bool make_differentiable(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                                void *user) {
  (void)user;
  if (op->def->vjp || op->base || !ig_op_has_decomposition(op)) return false;
  if (op->def->not_differentiable) return false;
  if (!op->composite && !ig_tape_wanted(c, op, args)) return false;
  ig_op_decompose(c, op, args, outs);
  return true;
}

// Which output is the loss, and which one the user's first is.
typedef struct loss_at {
  size_t at;
  const ig_program *p;  // NULL: a graph alone
} loss_at;

static bool is_user(const loss_at *l, size_t i) {
  return !l->p || l->p->outputs[i].kind == IG_OUTPUT_USER;
}

static size_t user_index(const loss_at *l, size_t at) {
  size_t k = 0;
  for (size_t i = 0; i < at; i++) k += is_user(l, i);
  return k;
}

// Backward starts from one output: the loss, a single number. The others must not require
// gradients.
static bool check_loss(ig_ctx *c, const loss_at *l, const ig_value *outs, size_t n) {
  size_t loss = user_index(l, l->at < n ? l->at : n);
  if (l->at >= n || outs[l->at].kind != IG_KIND_TENSOR) {
    return ig_fail(c, IG_RUNTIME, "joint graph: output %zu is not a tensor", loss) == IG_OK;
  }
  const ig_tensor *t = outs[l->at].tensor;
  for (size_t i = 0; i < n && l->p; i++) {
    bool leads = i != l->at && is_user(l, i) && outs[i].kind == IG_KIND_TENSOR &&
                 ig_tape_requires_grad(outs[i].tensor);
    if (!leads) continue;
    ig_fail_text(c, IG_RUNTIME,
                 "Found an output of the forward that requires gradients, that was not the scalar "
                 "loss.\nWe require all outputs to the forward that are not the scalar loss to not "
                 "require gradient,\nbecause we will only compute a backward graph against the "
                 "scalar loss.\nYou can fix this by calling .detach() on each of your forward "
                 "outputs that is not the loss.\nYou specified that output index %zu is the loss, "
                 "but we found that\nthe output at index %zu requires gradients.",
                 loss, user_index(l, i));
    return false;
  }
  if (l->p && !ig_tape_requires_grad(t)) {
    ig_fail_text(
        c, IG_RUNTIME,
        "The output at index %zu was marked as the loss, but it does not require gradients", loss);
    return false;
  }
  ig_int numel = ig_numel_of(c, t);
  if (!l->p || ig_int_eq_i64(c, numel, 1)) return c->status == IG_OK;
  ig_fail_text(c, IG_RUNTIME,
               "We require the output marked as the loss (at index %zu) to be a scalar, but it has "
               "shape torch.Size(%s)",
               loss, ig_sizes_text(c, ig_sizes(t), (size_t)t->ndim));
  return false;
}

// outs -> outs, gradients of the loss by the placeholders that require them
static const ig_value *append_grads(ig_ctx *c, const ig_value *inputs, size_t ninputs,
                                    const ig_value *outs, size_t *n, void *user) {
  const loss_at *l = user;
  size_t at = l->at;
  if (!check_loss(c, l, outs, *n)) return NULL;
  ig_tensor **wanted = ig_scope_array(c, ninputs, sizeof *wanted);
  ig_tensor **grads = ig_scope_array(c, ninputs, sizeof *grads);
  ig_value *all = ig_scope_array(c, ninputs + *n, sizeof *all);
  if (!wanted || !grads || !all) return NULL;
  size_t count = 0;
  for (size_t i = 0; i < ninputs; i++) {
    bool wants = inputs[i].kind == IG_KIND_TENSOR && inputs[i].tensor->requires_grad;
    if (wants) wanted[count++] = inputs[i].tensor;
  }
  ig_tensor *loss = outs[at].tensor;
  ig_backward_args args = {.size = sizeof args,
                           .outputs = &loss,
                           .noutputs = 1,
                           .inputs = wanted,
                           .ninputs = count,
                           .allow_unused = true};
  if (count && ig_backward(c, &args, grads) != IG_OK) return NULL;
  for (size_t i = 0; i < *n; i++) all[i] = outs[i];
  for (size_t i = 0; i < count; i++) all[*n + i] = ig_of_tensor(grads[i]);
  *n += count;
  return all;
}

static ig_status joint(ig_ctx *c, const ig_graph *g, loss_at loss, ig_graph **out) {
  ig_transform t = {
      .rewrite = {.fn = make_differentiable}, .grad = true, .finish = append_grads, .user = &loss};
  IG_RETURN_IF_ERR(ig_graph_transform(c, g, &t, out));
  (void)ig_graph_dce(*out);
  return IG_OK;
}

ig_status ig_graph_joint(ig_ctx *c, const ig_graph *g, ig_graph **out) {
  return joint(c, g, (loss_at){0}, out);
}

// The output that is the user's `loss`-th.
static size_t find_loss(const ig_program *p, size_t loss) {
  size_t k = 0;
  for (size_t i = 0; i < p->noutputs; i++) {
    if (p->outputs[i].kind == IG_OUTPUT_USER && k++ == loss) return i;
  }
  return p->noutputs;
}

static ig_program *describe(ig_ctx *c, const ig_program *p, ig_graph *g, size_t loss) {
  size_t n = ig_graph_output_count(g);
  ig_output_kind *kinds = ig_scope_array(c, n, sizeof *kinds);
  const char **targets = ig_scope_array(c, n, sizeof *targets);
  if (!kinds || !targets) {
    ig_graph_free(g);
    return NULL;
  }
  size_t i = 0;
  for (; i < p->noutputs; i++) {
    kinds[i] = i == loss ? IG_OUTPUT_LOSS : p->outputs[i].kind;
    targets[i] = p->outputs[i].target;
  }
  for (const ig_node *node = g->first; node && ig_node_is_placeholder(node); node = node->next) {
    if (node->val.kind != IG_KIND_TENSOR || !node->val.tensor->requires_grad) continue;
    bool user = node->role == IG_INPUT_USER;
    kinds[i] = user ? IG_OUTPUT_GRAD_INPUT : IG_OUTPUT_GRAD_PARAMETER;
    targets[i++] = user ? node->name : node->path;
  }
  return ig_program_create(c, g, kinds, targets);
}

ig_status ig_program_joint_at(ig_ctx *c, const ig_program *p, size_t loss, ig_program **out) {
  ig_graph *g = NULL;
  *out = NULL;
  size_t at = find_loss(p, loss);
  IG_RETURN_IF_ERR(joint(c, p->graph, (loss_at){at, p}, &g));
  ig_scope s = ig_scope_open(c);
  if (ig_graph_lift_constants(c, g)) {
    *out = describe(c, p, g, at);
  } else {
    ig_graph_free(g);
  }
  ig_scope_close(c, s);
  if (*out) ig_program_set_specs(c, *out, p->in_spec, p->out_spec);
  return c->status;
}

ig_status ig_program_joint(ig_ctx *c, const ig_program *p, ig_program **out) {
  return ig_program_joint_at(c, p, 0, out);
}
