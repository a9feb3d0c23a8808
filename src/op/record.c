// SPDX-License-Identifier: Apache-2.0
// From calls to nodes: operands become node references, symbolic sizes become nodes that compute
// them from an input, trailing defaults disappear. All lookups use maps, so that a capture is
// linear in the number of its nodes.
#include "op/record.h"

#include <stdio.h>
#include <string.h>

#include "ingot/aten.h"
#include "op/draft.h"
#include "op/nested.h"
#include "op/shape.h"
#include "sym/env.h"

static bool know(ig_ctx *c, const ig_tensor *real, ig_tensor *fake) {
  ig_table_slot *slot = ig_table_put(&c->mode->capture->tensors, real);
  if (!slot) return ig_no_memory(c);
  slot->value = fake;
  return true;
}

static ig_tensor *constant(ig_ctx *c, ig_tensor *t) {
  char name[48];
  ig_graph *g = c->mode->capture;
  int len = snprintf(name, sizeof name, "_tensor_constant%zu", g->lifted++);
  ig_tensor *fake = ig_tensor_fake(c, t);
  if (!fake) return NULL;
  fake->node = NULL;
  const char *target = ig_arena_strn(&g->arena, name, (size_t)len);
  ig_node proto = {
      .kind = IG_NODE_ATTR, .target = target, .constant = t, .val = ig_of_tensor(fake)};
  ig_draft_know(c, fake, t);
  return ig_graph_push(c, g, &proto, name) && know(c, t, fake) ? fake : NULL;
}

ig_tensor *ig_record_fake(ig_ctx *c, ig_tensor *t) {
  if (ig_is_fake(t) && t->node && t->node->graph == c->mode->capture) return t;
  const ig_table_slot *slot = ig_table_find(&c->mode->capture->tensors, t);
  if (slot) return slot->value;
  if (c->mode->capture->outer) return ig_nested_lift(c, t);
  // A fake tensor of the enclosing fake mode is a constant without elements.
  const ig_sym *sym = ig_tensor_sym(t);
  if (t->node || (sym && sym != c->mode->capture->sym)) {
    (void)ig_fail(c, IG_RUNTIME, "found a fake tensor of another capture");
    return NULL;
  }
  return constant(c, t);
}

static bool is_foreign(const ig_ctx *c, const ig_value *v) {
  return v->kind == IG_KIND_TENSOR &&
         !(ig_is_fake(v->tensor) && v->tensor->node && v->tensor->node->graph == c->mode->capture);
}

static bool fake_item(ig_ctx *c, ig_value *v) {
  if (!is_foreign(c, v)) return true;
  v->tensor = ig_record_fake(c, v->tensor);
  return v->tensor != NULL;
}

const ig_value *ig_record_args(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *room) {
  bool any = false;
  for (size_t i = 0; i < op->schema.nargs && !any; i++) {
    any = is_foreign(c, &args[i]);
    bool list = op->has_tensor_list && args[i].kind == IG_KIND_LIST;
    for (size_t k = 0; list && k < args[i].list.n && !any; k++) {
      any = is_foreign(c, &args[i].list.at[k]);
    }
  }
  if (!any) return args;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    room[i] = args[i];
    if (!fake_item(c, &room[i])) return NULL;
    if (!op->has_tensor_list || args[i].kind != IG_KIND_LIST) continue;
    ig_value *items = ig_scope_array(c, args[i].list.n, sizeof *items);
    if (!items) return NULL;
    for (size_t k = 0; k < args[i].list.n; k++) {
      items[k] = args[i].list.at[k];
      if (!fake_item(c, &items[k])) return NULL;
    }
    room[i].list.at = items;
  }
  return room;
}

// A constant enters a graph as a copy, so that writes to it stay inside.
const ig_op *ig_record_op(ig_ctx *c, const ig_op *op) {
  if (op->number != IG_ID_LIFT_FRESH) return op;
  const ig_lib *lib = ig_lib_get(c);
  return lib ? &lib->ops[IG_ID_LIFT_FRESH_COPY] : op;
}

void ig_record_return(const ig_op *op, const ig_value *given, const ig_value *args,
                      ig_value *outs) {
  if (given == args) return;
  for (size_t k = 0; k < op->schema.nrets; k++) {
    for (size_t i = 0; i < op->schema.nargs && outs[k].kind == IG_KIND_TENSOR; i++) {
      bool same = args[i].kind == IG_KIND_TENSOR && args[i].tensor == outs[k].tensor;
      if (same) outs[k] = given[i];
    }
  }
}

static bool record_list(ig_ctx *c, const ig_value *in, ig_value *out) {
  bool ints = in->kind == IG_KIND_INTS;
  size_t n = ints ? in->ints.n : in->list.n;
  ig_value *items = ig_arena_array(&c->mode->capture->arena, n, sizeof *items);
  if (!items) return ig_no_memory(c);
  for (size_t i = 0; i < n; i++) {
    ig_value item = ints ? ig_of_int(in->ints.at[i]) : in->list.at[i];
    if (!ig_record_value(c, &item, &items[i])) return false;
  }
  *out = ig_of_list(items, n);
  if (!ints) out->seq = in->seq;
  return true;
}

bool ig_record_value(ig_ctx *c, const ig_value *in, ig_value *out) {
  *out = *in;
  switch (in->kind) {
    case IG_KIND_INTS:
    case IG_KIND_LIST:
      return record_list(c, in, out);
    case IG_KIND_TENSOR: {
      const ig_tensor *fake = ig_record_fake(c, in->tensor);
      if (fake) *out = ig_of_node(fake->node);
      return fake && (!fake->node->late || ig_record_know_late(c, fake->node));
    }
    case IG_KIND_INT:
    case IG_KIND_FLOAT:
    case IG_KIND_BOOL:
      if (ig_value_expr(in)) *out = ig_of_node(ig_record_number(c, in));
      return c->status == IG_OK;
    default:
      return true;
  }
}

static bool same_ints(const ig_value *v, const ig_value *def) {
  for (size_t i = 0; i < v->ints.n; i++) {
    const ig_int *d = def->kind == IG_KIND_INTS ? &def->ints.at[i] : &def->i;
    if (v->ints.at[i].expr || v->ints.at[i].value != d->value) return false;
  }
  return true;
}

bool ig_arg_is_default(const ig_arg *a, const ig_value *v) {
  const ig_value *d = &a->def;
  if (!a->has_default) return false;
  if (v->kind == IG_KIND_INTS && d->kind == IG_KIND_INTS) {
    return v->ints.n == d->ints.n && same_ints(v, d);
  }
  if (v->kind == IG_KIND_INTS && d->kind == IG_KIND_INT) return same_ints(v, d);
  if (d->kind != v->kind) return false;
  switch (v->kind) {
    case IG_KIND_NONE:
      return true;
    case IG_KIND_BOOL:
      return !v->b_expr && v->b == d->b;
    case IG_KIND_INT:
      return !v->i.expr && v->i.value == d->i.value;
    case IG_KIND_FLOAT:
      return !v->f_expr && v->f == d->f;
    case IG_KIND_STR:
      return strcmp(v->str, d->str) == 0;
    case IG_KIND_MEMORY_FORMAT:
      return v->memory_format == d->memory_format;
    case IG_KIND_DTYPE:
      return v->dtype == d->dtype;
    case IG_KIND_LIST:
      return v->list.n == 0 && d->list.n == 0;
    default:
      return false;
  }
}

bool ig_op_has_effect(const ig_op *op) {
  const ig_schema *s = &op->schema;
  bool written = s->nrets == 0;
  for (size_t i = 0; i < s->nargs; i++) written = written || s->args[i].written;
  return written;
}

// The same in this capture.
static bool has_effect(const ig_ctx *c, const ig_op *op) {
  bool hidden = c->mode->capture->keeps_draws && (op->facts & IG_FACT_SEEDED || op->user);
  return hidden || ig_op_has_effect(op);
}

// All elements get their getitem at once, as in PyTorch; unused ones are removed later.
static bool record_items(ig_ctx *c, ig_node *n, const ig_value *items, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ig_value args[] = {ig_of_node(n), ig_of_i64((int64_t)i)};
    ig_node proto = {.kind = IG_NODE_CALL,
                     .callee = IG_CALLEE_GETITEM,
                     .target = "_operator.getitem",
                     .args = args,
                     .npos = 2,
                     .val = items[i]};
    ig_node *item = ig_graph_push(c, c->mode->capture, &proto, "getitem");
    if (!item || !ig_record_know(c, item)) return false;
    bool nested = items[i].kind == IG_KIND_LIST;
    if (nested && !record_items(c, item, items[i].list.at, items[i].list.n)) return false;
  }
  return true;
}

static bool fill_args(ig_ctx *c, const ig_schema *s, const ig_value *args, ig_node *proto,
                      ig_value *values, const char **keys) {
  proto->npos = s->npos;
  while (proto->npos && ig_arg_is_default(&s->args[proto->npos - 1], &args[proto->npos - 1])) {
    proto->npos--;
  }
  for (size_t i = 0; i < proto->npos; i++) {
    if (!ig_record_value(c, &args[i], &values[i])) return false;
  }
  for (size_t i = s->npos; i < s->nargs; i++) {
    if (ig_arg_is_default(&s->args[i], &args[i])) continue;
    keys[proto->nkw] = s->args[i].name;
    if (!ig_record_value(c, &args[i], &values[proto->npos + proto->nkw++])) return false;
  }
  return true;
}

// Appends a call whose arguments are nodes already, and the getitem nodes of its results.
static ig_node *push_call(ig_ctx *c, const ig_node *proto, const char *base, bool single) {
  ig_node *n = ig_graph_push(c, c->mode->capture, proto, base);
  if (!n) return NULL;
  bool ok = single ? ig_record_know(c, n) : record_items(c, n, n->val.list.at, n->val.list.n);
  return ok ? n : NULL;
}

// PyTorch's non-strict capture asks of each view that it records whether it is empty.
static void ask_empty(ig_ctx *c, const ig_schema *s, const ig_value *out) {
  bool asks = c->mode->sym && c->mode->sym->env && c->mode->sym->env->asks_empty &&
              !ig_env_records_choices(c);
  if (!asks || !s->nrets || !s->rets[0].aliased || out->kind != IG_KIND_TENSOR) return;
  const ig_tensor *t = out->tensor;
  for (int d = 0; d < t->ndim && c->status == IG_OK; d++) {
    if (ig_sizes(t)[d].expr) (void)ig_int_eq_i64(c, ig_sizes(t)[d], 0);
  }
}

static bool has_data_size(const ig_tensor *t) {
  for (int d = 0; d < t->ndim; d++) {
    const ig_expr *e = ig_sizes(t)[d].expr;
    if (e && !e->backed) return true;
  }
  return false;
}

// PyTorch looks at the strides of each tensor with data-dependent sizes.
static void ask_strides(ig_ctx *c, const ig_value *outs, size_t n) {
  if (ig_env_records_choices(c)) return;
  for (size_t i = 0; i < n && c->status == IG_OK; i++) {
    if (outs[i].kind == IG_KIND_LIST) ask_strides(c, outs[i].list.at, outs[i].list.n);
    bool asks = outs[i].kind == IG_KIND_TENSOR && outs[i].tensor && has_data_size(outs[i].tensor);
    if (asks) (void)ig_ask_contiguous(c, outs[i].tensor);
  }
}

// x.to(...) that changes nothing is x itself, but not in a functional program.
static void split_conversion(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  bool same = c->mode->capture->inference && outs[0].kind == IG_KIND_TENSOR && op->schema.nargs &&
              args[0].kind == IG_KIND_TENSOR && args[0].tensor == outs[0].tensor;
  if (same && op->def->converts) {
    outs[0] = ig_of_tensor(ig_tensor_alias(c, outs[0].tensor));
  }
}

void ig_record(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs) {
  if (c->status != IG_OK) return;
  const ig_schema *s = &op->schema;
  split_conversion(c, op, args, outs);
  if (c->status != IG_OK) return;
  ask_empty(c, s, &outs[0]);
  if (!c->mode->capture->sizes_only) ask_strides(c, outs, s->nrets);
  if (c->status != IG_OK) return;
  ig_value values[IG_MAX_ARGS];
  const char *keys[IG_MAX_ARGS];
  bool effect = has_effect(c, op);
  bool single = s->nrets == 1 && outs[0].kind != IG_KIND_LIST;
  ig_node proto = {.kind = IG_NODE_CALL,
                   .callee = IG_CALLEE_OP,
                   .op = op,
                   .target = op->target,
                   .effect = effect,
                   .given = (c->mode->given && c->mode->given->op == op) || ig_draft_gave(c),
                   .args = values,
                   .keys = keys,
                   .val = s->nrets == 0   ? ig_none()
                          : s->nrets == 1 ? outs[0]
                                          : ig_of_list(outs, s->nrets)};
  char base[128];
  if (!fill_args(c, s, args, &proto, values, keys)) return;
  (void)push_call(c, &proto, ig_name_of_op(s->name, base, sizeof base), single || s->nrets == 0);
}

ig_node *ig_record_node(ig_ctx *c, const ig_node *proto, const char *base) {
  if (c->status != IG_OK) return NULL;
  ig_value given = ig_of_list(proto->args, proto->npos + proto->nkw);
  ig_value args;
  if (!ig_record_value(c, &given, &args)) return NULL;
  ig_node copy = *proto;
  copy.args = args.list.at;
  return push_call(c, &copy, base, proto->val.kind != IG_KIND_LIST);
}

ig_node *ig_record_sub(ig_ctx *c, const char *prefix, ig_graph *sub) {
  if (c->status != IG_OK) return NULL;
  const char *name = ig_graph_add_sub(c, c->mode->capture, prefix, sub);
  ig_node proto = {.kind = IG_NODE_ATTR, .target = name, .sub = sub};
  return name ? ig_graph_push(c, c->mode->capture, &proto, name) : NULL;
}

static ig_node *push_placeholder(ig_ctx *c, const ig_placeholder *p, const ig_value *val) {
  ig_graph *g = c->mode->capture;
  char number[32];
  (void)snprintf(number, sizeof number, "arg%zu_1", g->n);
  ig_node proto = {.kind = IG_NODE_PLACEHOLDER,
                   .role = p->role,
                   .persistent = p->persistent,
                   .late = p->late,
                   .path = ig_graph_keep_text(c, g, p->path),
                   .constant = p->value,
                   .val = *val};
  return ig_graph_push(c, g, &proto, g->unnamed ? number : p->name);
}

ig_tensor *ig_record_placeholder(ig_ctx *c, const ig_placeholder *p, const ig_meta *m) {
  ig_meta own = *m;  // the sizes of an input are numbers of its own
  for (int d = 0; d < own.ndim; d++) own.size[d].origin = NULL;
  ig_tensor *t = ig_tensor_make(c, &own, true);
  if (!t) return NULL;
  t->requires_grad = p->requires_grad;
  ig_value val = ig_of_tensor(t);
  ig_node *n = push_placeholder(c, p, &val);
  if (!n || !ig_record_know(c, n)) return NULL;
  ig_draft_know(c, t, p->value);
  return !p->value || know(c, p->value, t) ? t : NULL;
}

void ig_record_placeholder_value(ig_ctx *c, const ig_placeholder *p, const ig_value *value) {
  ig_node *n = push_placeholder(c, p, value);
  if (n) (void)ig_record_know(c, n);
}

ig_status ig_record_output(ig_ctx *c, const ig_value *outs, size_t n) {
  ig_value list;
  ig_value given = ig_of_list(outs, n);
  if (!ig_record_value(c, &given, &list)) return c->status;
  ig_node proto = {.kind = IG_NODE_OUTPUT, .args = list.list.at, .npos = n, .target = "output"};
  (void)ig_graph_push(c, c->mode->capture, &proto, "output");
  return c->status;
}
