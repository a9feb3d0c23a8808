// SPDX-License-Identifier: Apache-2.0
// Windows that slide over images: shared by convolutions and pooling. PyTorch names padding per
// dimension, ONNX its begin and end.
#ifndef ONNX_WINDOW_H_
#define ONNX_WINDOW_H_

#include <string.h>

#include "onnx/writer.h"

enum { IG_ONNX_SPATIAL = 3 };

// Numbers of one window, per spatial dimension.
typedef struct ig_onnx_window_of {
  size_t n;  // spatial dimensions
  int64_t kernel[IG_ONNX_SPATIAL];
  int64_t stride[IG_ONNX_SPATIAL];
  int64_t dilation[IG_ONNX_SPATIAL];
  int64_t pads[2 * IG_ONNX_SPATIAL];  // begins, then ends
} ig_onnx_window_of;

static inline void ig_onnx_symmetric(ig_onnx_window_of *w, const int64_t *padding) {
  for (size_t i = 0; i < w->n; i++) w->pads[i] = w->pads[w->n + i] = padding[i];
}

// Operands of n spatial dimensions may lack a batch dimension: then one is added and removed.
static inline const char *ig_onnx_with_batch(ig_onnx *x, const char *name, const ig_tensor *t,
                                             size_t n, bool *added) {
  *added = t && (size_t)t->ndim == n + 1;
  return *added ? ig_onnx_unsqueeze(x, name, 0, NULL) : name;
}

static inline const char *ig_onnx_unbatched(ig_onnx *x, const char *name, bool added) {
  return added ? ig_onnx_squeeze(x, name, 0, NULL) : name;
}

#endif
