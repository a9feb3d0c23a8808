// SPDX-License-Identifier: Apache-2.0
// Matrix products: C = alpha * A * B + beta * C.
//
// A is m x k, B is k x n; each has a row stride (rs) and a column stride (cs) counted in elements,
// so transposed and sliced operands cost no copy (strides may be zero or negative). C is m x n with
// a row stride and contiguous columns; it must not overlap A or B. With beta == 0 C is not read;
// with k == 0 or alpha == 0 the result is beta * C; NaN and infinity in A and B propagate. Floating
// products are summed in a fixed order that does not depend on the number of threads. Nothing here
// fails: without scratch memory slower loops are used.
//
// Types: f16 and bf16 are stored as 16 bits, computed in float, rounded once at the end (alpha and
// beta are float). Integers wrap. Complex numbers are C11's float complex and double complex
// (pairs of real and imaginary part).
//
// Threads: products that are large enough use the pool (base/threads.h).
#ifndef KERNELS_GEMM_H_
#define KERNELS_GEMM_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/scratch.h"

// Products in two steps: what is decided from sizes and strides, and the sums. A plan serves any
// number of runs with the same number of threads.
enum { IG_GEMM_PLAN = 384 };
typedef struct ig_gemm_plan {
  _Alignas(16) unsigned char bytes[IG_GEMM_PLAN];
} ig_gemm_plan;

// One product.
#define IG_GEMM_DECLARE(name, type, scalar)                                                        \
  void ig_gemm_##name(int64_t m, int64_t n, int64_t k, scalar alpha, const type *a, int64_t a_rs,  \
                      int64_t a_cs, const type *b, int64_t b_rs, int64_t b_cs, scalar beta,        \
                      type *c, int64_t c_rs);                                                      \
  /* `batch` products; operand i starts at i * bs. a_bs and b_bs may be 0 (shared operand). */     \
  void ig_gemm_batch_##name(int64_t batch, int64_t m, int64_t n, int64_t k, scalar alpha,          \
                            const type *a, int64_t a_bs, int64_t a_rs, int64_t a_cs,               \
                            const type *b, int64_t b_bs, int64_t b_rs, int64_t b_cs, scalar beta,  \
                            type *c, int64_t c_bs, int64_t c_rs);                                  \
  /* The same in two steps. need: what a run needs is added to it; NULL: nobody asks. */           \
  void ig_gemm_prepare_##name(int64_t batch, int64_t m, int64_t n, int64_t k, scalar alpha,        \
                              int64_t a_bs, int64_t a_rs, int64_t a_cs, int64_t b_bs,              \
                              int64_t b_rs, int64_t b_cs, scalar beta, int64_t c_bs, int64_t c_rs, \
                              ig_gemm_plan *plan, ig_need *need);                                  \
  void ig_gemm_run_##name(const ig_gemm_plan *plan, const type *a, const type *b, type *c);        \
  /* The oracle: three plain loops in the order i, j, p; one thread, no scratch. */                \
  void ig_gemm_plain_##name(int64_t m, int64_t n, int64_t k, scalar alpha, const type *a,          \
                            int64_t a_rs, int64_t a_cs, const type *b, int64_t b_rs, int64_t b_cs, \
                            scalar beta, type *c, int64_t c_rs)

IG_GEMM_DECLARE(f32, float, float);
IG_GEMM_DECLARE(f64, double, double);
IG_GEMM_DECLARE(f16, uint16_t, float);
IG_GEMM_DECLARE(bf16, uint16_t, float);
IG_GEMM_DECLARE(i64, int64_t, int64_t);
IG_GEMM_DECLARE(i32, int32_t, int32_t);
IG_GEMM_DECLARE(i16, int16_t, int16_t);
IG_GEMM_DECLARE(i8, int8_t, int8_t);
IG_GEMM_DECLARE(u8, uint8_t, uint8_t);
IG_GEMM_DECLARE(c64, float _Complex, float _Complex);
IG_GEMM_DECLARE(c128, double _Complex, double _Complex);

// B packed once for many products (weights). Immutable after packing: any number of threads may
// use it. The 16-bit types are kept as float. Strides of B as above, so a weight [n, k] that is
// used transposed (x @ W^T) is packed with b_rs = 1, b_cs = k.
typedef struct ig_gemm_packed ig_gemm_packed;

// NULL: out of memory.
ig_gemm_packed *ig_gemm_pack_f32(int64_t n, int64_t k, const float *b, int64_t b_rs, int64_t b_cs);
ig_gemm_packed *ig_gemm_pack_f64(int64_t n, int64_t k, const double *b, int64_t b_rs, int64_t b_cs);
ig_gemm_packed *ig_gemm_pack_f16(int64_t n, int64_t k, const uint16_t *b, int64_t b_rs,
                                 int64_t b_cs);
ig_gemm_packed *ig_gemm_pack_bf16(int64_t n, int64_t k, const uint16_t *b, int64_t b_rs,
                                  int64_t b_cs);
void ig_gemm_packed_free(ig_gemm_packed *p);  // NULL is fine.
size_t ig_gemm_packed_bytes(const ig_gemm_packed *p);

// C = alpha * A * B + beta * C; n, k and the type are those that B was packed with.
void ig_gemm_packed_f32(int64_t m, float alpha, const float *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, float beta, float *c, int64_t c_rs);
void ig_gemm_packed_f64(int64_t m, double alpha, const double *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, double beta, double *c, int64_t c_rs);
void ig_gemm_packed_f16(int64_t m, float alpha, const uint16_t *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, float beta, uint16_t *c, int64_t c_rs);
void ig_gemm_packed_bf16(int64_t m, float alpha, const uint16_t *a, int64_t a_rs, int64_t a_cs,
                         const ig_gemm_packed *b, float beta, uint16_t *c, int64_t c_rs);

#endif
