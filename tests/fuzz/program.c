// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ingot/aten.h"
#include "ingot/export.h"
#include "op/formula.h"
#include "tensor/copy.h"

typedef fuzz_program program;
typedef fuzz_step step;

enum { MAX_READ = 1 << 14 };

static int find(const fuzz_pool *p, const ig_tensor *t) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->at[i].kind == IG_KIND_TENSOR && p->at[i].tensor == t) return (int)i;
  }
  return -1;
}

// The same tensor over a copy of its memory; huge ones have little memory.
ig_tensor *fuzz_copied(ig_ctx *c, ig_tensor *t) {
  if (ig_is_fake(t)) return ig_tensor_fake(c, t);
  int64_t bytes = (int64_t)t->storage->bytes;
  ig_tensor *base = ig_tensor_empty(c, IG_U8, &bytes, 1);
  if (!base) return NULL;
  if (bytes) memcpy(ig_tensor_data(base), t->storage->data, (size_t)bytes);
  ig_meta m;
  ig_meta_of(t, &m);
  m.view_of = base;
  m.strided = true;
  return ig_tensor_make(c, &m, false);
}

// Programs have integers in its place.
static void note_quantized(program *p) {
  p->quantized = true;
  p->comparable = false;
}

// Counts a tensor among the inputs unless it is known.
static bool meet_tensor(program *p, ig_tensor *t) {
  if (find(&p->pool, t) >= 0) return true;
  if (t->quantizer) note_quantized(p);
  if (p->pool.n == FUZZ_POOL || p->ninputs == FUZZ_INPUTS) return false;
  ig_tensor *copy = fuzz_copied(p->c, t);
  if (!copy) return false;
  for (size_t i = 0; i < p->ninputs; i++) {
    const ig_tensor *other = p->pool.at[p->inputs[i]].tensor;
    if (other->storage == t->storage) p->comparable = false;
  }
  bool smooth = ig_dtype_is_float(t->dtype) || ig_dtype_is_complex(t->dtype);
  if (p->grads && smooth && !ig_is_fake(t) && draw_chance(&p->d, 70))
    ig_tensor_set_requires_grad(p->c, t, true);
  ig_ctx_clear(p->c);
  p->originals[p->ninputs] = copy;
  p->inputs[p->ninputs++] = p->pool.n;
  p->pool.at[p->pool.n++] = ig_of_tensor(t);
  return true;
}

static bool meet(program *p, const ig_value *v) {
  if (v->kind == IG_KIND_TENSOR) return meet_tensor(p, v->tensor);
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) {
    if (!meet(p, &v->list.at[i])) return false;
  }
  return true;
}

// Adds the results of a call, in order; lists one by one.
static void collect(fuzz_pool *pool, const ig_value *outs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ig_value *v = &outs[i];
    if (v->kind == IG_KIND_LIST) {
      collect(pool, v->list.at, v->list.n < 8 ? v->list.n : 8);
    } else if (v->kind == IG_KIND_INTS) {
      for (size_t k = 0; k < v->ints.n && k < 8 && pool->n < FUZZ_POOL; k++)
        pool->at[pool->n++] = ig_of_int(v->ints.at[k]);
    } else if (pool->n < FUZZ_POOL) {
      pool->at[pool->n++] = *v;
    }
  }
}

static void show_call(const fuzz_call *call) {
  if (!fuzz_shows()) return;
  fuzz_show("%s(", call->op->target);
  for (size_t i = 0; i < call->op->schema.nargs; i++) {
    if (i) fuzz_show(", ");
    fuzz_show_value(&call->args[i]);
  }
  fuzz_show(")\n");
}

// As a host calls: by position, then by keyword.
static void invoke(ig_ctx *c, const fuzz_call *call, ig_value *outs) {
  const ig_schema *s = &call->op->schema;
  const char *keys[IG_MAX_ARGS];
  for (size_t i = s->npos; i < s->nargs; i++) keys[i - s->npos] = s->args[i].name;
  ig_bound b = {.name = s->name,
                .values = call->args,
                .npos = s->npos,
                .nkw = s->nargs - s->npos,
                .keys = keys};
  fuzz_calls++;
  if (call->raw) {
    ig_call(c, call->op, call->args, outs);
  } else {
    ig_call_overload(c, call->op, &b, outs);
  }
  if (ig_ctx_status(c) != IG_OK && !ig_ctx_error(c)[0])
    fuzz_finding("%s refuses without a word", call->op->target);
}

static bool writes(const fuzz_call *call) {
  for (size_t i = 0; i < call->op->schema.nargs; i++) {
    if (call->op->schema.args[i].written) return true;
  }
  return false;
}

// Several indices, one element: what is there in the end depends on the order of writing.
static bool overlaps(const ig_tensor *t) {
  int64_t span = 1;
  for (int d = 0; d < t->ndim; d++) {
    if (ig_sizes(t)[d].value == 0) return false;
    span += (ig_sizes(t)[d].value - 1) * ig_strides(t)[d].value;
  }
  return ig_tensor_numel(t) > span;
}

static bool writes_overlapping(const fuzz_call *call) {
  for (size_t i = 0; i < call->op->schema.nargs; i++) {
    const ig_tensor *t = ig_value_tensor(&call->args[i]);
    if (call->op->schema.args[i].written && t && overlaps(t)) return true;
  }
  return false;
}

// What comes back can be read.
static void read_result(ig_ctx *c, const ig_value *v) {
  for (size_t i = 0; v->kind == IG_KIND_LIST && i < v->list.n; i++) read_result(c, &v->list.at[i]);
  if (v->kind != IG_KIND_TENSOR || ig_is_fake(v->tensor)) return;
  int64_t n = ig_tensor_numel(v->tensor);
  if (n > MAX_READ) return;
  if (v->tensor->quantizer) {
    (void)ig_dequantize_self(c, v->tensor);
    ig_ctx_clear(c);  // its scales may be those of other sizes
    return;
  }
  double *copy = malloc((size_t)n * sizeof *copy + 1);
  if (copy) ig_tensor_read(v->tensor, IG_F64, copy);
  free(copy);
}

static bool is_random(const ig_op *op) {
  const ig_op *record = op->base ? op->base : op;
  const char *waive = record->def->waive;
  return op->def->random || record->def->random || (waive && strstr(waive, "values:"));
}

bool fuzz_program_call(program *p, const fuzz_call *call, ig_value *outs) {
  const ig_op *op = call->op;
  if (p->nsteps == FUZZ_CALLS) return false;
  show_call(call);
  size_t known = p->pool.n;
  size_t ninputs = p->ninputs;
  for (size_t i = 0; i < op->schema.nargs; i++) {
    if (!meet(p, &call->args[i])) return false;
  }
  ig_mode_scope mode =
      ig_mode_push(p->c, &(ig_mode_change){p->inferred ? IG_MODE_FAKE : 0, {.fake = true}});
  invoke(p->c, call, outs);
  ig_mode_pop(p->c, &mode);
  if (ig_ctx_status(p->c) != IG_OK) {
    fuzz_show("  %s\n", ig_ctx_error(p->c));
    if (writes(call)) p->torn = true;
    p->pool.n = known;
    p->ninputs = ninputs;
    ig_ctx_clear(p->c);
    return false;
  }
  if (is_random(op) || writes_overlapping(call)) p->comparable = false;
  if (op->def->quantized == IG_QUANT_OWN) note_quantized(p);  // programs compute it in floats
  p->wrote |= writes(call);
  const ig_tensor *made = op->def->converts ? ig_value_tensor(&outs[0]) : NULL;
  const ig_tensor *given = made ? ig_value_tensor(&call->args[0]) : NULL;
  p->unconverted |= given && given->storage == made->storage;
  step *s = &p->steps[p->nsteps];
  s->call = *call;
  s->first = p->pool.n;
  collect(&p->pool, outs, op->schema.nrets);
  s->count = p->pool.n - s->first;
  for (size_t i = 0; i < op->schema.nrets; i++) read_result(p->c, &outs[i]);
  for (size_t i = s->first; i < p->pool.n; i++) {
    const ig_tensor *t = ig_value_tensor(&p->pool.at[i]);
    if (t && t->quantizer) note_quantized(p);
  }
  p->nsteps++;
  return true;
}

static void add_step(program *p) {
  fuzz_call call;
  ig_value outs[IG_MAX_RETURNS];
  const ig_op *op = fuzz_pick(p->c, &p->d);
  if (op && fuzz_make_call(p->c, &p->d, op, &p->pool, &call))
    (void)fuzz_program_call(p, &call, outs);
}

// ---- the same program again, on other tensors

static bool substitute(ig_ctx *c, const program *p, const fuzz_pool *to, const ig_value *in,
                       ig_value *out) {
  *out = *in;
  if (in->kind == IG_KIND_TENSOR) {
    int at = find(&p->pool, in->tensor);
    if (at < 0) return false;
    *out = to->at[at];
    return out->kind == IG_KIND_TENSOR;
  }
  if (in->kind == IG_KIND_LIST) {
    ig_value *items = ig_scope_push(c, in->list.n * sizeof *items + 1);
    if (!items) return false;
    for (size_t i = 0; i < in->list.n; i++) {
      if (!substitute(c, p, to, &in->list.at[i], &items[i])) return false;
    }
    out->list.at = items;
  }
  return true;
}

bool fuzz_program_replay(ig_ctx *c, const program *p, ig_tensor *const *inputs, fuzz_pool *to) {
  for (size_t i = 0; i < FUZZ_POOL; i++) to->at[i] = ig_none();
  for (size_t i = 0; i < p->ninputs; i++) {
    if (!inputs[i]) return false;
    to->at[p->inputs[i]] = ig_of_tensor(inputs[i]);
  }
  for (size_t k = 0; k < p->nsteps; k++) {
    const step *s = &p->steps[k];
    fuzz_call call = {.op = s->call.op, .raw = s->call.raw};
    ig_value outs[IG_MAX_RETURNS];
    for (size_t i = 0; i < call.op->schema.nargs; i++) {
      int from = s->call.from[i];
      if (from >= 0) {
        call.args[i] = to->at[from];
      } else if (!substitute(c, p, to, &s->call.args[i], &call.args[i])) {
        return false;
      }
    }
    fuzz_show("  again ");
    show_call(&call);
    invoke(c, &call, outs);
    if (ig_ctx_status(c) != IG_OK) return false;
    size_t first = to->n = s->first;
    collect(to, outs, call.op->schema.nrets);
    if (to->n - first != s->count)
      fuzz_finding("%s gives %zu results, then %zu", call.op->target, s->count, to->n - first);
  }
  to->n = p->pool.n;
  return true;
}

bool fuzz_same_look(const ig_tensor *a, const ig_tensor *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++) {
    if (ig_sizes(a)[d].value != ig_sizes(b)[d].value) return false;
  }
  return true;
}

// A program that gives an input other sizes (resize_, an out= that grows) cannot be captured.
static bool keeps_inputs(const program *p) {
  for (size_t i = 0; i < p->ninputs; i++) {
    const ig_tensor *now = p->pool.at[p->inputs[i]].tensor;
    if (!fuzz_same_look(now, p->originals[i])) return false;
  }
  return true;
}

void fuzz_program_begin(ig_ctx *c, draw d, bool grads, fuzz_program *p) {
  p->c = c;
  p->d = d;
  p->grads = grads;
  p->inferred = false;
  p->pool.n = p->nsteps = p->ninputs = p->noutputs = 0;
  p->comparable = true;
  p->torn = p->wrote = p->unconverted = p->quantized = p->fixed = false;
}

static void make(ig_ctx *c, size_t calls, fuzz_program *p) {
  do {
    add_step(p);
    ig_ctx_clear(c);
  } while (p->nsteps < calls && p->nsteps < FUZZ_CALLS && !draw_ended(&p->d));
  if (p->torn || !keeps_inputs(p)) p->comparable = false;
  // x.to(...) that changes nothing is x, but a copy in an exported program, as in PyTorch's: a
  // write to one of them is then not seen in the other.
  if (p->wrote && p->unconverted) p->comparable = false;
  for (size_t k = 0; k < p->nsteps; k++) {
    for (size_t i = 0; i < p->steps[k].count; i++) {
      size_t at = p->steps[k].first + i;
      if (p->pool.at[at].kind == IG_KIND_TENSOR) p->outputs[p->noutputs++] = at;
    }
  }
}

void fuzz_program_make(ig_ctx *c, draw d, size_t calls, bool grads, fuzz_program *p) {
  fuzz_program_begin(c, d, grads, p);
  make(c, calls, p);
}

void fuzz_program_infer(ig_ctx *c, draw d, size_t calls, fuzz_program *p) {
  fuzz_program_begin(c, d, false, p);
  p->inferred = true;
  make(c, calls, p);
  p->comparable = false;
}

static void trace(ig_ctx *c, ig_tensor *const *inputs, ig_tensor **outputs, void *user) {
  const program *p = user;
  fuzz_pool pool;
  ig_tensor *all[FUZZ_INPUTS];
  size_t given = fuzz_program_free_inputs(p);
  for (size_t i = 0; i < p->ninputs; i++) all[i] = i < given ? inputs[i] : p->originals[i];
  if (!fuzz_program_replay(c, p, all, &pool)) {
    if (ig_ctx_status(c) == IG_OK)
      (void)ig_fail(c, IG_INVALID, "%s", "the program is not the same");
    return;
  }
  for (size_t i = 0; i < p->noutputs; i++) outputs[i] = ig_value_tensor(&pool.at[p->outputs[i]]);
}

ig_program *fuzz_program_export(fuzz_program *p, bool dynamic, bool draft) {
  static ig_dim dims[FUZZ_INPUTS][IG_MAX_DIM];
  ig_export_input inputs[FUZZ_INPUTS];
  char texts[FUZZ_INPUTS][8];
  size_t ninputs = fuzz_program_free_inputs(p);
  for (size_t i = 0; i < ninputs; i++) {
    ig_tensor *t = p->originals[i];
    if (ig_is_fake(t) || t->device.type != IG_DEVICE_CPU) return NULL;
    (void)snprintf(texts[i], sizeof texts[i], "x%u", (unsigned)i % 1000);
    for (int k = 0; k < t->ndim; k++) {
      bool any = dynamic && draw_chance(&p->d, 60);
      dims[i][k] = (ig_dim){.kind = any ? IG_DIM_AUTO : IG_DIM_STATIC};
    }
    ig_tensor *example = fuzz_copied(p->c, t);
    if (!example) return NULL;
    inputs[i] = (ig_export_input){.name = texts[i], .example = example, .dims = dims[i]};
  }
  ig_export_args args = {.size = sizeof args,
                         .fn = trace,
                         .user = p,
                         .inputs = inputs,
                         .ninputs = ninputs,
                         .noutputs = p->noutputs,
                         .draft = draft};
  ig_program *ep = NULL;
  fuzz_show("export\n");
  if (ig_export(p->c, &args, &ep) != IG_OK) {
    fuzz_show("  refused: %s\n", ig_ctx_error(p->c));
    ig_ctx_clear(p->c);
    return NULL;
  }
  return ep;
}
