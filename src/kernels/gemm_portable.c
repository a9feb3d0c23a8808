// SPDX-License-Identifier: Apache-2.0
// The portable tables: C with the compiler's own vectors, for every processor. Integers use the
// same code with longer vectors where there are some; for floats the tables with intrinsics come
// first. Unsigned integers are used for signed ones too: sums and products wrap in the same way.
#include <string.h>

#include "kernels/gemm_kernels.h"

#define X float
#define NAME(x) x##_f32
#define BYTES 16
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_f32 ig_gemm_f32_base = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X double
#define NAME(x) x##_f64
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_f64 ig_gemm_f64_base = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X uint32_t
#define NAME(x) x##_u32
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u32 ig_gemm_u32_base = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X uint64_t
#define NAME(x) x##_u64
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u64 ig_gemm_u64_base = TABLE;
