// SPDX-License-Identifier: Apache-2.0
// Inner kernels of the f32 convolution, one table per instruction set. Weights are read unpacked, a
// row of k numbers per output channel (stride lda); outputs are rows of pixels (stride ldc). `init`
// holds one starting value per row, or is NULL: then results are added to c.
#ifndef KERNELS_CONV_KERNELS_H_
#define KERNELS_CONV_KERNELS_H_

#include <stdint.h>

enum { IG_CONV_TAPS = 49 };  // kernel elements that masks are kept for, at most

// Where the lanes of one vector of flat positions are stored: up to two runs of pixels.
typedef struct ig_conv_lanes {
  uint32_t mask[2];
  int64_t at[2];  // of lane 0, relative to the tile's c
} ig_conv_lanes;

// How one vector of pixels is collected from the image.
typedef struct ig_conv_pick {
  int count;          // lanes in use
  int span;           // image elements from the first to the last pixel, counting both
  int64_t base;       // flat position of the first pixel
  int32_t index[16];  // of each lane, relative to base; lanes not in use repeat the last
} ig_conv_pick;

typedef struct ig_conv_phase {
  int64_t rows;
  int64_t cols;
  int64_t top;  // rows of y with input
  int64_t bottom;
  int64_t row_step;  // elements of x between rows of y
  int64_t lo;        // columns of y with input
  int64_t hi;
  int64_t step;  // elements of x between columns of y
} ig_conv_phase;

typedef struct ig_conv_kernels {
  int rows;     // output channels of a tile
  int lanes;    // of a vector
  int vectors;  // of a panel: lanes * vectors pixels
  // c[m][n] = a[m][k] * b[k][panel], b packed. Also prefetches ahead + off[p] for every p, if not
  // NULL: what will be packed next.
  void (*packed)(int m, int n, int64_t k, const float *a, int64_t lda, const float *b,
                 const float *init, float *c, int64_t ldc, const float *ahead, const int64_t *off);
  // The same for all rows of a tile and a panel of whole vectors, each a run of neighbours: what is
  // read from the image is kept as the packed panel.
  void (*take)(int64_t k, const float *a, int64_t lda, const float *image, const int64_t *off,
               const ig_conv_pick *pick, float *keep, const float *init, float *c, int64_t ldc);
  // The same with b[p] read in place at b + off[p], v vectors of flat positions; prefetches `ahead`
  // elements from there, if not 0.
  void (*direct)(int m, int v, int64_t k, const float *a, int64_t lda, const float *b,
                 const int64_t *off, const ig_conv_lanes *lanes, const float *init, float *c,
                 int64_t ldc, int64_t ahead);
  // c[m][t] = a[m][k] * b[t][ldb]: single pixels, whose columns are rows of b.
  void (*dots)(int m, int t, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
               const float *init, float *c, int64_t ldc);
  // Fills a panel b[k][lanes * vectors] from the image, v vectors per row.
  void (*pack)(int v, int64_t k, const float *image, const int64_t *off, const ig_conv_pick *pick,
               float *b);
  // The same from an image without gaps or padding: row p is v vectors at x + off[p], of which
  // masks[t][vectors] says what is inside, t = first, first + 1, ... modulo taps.
  void (*pack_same)(int v, int64_t k, const float *x, const int64_t *off, const uint32_t *masks,
                    int64_t taps, int64_t first, float *b);
  // y[rows][n] = bias + sum of w[t] * x[r * cols + off[t] + i]: a plane of a depthwise convolution.
  void (*depth)(int64_t rows, int64_t n, int64_t cols, int64_t taps, const float *x,
                const int64_t *off, const float *w, float bias, float *y);
  // The same for a whole plane whose output and input have one size, n pixels without rows: tap t
  // reads x + off[t] + i; masks[n / lanes, rounded up][taps] say which lanes lie inside. NULL where
  // masks cost more than a copy of the plane with its border.
  void (*depth_same)(int64_t n, int64_t taps, const float *x, const int64_t *off,
                     const uint16_t *masks, const float *w, float bias, float *y);
  // One phase of a plane: y[rows][cols] = x[r * row_step][q * step] where lo <= q < hi and
  // top <= r < bottom, 0 elsewhere.
  void (*fill)(const ig_conv_phase *p, const float *x, float *y);
} ig_conv_kernels;

#if defined(__x86_64__)
extern const ig_conv_kernels ig_conv_kernels_avx2;
extern const ig_conv_kernels ig_conv_kernels_avx512;
#elif defined(__aarch64__)
extern const ig_conv_kernels ig_conv_kernels_neon;
#endif

#endif
