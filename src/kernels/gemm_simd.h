// SPDX-License-Identifier: Apache-2.0
// Compiler marks for kernels with intrinsics: INLINE for bodies whose bounds become constants where
// they are called, UNROLL for loops over registers, which must leave no index behind.
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

// The compiler takes the pointer as it is, and makes no table of addresses of all steps to come.
#define KEEP(p) __asm__("" : "+r"(p))

#endif
