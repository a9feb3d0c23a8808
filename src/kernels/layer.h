// SPDX-License-Identifier: Apache-2.0
// Convolutions (and linear layers, as 1x1 convolutions) that are prepared once and run many times:
// f32, forward, activations in blocks of channels, bias, residual and activation included.
//
// Activations lie in blocks: x[n][c / B, rounded up][d][h][w][B], B = ig_layer_block(). Lanes
// beyond the last channel are zero; every function here keeps them so. Nothing in memory is padded
// spatially. Linear layers are 1x1 convolutions with `channels_last`: their activations are rows of
// channels, x[n][pixels][c], and both numbers of channels are multiples of B. A layer holds the
// packed weights; it is valid for every n and spatial size, and for the CPU level at which it was
// created. Layers are immutable: any number of threads may run one.
//
// Results do not depend on the number of threads, nor on how often a layer was run. Winograd's
// forms mix the pixels of a tile: an infinity or NaN in the input makes all outputs of its tiles
// NaN.
#ifndef KERNELS_LAYER_H_
#define KERNELS_LAYER_H_

#include "kernels/conv.h"

typedef enum ig_layer_method {
  IG_LAYER_NONE,       // no fast way: use ig_conv_forward
  IG_LAYER_PRODUCT,    // any window, stride, dilation and groups; transposed ones with kernel ==
                       // stride
  IG_LAYER_STEM,       // the same for few input channels: x is plain, [n][c][d][h][w]
  IG_LAYER_DEPTH,      // one input and one output channel per group
  IG_LAYER_WINOGRAD2,  // 3x3, stride 1: F(2x2, 3x3), more exact than direct sums
  IG_LAYER_WINOGRAD4,  // the same: F(4x4, 3x3), errors up to 3 times those of direct sums
  IG_LAYER_WINOGRAD6,  // the same: F(6x6, 3x3), errors up to 20 times those of direct sums
  // Linear layers of any numbers of channels, which these alone need not be multiples of B. Sums
  // are f32, and so are inputs if nothing else is said.
  IG_LAYER_ROWS,  // for few rows
  IG_LAYER_BF16,  // weights in bf16; from 8 rows on inputs too, on processors that multiply bf16
  IG_LAYER_F16,   // in f16, with a power of 2 per output as a factor
  IG_LAYER_INT8,  // integers of 8 bits, with one factor per output
  IG_LAYER_INT4,  // integers of 4 bits, with one factor per 32 columns of an output
  IG_LAYER_DYNAMIC8,  // IG_LAYER_INT8; from 8 rows on inputs are rounded to 256 values per row, and
                      // sums of products of integers are exact
  IG_LAYER_METHODS,
} ig_layer_method;

typedef struct ig_layer_options {
  ig_layer_method method;  // IG_LAYER_NONE: the fastest by cost that rtol allows
  // Largest error of a Winograd form, relative to the root mean square of a channel's outputs, as
  // measured against f64 with this layer's weights. 0: only forms as exact as direct sums.
  double rtol;
  // Bytes of weights of the whole model: tells whether they come from memory or from the last
  // cache. 0: unknown, from memory.
  int64_t model_bytes;
} ig_layer_options;

typedef struct ig_layer ig_layer;

// Channels per block at the current CPU level: 16, 8 or 4.
int ig_layer_block(void);

// Floats of a tensor of n images in blocks.
size_t ig_layer_floats(int64_t n, int64_t channels, int64_t pixels);

// The method that ig_layer_create would take, if Winograd's errors were within bounds. c says the
// sizes that matter most; c->elem is f32.
ig_layer_method ig_layer_choose(const ig_conv *c, const ig_layer_options *o);

// w as for ig_conv_forward; bias[cout] may be NULL. Both are copied. NULL: out of memory, or there
// is no fast way (ig_layer_choose tells which).
ig_layer *ig_layer_create(const ig_conv *c, const float *w, const float *bias,
                          const ig_layer_options *o);
void ig_layer_free(ig_layer *l);  // NULL is allowed.
ig_layer_method ig_layer_method_of(const ig_layer *l);
size_t ig_layer_bytes(const ig_layer *l);  // of the packed weights
double ig_layer_error(const ig_layer *l);  // as measured for rtol; 0 where it was not

// Everything that a layer has packed: weights, then biases.
const void *ig_layer_packed(const ig_layer *l, size_t *bytes);
// A layer over what another one of this shape and method has packed at the same CPU level, perhaps
// in another process. Nothing is copied: the memory outlives the layer. Numbers are not checked,
// everything else is. NULL: out of memory, or the memory is not that of such a layer.
ig_layer *ig_layer_over(const ig_conv *c, ig_layer_method m, double error, const void *packed,
                        size_t bytes);
enum { IG_LAYER_ALIGN = 64 };  // of that memory

typedef enum ig_act {
  IG_ACT_NONE,
  IG_ACT_CLAMP,
  IG_ACT_HARDSWISH,
  IG_ACT_SILU,
  IG_ACT_GELU,
  IG_ACT_GELU_TANH,
} ig_act;

// y = act(conv(x) + bias + residual). Residuals are like y and do not overlap it.
typedef struct ig_layer_io {
  const float *x;
  float *y;
  const float *residual;  // NULL: none
  // Floats from one image to the next, where tensors are parts of wider ones; 0: dense.
  int64_t x_image;
  int64_t y_image;
  int64_t residual_image;
  ig_act act;
  float lo;  // IG_ACT_CLAMP: 0 and INFINITY is relu, 0 and 6 is relu6; NaN stays
  float hi;
} ig_layer_io;

// What a linear layer loses on these rows: the norm of the error of its results, relative to that
// of the products of x and the weights w, which are dense, and the bias. Measured on some of the
// rows if there are many. Infinity: out of memory.
double ig_layer_loss(const ig_layer *l, int64_t rows, const float *x, const float *w);

// Scratch memory of a run with these sizes (n, in, out, padding of c).
void ig_layer_need(const ig_layer *l, const ig_conv *c, ig_need *need);
// False: no scratch memory, which cannot happen in a workspace that ig_layer_need stated; y is
// undefined then.
bool ig_layer_run(const ig_layer *l, const ig_conv *c, const ig_layer_io *io);

// ---- other operations on blocks ----

// [n][c][pixels] to blocks, and back.
void ig_layer_block_from(int64_t n, int64_t channels, int64_t pixels, const float *plain,
                         float *blocked);
void ig_layer_block_to(int64_t n, int64_t channels, int64_t pixels, const float *blocked,
                       float *plain);

#endif
