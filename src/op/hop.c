// SPDX-License-Identifier: Apache-2.0
// Shared by all higher-order operators.
#include "op/hop.h"

#include <string.h>

#include "base/str.h"
#include "op/draft.h"
#include "op/interpret.h"

const ig_hop *ig_hop_find(const char *name) {
  static const ig_hop *const all[] = {
      &ig_hop_cond,
      &ig_hop_map,
      &ig_hop_while_loop,
      &ig_hop_scan,
      &ig_hop_strict_mode,
      &ig_hop_set_grad,
      &ig_hop_auto_functionalized,
      &ig_hop_autocast,
      &ig_hop_with_effects,
      &ig_hop_auto_functionalized_v2,
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i]->name, name) == 0) return all[i];
  }
  return NULL;
}

const ig_value *ig_branch_call(ig_ctx *c, const ig_branch *b, const ig_value *in, size_t n,
                               size_t *nouts) {
  *nouts = 0;
  if (c->status != IG_OK) return NULL;
  if (!b->graph) {
    const ig_value *outs = b->fn(c, in, n, nouts, b->user);
    if (!outs && c->status == IG_OK) (void)ig_fail(c, IG_RUNTIME, "a function gave no results");
    return c->status == IG_OK ? outs : NULL;
  }
  size_t expected = ig_graph_input_count(b->graph);
  if (n != expected) {
    (void)ig_fail(c, IG_RUNTIME, "found %zu operands, the sub-graph expects %zu", n, expected);
    return NULL;
  }
  *nouts = ig_graph_output_count(b->graph);
  ig_value *outs = ig_scope_array(c, *nouts + 1, sizeof *outs);
  return outs && ig_interpret(c, b->graph, in, outs) == IG_OK ? outs : NULL;
}

static bool keep(ig_ctx *c, ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return ig_pool_add(c, &v->tensor->ref);
  return true;
}

const ig_value *ig_branch_run(ig_ctx *c, const ig_branch *b, const ig_value *in, size_t n,
                              size_t *nouts) {
  ig_scope s = ig_scope_open(c);
  const ig_value *outs = ig_branch_call(c, b, in, n, nouts);
  size_t bytes = ig_mem_mul(*nouts, sizeof *outs) + 1;
  ig_value *copy = outs ? ig_mem_new(c->alloc, bytes) : NULL;
  for (size_t i = 0; copy && i < *nouts; i++) {
    copy[i] = outs[i];
    if (copy[i].kind == IG_KIND_TENSOR) (void)ig_tensor_retain(copy[i].tensor);
  }
  if (outs && !copy) (void)ig_fail(c, IG_NOMEM, "out of memory");
  ig_scope_close(c, s);
  ig_value *kept = copy ? ig_scope_push(c, bytes) : NULL;
  for (size_t i = 0; copy && i < *nouts; i++) {
    if (kept) kept[i] = copy[i];
    (void)keep(c, &copy[i]);
  }
  ig_mem_free(c->alloc, copy, copy ? bytes : 0);
  return c->status == IG_OK ? kept : NULL;
}

static const ig_storage *memory_of(const ig_value *v) {
  const ig_value *val = v->kind == IG_KIND_NODE ? &v->node->val : v;
  return val->kind == IG_KIND_TENSOR ? val->tensor->storage : NULL;
}

static bool is_input(const ig_graph *g, const ig_storage *s) {
  for (const ig_node *p = g->first; s && p && ig_node_is_placeholder(p); p = p->next) {
    if (p->val.kind == IG_KIND_TENSOR && p->val.tensor->storage == s) return true;
  }
  return false;
}

static bool writes_input(const ig_graph *g, const ig_node *n) {
  if (n->kind != IG_NODE_CALL || n->callee != IG_CALLEE_OP) return false;
  const ig_schema *s = &n->op->schema;
  for (size_t i = 0; i < n->npos && i < s->nargs; i++) {
    if (s->args[i].written && is_input(g, memory_of(&n->args[i]))) return true;
  }
  for (size_t k = 0; k < n->nkw; k++) {  // out forms
    for (size_t i = s->npos; i < s->nargs; i++) {
      bool named = strcmp(s->args[i].name, n->keys[k]) == 0;
      if (named && s->args[i].written && is_input(g, memory_of(&n->args[n->npos + k]))) return true;
    }
  }
  return false;
}

// A graph that may run any number of times must have no visible side effects.
static ig_graph *check_writes(ig_ctx *c, ig_graph *g, const char *who) {
  for (const ig_node *n = g ? g->first : NULL; n; n = n->next) {
    if (!writes_input(g, n)) continue;
    ig_fail_text(
        c, IG_BRANCH,
        "One of torch.%s branch might be modifying the input! %s writes to an operand or a "
        "value from outside; let the function return the new value instead.",
        who, n->target);
    ig_graph_free(g);
    return NULL;
  }
  return g;
}

ig_graph *ig_branch_capture(ig_ctx *c, const ig_branch *b, const ig_branch_inputs *in) {
  if (!ig_nested_push(c)) return NULL;
  ig_scope s = ig_scope_open(c);
  const ig_value *values = in->operands;
  if (!in->lazy) {
    ig_value *inner = ig_scope_array(c, in->n + 1, sizeof *inner);
    for (size_t i = 0; inner && i < in->n; i++) {
      const ig_meta *like = in->likes ? in->likes[i] : NULL;
      if (!ig_nested_operand(c, &in->operands[i], like, in->names ? in->names[i] : NULL,
                             &inner[i])) {
        break;
      }
    }
    values = inner;
  }
  size_t nouts = 0;
  const ig_value *outs = ig_branch_call(c, b, values, in->n, &nouts);
  ig_graph *g = ig_nested_pop(c, outs, nouts);
  ig_scope_close(c, s);
  return check_writes(c, g, in->who);
}

const ig_value *ig_branch_outputs(ig_ctx *c, const ig_graph *sub, size_t *n) {
  const ig_node *out = sub->last;
  *n = out->npos;
  ig_value *values = ig_scope_array(c, *n + 1, sizeof *values);
  for (size_t i = 0; values && i < *n; i++) {
    values[i] = out->args[i].kind == IG_KIND_NODE ? out->args[i].node->val : out->args[i];
  }
  return values;
}

ig_value ig_branch_result(ig_ctx *c, const ig_value *inner) {
  if (inner->kind != IG_KIND_TENSOR) return *inner;
  ig_meta m;
  ig_meta_of(inner->tensor, &m);
  m.offset = ig_const(0);
  return ig_of_tensor(ig_tensor_make(c, &m, true));
}

ig_value ig_branch_operands(ig_ctx *c, const ig_value *given, size_t n, const ig_graph *sub,
                            size_t from, ig_seq seq) {
  size_t more = sub->operands.n - from;
  ig_value *all = ig_scope_array(c, ig_mem_add(n + 1, more), sizeof *all);
  if (!all) return ig_none();
  for (size_t i = 0; i < n; i++) all[i] = given[i];
  for (size_t i = 0; i < more; i++) all[n + i] = sub->operands.at[from + i];
  ig_value list = ig_of_list(all, n + more);
  list.seq = seq;
  return list;
}

// Nodes of the branches of a call. Depending on the release, they have no module stack, or that of
// the call.
static bool describe_branch(ig_ctx *c, ig_graph *sub, const ig_node *call) {
  const ig_module_stack *modules = call->graph->strict
                                       ? ig_graph_keep_modules(c, sub, call->meta.modules)
                                       : ig_graph_keep_levels(c, sub, NULL, 0);
  const char *source = call->meta.text[IG_META_SOURCE_FN];
  const char *kept = source ? ig_graph_keep_text(c, sub, source) : NULL;
  for (ig_node *n = sub->first; n; n = n->next) {
    n->meta.modules = modules;
    if (call->graph->strict) n->meta.text[IG_META_SOURCE_FN] = kept;
  }
  bool ok = c->status == IG_OK;
  for (size_t i = 0; ok && i < sub->subs.n; i++) {
    ok = describe_branch(c, sub->subs.at[i].graph, call);
  }
  return ok;
}

static bool describe_branches(ig_ctx *c, const ig_node *call) {
  const ig_graph *g = call->graph;
  if (g->outer || c->mode->rewrite) return true;  // determined by the outermost call, once
  if (g->strict && !ig_release_forms(g->release)->branches_as_call) return true;
  bool ok = true;
  for (size_t i = 0; ok && i < call->ninputs; i++) {
    if (call->inputs[i]->sub) ok = describe_branch(c, call->inputs[i]->sub, call);
  }
  return ok;
}

bool ig_hop_record(ig_ctx *c, const ig_hop *hop, const ig_value *args, size_t npos,
                   const char *const *keys, size_t nkw, const ig_value *results, size_t n) {
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_HOP,
                   .hop = hop,
                   .target = hop->path,
                   .effect = hop->effect,
                   .args = args,
                   .npos = npos,
                   .nkw = nkw,
                   .keys = keys,
                   .val = ig_of_list(results, n)};
  const ig_rewrite *r = c->mode->rewrite;
  if (r && r->settle) r->settle(c, args, npos + nkw, r->user);
  const ig_node *node = ig_record_node(c, &proto, ig_hop_base(hop, c->mode->capture->release));
  if (node && c->mode->draft) ig_draft_follow_node(c, node);
  return node && describe_branches(c, node);
}

const char *ig_hop_describe(ig_ctx *c, const ig_value *v) {
  if (v->kind != IG_KIND_TENSOR) {
    return v->kind == IG_KIND_INT ? "an int" : v->kind == IG_KIND_NONE ? "None" : "not a tensor";
  }
  ig_str s = ig_str_make(c->alloc);
  ig_str_add(&s, "%s[", ig_dtype_text(v->tensor->dtype));
  for (int d = 0; d < v->tensor->ndim; d++) {
    if (d) ig_str_add(&s, ", ");
    ig_str_int(&s, ig_sizes(v->tensor)[d]);
  }
  ig_str_add(&s, "]");
  char *text = ig_scope_push(c, s.n + 1);
  if (text) memcpy(text, s.failed ? "" : s.at, s.failed ? 1 : s.n + 1);
  ig_str_free(&s);
  return text ? text : "";
}

bool ig_hop_alike(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  if (a->kind != IG_KIND_TENSOR) return ig_nested_same(a, b);
  const ig_tensor *x = a->tensor;
  const ig_tensor *y = b->tensor;
  if (x->dtype != y->dtype || x->ndim != y->ndim || x->device.type != y->device.type) return false;
  for (int d = 0; d < x->ndim; d++) {
    ig_int i = ig_sizes(x)[d];
    ig_int k = ig_sizes(y)[d];
    if (i.expr != k.expr || (!i.expr && i.value != k.value)) return false;
  }
  return true;
}
