// SPDX-License-Identifier: Apache-2.0
// The portable tables: plain C, for every processor. They are the only ones for integers, where the
// compiler's clones bring in wider registers; for floats the tables with intrinsics come first.
// Unsigned integers stand for signed ones too: sums and products wrap alike.
#include "base/cpu.h"
#include "kernels/gemm_kernels.h"

#define X float
#define NAME(x) x##_f32
#define MR 4
#define NR 8
#define CLONES
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_f32 ig_gemm_f32_base = TABLE;
#undef X
#undef NAME
#undef NR
#undef TABLE

#define X double
#define NAME(x) x##_f64
#define NR 4
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_f64 ig_gemm_f64_base = TABLE;
#undef X
#undef NAME
#undef NR
#undef TABLE
#undef CLONES

#define CLONES IG_CLONES
#define X uint32_t
#define NAME(x) x##_u32
#define NR 16
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u32 ig_gemm_u32_base = TABLE;
#undef X
#undef NAME
#undef NR
#undef TABLE

#define X uint64_t
#define NAME(x) x##_u64
#define NR 8
#include "kernels/gemm_portable.inc"
const ig_gemm_kernels_u64 ig_gemm_u64_base = TABLE;
