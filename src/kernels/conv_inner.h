// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the convolution: the mirrored shape, matrix products by im2col, the fast
// f32 forward pass. Inside, tensors are planes ([n][c][d][h][w]) and shapes are untransposed.
#ifndef KERNELS_CONV_INNER_H_
#define KERNELS_CONV_INNER_H_

#include "kernels/conv.h"

static inline int64_t ig_conv_taps(const ig_conv *c) {
  return c->kernel[0] * c->kernel[1] * c->kernel[2];
}
static inline int64_t ig_conv_in(const ig_conv *c) {
  return c->in[0] * c->in[1] * c->in[2];
}
static inline int64_t ig_conv_out(const ig_conv *c) {
  return c->out[0] * c->out[1] * c->out[2];
}

// The convolution whose input gradient is the transposed convolution c, and vice versa.
static inline ig_conv ig_conv_mirror(const ig_conv *c) {
  ig_conv m = *c;
  m.transposed = !c->transposed;
  m.cin = c->cout;
  m.cout = c->cin;
  for (int i = 0; i < 3; i++) {
    m.in[i] = c->out[i];
    m.out[i] = c->in[i];
  }
  return m;
}

// f32 and f64 through im2col and matrix products. False: no scratch memory, nothing written.
bool ig_conv_forward_cols(const ig_conv *c, const void *x, const void *w, const void *bias,
                          void *y);
bool ig_conv_grad_input_cols(const ig_conv *c, const void *dy, const void *w, const void *bias,
                             void *dx);
bool ig_conv_grad_weight_cols(const ig_conv *c, const void *dy, const void *x, void *dw);

// What the first two need.
void ig_conv_need_cols(const ig_conv *c, ig_need *need);
void ig_conv_need_grad_input_cols(const ig_conv *c, ig_need *need);

// The cpu has kernels for the next, and padding does not make the images far larger than the input.
bool ig_conv_has_f32(const ig_conv *c);
// f32. False: this shape has no fast path here, or no scratch memory; nothing written.
bool ig_conv_forward_f32(const ig_conv *c, const float *x, const float *w, const float *bias,
                         float *y);
void ig_conv_need_f32(const ig_conv *c, ig_need *need);

// The same over blocks of channels, transposed ones included, where that is faster. False: no
// scratch memory, or values for which only direct sums give the right infinities and NaN.
bool ig_conv_has_blocks(const ig_conv *c);
bool ig_conv_forward_blocks(const ig_conv *c, const float *x, const float *w, const float *bias,
                            float *y);
void ig_conv_need_blocks(const ig_conv *c, ig_need *need);

#endif
