// SPDX-License-Identifier: Apache-2.0
// Windows over spatial dimensions, as convolutions and pools have them:
// attributes checked, pads computed.
#ifndef ONNX_OPS_WINDOW_H_
#define ONNX_OPS_WINDOW_H_

#include "onnx_read/reader.h"

enum { IG_WINDOW_MAX = 8 };

typedef struct ig_rd_window {
  int n;  // spatial dimensions
  int64_t kernel[IG_WINDOW_MAX];
  int64_t stride[IG_WINDOW_MAX];
  int64_t dilation[IG_WINDOW_MAX];
  int64_t before[IG_WINDOW_MAX];
  int64_t after[IG_WINDOW_MAX];
  bool symmetric;  // before == after everywhere
  bool dense;      // no dilation
} ig_rd_window;

// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad.
// `x` has two leading dimensions. False after an error.
bool ig_rd_window_read(ig_rd *r, const ig_tensor *x, const int64_t *kernel, ig_rd_window *w);
ig_value ig_rd_window_list(ig_rd *r, const int64_t *at,
                           int n);  // in the innermost scope
// Pads the spatial dimensions with zeros (or `fill`); negative pads crop.
ig_tensor *ig_rd_window_pad(ig_rd *r, ig_tensor *x, const int64_t *before, const int64_t *after,
                            int n, double fill);
int64_t ig_rd_window_reach(const ig_rd_window *w,
                           int i);  // (kernel - 1) * dilation + 1

#endif
