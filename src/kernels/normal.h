// SPDX-License-Identifier: Apache-2.0
// Uniform numbers to normal ones, sixteen at a time (Box-Muller).
#ifndef KERNELS_NORMAL_H_
#define KERNELS_NORMAL_H_

#include <stddef.h>

// Every 16 floats of [0, 1) become 16 normal ones: the first eight give the radius, the other eight
// the angle. Rounding is that of a fused multiply-add at every level, so that all levels agree with
// each other and, bit for bit, with PyTorch.
void ig_normal_blocks(float *data, size_t blocks, float mean, float std);
void ig_normal_blocks_avx2(float *data, size_t blocks, float mean, float std);
void ig_normal_blocks_neon(float *data, size_t blocks, float mean, float std);

#endif
