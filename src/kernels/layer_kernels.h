// SPDX-License-Identifier: Apache-2.0
// Inner kernels of layers, one table per instruction set, and what the files of layers share.
#ifndef KERNELS_LAYER_KERNELS_H_
#define KERNELS_LAYER_KERNELS_H_

#include "kernels/conv_inner.h"
#include "kernels/layer.h"

// y[pixel][o] = sum over taps t and their channels c of x[pixel + tap t][c] * w[t][c][o]: the
// product under 1x1, k x k, transposed and Winograd convolutions. Offsets are in floats.
typedef struct ig_layer_product {
  const float *x;
  const int32_t *tap;    // [taps]
  const int32_t *pixel;  // of an output pixel's window in x
  const int32_t *place;  // of an output pixel in y
  int64_t taps;
  int64_t unit;    // channels of a tap: those of a block, or 1
  int64_t panel;   // blocks of outputs in a panel: 2 or 3
  int64_t blocks;  // blocks of outputs in all
  const float *w;  // [panels][taps][unit][panel * lanes]; the last panel may be narrower
  float *y;
  int64_t y_block;        // floats from one block of outputs to the next
  bool finish;            // otherwise sums only: the rest is unused
  const float *bias;      // [blocks * lanes]
  const float *residual;  // like y; NULL: none
  float lo;
  float hi;
  const float *keep;  // lanes of the last block that are channels, as a mask
} ig_layer_product;

// One row of a block of channels of a depthwise convolution.
typedef struct ig_layer_depth {
  const float *w;            // [rows][cols][lanes]
  const float *const *rows;  // [row_end], of the input; those from row_begin on are inside
  int64_t row_begin;
  int64_t row_end;
  int64_t all_rows;  // of the window
  int64_t cols;      // of the window
  int64_t stride;
  int64_t dilation;
  int64_t padding;
  int64_t in;  // columns
  int64_t out;
  const float *bias;
  const float *residual;  // NULL: none
  const float *keep;
  float lo;
  float hi;
  float *y;
} ig_layer_depth;

// Tiles [begin, begin + count) of the images of one layer, for Winograd's transforms.
typedef struct ig_layer_tiles {
  int64_t begin;
  int64_t count;
  int64_t across;  // tiles in a row of tiles
  int64_t each;    // tiles of an image
  int64_t in[2];   // h, w
  int64_t out[2];
  int64_t padding[2];
  const float *x;
  int64_t x_image;
  int64_t pitch;  // of tiles in v and m: an odd count, since powers of two share few sets of L1
  float *v;       // [side^2][blocks in][pitch][lanes], positions v_step apart
  int64_t v_step;
  const float *m;  // [side^2][blocks out][pitch][lanes], positions m_step apart
  int64_t m_step;
  float *y;
  int64_t y_image;
  const float *bias;
  const float *residual;
  int64_t residual_image;
  int64_t blocks;     // of outputs in all
  const float *keep;  // for the last one
  float lo;
  float hi;
} ig_layer_tiles;

// How the weights of linear layers lie in a panel of outputs: step after step of columns, in a step
// unit after unit, in a unit vector after vector of outputs. But for f32 and f16, whose columns
// follow one another, a vector holds all columns of the unit as one 32-bit word per output, the
// first column in its lowest bits.
typedef enum ig_rows_kind {
  IG_ROWS_F32,   // units of 2 columns
  IG_ROWS_BF16,  // of 2
  IG_ROWS_F16,   // of 2
  IG_ROWS_INT8,  // of 4
  IG_ROWS_INT4,  // of 8; behind 4 of them one factor per output, as bf16
  IG_ROWS_KINDS,
} ig_rows_kind;

// sums[row][output] = sum over columns of x * w, for a panel.
typedef struct ig_rows_tile {
  int rows;       // IG_ROWS_TALL at most
  const void *w;  // of the panel
  int64_t steps;
  const float *x;
  int64_t x_row;  // floats from one row to the next
  float *sums;
  bool first;  // otherwise they are added to
} ig_rows_tile;

// The same for inputs that were converted: 8-bit integers without a sign, 4 to a word, or bf16, 2
// to a word.
typedef struct ig_rows_dots {
  int rows;
  const void *w;
  int64_t units;
  const uint32_t *x;
  int64_t x_row;  // words
  void *sums;     // int32_t or float
} ig_rows_dots;

// sums[row][output] of a few rows, by one or two panels of a product whose taps are all its
// columns.
typedef struct ig_layer_few {
  int rows;  // IG_ROWS_TALL at most
  int panels;
  int blocks;         // of a panel; two panels: 2
  const float *w[2];  // [columns][blocks * lanes]
  int64_t columns;    // an even number
  const float *x;
  int64_t x_row;
  float *sums;  // [rows][panels * blocks * lanes]
} ig_layer_few;

enum {
  IG_LAYER_SIDE = 8,             // of the largest Winograd tile
  IG_LAYER_WINDOW = 32,          // rows of the largest depthwise window
  IG_ROWS_TALL = 6,              // rows of the largest tile of linear layers
  IG_ROWS_OUTS = 64,             // outputs of its widest panel
  IG_ROWS_GROUP = 32,            // columns that share a factor (IG_ROWS_INT4)
  IG_ROWS_STEP = IG_ROWS_GROUP,  // columns of the longest step
};

typedef struct ig_layer_kernels {
  int lanes;
  // Pixels [begin, end) of the panels [first, last).
  void (*product)(const ig_layer_product *p, int64_t begin, int64_t end, int64_t first,
                  int64_t last);
  void (*depth)(const ig_layer_depth *d);
  // Blocks of channels [from, to), by the size of a tile's output: 2, 4, 6.
  void (*wino_in)(const ig_layer_tiles *t, int m, int64_t from, int64_t to);
  void (*wino_out)(const ig_layer_tiles *t, int m, int64_t from, int64_t to);
  // Weights of one panel of `width` outputs: g[9][width] to u[side^2][width].
  void (*wino_weights)(int m, int64_t width, const float *g, float *u);
  int few_rows;  // of the largest tile of `few`
  void (*few)(const ig_layer_few *f);
  int outs;  // of a panel of linear layers
  void (*rows)(ig_rows_kind kind, const ig_rows_tile *t);
  void (*dots8)(const ig_rows_dots *d);
} ig_layer_kernels;

extern const ig_layer_kernels ig_layer_kernels_portable;
#if defined(__x86_64__)
extern const ig_layer_kernels ig_layer_kernels_avx2;
extern const ig_layer_kernels ig_layer_kernels_avx512;
// Processors with AVX-512 that also have these.
void ig_rows_dots8_vnni_avx512(const ig_rows_dots *d);
void ig_rows_dots_bf16_avx512(const ig_rows_dots *d);
#elif defined(__aarch64__)
extern const ig_layer_kernels ig_layer_kernels_neon;
#endif

struct ig_layer {
  const ig_layer_kernels *f;
  ig_layer_method method;
  ig_conv c;         // as created: channels, window, stride, dilation
  int64_t unit;      // channels of a tap
  int64_t groups;    // after merging those that are narrower than a block
  int64_t in;        // blocks (stem: channels) of input per group
  int64_t out;       // blocks of output per group
  int64_t panel;     // blocks of output in a panel
  int64_t taps;      // of a sum: in * window, or in
  int64_t products;  // weights of as many products lie behind each other
  int64_t weights;   // floats of one of them
  double error;
  float *w;
  float *bias;  // padded to whole blocks
  float keep[16];
  void *memory;  // to be freed; NULL: the caller's
};

const ig_layer_kernels *ig_layer_kernels_now(void);
static inline int ig_layer_wino_size(ig_layer_method m) {
  return m == IG_LAYER_WINOGRAD2   ? 2
         : m == IG_LAYER_WINOGRAD4 ? 4
         : m == IG_LAYER_WINOGRAD6 ? 6
                                   : 0;
}

// Whether the method can do it at all.
bool ig_layer_suits(const ig_conv *c, ig_layer_method m, int64_t lanes);
// Everything but memory; floats of it.
void ig_layer_plan(const ig_layer_kernels *f, const ig_conv *c, ig_layer_method m, ig_layer *l,
                   size_t *floats);
// Weights into l->memory's floats.
void ig_layer_fill(ig_layer *l, const float *w, const float *bias, float *memory);
// Largest error over a sample of outputs against f64; negative: out of memory.
double ig_layer_measure(const ig_layer *l, const float *w);

// What is none of clamping, in place.
void ig_layer_act(ig_act act, int64_t n, float *y);

void ig_layer_need_wino(const ig_layer *l, const ig_conv *c, ig_need *need);
bool ig_layer_run_wino(const ig_layer *l, const ig_conv *c, const ig_layer_io *io);
void ig_layer_need_product(const ig_layer *l, const ig_conv *c, ig_need *need);
bool ig_layer_run_product(const ig_layer *l, const ig_conv *c, const ig_layer_io *io);
void ig_layer_run_depth(const ig_layer *l, const ig_conv *c, const ig_layer_io *io);

// Linear layers by panels (ig_layer_is_rows): floats of memory of everything but the bias, for a
// layer that has its shape.
int64_t ig_layer_rows_floats(const ig_layer *l);
void ig_layer_fill_rows(const ig_layer *l, const float *w);
void ig_layer_need_rows(const ig_layer *l, const ig_conv *c, ig_need *need);
bool ig_layer_run_rows(const ig_layer *l, const ig_conv *c, const ig_layer_io *io);
// y = act(sums * factors + bias + residual) for outputs [first, first + n) of one row; factors
// NULL: all are 1.
void ig_layer_finish_row(const ig_layer *l, const ig_layer_io *io, int64_t row, int64_t first,
                         int64_t n, const float *factors, const float *sums);
enum { IG_LAYER_MANY = 8 };  // rows from which products wait for sums, not for memory
// Fewer rows than that, by an IG_LAYER_PRODUCT of rows.
void ig_layer_run_few(const ig_layer *l, int64_t rows, const ig_layer_io *io);
static inline bool ig_layer_is_rows(ig_layer_method m) {
  return m >= IG_LAYER_ROWS;
}

// Inputs of linear layers as words (layer_narrow.c), each row padded with zeros to `words`. A row
// of bytes is (byte - zero) * scale; NaN where it is not finite.
typedef struct ig_narrow_row {
  float scale;
  int32_t zero;
} ig_narrow_row;
void ig_narrow_bytes(int64_t n, int64_t words, const float *x, uint32_t *to, ig_narrow_row *row);
void ig_narrow_bf16(int64_t n, int64_t words, const float *x, uint32_t *to);

// The bounds that kernels clamp to; activations that are none of clamping come afterwards.
static inline float ig_layer_lo(const ig_layer_io *io) {
  return io->act == IG_ACT_CLAMP ? io->lo : -__builtin_inff();
}
static inline float ig_layer_hi(const ig_layer_io *io) {
  return io->act == IG_ACT_CLAMP ? io->hi : __builtin_inff();
}
static inline bool ig_layer_acts(const ig_layer_io *io) {
  return io->act > IG_ACT_CLAMP;
}

#endif
