// SPDX-License-Identifier: Apache-2.0
// Layers that are products over offsets: 1x1, k x k, strided, dilated, grouped, transposed with
// kernel == stride, and stems. Padded inputs are copied once into frames of zeros; nothing else is
// copied. Threads share blocks of pixels, and panels of outputs where pixels are few.
#include <string.h>

#include "base/threads.h"
#include "kernels/layer_kernels.h"
#include "kernels/scratch.h"

enum {
  INPUT = 64 << 10,   // floats of input of a block of pixels: half of L2
  LEAST = 48,         // pixels of a block
  MOST = 1024,        // the same
  SMALL = 400000,     // products that one thread does alone
  FRAMES = 16 << 20,  // floats of framed images at a time
};

typedef struct job {
  const ig_layer *l;
  ig_conv c;  // untransposed: pixels are those of the input then
  const ig_layer_io *io;
  ig_layer_product p;
  bool framed;
  const float *x;  // of the first image of the round; framed if they are
  float *frames;
  int64_t first;        // image of the round
  int64_t images;       // of the round
  int64_t size[3];      // of an image with its frame
  int64_t planes;       // blocks or channels of an image
  int64_t image;        // floats from one image of the round to the next
  int64_t y_pixel;      // floats from one pixel of y to the next
  int64_t pixels;       // outputs of an image
  int64_t out[3];       // the same by dimension
  int64_t step[3];      // of the input per output
  int64_t blocks;       // of pixels
  int64_t panels;       // of outputs, in all
  int64_t panels_each;  // in a piece
  int64_t pieces;
} job;

// ---- frames ----

static size_t frame_floats(const job *j) {
  size_t plane = ig_mem_mul(ig_mem_mul((size_t)j->size[0], (size_t)j->size[1]),
                            ig_mem_mul((size_t)j->size[2], (size_t)j->l->unit));
  return ig_mem_mul(plane, (size_t)j->planes);
}

static void frame_plane(const job *j, const float *from, float *to) {
  const ig_conv *c = &j->c;
  size_t unit = ig_mem_mul((size_t)j->l->unit, sizeof(float));
  int64_t row = j->size[2] * j->l->unit;
  size_t edge = (size_t)c->padding[2] * unit;
  size_t inner = (size_t)c->in[2] * unit;
  for (int64_t d = 0; d < j->size[0]; d++) {
    for (int64_t h = 0; h < j->size[1]; h++, to += row) {
      int64_t id = d - c->padding[0];
      int64_t ih = h - c->padding[1];
      if (id < 0 || id >= c->in[0] || ih < 0 || ih >= c->in[1]) {
        memset(to, 0, (size_t)row * sizeof(float));
        continue;
      }
      memset(to, 0, edge);
      memcpy((char *)to + edge, from + (id * c->in[1] + ih) * c->in[2] * j->l->unit, inner);
      memset((char *)to + edge + inner, 0, edge);
    }
  }
}

// Rows of channels to blocks: where rows are long, tiles of them would fall into few sets of L1.
static void frame_rows(const job *j, const float *from, float *to) {
  size_t unit = ig_mem_mul((size_t)j->l->unit, sizeof(float));
  for (int64_t i = 0; i < j->pixels; i++, from += j->c.cin, to += j->l->unit)
    memcpy(to, from, unit);
}

static void frame_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t plane = j->size[0] * j->size[1] * j->size[2] * j->l->unit;
  for (int64_t i = begin; i < end && j->c.channels_last; i++) {
    const float *image = j->io->x + (j->first + i / j->planes) * j->io->x_image;
    frame_rows(j, image + i % j->planes * j->l->unit, j->frames + i * plane);
  }
  if (j->c.channels_last) return;
  for (int64_t i = begin; i < end; i++) {
    int64_t n = j->first + i / j->planes;
    const float *from =
        j->io->x + n * j->io->x_image + i % j->planes * ig_conv_in(&j->c) * j->l->unit;
    frame_plane(j, from, j->frames + i * plane);
  }
}

// ---- pieces ----

// Offsets of output pixels [from, to) of the round.
static void offsets(const job *j, int64_t from, int64_t to, int32_t *pixel, int32_t *place) {
  bool spread = j->l->c.transposed;
  const int64_t *up = j->l->c.stride;
  int64_t at[3];
  int64_t n = from / j->pixels;
  int64_t rest = from % j->pixels;
  at[2] = rest % j->out[2];
  at[1] = rest / j->out[2] % j->out[1];
  at[0] = rest / j->out[2] / j->out[1];
  for (int64_t i = from; i < to; i++) {
    int64_t in =
        (at[0] * j->step[0] * j->size[1] + at[1] * j->step[1]) * j->size[2] + at[2] * j->step[2];
    int64_t out = i % j->pixels;
    if (spread)
      out = (at[0] * up[0] * j->out[1] * up[1] + at[1] * up[1]) * j->out[2] * up[2] + at[2] * up[2];
    pixel[i - from] = (int32_t)(n * j->image + in * j->l->unit);
    place[i - from] = (int32_t)(n * j->io->y_image + out * j->y_pixel);
    if (++at[2] < j->out[2]) continue;
    at[2] = 0;
    if (++at[1] < j->out[1]) continue;
    at[1] = 0;
    if (++at[0] < j->out[0]) continue;
    at[0] = 0;
    n++;
  }
}

// Where the results of one product (a group, or an element of a transposed window) begin.
static int64_t shift_of(const job *j, int64_t product) {
  const ig_conv *c = &j->l->c;
  int64_t lanes = j->l->f->lanes;
  if (!c->transposed) return product * j->l->out * j->p.y_block;
  int64_t kw = product % c->kernel[2];
  int64_t kh = product / c->kernel[2] % c->kernel[1];
  int64_t kd = product / c->kernel[2] / c->kernel[1];
  return ((kd * j->out[1] * c->stride[1] + kh) * j->out[2] * c->stride[2] + kw) * lanes;
}

static void act(const job *j, const ig_layer_product *p, int64_t n, int64_t first, int64_t last) {
  int64_t lanes = j->l->f->lanes;
  int64_t end = last * p->panel < p->blocks ? last * p->panel : p->blocks;
  if (j->l->c.channels_last) {
    int64_t from = first * p->panel * lanes;
    for (int64_t i = 0; i < n; i++)
      ig_layer_act(j->io->act, end * lanes - from, p->y + p->place[i] + from);
    return;
  }
  for (int64_t b = first * p->panel; b < end; b++)
    for (int64_t i = 0; i < n;) {
      int64_t run = 1;  // pixels that lie beside each other
      while (i + run < n && p->place[i + run] - p->place[i] == run * lanes) run++;
      ig_layer_act(j->io->act, run * lanes, p->y + b * p->y_block + p->place[i]);
      i += run;
    }
}

static void run_piece(void *arg, int64_t task) {
  const job *j = arg;
  const ig_layer *l = j->l;
  int32_t pixel[MOST];
  int32_t place[MOST];
  int64_t piece = task % j->pieces;
  int64_t product = task / j->pieces % l->products;
  int64_t block = task / j->pieces / l->products;
  int64_t all = j->images * j->pixels;
  int64_t from = all * block / j->blocks;
  int64_t to = all * (block + 1) / j->blocks;
  int64_t first = piece * j->panels_each;
  int64_t last = first + j->panels_each < j->panels ? first + j->panels_each : j->panels;
  ig_layer_product p = j->p;
  int64_t shift = shift_of(j, product);
  int64_t group = l->c.transposed ? 0 : product;
  int64_t plane = j->size[0] * j->size[1] * j->size[2] * l->unit;
  p.pixel = pixel;
  p.place = place;
  p.x = j->x + group * l->in * plane;
  p.w = l->w + product * l->weights;
  p.y = j->io->y + j->first * j->io->y_image + shift;
  p.residual = j->io->residual ? j->io->residual + j->first * j->io->residual_image + shift : NULL;
  p.bias = l->bias + group * l->out * l->f->lanes;
  p.keep = l->c.cout % l->f->lanes ? l->keep : NULL;  // groups are whole blocks
  offsets(j, from, to, pixel, place);
  l->f->product(&p, 0, to - from, first, last);
  if (ig_layer_acts(j->io)) act(j, &p, to - from, first, last);
}

static void divide(job *j) {
  const ig_layer *l = j->l;
  int64_t threads = ig_threads_get();
  int64_t channels = l->in * l->unit;
  int64_t all = j->images * j->pixels;
  int64_t block = INPUT / (channels < 256 ? channels : 256);
  block = block < LEAST ? LEAST : block > MOST ? MOST : block;
  j->blocks = (all + block - 1) / block;
  j->panels = (l->out + l->panel - 1) / l->panel;
  int64_t pieces = 1;
  int64_t tasks = j->blocks * l->products;
  if (threads > 1 && tasks < 4 * threads) pieces = (4 * threads + tasks - 1) / tasks;
  if (pieces > j->panels) pieces = j->panels;
  j->panels_each = (j->panels + pieces - 1) / pieces;
  j->pieces = (j->panels + j->panels_each - 1) / j->panels_each;
}

static void run_round(job *j) {
  divide(j);
  const ig_layer *l = j->l;
  int64_t tasks = j->blocks * l->products * j->pieces;
  double work = (double)(l->products * l->weights) * (double)(j->images * j->pixels);
  if (work < SMALL)
    for (int64_t t = 0; t < tasks; t++) run_piece(j, t);
  else
    ig_parallel_tasks(tasks, run_piece, j);
}

// ---- layers ----

static job job_of(const ig_layer *l, const ig_conv *c) {
  job j = {.l = l, .c = *c, .framed = c->channels_last};
  int64_t lanes = l->f->lanes;
  j.planes = l->method == IG_LAYER_STEM ? c->cin : (c->cin + lanes - 1) / lanes;
  for (int d = 0; d < 3; d++) {
    j.framed = j.framed || c->padding[d] > 0;
    j.size[d] = c->in[d] + 2 * c->padding[d];
    j.out[d] = l->c.transposed ? c->in[d] : c->out[d];
    j.step[d] = l->c.transposed ? 1 : l->c.stride[d];
  }
  j.pixels = j.out[0] * j.out[1] * j.out[2];
  j.y_pixel = c->channels_last ? c->cout : lanes;
  return j;
}

// Images of a round: their offsets fit into 32 bits, their frames into some memory.
static int64_t images_each(const job *j) {
  const ig_layer_io *io = j->io;
  double in = j->framed ? (double)frame_floats(j) : (double)io->x_image;
  double out = (double)(io->y_image > io->residual_image ? io->y_image : io->residual_image);
  double most = 2e9 / (in > out ? in : out);
  if (j->framed && FRAMES / in < most) most = FRAMES / in;
  if (io->residual && io->residual_image != io->y_image) most = 1;
  if (most < 1) return 1;
  return most < (double)j->c.n ? (int64_t)most : j->c.n;
}

static size_t frames_size(const job *j) {
  double one = (double)frame_floats(j);
  double fit = FRAMES / one;
  int64_t images = fit < 1 ? 1 : fit < (double)j->c.n ? (int64_t)fit : j->c.n;
  return ig_mem_mul(ig_mem_mul(frame_floats(j), (size_t)images), sizeof(float));
}

void ig_layer_need_product(const ig_layer *l, const ig_conv *c, ig_need *need) {
  job j = job_of(l, c);
  ig_need_caller(need, IG_SCRATCH_CONV_2, ig_mem_mul((size_t)l->taps, sizeof(int32_t)));
  if (j.framed) ig_need_caller(need, IG_SCRATCH_CONV_1, frames_size(&j));
}

static void tap_offsets(const job *j, int32_t *tap) {
  const ig_layer *l = j->l;
  const ig_conv *c = &l->c;
  int64_t plane = j->size[0] * j->size[1] * j->size[2];
  if (c->transposed) {
    for (int64_t i = 0; i < l->taps; i++) tap[i] = (int32_t)(i * plane * l->unit);
    return;
  }
  for (int64_t i = 0; i < l->in; i++)
    for (int64_t d = 0; d < c->kernel[0]; d++)
      for (int64_t h = 0; h < c->kernel[1]; h++)
        for (int64_t w = 0; w < c->kernel[2]; w++)
          *tap++ = (int32_t)((i * plane +
                              (d * c->dilation[0] * j->size[1] + h * c->dilation[1]) * j->size[2] +
                              w * c->dilation[2]) *
                             l->unit);
}

bool ig_layer_run_product(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  job j = job_of(l, c);
  j.io = io;
  int32_t *tap = ig_scratch_array(IG_SCRATCH_CONV_2, (size_t)l->taps, sizeof *tap);
  if (!tap) return false;
  tap_offsets(&j, tap);
  j.p = (ig_layer_product){.tap = tap,
                           .taps = l->taps,
                           .unit = l->unit,
                           .panel = l->panel,
                           .blocks = l->out,
                           .y_block = (c->channels_last ? 1 : ig_conv_out(c)) * l->f->lanes,
                           .finish = true,
                           .lo = ig_layer_lo(io),
                           .hi = ig_layer_hi(io)};
  int64_t each = images_each(&j);
  j.image = io->x_image;
  if (j.framed) {
    j.image = (int64_t)frame_floats(&j);
    j.frames = ig_scratch_get(IG_SCRATCH_CONV_1, frames_size(&j));
    if (!j.frames) return false;
  }
  for (j.first = 0; j.first < c->n; j.first += each) {
    j.images = c->n - j.first < each ? c->n - j.first : each;
    j.x = j.framed ? j.frames : io->x + j.first * io->x_image;
    int64_t plane = j.size[0] * j.size[1] * j.size[2] * l->unit;
    if (j.framed) ig_parallel_for(j.images * j.planes, 16384 / (plane + 1) + 1, frame_planes, &j);
    run_round(&j);
  }
  return true;
}
