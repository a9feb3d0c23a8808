// SPDX-License-Identifier: Apache-2.0
// Plans as text, and the times of their steps.
#include <string.h>

#include "rt/chain.h"
#include "rt/frame.h"
#include "rt/layer.h"

typedef struct printer {
  const ig_binding *b;
  ig_str *out;
  bool more;
  bool results;
} printer;

static const char *place_text(ig_rt_place p) {
  static const char *const texts[] = {"slab", "input", "output", "slab", "constant"};
  return texts[p];
}

// "f32[1, 64, 56, 56] @slab+1024"
static void print_tensor(void *user, ig_tensor *t) {
  printer *p = user;
  ig_str_add(p->out, "%s%s[", p->more ? ", " : "", ig_dtype_text(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    ig_str_add(p->out, "%s%lld", d ? ", " : "", (long long)ig_sizes(t)[d].value);
  }
  ig_str_add(p->out, "]");
  p->more = true;
  const ig_rt_buffer *x = ig_rt_find(p->b, t);
  if (!x || x->place == IG_PLACE_FIXED) {
    ig_str_add(p->out, " constant");
  } else if (x->place == IG_PLACE_SLAB || x->place == IG_PLACE_PART) {
    ig_str_add(p->out, " slab+%zu%s", x->offset, p->results && x->takes >= 0 ? " (in place)" : "");
  } else {
    ig_str_add(p->out, " %s %zu", place_text(x->place), x->index);
  }
}

void ig_rt_print_target(const ig_binding *b, const ig_rt_step *s, ig_str *out) {
  if (s->chain) {
    ig_chain_print(s->chain, out);
  } else if (s->layer) {
    ig_layer_print(s->layer, out);
  } else {
    ig_str_add(out, "%s",
               s->op    ? s->op->target
               : b->run ? b->plan->source.nodes->target(b->run, s->part)
                        : s->node->target);
  }
}

const char *ig_rt_name_of(const ig_binding *b, const ig_rt_step *s) {
  if (b->run && ig_rt_is_interpreted(s)) return b->plan->source.nodes->name(b->run, s->part);
  return s->node ? s->node->name : "";
}

static void print_step(const ig_binding *b, size_t i, ig_str *out) {
  const ig_rt_step *s = &b->steps.at[i];
  printer p = {.b = b, .out = out};
  ig_str_add(out, "%4zu  %-12s ", i,
             s->chain                                      ? "chain"
             : s->joined                                   ? "joined"
             : s->layer && !(ig_layer_flops(s->layer) > 0) ? "layout"
             : s->layer                                    ? "layer"
             : !s->op                                      ? "interpreted"
             : s->prep                                     ? "prepared"
                                                           : "kernel");
  ig_rt_print_target(b, s, out);
  ig_str_add(out, "(");
  ig_rt_each_operand(b, s, print_tensor, &p);
  ig_str_add(out, ") -> ");
  p.more = false;
  p.results = true;
  ig_rt_each_result(s, print_tensor, &p);
  const char *name = ig_rt_name_of(b, s);
  if (name[0]) ig_str_add(out, "  # %s", name);
  ig_str_add(out, "\n");
}

void ig_rt_print(const ig_binding *b, ig_str *out) {
  size_t chains = 0;
  size_t layers = 0;
  size_t changes = 0;
  size_t packed = 0;
  double flops = 0;
  size_t interpreted = 0;
  size_t unprepared = 0;
  if (b->interpreted) {
    ig_str_add(out, "not planned: every run is interpreted\n");
    return;
  }
  for (size_t i = 0; i < b->steps.n; i++) {
    const ig_rt_step *s = &b->steps.at[i];
    print_step(b, i, out);
    chains += s->chain != NULL;
    interpreted += ig_rt_is_interpreted(s);
    if (s->layer) {
      bool computes = ig_layer_flops(s->layer) > 0;
      layers += computes;
      changes += !computes;
      packed += s->layer->pack ? ig_layer_bytes(s->layer->pack->layer) : 0;
      flops += ig_layer_flops(s->layer);
    }
    unprepared += s->op && !s->prep;
  }
  size_t apart = 0;
  for (size_t i = 0; i < b->buffers.n; i++) {
    if (b->buffers.at[i].place == IG_PLACE_SLAB) apart += b->buffers.at[i].bytes;
  }
  ig_str_add(out,
             "%zu steps: %zu layers, %zu changes of layout, %zu chains, %zu interpreted, %zu "
             "kernels that allocate\n"
             "memory: %zu bytes for values that take %zu one by one, %zu bytes of working memory\n",
             b->steps.n, layers, changes, chains, interpreted, unprepared, b->slab, apart, b->work);
  if (b->symbols) {
    ig_str_add(out, "sizes: %zu of the inputs vary\n", b->symbols->n);
  }
  if (layers) {
    ig_str_add(out, "layers: %.1f MFLOP, %zu bytes of packed weights\n", flops * 1e-6, packed);
  }
}

bool ig_plan_profile_at(ig_plan *p, size_t i, ig_plan_time *out) {
  const ig_binding *b = p->bindings;
  if (!b || b->interpreted || i >= b->steps.n) return false;
  const ig_rt_step *s = &b->steps.at[i];
  ig_str_free(&p->text);
  p->text = ig_str_make(p->c->alloc);
  ig_rt_print_target(b, s, &p->text);
  *out = (ig_plan_time){.name = ig_rt_name_of(b, s),
                        .target = p->text.at ? p->text.at : "",
                        .interpreted = ig_rt_is_interpreted(s),
                        .seconds = s->seconds,
                        .runs = b->runs,
                        .start = s->start,
                        .last = s->last,
                        .flops = ig_rt_flops(s),
                        .bytes = ig_rt_bytes(b, s)};
  return true;
}
