// SPDX-License-Identifier: Apache-2.0
// Calls of ordinary kernels on values in blocks: the same operators, on tensors that show blocks in
// a way that means the same to them.
#include "rt/blocks.h"

// Has every lane a channel? Elsewhere only layers and pooling keep the lanes beyond the last one
// zero.
static bool is_full(const ig_rt_blocks *k, const ig_rt_image *image) {
  return image->channels % k->lanes == 0;
}

// ---- pointwise

// One number per channel, [channels, 1, 1] or [1, channels, 1, 1]?
static bool is_per_channel(ig_ctx *c, const ig_tensor *t, const ig_tensor *out) {
  int at = t->ndim - out->ndim + 1;
  return (at == 0 || at == 1) && ig_rt_is_dense(c, t) &&
         ig_int_eq(c, ig_sizes(t)[at], ig_sizes(out)[1]) &&
         ig_int_eq(c, ig_rt_numel(c, t), ig_sizes(out)[1]);
}

// An operand of a pointwise call, to be broadcast over blocks; NULL: it is not there in blocks.
// full: it has all elements of the result, and is there in no other layout.
static ig_tensor *spread(ig_rt_blocks *k, ig_tensor *t, const ig_tensor *y, bool *full) {
  ig_rt_image image;
  ig_rt_image out;
  ig_ctx *c = k->b->plan->c;
  ig_tensor *blocked = ig_rt_blocked(k, t);
  bool known = ig_rt_image_of(c, y, &out) && ig_rt_image_of(c, t, &image) && t->ndim == y->ndim;
  bool wide = known && ig_int_eq(c, image.n, out.n);
  bool plane = known && ig_int_eq(c, image.pixels, out.pixels);
  if (blocked && known && image.channels == out.channels &&
      (wide || ig_int_eq_i64(c, image.n, 1)) && (plane || ig_int_eq_i64(c, image.pixels, 1))) {
    *full = *full || (wide && plane && !ig_rt_has_plain(k, t));
    return blocked;
  }
  bool one = t->ndim <= 4 && ig_int_eq_i64(c, ig_rt_numel(c, t), 1);
  if ((!one && !is_per_channel(c, t, y)) || !ig_rt_need_plain(k, t)) return NULL;
  ig_int sizes[] = {ig_const(out.channels / k->lanes), ig_const(1), ig_const(k->lanes)};
  return one ? t : ig_rt_view(k->b, t, sizes, NULL, 3);
}

static bool point_in_blocks(ig_rt_blocks *k, ig_rt_step *s) {
  ig_rt_image out;
  ig_tensor *args[IG_MAX_OPERANDS] = {NULL};
  bool full = false;
  if (ig_op_has_kernel(s->op) || s->op->schema.nrets != 1) return false;
  if (!ig_rt_image_of(k->b->plan->c, s->outs[0].tensor, &out) || !is_full(k, &out)) return false;
  for (size_t i = 0; i < s->op->operands; i++) {
    if (s->args[i].kind != IG_KIND_TENSOR) continue;
    args[i] = spread(k, s->args[i].tensor, s->outs[0].tensor, &full);
    if (!args[i]) return false;
  }
  ig_tensor *y = full ? ig_rt_give_blocked(k, s->outs[0].tensor) : NULL;
  if (!y) return false;
  for (size_t i = 0; i < s->op->operands; i++) {
    if (args[i]) s->args[i].tensor = args[i];
  }
  s->outs[0].tensor = y;
  return true;
}

// ---- pooling

// Blocks as planes of `lanes` channels that lie innermost: [n * blocks, lanes, height, width].
static ig_tensor *planes(ig_rt_blocks *k, ig_tensor *blocked, const ig_tensor *like) {
  ig_ctx *c = k->b->plan->c;
  ig_int lanes = ig_const(k->lanes);
  ig_int row = ig_int_mul(c, ig_sizes(like)[3], lanes);
  ig_int n = ig_int_mul(c, ig_sizes(blocked)[0], ig_sizes(blocked)[1]);
  ig_int sizes[] = {n, lanes, ig_sizes(like)[2], ig_sizes(like)[3]};
  ig_int strides[] = {ig_int_mul(c, ig_sizes(like)[2], row), ig_const(1), row, lanes};
  return ig_rt_view(k->b, blocked, sizes, strides, 4);
}

static bool pool_in_blocks(ig_rt_blocks *k, ig_rt_step *s, unsigned spare) {
  ig_rt_image out;
  ig_tensor *y = s->outs[0].tensor;
  if (s->args[0].tensor->ndim != 4 || y->ndim != 4 || !ig_rt_image_of(k->b->plan->c, y, &out)) {
    return false;
  }
  ig_tensor *x = ig_rt_blocked(k, s->args[0].tensor);
  if (!x) return false;
  for (size_t i = 1; i < s->op->schema.nrets; i++) {
    if (!(spare & 1U << i) || s->outs[i].kind != IG_KIND_NONE) return false;
  }
  ig_tensor *from = planes(k, x, s->args[0].tensor);
  ig_tensor *blocks = from ? ig_rt_give_blocked(k, y) : NULL;
  ig_tensor *to = blocks ? planes(k, blocks, y) : NULL;
  if (!to) return false;
  s->args[0].tensor = from;
  s->outs[0].tensor = to;
  return true;
}

// ---- means over all pixels

static bool is_over_pixels(const ig_value *dims, int ndim) {
  unsigned seen = 0;
  if (dims->kind != IG_KIND_INTS) return false;
  for (size_t i = 0; i < dims->ints.n; i++) {
    int64_t d = dims->ints.at[i].value;
    seen |= 1U << (d < 0 ? d + ndim : d);
  }
  return ndim > 2 && seen == (1U << ndim) - 4;
}

static bool set_ints(ig_rt_blocks *k, ig_value *v, int64_t value) {
  ig_int *at = ig_arena_array(&k->b->memory, 1, sizeof *at);
  if (!at) return ig_fail(k->b->plan->c, IG_NOMEM, "out of memory") == IG_OK;
  at[0] = ig_const(value);
  *v = ig_of_ints(at, 1);
  return true;
}

// self, dim, keepdim, dtype: the result, one number per channel, is plain.
static bool mean_in_blocks(ig_rt_blocks *k, ig_rt_step *s) {
  ig_rt_image image;
  ig_tensor *y = s->outs[0].tensor;
  const ig_tensor *plain = s->args[0].tensor;
  ig_tensor *x = ig_rt_blocked(k, plain);
  ig_ctx *c = k->b->plan->c;
  if (!x || !ig_rt_image_of(c, plain, &image) || !is_full(k, &image)) return false;
  if (!is_over_pixels(&s->args[1], plain->ndim) || s->args[3].kind != IG_KIND_NONE) return false;
  if (y->dtype != IG_F32 || !ig_rt_is_dense(c, y)) return false;
  ig_int blocks = ig_const(image.channels / k->lanes);
  ig_int sizes[] = {image.n, blocks, ig_const(1), ig_const(k->lanes)};
  ig_tensor *to = ig_rt_view(k->b, y, sizes, NULL, 4);
  if (!to || !set_ints(k, &s->args[1], 2)) return false;
  ig_rt_made_plain(k, y);
  s->args[0].tensor = x;
  s->args[2] = ig_of_bool(true);
  s->outs[0].tensor = to;
  s->inexact = true;
  return true;
}

// ---- concatenation of channels

static bool cat_in_blocks(ig_rt_blocks *k, ig_rt_step *s) {
  ig_value *items = (ig_value *)s->args[0].list.at;
  size_t n = s->args[0].list.n;
  int64_t dim = s->args[1].i.value;
  ig_tensor *y = s->outs[0].tensor;
  ig_rt_image image;
  ig_ctx *c = k->b->plan->c;
  if (!ig_rt_image_of(c, y, &image) || (dim != 1 && dim + y->ndim != 1)) return false;
  for (size_t i = 0; i < n; i++) {
    const ig_tensor *t = items[i].tensor;
    if (!ig_rt_image_of(c, t, &image) || !is_full(k, &image) || !ig_rt_blocked(k, t)) return false;
  }
  ig_tensor *to = n ? ig_rt_give_blocked(k, y) : NULL;
  if (!to) return false;
  for (size_t i = 0; i < n; i++) items[i].tensor = ig_rt_blocked(k, items[i].tensor);
  s->args[1] = ig_of_i64(1);
  s->outs[0].tensor = to;
  return true;
}

bool ig_rt_call_in_blocks(ig_rt_blocks *k, ig_rt_step *s) {
  const ig_role_facts *facts = ig_role_of(s->op);
  switch (facts->role) {
    case IG_ROLE_WINDOWS:
      return pool_in_blocks(k, s, facts->spare);
    case IG_ROLE_MEAN:
      return mean_in_blocks(k, s);
    case IG_ROLE_CAT:
      return cat_in_blocks(k, s);
    default:
      return s->op->pointwise && point_in_blocks(k, s);
  }
}
