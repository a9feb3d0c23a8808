// SPDX-License-Identifier: Apache-2.0
// The same for AArch64, which has fused multiply-add.
#define FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#include "kernels/normal_impl.inc"

void ig_normal_blocks_neon(float *data, size_t blocks, float mean, float std) {
  normal_blocks(data, blocks, mean, std);
}
