// SPDX-License-Identifier: Apache-2.0
// Products of integers, which wrap: the engines for 32 and 64 bits, unsigned, and below them the
// narrow types, widened to 32 bits.
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/gemm_engine.h"
#include "kernels/gemm_kernels.h"
#include "kernels/scratch.h"

#if defined(__x86_64__)
#define BEST(tag)                                            \
  (ig_cpu_level() >= IG_CPU_AVX512 ? &ig_gemm_##tag##_avx512 \
   : ig_cpu_level() >= IG_CPU_AVX2 ? &ig_gemm_##tag##_avx2   \
                                   : &ig_gemm_##tag##_base)
#else
#define BEST(tag) (&ig_gemm_##tag##_base)
#endif

#define X uint32_t
#define NAME(x) x##_u32
#define TABLE_OF ig_gemm_kernels_u32
#define best_table() BEST(u32)
#include "kernels/gemm_engine.inc"
#undef X
#undef NAME
#undef TABLE_OF
#undef best_table

#define X uint64_t
#define NAME(x) x##_u64
#define TABLE_OF ig_gemm_kernels_u64
#define best_table() BEST(u64)
#include "kernels/gemm_engine.inc"
#undef X
#undef NAME

// NOLINTBEGIN(readability-function-size): the operands of a product, one by one
// Signed elements are read and written through the unsigned type of the same width.
#define DOORS(name, S, U, wide)                                                                   \
  void ig_gemm_##name(int64_t m, int64_t n, int64_t k, S alpha, const S *a, int64_t a_rs,         \
                      int64_t a_cs, const S *b, int64_t b_rs, int64_t b_cs, S beta, S *c,         \
                      int64_t c_rs) {                                                             \
    multiply_##wide(1, m, n, k, (U)alpha, (const U *)a, 0, a_rs, a_cs, (const U *)b, 0, b_rs,     \
                    b_cs, (U)beta, (U *)c, 0, c_rs);                                              \
  }                                                                                               \
  void ig_gemm_batch_##name(int64_t batch, int64_t m, int64_t n, int64_t k, S alpha, const S *a,  \
                            int64_t a_bs, int64_t a_rs, int64_t a_cs, const S *b, int64_t b_bs,   \
                            int64_t b_rs, int64_t b_cs, S beta, S *c, int64_t c_bs,               \
                            int64_t c_rs) {                                                       \
    multiply_##wide(batch, m, n, k, (U)alpha, (const U *)a, a_bs, a_rs, a_cs, (const U *)b, b_bs, \
                    b_rs, b_cs, (U)beta, (U *)c, c_bs, c_rs);                                     \
  }                                                                                               \
  void ig_gemm_prepare_##name(int64_t batch, int64_t m, int64_t n, int64_t k, S alpha,            \
                              int64_t a_bs, int64_t a_rs, int64_t a_cs, int64_t b_bs,             \
                              int64_t b_rs, int64_t b_cs, S beta, int64_t c_bs, int64_t c_rs,     \
                              ig_gemm_plan *plan, ig_need *need) {                                \
    prepare_##wide(batch, m, n, k, (U)alpha, a_bs, a_rs, a_cs, b_bs, b_rs, b_cs, (U)beta, c_bs,   \
                   c_rs, plan, need);                                                             \
  }                                                                                               \
  void ig_gemm_run_##name(const ig_gemm_plan *plan, const S *a, const S *b, S *c) {               \
    run_batch_##wide((const batch_##wide *)(const void *)plan->bytes, (const U *)a, (const U *)b, \
                     (U *)c);                                                                     \
  }
DOORS(i32, int32_t, uint32_t, u32)
DOORS(i64, int64_t, uint64_t, u64)
// NOLINTEND(readability-function-size)

#define X uint32_t
#define SERIAL ig_gemm_serial_u32
#define SERIAL_NEED ig_gemm_serial_need_u32
#define GET(s) ((uint32_t)(s))
#define PUT(x) ((S)(x))

#define S int16_t
#define A int16_t
#define NAME(x) x##_i16
#define WIDEN(src, dst, n) widen_row_i16(src, dst, n)
IG_CLONES_NARROW static void widen_row_i16(const S *src, uint32_t *dst, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = GET(src[i]);
}
#include "kernels/gemm_wide.inc"
#undef S
#undef A
#undef NAME
#undef WIDEN

#define S int8_t
#define A int8_t
#define NAME(x) x##_i8
#define WIDEN(src, dst, n) widen_row_i8(src, dst, n)
IG_CLONES_NARROW static void widen_row_i8(const S *src, uint32_t *dst, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = GET(src[i]);
}
#include "kernels/gemm_wide.inc"
#undef S
#undef A
#undef NAME
#undef WIDEN

#define S uint8_t
#define A uint8_t
#define NAME(x) x##_u8
#define WIDEN(src, dst, n) widen_row_u8(src, dst, n)
IG_CLONES_NARROW static void widen_row_u8(const S *src, uint32_t *dst, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = GET(src[i]);
}
#include "kernels/gemm_wide.inc"
