// SPDX-License-Identifier: Apache-2.0
// Parameters of normalizations: read in blocks and converted from any type to the compute type. A
// block whose type needs no conversion is read in place; an absent one is a constant block.
#ifndef KERNELS_NORM_PARAM_H_
#define KERNELS_NORM_PARAM_H_

#include <math.h>

#include "kernels/reduce_elem.h"

enum { IG_NORM_BLOCK = 256 };

extern const float ig_norm_ones_f32[IG_NORM_BLOCK];
extern const float ig_norm_zeros_f32[IG_NORM_BLOCK];
extern const double ig_norm_ones_f64[IG_NORM_BLOCK];
extern const double ig_norm_zeros_f64[IG_NORM_BLOCK];

// One number of any float type.
static inline double ig_norm_one(ig_elem e, const void *p, int64_t at) {
  if (e == IG_ELEM_F64) return ((const double *)p)[at];
  if (e == IG_ELEM_F32) return (double)((const float *)p)[at];
  uint16_t h = ((const uint16_t *)p)[at];
  return (double)(e == IG_ELEM_F16 ? ig_f16_get(h) : ig_bf16_get(h));
}

// Elements [at, at + n) of p, n <= IG_NORM_BLOCK; buf has room for them. The type of parameters
// need not be that of the input.
static inline const float *ig_norm_get_f32(ig_elem e, const void *p, int64_t at, int64_t n,
                                           const float *absent, float *buf) {
  if (!p) return absent;
  if (e == IG_ELEM_F32) return (const float *)p + at;
  if (e == IG_ELEM_F64) {
    for (int64_t i = 0; i < n; i++) buf[i] = (float)((const double *)p)[at + i];
    return buf;
  }
  ig_elem_widen(e, (const uint16_t *)p + at, buf, n);
  return buf;
}
static inline const double *ig_norm_get_f64(ig_elem e, const void *p, int64_t at, int64_t n,
                                            const double *absent, double *buf) {
  if (!p) return absent;
  if (e == IG_ELEM_F64) return (const double *)p + at;
  for (int64_t i = 0; i < n; i++) buf[i] = ig_norm_one(e, p, at + i);
  return buf;
}

static inline void ig_norm_put(ig_elem e, void *p, int64_t at, double v) {
  if (!p) return;
  if (e == IG_ELEM_F64)
    ((double *)p)[at] = v;
  else if (e == IG_ELEM_F32)
    ((float *)p)[at] = (float)v;
  else
    ((uint16_t *)p)[at] = e == IG_ELEM_F16 ? ig_f16_put((float)v) : ig_bf16_put((float)v);
}

#endif
