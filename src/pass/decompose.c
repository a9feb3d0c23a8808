// SPDX-License-Identifier: Apache-2.0
// Replaces operators by their decompositions: interpretation under a recording context in which the
// decomposition answers instead of the operator. Its own calls are asked about again, so nested
// decompositions need no second pass.
#include <string.h>

#include "ir/program.h"
#include "op/interpret.h"

static bool listed(const char *const *table, const char *target) {
  for (; table && *table; table++) {
    if (strcmp(*table, target) == 0) return true;
  }
  return false;
}

static bool applies(const ig_decompose_args *a, const ig_op *op) {
  if (op->base || !ig_op_has_decomposition(op) || listed(a->preserve, op->target)) return false;
  // Not op->composite: how an operator is computed here does not matter to programs.
  if (op->facts & IG_FACT_IMPLICIT) return true;
  if (a->level == IG_DECOMPOSE_CORE && (op->facts & IG_FACT_DECOMP)) return true;
  return listed(a->also, op->target);
}

static bool decompose(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                      void *user) {
  if (!applies(user, op)) return false;
  ig_op_decompose(c, op, args, outs);
  return true;
}

ig_status ig_graph_decompose(ig_ctx *c, const ig_graph *g, const ig_decompose_args *args,
                             ig_graph **out) {
  ig_decompose_args plain = {.level = IG_DECOMPOSE_CORE};
  ig_transform t = {.rewrite = {decompose, (void *)(args ? args : &plain)}};
  IG_RETURN_IF_ERR(ig_graph_transform(c, g, &t, out));
  (void)ig_graph_dce(*out);
  if (ig_graph_verify(c, *out) == IG_OK) return IG_OK;
  ig_graph_free(*out);
  *out = NULL;
  return c->status;
}

ig_status ig_program_decompose(ig_ctx *c, const ig_program *p, const ig_decompose_args *args,
                               ig_program **out) {
  ig_graph *g = NULL;
  *out = NULL;
  IG_RETURN_IF_ERR(ig_graph_decompose(c, p->graph, args, &g));
  ig_scope s = ig_scope_open(c);
  ig_output_kind *kinds = ig_scope_push(c, p->noutputs * sizeof *kinds + 1);
  const char **targets = ig_scope_push(c, p->noutputs * sizeof *targets + 1);
  for (size_t i = 0; kinds && targets && i < p->noutputs; i++) {
    kinds[i] = p->outputs[i].kind;
    targets[i] = p->outputs[i].target;
  }
  if (!ig_graph_lift_constants(c, g)) (void)ig_fail(c, IG_NOMEM, "out of memory");
  *out = ig_program_create(c, g, kinds, targets);
  ig_scope_close(c, s);
  if (*out) ig_program_set_specs(c, *out, p->in_spec, p->out_spec);
  return c->status;
}
