// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats: computed in float, rounded once when all of k is summed.
#include <stdbool.h>
#include <stdlib.h>

#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/gemm_engine.h"
#include "kernels/gemm_kernels.h"
#include "kernels/reduce_elem.h"
#include "kernels/scratch.h"

#define S uint16_t
#define X float
#define A float
#define SERIAL ig_gemm_serial_f32
#define SERIAL_NEED ig_gemm_serial_need_f32

#define NAME(x) x##_f16
#define GET(s) ig_f16_get(s)
#define PUT(x) ig_f16_put(x)
#define WIDEN(src, dst, n) ig_elem_widen(IG_ELEM_F16, src, dst, n)
#include "kernels/gemm_wide.inc"
#undef NAME
#undef GET
#undef PUT
#undef WIDEN

#define NAME(x) x##_bf16
#define GET(s) ig_bf16_get(s)
#define PUT(x) ig_bf16_put(x)
#define WIDEN(src, dst, n) ig_elem_widen(IG_ELEM_BF16, src, dst, n)
#include "kernels/gemm_wide.inc"

// ---- B packed in advance: kept as float, so that only A is converted ----

static ig_gemm_packed *pack_half(ig_elem e, int64_t n, int64_t k, const uint16_t *b, int64_t b_rs,
                                 int64_t b_cs) {
  if (n <= 0 || k <= 0) return ig_gemm_pack_f32(n, k, NULL, 0, 0);
  int64_t count;
  if (__builtin_mul_overflow(n, k, &count) || count > INT64_MAX / 8) return NULL;
  float *wide = ig_kernel_array((size_t)count, sizeof *wide);
  if (!wide) return NULL;
  bool columns = b_rs == 1 && b_cs != 1;  // Kept unpacked.
  int64_t rows = columns ? n : k;
  int64_t width = columns ? k : n;
  int64_t rs = columns ? b_cs : b_rs;
  int64_t cs = columns ? b_rs : b_cs;
  for (int64_t i = 0; i < rows; i++)
    if (cs == 1)
      ig_elem_widen(e, b + i * rs, wide + i * width, width);
    else
      for (int64_t j = 0; j < width; j++)
        ig_elem_widen(e, b + i * rs + j * cs, wide + i * width + j, 1);
  ig_gemm_packed *p = ig_gemm_pack_f32(n, k, wide, columns ? 1 : n, columns ? k : 1);
  free(wide);
  return p;
}

ig_gemm_packed *ig_gemm_pack_f16(int64_t n, int64_t k, const uint16_t *b, int64_t b_rs,
                                 int64_t b_cs) {
  return pack_half(IG_ELEM_F16, n, k, b, b_rs, b_cs);
}

ig_gemm_packed *ig_gemm_pack_bf16(int64_t n, int64_t k, const uint16_t *b, int64_t b_rs,
                                  int64_t b_cs) {
  return pack_half(IG_ELEM_BF16, n, k, b, b_rs, b_cs);
}

typedef struct packed_product {
  ig_elem e;
  const ig_gemm_packed *b;
  const uint16_t *a;
  int64_t a_rs, a_cs;
  float alpha, beta;
  uint16_t *c;
  int64_t c_rs;
} packed_product;

static float get(ig_elem e, uint16_t h) {
  return e == IG_ELEM_F16 ? ig_f16_get(h) : ig_bf16_get(h);
}

static void put(const packed_product *p, float t, uint16_t *c) {
  float v = p->alpha == 0 ? 0 : p->alpha * t;
  if (p->beta != 0) v += p->beta * get(p->e, *c);
  *c = p->e == IG_ELEM_F16 ? ig_f16_put(v) : ig_bf16_put(v);
}

// Without scratch: element by element out of the panels.
static void packed_unwidened(const packed_product *p, int64_t i) {
  const ig_gemm_packed *b = p->b;
  const float *panels = b->panels;
  for (int64_t j = 0; j < b->n; j++) {
    float sum = 0;
    for (int64_t q = 0; q < b->k; q++) {
      int64_t q0 = q / b->kc * b->kc;
      int64_t rows = b->k - q0 < b->kc ? b->k - q0 : b->kc;
      int64_t at = q0 * b->panels_n + j / b->nr * b->nr * rows + (q - q0) * b->nr;
      sum += get(p->e, p->a[i * p->a_rs + q * p->a_cs]) * panels[at + j % b->nr];
    }
    put(p, sum, p->c + i * p->c_rs + j);
  }
}

static void packed_rows(const packed_product *p, int64_t i, int64_t m) {
  int64_t n = p->b->n;
  int64_t k = p->b->k;
  float *a = ig_scratch_array(IG_SCRATCH_GEMM_C,
                              ig_mem_mul((size_t)m, ig_mem_add((size_t)k, (size_t)n)), sizeof *a);
  if (!a) {
    for (int64_t r = i; r < i + m; r++) packed_unwidened(p, r);
    return;
  }
  float *c = a + m * k;
  for (int64_t r = 0; r < m; r++) {
    const uint16_t *src = p->a + (i + r) * p->a_rs;
    if (p->a_cs == 1)
      ig_elem_widen(p->e, src, a + r * k, k);
    else
      for (int64_t q = 0; q < k; q++) a[r * k + q] = get(p->e, src[q * p->a_cs]);
  }
  ig_gemm_packed_f32(m, 1, a, k, 1, p->b, 0, c, n);
  for (int64_t r = 0; r < m; r++)
    for (int64_t j = 0; j < n; j++) put(p, c[r * n + j], p->c + (i + r) * p->c_rs + j);
}

static void multiply_packed(const packed_product *p, int64_t m) {
  enum { ROWS = 256 };  // at a time, which bounds the scratch
  for (int64_t i = 0; i < m; i += ROWS) packed_rows(p, i, m - i < ROWS ? m - i : ROWS);
}

// NOLINTBEGIN(readability-function-size,readability-non-const-parameter): operands, one by one
void ig_gemm_packed_f16(int64_t m, float alpha, const uint16_t *a, int64_t a_rs, int64_t a_cs,
                        const ig_gemm_packed *b, float beta, uint16_t *c, int64_t c_rs) {
  packed_product p = {IG_ELEM_F16, b, a, a_rs, a_cs, alpha, beta, c, c_rs};
  multiply_packed(&p, m);
}

void ig_gemm_packed_bf16(int64_t m, float alpha, const uint16_t *a, int64_t a_rs, int64_t a_cs,
                         const ig_gemm_packed *b, float beta, uint16_t *c, int64_t c_rs) {
  packed_product p = {IG_ELEM_BF16, b, a, a_rs, a_cs, alpha, beta, c, c_rs};
  multiply_packed(&p, m);
}
// NOLINTEND(readability-function-size,readability-non-const-parameter)
