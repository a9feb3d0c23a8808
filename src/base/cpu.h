// SPDX-License-Identifier: Apache-2.0
// Features of the processor, detected once at run time, and an attribute for plain loops that are
// compiled for several instruction sets.
//
// INGOT_CPU=base|avx2|avx512 in the environment lowers the level (never raises it), for tests.
#ifndef BASE_CPU_H_
#define BASE_CPU_H_

#include <limits.h>  // defines __GLIBC__
#include <stdbool.h>
#include <stddef.h>

typedef enum ig_cpu {
  IG_CPU_BASE,    // what the compiler targets
  IG_CPU_NEON,    // AArch64, whose baseline has it
  IG_CPU_AVX2,    // AVX2, FMA, F16C
  IG_CPU_AVX512,  // and AVX-512 F, BW, DQ, VL
} ig_cpu;

// The level that kernels may use now.
ig_cpu ig_cpu_level(void);

// Four products of 8-bit integers and their sum by one instruction: AVX-512 VNNI at IG_CPU_AVX512,
// the dot product of ARMv8.2 at IG_CPU_NEON; false below.
bool ig_cpu_has_dot8(void);
// AVX-512 BF16, sums of products of bf16; false below IG_CPU_AVX512.
bool ig_cpu_has_bf16(void);

// For tests: use at most this level from now on; clipped to what the processor and INGOT_CPU allow.
// Returns the level in effect.
ig_cpu ig_cpu_limit(ig_cpu level);

// CPUs this process may use: affinity mask and cgroup quota (v1 and v2, rounded up), at least 1.
int ig_cpu_count(void);

// Bytes of the first and second level data caches of one core (a common guess where unknown).
size_t ig_cpu_l1(void);
size_t ig_cpu_l2(void);
size_t ig_cpu_l3(void);

// IG_CLONES before a function with plain loops makes the compiler emit it for AVX-512, AVX2 and the
// baseline; the loader picks one. Empty where the tools or the C library have no ifuncs (musl
// leaves them unresolved), and under the thread and memory sanitizers, whose runtime is not up when
// ifuncs are resolved. Older clangs give the resolvers of static functions external names, which
// clash.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IG_NO_CLONES 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define IG_NO_CLONES 1
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(IG_NO_CLONES) && \
    ((defined(__clang__) && __clang_major__ >= 18) || (!defined(__clang__) && __GNUC__ >= 12))
#define IG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// The same for memory-bound loops, to which wider vectors add only code size.
#define IG_CLONES_NARROW __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define IG_CLONES
#define IG_CLONES_NARROW
#endif

#endif
