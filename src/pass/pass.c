// SPDX-License-Identifier: Apache-2.0
#include "pass/pass.h"

#include <string.h>

bool ig_program_is_training(const ig_program *p) {
  return p->training;
}
void ig_program_set_training(ig_program *p, bool training) {
  p->training = training;
}

ig_status ig_program_drop_outputs(ig_ctx *c, ig_program *p, size_t n) {
  ig_node *out = p->graph->last;
  if (c->status != IG_OK) return c->status;
  if (n > p->noutputs) {
    return ig_fail(c, IG_INVALID, "found %zu outputs, cannot remove %zu", p->noutputs, n);
  }
  if (!ig_node_set_args(c, out, out->args, out->npos - n, 0, NULL)) return c->status;
  p->noutputs -= n;
  (void)ig_graph_dce(p->graph);
  return IG_OK;
}

void *ig_pass_zeros(ig_ctx *c, size_t n, size_t size) {
  void *p = ig_scope_array(c, n, size);
  if (p) memset(p, 0, ig_mem_mul(n, size));
  return p;
}

void ig_pass_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_REWRITE, {.rewrite = NULL}});
  ig_call(c, op, args, outs);
  ig_mode_pop(c, &mode);
}

static ig_program *same_outputs(ig_ctx *c, const ig_program *p, ig_graph *g) {
  ig_scope s = ig_scope_open(c);
  ig_output_kind *kinds = ig_scope_array(c, p->noutputs, sizeof *kinds);
  const char **targets = ig_scope_array(c, p->noutputs, sizeof *targets);
  for (size_t i = 0; kinds && targets && i < p->noutputs; i++) {
    kinds[i] = p->outputs[i].kind;
    targets[i] = p->outputs[i].target;
  }
  ig_program *out = ig_program_create(c, g, kinds, targets);
  ig_scope_close(c, s);
  return out;
}

ig_program *ig_pass_program(ig_ctx *c, const ig_program *p, ig_graph *g,
                            const ig_output_kind *kinds, const char *const *targets) {
  (void)ig_graph_dce(g);
  bool late = g->unnamed;  // verified after it has its names
  if (!ig_graph_lift_constants(c, g) || (!late && ig_graph_verify(c, g) != IG_OK)) {
    ig_graph_free(g);
    return NULL;
  }
  ig_program *out = kinds ? ig_program_create(c, g, kinds, targets) : same_outputs(c, p, g);
  if (out) ig_program_set_specs(c, out, p->in_spec, p->out_spec);
  if (out && p->modules) ig_program_set_modules(c, out, p->modules, p->nmodules);
  if (out) ig_program_set_report(out, (ig_report *)p->report);
  if (c->status == IG_OK) return out;
  ig_program_free(out);
  return NULL;
}

// The output returns only user outputs.
static bool return_user_outputs(ig_ctx *c, const ig_program *p, ig_graph *g, ig_output_kind *kinds,
                                const char **targets) {
  ig_node *out = g->last;
  ig_value *left = ig_scope_array(c, out->npos + 1, sizeof *left);
  size_t n = 0;
  for (size_t i = 0; left && i < out->npos && i < p->noutputs; i++) {
    if (ig_output_is_write(&p->outputs[i])) continue;
    kinds[n] = p->outputs[i].kind;
    targets[n] = p->outputs[i].target;
    left[n++] = out->args[i];
  }
  return left && ig_node_set_args(c, out, left, n, 0, NULL);
}

static bool has_writes(const ig_program *p) {
  for (size_t i = 0; i < p->noutputs; i++) {
    if (ig_output_is_write(&p->outputs[i])) return true;
  }
  return false;
}

ig_status ig_program_drop_writes(ig_ctx *c, const ig_program *p, ig_program **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (!has_writes(p)) {
    *out = ig_program_retain((ig_program *)p);
    return IG_OK;
  }
  ig_scope s = ig_scope_open(c);
  ig_output_kind *kinds = ig_scope_array(c, p->noutputs + 1, sizeof *kinds);
  const char **targets = ig_scope_array(c, p->noutputs + 1, sizeof *targets);
  ig_graph *g = kinds && targets ? ig_graph_copy(c, p->graph) : NULL;
  if (g && return_user_outputs(c, p, g, kinds, targets)) {
    *out = ig_pass_program(c, p, g, kinds, targets);
  } else {
    ig_graph_free(g);
  }
  ig_scope_close(c, s);
  return c->status;
}
