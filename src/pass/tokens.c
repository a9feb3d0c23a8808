// SPDX-License-Identifier: Apache-2.0
// Programs whose effects are ordered by tokens: with_effects(token, op, ...) returns a new token
// and the results of op. A module does not need tokens, because its calls run in order.
#include <string.h>

#include "op/hop.h"
#include "pass/pass.h"

static bool is_effect(const ig_node *n) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_HOP && n->hop == &ig_hop_with_effects;
}

static bool is_item(const ig_node *n, const ig_node *of) {
  return n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_GETITEM && n->npos == 2 &&
         n->args[0].kind == IG_KIND_NODE && n->args[0].node == of &&
         n->args[1].kind == IG_KIND_INT && !n->args[1].i.expr;
}

// The call inside with_effects, as a separate node.
static ig_node *call_of(ig_ctx *c, ig_graph *g, const ig_node *n) {
  const ig_op *op = n->npos >= 2 && n->args[1].kind == IG_KIND_OP ? n->args[1].op : NULL;
  if (!op || n->val.kind != IG_KIND_LIST || n->val.list.n < 1 + op->schema.nrets) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a token, an operator and its arguments", n->name);
    return NULL;
  }
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = true,
                   .args = n->args + 2,
                   .npos = n->npos - 2,
                   .nkw = n->nkw,
                   .keys = n->keys};
  if (op->schema.nrets == 1) proto.val = n->val.list.at[1];
  if (op->schema.nrets > 1) proto.val = ig_of_list(n->val.list.at + 1, op->schema.nrets);
  proto.meta = n->meta;
  char base[128];
  ig_node *call = ig_graph_insert(c, g, (ig_node *)n, &proto,
                                  ig_name_of_op(op->schema.name, base, sizeof base));
  if (call) call->file = n->file;
  if (call) call->line = n->line;
  return call;
}

// Users of results use the call; users of the new token use the old one, until it is unused.
static bool take_apart(ig_ctx *c, ig_graph *g, ig_node *n) {
  ig_node *token = n->npos && n->args[0].kind == IG_KIND_NODE ? n->args[0].node : NULL;
  ig_node *call = call_of(c, g, n);
  if (!call || !token) return false;
  for (ig_node *item = n->next, *next = NULL; item; item = next) {
    next = item->next;
    if (!is_item(item, n)) continue;
    int64_t k = item->args[1].i.value;
    if (k == 0 || call->op->schema.nrets == 1) {
      if (!ig_graph_replace(c, g, item, k == 0 ? token : call)) return false;
      ig_graph_erase(g, item);
    } else {
      ig_value args[] = {ig_of_node(call), ig_of_i64(k - 1)};
      if (!ig_node_set_args(c, item, args, 2, 0, NULL)) return false;
    }
  }
  if (n->users) {
    return ig_fail(c, IG_INVALID, "%s: its results are read as a whole", n->name) == IG_OK;
  }
  ig_graph_erase(g, n);
  return true;
}

static bool drop_outputs(ig_ctx *c, const ig_program *p, ig_program *view) {
  ig_node *out = view->graph->last;
  ig_value *rest = ig_scope_array(c, out->npos, sizeof *rest);
  ig_output_spec *specs = ig_scope_array(c, p->noutputs, sizeof *specs);
  size_t n = 0;
  for (size_t i = 0; rest && specs && i < p->noutputs && i < out->npos; i++) {
    if (p->outputs[i].kind == IG_OUTPUT_TOKEN) continue;
    specs[n] = p->outputs[i];
    specs[n].value = out->args[i];
    rest[n++] = out->args[i];
  }
  view->outputs = specs;
  view->noutputs = n;
  return rest && specs && ig_node_set_args(c, out, rest, n, 0, NULL);
}

static bool drop_inputs(ig_ctx *c, const ig_program *p, ig_program *view) {
  ig_input_spec *specs = ig_scope_array(c, p->ninputs, sizeof *specs);
  size_t n = 0;
  for (size_t i = 0; specs && i < p->ninputs; i++) {
    if (p->inputs[i].kind != IG_INPUT_TOKEN) {
      specs[n++] = p->inputs[i];
      continue;
    }
    ig_node *token = (ig_node *)ig_graph_find(view->graph, p->inputs[i].name);
    if (token && token->users) {
      return ig_fail(c, IG_INVALID, "token '%s' is read as if it were a tensor", token->name) ==
             IG_OK;
    }
    if (token) ig_graph_erase(view->graph, token);
  }
  view->inputs = specs;
  view->ninputs = n;
  return specs != NULL;
}

const ig_program *ig_pass_shed_tokens(ig_ctx *c, const ig_program *p, ig_program *view) {
  bool any = false;
  for (size_t i = 0; i < p->ninputs; i++) any = any || p->inputs[i].kind == IG_INPUT_TOKEN;
  *view = *p;
  view->graph = any ? ig_graph_copy(c, p->graph) : NULL;
  if (!any) return p;
  bool ok = view->graph != NULL;
  for (ig_node *n = ok ? view->graph->first : NULL, *next = NULL; ok && n; n = next) {
    next = n->next;
    if (is_effect(n)) ok = take_apart(c, view->graph, n);
  }
  if (ok && drop_outputs(c, p, view) && drop_inputs(c, p, view)) return view;
  ig_graph_free(view->graph);
  view->graph = NULL;
  return NULL;
}
