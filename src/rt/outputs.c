// SPDX-License-Identifier: Apache-2.0
// Results outlive the run, so they are not in the slab. Each has up to IG_RT_SETS blocks, and a run
// writes to one that nobody outside refers to: a caller that drops its results before the next run,
// or keeps only the last ones (buffers that the program updates), costs no allocation.
#include <string.h>

#include "rt/binding.h"
#include "tensor/copy.h"

static bool join_group(ig_binding *b, ig_rt_output *o, ig_rt_buffer *x) {
  ig_ctx *c = b->plan->c;
  if (x->place == IG_PLACE_SLAB) {
    ig_rt_group fresh = {.buffer = (size_t)(x - b->buffers.at)};
    if (!ig_vec_push(c->alloc, &b->groups, fresh)) return ig_no_memory(c);
    x->place = IG_PLACE_OUTPUT;
    x->index = b->groups.n - 1;
  }
  o->group = (int64_t)x->index;
  b->groups.at[x->index].members++;
  return true;
}

bool ig_rt_make_outputs(ig_binding *b) {
  for (size_t i = 0; i < b->plan->source.noutputs && !b->interpreted; i++) {
    ig_rt_output *o = &b->outputs[i];
    o->group = o->input = -1;
    if (o->value.kind == IG_KIND_LIST) b->interpreted = true;
    if (o->value.kind != IG_KIND_TENSOR) continue;
    ig_rt_buffer *x = ig_rt_find(b, o->value.tensor);
    // Made by no call: sizes that depend on data.
    if (!x && ig_is_fake(o->value.tensor)) b->interpreted = true;
    if (x && x->place == IG_PLACE_INPUT) {
      o->input = (int64_t)x->index;
    } else if (x && x->place == IG_PLACE_FIXED) {
      continue;  // copied, as all constants are
    } else if (x && !join_group(b, o, x)) {
      return false;
    }
  }
  return true;
}

// ---- sets

static ig_tensor *make_bytes(ig_ctx *c, size_t n) {
  int64_t size = (int64_t)n;
  return ig_tensor_retain(ig_tensor_empty(c, IG_U8, &size, 1));
}

static ig_tensor *show(ig_ctx *c, const ig_tensor *like, ig_tensor *bytes) {
  ig_meta m;
  ig_meta_of(like, &m);
  m.view_of = bytes;
  return ig_tensor_retain(ig_tensor_make(c, &m, false));
}

static void drop_set(const ig_binding *b, ig_rt_sets *sets, ig_rt_shown *shown, size_t group,
                     size_t set) {
  ig_rt_sets *g = &sets[group];
  for (size_t i = 0; i < b->plan->source.noutputs; i++) {
    if (b->outputs[i].group != (int64_t)group) continue;
    ig_tensor_release(shown[i].at[set]);
    shown[i].at[set] = NULL;
  }
  ig_tensor_release(g->memory[set]);
  g->memory[set] = NULL;
}

static bool make_set(ig_binding *b, size_t group, size_t set) {
  ig_ctx *c = b->plan->c;
  ig_rt_sets *g = &b->sets[group];
  ig_scope s = ig_scope_open(c);
  g->memory[set] = make_bytes(c, b->buffers.at[b->groups.at[group].buffer].bytes);
  for (size_t i = 0; g->memory[set] && i < b->plan->source.noutputs; i++) {
    const ig_rt_output *o = &b->outputs[i];
    if (o->group != (int64_t)group) continue;
    b->shown[i].at[set] = show(c, o->value.tensor, g->memory[set]);
  }
  ig_scope_close(c, s);
  if (c->status != IG_OK) drop_set(b, b->sets, b->shown, group, set);
  return c->status == IG_OK;
}

static int count_of(const ig_ref *r) {
  return atomic_load_explicit(&r->count, memory_order_acquire);
}

// Does nobody but the plan refer to it?
static bool is_free(const ig_binding *b, size_t group, size_t set) {
  const ig_rt_sets *g = &b->sets[group];
  if (!g->memory[set]) return false;
  for (size_t i = 0; i < b->plan->source.noutputs; i++) {
    if (b->outputs[i].group != (int64_t)group) continue;
    if (count_of(&b->shown[i].at[set]->ref) != 1) return false;
  }
  return count_of(&g->memory[set]->storage->ref) == 1 + (int)b->groups.at[group].members;
}

static bool choose_set(ig_binding *b, size_t group) {
  ig_rt_sets *g = &b->sets[group];
  for (size_t k = 0; k < IG_RT_SETS; k++) {
    if (!is_free(b, group, k)) continue;
    g->set = k;
    return true;
  }
  size_t k = 0;
  while (k < IG_RT_SETS && g->memory[k]) k++;
  if (k == IG_RT_SETS) {  // all are in use: the oldest one is the callers' alone from now on
    k = (g->set + 1) % IG_RT_SETS;
    drop_set(b, b->sets, b->shown, group, k);
  }
  g->set = k;
  return make_set(b, group, k);
}

// ---- memory of the caller

static size_t bytes_of(const ig_tensor *t) {
  return (size_t)ig_tensor_numel(t) * ig_dtype_size(t->dtype);  // admitted: a tensor with data
}

static bool check_target(ig_ctx *c, size_t i, const ig_tensor *t, const ig_plan_target *target) {
  size_t have = bytes_of(t);
  if (have == target->bytes) return true;
  return ig_fail(c, IG_MISMATCH, "output %zu has %zu bytes, the caller's memory %zu", i, have,
                 target->bytes) == IG_OK;
}

// Can the program write its result there itself?
static bool is_direct(const ig_binding *b, const ig_rt_output *o) {
  const ig_tensor *t = o->value.tensor;
  const ig_rt_group *g = &b->groups.at[o->group];
  return g->members == 1 && ig_tensor_is_dense(t) && t->offset.value == 0 &&
         bytes_of(t) == b->buffers.at[g->buffer].bytes;
}

static bool wrap_target(ig_binding *b, size_t i, const ig_plan_target *target) {
  ig_ctx *c = b->plan->c;
  ig_rt_shown *shown = &b->shown[i];
  if (shown->bound && shown->bound->storage->data == target->data &&
      count_of(&shown->bound->ref) == 1) {
    return true;
  }
  const ig_tensor *t = b->outputs[i].value.tensor;
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  ig_foreign memory = {.data = target->data, .bytes = target->bytes};
  ig_scope s = ig_scope_open(c);
  ig_tensor *fresh = ig_tensor_retain(ig_tensor_wrap(c, t->dtype, sizes, t->ndim, &memory));
  ig_scope_close(c, s);
  if (!fresh) return false;
  ig_tensor_release(shown->bound);
  shown->bound = fresh;
  return true;
}

bool ig_rt_open_outputs(ig_binding *b, const ig_plan_target *targets) {
  ig_ctx *c = b->plan->c;
  for (size_t k = 0; k < b->groups.n; k++) b->sets[k].direct = NULL;
  for (size_t i = 0; targets && i < b->plan->source.noutputs; i++) {
    const ig_rt_output *o = &b->outputs[i];
    if (!targets[i].data || o->value.kind != IG_KIND_TENSOR) continue;
    if (!check_target(c, i, o->value.tensor, &targets[i])) return false;
    if (o->group < 0 || !is_direct(b, o)) continue;
    if (!wrap_target(b, i, &targets[i])) return false;
    b->sets[o->group].direct = targets[i].data;
  }
  for (size_t k = 0; k < b->groups.n; k++) {
    const ig_rt_sets *g = &b->sets[k];
    if (!g->direct && !choose_set(b, k)) return false;
    ig_rt_buffer *x = &b->buffers.at[b->groups.at[k].buffer];
    x->storage->data = g->direct ? g->direct : g->memory[g->set]->storage->data;
  }
  return true;
}

// ---- after the run

static ig_tensor *copy_of(ig_ctx *c, const ig_tensor *t) {
  ig_meta m;
  ig_meta_of(t, &m);
  m.offset = ig_const(0);
  ig_tensor *fresh = ig_tensor_make(c, &m, false);
  if (fresh) ig_tensor_copy(fresh, t);
  return fresh;
}

// The result shows an input: the same part of the tensor that was given.
static ig_tensor *part_of(ig_ctx *c, const ig_tensor *planned, const ig_tensor *source,
                          ig_tensor *given) {
  if (ig_rt_same_layout(c, planned, source)) {
    return ig_pool_add(c, &ig_tensor_retain(given)->ref) ? given : NULL;
  }
  ig_meta m;
  ig_meta_of(planned, &m);
  m.view_of = given;
  m.strided = true;
  // In elements of the result, which may be of another size.
  int64_t start = given->offset.value * (int64_t)ig_dtype_size(given->dtype);
  m.offset = ig_const(start / (int64_t)ig_dtype_size(m.dtype) + planned->offset.value);
  return ig_tensor_make(c, &m, false);
}

static bool is_input(const ig_value *inputs, size_t n, const ig_tensor *t) {
  for (size_t i = 0; i < n; i++) {
    if (inputs[i].kind == IG_KIND_TENSOR && inputs[i].tensor == t) return true;
  }
  return false;
}

// Results of interpreted nodes may show memory of the plan, which the next run overwrites.
static ig_tensor *outside(ig_binding *b, ig_tensor *t) {
  return ig_rt_find(b, t) ? copy_of(b->plan->c, t) : t;
}

static bool settle(ig_binding *b, ig_value *v) {
  ig_ctx *c = b->plan->c;
  if (v->kind == IG_KIND_TENSOR) {
    v->tensor = outside(b, v->tensor);
    return v->tensor && ig_pool_add(c, &ig_tensor_retain(v->tensor)->ref);
  }
  if (v->kind != IG_KIND_LIST) return true;
  ig_value *items = ig_scope_array(c, v->list.n + 1, sizeof *items);
  for (size_t i = 0; items && i < v->list.n; i++) {
    items[i] = v->list.at[i];
    if (!settle(b, &items[i])) return false;
  }
  v->list.at = items;
  return items != NULL;
}

static bool close_output(ig_binding *b, size_t i, const ig_value *inputs, ig_value *out) {
  ig_ctx *c = b->plan->c;
  const ig_rt_output *o = &b->outputs[i];
  *out = o->value;
  if (o->dynamic && b->run) {
    return b->plan->source.nodes->output(b->run, i, out) && settle(b, out);
  }
  if (o->dynamic) {
    *out = b->env[o->value.node->index];
    return settle(b, out);
  }
  if (o->value.kind != IG_KIND_TENSOR) return true;
  ig_tensor *t = o->value.tensor;
  if (o->group >= 0) {
    const ig_rt_sets *g = &b->sets[o->group];
    const ig_rt_shown *shown = &b->shown[i];
    out->tensor = ig_tensor_retain(g->direct ? shown->bound : shown->at[g->set]);
    return ig_pool_add(c, &out->tensor->ref);
  }
  if (o->input >= 0) {
    out->tensor = part_of(c, t, b->inputs[o->input].tensor, inputs[o->input].tensor);
  } else if (is_input(inputs, b->plan->source.ninputs, t)) {
    return ig_pool_add(c, &ig_tensor_retain(t)->ref);
  } else {
    out->tensor = copy_of(c, t);  // the plan's own constant
  }
  return out->tensor != NULL;
}

bool ig_rt_close_outputs(ig_binding *b, const ig_value *inputs, const ig_plan_target *targets,
                         ig_value *outs) {
  for (size_t i = 0; i < b->plan->source.noutputs; i++) {
    if (!close_output(b, i, inputs, &outs[i])) return false;
  }
  return ig_rt_fill_targets(b->plan, targets, outs);
}

bool ig_rt_fill_targets(ig_plan *p, const ig_plan_target *targets, const ig_value *outs) {
  for (size_t i = 0; targets && i < p->source.noutputs; i++) {
    const ig_tensor *t = outs[i].kind == IG_KIND_TENSOR ? outs[i].tensor : NULL;
    if (!targets[i].data || !t) continue;
    if (!check_target(p->c, i, t, &targets[i])) return false;
    if (bytes_of(t) && ig_tensor_data(t) != targets[i].data) {
      ig_tensor_read(t, t->dtype, targets[i].data);
    }
  }
  return true;
}

void ig_rt_free_sets(const ig_binding *b, ig_rt_sets *sets, ig_rt_shown *shown) {
  for (size_t k = 0; k < b->groups.n; k++) {
    for (size_t set = 0; set < IG_RT_SETS; set++) drop_set(b, sets, shown, k, set);
  }
  for (size_t i = 0; i < b->plan->source.noutputs; i++) ig_tensor_release(shown[i].bound);
}
