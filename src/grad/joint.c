// SPDX-License-Identifier: Apache-2.0
// Forward and backward in one graph: interpret under a recording context with the tape on, then ask
// for gradients there. Operators without a rule of their own are decomposed on the way.
#include <string.h>

#include "ir/program.h"
#include "op/interpret.h"
#include "op/tape.h"

static bool make_differentiable(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                                void *user) {
  (void)user;
  if (op->def->vjp || op->base || !ig_op_has_decomposition(op)) return false;
  if (op->def->waive && strstr(op->def->waive, "vjp:")) return false;
  if (!op->composite && !ig_tape_wanted(c, op, args)) return false;
  ig_op_decompose(c, op, args, outs);
  return true;
}

// outs: loss -> loss, gradients of the placeholders that require them
static const ig_value *append_grads(ig_ctx *c, const ig_value *inputs, size_t ninputs,
                                    const ig_value *outs, size_t *n, void *user) {
  (void)user;
  if (*n == 0 || outs[0].kind != IG_KIND_TENSOR) {
    (void)ig_fail(c, IG_RUNTIME, "joint graph: output 0 is no tensor");
    return NULL;
  }
  ig_tensor **wanted = ig_scope_push(c, ninputs * sizeof *wanted + 1);
  ig_tensor **grads = ig_scope_push(c, ninputs * sizeof *grads + 1);
  ig_value *all = ig_scope_push(c, (ninputs + 1) * sizeof *all);
  if (!wanted || !grads || !all) return NULL;
  size_t count = 0;
  for (size_t i = 0; i < ninputs; i++) {
    bool wants = inputs[i].kind == IG_KIND_TENSOR && inputs[i].tensor->requires_grad;
    if (wants) wanted[count++] = inputs[i].tensor;
  }
  ig_tensor *loss = outs[0].tensor;
  ig_backward_args args = {
      .outputs = &loss, .noutputs = 1, .inputs = wanted, .ninputs = count, .allow_unused = true};
  if (count && ig_backward(c, &args, grads) != IG_OK) return NULL;
  all[0] = outs[0];
  for (size_t i = 0; i < count; i++) all[i + 1] = ig_of_tensor(grads[i]);
  *n = count + 1;
  return all;
}

ig_status ig_graph_joint(ig_ctx *c, const ig_graph *g, ig_graph **out) {
  ig_transform t = {.rewrite = {make_differentiable, NULL}, .grad = true, .finish = append_grads};
  IG_RETURN_IF_ERR(ig_graph_transform(c, g, &t, out));
  (void)ig_graph_dce(*out);
  return IG_OK;
}

ig_status ig_program_joint(ig_ctx *c, const ig_program *p, ig_program **out) {
  ig_graph *g = NULL;
  *out = NULL;
  IG_RETURN_IF_ERR(ig_graph_joint(c, p->graph, &g));
  size_t n = ig_graph_output_count(g);
  ig_scope s = ig_scope_open(c);
  ig_output_kind *kinds = ig_scope_push(c, n * sizeof *kinds);
  const char **targets = ig_scope_push(c, n * sizeof *targets);
  size_t i = 0;
  if (kinds && targets) {
    kinds[i] = IG_OUTPUT_LOSS;
    targets[i++] = NULL;
    for (const ig_node *node = g->first; node && ig_node_is_placeholder(node); node = node->next) {
      if (node->val.kind != IG_KIND_TENSOR || !node->val.tensor->requires_grad) continue;
      bool user = node->role == IG_INPUT_USER;
      kinds[i] = user ? IG_OUTPUT_GRAD_INPUT : IG_OUTPUT_GRAD_PARAMETER;
      targets[i++] = user ? node->name : node->path;
    }
  }
  *out = ig_program_create(c, g, kinds, targets);
  ig_scope_close(c, s);
  return c->status;
}
