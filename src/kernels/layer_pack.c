// SPDX-License-Identifier: Apache-2.0
// Weights of layers in the order in which kernels read them: panels of outputs, taps, channels.
#include <string.h>

#include "base/threads.h"
#include "kernels/layer_kernels.h"
#include "kernels/transpose.h"

typedef struct packing {
  ig_layer *l;
  const float *w;
} packing;

// The weight of output o, input i and window element t; zero beyond the channels and between
// groups that were merged.
static float element(const ig_layer *l, const float *w, int64_t o, int64_t i, int64_t t) {
  const ig_conv *c = &l->c;
  int64_t window = ig_conv_taps(c);
  if (o >= c->cout || i >= c->cin) return 0.0f;
  if (c->transposed) return w[(i * c->cout + o) * window + t];
  int64_t cg = c->cin / c->groups;
  int64_t og = c->cout / c->groups;
  if (i / cg != o / og) return 0.0f;
  return w[(o * cg + i % cg) * window + t];
}

static float *panel_at(const ig_layer *l, int64_t product, int64_t block) {
  return l->w + product * l->weights + block * l->f->lanes * l->taps * l->unit;
}

// One row of a panel, `wide` outputs from o on. Where groups were not merged, the weights of
// neighbouring outputs are a constant step apart.
static void pack_row(const packing *p, int64_t o, int64_t i, int64_t t, int64_t wide, float *to) {
  const ig_layer *l = p->l;
  const ig_conv *c = &l->c;
  if (l->groups != c->groups || i >= c->cin) {
    for (int64_t k = 0; k < wide; k++) to[k] = element(l, p->w, o + k, i, t);
    return;
  }
  int64_t window = ig_conv_taps(c);
  int64_t cg = c->cin / c->groups;
  int64_t step = c->transposed ? window : cg * window;
  const float *from = p->w + (c->transposed ? i * c->cout : i % cg) * window + o * step + t;
  int64_t n = c->cout - o < wide ? c->cout - o : wide;
  for (int64_t k = 0; k < n; k++) to[k] = from[k * step];
  for (int64_t k = n < 0 ? 0 : n; k < wide; k++) to[k] = 0.0f;
}

// A panel of a 1x1 convolution is a part of the weights, transposed.
static void pack_across(const packing *p, int64_t o, int64_t wide, float *to) {
  const ig_conv *c = &p->l->c;
  int64_t rows = p->l->taps * p->l->unit;
  int64_t n = c->cout - o < wide ? c->cout - o : wide;
  if (n < wide || c->cin < rows) memset(to, 0, (size_t)(rows * wide) * sizeof(float));
  if (n <= 0) return;
  ig_transpose((char *)to, wide * 4, (const char *)(p->w + o * c->cin), c->cin * 4, n, c->cin, 4);
}

// Panels (product, first block) of products and stems.
static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const packing *p = arg;
  const ig_layer *l = p->l;
  int64_t lanes = l->f->lanes;
  int64_t panels = (l->out + l->panel - 1) / l->panel;
  int64_t window = l->c.transposed ? 1 : ig_conv_taps(&l->c);
  for (int64_t k = begin; k < end; k++) {
    int64_t product = k / panels;
    int64_t block = k % panels * l->panel;
    int64_t group = l->c.transposed ? 0 : product;
    int64_t wide = (l->out - block < l->panel ? l->out - block : l->panel) * lanes;
    float *to = panel_at(l, product, block);
    if (ig_conv_taps(&l->c) == 1 && l->c.groups == 1 && !l->c.transposed) {
      pack_across(p, block * lanes, wide, to);
      continue;
    }
    for (int64_t t = 0; t < l->taps; t++)
      for (int64_t u = 0; u < l->unit; u++, to += wide)
        pack_row(p, (group * l->out + block) * lanes, (group * l->in + t / window) * l->unit + u,
                 l->c.transposed ? product : t % window, wide, to);
  }
}

static void pack_wino(void *arg, int64_t begin, int64_t end) {
  const packing *p = arg;
  const ig_layer *l = p->l;
  const ig_conv *c = &l->c;
  enum { WIDE = 3 * 16, SIDE = IG_LAYER_SIDE };
  float g[9 * WIDE];
  float u[SIDE * SIDE * WIDE];
  int64_t lanes = l->f->lanes;
  for (int64_t k = begin; k < end; k++) {
    int64_t block = k * l->panel;
    int64_t wide = (l->out - block < l->panel ? l->out - block : l->panel) * lanes;
    for (int64_t i = 0; i < l->in * lanes; i++) {
      if (i >= c->cin) {
        memset(g, 0, sizeof g);
      } else {
        for (int64_t o = 0; o < wide; o++) {
          int64_t row = block * lanes + o;
          const float *from = p->w + (row * c->cin + i) * 9;
          for (int t = 0; t < 9; t++) g[t * wide + o] = row < c->cout ? from[t] : 0.0f;
        }
      }
      l->f->wino_weights(ig_layer_wino_size(l->method), wide, g, u);
      float *to = panel_at(l, 0, block) + i * wide;
      for (int64_t s = 0; s < l->products; s++)
        memcpy(to + s * l->weights, u + s * wide, (size_t)wide * sizeof(float));
    }
  }
}

static void pack_depth(const ig_layer *l, const float *w) {
  int64_t lanes = l->f->lanes;
  int64_t taps = ig_conv_taps(&l->c);
  for (int64_t c = 0; c < l->out * lanes; c++)
    for (int64_t t = 0; t < taps; t++)
      l->w[(c / lanes * taps + t) * lanes + c % lanes] = c < l->c.cin ? w[c * taps + t] : 0.0f;
}

void ig_layer_fill(ig_layer *l, const float *w, const float *bias, float *memory) {
  packing p = {l, w};
  int64_t lanes = l->f->lanes;
  l->w = memory;
  l->bias = memory + l->products * l->weights;
  for (int64_t o = 0; o < (l->c.cout + lanes - 1) / lanes * lanes; o++)
    l->bias[o] = bias && o < l->c.cout ? bias[o] : 0.0f;
  int64_t panels = (l->out + l->panel - 1) / l->panel;
  int64_t grain = 65536 / (l->taps * l->unit * l->panel * lanes + 1) + 1;
  if (ig_layer_is_rows(l->method))
    ig_layer_fill_rows(l, w);
  else if (l->method == IG_LAYER_DEPTH)
    pack_depth(l, w);
  else if (ig_layer_wino_size(l->method))
    ig_parallel_for(panels, grain, pack_wino, &p);
  else
    ig_parallel_for(panels * l->products, grain, pack_panels, &p);
}
