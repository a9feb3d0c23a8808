// SPDX-License-Identifier: Apache-2.0
// Plans by sizes: finding the binding of a run or making it, and running it.
#include "rt/plan.h"

#include <string.h>

#include "base/blocks.h"
#include "base/budget.h"
#include "base/clock.h"
#include "op/interpret.h"
#include "rt/frame.h"
#include "rt/packs.h"

// Bindings that are kept; the one that was not used for the longest time makes room.
enum { KEPT = 16, ALIGN = 64, PAGE = 4096 };

// ---- lifetime

ig_plan *ig_plan_create(ig_ctx *c, const ig_plan_source *source, unsigned without) {
  if (c->status != IG_OK) return NULL;
  ig_plan *p = ig_mem_new(c->alloc, sizeof *p);
  if (!p) {
    (void)ig_no_memory(c);
    return NULL;
  }
  p->c = c;
  p->text = ig_str_make(c->alloc);
  p->source = *source;
  p->without = without;
  p->constant = ig_mem_array(c->alloc, source->ninputs + 1, sizeof *p->constant);
  if (!p->constant) {
    ig_plan_free(p);
    (void)ig_no_memory(c);
    return NULL;
  }
  for (size_t i = 0; i < source->ninputs; i++) {
    p->constant[i] = source->constant && source->constant[i];
  }
  p->source.constant = p->constant;
  p->packs = source->packs ? ig_packs_retain(source->packs) : ig_packs_create(c);
  if (p->packs) return p;
  ig_plan_free(p);
  return NULL;
}

static void drop_packed(const ig_binding *b) {
  for (size_t i = 0; i < b->steps.n; i++) {
    const ig_rt_step *s = &b->steps.at[i];
    if (s->held) ig_packs_drop(b->plan->packs, s->held);
  }
}

static void free_binding(ig_binding *b) {
  if (!b) return;
  ig_ctx *c = b->plan->c;
  if (b->run) b->plan->source.nodes->close(b->run);
  ig_rt_free_frames(b);
  ig_rt_free_symbols(b);
  ig_rt_free_layers(b);
  drop_packed(b);
  for (size_t i = 0; i < b->held.n; i++) ig_tensor_release(b->held.at[i]);
  for (size_t i = 0; i < b->buffers.n; i++) ig_ref_release(&b->buffers.at[i].storage->ref);
  ig_vec_free(c->alloc, &b->held);
  ig_vec_free(c->alloc, &b->buffers);
  ig_vec_free(c->alloc, &b->steps);
  ig_vec_free(c->alloc, &b->groups);
  ig_table_free(&b->by_storage);
  ig_arena_free(&b->memory);
  ig_mem_free(c->alloc, b, sizeof *b);
}

static void free_bindings(ig_plan *p) {
  for (ig_binding *b = p->bindings; b;) {
    ig_binding *next = b->next;
    free_binding(b);
    b = next;
  }
  p->bindings = NULL;
  p->nbindings = 0;
}

void ig_plan_free(ig_plan *p) {
  if (!p) return;
  ig_ctx *c = p->c;
  free_bindings(p);
  ig_packs_free(p->packs);
  ig_str_free(&p->text);
  ig_block_free(c->alloc, p->slab, p->slab_size);
  ig_block_free(c->alloc, p->work, p->work_size);
  ig_mem_array_free(c->alloc, p->constant, p->source.ninputs + 1, sizeof *p->constant);
  ig_mem_array_free(c->alloc, p->interpreted, p->nnodes + 1, sizeof *p->interpreted);
  ig_mem_free(c->alloc, p, sizeof *p);
}

// ---- keys

// The same bits: NaN equals itself, and zeros differ by their sign.
static bool same_double(double a, double b) {
  uint64_t bits[2];
  memcpy(&bits[0], &a, sizeof a);
  memcpy(&bits[1], &b, sizeof b);
  return bits[0] == bits[1];
}

static bool same_input(const ig_value *a, const ig_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case IG_KIND_NONE:
      return true;
    case IG_KIND_TENSOR: {
      const ig_tensor *x = a->tensor;
      const ig_tensor *y = b->tensor;
      if (x->dtype != y->dtype || x->ndim != y->ndim) return false;
      for (int d = 0; d < 2 * x->ndim; d++) {
        if (x->dims[d].value != y->dims[d].value) return false;
      }
      return true;
    }
    case IG_KIND_INT:
      return a->i.value == b->i.value;
    case IG_KIND_FLOAT:
      return same_double(a->f, b->f);
    case IG_KIND_BOOL:
      return a->b == b->b;
    case IG_KIND_STR:
      return strcmp(a->str, b->str) == 0;
    default:
      return false;
  }
}

// Only what a key can describe is planned.
static bool is_plain(const ig_value *v) {
  const ig_tensor *t = v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
  if (t) {
    return !t->quantizer && t->device.type == IG_DEVICE_CPU && !ig_is_fake(t) &&
           !ig_tensor_is_symbolic(t);
  }
  return v->kind == IG_KIND_NONE || (v->kind == IG_KIND_INT && !v->i.expr) ||
         (v->kind == IG_KIND_FLOAT && !v->f_expr) || (v->kind == IG_KIND_BOOL && !v->b_expr) ||
         v->kind == IG_KIND_STR;
}

static bool can_plan(const ig_plan *p, const ig_value *inputs) {
  const ig_modes *m = p->c->mode;
  if (m->capture || m->rewrite || m->fake || m->autocasts || m->watch || m->draft) return false;
  for (size_t i = 0; i < p->source.ninputs; i++) {
    if (!p->constant[i] && !is_plain(&inputs[i])) return false;
  }
  return true;
}

// Is the binding for inputs like these, if its guards hold?
static bool fits(const ig_binding *b, const ig_value *inputs) {
  const ig_plan *p = b->plan;
  const ig_rt_symbols *s = b->symbols;
  if (b->dtype != ig_ctx_default_dtype(p->c) || b->threads != ig_threads_get()) return false;
  if (b->level != ig_cpu_level()) return false;
  for (size_t k = 0; s && k < s->n; k++) s->values[k] = -1;
  for (size_t i = 0; i < p->source.ninputs; i++) {
    if (p->constant[i]) continue;
    if (s && s->sizes[i]) {
      if (inputs[i].kind != IG_KIND_TENSOR || !ig_rt_read_symbols(b, i, inputs[i].tensor)) {
        return false;
      }
    } else if (!same_input(&b->inputs[i], &inputs[i])) {
      return false;
    }
  }
  return true;
}

// ---- making a binding

typedef struct inspection {
  const ig_binding *b;
  bool constant;
} inspection;

static void inspect(void *user, ig_tensor *t) {
  inspection *i = user;
  i->constant = i->constant && !ig_is_fake(t) && !ig_rt_find(i->b, t);
}

// Does the kernel pack arguments, which are all constants?
static bool packs_constants(const ig_binding *b, const ig_rt_step *s) {
  inspection i = {b, s->op->def->pack != NULL};
  for (size_t a = 0; i.constant && a < s->op->schema.nargs; a++) {
    if (s->op->def->packs >> a & 1) ig_rt_each(&s->args[a], inspect, &i);
  }
  return i.constant;
}

bool ig_rt_prepare_step(ig_binding *b, const ig_rt_step *s, ig_prep *prep) {
  ig_ctx *c = b->plan->c;
  if (packs_constants(b, s)) {
    ig_prepare_packing(c, s->op, s->args, s->outs, prep);
  } else {
    ig_prepare(c, s->op, s->args, s->outs, prep);
  }
  if (c->status != IG_OK) return false;
  size_t bytes = ig_need_bytes(&prep->need);
  if (bytes >= IG_SIZE_NONE) return ig_no_memory(c);
  if (bytes > b->work) b->work = bytes;
  return true;
}

bool ig_rt_pack_step(ig_binding *b, ig_rt_step *s, ig_prep *prep) {
  if (!prep->packed_size) return true;
  if (!s->held) s->held = ig_packs_hold(b->plan->c, b->plan->packs, s->op, prep, s->args);
  if (s->held) prep->packed = ig_packs_data(s->held);
  return s->held != NULL;
}

// Everything that does not depend on the sizes that vary; comparisons of these become guards.
static bool make_steps(ig_binding *b, const ig_value *inputs) {
  if (!ig_rt_trace(b, inputs) || !ig_rt_make_outputs(b)) return false;
  if (b->interpreted) return true;
  if (!ig_rt_find_lifetimes(b) || !ig_rt_make_layers(b)) return false;
  if (!ig_rt_find_lifetimes(b) || !ig_rt_make_chains(b)) return false;
  if (!ig_rt_find_lifetimes(b)) return false;
  ig_rt_join(b);
  return ig_rt_match_outputs(b) && b->plan->c->status == IG_OK;
}

static bool build(ig_binding *b, const ig_value *inputs, bool symbolic) {
  ig_plan *p = b->plan;
  ig_ctx *c = p->c;
  b->inputs = ig_arena_array(&b->memory, p->source.ninputs + 1, sizeof *b->inputs);
  b->outputs = ig_arena_array(&b->memory, p->source.noutputs + 1, sizeof *b->outputs);
  if (!b->inputs || !b->outputs) return ig_no_memory(c);
  if (symbolic && !ig_rt_make_symbols(b, inputs)) return false;
  if (!b->symbols) return make_steps(b, inputs) && (b->interpreted || ig_rt_add_frame(b));
  ig_mode_scope mode = ig_mode_push_sym(c, b->symbols->sym);
  bool ok = make_steps(b, inputs) && !b->interpreted;
  ig_mode_pop(c, &mode);
  return ok && ig_rt_collect_slots(b) && ig_rt_add_frame(b);
}

static ig_binding *create_binding(ig_plan *p) {
  ig_ctx *c = p->c;
  ig_binding *b = ig_mem_new(c->alloc, sizeof *b);
  if (!b) {
    (void)ig_no_memory(c);
    return NULL;
  }
  b->plan = p;
  b->dtype = ig_ctx_default_dtype(c);
  b->threads = ig_threads_get();
  b->level = ig_cpu_level();
  b->memory = ig_arena_make(c->alloc);
  b->by_storage = ig_table_make(c->alloc);
  return b;
}

static void drop_oldest(ig_plan *p) {
  ig_binding **at = &p->bindings;
  while ((*at)->next) at = &(*at)->next;
  free_binding(*at);
  *at = NULL;
  p->nbindings--;
}

// Runs of these sizes are left to the interpreter: only the key remains.
static bool leave(ig_binding **b, const ig_value *inputs) {
  ig_plan *p = (*b)->plan;
  ig_ctx *c = p->c;
  ig_ctx_clear(c);
  free_binding(*b);
  *b = create_binding(p);
  if (!*b) return false;
  (*b)->interpreted = true;
  (*b)->inputs = ig_arena_array(&(*b)->memory, p->source.ninputs + 1, sizeof *(*b)->inputs);
  if (!(*b)->inputs) return ig_no_memory(c);
  ig_scope s = ig_scope_open(c);
  bool ok = true;
  for (size_t i = 0; ok && i < p->source.ninputs; i++) {
    ig_value v = inputs[i];
    if (v.kind == IG_KIND_TENSOR && !p->constant[i]) v.tensor = ig_tensor_fake(c, v.tensor);
    ok = c->status == IG_OK && (p->constant[i] || ig_rt_keep(*b, &v));
    (*b)->inputs[i] = v;
  }
  ig_scope_close(c, s);
  return ok;
}

// Notes what is interpreted with numbers as well. False: nothing, or it was noted before.
static bool note_interpreted(ig_plan *p, const ig_binding *b) {
  if (p->interpreted || b->interpreted) return false;
  const ig_plan_source *s = &p->source;
  p->nnodes = s->graph ? s->graph->next_index : b->run ? s->nodes->count(b->run) : 0;
  p->interpreted = ig_mem_array(p->c->alloc, p->nnodes + 1, sizeof *p->interpreted);
  bool any = false;
  for (size_t i = 0; p->interpreted && i < b->steps.n; i++) {
    const ig_rt_step *step = &b->steps.at[i];
    if (!ig_rt_is_interpreted(step)) continue;
    p->interpreted[b->run ? step->part : step->node->index] = true;
    any = true;
  }
  return any;
}

static ig_binding *make_binding(ig_plan *p, const ig_value *inputs) {
  ig_ctx *c = p->c;
  if (p->source.admit && p->source.admit(c, p->source.user, inputs) != IG_OK) return NULL;
  ig_binding *b = create_binding(p);
  if (!b) return NULL;
  bool symbolic = !p->numbers && !(p->without & IG_PLAN_NO_SYMBOLS);
  bool ok = build(b, inputs, symbolic);
  if (!ok && b->symbols && !ig_status_is_final(c->status)) {
    // Something needs numbers: a loop, an operator that reads elements. Each combination of sizes
    // is planned, unless numbers do not help either. Sizes that leave a tensor empty need them only
    // for themselves.
    bool empty = b->empty;
    ig_ctx_clear(c);
    free_binding(b);
    b = create_binding(p);
    if (!b) return NULL;
    ok = build(b, inputs, false);
    p->numbers = ok && !b->interpreted && !empty && !note_interpreted(p, b);
  }
  if (!ok && !ig_status_is_final(c->status)) ok = leave(&b, inputs);
  if (!ok) {
    if (c->status == IG_OK) (void)ig_no_memory(c);
    free_binding(b);
    return NULL;
  }
  if (p->nbindings == KEPT) drop_oldest(p);
  b->next = p->bindings;
  p->bindings = b;
  p->nbindings++;
  return b;
}

static ig_binding *put_first(ig_plan *p, ig_binding **at) {
  ig_binding *b = *at;
  *at = b->next;
  b->next = p->bindings;
  p->bindings = b;
  return b;
}

// A new frame of the binding; false after an error. Sizes that its kernels refuse are none.
static bool extend(ig_binding *b, const ig_value *inputs, bool *done) {
  ig_plan *p = b->plan;
  ig_ctx *c = p->c;
  if (p->source.admit && p->source.admit(c, p->source.user, inputs) != IG_OK) return false;
  *done = ig_rt_add_frame(b);
  if (*done) return true;
  if (ig_status_is_final(c->status)) return false;
  ig_ctx_clear(c);
  return true;
}

static ig_binding *find_binding(ig_plan *p, const ig_value *inputs) {
  for (ig_binding **at = &p->bindings; *at; at = &(*at)->next) {
    if (!fits(*at, inputs)) continue;
    if ((*at)->interpreted || ig_rt_use_frame(*at)) return put_first(p, at);
  }
  for (ig_binding **at = &p->bindings; *at; at = &(*at)->next) {
    bool done = false;
    if (!(*at)->symbols || !fits(*at, inputs) || !ig_rt_guards_hold(*at)) continue;
    if (!extend(*at, inputs, &done)) return NULL;
    if (done) return put_first(p, at);
  }
  return make_binding(p, inputs);
}

// ---- memory

static bool grow(ig_ctx *c, void **block, size_t *size, size_t need) {
  need = ig_mem_add(need, ALIGN);
  if (*block && need <= *size) return true;
  // Sizes that grow step by step (a longer text in every run) shall not take memory in every step.
  size_t more = ig_mem_add(*size, *size / 4);
  if (need < more) need = more;
  ig_block_free(c->alloc, *block, *size);
  *block = NULL;
  *size = 0;
  need = ig_mem_add(need, PAGE - 1) / PAGE * PAGE;
  *block = need < IG_SIZE_NONE ? ig_block_new(c->alloc, need) : NULL;
  if (!*block) {
    return ig_fail(c, IG_NOMEM, "out of memory: %zu bytes to run a model", need) == IG_OK;
  }
  *size = need;
  return true;
}

static char *aligned(void *p) {
  return (char *)p + (ALIGN - (uintptr_t)p % ALIGN) % ALIGN;
}

static bool attach(ig_binding *b, const ig_value *inputs) {
  ig_plan *p = b->plan;
  if (!grow(p->c, &p->slab, &p->slab_size, b->slab)) return false;
  if (!grow(p->c, &p->work, &p->work_size, b->work)) return false;
  char *base = aligned(p->slab);
  bool moved = base != b->base;
  for (size_t i = 0; i < b->buffers.n; i++) {
    const ig_rt_buffer *x = &b->buffers.at[i];
    bool inside = x->place == IG_PLACE_SLAB || x->place == IG_PLACE_PART;
    if (inside && moved) x->storage->data = base + x->offset;
    if (x->place == IG_PLACE_INPUT) x->storage->data = ig_tensor_data(inputs[x->index].tensor);
  }
  b->base = base;
  return true;
}

// ---- running

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

static bool keep_lists(ig_ctx *c, ig_arena *lists, ig_value *v) {
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_arena_array(lists, v->list.n + 1, sizeof *items);
  if (!items) return ig_no_memory(c);
  for (size_t i = 0; i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!keep_lists(c, lists, &items[i])) return false;
  }
  v->list.at = items;
  return true;
}

static void interpret(ig_binding *b, const ig_rt_step *s, ig_arena *lists) {
  ig_ctx *c = b->plan->c;
  const ig_node *n = s->node;
  if (b->run) {
    (void)b->plan->source.nodes->compute(b->run, s->part);
    return;
  }
  ig_scope scope = ig_scope_open(c);
  ig_value v = ig_interpret_node(c, b->plan->source.graph, n, b->env);
  if (c->status == IG_OK && keep_lists(c, lists, &v)) {
    retain(&v);
    b->env[n->index] = v;
  }
  ig_scope_close(c, scope);
}

static void execute(ig_binding *b, ig_rt_step *s, char *work, ig_arena *lists) {
  ig_ctx *c = b->plan->c;
  if (s->joined) return;
  if (s->chain) {
    ig_chain_run(c, s->chain);
  } else if (s->layer) {
    ig_rt_run_layer(c, s->layer, work);
  } else if (!s->op) {
    interpret(b, s, lists);
  } else if (s->prep) {
    ig_prepared_run(c, s->op, s->prep, s->args, s->outs, work);
  } else {
    ig_compute(c, s->op, s->args, s->outs);
  }
}

static void run_steps(ig_binding *b, ig_arena *lists) {
  ig_plan *p = b->plan;
  ig_ctx *c = p->c;
  char *work = aligned(p->work);
  double begin = p->timed ? ig_clock_seconds() : 0;
  for (size_t i = 0; i < b->steps.n && ig_step(c) && c->status == IG_OK; i++) {
    ig_rt_step *s = &b->steps.at[i];
    double start = p->timed ? ig_clock_seconds() : 0;
    execute(b, s, work, lists);
    if (p->timed) {
      s->start = start - begin;
      s->last = ig_clock_seconds() - start;
      s->seconds += s->last;
    }
    if (p->measure && c->status == IG_OK) ig_rt_measure_layer(b, s);
    if (p->tell && c->status == IG_OK) ig_rt_tell(b, s);
  }
  b->runs++;
}

static bool run_binding(ig_binding *b, const ig_value *inputs, const ig_plan_target *targets,
                        ig_value *outs) {
  ig_ctx *c = b->plan->c;
  if (!attach(b, inputs) || !ig_rt_open_outputs(b, targets)) return false;
  ig_arena lists = ig_arena_make(c->alloc);
  ig_mode_scope mode = ig_mode_push_grad(c, !c->mode->no_grad);  // the graph may change it
  if (b->plan->tell) ig_rt_tell_inputs(b, inputs);
  run_steps(b, &lists);
  ig_mode_pop(c, &mode);
  bool ok = c->status == IG_OK && ig_rt_close_outputs(b, inputs, targets, outs);
  for (size_t i = 0; !b->run && i < b->steps.n; i++) {
    const ig_rt_step *s = &b->steps.at[i];
    if (ig_rt_is_interpreted(s)) release(&b->env[s->node->index]);
  }
  if (b->run) b->plan->source.nodes->forget(b->run);
  ig_arena_free(&lists);
  return ok;
}

static ig_status run_interpreted(ig_plan *p, const ig_value *inputs, const ig_plan_target *targets,
                                 ig_value *outs) {
  const ig_plan_source *s = &p->source;
  ig_status st =
      s->graph ? ig_interpret(p->c, s->graph, inputs, outs) : s->run(p->c, s->user, inputs, outs);
  if (st == IG_OK) (void)ig_rt_fill_targets(p, targets, outs);
  return p->c->status;
}

// Recorded operands are computed first.
static bool settle_inputs(ig_plan *p, const ig_value *inputs) {
  for (size_t i = 0; i < p->source.ninputs; i++) {
    ig_tensor *t = inputs[i].kind == IG_KIND_TENSOR ? inputs[i].tensor : NULL;
    if (t && ig_tensor_waits(t) && !ig_tensor_settle(p->c, t)) return false;
  }
  return true;
}

ig_status ig_plan_run(ig_plan *p, const ig_value *inputs, const ig_plan_target *targets,
                      ig_value *outs) {
  ig_ctx *c = p->c;
  if (c->status != IG_OK || !settle_inputs(p, inputs)) return c->status;
  if (!can_plan(p, inputs)) {
    if (p->source.admit) IG_RETURN_IF_ERR(p->source.admit(c, p->source.user, inputs));
    return run_interpreted(p, inputs, targets, outs);
  }
  ig_binding *b = find_binding(p, inputs);
  if (!b) return c->status;
  if (b->interpreted) return run_interpreted(p, inputs, targets, outs);
  if (run_binding(b, inputs, targets, outs)) return IG_OK;
  if (ig_status_is_final(c->status) || c->status == IG_MISMATCH) return c->status;
  // What stands in the data was refused. The interpreter refuses it too, and says where.
  ig_ctx_clear(c);
  return run_interpreted(p, inputs, targets, outs);
}

ig_status ig_plan_measure_losses(ig_plan *p, const ig_value *inputs, const ig_plan_measure *m) {
  ig_ctx *c = p->c;
  ig_scope scope = ig_scope_open(c);
  ig_value *outs = ig_scope_array(c, p->source.noutputs + 1, sizeof *outs);
  p->measure = m;
  ig_status st = outs ? ig_plan_run(p, inputs, NULL, outs) : c->status;
  p->measure = NULL;
  ig_scope_close(c, scope);
  free_bindings(p);
  return st;
}

// ---- looking

ig_plan_match ig_plan_output_match(const ig_plan *p, size_t output) {
  const ig_binding *b = p->bindings;
  return b && !b->interpreted ? b->outputs[output].match : IG_MATCH_BITS;
}

ig_status ig_plan_print(ig_plan *p, const ig_value *inputs, ig_str *out) {
  ig_ctx *c = p->c;
  if (c->status != IG_OK || !settle_inputs(p, inputs)) return c->status;
  const ig_binding *b = can_plan(p, inputs) ? find_binding(p, inputs) : NULL;
  if (b) ig_rt_print(b, out);
  if (!b && c->status == IG_OK) ig_str_add(out, "not planned: every run is interpreted\n");
  return c->status;
}

void ig_plan_watch(ig_plan *p, ig_plan_tell *fn, void *user) {
  p->tell = fn;
  p->tell_user = user;
}

void ig_plan_profile(ig_plan *p, bool on) {
  p->timed = on;
  for (ig_binding *b = p->bindings; on && b; b = b->next) {
    b->runs = 0;
    for (size_t i = 0; i < b->steps.n; i++) b->steps.at[i].seconds = 0;
  }
}
