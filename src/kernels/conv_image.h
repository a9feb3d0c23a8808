// SPDX-License-Identifier: Apache-2.0
// The padded image that the fast convolutions read: every window element of every output becomes
// one constant offset from the output's flat position, whatever stride, padding and dilation.
//
// Rows and columns are split by their remainder modulo the stride ("phases"; only those that some
// kernel element needs), so that neighbours in the output are neighbours here. Per channel and
// padded depth: [phases][rows][cols]. Output (oh, ow) is at oh * cols + ow, the kernel element k at
// off[k] from there. An image without padding and stride is the input itself, uncopied.
#ifndef KERNELS_CONV_IMAGE_H_
#define KERNELS_CONV_IMAGE_H_

#include "kernels/conv_inner.h"
#include "kernels/conv_kernels.h"

typedef struct ig_conv_image {
  const ig_conv *c;
  bool alias;  // the input is the image
  int64_t rows;
  int64_t cols;
  int64_t depth;    // padded depth
  int64_t plane;    // elements per (channel, depth)
  int64_t channel;  // elements per channel
  int phases[2];    // used remainders of h and w
} ig_conv_image;

ig_conv_image ig_conv_image_make(const ig_conv *c);

// Dilation and padding may ask for an image that is far larger than the input and the output, up to
// what no memory holds: then it is better not made.
bool ig_conv_image_is_wasteful(const ig_conv *c);

// Offsets of the group's k = (cin / groups) * taps elements from an output's flat position.
void ig_conv_image_offsets(const ig_conv_image *m, int64_t *off);

// Fills one channel's image from x[d][h][w].
void ig_conv_image_fill(const ig_conv_image *m, const ig_conv_kernels *f, const float *x,
                        float *image);

#endif
