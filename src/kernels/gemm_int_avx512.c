// SPDX-License-Identifier: Apache-2.0
// The tables of the integers, compiled for AVX-512: vectors of 64 bytes.
#include <string.h>

#include "kernels/gemm_kernels.h"

#define BYTES 64
#define X uint32_t
#define NAME(x) x##_u32
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u32 ig_gemm_u32_avx512 = TABLE;
#include "kernels/gemm_simd_undef.inc"

#define X uint64_t
#define NAME(x) x##_u64
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u64 ig_gemm_u64_avx512 = TABLE;
