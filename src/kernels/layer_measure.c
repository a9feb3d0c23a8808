// SPDX-License-Identifier: Apache-2.0
// How much a Winograd form loses with the weights of one layer: the layer is run on a sample image
// and some channels are compared with sums in f64.
#include <math.h>
#include <stdlib.h>

#include "kernels/layer_kernels.h"

enum { SIDE = 12, CHANNELS = 8 };  // outputs of the sample: whole tiles of every size

// About normally distributed, always the same.
static float sample(uint32_t *state) {
  float sum = -6.0f;
  for (int i = 0; i < 12; i++) {
    *state = *state * 1664525U + 1013904223U;
    sum += (float)(*state >> 8) / 16777216.0f;
  }
  return sum;
}

static double exact(const ig_conv *c, const float *x, const float *w, int64_t row, int64_t col) {
  double sum = 0.0;
  for (int64_t i = 0; i < c->cin; i++)
    for (int t = 0; t < 9; t++) {
      int64_t r = row + t / 3 - 1;
      int64_t q = col + t % 3 - 1;
      if (r < 0 || r >= SIDE || q < 0 || q >= SIDE) continue;
      sum += (double)x[(i * SIDE + r) * SIDE + q] * (double)w[i * 9 + t];
    }
  return sum;
}

// Largest error of a channel over the root mean square of its outputs; every second pixel of every
// second row, from a different one in each channel.
static double channel_error(const ig_conv *c, const float *x, const float *w, const float *y,
                            int64_t lanes, int64_t o) {
  double worst = 0.0;
  double squares = 0.0;
  int count = 0;
  for (int64_t row = o % 2; row < SIDE; row += 2)
    for (int64_t col = o / 2 % 2; col < SIDE; col += 2, count++) {
      double want = exact(c, x, w + o * c->cin * 9, row, col);
      int64_t at = (o / lanes * SIDE * SIDE + row * SIDE + col) * lanes + o % lanes;
      double error = fabs((double)y[at] - want);
      if (!(error <= worst)) worst = error;
      squares += want * want;
    }
  double norm = sqrt(squares / count);
  return worst == 0.0 ? 0.0 : worst / norm;
}

double ig_layer_measure(const ig_layer *l, const float *w) {
  ig_conv c = l->c;
  c.n = 1;
  for (int d = 1; d < 3; d++) {
    c.in[d] = c.out[d] = SIDE;
    c.padding[d] = 1;
  }
  int64_t lanes = l->f->lanes;
  size_t pixels = SIDE * SIDE;
  float *plain = ig_kernel_array(ig_mem_mul((size_t)c.cin, pixels), sizeof(float));
  float *x = ig_kernel_array(ig_layer_floats(1, c.cin, SIDE * SIDE), sizeof(float));
  float *y = ig_kernel_array(ig_layer_floats(1, c.cout, SIDE * SIDE), sizeof(float));
  ig_layer plain_bias = *l;
  double worst = -1.0;
  size_t outs = (size_t)(l->out * lanes);
  float *zeros = calloc(outs, sizeof(float));
  plain_bias.bias = zeros;
  if (plain && x && y && zeros) {
    uint32_t state = 1;
    for (size_t i = 0; i < (size_t)c.cin * pixels; i++) plain[i] = sample(&state);
    ig_layer_block_from(1, c.cin, SIDE * SIDE, plain, x);
    if (ig_layer_run(&plain_bias, &c, &(ig_layer_io){.x = x, .y = y})) {
      int64_t step = c.cout > CHANNELS ? c.cout / CHANNELS : 1;
      worst = 0.0;
      for (int64_t o = 0; o < c.cout; o += step) {
        double error = channel_error(&c, plain, w, y, lanes, o);
        if (!(error <= worst)) worst = error;
      }
    }
  }
  free(plain);
  free(x);
  free(y);
  free(zeros);
  return worst;
}
