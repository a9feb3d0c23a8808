// SPDX-License-Identifier: Apache-2.0
// The f32 forward convolution on planes: a matrix product whose right side is never stored. Output
// channels are rows, pixels are columns; a panel of pixels is read from the padded image either in
// place (flat positions, a few wasted at the row ends) or packed first (no waste, one more pass),
// whichever costs less for the shape. The few pixels beyond whole vectors are done as dot products.
// Depthwise convolutions read the image of one plane at a time.
#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/conv_image.h"
#include "kernels/conv_kernels.h"
#include "kernels/scratch.h"

enum {
  DEPTH = 192,       // k per pass: a panel and a tile's weights stay in the first cache
  BLOCK = 8,         // panels per task: weights of a pass stay in the second cache
  PANEL = 48,        // pixels of the widest panel
  SLACK = 64,        // floats readable behind an image
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
  int64_t pixels;   // of one output plane
  bool in_place;    // panels are flat positions of the image
  int64_t columns;  // flat positions or pixels that are done in panels
  int64_t panels;
  int64_t pixel_blocks;
  int64_t row_blocks;
  int64_t rows_each;  // output channels per row block
} job;

static const ig_conv_kernels *kernels(void) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  if (level >= IG_CPU_AVX512) return &ig_conv_kernels_avx512;
  if (level >= IG_CPU_AVX2) return &ig_conv_kernels_avx2;
#endif
  return NULL;
}

bool ig_conv_has_f32(void) {
  return kernels() != NULL;
}

static int min_int(int64_t a, int64_t b) {
  return (int)(a < b ? a : b);
}

// ---- one panel ----

typedef struct panel {
  int n;  // columns
  int vectors;
  bool in_place;
  int64_t base;   // in place: flat position of column 0
  int64_t pixel;  // packed: output position of column 0
  ig_conv_lanes lanes[4];
  ig_conv_pick pick[4];
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
  for (int i = 0; i < 16; i++)
    q.index[i] = (int32_t)(flat_of(j, pixel + (i < n ? i : n - 1)) - q.base);
  q.span = q.index[15] + 1;
  return q;
}

static void set_panel(const job *j, int64_t index, panel *p) {
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
  for (int v = 0; v < p->vectors; v++) {
    int n = min_int(p->n - v * lanes, lanes);
    if (p->in_place)
      p->lanes[v] = lanes_of(j, at + v * lanes, n);
    else
      p->pick[v] = pick_of(j, p->pixel + v * lanes, n);
  }
}

// ---- one task: an image and group, a depth, some panels, some output channels ----

typedef struct task {
  const float *image;  // of the group, at the output depth
  const float *w;      // first row
  const float *bias;   // NULL or of the first row
  float *y;            // first row
  int64_t rows;
  float *pack;  // this thread's panel
} task;

static void init_rows(const task *t, int64_t row, int m, float *init) {
  for (int i = 0; i < m; i++) init[i] = t->bias ? t->bias[row + i] : 0.0f;
}

static void run_panel(const job *j, const task *t, const panel *p, int64_t k0, int64_t k) {
  const int64_t *off = j->off + k0;
  if (!p->in_place) j->f->pack(p->vectors, k, t->image, off, p->pick, t->pack);
  int64_t ldc = j->pixels * j->c.out[0];
  for (int64_t r = 0; r < t->rows; r += j->f->rows) {
    int m = min_int(t->rows - r, j->f->rows);
    float init[8];
    init_rows(t, r, m, init);
    const float *start = k0 == 0 ? init : NULL;
    const float *w = t->w + r * j->k + k0;
    float *y = t->y + r * ldc;
    if (p->in_place)
      j->f->direct(m, p->vectors, k, w, j->k, t->image + p->base, off, p->lanes, start, y, ldc);
    else
      j->f->packed(m, p->n, k, w, j->k, t->pack, start, y + p->pixel, ldc);
  }
}

// Pixels [columns, pixels) of the plane, as dot products.
static void run_dots(const job *j, const task *t, int64_t k0, int64_t k) {
  int n = (int)(j->pixels - j->columns);
  int64_t ldc = j->pixels * j->c.out[0];
  for (int i = 0; i < n; i++) {
    const float *s = t->image + flat_of(j, j->columns + i);
    for (int64_t p = 0; p < k; p++) t->pack[i * DEPTH + p] = s[j->off[k0 + p]];
  }
  for (int64_t r = 0; r < t->rows; r += j->f->rows) {
    int m = min_int(t->rows - r, j->f->rows);
    float init[8];
    init_rows(t, r, m, init);
    j->f->dots(m, n, k, t->w + r * j->k + k0, j->k, t->pack, DEPTH, k0 == 0 ? init : NULL,
               t->y + r * ldc + j->columns, ldc);
  }
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
  _Alignas(64) float pack[DEPTH * PANEL];
  const float *images = j->images ? j->images : j->x + j->first * c->cin * j->m.channel;
  task t = {
      .image = images + (n * c->cin + g * cg) * j->m.channel + od * c->stride[0] * j->m.plane,
      .w = j->w + channel * j->k,
      .bias = j->bias ? j->bias + channel : NULL,
      .y = j->y + (((j->first + n) * c->cout + channel) * c->out[0] + od) * j->pixels,
      .rows = og - row < j->rows_each ? og - row : j->rows_each,
      .pack = pack,
  };
  int64_t p0 = pixel_block * BLOCK;
  int64_t p1 = p0 + BLOCK < j->panels ? p0 + BLOCK : j->panels;
  bool tail = pixel_block == j->pixel_blocks - 1 && j->columns < j->pixels && !j->in_place;
  for (int64_t k0 = 0; k0 < j->k; k0 += DEPTH) {
    int64_t k = j->k - k0 < DEPTH ? j->k - k0 : DEPTH;
    for (int64_t p = p0; p < p1; p++) {
      panel at;
      set_panel(j, p, &at);
      run_panel(j, &t, &at, k0, k);
    }
    if (tail) run_dots(j, &t, k0, k);
  }
}

// ---- choosing ----

// Costs per output, in vectors of multiply-adds: reading in place wastes the row ends, packing a
// panel costs about six vectors' worth of every k, shared by all rows.
static bool reads_in_place(const job *j) {
  if (j->m.cols < j->f->lanes) return false;
  double waste = (double)(j->m.cols - j->c.out[2]) / (double)j->c.out[2];
  double rows = (double)(j->c.cout / j->c.groups);
  return waste <= 6.0 / rows;
}

static void cut(job *j) {
  const ig_conv *c = &j->c;
  int width = j->f->lanes * j->f->vectors;
  j->in_place = reads_in_place(j);
  if (j->in_place) {
    j->columns = (c->out[1] - 1) * j->m.cols + c->out[2];
  } else {
    // Few pixels beyond whole vectors go as dot products; more fill a vector well enough.
    int64_t tail = j->pixels % j->f->lanes;
    j->columns = tail <= j->f->lanes / 2 && j->pixels > j->f->lanes ? j->pixels - tail : j->pixels;
  }
  j->panels = (j->columns + width - 1) / width;
  j->pixel_blocks = (j->panels + BLOCK - 1) / BLOCK;
  int64_t og = c->cout / c->groups;
  j->row_blocks = 1;
  j->rows_each = og;
  // Too few tasks for the threads: cut the output channels as well.
  int64_t want = 4 * (int64_t)ig_threads_get();
  int64_t have = c->n * c->groups * c->out[0] * j->pixel_blocks;
  if (want > 4 && have < want) {
    int64_t cuts = (want + have - 1) / have;
    int64_t tiles = (og + j->f->rows - 1) / j->f->rows;
    if (cuts > tiles) cuts = tiles;
    j->rows_each = (tiles + cuts - 1) / cuts * j->f->rows;
    j->row_blocks = (og + j->rows_each - 1) / j->rows_each;
  }
}

static void fill_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t in = ig_conv_in(&j->c);
  const float *x = j->x + j->first * j->c.cin * in;
  for (int64_t i = begin; i < end; i++)
    ig_conv_image_fill(&j->m, x + i * in, j->images + i * j->m.channel);
}

static bool dense(job *j) {
  const ig_conv *c = &j->c;
  j->k = c->cin / c->groups * ig_conv_taps(c);
  cut(j);
  int64_t *off = ig_scratch_get(IG_SCRATCH_CONV_2, (size_t)j->k * sizeof *off);
  if (!off) return false;
  ig_conv_image_offsets(&j->m, off);
  j->off = off;
  int64_t image = c->cin * j->m.channel;
  int64_t each = c->n;  // images at a time
  if (!j->m.alias) {
    each = LIMIT / image < 1 ? 1 : LIMIT / image < c->n ? LIMIT / image : c->n;
    j->images = ig_scratch_get(IG_SCRATCH_CONV_0, (size_t)(each * image + SLACK) * sizeof(float));
    if (!j->images) return false;
  }
  for (j->first = 0; j->first < c->n; j->first += each) {
    int64_t n = c->n - j->first < each ? c->n - j->first : each;
    if (!j->m.alias) ig_parallel_for(n * c->cin, 8192 / (j->m.channel + 1) + 1, fill_planes, j);
    int64_t tasks = n * c->groups * c->out[0] * j->pixel_blocks * j->row_blocks;
    ig_parallel_tasks(tasks, run_task, j);
  }
  return true;
}

// ---- depthwise ----

// All outputs of one input plane t = (n, cin), whose padded image is given.
static void depth_plane(const job *j, int64_t t, const float *image) {
  const ig_conv *c = &j->c;
  int64_t og = c->cout / c->groups;
  for (int64_t o = 0; o < og; o++) {
    int64_t channel = t % c->cin * og + o;
    const float *w = j->w + channel * j->k;
    float bias = j->bias ? j->bias[channel] : 0.0f;
    float *y = j->y + (t / c->cin * c->cout + channel) * c->out[0] * j->pixels;
    for (int64_t od = 0; od < c->out[0]; od++) {
      const float *row = image + od * c->stride[0] * j->m.plane;
      for (int64_t oh = 0; oh < c->out[1]; oh++, row += j->m.cols, y += c->out[2])
        j->f->depth(c->out[2], j->k, row, j->off, w, bias, y);
    }
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
    image = ig_scratch_get(IG_SCRATCH_CONV_1, (size_t)(j->m.channel + SLACK) * sizeof(float));
  for (int64_t t = begin; t < end; t++) {
    const float *x = j->x + t * ig_conv_in(&j->c);
    if (j->m.alias) {
      depth_plane(j, t, x);
    } else if (image) {
      ig_conv_image_fill(&j->m, x, image);
      depth_plane(j, t, image);
    } else {
      depth_plane_slow(j, t);
    }
  }
}

static bool depthwise(job *j) {
  const ig_conv *c = &j->c;
  j->k = ig_conv_taps(c);
  int64_t *off = ig_scratch_get(IG_SCRATCH_CONV_2, (size_t)j->k * sizeof *off);
  if (!off) return false;
  ig_conv_image_offsets(&j->m, off);
  j->off = off;
  int64_t each = c->cout / c->groups * j->pixels * c->out[0] * j->k;
  ig_parallel_for(c->n * c->cin, 65536 / (each + 1) + 1, run_depth, j);
  return true;
}

bool ig_conv_forward_f32(const ig_conv *c, const float *x, const float *w, const float *bias,
                         float *y) {
  const ig_conv_kernels *f = kernels();
  if (!f) return false;
  job j = {.f = f, .c = *c, .x = x, .w = w, .bias = bias, .y = y};
  j.m = ig_conv_image_make(&j.c);
  j.pixels = c->out[1] * c->out[2];
  if (c->groups == c->cin && c->groups > 1) return depthwise(&j);
  return dense(&j);
}
