// SPDX-License-Identifier: Apache-2.0
// Layouts. Layers read and write values in blocks of channels. A value that a layer gives stays in
// blocks as long as those who read it can work on blocks: other layers, pooling, pointwise
// operators, concatenation of channels, means over pixels. Where somebody cannot, the plain value
// is made once, before its first reader; the reverse for plain values that layers read.
#include "rt/blocks.h"

#include "kernels/conv_inner.h"

ig_tensor *ig_rt_view(ig_binding *b, ig_tensor *t, const ig_int *sizes, const ig_int *strides,
                      int n) {
  ig_ctx *c = b->plan->c;
  ig_meta m;
  ig_meta_init(&m, t->dtype, t->device);
  m.ndim = n;
  for (int d = 0; d < n; d++) m.size[d] = sizes[d];
  ig_meta_contiguous(c, &m);
  for (int d = 0; strides && d < n; d++) m.stride[d] = strides[d];
  m.strided = true;
  m.offset = t->offset;
  m.view_of = t;
  ig_tensor *v = ig_tensor_make(c, &m, ig_is_fake(t));
  return v && ig_rt_hold(b, v) ? v : NULL;
}

static ig_rt_twin *twin_of(const ig_rt_blocks *k, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(k->b, t);
  size_t i = x ? (size_t)(x - k->b->buffers.at) : k->n;
  return i < k->n ? &k->twins[i] : NULL;
}

static bool same_image(ig_ctx *c, const ig_rt_image *a, const ig_rt_image *b) {
  return a->channels == b->channels && ig_int_eq(c, a->n, b->n) &&
         ig_int_eq(c, a->pixels, b->pixels);
}

// Does the tensor show all of its buffer?
static bool is_whole(const ig_rt_blocks *k, const ig_tensor *t) {
  return ig_rt_is_whole(k->b->plan->c, ig_rt_find(k->b, t), t);
}

ig_tensor *ig_rt_blocked(const ig_rt_blocks *k, const ig_tensor *t) {
  const ig_rt_twin *w = twin_of(k, t);
  ig_rt_image image;
  ig_ctx *c = k->b->plan->c;
  if (!w || !w->blocked || !ig_rt_image_of(c, t, &image) || !is_whole(k, t)) return NULL;
  return same_image(c, &image, &w->image) ? w->blocked : NULL;
}

// ---- changes of layout

static bool emit(ig_rt_blocks *k, ig_rt_step s) {
  ig_ctx *c = k->b->plan->c;
  return ig_vec_push(c->alloc, &k->steps, s) || ig_no_memory(c);
}

static bool emit_change(ig_rt_blocks *k, ig_rt_work work, const ig_rt_image *image, ig_tensor *x,
                        ig_tensor *y) {
  ig_rt_layer *l = ig_arena_push(&k->b->memory, sizeof *l);
  if (!l) return ig_no_memory(k->b->plan->c);
  l->work = work;
  l->shape = ig_conv_make(IG_ELEM_F32, 1, image->channels, image->channels);
  l->x = x;
  l->y = y;
  return emit(k, (ig_rt_step){.layer = l});
}

// Blocks without unused lanes, of one pixel, are the plain value.
static bool is_both(const ig_rt_blocks *k, const ig_rt_image *image) {
  return image->channels % k->lanes == 0 && ig_int_eq_i64(k->b->plan->c, image->pixels, 1);
}

static void block_sizes(const ig_rt_blocks *k, const ig_rt_image *image, ig_int sizes[4]) {
  sizes[0] = image->n;
  sizes[1] = ig_const((image->channels + k->lanes - 1) / k->lanes);
  sizes[2] = image->pixels;
  sizes[3] = ig_const(k->lanes);
}

static ig_tensor *make_blocks(ig_rt_blocks *k, const ig_rt_image *image) {
  ig_ctx *c = k->b->plan->c;
  ig_int sizes[4];
  ig_meta m;
  block_sizes(k, image, sizes);
  ig_meta_init(&m, IG_F32, ig_device_cpu());
  m.ndim = 4;
  for (int d = 0; d < 4; d++) m.size[d] = sizes[d];
  ig_meta_contiguous(c, &m);
  ig_tensor *t = ig_tensor_make(c, &m, true);
  bool ok = t && ig_rt_hold(k->b, t) && ig_rt_add_buffer(k->b, t, IG_PLACE_SLAB, 0);
  if (ok) ig_rt_find(k->b, t)->channels = image->channels;
  return ok ? t : NULL;
}

static ig_tensor *blocks_over(ig_rt_blocks *k, const ig_rt_image *image, ig_tensor *t) {
  ig_int sizes[4];
  block_sizes(k, image, sizes);
  return ig_rt_view(k->b, t, sizes, NULL, 4);
}

bool ig_rt_need_plain(ig_rt_blocks *k, const ig_tensor *t) {
  ig_rt_twin *w = twin_of(k, t);
  if (!w || w->plain || !w->blocked) return true;
  w->plain = true;
  return emit_change(k, IG_WORK_FROM_BLOCKS, &w->image, w->blocked, w->whole);
}

bool ig_rt_has_plain(const ig_rt_blocks *k, const ig_tensor *t) {
  const ig_rt_twin *w = twin_of(k, t);
  return !w || w->plain;
}

void ig_rt_made_plain(const ig_rt_blocks *k, const ig_tensor *t) {
  ig_rt_twin *w = twin_of(k, t);
  if (w) w->plain = true;
}

ig_tensor *ig_rt_need_blocked(ig_rt_blocks *k, ig_tensor *t) {
  ig_tensor *have = ig_rt_blocked(k, t);
  ig_rt_image image;
  if (have) return have;
  if (!ig_rt_image_of(k->b->plan->c, t, &image) || !ig_rt_need_plain(k, t)) return NULL;
  bool both = is_both(k, &image);
  ig_tensor *made = both ? blocks_over(k, &image, t) : make_blocks(k, &image);
  if (!made || (!both && !emit_change(k, IG_WORK_TO_BLOCKS, &image, t, made))) return NULL;
  ig_rt_twin *w = twin_of(k, t);
  if (w && !w->blocked && is_whole(k, t)) {
    *w = (ig_rt_twin){.image = image, .blocked = made, .whole = t, .plain = true};
  }
  return made;
}

ig_tensor *ig_rt_give_blocked(ig_rt_blocks *k, ig_tensor *t) {
  ig_rt_image image;
  if (!ig_rt_image_of(k->b->plan->c, t, &image)) return NULL;
  bool both = is_both(k, &image);
  ig_tensor *made = both ? blocks_over(k, &image, t) : make_blocks(k, &image);
  ig_rt_twin *w = twin_of(k, t);
  if (made && w) *w = (ig_rt_twin){.image = image, .blocked = made, .whole = t, .plain = both};
  return made;
}

// ---- steps

// Rows are plain.
static bool lay_out_rows(ig_rt_blocks *k, const ig_rt_step *s) {
  const ig_rt_layer *l = s->layer;
  ig_rt_made_plain(k, l->y);
  if (l->residual && !ig_rt_need_plain(k, l->residual)) return false;
  return ig_rt_need_plain(k, l->x) && emit(k, *s);
}

static bool lay_out_layer(ig_rt_blocks *k, ig_rt_step *s) {
  ig_rt_layer *l = s->layer;
  if (l->shape.channels_last) return lay_out_rows(k, s);
  bool stem = ig_layer_choose(&l->shape, &l->source.options) == IG_LAYER_STEM;
  if (stem) {
    if (!ig_rt_need_plain(k, l->x)) return false;
  } else {
    l->x = ig_rt_need_blocked(k, l->x);
  }
  if (l->residual) {
    l->residual = ig_rt_need_blocked(k, l->residual);
    if (!l->residual) return false;
  }
  if (l->x) l->y = ig_rt_give_blocked(k, l->y);
  return l->x && l->y && emit(k, *s);
}

typedef struct wish {
  ig_rt_blocks *k;
  bool ok;
} wish;

static void want_plain(void *user, ig_tensor *t) {
  wish *w = user;
  w->ok = w->ok && ig_rt_need_plain(w->k, t);
}

static void made_plain(void *user, ig_tensor *t) {
  const wish *w = user;
  ig_rt_made_plain(w->k, t);
}

// An interpreted node may have written to what it got.
static void forget_blocks(void *user, ig_tensor *t) {
  const wish *w = user;
  ig_rt_twin *x = twin_of(w->k, t);
  if (x) x->blocked = NULL;
}

static bool lay_out_step(ig_rt_blocks *k, ig_rt_step *s) {
  if (s->layer && s->layer->work == IG_WORK_LAYER) return lay_out_layer(k, s);
  if (s->op && !s->sized && ig_rt_call_in_blocks(k, s)) return emit(k, *s);
  wish w = {k, k->b->plan->c->status == IG_OK};
  ig_rt_each_operand(k->b, s, want_plain, &w);
  ig_rt_each_result(s, made_plain, &w);
  if (ig_rt_is_interpreted(s)) ig_rt_each_operand(k->b, s, forget_blocks, &w);
  return w.ok && emit(k, *s);
}

// Results are plain.
static bool lay_out_results(ig_rt_blocks *k) {
  for (size_t i = 0; i < k->b->plan->source.noutputs; i++) {
    wish w = {k, true};
    ig_rt_each(&k->b->outputs[i].value, want_plain, &w);
    if (!w.ok) return false;
  }
  return true;
}

static bool has_layers(const ig_binding *b) {
  size_t i = 0;
  while (i < b->steps.n && !b->steps.at[i].layer) i++;
  return i < b->steps.n;
}

bool ig_rt_lay_out(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  if (!has_layers(b)) return true;
  ig_scope scope = ig_scope_open(c);
  ig_rt_blocks k = {.b = b, .n = b->buffers.n, .lanes = ig_layer_block()};
  k.twins = ig_scope_array(c, k.n + 1, sizeof *k.twins);
  bool ok = k.twins != NULL;
  for (size_t i = 0; ok && i < k.n; i++) {
    k.twins[i] = (ig_rt_twin){.plain = b->buffers.at[i].place == IG_PLACE_INPUT};
  }
  for (size_t i = 0; ok && i < b->steps.n; i++) ok = lay_out_step(&k, &b->steps.at[i]);
  ok = ok && lay_out_results(&k);
  ig_scope_close(c, scope);
  if (!ok) {
    ig_vec_free(c->alloc, &k.steps);
    return c->status == IG_OK ? ig_no_memory(c) : false;
  }
  ig_vec_free(c->alloc, &b->steps);
  b->steps.at = k.steps.at;
  b->steps.n = k.steps.n;
  b->steps.cap = k.steps.cap;
  return true;
}
