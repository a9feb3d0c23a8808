// SPDX-License-Identifier: Apache-2.0
// Portable form. The product of two floats is exact in double, which makes one rounding of the sum.
#define FMA(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c)))
#include "kernels/normal_impl.inc"

#include "base/cpu.h"

void ig_normal_blocks(float *data, size_t blocks, float mean, float std) {
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2) {
    ig_normal_blocks_avx2(data, blocks, mean, std);
    return;
  }
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) {
    ig_normal_blocks_neon(data, blocks, mean, std);
    return;
  }
#endif
  normal_blocks(data, blocks, mean, std);
}
