// SPDX-License-Identifier: Apache-2.0
// Tables of reduction kernels per element type, between reduce.c and the files that instantiate
// them.
#ifndef KERNELS_REDUCE_KERNEL_H_
#define KERNELS_REDUCE_KERNEL_H_

#include "kernels/reduce_elem.h"

enum { IG_REDUCE_WIDTH = 128 };  // columns per task of `cols`

// Helpers of a cloned function must be inlined into each clone, or they are not compiled for its
// instruction set.
#define IG_REDUCE_INLINE static inline __attribute__((always_inline))

typedef struct ig_reduce_kernel {
  // y[begin..end) from rows of n elements.
  void (*rows)(const void *x, void *y, int64_t n, int64_t begin, int64_t end, double p);
  // Tasks are blocks of IG_REDUCE_WIDTH columns, ceil(inner / WIDTH) per outer index.
  void (*cols)(const void *x, void *y, ig_axis a, int64_t begin, int64_t end, double p);
} ig_reduce_kernel;

typedef enum ig_reduce_kind {
  IG_KERNEL_SUM,  // p divides: 1, or n for the mean
  IG_KERNEL_PROD,
  IG_KERNEL_MAX,
  IG_KERNEL_MIN,
  IG_KERNEL_ANY,
  IG_KERNEL_ALL,
  IG_KERNEL_NORM0,
  IG_KERNEL_NORM1,
  IG_KERNEL_NORM2,
  IG_KERNEL_NORMP,  // p is the exponent
  IG_KERNEL_MAXABS,
  IG_KERNEL_MINABS,
  IG_KERNEL_COUNT
} ig_reduce_kind;

// Of F32 and F64; integers lack the norms (NULL there).
const ig_reduce_kernel *ig_reduce_float_kernel(ig_elem e, ig_reduce_kind k);
const ig_reduce_kernel *ig_reduce_int_kernel(ig_elem e, ig_reduce_kind k);

#endif
