// SPDX-License-Identifier: Apache-2.0
// The NEON tables: tiles of 6 x 16 floats and 6 x 8 doubles: 24 sums, 4 vectors of B, 1 of A of the
// 32 registers. A panel of B, 256 rows, takes half of the smallest L1 cache.
#include <string.h>

#include "kernels/gemm_kernels.h"
#include "kernels/v128.h"

#define MR 6
#define NV 4
#define DR 4
#define AXPY_DEPTH 8
#define KC 256
#define KC_STREAM 256
#define SHARE 4
#define PASS true

#define FMA(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#define MASK int
#define MASK_OF(n) (n)

#define X float
#define NAME(x) x##_f32
#define V ig_f32x4
#define VL 4
#define ZERO() ig_f32x4_splat(0.0F)
#define SET1(x) ig_f32x4_splat(x)
#define LOAD(p) ig_f32x4_load(p)
#define STORE(p, v) ig_f32x4_store(p, v)
#define SUM(v) ig_f32x4_sum(v)
#define MLOAD(m, p) ig_f32x4_load_first(m, p)
#define MSTORE(p, m, v) ig_f32x4_store_first(p, m, v)
#define T 4
#define transpose_f32 ig_f32x4_transpose
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f32 ig_gemm_f32_neon = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define FMA(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#define MASK int
#define MASK_OF(n) (n)
#define X double
#define NAME(x) x##_f64
#define V ig_f64x2
#define VL 2
#define ZERO() ig_f64x2_splat(0.0)
#define SET1(x) ig_f64x2_splat(x)
#define LOAD(p) ig_f64x2_load(p)
#define STORE(p, v) ig_f64x2_store(p, v)
#define SUM(v) ((v)[0] + (v)[1])
#define MLOAD(m, p) ig_f64x2_load_first(m, p)
#define MSTORE(p, m, v) ig_f64x2_store_first(p, m, v)
#define T 2
#define transpose_f64 ig_f64x2_transpose
#include "kernels/gemm_simd.inc"
const ig_gemm_kernels_f64 ig_gemm_f64_neon = TABLE;
