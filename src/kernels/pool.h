// SPDX-License-Identifier: Apache-2.0
// Pooling over one to three spatial dimensions, and the unfold/fold pair.
//
// Memory is dense [planes][d][h][w][inner]. Contiguous NCHW: planes = n * c, inner = 1.
// Channels-last: planes = n, inner = c. Fewer than three spatial dimensions: the leading ones are 1
// (kernel 1, stride 1, padding 0, dilation 1): ig_pool_make fills them. Output sizes are given by
// the caller (which handles ceil mode). Results and gradients are overwritten (no accumulation).
#ifndef KERNELS_POOL_H_
#define KERNELS_POOL_H_

#include "kernels/reduce_elem.h"

typedef struct ig_pool {
  ig_elem elem;
  int64_t planes;
  int64_t inner;
  int64_t in[3];  // d, h, w
  int64_t out[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];
  bool count_include_pad;    // average: the divisor counts padding (not beyond in + padding)
  int64_t divisor_override;  // average: 0 means none
} ig_pool;

// All ones and zeros; then the caller sets the last nd entries of each array.
ig_pool ig_pool_make(ig_elem e, int64_t planes, int64_t inner);

// x[planes][in][inner] -> y[planes][out][inner]; index (may be NULL) like y: the element's flat
// position in the input plane, d, h, w only. Of equal ones the first; the last NaN wins. All real
// types.
void ig_pool_max(const ig_pool *p, const void *x, void *y, int64_t *index);
// Like ig_pool_max but windows [floor(i * in / out), ceil((i + 1) * in / out)).
void ig_pool_adaptive_max(const ig_pool *p, const void *x, void *y, int64_t *index);
// dy[planes][out][inner] is added at index -> dx[planes][in][inner]. Also for adaptive max pooling
// and max_unpool's scatter. Float types; indices out of range are skipped.
void ig_pool_max_backward(const ig_pool *p, const void *dy, const int64_t *index, void *dx);

void ig_pool_avg(const ig_pool *p, const void *x, void *y);             // floats and integers
void ig_pool_avg_backward(const ig_pool *p, const void *dy, void *dx);  // floats and I64
void ig_pool_adaptive_avg(const ig_pool *p, const void *x, void *y);    // floats
void ig_pool_adaptive_avg_backward(const ig_pool *p, const void *dy, void *dx);

// Unfold: x[planes][in] -> cols[planes][kd*kh*kw][od*oh*ow]; inner must be 1; padding is zeros. Per
// image [c][in] this is [c*kd*kh*kw][od*oh*ow]: F.unfold with planes = n * c. Any type of 1, 2, 4,
// 8 or 16 bytes: `size` is the element's, p->elem is not read.
void ig_pool_im2col(const ig_pool *p, size_t size, const void *x, void *cols);
// Fold, its transpose: cols[planes][kd*kh*kw][od*oh*ow] summed into x[planes][in]. Float types and
// I64.
void ig_pool_col2im(const ig_pool *p, const void *cols, void *x);

#endif
