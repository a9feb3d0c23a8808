// SPDX-License-Identifier: Apache-2.0
#include "kernels/qimage.h"

#include <string.h>

#include "base/cpu.h"

void ig_qimage_locate(const int64_t *size, int64_t pixel, int64_t *at) {
  for (int d = 2; d >= 0; d--) {
    at[d + 1] = pixel % size[d];
    pixel /= size[d];
  }
  at[0] = pixel;
}

void ig_qimage_advance(const int64_t *size, int64_t *at) {
  for (int d = 3; d > 0; d--) {
    if (++at[d] < size[d - 1]) return;
    at[d] = 0;
  }
  at[0]++;
}

// Pixels of one row of taps, side by side in memory: n bytes of a row of the image, which has `end`
// bytes, from byte `at` on.
static void copy_run(const uint8_t *row, int64_t at, int64_t n, int64_t end, uint8_t outside,
                     uint8_t *to) {
  if (at >= 0 && at + n <= end) {
    memcpy(to, row + at, (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i++) to[i] = at + i >= 0 && at + i < end ? row[at + i] : outside;
}

// The row of the image that a row of taps reads; -1: outside.
static int64_t row_of(const ig_qimage *g, const int64_t *at, int64_t depth, int64_t height) {
  int64_t z = at[1] * g->stride[0] - g->padding[0] + depth * g->dilation[0];
  int64_t y = at[2] * g->stride[1] - g->padding[1] + height * g->dilation[1];
  if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1]) return -1;
  return (at[0] * g->in[0] + z) * g->in[1] + y;
}

static void fill_row(const ig_qimage *g, const uint8_t *row, int64_t x, int64_t group,
                     uint8_t outside, uint8_t *to) {
  if (g->cin == g->channels && g->dilation[2] == 1) {  // all channels belong to the group
    copy_run(row, x * g->cin, g->kernel[2] * g->cin, g->in[2] * g->cin, outside, to);
    return;
  }
  for (int64_t t = 0; t < g->kernel[2]; t++, x += g->dilation[2], to += g->cin) {
    if (x < 0 || x >= g->in[2]) {
      memset(to, outside, (size_t)g->cin);
    } else {
      memcpy(to, row + x * g->channels + group * g->cin, (size_t)g->cin);
    }
  }
}

void ig_qimage_patches(const ig_qimage *g, const uint8_t *x, int64_t group, uint8_t outside,
                       int64_t first, int64_t rows, uint8_t *room, int64_t ld) {
  int64_t at[4];
  int64_t n = g->kernel[2] * g->cin;
  int64_t taken = g->kernel[0] * g->kernel[1] * n;
  ig_qimage_locate(g->out, first, at);
  for (int64_t r = 0; r < rows; r++, ig_qimage_advance(g->out, at)) {
    uint8_t *to = room + r * ld;
    int64_t from = at[3] * g->stride[2] - g->padding[2];
    for (int64_t d = 0; d < g->kernel[0]; d++) {
      for (int64_t h = 0; h < g->kernel[1]; h++, to += n) {
        int64_t row = row_of(g, at, d, h);
        if (row < 0) {
          memset(to, outside, (size_t)n);
        } else {
          fill_row(g, x + row * g->in[2] * g->channels, from, group, outside, to);
        }
      }
    }
    memset(to, 0, (size_t)(ld - taken));
  }
}

bool ig_qimage_taps(const ig_qimage *g, const uint8_t *x, const uint8_t *border, const int64_t *at,
                    const uint8_t **taps) {
  bool inside = true;
  int64_t from = at[3] * g->stride[2] - g->padding[2];
  for (int64_t d = 0; d < g->kernel[0]; d++) {
    for (int64_t h = 0; h < g->kernel[1]; h++) {
      int64_t row = row_of(g, at, d, h);
      for (int64_t w = 0; w < g->kernel[2]; w++) {
        int64_t column = from + w * g->dilation[2];
        bool in = row >= 0 && column >= 0 && column < g->in[2];
        *taps++ = in ? x + (row * g->in[2] + column) * g->channels : border;
        inside = inside && in;
      }
    }
  }
  return inside;
}

static inline uint8_t higher(uint8_t a, uint8_t b) {
  return a > b ? a : b;
}

// The maxima of `out` and of some pixels of n channels, `apart` bytes from each other. Three at a
// time: what is written is read again for every run over the channels.
IG_CLONES_NARROW static void max_into(const uint8_t *restrict x, int64_t pixels, int64_t apart,
                                      int64_t n, uint8_t *restrict out) {
  for (; pixels >= 3; pixels -= 3, x += 3 * apart) {
    for (int64_t i = 0; i < n; i++) {
      out[i] = higher(higher(out[i], x[i]), higher(x[i + apart], x[i + 2 * apart]));
    }
  }
  for (; pixels > 0; pixels--, x += apart) {
    for (int64_t i = 0; i < n; i++) out[i] = higher(out[i], x[i]);
  }
}

// The taps [lo, hi) of a row of taps that begins at column `from` and stay inside the image.
static void clip_taps(const ig_qimage *g, int64_t from, int64_t *lo, int64_t *hi) {
  *lo = 0;
  *hi = g->kernel[2];
  while (*lo < *hi && from + *lo * g->dilation[2] < 0) ++*lo;
  while (*lo < *hi && from + (*hi - 1) * g->dilation[2] >= g->in[2]) --*hi;
}

void ig_qimage_max(const ig_qimage *g, const uint8_t *x, int64_t first, int64_t last,
                   uint8_t *out) {
  int64_t at[4];
  ig_qimage_locate(g->out, first, at);
  for (int64_t p = first; p < last; p++, ig_qimage_advance(g->out, at)) {
    uint8_t *to = out + p * g->channels;
    int64_t from = at[3] * g->stride[2] - g->padding[2];
    int64_t lo;
    int64_t hi;
    clip_taps(g, from, &lo, &hi);
    memset(to, 0, (size_t)g->channels);
    for (int64_t d = 0; d < g->kernel[0]; d++) {
      for (int64_t h = 0; h < g->kernel[1]; h++) {
        int64_t row = row_of(g, at, d, h);
        if (row < 0 || lo >= hi) continue;
        int64_t column = from + lo * g->dilation[2];
        max_into(x + (row * g->in[2] + column) * g->channels, hi - lo, g->dilation[2] * g->channels,
                 g->channels, to);
      }
    }
  }
}
