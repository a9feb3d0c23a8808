// SPDX-License-Identifier: Apache-2.0
// The tables of the integers, compiled for AVX2: vectors of 32 bytes.
#include <string.h>

#include "kernels/gemm_kernels.h"

#define BYTES 32
#define X uint32_t
#define NAME(x) x##_u32
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u32 ig_gemm_u32_avx2 = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X uint64_t
#define NAME(x) x##_u64
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u64 ig_gemm_u64_avx2 = TABLE;
