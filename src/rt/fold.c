// SPDX-License-Identifier: Apache-2.0
// Convolutions with constant weights become layers. What follows and has no other use becomes part
// of them, in the order in which layers compute: batch norm and constant summands per channel
// (folded into the weights), one residual, one activation. The layer takes the place of the last
// operator that it covers; steps write nothing but their results, so moving one down is safe.
#include <math.h>

#include "kernels/conv_inner.h"
#include "op/formula.h"
#include "rt/layer.h"

typedef struct folder {
  ig_binding *b;
  const ig_rt_use *uses;  // per buffer
} folder;

static const ig_rt_use *use_of(const folder *f, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(f->b, t);
  return x ? &f->uses[x - f->b->buffers.at] : NULL;
}

bool ig_rt_image_of(ig_ctx *c, const ig_tensor *t, ig_rt_image *out) {
  if (t->dtype != IG_F32 || t->ndim < 2 || t->quantizer || ig_sizes(t)[1].expr) return false;
  if (!ig_rt_is_dense(c, t)) return false;
  *out = (ig_rt_image){ig_sizes(t)[0], ig_sizes(t)[1].value, ig_const(1)};
  for (int d = 2; d < t->ndim; d++) out->pixels = ig_int_mul(c, out->pixels, ig_sizes(t)[d]);
  return out->channels > 0 && ig_int_is(c, out->n, IG_GT, ig_const(0)) &&
         ig_int_is(c, out->pixels, IG_GT, ig_const(0));
}

// ---- convolutions

bool ig_rt_is_weight(const ig_binding *b, const ig_value *v) {
  const ig_tensor *t = v->kind == IG_KIND_TENSOR ? v->tensor : NULL;
  // Elements that are repeated by a stride of 0 are more than the memory has.
  return t && !ig_is_fake(t) && !ig_rt_find(b, t) && t->dtype == IG_F32 && !t->quantizer &&
         (size_t)ig_tensor_numel(t) <= t->storage->bytes / sizeof(float);
}

bool ig_rt_is_bias(const ig_binding *b, const ig_value *v, int64_t channels) {
  return ig_rt_is_weight(b, v) && v->tensor->ndim == 1 && ig_sizes(v->tensor)[0].value == channels;
}

static int64_t entry(const ig_value *list, int i) {
  return list->ints.at[list->ints.n == 1 ? 0 : i].value;
}

// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
static ig_conv shape_of(const ig_value *args, const ig_tensor *y, ig_int *in, ig_int *out) {
  const ig_tensor *x = args[0].tensor;
  const ig_tensor *w = args[1].tensor;
  int64_t groups = args[8].i.value;
  bool transposed = args[6].b;
  int64_t cout = ig_sizes(w)[transposed ? 1 : 0].value * (transposed ? groups : 1);
  ig_conv c = ig_conv_make(IG_ELEM_F32, ig_sizes(x)[0].value, ig_sizes(x)[1].value, cout);
  c.groups = groups;
  c.transposed = transposed;
  int nd = x->ndim - 2;
  for (int d = 0; d < 3; d++) in[d] = out[d] = ig_const(1);
  for (int d = 0; d < nd; d++) {
    int at = 3 - nd + d;
    in[at] = ig_sizes(x)[d + 2];
    out[at] = ig_sizes(y)[d + 2];
    c.in[at] = in[at].value;
    c.out[at] = out[at].value;
    c.kernel[at] = ig_sizes(w)[d + 2].value;
    c.stride[at] = entry(&args[3], d);
    c.padding[at] = entry(&args[4], d);
    c.dilation[at] = entry(&args[5], d);
  }
  return c;
}

// Blocks that are mostly empty cost memory and time.
static bool fills_blocks(int64_t channels) {
  return channels * 4 >= ig_layer_block();
}

static bool starts_convolution(const ig_binding *b, const ig_rt_step *s, ig_rt_layer *l) {
  ig_rt_image from;
  ig_rt_image to;
  ig_tensor *x = s->args[0].tensor;
  ig_tensor *y = s->outs[0].tensor;
  ig_ctx *c = b->plan->c;
  if (x->ndim < 3 || x->ndim > 5 || !ig_rt_image_of(c, x, &from) || !ig_rt_image_of(c, y, &to)) {
    return false;
  }
  if (!ig_rt_find(b, x) || !ig_rt_is_weight(b, &s->args[1])) return false;
  bool biased = s->args[2].kind == IG_KIND_TENSOR;
  if (biased && !ig_rt_is_bias(b, &s->args[2], to.channels)) return false;
  *l = (ig_rt_layer){.x = x, .y = y};
  l->shape = shape_of(s->args, y, l->in, l->out);
  l->source.part[IG_PACK_WEIGHT] = s->args[1].tensor;
  l->source.part[IG_PACK_BIAS] = biased ? s->args[2].tensor : NULL;
  l->ops[l->nops++] = s->op;
  ig_layer_method method = ig_layer_choose(&l->shape, NULL);
  if (method == IG_LAYER_NONE || !fills_blocks(to.channels)) return false;
  return method == IG_LAYER_STEM || fills_blocks(from.channels);
}

static bool starts_layer(ig_binding *b, const ig_rt_step *s, ig_rt_layer *l) {
  if (s->sized) return false;
  switch (ig_role_of(s->op)->role) {
    case IG_ROLE_CONVOLUTION:
      return starts_convolution(b, s, l);
    case IG_ROLE_PRODUCT:
      return ig_rt_starts_rows(b, s, l);
    default:
      return false;
  }
}

// ---- what becomes part of them

bool ig_rt_fits_layer(ig_ctx *c, const ig_rt_layer *l, const ig_tensor *t) {
  ig_rt_image image;
  if (!l->shape.channels_last) return ig_rt_image_of(c, t, &image) && ig_rt_same_sizes(c, t, l->y);
  return t->dtype == IG_F32 && !t->quantizer && t->ndim > 0 && ig_rt_is_dense(c, t) &&
         ig_int_eq_i64(c, ig_sizes(t)[t->ndim - 1], l->shape.cout) &&
         ig_int_eq(c, ig_rt_numel(c, t), ig_rt_numel(c, l->y));
}

static bool is_unused(const folder *f, const ig_tensor *t) {
  const ig_rt_buffer *x = ig_rt_find(f->b, t);
  return x && x->place == IG_PLACE_SLAB && f->uses[x - f->b->buffers.at].count == 0;
}

// input, weight, bias, running_mean, running_var, momentum, eps
static bool take_norm(const folder *f, const ig_rt_step *s, ig_rt_layer *l) {
  static const ig_pack_part parts[] = {IG_PACK_GAMMA, IG_PACK_BETA, IG_PACK_MEAN, IG_PACK_VAR};
  if (l->source.part[IG_PACK_MEAN] || l->source.part[IG_PACK_SHIFT] || l->residual || l->act ||
      l->shape.channels_last) {
    return false;
  }
  ig_rt_layer with = *l;
  for (int i = 0; i < 4; i++) {
    const ig_value *v = &s->args[i + 1];
    if (i < 2 && v->kind == IG_KIND_NONE) continue;
    if (!ig_rt_is_bias(f->b, v, l->shape.cout)) return false;
    with.source.part[parts[i]] = v->tensor;
  }
  for (size_t i = 1; i < s->op->schema.nrets; i++) {
    if (!is_unused(f, s->outs[i].tensor)) return false;
  }
  with.source.eps = s->args[6].f;
  with.source.shape = with.shape;
  if (!ig_pack_can_fold(f->b->plan->c, &with.source)) return false;
  *l = with;
  return true;
}

// One number per channel: [channels, 1, 1] or [1, channels, 1, 1], of rows [channels].
static bool is_per_channel(const ig_binding *b, const ig_value *v, const ig_rt_layer *l) {
  const ig_tensor *y = l->y;
  if (l->shape.channels_last) return ig_rt_is_bias(b, v, l->shape.cout);
  if (!ig_rt_is_weight(b, v) || v->tensor->ndim > y->ndim || v->tensor->ndim < y->ndim - 1) {
    return false;
  }
  const ig_tensor *t = v->tensor;
  int64_t channels = ig_sizes(y)[1].value;
  return ig_tensor_numel(t) == channels && ig_sizes(t)[t->ndim - y->ndim + 1].value == channels;
}

static bool take_add(const folder *f, const ig_rt_step *s, ig_rt_layer *l) {
  ig_value alpha = s->args[2];
  if (l->residual || l->act || ig_value_f64(&alpha) != 1.0) return false;
  if (s->args[0].kind != IG_KIND_TENSOR || s->args[1].kind != IG_KIND_TENSOR) return false;
  bool first = s->args[0].tensor->storage == l->y->storage;
  const ig_value *other = &s->args[first ? 1 : 0];
  if (!l->source.part[IG_PACK_SHIFT] && is_per_channel(f->b, other, l)) {
    l->source.part[IG_PACK_SHIFT] = other->tensor;
    return true;
  }
  if (!ig_rt_find(f->b, other->tensor) || !ig_rt_fits_layer(f->b->plan->c, l, other->tensor))
    return false;
  l->residual = other->tensor;
  return true;
}

static bool read_bound(const ig_rt_step *s, int arg, float otherwise, float *out) {
  const ig_value *v = &s->args[arg];
  *out = arg && v->kind != IG_KIND_NONE ? (float)ig_value_f64(v) : otherwise;
  return !isnan(*out);
}

static bool take_act(const ig_rt_step *s, const ig_role_facts *facts, ig_rt_layer *l) {
  if (l->act) return false;
  float lo = facts->lo_arg ? -INFINITY : facts->lo;
  float hi = facts->hi_arg ? INFINITY : facts->hi;
  if (facts->act == IG_ACT_CLAMP &&
      (!read_bound(s, facts->lo_arg, lo, &l->lo) || !read_bound(s, facts->hi_arg, hi, &l->hi))) {
    return false;
  }
  l->act = facts->act;
  return true;
}

static bool take(const folder *f, const ig_rt_step *s, ig_rt_layer *l) {
  const ig_role_facts *facts = ig_role_of_call(s->op, s->args);
  if (l->nops == IG_LAYER_OPS) return false;
  switch (facts->role) {
    case IG_ROLE_NORM:
      return take_norm(f, s, l);
    case IG_ROLE_ADD:
      return take_add(f, s, l);
    case IG_ROLE_ACT:
      return take_act(s, facts, l);
    default:
      return false;
  }
}

// The step that alone reads the layer's result, as it was written; NULL: there is none.
static ig_rt_step *only_reader(const folder *f, const ig_rt_layer *l) {
  const ig_rt_buffer *x = ig_rt_find(f->b, l->y);
  const ig_rt_use *u = use_of(f, l->y);
  if (x->place != IG_PLACE_SLAB || u->count != 1) return NULL;
  ig_rt_step *s = &f->b->steps.at[u->step];
  if (s->dead) return NULL;  // part of another layer
  for (size_t i = 0; s->op && i < s->op->schema.nargs; i++) {
    const ig_value *v = &s->args[i];
    bool reads = v->kind == IG_KIND_TENSOR && v->tensor->storage == l->y->storage;
    if (reads) return ig_rt_fits_layer(f->b->plan->c, l, v->tensor) ? s : NULL;
  }
  return NULL;
}

// Interpreted nodes may write to what a layer reads.
static bool is_undisturbed(const ig_rt_step *from, const ig_rt_step *to) {
  while (from < to && !ig_rt_is_interpreted(from)) from++;
  return from == to;
}

// The layer of the convolution at step i, which moves to the last step that it covers.
static bool fold(const folder *f, size_t i) {
  ig_binding *b = f->b;
  ig_rt_step *at = &b->steps.at[i];
  ig_rt_layer found;
  if (!starts_layer(b, at, &found)) return true;
  for (ig_rt_step *s; (s = only_reader(f, &found));) {
    if (s->sized || s->op->schema.nrets == 0) break;
    if (!ig_rt_fits_layer(b->plan->c, &found, s->outs[0].tensor)) break;
    if (!is_undisturbed(at, s) || !take(f, s, &found)) break;
    found.ops[found.nops++] = s->op;
    found.y = s->outs[0].tensor;
    at->dead = true;
    at = s;
  }
  if (b->plan->c->status != IG_OK) return false;
  ig_rt_layer *l = ig_arena_push(&b->memory, sizeof *l);
  if (!l) return ig_no_memory(b->plan->c);
  *l = found;
  l->source.shape = l->shape;
  const ig_node *node = b->steps.at[i].node;
  *at = (ig_rt_step){.layer = l, .node = node, .inexact = true};
  return true;
}

// Every layer knows how many bytes of weights there are in all.
static void share_total(ig_binding *b) {
  int64_t bytes = 0;
  for (size_t i = 0; i < b->steps.n; i++) {
    const ig_rt_layer *l = b->steps.at[i].layer;
    if (l && l->work == IG_WORK_LAYER) bytes += 4 * ig_tensor_numel(l->source.part[IG_PACK_WEIGHT]);
  }
  for (size_t i = 0; i < b->steps.n; i++) {
    ig_rt_layer *l = b->steps.at[i].layer;
    if (!l) continue;
    l->source.options.rtol = IG_RT_WINOGRAD;
    l->source.options.model_bytes = bytes;
  }
}

bool ig_rt_fold_layers(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  ig_scope scope = ig_scope_open(c);
  folder f = {.b = b, .uses = ig_rt_count_uses(b)};
  bool ok = f.uses != NULL;
  for (size_t i = 0; ok && i < b->steps.n; i++) {
    if (!b->steps.at[i].dead) ok = fold(&f, i);
  }
  ig_scope_close(c, scope);
  if (!ok) return false;
  ig_rt_drop(b);
  share_total(b);
  return true;
}
