// SPDX-License-Identifier: Apache-2.0
// What the kernel tests share: a small generator, elements of any type as doubles, and running a
// body at every cpu level with one and two threads.
#ifndef TESTS_KERNELS_ELEMS_H_
#define TESTS_KERNELS_ELEMS_H_

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/reduce_elem.h"

static uint32_t elems_seed = 7;

static inline int pick(int lo, int hi) {
  elems_seed = elems_seed * 1664525U + 1013904223U;
  return lo + (int)((elems_seed >> 9) % (uint32_t)(hi - lo + 1));
}

static inline double get(ig_elem e, const void *p, int64_t i) {
  switch (e) {
    case IG_ELEM_F32:
      return (double)((const float *)p)[i];
    case IG_ELEM_F64:
      return ((const double *)p)[i];
    case IG_ELEM_F16:
      return (double)ig_f16_get(((const uint16_t *)p)[i]);
    case IG_ELEM_BF16:
      return (double)ig_bf16_get(((const uint16_t *)p)[i]);
#define X(name, type, wide) \
  case IG_ELEM_##name:      \
    return (double)((const type *)p)[i];
      IG_ELEM_INTS(X)
#undef X
    default:
      return 0.0;
  }
}

// Integers get eight times the value, so that multiples of 1/8 suit all types.
static inline void set(ig_elem e, void *p, int64_t i, double v) {
  if (e == IG_ELEM_U8 || e == IG_ELEM_U16 || e == IG_ELEM_U32 || e == IG_ELEM_U64) v = fabs(v);
  switch (e) {
    case IG_ELEM_F32:
      ((float *)p)[i] = (float)v;
      break;
    case IG_ELEM_F64:
      ((double *)p)[i] = v;
      break;
    case IG_ELEM_F16:
      ((uint16_t *)p)[i] = ig_f16_put((float)v);
      break;
    case IG_ELEM_BF16:
      ((uint16_t *)p)[i] = ig_bf16_put((float)v);
      break;
    case IG_ELEM_BOOL:
      ((uint8_t *)p)[i] = v > 0.0;
      break;
    default:
      switch (ig_elem_size(e)) {
        case 1:
          ((int8_t *)p)[i] = (int8_t)(v * 8.0);
          break;
        case 2:
          ((int16_t *)p)[i] = (int16_t)(v * 8.0);
          break;
        case 4:
          ((int32_t *)p)[i] = (int32_t)(v * 8.0);
          break;
        default:
          ((int64_t *)p)[i] = (int64_t)(v * 8.0);
          break;
      }
  }
}

// Exactly as many bytes as the tensor has, so that the sanitizer sees accesses beyond it. Filled
// with multiples of 1/8 in [-1, 1], or with a value that no kernel gives.
static inline void *tensor(ig_elem e, int64_t n, bool random) {
  void *p = malloc((size_t)n * ig_elem_size(e) + (n == 0));
  assert_non_null(p);
  for (int64_t i = 0; i < n; i++) set(e, p, i, random ? (double)pick(-8, 8) / 8.0 : -15.0);
  return p;
}

// Relative room for one rounding to the type after computing in f32 or better.
static inline double room_of(ig_elem e) {
  return e == IG_ELEM_BF16  ? 1.0 / 128
         : e == IG_ELEM_F16 ? 1.0 / 1024
         : e == IG_ELEM_F64 ? 1e-12
                            : 1e-5;
}

static inline void close_to(const char *what, ig_elem e, const void *p, int64_t i, double want) {
  double found = get(e, p, i);
  if (found == want || (isnan(found) && isnan(want))) return;
  if (!(fabs(found - want) <= room_of(e) * (1.0 + fabs(want))))
    fail_msg("%s[%d] is %.9g, want %.9g (type %d, level %d, threads %d)", what, (int)i, found, want,
             (int)e, (int)ig_cpu_level(), ig_threads_get());
}

static inline void everywhere(void (*body)(void)) {
  for (int level = IG_CPU_AVX512; level >= IG_CPU_BASE; level--) {
    if (ig_cpu_limit((ig_cpu)level) != (ig_cpu)level) continue;
    for (int t = 1; t <= 2; t++) {
      ig_threads_set(t);
      body();
    }
  }
  ig_cpu_limit(IG_CPU_AVX512);
}

static inline void both_threads(void (*body)(void)) {
  for (int t = 1; t <= 2; t++) {
    ig_threads_set(t);
    body();
  }
}

#endif
