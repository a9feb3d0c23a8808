// SPDX-License-Identifier: Apache-2.0
// Compiler attributes for kernels with intrinsics: INLINE for bodies whose bounds become constants
// at the call, UNROLL for loops over registers, which must be unrolled completely.
#ifndef KERNELS_GEMM_SIMD_H_
#define KERNELS_GEMM_SIMD_H_

#define INLINE static inline __attribute__((always_inline))

#define IG_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define UNROLL(n) IG_PRAGMA(unroll)
#elif defined(__GNUC__)
#define UNROLL(n) IG_PRAGMA(GCC unroll n)
#else
#define UNROLL(n)
#endif

// Memory that is read soon: into all caches, or all but the first.
#define FETCH(p) __builtin_prefetch(p, 0, 3)
#define FETCH_L2(p) __builtin_prefetch(p, 0, 2)

// Hides the pointer's origin from the compiler, so that it does not precompute the addresses of all
// steps.
#define KEEP(p) __asm__("" : "+r"(p))

#endif
