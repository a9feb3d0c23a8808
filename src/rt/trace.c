// SPDX-License-Identifier: Apache-2.0
// From a program to steps. The program runs as the interpreter would run it, but on fake inputs of
// the sizes that are planned: calls of composite operators fall apart into those they consist of,
// sizes are numbers, calls that depend on constants alone are computed at once, and what remains is
// noted as steps. Steps are therefore the same kernel calls, on the same layouts, that the
// interpreter makes.
#include <string.h>

#include "base/budget.h"
#include "op/call.h"
#include "op/interpret.h"
#include "op/quantized.h"
#include "rt/frame.h"
#include "tensor/geometry.h"

typedef struct tracer {
  ig_binding *b;
  const ig_node *node;
} tracer;

// Not an error of the program: the call is one that plans cannot hold.
static void give_up(ig_ctx *c) {
  (void)ig_fail(c, IG_UNSUPPORTED, "the call cannot be planned");
}

bool ig_rt_hold(ig_binding *b, ig_tensor *t) {
  ig_ctx *c = b->plan->c;
  if (!ig_vec_push(c->alloc, &b->held, t)) return ig_no_memory(c);
  (void)ig_tensor_retain(t);
  return true;
}

static bool keep_list(ig_binding *b, ig_value *v) {
  ig_value *items = ig_arena_array(&b->memory, v->list.n + 1, sizeof *items);
  if (!items) return ig_no_memory(b->plan->c);
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!ig_rt_keep(b, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}

// A number that the sizes of the inputs determine can be computed again for other sizes.
static bool is_kept(const ig_binding *b, const ig_expr *e) {
  return !e || (b->symbols && e->backed);
}

bool ig_rt_keep(ig_binding *b, ig_value *v) {
  ig_int *ints = NULL;
  switch (v->kind) {
    case IG_KIND_TENSOR:
      return ig_rt_hold(b, v->tensor);
    case IG_KIND_LIST:
      return keep_list(b, v);
    case IG_KIND_INTS:
      ints = ig_arena_array(&b->memory, v->ints.n + 1, sizeof *ints);
      if (!ints) return ig_no_memory(b->plan->c);
      for (size_t i = 0; i < v->ints.n; i++) {
        if (!is_kept(b, v->ints.at[i].expr)) return false;
        ints[i] = v->ints.at[i];
        ints[i].origin = NULL;
      }
      v->ints.at = ints;
      return true;
    case IG_KIND_STR:
      v->str = ig_arena_strn(&b->memory, v->str, strlen(v->str));
      return v->str || ig_no_memory(b->plan->c);
    case IG_KIND_INT:
      v->i.origin = NULL;
      return is_kept(b, v->i.expr);
    case IG_KIND_FLOAT:
      return is_kept(b, v->f_expr);
    case IG_KIND_BOOL:
      return !v->b_expr;
    case IG_KIND_GENERATOR:
    case IG_KIND_NODE:
    case IG_KIND_OBJECT:
    case IG_KIND_GRAPH:
    case IG_KIND_NATIVE:
      return false;
    default:
      return true;
  }
}

ig_rt_buffer *ig_rt_find(const ig_binding *b, const ig_tensor *t) {
  const ig_table_slot *slot = ig_table_find(&b->by_storage, t->storage);
  return slot && slot->number >= 0 ? &b->buffers.at[slot->number] : NULL;
}

void ig_rt_each(const ig_value *v, ig_rt_visit *fn, void *user) {
  if (v->kind == IG_KIND_TENSOR) fn(user, v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    ig_rt_each(&v->list.at[i], fn, user);
  }
}

void ig_rt_each_operand(const ig_binding *b, const ig_rt_step *s, ig_rt_visit *fn, void *user) {
  if (s->chain) {
    ig_chain_each_operand(s->chain, fn, user);
    return;
  }
  if (s->layer) {
    ig_layer_each_operand(s->layer, fn, user);
    return;
  }
  if (!s->op && b->run) {
    b->plan->source.nodes->each_operand(b->run, s->part, fn, user);
    return;
  }
  if (!s->op) {
    for (size_t i = 0; i < s->node->ninputs; i++) {
      size_t k = s->node->inputs[i]->index;
      if (!b->dynamic[k]) ig_rt_each(&b->env[k], fn, user);
    }
    return;
  }
  for (size_t i = 0; i < s->op->schema.nargs; i++) ig_rt_each(&s->args[i], fn, user);
}

void ig_rt_each_result(const ig_rt_step *s, ig_rt_visit *fn, void *user) {
  if (s->chain) ig_chain_each_result(s->chain, fn, user);
  if (s->layer) ig_layer_each_result(s->layer, fn, user);
  for (size_t i = 0; s->op && i < s->op->schema.nrets; i++) ig_rt_each(&s->outs[i], fn, user);
}

// ---- buffers

// Elements from the beginning of the memory to the end of the tensor.
static ig_int reach_of(ig_ctx *c, const ig_tensor *t) {
  ig_int last = t->offset;
  for (int d = 0; d < t->ndim; d++) {
    ig_int size = ig_sizes(t)[d];
    if (!size.expr && size.value == 0) return ig_const(0);
    ig_int steps = ig_int_sub(c, size, ig_const(1));
    last = ig_int_add(c, last, ig_int_mul(c, steps, ig_strides(t)[d]));
  }
  return ig_int_add(c, last, ig_const(1));
}

bool ig_rt_add_buffer(ig_binding *b, ig_tensor *t, ig_rt_place place, size_t index) {
  ig_ctx *c = b->plan->c;
  ig_meta m;
  ig_extent extent;
  ig_meta_of(t, &m);
  if (!ig_geometry_measure(&m, &extent) || (uint64_t)extent.bytes > SIZE_MAX / 4) {
    give_up(c);
    return false;
  }
  ig_rt_buffer fresh = {.storage = t->storage,
                        .whole = t,
                        .elements = reach_of(c, t),
                        .bytes = (size_t)extent.bytes,
                        .place = place,
                        .index = index,
                        .takes = -1};
  ig_table_slot *slot = ig_table_put(&b->by_storage, t->storage);
  if (!slot || !ig_vec_push(c->alloc, &b->buffers, fresh)) return ig_no_memory(c);
  slot->number = (int64_t)b->buffers.n - 1;
  ig_ref_retain(&t->storage->ref);
  return true;
}

// Everything noted since then is taken back.
typedef struct mark {
  size_t steps;
  size_t buffers;
} mark;

static void take_back(ig_binding *b, mark m) {
  while (b->buffers.n > m.buffers) {
    ig_storage *s = b->buffers.at[--b->buffers.n].storage;
    ig_table_slot *slot = ig_table_find(&b->by_storage, s);
    if (slot) slot->number = -1;
    ig_ref_release(&s->ref);
  }
  b->steps.n = m.steps;
}

// ---- calls

typedef struct census {
  const ig_binding *b;
  bool fake;
  bool sized;  // a number depends on the sizes of the inputs
  bool odd;    // a tensor that plans do not hold
} census;

static bool is_sized(const ig_value *v) {
  bool sized = (v->kind == IG_KIND_INT && v->i.expr) || (v->kind == IG_KIND_FLOAT && v->f_expr) ||
               (v->kind == IG_KIND_BOOL && v->b_expr);
  for (size_t i = 0; v->kind == IG_KIND_INTS && i < v->ints.n; i++) {
    sized = sized || v->ints.at[i].expr;
  }
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    sized = sized || is_sized(&v->list.at[i]);
  }
  return sized;
}

static void count(void *user, ig_tensor *t) {
  census *s = user;
  bool fake = ig_is_fake(t);
  s->fake = s->fake || fake;
  s->odd =
      s->odd || t->quantizer || t->device.type != IG_DEVICE_CPU || (fake && !ig_rt_find(s->b, t));
}

// The results of the call without this observer: fake ones, or constants.
static void call_inside(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs,
                        bool fake) {
  enum { BOTH = IG_MODE_REWRITE | IG_MODE_FAKE };
  ig_mode_change change = {BOTH, {.rewrite = NULL, .fake = fake || c->mode->fake}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_dispatch(c, op, args, outs);
  ig_mode_pop(c, &mode);
}

// How much of a constant is shown may depend on sizes, so the views are those of a fake tensor that
// lies where the constant does. NULL after an error.
static ig_tensor *fixed_twin(ig_binding *b, ig_tensor *t) {
  ig_ctx *c = b->plan->c;
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  m.strided = true;
  ig_tensor *twin = ig_tensor_make(c, &m, true);
  bool ok = twin && ig_rt_hold(b, t) && ig_rt_hold(b, twin) &&
            ig_rt_add_buffer(b, twin, IG_PLACE_FIXED, 0);
  if (!ok) return NULL;
  b->buffers.at[b->buffers.n - 1].constant = t;
  return twin;
}

static void view_constants(ig_binding *b, const ig_op *op, const ig_value *args, ig_value *outs) {
  ig_ctx *c = b->plan->c;
  ig_value *own = ig_scope_array(c, op->schema.nargs + 1, sizeof *own);
  for (size_t i = 0; own && i < op->schema.nargs; i++) {
    own[i] = args[i];
    if (args[i].kind != IG_KIND_TENSOR) continue;
    own[i].tensor = fixed_twin(b, args[i].tensor);
    if (!own[i].tensor) return;
  }
  if (own) call_inside(c, op, own, outs, false);
}

// Do its sizes follow from those of the inputs?
static bool is_computable(const ig_binding *b, const ig_tensor *t) {
  for (int d = 0; d < 2 * t->ndim; d++) {
    if (!is_kept(b, t->dims[d].expr)) return false;
  }
  return is_kept(b, t->offset.expr);
}

typedef struct maker {
  ig_binding *b;
  bool ok;
} maker;

static void add_result(void *user, ig_tensor *t) {
  maker *m = user;
  bool good = ig_is_fake(t) && !t->quantizer && is_computable(m->b, t) && !ig_rt_find(m->b, t);
  m->ok = m->ok && good && ig_rt_add_buffer(m->b, t, IG_PLACE_SLAB, 0);
}

// Some of its calls cannot be prepared, and preparing one tells.
static bool is_doubtful(const ig_op *op) {
  return op->def->run && (op->def->kernel || op->def->fake);
}

static void add_step(tracer *t, const ig_op *op, const ig_value *args, const ig_value *outs) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  ig_rt_step s = {.op = op, .node = t->node};
  s.args = ig_arena_array(&b->memory, op->schema.nargs + 1, sizeof *s.args);
  s.outs = ig_arena_array(&b->memory, op->schema.nrets + 1, sizeof *s.outs);
  bool ok = s.args && s.outs;
  for (size_t i = 0; ok && i < op->schema.nargs; i++) {
    s.args[i] = args[i];
    s.sized = s.sized || is_sized(&args[i]);
    ok = ig_rt_keep(b, &s.args[i]);
  }
  maker m = {b, ok};
  for (size_t i = 0; m.ok && i < op->schema.nrets; i++) {
    s.outs[i] = outs[i];
    m.ok = ig_rt_keep(b, &s.outs[i]);
    if (m.ok) ig_rt_each(&s.outs[i], add_result, &m);
  }
  ig_prep probe;
  // Symbolic sizes tell nothing; the first frame will.
  if (m.ok && !b->symbols && is_doubtful(op)) m.ok = ig_rt_prepare_step(b, &s, &probe);
  if (m.ok && ig_vec_push(c->alloc, &b->steps, s)) return;
  if (c->status == IG_OK) give_up(c);
}

// Operators of which only some calls draw random numbers (dropout) draw them in their formulas,
// never in a prepared kernel.
static bool may_draw(const ig_op *op) {
  return op->def->random || (ig_op_is_random(op) && !op->def->run);
}

// May its kernel be called again and again with the same operands and results?
static bool is_repeatable(const ig_op *op) {
  const ig_op_def *d = op->def;
  return !op->user && !op->base && !op->each && op->form == IG_FORM_PLAIN && (!d->fake || d->run) &&
         !d->may_alias && !d->resizes && !d->writes_too && (op->pointwise || ig_op_has_kernel(op));
}

static bool observe(ig_ctx *c, const ig_op *op, const ig_value *args, ig_value *outs, void *user) {
  tracer *t = user;
  census s = {.b = t->b};
  for (size_t i = 0; i < op->schema.nargs; i++) {
    ig_rt_each(&args[i], count, &s);
    s.sized = s.sized || is_sized(&args[i]);
  }
  if (s.odd || op->user) {
    give_up(c);
    return true;
  }
  if (!s.fake && !s.sized && !ig_op_is_random(op)) {  // constants
    call_inside(c, op, args, outs, false);
    return true;
  }
  if (op->composite) return false;
  if (!s.fake && op->schema.nrets == 0) {  // a check of sizes, which becomes a guard
    call_inside(c, op, args, outs, true);
    return true;
  }
  if (may_draw(op)) {
    give_up(c);
    return true;
  }
  if (op->def->view && !op->base && op->form == IG_FORM_PLAIN) {
    if (s.fake) {
      call_inside(c, op, args, outs, false);
    } else {
      view_constants(t->b, op, args, outs);
    }
    return true;
  }
  if (!is_repeatable(op)) {
    give_up(c);
    return true;
  }
  call_inside(c, op, args, outs, s.sized && !s.fake);
  if (c->status == IG_OK) add_step(t, op, args, outs);
  return true;
}

// ---- programs

static bool add_interpreted(tracer *t, const ig_node *n) {
  ig_ctx *c = t->b->plan->c;
  t->b->dynamic[n->index] = true;
  ig_rt_step s = {.node = n};
  return ig_vec_push(c->alloc, &t->b->steps, s) || ig_no_memory(c);
}

static bool is_plannable(const ig_binding *b, const ig_node *n) {
  for (size_t i = 0; i < n->ninputs; i++) {
    if (b->dynamic[n->inputs[i]->index]) return false;
  }
  if (n->kind == IG_NODE_ATTR) return n->constant != NULL;
  return n->kind == IG_NODE_CALL && (n->callee == IG_CALLEE_OP || n->callee == IG_CALLEE_GETITEM ||
                                     n->callee == IG_CALLEE_SIZE || n->callee == IG_CALLEE_SYM);
}

// A node that could not be planned with symbols might be with numbers, unless that was tried.
static bool may_interpret(const ig_binding *b, size_t node) {
  const ig_plan *p = b->plan;
  return !b->symbols || (p->interpreted && p->interpreted[node]);
}

static bool trace_node(tracer *t, const ig_graph *g, const ig_node *n) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  if (!is_plannable(b, n)) return add_interpreted(t, n);
  mark before = {b->steps.n, b->buffers.n};
  t->node = n;
  ig_scope scope = ig_scope_open(c);
  ig_value v = ig_interpret_node(c, g, n, b->env);
  bool ok = c->status == IG_OK && ig_rt_keep(b, &v);
  ig_scope_close(c, scope);
  if (ok) {
    b->env[n->index] = v;
    return true;
  }
  if (!may_interpret(b, n->index) || ig_status_is_final(c->status)) return false;
  ig_ctx_clear(c);
  take_back(b, before);
  return add_interpreted(t, n);
}

static bool trace_graph(tracer *t, const ig_value *inputs) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  const ig_graph *g = b->plan->source.graph;
  b->env = ig_arena_array(&b->memory, g->next_index + 1, sizeof *b->env);
  b->dynamic = ig_arena_array(&b->memory, g->next_index + 1, sizeof *b->dynamic);
  if (!b->env || !b->dynamic) return ig_no_memory(c);
  for (const ig_node *n = g->first; n; n = n->next) {
    if (n->kind == IG_NODE_OUTPUT) {
      for (size_t i = 0; i < n->npos && i < b->plan->source.noutputs; i++) {
        const ig_value *v = &n->args[i];
        bool planned = v->kind == IG_KIND_NODE && !b->dynamic[v->node->index];
        b->outputs[i].value = planned ? b->env[v->node->index] : *v;
        b->outputs[i].dynamic = v->kind == IG_KIND_NODE && !planned;
      }
    } else if (ig_node_is_placeholder(n)) {
      b->env[n->index] = *inputs++;
    } else if (!trace_node(t, g, n)) {
      return false;
    }
  }
  return true;
}

// ---- models that are no graphs

typedef struct keeper {
  ig_binding *b;
  bool ok;
} keeper;

// Interpreted nodes may read it: it is real when the plan runs, and lies where the plan says.
static void keep_made(void *user, ig_tensor *t) {
  keeper *k = user;
  k->ok = k->ok && (!ig_is_fake(t) || ig_rt_find(k->b, t)) && ig_rt_hold(k->b, t);
}

static bool interpret_part(tracer *t, size_t part) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  if (!b->plan->source.nodes->leave(b->run, part)) return false;
  keeper k = {b, true};
  b->plan->source.nodes->each_operand(b->run, part, keep_made, &k);
  if (!k.ok) return false;
  ig_rt_step s = {.part = part};
  return ig_vec_push(c->alloc, &b->steps, s) || ig_no_memory(c);
}

static bool trace_part(tracer *t, size_t part) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  const ig_plan_nodes *nodes = b->plan->source.nodes;
  if (!nodes->is_ready(b->run, part)) return interpret_part(t, part);
  mark before = {b->steps.n, b->buffers.n};
  keeper k = {b, nodes->compute(b->run, part)};
  if (k.ok) nodes->each_result(b->run, part, keep_made, &k);
  if (k.ok) return true;
  if (!may_interpret(b, part) || ig_status_is_final(c->status)) return false;
  ig_ctx_clear(c);
  take_back(b, before);
  return interpret_part(t, part);
}

static bool has_planned_step(const ig_binding *b) {
  for (size_t i = 0; i < b->steps.n; i++) {
    if (b->steps.at[i].op) return true;
  }
  return b->steps.n == 0;
}

static bool take_outputs(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  ig_scope scope = ig_scope_open(c);
  bool ok = true;
  for (size_t i = 0; ok && i < b->plan->source.noutputs; i++) {
    ig_rt_output *o = &b->outputs[i];
    o->dynamic = !b->plan->source.nodes->output(b->run, i, &o->value);
    if (o->dynamic) o->value = ig_none();
    ok = c->status == IG_OK && ig_rt_keep(b, &o->value);
  }
  ig_scope_close(c, scope);
  return ok;
}

static bool trace_nodes(tracer *t, const ig_value *inputs) {
  ig_binding *b = t->b;
  ig_plan *p = b->plan;
  const ig_plan_nodes *nodes = p->source.nodes;
  b->run = nodes->open(p->c, p->source.user, inputs);
  if (!b->run) return false;
  for (size_t i = 0; i < nodes->count(b->run); i++) {
    if (!trace_part(t, i)) return false;
  }
  b->interpreted = !has_planned_step(b);
  if (!b->interpreted) return take_outputs(b) && nodes->settle(b->run);
  nodes->close(b->run);
  b->run = NULL;
  b->steps.n = 0;
  return true;
}

// As a whole, or not at all.
static bool trace_function(tracer *t, const ig_value *inputs) {
  ig_binding *b = t->b;
  ig_ctx *c = b->plan->c;
  const ig_plan_source *source = &b->plan->source;
  ig_scope scope = ig_scope_open(c);
  ig_value *outs = ig_scope_array(c, source->noutputs + 1, sizeof *outs);
  bool ok = outs && source->run(c, source->user, inputs, outs) == IG_OK;
  for (size_t i = 0; ok && i < source->noutputs; i++) {
    b->outputs[i].value = outs[i];
    ok = ig_rt_keep(b, &b->outputs[i].value);
  }
  ig_scope_close(c, scope);
  if (ok) return true;
  if (b->symbols || ig_status_is_final(c->status)) return false;
  ig_ctx_clear(c);
  b->interpreted = true;
  return true;
}

static bool bind_inputs(ig_binding *b, const ig_value *inputs) {
  ig_plan *p = b->plan;
  for (size_t i = 0; i < p->source.ninputs; i++) {
    b->inputs[i] = inputs[i];
    bool varies = inputs[i].kind == IG_KIND_TENSOR && !p->constant[i];
    if (varies) b->inputs[i].tensor = ig_rt_fake_input(b, i, inputs[i].tensor);
    if (varies && !b->inputs[i].tensor) return false;
    if (!ig_rt_keep(b, &b->inputs[i])) return false;
    if (varies && !ig_rt_add_buffer(b, b->inputs[i].tensor, IG_PLACE_INPUT, i)) return false;
  }
  return true;
}

bool ig_rt_trace(ig_binding *b, const ig_value *inputs) {
  ig_ctx *c = b->plan->c;
  tracer t = {.b = b};
  ig_rewrite observer = {.fn = observe, .user = &t, .eager = true};
  enum { ALL = IG_MODE_REWRITE | IG_MODE_SYM | IG_MODE_NO_GRAD };
  struct ig_sym *sym = b->symbols ? b->symbols->sym : NULL;
  ig_mode_change change = {ALL, {.rewrite = &observer, .sym = sym, .no_grad = true}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_scope scope = ig_scope_open(c);
  bool ok = bind_inputs(b, inputs);
  const ig_plan_source *source = &b->plan->source;
  if (ok) {
    ok = source->graph   ? trace_graph(&t, b->inputs)
         : source->nodes ? trace_nodes(&t, b->inputs)
                         : trace_function(&t, b->inputs);
  }
  ig_scope_close(c, scope);
  ig_mode_pop(c, &mode);
  if (!ok && c->status == IG_OK) give_up(c);
  return ok;
}
