// SPDX-License-Identifier: Apache-2.0
// Part of a graph as a graph of its own.
#include "pass/pass.h"

typedef struct extractor {
  ig_node_copier copier;
  const ig_graph *g;
  ig_node **map;        // per node of g
  bool *lost;           // per node of g: it depends on a placeholder that is not an input
  const bool *effects;  // per node of g: its effect belongs to this part; NULL: none does
} extractor;

static ig_node *mapped(void *user, const ig_node *n) {
  const extractor *x = user;
  ig_node *to = x->map[n->index];
  if (!to) {
    (void)ig_fail(x->copier.c, IG_UNSUPPORTED, "%s depends on inputs that the part does not have",
                  n->name);
  }
  return to;
}

static bool add_input(extractor *x, const ig_node *n) {
  ig_ctx *c = x->copier.c;
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER,
                   .role = IG_INPUT_USER,
                   .path = ig_graph_keep_text(c, x->copier.to, n->name),
                   .val = n->val};
  ig_node *to = proto.path ? ig_graph_push(c, x->copier.to, &proto, n->name) : NULL;
  if (!to || !ig_graph_set_name(c, x->copier.to, to, n->name)) return false;
  x->map[n->index] = to;
  return ig_graph_keep_meta(c, x->copier.to, &n->meta, &to->meta);
}

static bool is_lost(const extractor *x, const ig_node *n) {
  bool lost = ig_node_is_placeholder(n) || (n->effect && !(x->effects && x->effects[n->index]));
  for (size_t i = 0; i < n->ninputs && !lost; i++) lost = x->lost[n->inputs[i]->index];
  return lost;
}

static bool copy_all(extractor *x) {
  for (const ig_node *n = x->g->first; n && n->kind != IG_NODE_OUTPUT; n = n->next) {
    if (x->map[n->index]) continue;
    x->lost[n->index] = is_lost(x, n);
    if (x->lost[n->index]) continue;
    ig_node *to = ig_copy_node(&x->copier, n, NULL, n->name, NULL, NULL);
    if (!to || !ig_graph_set_name(x->copier.c, x->copier.to, to, n->name)) return false;
    x->map[n->index] = to;
  }
  return true;
}

static bool add_output(extractor *x, const ig_value *outs, size_t n) {
  ig_value list = ig_of_list(outs, n);
  ig_value mapped_list;
  if (!ig_copy_value(&x->copier, &list, &mapped_list)) return false;
  ig_node proto = {
      .kind = IG_NODE_OUTPUT, .args = mapped_list.list.at, .npos = n, .target = "output"};
  return ig_graph_push(x->copier.c, x->copier.to, &proto, "output") != NULL;
}

ig_graph *ig_pass_extract(ig_ctx *c, const ig_graph *g, ig_node *const *inputs, size_t ninputs,
                          const ig_value *outs, size_t nouts, const bool *effects) {
  if (c->status != IG_OK) return NULL;
  ig_scope s = ig_scope_open(c);
  ig_graph *to = ig_graph_create(c, g->sym);
  extractor x = {
      .copier = {.c = c, .to = to, .map = mapped, .own_subs = true}, .g = g, .effects = effects};
  x.copier.user = &x;
  x.map = ig_pass_zeros(c, g->next_index, sizeof *x.map);
  x.lost = ig_pass_zeros(c, g->next_index, sizeof *x.lost);
  bool ok = to && x.map && x.lost;
  if (ok) {
    to->host = g->host;
    to->release = g->release;
    to->no_grad = g->no_grad;
    to->keeps_draws = g->keeps_draws;
  }
  const char *file = c->file;
  int line = c->line;
  void (*locate)(ig_ctx *, void *) = c->locate;
  c->locate = NULL;  // nodes keep their locations
  for (size_t i = 0; ok && i < ninputs; i++) ok = add_input(&x, inputs[i]);
  ok = ok && copy_all(&x) && add_output(&x, outs, nouts);
  c->locate = locate;
  (void)ig_ctx_at(c, file, line);
  ig_scope_close(c, s);
  if (ok) {
    (void)ig_graph_dce(to);
    return to;
  }
  ig_graph_free(to);
  return NULL;
}
