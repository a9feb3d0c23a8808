// SPDX-License-Identifier: Apache-2.0
// The f32 forward convolution on planes: a matrix product whose right operand is never stored.
// Output channels are rows, pixels are columns; a panel of pixels is read from the padded image
// either in place (flat positions, a few wasted at the row ends) or packed first (no waste, one
// more pass), whichever costs less for the shape; where output and input are the same size, panels
// are packed from the input itself, with masks for what is outside. The few pixels beyond whole
// vectors are done as dot products. Depthwise convolutions read the image of one plane at a time.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/conv_image.h"
#include "kernels/conv_kernels.h"
#include "kernels/gemm.h"
#include "kernels/scratch.h"

enum {
  DEPTH = 192,      // k per pass: a panel and a tile's weights stay in the L1 cache
  LONG = 256,       // the same where many rows share a panel
  DEEP = 576,       // the same where weights are used for one or two panels only
  NARROW = 768,     // the same for vectors of 8, whose panels are half as large
  BLOCK = 8,        // panels per task at most: weights of a pass stay in the L2 cache
  PACK = 32 << 10,  // floats of packed panels of a task, at least DEEP * (48 + 8)
  TAPS = IG_CONV_TAPS,
  SLACK = 64,        // floats readable after an image
  LIMIT = 16 << 20,  // floats of images held at a time
};

typedef struct job {
  const ig_conv_kernels *f;
  ig_conv c;
  ig_conv_image m;
  const float *x;
  const float *w;
  const float *bias;
  float *y;
  float *images;       // NULL: x is the image
  const int64_t *off;  // [k]
  int64_t first;       // image that `images` begins with
  int64_t k;
  int64_t depth;          // k per pass
  int64_t pixels;         // of one output plane
  bool in_place;          // panels are flat positions of the image
  bool same;              // panels are packed from x itself
  bool far;               // and every k is a separate stream
  const uint16_t *masks;  // depthwise: lanes inside the input
  int64_t columns;        // flat positions or pixels that are done in panels
  int64_t panels;
  int64_t pixel_blocks;
  int64_t row_blocks;
  int64_t rows_each;    // output channels per row block
  int64_t panels_each;  // per pixel block, BLOCK at most
} job;

static const ig_conv_kernels *kernels(void) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  if (level >= IG_CPU_AVX512) return &ig_conv_kernels_avx512;
  if (level >= IG_CPU_AVX2) return &ig_conv_kernels_avx2;
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) return &ig_conv_kernels_neon;
#endif
  return NULL;
}

bool ig_conv_has_f32(const ig_conv *c) {
  return kernels() != NULL && !ig_conv_image_is_wasteful(c);
}

static int min_int(int64_t a, int64_t b) {
  return (int)(a < b ? a : b);
}

// ---- one panel ----

typedef struct span {
  int64_t at;
  int64_t n;
} span;

typedef struct panel {
  bool dots;  // single pixels, done as dot products
  int n;      // columns
  int vectors;
  bool in_place;
  bool whole;     // packed: all vectors are full, and runs of neighbours
  int64_t base;   // in place: flat position of column 0
  int64_t pixel;  // packed: output position of column 0
  ig_conv_lanes lanes[4];
  ig_conv_pick pick[4];
  uint32_t masks[TAPS * 3];  // same: [taps][vectors] lanes inside the input
} panel;

// Lanes of flat positions [f, f + n): those inside a row become runs of pixels. Rows are at least a
// vector wide, so there are two runs at most.
static ig_conv_lanes lanes_of(const job *j, int64_t f, int n) {
  int64_t cols = j->m.cols;
  int64_t width = j->c.out[2];
  ig_conv_lanes l = {{0, 0}, {0, 0}};
  for (int run = 0; run < 2; run++) {
    int64_t row = f / cols + run;
    int64_t lo = row * cols - f;  // lane of the row's first pixel
    int64_t hi = lo + width;
    l.at[run] = row * width - lo;
    if (lo < 0) lo = 0;
    if (hi > n) hi = n;
    for (int64_t i = lo; i < hi; i++) l.mask[run] |= 1U << i;
  }
  if (l.mask[0] == 0) {
    l.mask[0] = l.mask[1];
    l.at[0] = l.at[1];
    l.mask[1] = 0;
  }
  return l;
}

static int64_t flat_of(const job *j, int64_t pixel) {
  return pixel / j->c.out[2] * j->m.cols + pixel % j->c.out[2];
}

static ig_conv_pick pick_of(const job *j, int64_t pixel, int n) {
  ig_conv_pick q = {.count = n, .base = flat_of(j, pixel)};
  const int64_t width = j->c.out[2];
  if (width - pixel % width >= n) {  // all in one row
    for (int i = 0; i < 16; i++) q.index[i] = i < n ? i : n - 1;
    q.span = n;
    return q;
  }
  const int32_t gap = (int32_t)(j->m.cols - width);  // from the end of a row to the next row
  int64_t left = width - pixel % width;              // pixels of this row
  int32_t at = 0;
  for (int i = 0; i < 16; i++) {
    q.index[i] = at;
    if (i + 1 >= n) continue;  // the last one again
    at++;
    if (--left == 0) {
      at += gap;
      left = width;
    }
  }
  q.span = q.index[15] + 1;
  return q;
}

// The pixels [pixel, pixel + n), one bit each, whose row (column) k lies inside the input.
static uint64_t inside(const job *j, int64_t pixel, int n, int dim, int64_t k) {
  const ig_conv *c = &j->c;
  int64_t shift = k * c->dilation[dim] - c->padding[dim];
  int64_t width = c->out[2];
  int64_t row = pixel / width;
  int64_t col = pixel % width;
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; row++) {  // i is the bit of (row, col)
    int64_t end = col + n - i < width ? col + n - i : width;
    int64_t lo = col;
    int64_t hi = row + shift >= 0 && row + shift < c->in[1] ? end : col;
    if (dim == 2) {
      lo = col + shift < 0 ? -shift : col;
      hi = end + shift > c->in[2] ? c->in[2] - shift : end;
    }
    if (hi > lo) bits |= ((UINT64_C(1) << (hi - lo)) - 1) << (i + lo - col);
    i += end - col;
    col = 0;
  }
  return bits;
}

// taps masks of n pixels.
static void inside_taps(const job *j, int64_t pixel, int n, uint64_t *bits) {
  const ig_conv *c = &j->c;
  uint64_t cols[TAPS];
  for (int64_t k = 0; k < c->kernel[2]; k++) cols[k] = inside(j, pixel, n, 2, k);
  for (int64_t k = 0; k < c->kernel[1]; k++) {
    uint64_t row = inside(j, pixel, n, 1, k);
    for (int64_t l = 0; l < c->kernel[2]; l++) *bits++ = row & cols[l];
  }
}

static void set_masks(const job *j, panel *p) {
  int lanes = j->f->lanes;
  int vectors = j->f->vectors;
  uint64_t bits[TAPS] = {0};
  inside_taps(j, p->pixel, p->n, bits);
  for (int64_t t = 0; t < ig_conv_taps(&j->c); t++)
    for (int v = 0; v < vectors; v++)
      p->masks[t * vectors + v] = (uint32_t)(bits[t] >> (v * lanes)) & ((1U << lanes) - 1U);
}

static void set_panel(const job *j, int64_t index, panel *p) {
  p->dots = p->whole = false;
  int lanes = j->f->lanes;
  int width = lanes * j->f->vectors;
  int64_t at = index * width;
  p->n = min_int(j->columns - at, width);
  // Reading whole vectors past the end of the caller's own tensor is not allowed.
  p->in_place = j->in_place && (j->images || at + width <= j->columns);
  p->base = at;
  p->pixel = at;
  if (j->in_place && !p->in_place) {
    int64_t col = at % j->m.cols;
    p->pixel = at / j->m.cols * j->c.out[2] + (col < j->c.out[2] ? col : j->c.out[2]);
    p->n = (int)(j->pixels - p->pixel);
  }
  p->vectors = (p->n + lanes - 1) / lanes;
  if (j->same) set_masks(j, p);
  for (int v = 0; v < p->vectors && !j->same; v++) {
    int n = min_int(p->n - v * lanes, lanes);
    if (p->in_place)
      p->lanes[v] = lanes_of(j, at + (int64_t)v * lanes, n);
    else
      p->pick[v] = pick_of(j, p->pixel + (int64_t)v * lanes, n);
  }
  if (j->same || p->in_place || p->n < width) return;
  p->whole = true;
  for (int v = 0; v < p->vectors; v++) p->whole = p->whole && p->pick[v].span == lanes;
}

// ---- one task: an image and group, a depth, some panels, some output channels ----

typedef struct task {
  const float *image;  // of the group, at the output depth
  const float *w;      // first row
  const float *bias;   // NULL or of the first row
  float *y;            // first row
  int64_t rows;
  float *pack;  // [PACK]
} task;

// What the sums of a pass begin with; NULL: with what is there.
static const float *start_of(const task *t, int64_t row, span k) {
  static const float zeros[8];
  return k.at > 0 ? NULL : t->bias ? t->bias + row : zeros;
}

// One tile of rows against one panel.
static void run_tile(const job *j, const task *t, const panel *p, const float *packed, int64_t row,
                     span k) {
  // Channels of a large image are far apart: each tile of rows prefetches one cache line of every k
  // of the next panel.
  int64_t width = (int64_t)j->f->lanes * j->f->vectors;
  int64_t line = row / j->f->rows * 16;
  int64_t ahead = j->far && line < width && p->pixel + 2 * width <= j->pixels ? width + line : 0;
  int64_t ldc = j->pixels * j->c.out[0];
  int m = min_int(t->rows - row, j->f->rows);
  const float *start = start_of(t, row, k);
  const float *w = t->w + row * j->k + k.at;
  float *y = t->y + row * ldc;
  if (p->dots)
    j->f->dots(m, p->n, k.n, w, j->k, packed, k.n, start, y + p->pixel, ldc);
  else if (p->in_place)
    j->f->direct(m, p->vectors, k.n, w, j->k, t->image + p->base, j->off + k.at, p->lanes, start, y,
                 ldc, ahead);
  else
    j->f->packed(m, p->n, k.n, w, j->k, packed, start, y + p->pixel, ldc,
                 ahead ? t->image + p->pixel + ahead : NULL, j->off + k.at);
}

// Columns of single pixels, one after the other.
static void pack_dots(const job *j, const task *t, const panel *p, span k, float *to) {
  const int64_t *off = j->off + k.at;
  int64_t taps = ig_conv_taps(&j->c);
  for (int i = 0; i < p->n; i++, to += k.n) {
    const float *s = t->image + (j->same ? p->pixel + i : flat_of(j, p->pixel + i));
    int64_t tap = k.at % taps;
    for (int64_t q = 0; q < k.n; q++) {
      bool in = !j->same || p->masks[tap * j->f->vectors] >> i & 1U;
      to[q] = in ? s[off[q]] : 0.0f;
      tap = tap + 1 < taps ? tap + 1 : 0;
    }
  }
}

static void pack_panel(const job *j, const task *t, const panel *p, span k, float *to) {
  const int64_t *off = j->off + k.at;
  int64_t taps = ig_conv_taps(&j->c);
  if (p->dots) {
    pack_dots(j, t, p, k, to);
  } else if (j->same) {
    j->f->pack_same(p->vectors, k.n, t->image + p->pixel, off, p->masks, taps, k.at % taps, to);
  } else if (!p->in_place) {
    j->f->pack(p->vectors, k.n, t->image, off, p->pick, to);
  }
}

// Packs a panel and does the first tile of rows, both at once where that is possible.
static void open_panel(const job *j, const task *t, const panel *p, span k, float *to) {
  if (p->whole && t->rows >= j->f->rows) {
    j->f->take(k.n, t->w + k.at, j->k, t->image, j->off + k.at, p->pick, to, start_of(t, 0, k),
               t->y + p->pixel, j->pixels * j->c.out[0]);
    return;
  }
  pack_panel(j, t, p, k, to);
  run_tile(j, t, p, to, 0, k);
}

// Panels one after the other, each packed into the same buffer, which stays in the L1 cache; or,
// where all of them are small, rows one after the other, which writes longer runs of the output.
// Small is half as much for vectors of half the size: their tiles read the panels twice as often.
static void run_pass(const job *j, const task *t, const panel *p, int panels, span k) {
  int64_t at[BLOCK + 1];
  int64_t size = 0;
  for (int i = 0; i < panels; i++) {
    at[i] = size;
    // Rounded up to whole cache lines.
    size += p[i].in_place ? 0
            : p[i].dots   ? (p[i].n * k.n + 15) / 16 * 16
                          : (int64_t)j->f->lanes * j->f->vectors * k.n;
  }
  if (size > (int64_t)PACK / 16 * j->f->lanes) {
    for (int i = 0; i < panels; i++) {
      open_panel(j, t, p + i, k, t->pack);
      for (int64_t r = j->f->rows; r < t->rows; r += j->f->rows)
        run_tile(j, t, p + i, t->pack, r, k);
    }
    return;
  }
  for (int i = 0; i < panels; i++) open_panel(j, t, p + i, k, t->pack + at[i]);
  for (int64_t r = j->f->rows; r < t->rows; r += j->f->rows)
    for (int i = 0; i < panels; i++) run_tile(j, t, p + i, t->pack + at[i], r, k);
}

static void run_task(void *arg, int64_t id) {
  const job *j = arg;
  const ig_conv *c = &j->c;
  int64_t row_block = id % j->row_blocks;
  int64_t pixel_block = id / j->row_blocks % j->pixel_blocks;
  int64_t rest = id / j->row_blocks / j->pixel_blocks;
  int64_t od = rest % c->out[0];
  int64_t g = rest / c->out[0] % c->groups;
  int64_t n = rest / c->out[0] / c->groups;
  int64_t og = c->cout / c->groups;
  int64_t cg = c->cin / c->groups;
  int64_t row = row_block * j->rows_each;
  int64_t channel = g * og + row;
  _Alignas(64) float pack[PACK];
  const float *images = j->images ? j->images : j->x + j->first * c->cin * ig_conv_in(c);
  int64_t plane = j->same ? j->pixels : j->m.plane;
  int64_t channel_size = j->same ? ig_conv_in(c) : j->m.channel;
  task t = {
      .image = images + (n * c->cin + g * cg) * channel_size + od * c->stride[0] * plane,
      .w = j->w + channel * j->k,
      .bias = j->bias ? j->bias + channel : NULL,
      .y = j->y + (((j->first + n) * c->cout + channel) * c->out[0] + od) * j->pixels,
      .rows = og - row < j->rows_each ? og - row : j->rows_each,
      .pack = pack,
  };
  panel panels[BLOCK + 1];
  int count = 0;
  int64_t begin = pixel_block * j->panels_each;
  for (int64_t p = begin; count < j->panels_each && p < j->panels; p++)
    set_panel(j, p, &panels[count++]);
  bool tail = pixel_block == j->pixel_blocks - 1 && !j->in_place && j->columns < j->pixels;
  if (tail) {
    panel *p = &panels[count++];
    p->dots = true;
    p->in_place = p->whole = false;
    p->n = (int)(j->pixels - j->columns);
    p->pixel = j->columns;
    if (j->same) set_masks(j, p);
  }
  for (span k = {0, 0}; k.at < j->k; k.at += k.n) {
    k.n = j->k - k.at < j->depth ? j->k - k.at : j->depth;
    run_pass(j, &t, panels, count, k);
  }
}

// ---- choosing ----

// Shares of the products' time: packing a panel costs about four cycles per vector and k, spread
// over the rows; reading in place wastes the row ends, and a tenth where vectors straddle cache
// lines or every k is on another page.
static bool reads_in_place(const job *j) {
  if (j->m.cols < j->f->lanes) return false;
  int64_t rows = j->c.cout / j->c.groups;
  double waste = (double)(j->m.cols - j->c.out[2]) / (double)j->c.out[2];
  bool aligned = ig_conv_taps(&j->c) == 1 && j->m.plane % 16 == 0 && (uintptr_t)j->x % 64 == 0;
  bool near = j->m.channel * (j->k < DEPTH ? j->k : DEPTH) <= 1 << 16;
  return waste + (aligned && near ? 0.02 : 0.10) <= 4.5 / (double)rows;
}

// Output and input planes of one size, no stride: a kernel element is one shift of the whole input.
static bool is_same(const job *j) {
  const ig_conv *c = &j->c;
  bool flat = c->kernel[0] == 1 && c->padding[0] == 0 && c->stride[0] == 1;
  return flat && c->stride[1] == 1 && c->stride[2] == 1 && c->in[1] == c->out[1] &&
         c->in[2] == c->out[2] && ig_conv_taps(c) <= TAPS;
}

// Shift of each of the k elements.
static void same_offsets(const ig_conv *c, int64_t *off) {
  for (int64_t i = 0; i < c->cin / c->groups; i++)
    for (int64_t kh = 0; kh < c->kernel[1]; kh++)
      for (int64_t kw = 0; kw < c->kernel[2]; kw++)
        *off++ = i * ig_conv_in(c) + (kh * c->dilation[1] - c->padding[1]) * c->in[2] +
                 kw * c->dilation[2] - c->padding[2];
}

static void set_tasks(job *j, int64_t panels_each, int64_t rows_each) {
  j->panels_each = panels_each;
  j->rows_each = rows_each;
  j->pixel_blocks = (j->panels + panels_each - 1) / panels_each;
  j->row_blocks = (j->c.cout / j->c.groups + rows_each - 1) / rows_each;
}

static int64_t count_tasks(const job *j) {
  return j->c.n * j->c.groups * j->c.out[0] * j->pixel_blocks * j->row_blocks;
}

// Half cycles per k until the last thread is done. Per vector of pixels a row is one and packing is
// PACKING, which every row block does again; a row of weights comes from further away, once per
// pixel block. A quarter of a task is added for delayed threads: small tasks balance this.
static int64_t time_of(const job *j, int64_t threads) {
  enum { PACKING = 12 };
  int64_t vectors = j->panels_each * j->f->vectors;
  int64_t one = vectors * (j->rows_each + (j->in_place ? 0 : PACKING)) + j->rows_each;
  return (count_tasks(j) + threads - 1) / threads * one + one / 4;
}

// Too few tasks for the threads: fewer panels or output channels in each, whichever costs less.
static void divide(job *j, int64_t threads) {
  int64_t og = j->c.cout / j->c.groups;
  int64_t best = INT64_MAX;
  int64_t panels_best = BLOCK;
  int64_t rows_best = og;
  for (int64_t panels = BLOCK; panels >= 1; panels /= 2) {
    for (int64_t rows = og;; rows = (rows / 2 + j->f->rows - 1) / j->f->rows * j->f->rows) {
      set_tasks(j, panels, rows);
      int64_t time = time_of(j, threads);
      if (time < best) {
        best = time;
        panels_best = panels;
        rows_best = rows;
      }
      if (rows <= j->f->rows) break;
    }
  }
  set_tasks(j, panels_best, rows_best);
}

static void cut(job *j) {
  const ig_conv *c = &j->c;
  int width = j->f->lanes * j->f->vectors;
  j->in_place = reads_in_place(j);
  j->same = !j->in_place && is_same(j);
  j->far = (j->same || j->m.alias) && ig_conv_taps(c) == 1 && j->pixels >= 512;
  if (j->in_place) {
    j->columns = (c->out[1] - 1) * j->m.cols + c->out[2];
  } else {
    // Few pixels beyond whole vectors go as dot products; more fill a vector well enough.
    int64_t tail = j->pixels % j->f->lanes;
    j->columns = tail <= j->f->lanes / 2 && j->pixels > j->f->lanes ? j->pixels - tail : j->pixels;
  }
  j->panels = (j->columns + width - 1) / width;
  // Weights that are used once or twice are read in longer runs.
  int64_t og = c->cout / c->groups;
  j->depth = j->panels <= 2 ? DEEP : og <= 128 ? DEPTH : LONG;
  if (j->f->lanes < 16) {  // even passes
    int64_t passes = (j->k + NARROW - 1) / NARROW;
    j->depth = (j->k + passes - 1) / (passes > 0 ? passes : 1);
  }
  set_tasks(j, BLOCK, og);
  int64_t threads = ig_threads_get();
  if (threads > 1 && count_tasks(j) < 4 * threads) divide(j, threads);
}

static void fill_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t in = ig_conv_in(&j->c);
  const float *x = j->x + j->first * j->c.cin * in;
  for (int64_t i = begin; i < end; i++)
    ig_conv_image_fill(&j->m, j->f, x + i * in, j->images + i * j->m.channel);
}

// Images that are padded at a time, and the floats that they take.
static int64_t images_each(const job *j) {
  int64_t fit = LIMIT / (j->c.cin * j->m.channel);
  return fit < 1 ? 1 : fit < j->c.n ? fit : j->c.n;
}
static size_t images_size(const job *j) {
  size_t image = ig_mem_mul((size_t)j->c.cin, (size_t)j->m.channel);
  return ig_mem_add(ig_mem_mul((size_t)images_each(j), image), SLACK);
}

// Whether panels are read in place depends on where the input lies: then as if it lay best, which
// needs no less.
static void need_dense(job *j, ig_need *need) {
  j->k = j->c.cin / j->c.groups * ig_conv_taps(&j->c);
  ig_need_caller(need, IG_SCRATCH_CONV_2, ig_mem_mul((size_t)j->k, sizeof(int64_t)));
  bool same = !reads_in_place(j) && is_same(j);
  if (j->m.alias || same) return;
  ig_need_caller(need, IG_SCRATCH_CONV_0, ig_mem_mul(images_size(j), sizeof(float)));
}

static bool dense(job *j) {
  const ig_conv *c = &j->c;
  j->k = c->cin / c->groups * ig_conv_taps(c);
  cut(j);
  int64_t *off = ig_scratch_array(IG_SCRATCH_CONV_2, (size_t)j->k, sizeof *off);
  if (!off) return false;
  if (j->same)
    same_offsets(c, off);
  else
    ig_conv_image_offsets(&j->m, off);
  j->off = off;
  bool copy = !j->m.alias && !j->same;
  int64_t each = copy ? images_each(j) : c->n;  // images at a time
  if (copy) {
    j->images = ig_scratch_array(IG_SCRATCH_CONV_0, images_size(j), sizeof(float));
    if (!j->images) return false;
  }
  for (j->first = 0; j->first < c->n; j->first += each) {
    int64_t n = c->n - j->first < each ? c->n - j->first : each;
    if (copy) ig_parallel_for(n * c->cin, 8192 / (j->m.channel + 1) + 1, fill_planes, j);
    int64_t tasks = n * c->groups * c->out[0] * j->pixel_blocks * j->row_blocks;
    ig_parallel_tasks(tasks, run_task, j);
  }
  return true;
}

// ---- depthwise ----

// Same-sized planes: one list of masks serves all of them.
static void run_depth_same(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_conv *c = &j->c;
  int64_t og = c->cout / c->groups;
  for (int64_t t = begin; t < end; t++) {  // (n, cin, d)
    int64_t plane = t / c->out[0];
    for (int64_t o = 0; o < og; o++) {
      int64_t channel = plane % c->cin * og + o;
      int64_t to = (plane / c->cin * c->cout + channel) * c->out[0] + t % c->out[0];
      j->f->depth_same(j->pixels, j->k, j->x + t * j->pixels, j->off, j->masks,
                       j->w + channel * j->k, j->bias ? j->bias[channel] : 0.0f,
                       j->y + to * j->pixels);
    }
  }
}

static bool depthwise_same(job *j) {
  const ig_conv *c = &j->c;
  int64_t taps = j->k;
  int lanes = j->f->lanes;
  int64_t vectors = (j->pixels + lanes - 1) / lanes;
  uint16_t *masks =
      ig_scratch_array(IG_SCRATCH_CONV_1, ig_mem_mul((size_t)vectors, (size_t)taps), sizeof *masks);
  if (!masks) return false;
  for (int64_t v = 0; v < vectors; v++) {
    uint64_t bits[TAPS] = {0};
    inside_taps(j, v * lanes, min_int(j->pixels - v * lanes, lanes), bits);
    for (int64_t t = 0; t < taps; t++) masks[v * taps + t] = (uint16_t)bits[t];
  }
  j->masks = masks;
  int64_t each = c->cout / c->groups * j->pixels * taps;
  ig_parallel_for(c->n * c->cin * c->out[0], 65536 / (each + 1) + 1, run_depth_same, j);
  return true;
}

// All outputs of one input plane t = (n, cin), whose padded image is given.
static void depth_plane(const job *j, int64_t t, const float *image) {
  const ig_conv *c = &j->c;
  int64_t og = c->cout / c->groups;
  for (int64_t o = 0; o < og; o++) {
    int64_t channel = t % c->cin * og + o;
    const float *w = j->w + channel * j->k;
    float bias = j->bias ? j->bias[channel] : 0.0f;
    float *y = j->y + (t / c->cin * c->cout + channel) * c->out[0] * j->pixels;
    for (int64_t od = 0; od < c->out[0]; od++, y += j->pixels)
      j->f->depth(c->out[1], c->out[2], j->m.cols, j->k, image + od * c->stride[0] * j->m.plane,
                  j->off, w, bias, y);
  }
}

// The same without memory for the image.
static void depth_plane_slow(const job *j, int64_t t) {
  ig_conv one = j->c;
  int64_t og = one.cout / one.groups;
  int64_t channel = t % one.cin * og;
  one.n = one.cin = one.groups = 1;
  one.cout = og;
  const float *bias = j->bias ? j->bias + channel : NULL;
  float *y = j->y + (t / j->c.cin * j->c.cout + channel) * j->c.out[0] * j->pixels;
  ig_conv_forward_ref(&one, j->x + t * ig_conv_in(&one), j->w + channel * j->k, bias, y);
}

static void run_depth(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  float *image = NULL;
  if (!j->m.alias)
    image = ig_scratch_array(IG_SCRATCH_CONV_1, (size_t)(j->m.channel + SLACK), sizeof(float));
  for (int64_t t = begin; t < end; t++) {
    const float *x = j->x + t * ig_conv_in(&j->c);
    if (j->m.alias) {
      depth_plane(j, t, x);
    } else if (image) {
      ig_conv_image_fill(&j->m, j->f, x, image);
      depth_plane(j, t, image);
    } else {
      depth_plane_slow(j, t);
    }
  }
}

static void need_depthwise(job *j, ig_need *need) {
  j->k = ig_conv_taps(&j->c);
  ig_need_caller(need, IG_SCRATCH_CONV_2, ig_mem_mul((size_t)j->k, sizeof(int64_t)));
  if (j->f->depth_same && is_same(j)) {
    int64_t vectors = (j->pixels + j->f->lanes - 1) / j->f->lanes;
    size_t masks = ig_mem_mul((size_t)vectors, (size_t)j->k);
    ig_need_caller(need, IG_SCRATCH_CONV_1, ig_mem_mul(masks, sizeof(uint16_t)));
  } else if (!j->m.alias) {
    size_t image = (size_t)(j->m.channel + SLACK);
    ig_need_each(need, IG_SCRATCH_CONV_1, ig_mem_mul(image, sizeof(float)));
  }
}

static bool depthwise(job *j) {
  const ig_conv *c = &j->c;
  j->k = ig_conv_taps(c);
  int64_t *off = ig_scratch_array(IG_SCRATCH_CONV_2, (size_t)j->k, sizeof *off);
  if (!off) return false;
  j->off = off;
  if (j->f->depth_same && is_same(j)) {
    same_offsets(c, off);
    return depthwise_same(j);
  }
  ig_conv_image_offsets(&j->m, off);
  int64_t each = c->cout / c->groups * j->pixels * c->out[0] * j->k;
  ig_parallel_for(c->n * c->cin, 65536 / (each + 1) + 1, run_depth, j);
  return true;
}

// One tap, every pixel: a matrix product of the weights and the planes, if it is large enough for
// the matrix product engine to be faster than the panels here.
static bool is_product(const ig_conv_kernels *f, const ig_conv *c) {
  int64_t least = f->lanes < 16 ? 512 : 192;
  bool plain = c->groups == 1 && ig_conv_taps(c) == 1;
  for (int d = 0; d < 3; d++) plain = plain && c->stride[d] == 1 && c->padding[d] == 0;
  return plain && c->cin >= 64 && c->out[0] * c->out[1] * c->out[2] >= least;
}

static void multiply(const ig_conv *c, const float *x, const float *w, const float *bias,
                     float *y) {
  const int64_t pixels = c->out[0] * c->out[1] * c->out[2];
  for (int64_t i = 0; i < c->n; i++, x += c->cin * pixels, y += c->cout * pixels) {
    for (int64_t o = 0; bias && o < c->cout; o++)
      for (int64_t k = 0; k < pixels; k++) y[o * pixels + k] = bias[o];
    ig_gemm_f32(c->cout, pixels, c->cin, 1, w, c->cin, 1, x, pixels, 1, bias ? 1 : 0, y, pixels);
  }
}

void ig_conv_need_f32(const ig_conv *c, ig_need *need) {
  const ig_conv_kernels *f = kernels();
  if (is_product(f, c)) {
    ig_gemm_plan plan;
    const int64_t pixels = c->out[0] * c->out[1] * c->out[2];
    ig_gemm_prepare_f32(1, c->cout, pixels, c->cin, 1, 0, c->cin, 1, 0, pixels, 1, 0, 0, pixels,
                        &plan, need);
    return;
  }
  if (ig_conv_has_blocks(c)) ig_conv_need_blocks(c, need);  // and, where it gives up, the next:
  job j = {.f = f, .c = *c, .pixels = c->out[1] * c->out[2]};
  j.m = ig_conv_image_make(&j.c);
  (c->groups == c->cin && c->groups > 1 ? need_depthwise : need_dense)(&j, need);
}

// NOLINTBEGIN(readability-non-const-parameter): written through the job
bool ig_conv_forward_f32(const ig_conv *c, const float *x, const float *w, const float *bias,
                         float *y) {
  const ig_conv_kernels *f = kernels();
  if (!ig_conv_has_f32(c)) return false;
  if (is_product(f, c)) {
    multiply(c, x, w, bias, y);
    return true;
  }
  if (ig_conv_has_blocks(c) && ig_conv_forward_blocks(c, x, w, bias, y)) return true;
  job j = {.f = f, .c = *c, .x = x, .w = w, .bias = bias, .y = y};
  j.m = ig_conv_image_make(&j.c);
  j.pixels = c->out[1] * c->out[2];
  if (c->groups == c->cin && c->groups > 1) return depthwise(&j);
  return dense(&j);
}
// NOLINTEND(readability-non-const-parameter)
