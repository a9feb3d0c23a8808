// SPDX-License-Identifier: Apache-2.0
// strict_mode, wrap_with_set_grad_enabled and auto_functionalized.
#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "ingot/library.h"
#include "op/grad_mode.h"
#include "op/hop.h"

// ---- strict_mode ----

// Its placeholders are numbered, whatever the names of the operands.
static const char *const *numbered(ig_ctx *c, size_t n) {
  const char **names = ig_scope_array(c, n + 1, sizeof *names);
  for (size_t i = 0; names && i < n; i++) {
    char *text = ig_scope_push(c, 32);
    if (!text) return NULL;
    (void)snprintf(text, 32, "arg%zu_1", i);
    names[i] = text;
  }
  return names;
}

bool ig_hop_number_inputs(ig_ctx *c, ig_graph *sub, size_t from) {
  size_t i = 0;
  for (ig_node *n = sub->first; n && ig_node_is_placeholder(n); n = n->next, i++) {
    char text[32];
    (void)snprintf(text, sizeof text, "arg%zu_1", i);
    if (i < from || strcmp(n->name, text) == 0) continue;
    if (!ig_graph_rename(c, sub, n, text)) return false;
  }
  return true;
}

const ig_value *ig_strict_mode(ig_ctx *c, const ig_branch *body, const ig_value *operands, size_t n,
                               size_t *nouts) {
  *nouts = 0;
  if (c->status != IG_OK) return NULL;
  if (!c->mode->capture) return ig_branch_call(c, body, operands, n, nouts);
  ig_branch_inputs in = {
      .who = "strict_mode", .operands = operands, .n = n, .names = numbered(c, n)};
  ig_graph *sub = in.names ? ig_branch_capture(c, body, &in) : NULL;
  const ig_value *inner = sub ? ig_branch_outputs(c, sub, nouts) : NULL;
  ig_value *results = inner ? ig_scope_array(c, *nouts + 1, sizeof *results) : NULL;
  for (size_t i = 0; results && i < *nouts; i++) results[i] = ig_branch_result(c, &inner[i]);
  bool ok = results && ig_hop_number_inputs(c, sub, n);
  // Results are numbered after the operands: the first of a call with two operands is getitem_2.
  for (size_t i = 0; ok && !c->mode->capture->strict && i < sub->operands.n; i++) {
    ok = ig_graph_name(c, c->mode->capture, "getitem") != NULL;
  }
  ig_node *node = ok ? ig_record_sub(c, "strict_graph", sub) : NULL;
  if (node) {
    ig_value args[] = {ig_of_node(node), ig_branch_operands(c, operands, n, sub, n, IG_SEQ_TUPLE)};
    ok = ig_hop_record(c, &ig_hop_strict_mode, args, 2, NULL, 0, results, *nouts);
  }
  ig_graph_free(sub);
  return ok && node ? results : NULL;
}

static void strict_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 2 || args[0].kind != IG_KIND_GRAPH || args[1].kind != IG_KIND_LIST) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a sub-graph and a tuple", n->name);
    return;
  }
  ig_branch body = ig_branch_of(&args[0]);
  size_t nouts = 0;
  const ig_value *outs = ig_strict_mode(c, &body, args[1].list.at, args[1].list.n, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_strict_mode = {
    .name = "strict_mode",
    .base = "strict_mode",
    .path = "torch.ops.higher_order.strict_mode",
    .slots = {IG_SLOT_GRAPH, IG_SLOT_LIST},
    .tuples = true,
    .numbered = true,
    .call = strict_call,
};

// ---- wrap_with_set_grad_enabled ----

// A region with another grad mode. Capturing it again records its calls one by one, under that
// mode; the regions pass moves them into sub-graphs.
const ig_value *ig_wrap_set_grad_enabled(ig_ctx *c, bool enabled, const ig_branch *body,
                                         const ig_value *operands, size_t n, size_t *nouts) {
  bool captures = c->mode->capture != NULL;
  bool before = captures && !ig_graph_no_grad(c->mode->capture);
  ig_mode_scope mode = ig_mode_push_grad(c, captures ? !c->mode->no_grad : enabled);
  if (captures) ig_record_grad_mode(c, enabled, NULL);
  const ig_value *outs = ig_branch_call(c, body, operands, n, nouts);
  if (captures) ig_record_grad_mode(c, before, NULL);
  ig_mode_pop(c, &mode);
  return outs;
}

static void grad_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos < 2 || args[0].kind != IG_KIND_BOOL || args[1].kind != IG_KIND_GRAPH) {
    (void)ig_fail(c, IG_INVALID, "%s: expected a bool, a sub-graph and operands", n->name);
    return;
  }
  ig_branch body = ig_branch_of(&args[1]);
  size_t nouts = 0;
  const ig_value *outs =
      ig_wrap_set_grad_enabled(c, args[0].b, &body, args + 2, n->npos - 2, &nouts);
  if (!outs) return;
  const ig_node *last = body.graph->last;
  *out = last->bare && nouts == 1 ? outs[0] : ig_of_list(outs, nouts);
}

const ig_hop ig_hop_set_grad = {
    .name = "wrap_with_set_grad_enabled",
    .base = "wrap_with_set_grad_enabled",
    .path = "torch._higher_order_ops.wrap.wrap_with_set_grad_enabled",
    .slots = {IG_SLOT_VALUE, IG_SLOT_GRAPH, IG_SLOT_REST},
    .region = true,
    .call = grad_call,
};

// ---- auto_functionalized ----

static size_t result_count(const ig_op *op) {
  size_t n = op->schema.nrets ? op->schema.nrets : 1;
  for (size_t i = 0; i < op->schema.nargs; i++) n += op->schema.args[i].written;
  return n;
}

// A result that is itself a mutated operand represents the new value of that operand.
static void follow(ig_value *outs, size_t nrets, const ig_value *written, const ig_value *fresh) {
  for (size_t i = 0; i < nrets; i++) {
    bool same = outs[i].kind == IG_KIND_TENSOR && written->kind == IG_KIND_TENSOR &&
                outs[i].tensor == written->tensor;
    if (same) outs[i] = *fresh;
  }
}

static bool record_functional(ig_ctx *c, const ig_op *op, const ig_value *args,
                              const ig_value *results, size_t n) {
  ig_value given[IG_MAX_ARGS + 1];
  const char *keys[IG_MAX_ARGS];
  given[0] = ig_of_op(op);
  for (size_t i = 0; i < op->schema.nargs; i++) {
    given[i + 1] = args[i];
    keys[i] = op->schema.args[i].name;
  }
  return ig_hop_record(c, &ig_hop_auto_functionalized, given, 1, keys, op->schema.nargs, results,
                       n);
}

static ig_value copy_of(ig_ctx *c, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    return c->mode->capture ? ig_branch_result(c, v) : ig_of_tensor(ig_clone(c, v->tensor));
  }
  if (v->kind != IG_KIND_LIST) return *v;
  ig_value *items = ig_scope_array(c, v->list.n + 1, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) items[i] = copy_of(c, &v->list.at[i]);
  return items ? ig_of_list(items, v->list.n) : ig_none();
}

const ig_value *ig_auto_functionalized(ig_ctx *c, const ig_op *op, const ig_value *args,
                                       size_t *nouts) {
  *nouts = result_count(op);
  ig_value room[IG_MAX_ARGS];
  ig_value local[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  ig_value *results = c->status == IG_OK ? ig_scope_array(c, *nouts, sizeof *results) : NULL;
  if (!results) return NULL;
  const ig_value *given = c->mode->capture ? ig_record_args(c, op, args, room) : args;
  if (!given) return NULL;
  size_t n = op->schema.nrets;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    local[i] = op->schema.args[i].written && !c->mode->capture ? copy_of(c, &given[i]) : given[i];
  }
  for (size_t i = 0; i < n || i == 0; i++) outs[i] = ig_none();
  if (c->mode->capture) {
    ig_infer(c, op, local, outs);
  } else {
    ig_call(c, op, local, outs);
  }
  size_t k = n ? n : 1;
  for (size_t i = 0; i < op->schema.nargs && c->status == IG_OK; i++) {
    if (!op->schema.args[i].written) continue;
    results[k] = c->mode->capture ? copy_of(c, &given[i]) : local[i];
    if (c->mode->capture) follow(outs, n, &given[i], &results[k]);
    k++;
  }
  for (size_t i = 0; i < n || i == 0; i++) results[i] = outs[i];
  if (c->status != IG_OK) return NULL;
  return !c->mode->capture || record_functional(c, op, given, results, *nouts) ? results : NULL;
}

static void functional_call(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out) {
  if (n->npos != 1 || args[0].kind != IG_KIND_OP) {
    (void)ig_fail(c, IG_INVALID, "%s: expected an operator and its arguments by name", n->name);
    return;
  }
  const ig_op *op = args[0].op;
  ig_value values[IG_MAX_ARGS] = {ig_none()};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    values[i] = op->schema.args[i].def;
    for (size_t k = 0; k < n->nkw; k++) {
      if (strcmp(n->keys[k], op->schema.args[i].name) == 0) values[i] = args[1 + k];
    }
  }
  size_t nouts = 0;
  const ig_value *outs = ig_auto_functionalized(c, op, values, &nouts);
  if (outs) *out = ig_of_list(outs, nouts);
}

const ig_hop ig_hop_auto_functionalized = {
    .name = "auto_functionalized",
    .base = "auto_functionalized",
    .path = "torch._higher_order_ops.auto_functionalize.auto_functionalized",
    .slots = {IG_SLOT_OP},

    .call = functional_call,
};
