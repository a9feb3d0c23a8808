// SPDX-License-Identifier: Apache-2.0
// Concatenation without copies: where the pieces lie one behind another in the result, their
// memory is made a part of its memory, so that whoever computes them writes into place.
#include "rt/layer.h"

static bool is_whole(ig_ctx *c, const ig_rt_buffer *x, const ig_tensor *t) {
  return x && x->place == IG_PLACE_SLAB && !x->pinned && ig_rt_is_whole(c, x, t);
}

// Are the pieces contiguous in the result?
static bool is_outermost(ig_ctx *c, const ig_tensor *y, int64_t dim) {
  dim = dim < 0 ? dim + y->ndim : dim;
  for (int d = 0; d < dim; d++) {
    if (!ig_int_eq_i64(c, ig_sizes(y)[d], 1)) return false;
  }
  return true;
}

static bool can_join(const ig_binding *b, const ig_rt_step *s) {
  ig_ctx *c = b->plan->c;
  if (s->sized || ig_role_of(s->op)->role != IG_ROLE_CAT) return false;
  const ig_tensor *y = s->outs[0].tensor;
  const ig_value *list = &s->args[0];
  if (!is_whole(c, ig_rt_find(b, y), y) || !is_outermost(c, y, s->args[1].i.value)) return false;
  for (size_t i = 0; i < list->list.n; i++) {
    const ig_tensor *t = list->list.at[i].tensor;
    const ig_rt_buffer *x = ig_rt_find(b, t);
    if (!is_whole(c, x, t) || x->parts || t->dtype != y->dtype || t->ndim != y->ndim) return false;
    for (size_t k = 0; k < i; k++) {
      if (list->list.at[k].tensor->storage == t->storage) return false;
    }
  }
  return list->list.n > 0;
}

static void join(ig_binding *b, ig_rt_step *s) {
  ig_rt_buffer *whole = ig_rt_find(b, s->outs[0].tensor);
  for (size_t i = 0; i < s->args[0].list.n; i++) {
    ig_rt_buffer *x = ig_rt_find(b, s->args[0].list.at[i].tensor);
    x->place = IG_PLACE_PART;
    x->index = (size_t)(whole - b->buffers.at);
    if (x->first < whole->first) whole->first = x->first;
    if (x->last > whole->last) whole->last = x->last;
  }
  whole->parts = true;
  s->joined = true;
}

void ig_rt_join(ig_binding *b) {
  if (b->plan->without & IG_PLAN_NO_REUSE) return;
  for (size_t i = 0; i < b->steps.n; i++) {
    if (can_join(b, &b->steps.at[i])) join(b, &b->steps.at[i]);
  }
}
