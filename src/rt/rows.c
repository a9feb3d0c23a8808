// SPDX-License-Identifier: Apache-2.0
// Layers of rows: linear layers and products with a constant matrix. They read and write values in
// the program's layout.
#include "op/formula.h"
#include "rt/layer.h"

static bool is_factor_one(const ig_rt_step *s, int arg) {
  return arg == 0 || ig_value_f64(&s->args[arg]) == 1.0;
}

// The matrix as [out, in], seen otherwise if necessary; NULL after an error.
static ig_tensor *matrix_of(ig_binding *b, ig_tensor *w, bool across) {
  if (!across) return w;
  ig_meta m;
  ig_meta_view(w, &m);
  for (int d = 0; d < 2; d++) {
    m.size[d] = ig_sizes(w)[1 - d];
    m.stride[d] = ig_strides(w)[1 - d];
  }
  m.strided = true;
  ig_tensor *t = ig_tensor_make(b->plan->c, &m, false);
  return t && ig_rt_hold(b, t) ? t : NULL;
}

static bool is_rows(ig_ctx *c, const ig_tensor *t) {
  return t->dtype == IG_F32 && !t->quantizer && t->ndim >= 2 && ig_rt_is_dense(c, t);
}

ig_pack_source ig_rt_narrow_source(const ig_rt_layer *l) {
  ig_pack_source s = {.shape = l->shape, .options = {.method = l->source.options.method}};
  s.part[IG_PACK_WEIGHT] = l->source.part[IG_PACK_WEIGHT];
  return s;
}

// Narrow weights, if they were asked for and not found to lose too much.
static bool takes_narrow(const ig_binding *b, ig_rt_layer *l) {
  ig_layer_options *o = &l->source.options;
  o->method = b->plan->source.narrow;
  if (!o->method || ig_layer_choose(&l->shape, o) != o->method) return false;
  ig_pack_source s = ig_rt_narrow_source(l);
  return !ig_packs_keeps_f32(b->plan->c, b->plan->packs, &s);
}

bool ig_rt_starts_rows(ig_binding *b, const ig_rt_step *s, ig_rt_layer *l) {
  const ig_role_facts *f = ig_role_of(s->op);
  ig_tensor *x = s->args[f->x].tensor;
  ig_tensor *w = s->args[f->w].tensor;
  ig_tensor *y = s->outs[0].tensor;
  ig_ctx *c = b->plan->c;
  if (!is_rows(c, x) || !is_rows(c, y) || !ig_rt_find(b, x) || w->ndim != 2) return false;
  if (!ig_rt_is_weight(b, &s->args[f->w])) return false;
  if (!is_factor_one(s, f->beta) || !is_factor_one(s, f->alpha)) return false;
  int64_t out = ig_sizes(w)[f->across ? 1 : 0].value;
  int64_t in = ig_sizes(w)[f->across ? 0 : 1].value;
  const ig_value *bias =
      f->bias < 0 || s->args[f->bias].kind == IG_KIND_NONE ? NULL : &s->args[f->bias];
  if (bias && !ig_rt_is_bias(b, bias, out)) return false;
  *l = (ig_rt_layer){.shape = ig_conv_make(IG_ELEM_F32, 1, in, out), .x = x, .y = y};
  l->shape.channels_last = true;
  if (in <= 0) return false;
  ig_rt_size_layer(l);
  l->source.part[IG_PACK_BIAS] = bias ? bias->tensor : NULL;
  l->source.part[IG_PACK_WEIGHT] = matrix_of(b, w, f->across);
  l->ops[l->nops++] = s->op;
  if (!l->source.part[IG_PACK_WEIGHT]) return false;
  if (takes_narrow(b, l)) return true;
  l->source.options.method = IG_LAYER_NONE;
  return c->status == IG_OK && ig_layer_choose(&l->shape, NULL) != IG_LAYER_NONE;
}
