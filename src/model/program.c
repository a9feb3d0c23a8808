// SPDX-License-Identifier: Apache-2.0
// Description of a program: inputs and outputs with named sizes and their ranges, weights,
// operators by count. A program that mutates its operands is described and run in its functional
// form, in which new values are outputs.
#include <string.h>

#include "base/cause.h"
#include "base/map.h"
#include "ingot/dims.h"
#include "ingot/library.h"
#include "ingot/pass.h"
#include "model/model.h"
#include "sym/env.h"

static bool writes(const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_CALL && n->callee == IG_CALLEE_OP && ig_op_mutates(n->op)) return true;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (writes(g->subs.at[i].graph)) return true;
  }
  return false;
}

typedef struct describer {
  ig_ctx *c;
  ig_model *m;
  const ig_range_entry *ranges;
  size_t nranges;
} describer;

// A size for a symbol: that of the example, or else the smallest from 2 on that is allowed.
static bool example(void *user, const ig_expr *symbol, ig_hint *out) {
  const describer *d = user;
  ig_vrange r = ig_symbol_range(d->c, symbol);
  ig_wide v = symbol->hinted ? symbol->value : 2;
  if (v < r.lo) v = r.lo;
  if (v > r.hi) v = r.hi;
  *out = (ig_hint){.sort = IG_SORT_INT, .i = v, .den = 1};
  return true;
}

static int64_t example_size(const describer *d, const ig_expr *e) {
  ig_hint v;
  bool ok = ig_expr_eval(e, example, (void *)d, &v) && v.sort == IG_SORT_INT;
  return ok && v.i >= 0 && v.i <= INT64_MAX ? (int64_t)v.i : -1;
}

static bool set_dim(const describer *d, ig_int size, ig_model_dim *out) {
  *out = (ig_model_dim){NULL, size.value, size.value, size.value};
  if (!size.expr) return true;
  ig_str text = ig_str_make(d->c->alloc);
  ig_str_expr(&text, size.expr);
  *out = (ig_model_dim){NULL, example_size(d, size.expr), 0, INT64_MAX};
  if (!text.failed) out->name = ig_model_text(d->c, d->m, text.at);
  if (text.failed) (void)ig_fail(d->c, IG_NOMEM, "out of memory");
  ig_str_free(&text);
  ig_vrange range = ig_expr_range(d->c, size.expr);
  if (range.lo > 0) out->lo = (int64_t)range.lo;
  if (range.hi < INT64_MAX) out->hi = (int64_t)range.hi;
  for (size_t i = 0; out->name && i < d->nranges; i++) {
    if (strcmp(d->ranges[i].text, out->name) != 0) continue;
    out->lo = d->ranges[i].lo < 0 ? 0 : d->ranges[i].lo;
    out->hi = d->ranges[i].hi;
  }
  return out->name != NULL;
}

// ---- requested sizes

typedef struct wish {
  describer d;
  const ig_dim_value *given;
  size_t n;
} wish;

static bool wished(void *user, const ig_expr *symbol, ig_hint *out) {
  wish *w = user;
  for (size_t i = 0; i < w->n; i++) {
    if (strcmp(w->given[i].name, symbol->name) != 0) continue;
    *out = (ig_hint){.sort = IG_SORT_INT, .i = w->given[i].value, .den = 1};
    return true;
  }
  return example(&w->d, symbol, out);
}

static const ig_tensor *input_meta(const ig_program *p, size_t i) {
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n) || n->role != IG_INPUT_USER || i-- > 0) continue;
    return n->val.kind == IG_KIND_TENSOR ? n->val.tensor : NULL;
  }
  return NULL;
}

static int64_t wished_size(wish *w, const ig_tensor *meta, int d, const ig_model_dim *dim) {
  ig_hint v;
  const ig_expr *e = meta ? ig_tensor_size(meta, d).expr : NULL;
  if (e && ig_expr_eval(e, wished, w, &v) && v.sort == IG_SORT_INT) return (int64_t)v.i;
  for (size_t i = 0; dim->name && i < w->n; i++) {
    if (strcmp(w->given[i].name, dim->name) == 0) return w->given[i].value;
  }
  return dim->value;
}

ig_status ig_model_input_sizes(ig_ctx *c, const ig_model *m, size_t i, const ig_dim_value *given,
                               size_t n, int64_t *sizes) {
  if (c->status != IG_OK) return c->status;
  const ig_model_port *p = i < m->inputs.n ? m->inputs.at[i] : NULL;
  if (!p || p->kind != IG_KIND_TENSOR || p->ndim < 0) {
    return ig_fail(c, IG_INVALID, "%s: sizes of input %zu are not known", m->name, i);
  }
  wish w = {.d = {.c = c}, .given = given, .n = n};
  const ig_tensor *meta = m->runnable ? input_meta(m->runnable, i) : NULL;
  ig_mode_scope mode = ig_mode_push_sym(c, m->runnable ? m->runnable->graph->sym : c->mode->sym);
  for (int d = 0; d < p->ndim && c->status == IG_OK; d++) {
    sizes[d] = wished_size(&w, meta, d, p->dims[d]);
    if (sizes[d] >= 0 && sizes[d] <= p->dims[d]->hi) continue;
    (void)ig_fail(c, IG_INVALID | IG_E_INPUT_SIZE, "%s: input '%s': dim %d (%s) cannot be %lld",
                  m->name, p->name, d, p->dims[d]->name ? p->dims[d]->name : "fixed",
                  (long long)sizes[d]);
  }
  ig_mode_pop(c, &mode);
  return c->status;
}

static bool set_value(const describer *d, ig_model_port *port, const ig_value *v) {
  if (!port) return false;
  if (v->kind != IG_KIND_TENSOR) {
    port->kind = v->kind;
    port->value = *v;
    if (v->kind == IG_KIND_STR) port->value.str = ig_model_text(d->c, d->m, v->str);
    return true;
  }
  const ig_tensor *t = v->tensor;
  if (!ig_model_port_tensor(d->c, d->m, port, t->dtype, t->ndim)) return false;
  for (int i = 0; i < t->ndim; i++) {
    if (!set_dim(d, ig_tensor_size(t, i), (ig_model_dim *)port->dims[i])) return false;
  }
  return true;
}

static bool add_inputs(const describer *d, const ig_program *p) {
  for (const ig_node *n = p->graph->first; n; n = n->next) {
    if (!ig_node_is_placeholder(n) || n->role != IG_INPUT_USER) continue;
    if (!set_value(d, ig_model_add_input(d->c, d->m, n->name), &n->val)) return false;
  }
  return true;
}

static ig_port_role role_of(ig_output_kind kind) {
  switch (kind) {
    case IG_OUTPUT_BUFFER_MUTATION:
    case IG_OUTPUT_PARAMETER_MUTATION:
      return IG_PORT_BUFFER;
    case IG_OUTPUT_INPUT_MUTATION:
      return IG_PORT_INPUT;
    case IG_OUTPUT_GRAD_PARAMETER:
    case IG_OUTPUT_GRAD_INPUT:
      return IG_PORT_GRAD;
    case IG_OUTPUT_TOKEN:
      return IG_PORT_TOKEN;
    default:
      return IG_PORT_USER;
  }
}

static bool add_outputs(const describer *d, const ig_program *p) {
  const ig_node *last = p->graph->last;
  for (size_t i = 0; i < p->noutputs; i++) {
    const ig_output_spec *o = &p->outputs[i];
    const ig_value *v = last && i < last->npos ? &last->args[i] : &o->value;
    ig_model_port *port = ig_model_add_output(d->c, d->m, o->name ? o->name : "(constant)");
    if (!set_value(d, port, v->kind == IG_KIND_NODE ? &v->node->val : v)) return false;
    port->role = role_of(o->kind);
    if (o->target) port->target = ig_model_text(d->c, d->m, o->target);
  }
  return true;
}

static ig_weight_role role_of_input(const ig_input_spec *s) {
  return s->kind == IG_INPUT_PARAMETER ? IG_WEIGHT_PARAMETER
         : s->kind == IG_INPUT_BUFFER  ? IG_WEIGHT_BUFFER
                                       : IG_WEIGHT_CONSTANT;
}

// roles: target -> the input of the signature that it is.
static bool add_weights(ig_ctx *c, ig_model *m, const ig_program *p, const ig_map *roles) {
  for (size_t i = 0; i < p->nstate + p->nconstants; i++) {
    bool state = i < p->nstate;
    const ig_weight *w = state ? &p->state[i] : &p->constants[i - p->nstate];
    const ig_map_value *known = ig_map_find(roles, w->name);
    ig_weight_role role = known   ? role_of_input(known->ptr)
                          : state ? IG_WEIGHT_ARRAY
                                  : IG_WEIGHT_CONSTANT;
    if (!ig_model_add_weight(c, m, w->name, role, w->tensor)) return false;
  }
  return true;
}

static bool take_weights(ig_ctx *c, ig_model *m, const ig_program *p) {
  ig_map roles = ig_map_make(c->alloc);
  bool ok = true;
  for (size_t i = 0; i < p->ninputs && ok; i++) {
    ig_map_value *v = p->inputs[i].target ? ig_map_put(&roles, p->inputs[i].target) : NULL;
    ok = v || !p->inputs[i].target || ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    if (v) v->ptr = &p->inputs[i];
  }
  ok = ok && add_weights(c, m, p, &roles);
  ig_map_free(&roles);
  return ok;
}

static bool count_operators(ig_ctx *c, ig_model *m, const ig_graph *g) {
  for (const ig_node *n = g->first; n; n = n->next) {
    bool call = n->kind == IG_NODE_CALL && n->callee != IG_CALLEE_GETITEM;
    if (call && !ig_model_count_operator(c, m, n->target)) return false;
  }
  for (size_t i = 0; i < g->subs.n; i++) {
    if (!count_operators(c, m, g->subs.at[i].graph)) return false;
  }
  return true;
}

ig_status ig_model_take_program(ig_ctx *c, ig_model *m, ig_program *p, bool describe) {
  m->program = p;
  if (p->training || writes(p->graph)) {
    ig_model_stage(m, "functionalizing", 0, 0);
    IG_RETURN_IF_ERR(ig_program_functionalize(c, p, &m->runnable));
  } else {
    m->runnable = ig_program_retain(p);
  }
  if (!describe) return IG_OK;
  describer d = {.c = c, .m = m};
  d.nranges = ig_program_ranges(c, m->runnable, &d.ranges);
  ig_mode_scope mode = ig_mode_push_sym(c, m->runnable->graph->sym);
  bool ok = add_inputs(&d, m->runnable) && add_outputs(&d, m->runnable);
  ig_mode_pop(c, &mode);
  ok = ok && take_weights(c, m, p) && count_operators(c, m, p->graph);
  return ok ? IG_OK : c->status;
}
