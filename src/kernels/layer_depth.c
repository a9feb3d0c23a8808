// SPDX-License-Identifier: Apache-2.0
// Depthwise layers, row by row.
#include "base/threads.h"
#include "kernels/layer_kernels.h"

typedef struct job {
  const ig_layer *l;
  const ig_conv *c;
  const ig_layer_io *io;
} job;

// Rows (image, block, row).
static void run_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const ig_layer *l = j->l;
  const ig_conv *c = j->c;
  int64_t lanes = l->f->lanes;
  int64_t window = l->c.kernel[1] * l->c.kernel[2];
  ig_layer_depth d = {.all_rows = l->c.kernel[1],
                      .cols = l->c.kernel[2],
                      .stride = l->c.stride[2],
                      .dilation = l->c.dilation[2],
                      .padding = c->padding[2],
                      .in = c->in[2],
                      .out = c->out[2],
                      .lo = ig_layer_lo(j->io),
                      .hi = ig_layer_hi(j->io)};
  float every[16];
  __builtin_memset(every, 0xff, sizeof every);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = i % c->out[1];
    int64_t block = i / c->out[1] % l->out;
    int64_t n = i / c->out[1] / l->out;
    int64_t top = row * l->c.stride[1] - c->padding[1];
    const float *x = j->io->x + n * j->io->x_image + block * c->in[1] * c->in[2] * lanes;
    const float *rows[IG_LAYER_WINDOW];
    d.row_begin = 0;
    d.row_end = 0;
    for (int64_t k = 0; k < l->c.kernel[1]; k++) {
      int64_t at = top + k * l->c.dilation[1];
      if (at < 0) d.row_begin = k + 1;
      if (at < c->in[1]) d.row_end = k + 1;
      rows[k] = at < 0 || at >= c->in[1] ? NULL : x + at * c->in[2] * lanes;
    }
    int64_t to = (block * c->out[1] + row) * c->out[2] * lanes;
    d.rows = rows;
    d.w = l->w + block * window * lanes;
    d.bias = l->bias + block * lanes;
    d.keep = block == l->out - 1 ? l->keep : every;
    d.residual = j->io->residual ? j->io->residual + n * j->io->residual_image + to : NULL;
    d.y = j->io->y + n * j->io->y_image + to;
    l->f->depth(&d);
    if (ig_layer_acts(j->io)) ig_layer_act(j->io->act, c->out[2] * lanes, d.y);
  }
}

void ig_layer_run_depth(const ig_layer *l, const ig_conv *c, const ig_layer_io *io) {
  job j = {l, c, io};
  int64_t row = c->out[2] * l->c.kernel[1] * l->c.kernel[2];
  ig_parallel_for(c->n * l->out * c->out[1], 16384 / (row + 1) + 1, run_rows, &j);
}
