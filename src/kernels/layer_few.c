// SPDX-License-Identifier: Apache-2.0
// Linear layers of few rows, with weights packed for many: two panels at a time, which are two
// streams of memory, so that there are enough independent sums. Ends of rows of all linear layers.
#include "base/threads.h"
#include "kernels/layer_kernels.h"

static float clamped(const ig_layer_io *io, float v) {
  v = v < io->lo ? io->lo : v;
  return v > io->hi ? io->hi : v;
}

void ig_layer_finish_row(const ig_layer *l, const ig_layer_io *io, int64_t row, int64_t first,
                         int64_t n, const float *factors, const float *sums) {
  const float *bias = l->bias + first;
  int64_t at = row * l->c.cout + first;
  float *y = io->y + at;
  if (factors) {
    for (int64_t o = 0; o < n; o++) y[o] = sums[o] * factors[o] + bias[o];
  } else {
    for (int64_t o = 0; o < n; o++) y[o] = sums[o] + bias[o];
  }
  const float *residual = io->residual ? io->residual + at : NULL;
  for (int64_t o = 0; residual && o < n; o++) y[o] += residual[o];
  for (int64_t o = 0; io->act == IG_ACT_CLAMP && o < n; o++) y[o] = clamped(io, y[o]);
  if (ig_layer_acts(io)) ig_layer_act(io->act, n, y);
}

typedef struct job {
  const ig_layer *l;
  const ig_layer_io *io;
  int64_t rows;
} job;

// All rows by `panels` panels, the first of which has the block of outputs `block`.
static void run_tiles(const job *j, int64_t block, int panels, int64_t blocks) {
  const ig_layer *l = j->l;
  int64_t lanes = l->f->lanes;
  int64_t columns = l->taps * l->unit;
  int64_t outs = panels * blocks * lanes;
  float sums[IG_ROWS_TALL * IG_ROWS_OUTS];
  ig_layer_few f = {
      .panels = panels, .blocks = (int)blocks, .columns = columns, .x_row = columns, .sums = sums};
  f.w[0] = l->w + block * lanes * columns;
  f.w[1] = f.w[0] + blocks * lanes * columns;
  for (int64_t r = 0; r < j->rows; r += f.rows) {
    f.rows = (int)(j->rows - r < l->f->few_rows ? j->rows - r : l->f->few_rows);
    f.x = j->io->x + r * columns;
    l->f->few(&f);
    for (int k = 0; k < f.rows; k++) {
      ig_layer_finish_row(l, j->io, r + k, block * lanes, outs, NULL, sums + k * outs);
    }
  }
}

// Pairs of panels, if they are two blocks wide, or else panels.
static int64_t each_of(const ig_layer *l) {
  return l->panel == 2 ? 4 : l->panel;
}

static void run_panels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t each = each_of(j->l);
  int64_t last = end * each < j->l->out ? end * each : j->l->out;
  for (int64_t b = begin * each; b < last;) {
    int64_t left = last - b;
    int panels = j->l->panel == 2 && left >= 4 ? 2 : 1;
    int64_t blocks = left < j->l->panel ? left : j->l->panel;
    run_tiles(j, b, panels, blocks);
    b += panels * blocks;
  }
}

void ig_layer_run_few(const ig_layer *l, int64_t rows, const ig_layer_io *io) {
  enum { LEAST = 12 << 10 };  // weights, some microseconds
  job j = {l, io, rows};
  int64_t each = each_of(l);
  int64_t weights = each * l->f->lanes * l->taps * l->unit;
  ig_parallel_for((l->out + each - 1) / each, LEAST / weights + 1, run_panels, &j);
}
