// SPDX-License-Identifier: Apache-2.0
// float16 to and from f32 by the instructions that every AArch64 processor has for it.
#include <arm_neon.h>

#include "kernels/reduce_elem.h"

void ig_f16_widen_neon(const uint16_t *src, float *dst, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(dst + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(src + i))));
  }
  for (; i < n; i++) dst[i] = ig_f16_get(src[i]);
}

void ig_f16_narrow_neon(const float *src, uint16_t *dst, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    vst1_u16(dst + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src + i))));
  }
  for (; i < n; i++) dst[i] = ig_f16_put(src[i]);
}
