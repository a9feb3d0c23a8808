// SPDX-License-Identifier: Apache-2.0
// After the trace: the sizes of all recorded values are rewritten with what is known now (s1 = s0 +
// 1), and the queries are made that PyTorch makes about the results of a non-strict capture.
#include "capture/dims.h"
#include "op/shape.h"

// A data-dependent size keeps its symbol, which the node that reads it defines.
static void settle_int(ig_ctx *c, ig_int *i) {
  if (!i->expr || (i->expr->kind == IG_EXPR_SYMBOL && !i->expr->backed)) return;
  *i = ig_int_find(c, *i);
}

static void settle_tensor(ig_ctx *c, ig_tensor *t) {
  if (!ig_tensor_is_symbolic(t)) return;
  for (int d = 0; d < 2 * t->ndim; d++) settle_int(c, &t->dims[d]);
  settle_int(c, &t->offset);
}

static void settle_value(ig_ctx *c, ig_value *v) {
  switch (v->kind) {
    case IG_KIND_TENSOR:
      settle_tensor(c, v->tensor);
      break;
    case IG_KIND_INT:
      settle_int(c, &v->i);
      break;
    case IG_KIND_FLOAT:
      if (v->f_expr) ig_value_of_expr(ig_env_find(c, v->f_expr), v);
      break;
    case IG_KIND_BOOL:
      if (v->b_expr) ig_value_of_expr(ig_env_find(c, v->b_expr), v);
      break;
    case IG_KIND_LIST:
      for (size_t i = 0; i < v->list.n; i++) settle_value(c, (ig_value *)&v->list.at[i]);
      break;
    default:
      break;
  }
}

static void settle_graph(ig_ctx *c, ig_graph *g) {
  for (ig_node *n = g->first; n && c->status == IG_OK; n = n->next) settle_value(c, &n->val);
  for (size_t i = 0; i < g->subs.n; i++) settle_graph(c, g->subs.at[i].graph);
}

void ig_graph_settle(ig_ctx *c, ig_graph *g) {
  bool any = g->sym && g->sym->env && g->sym->exprs.names.n;
  if (c->status != IG_OK || !any) return;
  ig_mode_scope mode = ig_mode_push_sym(c, g->sym);
  settle_graph(c, g);
  ig_mode_pop(c, &mode);
}

ig_status ig_capture_settle(ig_ctx *c) {
  if (c->status != IG_OK || !c->mode->capture || !c->mode->sym || !c->mode->sym->env)
    return c->status;
  if (c->mode->sym->exprs.names.n == 0) return IG_OK;  // no symbols
  settle_graph(c, c->mode->capture);
  return c->status;
}

ig_status ig_capture_ask_outputs(ig_ctx *c, const ig_value *outs, size_t n) {
  if (ig_env_records_choices(c)) return c->status;
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    bool symbolic = outs[i].kind == IG_KIND_TENSOR && ig_tensor_is_symbolic(outs[i].tensor);
    if (symbolic) (void)ig_ask_contiguous(c, outs[i].tensor);
    if (outs[i].kind == IG_KIND_LIST)
      (void)ig_capture_ask_outputs(c, outs[i].list.at, outs[i].list.n);
  }
  return c->status;
}
