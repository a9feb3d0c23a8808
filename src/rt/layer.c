// SPDX-License-Identifier: Apache-2.0
// Layers as steps: packing, preparing, running, printing; and which results they affect.
#include "rt/layer.h"

#include "kernels/conv_inner.h"
#include "tensor/copy.h"

bool ig_rt_make_layers(ig_binding *b) {
  if (b->plan->without & IG_PLAN_NO_LAYERS) return true;
  // What formulas have left over is no use of a value any more.
  if (!ig_rt_find_forms(b) || !ig_rt_find_lifetimes(b)) return false;
  return ig_rt_fold_layers(b) && ig_rt_lay_out(b);
}

void ig_layer_each_operand(const ig_rt_layer *l, ig_rt_visit *fn, void *user) {
  fn(user, l->x);
  if (l->residual) fn(user, l->residual);
  if (l->keys) fn(user, l->keys);
  if (l->values) fn(user, l->values);
  if (l->mask) fn(user, l->mask);
}

void ig_layer_each_result(const ig_rt_layer *l, ig_rt_visit *fn, void *user) {
  fn(user, l->y);
}

// ---- sizes

static ig_attention_strides strides_of(const ig_tensor *t) {
  const ig_int *s = ig_strides(t);
  return (ig_attention_strides){s[0].value, s[1].value, s[2].value};
}

static void size_attention(ig_rt_layer *l) {
  ig_attention_shape *a = &l->attention;
  a->batch = ig_sizes(l->x)[0].value;
  a->heads = ig_sizes(l->x)[1].value;
  a->lq = ig_sizes(l->x)[2].value;
  a->d = ig_sizes(l->x)[3].value;
  a->lk = ig_sizes(l->keys)[2].value;
  a->dv = ig_sizes(l->values)[3].value;
  a->q = strides_of(l->x);
  a->k = strides_of(l->keys);
  a->v = strides_of(l->values);
  a->out = strides_of(l->y);
  if (!l->mask) return;
  a->mask_batch = ig_strides(l->mask)[0].value;
  a->mask_head = ig_strides(l->mask)[1].value;
  a->mask_row = ig_strides(l->mask)[2].value;
  a->mask_col = ig_strides(l->mask)[3].value;
}

static void size_convolution(ig_rt_layer *l) {
  l->shape.n = ig_sizes(l->y)[0].value;
  for (int d = 0; d < 3; d++) {
    l->shape.in[d] = l->in[d].value;
    l->shape.out[d] = l->out[d].value;
  }
}

void ig_rt_size_layer(ig_rt_layer *l) {
  const ig_tensor *blocks = l->work == IG_WORK_TO_BLOCKS ? l->y : l->x;
  switch (l->work) {
    case IG_WORK_ATTENTION:
      size_attention(l);
      return;
    case IG_WORK_TO_BLOCKS:
    case IG_WORK_FROM_BLOCKS:
      l->shape.n = ig_sizes(blocks)[0].value;
      l->shape.in[2] = ig_sizes(blocks)[2].value;
      return;
    default:
      break;
  }
  if (l->shape.channels_last) {
    l->shape.in[2] = l->shape.out[2] = ig_tensor_numel(l->x) / l->shape.cin;
  } else {
    size_convolution(l);
  }
}

void ig_rt_each_size(ig_rt_layer *l, ig_rt_visit_size *fn, void *user) {
  for (int d = 0; d < 3; d++) {
    fn(user, &l->in[d]);
    fn(user, &l->out[d]);
  }
}

void ig_rt_use_need(ig_rt_layer *l, const ig_need *need) {
  l->need = need;
}

bool ig_rt_prepare_layer(ig_binding *b, ig_rt_layer *l, ig_need *need) {
  ig_ctx *c = b->plan->c;
  *need = ig_need_make(true);
  if (l->work == IG_WORK_ATTENTION) {
    ig_attention_need_f32(&l->attention, need);
  } else if (l->work == IG_WORK_LAYER) {
    if (!l->pack) l->pack = ig_packs_get(c, b->plan->packs, &l->source);
    if (!l->pack) return false;
    ig_layer_need(l->pack->layer, &l->shape, need);
  }
  size_t bytes = ig_need_bytes(need);
  if (bytes >= IG_SIZE_NONE) return ig_fail(c, IG_NOMEM, "out of memory: a layer") == IG_OK;
  if (bytes > b->work) b->work = bytes;
  return true;
}

void ig_rt_free_layers(ig_binding *b) {
  for (size_t i = 0; i < b->steps.n; i++) {
    const ig_rt_layer *l = b->steps.at[i].layer;
    if (l && l->pack) ig_packs_release(b->plan->packs, l->pack);
  }
}

static bool run_attention(const ig_rt_layer *l) {
  ig_attention_shape s = l->attention;
  s.mask = l->mask ? ig_tensor_data(l->mask) : NULL;
  return ig_attention_f32(&s, ig_tensor_data(l->x), ig_tensor_data(l->keys),
                          ig_tensor_data(l->values), ig_tensor_data(l->y), NULL);
}

static ig_layer_io io_of(const ig_rt_layer *l) {
  return (ig_layer_io){.x = ig_tensor_data(l->x),
                       .y = ig_tensor_data(l->y),
                       .residual = l->residual ? ig_tensor_data(l->residual) : NULL,
                       .act = l->act,
                       .lo = l->lo,
                       .hi = l->hi};
}

void ig_rt_run_layer(ig_ctx *c, const ig_rt_layer *l, void *work) {
  const ig_conv *s = &l->shape;
  const float *x = ig_tensor_data(l->x);
  float *y = ig_tensor_data(l->y);
  if (l->work == IG_WORK_TO_BLOCKS) {
    ig_layer_block_from(s->n, s->cin, s->in[2], x, y);
    return;
  }
  if (l->work == IG_WORK_FROM_BLOCKS) {
    ig_layer_block_to(s->n, s->cin, s->in[2], x, y);
    return;
  }
  ig_layer_io io = io_of(l);
  ig_workspace w;
  ig_workspace_enter(&w, l->need, work);
  bool ok = l->work == IG_WORK_ATTENTION ? run_attention(l) : ig_layer_run(l->pack->layer, s, &io);
  ig_workspace_leave(&w);
  if (!ok) (void)ig_fail(c, IG_NOMEM, "out of memory: working memory of a layer");
}

// ---- what low precision loses

void ig_rt_measure_layer(ig_binding *b, const ig_rt_step *s) {
  const ig_plan_measure *m = b->plan->measure;
  const ig_rt_layer *l = s->layer;
  ig_ctx *c = b->plan->c;
  if (!l || l->work != IG_WORK_LAYER || !b->plan->source.narrow ||
      l->source.options.method != b->plan->source.narrow) {
    return;
  }
  ig_scope scope = ig_scope_open(c);
  const ig_tensor *given = l->source.part[IG_PACK_WEIGHT];
  float *w = ig_scope_array(c, (size_t)ig_tensor_numel(given), sizeof *w);
  ig_str text = ig_str_make(c->alloc);
  for (size_t i = 0; i < l->nops; i++) {
    ig_str_add(&text, "%s%s", i ? " + " : "", l->ops[i]->target);
  }
  if (text.failed) (void)ig_no_memory(c);
  if (w && c->status == IG_OK) {
    ig_tensor_read(given, IG_F32, w);
    ig_plan_loss loss = {.name = s->node ? s->node->name : "", .target = text.at, .weight = given};
    int64_t rows = ig_tensor_numel(l->x) / l->shape.cin;
    loss.error = ig_layer_loss(l->pack->layer, rows, ig_tensor_data(l->x), w);
    loss.kept = !(loss.error <= m->most);
    ig_pack_source source = ig_rt_narrow_source(l);
    if (!loss.kept || ig_packs_keep_f32(c, b->plan->packs, &source)) {
      if (m->report) m->report(m->user, &loss);
    }
  }
  ig_str_free(&text);
  ig_scope_close(c, scope);
}

// ---- which results differ from the interpreter's

typedef struct matcher {
  const ig_binding *b;
  ig_plan_match *at;  // per buffer
  ig_plan_match worst;
} matcher;

static void meet(void *user, ig_tensor *t) {
  matcher *m = user;
  const ig_rt_buffer *x = ig_rt_find(m->b, t);
  if (x && m->at[x - m->b->buffers.at] > m->worst) m->worst = m->at[x - m->b->buffers.at];
}

static void mark(void *user, ig_tensor *t) {
  const matcher *m = user;
  const ig_rt_buffer *x = ig_rt_find(m->b, t);
  if (x) m->at[x - m->b->buffers.at] = m->worst;
}

// Moving numbers, picking and averaging them does not make an error larger.
static bool keeps_errors(const ig_rt_step *s) {
  ig_role r = ig_role_of(s->op)->role;
  return (s->layer && s->layer->work != IG_WORK_ATTENTION) || r == IG_ROLE_WINDOWS ||
         r == IG_ROLE_MEAN || r == IG_ROLE_CAT;
}

bool ig_rt_match_outputs(ig_binding *b) {
  ig_ctx *c = b->plan->c;
  ig_scope scope = ig_scope_open(c);
  matcher m = {.b = b, .at = ig_scope_array(c, b->buffers.n + 1, sizeof *m.at)};
  ig_plan_match any = IG_MATCH_BITS;
  for (size_t i = 0; m.at && i <= b->buffers.n; i++) m.at[i] = IG_MATCH_BITS;
  for (size_t i = 0; m.at && i < b->steps.n; i++) {
    const ig_rt_step *s = &b->steps.at[i];
    m.worst = IG_MATCH_BITS;
    ig_rt_each_operand(b, s, meet, &m);
    if (m.worst && !keeps_errors(s)) m.worst = IG_MATCH_DERIVED;
    if (s->inexact && !m.worst) m.worst = IG_MATCH_SUMS;
    if (m.worst) any = IG_MATCH_DERIVED;
    ig_rt_each_result(s, mark, &m);
  }
  for (size_t i = 0; m.at && i < b->plan->source.noutputs; i++) {
    ig_rt_output *o = &b->outputs[i];
    m.worst = IG_MATCH_BITS;
    ig_rt_each(&o->value, meet, &m);
    // What interpreted nodes give may depend on anything.
    o->match = o->dynamic ? any : m.worst;
  }
  ig_scope_close(c, scope);
  return m.at != NULL;
}

// ---- text

static void print_sizes(const ig_conv *s, const int64_t *sizes, ig_str *out) {
  int first = s->kernel[0] == 1 && s->in[0] == 1 ? 1 : 0;
  for (int d = first; d < 3; d++) {
    ig_str_add(out, "%s%lld", d > first ? "x" : "", (long long)sizes[d]);
  }
}

static const char *method_text(ig_layer_method m) {
  static const char *const texts[IG_LAYER_METHODS] = {
      "none", "product", "stem", "depthwise", "winograd2", "winograd4",   "winograd6",
      "rows", "bf16",    "f16",  "int8",      "int4",      "dynamic int8"};
  return texts[m];
}

double ig_layer_flops(const ig_rt_layer *l) {
  const ig_attention_shape *a = &l->attention;
  if (l->work == IG_WORK_ATTENTION) {
    return 2.0 * (double)(a->batch * a->heads * (a->d + a->dv)) * (double)(a->lq * a->lk);
  }
  if (l->work != IG_WORK_LAYER) return 0;
  const ig_conv *s = &l->shape;
  double pixels = (double)(s->transposed ? ig_conv_in(s) : ig_conv_out(s));
  return 2.0 * (double)s->n * pixels * (double)ig_conv_taps(s) * (double)s->cin * (double)s->cout /
         (double)s->groups;
}

// "winograd4 3x3 64->64, 231.2 MFLOP: aten.convolution.default + aten.relu.default"
void ig_layer_print(const ig_rt_layer *l, ig_str *out) {
  const ig_conv *s = &l->shape;
  if (l->work == IG_WORK_TO_BLOCKS || l->work == IG_WORK_FROM_BLOCKS) {
    ig_str_add(out, l->work == IG_WORK_TO_BLOCKS ? "to blocks" : "from blocks");
    return;
  }
  if (l->work == IG_WORK_ATTENTION) {
    ig_str_add(out, "attention of %lld heads", (long long)l->attention.heads);
  } else if (s->channels_last) {
    ig_layer_method m = ig_layer_method_of(l->pack->layer);
    if (m > IG_LAYER_ROWS) ig_str_add(out, "%s ", method_text(m));
    ig_str_add(out, "%lld rows %lld->%lld", (long long)s->in[2], (long long)s->cin,
               (long long)s->cout);
  } else {
    ig_str_add(out, "%s ", method_text(ig_layer_method_of(l->pack->layer)));
    print_sizes(s, s->kernel, out);
    ig_str_add(out, " %lld->%lld", (long long)s->cin, (long long)s->cout);
    if (s->groups > 1) ig_str_add(out, " in %lld groups", (long long)s->groups);
    ig_str_add(out, " to ");
    print_sizes(s, s->out, out);
  }
  ig_str_add(out, ", %.1f MFLOP: ", ig_layer_flops(l) * 1e-6);
  for (size_t i = 0; i < l->nops; i++) {
    ig_str_add(out, "%s%s", i ? " + " : "", l->ops[i]->target);
  }
}
