// SPDX-License-Identifier: Apache-2.0
// Products of float: the engine over the table for this processor.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/gemm_engine.h"
#include "kernels/gemm_kernels.h"
#include "kernels/scratch.h"

static const ig_gemm_kernels_f32 *best_table(void) {
#if defined(__x86_64__)
  ig_cpu level = ig_cpu_level();
  if (level >= IG_CPU_AVX512) return &ig_gemm_f32_avx512;
  if (level >= IG_CPU_AVX2) return &ig_gemm_f32_avx2;
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) return &ig_gemm_f32_neon;
#endif
  return &ig_gemm_f32_base;
}

#define X float
#define NAME(x) x##_f32
#define TABLE_OF ig_gemm_kernels_f32
#include "kernels/gemm_engine.inc"
#include "kernels/gemm_packed.inc"

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_f32(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t a_rs,
                 int64_t a_cs, const float *b, int64_t b_rs, int64_t b_cs, float beta, float *c,
                 int64_t c_rs) {
  multiply_f32(1, m, n, k, alpha, a, 0, a_rs, a_cs, b, 0, b_rs, b_cs, beta, c, 0, c_rs);
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_batch_f32(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                       int64_t a_bs, int64_t a_rs, int64_t a_cs, const float *b, int64_t b_bs,
                       int64_t b_rs, int64_t b_cs, float beta, float *c, int64_t c_bs,
                       int64_t c_rs) {
  multiply_f32(batch, m, n, k, alpha, a, a_bs, a_rs, a_cs, b, b_bs, b_rs, b_cs, beta, c, c_bs,
               c_rs);
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_prepare_f32(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, int64_t a_bs,
                         int64_t a_rs, int64_t a_cs, int64_t b_bs, int64_t b_rs, int64_t b_cs,
                         float beta, int64_t c_bs, int64_t c_rs, ig_gemm_plan *plan,
                         ig_need *need) {
  prepare_f32(batch, m, n, k, alpha, a_bs, a_rs, a_cs, b_bs, b_rs, b_cs, beta, c_bs, c_rs, plan,
              need);
}

void ig_gemm_run_f32(const ig_gemm_plan *plan, const float *a, const float *b, float *c) {
  run_batch_f32((const batch_f32 *)(const void *)plan->bytes, a, b, c);
}

ig_gemm_packed *ig_gemm_pack_f32(int64_t n, int64_t k, const float *b, int64_t b_rs, int64_t b_cs) {
  ig_gemm_packed *p = packed_create_f32(n, k);
  if (!p) return NULL;
  for (int64_t q = 0; q < p->k; q += p->kc) {
    int64_t rows = p->k - q < p->kc ? p->k - q : p->kc;
    packed_fill_f32(p, q, rows, b + q * b_rs, b_rs, b_cs);
  }
  return p;
}

// NOLINTNEXTLINE(readability-function-size): the operands of a product, one by one
void ig_gemm_packed_f32(int64_t m, float alpha, const float *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, float beta, float *c, int64_t c_rs) {
  packed_multiply_f32(m, alpha, a, a_rs, a_cs, b, beta, c, c_rs);
}

// The struct and its panels are one block, whatever the type.
void ig_gemm_packed_free(ig_gemm_packed *p) {
  free(p);
}

size_t ig_gemm_packed_bytes(const ig_gemm_packed *p) {
  return p->bytes;
}
