// SPDX-License-Identifier: Apache-2.0
// Walking strided memory: a plan of coalesced dimensions, and copies with conversion over it.
#ifndef TENSOR_COPY_H_
#define TENSOR_COPY_H_

#include "tensor/tensor.h"

enum { IG_WALK_MAX = 8 };  // operands of one walk, the written one first

// A loop nest over a common shape: dimension 0 is the innermost. Strides are in bytes, 0 where an
// operand is repeated. Adjacent dimensions that are contiguous in all operands are merged.
typedef struct ig_walk {
  int noperands;
  int ndim;
  int64_t numel;
  int64_t size[IG_MAX_DIM];
  int64_t stride[IG_WALK_MAX][IG_MAX_DIM];
  char *data[IG_WALK_MAX];
} ig_walk;

// Operands (real; NULL: unused) broadcast to the sizes of `shape`. Dimensions are ordered so that
// operand 0 moves least in the innermost one.
void ig_walk_make(ig_walk *w, const ig_tensor *shape, ig_tensor *const *operands, int n);

// Calls fn for every innermost row (or part of one): pointers per operand, n elements, strides of
// dimension 0. Rows are distributed over threads if there are more than `grain` elements.
typedef void ig_row_fn(void *user, char *const *at, const int64_t *stride, int64_t n);
void ig_walk_run(const ig_walk *w, int64_t grain, ig_row_fn *fn, void *user);

// dst[...] = src[...], converting; src broadcasts to dst. Both real; overlapping memory is allowed
// only if it is the same.
void ig_tensor_copy(ig_tensor *dst, const ig_tensor *src);

// Elements of a dtype in somebody's memory, stride[d] elements from one to the next in dimension d.
typedef struct ig_strided {
  void *data;
  ig_dtype dtype;
  const int64_t *stride;
} ig_strided;
// The same for memory without a tensor around it; both have the given sizes.
void ig_strided_copy(int ndim, const int64_t *size, ig_strided to, ig_strided from);

// Dense row-major copy of src in dtype, as a block of memory (numel elements).
void ig_tensor_read(const ig_tensor *src, ig_dtype dtype, void *dst);

#endif
