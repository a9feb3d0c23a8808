// SPDX-License-Identifier: Apache-2.0
// Reductions of integers and bool: sums and products in 64 bits with wrap-around, done unsigned so
// that overflow is defined.
#include "base/cpu.h"
#include "kernels/reduce_kernel.h"

typedef ig_reduce_kernel kernel;
enum { LANES = 32, BLOCK = 4096, WIDTH = IG_REDUCE_WIDTH, SLAB = 32, STACK = 48 };

#define TAG u8
#define T uint8_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)0)
#define MOST ((A)UINT8_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT IG_CLONES_NARROW
#define WARM IG_CLONES_NARROW
#define LOGIC IG_CLONES_NARROW
#define NORM COLD
#include "kernels/reduce_type.inc"

// Any byte but 0 is true.
#define TAG truth
#define T uint8_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)((t) != 0))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)0)
#define MOST ((A)1)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT IG_CLONES_NARROW
#define WARM IG_CLONES_NARROW
#define LOGIC IG_CLONES_NARROW
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG i8
#define T int8_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)INT8_MIN)
#define MOST ((A)INT8_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT COLD
#define WARM IG_CLONES_NARROW
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG u16
#define T uint16_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)0)
#define MOST ((A)UINT16_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT COLD
#define WARM IG_CLONES_NARROW
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG i16
#define T int16_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)INT16_MIN)
#define MOST ((A)INT16_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT COLD
#define WARM IG_CLONES_NARROW
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG u32
#define T uint32_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)0)
#define MOST ((A)UINT32_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT COLD
#define WARM COLD
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG i32
#define T int32_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)INT32_MIN)
#define MOST ((A)INT32_MAX)
#define FLOATS 0
#define FAST 1
#define COLD __attribute__((cold))
#define HOT IG_CLONES_NARROW
#define WARM IG_CLONES_NARROW
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG u64
#define T uint64_t
#define A uint64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)0)
#define MOST ((A)UINT64_MAX)
#define FLOATS 0
#define FAST 0
#define COLD __attribute__((cold))
#define HOT COLD
#define WARM COLD
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define TAG i64
#define T int64_t
#define A int64_t
#define SUM_OUT int64_t
#define ADD(a, b) ((A)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((A)((uint64_t)(a) * (uint64_t)(b)))
#define IS_NAN(v) 0
#define LOAD(t) ((A)(t))
#define SUM_STORE(v) ((int64_t)(v))
#define TYPE_STORE(v) ((T)(v))
#define LEAST ((A)INT64_MIN)
#define MOST ((A)INT64_MAX)
#define FLOATS 0
#define FAST 1
#define COLD __attribute__((cold))
#define HOT IG_CLONES_NARROW
#define WARM IG_CLONES_NARROW
#define LOGIC COLD
#define NORM COLD
#include "kernels/reduce_type.inc"

#define ROW(tag)                                                                \
  {                                                                             \
    [IG_KERNEL_SUM] = &tag##_sum_kernel, [IG_KERNEL_PROD] = &tag##_prod_kernel, \
    [IG_KERNEL_MAX] = &tag##_max_kernel, [IG_KERNEL_MIN] = &tag##_min_kernel,   \
    [IG_KERNEL_ANY] = &tag##_any_kernel, [IG_KERNEL_ALL] = &tag##_all_kernel,   \
  }

const ig_reduce_kernel *ig_reduce_int_kernel(ig_elem e, ig_reduce_kind k) {
  static const kernel *const table[IG_ELEM_COUNT][IG_KERNEL_COUNT] = {
      [IG_ELEM_U8] = ROW(u8),   [IG_ELEM_I8] = ROW(i8),   [IG_ELEM_U16] = ROW(u16),
      [IG_ELEM_I16] = ROW(i16), [IG_ELEM_U32] = ROW(u32), [IG_ELEM_I32] = ROW(i32),
      [IG_ELEM_U64] = ROW(u64), [IG_ELEM_I64] = ROW(i64), [IG_ELEM_BOOL] = ROW(truth),
  };
  return table[e][k];
}
