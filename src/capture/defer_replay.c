// SPDX-License-Identifier: Apache-2.0
// What was recorded, computed: calls repeated, results put into the tensors that wait for them.
#include <string.h>

#include "capture/defer_parts.h"
#include "ingot/aten.h"
#include "op/grad_mode.h"
#include "op/record.h"
#include "op/tape.h"

// ---- closing

static ig_tensor *input_at(const ig_defer *d, size_t i) {
  return d->values.at[d->inputs.at[i]].tensor;
}

static bool close_input(ig_ctx *c, ig_defer *d, size_t i) {
  const ig_tensor *t = input_at(d, i);
  bool ok = ig_defer_word(c, d, (uint64_t)t->dtype << 32 | (uint32_t)t->ndim) &&
            ig_defer_word(c, d, (uint64_t)t->device.type << 16 | (uint16_t)t->device.index) &&
            ig_defer_word(c, d, d->host.kind(t, d->host.user)) &&
            ig_defer_word(c, d, (t->requires_grad ? 2U : 0U) | (t->inference ? 1U : 0U)) &&
            ig_defer_word(c, d, d->inputs.at[i]);
  for (int k = 0; ok && k < t->ndim; k++)
    ok = ig_defer_slot_add(c, d, ig_sizes(t)[k], IG_SLOT_SIZE, i, (size_t)k);
  for (int k = 0; ok && k < t->ndim; k++)
    ok = ig_defer_slot_add(c, d, ig_strides(t)[k], IG_SLOT_STRIDE, i, (size_t)k);
  return ok;
}

static uint64_t hash_of(const ig_defer *d) {
  uint64_t h = 0x9e3779b97f4a7c15U;
  for (size_t i = 0; i < d->words.n; i++) {
    h = (h ^ d->words.at[i]) * 0xff51afd7ed558ccdU;
    h ^= h >> 32;
  }
  return h;
}

bool ig_defer_close(ig_ctx *c, ig_defer *d) {
  bool ok = ig_defer_word(c, d, d->inputs.n);
  for (size_t i = 0; ok && i < d->inputs.n; i++) ok = close_input(c, d, i);
  for (size_t i = 0; ok && i < d->values.n; i++) {
    const ig_defer_value *v = &d->values.at[i];
    if (v->input || atomic_load(&v->tensor->ref.count) == 1) continue;
    ok = ig_vec_push(d->alloc, &d->outputs, (uint32_t)i)
             ? ig_defer_word(c, d, i)
             : ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
  }
  uint64_t modes = (uint64_t)d->modes.dtype;
  modes = modes << 2 | (uint64_t)d->modes.inference << 1 | (uint64_t)d->no_grad;
  ok = ok && ig_defer_word(c, d, modes) &&
       ig_defer_word(c, d, (uint64_t)d->modes.device.type << 16 | (uint16_t)d->modes.device.index);
  d->hash = hash_of(d);
  return ok;
}

// ---- calling again

typedef struct replay {
  ig_ctx *c;
  ig_defer *d;
  ig_tensor **at;  // by number of the value
  ig_defer_number_fn *number;
  void *user;
  size_t slot;
} replay;

static bool map_value(replay *r, const ig_arg *a, ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) {
    const ig_table_slot *known = ig_table_find(&r->d->numbers, v->tensor);
    // Only a recording that ran out of memory does not know all its tensors.
    if (!known) return ig_fail(r->c, IG_NOMEM, "out of memory") == IG_OK;
    v->tensor = r->at[known->number];
  } else if (v->kind == IG_KIND_INT) {
    if (r->number) v->i = r->number(r->user, r->slot, r->at);
    r->slot++;
  } else if (ig_defer_is_float_slot(a, v)) {
    if (r->number) v->f_expr = r->number(r->user, r->slot, r->at).expr;
    r->slot++;
  } else if (v->kind == IG_KIND_INTS) {
    ig_int *at = ig_scope_array(r->c, v->ints.n + 1, sizeof *at);
    if (!at) return false;
    for (size_t k = 0; k < v->ints.n; k++, r->slot++) {
      at[k] = r->number ? r->number(r->user, r->slot, r->at) : v->ints.at[k];
    }
    v->ints.at = at;
  } else if (v->kind == IG_KIND_LIST) {
    ig_value *at = ig_scope_array(r->c, v->list.n + 1, sizeof *at);
    if (!at) return false;
    for (size_t k = 0; k < v->list.n; k++) {
      at[k] = v->list.at[k];
      if (!map_value(r, a, &at[k])) return false;
    }
    v->list.at = at;
  }
  return true;
}

static void keep(replay *r, const ig_value *recorded, const ig_value *made) {
  if (recorded->kind == IG_KIND_TENSOR && made->kind == IG_KIND_TENSOR) {
    const ig_table_slot *known = ig_table_find(&r->d->numbers, recorded->tensor);
    if (known && !r->at[known->number]) r->at[known->number] = ig_tensor_retain(made->tensor);
  }
  for (size_t k = 0; recorded->kind == IG_KIND_LIST && k < recorded->list.n; k++) {
    if (made->kind == IG_KIND_LIST && k < made->list.n)
      keep(r, &recorded->list.at[k], &made->list.at[k]);
  }
}

// Under the autocast of the recorded call.
static void call_under(ig_ctx *c, const ig_defer_call *call, const ig_value *args, ig_value *outs) {
  bool casts = call->autocast.at[0].on || call->autocast.at[1].on;
  if (!casts) {
    ig_call(c, call->op, args, outs);
    return;
  }
  ig_mode_change change = {IG_MODE_AUTOCAST | IG_MODE_AUTOCASTS,
                           {.autocast = call->autocast, .autocasts = true}};
  ig_mode_scope mode = ig_mode_push(c, &change);
  ig_call(c, call->op, args, outs);
  ig_mode_pop(c, &mode);
}

static void repeat(replay *r, const ig_defer_call *call) {
  ig_value args[IG_MAX_ARGS];
  ig_value outs[IG_MAX_RETURNS];
  const ig_op *op = call->op;
  ig_scope s = ig_scope_open(r->c);
  bool ok = call->outs || ig_fail(r->c, IG_NOMEM, "out of memory") == IG_OK;
  for (size_t i = 0; ok && i < op->schema.nargs; i++) {
    args[i] = call->args[i];
    ok = map_value(r, &op->schema.args[i], &args[i]);
  }
  if (ok) call_under(r->c, call, args, outs);
  for (size_t i = 0; call->outs && r->c->status == IG_OK && i < op->schema.nrets; i++) {
    keep(r, &call->outs[i], &outs[i]);
  }
  ig_scope_close(r->c, s);
}

static void switch_grad(ig_ctx *c, bool no_grad, void *host_fn) {
  if (c->mode->no_grad == no_grad) return;
  if (c->mode->capture) ig_record_grad_mode(c, !no_grad, host_fn);
  ig_mode_set(c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = no_grad}});
}

void ig_defer_replay(ig_ctx *c, ig_defer *d, ig_tensor *const *inputs, ig_defer_number_fn *number,
                     void *user, ig_tensor **outs) {
  replay r = {.c = c, .d = d, .number = number, .user = user};
  ig_mode_scope mode = ig_mode_push(c, &(ig_mode_change){IG_MODE_NO_GRAD, {.no_grad = d->no_grad}});
  r.at = ig_mem_array(d->alloc, d->values.n + 1, sizeof(ig_tensor *));
  if (!r.at) (void)ig_fail(c, IG_NOMEM, "out of memory");
  for (size_t i = 0; r.at && i < d->inputs.n; i++) {
    r.at[d->inputs.at[i]] = ig_tensor_retain(inputs[i]);
  }
  for (size_t i = 0; c->status == IG_OK && i < d->calls.n; i++) {
    switch_grad(c, d->calls.at[i].no_grad, d->grad_fn);
    repeat(&r, &d->calls.at[i]);
  }
  if (c->status == IG_OK) switch_grad(c, d->no_grad, d->grad_fn);
  ig_mode_pop(c, &mode);
  for (size_t i = 0; r.at && i < d->outputs.n; i++) {
    ig_tensor *t = c->status == IG_OK ? r.at[d->outputs.at[i]] : NULL;
    outs[i] = t;
    if (t) (void)ig_pool_add(c, &ig_tensor_retain(t)->ref);
  }
  for (size_t i = 0; r.at && i < d->values.n; i++) ig_tensor_release(r.at[i]);
  if (r.at) ig_mem_array_free(d->alloc, r.at, d->values.n + 1, sizeof(ig_tensor *));
}

// ---- results

// t becomes r, which nobody else has.
static void become(ig_ctx *c, ig_tensor *t, ig_tensor *r) {
  ig_storage *old = t->storage;
  ig_meta m;
  ig_meta_of(r, &m);
  ig_ref_retain(&r->storage->ref);
  t->storage = r->storage;
  if (old->fake && !old->behind) old->defer = NULL;
  ig_ref_release(&old->ref);
  t->defer = NULL;
  if (!ig_tensor_reshape_inplace(c, t, &m)) return;
  t->device = r->device;
  t->inference = r->inference;
  t->requires_grad = r->requires_grad;
  if (t->autograd) ig_autograd_free(t);
  t->autograd = r->autograd;
  r->autograd = NULL;
}

void ig_defer_become(ig_ctx *c, ig_defer *d, ig_tensor *t, ig_tensor *result, bool own) {
  ig_scope s = ig_scope_open(c);
  if (!own) {
    ig_mode_scope mode = ig_mode_push_grad(c, true);
    ig_value v = ig_of_tensor(result);
    result = ig_call_id(c, IG_ID_ALIAS, &v, 1);
    ig_mode_pop(c, &mode);
  }
  if (result) become(c, t, result);
  ig_table_slot *at = result && own ? ig_table_put(&d->became, result) : NULL;
  if (at) at->value = t;
  ig_scope_close(c, s);
}

void ig_defer_rebase(ig_defer *d) {
  for (size_t i = 0; d->became.n && i < d->outputs.n; i++) {
    struct ig_autograd *a = d->values.at[d->outputs.at[i]].tensor->autograd;
    const ig_table_slot *at = a && a->base ? ig_table_find(&d->became, a->base) : NULL;
    if (!at) continue;
    ig_tensor *old = a->base;
    a->base = ig_tensor_retain(at->value);
    ig_tensor_release(old);
  }
  ig_table_free(&d->became);
  d->became = ig_table_make(d->alloc);
}

bool ig_defer_is_idle(const ig_defer *d) {
  if (d->outputs.n) return false;
  for (size_t i = 0; i < d->calls.n; i++) {
    const ig_op *op = d->calls.at[i].op;
    if (ig_op_has_effect(op) || ig_op_is_random(op) || op->def->writes_too || op->user)
      return false;
  }
  return true;
}
