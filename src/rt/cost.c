// SPDX-License-Identifier: Apache-2.0
// What a step costs at least, whatever the kernel: arithmetic, and bytes that it reads and writes.
#include "rt/chain.h"
#include "rt/layer.h"

static double count_of(const ig_tensor *t) {
  return (double)ig_tensor_numel(t);  // admitted: planned sizes are numbers
}

static double last_size(const ig_tensor *t) {
  return t->ndim ? (double)ig_sizes(t)[t->ndim - 1].value : 1;
}

// Every result is a sum over the elements of a filter; transposed, every input is spread by one.
static double convolution_flops(const ig_rt_step *s, const ig_tensor *y) {
  const ig_tensor *x = s->args[0].tensor;
  const ig_tensor *w = s->args[1].tensor;
  bool transposed = s->args[6].b;
  double filters = w->ndim ? (double)ig_sizes(w)[0].value : 1;
  return 2 * count_of(transposed ? x : y) * count_of(w) / (filters > 0 ? filters : 1);
}

static double call_flops(const ig_rt_step *s) {
  const ig_role_facts *f = ig_role_of(s->op);
  bool one = s->op->schema.nrets > 0 && s->outs[0].kind == IG_KIND_TENSOR;
  const ig_tensor *y = one ? s->outs[0].tensor : NULL;
  if (!y) return 0;
  if (f->role == IG_ROLE_CONVOLUTION) return convolution_flops(s, y);
  if (f->role == IG_ROLE_PRODUCT || f->role == IG_ROLE_MATRICES) {
    return 2 * count_of(y) * last_size(s->args[f->x].tensor);
  }
  return s->op->pointwise ? count_of(y) : 0;
}

double ig_rt_flops(const ig_rt_step *s) {
  if (s->layer) return ig_layer_flops(s->layer);
  if (s->op) return call_flops(s);
  double sum = 0;
  for (size_t i = 0; s->chain && i < s->chain->n; i++) sum += count_of(s->chain->at[i].out);
  return sum;
}

static void add_bytes(void *user, ig_tensor *t) {
  *(double *)user += count_of(t) * (double)ig_dtype_size(t->dtype);
}

double ig_rt_bytes(const ig_binding *b, const ig_rt_step *s) {
  double sum = 0;
  if (s->joined) return 0;
  ig_rt_each_operand(b, s, add_bytes, &sum);
  ig_rt_each_result(s, add_bytes, &sum);
  if (s->layer && s->layer->pack) sum += (double)ig_layer_bytes(s->layer->pack->layer);
  return sum;
}
