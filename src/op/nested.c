// SPDX-License-Identifier: Apache-2.0
// Captures inside captures: opening and closing, lifting of outer values.
#include "op/nested.h"

#include <string.h>

#include "op/draft.h"
#include "op/grad_mode.h"
#include "op/tape.h"

bool ig_nested_push(ig_ctx *c) {
  if (c->status != IG_OK) return false;
  ig_graph *outer = c->mode->capture;
  ig_graph *g = ig_graph_create(c, outer->sym);
  if (!g) return false;
  g->outer = outer;
  g->strict = outer->strict;
  g->release = outer->release;
  g->sizes_only = outer->sizes_only;
  g->implied_casts = outer->implied_casts;
  g->keeps_draws = outer->keeps_draws;
  g->apart = outer->apart;
  g->no_grad = ig_graph_no_grad(outer);
  (void)ig_graph_keep_meta(c, g, &outer->meta, &g->meta);  // c tells
  g->scope = ig_mode_push_capture(c, g);
  return true;
}

// Pending values of a rewrite become nodes.
static void settle(ig_ctx *c, const ig_value *values, size_t n) {
  const ig_rewrite *r = c->mode->rewrite;
  if (r && r->settle && c->status == IG_OK) r->settle(c, values, n, r->user);
}

ig_graph *ig_nested_pop(ig_ctx *c, const ig_value *outs, size_t n) {
  ig_graph *g = c->mode->capture;
  settle(c, outs, n);
  if (c->status == IG_OK) (void)ig_record_output(c, outs, n);
  ig_mode_pop(c, &g->scope);
  g->outer = NULL;
  ig_graph_forget_history(g);
  if (c->status == IG_OK) {
    (void)ig_graph_dce(g);
    return g;
  }
  ig_graph_free(g);
  return NULL;
}

bool ig_nested_same(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_TENSOR:
      return a->tensor == b->tensor;
    case IG_KIND_INT:
      return a->i.expr == b->i.expr && (a->i.expr || a->i.value == b->i.value);
    case IG_KIND_FLOAT:
      return a->f_expr == b->f_expr && (a->f_expr || a->f == b->f);
    case IG_KIND_BOOL:
      return a->b_expr == b->b_expr && (a->b_expr || a->b == b->b);
    case IG_KIND_NONE:
      return true;
    case IG_KIND_OBJECT:
      return a->object == b->object;
    default:
      return false;
  }
}

// Placeholders come before all other nodes, in the order of operands.
static bool add_operand(ig_ctx *c, const ig_value *outer) {
  ig_graph *g = c->mode->capture;
  ig_node *n = g->last;
  ig_node *first_call = g->first;
  if (g->operands.n) first_call = g->last_operand->next;
  if (first_call != n) ig_graph_move(g, n, first_call);
  g->last_operand = n;
  if (!ig_vec_push(g->alloc, &g->operands, *outer)) {
    return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  return true;
}

// The node for t in the next outer graph.
static ig_tensor *outer_fake(ig_ctx *c, ig_tensor *t) {
  ig_value v = ig_of_tensor(t);
  ig_mode_scope mode = ig_mode_push_capture(c, c->mode->capture->outer);
  settle(c, &v, 1);
  ig_tensor *fake = ig_record_fake(c, t);
  ig_mode_pop(c, &mode);
  return fake;
}

static ig_tensor *push_tensor(ig_ctx *c, ig_tensor *outer, const ig_meta *like, const char *name) {
  ig_meta m;
  ig_meta_of(outer, &m);
  ig_placeholder p = {.role = IG_INPUT_USER,
                      .name = name ? name : outer->node->name,
                      .path = name ? name : outer->node->name,
                      .requires_grad = ig_tape_requires_grad(outer)};
  ig_tensor *fake = ig_record_placeholder(c, &p, like ? like : &m);
  if (!like) ig_draft_share(c, fake, outer);
  ig_value v = ig_of_tensor(outer);
  return fake && add_operand(c, &v) ? fake : NULL;
}

static bool know(ig_ctx *c, const ig_tensor *outer, ig_tensor *inner) {
  ig_table_slot *slot = ig_table_put(&c->mode->capture->tensors, outer);
  if (!slot) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  if (!slot->value) slot->value = inner;
  return true;
}

ig_tensor *ig_nested_lift(ig_ctx *c, ig_tensor *t) {
  ig_tensor *outer = outer_fake(c, t);
  if (!outer) return NULL;
  const ig_table_slot *slot = ig_table_find(&c->mode->capture->tensors, outer);
  ig_tensor *fake = slot ? slot->value : push_tensor(c, outer, NULL, NULL);
  return fake && know(c, outer, fake) && know(c, t, fake) ? fake : NULL;
}

bool ig_nested_read_sizes(ig_ctx *c, ig_tensor *t) {
  const ig_tensor *inner = ig_record_fake(c, t);
  if (!inner || !inner->node || !ig_node_is_placeholder(inner->node)) return inner != NULL;
  for (int d = 0; d < inner->ndim; d++) {
    const ig_expr *e = ig_sizes(inner)[d].expr;
    if (!e || e->kind != IG_EXPR_SYMBOL) continue;
    ig_table_slot *slot = ig_table_put(&c->mode->capture->sizes, e);
    if (!slot) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    slot->value = inner->node;
    slot->number = d;
  }
  return true;
}

// Node of a symbolic number in the outer graph.
static ig_node *outer_number(ig_ctx *c, const ig_value *v) {
  ig_value node;
  ig_mode_scope mode = ig_mode_push_capture(c, c->mode->capture->outer);
  bool ok = ig_record_value(c, v, &node);
  ig_mode_pop(c, &mode);
  return ok && node.kind == IG_KIND_NODE ? node.node : NULL;
}

static ig_node *push_number(ig_ctx *c, const ig_value *v, const char *name) {
  ig_placeholder p = {.role = IG_INPUT_USER, .name = name, .path = name};
  ig_record_placeholder_value(c, &p, v);
  ig_node *n = c->mode->capture->last;
  return c->status == IG_OK && add_operand(c, v) ? n : NULL;
}

ig_node *ig_nested_lift_number(ig_ctx *c, const ig_value *v) {
  const ig_node *outer = outer_number(c, v);
  return outer ? push_number(c, v, outer->name) : NULL;
}

bool ig_nested_operand(ig_ctx *c, const ig_value *outer, const ig_meta *like, const char *name,
                       ig_value *inner) {
  *inner = *outer;
  if (c->status != IG_OK) return false;
  if (outer->kind == IG_KIND_TENSOR) {
    ig_tensor *fake = outer_fake(c, outer->tensor);
    if (!fake) return false;
    inner->tensor = push_tensor(c, fake, like, name);
    if (!inner->tensor || like) return inner->tensor != NULL;
    return know(c, fake, inner->tensor) && know(c, outer->tensor, inner->tensor);
  }
  const ig_node *node = outer_number(c, outer);
  if (c->status != IG_OK) return false;
  return push_number(c, outer, name ? name : node ? node->name : "arg") != NULL;
}

static ig_node *placeholder_at(const ig_graph *g, size_t i) {
  ig_node *n = g->first;
  while (n && i--) n = n->next;
  return n;
}

bool ig_nested_arrange(ig_ctx *c, ig_graph *sub, const ig_value *operands, size_t n) {
  size_t had = sub->operands.n;
  ig_node **nodes = ig_scope_array(c, n + 1, sizeof(ig_node *));
  if (!nodes) return false;
  for (size_t i = 0; i < n; i++) {
    nodes[i] = NULL;
    for (size_t k = 0; k < had && !nodes[i]; k++) {
      if (ig_nested_same(&operands[i], &sub->operands.at[k])) nodes[i] = placeholder_at(sub, k);
    }
  }
  sub->outer = c->mode->capture;
  ig_mode_scope mode = ig_mode_push_capture(c, sub);
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    ig_value inner;
    if (nodes[i] || !ig_nested_operand(c, &operands[i], NULL, NULL, &inner)) continue;
    nodes[i] = sub->last_operand;
  }
  ig_mode_pop(c, &mode);
  sub->outer = NULL;
  if (c->status != IG_OK) return false;
  for (size_t i = n; i-- > 0;) ig_graph_move(sub, nodes[i], sub->first);
  sub->operands.n = 0;
  for (size_t i = 0; i < n; i++) {
    if (!ig_vec_push(sub->alloc, &sub->operands, operands[i])) {
      return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    }
  }
  return true;
}
