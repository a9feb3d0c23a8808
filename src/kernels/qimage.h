// SPDX-License-Identifier: Apache-2.0
// Images of 8-bit integers with channels last, as quantized convolutions and pooling read them.
#ifndef KERNELS_QIMAGE_H_
#define KERNELS_QIMAGE_H_

#include <stdbool.h>
#include <stdint.h>

// A convolution: sizes are depth, height, width; missing dimensions are 1.
typedef struct ig_qimage {
  int64_t n;
  int64_t channels;
  int64_t in[3];
  int64_t out[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];
  int64_t cin;   // channels of a group
  int64_t cout;  // results of a group
} ig_qimage;

// The position of an output pixel, and the next one: image, depth, height, width.
void ig_qimage_locate(const int64_t *size, int64_t pixel, int64_t *at);
void ig_qimage_advance(const int64_t *size, int64_t *at);

// Patches of output pixels [first, first + rows), one per row of `room`, ld apart: all taps, each
// with the channels of the group. Outside of the image lies `outside`.
void ig_qimage_patches(const ig_qimage *g, const uint8_t *x, int64_t group, uint8_t outside,
                       int64_t first, int64_t rows, uint8_t *room, int64_t ld);

// Pointers to the pixels of all taps of one output pixel; those outside point to `border`. True:
// none is outside.
bool ig_qimage_taps(const ig_qimage *g, const uint8_t *x, const uint8_t *border, const int64_t *at,
                    const uint8_t **taps);

// The largest element of each channel over the taps of output pixels [first, last), which has at
// least one tap inside. Signed elements as unsigned ones: flipped before and after by the caller.
void ig_qimage_max(const ig_qimage *g, const uint8_t *x, int64_t first, int64_t last, uint8_t *out);

#endif
