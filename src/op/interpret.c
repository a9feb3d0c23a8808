// SPDX-License-Identifier: Apache-2.0
// A value is freed after its last use, so that running needs no more memory than the program
// itself.
#include "op/interpret.h"

#include <stdio.h>
#include <string.h>

#include "op/arithmetic.h"
#include "op/autocast.h"
#include "op/grad_mode.h"
#include "op/record.h"
#include "op/renewals.h"

typedef struct machine {
  ig_ctx *c;
  const ig_graph *g;
  ig_value *env;   // per node; tensors retained
  size_t *unread;  // per node: remaining uses
  bool taped;      // a rewrite that records gradients: changes of the grad mode take effect
  ig_arena lists;
} machine;

static void retain(const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) (void)ig_tensor_retain(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) retain(&v->list.at[i]);
}

static void release(ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) ig_tensor_release(v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    release((ig_value *)&v->list.at[i]);
  }
  *v = ig_none();
}

// Lists that calls return belong to a scope that closes.
static bool keep_lists(machine *m, ig_value *v) {
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(&m->lists, v->list.n, sizeof *items);
  if (!items) return ig_fail(m->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!keep_lists(m, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}

// The current value of an argument. Lists are rebuilt only if they contain nodes.
static bool has_nodes(const ig_value *v) {
  bool any = v->kind == IG_KIND_NODE;
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n && !any; i++) {
    any = has_nodes(&v->list.at[i]);
  }
  return any;
}

static ig_value value_of(const machine *m, const ig_value *v) {
  if (v->kind == IG_KIND_NODE) return m->env[v->node->index];
  if (v->kind != IG_KIND_LIST || !has_nodes(v)) return *v;
  ig_value out = *v;
  ig_value *items = ig_scope_array(m->c, v->list.n, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) items[i] = value_of(m, &v->list.at[i]);
  if (!items) return ig_none();
  out.list.at = items;
  return out;
}

static bool wants_ints(const ig_arg *a) {
  return a->list && (a->type == IG_TYPE_INT || a->type == IG_TYPE_SYMINT);
}

static bool is_number(const ig_value *v) {
  return v->kind == IG_KIND_INT || v->kind == IG_KIND_FLOAT || v->kind == IG_KIND_BOOL;
}

// The value of a node may differ from what a graph from a file declares; ig_call checks tensors
// itself.
static bool refuse_arg(machine *m, const ig_arg *a) {
  return ig_fail(m->c, IG_BAD_TYPE, "argument '%s': found a value that is not a number", a->name) ==
         IG_OK;
}

// An argument for the call.
static bool arg_of(machine *m, const ig_arg *a, const ig_value *v, ig_value *out) {
  *out = value_of(m, v);
  if (v->kind == IG_KIND_NODE && a->type != IG_TYPE_TENSOR && a->type != IG_TYPE_OTHER &&
      out->kind != IG_KIND_NONE && !is_number(out)) {
    return refuse_arg(m, a);
  }
  if (v->kind != IG_KIND_LIST) return true;
  size_t n = v->list.n;
  if (wants_ints(a)) {
    ig_int *ints = ig_scope_array(m->c, n, sizeof *ints);
    for (size_t i = 0; ints && i < n; i++) {
      ig_value item = value_of(m, &v->list.at[i]);
      if (item.kind != IG_KIND_INT && item.kind != IG_KIND_BOOL) return refuse_arg(m, a);
      ints[i] = item.kind == IG_KIND_BOOL ? ig_const(item.b) : item.i;
    }
    *out = ig_of_ints(ints, n);
    return ints != NULL;
  }
  return m->c->status == IG_OK;
}

static const ig_value *find_arg(const ig_node *n, size_t i, const ig_arg *arg) {
  if (i < n->npos) return &n->args[i];
  for (size_t k = 0; k < n->nkw; k++) {
    if (strcmp(n->keys[k], arg->name) == 0) return &n->args[n->npos + k];
  }
  return &arg->def;
}

static ig_value call_op(machine *m, const ig_node *n) {
  const ig_schema *s = &n->op->schema;
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  for (size_t i = 0; i < s->nargs; i++) {
    if (!arg_of(m, &s->args[i], find_arg(n, i, &s->args[i]), &args[i])) return ig_none();
  }
  ig_mode_change change = {IG_MODE_GIVEN, {.given = n->given ? n : NULL}};
  ig_mode_scope mode = ig_mode_push(m->c, &change);
  ig_call(m->c, n->op, args, outs);
  ig_mode_pop(m->c, &mode);
  if (s->nrets == 1) return outs[0];
  ig_value *items = ig_scope_array(m->c, s->nrets, sizeof *items);
  if (!items) return ig_none();
  memcpy(items, outs, s->nrets * sizeof *items);
  return ig_of_list(items, s->nrets);
}

static ig_value attribute(const ig_node *n) {
  if (n->sub) return ig_of_graph(n->sub);
  if (n->object) return (ig_value){.kind = IG_KIND_OBJECT, .object = n->object};
  return ig_of_tensor(n->constant);
}

typedef void caller(ig_ctx *c, const ig_node *n, const ig_value *args, ig_value *out);

// A higher-order operator, or something that only the host can call.
static ig_value call_by(machine *m, const ig_node *n, caller *fn) {
  ig_ctx *c = m->c;
  ig_value out = ig_none();
  size_t count = n->npos + n->nkw;
  ig_value *args = ig_scope_array(c, count, sizeof *args);
  if (!args) return out;
  if (!fn) {
    (void)ig_fail(c, IG_UNSUPPORTED, "%s: cannot run '%s' without a Python host", n->name,
                  n->target);
    return out;
  }
  for (size_t i = 0; i < count; i++) args[i] = value_of(m, &n->args[i]);
  const ig_rewrite *r = c->mode->capture ? c->mode->rewrite : NULL;
  if (r && r->settle) r->settle(c, args, count, r->user);
  if (c->status == IG_OK) fn(c, n, args, &out);
  return out;
}

static ig_value call_host(machine *m, const ig_node *n) {
  bool grad = false;
  if (ig_node_is_grad_mode(n, &grad)) {
    const ig_graph *capture = m->c->mode->capture;
    if (capture) ig_record_grad_mode(m->c, grad, n->host_fn);
    if (m->taped || !capture || capture->switches_grad) {
      ig_mode_set(m->c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = !grad}});
    }
    return ig_none();
  }
  if (ig_node_autocast(n) != IG_SWITCH_NONE) {
    ig_value before = n->args[0].kind == IG_KIND_NODE ? value_of(m, &n->args[0]) : ig_none();
    return ig_autocast_step(m->c, n, &before);
  }
  const ig_host *host = m->g->host ? m->g->host : m->c->mode->host;
  return call_by(m, n, host ? host->call : NULL);
}

static ig_value call_item(machine *m, const ig_node *n) {
  ig_value a = value_of(m, &n->args[0]);
  ig_value b = value_of(m, &n->args[1]);
  size_t k = (size_t)b.i.value;
  if (a.kind == IG_KIND_LIST && b.kind == IG_KIND_INT && a.seq <= IG_SEQ_TUPLE) {
    if (b.i.value < 0) k += a.list.n;
    if (k < a.list.n) return a.list.at[k];
    (void)ig_fail(m->c, IG_BAD_INDEX, "%s: no element %lld", n->name, (long long)b.i.value);
    return ig_none();
  }
  return call_host(m, n);
}

static ig_value call_size(machine *m, const ig_node *n) {
  ig_value a = value_of(m, &n->args[0]);
  ig_value b = value_of(m, &n->args[1]);
  int64_t k = b.i.value;
  if (a.kind == IG_KIND_TENSOR && k < 0) k += a.tensor->ndim;
  if (a.kind == IG_KIND_TENSOR && k >= 0 && k < a.tensor->ndim) {
    return ig_of_int(ig_sizes(a.tensor)[k]);
  }
  (void)ig_fail(m->c, IG_BAD_INDEX, "%s: no size %lld", n->name, (long long)b.i.value);
  return ig_none();
}

// Python operators on anything other than numbers are run by the host.
static ig_value call_sym(machine *m, const ig_node *n) {
  ig_value args[3];
  bool numbers = n->npos && n->npos <= 3 && n->nkw == 0;
  for (size_t i = 0; i < n->npos && numbers; i++) {
    args[i] = value_of(m, &n->args[i]);
    numbers = is_number(&args[i]);
  }
  if (!numbers) return call_host(m, n);
  ig_value out = ig_none();
  ig_sym_call(m->c, n->arith, args, n->npos, &out);
  if (ig_release_forms(n->graph->release)->replays_arithmetic) {
    ig_record_arithmetic(m->c, n->arith, args, n->npos, &out);
  }
  return out;
}

static ig_value eval(machine *m, const ig_node *n) {
  if (n->kind == IG_NODE_ATTR) return attribute(n);
  if (n->kind != IG_NODE_CALL) return call_host(m, n);
  switch (n->callee) {
    case IG_CALLEE_OP:
      return call_op(m, n);
    case IG_CALLEE_GETITEM:
      return n->npos == 2 ? call_item(m, n) : call_host(m, n);
    case IG_CALLEE_SIZE:
      return n->npos == 2 ? call_size(m, n) : call_host(m, n);
    case IG_CALLEE_SYM:
      return call_sym(m, n);
    case IG_CALLEE_HOP:
      return call_by(m, n, n->hop->call);
    default:
      return call_host(m, n);
  }
}

static void forget_operands(machine *m, const ig_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    size_t k = n->inputs[i]->index;
    if (--m->unread[k] == 0) release(&m->env[k]);
  }
}

// Module stacks as in a non-strict capture of a program's module: every key is prefixed with its
// root.
static const ig_module_stack *below_root(ig_ctx *c, ig_graph *to, const ig_module_stack *stack) {
  if (stack->n == 0) return NULL;  // nodes outside all modules: the stack of the capture itself
  ig_scope s = ig_scope_open(c);
  ig_module_level *levels = ig_scope_array(c, stack->n, sizeof *levels);
  for (size_t i = 0; levels && i < stack->n; i++) {
    static const char root[] = "L__self__";
    size_t n = sizeof root + strlen(stack->at[i].key);
    char *key = ig_scope_push(c, n);
    levels[i] = stack->at[i];
    levels[i].key = key;
    if (key) (void)snprintf(key, n, "%s%s", root, stack->at[i].key);
  }
  const ig_module_stack *kept =
      c->status == IG_OK ? ig_graph_keep_levels(c, to, levels, stack->n) : NULL;
  ig_scope_close(c, s);
  return kept;
}

// Metadata of nodes recorded on behalf of n.
static void pass_meta(machine *m, const ig_node *n) {
  (void)ig_ctx_at(m->c, n->file, n->line);
  ig_graph *to = m->c->mode->capture;
  if (!to || !ig_graph_keep_meta(m->c, to, &n->meta, &to->meta)) return;
  bool again = to->unnamed && !to->strict && !m->c->mode->rewrite;
  if (again && to->meta.modules) to->meta.modules = below_root(m->c, to, to->meta.modules);
}

static bool step(machine *m, const ig_node *n) {
  ig_scope s = ig_scope_open(m->c);
  pass_meta(m, n);
  ig_renewals_enter(m->c, n);
  ig_value v = eval(m, n);
  bool ok = m->c->status == IG_OK && keep_lists(m, &v);
  const ig_watch *watch = m->c->mode->watch;
  if (ok && watch) {
    watch->fn(watch->user, n->name, n->kind == IG_NODE_CALL ? n->target : "", &v);
  }
  if (ok && n->users) {
    retain(&v);
    m->env[n->index] = v;
  }
  ig_scope_close(m->c, s);
  if (ok) forget_operands(m, n);
  return ok;
}

// Passes a value to the caller's scope: tensors and the lists around them.
static bool hand_out(machine *m, ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    return ig_pool_add(m->c, &ig_tensor_retain(v->tensor)->ref);
  }
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_scope_array(m->c, v->list.n, sizeof *items);
  if (!items) return false;
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!hand_out(m, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}

static bool output(machine *m, const ig_node *n, ig_value *outs) {
  for (size_t i = 0; i < n->npos; i++) {
    outs[i] = value_of(m, &n->args[i]);
    if (!hand_out(m, &outs[i])) return false;
  }
  return true;
}

static void walk(machine *m, const ig_value *inputs, ig_value *outs) {
  for (const ig_node *n = m->g->first; n; n = n->next) {
    m->unread[n->index] = n->users;
    if (n->kind == IG_NODE_OUTPUT) {
      (void)output(m, n, outs);
    } else if (ig_node_is_placeholder(n)) {
      retain(inputs);
      m->env[n->index] = *inputs++;
    } else if (!step(m, n)) {
      return;
    }
  }
}

ig_value ig_interpret_node(ig_ctx *c, const ig_graph *g, const ig_node *n, ig_value *env) {
  machine m = {.c = c, .g = g, .env = env};
  (void)ig_ctx_at(c, n->file, n->line);
  return eval(&m, n);
}

ig_status ig_interpret(ig_ctx *c, const ig_graph *g, const ig_value *inputs, ig_value *outs) {
  size_t n = g->next_index;
  machine m = {.c = c, .g = g, .lists = ig_arena_make(c->alloc)};
  size_t bytes = n * (sizeof *m.env + sizeof *m.unread) + 1;
  m.env = ig_mem_new(c->alloc, bytes);
  if (!m.env) return ig_fail(c, IG_NOMEM, "out of memory");
  m.unread = (size_t *)(m.env + n);
  void (*locate)(ig_ctx *, void *) = c->locate;
  m.taped = c->mode->capture && c->mode->rewrite && !c->mode->no_grad;
  if (c->mode->capture) c->locate = NULL;  // recorded nodes keep the metadata of the nodes of g
  ig_mode_scope mode = ig_mode_push_grad(c, !c->mode->no_grad);  // the graph may change it
  walk(&m, inputs, outs);
  ig_mode_pop(c, &mode);
  c->locate = locate;
  for (size_t i = 0; i < n; i++) release(&m.env[i]);
  ig_arena_free(&m.lists);
  ig_mem_free(c->alloc, m.env, bytes);
  return c->status;
}

ig_status ig_graph_run(ig_ctx *c, const ig_graph *g, const ig_value *inputs, size_t n,
                       ig_value *outs) {
  size_t expected = ig_graph_input_count(g);
  if (c->status != IG_OK) return c->status;
  if (n != expected) return ig_fail(c, IG_RUNTIME, "found %zu inputs, expected %zu", n, expected);
  const char *file = c->file;
  int line = c->line;
  ig_status st = ig_interpret(c, g, inputs, outs);
  (void)ig_ctx_at(c, file, line);
  return st;
}

static bool keep_name(ig_ctx *c, const ig_node *p) {
  ig_graph *g = c->mode->capture;
  return ig_graph_set_name(c, g, g->last, p->name);
}

static bool copy_placeholder(ig_ctx *c, const ig_node *p, bool grad, ig_value *out) {
  ig_placeholder spec = {p->role, p->persistent, p->name, p->path, p->constant, false, p->late};
  *out = p->val;
  // An input that has the name of a built-in function keeps it; a call could not have got it.
  bool odd = ig_name_is_reserved(p->name);
  if (odd) spec.name = "arg_1";
  if (p->val.kind != IG_KIND_TENSOR) {
    ig_record_placeholder_value(c, &spec, &p->val);
    return c->status == IG_OK && (!odd || keep_name(c, p));
  }
  ig_meta m;
  ig_meta_of(p->val.tensor, &m);
  spec.requires_grad = grad && p->val.tensor->requires_grad;
  out->tensor = ig_record_placeholder(c, &spec, &m);
  if (out->tensor && !grad) out->tensor->requires_grad = p->val.tensor->requires_grad;
  return out->tensor && (!odd || keep_name(c, p)) &&
         ig_graph_keep_meta(c, c->mode->capture, &p->meta, &out->tensor->node->meta);
}

static bool copy_state(ig_ctx *c, const ig_graph *g) {
  ig_graph *to = c->mode->capture;
  for (size_t i = 0; i < g->state.n; i++) {
    ig_state s = g->state.at[i];
    s.name = ig_graph_keep_text(c, to, s.name);
    if (!s.name) return false;
    if (!ig_vec_push(to->alloc, &to->state, s)) {
      return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    }
    (void)ig_tensor_retain(s.tensor);
  }
  return true;
}

static ig_status copy_into(ig_ctx *c, const ig_graph *g, const ig_transform *t) {
  size_t n = ig_graph_input_count(g);
  size_t count = ig_graph_output_count(g);
  ig_value *inputs = ig_scope_array(c, n, sizeof *inputs);
  ig_value *outs = ig_scope_array(c, count, sizeof *outs);
  if (!inputs || !outs || !copy_state(c, g)) return c->status;
  size_t k = 0;
  for (const ig_node *p = g->first; p && k < n; p = p->next) {
    if (!ig_node_is_placeholder(p)) continue;
    if (!copy_placeholder(c, p, t->grad, &inputs[k++])) return c->status;
  }
  ig_value *read = ig_scope_array(c, n, sizeof *read);
  if (!read) return c->status;
  memcpy(read, inputs, n * sizeof *read);
  if (t->start && !t->start(c, read, n, t->user)) return c->status;
  IG_RETURN_IF_ERR(ig_interpret(c, g, read, outs));
  const ig_value *results = outs;
  if (t->finish) results = t->finish(c, inputs, n, outs, &count, t->user);
  return c->status == IG_OK ? ig_record_output(c, results, count) : c->status;
}

ig_status ig_graph_transform(ig_ctx *c, const ig_graph *g, const ig_transform *t, ig_graph **out) {
  *out = NULL;
  if (c->status != IG_OK) return c->status;
  if (c->mode->capture) return ig_fail(c, IG_RUNTIME, "a capture is open");
  ig_graph *fresh = ig_graph_create(c, g->sym);
  if (!fresh) return c->status;
  ig_scope s = ig_scope_open(c);
  void (*locate)(ig_ctx *, void *) = c->locate;
  const char *file = c->file;
  int line = c->line;
  c->locate = NULL;  // nodes keep the locations of the old graph
  fresh->no_grad = g->no_grad;
  fresh->keeps_draws = g->keeps_draws;
  fresh->strict = g->strict;
  fresh->release = g->release;
  fresh->implied_casts = g->implied_casts && t->keep_regions;
  fresh->unnamed = g->unnamed;
  enum {
    ALL = IG_MODE_CAPTURE | IG_MODE_SYM | IG_MODE_REWRITE | IG_MODE_NO_GRAD | IG_MODE_INFERENCE |
          IG_MODE_INTERCEPT
  };
  ig_mode_change change = {ALL,
                           {.capture = fresh,
                            .sym = g->sym,
                            .rewrite = t->rewrite.fn ? &t->rewrite : NULL,
                            .no_grad = !t->grad}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_renewals symbols;
  if (ig_renewals_open(c, g, t->renew, &symbols)) (void)copy_into(c, g, t);
  ig_renewals_close(c, &symbols);
  ig_status st = c->status;
  ig_mode_pop(c, &mode);
  c->locate = locate;
  (void)ig_ctx_at(c, file, line);
  ig_scope_close(c, s);
  ig_graph_forget_history(fresh);
  if (st == IG_OK) {
    *out = fresh;
  } else {
    ig_graph_free(fresh);
  }
  return st;
}
