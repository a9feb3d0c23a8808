// SPDX-License-Identifier: Apache-2.0
// Products of double: the engine over the table for this processor.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/gemm_engine.h"
#include "kernels/gemm_kernels.h"
#include "kernels/scratch.h"

static const ig_gemm_kernels_f64 *best_table(void) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  if (level >= IG_CPU_AVX512) return &ig_gemm_f64_avx512;
  if (level >= IG_CPU_AVX2) return &ig_gemm_f64_avx2;
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) return &ig_gemm_f64_neon;
#endif
  return &ig_gemm_f64_base;
}

#define X double
#define NAME(x) x##_f64
#define TABLE_OF ig_gemm_kernels_f64
#include "kernels/gemm_engine.inc"
#include "kernels/gemm_packed.inc"

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_f64(int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t a_rs,
                 int64_t a_cs, const double *b, int64_t b_rs, int64_t b_cs, double beta, double *c,
                 int64_t c_rs) {
  multiply_f64(1, m, n, k, alpha, a, 0, a_rs, a_cs, b, 0, b_rs, b_cs, beta, c, 0, c_rs);
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_batch_f64(int64_t batch, int64_t m, int64_t n, int64_t k, double alpha,
                       const double *a, int64_t a_bs, int64_t a_rs, int64_t a_cs, const double *b,
                       int64_t b_bs, int64_t b_rs, int64_t b_cs, double beta, double *c,
                       int64_t c_bs, int64_t c_rs) {
  multiply_f64(batch, m, n, k, alpha, a, a_bs, a_rs, a_cs, b, b_bs, b_rs, b_cs, beta, c, c_bs,
               c_rs);
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_prepare_f64(int64_t batch, int64_t m, int64_t n, int64_t k, double alpha, int64_t a_bs,
                         int64_t a_rs, int64_t a_cs, int64_t b_bs, int64_t b_rs, int64_t b_cs,
                         double beta, int64_t c_bs, int64_t c_rs, ig_gemm_plan *plan,
                         ig_need *need) {
  prepare_f64(batch, m, n, k, alpha, a_bs, a_rs, a_cs, b_bs, b_rs, b_cs, beta, c_bs, c_rs, plan,
              need);
}

void ig_gemm_run_f64(const ig_gemm_plan *plan, const double *a, const double *b, double *c) {
  run_batch_f64((const batch_f64 *)(const void *)plan->bytes, a, b, c);
}

ig_gemm_packed *ig_gemm_pack_f64(int64_t n, int64_t k, const double *b, int64_t b_rs,
                                 int64_t b_cs) {
  ig_gemm_packed *p = packed_create_f64(n, k);
  if (!p) return NULL;
  for (int64_t q = 0; q < p->k; q += p->kc) {
    int64_t rows = p->k - q < p->kc ? p->k - q : p->kc;
    packed_fill_f64(p, q, rows, b + q * b_rs, b_rs, b_cs);
  }
  return p;
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_packed_f64(int64_t m, double alpha, const double *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, double beta, double *c, int64_t c_rs) {
  packed_multiply_f64(m, alpha, a, a_rs, a_cs, b, beta, c, c_rs);
}
