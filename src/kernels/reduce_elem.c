// SPDX-License-Identifier: Apache-2.0
// Sizes of element types and block conversion of half types.
#include "kernels/reduce_elem.h"

#include "base/cpu.h"

size_t ig_elem_size(ig_elem e) {
  static const size_t sizes[IG_ELEM_COUNT] = {
#define X(name, type, wide) [IG_ELEM_##name] = sizeof(type),
      IG_ELEM_FLOATS(X) IG_ELEM_INTS(X)
#undef X
  };
  return sizes[e];
}

static void widen_f16(const uint16_t *restrict src, float *restrict dst, int64_t n) {
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2) {
    ig_f16_widen_avx2(src, dst, n);
    return;
  }
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) {
    ig_f16_widen_neon(src, dst, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; i++) dst[i] = ig_f16_get(src[i]);
}
IG_CLONES
static void widen_bf16(const uint16_t *restrict src, float *restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = ig_bf16_get(src[i]);
}
static void narrow_f16(const float *restrict src, uint16_t *restrict dst, int64_t n) {
#if defined(__x86_64__)
  if (ig_cpu_level() >= IG_CPU_AVX2) {
    ig_f16_narrow_avx2(src, dst, n);
    return;
  }
#elif defined(__aarch64__)
  if (ig_cpu_level() >= IG_CPU_NEON) {
    ig_f16_narrow_neon(src, dst, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; i++) dst[i] = ig_f16_put(src[i]);
}
IG_CLONES
static void narrow_bf16(const float *restrict src, uint16_t *restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; i++) dst[i] = ig_bf16_put(src[i]);
}

void ig_elem_widen(ig_elem e, const void *src, float *dst, int64_t n) {
  if (e == IG_ELEM_F16)
    widen_f16(src, dst, n);
  else
    widen_bf16(src, dst, n);
}

void ig_elem_narrow(ig_elem e, const float *src, void *dst, int64_t n) {
  if (e == IG_ELEM_F16)
    narrow_f16(src, dst, n);
  else
    narrow_bf16(src, dst, n);
}
