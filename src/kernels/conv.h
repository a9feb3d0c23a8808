// SPDX-License-Identifier: Apache-2.0
// Convolution over one to three spatial dimensions: forward, transposed, and the three gradients.
//
// Memory is dense: x[n][cin][d][h][w] (or [n][d][h][w][cin] when channels_last), y likewise with
// cout and out. Weights are always w[cout][cin / groups][kd][kh][kw]; transposed convolutions have
// w[cin][cout / groups][kd][kh][kw]. Fewer than three spatial dimensions: the leading ones are 1,
// ig_conv_make fills them. Output sizes are the caller's: output_padding is part of them.
//
// The kernels cannot fail: without scratch memory they fall back to a slower path that needs none.
// f32 is fast (AVX-512, AVX2, or plain loops), f64 and half types go through f64 and f32 products,
// integers run the plain loops with wrap-around in their own type.
#ifndef KERNELS_CONV_H_
#define KERNELS_CONV_H_

#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

typedef struct ig_conv {
  ig_elem elem;
  bool channels_last;
  bool transposed;
  int64_t n;
  int64_t cin;
  int64_t cout;
  int64_t groups;
  int64_t in[3];  // d, h, w
  int64_t out[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];
} ig_conv;

// groups 1, all spatial entries 1, padding 0; then the caller sets the last nd entries.
ig_conv ig_conv_make(ig_elem e, int64_t n, int64_t cin, int64_t cout);
// out[] from in[] and the rest: floor((in + 2p - d(k-1) - 1) / s) + 1, or for transposed ones
// (in-1)s - 2p + d(k-1) + output_padding + 1. Entries may be <= 0: the caller reports the error.
void ig_conv_set_out(ig_conv *c, const int64_t output_padding[3]);

// y = conv(x, w) + bias; bias[cout] may be NULL.
void ig_conv_forward(const ig_conv *c, const void *x, const void *w, const void *bias, void *y);

// The same for callers that own all memory. need states slots and may take a piece: then it answers
// true, and that piece of the workspace is `room`, else NULL. bias: there will be one.
bool ig_conv_need(const ig_conv *c, bool bias, ig_need *need, size_t *room);
void ig_conv_forward_in(const ig_conv *c, const void *x, const void *w, const void *bias, void *y,
                        void *room);

// Gradients of ig_conv_forward with the same c; dy is like y. Written whole (no accumulation).
void ig_conv_grad_input(const ig_conv *c, const void *dy, const void *w, void *dx);
void ig_conv_grad_weight(const ig_conv *c, const void *dy, const void *x, void *dw);
void ig_conv_grad_bias(const ig_conv *c, const void *dy, void *db);

// Weights packed once for many calls. NULL: out of memory, or no gain for this shape (then call
// ig_conv_forward). A handle is valid for any n and spatial size, and for the CPU level at which it
// was created.
typedef struct ig_conv_pack ig_conv_pack;
ig_conv_pack *ig_conv_pack_create(const ig_conv *c, const void *w);
void ig_conv_pack_free(ig_conv_pack *p);  // NULL is allowed.
void ig_conv_forward_packed(const ig_conv *c, const ig_conv_pack *p, const void *x,
                            const void *bias, void *y);

// Plain loops: the reference in tests, and the path for integers and without scratch memory.
void ig_conv_forward_ref(const ig_conv *c, const void *x, const void *w, const void *bias, void *y);
void ig_conv_grad_input_ref(const ig_conv *c, const void *dy, const void *w, void *dx);
void ig_conv_grad_weight_ref(const ig_conv *c, const void *dy, const void *x, void *dw);

#endif
