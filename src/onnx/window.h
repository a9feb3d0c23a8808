// SPDX-License-Identifier: Apache-2.0
// Windows that slide over images: shared by convolutions and pooling. PyTorch names padding per
// dimension, ONNX its begin and end.
#ifndef ONNX_WINDOW_H_
#define ONNX_WINDOW_H_

#include <string.h>

#include "base/mem.h"
#include "onnx/writer.h"

enum { IG_ONNX_SPATIAL = 3 };
// The largest kernel, stride, dilation or padding that is written: products of two of them, and
// sums of a few such products, fit into 64 bits.
#define IG_ONNX_WINDOW_MOST INT32_MAX

// Numbers of one window, per spatial dimension.
typedef struct ig_onnx_window_of {
  size_t n;  // spatial dimensions
  int64_t kernel[IG_ONNX_SPATIAL];
  int64_t stride[IG_ONNX_SPATIAL];
  int64_t dilation[IG_ONNX_SPATIAL];
  int64_t pads[2 * IG_ONNX_SPATIAL];  // begins, then ends
} ig_onnx_window_of;

static inline bool ig_onnx_window_can(const int64_t *numbers, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (numbers[i] > IG_ONNX_WINDOW_MOST || numbers[i] < -IG_ONNX_WINDOW_MOST) return false;
  }
  return true;
}

// As ig_onnx_int_list, and refuses numbers that no window has.
static inline size_t ig_onnx_window_list(ig_onnx *x, const ig_onnx_call *call, const ig_value *v,
                                         int64_t *out, size_t want) {
  size_t n = ig_onnx_int_list(x, v, out, want, want);
  if (!ig_onnx_window_can(out, n)) {
    ig_onnx_refuse(x, call->node, "kernel sizes, strides, dilations and padding are at most %lld",
                   (long long)IG_ONNX_WINDOW_MOST);
    for (size_t i = 0; i < n; i++) out[i] = 1;
  }
  return n;
}

// What a window of `kernel` elements covers, and what `count` such windows do; false: more than 64
// bits can say.
static inline bool ig_onnx_window_reach(int64_t kernel, int64_t dilation, int64_t *out) {
  return ig_checked_add(kernel, -1, out) && ig_checked_mul(*out, dilation, out) &&
         ig_checked_add(*out, 1, out);
}
static inline bool ig_onnx_windows_reach(int64_t count, int64_t stride, int64_t reach,
                                         int64_t *out) {
  return ig_checked_add(count, -1, out) && ig_checked_mul(*out, stride, out) &&
         ig_checked_add(*out, reach, out);
}

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
