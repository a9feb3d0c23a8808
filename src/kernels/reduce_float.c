// SPDX-License-Identifier: Apache-2.0
// Reductions of f32 and f64, which accumulate in their own type. Half types are converted before.
#include <math.h>

#include "base/cpu.h"
#include "kernels/reduce_kernel.h"

typedef ig_reduce_kernel kernel;
enum { LANES = 32, BLOCK = 16384, WIDTH = IG_REDUCE_WIDTH, SLAB = 32, STACK = 48 };

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define IS_NAN(v) ((v) != (v))
#define TAG f32
#define T float
#define A float
#define SUM_OUT float
#define LOAD(t) (t)
#define SUM_STORE(v) (v)
#define TYPE_STORE(v) (v)
#define LEAST (-INFINITY)
#define MOST INFINITY
#define FLOATS 1
#define FAST 1
#define COLD __attribute__((cold))
#define HOT IG_CLONES
#define WARM IG_CLONES
#define LOGIC COLD
#define NORM IG_CLONES
#include "kernels/reduce_type.inc"

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define IS_NAN(v) ((v) != (v))
#define TAG f64
#define T double
#define A double
#define SUM_OUT double
#define LOAD(t) (t)
#define SUM_STORE(v) (v)
#define TYPE_STORE(v) (v)
#define LEAST (-(double)INFINITY)
#define MOST ((double)INFINITY)
#define FLOATS 1
#define FAST 1
#define COLD __attribute__((cold))
#define HOT IG_CLONES
#define WARM IG_CLONES
#define LOGIC COLD
#define NORM IG_CLONES
#include "kernels/reduce_type.inc"

#define ROW(tag)                                                                          \
  {                                                                                       \
    [IG_KERNEL_SUM] = &tag##_sum_kernel, [IG_KERNEL_PROD] = &tag##_prod_kernel,           \
    [IG_KERNEL_MAX] = &tag##_max_kernel, [IG_KERNEL_MIN] = &tag##_min_kernel,             \
    [IG_KERNEL_ANY] = &tag##_any_kernel, [IG_KERNEL_ALL] = &tag##_all_kernel,             \
    [IG_KERNEL_NORM0] = &tag##_norm0_kernel, [IG_KERNEL_NORM1] = &tag##_norm1_kernel,     \
    [IG_KERNEL_NORM2] = &tag##_norm2_kernel, [IG_KERNEL_NORMP] = &tag##_normp_kernel,     \
    [IG_KERNEL_MAXABS] = &tag##_maxabs_kernel, [IG_KERNEL_MINABS] = &tag##_minabs_kernel, \
  }

const ig_reduce_kernel *ig_reduce_float_kernel(ig_elem e, ig_reduce_kind k) {
  static const kernel *const table[][IG_KERNEL_COUNT] = {
      [IG_ELEM_F32] = ROW(f32),
      [IG_ELEM_F64] = ROW(f64),
  };
  return table[e][k];
}
