// SPDX-License-Identifier: Apache-2.0
// Telling a watcher what a run by plan computes, value by value, each as a copy: the memory of the
// plan is used again by later steps.
#include <string.h>

#include "kernels/layer.h"
#include "rt/binding.h"
#include "tensor/copy.h"

typedef struct teller {
  ig_binding *b;
  const ig_rt_step *step;
  IG_VEC(const void *) reads;
  const char *target;
} teller;

static void *place_of(const ig_tensor *t) {
  return t->storage;
}

static void note_read(void *user, ig_tensor *t) {
  teller *k = user;
  ig_ctx *c = k->b->plan->c;
  if (!ig_vec_push(c->alloc, &k->reads, place_of(t))) (void)ig_no_memory(c);
}

// A value in blocks of channels as the program has it, its pixels in one dimension. Steps may see
// the blocks in other ways; t is the tensor that they were made for.
static ig_tensor *out_of_blocks(ig_ctx *c, const ig_tensor *t, int64_t channels) {
  const ig_int *sizes = ig_sizes(t);
  int64_t plain[3] = {sizes[0].value, channels, sizes[2].value};
  ig_tensor *copy = ig_tensor_empty(c, t->dtype, plain, 3);
  if (copy) {
    ig_layer_block_to(plain[0], plain[1], plain[2], ig_tensor_data(t), ig_tensor_data(copy));
  }
  return copy;
}

static ig_tensor *copy_of(const ig_binding *b, const ig_tensor *t) {
  ig_ctx *c = b->plan->c;
  const ig_rt_buffer *x = ig_rt_find(b, t);
  if (x && x->channels) return out_of_blocks(c, x->whole, x->channels);
  int64_t sizes[IG_MAX_DIM];
  for (int d = 0; d < t->ndim; d++) sizes[d] = ig_sizes(t)[d].value;
  ig_tensor *copy = ig_tensor_empty(c, t->dtype, sizes, t->ndim);
  if (copy && ig_tensor_numel(copy)) ig_tensor_copy(copy, t);
  return copy;
}

static void tell(void *user, ig_tensor *t) {
  const teller *k = user;
  ig_plan *p = k->b->plan;
  if (p->c->status != IG_OK) return;
  ig_scope scope = ig_scope_open(p->c);
  ig_tensor *copy = copy_of(k->b, t);
  ig_plan_value v = {.name = k->step ? ig_rt_name_of(k->b, k->step) : "",
                     .target = k->target ? k->target : "",
                     .tensor = copy,
                     .place = place_of(t),
                     .reads = k->reads.at,
                     .nreads = k->reads.n};
  if (copy) p->tell(p->tell_user, &v);
  ig_scope_close(p->c, scope);
}

void ig_rt_tell_inputs(ig_binding *b, const ig_value *inputs) {
  ig_plan *p = b->plan;
  for (size_t i = 0; i < b->buffers.n; i++) {
    const ig_rt_buffer *x = &b->buffers.at[i];
    if (x->place != IG_PLACE_INPUT) continue;
    ig_tensor *given = inputs[x->index].tensor;
    ig_plan_value v = {.name = "", .target = "", .tensor = given, .place = x->storage};
    p->tell(p->tell_user, &v);
  }
}

void ig_rt_tell(ig_binding *b, const ig_rt_step *s) {
  ig_ctx *c = b->plan->c;
  teller k = {.b = b, .step = s};
  ig_str target = ig_str_make(c->alloc);
  ig_rt_print_target(b, s, &target);
  if (target.failed) (void)ig_no_memory(c);
  k.target = target.at;
  ig_rt_each_operand(b, s, note_read, &k);
  if (c->status == IG_OK) {
    if (ig_rt_is_interpreted(s) && b->run) {
      b->plan->source.nodes->each_result(b->run, s->part, tell, &k);
    } else if (ig_rt_is_interpreted(s)) {
      ig_rt_each(&b->env[s->node->index], tell, &k);
    } else {
      ig_rt_each_result(s, tell, &k);
    }
  }
  ig_vec_free(c->alloc, &k.reads);
  ig_str_free(&target);
}
