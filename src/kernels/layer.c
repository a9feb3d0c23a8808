// SPDX-License-Identifier: Apache-2.0
// Layers: which method, by cost; memory; what runs them. Methods are chosen here and nowhere else.
#include "kernels/layer.h"

#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/layer_kernels.h"
#include "kernels/transpose.h"

const ig_layer_kernels *ig_layer_kernels_now(void) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  if (level >= IG_CPU_AVX512) return &ig_layer_kernels_avx512;
  if (level >= IG_CPU_AVX2) return &ig_layer_kernels_avx2;
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) return &ig_layer_kernels_neon;
#endif
  return &ig_layer_kernels_portable;
}

int ig_layer_block(void) {
  return ig_layer_kernels_now()->lanes;
}

static int64_t blocks_of(int64_t channels, int64_t lanes) {
  return (channels + lanes - 1) / lanes;
}

size_t ig_layer_floats(int64_t n, int64_t channels, int64_t pixels) {
  int64_t lanes = ig_layer_block();
  size_t image = ig_mem_mul((size_t)(blocks_of(channels, lanes) * lanes), (size_t)pixels);
  return ig_mem_mul((size_t)n, image);
}

// ---- choice ----

enum { STEM = 4 };  // input channels at most; from twice as many on blocks waste little

// Groups that are narrower than blocks are merged, if then whole blocks come out: the number of
// groups that become one, or 0. Their weights are zero between groups.
static int64_t merged(const ig_conv *c, int64_t lanes) {
  int64_t cg = c->cin / c->groups;
  int64_t og = c->cout / c->groups;
  if (c->groups == 1) return 1;
  for (int64_t m = 1; m <= lanes && m <= c->groups; m++)
    if (c->groups % m == 0 && cg * m % lanes == 0 && og * m % lanes == 0) return m;
  return 0;
}

static bool is_depthwise(const ig_conv *c) {
  return c->groups > 1 && c->groups == c->cin && c->cout == c->cin && !c->transposed &&
         c->kernel[0] == 1 && c->in[0] == 1 && c->padding[0] == 0 &&
         c->kernel[1] <= IG_LAYER_WINDOW;
}

// Offsets inside an image are 32-bit numbers.
static bool is_small(const ig_conv *c, int64_t lanes) {
  double image = (double)(c->cin + lanes);
  double result = (double)(c->cout + lanes);
  for (int d = 0; d < 3; d++) {
    image *= (double)c->in[d] + 2.0 * (double)c->padding[d];
    result *= (double)c->out[d];
  }
  return image < 2e9 && result < 2e9;
}

static bool suits_wino(const ig_conv *c) {
  bool ok = !c->transposed && c->groups == 1 && c->kernel[0] == 1 && c->in[0] == 1 &&
            c->padding[0] == 0 && c->stride[0] == 1;
  for (int d = 1; d < 3; d++)
    ok = ok && c->kernel[d] == 3 && c->stride[d] == 1 && c->dilation[d] == 1;
  return ok;
}

static bool suits_product(const ig_conv *c, int64_t lanes) {
  if (!c->transposed) return merged(c, lanes) > 0;
  bool ok = c->groups == 1;
  for (int d = 0; d < 3; d++)
    ok = ok && c->kernel[d] == c->stride[d] && c->padding[d] == 0 &&
         c->out[d] == c->in[d] * c->stride[d] && (c->dilation[d] == 1 || c->kernel[d] == 1);
  return ok;
}

// Rows of channels: products that read and write them where they lie, in whole blocks.
static bool suits_rows(const ig_conv *c, int64_t lanes) {
  bool ok = !c->transposed && c->groups == 1 && c->cin % lanes == 0 && c->cout % lanes == 0;
  for (int d = 0; d < 3; d++)
    ok = ok && c->kernel[d] == 1 && c->stride[d] == 1 && c->padding[d] == 0;
  return ok;
}

// A matrix of any size whose sums of integers, of weights alone or of their products with inputs,
// have 32 bits.
static bool suits_matrix(const ig_conv *c, ig_layer_method m) {
  enum { WEIGHT = 127, INPUT = 255 };
  int64_t most = m == IG_LAYER_DYNAMIC8 ? INT32_MAX / (WEIGHT * INPUT) : INT32_MAX / WEIGHT;
  bool integers = m == IG_LAYER_INT8 || m == IG_LAYER_DYNAMIC8;
  bool ok = c->channels_last && !c->transposed && c->groups == 1 && (!integers || c->cin <= most);
  for (int d = 0; d < 3; d++)
    ok = ok && c->kernel[d] == 1 && c->stride[d] == 1 && c->padding[d] == 0;
  return ok;
}

bool ig_layer_suits(const ig_conv *c, ig_layer_method m, int64_t lanes) {
  if (c->elem != IG_ELEM_F32 || c->cin <= 0 || c->cout <= 0) return false;
  if (!is_small(c, lanes)) return false;
  if (ig_layer_is_rows(m)) return suits_matrix(c, m);
  if (c->channels_last) return m == IG_LAYER_PRODUCT && suits_rows(c, lanes);
  if (ig_layer_wino_size(m)) return suits_wino(c);
  if (m == IG_LAYER_DEPTH) return is_depthwise(c);
  if (m == IG_LAYER_STEM) return c->groups == 1 && !c->transposed && c->cin < 2 * lanes;
  return m == IG_LAYER_PRODUCT && suits_product(c, lanes);
}

// Cycles of a run, from measurements: vectors of products at two per cycle, transforms of tiles,
// bytes of weights at what memory or the last cache delivers. A tile costs its transforms per
// block of channels, in and out.
static double cost(const ig_conv *c, ig_layer_method method, const ig_layer_options *o,
                   int64_t lanes) {
  static const double transforms[] = {0, 55, 190, 490};  // by size / 2
  enum { NEAR = 16 << 20 };
  int m = ig_layer_wino_size(method);
  double in = (double)blocks_of(c->cin, lanes);
  double out = (double)blocks_of(c->cout, lanes);
  double products = in * (double)lanes * out / 2 / 0.95;  // of one pixel and tap
  double taps = 9;
  double work = products * taps * (double)(c->n * ig_conv_out(c));
  if (m) {
    const int64_t rows = (c->out[1] + m - 1) / m;
    const int64_t columns = (c->out[2] + m - 1) / m;
    double tiles = (double)(c->n * rows * columns);
    taps = (m + 2) * (m + 2);
    work = tiles * (products * taps + (in + out) * transforms[m / 2]);
  }
  double bytes = in * out * (double)(lanes * lanes) * taps * 4;
  bool near = o->model_bytes > 0 && o->model_bytes < NEAR;
  double rate = near ? 20 : 6;  // bytes per cycle
  return work > bytes / rate ? work : bytes / rate;
}

static const ig_layer_options none = {0};

ig_layer_method ig_layer_choose(const ig_conv *c, const ig_layer_options *o) {
  const int64_t lanes = ig_layer_block();
  if (!o) o = &none;
  if (o->method) return ig_layer_suits(c, o->method, lanes) ? o->method : IG_LAYER_NONE;
  if (ig_layer_suits(c, IG_LAYER_DEPTH, lanes)) return IG_LAYER_DEPTH;
  if (c->cin <= STEM && ig_layer_suits(c, IG_LAYER_STEM, lanes)) return IG_LAYER_STEM;
  if (!ig_layer_suits(c, IG_LAYER_PRODUCT, lanes)) return IG_LAYER_NONE;
  ig_layer_method best = IG_LAYER_PRODUCT;
  if (c->channels_last || !suits_wino(c)) return best;
  // A larger form loses more precision: it has to be clearly faster.
  int last = o->rtol > 0 ? IG_LAYER_WINOGRAD6 : IG_LAYER_WINOGRAD2;
  for (int m = IG_LAYER_WINOGRAD2; m <= last; m++)
    if (cost(c, (ig_layer_method)m, o, lanes) < 0.95 * cost(c, best, o, lanes))
      best = (ig_layer_method)m;
  return best;
}

// ---- memory ----

// Outputs in panels of two blocks, or of three where that leaves no half panel.
static int64_t panel_width(int64_t blocks) {
  return blocks % 2 && blocks % 3 == 0 ? 3 : 2;
}

void ig_layer_plan(const ig_layer_kernels *f, const ig_conv *c, ig_layer_method m, ig_layer *l,
                   size_t *floats) {
  int64_t lanes = f->lanes;
  int64_t merge = m == IG_LAYER_DEPTH ? 1 : merged(c, lanes);
  if (merge < 1) merge = 1;  // never: ig_layer_suits has refused such groups
  int64_t window = ig_conv_taps(c);
  int size = ig_layer_wino_size(m);
  *l = (ig_layer){.f = f, .method = m, .c = *c, .unit = lanes, .products = 1};
  l->groups = m == IG_LAYER_DEPTH ? 1 : c->groups / merge;
  l->in = blocks_of(c->cin / l->groups, lanes);
  l->out = blocks_of(c->cout / l->groups, lanes);
  l->panel = panel_width(l->out);
  if (m == IG_LAYER_STEM) {
    l->unit = 1;
    l->in = c->cin;
  }
  l->taps = l->in * (size || c->transposed ? 1 : window);
  l->products = size ? (size + 2) * (size + 2) : c->transposed ? window : l->groups;
  l->weights = l->out * lanes * l->taps * l->unit;
  if (size) l->weights += 16;  // powers of two apart, all positions would share sets of the caches
  if (m == IG_LAYER_DEPTH) l->weights = l->out * lanes * window;
  if (ig_layer_is_rows(m)) l->weights = ig_layer_rows_floats(l);
  int64_t left = c->cout % lanes;
  uint32_t all = UINT32_MAX;
  for (int64_t i = 0; i < lanes; i++)
    if (left == 0 || i < left) memcpy(&l->keep[i], &all, sizeof all);
  size_t bias = (size_t)(blocks_of(c->cout, lanes) * lanes);
  *floats = ig_mem_add(ig_mem_mul((size_t)l->products, (size_t)l->weights), bias);
}

// Large blocks on huge pages, where the system has them: a tenth more bandwidth for weights.
static void *allocate(size_t floats) {
  enum { HUGE_PAGE = 2 << 20 };
  size_t bytes = ig_mem_mul(floats, sizeof(float));
  if (bytes >= IG_SIZE_NONE - HUGE_PAGE) return NULL;
  bytes = (bytes + 63) / 64 * 64;
  // Not rounded up: a huge page at the end would be mostly empty. Some C libraries want that.
  void *p = bytes < HUGE_PAGE ? NULL : aligned_alloc(HUGE_PAGE, bytes);
  if (!p) return aligned_alloc(64, bytes);
  ig_pages_huge(p, bytes / HUGE_PAGE * HUGE_PAGE);
  return p;
}

static ig_layer *create(const ig_conv *c, const float *w, const float *bias, ig_layer_method m) {
  ig_layer *l = malloc(sizeof *l);
  size_t floats;
  if (!l) return NULL;
  ig_layer_plan(ig_layer_kernels_now(), c, m, l, &floats);
  l->memory = allocate(floats);
  if (!l->memory) {
    free(l);
    return NULL;
  }
  ig_layer_fill(l, w, bias, l->memory);
  return l;
}

ig_layer *ig_layer_create(const ig_conv *c, const float *w, const float *bias,
                          const ig_layer_options *o) {
  if (!o) o = &none;
  ig_layer_options left = *o;
  for (;;) {
    ig_layer_method m = ig_layer_choose(c, &left);
    if (m == IG_LAYER_NONE) return NULL;
    ig_layer *l = create(c, w, bias, m);
    if (!l || m < IG_LAYER_WINOGRAD4 || o->method) return l;
    l->error = ig_layer_measure(l, w);
    if (l->error >= 0 && l->error <= o->rtol) return l;
    ig_layer_free(l);
    left.rtol = 0;  // what loses more is not tried again
    left.method = m == IG_LAYER_WINOGRAD6 ? IG_LAYER_WINOGRAD4 : IG_LAYER_NONE;
    if (left.method && cost(c, left.method, o, ig_layer_block()) >
                           cost(c, IG_LAYER_WINOGRAD2, o, ig_layer_block()))
      left.method = IG_LAYER_NONE;
  }
}

static size_t packed_bytes(const ig_layer *l) {
  int64_t lanes = l->f->lanes;
  size_t bias = (size_t)(blocks_of(l->c.cout, lanes) * lanes);
  size_t floats = ig_mem_add(ig_mem_mul((size_t)l->products, (size_t)l->weights), bias);
  return ig_mem_mul(floats, sizeof(float));
}

const void *ig_layer_packed(const ig_layer *l, size_t *bytes) {
  *bytes = packed_bytes(l);
  return l->w;
}

ig_layer *ig_layer_over(const ig_conv *c, ig_layer_method m, double error, const void *packed,
                        size_t bytes) {
  const ig_layer_kernels *f = ig_layer_kernels_now();
  size_t floats;
  if ((uintptr_t)packed % IG_LAYER_ALIGN || m <= IG_LAYER_NONE || m >= IG_LAYER_METHODS) {
    return NULL;
  }
  if (!ig_layer_suits(c, m, f->lanes)) return NULL;
  ig_layer *l = malloc(sizeof *l);
  if (!l) return NULL;
  ig_layer_plan(f, c, m, l, &floats);
  if (ig_mem_mul(floats, sizeof(float)) != bytes) {
    free(l);
    return NULL;
  }
  l->error = error;
  l->w = (float *)packed;  // never written
  l->bias = l->w + l->products * l->weights;
  return l;
}

void ig_layer_free(ig_layer *l) {
  if (!l) return;
  free(l->memory);
  free(l);
}

ig_layer_method ig_layer_method_of(const ig_layer *l) {
  return l->method;
}
size_t ig_layer_bytes(const ig_layer *l) {
  return ig_mem_mul((size_t)(l->products * l->weights), sizeof(float));
}
double ig_layer_error(const ig_layer *l) {
  return l->error;
}

// ---- running ----

static bool takes_few(const ig_layer *l, const ig_conv *c) {
  return l->c.channels_last && c->n * ig_conv_in(c) < IG_LAYER_MANY;
}

void ig_layer_need(const ig_layer *l, const ig_conv *c, ig_need *need) {
  if (c->n <= 0 || ig_conv_out(c) <= 0) return;
  if (ig_layer_is_rows(l->method))
    ig_layer_need_rows(l, c, need);
  else if (ig_layer_wino_size(l->method))
    ig_layer_need_wino(l, c, need);
  else if (l->method != IG_LAYER_DEPTH && !takes_few(l, c))
    ig_layer_need_product(l, c, need);
}

static ig_layer_io dense(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  ig_layer_io d = *io;
  int64_t lanes = l->f->lanes;
  int64_t in = l->method == IG_LAYER_STEM ? c->cin : blocks_of(c->cin, lanes) * lanes;
  int64_t out = blocks_of(c->cout, lanes) * lanes * ig_conv_out(c);
  if (!d.x_image) d.x_image = in * ig_conv_in(c);
  if (!d.y_image) d.y_image = out;
  if (!d.residual_image) d.residual_image = out;
  return d;
}

bool ig_layer_run(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  if (c->n <= 0 || ig_conv_out(c) <= 0) return true;
  if (ig_layer_is_rows(l->method)) return ig_layer_run_rows(l, c, io);
  if (takes_few(l, c)) {
    ig_layer_run_few(l, c->n * ig_conv_in(c), io);
    return true;
  }
  ig_layer_io d = dense(l, c, io);
  if (ig_layer_wino_size(l->method)) return ig_layer_run_wino(l, c, &d);
  if (l->method == IG_LAYER_DEPTH) {
    ig_layer_run_depth(l, c, &d);
    return true;
  }
  return ig_layer_run_product(l, c, &d);
}

// ---- blocks ----

typedef struct conversion {
  int64_t lanes;
  int64_t channels;
  int64_t blocks;
  int64_t pixels;
  const float *from;
  float *to;
} conversion;

static void to_blocks(void *arg, int64_t begin, int64_t end) {
  const conversion *v = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i % v->blocks * v->lanes;
    int64_t wide = v->channels - first < v->lanes ? v->channels - first : v->lanes;
    const float *from = v->from + (i / v->blocks * v->channels + first) * v->pixels;
    float *to = v->to + i * v->pixels * v->lanes;
    if (wide < v->lanes) memset(to, 0, (size_t)(v->pixels * v->lanes) * sizeof(float));
    ig_transpose((char *)to, v->lanes * 4, (const char *)from, v->pixels * 4, wide, v->pixels, 4);
  }
}

static void from_blocks(void *arg, int64_t begin, int64_t end) {
  const conversion *v = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i % v->blocks * v->lanes;
    int64_t wide = v->channels - first < v->lanes ? v->channels - first : v->lanes;
    const float *from = v->from + i * v->pixels * v->lanes;
    float *to = v->to + (i / v->blocks * v->channels + first) * v->pixels;
    ig_transpose((char *)to, v->pixels * 4, (const char *)from, v->lanes * 4, v->pixels, wide, 4);
  }
}

static void convert(conversion v, int64_t n, void (*fn)(void *arg, int64_t begin, int64_t end)) {
  v.lanes = ig_layer_block();
  v.blocks = blocks_of(v.channels, v.lanes);
  ig_parallel_for(n * v.blocks, 16384 / (v.pixels * v.lanes + 1) + 1, fn, &v);
}

void ig_layer_block_from(int64_t n, int64_t channels, int64_t pixels, const float *plain,
                         float *blocked) {
  convert((conversion){.channels = channels, .pixels = pixels, .from = plain, .to = blocked}, n,
          to_blocks);
}

void ig_layer_block_to(int64_t n, int64_t channels, int64_t pixels, const float *blocked,
                       float *plain) {
  convert((conversion){.channels = channels, .pixels = pixels, .from = blocked, .to = plain}, n,
          from_blocks);
}
