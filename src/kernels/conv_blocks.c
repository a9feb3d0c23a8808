// SPDX-License-Identifier: Apache-2.0
// The f32 forward convolution on planes as a layer over blocks of channels: weights are packed by
// every call, images are converted to blocks and back. That pays where sums are long and pixels
// many, most of all with Winograd's F(2x2, 3x3), which is as exact as direct sums (its own are
// shorter) and takes 4 products where those take 9. Which way is faster is decided here.
#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/conv_inner.h"
#include "kernels/layer_kernels.h"

enum { LIMIT = 8 << 20 };  // floats of blocks held at a time

static double padded(int64_t channels, int64_t lanes) {
  const int64_t blocks = (channels + lanes - 1) / lanes;
  return (double)(blocks * lanes);
}

// Cycles from measurements, of the planes' own kernels first. Those reach less of the machine's
// rate where windows step over pixels, and a transposed convolution is a product and a second pass.
static double cost_planes(const ig_conv *c, double lanes) {
  double pixels = (double)c->n * (double)(c->transposed ? ig_conv_in(c) : ig_conv_out(c));
  double sums = (double)(c->cin * c->cout) * (double)ig_conv_taps(c) * pixels;
  bool strided = c->stride[1] > 1 || c->stride[2] > 1;
  double share = c->transposed ? 0.5 : strided ? 0.7 : 0.88;
  return sums / (2.0 * lanes) / share;
}

static double cost_blocks(const ig_conv *c, ig_layer_method m, int64_t lanes) {
  double in = m == IG_LAYER_STEM ? (double)c->cin : padded(c->cin, lanes);
  double out = padded(c->cout, lanes);
  double n = (double)c->n;
  double moved = 0.6 * n * (double)ig_conv_out(c) * out;
  if (m != IG_LAYER_STEM) moved += 0.6 * n * (double)ig_conv_in(c) * in;
  double rate = 2.0 * (double)lanes * 0.92;
  if (m == IG_LAYER_WINOGRAD2) {
    const int64_t rows = (c->out[1] + 1) / 2;
    const int64_t columns = (c->out[2] + 1) / 2;
    double tiles = n * (double)rows * (double)columns;
    double transforms = (in + out) / (double)lanes * 60.0;
    return moved + 25.0 * in * out + tiles * (16.0 * in * out / rate + transforms);
  }
  double taps = (double)ig_conv_taps(c);
  double pixels = n * (double)(c->transposed ? ig_conv_in(c) : ig_conv_out(c));
  return moved + 4.0 * in * out * taps + in * out * taps * pixels / rate;
}

// Narrow planes fill few vectors of pixels, whatever the channels.
static bool is_narrow(const ig_conv *c) {
  enum { WIDTH = 14 };
  return ig_cpu_level() == IG_CPU_AVX2 && c->out[2] <= WIDTH && c->cin >= 8;
}

static ig_layer_method method_of(const ig_conv *c) {
  int64_t lanes = ig_layer_block();
  if (ig_cpu_level() == IG_CPU_BASE) return IG_LAYER_NONE;
  if (ig_layer_suits(c, IG_LAYER_DEPTH, lanes))
    return is_narrow(c) ? IG_LAYER_DEPTH : IG_LAYER_NONE;
  if (c->groups > 1 || (ig_conv_taps(c) == 1 && !c->transposed)) return IG_LAYER_NONE;
  static const ig_layer_method ways[] = {IG_LAYER_STEM, IG_LAYER_PRODUCT, IG_LAYER_WINOGRAD2};
  ig_layer_method best = IG_LAYER_NONE;
  double least = 0.9 * cost_planes(c, (double)lanes);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (!ig_layer_suits(c, ways[i], lanes)) continue;
    double cycles = cost_blocks(c, ways[i], lanes);
    if (cycles >= least) continue;
    least = cycles;
    best = ways[i];
  }
  return best;
}

bool ig_conv_has_blocks(const ig_conv *c) {
  return method_of(c) != IG_LAYER_NONE;
}

typedef struct plan {
  ig_layer l;
  ig_conv c;  // of a round of images
  size_t weights;
  size_t in;  // floats of a round
  size_t out;
} plan;

static plan plan_of(const ig_conv *c) {
  plan p = {.c = *c};
  ig_layer_method m = method_of(c);
  ig_layer_plan(ig_layer_kernels_now(), c, m, &p.l, &p.weights);
  size_t in = m == IG_LAYER_STEM ? 0 : ig_layer_floats(1, c->cin, ig_conv_in(c));
  size_t out = ig_layer_floats(1, c->cout, ig_conv_out(c));
  int64_t fit = LIMIT / (int64_t)(in + out + 1);
  p.c.n = fit < 1 ? 1 : fit < c->n ? fit : c->n;
  p.weights = (p.weights + 15) / 16 * 16;
  p.in = ig_mem_mul((size_t)p.c.n, in);
  p.out = ig_mem_mul((size_t)p.c.n, out);
  return p;
}

static size_t floats_of(const plan *p) {
  return ig_mem_add(p->weights, ig_mem_add(p->in, p->out));
}

void ig_conv_need_blocks(const ig_conv *c, ig_need *need) {
  plan p = plan_of(c);
  ig_need_caller(need, IG_SCRATCH_CONV_0, ig_mem_mul(floats_of(&p), sizeof(float)));
  ig_layer_need(&p.l, &p.c, need);
  p.c.n = c->n % p.c.n;  // the last round
  if (p.c.n) ig_layer_need(&p.l, &p.c, need);
}

// Winograd's transforms mix neighbours: what is infinite, NaN, or so large that sums of it overflow
// would spread to pixels that never see it.
IG_CLONES_NARROW
static bool is_tame(const float *x, int64_t n) {
  const uint32_t large = 0x71000000;  // 6e29
  uint32_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bits &= INT32_MAX;
    most = bits > most ? bits : most;
  }
  return most < large;
}

typedef struct scan {
  const float *x;
  atomic_bool wild;
} scan;

static void scan_range(void *arg, int64_t begin, int64_t end) {
  scan *s = arg;
  if (!is_tame(s->x + begin, end - begin))
    atomic_store_explicit(&s->wild, true, memory_order_relaxed);
}

static bool are_tame(const float *x, int64_t n) {
  scan s = {.x = x};
  ig_parallel_for(n, 1 << 16, scan_range, &s);
  return !atomic_load_explicit(&s.wild, memory_order_relaxed);
}

bool ig_conv_forward_blocks(const ig_conv *c, const float *x, const float *w, const float *bias,
                            float *y) {
  plan p = plan_of(c);
  if (p.l.method == IG_LAYER_WINOGRAD2 &&
      !(are_tame(x, c->n * c->cin * ig_conv_in(c)) && are_tame(w, c->cout * c->cin * 9)))
    return false;
  float *memory = ig_scratch_array(IG_SCRATCH_CONV_0, floats_of(&p), sizeof(float));
  if (!memory) return false;
  ig_layer_fill(&p.l, w, bias, memory);
  float *from = memory + p.weights;
  float *to = from + p.in;
  ig_conv round = p.c;
  for (int64_t i = 0; i < c->n; i += p.c.n) {
    round.n = c->n - i < p.c.n ? c->n - i : p.c.n;
    const float *images = x + i * c->cin * ig_conv_in(c);
    bool plain = p.l.method == IG_LAYER_STEM;
    if (!plain) ig_layer_block_from(round.n, c->cin, ig_conv_in(c), images, from);
    ig_layer_io io = {.x = plain ? images : from, .y = to};
    if (!ig_layer_run(&p.l, &round, &io)) return false;
    ig_layer_block_to(round.n, c->cout, ig_conv_out(c), to, y + i * c->cout * ig_conv_out(c));
  }
  return true;
}
