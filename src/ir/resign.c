// SPDX-License-Identifier: Apache-2.0
// Another signature for a graph that a host has edited: the roles of placeholders and outputs, and
// the weights.
#include <string.h>

#include "ir/program.h"

static const ig_state *find_state(const ig_signature *s, const char *name) {
  for (size_t i = 0; name && i < s->nstate; i++) {
    if (strcmp(s->state[i].name, name) == 0) return &s->state[i];
  }
  return NULL;
}

// A placeholder's value is a description, never the tensor itself.
static bool describe(ig_ctx *c, ig_node *n, ig_tensor *weight) {
  bool real = n->val.kind == IG_KIND_TENSOR && !ig_is_fake(n->val.tensor);
  if (n->val.kind == IG_KIND_TENSOR && !real) return true;
  ig_tensor *fake = ig_tensor_fake(c, real ? n->val.tensor : weight);
  if (!fake) return false;
  fake->node = NULL;
  ig_value val = ig_of_tensor(fake);
  return ig_node_set_val(c, n, &val);
}

static bool set_placeholder(ig_ctx *c, const ig_signature *s, const ig_input_spec *in, ig_node *n) {
  const ig_state *w = in->kind == IG_INPUT_USER ? NULL : find_state(s, in->target);
  bool weight = in->kind == IG_INPUT_PARAMETER || in->kind == IG_INPUT_BUFFER ||
                in->kind == IG_INPUT_CONSTANT;
  if (weight && !w) {
    return ig_fail(c, IG_INVALID, "input '%s': there is no weight '%s'", in->name, in->target) ==
           IG_OK;
  }
  n->role = in->kind;
  n->persistent = in->persistent;
  if (in->target) n->path = ig_graph_keep_text(c, n->graph, in->target);
  if (weight) {
    ig_node_set_attr(n, w->tensor, NULL, NULL);
    return n->path && describe(c, n, w->tensor);
  }
  if (in->kind == IG_INPUT_OBJECT) return n->path && ig_node_set_val(c, n, &in->value);
  return true;
}

static bool set_state(ig_ctx *c, ig_graph *g, const ig_signature *s) {
  for (size_t i = 0; i < s->nstate; i++) (void)ig_tensor_retain(s->state[i].tensor);
  for (size_t i = 0; i < g->state.n; i++) ig_tensor_release(g->state.at[i].tensor);
  g->state.n = 0;
  for (size_t i = 0; i < s->nstate; i++) {
    ig_state w = s->state[i];
    w.name = ig_graph_keep_text(c, g, w.name);
    if (w.name && ig_vec_push(g->alloc, &g->state, w)) continue;
    for (size_t k = i; k < s->nstate; k++) ig_tensor_release(s->state[k].tensor);
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  return true;
}

ig_status ig_program_resign(ig_ctx *c, const ig_program *p, ig_graph *g, const ig_signature *s,
                            ig_program **out) {
  size_t i = 0;
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  for (ig_node *n = g->first; n && ig_node_is_placeholder(n); n = n->next, i++) {
    if (i >= s->ninputs || strcmp(s->inputs[i].name, n->name) != 0) {
      return ig_fail(c, IG_INVALID, "placeholder '%s' is not input %zu of the signature", n->name,
                     i);
    }
    if (!set_placeholder(c, s, &s->inputs[i], n)) return c->status;
  }
  if (i != s->ninputs || ig_graph_output_count(g) != s->noutputs) {
    return ig_fail(c, IG_INVALID,
                   "the signature has %zu inputs and %zu outputs, the graph %zu and %zu",
                   s->ninputs, s->noutputs, i, ig_graph_output_count(g));
  }
  if (!set_state(c, g, s)) return c->status;
  ig_program *made = ig_program_create(c, ig_graph_retain(g), s->kinds, s->targets);
  if (!made) return c->status;
  *out = made;
  if (!p) return c->status;
  ig_program_set_specs(c, made, p->in_spec, p->out_spec);
  ig_program_set_texts(c, made, p->custom, p->namedtuples);
  if (p->arg_names) ig_program_set_arg_names(c, made, p->arg_names, p->narg_names);
  if (p->modules) ig_program_set_modules(c, made, p->modules, p->nmodules);
  made->training = p->training;
  return c->status;
}
